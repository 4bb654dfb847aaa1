/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Reads the log that mutation.c wrote, from its end: to take everything back, or to free what is no longer needed
 * for that. Neither needs memory. */

#include "protocol/scene/mutation.h"

#include "protocol/scene/log.h"
#include "protocol/scene/order.h"

#include <string.h>

static void roll_back_mark(struct scn_document *document, struct scn_changes *changes, struct scn_log_header header)
{
        /* The tree is as it was then, so the same walk up meets the same ancestors. */
        const uint64_t count = scn_log_pop(changes);
        SCN_ASSERT(changes->log_count >= count);
        const uint64_t *revisions = &changes->log[changes->log_count - count];
        uint32_t slot = header.slot;
        for (uint64_t i = 0; i < count; i++) {
                scn_node_at(document, slot)->subtree_rev[header.number] = revisions[i];
                slot = scn_hierarchy_parent(document->hierarchy, slot);
        }
        changes->log_count -= count;
}

static void roll_back_feed(struct scn_document *document, struct scn_changes *changes, uint32_t slot)
{
        const uint32_t previous = (uint32_t)scn_log_pop(changes);
        scn_feed_remove(document, slot);
        scn_feed_insert(document, slot, previous);
}

static void roll_back_property(struct scn_document *document, struct scn_changes *changes, uint32_t slot)
{
        struct scn_node *node = scn_node_at(document, slot);
        struct scn_stamp stamp;
        stamp.writer_client = scn_log_pop(changes);
        stamp.revision_client = scn_log_pop(changes);
        const scn_revision revision = scn_log_pop(changes);
        struct scn_prop_text *new = (struct scn_prop_text *)(uintptr_t)scn_log_pop(changes);
        struct scn_prop_text *old = (struct scn_prop_text *)(uintptr_t)scn_log_pop(changes);
        bool is_found;
        const uint32_t index = scn_props_find(node->props, scn_prop_view(new).key, &is_found);
        SCN_ASSERT(is_found && node->props->items[index].text == new);
        if (old == NULL) {
                scn_props_remove(node, index);
        } else {
                node->props->living_count += old->value_size > 0;
                node->props->living_count -= new->value_size > 0;
                node->props->items[index] = (struct scn_prop){stamp, old};
        }
        if (node->props != NULL) {
                node->props->revision = revision;
        }
        scn_free(new);
}

static void roll_back_place(struct scn_document *document, uint32_t slot, uint64_t place)
{
        scn_hierarchy_link(document->hierarchy, slot, (uint32_t)(place >> 32), (uint32_t)place);
        scn_order_linked(document, slot);
        /* The bounds may have been made exact while it was away. */
        scn_raise_heights(document, slot);
}

static void roll_back_move(struct scn_document *document, struct scn_changes *changes, struct scn_log_header header)
{
        scn_loosen_heights(document, scn_hierarchy_parent(document->hierarchy, header.slot));
        scn_order_unlinking(document, header.slot);
        scn_hierarchy_unlink(document->hierarchy, header.slot);
        roll_back_place(document, header.slot, scn_log_pop(changes));
        if (header.number != 0) {
                struct scn_node *node = scn_node_at(document, header.slot);
                node->past = scn_past_at(document, document->past_tail - 1)->older;
                document->past_tail--;
        }
}

static void roll_back_add(struct scn_document *document, struct scn_changes *changes, uint32_t slot)
{
        const uint64_t former = scn_log_pop(changes);
        const uint32_t former_uid = (uint32_t)former;
        const uint32_t former_id = (uint32_t)(former >> 32);
        struct scn_node *node = scn_node_at(document, slot);
        scn_loosen_heights(document, scn_hierarchy_parent(document->hierarchy, slot));
        scn_order_unlinking(document, slot);
        scn_hierarchy_unlink(document->hierarchy, slot);
        scn_feed_remove(document, slot);
        scn_table_remove_id(document, node->id, slot);
        scn_table_remove_uid(document, node->uid, slot);
        if (former_uid != SCN_NONE) {
                scn_table_add_uid(document, node->uid, former_uid);
        }
        if (former_id != SCN_NONE) {
                scn_table_add_id(document, node->id, former_id);
        }
        scn_table_free_slot(document, slot);
        document->nodes_count--;
        document->root = slot == document->root ? SCN_NONE : document->root;
}

/* The exact reverse of burying them: last buried, first dug out. */
static void roll_back_remove(struct scn_document *document, struct scn_changes *changes, uint32_t slot)
{
        uint32_t at = scn_hierarchy_walk_last(document->hierarchy, slot);
        for (; at != SCN_NONE; at = scn_hierarchy_walk_back(document->hierarchy, slot, at)) {
                const struct scn_node *node = scn_node_at(document, at);
                const uint32_t number = document->past_tail - 1;
                const uint32_t ref = SCN_PAST_BIT | (number & SCN_PAST_MASK);
                SCN_ASSERT(scn_past_at(document, number)->id == node->id);
                scn_table_remove_uid(document, node->uid, ref);
                scn_table_add_uid(document, node->uid, at);
                scn_table_remove_id(document, node->id, ref);
                scn_table_add_id(document, node->id, at);
                scn_feed_remove(document, ref);
                scn_feed_insert(document, at, node->feed_previous);
                document->past_tail--;
                document->nodes_count++;
        }
        roll_back_place(document, slot, scn_log_pop(changes));
}

static void roll_back_entry(struct scn_document *document, struct scn_changes *changes)
{
        const struct scn_log_header header = scn_log_pop_header(changes);
        struct scn_node *node = scn_node_at(document, header.slot);
        switch (header.kind) {
        case SCN_LOG_STAMP:
                node->stamps[header.number].writer_client = scn_log_pop(changes);
                node->stamps[header.number].revision_client = scn_log_pop(changes);
                break;
        case SCN_LOG_FEED:
                roll_back_feed(document, changes, header.slot);
                break;
        case SCN_LOG_MARK:
                roll_back_mark(document, changes, header);
                break;
        case SCN_LOG_TRS: {
                struct scn_trs trs;
                changes->log_count -= SCN_LOG_TRS_WORDS;
                memcpy(&trs, &changes->log[changes->log_count], sizeof trs);
                scn_hierarchy_set_local(document->hierarchy, header.slot, &trs);
                break;
        }
        case SCN_LOG_NAME:
                scn_free(node->name);
                scn_node_set_name(document, header.slot, (struct scn_text *)(uintptr_t)scn_log_pop(changes));
                break;
        case SCN_LOG_PROPERTY:
                roll_back_property(document, changes, header.slot);
                break;
        case SCN_LOG_EMPTIED:
                document->past_tail--;
                node->props->emptied = 0;
                break;
        case SCN_LOG_ADD:
                roll_back_add(document, changes, header.slot);
                break;
        case SCN_LOG_MOVE:
                roll_back_move(document, changes, header);
                break;
        case SCN_LOG_REMOVE:
                roll_back_remove(document, changes, header.slot);
                break;
        }
}

void scn_changes_roll_back(struct scn_document *document, struct scn_changes *changes)
{
        while (changes->log_count > 0) {
                roll_back_entry(document, changes);
        }
        document->revision = changes->revision_before;
        document->horizon = changes->horizon_before;
        document->past_live = changes->past_live_before;
        document->next_id = changes->next_id_before;
        document->digests = changes->digests_before;
        scn_table_forget_clients(document, changes->clients_count_before);
}

/* A removed subtree is forgotten: children before parents. */
static void free_removed(struct scn_document *document, uint32_t top)
{
        uint32_t at = scn_hierarchy_walk_last(document->hierarchy, top);
        while (at != SCN_NONE) {
                const uint32_t next = scn_hierarchy_walk_back(document->hierarchy, top, at);
                if (at != top) {
                        scn_order_forget(document, scn_hierarchy_parent(document->hierarchy, at));
                        scn_hierarchy_unlink(document->hierarchy, at);
                }
                scn_table_free_slot(document, at);
                at = next;
        }
}

static void collect_entry(struct scn_document *document, struct scn_changes *changes)
{
        const struct scn_log_header header = scn_log_pop_header(changes);
        switch (header.kind) {
        case SCN_LOG_STAMP:
                changes->log_count -= 2;
                break;
        case SCN_LOG_MARK: {
                const uint64_t count = scn_log_pop(changes);
                changes->log_count -= count;
                break;
        }
        case SCN_LOG_TRS:
                changes->log_count -= SCN_LOG_TRS_WORDS;
                break;
        case SCN_LOG_NAME:
                scn_free((void *)(uintptr_t)scn_log_pop(changes));
                break;
        case SCN_LOG_PROPERTY:
                changes->log_count -= 4;
                scn_free((void *)(uintptr_t)scn_log_pop(changes));
                break;
        case SCN_LOG_EMPTIED:
                break;
        case SCN_LOG_FEED:
        case SCN_LOG_ADD:
        case SCN_LOG_MOVE:
                changes->log_count -= 1;
                break;
        case SCN_LOG_REMOVE:
                changes->log_count -= 1;
                free_removed(document, header.slot);
                break;
        }
}

void scn_changes_collect(struct scn_document *document, struct scn_changes *changes)
{
        while (changes->has_garbage && changes->log_count > 0) {
                collect_entry(document, changes);
        }
        changes->log_count = 0;
}
