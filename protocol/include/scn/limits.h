/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_LIMITS_H
#define SCN_LIMITS_H

/* The one table of limits (DESIGN §9). Defaults; a document takes its own struct scn_limits, so that a test
 * can stand at each edge with small numbers. Every limit answers with an error that names it. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
/*      name                       default      what, unit, reason */
#define SCN_LIMIT_LIST(X)                                                                                        \
        X(depth_max,                  1024u, "levels below the root: deeper scenes are made by mistake, and every"  \
                                             " walk to the root costs this much at most")                       \
        X(nodes_max,               4000000u, "living nodes in a document, root included: about 1.3 GB of memory")  \
        X(name_bytes_max,             1024u, "bytes of a name")                                                 \
        X(key_bytes_max,               128u, "bytes of a property key")                                         \
        X(value_bytes_max,           65536u, "bytes of a property value; larger things are blobs")               \
        X(value_levels_max,             16u, "nesting of arrays and maps in a property value")                   \
        X(properties_max,              256u, "properties of a node; removed keys that are still remembered may" \
                                             " bring it to four times as many") \
        X(ops_max,                 2000000u, "ops in one edit")                                                 \
        X(record_bytes_max,      268435456u, "bytes of one edit's change records as stored")                     \
        X(clients_max,             4194303u, "clients whose stamps a document tells apart (22 bits in a stamp)") \
        X(path_steps_max,          4000000u, "children looked at by the paths of one edit or look-up: names are found" \
                                             " by looking, some nanoseconds each")                              \
        X(past_min,                  65536u, "removed nodes, former parents and removed keys kept at the least;"   \
                                             " the horizon moves when they outnumber this and the nodes")
/* clang-format on */

struct scn_limits {
#define SCN_LIMIT_FIELD(name, value, reason) uint32_t name;
        SCN_LIMIT_LIST(SCN_LIMIT_FIELD)
#undef SCN_LIMIT_FIELD
};

#define SCN_LIMIT_INIT(name, value, reason) .name = (value),
#define SCN_LIMITS_DEFAULT ((struct scn_limits){SCN_LIMIT_LIST(SCN_LIMIT_INIT)})

#ifdef __cplusplus
}
#endif

#endif
