/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "storage/database.h"

#include "storage/fault.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* What other programs do to the files beneath a connection. */

enum scn_error scn_database_fail_overwritten(
        const struct scn_database *database, enum scn_error error, struct scn_storage_fault *fault)
{
        return scn_fault_set(fault, error, 0, 0, "%s: another program has written to it%s", scn_database_name(database),
                error == SCN_E_STORAGE_BUSY ? ", and it is being closed; try again" : "");
}

void scn_database_name_beside(const char *path, const char *ending, char path_out[SCN_DATABASE_PATH_BYTES])
{
        snprintf(path_out, SCN_DATABASE_PATH_BYTES, "%s%s", path, ending);
}

static bool see(struct scn_database *database, struct scn_guard_file *main_out, struct scn_guard_file *wal_out)
{
        struct scn_guard_look look = {0};
        char wal[SCN_DATABASE_PATH_BYTES];

        scn_database_name_beside(database->path, "-wal", wal);
        if (database->guard != NULL)
                scn_guard_begin_look(database->guard, &look);
        database->moves = look.moves;
        scn_guard_see(database->path, main_out);
        scn_guard_see_wal(wal, wal_out);
        if (database->guard == NULL || scn_guard_check(database->guard, &look, main_out, wal_out))
                return true;
        database->has_no_verdict = true;
        return false;
}

bool scn_database_is_as_left(struct scn_database *database)
{
        struct scn_guard_file main, wal;

        return see(database, &main, &wal);
}

enum scn_error scn_database_enter(struct scn_database *database, struct scn_storage_fault *fault)
{
        const enum scn_error error = scn_guard_enter(database->path, &database->guard);

        if (error == SCN_E_NO_MEMORY)
                return scn_fault_set(fault, error, 0, 0, "out of memory");
        return error != SCN_OK ? scn_database_fail_overwritten(database, error, fault) : SCN_OK;
}

enum scn_error scn_database_begin_move(
        struct scn_database *database, enum scn_error error, struct scn_storage_fault *fault)
{
        if (scn_database_is_as_left(database) && (database->guard == NULL || scn_guard_begin_move(database->guard)))
                return SCN_OK;
        return scn_database_fail_overwritten(database, error, fault);
}

void scn_database_end_move(struct scn_database *database)
{
        if (database->guard != NULL)
                scn_guard_end_move(database->guard, database->path);
}

/* A file that is looked at for the first time is taken as it is. */
static bool is_known(const struct scn_guard_file *seen, struct scn_guard_file *known)
{
        if (known->inode == 0)
                *known = *seen;
        return seen->is_unknown || scn_guard_is_same(seen, known);
}

static void remove_index(const char *path)
{
        char shm[SCN_DATABASE_PATH_BYTES];

        scn_database_name_beside(path, "-shm", shm);
        unlink(shm);
}

/* Whether all of it has been moved. */
static bool move_all(struct scn_database *database)
{
        int in_file = 0, moved = 0;

        return sqlite3_wal_checkpoint_v2(database->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_file, &moved) ==
                SQLITE_OK &&
                moved == in_file;
}

/* Our write-ahead file belongs to the file that has lost its name, and SQLite would take it for that of the one which
 * has the name now, or will have it. Its contents go to where they belong. */
static void leave_replaced_file(struct scn_database *database, const struct scn_guard_file *wal)
{
        char path[SCN_DATABASE_PATH_BYTES];
        int has_moved = 0;

        if (database->guard == NULL || database->handle == NULL || database->wal.inode == 0 ||
                sqlite3_file_control(database->handle, NULL, SQLITE_FCNTL_HAS_MOVED, &has_moved) != SQLITE_OK ||
                has_moved == 0)
                return;
        const bool is_moved = move_all(database);
        if (!scn_guard_is_same(wal, &database->wal))
                return;
        if (!is_moved) {
                (void)!scn_database_set_wal_aside(database->path);
                return;
        }
        scn_database_name_beside(database->path, "-wal", path);
        unlink(path);
        remove_index(database->path);
}

void scn_database_leave_moved(struct scn_database *database)
{
        struct scn_guard_file main, wal;

        if (see(database, &main, &wal) && !main.is_unknown && !scn_guard_is_same(&main, &database->main))
                leave_replaced_file(database, &wal);
}

bool scn_database_set_wal_aside(const char *path)
{
        char wal[SCN_DATABASE_PATH_BYTES], left[SCN_DATABASE_PATH_BYTES];

        scn_database_name_beside(path, "-wal", wal);
        scn_database_name_beside(path, "-left", left);
        if (rename(wal, left) < 0 && errno != ENOENT)
                return false;
        remove_index(path);
        return true;
}

void scn_database_note_wal(struct scn_database *database)
{
        char wal[SCN_DATABASE_PATH_BYTES];

        scn_database_name_beside(database->path, "-wal", wal);
        scn_guard_see_wal(wal, &database->wal);
}

enum scn_error scn_database_look(struct scn_database *database, struct scn_storage_fault *fault)
{
        struct scn_guard_file main, wal;
        const bool is_as_left = see(database, &main, &wal);
        const bool has_main = is_known(&main, &database->main);
        const bool has_names = has_main && is_known(&wal, &database->wal);

        if (has_names && is_as_left)
                return SCN_OK;
        database->has_no_verdict = true;
        scn_database_rollback(database);
        if (has_names)
                return scn_database_fail_overwritten(database, SCN_E_OUTCOME_UNKNOWN, fault);
        if (!has_main) {
                leave_replaced_file(database, &wal);
        } else if (scn_database_begin_move(database, SCN_E_OUTCOME_UNKNOWN, NULL) == SCN_OK) {
                (void)move_all(database); /* it has lost its name, and can be had from here alone */
                scn_database_end_move(database);
        }
        return scn_fault_set(fault, SCN_E_OUTCOME_UNKNOWN, 0, 0, "%s%s: another program has replaced or removed it",
                scn_database_name(database), has_main ? "-wal" : "");
}
