/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_LIVE_H
#define SCN_TESTS_LIB_LIVE_H

/* Short words for presence, previews and locks of peers of a hub, and for what peers are told of them. */

#include "protocol/wire/live.h"
#include "tests/lib/hub.h"

/* A msgpack map or array, put together by hand; valid until the next call of the same function. */
struct scn_slice live_map(const char *key, uint8_t value);

void live_presence(struct peer *peer, struct scn_slice map);
/* Previews a translation by x of the node with this id; or ends its preview; or all of them. */
void live_preview(struct peer *peer, scn_node_id id, float x);
void live_end_preview(struct peer *peer, scn_node_id id);
void live_end_previews(struct peer *peer);
void live_preview_raw(struct peer *peer, const struct scn_preview_wish *wishes, uint32_t count);

/* Locks nodes with these ids; ttl 0, mask 0: not said. The answer is not awaited. */
struct live_lock {
        const scn_node_id *ids;
        uint32_t count;
        uint64_t ttl;
        uint32_t mask;
        bool has_subtree;
};
void live_ask_lock(struct peer *peer, struct live_lock lock);
/* One node, which must succeed. */
void live_lock(struct peer *peer, scn_node_id id, uint32_t mask, bool has_subtree);
/* One node, with all that is beneath, which must fail so. */
void live_expect_no_lock(struct peer *peer, scn_node_id id, const char *code);
/* id 0: all. Returns how many the server says. */
uint64_t live_unlock(struct peer *peer, scn_node_id id);
/* So many; 0: all that the session holds. */
uint64_t live_unlock_all(struct peer *peer, const scn_node_id *ids, uint32_t count);

/* Begins a view of the node's subtree, with structure and these channels; waits for its delta. */
void live_view(struct peer *peer, uint64_t number, scn_node_id root, uint32_t mask);

/* The next `live` message for the peer, taken apart; asserts that there is one. */
#define LIVE_TOLD_MAX 64
struct live_told {
        uint64_t view;
        uint64_t count;
        bool is_whole;
        struct scn_live_presence presences[LIVE_TOLD_MAX];
        size_t presences_count;
        struct scn_live_lock locks[LIVE_TOLD_MAX];
        size_t locks_count;
        struct scn_live_preview previews[LIVE_TOLD_MAX];
        size_t previews_count;
};
struct live_told live_expect(struct peer *peer);
void live_read(const struct scn_message *message, struct live_told *told);
/* Asserts that there is none. */
void live_expect_nothing(struct peer *peer);
/* Time goes on, the server takes its turns. */
void live_wait(struct hub *hub, uint64_t milliseconds);

#endif
