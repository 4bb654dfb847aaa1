/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE

/* The process dies, or the power goes, at any operation of the disk while history is folded and dropped: each window
 * is as it was or as it is to be, everything acknowledged is there, and whoever goes on comes to the same end. */

#include "tests/lib/shaky_disk.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <inttypes.h>
#include <string.h>

#define WINDOWS 4u
#define WINDOW 8u /* by tags */
#define COUNT (WINDOWS * WINDOW)

static const struct scn_test_shape shape = {.client = 1, .records_count = 2, .payload_bytes = 3000, .answer_bytes = 20};

static void fail(enum scn_shaky_fault fault, uint64_t at)
{
        scn_shaky.fault = fault;
        scn_shaky.fault_at = scn_shaky.operations + at;
        scn_shaky.is_sticky = true;
        scn_shaky.has_struck = false;
}

static enum scn_error write_checkpoint(struct scn_journal *journal, scn_revision revision)
{
        struct scn_checkpoint_writer *writer;
        struct scn_test_transaction made;
        enum scn_error error = scn_checkpoint_writer_create(journal, revision, 1, &writer, NULL);
        if (error != SCN_OK)
                return error;
        scn_test_transaction_init(&made, revision, &shape);
        error = scn_checkpoint_writer_append(writer, (struct scn_slice){(const uint8_t *)"part", 4}, NULL);
        if (error == SCN_OK)
                error = scn_checkpoint_writer_finish(writer, made.transaction.digest, NULL);
        scn_test_transaction_finish(&made);
        scn_checkpoint_writer_destroy(writer);
        return error;
}

static void make_island(struct scn_test_storage *test)
{
        scn_test_storage_init(test);
        struct scn_journal *journal = scn_test_create_island(test);
        SCN_TEST_OK(scn_test_append(journal, 1, COUNT, &shape, NULL));
        for (scn_revision last = WINDOW; last <= COUNT; last += WINDOW)
                SCN_TEST_OK(write_checkpoint(journal, last));
        scn_journal_close(journal);
}

/* All of the window goes up in its last transaction, which is a window's last and keeps its records. */
static enum scn_error fold_window(struct scn_journal *journal, scn_revision first)
{
        struct scn_test_transaction made;
        struct scn_journal_fate fates[WINDOW];
        scn_test_transaction_init(&made, first + WINDOW - 1, &shape);
        for (uint32_t i = 0; i < WINDOW; i++)
                fates[i] = (struct scn_journal_fate){
                        .revision = first + i, .into = first + WINDOW - 1, .digest = made.transaction.digest};
        fates[WINDOW - 1].records = made.records;
        fates[WINDOW - 1].records_count = made.transaction.records_count;
        const enum scn_error error = scn_journal_fold(journal, fates, WINDOW, NULL);
        scn_test_transaction_finish(&made);
        return error;
}

/* Folds and, now and then, appends, which is acknowledged; then drops. Until it is done or the disk is dead. */
static void work(struct scn_storage *storage, scn_revision *acknowledged)
{
        const struct scn_journal_options options = {.wal_pages = 12};
        struct scn_journal *room, *folder;
        scn_revision first, last = 1;
        if (scn_journal_open(storage, scn_test_text("island"), &options, &room, NULL) != SCN_OK)
                return;
        enum scn_error error = scn_journal_open(storage, scn_test_text("island"), &options, &folder, NULL);
        if (error != SCN_OK) {
                scn_journal_close(room);
                return;
        }
        while (error == SCN_OK && last != 0) {
                error = scn_journal_next_fold(folder, COUNT, &first, &last, NULL);
                if (error == SCN_OK && last != 0)
                        error = fold_window(folder, first);
                if (error == SCN_OK)
                        error = scn_test_append(room, *acknowledged + 1, 1, &shape, NULL);
                *acknowledged += error == SCN_OK;
        }
        bool is_done = false;
        while (error == SCN_OK && !is_done) {
                uint64_t removed;
                error = scn_journal_retain(folder, scn_test_time_of(3 * WINDOW), &removed, &is_done, NULL);
        }
        scn_journal_close(folder);
        scn_journal_close(room);
}

static void check_what_is_left(struct scn_storage *storage, scn_revision acknowledged, uint64_t at)
{
        const struct scn_journal_range range = {.from = 1, .bytes_max = (size_t)1 << 30};
        struct scn_storage_fault fault = {0};
        struct scn_journal_state state;
        struct scn_journal_page *page;
        struct scn_journal *journal;
        enum scn_error error = scn_journal_open(storage, scn_test_text("island"), NULL, &journal, &fault);
        cr_assert_eq(error, SCN_OK, "died at operation %" PRIu64 ": %s", at, fault.text);
        error = scn_journal_verify(journal, &fault);
        cr_assert_eq(error, SCN_OK, "died at operation %" PRIu64 ": %s", at, fault.text);
        SCN_TEST_OK(scn_journal_state(journal, &state, NULL));
        cr_assert(state.last_revision == acknowledged || state.last_revision == acknowledged + 1);
        SCN_TEST_OK(scn_journal_read(journal, &range, &page, NULL));
        uint32_t counts[WINDOWS] = {0};
        for (uint32_t i = 0; i < scn_journal_page_count(page); i++) {
                const struct scn_journal_transaction *transaction = scn_journal_page_get(page, i);
                cr_assert(scn_test_transaction_is(transaction, transaction->revision, &shape, false));
                if (transaction->revision <= COUNT)
                        counts[(transaction->revision - 1) / WINDOW]++;
        }
        scn_journal_page_destroy(page);
        for (uint32_t i = 0; i < WINDOWS; i++) {
                const bool is_dropped = (scn_revision)(i + 1) * WINDOW < state.base;
                const bool is_folded = (scn_revision)(i + 1) * WINDOW <= state.judged;
                cr_assert_eq(counts[i], is_dropped ? 0 : is_folded ? 1 : WINDOW, "died at operation %" PRIu64, at);
        }
        scn_journal_close(journal);
        work(storage, &state.last_revision);
        SCN_TEST_OK(scn_journal_open(storage, scn_test_text("island"), NULL, &journal, NULL));
        SCN_TEST_OK(scn_journal_verify(journal, NULL));
        SCN_TEST_OK(scn_journal_state(journal, &state, NULL));
        cr_assert_eq(state.base, 3 * WINDOW);
        cr_assert_eq(state.judged, COUNT);
        scn_journal_close(journal);
}

/* Returns false when the work was done before. */
static bool die_at(uint64_t at, uint64_t seeds)
{
        struct scn_test_storage test;
        scn_revision acknowledged = COUNT;
        make_island(&test);
        scn_shaky_reset();
        fail(SCN_SHAKY_DEAD, at);
        work(test.storage, &acknowledged);
        const bool has_died = scn_shaky.has_struck;
        fail(SCN_SHAKY_NONE, 0);
        if (seeds == 0)
                check_what_is_left(test.storage, acknowledged, at);
        for (uint64_t seed = 1; seed <= seeds; seed++) {
                struct scn_test_storage after;
                scn_test_storage_init(&after);
                scn_shaky_lose_power(test.path, after.path, at * 100 + seed);
                check_what_is_left(after.storage, acknowledged, at);
                scn_test_storage_finish(&after);
        }
        scn_shaky_reset();
        scn_test_storage_finish(&test);
        return has_died;
}

SCN_TEST_WITH(fold_disk, leaves_old_or_new_when_the_process_dies_at_any_write, .timeout = 600)
{
        uint64_t at = 1;
        scn_shaky_install();
        while (die_at(at, 0))
                at++;
        cr_assert_gt(at, 40, "the work has only %" PRIu64 " operations", at);
}

SCN_TEST_WITH(fold_disk, leaves_old_or_new_when_the_power_fails_at_any_write, .timeout = 600)
{
        const uint64_t step = 2;
        uint64_t at = 1 + scn_test_seed(0) % step;
        scn_shaky_install();
        while (die_at(at, 2))
                at += step;
        cr_assert_gt(at, 40);
}
