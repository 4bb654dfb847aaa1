/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Faults that other systems had, in the part that concerns the tree; the numbers are those of the list of cases
 * that the project keeps. B07 is in test_order.c, B13 in test_delta.c, B39 in test_value.c and test_apply.c. */

#include "tests/lib/random.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include "protocol/base/uid.h"

#include <math.h>
#include <string.h>

static enum scn_error try_op(
        struct scn_document *document, uint32_t client, struct scn_op op, struct scn_refusal *refusal)
{
        const struct scn_edit edit = {.ops = &op, .ops_count = 1, .client = scene_client(client)};
        struct scn_changes *changes;
        const enum scn_error error = scn_document_apply(document, &edit, &changes, refusal);
        if (error == SCN_OK) {
                scn_document_settle(document, changes);
        }
        return error;
}

/* --- B01: two moves meet and close a ring --- */

SCN_TEST(b01, the_move_that_would_close_a_ring_is_refused_naming_both)
{
        for (int order = 0; order < 2; order++) {
                struct scn_document *document = scene_create();
                const scn_node_id x = scene_new(document, 1, 2, "X");
                const scn_node_id y = scene_new(document, 1, 3, "Y");
                const scn_revision revision = scn_document_revision(document);
                struct scn_refusal refusal;
                cr_assert_eq(try_op(document, 1, order == 0 ? scene_move(x, y) : scene_move(y, x), &refusal), SCN_OK);
                cr_assert_eq(
                        try_op(document, 2, order == 0 ? scene_move(y, x) : scene_move(x, y), &refusal), SCN_E_CYCLE);
                cr_assert(scn_uid_equal(refusal.node, scene_uid(order == 0 ? 3 : 2)));
                cr_assert(scn_uid_equal(refusal.other, scene_uid(order == 0 ? 2 : 3)));
                cr_assert_eq(scn_document_revision(document), revision + 1);
                cr_assert_eq(scn_document_nodes_count(document), 3);
                scn_document_check(document);
                scn_document_destroy(document);
        }
}

SCN_TEST(b01, a_ring_of_three_and_two_hundred_random_rounds)
{
        struct scn_document *document = scene_create();
        struct scn_random random = scn_random_from_seed(scn_test_seed(1));
        struct scn_refusal refusal;
        scn_node_id id[50];
        for (uint32_t i = 0; i < 50; i++) {
                id[i] = scene_new(document, 1, 10 + i, NULL);
        }
        cr_assert_eq(try_op(document, 1, scene_move(id[0], id[1]), &refusal), SCN_OK);
        cr_assert_eq(try_op(document, 2, scene_move(id[1], id[2]), &refusal), SCN_OK);
        cr_assert_eq(try_op(document, 3, scene_move(id[2], id[0]), &refusal), SCN_E_CYCLE);
        uint32_t refused = 0;
        for (uint32_t i = 0; i < 200; i++) {
                const struct scn_op op =
                        scene_move(id[scn_random_below(&random, 50)], id[scn_random_below(&random, 50)]);
                const enum scn_error error = try_op(document, 1 + i % 4, op, &refusal);
                cr_assert(error == SCN_OK || error == SCN_E_CYCLE);
                refused += error == SCN_E_CYCLE;
                scn_document_check(document);
                cr_assert_eq(scn_document_nodes_count(document), 51);
        }
        cr_assert(refused > 0 && refused < 200);
        scn_document_destroy(document);
}

/* --- B03: the same child is listed twice --- */

SCN_TEST(b03, a_child_stands_in_one_list_once_and_take_backs_end_where_they_began)
{
        struct scn_document *document = scene_create();
        const scn_node_id p = scene_new(document, 1, 2, "P");
        const scn_node_id c = scene_new(document, p, 3, "C");
        const struct scn_op twice[] = {scene_move(c, p), scene_move(c, p)};
        cr_assert_eq(scene_do_all(document, twice, 2), 2);
        cr_assert_eq(scn_document_node(document, p).children_count, 1);
        cr_assert_eq(scene_refused(document, 1, scene_add(1, 3, NULL)), SCN_E_EXISTS);
        struct scn_document *start = scene_copy(document);
        /* create E, duplicate it to E2, delete E2; take all three back. */
        const struct scn_op create = scene_add(1, 4, "E");
        const struct scn_op duplicate = scene_add(1, 5, "E2");
        struct scn_changes *first = scene_apply(document, &create, 1);
        struct scn_changes *second = scene_apply(document, &duplicate, 1);
        const struct scn_op remove = scene_remove(scn_document_find_uid(document, scene_uid(5)));
        struct scn_changes *third = scene_apply(document, &remove, 1);
        const struct scn_digests end = scn_document_digests(document);
        scn_document_take_back(document, third);
        scn_document_take_back(document, second);
        scn_document_take_back(document, first);
        cr_assert(scene_is_same(document, start));
        (void)scene_do(document, create);
        (void)scene_do(document, duplicate);
        (void)scene_do(document, remove);
        const struct scn_digests again = scn_document_digests(document);
        cr_assert(memcmp(&end, &again, sizeof end) == 0);
        scn_document_destroy(start);
        scn_document_destroy(document);
}

/* --- B05: parent from one user, coordinates from another --- */

static float world_x(const struct scn_document *document, scn_node_id id)
{
        struct scn_affine world;
        cr_assert_eq(scn_document_world(document, id, &world), SCN_OK);
        return world.m[3];
}

SCN_TEST(b05, coordinates_are_never_taken_in_another_parent_than_they_were_meant_in)
{
        for (int order = 0; order < 4; order++) {
                struct scn_document *document = scene_create();
                const scn_node_id s = scene_new(document, 1, 2, "S");
                const scn_node_id f = scene_new(document, 1, 3, "F");
                (void)scene_do(document, scene_translate(s, 10, 0, 0));
                (void)scene_do(document, scene_translate(f, 100, 0, 0));
                struct scn_op move = scene_move(s, f);
                move.keep_world = true;
                struct scn_op set = scene_translate(s, 20, 0, 0);
                struct scn_edit edit = {.ops = &set, .ops_count = 1, .client = scene_client(2)};
                if (order % 2 == 0) {
                        set.parent = scene_id(1);
                } else {
                        edit.has_base = true;
                        edit.base = scn_document_revision(document);
                }
                struct scn_changes *changes = NULL;
                struct scn_refusal refusal;
                if (order < 2) {
                        (void)scene_do(document, move);
                        cr_assert_eq(scn_document_apply(document, &edit, &changes, &refusal), SCN_E_STALE_PARENT);
                        cr_assert(scn_uid_equal(refusal.other, scene_uid(3)));
                        cr_assert_eq(world_x(document, s), 10.0f);
                } else {
                        cr_assert_eq(scn_document_apply(document, &edit, &changes, &refusal), SCN_OK);
                        scn_document_settle(document, changes);
                        (void)scene_do(document, move);
                        cr_assert_eq(world_x(document, s), 20.0f);
                }
                scn_document_destroy(document);
        }
}

/* --- B15: remove and re-create in one batch --- */

SCN_TEST(b15, a_view_has_the_servers_state_after_batches_that_remove_and_re_create)
{
        struct scn_document *document = scene_create();
        const scn_node_id p1 = scene_new(document, 1, 2, "P1");
        const scn_node_id p2 = scene_new(document, 1, 3, "P2");
        const scn_node_id n = scene_new(document, p1, 4, "N");
        const scn_node_id c = scene_new(document, p1, 5, "C");
        (void)scene_new(document, n, 6, "below");
        (void)scene_do(document, scene_set(n, "old", scene_integer(1)));
        struct scene_view view = scene_view_create(1, SCN_MASK_ALL);
        struct scene_view part = scene_view_create(3, SCN_MASK_ALL);
        scene_view_update(&view, document);
        scene_view_update(&part, document);
        /* (1) */
        struct scn_op again = scene_add(p2, 4, "N2");
        const struct scn_property properties[] = {{scene_text("new"), scene_integer(2)}};
        again.properties = properties;
        again.properties_count = 1;
        const struct scn_op reborn[] = {scene_remove(n), again};
        (void)scene_do_all(document, reborn, 2);
        scene_view_update(&view, document);
        scene_view_update(&part, document);
        const scn_node_id now = scn_document_find_uid(view.replica, scene_uid(4));
        cr_assert_eq(scn_document_node(view.replica, now).properties_count, 1);
        cr_assert_not_null(scn_document_get(view.replica, now, scene_text("new")).data);
        cr_assert_eq(scn_document_find_uid(view.replica, scene_uid(6)), 0);
        /* The same name again, and what stayed below the old life moves out of it in the same batch. */
        const scn_node_id kept = scene_new(document, now, 7, "kept");
        scene_view_update(&view, document);
        const struct scn_op rescue[] = {
                scene_move(kept, 1), scene_remove(now), scene_add(kept, 4, "third"), scene_move(c, kept)};
        (void)scene_do_all(document, rescue, 4);
        scene_view_update(&view, document);
        scene_view_update(&part, document);
        /* (2) */
        const struct scn_op fleeting[] = {scene_add(1, 8, "M"), scene_remove(scn_document_next_id(document))};
        (void)scene_do_all(document, fleeting, 2);
        scene_view_update(&view, document);
        cr_assert_eq(scn_document_find_uid(view.replica, scene_uid(8)), 0);
        /* (3) */
        (void)scene_do(document, scene_move(c, p1));
        scene_view_update(&view, document);
        const struct scn_op last_minute[] = {scene_move(c, p2), scene_remove(p1)};
        (void)scene_do_all(document, last_minute, 2);
        scene_view_update(&view, document);
        scene_view_update(&part, document);
        cr_assert(scn_document_has(view.replica, c));
        /* (4) */
        struct scn_op alternating[6];
        for (int i = 0; i < 6; i++) {
                alternating[i] = scene_set(c, "set", i % 2 == 0 ? scene_integer(1) : (struct scn_slice){NULL, 0});
        }
        (void)scene_do_all(document, alternating, 6);
        scene_view_update(&view, document);
        scene_view_update(&part, document);
        cr_assert_null(scn_document_get(view.replica, c, scene_text("set")).data);
        scene_view_finish(&part);
        scene_view_finish(&view);
        scn_document_destroy(document);
}

/* --- B25: keeping the world transform is not always possible --- */

static struct scn_op trs_op(scn_node_id id, struct scn_trs trs)
{
        return (struct scn_op){.kind = SCN_OP_TRANSFORM, .node = scene_id(id), .fields = SCN_FIELDS_TRS, .trs = trs};
}

static struct scn_op keep_world(scn_node_id id, scn_node_id parent)
{
        struct scn_op op = scene_move(id, parent);
        op.keep_world = true;
        return op;
}

#define HALF_SQRT 0.70710678f
/* sin and cos of 22.5 degrees: a turn by 45 degrees about z. */
#define SIN_EIGHTH 0.38268343f
#define COS_EIGHTH 0.92387953f

SCN_TEST(b25, shear_is_refused_or_reported_and_plain_moves_keep_the_bits)
{
        struct scn_document *document = scene_create();
        const scn_node_id p = scene_new(document, 1, 2, "P");
        const scn_node_id c = scene_new(document, p, 3, "C");
        const struct scn_trs turned = {{1, 0, 0}, {0, 0, SIN_EIGHTH, COS_EIGHTH}, {1, 1, 1}};
        (void)scene_do(document, trs_op(p, (struct scn_trs){{0, 0, 0}, {0, 0, 0, 1}, {1, 2, 1}}));
        (void)scene_do(document, trs_op(c, turned));
        struct scn_refusal refusal;
        cr_assert_eq(try_op(document, 1, keep_world(c, 1), &refusal), SCN_E_SHEAR);
        cr_assert_gt(refusal.residual, 0.1);
        cr_assert_eq(scene_refused(document, 1, keep_world(c, 1)), SCN_E_SHEAR);
        struct scn_op lossy = keep_world(c, 1);
        lossy.is_lossy = true;
        struct scn_changes *changes = scene_apply(document, &lossy, 1);
        cr_assert_eq(scn_changes_get(changes, 0)->flags, SCN_CHANGE_LOSSY);
        cr_assert_gt(scn_changes_get(changes, 0)->as.move.residual, 0.1);
        scn_document_take_back(document, changes);
        (void)scene_do(document, scene_move(c, 1));
        const struct scn_trs plain = scn_document_node(document, c).trs;
        cr_assert(memcmp(&plain, &turned, sizeof plain) == 0);
        scn_document_destroy(document);
}

SCN_TEST(b25, a_thousand_moves_that_keep_the_world_drift_less_than_asked_and_come_back_to_the_bit)
{
        enum {
                MOVES = 1000
        };
        static struct scn_changes *changes[MOVES];
        struct scn_document *document = scene_create();
        const scn_node_id a = scene_new(document, 1, 2, "A");
        const scn_node_id b = scene_new(document, 1, 3, "B");
        const scn_node_id c = scene_new(document, a, 4, "C");
        (void)scene_do(document, trs_op(a, (struct scn_trs){{3, -2, 1}, {HALF_SQRT, 0, 0, HALF_SQRT}, {2, 2, 2}}));
        (void)scene_do(
                document, trs_op(b, (struct scn_trs){{-7, 5, 2}, {0, SIN_EIGHTH, 0, COS_EIGHTH}, {0.3f, 0.3f, 0.3f}}));
        (void)scene_do(
                document, trs_op(c, (struct scn_trs){{1, 2, 3}, {0, 0, SIN_EIGHTH, COS_EIGHTH}, {1, 1.5f, 0.5f}}));
        struct scn_document *before = scene_copy(document);
        struct scn_affine start;
        cr_assert_eq(scn_document_world(document, c, &start), SCN_OK);
        for (int i = 0; i < MOVES; i++) {
                const struct scn_op op = keep_world(c, i % 2 == 0 ? b : a);
                changes[i] = scene_apply(document, &op, 1);
        }
        struct scn_affine end;
        cr_assert_eq(scn_document_world(document, c, &end), SCN_OK);
        for (int i = 0; i < 12; i++) {
                cr_assert_leq(fabsf(end.m[i] - start.m[i]), 1e-4f, "entry %d drifts by %g", i,
                        (double)fabsf(end.m[i] - start.m[i]));
        }
        const struct scn_trs trs = scn_document_node(document, c).trs;
        cr_assert_leq(fabsf(trs.s[1] - 1.5f), 1e-5f * 1.5f);
        for (int i = MOVES; i-- > 0;) {
                scn_document_take_back(document, changes[i]);
        }
        cr_assert(scene_is_same(document, before));
        scn_document_destroy(before);
        scn_document_destroy(document);
}

/* --- B27: zero scale --- */

SCN_TEST(b27, zero_scale_poisons_nothing_and_cannot_be_inverted)
{
        struct scn_document *document = scene_create();
        const scn_node_id p = scene_new(document, 1, 2, "P");
        const scn_node_id m = scene_new(document, p, 3, "M");
        const scn_node_id c = scene_new(document, m, 4, "C");
        const scn_node_id d = scene_new(document, 1, 5, "D");
        (void)scene_do(document, scene_translate(c, 1, 2, 3));
        struct scn_affine start;
        cr_assert_eq(scn_document_world(document, c, &start), SCN_OK);
        const float scales[2][3] = {{0, 1, 1}, {0, 0, 0}};
        for (int i = 0; i < 2; i++) {
                struct scn_trs trs = SCN_TRS_IDENTITY;
                memcpy(trs.s, scales[i], sizeof trs.s);
                (void)scene_do(document, trs_op(p, trs));
                struct scn_affine world;
                cr_assert_eq(scn_document_world(document, c, &world), SCN_OK);
                for (int k = 0; k < 12; k++) {
                        cr_assert(isfinite(world.m[k]));
                }
                cr_assert_eq(scene_refused(document, 1, keep_world(c, 1)), SCN_E_SINGULAR);
                cr_assert_eq(scene_refused(document, 1, keep_world(d, p)), SCN_E_SINGULAR);
                cr_assert_eq(scn_document_world_relative(document, d, p, &world), SCN_E_SINGULAR);
        }
        (void)scene_do(document, trs_op(p, SCN_TRS_IDENTITY));
        struct scn_affine end;
        cr_assert_eq(scn_document_world(document, c, &end), SCN_OK);
        cr_assert(memcmp(&start, &end, sizeof start) == 0);
        scn_document_destroy(document);
}

SCN_TEST(b27, a_world_that_overflows_is_an_error_and_never_nan)
{
        struct scn_document *document = scene_create();
        scn_node_id at = 1;
        for (uint32_t i = 0; i < 6; i++) {
                at = scene_new(document, at, 10 + i, NULL);
                (void)scene_do(document, trs_op(at, (struct scn_trs){{1, 0, 0}, {0, 0, 0, 1}, {1e10f, 1e10f, 1e10f}}));
        }
        struct scn_affine world;
        cr_assert_eq(scn_document_world(document, at, &world), SCN_E_OVERFLOW);
        scn_document_update_worlds(document);
        cr_assert_eq(scn_document_world(document, at, &world), SCN_E_OVERFLOW);
        scn_document_destroy(document);
}

/* --- B29: stale world transform --- */

SCN_TEST(b29, worlds_are_right_in_whatever_order_they_are_asked_for)
{
        struct scn_document *document = scene_create();
        const scn_node_id g = scene_new(document, 1, 2, "G");
        const scn_node_id p = scene_new(document, g, 3, "P");
        const scn_node_id c = scene_new(document, p, 4, "C");
        (void)scene_do(document, scene_translate(c, 1, 0, 0));
        cr_assert_eq(world_x(document, c), 1.0f);
        (void)scene_do(document, scene_translate(g, 100, 0, 0));
        cr_assert_eq(world_x(document, p), 100.0f);
        cr_assert_eq(world_x(document, c), 101.0f);
        (void)scene_do(document, scene_translate(g, 200, 0, 0));
        (void)scene_do(document, scene_translate(c, 2, 0, 0));
        cr_assert_eq(world_x(document, c), 202.0f);
        scn_document_update_worlds(document);
        (void)scene_do(document, scene_translate(g, 300, 0, 0));
        cr_assert(scn_document_world_is_stale(document, c));
        cr_assert_eq(world_x(document, c), 302.0f);
        (void)scene_do(document, scene_translate(c, 3, 0, 0));
        (void)scene_do(document, scene_move(p, 1));
        cr_assert_eq(world_x(document, c), 3.0f);
        scn_document_update_worlds(document);
        cr_assert_eq(world_x(document, c), 3.0f);
        scn_document_destroy(document);
}

SCN_TEST(b29, a_change_above_sends_what_changed_and_a_later_one_below_is_still_sent)
{
        struct scn_document *document = scene_create();
        const scn_node_id g = scene_new(document, 1, 2, "G");
        const scn_node_id p = scene_new(document, g, 3, "P");
        const scn_node_id c = scene_new(document, p, 4, "C");
        struct scene_view view = scene_view_create(1, SCN_MASK_ALL);
        struct scn_delta delta = {0};
        scene_view_update(&view, document);
        (void)scene_do(document, scene_translate(g, 1, 0, 0));
        scene_view_take(&view, document, &delta);
        cr_assert_eq(delta.nodes_count, 1);
        cr_assert_eq(delta.nodes[0].id, g);
        (void)scene_do(document, scene_translate(c, 1, 0, 0));
        scene_view_take(&view, document, &delta);
        cr_assert_eq(delta.nodes_count, 1);
        cr_assert_eq(delta.nodes[0].id, c);
        scn_delta_finish(&delta);
        scene_view_finish(&view);
        scn_document_destroy(document);
}
