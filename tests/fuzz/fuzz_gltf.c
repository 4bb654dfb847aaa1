/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Any bytes, read as a glTF file. What is taken must be an edit that a document accepts, and written out and read
 * again it must be the same to the bit. */

#include "client/scenectl/gltf_read.h"
#include "client/scenectl/gltf_write.h"
#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "tests/lib/gltf_same.h"
#include "tests/lib/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void draw(void *data, uint8_t *bytes, size_t size)
{
        for (size_t i = 0; i < size; i++)
                bytes[i] = (uint8_t)scn_random_next(data);
}

static struct scn_gltf_read_options options_with(struct scn_random *random)
{
        struct scn_gltf_read_options options = SCN_GLTF_READ_OPTIONS_DEFAULT;

        options.parent = (struct scn_node_ref){.kind = SCN_REF_ID, .id = 1};
        options.random = draw;
        options.random_data = random;
        return options;
}

/* A document of these nodes, which must be accepted. Ends them. */
static struct scn_document *document_of(struct scn_gltf_nodes *nodes, struct scn_random *random)
{
        struct scn_document_options options = {.limits = SCN_LIMITS_DEFAULT, .random = draw, .random_data = random};
        const struct scn_edit edit = {.ops = nodes->ops, .ops_count = nodes->ops_count};
        struct scn_document *document;
        struct scn_changes *changes;
        struct scn_refusal refusal;

        draw(random, options.root_uid.bytes, sizeof options.root_uid.bytes);
        SCN_ASSERT(scn_document_create(&options, &document) == SCN_OK);
        if (nodes->ops_count > 0) {
                SCN_ASSERT(scn_document_apply(document, &edit, &changes, &refusal) == SCN_OK);
                scn_document_settle(document, changes);
        }
        scn_gltf_nodes_finish(nodes);
        return document;
}

/* In memory, where the system has such a folder. */
static const char *scratch_path(void)
{
        static char path[64];

        (void)snprintf(path, sizeof path, "%s/scn_fuzz_gltf_%ld", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
                (long)getpid());
        return path;
}

static void remove_scratch(void)
{
        (void)unlink(scratch_path());
}

/* Writes a document and reads it back, with the uids that this seed gives. */
static struct scn_document *there_and_back(struct scn_document *document, enum scn_gltf_format format)
{
        struct scn_random random = scn_random_from_seed(2);
        const struct scn_gltf_read_options options = options_with(&random);
        struct scn_gltf_report report;
        struct scn_gltf_nodes nodes;

        SCN_ASSERT(scn_gltf_write_file(document, 1, scratch_path(), format, &report) == SCN_GLTF_OK);
        SCN_ASSERT(scn_gltf_read_file(scratch_path(), &options, &nodes, &report) == SCN_GLTF_OK);
        SCN_ASSERT(report.notes_count == 0);
        return document_of(&nodes, &random);
}

/* Whether some value may refer to a node: its uid, and so the value, is another after an import. */
static bool has_reference(const struct scn_document *document)
{
        for (scn_node_id id = 1; id != 0; id = scn_document_walk(document, 1, id)) {
                const uint32_t count = scn_document_node(document, id).property_fields_count;
                for (uint32_t i = 0; i < count; i++) {
                        const struct scn_slice value = scn_document_property(document, id, i, NULL).value;
                        for (uint32_t k = 0; k + 1 < value.size; k++) {
                                if (value.data[k] == 0xd8 && value.data[k + 1] == 0x01)
                                        return true;
                        }
                }
        }
        return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static bool is_begun;
        struct scn_random random = scn_random_from_seed(1);
        const struct scn_gltf_read_options options = options_with(&random);
        struct scn_gltf_report report;
        struct scn_gltf_nodes nodes;
        char message[SCN_GLTF_MESSAGE_BYTES];

        if (!is_begun)
                (void)atexit(remove_scratch);
        is_begun = true;
        const uint64_t live_count = scn_alloc_stats().live_count;
        const enum scn_gltf_fault fault =
                scn_gltf_read_bytes((struct scn_slice){data, (uint32_t)size}, &options, &nodes, &report);
        scn_gltf_report_describe(&report, message);
        if (fault == SCN_GLTF_OK) {
                struct scn_document *document = document_of(&nodes, &random);
                struct scn_document *copy = there_and_back(document, SCN_GLTF_TEXT);
                struct scn_document *copy_of_copy = there_and_back(copy, SCN_GLTF_BINARY);
                SCN_ASSERT(has_reference(document) || gltf_is_same(document, copy));
                SCN_ASSERT(gltf_is_same(copy, copy_of_copy));
                scn_document_destroy(copy_of_copy);
                scn_document_destroy(copy);
                scn_document_destroy(document);
        }
        SCN_ASSERT(scn_alloc_stats().live_count == live_count);
        return 0;
}
