/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "storage/journal.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "storage/fault.h"

#include <string.h>

/* Parts that one call or commit drops: each frees 65 pages, and while it lasts nobody else writes. */
#define DROP_PARTS 16

struct scn_checkpoint_writer {
        struct scn_journal *journal;
        int64_t id;
        scn_revision revision;
        int64_t time_us;
        uint32_t parts_count;
        uint64_t bytes;
};

struct scn_checkpoint_reader {
        struct scn_journal *journal;
        int64_t id;
        struct scn_checkpoint_info info;
        uint32_t next;    /* the part that comes next */
        uint8_t *part;    /* owned; room for the longest part */
        uint8_t digest[]; /* info.digest */
};

/* ---------------------------------------------------------------- writing */

static enum scn_error begin_checkpoint_write(struct scn_journal *journal, struct scn_storage_fault *fault)
{
        return scn_database_begin_write(&journal->database, fault);
}

static enum scn_error end_checkpoint_write(
        struct scn_journal *journal, enum scn_error error, struct scn_storage_fault *fault)
{
        if (error == SCN_OK)
                error = scn_database_commit(&journal->database, fault);
        else
                scn_database_rollback(&journal->database);
        return error;
}

/* Removes some parts that one of the statements PART_DROP_* chooses. */
static enum scn_error drop_parts(
        struct scn_journal *journal, enum scn_statement which, bool *is_done_out, struct scn_storage_fault *fault)
{
        struct scn_database *database = &journal->database;
        sqlite3_stmt *statement;
        enum scn_error error = scn_database_prepare(database, which, &statement, fault);

        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, DROP_PARTS);
        error = scn_database_run(database, statement, fault);
        *is_done_out = sqlite3_changes(database->handle) < DROP_PARTS;
        return error;
}

enum scn_error scn_checkpoint_drop_stale_parts(
        struct scn_journal *journal, bool *is_done_out, struct scn_storage_fault *fault)
{
        return drop_parts(journal, SCN_STATEMENT_PART_DROP_STALE, is_done_out, fault);
}

/* What an earlier writer did not finish, in short commits. */
static enum scn_error drop_unfinished(struct scn_journal *journal, struct scn_storage_fault *fault)
{
        bool is_done = false;
        enum scn_error error = SCN_OK;

        while (error == SCN_OK && !is_done) {
                error = begin_checkpoint_write(journal, fault);
                if (error != SCN_OK)
                        return error;
                error = drop_parts(journal, SCN_STATEMENT_PART_DROP_UNFINISHED, &is_done, fault);
                error = end_checkpoint_write(journal, error, fault);
        }
        return error;
}

static enum scn_error read_next_id(struct scn_journal *journal, int64_t *id_out, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        bool has_row;
        enum scn_error error =
                scn_database_prepare(&journal->database, SCN_STATEMENT_CHECKPOINT_NEXT_ID, &statement, fault);

        if (error == SCN_OK)
                error = scn_database_step(&journal->database, statement, &has_row, fault);
        if (error != SCN_OK)
                return error;
        *id_out = sqlite3_column_int64(statement, 0);
        sqlite3_reset(statement);
        return SCN_OK;
}

enum scn_error scn_checkpoint_writer_create(struct scn_journal *journal, scn_revision revision, int64_t time_us,
        struct scn_checkpoint_writer **writer_out, struct scn_storage_fault *fault)
{
        struct scn_checkpoint_writer *writer;
        enum scn_error error = scn_journal_has_revision(journal, revision, fault);

        if (error == SCN_E_FUTURE || error == SCN_E_FOLDED || error == SCN_E_BEFORE_RETENTION)
                error = scn_fault_set(fault, SCN_E_BAD_BATCH, revision, 0,
                        "a checkpoint of revision %llu, which the journal does not have", (unsigned long long)revision);
        if (error != SCN_OK)
                return error;
        writer = scn_alloc_zero(1, sizeof *writer);
        if (writer == NULL)
                return scn_fault_set(fault, SCN_E_NO_MEMORY, 0, 0, "out of memory");
        *writer = (struct scn_checkpoint_writer){.journal = journal, .revision = revision, .time_us = time_us};
        /* Parts need not be durable one by one: the commit that makes the checkpoint valid takes them along. */
        error = scn_database_set_durable(&journal->database, false, fault);
        if (error == SCN_OK)
                error = drop_unfinished(journal, fault);
        if (error == SCN_OK)
                error = read_next_id(journal, &writer->id, fault);
        if (error != SCN_OK) {
                (void)!scn_database_set_durable(&journal->database, true, NULL);
                scn_free(writer);
                return error;
        }
        journal->children++;
        *writer_out = writer;
        return SCN_OK;
}

void scn_checkpoint_writer_destroy(struct scn_checkpoint_writer *writer)
{
        if (writer == NULL)
                return;
        /* If it was finished there are none; if this fails, the next writer does it. */
        (void)!drop_unfinished(writer->journal, NULL);
        (void)!scn_database_set_durable(&writer->journal->database, true, NULL);
        writer->journal->children--;
        scn_free(writer);
}

static void sum_part(struct scn_checksum *checksum, int64_t id, uint32_t position, struct scn_slice bytes)
{
        scn_checksum_reset(checksum);
        scn_checksum_integer(checksum, id);
        scn_checksum_integer(checksum, position);
        scn_checksum_bytes(checksum, bytes);
}

static enum scn_error add_part(
        struct scn_checkpoint_writer *writer, struct scn_slice part, struct scn_storage_fault *fault)
{
        struct scn_journal *journal = writer->journal;
        sqlite3_stmt *statement;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_PART_ADD, &statement, fault);

        if (error != SCN_OK)
                return error;
        sum_part(&journal->checksum, writer->id, writer->parts_count, part);
        sqlite3_bind_int64(statement, 1, writer->id);
        sqlite3_bind_int64(statement, 2, writer->parts_count);
        scn_database_bind_blob(statement, 3, part);
        sqlite3_bind_int64(statement, 4, scn_checksum_take(&journal->checksum));
        return scn_database_run(&journal->database, statement, fault);
}

enum scn_error scn_checkpoint_writer_append(
        struct scn_checkpoint_writer *writer, struct scn_slice part, struct scn_storage_fault *fault)
{
        SCN_ASSERT(part.size >= 1 && part.size <= SCN_CHECKPOINT_PART_BYTES_MAX);
        enum scn_error error = begin_checkpoint_write(writer->journal, fault);

        if (error != SCN_OK)
                return error;
        error = add_part(writer, part, fault);
        error = end_checkpoint_write(writer->journal, error, fault);
        if (error != SCN_OK)
                return error;
        writer->parts_count++;
        writer->bytes += part.size;
        /* A big checkpoint would otherwise stand in the write-ahead file whole. */
        (void)!scn_database_upkeep(&writer->journal->database, NULL);
        return SCN_OK;
}

/* The digest in the journal must be the same. */
static enum scn_error check_digest(
        struct scn_checkpoint_writer *writer, struct scn_slice digest, struct scn_storage_fault *fault)
{
        struct scn_journal *journal = writer->journal;
        sqlite3_stmt *statement;
        bool has_row;

        if (writer->revision == 0)
                return SCN_OK;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_JOURNAL_AT, &statement, fault);
        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, (int64_t)writer->revision);
        error = scn_database_step(&journal->database, statement, &has_row, fault);
        if (error != SCN_OK)
                return error;
        if (!has_row)
                return scn_journal_damage(journal, writer->revision, "the transaction is missing", fault);
        const struct scn_slice known = scn_database_column(statement, 2);
        if (known.size != digest.size || (known.size != 0 && memcmp(known.data, digest.data, known.size) != 0))
                error = scn_journal_damage(
                        journal, writer->revision, "the checkpoint does not have the journal's digest", fault);
        sqlite3_reset(statement);
        return error;
}

/* The sum over a checkpoint's row and its parts as they stand in the file. */
static enum scn_error sum_checkpoint(struct scn_journal *journal, int64_t id, const struct scn_checkpoint_info *info,
        int64_t *sum_out, uint32_t *parts_out, struct scn_storage_fault *fault)
{
        struct scn_checksum *checksum = &journal->checksum;
        sqlite3_stmt *statement;
        bool has_row = false;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_PART_SUMS, &statement, fault);

        if (error != SCN_OK)
                return error;
        scn_checksum_reset(checksum);
        scn_checksum_integer(checksum, id);
        scn_checksum_integer(checksum, (int64_t)info->revision);
        scn_checksum_integer(checksum, info->time_us);
        scn_checksum_integer(checksum, info->parts_count);
        scn_checksum_integer(checksum, (int64_t)info->bytes);
        scn_checksum_bytes(checksum, scn_journal_present(info->digest));
        *parts_out = 0;
        sqlite3_bind_int64(statement, 1, id);
        do {
                error = scn_database_step(&journal->database, statement, &has_row, fault);
                if (error == SCN_OK && has_row) {
                        scn_checksum_integer(checksum, sqlite3_column_int64(statement, 0));
                        (*parts_out)++;
                }
        } while (error == SCN_OK && has_row);
        *sum_out = scn_checksum_take(checksum);
        return error;
}

/* Inside a write transaction. */
static enum scn_error add_checkpoint(
        struct scn_checkpoint_writer *writer, struct scn_slice digest, struct scn_storage_fault *fault)
{
        struct scn_database *database = &writer->journal->database;
        const struct scn_checkpoint_info info = {
                .revision = writer->revision,
                .time_us = writer->time_us,
                .bytes = writer->bytes,
                .parts_count = writer->parts_count,
                .digest = digest,
        };
        sqlite3_stmt *statement;
        int64_t sum;
        uint32_t parts;
        enum scn_error error = check_digest(writer, digest, fault);

        if (error == SCN_OK)
                error = sum_checkpoint(writer->journal, writer->id, &info, &sum, &parts, fault);
        if (error == SCN_OK && parts != writer->parts_count)
                error = scn_journal_damage(
                        writer->journal, writer->revision, "a part of the checkpoint is gone", fault);
        if (error == SCN_OK)
                error = scn_database_prepare(database, SCN_STATEMENT_CHECKPOINT_ADD, &statement, fault);
        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, writer->id);
        sqlite3_bind_int64(statement, 2, (int64_t)writer->revision);
        sqlite3_bind_int64(statement, 3, writer->time_us);
        sqlite3_bind_int64(statement, 4, writer->parts_count);
        sqlite3_bind_int64(statement, 5, (int64_t)writer->bytes);
        scn_database_bind_blob(statement, 6, digest);
        sqlite3_bind_int64(statement, 7, sum);
        return scn_database_run(database, statement, fault);
}

enum scn_error scn_checkpoint_writer_finish(
        struct scn_checkpoint_writer *writer, struct scn_slice digest, struct scn_storage_fault *fault)
{
        enum scn_error error = scn_database_set_durable(&writer->journal->database, true, fault);

        if (error == SCN_OK)
                error = begin_checkpoint_write(writer->journal, fault);
        if (error != SCN_OK)
                return error;
        error = add_checkpoint(writer, digest, fault);
        return end_checkpoint_write(writer->journal, error, fault);
}

/* Inside a write transaction. */
static enum scn_error drop(
        struct scn_journal *journal, scn_revision below, bool *is_done_out, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        enum scn_error error =
                scn_database_prepare(&journal->database, SCN_STATEMENT_CHECKPOINT_DROP, &statement, fault);

        if (error != SCN_OK)
                return error;
        /* First the row, which makes a checkpoint, then its parts, of which there may be many. */
        sqlite3_bind_int64(statement, 1, (int64_t)below);
        error = scn_database_run(&journal->database, statement, fault);
        if (error == SCN_OK)
                error = scn_checkpoint_drop_stale_parts(journal, is_done_out, fault);
        return error;
}

enum scn_error scn_checkpoint_drop(
        struct scn_journal *journal, scn_revision below, bool *is_done_out, struct scn_storage_fault *fault)
{
        enum scn_error error = begin_checkpoint_write(journal, fault);

        if (error != SCN_OK)
                return error;
        if (below > SCN_REVISION_MAX)
                below = SCN_REVISION_MAX;
        error = drop(journal, below, is_done_out, fault);
        return end_checkpoint_write(journal, error, fault);
}

/* ---------------------------------------------------------------- reading */

/* The statement stands on a checkpoint's row. */
static enum scn_error make_reader(struct scn_journal *journal, sqlite3_stmt *statement,
        struct scn_checkpoint_reader **reader_out, int64_t *sum_out, struct scn_storage_fault *fault)
{
        const scn_revision revision = (scn_revision)sqlite3_column_int64(statement, 1);
        const int64_t parts = sqlite3_column_int64(statement, 3);
        const struct scn_slice digest = scn_database_column(statement, 5);

        if (parts < 0 || parts > UINT32_MAX || digest.size > SCN_JOURNAL_DIGEST_BYTES_MAX)
                return scn_journal_damage(journal, revision, "the checkpoint's row is damaged", fault);
        struct scn_checkpoint_reader *reader = scn_alloc_zero(1, sizeof *reader + digest.size);
        if (reader == NULL)
                return scn_fault_set(fault, SCN_E_NO_MEMORY, 0, 0, "out of memory");
        reader->part = scn_alloc(SCN_CHECKPOINT_PART_BYTES_MAX);
        if (reader->part == NULL) {
                scn_free(reader);
                return scn_fault_set(fault, SCN_E_NO_MEMORY, 0, 0, "out of memory");
        }
        reader->journal = journal;
        reader->id = sqlite3_column_int64(statement, 0);
        if (digest.size != 0)
                memcpy(reader->digest, digest.data, digest.size);
        reader->info = (struct scn_checkpoint_info){
                .revision = revision,
                .time_us = sqlite3_column_int64(statement, 2),
                .bytes = (uint64_t)sqlite3_column_int64(statement, 4),
                .parts_count = (uint32_t)parts,
                .digest = {reader->digest, digest.size},
        };
        *sum_out = sqlite3_column_int64(statement, 6);
        *reader_out = reader;
        return SCN_OK;
}

static void free_reader(struct scn_checkpoint_reader *reader)
{
        scn_free(reader->part);
        scn_free(reader);
}

/* Inside a read transaction. */
static enum scn_error find_checkpoint(struct scn_journal *journal, scn_revision at_most,
        struct scn_checkpoint_reader **reader_out, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        int64_t known = 0, sum = 0;
        uint32_t parts;
        bool has_row;
        enum scn_error error =
                scn_database_prepare(&journal->database, SCN_STATEMENT_CHECKPOINT_NEWEST, &statement, fault);

        *reader_out = NULL;
        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, at_most < INT64_MAX ? (int64_t)at_most : INT64_MAX);
        error = scn_database_step(&journal->database, statement, &has_row, fault);
        if (error != SCN_OK || !has_row)
                return error;
        error = make_reader(journal, statement, reader_out, &known, fault);
        sqlite3_reset(statement);
        if (error != SCN_OK)
                return error;
        const struct scn_checkpoint_info *info = &(*reader_out)->info;
        error = sum_checkpoint(journal, (*reader_out)->id, info, &sum, &parts, fault);
        if (error == SCN_OK && parts != info->parts_count)
                error = scn_journal_damage(journal, info->revision, "a part of the checkpoint is missing", fault);
        if (error == SCN_OK && sum != known)
                error = scn_journal_damage(journal, info->revision, "the checkpoint's checksum is wrong", fault);
        if (error != SCN_OK) {
                free_reader(*reader_out);
                *reader_out = NULL;
        }
        return error;
}

enum scn_error scn_checkpoint_reader_create(struct scn_journal *journal, scn_revision at_most,
        struct scn_checkpoint_reader **reader_out, struct scn_storage_fault *fault)
{
        enum scn_error error = scn_database_begin_read(&journal->database, fault);

        if (error != SCN_OK)
                return error;
        error = find_checkpoint(journal, at_most, reader_out, fault);
        scn_database_end_read(&journal->database);
        if (error == SCN_OK && *reader_out != NULL)
                journal->children++;
        return error;
}

void scn_checkpoint_reader_destroy(struct scn_checkpoint_reader *reader)
{
        if (reader == NULL)
                return;
        reader->journal->children--;
        free_reader(reader);
}

struct scn_checkpoint_info scn_checkpoint_reader_info(const struct scn_checkpoint_reader *reader)
{
        return reader->info;
}

/* Why a part is not there. */
static enum scn_error explain_missing(const struct scn_checkpoint_reader *reader, struct scn_storage_fault *fault)
{
        struct scn_journal *journal = reader->journal;
        sqlite3_stmt *statement;
        bool has_row;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_CHECKPOINT_IS, &statement, fault);

        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, reader->id);
        error = scn_database_step(&journal->database, statement, &has_row, fault);
        sqlite3_reset(statement);
        if (error != SCN_OK)
                return error;
        if (has_row)
                return scn_journal_damage(journal, reader->info.revision, "a part of the checkpoint is missing", fault);
        return scn_fault_set(fault, SCN_E_NO_CHECKPOINT, reader->info.revision, 0,
                "the checkpoint of revision %llu was dropped while it was read",
                (unsigned long long)reader->info.revision);
}

/* Inside a read transaction. */
static enum scn_error read_part(
        struct scn_checkpoint_reader *reader, struct scn_slice *part_out, struct scn_storage_fault *fault)
{
        struct scn_journal *journal = reader->journal;
        sqlite3_stmt *statement;
        bool has_row;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_PART_READ, &statement, fault);

        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, reader->id);
        sqlite3_bind_int64(statement, 2, reader->next);
        error = scn_database_step(&journal->database, statement, &has_row, fault);
        if (error != SCN_OK)
                return error;
        if (!has_row)
                return explain_missing(reader, fault);
        const struct scn_slice bytes = scn_database_column(statement, 0);
        sum_part(&journal->checksum, reader->id, reader->next, bytes);
        if (bytes.size > SCN_CHECKPOINT_PART_BYTES_MAX ||
                scn_checksum_take(&journal->checksum) != sqlite3_column_int64(statement, 1)) {
                error = scn_journal_damage(
                        journal, reader->info.revision, "a part of the checkpoint has a wrong checksum", fault);
        } else {
                if (bytes.size != 0)
                        memcpy(reader->part, bytes.data, bytes.size);
                *part_out = (struct scn_slice){reader->part, bytes.size};
        }
        sqlite3_reset(statement);
        return error;
}

enum scn_error scn_checkpoint_reader_next(
        struct scn_checkpoint_reader *reader, struct scn_slice *part_out, struct scn_storage_fault *fault)
{
        *part_out = (struct scn_slice){0};
        if (reader->next >= reader->info.parts_count)
                return SCN_OK;
        enum scn_error error = scn_database_begin_read(&reader->journal->database, fault);
        if (error != SCN_OK)
                return error;
        error = read_part(reader, part_out, fault);
        scn_database_end_read(&reader->journal->database);
        if (error == SCN_OK)
                reader->next++;
        return error;
}
