/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The change feed, the past behind it, and the horizon (DESIGN §3 Dirtiness, §5). */

#include "protocol/base/memo.h"
#include "protocol/scene/state.h"

#include <stdlib.h>

/* --- The list --- */

static uint32_t *previous_link(const struct scn_document *document, uint32_t ref)
{
        return (ref & SCN_PAST_BIT) != 0 ? &scn_past_at(document, ref & SCN_PAST_MASK)->feed_previous
                                         : &scn_node_at(document, ref)->feed_previous;
}

static uint32_t *next_link(const struct scn_document *document, uint32_t ref)
{
        return (ref & SCN_PAST_BIT) != 0 ? &scn_past_at(document, ref & SCN_PAST_MASK)->feed_next
                                         : &scn_node_at(document, ref)->feed_next;
}

uint32_t scn_feed_previous(const struct scn_document *document, uint32_t ref)
{
        return *previous_link(document, ref);
}

scn_revision scn_feed_revision(const struct scn_document *document, uint32_t ref)
{
        return (ref & SCN_PAST_BIT) != 0 ? scn_past_at(document, ref & SCN_PAST_MASK)->revision
                                         : scn_node_changed(scn_node_at(document, ref));
}

void scn_feed_insert(struct scn_document *document, uint32_t ref, uint32_t previous)
{
        uint32_t *from_left = previous == SCN_NONE ? &document->feed_first : next_link(document, previous);
        const uint32_t next = *from_left;
        uint32_t *from_right = next == SCN_NONE ? &document->feed_last : previous_link(document, next);
        *from_left = ref;
        *from_right = ref;
        *previous_link(document, ref) = previous;
        *next_link(document, ref) = next;
}

void scn_feed_append(struct scn_document *document, uint32_t ref)
{
        scn_feed_insert(document, ref, document->feed_last);
}

/* Leaves the links of `ref` itself alone: a rollback finds its way back by them. */
void scn_feed_remove(struct scn_document *document, uint32_t ref)
{
        const uint32_t previous = *previous_link(document, ref);
        const uint32_t next = *next_link(document, ref);
        *(previous == SCN_NONE ? &document->feed_first : next_link(document, previous)) = next;
        *(next == SCN_NONE ? &document->feed_last : previous_link(document, next)) = previous;
}

/* --- The past --- */

/* Brings the ring to a capacity, a power of two that holds all kept entries. */
static enum scn_error resize_past(struct scn_document *document, uint32_t capacity)
{
        struct scn_past *ring = scn_alloc(capacity * sizeof *ring);
        if (ring == NULL) {
                return SCN_E_NO_MEMORY;
        }
        for (uint32_t n = document->past_head; n != document->past_tail; n++) {
                ring[n & (capacity - 1)] = *scn_past_at(document, n);
        }
        scn_free(document->past);
        document->past = ring;
        document->past_capacity = capacity;
        return SCN_OK;
}

enum scn_error scn_past_reserve(struct scn_document *document, uint32_t extra)
{
        const uint64_t needed = (uint64_t)(document->past_tail - document->past_head) + extra;
        if (needed <= document->past_capacity) {
                return SCN_OK;
        }
        if (needed > SCN_PAST_BIT / 2) {
                return SCN_E_NO_MEMORY;
        }
        uint32_t capacity = document->past_capacity == 0 ? 16 : document->past_capacity;
        while (capacity < needed) {
                capacity *= 2;
        }
        return resize_past(document, capacity);
}

uint32_t scn_past_append(struct scn_document *document, const struct scn_past *entry)
{
        SCN_ASSERT(document->past_tail - document->past_head < document->past_capacity);
        const uint32_t number = document->past_tail++;
        *scn_past_at(document, number) = *entry;
        return number & SCN_PAST_MASK;
}

bool scn_past_is_kept(const struct scn_document *document, uint32_t number)
{
        return number != SCN_NONE &&
                ((number - document->past_head) & SCN_PAST_MASK) < document->past_tail - document->past_head;
}

/* A number may be so old that another entry has it by now; that one is about another node. */
const struct scn_past *scn_past_of(const struct scn_document *document, scn_node_id id, uint32_t number)
{
        if (!scn_past_is_kept(document, number)) {
                return NULL;
        }
        const struct scn_past *entry = scn_past_at(document, number);
        return entry->kind == SCN_PAST_MOVED && entry->id == id ? entry : NULL;
}

scn_revision scn_parent_since(const struct scn_document *document, const struct scn_node *node)
{
        const struct scn_past *entry = scn_past_of(document, node->id, node->past);
        return entry != NULL ? entry->revision : node->birth;
}

/* --- The horizon --- */

void scn_horizon_advance(struct scn_document *document)
{
        const uint32_t least = document->limits.past_min;
        const uint32_t kept_max = document->nodes_count > least ? document->nodes_count : least;
        while (document->past_tail - document->past_live > kept_max) {
                const scn_revision passed = scn_past_at(document, document->past_live)->revision;
                /* A revision is passed as a whole. */
                while (document->past_live != document->past_tail &&
                        scn_past_at(document, document->past_live)->revision <= passed) {
                        document->past_live++;
                }
                document->horizon = passed;
        }
}

static void drop_removed_keys(struct scn_document *document, scn_node_id id)
{
        const uint32_t slot = scn_table_slot(document, id);
        if (slot == SCN_NONE) {
                return;
        }
        struct scn_node *node = scn_node_at(document, slot);
        for (uint32_t i = node->props == NULL ? 0 : node->props->count; i-- > 0;) {
                const struct scn_prop *prop = &node->props->items[i];
                if (prop->text->value_size == 0 && scn_stamp_revision(prop->stamp) <= document->horizon) {
                        struct scn_prop_text *text = prop->text;
                        scn_props_remove(node, i);
                        scn_free(text);
                        if (node->props == NULL) {
                                return;
                        }
                }
        }
}

static void drop_removed_node(struct scn_document *document, uint32_t number)
{
        const struct scn_past *entry = scn_past_at(document, number);
        const uint32_t ref = SCN_PAST_BIT | (number & SCN_PAST_MASK);
        scn_feed_remove(document, ref);
        /* A newer life may have the name by now; in a replica also the id, of a node that left and came back. */
        if (scn_table_find_id(document, entry->id) == ref) {
                scn_table_remove_id(document, entry->id, ref);
        }
        if (scn_table_find_uid(document, entry->uid) == ref) {
                scn_table_remove_uid(document, entry->uid, ref);
        }
}

void scn_horizon_drop(struct scn_document *document)
{
        SCN_ASSERT(document->oldest == NULL);
        for (; document->past_head != document->past_live; document->past_head++) {
                const struct scn_past *entry = scn_past_at(document, document->past_head);
                switch (entry->kind) {
                case SCN_PAST_REMOVED:
                        drop_removed_node(document, document->past_head);
                        break;
                case SCN_PAST_EMPTIED:
                        drop_removed_keys(document, entry->id);
                        break;
                case SCN_PAST_MOVED:
                        break;
                }
        }
        const uint32_t kept = document->past_tail - document->past_head;
        if (document->past_capacity > 1024 && kept < document->past_capacity / 8) {
                /* A smaller ring is a nicety: without memory for it the large one stays. */
                (void)resize_past(document, document->past_capacity / 4);
        }
}

/* --- Lists --- */

void scn_node_list_finish(struct scn_node_list *list)
{
        scn_free(list->ids);
        *list = (struct scn_node_list){0};
}

static enum scn_error push(struct scn_node_list *list, scn_node_id id)
{
        if (!scn_grow((void **)&list->ids, &list->capacity, sizeof *list->ids, list->count + 1, SIZE_MAX)) {
                return SCN_E_NO_MEMORY;
        }
        list->ids[list->count++] = id;
        return SCN_OK;
}

static enum scn_error check_cursor(const struct scn_document *document, scn_revision since)
{
        if (since > document->revision) {
                return SCN_E_FUTURE;
        }
        return since < document->horizon ? SCN_E_BEFORE_HORIZON : SCN_OK;
}

enum scn_error scn_document_list_changed(
        const struct scn_document *document, scn_revision since, struct scn_node_list *list)
{
        list->count = 0;
        const enum scn_error error = check_cursor(document, since);
        if (error != SCN_OK) {
                return error;
        }
        for (uint32_t ref = document->feed_last; ref != SCN_NONE; ref = scn_feed_previous(document, ref)) {
                if (scn_feed_revision(document, ref) <= since) {
                        break;
                }
                if ((ref & SCN_PAST_BIT) == 0 && push(list, scn_node_at(document, ref)->id) != SCN_OK) {
                        return SCN_E_NO_MEMORY;
                }
        }
        for (size_t i = 0; i < list->count / 2; i++) {
                const scn_node_id id = list->ids[i];
                list->ids[i] = list->ids[list->count - 1 - i];
                list->ids[list->count - 1 - i] = id;
        }
        return SCN_OK;
}

/* Whether anything here or below changed after `since`: exactly the set that the source design's marks upwards
 * would hold. */
static bool is_dirty(const struct scn_node *node, scn_revision since)
{
        for (int channel = 0; channel < SCN_CHANNEL_COUNT; channel++) {
                if (node->subtree_rev[channel] > since) {
                        return true;
                }
        }
        return false;
}

struct dirty {
        uint32_t depth;
        scn_node_id id;
};

static int compare_dirty(const void *left, const void *right)
{
        const struct dirty *a = left;
        const struct dirty *b = right;
        if (a->depth != b->depth) {
                return a->depth < b->depth ? -1 : 1;
        }
        return a->id < b->id ? -1 : a->id > b->id;
}

/* A list being gathered upwards: each node once. */
struct gathering {
        const struct scn_document *document;
        scn_revision since;
        struct scn_node_list *list; /* slots while gathering */
        struct scn_memo seen;
};

static enum scn_error gather_upwards(struct gathering *gathering, uint32_t slot)
{
        const struct scn_document *document = gathering->document;
        while (slot != SCN_NONE && is_dirty(scn_node_at(document, slot), gathering->since) &&
                scn_memo_get(&gathering->seen, slot) == SCN_MEMO_NONE) {
                if (scn_memo_put(&gathering->seen, slot, 0) != SCN_OK || push(gathering->list, slot) != SCN_OK) {
                        return SCN_E_NO_MEMORY;
                }
                slot = scn_hierarchy_parent(document->hierarchy, slot);
        }
        return SCN_OK;
}

/* The parents that a node has left since, and, if it is gone, the last one it had. */
static enum scn_error gather_former_parents(struct gathering *gathering, scn_node_id id, uint32_t number)
{
        const struct scn_document *document = gathering->document;
        const struct scn_past *entry = scn_past_of(document, id, number);
        for (; entry != NULL && entry->revision > gathering->since; entry = scn_past_of(document, id, entry->older)) {
                const enum scn_error error = gather_upwards(gathering, scn_table_slot(document, entry->parent));
                if (error != SCN_OK) {
                        return error;
                }
        }
        return SCN_OK;
}

static enum scn_error gather(struct gathering *gathering)
{
        const struct scn_document *document = gathering->document;
        for (uint32_t ref = document->feed_last; ref != SCN_NONE; ref = scn_feed_previous(document, ref)) {
                if (scn_feed_revision(document, ref) <= gathering->since) {
                        break;
                }
                scn_node_id id;
                uint32_t top;
                uint32_t number;
                if ((ref & SCN_PAST_BIT) != 0) {
                        const struct scn_past *removed = scn_past_at(document, ref & SCN_PAST_MASK);
                        id = removed->id;
                        top = scn_table_slot(document, removed->parent);
                        number = removed->older;
                } else {
                        id = scn_node_at(document, ref)->id;
                        top = ref;
                        number = scn_node_at(document, ref)->past;
                }
                enum scn_error error = gather_upwards(gathering, top);
                if (error == SCN_OK) {
                        error = gather_former_parents(gathering, id, number);
                }
                if (error != SCN_OK) {
                        return error;
                }
        }
        return SCN_OK;
}

/* All ancestors of what was gathered were gathered, too: `seen` holds depth + 1 for those already known, and each is
 * walked over once. */
static uint32_t find_depth(struct gathering *gathering, uint32_t slot)
{
        const struct scn_hierarchy *hierarchy = gathering->document->hierarchy;
        uint32_t steps = 0;
        uint32_t known = 0;
        uint32_t top = slot;
        while (top != SCN_NONE && known == 0) {
                known = scn_memo_get(&gathering->seen, top);
                top = known == 0 ? scn_hierarchy_parent(hierarchy, top) : top;
                steps += known == 0;
        }
        uint32_t depth = known + steps - 1;
        for (uint32_t at = slot, left = depth; at != top; at = scn_hierarchy_parent(hierarchy, at)) {
                /* It is there already: no memory is needed. */
                const enum scn_error error = scn_memo_put(&gathering->seen, at, 1 + left--);
                SCN_ASSERT(error == SCN_OK);
        }
        return depth;
}

/* Slots become ids, by depth, then id. */
static enum scn_error sort_by_depth(struct gathering *gathering)
{
        struct scn_node_list *list = gathering->list;
        struct dirty *order = scn_alloc(list->count * sizeof *order);
        if (order == NULL) {
                return SCN_E_NO_MEMORY;
        }
        for (size_t i = 0; i < list->count; i++) {
                order[i].id = scn_node_at(gathering->document, list->ids[i])->id;
                order[i].depth = find_depth(gathering, list->ids[i]);
        }
        qsort(order, list->count, sizeof *order, compare_dirty);
        for (size_t i = 0; i < list->count; i++) {
                list->ids[i] = order[i].id;
        }
        scn_free(order);
        return SCN_OK;
}

enum scn_error scn_document_list_dirty(
        const struct scn_document *document, scn_revision since, struct scn_node_list *list)
{
        list->count = 0;
        enum scn_error error = check_cursor(document, since);
        if (error != SCN_OK) {
                return error;
        }
        struct gathering gathering = {document, since, list, {0}};
        error = gather(&gathering);
        if (error == SCN_OK) {
                error = sort_by_depth(&gathering);
        }
        scn_memo_finish(&gathering.seen);
        return error;
}
