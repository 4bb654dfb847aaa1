/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Conditions: an op that takes a change back does so only where nobody has written since (DESIGN §6). */

#include "protocol/scene/apply.h"

#include <string.h>

#define COMPARED_MAX 128u

/* Who is in the way: of what this very edit has put back, the one whose value it is. Of that only the step is known,
 * which is named by the revision that began it. */
static struct scn_stamp_view culprit(const struct scn_apply *apply, struct scn_stamp stamp)
{
        const struct scn_stamp_view view = scn_stamp_view(apply->mutation.document, stamp);
        const bool is_put_back = view.revision == apply->mutation.revision;
        return is_put_back ? (struct scn_stamp_view){.revision = view.writer, .writer = view.writer} : view;
}

/* A gesture may have written one field a thousand times. Of very many fields only the first are compared. */
static bool is_known(const struct scn_changes *changes, const struct scn_skip *skip)
{
        for (size_t i = 0; i < changes->skips_count && i < COMPARED_MAX; i++) {
                const struct scn_skip *known = &changes->skips[i];
                if (known->field == skip->field && known->reason == skip->reason && known->revision == skip->revision &&
                        scn_uid_equal(known->node, skip->node) && scn_slice_equal(known->key, skip->key)) {
                        return true;
                }
        }
        return false;
}

enum scn_error scn_apply_skip(
        struct scn_apply *apply, enum scn_error reason, enum scn_field field, struct scn_stamp stamp)
{
        struct scn_changes *changes = apply->mutation.changes;
        const struct scn_stamp_view view = culprit(apply, stamp);
        struct scn_skip skip = {
                .op = apply->op_index,
                .reason = reason,
                .field = field,
                .node = apply->refusal->node,
                .key = field == SCN_FIELD_PROPERTY ? apply->op->key : (struct scn_slice){NULL, 0},
                .revision = view.revision,
                .writer = view.writer,
                .client = view.client,
        };
        if (is_known(changes, &skip)) {
                return SCN_OK;
        }
        uint8_t *copy = scn_changes_alloc(changes, skip.key.size);
        if (copy == NULL ||
                !scn_grow((void **)&changes->skips, &changes->skips_capacity, sizeof *changes->skips,
                        changes->skips_count + 1, SIZE_MAX)) {
                return SCN_E_NO_MEMORY;
        }
        if (skip.key.data != NULL) {
                memcpy(copy, skip.key.data, skip.key.size);
                skip.key.data = copy;
        }
        changes->skips[changes->skips_count++] = skip;
        return SCN_OK;
}

static bool is_by_others(const struct scn_apply *apply, struct scn_stamp stamp)
{
        const struct scn_edit *edit = apply->edit;
        return scn_stamp_revision(stamp) > apply->op->condition->since &&
                !edit->is_own(edit->is_own_data, scn_stamp_writer(stamp));
}

/* What comes before it in its chain has been skipped. */
static bool is_cut_off(const struct scn_apply *apply, enum scn_field field)
{
        const struct scn_chains *chains = apply->op->condition->chains;
        return chains != NULL && (chains->follows >> field & 1) != 0 && chains->of[field]->is_broken;
}

static bool is_as_left(const struct scn_apply *apply, enum scn_field field, struct scn_stamp stamp)
{
        return scn_stamp_writer(stamp) == apply->op->condition->writers[field] && !is_cut_off(apply, field);
}

/* Those of the op's fixed fields that still count as written by whom they should; the others are skipped. */
static enum scn_error keep_own_fields(struct scn_apply *apply, const struct scn_node *node, uint32_t fields)
{
        enum scn_error error = SCN_OK;
        for (uint32_t field = 0; field < SCN_FIELD_COUNT && error == SCN_OK; field++) {
                const struct scn_stamp stamp = node->stamps[field];
                if ((fields >> field & 1) != 0 && !is_as_left(apply, (enum scn_field)field, stamp)) {
                        apply->fields &= ~(1u << field);
                        error = scn_apply_skip(apply, SCN_E_SUPERSEDED, (enum scn_field)field, stamp);
                }
        }
        return error;
}

static enum scn_error check_transform(struct scn_apply *apply, uint32_t slot, bool *goes_on_out)
{
        const struct scn_document *document = apply->mutation.document;
        const struct scn_node *node = scn_node_at(document, slot);
        const struct scn_uid parent = scn_uid_at(document, scn_hierarchy_parent(document->hierarchy, slot));
        if (!scn_uid_equal(parent, apply->op->condition->parent)) {
                *goes_on_out = false;
                return scn_apply_skip(apply, SCN_E_STALE_PARENT, SCN_FIELD_PLACE, node->stamps[SCN_FIELD_PLACE]);
        }
        const enum scn_error error = keep_own_fields(apply, node, apply->op->fields & SCN_FIELDS_TRS);
        *goes_on_out = (apply->fields & SCN_FIELDS_TRS) != 0;
        return error;
}

/* A move and the transform that came with it go together: not if others have written the transform. */
static enum scn_error check_move(struct scn_apply *apply, uint32_t slot, bool *goes_on_out)
{
        const struct scn_node *node = scn_node_at(apply->mutation.document, slot);
        const struct scn_stamp place = node->stamps[SCN_FIELD_PLACE];
        *goes_on_out = is_as_left(apply, SCN_FIELD_PLACE, place);
        if (!*goes_on_out) {
                return scn_apply_skip(apply, SCN_E_SUPERSEDED, SCN_FIELD_PLACE, place);
        }
        for (uint32_t field = SCN_FIELD_TRANSLATION; field <= SCN_FIELD_SCALE; field++) {
                /* What this very edit has put back was there before. */
                const bool is_put_back = scn_stamp_revision(node->stamps[field]) == apply->mutation.revision;
                if (!is_put_back && is_by_others(apply, node->stamps[field])) {
                        *goes_on_out = false;
                        return scn_apply_skip(apply, SCN_E_SUPERSEDED, (enum scn_field)field, node->stamps[field]);
                }
        }
        return keep_own_fields(apply, node, apply->op->fields & SCN_FIELDS_TRS);
}

static enum scn_error check_rename(struct scn_apply *apply, uint32_t slot, bool *goes_on_out)
{
        const struct scn_stamp stamp = scn_node_at(apply->mutation.document, slot)->stamps[SCN_FIELD_NAME];
        *goes_on_out = is_as_left(apply, SCN_FIELD_NAME, stamp);
        return *goes_on_out ? SCN_OK : scn_apply_skip(apply, SCN_E_SUPERSEDED, SCN_FIELD_NAME, stamp);
}

static enum scn_error check_set(struct scn_apply *apply, uint32_t slot, bool *goes_on_out)
{
        const struct scn_condition *condition = apply->op->condition;
        const struct scn_props *props = scn_node_at(apply->mutation.document, slot)->props;
        bool is_known;
        const uint32_t index = scn_props_find(props, apply->op->key, &is_known);
        const struct scn_stamp stamp = is_known ? props->items[index].stamp : (struct scn_stamp){0, 0};
        *goes_on_out = is_known ? is_as_left(apply, SCN_FIELD_PROPERTY, stamp)
                                : condition->was_emptied && !is_cut_off(apply, SCN_FIELD_PROPERTY);
        return *goes_on_out ? SCN_OK : scn_apply_skip(apply, SCN_E_SUPERSEDED, SCN_FIELD_PROPERTY, stamp);
}

/* Whether others have written a node since; the refusal then says what and when. */
static bool is_node_by_others(struct scn_apply *apply, uint32_t slot)
{
        const struct scn_document *document = apply->mutation.document;
        const struct scn_node *node = scn_node_at(document, slot);
        struct scn_stamp stamp = {0, 0};
        uint32_t field = 0;
        while (field < SCN_FIELD_COUNT && !is_by_others(apply, node->stamps[field])) {
                field++;
        }
        if (field < SCN_FIELD_COUNT) {
                stamp = node->stamps[field];
        }
        for (uint32_t i = 0; node->props != NULL && i < node->props->count && stamp.revision_client == 0; i++) {
                if (is_by_others(apply, node->props->items[i].stamp)) {
                        stamp = node->props->items[i].stamp;
                        apply->refusal->key = scn_prop_view(node->props->items[i].text).key;
                }
        }
        if (stamp.revision_client == 0) {
                return false;
        }
        apply->refusal->node = node->uid;
        apply->refusal->field = (enum scn_field)field;
        const struct scn_stamp_view view = culprit(apply, stamp);
        apply->refusal->other = view.client;
        apply->refusal->revision = view.revision;
        return true;
}

/* Looks only where something has changed since. */
static bool is_subtree_by_others(struct scn_apply *apply, uint32_t top)
{
        const struct scn_document *document = apply->mutation.document;
        uint32_t at = top;
        while (at != SCN_NONE) {
                const bool is_quiet = scn_apply_last_change(scn_node_at(document, at)) <= apply->op->condition->since;
                if (!is_quiet && is_node_by_others(apply, at)) {
                        return true;
                }
                at = is_quiet ? scn_hierarchy_walk_past(document->hierarchy, top, at)
                              : scn_hierarchy_walk(document->hierarchy, top, at);
        }
        return false;
}

static enum scn_error check_remove(struct scn_apply *apply, uint32_t slot, bool *goes_on_out)
{
        const struct scn_document *document = apply->mutation.document;
        const struct scn_condition *condition = apply->op->condition;
        const struct scn_uid parent = scn_uid_at(document, scn_hierarchy_parent(document->hierarchy, slot));
        *goes_on_out = scn_uid_is_none(condition->parent) || !scn_uid_equal(parent, condition->parent);
        if (!*goes_on_out || condition->is_forced) {
                return SCN_OK;
        }
        return is_subtree_by_others(apply, slot) ? SCN_E_SUPERSEDED : SCN_OK;
}

/* What the op is about. */
static enum scn_field first_field(const struct scn_op *op)
{
        uint32_t field = SCN_FIELD_TRANSLATION;
        switch (op->kind) {
        case SCN_OP_RENAME:
                return SCN_FIELD_NAME;
        case SCN_OP_SET:
                return SCN_FIELD_PROPERTY;
        case SCN_OP_TRANSFORM:
                while (field < SCN_FIELD_SCALE && (op->fields >> field & 1) == 0) {
                        field++;
                }
                return (enum scn_field)field;
        case SCN_OP_ADD:
        case SCN_OP_REMOVE:
        case SCN_OP_MOVE:
        case SCN_OP_COUNT:
                break;
        }
        return SCN_FIELD_PLACE;
}

enum scn_error scn_apply_check_condition(struct scn_apply *apply, bool *goes_on_out)
{
        uint32_t slot;
        *goes_on_out = true;
        if (apply->op->kind == SCN_OP_ADD) {
                return SCN_OK;
        }
        const enum scn_error error = scn_apply_find_node(apply, &slot);
        /* It has been there: one that is not known any more lies behind the horizon. */
        if (error == SCN_E_GONE || error == SCN_E_NO_NODE) {
                *goes_on_out = false;
                return scn_apply_skip(apply, SCN_E_GONE, first_field(apply->op), (struct scn_stamp){0, 0});
        }
        if (error != SCN_OK) {
                return error;
        }
        switch (apply->op->kind) {
        case SCN_OP_TRANSFORM:
                return check_transform(apply, slot, goes_on_out);
        case SCN_OP_MOVE:
                return check_move(apply, slot, goes_on_out);
        case SCN_OP_RENAME:
                return check_rename(apply, slot, goes_on_out);
        case SCN_OP_SET:
                return check_set(apply, slot, goes_on_out);
        case SCN_OP_REMOVE:
                return check_remove(apply, slot, goes_on_out);
        case SCN_OP_ADD:
        case SCN_OP_COUNT:
                break;
        }
        return SCN_E_BAD_OP;
}

/* --- Chains --- */

void scn_apply_note_chains(const struct scn_apply *apply, bool goes_on)
{
        const struct scn_chains *chains = apply->op->condition->chains;
        for (uint32_t field = 0; field <= SCN_FIELD_PROPERTY && chains != NULL; field++) {
                const bool is_kept = (SCN_FIELDS_TRS >> field & 1) == 0 || (apply->fields >> field & 1) != 0;
                if (chains->of[field] != NULL) {
                        chains->of[field]->is_broken = !goes_on || !is_kept;
                }
        }
}
