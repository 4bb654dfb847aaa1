/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What a view is told: one situation each. Whether all of it fits together is for the property tests. */

#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <string.h>

/* root(1) -> U(2) -> N(4) -> two children (5, 6); root -> V(3). */
struct stage {
        struct scn_document *document;
        scn_node_id u, v, n, c, d;
};

static struct stage build_stage(void)
{
        struct stage stage = {.document = scene_create()};
        stage.u = scene_new(stage.document, 1, 2, "U");
        stage.v = scene_new(stage.document, 1, 3, "V");
        stage.n = scene_new(stage.document, stage.u, 4, "N");
        stage.c = scene_new(stage.document, stage.n, 5, "C");
        stage.d = scene_new(stage.document, stage.n, 6, "D");
        return stage;
}

SCN_TEST(delta, tells_a_fresh_view_everything_parents_first)
{
        struct stage stage = build_stage();
        struct scene_view view = scene_view_create(1, SCN_MASK_ALL);
        struct scn_delta delta = {0};
        scene_view_take(&view, stage.document, &delta);
        cr_assert(delta.is_whole);
        cr_assert_eq(delta.nodes_count, 6);
        cr_assert_eq(delta.nodes[0].id, 1);
        cr_assert_eq(delta.nodes[0].fields & SCN_FIELDS_PLACE, 0);
        cr_assert_eq(delta.nodes[3].id, stage.n);
        cr_assert_eq(delta.nodes[5].previous, stage.c);
        scn_delta_finish(&delta);
        scene_view_finish(&view);
        scn_document_destroy(stage.document);
}

SCN_TEST(delta, tells_only_the_fields_changed_of_the_channels_asked_for)
{
        struct stage stage = build_stage();
        struct scene_view view = scene_view_create(2, SCN_MASK_TRANSFORM);
        scene_view_update(&view, stage.document);
        (void)scene_do(stage.document, scene_rename(stage.c, "renamed"));
        (void)scene_do(stage.document, scene_translate(stage.d, 1, 2, 3));
        (void)scene_do(stage.document, scene_set(stage.d, "secret", scene_integer(1)));
        (void)scene_do(stage.document, scene_translate(stage.v, 1, 2, 3));
        struct scn_delta delta = {0};
        scene_view_take(&view, stage.document, &delta);
        cr_assert_eq(delta.nodes_count, 1);
        cr_assert_eq(delta.nodes[0].id, stage.d);
        cr_assert_eq(delta.nodes[0].fields, SCN_FIELDS_TRANSLATION);
        cr_assert_eq(delta.properties_count, 0);
        scene_view_take(&view, stage.document, &delta);
        cr_assert(scn_delta_is_empty(&delta));
        scn_delta_finish(&delta);
        scene_view_finish(&view);
        scn_document_destroy(stage.document);
}

/* CASES B13, whose whole kind is: nothing of what happens outside is told, and nothing inside is missed. */
SCN_TEST(delta, names_a_node_that_leaves_and_tells_it_whole_when_it_returns)
{
        struct stage stage = build_stage();
        struct scene_view all = scene_view_create(2, SCN_MASK_ALL);
        struct scene_view transforms = scene_view_create(2, SCN_MASK_TRANSFORM);
        struct scn_delta delta = {0};
        scene_view_update(&all, stage.document);
        scene_view_update(&transforms, stage.document);
        (void)scene_do(stage.document, scene_move(stage.n, stage.v));
        scene_view_take(&all, stage.document, &delta);
        cr_assert_eq(delta.left_count, 1);
        cr_assert_eq(delta.left[0], stage.n);
        cr_assert_eq(delta.nodes_count, 0);
        (void)scene_do(stage.document, scene_set(stage.n, "secret", scene_integer(9)));
        scene_view_take(&all, stage.document, &delta);
        cr_assert(scn_delta_is_empty(&delta));
        scene_view_take(&transforms, stage.document, &delta);
        cr_assert_eq(delta.left_count, 1);
        (void)scene_do(stage.document, scene_move(stage.n, stage.u));
        scene_view_take(&all, stage.document, &delta);
        cr_assert_eq(delta.nodes_count, 3);
        cr_assert(delta.nodes[0].is_new && delta.nodes[1].is_new && delta.nodes[2].is_new);
        cr_assert_eq(delta.properties_count, 1);
        scene_view_take(&transforms, stage.document, &delta);
        cr_assert_eq(delta.nodes_count, 3);
        cr_assert_eq(delta.nodes[0].fields, SCN_FIELDS_PLACE | SCN_FIELDS_TRS);
        scn_delta_finish(&delta);
        scene_view_finish(&all);
        scene_view_finish(&transforms);
        scn_document_destroy(stage.document);
}

SCN_TEST(delta, of_a_group_moved_inside_the_view_costs_one_node)
{
        struct stage stage = build_stage();
        struct scene_view view = scene_view_create(1, SCN_MASK_ALL);
        struct scn_delta delta = {0};
        scene_view_update(&view, stage.document);
        (void)scene_do(stage.document, scene_move(stage.n, stage.v));
        scene_view_take(&view, stage.document, &delta);
        cr_assert_eq(delta.nodes_count, 1);
        cr_assert_eq(delta.nodes[0].fields, SCN_FIELDS_PLACE);
        scn_delta_finish(&delta);
        scene_view_finish(&view);
        scn_document_destroy(stage.document);
}

SCN_TEST(delta, names_of_a_removed_subtree_only_its_top)
{
        struct stage stage = build_stage();
        struct scene_view view = scene_view_create(1, SCN_MASK_ALL);
        struct scn_delta delta = {0};
        scene_view_update(&view, stage.document);
        (void)scene_do(stage.document, scene_move(stage.d, stage.u));
        (void)scene_do(stage.document, scene_remove(stage.c));
        (void)scene_do(stage.document, scene_remove(stage.n));
        scene_view_take(&view, stage.document, &delta);
        cr_assert_eq(delta.removed_count, 1);
        cr_assert_eq(delta.removed[0], stage.n);
        cr_assert_eq(delta.nodes_count, 1);
        cr_assert_eq(delta.nodes[0].id, stage.d);
        scn_delta_finish(&delta);
        scene_view_finish(&view);
        scn_document_destroy(stage.document);
}

SCN_TEST(delta, says_that_the_root_of_a_view_is_gone_and_fills_the_view_when_its_uid_returns)
{
        struct stage stage = build_stage();
        struct scene_view view = scene_view_create(4, SCN_MASK_ALL);
        struct scn_delta delta = {0};
        scene_view_update(&view, stage.document);
        (void)scene_do(stage.document, scene_move(stage.n, stage.v));
        scene_view_take(&view, stage.document, &delta);
        cr_assert_eq(delta.nodes_count, 0, "the root's own place is not told");
        (void)scene_do(stage.document, scene_remove(stage.v));
        scene_view_take(&view, stage.document, &delta);
        cr_assert_eq(delta.root, 0);
        cr_assert_eq(delta.removed_count, 1);
        cr_assert_eq(delta.removed[0], stage.n);
        scene_view_take(&view, stage.document, &delta);
        cr_assert(scn_delta_is_empty(&delta));
        (void)scene_new(stage.document, stage.u, 4, "again");
        scene_view_take(&view, stage.document, &delta);
        cr_assert(delta.is_whole);
        cr_assert_eq(delta.nodes_count, 1);
        scn_delta_finish(&delta);
        scene_view_finish(&view);
        scn_document_destroy(stage.document);
}

SCN_TEST(delta, does_no_harm_when_it_is_applied_twice)
{
        struct stage stage = build_stage();
        struct scene_view view = scene_view_create(1, SCN_MASK_ALL);
        struct scn_delta delta = {0};
        scene_view_update(&view, stage.document);
        (void)scene_do(stage.document, scene_move(stage.d, stage.u));
        (void)scene_do(stage.document, scene_remove(stage.n));
        (void)scene_new(stage.document, stage.v, 70, "new");
        (void)scene_do(stage.document, scene_set(stage.u, "k", scene_integer(4)));
        scene_view_take(&view, stage.document, &delta);
        cr_assert_eq(scn_document_apply_delta(view.replica, &delta), SCN_OK);
        scene_view_check(&view, stage.document);
        scn_delta_finish(&delta);
        scene_view_finish(&view);
        scn_document_destroy(stage.document);
}

SCN_TEST(delta, lists_moved_children_left_to_right_so_that_any_older_list_comes_out_right)
{
        struct scn_document *document = scene_create();
        scn_node_id id[60];
        for (uint32_t i = 0; i < 60; i++) {
                id[i] = scene_new(document, 1, 100 + i, NULL);
        }
        struct scene_view view = scene_view_create(1, SCN_MASK_ALL);
        scene_view_update(&view, document);
        for (uint32_t i = 0; i < 60; i += 3) {
                (void)scene_do(document, scene_move_index(id[i], 1, (i * 7) % 60));
                if (i % 2 == 0) {
                        (void)scene_do(document, scene_remove(id[i + 1]));
                        (void)scene_do(document, scene_add(1, 500 + i, NULL));
                }
        }
        scene_view_update(&view, document);
        scene_view_finish(&view);
        scn_document_destroy(document);
}

SCN_TEST(delta, refuses_cursors_it_cannot_answer_for)
{
        struct scn_limits limits = SCN_LIMITS_DEFAULT;
        limits.past_min = 3;
        struct scn_document *document = scene_create_limited(&limits);
        for (uint32_t i = 0; i < 10; i++) {
                (void)scene_do(document, scene_remove(scene_new(document, 1, 10 + i, NULL)));
        }
        struct scn_delta delta = {0};
        struct scn_delta_request request = {.root = scene_uid(1), .mask = SCN_MASK_ALL};
        const scn_revision horizon = scn_document_horizon(document);
        cr_assert_eq(horizon, 14, "horizon %llu", (unsigned long long)horizon);
        request.from = horizon - 1;
        cr_assert_eq(scn_delta_compute(document, &request, &delta), SCN_E_BEFORE_HORIZON);
        request.from = horizon;
        cr_assert_eq(scn_delta_compute(document, &request, &delta), SCN_OK);
        request.from = scn_document_revision(document);
        cr_assert_eq(scn_delta_compute(document, &request, &delta), SCN_OK);
        cr_assert(scn_delta_is_empty(&delta));
        request.from++;
        cr_assert_eq(scn_delta_compute(document, &request, &delta), SCN_E_FUTURE);
        scn_delta_finish(&delta);
        scn_document_destroy(document);
}

/* --- A replica believes nothing --- */

static enum scn_error apply_one(struct scn_document *replica, struct scn_delta_node node)
{
        const struct scn_delta delta = {
                .from = scn_document_revision(replica),
                .to = scn_document_revision(replica) + 1,
                .root = 1,
                .nodes = &node,
                .nodes_count = 1,
        };
        struct scn_buffer before;
        struct scn_buffer after;
        scene_dump(replica, &before);
        const enum scn_error error = scn_document_apply_delta(replica, &delta);
        scene_dump(replica, &after);
        cr_assert(error == SCN_OK || (before.size == after.size && memcmp(before.data, after.data, before.size) == 0));
        scn_document_check(replica);
        scn_buffer_finish(&before);
        scn_buffer_finish(&after);
        return error;
}

SCN_TEST(replica, refuses_deltas_that_do_not_fit_and_stays_as_it_was)
{
        struct stage stage = build_stage();
        struct scene_view view = scene_view_create(1, SCN_MASK_ALL);
        scene_view_update(&view, stage.document);
        const struct scn_delta_node place = {
                .fields = SCN_FIELDS_PLACE, .uid = scene_uid(90), .is_new = true, .parent = 1};
        struct scn_delta_node node;
        node = place, node.id = 50, node.parent = 99;
        cr_assert_eq(apply_one(view.replica, node), SCN_E_BAD_DELTA, "unknown parent");
        node = place, node.id = 50, node.previous = stage.c;
        cr_assert_eq(apply_one(view.replica, node), SCN_E_BAD_DELTA, "sibling elsewhere");
        node = place, node.id = 0;
        cr_assert_eq(apply_one(view.replica, node), SCN_E_BAD_DELTA, "no id");
        node = place, node.id = 50, node.uid = scene_uid(4);
        cr_assert_eq(apply_one(view.replica, node), SCN_E_BAD_DELTA, "living uid");
        node = place, node.id = 50, node.is_new = false;
        cr_assert_eq(apply_one(view.replica, node), SCN_E_BAD_DELTA, "unknown node");
        node = place, node.id = 50, node.fields = 0;
        cr_assert_eq(apply_one(view.replica, node), SCN_E_BAD_DELTA, "no place");
        node = place, node.id = stage.n, node.is_new = false, node.parent = stage.c;
        cr_assert_eq(apply_one(view.replica, node), SCN_E_BAD_DELTA, "a ring");
        node = place, node.id = 1, node.is_new = false, node.parent = stage.c;
        cr_assert_eq(apply_one(view.replica, node), SCN_E_BAD_DELTA, "the root has no place");
        node = place, node.id = stage.c, node.is_new = false, node.parent = stage.n, node.previous = stage.c;
        cr_assert_eq(apply_one(view.replica, node), SCN_E_BAD_DELTA, "after itself");
        node = (struct scn_delta_node){.id = stage.c, .fields = SCN_FIELDS_NAME, .name = scene_text("\xff")};
        cr_assert_eq(apply_one(view.replica, node), SCN_E_BAD_DELTA, "bad text");
        node = (struct scn_delta_node){.id = stage.c, .fields = SCN_FIELDS_PROPERTY, .properties_count = 1};
        cr_assert_eq(apply_one(view.replica, node), SCN_E_BAD_DELTA, "properties that are not there");
        node = place, node.id = 50;
        cr_assert_eq(apply_one(view.replica, node), SCN_OK);
        scene_view_finish(&view);
        scn_document_destroy(stage.document);
}

SCN_TEST(replica, goes_back_with_a_whole_delta_of_a_server_that_lost_revisions_and_with_no_other)
{
        struct stage stage = build_stage();
        struct scene_view view = scene_view_create(1, SCN_MASK_ALL);
        struct scn_document *reopened = scene_copy(stage.document);
        struct scn_delta delta = {0};
        (void)scene_do(stage.document, scene_rename(1, "lost"));
        scene_view_update(&view, stage.document);
        const struct scn_delta_request request = {.root = scene_uid(1), .mask = SCN_MASK_ALL, .is_fresh = true};
        cr_assert_eq(scn_delta_compute(reopened, &request, &delta), SCN_OK);
        delta.is_whole = false;
        cr_assert_eq(scn_document_apply_delta(view.replica, &delta), SCN_E_BAD_DELTA);
        delta.is_whole = true;
        cr_assert_eq(scn_document_apply_delta(view.replica, &delta), SCN_OK);
        cr_assert_eq(scn_document_revision(view.replica), scn_document_revision(reopened));
        scene_view_check(&view, reopened);
        scn_delta_finish(&delta);
        scn_document_destroy(reopened);
        scene_view_finish(&view);
        scn_document_destroy(stage.document);
}

SCN_TEST(replica, has_no_root_until_a_whole_delta_comes)
{
        struct stage stage = build_stage();
        struct scene_view view = scene_view_create(1, SCN_MASK_ALL);
        cr_assert_eq(scn_document_root(view.replica), 0);
        cr_assert_eq(scn_document_nodes_count(view.replica), 0);
        struct scn_delta_node node = {.id = 1, .uid = scene_uid(1), .is_new = true};
        cr_assert_eq(apply_one(view.replica, node), SCN_E_BAD_DELTA);
        scene_view_update(&view, stage.document);
        cr_assert_eq(scn_document_nodes_count(view.replica), 6);
        scene_view_finish(&view);
        scn_document_destroy(stage.document);
}
