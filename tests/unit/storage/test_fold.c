/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "storage/journal.h"
#include "storage/storage.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

/* Transactions of client 1, and one of client 2 where it is said; a tag at 10 makes a window of them. */
#define COUNT 10u
#define OTHER 9u

static const struct scn_test_shape small = {.client = 1, .records_count = 1, .payload_bytes = 100, .answer_bytes = 20};
static const struct scn_test_shape other = {.client = 2, .records_count = 1, .payload_bytes = 100, .answer_bytes = 20};
/* Records in several rows, beside an answer that stands among them in no row of its own. */
static const struct scn_test_shape large = {
        .client = 1, .records_count = 3, .payload_bytes = 2500000, .answer_bytes = 20};

static struct scn_journal *make_island(struct scn_test_storage *test, const struct scn_test_shape *shape)
{
        const struct scn_journal_tag tag = {.name = scn_test_text("ten"), .revision = COUNT};
        scn_test_storage_init(test);
        struct scn_journal *journal = scn_test_create_island(test);
        SCN_TEST_OK(scn_test_append(journal, 1, OTHER - 1, shape, NULL));
        SCN_TEST_OK(scn_test_append(journal, OTHER, 1, &other, NULL));
        SCN_TEST_OK(scn_test_append(journal, OTHER + 1, COUNT - OTHER, shape, NULL));
        SCN_TEST_OK(scn_journal_set_tag(journal, &tag, NULL));
        return journal;
}

/* What becomes of the window: `into` says it of each, and the digests and records of `made` are those of other
 * revisions, so that they can be told from what was there. */
struct window {
        struct scn_journal_fate fates[COUNT];
        struct scn_test_transaction made[COUNT];
        uint32_t count;
};

static void window_init(struct window *window, const scn_revision into[COUNT], const struct scn_test_shape *shape)
{
        window->count = COUNT;
        for (uint32_t i = 0; i < COUNT; i++) {
                const bool is_kept_as_it_is = i + 1 == COUNT || i + 1 == OTHER;
                const scn_revision like = is_kept_as_it_is ? i + 1 : 100 + i;
                scn_test_transaction_init(&window->made[i], like, i + 1 == OTHER ? &other : shape);
                window->fates[i] = (struct scn_journal_fate){
                        .revision = i + 1,
                        .into = into[i],
                        .digest = window->made[i].transaction.digest,
                        .records = is_kept_as_it_is ? NULL : window->made[i].records,
                        .records_count = is_kept_as_it_is ? 0 : window->made[i].transaction.records_count,
                };
        }
}

static void window_finish(struct window *window)
{
        for (uint32_t i = 0; i < COUNT; i++)
                scn_test_transaction_finish(&window->made[i]);
}

static const scn_revision usual[COUNT] = {4, 4, 4, 4, 5, 8, 8, 8, OTHER, 10};

static enum scn_error fold(struct scn_journal *journal, const scn_revision into[COUNT],
        const struct scn_test_shape *shape, struct scn_storage_fault *fault)
{
        struct window window;
        window_init(&window, into, shape);
        const enum scn_error error = scn_journal_fold(journal, window.fates, window.count, fault);
        window_finish(&window);
        return error;
}

static bool is_equal(struct scn_slice a, struct scn_slice b)
{
        return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Of a transaction that was folded: head of one revision, digest and records of another. */
static void expect_folded(const struct scn_journal_transaction *found, scn_revision revision, scn_revision like,
        const struct scn_test_shape *shape)
{
        struct scn_test_transaction head, rest;
        scn_test_transaction_init(&head, revision, shape);
        scn_test_transaction_init(&rest, like, shape);
        head.transaction.digest = rest.transaction.digest;
        cr_assert_eq(found->revision, revision);
        cr_assert_eq(found->time_us, head.transaction.time_us);
        cr_assert_eq(found->step, head.transaction.step);
        cr_assert_eq(found->group, head.transaction.group);
        cr_assert_eq(found->number, head.transaction.number);
        cr_assert(is_equal(found->digest, rest.transaction.digest));
        cr_assert(is_equal(found->answer, head.transaction.answer));
        cr_assert(is_equal(found->content_hash, head.transaction.content_hash));
        cr_assert_eq(found->records_count, rest.transaction.records_count);
        for (uint32_t i = 0; i < found->records_count; i++) {
                cr_assert_eq(found->records[i].kind, rest.records[i].kind);
                cr_assert(is_equal(found->records[i].before, rest.records[i].before));
                cr_assert(is_equal(found->records[i].after, rest.records[i].after));
        }
        scn_test_transaction_finish(&head);
        scn_test_transaction_finish(&rest);
}

static void expect_usual(struct scn_journal *journal, const struct scn_test_shape *shape)
{
        const struct scn_journal_range range = {.from = 1, .to = COUNT, .bytes_max = (size_t)1 << 30};
        struct scn_journal_page *page;
        SCN_TEST_OK(scn_journal_read(journal, &range, &page, NULL));
        cr_assert_eq(scn_journal_page_count(page), 5);
        expect_folded(scn_journal_page_get(page, 0), 4, 103, shape);
        expect_folded(scn_journal_page_get(page, 1), 5, 104, shape);
        expect_folded(scn_journal_page_get(page, 2), 8, 107, shape);
        cr_assert(scn_test_transaction_is(scn_journal_page_get(page, 3), OTHER, &other, false));
        cr_assert(scn_test_transaction_is(scn_journal_page_get(page, 4), COUNT, shape, false));
        scn_journal_page_destroy(page);
        SCN_TEST_OK(scn_journal_verify(journal, NULL));
}

SCN_TEST(journal_fold, leaves_what_was_said_and_takes_the_rest_away)
{
        static const struct scn_test_shape *const shapes[] = {&small, &large};
        for (size_t i = 0; i < 2; i++) {
                struct scn_test_storage test;
                struct scn_journal_state state;
                struct scn_journal *room = make_island(&test, shapes[i]);
                struct scn_journal *journal = scn_test_open_island(&test, SCN_JOURNAL_WRITE);
                SCN_TEST_OK(fold(journal, usual, shapes[i], NULL));
                expect_usual(room, shapes[i]);
                SCN_TEST_OK(scn_journal_state(room, &state, NULL));
                cr_assert_eq(state.judged, COUNT);
                cr_assert_eq(state.last_revision, COUNT);
                /* The room goes on, here and after it has been opened anew. */
                SCN_TEST_OK(scn_test_append(room, COUNT + 1, 5, shapes[i], NULL));
                scn_journal_close(journal);
                scn_journal_close(room);
                room = scn_test_open_island(&test, SCN_JOURNAL_WRITE);
                SCN_TEST_OK(scn_test_append(room, COUNT + 6, 5, shapes[i], NULL));
                expect_usual(room, shapes[i]);
                scn_journal_close(room);
                scn_test_storage_finish(&test);
        }
}

SCN_TEST(journal_fold, is_told_to_who_asks_for_what_is_within)
{
        struct scn_test_storage test;
        struct scn_storage_fault fault = {0};
        struct scn_journal *journal = make_island(&test, &small);
        struct scn_journal_tag tag = {.name = scn_test_text("within"), .revision = 3};
        scn_revision revision;
        SCN_TEST_OK(fold(journal, usual, &small, NULL));
        for (scn_revision at = 0; at <= COUNT; at++) {
                const bool is_there = at == 0 || usual[at - 1] == at;
                cr_assert_eq(
                        scn_journal_has_revision(journal, at, &fault), is_there ? SCN_OK : SCN_E_FOLDED, "%d", (int)at);
        }
        cr_assert_eq(scn_journal_has_revision(journal, 7, &fault), SCN_E_FOLDED);
        cr_assert_not_null(strstr(fault.text, "5 and 8"));
        cr_assert_eq(scn_journal_has_revision(journal, COUNT + 1, NULL), SCN_E_FUTURE);
        cr_assert_eq(scn_journal_set_tag(journal, &tag, NULL), SCN_E_FOLDED);
        tag.revision = 4;
        SCN_TEST_OK(scn_journal_set_tag(journal, &tag, NULL));
        SCN_TEST_OK(scn_journal_find_time(journal, scn_test_time_of(7) + 1, &revision, NULL));
        cr_assert_eq(revision, 5);
        SCN_TEST_OK(scn_journal_find_time(journal, scn_test_time_of(3), &revision, NULL));
        cr_assert_eq(revision, 0);
        SCN_TEST_OK(scn_journal_find_time(journal, scn_test_time_of(8), &revision, NULL));
        cr_assert_eq(revision, 8);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

/* ----------------------------------------------------------- exactly once */

static void expect_answers(struct scn_journal *journal)
{
        for (uint64_t number = 1; number <= COUNT + 2; number++) {
                struct scn_storage_fault fault = {0};
                struct scn_journal_page *page = NULL;
                const enum scn_error error =
                        scn_journal_find_answer(journal, scn_test_client_uid(1), number, &page, &fault);
                if (number == OTHER || number > COUNT) {
                        cr_assert(error == SCN_OK && scn_journal_page_count(page) == 0);
                } else if (usual[number - 1] == number) {
                        SCN_TEST_OK(error);
                        cr_assert_eq(scn_journal_page_count(page), 1);
                        cr_assert_eq(scn_journal_page_get(page, 0)->revision, number);
                } else {
                        cr_assert_eq(error, SCN_E_FOLDED, "%s", scn_error_code(error));
                        cr_assert_eq(fault.revision, usual[number - 1]);
                        cr_assert_null(page);
                }
                scn_journal_page_destroy(page);
        }
}

SCN_TEST(journal_fold, remembers_which_requests_have_been_done)
{
        struct scn_test_storage test;
        struct scn_journal_client client;
        bool is_found;
        struct scn_journal *journal = make_island(&test, &small);
        SCN_TEST_OK(fold(journal, usual, &small, NULL));
        expect_answers(journal);
        const char *file = scn_test_storage_file(&test, "island.scene");
        cr_assert_eq(scn_test_sql(file, "SELECT count(*) FROM folded_numbers"), 2);
        /* In later windows the client's numbers are found by its runs. */
        struct scn_test_shape server = small;
        server.client = 0;
        SCN_TEST_OK(scn_test_append(journal, COUNT + 1, 2040, &server, NULL));
        expect_answers(journal);
        SCN_TEST_OK(scn_journal_verify(journal, NULL));
        SCN_TEST_OK(scn_journal_find_client(journal, scn_test_client_uid(1), &client, &is_found, NULL));
        cr_assert(is_found && client.last_number == COUNT);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal_fold, is_forgotten_with_the_client)
{
        struct scn_test_storage test;
        struct scn_journal_page *page;
        bool is_done = false;
        struct scn_journal *journal = make_island(&test, &small);
        struct scn_test_shape server = small;
        server.client = 0;
        SCN_TEST_OK(fold(journal, usual, &small, NULL));
        SCN_TEST_OK(scn_test_append(journal, COUNT + 1, 1100, &server, NULL));
        while (!is_done)
                SCN_TEST_OK(scn_journal_forget_clients(
                        journal, scn_test_time_of(COUNT) + SCN_JOURNAL_CLIENT_UNUSED_US + 1, &is_done, NULL));
        const char *file = scn_test_storage_file(&test, "island.scene");
        cr_assert_eq(scn_test_sql(file, "SELECT count(*) FROM folded_numbers"), 0);
        SCN_TEST_OK(scn_journal_find_answer(journal, scn_test_client_uid(1), 2, &page, NULL));
        cr_assert_null(page);
        SCN_TEST_OK(scn_journal_verify(journal, NULL));
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

/* ---------------------------------------------------------------- windows */

static void expect_next(struct scn_journal *journal, scn_revision to, scn_revision first, scn_revision last)
{
        scn_revision found_first, found_last;
        SCN_TEST_OK(scn_journal_next_fold(journal, to, &found_first, &found_last, NULL));
        cr_assert_eq(found_last, last, "%d instead of %d", (int)found_last, (int)last);
        cr_assert(last == 0 || found_first == first);
}

SCN_TEST(journal_fold, goes_from_window_to_window)
{
        struct scn_test_storage test;
        struct scn_checkpoint_writer *writer;
        struct scn_test_transaction made;
        const struct scn_slice part = {(const uint8_t *)"part", 4};
        struct scn_journal *journal = make_island(&test, &small);
        SCN_TEST_OK(scn_test_append(journal, COUNT + 1, 2100, &small, NULL));
        SCN_TEST_OK(scn_checkpoint_writer_create(journal, 1500, 1, &writer, NULL));
        SCN_TEST_OK(scn_checkpoint_writer_append(writer, part, NULL));
        scn_test_transaction_init(&made, 1500, &small);
        SCN_TEST_OK(scn_checkpoint_writer_finish(writer, made.transaction.digest, NULL));
        scn_test_transaction_finish(&made);
        scn_checkpoint_writer_destroy(writer);
        expect_next(journal, 9, 0, 0);
        expect_next(journal, 10, 1, 10);
        SCN_TEST_OK(fold(journal, usual, &small, NULL));
        expect_next(journal, 1023, 0, 0);
        expect_next(journal, 3000, 11, 1024);
        SCN_TEST_OK(scn_journal_note_judged(journal, 1024, NULL));
        expect_next(journal, 3000, 1025, 1500);
        SCN_TEST_OK(scn_journal_note_judged(journal, 1500, NULL));
        SCN_TEST_OK(scn_journal_note_judged(journal, 1024, NULL));
        expect_next(journal, 3000, 1501, 2048);
        SCN_TEST_OK(scn_journal_note_judged(journal, 2048, NULL));
        expect_next(journal, SCN_REVISION_MAX, 0, 0);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

static int64_t sum_of(struct scn_test_storage *test)
{
        return scn_test_sql(scn_test_storage_file(test, "island.scene"),
                "SELECT (SELECT sum(checksum / 1048576) + count(*) FROM transactions)"
                " + (SELECT judged FROM history) + (SELECT count(*) + sum(id) FROM records)");
}

SCN_TEST(journal_fold, of_anything_but_the_next_window_changes_nothing)
{
        static const struct {
                scn_revision into[COUNT];
                const char *why;
        } bad[] = {
                {{4, 4, 4, 4, 5, 8, 8, 8, 10, 10}, "into another client's"},
                {{4, 4, 4, 5, 5, 8, 8, 8, 9, 10}, "into one that goes"},
                {{1, 1, 4, 4, 5, 8, 8, 8, 9, 10}, "into an earlier one"},
                {{4, 4, 4, 4, 5, 8, 8, 8, 9, 11}, "the last one goes"},
                {{77, 4, 4, 4, 5, 8, 8, 8, 9, 10}, "into none"},
        };
        struct scn_test_storage test;
        struct scn_storage_fault fault = {0};
        struct window window;
        struct scn_journal *journal = make_island(&test, &large);
        SCN_TEST_OK(scn_test_append(journal, COUNT + 1, 2, &small, NULL));
        const int64_t before = sum_of(&test);
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
                cr_assert_eq(fold(journal, bad[i].into, &large, &fault), SCN_E_BAD_BATCH, "%s", bad[i].why);
                cr_assert_eq(sum_of(&test), before, "%s", bad[i].why);
        }
        window_init(&window, usual, &large);
        cr_assert_eq(scn_journal_fold(journal, window.fates, COUNT - 1, NULL), SCN_E_BAD_BATCH);
        cr_assert_eq(scn_journal_fold(journal, window.fates + 1, COUNT - 1, NULL), SCN_E_BAD_BATCH);
        window.fates[COUNT - 1].digest = window.fates[0].digest;
        cr_assert_eq(scn_journal_fold(journal, window.fates, COUNT, NULL), SCN_E_BAD_BATCH);
        window_finish(&window);
        /* A tag set meanwhile divides the window. */
        const struct scn_journal_tag tag = {.name = scn_test_text("within"), .revision = 3};
        SCN_TEST_OK(scn_journal_set_tag(journal, &tag, NULL));
        cr_assert_eq(fold(journal, usual, &large, &fault), SCN_E_BAD_BATCH);
        cr_assert_eq(sum_of(&test), before);
        SCN_TEST_OK(scn_journal_remove_tag(journal, tag.name, NULL));
        SCN_TEST_OK(fold(journal, usual, &large, NULL));
        cr_assert_eq(fold(journal, usual, &large, &fault), SCN_E_BAD_BATCH, "it has been folded");
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

/* ----------------------------------------------------------------- damage */

SCN_TEST(journal_fold, that_is_damaged_is_found_by_verification)
{
        static const char *const damages[] = {
                "DELETE FROM transactions WHERE rev = 5",
                "DELETE FROM folds",
                "UPDATE folds SET kept = kept + 1",
                "UPDATE folds SET first_rev = 2",
                "UPDATE folds SET checksum = checksum + 1",
                "INSERT INTO folds VALUES (12, 3, 1, x'ff03', 1)",
                "UPDATE folded_numbers SET rev = 5 WHERE last_number = 7",
                "UPDATE folded_numbers SET first_number = 9 WHERE last_number = 7",
                "UPDATE tags SET rev = 3",
                "DELETE FROM history",
                "UPDATE history SET base = 5",
        };
        for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
                struct scn_test_storage test;
                struct scn_storage_fault fault = {0};
                struct scn_journal *journal = make_island(&test, &small);
                SCN_TEST_OK(scn_test_append(journal, COUNT + 1, 4, &small, NULL));
                SCN_TEST_OK(fold(journal, usual, &small, NULL));
                SCN_TEST_OK(scn_journal_verify(journal, NULL));
                scn_test_sql(scn_test_storage_file(&test, "island.scene"), damages[i]);
                cr_assert_eq(scn_journal_verify(journal, &fault), SCN_E_CORRUPT, "%s", damages[i]);
                cr_assert_neq(fault.text[0], '\0');
                scn_journal_close(journal);
                scn_test_storage_finish(&test);
        }
}

SCN_TEST(journal_fold, can_be_done_in_a_file_of_the_first_format)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test, &small);
        const struct scn_journal_options reading = {.mode = SCN_JOURNAL_READ};
        scn_journal_close(journal);
        const char *file = scn_test_storage_file(&test, "island.scene");
        scn_test_sql(file, "DROP TABLE folds");
        scn_test_sql(file, "DROP TABLE folded_numbers");
        scn_test_sql(file, "DROP TABLE history");
        scn_test_sql(file, "ALTER TABLE runs DROP COLUMN time_us");
        scn_test_sql(file, "PRAGMA user_version = 1");
        cr_assert_eq(
                scn_journal_open(test.storage, scn_test_text("island"), &reading, &journal, NULL), SCN_E_OLDER_FORMAT);
        journal = scn_test_open_island(&test, SCN_JOURNAL_WRITE);
        cr_assert_eq(scn_test_sql(scn_test_storage_file(&test, "island.scene"), "PRAGMA user_version"), 3);
        SCN_TEST_OK(fold(journal, usual, &small, NULL));
        expect_usual(journal, &small);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

static int64_t durability_of(struct scn_journal *journal)
{
        sqlite3_stmt *statement;
        cr_assert_eq(
                sqlite3_prepare_v2(journal->database.handle, "PRAGMA synchronous", -1, &statement, NULL), SQLITE_OK);
        cr_assert_eq(sqlite3_step(statement), SQLITE_ROW);
        const int64_t value = sqlite3_column_int64(statement, 0);
        sqlite3_finalize(statement);
        return value;
}

#define FULL 2

SCN_TEST(journal_fold, leaves_commits_durable_also_where_it_does_not_get_its_turn)
{
        struct scn_test_storage test;
        const struct scn_journal_options hasty = {.mode = SCN_JOURNAL_WRITE, .busy_timeout_ms = 1};
        struct scn_journal *journal;
        sqlite3 *busy;
        struct scn_journal *room = make_island(&test, &small);
        SCN_TEST_OK(scn_journal_open(test.storage, scn_test_text("island"), &hasty, &journal, NULL));
        cr_assert_eq(durability_of(journal), FULL);
        cr_assert_eq(sqlite3_open(scn_test_storage_file(&test, "island.scene"), &busy), SQLITE_OK);
        cr_assert_eq(sqlite3_exec(busy, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
        cr_assert_eq(scn_journal_note_judged(journal, COUNT, NULL), SCN_E_STORAGE_BUSY);
        cr_assert_eq(durability_of(journal), FULL);
        cr_assert_eq(sqlite3_close(busy), SQLITE_OK);
        SCN_TEST_OK(scn_journal_note_judged(journal, COUNT, NULL));
        cr_assert_eq(durability_of(journal), FULL);
        scn_journal_close(journal);
        scn_journal_close(room);
        scn_test_storage_finish(&test);
}

/* SQLite's authorizer: commits cannot be made durable again. */
static int deny_full(void *data, int action, const char *name, const char *value, const char *base, const char *inner)
{
        (void)data, (void)base, (void)inner;
        const bool is_it = action == SQLITE_PRAGMA && strcmp(name, "synchronous") == 0 && value != NULL &&
                strcmp(value, "FULL") == 0;
        return is_it ? SQLITE_DENY : SQLITE_OK;
}

SCN_TEST(journal_fold, writes_nothing_more_where_commits_cannot_be_made_durable_again)
{
        struct scn_test_storage test;
        struct scn_checkpoint_writer *writer;
        struct scn_journal *room = make_island(&test, &small);
        for (int i = 0; i < 2; i++) {
                struct scn_journal *journal = scn_test_open_island(&test, SCN_JOURNAL_WRITE);
                cr_assert_eq(sqlite3_set_authorizer(journal->database.handle, deny_full, NULL), SQLITE_OK);
                if (i == 0) {
                        cr_assert_eq(scn_journal_note_judged(journal, COUNT, NULL), SCN_E_OUTCOME_UNKNOWN);
                } else {
                        SCN_TEST_OK(scn_checkpoint_writer_create(journal, COUNT, 1, &writer, NULL));
                        scn_checkpoint_writer_destroy(writer);
                }
                cr_assert_eq(sqlite3_set_authorizer(journal->database.handle, NULL, NULL), SQLITE_OK);
                cr_assert_eq(scn_journal_note_judged(journal, COUNT, NULL), SCN_E_OUTCOME_UNKNOWN);
                scn_journal_close(journal);
        }
        SCN_TEST_OK(scn_test_append(room, COUNT + 1, 1, &small, NULL));
        scn_journal_close(room);
        scn_test_storage_finish(&test);
}
