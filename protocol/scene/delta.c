/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "protocol/scene/delta.h"

#include "protocol/base/memo.h"
#include "protocol/scene/order.h"
#include "protocol/scene/state.h"

#include <stdlib.h>

/* One node that the delta will tell. */
struct entry {
        uint32_t slot;
        uint32_t fields;
        bool is_new;
        scn_node_id id;
        uint32_t depth;  /* for those with a place ... */
        uint32_t parent; /* ... slot */
        uint32_t rank;   /* ... among the siblings */
};

struct builder {
        struct scn_document *document;
        struct scn_delta *delta;
        uint32_t root; /* slot of the view's root */
        scn_revision from;
        uint32_t fields; /* of the mask */
        bool is_worlds;  /* the receiver holds no hierarchy */
        struct entry *entries;
        size_t entries_count;
        size_t entries_capacity;
        struct scn_memo now;    /* slot -> whether under the root now */
        struct scn_memo then;   /* id -> whether under the root at `from` */
        struct scn_memo depths; /* slot -> depth */
};

void scn_delta_finish(struct scn_delta *delta)
{
        scn_free(delta->nodes);
        scn_free(delta->properties);
        scn_free(delta->removed);
        scn_free(delta->left);
        scn_free(delta->worlds);
        *delta = (struct scn_delta){0};
}

bool scn_delta_is_empty(const struct scn_delta *delta)
{
        return !delta->is_whole && delta->nodes_count == 0 && delta->removed_count == 0 && delta->left_count == 0 &&
                delta->worlds_count == 0;
}

static enum scn_error push_id(scn_node_id **ids, size_t *count, size_t *capacity, scn_node_id id)
{
        if (!scn_grow((void **)ids, capacity, sizeof **ids, *count + 1, SIZE_MAX)) {
                return SCN_E_NO_MEMORY;
        }
        (*ids)[(*count)++] = id;
        return SCN_OK;
}

static enum scn_error push_entry(struct builder *builder, uint32_t slot, uint32_t fields, bool is_new)
{
        if (!scn_grow((void **)&builder->entries, &builder->entries_capacity, sizeof *builder->entries,
                    builder->entries_count + 1, SIZE_MAX)) {
                return SCN_E_NO_MEMORY;
        }
        builder->entries[builder->entries_count++] = (struct entry){
                .slot = slot,
                .fields = fields,
                .is_new = is_new,
                .id = scn_node_at(builder->document, slot)->id,
                .parent = scn_hierarchy_parent(builder->document->hierarchy, slot),
        };
        return SCN_OK;
}

/* --- Membership, walked once for each distinct ancestor --- */

static enum scn_error is_in_now(struct builder *builder, uint32_t slot, bool *is_in_out)
{
        const struct scn_document *document = builder->document;
        if (builder->root == document->root) {
                *is_in_out = true;
                return SCN_OK;
        }
        uint32_t top = slot;
        uint32_t known = SCN_MEMO_NONE;
        while (top != SCN_NONE && top != builder->root && known == SCN_MEMO_NONE) {
                known = scn_memo_get(&builder->now, top);
                top = known == SCN_MEMO_NONE ? scn_hierarchy_parent(document->hierarchy, top) : top;
        }
        *is_in_out = known == SCN_MEMO_NONE ? top == builder->root : known == 1;
        for (uint32_t at = slot; at != top; at = scn_hierarchy_parent(document->hierarchy, at)) {
                if (scn_memo_put(&builder->now, at, *is_in_out) != SCN_OK) {
                        return SCN_E_NO_MEMORY;
                }
        }
        return SCN_OK;
}

/* The parent that a node had at the cursor: the oldest one it has left since, else the last one. `id` was alive at
 * the cursor or not, that is the caller's to know; 0: the document's root. */
static scn_node_id parent_then(const struct builder *builder, uint32_t ref)
{
        const struct scn_document *document = builder->document;
        scn_node_id id;
        scn_node_id parent;
        uint32_t number;
        if ((ref & SCN_PAST_BIT) != 0) {
                const struct scn_past *removed = scn_past_at(document, ref & SCN_PAST_MASK);
                id = removed->id;
                parent = removed->parent;
                number = removed->older;
        } else {
                id = scn_node_at(document, ref)->id;
                parent = scn_id_at(document, scn_hierarchy_parent(document->hierarchy, ref));
                number = scn_node_at(document, ref)->past;
        }
        const struct scn_past *entry = scn_past_of(document, id, number);
        while (entry != NULL && entry->revision > builder->from) {
                parent = entry->parent;
                entry = scn_past_of(document, id, entry->older);
        }
        return parent;
}

static scn_revision birth_of(const struct scn_document *document, uint32_t ref)
{
        return (ref & SCN_PAST_BIT) != 0 ? scn_past_at(document, ref & SCN_PAST_MASK)->since
                                         : scn_node_at(document, ref)->birth;
}

/* The node of an id at the cursor, or SCN_NONE if it did not live then. */
static uint32_t find_then(const struct builder *builder, scn_node_id id)
{
        const uint32_t ref = id == 0 ? SCN_NONE : scn_table_find_id(builder->document, id);
        return ref != SCN_NONE && birth_of(builder->document, ref) <= builder->from ? ref : SCN_NONE;
}

static enum scn_error was_in_then(struct builder *builder, uint32_t ref, bool *was_in_out)
{
        const struct scn_document *document = builder->document;
        const scn_node_id root = scn_node_at(document, builder->root)->id;
        scn_node_id id = (ref & SCN_PAST_BIT) != 0 ? scn_past_at(document, ref & SCN_PAST_MASK)->id
                                                   : scn_node_at(document, ref)->id;
        const scn_node_id bottom = id;
        if (birth_of(document, ref) > builder->from || builder->root == document->root) {
                *was_in_out = birth_of(document, ref) <= builder->from;
                return SCN_OK;
        }
        uint32_t known = SCN_MEMO_NONE;
        /* In a damaged file's past a node can have been under itself; no honest path has more steps than this. */
        uint64_t steps_left = (uint64_t)document->nodes_count + scn_document_past_count(document);
        while (id != 0 && id != root && known == SCN_MEMO_NONE && steps_left-- > 0) {
                known = scn_memo_get(&builder->then, id);
                if (known == SCN_MEMO_NONE) {
                        const uint32_t at = find_then(builder, id);
                        id = at == SCN_NONE ? 0 : parent_then(builder, at);
                }
        }
        *was_in_out = known == SCN_MEMO_NONE ? id == root : known == 1;
        const scn_node_id top = id;
        for (id = bottom; id != top && id != 0;) {
                if (scn_memo_put(&builder->then, id, *was_in_out) != SCN_OK) {
                        return SCN_E_NO_MEMORY;
                }
                const uint32_t at = find_then(builder, id);
                id = at == SCN_NONE ? 0 : parent_then(builder, at);
        }
        return SCN_OK;
}

bool scn_delta_was_under(const struct scn_document *document, scn_node_id id, scn_node_id root, scn_revision revision)
{
        const struct builder builder = {.document = (struct scn_document *)document, .from = revision};
        uint64_t steps_left = (uint64_t)document->nodes_count + scn_document_past_count(document);
        SCN_ASSERT(revision >= document->horizon);
        uint32_t at = find_then(&builder, id);
        while (at != SCN_NONE && id != root && steps_left-- > 0) {
                id = parent_then(&builder, at);
                at = find_then(&builder, id);
        }
        return at != SCN_NONE && id == root;
}

static enum scn_error find_depth(struct builder *builder, uint32_t slot, uint32_t *depth_out)
{
        const struct scn_hierarchy *hierarchy = builder->document->hierarchy;
        uint32_t steps = 0;
        uint32_t known = SCN_MEMO_NONE;
        uint32_t top = slot;
        while (top != SCN_NONE && known == SCN_MEMO_NONE) {
                known = scn_memo_get(&builder->depths, top);
                if (known == SCN_MEMO_NONE) {
                        top = scn_hierarchy_parent(hierarchy, top);
                        steps++;
                }
        }
        *depth_out = known == SCN_MEMO_NONE ? steps - 1 : known + steps;
        uint32_t depth = *depth_out;
        for (uint32_t at = slot; at != top; at = scn_hierarchy_parent(hierarchy, at)) {
                if (scn_memo_put(&builder->depths, at, depth--) != SCN_OK) {
                        return SCN_E_NO_MEMORY;
                }
        }
        return SCN_OK;
}

/* --- What to tell --- */

/* Fields of the mask that changed after the cursor. */
static uint32_t changed_fields(const struct builder *builder, uint32_t slot)
{
        const struct scn_node *node = scn_node_at(builder->document, slot);
        uint32_t fields = 0;
        for (uint32_t field = 0; field < SCN_FIELD_COUNT; field++) {
                fields |= scn_stamp_revision(node->stamps[field]) > builder->from ? 1u << field : 0;
        }
        for (uint32_t i = 0; node->props != NULL && i < node->props->count; i++) {
                if (scn_stamp_revision(node->props->items[i].stamp) > builder->from) {
                        fields |= SCN_FIELDS_PROPERTY;
                        break;
                }
        }
        fields &= slot == builder->root ? ~SCN_FIELDS_PLACE : ~0u;
        return fields & builder->fields;
}

/* All fields of the mask that there are. */
static uint32_t whole_fields(const struct builder *builder, uint32_t slot)
{
        const struct scn_node *node = scn_node_at(builder->document, slot);
        uint32_t fields = SCN_FIELDS_TRS;
        fields |= slot == builder->root ? 0 : SCN_FIELDS_PLACE;
        fields |= node->name != NULL ? SCN_FIELDS_NAME : 0;
        fields |= node->props != NULL && node->props->living_count > 0 ? SCN_FIELDS_PROPERTY : 0;
        return fields & builder->fields;
}

/* Whether the node came to its parent after the cursor. Such a one is in the feed and tells itself. */
static bool has_come(const struct builder *builder, uint32_t slot)
{
        return scn_parent_since(builder->document, scn_node_at(builder->document, slot)) > builder->from;
}

/* A node that came from outside or is new, with everything that came along on its back. */
static enum scn_error tell_entering(struct builder *builder, uint32_t top)
{
        const struct scn_hierarchy *hierarchy = builder->document->hierarchy;
        uint32_t at = top;
        while (at != SCN_NONE) {
                const bool is_told = at == top || !has_come(builder, at);
                if (is_told) {
                        const enum scn_error error = push_entry(builder, at, whole_fields(builder, at), true);
                        if (error != SCN_OK) {
                                return error;
                        }
                }
                const uint32_t child = is_told ? scn_hierarchy_first_child(hierarchy, at) : SCN_NONE;
                if (child != SCN_NONE) {
                        at = child;
                        continue;
                }
                while (at != top && scn_hierarchy_next(hierarchy, at) == SCN_NONE) {
                        at = scn_hierarchy_parent(hierarchy, at);
                }
                at = at == top ? SCN_NONE : scn_hierarchy_next(hierarchy, at);
        }
        return SCN_OK;
}

/* It left, and what has not left it meanwhile left with it; but the view's own root may have moved there. */
static enum scn_error tell_left(struct builder *builder, uint32_t slot)
{
        const struct scn_document *document = builder->document;
        struct scn_delta *delta = builder->delta;
        enum scn_error error = SCN_OK;
        for (uint32_t at = slot; at != SCN_NONE && error == SCN_OK;) {
                if (at == builder->root) {
                        at = scn_hierarchy_walk_past(document->hierarchy, slot, at);
                        continue;
                }
                bool was_in = at == slot;
                error = was_in ? SCN_OK : was_in_then(builder, at, &was_in);
                if (error == SCN_OK && was_in) {
                        error = push_id(
                                &delta->left, &delta->left_count, &delta->left_capacity, scn_id_at(document, at));
                }
                at = builder->is_worlds ? scn_hierarchy_walk(document->hierarchy, slot, at) : SCN_NONE;
        }
        return error;
}

/* A node that was in the view and is not: named if its parent at the cursor still is in the view, for then it goes
 * with that; or if the receiver does not know who is whose parent. */
static enum scn_error tell_lost(struct builder *builder, uint32_t ref)
{
        struct scn_delta *delta = builder->delta;
        const uint32_t parent = scn_table_slot(builder->document, parent_then(builder, ref));
        bool has_parent = builder->is_worlds;
        if (parent != SCN_NONE && !has_parent) {
                const enum scn_error error = is_in_now(builder, parent, &has_parent);
                if (error != SCN_OK) {
                        return error;
                }
        }
        if (!has_parent) {
                return SCN_OK;
        }
        if ((ref & SCN_PAST_BIT) != 0) {
                return push_id(&delta->removed, &delta->removed_count, &delta->removed_capacity,
                        scn_past_at(builder->document, ref & SCN_PAST_MASK)->id);
        }
        return tell_left(builder, ref);
}

static enum scn_error tell(struct builder *builder, uint32_t ref)
{
        bool is_in = false;
        bool was_in = false;
        enum scn_error error = SCN_OK;
        if ((ref & SCN_PAST_BIT) == 0) {
                error = is_in_now(builder, ref, &is_in);
        }
        if (error == SCN_OK) {
                error = was_in_then(builder, ref, &was_in);
        }
        if (error != SCN_OK) {
                return error;
        }
        if (is_in && was_in) {
                const uint32_t fields = changed_fields(builder, ref);
                return fields == 0 ? SCN_OK : push_entry(builder, ref, fields, false);
        }
        if (is_in) {
                /* One that did not come itself was carried in, and is told with who carried it. */
                return has_come(builder, ref) ? tell_entering(builder, ref) : SCN_OK;
        }
        return was_in ? tell_lost(builder, ref) : SCN_OK;
}

/* --- Order --- */

static int compare_entries(const void *left, const void *right)
{
        const struct entry *a = left;
        const struct entry *b = right;
        const bool a_is_placed = (a->fields & SCN_FIELDS_PLACE) != 0;
        const bool b_is_placed = (b->fields & SCN_FIELDS_PLACE) != 0;
        if (a_is_placed != b_is_placed) {
                return a_is_placed ? -1 : 1;
        }
        if (!a_is_placed) {
                return a->id < b->id ? -1 : a->id > b->id;
        }
        if (a->depth != b->depth) {
                return a->depth < b->depth ? -1 : 1;
        }
        if (a->parent != b->parent) {
                return a->parent < b->parent ? -1 : 1;
        }
        return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Ranks of the placed children of one parent: many of them by one walk over the row, few by the index. */
static enum scn_error rank_row(struct builder *builder, struct entry *row, size_t count)
{
        struct scn_document *document = builder->document;
        const struct scn_hierarchy *hierarchy = document->hierarchy;
        if (count < scn_hierarchy_children_count(hierarchy, row->parent) / 8) {
                for (size_t i = 0; i < count; i++) {
                        row[i].rank = scn_order_index(document, row[i].slot);
                }
                return SCN_OK;
        }
        struct scn_memo ranks = {0};
        enum scn_error error = SCN_OK;
        uint32_t rank = 0;
        uint32_t at = scn_hierarchy_first_child(hierarchy, row->parent);
        for (; at != SCN_NONE && error == SCN_OK; at = scn_hierarchy_next(hierarchy, at)) {
                error = scn_memo_put(&ranks, at, rank++);
        }
        for (size_t i = 0; i < count && error == SCN_OK; i++) {
                row[i].rank = scn_memo_get(&ranks, row[i].slot);
        }
        scn_memo_finish(&ranks);
        return error;
}

static enum scn_error order_entries(struct builder *builder)
{
        struct entry *entries = builder->entries;
        size_t placed = 0;
        for (size_t i = 0; i < builder->entries_count; i++) {
                if ((entries[i].fields & SCN_FIELDS_PLACE) != 0) {
                        const enum scn_error error = find_depth(builder, entries[i].slot, &entries[i].depth);
                        if (error != SCN_OK) {
                                return error;
                        }
                        placed++;
                }
        }
        if (builder->entries_count < 2) {
                return SCN_OK;
        }
        qsort(entries, builder->entries_count, sizeof *entries, compare_entries);
        for (size_t i = 0; i < placed;) {
                size_t end = i + 1;
                while (end < placed && entries[end].parent == entries[i].parent) {
                        end++;
                }
                if (end - i > 1) {
                        const enum scn_error error = rank_row(builder, &entries[i], end - i);
                        if (error != SCN_OK) {
                                return error;
                        }
                        qsort(&entries[i], end - i, sizeof *entries, compare_entries);
                }
                i = end;
        }
        return SCN_OK;
}

/* --- Filling in --- */

static enum scn_error fill_properties(struct builder *builder, const struct entry *entry, struct scn_delta_node *told)
{
        struct scn_delta *delta = builder->delta;
        const struct scn_props *props = scn_node_at(builder->document, entry->slot)->props;
        told->properties_first = (uint32_t)delta->properties_count;
        for (uint32_t i = 0; i < props->count; i++) {
                const struct scn_prop *prop = &props->items[i];
                const bool is_told =
                        entry->is_new ? prop->text->value_size > 0 : scn_stamp_revision(prop->stamp) > builder->from;
                if (!is_told) {
                        continue;
                }
                if (!scn_grow((void **)&delta->properties, &delta->properties_capacity, sizeof *delta->properties,
                            delta->properties_count + 1, SIZE_MAX)) {
                        return SCN_E_NO_MEMORY;
                }
                delta->properties[delta->properties_count++] = scn_prop_view(prop->text);
                told->properties_count++;
        }
        return SCN_OK;
}

static enum scn_error fill(struct builder *builder)
{
        const struct scn_document *document = builder->document;
        struct scn_delta *delta = builder->delta;
        if (!scn_grow((void **)&delta->nodes, &delta->nodes_capacity, sizeof *delta->nodes, builder->entries_count,
                    SIZE_MAX)) {
                return SCN_E_NO_MEMORY;
        }
        for (size_t i = 0; i < builder->entries_count; i++) {
                const struct entry *entry = &builder->entries[i];
                const struct scn_node *node = scn_node_at(document, entry->slot);
                struct scn_delta_node *told = &delta->nodes[i];
                *told = (struct scn_delta_node){
                        .id = node->id,
                        .uid = node->uid,
                        .is_new = entry->is_new,
                        .fields = entry->fields,
                        .name = scn_text_slice(node->name),
                        .trs = scn_hierarchy_local(document->hierarchy, entry->slot),
                };
                if ((entry->fields & SCN_FIELDS_PLACE) != 0) {
                        told->parent = scn_id_at(document, entry->parent);
                        told->previous = scn_id_at(document, scn_hierarchy_previous(document->hierarchy, entry->slot));
                }
                if ((entry->fields & SCN_FIELDS_PROPERTY) != 0) {
                        const enum scn_error error = fill_properties(builder, entry, told);
                        if (error != SCN_OK) {
                                return error;
                        }
                }
        }
        delta->nodes_count = builder->entries_count;
        return SCN_OK;
}

/* --- The three kinds of answer --- */

/* Level by level: parents first, siblings left to right, without sorting. */
static enum scn_error compute_whole(struct builder *builder)
{
        const struct scn_hierarchy *hierarchy = builder->document->hierarchy;
        enum scn_error error = push_entry(builder, builder->root, whole_fields(builder, builder->root), true);
        for (size_t i = 0; i < builder->entries_count && error == SCN_OK; i++) {
                uint32_t child = scn_hierarchy_first_child(hierarchy, builder->entries[i].slot);
                for (; child != SCN_NONE && error == SCN_OK; child = scn_hierarchy_next(hierarchy, child)) {
                        error = push_entry(builder, child, whole_fields(builder, child), true);
                }
        }
        builder->delta->is_whole = true;
        return error == SCN_OK ? fill(builder) : error;
}

static enum scn_error compute_changed(struct builder *builder)
{
        const struct scn_document *document = builder->document;
        for (uint32_t ref = document->feed_last; ref != SCN_NONE; ref = scn_feed_previous(document, ref)) {
                if (scn_feed_revision(document, ref) <= builder->from) {
                        break;
                }
                const enum scn_error error = tell(builder, ref);
                if (error != SCN_OK) {
                        return error;
                }
        }
        const enum scn_error error = order_entries(builder);
        return error == SCN_OK ? fill(builder) : error;
}

/* The root is not there: if it was at the cursor, that is all there is to say. */
static enum scn_error compute_rootless(
        const struct scn_document *document, const struct scn_delta_request *request, struct scn_delta *delta)
{
        if (request->is_fresh) {
                return SCN_OK;
        }
        for (uint32_t ref = document->feed_last; ref != SCN_NONE; ref = scn_feed_previous(document, ref)) {
                if (scn_feed_revision(document, ref) <= request->from) {
                        break;
                }
                if ((ref & SCN_PAST_BIT) != 0) {
                        const struct scn_past *removed = scn_past_at(document, ref & SCN_PAST_MASK);
                        if (removed->since <= request->from && scn_uid_equal(removed->uid, request->root)) {
                                return push_id(
                                        &delta->removed, &delta->removed_count, &delta->removed_capacity, removed->id);
                        }
                }
        }
        return SCN_OK;
}

static void reset(const struct scn_document *document, const struct scn_delta_request *request, uint32_t mask,
        struct scn_delta *delta)
{
        delta->from = request->is_fresh ? 0 : request->from;
        delta->to = document->revision;
        delta->mask = mask;
        /* Also where there is nothing: a receiver that came too late still holds what was. */
        delta->is_whole = request->is_fresh;
        delta->root = 0;
        delta->root_uid = request->root;
        delta->nodes_count = 0;
        delta->properties_count = 0;
        delta->removed_count = 0;
        delta->left_count = 0;
        delta->worlds_count = 0;
}

/* All that is told of a node is that it is new. */
static void keep_names(struct scn_delta *delta)
{
        size_t kept = 0;
        for (size_t i = 0; i < delta->nodes_count; i++) {
                if (delta->nodes[i].is_new) {
                        delta->nodes[kept] = delta->nodes[i];
                        delta->nodes[kept++].fields = 0;
                }
        }
        delta->nodes_count = kept;
}

static enum scn_error compute_worlds(struct builder *builder, bool is_whole)
{
        enum scn_error error = SCN_OK;
        if (is_whole) {
                error = compute_whole(builder);
        } else if (scn_document_changed_since(
                           builder->document, builder->delta->root, SCN_MASK_STRUCTURE, builder->from)) {
                error = compute_changed(builder);
        }
        keep_names(builder->delta);
        return error == SCN_OK ? scn_delta_add_worlds(builder->document, builder->delta, builder->root, builder->from)
                               : error;
}

enum scn_error scn_delta_compute(
        struct scn_document *document, const struct scn_delta_request *request, struct scn_delta *delta)
{
        const uint32_t mask = request->mask | SCN_MASK_STRUCTURE;
        reset(document, request, mask, delta);
        if (!request->is_fresh && request->from > document->revision) {
                return SCN_E_FUTURE;
        }
        if (!request->is_fresh && request->from < document->horizon) {
                return SCN_E_BEFORE_HORIZON;
        }
        const uint32_t root = scn_table_find_uid(document, request->root);
        if (root == SCN_NONE || (root & SCN_PAST_BIT) != 0) {
                return compute_rootless(document, request, delta);
        }
        delta->root = scn_node_at(document, root)->id;
        const bool is_whole = request->is_fresh || scn_node_at(document, root)->birth > request->from;
        const bool is_worlds = (request->mask & (SCN_MASK_DURABLE | SCN_MASK_WORLD)) == SCN_MASK_WORLD;
        if (!is_worlds && !is_whole && !scn_document_changed_since(document, delta->root, mask, request->from)) {
                return SCN_OK;
        }
        struct builder builder = {
                .document = document,
                .delta = delta,
                .root = root,
                .from = request->from,
                .fields = scn_fields_of_mask(mask),
                .is_worlds = is_worlds,
        };
        const enum scn_error error = is_worlds ? compute_worlds(&builder, is_whole)
                : is_whole                     ? compute_whole(&builder)
                                               : compute_changed(&builder);
        scn_free(builder.entries);
        scn_memo_finish(&builder.now);
        scn_memo_finish(&builder.then);
        scn_memo_finish(&builder.depths);
        return error;
}
