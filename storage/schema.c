/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "storage/schema.h"

#include "protocol/base/assert.h"
#include "storage/fault.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* FORMAT.md shows these tables with a comment for each column; a test compares them. */
static const char create_sql[] =
        "CREATE TABLE document ("
        " id INTEGER PRIMARY KEY CHECK (id = 1),"
        " uid BLOB NOT NULL,"
        " name TEXT NOT NULL,"
        " created_us INTEGER NOT NULL,"
        " origin BLOB NOT NULL"
        ") STRICT;"
        "CREATE TABLE epochs ("
        " position INTEGER PRIMARY KEY,"
        " epoch INTEGER NOT NULL UNIQUE,"
        " rev INTEGER NOT NULL,"
        " time_us INTEGER NOT NULL"
        ") STRICT;"
        "CREATE TABLE clients ("
        " client INTEGER PRIMARY KEY,"
        " uid BLOB NOT NULL,"
        " author TEXT NOT NULL,"
        " forgotten INTEGER NOT NULL"
        ") STRICT;"
        "CREATE UNIQUE INDEX clients_known ON clients (uid, author) WHERE forgotten = 0;"
        "CREATE TABLE runs ("
        " client INTEGER NOT NULL,"
        " last_number INTEGER NOT NULL,"
        " first_rev INTEGER NOT NULL,"
        " last_rev INTEGER NOT NULL,"
        " PRIMARY KEY (client, last_number)"
        ") STRICT, WITHOUT ROWID;"
        "CREATE TABLE transactions ("
        " rev INTEGER PRIMARY KEY,"
        " time_us INTEGER NOT NULL,"
        " client INTEGER NOT NULL,"
        " number INTEGER NOT NULL,"
        " group_number INTEGER NOT NULL,"
        " cause INTEGER NOT NULL,"
        " step INTEGER NOT NULL,"
        " record_count INTEGER NOT NULL,"
        " journal_bytes INTEGER NOT NULL,"
        " content_hash BLOB NOT NULL,"
        " digest BLOB NOT NULL,"
        " answer BLOB,"
        " kind INTEGER,"
        " node BLOB,"
        " before BLOB,"
        " after BLOB,"
        " first_record INTEGER,"
        " records_checksum INTEGER,"
        " checksum INTEGER NOT NULL"
        ") STRICT;"
        "CREATE TABLE records ("
        " id INTEGER PRIMARY KEY,"
        " rev INTEGER NOT NULL,"
        " position INTEGER NOT NULL,"
        " part INTEGER NOT NULL,"
        " kind INTEGER NOT NULL,"
        " node BLOB NOT NULL,"
        " before BLOB NOT NULL,"
        " after BLOB NOT NULL"
        ") STRICT;"
        "CREATE TABLE checkpoints ("
        " checkpoint INTEGER PRIMARY KEY,"
        " rev INTEGER NOT NULL,"
        " time_us INTEGER NOT NULL,"
        " part_count INTEGER NOT NULL,"
        " size INTEGER NOT NULL,"
        " digest BLOB NOT NULL,"
        " checksum INTEGER NOT NULL"
        ") STRICT;"
        "CREATE TABLE checkpoint_parts ("
        " part INTEGER PRIMARY KEY,"
        " checkpoint INTEGER NOT NULL,"
        " position INTEGER NOT NULL,"
        " bytes BLOB NOT NULL,"
        " checksum INTEGER NOT NULL"
        ") STRICT;"
        "CREATE UNIQUE INDEX checkpoint_parts_place ON checkpoint_parts (checkpoint, position);"
        "CREATE TABLE tags ("
        " name TEXT PRIMARY KEY,"
        " rev INTEGER NOT NULL,"
        " time_us INTEGER NOT NULL,"
        " author TEXT NOT NULL"
        ") STRICT, WITHOUT ROWID;"
        "CREATE VIEW log AS SELECT rev, datetime(time_us / 1000000, 'unixepoch') AS time, author,"
        " lower(hex(uid)) AS client, number, cause, step, record_count"
        " FROM transactions LEFT JOIN clients USING (client);"
        "CREATE VIEW client_list AS SELECT client, lower(hex(uid)) AS uid, author, forgotten,"
        " (SELECT max(last_number) FROM runs AS r WHERE r.client = c.client) AS last_number FROM clients AS c;"
        "PRAGMA application_id = 1396917582;";

/* 2: gaps in the row of revisions, and a journal that does not begin at 1. */
static const char fold_sql[] = "CREATE TABLE folds ("
                               " last_rev INTEGER PRIMARY KEY,"
                               " first_rev INTEGER NOT NULL,"
                               " kept INTEGER NOT NULL,"
                               " states BLOB NOT NULL,"
                               " checksum INTEGER NOT NULL"
                               ") STRICT;"
                               "CREATE TABLE folded_numbers ("
                               " client INTEGER NOT NULL,"
                               " last_number INTEGER NOT NULL,"
                               " first_number INTEGER NOT NULL,"
                               " rev INTEGER NOT NULL,"
                               " PRIMARY KEY (client, last_number)"
                               ") STRICT, WITHOUT ROWID;"
                               "CREATE TABLE history ("
                               " id INTEGER PRIMARY KEY CHECK (id = 1),"
                               " base INTEGER NOT NULL,"
                               " judged INTEGER NOT NULL"
                               ") STRICT;"
                               "INSERT INTO history VALUES (1, 0, 0);";

/* 3: when a client was last heard of, also where the transaction is gone. Of one from before what is kept no more is
 * known than that it is older than that. */
static const char heard_sql[] = "ALTER TABLE runs ADD COLUMN time_us INTEGER NOT NULL DEFAULT 0;"
                                "UPDATE runs SET time_us = coalesce("
                                "(SELECT time_us FROM transactions WHERE rev = last_rev),"
                                " (SELECT time_us FROM transactions WHERE rev = (SELECT base FROM history)), 0);";

const struct scn_schema_step scn_schema_steps[] = {{create_sql}, {fold_sql}, {heard_sql}};
const uint32_t scn_schema_version = sizeof scn_schema_steps / sizeof scn_schema_steps[0];

static enum scn_error read_pragma(
        struct scn_database *database, const char *sql, int64_t *value_out, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        int code = sqlite3_prepare_v2(database->handle, sql, -1, &statement, NULL);

        if (code == SQLITE_OK) {
                code = sqlite3_step(statement);
                *value_out = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
                sqlite3_finalize(statement);
        }
        return code == SQLITE_ROW ? SCN_OK : scn_database_map(database, code, fault);
}

enum scn_error scn_schema_identify(struct scn_database *database, int64_t *application_id_out, int64_t *version_out,
        struct scn_storage_fault *fault)
{
        enum scn_error error = read_pragma(database, "PRAGMA application_id", application_id_out, fault);
        if (error == SCN_OK)
                error = read_pragma(database, "PRAGMA user_version", version_out, fault);
        return error;
}

/* Inside a write transaction. Another handle may have been quicker: then there is nothing to do. */
static enum scn_error take_step(struct scn_database *database, const struct scn_schema_step *step, uint32_t from,
        struct scn_storage_fault *fault)
{
        char sql[64];
        int64_t application_id, version;
        enum scn_error error = scn_schema_identify(database, &application_id, &version, fault);

        if (error != SCN_OK || version != (int64_t)from)
                return error;
        int code = sqlite3_exec(database->handle, step->sql, NULL, NULL, NULL);
        if (code == SQLITE_OK) {
                snprintf(sql, sizeof sql, "PRAGMA user_version = %" PRIu32, from + 1);
                code = sqlite3_exec(database->handle, sql, NULL, NULL, NULL);
        }
        return code == SQLITE_OK ? SCN_OK : scn_database_map(database, code, fault);
}

enum scn_error scn_schema_upgrade(struct scn_database *database, const struct scn_schema_step *steps, uint32_t count,
        struct scn_storage_fault *fault)
{
        int64_t application_id, version;
        enum scn_error error = scn_schema_identify(database, &application_id, &version, fault);

        if (error != SCN_OK)
                return error;
        SCN_ASSERT(version >= 0 && version <= (int64_t)count);
        for (uint32_t from = (uint32_t)version; from < count; from++) {
                error = scn_database_begin_write(database, fault);
                if (error != SCN_OK)
                        return error;
                error = take_step(database, &steps[from], from, fault);
                if (error != SCN_OK) {
                        scn_database_rollback(database);
                        return error;
                }
                error = scn_database_commit(database, fault);
                if (error != SCN_OK)
                        return error;
        }
        return SCN_OK;
}

/* ----------------------------------------------------------------- verify */

static const char objects_sql[] =
        "SELECT type, name, tbl_name, ifnull(sql, '') FROM sqlite_schema"
        " WHERE NOT (type = 'table' AND name = tbl_name AND (name = 'sqlite_sequence' OR name GLOB 'sqlite_stat[1-4]'))"
        " ORDER BY type, name, tbl_name, sql";

enum {
        OBJECT_COLUMNS = 4,
        OBJECT_KEYS = 2
};

/* As the query orders them, by the first columns; 0: all of these are equal. A row that is not there is above all. */
static int compare_objects(sqlite3_stmt *one, bool has_one, sqlite3_stmt *other, bool has_other, int columns)
{
        int order = (has_one ? 0 : 1) - (has_other ? 0 : 1);

        for (int i = 0; i < columns && order == 0 && has_one; i++) {
                const struct scn_slice a = scn_database_column(one, i), b = scn_database_column(other, i);
                order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
                if (order == 0)
                        order = (a.size > b.size) - (a.size < b.size);
        }
        return order;
}

static enum scn_error object_fault(
        const struct scn_database *database, sqlite3_stmt *object, const char *meaning, struct scn_storage_fault *fault)
{
        return scn_fault_set(fault, SCN_E_CORRUPT, 0, 0, "%s: the %.16s %.64s %s", scn_database_name(database),
                (const char *)sqlite3_column_text(object, 0), (const char *)sqlite3_column_text(object, 1), meaning);
}

static enum scn_error compare_schemas(
        struct scn_database *database, sqlite3_stmt *found, sqlite3_stmt *wanted, struct scn_storage_fault *fault)
{
        while (true) {
                const int code = sqlite3_step(found);
                const bool has_found = code == SQLITE_ROW, has_wanted = sqlite3_step(wanted) == SQLITE_ROW;
                if (!has_found && code != SQLITE_DONE)
                        return scn_database_map(database, code, fault);
                if (!has_found && !has_wanted)
                        return SCN_OK;
                const int order = compare_objects(found, has_found, wanted, has_wanted, OBJECT_KEYS);
                if (order < 0)
                        return object_fault(database, found, "does not belong to the format", fault);
                if (order > 0)
                        return object_fault(database, wanted, "is missing", fault);
                if (compare_objects(found, has_found, wanted, has_wanted, OBJECT_COLUMNS) != 0)
                        return object_fault(database, found, "is not what the format says", fault);
        }
}

/* In memory: what a new file has. NULL: out of memory, which is all that can fail there. */
static sqlite3 *make_model(void)
{
        sqlite3 *model = NULL;
        int code = sqlite3_open_v2(":memory:", &model, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

        for (uint32_t i = 0; i < scn_schema_version && code == SQLITE_OK; i++)
                code = sqlite3_exec(model, scn_schema_steps[i].sql, NULL, NULL, NULL);
        if (code == SQLITE_OK)
                return model;
        sqlite3_close(model);
        return NULL;
}

enum scn_error scn_schema_verify(struct scn_database *database, struct scn_storage_fault *fault)
{
        sqlite3 *model = make_model();
        sqlite3_stmt *found = NULL, *wanted = NULL;
        enum scn_error error = SCN_OK;

        if (model == NULL || sqlite3_prepare_v2(model, objects_sql, -1, &wanted, NULL) != SQLITE_OK)
                error = scn_fault_set(fault, SCN_E_NO_MEMORY, 0, 0, "out of memory");
        if (error == SCN_OK) {
                const int code = sqlite3_prepare_v2(database->handle, objects_sql, -1, &found, NULL);
                error = code == SQLITE_OK ? compare_schemas(database, found, wanted, fault)
                                          : scn_database_map(database, code, fault);
        }
        sqlite3_finalize(found);
        sqlite3_finalize(wanted);
        sqlite3_close(model);
        return error;
}
