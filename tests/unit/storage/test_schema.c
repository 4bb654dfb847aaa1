/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "storage/schema.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The SQL that FORMAT.md shows, in memory of the caller's. */
static char *sql_of_the_page(void)
{
        char *text = calloc(1, 1 << 16);
        FILE *file = fopen(SCN_TEST_SOURCE_DIR "/storage/FORMAT.md", "r");

        cr_assert(text != NULL && file != NULL);
        const size_t size = fread(text, 1, (1 << 16) - 1, file);
        cr_assert_gt(size, 0);
        fclose(file);
        char *start = strstr(text, "```sql\n"), *end = start != NULL ? strstr(start + 7, "```") : NULL;
        cr_assert(start != NULL && end != NULL, "FORMAT.md shows no SQL");
        memmove(text, start + 7, (size_t)(end - start) - 7);
        text[end - start - 7] = '\0';
        return text;
}

/* Takes out what the file's own text does not have: comments, and what is more than one space (FORMAT.md). */
static void normalise(char *text)
{
        char *to = text;

        for (const char *at = text; *at != '\0';) {
                if (at[0] == '-' && at[1] == '-') {
                        at += strcspn(at, "\n");
                } else if (*at == ' ' || *at == '\n') {
                        const bool is_line_end = *at == '\n';
                        at++;
                        if (to != text && to[-1] == ' ')
                                to--;
                        if (!(is_line_end && *at == ')'))
                                *to++ = ' ';
                } else {
                        *to++ = *at++;
                }
        }
        *to = '\0';
}

/* The schema's own text, a line for each object. */
static void describe(sqlite3 *handle, char *out, size_t size)
{
        sqlite3_stmt *statement;

        cr_assert_eq(
                sqlite3_prepare_v2(handle,
                        "SELECT group_concat(line, char(10)) FROM (SELECT type || ' ' || name || ' ' || sql AS line"
                        " FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY line)",
                        -1, &statement, NULL),
                SQLITE_OK, "%s", sqlite3_errmsg(handle));
        cr_assert_eq(sqlite3_step(statement), SQLITE_ROW);
        snprintf(out, size, "%s", (const char *)sqlite3_column_text(statement, 0));
        sqlite3_finalize(statement);
}

SCN_TEST(storage_schema, is_the_one_that_the_format_page_shows)
{
        static char made[1 << 15], shown[1 << 15];
        struct scn_test_storage test;
        sqlite3 *handle;
        char *sql = sql_of_the_page();
        normalise(sql);

        scn_test_storage_init(&test);
        scn_journal_close(scn_test_create_island(&test));
        cr_assert_eq(sqlite3_open(scn_test_storage_file(&test, "island.scene"), &handle), SQLITE_OK);
        describe(handle, made, sizeof made);
        sqlite3_close(handle);
        cr_assert_eq(sqlite3_open(":memory:", &handle), SQLITE_OK);
        cr_assert_eq(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(handle));
        describe(handle, shown, sizeof shown);
        sqlite3_close(handle);
        free(sql);
        cr_assert_gt(strlen(made), 1000);
        cr_assert_str_eq(made, shown);
        scn_test_storage_finish(&test);
}

static void open_empty(struct scn_test_storage *test, struct scn_database *database)
{
        scn_test_storage_init(test);
        const char *path = scn_test_storage_file(test, "island.scene");
        cr_assert_eq(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
        SCN_TEST_OK(scn_database_open(database, path, SCN_DATABASE_WRITE, NULL, true, NULL));
}

static int64_t version_of(struct scn_database *database)
{
        int64_t application_id, version;

        SCN_TEST_OK(scn_schema_identify(database, &application_id, &version, NULL));
        return version;
}

/* The real steps, and three more of a future. */
static const struct scn_schema_step future[] = {
        {"SELECT 1"}, /* these three never run: the file has format 3 */
        {"SELECT 1"},
        {"SELECT 1"},
        {"CREATE TABLE two (x); INSERT INTO two SELECT count(*) FROM document"},
        {"ALTER TABLE two ADD COLUMN y; UPDATE two SET y = x + 1"},
        {"CREATE TABLE four (x); INSERT INTO four SELECT y FROM two; INSERT INTO missing VALUES (1)"},
};

SCN_TEST(storage_schema, is_upgraded_one_step_for_each_version)
{
        struct scn_test_storage test;
        struct scn_database database;

        open_empty(&test, &database);
        cr_assert_eq(version_of(&database), 3);
        SCN_TEST_OK(scn_schema_upgrade(&database, future, 5, NULL));
        cr_assert_eq(version_of(&database), 5);
        SCN_TEST_OK(scn_schema_upgrade(&database, future, 5, NULL));
        cr_assert_null(scn_database_finish(&database));
        const char *file = scn_test_storage_file(&test, "island.scene");
        cr_assert_eq(scn_test_sql(file, "SELECT y FROM two"), 1);
        scn_test_storage_finish(&test);
}

SCN_TEST(storage_schema, keeps_the_steps_before_the_one_that_fails)
{
        struct scn_test_storage test;
        struct scn_database database;
        struct scn_storage_fault fault = {0};

        open_empty(&test, &database);
        cr_assert_eq(scn_schema_upgrade(&database, future, 6, &fault), SCN_E_CORRUPT);
        cr_assert_neq(fault.text[0], '\0');
        cr_assert_eq(version_of(&database), 5);
        cr_assert_null(scn_database_finish(&database));
        const char *file = scn_test_storage_file(&test, "island.scene");
        cr_assert_eq(scn_test_sql(file, "SELECT count(*) FROM sqlite_schema WHERE name = 'four'"), 0);
        scn_test_storage_finish(&test);
}

/* A document of format 1, its texts encoded so, with so many bytes behind its end; what verifying says once it has been
 * upgraded. */
static enum scn_error verify_first_format(const char *encoding, uint32_t junk_bytes, struct scn_storage_fault *fault)
{
        struct scn_test_storage test;
        struct scn_journal *journal;
        static const uint8_t junk[4096];
        static char sql[1 << 14];

        scn_test_storage_init(&test);
        const char *file = scn_test_storage_file(&test, "island.scene");
        cr_assert_eq(close(open(file, O_CREAT | O_WRONLY, 0600)), 0);
        snprintf(sql, sizeof sql, "PRAGMA encoding = '%s'; PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; %s",
                encoding, scn_schema_steps[0].sql);
        scn_test_sql(file, sql);
        scn_test_sql(file,
                "PRAGMA user_version = 1;"
                "INSERT INTO document VALUES (1, x'000102030405060708090a0b0c0d0e0f', 'island', 1, x'')");
        FILE *end = fopen(file, "ab");
        cr_assert(end != NULL && fwrite(junk, 1, junk_bytes, end) == junk_bytes && fclose(end) == 0);
        SCN_TEST_OK(scn_journal_open(test.storage, scn_test_text("island"), NULL, &journal, NULL));
        const enum scn_error error = scn_journal_verify(journal, fault);
        scn_journal_close(journal);
        cr_assert_eq(scn_test_sql(file, "PRAGMA user_version"), (int64_t)scn_schema_version);
        scn_test_storage_finish(&test);
        return error;
}

SCN_TEST(storage_schema, of_a_file_that_was_upgraded_is_that_of_a_new_one)
{
        SCN_TEST_OK(verify_first_format("UTF-8", 0, NULL));
}

SCN_TEST(storage_schema, of_a_first_file_does_not_hide_what_stood_behind_its_end)
{
        cr_assert_eq(verify_first_format("UTF-8", 4096, NULL), SCN_E_CORRUPT);
}

SCN_TEST(storage_schema, is_not_enough_where_texts_are_encoded_otherwise)
{
        struct scn_storage_fault fault = {0};

        cr_assert_eq(verify_first_format("UTF-16le", 0, &fault), SCN_E_CORRUPT);
        cr_assert_not_null(strstr(fault.text, "not UTF-8"), "%s", fault.text);
}
