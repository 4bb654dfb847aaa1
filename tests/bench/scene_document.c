/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The document: memory, edits, what changed, deltas. */

#include "tests/bench/scene_document.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/scene/delta.h"
#include "tests/bench/bench.h"
#include "tests/lib/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAN_OUT 4

static void fill_random(void *data, uint8_t *bytes, size_t size)
{
        struct scn_random *random = data;
        for (size_t i = 0; i < size; i++) {
                bytes[i] = (uint8_t)scn_random_next(random);
        }
}

struct scene {
        struct scn_document *document;
        struct scn_random random;
        uint32_t count;
        uint64_t bytes; /* of memory, from creation on */
};

static struct scn_changes *apply(struct scene *scene, const struct scn_op *ops, uint32_t count)
{
        const struct scn_edit edit = {.ops = ops, .ops_count = count, .client = {{1}}};
        struct scn_changes *changes;
        struct scn_refusal refusal;
        const enum scn_error error = scn_document_apply(scene->document, &edit, &changes, &refusal);
        SCN_ASSERT(error == SCN_OK);
        return changes;
}

static void apply_one(struct scene *scene, const struct scn_op *op)
{
        scn_document_settle(scene->document, apply(scene, op, 1));
}

static struct scn_op add_op(scn_node_id parent)
{
        return (struct scn_op){
                .kind = SCN_OP_ADD,
                .parent = {.kind = SCN_REF_ID, .id = parent},
                .fields = SCN_FIELDS_TRANSLATION,
                .trs = {.t = {1.0f, 2.0f, 3.0f}},
        };
}

/* Level by level; `fan_out` 0: all under the root. Ids are 1 .. count. */
static void build(struct scene *scene, uint32_t count, uint32_t fan_out)
{
        enum {
                BATCH = 5000
        };
        static struct scn_op ops[BATCH];
        struct scn_document_options options = {
                .limits = SCN_LIMITS_DEFAULT,
                .uid = {{1}},
                .root_uid = {{2}},
                .hash_seed = 3,
                .random = fill_random,
                .random_data = &scene->random,
        };
        const uint64_t before = scn_alloc_stats().live_bytes;
        scene->random = scn_random_from_seed(11);
        scene->count = count;
        SCN_ASSERT(scn_document_create(&options, &scene->document) == SCN_OK);
        uint32_t filled = 0;
        for (uint32_t i = 1; i < count; i++) {
                ops[filled++] = add_op(fan_out == 0 ? 1 : (i - 1) / fan_out + 1);
                if (filled == BATCH || i == count - 1) {
                        scn_document_settle(scene->document, apply(scene, ops, filled));
                        filled = 0;
                }
        }
        scn_document_update_worlds(scene->document);
        scene->bytes = scn_alloc_stats().live_bytes - before;
}

static void finish(struct scene *scene)
{
        scn_document_destroy(scene->document);
}

static struct scn_op transform_op(scn_node_id id, float x)
{
        return (struct scn_op){
                .kind = SCN_OP_TRANSFORM,
                .node = {.kind = SCN_REF_ID, .id = id},
                .fields = SCN_FIELDS_TRANSLATION,
                .trs = {.t = {x, 0.0f, 0.0f}},
        };
}

/* --- Edits --- */

#define TRANSFORMS 20000u

/* Best of several rounds, in ns an edit. `reach`: ids 1 .. reach are edited. */
static double time_transforms(struct scene *scene, uint32_t reach)
{
        double best = 0.0;
        for (int round = 0; round < 7; round++) {
                static scn_node_id ids[TRANSFORMS];
                for (uint32_t i = 0; i < TRANSFORMS; i++) {
                        ids[i] = 1 + (scn_node_id)(scn_random_next(&scene->random) % reach);
                }
                const double start = scn_bench_now_ns();
                for (uint32_t i = 0; i < TRANSFORMS; i++) {
                        const struct scn_op op = transform_op(ids[i], (float)(i + 1) + (float)round * 0.5f);
                        apply_one(scene, &op);
                }
                const double taken = (scn_bench_now_ns() - start) / TRANSFORMS;
                best = round == 0 || taken < best ? taken : best;
                scn_document_update_worlds(scene->document);
        }
        return best;
}

/* A random node goes under a random one that is not below it; refused ones are drawn again. */
static double time_structural_frames(struct scene *scene)
{
        enum {
                FRAMES = 300,
                EDITS = 20
        };
        double best = 0.0;
        for (int round = 0; round < 5; round++) {
                const double start = scn_bench_now_ns();
                for (int frame = 0; frame < FRAMES; frame++) {
                        for (int i = 0; i < EDITS;) {
                                struct scn_op op = {.kind = SCN_OP_MOVE, .place = SCN_PLACE_UNSAID};
                                struct scn_changes *changes;
                                struct scn_refusal refusal;
                                op.node.kind = op.parent.kind = SCN_REF_ID;
                                op.node.id = 2 + (scn_node_id)(scn_random_next(&scene->random) % (scene->count - 1));
                                op.parent.id = 1 + (scn_node_id)(scn_random_next(&scene->random) % scene->count);
                                const struct scn_edit edit = {.ops = &op, .ops_count = 1, .client = {{1}}};
                                if (scn_document_apply(scene->document, &edit, &changes, &refusal) == SCN_OK) {
                                        i += scn_changes_count(changes) > 0;
                                        scn_document_settle(scene->document, changes);
                                }
                        }
                        scn_document_update_worlds(scene->document);
                }
                const double taken = (scn_bench_now_ns() - start) / FRAMES / 1000.0;
                best = round == 0 || taken < best ? taken : best;
        }
        return best;
}

static void bench_edits(uint32_t count, const char *size, double transform_budget_ns, double frame_budget_us)
{
        struct scene scene;
        char what[96];
        const double start = scn_bench_now_ns();
        build(&scene, count, FAN_OUT);
        (void)snprintf(what, sizeof what, "%s: add a node, in edits of 5,000", size);
        scn_bench_row(what, (scn_bench_now_ns() - start) / count, "ns", SCN_BENCH_NO_BUDGET);
        (void)snprintf(what, sizeof what, "%s: memory a node", size);
        scn_bench_row(what, (double)scene.bytes / count, "B", 320.0);
        (void)snprintf(what, sizeof what, "%s: apply one transform, random nodes", size);
        scn_bench_row(what, time_transforms(&scene, count), "ns", transform_budget_ns);
        (void)snprintf(what, sizeof what, "%s: 20 moves a frame through apply, worlds current", size);
        scn_bench_row(what, time_structural_frames(&scene), "us", frame_budget_us);
        finish(&scene);
}

/* --- Long rows --- */

static void bench_rows(void)
{
        enum {
                ROW = 100000,
                INSERTS = 1000000
        };
        struct scene scene;
        build(&scene, ROW, 0);
        struct scn_op op = add_op(1);
        op.place = SCN_PLACE_INDEX;
        op.index = 0;
        double start = scn_bench_now_ns();
        for (uint32_t i = 0; i < INSERTS; i++) {
                apply_one(&scene, &op);
        }
        scn_bench_row("row of 100k: insert at the front by index, 1M times", (scn_bench_now_ns() - start) / INSERTS,
                "ns", SCN_BENCH_NO_BUDGET);
        op.place = SCN_PLACE_AFTER;
        op.after = (struct scn_node_ref){.kind = SCN_REF_ID, .id = 5000};
        start = scn_bench_now_ns();
        for (uint32_t i = 0; i < INSERTS; i++) {
                apply_one(&scene, &op);
        }
        scn_bench_row("row of 1.1M: insert between the same two, 1M times", (scn_bench_now_ns() - start) / INSERTS,
                "ns", SCN_BENCH_NO_BUDGET);
        uint64_t sum = 0;
        start = scn_bench_now_ns();
        for (uint32_t i = 0; i < 10000; i++) {
                sum += scn_document_index(scene.document, 2 + (scn_node_id)(scn_random_next(&scene.random) % ROW));
        }
        scn_bench_row(
                "row of 2.1M: position of a child", (scn_bench_now_ns() - start) / 10000, "ns", SCN_BENCH_NO_BUDGET);
        SCN_ASSERT(sum > 0);
        finish(&scene);
}

/* --- What changed --- */

struct question {
        struct scene *scene;
        struct scn_delta_request request;
        struct scn_delta delta;
        struct scn_node_list list;
};

static void ask_delta(void *data)
{
        struct question *question = data;
        SCN_ASSERT(scn_delta_compute(question->scene->document, &question->request, &question->delta) == SCN_OK);
}

static void ask_list(void *data)
{
        struct question *question = data;
        SCN_ASSERT(scn_document_list_changed(question->scene->document, question->request.from, &question->list) ==
                SCN_OK);
}

static void ask_dirty(void *data)
{
        struct question *question = data;
        SCN_ASSERT(
                scn_document_list_dirty(question->scene->document, question->request.from, &question->list) == SCN_OK);
}

static void row(const char *size, const char *what, double value, const char *unit, double budget)
{
        char text[112];
        (void)snprintf(text, sizeof text, "%s: %s", size, what);
        scn_bench_row(text, value, unit, budget);
}

/* Nothing new: the question every view asks at every publish point. */
static double time_nothing_new(struct scene *scene, scn_revision since)
{
        enum {
                ASKED = 1000000
        };
        uint32_t changed = 0;
        const double start = scn_bench_now_ns();
        for (uint32_t i = 0; i < ASKED; i++) {
                changed += scn_document_changed_since(scene->document, 2 + (i & 3), SCN_MASK_ALL, since);
        }
        SCN_ASSERT(changed == 0);
        return (scn_bench_now_ns() - start) / ASKED;
}

static void bench_changes(uint32_t count, uint32_t fan_out, const char *size)
{
        struct scene scene;
        build(&scene, count, fan_out);
        const scn_revision before = scn_document_revision(scene.document);
        for (uint32_t i = 0; i < 500; i++) {
                const struct scn_op op = transform_op(count / 2 + i * 7, (float)i + 0.25f);
                apply_one(&scene, &op);
        }
        struct question question = {.scene = &scene};
        question.request = (struct scn_delta_request){.root = {{2}}, .mask = SCN_MASK_ALL, .from = before};
        row(size, "list 500 changed", scn_bench_best_ns(50, ask_list, &question) / 500, "ns a node", 0.0);
        row(size, "list 500 changed with ancestors", scn_bench_best_ns(50, ask_dirty, &question) / 500, "ns a node",
                0.0);
        row(size, "delta of 500, whole document", scn_bench_best_ns(50, ask_delta, &question) / 500, "ns a node", 0.0);
        SCN_ASSERT(question.delta.nodes_count == 500);
        if (fan_out != 0) {
                scn_node_id top = count / 2;
                while (scn_document_node(scene.document, top).parent != 1) {
                        top = scn_document_node(scene.document, top).parent;
                }
                question.request.root = scn_document_node(scene.document, top).uid;
                row(size, "delta of 500, view of a subtree", scn_bench_best_ns(50, ask_delta, &question) / 500,
                        "ns a node", 0.0);
                question.request.root = (struct scn_uid){{2}};
        }
        question.request.from = scn_document_revision(scene.document);
        row(size, "delta with nothing new", scn_bench_best_ns(1000, ask_delta, &question), "ns", 0.0);
        row(size, "has anything changed? no", time_nothing_new(&scene, question.request.from), "ns", 20.0);
        question.request.is_fresh = true;
        row(size, "whole view", scn_bench_best_ns(3, ask_delta, &question) / count, "ns a node", 0.0);
        scn_delta_finish(&question.delta);
        scn_node_list_finish(&question.list);
        finish(&scene);
}

void bench_document(void)
{
        scn_bench_heading("document: edits and memory");
        bench_edits(10000, "10k", 300.0, SCN_BENCH_NO_BUDGET);
        bench_edits(100000, "100k", SCN_BENCH_NO_BUDGET, SCN_BENCH_NO_BUDGET);
        bench_edits(1000000, "1M", 1500.0, 60.0);
        bench_rows();
        scn_bench_heading("document: what changed");
        bench_changes(10000, FAN_OUT, "10k");
        bench_changes(1000000, FAN_OUT, "1M");
        bench_changes(100000, 0, "row of 100k");
}
