/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/scene/hierarchy.h"

#include "tests/lib/test.h"
#include "tests/unit/protocol/scene/hierarchy_steps.h"

#include <math.h>

/* How many nodes are visited and recomputed: the source designs' own numbers, and what follows from the same rule. */

SCN_TEST(hierarchy_counts, recomputes_16_of_16_at_first)
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

SCN_TEST(hierarchy_counts, recomputes_a_rock_alone)
{
        struct scn_hierarchy *hierarchy = create_rocks();

        start_counting(hierarchy);
        move_to(hierarchy, 12, 9.0f);
        scn_hierarchy_update(hierarchy);
        expect_counts(hierarchy, 1, 1);
        scn_hierarchy_destroy(hierarchy);
}

SCN_TEST(hierarchy_counts, recomputes_a_group_with_its_four_rocks)
{
        struct scn_hierarchy *hierarchy = create_rocks();

        start_counting(hierarchy);
        move_to(hierarchy, 6, 100.0f);
        scn_hierarchy_update(hierarchy);
        expect_counts(hierarchy, 5, 5);
        scn_hierarchy_destroy(hierarchy);
}

SCN_TEST(hierarchy_counts, stops_at_once_where_a_group_is_marked_already)
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

SCN_TEST(hierarchy_counts, is_stale_in_the_whole_subtree_from_edit_to_update)
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

SCN_TEST(hierarchy_counts, recomputes_root_a_b_and_c_after_the_root)
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

SCN_TEST(hierarchy_counts, recomputes_leaves_marked_under_marked_parents_once)
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

SCN_TEST(hierarchy_counts, forgets_marks_of_slots_unlinked_meanwhile)
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

SCN_TEST(hierarchy_counts, recomputes_19886_of_10000000_for_the_sources_leaf_edits)
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

SCN_TEST(hierarchy_counts, recomputes_many_leaves_of_one_frame_once_each)
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

SCN_TEST(hierarchy_counts, recomputes_all_each_frame_for_the_root_or_on_demand)
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

SCN_TEST(hierarchy_counts, replaces_walks_longer_than_the_tree_by_a_full_pass)
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

SCN_TEST(hierarchy_counts, counts_exactly_up_to_1000_nodes_whatever_the_walks_cost)
{
        struct scn_hierarchy *hierarchy = create_broom(800, 100);

        scn_hierarchy_update(hierarchy);
        expect_counts(hierarchy, 200, 200);
        cr_assert_float_eq(world_x(hierarchy, 999), 99.0, 0.0);
        scn_hierarchy_destroy(hierarchy);
}

/* More nodes than the scratch list holds, so that the list moves on, once in the middle and once from its start. */
SCN_TEST(hierarchy_counts, counts_exactly_in_subtrees_larger_than_the_scratch_list)
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
