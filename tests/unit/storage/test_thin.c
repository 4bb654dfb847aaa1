/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <string.h>

static const struct scn_test_shape small = {.client = 1, .records_count = 1, .payload_bytes = 100, .answer_bytes = 20};

static void write_checkpoint(struct scn_journal *journal, scn_revision revision, uint32_t parts)
{
        struct scn_checkpoint_writer *writer;
        struct scn_test_transaction made;

        scn_test_transaction_init(&made, revision, &small);
        SCN_TEST_OK(scn_checkpoint_writer_create(journal, revision, 1000, &writer, NULL));
        for (uint32_t i = 0; i < parts; i++)
                SCN_TEST_OK(scn_checkpoint_writer_append(writer, scn_test_text("a part"), NULL));
        SCN_TEST_OK(scn_checkpoint_writer_finish(writer, made.transaction.digest, NULL));
        scn_checkpoint_writer_destroy(writer);
        scn_test_transaction_finish(&made);
}

static void thin(struct scn_journal *journal)
{
        bool is_done = false;

        for (int i = 0; i < 1000 && !is_done; i++)
                SCN_TEST_OK(scn_checkpoint_thin(journal, &is_done, NULL));
        cr_assert(is_done);
}

/* The revision of the newest checkpoint at or below one; 0: there is none. */
static scn_revision find(struct scn_journal *journal, scn_revision at_most)
{
        struct scn_checkpoint_reader *reader;
        scn_revision revision = 0;

        SCN_TEST_OK(scn_checkpoint_reader_create(journal, at_most, &reader, NULL));
        if (reader != NULL)
                revision = scn_checkpoint_reader_info(reader).revision;
        scn_checkpoint_reader_destroy(reader);
        return revision;
}

static struct scn_journal *make_island(struct scn_test_storage *test, uint32_t count)
{
        scn_test_storage_init(test);
        struct scn_journal *journal = scn_test_create_island(test);
        SCN_TEST_OK(scn_test_append(journal, 1, count, &small, NULL));
        return journal;
}

SCN_TEST(thin, leaves_gaps_that_grow_with_the_distance_from_the_newest)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test, 600);
        uint32_t count = 0;

        for (scn_revision revision = 10; revision <= 600; revision += 10) {
                write_checkpoint(journal, revision, 1);
                thin(journal);
        }
        cr_assert_eq(find(journal, 600), 600);
        cr_assert_eq(find(journal, 599), 590);
        /* A way back to any revision is no longer than twice the distance from there to the newest. */
        for (scn_revision revision = 1; revision < 590; revision++) {
                const scn_revision below = find(journal, revision);
                cr_assert_leq(revision - below, 2 * (600 - revision) + 10, "%llu from %llu",
                        (unsigned long long)revision, (unsigned long long)below);
        }
        for (scn_revision at = find(journal, 600); at != 0; at = find(journal, at - 1))
                count++;
        cr_assert_leq(count, 12, "%u", count);
        cr_assert_geq(count, 5, "%u", count);
        SCN_TEST_OK(scn_journal_verify(journal, NULL));
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

/* Nobody makes so many without thinning them, but a file may hold them. */
SCN_TEST(thin, comes_to_an_end_with_more_checkpoints_than_it_looks_at)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test, 300);

        for (scn_revision revision = 1; revision <= 300; revision++)
                write_checkpoint(journal, revision, 1);
        thin(journal);
        cr_assert_eq(find(journal, 300), 300);
        cr_assert_eq(find(journal, 299), 299);
        const int64_t left =
                scn_test_sql(scn_test_storage_file(&test, "island.scene"), "SELECT count(*) FROM checkpoints");
        cr_assert(left >= 5 && left <= 20, "%d", (int)left);
        SCN_TEST_OK(scn_journal_verify(journal, NULL));
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(thin, keeps_the_newest_two_whatever_lies_between_them)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test, 100);

        write_checkpoint(journal, 98, 1);
        write_checkpoint(journal, 99, 1);
        thin(journal);
        cr_assert_eq(find(journal, 100), 99);
        cr_assert_eq(find(journal, 98), 98);
        write_checkpoint(journal, 100, 1);
        thin(journal);
        cr_assert_eq(find(journal, 100), 100);
        cr_assert_eq(find(journal, 99), 99);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(thin, keeps_one_checkpoint_of_a_revision_the_later)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test, 100);

        write_checkpoint(journal, 50, 1);
        write_checkpoint(journal, 50, 2);
        thin(journal);
        cr_assert_eq(find(journal, 100), 50);
        scn_journal_close(journal);
        cr_assert_eq(scn_test_sql(scn_test_storage_file(&test, "island.scene"), "SELECT count(*) FROM checkpoints"), 1);
        cr_assert_eq(
                scn_test_sql(scn_test_storage_file(&test, "island.scene"), "SELECT part_count FROM checkpoints"), 2);
        scn_test_storage_finish(&test);
}

SCN_TEST(thin, ends_though_the_checkpoint_made_last_is_of_an_older_revision)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test, 600);

        for (scn_revision revision = 500; revision <= 600; revision += 10)
                write_checkpoint(journal, revision, 1);
        write_checkpoint(journal, 505, 1); /* the rule would take it away at once */
        thin(journal);
        cr_assert_eq(find(journal, 509), 505);
        cr_assert_eq(find(journal, 600), 600);
        SCN_TEST_OK(scn_journal_verify(journal, NULL));
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(thin, removes_the_parts_of_what_it_drops_a_few_at_a_time)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test, 100);
        bool is_done = false;
        uint32_t calls = 0;

        write_checkpoint(journal, 50, 100);
        write_checkpoint(journal, 50, 1);
        while (!is_done) {
                SCN_TEST_OK(scn_checkpoint_thin(journal, &is_done, NULL));
                calls++;
        }
        cr_assert_gt(calls, 5);
        scn_journal_close(journal);
        cr_assert_eq(
                scn_test_sql(scn_test_storage_file(&test, "island.scene"), "SELECT count(*) FROM checkpoint_parts"), 1);
        scn_test_storage_finish(&test);
}
