/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What a room does for its file, end to end: checkpoints, and what is opened from them. */

#include "protocol/base/uid.h"
#include "server/checkpoint.h"
#include "server/core.h"
#include "tests/lib/hub.h"
#include "tests/lib/random.h"
#include "tests/lib/scene.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

#define CHECKPOINT_DUE_BYTES (SCN_CHECKPOINT_DUE_BYTES + 1)

static struct scn_room *room_of(struct hub *hub)
{
        cr_assert_not_null(hub->server->rooms);
        return hub->server->rooms;
}

/* As if so much had been written: tests need not write it. */
static void make_checkpoint(struct hub *hub)
{
        scn_room_gather(room_of(hub), CHECKPOINT_DUE_BYTES);
        cr_assert_not_null(room_of(hub)->checkpoint);
        hub_run(hub);
        cr_assert_null(room_of(hub)->checkpoint);
}

static const char *file_of(const struct hub *hub)
{
        static char path[96];
        (void)snprintf(path, sizeof path, "%s/island.scene", hub->path);
        return path;
}

static int64_t count_checkpoints(const struct hub *hub)
{
        return scn_test_sql(file_of(hub), "SELECT count(*) FROM checkpoints");
}

/* --- Random edits --- */

static scn_node_id any_node(struct scn_random *random, const struct scn_document *document)
{
        scn_node_id id = scn_document_root(document);
        for (uint32_t steps = scn_random_below(random, scn_document_nodes_count(document)); steps > 0; steps--) {
                id = scn_document_walk(document, scn_document_root(document), id);
        }
        return id;
}

/* Refused ones are as welcome as others. */
static struct scn_op any_op(struct scn_random *random, const struct scn_document *document)
{
        static const char *const keys[] = {"a", "b", "c"};
        const scn_node_id node = any_node(random, document);
        switch (scn_random_below(random, 10)) {
        case 0:
        case 1:
        case 2:
                return scene_add(node, 2 + scn_random_below(random, 60), scn_random_chance(random, 50) ? "new" : NULL);
        case 3:
                return scene_remove(node);
        case 4:
                return scene_move(node, any_node(random, document));
        case 5:
                return scene_move_index(node, any_node(random, document), scn_random_below(random, 4));
        case 6:
                return scene_translate(node, scn_random_float(random, -9, 9), 0, 1);
        case 7:
                return scene_rename(node, scn_random_chance(random, 50) ? "renamed" : NULL);
        case 8:
                return scene_set(node, keys[scn_random_below(random, 3)], (struct scn_slice){NULL, 0});
        default:
                return scene_set(
                        node, keys[scn_random_below(random, 3)], scene_integer((uint8_t)scn_random_below(random, 99)));
        }
}

#define PEERS 3

/* One server that is never stopped, and one that is again and again; both are told the same. */
struct pair {
        struct hub steady;
        struct hub broken;
        struct peer steady_peers[PEERS];
        struct peer broken_peers[PEERS];
};

static void open_all(struct hub *hub, struct peer *peers)
{
        for (uint32_t i = 0; i < PEERS; i++) {
                peer_open(&peers[i], hub, 1 + i, "ann", "island");
        }
}

static void close_all(struct peer *peers)
{
        for (uint32_t i = 0; i < PEERS; i++) {
                peer_close(&peers[i]);
        }
}

static void send_undo(struct peer *peer, bool is_redo)
{
        if (is_redo) {
                peer_redo(peer, 0);
        } else {
                peer_undo(peer, (struct peer_wish){0});
        }
}

static void edit_both(struct pair *pair, struct scn_random *random)
{
        struct scn_op ops[3];
        const struct scn_document *document = room_of(&pair->steady)->document;
        const uint32_t count = 1 + scn_random_below(random, 3);
        const uint32_t peer = scn_random_below(random, PEERS);
        const uint32_t what = scn_random_below(random, 10);
        for (uint32_t i = 0; i < count; i++) {
                ops[i] = any_op(random, document);
        }
        if (what < 2) {
                send_undo(&pair->steady_peers[peer], what == 1);
                send_undo(&pair->broken_peers[peer], what == 1);
        } else {
                peer_edit(&pair->steady_peers[peer], ops, count);
                peer_edit(&pair->broken_peers[peer], ops, count);
        }
        hub_run(&pair->steady);
        hub_run(&pair->broken);
        peer_drain(&pair->steady_peers[peer]);
        peer_drain(&pair->broken_peers[peer]);
}

static void restart_broken(struct pair *pair)
{
        close_all(pair->broken_peers);
        hub_stop(&pair->broken);
        hub_restart(&pair->broken);
        open_all(&pair->broken, pair->broken_peers);
        for (uint32_t i = 0; i < PEERS; i++) {
                /* Refused edits have used up numbers that no journal knows. */
                pair->broken_peers[i].number = pair->steady_peers[i].number;
        }
}

static void check_same(struct pair *pair, uint32_t step)
{
        const struct scn_document *steady = room_of(&pair->steady)->document;
        const struct scn_document *broken = room_of(&pair->broken)->document;
        scn_document_check(broken);
        cr_assert(scene_is_same(steady, broken), "step %u: revision %llu, %llu", step,
                (unsigned long long)scn_document_revision(steady), (unsigned long long)scn_document_revision(broken));
}

static void run_pair(uint32_t past_min)
{
        struct pair *pair = scn_alloc_zero(1, sizeof *pair);
        struct scn_random random = scn_random_from_seed(scn_test_seed(7));
        hub_start(&pair->steady);
        hub_start(&pair->broken);
        hub_stop(&pair->steady);
        hub_stop(&pair->broken);
        pair->steady.limits.past_min = pair->broken.limits.past_min = past_min;
        pair->steady.random = pair->broken.random = 1;
        hub_restart(&pair->steady);
        hub_restart(&pair->broken);
        open_all(&pair->steady, pair->steady_peers);
        open_all(&pair->broken, pair->broken_peers);
        for (uint32_t step = 0; step < 400; step++) {
                edit_both(pair, &random);
                if (scn_random_chance(&random, 10) && room_of(&pair->broken)->durable > 0) {
                        make_checkpoint(&pair->broken);
                }
                if (scn_random_chance(&random, 10)) {
                        restart_broken(pair);
                        check_same(pair, step);
                }
        }
        restart_broken(pair);
        check_same(pair, 400);
        cr_assert_gt(count_checkpoints(&pair->broken), 2);
        cr_assert(past_min > 1000 || scn_document_horizon(room_of(&pair->broken)->document) > 0);
        close_all(pair->steady_peers);
        close_all(pair->broken_peers);
        hub_finish(&pair->steady);
        hub_finish(&pair->broken);
        scn_free(pair);
}

SCN_TEST(upkeep, opens_a_document_that_is_as_if_it_had_never_been_closed)
{
        run_pair(65536);
}

SCN_TEST(upkeep, opens_a_document_with_the_same_horizon_as_if_it_had_never_been_closed)
{
        run_pair(12);
}

/* --- One document, one peer --- */

struct island {
        struct hub hub;
        struct peer peer;
};

static void start(struct island *island)
{
        hub_start(&island->hub);
        peer_open(&island->peer, &island->hub, 1, "ann", "island");
}

static void edit(struct island *island, struct scn_op op)
{
        peer_edit(&island->peer, &op, 1);
        (void)peer_expect(&island->peer, SCN_MESSAGE_applied);
}

/* So many nodes, then a checkpoint, then as many again. */
static void fill(struct island *island, uint32_t count)
{
        for (uint32_t i = 0; i < 2 * count; i++) {
                edit(island, scene_add(1, 100 + i, "node"));
                if (i + 1 == count) {
                        make_checkpoint(&island->hub);
                }
        }
}

static void stop(struct island *island)
{
        peer_close(&island->peer);
        hub_stop(&island->hub);
}

static void restart(struct island *island)
{
        hub_restart(&island->hub);
        peer_open(&island->peer, &island->hub, 1, "ann", "island");
}

static void finish(struct island *island)
{
        peer_close(&island->peer);
        hub_finish(&island->hub);
}

static void ask_tree_at(struct island *island, uint64_t revision)
{
        struct scn_message message;
        uint8_t at[1] = {(uint8_t)revision};
        cr_assert_lt(revision, 0x80);
        scn_message_init(&message, SCN_MESSAGE_tree);
        message.as.tree.request = 9;
        message.as.tree.at = (struct scn_slice){at, 1};
        peer_send(&island->peer, &message);
}

static void expect_tree_of(struct island *island, uint32_t nodes)
{
        const struct scn_message message = peer_expect(&island->peer, SCN_MESSAGE_answer);
        struct scn_unpacker unpacker = scn_unpacker_from(message.as.answer.body);
        cr_assert_eq(scn_unpack_array(&unpacker), nodes);
}

static void ask_verify(struct island *island)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_verify);
        message.as.verify.request = 10;
        peer_send(&island->peer, &message);
}

SCN_TEST(upkeep, reads_no_transactions_that_a_checkpoint_holds)
{
        struct island island;
        start(&island);
        fill(&island, 10);
        stop(&island);
        (void)scn_test_sql(file_of(&island.hub), "UPDATE transactions SET checksum = checksum + 1 WHERE rev = 5");
        restart(&island);
        cr_assert_eq(room_of(&island.hub)->durable, 20);
        ask_tree_at(&island, 12);
        expect_tree_of(&island, 13);
        /* What lies before it does want them. */
        ask_tree_at(&island, 9);
        peer_expect_code(&island.peer, SCN_MESSAGE_failed, "corrupt");
        ask_verify(&island);
        peer_expect_code(&island.peer, SCN_MESSAGE_failed, "corrupt");
        finish(&island);
}

SCN_TEST(upkeep, passes_over_a_damaged_checkpoint_and_makes_another)
{
        static const char *const damages[] = {
                "UPDATE checkpoint_parts SET checksum = checksum + 1",
                "UPDATE checkpoint_parts SET bytes = zeroblob(100)",
                "UPDATE checkpoints SET checksum = checksum + 1",
                "UPDATE checkpoints SET part_count = 7",
                "DELETE FROM checkpoint_parts",
        };
        for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
                struct island island;
                start(&island);
                fill(&island, 10);
                const struct scn_digests before = scn_document_digests(room_of(&island.hub)->document);
                stop(&island);
                (void)scn_test_sql(file_of(&island.hub), damages[i]);
                restart(&island);
                const struct scn_digests after = scn_document_digests(room_of(&island.hub)->document);
                cr_assert_eq(memcmp(&before, &after, sizeof after), 0, "%s", damages[i]);
                cr_assert_eq(island.hub.warnings_logged, 1, "%s", damages[i]);
                scn_server_tick(island.hub.server);
                hub_run(&island.hub);
                ask_tree_at(&island, 12);
                expect_tree_of(&island, 13);
                stop(&island);
                cr_assert_geq(count_checkpoints(&island.hub), 1);
                const size_t warnings = island.hub.warnings_logged;
                restart(&island);
                cr_assert_eq(
                        island.hub.warnings_logged, warnings, "%s: the damaged one is still the newest", damages[i]);
                finish(&island);
        }
}

SCN_TEST(upkeep, takes_no_checkpoint_for_the_state_that_does_not_have_its_digest)
{
        struct island island;
        struct scn_journal *journal;
        struct scn_checkpoint_writer *writer;
        struct scn_journal_page *page;
        const struct scn_slice name = scn_test_text("island");
        start(&island);
        fill(&island, 4);
        /* What is well spelled, and another revision's. */
        SCN_TEST_OK(scn_journal_open(island.hub.server->storage, name, NULL, &journal, NULL));
        const struct scn_journal_range range = {.from = 8, .to = 8};
        SCN_TEST_OK(scn_journal_read(journal, &range, &page, NULL));
        struct scn_checkpoint_reader *reader;
        struct scn_slice part;
        SCN_TEST_OK(scn_checkpoint_reader_create(journal, 8, &reader, NULL));
        SCN_TEST_OK(scn_checkpoint_reader_next(reader, &part, NULL));
        SCN_TEST_OK(scn_checkpoint_writer_create(journal, 8, 1, &writer, NULL));
        SCN_TEST_OK(scn_checkpoint_writer_append(writer, part, NULL));
        SCN_TEST_OK(scn_checkpoint_writer_finish(writer, scn_journal_page_get(page, 0)->digest, NULL));
        scn_checkpoint_writer_destroy(writer);
        scn_checkpoint_reader_destroy(reader);
        scn_journal_page_destroy(page);
        scn_journal_close(journal);
        ask_verify(&island);
        peer_expect_code(&island.peer, SCN_MESSAGE_failed, "corrupt");
        stop(&island);
        restart(&island);
        cr_assert_eq(island.hub.warnings_logged, 2, "%zu", island.hub.warnings_logged);
        cr_assert_eq(room_of(&island.hub)->durable, 8);
        cr_assert_eq(scn_document_nodes_count(room_of(&island.hub)->document), 9);
        finish(&island);
}

SCN_TEST(upkeep, lets_edits_through_while_a_checkpoint_is_made)
{
        struct island island;
        struct scn_op op = scene_add(1, 100, "first");
        start(&island);
        edit(&island, op);
        scn_room_gather(room_of(&island.hub), CHECKPOINT_DUE_BYTES);
        cr_assert_eq(island.hub.jobs_count, 1);
        struct scn_job *checkpoint = island.hub.jobs[0];
        island.hub.jobs_count = 0;
        edit(&island, scene_add(1, 101, "second"));
        checkpoint->run(checkpoint);
        edit(&island, scene_add(1, 102, "third"));
        checkpoint->done(checkpoint);
        /* What came meanwhile counts for the next one. */
        cr_assert_gt(room_of(&island.hub)->gathered_bytes, 0);
        edit(&island, scene_add(1, 103, "fourth"));
        cr_assert_eq(scn_test_sql(file_of(&island.hub), "SELECT rev FROM checkpoints"), 2);
        cr_assert_lt(room_of(&island.hub)->gathered_bytes, 3000);
        finish(&island);
}

SCN_TEST(upkeep, closes_a_room_only_when_its_checkpoint_has_ended)
{
        struct island island;
        start(&island);
        edit(&island, scene_add(1, 100, "first"));
        scn_room_gather(room_of(&island.hub), CHECKPOINT_DUE_BYTES);
        struct scn_job *checkpoint = island.hub.jobs[0];
        island.hub.jobs_count = 0;
        peer_close(&island.peer);
        island.hub.monotonic_ms += 2 * SCN_ROOM_IDLE_MS;
        scn_server_tick(island.hub.server);
        hub_run(&island.hub);
        cr_assert_not_null(island.hub.server->rooms);
        checkpoint->run(checkpoint);
        checkpoint->done(checkpoint);
        hub_run(&island.hub);
        cr_assert_null(island.hub.server->rooms);
        cr_assert_eq(count_checkpoints(&island.hub), 1);
        hub_finish(&island.hub);
}

SCN_TEST(upkeep, gives_a_checkpoint_up_when_the_server_stops)
{
        struct island island;
        start(&island);
        edit(&island, scene_add(1, 100, "first"));
        scn_room_gather(room_of(&island.hub), CHECKPOINT_DUE_BYTES);
        stop(&island);
        cr_assert_eq(count_checkpoints(&island.hub), 0);
        restart(&island);
        cr_assert_eq(room_of(&island.hub)->durable, 1);
        finish(&island);
}

SCN_TEST(upkeep, makes_a_checkpoint_of_less_when_a_room_closes)
{
        for (uint32_t i = 0; i < 2; i++) {
                struct island island;
                start(&island);
                edit(&island, scene_add(1, 100, "first"));
                scn_room_gather(room_of(&island.hub), SCN_CHECKPOINT_DUE_BYTES / 4 + i * 1000 - 500);
                cr_assert_eq(island.hub.jobs_count, 0);
                peer_close(&island.peer);
                island.hub.monotonic_ms += SCN_ROOM_IDLE_MS;
                scn_server_tick(island.hub.server);
                hub_run(&island.hub);
                cr_assert_null(island.hub.server->rooms);
                cr_assert_eq(count_checkpoints(&island.hub), i);
                hub_finish(&island.hub);
        }
}

SCN_TEST(upkeep, tries_a_checkpoint_that_failed_again_after_a_while)
{
        struct island island;
        start(&island);
        edit(&island, scene_add(1, 100, "first"));
        /* A name that is not a document's: it cannot be opened. */
        struct scn_slice name = room_of(&island.hub)->name;
        room_of(&island.hub)->name = scn_test_text("nowhere");
        scn_room_gather(room_of(&island.hub), CHECKPOINT_DUE_BYTES);
        hub_run(&island.hub);
        room_of(&island.hub)->name = name;
        cr_assert_eq(island.hub.warnings_logged, 1);
        scn_server_tick(island.hub.server);
        hub_run(&island.hub);
        cr_assert_eq(count_checkpoints(&island.hub), 0);
        island.hub.monotonic_ms += 61000;
        scn_server_tick(island.hub.server);
        hub_run(&island.hub);
        cr_assert_eq(count_checkpoints(&island.hub), 1);
        finish(&island);
}

SCN_TEST(upkeep, makes_checkpoints_by_itself_as_the_journal_grows_and_keeps_few)
{
        struct island island;
        static uint8_t value[60003];
        start(&island);
        value[0] = 0xc5;
        value[1] = 60000 >> 8;
        value[2] = 60000 & 0xff;
        edit(&island, scene_add(1, 100, "node"));
        for (uint32_t i = 0; i < 400; i++) {
                value[3] = (uint8_t)i;
                value[4] = (uint8_t)(i >> 8);
                edit(&island, scene_set(2, "k", (struct scn_slice){value, sizeof value}));
        }
        /* About 48 MB of journal, for what was before is kept too. */
        cr_assert_geq(count_checkpoints(&island.hub), 4);
        cr_assert_leq(count_checkpoints(&island.hub), 14);
        stop(&island);
        restart(&island);
        cr_assert_lt(room_of(&island.hub)->gathered_bytes, 2u << 20);
        finish(&island);
}

/* --- What time does --- */

#define DAY_US (UINT64_C(24) * 3600 * 1000000)

static void tick(struct hub *hub)
{
        scn_server_tick(hub->server);
        hub_run(hub);
}

static void pass_days(struct hub *hub, uint32_t days)
{
        hub->utc_us += days * DAY_US;
        hub->monotonic_ms += days * DAY_US / 1000;
}

static uint32_t count_trash(struct hub *hub)
{
        struct scn_storage_list list;
        SCN_TEST_OK(scn_storage_list(hub->server->storage, SCN_STORAGE_TRASH, &list, NULL));
        const uint32_t count = (uint32_t)list.count;
        scn_storage_list_finish(&list);
        return count;
}

static void trash_document(struct hub *hub, const char *name)
{
        const struct scn_storage_birth birth = {.uid = scene_uid(77), .created_us = 1};
        SCN_TEST_OK(scn_storage_create(hub->server->storage, scn_test_text(name), &birth, NULL));
        SCN_TEST_OK(scn_storage_delete(hub->server->storage, scn_test_text(name), (int64_t)hub->utc_us, NULL));
}

SCN_TEST(upkeep, empties_the_trash_at_the_start_and_once_a_day)
{
        struct hub hub;
        hub_start(&hub);
        tick(&hub);
        trash_document(&hub, "first");
        hub.utc_us += 29 * DAY_US;
        trash_document(&hub, "second");
        hub.utc_us += 2 * DAY_US;
        /* Not yet a day, as the host counts. */
        tick(&hub);
        cr_assert_eq(count_trash(&hub), 2);
        hub.monotonic_ms += DAY_US / 1000 - 1;
        tick(&hub);
        cr_assert_eq(count_trash(&hub), 2);
        hub.monotonic_ms += 1;
        tick(&hub);
        cr_assert_eq(count_trash(&hub), 1);
        hub.utc_us += 30 * DAY_US;
        hub_stop(&hub);
        hub_restart(&hub);
        tick(&hub);
        cr_assert_eq(count_trash(&hub), 0);
        hub_finish(&hub);
}

SCN_TEST(upkeep, forgets_clients_that_have_not_been_used_for_thirty_days)
{
        struct island island;
        struct peer other;
        struct scn_op op = scene_add(1, 101, "of bob");
        start(&island);
        peer_open(&other, &island.hub, 2, "bob", "island");
        peer_edit(&other, &op, 1);
        (void)peer_expect(&other, SCN_MESSAGE_applied);
        /* The journal tells clients of full windows of 1024 revisions apart. */
        for (uint32_t i = 0; i < 1030; i++) {
                op = scene_rename(1, i % 2 == 0 ? "even" : "odd");
                peer_edit(&island.peer, &op, 1);
        }
        hub_run(&island.hub);
        peer_drain(&island.peer);
        tick(&island.hub);
        pass_days(&island.hub, 29);
        edit(&island, scene_add(1, 102, "of ann"));
        tick(&island.hub);
        cr_assert_eq(scn_test_sql(file_of(&island.hub), "SELECT count(*) FROM clients WHERE forgotten = 1"), 0);
        pass_days(&island.hub, 2);
        tick(&island.hub);
        cr_assert_eq(scn_test_sql(file_of(&island.hub), "SELECT count(*) FROM clients WHERE forgotten = 1"), 1);
        cr_assert_eq(scn_test_sql(file_of(&island.hub), "SELECT author = 'bob' FROM clients WHERE forgotten = 1"), 1);
        /* Who is still here goes on. */
        op = scene_add(1, 103, "of bob");
        peer_edit(&other, &op, 1);
        (void)peer_expect(&other, SCN_MESSAGE_applied);
        cr_assert_eq(scn_test_sql(file_of(&island.hub), "SELECT count(*) FROM clients"), 3);
        peer_close(&other);
        finish(&island);
}
