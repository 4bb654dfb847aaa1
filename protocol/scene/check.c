/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Everything about a document that must always be true, looked at from scratch. */

#include "protocol/scene/mutation.h"
#include "protocol/scene/order.h"

#include <string.h>

static void check_links(const struct scn_document *document, uint32_t slot)
{
        const struct scn_hierarchy *hierarchy = document->hierarchy;
        uint32_t count = 0;
        uint32_t previous = SCN_NONE;
        uint32_t child = scn_hierarchy_first_child(hierarchy, slot);
        for (; child != SCN_NONE; child = scn_hierarchy_next(hierarchy, child)) {
                SCN_ASSERT(scn_hierarchy_parent(hierarchy, child) == slot);
                SCN_ASSERT(scn_hierarchy_previous(hierarchy, child) == previous);
                SCN_ASSERT(scn_node_at(document, child)->height < scn_node_at(document, slot)->height);
                SCN_ASSERT(
                        !scn_node_at(document, child)->is_height_loose || scn_node_at(document, slot)->is_height_loose);
                for (int channel = 0; channel < SCN_CHANNEL_COUNT; channel++) {
                        SCN_ASSERT(scn_node_at(document, child)->subtree_rev[channel] <=
                                scn_node_at(document, slot)->subtree_rev[channel]);
                }
                previous = child;
                count++;
                SCN_ASSERT(count <= document->nodes_count);
        }
        SCN_ASSERT(scn_hierarchy_last_child(hierarchy, slot) == previous);
        SCN_ASSERT(scn_hierarchy_children_count(hierarchy, slot) == count);
        scn_order_check(document, slot);
}

static void check_props(const struct scn_document *document, const struct scn_node *node)
{
        const struct scn_props *props = node->props;
        uint32_t living = 0;
        for (uint32_t i = 0; props != NULL && i < props->count; i++) {
                const struct scn_prop *prop = &props->items[i];
                bool is_found;
                SCN_ASSERT(scn_props_find(props, scn_prop_view(prop->text).key, &is_found) == i && is_found);
                SCN_ASSERT(scn_stamp_revision(prop->stamp) <= props->revision);
                SCN_ASSERT(scn_stamp_revision(prop->stamp) <= node->subtree_rev[SCN_CHANNEL_PROPERTIES]);
                SCN_ASSERT(scn_stamp_client(prop->stamp) < document->clients_count);
                living += prop->text->value_size > 0;
        }
        SCN_ASSERT(props == NULL || (props->living_count == living && props->count > 0));
}

static void check_node(const struct scn_document *document, uint32_t slot)
{
        const struct scn_node *node = scn_node_at(document, slot);
        SCN_ASSERT(node->id != 0 && node->id < document->next_id);
        SCN_ASSERT(scn_table_find_id(document, node->id) == slot);
        SCN_ASSERT(scn_table_find_uid(document, node->uid) == slot);
        SCN_ASSERT(scn_name_mark_at(document, slot) == scn_name_mark(node->name));
        SCN_ASSERT(node->birth <= document->revision && scn_node_changed(node) <= document->revision);
        for (uint32_t field = 0; field < SCN_FIELD_COUNT; field++) {
                const struct scn_stamp stamp = node->stamps[field];
                SCN_ASSERT(scn_stamp_revision(stamp) >= node->birth);
                SCN_ASSERT(scn_stamp_revision(stamp) <= node->subtree_rev[scn_channel_of((enum scn_field)field)]);
                SCN_ASSERT(scn_stamp_client(stamp) < document->clients_count);
        }
        check_props(document, node);
        check_links(document, slot);
}

static void check_feed(const struct scn_document *document)
{
        scn_revision revision = 0;
        uint32_t previous = SCN_NONE;
        uint32_t removed = 0;
        uint32_t living = 0;
        uint32_t ref = document->feed_first;
        while (ref != SCN_NONE) {
                SCN_ASSERT(scn_feed_previous(document, ref) == previous);
                SCN_ASSERT(scn_feed_revision(document, ref) >= revision || revision <= document->horizon);
                revision = scn_feed_revision(document, ref);
                previous = ref;
                if ((ref & SCN_PAST_BIT) != 0) {
                        SCN_ASSERT(scn_past_is_kept(document, ref & SCN_PAST_MASK));
                        ref = scn_past_at(document, ref & SCN_PAST_MASK)->feed_next;
                        removed++;
                } else {
                        SCN_ASSERT(scn_node_at(document, ref)->id != 0);
                        ref = scn_node_at(document, ref)->feed_next;
                        living++;
                }
        }
        SCN_ASSERT(document->feed_last == previous);
        SCN_ASSERT(living == document->nodes_count);
        for (uint32_t n = document->past_head; n != document->past_tail; n++) {
                removed -= scn_past_at(document, n)->kind == SCN_PAST_REMOVED;
        }
        SCN_ASSERT(removed == 0);
}

static void check_past(const struct scn_document *document)
{
        scn_revision revision = 0;
        const uint32_t kept = document->past_tail - document->past_live;
        const uint32_t least = document->limits.past_min;
        for (uint32_t n = document->past_head; n != document->past_tail; n++) {
                SCN_ASSERT(scn_past_at(document, n)->revision >= revision);
                revision = scn_past_at(document, n)->revision;
                SCN_ASSERT(scn_past_at(document, n)->since <= revision);
        }
        SCN_ASSERT(revision <= document->revision);
        SCN_ASSERT(kept == 0 || scn_past_at(document, document->past_live)->revision > document->horizon);
        SCN_ASSERT(kept <= (document->nodes_count > least ? document->nodes_count : least));
        SCN_ASSERT(document->horizon <= document->revision);
}

void scn_document_check(const struct scn_document *document)
{
        struct scn_digests sums = {{{0, 0}}};
        uint32_t count = 0;
        if (document->root != SCN_NONE) {
                SCN_ASSERT(scn_hierarchy_parent(document->hierarchy, document->root) == SCN_NONE);
        }
        uint32_t at = document->root;
        for (; at != SCN_NONE; at = scn_hierarchy_walk(document->hierarchy, document->root, at)) {
                check_node(document, at);
                scn_digests_of_node(document, at, SCN_MASK_ALL, at == document->root, &sums);
                count++;
        }
        SCN_ASSERT(count == document->nodes_count);
        SCN_ASSERT(memcmp(&sums, &document->digests, sizeof sums) == 0);
        check_feed(document);
        check_past(document);
}
