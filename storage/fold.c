/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "storage/journal.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "storage/fault.h"

#include <string.h>

/* Old history becomes shorter here (FORMAT.md, Folds). The caller has said what stays; this checks it against what the
 * file holds now, and writes it in one commit: so that whoever looks, or finds the file after a crash, sees a window as
 * it was or as it is to be. */

SCN_STATIC_ASSERT(SCN_JOURNAL_FOLD_WINDOW == SCN_JOURNAL_WINDOW, "a client's last one in a window of runs stays");
SCN_STATIC_ASSERT(SCN_JOURNAL_FOLD_ANSWER_BYTES_MAX == SCN_JOURNAL_ANSWER_BYTES_MAX, "an answer among records stays");

/* ---------------------------------------------------------------- windows */

/* The first tag or checkpoint at or above a revision; INT64_MAX: there is none. */
static enum scn_error find_mark(struct scn_journal *journal, enum scn_statement which, scn_revision revision,
        scn_revision *mark_out, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        bool has_row;
        enum scn_error error = scn_database_prepare(&journal->database, which, &statement, fault);

        *mark_out = INT64_MAX;
        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, (int64_t)revision - 1);
        error = scn_database_step(&journal->database, statement, &has_row, fault);
        if (error != SCN_OK || !has_row)
                return error;
        if (sqlite3_column_type(statement, 0) != SQLITE_NULL)
                *mark_out = (scn_revision)sqlite3_column_int64(statement, 0);
        sqlite3_reset(statement);
        return SCN_OK;
}

/* Where a window that begins there has to end. */
static enum scn_error find_end(
        struct scn_journal *journal, scn_revision first, scn_revision *last_out, struct scn_storage_fault *fault)
{
        scn_revision tag, checkpoint = 0;
        scn_revision last = (first + SCN_JOURNAL_WINDOW - 1) / SCN_JOURNAL_WINDOW * SCN_JOURNAL_WINDOW;
        enum scn_error error = find_mark(journal, SCN_STATEMENT_TAG_NEXT, first, &tag, fault);

        if (error == SCN_OK)
                error = find_mark(journal, SCN_STATEMENT_CHECKPOINT_NEXT, first, &checkpoint, fault);
        last = last < tag ? last : tag;
        *last_out = last < checkpoint ? last : checkpoint;
        return error;
}

/* Inside a transaction. */
static enum scn_error next_fold(struct scn_journal *journal, scn_revision to, scn_revision *first_out,
        scn_revision *last_out, struct scn_storage_fault *fault)
{
        struct scn_journal_history history;
        struct scn_journal_tail tail;
        enum scn_error error = scn_journal_history(journal, &history, fault);

        if (error == SCN_OK)
                error = scn_journal_tail(journal, &tail, fault);
        if (error == SCN_OK)
                error = find_end(journal, history.judged + 1, last_out, fault);
        if (error != SCN_OK)
                return error;
        *first_out = history.judged + 1;
        if (*last_out > to || *last_out > tail.revision)
                *last_out = 0;
        return SCN_OK;
}

enum scn_error scn_journal_next_fold(struct scn_journal *journal, scn_revision to, scn_revision *first_out,
        scn_revision *last_out, struct scn_storage_fault *fault)
{
        enum scn_error error = scn_database_begin_read(&journal->database, fault);

        *first_out = *last_out = 0;
        if (error != SCN_OK)
                return error;
        error = next_fold(journal, to, first_out, last_out, fault);
        scn_database_end_read(&journal->database);
        return error;
}

enum scn_error scn_journal_sum_fold(struct scn_journal *journal, const struct scn_journal_fold *fold, int64_t *kept_out,
        int64_t *sum_out, struct scn_storage_fault *fault)
{
        struct scn_checksum *checksum = &journal->checksum;
        sqlite3_stmt *statement;
        bool has_row = true;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_WINDOW_SUMS, &statement, fault);

        *kept_out = 0;
        if (error != SCN_OK)
                return error;
        scn_checksum_reset(checksum);
        scn_checksum_integer(checksum, (int64_t)fold->first);
        scn_checksum_integer(checksum, (int64_t)fold->last);
        scn_checksum_bytes(checksum, fold->states);
        sqlite3_bind_int64(statement, 1, (int64_t)fold->first);
        sqlite3_bind_int64(statement, 2, (int64_t)fold->last);
        while (error == SCN_OK && has_row) {
                error = scn_database_step(&journal->database, statement, &has_row, fault);
                if (error == SCN_OK && has_row) {
                        scn_checksum_integer(checksum, sqlite3_column_int64(statement, 0));
                        scn_checksum_integer(checksum, sqlite3_column_int64(statement, 1));
                        ++*kept_out;
                }
        }
        *sum_out = scn_checksum_take(checksum);
        return error;
}

/* ------------------------------------------------------------- the rewrite */

/* What the file holds of a transaction of the window. */
struct present {
        int64_t client;
        int64_t number;
        int64_t first_record; /* 0: none; rows of folds lie below */
        bool has_records;
};

struct folding {
        struct scn_journal *journal;
        const struct scn_journal_fate *fates;
        uint32_t count;
        struct present *present; /* owned; one for each */
        int64_t next_record;     /* the first of the block of rows that is written next, counting down */
        uint32_t kept;
        struct scn_storage_fault *fault;
};

static enum scn_error bad_fold(const struct folding *folding, scn_revision revision, const char *what)
{
        return scn_fault_set(
                folding->fault, SCN_E_BAD_BATCH, revision, 0, "revision %llu: %s", (unsigned long long)revision, what);
}

/* There is one fate for each transaction of the window. */
static enum scn_error read_present(struct folding *folding, scn_revision first, scn_revision last)
{
        struct scn_database *database = &folding->journal->database;
        sqlite3_stmt *statement;
        bool has_row = true;
        uint32_t count = 0;
        enum scn_error error = scn_database_prepare(database, SCN_STATEMENT_WINDOW_READ, &statement, folding->fault);

        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, (int64_t)first);
        sqlite3_bind_int64(statement, 2, (int64_t)last);
        while (error == SCN_OK && has_row) {
                error = scn_database_step(database, statement, &has_row, folding->fault);
                if (error != SCN_OK || !has_row)
                        break;
                if (count == folding->count ||
                        sqlite3_column_int64(statement, 0) != (int64_t)folding->fates[count].revision) {
                        sqlite3_reset(statement);
                        return bad_fold(folding, first, "the window holds other transactions");
                }
                folding->present[count++] = (struct present){
                        .client = sqlite3_column_int64(statement, 1),
                        .number = sqlite3_column_int64(statement, 2),
                        .has_records = sqlite3_column_type(statement, 3) != SQLITE_NULL,
                        .first_record = sqlite3_column_int64(statement, 3),
                };
        }
        if (error == SCN_OK && count != folding->count)
                error = bad_fold(folding, first, "the window holds fewer transactions");
        return error;
}

/* The place of a later revision in the window; `count`: it has none. */
static uint32_t find_fate(const struct folding *folding, uint32_t above, scn_revision revision)
{
        uint32_t low = above + 1, high = folding->count;

        while (low < high) {
                const uint32_t middle = low + (high - low) / 2;
                if (folding->fates[middle].revision < revision)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < folding->count && folding->fates[low].revision == revision ? low : folding->count;
}

/* The window is the one that is next, and what goes up in another does so in one of its client that stays. */
static enum scn_error check_fates(struct folding *folding)
{
        const struct scn_journal_fate *fates = folding->fates;
        const uint32_t count = folding->count;
        scn_revision first = 0, last = 0;
        enum scn_error error = next_fold(folding->journal, SCN_REVISION_MAX, &first, &last, folding->fault);

        if (error == SCN_OK && (count == 0 || last == 0 || last != fates[count - 1].revision))
                error = bad_fold(folding, first, "this is not the window that is next");
        if (error == SCN_OK)
                error = read_present(folding, first, last);
        for (uint32_t i = 0; i < count && error == SCN_OK; i++) {
                const uint32_t into = fates[i].into == fates[i].revision ? i : find_fate(folding, i, fates[i].into);
                if (into == count || fates[into].into != fates[into].revision)
                        error = bad_fold(folding, fates[i].revision, "what it is folded into does not stay");
                else if (folding->present[into].client != folding->present[i].client)
                        error = bad_fold(folding, fates[i].revision, "what it is folded into is another client's");
                else
                        folding->kept += into == i;
        }
        if (error == SCN_OK && fates[count - 1].into != fates[count - 1].revision)
                error = bad_fold(folding, fates[count - 1].revision, "the window's last transaction must stay");
        return error;
}

enum scn_error scn_journal_remove_records(struct scn_journal *journal, scn_revision revision, int64_t first_record,
        int *removed_out, struct scn_storage_fault *fault)
{
        struct scn_database *database = &journal->database;
        sqlite3_stmt *statement;
        bool has_row;
        int64_t end = INT64_MAX;

        enum scn_error error = scn_database_prepare(database, SCN_STATEMENT_RECORD_END, &statement, fault);
        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, first_record);
        sqlite3_bind_int64(statement, 2, (int64_t)revision);
        error = scn_database_step(database, statement, &has_row, fault);
        if (error == SCN_OK && has_row) {
                end = sqlite3_column_int64(statement, 0);
                sqlite3_reset(statement);
        }
        if (error == SCN_OK)
                error = scn_database_prepare(database, SCN_STATEMENT_RECORD_REMOVE, &statement, fault);
        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, first_record);
        sqlite3_bind_int64(statement, 2, end);
        sqlite3_bind_int64(statement, 3, (int64_t)revision);
        error = scn_database_run(database, statement, fault);
        if (error == SCN_OK && removed_out != NULL)
                *removed_out = sqlite3_changes(database->handle);
        return error;
}

/* Removes a transaction's rows in records. */
static enum scn_error remove_records(struct folding *folding, scn_revision revision, const struct present *present)
{
        return present->has_records
                ? scn_journal_remove_records(folding->journal, revision, present->first_record, NULL, folding->fault)
                : SCN_OK;
}

static enum scn_error remove_transaction(struct folding *folding, uint32_t index)
{
        struct scn_database *database = &folding->journal->database;
        const scn_revision revision = folding->fates[index].revision;
        sqlite3_stmt *statement;
        enum scn_error error = remove_records(folding, revision, &folding->present[index]);

        if (error == SCN_OK)
                error = scn_database_prepare(database, SCN_STATEMENT_TRANSACTION_REMOVE, &statement, folding->fault);
        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, (int64_t)revision);
        return scn_database_run(database, statement, folding->fault);
}

static int64_t count_rows(const struct scn_journal_record *records, uint32_t count)
{
        int64_t rows = 0;

        for (uint32_t i = 0; i < count; i++) {
                const uint64_t bytes = (uint64_t)records[i].before.size + records[i].after.size;
                rows += bytes == 0 ? 1 : (int64_t)((bytes + SCN_JOURNAL_ROW_BYTES_MAX - 1) / SCN_JOURNAL_ROW_BYTES_MAX);
        }
        return rows;
}

/* New records in the place of the old ones: the first in the row if it is small, the rest below all rows there are. */
static enum scn_error set_records(
        struct folding *folding, const struct scn_journal_fate *fate, struct scn_journal_row *row)
{
        struct scn_journal *journal = folding->journal;
        const bool has_inline =
                (uint64_t)fate->records[0].before.size + fate->records[0].after.size <= SCN_JOURNAL_INLINE_BYTES_MAX;
        const uint32_t first = has_inline ? 1 : 0;
        enum scn_error error = SCN_OK;

        folding->next_record -= count_rows(fate->records + first, fate->records_count - first);
        *row = (struct scn_journal_row){
                .journal_bytes = row->journal_bytes,
                .has_inline = has_inline,
                .has_records = fate->records_count > first,
                .first_record = folding->next_record,
        };
        if (has_inline)
                row->record = fate->records[0];
        int64_t at = folding->next_record;
        scn_checksum_reset(&journal->checksum);
        for (uint32_t i = first; i < fate->records_count && error == SCN_OK; i++)
                error = scn_journal_add_record(journal, fate->revision, i, &fate->records[i], &at, folding->fault);
        row->records_checksum = scn_checksum_take(&journal->checksum);
        return error;
}

static void bind_row(sqlite3_stmt *statement, const struct scn_journal_transaction *transaction,
        const struct scn_journal_row *row, int64_t sum)
{
        sqlite3_bind_int64(statement, 1, transaction->records_count);
        scn_database_bind_blob(statement, 2, transaction->digest);
        if (row->has_inline) {
                const struct scn_uid *node = &row->record.node;
                sqlite3_bind_int64(statement, 3, row->record.kind);
                scn_database_bind_blob(statement, 4, (struct scn_slice){node->bytes, sizeof node->bytes});
                scn_database_bind_blob(statement, 5, row->record.before);
                scn_database_bind_blob(statement, 6, row->record.after);
        } else {
                for (int i = 3; i <= 6; i++)
                        sqlite3_bind_null(statement, i);
        }
        if (row->has_records) {
                sqlite3_bind_int64(statement, 7, row->first_record);
                sqlite3_bind_int64(statement, 8, row->records_checksum);
        } else {
                sqlite3_bind_null(statement, 7);
                sqlite3_bind_null(statement, 8);
        }
        sqlite3_bind_int64(statement, 9, sum);
        sqlite3_bind_int64(statement, 10, (int64_t)transaction->revision);
}

/* The statement `read` stands on the row, from which slices are borrowed until it is written. */
static enum scn_error rewrite(struct folding *folding, uint32_t index, sqlite3_stmt *read)
{
        struct scn_journal *journal = folding->journal;
        const struct scn_journal_fate *fate = &folding->fates[index];
        const bool is_last = index + 1 == folding->count;
        struct scn_journal_transaction transaction;
        struct scn_journal_row row;
        sqlite3_stmt *statement;
        enum scn_error error = SCN_OK;

        if (!scn_journal_read_row(journal, read, &transaction, &row))
                return scn_journal_damage(
                        journal, fate->revision, "the checksum of the transaction is wrong", folding->fault);
        const bool has_digest = transaction.digest.size == fate->digest.size &&
                (fate->digest.size == 0 || memcmp(transaction.digest.data, fate->digest.data, fate->digest.size) == 0);
        if (fate->digest.size > SCN_JOURNAL_DIGEST_BYTES_MAX || (is_last && !has_digest))
                return bad_fold(folding, fate->revision, "the window does not end with the digest that is recorded");
        if (fate->records == NULL && has_digest)
                return SCN_OK;
        if (fate->records != NULL && (transaction.answer.data == NULL || fate->records_count == 0))
                return bad_fold(folding, fate->revision, "its records cannot be others");
        const struct scn_slice answer = transaction.answer;
        transaction.digest = fate->digest;
        if (fate->records != NULL) {
                transaction.records_count = fate->records_count;
                error = remove_records(folding, fate->revision, &folding->present[index]);
                if (error == SCN_OK)
                        error = set_records(folding, fate, &row);
        }
        if (error == SCN_OK)
                error = scn_database_prepare(
                        &journal->database, SCN_STATEMENT_TRANSACTION_SET, &statement, folding->fault);
        if (error != SCN_OK)
                return error;
        scn_checksum_reset(&journal->checksum);
        const int64_t sum = scn_journal_row_sum(&journal->checksum, &transaction, &row, answer);
        bind_row(statement, &transaction, &row, sum);
        return scn_database_run(&journal->database, statement, folding->fault);
}

/* What stays, as it is to be. */
static enum scn_error rewrite_kept(struct folding *folding)
{
        struct scn_database *database = &folding->journal->database;
        enum scn_error error = SCN_OK;

        for (uint32_t i = 0; i < folding->count && error == SCN_OK; i++) {
                sqlite3_stmt *read;
                bool has_row = false;
                if (folding->fates[i].into != folding->fates[i].revision)
                        continue;
                error = scn_database_prepare(database, SCN_STATEMENT_TRANSACTION_READ, &read, folding->fault);
                if (error != SCN_OK)
                        return error;
                sqlite3_bind_int64(read, 1, (int64_t)folding->fates[i].revision);
                sqlite3_bind_int64(read, 2, (int64_t)folding->fates[i].revision);
                error = scn_database_step(database, read, &has_row, folding->fault);
                if (error == SCN_OK)
                        error = rewrite(folding, i, read);
                sqlite3_reset(read);
        }
        return error;
}

static enum scn_error add_numbers(struct folding *folding, int64_t client, int64_t first, int64_t last, uint32_t from)
{
        struct scn_database *database = &folding->journal->database;
        sqlite3_stmt *statement;
        enum scn_error error = scn_database_prepare(database, SCN_STATEMENT_NUMBERS_ADD, &statement, folding->fault);

        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, client);
        sqlite3_bind_int64(statement, 2, last);
        sqlite3_bind_int64(statement, 3, first);
        sqlite3_bind_int64(statement, 4, (int64_t)folding->fates[from].into);
        return scn_database_run(database, statement, folding->fault);
}

/* Removes what goes, and notes under which numbers it was sent: numbers in a row of one client that went up in one
 * transaction are one row. */
static enum scn_error remove_others(struct folding *folding)
{
        enum scn_error error = SCN_OK;

        for (uint32_t i = 0; i < folding->count && error == SCN_OK; i++) {
                struct present *present = &folding->present[i];
                const struct scn_journal_fate *fate = &folding->fates[i];
                if (fate->into == fate->revision)
                        continue;
                error = remove_transaction(folding, i);
                if (present->number == 0 || error != SCN_OK)
                        continue; /* the server's, or part of a row that has been written */
                int64_t last = present->number;
                const int64_t first = last;
                for (uint32_t k = i + 1; k < folding->count && folding->fates[k].revision < fate->into; k++) {
                        if (folding->fates[k].into != fate->into || folding->present[k].number != last + 1)
                                continue;
                        last = folding->present[k].number;
                        folding->present[k].number = 0;
                }
                error = add_numbers(folding, present->client, first, last, i);
        }
        return error;
}

static enum scn_error note_judged(struct scn_journal *journal, scn_revision revision, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        enum scn_error error =
                scn_database_prepare(&journal->database, SCN_STATEMENT_HISTORY_JUDGED, &statement, fault);

        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, (int64_t)revision);
        return scn_database_run(&journal->database, statement, fault);
}

/* A transaction that stays within the time of another that was folded leads to a state that never was: the other is not
 * in it yet, or not all of it. */
static void mark_states(const struct folding *folding, scn_revision first, uint8_t *states)
{
        scn_revision open_until = 0;

        for (uint32_t i = 0; i < folding->count; i++) {
                const struct scn_journal_fate *fate = &folding->fates[i];
                const uint64_t bit = fate->revision - first;
                if (fate->into == fate->revision && open_until <= fate->revision)
                        states[bit / 8] |= (uint8_t)(1u << bit % 8);
                open_until = fate->into > open_until ? fate->into : open_until;
        }
}

static enum scn_error add_fold(struct folding *folding, scn_revision first, scn_revision last)
{
        uint8_t states[SCN_JOURNAL_FOLD_STATES_BYTES] = {0};
        const struct scn_journal_fold fold = {first, last, {states, (uint32_t)((last - first) / 8 + 1)}};
        struct scn_journal *journal = folding->journal;
        sqlite3_stmt *statement;
        int64_t kept, sum;

        mark_states(folding, first, states);
        enum scn_error error = scn_journal_sum_fold(journal, &fold, &kept, &sum, folding->fault);

        if (error == SCN_OK)
                error = scn_database_prepare(&journal->database, SCN_STATEMENT_FOLD_ADD, &statement, folding->fault);
        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, (int64_t)first);
        sqlite3_bind_int64(statement, 2, (int64_t)last);
        sqlite3_bind_int64(statement, 3, kept);
        scn_database_bind_blob(statement, 4, fold.states);
        sqlite3_bind_int64(statement, 5, sum);
        return scn_database_run(&journal->database, statement, folding->fault);
}

/* New rows in records go below all there are, and below 1. */
static enum scn_error find_room(struct folding *folding)
{
        struct scn_database *database = &folding->journal->database;
        sqlite3_stmt *statement;
        bool has_row;
        enum scn_error error = scn_database_prepare(database, SCN_STATEMENT_RECORD_FIRST, &statement, folding->fault);

        if (error == SCN_OK)
                error = scn_database_step(database, statement, &has_row, folding->fault);
        if (error != SCN_OK)
                return error;
        const int64_t first = sqlite3_column_int64(statement, 0); /* none: 0 */
        folding->next_record = first < 1 && sqlite3_column_type(statement, 0) != SQLITE_NULL ? first : 1;
        sqlite3_reset(statement);
        return SCN_OK;
}

/* Inside a write transaction. */
static enum scn_error fold(struct folding *folding)
{
        struct scn_journal_history history;
        enum scn_error error = scn_journal_history(folding->journal, &history, folding->fault);

        if (error == SCN_OK)
                error = check_fates(folding);
        if (error == SCN_OK)
                error = find_room(folding);
        if (error == SCN_OK)
                error = rewrite_kept(folding);
        if (error == SCN_OK)
                error = remove_others(folding);
        if (error != SCN_OK)
                return error;
        const scn_revision last = folding->fates[folding->count - 1].revision;
        if (folding->kept < folding->count)
                error = add_fold(folding, history.judged + 1, last);
        return error == SCN_OK ? note_judged(folding->journal, last, folding->fault) : error;
}

enum scn_error scn_journal_begin_lazily(struct scn_journal *journal, struct scn_storage_fault *fault)
{
        enum scn_error error = scn_database_set_durable(&journal->database, false, fault);

        if (error != SCN_OK)
                return error;
        error = scn_database_begin_write(&journal->database, fault);
        if (error != SCN_OK)
                (void)!scn_database_set_durable(&journal->database, true, NULL);
        return error;
}

enum scn_error scn_journal_end_lazily(
        struct scn_journal *journal, enum scn_error error, struct scn_storage_fault *fault)
{
        if (error == SCN_OK)
                error = scn_database_commit(&journal->database, fault);
        else
                scn_database_rollback(&journal->database);
        const enum scn_error after = scn_database_set_durable(&journal->database, true, error == SCN_OK ? fault : NULL);
        error = error == SCN_OK ? after : error;
        if (error == SCN_OK)
                (void)!scn_database_upkeep(&journal->database, NULL);
        return error;
}

enum scn_error scn_journal_fold(struct scn_journal *journal, const struct scn_journal_fate *fates, uint32_t count,
        struct scn_storage_fault *fault)
{
        struct folding folding = {.journal = journal, .fates = fates, .count = count, .fault = fault};

        folding.present = scn_alloc_zero(count, sizeof *folding.present);
        if (folding.present == NULL)
                return scn_fault_set(fault, SCN_E_NO_MEMORY, 0, 0, "out of memory");
        enum scn_error error = scn_journal_begin_lazily(journal, fault);
        if (error == SCN_OK)
                error = scn_journal_end_lazily(journal, fold(&folding), fault);
        scn_free(folding.present);
        return error;
}

enum scn_error scn_journal_note_judged(
        struct scn_journal *journal, scn_revision revision, struct scn_storage_fault *fault)
{
        const enum scn_error error = scn_journal_begin_lazily(journal, fault);

        return error == SCN_OK ? scn_journal_end_lazily(journal, note_judged(journal, revision, fault), fault) : error;
}
