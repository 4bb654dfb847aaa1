/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

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
        {"UPDATE epochs SET time_us = 9223372036854775807 WHERE position = 2", 3100},
        {"INSERT INTO tags VALUES ('early', 7, -1, 'ann')", 7},
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
        scn_test_sql(file, "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema SELECT * FROM kept");
        journal = scn_test_open_island(&test, SCN_JOURNAL_READ);
        cr_assert_eq(scn_journal_verify(journal, &fault), SCN_E_CORRUPT);
        cr_assert_not_null(strstr(fault.text, "checkpoint_parts_place"), "%s", fault.text);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}
