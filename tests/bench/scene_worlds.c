/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/bench/scene_worlds.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/scene/hierarchy.h"
#include "tests/bench/bench.h"
#include "tests/bench/scene_peers.h"
#include "tests/lib/random.h"

#include <stdio.h>

#define EDITS_A_FRAME 20u
#define RUNS 5u

/* A tree under measurement. Edits are drawn beforehand, so that drawing is not measured. */
struct subject {
        uint32_t count;
        uint32_t *parents;
        struct scn_trs *locals;
        struct scn_hierarchy *hierarchy;
        struct scn_random random;
        uint32_t repeats; /* full passes or frames in one run */
        uint32_t *edits;  /* repeats * EDITS_A_FRAME nodes, and for moves as many new parents behind */
        uint32_t frame;
        struct peer_pointers *pointers;
        struct peer_scan *scan;
        struct peer_mover *mover;
};

static volatile float sink;

static struct scn_trs random_local(struct scn_random *random)
{
        struct scn_trs local;
        float a = scn_random_float(random, -0.5f, 0.5f);

        for (uint32_t i = 0; i < 3; i++) {
                local.t[i] = scn_random_float(random, -2.0f, 2.0f);
                local.s[i] = scn_random_float(random, 0.9f, 1.1f);
        }
        /* A unit quaternion from a rational half-angle tangent about z. */
        local.r[0] = local.r[1] = 0.0f;
        local.r[2] = 2.0f * a / (1.0f + a * a);
        local.r[3] = (1.0f - a * a) / (1.0f + a * a);
        return local;
}

static uint32_t parent_in_fan(uint32_t node)
{
        return (node - 1) / 4;
}

static uint32_t parent_in_chains(uint32_t node)
{
        return node % 1000 == 1 ? 0 : node - 1;
}

static uint32_t parent_in_row(uint32_t node)
{
        (void)node;
        return 0;
}

static void *must_alloc(size_t size)
{
        void *block = scn_alloc(size);
        SCN_ASSERT(block != NULL);
        return block;
}

static struct subject subject_create(uint32_t count, uint32_t (*parent_of)(uint32_t node))
{
        struct subject s = {.count = count, .random = scn_random_from_seed(1)};

        s.parents = must_alloc(count * sizeof *s.parents);
        s.locals = must_alloc(count * sizeof *s.locals);
        s.hierarchy = scn_hierarchy_create();
        SCN_ASSERT(s.hierarchy != NULL);
        for (uint32_t i = 0; i < count; i++) {
                enum scn_error error = scn_hierarchy_reserve(s.hierarchy, i + 1);
                SCN_ASSERT(error == SCN_OK);
                s.parents[i] = i == 0 ? SCN_SLOT_NONE : parent_of(i);
                s.locals[i] = random_local(&s.random);
                uint32_t previous = i == 0 ? SCN_SLOT_NONE : scn_hierarchy_last_child(s.hierarchy, s.parents[i]);
                scn_hierarchy_link(s.hierarchy, i, s.parents[i], previous);
                scn_hierarchy_set_local(s.hierarchy, i, &s.locals[i]);
        }
        scn_hierarchy_update(s.hierarchy);
        return s;
}

static void subject_destroy(struct subject *s)
{
        scn_hierarchy_destroy(s->hierarchy);
        scn_free(s->parents);
        scn_free(s->locals);
}

static void draw_edits(struct subject *s, uint32_t frames, uint32_t first, uint32_t end)
{
        s->repeats = frames;
        s->edits = must_alloc(2 * frames * EDITS_A_FRAME * sizeof *s->edits);
        for (uint32_t i = 0; i < 2 * frames * EDITS_A_FRAME; i++)
                s->edits[i] = first + scn_random_below(&s->random, end - first);
}

static void print_row(
        const struct subject *s, const char *shape, const char *what, double value, const char *unit, double budget)
{
        char text[128];
        snprintf(text, sizeof text, "%s %u: %s", shape, s->count, what);
        scn_bench_row(text, value, unit, budget);
}

/* ---- Full recompute ---- */

static void once_full(void *data)
{
        struct subject *s = data;
        for (uint32_t i = 0; i < s->repeats; i++)
                scn_hierarchy_update_all(s->hierarchy);
}

static void once_full_pointers(void *data)
{
        struct subject *s = data;
        for (uint32_t i = 0; i < s->repeats; i++)
                peer_pointers_update_all(s->pointers);
        sink = peer_pointers_probe(s->pointers, s->count - 1);
}

static void once_full_scan(void *data)
{
        struct subject *s = data;
        for (uint32_t i = 0; i < s->repeats; i++)
                peer_scan_update_all(s->scan);
        sink = peer_scan_probe(s->scan, s->count - 1);
}

static void once_full_mover(void *data)
{
        struct subject *s = data;
        for (uint32_t i = 0; i < s->repeats; i++)
                peer_mover_move_all(s->mover);
        sink = peer_mover_probe(s->mover, s->count - 1);
}

static double per_node(struct subject *s, void (*once)(void *data))
{
        s->repeats = s->count >= 100000 ? 1 : 100000 / s->count;
        return scn_bench_best_ns(RUNS, once, s) / ((double)s->repeats * s->count);
}

static double full_budget(const struct subject *s)
{
        return s->count <= 10000 ? 4.0 : s->count >= 1000000 ? 9.0 : SCN_BENCH_NO_BUDGET;
}

static void measure_full(struct subject *s, const char *shape, double budget)
{
        static const struct {
                enum scn_kernel kernel;
                const char *what;
        } kernels[] = {
                {SCN_KERNEL_SCALAR, "full recompute, scalar"},
                {SCN_KERNEL_VECTOR4, "full recompute, 4 lanes"},
                {SCN_KERNEL_VECTOR8, "full recompute, 8 lanes"},
        };

        for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
                if (!scn_kernel_is_available(kernels[i].kernel))
                        continue;
                scn_hierarchy_set_kernel(s->hierarchy, kernels[i].kernel);
                double ns = per_node(s, once_full);
                print_row(s, shape, kernels[i].what, ns, "ns/node",
                        kernels[i].kernel == SCN_KERNEL_VECTOR8 ? budget : SCN_BENCH_NO_BUDGET);
        }
        scn_hierarchy_set_kernel(s->hierarchy, SCN_KERNEL_BEST);
}

static void measure_full_peers(struct subject *s)
{
        print_row(s, "fan", "  only moving the bytes", per_node(s, once_full_mover), "ns/node", SCN_BENCH_NO_BUDGET);
        print_row(s, "fan", "  flat scan of the source, cglm", per_node(s, once_full_scan), "ns/node",
                SCN_BENCH_NO_BUDGET);
        print_row(s, "fan", "  pointer tree, cglm", per_node(s, once_full_pointers), "ns/node", SCN_BENCH_NO_BUDGET);
}

/* ---- Edits ---- */

static void once_root(void *data)
{
        struct subject *s = data;
        for (uint32_t i = 0; i < s->repeats; i++) {
                scn_hierarchy_set_local(s->hierarchy, 0, &s->locals[0]);
                scn_hierarchy_update(s->hierarchy);
        }
}

/* Frames of 20 edits of `edits`; in a second run other numbers are stored than in the first. */
static void once_edits(void *data)
{
        struct subject *s = data;
        struct scn_trs local = s->locals[s->frame++ % s->count];

        for (uint32_t frame = 0; frame < s->repeats; frame++) {
                for (uint32_t i = 0; i < EDITS_A_FRAME; i++)
                        scn_hierarchy_set_local(s->hierarchy, s->edits[frame * EDITS_A_FRAME + i], &local);
                scn_hierarchy_update(s->hierarchy);
        }
}

static void once_edits_scan(void *data)
{
        struct subject *s = data;
        struct scn_trs local = s->locals[s->frame++ % s->count];

        for (uint32_t frame = 0; frame < s->repeats; frame++) {
                for (uint32_t i = 0; i < EDITS_A_FRAME; i++)
                        peer_scan_set_local(s->scan, s->edits[frame * EDITS_A_FRAME + i], &local);
                peer_scan_update(s->scan);
        }
        sink = peer_scan_probe(s->scan, s->edits[0]);
}

static void once_edits_mover(void *data)
{
        struct subject *s = data;
        struct scn_trs local = s->locals[s->frame++ % s->count];

        for (uint32_t i = 0; i < s->repeats * EDITS_A_FRAME; i++)
                peer_mover_move_one(s->mover, s->edits[i], s->parents[s->edits[i]], &local);
        sink = peer_mover_probe(s->mover, s->edits[0]);
}

static double per_edit(struct subject *s, void (*once)(void *data))
{
        return scn_bench_best_ns(RUNS, once, s) / ((double)s->repeats * EDITS_A_FRAME);
}

static void measure_leaves(struct subject *s)
{
        bool is_large = s->count >= 1000000;
        double budget = s->count <= 10000 ? 15.0 : is_large ? 60.0 : SCN_BENCH_NO_BUDGET;

        draw_edits(s, 200, (s->count - 2) / 4 + 1, s->count);
        double ours = per_edit(s, once_edits);
        double moved = per_edit(s, once_edits_mover);
        s->repeats = is_large ? 10 : 100;
        double scanned = per_edit(s, once_edits_scan);
        scn_free(s->edits);
        print_row(s, "fan", "20 dirty leaves a frame", ours, "ns/edit", budget);
        print_row(s, "fan", "  only moving the bytes", moved, "ns/edit", SCN_BENCH_NO_BUDGET);
        print_row(s, "fan", "  flat scan of the source, cglm", scanned, "ns/edit", SCN_BENCH_NO_BUDGET);
        if (budget > SCN_BENCH_NO_BUDGET)
                scn_bench_ratio("  faster than the flat scan", scanned / ours, is_large ? 200.0 : 10.0);
}

/* Nodes with 340 beneath them: four full levels, the last of which ends at node 256 i + 340 for node i. */
static void measure_subtree(struct subject *s)
{
        uint32_t first = 1;
        uint32_t width = 4;

        while ((first + width) * 256 + 340 < s->count) {
                first += width;
                width *= 4;
        }
        uint32_t end = (s->count - 341) / 256 + 1;
        draw_edits(s, 10, first, end < first + width ? end : first + width);
        uint64_t before = scn_hierarchy_counters(s->hierarchy).recomputed;
        once_edits(s);
        double nodes = (double)(scn_hierarchy_counters(s->hierarchy).recomputed - before);
        double ns = scn_bench_best_ns(RUNS, once_edits, s);
        scn_free(s->edits);
        print_row(s, "fan", "20 dirty subtrees of 341 nodes a frame", ns / nodes, "ns/node", SCN_BENCH_NO_BUDGET);
}

/* The document has looked for rings before it links, so that is not measured. */
static void once_moves(void *data)
{
        struct subject *s = data;
        const uint32_t *parents = s->edits + s->repeats * EDITS_A_FRAME;

        for (uint32_t frame = 0; frame < s->repeats; frame++) {
                for (uint32_t i = 0; i < EDITS_A_FRAME; i++) {
                        uint32_t slot = s->edits[frame * EDITS_A_FRAME + i];
                        uint32_t parent = parents[frame * EDITS_A_FRAME + i];
                        scn_hierarchy_unlink(s->hierarchy, slot);
                        scn_hierarchy_link(s->hierarchy, slot, parent, scn_hierarchy_last_child(s->hierarchy, parent));
                }
                scn_hierarchy_update(s->hierarchy);
        }
}

static void measure_moves(struct subject *s)
{
        const uint32_t frames = 100;
        double best = 0.0;

        for (uint32_t run = 0; run < RUNS; run++) {
                /* All but the topmost hundredth move, under parents of the upper fifth with smaller numbers than
                 * theirs: as all parents have, so that no order of moves makes a ring. */
                draw_edits(s, frames, s->count / 100, s->count);
                uint32_t *parents = s->edits + frames * EDITS_A_FRAME;
                for (uint32_t i = 0; i < frames * EDITS_A_FRAME; i++) {
                        parents[i] %= s->count / 5;
                        while (parents[i] >= s->edits[i])
                                parents[i] = scn_random_below(&s->random, s->count / 100);
                }
                double start = scn_bench_now_ns();
                once_moves(s);
                double took = scn_bench_now_ns() - start;
                best = run == 0 || took < best ? took : best;
                scn_free(s->edits);
        }
        print_row(s, "fan", "20 moves of small subtrees a frame", best / frames / 1000.0, "us/frame",
                s->count >= 1000000 ? 10.0 : SCN_BENCH_NO_BUDGET);
        /* What moving about has cost the tree. */
        print_row(s, "fan", "  then full recompute", per_node(s, once_full), "ns/node", SCN_BENCH_NO_BUDGET);
}

/* ---- Shapes ---- */

static void measure_fan(uint32_t count)
{
        uint64_t bytes = scn_alloc_stats().live_bytes;
        struct subject s = subject_create(count, parent_in_fan);
        bytes = scn_alloc_stats().live_bytes - bytes;

        s.pointers = peer_pointers_create(s.parents, s.locals, count);
        s.scan = peer_scan_create(s.parents, s.locals, count);
        s.mover = peer_mover_create(count);
        measure_full(&s, "fan", full_budget(&s));
        measure_full_peers(&s);
        print_row(&s, "fan", "dirty root", per_node(&s, once_root), "ns/node", SCN_BENCH_NO_BUDGET);
        measure_leaves(&s);
        measure_subtree(&s);
        measure_moves(&s);
        /* The subject's own two arrays are not the hierarchy's. */
        double own_bytes = (double)count * (sizeof *s.parents + sizeof *s.locals);
        print_row(&s, "fan", "memory, growth and scratch included", ((double)bytes - own_bytes) / count, "bytes/slot",
                SCN_BENCH_NO_BUDGET);
        peer_pointers_destroy(s.pointers);
        peer_scan_destroy(s.scan);
        peer_mover_destroy(s.mover);
        subject_destroy(&s);
}

static void measure_shape(const char *shape, uint32_t (*parent_of)(uint32_t node))
{
        struct subject s = subject_create(100000, parent_of);

        measure_full(&s, shape, SCN_BENCH_NO_BUDGET);
        print_row(&s, shape, "dirty root", per_node(&s, once_root), "ns/node", SCN_BENCH_NO_BUDGET);
        draw_edits(&s, 20, 1, s.count);
        print_row(&s, shape, "20 dirty nodes a frame", per_edit(&s, once_edits), "ns/edit", SCN_BENCH_NO_BUDGET);
        scn_free(s.edits);
        subject_destroy(&s);
}

void bench_worlds(void)
{
        scn_bench_heading("World transforms: the layout alone, one thread, best of several runs");
        measure_fan(10000);
        measure_fan(100000);
        measure_fan(1000000);
        measure_shape("chains of 1000,", parent_in_chains);
        measure_shape("flat row,", parent_in_row);
}
