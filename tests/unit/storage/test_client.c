/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/random.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DAY_US (INT64_C(24) * 3600 * 1000000)

static const struct scn_test_shape small = {.client = 1, .records_count = 1, .payload_bytes = 100, .answer_bytes = 20};

/* One transaction of a client, with a number of its own. */
static enum scn_error append_one(struct scn_journal *journal, scn_revision revision, uint32_t client, uint64_t number)
{
        struct scn_test_shape shape = small;

        shape.client = client;
        shape.number = number;
        return scn_test_append(journal, revision, 1, &shape, NULL);
}

/* The revision under which the number was stored, 0 = not. */
static scn_revision find_answer(struct scn_journal *journal, uint32_t client, uint64_t number)
{
        struct scn_test_shape shape = small;
        struct scn_journal_page *page;
        scn_revision revision = 0;

        shape.client = client;
        shape.number = number;
        SCN_TEST_OK(scn_journal_find_answer(journal, scn_test_client_uid(client), number, &page, NULL));
        cr_assert_leq(scn_journal_page_count(page), 1);
        if (scn_journal_page_count(page) == 1) {
                revision = scn_journal_page_get(page, 0)->revision;
                cr_assert(scn_test_transaction_is(scn_journal_page_get(page, 0), revision, &shape, true));
        }
        scn_journal_page_destroy(page);
        return revision;
}

static struct scn_journal_client find_client(struct scn_journal *journal, uint32_t client, bool wanted)
{
        struct scn_journal_client found;
        bool is_found;

        SCN_TEST_OK(scn_journal_find_client(journal, scn_test_client_uid(client), &found, &is_found, NULL));
        cr_assert_eq(is_found, wanted, "client %u", client);
        return found;
}

SCN_TEST(journal_client, is_unknown_until_it_has_stored_something)
{
        struct scn_test_storage test;

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        find_client(journal, 1, false);
        cr_assert_eq(find_answer(journal, 1, 1), 0);
        SCN_TEST_OK(append_one(journal, 1, 1, 41));
        const struct scn_journal_client client = find_client(journal, 1, true);
        cr_assert_eq(client.last_number, 41);
        cr_assert_eq(client.last_revision, 1);
        cr_assert_eq(client.last_time_us, scn_test_time_of(1));
        cr_assert_eq(client.author_bytes, strlen("Ада"));
        cr_assert_arr_eq(client.author, "Ада", client.author_bytes);
        find_client(journal, 2, false);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

/* Over several windows, with other clients between, gaps in the numbers, and from another handle too. */
SCN_TEST_WITH(journal_client, gets_the_answer_of_each_number_it_has_stored_and_of_no_other, .timeout = 300)
{
        enum {
                REVISIONS = 2600,
                CLIENTS = 4,
                NUMBERS = 3 * REVISIONS
        };
        static scn_revision stored[CLIENTS + 1][NUMBERS];
        struct scn_random random = scn_random_from_seed(scn_test_seed(11));
        uint64_t last[CLIENTS + 1] = {0};
        struct scn_test_storage test;

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        for (scn_revision revision = 1; revision <= REVISIONS;) {
                struct scn_test_transaction made[32];
                struct scn_journal_transaction batch[32];
                const uint32_t count = 1 + scn_random_below(&random, 32);
                for (uint32_t i = 0; i < count; i++, revision++) {
                        /* the last client only in the first window, and never again */
                        const uint32_t client = 1 + scn_random_below(&random, revision < 900 ? CLIENTS : CLIENTS - 1);
                        struct scn_test_shape shape = small;
                        last[client] += 1 + scn_random_below(&random, 2);
                        shape.client = client;
                        shape.number = last[client];
                        stored[client][last[client]] = revision;
                        scn_test_transaction_init(&made[i], revision, &shape);
                        batch[i] = made[i].transaction;
                }
                SCN_TEST_OK(scn_journal_append(journal, batch, count, NULL));
                for (uint32_t i = 0; i < count; i++)
                        scn_test_transaction_finish(&made[i]);
        }
        struct scn_journal *reader = scn_test_open_island(&test, SCN_JOURNAL_READ);
        for (uint32_t client = 1; client <= CLIENTS; client++) {
                cr_assert_eq(find_client(reader, client, true).last_number, last[client]);
                for (uint64_t number = 0; number <= last[client] + 2; number++)
                        cr_assert_eq(find_answer(number % 2 == 0 ? reader : journal, client, number),
                                stored[client][number], "client %u, number %" PRIu64, client, number);
                cr_assert_eq(find_answer(reader, client, UINT64_MAX), 0);
        }
        scn_journal_close(reader);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal_client, may_be_the_server_under_many_names_and_has_no_numbers_then)
{
        struct scn_test_storage test;
        struct scn_test_shape server = small;

        server.client = 0;
        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        SCN_TEST_OK(scn_test_append(journal, 1, 2, &server, NULL));
        struct scn_test_transaction made;
        scn_test_transaction_init(&made, 3, &server);
        made.transaction.author = scn_test_text("importer");
        SCN_TEST_OK(scn_journal_append(journal, &made.transaction, 1, NULL));
        scn_test_transaction_finish(&made);
        cr_assert_eq(scn_test_sql(scn_test_storage_file(&test, "island.scene"), "SELECT count(*) FROM clients"), 2);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal_client, is_forgotten_after_thirty_days_and_begins_anew)
{
        struct scn_test_storage test;
        bool is_done;

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        SCN_TEST_OK(append_one(journal, 1, 1, 10));
        SCN_TEST_OK(append_one(journal, 2, 2, 20));
        /* Beyond the window, so that one is found by its run and the other by its transaction. */
        struct scn_test_shape third = small;
        third.client = 3;
        SCN_TEST_OK(scn_test_append(journal, 3, 1100, &third, NULL));
        SCN_TEST_OK(append_one(journal, 1103, 2, 21));

        const int64_t late = scn_test_time_of(1) + 30 * DAY_US;
        SCN_TEST_OK(scn_journal_forget_clients(journal, late, &is_done, NULL));
        cr_assert(is_done);
        find_client(journal, 1, true);
        SCN_TEST_OK(scn_journal_forget_clients(journal, late + 1, &is_done, NULL));
        cr_assert(is_done);
        find_client(journal, 1, false);
        cr_assert_eq(find_client(journal, 2, true).last_number, 21);
        find_client(journal, 3, true);
        cr_assert_eq(find_answer(journal, 1, 10), 0);

        SCN_TEST_OK(append_one(journal, 1104, 1, 1));
        cr_assert_eq(find_client(journal, 1, true).last_number, 1);
        cr_assert_eq(find_answer(journal, 1, 1), 1104);
        struct scn_journal_page *page;
        SCN_TEST_OK(scn_journal_read(journal, &(struct scn_journal_range){.from = 1, .to = 1}, &page, NULL));
        const struct scn_journal_transaction *first = scn_journal_page_get(page, 0);
        const struct scn_uid uid = scn_test_client_uid(1);
        cr_assert_arr_eq(first->client.bytes, uid.bytes, 16);
        cr_assert_arr_eq(first->author.data, "Ада", first->author.size);
        scn_journal_page_destroy(page);
        SCN_TEST_OK(scn_journal_verify(journal, NULL));
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

/* Many clients, and one with many runs: each call does a part, all calls together do all. */
SCN_TEST_WITH(journal_client, is_forgotten_in_bounded_steps, .timeout = 120)
{
        struct scn_test_storage test;
        bool is_done = false;
        int steps = 0;

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        for (uint32_t i = 1; i <= 1000; i += 10) {
                struct scn_test_transaction made[10];
                struct scn_journal_transaction batch[10];
                for (uint32_t k = 0; k < 10; k++) {
                        struct scn_test_shape shape = small;
                        shape.client = i + k;
                        scn_test_transaction_init(&made[k], i + k, &shape);
                        batch[k] = made[k].transaction;
                }
                SCN_TEST_OK(scn_journal_append(journal, batch, 10, NULL));
                for (uint32_t k = 0; k < 10; k++)
                        scn_test_transaction_finish(&made[k]);
        }
        SCN_TEST_OK(scn_test_append(journal, 1001, 30, &small, NULL));
        const char *file = scn_test_storage_file(&test, "island.scene");
        /* Old runs of client 1, as of a long history. */
        scn_test_sql(file,
                "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 8999)"
                " INSERT INTO runs SELECT 1, -i - 1, 1, 1, 1 FROM n");
        /* Behind a full window all 1000 are found by their runs. */
        struct scn_test_shape server = small;
        server.client = 0;
        SCN_TEST_OK(scn_test_append(journal, 1031, 1100, &server, NULL));
        while (!is_done) {
                SCN_TEST_OK(scn_journal_forget_clients(journal, scn_test_time_of(1031) + 31 * DAY_US, &is_done, NULL));
                cr_assert_lt(++steps, 50);
        }
        cr_assert_gt(steps, 4);
        cr_assert_eq(scn_test_sql(file, "SELECT count(*) FROM runs"), 0);
        cr_assert_eq(scn_test_sql(file, "SELECT count(*) FROM clients WHERE forgotten = 0"), 1);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal_client, whose_run_does_not_fit_its_transaction_is_not_trusted)
{
        struct scn_test_storage test;
        struct scn_journal_client client;
        struct scn_storage_fault fault = {0};
        bool is_found;

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        SCN_TEST_OK(scn_test_append(journal, 1, 1024, &small, NULL));
        scn_journal_close(journal);
        const char *file = scn_test_storage_file(&test, "island.scene");
        cr_assert_eq(scn_test_sql(file, "SELECT last_number FROM runs"), 1024);
        scn_test_sql(file, "UPDATE runs SET last_number = 1000");
        journal = scn_test_open_island(&test, SCN_JOURNAL_WRITE);
        cr_assert_eq(
                scn_journal_find_client(journal, scn_test_client_uid(1), &client, &is_found, &fault), SCN_E_CORRUPT);
        cr_assert_eq(fault.revision, 1024);
        cr_assert_eq(scn_test_append(journal, 1025, 1, &small, &fault), SCN_E_CORRUPT);
        cr_assert_eq(scn_journal_verify(journal, &fault), SCN_E_CORRUPT);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}
