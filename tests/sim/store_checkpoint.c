/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Checkpoints and backups of the storage fake. */

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "tests/sim/store_state.h"

#include <string.h>

struct scn_checkpoint_writer {
        struct scn_journal *journal;
        struct sim_checkpoint *checkpoint;
};

struct scn_checkpoint_reader {
        struct scn_journal *journal;
        struct scn_checkpoint_info info;
        uint8_t digest[SCN_JOURNAL_DIGEST_BYTES_MAX];
        uint64_t number;
        uint32_t at;
};

struct scn_backup {
        struct scn_journal *journal;
        struct sim_document *copy;
};

enum scn_error scn_checkpoint_writer_create(struct scn_journal *journal, scn_revision revision, int64_t time_us,
        struct scn_checkpoint_writer **writer_out, struct scn_storage_fault *fault)
{
        const enum scn_error error = sim_journal_ask(journal, SIM_WRITE, fault);
        if (error != SCN_OK) {
                return error;
        }
        if (sim_store_has_revision(journal->document, revision) != SCN_OK) {
                return sim_store_fail(fault, SCN_E_BAD_BATCH);
        }
        struct scn_checkpoint_writer *writer = scn_alloc_zero(1, sizeof *writer);
        struct sim_checkpoint *checkpoint = scn_alloc_zero(1, sizeof *checkpoint);
        SCN_ASSERT(writer != NULL && checkpoint != NULL);
        checkpoint->info = (struct scn_checkpoint_info){.revision = revision, .time_us = time_us};
        writer->journal = journal;
        writer->checkpoint = checkpoint;
        journal->dependents_count++;
        *writer_out = writer;
        return SCN_OK;
}

void scn_checkpoint_writer_destroy(struct scn_checkpoint_writer *writer)
{
        if (writer != NULL) {
                if (writer->checkpoint != NULL) {
                        sim_checkpoint_destroy(writer->checkpoint);
                }
                writer->journal->dependents_count--;
                scn_free(writer);
        }
}

enum scn_error scn_checkpoint_writer_append(
        struct scn_checkpoint_writer *writer, struct scn_slice part, struct scn_storage_fault *fault)
{
        SCN_ASSERT(part.size > 0 && part.size <= SCN_CHECKPOINT_PART_BYTES_MAX);
        const enum scn_error error = sim_journal_ask(writer->journal, SIM_WRITE, fault);
        if (error == SCN_OK) {
                sim_checkpoint_append(writer->checkpoint, part);
        }
        return error;
}

static void insert(struct sim_document *document, struct sim_checkpoint *checkpoint)
{
        document->checkpoints = sim_store_grow(document->checkpoints, &document->checkpoints_capacity,
                sizeof(struct sim_checkpoint *), document->checkpoints_count + 1);
        size_t at = document->checkpoints_count++;
        while (at > 0 && document->checkpoints[at - 1]->info.revision > checkpoint->info.revision) {
                document->checkpoints[at] = document->checkpoints[at - 1];
                at--;
        }
        document->checkpoints[at] = checkpoint;
}

enum scn_error scn_checkpoint_writer_finish(
        struct scn_checkpoint_writer *writer, struct scn_slice digest, struct scn_storage_fault *fault)
{
        const enum scn_error error = sim_journal_ask(writer->journal, SIM_WRITE, fault);
        if (error != SCN_OK) {
                return error;
        }
        struct sim_document *document = writer->journal->document;
        struct sim_checkpoint *checkpoint = writer->checkpoint;
        if (checkpoint->info.revision > 0) {
                const struct sim_transaction *present = sim_store_present(document, checkpoint->info.revision);
                const struct scn_slice stored =
                        present == NULL ? (struct scn_slice){NULL, 0} : present->transaction.digest;
                if (present == NULL || stored.size != digest.size ||
                        (digest.size > 0 && memcmp(stored.data, digest.data, digest.size) != 0)) {
                        return sim_store_fail(fault, SCN_E_CORRUPT);
                }
        }
        if (digest.size > 0) {
                memcpy(checkpoint->digest, digest.data, digest.size);
        }
        checkpoint->info.digest = (struct scn_slice){checkpoint->digest, digest.size};
        checkpoint->number = ++document->checkpoints_ever;
        insert(document, checkpoint);
        writer->checkpoint = NULL;
        return SCN_OK;
}

enum scn_error scn_checkpoint_reader_create(struct scn_journal *journal, scn_revision at_most,
        struct scn_checkpoint_reader **reader_out, struct scn_storage_fault *fault)
{
        const enum scn_error error = sim_journal_ask(journal, SIM_READ, fault);
        *reader_out = NULL;
        size_t count = error == SCN_OK ? journal->document->checkpoints_count : 0;
        while (count > 0 && journal->document->checkpoints[count - 1]->info.revision > at_most) {
                count--;
        }
        if (count == 0) {
                return error;
        }
        struct scn_checkpoint_reader *reader = scn_alloc_zero(1, sizeof *reader);
        SCN_ASSERT(reader != NULL);
        reader->journal = journal;
        reader->info = journal->document->checkpoints[count - 1]->info;
        reader->number = journal->document->checkpoints[count - 1]->number;
        memcpy(reader->digest, reader->info.digest.data, reader->info.digest.size);
        reader->info.digest.data = reader->digest;
        journal->dependents_count++;
        *reader_out = reader;
        return SCN_OK;
}

void scn_checkpoint_reader_destroy(struct scn_checkpoint_reader *reader)
{
        if (reader != NULL) {
                reader->journal->dependents_count--;
                scn_free(reader);
        }
}

struct scn_checkpoint_info scn_checkpoint_reader_info(const struct scn_checkpoint_reader *reader)
{
        return reader->info;
}

enum scn_error scn_checkpoint_reader_next(
        struct scn_checkpoint_reader *reader, struct scn_slice *part_out, struct scn_storage_fault *fault)
{
        const enum scn_error error = sim_journal_ask(reader->journal, SIM_READ, fault);
        *part_out = (struct scn_slice){NULL, 0};
        if (error != SCN_OK) {
                return error;
        }
        const struct sim_document *document = reader->journal->document;
        for (size_t i = 0; i < document->checkpoints_count; i++) {
                const struct sim_checkpoint *checkpoint = document->checkpoints[i];
                if (checkpoint->number != reader->number) {
                        continue;
                }
                const struct sim_part *part = checkpoint->parts;
                for (uint32_t k = 0; part != NULL && k < reader->at; k++) {
                        part = part->next;
                }
                if (part != NULL) {
                        reader->at++;
                        *part_out = (struct scn_slice){part->bytes, part->size};
                }
                return SCN_OK;
        }
        return sim_store_fail(fault, SCN_E_NO_CHECKPOINT);
}

static void remove_checkpoint(struct sim_document *document, size_t at)
{
        sim_checkpoint_destroy(document->checkpoints[at]);
        document->checkpoints_count--;
        memmove(&document->checkpoints[at], &document->checkpoints[at + 1],
                (document->checkpoints_count - at) * sizeof(struct sim_checkpoint *));
}

static bool is_last_made(const struct sim_document *document, size_t at)
{
        uint64_t last = 0;
        for (size_t i = 0; i < document->checkpoints_count; i++) {
                const uint64_t number = document->checkpoints[i]->number;
                last = number > last ? number : last;
        }
        return document->checkpoints[at]->number == last;
}

void sim_store_drop_checkpoints(struct sim_document *document, scn_revision below)
{
        for (size_t at = document->checkpoints_count; at-- > 0;) {
                const scn_revision revision = document->checkpoints[at]->info.revision;
                if (revision < below && at + 1 < document->checkpoints_count && !is_last_made(document, at) &&
                        (revision != document->base || revision == 0)) {
                        remove_checkpoint(document, at);
                }
        }
}

enum scn_error scn_checkpoint_drop(
        struct scn_journal *journal, scn_revision below, bool *is_done_out, struct scn_storage_fault *fault)
{
        const enum scn_error error = sim_journal_ask(journal, SIM_WRITE, fault);
        *is_done_out = error == SCN_OK;
        if (error == SCN_OK) {
                sim_store_drop_checkpoints(journal->document, below);
        }
        return error;
}

/* Bytes of all transactions up to the last of the first `count` checkpoints. */
static uint64_t bytes_up_to(const struct sim_document *document, size_t count)
{
        const size_t revision = count == 0 ? 0 : (size_t)document->checkpoints[count - 1]->info.revision;
        uint64_t bytes = 0;
        for (size_t i = 0; i < revision; i++) {
                bytes += document->transactions[i]->bytes;
        }
        return bytes;
}

/* The one that is not needed between its neighbours, from the newest on; 0: all are. */
static size_t choose(const struct sim_document *document)
{
        const uint64_t newest = bytes_up_to(document, document->checkpoints_count);
        for (size_t count = document->checkpoints_count; count-- > 1;) {
                if (is_last_made(document, count - 1)) {
                        continue;
                }
                const uint64_t newer = bytes_up_to(document, count + 1);
                const bool is_same =
                        document->checkpoints[count]->info.revision == document->checkpoints[count - 1]->info.revision;
                const scn_revision base = document->base;
                const bool is_base = base > 0 && document->checkpoints[count - 1]->info.revision == base;
                if (is_same || (!is_base && newer - bytes_up_to(document, count - 1) <= newest - newer)) {
                        return count;
                }
        }
        return 0;
}

enum scn_error scn_checkpoint_thin(struct scn_journal *journal, bool *is_done_out, struct scn_storage_fault *fault)
{
        const enum scn_error error = sim_journal_ask(journal, SIM_WRITE, fault);
        struct sim_document *document = journal->document;
        const size_t chosen = error == SCN_OK ? choose(document) : 0;
        *is_done_out = chosen == 0;
        if (chosen != 0) {
                remove_checkpoint(document, chosen - 1);
        }
        return error;
}

/* --- Backup --- */

enum scn_error scn_backup_create(
        struct scn_journal *journal, const char *path, struct scn_backup **backup_out, struct scn_storage_fault *fault)
{
        const struct scn_slice name = {(const uint8_t *)path, (uint32_t)strlen(path)};
        const enum scn_error error = sim_journal_ask(journal, SIM_READ, fault);
        if (error != SCN_OK) {
                return error;
        }
        if (sim_disk_find(journal->disk, SIM_FILES, name) != NULL) {
                return sim_store_fail(fault, SCN_E_DOCUMENT_EXISTS);
        }
        struct scn_backup *backup = scn_alloc_zero(1, sizeof *backup);
        SCN_ASSERT(backup != NULL);
        backup->journal = journal;
        backup->copy = sim_document_copy(journal->document);
        scn_free(backup->copy->name);
        backup->copy->name = sim_store_bytes(name);
        backup->copy->name_size = name.size;
        journal->dependents_count++;
        *backup_out = backup;
        return SCN_OK;
}

enum scn_error scn_backup_step(
        struct scn_backup *backup, uint64_t bytes, uint64_t *left_out, struct scn_storage_fault *fault)
{
        (void)bytes;
        *left_out = 0;
        return sim_journal_ask(backup->journal, SIM_READ, fault);
}

enum scn_error scn_backup_finish(struct scn_backup *backup, struct scn_storage_fault *fault)
{
        struct sim_disk *disk = backup->journal->disk;
        const enum scn_error error = sim_journal_ask(backup->journal, SIM_READ, fault);
        if (error == SCN_OK) {
                backup->copy->place = SIM_FILES;
                backup->copy->next = disk->documents;
                disk->documents = backup->copy;
                backup->copy = NULL;
        }
        return error;
}

void scn_backup_destroy(struct scn_backup *backup)
{
        if (backup != NULL) {
                if (backup->copy != NULL) {
                        sim_document_destroy(backup->copy);
                }
                backup->journal->dependents_count--;
                scn_free(backup);
        }
}

/* --- Copies: bytes of some length, for what is in them nobody here reads --- */

struct scn_copy {
        struct sim_disk *disk;
        const struct scn_storage *storage;
        uint64_t size;
        uint64_t at;
};

enum scn_error scn_copy_create(const struct scn_storage *storage, struct scn_slice name, uint64_t number,
        struct scn_copy **copy_out, struct scn_storage_fault *fault)
{
        const enum scn_error error = sim_store_ask(storage->disk, storage->is_dead, SIM_READ, fault);
        (void)number;
        if (error != SCN_OK) {
                return error;
        }
        const struct sim_document *document = sim_disk_find(storage->disk, SIM_DOCUMENTS, name);
        if (document == NULL) {
                return sim_store_fail(fault, SCN_E_NO_DOCUMENT);
        }
        struct scn_copy *copy = scn_alloc_zero(1, sizeof *copy);
        SCN_ASSERT(copy != NULL);
        *copy = (struct scn_copy){storage->disk, storage, 700 + 11 * (uint64_t)document->transactions_count, 0};
        *copy_out = copy;
        return SCN_OK;
}

/* A process that is dead has no more of its handles: `storage` is then gone, too. */
static enum scn_error ask_copy(const struct scn_copy *copy, enum sim_access access, struct scn_storage_fault *fault)
{
        return sim_store_ask(copy->disk, copy->disk->storage != copy->storage, access, fault);
}

enum scn_error scn_copy_step(struct scn_copy *copy, uint64_t bytes, uint64_t *left_out, struct scn_storage_fault *fault)
{
        (void)bytes;
        *left_out = 0;
        return ask_copy(copy, SIM_WRITE, fault);
}

uint64_t scn_copy_bytes(const struct scn_copy *copy)
{
        return copy->size;
}

enum scn_error scn_copy_read(
        struct scn_copy *copy, uint8_t *bytes_out, size_t size, size_t *size_out, struct scn_storage_fault *fault)
{
        const enum scn_error error = ask_copy(copy, SIM_READ, fault);
        const uint64_t left = copy->size - copy->at;
        *size_out = error != SCN_OK ? 0 : left < size ? (size_t)left : size;
        memset(bytes_out, 'c', *size_out);
        copy->at += *size_out;
        return error;
}

void scn_copy_destroy(struct scn_copy *copy)
{
        scn_free(copy);
}

/* --- Files from elsewhere: nothing here can read one, so none comes --- */

enum scn_error scn_adoption_create(const struct scn_storage *storage, uint64_t number, uint64_t bytes,
        struct scn_adoption **adoption_out, struct scn_storage_fault *fault)
{
        (void)storage;
        (void)number;
        (void)bytes;
        *adoption_out = NULL;
        return sim_store_fail(fault, SCN_E_STORAGE_FAILED);
}

enum scn_error scn_adoption_write(struct scn_adoption *adoption, struct scn_slice part, struct scn_storage_fault *fault)
{
        (void)adoption;
        (void)part;
        return sim_store_fail(fault, SCN_E_STORAGE_FAILED);
}

enum scn_error scn_adoption_open(
        struct scn_adoption *adoption, struct scn_journal **journal_out, struct scn_storage_fault *fault)
{
        (void)adoption;
        *journal_out = NULL;
        return sim_store_fail(fault, SCN_E_STORAGE_FAILED);
}

void scn_adoption_destroy(struct scn_adoption *adoption)
{
        SCN_ASSERT(adoption == NULL);
}

/* Nobody puts a file beside another here while the server is down but whole. */
const char *scn_storage_strange_wals(const struct scn_storage *storage, uint32_t *count_out)
{
        (void)storage;
        *count_out = 0;
        return "";
}

void scn_storage_keep_free(struct scn_storage *storage, uint64_t bytes)
{
        (void)storage;
        (void)bytes;
}

/* Here everything is read at once. */
void scn_journal_let_give_up(struct scn_journal *journal, atomic_bool *is_given_up)
{
        (void)journal;
        (void)is_given_up;
}

void scn_journal_interrupt(struct scn_journal *journal)
{
        (void)journal;
}

enum scn_error scn_storage_replace(const struct scn_storage *storage, struct scn_journal *journal,
        struct scn_slice name, int64_t now_us, struct scn_storage_fault *fault)
{
        (void)name;
        (void)now_us;
        scn_storage_discard(storage, journal);
        return sim_store_fail(fault, SCN_E_STORAGE_FAILED);
}
