/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/bench/scene_peers.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "tests/lib/random.h"

#include <cglm/cglm.h>
#include <string.h>

static void *alloc_or_abort(size_t size)
{
        void *block = scn_alloc_aligned(64, size);
        SCN_ASSERT(block != NULL);
        memset(block, 0, size);
        return block;
}

static void compose(const struct scn_trs *trs, mat4 local_out)
{
        versor rotation;
        glm_vec4_ucopy((float *)(uintptr_t)trs->r, rotation);
        glm_quat_mat4(rotation, local_out);
        glm_vec4_scale(local_out[0], trs->s[0], local_out[0]);
        glm_vec4_scale(local_out[1], trs->s[1], local_out[1]);
        glm_vec4_scale(local_out[2], trs->s[2], local_out[2]);
        memcpy(local_out[3], trs->t, sizeof trs->t);
}

/* ---- Pointers ---- */

struct pointer_node {
        mat4 world;
        struct scn_trs local;
        struct pointer_node *parent;
        struct pointer_node **children;
        uint32_t children_count;
};

struct peer_pointers {
        struct pointer_node *heap;
        struct pointer_node **nodes; /* by number */
        struct pointer_node **children;
};

struct peer_pointers *peer_pointers_create(const uint32_t *parents, const struct scn_trs *locals, uint32_t count)
{
        struct peer_pointers *tree = alloc_or_abort(sizeof *tree);
        struct scn_random random = scn_random_from_seed(7);

        tree->heap = alloc_or_abort(count * sizeof *tree->heap);
        tree->nodes = alloc_or_abort(count * sizeof *tree->nodes);
        tree->children = alloc_or_abort(count * sizeof *tree->children);
        for (uint32_t i = 0; i < count; i++)
                tree->nodes[i] = &tree->heap[i];
        for (uint32_t i = count - 1; i > 0; i--) {
                uint32_t other = scn_random_below(&random, i + 1);
                struct pointer_node *node = tree->nodes[i];
                tree->nodes[i] = tree->nodes[other];
                tree->nodes[other] = node;
        }
        for (uint32_t i = 1; i < count; i++)
                tree->nodes[parents[i]]->children_count++;
        struct pointer_node **room = tree->children;
        for (uint32_t i = 0; i < count; i++) {
                tree->nodes[i]->children = room;
                room += tree->nodes[i]->children_count;
                tree->nodes[i]->children_count = 0;
                tree->nodes[i]->local = locals[i];
                if (i == 0)
                        continue;
                struct pointer_node *parent = tree->nodes[parents[i]];
                tree->nodes[i]->parent = parent;
                parent->children[parent->children_count++] = tree->nodes[i];
        }
        return tree;
}

void peer_pointers_destroy(struct peer_pointers *tree)
{
        scn_free(tree->heap);
        scn_free(tree->nodes);
        scn_free(tree->children);
        scn_free(tree);
}

/* Recursion, as the engines have it; the trees given here are not deep. */
static void recompute(struct pointer_node *node)
{
        if (node->parent == NULL) {
                compose(&node->local, node->world);
        } else {
                mat4 local;
                compose(&node->local, local);
                glm_mul(node->parent->world, local, node->world);
        }
        for (uint32_t i = 0; i < node->children_count; i++)
                recompute(node->children[i]);
}

void peer_pointers_update_all(struct peer_pointers *tree)
{
        recompute(tree->nodes[0]);
}

float peer_pointers_probe(const struct peer_pointers *tree, uint32_t node)
{
        return tree->nodes[node]->world[3][0];
}

/* ---- The source's flat scan ---- */

struct peer_scan {
        uint32_t count;
        uint8_t *dirty;
        mat4 *worlds;
        struct scn_trs *locals;
        uint32_t *parents;
        uint32_t *first_child; /* children are chained */
        uint32_t *next;
};

struct peer_scan *peer_scan_create(const uint32_t *parents, const struct scn_trs *locals, uint32_t count)
{
        struct peer_scan *scan = alloc_or_abort(sizeof *scan);

        scan->count = count;
        scan->dirty = alloc_or_abort(count);
        scan->worlds = alloc_or_abort(count * sizeof *scan->worlds);
        scan->locals = alloc_or_abort(count * sizeof *scan->locals);
        scan->parents = alloc_or_abort(count * sizeof *scan->parents);
        scan->first_child = alloc_or_abort(count * sizeof *scan->first_child);
        scan->next = alloc_or_abort(count * sizeof *scan->next);
        memcpy(scan->locals, locals, count * sizeof *locals);
        memcpy(scan->parents, parents, count * sizeof *parents);
        for (uint32_t i = count - 1; i > 0; i--) {
                scan->next[i] = scan->first_child[parents[i]];
                scan->first_child[parents[i]] = i;
        }
        return scan;
}

void peer_scan_destroy(struct peer_scan *scan)
{
        scn_free(scan->dirty);
        scn_free(scan->worlds);
        scn_free(scan->locals);
        scn_free(scan->parents);
        scn_free(scan->first_child);
        scn_free(scan->next);
        scn_free(scan);
}

static void mark_dirty(struct peer_scan *scan, uint32_t node)
{
        if (scan->dirty[node] != 0)
                return;
        scan->dirty[node] = 1;
        for (uint32_t child = scan->first_child[node]; child != 0; child = scan->next[child])
                mark_dirty(scan, child);
}

static void recompute_at(struct peer_scan *scan, uint32_t node)
{
        if (node == 0) {
                compose(&scan->locals[node], scan->worlds[node]);
        } else {
                mat4 local;
                compose(&scan->locals[node], local);
                glm_mul(scan->worlds[scan->parents[node]], local, scan->worlds[node]);
        }
        scan->dirty[node] = 0;
}

void peer_scan_set_local(struct peer_scan *scan, uint32_t node, const struct scn_trs *local)
{
        scan->locals[node] = *local;
        mark_dirty(scan, node);
}

void peer_scan_update(struct peer_scan *scan)
{
        for (uint32_t i = 0; i < scan->count; i++) {
                if (scan->dirty[i] != 0)
                        recompute_at(scan, i);
        }
}

void peer_scan_update_all(struct peer_scan *scan)
{
        for (uint32_t i = 0; i < scan->count; i++)
                recompute_at(scan, i);
}

float peer_scan_probe(const struct peer_scan *scan, uint32_t node)
{
        return scan->worlds[node][3][0];
}

/* ---- Only moving ---- */

struct moved {
        float floats[12];
};

struct peer_mover {
        uint32_t count;
        struct moved *from;
        struct moved *to;
};

struct peer_mover *peer_mover_create(uint32_t count)
{
        struct peer_mover *mover = alloc_or_abort(sizeof *mover);

        mover->count = count;
        mover->from = alloc_or_abort(count * sizeof *mover->from);
        mover->to = alloc_or_abort(count * sizeof *mover->to);
        return mover;
}

void peer_mover_destroy(struct peer_mover *mover)
{
        scn_free(mover->from);
        scn_free(mover->to);
        scn_free(mover);
}

/* Record by record: one memcpy of it all would use wider moves than a kernel can. */
void peer_mover_move_all(struct peer_mover *mover)
{
        for (uint32_t i = 0; i < mover->count; i++) {
                mover->to[i] = mover->from[i];
                __asm__ volatile("" ::: "memory");
        }
}

void peer_mover_move_one(struct peer_mover *mover, uint32_t node, uint32_t parent, const struct scn_trs *local)
{
        struct moved moved = mover->to[parent];

        memcpy(mover->from[node].floats, local, sizeof *local);
        moved.floats[0] += local->t[0];
        mover->to[node] = moved;
}

float peer_mover_probe(const struct peer_mover *mover, uint32_t node)
{
        return mover->to[node].floats[0];
}
