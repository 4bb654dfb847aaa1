/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/base/alloc.h"
#include "tests/lib/random.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static const struct scn_test_shape small = {.client = 1, .records_count = 1, .payload_bytes = 100, .answer_bytes = 20};

SCN_TEST(journal_append, keeps_what_it_was_given)
{
        struct scn_test_storage test;

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        SCN_TEST_OK(scn_test_append(journal, 1, 1, &small, NULL));
        SCN_TEST_OK(scn_test_append(journal, 2, 10, &small, NULL));
        cr_assert_eq(scn_test_count(journal, &small), 11);
        scn_journal_close(journal);

        journal = scn_test_open_island(&test, SCN_JOURNAL_READ);
        cr_assert_eq(scn_test_count(journal, &small), 11);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

/* Around each size at which a payload changes its place. */
SCN_TEST_WITH(journal_append, keeps_records_and_answers_of_any_size, .timeout = 120)
{
        static const struct scn_test_shape shapes[] = {
                {.client = 1, .records_count = 0},
                {.client = 1, .records_count = 1},
                {.client = 1, .records_count = 1, .payload_bytes = 1},
                {.client = 1, .records_count = 1, .payload_bytes = 1024},
                {.client = 1, .records_count = 1, .payload_bytes = 1025},
                {.client = 1, .records_count = 3, .payload_bytes = 1000},
                {.client = 1, .records_count = 3, .payload_bytes = 1100},
                {.client = 1, .records_count = 1, .payload_bytes = 1000000},
                {.client = 1, .records_count = 2, .payload_bytes = 1000001},
                {.client = 1, .records_count = 2, .payload_bytes = 2000000},
                {.client = 1, .records_count = 1, .payload_bytes = 2000002},
                {.client = 1, .records_count = 2, .payload_bytes = 5000003, .answer_bytes = 1},
                {.client = 1, .records_count = 1, .payload_bytes = 10, .answer_bytes = 65536},
                {.client = 1, .records_count = 1, .payload_bytes = 10, .answer_bytes = 65537},
                {.client = 1, .records_count = 0, .answer_bytes = 70000},
                {.client = 1, .records_count = 2, .payload_bytes = 1500000, .answer_bytes = 2500000},
                {.client = 0, .records_count = 2, .payload_bytes = 8},
        };
        const uint32_t count = sizeof shapes / sizeof shapes[0];
        struct scn_test_storage test;

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        for (uint32_t i = 0; i < count; i++)
                SCN_TEST_OK(scn_test_append(journal, i + 1, 1, &shapes[i], NULL));
        for (uint32_t i = 0; i < count; i++) {
                for (int heads_only = 0; heads_only < 2; heads_only++) {
                        const struct scn_journal_range range = {
                                .from = i + 1, .to = i + 1, .without_records = heads_only == 1};
                        struct scn_journal_page *page;
                        SCN_TEST_OK(scn_journal_read(journal, &range, &page, NULL));
                        cr_assert_eq(scn_journal_page_count(page), 1);
                        cr_assert(scn_test_transaction_is(
                                          scn_journal_page_get(page, 0), i + 1, &shapes[i], heads_only == 1),
                                "shape %u", i);
                        scn_journal_page_destroy(page);
                }
        }
        const char *file = scn_test_storage_file(&test, "island.scene");
        cr_assert_leq(scn_test_sql(file, "SELECT max(length(before) + length(after)) FROM records"), 1048576);
        SCN_TEST_OK(scn_journal_verify(journal, NULL));
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

/* ------------------------------------------------------- what is refused */

/* Two good transactions, of which a case spoils one. */
static void make_two(struct scn_test_transaction made[2], struct scn_journal_transaction batch[2], scn_revision first)
{
        for (int i = 0; i < 2; i++) {
                scn_test_transaction_init(&made[i], first + (scn_revision)i, &small);
                batch[i] = made[i].transaction;
        }
}

#define SPOILS 14

/* Spoils one of the two in one way, and says which revision must be named. */
static scn_revision spoil(int way, struct scn_journal_transaction *first, struct scn_journal_transaction *second)
{
        static uint8_t bytes[SCN_JOURNAL_DIGEST_BYTES_MAX + SCN_JOURNAL_AUTHOR_BYTES_MAX + SCN_JOURNAL_HASH_BYTES_MAX];

        switch (way) {
        case 0:
                return second->revision = 8;
        case 1:
                return second->revision = 6;
        case 2:
                second->time_us = first->time_us;
                return 7;
        case 3:
                second->number = first->number;
                return 7;
        case 4:
                first->number = 5;
                return 6;
        case 5:
                second->author = scn_test_text("somebody else");
                return 7;
        case 6:
                second->digest = (struct scn_slice){bytes, SCN_JOURNAL_DIGEST_BYTES_MAX + 1};
                return 7;
        case 7:
                second->content_hash = (struct scn_slice){bytes, SCN_JOURNAL_HASH_BYTES_MAX + 1};
                return 7;
        case 8:
                second->author = (struct scn_slice){bytes, SCN_JOURNAL_AUTHOR_BYTES_MAX + 1};
                return 7;
        case 9:
                second->number = (uint64_t)INT64_MAX + 1;
                return 7;
        case 10:
                second->group = UINT64_MAX;
                return 7;
        case 11:
                second->step = UINT64_MAX;
                return 7;
        case 12:
                second->client = (struct scn_uid){{0}};
                return 7;
        default:
                second->number = 0;
                return 7;
        }
}

SCN_TEST(journal_append, refuses_what_does_not_continue_the_journal_and_stores_nothing_of_it)
{
        struct scn_test_storage test;

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        SCN_TEST_OK(scn_test_append(journal, 1, 5, &small, NULL));
        for (int way = 0; way < SPOILS; way++) {
                struct scn_test_transaction made[2];
                struct scn_journal_transaction batch[2];
                struct scn_storage_fault fault = {0};
                make_two(made, batch, 6);
                const scn_revision named = spoil(way, &batch[0], &batch[1]);
                cr_assert_eq(scn_journal_append(journal, batch, 2, &fault), SCN_E_BAD_BATCH, "way %d", way);
                cr_assert_neq(fault.text[0], '\0', "way %d", way);
                cr_assert_eq(fault.revision, named, "way %d", way);
                cr_assert_eq(scn_test_count(journal, &small), 5, "way %d", way);
                for (int k = 0; k < 2; k++)
                        scn_test_transaction_finish(&made[k]);
        }
        /* A batch that is refused leaves nothing behind that a good one would meet. */
        SCN_TEST_OK(scn_test_append(journal, 6, 2, &small, NULL));
        cr_assert_eq(scn_test_count(journal, &small), 7);
        SCN_TEST_OK(scn_journal_verify(journal, NULL));
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal_append, of_nothing_changes_nothing)
{
        struct scn_test_storage test;
        struct scn_journal_state state;

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        SCN_TEST_OK(scn_journal_append(journal, NULL, 0, NULL));
        SCN_TEST_OK(scn_journal_state(journal, &state, NULL));
        cr_assert_eq(state.last_revision, 0);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal_append, notices_that_another_handle_has_appended)
{
        struct scn_test_storage test;

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        SCN_TEST_OK(scn_test_append(journal, 1, 3, &small, NULL));
        struct scn_journal *other = scn_test_open_island(&test, SCN_JOURNAL_WRITE);
        SCN_TEST_OK(scn_test_append(other, 4, 3, &small, NULL));
        cr_assert_eq(scn_test_append(journal, 4, 3, &small, NULL), SCN_E_BAD_BATCH);
        const struct scn_test_shape stale = {.client = 1, .number = 6, .records_count = 1};
        cr_assert_eq(scn_test_append(journal, 7, 1, &stale, NULL), SCN_E_BAD_BATCH);
        SCN_TEST_OK(scn_test_append(journal, 7, 3, &small, NULL));
        cr_assert_eq(scn_test_count(other, &small), 9);
        scn_journal_close(other);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

/* ------------------------------------------------------------------- runs */

/* Batches of all sizes over several windows, by clients that come and go, with the handle opened anew now and then. */
SCN_TEST_WITH(journal_append, writes_the_runs_that_the_transactions_have, .timeout = 120)
{
        struct scn_random random = scn_random_from_seed(scn_test_seed(7));
        struct scn_test_storage test;
        scn_revision revision = 0;

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        while (revision < 4500) {
                const uint32_t count = 1 + scn_random_below(&random, scn_random_chance(&random, 5) ? 1500 : 40);
                struct scn_test_transaction *made = calloc(count, sizeof *made);
                struct scn_journal_transaction *batch = calloc(count, sizeof *batch);
                for (uint32_t i = 0; i < count; i++) {
                        struct scn_test_shape shape = small;
                        shape.client = scn_random_below(&random, 6) * (1 + (uint32_t)(revision + i) / 1500);
                        scn_test_transaction_init(&made[i], revision + 1 + i, &shape);
                        batch[i] = made[i].transaction;
                }
                SCN_TEST_OK(scn_journal_append(journal, batch, count, NULL));
                for (uint32_t i = 0; i < count; i++)
                        scn_test_transaction_finish(&made[i]);
                free(made);
                free(batch);
                revision += count;
                if (scn_random_chance(&random, 10)) {
                        scn_journal_close(journal);
                        journal = scn_test_open_island(&test, SCN_JOURNAL_WRITE);
                }
        }
        static const char wanted[] =
                "(SELECT client, max(number), min(rev), max(rev), max(time_us) FROM transactions"
                " JOIN clients USING (client) WHERE uid <> zeroblob(16) AND rev <= (SELECT max(rev)"
                " FROM transactions) / 1024 * 1024 GROUP BY client, (rev - 1) / 1024)";
        char sql[1024];
        const char *file = scn_test_storage_file(&test, "island.scene");
        cr_assert_gt(scn_test_sql(file, "SELECT count(*) FROM runs"), 20);
        snprintf(sql, sizeof sql, "SELECT count(*) FROM (SELECT * FROM runs EXCEPT SELECT * FROM %s)", wanted);
        cr_assert_eq(scn_test_sql(file, sql), 0);
        snprintf(sql, sizeof sql, "SELECT count(*) FROM (SELECT * FROM %s EXCEPT SELECT * FROM runs)", wanted);
        cr_assert_eq(scn_test_sql(file, sql), 0);
        SCN_TEST_OK(scn_journal_verify(journal, NULL));
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

/* --------------------------------------------------------------- checksums */

/* FORMAT.md, Checksums, read by somebody who has only that page. */
struct fields {
        uint8_t bytes[1 << 16];
        size_t size;
};

static void put_integer(struct fields *fields, int64_t value)
{
        for (int i = 0; i < 8; i++)
                fields->bytes[fields->size++] = (uint8_t)((uint64_t)value >> 8 * i);
}

static void put_column(struct fields *fields, sqlite3_stmt *statement, int column)
{
        const int type = sqlite3_column_type(statement, column);

        if (type == SQLITE_INTEGER) {
                put_integer(fields, sqlite3_column_int64(statement, column));
        } else if (type == SQLITE_NULL) {
                put_integer(fields, -1);
        } else {
                const void *data = sqlite3_column_blob(statement, column);
                const size_t size = (size_t)sqlite3_column_bytes(statement, column);
                put_integer(fields, (int64_t)size);
                if (size != 0)
                        memcpy(fields->bytes + fields->size, data, size);
                fields->size += size;
        }
}

/* Each row's last column must be the sum over the others; *sums: how many were compared. Integers that are NULL
 * are made 0 by the query. */
static void compare_sums(const char *path, const char *sql, int *sums)
{
        static struct fields fields;
        sqlite3 *handle;
        sqlite3_stmt *statement;

        cr_assert_eq(sqlite3_open(path, &handle), SQLITE_OK);
        cr_assert_eq(sqlite3_prepare_v2(handle, sql, -1, &statement, NULL), SQLITE_OK, "%s", sqlite3_errmsg(handle));
        while (sqlite3_step(statement) == SQLITE_ROW) {
                const int last = sqlite3_column_count(statement) - 1;
                fields.size = 0;
                for (int i = 0; i < last; i++)
                        put_column(&fields, statement, i);
                cr_assert_eq((int64_t)XXH3_64bits(fields.bytes, fields.size), sqlite3_column_int64(statement, last));
                (*sums)++;
        }
        sqlite3_finalize(statement);
        sqlite3_close(handle);
}

SCN_TEST(journal_append, sums_rows_as_the_format_says)
{
        static const struct scn_test_shape shapes[] = {
                {.client = 1, .records_count = 1, .payload_bytes = 100, .answer_bytes = 20},
                {.client = 0, .records_count = 1, .payload_bytes = 1000},
                {.client = 2, .records_count = 0},
                {.client = 2, .records_count = 2, .payload_bytes = 1},
                {.client = 1, .records_count = 1, .payload_bytes = 2000},
                {.client = 1, .records_count = 1, .payload_bytes = 8, .answer_bytes = 3000},
        };
        struct scn_test_storage test;
        int sums = 0;

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        for (uint32_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
                SCN_TEST_OK(scn_test_append(journal, i + 1, 1, &shapes[i], NULL));
        const char *file = scn_test_storage_file(&test, "island.scene");
        compare_sums(file,
                "SELECT rev, time_us, number, group_number, cause, step, record_count, journal_bytes, ifnull(kind, 0),"
                " ifnull(first_record, 0), ifnull(records_checksum, 0), uid, author, content_hash, digest, answer, node,"
                " before, after, checksum FROM transactions JOIN clients USING (client)",
                &sums);
        cr_assert_eq(sums, 6);
        /* Each of these transactions has one row in records. */
        compare_sums(file,
                "SELECT position, part, r.kind, r.node, r.before, r.after, records_checksum FROM records AS r"
                " JOIN transactions USING (rev)",
                &sums);
        cr_assert_eq(sums, 8);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

/* ------------------------------------------------------------------ memory */

static enum scn_error append_in_a_new_handle(void *data)
{
        struct scn_test_storage *test = data;
        struct scn_journal_state state;
        struct scn_journal *journal;
        enum scn_error error = scn_journal_open(test->storage, scn_test_text("island"), NULL, &journal, NULL);

        if (error != SCN_OK)
                return error;
        error = scn_journal_state(journal, &state, NULL);
        if (error == SCN_OK)
                error = scn_test_append(journal, state.last_revision + 1, 3, &small, NULL);
        scn_journal_close(journal);
        return error;
}

SCN_TEST(journal_append, survives_each_allocation_that_fails)
{
        struct scn_test_storage test;

        scn_test_storage_init(&test);
        scn_journal_close(scn_test_create_island(&test));
        scn_test_fail_each_allocation(append_in_a_new_handle, &test);
        struct scn_journal *journal = scn_test_open_island(&test, SCN_JOURNAL_READ);
        const scn_revision count = scn_test_count(journal, &small);
        cr_assert_gt(count, 0);
        cr_assert_eq(count % 3, 0, "a batch was stored in part");
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}
