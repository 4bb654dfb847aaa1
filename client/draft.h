/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_DRAFT_H
#define SCN_CLIENT_DRAFT_H

/* A draft's ops are spelled as they are added, in parts that each fit a message. */

#include "client/task.h"
#include "protocol/base/index_map.h"
#include "protocol/scene/edit.h"

#include <scn/client.h>

/* A part is closed when it has so many bytes. One op, with a name and a value of the greatest size, still fits. */
#ifndef SCN_DRAFT_PART_BYTES /* the simulator has its own */
#define SCN_DRAFT_PART_BYTES (1u << 20)
#endif
/* In all, the messages around the ops included: what a server takes of an edit in parts (DESIGN §3). */
#define SCN_DRAFT_BYTES_MAX (128u << 20)

/* Where an op of the draft put a node. */
struct scn_draft_place {
        struct scn_uid node;
        struct scn_uid parent; /* none: not known */
};

struct scn_draft {
        TAILQ_ENTRY(scn_draft) link;
        struct scn_client *client;
        struct scn_view *view; /* NULL: none, or it is gone */
        struct scn_task *task; /* what it becomes */
        size_t parts_capacity;
        uint32_t part_ops; /* ops in the last part */
        uint32_t ops_count;
        size_t bytes;
        struct scn_buffer addition; /* the last op, an add, not in a part yet: properties set next join it */
        struct scn_uid added;
        struct scn_buffer properties;
        uint32_t properties_count;
        struct scn_draft_place *places;
        size_t places_count;
        size_t places_capacity;
        struct scn_index_map placed; /* uid -> places */
        struct scn_buffer scratch;
};

/* Adds an op as it is; everything in it is borrowed for the call. Errors as those of scn_draft_add(). */
SCN_NODISCARD enum scn_error scn_draft_append(struct scn_draft *draft, const struct scn_op *op);

struct scn_node_ref scn_ref_of_target(struct scn_target target);

#endif
