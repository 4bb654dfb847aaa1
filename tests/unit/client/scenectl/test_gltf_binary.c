/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The binary form, .glb. */

#define _XOPEN_SOURCE 700
#include "client/scenectl/gltf_read.h"

#include "client/scenectl/json_value.h"
#include "tests/lib/gltf.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

/* --- Binary files --- */

struct glb {
        uint8_t bytes[512];
        uint32_t size;
};

static void put_word(struct glb *glb, uint32_t word)
{
        for (uint32_t i = 0; i < 4; i++)
                glb->bytes[glb->size++] = (uint8_t)(word >> 8 * i);
}

/* A container with one JSON chunk and, of bin_size > 0, one of bytes. */
static struct glb glb_of(const char *json, uint32_t bin_size)
{
        struct glb glb = {.size = 0};
        const uint32_t size = (uint32_t)strlen(json);

        put_word(&glb, 0x46546c67);
        put_word(&glb, 2);
        put_word(&glb, 12 + 8 + size + (bin_size > 0 ? 8 + bin_size : 0));
        put_word(&glb, size);
        put_word(&glb, 0x4e4f534a);
        memcpy(glb.bytes + glb.size, json, size);
        glb.size += size;
        if (bin_size > 0) {
                put_word(&glb, bin_size);
                put_word(&glb, 0x004e4942);
                glb.size += bin_size;
        }
        return glb;
}

static void set_word(struct glb *glb, uint32_t offset, uint32_t word)
{
        const uint32_t size = glb->size;
        glb->size = offset;
        put_word(glb, word);
        glb->size = size;
}

static enum scn_gltf_fault read_glb(const struct glb *glb, uint32_t *nodes_count_out)
{
        struct scn_gltf_read_options options = gltf_options();
        struct scn_gltf_report report;
        struct scn_gltf_nodes nodes;
        /* A block of its own, so that AddressSanitizer sees its end. */
        uint8_t *copy = malloc(glb->size > 0 ? glb->size : 1);

        memcpy(copy, glb->bytes, glb->size);
        enum scn_gltf_fault fault = scn_gltf_read_bytes((struct scn_slice){copy, glb->size}, &options, &nodes, &report);
        free(copy);
        *nodes_count_out = nodes.ops_count;
        scn_gltf_nodes_finish(&nodes);
        return fault;
}

SCN_TEST(gltf_read, takes_a_binary_file_and_lets_its_buffer_be)
{
        uint32_t count;
        const struct glb without = glb_of(NODES("{},{}"), 0);
        const struct glb with = glb_of(NODES("{},{}"), 16);

        cr_expect_eq(read_glb(&without, &count), SCN_GLTF_OK);
        cr_expect_eq(count, 2);
        cr_expect_eq(read_glb(&with, &count), SCN_GLTF_OK);
        cr_expect_eq(count, 2);
}

SCN_TEST(gltf_read, refuses_a_binary_file_whose_lengths_lie)
{
        const uint32_t bin_at = glb_of(NODES("{}"), 0).size;
        const struct {
                uint32_t offset;
                uint32_t word;
                enum scn_gltf_fault fault;
        } rows[] = {
                {4, 1, SCN_GLTF_NOT_GLTF},              /* version */
                {8, 0, SCN_GLTF_BAD_GLB},               /* the whole: nothing */
                {8, 15, SCN_GLTF_BAD_GLB},              /* cuts the first head */
                {8, 20, SCN_GLTF_BAD_GLB},              /* cuts the JSON */
                {8, UINT32_MAX, SCN_GLTF_BAD_GLB},      /* beyond the file */
                {12, UINT32_MAX, SCN_GLTF_BAD_GLB},     /* the JSON beyond the file */
                {12, 0, SCN_GLTF_BAD_GLB},              /* what follows is no chunk */
                {16, 0x004e4942, SCN_GLTF_BAD_GLB},     /* no JSON in front */
                {bin_at, 17, SCN_GLTF_BAD_GLB},         /* the buffer one byte beyond the file */
                {bin_at, UINT32_MAX, SCN_GLTF_BAD_GLB}, /* or much */
        };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct glb glb = glb_of(NODES("{}"), 16);
                uint32_t count;
                set_word(&glb, rows[i].offset, rows[i].word);
                cr_expect_eq(read_glb(&glb, &count), rows[i].fault, "row %zu", i);
                cr_expect_eq(count, 0);
        }
}

SCN_TEST(gltf_read, refuses_a_binary_file_cut_anywhere)
{
        struct glb whole = glb_of(NODES("{}"), 16);
        uint32_t count;

        for (uint32_t size = 0; size < whole.size; size++) {
                struct glb cut = whole;
                cut.size = size;
                cr_expect_neq(read_glb(&cut, &count), SCN_GLTF_OK, "%u bytes", size);
        }
        cr_expect_eq(read_glb(&whole, &count), SCN_GLTF_OK);
}
