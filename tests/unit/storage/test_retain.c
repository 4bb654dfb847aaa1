/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "storage/storage.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <string.h>

#define COUNT 3000u
#define BASE 2500u

static const struct scn_test_shape small = {.client = 1, .records_count = 2, .payload_bytes = 10, .answer_bytes = 20};

static void add_checkpoint(struct scn_journal *journal, scn_revision revision)
{
        const struct scn_slice part = {(const uint8_t *)"part", 4};
        struct scn_checkpoint_writer *writer;
        struct scn_test_transaction made;
        scn_test_transaction_init(&made, revision, &small);
        SCN_TEST_OK(scn_checkpoint_writer_create(journal, revision, 1, &writer, NULL));
        SCN_TEST_OK(scn_checkpoint_writer_append(writer, part, NULL));
        SCN_TEST_OK(scn_checkpoint_writer_finish(writer, made.transaction.digest, NULL));
        scn_checkpoint_writer_destroy(writer);
        scn_test_transaction_finish(&made);
}

/* Checkpoints at 1000, 2500 and 2900 of 3000. */
static struct scn_journal *make_island(struct scn_test_storage *test)
{
        scn_test_storage_init(test);
        struct scn_journal *journal = scn_test_create_island(test);
        SCN_TEST_OK(scn_test_append(journal, 1, COUNT, &small, NULL));
        add_checkpoint(journal, 1000);
        add_checkpoint(journal, BASE);
        add_checkpoint(journal, 2900);
        return journal;
}

static uint64_t retain(struct scn_journal *journal, scn_revision from, uint32_t *steps)
{
        uint64_t removed = 0;
        bool is_done = false;
        for (*steps = 0; !is_done; ++*steps) {
                uint64_t count;
                cr_assert_lt(*steps, 20);
                SCN_TEST_OK(scn_journal_retain(journal, scn_test_time_of(from), &count, &is_done, NULL));
                SCN_TEST_OK(scn_journal_verify(journal, NULL));
                removed += count;
        }
        return removed;
}

static scn_revision base_of(struct scn_journal *journal)
{
        struct scn_journal_state state;
        SCN_TEST_OK(scn_journal_state(journal, &state, NULL));
        cr_assert_eq(state.last_revision, COUNT);
        return state.base;
}

SCN_TEST(journal_retain, drops_what_lies_before_a_checkpoint_that_is_old_enough)
{
        struct scn_test_storage test;
        struct scn_journal_page *page;
        scn_revision revision;
        uint32_t steps;
        bool is_done;
        struct scn_journal *journal = make_island(&test);
        cr_assert_eq(retain(journal, 999, &steps), 0);
        cr_assert_eq(base_of(journal), 0);
        cr_assert_eq(retain(journal, 2700, &steps), BASE - 1);
        cr_assert_gt(steps, 4); /* small steps */
        cr_assert_eq(base_of(journal), BASE);
        const char *file = scn_test_storage_file(&test, "island.scene");
        cr_assert_eq(scn_test_sql(file, "SELECT min(rev) FROM transactions"), BASE);
        cr_assert_eq(scn_test_sql(file, "SELECT min(rev) FROM records"), BASE);
        cr_assert_eq(scn_test_sql(file, "SELECT min(rev) FROM checkpoints"), BASE);
        cr_assert_eq(scn_test_sql(file, "SELECT count(DISTINCT checkpoint) FROM checkpoint_parts"), 2);
        /* What is asked for before says so. */
        cr_assert_eq(scn_journal_has_revision(journal, BASE - 1, NULL), SCN_E_BEFORE_RETENTION);
        cr_assert_eq(scn_journal_has_revision(journal, 0, NULL), SCN_E_BEFORE_RETENTION);
        SCN_TEST_OK(scn_journal_has_revision(journal, BASE, NULL));
        SCN_TEST_OK(scn_journal_find_time(journal, scn_test_time_of(BASE - 1), &revision, NULL));
        cr_assert_eq(revision, 0);
        SCN_TEST_OK(
                scn_journal_read(journal, &(struct scn_journal_range){.from = 1, .transactions_max = 1}, &page, NULL));
        cr_assert_eq(scn_journal_page_get(page, 0)->revision, BASE);
        scn_journal_page_destroy(page);
        /* The checkpoint with which it begins goes neither by thinning nor by dropping. */
        SCN_TEST_OK(scn_checkpoint_drop(journal, COUNT, &is_done, NULL));
        for (is_done = false; !is_done;)
                SCN_TEST_OK(scn_checkpoint_thin(journal, &is_done, NULL));
        cr_assert_eq(scn_test_sql(file, "SELECT min(rev) FROM checkpoints"), BASE);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal_retain, does_not_take_a_request_that_was_done_for_a_new_one)
{
        struct scn_test_storage test;
        struct scn_journal_page *page;
        uint32_t steps;
        struct scn_journal *journal = make_island(&test);
        (void)retain(journal, 2700, &steps);
        static const uint64_t numbers[] = {1, 1024, 1025, 2048, 2049, BASE - 1};
        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
                const enum scn_error error =
                        scn_journal_find_answer(journal, scn_test_client_uid(1), numbers[i], &page, NULL);
                cr_assert_eq(error, SCN_E_BEFORE_RETENTION, "%d: %s", (int)numbers[i], scn_error_code(error));
                cr_assert_null(page);
        }
        SCN_TEST_OK(scn_journal_find_answer(journal, scn_test_client_uid(1), BASE, &page, NULL));
        cr_assert_eq(scn_journal_page_count(page), 1);
        scn_journal_page_destroy(page);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal_retain, keeps_what_a_tag_names)
{
        struct scn_test_storage test;
        uint32_t steps;
        struct scn_journal *journal = make_island(&test);
        struct scn_journal_tag tag = {.name = scn_test_text("tag"), .revision = 1800};
        SCN_TEST_OK(scn_journal_set_tag(journal, &tag, NULL));
        cr_assert_eq(retain(journal, COUNT, &steps), 999);
        cr_assert_eq(base_of(journal), 1000);
        SCN_TEST_OK(scn_journal_has_revision(journal, 1800, NULL));
        tag.revision = 999;
        cr_assert_eq(scn_journal_set_tag(journal, &tag, NULL), SCN_E_BEFORE_RETENTION);
        SCN_TEST_OK(scn_journal_remove_tag(journal, tag.name, NULL));
        (void)retain(journal, COUNT, &steps);
        cr_assert_eq(base_of(journal), 2900);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal_retain, keeps_the_checkpoint_it_begins_with_though_another_would_be_near_enough)
{
        struct scn_test_storage test;
        uint32_t steps;
        bool is_done = false;
        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        SCN_TEST_OK(scn_test_append(journal, 1, COUNT, &small, NULL));
        add_checkpoint(journal, 100);
        add_checkpoint(journal, 200);
        add_checkpoint(journal, 2900);
        cr_assert_eq(retain(journal, 150, &steps), 99);
        cr_assert_eq(base_of(journal), 100);
        while (!is_done)
                SCN_TEST_OK(scn_checkpoint_thin(journal, &is_done, NULL));
        SCN_TEST_OK(scn_journal_verify(journal, NULL));
        cr_assert_eq(
                scn_test_sql(scn_test_storage_file(&test, "island.scene"), "SELECT min(rev) FROM checkpoints"), 100);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal_retain, that_has_begun_is_seen_by_nobody_who_reads)
{
        struct scn_test_storage test;
        struct scn_journal_page *page;
        scn_revision revision;
        uint64_t removed;
        bool is_done;
        struct scn_journal *journal = make_island(&test);
        SCN_TEST_OK(scn_journal_retain(journal, scn_test_time_of(COUNT), &removed, &is_done, NULL));
        cr_assert(!is_done && removed < 1001);
        cr_assert_gt(scn_test_sql(scn_test_storage_file(&test, "island.scene"), "SELECT count(*) FROM transactions"),
                COUNT / 2);
        SCN_TEST_OK(
                scn_journal_read(journal, &(struct scn_journal_range){.from = 1, .transactions_max = 1}, &page, NULL));
        cr_assert_eq(scn_journal_page_get(page, 0)->revision, 2900);
        scn_journal_page_destroy(page);
        SCN_TEST_OK(scn_journal_find_time(journal, scn_test_time_of(2800), &revision, NULL));
        cr_assert_eq(revision, 0);
        cr_assert_eq(scn_journal_has_revision(journal, 2800, NULL), SCN_E_BEFORE_RETENTION);
        cr_assert_eq(
                scn_journal_find_answer(journal, scn_test_client_uid(1), 2800, &page, NULL), SCN_E_BEFORE_RETENTION);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

#define DAY_US (INT64_C(24) * 3600 * 1000000)

/* One transaction of client 2 among those of client 1, and the history begins behind it. */
static struct scn_journal *make_visit(struct scn_test_storage *test, scn_revision visit)
{
        static const struct scn_test_shape visitor = {
                .client = 2, .records_count = 1, .payload_bytes = 10, .answer_bytes = 20};
        uint32_t steps;
        scn_test_storage_init(test);
        struct scn_journal *journal = scn_test_create_island(test);
        SCN_TEST_OK(scn_test_append(journal, 1, (uint32_t)visit - 1, &small, NULL));
        SCN_TEST_OK(scn_test_append(journal, visit, 1, &visitor, NULL));
        SCN_TEST_OK(scn_test_append(journal, visit + 1, COUNT - (uint32_t)visit, &small, NULL));
        add_checkpoint(journal, BASE);
        (void)retain(journal, 2700, &steps);
        cr_assert_eq(base_of(journal), BASE);
        return journal;
}

static void expect_known(struct scn_journal *journal, scn_revision visit)
{
        const struct scn_uid uid = scn_test_client_uid(2);
        struct scn_journal_client client;
        struct scn_journal_page *page;
        bool is_found;
        SCN_TEST_OK(scn_journal_find_client(journal, uid, &client, &is_found, NULL));
        cr_assert(is_found);
        cr_assert_eq(client.last_number, visit);
        cr_assert_eq(client.last_revision, visit);
        cr_assert_eq(client.last_time_us, scn_test_time_of(visit));
        cr_assert_eq(scn_journal_find_answer(journal, uid, visit, &page, NULL), SCN_E_BEFORE_RETENTION);
}

SCN_TEST_WITH(journal_retain, forgets_no_client_before_its_time, .timeout = 60)
{
        /* In a window that is full, and in the one that is not yet. */
        static const scn_revision visits[] = {2040, 2100};
        for (size_t i = 0; i < 2; i++) {
                const int64_t at_us = scn_test_time_of(visits[i]);
                struct scn_test_storage test;
                struct scn_journal_client client;
                bool is_done = false;
                bool is_found;
                struct scn_journal *journal = make_visit(&test, visits[i]);
                while (!is_done)
                        SCN_TEST_OK(scn_journal_forget_clients(journal, at_us + 30 * DAY_US, &is_done, NULL));
                expect_known(journal, visits[i]);
                scn_journal_close(journal);
                journal = scn_test_open_island(&test, SCN_JOURNAL_WRITE);
                expect_known(journal, visits[i]);
                /* Its numbers go on from there, also when the window is full. */
                const struct scn_test_shape again = {.client = 2, .number = visits[i], .answer_bytes = 20};
                cr_assert_eq(scn_test_append(journal, COUNT + 1, 1, &again, NULL), SCN_E_BAD_BATCH);
                SCN_TEST_OK(scn_test_append(journal, COUNT + 1, 200, &small, NULL));
                expect_known(journal, visits[i]);
                SCN_TEST_OK(scn_journal_verify(journal, NULL));
                for (is_done = false; !is_done;)
                        SCN_TEST_OK(scn_journal_forget_clients(journal, at_us + 30 * DAY_US + 1, &is_done, NULL));
                SCN_TEST_OK(scn_journal_find_client(journal, scn_test_client_uid(2), &client, &is_found, NULL));
                cr_assert(!is_found);
                scn_journal_close(journal);
                scn_test_storage_finish(&test);
        }
}

/* The handle that appends may remember more of the window than the file still has. */
SCN_TEST(journal_retain, within_a_window_leaves_the_runs_right)
{
        struct scn_test_storage test;
        struct scn_journal *room = make_visit(&test, 2100);
        SCN_TEST_OK(scn_test_append(room, COUNT + 1, 200, &small, NULL));
        SCN_TEST_OK(scn_journal_verify(room, NULL));
        const char *file = scn_test_storage_file(&test, "island.scene");
        cr_assert_eq(scn_test_sql(file, "SELECT count(*) FROM runs WHERE last_rev = 2100"), 1);
        cr_assert_eq(scn_test_sql(file, "SELECT last_number FROM runs WHERE last_rev = 3072"), 3072);
        scn_journal_close(room);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal_retain, takes_a_client_of_an_older_file_for_no_older_than_it_must_be)
{
        struct scn_test_storage test;
        struct scn_journal_client client;
        bool is_found;
        scn_journal_close(make_visit(&test, 2040));
        const char *file = scn_test_storage_file(&test, "island.scene");
        scn_test_sql(file, "ALTER TABLE runs DROP COLUMN time_us");
        scn_test_sql(file, "PRAGMA user_version = 2");
        struct scn_journal *journal = scn_test_open_island(&test, SCN_JOURNAL_WRITE);
        SCN_TEST_OK(scn_journal_verify(journal, NULL));
        SCN_TEST_OK(scn_journal_find_client(journal, scn_test_client_uid(2), &client, &is_found, NULL));
        cr_assert_eq(client.last_time_us, scn_test_time_of(BASE));
        SCN_TEST_OK(scn_test_append(journal, COUNT + 1, 100, &small, NULL));
        file = scn_test_storage_file(&test, "island.scene");
        cr_assert_eq(scn_test_sql(file, "SELECT count(*) FROM runs WHERE time_us = 0"), 0);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}
