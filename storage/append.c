/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "storage/journal.h"

#include "protocol/base/uid.h"
#include "storage/fault.h"

#include <string.h>

/* A row of transactions that is ready to be inserted. */
struct pending {
        const struct scn_journal_transaction *transaction;
        struct scn_journal_row row;
        int64_t client;
        int64_t sum;
};

struct batch {
        struct scn_journal *journal;
        uint64_t journal_bytes; /* up to the transaction added last */
        struct pending pending[SCN_STATEMENT_ROWS];
        uint32_t pending_count;
        struct scn_storage_fault *fault;
};

/* ------------------------------------------------------------- the checks */

static enum scn_error bad_batch(const struct batch *batch, scn_revision revision, const char *what)
{
        return scn_fault_set(
                batch->fault, SCN_E_BAD_BATCH, revision, 0, "transaction %llu: %s", (unsigned long long)revision, what);
}

static enum scn_error check_transaction(const struct batch *batch, const struct scn_journal_transaction *transaction)
{
        const scn_revision revision = transaction->revision;

        if (transaction->author.size > SCN_JOURNAL_AUTHOR_BYTES_MAX)
                return bad_batch(batch, revision, "the author's name is too long");
        if (transaction->content_hash.size > SCN_JOURNAL_HASH_BYTES_MAX)
                return bad_batch(batch, revision, "the content hash is too long");
        if (transaction->digest.size > SCN_JOURNAL_DIGEST_BYTES_MAX)
                return bad_batch(batch, revision, "the digest is too long");
        if (transaction->number > INT64_MAX || transaction->group > INT64_MAX || transaction->step > INT64_MAX)
                return bad_batch(batch, revision, "an integer has more than 63 bits");
        if ((transaction->number != 0) == scn_uid_is_none(transaction->client))
                return bad_batch(batch, revision, "a client has numbers from 1, the server has none");
        if (transaction->time_us > SCN_JOURNAL_TIME_US_MAX)
                return bad_batch(batch, revision, "no such time can be");
        if (revision > SCN_REVISION_MAX)
                return bad_batch(batch, revision, "no revision is left");
        return SCN_OK;
}

/* The file may have been written to since, by whoever else has it open. */
static enum scn_error check_batch(
        struct batch *batch, const struct scn_journal_transaction *transactions, uint32_t count)
{
        struct scn_client_cache *clients = &batch->journal->clients;
        struct scn_journal_tail tail;
        enum scn_error error = scn_journal_tail(batch->journal, &tail, batch->fault);

        if (error == SCN_OK && !(clients->is_loaded && clients->last_revision == tail.revision))
                error = scn_client_cache_load(batch->journal, tail.revision, batch->fault);
        batch->journal_bytes = tail.journal_bytes;
        for (uint32_t i = 0; i < count && error == SCN_OK; i++) {
                if (transactions[i].revision != tail.revision + 1)
                        return bad_batch(batch, transactions[i].revision, "the revision does not follow the last one");
                if (transactions[i].time_us <= tail.time_us)
                        return bad_batch(batch, transactions[i].revision, "the time has not risen");
                tail.revision = transactions[i].revision;
                tail.time_us = transactions[i].time_us;
                error = check_transaction(batch, &transactions[i]);
        }
        return error;
}

static enum scn_error note_number(
        const struct batch *batch, struct scn_client_entry *client, const struct scn_journal_transaction *transaction)
{
        if (!scn_uid_is_none(client->uid) && transaction->number <= client->last_number)
                return bad_batch(batch, transaction->revision, "the client's number has not risen");
        client->last_number = transaction->number;
        client->last_revision = transaction->revision;
        client->last_time_us = transaction->time_us;
        if (client->first_revision == 0)
                client->first_revision = transaction->revision;
        return SCN_OK;
}

/* ------------------------------------------------------------------- rows */

int64_t scn_journal_row_sum(struct scn_checksum *checksum, const struct scn_journal_transaction *transaction,
        const struct scn_journal_row *row, struct scn_slice answer)
{
        const struct scn_slice none = {0};
        const struct scn_slice node = {row->record.node.bytes, sizeof row->record.node.bytes};

        const int64_t integers[] = {
                (int64_t)transaction->revision,
                transaction->time_us,
                (int64_t)transaction->number,
                (int64_t)transaction->group,
                transaction->cause,
                (int64_t)transaction->step,
                transaction->records_count,
                row->journal_bytes,
                row->has_inline ? row->record.kind : 0,
                row->has_records ? row->first_record : 0,
                row->has_records ? row->records_checksum : 0,
        };

        scn_checksum_integers(checksum, integers, sizeof integers / sizeof integers[0]);
        scn_checksum_bytes(checksum, (struct scn_slice){transaction->client.bytes, sizeof transaction->client.bytes});
        scn_checksum_bytes(checksum, scn_journal_present(transaction->author));
        scn_checksum_bytes(checksum, scn_journal_present(transaction->content_hash));
        scn_checksum_bytes(checksum, scn_journal_present(transaction->digest));
        scn_checksum_bytes(checksum, answer);
        scn_checksum_bytes(checksum, row->has_inline ? node : none);
        scn_checksum_bytes(checksum, row->has_inline ? scn_journal_present(row->record.before) : none);
        scn_checksum_bytes(checksum, row->has_inline ? scn_journal_present(row->record.after) : none);
        return scn_checksum_take(checksum);
}

void scn_journal_sum_record(
        struct scn_checksum *checksum, int64_t position, int64_t part, const struct scn_journal_record *record)
{
        scn_checksum_integer(checksum, position);
        scn_checksum_integer(checksum, part);
        scn_checksum_integer(checksum, record->kind);
        scn_checksum_bytes(checksum, (struct scn_slice){record->node.bytes, sizeof record->node.bytes});
        scn_checksum_bytes(checksum, scn_journal_present(record->before));
        scn_checksum_bytes(checksum, scn_journal_present(record->after));
}

static struct scn_slice take_front(struct scn_slice *bytes, uint32_t size_max)
{
        const struct scn_slice front = {bytes->data, bytes->size < size_max ? bytes->size : size_max};

        if (front.size != 0)
                bytes->data += front.size;
        bytes->size -= front.size;
        return front;
}

static enum scn_error add_record_row(struct scn_journal *journal, int64_t id, scn_revision revision, int64_t position,
        int64_t part, const struct scn_journal_record *row, struct scn_storage_fault *fault)
{
        struct scn_database *database = &journal->database;
        sqlite3_stmt *statement;
        enum scn_error error = scn_database_prepare(database, SCN_STATEMENT_RECORD_ADD, &statement, fault);

        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, id);
        sqlite3_bind_int64(statement, 2, (int64_t)revision);
        sqlite3_bind_int64(statement, 3, position);
        sqlite3_bind_int64(statement, 4, part);
        sqlite3_bind_int64(statement, 5, row->kind);
        scn_database_bind_blob(statement, 6, (struct scn_slice){row->node.bytes, sizeof row->node.bytes});
        scn_database_bind_blob(statement, 7, row->before);
        scn_database_bind_blob(statement, 8, row->after);
        error = scn_database_run(database, statement, fault);
        scn_journal_sum_record(&journal->checksum, position, part, row);
        return error;
}

/* The rows of one record, one at least. */
enum scn_error scn_journal_add_record(struct scn_journal *journal, scn_revision revision, int64_t position,
        const struct scn_journal_record *record, int64_t *next_record, struct scn_storage_fault *fault)
{
        struct scn_journal_record left = *record;
        enum scn_error error = SCN_OK;

        for (int64_t part = 0; error == SCN_OK; part++) {
                struct scn_journal_record row = {.kind = record->kind, .node = record->node};
                row.before = take_front(&left.before, SCN_JOURNAL_ROW_BYTES_MAX);
                row.after = take_front(&left.after, SCN_JOURNAL_ROW_BYTES_MAX - row.before.size);
                error = add_record_row(journal, (*next_record)++, revision, position, part, &row, fault);
                if (left.before.size == 0 && left.after.size == 0)
                        break;
        }
        return error;
}

/* All records that do not stand in the transaction's own row. */
static enum scn_error add_records(
        struct batch *batch, const struct scn_journal_transaction *transaction, struct scn_journal_row *row)
{
        const bool is_answer_long = transaction->answer.size > SCN_JOURNAL_ANSWER_BYTES_MAX;
        enum scn_error error = SCN_OK;

        struct scn_journal *journal = batch->journal;
        int64_t *next_record = &journal->clients.next_record;

        row->first_record = *next_record;
        for (uint32_t i = row->has_inline ? 1 : 0; i < transaction->records_count && error == SCN_OK; i++)
                error = scn_journal_add_record(
                        journal, transaction->revision, i, &transaction->records[i], next_record, batch->fault);
        if (is_answer_long && error == SCN_OK) {
                const struct scn_journal_record answer = {.after = transaction->answer};
                error = scn_journal_add_record(journal, transaction->revision, SCN_JOURNAL_POSITION_ANSWER, &answer,
                        next_record, batch->fault);
        }
        row->has_records = *next_record != row->first_record;
        row->records_checksum = scn_checksum_take(&batch->journal->checksum);
        return error;
}

static uint64_t payload_bytes(const struct scn_journal_transaction *transaction)
{
        uint64_t bytes = (uint64_t)transaction->content_hash.size + transaction->digest.size +
                transaction->answer.size + SCN_JOURNAL_ROW_COST;

        for (uint32_t i = 0; i < transaction->records_count; i++)
                bytes += (uint64_t)transaction->records[i].before.size + transaction->records[i].after.size +
                        SCN_JOURNAL_ROW_COST;
        return bytes;
}

/* What is bound stays bound from one row to the next, NULL too. */
static void bind_inline(sqlite3_stmt *statement, int first, const struct scn_journal_record *record)
{
        sqlite3_bind_int64(statement, first, record->kind);
        scn_database_bind_blob(statement, first + 1, (struct scn_slice){record->node.bytes, sizeof record->node.bytes});
        scn_database_bind_blob(statement, first + 2, record->before);
        scn_database_bind_blob(statement, first + 3, record->after);
}

static void bind_nulls(sqlite3_stmt *statement, int first, int count)
{
        for (int i = 0; i < count; i++)
                sqlite3_bind_null(statement, first + i);
}

static void bind_row(sqlite3_stmt *statement, int before, const struct pending *pending)
{
        const struct scn_journal_transaction *transaction = pending->transaction;
        const struct scn_journal_row *row = &pending->row;

        sqlite3_bind_int64(statement, before + 1, transaction->time_us);
        sqlite3_bind_int64(statement, before + 2, pending->client);
        sqlite3_bind_int64(statement, before + 3, (int64_t)transaction->number);
        sqlite3_bind_int64(statement, before + 4, (int64_t)transaction->group);
        sqlite3_bind_int64(statement, before + 5, transaction->cause);
        sqlite3_bind_int64(statement, before + 6, (int64_t)transaction->step);
        sqlite3_bind_int64(statement, before + 7, transaction->records_count);
        sqlite3_bind_int64(statement, before + 8, row->journal_bytes);
        scn_database_bind_blob(statement, before + 9, transaction->content_hash);
        scn_database_bind_blob(statement, before + 10, transaction->digest);
        if (transaction->answer.size <= SCN_JOURNAL_ANSWER_BYTES_MAX)
                scn_database_bind_blob(statement, before + 11, transaction->answer);
        else
                bind_nulls(statement, before + 11, 1);
        if (row->has_inline)
                bind_inline(statement, before + 12, &transaction->records[0]);
        else
                bind_nulls(statement, before + 12, 4);
        if (row->has_records) {
                sqlite3_bind_int64(statement, before + 16, row->first_record);
                sqlite3_bind_int64(statement, before + 17, row->records_checksum);
        } else {
                bind_nulls(statement, before + 16, 2);
        }
        sqlite3_bind_int64(statement, before + 18, pending->sum);
}

/* Rows are numbered by SQLite, one after the other. */
static enum scn_error check_last(const struct batch *batch, scn_revision revision)
{
        if ((scn_revision)sqlite3_last_insert_rowid(batch->journal->database.handle) == revision)
                return SCN_OK;
        return scn_journal_damage(batch->journal, revision, "it did not get its place", batch->fault);
}

/* Inserts the rows that are ready: all at once if there are as many as the long statement takes. */
static enum scn_error flush(struct batch *batch)
{
        struct scn_database *database = &batch->journal->database;
        const uint32_t at_once = batch->pending_count == SCN_STATEMENT_ROWS ? SCN_STATEMENT_ROWS : 1;
        sqlite3_stmt *statement;
        enum scn_error error = scn_database_prepare(database,
                at_once == 1 ? SCN_STATEMENT_TRANSACTION_ADD : SCN_STATEMENT_TRANSACTION_ADD_EIGHT, &statement,
                batch->fault);

        for (uint32_t i = 0; i < batch->pending_count && error == SCN_OK; i += at_once) {
                for (uint32_t k = 0; k < at_once; k++)
                        bind_row(statement, (int)k * SCN_STATEMENT_COLUMNS, &batch->pending[i + k]);
                error = scn_database_run(database, statement, batch->fault);
        }
        if (error == SCN_OK && batch->pending_count > 0)
                error = check_last(batch, batch->pending[batch->pending_count - 1].transaction->revision);
        batch->pending_count = 0;
        return error;
}

static bool is_inline(const struct scn_journal_transaction *transaction)
{
        return transaction->records_count != 0 &&
                (uint64_t)transaction->records[0].before.size + transaction->records[0].after.size <=
                SCN_JOURNAL_INLINE_BYTES_MAX;
}

static enum scn_error add_transaction(struct batch *batch, const struct scn_journal_transaction *transaction)
{
        struct pending *pending = &batch->pending[batch->pending_count];
        struct scn_client_entry *client;
        enum scn_error error = scn_client_cache_resolve(batch->journal, transaction, &client, batch->fault);

        if (error == SCN_OK)
                error = note_number(batch, client, transaction);
        if (error != SCN_OK)
                return error;
        *pending = (struct pending){.transaction = transaction, .client = client->id};
        pending->row.has_inline = is_inline(transaction);
        if (pending->row.has_inline)
                pending->row.record = transaction->records[0];
        error = add_records(batch, transaction, &pending->row);
        if (error != SCN_OK)
                return error;
        batch->journal_bytes += payload_bytes(transaction);
        pending->row.journal_bytes = (int64_t)batch->journal_bytes;
        const struct scn_slice answer = transaction->answer.size <= SCN_JOURNAL_ANSWER_BYTES_MAX
                ? scn_journal_present(transaction->answer)
                : (struct scn_slice){0};
        pending->sum = scn_journal_row_sum(&batch->journal->checksum, transaction, &pending->row, answer);
        return ++batch->pending_count == SCN_STATEMENT_ROWS ? flush(batch) : SCN_OK;
}

/* Inside a write transaction. */
static enum scn_error add_batch(struct batch *batch, const struct scn_journal_transaction *transactions, uint32_t count)
{
        enum scn_error error = check_batch(batch, transactions, count);

        for (uint32_t i = 0; i < count && error == SCN_OK; i++) {
                error = add_transaction(batch, &transactions[i]);
                if (error != SCN_OK || transactions[i].revision % SCN_JOURNAL_WINDOW != 0)
                        continue;
                /* Runs are compared with the transactions they name when they are read. */
                error = flush(batch);
                if (error == SCN_OK)
                        error = scn_client_cache_end_window(batch->journal, batch->fault);
        }
        return error == SCN_OK ? flush(batch) : error;
}

enum scn_error scn_journal_append(struct scn_journal *journal, const struct scn_journal_transaction *transactions,
        uint32_t count, struct scn_storage_fault *fault)
{
        struct batch batch = {.journal = journal, .fault = fault};

        if (count == 0)
                return SCN_OK;
        enum scn_error error = scn_database_begin_write(&journal->database, fault);
        if (error != SCN_OK)
                return error;
        scn_checksum_reset(&journal->checksum); /* an append that failed may have left something */
        error = add_batch(&batch, transactions, count);
        const struct scn_journal_transaction *last = &transactions[count - 1];
        if (error == SCN_OK) {
                scn_guard_note_intent(journal->database.guard, last->revision, last->time_us);
                error = scn_database_commit(&journal->database, fault);
        } else {
                scn_database_rollback(&journal->database);
        }
        if (error != SCN_OK) {
                scn_client_cache_clear(&journal->clients);
                return error;
        }
        journal->clients.last_revision = last->revision;
        scn_guard_note_end(journal->database.guard, last->revision, last->time_us);
        /* What is stored is stored, whether or not the write-ahead file can be emptied. */
        scn_database_upkeep_if_late(&journal->database);
        return SCN_OK;
}
