/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "storage/database.h"

#include "protocol/base/assert.h"
#include "storage/fault.h"
#include "storage/schema.h"
#include "storage/wal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define BUSY_TIMEOUT_MS 5000u
#define BUSY_PAUSE_FIRST_US 100u
#define BUSY_PAUSE_LAST_US 5000u
#define WAL_PAGES 1000u
/* Steps of SQLite's own machine, between two looks at whether it is still wanted. */
#define GIVE_UP_STEPS 1000
/* More than the longest row we write; a longer one in a file is damage, not a reason to allocate. */
#define ROW_BYTES_MAX (2 * 1024 * 1024)

static int execute_sql(struct scn_database *database, const char *sql)
{
        return sqlite3_exec(database->handle, sql, NULL, NULL, NULL);
}

static int on_busy(void *data, int count)
{
        struct scn_database *database = data;
        uint64_t pause_us = (uint64_t)BUSY_PAUSE_FIRST_US << (count < 8 ? count : 8);

        if (count == 0)
                database->busy_waited_us = 0;
        if (database->is_impatient || database->busy_waited_us >= (uint64_t)database->busy_timeout_ms * 1000)
                return 0;
        if (pause_us > BUSY_PAUSE_LAST_US)
                pause_us = BUSY_PAUSE_LAST_US;
        const struct timespec pause = {.tv_nsec = (long)pause_us * 1000};
        nanosleep(&pause, NULL);
        database->busy_waited_us += pause_us;
        return 1;
}

static int on_progress(void *data)
{
        return scn_database_is_given_up(data);
}

void scn_database_let_give_up(struct scn_database *database, atomic_bool *is_given_up)
{
        database->is_given_up = is_given_up;
        sqlite3_progress_handler(database->handle, GIVE_UP_STEPS, on_progress, database);
}

static int on_wal(void *data, sqlite3 *handle, const char *name, int frames)
{
        struct scn_database *database = data;
        const uint32_t count = frames > 0 ? (uint32_t)frames : 0;

        (void)handle;
        (void)name;
        if (count < database->wal_frames) { /* the file has begun anew */
                database->wal_due = database->wal_pages;
                database->wal_held_count = 0;
        }
        database->wal_frames = count;
        scn_guard_note_wal(database->guard, database->moves, database->wal.inode,
                SCN_DATABASE_WAL_HEAD_BYTES + (uint64_t)count * SCN_DATABASE_WAL_FRAME_BYTES);
        return SQLITE_OK;
}

/* All settings. What a file brings along (triggers, views, functions in its schema) is
 * not run: somebody else may have made it. */
static int configure(struct scn_database *database, enum scn_database_kind kind)
{
        sqlite3 *handle = database->handle;
        char sql[96];

        sqlite3_extended_result_codes(handle, 1);
        sqlite3_busy_handler(handle, on_busy, database);
        sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, ROW_BYTES_MAX);
        sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
        sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
        sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
        /* Until it is clear that the file is ours to change, closing must not change it either. */
        sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        sqlite3_wal_autocheckpoint(handle, 0);
        sqlite3_wal_hook(handle, on_wal, database);
        snprintf(sql, sizeof sql, "PRAGMA journal_size_limit = %lld",
                (long long)database->wal_pages * SCN_DATABASE_WAL_FRAME_BYTES);
        const char *const settings[] = {
                /* First, for others look into the file, and afterwards it is too late. */
                kind == SCN_DATABASE_EXCLUSIVE ? "PRAGMA locking_mode = EXCLUSIVE" : "",
                "PRAGMA synchronous = FULL",
                "PRAGMA cache_size = -1024", /* KiB */
                "PRAGMA temp_store = MEMORY",
                "PRAGMA cell_size_check = ON",
                sql,
                database->is_writer ? "" : "PRAGMA query_only = ON",
        };
        int code = SQLITE_OK;
        for (size_t i = 0; i < sizeof settings / sizeof settings[0] && code == SQLITE_OK; i++)
                code = execute_sql(database, settings[i]);
        return code;
}

static bool has_wal(const struct scn_database *database)
{
        char path[SCN_DATABASE_PATH_BYTES];
        struct scn_guard_file wal;

        scn_database_name_beside(database->path, "-wal", path);
        scn_guard_see_wal(path, &wal);
        return wal.bytes > 0;
}

/* "file:…?immutable=1": SQLite then neither locks nor looks for a write-ahead file. */
static int open_immutable(struct scn_database *database)
{
        char uri[3 * sizeof database->path + 32];
        size_t size = (size_t)snprintf(uri, sizeof uri, "file:");

        for (const char *at = database->path; *at != '\0'; at++) {
                const bool is_plain = strchr("%?#", *at) == NULL;
                size += (size_t)snprintf(uri + size, sizeof uri - size, is_plain ? "%c" : "%%%02X", (unsigned char)*at);
        }
        snprintf(uri + size, sizeof uri - size, "?immutable=1");
        return sqlite3_open_v2(
                uri, &database->handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, NULL);
}

static int open_handle(struct scn_database *database, enum scn_database_kind kind)
{
        if (kind == SCN_DATABASE_READ_STILL)
                return open_immutable(database);
        int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;

        if (kind == SCN_DATABASE_READ_FOREIGN)
                flags |= SQLITE_OPEN_READONLY;
        else /* a reader too: the last to close the file leaves it clean */
                flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW;
        return sqlite3_open_v2(database->path, &database->handle, flags, NULL);
}

/* Opens and asks for the file's marks, which is the first time that SQLite looks at the file. */
static enum scn_error open_and_identify(struct scn_database *database, enum scn_database_kind kind,
        int64_t *application_id_out, int64_t *version_out, struct scn_storage_fault *fault)
{
        int code = open_handle(database, kind);

        if (database->handle == NULL)
                return scn_fault_set(fault, SCN_E_NO_MEMORY, 0, code, "%s: out of memory", scn_database_name(database));
        if (code == SQLITE_OK)
                code = configure(database, kind);
        enum scn_error error = code == SQLITE_OK ? scn_schema_identify(database, application_id_out, version_out, fault)
                                                 : scn_database_map(database, code, fault);
        /* A file in WAL mode on a medium where nothing can be created beside it. */
        const int reason = sqlite3_errcode(database->handle) & 0xff;
        if (kind != SCN_DATABASE_READ_FOREIGN || (reason != SQLITE_CANTOPEN && reason != SQLITE_READONLY) ||
                has_wal(database))
                return error;
        sqlite3_close(database->handle);
        code = open_immutable(database);
        if (database->handle == NULL)
                return scn_fault_set(fault, SCN_E_NO_MEMORY, 0, code, "%s: out of memory", scn_database_name(database));
        if (code == SQLITE_OK)
                code = configure(database, kind);
        return code == SQLITE_OK ? scn_schema_identify(database, application_id_out, version_out, fault)
                                 : scn_database_map(database, code, fault);
}

static enum scn_error check_identity(
        const struct scn_database *database, int64_t application_id, int64_t version, struct scn_storage_fault *fault)
{
        if (application_id != SCN_SCHEMA_APPLICATION_ID || version < 1)
                return scn_fault_set(
                        fault, SCN_E_NOT_A_DOCUMENT, 0, 0, "%s: not a scene document", scn_database_name(database));
        if (version > (int64_t)scn_schema_version)
                return scn_fault_set(fault, SCN_E_NEWER_FORMAT, 0, 0,
                        "%s: has format %lld, this program knows up to %u", scn_database_name(database),
                        (long long)version, (unsigned)scn_schema_version);
        if (version < (int64_t)scn_schema_version && !database->is_writer)
                return scn_fault_set(fault, SCN_E_OLDER_FORMAT, 0, 0, "%s: has format %lld, %u is needed",
                        scn_database_name(database), (long long)version, (unsigned)scn_schema_version);
        return SCN_OK;
}

/* The first column of a query's only row. */
static enum scn_error ask_number(
        struct scn_database *database, const char *sql, int64_t *number_out, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        int code = sqlite3_prepare_v2(database->handle, sql, -1, &statement, NULL);

        if (code == SQLITE_OK) {
                code = sqlite3_step(statement);
                *number_out = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
        }
        const enum scn_error error = code == SQLITE_ROW ? SCN_OK : scn_database_map(database, code, fault);
        sqlite3_finalize(statement);
        return error;
}

/* Inside a read transaction, so that nobody moves pages meanwhile without leaving others in the write-ahead file. */
static enum scn_error check_size(struct scn_database *database, struct scn_storage_fault *fault)
{
        int64_t objects, page_bytes = 0, pages = 0, is_utf8 = 0;
        struct stat status;
        /* A transaction begins with the first look into the file. */
        enum scn_error error = ask_number(database, "SELECT count(*) FROM sqlite_schema", &objects, fault);

        if (error == SCN_OK)
                error = ask_number(database, "PRAGMA page_size", &page_bytes, fault);
        if (error == SCN_OK)
                error = ask_number(database, "PRAGMA page_count", &pages, fault);
        if (error == SCN_OK)
                error = ask_number(database, "SELECT encoding = 'UTF-8' FROM pragma_encoding", &is_utf8, fault);
        if (error != SCN_OK)
                return error;
        if (page_bytes != SCN_DATABASE_PAGE_BYTES)
                return scn_fault_set(fault, SCN_E_CORRUPT, 0, 0, "%s: its pages do not have %d bytes",
                        scn_database_name(database), SCN_DATABASE_PAGE_BYTES);
        if (is_utf8 == 0)
                return scn_fault_set(
                        fault, SCN_E_CORRUPT, 0, 0, "%s: its texts are not UTF-8", scn_database_name(database));
        if (stat(database->path, &status) < 0)
                return scn_fault_set_errno(fault, errno, "look for", scn_database_name(database));
        database->had_wrong_size |= !has_wal(database) && (int64_t)status.st_size != pages * page_bytes;
        return !database->had_wrong_size
                ? SCN_OK
                : scn_fault_set(fault, SCN_E_CORRUPT, 0, 0, "%s: the file has not the %lld bytes of its pages",
                          scn_database_name(database), (long long)(pages * page_bytes));
}

enum scn_error scn_database_check_size(struct scn_database *database, struct scn_storage_fault *fault)
{
        enum scn_error error = scn_database_begin_read(database, fault);

        if (error != SCN_OK)
                return error;
        error = check_size(database, fault);
        scn_database_end_read(database);
        return error;
}

/* From here on the file may be changed: WAL mode, our format, and nothing left in the write-ahead file. */
static enum scn_error prepare_for_writing(struct scn_database *database, struct scn_storage_fault *fault)
{
        int code = execute_sql(database, "PRAGMA page_size = 4096; PRAGMA journal_mode = WAL");
        enum scn_error error = code == SQLITE_OK ? SCN_OK : scn_database_map(database, code, fault);

        if (error == SCN_OK)
                error = scn_schema_upgrade(database, scn_schema_steps, scn_schema_version, fault);
        if (error != SCN_OK)
                return error;
        error = scn_database_settle_wal(database, fault);
        /* Whoever has a full disk wants to read nevertheless; before something is written, it is tried again. */
        return error == SCN_E_STORAGE_FULL ? SCN_OK : error;
}

/* A link in the data directory is no document: its file might be another document's, or be written by somebody else. A
 * path that somebody names himself may be one. */
static enum scn_error look_for(
        struct scn_database *database, enum scn_database_kind kind, struct scn_storage_fault *fault)
{
        const bool follows = kind == SCN_DATABASE_READ_FOREIGN || kind == SCN_DATABASE_READ_STILL;
        struct stat status;

        if ((follows ? stat(database->path, &status) : lstat(database->path, &status)) < 0) {
                if (errno == ENOENT || errno == ENOTDIR)
                        return scn_fault_set(
                                fault, SCN_E_NO_DOCUMENT, 0, errno, "there is no %s", scn_database_name(database));
                return scn_fault_set_errno(fault, errno, "look for", scn_database_name(database));
        }
        if (!S_ISREG(status.st_mode))
                return scn_fault_set(fault, SCN_E_NOT_A_DOCUMENT, 0, 0, "%s: %s", scn_database_name(database),
                        S_ISLNK(status.st_mode)           ? "a symbolic link, which is not followed"
                                : S_ISDIR(status.st_mode) ? "a directory, not a file"
                                                          : "not a file");
        scn_guard_see(database->path, &database->main);
        return SCN_OK;
}

/* Marks, format, and a writer's preparations. */
static enum scn_error open_file(
        struct scn_database *database, enum scn_database_kind kind, bool may_create, struct scn_storage_fault *fault)
{
        int64_t application_id = 0, version = 0;
        const bool had_wal = has_wal(database);
        if (kind == SCN_DATABASE_READ_STILL && had_wal)
                return scn_fault_set(
                        fault, SCN_E_STORAGE_FULL, 0, 0, "%s: has a write-ahead file", scn_database_name(database));
        enum scn_error error = open_and_identify(database, kind, &application_id, &version, fault);
        if (error == SCN_OK && !(may_create && application_id == 0 && version == 0))
                error = check_identity(database, application_id, version, fault);
        const bool is_ours = error == SCN_OK;
        /* An upgrade is written, and what is written may cut the file; who verifies it then shall know nevertheless. */
        if (is_ours && version > 0 && version < (int64_t)scn_schema_version)
                (void)!scn_database_check_size(database, NULL);
        if (is_ours && database->is_writer)
                error = prepare_for_writing(database, fault);
        if (database->handle != NULL && (is_ours || !had_wal))
                sqlite3_db_config(database->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
        return error;
}

enum scn_error scn_database_open(struct scn_database *database, const char *path, enum scn_database_kind kind,
        const struct scn_journal_options *options, bool may_create, struct scn_storage_fault *fault)
{
        *database = (struct scn_database){
                .is_writer = kind == SCN_DATABASE_WRITE || kind == SCN_DATABASE_EXCLUSIVE,
                .is_impatient = kind == SCN_DATABASE_EXCLUSIVE,
                .busy_timeout_ms =
                        options != NULL && options->busy_timeout_ms != 0 ? options->busy_timeout_ms : BUSY_TIMEOUT_MS,
                .wal_pages = options != NULL && options->wal_pages != 0 ? options->wal_pages : WAL_PAGES,
        };
        database->wal_due = database->wal_pages;
        if ((size_t)snprintf(database->path, sizeof database->path, "%s", path) >= sizeof database->path)
                return scn_fault_set_errno(fault, ENAMETOOLONG, "open", path);
        enum scn_error error = look_for(database, kind, fault);
        if (error != SCN_OK)
                return error;

        if (kind == SCN_DATABASE_WRITE || kind == SCN_DATABASE_READ || kind == SCN_DATABASE_EXCLUSIVE)
                error = scn_database_enter(database, fault);
        if (error == SCN_OK && database->is_writer)
                error = scn_database_begin_move(database, SCN_E_STORAGE_BUSY, fault);
        const bool is_moving = error == SCN_OK && database->is_writer;
        /* SQLite would take that for a sign that nothing belongs to it, and remove it. */
        if (error == SCN_OK && !may_create && database->main.bytes == 0 && has_wal(database))
                error = scn_fault_set(fault, SCN_E_CORRUPT, 0, 0, "%s: is empty, and has a write-ahead file",
                        scn_database_name(database));
        if (error == SCN_OK && kind == SCN_DATABASE_READ_FOREIGN && scn_wal_is_strange(AT_FDCWD, database->path))
                error = scn_fault_set(fault, SCN_E_CORRUPT, 0, 0,
                        "%s: the write-ahead file beside it needs a longer file than this one",
                        scn_database_name(database));
        if (error == SCN_OK)
                error = open_file(database, kind, may_create, fault);
        if (is_moving)
                scn_database_end_move(database);
        if (error == SCN_OK)
                scn_database_note_wal(database);
        return error;
}

struct scn_guard *scn_database_finish(struct scn_database *database)
{
        struct scn_guard *guard = database->guard;

        for (size_t i = 0; i < SCN_STATEMENT_COUNT; i++)
                sqlite3_finalize(database->statements[i]);
        if (database->handle != NULL)
                scn_database_leave_moved(database);
        /* The last to close the file makes a checkpoint. */
        const bool is_moving = scn_database_begin_move(database, SCN_E_OUTCOME_UNKNOWN, NULL) == SCN_OK;
        if (!is_moving && database->handle != NULL)
                sqlite3_db_config(database->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        const int code = sqlite3_close(database->handle);
        SCN_ASSERT(code == SQLITE_OK); /* else a statement or a backup is still about */
        if (is_moving)
                scn_database_end_move(database);
        database->handle = NULL;
        database->guard = NULL;
        memset(database->statements, 0, sizeof database->statements);
        return guard != NULL && scn_guard_leave(guard) ? guard : NULL;
}
