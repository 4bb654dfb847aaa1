/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_LIMITS_H
#define SCN_SERVER_LIMITS_H

/* The one table of the limits that a client meets in the server beside those of the scene (scn/limits.h) and of what is
 * shown at the moment (wire/live.h). The greeting tells them, PROTOCOL.md describes them with what each answers. A
 * refusal for one of them names it. */

/* clang-format off */
/*      name                      value      what */
#define SCN_SERVER_LIMIT_LIST(X)                                                                          \
        X(message_bytes_max,   4194304u, "bytes of one message, either way")                              \
        X(edit_bytes_max,    134217728u, "bytes of one edit in parts")                                    \
        X(views_max,                64u, "views of a connection")                                         \
        X(rate_max,               1000u, "deltas a second of a view")                                     \
        X(author_bytes_max,        256u, "bytes of an author's name")                                     \
        X(ping_max,               3600u, "seconds that a client may promise")                             \
        X(undo_steps_max,        10000u, "steps of an author that can be undone")                         \
        X(undo_count_max,         1000u, "steps undone or redone at once")                                \
        X(undo_skips_max,          100u, "skipped fields that one undo or redo tells of")                 \
        X(world_nodes_max,       65536u, "nodes of one world question")                                   \
        X(world_bytes_max,    67108864u, "bytes of all that one world question is answered")              \
        X(log_max,               10000u, "transactions that one log tells")                               \
        X(log_ops_max,            1000u, "ops that a log tells of one transaction")                       \
        X(replay_bytes_max,   67108864u, "bytes of one replay, about; it says where to go on")            \
        X(document_bytes_max,      200u, "bytes of a document's name")                                    \
        X(tag_bytes_max,           256u, "bytes of a tag's name")                                         \
        X(tags_max,              10000u, "tags of a document")                                            \
        X(epochs_max,              256u, "newest epochs of a document, which can be resumed from")
/* clang-format on */

enum scn_server_limit {
#define SCN_SERVER_LIMIT_ENUM(name, value, what) SCN_SERVER_##name = value,
        SCN_SERVER_LIMIT_LIST(SCN_SERVER_LIMIT_ENUM)
#undef SCN_SERVER_LIMIT_ENUM
};

#endif
