/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

static const struct scn_test_shape both = {.client = 1, .records_count = 2, .payload_bytes = 60, .answer_bytes = 20};

/* Three full windows, records outside the transactions, two epochs. */
static struct scn_journal *make_island(struct scn_test_storage *test)
{
        scn_test_storage_init(test);
        struct scn_journal *journal = scn_test_create_island(test);
        SCN_TEST_OK(scn_journal_begin_epoch(journal, 10, 1, NULL));
        SCN_TEST_OK(scn_test_append(journal, 1, 3100, &both, NULL));
        SCN_TEST_OK(scn_journal_begin_epoch(journal, 11, 2, NULL));
        return journal;
}

SCN_TEST(journal_verify, finds_nothing_in_a_good_file)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test);
        struct scn_storage_fault fault = {.revision = 99};

        SCN_TEST_OK(scn_journal_verify(journal, &fault));
        cr_assert_eq(fault.revision, 99);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

/* Damage that no transaction's own checksum can show. That of rows is found by reading them: test_read.c. */
static const struct {
        const char *spoil;
        scn_revision named;
} spoils[] = {
        {"DELETE FROM runs WHERE last_number = 2048", 2048},
        {"DELETE FROM runs WHERE last_number = 3072", 3072},
        {"DELETE FROM runs", 1024},
        {"UPDATE runs SET first_rev = 1026 WHERE last_number = 2048", 2048},
        {"UPDATE runs SET last_number = 2047 WHERE last_number = 2048", 2048},
        {"UPDATE runs SET last_rev = 2047 WHERE last_number = 2048", 2047},
        {"UPDATE runs SET last_rev = 9999 WHERE last_number = 2048", 9999},
        {"UPDATE runs SET time_us = time_us + 1 WHERE last_number = 2048", 2048},
        {"UPDATE epochs SET rev = 4000 WHERE position = 1", 3100},
        {"INSERT INTO tags VALUES ('late', 3101, 1, 'ann')", 3101},
        {"DELETE FROM records WHERE id = 5", 5},
        {"UPDATE epochs SET time_us = 9223372036854775807 WHERE position = 2", 0},
        {"INSERT INTO tags VALUES ('early', 7, -1, 'ann')", 0},
        {"UPDATE document SET created_us = 253402300800000000", 0},
        {"UPDATE transactions SET time_us = 9223372036854775807 WHERE rev = 3100", 3100},
        {"UPDATE history SET base = -1", 0},
        {"UPDATE history SET judged = -1", 0},
        {"UPDATE history SET base = 2", 0},
        {"UPDATE history SET base = 3101, judged = 3101", 3101},
        {"UPDATE history SET judged = 3101", 3101},
        {"INSERT INTO records SELECT 3101, 4000, position, part, kind, node, before, after FROM records WHERE id = 1",
                4000},
};

SCN_TEST_WITH(journal_verify, finds_what_reading_does_not_show, .timeout = 120)
{
        for (size_t i = 0; i < sizeof spoils / sizeof spoils[0]; i++) {
                struct scn_test_storage test;
                struct scn_journal *journal = make_island(&test);
                struct scn_storage_fault fault = {0};
                scn_test_sql(scn_test_storage_file(&test, "island.scene"), spoils[i].spoil);
                cr_assert_eq(scn_journal_verify(journal, &fault), SCN_E_CORRUPT, "%s", spoils[i].spoil);
                cr_assert_eq(fault.revision, spoils[i].named, "%s: %s", spoils[i].spoil, fault.text);
                scn_journal_close(journal);
                scn_test_storage_finish(&test);
        }
}

/* An index that lacks a row of its table: only SQLite's own check sees that. */
SCN_TEST(journal_verify, finds_an_index_that_does_not_fit_its_table)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test);
        struct scn_storage_fault fault = {0};

        scn_journal_close(journal);
        const char *file = scn_test_storage_file(&test, "island.scene");
        scn_test_sql(file,
                "PRAGMA writable_schema = ON;"
                "CREATE TABLE kept AS SELECT * FROM sqlite_schema WHERE name = 'checkpoint_parts_place';"
                "DELETE FROM sqlite_schema WHERE name = 'checkpoint_parts_place'");
        scn_test_sql(file, "INSERT INTO checkpoint_parts VALUES (1, 1, 0, x'00', 0)");
        scn_test_sql(file,
                "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema SELECT * FROM kept;"
                "DROP TABLE kept");
        journal = scn_test_open_island(&test, SCN_JOURNAL_READ);
        cr_assert_eq(scn_journal_verify(journal, &fault), SCN_E_CORRUPT);
        cr_assert_not_null(strstr(fault.text, "checkpoint_parts_place"), "%s", fault.text);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

/* Faults that have no revision: what is done to the file, and what the fault's text names. */
struct spoil {
        const char *sql;
        const char *named;
};

/* Closed and spoiled; then it is opened and verified, or not even opened. */
static void expect_corrupt(const struct spoil *spoil)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test);
        struct scn_storage_fault fault = {0};

        scn_journal_close(journal);
        journal = NULL;
        scn_test_sql(scn_test_storage_file(&test, "island.scene"), spoil->sql);
        enum scn_error error = scn_journal_open(test.storage, scn_test_text("island"), NULL, &journal, &fault);
        if (error == SCN_OK)
                error = scn_journal_verify(journal, &fault);
        cr_assert_eq(error, SCN_E_CORRUPT, "%s: %s", spoil->sql, scn_error_code(error));
        cr_assert_not_null(strstr(fault.text, spoil->named), "%s: %s", spoil->sql, fault.text);
        cr_assert_null(strchr(fault.text, '/'), "%s", fault.text);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

#define IN_SCHEMA(set, name) "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET " set " WHERE name = '" name "'"

static const struct spoil schemas[] = {
        {"CREATE UNIQUE INDEX one_each ON tags (author)", "the index one_each does not belong"},
        {"CREATE UNIQUE INDEX again ON transactions (client, number)", "the index again does not belong"},
        {"CREATE INDEX plain ON epochs (rev)", "the index plain does not belong"},
        {"CREATE TABLE notes (x)", "the table notes does not belong"},
        {"CREATE VIRTUAL TABLE found USING fts5(x)", "does not belong"},
        {"CREATE VIEW a AS SELECT 1", "the view a does not belong"},
        {"CREATE TRIGGER t AFTER INSERT ON tags BEGIN DELETE FROM tags; END", "the trigger t does not belong"},
        {"DROP VIEW log", "the view log is missing"},
        {"DROP VIEW log; CREATE VIEW log AS SELECT 1", "the view log is not"},
        {"DROP INDEX clients_known", "the index clients_known is missing"},
        {"DROP INDEX clients_known; CREATE INDEX clients_known ON clients (uid, author) WHERE forgotten = 0",
                "the index clients_known is not"},
        {"ALTER TABLE tags ADD COLUMN more TEXT", "the table tags is not"},
        {IN_SCHEMA("sql = replace(sql, 'step INTEGER NOT NULL', 'step INTEGER NOT NULL CHECK (rev < 4000)')",
                 "transactions"),
                "the table transactions is not"},
        {IN_SCHEMA("sql = replace(sql, ' time_us INTEGER', '  time_us INTEGER')", "epochs"), "the table epochs is not"},
        {"DROP TABLE folds", "the table folds is missing"},
};

SCN_TEST_WITH(journal_verify, names_what_is_other_in_the_schema, .timeout = 120)
{
        for (size_t i = 0; i < sizeof schemas / sizeof schemas[0]; i++)
                expect_corrupt(&schemas[i]);
}

SCN_TEST(journal_verify, does_not_mind_the_statistics_of_the_shell)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test);
        struct scn_storage_fault fault = {0};

        scn_test_sql(scn_test_storage_file(&test, "island.scene"), "ANALYZE");
        cr_assert_eq(scn_journal_verify(journal, &fault), SCN_OK, "%s", fault.text);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

static const struct spoil rows[] = {
        {"UPDATE history SET judged = -1", "history, row 1"},
        {"UPDATE history SET judged = 3101", "history, row 1"},
        {"UPDATE history SET judged = 9223372036854775807", "history, row 1"},
        {"UPDATE history SET base = -1", "history, row 1"},
        {"UPDATE history SET base = 1024", "history, row 1"},
        {"UPDATE document SET created_us = -1", "document, row 1"},
        {"UPDATE epochs SET epoch = 0 WHERE position = 2", "epochs, row 2"},
        {"UPDATE epochs SET rev = -1 WHERE position = 1", "epochs, row 1"},
        {"UPDATE epochs SET position = 9223372036854775807 WHERE position = 2", "epochs, row 9223372036854775807"},
        {"UPDATE epochs SET time_us = 253402300800000000 WHERE position = 2", "epochs, row 2"},
        {"INSERT INTO clients VALUES (0, x'000102030405060708090a0b0c0d0e0f', 'x', 0)", "clients, row 0"},
        {"INSERT INTO clients VALUES (-7, x'000102030405060708090a0b0c0d0e0f', 'x', 0)", "clients, row -7"},
        {"INSERT INTO clients VALUES (9223372036854775807, x'000102030405060708090a0b0c0d0e0f', 'x', 0)",
                "clients, row 9223372036854775807"},
        {"INSERT INTO clients VALUES (9, x'0001', 'x', 0)", "clients, row 9"},
        {"INSERT INTO clients VALUES (9, x'000102030405060708090a0b0c0d0e0f', 'x', 2)", "clients, row 9"},
        {"INSERT INTO clients SELECT 9, uid, 'somebody else', 0 FROM clients WHERE client = 1", "clients, row 9"},
        {"INSERT INTO clients VALUES (9, x'000102030405060708090a0b0c0d0e0f', CAST(x'ff' AS TEXT), 1)",
                "clients, row 9"},
        {"INSERT INTO clients VALUES (9, x'000102030405060708090a0b0c0d0e0f', printf('%1025s', ''), 1)",
                "clients, row 9"},
        {"INSERT INTO runs VALUES (7, -1, 1, 1, 1)", "runs, row 7"},
        {"INSERT INTO folded_numbers VALUES (1, 1, 2, 5)", "folded_numbers, row 1"},
        {"INSERT INTO folded_numbers VALUES (1, 1, 1, -5)", "folded_numbers, row 1"},
        {"INSERT INTO records SELECT -9223372036854775807, rev, 9, part, kind, node, before, after FROM records LIMIT 1",
                "records, row -9223372036854775807"},
        {"INSERT INTO checkpoints VALUES (1, -1, 1, 0, 0, x'', 0)", "checkpoints, row 1"},
        {"INSERT INTO checkpoints VALUES (9223372036854775807, 0, 1, 0, 0, x'', 0)",
                "checkpoints, row 9223372036854775807"},
        {"INSERT INTO checkpoints VALUES (1, 0, -1, 0, 0, x'', 0)", "checkpoints, row 1"},
        {"INSERT INTO checkpoint_parts VALUES (9223372036854775807, 1, 0, x'', 0)",
                "checkpoint_parts, row 9223372036854775807"},
        {"INSERT INTO checkpoint_parts VALUES (1, 9223372036854775807, 0, x'', 0)", "checkpoint_parts, row 1"},
        {"INSERT INTO tags VALUES ('', 5, 1, 'ann')", "tags, row "},
        {"INSERT INTO tags VALUES (CAST(x'c3' AS TEXT), 5, 1, 'ann')", "tags, a row of 1 bytes"},
        {"INSERT INTO tags VALUES (printf('%257s', 'x'), 5, 1, 'ann')", "tags, a row of 257 bytes"},
        {"INSERT INTO tags VALUES ('good', 5, 1, CAST(x'c3' AS TEXT))", "tags, row good"},
        {"INSERT INTO tags VALUES ('good', 5, 1, printf('%1025s', 'x'))", "tags, row good"},
        {"INSERT INTO tags VALUES ('good', 5, -1, 'ann')", "tags, row good"},
        {"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10001)"
         " INSERT INTO tags SELECT 'v' || i, 5, 1, '' FROM n",
                "more tags"},
};

SCN_TEST_WITH(journal_verify, names_the_row_that_cannot_be, .timeout = 120)
{
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
                expect_corrupt(&rows[i]);
}

SCN_TEST(journal_verify, allows_all_that_is_at_its_limit)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test);
        struct scn_storage_fault fault = {0};

        scn_test_sql(scn_test_storage_file(&test, "island.scene"),
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9998)"
                " INSERT INTO tags SELECT 'v' || i, 5, 1, '' FROM n;"
                "INSERT INTO tags VALUES (printf('%256s', 'x'), 3100, 253402300799999999, printf('%1024s', 'x'));"
                "INSERT INTO tags VALUES ('x', 0, 0, '');"
                "UPDATE history SET judged = 3100;"
                "INSERT INTO clients VALUES (8, zeroblob(16), 'one', 0), (9, zeroblob(16), 'two', 0);"
                "INSERT INTO clients SELECT 10, uid, author, 1 FROM clients WHERE client = 1");
        cr_assert_eq(scn_journal_verify(journal, &fault), SCN_OK, "%s", fault.text);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

static void lengthen(const char *path, uint32_t bytes)
{
        FILE *file = fopen(path, "ab");

        cr_assert_not_null(file);
        for (uint32_t i = 0; i < bytes; i++)
                fputc('x', file);
        cr_assert_eq(fclose(file), 0);
}

/* One way to look into a closed file, with something behind its end. */
static void expect_too_long(uint32_t bytes, bool is_foreign)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test);
        struct scn_storage_fault fault = {0};

        scn_journal_close(journal);
        const char *file = scn_test_storage_file(&test, "island.scene");
        lengthen(file, bytes);
        SCN_TEST_OK(is_foreign ? scn_journal_open_file(file, &journal, &fault)
                               : scn_journal_open(test.storage, scn_test_text("island"), NULL, &journal, &fault));
        cr_assert_eq(scn_journal_verify(journal, &fault), SCN_E_CORRUPT);
        cr_assert_not_null(strstr(fault.text, "bytes of its pages"), "%s", fault.text);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal_verify, finds_what_stands_behind_the_end)
{
        static const uint32_t lengths[] = {1, 4095, 4096, 8192};
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
                expect_too_long(lengths[i], false);
                expect_too_long(lengths[i], true);
        }
}

/* What the write-ahead file holds may belong where the file ends. */
SCN_TEST(journal_verify, leaves_the_length_of_a_file_in_use_open)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test);

        scn_test_sql(scn_test_storage_file(&test, "island.scene"), "INSERT INTO tags VALUES ('x', 0, 0, '')");
        lengthen(scn_test_storage_file(&test, "island.scene"), 4096);
        SCN_TEST_OK(scn_journal_verify(journal, NULL));
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal_verify, wants_pages_as_the_format_says)
{
        static const struct spoil large = {
                "PRAGMA journal_mode = DELETE; PRAGMA page_size = 8192; VACUUM", "its pages"};
        expect_corrupt(&large);
}
