/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_UNIT_PROTOCOL_SCENE_HIERARCHY_STEPS_H
#define SCN_TESTS_UNIT_PROTOCOL_SCENE_HIERARCHY_STEPS_H

/* What the tests of the hierarchy do in one word. Each uses some of it, hence inline. */

#include "protocol/scene/hierarchy.h"
#include "tests/lib/test.h"

#include <inttypes.h>

static inline struct scn_hierarchy *create_with_slots(uint32_t count)
{
        struct scn_hierarchy *hierarchy = scn_hierarchy_create();
        cr_assert_not_null(hierarchy);
        cr_assert_eq(scn_hierarchy_reserve(hierarchy, count), SCN_OK);
        return hierarchy;
}

static inline void append(struct scn_hierarchy *hierarchy, uint32_t slot, uint32_t parent)
{
        uint32_t previous = parent == SCN_SLOT_NONE ? SCN_SLOT_NONE : scn_hierarchy_last_child(hierarchy, parent);
        scn_hierarchy_link(hierarchy, slot, parent, previous);
}

static inline struct scn_trs at(float x, float y, float z)
{
        struct scn_trs trs = SCN_TRS_IDENTITY;
        trs.t[0] = x;
        trs.t[1] = y;
        trs.t[2] = z;
        return trs;
}

static inline void move_to(struct scn_hierarchy *hierarchy, uint32_t slot, float x)
{
        struct scn_trs trs = at(x, 0.0f, 0.0f);
        scn_hierarchy_set_local(hierarchy, slot, &trs);
}

static inline void start_counting(struct scn_hierarchy *hierarchy)
{
        scn_hierarchy_update(hierarchy);
        scn_hierarchy_reset_counters(hierarchy);
}

static inline void expect_counts(const struct scn_hierarchy *hierarchy, uint64_t visited, uint64_t recomputed)
{
        struct scn_hierarchy_counters counters = scn_hierarchy_counters(hierarchy);
        cr_assert_eq(counters.visited, visited, "%" PRIu64 " visited", counters.visited);
        cr_assert_eq(counters.recomputed, recomputed, "%" PRIu64 " recomputed", counters.recomputed);
        cr_assert_eq(counters.full_passes, 0);
        cr_assert_eq(counters.full_recomputed, 0);
}

static inline float world_x(const struct scn_hierarchy *hierarchy, uint32_t slot)
{
        struct scn_affine world;
        cr_assert_eq(scn_hierarchy_world(hierarchy, slot, &world), SCN_OK);
        return world.m[3];
}

/* 1 root (slot 0), 3 groups (1, 6, 11), 4 rocks behind each. */
static inline struct scn_hierarchy *create_rocks(void)
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

#endif
