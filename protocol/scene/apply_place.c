/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The ops that change who is where: add, move, remove. */

#include "protocol/scene/apply.h"
#include "protocol/scene/order.h"
#include "protocol/scene/transform.h"

#include <string.h>

#define PLACE_BYTES sizeof(struct scn_place)
/* An added node as stored; a removed one keeps the writers of its five fields besides. */
#define ADDED_BYTES (SCN_RECORD_BYTES + PLACE_BYTES + sizeof(struct scn_trs))
#define REMOVED_BYTES (ADDED_BYTES + 5 * 24)

#define RANDOM_UID_TRIES 8

/* --- Where to --- */

/* The place an op asks for, resolved. */
struct target {
        uint32_t parent;
        uint32_t previous;
        bool went_last;
};

/* The second choice: nothing is lost if that sibling is not there either. */
static enum scn_error resolve_before(struct scn_apply *apply, uint32_t moved, struct target *target)
{
        const struct scn_document *document = apply->mutation.document;
        const struct scn_hierarchy *hierarchy = document->hierarchy;
        uint32_t before = SCN_NONE;
        const enum scn_error error =
                scn_document_find_slot(document, &apply->op->before, &apply->path_steps_left, &before);
        if (error == SCN_OK && before != moved && scn_hierarchy_parent(hierarchy, before) == target->parent) {
                const uint32_t previous = scn_hierarchy_previous(hierarchy, before);
                target->previous =
                        previous == moved && moved != SCN_NONE ? scn_hierarchy_previous(hierarchy, moved) : previous;
                target->went_last = false;
        }
        return SCN_OK;
}

/* `moved` is the slot on its way, or SCN_NONE for a new node. */
static enum scn_error resolve_after(struct scn_apply *apply, uint32_t moved, uint32_t last, struct target *target)
{
        const struct scn_document *document = apply->mutation.document;
        uint32_t after = SCN_NONE;
        if (apply->op->after.kind == SCN_REF_NONE) {
                target->previous = SCN_NONE;
                return SCN_OK;
        }
        const enum scn_error error =
                scn_document_find_slot(document, &apply->op->after, &apply->path_steps_left, &after);
        if (error == SCN_OK && after == moved) {
                return SCN_E_BAD_OP;
        }
        if (error == SCN_E_BAD_PATH || error == SCN_E_PATH_TOO_LONG) {
                apply->refusal->lost = &apply->op->after;
                return error;
        }
        target->went_last = error != SCN_OK || scn_hierarchy_parent(document->hierarchy, after) != target->parent;
        target->previous = target->went_last ? last : after;
        return target->went_last && apply->op->before.kind != SCN_REF_NONE ? resolve_before(apply, moved, target)
                                                                           : SCN_OK;
}

static void resolve_index(struct scn_apply *apply, uint32_t moved, uint32_t last, struct target *target)
{
        struct scn_document *document = apply->mutation.document;
        const bool is_within = moved != SCN_NONE && scn_hierarchy_parent(document->hierarchy, moved) == target->parent;
        const uint32_t others = scn_hierarchy_children_count(document->hierarchy, target->parent) - is_within;
        const uint32_t index = apply->op->index;
        if (index >= others) {
                target->previous = last;
                target->went_last = index > others;
                return;
        }
        if (index == 0) {
                target->previous = SCN_NONE;
                return;
        }
        /* The list without the moved node has all behind it one further left. */
        const uint32_t present = is_within ? scn_order_index(document, moved) : UINT32_MAX;
        target->previous = scn_order_child(document, target->parent, index <= present ? index - 1 : index);
}

/* target->parent is set. */
static enum scn_error resolve_place(struct scn_apply *apply, uint32_t moved, struct target *target)
{
        const struct scn_hierarchy *hierarchy = apply->mutation.document->hierarchy;
        uint32_t last = scn_hierarchy_last_child(hierarchy, target->parent);
        if (last == moved && moved != SCN_NONE) {
                last = scn_hierarchy_previous(hierarchy, moved);
        }
        target->previous = last;
        target->went_last = false;
        switch (apply->op->place) {
        case SCN_PLACE_AFTER:
                return resolve_after(apply, moved, last, target);
        case SCN_PLACE_INDEX:
                resolve_index(apply, moved, last, target);
                return SCN_OK;
        case SCN_PLACE_UNSAID:
                if (moved != SCN_NONE && scn_hierarchy_parent(hierarchy, moved) == target->parent) {
                        target->previous = scn_hierarchy_previous(hierarchy, moved);
                }
                return SCN_OK;
        }
        return SCN_E_BAD_OP;
}

static enum scn_error find_parent(struct scn_apply *apply, uint32_t *parent_out)
{
        const struct scn_node_ref *ref = &apply->op->parent;
        if (ref->kind == SCN_REF_UID) {
                apply->refusal->other = ref->uid;
        }
        const enum scn_error error =
                scn_document_find_slot(apply->mutation.document, ref, &apply->path_steps_left, parent_out);
        apply->refusal->lost = error == SCN_OK ? NULL : ref;
        if (error == SCN_OK) {
                apply->refusal->other = scn_node_at(apply->mutation.document, *parent_out)->uid;
        }
        return error;
}

/* `height`: levels below the node that is to hang under `parent`. */
static bool is_too_deep(const struct scn_document *document, uint32_t parent, uint32_t height)
{
        return (uint64_t)scn_depth_at(document, parent) + height + 1 > document->limits.depth_max;
}

/* --- add --- */

static enum scn_error choose_uid(struct scn_apply *apply, struct scn_uid *uid_out)
{
        const struct scn_document *document = apply->mutation.document;
        struct scn_uid uid = apply->op->uid;
        if (scn_uid_is_none(uid)) {
                for (int tries = 0; tries < RANDOM_UID_TRIES; tries++) {
                        uint8_t random[16];
                        document->random(document->random_data, random, sizeof random);
                        uid = scn_uid_from_random(random);
                        if (scn_table_find_uid(document, uid) == SCN_NONE) {
                                break;
                        }
                }
        }
        apply->refusal->node = uid;
        *uid_out = uid;
        return scn_document_find_uid(document, uid) != 0 ? SCN_E_EXISTS : SCN_OK;
}

static enum scn_error choose_id(struct scn_apply *apply, scn_node_id *id_out)
{
        const struct scn_document *document = apply->mutation.document;
        const scn_node_id id = apply->op->id;
        if (id != 0 && id < document->next_id) {
                return SCN_E_BAD_OP;
        }
        *id_out = id != 0 ? id : document->next_id;
        return *id_out > SCN_ID_MAX ? SCN_E_TOO_MANY_IDS : SCN_OK;
}

/* Collects the properties of an add in `node`, a stand-in for the node to be. */
static enum scn_error collect_properties(struct scn_apply *apply, struct scn_node *node)
{
        const struct scn_op *op = apply->op;
        for (uint32_t i = 0; i < op->properties_count; i++) {
                const struct scn_property *property = &op->properties[i];
                apply->refusal->key = property->key;
                if (property->value.data == NULL) {
                        return scn_apply_refuse(apply, SCN_E_BAD_VALUE, SCN_FIELD_PROPERTY);
                }
                struct scn_prop prop = {{0, 0}, NULL};
                enum scn_error error = scn_apply_make_property(apply, property, &prop.text);
                if (error != SCN_OK) {
                        return error;
                }
                bool is_known;
                const uint32_t index = scn_props_find(node->props, property->key, &is_known);
                error = is_known ? scn_apply_refuse(apply, SCN_E_DUPLICATE_KEY, SCN_FIELD_PROPERTY)
                        : op->writers != NULL && index != i ? SCN_E_BAD_OP /* its writers would go astray */
                                                            : scn_props_reserve(node, i + 1);
                if (error != SCN_OK) {
                        scn_free(prop.text);
                        return error;
                }
                scn_props_insert(node, index, prop);
        }
        return SCN_OK;
}

/* Texts and properties, made; `new` owns them also when this fails. */
static enum scn_error collect_texts(struct scn_apply *apply, struct scn_new_node *new)
{
        const struct scn_op *op = apply->op;
        enum scn_error error = scn_apply_check_name(apply, op->name);
        if (error != SCN_OK) {
                return error;
        }
        if (op->properties_count > apply->mutation.document->limits.properties_max) {
                return scn_apply_refuse(apply, SCN_E_TOO_MANY_PROPS, SCN_FIELD_PROPERTY);
        }
        if (op->name.data != NULL) {
                new->name = scn_text_create(op->name);
                if (new->name == NULL) {
                        return SCN_E_NO_MEMORY;
                }
        }
        struct scn_node stand_in = {.props = NULL};
        error = collect_properties(apply, &stand_in);
        new->props = stand_in.props;
        return error;
}

static enum scn_error check_room(const struct scn_apply *apply, uint32_t parent)
{
        const struct scn_document *document = apply->mutation.document;
        if (document->nodes_count >= document->limits.nodes_max) {
                return SCN_E_TOO_MANY_NODES;
        }
        return is_too_deep(document, parent, 0) ? SCN_E_DEPTH : SCN_OK;
}

/* The record's properties: views of the node's own texts, which live at least as long. */
static enum scn_error record_properties(
        struct scn_apply *apply, const struct scn_props *props, struct scn_change_add *add)
{
        if (props == NULL) {
                return SCN_OK;
        }
        struct scn_property *views = scn_changes_alloc(apply->mutation.changes, props->count * sizeof *views);
        if (views == NULL) {
                return SCN_E_NO_MEMORY;
        }
        for (uint32_t i = 0; i < props->count; i++) {
                views[i] = scn_prop_view(props->items[i].text);
        }
        add->properties = views;
        add->properties_count = props->count;
        return SCN_OK;
}

/* What a name and properties add to that. */
static uint64_t stored_bytes(const struct scn_text *name, const struct scn_props *props)
{
        uint64_t bytes = name == NULL ? 0 : name->size;
        for (uint32_t i = 0; props != NULL && i < props->count; i++) {
                bytes += 32 + (uint64_t)props->items[i].text->key_size + props->items[i].text->value_size;
        }
        return bytes;
}

static enum scn_error record_add(struct scn_apply *apply, struct scn_new_node *new, uint32_t flags)
{
        struct scn_change *record;
        enum scn_error error = scn_changes_record(
                &apply->mutation, SCN_OP_ADD, ADDED_BYTES + stored_bytes(new->name, new->props), &record);
        if (error == SCN_OK) {
                error = record_properties(apply, new->props, &record->as.add);
        }
        if (error != SCN_OK) {
                return error;
        }
        const struct scn_document *document = apply->mutation.document;
        const uint32_t next = new->previous == SCN_NONE ? scn_hierarchy_first_child(document->hierarchy, new->parent)
                                                        : scn_hierarchy_next(document->hierarchy, new->previous);
        record->op = apply->op_index;
        record->fields = SCN_FIELDS_PLACE | SCN_FIELDS_NAME | SCN_FIELDS_TRS;
        record->flags = flags;
        record->id = new->id;
        record->uid = new->uid;
        record->as.add.place = (struct scn_place){
                scn_uid_at(document, new->parent), scn_uid_at(document, new->previous), scn_uid_at(document, next)};
        record->as.add.trs = new->trs;
        record->as.add.name = scn_text_slice(new->name);
        return SCN_OK;
}

static enum scn_error check_new_trs(struct scn_apply *apply, struct scn_trs *trs, uint32_t *flags)
{
        const uint32_t fields = apply->fields;
        struct scn_trs given = apply->op->trs;
        const enum scn_error error = scn_apply_check_trs(apply, fields, &given, flags);
        if (error != SCN_OK) {
                return error;
        }
        const struct scn_trs identity = SCN_TRS_IDENTITY;
        *trs = scn_trs_merge(&identity, &given, fields);
        return SCN_OK;
}

enum scn_error scn_apply_add(struct scn_apply *apply)
{
        struct scn_new_node new = {.parent = SCN_NONE};
        struct target target = {.parent = SCN_NONE};
        uint32_t flags = 0;
        uint32_t slot;
        enum scn_error error = choose_uid(apply, &new.uid);
        if (error == SCN_OK) {
                error = choose_id(apply, &new.id);
        }
        if (error == SCN_OK) {
                error = find_parent(apply, &target.parent);
        }
        if (error == SCN_OK) {
                error = resolve_place(apply, SCN_NONE, &target);
        }
        if (error == SCN_OK) {
                error = check_room(apply, target.parent);
        }
        if (error == SCN_OK) {
                error = check_new_trs(apply, &new.trs, &flags);
        }
        if (error == SCN_OK) {
                error = collect_texts(apply, &new);
        }
        new.parent = target.parent;
        new.previous = target.previous;
        if (error == SCN_OK) {
                error = record_add(apply, &new, flags | (target.went_last ? SCN_CHANGE_WENT_LAST : 0));
        }
        if (error != SCN_OK) {
                scn_new_node_finish(&new);
                return error;
        }
        return scn_mutate_add(&apply->mutation, &new, &slot);
}

/* --- move --- */

static bool is_under(const struct scn_document *document, uint32_t slot, uint32_t top)
{
        while (slot != SCN_NONE && slot != top) {
                slot = scn_hierarchy_parent(document->hierarchy, slot);
        }
        return slot == top;
}

static enum scn_error check_move(struct scn_apply *apply, uint32_t slot, uint32_t parent)
{
        struct scn_document *document = apply->mutation.document;
        const struct scn_node *node = scn_node_at(document, slot);
        if (slot == document->root) {
                return SCN_E_ROOT;
        }
        if (is_under(document, parent, slot)) {
                return SCN_E_CYCLE;
        }
        /* A loose bound may be too high since something below was removed: then count. */
        if (parent != scn_hierarchy_parent(document->hierarchy, slot) && is_too_deep(document, parent, node->height) &&
                (!node->is_height_loose || is_too_deep(document, parent, scn_exact_height(document, slot)))) {
                return SCN_E_DEPTH;
        }
        return scn_apply_check_stamp(apply, slot, SCN_FIELD_PLACE, node->stamps[SCN_FIELD_PLACE]);
}

/* The local transform that keeps the world one; the bits as they are where the parents' worlds are the same. */
static enum scn_error keep_world(
        struct scn_apply *apply, uint32_t slot, uint32_t parent, struct scn_trs *trs, double *residual)
{
        const struct scn_hierarchy *hierarchy = apply->mutation.document->hierarchy;
        const struct scn_affine64 old_parent = scn_transform_world64(hierarchy, scn_hierarchy_parent(hierarchy, slot));
        const struct scn_affine64 new_parent = scn_transform_world64(hierarchy, parent);
        const struct scn_trs before = *trs;
        const enum scn_error error = scn_transform_keep_world(&old_parent, &new_parent, &before, trs, residual);
        if (error != SCN_OK) {
                return error;
        }
        apply->refusal->residual = *residual;
        if (*residual > SCN_SHEAR_TOLERANCE && !apply->op->is_lossy) {
                return SCN_E_SHEAR;
        }
        if (memcmp(&old_parent, &new_parent, sizeof old_parent) == 0) {
                *trs = before;
                *residual = 0.0;
        }
        return SCN_OK;
}

/* Strict: keeping the world writes the transform too. */
static enum scn_error check_kept_trs(struct scn_apply *apply, uint32_t slot, const struct scn_trs *trs)
{
        const struct scn_document *document = apply->mutation.document;
        const struct scn_trs before = scn_hierarchy_local(document->hierarchy, slot);
        const uint32_t fields = scn_trs_compare(&before, trs);
        enum scn_error error = SCN_OK;
        for (uint32_t field = SCN_FIELD_TRANSLATION; field <= SCN_FIELD_SCALE && error == SCN_OK; field++) {
                if ((fields >> field & 1) != 0) {
                        error = scn_apply_check_stamp(
                                apply, slot, (enum scn_field)field, scn_node_at(document, slot)->stamps[field]);
                }
        }
        return error;
}

/* What a move does. */
struct moving {
        struct target target;
        struct scn_trs trs;
        double residual;
        bool is_elsewhere; /* under another parent */
        bool stays;        /* it is there already */
        uint32_t fields;   /* that change: the place is among them also where only its writer does */
};

static enum scn_error record_move(
        struct scn_apply *apply, uint32_t slot, const struct moving *moving, struct scn_change **record_out)
{
        const struct scn_document *document = apply->mutation.document;
        const struct scn_node *node = scn_node_at(document, slot);
        struct scn_change *record;
        const enum scn_error error = scn_changes_record(&apply->mutation, SCN_OP_MOVE,
                SCN_RECORD_BYTES + 2 * PLACE_BYTES + 2 * sizeof(struct scn_trs), &record);
        if (error != SCN_OK) {
                return error;
        }
        struct scn_change_move *move = &record->as.move;
        move->before = scn_apply_place(document, slot);
        move->trs_before = scn_hierarchy_local(document->hierarchy, slot);
        move->trs_after = moving->trs;
        move->residual = moving->residual;
        move->place_writer_before = scn_stamp_writer(node->stamps[SCN_FIELD_PLACE]);
        for (uint32_t i = 0; i < 3; i++) {
                move->trs_writer_before[i] = scn_stamp_writer(node->stamps[SCN_FIELD_TRANSLATION + i]);
        }
        record->op = apply->op_index;
        record->fields = moving->fields;
        record->flags = (moving->target.went_last ? SCN_CHANGE_WENT_LAST : 0) |
                (moving->residual > SCN_SHEAR_TOLERANCE ? SCN_CHANGE_LOSSY : 0);
        record->id = node->id;
        record->uid = node->uid;
        *record_out = record;
        return SCN_OK;
}

static enum scn_error perform_move(struct scn_apply *apply, uint32_t slot, const struct moving *moving)
{
        struct scn_change *record;
        enum scn_error error = record_move(apply, slot, moving, &record);
        if (error == SCN_OK && !moving->stays) {
                error = scn_mutate_move(&apply->mutation, slot, moving->target.parent, moving->target.previous);
        } else if (error == SCN_OK && (moving->fields & SCN_FIELDS_PLACE) != 0) {
                error = scn_mutate_stamp(&apply->mutation, slot, SCN_FIELD_PLACE);
        }
        if (error != SCN_OK) {
                return error;
        }
        record->as.move.after = scn_apply_place(apply->mutation.document, slot);
        const uint32_t fields = moving->fields & SCN_FIELDS_TRS;
        return fields == 0 ? SCN_OK : scn_mutate_trs(&apply->mutation, slot, &moving->trs, fields);
}

/* The transform that goes with it, and what changes. */
static enum scn_error complete_move(struct scn_apply *apply, uint32_t slot, struct moving *moving)
{
        const struct scn_document *document = apply->mutation.document;
        const struct scn_stamp place = scn_node_at(document, slot)->stamps[SCN_FIELD_PLACE];
        const struct scn_trs before = scn_hierarchy_local(document->hierarchy, slot);
        const uint32_t fields = apply->op->condition == NULL ? 0 : apply->fields & SCN_FIELDS_TRS;
        enum scn_error error = SCN_OK;
        moving->trs = scn_trs_merge(&before, &apply->op->trs, fields);
        if (apply->op->condition == NULL && apply->op->keep_world && moving->is_elsewhere) {
                error = keep_world(apply, slot, moving->target.parent, &moving->trs, &moving->residual);
                if (error == SCN_OK) {
                        error = check_kept_trs(apply, slot, &moving->trs);
                }
        }
        const bool is_placed = !moving->stays || scn_apply_brings_writer(apply, SCN_FIELD_PLACE, place);
        moving->fields =
                (is_placed ? SCN_FIELDS_PLACE : 0) | scn_apply_changed_trs(apply, slot, fields, &before, &moving->trs);
        return error;
}

enum scn_error scn_apply_move(struct scn_apply *apply)
{
        const struct scn_document *document = apply->mutation.document;
        struct moving moving = {.target = {.parent = SCN_NONE}};
        uint32_t slot;
        enum scn_error error = scn_apply_find_node(apply, &slot);
        if (error == SCN_OK) {
                error = find_parent(apply, &moving.target.parent);
        }
        if (error == SCN_OK) {
                error = check_move(apply, slot, moving.target.parent);
        }
        if (error == SCN_OK) {
                error = resolve_place(apply, slot, &moving.target);
        }
        if (error != SCN_OK) {
                return error;
        }
        moving.is_elsewhere = moving.target.parent != scn_hierarchy_parent(document->hierarchy, slot);
        moving.stays =
                !moving.is_elsewhere && moving.target.previous == scn_hierarchy_previous(document->hierarchy, slot);
        error = complete_move(apply, slot, &moving);
        return error != SCN_OK || moving.fields == 0 ? error : perform_move(apply, slot, &moving);
}

/* --- remove --- */

/* Strict: nothing in the subtree may have been changed by others after the base. */
static enum scn_error check_node(struct scn_apply *apply, uint32_t slot)
{
        const struct scn_node *node = scn_node_at(apply->mutation.document, slot);
        enum scn_error error = SCN_OK;
        for (uint32_t field = 0; field < SCN_FIELD_COUNT && error == SCN_OK; field++) {
                error = scn_apply_check_stamp(apply, slot, (enum scn_field)field, node->stamps[field]);
        }
        for (uint32_t i = 0; node->props != NULL && i < node->props->count && error == SCN_OK; i++) {
                const struct scn_prop *prop = &node->props->items[i];
                error = scn_apply_check_stamp(apply, slot, SCN_FIELD_PROPERTY, prop->stamp);
                if (error != SCN_OK) {
                        apply->refusal->key = scn_prop_view(prop->text).key;
                        apply->refusal->value = scn_prop_view(prop->text).value;
                }
        }
        return error;
}

scn_revision scn_apply_last_change(const struct scn_node *node)
{
        scn_revision latest = 0;
        for (int channel = 0; channel < SCN_CHANNEL_COUNT; channel++) {
                latest = node->subtree_rev[channel] > latest ? node->subtree_rev[channel] : latest;
        }
        return latest;
}

/* Strict: looks only where something has changed since the base. */
static enum scn_error check_subtree(struct scn_apply *apply, uint32_t top)
{
        const struct scn_document *document = apply->mutation.document;
        const struct scn_hierarchy *hierarchy = document->hierarchy;
        const bool is_known = apply->edit->base >= document->horizon;
        uint32_t at = apply->edit->is_strict ? top : SCN_NONE;
        while (at != SCN_NONE) {
                const bool is_quiet = is_known && scn_apply_last_change(scn_node_at(document, at)) <= apply->edit->base;
                const enum scn_error error = is_quiet ? SCN_OK : check_node(apply, at);
                if (error != SCN_OK) {
                        return error;
                }
                at = is_quiet ? scn_hierarchy_walk_past(hierarchy, top, at) : scn_hierarchy_walk(hierarchy, top, at);
        }
        return SCN_OK;
}

/* Measures the record of a removed subtree. */
static void measure(const struct scn_document *document, uint32_t top, uint32_t *count_out, uint64_t *bytes_out)
{
        *count_out = 0;
        *bytes_out = 0;
        for (uint32_t at = top; at != SCN_NONE; at = scn_hierarchy_walk(document->hierarchy, top, at)) {
                const struct scn_node *node = scn_node_at(document, at);
                *bytes_out += REMOVED_BYTES + stored_bytes(node->name, node->props);
                ++*count_out;
        }
}

enum scn_error scn_apply_remove(struct scn_apply *apply)
{
        const struct scn_document *document = apply->mutation.document;
        uint32_t slot;
        uint32_t count;
        uint64_t bytes;
        enum scn_error error = scn_apply_find_node(apply, &slot);
        if (error == SCN_OK && slot == document->root) {
                error = SCN_E_ROOT;
        }
        if (error == SCN_OK) {
                error = check_subtree(apply, slot);
        }
        struct scn_change *record;
        if (error == SCN_OK) {
                measure(document, slot, &count, &bytes);
                error = scn_changes_record(&apply->mutation, SCN_OP_REMOVE, bytes, &record);
        }
        if (error != SCN_OK) {
                return error;
        }
        record->op = apply->op_index;
        record->fields = SCN_FIELDS_PLACE;
        record->id = scn_node_at(document, slot)->id;
        record->uid = scn_node_at(document, slot)->uid;
        record->as.remove.place = scn_apply_place(document, slot);
        record->as.remove.parent = scn_id_at(document, scn_hierarchy_parent(document->hierarchy, slot));
        record->as.remove.previous = scn_id_at(document, scn_hierarchy_previous(document->hierarchy, slot));
        record->as.remove.next = scn_id_at(document, scn_hierarchy_next(document->hierarchy, slot));
        record->as.remove.nodes_count = count;
        record->as.remove.slot = slot;
        return scn_mutate_remove(&apply->mutation, slot);
}
