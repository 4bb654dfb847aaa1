/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "storage/journal.h"

#include "protocol/base/assert.h"
#include "protocol/base/uid.h"
#include "storage/fault.h"

#include <string.h>

/* Clients and rows of runs that one call forgets. */
#define FORGET_CLIENTS 256
#define FORGET_RUNS 4096

/* The run must be of the transaction that it names, or the number cannot be trusted. */
static enum scn_error check_run(struct scn_journal *journal, int64_t client, const struct scn_journal_client_run *run,
        struct scn_storage_fault *fault)
{
        struct scn_journal_history history;
        sqlite3_stmt *statement;
        bool has_row;
        enum scn_error error = scn_journal_history(journal, &history, fault);

        /* One that is not kept any more cannot be met. */
        if (error == SCN_OK && run->last_revision < history.base)
                return SCN_OK;
        if (error == SCN_OK)
                error = scn_database_prepare(&journal->database, SCN_STATEMENT_JOURNAL_AT, &statement, fault);
        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, (int64_t)run->last_revision);
        error = scn_database_step(&journal->database, statement, &has_row, fault);
        if (error != SCN_OK)
                return error;
        if (!has_row || sqlite3_column_int64(statement, 0) != run->last_time_us ||
                sqlite3_column_int64(statement, 3) != client ||
                sqlite3_column_int64(statement, 4) != (int64_t)run->last_number)
                error = scn_journal_damage(
                        journal, run->last_revision, "the client's run and the transaction do not agree", fault);
        sqlite3_reset(statement);
        return error;
}

enum scn_error scn_journal_last_run(struct scn_journal *journal, int64_t client, struct scn_journal_client_run *run_out,
        struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        bool has_row;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_RUN_LAST, &statement, fault);

        *run_out = (struct scn_journal_client_run){0};
        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, client);
        error = scn_database_step(&journal->database, statement, &has_row, fault);
        if (error != SCN_OK || !has_row)
                return error;
        run_out->last_number = (uint64_t)sqlite3_column_int64(statement, 0);
        run_out->last_revision = (scn_revision)sqlite3_column_int64(statement, 1);
        run_out->last_time_us = sqlite3_column_int64(statement, 2);
        sqlite3_reset(statement);
        return check_run(journal, client, run_out, fault);
}

/* The client's row; 0 if the file does not know it. client_out, which gets the author, may be NULL. */
static enum scn_error find_row(struct scn_journal *journal, struct scn_uid uid, int64_t *row_out,
        struct scn_journal_client *client_out, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        bool has_row;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_CLIENT_FIND, &statement, fault);

        SCN_ASSERT(!scn_uid_is_none(uid));
        *row_out = 0;
        if (error != SCN_OK)
                return error;
        scn_database_bind_blob(statement, 1, (struct scn_slice){uid.bytes, sizeof uid.bytes});
        error = scn_database_step(&journal->database, statement, &has_row, fault);
        if (error != SCN_OK || !has_row)
                return error;
        *row_out = sqlite3_column_int64(statement, 0);
        const struct scn_slice author = scn_database_column(statement, 1);
        if (author.size > SCN_JOURNAL_AUTHOR_BYTES_MAX) {
                error = scn_journal_damage(journal, 0, "a client's author is too long", fault);
        } else if (client_out != NULL) {
                memcpy(client_out->author, author.data, author.size);
                client_out->author_bytes = author.size;
        }
        sqlite3_reset(statement);
        return error;
}

/* What the client has done in the window that is not full yet, if anything. */
static enum scn_error look_in_window(struct scn_journal *journal, int64_t client, struct scn_journal_client_run *run,
        struct scn_storage_fault *fault)
{
        struct scn_journal_tail tail;
        sqlite3_stmt *statement;
        bool has_row;
        enum scn_error error = scn_journal_tail(journal, &tail, fault);

        if (error == SCN_OK)
                error = scn_database_prepare(&journal->database, SCN_STATEMENT_WINDOW_LAST, &statement, fault);
        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, (int64_t)scn_client_window_start(tail.revision));
        sqlite3_bind_int64(statement, 2, client);
        error = scn_database_step(&journal->database, statement, &has_row, fault);
        if (error != SCN_OK || !has_row)
                return error;
        *run = (struct scn_journal_client_run){
                .last_number = (uint64_t)sqlite3_column_int64(statement, 0),
                .last_revision = (scn_revision)sqlite3_column_int64(statement, 1),
                .last_time_us = sqlite3_column_int64(statement, 2),
        };
        sqlite3_reset(statement);
        return SCN_OK;
}

static enum scn_error find_last(struct scn_journal *journal, int64_t client, struct scn_journal_client_run *run_out,
        struct scn_storage_fault *fault)
{
        const enum scn_error error = scn_journal_last_run(journal, client, run_out, fault);
        return error == SCN_OK ? look_in_window(journal, client, run_out, fault) : error;
}

enum scn_error scn_journal_find_client(struct scn_journal *journal, struct scn_uid uid,
        struct scn_journal_client *client_out, bool *found_out, struct scn_storage_fault *fault)
{
        struct scn_journal_client_run run = {0};
        int64_t row;
        enum scn_error error = scn_database_begin_read(&journal->database, fault);

        if (error != SCN_OK)
                return error;
        error = find_row(journal, uid, &row, client_out, fault);
        if (error == SCN_OK && row != 0)
                error = find_last(journal, row, &run, fault);
        scn_database_end_read(&journal->database);
        *found_out = error == SCN_OK && row != 0;
        client_out->last_number = run.last_number;
        client_out->last_revision = run.last_revision;
        client_out->last_time_us = run.last_time_us;
        return error;
}

/* Where in the journal the number is to be looked for: in a run, or else in the window that is not full yet. */
static enum scn_error find_run(struct scn_journal *journal, int64_t client, uint64_t number, int64_t *first_out,
        int64_t *last_out, struct scn_storage_fault *fault)
{
        struct scn_journal_tail tail;
        sqlite3_stmt *statement;
        bool has_row;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_RUN_FIND, &statement, fault);

        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, client);
        sqlite3_bind_int64(statement, 2, (int64_t)number);
        error = scn_database_step(&journal->database, statement, &has_row, fault);
        if (error != SCN_OK)
                return error;
        if (!has_row) {
                error = scn_journal_tail(journal, &tail, fault);
                *first_out = (int64_t)scn_client_window_start(tail.revision) + 1;
                *last_out = (int64_t)tail.revision;
                return error;
        }
        *first_out = sqlite3_column_int64(statement, 0);
        *last_out = sqlite3_column_int64(statement, 1);
        sqlite3_reset(statement);
        return SCN_OK;
}

static enum scn_error not_kept(scn_revision base, struct scn_storage_fault *fault)
{
        return scn_fault_set(fault, SCN_E_BEFORE_RETENTION, base, 0,
                "what became of it is not kept; the history begins at revision %llu", (unsigned long long)base);
}

/* It is not there. If something with a smaller number is, it was not stored; else it may be too old to be kept. */
static enum scn_error look_before(struct scn_journal *journal, int64_t client, uint64_t number, scn_revision first,
        scn_revision last, struct scn_storage_fault *fault)
{
        struct scn_journal_history history;
        sqlite3_stmt *statement;
        bool has_row;
        enum scn_error error = scn_journal_history(journal, &history, fault);

        if (error != SCN_OK || first >= history.base)
                return error;
        error = scn_database_prepare(&journal->database, SCN_STATEMENT_RUN_BEFORE, &statement, fault);
        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, (int64_t)history.base);
        sqlite3_bind_int64(statement, 2, (int64_t)last);
        sqlite3_bind_int64(statement, 3, client);
        sqlite3_bind_int64(statement, 4, (int64_t)number);
        error = scn_database_step(&journal->database, statement, &has_row, fault);
        if (error != SCN_OK)
                return error;
        if (has_row)
                sqlite3_reset(statement);
        return has_row ? SCN_OK : not_kept(history.base, fault);
}

/* It is not there: it may have been folded. */
static enum scn_error look_among_folded(
        struct scn_journal *journal, int64_t client, uint64_t number, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        bool has_row, is_folded = false;
        scn_revision into = 0;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_NUMBERS_FIND, &statement, fault);
        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, client);
        sqlite3_bind_int64(statement, 2, (int64_t)number);
        error = scn_database_step(&journal->database, statement, &has_row, fault);
        if (error != SCN_OK)
                return error;
        if (has_row) {
                is_folded = sqlite3_column_int64(statement, 0) <= (int64_t)number;
                into = (scn_revision)sqlite3_column_int64(statement, 1);
                sqlite3_reset(statement);
        }
        return is_folded ? scn_fault_set(fault, SCN_E_FOLDED, into, 0,
                                   "it was applied, and folded into revision %llu; its answer is not kept",
                                   (unsigned long long)into)
                         : SCN_OK;
}

static enum scn_error find_revision(struct scn_journal *journal, struct scn_uid uid, uint64_t number,
        scn_revision *revision_out, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        int64_t client, first = 0, last = 0;
        bool has_row;
        enum scn_error error = find_row(journal, uid, &client, NULL, fault);

        *revision_out = 0;
        if (error == SCN_OK && client != 0)
                error = find_run(journal, client, number, &first, &last, fault);
        if (error != SCN_OK || client == 0)
                return error;
        error = scn_database_prepare(&journal->database, SCN_STATEMENT_RUN_SEARCH, &statement, fault);
        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, first);
        sqlite3_bind_int64(statement, 2, last);
        sqlite3_bind_int64(statement, 3, client);
        sqlite3_bind_int64(statement, 4, (int64_t)number);
        error = scn_database_step(&journal->database, statement, &has_row, fault);
        if (error != SCN_OK)
                return error;
        if (!has_row) {
                error = look_among_folded(journal, client, number, fault);
                return error == SCN_OK
                        ? look_before(journal, client, number, (scn_revision)first, (scn_revision)last, fault)
                        : error;
        }
        *revision_out = (scn_revision)sqlite3_column_int64(statement, 0);
        sqlite3_reset(statement);
        return SCN_OK;
}

static enum scn_error look_for_answer(struct scn_journal *journal, struct scn_uid client, uint64_t number,
        struct scn_journal_page **page_out, struct scn_storage_fault *fault)
{
        struct scn_journal_history history;
        scn_revision revision = 0;
        enum scn_error error = scn_database_begin_read(&journal->database, fault);

        if (error != SCN_OK)
                return error;
        error = find_revision(journal, client, number, &revision, fault);
        if (error == SCN_OK)
                error = scn_journal_history(journal, &history, fault);
        scn_database_end_read(&journal->database);
        if (error != SCN_OK || revision == 0)
                return error;
        if (revision < history.base)
                return not_kept(history.base, fault); /* it has only not been removed yet */
        const struct scn_journal_range range = {
                .from = revision, .to = revision, .transactions_max = 1, .without_records = true};
        error = scn_journal_read(journal, &range, page_out, fault);
        if (error == SCN_OK && scn_journal_page_count(*page_out) == 0)
                error = scn_fault_set(fault, SCN_E_FOLDED, revision, 0, "it was applied, and folded just now");
        return error;
}

enum scn_error scn_journal_find_answer(struct scn_journal *journal, struct scn_uid client, uint64_t number,
        struct scn_journal_page **page_out, struct scn_storage_fault *fault)
{
        *page_out = NULL;
        /* What is not a number that can have been stored was not stored. */
        if (number == 0 || number > INT64_MAX)
                return SCN_OK;
        const enum scn_error error = look_for_answer(journal, client, number, page_out, fault);
        if (error != SCN_OK) {
                scn_journal_page_destroy(*page_out);
                *page_out = NULL;
        }
        return error;
}

/* ------------------------------------------------------------- forgetting */

static enum scn_error list_idle(struct scn_journal *journal, int64_t before_us, int64_t ids[FORGET_CLIENTS],
        size_t *count_out, struct scn_storage_fault *fault)
{
        struct scn_journal_tail tail;
        sqlite3_stmt *statement;
        bool has_row = false;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_CLIENT_IDLE, &statement, fault);

        *count_out = 0;
        if (error == SCN_OK)
                error = scn_journal_tail(journal, &tail, fault);
        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, (int64_t)scn_client_window_start(tail.revision));
        sqlite3_bind_int64(statement, 2, before_us);
        sqlite3_bind_int64(statement, 3, FORGET_CLIENTS);
        do {
                error = scn_database_step(&journal->database, statement, &has_row, fault);
                if (error == SCN_OK && has_row && *count_out < FORGET_CLIENTS)
                        ids[(*count_out)++] = sqlite3_column_int64(statement, 0);
        } while (error == SCN_OK && has_row);
        return error;
}

/* Removes the client's oldest runs, so that the last number is known to the end, and forgets it when none is left.
 * *budget is how many rows may still be removed. */
static enum scn_error forget_client(
        struct scn_journal *journal, int64_t client, int *budget, struct scn_storage_fault *fault)
{
        struct scn_database *database = &journal->database;
        struct scn_journal_client_run run;
        sqlite3_stmt *statement;
        static const enum scn_statement removals[] = {SCN_STATEMENT_NUMBERS_REMOVE, SCN_STATEMENT_RUN_REMOVE};
        enum scn_error error = SCN_OK;

        for (size_t i = 0; i < 2 && error == SCN_OK; i++) {
                error = scn_database_prepare(database, removals[i], &statement, fault);
                if (error != SCN_OK)
                        return error;
                sqlite3_bind_int64(statement, 1, client);
                sqlite3_bind_int64(statement, 2, *budget);
                error = scn_database_run(database, statement, fault);
                *budget -= sqlite3_changes(database->handle);
        }
        if (error == SCN_OK)
                error = scn_journal_last_run(journal, client, &run, fault);
        if (error != SCN_OK || run.last_revision != 0)
                return error;
        error = scn_database_prepare(database, SCN_STATEMENT_CLIENT_FORGET, &statement, fault);
        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, client);
        return scn_database_run(database, statement, fault);
}

/* Inside a write transaction. A client may have been heard of since it was listed. */
static enum scn_error forget(struct scn_journal *journal, int64_t before_us, const int64_t *ids, size_t count,
        int *budget, struct scn_storage_fault *fault)
{
        enum scn_error error = SCN_OK;

        for (size_t i = 0; i<count && * budget> 0 && error == SCN_OK; i++) {
                struct scn_journal_client_run run;
                error = find_last(journal, ids[i], &run, fault);
                if (error == SCN_OK && run.last_time_us < before_us)
                        error = forget_client(journal, ids[i], budget, fault);
        }
        return error;
}

enum scn_error scn_journal_forget_clients(
        struct scn_journal *journal, int64_t now_us, bool *is_done_out, struct scn_storage_fault *fault)
{
        const int64_t before_us = now_us - SCN_JOURNAL_CLIENT_UNUSED_US;
        int64_t ids[FORGET_CLIENTS];
        int budget = FORGET_RUNS;
        size_t count;
        /* All clients are looked at: others may write meanwhile. */
        enum scn_error error = list_idle(journal, before_us, ids, &count, fault);

        *is_done_out = count == 0;
        if (error != SCN_OK || count == 0)
                return error;
        error = scn_database_begin_write(&journal->database, fault);
        if (error != SCN_OK)
                return error;
        scn_client_cache_clear(&journal->clients);
        error = forget(journal, before_us, ids, count, &budget, fault);
        if (error != SCN_OK) {
                scn_database_rollback(&journal->database);
                return error;
        }
        *is_done_out = count < FORGET_CLIENTS && budget > 0;
        return scn_database_commit(&journal->database, fault);
}
