/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "client/event.h"

#include "protocol/base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* Keys and names are copied: what they are borrowed from goes before the event is told. */
#define BLOCK_BYTES 2048u

struct scn_event_block {
        struct scn_event_block *next;
        size_t used;
        size_t capacity;
        uint8_t bytes[];
};

/* Whether a node was in the view before; of nodes for which that may not be what it was in the confirmed state, or
 * which were elsewhere than there. */
struct scn_noted {
        struct scn_uid uid;
        bool was_there;
        bool may_live_anew; /* it may come back in another life, in which all of it is different */
};

/* A node that a delta names as removed or left, or one beneath that; it follows the one that is named. */
struct scn_gone {
        struct scn_view_gone node;
        bool is_named;
        bool has_left;
};

void scn_told_init(struct scn_told *told, enum scn_view_event_kind kind)
{
        *told = (struct scn_told){.event = {.kind = kind}};
}

void scn_told_finish(struct scn_told *told)
{
        while (told->blocks != NULL) {
                struct scn_event_block *next = told->blocks->next;
                scn_free(told->blocks);
                told->blocks = next;
        }
        scn_free(told->changes);
        scn_free(told->keys);
        scn_free(told->removed);
        scn_free(told->noted);
        scn_free(told->gone);
        scn_free(told->left);
        *told = (struct scn_told){.event = {.kind = told->event.kind}};
}

/* A copy that lives as long as the event; no data if there is no memory, or there was none. */
static struct scn_slice keep(struct scn_told *told, struct scn_slice bytes)
{
        struct scn_event_block *block = told->blocks;
        if (bytes.data == NULL) {
                return bytes;
        }
        if (block == NULL || block->capacity - block->used < bytes.size) {
                const size_t capacity = bytes.size > BLOCK_BYTES ? bytes.size : BLOCK_BYTES;
                block = scn_alloc(sizeof *block + capacity);
                if (block == NULL) {
                        told->is_poor = true;
                        return (struct scn_slice){NULL, 0};
                }
                *block = (struct scn_event_block){told->blocks, 0, capacity};
                told->blocks = block;
        }
        uint8_t *kept = block->bytes + block->used;
        if (bytes.size > 0) {
                memcpy(kept, bytes.data, bytes.size);
        }
        block->used += bytes.size;
        return (struct scn_slice){kept, bytes.size};
}

static void add_key(struct scn_told *told, struct scn_slice key)
{
        const struct scn_slice kept = keep(told, key);
        if (kept.data == NULL ||
                !scn_grow((void **)&told->keys, &told->keys_capacity, sizeof *told->keys, told->event.keys_count + 1,
                        UINT32_MAX)) {
                told->is_poor = true;
                return;
        }
        told->keys[told->event.keys_count++] = kept;
}

static struct scn_view_change *add_change(struct scn_told *told, struct scn_uid uid, uint32_t fields)
{
        if (!scn_grow((void **)&told->changes, &told->changes_capacity, sizeof *told->changes,
                    told->event.changes_count + 1, SIZE_MAX)) {
                told->is_poor = true;
                return NULL;
        }
        struct scn_view_change *change = &told->changes[told->event.changes_count++];
        *change =
                (struct scn_view_change){.uid = uid, .fields = fields, .keys_first = (uint32_t)told->event.keys_count};
        return change;
}

static void add_to(struct scn_told *told, struct scn_view_gone **list, size_t *count, size_t *capacity,
        const struct scn_view_gone *gone)
{
        told->event.mask |= SCN_MASK_STRUCTURE;
        if (!scn_grow((void **)list, capacity, sizeof **list, *count + 1, SIZE_MAX)) {
                told->is_poor = true;
                return;
        }
        (*list)[(*count)++] = *gone;
}

static void add_removed(struct scn_told *told, const struct scn_view_gone *gone)
{
        add_to(told, &told->removed, &told->event.removed_count, &told->removed_capacity, gone);
}

static void add_left(struct scn_told *told, const struct scn_view_gone *gone)
{
        add_to(told, &told->left, &told->event.left_count, &told->left_capacity, gone);
}

static struct scn_view_gone gone_of(struct scn_told *told, const struct scn_node_view *node)
{
        return (struct scn_view_gone){node->uid, keep(told, node->name)};
}

static uint32_t mask_of_fields(uint32_t fields)
{
        return ((fields & SCN_FIELDS_PLACE) != 0 ? SCN_MASK_STRUCTURE : 0) |
                ((fields & SCN_FIELDS_NAME) != 0 ? SCN_MASK_NAME : 0) |
                ((fields & SCN_FIELDS_TRS) != 0 ? SCN_MASK_TRANSFORM : 0) |
                ((fields & SCN_FIELDS_PROPERTY) != 0 ? SCN_MASK_PROPERTIES : 0);
}

/* --- Deltas --- */

static void add_gone(struct scn_told *told, const struct scn_document *document, scn_node_id top, bool has_left)
{
        if (!scn_document_has(document, top)) {
                return;
        }
        for (scn_node_id id = top; id != 0; id = scn_document_walk(document, top, id)) {
                if (!scn_grow((void **)&told->gone, &told->gone_capacity, sizeof *told->gone, told->gone_count + 1,
                            SIZE_MAX)) {
                        told->is_poor = true;
                        return;
                }
                const struct scn_node_view node = scn_document_node(document, id);
                told->gone[told->gone_count++] = (struct scn_gone){gone_of(told, &node), id == top, has_left};
        }
}

void scn_told_add_gone(struct scn_told *told, const struct scn_document *document, const struct scn_delta *delta)
{
        for (size_t i = 0; i < delta->removed_count; i++) {
                add_gone(told, document, delta->removed[i], false);
        }
        for (size_t i = 0; i < delta->left_count; i++) {
                add_gone(told, document, delta->left[i], true);
        }
}

/* What is beneath a node goes with it, and need not be named; but for whoever saw own edits on top it may have been
 * elsewhere, and a node that is there again does not take anything with it. */
static void name_gone(struct scn_told *told, const struct scn_document *document)
{
        bool is_back = false;
        for (size_t i = 0; i < told->gone_count; i++) {
                const struct scn_gone *gone = &told->gone[i];
                const bool is_there = scn_document_find_uid(document, gone->node.uid) != 0;
                is_back = gone->is_named ? is_there : is_back;
                if (is_there || (!gone->is_named && !is_back && told->noted_count == 0)) {
                        continue;
                }
                if (gone->has_left) {
                        add_left(told, &gone->node);
                } else {
                        add_removed(told, &gone->node);
                }
        }
}

void scn_told_add_delta(struct scn_told *told, const struct scn_document *document, const struct scn_delta *delta)
{
        for (size_t i = 0; i < delta->nodes_count; i++) {
                const struct scn_delta_node *node = &delta->nodes[i];
                if (!scn_document_has(document, node->id)) {
                        continue; /* removed again by one's own pending edits */
                }
                const struct scn_uid uid = scn_document_node(document, node->id).uid;
                struct scn_view_change *change = add_change(told, uid, node->fields);
                if (change == NULL) {
                        return;
                }
                change->is_new = node->is_new;
                change->is_whole = node->is_new;
                change->keys_count = (node->fields & SCN_FIELDS_PROPERTY) != 0 ? node->properties_count : 0;
                told->event.mask |= mask_of_fields(node->fields) | (node->is_new ? SCN_MASK_STRUCTURE : 0);
                for (uint32_t k = 0; k < change->keys_count; k++) {
                        add_key(told, delta->properties[node->properties_first + k].key);
                }
        }
}

/* --- Change records --- */

static uint32_t fields_of(const struct scn_change *record)
{
        return record->kind == SCN_OP_SET    ? SCN_FIELDS_PROPERTY
                : record->kind == SCN_OP_ADD ? SCN_FIELDS_PLACE | SCN_FIELDS_NAME | SCN_FIELDS_TRS
                                             : record->fields;
}

static void add_record(struct scn_told *told, const struct scn_change *record, bool is_new)
{
        struct scn_view_change *change = add_change(told, record->uid, fields_of(record));
        if (change == NULL) {
                return;
        }
        change->is_new = is_new;
        change->is_whole = is_new;
        told->event.mask |= mask_of_fields(change->fields);
        if (record->kind == SCN_OP_SET) {
                change->keys_count = 1;
                add_key(told, record->as.set.key);
        } else if (record->kind == SCN_OP_ADD && record->as.add.properties_count > 0) {
                change->fields |= SCN_FIELDS_PROPERTY;
                change->keys_count = record->as.add.properties_count;
                told->event.mask |= SCN_MASK_PROPERTIES;
                for (uint32_t i = 0; i < record->as.add.properties_count; i++) {
                        add_key(told, record->as.add.properties[i].key);
                }
        }
}

/* Newest first: that is how they are undone. */
void scn_told_add_undone(struct scn_told *told, const struct scn_changes *changes)
{
        for (uint32_t i = scn_changes_count(changes); i > 0; i--) {
                const struct scn_change *record = scn_changes_get(changes, i - 1);
                if (record->kind != SCN_OP_ADD && record->kind != SCN_OP_REMOVE) {
                        add_record(told, record, false);
                }
        }
}

/* --- Before and after --- */

static void note(struct scn_told *told, const struct scn_document *document, struct scn_uid uid, bool may_live_anew)
{
        if (!scn_grow((void **)&told->noted, &told->noted_capacity, sizeof *told->noted, told->noted_count + 1,
                    SIZE_MAX)) {
                told->is_poor = true;
                return;
        }
        told->noted[told->noted_count++] =
                (struct scn_noted){uid, scn_document_find_uid(document, uid) != 0, may_live_anew};
}

void scn_told_note(struct scn_told *told, const struct scn_document *document, const struct scn_changes *changes)
{
        for (uint32_t i = 0; i < scn_changes_count(changes); i++) {
                const struct scn_change *record = scn_changes_get(changes, i);
                if (record->kind == SCN_OP_ADD || record->kind == SCN_OP_MOVE) {
                        note(told, document, record->uid, record->kind == SCN_OP_ADD);
                }
                uint32_t cursor = 0;
                for (uint32_t k = 0; record->kind == SCN_OP_REMOVE && k < record->as.remove.nodes_count; k++) {
                        note(told, document, scn_document_removed_node(document, &record->as.remove, &cursor).uid,
                                true);
                }
        }
}

/* A note begins with its uid. */
static int compare_uids(const void *a, const void *b)
{
        return memcmp(a, b, sizeof(struct scn_uid));
}

void scn_told_end_notes(struct scn_told *told)
{
        if (told->noted_count > 0) {
                qsort(told->noted, told->noted_count, sizeof *told->noted, compare_uids);
        }
}

static const struct scn_noted *find_note(const struct scn_told *told, struct scn_uid uid)
{
        return told->noted_count == 0
                ? NULL
                : bsearch(&uid, told->noted, told->noted_count, sizeof *told->noted, compare_uids);
}

/* All of a removed subtree is named, not only its top: to whoever saw the state before, its nodes may have been
 * elsewhere. */
static void add_removal(struct scn_told *told, const struct scn_document *document, const struct scn_change *record)
{
        uint32_t cursor = 0;
        for (uint32_t i = 0; i < record->as.remove.nodes_count; i++) {
                const struct scn_node_view node = scn_document_removed_node(document, &record->as.remove, &cursor);
                const struct scn_noted *noted = find_note(told, node.uid);
                if (noted == NULL || noted->was_there) {
                        const struct scn_view_gone gone = gone_of(told, &node);
                        add_removed(told, &gone);
                }
        }
}

void scn_told_add_changes(struct scn_told *told, const struct scn_document *document, const struct scn_changes *changes)
{
        for (uint32_t i = 0; i < scn_changes_count(changes); i++) {
                const struct scn_change *record = scn_changes_get(changes, i);
                if (record->kind == SCN_OP_REMOVE) {
                        add_removal(told, document, record);
                } else {
                        add_record(told, record, record->kind == SCN_OP_ADD);
                }
        }
}

static void add_whole(struct scn_told *told, const struct scn_document *document, scn_node_id id, bool is_new)
{
        const struct scn_node_view node = scn_document_node(document, id);
        struct scn_view_change *change =
                add_change(told, node.uid, SCN_FIELDS_PLACE | SCN_FIELDS_NAME | SCN_FIELDS_TRS | SCN_FIELDS_PROPERTY);
        if (change == NULL) {
                return;
        }
        change->is_new = is_new;
        change->is_whole = true;
        change->keys_count = node.property_fields_count;
        told->event.mask |= SCN_MASK_STRUCTURE | SCN_MASK_NAME | SCN_MASK_TRANSFORM | SCN_MASK_PROPERTIES;
        for (uint32_t k = 0; k < node.property_fields_count; k++) {
                add_key(told, scn_document_property(document, id, k, NULL).key);
        }
}

/* What was undone may have led anywhere: a node that was there is not, or the other way round. */
static void compare_notes(struct scn_told *told, const struct scn_document *document)
{
        for (size_t i = 0; i < told->noted_count; i++) {
                const struct scn_noted *noted = &told->noted[i];
                const scn_node_id id = scn_document_find_uid(document, noted->uid);
                if (noted->was_there && id == 0) {
                        add_removed(told, &(struct scn_view_gone){.uid = noted->uid});
                } else if (id != 0 && (!noted->was_there || noted->may_live_anew)) {
                        add_whole(told, document, id, !noted->was_there);
                }
        }
}

static void keep_living(struct scn_told *told, const struct scn_document *document)
{
        size_t kept = 0;
        for (size_t i = 0; i < told->event.removed_count; i++) {
                if (scn_document_find_uid(document, told->removed[i].uid) == 0) {
                        told->removed[kept++] = told->removed[i];
                }
        }
        told->event.removed_count = kept;
        kept = 0;
        for (size_t i = 0; i < told->event.changes_count; i++) {
                struct scn_view_change change = told->changes[i];
                const struct scn_noted *noted = find_note(told, change.uid);
                if (scn_document_find_uid(document, change.uid) != 0) {
                        change.is_new = noted != NULL ? !noted->was_there : change.is_new;
                        told->changes[kept++] = change;
                }
        }
        told->event.changes_count = kept;
}

/* For putting new nodes first, those nearer to the root before those below them. */
struct ranked {
        uint32_t depth; /* of a new node; UINT32_MAX: it was there */
        size_t index;   /* else as it was */
        struct scn_view_change change;
};

static int compare_ranks(const void *a, const void *b)
{
        const struct ranked *first = a;
        const struct ranked *second = b;
        if (first->depth != second->depth) {
                return first->depth < second->depth ? -1 : 1;
        }
        return first->index < second->index ? -1 : first->index > second->index;
}

static void put_in_order(struct scn_told *told, const struct scn_document *document)
{
        const size_t count = told->event.changes_count;
        struct ranked *ranks = scn_alloc(count * sizeof *ranks);
        if (ranks == NULL) {
                told->is_poor = true;
                return;
        }
        for (size_t i = 0; i < count; i++) {
                const struct scn_view_change *change = &told->changes[i];
                const scn_node_id id = scn_document_find_uid(document, change->uid);
                ranks[i] = (struct ranked){change->is_new ? scn_document_depth(document, id) : UINT32_MAX, i, *change};
        }
        if (count > 0) {
                qsort(ranks, count, sizeof *ranks, compare_ranks);
        }
        for (size_t i = 0; i < count; i++) {
                told->changes[i] = ranks[i].change;
        }
        scn_free(ranks);
}

/* Without notes all is as a delta or an edit says it, and in order. */
void scn_told_sort_out(struct scn_told *told, const struct scn_document *document)
{
        name_gone(told, document);
        compare_notes(told, document);
        keep_living(told, document);
        if (told->noted_count > 0) {
                put_in_order(told, document);
        }
}

const struct scn_view_event *scn_told_event(struct scn_told *told)
{
        if (told->is_poor) {
                told->event.is_whole = true;
                told->event.mask = SCN_MASK_ALL;
                told->event.changes_count = 0;
                told->event.removed_count = 0;
                told->event.left_count = 0;
        }
        told->event.changes = told->changes;
        told->event.keys = told->keys;
        told->event.removed = told->removed;
        told->event.left = told->left;
        return &told->event;
}
