/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* A million nodes, each with a name and a whole transform, written as glTF and read again: CPU time, size, and what
 * memory it takes beside the document. A number given as an argument: so many nodes. */

#define _DEFAULT_SOURCE /* ru_maxrss under -std=c11 */
#include "client/scenectl/gltf_read.h"
#include "client/scenectl/gltf_write.h"
#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "tests/bench/bench.h"
#include "tests/lib/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define USAGE "bench_gltf [NODES]"
#define NODES_COUNT 1000000u
#define CHILDREN_COUNT 8u
#define NAME_BYTES 16

static void draw(void *data, uint8_t *bytes, size_t size)
{
        for (size_t i = 0; i < size; i++)
                bytes[i] = (uint8_t)scn_random_next(data);
}

/* As the system counts it; it never falls, so what matters is how much it rises. */
static double peak_mib(void)
{
        struct rusage usage;

        SCN_ASSERT(getrusage(RUSAGE_SELF, &usage) == 0);
        return (double)usage.ru_maxrss / 1024.0;
}

static struct scn_document *make_document(uint32_t nodes_count, struct scn_random *random)
{
        struct scn_document_options options = {.limits = SCN_LIMITS_DEFAULT, .random = draw, .random_data = random};
        struct scn_document *document;

        options.root_uid.bytes[0] = 1;
        SCN_ASSERT(scn_document_create(&options, &document) == SCN_OK);
        for (uint32_t i = 0; i < nodes_count; i++) {
                char name[NAME_BYTES];
                struct scn_op op = {.kind = SCN_OP_ADD, .fields = SCN_FIELDS_TRS, .trs = SCN_TRS_IDENTITY};
                const struct scn_edit edit = {.ops = &op, .ops_count = 1};
                struct scn_changes *changes;
                struct scn_refusal refusal;

                const int size = snprintf(name, sizeof name, "node %u", i);
                op.name = (struct scn_slice){(const uint8_t *)name, (uint32_t)size};
                op.parent = (struct scn_node_ref){.kind = SCN_REF_ID, .id = 1 + i / CHILDREN_COUNT};
                for (uint32_t k = 0; k < 3; k++) {
                        op.trs.t[k] = scn_random_float(random, -100.0f, 100.0f);
                        op.trs.s[k] = scn_random_float(random, 0.5f, 2.0f);
                }
                memcpy(op.trs.r, (float[4]){0.0f, 0.6f, 0.0f, 0.8f}, sizeof op.trs.r);
                SCN_ASSERT(scn_document_apply(document, &edit, &changes, &refusal) == SCN_OK);
                scn_document_settle(document, changes);
        }
        return document;
}

static void measure(const struct scn_document *document, const char *path, struct scn_random *random)
{
        struct scn_gltf_read_options options = SCN_GLTF_READ_OPTIONS_DEFAULT;
        struct scn_gltf_report report;
        struct scn_gltf_nodes nodes;

        options.parent = (struct scn_node_ref){.kind = SCN_REF_ID, .id = 1};
        options.random = draw;
        options.random_data = random;
        scn_bench_heading(path);
        const double before_mib = peak_mib();
        double begin_ns = scn_bench_now_ns();
        SCN_ASSERT(scn_gltf_write_file(document, 1, path, scn_gltf_format_of(path), &report) == SCN_GLTF_OK);
        scn_bench_row("write", (scn_bench_now_ns() - begin_ns) / 1e9, "s", SCN_BENCH_NO_BUDGET);
        scn_bench_row("write: memory", peak_mib() - before_mib, "MiB", SCN_BENCH_NO_BUDGET);

        const double between_mib = peak_mib();
        begin_ns = scn_bench_now_ns();
        SCN_ASSERT(scn_gltf_read_file(path, &options, &nodes, &report) == SCN_GLTF_OK);
        scn_bench_row("read", (scn_bench_now_ns() - begin_ns) / 1e9, "s", SCN_BENCH_NO_BUDGET);
        scn_bench_row("read: memory", peak_mib() - between_mib, "MiB", SCN_BENCH_NO_BUDGET);
        SCN_ASSERT(nodes.ops_count == scn_document_nodes_count(document) - 1);
        scn_gltf_nodes_finish(&nodes);
        (void)remove(path);
}

int main(int argc, char **argv)
{
        struct scn_random random = scn_random_from_seed(1);
        const uint32_t nodes_count = argc > 1 ? scn_bench_number(argv[1], 1, USAGE) : NODES_COUNT;
        if (argc > 2)
                scn_bench_misuse(USAGE);
        struct scn_document *document = make_document(nodes_count, &random);

        measure(document, "/tmp/scn_bench.gltf", &random);
        /* What the first took is there for the second. */
        measure(document, "/tmp/scn_bench.glb", &random);
        scn_document_destroy(document);
        return 0;
}
