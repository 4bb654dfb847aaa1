/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "protocol/scene/mutation.h"

#include "protocol/scene/log.h"
#include "protocol/scene/order.h"

#include <string.h>

/* What a removed node holds until it can no longer be taken back, besides its texts. */
#define REMOVED_NODE_BYTES (sizeof(struct scn_node) + 120)

static enum scn_error log_reserve(struct scn_changes *changes, size_t words)
{
        if (changes->log_count + words <= changes->log_capacity) {
                return SCN_OK;
        }
        return scn_grow((void **)&changes->log, &changes->log_capacity, sizeof *changes->log,
                       changes->log_count + words, SIZE_MAX)
                ? SCN_OK
                : SCN_E_NO_MEMORY;
}

/* --- Stamps, marks, feed --- */

enum scn_error scn_mutate_mark(
        struct scn_mutation *mutation, uint32_t slot, enum scn_channel channel, scn_revision revision)
{
        const struct scn_document *document = mutation->document;
        struct scn_changes *changes = mutation->changes;
        const uint32_t bottom = slot;
        uint32_t count = 0;
        enum scn_error error = SCN_OK;
        for (; slot != SCN_NONE; slot = scn_hierarchy_parent(document->hierarchy, slot)) {
                struct scn_node *node = scn_node_at(document, slot);
                if (node->subtree_rev[channel] >= revision) {
                        break;
                }
                /* This one's word, and room for the two that close the entry. */
                error = log_reserve(changes, 3);
                if (error != SCN_OK) {
                        break;
                }
                scn_log_push(changes, node->subtree_rev[channel]);
                node->subtree_rev[channel] = revision;
                count++;
        }
        if (count > 0) {
                scn_log_push(changes, count);
                scn_log_push_header(changes, SCN_LOG_MARK, bottom, channel);
        }
        return error;
}

static enum scn_error touch_feed(struct scn_mutation *mutation, uint32_t slot)
{
        struct scn_document *document = mutation->document;
        const struct scn_node *node = scn_node_at(document, slot);
        if (scn_node_changed(node) == mutation->revision) {
                return SCN_OK;
        }
        if (log_reserve(mutation->changes, 2) != SCN_OK) {
                return SCN_E_NO_MEMORY;
        }
        scn_log_push(mutation->changes, node->feed_previous);
        scn_log_push_header(mutation->changes, SCN_LOG_FEED, slot, 0);
        scn_feed_remove(document, slot);
        scn_feed_append(document, slot);
        return SCN_OK;
}

/* Feed and marks of a field about to change: before its stamp, for the stamps say whether the feed knows. */
static enum scn_error touch(struct scn_mutation *mutation, uint32_t slot, enum scn_channel channel)
{
        const enum scn_error error = touch_feed(mutation, slot);
        mutation->changes->mask |= 1u << channel;
        return error != SCN_OK ? error : scn_mutate_mark(mutation, slot, channel, mutation->revision);
}

static enum scn_error set_stamp(struct scn_mutation *mutation, uint32_t slot, enum scn_field field)
{
        struct scn_stamp *stamp = &scn_node_at(mutation->document, slot)->stamps[field];
        const struct scn_stamp made =
                scn_stamp_make(mutation->revision, scn_mutation_writer(mutation, field), mutation->client);
        if (stamp->revision_client == made.revision_client && stamp->writer_client == made.writer_client) {
                return SCN_OK;
        }
        if (log_reserve(mutation->changes, 3) != SCN_OK) {
                return SCN_E_NO_MEMORY;
        }
        scn_log_push(mutation->changes, stamp->revision_client);
        scn_log_push(mutation->changes, stamp->writer_client);
        scn_log_push_header(mutation->changes, SCN_LOG_STAMP, slot, field);
        *stamp = made;
        return SCN_OK;
}

enum scn_error scn_mutate_stamp(struct scn_mutation *mutation, uint32_t slot, enum scn_field field)
{
        const enum scn_error error = touch(mutation, slot, scn_channel_of(field));
        return error != SCN_OK ? error : set_stamp(mutation, slot, field);
}

/* --- Values --- */

static void change_digest(struct scn_digest *sum, struct scn_digest before, struct scn_digest after)
{
        scn_digest_subtract(sum, before);
        scn_digest_add(sum, after);
}

enum scn_error scn_mutate_trs(struct scn_mutation *mutation, uint32_t slot, const struct scn_trs *trs, uint32_t fields)
{
        struct scn_document *document = mutation->document;
        struct scn_changes *changes = mutation->changes;
        if (log_reserve(changes, SCN_LOG_TRS_WORDS + 1) != SCN_OK) {
                return SCN_E_NO_MEMORY;
        }
        const struct scn_trs before = scn_hierarchy_local(document->hierarchy, slot);
        memcpy(&changes->log[changes->log_count], &before, sizeof before);
        changes->log_count += SCN_LOG_TRS_WORDS;
        scn_log_push_header(changes, SCN_LOG_TRS, slot, 0);
        scn_hierarchy_set_local(document->hierarchy, slot, trs);

        const struct scn_uid uid = scn_node_at(document, slot)->uid;
        struct scn_digest *sum = &document->digests.channels[SCN_CHANNEL_TRANSFORM];
        enum scn_error error = touch(mutation, slot, SCN_CHANNEL_TRANSFORM);
        if ((fields & SCN_FIELDS_TRANSLATION) != 0 && error == SCN_OK) {
                change_digest(sum, scn_digest_translation(uid, before.t), scn_digest_translation(uid, trs->t));
                error = set_stamp(mutation, slot, SCN_FIELD_TRANSLATION);
        }
        if ((fields & SCN_FIELDS_ROTATION) != 0 && error == SCN_OK) {
                change_digest(sum, scn_digest_rotation(uid, before.r), scn_digest_rotation(uid, trs->r));
                error = set_stamp(mutation, slot, SCN_FIELD_ROTATION);
        }
        if ((fields & SCN_FIELDS_SCALE) != 0 && error == SCN_OK) {
                change_digest(sum, scn_digest_scale(uid, before.s), scn_digest_scale(uid, trs->s));
                error = set_stamp(mutation, slot, SCN_FIELD_SCALE);
        }
        return error;
}

enum scn_error scn_mutate_name(struct scn_mutation *mutation, uint32_t slot, struct scn_text *name)
{
        struct scn_document *document = mutation->document;
        struct scn_changes *changes = mutation->changes;
        if (log_reserve(changes, 2) != SCN_OK) {
                scn_free(name);
                return SCN_E_NO_MEMORY;
        }
        struct scn_node *node = scn_node_at(document, slot);
        struct scn_digest *sum = &document->digests.channels[SCN_CHANNEL_NAME];
        if (node->name != NULL) {
                scn_digest_subtract(sum, scn_digest_name(node->uid, scn_text_slice(node->name)));
        }
        if (name != NULL) {
                scn_digest_add(sum, scn_digest_name(node->uid, scn_text_slice(name)));
        }
        changes->garbage_bytes += node->name == NULL ? 0 : sizeof *node->name + node->name->size;
        scn_log_push(changes, (uintptr_t)node->name);
        scn_log_push_header(changes, SCN_LOG_NAME, slot, 0);
        changes->has_garbage = true;
        scn_node_set_name(document, slot, name);
        return scn_mutate_stamp(mutation, slot, SCN_FIELD_NAME);
}

static void digest_property(
        struct scn_digest *sum, const struct scn_node *node, const struct scn_prop_text *text, bool is_added)
{
        if (text == NULL || text->value_size == 0) {
                return;
        }
        const struct scn_property view = scn_prop_view(text);
        const struct scn_digest hash = scn_digest_property(node->uid, view.key, view.value);
        if (is_added) {
                scn_digest_add(sum, hash);
        } else {
                scn_digest_subtract(sum, hash);
        }
}

static enum scn_error remember_emptied(struct scn_mutation *mutation, uint32_t slot)
{
        struct scn_node *node = scn_node_at(mutation->document, slot);
        const struct scn_past entry = {
                .kind = SCN_PAST_EMPTIED,
                .revision = mutation->revision,
                .id = node->id,
                .older = SCN_NONE,
                .feed_previous = SCN_NONE,
                .feed_next = SCN_NONE,
        };
        /* Once for each node and revision: what is dropped with it is all that the node has lost by then. */
        if (node->props->emptied == mutation->revision) {
                return SCN_OK;
        }
        if (scn_past_reserve(mutation->document, 1) != SCN_OK || log_reserve(mutation->changes, 1) != SCN_OK) {
                return SCN_E_NO_MEMORY;
        }
        (void)scn_past_append(mutation->document, &entry);
        scn_log_push_header(mutation->changes, SCN_LOG_EMPTIED, slot, 0);
        node->props->emptied = mutation->revision;
        return SCN_OK;
}

enum scn_error scn_mutate_property(struct scn_mutation *mutation, uint32_t slot, struct scn_prop_text *text)
{
        struct scn_document *document = mutation->document;
        struct scn_changes *changes = mutation->changes;
        struct scn_node *node = scn_node_at(document, slot);
        bool is_known;
        const uint32_t index = scn_props_find(node->props, scn_prop_view(text).key, &is_known);
        const uint32_t count = node->props == NULL ? 0 : node->props->count;
        if (touch(mutation, slot, SCN_CHANNEL_PROPERTIES) != SCN_OK || log_reserve(changes, 6) != SCN_OK ||
                (!is_known && scn_props_reserve(node, count + 1) != SCN_OK)) {
                scn_free(text);
                return SCN_E_NO_MEMORY;
        }
        const scn_revision writer = scn_mutation_writer(mutation, SCN_FIELD_PROPERTY);
        struct scn_prop prop = {scn_stamp_make(mutation->revision, writer, mutation->client), text};
        struct scn_prop before = is_known ? node->props->items[index] : (struct scn_prop){{0, 0}, NULL};
        struct scn_digest *sum = &document->digests.channels[SCN_CHANNEL_PROPERTIES];
        digest_property(sum, node, before.text, false);
        digest_property(sum, node, text, true);
        changes->garbage_bytes +=
                before.text == NULL ? 0 : sizeof *before.text + (size_t)before.text->key_size + before.text->value_size;
        scn_log_push(changes, (uintptr_t)before.text);
        scn_log_push(changes, (uintptr_t)text);
        scn_log_push(changes, node->props->revision);
        scn_log_push(changes, before.stamp.revision_client);
        scn_log_push(changes, before.stamp.writer_client);
        scn_log_push_header(changes, SCN_LOG_PROPERTY, slot, 0);
        changes->has_garbage = true;
        if (is_known) {
                node->props->living_count += text->value_size > 0;
                node->props->living_count -= before.text->value_size > 0;
                node->props->items[index] = prop;
                node->props->revision = mutation->revision;
        } else {
                scn_props_insert(node, index, prop);
        }
        return text->value_size == 0 ? remember_emptied(mutation, slot) : SCN_OK;
}

/* --- Places --- */

/* The structure hash of a slot where it stands now; nothing for none. */
static void digest_place(struct scn_document *document, uint32_t slot, bool is_added)
{
        if (slot == SCN_NONE) {
                return;
        }
        const uint32_t parent = scn_hierarchy_parent(document->hierarchy, slot);
        const uint32_t previous = scn_hierarchy_previous(document->hierarchy, slot);
        const struct scn_digest hash = scn_digest_place(
                scn_node_at(document, slot)->uid, scn_uid_at(document, parent), scn_uid_at(document, previous));
        struct scn_digest *sum = &document->digests.channels[SCN_CHANNEL_STRUCTURE];
        if (is_added) {
                scn_digest_add(sum, hash);
        } else {
                scn_digest_subtract(sum, hash);
        }
}

void scn_loosen_heights(struct scn_document *document, uint32_t parent)
{
        while (parent != SCN_NONE && !scn_node_at(document, parent)->is_height_loose) {
                scn_node_at(document, parent)->is_height_loose = 1;
                parent = scn_hierarchy_parent(document->hierarchy, parent);
        }
}

void scn_raise_heights(struct scn_document *document, uint32_t slot)
{
        uint32_t height = scn_node_at(document, slot)->height;
        uint32_t parent = scn_hierarchy_parent(document->hierarchy, slot);
        if (scn_node_at(document, slot)->is_height_loose) {
                scn_loosen_heights(document, parent);
        }
        for (; parent != SCN_NONE; parent = scn_hierarchy_parent(document->hierarchy, parent)) {
                height++;
                if (scn_node_at(document, parent)->height >= height) {
                        return;
                }
                scn_node_at(document, parent)->height = height & INT32_MAX;
        }
}

/* Links, with the hidden index; the digest of the slot and of the sibling after it follows if asked. */
static void link_slot(struct scn_document *document, uint32_t slot, uint32_t parent, uint32_t previous)
{
        scn_hierarchy_link(document->hierarchy, slot, parent, previous);
        scn_order_linked(document, slot);
        scn_raise_heights(document, slot);
}

static void unlink_slot(struct scn_document *document, uint32_t slot)
{
        scn_loosen_heights(document, scn_hierarchy_parent(document->hierarchy, slot));
        scn_order_unlinking(document, slot);
        scn_hierarchy_unlink(document->hierarchy, slot);
}

static void link_with_digest(struct scn_document *document, uint32_t slot, uint32_t parent, uint32_t previous)
{
        const uint32_t next = parent == SCN_NONE ? SCN_NONE
                : previous == SCN_NONE           ? scn_hierarchy_first_child(document->hierarchy, parent)
                                                 : scn_hierarchy_next(document->hierarchy, previous);
        digest_place(document, next, false);
        link_slot(document, slot, parent, previous);
        digest_place(document, slot, true);
        digest_place(document, next, true);
}

static void unlink_with_digest(struct scn_document *document, uint32_t slot)
{
        const uint32_t next = scn_hierarchy_next(document->hierarchy, slot);
        digest_place(document, slot, false);
        digest_place(document, next, false);
        unlink_slot(document, slot);
        digest_place(document, next, true);
}

static uint64_t place_word(const struct scn_document *document, uint32_t slot)
{
        return (uint64_t)scn_hierarchy_parent(document->hierarchy, slot) << 32 |
                scn_hierarchy_previous(document->hierarchy, slot);
}

void scn_digests_of_node(
        const struct scn_document *document, uint32_t slot, uint32_t mask, bool is_top, struct scn_digests *sums)
{
        const struct scn_node *node = scn_node_at(document, slot);
        const struct scn_hierarchy *hierarchy = document->hierarchy;
        if ((mask & SCN_MASK_STRUCTURE) != 0) {
                const uint32_t parent = is_top ? SCN_NONE : scn_hierarchy_parent(hierarchy, slot);
                const uint32_t previous = is_top ? SCN_NONE : scn_hierarchy_previous(hierarchy, slot);
                scn_digest_add(&sums->channels[SCN_CHANNEL_STRUCTURE],
                        scn_digest_place(node->uid, scn_uid_at(document, parent), scn_uid_at(document, previous)));
        }
        if ((mask & SCN_MASK_NAME) != 0 && node->name != NULL) {
                scn_digest_add(
                        &sums->channels[SCN_CHANNEL_NAME], scn_digest_name(node->uid, scn_text_slice(node->name)));
        }
        if ((mask & SCN_MASK_TRANSFORM) != 0) {
                const struct scn_trs trs = scn_hierarchy_local(hierarchy, slot);
                struct scn_digest *sum = &sums->channels[SCN_CHANNEL_TRANSFORM];
                scn_digest_add(sum, scn_digest_translation(node->uid, trs.t));
                scn_digest_add(sum, scn_digest_rotation(node->uid, trs.r));
                scn_digest_add(sum, scn_digest_scale(node->uid, trs.s));
        }
        if ((mask & SCN_MASK_PROPERTIES) != 0 && node->props != NULL) {
                for (uint32_t i = 0; i < node->props->count; i++) {
                        digest_property(
                                &sums->channels[SCN_CHANNEL_PROPERTIES], node, node->props->items[i].text, true);
                }
        }
}

static void raise_parent(struct scn_document *document, uint32_t slot)
{
        struct scn_node *parent = scn_node_at(document, scn_hierarchy_parent(document->hierarchy, slot));
        const uint32_t height = scn_node_at(document, slot)->height + 1u;
        if (parent->height < height) {
                parent->height = height & INT32_MAX;
        }
}

uint32_t scn_exact_height(struct scn_document *document, uint32_t slot)
{
        const struct scn_hierarchy *hierarchy = document->hierarchy;
        uint32_t at = slot;
        for (;;) {
                /* Each node of the subtree: a bound that stayed above its parent's would hide later growth. */
                scn_node_at(document, at)->height = 0;
                scn_node_at(document, at)->is_height_loose = 0;
                const uint32_t child = scn_hierarchy_first_child(hierarchy, at);
                if (child != SCN_NONE) {
                        at = child;
                        continue;
                }
                while (at != slot && scn_hierarchy_next(hierarchy, at) == SCN_NONE) {
                        raise_parent(document, at);
                        at = scn_hierarchy_parent(hierarchy, at);
                }
                if (at == slot) {
                        return scn_node_at(document, slot)->height;
                }
                raise_parent(document, at);
                at = scn_hierarchy_next(hierarchy, at);
        }
}

void scn_new_node_finish(struct scn_new_node *new)
{
        scn_free(new->name);
        for (uint32_t i = 0; new->props != NULL &&i < new->props->count; i++) {
                scn_free(new->props->items[i].text);
        }
        scn_free(new->props);
        new->name = NULL;
        new->props = NULL;
}

/* Fills a fresh slot; everything in it is stamped with the revision being made. */
static void fill_node(struct scn_mutation *mutation, uint32_t slot, struct scn_new_node *new)
{
        struct scn_node *node = scn_node_at(mutation->document, slot);
        node->id = new->id;
        node->uid = new->uid;
        node->birth = mutation->revision;
        scn_node_set_name(mutation->document, slot, new->name);
        node->props = new->props;
        for (uint32_t field = 0; field < SCN_FIELD_COUNT; field++) {
                node->stamps[field] =
                        scn_stamp_make(mutation->revision, scn_mutation_writer(mutation, field), mutation->client);
        }
        for (uint32_t i = 0; node->props != NULL && i < node->props->count; i++) {
                node->props->items[i].stamp = scn_stamp_make(
                        mutation->revision, scn_mutation_writer(mutation, SCN_FIELD_COUNT + i), mutation->client);
                node->props->revision = mutation->revision;
        }
        for (int channel = 0; channel < SCN_CHANNEL_COUNT; channel++) {
                const bool is_there = channel != SCN_CHANNEL_PROPERTIES || node->props != NULL;
                node->subtree_rev[channel] = is_there ? mutation->revision : 0;
        }
        new->name = NULL;
        new->props = NULL;
}

enum scn_error scn_mutate_add(struct scn_mutation *mutation, struct scn_new_node *new, uint32_t *slot_out)
{
        struct scn_document *document = mutation->document;
        uint32_t slot;
        enum scn_error error = log_reserve(mutation->changes, 2);
        if (error == SCN_OK) {
                error = scn_table_reserve(document, 1);
        }
        if (error == SCN_OK) {
                error = scn_table_take_slot(document, &slot);
        }
        if (error != SCN_OK) {
                scn_new_node_finish(new);
                return error;
        }
        const uint32_t former_uid = scn_table_find_uid(document, new->uid);
        const uint32_t former_id = scn_table_find_id(document, new->id);
        SCN_ASSERT(former_uid == SCN_NONE || (former_uid & SCN_PAST_BIT) != 0);
        SCN_ASSERT(former_id == SCN_NONE || (former_id & SCN_PAST_BIT) != 0);
        if (former_uid != SCN_NONE) {
                scn_table_remove_uid(document, new->uid, former_uid);
        }
        if (former_id != SCN_NONE) {
                scn_table_remove_id(document, new->id, former_id);
        }
        fill_node(mutation, slot, new);
        struct scn_node *node = scn_node_at(document, slot);
        scn_hierarchy_set_local(document->hierarchy, slot, &new->trs);
        scn_table_add_id(document, node->id, slot);
        scn_table_add_uid(document, node->uid, slot);
        scn_feed_append(document, slot);
        document->nodes_count++;
        if (node->id >= document->next_id) {
                document->next_id = node->id + 1;
        }
        link_with_digest(document, slot, new->parent, new->previous);
        scn_digests_of_node(document, slot, ~SCN_MASK_STRUCTURE, false, &document->digests);
        scn_log_push(mutation->changes, (uint64_t)former_id << 32 | former_uid);
        scn_log_push_header(mutation->changes, SCN_LOG_ADD, slot, 0);
        mutation->changes->mask |= SCN_MASK_STRUCTURE | SCN_MASK_NAME | SCN_MASK_TRANSFORM |
                (node->props != NULL ? SCN_MASK_PROPERTIES : 0);
        for (int channel = 0; channel < SCN_CHANNEL_COUNT && error == SCN_OK; channel++) {
                error = scn_mutate_mark(mutation, new->parent, (enum scn_channel)channel, node->subtree_rev[channel]);
        }
        *slot_out = slot;
        return error;
}

/* Notes the parent that a node is about to leave; *is_noted_out false if it never was there at the end of a
 * revision, so no cursor can know it. */
static enum scn_error remember_moved(struct scn_mutation *mutation, uint32_t slot, bool *is_noted_out)
{
        struct scn_document *document = mutation->document;
        struct scn_node *node = scn_node_at(document, slot);
        const struct scn_past entry = {
                .kind = SCN_PAST_MOVED,
                .revision = mutation->revision,
                .since = scn_parent_since(document, node),
                .id = node->id,
                .parent = scn_id_at(document, scn_hierarchy_parent(document->hierarchy, slot)),
                .older = node->past,
                .client = mutation->client,
                .feed_previous = SCN_NONE,
                .feed_next = SCN_NONE,
        };
        *is_noted_out = false;
        if (entry.since == mutation->revision) {
                return SCN_OK;
        }
        if (scn_past_reserve(document, 1) != SCN_OK) {
                return SCN_E_NO_MEMORY;
        }
        node->past = scn_past_append(document, &entry);
        *is_noted_out = true;
        return SCN_OK;
}

/* The moved subtree counts for its new ancestors, whatever changed in it and when. */
static enum scn_error mark_new_ancestors(struct scn_mutation *mutation, uint32_t slot)
{
        const struct scn_document *document = mutation->document;
        const uint32_t parent = scn_hierarchy_parent(document->hierarchy, slot);
        enum scn_error error = SCN_OK;
        for (int channel = 0; channel < SCN_CHANNEL_COUNT && error == SCN_OK; channel++) {
                error = scn_mutate_mark(
                        mutation, parent, (enum scn_channel)channel, scn_node_at(document, slot)->subtree_rev[channel]);
        }
        return error;
}

enum scn_error scn_mutate_move(struct scn_mutation *mutation, uint32_t slot, uint32_t parent, uint32_t previous)
{
        struct scn_document *document = mutation->document;
        const uint32_t former_parent = scn_hierarchy_parent(document->hierarchy, slot);
        const uint64_t former_place = place_word(document, slot);
        bool is_noted = false;
        enum scn_error error = log_reserve(mutation->changes, 2);
        if (error == SCN_OK && parent != former_parent) {
                error = remember_moved(mutation, slot, &is_noted);
        }
        if (error != SCN_OK) {
                return error;
        }
        unlink_with_digest(document, slot);
        link_with_digest(document, slot, parent, previous);
        scn_log_push(mutation->changes, former_place);
        scn_log_push_header(mutation->changes, SCN_LOG_MOVE, slot, is_noted);
        error = scn_mutate_stamp(mutation, slot, SCN_FIELD_PLACE);
        if (error == SCN_OK && parent != former_parent) {
                error = scn_mutate_mark(mutation, former_parent, SCN_CHANNEL_STRUCTURE, mutation->revision);
        }
        if (error == SCN_OK && parent != former_parent) {
                error = mark_new_ancestors(mutation, slot);
        }
        return error;
}

/* One node of a subtree on its way out: out of feed and digest, its names now lead to a past entry. */
static void bury(struct scn_mutation *mutation, uint32_t slot)
{
        struct scn_document *document = mutation->document;
        const struct scn_node *node = scn_node_at(document, slot);
        const struct scn_past entry = {
                .kind = SCN_PAST_REMOVED,
                .revision = mutation->revision,
                .since = node->birth,
                .uid = node->uid,
                .id = node->id,
                .parent = scn_id_at(document, scn_hierarchy_parent(document->hierarchy, slot)),
                .older = node->past,
        };
        struct scn_digests sums = {{{0, 0}}};
        scn_digests_of_node(document, slot, SCN_MASK_ALL, false, &sums);
        for (int channel = 0; channel < SCN_CHANNEL_COUNT; channel++) {
                scn_digest_subtract(&document->digests.channels[channel], sums.channels[channel]);
        }
        const uint32_t ref = SCN_PAST_BIT | scn_past_append(document, &entry);
        scn_feed_remove(document, slot);
        scn_feed_append(document, ref);
        scn_table_remove_id(document, node->id, slot);
        scn_table_add_id(document, node->id, ref);
        scn_table_remove_uid(document, node->uid, slot);
        scn_table_add_uid(document, node->uid, ref);
}

static uint32_t count_subtree(const struct scn_document *document, uint32_t top)
{
        uint32_t count = 0;
        for (uint32_t at = top; at != SCN_NONE; at = scn_hierarchy_walk(document->hierarchy, top, at)) {
                count++;
        }
        return count;
}

enum scn_error scn_mutate_remove(struct scn_mutation *mutation, uint32_t slot)
{
        struct scn_document *document = mutation->document;
        const uint32_t count = count_subtree(document, slot);
        const uint32_t parent = scn_hierarchy_parent(document->hierarchy, slot);
        if (log_reserve(mutation->changes, 2) != SCN_OK || scn_past_reserve(document, count) != SCN_OK) {
                return SCN_E_NO_MEMORY;
        }
        const uint32_t next = scn_hierarchy_next(document->hierarchy, slot);
        uint32_t at = slot;
        for (; at != SCN_NONE; at = scn_hierarchy_walk(document->hierarchy, slot, at)) {
                bury(mutation, at);
        }
        scn_log_push(mutation->changes, place_word(document, slot));
        scn_log_push_header(mutation->changes, SCN_LOG_REMOVE, slot, 0);
        digest_place(document, next, false);
        unlink_slot(document, slot);
        digest_place(document, next, true);
        document->nodes_count -= count;
        mutation->changes->garbage_bytes += count * (size_t)REMOVED_NODE_BYTES;
        mutation->changes->has_garbage = true;
        mutation->changes->mask |= SCN_MASK_STRUCTURE;
        return scn_mutate_mark(mutation, parent, SCN_CHANNEL_STRUCTURE, mutation->revision);
}
