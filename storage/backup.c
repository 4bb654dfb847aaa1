/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "storage/journal.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "storage/fault.h"
#include "storage/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DATABASE_PAGE_BYTES 4096u
#define PART_ENDING ".part"

struct scn_backup {
        struct scn_journal *journal;
        sqlite3 *target;
        sqlite3_backup *copy;
        bool has_part; /* the file under part_path is ours */
        bool is_complete;
        bool is_finished;
        char path[4096];
        char part_path[4096 + sizeof PART_ENDING]; /* while it is not complete */
};

static enum scn_error target_fault(struct scn_backup *backup, int code, struct scn_storage_fault *fault)
{
        /* The connection that failed is the target's: it knows why. */
        struct scn_database target = {.handle = backup->target};
        struct scn_storage_fault cause = {0};

        snprintf(target.path, sizeof target.path, "%s", backup->journal->database.path);
        const enum scn_error error = scn_database_map(&target, code, &cause);
        return scn_fault_set(fault, error, 0, code, "a copy of %.200s", cause.text);
}

static enum scn_error system_fault(
        const struct scn_backup *backup, int error_number, const char *verb, struct scn_storage_fault *fault)
{
        return scn_fault_set_errno(fault, error_number, verb, scn_database_label(backup->journal->database.path));
}

static enum scn_error open_target(struct scn_backup *backup, struct scn_storage_fault *fault)
{
        struct stat status;

        if (lstat(backup->path, &status) == 0)
                return scn_fault_set(fault, SCN_E_DOCUMENT_EXISTS, 0, 0, "there is a %s already", backup->path);
        unlink(backup->part_path); /* what a copy that was interrupted has left */
        if (scn_file_create_private(AT_FDCWD, backup->part_path) < 0)
                return system_fault(backup, errno, "make a copy of", fault);
        backup->has_part = true;
        int code = sqlite3_open_v2(backup->part_path, &backup->target,
                SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
        if (backup->target == NULL)
                return scn_fault_set(fault, SCN_E_NO_MEMORY, 0, code, "out of memory");
        if (code == SQLITE_OK)
                code = sqlite3_exec(backup->target, "PRAGMA synchronous = FULL", NULL, NULL, NULL);
        if (code == SQLITE_OK) {
                backup->copy = sqlite3_backup_init(backup->target, "main", backup->journal->database.handle, "main");
                if (backup->copy == NULL)
                        code = sqlite3_extended_errcode(backup->target);
        }
        return code == SQLITE_OK ? SCN_OK : target_fault(backup, code, fault);
}

/* A read transaction holds the state still: else SQLite would begin anew with each edit that comes in between. */
static enum scn_error hold_state(struct scn_journal *journal, struct scn_storage_fault *fault)
{
        struct scn_journal_tail tail;
        enum scn_error error = scn_database_begin_read(&journal->database, fault);

        return error == SCN_OK ? scn_journal_tail(journal, &tail, fault) : error;
}

enum scn_error scn_backup_create(
        struct scn_journal *journal, const char *path, struct scn_backup **backup_out, struct scn_storage_fault *fault)
{
        struct scn_backup *backup = scn_alloc_zero(1, sizeof *backup);

        if (backup == NULL)
                return scn_fault_set(fault, SCN_E_NO_MEMORY, 0, 0, "out of memory");
        backup->journal = journal;
        journal->children++;
        enum scn_error error;
        if ((size_t)snprintf(backup->path, sizeof backup->path, "%s", path) >= sizeof backup->path) {
                error = scn_fault_set_errno(fault, ENAMETOOLONG, "make", path);
        } else {
                snprintf(backup->part_path, sizeof backup->part_path, "%s" PART_ENDING, path);
                error = hold_state(journal, fault);
                if (error == SCN_OK)
                        error = open_target(backup, fault);
        }
        if (error != SCN_OK) {
                scn_backup_destroy(backup);
                return error;
        }
        *backup_out = backup;
        return SCN_OK;
}

/* Pages are copied as they are: some before another program wrote to the document's file, some after. */
static enum scn_error check_source(struct scn_backup *backup, struct scn_storage_fault *fault)
{
        struct scn_database *source = &backup->journal->database;

        return scn_database_is_as_left(source) ? SCN_OK
                                               : scn_database_fail_overwritten(source, SCN_E_STORAGE_BUSY, fault);
}

enum scn_error scn_backup_step(
        struct scn_backup *backup, uint64_t bytes, uint64_t *left_out, struct scn_storage_fault *fault)
{
        uint64_t pages = bytes / DATABASE_PAGE_BYTES + 1;

        if (!backup->is_complete) {
                const int code = sqlite3_backup_step(backup->copy, pages < INT32_MAX ? (int)pages : INT32_MAX);
                if (code != SQLITE_OK && code != SQLITE_DONE) {
                        const enum scn_error error = check_source(backup, fault);
                        return error != SCN_OK ? error : target_fault(backup, code, fault);
                }
                backup->is_complete = code == SQLITE_DONE;
        }
        /* At least one while it is not known to be complete. */
        const int left = sqlite3_backup_remaining(backup->copy);
        pages = backup->is_complete ? 0 : (left > 0 ? (uint64_t)left : 1);
        *left_out = pages * DATABASE_PAGE_BYTES;
        return SCN_OK;
}

static enum scn_error sync_parent(const struct scn_backup *backup, struct scn_storage_fault *fault)
{
        char parent[4096];
        const char *path = backup->path;
        const char *slash = strrchr(path, '/');
        const size_t size = slash == NULL ? 0 : (size_t)(slash - path) + 1;

        memcpy(parent, path, size);
        parent[size] = '\0';
        const int fd = open(size != 0 ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const int result = fd >= 0 ? fsync(fd) : -1;
        const int reason = errno;
        if (fd >= 0)
                close(fd);
        return result == 0 ? SCN_OK : system_fault(backup, reason, "sync the directory for a copy of", fault);
}

/* Closes what SQLite has open; the copy is durable if all is well. */
static int close_target(struct scn_backup *backup)
{
        int code = SQLITE_OK;

        if (backup->copy != NULL)
                code = sqlite3_backup_finish(backup->copy);
        backup->copy = NULL;
        const int closed = sqlite3_close(backup->target);
        backup->target = NULL;
        return code != SQLITE_OK ? code : closed;
}

enum scn_error scn_backup_finish(struct scn_backup *backup, struct scn_storage_fault *fault)
{
        SCN_ASSERT(backup->is_complete && !backup->is_finished);
        const enum scn_error error = check_source(backup, fault);
        if (error != SCN_OK)
                return error;
        const int code = close_target(backup);

        if (code != SQLITE_OK)
                return scn_fault_set(fault, SCN_E_STORAGE_FAILED, 0, code, "a copy of %s: %s",
                        scn_database_label(backup->journal->database.path), sqlite3_errstr(code));
        if (scn_file_rename(AT_FDCWD, backup->part_path, AT_FDCWD, backup->path) < 0) {
                if (errno == EEXIST)
                        return scn_fault_set(
                                fault, SCN_E_DOCUMENT_EXISTS, 0, errno, "there is a %s already", backup->path);
                return system_fault(backup, errno, "name the copy of", fault);
        }
        backup->is_finished = true;
        return sync_parent(backup, fault);
}

void scn_backup_destroy(struct scn_backup *backup)
{
        if (backup == NULL)
                return;
        close_target(backup);
        if (backup->has_part && !backup->is_finished)
                scn_file_remove_database(AT_FDCWD, backup->part_path);
        scn_database_end_read(&backup->journal->database);
        backup->journal->children--;
        scn_free(backup);
}
