/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/restore_plan.h"

#include "protocol/base/alloc.h"
#include "protocol/base/uid.h"

#include <string.h>

struct planning {
        const struct scn_restore_plan *plan;
        struct scn_ops *ops;
        scn_node_id top;   /* in the past, like all ids without a note */
        bool *is_member;   /* by id: it is in the subtree */
        scn_node_id *gone; /* in the present: what goes */
        size_t gone_count, gone_capacity;
};

static struct scn_node_ref by_uid(struct scn_uid uid)
{
        return (struct scn_node_ref){.kind = SCN_REF_UID, .uid = uid};
}

static struct scn_op *add_op(struct planning *planning, enum scn_op_kind kind, struct scn_uid node)
{
        struct scn_ops *ops = planning->ops;
        if (!scn_grow((void **)&ops->ops, &ops->capacity, sizeof *ops->ops, ops->count + 1, UINT32_MAX)) {
                return NULL;
        }
        struct scn_op *op = &ops->ops[ops->count++];
        *op = (struct scn_op){.kind = kind};
        if (kind != SCN_OP_ADD) {
                op->node = by_uid(node);
        }
        return op;
}

/* --- One node --- */

/* Whether a node of the past is there now, beneath the same parent. */
static bool is_in_place(const struct planning *planning, const struct scn_node_view *node, struct scn_uid parent)
{
        const struct scn_document *present = planning->plan->present;
        const scn_node_id now_id = scn_document_find_uid(present, node->uid);
        const scn_node_id parent_id = now_id == 0 ? 0 : scn_document_node(present, now_id).parent;
        return parent_id != 0 && scn_uid_equal(scn_document_node(present, parent_id).uid, parent);
}

/* Behind the sibling that was before it: that one is where it was by now. Of the top they stay where they are: behind
 * the nearest one that is there. */
static void set_place(const struct planning *planning, struct scn_op *op, const struct scn_node_view *node)
{
        const struct scn_document *past = planning->plan->past;
        const struct scn_uid parent = scn_document_node(past, node->parent).uid;
        scn_node_id before = node->previous;
        while (before != 0) {
                const struct scn_node_view sibling = scn_document_node(past, before);
                if (node->id != planning->top || is_in_place(planning, &sibling, parent)) {
                        op->after = by_uid(sibling.uid);
                        break;
                }
                before = sibling.previous;
        }
        op->parent = by_uid(parent);
        op->place = SCN_PLACE_AFTER;
}

static enum scn_error add_node(struct planning *planning, const struct scn_node_view *node)
{
        const struct scn_document *past = planning->plan->past;
        struct scn_property *properties =
                scn_arena_alloc(&planning->ops->arena, node->properties_count * sizeof *properties);
        struct scn_op *op = add_op(planning, SCN_OP_ADD, node->uid);
        if (op == NULL || properties == NULL) {
                return SCN_E_NO_MEMORY;
        }
        set_place(planning, op, node);
        op->uid = node->uid;
        op->name = node->name;
        op->fields = SCN_FIELDS_TRS;
        op->trs = node->trs;
        op->properties = properties;
        for (uint32_t i = 0; i < node->property_fields_count; i++) {
                const struct scn_property property = scn_document_property(past, node->id, i, NULL);
                if (property.value.data != NULL) {
                        properties[op->properties_count++] = property;
                }
        }
        return SCN_OK;
}

static bool is_same(struct scn_slice a, struct scn_slice b)
{
        return (a.data == NULL) == (b.data == NULL) && a.size == b.size &&
                (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static enum scn_error set_property(
        struct planning *planning, struct scn_uid uid, struct scn_slice key, struct scn_slice value)
{
        struct scn_op *op = add_op(planning, SCN_OP_SET, uid);
        if (op == NULL) {
                return SCN_E_NO_MEMORY;
        }
        /* A key that goes stands in the present only, which does not last as long as the op. */
        op->key = scn_arena_copy(&planning->ops->arena, key.data, key.size);
        op->value = value;
        return op->key.data == NULL ? SCN_E_NO_MEMORY : SCN_OK;
}

/* First what goes: there may be as many as there can be. */
static enum scn_error restore_properties(
        struct planning *planning, const struct scn_node_view *node, const struct scn_node_view *now)
{
        const struct scn_document *past = planning->plan->past;
        const struct scn_document *present = planning->plan->present;
        const struct scn_slice none = {NULL, 0};
        enum scn_error error = SCN_OK;
        for (uint32_t i = 0; i < now->property_fields_count && error == SCN_OK; i++) {
                const struct scn_property property = scn_document_property(present, now->id, i, NULL);
                if (property.value.data != NULL && scn_document_get(past, node->id, property.key).data == NULL) {
                        error = set_property(planning, node->uid, property.key, none);
                }
        }
        for (uint32_t i = 0; i < node->property_fields_count && error == SCN_OK; i++) {
                const struct scn_property property = scn_document_property(past, node->id, i, NULL);
                if (property.value.data != NULL &&
                        !is_same(scn_document_get(present, now->id, property.key), property.value)) {
                        error = set_property(planning, node->uid, property.key, property.value);
                }
        }
        return error;
}

static uint32_t different_trs(const struct scn_trs *a, const struct scn_trs *b)
{
        return (memcmp(a->t, b->t, sizeof a->t) != 0 ? SCN_FIELDS_TRANSLATION : 0u) |
                (memcmp(a->r, b->r, sizeof a->r) != 0 ? SCN_FIELDS_ROTATION : 0u) |
                (memcmp(a->s, b->s, sizeof a->s) != 0 ? SCN_FIELDS_SCALE : 0u);
}

static enum scn_error restore_fields(
        struct planning *planning, const struct scn_node_view *node, const struct scn_node_view *now)
{
        const uint32_t fields = different_trs(&node->trs, &now->trs);
        if (fields != 0) {
                struct scn_op *op = add_op(planning, SCN_OP_TRANSFORM, node->uid);
                if (op == NULL) {
                        return SCN_E_NO_MEMORY;
                }
                op->fields = fields;
                op->trs = node->trs;
        }
        if (!is_same(node->name, now->name)) {
                struct scn_op *op = add_op(planning, SCN_OP_RENAME, node->uid);
                if (op == NULL) {
                        return SCN_E_NO_MEMORY;
                }
                op->name = node->name;
        }
        return restore_properties(planning, node, now);
}

enum scn_error scn_restore_plan_node(const struct scn_restore_plan *plan, scn_node_id id, struct scn_ops *ops)
{
        struct planning planning = {.plan = plan, .ops = ops};
        const struct scn_node_view node = scn_document_node(plan->past, id);
        const scn_node_id now_id = scn_document_find_uid(plan->present, node.uid);
        if (now_id == 0) {
                return add_node(&planning, &node);
        }
        const struct scn_node_view now = scn_document_node(plan->present, now_id);
        return restore_fields(&planning, &node, &now);
}

static enum scn_error restore_place(struct planning *planning, const struct scn_node_view *node, scn_node_id now)
{
        const scn_revision past = scn_document_revision(planning->plan->past);
        if (node->id == planning->top ||
                scn_document_stamp(planning->plan->present, now, SCN_FIELD_PLACE).revision <= past) {
                return SCN_OK;
        }
        struct scn_op *op = add_op(planning, SCN_OP_MOVE, node->uid);
        if (op == NULL) {
                return SCN_E_NO_MEMORY;
        }
        set_place(planning, op, node);
        return SCN_OK;
}

/* Notes which of its children now were not in the subtree then. */
static enum scn_error note_strangers(struct planning *planning, const struct scn_node_view *now)
{
        const struct scn_document *present = planning->plan->present;
        scn_node_id child = now->first_child;
        while (child != 0) {
                const struct scn_node_view node = scn_document_node(present, child);
                const scn_node_id then = scn_document_find_uid(planning->plan->past, node.uid);
                if (then == 0 || !planning->is_member[then]) {
                        if (!scn_grow((void **)&planning->gone, &planning->gone_capacity, sizeof *planning->gone,
                                    planning->gone_count + 1, SIZE_MAX)) {
                                return SCN_E_NO_MEMORY;
                        }
                        planning->gone[planning->gone_count++] = child;
                }
                child = node.next;
        }
        return SCN_OK;
}

/* *is_done_out: nothing at or beneath it is otherwise. */
static enum scn_error restore_node(struct planning *planning, scn_node_id id, bool *is_done_out)
{
        const struct scn_document *present = planning->plan->present;
        const scn_revision past = scn_document_revision(planning->plan->past);
        const struct scn_node_view node = scn_document_node(planning->plan->past, id);
        const scn_node_id now_id = scn_document_find_uid(present, node.uid);
        *is_done_out = false;
        if (now_id == 0) {
                return add_node(planning, &node);
        }
        enum scn_error error = restore_place(planning, &node, now_id);
        if (error == SCN_OK && !scn_document_changed_since(present, now_id, SCN_MASK_ALL, past)) {
                *is_done_out = true;
                return SCN_OK;
        }
        const struct scn_node_view now = scn_document_node(present, now_id);
        error = error == SCN_OK ? restore_fields(planning, &node, &now) : error;
        return error == SCN_OK ? note_strangers(planning, &now) : error;
}

/* --- All of it --- */

/* The next node of the walk behind all that is beneath this one; 0 at the end. */
static scn_node_id walk_past(const struct planning *planning, scn_node_id id)
{
        while (id != planning->top) {
                const struct scn_node_view node = scn_document_node(planning->plan->past, id);
                if (node.next != 0) {
                        return node.next;
                }
                id = node.parent;
        }
        return 0;
}

static enum scn_error restore_all(struct planning *planning)
{
        const struct scn_document *past = planning->plan->past;
        enum scn_error error = SCN_OK;
        for (scn_node_id id = planning->top; id != 0; id = scn_document_walk(past, planning->top, id)) {
                planning->is_member[id] = true;
        }
        for (scn_node_id id = planning->top; id != 0 && error == SCN_OK;) {
                bool is_done;
                error = restore_node(planning, id, &is_done);
                id = is_done ? walk_past(planning, id) : scn_document_walk(past, planning->top, id);
        }
        for (size_t i = 0; i < planning->gone_count && error == SCN_OK; i++) {
                const struct scn_uid uid = scn_document_node(planning->plan->present, planning->gone[i]).uid;
                error = add_op(planning, SCN_OP_REMOVE, uid) == NULL ? SCN_E_NO_MEMORY : SCN_OK;
        }
        return error;
}

enum scn_error scn_restore_plan(const struct scn_restore_plan *plan, struct scn_ops *ops)
{
        struct planning planning = {.plan = plan, .ops = ops, .top = scn_document_find_uid(plan->past, plan->top)};
        planning.is_member = scn_alloc_zero((size_t)scn_document_next_id(plan->past) + 1, sizeof *planning.is_member);
        const enum scn_error error = planning.is_member == NULL ? SCN_E_NO_MEMORY : restore_all(&planning);
        scn_free(planning.is_member);
        scn_free(planning.gone);
        return error;
}
