/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The one writer of a document's tree: an edit is applied whole or not at all (DESIGN §3). */

#include "protocol/scene/apply.h"

static enum scn_error apply_kind(struct scn_apply *apply)
{
        switch (apply->op->kind) {
        case SCN_OP_ADD:
                return scn_apply_add(apply);
        case SCN_OP_REMOVE:
                return scn_apply_remove(apply);
        case SCN_OP_MOVE:
                return scn_apply_move(apply);
        case SCN_OP_TRANSFORM:
                return scn_apply_transform(apply);
        case SCN_OP_RENAME:
                return scn_apply_rename(apply);
        case SCN_OP_SET:
                return scn_apply_set(apply);
        case SCN_OP_COUNT:
                break;
        }
        return SCN_E_BAD_OP;
}

static bool is_about_size(enum scn_error error)
{
        return error == SCN_E_NO_MEMORY || error == SCN_E_TOO_LARGE || error == SCN_E_TOO_MANY_REVISIONS;
}

static enum scn_error apply_op(struct scn_apply *apply)
{
        bool goes_on = true;
        apply->fields = apply->op->fields;
        if (apply->op->condition == NULL) {
                return apply_kind(apply);
        }
        enum scn_error error = scn_apply_check_condition(apply, &goes_on);
        if (error == SCN_OK && goes_on) {
                error = apply_kind(apply);
                /* A move that can no longer be is not taken back; whatever else cannot be refuses the whole. */
                if (error != SCN_OK && apply->op->kind == SCN_OP_MOVE && !is_about_size(error)) {
                        goes_on = false;
                        error = scn_apply_skip(apply, error, SCN_FIELD_PLACE, (struct scn_stamp){0, 0});
                }
        }
        scn_apply_note_chains(apply, goes_on);
        return error;
}

static enum scn_error apply_ops(struct scn_apply *apply)
{
        const struct scn_edit *edit = apply->edit;
        for (uint32_t i = 0; i < edit->ops_count; i++) {
                apply->op = &edit->ops[i];
                apply->op_index = i;
                apply->mutation.writers = edit->ops[i].writers;
                *apply->refusal = (struct scn_refusal){.op = i, .field = SCN_FIELD_COUNT};
                const enum scn_error error = apply_op(apply);
                if (error != SCN_OK) {
                        return error;
                }
        }
        *apply->refusal = (struct scn_refusal){.op = edit->ops_count, .field = SCN_FIELD_COUNT};
        return SCN_OK;
}

static enum scn_error check_edit(const struct scn_document *document, const struct scn_edit *edit)
{
        if (edit->ops_count > document->limits.ops_max) {
                return SCN_E_TOO_MANY_OPS;
        }
        if (edit->has_base && edit->base > document->revision) {
                return SCN_E_FUTURE;
        }
        if (edit->revision != 0 && (edit->revision <= document->revision || edit->revision > SCN_REVISION_MAX)) {
                return SCN_E_BAD_OP;
        }
        const scn_revision last = edit->revision != 0 ? edit->revision : document->revision;
        return (edit->is_strict && !edit->has_base) || edit->step > last ? SCN_E_BAD_OP : SCN_OK;
}

/* The document's own observers do not fail. */
static void announce(struct scn_document *document, enum scn_document_event_kind kind, uint32_t mask,
        const struct scn_changes *changes)
{
        const struct scn_document_event event = {kind, document, changes, NULL};
        document->is_busy = true;
        const enum scn_error error = scn_observable_notify(document->observable, mask, &event, NULL);
        document->is_busy = false;
        SCN_ASSERT(error == SCN_OK);
}

static void commit(struct scn_document *document, struct scn_changes *changes, scn_revision revision)
{
        changes->revision = revision;
        document->revision = revision;
        scn_horizon_advance(document);
        changes->is_outstanding = true;
        changes->older = document->newest;
        if (document->newest != NULL) {
                document->newest->newer = changes;
        } else {
                document->oldest = changes;
        }
        document->newest = changes;
}

/* There is room for it. */
static void quote(struct scn_buffer *quoted, struct scn_slice *slice)
{
        const size_t at = quoted->size;
        if (slice->size > 0 && scn_buffer_append(quoted, slice->data, slice->size) == SCN_OK) {
                slice->data = quoted->data + at;
        }
}

/* What a refusal says of the document may be of what is about to be taken back: of a node that an undo has just
 * restored, say. */
static bool keep_quoted(struct scn_document *document, struct scn_refusal *refusal)
{
        const size_t size = (size_t)refusal->key.size + refusal->value.size;
        scn_buffer_reset(&document->quoted);
        if (size > 0 && scn_buffer_reserve(&document->quoted, size) != SCN_OK) {
                return false;
        }
        quote(&document->quoted, &refusal->key);
        quote(&document->quoted, &refusal->value);
        return true;
}

enum scn_error scn_document_apply(struct scn_document *document, const struct scn_edit *edit,
        struct scn_changes **changes_out, struct scn_refusal *refusal_out)
{
        SCN_ASSERT(!document->is_busy);
        SCN_ASSERT(document->root != SCN_NONE);
        const struct scn_refusal nothing = {.op = edit->ops_count, .field = SCN_FIELD_COUNT};
        *refusal_out = nothing;
        enum scn_error error = check_edit(document, edit);
        if (error != SCN_OK) {
                return error;
        }
        struct scn_changes *changes;
        error = scn_changes_begin(document, &changes);
        if (error != SCN_OK) {
                return error;
        }
        const scn_revision revision = edit->revision != 0 ? edit->revision : document->revision + 1;
        struct scn_apply apply = {
                .mutation = {document, changes, revision, edit->step != 0 ? edit->step : revision, 0, NULL},
                .edit = edit,
                .refusal = refusal_out,
                .path_steps_left = document->limits.path_steps_max,
        };
        error = scn_table_client(document, edit->client, &apply.mutation.client);
        if (error == SCN_OK) {
                error = apply_ops(&apply);
        }
        if (error != SCN_OK) {
                /* A refusal without its value would say that there is none. */
                if (!keep_quoted(document, refusal_out)) {
                        *refusal_out = nothing;
                        error = SCN_E_NO_MEMORY;
                }
                scn_changes_roll_back(document, changes);
                scn_changes_release(document, changes);
                return error;
        }
        if (changes->records_count == 0) {
                scn_changes_roll_back(document, changes);
        } else {
                commit(document, changes, revision);
                announce(document, SCN_DOCUMENT_APPLIED, changes->mask, changes);
        }
        *changes_out = changes;
        return SCN_OK;
}

/* Whatever lies before the horizon goes with the last changes that a take-back could need it for. */
static void end_changes(struct scn_document *document, struct scn_changes *changes)
{
        scn_changes_release(document, changes);
        if (document->oldest == NULL) {
                scn_horizon_drop(document);
        }
}

void scn_document_take_back(struct scn_document *document, struct scn_changes *changes)
{
        SCN_ASSERT(!document->is_busy);
        if (changes->is_outstanding) {
                SCN_ASSERT(changes == document->newest);
                document->newest = changes->older;
                if (document->newest != NULL) {
                        document->newest->newer = NULL;
                } else {
                        document->oldest = NULL;
                }
                scn_changes_roll_back(document, changes);
                announce(document, SCN_DOCUMENT_TAKEN_BACK, changes->mask, NULL);
        }
        end_changes(document, changes);
}

void scn_document_settle(struct scn_document *document, struct scn_changes *changes)
{
        SCN_ASSERT(!document->is_busy);
        if (changes->is_outstanding) {
                SCN_ASSERT(changes == document->oldest);
                document->oldest = changes->newer;
                if (document->oldest != NULL) {
                        document->oldest->older = NULL;
                } else {
                        document->newest = NULL;
                }
                scn_changes_collect(document, changes);
        }
        end_changes(document, changes);
}

/* --- Shared by the ops --- */

enum scn_error scn_apply_refuse(struct scn_apply *apply, enum scn_error error, enum scn_field field)
{
        apply->refusal->field = field;
        return error;
}

enum scn_error scn_apply_find_node(struct scn_apply *apply, uint32_t *slot_out)
{
        const struct scn_node_ref *ref = &apply->op->node;
        if (ref->kind == SCN_REF_UID) {
                apply->refusal->node = ref->uid;
        }
        const enum scn_error error =
                scn_document_find_slot(apply->mutation.document, ref, &apply->path_steps_left, slot_out);
        apply->refusal->lost = error == SCN_OK ? NULL : ref;
        if (error == SCN_OK) {
                apply->refusal->node = scn_node_at(apply->mutation.document, *slot_out)->uid;
        }
        return error;
}

/* What stands in the way of a strict edit. */
static void describe_conflict(struct scn_apply *apply, uint32_t slot, enum scn_field field, struct scn_stamp stamp)
{
        const struct scn_document *document = apply->mutation.document;
        struct scn_refusal *refusal = apply->refusal;
        const struct scn_node *node = scn_node_at(document, slot);
        refusal->node = node->uid;
        refusal->field = field;
        refusal->other = document->clients[scn_stamp_client(stamp)];
        refusal->revision = scn_stamp_revision(stamp);
        refusal->trs = scn_hierarchy_local(document->hierarchy, slot);
        if (field == SCN_FIELD_NAME) {
                refusal->value = scn_text_slice(node->name);
        }
}

enum scn_error scn_apply_check_stamp(
        struct scn_apply *apply, uint32_t slot, enum scn_field field, struct scn_stamp stamp)
{
        const struct scn_edit *edit = apply->edit;
        /* What this edit itself wrote is no conflict, whatever the base. */
        if (!edit->is_strict || scn_stamp_revision(stamp) == apply->mutation.revision) {
                return SCN_OK;
        }
        /* Before the horizon nobody can tell any more, so it counts as changed. */
        const bool is_known = edit->base >= apply->mutation.document->horizon;
        const bool is_changed =
                scn_stamp_revision(stamp) > edit->base && scn_stamp_client(stamp) != apply->mutation.client;
        if (is_known && !is_changed) {
                return SCN_OK;
        }
        describe_conflict(apply, slot, field, stamp);
        return SCN_E_CONFLICT;
}

struct scn_place scn_apply_place(const struct scn_document *document, uint32_t slot)
{
        const struct scn_hierarchy *hierarchy = document->hierarchy;
        return (struct scn_place){
                scn_uid_at(document, scn_hierarchy_parent(hierarchy, slot)),
                scn_uid_at(document, scn_hierarchy_previous(hierarchy, slot)),
                scn_uid_at(document, scn_hierarchy_next(hierarchy, slot)),
        };
}
