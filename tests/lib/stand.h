/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_STAND_H
#define SCN_TESTS_LIB_STAND_H

/* A server whose rooms are lent: three clients, and what is long for a room. */

#include "server/core.h"
#include "tests/lib/live.h"
#include "tests/lib/scene.h"

/* Ann and Ben are in one document, Cy is in another. */
struct stand {
        struct hub hub;
        struct peer ann;
        struct peer ben;
        struct peer cy;
};

void stand_begin(struct stand *stand);
/* Closes those that are still there. */
void stand_end(struct stand *stand);

struct scn_room *stand_room_of(const struct peer *peer);
/* Whether the peer's room is, after a turn. */
bool stand_is_lent(struct stand *stand, const struct peer *peer);
/* Hands in an edit that adds nodes under `parent`, with uids from `first` on. */
void stand_add_nodes(struct peer *peer, scn_node_id parent, uint32_t first, uint32_t count);
/* Asks what needs no more than a number. */
void stand_ask(struct peer *peer, enum scn_message_kind kind, uint64_t request);
/* For a view of all. */
void stand_ask_view(struct peer *peer, uint64_t number, uint32_t mask);
/* How many of this kind are there now, without any job being done for it. */
uint32_t stand_count_now(struct peer *peer, enum scn_message_kind kind);

static inline bool stand_has_now(struct peer *peer, enum scn_message_kind kind)
{
        return stand_count_now(peer, kind) > 0;
}

#endif
