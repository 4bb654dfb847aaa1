/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "storage/schema.h"

#include "protocol/base/assert.h"
#include "storage/fault.h"

#include <inttypes.h>
#include <stdio.h>

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
