/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "storage/journal.h"

#include <time.h>

/* What becomes of a file that another program has written over, when all who had it open have left it. */

/* So long is waited at the end for others to have written what they write. */
#define PAUSE_NS 50000000
#define PAUSES_MAX 40u

/* Whether the file, with what stands in its write-ahead file, is the document as it was acknowledged. */
static enum scn_error judge(struct scn_guard *guard)
{
        struct scn_journal *journal;
        struct scn_journal_tail tail;

        if (scn_guard_has_moved(guard))
                return SCN_E_CORRUPT;
        enum scn_error error =
                scn_journal_open_on(scn_guard_path(guard), SCN_DATABASE_READ_FOREIGN, NULL, &journal, NULL);
        if (error != SCN_OK)
                return error;
        error = scn_journal_tail(journal, &tail, NULL);
        if (error == SCN_OK && !scn_guard_is_end(guard, tail.revision, tail.time_us))
                error = SCN_E_CORRUPT;
        if (error == SCN_OK)
                error = scn_journal_verify(journal, NULL);
        scn_journal_close(journal);
        return error;
}

/* Unless it is another one by now, which has come with the file. */
static bool set_aside(struct scn_guard *guard)
{
        char path[SCN_DATABASE_PATH_BYTES];
        struct scn_guard_file wal;

        scn_database_name_beside(scn_guard_path(guard), "-wal", path);
        scn_guard_see_wal(path, &wal);
        return !scn_guard_is_own_wal(guard, &wal) || scn_database_set_wal_aside(scn_guard_path(guard));
}

/* What stands in the write-ahead file belongs to what was in the file before another program wrote to it: of the two
 * SQLite would make a mixture. If that is the document all the same, it stays; else it is set aside. False: it cannot
 * be found out now. */
static bool settle(struct scn_guard *guard)
{
        const enum scn_error error = judge(guard);
        const bool is_other = error == SCN_E_CORRUPT || error == SCN_E_NOT_A_DOCUMENT || error == SCN_E_OLDER_FORMAT ||
                error == SCN_E_NEWER_FORMAT;

        if (error != SCN_OK && (!is_other || !set_aside(guard)))
                return false;
        scn_guard_forget(guard, error == SCN_OK);
        return true;
}

void scn_journal_settle(struct scn_guard *guard)
{
        if ((!scn_guard_is_quiet(guard) && !scn_guard_has_moved(guard)) || !settle(guard))
                scn_guard_put_back(guard);
}

void scn_journal_settle_all(void)
{
        const struct timespec pause = {.tv_nsec = PAUSE_NS};
        struct scn_guard *guard;

        while ((guard = scn_guard_take(NULL)) != NULL) {
                for (uint32_t i = 0; i < PAUSES_MAX && !scn_guard_is_quiet(guard); i++)
                        nanosleep(&pause, NULL);
                if (!settle(guard))
                        scn_guard_forget(guard, false);
        }
}
