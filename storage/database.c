/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "storage/database.h"

#include "protocol/base/assert.h"
#include "storage/directory.h"
#include "storage/fault.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* An append waits for upkeep itself, and upkeep asks for the file to be cut, at so many times the pages. */
#define WAL_PAGES_FACTOR 4u

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
        const enum scn_error error = map_code(database, code);

        if ((error == SCN_E_CORRUPT || error == SCN_E_NOT_A_DOCUMENT || error == SCN_E_STORAGE_FAILED) &&
                !scn_database_is_as_left(database))
                return scn_database_fail_overwritten(
                        database, database->is_writer ? SCN_E_OUTCOME_UNKNOWN : SCN_E_STORAGE_BUSY, fault);
        return map_as(database, error, code, fault);
}

/* Whether a commit that ended so has surely not been stored. While the pages are being written this is so: the page
 * that makes them valid comes last. Afterwards come the fsync and the index of the write-ahead file, and what
 * fails there, or for any other reason, leaves it open what a later opening will find. */
static bool is_verdict(int code)
{
        return (code & 0xff) == SQLITE_FULL || (code & 0xff) == SQLITE_BUSY || code == SQLITE_IOERR_WRITE;
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

bool scn_database_is_given_up(const struct scn_database *database)
{
        return database->is_given_up != NULL && atomic_load_explicit(database->is_given_up, memory_order_relaxed);
}

enum scn_error scn_database_begin_read(struct scn_database *database, struct scn_storage_fault *fault)
{
        if (scn_database_is_given_up(database))
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
                const enum scn_error error = scn_database_settle_wal(database, fault);
                if (error != SCN_OK)
                        return error;
        }
        return scn_database_execute(database, SCN_STATEMENT_BEGIN_WRITE, fault);
}

enum scn_error scn_database_commit(struct scn_database *database, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        enum scn_error error = scn_database_look(database, fault);

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
        const int code = sqlite3_exec(database->handle,
                is_durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", NULL, NULL, NULL);

        if (code == SQLITE_OK)
                return SCN_OK;
        if (!is_durable)
                return scn_database_map(database, code, fault);
        database->has_no_verdict = true;
        return map_as(database, SCN_E_OUTCOME_UNKNOWN, code, fault);
}

/* ----------------------------------------------------- the write-ahead file */

enum scn_error scn_database_settle_wal(struct scn_database *database, struct scn_storage_fault *fault)
{
        const enum scn_error error = scn_database_begin_move(database, SCN_E_OUTCOME_UNKNOWN, fault);
        if (error != SCN_OK)
                return error;
        const int code = sqlite3_wal_checkpoint_v2(database->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
        scn_database_end_move(database);
        database->is_unsettled = code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY;
        return database->is_unsettled ? scn_database_map(database, code, fault) : SCN_OK;
}

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

static int move(struct scn_database *database)
{
        int in_file = 0, moved = 0;
        int code = sqlite3_wal_checkpoint_v2(database->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_file, &moved);

        /* Whatever could not be moved or reused, because somebody reads, is not tried again at each commit. */
        database->wal_due = database->wal_frames + database->wal_pages;
        if (code == SQLITE_OK && (uint32_t)in_file >= WAL_PAGES_FACTOR * database->wal_pages) {
                code = empty_wal(database);
                moved = code == SQLITE_OK ? in_file : moved;
        }
        const bool is_held = is_busy(code) || (code == SQLITE_OK && moved < in_file);
        database->wal_held_count = is_held ? database->wal_held_count + 1 : 0;
        return code;
}

enum scn_error scn_database_upkeep(struct scn_database *database, struct scn_storage_fault *fault)
{
        if (!database->is_writer || database->has_no_verdict || database->wal_frames < database->wal_due)
                return SCN_OK;
        const enum scn_error error = scn_database_begin_move(database, SCN_E_OUTCOME_UNKNOWN, fault);
        if (error != SCN_OK) {
                database->has_no_verdict = true;
                return error;
        }
        const int code = move(database);
        scn_database_end_move(database);
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
        return (uint64_t)database->wal_frames * SCN_DATABASE_WAL_FRAME_BYTES;
}
