/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "storage/journal.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/base/uid.h"
#include "storage/fault.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum scn_error scn_journal_damage(
        const struct scn_journal *journal, scn_revision revision, const char *what, struct scn_storage_fault *fault)
{
        return scn_fault_set(fault, SCN_E_CORRUPT, revision, 0, "%s: revision %llu: %s",
                scn_database_name(&journal->database), (unsigned long long)revision, what);
}

/* ------------------------------------------------------------ open, close */

static enum scn_error read_document(struct scn_journal *journal, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        bool has_row;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_DOCUMENT_GET, &statement, fault);

        if (error == SCN_OK)
                error = scn_database_step(&journal->database, statement, &has_row, fault);
        if (error != SCN_OK)
                return error;
        if (!has_row)
                return scn_journal_damage(journal, 0, "the file does not say which document it is", fault);
        const struct scn_slice origin = scn_database_column(statement, 2);
        journal->created_us = sqlite3_column_int64(statement, 1);
        if (!scn_database_column_uid(statement, 0, &journal->uid) || origin.size > SCN_JOURNAL_ORIGIN_BYTES_MAX) {
                error = scn_journal_damage(journal, 0, "the document's own row is damaged", fault);
        } else {
                journal->origin = scn_alloc(origin.size);
                if (journal->origin == NULL)
                        error = SCN_E_NO_MEMORY;
                else
                        memcpy(journal->origin, origin.data, origin.size);
                journal->origin_bytes = origin.size;
        }
        sqlite3_reset(statement);
        return error;
}

static enum scn_error add_document(
        struct scn_journal *journal, const struct scn_storage_birth *birth, struct scn_storage_fault *fault)
{
        struct scn_database *database = &journal->database;
        sqlite3_stmt *statement;
        enum scn_error error = scn_database_prepare(database, SCN_STATEMENT_DOCUMENT_ADD, &statement, fault);

        if (error == SCN_OK)
                error = scn_database_begin_write(database, fault);
        if (error != SCN_OK)
                return error;
        scn_database_bind_blob(statement, 1, (struct scn_slice){birth->uid.bytes, sizeof birth->uid.bytes});
        scn_database_bind_text(statement, 2, (struct scn_slice){0});
        sqlite3_bind_int64(statement, 3, birth->created_us);
        scn_database_bind_blob(statement, 4, birth->origin);
        error = scn_database_run(database, statement, fault);
        if (error != SCN_OK) {
                scn_database_rollback(database);
                return error;
        }
        return scn_database_commit(database, fault);
}

/* A journal that ends before what other tables speak of has lost its end. */
static enum scn_error check_tail(struct scn_journal *journal, struct scn_storage_fault *fault)
{
        static const enum scn_statement witnesses[] = {
                SCN_STATEMENT_EPOCH_LAST, SCN_STATEMENT_CHECKPOINT_NEWEST, SCN_STATEMENT_RECORD_LAST};
        struct scn_journal_history history;
        struct scn_journal_tail tail;
        enum scn_error error = scn_journal_tail(journal, &tail, fault);

        if (error == SCN_OK)
                error = scn_journal_history(journal, &history, fault);
        if (error == SCN_OK && history.judged > tail.revision)
                error = scn_journal_damage(journal, tail.revision + 1,
                        "history, row 1: the journal ends before what has been judged", fault);
        for (size_t i = 0; i < sizeof witnesses / sizeof witnesses[0] && error == SCN_OK; i++) {
                sqlite3_stmt *statement;
                bool has_row;
                error = scn_database_prepare(&journal->database, witnesses[i], &statement, fault);
                if (error != SCN_OK)
                        break;
                if (witnesses[i] == SCN_STATEMENT_CHECKPOINT_NEWEST)
                        sqlite3_bind_int64(statement, 1, INT64_MAX);
                error = scn_database_step(&journal->database, statement, &has_row, fault);
                if (error == SCN_OK && has_row && sqlite3_column_int64(statement, 1) > (int64_t)tail.revision)
                        error = scn_journal_damage(
                                journal, tail.revision + 1, "the journal ends before this revision", fault);
                sqlite3_reset(statement);
        }
        return error;
}

static enum scn_error note_end(struct scn_journal *journal, struct scn_storage_fault *fault)
{
        struct scn_journal_tail tail;
        const enum scn_error error = scn_journal_tail(journal, &tail, fault);

        if (error == SCN_OK && journal->database.guard != NULL)
                scn_guard_note_end(journal->database.guard, tail.revision, tail.time_us);
        return error;
}

/* Several tables are looked at: they must be of one state. */
static enum scn_error read_all(struct scn_journal *journal, struct scn_storage_fault *fault)
{
        enum scn_error error = scn_database_begin_read(&journal->database, fault);

        if (error != SCN_OK)
                return error;
        error = read_document(journal, fault);
        if (error == SCN_OK)
                error = check_tail(journal, fault);
        if (error == SCN_OK)
                error = note_end(journal, fault);
        scn_database_end_read(&journal->database);
        return error;
}

static void close_file(struct scn_journal *journal)
{
        struct scn_guard *guard = scn_database_finish(&journal->database);

        if (guard != NULL)
                scn_journal_settle(guard);
}

static enum scn_error open_on(const char *path, enum scn_database_kind kind, const struct scn_journal_options *options,
        const struct scn_storage_birth *birth, struct scn_journal **journal_out, struct scn_storage_fault *fault)
{
        struct scn_journal *journal = scn_alloc_zero(1, sizeof *journal);

        if (journal == NULL)
                return scn_fault_set(fault, SCN_E_NO_MEMORY, 0, 0, "out of memory");
        if (!scn_checksum_init(&journal->checksum)) {
                scn_free(journal);
                return scn_fault_set(fault, SCN_E_NO_MEMORY, 0, 0, "out of memory");
        }
        scn_client_cache_init(&journal->clients);
        struct scn_guard *guard = kind == SCN_DATABASE_READ_FOREIGN ? NULL : scn_guard_take(path);
        if (guard != NULL && birth != NULL)
                scn_guard_forget(guard, false); /* the file has been made just now */
        else if (guard != NULL)
                scn_journal_settle(guard);
        enum scn_error error = scn_database_open(&journal->database, path, kind, options, birth != NULL, fault);
        if (error == SCN_OK) {
                if (birth != NULL)
                        error = add_document(journal, birth, fault);
                if (error == SCN_OK)
                        error = read_all(journal, fault);
                if (error == SCN_OK) {
                        *journal_out = journal;
                        return SCN_OK;
                }
        }
        close_file(journal);
        scn_free(journal->origin);
        scn_checksum_finish(&journal->checksum);
        scn_free(journal);
        return error;
}

enum scn_error scn_journal_create_on(const char *path, const struct scn_storage_birth *birth,
        struct scn_journal **journal_out, struct scn_storage_fault *fault)
{
        SCN_ASSERT(!scn_uid_is_none(birth->uid));
        SCN_ASSERT(birth->origin.size <= SCN_JOURNAL_ORIGIN_BYTES_MAX);
        return open_on(path, SCN_DATABASE_WRITE, NULL, birth, journal_out, fault);
}

enum scn_error scn_journal_open_on(const char *path, enum scn_database_kind kind,
        const struct scn_journal_options *options, struct scn_journal **journal_out, struct scn_storage_fault *fault)
{
        return open_on(path, kind, options, NULL, journal_out, fault);
}

/* Where no write-ahead file is, nobody has it open: then nothing is made beside it either. */
enum scn_error scn_journal_open_file(
        const char *path, struct scn_journal **journal_out, struct scn_storage_fault *fault)
{
        char wal[4096 + sizeof "-wal"];
        struct stat status;
        const bool is_open = (size_t)snprintf(wal, sizeof wal, "%s-wal", path) >= sizeof wal || stat(wal, &status) == 0;

        return open_on(
                path, is_open ? SCN_DATABASE_READ_FOREIGN : SCN_DATABASE_READ_STILL, NULL, NULL, journal_out, fault);
}

void scn_journal_let_give_up(struct scn_journal *journal, atomic_bool *is_given_up)
{
        scn_database_let_give_up(&journal->database, is_given_up);
}

void scn_journal_interrupt(struct scn_journal *journal)
{
        sqlite3_interrupt(journal->database.handle);
}

void scn_journal_close(struct scn_journal *journal)
{
        if (journal == NULL)
                return;
        SCN_ASSERT(journal->children == 0);
        close_file(journal);
        scn_client_cache_finish(&journal->clients);
        scn_free(journal->origin);
        scn_checksum_finish(&journal->checksum);
        scn_free(journal);
}

enum scn_error scn_journal_look(struct scn_journal *journal, struct scn_storage_fault *fault)
{
        return scn_database_look(&journal->database, fault);
}

enum scn_error scn_journal_note_name(
        struct scn_journal *journal, struct scn_slice name, struct scn_storage_fault *fault)
{
        struct scn_database *database = &journal->database;
        sqlite3_stmt *statement;
        enum scn_error error = scn_database_prepare(database, SCN_STATEMENT_DOCUMENT_NAME, &statement, fault);

        if (error == SCN_OK)
                error = scn_database_begin_write(database, fault);
        if (error != SCN_OK)
                return error;
        scn_database_bind_text(statement, 1, name);
        error = scn_database_run(database, statement, fault);
        if (error != SCN_OK) {
                scn_database_rollback(database);
                return error;
        }
        return scn_database_commit(database, fault);
}

/* ------------------------------------------------------------------ state */

enum scn_error scn_journal_tail(
        struct scn_journal *journal, struct scn_journal_tail *tail_out, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        bool has_row;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_JOURNAL_LAST, &statement, fault);

        *tail_out = (struct scn_journal_tail){0};
        if (error == SCN_OK)
                error = scn_database_step(&journal->database, statement, &has_row, fault);
        if (error != SCN_OK || !has_row)
                return error;
        tail_out->revision = (scn_revision)sqlite3_column_int64(statement, 0);
        tail_out->time_us = sqlite3_column_int64(statement, 1);
        tail_out->journal_bytes = (uint64_t)sqlite3_column_int64(statement, 2);
        sqlite3_reset(statement);
        if (tail_out->revision == 0 || tail_out->revision > SCN_REVISION_MAX)
                return scn_journal_damage(journal, tail_out->revision, "no such revision can be", fault);
        if (tail_out->time_us <= 0 || tail_out->time_us > SCN_JOURNAL_TIME_US_MAX)
                return scn_journal_damage(journal, tail_out->revision, "no such time can be", fault);
        return SCN_OK;
}

/* journal_bytes up to the revision, which the file must have, unless it is 0. */
static enum scn_error bytes_up_to(
        struct scn_journal *journal, scn_revision revision, uint64_t *bytes_out, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        bool has_row;

        *bytes_out = 0;
        if (revision == 0)
                return SCN_OK;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_JOURNAL_AT, &statement, fault);
        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, (int64_t)revision);
        error = scn_database_step(&journal->database, statement, &has_row, fault);
        if (error != SCN_OK)
                return error;
        if (!has_row)
                return scn_journal_damage(journal, revision, "the transaction is missing", fault);
        *bytes_out = (uint64_t)sqlite3_column_int64(statement, 1);
        sqlite3_reset(statement);
        return SCN_OK;
}

static enum scn_error read_checkpoint_state(struct scn_journal *journal, const struct scn_journal_tail *tail,
        struct scn_journal_state *state, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        uint64_t before;
        enum scn_error error =
                scn_database_prepare(&journal->database, SCN_STATEMENT_CHECKPOINT_NEWEST, &statement, fault);

        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, INT64_MAX);
        error = scn_database_step(&journal->database, statement, &state->has_checkpoint, fault);
        if (error != SCN_OK)
                return error;
        if (state->has_checkpoint) {
                state->checkpoint_revision = (scn_revision)sqlite3_column_int64(statement, 1);
                state->checkpoint_bytes = (uint64_t)sqlite3_column_int64(statement, 4);
                sqlite3_reset(statement);
        }
        error = bytes_up_to(journal, state->checkpoint_revision, &before, fault);
        state->journal_bytes = tail->journal_bytes - before;
        return error;
}

enum scn_error scn_journal_history(
        struct scn_journal *journal, struct scn_journal_history *history_out, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        bool has_row;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_HISTORY_GET, &statement, fault);

        *history_out = (struct scn_journal_history){0};
        if (error == SCN_OK)
                error = scn_database_step(&journal->database, statement, &has_row, fault);
        if (error != SCN_OK)
                return error;
        if (!has_row)
                return scn_journal_damage(journal, 0, "the file does not say where its history begins", fault);
        const int64_t base = sqlite3_column_int64(statement, 0), judged = sqlite3_column_int64(statement, 1);
        sqlite3_reset(statement);
        if (base < 0 || judged < base || judged > (int64_t)SCN_REVISION_MAX)
                return scn_fault_set(fault, SCN_E_CORRUPT, 0, 0,
                        "%s: history, row 1: it begins or has been judged where it cannot",
                        scn_database_name(&journal->database));
        *history_out = (struct scn_journal_history){.base = (scn_revision)base, .judged = (scn_revision)judged};
        return SCN_OK;
}

/* Whether the revision has a state if it is in a fold, or which nearest it have. */
static enum scn_error check_fold(struct scn_journal *journal, scn_revision revision, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        bool has_row;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_FOLD_AT, &statement, fault);

        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, (int64_t)revision);
        error = scn_database_step(&journal->database, statement, &has_row, fault);
        if (error != SCN_OK || !has_row)
                return error;
        const struct scn_journal_fold fold = {
                .first = (scn_revision)sqlite3_column_int64(statement, 0),
                .last = (scn_revision)sqlite3_column_int64(statement, 1),
                .states = {sqlite3_column_blob(statement, 2), (uint32_t)sqlite3_column_bytes(statement, 2)},
        };
        const bool is_in = fold.first <= revision;
        scn_revision below = revision, above = revision;
        while (is_in && below >= fold.first && !scn_journal_fold_has_state(&fold, below))
                below--;
        while (is_in && above < fold.last && !scn_journal_fold_has_state(&fold, above))
                above++;
        sqlite3_reset(statement);
        if (!is_in || below == revision)
                return SCN_OK;
        return scn_fault_set(fault, SCN_E_FOLDED, above, 0,
                "revision %llu was folded; the nearest that are kept: %llu and %llu", (unsigned long long)revision,
                (unsigned long long)below, (unsigned long long)above);
}

enum scn_error scn_journal_check_revision(
        struct scn_journal *journal, scn_revision revision, struct scn_storage_fault *fault)
{
        struct scn_journal_history history;
        struct scn_journal_tail tail;
        enum scn_error error = scn_journal_history(journal, &history, fault);

        if (error == SCN_OK)
                error = scn_journal_tail(journal, &tail, fault);
        if (error != SCN_OK)
                return error;
        if (revision > tail.revision)
                return scn_storage_fail_future(fault, revision, tail.revision);
        if (revision < history.base)
                return scn_fault_set(fault, SCN_E_BEFORE_RETENTION, history.base, 0,
                        "revision %llu is not kept; the first that is: %llu", (unsigned long long)revision,
                        (unsigned long long)history.base);
        return check_fold(journal, revision, fault);
}

enum scn_error scn_journal_has_revision(
        struct scn_journal *journal, scn_revision revision, struct scn_storage_fault *fault)
{
        enum scn_error error = scn_database_begin_read(&journal->database, fault);

        if (error != SCN_OK)
                return error;
        error = scn_journal_check_revision(journal, revision, fault);
        scn_database_end_read(&journal->database);
        return error;
}

static enum scn_error read_epoch_state(
        struct scn_journal *journal, struct scn_journal_state *state, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        bool has_row;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_EPOCH_LAST, &statement, fault);

        if (error == SCN_OK)
                error = scn_database_step(&journal->database, statement, &has_row, fault);
        if (error != SCN_OK || !has_row)
                return error;
        state->epoch = (uint64_t)sqlite3_column_int64(statement, 0);
        sqlite3_reset(statement);
        return SCN_OK;
}

enum scn_error scn_journal_state(
        struct scn_journal *journal, struct scn_journal_state *state_out, struct scn_storage_fault *fault)
{
        struct scn_journal_tail tail;
        struct scn_journal_history history;
        enum scn_error error = scn_database_begin_read(&journal->database, fault);

        if (error != SCN_OK)
                return error;
        *state_out = (struct scn_journal_state){.uid = journal->uid, .created_us = journal->created_us};
        error = scn_journal_tail(journal, &tail, fault);
        if (error == SCN_OK)
                error = read_checkpoint_state(journal, &tail, state_out, fault);
        if (error == SCN_OK)
                error = read_epoch_state(journal, state_out, fault);
        if (error == SCN_OK)
                error = scn_journal_history(journal, &history, fault);
        scn_database_end_read(&journal->database);
        if (error != SCN_OK)
                return error;
        state_out->base = history.base;
        state_out->judged = history.judged;
        state_out->last_revision = tail.revision;
        state_out->last_time_us = tail.time_us;
        state_out->wal_bytes = scn_database_wal_bytes(&journal->database);
        return error;
}

struct scn_slice scn_journal_origin(const struct scn_journal *journal)
{
        return (struct scn_slice){journal->origin, journal->origin_bytes};
}

enum scn_error scn_journal_upkeep(struct scn_journal *journal, struct scn_storage_fault *fault)
{
        return scn_database_upkeep(&journal->database, fault);
}

struct scn_journal_wal scn_journal_wal(const struct scn_journal *journal)
{
        const struct scn_database *database = &journal->database;
        return (struct scn_journal_wal){scn_database_wal_bytes(database), database->wal_held_count};
}

/* ----------------------------------------------------------------- epochs */

static enum scn_error add_epoch(
        struct scn_journal *journal, uint64_t id, int64_t time_us, struct scn_storage_fault *fault)
{
        struct scn_database *database = &journal->database;
        struct scn_journal_epoch known;
        struct scn_journal_tail tail;
        sqlite3_stmt *statement;
        bool is_known;
        enum scn_error error = scn_journal_find_epoch(journal, id, &known, &is_known, fault);

        if (error == SCN_OK && (is_known || id == 0))
                error = scn_fault_set(fault, SCN_E_BAD_BATCH, 0, 0, "the epoch has been used before");
        if (error == SCN_OK)
                error = scn_journal_tail(journal, &tail, fault);
        if (error == SCN_OK)
                error = scn_database_prepare(database, SCN_STATEMENT_EPOCH_ADD, &statement, fault);
        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, (int64_t)id);
        sqlite3_bind_int64(statement, 2, (int64_t)tail.revision);
        sqlite3_bind_int64(statement, 3, time_us);
        return scn_database_run(database, statement, fault);
}

enum scn_error scn_journal_begin_epoch(
        struct scn_journal *journal, uint64_t id, int64_t time_us, struct scn_storage_fault *fault)
{
        enum scn_error error = scn_database_begin_write(&journal->database, fault);

        if (error != SCN_OK)
                return error;
        error = add_epoch(journal, id, time_us, fault);
        if (error == SCN_OK)
                return scn_database_commit(&journal->database, fault);
        scn_database_rollback(&journal->database);
        return error;
}

static enum scn_error find_epoch_end(
        struct scn_journal *journal, int64_t position, scn_revision *ended_out, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        bool has_row;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_EPOCH_NEXT, &statement, fault);

        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, position);
        error = scn_database_step(&journal->database, statement, &has_row, fault);
        if (error != SCN_OK)
                return error;
        *ended_out = has_row ? (scn_revision)sqlite3_column_int64(statement, 0) : SCN_REVISION_MAX;
        sqlite3_reset(statement);
        return SCN_OK;
}

enum scn_error scn_journal_find_epoch(struct scn_journal *journal, uint64_t id, struct scn_journal_epoch *epoch_out,
        bool *found_out, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_EPOCH_FIND, &statement, fault);

        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, (int64_t)id);
        error = scn_database_step(&journal->database, statement, found_out, fault);
        if (error != SCN_OK || !*found_out)
                return error;
        const int64_t position = sqlite3_column_int64(statement, 0);
        *epoch_out = (struct scn_journal_epoch){
                .id = id,
                .began = (scn_revision)sqlite3_column_int64(statement, 1),
                .time_us = sqlite3_column_int64(statement, 2),
        };
        sqlite3_reset(statement);
        return find_epoch_end(journal, position, &epoch_out->ended, fault);
}

enum scn_error scn_journal_list_epochs(struct scn_journal *journal, struct scn_journal_epoch *epochs_out,
        uint32_t epochs_max, uint32_t *count_out, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        scn_revision ended = SCN_REVISION_MAX;
        bool has_row = true;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_EPOCH_LIST, &statement, fault);

        *count_out = 0;
        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, epochs_max);
        while (error == SCN_OK && has_row) {
                error = scn_database_step(&journal->database, statement, &has_row, fault);
                if (error == SCN_OK && has_row) {
                        epochs_out[(*count_out)++] = (struct scn_journal_epoch){
                                .id = (uint64_t)sqlite3_column_int64(statement, 0),
                                .began = (scn_revision)sqlite3_column_int64(statement, 1),
                                .ended = ended,
                                .time_us = sqlite3_column_int64(statement, 2),
                        };
                        ended = epochs_out[*count_out - 1].began;
                }
        }
        return error;
}
