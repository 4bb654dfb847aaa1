/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_COUNTERS_H
#define SCN_SERVER_COUNTERS_H

/* What `info` and `who` count, as tables. They only grow, from the opening of the room or the beginning of the session
 * on; their names are the wire's. */

#include <stdint.h>

/* clang-format off */
#define SCN_ROOM_COUNTER_LIST(X)                                                                                       \
        X(edits,     "edits, undos, redos and restores that were accepted")                                            \
        X(refused,   "of these that were refused")                                                                     \
        X(commits,   "batches in which the accepted ones became durable")                                              \
        X(deltas,    "deltas sent, in however many messages")                                                          \
        X(skipped,   "deltas not sent when they came up, for the one before had not been taken: the next says it all") \
        X(snapshots, "of the deltas those that told a whole view")                                                     \
        X(resumed,   "views that went on from a revision that the client had")                                         \
        X(silenced,  "sessions ended for taking nothing, or sending nothing, for too long")                            \
        X(folded,    "transactions that went up in others of their gesture when history was folded")                   \
        X(dropped,   "transactions dropped as older than what is kept")

#define SCN_SESSION_COUNTER_LIST(X)                                                                                    \
        X(edits,     "as of a document")                                                                               \
        X(refused,   "as of a document")                                                                               \
        X(deltas,    "as of a document")                                                                               \
        X(skipped,   "as of a document")
/* clang-format on */

#define SCN_COUNTER_FIELD(name, what) uint64_t name;

struct scn_room_counters {
        SCN_ROOM_COUNTER_LIST(SCN_COUNTER_FIELD)
};

struct scn_session_counters {
        SCN_SESSION_COUNTER_LIST(SCN_COUNTER_FIELD)
};

#define SCN_COUNTER_ONE(name, what) +1
enum {
        SCN_ROOM_COUNTERS = SCN_ROOM_COUNTER_LIST(SCN_COUNTER_ONE),
        SCN_SESSION_COUNTERS = SCN_SESSION_COUNTER_LIST(SCN_COUNTER_ONE),
};

/* One more of something that both count: of the session, and, if it is in one, of its room. */
#define SCN_COUNT(session, name)                                                                                       \
        do {                                                                                                           \
                (session)->counters.name++;                                                                            \
                if ((session)->room != NULL) {                                                                         \
                        (session)->room->counters.name++;                                                              \
                }                                                                                                      \
        } while (0)

#endif
