/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "storage/journal.h"

#include "protocol/base/uid.h"
#include "storage/fault.h"
#include "storage/schema.h"

#include <string.h>

/* What must not be found: a query that gives the revision of the first fault, and what that means. */
struct check {
        const char *sql;
        const char *meaning;
};

#define TEXT_OF(number) #number
#define TEXT(macro) TEXT_OF(macro)
#define NO_TIME " NOT BETWEEN 0 AND " TEXT(SCN_JOURNAL_TIME_US_MAX)

static const struct check checks[] = {
        {"SELECT rev FROM tags WHERE time_us" NO_TIME " UNION ALL SELECT rev FROM checkpoints WHERE time_us" NO_TIME
         " UNION ALL SELECT rev FROM epochs WHERE time_us" NO_TIME
         " UNION ALL SELECT 0 FROM document WHERE created_us" NO_TIME " LIMIT 1",
                "no such time can be"},
        {"SELECT judged FROM history WHERE judged > (SELECT ifnull(max(rev), 0) FROM transactions)",
                "the journal ends before this revision"},
        {"SELECT rev FROM records WHERE rev NOT IN"
         " (SELECT rev FROM transactions WHERE first_record IS NOT NULL) LIMIT 1",
                "there are records of a transaction that has none"},
        {"SELECT rev FROM records GROUP BY rev HAVING max(id) - min(id) + 1 <> count(*) LIMIT 1",
                "a record is missing"},
        {"SELECT r.last_rev FROM runs AS r LEFT JOIN transactions AS t ON t.rev = r.last_rev"
         " WHERE r.last_rev >= (SELECT base FROM history)"
         " AND (t.client IS NOT r.client OR t.number IS NOT r.last_number OR t.time_us IS NOT r.time_us) LIMIT 1",
                "a client's run and the transaction do not agree"},
        /* Of a client that is being forgotten the oldest runs are gone. */
        {"SELECT last FROM (SELECT t.client AS client, max(number) AS number, min(rev) AS first, max(rev) AS last"
         " FROM transactions AS t JOIN clients AS c USING (client) WHERE forgotten = 0 AND uid <> zeroblob(16)"
         " AND rev <= (SELECT max(rev) FROM transactions) / 1024 * 1024 AND rev > (SELECT base FROM history)"
         " GROUP BY t.client, (rev - 1) / 1024) AS w"
         " WHERE last > ifnull((SELECT min(last_rev) FROM runs AS r WHERE r.client = w.client), 0)"
         " AND NOT EXISTS (SELECT 1 FROM runs AS r WHERE r.client = w.client AND r.last_number = w.number"
         " AND r.first_rev <= w.first AND r.last_rev = w.last) LIMIT 1",
                "the client's run is missing"},
        {"SELECT rev FROM (SELECT rev, lag(rev) OVER (ORDER BY position) AS earlier FROM epochs)"
         " WHERE rev < earlier LIMIT 1",
                "an epoch began before the one it follows"},
        {"SELECT rev FROM tags WHERE rev < (SELECT base FROM history) OR (rev > 0 AND rev NOT IN"
         " (SELECT rev FROM transactions)) LIMIT 1",
                "a tag names a revision that is not there"},
        {"SELECT base FROM history WHERE base <> 0 AND (base NOT IN (SELECT rev FROM checkpoints)"
         " OR base NOT IN (SELECT rev FROM transactions))",
                "there is no checkpoint with which the history could begin"},
        {"SELECT last_rev FROM (SELECT first_rev, last_rev, lag(last_rev) OVER (ORDER BY last_rev) AS earlier"
         " FROM folds) WHERE first_rev > last_rev OR first_rev <= earlier LIMIT 1",
                "folds overlap"},
        {"SELECT f.rev FROM folded_numbers AS f LEFT JOIN transactions AS t ON t.rev = f.rev"
         " WHERE f.rev >= (SELECT base FROM history) AND (t.client IS NOT f.client OR t.number <= f.last_number"
         " OR f.first_number > f.last_number) LIMIT 1",
                "the numbers that were folded do not fit the transaction they were folded into"},
};

/* The first column of the first row of a query. */
static enum scn_error query(struct scn_journal *journal, const char *sql, bool *has_row_out, int64_t *value_out,
        struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        int code = sqlite3_prepare_v2(journal->database.handle, sql, -1, &statement, NULL);

        if (code != SQLITE_OK)
                return scn_database_map(&journal->database, code, fault);
        code = sqlite3_step(statement);
        *has_row_out = code == SQLITE_ROW;
        if (code == SQLITE_ROW)
                *value_out = sqlite3_column_int64(statement, 0);
        const enum scn_error error =
                code == SQLITE_ROW || code == SQLITE_DONE ? SCN_OK : scn_database_map(&journal->database, code, fault);
        sqlite3_finalize(statement);
        return error;
}

static enum scn_error check_structure(struct scn_journal *journal, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        enum scn_error error = SCN_OK;
        int code = sqlite3_prepare_v2(journal->database.handle, "PRAGMA integrity_check(1)", -1, &statement, NULL);

        if (code != SQLITE_OK)
                return scn_database_map(&journal->database, code, fault);
        code = sqlite3_step(statement);
        if (code != SQLITE_ROW) {
                error = scn_database_map(&journal->database, code, fault);
        } else {
                const char *text = (const char *)sqlite3_column_text(statement, 0);
                if (text == NULL || strcmp(text, "ok") != 0)
                        error = scn_fault_set(fault, SCN_E_CORRUPT, 0, 0, "%s: %s",
                                scn_database_name(&journal->database),
                                text != NULL ? text : "SQLite's own check says nothing");
        }
        sqlite3_finalize(statement);
        return error;
}

static enum scn_error check_tables(struct scn_journal *journal, struct scn_storage_fault *fault)
{
        for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
                bool has_row = false;
                int64_t revision = 0;
                const enum scn_error error = query(journal, checks[i].sql, &has_row, &revision, fault);
                if (error != SCN_OK)
                        return error;
                if (has_row)
                        return scn_journal_damage(journal, (scn_revision)revision, checks[i].meaning, fault);
        }
        return SCN_OK;
}

/* Where the journal begins and ends is bounded by who asks for it. */
static enum scn_error check_ends(struct scn_journal *journal, struct scn_storage_fault *fault)
{
        struct scn_journal_history history;
        struct scn_journal_tail tail;
        const enum scn_error error = scn_journal_tail(journal, &tail, fault);

        return error == SCN_OK ? scn_journal_history(journal, &history, fault) : error;
}

/* Reading a transaction checks it. As times rise, the last one's bound is that of all. */
static enum scn_error check_transactions(struct scn_journal *journal, struct scn_storage_fault *fault)
{
        struct scn_journal_range range = {.from = 1};
        int64_t last_us = 0;

        while (true) {
                struct scn_journal_page *page;
                enum scn_error error = scn_journal_read(journal, &range, &page, fault);
                if (error != SCN_OK)
                        return error;
                const uint32_t count = scn_journal_page_count(page);
                for (uint32_t i = 0; i < count && error == SCN_OK; i++) {
                        const struct scn_journal_transaction *transaction = scn_journal_page_get(page, i);
                        range.from = transaction->revision + 1;
                        if (transaction->time_us <= last_us)
                                error = scn_journal_damage(
                                        journal, transaction->revision, "the time has not risen", fault);
                        last_us = transaction->time_us;
                }
                scn_journal_page_destroy(page);
                if (error != SCN_OK || count == 0)
                        return error;
        }
}

/* The digest that the journal has for the checkpoint's revision. */
static enum scn_error check_checkpoint_digest(
        struct scn_journal *journal, const struct scn_checkpoint_info *info, struct scn_storage_fault *fault)
{
        const struct scn_journal_range range = {.from = info->revision, .to = info->revision, .without_records = true};
        struct scn_journal_page *page;

        if (info->revision == 0)
                return SCN_OK;
        enum scn_error error = scn_journal_read(journal, &range, &page, fault);
        if (error != SCN_OK)
                return error;
        const struct scn_slice digest =
                scn_journal_page_count(page) == 1 ? scn_journal_page_get(page, 0)->digest : (struct scn_slice){0};
        if (digest.size != info->digest.size || memcmp(digest.data, info->digest.data, digest.size) != 0)
                error = scn_journal_damage(
                        journal, info->revision, "the checkpoint does not have the journal's digest", fault);
        scn_journal_page_destroy(page);
        return error;
}

static enum scn_error check_checkpoint(
        struct scn_journal *journal, struct scn_checkpoint_reader *reader, struct scn_storage_fault *fault)
{
        const struct scn_checkpoint_info info = scn_checkpoint_reader_info(reader);
        struct scn_slice part;
        uint64_t bytes = 0;
        enum scn_error error;

        do {
                error = scn_checkpoint_reader_next(reader, &part, fault);
                bytes += part.size;
        } while (error == SCN_OK && part.data != NULL);
        if (error == SCN_OK && bytes != info.bytes)
                error = scn_journal_damage(journal, info.revision, "the checkpoint's size is wrong", fault);
        return error == SCN_OK ? check_checkpoint_digest(journal, &info, fault) : error;
}

/* From the newest to the one that the history begins with. One that is dropped meanwhile is no fault. */
static enum scn_error check_checkpoints(struct scn_journal *journal, struct scn_storage_fault *fault)
{
        scn_revision at_most = SCN_REVISION_MAX;

        while (true) {
                struct scn_checkpoint_reader *reader;
                struct scn_journal_history history;
                enum scn_error error = scn_journal_history(journal, &history, fault);
                if (error == SCN_OK && at_most < history.base)
                        return SCN_OK;
                if (error == SCN_OK)
                        error = scn_checkpoint_reader_create(journal, at_most, &reader, fault);
                if (error != SCN_OK || reader == NULL)
                        return error;
                const scn_revision revision = scn_checkpoint_reader_info(reader).revision;
                error = revision < history.base ? SCN_OK : check_checkpoint(journal, reader, fault);
                scn_checkpoint_reader_destroy(reader);
                if (error != SCN_OK && error != SCN_E_NO_CHECKPOINT)
                        return error;
                if (revision == 0)
                        return SCN_OK;
                at_most = revision - 1;
        }
}

/* In each fold there are as many transactions as were kept, and the same. */
static enum scn_error check_folds(struct scn_journal *journal, struct scn_storage_fault *fault)
{
        static const char sql[] = "SELECT first_rev, last_rev, kept, checksum, states FROM folds ORDER BY last_rev";
        sqlite3_stmt *statement;
        enum scn_error error = SCN_OK;
        int code = sqlite3_prepare_v2(journal->database.handle, sql, -1, &statement, NULL);

        while (code == SQLITE_OK || code == SQLITE_ROW) {
                code = sqlite3_step(statement);
                if (code != SQLITE_ROW)
                        break;
                const struct scn_journal_fold fold = {
                        .first = (scn_revision)sqlite3_column_int64(statement, 0),
                        .last = (scn_revision)sqlite3_column_int64(statement, 1),
                        .states = {sqlite3_column_blob(statement, 4), (uint32_t)sqlite3_column_bytes(statement, 4)},
                };
                int64_t kept, sum;
                error = scn_journal_sum_fold(journal, &fold, &kept, &sum, fault);
                if (error == SCN_OK &&
                        (kept != sqlite3_column_int64(statement, 2) || sum != sqlite3_column_int64(statement, 3) ||
                                !scn_journal_fold_has_state(&fold, fold.last)))
                        error = scn_journal_damage(
                                journal, fold.last, "the fold does not hold what was kept of it", fault);
                if (error != SCN_OK)
                        break;
        }
        if (error == SCN_OK && code != SQLITE_DONE)
                error = scn_database_map(&journal->database, code, fault);
        sqlite3_finalize(statement);
        return error;
}

enum scn_error scn_journal_verify(struct scn_journal *journal, struct scn_storage_fault *fault)
{
        enum scn_error error = scn_database_check_size(&journal->database, fault);

        if (error == SCN_OK)
                error = scn_schema_verify(&journal->database, fault);
        if (error == SCN_OK)
                error = scn_database_begin_read(&journal->database, fault);
        if (error == SCN_OK) {
                error = check_structure(journal, fault);
                scn_database_end_read(&journal->database);
        }
        if (error == SCN_OK)
                error = check_ends(journal, fault);
        if (error == SCN_OK)
                error = scn_journal_verify_rows(journal, fault);
        if (error == SCN_OK)
                error = check_transactions(journal, fault);
        if (error == SCN_OK)
                error = check_tables(journal, fault);
        if (error == SCN_OK)
                error = check_folds(journal, fault);
        if (error == SCN_OK)
                error = check_checkpoints(journal, fault);
        return error;
}
