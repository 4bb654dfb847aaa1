/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "storage/journal.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/base/bytes.h"
#include "storage/fault.h"

#include <string.h>

#define PAGE_TRANSACTIONS 1000u
#define PAGE_BYTES ((size_t)1 << 20)
/* A page holds at least one transaction, whose records are bounded where they are made (256 MiB); beyond this the
 * file is damaged. */
#define PAGE_BYTES_MAX ((size_t)1 << 30)
#define PAGE_RECORDS_MAX ((size_t)1 << 24)

/* While a page is filled its memory moves: slices are kept as distances from its start, plus one, in the place of
 * the pointer, and become pointers at the end. */
struct scn_journal_page {
        struct scn_journal_transaction *transactions; /* owned */
        size_t count;
        size_t capacity;
        struct scn_journal_record *records; /* owned; of all transactions, in order */
        size_t records_count;
        size_t records_capacity;
        struct scn_buffer bytes;
};

struct page_reader {
        struct scn_journal *journal;
        struct scn_journal_page *page;
        scn_revision next;                  /* the revision that must come, or one in a fold's gap */
        scn_revision fold_first, fold_last; /* the fold looked at last; 0: none */
        bool without_records;
        struct scn_storage_fault *fault;
};

static enum scn_error memory_fault(const struct page_reader *reader)
{
        return scn_fault_set(reader->fault, SCN_E_NO_MEMORY, 0, 0, "out of memory");
}

static enum scn_error damage(const struct page_reader *reader, const char *what)
{
        return scn_journal_damage(reader->journal, reader->next, what, reader->fault);
}

/* ------------------------------------------------------------ page memory */

static struct scn_slice from_distance(size_t distance, uint32_t size)
{
        return (struct scn_slice){(const uint8_t *)(uintptr_t)(distance + 1), size};
}

static void make_pointer(const struct scn_journal_page *page, struct scn_slice *slice)
{
        if (slice->data != NULL)
                slice->data = page->bytes.data + ((uintptr_t)slice->data - 1);
}

static enum scn_error append_bytes(const struct page_reader *reader, struct scn_slice bytes)
{
        const enum scn_error error = scn_buffer_append(&reader->page->bytes, bytes.data, bytes.size);

        if (error == SCN_OK)
                return SCN_OK;
        return error == SCN_E_NO_MEMORY ? memory_fault(reader) : damage(reader, "the transaction is too large");
}

/* Copies the bytes to the page. */
static enum scn_error keep(const struct page_reader *reader, struct scn_slice bytes, struct scn_slice *kept_out)
{
        *kept_out = from_distance(reader->page->bytes.size, bytes.size);
        return append_bytes(reader, bytes);
}

static enum scn_error add_page_record(const struct page_reader *reader, const struct scn_journal_record *record)
{
        struct scn_journal_page *page = reader->page;

        if (page->records_count >= PAGE_RECORDS_MAX)
                return damage(reader, "the transaction has too many records");
        if (!scn_grow((void **)&page->records, &page->records_capacity, sizeof *record, page->records_count + 1,
                    PAGE_RECORDS_MAX))
                return memory_fault(reader);
        page->records[page->records_count++] = *record;
        return SCN_OK;
}

/* Everything is in its place: distances become pointers. */
static void settle_page(struct scn_journal_page *page)
{
        size_t record = 0;

        for (size_t i = 0; i < page->count; i++) {
                struct scn_journal_transaction *transaction = &page->transactions[i];
                make_pointer(page, &transaction->author);
                make_pointer(page, &transaction->content_hash);
                make_pointer(page, &transaction->digest);
                make_pointer(page, &transaction->answer);
                if (page->records_count == 0)
                        continue;
                transaction->records = page->records + record;
                record += transaction->records_count;
        }
        for (size_t i = 0; i < page->records_count; i++) {
                make_pointer(page, &page->records[i].before);
                make_pointer(page, &page->records[i].after);
        }
}

/* ------------------------------------------------- rows in records, joined */

/* A record that is being put together from its rows. `before` and `after` come one after the other, so both can
 * grow in the page's bytes. */
struct joined {
        bool is_begun;
        int64_t position;
        int64_t part;
        struct scn_journal_record record;
        size_t before_at;
        uint64_t before_bytes;
        uint64_t after_bytes;
};

static enum scn_error read_row(const struct page_reader *reader, sqlite3_stmt *statement, int64_t *position_out,
        int64_t *part_out, struct scn_journal_record *row_out)
{
        const int64_t kind = sqlite3_column_int64(statement, 3);

        *position_out = sqlite3_column_int64(statement, 1);
        *part_out = sqlite3_column_int64(statement, 2);
        if (kind < 0 || kind > UINT32_MAX || !scn_database_column_uid(statement, 4, &row_out->node))
                return damage(reader, "a record is damaged");
        row_out->kind = (uint32_t)kind;
        row_out->before = scn_database_column(statement, 5);
        row_out->after = scn_database_column(statement, 6);
        return SCN_OK;
}

static enum scn_error join(
        const struct page_reader *reader, struct joined *joined, const struct scn_journal_record *row)
{
        if (row->before.size != 0 && joined->after_bytes != 0)
                return damage(reader, "a record's parts are out of order");
        joined->before_bytes += row->before.size;
        joined->after_bytes += row->after.size;
        if (joined->before_bytes > UINT32_MAX || joined->after_bytes > UINT32_MAX)
                return damage(reader, "a record is too large");
        enum scn_error error = append_bytes(reader, row->before);
        return error == SCN_OK ? append_bytes(reader, row->after) : error;
}

static void begin_joined(
        const struct page_reader *reader, struct joined *joined, int64_t position, const struct scn_journal_record *row)
{
        *joined = (struct joined){
                .is_begun = true,
                .position = position,
                .record = {.kind = row->kind, .node = row->node},
                .before_at = reader->page->bytes.size,
        };
}

/* The record is complete: it goes to the page, or, if it is the answer, to its transaction. */
static enum scn_error end_joined(
        const struct page_reader *reader, struct joined *joined, struct scn_journal_transaction *transaction)
{
        if (!joined->is_begun)
                return SCN_OK;
        joined->record.before = from_distance(joined->before_at, (uint32_t)joined->before_bytes);
        joined->record.after =
                from_distance(joined->before_at + (size_t)joined->before_bytes, (uint32_t)joined->after_bytes);
        if (joined->position == SCN_JOURNAL_POSITION_ANSWER) {
                transaction->answer = joined->record.after;
                return SCN_OK;
        }
        return add_page_record(reader, &joined->record);
}

/* Whether the row comes where it must: parts and positions without gaps, the answer last. */
static bool follows(const struct joined *joined, int64_t position, int64_t part, int64_t first_position)
{
        if (!joined->is_begun)
                return part == 0 && (position == first_position || position == SCN_JOURNAL_POSITION_ANSWER);
        if (position == joined->position)
                return part == joined->part + 1;
        return part == 0 && joined->position != SCN_JOURNAL_POSITION_ANSWER &&
                (position == joined->position + 1 || position == SCN_JOURNAL_POSITION_ANSWER);
}

static enum scn_error read_one_record_row(const struct page_reader *reader, sqlite3_stmt *statement,
        struct joined *joined, struct scn_journal_transaction *transaction, int64_t first_position)
{
        struct scn_journal_record row;
        int64_t position, part;
        enum scn_error error = read_row(reader, statement, &position, &part, &row);

        if (error != SCN_OK)
                return error;
        if (!follows(joined, position, part, first_position))
                return damage(reader, "a record is missing");
        scn_journal_sum_record(&reader->journal->checksum, position, part, &row);
        if (part == 0) {
                error = end_joined(reader, joined, transaction);
                if (error != SCN_OK)
                        return error;
                begin_joined(reader, joined, position, &row);
        }
        joined->part = part;
        return join(reader, joined, &row);
}

static enum scn_error read_record_rows(const struct page_reader *reader, const struct scn_journal_row *row,
        struct scn_journal_transaction *transaction)
{
        struct scn_database *database = &reader->journal->database;
        struct joined joined = {0};
        sqlite3_stmt *statement;
        bool has_row;
        enum scn_error error = scn_database_prepare(database, SCN_STATEMENT_RECORD_READ, &statement, reader->fault);

        if (error != SCN_OK)
                return error;
        scn_checksum_reset(&reader->journal->checksum);
        sqlite3_bind_int64(statement, 1, row->first_record);
        while (true) {
                error = scn_database_step(database, statement, &has_row, reader->fault);
                if (error != SCN_OK || !has_row || sqlite3_column_int64(statement, 0) != (int64_t)transaction->revision)
                        break;
                error = read_one_record_row(reader, statement, &joined, transaction, row->has_inline ? 1 : 0);
                if (error != SCN_OK)
                        break;
        }
        sqlite3_reset(statement);
        if (error == SCN_OK)
                error = end_joined(reader, &joined, transaction);
        if (error == SCN_OK && scn_checksum_take(&reader->journal->checksum) != row->records_checksum)
                error = damage(reader, "the checksum of the records is wrong");
        return error;
}

/* ----------------------------------------------------------- transactions */

static bool column_u32(sqlite3_stmt *statement, int column, uint32_t *value_out)
{
        const int64_t value = sqlite3_column_int64(statement, column);

        *value_out = (uint32_t)value;
        return value >= 0 && value <= UINT32_MAX;
}

/* What the columns say; slices are SQLite's. False if something cannot be. */
static bool read_columns(
        sqlite3_stmt *statement, struct scn_journal_transaction *transaction, struct scn_journal_row *row)
{
        bool is_good = column_u32(statement, 4, &transaction->cause) &&
                column_u32(statement, 6, &transaction->records_count) &&
                scn_database_column_uid(statement, 11, &transaction->client);

        transaction->revision = (scn_revision)sqlite3_column_int64(statement, 0);
        transaction->time_us = sqlite3_column_int64(statement, 1);
        transaction->number = (uint64_t)sqlite3_column_int64(statement, 2);
        transaction->group = (uint64_t)sqlite3_column_int64(statement, 3);
        transaction->step = (uint64_t)sqlite3_column_int64(statement, 5);
        transaction->author = scn_database_column(statement, 12);
        transaction->content_hash = scn_database_column(statement, 13);
        transaction->digest = scn_database_column(statement, 14);
        transaction->answer = scn_database_column(statement, 15);
        row->journal_bytes = sqlite3_column_int64(statement, 7);
        row->has_inline = sqlite3_column_type(statement, 8) != SQLITE_NULL;
        row->has_records = sqlite3_column_type(statement, 9) != SQLITE_NULL;
        row->first_record = sqlite3_column_int64(statement, 9);
        row->records_checksum = sqlite3_column_int64(statement, 10);
        if (row->has_inline) {
                is_good = is_good && column_u32(statement, 8, &row->record.kind) &&
                        scn_database_column_uid(statement, 16, &row->record.node);
                row->record.before = scn_database_column(statement, 17);
                row->record.after = scn_database_column(statement, 18);
        }
        return is_good;
}

bool scn_journal_read_row(struct scn_journal *journal, sqlite3_stmt *statement,
        struct scn_journal_transaction *transaction_out, struct scn_journal_row *row_out)
{
        *transaction_out = (struct scn_journal_transaction){0};
        *row_out = (struct scn_journal_row){0};
        scn_checksum_reset(&journal->checksum);
        return read_columns(statement, transaction_out, row_out) &&
                scn_journal_row_sum(&journal->checksum, transaction_out, row_out, transaction_out->answer) ==
                sqlite3_column_int64(statement, 19);
}

static enum scn_error keep_transaction(const struct page_reader *reader, const struct scn_journal_transaction *read,
        struct scn_journal_transaction *kept)
{
        *kept = *read;
        enum scn_error error = keep(reader, read->author, &kept->author);
        if (error == SCN_OK)
                error = keep(reader, read->content_hash, &kept->content_hash);
        if (error == SCN_OK)
                error = keep(reader, read->digest, &kept->digest);
        if (error == SCN_OK)
                error = keep(reader, read->answer, &kept->answer);
        return error;
}

static enum scn_error keep_inline(const struct page_reader *reader, const struct scn_journal_row *row)
{
        struct scn_journal_record record = row->record;
        enum scn_error error = keep(reader, row->record.before, &record.before);

        if (error == SCN_OK)
                error = keep(reader, row->record.after, &record.after);
        return error == SCN_OK ? add_page_record(reader, &record) : error;
}

/* The statement stands on a row. */
static enum scn_error read_transaction(const struct page_reader *reader, sqlite3_stmt *statement)
{
        struct scn_journal_page *page = reader->page;
        struct scn_journal_transaction read = {0}, kept;
        struct scn_journal_row row = {0};
        const size_t records_before = page->records_count;

        if (!scn_journal_read_row(reader->journal, statement, &read, &row))
                return damage(reader, "the checksum of the transaction is wrong");

        enum scn_error error = keep_transaction(reader, &read, &kept);
        if (error == SCN_OK && row.has_inline && !reader->without_records)
                error = keep_inline(reader, &row);
        /* An answer that stands there is wanted even without the records. */
        if (error == SCN_OK && row.has_records && (!reader->without_records || read.answer.data == NULL))
                error = read_record_rows(reader, &row, &kept);
        if (error != SCN_OK)
                return error;
        if (reader->without_records)
                page->records_count = records_before;
        else if (page->records_count - records_before != kept.records_count)
                return damage(reader, "a record is missing");
        if (!scn_grow((void **)&page->transactions, &page->capacity, sizeof kept, page->count + 1, UINT32_MAX))
                return memory_fault(reader);
        page->transactions[page->count++] = kept;
        return SCN_OK;
}

/* Nothing is there from `next` to before `end`: then it was folded, into what is still there at the fold's end. */
static enum scn_error pass_gap(struct page_reader *reader, scn_revision end)
{
        struct scn_database *database = &reader->journal->database;
        sqlite3_stmt *statement;
        bool has_row;

        if (reader->fold_last < reader->next) {
                enum scn_error error = scn_database_prepare(database, SCN_STATEMENT_FOLD_AT, &statement, reader->fault);
                if (error != SCN_OK)
                        return error;
                sqlite3_bind_int64(statement, 1, (int64_t)reader->next);
                error = scn_database_step(database, statement, &has_row, reader->fault);
                if (error != SCN_OK)
                        return error;
                reader->fold_first = has_row ? (scn_revision)sqlite3_column_int64(statement, 0) : 0;
                reader->fold_last = has_row ? (scn_revision)sqlite3_column_int64(statement, 1) : 0;
                sqlite3_reset(statement);
        }
        if (reader->fold_last == 0 || reader->fold_first > reader->next || end > reader->fold_last)
                return damage(reader, "the transaction is missing");
        reader->next = end;
        return SCN_OK;
}

/* Inside a read transaction. `to` is not beyond the journal's end. */
static enum scn_error fill_page(
        struct page_reader *reader, scn_revision to, uint32_t transactions_max, size_t bytes_max)
{
        struct scn_database *database = &reader->journal->database;
        sqlite3_stmt *statement;
        bool has_row;
        enum scn_error error =
                scn_database_prepare(database, SCN_STATEMENT_TRANSACTION_READ, &statement, reader->fault);

        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, (int64_t)reader->next);
        sqlite3_bind_int64(statement, 2, (int64_t)to);
        while (error == SCN_OK && reader->next <= to && reader->page->count < transactions_max &&
                (reader->page->count == 0 || reader->page->bytes.size < bytes_max)) {
                error = scn_database_step(database, statement, &has_row, reader->fault);
                const scn_revision at =
                        error == SCN_OK && has_row ? (scn_revision)sqlite3_column_int64(statement, 0) : to + 1;
                if (error == SCN_OK && at > reader->next)
                        error = pass_gap(reader, at);
                if (error == SCN_OK && has_row)
                        error = read_transaction(reader, statement);
                reader->next++;
        }
        sqlite3_reset(statement);
        return error;
}

static enum scn_error read_in_transaction(struct page_reader *reader, const struct scn_journal_range *range)
{
        struct scn_journal_tail tail;
        struct scn_journal_history history;
        enum scn_error error = scn_database_begin_read(&reader->journal->database, reader->fault);

        if (error != SCN_OK)
                return error;
        error = scn_journal_tail(reader->journal, &tail, reader->fault);
        if (error == SCN_OK)
                error = scn_journal_history(reader->journal, &history, reader->fault);
        if (error == SCN_OK) {
                if (reader->next < history.base)
                        reader->next = history.base;
                const scn_revision to = range->to != 0 && range->to < tail.revision ? range->to : tail.revision;
                error = fill_page(reader, to,
                        range->transactions_max != 0 ? range->transactions_max : PAGE_TRANSACTIONS,
                        range->bytes_max != 0 ? range->bytes_max : PAGE_BYTES);
        }
        scn_database_end_read(&reader->journal->database);
        return error;
}

enum scn_error scn_journal_read(struct scn_journal *journal, const struct scn_journal_range *range,
        struct scn_journal_page **page_out, struct scn_storage_fault *fault)
{
        struct page_reader reader = {
                .journal = journal,
                .page = scn_alloc_zero(1, sizeof *reader.page),
                .next = range->from != 0 ? range->from : 1,
                .without_records = range->without_records,
                .fault = fault,
        };

        *page_out = NULL;
        if (reader.page == NULL)
                return memory_fault(&reader);
        scn_buffer_init(&reader.page->bytes, PAGE_BYTES_MAX);
        const enum scn_error error = read_in_transaction(&reader, range);
        if (error != SCN_OK) {
                scn_journal_page_destroy(reader.page);
                return error;
        }
        settle_page(reader.page);
        *page_out = reader.page;
        return SCN_OK;
}

uint32_t scn_journal_page_count(const struct scn_journal_page *page)
{
        return page != NULL ? (uint32_t)page->count : 0;
}

const struct scn_journal_transaction *scn_journal_page_get(const struct scn_journal_page *page, uint32_t index)
{
        SCN_ASSERT(page != NULL && index < page->count);
        return &page->transactions[index];
}

size_t scn_journal_page_bytes(const struct scn_journal_page *page)
{
        return page != NULL ? page->bytes.size : 0;
}

void scn_journal_page_destroy(struct scn_journal_page *page)
{
        if (page == NULL)
                return;
        scn_free(page->transactions);
        scn_free(page->records);
        scn_buffer_finish(&page->bytes);
        scn_free(page);
}

/* ------------------------------------------------------------------- time */

struct moment {
        scn_revision revision;
        int64_t time_us;
};

/* The nearest transaction at or above a revision; revision 0: there is none. */
static enum scn_error find_above(
        struct scn_journal *journal, scn_revision revision, struct moment *found_out, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        bool has_row;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_JOURNAL_ABOVE, &statement, fault);

        *found_out = (struct moment){0};
        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, revision < INT64_MAX ? (int64_t)revision : INT64_MAX);
        error = scn_database_step(&journal->database, statement, &has_row, fault);
        if (error != SCN_OK || !has_row)
                return error;
        *found_out = (struct moment){
                .revision = (scn_revision)sqlite3_column_int64(statement, 0),
                .time_us = sqlite3_column_int64(statement, 1),
        };
        sqlite3_reset(statement);
        return SCN_OK;
}

enum scn_error scn_journal_find_time_inside(
        struct scn_journal *journal, int64_t time_us, scn_revision *revision_out, struct scn_storage_fault *fault)
{
        struct scn_journal_tail tail;
        scn_revision low = 0;
        enum scn_error error = scn_journal_tail(journal, &tail, fault);

        /* Times rise with revisions: the one wanted lies in low … high. There is none between middle and `at`. */
        scn_revision high = tail.revision;
        while (error == SCN_OK && low < high) {
                const scn_revision middle = low + (high - low + 1) / 2;
                struct moment at;
                error = find_above(journal, middle, &at, fault);
                if (error == SCN_OK && at.revision != 0 && at.revision <= high && at.time_us <= time_us)
                        low = at.revision;
                else
                        high = middle - 1;
        }
        /* What is below the base and has not been removed yet is not kept either. */
        struct scn_journal_history history;
        if (error == SCN_OK)
                error = scn_journal_history(journal, &history, fault);
        *revision_out = error == SCN_OK && low >= history.base ? low : 0;
        return error;
}

enum scn_error scn_journal_find_time(
        struct scn_journal *journal, int64_t time_us, scn_revision *revision_out, struct scn_storage_fault *fault)
{
        enum scn_error error = scn_database_begin_read(&journal->database, fault);

        *revision_out = 0;
        if (error != SCN_OK)
                return error;
        error = scn_journal_find_time_inside(journal, time_us, revision_out, fault);
        scn_database_end_read(&journal->database);
        return error;
}
