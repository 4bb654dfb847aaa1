/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Whom a room is lent for next: whoever waits comes in turn, however much the others go on asking for. */

#include "tests/lib/stand.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EDITS 8u

/* Until nothing is under way to it. */
static void settle(struct peer *peer)
{
        struct scn_message message;
        while (peer_receive(peer, &message)) {
        }
}

/* Moves all that was added, so that the edit and each delta of it is long. */
static void move_all(struct peer *peer, float x)
{
        struct scn_op *ops = calloc(SCN_LONG_NODES, sizeof *ops);
        cr_assert_not_null(ops);
        for (uint32_t i = 0; i < SCN_LONG_NODES; i++) {
                ops[i] = scene_translate(2 + i, x, 0, 0);
        }
        peer_edit(peer, ops, SCN_LONG_NODES);
        free(ops);
}

/* The document is large, and two watch it with these masks: Ben from the beginning, Dee later. */
static void begin_with_views(struct stand *stand, struct peer *dee, uint32_t ben_mask, uint32_t dee_mask)
{
        stand_begin(stand);
        peer_open(dee, &stand->hub, 4, "dee", "large");
        stand_add_nodes(&stand->ann, 1, 50, SCN_LONG_NODES);
        (void)peer_expect(&stand->ann, SCN_MESSAGE_applied);
        stand_ask_view(&stand->ben, 1, ben_mask);
        (void)peer_expect(&stand->ben, SCN_MESSAGE_delta);
        stand_ask_view(dee, 1, dee_mask);
        (void)peer_expect(dee, SCN_MESSAGE_delta);
        settle(&stand->ben);
        settle(dee);
}

/* One long edit after the other, of which the next one always waits already. Both are told of every second one. */
static void expect_told_while_editing(struct stand *stand, struct peer *dee)
{
        uint32_t sent = 0;
        uint32_t applied = 0;
        uint32_t ben_deltas = 0;
        uint32_t dee_deltas = 0;
        while (applied < EDITS) {
                for (; sent < applied + 2; sent++) {
                        move_all(&stand->ann, (float)sent + 1);
                }
                cr_assert(hub_step(&stand->hub));
                applied += stand_count_now(&stand->ann, SCN_MESSAGE_applied);
                ben_deltas += stand_count_now(&stand->ben, SCN_MESSAGE_delta);
                dee_deltas += stand_count_now(dee, SCN_MESSAGE_delta);
        }
        cr_assert_geq(ben_deltas, EDITS / 2 - 1);
        cr_assert_geq(dee_deltas, EDITS / 2 - 1);
}

SCN_TEST(loan, is_made_for_one_view_after_the_other_while_long_edits_go_on)
{
        static struct stand stand;
        struct peer dee;
        begin_with_views(&stand, &dee, SCN_MASK_ALL, SCN_MASK_TRANSFORM);
        expect_told_while_editing(&stand, &dee);
        peer_close(&dee);
        stand_end(&stand);
}

SCN_TEST(loan, is_made_for_one_that_has_seen_less_while_long_edits_go_on)
{
        static struct stand stand;
        struct peer dee;
        begin_with_views(&stand, &dee, SCN_MASK_ALL, SCN_MASK_ALL);
        /* Dee takes nothing for a while, and lags behind Ben from then on. */
        for (uint32_t i = 0; i < 2; i++) {
                move_all(&stand.ann, 100 + (float)i);
                (void)peer_expect(&stand.ann, SCN_MESSAGE_applied);
                (void)peer_expect(&stand.ben, SCN_MESSAGE_delta);
        }
        expect_told_while_editing(&stand, &dee);
        peer_close(&dee);
        stand_end(&stand);
}

SCN_TEST(loan, is_made_for_each_session_that_edits_in_turn)
{
        static struct stand stand;
        stand_begin(&stand);
        const struct scn_op op = scene_rename(1, "short");
        peer_edit(&stand.ben, &op, 1);
        stand_add_nodes(&stand.ben, 1, 50 + SCN_LONG_NODES, SCN_LONG_NODES);
        stand_add_nodes(&stand.ann, 1, 50, SCN_LONG_NODES);
        stand_add_nodes(&stand.ann, 1, 50 + 2 * SCN_LONG_NODES, SCN_LONG_NODES);
        cr_assert_eq(peer_expect(&stand.ben, SCN_MESSAGE_applied).as.applied.rev, 1);
        cr_assert_eq(peer_expect(&stand.ben, SCN_MESSAGE_applied).as.applied.rev, 3);
        cr_assert_eq(peer_expect(&stand.ann, SCN_MESSAGE_applied).as.applied.rev, 2);
        cr_assert_eq(peer_expect(&stand.ann, SCN_MESSAGE_applied).as.applied.rev, 4);
        stand_end(&stand);
}

/* --- Questions --- */

SCN_TEST(loan, is_made_for_each_session_that_asks_in_turn)
{
        static struct stand stand;
        stand_begin(&stand);
        stand_add_nodes(&stand.ann, 1, 50, SCN_LONG_NODES);
        (void)peer_expect(&stand.ann, SCN_MESSAGE_applied);
        settle(&stand.ann);
        for (uint64_t i = 0; i < 6; i++) {
                stand_ask(&stand.ben, SCN_MESSAGE_tree, 5 + i);
        }
        stand_ask(&stand.ann, SCN_MESSAGE_tree, 5);
        for (uint32_t i = 0; i < 2; i++) {
                cr_assert(hub_step(&stand.hub));
        }
        cr_assert(stand_has_now(&stand.ann, SCN_MESSAGE_answer));
        stand_end(&stand);
}

static void open_rooms(struct stand *stand, struct peer *peers, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                char name[16];
                (void)snprintf(name, sizeof name, "room%u", i);
                peer_open(&peers[i], &stand->hub, 10 + i, "many", name);
                stand_add_nodes(&peers[i], 1, 50, SCN_LONG_NODES);
                (void)peer_expect(&peers[i], SCN_MESSAGE_applied);
                settle(&peers[i]);
        }
}

static void close_rooms(struct peer *peers, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                peer_close(&peers[i]);
        }
}

/* In each of some documents somebody asks one long question after the other; in one more somebody asks one, edits at
 * length, and joins. The older that document is, the later it stands in all lists. */
SCN_TEST(loan, is_made_for_each_room_in_turn)
{
        static struct stand stand;
        struct peer peers[SCN_LOANS_MAX + 1];
        const struct peer *waiting = &peers[0];
        stand_begin(&stand);
        open_rooms(&stand, peers, SCN_LOANS_MAX + 1);
        for (uint64_t i = 0; i < 8; i++) {
                for (uint32_t k = 1; k <= SCN_LOANS_MAX; k++) {
                        stand_ask(&peers[k], SCN_MESSAGE_tree, 5 + i);
                }
        }
        cr_assert_eq(stand.hub.server->loans_count, SCN_LOANS_MAX);
        stand_ask(&peers[0], SCN_MESSAGE_tree, 5);
        stand_add_nodes(&peers[0], 1, 50 + SCN_LONG_NODES, SCN_LONG_NODES);
        stand_ask_view(&peers[0], 1, SCN_MASK_ALL);
        uint32_t loans = 0;
        uint32_t answers = 0;
        for (uint32_t step = 0; step < 6 * (SCN_LOANS_MAX + 1) && loans < 3; step++) {
                const bool was_lent = stand_room_of(waiting)->loan != NULL;
                cr_assert(hub_step(&stand.hub));
                loans += was_lent && stand_room_of(waiting)->loan == NULL;
                answers += stand_count_now(&peers[0], SCN_MESSAGE_answer);
        }
        cr_assert_eq(loans, 3, "question, edit and join were done after %u", loans);
        cr_assert_geq(answers, 1);
        cr_assert_eq(stand.hub.server->loans_count, SCN_LOANS_MAX, "the others still ask");
        close_rooms(peers, SCN_LOANS_MAX + 1);
        stand_end(&stand);
}

SCN_TEST(loan, is_not_made_for_a_question_about_little_of_a_large_document)
{
        static struct stand stand;
        struct scn_message message;
        stand_begin(&stand);
        stand_add_nodes(&stand.ann, 1, 50, SCN_LONG_NODES);
        (void)peer_expect(&stand.ann, SCN_MESSAGE_applied);
        const struct scn_op op = scene_rename(2, "leaf");
        peer_edit(&stand.ann, &op, 1);
        scn_server_turn(stand.hub.server);
        cr_assert_not_null(stand_room_of(&stand.ann)->batch, "an edit is in flight");
        scn_message_init(&message, SCN_MESSAGE_tree);
        message.as.tree.request = 5;
        message.as.tree.node = scene_path("/leaf");
        peer_send(&stand.ben, &message);
        cr_assert(stand_has_now(&stand.ben, SCN_MESSAGE_answer), "the tree of a leaf");
        message.as.tree.node = scene_path("/");
        message.as.tree.depth = 0;
        peer_send(&stand.ben, &message);
        cr_assert(stand_has_now(&stand.ben, SCN_MESSAGE_answer), "the root alone");
        scn_message_init(&message, SCN_MESSAGE_digest);
        message.as.digest.request = 6;
        message.as.digest.node = scene_path("/leaf");
        peer_send(&stand.ben, &message);
        cr_assert(stand_has_now(&stand.ben, SCN_MESSAGE_answer), "the digest of a leaf");
        message.as.digest.node = scene_path("/nowhere");
        peer_send(&stand.ben, &message);
        cr_assert(stand_has_now(&stand.ben, SCN_MESSAGE_failed), "a node that is not there");
        /* Its children are many. */
        scn_message_init(&message, SCN_MESSAGE_tree);
        message.as.tree.request = 7;
        message.as.tree.depth = 1;
        peer_send(&stand.ben, &message);
        cr_assert_not(stand_has_now(&stand.ben, SCN_MESSAGE_answer));
        cr_assert(hub_step(&stand.hub));
        cr_assert(stand_is_lent(&stand, &stand.ben));
        stand_end(&stand);
}

/* --- What cannot wait --- */

#define NAME_BYTES 1000u
#define NAMED_NODES 4000u /* fewer than what is long to remove, but with more bytes than are short to settle */
#define NODES_A_TIME 200u

static void add_named(struct peer *peer)
{
        static char name[NAME_BYTES + 1];
        memset(name, 'n', NAME_BYTES);
        const struct scn_op op = scene_add(1, 40, "much");
        peer_edit(peer, &op, 1);
        (void)peer_expect(peer, SCN_MESSAGE_applied);
        for (uint32_t i = 0; i < NAMED_NODES; i += NODES_A_TIME) {
                struct scn_op ops[NODES_A_TIME];
                for (uint32_t k = 0; k < NODES_A_TIME; k++) {
                        ops[k] = scene_add(2, 50 + i + k, name);
                }
                peer_edit(peer, ops, NODES_A_TIME);
                (void)peer_expect(peer, SCN_MESSAGE_applied);
        }
}

SCN_TEST(loan, is_made_for_settling_also_where_there_are_as_many_as_may_be)
{
        static struct stand stand;
        struct peer peers[SCN_LOANS_MAX];
        struct hub *hub = &stand.hub;
        stand_begin(&stand);
        add_named(&stand.ann);
        open_rooms(&stand, peers, SCN_LOANS_MAX);
        for (uint32_t i = 0; i < SCN_LOANS_MAX; i++) {
                stand_ask(&peers[i], SCN_MESSAGE_tree, 5);
        }
        const struct scn_op op = scene_remove(2);
        peer_edit(&stand.ann, &op, 1);
        scn_server_turn(hub->server);
        cr_assert_eq(hub->server->loans_count, SCN_LOANS_MAX);
        cr_assert_eq(hub->jobs_count, SCN_LOANS_MAX + 1);
        struct scn_job *commit = hub->jobs[--hub->jobs_count];
        commit->run(commit);
        commit->done(commit);
        cr_assert_not_null(stand_room_of(&stand.ann)->loan);
        cr_assert_eq(hub->server->loans_count, SCN_LOANS_MAX + 1);
        (void)peer_expect(&stand.ann, SCN_MESSAGE_applied);
        cr_assert_eq(hub->server->loans_count, 0);
        close_rooms(peers, SCN_LOANS_MAX);
        stand_end(&stand);
}
