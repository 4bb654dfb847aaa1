/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What a view is to be sent, and what its holder must then have. */

#include "tests/lib/model.h"

#include "protocol/base/uid.h"

#include <inttypes.h>
#include <string.h>

/* One delta against two states. */
struct view {
        struct model *model;
        const struct scn_delta *delta;
        const struct model_state *now;
        const struct model_state *then;   /* NULL: the receiver holds nothing */
        const struct model_node *top_now; /* NULL: there is none */
        const struct model_node *top_then;
        scn_revision from;
        uint32_t mask;
};

static bool is_in_now(const struct view *view, scn_node_id id)
{
        return view->top_now != NULL && model_is_under(view->now, id, view->top_now->id);
}

static bool is_in_then(const struct view *view, scn_node_id id)
{
        return view->top_then != NULL && model_is_under(view->then, id, view->top_then->id);
}

static bool is_fresh_enough(const struct view *view, bool is_new, scn_revision revision)
{
        return is_new || revision > view->from;
}

static uint32_t fields_expected(const struct view *view, const struct model_node *node, bool is_new)
{
        uint32_t fields = 0;

        if (node != view->top_now && is_fresh_enough(view, is_new, node->stamps[SCN_FIELD_PLACE].revision))
                fields |= SCN_FIELDS_PLACE;
        if ((view->mask & SCN_MASK_NAME) != 0 && is_fresh_enough(view, is_new, node->stamps[SCN_FIELD_NAME].revision))
                fields |= SCN_FIELDS_NAME;
        for (uint32_t field = SCN_FIELD_TRANSLATION; field <= SCN_FIELD_SCALE; field++)
                if ((view->mask & SCN_MASK_TRANSFORM) != 0 &&
                        is_fresh_enough(view, is_new, node->stamps[field].revision))
                        fields |= 1u << field;
        for (uint32_t i = 0; i < node->properties_count && (view->mask & SCN_MASK_PROPERTIES) != 0; i++) {
                const struct model_property *property = &node->properties[i];
                if (is_new ? property->value.data != NULL : property->stamp.revision > view->from)
                        fields |= SCN_FIELDS_PROPERTY;
        }
        return fields;
}

static const struct scn_delta_node *find_told(const struct view *view, scn_node_id id)
{
        const struct scn_delta_node *found = NULL;

        for (size_t i = 0; i < view->delta->nodes_count; i++) {
                if (view->delta->nodes[i].id != id)
                        continue;
                MODEL_CHECK(view->model, found == NULL, "node %" PRIu32 " is told twice", id);
                found = &view->delta->nodes[i];
        }
        return found;
}

static void check_told_properties(
        const struct view *view, const struct scn_delta_node *told, const struct model_node *node)
{
        uint32_t expected_count = 0;

        for (uint32_t i = 0; i < node->properties_count; i++) {
                const struct model_property *expected = &node->properties[i];
                if (told->is_new ? expected->value.data == NULL : expected->stamp.revision <= view->from)
                        continue;
                expected_count++;
                uint32_t found_count = 0;
                for (uint32_t j = 0; j < told->properties_count; j++) {
                        const struct scn_property *property = &view->delta->properties[told->properties_first + j];
                        if (!model_slices_equal(property->key, expected->key))
                                continue;
                        found_count++;
                        MODEL_CHECK(view->model, model_slices_equal(property->value, expected->value),
                                "node %" PRIu32 ": another value is told", node->id);
                }
                MODEL_CHECK(view->model, found_count == 1, "node %" PRIu32 ": a property is told %" PRIu32 " times",
                        node->id, found_count);
        }
        MODEL_CHECK(view->model, told->properties_count == expected_count,
                "node %" PRIu32 ": %" PRIu32 " properties are told instead of %" PRIu32, node->id,
                told->properties_count, expected_count);
}

static void check_told(const struct view *view, const struct scn_delta_node *told, const struct model_node *node,
        bool is_new, uint32_t fields)
{
        struct model *model = view->model;
        /* A new node without a name need not be told so. */
        uint32_t open = is_new && node->name.data == NULL ? SCN_FIELDS_NAME : 0u;

        MODEL_CHECK(model, told->is_new == is_new, "node %" PRIu32 ": told as %s", node->id,
                told->is_new ? "new" : "known");
        MODEL_CHECK(model, (told->fields & ~open) == (fields & ~open),
                "node %" PRIu32 ": fields %" PRIx32 " are told instead of %" PRIx32, node->id, told->fields, fields);
        MODEL_CHECK(model, scn_uid_equal(told->uid, node->uid), "node %" PRIu32 ": another uid is told", node->id);
        if ((fields & SCN_FIELDS_PLACE) != 0) {
                MODEL_CHECK(model, told->parent == node->parent, "node %" PRIu32 ": another parent is told", node->id);
                MODEL_CHECK(model, told->previous == model_previous(view->now, node),
                        "node %" PRIu32 ": another previous sibling is told", node->id);
        }
        if ((fields & SCN_FIELDS_NAME) != 0 && (told->fields & SCN_FIELDS_NAME) != 0)
                MODEL_CHECK(model, model_slices_equal(told->name, node->name), "node %" PRIu32 ": another name is told",
                        node->id);
        if ((fields & SCN_FIELDS_TRANSLATION) != 0)
                MODEL_CHECK(
                        model, model_floats_equal(told->trs.t, node->trs.t, 3), "translation of %" PRIu32, node->id);
        if ((fields & SCN_FIELDS_ROTATION) != 0)
                MODEL_CHECK(model, model_floats_equal(told->trs.r, node->trs.r, 4), "rotation of %" PRIu32, node->id);
        if ((fields & SCN_FIELDS_SCALE) != 0)
                MODEL_CHECK(model, model_floats_equal(told->trs.s, node->trs.s, 3), "scale of %" PRIu32, node->id);
        if ((fields & SCN_FIELDS_PROPERTY) != 0)
                check_told_properties(view, told, node);
}

static void check_nodes(const struct view *view)
{
        uint32_t expected_count = 0;

        for (uint32_t i = 0; i < view->now->nodes_count; i++) {
                const struct model_node *node = &view->now->nodes[i];
                if (!is_in_now(view, node->id))
                        continue;
                bool is_new = !is_in_then(view, node->id);
                uint32_t fields = fields_expected(view, node, is_new);
                if (fields == 0 && !is_new)
                        continue;
                expected_count++;
                const struct scn_delta_node *told = find_told(view, node->id);
                MODEL_CHECK(view->model, told != NULL,
                        "node %" PRIu32 " is not told: fields %" PRIx32 " since %" PRIu64, node->id, fields,
                        view->from);
                check_told(view, told, node, is_new, fields);
        }
        MODEL_CHECK(view->model, view->delta->nodes_count == expected_count, "%zu nodes are told instead of %" PRIu32,
                view->delta->nodes_count, expected_count);
}

static bool has_place(const struct view *view, const struct scn_delta_node *told)
{
        return (told->fields & SCN_FIELDS_PLACE) != 0 ||
                (told->is_new && view->top_now != NULL && told->id == view->top_now->id);
}

/* Placed ones first, parents before children, children left to right; then the others by id. */
static void check_order(const struct view *view)
{
        const struct scn_delta *delta = view->delta;
        bool is_placing = true;

        for (size_t i = 0; i < delta->nodes_count; i++) {
                const struct scn_delta_node *told = &delta->nodes[i];
                if (!has_place(view, told)) {
                        MODEL_CHECK(view->model, is_placing || told->id > delta->nodes[i - 1].id, "told out of order");
                        is_placing = false;
                        continue;
                }
                MODEL_CHECK(view->model, is_placing, "a place is told after a field");
                const struct model_node *node = model_find(view->now, told->id);
                for (size_t j = i + 1; j < delta->nodes_count; j++) {
                        const struct scn_delta_node *later = &delta->nodes[j];
                        const struct model_node *other = model_find(view->now, later->id);
                        if (!has_place(view, later))
                                continue;
                        MODEL_CHECK(view->model, node->parent != other->id, "child %" PRIu32 " before its parent",
                                node->id);
                        MODEL_CHECK(view->model, node->parent != other->parent || node < other,
                                "sibling %" PRIu32 " before one to its left", node->id);
                }
        }
}

static bool is_named(const scn_node_id *ids, size_t count, scn_node_id id)
{
        for (size_t i = 0; i < count; i++)
                if (ids[i] == id)
                        return true;
        return false;
}

static void check_gone(const struct view *view)
{
        const struct scn_delta *delta = view->delta;
        uint32_t removed_count = 0, left_count = 0;

        for (uint32_t i = 0; view->then != NULL && i < view->then->nodes_count; i++) {
                const struct model_node *node = &view->then->nodes[i];
                /* What went with its parent is not named. */
                if (!is_in_then(view, node->id) || is_in_now(view, node->id) ||
                        (node != view->top_then && !is_in_now(view, node->parent)))
                        continue;
                bool is_alive = model_find(view->now, node->id) != NULL;
                removed_count += !is_alive;
                left_count += is_alive;
                MODEL_CHECK(view->model, is_named(delta->removed, delta->removed_count, node->id) == !is_alive,
                        "node %" PRIu32 " is over, but not told so, or the reverse", node->id);
                MODEL_CHECK(view->model, is_named(delta->left, delta->left_count, node->id) == is_alive,
                        "node %" PRIu32 " left, but is not told so, or the reverse", node->id);
        }
        MODEL_CHECK(view->model, delta->removed_count == removed_count, "%zu nodes removed instead of %" PRIu32,
                delta->removed_count, removed_count);
        MODEL_CHECK(view->model, delta->left_count == left_count, "%zu nodes left instead of %" PRIu32,
                delta->left_count, left_count);
}

void model_check_delta(struct model *model, const struct scn_delta_request *request, const struct scn_delta *delta)
{
        struct view view = {
                .model = model,
                .delta = delta,
                .now = model_now(model),
                .then = request->is_fresh ? NULL : model_at(model, request->from),
                .from = request->is_fresh ? 0 : request->from,
                .mask = request->mask,
        };
        bool is_whole = request->is_fresh;

        view.top_now = model_find_uid(view.now, request->root);
        if (view.then != NULL)
                view.top_then = model_find_uid(view.then, request->root);
        /* A root in its first or next life fills the view whole. */
        if (view.top_now != NULL && (view.top_then == NULL || view.top_then->id != view.top_now->id)) {
                is_whole = true;
                view.then = NULL;
                view.top_then = NULL;
        }
        MODEL_CHECK(model, delta->to == view.now->revision, "the delta ends at %" PRIu64, delta->to);
        MODEL_CHECK(model, scn_uid_equal(delta->root_uid, request->root), "the delta's root");
        MODEL_CHECK(model, delta->root == (view.top_now != NULL ? view.top_now->id : 0), "the delta's root is %" PRIu32,
                delta->root);
        MODEL_CHECK(model, ((delta->mask ^ request->mask) & 14) == 0 && (delta->mask & SCN_MASK_STRUCTURE) != 0,
                "the delta's mask is %" PRIx32, delta->mask);
        if (view.top_now != NULL || !request->is_fresh)
                MODEL_CHECK(model, delta->is_whole == is_whole, "the delta is %s", is_whole ? "not whole" : "whole");
        if (!delta->is_whole && !request->is_fresh)
                MODEL_CHECK(model, delta->from == request->from, "the delta begins at %" PRIu64, delta->from);
        check_nodes(&view);
        check_order(&view);
        check_gone(&view);
        bool is_empty =
                !delta->is_whole && delta->nodes_count == 0 && delta->removed_count == 0 && delta->left_count == 0;
        MODEL_CHECK(model, scn_delta_is_empty(delta) == is_empty, "the delta is said to be %s",
                is_empty ? "full" : "empty");
}

static void compare_view_node(struct model *model, const struct scn_document *replica, const struct model_node *node,
        bool is_top, uint32_t mask)
{
        const struct model_state *state = model_now(model);
        const struct scn_trs identity = SCN_TRS_IDENTITY;
        const struct scn_trs *trs = (mask & SCN_MASK_TRANSFORM) != 0 ? &node->trs : &identity;
        struct scn_slice name = (mask & SCN_MASK_NAME) != 0 ? node->name : (struct scn_slice){0};
        uint32_t properties_count = (mask & SCN_MASK_PROPERTIES) != 0 ? model_properties_count(node) : 0;

        MODEL_CHECK(model, scn_document_has(replica, node->id), "replica: node %" PRIu32 " is missing", node->id);
        struct scn_node_view view = scn_document_node(replica, node->id);
        MODEL_CHECK(model, scn_uid_equal(view.uid, node->uid), "replica: uid of %" PRIu32, node->id);
        MODEL_CHECK(
                model, scn_document_find_uid(replica, node->uid) == node->id, "replica: %" PRIu32 " by uid", node->id);
        MODEL_CHECK(model, view.parent == (is_top ? 0 : node->parent), "replica: parent of %" PRIu32, node->id);
        MODEL_CHECK(model, view.previous == (is_top ? 0 : model_previous(state, node)),
                "replica: previous sibling of %" PRIu32, node->id);
        MODEL_CHECK(model, view.next == (is_top ? 0 : model_next(state, node)), "replica: next sibling of %" PRIu32,
                node->id);
        MODEL_CHECK(model, view.children_count == model_children_count(state, node->id),
                "replica: children of %" PRIu32, node->id);
        MODEL_CHECK(model, model_slices_equal(view.name, name), "replica: name of %" PRIu32, node->id);
        MODEL_CHECK(model, memcmp(&view.trs, trs, sizeof *trs) == 0, "replica: transform of %" PRIu32, node->id);
        MODEL_CHECK(model, view.properties_count == properties_count, "replica: properties of %" PRIu32, node->id);
        for (uint32_t i = 0; i < node->properties_count && properties_count != 0; i++) {
                struct scn_slice value = scn_document_get(replica, node->id, node->properties[i].key);
                MODEL_CHECK(model, model_slices_equal(value, node->properties[i].value),
                        "replica: property of %" PRIu32, node->id);
        }
}

void model_compare_view(struct model *model, struct scn_document *replica, struct scn_uid root, uint32_t mask)
{
        const struct model_state *state = model_now(model);
        const struct model_node *top = model_find_uid(state, root);
        uint32_t count = 0;

        MODEL_CHECK(model, scn_document_revision(replica) == state->revision, "replica: revision %" PRIu64,
                scn_document_revision(replica));
        MODEL_CHECK(model, scn_document_root(replica) == (top != NULL ? top->id : 0), "replica: root");
        for (uint32_t i = 0; top != NULL && i < state->nodes_count; i++) {
                const struct model_node *node = &state->nodes[i];
                if (!model_is_under(state, node->id, top->id))
                        continue;
                count++;
                compare_view_node(model, replica, node, node == top, mask);
        }
        MODEL_CHECK(model, scn_document_nodes_count(replica) == count, "replica: %" PRIu32 " nodes instead of %" PRIu32,
                scn_document_nodes_count(replica), count);
}
