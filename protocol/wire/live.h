/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_WIRE_LIVE_H
#define SCN_WIRE_LIVE_H

/* The elements of the arrays in `preview` and `live`: what a session shows and holds at the moment.
 *
 *   preview    map, keys as in ops: 1 node, 7 t, 8 r, 9 s; without t, r, s: the node's preview ends
 *   live       presence  [session author map]                             gone: [session]
 *              locks     [node session author mask subtree milliseconds]  gone: [node session]
 *              previews  [session node t r s]                             gone: [session node]
 *
 * In `live` nodes are uids; t, r, s that were not given are nil; at the end of an element nils may be left out, and
 * elements behind those known are skipped. Decoded elements borrow from the bytes they were read from. */

#include "protocol/scene/edit.h"
#include "protocol/wire/pack.h"

#include <scn/limits.h>

/* Key, default, what. Told in the greeting. */
/* clang-format off */
#define SCN_LIVE_LIMIT_LIST(X)                                                                                         \
        X(presence_bytes_max, 4096u, "bytes of a session's presence")                                                  \
        X(presence_keys_max,    64u, "keys of a session's presence")                                                   \
        X(previews_max,        256u, "nodes that a session previews")                                                  \
        X(locks_max,           256u, "locks of a session")                                                             \
        X(room_locks_max,    16384u, "locks in a document")                                                            \
        X(lock_ttl_max,       3600u, "seconds that a lock lasts without being renewed")
/* clang-format on */

enum scn_live_limit {
#define SCN_LIVE_LIMIT_ENUM(name, value, what) SCN_LIVE_##name = value,
        SCN_LIVE_LIMIT_LIST(SCN_LIVE_LIMIT_ENUM)
#undef SCN_LIVE_LIMIT_ENUM
};

/* What a presence becomes: `present` (a map spelled by this function; data == NULL: there is none) with the keys of
 * `map`, of which a nil removes one. Appended to `merged`, whose maximum is that of a presence; nothing is appended if
 * no key is left. SCN_E_BAD_MESSAGE, SCN_E_TOO_MANY_KEYS, SCN_E_KEY_TOO_LONG, SCN_E_DUPLICATE_KEY, SCN_E_TOO_LARGE,
 * SCN_E_NO_MEMORY, and what refuses a value. */
SCN_NODISCARD enum scn_error scn_presence_merge(
        struct scn_slice present, struct scn_slice map, const struct scn_limits *limits, struct scn_buffer *merged);

struct scn_preview_wish {
        struct scn_node_ref node;
        uint32_t fields; /* of SCN_FIELDS_TRS; 0: it ends */
        struct scn_trs trs;
};

void scn_pack_preview_wish(struct scn_packer *packer, const struct scn_preview_wish *wish);
/* SCN_E_BAD_MESSAGE (also a key that comes twice), SCN_E_MISSING_FIELD (no node) and the errors of numbers, left in the
 * unpacker. That a rotation has a length is not looked at. */
struct scn_preview_wish scn_unpack_preview_wish(struct scn_unpacker *unpacker);

struct scn_live_presence {
        uint64_t session;
        struct scn_slice author;
        struct scn_slice map; /* data == NULL: gone */
};

struct scn_live_lock {
        struct scn_uid node;
        uint64_t session;
        struct scn_slice author; /* data == NULL: gone */
        uint32_t mask;
        bool has_subtree;
        uint64_t left_ms;
};

struct scn_live_preview {
        uint64_t session;
        struct scn_uid node;
        uint32_t fields; /* 0: gone */
        struct scn_trs trs;
};

void scn_pack_live_presence(struct scn_packer *packer, const struct scn_live_presence *presence);
void scn_pack_live_lock(struct scn_packer *packer, const struct scn_live_lock *lock);
void scn_pack_live_preview(struct scn_packer *packer, const struct scn_live_preview *preview);
struct scn_live_presence scn_unpack_live_presence(struct scn_unpacker *unpacker);
struct scn_live_lock scn_unpack_live_lock(struct scn_unpacker *unpacker);
struct scn_live_preview scn_unpack_live_preview(struct scn_unpacker *unpacker);

#endif
