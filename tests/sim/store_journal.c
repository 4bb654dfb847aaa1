/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Journals of the storage fake: epochs, transactions, clients. */

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/base/uid.h"
#include "tests/sim/store_state.h"

#include <string.h>

/* --- Who may do what, and what goes wrong --- */

enum scn_error sim_store_ask(
        struct sim_disk *disk, bool is_dead, enum sim_access access, struct scn_storage_fault *fault)
{
        if (is_dead) {
                return sim_store_fail(fault, SCN_E_STORAGE_FAILED);
        }
        if (disk->job == 0) {
                disk->on_broken(disk->data, "the loop itself waits for the disk");
        }
        const struct sim_disk_faults *faults = &disk->faults;
        if (access == SIM_READ && scn_random_chance(disk->random, faults->read_percent)) {
                return sim_store_fail(fault, SCN_E_STORAGE_FAILED);
        }
        if (access == SIM_WRITE && scn_random_chance(disk->random, faults->write_percent)) {
                return sim_store_fail(fault, faults->write_error);
        }
        return SCN_OK;
}

static bool is_written_over(struct scn_journal *journal)
{
        const bool is_over = !journal->is_dead && journal->document->next_contents != NULL;
        journal->is_poisoned = journal->is_poisoned || is_over;
        return is_over;
}

enum scn_error sim_journal_ask(struct scn_journal *journal, enum sim_access access, struct scn_storage_fault *fault)
{
        struct sim_disk *disk = journal->disk;
        if (!journal->is_dead && journal->user != 0 && journal->user != disk->job &&
                disk->is_running(disk->data, journal->user)) {
                disk->on_broken(disk->data, "two jobs use one journal handle at once");
        }
        journal->user = disk->job;
        if (journal->is_poisoned && access == SIM_WRITE) {
                return sim_store_fail(fault, SCN_E_OUTCOME_UNKNOWN);
        }
        if (access == SIM_WRITE && !journal->is_dead && !journal->is_writer) {
                disk->on_broken(disk->data, "a handle for reading is written to");
        }
        const enum scn_error error = sim_store_ask(disk, journal->is_dead, access, fault);
        if (error == SCN_OK && access == SIM_WRITE && scn_random_chance(disk->random, disk->faults.unknown_percent)) {
                journal->is_poisoned = true;
                return sim_store_fail(fault, SCN_E_OUTCOME_UNKNOWN);
        }
        return error;
}

enum scn_error sim_journal_ask_write(struct scn_journal *journal, bool *is_done, struct scn_storage_fault *fault)
{
        const bool was_poisoned = is_written_over(journal) || journal->is_poisoned;
        const enum scn_error error = sim_journal_ask(journal, SIM_WRITE, fault);
        *is_done = error == SCN_OK ||
                (error == SCN_E_OUTCOME_UNKNOWN && !was_poisoned && scn_random_chance(journal->disk->random, 50));
        return error;
}

/* --- Life --- */

static struct scn_journal *make_handle(struct sim_disk *disk, struct sim_document *document, bool is_writer)
{
        struct scn_journal *journal = scn_alloc_zero(1, sizeof *journal);
        SCN_ASSERT(journal != NULL);
        journal->disk = disk;
        journal->document = document;
        journal->is_writer = is_writer;
        journal->user = disk->job;
        journal->origin = sim_store_bytes((struct scn_slice){document->origin, document->origin_size});
        journal->origin_size = document->origin_size;
        journal->next = disk->handles;
        disk->handles = journal;
        document->handles_count++;
        return journal;
}

static enum scn_error open_handle(const struct scn_storage *storage, struct scn_slice name, bool is_writer,
        struct scn_journal **journal_out, struct scn_storage_fault *fault)
{
        const enum scn_error error = sim_store_ask_about(storage, SIM_READ, name, fault);
        if (error != SCN_OK) {
                return error;
        }
        struct sim_document *document = sim_disk_find(storage->disk, SIM_DOCUMENTS, name);
        if (document == NULL) {
                return sim_store_fail(fault, SCN_E_NO_DOCUMENT);
        }
        if (document->next_contents != NULL) {
                return sim_store_fail(fault, SCN_E_STORAGE_BUSY);
        }
        *journal_out = make_handle(storage->disk, document, is_writer);
        return SCN_OK;
}

enum scn_error scn_journal_open(const struct scn_storage *storage, struct scn_slice name,
        const struct scn_journal_options *options, struct scn_journal **journal_out, struct scn_storage_fault *fault)
{
        const struct sim_disk_faults *faults = &storage->disk->faults;
        const bool is_writer = options == NULL || options->mode == SCN_JOURNAL_WRITE;
        const bool is_full = is_writer && faults->write_error == SCN_E_STORAGE_FULL;
        if (is_full && scn_random_chance(storage->disk->random, faults->write_percent / 3)) {
                return sim_store_fail(fault, SCN_E_STORAGE_FULL);
        }
        return open_handle(storage, name, is_writer, journal_out, fault);
}

enum scn_error scn_journal_open_still(const struct scn_storage *storage, struct scn_slice name,
        struct scn_journal **journal_out, struct scn_storage_fault *fault)
{
        const enum scn_error error = open_handle(storage, name, false, journal_out, fault);
        if (error == SCN_OK) {
                (*journal_out)->is_still = true;
        }
        return error;
}

enum scn_error scn_journal_open_file(
        const char *path, struct scn_journal **journal_out, struct scn_storage_fault *fault)
{
        struct sim_disk *disk = sim_store_disk();
        const struct scn_slice name = {(const uint8_t *)path, (uint32_t)strlen(path)};
        struct sim_document *document = sim_disk_find(disk, SIM_FILES, name);
        if (document == NULL) {
                return sim_store_fail(fault, SCN_E_NO_DOCUMENT);
        }
        *journal_out = make_handle(disk, document, false);
        return SCN_OK;
}

void scn_journal_close(struct scn_journal *journal)
{
        if (journal == NULL) {
                return;
        }
        SCN_ASSERT(journal->dependents_count == 0);
        struct scn_journal **at = &journal->disk->handles;
        while (*at != journal) {
                at = &(*at)->next;
        }
        *at = journal->next;
        if (journal->document != NULL) {
                journal->document->handles_count--;
                sim_store_left(journal->disk, journal->document);
        }
        scn_free(journal->origin);
        scn_free(journal);
}

enum scn_error scn_storage_draft(const struct scn_storage *storage, const struct scn_storage_birth *birth,
        struct scn_journal **journal_out, struct scn_storage_fault *fault)
{
        const enum scn_error error = sim_store_ask(storage->disk, storage->is_dead, SIM_WRITE, fault);
        if (error == SCN_OK) {
                const struct scn_slice nameless = {(const uint8_t *)"", 0};
                *journal_out =
                        make_handle(storage->disk, sim_store_make(storage->disk, SIM_DRAFTS, nameless, birth), true);
        }
        return error;
}

enum scn_error scn_storage_publish(const struct scn_storage *storage, struct scn_journal *journal,
        struct scn_slice name, struct scn_storage_fault *fault)
{
        struct sim_document *document = journal->document;
        enum scn_error error = sim_store_ask_about(storage, SIM_WRITE, name, fault);
        if (error == SCN_OK && sim_disk_find(storage->disk, SIM_DOCUMENTS, name) != NULL) {
                error = sim_store_fail(fault, SCN_E_DOCUMENT_EXISTS);
        }
        scn_journal_close(journal);
        if (error == SCN_OK) {
                scn_free(document->name);
                document->name = sim_store_bytes(name);
                document->name_size = name.size;
                document->place = SIM_DOCUMENTS;
        } else if (document != NULL) {
                sim_store_drop(storage->disk, document);
        }
        return error;
}

void scn_storage_discard(const struct scn_storage *storage, struct scn_journal *journal)
{
        struct sim_document *document = journal->document;
        scn_journal_close(journal);
        if (document != NULL) {
                sim_store_drop(storage->disk, document);
        }
}

enum scn_error scn_journal_state(
        struct scn_journal *journal, struct scn_journal_state *state_out, struct scn_storage_fault *fault)
{
        const enum scn_error error = sim_journal_ask(journal, SIM_READ, fault);
        if (error != SCN_OK) {
                return error;
        }
        const struct sim_document *document = journal->document;
        const size_t count = document->transactions_count;
        *state_out = (struct scn_journal_state){
                .uid = document->uid,
                .created_us = document->created_us,
                .last_revision = count,
                .last_time_us = count == 0 ? 0 : document->transactions[count - 1]->transaction.time_us,
                .epoch = document->epochs_count == 0 ? 0 : document->epochs[document->epochs_count - 1].id,
                .base = document->base,
                .judged = document->fates_count,
        };
        if (document->checkpoints_count > 0) {
                const struct scn_checkpoint_info *info = &document->checkpoints[document->checkpoints_count - 1]->info;
                state_out->has_checkpoint = true;
                state_out->checkpoint_revision = info->revision;
                state_out->checkpoint_bytes = info->bytes;
        }
        for (size_t i = state_out->checkpoint_revision; i < count; i++) {
                state_out->journal_bytes += document->transactions[i]->bytes;
        }
        return SCN_OK;
}

struct scn_slice scn_journal_origin(const struct scn_journal *journal)
{
        return (struct scn_slice){journal->origin, journal->origin_size};
}

/* --- Epochs --- */

enum scn_error scn_journal_begin_epoch(
        struct scn_journal *journal, uint64_t id, int64_t time_us, struct scn_storage_fault *fault)
{
        struct sim_document *document = journal->document;
        for (size_t i = 0; document != NULL && i < document->epochs_count; i++) {
                if (id == 0 || document->epochs[i].id == id) {
                        return sim_store_fail(fault, SCN_E_BAD_BATCH);
                }
        }
        bool is_done;
        const enum scn_error error = sim_journal_ask_write(journal, &is_done, fault);
        if (is_done) {
                const scn_revision last = document->transactions_count;
                if (document->epochs_count > 0) {
                        document->epochs[document->epochs_count - 1].ended = last;
                }
                document->epochs = sim_store_grow(document->epochs, &document->epochs_capacity,
                        sizeof *document->epochs, document->epochs_count + 1);
                document->epochs[document->epochs_count++] =
                        (struct scn_journal_epoch){id, last, SCN_REVISION_MAX, time_us};
        }
        return error;
}

enum scn_error scn_journal_find_epoch(struct scn_journal *journal, uint64_t id, struct scn_journal_epoch *epoch_out,
        bool *found_out, struct scn_storage_fault *fault)
{
        const enum scn_error error = sim_journal_ask(journal, SIM_READ, fault);
        *found_out = false;
        for (size_t i = 0; error == SCN_OK && i < journal->document->epochs_count; i++) {
                if (journal->document->epochs[i].id == id) {
                        *epoch_out = journal->document->epochs[i];
                        *found_out = true;
                }
        }
        return error;
}

enum scn_error scn_journal_list_epochs(struct scn_journal *journal, struct scn_journal_epoch *epochs_out,
        uint32_t epochs_max, uint32_t *count_out, struct scn_storage_fault *fault)
{
        const enum scn_error error = sim_journal_ask(journal, SIM_READ, fault);
        const size_t count = error == SCN_OK ? journal->document->epochs_count : 0;
        *count_out = 0;
        while (*count_out < epochs_max && *count_out < count) {
                epochs_out[*count_out] = journal->document->epochs[count - 1 - *count_out];
                ++*count_out;
        }
        return error;
}

/* --- Clients --- */

static struct sim_client_row *find_row(struct sim_document *document, struct scn_uid uid)
{
        for (size_t i = 0; i < document->clients_count; i++) {
                if (scn_uid_equal(document->clients[i].uid, uid)) {
                        return &document->clients[i];
                }
        }
        return NULL;
}

static void note_client(struct sim_document *document, const struct scn_journal_transaction *transaction)
{
        struct sim_client_row *row = find_row(document, transaction->client);
        if (row == NULL) {
                document->clients = sim_store_grow(document->clients, &document->clients_capacity,
                        sizeof *document->clients, document->clients_count + 1);
                row = &document->clients[document->clients_count++];
                *row = (struct sim_client_row){.uid = transaction->client, .is_forgotten = true};
        }
        if (row->is_forgotten) {
                row->since = transaction->revision;
                row->is_forgotten = false;
        }
        row->client = (struct scn_journal_client){
                .author_bytes = transaction->author.size,
                .last_number = transaction->number,
                .last_revision = transaction->revision,
                .last_time_us = transaction->time_us,
        };
        memcpy(row->client.author, transaction->author.data, transaction->author.size);
}

enum scn_error scn_journal_find_client(struct scn_journal *journal, struct scn_uid uid,
        struct scn_journal_client *client_out, bool *found_out, struct scn_storage_fault *fault)
{
        const enum scn_error error = sim_journal_ask(journal, SIM_READ, fault);
        const struct sim_client_row *row = error == SCN_OK ? find_row(journal->document, uid) : NULL;
        *found_out = row != NULL && !row->is_forgotten;
        if (*found_out) {
                *client_out = row->client;
        }
        return error;
}

enum scn_error scn_journal_forget_clients(
        struct scn_journal *journal, int64_t now_us, bool *is_done_out, struct scn_storage_fault *fault)
{
        bool is_done;
        const enum scn_error error = sim_journal_ask_write(journal, &is_done, fault);
        for (size_t i = 0; is_done && i < journal->document->clients_count; i++) {
                struct sim_client_row *row = &journal->document->clients[i];
                row->is_forgotten =
                        row->is_forgotten || now_us - row->client.last_time_us > SCN_JOURNAL_CLIENT_UNUSED_US;
        }
        *is_done_out = error == SCN_OK;
        return error;
}

enum scn_error scn_journal_look(struct scn_journal *journal, struct scn_storage_fault *fault)
{
        const enum scn_error error = sim_journal_ask(journal, SIM_READ, fault);
        return error == SCN_OK && is_written_over(journal) ? sim_store_fail(fault, SCN_E_OUTCOME_UNKNOWN) : error;
}

/* --- Transactions --- */

static bool continues(struct sim_document *document, const struct scn_journal_transaction *transactions, uint32_t count)
{
        const size_t before = document->transactions_count;
        scn_revision revision = before;
        int64_t time_us = before == 0 ? 0 : document->transactions[before - 1]->transaction.time_us;
        for (uint32_t i = 0; i < count; i++) {
                const struct scn_journal_transaction *transaction = &transactions[i];
                const struct sim_client_row *row = find_row(document, transaction->client);
                uint64_t number = row == NULL || row->is_forgotten ? 0 : row->client.last_number;
                for (uint32_t k = 0; k < i; k++) {
                        if (scn_uid_equal(transactions[k].client, transaction->client)) {
                                number = transactions[k].number;
                        }
                }
                const bool is_server = scn_uid_is_none(transaction->client);
                if (transaction->revision != revision + 1 || transaction->time_us <= time_us ||
                        (is_server ? transaction->number != 0 : transaction->number <= number) ||
                        transaction->author.size > SCN_JOURNAL_AUTHOR_BYTES_MAX ||
                        transaction->content_hash.size > SCN_JOURNAL_HASH_BYTES_MAX ||
                        transaction->digest.size > SCN_JOURNAL_DIGEST_BYTES_MAX) {
                        return false;
                }
                revision = transaction->revision;
                time_us = transaction->time_us;
        }
        return true;
}

static struct scn_slice keep(uint8_t **at, struct scn_slice slice)
{
        uint8_t *bytes = *at;
        if (slice.size > 0) {
                memcpy(bytes, slice.data, slice.size);
        }
        *at += slice.size;
        return (struct scn_slice){bytes, slice.size};
}

/* What the storage counts for a transaction and for a record beside what is in them. */

struct sim_transaction *sim_store_transaction(const struct scn_journal_transaction *from)
{
        size_t bytes = (size_t)from->content_hash.size + from->digest.size + from->answer.size;
        for (uint32_t i = 0; i < from->records_count; i++) {
                bytes += (size_t)from->records[i].before.size + from->records[i].after.size;
        }
        const size_t counted = bytes + SCN_JOURNAL_ROW_COST * (1 + (size_t)from->records_count);
        bytes += from->author.size;
        const size_t records_bytes = from->records_count * sizeof(struct scn_journal_record);
        struct sim_transaction *stored = scn_alloc(sizeof *stored + records_bytes + bytes);
        SCN_ASSERT(stored != NULL);
        struct scn_journal_record *records = (struct scn_journal_record *)(void *)(stored + 1);
        uint8_t *at = (uint8_t *)(records + from->records_count);
        stored->references = 1;
        stored->bytes = counted;
        stored->transaction = *from;
        stored->transaction.author = keep(&at, from->author);
        stored->transaction.content_hash = keep(&at, from->content_hash);
        stored->transaction.digest = keep(&at, from->digest);
        stored->transaction.answer = keep(&at, from->answer);
        for (uint32_t i = 0; i < from->records_count; i++) {
                records[i] = from->records[i];
                records[i].before = keep(&at, from->records[i].before);
                records[i].after = keep(&at, from->records[i].after);
        }
        stored->transaction.records = records;
        return stored;
}

enum scn_error scn_journal_append(struct scn_journal *journal, const struct scn_journal_transaction *transactions,
        uint32_t count, struct scn_storage_fault *fault)
{
        struct sim_document *document = journal->document;
        if (document != NULL && !continues(document, transactions, count)) {
                journal->disk->on_broken(journal->disk->data, "a batch does not continue the journal");
                return sim_store_fail(fault, SCN_E_BAD_BATCH);
        }
        bool is_done;
        const enum scn_error error = sim_journal_ask_write(journal, &is_done, fault);
        for (uint32_t i = 0; is_done && i < count; i++) {
                document->transactions = sim_store_grow(document->transactions, &document->transactions_capacity,
                        sizeof(struct sim_transaction *), document->transactions_count + 1);
                document->transactions[document->transactions_count++] = sim_store_transaction(&transactions[i]);
                if (!scn_uid_is_none(transactions[i].client)) {
                        note_client(document, &transactions[i]);
                }
        }
        return error;
}

enum scn_error scn_journal_upkeep(struct scn_journal *journal, struct scn_storage_fault *fault)
{
        return journal->is_dead ? sim_store_fail(fault, SCN_E_STORAGE_FAILED) : SCN_OK;
}

struct scn_journal_wal scn_journal_wal(const struct scn_journal *journal)
{
        (void)journal;
        return (struct scn_journal_wal){0, 0};
}

/* --- Pages --- */

struct scn_journal_page {
        uint32_t count;
        struct sim_transaction **transactions; /* with a reference each */
        struct scn_journal_transaction *heads; /* without records; or NULL */
};

static struct scn_journal_page *make_page(
        const struct sim_document *document, const scn_revision *revisions, size_t count, bool without_records)
{
        struct scn_journal_page *page = scn_alloc_zero(1, sizeof *page);
        SCN_ASSERT(page != NULL);
        page->count = (uint32_t)count;
        page->transactions = scn_alloc(count * sizeof(struct sim_transaction *));
        page->heads = without_records ? scn_alloc(count * sizeof *page->heads) : NULL;
        SCN_ASSERT(page->transactions != NULL && (!without_records || page->heads != NULL));
        for (size_t i = 0; i < count; i++) {
                page->transactions[i] = sim_store_present(document, revisions[i]);
                page->transactions[i]->references++;
                if (without_records) {
                        page->heads[i] = page->transactions[i]->transaction;
                        page->heads[i].records = NULL;
                }
        }
        return page;
}

#define PAGE_MAX 1000u

enum scn_error scn_journal_read(struct scn_journal *journal, const struct scn_journal_range *range,
        struct scn_journal_page **page_out, struct scn_storage_fault *fault)
{
        const enum scn_error error = sim_journal_ask(journal, SIM_READ, fault);
        if (error != SCN_OK) {
                return error;
        }
        scn_revision revisions[PAGE_MAX];
        const struct sim_document *document = journal->document;
        const scn_revision last = document->transactions_count;
        const scn_revision to = range->to == 0 || range->to > last ? last : range->to;
        const size_t bytes_max = range->bytes_max == 0 ? (size_t)1 << 20 : range->bytes_max;
        size_t count_max = range->transactions_max == 0 ? PAGE_MAX : range->transactions_max;
        size_t count = 0;
        size_t bytes = 0;
        count_max = count_max < PAGE_MAX ? count_max : PAGE_MAX;
        for (scn_revision at = range->from; at <= to && count < count_max && (count == 0 || bytes < bytes_max); at++) {
                const struct sim_transaction *transaction = sim_store_present(document, at);
                if (transaction != NULL) {
                        bytes += transaction->bytes;
                        revisions[count++] = at;
                }
        }
        *page_out = make_page(document, revisions, count, range->without_records);
        return SCN_OK;
}

/* Few here are of a size that counts. */
size_t scn_journal_page_bytes(const struct scn_journal_page *page)
{
        return page == NULL ? 0 : page->count;
}

uint32_t scn_journal_page_count(const struct scn_journal_page *page)
{
        return page == NULL ? 0 : page->count;
}

const struct scn_journal_transaction *scn_journal_page_get(const struct scn_journal_page *page, uint32_t index)
{
        SCN_ASSERT(page != NULL && index < page->count);
        return page->heads != NULL ? &page->heads[index] : &page->transactions[index]->transaction;
}

void scn_journal_page_destroy(struct scn_journal_page *page)
{
        if (page == NULL) {
                return;
        }
        for (uint32_t i = 0; i < page->count; i++) {
                if (--page->transactions[i]->references == 0) {
                        scn_free(page->transactions[i]);
                }
        }
        scn_free(page->transactions);
        scn_free(page->heads);
        scn_free(page);
}

enum scn_error scn_journal_find_time(
        struct scn_journal *journal, int64_t time_us, scn_revision *revision_out, struct scn_storage_fault *fault)
{
        const enum scn_error error = sim_journal_ask(journal, SIM_READ, fault);
        scn_revision at = error == SCN_OK ? journal->document->transactions_count : 0;
        while (at > 0) {
                const struct sim_transaction *transaction = sim_store_present(journal->document, at);
                if (transaction != NULL && transaction->transaction.time_us <= time_us) {
                        break;
                }
                at--;
        }
        *revision_out = at;
        return error;
}

/* It was stored. */
static enum scn_error tell_answer(const struct sim_document *document, scn_revision revision,
        struct scn_journal_page **page_out, struct scn_storage_fault *fault)
{
        if (sim_store_present(document, revision) != NULL) {
                *page_out = make_page(document, &revision, 1, true);
                return SCN_OK;
        }
        const bool is_folded = revision <= document->fates_count && document->fates[revision - 1].into != revision;
        return sim_store_fail(fault, is_folded ? SCN_E_FOLDED : SCN_E_BEFORE_RETENTION);
}

enum scn_error scn_journal_find_answer(struct scn_journal *journal, struct scn_uid client, uint64_t number,
        struct scn_journal_page **page_out, struct scn_storage_fault *fault)
{
        const enum scn_error error = sim_journal_ask(journal, SIM_READ, fault);
        *page_out = NULL;
        if (error != SCN_OK) {
                return error;
        }
        struct sim_document *document = journal->document;
        const struct sim_client_row *row = find_row(document, client);
        size_t at = row == NULL || row->is_forgotten ? document->transactions_count : (size_t)row->since - 1;
        for (; at < document->transactions_count; at++) {
                const struct scn_journal_transaction *transaction = &document->transactions[at]->transaction;
                if (scn_uid_equal(transaction->client, client) && transaction->number == number) {
                        return tell_answer(document, at + 1, page_out, fault);
                }
        }
        if (number == 0 || row == NULL || row->is_forgotten || document->base <= 1) {
                return SCN_OK;
        }
        /* The storage does not know what was not stored from what is not kept, unless a smaller number is there. */
        for (scn_revision revision = document->base; revision <= document->transactions_count; revision++) {
                const struct sim_transaction *present = sim_store_present(document, revision);
                if (present != NULL && scn_uid_equal(present->transaction.client, client) &&
                        present->transaction.number < number) {
                        return SCN_OK;
                }
        }
        return sim_store_fail(fault, SCN_E_BEFORE_RETENTION);
}

enum scn_error scn_journal_verify(struct scn_journal *journal, struct scn_storage_fault *fault)
{
        return sim_journal_ask(journal, SIM_READ, fault);
}
