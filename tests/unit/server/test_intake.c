/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What all sessions' input together may cost, and how they get out of it. */

#include "server/core.h"
#include "tests/lib/hub.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <string.h>

#define MAX ((size_t)1 << 20)
#define BLOCKED 3u

static void start(struct hub *hub)
{
        hub_start(hub);
        hub_stop(hub);
        hub->input_bytes_max = MAX;
        hub_restart(hub);
}

static struct scn_op long_name(void)
{
        static char name[1001];
        memset(name, 'n', sizeof name - 1);
        return scene_add(1, 0, name);
}

/* An edit of which all but the last byte is sent; gives the last one. */
static uint8_t send_most(struct peer *peer, uint32_t ops_count)
{
        static struct scn_op ops[1000];
        struct scn_buffer body;
        struct scn_buffer payload;
        struct scn_buffer frame;
        struct scn_message message;
        for (uint32_t i = 0; i < ops_count; i++) {
                ops[i] = long_name();
        }
        scn_buffer_init(&body, SCN_MESSAGE_BYTES_MAX);
        scn_buffer_init(&payload, SCN_MESSAGE_BYTES_MAX);
        scn_buffer_init(&frame, SCN_MESSAGE_BYTES_MAX + 8);
        struct scn_packer packer = scn_packer_to(&body);
        scn_ops_encode(&packer, ops, ops_count);
        scn_message_init(&message, SCN_MESSAGE_edit);
        message.as.edit.number = ++peer->number;
        message.as.edit.ops = (struct scn_slice){body.data, (uint32_t)body.size};
        cr_assert_eq(scn_message_encode(&message, &payload), SCN_OK);
        cr_assert_eq(scn_frame_append_head(&frame, payload.size), SCN_OK);
        cr_assert_eq(scn_buffer_append(&frame, payload.data, payload.size), SCN_OK);
        peer_send_bytes(peer, frame.data, frame.size - 1);
        const uint8_t last = frame.data[frame.size - 1];
        scn_buffer_finish(&body);
        scn_buffer_finish(&payload);
        scn_buffer_finish(&frame);
        return last;
}

static bool wants_input(const struct peer *peer)
{
        return scn_session_wants_input(peer->session);
}

static void ping(struct peer *peer)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_ping);
        message.as.ping.request = 4;
        peer_send(peer, &message);
        cr_assert_eq(peer_expect(peer, SCN_MESSAGE_answer).as.answer.request, 4);
}

SCN_TEST(intake, at_its_limit_lets_one_incomplete_message_after_the_other_be_completed)
{
        struct hub hub;
        struct peer peers[BLOCKED];
        struct peer idle;
        uint8_t last[BLOCKED];
        start(&hub);
        peer_open(&idle, &hub, 9, "ann", "isle");
        for (uint32_t i = 0; i < BLOCKED; i++) {
                peer_open(&peers[i], &hub, 1 + i, "ann", "isle");
        }
        for (uint32_t i = 0; i < BLOCKED; i++) {
                last[i] = send_most(&peers[i], 400);
        }
        cr_assert_geq(hub.server->input_bytes, MAX);
        /* Who holds nothing is served as ever. */
        cr_assert(wants_input(&idle));
        ping(&idle);
        cr_assert(wants_input(&peers[0]));
        cr_assert_not(wants_input(&peers[1]));
        cr_assert_not(wants_input(&peers[2]));
        for (uint32_t i = 0; i < BLOCKED; i++) {
                cr_assert(wants_input(&peers[i]), "peer %u must wait for ever", i);
                peer_send_bytes(&peers[i], &last[i], 1);
                (void)peer_expect(&peers[i], SCN_MESSAGE_applied);
        }
        cr_assert_not(hub.server->is_input_full);
        for (uint32_t i = 0; i < BLOCKED; i++) {
                cr_assert(wants_input(&peers[i]));
                peer_close(&peers[i]);
        }
        peer_close(&idle);
        cr_assert_eq(hub.server->input_bytes, 0);
        hub_finish(&hub);
}

SCN_TEST(intake, at_its_limit_ends_who_does_not_complete_what_it_has_begun)
{
        struct hub hub;
        struct peer peers[BLOCKED];
        uint8_t last = 0;
        start(&hub);
        for (uint32_t i = 0; i < BLOCKED; i++) {
                peer_open(&peers[i], &hub, 1 + i, "ann", "isle");
        }
        for (uint32_t i = 0; i < BLOCKED; i++) {
                last = send_most(&peers[i], 400);
        }
        scn_server_tick(hub.server);
        cr_assert_not(peer_has_ended(&peers[0]));
        hub.monotonic_ms += SCN_INPUT_PATIENCE_MS + 1;
        scn_server_tick(hub.server);
        cr_assert(peer_has_ended(&peers[0]));
        peer_expect_code(&peers[0], SCN_MESSAGE_failed, "busy");
        /* Its memory is free at once, and there is room for all. */
        cr_assert(wants_input(&peers[1]) && wants_input(&peers[2]));
        peer_send_bytes(&peers[2], &last, 1);
        (void)peer_expect(&peers[2], SCN_MESSAGE_applied);
        for (uint32_t i = 0; i < BLOCKED; i++) {
                peer_close(&peers[i]);
        }
        hub_finish(&hub);
}

/* Messages that wait are worked off by themselves. The batch in flight keeps them waiting here. */
SCN_TEST(intake, is_full_at_its_limit_and_not_one_byte_before)
{
        struct hub hub;
        struct peer writer;
        struct peer other;
        const struct scn_op op = long_name();
        start(&hub);
        peer_open(&writer, &hub, 1, "ann", "isle");
        peer_open(&other, &hub, 2, "ann", "isle");
        peer_edit(&writer, &op, 1);
        scn_server_turn(hub.server);
        peer_edit(&other, &op, 1);
        while (hub.server->input_bytes < MAX) {
                cr_assert(wants_input(&writer) && wants_input(&other));
                cr_assert_not(hub.server->is_input_full);
                peer_edit(&writer, &op, 1);
        }
        cr_assert(hub.server->is_input_full);
        cr_assert_not(wants_input(&writer) || wants_input(&other));
        hub_run(&hub);
        cr_assert_not(hub.server->is_input_full);
        cr_assert(wants_input(&writer) && wants_input(&other));
        peer_close(&writer);
        peer_close(&other);
        hub_finish(&hub);
}

/* Both send parts of an edit until there is no room for more; the first one may complete its own. */
static void fill_with_parts(struct hub *hub, struct peer peers[2], const struct scn_op *op)
{
        for (uint32_t i = 0; !hub->server->is_input_full; i++) {
                peer_edit_part(&peers[i % 2], 1, op, 1, true);
                scn_server_turn(hub->server);
        }
        cr_assert_eq(hub->server->completing, peers[0].session);
}

SCN_TEST(intake, counts_the_parts_of_an_edit_and_lets_one_be_completed)
{
        struct hub hub;
        struct peer peers[2];
        const struct scn_op op = long_name();
        start(&hub);
        peer_open(&peers[0], &hub, 1, "ann", "isle");
        peer_open(&peers[1], &hub, 2, "ann", "isle");
        fill_with_parts(&hub, peers, &op);
        cr_assert(wants_input(&peers[0]));
        cr_assert_not(wants_input(&peers[1]));
        peer_edit_part(&peers[0], 1, &op, 1, false);
        cr_assert_eq(peer_expect(&peers[0], SCN_MESSAGE_applied).as.applied.number, 1);
        cr_assert(wants_input(&peers[1]));
        peer_edit_part(&peers[1], 1, &op, 1, false);
        cr_assert_eq(peer_expect(&peers[1], SCN_MESSAGE_applied).as.applied.number, 1);
        peer_close(&peers[0]);
        peer_close(&peers[1]);
        hub_finish(&hub);
}

/* What has come whole is read by a worker, who must not find it gone. */
SCN_TEST(intake, at_its_limit_waits_for_an_edit_that_is_complete_however_long_that_takes)
{
        struct hub hub;
        struct peer peers[2];
        const struct scn_op op = long_name();
        start(&hub);
        peer_open(&peers[0], &hub, 1, "ann", "isle");
        peer_open(&peers[1], &hub, 2, "ben", "port");
        fill_with_parts(&hub, peers, &op);
        peer_edit_part(&peers[0], 1, &op, 1, false);
        scn_server_turn(hub.server);
        cr_assert_not_null(peers[0].session->room->loan);
        hub.monotonic_ms += SCN_INPUT_PATIENCE_MS + 1;
        scn_server_tick(hub.server);
        cr_assert_neq(peers[0].session->staged_bytes, 0);
        cr_assert_eq(peer_expect(&peers[0], SCN_MESSAGE_applied).as.applied.number, 1);
        /* Now it is the other's turn, which has as long as anybody. */
        cr_assert(wants_input(&peers[1]));
        peer_edit_part(&peers[1], 1, &op, 1, false);
        cr_assert_eq(peer_expect(&peers[1], SCN_MESSAGE_applied).as.applied.number, 1);
        peer_close(&peers[0]);
        peer_close(&peers[1]);
        hub_finish(&hub);
}
