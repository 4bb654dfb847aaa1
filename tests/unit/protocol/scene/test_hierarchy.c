/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/scene/hierarchy.h"

#include "tests/lib/test.h"
#include "tests/unit/protocol/scene/hierarchy_steps.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

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
        cr_assert_leq(bytes, UINT64_C(120) * 1000000 + 6 * 4096, "%" PRIu64 " bytes", bytes);
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
