/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/scene/hierarchy.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/scene/hierarchy_kernel.h"

#include <math.h>
#include <string.h>

/* Below this many nodes a full pass never stands in for dirty ones: counts are exact there, and walks short. */
#define FULL_PASS_NODES_MIN 1000u
/* Leaves whose records are asked for before the first of them is computed: more would push each other out. */
#define LEAVES_AHEAD 64u
/* Steps of a path that are kept on the stack at a time. */
#define PATH_STEPS 1024u

struct scn_hierarchy *scn_hierarchy_create(void)
{
        struct scn_hierarchy *hierarchy = scn_alloc_zero(1, sizeof *hierarchy);

        if (hierarchy == NULL)
                return NULL;
        hierarchy->root = SCN_SLOT_NONE;
        scn_hierarchy_set_kernel(hierarchy, SCN_KERNEL_BEST);
        return hierarchy;
}

void scn_hierarchy_destroy(struct scn_hierarchy *hierarchy)
{
        if (hierarchy == NULL)
                return;
        scn_free(hierarchy->locals);
        scn_free(hierarchy->worlds);
        scn_free(hierarchy->links);
        scn_free(hierarchy->marks);
        scn_free(hierarchy->order);
        scn_free(hierarchy);
}

void scn_hierarchy_set_kernel(struct scn_hierarchy *hierarchy, enum scn_kernel kernel)
{
        hierarchy->kernel = scn_kernel_find(kernel);
}

static bool grow_arrays(struct scn_hierarchy *h, size_t count)
{
        size_t max = SCN_HIERARCHY_SLOTS_MAX;

        return scn_grow((void **)&h->locals, &h->locals_capacity, sizeof *h->locals, count, max) &&
                scn_grow((void **)&h->worlds, &h->worlds_capacity, sizeof *h->worlds, count, max) &&
                scn_grow((void **)&h->links, &h->links_capacity, sizeof *h->links, count, max) &&
                scn_grow((void **)&h->marks, &h->marks_capacity, sizeof *h->marks, count, max) &&
                scn_grow((void **)&h->order, &h->order_capacity, sizeof *h->order, count, max);
}

static void init_slot(struct scn_hierarchy *hierarchy, uint32_t slot)
{
        hierarchy->locals[slot] =
                (struct scn_hierarchy_local){.trs = SCN_TRS_IDENTITY, .parent = SCN_SLOT_NONE, .children = 0};
        hierarchy->links[slot] =
                (struct scn_hierarchy_links){SCN_SLOT_NONE, SCN_SLOT_NONE, SCN_SLOT_NONE, SCN_SLOT_NONE};
        scn_kernel_local(&hierarchy->locals[slot].trs, &hierarchy->worlds[slot]);
}

enum scn_error scn_hierarchy_reserve(struct scn_hierarchy *hierarchy, uint32_t slot_count)
{
        if (slot_count <= hierarchy->slot_count)
                return SCN_OK;
        /* An array that grew before another could not stays larger; the next call finds it so. */
        if (!grow_arrays(hierarchy, slot_count))
                return SCN_E_NO_MEMORY;

        /* All grow by the same rule, but from where a failure may have left them. */
        size_t usable = hierarchy->locals_capacity;
        size_t others[] = {hierarchy->worlds_capacity, hierarchy->links_capacity, hierarchy->marks_capacity,
                hierarchy->order_capacity};
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
                usable = others[i] < usable ? others[i] : usable;
        for (uint32_t slot = hierarchy->slot_count; slot < usable; slot++)
                init_slot(hierarchy, slot);
        hierarchy->slot_count = (uint32_t)usable;
        return SCN_OK;
}

/* ---- Marks: the bit of a slot is set exactly while the slot stands in `marks` ---- */

static bool is_marked(const struct scn_hierarchy *hierarchy, uint32_t slot)
{
        return (hierarchy->locals[slot].children & SCN_HIERARCHY_MARK) != 0;
}

static bool is_leaf(const struct scn_hierarchy *hierarchy, uint32_t slot)
{
        return (hierarchy->locals[slot].children & ~SCN_HIERARCHY_MARK) == 0;
}

static void mark(struct scn_hierarchy *hierarchy, uint32_t slot)
{
        if (is_marked(hierarchy, slot)) {
                hierarchy->counters.visited++;
                return;
        }
        hierarchy->locals[slot].children |= SCN_HIERARCHY_MARK;
        hierarchy->marks[hierarchy->marks_count++] = slot;
}

static void clear_marks(struct scn_hierarchy *hierarchy)
{
        for (uint32_t i = 0; i < hierarchy->marks_count; i++)
                hierarchy->locals[hierarchy->marks[i]].children &= ~SCN_HIERARCHY_MARK;
        hierarchy->marks_count = 0;
}

/* ---- Structure ---- */

void scn_hierarchy_link(struct scn_hierarchy *hierarchy, uint32_t slot, uint32_t parent, uint32_t previous)
{
        SCN_ASSERT(slot < hierarchy->slot_count);
        SCN_ASSERT(hierarchy->locals[slot].parent == SCN_SLOT_NONE);
        SCN_ASSERT(slot != hierarchy->root);

        hierarchy->order_is_valid = false;
        hierarchy->linked_count++;
        mark(hierarchy, slot);
        if (parent == SCN_SLOT_NONE) {
                SCN_ASSERT(hierarchy->root == SCN_SLOT_NONE);
                SCN_ASSERT(previous == SCN_SLOT_NONE);
                hierarchy->root = slot;
                return;
        }

        SCN_ASSERT(parent < hierarchy->slot_count);
        SCN_ASSERT(parent != slot);
        struct scn_hierarchy_links *links = hierarchy->links;
        uint32_t next = links[parent].first_child;
        if (previous != SCN_SLOT_NONE) {
                SCN_ASSERT(previous < hierarchy->slot_count);
                SCN_ASSERT(hierarchy->locals[previous].parent == parent);
                next = links[previous].next;
                links[previous].next = slot;
        } else {
                links[parent].first_child = slot;
        }
        if (next != SCN_SLOT_NONE)
                links[next].previous = slot;
        else
                links[parent].last_child = slot;
        links[slot].previous = previous;
        links[slot].next = next;
        hierarchy->locals[slot].parent = parent;
        hierarchy->locals[parent].children++;
}

void scn_hierarchy_unlink(struct scn_hierarchy *hierarchy, uint32_t slot)
{
        SCN_ASSERT(slot < hierarchy->slot_count);
        uint32_t parent = hierarchy->locals[slot].parent;
        SCN_ASSERT(parent != SCN_SLOT_NONE || slot == hierarchy->root);

        hierarchy->order_is_valid = false;
        hierarchy->linked_count--;
        if (parent == SCN_SLOT_NONE) {
                hierarchy->root = SCN_SLOT_NONE;
                return;
        }

        struct scn_hierarchy_links *links = hierarchy->links;
        uint32_t previous = links[slot].previous;
        uint32_t next = links[slot].next;
        if (previous != SCN_SLOT_NONE)
                links[previous].next = next;
        else
                links[parent].first_child = next;
        if (next != SCN_SLOT_NONE)
                links[next].previous = previous;
        else
                links[parent].last_child = previous;
        links[slot].previous = SCN_SLOT_NONE;
        links[slot].next = SCN_SLOT_NONE;
        hierarchy->locals[slot].parent = SCN_SLOT_NONE;
        hierarchy->locals[parent].children--;
}

void scn_hierarchy_set_local(struct scn_hierarchy *hierarchy, uint32_t slot, const struct scn_trs *local)
{
        SCN_ASSERT(slot < hierarchy->slot_count);
        hierarchy->locals[slot].trs = *local;
        mark(hierarchy, slot);
}

/* ---- Walks ---- */

uint32_t scn_hierarchy_walk(const struct scn_hierarchy *hierarchy, uint32_t top, uint32_t slot)
{
        SCN_ASSERT(slot < hierarchy->slot_count);
        const uint32_t child = hierarchy->links[slot].first_child;
        return child != SCN_SLOT_NONE ? child : scn_hierarchy_walk_past(hierarchy, top, slot);
}

uint32_t scn_hierarchy_walk_past(const struct scn_hierarchy *hierarchy, uint32_t top, uint32_t slot)
{
        SCN_ASSERT(slot < hierarchy->slot_count);
        const struct scn_hierarchy_links *links = hierarchy->links;
        while (slot != top) {
                if (links[slot].next != SCN_SLOT_NONE)
                        return links[slot].next;
                slot = hierarchy->locals[slot].parent;
                SCN_ASSERT(slot != SCN_SLOT_NONE);
        }
        return SCN_SLOT_NONE;
}

uint32_t scn_hierarchy_walk_last(const struct scn_hierarchy *hierarchy, uint32_t top)
{
        SCN_ASSERT(top < hierarchy->slot_count);
        const struct scn_hierarchy_links *links = hierarchy->links;
        uint32_t slot = top;

        while (links[slot].last_child != SCN_SLOT_NONE)
                slot = links[slot].last_child;
        return slot;
}

uint32_t scn_hierarchy_walk_back(const struct scn_hierarchy *hierarchy, uint32_t top, uint32_t slot)
{
        SCN_ASSERT(slot < hierarchy->slot_count);
        if (slot == top)
                return SCN_SLOT_NONE;
        uint32_t previous = hierarchy->links[slot].previous;
        return previous != SCN_SLOT_NONE ? scn_hierarchy_walk_last(hierarchy, previous)
                                         : hierarchy->locals[slot].parent;
}

/* ---- Updates ---- */

/* A list of slots, level by level, in borrowed room. */
struct level_list {
        uint32_t *slots;
        uint32_t count;
        uint32_t room;
};

/* The scratch room is full: on in `order`, which has room for every slot, and loses the whole tree's order. */
static void move_to_order(struct scn_hierarchy *hierarchy, struct level_list *list)
{
        SCN_ASSERT(list->slots == hierarchy->scratch);
        SCN_ASSERT(list->count < hierarchy->slot_count);
        memcpy(hierarchy->order, list->slots, list->count * sizeof *list->slots);
        list->slots = hierarchy->order;
        list->room = hierarchy->slot_count;
        hierarchy->order_is_valid = false;
}

/* Appends all that hangs below the entries of the list, which are one level. */
static void list_below(struct scn_hierarchy *hierarchy, struct level_list *list)
{
        const struct scn_hierarchy_links *links = hierarchy->links;
        uint32_t level = 0;

        while (level < list->count) {
                uint32_t level_end = list->count;
                list->slots[level] |= SCN_HIERARCHY_LEVEL;
                for (; level < level_end; level++) {
                        uint32_t child = links[list->slots[level] & ~SCN_HIERARCHY_LEVEL].first_child;
                        for (; child != SCN_SLOT_NONE; child = links[child].next) {
                                if (list->count == list->room)
                                        move_to_order(hierarchy, list);
                                list->slots[list->count++] = child;
                        }
                }
        }
}

static void order_whole_tree(struct scn_hierarchy *hierarchy)
{
        struct level_list list = {hierarchy->order, 1, hierarchy->slot_count};

        list.slots[0] = hierarchy->root;
        list_below(hierarchy, &list);
        hierarchy->order_count = list.count;
        hierarchy->order_is_valid = true;
}

/* Recomputes everything and returns how many nodes that were. There is a root. */
static uint32_t run_whole_tree(struct scn_hierarchy *hierarchy)
{
        if (!hierarchy->order_is_valid)
                order_whole_tree(hierarchy);
        struct scn_hierarchy_local *root = &hierarchy->locals[hierarchy->root];
        scn_kernel_local(&root->trs, &hierarchy->worlds[hierarchy->root]);
        hierarchy->kernel(hierarchy->locals, hierarchy->worlds, hierarchy->order + 1, hierarchy->order_count - 1);
        clear_marks(hierarchy);
        return hierarchy->order_count;
}

static void run_list(struct scn_hierarchy *hierarchy, const uint32_t *slots, uint32_t count)
{
        hierarchy->kernel(hierarchy->locals, hierarchy->worlds, slots, count);
        hierarchy->counters.visited += count;
        hierarchy->counters.recomputed += count;
}

/* Moves the tops to the front of `marks`: the marked slots that have children and the root above them, but no
 * mark on the way. Their subtrees are disjoint. False, with nothing lost, if that takes more steps than there are
 * nodes. */
static bool find_tops(struct scn_hierarchy *hierarchy, uint32_t *tops_count_out)
{
        uint32_t *marks = hierarchy->marks;
        uint32_t tops_count = 0;
        uint64_t steps = 0;
        uint64_t steps_max = hierarchy->linked_count > FULL_PASS_NODES_MIN ? hierarchy->linked_count : UINT64_MAX;

        for (uint32_t i = 0; i < hierarchy->marks_count; i++) {
                uint32_t slot = marks[i];
                if (is_leaf(hierarchy, slot))
                        continue;
                uint32_t ancestor = slot;
                uint32_t above = hierarchy->locals[slot].parent;
                while (above != SCN_SLOT_NONE && !is_marked(hierarchy, above)) {
                        ancestor = above;
                        above = hierarchy->locals[above].parent;
                        steps++;
                }
                if (steps > steps_max)
                        return false;
                if (ancestor == hierarchy->root) {
                        marks[i] = marks[tops_count];
                        marks[tops_count++] = slot;
                }
        }
        *tops_count_out = tops_count;
        return true;
}

/* The subtrees of the first marks, all in one list: many small ones then fill the lanes together. */
static void update_subtrees(struct scn_hierarchy *hierarchy, uint32_t tops_count)
{
        struct level_list list = {hierarchy->scratch, 0, SCN_HIERARCHY_SCRATCH};

        if (tops_count == 0)
                return;
        if (tops_count > SCN_HIERARCHY_SCRATCH)
                move_to_order(hierarchy, &list);
        memcpy(list.slots, hierarchy->marks, tops_count * sizeof *list.slots);
        list.count = tops_count;
        list_below(hierarchy, &list);
        run_list(hierarchy, list.slots, list.count);
        /* Other marks, if there are any, may lie below the tops, where nothing is stale any more. */
        uint32_t covered_count = tops_count < hierarchy->marks_count ? list.count : tops_count;
        for (uint32_t i = 0; i < covered_count; i++)
                hierarchy->locals[list.slots[i] & ~SCN_HIERARCHY_LEVEL].children &= ~SCN_HIERARCHY_MARK;
}

/* The leaves among the marks from `first` on whose mark no subtree has cleared. Clears the rest: theirs that are
 * unlinked meanwhile, or hang on such a one. */
static void update_leaves(struct scn_hierarchy *hierarchy, uint32_t first)
{
        uint32_t leaves[LEAVES_AHEAD];
        uint32_t leaves_count = 0;

        for (uint32_t i = first; i < hierarchy->marks_count; i++) {
                uint32_t slot = hierarchy->marks[i];
                struct scn_hierarchy_local *local = &hierarchy->locals[slot];
                if (!is_marked(hierarchy, slot))
                        continue;
                local->children &= ~SCN_HIERARCHY_MARK;
                if (local->children != 0 || local->parent == SCN_SLOT_NONE)
                        continue;
                __builtin_prefetch(&hierarchy->worlds[local->parent]);
                __builtin_prefetch(&hierarchy->worlds[slot], 1);
                leaves[leaves_count++] = slot;
                if (leaves_count == LEAVES_AHEAD) {
                        run_list(hierarchy, leaves, leaves_count);
                        leaves_count = 0;
                }
        }
        run_list(hierarchy, leaves, leaves_count);
        hierarchy->marks_count = 0;
}

void scn_hierarchy_update(struct scn_hierarchy *hierarchy)
{
        uint32_t tops_count;

        if (hierarchy->marks_count == 0)
                return;
        if (hierarchy->root == SCN_SLOT_NONE) {
                clear_marks(hierarchy);
        } else if (is_marked(hierarchy, hierarchy->root)) {
                uint32_t count = run_whole_tree(hierarchy);
                hierarchy->counters.visited += count;
                hierarchy->counters.recomputed += count;
        } else if (!find_tops(hierarchy, &tops_count)) {
                hierarchy->counters.full_recomputed += run_whole_tree(hierarchy);
                hierarchy->counters.full_passes++;
        } else {
                update_subtrees(hierarchy, tops_count);
                update_leaves(hierarchy, tops_count);
        }
}

void scn_hierarchy_update_all(struct scn_hierarchy *hierarchy)
{
        if (hierarchy->root == SCN_SLOT_NONE)
                clear_marks(hierarchy);
        else
                hierarchy->counters.full_recomputed += run_whole_tree(hierarchy);
}

/* ---- Questions ---- */

bool scn_hierarchy_is_stale(const struct scn_hierarchy *hierarchy, uint32_t slot)
{
        SCN_ASSERT(slot < hierarchy->slot_count);
        for (; slot != SCN_SLOT_NONE; slot = hierarchy->locals[slot].parent) {
                if (is_marked(hierarchy, slot))
                        return true;
        }
        return false;
}

static uint32_t ancestor_at(const struct scn_hierarchy *hierarchy, uint32_t slot, uint32_t steps)
{
        while (steps-- > 0)
                slot = hierarchy->locals[slot].parent;
        return slot;
}

/* The world of `slot`, whose topmost marked ancestor is `steps` above. The way down is not linked, so the way up
 * is noted, a piece at a time: one piece in any document, for the depth is limited there. */
static struct scn_affine compute_path(const struct scn_hierarchy *hierarchy, uint32_t slot, uint32_t steps)
{
        uint32_t top_parent = hierarchy->locals[ancestor_at(hierarchy, slot, steps)].parent;
        bool is_root = top_parent == SCN_SLOT_NONE;
        struct scn_affine world;
        uint32_t left = steps + 1;

        if (!is_root)
                world = hierarchy->worlds[top_parent];
        while (left > 0) {
                uint32_t path[PATH_STEPS];
                uint32_t count = left < PATH_STEPS ? left : PATH_STEPS;
                left -= count;
                path[0] = ancestor_at(hierarchy, slot, left);
                for (uint32_t i = 1; i < count; i++)
                        path[i] = hierarchy->locals[path[i - 1]].parent;
                for (uint32_t i = count; i-- > 0;) {
                        const struct scn_trs *local = &hierarchy->locals[path[i]].trs;
                        if (is_root)
                                scn_kernel_local(local, &world);
                        else
                                scn_kernel_child(&world, local, &world);
                        is_root = false;
                }
        }
        return world;
}

enum scn_error scn_hierarchy_world(const struct scn_hierarchy *hierarchy, uint32_t slot, struct scn_affine *world_out)
{
        SCN_ASSERT(slot < hierarchy->slot_count);
        uint32_t steps = 0;
        uint32_t steps_to_mark = 0;
        bool is_stale = false;

        uint32_t above = hierarchy->marks_count == 0 ? SCN_SLOT_NONE : slot;
        for (; above != SCN_SLOT_NONE; above = hierarchy->locals[above].parent) {
                if (is_marked(hierarchy, above)) {
                        steps_to_mark = steps;
                        is_stale = true;
                }
                steps++;
        }
        *world_out = is_stale ? compute_path(hierarchy, slot, steps_to_mark) : hierarchy->worlds[slot];
        for (uint32_t i = 0; i < 12; i++) {
                if (!isfinite(world_out->m[i]))
                        return SCN_E_OVERFLOW;
        }
        return SCN_OK;
}

struct scn_hierarchy_counters scn_hierarchy_counters(const struct scn_hierarchy *hierarchy)
{
        return hierarchy->counters;
}

void scn_hierarchy_reset_counters(struct scn_hierarchy *hierarchy)
{
        hierarchy->counters = (struct scn_hierarchy_counters){0};
}
