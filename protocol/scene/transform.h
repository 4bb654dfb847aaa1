/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SCENE_TRANSFORM_H
#define SCN_SCENE_TRANSFORM_H

/* Transform arithmetic outside the hot kernel: checking, normalising, composing, inverting, decomposing.
 *
 * What ends up stored (normalised rotations, the result of a move that keeps the world) is computed in double
 * precision with +, -, *, / and sqrt alone, so it has the same bits on every machine and never depends on a
 * vector unit. The only file that uses cglm. */

#include "protocol/scene/hierarchy.h"

/* An affine matrix in double precision, laid out as struct scn_affine. */
struct scn_affine64 {
        double m[12];
};

/* A quaternion whose length is within this of 1 is kept bit for bit (DESIGN §3). */
#define SCN_QUATERNION_UNIT_TOLERANCE 1e-5
/* One shorter than this has no direction. */
#define SCN_QUATERNION_LENGTH_MIN 1e-6
/* A decomposition whose residual (largest entry of |M - R*S| over the largest entry of M's 3x3) is above this
 * shears. Stored quaternions may be off by SCN_QUATERNION_UNIT_TOLERANCE, so rotations alone reach about 4e-5. */
#define SCN_SHEAR_TOLERANCE 1e-4

/* Checks that all components are finite; SCN_E_NOT_FINITE otherwise. */
SCN_NODISCARD enum scn_error scn_transform_check(const float *components, uint32_t count);

/* Keeps a quaternion of length 1 bit for bit, normalises any other of usable length and says so.
 * SCN_E_NOT_FINITE, SCN_E_ZERO_QUATERNION. */
SCN_NODISCARD enum scn_error scn_quaternion_normalise(float rotation[4], bool *was_changed_out);

/* T * R * S, the rotation taken as it is stored. */
struct scn_affine64 scn_affine64_from_trs(const struct scn_trs *trs);
struct scn_affine64 scn_affine64_multiply(const struct scn_affine64 *a, const struct scn_affine64 *b);
/* SCN_E_SINGULAR if the 3x3 part has no inverse that 64-bit floats can hold sensibly. */
SCN_NODISCARD enum scn_error scn_affine64_invert(const struct scn_affine64 *matrix, struct scn_affine64 *inverse_out);
/* Rounds to 32 bits; SCN_E_OVERFLOW if an entry is not finite then. */
SCN_NODISCARD enum scn_error scn_affine64_round(const struct scn_affine64 *matrix, struct scn_affine *rounded_out);

/* The world matrix of a slot in double precision, from the stored locals alone. Cost: the depth. */
struct scn_affine64 scn_transform_world64(const struct scn_hierarchy *hierarchy, uint32_t slot);

/* T, R, S of a matrix. The residual says what a TRS cannot hold (0 = nothing); the caller compares it with
 * SCN_SHEAR_TOLERANCE, or passes NULL. A mirroring matrix gets one negative scale, on x. A column without length gets
 * scale 0 and a rotation completed from the others. Never fails, never NaN for finite input. */
struct scn_trs scn_transform_decompose(const struct scn_affine64 *matrix, double *residual_out);

/* The local transform that leaves a node with `local` under `old_parent` where it is in the world, once it is
 * under `new_parent` (world matrices, double precision). The signs and zeros of the local scale survive where
 * they can. SCN_E_SINGULAR if either parent cannot be inverted; SCN_E_OVERFLOW if the result leaves float32;
 * the residual is reported, not judged. */
SCN_NODISCARD enum scn_error scn_transform_keep_world(const struct scn_affine64 *old_parent,
        const struct scn_affine64 *new_parent, const struct scn_trs *local, struct scn_trs *local_out,
        double *residual_out);

/* Column-major 4x4, as glTF and the wire have it. */
void scn_affine_to_mat4(const struct scn_affine *affine, float mat4_out[16]);

/* glTF's matrix of a TRS, column-major, single precision (cglm). */
void scn_trs_to_mat4(const struct scn_trs *trs, float mat4_out[16]);

#endif
