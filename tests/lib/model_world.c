/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* World transforms of the model, in double precision from the locals. */

#include "tests/lib/model.h"

#include <math.h>

static double magnitude(double number)
{
        return number < 0.0 ? -number : number;
}

/* T * R * S by the formula of glTF 2.0 for the rotation of a unit quaternion, and the same with all terms taken
 * positive. */
static struct model_world local_world(const struct scn_trs *trs)
{
        double x = (double)trs->r[0], y = (double)trs->r[1], z = (double)trs->r[2], w = (double)trs->r[3];
        const double rotation[9] = {
                1 - 2 * (y * y + z * z),
                2 * (x * y - z * w),
                2 * (x * z + y * w),
                2 * (x * y + z * w),
                1 - 2 * (x * x + z * z),
                2 * (y * z - x * w),
                2 * (x * z - y * w),
                2 * (y * z + x * w),
                1 - 2 * (x * x + y * y),
        };
        struct model_world world;

        for (uint32_t row = 0; row < 3; row++) {
                for (uint32_t column = 0; column < 3; column++) {
                        double scale = (double)trs->s[column];
                        world.matrix.m[4 * row + column] = rotation[3 * row + column] * scale;
                        world.magnitude.m[4 * row + column] = 4.0 * magnitude(scale);
                }
                world.matrix.m[4 * row + 3] = (double)trs->t[row];
                world.magnitude.m[4 * row + 3] = magnitude((double)trs->t[row]);
        }
        return world;
}

static struct scn_affine64 multiply(const struct scn_affine64 *a, const struct scn_affine64 *b)
{
        struct scn_affine64 product;

        for (uint32_t row = 0; row < 3; row++)
                for (uint32_t column = 0; column < 4; column++) {
                        double sum = column == 3 ? a->m[4 * row + 3] : 0.0;
                        for (uint32_t k = 0; k < 3; k++)
                                sum += a->m[4 * row + k] * b->m[4 * k + column];
                        product.m[4 * row + column] = sum;
                }
        return product;
}

struct model_world model_world(const struct model_state *state, const struct model_node *node)
{
        struct model_world world = local_world(&node->trs);

        while (node->parent != 0) {
                node = model_find(state, node->parent);
                struct model_world local = local_world(&node->trs);
                world.matrix = multiply(&local.matrix, &world.matrix);
                world.magnitude = multiply(&local.magnitude, &world.magnitude);
        }
        return world;
}

static double column_length(const struct scn_affine64 *matrix, uint32_t column)
{
        const double *m = matrix->m;
        return sqrt(m[column] * m[column] + m[4 + column] * m[4 + column] + m[8 + column] * m[8 + column]);
}

static double column_dot(const struct scn_affine64 *matrix, uint32_t a, uint32_t b)
{
        const double *m = matrix->m;
        return m[a] * m[b] + m[4 + a] * m[4 + b] + m[8 + a] * m[8 + b];
}

static double determinant(const double *m)
{
        return m[0] * (m[5] * m[10] - m[6] * m[9]) - m[1] * (m[4] * m[10] - m[6] * m[8]) +
                m[2] * (m[4] * m[9] - m[5] * m[8]);
}

/* Adjugate over determinant; the caller has looked at the latter. */
static struct scn_affine64 inverse(const struct scn_affine64 *matrix)
{
        const double *m = matrix->m;
        double d = determinant(m);
        struct scn_affine64 result = {{
                (m[5] * m[10] - m[6] * m[9]) / d,
                (m[2] * m[9] - m[1] * m[10]) / d,
                (m[1] * m[6] - m[2] * m[5]) / d,
                0,
                (m[6] * m[8] - m[4] * m[10]) / d,
                (m[0] * m[10] - m[2] * m[8]) / d,
                (m[2] * m[4] - m[0] * m[6]) / d,
                0,
                (m[4] * m[9] - m[5] * m[8]) / d,
                (m[1] * m[8] - m[0] * m[9]) / d,
                (m[0] * m[5] - m[1] * m[4]) / d,
                0,
        }};

        for (uint32_t row = 0; row < 3; row++)
                for (uint32_t k = 0; k < 3; k++)
                        result.m[4 * row + 3] -= result.m[4 * row + k] * m[4 * k + 3];
        return result;
}

static const uint64_t singular = UINT64_C(1) << -(int)SCN_E_SINGULAR;
static const uint64_t shear = UINT64_C(1) << -(int)SCN_E_SHEAR;
static const uint64_t overflow = UINT64_C(1) << -(int)SCN_E_OVERFLOW;

/* A scale of zero above or at the node makes its world flat beyond doubt; otherwise the numbers tell, and leave a
 * margin in which both answers are right. */
static struct model_verdict judge_invertible(const struct model_state *state, const struct model_node *node)
{
        struct model_world world = model_world(state, node);
        double lengths = 1.0;

        for (const struct model_node *above = node; above != NULL; above = model_find(state, above->parent)) {
                for (uint32_t i = 0; i < 3; i++)
                        if (above->trs.s[i] == 0.0f)
                                return (struct model_verdict){.must = singular};
                if (above->parent == 0)
                        break;
        }
        for (uint32_t column = 0; column < 3; column++) {
                double length = column_length(&world.matrix, column);
                if (!(length > 1e-9 && length < 1e9))
                        return (struct model_verdict){.may = singular | overflow};
                lengths *= length;
        }
        if (magnitude(determinant(world.matrix.m)) < 1e-6 * lengths)
                return (struct model_verdict){.may = singular};
        return (struct model_verdict){0};
}

/* How far the columns are from being perpendicular: the cosine, and what a correction of the shorter column would
 * have to be, in parts of the largest. */
static void measure_shear(const struct scn_affine64 *matrix, double *cosine_out, double *residual_out)
{
        double largest = 0.0;

        *cosine_out = *residual_out = 0.0;
        for (uint32_t column = 0; column < 3; column++)
                largest = fmax(largest, column_length(matrix, column));
        for (uint32_t pair = 0; pair < 3; pair++) {
                uint32_t a = pair, b = (pair + 1) % 3;
                double a_length = column_length(matrix, a), b_length = column_length(matrix, b);
                double dot = magnitude(column_dot(matrix, a, b));
                if (a_length == 0.0 || b_length == 0.0)
                        continue;
                *cosine_out = fmax(*cosine_out, dot / (a_length * b_length));
                *residual_out = fmax(*residual_out, dot / fmax(a_length, b_length) / largest);
        }
}

struct model_verdict model_judge_keep_world(const struct model_state *state, const struct model_node *node,
        const struct model_node *new_parent, bool is_lossy)
{
        const struct model_node *old_parent = model_find(state, node->parent);
        double cosine, residual;

        if (node->parent == 0 || old_parent == NULL)
                return (struct model_verdict){.may = singular | shear | overflow};
        struct model_verdict verdict = judge_invertible(state, old_parent);
        struct model_verdict other = judge_invertible(state, new_parent);
        verdict.must |= other.must;
        verdict.may |= other.may;
        if (verdict.must != 0 || verdict.may != 0) {
                verdict.may |= shear | overflow;
                return verdict;
        }
        struct model_world world = model_world(state, node);
        struct model_world parent_world = model_world(state, new_parent);
        struct scn_affine64 inverse_parent = inverse(&parent_world.matrix);
        struct scn_affine64 local = multiply(&inverse_parent, &world.matrix);
        for (uint32_t i = 0; i < 12; i++)
                if (!(magnitude(local.m[i]) < 1e30))
                        return (struct model_verdict){.may = singular | shear | overflow};
        measure_shear(&local, &cosine, &residual);
        if (!is_lossy && residual > 1e-2)
                verdict.must |= shear;
        else if (!is_lossy && cosine > 1e-5)
                verdict.may |= shear;
        return verdict;
}

void model_compare_relative(struct model *model, const struct scn_document *document, const struct model_node *node,
        const struct model_node *other)
{
        const struct model_state *state = model_now(model);
        struct model_verdict verdict = judge_invertible(state, other);
        struct model_world world = model_world(state, node), other_world = model_world(state, other);
        struct scn_affine actual;

        enum scn_error error = scn_document_world_relative(document, node->id, other->id, &actual);
        if (verdict.must != 0) {
                MODEL_CHECK(model, error == SCN_E_SINGULAR, "seen from a flat node: %s", scn_error_code(error));
                return;
        }
        if (verdict.may != 0)
                return;
        MODEL_CHECK(model, error == SCN_OK, "relative world of %u: %s", node->id, scn_error_code(error));
        struct scn_affine64 inverted = inverse(&other_world.matrix), absolute = inverted;
        struct scn_affine64 expected = multiply(&inverted, &world.matrix);
        for (uint32_t i = 0; i < 12; i++)
                absolute.m[i] = magnitude(inverted.m[i]);
        /* The inverse's translation is a difference of terms that can be larger than itself. */
        for (uint32_t row = 0; row < 3; row++)
                for (uint32_t k = 0; k < 3; k++)
                        absolute.m[4 * row + 3] += absolute.m[4 * row + k] * other_world.magnitude.m[4 * k + 3];
        struct scn_affine64 allowed = multiply(&absolute, &world.magnitude);
        for (uint32_t i = 0; i < 12; i++)
                MODEL_CHECK(model, fabs((double)actual.m[i] - expected.m[i]) <= 2e-5 * allowed.m[i] + 1e-36,
                        "world of %u from %u, entry %u: %.9g instead of %.9g", node->id, other->id, i,
                        (double)actual.m[i], expected.m[i]);
}
