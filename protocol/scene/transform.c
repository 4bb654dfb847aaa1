/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/scene/transform.h"

#include "protocol/base/assert.h"

#include <cglm/cglm.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* Doubles must be rounded to double at every step, or machines would disagree. */
SCN_STATIC_ASSERT(FLT_EVAL_METHOD == 0, "stored transforms need plain 64-bit arithmetic");

/* The volume that three vectors span, over the product of their lengths: 1 at right angles, 0 in one plane. Below
 * this they lie in one plane but for rounding: a chain of 1,024 products is off by some 1e-13. */
#define FLATNESS_MIN 1e-12
/* A column that keeps less than this of its length beside the ones before it points the same way. */
#define INDEPENDENCE_MIN 1e-9

struct vector {
        double x[3];
};

/* A 3x3 matrix as its columns. */
struct columns {
        struct vector c[3];
};

static double dot(const struct vector *a, const struct vector *b)
{
        return a->x[0] * b->x[0] + a->x[1] * b->x[1] + a->x[2] * b->x[2];
}

static double length_of(const struct vector *v)
{
        return sqrt(dot(v, v));
}

static struct vector scaled(const struct vector *v, double factor)
{
        return (struct vector){{v->x[0] * factor, v->x[1] * factor, v->x[2] * factor}};
}

static struct vector cross(const struct vector *a, const struct vector *b)
{
        return (struct vector){{
                a->x[1] * b->x[2] - a->x[2] * b->x[1],
                a->x[2] * b->x[0] - a->x[0] * b->x[2],
                a->x[0] * b->x[1] - a->x[1] * b->x[0],
        }};
}

static double determinant(const struct columns *m)
{
        struct vector normal = cross(&m->c[1], &m->c[2]);
        return dot(&m->c[0], &normal);
}

static bool all_finite(const double *numbers, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                if (!isfinite(numbers[i]))
                        return false;
        }
        return true;
}

enum scn_error scn_transform_check(const float *components, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                if (!isfinite(components[i]))
                        return SCN_E_NOT_FINITE;
        }
        return SCN_OK;
}

/* ---- Quaternions ---- */

static double quaternion_length(const double q[4])
{
        return sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
}

enum scn_error scn_quaternion_normalise(float rotation[4], bool *was_changed_out)
{
        const double q[4] = {rotation[0], rotation[1], rotation[2], rotation[3]};

        *was_changed_out = false;
        if (scn_transform_check(rotation, 4) != SCN_OK)
                return SCN_E_NOT_FINITE;
        double length = quaternion_length(q);
        if (length < SCN_QUATERNION_LENGTH_MIN)
                return SCN_E_ZERO_QUATERNION;
        if (fabs(length - 1.0) <= SCN_QUATERNION_UNIT_TOLERANCE)
                return SCN_OK;
        for (uint32_t i = 0; i < 4; i++)
                rotation[i] = (float)(q[i] / length);
        *was_changed_out = true;
        return SCN_OK;
}

static struct columns columns_from_quaternion(const float rotation[4])
{
        double x = rotation[0], y = rotation[1], z = rotation[2], w = rotation[3];

        return (struct columns){{
                {{1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)}},
                {{2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)}},
                {{2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)}},
        }};
}

/* Of a rotation matrix (right-handed, columns at right angles and of length 1). Four formulas give the same
 * quaternion; the one used divides by the component that is largest, at least 1/2. */
static void quaternion_from_columns(const struct columns *m, float rotation_out[4])
{
        double xx = m->c[0].x[0], yy = m->c[1].x[1], zz = m->c[2].x[2];
        double yz_sum = m->c[1].x[2] + m->c[2].x[1], yz_difference = m->c[1].x[2] - m->c[2].x[1];
        double zx_sum = m->c[2].x[0] + m->c[0].x[2], zx_difference = m->c[2].x[0] - m->c[0].x[2];
        double xy_sum = m->c[0].x[1] + m->c[1].x[0], xy_difference = m->c[0].x[1] - m->c[1].x[0];
        double q[4];

        if (xx + yy + zz >= 0.0) {
                double w4 = 2.0 * sqrt(1.0 + xx + yy + zz);
                memcpy(q, (double[4]){yz_difference / w4, zx_difference / w4, xy_difference / w4, w4 / 4.0}, sizeof q);
        } else if (xx >= yy && xx >= zz) {
                double x4 = 2.0 * sqrt(1.0 + xx - yy - zz);
                memcpy(q, (double[4]){x4 / 4.0, xy_sum / x4, zx_sum / x4, yz_difference / x4}, sizeof q);
        } else if (yy >= zz) {
                double y4 = 2.0 * sqrt(1.0 + yy - xx - zz);
                memcpy(q, (double[4]){xy_sum / y4, y4 / 4.0, yz_sum / y4, zx_difference / y4}, sizeof q);
        } else {
                double z4 = 2.0 * sqrt(1.0 + zz - xx - yy);
                memcpy(q, (double[4]){zx_sum / z4, yz_sum / z4, z4 / 4.0, xy_difference / z4}, sizeof q);
        }
        double length = quaternion_length(q);
        for (uint32_t i = 0; i < 4; i++)
                rotation_out[i] = (float)(q[i] / length);
}

/* ---- Affine matrices ---- */

static struct columns linear_part(const struct scn_affine64 *matrix)
{
        struct columns linear;

        for (uint32_t column = 0; column < 3; column++) {
                for (uint32_t row = 0; row < 3; row++)
                        linear.c[column].x[row] = matrix->m[4 * row + column];
        }
        return linear;
}

static struct scn_affine64 affine_from(const struct columns *linear, const double translation[3])
{
        struct scn_affine64 matrix;

        for (uint32_t row = 0; row < 3; row++) {
                for (uint32_t column = 0; column < 3; column++)
                        matrix.m[4 * row + column] = linear->c[column].x[row];
                matrix.m[4 * row + 3] = translation[row];
        }
        return matrix;
}

struct scn_affine64 scn_affine64_from_trs(const struct scn_trs *trs)
{
        struct columns linear = columns_from_quaternion(trs->r);

        for (uint32_t i = 0; i < 3; i++)
                linear.c[i] = scaled(&linear.c[i], trs->s[i]);
        return affine_from(&linear, (double[3]){trs->t[0], trs->t[1], trs->t[2]});
}

struct scn_affine64 scn_affine64_multiply(const struct scn_affine64 *a, const struct scn_affine64 *b)
{
        struct scn_affine64 product;

        for (uint32_t row = 0; row < 3; row++) {
                const double *left = &a->m[4 * row];
                double *out = &product.m[4 * row];
                for (uint32_t column = 0; column < 4; column++)
                        out[column] = left[0] * b->m[column] + left[1] * b->m[4 + column] + left[2] * b->m[8 + column];
                out[3] += left[3];
        }
        return product;
}

/* The rows of the inverse are the cross products of the columns, over the determinant. They are taken of columns
 * made one long, so that tiny and huge scales neither vanish nor overflow on the way. */
enum scn_error scn_affine64_invert(const struct scn_affine64 *matrix, struct scn_affine64 *inverse_out)
{
        struct columns linear = linear_part(matrix);
        double lengths[3];

        /* A column without length, or with none that is finite, makes the volume NaN or 0. */
        for (uint32_t i = 0; i < 3; i++) {
                lengths[i] = length_of(&linear.c[i]);
                for (uint32_t k = 0; k < 3; k++)
                        linear.c[i].x[k] /= lengths[i];
        }
        double volume = determinant(&linear);
        if (!(fabs(volume) >= FLATNESS_MIN))
                return SCN_E_SINGULAR;

        struct scn_affine64 inverse;
        for (uint32_t i = 0; i < 3; i++) {
                struct vector row = cross(&linear.c[(i + 1) % 3], &linear.c[(i + 2) % 3]);
                double *out = &inverse.m[4 * i];
                for (uint32_t k = 0; k < 3; k++)
                        out[k] = row.x[k] / volume / lengths[i];
                out[3] = -(out[0] * matrix->m[3] + out[1] * matrix->m[7] + out[2] * matrix->m[11]);
        }
        if (!all_finite(inverse.m, 12))
                return SCN_E_SINGULAR;
        *inverse_out = inverse;
        return SCN_OK;
}

enum scn_error scn_affine64_round(const struct scn_affine64 *matrix, struct scn_affine *rounded_out)
{
        for (uint32_t i = 0; i < 12; i++)
                rounded_out->m[i] = (float)matrix->m[i];
        return scn_transform_check(rounded_out->m, 12) == SCN_OK ? SCN_OK : SCN_E_OVERFLOW;
}

struct scn_affine64 scn_transform_world64(const struct scn_hierarchy *hierarchy, uint32_t slot)
{
        struct scn_trs local = scn_hierarchy_local(hierarchy, slot);
        struct scn_affine64 world = scn_affine64_from_trs(&local);

        for (slot = scn_hierarchy_parent(hierarchy, slot); slot != SCN_SLOT_NONE;
                slot = scn_hierarchy_parent(hierarchy, slot)) {
                local = scn_hierarchy_local(hierarchy, slot);
                struct scn_affine64 above = scn_affine64_from_trs(&local);
                world = scn_affine64_multiply(&above, &world);
        }
        return world;
}

/* ---- Decomposition ---- */

/* A vector of length 1 at right angles on `v`, which has length 1 too. */
static struct vector perpendicular_to(const struct vector *v)
{
        uint32_t axis = 0;
        for (uint32_t i = 1; i < 3; i++)
                axis = fabs(v->x[i]) < fabs(v->x[axis]) ? i : axis;
        struct vector across = {{axis == 0, axis == 1, axis == 2}};
        struct vector normal = cross(v, &across);
        return scaled(&normal, 1.0 / length_of(&normal));
}

/* The right-handed frame along columns of length 1 (Gram-Schmidt): the first of `order` keeps its direction, the
 * next that has another one is turned until it stands at right angles on it, and those two say what the third is.
 * Only the first `count` of `order` have a direction; what is missing is made up. */
static struct columns frame_along(const struct columns *units, const uint32_t order[3], uint32_t count)
{
        if (count == 0)
                return (struct columns){{{{1.0, 0.0, 0.0}}, {{0.0, 1.0, 0.0}}, {{0.0, 0.0, 1.0}}}};

        struct columns frame = *units;
        uint32_t first = order[0];
        uint32_t second = 3;
        for (uint32_t i = 1; i < count && second == 3; i++) {
                struct vector *rest = &frame.c[order[i]];
                double along = dot(rest, &units->c[first]);
                for (uint32_t k = 0; k < 3; k++)
                        rest->x[k] -= along * units->c[first].x[k];
                double length = length_of(rest);
                if (length >= INDEPENDENCE_MIN) {
                        second = order[i];
                        *rest = scaled(rest, 1.0 / length);
                }
        }
        if (second == 3) {
                second = (first + 1) % 3;
                frame.c[second] = perpendicular_to(&units->c[first]);
        }
        uint32_t third = 3 - first - second;
        frame.c[third] = cross(&frame.c[(third + 1) % 3], &frame.c[(third + 2) % 3]);
        return frame;
}

/* fmax(), but for a first number that is none; and without a call. */
static double larger(double a, double b)
{
        return a < b ? b : a;
}

/* What R * S lacks of the columns given, by the largest entry. */
static double residual_of(const struct columns *wanted, const struct columns *rotation, const float scale[3])
{
        double largest = 0.0;
        double largest_miss = 0.0;

        for (uint32_t i = 0; i < 3; i++) {
                for (uint32_t k = 0; k < 3; k++) {
                        double miss = fabs(wanted->c[i].x[k] - rotation->c[i].x[k] * scale[i]);
                        largest = larger(largest, fabs(wanted->c[i].x[k]));
                        /* Scales beyond float32 are infinite: no comparison may let them pass. */
                        largest_miss = isfinite(miss) ? larger(largest_miss, miss) : INFINITY;
                }
        }
        return largest > 0.0 ? largest_miss / largest : 0.0;
}

/* Rotation and scale nearest to columns of the given directions and signed lengths, which are turned right-handed
 * first. `order` as in frame_along(). */
static void fit_rotation_and_scale(struct columns *units, double lengths[3], const uint32_t order[3], uint32_t count,
        struct scn_trs *trs_out, double *residual_out)
{
        struct columns wanted;
        for (uint32_t i = 0; i < 3; i++)
                wanted.c[i] = scaled(&units->c[i], lengths[i]);

        if (count == 3 && determinant(units) < 0.0) {
                units->c[0] = scaled(&units->c[0], -1.0);
                lengths[0] = -lengths[0];
        }
        struct columns frame = frame_along(units, order, count);
        quaternion_from_columns(&frame, trs_out->r);
        /* The quaternion is rounded, so its columns are not quite as long as 1: were the scale not to make up for
         * it, a node that is moved to and fro would grow or shrink a little each time. */
        struct columns rotation = columns_from_quaternion(trs_out->r);
        for (uint32_t i = 0; i < 3; i++)
                trs_out->s[i] = (float)(lengths[i] / length_of(&rotation.c[i]));
        if (residual_out != NULL) {
                *residual_out = residual_of(&wanted, &rotation, trs_out->s);
        }
}

struct scn_trs scn_transform_decompose(const struct scn_affine64 *matrix, double *residual_out)
{
        struct scn_trs trs = SCN_TRS_IDENTITY;
        struct columns units = linear_part(matrix);
        double lengths[3];
        double largest = 0.0;
        uint32_t order[3] = {0, 0, 0};
        uint32_t count = 0;

        for (uint32_t i = 0; i < 3; i++) {
                trs.t[i] = (float)matrix->m[4 * i + 3];
                for (uint32_t k = 0; k < 3; k++)
                        largest = larger(largest, fabs(units.c[i].x[k]));
        }
        /* By the largest entry first, or squares would overflow or vanish. */
        for (uint32_t i = 0; i < 3; i++) {
                for (uint32_t k = 0; k < 3 && largest > 0.0; k++)
                        units.c[i].x[k] /= largest;
                double length = length_of(&units.c[i]);
                lengths[i] = length * largest;
                if (length > 0.0) {
                        order[count++] = i;
                        for (uint32_t k = 0; k < 3; k++)
                                units.c[i].x[k] /= length;
                }
        }
        fit_rotation_and_scale(&units, lengths, order, count, &trs, residual_out);
        return trs;
}

static bool is_identity(const struct columns *m)
{
        for (uint32_t i = 0; i < 3; i++) {
                for (uint32_t k = 0; k < 3; k++) {
                        if (m->c[i].x[k] != (i == k ? 1.0 : 0.0))
                                return false;
                }
        }
        return true;
}

/* The rotation and scale that show under `change`, a matrix without singularity, as `local`'s do without it. */
static void carry_rotation_and_scale(
        const struct columns *change, const struct scn_trs *local, struct scn_trs *local_out, double *residual_out)
{
        struct columns rotation = columns_from_quaternion(local->r);
        struct columns units;
        double lengths[3];
        uint32_t order[3];
        uint32_t count = 0;

        for (uint32_t i = 0; i < 3; i++) {
                const struct vector *r = &rotation.c[i];
                for (uint32_t k = 0; k < 3; k++)
                        units.c[i].x[k] =
                                change->c[0].x[k] * r->x[0] + change->c[1].x[k] * r->x[1] + change->c[2].x[k] * r->x[2];
                double length = length_of(&units.c[i]);
                lengths[i] = length * local->s[i];
                units.c[i] = scaled(&units.c[i], 1.0 / length);
        }
        /* An axis without scale shows nothing, so it is the one to give way where not all can be kept. */
        for (uint32_t i = 0; i < 3; i++) {
                if (local->s[i] != 0.0f)
                        order[count++] = i;
        }
        for (uint32_t i = 0; i < 3; i++) {
                if (local->s[i] == 0.0f)
                        order[count++] = i;
        }
        fit_rotation_and_scale(&units, lengths, order, count, local_out, residual_out);

        /* Both signs are the same rotation; the nearer one does not make an interpolation spin around. */
        double likeness = 0.0;
        for (uint32_t i = 0; i < 4; i++)
                likeness += (double)local_out->r[i] * local->r[i];
        for (uint32_t i = 0; i < 4 && likeness < 0.0; i++)
                local_out->r[i] = -local_out->r[i];
}

enum scn_error scn_transform_keep_world(const struct scn_affine64 *old_parent, const struct scn_affine64 *new_parent,
        const struct scn_trs *local, struct scn_trs *local_out, double *residual_out)
{
        struct scn_affine64 inverse;

        if (scn_affine64_invert(old_parent, &inverse) != SCN_OK || scn_affine64_invert(new_parent, &inverse) != SCN_OK)
                return SCN_E_SINGULAR;
        struct scn_affine64 change = scn_affine64_multiply(&inverse, old_parent);
        struct columns linear = linear_part(&change);
        struct scn_trs result = *local;
        double residual = 0.0;

        /* Parents that differ in place alone, such as plain groups, leave the very bits. */
        if (!is_identity(&linear))
                carry_rotation_and_scale(&linear, local, &result, &residual);
        for (uint32_t i = 0; i < 3; i++) {
                const double *row = &change.m[4 * i];
                result.t[i] = (float)(row[0] * local->t[0] + row[1] * local->t[1] + row[2] * local->t[2] + row[3]);
        }
        if (scn_transform_check(result.t, 3) != SCN_OK || scn_transform_check(result.s, 3) != SCN_OK ||
                scn_transform_check(result.r, 4) != SCN_OK)
                return SCN_E_OVERFLOW;
        *local_out = result;
        *residual_out = residual;
        return SCN_OK;
}

/* ---- Other layouts ---- */

void scn_affine_to_mat4(const struct scn_affine *affine, float mat4_out[16])
{
        for (uint32_t column = 0; column < 4; column++) {
                for (uint32_t row = 0; row < 3; row++)
                        mat4_out[4 * column + row] = affine->m[4 * row + column];
                mat4_out[4 * column + 3] = column == 3 ? 1.0f : 0.0f;
        }
}

void scn_trs_to_mat4(const struct scn_trs *trs, float mat4_out[16])
{
        versor rotation;
        vec3 scale;
        mat4 matrix;

        memcpy(rotation, trs->r, sizeof rotation);
        memcpy(scale, trs->s, sizeof scale);
        glm_quat_mat4(rotation, matrix);
        glm_scale(matrix, scale);
        memcpy(matrix[3], trs->t, sizeof trs->t);
        memcpy(mat4_out, matrix, sizeof matrix);
}
