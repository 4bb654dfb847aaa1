/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* How the model follows an edit, and the ops that change values. */

#include "tests/lib/model_follow.h"

#include "protocol/base/alloc.h"

#include <inttypes.h>
#include <string.h>

/* `parent` and `base`, which tell in which space the numbers are meant. */
static void judge_parent(struct follower *follower, const struct model_node *node)
{
        const struct scn_op *op = follower->op;
        const struct scn_edit *edit = follower->edit;

        follower->node = node->uid;
        follower->other_parent = model_uid_of(&follower->state, node->parent);
        if (op->parent.kind != SCN_REF_NONE) {
                struct model_verdict verdict = follower->verdict;
                const struct model_node *parent = follow_resolve(follower, &op->parent);
                if (parent != NULL) {
                        follower->verdict = verdict;
                        if (parent->id != node->parent)
                                follow_must(follower, SCN_E_STALE_PARENT);
                } else {
                        follow_must(follower, SCN_E_STALE_PARENT);
                }
                return;
        }
        if (!edit->has_base)
                return;
        bool is_later = node->parent_revision > edit->base || edit->base < follower->state.horizon;
        /* One born after the base is no news of a parent, and who made it need not be remembered: left open. */
        if (is_later && node->parent_revision == node->birth)
                follow_may(follower, SCN_E_STALE_PARENT);
        else if (follow_is_changed_by_others(follower, node->parent_revision, node->parent_client))
                follow_must(follower, SCN_E_STALE_PARENT);
        else if (edit->base < follower->state.horizon)
                follow_may(follower, SCN_E_STALE_PARENT);
}

static bool follow_transform(struct follower *follower)
{
        const struct scn_op *op = follower->op;
        struct model_node *node = follow_resolve(follower, &op->node);
        uint32_t flags = 0, fields = 0;
        struct scn_trs trs = follow_judge_trs(follower, node != NULL ? &node->trs : &SCN_TRS_IDENTITY, &flags);

        if (op->fields == 0)
                follow_may(follower, SCN_E_BAD_OP);
        if (node != NULL) {
                judge_parent(follower, node);
                fields = follow_trs_difference(&trs, &node->trs);
                for (enum scn_field field = SCN_FIELD_TRANSLATION; field <= SCN_FIELD_SCALE; field++)
                        if ((op->fields >> field & 1u) != 0)
                                follow_judge_strict(follower, node, field, (fields >> field & 1u) != 0);
        }
        if (!follow_is_accepted(follower))
                return false;
        if (fields == 0)
                return true;
        const struct scn_change *change = follow_take_record(follower, node->id, node->uid);
        if (change != NULL) {
                follow_check_record(follower, change, fields, flags);
                follow_check_trs(follower, &change->as.transform.before, &node->trs);
                follow_check_trs(follower, &change->as.transform.after, &trs);
                for (uint32_t i = 0; i < 3; i++)
                        if ((fields >> (SCN_FIELD_TRANSLATION + i) & 1u) != 0)
                                MODEL_CHECK(follower->model,
                                        change->as.transform.writer_before[i] ==
                                                node->stamps[SCN_FIELD_TRANSLATION + i].writer,
                                        "writer of the transform before");
        }
        node->trs = trs;
        follow_stamp_trs(follower, node, fields);
        return true;
}

static bool follow_rename(struct follower *follower)
{
        const struct scn_op *op = follower->op;
        struct model_node *node = follow_resolve(follower, &op->node);
        bool is_equal = node != NULL && model_slices_equal(node->name, op->name);

        follow_judge_name(follower, op->name);
        if (node != NULL)
                follow_judge_strict(follower, node, SCN_FIELD_NAME, !is_equal);
        if (!follow_is_accepted(follower))
                return false;
        if (is_equal)
                return true;
        const struct scn_change *change = follow_take_record(follower, node->id, node->uid);
        if (change != NULL) {
                follow_check_record(follower, change, SCN_FIELDS_NAME, 0);
                follow_check_slice(follower, change->as.rename.before, node->name);
                follow_check_slice(follower, change->as.rename.after, op->name);
                MODEL_CHECK(follower->model, change->as.rename.writer_before == node->stamps[SCN_FIELD_NAME].writer,
                        "writer of the name before");
        }
        node->name = model_keep(follower->model, op->name);
        node->stamps[SCN_FIELD_NAME] = follow_stamp(follower);
        follow_changed(follower, node, SCN_CHANNEL_NAME);
        return true;
}

static void check_set_record(struct follower *follower, const struct scn_change *change, struct scn_slice value,
        const struct model_property *before)
{
        scn_revision writer = change->as.set.writer_before;

        follow_check_slice(follower, change->as.set.key, follower->op->key);
        follow_check_slice(follower, change->as.set.before, before != NULL ? before->value : (struct scn_slice){0});
        follow_check_slice(follower, change->as.set.after, value);
        /* A removed key may be forgotten when the horizon has passed it. */
        bool may_be_forgotten =
                before == NULL || (before->value.data == NULL && before->stamp.revision <= follower->state.horizon);
        MODEL_CHECK(follower->model,
                (before != NULL && writer == before->stamp.writer) || (may_be_forgotten && writer == 0),
                "writer of the property before");
}

static bool follow_set(struct follower *follower)
{
        const struct scn_op *op = follower->op;
        struct model_node *node = follow_resolve(follower, &op->node);
        struct scn_slice value = {0};
        bool is_equal = false;
        const struct model_property *before = NULL;

        follow_judge_key(follower, op->key);
        if (op->value.data != NULL)
                value = follow_judge_value(follower, op->value);
        if (node != NULL && op->key.data != NULL) {
                before = model_property(node, op->key);
                is_equal = model_slices_equal(before != NULL ? before->value : (struct scn_slice){0}, value);
                bool is_more = value.data != NULL && (before == NULL || before->value.data == NULL);
                if (is_more && model_properties_count(node) + 1 > follower->model->limits.properties_max)
                        follow_must(follower, SCN_E_TOO_MANY_PROPS);
                if (before != NULL)
                        follow_judge_strict_property(follower, node, before, !is_equal);
                else if (follower->edit->has_base && follower->edit->is_strict &&
                        follower->edit->base < follower->state.horizon)
                        follow_may(follower, SCN_E_CONFLICT);
        }
        if (!follow_is_accepted(follower))
                return false;
        if (is_equal)
                return true;
        const struct scn_change *change = follow_take_record(follower, node->id, node->uid);
        if (change != NULL)
                check_set_record(follower, change, value, before);
        if (value.data == NULL)
                follower->state.past_events++;
        struct model_property property = {
                .key = model_keep(follower->model, op->key), .value = value, .stamp = follow_stamp(follower)};
        follow_put_property(follower->model, node, property);
        follow_changed(follower, node, SCN_CHANNEL_PROPERTIES);
        return true;
}

/* The edit: its ops one by one. */

static bool follow_op(struct follower *follower)
{
        switch (follower->op->kind) {
        case SCN_OP_ADD:
                return follow_add(follower);
        case SCN_OP_REMOVE:
                return follow_remove(follower);
        case SCN_OP_MOVE:
                return follow_move(follower);
        case SCN_OP_TRANSFORM:
                return follow_transform(follower);
        case SCN_OP_RENAME:
                return follow_rename(follower);
        case SCN_OP_SET:
                return follow_set(follower);
        case SCN_OP_COUNT:
                break;
        }
        follow_must(follower, SCN_E_BAD_OP);
        follow_is_accepted(follower);
        return false;
}

static void copy_state(struct follower *follower)
{
        struct model *model = follower->model;
        const struct model_state *old = model_now(model);
        struct model_state *state = &follower->state;
        size_t nodes_max = old->nodes_count + (size_t)follower->edit->ops_count;
        size_t ended_max = old->ended_count + nodes_max;

        *state = *old;
        state->nodes = model_alloc(model, nodes_max * sizeof *state->nodes);
        memcpy(state->nodes, old->nodes, old->nodes_count * sizeof *state->nodes);
        state->ended = model_alloc(model, ended_max * sizeof *state->ended);
        if (old->ended_count != 0)
                memcpy(state->ended, old->ended, old->ended_count * sizeof *state->ended);
}

static void push_state(struct follower *follower)
{
        struct model *model = follower->model;
        size_t capacity = model->states_capacity;

        follower->state.revision = follower->revision;
        cr_assert(scn_grow((void **)&model->states, &capacity, sizeof *model->states, model->states_count + (size_t)1,
                UINT32_MAX));
        model->states_capacity = (uint32_t)capacity;
        model->states[model->states_count++] = follower->state;
}

/* Faults of the edit as a whole. */
static void judge_edit(struct follower *follower)
{
        const struct model_outcome *outcome = follower->outcome;
        const struct scn_edit *edit = follower->edit;
        struct model *model = follower->model;
        uint64_t expected = 0;

        if (edit->ops_count > model->limits.ops_max)
                expected |= follow_bit(SCN_E_TOO_MANY_OPS);
        if ((edit->is_strict && !edit->has_base) || edit->step > model_now(model)->revision)
                expected |= follow_bit(SCN_E_BAD_OP);
        MODEL_CHECK(model, edit->step <= model_now(model)->revision + 1 || (expected & follow_bit(outcome->error)) != 0,
                "a step of the future: %s", scn_error_code(outcome->error));
        MODEL_CHECK(model, edit->ops_count <= model->limits.ops_max || (expected & follow_bit(outcome->error)) != 0,
                "more ops than permitted: %s", scn_error_code(outcome->error));
        if (outcome->error == SCN_OK || outcome->refusal->op != edit->ops_count)
                return;
        MODEL_CHECK(model, (expected & follow_bit(outcome->error)) != 0, "the edit as a whole was refused as %s",
                scn_error_code(outcome->error));
}

void model_follow(struct model *model, const struct scn_document *document, const struct scn_edit *edit,
        const struct model_outcome *outcome)
{
        struct follower follower = {.model = model,
                .document = document,
                .edit = edit,
                .outcome = outcome,
                .revision = model_now(model)->revision + 1};
        bool is_done = true;

        model->edit = edit;
        model->last_mask = 0;
        judge_edit(&follower);
        copy_state(&follower);
        if (outcome->error == SCN_OK || outcome->refusal->op != edit->ops_count)
                for (uint32_t i = 0; i < edit->ops_count && is_done; i++) {
                        follower.op = &edit->ops[i];
                        follower.op_index = i;
                        follower.verdict = (struct model_verdict){0};
                        follower.conflicts_count = 0;
                        is_done = follow_op(&follower);
                }
        MODEL_CHECK(model, !is_done == (outcome->error != SCN_OK && outcome->refusal->op != edit->ops_count),
                "refused as %s at op %" PRIu32 ", where nothing is wrong", scn_error_code(outcome->error),
                outcome->refusal->op);
        if (outcome->error != SCN_OK)
                return;
        MODEL_CHECK(model, scn_changes_count(outcome->changes) == follower.records_used, "%" PRIu32 " records too many",
                scn_changes_count(outcome->changes) - follower.records_used);
        uint32_t mask = scn_changes_mask(outcome->changes);
        MODEL_CHECK(model,
                (mask & follower.mask) == follower.mask && (mask & ~(follower.mask | follower.mask_open)) == 0,
                "mask %" PRIx32 " instead of %" PRIx32, mask, follower.mask);
        if (follower.records_used == 0) {
                MODEL_CHECK(model, scn_changes_revision(outcome->changes) == model_now(model)->revision,
                        "an edit that changed nothing made a revision");
                return;
        }
        MODEL_CHECK(model, scn_changes_revision(outcome->changes) == follower.revision, "revision of the records");
        model->last_mask = mask;
        follower.state.horizon = scn_document_horizon(document);
        push_state(&follower);
}
