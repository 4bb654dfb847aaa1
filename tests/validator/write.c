/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* usage: validator_write FOLDER FILE
 *
 * Writes scenes with everything that our exports can hold, and FILE imported and exported, for the Khronos validator
 * to look at; see `check`. */

#include "client/scenectl/gltf_read.h"
#include "client/scenectl/gltf_write.h"
#include "protocol/base/assert.h"
#include "protocol/base/uid.h"
#include "protocol/wire/pack.h"
#include "tests/lib/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void draw(void *data, uint8_t *bytes, size_t size)
{
        for (size_t i = 0; i < size; i++)
                bytes[i] = (uint8_t)scn_random_next(data);
}

static struct scn_random uids;

static struct scn_document *create(void)
{
        struct scn_document_options options = {.limits = SCN_LIMITS_DEFAULT, .random = draw, .random_data = &uids};
        struct scn_document *document;

        options.root_uid.bytes[0] = 1;
        SCN_ASSERT(scn_document_create(&options, &document) == SCN_OK);
        return document;
}

static void apply(struct scn_document *document, const struct scn_op *op)
{
        const struct scn_edit edit = {.ops = op, .ops_count = 1};
        struct scn_changes *changes;
        struct scn_refusal refusal;

        SCN_ASSERT(scn_document_apply(document, &edit, &changes, &refusal) == SCN_OK);
        scn_document_settle(document, changes);
}

static struct scn_slice text_of(const char *text)
{
        return (struct scn_slice){(const uint8_t *)text, (uint32_t)strlen(text)};
}

static scn_node_id add(struct scn_document *document, scn_node_id parent, const char *name, const struct scn_trs *trs)
{
        struct scn_op op = {.kind = SCN_OP_ADD, .parent = {.kind = SCN_REF_ID, .id = parent}};
        const scn_node_id id = scn_document_next_id(document);

        if (name != NULL)
                op.name = text_of(name);
        if (trs != NULL) {
                op.fields = SCN_FIELDS_TRS;
                op.trs = *trs;
        }
        apply(document, &op);
        return id;
}

static void set(struct scn_document *document, scn_node_id id, const char *key, const void *value, uint32_t size)
{
        const struct scn_op op = {.kind = SCN_OP_SET,
                .node = {.kind = SCN_REF_ID, .id = id},
                .key = text_of(key),
                .value = {value, size}};
        apply(document, &op);
}

/* A map {type, part: {key: number, ...}}; part NULL: none. A NaN stands for the end of the numbers. */
static void set_object(struct scn_document *document, scn_node_id id, const char *key, const char *type,
        const char *part, const char *const *keys, const float *numbers)
{
        struct scn_buffer buffer;
        uint32_t count = 0;

        scn_buffer_init(&buffer, 4096);
        struct scn_packer packer = scn_packer_to(&buffer);
        while (part != NULL && !isnan(numbers[count]))
                count++;
        scn_pack_map(&packer, part != NULL ? 2 : 1);
        scn_pack_cstring(&packer, "type");
        scn_pack_cstring(&packer, type);
        if (part != NULL) {
                scn_pack_cstring(&packer, part);
                scn_pack_map(&packer, count);
                for (uint32_t i = 0; i < count; i++) {
                        scn_pack_cstring(&packer, keys[i]);
                        scn_pack_float(&packer, numbers[i]);
                }
        }
        set(document, id, key, buffer.data, (uint32_t)buffer.size);
        scn_buffer_finish(&buffer);
}

/* Cameras and lights right at the edges of what we call valid, and just beyond: those must stay in extras. */
static void add_objects(struct scn_document *document)
{
        static const char *const perspective[] = {"yfov", "znear", "zfar", "aspectRatio"};
        static const char *const orthographic[] = {"xmag", "ymag", "zfar", "znear"};
        static const char *const spot[] = {"innerConeAngle", "outerConeAngle"};
        static const struct {
                const char *key;
                const char *type;
                const char *part;
                const char *const *keys;
                float numbers[5];
        } rows[] = {
                {"gltf.camera", "perspective", "perspective", perspective, {1e-3f, 1e-3f, NAN}},
                {"gltf.camera", "perspective", "perspective", perspective, {3.0f, 1.0f, 1.0001f, 0.01f, NAN}},
                {"gltf.camera", "perspective", "perspective", perspective, {0.0f, 1.0f, NAN}},
                {"gltf.camera", "perspective", "perspective", perspective, {1.0f, 0.0f, NAN}},
                {"gltf.camera", "perspective", "perspective", perspective, {1.0f, 1.0f, 1.0f, NAN}},
                {"gltf.camera", "perspective", "perspective", perspective, {1.0f, 1.0f, 2.0f, 0.0f, NAN}},
                {"gltf.camera", "perspective", "perspective", perspective, {1.0f, NAN}},
                {"gltf.camera", "perspective", "orthographic", orthographic, {1.0f, 1.0f, 2.0f, 1.0f, NAN}},
                {"gltf.camera", "perspective", NULL, NULL, {NAN}},
                {"gltf.camera", "orthographic", "orthographic", orthographic, {1.0f, 1.0f, 2.0f, 0.0f, NAN}},
                {"gltf.camera", "orthographic", "orthographic", orthographic, {0.0f, 1.0f, 2.0f, 0.0f, NAN}},
                {"gltf.camera", "orthographic", "orthographic", orthographic, {1.0f, 1.0f, 2.0f, 2.0f, NAN}},
                {"gltf.camera", "orthographic", "orthographic", orthographic, {1.0f, 1.0f, 2.0f, -1.0f, NAN}},
                {"gltf.camera", "orthographic", "orthographic", perspective, {1.0f, 1.0f, 2.0f, 1.0f, NAN}},
                {"gltf.light", "point", NULL, NULL, {NAN}},
                {"gltf.light", "directional", NULL, NULL, {NAN}},
                {"gltf.light", "ambient", NULL, NULL, {NAN}},
                {"gltf.light", "spot", NULL, NULL, {NAN}},
                {"gltf.light", "spot", "spot", spot, {0.0f, 1.5707963f, NAN}},
                {"gltf.light", "spot", "spot", spot, {0.0f, 1.5707964f, NAN}},
                {"gltf.light", "spot", "spot", spot, {0.5f, 0.5f, NAN}},
                {"gltf.light", "spot", "spot", spot, {0.8f, NAN}},
                {"gltf.light", "spot", "spot", spot, {-0.1f, NAN}},
                {"gltf.light", "point", "spot", spot, {0.0f, NAN}},
        };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                const scn_node_id id = add(document, 1, rows[i].type, NULL);
                set_object(document, id, rows[i].key, rows[i].type, rows[i].part, rows[i].keys, rows[i].numbers);
        }
}

/* The ends of float32, and rotations as far from 1 as a document keeps them. */
static void add_numbers(struct scn_document *document)
{
        static const float ends[] = {
                -0.0f, 0.0f, 1e-45f, 1.17549435e-38f, 3.4028235e38f, -3.4028235e38f, 0.1f, 16777216.0f};
        const float longer = 1.0f + 9.9e-6f;
        const float shorter = 1.0f - 9.9e-6f;

        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
                const struct scn_trs trs = {{ends[i], ends[i], ends[i]},
                        {0.0f, i % 2 == 0 ? longer : -shorter, 0.0f, 0.0f}, {ends[i], 1.0f, ends[i]}};
                (void)add(document, 1, NULL, &trs);
        }
}

static void add_properties(struct scn_document *document)
{
        static const char *const names[] = {"", "\"\\\n\t\x01", "\xe7\x81\xaf\xe5\x8f\xb0", "a/b"};
        scn_node_id id = 1;

        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                id = add(document, id, names[i], NULL);
                set(document, id, names[i][0] != '\0' ? names[i] : "k", "\xc4\x02\x00\xff", 4);
                set(document, id, "gltf.extras", i % 2 == 0 ? "\x05" : "\x81\xa1\x61\x90", i % 2 == 0 ? 1 : 4);
                set(document, id, "$odd", "\x81\xa5$node\x01", 8);
                set(document, id, "gltf.mesh", "\x81\xa5index\x03", 8);
        }
}

/* Writes a document as text and as binary. False if either was refused. */
static bool write_both(struct scn_document *document, const char *folder, const char *name)
{
        static const char *const ends[] = {"gltf", "glb"};
        bool is_well = true;

        for (size_t i = 0; i < 2; i++) {
                char path[4096];
                struct scn_gltf_report report;
                (void)snprintf(path, sizeof path, "%s/%s.%s", folder, name, ends[i]);
                if (scn_gltf_write_file(document, 1, path, scn_gltf_format_of(path), &report) != SCN_GLTF_OK) {
                        char message[SCN_GLTF_MESSAGE_BYTES];
                        scn_gltf_report_describe(&report, message);
                        (void)fprintf(stderr, "%s: %s\n", path, message);
                        is_well = false;
                }
        }
        scn_document_destroy(document);
        return is_well;
}

static struct scn_document *import(const char *path)
{
        struct scn_gltf_read_options options = SCN_GLTF_READ_OPTIONS_DEFAULT;
        struct scn_document *document = create();
        struct scn_gltf_nodes nodes;
        struct scn_gltf_report report;

        options.parent = (struct scn_node_ref){.kind = SCN_REF_ID, .id = 1};
        options.random = draw;
        options.random_data = &uids;
        SCN_ASSERT(scn_gltf_read_file(path, &options, &nodes, &report) == SCN_GLTF_OK);
        for (uint32_t i = 0; i < nodes.ops_count; i++)
                apply(document, &nodes.ops[i]);
        scn_gltf_nodes_finish(&nodes);
        return document;
}

int main(int argc, char **argv)
{
        static const struct {
                const char *name;
                void (*fill)(struct scn_document *document);
        } rows[] = {
                {"empty", NULL}, {"objects", add_objects}, {"numbers", add_numbers}, {"properties", add_properties}};
        bool is_well = argc == 3;

        uids = scn_random_from_seed(1);
        for (size_t i = 0; i < sizeof rows / sizeof *rows && is_well; i++) {
                struct scn_document *document = create();
                if (rows[i].fill != NULL)
                        rows[i].fill(document);
                is_well = write_both(document, argv[1], rows[i].name);
        }
        is_well = is_well && write_both(import(argv[2]), argv[1], "imported");
        return is_well ? 0 : 1;
}
