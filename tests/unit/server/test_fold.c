/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* A folder's steps, one at a time. What they leave is compared at random in tests/property/test_fold.c. */

#include "server/checkpoint.h"
#include "server/core.h"
#include "server/fold.h"
#include "tests/lib/hub.h"
#include "tests/lib/scene.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

#define EDITS 20u /* of a window */

struct island {
        struct hub hub;
        struct peer ann;
        struct scn_journal *journal; /* the folder's */
        struct scn_folder *folder;
};

static void no_random(void *data, uint8_t *bytes, size_t size)
{
        (void)data;
        memset(bytes, 0, size);
}

static void set_up(struct island *island)
{
        const struct scn_journal_options writing = {.mode = SCN_JOURNAL_WRITE};
        hub_start(&island->hub);
        peer_open(&island->ann, &island->hub, 1, "ann", "island");
        const struct scn_document_options options = {.limits = island->hub.server->options.limits, .random = no_random};
        SCN_TEST_OK(scn_journal_open(
                island->hub.server->storage, scn_test_text("island"), &writing, &island->journal, NULL));
        island->folder = scn_folder_create(&options);
        cr_assert_not_null(island->folder);
}

static void tear_down(struct island *island)
{
        scn_folder_destroy(island->folder);
        scn_journal_close(island->journal);
        peer_close(&island->ann);
        hub_finish(&island->hub);
}

static void send(struct island *island, const struct scn_op *ops, uint32_t count, uint64_t group)
{
        peer_edit_in(&island->ann, group, ops, count);
        (void)peer_expect(&island->ann, SCN_MESSAGE_applied);
}

static scn_revision last_of(struct island *island)
{
        hub_run(&island->hub);
        return island->hub.server->rooms->durable;
}

static void set_tag(struct island *island, scn_revision revision)
{
        char name[24];
        (void)snprintf(name, sizeof name, "t%llu", (unsigned long long)revision);
        const struct scn_journal_tag tag = {.name = scn_test_text(name), .revision = revision};
        SCN_TEST_OK(scn_journal_set_tag(island->journal, &tag, NULL));
}

/* A window's worth of edits, which ends with a tag; SCN_ABSENT: each is a step of its own, so that none goes. */
static void make_window(struct island *island, uint64_t group)
{
        for (uint32_t i = 0; i < EDITS; i++) {
                const struct scn_op op = scene_translate(1, (float)i, (float)island->ann.number, 1);
                send(island, &op, 1, group);
        }
        set_tag(island, last_of(island));
}

static void make_checkpoint(struct island *island)
{
        scn_room_gather(island->hub.server->rooms, SCN_CHECKPOINT_DUE_BYTES + 1);
        hub_run(&island->hub);
        cr_assert_null(island->hub.server->rooms->checkpoint);
}

static void expect_step(struct island *island, scn_revision last, uint32_t transactions)
{
        struct scn_storage_fault fault = {.text = ""};
        struct scn_folded folded;
        const enum scn_error error =
                scn_folder_step(island->folder, island->journal, SCN_REVISION_MAX, &folded, &fault);
        cr_assert_eq(error, SCN_OK, "%s: %s", scn_error_code(error), fault.text);
        cr_assert_eq(folded.last, last);
        cr_assert_eq(folded.transactions, transactions);
        cr_assert(!folded.is_refuted);
}

/* Whoever reads this transaction from now on finds it damaged. */
static void spoil(const struct island *island, scn_revision revision)
{
        char path[96];
        char sql[96];
        (void)snprintf(path, sizeof path, "%s/island.scene", island->hub.path);
        (void)snprintf(sql, sizeof sql, "UPDATE transactions SET checksum = checksum + 1 WHERE rev = %llu",
                (unsigned long long)revision);
        (void)scn_test_sql(path, sql);
}

SCN_TEST(fold, goes_on_behind_windows_that_stay_as_they_are_without_beginning_anew)
{
        struct island island;
        set_up(&island);
        make_window(&island, 1);
        make_window(&island, SCN_ABSENT);
        make_window(&island, SCN_ABSENT);
        make_window(&island, 2);
        expect_step(&island, EDITS, EDITS - 1);
        spoil(&island, EDITS);
        expect_step(&island, 2 * EDITS, 0);
        expect_step(&island, 3 * EDITS, 0);
        expect_step(&island, 4 * EDITS, EDITS - 1);
        tear_down(&island);
}

SCN_TEST(fold, goes_on_from_a_checkpoint_that_is_nearer)
{
        struct island island;
        set_up(&island);
        make_window(&island, 1);
        make_window(&island, SCN_ABSENT);
        make_window(&island, SCN_ABSENT);
        make_checkpoint(&island);
        make_window(&island, 2);
        expect_step(&island, EDITS, EDITS - 1);
        expect_step(&island, 2 * EDITS, 0);
        spoil(&island, 2 * EDITS);
        expect_step(&island, 3 * EDITS, 0);
        expect_step(&island, 4 * EDITS, EDITS - 1);
        tear_down(&island);
}

/* --- The largest window --- */

#define KEYS 16u
#define VALUE_BYTES_MAX 65000u

static size_t bytes_from(struct island *island, scn_revision from)
{
        struct scn_journal_range range = {.from = from};
        size_t bytes = 0;
        uint32_t count;
        do {
                struct scn_journal_page *page;
                SCN_TEST_OK(scn_journal_read(island->journal, &range, &page, NULL));
                count = scn_journal_page_count(page);
                bytes += scn_journal_page_bytes(page);
                range.from = count > 0 ? scn_journal_page_get(page, count - 1)->revision + 1 : range.from;
                scn_journal_page_destroy(page);
        } while (count > 0);
        return bytes;
}

/* Sets keys to a text of so many bytes, and takes what that costs from *left. */
static size_t set_keys(struct island *island, uint32_t count, size_t size, size_t *left)
{
        static uint8_t bytes[3 + VALUE_BYTES_MAX];
        static const char *const keys[KEYS] = {
                "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"};
        struct scn_op ops[KEYS];
        cr_assert(size > UINT8_MAX && size <= VALUE_BYTES_MAX, "its head has three bytes");
        memset(bytes, 'a' + (int)(island->ann.number % 26), sizeof bytes);
        bytes[0] = 0xda;
        bytes[1] = (uint8_t)(size >> 8);
        bytes[2] = (uint8_t)size;
        for (uint32_t i = 0; i < count; i++) {
                ops[i] = scene_set(1, keys[i], (struct scn_slice){bytes, (uint32_t)size + 3});
        }
        send(island, ops, count, 1);
        const size_t cost = bytes_from(island, last_of(island));
        *left -= cost;
        return cost;
}

/* A gesture of exactly so many bytes of payload. */
static void make_heavy_window(struct island *island, size_t bytes)
{
        size_t left = bytes;
        while (left > 2500000) {
                (void)set_keys(island, KEYS, VALUE_BYTES_MAX, &left);
        }
        while (left > 250000) {
                (void)set_keys(island, 1, VALUE_BYTES_MAX, &left);
        }
        do {
                (void)set_keys(island, 1, 10000, &left);
        } while (left > 60000);
        (void)set_keys(island, 1, 300, &left);
        const size_t around = set_keys(island, 1, 300, &left) - 2 * 300;
        (void)set_keys(island, 1, left - around - 300, &left);
        cr_assert_eq(left, 0);
        cr_assert_eq(bytes_from(island, 1), bytes);
}

SCN_TEST_WITH(fold, leaves_a_window_of_more_bytes_than_it_may_have_as_it_is, .timeout = 120)
{
        for (size_t over = 0; over < 2; over++) {
                struct island island;
                char path[96];
                set_up(&island);
                (void)snprintf(path, sizeof path, "%s/island.scene", island.hub.path);
                make_heavy_window(&island, SCN_FOLD_WINDOW_BYTES_MAX + over);
                const scn_revision last = last_of(&island);
                set_tag(&island, last);
                (void)scn_test_sql(path, "DELETE FROM checkpoints"); /* at which windows end, too */
                expect_step(&island, last, over == 0 ? (uint32_t)last - 1 : 0);
                tear_down(&island);
        }
}
