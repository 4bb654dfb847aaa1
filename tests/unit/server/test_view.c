/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* No view may stay behind without anybody noticing. */

#include "server/core.h"
#include "tests/lib/hub.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <string.h>

static void start_view(struct peer *peer, uint64_t number, uint64_t mask)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_view);
        message.as.view.request = number;
        message.as.view.view = number;
        message.as.view.root = scene_path("/");
        message.as.view.mask = mask;
        peer_send(peer, &message);
        (void)peer_expect(peer, SCN_MESSAGE_viewed);
        (void)peer_expect(peer, SCN_MESSAGE_delta);
}

/* A mirror shows an edit until its view has reached the revision, also if the view has nothing of it. */
SCN_TEST(view, tells_an_author_that_an_edit_has_come_even_if_it_shows_nothing_of_it)
{
        struct hub hub;
        struct peer ann;
        struct peer bob;
        struct scn_message message;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        peer_open(&bob, &hub, 2, "bob", "island");
        struct scn_op op = scene_add(1, 50, "boat");
        peer_edit(&ann, &op, 1);
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        start_view(&ann, 1, SCN_MASK_TRANSFORM);
        start_view(&bob, 1, SCN_MASK_TRANSFORM);
        op = scene_rename(2, "ship");
        peer_edit(&ann, &op, 1);
        cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.rev, 2);
        cr_assert(peer_receive(&ann, &message));
        cr_assert_eq(message.kind, SCN_MESSAGE_delta);
        cr_assert_eq(message.as.delta.to, 2);
        cr_assert_eq(message.as.delta.back, 1);
        cr_assert(message.as.delta.columns.size == 1 && message.as.delta.columns.data[0] == 0x80);
        cr_assert_not(peer_receive(&ann, &message), "once is enough");
        cr_assert_not(peer_receive(&bob, &message), "nobody else is to know");
        /* The next delta follows on what was said last. */
        op = scene_translate(2, 1, 2, 3);
        peer_edit(&bob, &op, 1);
        (void)peer_expect(&bob, SCN_MESSAGE_applied);
        message = peer_expect(&ann, SCN_MESSAGE_delta);
        cr_assert_eq(message.as.delta.to, 3);
        cr_assert_eq(message.as.delta.back, 1);
        peer_close(&ann);
        peer_close(&bob);
        hub_finish(&hub);
}

/* Another had done the same; the author's mirror does not know yet, and shows its own until it does. */
SCN_TEST(view, tells_an_author_how_far_it_is_when_there_was_nothing_left_to_change)
{
        struct hub hub;
        struct peer ann;
        struct peer bob;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        peer_open(&bob, &hub, 2, "bob", "island");
        struct scn_op op = scene_add(1, 50, "boat");
        peer_edit(&ann, &op, 1);
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        start_view(&ann, 1, SCN_MASK_TRANSFORM);
        op = scene_rename(2, "ship");
        peer_edit(&bob, &op, 1);
        (void)peer_expect(&bob, SCN_MESSAGE_applied);
        peer_edit(&ann, &op, 1);
        struct scn_message message = peer_expect(&ann, SCN_MESSAGE_applied);
        cr_assert(message.as.applied.unchanged);
        cr_assert_eq(message.as.applied.rev, 2);
        message = peer_expect(&ann, SCN_MESSAGE_delta);
        cr_assert_eq(message.as.delta.to, 2);
        cr_assert_eq(message.as.delta.back, 1);
        peer_close(&ann);
        peer_close(&bob);
        hub_finish(&hub);
}

static void ask_view(struct peer *peer, struct scn_node_ref root, scn_revision rev, struct scn_slice epoch)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_view);
        message.as.view.request = 7;
        message.as.view.view = 1;
        message.as.view.root = root;
        message.as.view.mask = SCN_MASK_ALL;
        message.as.view.epoch = epoch;
        message.as.view.rev = rev;
        peer_send(peer, &message);
}

/* The empty delta that says so may have been lost with the connection. */
SCN_TEST(view, resumed_where_nothing_has_changed_is_told_how_far_it_is)
{
        struct hub hub;
        struct peer ann;
        uint8_t epoch[8];
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        const struct scn_op ops[] = {scene_add(1, 50, "boat"), scene_add(1, 51, "buoy")};
        peer_edit(&ann, ops, 2);
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        const struct scn_op op = scene_rename(3, "bell");
        peer_edit(&ann, &op, 1);
        cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.rev, 2);
        memcpy(epoch, &hub.server->rooms->epoch, sizeof epoch);
        peer_close(&ann);
        peer_open(&ann, &hub, 1, "ann", "island");
        ask_view(&ann, scene_ref(50), 1, (struct scn_slice){epoch, sizeof epoch});
        cr_assert(peer_expect(&ann, SCN_MESSAGE_viewed).as.viewed.resumed);
        const struct scn_message message = peer_expect(&ann, SCN_MESSAGE_delta);
        cr_assert_eq(message.as.delta.to, 2);
        cr_assert_eq(message.as.delta.back, 1);
        cr_assert(message.as.delta.columns.size == 1 && message.as.delta.columns.data[0] == 0x80);
        peer_close(&ann);
        hub_finish(&hub);
}

/* Its author may have an answer that names this revision, and waits for a view to get there. */
SCN_TEST(view, joined_by_a_snapshot_that_nothing_has_changed_since_is_told_how_far_it_is)
{
        struct hub hub;
        struct peer ann;
        struct peer bob;
        const struct scn_slice none = {NULL, 0};
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        peer_open(&bob, &hub, 2, "bob", "island");
        const struct scn_op ops[] = {scene_add(1, 50, "boat"), scene_add(1, 51, "buoy")};
        peer_edit(&ann, ops, 2);
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        ask_view(&bob, scene_ref(50), SCN_ABSENT, none);
        cr_assert_eq(peer_expect(&bob, SCN_MESSAGE_delta).as.delta.to, 1);
        const struct scn_op op = scene_rename(3, "bell");
        peer_edit(&ann, &op, 1);
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        /* One that comes back has edited nothing on this connection. */
        peer_close(&ann);
        peer_open(&ann, &hub, 1, "ann", "island");
        ask_view(&ann, scene_ref(50), SCN_ABSENT, none);
        cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_delta).as.delta.to, 1, "the snapshot that Bob was sent");
        const struct scn_message message = peer_expect(&ann, SCN_MESSAGE_delta);
        cr_assert_eq(message.as.delta.to, 2);
        cr_assert_eq(message.as.delta.back, 1);
        peer_close(&ann);
        peer_close(&bob);
        hub_finish(&hub);
}

SCN_TEST(view, asked_for_again_under_its_number_is_the_same_view_anew)
{
        struct hub hub;
        struct peer ann;
        struct scn_message message;
        const struct scn_slice none = {NULL, 0};
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        for (int i = 0; i < 2; i++) {
                ask_view(&ann, scene_path("/"), SCN_ABSENT, none);
                cr_assert_not(peer_expect(&ann, SCN_MESSAGE_viewed).as.viewed.resumed);
                (void)peer_expect(&ann, SCN_MESSAGE_delta);
        }
        const struct scn_op op = scene_add(1, 50, "boat");
        peer_edit(&ann, &op, 1);
        cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_delta).as.delta.to, 1);
        cr_assert_not(peer_receive(&ann, &message), "there is one view, not two");
        peer_close(&ann);
        hub_finish(&hub);
}

static void rename_all(struct peer *peer, uint32_t count, const char *name)
{
        static struct scn_op ops[1000];
        for (uint32_t i = 0; i < count; i++) {
                ops[i] = scene_rename(2 + i, name);
        }
        peer_edit(peer, ops, count);
        (void)peer_expect(peer, SCN_MESSAGE_applied);
}

/* A session whose outbox is full is passed over, and told what it lacks when it has drained. If a batch is in flight
 * just then, and touches nothing that the view shows, it must not be forgotten. */
SCN_TEST(view, is_told_what_it_missed_although_a_batch_was_in_flight_when_its_session_drained)
{
        enum {
                NODES = 400
        };
        static struct scn_op ops[NODES];
        static char name[1001];
        struct hub hub;
        struct peer ann;
        struct peer bob;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        peer_open(&bob, &hub, 2, "bob", "island");
        for (uint32_t i = 0; i < NODES; i++) {
                ops[i] = scene_add(1, 50 + i, NULL);
        }
        peer_edit(&ann, ops, NODES);
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        start_view(&bob, 1, SCN_MASK_NAME);
        bob.does_not_read = true;
        memset(name, 'x', sizeof name - 1);
        rename_all(&ann, NODES, name);
        rename_all(&ann, 1, "the last name");
        /* Submitted, not yet done. */
        const struct scn_op move = scene_translate(2, 1, 2, 3);
        peer_edit(&ann, &move, 1);
        scn_server_turn(hub.server);
        cr_assert_eq(hub.jobs_count, 1);
        bob.does_not_read = false;
        struct scn_slice slices[64];
        size_t count;
        size_t bytes = 0;
        while ((count = scn_session_output(bob.session, slices, 64)) > 0) {
                size_t size = 0;
                for (size_t i = 0; i < count; i++) {
                        cr_assert_eq(scn_frame_reader_feed(&bob.reader, slices[i].data, slices[i].size), SCN_OK);
                        size += slices[i].size;
                }
                bytes += size;
                scn_session_sent(bob.session, size);
        }
        cr_assert_gt(bytes, 256u << 10);
        uint64_t to = 0;
        struct scn_message message;
        while (peer_receive(&bob, &message)) {
                to = message.kind == SCN_MESSAGE_delta ? message.as.delta.to : to;
        }
        cr_assert_eq(to, 4, "the view is at %llu", (unsigned long long)to);
        peer_close(&ann);
        peer_close(&bob);
        hub_finish(&hub);
}

/* Takes what waits for the peer, and nothing of what comes because of that. */
static void drain_once(struct peer *peer)
{
        struct scn_slice slices[64];
        const size_t count = scn_session_output(peer->session, slices, 64);
        size_t bytes = 0;
        for (size_t i = 0; i < count; i++) {
                bytes += slices[i].size;
        }
        scn_session_sent(peer->session, bytes);
}

SCN_TEST(view, of_a_session_that_is_always_behind_gets_its_turn_like_the_others)
{
        enum {
                VIEWS = 3
        };
        struct hub hub;
        struct peer ann;
        struct peer bob;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        peer_open(&bob, &hub, 2, "bob", "island");
        struct scn_op op = scene_add(1, 50, "boat");
        peer_edit(&ann, &op, 1);
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        for (uint64_t i = 1; i <= VIEWS; i++) {
                start_view(&bob, i, SCN_MASK_ALL);
        }
        bob.does_not_read = true;
        for (int round = 0; round < 6; round++) {
                op = scene_translate(2, 1 + (float)round, 2, 3);
                peer_edit(&ann, &op, 1);
                (void)peer_expect(&ann, SCN_MESSAGE_applied);
                if (round > 0) {
                        drain_once(&bob);
                }
        }
        const scn_revision last = hub.server->rooms->durable;
        for (const struct scn_view *view = bob.session->views; view != NULL; view = view->next) {
                cr_assert_geq(view->cursor, last - VIEWS + 1, "view %llu is at %llu of %llu",
                        (unsigned long long)view->number, (unsigned long long)view->cursor, (unsigned long long)last);
        }
        peer_close(&ann);
        peer_close(&bob);
        hub_finish(&hub);
}

static uint64_t calls_of(const struct hub *hub, uint32_t mask)
{
        const struct scn_view_group *group = hub->server->rooms->groups;
        while (group != NULL && group->mask != mask) {
                group = group->next;
        }
        cr_assert_not_null(group, "nobody looks at %x", (unsigned)mask);
        return group->calls;
}

/* The broadcast is an observable with a mask for each group (DESIGN §3). */
SCN_TEST(view, is_called_only_for_what_its_channels_tell)
{
        static const struct {
                uint64_t asked;
                uint32_t mask; /* of the group that it makes */
        } views[] = {
                {SCN_MASK_TRANSFORM, SCN_MASK_TRANSFORM | SCN_MASK_STRUCTURE},
                {SCN_MASK_NAME, SCN_MASK_NAME | SCN_MASK_STRUCTURE},
                {SCN_MASK_PROPERTIES, SCN_MASK_PROPERTIES | SCN_MASK_STRUCTURE},
                {SCN_MASK_WORLD, SCN_MASK_WORLD},
                {SCN_MASK_DURABLE, SCN_MASK_DURABLE},
        };
        enum {
                VIEWS = sizeof views / sizeof views[0]
        };
        const struct {
                struct scn_op op;
                bool is_heard[VIEWS];
        } rows[] = {
                {scene_rename(2, "ship"), {false, true, false, false, true}},
                {scene_translate(2, 1, 2, 3), {true, false, false, true, true}},
                {scene_set(2, "lit", scene_integer(1)), {false, false, true, false, true}},
                {scene_add(2, 51, "lamp"), {true, true, true, true, true}},
                {scene_move(3, 1), {true, true, true, true, true}}, {scene_remove(3), {true, true, true, true, true}},
                {scene_rename(2, "ship"), {false, false, false, false, false}}, /* it is called so already */
        };
        struct hub hub;
        struct peer ann;
        struct peer bob;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        peer_open(&bob, &hub, 2, "bob", "island");
        const struct scn_op boat = scene_add(1, 50, "boat");
        peer_edit(&ann, &boat, 1);
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        for (uint64_t i = 0; i < VIEWS; i++) {
                start_view(&bob, i + 1, views[i].asked);
                cr_assert_eq(calls_of(&hub, views[i].mask), 0);
        }
        for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
                uint64_t before[VIEWS];
                for (size_t i = 0; i < VIEWS; i++) {
                        before[i] = calls_of(&hub, views[i].mask);
                }
                peer_edit(&ann, &rows[row].op, 1);
                (void)peer_expect(&ann, SCN_MESSAGE_applied);
                for (size_t i = 0; i < VIEWS; i++) {
                        cr_expect_eq(calls_of(&hub, views[i].mask) - before[i], rows[row].is_heard[i],
                                "row %zu, view %zu", row, i);
                }
        }
        peer_close(&ann);
        peer_close(&bob);
        hub_finish(&hub);
}
