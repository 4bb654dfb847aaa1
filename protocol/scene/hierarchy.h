/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SCENE_HIERARCHY_H
#define SCN_SCENE_HIERARCHY_H

/* The tree as links, local transforms and world transforms: the one place that knows who is whose parent.
 *
 * The document uses it for structure, the world queries for matrices. Slots are numbers that the caller hands
 * out and reuses; nothing here moves a slot, so a structural edit costs its own links and the recomputation of
 * what hangs below. Siblings are a doubly linked list in order.
 *
 * Dirtiness runs down (DESIGN §3, after the source design "world-matrix-cache"): a changed local transform or a
 * new parent makes the whole subtree stale. Marking is O(1): one bit and one list entry on the top of the stale
 * subtree; scn_hierarchy_update() walks down from the marks, parents first, and recomputes each stale node
 * once. A dirty update equals a full one bit for bit, on every instruction set: all kernels do the same float
 * operations in the same order, and this library is built with -ffp-contract=off.
 *
 * Worlds are kept for what hangs on the root. What has been unlinked and not linked again has links and local
 * transforms, but neither staleness nor a world that means anything; linking makes it stale.
 *
 * Nothing here allocates but scn_hierarchy_create() and scn_hierarchy_reserve(). Nothing recurses. */

#include <scn/error.h>
#include <scn/types.h>

#define SCN_SLOT_NONE UINT32_MAX

/* A 3x4 affine matrix, row by row: m[4 * row + column]; column 3 is the translation. */
struct scn_affine {
        float m[12];
};

/* What the layout really walked, for tests and benchmarks. */
struct scn_hierarchy_counters {
        uint64_t visited;         /* nodes at which a walk down arrived, while marking (a mark met) or updating */
        uint64_t recomputed;      /* world matrices computed one by one, because they were stale */
        uint64_t full_passes;     /* times a full pass replaced many dirty ones (only above 1,000 nodes) */
        uint64_t full_recomputed; /* world matrices computed by full passes */
};

struct scn_hierarchy;

/* The instruction sets the kernel was built for. All give the same bits. */
enum scn_kernel {
        SCN_KERNEL_BEST, /* the widest that this machine has, found at run time */
        SCN_KERNEL_SCALAR,
        SCN_KERNEL_VECTOR4, /* SSE2 or NEON: the baseline */
        SCN_KERNEL_VECTOR8, /* AVX2 */
};

bool scn_kernel_is_available(enum scn_kernel kernel);

/* Starts empty. The root is the slot linked with parent SCN_SLOT_NONE; there is at most one. NULL: out of memory. */
struct scn_hierarchy *scn_hierarchy_create(void);
void scn_hierarchy_destroy(struct scn_hierarchy *hierarchy);
void scn_hierarchy_set_kernel(struct scn_hierarchy *hierarchy, enum scn_kernel kernel);

/* Room for slots 0 .. slot_count - 1. Fresh slots are unlinked, with the identity transform. SCN_E_NO_MEMORY; the
 * hierarchy is then as before. */
SCN_NODISCARD enum scn_error scn_hierarchy_reserve(struct scn_hierarchy *hierarchy, uint32_t slot_count);

/* An unlinked slot, with or without children beneath it, becomes the child of `parent` right after `previous`
 * (SCN_SLOT_NONE = first), and stale. `parent` SCN_SLOT_NONE makes it the root. Asserts that it is unlinked and
 * that `previous` is a child of `parent`; the caller has made sure that no ring arises. */
void scn_hierarchy_link(struct scn_hierarchy *hierarchy, uint32_t slot, uint32_t parent, uint32_t previous);

/* Takes a slot out of its parent's children, with all that hangs below it still attached to it. */
void scn_hierarchy_unlink(struct scn_hierarchy *hierarchy, uint32_t slot);

/* Stores the bits given and marks the slot's subtree stale. */
void scn_hierarchy_set_local(struct scn_hierarchy *hierarchy, uint32_t slot, const struct scn_trs *local);
static inline struct scn_trs scn_hierarchy_local(const struct scn_hierarchy *hierarchy, uint32_t slot);

/* SCN_SLOT_NONE where there is none; children_count of a slot without children is 0. */
static inline uint32_t scn_hierarchy_parent(const struct scn_hierarchy *hierarchy, uint32_t slot);
static inline uint32_t scn_hierarchy_first_child(const struct scn_hierarchy *hierarchy, uint32_t slot);
static inline uint32_t scn_hierarchy_last_child(const struct scn_hierarchy *hierarchy, uint32_t slot);
static inline uint32_t scn_hierarchy_next(const struct scn_hierarchy *hierarchy, uint32_t slot);
static inline uint32_t scn_hierarchy_previous(const struct scn_hierarchy *hierarchy, uint32_t slot);
static inline uint32_t scn_hierarchy_children_count(const struct scn_hierarchy *hierarchy, uint32_t slot);

/* The next slot of a walk over the subtree of `top`, parents before children, siblings in order; `top` itself
 * is where the walk begins. SCN_SLOT_NONE at the end. */
uint32_t scn_hierarchy_walk(const struct scn_hierarchy *hierarchy, uint32_t top, uint32_t slot);
/* The same, but what is below `slot` is left out. */
uint32_t scn_hierarchy_walk_past(const struct scn_hierarchy *hierarchy, uint32_t top, uint32_t slot);
/* The same walk backwards: begin at scn_hierarchy_walk_last(top); `top` comes last, then SCN_SLOT_NONE. */
uint32_t scn_hierarchy_walk_last(const struct scn_hierarchy *hierarchy, uint32_t top);
uint32_t scn_hierarchy_walk_back(const struct scn_hierarchy *hierarchy, uint32_t top, uint32_t slot);

/* Recomputes what is stale; cost: the stale nodes. */
void scn_hierarchy_update(struct scn_hierarchy *hierarchy);
/* Recomputes everything. */
void scn_hierarchy_update_all(struct scn_hierarchy *hierarchy);

/* True from an edit that touched the node or an ancestor until the next update. Cost: the depth. */
bool scn_hierarchy_is_stale(const struct scn_hierarchy *hierarchy, uint32_t slot);

/* The world transform, whether stale or not: what is stale on the way is computed on the side, from the bits an
 * update would give, and not stored. SCN_E_OVERFLOW if it is not finite. Cost: the depth. */
SCN_NODISCARD enum scn_error scn_hierarchy_world(
        const struct scn_hierarchy *hierarchy, uint32_t slot, struct scn_affine *world_out);

struct scn_hierarchy_counters scn_hierarchy_counters(const struct scn_hierarchy *hierarchy);
void scn_hierarchy_reset_counters(struct scn_hierarchy *hierarchy);

/* The definitions of what is inline above. */
#include "protocol/scene/hierarchy_inline.h"

#endif
