/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* How the model follows the ops that change the tree: add, remove and move. */

#include "tests/lib/model_follow.h"

#include "protocol/base/uid.h"

#include <inttypes.h>
#include <string.h>

#define MASK_DURABLE ((1u << SCN_CHANNEL_COUNT) - 1)

/* Places. */

static struct scn_place place_of(const struct model_state *state, const struct model_node *node)
{
        return (struct scn_place){
                .parent = model_uid_of(state, node->parent),
                .previous = model_uid_of(state, model_previous(state, node)),
                .next = model_uid_of(state, model_next(state, node)),
        };
}

static scn_node_id last_child(const struct model_state *state, scn_node_id parent, const struct model_node *except)
{
        scn_node_id last = 0;

        for (uint32_t i = 0; i < state->nodes_count; i++)
                if (state->nodes[i].parent == parent && &state->nodes[i] != except)
                        last = state->nodes[i].id;
        return last;
}

static scn_node_id previous_by_index(
        struct follower *follower, scn_node_id parent, const struct model_node *node, bool *went_last)
{
        const struct model_state *state = &follower->state;
        scn_node_id previous = 0;
        uint32_t index = follower->op->index;

        for (uint32_t i = 0; i < state->nodes_count && index != 0; i++)
                if (state->nodes[i].parent == parent && &state->nodes[i] != node) {
                        previous = state->nodes[i].id;
                        index--;
                }
        *went_last = index != 0;
        return previous;
}

static scn_node_id previous_by_sibling(
        struct follower *follower, scn_node_id parent, const struct model_node *node, bool *went_last)
{
        struct model_verdict verdict = follower->verdict;

        if (follower->op->after.kind == SCN_REF_NONE)
                return 0;
        const struct model_node *after = follow_resolve(follower, &follower->op->after);
        bool is_malformed = (follower->verdict.must & follow_bit(SCN_E_BAD_PATH)) != 0;
        follower->verdict = verdict;
        if (is_malformed)
                follow_must(follower, SCN_E_BAD_PATH);
        if (after != NULL && after == node)
                follow_must(follower, SCN_E_BAD_OP);
        if (after != NULL && after != node && after->parent == parent)
                return after->id;
        *went_last = true;
        return last_child(&follower->state, parent, node);
}

/* The sibling after which the op wants it; node NULL: one that is not there yet. */
static scn_node_id previous_wanted(
        struct follower *follower, scn_node_id parent, const struct model_node *node, bool *went_last)
{
        *went_last = false;
        switch (follower->op->place) {
        case SCN_PLACE_AFTER:
                return previous_by_sibling(follower, parent, node, went_last);
        case SCN_PLACE_INDEX:
                return previous_by_index(follower, parent, node, went_last);
        case SCN_PLACE_UNSAID:
                break;
        }
        if (node != NULL && node->parent == parent)
                return model_previous(&follower->state, node);
        return last_child(&follower->state, parent, node);
}

static void insert(struct model_state *state, struct model_node node, scn_node_id previous)
{
        uint32_t at = 0;

        if (previous != 0)
                at = (uint32_t)(model_find(state, previous) - state->nodes) + 1;
        memmove(&state->nodes[at + 1], &state->nodes[at], (state->nodes_count - at) * sizeof node);
        state->nodes[at] = node;
        state->nodes_count++;
}

static void take_out(struct model_state *state, scn_node_id id)
{
        uint32_t at = (uint32_t)(model_find(state, id) - state->nodes);

        state->nodes_count--;
        memmove(&state->nodes[at], &state->nodes[at + 1], (state->nodes_count - at) * sizeof *state->nodes);
}

/* Something left this parent. What it leaves behind may be marked in every channel. */
static void lost(struct follower *follower, scn_node_id parent)
{
        model_find(&follower->state, parent)->child_lost = follower->revision;
        follow_mark_upwards(follower, parent, SCN_MASK_ALL, true);
        follower->state.past_events++;
}

static void check_place(struct follower *follower, struct scn_place actual, struct scn_place expected)
{
        MODEL_CHECK(follower->model, scn_uid_equal(actual.parent, expected.parent),
                "op %" PRIu32 " (kind %d): record's parent", follower->op_index, (int)follower->op->kind);
        MODEL_CHECK(follower->model, scn_uid_equal(actual.previous, expected.previous), "record's previous sibling");
        MODEL_CHECK(follower->model, scn_uid_equal(actual.next, expected.next), "record's next sibling");
}

/* Add. */

static void judge_add_properties(struct follower *follower, struct model_node *node)
{
        const struct scn_op *op = follower->op;

        if (op->properties_count > follower->model->limits.properties_max)
                follow_must(follower, SCN_E_TOO_MANY_PROPS);
        for (uint32_t i = 0; i < op->properties_count; i++) {
                struct scn_slice key = op->properties[i].key;
                follow_judge_key(follower, key);
                if (op->properties[i].value.data == NULL) {
                        follow_must(follower, SCN_E_BAD_VALUE);
                        follow_must(follower, SCN_E_BAD_OP);
                        continue;
                }
                struct model_property property = {
                        .key = model_keep(follower->model, key),
                        .value = follow_judge_value(follower, op->properties[i].value),
                        .stamp = follow_stamp(follower),
                };
                if (key.data == NULL || property.value.data == NULL)
                        continue;
                if (model_property(node, key) != NULL)
                        follow_must(follower, SCN_E_DUPLICATE_KEY);
                follow_put_property(follower->model, node, property);
        }
}

static void check_add_record(struct follower *follower, const struct model_node *node, uint32_t flags)
{
        const struct scn_change *change = follow_take_record(follower, node->id, node->uid);

        if (change == NULL)
                return;
        MODEL_CHECK(follower->model, change->flags == flags, "add: flags %" PRIx32 " instead of %" PRIx32,
                change->flags, flags);
        check_place(follower, change->as.add.place, place_of(&follower->state, node));
        follow_check_trs(follower, &change->as.add.trs, &node->trs);
        follow_check_slice(follower, change->as.add.name, node->name);
        MODEL_CHECK(follower->model, change->as.add.properties_count == node->properties_count, "add: properties");
        for (uint32_t i = 0; i < node->properties_count; i++) {
                follow_check_slice(follower, change->as.add.properties[i].key, node->properties[i].key);
                follow_check_slice(follower, change->as.add.properties[i].value, node->properties[i].value);
        }
}

/* The uid that the document chose, or one that nobody has, if it does not tell. */
static struct scn_uid chosen_uid(struct follower *follower)
{
        struct scn_uid uid = {{FOLLOW_UNKNOWN_UID_BYTE, 0xee, 0xee, 0, 0, 0, 0x40, 0, 0x80}};
        const struct scn_changes *changes = follower->outcome->changes;

        uid.bytes[15] = (uint8_t)follower->unknown_uids;
        uid.bytes[14] = (uint8_t)(follower->unknown_uids++ >> 8);
        if (changes == NULL || follower->records_used >= scn_changes_count(changes))
                return uid;
        uid = scn_changes_get(changes, follower->records_used)->uid;
        MODEL_CHECK(follower->model, model_find_uid(&follower->state, uid) == NULL, "a chosen uid that is living");
        MODEL_CHECK(follower->model, (uid.bytes[6] & 0xf0) == 0x40 && (uid.bytes[8] & 0xc0) == 0x80,
                "a chosen uid is no UUID of version 4");
        return uid;
}

bool follow_add(struct follower *follower)
{
        const struct scn_op *op = follower->op;
        struct model_state *state = &follower->state;
        uint32_t flags;
        bool went_last = false;
        scn_node_id previous = 0;
        struct model_node node = {.birth = follower->revision, .parent_revision = follower->revision};

        const struct model_node *parent = follow_resolve(follower, &op->parent);
        if (parent != NULL) {
                previous = previous_wanted(follower, parent->id, NULL, &went_last);
                if (model_depth(state, parent) + 1 > follower->model->limits.depth_max)
                        follow_must(follower, SCN_E_DEPTH);
                node.parent = parent->id;
        }
        if (!scn_uid_is_none(op->uid) && model_find_uid(state, op->uid) != NULL)
                follow_must(follower, SCN_E_EXISTS);
        if (op->id != 0 && op->id < state->next_id)
                follow_must(follower, SCN_E_BAD_OP);
        if (state->nodes_count + 1 > follower->model->limits.nodes_max)
                follow_must(follower, SCN_E_TOO_MANY_NODES);
        follow_judge_name(follower, op->name);
        node.trs = follow_judge_trs(follower, &SCN_TRS_IDENTITY, &flags);
        judge_add_properties(follower, &node);
        if (!follow_is_accepted(follower))
                return false;

        node.id = op->id != 0 ? op->id : state->next_id;
        node.uid = scn_uid_is_none(op->uid) ? chosen_uid(follower) : op->uid;
        node.name = model_keep(follower->model, op->name);
        node.parent_client = follower->edit->client;
        for (uint32_t field = 0; field < SCN_FIELD_COUNT; field++)
                node.stamps[field] = follow_stamp(follower);
        state->next_id = node.id + 1;
        insert(state, node, previous);
        struct model_node *added = model_find(state, node.id);
        follow_mark_upwards(follower, node.id, SCN_MASK_ALL, false);
        follow_changed(follower, added, SCN_CHANNEL_STRUCTURE);
        /* A new node changes every channel in which it has something. */
        follower->mask |= SCN_MASK_TRANSFORM | (node.name.data != NULL ? SCN_MASK_NAME : 0u) |
                (node.properties_count != 0 ? SCN_MASK_PROPERTIES : 0u);
        follower->mask_open |= MASK_DURABLE;
        check_add_record(follower, added, flags | (went_last ? SCN_CHANGE_WENT_LAST : 0u));
        return true;
}

static void judge_strict_subtree(struct follower *follower, const struct model_node *top)
{
        const struct scn_edit *edit = follower->edit;
        const struct model_state *state = &follower->state;

        for (uint32_t i = 0; i < state->nodes_count; i++) {
                const struct model_node *node = &state->nodes[i];
                if (!model_is_under(state, node->id, top->id))
                        continue;
                for (enum scn_field field = SCN_FIELD_PLACE; field < SCN_FIELD_COUNT; field++)
                        follow_judge_strict(follower, node, field, true);
                for (uint32_t p = 0; p < node->properties_count; p++)
                        follow_judge_strict_property(follower, node, &node->properties[p], true);
                /* What was taken out of it is not in it: left open. */
                if (edit->is_strict && edit->has_base && node->node_lost > edit->base)
                        follow_may(follower, SCN_E_CONFLICT);
        }
}

static bool stamps_equal(struct scn_stamp_view a, struct scn_stamp_view b)
{
        return a.revision == b.revision && a.writer == b.writer && scn_uid_equal(a.client, b.client);
}

/* One node of the subtree that a record holds, against the model just before it is removed. */
static void check_removed_node(struct follower *follower, const struct scn_node_view *view, uint32_t cursor)
{
        const struct model_state *state = &follower->state;
        struct model *model = follower->model;
        const struct model_node *node = model_find(state, view->id);
        scn_node_id first_child = 0;

        MODEL_CHECK(model, node != NULL, "removed node %" PRIu32 " was not there", view->id);
        for (uint32_t i = state->nodes_count; i-- != 0;)
                if (state->nodes[i].parent == view->id)
                        first_child = state->nodes[i].id;
        MODEL_CHECK(model, scn_uid_equal(view->uid, node->uid), "removed node's uid");
        MODEL_CHECK(model, view->parent == node->parent, "removed node's parent");
        MODEL_CHECK(model, view->previous == model_previous(state, node), "removed node's previous sibling");
        MODEL_CHECK(model, view->next == model_next(state, node), "removed node's next sibling");
        MODEL_CHECK(model, view->first_child == first_child, "removed node's first child");
        MODEL_CHECK(model, view->birth == node->birth, "removed node's birth");
        follow_check_slice(follower, view->name, node->name);
        follow_check_trs(follower, &view->trs, &node->trs);
        for (enum scn_field field = SCN_FIELD_PLACE; field < SCN_FIELD_COUNT; field++)
                MODEL_CHECK(model,
                        stamps_equal(
                                scn_document_removed_stamp(follower->document, cursor, field), node->stamps[field]),
                        "removed node %" PRIu32 "'s stamp %d", view->id, (int)field);
        MODEL_CHECK(model, view->properties_count == model_properties_count(node), "removed node's properties");
        for (uint32_t i = 0; i < view->property_fields_count; i++) {
                struct scn_stamp_view actual;
                struct scn_property property = scn_document_removed_property(follower->document, cursor, i, &actual);
                const struct model_property *expected = model_property(node, property.key);
                MODEL_CHECK(model, expected != NULL, "removed node has an unknown key");
                follow_check_slice(follower, property.value, expected->value);
                MODEL_CHECK(model, stamps_equal(actual, expected->stamp), "removed node's property's stamp");
        }
}

static void check_remove_record(struct follower *follower, const struct model_node *top)
{
        const struct model_state *state = &follower->state;
        const struct scn_change *change = follow_take_record(follower, top->id, top->uid);
        uint32_t expected_count = 0, cursor = 0;

        if (change == NULL)
                return;
        for (uint32_t i = 0; i < state->nodes_count; i++)
                expected_count += model_is_under(state, state->nodes[i].id, top->id);
        MODEL_CHECK(follower->model, change->as.remove.nodes_count == expected_count, "removed nodes: %" PRIu32,
                change->as.remove.nodes_count);
        check_place(follower, change->as.remove.place, place_of(state, top));
        scn_node_id *seen = model_alloc(follower->model, expected_count * sizeof *seen);
        for (uint32_t i = 0; i < expected_count; i++) {
                struct scn_node_view view = scn_document_removed_node(follower->document, &change->as.remove, &cursor);
                bool is_parent_seen = i == 0 && view.id == top->id;
                for (uint32_t j = 0; j < i; j++) {
                        MODEL_CHECK(follower->model, seen[j] != view.id, "a node removed twice");
                        is_parent_seen |= seen[j] == view.parent;
                }
                MODEL_CHECK(follower->model, is_parent_seen, "a child before its parent in a removed subtree");
                seen[i] = view.id;
                check_removed_node(follower, &view, cursor);
        }
}

bool follow_remove(struct follower *follower)
{
        struct model_state *state = &follower->state;
        const struct model_node *top = follow_resolve(follower, &follower->op->node);

        if (top != NULL) {
                if (top->parent == 0)
                        follow_must(follower, SCN_E_ROOT);
                judge_strict_subtree(follower, top);
        }
        if (!follow_is_accepted(follower))
                return false;
        check_remove_record(follower, top);
        scn_node_id top_id = top->id, parent = top->parent;
        bool *is_going = model_alloc(follower->model, state->nodes_count * sizeof *is_going);
        for (uint32_t i = 0; i < state->nodes_count; i++)
                is_going[i] = model_is_under(state, state->nodes[i].id, top_id);
        lost(follower, parent);
        uint32_t kept = 0;
        for (uint32_t i = 0; i < state->nodes_count; i++) {
                const struct model_node *node = &state->nodes[i];
                if (is_going[i]) {
                        state->ended[state->ended_count++] = (struct model_ended){
                                .id = node->id, .uid = node->uid, .birth = node->birth, .removal = follower->revision};
                        state->past_events++;
                } else {
                        state->nodes[kept++] = *node;
                }
        }
        state->nodes_count = kept;
        state->changes_count++;
        follower->mask |= SCN_MASK_STRUCTURE;
        follower->mask_open |= MASK_DURABLE;
        return true;
}

/* Takes the new local transform from the record once the world is found to be the same with it; without a record
 * from the arithmetic. */
static struct scn_trs kept_world(struct follower *follower, const struct scn_change *change,
        const struct model_node *node, const struct model_node *new_parent)
{
        struct model_state *state = &follower->state;
        struct model_world before = model_world(state, node);
        struct model_world parent_world = model_world(state, new_parent);
        struct scn_trs trs = node->trs;
        double residual;

        if (change == NULL) {
                struct model_world old_parent = model_world(state, model_find(state, node->parent));
                if (scn_transform_keep_world(&old_parent.matrix, &parent_world.matrix, &node->trs, &trs, &residual) !=
                        SCN_OK)
                        return node->trs;
                return trs;
        }
        trs = change->as.move.trs_after;
        if ((change->flags & SCN_CHANGE_LOSSY) != 0)
                return trs;
        struct model_node moved = *node;
        moved.trs = trs;
        moved.parent = new_parent->id;
        struct model_world after = model_world(state, &moved);
        double largest = 0.0;
        for (uint32_t i = 0; i < 12; i++)
                if (i % 4 != 3 && after.magnitude.m[i] > largest)
                        largest = after.magnitude.m[i];
        for (uint32_t i = 0; i < 12; i++) {
                double error = before.matrix.m[i] - after.matrix.m[i];
                double allowed = 1e-6 * (before.magnitude.m[i] + after.magnitude.m[i]) + 3e-4 * largest;
                MODEL_CHECK(follower->model, error <= allowed && -error <= allowed,
                        "keep=world of %" PRIu32 " moved entry %" PRIu32 " by %g, allowed are %g", node->id, i, error,
                        allowed);
        }
        return trs;
}

static void check_move_record(struct follower *follower, const struct scn_change *change,
        const struct model_node *before, struct scn_place place_before, uint32_t trs_fields, bool went_last)
{
        const struct model_node *after = model_find(&follower->state, before->id);
        uint32_t lossy = change->flags & SCN_CHANGE_LOSSY;

        follow_check_record(
                follower, change, SCN_FIELDS_PLACE | trs_fields, (went_last ? SCN_CHANGE_WENT_LAST : 0u) | lossy);
        check_place(follower, change->as.move.before, place_before);
        check_place(follower, change->as.move.after, place_of(&follower->state, after));
        follow_check_trs(follower, &change->as.move.trs_before, &before->trs);
        follow_check_trs(follower, &change->as.move.trs_after, &after->trs);
        MODEL_CHECK(follower->model, change->as.move.place_writer_before == before->stamps[SCN_FIELD_PLACE].writer,
                "writer of the place before");
        for (uint32_t i = 0; i < 3; i++)
                if ((trs_fields >> (SCN_FIELD_TRANSLATION + i) & 1u) != 0)
                        MODEL_CHECK(follower->model,
                                change->as.move.trs_writer_before[i] ==
                                        before->stamps[SCN_FIELD_TRANSLATION + i].writer,
                                "writer of the transform before a move");
}

static void judge_move(
        struct follower *follower, const struct model_node *node, const struct model_node *parent, bool is_equal)
{
        const struct scn_op *op = follower->op;
        const struct model_state *state = &follower->state;

        if (node->parent == 0)
                follow_must(follower, SCN_E_ROOT);
        if (model_is_under(state, parent->id, node->id)) {
                follow_must(follower, SCN_E_CYCLE);
                follower->node = node->uid;
                follower->other_parent = parent->uid;
                return;
        }
        if (model_depth(state, parent) + 1 + model_height(state, node) > follower->model->limits.depth_max)
                follow_must(follower, SCN_E_DEPTH);
        follow_judge_strict(follower, node, SCN_FIELD_PLACE, !is_equal);
        if (!op->keep_world)
                return;
        struct model_verdict verdict = model_judge_keep_world(state, node, parent, op->is_lossy);
        follower->verdict.may |= verdict.must | verdict.may;
        if (parent->id != node->parent)
                follower->verdict.must |= verdict.must;
        for (enum scn_field field = SCN_FIELD_TRANSLATION; field <= SCN_FIELD_SCALE; field++)
                follow_judge_strict(follower, node, field, false);
}

/* What a move that keeps the world did to the transform; the fields that changed. */
static uint32_t follow_keep_world(struct follower *follower, const struct scn_change *change, struct model_node *moved,
        const struct model_node *node, const struct model_node *parent)
{
        if (!follower->op->keep_world || parent->id == node->parent)
                return 0;
        moved->trs = kept_world(follower, change, node, parent);
        uint32_t fields = follow_trs_difference(&moved->trs, &node->trs);
        struct model_verdict verdict = model_judge_keep_world(&follower->state, node, parent, false);
        if (change != NULL) {
                bool is_lossy = (change->flags & SCN_CHANGE_LOSSY) != 0;
                MODEL_CHECK(
                        follower->model, is_lossy || (verdict.must & follow_bit(SCN_E_SHEAR)) == 0, "shear not told");
                MODEL_CHECK(follower->model, !is_lossy || ((verdict.must | verdict.may) & follow_bit(SCN_E_SHEAR)) != 0,
                        "told of shear where there is none");
        }
        /* Now that the fields are known, `strict` can be judged. */
        follower->verdict = (struct model_verdict){0};
        for (enum scn_field field = SCN_FIELD_TRANSLATION; field <= SCN_FIELD_SCALE; field++)
                if (change != NULL && (fields >> field & 1u) != 0)
                        follow_judge_strict(follower, node, field, true);
        MODEL_CHECK(follower->model, follower->verdict.must == 0, "keep=world wrote a field in conflict");
        return fields;
}

bool follow_move(struct follower *follower)
{
        struct model_state *state = &follower->state;
        bool went_last = false, is_equal = false;
        scn_node_id previous = 0;
        const struct model_node *node = follow_resolve(follower, &follower->op->node);
        const struct model_node *parent = follow_resolve(follower, &follower->op->parent);

        if (node != NULL && parent != NULL) {
                previous = previous_wanted(follower, parent->id, node, &went_last);
                is_equal = node->parent == parent->id && previous == model_previous(state, node);
                judge_move(follower, node, parent, is_equal);
        } else if (node != NULL && node->parent == 0) {
                follow_must(follower, SCN_E_ROOT);
        }
        if (!follow_is_accepted(follower))
                return false;
        if (is_equal)
                return true;

        const struct scn_change *change = follow_take_record(follower, node->id, node->uid);
        struct model_node before = *node, moved = *node;
        struct scn_place place_before = place_of(state, node);
        uint32_t trs_fields = follow_keep_world(follower, change, &moved, node, parent);
        bool is_other_parent = parent->id != node->parent;
        scn_node_id old_parent = node->parent;
        moved.parent = parent->id;
        moved.stamps[SCN_FIELD_PLACE] = follow_stamp(follower);
        if (is_other_parent) {
                moved.parent_revision = follower->revision;
                moved.parent_client = follower->edit->client;
                lost(follower, old_parent);
        }
        take_out(state, before.id);
        insert(state, moved, previous);
        struct model_node *placed = model_find(state, before.id);
        follow_changed(follower, placed, SCN_CHANNEL_STRUCTURE);
        if (is_other_parent)
                follow_mark_upwards(follower, before.id, SCN_MASK_ALL, false);
        follow_stamp_trs(follower, placed, trs_fields);
        if (change != NULL)
                check_move_record(follower, change, &before, place_before, trs_fields, went_last);
        return true;
}
