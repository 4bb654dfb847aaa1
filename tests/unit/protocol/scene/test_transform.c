/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/scene/transform.h"

#include "tests/lib/random.h"
#include "tests/lib/test.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define HALF_SQRT2 0.70710678f
#define MANY 2000u

static const struct scn_affine64 identity = {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}};

static double length4(const float q[4])
{
        return sqrt((double)q[0] * q[0] + (double)q[1] * q[1] + (double)q[2] * q[2] + (double)q[3] * q[3]);
}

static struct scn_trs random_rigid(struct scn_random *random)
{
        struct scn_trs trs = SCN_TRS_IDENTITY;
        double length;

        do {
                for (uint32_t i = 0; i < 4; i++)
                        trs.r[i] = scn_random_float(random, -1.0f, 1.0f);
                length = length4(trs.r);
        } while (length < 0.1);
        for (uint32_t i = 0; i < 4; i++)
                trs.r[i] = (float)(trs.r[i] / length);
        for (uint32_t i = 0; i < 3; i++)
                trs.t[i] = scn_random_float(random, -10.0f, 10.0f);
        return trs;
}

static struct scn_trs random_similarity(struct scn_random *random)
{
        struct scn_trs trs = random_rigid(random);
        trs.s[0] = trs.s[1] = trs.s[2] = scn_random_float(random, 0.2f, 5.0f);
        return trs;
}

static struct scn_trs random_trs(struct scn_random *random)
{
        struct scn_trs trs = random_rigid(random);
        for (uint32_t i = 0; i < 3; i++)
                trs.s[i] = scn_random_float(random, 0.2f, 5.0f);
        return trs;
}

static double largest_difference(const struct scn_affine64 *a, const struct scn_affine64 *b)
{
        double largest = 0.0;
        for (uint32_t i = 0; i < 12; i++) {
                double difference = fabs(a->m[i] - b->m[i]);
                /* Written so that NaN counts as the worst. */
                largest = difference <= largest ? largest : difference;
        }
        return largest;
}

static double largest_entry(const struct scn_affine64 *a)
{
        static const struct scn_affine64 zero;
        return largest_difference(a, &zero);
}

static void expect_usable(const struct scn_trs *trs)
{
        cr_assert_eq(scn_transform_check(trs->t, 3), SCN_OK);
        cr_assert_eq(scn_transform_check(trs->s, 3), SCN_OK);
        cr_assert_float_eq(length4(trs->r), 1.0, SCN_QUATERNION_UNIT_TOLERANCE);
}

static void expect_bits(const float *actual, const float *expected, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                cr_assert_eq(memcmp(&actual[i], &expected[i], sizeof(float)), 0, "%u: %a instead of %a", i,
                        (double)actual[i], (double)expected[i]);
}

/* ---- Checking and normalising ---- */

SCN_TEST(transform, accepts_finite_numbers_only)
{
        float numbers[] = {0.0f, -FLT_MAX, 1e-45f, 1.0f};

        cr_assert_eq(scn_transform_check(numbers, 4), SCN_OK);
        cr_assert_eq(scn_transform_check(numbers, 0), SCN_OK);
        numbers[3] = INFINITY;
        cr_assert_eq(scn_transform_check(numbers, 4), SCN_E_NOT_FINITE);
        cr_assert_eq(scn_transform_check(numbers, 3), SCN_OK);
        numbers[0] = NAN;
        cr_assert_eq(scn_transform_check(numbers, 1), SCN_E_NOT_FINITE);
}

SCN_TEST(quaternion, keeps_its_bits_within_the_tolerance)
{
        static const float lengths[] = {1.0f, 0.9999901f, 1.0000099f};
        bool was_changed;

        for (uint32_t i = 0; i < 3; i++) {
                float q[4] = {0.6f * lengths[i], -0.0f, 0.8f * lengths[i], 0.0f};
                float before[4];
                memcpy(before, q, sizeof q);
                cr_assert_eq(scn_quaternion_normalise(q, &was_changed), SCN_OK);
                cr_assert_not(was_changed);
                expect_bits(q, before, 4);
        }
}

SCN_TEST(quaternion, becomes_a_unit_and_says_so_outside_the_tolerance)
{
        static const float lengths[] = {0.99998f, 1.00002f, 1.1e-6f, 3e38f, 2.0f};
        bool was_changed;

        for (uint32_t i = 0; i < 5; i++) {
                float q[4] = {0.6f * lengths[i], 0.0f, -0.8f * lengths[i], 0.0f};
                cr_assert_eq(scn_quaternion_normalise(q, &was_changed), SCN_OK);
                cr_assert(was_changed);
                cr_assert_float_eq(q[0], 0.6, 1e-7);
                cr_assert_float_eq(q[2], -0.8, 1e-7);
                cr_assert_eq(scn_quaternion_normalise(q, &was_changed), SCN_OK);
                cr_assert_not(was_changed, "a normalised quaternion is one to keep");
        }
}

SCN_TEST(quaternion, is_refused_without_length_or_finiteness)
{
        float none[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        float short_one[4] = {0.0f, 9e-7f, 0.0f, 0.0f};
        float infinite[4] = {0.0f, 0.0f, INFINITY, 1.0f};
        float nan[4] = {NAN, 0.0f, 0.0f, 1.0f};
        bool was_changed;

        cr_assert_eq(scn_quaternion_normalise(none, &was_changed), SCN_E_ZERO_QUATERNION);
        cr_assert_eq(scn_quaternion_normalise(short_one, &was_changed), SCN_E_ZERO_QUATERNION);
        cr_assert_eq(scn_quaternion_normalise(infinite, &was_changed), SCN_E_NOT_FINITE);
        cr_assert_eq(scn_quaternion_normalise(nan, &was_changed), SCN_E_NOT_FINITE);
}

/* ---- Matrices ---- */

SCN_TEST(affine64, is_translation_times_rotation_times_scale)
{
        /* A quarter turn about z, then about x. */
        struct scn_trs about_z = {{1, 2, 3}, {0, 0, HALF_SQRT2, HALF_SQRT2}, {2, 3, 4}};
        struct scn_trs about_x = {{0, 0, 0}, {HALF_SQRT2, 0, 0, HALF_SQRT2}, {1, 1, 1}};
        struct scn_affine64 z = scn_affine64_from_trs(&about_z);
        struct scn_affine64 x = scn_affine64_from_trs(&about_x);
        struct scn_affine64 product = scn_affine64_multiply(&z, &x);
        struct scn_affine64 z_expected = {{0, -3, 0, 1, 2, 0, 0, 2, 0, 0, 4, 3}};
        struct scn_affine64 product_expected = {{0, 0, 3, 1, 2, 0, 0, 2, 0, 4, 0, 3}};

        cr_assert_lt(largest_difference(&z, &z_expected), 1e-6);
        cr_assert_lt(largest_difference(&product, &product_expected), 1e-6);
}

SCN_TEST(affine64, agrees_with_the_worlds_of_a_hierarchy)
{
        struct scn_random random = scn_random_from_seed(scn_test_seed(1));
        struct scn_hierarchy *hierarchy = scn_hierarchy_create();

        cr_assert_not_null(hierarchy);
        cr_assert_eq(scn_hierarchy_reserve(hierarchy, 8), SCN_OK);
        for (uint32_t i = 0; i < 8; i++) {
                struct scn_trs trs = random_similarity(&random);
                scn_hierarchy_link(hierarchy, i, i == 0 ? SCN_SLOT_NONE : i - 1, SCN_SLOT_NONE);
                scn_hierarchy_set_local(hierarchy, i, &trs);
        }
        for (uint32_t i = 0; i < 8; i++) {
                struct scn_affine64 world64 = scn_transform_world64(hierarchy, i);
                struct scn_affine world;
                cr_assert_eq(scn_hierarchy_world(hierarchy, i, &world), SCN_OK);
                for (uint32_t k = 0; k < 12; k++)
                        cr_assert_float_eq((double)world.m[k], world64.m[k], 1e-5 * largest_entry(&world64));
        }
        scn_hierarchy_destroy(hierarchy);
}

SCN_TEST(affine64, times_its_inverse_is_the_identity)
{
        struct scn_random random = scn_random_from_seed(scn_test_seed(2));

        for (uint32_t i = 0; i < MANY; i++) {
                struct scn_trs trs = random_trs(&random);
                struct scn_trs below = random_trs(&random);
                trs.s[i % 3] *= i % 5 == 0 ? -1e-4f : i % 5 == 1 ? 1e3f : 1.0f;
                struct scn_affine64 a = scn_affine64_from_trs(&trs);
                struct scn_affine64 b = scn_affine64_from_trs(&below);
                struct scn_affine64 matrix = i % 5 < 2 ? a : scn_affine64_multiply(&a, &b);
                struct scn_affine64 inverse;
                cr_assert_eq(scn_affine64_invert(&matrix, &inverse), SCN_OK);
                struct scn_affine64 product = scn_affine64_multiply(&inverse, &matrix);
                cr_assert_lt(largest_difference(&product, &identity), 1e-8, "%u", i);
        }
}

SCN_TEST(affine64, inverts_tiny_and_huge_scales)
{
        struct scn_trs tiny = {{1e-30f, 0, 0}, {0, 0, 0, 1}, {1e-38f, 1e38f, 1}};
        struct scn_affine64 matrix = scn_affine64_from_trs(&tiny);
        struct scn_affine64 deep = matrix;
        struct scn_affine64 inverse;

        cr_assert_eq(scn_affine64_invert(&matrix, &inverse), SCN_OK);
        struct scn_affine64 product = scn_affine64_multiply(&inverse, &matrix);
        cr_assert_lt(largest_difference(&product, &identity), 1e-12);
        for (uint32_t i = 0; i < 3; i++)
                deep = scn_affine64_multiply(&deep, &matrix);
        cr_assert_eq(scn_affine64_invert(&deep, &inverse), SCN_OK);
        product = scn_affine64_multiply(&inverse, &deep);
        cr_assert_lt(largest_difference(&product, &identity), 1e-12);
}

SCN_TEST(affine64, is_singular_without_volume)
{
        static const float scales[][3] = {
                {0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {0, 0, 0}, {-0.0f, 1, 1}, {1e-30f, 0, 1e30f}};
        struct scn_random random = scn_random_from_seed(scn_test_seed(3));
        struct scn_affine64 inverse;

        for (uint32_t i = 0; i < 600; i++) {
                struct scn_trs flat = random_rigid(&random);
                memcpy(flat.s, scales[i % 6], sizeof flat.s);
                struct scn_trs above = random_trs(&random);
                struct scn_trs below = random_trs(&random);
                struct scn_affine64 a = scn_affine64_from_trs(&above);
                struct scn_affine64 f = scn_affine64_from_trs(&flat);
                struct scn_affine64 b = scn_affine64_from_trs(&below);
                cr_assert_eq(scn_affine64_invert(&f, &inverse), SCN_E_SINGULAR, "%u", i);
                /* Rounding leaves no exact zero here. */
                a = scn_affine64_multiply(&a, &f);
                a = scn_affine64_multiply(&a, &b);
                cr_assert_eq(scn_affine64_invert(&a, &inverse), SCN_E_SINGULAR, "%u", i);
        }
        struct scn_affine64 infinite = identity;
        infinite.m[5] = INFINITY;
        cr_assert_eq(scn_affine64_invert(&infinite, &inverse), SCN_E_SINGULAR);
        infinite.m[5] = NAN;
        cr_assert_eq(scn_affine64_invert(&infinite, &inverse), SCN_E_SINGULAR);
        infinite.m[5] = 1e300;
        cr_assert_eq(scn_affine64_invert(&infinite, &inverse), SCN_E_SINGULAR);
        infinite.m[5] = 1.0;
        infinite.m[3] = INFINITY;
        cr_assert_eq(scn_affine64_invert(&infinite, &inverse), SCN_E_SINGULAR);
}

SCN_TEST(affine64, rounds_to_floats_unless_they_overflow)
{
        struct scn_affine64 matrix = identity;
        struct scn_affine rounded;

        matrix.m[3] = 0.1;
        cr_assert_eq(scn_affine64_round(&matrix, &rounded), SCN_OK);
        cr_assert_eq(rounded.m[3], 0.1f);
        cr_assert_eq(rounded.m[10], 1.0f);
        matrix.m[3] = 3.5e38;
        cr_assert_eq(scn_affine64_round(&matrix, &rounded), SCN_E_OVERFLOW);
        matrix.m[3] = NAN;
        cr_assert_eq(scn_affine64_round(&matrix, &rounded), SCN_E_OVERFLOW);
}

SCN_TEST(affine, becomes_a_column_major_matrix)
{
        struct scn_affine affine = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
        static const float expected[16] = {1, 5, 9, 0, 2, 6, 10, 0, 3, 7, 11, 0, 4, 8, 12, 1};
        float mat4[16];

        scn_affine_to_mat4(&affine, mat4);
        expect_bits(mat4, expected, 16);
}

SCN_TEST(trs, becomes_gltfs_matrix)
{
        struct scn_random random = scn_random_from_seed(scn_test_seed(4));

        for (uint32_t i = 0; i < MANY; i++) {
                struct scn_trs trs = random_trs(&random);
                struct scn_affine64 expected = scn_affine64_from_trs(&trs);
                float mat4[16];
                scn_trs_to_mat4(&trs, mat4);
                for (uint32_t row = 0; row < 3; row++) {
                        for (uint32_t column = 0; column < 4; column++)
                                cr_assert_float_eq((double)mat4[4 * column + row], expected.m[4 * row + column], 2e-6);
                }
                expect_bits(&mat4[12], trs.t, 3);
                cr_assert(mat4[3] == 0.0f && mat4[7] == 0.0f && mat4[11] == 0.0f && mat4[15] == 1.0f);
        }
}

/* ---- Decomposing ---- */

static struct scn_trs decompose_and_check(const struct scn_affine64 *matrix, double tolerance)
{
        double residual = -1.0;
        struct scn_trs trs = scn_transform_decompose(matrix, &residual);
        struct scn_affine64 again = scn_affine64_from_trs(&trs);

        expect_usable(&trs);
        cr_assert_geq(residual, 0.0);
        cr_assert_lt(residual, SCN_SHEAR_TOLERANCE);
        cr_assert_lt(largest_difference(&again, matrix), tolerance * largest_entry(matrix));
        return trs;
}

SCN_TEST(transform, decomposes_what_was_composed)
{
        struct scn_random random = scn_random_from_seed(scn_test_seed(5));

        for (uint32_t i = 0; i < MANY; i++) {
                struct scn_trs trs = random_trs(&random);
                struct scn_affine64 matrix = scn_affine64_from_trs(&trs);
                struct scn_trs result = decompose_and_check(&matrix, 1e-6);
                float sign = result.r[0] * trs.r[0] + result.r[3] * trs.r[3] + result.r[1] * trs.r[1] +
                                        result.r[2] * trs.r[2] <
                                0.0f
                        ? -1.0f
                        : 1.0f;
                for (uint32_t k = 0; k < 4; k++)
                        cr_assert_float_eq(sign * result.r[k], trs.r[k], 1e-6);
                for (uint32_t k = 0; k < 3; k++)
                        cr_assert_float_eq(result.s[k] / trs.s[k], 1.0f, 1e-6);
                expect_bits(result.t, trs.t, 3);
        }
}

/* One formula for each component that may be the largest, and turns by half where the others vanish. */
SCN_TEST(transform, decomposes_half_turns)
{
        static const float rotations[][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1},
                {HALF_SQRT2, HALF_SQRT2, 0, 0}, {0, HALF_SQRT2, HALF_SQRT2, 0}, {0.5f, 0.5f, 0.5f, 0.5f},
                {0.5f, -0.5f, 0.5f, -0.5f}};

        for (uint32_t i = 0; i < 8; i++) {
                struct scn_trs trs = SCN_TRS_IDENTITY;
                memcpy(trs.r, rotations[i], sizeof trs.r);
                struct scn_affine64 matrix = scn_affine64_from_trs(&trs);
                decompose_and_check(&matrix, 1e-6);
        }
}

SCN_TEST(transform, decomposes_a_mirror_with_one_negative_scale_on_x)
{
        struct scn_random random = scn_random_from_seed(scn_test_seed(6));

        for (uint32_t i = 0; i < MANY; i++) {
                struct scn_trs trs = random_trs(&random);
                trs.s[i % 3] = -trs.s[i % 3];
                struct scn_affine64 matrix = scn_affine64_from_trs(&trs);
                struct scn_trs result = decompose_and_check(&matrix, 1e-6);
                cr_assert(result.s[0] < 0.0f && result.s[1] > 0.0f && result.s[2] > 0.0f);
        }
}

SCN_TEST(transform, decomposes_columns_without_length)
{
        static const bool is_zero[][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}};
        struct scn_random random = scn_random_from_seed(scn_test_seed(7));

        for (uint32_t i = 0; i < 700; i++) {
                struct scn_trs trs = random_trs(&random);
                for (uint32_t k = 0; k < 3; k++)
                        trs.s[k] = is_zero[i % 7][k] ? 0.0f : trs.s[k];
                struct scn_affine64 matrix = scn_affine64_from_trs(&trs);
                struct scn_trs result = decompose_and_check(&matrix, 1e-6);
                for (uint32_t k = 0; k < 3; k++)
                        cr_assert_eq(result.s[k] == 0.0f, is_zero[i % 7][k]);
        }
}

SCN_TEST(transform, reports_the_shear_it_cannot_decompose)
{
        struct scn_affine64 matrix = identity;
        double residual;

        matrix.m[1] = 0.5;
        (void)scn_transform_decompose(&matrix, &residual);
        cr_assert_gt(residual, 0.1);
        matrix.m[1] = 1e-3;
        (void)scn_transform_decompose(&matrix, &residual);
        cr_assert_gt(residual, SCN_SHEAR_TOLERANCE);
        matrix.m[1] = 1e-6;
        (void)scn_transform_decompose(&matrix, &residual);
        cr_assert_lt(residual, SCN_SHEAR_TOLERANCE);
        /* All columns point one way. */
        struct scn_affine64 flat = {{1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0}};
        struct scn_trs trs = scn_transform_decompose(&flat, &residual);
        expect_usable(&trs);
        cr_assert_gt(residual, 0.1);
}

SCN_TEST(transform, never_decomposes_into_nan)
{
        static const double odd[] = {0.0, -0.0, 1.0, -1.0, 1e-300, -1e-320, 1e30, 1e308, -1e308, 3.0};
        struct scn_random random = scn_random_from_seed(scn_test_seed(8));

        for (uint32_t i = 0; i < 20000; i++) {
                struct scn_affine64 matrix;
                double residual;
                for (uint32_t k = 0; k < 12; k++)
                        matrix.m[k] = odd[scn_random_below(&random, i % 2 == 0 ? 10 : 4)];
                struct scn_trs trs = scn_transform_decompose(&matrix, &residual);
                for (uint32_t k = 0; k < 3; k++)
                        cr_assert_not(isnan(trs.t[k]) || isnan(trs.s[k]));
                cr_assert_float_eq(length4(trs.r), 1.0, SCN_QUATERNION_UNIT_TOLERANCE);
                cr_assert_not(isnan(residual));
                if (isinf(trs.s[0]) || isinf(trs.s[1]) || isinf(trs.s[2]))
                        cr_assert(isinf(residual), "what does not fit must not pass");
        }
}

/* ---- Keeping the world ---- */

static struct scn_trs keep(const struct scn_affine64 *from, const struct scn_affine64 *to, const struct scn_trs *local)
{
        struct scn_trs result;
        double residual = -1.0;

        cr_assert_eq(scn_transform_keep_world(from, to, local, &result, &residual), SCN_OK);
        cr_assert_geq(residual, 0.0);
        cr_assert_lt(residual, SCN_SHEAR_TOLERANCE);
        expect_usable(&result);
        return result;
}

SCN_TEST(keep_world, leaves_the_node_where_it_is)
{
        struct scn_random random = scn_random_from_seed(scn_test_seed(9));

        for (uint32_t i = 0; i < MANY; i++) {
                struct scn_trs from_trs = random_similarity(&random);
                struct scn_trs to_trs = random_similarity(&random);
                struct scn_trs local = random_trs(&random);
                /* A mirrored parent takes all three signs, or it would shear. */
                float mirror = i % 4 == 0 ? -1.0f : 1.0f;
                for (uint32_t k = 0; k < 3; k++) {
                        to_trs.s[k] *= mirror;
                        local.s[k] *= i % 3 == k ? -1.0f : 1.0f;
                }
                struct scn_affine64 from = scn_affine64_from_trs(&from_trs);
                struct scn_affine64 to = scn_affine64_from_trs(&to_trs);
                struct scn_trs result = keep(&from, &to, &local);
                struct scn_affine64 before = scn_affine64_from_trs(&local);
                struct scn_affine64 after = scn_affine64_from_trs(&result);
                before = scn_affine64_multiply(&from, &before);
                after = scn_affine64_multiply(&to, &after);
                cr_assert_lt(largest_difference(&before, &after), 1e-6 * (20.0 + largest_entry(&before)), "%u", i);
                for (uint32_t k = 0; k < 3; k++) {
                        bool is_flipped = mirror < 0.0f && k == 0;
                        cr_assert_eq(signbit(result.s[k]) != 0, (signbit(local.s[k]) != 0) != is_flipped);
                }
        }
}

SCN_TEST(keep_world, keeps_the_bits_under_parents_that_only_stand_elsewhere)
{
        struct scn_random random = scn_random_from_seed(scn_test_seed(10));

        for (uint32_t i = 0; i < MANY; i++) {
                struct scn_affine64 from = identity;
                struct scn_affine64 to = identity;
                from.m[3] = 10.0;
                to.m[7] = -2.0;
                struct scn_trs local = random_trs(&random);
                local.t[0] = 1.0f;
                local.t[1] = 2.0f;
                /* Of a length that is kept, though it is not quite 1. */
                for (uint32_t k = 0; k < 4; k++)
                        local.r[k] *= 1.000009f;
                struct scn_trs result = keep(&from, &to, &local);
                expect_bits(result.r, local.r, 4);
                expect_bits(result.s, local.s, 3);
                expect_bits(result.t, (float[3]){11.0f, 4.0f, local.t[2]}, 3);
        }
}

SCN_TEST(keep_world, takes_no_quaternion_that_may_be_stored_for_shear)
{
        struct scn_random random = scn_random_from_seed(scn_test_seed(14));
        double worst = 0.0;

        for (uint32_t i = 0; i < MANY; i++) {
                struct scn_trs to_trs = random_similarity(&random);
                struct scn_affine64 to = scn_affine64_from_trs(&to_trs);
                struct scn_trs local = random_rigid(&random);
                for (uint32_t k = 0; k < 4; k++)
                        local.r[k] *= i % 2 == 0 ? 1.0000098f : 0.9999902f;
                struct scn_trs result;
                double residual;
                cr_assert_eq(scn_transform_keep_world(&identity, &to, &local, &result, &residual), SCN_OK);
                worst = fmax(worst, residual);
        }
        cr_assert_gt(worst, 1e-6, "these quaternions are not off");
        cr_assert_lt(worst, SCN_SHEAR_TOLERANCE);
}

/* CASES B25 (1). */
SCN_TEST(keep_world, reports_shear_from_a_parent_of_uneven_scale)
{
        struct scn_trs parent = {{0, 0, 0}, {0, 0, 0, 1}, {1, 2, 1}};
        struct scn_trs local = {{0, 0, 0}, {0, 0, 0.38268343f, 0.92387953f}, {1, 1, 1}};
        struct scn_affine64 from = scn_affine64_from_trs(&parent);
        struct scn_trs result;
        double residual = 0.0;

        cr_assert_eq(scn_transform_keep_world(&from, &identity, &local, &result, &residual), SCN_OK);
        cr_assert_gt(residual, 0.1);
        expect_usable(&result);
        /* Along the parent's axes nothing shears. */
        struct scn_trs straight = {{1, 1, 1}, {0, 0, HALF_SQRT2, HALF_SQRT2}, {1, 1, 1}};
        result = keep(&from, &identity, &straight);
        cr_assert_float_eq(result.s[0], 2.0f, 1e-6);
        cr_assert_float_eq(result.s[1], 1.0f, 1e-6);
        cr_assert_float_eq(result.t[1], 2.0f, 1e-6);
}

/* CASES B25 (3): moved to and fro 1,000 times. */
SCN_TEST(keep_world, does_not_drift_between_two_parents)
{
        struct scn_random random = scn_random_from_seed(scn_test_seed(11));
        double worst_world = 0.0;
        double worst_scale = 0.0;

        for (uint32_t round = 0; round < 50; round++) {
                struct scn_trs parents[2] = {random_similarity(&random), random_similarity(&random)};
                struct scn_affine64 worlds[2] = {
                        scn_affine64_from_trs(&parents[0]), scn_affine64_from_trs(&parents[1])};
                struct scn_trs start = random_trs(&random);
                struct scn_affine64 start_world = scn_affine64_from_trs(&start);
                start_world = scn_affine64_multiply(&worlds[0], &start_world);
                struct scn_trs local = start;
                for (uint32_t move = 0; move < 1000; move++)
                        local = keep(&worlds[move % 2], &worlds[1 - move % 2], &local);
                struct scn_affine64 world = scn_affine64_from_trs(&local);
                world = scn_affine64_multiply(&worlds[0], &world);
                worst_world = fmax(worst_world, largest_difference(&world, &start_world));
                for (uint32_t k = 0; k < 3; k++)
                        worst_scale = fmax(worst_scale, fabs((double)local.s[k] / (double)start.s[k] - 1.0));
        }
        cr_assert_leq(worst_world, 1e-4, "%g", worst_world);
        cr_assert_leq(worst_scale, 1e-5, "%g", worst_scale);
}

/* CASES B27: a parent of scale zero, seen from two levels below. */
SCN_TEST(keep_world, refuses_parents_that_cannot_be_inverted)
{
        static const float scales[][3] = {{0, 1, 1}, {0, 0, 0}};
        struct scn_random random = scn_random_from_seed(scn_test_seed(12));

        for (uint32_t i = 0; i < 2; i++) {
                struct scn_trs hidden = random_rigid(&random);
                struct scn_trs below = random_rigid(&random);
                struct scn_trs local = random_trs(&random);
                memcpy(hidden.s, scales[i], sizeof hidden.s);
                struct scn_affine64 flat = scn_affine64_from_trs(&hidden);
                struct scn_affine64 parent = scn_affine64_from_trs(&below);
                parent = scn_affine64_multiply(&flat, &parent);
                struct scn_trs result = SCN_TRS_IDENTITY;
                double residual = 7.0;
                cr_assert_eq(scn_transform_keep_world(&parent, &identity, &local, &result, &residual), SCN_E_SINGULAR);
                cr_assert_eq(scn_transform_keep_world(&identity, &parent, &local, &result, &residual), SCN_E_SINGULAR);
                expect_bits(result.r, SCN_TRS_IDENTITY.r, 4);
                cr_assert_eq(residual, 7.0);
        }
}

SCN_TEST(keep_world, keeps_signs_and_zeros_of_the_scale)
{
        struct scn_random random = scn_random_from_seed(scn_test_seed(13));
        static const float scales[][3] = {
                {0, 1, 1}, {-1, 0, 2}, {-0.0f, 1, -2}, {0, 0, 3}, {0, 0, 0}, {-1, -1, -1}, {1, -0.0f, 0}};

        for (uint32_t i = 0; i < 7 * 50; i++) {
                struct scn_trs to_trs = random_similarity(&random);
                struct scn_affine64 to = scn_affine64_from_trs(&to_trs);
                struct scn_trs local = random_rigid(&random);
                memcpy(local.s, scales[i % 7], sizeof local.s);
                struct scn_trs result = keep(&identity, &to, &local);
                for (uint32_t k = 0; k < 3; k++) {
                        cr_assert_eq(result.s[k] == 0.0f, local.s[k] == 0.0f);
                        cr_assert_eq(signbit(result.s[k]) != 0, signbit(local.s[k]) != 0);
                }
                /* The rotation of what is hidden survives too: moved back it is as it was. */
                struct scn_trs back = keep(&to, &identity, &result);
                for (uint32_t k = 0; k < 4; k++)
                        cr_assert_float_eq(back.r[k], local.r[k], 1e-6);
        }
}

/* The parent shears x against the rest, and x has no scale: y and z can be kept, so they are. */
SCN_TEST(keep_world, lets_the_axis_without_scale_give_way)
{
        struct scn_affine64 from = identity;
        struct scn_trs local = SCN_TRS_IDENTITY;

        from.m[4] = 0.75;
        local.s[0] = 0.0f;
        local.s[2] = 3.0f;
        struct scn_trs result = keep(&from, &identity, &local);
        cr_assert_float_eq(result.s[1], 1.0f, 1e-6);
        cr_assert_float_eq(fabsf(result.r[3]), 1.0f, 1e-6);
        cr_assert_eq(result.s[0], 0.0f);
}

SCN_TEST(keep_world, reports_what_floats_cannot_hold)
{
        struct scn_trs tiny = {{0, 0, 0}, {0, 0, 0, 1}, {1e-20f, 1e-20f, 1e-20f}};
        struct scn_affine64 to = scn_affine64_from_trs(&tiny);
        struct scn_trs far = {{1e19f, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}};
        struct scn_trs large = {{0, 0, 0}, {0, 0, 0, 1}, {1, 1e19f, 1}};
        struct scn_trs result;
        double residual;

        cr_assert_eq(scn_transform_keep_world(&identity, &to, &far, &result, &residual), SCN_E_OVERFLOW);
        cr_assert_eq(scn_transform_keep_world(&identity, &to, &large, &result, &residual), SCN_E_OVERFLOW);
        large.s[1] = 1.0f;
        cr_assert_eq(scn_transform_keep_world(&identity, &to, &large, &result, &residual), SCN_OK);
}

/* What is stored must be the same on every machine and with every compiler; these bits were computed once. */
SCN_TEST(keep_world, has_the_bits_it_has_always_had)
{
        struct scn_trs from_trs = {{1, -2, 3}, {0.1825742f, 0.3651484f, 0.5477226f, 0.7302967f}, {1.5f, 1.5f, 1.5f}};
        struct scn_trs to_trs = {{-4, 5, 0.5f}, {-0.5f, 0.5f, 0.1f, 0.7f}, {0.7f, 0.7f, 0.7f}};
        struct scn_trs local = {{0.3f, 0.1f, -7}, {0.2f, -0.4f, 0.4f, 0.8f}, {1, -2, 0.3f}};
        static const struct scn_trs expected = {{0x1.d9903cp+2f, 0x1.ef52b8p-1f, -0x1.6d2a6ep+3f},
                {0x1.a2c808p-2f, -0x1.23a6bcp-1f, 0x1.6ab1dp-1f, 0x1.490ad8p-4f},
                {0x1.124926p+1f, -0x1.124924p+2f, 0x1.492492p-1f}};
        struct scn_affine64 from = scn_affine64_from_trs(&from_trs);
        struct scn_affine64 to = scn_affine64_from_trs(&to_trs);
        struct scn_trs result = keep(&from, &to, &local);

        expect_bits(result.t, expected.t, 3);
        expect_bits(result.r, expected.r, 4);
        expect_bits(result.s, expected.s, 3);
}
