/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Whether a delta would be about a long one, before it is computed: a node that moved with its parent counts twice. */

#include "protocol/scene/delta.h"
#include "protocol/scene/state.h"

/* Looks at the subtree's nodes until no more are left to be looked at. */
static void walk(const struct scn_document *document, uint32_t top, uint32_t *left)
{
        for (uint32_t at = top; at != SCN_NONE && *left > 0; at = scn_hierarchy_walk(document->hierarchy, top, at)) {
                --*left;
        }
}

/* Whether all below it may have to be told: a moved node may enter with it, and worlds change with what is above. */
static bool concerns_subtree(const struct scn_node *node, scn_revision from, bool is_worlds)
{
        const uint32_t last = is_worlds ? SCN_FIELD_SCALE : SCN_FIELD_PLACE;
        for (uint32_t field = SCN_FIELD_PLACE; field <= last; field++) {
                if (field != SCN_FIELD_NAME && scn_stamp_revision(node->stamps[field]) > from) {
                        return true;
                }
        }
        return false;
}

bool scn_delta_is_long(const struct scn_document *document, const struct scn_delta_request *request, uint32_t nodes_max)
{
        const bool is_worlds = (request->mask & (SCN_MASK_DURABLE | SCN_MASK_WORLD)) == SCN_MASK_WORLD;
        const uint32_t root = scn_table_find_uid(document, request->root);
        const bool is_there = root != SCN_NONE && (root & SCN_PAST_BIT) == 0;
        uint32_t left = nodes_max;
        if (request->is_fresh || (is_there && scn_node_at(document, root)->birth > request->from)) {
                if (is_there) {
                        walk(document, root, &left);
                }
                return left == 0;
        }
        for (uint32_t ref = document->feed_last; ref != SCN_NONE && left > 0; ref = scn_feed_previous(document, ref)) {
                if (scn_feed_revision(document, ref) <= request->from) {
                        break;
                }
                left--;
                if (is_there && (ref & SCN_PAST_BIT) == 0 &&
                        concerns_subtree(scn_node_at(document, ref), request->from, is_worlds)) {
                        walk(document, ref, &left);
                }
        }
        return left == 0;
}
