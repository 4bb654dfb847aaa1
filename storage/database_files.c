/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "storage/database.h"

#include "storage/fault.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* What other programs do to the files beneath a connection. */

enum scn_error scn_database_fail_overwritten(
        const struct scn_database *database, enum scn_error error, struct scn_storage_fault *fault)
{
        return scn_fault_set(fault, error, 0, 0, "%s: another program has written to it%s", scn_database_name(database),
                error == SCN_E_STORAGE_BUSY ? ", and it is being closed; try again" : "");
}

/* Of what another program has put there SQLite may say anything. */
bool scn_database_is_as_left(struct scn_database *database)
{
        if (database->guard == NULL || scn_guard_check(database->guard, database->path, &database->moves))
                return true;
        database->has_no_verdict = true;
        return false;
}

enum scn_error scn_database_enter(struct scn_database *database, struct scn_storage_fault *fault)
{
        const enum scn_error error = scn_guard_enter(database->path, &database->guard);

        if (error == SCN_E_NO_MEMORY)
                return scn_fault_set(fault, error, 0, 0, "out of memory");
        return error != SCN_OK ? scn_database_fail_overwritten(database, error, fault) : SCN_OK;
}

/* Before what may write to the file itself; scn_database_end_move() follows. */
enum scn_error scn_database_begin_move(
        struct scn_database *database, enum scn_error error, struct scn_storage_fault *fault)
{
        if (database->guard == NULL || scn_guard_begin_move(database->guard, database->path))
                return SCN_OK;
        return scn_database_fail_overwritten(database, error, fault);
}

void scn_database_end_move(struct scn_database *database)
{
        if (database->guard != NULL)
                scn_guard_end_move(database->guard, database->path);
}

/* A file that is looked at for the first time is taken as it is. */
static bool has_name(const char *path, struct scn_database_file *file)
{
        struct stat status;
        const bool is_there = stat(path, &status) == 0;

        if (file->inode == 0 && is_there)
                *file = (struct scn_database_file){(uint64_t)status.st_dev, (uint64_t)status.st_ino};
        return file->inode == 0 ||
                (is_there && file->device == (uint64_t)status.st_dev && file->inode == (uint64_t)status.st_ino);
}

/* Our write-ahead file belongs to the file that has lost its name, and SQLite would take it for that of the one which
 * has the name now. Its contents go to where they belong. */
static void leave_replaced_file(struct scn_database *database, const char *wal)
{
        char shm[sizeof database->path + 8];
        struct stat status;

        if (!database->is_writer || database->wal.inode == 0)
                return;
        (void)sqlite3_wal_checkpoint_v2(database->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
        if (stat(database->path, &status) < 0 || !has_name(wal, &database->wal))
                return;
        snprintf(shm, sizeof shm, "%s-shm", database->path);
        unlink(wal);
        unlink(shm);
}

void scn_database_note_wal(struct scn_database *database)
{
        char wal[sizeof database->path + 8];

        snprintf(wal, sizeof wal, "%s-wal", database->path);
        (void)has_name(wal, &database->wal);
}

enum scn_error scn_database_look(struct scn_database *database, struct scn_storage_fault *fault)
{
        char wal[sizeof database->path + 8];

        snprintf(wal, sizeof wal, "%s-wal", database->path);
        const bool has_main = has_name(database->path, &database->main);
        const bool has_names = has_main && has_name(wal, &database->wal);
        if (has_names && scn_database_is_as_left(database))
                return SCN_OK;
        database->has_no_verdict = true;
        scn_database_rollback(database);
        if (has_names)
                return scn_database_fail_overwritten(database, SCN_E_OUTCOME_UNKNOWN, fault);
        if (!has_main)
                leave_replaced_file(database, wal);
        return scn_fault_set(fault, SCN_E_OUTCOME_UNKNOWN, 0, 0, "%s: another program has replaced or removed it",
                scn_database_label(has_main ? wal : database->path));
}
