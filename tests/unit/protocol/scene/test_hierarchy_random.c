/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/scene/hierarchy.h"

#include "tests/lib/random.h"
#include "tests/lib/test.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Random trees against plain recomputation: in floats, which must agree in every bit, and in doubles, which must
 * agree about. */

#define MODEL_SLOTS_MAX 3000u

/* A tree as simply as it can be kept: what is whose parent, and whether the hierarchy may have an old world. */
struct model {
        struct scn_hierarchy *hierarchy;
        struct scn_random random;
        uint32_t count;
        uint32_t parents[MODEL_SLOTS_MAX];
        struct scn_trs locals[MODEL_SLOTS_MAX];
        bool is_edited[MODEL_SLOTS_MAX]; /* since the last update; what hangs below is stale */
        struct scn_affine worlds[MODEL_SLOTS_MAX];
        bool has_world[MODEL_SLOTS_MAX];
};

static void compose_child(const struct scn_affine *parent, const struct scn_trs *trs, struct scn_affine *world_out)
{
        float x = trs->r[0], y = trs->r[1], z = trs->r[2], w = trs->r[3];
        float x2 = x + x, y2 = y + y, z2 = z + z;
        float linear[9] = {
                (1.0f - (y * y2 + z * z2)) * trs->s[0],
                (x * y2 - w * z2) * trs->s[1],
                (x * z2 + w * y2) * trs->s[2],
                (x * y2 + w * z2) * trs->s[0],
                (1.0f - (x * x2 + z * z2)) * trs->s[1],
                (y * z2 - w * x2) * trs->s[2],
                (x * z2 - w * y2) * trs->s[0],
                (y * z2 + w * x2) * trs->s[1],
                (1.0f - (x * x2 + y * y2)) * trs->s[2],
        };

        for (uint32_t row = 0; row < 3; row++) {
                for (uint32_t column = 0; column < 3; column++) {
                        float own = linear[3 * row + column];
                        if (parent != NULL)
                                own = parent->m[4 * row] * linear[column] +
                                        parent->m[4 * row + 1] * linear[3 + column] +
                                        parent->m[4 * row + 2] * linear[6 + column];
                        world_out->m[4 * row + column] = own;
                }
                float moved = trs->t[row];
                if (parent != NULL)
                        moved = parent->m[4 * row] * trs->t[0] + parent->m[4 * row + 1] * trs->t[1] +
                                parent->m[4 * row + 2] * trs->t[2] + parent->m[4 * row + 3];
                world_out->m[4 * row + 3] = moved;
        }
}

/* The world by recursion; trees here are not deep. */
static const struct scn_affine *model_world(struct model *model, uint32_t slot)
{
        if (!model->has_world[slot]) {
                uint32_t parent = model->parents[slot];
                const struct scn_affine *above = parent == SCN_SLOT_NONE ? NULL : model_world(model, parent);
                compose_child(above, &model->locals[slot], &model->worlds[slot]);
                model->has_world[slot] = true;
        }
        return &model->worlds[slot];
}

static void forget_worlds(struct model *model)
{
        memset(model->has_world, 0, sizeof model->has_world);
}

/* Slot 0 is the root throughout. */
static bool is_attached(const struct model *model, uint32_t slot)
{
        while (model->parents[slot] != SCN_SLOT_NONE)
                slot = model->parents[slot];
        return slot == 0;
}

static bool is_below(const struct model *model, uint32_t slot, uint32_t top)
{
        while (slot != top && slot != SCN_SLOT_NONE)
                slot = model->parents[slot];
        return slot == top;
}

static bool is_stale(const struct model *model, uint32_t slot)
{
        for (; slot != SCN_SLOT_NONE; slot = model->parents[slot]) {
                if (model->is_edited[slot])
                        return true;
        }
        return false;
}

static struct scn_trs random_trs(struct scn_random *random)
{
        struct scn_trs trs;
        float length = 0.0f;

        for (uint32_t i = 0; i < 3; i++) {
                trs.t[i] = scn_random_float(random, -10.0f, 10.0f);
                trs.s[i] = scn_random_float(random, 0.5f, 1.5f);
        }
        for (uint32_t i = 0; i < 4; i++) {
                trs.r[i] = scn_random_float(random, -1.0f, 1.0f);
                length += trs.r[i] * trs.r[i];
        }
        for (uint32_t i = 0; i < 4; i++)
                trs.r[i] = length > 0.01f ? trs.r[i] / sqrtf(length) : (i == 3 ? 1.0f : 0.0f);
        return trs;
}

/* Now and then zero, negative, denormal, tiny or so huge that the world overflows. */
static struct scn_trs extreme_trs(struct scn_random *random)
{
        static const float odd[] = {
                0.0f, -0.0f, -1.0f, -3.0f, 1e-42f, -1e-45f, 1e-30f, 1e-20f, 1e12f, 1e19f, 3e38f, -3e38f};
        struct scn_trs trs = random_trs(random);

        for (uint32_t i = 0; i < 3; i++) {
                if (scn_random_chance(random, 8))
                        trs.s[i] = odd[scn_random_below(random, sizeof odd / sizeof odd[0])];
                if (scn_random_chance(random, 4))
                        trs.t[i] = odd[scn_random_below(random, sizeof odd / sizeof odd[0])];
        }
        return trs;
}

static struct model *model_create(uint64_t seed, uint32_t count)
{
        struct model *model = scn_alloc_zero(1, sizeof *model);

        cr_assert_not_null(model);
        cr_assert_leq(count, MODEL_SLOTS_MAX);
        model->random = scn_random_from_seed(seed);
        model->count = count;
        model->hierarchy = scn_hierarchy_create();
        cr_assert_not_null(model->hierarchy);
        cr_assert_eq(scn_hierarchy_reserve(model->hierarchy, count), SCN_OK);
        for (uint32_t i = 0; i < count; i++) {
                model->parents[i] = SCN_SLOT_NONE;
                model->locals[i] = SCN_TRS_IDENTITY;
        }
        return model;
}

static void model_destroy(struct model *model)
{
        scn_hierarchy_destroy(model->hierarchy);
        scn_free(model);
}

static void model_set_local(struct model *model, uint32_t slot, struct scn_trs trs)
{
        model->locals[slot] = trs;
        model->is_edited[slot] = true;
        scn_hierarchy_set_local(model->hierarchy, slot, &trs);
}

static void model_link(struct model *model, uint32_t slot, uint32_t parent)
{
        uint32_t previous = SCN_SLOT_NONE;

        if (parent != SCN_SLOT_NONE && scn_random_chance(&model->random, 80)) {
                previous = scn_hierarchy_last_child(model->hierarchy, parent);
                while (previous != SCN_SLOT_NONE && scn_random_chance(&model->random, 40))
                        previous = scn_hierarchy_previous(model->hierarchy, previous);
        }
        model->parents[slot] = parent;
        model->is_edited[slot] = true;
        scn_hierarchy_link(model->hierarchy, slot, parent, previous);
}

/* A parent for each slot: of the shapes chain, row, fan and random, whichever `shape` says. */
static void model_link_all(struct model *model, uint32_t shape)
{
        model_link(model, 0, SCN_SLOT_NONE);
        for (uint32_t i = 1; i < model->count; i++) {
                uint32_t nearby = i - 1 - scn_random_below(&model->random, i < 20 ? i : 20);
                uint32_t parents[] = {i - 1, 0, (i - 1) / 4, scn_random_below(&model->random, i), nearby};
                model_link(model, i, parents[shape % 5]);
        }
}

static void expect_world(struct model *model, uint32_t slot, uint64_t seed)
{
        struct scn_affine world;
        enum scn_error error = scn_hierarchy_world(model->hierarchy, slot, &world);
        const struct scn_affine *expected = model_world(model, slot);
        bool is_finite = true;

        for (uint32_t i = 0; i < 12; i++)
                is_finite = is_finite && isfinite(expected->m[i]);
        cr_assert_eq(error, is_finite ? SCN_OK : SCN_E_OVERFLOW, "slot %u, seed %" PRIu64, slot, seed);
        cr_assert_eq(memcmp(&world, expected, sizeof world), 0, "slot %u, seed %" PRIu64, slot, seed);
}

static void expect_all(struct model *model, uint64_t seed)
{
        forget_worlds(model);
        for (uint32_t slot = 0; slot < model->count; slot++) {
                cr_assert_eq(scn_hierarchy_parent(model->hierarchy, slot), model->parents[slot]);
                if (!is_attached(model, slot))
                        continue;
                cr_assert_eq(scn_hierarchy_is_stale(model->hierarchy, slot), is_stale(model, slot),
                        "slot %u, seed %" PRIu64, slot, seed);
                expect_world(model, slot, seed);
        }
}

/* Every stale node is recomputed, and once. What is not attached may be recomputed too: nobody reads it. */
static void model_update(struct model *model, uint64_t seed)
{
        uint64_t stale = 0;
        uint64_t unattached = 0;

        for (uint32_t slot = 0; slot < model->count; slot++) {
                if (!is_attached(model, slot))
                        unattached++;
                else if (is_stale(model, slot))
                        stale++;
        }
        scn_hierarchy_reset_counters(model->hierarchy);
        scn_hierarchy_update(model->hierarchy);
        struct scn_hierarchy_counters counters = scn_hierarchy_counters(model->hierarchy);
        if (counters.full_passes == 0) {
                cr_assert_geq(counters.recomputed, stale, "seed %" PRIu64, seed);
                cr_assert_leq(counters.recomputed, stale + unattached, "seed %" PRIu64, seed);
                cr_assert_eq(counters.visited, counters.recomputed);
                cr_assert_eq(counters.full_recomputed, 0);
        } else {
                cr_assert_gt(model->count, 1000);
                cr_assert_eq(counters.full_recomputed, model->count - unattached);
        }
        memset(model->is_edited, 0, sizeof model->is_edited);
}

static void random_step(struct model *model, uint64_t seed)
{
        struct scn_random *random = &model->random;
        uint32_t slot = scn_random_below(random, model->count);
        uint32_t other = scn_random_below(random, model->count);

        switch (scn_random_below(random, 10)) {
        case 0:
        case 1:
                if (slot != 0 && model->parents[slot] != SCN_SLOT_NONE) {
                        scn_hierarchy_unlink(model->hierarchy, slot);
                        model->parents[slot] = SCN_SLOT_NONE;
                }
                break;
        case 2:
        case 3:
        case 4:
                if (slot != 0 && model->parents[slot] == SCN_SLOT_NONE && !is_below(model, other, slot))
                        model_link(model, slot, other);
                break;
        case 5:
        case 6:
        case 7:
                model_set_local(model, slot, random_trs(random));
                break;
        case 8:
                forget_worlds(model);
                if (is_attached(model, slot))
                        expect_world(model, slot, seed);
                break;
        default:
                if (scn_random_chance(random, 40))
                        model_update(model, seed);
                break;
        }
}

SCN_TEST_WITH(hierarchy_random, equals_a_plain_recomputation_after_random_edits, .timeout = 250)
{
        static const uint32_t counts[] = {1, 2, 5, 17, 60, 200, 1200};
        uint64_t base = scn_test_seed(1000);

        for (uint64_t seed = base; seed < base + 70; seed++) {
                struct model *model = model_create(seed, counts[seed % 7]);
                model_link_all(model, (uint32_t)(seed / 7));
                for (uint32_t step = 0; step < 600; step++) {
                        random_step(model, seed);
                        if (step % 97 == 0)
                                expect_all(model, seed);
                }
                model_update(model, seed);
                expect_all(model, seed);
                scn_hierarchy_update_all(model->hierarchy);
                expect_all(model, seed);
                model_destroy(model);
        }
}

static const enum scn_kernel kernels[] = {SCN_KERNEL_BEST, SCN_KERNEL_SCALAR, SCN_KERNEL_VECTOR4, SCN_KERNEL_VECTOR8};

SCN_TEST_WITH(hierarchy_random, has_the_same_bits_with_every_kernel, .timeout = 120)
{
        uint64_t base = scn_test_seed(2000);
        uint32_t overflows = 0;
        uint32_t kernels_tried = 0;

        for (uint64_t seed = base; seed < base + 40; seed++) {
                struct model *model = model_create(seed, 1 + (uint32_t)seed * 37 % MODEL_SLOTS_MAX);
                model_link_all(model, (uint32_t)seed);
                for (uint32_t i = 0; i < model->count; i++)
                        model_set_local(model, i, extreme_trs(&model->random));
                for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++) {
                        if (!scn_kernel_is_available(kernels[k]))
                                continue;
                        kernels_tried++;
                        scn_hierarchy_set_kernel(model->hierarchy, kernels[k]);
                        scn_hierarchy_update_all(model->hierarchy);
                        memset(model->is_edited, 0, sizeof model->is_edited);
                        expect_all(model, seed);
                        /* Dirty updates of a few subtrees and leaves, then everything from its local up. */
                        for (uint32_t i = 0; i < 30; i++) {
                                uint32_t slot = scn_random_below(&model->random, model->count);
                                model_set_local(model, slot, extreme_trs(&model->random));
                        }
                        model_update(model, seed);
                        expect_all(model, seed);
                }
                for (uint32_t slot = 0; slot < model->count; slot++)
                        overflows += isfinite(model->worlds[slot].m[0]) ? 0 : 1;
                model_destroy(model);
        }
        /* Scalar and four lanes are everywhere; and the extremes must really have been reached. */
        cr_assert_geq(kernels_tried, 3 * 40);
        cr_assert_gt(overflows, 100);
}

SCN_TEST(hierarchy_random, is_near_a_recomputation_in_doubles)
{
        uint64_t base = scn_test_seed(3000);

        for (uint64_t seed = base; seed < base + 10; seed++) {
                struct model *model = model_create(seed, 500);
                model_link_all(model, 2 + (uint32_t)seed % 2);
                for (uint32_t i = 0; i < model->count; i++)
                        model_set_local(model, i, random_trs(&model->random));
                model_update(model, seed);
                for (uint32_t slot = 0; slot < model->count; slot++) {
                        /* The origin of the node carried up through every parent, which is no matrix product. */
                        double point[3] = {0.0, 0.0, 0.0};
                        double size = 1.0;
                        for (uint32_t up = slot; up != SCN_SLOT_NONE; up = model->parents[up]) {
                                const struct scn_trs *trs = &model->locals[up];
                                double q[4] = {trs->r[0], trs->r[1], trs->r[2], trs->r[3]};
                                double v[3], a[3], b[3];
                                for (uint32_t i = 0; i < 3; i++)
                                        v[i] = point[i] * (double)trs->s[i];
                                /* v + 2 q x (q x v + w v) */
                                for (uint32_t i = 0; i < 3; i++)
                                        a[i] = q[(i + 1) % 3] * v[(i + 2) % 3] - q[(i + 2) % 3] * v[(i + 1) % 3] +
                                                q[3] * v[i];
                                for (uint32_t i = 0; i < 3; i++)
                                        b[i] = q[(i + 1) % 3] * a[(i + 2) % 3] - q[(i + 2) % 3] * a[(i + 1) % 3];
                                for (uint32_t i = 0; i < 3; i++) {
                                        point[i] = v[i] + 2.0 * b[i] + (double)trs->t[i];
                                        size = fmax(size, fabs(point[i]));
                                }
                        }
                        struct scn_affine world;
                        cr_assert_eq(scn_hierarchy_world(model->hierarchy, slot, &world), SCN_OK);
                        for (uint32_t i = 0; i < 3; i++)
                                cr_assert_float_eq((double)world.m[4 * i + 3], point[i], 1e-5 * size,
                                        "slot %u, seed %" PRIu64, slot, seed);
                }
                model_destroy(model);
        }
}

/* CASES B29 (4): many small edits and questions between few updates. */
SCN_TEST(hierarchy_random, answers_like_brute_force_after_10000_edits_and_questions)
{
        uint64_t seed = scn_test_seed(4000);
        struct model *model = model_create(seed, 40);

        model_link_all(model, 4);
        for (uint32_t step = 0; step < 10000; step++) {
                model_set_local(model, scn_random_below(&model->random, model->count), random_trs(&model->random));
                forget_worlds(model);
                expect_world(model, scn_random_below(&model->random, model->count), seed);
                if (scn_random_chance(&model->random, 5))
                        model_update(model, seed);
        }
        model_destroy(model);
}
