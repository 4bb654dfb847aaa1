/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SCENE_HIERARCHY_KERNEL_H
#define SCN_SCENE_HIERARCHY_KERNEL_H

/* The arithmetic of world transforms, for hierarchy.c alone: once per node here, by lists in the kernels. */

#include "protocol/scene/hierarchy.h"

/* The kernel asked for, which must be available (asserts). */
scn_kernel_fn scn_kernel_find(enum scn_kernel kernel);

/* T * R * S: the world of a slot without a parent. */
void scn_kernel_local(const struct scn_trs *trs, struct scn_affine *world_out);

/* parent * T * R * S, in the operations and the order of every kernel. `world_out` may be `parent`. */
void scn_kernel_child(const struct scn_affine *parent, const struct scn_trs *trs, struct scn_affine *world_out);

#endif
