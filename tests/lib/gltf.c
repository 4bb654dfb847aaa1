/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/gltf.h"

#include "client/scenectl/json_value.h"
#include "tests/lib/random.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <string.h>

static struct scn_random uids;

static void draw(void *data, uint8_t *bytes, size_t size)
{
        for (size_t i = 0; i < size; i++)
                bytes[i] = (uint8_t)scn_random_next(data);
}

struct scn_gltf_read_options gltf_options(void)
{
        struct scn_gltf_read_options options = SCN_GLTF_READ_OPTIONS_DEFAULT;

        uids = scn_random_from_seed(7);
        options.parent = scene_path("/");
        options.random = draw;
        options.random_data = &uids;
        return options;
}

struct scn_gltf_nodes gltf_read(const char *text, struct scn_gltf_report *report)
{
        struct scn_gltf_read_options options = gltf_options();
        struct scn_gltf_nodes nodes;
        char message[SCN_GLTF_MESSAGE_BYTES];

        enum scn_gltf_fault fault = scn_gltf_read_bytes(scene_text(text), &options, &nodes, report);
        scn_gltf_report_describe(report, message);
        cr_assert_eq(fault, SCN_GLTF_OK, "%s", message);
        return nodes;
}

enum scn_gltf_fault gltf_refused(const char *text, struct scn_gltf_report *report)
{
        struct scn_gltf_read_options options = gltf_options();
        struct scn_gltf_nodes nodes;

        enum scn_gltf_fault fault = scn_gltf_read_bytes(scene_text(text), &options, &nodes, report);
        cr_assert_eq(fault, report->fault);
        cr_assert_neq(fault, SCN_GLTF_OK, "taken: %s", text);
        cr_assert_null(nodes.ops);
        cr_assert_eq(nodes.ops_count, 0);
        return fault;
}

const struct scn_op *gltf_find(const struct scn_gltf_nodes *nodes, const char *name)
{
        for (uint32_t i = 0; i < nodes->ops_count; i++) {
                const struct scn_slice found = nodes->ops[i].name;
                if (found.data != NULL && found.size == strlen(name) && memcmp(found.data, name, found.size) == 0)
                        return &nodes->ops[i];
        }
        cr_assert_fail("no node is called %s", name);
        return NULL;
}

struct scn_slice gltf_property(const struct scn_op *op, const char *key)
{
        for (uint32_t i = 0; i < op->properties_count; i++) {
                const struct scn_property *property = &op->properties[i];
                if (property->key.size == strlen(key) && memcmp(property->key.data, key, property->key.size) == 0)
                        return property->value;
        }
        return (struct scn_slice){NULL, 0};
}

const char *gltf_json(struct scn_slice value)
{
        static uint8_t text[65536];
        struct scn_buffer buffer = {.data = text, .capacity = sizeof text, .size_max = sizeof text};
        struct scn_json json = scn_json_to(&buffer);

        cr_assert_not_null(value.data);
        scn_json_put_value(&json, value, SCN_JSON_TAGGED, NULL);
        cr_assert_eq(json.error, SCN_OK);
        cr_assert_lt(buffer.size, sizeof text);
        text[buffer.size] = '\0';
        return (const char *)text;
}

struct scn_document *gltf_document(struct scn_gltf_nodes *nodes)
{
        struct scn_document *document = scene_create();

        if (nodes->ops_count > 0)
                (void)scene_do_all(document, nodes->ops, nodes->ops_count);
        scn_document_check(document);
        scn_gltf_nodes_finish(nodes);
        return document;
}

void gltf_refused_as(const char *text, enum scn_gltf_fault fault, uint32_t node)
{
        struct scn_gltf_report report;
        char message[SCN_GLTF_MESSAGE_BYTES];

        (void)gltf_refused(text, &report);
        scn_gltf_report_describe(&report, message);
        cr_expect_eq(report.fault, fault, "%s: %s", text, message);
        cr_expect_eq(report.node, node, "%s: %s", text, message);
        cr_expect(strlen(message) > 0);
}
