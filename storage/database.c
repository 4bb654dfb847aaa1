/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "storage/database.h"

#include "protocol/base/assert.h"
#include "storage/directory.h"
#include "storage/fault.h"
#include "storage/schema.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BUSY_TIMEOUT_MS 5000u
#define BUSY_PAUSE_FIRST_US 100u
#define BUSY_PAUSE_LAST_US 5000u
#define WAL_PAGES 1000u
/* Steps of SQLite's own machine, between two looks at whether it is still wanted. */
#define GIVE_UP_STEPS 1000
/* An append waits for upkeep itself, and upkeep asks for the file to be cut, at so many times the pages. */
#define WAL_PAGES_FACTOR 4u
#define PAGE_BYTES 4096
/* A page with its head. */
#define WAL_FRAME_BYTES (PAGE_BYTES + 24)
/* More than the longest row we write; a longer one in a file is damage, not a reason to allocate. */
#define ROW_BYTES_MAX (2 * 1024 * 1024)

const char *scn_database_name(const struct scn_database *database)
{
        return scn_database_label(database->path);
}

/* ------------------------------------------------------------- the border */

/* errno behind an I/O error. What SQLite keeps for the connection is not set by a commit: then the write-ahead file
 * knows. */
static int system_reason(struct scn_database *database, int code)
{
        sqlite3_file *wal = NULL;
        int reason = 0;

        if ((code & 0xff) != SQLITE_IOERR && (code & 0xff) != SQLITE_CANTOPEN)
                return 0;
        if (code == SQLITE_IOERR_WRITE &&
                sqlite3_file_control(database->handle, NULL, SQLITE_FCNTL_JOURNAL_POINTER, &wal) == SQLITE_OK &&
                wal != NULL && wal->pMethods != NULL)
                wal->pMethods->xFileControl(wal, SQLITE_FCNTL_LAST_ERRNO, &reason);
        return reason != 0 ? reason : sqlite3_system_errno(database->handle);
}

static bool is_disk_full(int reason)
{
        return reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
}

static enum scn_error map_code(struct scn_database *database, int code)
{
        if (code == SQLITE_IOERR_NOMEM)
                return SCN_E_NO_MEMORY;
        if (code == SQLITE_IOERR_CORRUPTFS)
                return SCN_E_CORRUPT;
        switch (code & 0xff) {
        case SQLITE_FULL:
                return SCN_E_STORAGE_FULL;
        case SQLITE_NOMEM:
                return SCN_E_NO_MEMORY;
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
                return SCN_E_STORAGE_BUSY;
        case SQLITE_NOTADB:
                return SCN_E_NOT_A_DOCUMENT;
        case SQLITE_CORRUPT:
        case SQLITE_ERROR: /* a table or column is not there */
        case SQLITE_SCHEMA:
        case SQLITE_CONSTRAINT:
        case SQLITE_MISMATCH:
        case SQLITE_TOOBIG:
                return SCN_E_CORRUPT;
        case SQLITE_INTERRUPT:
                return SCN_E_STOPPING;
        case SQLITE_IOERR:
        case SQLITE_CANTOPEN:
                return is_disk_full(system_reason(database, code)) ? SCN_E_STORAGE_FULL : SCN_E_STORAGE_FAILED;
        default:
                return SCN_E_STORAGE_FAILED;
        }
}

static bool is_draft(const char *name)
{
        return strncmp(name, SCN_STORAGE_DRAFT_PREFIX, strlen(SCN_STORAGE_DRAFT_PREFIX)) == 0;
}

const char *scn_database_label(const char *path)
{
        const char *slash = strrchr(path, '/');
        const char *name = slash != NULL ? slash + 1 : path;

        return is_draft(name) ? "the document" : name;
}

static enum scn_error map_as(
        struct scn_database *database, enum scn_error error, int code, struct scn_storage_fault *fault)
{
        const int reason = system_reason(database, code);
        /* Where the error was another connection's, this one knows nothing of it. */
        const bool is_told = (sqlite3_errcode(database->handle) & 0xff) == (code & 0xff);

        return scn_fault_set(fault, error, 0, code, "%s: %s%s%s", scn_database_name(database),
                is_told ? sqlite3_errmsg(database->handle) : sqlite3_errstr(code), reason != 0 ? ": " : "",
                reason != 0 ? strerrordesc_np(reason) : "");
}

enum scn_error scn_database_map(struct scn_database *database, int code, struct scn_storage_fault *fault)
{
        return map_as(database, map_code(database, code), code, fault);
}

/* Whether a commit that ended so has surely not been stored. While the pages are being written this is so: the page
 * that makes them valid comes last. Afterwards come the fsync and the index of the write-ahead file, and what
 * fails there, or for any other reason, leaves it open what a later opening will find. */
static bool is_verdict(int code)
{
        return (code & 0xff) == SQLITE_FULL || (code & 0xff) == SQLITE_BUSY || code == SQLITE_IOERR_WRITE;
}

/* ------------------------------------------------------------------- open */

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

static bool is_given_up(const struct scn_database *database)
{
        return database->is_given_up != NULL && atomic_load_explicit(database->is_given_up, memory_order_relaxed);
}

static int on_progress(void *data)
{
        return is_given_up(data);
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
        return SQLITE_OK;
}

static int execute_sql(struct scn_database *database, const char *sql)
{
        return sqlite3_exec(database->handle, sql, NULL, NULL, NULL);
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
        snprintf(sql, sizeof sql, "PRAGMA journal_size_limit = %lld", (long long)database->wal_pages * WAL_FRAME_BYTES);
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
        char path[sizeof database->path + 8];
        struct stat status;

        snprintf(path, sizeof path, "%s-wal", database->path);
        return stat(path, &status) == 0 && status.st_size > 0;
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

/* Moves what stands in the write-ahead file to its place.
 *
 * What is there when the file is opened came from a process that died. If that happened because of a failed fsync,
 * some of it may be in the system's cache only, and no later fsync would write it. Moving it writes it again. */
static enum scn_error settle_wal(struct scn_database *database, struct scn_storage_fault *fault)
{
        const int code = sqlite3_wal_checkpoint_v2(database->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);

        database->is_unsettled = code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY;
        return database->is_unsettled ? scn_database_map(database, code, fault) : SCN_OK;
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
        if (page_bytes != PAGE_BYTES)
                return scn_fault_set(fault, SCN_E_CORRUPT, 0, 0, "%s: its pages do not have %d bytes",
                        scn_database_name(database), PAGE_BYTES);
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
        error = settle_wal(database, fault);
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
        database->main = (struct scn_database_file){(uint64_t)status.st_dev, (uint64_t)status.st_ino};
        return SCN_OK;
}

enum scn_error scn_database_open(struct scn_database *database, const char *path, enum scn_database_kind kind,
        const struct scn_journal_options *options, bool may_create, struct scn_storage_fault *fault)
{
        int64_t application_id = 0, version = 0;

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

        const bool had_wal = has_wal(database);
        if (kind == SCN_DATABASE_READ_STILL && had_wal)
                return scn_fault_set(
                        fault, SCN_E_STORAGE_FULL, 0, 0, "%s: has a write-ahead file", scn_database_name(database));
        error = open_and_identify(database, kind, &application_id, &version, fault);
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
        if (error != SCN_OK)
                scn_database_finish(database);
        return error;
}

void scn_database_finish(struct scn_database *database)
{
        for (size_t i = 0; i < SCN_STATEMENT_COUNT; i++)
                sqlite3_finalize(database->statements[i]);
        const int code = sqlite3_close(database->handle);
        SCN_ASSERT(code == SQLITE_OK); /* else a statement or a backup is still about */
        database->handle = NULL;
        memset(database->statements, 0, sizeof database->statements);
}

/* ------------------------------------------------------------- statements */

enum scn_error scn_database_prepare(struct scn_database *database, enum scn_statement which,
        sqlite3_stmt **statement_out, struct scn_storage_fault *fault)
{
        static const char *const texts[SCN_STATEMENT_COUNT] = {
#define STATEMENT_TEXT(name, sql) sql,
                SCN_STATEMENT_LIST(STATEMENT_TEXT)
#undef STATEMENT_TEXT
        };
        sqlite3_stmt **statement = &database->statements[which];

        if (*statement == NULL) {
                const int code = sqlite3_prepare_v3(
                        database->handle, texts[which], -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
                if (code != SQLITE_OK) {
                        *statement_out = NULL;
                        return scn_database_map(database, code, fault);
                }
        }
        *statement_out = *statement;
        return SCN_OK;
}

enum scn_error scn_database_step(
        struct scn_database *database, sqlite3_stmt *statement, bool *has_row_out, struct scn_storage_fault *fault)
{
        const int code = sqlite3_step(statement);

        *has_row_out = code == SQLITE_ROW;
        if (code == SQLITE_ROW)
                return SCN_OK;
        const enum scn_error error = code == SQLITE_DONE ? SCN_OK : scn_database_map(database, code, fault);
        sqlite3_reset(statement);
        return error;
}

enum scn_error scn_database_run(struct scn_database *database, sqlite3_stmt *statement, struct scn_storage_fault *fault)
{
        bool has_row;
        const enum scn_error error = scn_database_step(database, statement, &has_row, fault);

        SCN_ASSERT(!has_row);
        return error;
}

enum scn_error scn_database_execute(
        struct scn_database *database, enum scn_statement which, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        const enum scn_error error = scn_database_prepare(database, which, &statement, fault);
        return error != SCN_OK ? error : scn_database_run(database, statement, fault);
}

void scn_database_bind_blob(sqlite3_stmt *statement, int parameter, struct scn_slice bytes)
{
        const int code = sqlite3_bind_blob64(
                statement, parameter, bytes.size != 0 ? (const void *)bytes.data : "", bytes.size, SQLITE_STATIC);
        SCN_ASSERT(code == SQLITE_OK);
}

void scn_database_bind_text(sqlite3_stmt *statement, int parameter, struct scn_slice text)
{
        const int code = sqlite3_bind_text64(statement, parameter, text.size != 0 ? (const char *)text.data : "",
                text.size, SQLITE_STATIC, SQLITE_UTF8);
        SCN_ASSERT(code == SQLITE_OK);
}

struct scn_slice scn_database_column(sqlite3_stmt *statement, int column)
{
        if (sqlite3_column_type(statement, column) == SQLITE_NULL)
                return (struct scn_slice){0};
        /* The pointer must be asked for before the size, and is NULL for nothing. */
        const uint8_t *data = sqlite3_column_blob(statement, column);
        const int size = sqlite3_column_bytes(statement, column);
        return (struct scn_slice){data != NULL ? data : (const uint8_t *)"", (uint32_t)size};
}

bool scn_database_column_uid(sqlite3_stmt *statement, int column, struct scn_uid *uid_out)
{
        const struct scn_slice bytes = scn_database_column(statement, column);

        if (bytes.size != sizeof uid_out->bytes)
                return false;
        memcpy(uid_out->bytes, bytes.data, sizeof uid_out->bytes);
        return true;
}

/* ----------------------------------------------------------- transactions */

enum scn_error scn_database_begin_read(struct scn_database *database, struct scn_storage_fault *fault)
{
        if (is_given_up(database))
                return scn_fault_set(fault, SCN_E_STOPPING, 0, 0, "nobody waits for it any longer");
        SCN_ASSERT(sqlite3_get_autocommit(database->handle) != 0); /* a backup is being made from the handle */
        return scn_database_execute(database, SCN_STATEMENT_BEGIN_READ, fault);
}

void scn_database_end_read(struct scn_database *database)
{
        scn_database_rollback(database);
}

static enum scn_error no_verdict_fault(const struct scn_database *database, struct scn_storage_fault *fault)
{
        return scn_fault_set(fault, SCN_E_OUTCOME_UNKNOWN, 0, 0,
                "%s: an earlier commit failed without verdict, or none can be durable; the document must be opened anew",
                scn_database_name(database));
}

enum scn_error scn_database_begin_write(struct scn_database *database, struct scn_storage_fault *fault)
{
        SCN_ASSERT(database->is_writer);
        SCN_ASSERT(sqlite3_get_autocommit(database->handle) != 0);
        if (database->has_no_verdict)
                return no_verdict_fault(database, fault);
        if (database->is_unsettled) {
                const enum scn_error error = settle_wal(database, fault);
                if (error != SCN_OK)
                        return error;
        }
        return scn_database_execute(database, SCN_STATEMENT_BEGIN_WRITE, fault);
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

        (void)sqlite3_wal_checkpoint_v2(database->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
        if (stat(database->path, &status) < 0 || !has_name(wal, &database->wal))
                return;
        snprintf(shm, sizeof shm, "%s-shm", database->path);
        unlink(wal);
        unlink(shm);
}

/* Whether what is about to be committed will be found by whoever opens the document next. If not, the transaction is
 * taken back. */
static enum scn_error check_names(struct scn_database *database, struct scn_storage_fault *fault)
{
        char wal[sizeof database->path + 8];

        snprintf(wal, sizeof wal, "%s-wal", database->path);
        const bool has_main = has_name(database->path, &database->main);
        if (has_main && has_name(wal, &database->wal))
                return SCN_OK;
        database->has_no_verdict = true;
        scn_database_rollback(database);
        if (!has_main)
                leave_replaced_file(database, wal);
        return scn_fault_set(fault, SCN_E_OUTCOME_UNKNOWN, 0, 0, "%s: another program has replaced or removed it",
                has_main ? wal : database->path);
}

enum scn_error scn_database_commit(struct scn_database *database, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        enum scn_error error = check_names(database, fault);

        if (error != SCN_OK)
                return error;
        error = scn_database_prepare(database, SCN_STATEMENT_COMMIT, &statement, fault);
        if (error == SCN_OK) {
                const int code = sqlite3_step(statement);
                if (code == SQLITE_DONE) {
                        sqlite3_reset(statement);
                        return SCN_OK;
                }
                if (is_verdict(code)) {
                        error = scn_database_map(database, code, fault);
                } else {
                        database->has_no_verdict = true;
                        error = map_as(database, SCN_E_OUTCOME_UNKNOWN, code, fault);
                }
        }
        scn_database_rollback(database);
        return error;
}

void scn_database_rollback(struct scn_database *database)
{
        /* None may still be reading when the transaction ends. */
        for (size_t i = 0; i < SCN_STATEMENT_COUNT; i++)
                sqlite3_reset(database->statements[i]);
        /* SQLite has done it by itself after some errors. It cannot fail in a way that matters: nothing was
         * written that counts. */
        if (sqlite3_get_autocommit(database->handle) == 0)
                (void)!scn_database_execute(database, SCN_STATEMENT_ROLLBACK, NULL);
}

enum scn_error scn_database_set_durable(struct scn_database *database, bool is_durable, struct scn_storage_fault *fault)
{
        const int code =
                execute_sql(database, is_durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");

        if (code == SQLITE_OK)
                return SCN_OK;
        if (!is_durable)
                return scn_database_map(database, code, fault);
        database->has_no_verdict = true;
        return map_as(database, SCN_E_OUTCOME_UNKNOWN, code, fault);
}

/* ----------------------------------------------------- the write-ahead file */

static bool is_busy(int code)
{
        return (code & 0xff) == SQLITE_BUSY;
}

static int empty_wal(struct scn_database *database)
{
        const bool was_impatient = database->is_impatient;

        database->is_impatient = true;
        const int code = sqlite3_wal_checkpoint_v2(database->handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
        database->is_impatient = was_impatient;
        if (code == SQLITE_OK) {
                database->wal_frames = 0;
                database->wal_due = database->wal_pages;
        }
        return code;
}

enum scn_error scn_database_upkeep(struct scn_database *database, struct scn_storage_fault *fault)
{
        int in_file = 0, moved = 0;

        if (!database->is_writer || database->has_no_verdict || database->wal_frames < database->wal_due)
                return SCN_OK;
        int code = sqlite3_wal_checkpoint_v2(database->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_file, &moved);
        /* Whatever could not be moved or reused, because somebody reads, is not tried again at each commit. */
        database->wal_due = database->wal_frames + database->wal_pages;
        if (code == SQLITE_OK && (uint32_t)in_file >= WAL_PAGES_FACTOR * database->wal_pages) {
                code = empty_wal(database);
                moved = code == SQLITE_OK ? in_file : moved;
        }
        const bool is_held = is_busy(code) || (code == SQLITE_OK && moved < in_file);
        database->wal_held_count = is_held ? database->wal_held_count + 1 : 0;
        if (code == SQLITE_OK || is_busy(code))
                return SCN_OK;
        return scn_database_map(database, code, fault);
}

void scn_database_upkeep_if_late(struct scn_database *database)
{
        if (database->wal_frames >= (WAL_PAGES_FACTOR - 1) * database->wal_pages + database->wal_due)
                (void)!scn_database_upkeep(database, NULL);
}

uint64_t scn_database_wal_bytes(const struct scn_database *database)
{
        return (uint64_t)database->wal_frames * WAL_FRAME_BYTES;
}
