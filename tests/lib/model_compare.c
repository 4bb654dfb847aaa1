/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The model's present against all that a document shows. */

#include "tests/lib/model.h"

#include "protocol/base/alloc.h"
#include "protocol/base/uid.h"
#include "protocol/scene/digest.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static bool stamps_equal(struct scn_stamp_view a, struct scn_stamp_view b)
{
        return a.revision == b.revision && a.writer == b.writer && scn_uid_equal(a.client, b.client);
}

static scn_node_id first_child(const struct model_state *state, scn_node_id parent)
{
        for (uint32_t i = 0; i < state->nodes_count; i++)
                if (state->nodes[i].parent == parent)
                        return state->nodes[i].id;
        return 0;
}

static void compare_properties(struct model *model, const struct scn_document *document, const struct model_node *node,
        const struct scn_node_view *view)
{
        scn_revision horizon = scn_document_horizon(document);
        uint32_t index = 0;

        MODEL_CHECK(model, view->properties_count == model_properties_count(node),
                "node %" PRIu32 ": %" PRIu32 " properties", node->id, view->properties_count);
        for (uint32_t i = 0; i < node->properties_count; i++) {
                const struct model_property *expected = &node->properties[i];
                struct scn_stamp_view stamp = {0};
                struct scn_property actual = {0};
                if (index < view->property_fields_count)
                        actual = scn_document_property(document, node->id, index, &stamp);
                bool is_same_key = model_slices_equal(actual.key, expected->key);
                /* Removed keys may be forgotten once the horizon has passed them. */
                if (!is_same_key && expected->value.data == NULL && expected->stamp.revision <= horizon)
                        continue;
                MODEL_CHECK(
                        model, is_same_key, "node %" PRIu32 ": property %" PRIu32 " has another key", node->id, index);
                MODEL_CHECK(model, model_slices_equal(actual.value, expected->value),
                        "node %" PRIu32 ": property's value", node->id);
                MODEL_CHECK(
                        model, stamps_equal(stamp, expected->stamp), "node %" PRIu32 ": property's stamp", node->id);
                struct scn_slice found = scn_document_get(document, node->id, expected->key);
                MODEL_CHECK(model, model_slices_equal(found, expected->value), "node %" PRIu32 ": get", node->id);
                index++;
        }
        MODEL_CHECK(model, index == view->property_fields_count, "node %" PRIu32 ": unknown properties", node->id);
}

void model_compare_forgotten(const struct model *model, const struct scn_document *document)
{
        const struct model_state *state = model_now(model);

        for (uint32_t i = 0; i < state->nodes_count; i++) {
                struct scn_node_view view = scn_document_node(document, state->nodes[i].id);
                for (uint32_t p = 0; p < view.property_fields_count; p++) {
                        struct scn_stamp_view stamp;
                        struct scn_property property = scn_document_property(document, view.id, p, &stamp);
                        MODEL_CHECK(model, property.value.data != NULL || stamp.revision > state->horizon,
                                "node %" PRIu32 " still has a removed key that the horizon has passed", view.id);
                }
        }
}

static void compare_node(struct model *model, const struct scn_document *document, const struct model_node *node)
{
        const struct model_state *state = model_now(model);

        MODEL_CHECK(model, scn_document_has(document, node->id), "node %" PRIu32 " is not there", node->id);
        struct scn_node_view view = scn_document_node(document, node->id);
        MODEL_CHECK(model, view.id == node->id, "node %" PRIu32 ": id", node->id);
        MODEL_CHECK(model, scn_uid_equal(view.uid, node->uid), "node %" PRIu32 ": uid", node->id);
        MODEL_CHECK(model, view.parent == node->parent, "node %" PRIu32 ": parent %" PRIu32 " instead of %" PRIu32,
                node->id, view.parent, node->parent);
        MODEL_CHECK(model, view.previous == model_previous(state, node),
                "node %" PRIu32 ": previous sibling %" PRIu32 " instead of %" PRIu32, node->id, view.previous,
                model_previous(state, node));
        MODEL_CHECK(model, view.next == model_next(state, node), "node %" PRIu32 ": next sibling", node->id);
        MODEL_CHECK(model, view.first_child == first_child(state, node->id), "node %" PRIu32 ": first child", node->id);
        MODEL_CHECK(model, view.children_count == model_children_count(state, node->id), "node %" PRIu32 ": children",
                node->id);
        MODEL_CHECK(model, view.birth == node->birth, "node %" PRIu32 ": birth", node->id);
        MODEL_CHECK(model, model_slices_equal(view.name, node->name), "node %" PRIu32 ": name", node->id);
        MODEL_CHECK(
                model, memcmp(&view.trs, &node->trs, sizeof view.trs) == 0, "node %" PRIu32 ": transform", node->id);
        for (enum scn_field field = SCN_FIELD_PLACE; field < SCN_FIELD_COUNT; field++) {
                struct scn_stamp_view stamp = scn_document_stamp(document, node->id, field);
                MODEL_CHECK(model, stamps_equal(stamp, node->stamps[field]),
                        "node %" PRIu32 ": stamp of field %d: %" PRIu64 " written by %" PRIu64 " instead of %" PRIu64
                        " by %" PRIu64,
                        node->id, (int)field, stamp.revision, stamp.writer, node->stamps[field].revision,
                        node->stamps[field].writer);
        }
        compare_properties(model, document, node, &view);
        MODEL_CHECK(
                model, scn_document_find_uid(document, node->uid) == node->id, "node %" PRIu32 ": by uid", node->id);
        MODEL_CHECK(model, scn_document_depth(document, node->id) == model_depth(state, node),
                "node %" PRIu32 ": depth", node->id);
}

/* Each node once, none before its parent, siblings in their order. */
static void compare_walk(struct model *model, const struct scn_document *document)
{
        const struct model_state *state = model_now(model);
        uint32_t count = 0;
        scn_node_id *seen = scn_alloc(state->nodes_count * sizeof *seen);

        cr_assert_not_null(seen);
        scn_node_id root = scn_document_root(document);
        for (scn_node_id id = root; id != 0; id = scn_document_walk(document, root, id)) {
                MODEL_CHECK(model, count < state->nodes_count, "the walk does not end");
                const struct model_node *node = model_find(state, id);
                MODEL_CHECK(model, node != NULL, "the walk meets node %" PRIu32, id);
                scn_node_id previous = model_previous(state, node);
                bool is_parent_seen = id == root, is_previous_seen = previous == 0;
                for (uint32_t i = 0; i < count; i++) {
                        is_parent_seen |= seen[i] == node->parent;
                        is_previous_seen |= seen[i] == previous;
                        MODEL_CHECK(model, seen[i] != id, "the walk meets node %" PRIu32 " twice", id);
                }
                MODEL_CHECK(model, is_parent_seen && is_previous_seen, "the walk meets node %" PRIu32 " too early", id);
                seen[count++] = id;
        }
        MODEL_CHECK(model, count == state->nodes_count, "the walk misses nodes");
        scn_free(seen);
}

static void compare_positions(struct model *model, struct scn_document *document)
{
        const struct model_state *state = model_now(model);

        for (uint32_t p = 0; p < state->nodes_count; p++) {
                scn_node_id parent = state->nodes[p].id;
                uint32_t index = 0;
                for (uint32_t i = 0; i < state->nodes_count; i++) {
                        if (state->nodes[i].parent != parent)
                                continue;
                        MODEL_CHECK(model, scn_document_child(document, parent, index) == state->nodes[i].id,
                                "child %" PRIu32 " of %" PRIu32, index, parent);
                        MODEL_CHECK(model, scn_document_index(document, state->nodes[i].id) == index,
                                "index of %" PRIu32, state->nodes[i].id);
                        index++;
                }
                MODEL_CHECK(model, scn_document_child(document, parent, index) == 0, "a child beyond the last");
        }
}

void model_compare_nodes(struct model *model, struct scn_document *document)
{
        const struct model_state *state = model_now(model);

        MODEL_CHECK(model, scn_document_revision(document) == state->revision, "revision %" PRIu64,
                scn_document_revision(document));
        MODEL_CHECK(model, scn_document_next_id(document) == state->next_id, "next id %" PRIu32,
                scn_document_next_id(document));
        MODEL_CHECK(model, scn_document_nodes_count(document) == state->nodes_count,
                "%" PRIu32 " nodes instead of %" PRIu32, scn_document_nodes_count(document), state->nodes_count);
        for (uint32_t i = 0; i < state->nodes_count; i++)
                compare_node(model, document, &state->nodes[i]);
        for (uint32_t i = 0; i < state->ended_count; i++)
                MODEL_CHECK(model, !scn_document_has(document, state->ended[i].id), "node %" PRIu32 " still lives",
                        state->ended[i].id);
        compare_walk(model, document);
        compare_positions(model, document);
}

void model_compare_find(struct model *model, const struct scn_document *document, const struct scn_node_ref *ref)
{
        uint64_t errors;
        const struct model_node *node = model_resolve(model, ref, &errors);
        scn_node_id id = 0;
        enum scn_error error = scn_document_find(document, ref, &id);

        if (node != NULL)
                MODEL_CHECK(model, error == SCN_OK && id == node->id,
                        "find gives %" PRIu32 " instead of %" PRIu32 ": %s", id, node->id, scn_error_code(error));
        else
                MODEL_CHECK(model, (errors >> -(int)error & 1u) != 0, "find of kind %d: %s", (int)ref->kind,
                        scn_error_code(error));
}

/* Digests. */

/* Of one node; without its place if it is the top of a view. */
static void add_node_digests(
        const struct model_state *state, const struct model_node *node, bool is_top, struct scn_digests *sums)
{
        const struct scn_uid none = {{0}};
        struct scn_uid parent = is_top ? none : model_uid_of(state, node->parent);
        struct scn_uid previous = is_top ? none : model_uid_of(state, model_previous(state, node));

        scn_digest_add(&sums->channels[SCN_CHANNEL_STRUCTURE], scn_digest_place(node->uid, parent, previous));
        if (node->name.data != NULL)
                scn_digest_add(&sums->channels[SCN_CHANNEL_NAME], scn_digest_name(node->uid, node->name));
        struct scn_digest *transform = &sums->channels[SCN_CHANNEL_TRANSFORM];
        scn_digest_add(transform, scn_digest_translation(node->uid, node->trs.t));
        scn_digest_add(transform, scn_digest_rotation(node->uid, node->trs.r));
        scn_digest_add(transform, scn_digest_scale(node->uid, node->trs.s));
        for (uint32_t i = 0; i < node->properties_count; i++)
                if (node->properties[i].value.data != NULL)
                        scn_digest_add(&sums->channels[SCN_CHANNEL_PROPERTIES],
                                scn_digest_property(node->uid, node->properties[i].key, node->properties[i].value));
}

static void compare_digests_of(struct model *model, const struct scn_digests *actual, scn_node_id top, uint32_t mask)
{
        const struct model_state *state = model_now(model);
        struct scn_digests expected = {0};

        for (uint32_t i = 0; i < state->nodes_count; i++)
                if (model_is_under(state, state->nodes[i].id, top))
                        add_node_digests(state, &state->nodes[i], state->nodes[i].id == top, &expected);
        for (uint32_t channel = 0; channel < SCN_CHANNEL_COUNT; channel++) {
                if ((mask >> channel & 1u) == 0)
                        expected.channels[channel] = (struct scn_digest){0};
                MODEL_CHECK(model,
                        actual->channels[channel].low == expected.channels[channel].low &&
                                actual->channels[channel].high == expected.channels[channel].high,
                        "digest of channel %" PRIu32 " under %" PRIu32, channel, top);
        }
}

void model_compare_digests(struct model *model, const struct scn_document *document)
{
        const struct model_state *state = model_now(model);
        struct scn_digests whole = scn_document_digests(document);

        compare_digests_of(model, &whole, scn_document_root(document), SCN_MASK_ALL);
        for (uint32_t i = 0; i < state->nodes_count; i += 1 + state->nodes_count / 3) {
                uint32_t mask = (uint32_t)(state->changes_count + i) % 16;
                struct scn_digests part = scn_document_subtree_digests(document, state->nodes[i].id, mask);
                compare_digests_of(model, &part, state->nodes[i].id, mask);
        }
}

/* Worlds. */

static void compare_world(struct model *model, const struct scn_document *document, const struct model_node *node)
{
        const struct model_state *state = model_now(model);
        struct model_world expected = model_world(state, node);
        struct scn_affine actual;
        double largest = 0.0;
        double rounding = 1e-6 * (2 + model_depth(state, node));

        for (uint32_t i = 0; i < 12; i++)
                largest = fmax(largest, expected.magnitude.m[i]);
        enum scn_error error = scn_document_world(document, node->id, &actual);
        if (largest > 1e37 && error == SCN_E_OVERFLOW)
                return;
        MODEL_CHECK(model, error == SCN_OK, "world of %" PRIu32 ": %s", node->id, scn_error_code(error));
        for (uint32_t i = 0; i < 12; i++)
                MODEL_CHECK(model,
                        fabs((double)actual.m[i] - expected.matrix.m[i]) <= rounding * expected.magnitude.m[i] + 1e-36,
                        "world of %" PRIu32 ", entry %" PRIu32 ": %.9g instead of %.9g", node->id, i,
                        (double)actual.m[i], expected.matrix.m[i]);
}

/* Worlds as they are told now; zeros where they overflow. */
static void collect_worlds(
        const struct model_state *state, const struct scn_document *document, struct scn_affine *worlds)
{
        for (uint32_t i = 0; i < state->nodes_count; i++) {
                worlds[i] = (struct scn_affine){{0}};
                if (scn_document_world(document, state->nodes[i].id, &worlds[i]) != SCN_OK)
                        worlds[i] = (struct scn_affine){{0}};
        }
}

/* Right by the model; the same bits computed on the side, by an update of what is stale, and by a full one. */
void model_compare_worlds(struct model *model, struct scn_document *document)
{
        const struct model_state *state = model_now(model);
        size_t size = state->nodes_count * sizeof(struct scn_affine);
        struct scn_affine *aside = scn_alloc(size), *updated = scn_alloc(size), *full = scn_alloc(size);

        cr_assert(aside != NULL && updated != NULL && full != NULL);
        for (uint32_t i = 0; i < state->nodes_count; i++)
                compare_world(model, document, &state->nodes[i]);
        for (uint32_t i = 0; i < state->nodes_count; i += 1 + state->nodes_count / 8)
                model_compare_relative(model, document, &state->nodes[i],
                        &state->nodes[(i * 7 + state->changes_count) % state->nodes_count]);
        collect_worlds(state, document, aside);
        scn_document_update_worlds(document);
        for (uint32_t i = 0; i < state->nodes_count; i++)
                MODEL_CHECK(model, !scn_document_world_is_stale(document, state->nodes[i].id),
                        "world of %" PRIu32 " is stale after an update", state->nodes[i].id);
        collect_worlds(state, document, updated);
        scn_hierarchy_update_all(scn_document_hierarchy(document));
        collect_worlds(state, document, full);
        MODEL_CHECK(model, memcmp(aside, updated, size) == 0, "worlds computed aside differ from updated ones");
        MODEL_CHECK(model, memcmp(updated, full, size) == 0, "updated worlds differ from recomputed ones");
        scn_free(aside);
        scn_free(updated);
        scn_free(full);
}

/* The feed. */

static scn_revision last_change(const struct model_node *node, uint32_t mask, scn_revision horizon)
{
        static const uint32_t channels[SCN_FIELD_COUNT] = {
                SCN_MASK_STRUCTURE, SCN_MASK_NAME, SCN_MASK_TRANSFORM, SCN_MASK_TRANSFORM, SCN_MASK_TRANSFORM};
        scn_revision last = 0;

        for (uint32_t field = 0; field < SCN_FIELD_COUNT; field++)
                if ((mask & channels[field]) != 0 && node->stamps[field].revision > last)
                        last = node->stamps[field].revision;
        for (uint32_t i = 0; i < node->properties_count && (mask & SCN_MASK_PROPERTIES) != 0; i++) {
                const struct model_property *property = &node->properties[i];
                bool may_be_forgotten = property->value.data == NULL && property->stamp.revision <= horizon;
                if (!may_be_forgotten && property->stamp.revision > last)
                        last = property->stamp.revision;
        }
        return last;
}

static bool is_in(const struct scn_node_list *list, scn_node_id id)
{
        for (size_t i = 0; i < list->count; i++)
                if (list->ids[i] == id)
                        return true;
        return false;
}

static void compare_changed(
        struct model *model, const struct scn_document *document, scn_revision since, struct scn_node_list *list)
{
        const struct model_state *state = model_now(model);
        uint32_t expected_count = 0;
        scn_revision last = 0;

        MODEL_CHECK(model, scn_document_list_changed(document, since, list) == SCN_OK, "list since %" PRIu64, since);
        for (uint32_t i = 0; i < state->nodes_count; i++) {
                if (last_change(&state->nodes[i], SCN_MASK_ALL, state->horizon) <= since)
                        continue;
                expected_count++;
                MODEL_CHECK(model, is_in(list, state->nodes[i].id),
                        "node %" PRIu32 " is not listed as changed since %" PRIu64, state->nodes[i].id, since);
        }
        MODEL_CHECK(model, list->count == expected_count,
                "%zu nodes listed as changed since %" PRIu64 " instead of %" PRIu32, list->count, since,
                expected_count);
        for (size_t i = 0; i < list->count; i++) {
                const struct model_node *node = model_find(state, list->ids[i]);
                scn_revision changed = last_change(node, SCN_MASK_ALL, state->horizon);
                MODEL_CHECK(model, changed >= last, "node %" PRIu32 " is listed too late", node->id);
                last = changed;
        }
}

/* Whether a child it had then is no longer its child. */
static bool lost_child_since(const struct model_state *state, const struct model_state *then, scn_node_id parent)
{
        for (uint32_t i = 0; i < then->nodes_count; i++) {
                if (then->nodes[i].parent != parent)
                        continue;
                const struct model_node *now = model_find(state, then->nodes[i].id);
                if (now == NULL || now->parent != parent)
                        return true;
        }
        return false;
}

/* What the list must and may hold: flags by the index of the node, passed on to all ancestors. */
struct dirt {
        bool must;
        bool may;
};

static struct dirt *collect_dirt(struct model *model, scn_revision since)
{
        const struct model_state *state = model_now(model), *then = model_at(model, since);
        struct dirt *dirt = scn_alloc_zero(state->nodes_count, sizeof *dirt);

        cr_assert_not_null(dirt);
        for (uint32_t i = 0; i < state->nodes_count; i++) {
                const struct model_node *node = &state->nodes[i];
                bool must = last_change(node, SCN_MASK_ALL, state->horizon) > since ||
                        (node->child_lost > since && lost_child_since(state, then, node->id));
                bool may = node->child_lost > since;
                for (; node != NULL && (must || may); node = model_find(state, node->parent)) {
                        dirt[node - state->nodes].must |= must;
                        dirt[node - state->nodes].may |= may;
                }
        }
        return dirt;
}

static void compare_dirty(
        struct model *model, const struct scn_document *document, scn_revision since, struct scn_node_list *list)
{
        const struct model_state *state = model_now(model);
        struct dirt *dirt = collect_dirt(model, since);

        MODEL_CHECK(model, scn_document_list_dirty(document, since, list) == SCN_OK, "dirty since %" PRIu64, since);
        for (uint32_t i = 0; i < state->nodes_count; i++) {
                scn_node_id id = state->nodes[i].id;
                bool is_listed = is_in(list, id);
                MODEL_CHECK(
                        model, !dirt[i].must || is_listed, "node %" PRIu32 " is not dirty since %" PRIu64, id, since);
                MODEL_CHECK(model, dirt[i].must || dirt[i].may || !is_listed,
                        "node %" PRIu32 " is dirty since %" PRIu64, id, since);
        }
        for (size_t i = 0; i < list->count; i++) {
                const struct model_node *node = model_find(state, list->ids[i]);
                MODEL_CHECK(model, node != NULL, "dead node %" PRIu32 " is dirty", list->ids[i]);
                if (i == 0)
                        continue;
                uint32_t depth = model_depth(state, node);
                uint32_t depth_before = model_depth(state, model_find(state, list->ids[i - 1]));
                MODEL_CHECK(model, depth > depth_before || (depth == depth_before && list->ids[i] > list->ids[i - 1]),
                        "dirty nodes are not by depth, then by id");
        }
        scn_free(dirt);
}

/* When something that is under the node now, or has left it, last changed; by the index of the node. */
static scn_revision *collect_changes(const struct model_state *state, enum scn_channel channel)
{
        scn_revision *changes = scn_alloc_zero(state->nodes_count, sizeof *changes);

        cr_assert_not_null(changes);
        for (uint32_t i = 0; i < state->nodes_count; i++) {
                const struct model_node *node = &state->nodes[i];
                scn_revision last = last_change(node, 1u << channel, state->horizon);
                if (channel == SCN_CHANNEL_STRUCTURE && node->node_lost > last)
                        last = node->node_lost;
                for (; node != NULL && last != 0; node = model_find(state, node->parent)) {
                        scn_revision *change = &changes[node - state->nodes];
                        *change = *change < last ? last : *change;
                        /* What a node has lost, its ancestors of then have lost, and know themselves. */
                        last = last_change(&state->nodes[i], 1u << channel, state->horizon);
                }
        }
        return changes;
}

static void compare_marks(struct model *model, const struct scn_document *document, scn_revision since)
{
        const struct model_state *state = model_now(model);

        for (enum scn_channel channel = SCN_CHANNEL_STRUCTURE; channel < SCN_CHANNEL_COUNT; channel++) {
                scn_revision *changes = collect_changes(state, channel);
                for (uint32_t i = 0; i < state->nodes_count; i++) {
                        const struct model_node *top = &state->nodes[i];
                        bool is_changed = scn_document_changed_since(document, top->id, 1u << channel, since);
                        MODEL_CHECK(model, is_changed || changes[i] <= since,
                                "channel %d under %" PRIu32 " seems unchanged since %" PRIu64, (int)channel, top->id,
                                since);
                        MODEL_CHECK(model, !is_changed || top->marks[channel] > since,
                                "channel %d under %" PRIu32 " seems changed since %" PRIu64, (int)channel, top->id,
                                since);
                }
                scn_free(changes);
        }
}

void model_compare_feed(struct model *model, const struct scn_document *document, scn_revision since)
{
        /* One list for all calls, as whoever uses it is to do. */
        struct scn_node_list list = {0};

        if (since < model_now(model)->horizon) {
                MODEL_CHECK(model, scn_document_list_changed(document, since, &list) == SCN_E_BEFORE_HORIZON,
                        "list before the horizon");
                MODEL_CHECK(model, scn_document_list_dirty(document, since, &list) == SCN_E_BEFORE_HORIZON,
                        "dirty before the horizon");
        } else if (since > model_now(model)->revision) {
                MODEL_CHECK(
                        model, scn_document_list_changed(document, since, &list) == SCN_E_FUTURE, "list of the future");
                MODEL_CHECK(
                        model, scn_document_list_dirty(document, since, &list) == SCN_E_FUTURE, "dirty in the future");
        } else {
                compare_changed(model, document, since, &list);
                compare_dirty(model, document, since, &list);
                compare_changed(model, document, since, &list);
                compare_marks(model, document, since);
        }
        scn_node_list_finish(&list);
}

void model_compare(struct model *model, struct scn_document *document)
{
        const struct model_state *state = model_now(model);
        const struct scn_limits *limits = scn_document_limits(document);

        model_compare_nodes(model, document);
        model_compare_digests(model, document);
        MODEL_CHECK(model, scn_document_horizon(document) == state->horizon, "horizon %" PRIu64 " instead of %" PRIu64,
                scn_document_horizon(document), state->horizon);
        MODEL_CHECK(model, state->past_events > limits->past_min || state->horizon == 0, "the horizon moved early");
}
