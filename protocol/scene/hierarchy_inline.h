/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SCENE_HIERARCHY_INLINE_H
#define SCN_SCENE_HIERARCHY_INLINE_H

/* How a hierarchy lies in memory, for the accessors that are worth inlining. Only hierarchy*.c use the fields;
 * everybody else includes "protocol/scene/hierarchy.h".
 *
 * A slot is 120 bytes in five arrays of one capacity, and never moves:
 *
 *   locals   t t t r  r r r s  s s P C     48   what an edit touches: P parent, C number of children and mark
 *   worlds   3 rows of 4                   48
 *   links    first last next previous      16   what a walk down touches
 *   marks    a slot whose mark is set       4   so a mark never needs memory
 *   order    slots level by level           4   of the whole tree while order_is_valid, or of one update
 *
 * The parent lies with the local transform because an update of one leaf then reads three records and no more:
 * its local, its parent's world, its own world. The kernel loads P and C along with the floats and drops them;
 * it must not calculate with them (a small integer in a float lane is a denormal, which is slow). */

#include "protocol/base/assert.h"
#include "protocol/scene/hierarchy.h"

/* Bit 31 of scn_hierarchy_local.children: in `marks`; everything from here down is stale. */
#define SCN_HIERARCHY_MARK UINT32_C(0x80000000)
/* Bit 31 of an entry of a list of slots: the first one of a level. */
#define SCN_HIERARCHY_LEVEL UINT32_C(0x80000000)
/* Slots must leave that bit free. */
#define SCN_HIERARCHY_SLOTS_MAX ((size_t)1 << 30)
/* An update that recomputes no more slots than this leaves `order` alone. */
#define SCN_HIERARCHY_SCRATCH 4096

struct scn_hierarchy_local {
        struct scn_trs trs;
        uint32_t parent;
        uint32_t children;
};

struct scn_hierarchy_links {
        uint32_t first_child;
        uint32_t last_child;
        uint32_t next;
        uint32_t previous;
};

/* Recomputes the worlds of `slots` (entries with or without SCN_HIERARCHY_LEVEL).
 * Each has a parent, whose world is up to date or comes in an earlier level of the list. */
typedef void (*scn_kernel_fn)(
        const struct scn_hierarchy_local *locals, struct scn_affine *worlds, const uint32_t *slots, uint32_t count);

struct scn_hierarchy {
        struct scn_hierarchy_local *locals; /* owned, as are all arrays */
        struct scn_affine *worlds;
        struct scn_hierarchy_links *links;
        uint32_t *marks;
        uint32_t *order;
        size_t locals_capacity;
        size_t worlds_capacity;
        size_t links_capacity;
        size_t marks_capacity;
        size_t order_capacity;
        uint32_t slot_count; /* usable slots: the least of the capacities */
        uint32_t linked_count;
        uint32_t marks_count;
        uint32_t order_count;
        bool order_is_valid; /* order lists the whole tree as it is linked now */
        uint32_t root;
        scn_kernel_fn kernel;
        struct scn_hierarchy_counters counters;
        uint32_t scratch[SCN_HIERARCHY_SCRATCH];
};

static inline struct scn_trs scn_hierarchy_local(const struct scn_hierarchy *hierarchy, uint32_t slot)
{
        SCN_ASSERT(slot < hierarchy->slot_count);
        return hierarchy->locals[slot].trs;
}

static inline uint32_t scn_hierarchy_parent(const struct scn_hierarchy *hierarchy, uint32_t slot)
{
        SCN_ASSERT(slot < hierarchy->slot_count);
        return hierarchy->locals[slot].parent;
}

static inline uint32_t scn_hierarchy_first_child(const struct scn_hierarchy *hierarchy, uint32_t slot)
{
        SCN_ASSERT(slot < hierarchy->slot_count);
        return hierarchy->links[slot].first_child;
}

static inline uint32_t scn_hierarchy_last_child(const struct scn_hierarchy *hierarchy, uint32_t slot)
{
        SCN_ASSERT(slot < hierarchy->slot_count);
        return hierarchy->links[slot].last_child;
}

static inline uint32_t scn_hierarchy_next(const struct scn_hierarchy *hierarchy, uint32_t slot)
{
        SCN_ASSERT(slot < hierarchy->slot_count);
        return hierarchy->links[slot].next;
}

static inline uint32_t scn_hierarchy_previous(const struct scn_hierarchy *hierarchy, uint32_t slot)
{
        SCN_ASSERT(slot < hierarchy->slot_count);
        return hierarchy->links[slot].previous;
}

static inline uint32_t scn_hierarchy_children_count(const struct scn_hierarchy *hierarchy, uint32_t slot)
{
        SCN_ASSERT(slot < hierarchy->slot_count);
        return hierarchy->locals[slot].children & ~SCN_HIERARCHY_MARK;
}

#endif
