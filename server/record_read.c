/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Change records back into ops: that do again what they say, or take it back. They come from a file, so nothing in
 * them is believed. */

#include "server/record.h"

#include "protocol/base/alloc.h"
#include "protocol/base/uid.h"

#include <string.h>

static struct scn_node_ref uid_ref(struct scn_uid uid)
{
        return (struct scn_node_ref){.kind = scn_uid_is_none(uid) ? SCN_REF_NONE : SCN_REF_UID, .uid = uid};
}

static void fail(struct scn_unpacker *unpacker, enum scn_error error)
{
        unpacker->error = unpacker->error == SCN_OK ? error : unpacker->error;
}

static struct scn_op *append_op(struct scn_unpacker *unpacker, struct scn_ops *ops, enum scn_op_kind kind)
{
        if (unpacker->error != SCN_OK) {
                return NULL;
        }
        if (!scn_grow((void **)&ops->ops, &ops->capacity, sizeof *ops->ops, ops->count + 1, UINT32_MAX)) {
                unpacker->error = SCN_E_NO_MEMORY;
                return NULL;
        }
        struct scn_op *op = &ops->ops[ops->count++];
        *op = (struct scn_op){.kind = kind};
        return op;
}

static struct scn_uid read_optional_uid(struct scn_unpacker *unpacker)
{
        return scn_unpack_is_nil(unpacker) ? (struct scn_uid){{0}} : scn_unpack_uid(unpacker);
}

static void read_place(struct scn_unpacker *unpacker, struct scn_op *op)
{
        op->parent = uid_ref(scn_unpack_uid(unpacker));
        op->place = SCN_PLACE_AFTER;
        op->after = uid_ref(read_optional_uid(unpacker));
}

static void read_trs(struct scn_unpacker *unpacker, struct scn_trs *trs)
{
        const struct scn_slice bytes = scn_unpack_bin(unpacker, sizeof *trs);
        if (bytes.size == sizeof *trs) {
                memcpy(trs, bytes.data, sizeof *trs);
        } else {
                fail(unpacker, SCN_E_BAD_MESSAGE);
        }
}

static struct scn_slice read_optional_text(struct scn_unpacker *unpacker)
{
        return scn_unpack_is_nil(unpacker) ? (struct scn_slice){NULL, 0} : scn_unpack_text(unpacker, UINT32_MAX);
}

static struct scn_slice read_optional_value(struct scn_unpacker *unpacker)
{
        return scn_unpack_is_nil(unpacker) ? (struct scn_slice){NULL, 0} : scn_unpack_raw(unpacker);
}

static uint32_t read_fields(struct scn_unpacker *unpacker)
{
        return (uint32_t)scn_unpack_uint(unpacker, UINT32_MAX) & SCN_FIELDS_TRS;
}

static void read_properties(struct scn_unpacker *unpacker, struct scn_op *op, struct scn_ops *ops)
{
        const uint32_t count = scn_unpack_map(unpacker);
        for (uint32_t i = 0; i < count && unpacker->error == SCN_OK; i++) {
                if (!scn_grow((void **)&ops->properties, &ops->properties_capacity, sizeof *ops->properties,
                            ops->properties_count + 1, SIZE_MAX)) {
                        unpacker->error = SCN_E_NO_MEMORY;
                        return;
                }
                struct scn_property *property = &ops->properties[ops->properties_count++];
                property->key = scn_unpack_text(unpacker, UINT32_MAX);
                property->value = scn_unpack_raw(unpacker);
                op->properties_count++;
        }
}

/* An array of exactly so many. */
static void read_writers(struct scn_unpacker *unpacker, scn_revision *writers, uint32_t count)
{
        if (scn_unpack_array(unpacker) != count) {
                fail(unpacker, SCN_E_BAD_MESSAGE);
        }
        for (uint32_t i = 0; i < count && unpacker->error == SCN_OK; i++) {
                writers[i] = scn_unpack_uint(unpacker, SCN_REVISION_MAX);
        }
}

/* Room for what an op's fields count as written by; NULL: out of memory, noted. */
static scn_revision *take_writers(struct scn_unpacker *unpacker, struct scn_ops *ops, uint32_t count)
{
        scn_revision *writers =
                unpacker->error == SCN_OK ? scn_arena_alloc(&ops->arena, count * sizeof *writers) : NULL;
        if (writers != NULL) {
                memset(writers, 0, count * sizeof *writers);
        } else {
                fail(unpacker, SCN_E_NO_MEMORY);
        }
        return writers;
}

/* The head of "after"; *has_own_out: there is something about taking back at its end. */
static struct scn_unpacker open_after(uint32_t kind, struct scn_slice after, bool *has_own_out)
{
        struct scn_unpacker unpacker = scn_unpacker_from(after);
        *has_own_out = false;
        if (kind != SCN_OP_REMOVE || after.size > 0) {
                const uint32_t count = scn_unpack_array(&unpacker);
                *has_own_out = count == scn_record_after_count(kind) + 1;
                if (count != scn_record_after_count(kind) && !*has_own_out) {
                        fail(&unpacker, SCN_E_BAD_MESSAGE);
                }
        }
        return unpacker;
}

static enum scn_error end_of(const struct scn_unpacker *unpacker)
{
        if (unpacker->error == SCN_E_NO_MEMORY) {
                return SCN_E_NO_MEMORY;
        }
        return scn_unpack_is_done(unpacker) ? SCN_OK : SCN_E_CORRUPT;
}

void scn_record_settle(struct scn_ops *ops)
{
        struct scn_property *at = ops->properties;
        for (size_t i = 0; i < ops->count; i++) {
                const uint32_t count = ops->ops[i].properties_count;
                ops->ops[i].properties = at;
                at = count == 0 ? at : at + count; /* to nothing nothing may be added, not even 0 */
        }
}

/* --- Doing it again --- */

static void redo_add(struct scn_unpacker *unpacker, struct scn_op *op, struct scn_uid node, struct scn_ops *ops)
{
        op->uid = node;
        op->id = (scn_node_id)scn_unpack_uint(unpacker, UINT32_MAX);
        read_place(unpacker, op);
        op->fields = SCN_FIELDS_TRS;
        read_trs(unpacker, &op->trs);
        op->name = read_optional_text(unpacker);
        read_properties(unpacker, op, ops);
}

/* The transform that a move brought with it is an op of its own. */
static void redo_move(struct scn_unpacker *unpacker, struct scn_uid node, struct scn_ops *ops)
{
        struct scn_trs trs = SCN_TRS_IDENTITY;
        struct scn_op *op = append_op(unpacker, ops, SCN_OP_MOVE);
        if (op == NULL) {
                return;
        }
        op->node = uid_ref(node);
        read_place(unpacker, op);
        const uint32_t fields = read_fields(unpacker);
        read_trs(unpacker, &trs);
        struct scn_op *transform = fields != 0 ? append_op(unpacker, ops, SCN_OP_TRANSFORM) : NULL;
        if (transform != NULL) {
                transform->node = uid_ref(node);
                transform->fields = fields;
                transform->trs = trs;
        }
}

static void redo_one(struct scn_unpacker *unpacker, uint32_t kind, struct scn_uid node, struct scn_ops *ops)
{
        struct scn_op *op = append_op(unpacker, ops, (enum scn_op_kind)kind);
        if (op == NULL) {
                return;
        }
        op->node = uid_ref(node);
        if (kind == SCN_OP_ADD) {
                redo_add(unpacker, op, node, ops);
        } else if (kind == SCN_OP_TRANSFORM) {
                op->fields = read_fields(unpacker);
                read_trs(unpacker, &op->trs);
        } else if (kind == SCN_OP_RENAME) {
                op->name = read_optional_text(unpacker);
        } else if (kind == SCN_OP_SET) {
                op->key = scn_unpack_text(unpacker, UINT32_MAX);
                op->value = read_optional_value(unpacker);
        }
}

/* The ops from `first` on get the writers that were put back. */
static void redo_own(struct scn_unpacker *unpacker, uint32_t kind, struct scn_ops *ops, size_t first)
{
        if (scn_unpack_array(unpacker) != 2) {
                fail(unpacker, SCN_E_BAD_MESSAGE);
        }
        (void)scn_unpack_uint(unpacker, SCN_REVISION_MAX);
        uint32_t count = SCN_FIELD_COUNT + 1;
        if (kind == SCN_OP_ADD && unpacker->error == SCN_OK) {
                count = SCN_FIELD_COUNT + ops->ops[first].properties_count;
        } else if (kind == SCN_OP_REMOVE) {
                count = 0;
        }
        scn_revision *writers = take_writers(unpacker, ops, count);
        if (writers != NULL) {
                read_writers(unpacker, writers, count);
        }
        for (size_t i = first; i < ops->count && count > 0; i++) {
                ops->ops[i].writers = writers;
        }
}

enum scn_error scn_record_redo(uint32_t kind, struct scn_uid node, struct scn_slice after, struct scn_ops *ops)
{
        const size_t first = ops->count;
        bool has_own;
        if (kind >= SCN_OP_COUNT) {
                return SCN_E_CORRUPT;
        }
        struct scn_unpacker unpacker = open_after(kind, after, &has_own);
        if (kind == SCN_OP_MOVE) {
                redo_move(&unpacker, node, ops);
        } else {
                redo_one(&unpacker, kind, node, ops);
        }
        if (has_own) {
                redo_own(&unpacker, kind, ops, first);
        }
        return end_of(&unpacker);
}

/* --- Taking it back --- */

/* Conditions and writers of one op, side by side in the arena. */
struct inverse {
        struct scn_condition condition;
        scn_revision expected[SCN_FIELD_COUNT + 1];
        scn_revision writers[SCN_FIELD_COUNT + 1];
};

static struct inverse *take_inverse(
        struct scn_unpacker *unpacker, const struct scn_record_undo *undo, struct scn_ops *ops)
{
        struct inverse *inverse = unpacker->error == SCN_OK ? scn_arena_alloc(&ops->arena, sizeof *inverse) : NULL;
        if (inverse == NULL) {
                fail(unpacker, SCN_E_NO_MEMORY);
                return NULL;
        }
        memset(inverse, 0, sizeof *inverse);
        inverse->condition.since = undo->since;
        inverse->condition.writers = inverse->expected;
        for (int field = 0; field <= SCN_FIELD_COUNT; field++) {
                inverse->expected[field] = undo->step;
        }
        return inverse;
}

/* What a record of something taken back says: for which step, and whom its fields count as written by since. */
static enum scn_error read_own(
        uint32_t kind, struct scn_slice after, scn_revision *step_out, scn_revision expected[SCN_FIELD_COUNT + 1])
{
        bool has_own;
        struct scn_unpacker unpacker = open_after(kind, after, &has_own);
        for (uint32_t i = 0; i < scn_record_after_count(kind) && has_own; i++) {
                (void)scn_unpack_raw(&unpacker);
        }
        if (!has_own || scn_unpack_array(&unpacker) != 2) {
                return SCN_E_CORRUPT;
        }
        *step_out = scn_unpack_uint(&unpacker, SCN_REVISION_MAX);
        if (kind == SCN_OP_ADD || kind == SCN_OP_REMOVE) {
                (void)scn_unpack_raw(&unpacker);
        } else {
                read_writers(&unpacker, expected, SCN_FIELD_COUNT + 1);
        }
        return end_of(&unpacker);
}

enum scn_error scn_record_step(const struct scn_journal_record *record, scn_revision *step_out)
{
        scn_revision expected[SCN_FIELD_COUNT + 1];
        return record->kind < SCN_OP_COUNT ? read_own(record->kind, record->after, step_out, expected) : SCN_E_CORRUPT;
}

static void undo_add(struct scn_slice after, const struct scn_record_undo *undo, struct scn_op *op,
        struct inverse *inverse, struct scn_unpacker *unpacker)
{
        bool has_own;
        *unpacker = open_after(SCN_OP_ADD, after, &has_own);
        (void)scn_unpack_uint(unpacker, UINT32_MAX);
        const struct scn_uid parent = scn_unpack_uid(unpacker);
        for (uint32_t i = 2; i < scn_record_after_count(SCN_OP_ADD) + has_own; i++) {
                (void)scn_unpack_raw(unpacker);
        }
        op->kind = SCN_OP_REMOVE;
        inverse->condition.is_forced = undo->is_forced;
        inverse->condition.parent = undo->is_added(undo->data, parent) ? parent : (struct scn_uid){{0}};
}

static void read_node(struct scn_unpacker *unpacker, struct scn_op *op, struct scn_ops *ops)
{
        if (scn_unpack_array(unpacker) != 8) {
                fail(unpacker, SCN_E_BAD_MESSAGE);
        }
        op->uid = scn_unpack_uid(unpacker);
        op->parent = uid_ref(read_optional_uid(unpacker));
        (void)scn_unpack_uint(unpacker, UINT32_MAX);
        op->fields = SCN_FIELDS_TRS;
        read_trs(unpacker, &op->trs);
        op->name = read_optional_text(unpacker);
        read_properties(unpacker, op, ops);
        const uint32_t count = op->properties_count;
        scn_revision *writers = take_writers(unpacker, ops, SCN_FIELD_COUNT + count);
        if (writers != NULL) {
                read_writers(unpacker, writers, SCN_FIELD_COUNT);
                read_writers(unpacker, writers + SCN_FIELD_COUNT, count);
        }
        op->writers = writers;
}

/* Parents first, each as the last child so far: siblings come in order. Only the top has a place to go back to. */
static void undo_remove(struct scn_unpacker *unpacker, struct scn_ops *ops)
{
        struct scn_op place = {.place = SCN_PLACE_AFTER};
        if (scn_unpack_array(unpacker) != 4) {
                fail(unpacker, SCN_E_BAD_MESSAGE);
        }
        read_place(unpacker, &place);
        place.before = uid_ref(read_optional_uid(unpacker));
        const uint32_t count = scn_unpack_array(unpacker);
        for (uint32_t i = 0; i < count && unpacker->error == SCN_OK; i++) {
                struct scn_op *op = append_op(unpacker, ops, SCN_OP_ADD);
                if (op == NULL) {
                        return;
                }
                read_node(unpacker, op, ops);
                if (i == 0) {
                        op->parent = place.parent;
                        op->place = place.place;
                        op->after = place.after;
                        op->before = place.before;
                }
        }
}

static void undo_move(struct scn_unpacker *unpacker, struct scn_op *op, struct inverse *inverse)
{
        scn_revision writers[4];
        op->kind = SCN_OP_MOVE;
        read_place(unpacker, op);
        op->before = uid_ref(read_optional_uid(unpacker));
        op->fields = read_fields(unpacker);
        read_trs(unpacker, &op->trs);
        read_writers(unpacker, writers, 4);
        if (unpacker->error == SCN_OK) {
                inverse->writers[SCN_FIELD_PLACE] = writers[0];
                memcpy(&inverse->writers[SCN_FIELD_TRANSLATION], &writers[1], 3 * sizeof writers[1]);
        }
}

static void undo_value(struct scn_unpacker *unpacker, uint32_t kind, struct scn_op *op, struct inverse *inverse)
{
        op->kind = (enum scn_op_kind)kind;
        if (kind == SCN_OP_TRANSFORM) {
                op->fields = read_fields(unpacker);
                read_trs(unpacker, &op->trs);
                read_writers(unpacker, &inverse->writers[SCN_FIELD_TRANSLATION], 3);
                inverse->condition.parent = read_optional_uid(unpacker);
        } else if (kind == SCN_OP_RENAME) {
                op->name = read_optional_text(unpacker);
                inverse->writers[SCN_FIELD_NAME] = scn_unpack_uint(unpacker, SCN_REVISION_MAX);
        } else {
                op->key = scn_unpack_text(unpacker, UINT32_MAX);
                op->value = read_optional_value(unpacker);
                inverse->writers[SCN_FIELD_PROPERTY] = scn_unpack_uint(unpacker, SCN_REVISION_MAX);
        }
}

static uint32_t before_count(uint32_t kind)
{
        static const uint32_t counts[SCN_OP_COUNT] = {
                [SCN_OP_MOVE] = 6, [SCN_OP_TRANSFORM] = 4, [SCN_OP_RENAME] = 2, [SCN_OP_SET] = 3};
        return counts[kind];
}

/* Whether a set left its key empty. */
static bool leaves_empty(struct scn_slice after)
{
        bool has_own;
        struct scn_unpacker unpacker = open_after(SCN_OP_SET, after, &has_own);
        (void)scn_unpack_text(&unpacker, UINT32_MAX);
        return scn_unpack_kind(&unpacker) == SCN_PACK_NIL;
}

enum scn_error scn_record_read_about(const struct scn_journal_record *record, struct scn_record_about *about_out)
{
        struct scn_unpacker unpacker = scn_unpacker_from(record->before);
        struct scn_op place;
        *about_out = (struct scn_record_about){.fields = 0};
        if (record->kind >= SCN_OP_COUNT) {
                return SCN_E_CORRUPT;
        }
        if (record->kind == SCN_OP_ADD || record->kind == SCN_OP_REMOVE) {
                return SCN_OK;
        }
        if (scn_unpack_array(&unpacker) != before_count(record->kind)) {
                fail(&unpacker, SCN_E_BAD_MESSAGE);
        }
        if (record->kind == SCN_OP_MOVE) {
                read_place(&unpacker, &place);
                (void)read_optional_uid(&unpacker);
                about_out->fields = SCN_FIELDS_PLACE | read_fields(&unpacker);
        } else if (record->kind == SCN_OP_TRANSFORM) {
                about_out->fields = read_fields(&unpacker);
                (void)scn_unpack_raw(&unpacker);
                (void)scn_unpack_raw(&unpacker);
                about_out->parent = read_optional_uid(&unpacker);
        } else if (record->kind == SCN_OP_RENAME) {
                about_out->fields = SCN_FIELDS_NAME;
        } else {
                about_out->fields = SCN_FIELDS_PROPERTY;
                about_out->key = scn_unpack_text(&unpacker, UINT32_MAX);
        }
        return unpacker.error == SCN_OK ? SCN_OK : unpacker.error == SCN_E_NO_MEMORY ? SCN_E_NO_MEMORY : SCN_E_CORRUPT;
}

/* Adds to a move that is taken back what another brought along. */
static void add_more(
        struct scn_unpacker *unpacker, const struct scn_record_more *more, struct scn_op *op, struct inverse *inverse)
{
        struct scn_op other = {.kind = SCN_OP_MOVE};
        struct inverse theirs = {.writers = {0}};
        struct scn_unpacker from = scn_unpacker_from(more->record->before);
        if (more->record->kind != SCN_OP_MOVE || scn_unpack_array(&from) != before_count(SCN_OP_MOVE)) {
                fail(&from, SCN_E_BAD_MESSAGE);
        }
        undo_move(&from, &other, &theirs);
        if (from.error != SCN_OK) {
                fail(unpacker, from.error);
                return;
        }
        const uint32_t fields = other.fields & more->fields & ~op->fields;
        const struct scn_trs trs = op->trs;
        op->trs = other.trs;
        if ((fields & SCN_FIELDS_TRANSLATION) == 0) {
                memcpy(op->trs.t, trs.t, sizeof trs.t);
        }
        if ((fields & SCN_FIELDS_ROTATION) == 0) {
                memcpy(op->trs.r, trs.r, sizeof trs.r);
        }
        if ((fields & SCN_FIELDS_SCALE) == 0) {
                memcpy(op->trs.s, trs.s, sizeof trs.s);
        }
        op->fields |= fields;
        for (uint32_t field = SCN_FIELD_TRANSLATION; field <= SCN_FIELD_SCALE; field++) {
                if ((fields >> field & 1) != 0) {
                        inverse->writers[field] = theirs.writers[field];
                }
        }
}

static enum scn_error undo_one(const struct scn_journal_record *record, const struct scn_record_undo *undo,
        const scn_revision *expected, struct scn_ops *ops)
{
        struct scn_unpacker unpacker = scn_unpacker_from(record->before);
        struct scn_op *op = append_op(&unpacker, ops, SCN_OP_REMOVE);
        struct inverse *inverse = take_inverse(&unpacker, undo, ops);
        if (op == NULL || inverse == NULL) {
                return SCN_E_NO_MEMORY;
        }
        op->node = uid_ref(record->node);
        op->condition = &inverse->condition;
        op->writers = inverse->writers;
        if (expected != NULL) {
                memcpy(inverse->expected, expected, sizeof inverse->expected);
        }
        if (record->kind == SCN_OP_ADD) {
                undo_add(record->after, undo, op, inverse, &unpacker);
                return end_of(&unpacker);
        }
        if (scn_unpack_array(&unpacker) != before_count(record->kind)) {
                fail(&unpacker, SCN_E_BAD_MESSAGE);
        }
        if (record->kind == SCN_OP_MOVE) {
                undo_move(&unpacker, op, inverse);
        } else {
                undo_value(&unpacker, record->kind, op, inverse);
        }
        op->fields &= ~undo->left_out;
        if (undo->more != NULL) {
                add_more(&unpacker, undo->more, op, inverse);
        }
        inverse->condition.was_emptied = record->kind == SCN_OP_SET && leaves_empty(record->after);
        return end_of(&unpacker);
}

enum scn_error scn_record_take_back(
        const struct scn_journal_record *record, const struct scn_record_undo *undo, struct scn_ops *ops)
{
        scn_revision expected[SCN_FIELD_COUNT + 1];
        scn_revision step = undo->step;
        if (record->kind >= SCN_OP_COUNT) {
                return SCN_E_CORRUPT;
        }
        if (undo->is_redo) {
                const enum scn_error error = read_own(record->kind, record->after, &step, expected);
                if (error != SCN_OK || step != undo->step) {
                        return error;
                }
        }
        if (record->kind != SCN_OP_REMOVE) {
                return undo_one(record, undo, undo->is_redo ? expected : NULL, ops);
        }
        struct scn_unpacker unpacker = scn_unpacker_from(record->before);
        undo_remove(&unpacker, ops);
        return end_of(&unpacker);
}
