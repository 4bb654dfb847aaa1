/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Applying deltas: the only way a replica changes. What comes in may be anything, so everything is checked; what
 * does not fit leaves the replica as it was. */

#include "protocol/scene/delta.h"
#include "protocol/scene/mutation.h"
#include "protocol/scene/transform.h"
#include "protocol/scene/value.h"

#include <string.h>

struct replica {
        struct scn_mutation mutation;
        const struct scn_delta *delta;
};

/* --- Checks --- */

static bool is_good_name(const struct scn_document *document, struct scn_slice name)
{
        return name.data == NULL ||
                (name.size <= document->limits.name_bytes_max && scn_utf8_is_valid(name.data, name.size));
}

static bool is_good_property(const struct scn_document *document, const struct scn_property *property)
{
        const struct scn_slice key = property->key;
        return key.size > 0 && key.size <= document->limits.key_bytes_max && scn_utf8_is_valid(key.data, key.size) &&
                (property->value.data == NULL || scn_value_is_canonical(property->value, &document->limits));
}

static bool is_good_trs(const struct scn_delta_node *told)
{
        const struct scn_trs *trs = &told->trs;
        return ((told->fields & SCN_FIELDS_TRANSLATION) == 0 || scn_transform_check(trs->t, 3) == SCN_OK) &&
                ((told->fields & SCN_FIELDS_ROTATION) == 0 || scn_transform_check(trs->r, 4) == SCN_OK) &&
                ((told->fields & SCN_FIELDS_SCALE) == 0 || scn_transform_check(trs->s, 3) == SCN_OK);
}

static bool is_good_node(
        const struct scn_document *document, const struct scn_delta *delta, const struct scn_delta_node *told)
{
        if (told->id == 0 || told->id > SCN_ID_MAX || !is_good_trs(told) ||
                ((told->fields & SCN_FIELDS_NAME) != 0 && !is_good_name(document, told->name))) {
                return false;
        }
        if ((told->fields & SCN_FIELDS_PROPERTY) == 0) {
                return true;
        }
        const size_t left = delta->properties_count;
        if (told->properties_first > left || told->properties_count > left - told->properties_first) {
                return false;
        }
        for (uint32_t i = 0; i < told->properties_count; i++) {
                if (!is_good_property(document, &delta->properties[told->properties_first + i])) {
                        return false;
                }
        }
        return true;
}

static enum scn_error check_delta(const struct scn_document *document, const struct scn_delta *delta)
{
        /* A whole one may lie before what the replica had: of a server that lost its last revisions. */
        const bool fits = delta->is_whole || (delta->from <= document->revision && document->revision <= delta->to);
        if (!fits || delta->to < delta->from || delta->to > SCN_REVISION_MAX) {
                return SCN_E_BAD_DELTA;
        }
        for (size_t i = 0; i < delta->nodes_count; i++) {
                if (!is_good_node(document, delta, &delta->nodes[i])) {
                        return SCN_E_BAD_DELTA;
                }
        }
        return SCN_OK;
}

/* --- Fields --- */

static enum scn_error set_trs(struct replica *replica, uint32_t slot, const struct scn_delta_node *told)
{
        const struct scn_trs before = scn_hierarchy_local(replica->mutation.document->hierarchy, slot);
        const struct scn_trs after = scn_trs_merge(&before, &told->trs, told->fields);
        const uint32_t fields = scn_trs_compare(&before, &after);
        return fields == 0 ? SCN_OK : scn_mutate_trs(&replica->mutation, slot, &after, fields);
}

static enum scn_error set_name(struct replica *replica, uint32_t slot, struct scn_slice name)
{
        if (scn_text_is(scn_node_at(replica->mutation.document, slot)->name, name)) {
                return SCN_OK;
        }
        struct scn_text *text = NULL;
        if (name.data != NULL) {
                text = scn_text_create(name);
                if (text == NULL) {
                        return SCN_E_NO_MEMORY;
                }
        }
        return scn_mutate_name(&replica->mutation, slot, text);
}

static enum scn_error set_property(struct replica *replica, uint32_t slot, const struct scn_property *property)
{
        const struct scn_document *document = replica->mutation.document;
        const struct scn_props *props = scn_node_at(document, slot)->props;
        bool is_known;
        const uint32_t index = scn_props_find(props, property->key, &is_known);
        const struct scn_slice before =
                is_known ? scn_prop_view(props->items[index].text).value : (struct scn_slice){NULL, 0};
        const struct scn_slice after = property->value;
        if (before.size == after.size && (after.size == 0 || memcmp(before.data, after.data, after.size) == 0)) {
                return SCN_OK;
        }
        if (before.data == NULL && props != NULL && props->living_count >= document->limits.properties_max) {
                return SCN_E_BAD_DELTA;
        }
        struct scn_prop_text *text = scn_prop_text_create(property->key, after);
        return text == NULL ? SCN_E_NO_MEMORY : scn_mutate_property(&replica->mutation, slot, text);
}

static enum scn_error set_fields(struct replica *replica, uint32_t slot, const struct scn_delta_node *told)
{
        enum scn_error error = set_trs(replica, slot, told);
        if (error == SCN_OK && (told->fields & SCN_FIELDS_NAME) != 0) {
                error = set_name(replica, slot, told->name);
        }
        if (error != SCN_OK || (told->fields & SCN_FIELDS_PROPERTY) == 0) {
                return error;
        }
        for (uint32_t i = 0; i < told->properties_count && error == SCN_OK; i++) {
                error = set_property(replica, slot, &replica->delta->properties[told->properties_first + i]);
        }
        return error;
}

/* --- Places --- */

/* The slots a place names. `moved`: the node on its way, which may be neither of them nor above the parent. */
static enum scn_error find_place(const struct scn_document *document, const struct scn_delta_node *told, uint32_t moved,
        uint32_t *parent_out, uint32_t *previous_out)
{
        const uint32_t parent = scn_table_slot(document, told->parent);
        const uint32_t previous = told->previous == 0 ? SCN_NONE : scn_table_slot(document, told->previous);
        if (parent == SCN_NONE || (told->previous != 0 && previous == SCN_NONE)) {
                return SCN_E_BAD_DELTA;
        }
        if (previous != SCN_NONE &&
                (previous == moved || scn_hierarchy_parent(document->hierarchy, previous) != parent)) {
                return SCN_E_BAD_DELTA;
        }
        for (uint32_t at = parent; moved != SCN_NONE && at != SCN_NONE;) {
                if (at == moved) {
                        return SCN_E_BAD_DELTA;
                }
                at = scn_hierarchy_parent(document->hierarchy, at);
        }
        *parent_out = parent;
        *previous_out = previous;
        return SCN_OK;
}

/* What is still below the node may go too deep with it, and leave or be removed afterwards: see check_limits(). */
static enum scn_error move_node(struct replica *replica, uint32_t slot, const struct scn_delta_node *told)
{
        const struct scn_document *document = replica->mutation.document;
        uint32_t parent;
        uint32_t previous;
        const enum scn_error error = find_place(document, told, slot, &parent, &previous);
        if (error != SCN_OK) {
                return error;
        }
        if (scn_hierarchy_parent(document->hierarchy, slot) == parent &&
                scn_hierarchy_previous(document->hierarchy, slot) == previous) {
                return SCN_OK;
        }
        if (scn_depth_at(document, parent) + 1 > document->limits.depth_max) {
                return SCN_E_DEPTH;
        }
        return scn_mutate_move(&replica->mutation, slot, parent, previous);
}

/* The root of a replica has no place; any other new node needs one. */
static enum scn_error add_node(struct replica *replica, const struct scn_delta_node *told)
{
        struct scn_document *document = replica->mutation.document;
        const bool is_root = told->id == replica->delta->root;
        const uint32_t former = scn_table_find_uid(document, told->uid);
        struct scn_new_node new = {
                .id = told->id,
                .uid = told->uid,
                .parent = SCN_NONE,
                .previous = SCN_NONE,
                .trs = SCN_TRS_IDENTITY,
        };
        if (scn_uid_is_none(told->uid) || (former != SCN_NONE && (former & SCN_PAST_BIT) == 0) ||
                (is_root ? document->root != SCN_NONE : (told->fields & SCN_FIELDS_PLACE) == 0)) {
                return SCN_E_BAD_DELTA;
        }
        if (!is_root) {
                const enum scn_error error = find_place(document, told, SCN_NONE, &new.parent, &new.previous);
                if (error != SCN_OK) {
                        return error;
                }
                if (scn_depth_at(document, new.parent) + 1 > document->limits.depth_max) {
                        return SCN_E_DEPTH;
                }
        }
        uint32_t slot;
        const enum scn_error error = scn_mutate_add(&replica->mutation, &new, &slot);
        if (error != SCN_OK) {
                return error;
        }
        document->root = is_root ? slot : document->root;
        return set_fields(replica, slot, told);
}

static enum scn_error apply_node(struct replica *replica, const struct scn_delta_node *told)
{
        const struct scn_document *document = replica->mutation.document;
        const uint32_t slot = scn_table_slot(document, told->id);
        if (slot == SCN_NONE) {
                return told->is_new ? add_node(replica, told) : SCN_E_BAD_DELTA;
        }
        if (told->is_new && !scn_uid_equal(scn_node_at(document, slot)->uid, told->uid)) {
                return SCN_E_BAD_DELTA;
        }
        if ((told->fields & SCN_FIELDS_PLACE) != 0) {
                if (slot == document->root) {
                        return SCN_E_BAD_DELTA;
                }
                const enum scn_error error = move_node(replica, slot, told);
                if (error != SCN_OK) {
                        return error;
                }
        }
        return set_fields(replica, slot, told);
}

static enum scn_error apply_nodes(struct replica *replica)
{
        enum scn_error error = SCN_OK;
        for (size_t i = 0; i < replica->delta->nodes_count && error == SCN_OK; i++) {
                error = apply_node(replica, &replica->delta->nodes[i]);
        }
        return error;
}

/* --- Removals --- */

/* An id that is not there any more was removed with somebody above it, or by the same delta before. */
static enum scn_error remove_all(struct replica *replica, const scn_node_id *ids, size_t count)
{
        const struct scn_document *document = replica->mutation.document;
        for (size_t i = 0; i < count; i++) {
                const uint32_t slot = scn_table_slot(document, ids[i]);
                if (slot == document->root && slot != SCN_NONE) {
                        return SCN_E_BAD_DELTA;
                }
                const enum scn_error error = slot == SCN_NONE ? SCN_OK : scn_mutate_remove(&replica->mutation, slot);
                if (error != SCN_OK) {
                        return error;
                }
        }
        return SCN_OK;
}

static enum scn_error remove_named(struct replica *replica)
{
        const struct scn_delta *delta = replica->delta;
        const enum scn_error error = remove_all(replica, delta->removed, delta->removed_count);
        return error == SCN_OK ? remove_all(replica, delta->left, delta->left_count) : error;
}

/* Whether a uid comes in a new life while its old one is still here, to be removed. */
static bool has_rebirth(const struct replica *replica)
{
        for (size_t i = 0; i < replica->delta->nodes_count; i++) {
                const struct scn_delta_node *told = &replica->delta->nodes[i];
                const scn_node_id living =
                        told->is_new ? scn_document_find_uid(replica->mutation.document, told->uid) : 0;
                if (living != 0 && living != told->id) {
                        return true;
                }
        }
        return false;
}

/* Then the old lives go first, and what stays is brought out from under them: to the root, for the time being. */
static enum scn_error make_way(struct replica *replica)
{
        const struct scn_document *document = replica->mutation.document;
        for (size_t i = 0; i < replica->delta->nodes_count; i++) {
                const struct scn_delta_node *told = &replica->delta->nodes[i];
                const uint32_t slot = scn_table_slot(document, told->id);
                if (slot == SCN_NONE || slot == document->root || (told->fields & SCN_FIELDS_PLACE) == 0 ||
                        scn_hierarchy_parent(document->hierarchy, slot) == document->root) {
                        continue;
                }
                const uint32_t last = scn_hierarchy_last_child(document->hierarchy, document->root);
                const enum scn_error error = scn_mutate_move(&replica->mutation, slot, document->root, last);
                if (error != SCN_OK) {
                        return error;
                }
        }
        return remove_named(replica);
}

/* Limits are for what a delta leads to, not for what it passes through: it removes last. */
static enum scn_error check_limits(const struct replica *replica)
{
        struct scn_document *document = replica->mutation.document;
        const uint32_t depth_max = document->limits.depth_max;
        if (document->nodes_count > document->limits.nodes_max) {
                return SCN_E_TOO_MANY_NODES;
        }
        for (size_t i = 0; i < replica->delta->nodes_count; i++) {
                const struct scn_delta_node *told = &replica->delta->nodes[i];
                const uint32_t slot = scn_table_slot(document, told->id);
                if (slot == SCN_NONE || (told->fields & SCN_FIELDS_PLACE) == 0) {
                        continue;
                }
                const uint64_t depth = scn_depth_at(document, slot);
                if (depth + scn_node_at(document, slot)->height > depth_max &&
                        depth + scn_exact_height(document, slot) > depth_max) {
                        return SCN_E_DEPTH;
                }
        }
        return SCN_OK;
}

static enum scn_error apply_changes(struct replica *replica)
{
        enum scn_error error = SCN_OK;
        const bool has_root = replica->mutation.document->root != SCN_NONE;
        if (!replica->delta->is_whole && !has_root && replica->delta->nodes_count > 0) {
                return SCN_E_BAD_DELTA;
        }
        if (has_root && has_rebirth(replica)) {
                error = make_way(replica);
        }
        if (error == SCN_OK) {
                error = apply_nodes(replica);
        }
        if (error == SCN_OK && has_root) {
                error = remove_named(replica);
        }
        return error == SCN_OK ? check_limits(replica) : error;
}

/* --- The whole --- */

/* Applies to a document as it is; its contents are as before on failure. *mask_out: channels changed. */
static enum scn_error apply_to(struct scn_document *document, const struct scn_delta *delta, uint32_t *mask_out)
{
        struct scn_changes *changes;
        enum scn_error error = scn_changes_begin(document, &changes);
        if (error != SCN_OK) {
                return error;
        }
        struct replica replica = {{document, changes, delta->to, 0, 0, NULL}, delta};
        error = apply_changes(&replica);
        if (error != SCN_OK) {
                scn_changes_roll_back(document, changes);
        } else {
                document->revision = delta->to;
                scn_horizon_advance(document);
                *mask_out |= changes->mask;
        }
        scn_changes_collect(document, changes);
        scn_changes_release(document, changes);
        if (error == SCN_OK) {
                scn_horizon_drop(document);
        }
        return error;
}

/* Exchanges what two documents hold; who observes them stays. */
static void swap_contents(struct scn_document *a, struct scn_document *b)
{
        const struct scn_document old = *a;
        *a = *b;
        *b = old;
        b->observable = a->observable;
        a->observable = old.observable;
        a->by_id.owner = a->by_uid.owner = a->by_client.owner = a;
        b->by_id.owner = b->by_uid.owner = b->by_client.owner = b;
}

/* A whole view, or none at all any more: built beside the old contents, which then go. */
static enum scn_error replace(struct scn_document *document, const struct scn_delta *delta, uint32_t *mask_out)
{
        const struct scn_document_options options = {
                .limits = document->limits,
                .uid = document->uid,
                .hash_seed = document->hash_seed,
                .random = document->random,
                .random_data = document->random_data,
        };
        struct scn_document *fresh;
        enum scn_error error = scn_document_create_empty(&options, &fresh);
        if (error != SCN_OK) {
                return error;
        }
        const struct scn_delta nothing = {.from = delta->from, .to = delta->to, .is_whole = true};
        error = apply_to(fresh, delta->is_whole ? delta : &nothing, mask_out);
        if (error == SCN_OK && delta->root != 0 && fresh->root == SCN_NONE) {
                error = SCN_E_BAD_DELTA;
        }
        if (error == SCN_OK) {
                swap_contents(document, fresh);
                *mask_out = (1u << SCN_CHANNEL_COUNT) - 1;
        }
        scn_document_destroy(fresh);
        return error;
}

enum scn_error scn_document_apply_delta(struct scn_document *document, const struct scn_delta *delta)
{
        SCN_ASSERT(!document->is_busy);
        SCN_ASSERT(document->oldest == NULL);
        uint32_t mask = 0;
        enum scn_error error = check_delta(document, delta);
        if (error != SCN_OK) {
                return error;
        }
        const bool loses_root = delta->root == 0 && delta->removed_count > 0;
        if (!delta->is_whole && !loses_root && document->root != SCN_NONE &&
                delta->root != scn_id_at(document, document->root)) {
                return SCN_E_BAD_DELTA;
        }
        error = delta->is_whole || loses_root ? replace(document, delta, &mask) : apply_to(document, delta, &mask);
        if (error != SCN_OK) {
                return error;
        }
        const struct scn_document_event event = {SCN_DOCUMENT_DELTA, document, NULL, delta};
        document->is_busy = true;
        error = scn_observable_notify(document->observable, mask, &event, NULL);
        document->is_busy = false;
        SCN_ASSERT(error == SCN_OK);
        return SCN_OK;
}
