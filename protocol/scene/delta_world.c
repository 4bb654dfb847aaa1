/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* World matrices for views that hold no hierarchy: whose may have changed is found from the feed downwards. */

#include "protocol/scene/delta.h"
#include "protocol/scene/state.h"

struct worlds {
        struct scn_document *document;
        struct scn_delta *delta;
        uint32_t root;
        scn_revision from;
        uint8_t *told; /* a bit for each slot; NULL: not needed */
};

static bool is_told(const struct worlds *worlds, uint32_t slot)
{
        return worlds->told != NULL && (worlds->told[slot / 8] >> slot % 8 & 1) != 0;
}

static enum scn_error tell(struct worlds *worlds, uint32_t slot)
{
        struct scn_delta *delta = worlds->delta;
        if (!scn_grow((void **)&delta->worlds, &delta->worlds_capacity, sizeof *delta->worlds, delta->worlds_count + 1,
                    SIZE_MAX)) {
                return SCN_E_NO_MEMORY;
        }
        struct scn_delta_world *world = &delta->worlds[delta->worlds_count++];
        world->id = scn_id_at(worlds->document, slot);
        world->overflows = scn_hierarchy_world(worlds->document->hierarchy, slot, &world->world) != SCN_OK;
        if (worlds->told != NULL) {
                worlds->told[slot / 8] |= (uint8_t)(1u << slot % 8);
        }
        return SCN_OK;
}

/* Everything under a node, but what was told already, with all below it. */
static enum scn_error tell_subtree(struct worlds *worlds, uint32_t top)
{
        const struct scn_hierarchy *hierarchy = worlds->document->hierarchy;
        enum scn_error error = SCN_OK;
        for (uint32_t at = top; at != SCN_NONE && error == SCN_OK;) {
                if (is_told(worlds, at)) {
                        at = scn_hierarchy_walk_past(hierarchy, top, at);
                } else {
                        error = tell(worlds, at);
                        at = scn_hierarchy_walk(hierarchy, top, at);
                }
        }
        return error;
}

/* Its own transform, or whose child it is. */
static bool has_changed(const struct worlds *worlds, uint32_t slot)
{
        const struct scn_stamp *stamps = scn_node_at(worlds->document, slot)->stamps;
        return scn_stamp_revision(stamps[SCN_FIELD_PLACE]) > worlds->from ||
                scn_stamp_revision(stamps[SCN_FIELD_TRANSLATION]) > worlds->from ||
                scn_stamp_revision(stamps[SCN_FIELD_ROTATION]) > worlds->from ||
                scn_stamp_revision(stamps[SCN_FIELD_SCALE]) > worlds->from;
}

/* What happens above the view moves all that is in it. */
static bool has_frame_changed(const struct worlds *worlds)
{
        uint32_t at = worlds->root;
        while (at != SCN_NONE && !has_changed(worlds, at)) {
                at = scn_hierarchy_parent(worlds->document->hierarchy, at);
        }
        return at != SCN_NONE;
}

static bool is_inside(const struct worlds *worlds, uint32_t slot)
{
        while (slot != SCN_NONE && slot != worlds->root && !is_told(worlds, slot)) {
                slot = scn_hierarchy_parent(worlds->document->hierarchy, slot);
        }
        return slot != SCN_NONE;
}

static enum scn_error tell_changed(struct worlds *worlds)
{
        const struct scn_document *document = worlds->document;
        enum scn_error error = SCN_OK;
        worlds->told = scn_alloc_zero((size_t)document->hierarchy->slot_count / 8 + 1, 1);
        if (worlds->told == NULL) {
                return SCN_E_NO_MEMORY;
        }
        for (uint32_t ref = document->feed_last; ref != SCN_NONE && error == SCN_OK;
                ref = scn_feed_previous(document, ref)) {
                if (scn_feed_revision(document, ref) <= worlds->from) {
                        break;
                }
                if ((ref & SCN_PAST_BIT) == 0 && !is_told(worlds, ref) && has_changed(worlds, ref) &&
                        is_inside(worlds, ref)) {
                        error = tell_subtree(worlds, ref);
                }
        }
        scn_free(worlds->told);
        return error;
}

enum scn_error scn_delta_add_worlds(
        struct scn_document *document, struct scn_delta *delta, uint32_t root, scn_revision from)
{
        struct worlds worlds = {.document = document, .delta = delta, .root = root, .from = from};
        scn_document_update_worlds(document);
        return delta->is_whole || has_frame_changed(&worlds) ? tell_subtree(&worlds, root) : tell_changed(&worlds);
}
