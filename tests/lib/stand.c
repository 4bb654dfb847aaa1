/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/stand.h"

#include "tests/lib/test.h"

#include <stdlib.h>

void stand_begin(struct stand *stand)
{
        hub_start(&stand->hub);
        peer_open(&stand->cy, &stand->hub, 3, "cy", "other");
        peer_open(&stand->ann, &stand->hub, 1, "ann", "large");
        peer_open(&stand->ben, &stand->hub, 2, "ben", "large");
}

void stand_end(struct stand *stand)
{
        struct peer *peers[] = {&stand->ann, &stand->ben, &stand->cy};
        for (size_t i = 0; i < 3; i++) {
                if (peers[i]->session != NULL) {
                        peer_close(peers[i]);
                }
        }
        hub_finish(&stand->hub);
}

struct scn_room *stand_room_of(const struct peer *peer)
{
        return peer->session->room;
}

bool stand_is_lent(struct stand *stand, const struct peer *peer)
{
        scn_server_turn(stand->hub.server);
        return stand_room_of(peer)->loan != NULL;
}

void stand_add_nodes(struct peer *peer, scn_node_id parent, uint32_t first, uint32_t count)
{
        struct scn_op *ops = calloc(count, sizeof *ops);
        cr_assert_not_null(ops);
        for (uint32_t i = 0; i < count; i++) {
                ops[i] = scene_add(parent, first + i, "n");
        }
        peer_edit(peer, ops, count);
        free(ops);
}

void stand_ask(struct peer *peer, enum scn_message_kind kind, uint64_t request)
{
        struct scn_message message;
        scn_message_init(&message, kind);
        message.as.ping.request = request; /* the first member of all */
        peer_send(peer, &message);
}

void stand_ask_view(struct peer *peer, uint64_t number, uint32_t mask)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_view);
        message.as.view.request = 70 + number;
        message.as.view.view = number;
        message.as.view.root = scene_path("/");
        message.as.view.mask = mask;
        peer_send(peer, &message);
}

uint32_t stand_count_now(struct peer *peer, enum scn_message_kind kind)
{
        struct scn_message message;
        struct scn_message_fault fault;
        struct scn_slice payload;
        enum scn_error error;
        uint32_t count = 0;
        peer_drain(peer);
        while (scn_frame_reader_next(&peer->reader, &payload, &error)) {
                cr_assert_eq(scn_message_decode(payload, SCN_RECEIVER_CLIENT, &message, &fault), SCN_OK);
                count += message.kind == kind;
        }
        return count;
}
