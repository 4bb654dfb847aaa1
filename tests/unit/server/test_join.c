/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Joining, a view's rate, and what all sessions together may have under way (DESIGN §5). */

#include "protocol/base/alloc.h"
#include "protocol/wire/columns.h"
#include "server/core.h"
#include "tests/lib/held.h"
#include "tests/lib/hub.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

#define NODES 4000u /* few enough that the loop does all itself */

static void ask_view(struct peer *peer, uint64_t rate)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_view);
        message.as.view.request = 7;
        message.as.view.view = 1;
        message.as.view.root = scene_path("/");
        message.as.view.mask = SCN_MASK_ALL;
        message.as.view.rate = rate;
        peer_send(peer, &message);
}

/* A document of many nodes, made by Ann in one edit. */
static void fill(struct hub *hub, struct peer *ann)
{
        struct scn_op *ops = calloc(NODES, sizeof *ops);
        cr_assert_not_null(ops);
        for (uint32_t i = 0; i < NODES; i++) {
                ops[i] = scene_add(1, 50 + i, "a node");
        }
        hub_start(hub);
        peer_open(ann, hub, 1, "ann", "test");
        peer_edit(ann, ops, NODES);
        (void)peer_expect(ann, SCN_MESSAGE_applied);
        free(ops);
}

static void edit(struct peer *ann, struct scn_op op)
{
        peer_edit(ann, &op, 1);
        (void)peer_expect(ann, SCN_MESSAGE_applied);
}

static const struct scn_view_group *group_of(const struct hub *hub)
{
        return hub->server->rooms->groups;
}

SCN_TEST(join, of_500_at_once_costs_little_more_memory_than_one_snapshot)
{
        enum {
                JOINERS = 500
        };
        static struct peer peers[JOINERS];
        struct hub hub;
        struct peer ann;
        fill(&hub, &ann);
        for (uint32_t i = 0; i < JOINERS; i++) {
                peer_open(&peers[i], &hub, 100 + i, "joiner", "test");
        }
        const uint64_t before = scn_alloc_stats().live_bytes;
        for (uint32_t i = 0; i < JOINERS; i++) {
                ask_view(&peers[i], SCN_ABSENT);
        }
        hub_run(&hub);
        const uint64_t snapshot = group_of(&hub)->snapshot.bytes;
        const uint64_t grown = scn_alloc_stats().live_bytes - before;
        cr_log_info("%d joiners: %llu bytes more, a snapshot has %llu", JOINERS, (unsigned long long)grown,
                (unsigned long long)snapshot);
        cr_assert_gt(snapshot, NODES * 20u);
        cr_assert_lt(grown, 5 * snapshot);
        struct held held;
        hold(&held);
        take_deltas(&peers[JOINERS - 1], &held);
        cr_assert(has_digest(held.replica, ask_digest(&peers[JOINERS - 1])));
        let_go(&held);
        for (uint32_t i = 0; i < JOINERS; i++) {
                peer_close(&peers[i]);
        }
        peer_close(&ann);
        hub_finish(&hub);
}

SCN_TEST(join, gets_the_snapshot_that_is_there_and_what_has_changed_since)
{
        struct hub hub;
        struct peer ann;
        struct peer bob;
        struct peer cy;
        struct held held;
        fill(&hub, &ann);
        peer_open(&bob, &hub, 2, "bob", "test");
        peer_open(&cy, &hub, 3, "cy", "test");
        ask_view(&bob, SCN_ABSENT);
        (void)peer_expect(&bob, SCN_MESSAGE_delta);
        const struct scn_shared_bytes *part = group_of(&hub)->snapshot.parts[0];
        edit(&ann, scene_rename(2, "renamed"));
        edit(&ann, scene_remove(3));
        ask_view(&cy, SCN_ABSENT);
        (void)peer_expect(&cy, SCN_MESSAGE_viewed);
        cr_assert_eq(group_of(&hub)->snapshot.parts[0], part, "the same is sent");
        hold(&held);
        cr_assert(take_delta(&cy, &held));
        cr_assert_eq(scn_document_revision(held.replica), 1);
        cr_assert(take_delta(&cy, &held));
        cr_assert_eq(scn_document_revision(held.replica), 3);
        cr_assert(has_digest(held.replica, ask_digest(&cy)));
        /* Too much has changed: a new one. */
        struct scn_op *ops = calloc(NODES / 2, sizeof *ops);
        for (uint32_t i = 0; i < NODES / 2; i++) {
                ops[i] = scene_rename(4 + i, "has got another name");
        }
        peer_edit(&ann, ops, NODES / 2);
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        free(ops);
        peer_close(&bob);
        peer_open(&bob, &hub, 4, "bob", "test");
        ask_view(&bob, SCN_ABSENT);
        (void)peer_expect(&bob, SCN_MESSAGE_delta);
        cr_assert_eq(group_of(&hub)->snapshot.to, 4);
        take_deltas(&cy, &held);
        cr_assert(has_digest(held.replica, ask_digest(&cy)));
        let_go(&held);
        peer_close(&ann);
        peer_close(&bob);
        peer_close(&cy);
        hub_finish(&hub);
}

SCN_TEST(join, does_not_keep_a_snapshot_that_nobody_asks_for)
{
        struct hub hub;
        struct peer ann;
        fill(&hub, &ann);
        ask_view(&ann, SCN_ABSENT);
        (void)peer_expect(&ann, SCN_MESSAGE_viewed);
        cr_assert_gt(group_of(&hub)->snapshot.count, 0);
        hub.monotonic_ms += SCN_SNAPSHOT_IDLE_MS;
        scn_server_tick(hub.server);
        cr_assert_gt(group_of(&hub)->snapshot.count, 0);
        hub.monotonic_ms += 1;
        scn_server_tick(hub.server);
        cr_assert_eq(group_of(&hub)->snapshot.count, 0);
        peer_close(&ann);
        hub_finish(&hub);
}

/* Who was away while nearly everything changed is better off with the whole. */
SCN_TEST(join, replaces_a_delta_of_more_than_half_the_snapshot_by_the_snapshot)
{
        struct hub hub;
        struct peer ann;
        struct peer bob;
        struct held held;
        struct scn_message message;
        fill(&hub, &ann);
        peer_open(&bob, &hub, 2, "bob", "test");
        ask_view(&bob, SCN_ABSENT);
        hold(&held);
        take_deltas(&bob, &held);
        bob.does_not_read = true;
        edit(&ann, scene_rename(2, "so that something is under way"));
        struct scn_op *ops = calloc(NODES, sizeof *ops);
        for (uint32_t i = 0; i < NODES; i++) {
                ops[i] = scene_rename(2 + i, "a name that is longer than what all the rest of the node takes there");
        }
        peer_edit(&ann, ops, NODES);
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        free(ops);
        bob.does_not_read = false;
        cr_assert(peer_receive(&bob, &message));
        cr_assert_eq(message.as.delta.back, 1);
        cr_assert(peer_receive(&bob, &message));
        cr_assert_eq(message.as.delta.back, message.as.delta.to, "whole");
        peer_close(&ann);
        peer_close(&bob);
        let_go(&held);
        hub_finish(&hub);
}

SCN_TEST(view, has_no_more_deltas_a_second_than_its_rate_and_each_says_all)
{
        struct hub hub;
        struct peer ann;
        struct peer bob;
        struct scn_message message;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "test");
        peer_open(&bob, &hub, 2, "bob", "test");
        edit(&ann, scene_add(1, 50, "boat"));
        ask_view(&bob, 4);
        (void)peer_expect(&bob, SCN_MESSAGE_delta);
        uint32_t count = 0;
        uint64_t to = 0;
        for (int i = 0; i < 1000; i++) {
                hub.monotonic_ms += 10;
                edit(&ann, scene_translate(2, (float)(i + 1), 0, 0));
                while (peer_receive(&bob, &message)) {
                        cr_assert_eq(message.kind, SCN_MESSAGE_delta);
                        count++;
                        to = message.as.delta.to;
                }
        }
        cr_assert_eq(count, 40, "%u in ten seconds", count);
        /* What is left comes when its time has come, also when nothing happens any more. */
        hub.monotonic_ms += 250;
        while (peer_receive(&bob, &message)) {
                to = message.as.delta.to;
        }
        cr_assert_eq(to, 1001);
        peer_close(&ann);
        peer_close(&bob);
        hub_finish(&hub);
}

static bool has_delta(struct peer *peer)
{
        struct scn_message message;
        bool has_it = false;
        while (peer_receive(peer, &message)) {
                has_it = has_it || message.kind == SCN_MESSAGE_delta;
        }
        return has_it;
}

SCN_TEST(output, of_all_sessions_has_a_limit_at_which_views_and_questions_wait_their_turn)
{
        struct hub hub;
        struct peer ann;
        struct peer slow;
        struct peer next;
        struct scn_message message;
        fill(&hub, &ann);
        peer_close(&ann);
        hub_stop(&hub);
        hub.output_bytes_max = 64u << 10;
        hub_restart(&hub);
        peer_open(&ann, &hub, 1, "ann", "test");
        peer_open(&slow, &hub, 2, "slow", "test");
        peer_open(&next, &hub, 3, "next", "test");
        slow.does_not_read = true;
        ask_view(&slow, SCN_ABSENT);
        hub_run(&hub);
        cr_assert_gt(hub.server->output_bytes, 64u << 10);
        /* One view is under way and not read: others wait, edits are answered all the same. */
        ask_view(&next, SCN_ABSENT);
        cr_assert_not(has_delta(&next));
        edit(&ann, scene_rename(2, "renamed"));
        cr_assert_not(has_delta(&next));
        scn_message_init(&message, SCN_MESSAGE_log);
        message.as.log.request = 9;
        peer_send(&next, &message);
        hub_run(&hub);
        cr_assert_not(peer_receive(&next, &message), "a question about the past waits, too");
        slow.does_not_read = false;
        while (peer_receive(&slow, &message)) {
        }
        cr_assert(has_delta(&next));
        cr_assert(has_delta(&slow), "and what it has missed meanwhile");
        peer_close(&slow);
        peer_close(&next);
        peer_close(&ann);
        cr_assert_eq(hub.server->output_bytes, 0);
        hub_finish(&hub);
}

/* Each could otherwise have the whole document under way. */
SCN_TEST(output, of_all_sessions_has_a_limit_for_questions_about_the_present_too)
{
        enum {
                ASKERS = 6
        };
        static const enum scn_message_kind kinds[] = {SCN_MESSAGE_tree, SCN_MESSAGE_who};
        const size_t limit = 64u << 10;
        struct hub hub;
        struct peer ann;
        struct peer askers[ASKERS];
        struct scn_message message;
        fill(&hub, &ann);
        peer_close(&ann);
        hub_stop(&hub);
        hub.output_bytes_max = limit;
        hub_restart(&hub);
        peer_open(&ann, &hub, 1, "ann", "test");
        for (uint32_t i = 0; i < ASKERS; i++) {
                peer_open(&askers[i], &hub, 2 + i, "asker", "test");
                askers[i].does_not_read = true;
        }
        for (uint32_t i = 0; i < ASKERS; i++) {
                scn_message_init(&message, kinds[i / 4]);
                message.as.tree.request = 7;
                peer_send(&askers[i], &message);
                cr_assert_eq(askers[i].session->outbox_bytes > 0, i == 0, "asker %u", i);
        }
        cr_assert_gt(hub.server->output_bytes, limit);
        edit(&ann, scene_rename(2, "renamed"));
        uint32_t answered_count = 0;
        for (uint32_t i = 0; i < ASKERS * ASKERS; i++) {
                askers[i % ASKERS].does_not_read = false;
                while (peer_receive(&askers[i % ASKERS], &message)) {
                        answered_count += message.kind == SCN_MESSAGE_answer && !message.as.answer.more;
                }
        }
        cr_assert_eq(answered_count, ASKERS);
        for (uint32_t i = 0; i < ASKERS; i++) {
                peer_close(&askers[i]);
        }
        peer_close(&ann);
        hub_finish(&hub);
}

/* Who has many questions and reads fast would have all of the room. */
SCN_TEST(output, that_is_scarce_goes_to_all_who_wait_in_turn)
{
        enum {
                ASKERS = 3,
                QUESTIONS = 12
        };
        struct hub hub;
        struct peer ann;
        struct peer askers[ASKERS];
        uint32_t answered[ASKERS] = {0};
        struct scn_slice slices[64];
        struct scn_message message;
        fill(&hub, &ann);
        peer_close(&ann);
        hub_stop(&hub);
        hub.output_bytes_max = 64u << 10;
        hub_restart(&hub);
        for (uint32_t i = 0; i < ASKERS; i++) {
                peer_open(&askers[i], &hub, 2 + i, "asker", "test");
                for (uint64_t j = 0; j < QUESTIONS; j++) {
                        scn_message_init(&message, SCN_MESSAGE_tree);
                        message.as.tree.request = j;
                        peer_send(&askers[i], &message);
                }
        }
        for (uint32_t i = 0; i < ASKERS * QUESTIONS / 2; i++) {
                for (uint32_t j = 0; j < ASKERS; j++) {
                        size_t bytes = 0;
                        const size_t count = scn_session_output(askers[j].session, slices, 64);
                        for (size_t k = 0; k < count; k++) {
                                bytes += slices[k].size;
                        }
                        answered[j] += count > 0;
                        scn_session_sent(askers[j].session, bytes);
                        scn_server_turn(hub.server);
                }
        }
        for (uint32_t i = 0; i < ASKERS; i++) {
                cr_assert_geq(answered[i], QUESTIONS / 2, "asker %u: %u", i, answered[i]);
                peer_close(&askers[i]);
        }
        hub_finish(&hub);
}

/* Questions that were asked ahead are not answered ahead of the reader. */
SCN_TEST(output, of_one_session_has_a_limit_however_many_questions_wait)
{
        struct hub hub;
        struct peer ann;
        struct scn_message message;
        fill(&hub, &ann);
        ann.does_not_read = true;
        for (uint64_t i = 0; i < 40; i++) {
                scn_message_init(&message, SCN_MESSAGE_tree);
                message.as.tree.request = 1000 + i;
                peer_send(&ann, &message);
        }
        hub_run(&hub);
        const size_t most = ann.session->outbox_bytes;
        cr_assert_lt(most, SCN_INBOX_BYTES_MAX + (4u << 20), "%zu", most);
        ann.does_not_read = false;
        uint64_t next = 1000;
        while (peer_receive(&ann, &message)) {
                if (message.kind == SCN_MESSAGE_answer && !message.as.answer.more) {
                        cr_assert_eq(message.as.answer.request, next++);
                }
        }
        cr_assert_eq(next, 1040);
        peer_close(&ann);
        hub_finish(&hub);
}

/* Where things are, for who holds no hierarchy. */
SCN_TEST(view, of_worlds_tells_matrices_when_an_ancestor_moves_and_nothing_of_names)
{
        struct hub hub;
        struct peer ann;
        struct peer robot;
        struct scn_message message;
        struct scn_delta delta = {0};
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "test");
        peer_open(&robot, &hub, 2, "robot", "test");
        edit(&ann, scene_add(1, 50, "boat"));
        edit(&ann, scene_add(2, 51, "lantern"));
        scn_message_init(&message, SCN_MESSAGE_view);
        message.as.view.request = 7;
        message.as.view.view = 1;
        message.as.view.root = scene_path("/boat");
        message.as.view.mask = SCN_MASK_WORLD;
        peer_send(&robot, &message);
        message = peer_expect(&robot, SCN_MESSAGE_delta);
        cr_assert_eq(scn_columns_decode(message.as.delta.columns, &delta), SCN_OK);
        cr_assert_eq(delta.nodes_count, 2);
        cr_assert_eq(delta.worlds_count, 2);
        scn_delta_finish(&delta);
        edit(&ann, scene_rename(3, "lamp"));
        cr_assert_not(peer_receive(&robot, &message), "a name is nothing to it");
        /* Above the view. */
        edit(&ann, scene_translate(1, 5, 0, 0));
        message = peer_expect(&robot, SCN_MESSAGE_delta);
        cr_assert_eq(message.as.delta.back, 2, "since what it was told last");
        cr_assert_eq(scn_columns_decode(message.as.delta.columns, &delta), SCN_OK);
        cr_assert_eq(delta.nodes_count, 0);
        cr_assert_eq(delta.worlds_count, 2);
        cr_assert_eq(delta.worlds[1].world.m[3], 5.0f);
        scn_delta_finish(&delta);
        edit(&ann, scene_move(3, 1));
        message = peer_expect(&robot, SCN_MESSAGE_delta);
        cr_assert_eq(scn_columns_decode(message.as.delta.columns, &delta), SCN_OK);
        cr_assert_eq(delta.left_count, 1);
        cr_assert_eq(delta.worlds_count, 0);
        scn_delta_finish(&delta);
        peer_close(&ann);
        peer_close(&robot);
        hub_finish(&hub);
}
