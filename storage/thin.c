/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "storage/journal.h"

/* Which checkpoints are worth their room. Opening wants the newest, and one behind it should that be damaged. Looking
 * at the past wants one not far below: how far may grow with the distance, for nobody minds that yesterday takes
 * longer than a minute ago. So of three in a row the middle one goes if what is between the outer two is no more than
 * what lies between them and the newest; their number grows with the logarithm of the journal. */

/* More than there can be, by the rule above, in a journal of 2^63 bytes. */
#define CHECKPOINTS_MAX 256

struct checkpoint {
        int64_t id;
        int64_t revision;
        uint64_t journal_bytes; /* of all transactions up to it */
};

static enum scn_error list(struct scn_journal *journal, struct checkpoint checkpoints[CHECKPOINTS_MAX],
        uint32_t *count_out, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        bool has_row = true;
        enum scn_error error =
                scn_database_prepare(&journal->database, SCN_STATEMENT_CHECKPOINT_LIST, &statement, fault);

        *count_out = 0;
        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, CHECKPOINTS_MAX);
        while (error == SCN_OK && has_row) {
                error = scn_database_step(&journal->database, statement, &has_row, fault);
                if (error == SCN_OK && has_row)
                        checkpoints[(*count_out)++] = (struct checkpoint){
                                .id = sqlite3_column_int64(statement, 0),
                                .revision = sqlite3_column_int64(statement, 1),
                                .journal_bytes = (uint64_t)sqlite3_column_int64(statement, 2),
                        };
        }
        return error;
}

/* The one made last keeps its row, also if it is of an older revision: by its number stale parts are told from those
 * that are being written. */
static int64_t find_last_made(const struct checkpoint checkpoints[CHECKPOINTS_MAX], uint32_t count)
{
        int64_t last = 0;
        for (uint32_t i = 0; i < count; i++)
                last = checkpoints[i].id > last ? checkpoints[i].id : last;
        return last;
}

/* The first that may go, from the newest on; 0 if all are needed. Before the oldest there is the empty document, unless
 * the history begins with it. The newest two never may: behind the newest there is nothing. */
static int64_t choose(const struct checkpoint checkpoints[CHECKPOINTS_MAX], uint32_t count, scn_revision base)
{
        const int64_t last_made = find_last_made(checkpoints, count);
        for (uint32_t i = 1; i < count; i++) {
                if (checkpoints[i].id == last_made)
                        continue;
                const uint64_t newer = checkpoints[i - 1].journal_bytes;
                const uint64_t older = i + 1 < count ? checkpoints[i + 1].journal_bytes : 0;
                /* Two of one revision: the later one counts. */
                if (checkpoints[i].revision == checkpoints[i - 1].revision)
                        return checkpoints[i].id;
                if (base > 0 && checkpoints[i].revision == (int64_t)base)
                        continue;
                if (newer - older <= checkpoints[0].journal_bytes - newer)
                        return checkpoints[i].id;
        }
        return 0;
}

/* Inside a write transaction. */
static enum scn_error thin(struct scn_journal *journal, bool *is_done_out, struct scn_storage_fault *fault)
{
        struct checkpoint checkpoints[CHECKPOINTS_MAX];
        sqlite3_stmt *statement;
        uint32_t count;
        bool has_no_parts = true;
        struct scn_journal_history history;
        enum scn_error error = list(journal, checkpoints, &count, fault);

        if (error == SCN_OK)
                error = scn_journal_history(journal, &history, fault);
        const int64_t chosen = error == SCN_OK ? choose(checkpoints, count, history.base) : 0;

        if (error == SCN_OK && chosen != 0) {
                error = scn_database_prepare(&journal->database, SCN_STATEMENT_CHECKPOINT_REMOVE, &statement, fault);
                if (error == SCN_OK) {
                        sqlite3_bind_int64(statement, 1, chosen);
                        error = scn_database_run(&journal->database, statement, fault);
                }
        }
        if (error == SCN_OK)
                error = scn_checkpoint_drop_stale_parts(journal, &has_no_parts, fault);
        *is_done_out = chosen == 0 && has_no_parts;
        return error;
}

enum scn_error scn_checkpoint_thin(struct scn_journal *journal, bool *is_done_out, struct scn_storage_fault *fault)
{
        enum scn_error error = scn_database_begin_write(&journal->database, fault);

        if (error != SCN_OK)
                return error;
        error = thin(journal, is_done_out, fault);
        if (error == SCN_OK)
                return scn_database_commit(&journal->database, fault);
        scn_database_rollback(&journal->database);
        return error;
}
