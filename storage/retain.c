/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "storage/fault.h"
#include "storage/journal.h"

/* Old history goes here (FORMAT.md, Retention). First the file says, in one commit, with which state its history
 * begins, and from then on nobody looks at what lies before; then that is removed, a piece at a time. */

/* Rows removed in one commit, about. */
#define PIECE 1000

static enum scn_error ask_number(struct scn_journal *journal, enum scn_statement which, scn_revision bound,
        bool has_bound, scn_revision *number_out, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        bool has_row;
        enum scn_error error = scn_database_prepare(&journal->database, which, &statement, fault);

        if (error != SCN_OK)
                return error;
        if (has_bound)
                sqlite3_bind_int64(statement, 1, bound < INT64_MAX ? (int64_t)bound : INT64_MAX);
        error = scn_database_step(&journal->database, statement, &has_row, fault);
        if (error != SCN_OK || !has_row)
                return error;
        if (sqlite3_column_type(statement, 0) != SQLITE_NULL)
                *number_out = (scn_revision)sqlite3_column_int64(statement, 0);
        sqlite3_reset(statement);
        return SCN_OK;
}

static enum scn_error run_below(
        struct scn_journal *journal, enum scn_statement which, scn_revision revision, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        enum scn_error error = scn_database_prepare(&journal->database, which, &statement, fault);

        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, (int64_t)revision);
        return scn_database_run(&journal->database, statement, fault);
}

/* Of the window that is not full yet: a client of which nothing is left in it is known by a run all the same. */
static enum scn_error add_runs(struct scn_journal *journal, scn_revision base, struct scn_storage_fault *fault)
{
        struct scn_journal_tail tail;
        sqlite3_stmt *statement;
        enum scn_error error = scn_journal_tail(journal, &tail, fault);

        if (error == SCN_OK)
                error = scn_database_prepare(&journal->database, SCN_STATEMENT_RUN_ADD_BETWEEN, &statement, fault);
        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, (int64_t)scn_client_window_start(tail.revision));
        sqlite3_bind_int64(statement, 2, (int64_t)base);
        return scn_database_run(&journal->database, statement, fault);
}

/* Inside a write transaction: the newest checkpoint that is old enough, unless a tag wants what is before it. */
static enum scn_error move_base(
        struct scn_journal *journal, scn_revision limit, scn_revision *base, struct scn_storage_fault *fault)
{
        scn_revision tag = SCN_REVISION_MAX;
        scn_revision wanted = 0;
        enum scn_error error = ask_number(journal, SCN_STATEMENT_TAG_FIRST, 0, false, &tag, fault);

        if (error == SCN_OK)
                error = ask_number(
                        journal, SCN_STATEMENT_CHECKPOINT_BELOW, limit < tag ? limit : tag, true, &wanted, fault);
        if (error != SCN_OK || wanted <= *base)
                return error;
        *base = wanted;
        error = add_runs(journal, wanted, fault);
        if (error == SCN_OK)
                error = run_below(journal, SCN_STATEMENT_HISTORY_BASE, wanted, fault);
        if (error == SCN_OK)
                error = run_below(journal, SCN_STATEMENT_FOLD_DROP, wanted, fault);
        return error == SCN_OK ? run_below(journal, SCN_STATEMENT_CHECKPOINT_DROP, wanted, fault) : error;
}

static enum scn_error remove_before(
        struct scn_journal *journal, scn_revision base, uint64_t *removed_out, struct scn_storage_fault *fault)
{
        enum scn_error error = SCN_OK;
        int rows = 0;

        while (error == SCN_OK && rows < PIECE) {
                sqlite3_stmt *statement;
                bool has_row;
                error = scn_database_prepare(&journal->database, SCN_STATEMENT_JOURNAL_FIRST, &statement, fault);
                if (error == SCN_OK)
                        error = scn_database_step(&journal->database, statement, &has_row, fault);
                if (error != SCN_OK || !has_row)
                        return error;
                const scn_revision revision = (scn_revision)sqlite3_column_int64(statement, 0);
                const bool has_records = sqlite3_column_type(statement, 1) != SQLITE_NULL;
                const int64_t first_record = sqlite3_column_int64(statement, 1);
                sqlite3_reset(statement);
                if (revision >= base)
                        return SCN_OK;
                int removed = 0;
                if (has_records)
                        error = scn_journal_remove_records(journal, revision, first_record, &removed, fault);
                if (error == SCN_OK)
                        error = run_below(journal, SCN_STATEMENT_TRANSACTION_REMOVE, revision, fault);
                rows += removed + 1;
                ++*removed_out;
        }
        return error;
}

static enum scn_error retain(struct scn_journal *journal, int64_t from_us, uint64_t *removed_out, scn_revision *base,
        struct scn_storage_fault *fault)
{
        struct scn_journal_history history;
        scn_revision limit = 0;
        enum scn_error error = scn_journal_history(journal, &history, fault);

        if (error == SCN_OK)
                error = scn_journal_find_time_inside(journal, from_us, &limit, fault);
        *base = history.base;
        if (error == SCN_OK && limit > 0)
                error = move_base(journal, limit, base, fault);
        return error == SCN_OK ? remove_before(journal, *base, removed_out, fault) : error;
}

enum scn_error scn_journal_retain(struct scn_journal *journal, int64_t from_us, uint64_t *removed_out,
        bool *is_done_out, struct scn_storage_fault *fault)
{
        scn_revision base = 0;

        *removed_out = 0;
        *is_done_out = false;
        enum scn_error error = scn_journal_begin_lazily(journal, fault);
        if (error == SCN_OK)
                error = scn_journal_end_lazily(journal, retain(journal, from_us, removed_out, &base, fault), fault);
        if (error != SCN_OK) {
                *removed_out = 0;
                return error;
        }
        if (*removed_out > 0)
                return SCN_OK;
        if (base > 0)
                return scn_checkpoint_drop(journal, base, is_done_out, fault);
        *is_done_out = true;
        return SCN_OK;
}
