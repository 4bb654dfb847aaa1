/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What takes long with a document is done by a worker that its room is lent to: what goes on meanwhile, and what waits.
 */

#include "server/batch.h"
#include "tests/lib/stand.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

static void edit(struct peer *peer, struct scn_op op)
{
        peer_edit(peer, &op, 1);
        (void)peer_expect(peer, SCN_MESSAGE_applied);
}

/* Does all jobs but the one that the room is lent to, which comes first. */
static void do_the_others(struct stand *stand)
{
        struct hub *hub = &stand->hub;
        struct scn_job *loan = hub->jobs[0];
        for (scn_server_turn(hub->server); hub->jobs_count > 1; scn_server_turn(hub->server)) {
                struct scn_job *job = hub->jobs[1];
                hub->jobs_count--;
                memmove(&hub->jobs[1], &hub->jobs[2], (hub->jobs_count - 1) * sizeof hub->jobs[0]);
                job->run(job);
                job->done(job);
        }
        cr_assert_eq(hub->jobs[0], loan);
}

static uint32_t nodes_of(const struct peer *peer)
{
        return scn_document_nodes_count(scn_room_document(stand_room_of(peer)));
}

/* --- What is lent --- */

SCN_TEST(loan, is_made_for_an_edit_of_many_ops_and_for_none_of_fewer)
{
        static struct stand stand;
        stand_begin(&stand);
        stand_add_nodes(&stand.ann, 1, 50, SCN_LONG_NODES - 1);
        cr_assert_not(stand_is_lent(&stand, &stand.ann));
        (void)peer_expect(&stand.ann, SCN_MESSAGE_applied);
        stand_add_nodes(&stand.ann, 1, 50 + SCN_LONG_NODES, SCN_LONG_NODES);
        cr_assert(stand_is_lent(&stand, &stand.ann));
        cr_assert_eq(peer_expect(&stand.ann, SCN_MESSAGE_applied).as.applied.rev, 2);
        cr_assert_eq(nodes_of(&stand.ann), 2 * SCN_LONG_NODES);
        stand_end(&stand);
}

SCN_TEST(loan, is_made_for_an_edit_of_many_bytes_and_for_none_of_fewer)
{
        static uint8_t text[60000 + 3] = {0xda, 60000 >> 8, 60000 & 0xff};
        static struct stand stand;
        struct scn_op ops[5];
        stand_begin(&stand);
        memset(text + 3, 'x', 60000);
        for (size_t i = 0; i < 5; i++) {
                static const char *const keys[] = {"a", "b", "c", "d", "e"};
                ops[i] = scene_set(1, keys[i], (struct scn_slice){text, sizeof text});
        }
        cr_assert_lt(4 * sizeof text + 100, SCN_LONG_BYTES);
        cr_assert_geq(5 * sizeof text, SCN_LONG_BYTES);
        peer_edit(&stand.ann, ops, 4);
        cr_assert_not(stand_is_lent(&stand, &stand.ann));
        (void)peer_expect(&stand.ann, SCN_MESSAGE_applied);
        text[3] = 'y';
        peer_edit(&stand.ann, ops, 5);
        cr_assert(stand_is_lent(&stand, &stand.ann));
        (void)peer_expect(&stand.ann, SCN_MESSAGE_applied);
        stand_end(&stand);
}

SCN_TEST(loan, is_made_for_an_edit_in_parts_that_has_many_bytes_in_all)
{
        static struct stand stand;
        struct scn_op *ops = calloc(SCN_LONG_NODES, sizeof *ops);
        char name[160];
        stand_begin(&stand);
        memset(name, 'n', sizeof name - 1);
        name[sizeof name - 1] = '\0';
        for (uint32_t i = 0; i < SCN_LONG_NODES; i++) {
                ops[i] = scene_add(1, 50 + i, name);
        }
        peer_edit_part(&stand.ann, 1, ops, SCN_LONG_NODES / 2, true);
        cr_assert_not(stand_is_lent(&stand, &stand.ann));
        peer_edit_part(&stand.ann, 1, ops + SCN_LONG_NODES / 2, 1, false);
        cr_assert(stand_is_lent(&stand, &stand.ann));
        cr_assert_eq(peer_expect(&stand.ann, SCN_MESSAGE_applied).as.applied.rev, 1);
        cr_assert_eq(nodes_of(&stand.ann), 1 + SCN_LONG_NODES / 2 + 1);
        cr_assert_eq(stand.ann.session->staged_bytes, 0);
        free(ops);
        stand_end(&stand);
}

SCN_TEST(loan, is_made_for_the_removal_of_much_its_undo_and_its_redo)
{
        static struct stand stand;
        stand_begin(&stand);
        edit(&stand.ann, scene_add(1, 40, "much"));
        edit(&stand.ann, scene_add(1, 41, "little"));
        stand_add_nodes(&stand.ann, 2, 50, SCN_LONG_NODES);
        (void)peer_expect(&stand.ann, SCN_MESSAGE_applied);
        const struct scn_op little = scene_remove(3);
        peer_edit(&stand.ann, &little, 1);
        cr_assert_not(stand_is_lent(&stand, &stand.ann));
        (void)peer_expect(&stand.ann, SCN_MESSAGE_applied);
        const struct scn_op much = scene_remove(2);
        peer_edit(&stand.ann, &much, 1);
        cr_assert(stand_is_lent(&stand, &stand.ann));
        (void)peer_expect(&stand.ann, SCN_MESSAGE_applied);
        cr_assert_eq(nodes_of(&stand.ann), 1);
        for (int i = 0; i < 2; i++) {
                bool was_lent = false;
                if (i == 0) {
                        peer_undo(&stand.ann, (struct peer_wish){0});
                } else {
                        peer_redo(&stand.ann, 0);
                }
                do {
                        was_lent = stand_is_lent(&stand, &stand.ann) || was_lent;
                } while (hub_step(&stand.hub));
                cr_assert(was_lent, "%d", i);
                (void)peer_expect(&stand.ann, SCN_MESSAGE_applied);
                cr_assert_eq(nodes_of(&stand.ann), i == 0 ? SCN_LONG_NODES + 2 : 1);
        }
        stand_end(&stand);
}

SCN_TEST(loan, is_made_for_what_is_refused_too_and_nothing_comes_of_it)
{
        static struct stand stand;
        stand_begin(&stand);
        edit(&stand.ann, scene_add(1, 50 + SCN_LONG_NODES - 1, "there already"));
        const struct scn_digests before = scn_document_digests(scn_room_document(stand_room_of(&stand.ann)));
        stand_add_nodes(&stand.ann, 1, 50, SCN_LONG_NODES);
        cr_assert(stand_is_lent(&stand, &stand.ann));
        const struct scn_message message = peer_expect(&stand.ann, SCN_MESSAGE_refused);
        cr_assert(scene_is_text(message.as.refused.code, "exists"));
        cr_assert_eq(message.as.refused.op, SCN_LONG_NODES - 1);
        const struct scn_digests after = scn_document_digests(scn_room_document(stand_room_of(&stand.ann)));
        cr_assert_eq(memcmp(&before, &after, sizeof before), 0);
        cr_assert_eq(scn_document_revision(scn_room_document(stand_room_of(&stand.ann))), 1);
        stand_end(&stand);
}

SCN_TEST(loan, is_made_for_questions_about_much_which_wait_until_the_room_is_settled)
{
        static struct stand stand;
        stand_begin(&stand);
        stand_add_nodes(&stand.ann, 1, 50, SCN_LONG_NODES - 2);
        (void)peer_expect(&stand.ann, SCN_MESSAGE_applied);
        stand_ask(&stand.ben, SCN_MESSAGE_tree, 5);
        cr_assert(stand_has_now(&stand.ben, SCN_MESSAGE_answer), "a small document's is answered at once");
        edit(&stand.ann, scene_add(1, 40, "one more"));
        const struct scn_op op = scene_rename(2, "in flight");
        peer_edit(&stand.ann, &op, 1);
        scn_server_turn(stand.hub.server);
        stand_ask(&stand.ben, SCN_MESSAGE_tree, 6);
        stand_ask(&stand.ben, SCN_MESSAGE_digest, 7);
        cr_assert_null(stand_room_of(&stand.ben)->loan);
        cr_assert_not(stand_has_now(&stand.ben, SCN_MESSAGE_answer));
        const struct scn_message message = peer_expect(&stand.ben, SCN_MESSAGE_answer);
        cr_assert_eq(message.as.answer.request, 6);
        cr_assert_eq(message.as.answer.rev, 3);
        cr_assert_eq(message.as.answer.durable, 3);
        struct scn_message next = message;
        while (next.as.answer.request == 6) {
                next = peer_expect(&stand.ben, SCN_MESSAGE_answer);
        }
        cr_assert_eq(next.as.answer.request, 7);
        stand_end(&stand);
}

SCN_TEST(loan, is_made_for_a_view_of_much_and_what_it_lacks)
{
        static struct stand stand;
        stand_begin(&stand);
        stand_add_nodes(&stand.ann, 1, 50, SCN_LONG_NODES - 2);
        (void)peer_expect(&stand.ann, SCN_MESSAGE_applied);
        stand_ask_view(&stand.ben, 1, SCN_MASK_ALL);
        cr_assert(stand_has_now(&stand.ben, SCN_MESSAGE_delta), "a view of little begins at once");
        edit(&stand.ann, scene_add(1, 40, "one more"));
        (void)peer_expect(&stand.ben, SCN_MESSAGE_delta);
        stand_ask_view(&stand.ben, 2, SCN_MASK_NAME);
        cr_assert(stand_has_now(&stand.ben, SCN_MESSAGE_viewed));
        cr_assert(stand_is_lent(&stand, &stand.ben));
        cr_assert_eq(peer_expect(&stand.ben, SCN_MESSAGE_delta).as.delta.to, 2);
        /* A change of much for those who have all. */
        stand_add_nodes(&stand.ann, 1, 50 + SCN_LONG_NODES, SCN_LONG_NODES);
        (void)peer_expect(&stand.ann, SCN_MESSAGE_applied);
        cr_assert_eq(peer_expect(&stand.ben, SCN_MESSAGE_delta).as.delta.to, 3);
        cr_assert_not(stand_room_of(&stand.ben)->wants_encoding);
        stand_end(&stand);
}

/* --- What goes on meanwhile --- */

SCN_TEST(loan, keeps_no_other_document_waiting)
{
        static struct stand stand;
        stand_begin(&stand);
        stand_add_nodes(&stand.ann, 1, 50, SCN_LONG_NODES);
        cr_assert(stand_is_lent(&stand, &stand.ann));
        const struct scn_op op = scene_rename(1, "root");
        peer_edit(&stand.cy, &op, 1);
        do_the_others(&stand);
        cr_assert(stand_has_now(&stand.cy, SCN_MESSAGE_applied));
        stand_ask(&stand.cy, SCN_MESSAGE_tree, 5);
        cr_assert(stand_has_now(&stand.cy, SCN_MESSAGE_answer));
        cr_assert_not_null(stand_room_of(&stand.ann)->loan);
        stand_end(&stand);
}

SCN_TEST(loan, lets_messages_of_its_room_wait_in_order_but_for_those_that_need_none)
{
        static struct stand stand;
        stand_begin(&stand);
        stand_add_nodes(&stand.ann, 1, 50, SCN_LONG_NODES);
        cr_assert(stand_is_lent(&stand, &stand.ann));
        stand_ask(&stand.ben, SCN_MESSAGE_ping, 4);
        cr_assert(stand_has_now(&stand.ben, SCN_MESSAGE_answer));
        stand_ask(&stand.ben, SCN_MESSAGE_info, 5);
        stand_ask(&stand.ben, SCN_MESSAGE_ping, 6);
        do_the_others(&stand);
        cr_assert_not(stand_has_now(&stand.ben, SCN_MESSAGE_answer));
        cr_assert_eq(peer_expect(&stand.ben, SCN_MESSAGE_answer).as.answer.request, 5);
        cr_assert_eq(peer_expect(&stand.ben, SCN_MESSAGE_answer).as.answer.request, 6);
        stand_ask(&stand.ben, SCN_MESSAGE_who, 7);
        (void)peer_expect(&stand.ben, SCN_MESSAGE_answer);
        stand_end(&stand);
}

SCN_TEST(loan, ends_before_a_session_leaves_whose_edit_is_done_all_the_same)
{
        static struct stand stand;
        stand_begin(&stand);
        stand_add_nodes(&stand.ann, 1, 50, SCN_LONG_NODES);
        cr_assert(stand_is_lent(&stand, &stand.ann));
        const uint32_t sessions = stand.hub.server->sessions_count;
        peer_close(&stand.ann);
        cr_assert_eq(stand.hub.server->sessions_count, sessions);
        do_the_others(&stand);
        hub_run(&stand.hub);
        cr_assert_eq(stand.hub.server->sessions_count, sessions - 1);
        cr_assert_eq(nodes_of(&stand.ben), SCN_LONG_NODES + 1);
        cr_assert_eq(stand_room_of(&stand.ben)->durable, 1);
        stand_end(&stand);
}

SCN_TEST(loan, of_a_question_may_outlast_who_asked)
{
        static struct stand stand;
        stand_begin(&stand);
        stand_add_nodes(&stand.ann, 1, 50, SCN_LONG_NODES);
        (void)peer_expect(&stand.ann, SCN_MESSAGE_applied);
        stand_ask(&stand.ben, SCN_MESSAGE_tree, 5);
        cr_assert(stand_is_lent(&stand, &stand.ben));
        peer_close(&stand.ben);
        edit(&stand.ann, scene_rename(2, "after it"));
        cr_assert_null(stand_room_of(&stand.ann)->loan);
        cr_assert_eq(stand_room_of(&stand.ann)->sessions->next_in_room, NULL);
        stand_end(&stand);
}

SCN_TEST(loan, lets_time_stand_still_for_locks)
{
        static struct stand stand;
        stand_begin(&stand);
        edit(&stand.ann, scene_add(1, 40, "locked"));
        const scn_node_id locked = 2;
        live_ask_lock(&stand.ben, (struct live_lock){.ids = &locked, .count = 1, .ttl = 1});
        (void)peer_expect(&stand.ben, SCN_MESSAGE_answer);
        struct scn_op *ops = calloc(SCN_LONG_NODES, sizeof *ops);
        for (uint32_t i = 0; i < SCN_LONG_NODES; i++) {
                ops[i] = scene_translate(2, (float)i, 0, 0);
        }
        peer_edit(&stand.ann, ops, SCN_LONG_NODES);
        cr_assert(stand_is_lent(&stand, &stand.ann));
        cr_assert_eq(scn_server_due_ms(stand.hub.server), UINT64_MAX);
        stand.hub.monotonic_ms += 5000;
        do_the_others(&stand);
        peer_expect_code(&stand.ann, SCN_MESSAGE_refused, "locked");
        peer_edit(&stand.ann, ops, SCN_LONG_NODES);
        (void)peer_expect(&stand.ann, SCN_MESSAGE_applied);
        free(ops);
        stand_end(&stand);
}

SCN_TEST(loan, is_waited_for_when_the_server_stops)
{
        static struct stand stand;
        stand_begin(&stand);
        stand_add_nodes(&stand.ann, 1, 50, SCN_LONG_NODES);
        cr_assert(stand_is_lent(&stand, &stand.ann));
        scn_server_stop(stand.hub.server);
        cr_assert_not(scn_server_is_stopped(stand.hub.server));
        hub_run(&stand.hub);
        cr_assert(stand_has_now(&stand.ann, SCN_MESSAGE_applied));
        cr_assert(peer_has_ended(&stand.ann));
        peer_close(&stand.ann);
        peer_close(&stand.ben);
        peer_close(&stand.cy);
        hub_stop(&stand.hub);
        hub_restart(&stand.hub);
        peer_open(&stand.ann, &stand.hub, 1, "ann", "large");
        cr_assert_eq(nodes_of(&stand.ann), SCN_LONG_NODES + 1);
        stand_end(&stand);
}

/* --- In turn --- */

SCN_TEST(loan, is_one_of_a_few_and_the_next_room_waits_for_one_of_them_to_end)
{
        static struct stand stand;
        struct peer peers[SCN_LOANS_MAX + 1];
        stand_begin(&stand);
        for (uint32_t i = 0; i <= SCN_LOANS_MAX; i++) {
                const char name[] = {'r', (char)('0' + i), '\0'};
                peer_open(&peers[i], &stand.hub, 10 + i, "many", name);
        }
        for (uint32_t i = 0; i <= SCN_LOANS_MAX; i++) {
                stand_add_nodes(&peers[i], 1, 50, SCN_LONG_NODES);
                cr_assert_eq(stand_is_lent(&stand, &peers[i]), i < SCN_LOANS_MAX, "room %u", i);
        }
        cr_assert_eq(stand.hub.server->loans_count, SCN_LOANS_MAX);
        for (uint32_t i = 0; i <= SCN_LOANS_MAX; i++) {
                cr_assert_eq(peer_expect(&peers[i], SCN_MESSAGE_applied).as.applied.rev, 1);
                peer_close(&peers[i]);
        }
        stand_end(&stand);
}

SCN_TEST(loan, that_cannot_be_made_yet_has_what_it_is_for_looked_at_once_while_others_go_on)
{
        static struct stand stand;
        struct peer peers[SCN_LOANS_MAX];
        stand_begin(&stand);
        for (uint32_t i = 0; i < SCN_LOANS_MAX; i++) {
                const char name[] = {'r', (char)('0' + i), '\0'};
                peer_open(&peers[i], &stand.hub, 10 + i, "many", name);
        }
        for (uint32_t i = 0; i < SCN_LOANS_MAX; i++) {
                stand_add_nodes(&peers[i], 1, 50, SCN_LONG_NODES);
                cr_assert(stand_is_lent(&stand, &peers[i]));
        }
        stand_add_nodes(&stand.ann, 1, 50, SCN_LONG_NODES);
        for (uint32_t i = 0; i < 3; i++) {
                const struct scn_op op = scene_rename(1, "ben");
                peer_edit(&stand.ben, &op, 1);
        }
        cr_assert_not(stand_is_lent(&stand, &stand.ann));
        const struct scn_batch *batch = stand_room_of(&stand.ann)->batch;
        cr_assert_not_null(batch);
        cr_assert_eq(batch->entries_count, 3, "all of Ben's came into one turn");
        cr_assert_lt(batch->bytes_taken, 3 * 100, "only they count for it");
        cr_assert_eq(batch->ops.count, 1, "and were the last that were read");
        cr_assert_eq(peer_expect(&stand.ann, SCN_MESSAGE_applied).as.applied.rev, 2);
        cr_assert_eq(nodes_of(&stand.ann), SCN_LONG_NODES + 1);
        for (uint32_t i = 0; i < SCN_LOANS_MAX; i++) {
                peer_close(&peers[i]);
        }
        stand_end(&stand);
}

SCN_TEST(loan, for_a_view_lets_an_edit_that_waits_come_before_the_next_view)
{
        static struct stand stand;
        stand_begin(&stand);
        stand_add_nodes(&stand.ann, 1, 50, SCN_LONG_NODES);
        (void)peer_expect(&stand.ann, SCN_MESSAGE_applied);
        stand_ask_view(&stand.ben, 1, SCN_MASK_ALL);
        stand_ask_view(&stand.ben, 2, SCN_MASK_NAME);
        cr_assert(stand_has_now(&stand.ben, SCN_MESSAGE_viewed));
        cr_assert(stand_is_lent(&stand, &stand.ben));
        const struct scn_op op = scene_rename(2, "between");
        peer_edit(&stand.ann, &op, 1);
        cr_assert(hub_step(&stand.hub));
        cr_assert_not_null(stand_room_of(&stand.ann)->batch, "the edit is in flight");
        cr_assert(stand_room_of(&stand.ann)->wants_encoding);
        (void)peer_expect(&stand.ann, SCN_MESSAGE_applied);
        (void)peer_expect(&stand.ben, SCN_MESSAGE_delta);
        cr_assert_not(stand_room_of(&stand.ann)->wants_encoding);
        stand_end(&stand);
}

SCN_TEST(loan, lets_what_is_short_come_between_it_and_the_next_one)
{
        static struct stand stand;
        struct peer dee;
        stand_begin(&stand);
        peer_open(&dee, &stand.hub, 4, "dee", "large");
        stand_add_nodes(&stand.ann, 1, 50, SCN_LONG_NODES);
        (void)peer_expect(&stand.ann, SCN_MESSAGE_applied);
        for (uint64_t view = 1; view <= 2; view++) {
                stand_ask_view(&stand.ben, view, view == 1 ? SCN_MASK_ALL : SCN_MASK_NAME);
        }
        cr_assert(stand_has_now(&stand.ben, SCN_MESSAGE_viewed));
        cr_assert(stand_is_lent(&stand, &stand.ben));
        stand_ask(&stand.ben, SCN_MESSAGE_tree, 5);
        stand_ask(&stand.ann, SCN_MESSAGE_info, 6);
        stand_ask(&dee, SCN_MESSAGE_info, 7);
        cr_assert_not(stand_has_now(&stand.ann, SCN_MESSAGE_answer));
        cr_assert(hub_step(&stand.hub));
        cr_assert_not_null(stand_room_of(&stand.ann)->loan);
        cr_assert(stand_has_now(&stand.ann, SCN_MESSAGE_answer));
        cr_assert(stand_has_now(&dee, SCN_MESSAGE_answer));
        peer_close(&dee);
        stand_end(&stand);
}

SCN_TEST(loan, for_questions_lets_an_edit_that_waits_come_before_the_next_one)
{
        static struct stand stand;
        stand_begin(&stand);
        stand_add_nodes(&stand.ann, 1, 50, SCN_LONG_NODES);
        (void)peer_expect(&stand.ann, SCN_MESSAGE_applied);
        stand_ask(&stand.ben, SCN_MESSAGE_tree, 5);
        stand_ask(&stand.ben, SCN_MESSAGE_tree, 6);
        cr_assert(stand_is_lent(&stand, &stand.ben));
        const struct scn_op op = scene_rename(2, "between");
        peer_edit(&stand.ann, &op, 1);
        cr_assert_eq(peer_expect(&stand.ben, SCN_MESSAGE_answer).as.answer.rev, 1);
        struct scn_message message;
        uint64_t rev = 1;
        while (peer_receive(&stand.ben, &message)) {
                rev = message.kind == SCN_MESSAGE_answer && message.as.answer.request == 6 ? message.as.answer.rev
                                                                                           : rev;
        }
        cr_assert_eq(rev, 2);
        stand_end(&stand);
}
