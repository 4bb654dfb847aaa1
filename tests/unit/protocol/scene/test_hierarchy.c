/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/scene/hierarchy.h"

#include "tests/lib/random.h"
#include "tests/lib/test.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

static struct scn_hierarchy *create_with_slots(uint32_t count)
{
        struct scn_hierarchy *hierarchy = scn_hierarchy_create();
        cr_assert_not_null(hierarchy);
        cr_assert_eq(scn_hierarchy_reserve(hierarchy, count), SCN_OK);
        return hierarchy;
}

static void append(struct scn_hierarchy *hierarchy, uint32_t slot, uint32_t parent)
{
        uint32_t previous = parent == SCN_SLOT_NONE ? SCN_SLOT_NONE : scn_hierarchy_last_child(hierarchy, parent);
        scn_hierarchy_link(hierarchy, slot, parent, previous);
}

static struct scn_trs at(float x, float y, float z)
{
        struct scn_trs trs = SCN_TRS_IDENTITY;
        trs.t[0] = x;
        trs.t[1] = y;
        trs.t[2] = z;
        return trs;
}

static void move_to(struct scn_hierarchy *hierarchy, uint32_t slot, float x)
{
        struct scn_trs trs = at(x, 0.0f, 0.0f);
        scn_hierarchy_set_local(hierarchy, slot, &trs);
}

static void start_counting(struct scn_hierarchy *hierarchy)
{
        scn_hierarchy_update(hierarchy);
        scn_hierarchy_reset_counters(hierarchy);
}

static void expect_counts(const struct scn_hierarchy *hierarchy, uint64_t visited, uint64_t recomputed)
{
        struct scn_hierarchy_counters counters = scn_hierarchy_counters(hierarchy);
        cr_assert_eq(counters.visited, visited, "%lu visited", counters.visited);
        cr_assert_eq(counters.recomputed, recomputed, "%lu recomputed", counters.recomputed);
        cr_assert_eq(counters.full_passes, 0);
        cr_assert_eq(counters.full_recomputed, 0);
}

static float world_x(const struct scn_hierarchy *hierarchy, uint32_t slot)
{
        struct scn_affine world;
        cr_assert_eq(scn_hierarchy_world(hierarchy, slot, &world), SCN_OK);
        return world.m[3];
}

/* ---- Structure ---- */

static void expect_children(
        const struct scn_hierarchy *hierarchy, uint32_t parent, const uint32_t *slots, uint32_t count)
{
        cr_assert_eq(scn_hierarchy_children_count(hierarchy, parent), count);
        uint32_t child = scn_hierarchy_first_child(hierarchy, parent);
        uint32_t previous = SCN_SLOT_NONE;
        for (uint32_t i = 0; i < count; i++) {
                cr_assert_eq(child, slots[i]);
                cr_assert_eq(scn_hierarchy_parent(hierarchy, child), parent);
                cr_assert_eq(scn_hierarchy_previous(hierarchy, child), previous);
                previous = child;
                child = scn_hierarchy_next(hierarchy, child);
        }
        cr_assert_eq(child, SCN_SLOT_NONE);
        cr_assert_eq(scn_hierarchy_last_child(hierarchy, parent), previous);
}

SCN_TEST(hierarchy, starts_with_unlinked_slots_of_identity)
{
        struct scn_hierarchy *hierarchy = create_with_slots(3);
        struct scn_trs local = scn_hierarchy_local(hierarchy, 2);

        cr_assert_eq(memcmp(&local, &SCN_TRS_IDENTITY, sizeof local), 0);
        cr_assert_eq(scn_hierarchy_parent(hierarchy, 2), SCN_SLOT_NONE);
        expect_children(hierarchy, 2, NULL, 0);
        scn_hierarchy_update(hierarchy);
        scn_hierarchy_update_all(hierarchy);
        expect_counts(hierarchy, 0, 0);
        scn_hierarchy_destroy(hierarchy);
        scn_hierarchy_destroy(NULL);
}

SCN_TEST(hierarchy, keeps_siblings_in_the_order_given)
{
        struct scn_hierarchy *hierarchy = create_with_slots(5);

        append(hierarchy, 0, SCN_SLOT_NONE);
        append(hierarchy, 1, 0);
        scn_hierarchy_link(hierarchy, 2, 0, SCN_SLOT_NONE);
        scn_hierarchy_link(hierarchy, 3, 0, 2);
        scn_hierarchy_link(hierarchy, 4, 0, 1);
        expect_children(hierarchy, 0, (uint32_t[]){2, 3, 1, 4}, 4);
        scn_hierarchy_unlink(hierarchy, 3);
        expect_children(hierarchy, 0, (uint32_t[]){2, 1, 4}, 3);
        scn_hierarchy_unlink(hierarchy, 2);
        scn_hierarchy_unlink(hierarchy, 4);
        expect_children(hierarchy, 0, (uint32_t[]){1}, 1);
        scn_hierarchy_unlink(hierarchy, 1);
        expect_children(hierarchy, 0, NULL, 0);
        scn_hierarchy_destroy(hierarchy);
}

SCN_TEST(hierarchy, unlinks_a_subtree_as_it_is_and_links_it_elsewhere)
{
        struct scn_hierarchy *hierarchy = create_with_slots(5);

        append(hierarchy, 0, SCN_SLOT_NONE);
        append(hierarchy, 1, 0);
        append(hierarchy, 2, 0);
        append(hierarchy, 3, 1);
        append(hierarchy, 4, 3);
        move_to(hierarchy, 2, 10.0f);
        move_to(hierarchy, 3, 1.0f);
        scn_hierarchy_update(hierarchy);
        scn_hierarchy_unlink(hierarchy, 3);
        cr_assert_eq(scn_hierarchy_parent(hierarchy, 3), SCN_SLOT_NONE);
        expect_children(hierarchy, 3, (uint32_t[]){4}, 1);
        scn_hierarchy_update(hierarchy);
        append(hierarchy, 3, 2);
        cr_assert(scn_hierarchy_is_stale(hierarchy, 4));
        scn_hierarchy_update(hierarchy);
        cr_assert_float_eq(world_x(hierarchy, 4), 11.0, 0.0);
        scn_hierarchy_destroy(hierarchy);
}

SCN_TEST(hierarchy, gives_the_root_away_and_takes_another)
{
        struct scn_hierarchy *hierarchy = create_with_slots(3);

        append(hierarchy, 0, SCN_SLOT_NONE);
        append(hierarchy, 1, 0);
        scn_hierarchy_unlink(hierarchy, 0);
        move_to(hierarchy, 1, 4.0f);
        scn_hierarchy_update(hierarchy);
        append(hierarchy, 2, SCN_SLOT_NONE);
        append(hierarchy, 0, 2);
        move_to(hierarchy, 2, 2.0f);
        scn_hierarchy_update(hierarchy);
        cr_assert_float_eq(world_x(hierarchy, 1), 6.0, 0.0);
        scn_hierarchy_destroy(hierarchy);
}

SCN_TEST(hierarchy, walks_a_subtree_parents_first_and_backwards)
{
        /* 0 (1 (3 (5) 4) 2) */
        static const uint32_t parents[] = {SCN_SLOT_NONE, 0, 0, 1, 1, 3};
        static const uint32_t all[] = {0, 1, 3, 5, 4, 2};
        static const uint32_t of_1[] = {1, 3, 5, 4};
        struct scn_hierarchy *hierarchy = create_with_slots(6);

        for (uint32_t i = 0; i < 6; i++)
                append(hierarchy, i, parents[i]);
        uint32_t slot = 0;
        for (uint32_t i = 0; i < 6; i++, slot = scn_hierarchy_walk(hierarchy, 0, slot))
                cr_assert_eq(slot, all[i]);
        cr_assert_eq(slot, SCN_SLOT_NONE);
        slot = 1;
        for (uint32_t i = 0; i < 4; i++, slot = scn_hierarchy_walk(hierarchy, 1, slot))
                cr_assert_eq(slot, of_1[i]);
        cr_assert_eq(slot, SCN_SLOT_NONE);
        slot = scn_hierarchy_walk_last(hierarchy, 1);
        for (uint32_t i = 4; i-- > 0; slot = scn_hierarchy_walk_back(hierarchy, 1, slot))
                cr_assert_eq(slot, of_1[i]);
        cr_assert_eq(slot, SCN_SLOT_NONE);
        cr_assert_eq(scn_hierarchy_walk(hierarchy, 2, 2), SCN_SLOT_NONE);
        cr_assert_eq(scn_hierarchy_walk_last(hierarchy, 2), 2);
        cr_assert_eq(scn_hierarchy_walk_back(hierarchy, 2, 2), SCN_SLOT_NONE);
        scn_hierarchy_destroy(hierarchy);
}

SCN_TEST_ABORTS(hierarchy, refuses_to_link_what_is_linked)
{
        struct scn_hierarchy *hierarchy = create_with_slots(3);
        append(hierarchy, 0, SCN_SLOT_NONE);
        append(hierarchy, 1, 0);
        scn_hierarchy_link(hierarchy, 1, 0, SCN_SLOT_NONE);
}

SCN_TEST_ABORTS(hierarchy, refuses_a_second_root)
{
        struct scn_hierarchy *hierarchy = create_with_slots(2);
        append(hierarchy, 0, SCN_SLOT_NONE);
        append(hierarchy, 1, SCN_SLOT_NONE);
}

SCN_TEST_ABORTS(hierarchy, refuses_a_previous_sibling_of_another_parent)
{
        struct scn_hierarchy *hierarchy = create_with_slots(4);
        append(hierarchy, 0, SCN_SLOT_NONE);
        append(hierarchy, 1, 0);
        append(hierarchy, 2, 1);
        scn_hierarchy_link(hierarchy, 3, 0, 2);
}

SCN_TEST_ABORTS(hierarchy, refuses_to_unlink_what_is_not_linked)
{
        struct scn_hierarchy *hierarchy = create_with_slots(1);
        scn_hierarchy_unlink(hierarchy, 0);
}

SCN_TEST_ABORTS(hierarchy, refuses_a_slot_beyond_its_room)
{
        struct scn_hierarchy *hierarchy = create_with_slots(1);
        (void)scn_hierarchy_parent(hierarchy, 1000000);
}

/* ---- Counts: the source designs' numbers ---- */

/* 1 root (slot 0), 3 groups (1, 6, 11), 4 rocks behind each. */
static struct scn_hierarchy *create_rocks(void)
{
        struct scn_hierarchy *hierarchy = create_with_slots(16);

        append(hierarchy, 0, SCN_SLOT_NONE);
        for (uint32_t group = 1; group < 16; group += 5) {
                append(hierarchy, group, 0);
                for (uint32_t rock = 1; rock <= 4; rock++)
                        append(hierarchy, group + rock, group);
        }
        return hierarchy;
}

SCN_TEST(hierarchy, recomputes_16_of_16_at_first)
{
        struct scn_hierarchy *hierarchy = create_rocks();

        scn_hierarchy_update(hierarchy);
        expect_counts(hierarchy, 16, 16);
        scn_hierarchy_update(hierarchy);
        expect_counts(hierarchy, 16, 16);
        scn_hierarchy_reset_counters(hierarchy);
        scn_hierarchy_update_all(hierarchy);
        cr_assert_eq(scn_hierarchy_counters(hierarchy).full_recomputed, 16);
        cr_assert_eq(scn_hierarchy_counters(hierarchy).full_passes, 0);
        scn_hierarchy_destroy(hierarchy);
}

SCN_TEST(hierarchy, recomputes_a_rock_alone)
{
        struct scn_hierarchy *hierarchy = create_rocks();

        start_counting(hierarchy);
        move_to(hierarchy, 12, 9.0f);
        scn_hierarchy_update(hierarchy);
        expect_counts(hierarchy, 1, 1);
        scn_hierarchy_destroy(hierarchy);
}

SCN_TEST(hierarchy, recomputes_a_group_with_its_four_rocks)
{
        struct scn_hierarchy *hierarchy = create_rocks();

        start_counting(hierarchy);
        move_to(hierarchy, 6, 100.0f);
        scn_hierarchy_update(hierarchy);
        expect_counts(hierarchy, 5, 5);
        scn_hierarchy_destroy(hierarchy);
}

SCN_TEST(hierarchy, stops_at_once_where_a_group_is_marked_already)
{
        struct scn_hierarchy *hierarchy = create_rocks();

        start_counting(hierarchy);
        move_to(hierarchy, 6, 101.0f);
        expect_counts(hierarchy, 0, 0);
        move_to(hierarchy, 6, 102.0f);
        expect_counts(hierarchy, 1, 0);
        scn_hierarchy_update(hierarchy);
        expect_counts(hierarchy, 1 + 5, 5);
        cr_assert_float_eq(world_x(hierarchy, 7), 102.0, 0.0);
        scn_hierarchy_destroy(hierarchy);
}

SCN_TEST(hierarchy, is_stale_in_the_whole_subtree_from_edit_to_update)
{
        struct scn_hierarchy *hierarchy = create_rocks();

        start_counting(hierarchy);
        move_to(hierarchy, 6, 100.0f);
        for (uint32_t slot = 0; slot < 16; slot++)
                cr_assert_eq(scn_hierarchy_is_stale(hierarchy, slot), slot >= 6 && slot <= 10);
        scn_hierarchy_update(hierarchy);
        for (uint32_t slot = 0; slot < 16; slot++)
                cr_assert_not(scn_hierarchy_is_stale(hierarchy, slot));
        scn_hierarchy_destroy(hierarchy);
}

SCN_TEST(hierarchy, recomputes_root_a_b_and_c_after_the_root)
{
        struct scn_hierarchy *hierarchy = create_with_slots(4);

        append(hierarchy, 0, SCN_SLOT_NONE);
        append(hierarchy, 1, 0);
        append(hierarchy, 2, 0);
        append(hierarchy, 3, 1);
        start_counting(hierarchy);
        move_to(hierarchy, 0, 5.0f);
        scn_hierarchy_update(hierarchy);
        expect_counts(hierarchy, 4, 4);
        move_to(hierarchy, 3, 2.0f);
        scn_hierarchy_update(hierarchy);
        expect_counts(hierarchy, 5, 5);
        scn_hierarchy_destroy(hierarchy);
}

SCN_TEST(hierarchy, recomputes_leaves_marked_under_marked_parents_once)
{
        struct scn_hierarchy *hierarchy = create_rocks();

        start_counting(hierarchy);
        move_to(hierarchy, 7, 1.0f);
        move_to(hierarchy, 6, 2.0f);
        move_to(hierarchy, 10, 3.0f);
        move_to(hierarchy, 3, 4.0f);
        scn_hierarchy_update(hierarchy);
        expect_counts(hierarchy, 5 + 1, 5 + 1);
        cr_assert_float_eq(world_x(hierarchy, 7), 3.0, 0.0);
        cr_assert_float_eq(world_x(hierarchy, 10), 5.0, 0.0);
        move_to(hierarchy, 7, 1.5f);
        move_to(hierarchy, 0, 10.0f);
        scn_hierarchy_update(hierarchy);
        expect_counts(hierarchy, 6 + 16, 6 + 16);
        cr_assert_float_eq(world_x(hierarchy, 7), 13.5, 0.0);
        scn_hierarchy_destroy(hierarchy);
}

SCN_TEST(hierarchy, forgets_marks_of_slots_unlinked_meanwhile)
{
        struct scn_hierarchy *hierarchy = create_rocks();

        start_counting(hierarchy);
        move_to(hierarchy, 6, 1.0f);
        move_to(hierarchy, 3, 2.0f);
        scn_hierarchy_unlink(hierarchy, 6);
        scn_hierarchy_unlink(hierarchy, 3);
        scn_hierarchy_update(hierarchy);
        expect_counts(hierarchy, 0, 0);
        append(hierarchy, 6, 1);
        append(hierarchy, 3, 6);
        scn_hierarchy_update(hierarchy);
        expect_counts(hierarchy, 6, 6);
        cr_assert_float_eq(world_x(hierarchy, 3), 3.0, 0.0);
        scn_hierarchy_destroy(hierarchy);
}

#define FAN_COUNT 10000u
#define FRAMES 1000u

/* Fan-out 4: the parent of node i is (i - 1) / 4. Updated, with counters at zero. */
static struct scn_hierarchy *create_fan(uint32_t count)
{
        struct scn_hierarchy *hierarchy = create_with_slots(count);

        append(hierarchy, 0, SCN_SLOT_NONE);
        for (uint32_t i = 1; i < count; i++)
                append(hierarchy, i, (i - 1) / 4);
        start_counting(hierarchy);
        return hierarchy;
}

/* (seed * 1103515245 + 12345) & 0x7fffffff, as JavaScript computes it: in doubles, whose product is rounded, and
 * ToInt32 takes the sum modulo 2^32. */
static uint32_t next_seed(uint32_t seed)
{
        double product = (double)seed * 1103515245.0;
        double sum = product + 12345.0;
        return (uint32_t)fmod(sum, 4294967296.0) & 0x7fffffffu;
}

SCN_TEST(hierarchy, recomputes_19886_of_10000000_for_the_sources_leaf_edits)
{
        struct scn_hierarchy *hierarchy = create_fan(FAN_COUNT);
        uint32_t leaves[FAN_COUNT];
        uint32_t leaves_count = 0;
        uint32_t seed = 99;

        for (uint32_t i = 0; i < FAN_COUNT; i++) {
                if (scn_hierarchy_children_count(hierarchy, i) == 0)
                        leaves[leaves_count++] = i;
        }
        cr_assert_eq(leaves_count, 7500);
        for (uint32_t frame = 0; frame < FRAMES; frame++) {
                for (uint32_t edit = 0; edit < 20; edit++) {
                        seed = next_seed(seed);
                        move_to(hierarchy, leaves[seed % leaves_count], 1.0f + (float)(frame % 7) * 0.001f);
                }
                scn_hierarchy_update(hierarchy);
        }
        /* Of 20,000 edits 114 met a mark of the same frame. */
        expect_counts(hierarchy, 20000, 19886);
        scn_hierarchy_destroy(hierarchy);
}

SCN_TEST(hierarchy, recomputes_many_leaves_of_one_frame_once_each)
{
        struct scn_hierarchy *hierarchy = create_fan(FAN_COUNT);

        for (uint32_t slot = 2500; slot < 9999; slot += 3)
                move_to(hierarchy, slot, 1.0f + (float)slot);
        scn_hierarchy_update(hierarchy);
        expect_counts(hierarchy, 2500, 2500);
        for (uint32_t slot = 2500; slot < FAN_COUNT; slot++)
                cr_assert_float_eq(world_x(hierarchy, slot), slot % 3 == 1 && slot < 9999 ? 1.0 + slot : 0.0, 0.0);
        scn_hierarchy_destroy(hierarchy);
}

SCN_TEST(hierarchy, recomputes_all_each_frame_for_the_root_or_on_demand)
{
        struct scn_hierarchy *hierarchy = create_fan(FAN_COUNT);

        for (uint32_t frame = 0; frame < FRAMES; frame++) {
                move_to(hierarchy, 0, (float)frame);
                scn_hierarchy_update(hierarchy);
        }
        struct scn_hierarchy_counters counters = scn_hierarchy_counters(hierarchy);
        cr_assert_eq(counters.recomputed + counters.full_recomputed, (uint64_t)FRAMES * FAN_COUNT);

        scn_hierarchy_reset_counters(hierarchy);
        for (uint32_t frame = 0; frame < FRAMES; frame++)
                scn_hierarchy_update_all(hierarchy);
        counters = scn_hierarchy_counters(hierarchy);
        cr_assert_eq(counters.full_recomputed, (uint64_t)FRAMES * FAN_COUNT);
        cr_assert_eq(counters.recomputed, 0);
        scn_hierarchy_destroy(hierarchy);
}

/* A chain of the length given with `twigs` nodes at its end, each with one leaf; all twigs are edited. */
static struct scn_hierarchy *create_broom(uint32_t chain, uint32_t twigs)
{
        struct scn_hierarchy *hierarchy = create_with_slots(chain + 2 * twigs);

        for (uint32_t i = 0; i < chain; i++)
                append(hierarchy, i, i == 0 ? SCN_SLOT_NONE : i - 1);
        for (uint32_t i = 0; i < twigs; i++) {
                append(hierarchy, chain + i, chain - 1);
                append(hierarchy, chain + twigs + i, chain + i);
        }
        start_counting(hierarchy);
        for (uint32_t i = 0; i < twigs; i++)
                move_to(hierarchy, chain + i, (float)i);
        return hierarchy;
}

SCN_TEST(hierarchy, replaces_walks_longer_than_the_tree_by_a_full_pass)
{
        struct scn_hierarchy *hierarchy = create_broom(2000, 100);

        scn_hierarchy_update(hierarchy);
        struct scn_hierarchy_counters counters = scn_hierarchy_counters(hierarchy);
        cr_assert_eq(counters.full_passes, 1);
        cr_assert_eq(counters.full_recomputed, 2200);
        cr_assert_eq(counters.recomputed, 0);
        cr_assert_not(scn_hierarchy_is_stale(hierarchy, 2099));
        cr_assert_float_eq(world_x(hierarchy, 2199), 99.0, 0.0);
        scn_hierarchy_destroy(hierarchy);
}

SCN_TEST(hierarchy, counts_exactly_up_to_1000_nodes_whatever_the_walks_cost)
{
        struct scn_hierarchy *hierarchy = create_broom(800, 100);

        scn_hierarchy_update(hierarchy);
        expect_counts(hierarchy, 200, 200);
        cr_assert_float_eq(world_x(hierarchy, 999), 99.0, 0.0);
        scn_hierarchy_destroy(hierarchy);
}

/* More nodes than the scratch list holds, so that the list moves on, once in the middle and once from its start. */
SCN_TEST(hierarchy, counts_exactly_in_subtrees_larger_than_the_scratch_list)
{
        struct scn_hierarchy *hierarchy = create_fan(60000);

        move_to(hierarchy, 1, 1.0f);
        scn_hierarchy_update(hierarchy);
        uint64_t below_1 = 0;
        for (uint32_t slot = 1; slot != SCN_SLOT_NONE; slot = scn_hierarchy_walk(hierarchy, 1, slot))
                below_1++;
        cr_assert_gt(below_1, SCN_HIERARCHY_SCRATCH);
        expect_counts(hierarchy, below_1, below_1);

        /* 8,000 parents of leaves, each a top of its own. */
        scn_hierarchy_update_all(hierarchy);
        scn_hierarchy_reset_counters(hierarchy);
        for (uint32_t slot = 5461; slot < 5461 + 8000; slot++)
                move_to(hierarchy, slot, 2.0f);
        scn_hierarchy_update(hierarchy);
        expect_counts(hierarchy, 5 * 8000, 5 * 8000);
        cr_assert_float_eq(world_x(hierarchy, 4 * 13460 + 1), 2.0, 0.0);
        cr_assert_float_eq(world_x(hierarchy, 4 * 5461 + 4), 3.0, 0.0);

        /* The cached order was in the way, and must not be taken for one that still holds. */
        move_to(hierarchy, 0, 10.0f);
        scn_hierarchy_update(hierarchy);
        cr_assert_float_eq(world_x(hierarchy, 4 * 5461 + 4), 13.0, 0.0);
        scn_hierarchy_destroy(hierarchy);
}

/* ---- Values ---- */

SCN_TEST(hierarchy, composes_translation_rotation_and_scale_in_that_order)
{
        struct scn_hierarchy *hierarchy = create_with_slots(2);
        /* A quarter turn about z. */
        struct scn_trs parent = {{1, 2, 3}, {0, 0, sqrtf(0.5f), sqrtf(0.5f)}, {2, 3, 4}};
        struct scn_trs child = at(1, 1, 1);
        static const float expected[12] = {0, -3, 0, -2, 2, 0, 0, 4, 0, 0, 4, 7};
        struct scn_affine world;

        append(hierarchy, 0, SCN_SLOT_NONE);
        append(hierarchy, 1, 0);
        scn_hierarchy_set_local(hierarchy, 0, &parent);
        scn_hierarchy_set_local(hierarchy, 1, &child);
        scn_hierarchy_update(hierarchy);
        cr_assert_eq(scn_hierarchy_world(hierarchy, 1, &world), SCN_OK);
        for (uint32_t i = 0; i < 12; i++)
                cr_assert_float_eq(world.m[i], expected[i], 1e-6, "%u: %f", i, (double)world.m[i]);
        scn_hierarchy_destroy(hierarchy);
}

SCN_TEST(hierarchy, reports_a_world_that_overflows)
{
        struct scn_hierarchy *hierarchy = create_with_slots(2);
        struct scn_trs huge = {{3e38f, 0, 0}, {0, 0, 0, 1}, {1e30f, 1, 1}};
        struct scn_affine world;

        append(hierarchy, 0, SCN_SLOT_NONE);
        append(hierarchy, 1, 0);
        scn_hierarchy_set_local(hierarchy, 0, &huge);
        scn_hierarchy_set_local(hierarchy, 1, &huge);
        cr_assert_eq(scn_hierarchy_world(hierarchy, 0, &world), SCN_OK);
        cr_assert_eq(scn_hierarchy_world(hierarchy, 1, &world), SCN_E_OVERFLOW);
        scn_hierarchy_update(hierarchy);
        cr_assert_eq(scn_hierarchy_world(hierarchy, 1, &world), SCN_E_OVERFLOW);
        move_to(hierarchy, 0, 1.0f);
        cr_assert_eq(scn_hierarchy_world(hierarchy, 1, &world), SCN_OK);
        scn_hierarchy_destroy(hierarchy);
}

SCN_TEST(hierarchy, has_a_finite_world_below_a_scale_of_zero)
{
        struct scn_hierarchy *hierarchy = create_with_slots(3);
        struct scn_trs hidden = {{5, 0, 0}, {0, 0, 0, 1}, {0, 0, 0}};

        for (uint32_t i = 0; i < 3; i++)
                append(hierarchy, i, i == 0 ? SCN_SLOT_NONE : i - 1);
        move_to(hierarchy, 2, 7.0f);
        scn_hierarchy_set_local(hierarchy, 1, &hidden);
        scn_hierarchy_update(hierarchy);
        cr_assert_float_eq(world_x(hierarchy, 2), 5.0, 0.0);
        hidden.s[0] = hidden.s[1] = hidden.s[2] = 1.0f;
        scn_hierarchy_set_local(hierarchy, 1, &hidden);
        scn_hierarchy_update(hierarchy);
        cr_assert_float_eq(world_x(hierarchy, 2), 12.0, 0.0);
        scn_hierarchy_destroy(hierarchy);
}

/* CASES B29: grandparent 0, parent 1, child 2. */
SCN_TEST(hierarchy, answers_right_in_whatever_order_it_is_asked)
{
        struct scn_hierarchy *hierarchy = create_with_slots(4);

        for (uint32_t i = 0; i < 3; i++)
                append(hierarchy, i, i == 0 ? SCN_SLOT_NONE : i - 1);
        append(hierarchy, 3, 0);
        move_to(hierarchy, 3, 1000.0f);
        scn_hierarchy_update(hierarchy);

        cr_assert_float_eq(world_x(hierarchy, 2), 0.0, 0.0);
        move_to(hierarchy, 0, 100.0f);
        cr_assert_float_eq(world_x(hierarchy, 1), 100.0, 0.0);
        cr_assert_float_eq(world_x(hierarchy, 2), 100.0, 0.0);

        move_to(hierarchy, 0, 200.0f);
        move_to(hierarchy, 2, 1.0f);
        cr_assert_float_eq(world_x(hierarchy, 2), 201.0, 0.0);
        move_to(hierarchy, 0, 300.0f);
        cr_assert_float_eq(world_x(hierarchy, 2), 301.0, 0.0);

        scn_hierarchy_update(hierarchy);
        move_to(hierarchy, 2, 2.0f);
        scn_hierarchy_unlink(hierarchy, 1);
        append(hierarchy, 1, 3);
        cr_assert_float_eq(world_x(hierarchy, 2), 1302.0, 0.0);
        scn_hierarchy_update(hierarchy);
        cr_assert_float_eq(world_x(hierarchy, 2), 1302.0, 0.0);
        scn_hierarchy_destroy(hierarchy);
}

/* ---- Memory ---- */

SCN_TEST(hierarchy, costs_at_most_120_bytes_a_slot)
{
        uint64_t before = scn_alloc_stats().live_bytes;
        struct scn_hierarchy *hierarchy = create_with_slots(1000000);
        uint64_t bytes = scn_alloc_stats().live_bytes - before - sizeof *hierarchy;

        /* A page a block is the C library's. */
        cr_assert_leq(bytes, UINT64_C(120) * 1000000 + 6 * 4096, "%lu bytes", bytes);
        scn_hierarchy_destroy(hierarchy);
}

SCN_TEST(hierarchy, allocates_nothing_once_slots_are_reserved)
{
        struct scn_hierarchy *hierarchy = create_with_slots(5000);
        uint64_t calls = scn_alloc_stats().calls;

        for (uint32_t i = 0; i < 5000; i++)
                append(hierarchy, i, i == 0 ? SCN_SLOT_NONE : (i - 1) / 4);
        for (uint32_t i = 0; i < 5000; i++)
                move_to(hierarchy, i, 1.0f);
        scn_hierarchy_update(hierarchy);
        scn_hierarchy_update_all(hierarchy);
        move_to(hierarchy, 1, 2.0f);
        (void)world_x(hierarchy, 4999);
        scn_hierarchy_update(hierarchy);
        cr_assert_eq(scn_alloc_stats().calls, calls);
        scn_hierarchy_destroy(hierarchy);
}

static enum scn_error grow_in_steps(void *data)
{
        struct scn_hierarchy *hierarchy = scn_hierarchy_create();
        enum scn_error error = hierarchy == NULL ? SCN_E_NO_MEMORY : SCN_OK;

        (void)data;
        for (uint32_t count = 10; error == SCN_OK && count <= 10000; count *= 10)
                error = scn_hierarchy_reserve(hierarchy, count);
        scn_hierarchy_destroy(hierarchy);
        return error;
}

SCN_TEST(hierarchy, survives_each_allocation_that_fails)
{
        cr_assert_eq(scn_test_fail_each_allocation(grow_in_steps, NULL), 1 + 4 * 5);
}

SCN_TEST(hierarchy, is_as_before_after_a_failed_reserve)
{
        struct scn_hierarchy *hierarchy = create_rocks();

        start_counting(hierarchy);
        for (uint32_t nth = 1; nth <= 5; nth++) {
                scn_alloc_fail_at(nth, true);
                cr_assert_eq(scn_hierarchy_reserve(hierarchy, 100000u * nth), SCN_E_NO_MEMORY);
                scn_alloc_fail_at(0, false);
                move_to(hierarchy, 0, (float)nth);
                scn_hierarchy_update(hierarchy);
                cr_assert_float_eq(world_x(hierarchy, 15), (double)nth, 0.0);
        }
        /* Four arrays are larger than the fifth now. */
        cr_assert_eq(scn_hierarchy_reserve(hierarchy, 2000), SCN_OK);
        cr_assert_geq(hierarchy->slot_count, 2000);
        cr_assert_leq(hierarchy->slot_count, hierarchy->order_capacity);
        append(hierarchy, 1999, 15);
        cr_assert_float_eq(world_x(hierarchy, 1999), 5.0, 0.0);
        scn_hierarchy_destroy(hierarchy);
}

SCN_TEST(hierarchy, refuses_more_slots_than_a_list_can_name)
{
        struct scn_hierarchy *hierarchy = create_with_slots(1);
        cr_assert_eq(scn_hierarchy_reserve(hierarchy, SCN_SLOT_NONE), SCN_E_NO_MEMORY);
        scn_hierarchy_destroy(hierarchy);
}

/* ---- Depth ---- */

#define CHAIN_COUNT 100000u
#define SMALL_STACK ((size_t)256 * 1024)

/* Returns what is wrong, or NULL. Assertions of Criterion belong to the main thread. */
static void *use_deep_chain(void *data)
{
        struct scn_hierarchy *hierarchy = data;
        uint32_t bottom = CHAIN_COUNT - 1;
        struct scn_affine world;
        struct scn_trs local = at(2.0f, 0.0f, 0.0f);

        for (uint32_t i = 0; i < CHAIN_COUNT; i++)
                append(hierarchy, i, i == 0 ? SCN_SLOT_NONE : i - 1);
        scn_hierarchy_update(hierarchy);
        scn_hierarchy_set_local(hierarchy, 0, &local);
        scn_hierarchy_set_local(hierarchy, 1, &local);
        scn_hierarchy_set_local(hierarchy, bottom, &local);
        if (!scn_hierarchy_is_stale(hierarchy, bottom - 1))
                return "is_stale";
        if (scn_hierarchy_world(hierarchy, bottom, &world) != SCN_OK || world.m[3] != 6.0f)
                return "stale world";
        scn_hierarchy_update(hierarchy);
        if (scn_hierarchy_world(hierarchy, bottom, &world) != SCN_OK || world.m[3] != 6.0f)
                return "world";
        scn_hierarchy_set_local(hierarchy, bottom / 2, &local);
        scn_hierarchy_update(hierarchy);
        if (scn_hierarchy_world(hierarchy, bottom, &world) != SCN_OK || world.m[3] != 8.0f)
                return "world after an edit half-way";
        uint32_t steps = 0;
        for (uint32_t slot = 0; slot != SCN_SLOT_NONE; slot = scn_hierarchy_walk(hierarchy, 0, slot))
                steps++;
        uint32_t slot = scn_hierarchy_walk_last(hierarchy, 0);
        for (; slot != SCN_SLOT_NONE; slot = scn_hierarchy_walk_back(hierarchy, 0, slot))
                steps++;
        return steps == 2 * CHAIN_COUNT ? NULL : "walk";
}

SCN_TEST_WITH(hierarchy, needs_no_stack_for_depth, .timeout = 120)
{
        struct scn_hierarchy *hierarchy = create_with_slots(CHAIN_COUNT);
        pthread_attr_t attributes;
        pthread_t thread;
        void *complaint = NULL;

        cr_assert_eq(pthread_attr_init(&attributes), 0);
        cr_assert_eq(pthread_attr_setstacksize(&attributes, SMALL_STACK), 0);
        cr_assert_eq(pthread_create(&thread, &attributes, use_deep_chain, hierarchy), 0);
        cr_assert_eq(pthread_join(thread, &complaint), 0);
        pthread_attr_destroy(&attributes);
        cr_assert_null(complaint, "%s", (const char *)complaint);
        scn_hierarchy_destroy(hierarchy);
}
