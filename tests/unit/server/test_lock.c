/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Locks: what they keep others from, who holds them, and when they end. */

#include "protocol/wire/ops.h"
#include "server/live.h"
#include "tests/lib/live.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <time.h>

/* Ann locks, Bob is in her way, Cy looks on. Nodes: 2 boat, 3 mast under it, 4 flag under that, 5 quay. */
struct island {
        struct hub hub;
        struct peer ann;
        struct peer bob;
        struct peer cy;
};

static void edit(struct peer *peer, struct scn_op op)
{
        peer_edit(peer, &op, 1);
        (void)peer_expect(peer, SCN_MESSAGE_applied);
}

static void begin(struct island *island)
{
        hub_start(&island->hub);
        peer_open(&island->ann, &island->hub, 1, "ann", "island");
        peer_open(&island->bob, &island->hub, 2, "bob", "island");
        peer_open(&island->cy, &island->hub, 3, "cy", "island");
        edit(&island->cy, scene_add(1, 50, "boat"));
        edit(&island->cy, scene_add(2, 51, "mast"));
        edit(&island->cy, scene_add(3, 52, "flag"));
        edit(&island->cy, scene_add(1, 53, "quay"));
        live_view(&island->cy, 1, 1, SCN_MASK_LOCKS | SCN_MASK_PREVIEW);
}

static void finish(struct island *island)
{
        struct peer *peers[] = {&island->ann, &island->bob, &island->cy};
        for (size_t i = 0; i < 3; i++) {
                if (peers[i]->session != NULL) {
                        peer_close(peers[i]);
                }
        }
        hub_finish(&island->hub);
}

/* Refused whole, and the refusal names this node's lock as Ann's. */
static void expect_locked(struct peer *peer, const struct scn_op *ops, uint32_t count, uint32_t uid)
{
        peer_edit(peer, ops, count);
        const struct scn_message message = peer_expect(peer, SCN_MESSAGE_refused);
        cr_assert(scene_is_text(message.as.refused.code, "locked"), "%.*s", (int)message.as.refused.code.size,
                (const char *)message.as.refused.code.data);
        cr_assert(scn_uid_equal(message.as.refused.node, scene_uid(uid)));
        struct scn_unpacker detail = scn_unpacker_from(message.as.refused.detail);
        cr_assert_eq(scn_unpack_map(&detail), 2);
        cr_assert(scene_is_text(scn_unpack_text(&detail, 16), "holder"));
        cr_assert(scene_is_text(scn_unpack_text(&detail, 16), "ann"));
        cr_assert(scene_is_text(scn_unpack_text(&detail, 16), "session"));
        cr_assert_eq(scn_unpack_uint(&detail, UINT32_MAX), 1);
}

static void expect_one_locked(struct peer *peer, struct scn_op op, uint32_t uid)
{
        expect_locked(peer, &op, 1, uid);
}

/* --- What a lock keeps others from --- */

SCN_TEST(lock, refuses_anothers_edit_of_the_node_whole_and_names_the_holder)
{
        struct island island;
        begin(&island);
        live_lock(&island.ann, 3, 0, false);
        expect_one_locked(&island.bob, scene_rename(3, "pole"), 51);
        expect_one_locked(&island.bob, scene_translate(3, 1, 0, 0), 51);
        expect_one_locked(&island.bob, scene_set(3, "k", scene_integer(1)), 51);
        expect_one_locked(&island.bob, scene_move(3, 5), 51);
        expect_one_locked(&island.bob, scene_remove(3), 51);
        expect_one_locked(&island.bob, scene_remove(2), 51);
        const struct scn_op ops[] = {scene_rename(5, "pier"), scene_rename(3, "pole")};
        peer_edit(&island.bob, ops, 2);
        const struct scn_message message = peer_expect(&island.bob, SCN_MESSAGE_refused);
        cr_assert_eq(message.as.refused.op, 1);
        /* Its neighbours and ancestors are free, and so is what is beneath. */
        edit(&island.bob, scene_rename(5, "pier"));
        edit(&island.bob, scene_translate(2, 1, 0, 0));
        edit(&island.bob, scene_move(2, 5));
        edit(&island.bob, scene_rename(4, "pennant"));
        edit(&island.bob, scene_add(3, 60, "sail"));
        edit(&island.ann, scene_rename(3, "own"));
        finish(&island);
}

SCN_TEST(lock, covers_the_channels_it_names_and_no_others)
{
        struct island island;
        begin(&island);
        live_lock(&island.ann, 3, SCN_MASK_TRANSFORM, false);
        edit(&island.bob, scene_rename(3, "pole"));
        edit(&island.bob, scene_set(3, "k", scene_integer(1)));
        expect_one_locked(&island.bob, scene_translate(3, 1, 0, 0), 51);
        struct scn_op op = scene_move(3, 5);
        op.keep_world = true;
        edit(&island.cy, scene_translate(5, 7, 0, 0));
        expect_one_locked(&island.bob, op, 51);
        edit(&island.bob, scene_move(3, 5));
        expect_one_locked(&island.bob, scene_remove(3), 51);
        finish(&island);
}

SCN_TEST(lock, of_a_subtree_covers_what_is_beneath_and_what_would_come_or_go)
{
        struct island island;
        begin(&island);
        live_lock(&island.ann, 2, 0, true);
        expect_one_locked(&island.bob, scene_rename(4, "pennant"), 50);
        expect_one_locked(&island.bob, scene_add(3, 60, "sail"), 50);
        expect_one_locked(&island.bob, scene_move(5, 3), 50);
        expect_one_locked(&island.bob, scene_move(4, 5), 50);
        expect_one_locked(&island.bob, scene_remove(4), 50);
        const struct scn_op ops[] = {scene_move(4, 2), scene_move(3, 4)};
        expect_locked(&island.bob, ops, 2, 50);
        edit(&island.bob, scene_add(1, 61, "crane"));
        finish(&island);
}

/* One op must not slip out from under a lock what another has written. */
SCN_TEST(lock, is_not_evaded_by_taking_the_node_out_within_the_edit)
{
        struct island island;
        begin(&island);
        live_lock(&island.ann, 2, SCN_MASK_TRANSFORM | SCN_MASK_PROPERTIES, true);
        const struct scn_op out[] = {scene_translate(4, 1, 0, 0), scene_move(3, 5)};
        expect_locked(&island.bob, out, 2, 50);
        const struct scn_op gone[] = {scene_set(4, "k", scene_integer(1)), scene_remove(3)};
        expect_locked(&island.bob, gone, 2, 50);
        const struct scn_op harmless[] = {scene_rename(4, "pennant"), scene_move(3, 5)};
        peer_edit(&island.bob, harmless, 2);
        (void)peer_expect(&island.bob, SCN_MESSAGE_applied);
        edit(&island.bob, scene_translate(4, 1, 0, 0));
        finish(&island);
}

SCN_TEST(lock, refuses_anothers_undo_and_redo_without_using_up_the_step)
{
        struct island island;
        struct scn_message message;
        begin(&island);
        edit(&island.bob, scene_rename(3, "pole"));
        live_lock(&island.ann, 3, 0, false);
        for (int i = 0; i < 2; i++) {
                peer_undo(&island.bob, (struct peer_wish){0});
                message = peer_expect(&island.bob, SCN_MESSAGE_refused);
                cr_assert(scene_is_text(message.as.refused.code, "locked"));
                cr_assert(scn_uid_equal(message.as.refused.node, scene_uid(51)));
        }
        cr_assert_eq(live_unlock(&island.ann, 3), 1);
        peer_undo(&island.bob, (struct peer_wish){0});
        cr_assert_not(peer_expect(&island.bob, SCN_MESSAGE_applied).as.applied.unchanged);
        live_lock(&island.ann, 3, SCN_MASK_NAME, false);
        for (int i = 0; i < 2; i++) {
                peer_redo(&island.bob, 0);
                cr_assert(scene_is_text(peer_expect(&island.bob, SCN_MESSAGE_refused).as.refused.code, "locked"));
        }
        cr_assert_eq(live_unlock(&island.ann, 0), 1);
        peer_redo(&island.bob, 0);
        cr_assert_not(peer_expect(&island.bob, SCN_MESSAGE_applied).as.applied.unchanged);
        finish(&island);
}

/* --- Who holds it --- */

SCN_TEST(lock, is_all_or_nothing_and_collides_with_anothers_above_below_and_on_the_node)
{
        struct island island;
        const scn_node_id both[] = {5, 3};
        begin(&island);
        live_lock(&island.ann, 3, 0, true);
        const struct live_told told = live_expect(&island.cy);
        cr_assert_eq(told.locks_count, 1);
        cr_assert(scn_uid_equal(told.locks[0].node, scene_uid(51)));
        live_expect_no_lock(&island.bob, 2, "locked");
        live_expect_no_lock(&island.bob, 3, "locked");
        live_expect_no_lock(&island.bob, 4, "locked");
        live_ask_lock(&island.bob, (struct live_lock){.ids = both, .count = 2});
        peer_expect_code(&island.bob, SCN_MESSAGE_failed, "locked");
        edit(&island.cy, scene_rename(5, "not locked either"));
        /* A node alone is not in the way of one beneath it. */
        live_lock(&island.bob, 2, 0, false);
        finish(&island);
}

SCN_TEST(lock, of_other_channels_stands_beside_anothers)
{
        struct island island;
        begin(&island);
        live_lock(&island.ann, 3, SCN_MASK_TRANSFORM, false);
        live_lock(&island.bob, 3, SCN_MASK_NAME, false);
        expect_one_locked(&island.bob, scene_translate(3, 1, 0, 0), 51);
        edit(&island.bob, scene_rename(3, "mine"));
        struct scn_op op = scene_rename(3, "not yours");
        peer_edit(&island.ann, &op, 1);
        peer_expect_code(&island.ann, SCN_MESSAGE_refused, "locked");
        finish(&island);
}

SCN_TEST(lock, lets_the_authors_other_session_edit_and_take_it_over)
{
        struct island island;
        struct peer second;
        begin(&island);
        live_lock(&island.ann, 3, 0, false);
        (void)live_expect(&island.cy);
        peer_open(&second, &island.hub, 9, "ann", "island");
        edit(&second, scene_rename(3, "hers too"));
        live_lock(&second, 3, 0, false);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        const struct live_told told = live_expect(&island.cy);
        cr_assert_eq(told.locks_count, 2);
        cr_assert_null(told.locks[0].author.data, "the first one's is gone ...");
        cr_assert_eq(told.locks[0].session, 1);
        cr_assert_eq(told.locks[1].session, second.session->number, "... and is the second one's now");
        peer_close(&island.ann);
        live_wait(&island.hub, SCN_LOCK_GRACE_MS + 1);
        live_expect_no_lock(&island.bob, 3, "locked");
        peer_close(&second);
        finish(&island);
}

SCN_TEST(lock, is_renewed_by_its_holder)
{
        struct island island;
        const scn_node_id id = 3;
        begin(&island);
        live_ask_lock(&island.ann, (struct live_lock){.ids = &id, .count = 1, .ttl = 1});
        (void)peer_expect(&island.ann, SCN_MESSAGE_answer);
        live_wait(&island.hub, 900);
        live_ask_lock(&island.ann, (struct live_lock){.ids = &id, .count = 1, .ttl = 1});
        (void)peer_expect(&island.ann, SCN_MESSAGE_answer);
        live_wait(&island.hub, 900);
        live_expect_no_lock(&island.bob, 3, "locked");
        live_wait(&island.hub, 100);
        live_lock(&island.bob, 3, 0, false);
        finish(&island);
}

/* --- When it ends --- */

SCN_TEST(lock, ends_after_its_time_and_says_so)
{
        struct island island;
        const scn_node_id id = 3;
        begin(&island);
        live_ask_lock(&island.ann, (struct live_lock){.ids = &id, .count = 1, .ttl = 2});
        cr_assert_eq(live_expect(&island.cy).locks[0].left_ms, 2000);
        live_wait(&island.hub, 1999);
        expect_one_locked(&island.bob, scene_rename(3, "pole"), 51);
        live_wait(&island.hub, 1);
        const struct live_told told = live_expect(&island.cy);
        cr_assert_eq(told.locks_count, 1);
        cr_assert_null(told.locks[0].author.data);
        edit(&island.bob, scene_rename(3, "pole"));
        finish(&island);
}

SCN_TEST(lock, outlives_its_session_for_a_grace_in_which_its_author_takes_it_over)
{
        struct island island;
        begin(&island);
        live_lock(&island.ann, 3, 0, false);
        live_lock(&island.ann, 5, 0, false);
        peer_close(&island.ann);
        live_wait(&island.hub, SCN_LOCK_GRACE_MS - 1);
        expect_one_locked(&island.bob, scene_rename(3, "pole"), 51);
        peer_open(&island.ann, &island.hub, 1, "ann", "island");
        live_lock(&island.ann, 3, 0, false);
        live_wait(&island.hub, 1);
        edit(&island.bob, scene_rename(5, "free again"));
        live_expect_no_lock(&island.bob, 3, "locked");
        live_wait(&island.hub, 50000);
        live_expect_no_lock(&island.bob, 3, "locked");
        finish(&island);
}

SCN_TEST(lock, ends_with_its_node_and_does_not_come_back_with_it)
{
        struct island island;
        begin(&island);
        live_lock(&island.ann, 4, 0, false);
        (void)live_expect(&island.cy);
        edit(&island.ann, scene_remove(3));
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        cr_assert_null(live_expect(&island.cy).locks[0].author.data);
        peer_undo(&island.ann, (struct peer_wish){0});
        (void)peer_expect(&island.ann, SCN_MESSAGE_applied);
        struct scn_op op = scene_rename(0, "free");
        op.node = scene_ref(52);
        edit(&island.bob, op);
        finish(&island);
}

SCN_TEST(lock, is_given_up_by_any_session_of_its_author_and_by_nobody_else)
{
        struct island island;
        struct peer second;
        begin(&island);
        live_lock(&island.ann, 3, 0, false);
        live_lock(&island.ann, 5, 0, false);
        cr_assert_eq(live_unlock(&island.bob, 3), 0);
        expect_one_locked(&island.bob, scene_rename(3, "pole"), 51);
        peer_open(&second, &island.hub, 9, "ann", "island");
        cr_assert_eq(live_unlock(&second, 0), 0, "these are not of its session");
        cr_assert_eq(live_unlock(&second, 3), 1);
        edit(&island.bob, scene_rename(3, "pole"));
        cr_assert_eq(live_unlock(&island.ann, 0), 1);
        edit(&island.bob, scene_rename(5, "pier"));
        peer_close(&second);
        finish(&island);
}

/* --- Previews --- */

/* Moved into a locked subtree it shows on, but no newer value can come: then none is better than an old one. */
SCN_TEST(lock, is_given_up_with_as_many_others_as_the_author_holds_in_all_sessions)
{
        enum {
                EACH = 200,
                ALL = 2 * EACH
        };
        static struct scn_op ops[ALL];
        static scn_node_id ids[ALL];
        struct peer second;
        struct island island;
        begin(&island);
        for (uint32_t i = 0; i < ALL; i++) {
                ops[i] = scene_add(5, 0, NULL);
                ids[i] = 6 + i;
        }
        peer_edit(&island.ann, ops, ALL);
        (void)peer_expect(&island.ann, SCN_MESSAGE_applied);
        peer_open(&second, &island.hub, 9, "ann", "island");
        live_ask_lock(&island.ann, (struct live_lock){.ids = ids, .count = EACH});
        (void)peer_expect(&island.ann, SCN_MESSAGE_answer);
        live_ask_lock(&second, (struct live_lock){.ids = ids + EACH, .count = EACH});
        (void)peer_expect(&second, SCN_MESSAGE_answer);
        cr_assert_eq(live_unlock_all(&island.ann, ids, ALL), ALL);
        cr_assert_eq(live_unlock_all(&second, ids, ALL), 0);
        peer_close(&second);
        finish(&island);
}

SCN_TEST(lock, a_preview_that_is_kept_from_going_on_ends)
{
        struct island island;
        begin(&island);
        live_preview(&island.bob, 4, 1);
        cr_assert_eq(live_expect(&island.cy).previews_count, 1);
        live_lock(&island.ann, 5, SCN_MASK_TRANSFORM, true);
        edit(&island.cy, scene_move(4, 5));
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        (void)live_expect(&island.cy);
        live_preview(&island.bob, 4, 2);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        const struct live_told told = live_expect(&island.cy);
        cr_assert_eq(told.previews_count, 1);
        cr_assert_eq(told.previews[0].fields, 0);
        finish(&island);
}

SCN_TEST(lock, ends_previews_of_others_and_keeps_new_ones_out_in_silence)
{
        struct island island;
        struct scn_message message;
        begin(&island);
        live_preview(&island.bob, 4, 1);
        live_preview(&island.ann, 3, 1);
        cr_assert_eq(live_expect(&island.cy).previews_count, 2);
        live_lock(&island.ann, 2, SCN_MASK_NAME, true);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        cr_assert_eq(live_expect(&island.cy).previews_count, 0, "a lock of names is not in the way");
        live_lock(&island.ann, 2, SCN_MASK_TRANSFORM, true);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        const struct live_told told = live_expect(&island.cy);
        cr_assert_eq(told.previews_count, 1);
        cr_assert(scn_uid_equal(told.previews[0].node, scene_uid(52)));
        cr_assert_eq(told.previews[0].fields, 0);
        live_preview(&island.bob, 4, 2);
        cr_assert_not(peer_receive(&island.bob, &message));
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        live_expect_nothing(&island.cy);
        live_preview(&island.ann, 4, 3);
        cr_assert_eq(live_expect(&island.cy).previews_count, 1);
        finish(&island);
}

/* --- Limits --- */

SCN_TEST(lock, lasts_between_a_second_and_an_hour)
{
        static const struct {
                uint64_t ttl;
                bool is_good;
        } cases[] = {{1, true}, {SCN_LIVE_lock_ttl_max, true}, {SCN_LIVE_lock_ttl_max + 1, false}};
        struct island island;
        const scn_node_id id = 3;
        begin(&island);
        for (size_t i = 0; i < 3; i++) {
                live_ask_lock(&island.ann, (struct live_lock){.ids = &id, .count = 1, .ttl = cases[i].ttl});
                if (cases[i].is_good) {
                        (void)peer_expect(&island.ann, SCN_MESSAGE_answer);
                } else {
                        peer_expect_text(
                                &island.ann, SCN_MESSAGE_failed, "lock.ttl: from 1 second to lock_ttl_max = 3600");
                }
        }
        live_ask_lock(&island.ann, (struct live_lock){.ids = &id, .count = 1, .mask = SCN_MASK_PRESENCE});
        peer_expect_code(&island.ann, SCN_MESSAGE_failed, "range");
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_lock);
        message.as.lock.request = 1;
        message.as.lock.nodes = (struct scn_slice){(const uint8_t *)"\x91\x03", 2};
        message.as.lock.ttl = 0;
        peer_send(&island.ann, &message);
        peer_expect_code(&island.ann, SCN_MESSAGE_failed, "range");
        const scn_node_id never = 99;
        live_ask_lock(&island.ann, (struct live_lock){.ids = &never, .count = 1});
        peer_expect_code(&island.ann, SCN_MESSAGE_failed, "no_node");
        finish(&island);
}

/* The processor's time for one turn of the server, which has an edit to take. */
static double time_turn(struct island *island, const struct scn_op *ops, uint32_t count)
{
        peer_edit(&island->bob, ops, count);
        const clock_t began = clock();
        scn_server_turn(island->hub.server);
        const clock_t ended = clock();
        (void)peer_expect(&island->bob, SCN_MESSAGE_applied);
        return (double)(ended - began) / CLOCKS_PER_SEC;
}

/* An edit can have two million ops, and a node a thousand above it: a walk for each would take a minute. */
SCN_TEST_WITH(lock, costs_an_edit_of_deep_nodes_no_walk_to_the_root_for_each_op, .timeout = 100)
{
        enum {
                DEPTH = 1000,
                OPS = 100000
        };
        static struct scn_op ops[OPS];
        struct island island;
        begin(&island);
        for (uint32_t i = 0; i < DEPTH; i++) {
                ops[i] = scene_add(5 + i, 100 + i, NULL);
        }
        peer_edit(&island.bob, ops, DEPTH);
        (void)peer_expect(&island.bob, SCN_MESSAGE_applied);
        for (uint32_t i = 0; i < OPS; i++) {
                ops[i] = scene_rename(5 + DEPTH, i % 2 == 0 ? "a" : "b");
        }
        const double without = time_turn(&island, ops, OPS);
        live_lock(&island.ann, 3, 0, true);
        const double with = time_turn(&island, ops, OPS);
        cr_assert_lt(with, 5 * without, "%g s, and %g s without locks", with, without);
        finish(&island);
}

/* Asks for this array of nodes. */
static void ask_nodes(struct peer *peer, const char *nodes, uint32_t size)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_lock);
        message.as.lock.request = 3;
        message.as.lock.nodes = (struct scn_slice){(const uint8_t *)nodes, size};
        peer_send(peer, &message);
}

static void give_up_nodes(struct peer *peer, const char *nodes, uint32_t size)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_unlock);
        message.as.unlock.request = 4;
        message.as.unlock.nodes = (struct scn_slice){(const uint8_t *)nodes, size};
        peer_send(peer, &message);
}

SCN_TEST(lock, that_is_refused_says_once_what_is_wrong_with_which_node)
{
        static scn_node_id ids[SCN_LIVE_locks_max + 1];
        char wanted[200];
        struct island island;
        begin(&island);
        for (uint32_t i = 0; i <= SCN_LIVE_locks_max; i++) {
                ids[i] = 2;
        }
        live_ask_lock(&island.ann, (struct live_lock){.ids = ids, .count = SCN_LIVE_locks_max + 1});
        (void)snprintf(wanted, sizeof wanted, "%s, locks_max = 256, room_locks_max = 16384",
                scn_error_text(SCN_E_TOO_MANY_LOCKS));
        peer_expect_text(&island.ann, SCN_MESSAGE_failed, wanted);
        ask_nodes(&island.ann, "\x92\xa5/boat\xa2/x", 10);
        peer_expect_text(&island.ann, SCN_MESSAGE_failed, "node /x: no node has this path");
        /* The second is no reference at all: the first is not to blame. */
        ask_nodes(&island.ann, "\x92\xa5/boat\xc3", 8);
        peer_expect_text(
                &island.ann, SCN_MESSAGE_failed, "lock.nodes: wants an array of nodes, each an id, a uid or a path");
        ask_nodes(&island.ann, "\x03", 1);
        peer_expect_text(
                &island.ann, SCN_MESSAGE_failed, "lock.nodes: wants an array of nodes, each an id, a uid or a path");
        give_up_nodes(&island.ann, "\x91\xc3", 2);
        peer_expect_text(
                &island.ann, SCN_MESSAGE_failed, "unlock.nodes: wants an array of nodes, each an id, a uid or a path");
        give_up_nodes(&island.ann, "\x91\xff", 2);
        peer_expect_text(&island.ann, SCN_MESSAGE_failed, "unlock.nodes: a number is outside the range of its field");
        finish(&island);
}

SCN_TEST_WITH(lock, there_are_so_many_a_session_and_a_document_and_no_more, .timeout = 100)
{
        enum {
                HOLDERS = SCN_LIVE_room_locks_max / SCN_LIVE_locks_max
        };
        static struct scn_op ops[SCN_LIVE_room_locks_max + 1];
        static struct peer holders[HOLDERS + 1];
        static scn_node_id ids[SCN_LIVE_locks_max + 1];
        struct island island;
        begin(&island);
        for (uint32_t i = 0; i <= SCN_LIVE_room_locks_max; i++) {
                ops[i] = scene_add(5, 0, NULL);
        }
        peer_edit(&island.ann, ops, SCN_LIVE_room_locks_max + 1); /* ids from 6 on */
        (void)peer_expect(&island.ann, SCN_MESSAGE_applied);
        for (uint32_t i = 0; i < HOLDERS; i++) {
                for (uint32_t j = 0; j <= SCN_LIVE_locks_max; j++) {
                        ids[j] = 6 + i * SCN_LIVE_locks_max + j;
                }
                peer_open(&holders[i], &island.hub, 20 + i, "robot", "island");
                live_ask_lock(&holders[i], (struct live_lock){.ids = ids, .count = SCN_LIVE_locks_max + 1});
                peer_expect_code(&holders[i], SCN_MESSAGE_failed, "too_many_locks");
                live_ask_lock(&holders[i], (struct live_lock){.ids = ids, .count = SCN_LIVE_locks_max});
                (void)peer_expect(&holders[i], SCN_MESSAGE_answer);
                live_ask_lock(&holders[i], (struct live_lock){.ids = ids + SCN_LIVE_locks_max, .count = 1});
                peer_expect_code(&holders[i], SCN_MESSAGE_failed, "too_many_locks");
        }
        const scn_node_id last = 6 + SCN_LIVE_room_locks_max;
        live_ask_lock(&island.ann, (struct live_lock){.ids = &last, .count = 1});
        peer_expect_code(&island.ann, SCN_MESSAGE_failed, "too_many_locks");
        cr_assert_eq(live_unlock(&holders[0], 6), 1);
        live_ask_lock(&island.ann, (struct live_lock){.ids = &last, .count = 1});
        (void)peer_expect(&island.ann, SCN_MESSAGE_answer);
        for (uint32_t i = 0; i < HOLDERS; i++) {
                peer_close(&holders[i]);
        }
        finish(&island);
}
