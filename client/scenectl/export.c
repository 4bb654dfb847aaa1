/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* export: a document as a glTF file, as it is or was. The server tells the tree as of one revision; of it a document
 * is made here, which the writer goes through. */

#include "client/scenectl/ctl.h"
#include "client/scenectl/gltf_write.h"
#include "client/scenectl/verify_file.h"
#include "protocol/base/alloc.h"
#include "protocol/base/uid.h"
#include "protocol/wire/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What realpath() needs. */
#define PATH_BYTES 4096

struct export
{
        struct scn_ctl *ctl;
        struct scn_document *document; /* owned; NULL until the root has come */
        scn_revision rev;
        struct scn_op *ops; /* owned; of one part of the answer */
        size_t ops_count;
        size_t ops_capacity;
        struct scn_property *properties; /* owned; of all these ops, one after the other */
        size_t properties_count;
        size_t properties_capacity;
};

/* The server has held these nodes to its limits; ours would only be in the way. */
static struct scn_limits no_limits(void)
{
        struct scn_limits limits = SCN_LIMITS_DEFAULT;
        limits.depth_max = UINT32_MAX;
        limits.nodes_max = UINT32_MAX;
        limits.name_bytes_max = UINT32_MAX;
        limits.key_bytes_max = UINT32_MAX;
        limits.value_bytes_max = UINT32_MAX;
        limits.value_levels_max = SCN_VALUE_LEVELS_MAX;
        limits.properties_max = UINT32_MAX;
        limits.ops_max = UINT32_MAX;
        limits.record_bytes_max = UINT32_MAX;
        return limits;
}

/* Nobody asks: each node comes with its uid. */
static void draw(void *data, uint8_t *bytes, size_t size)
{
        (void)data;
        memset(bytes, 0, size);
}

static enum scn_error add_op(struct export *export, const struct scn_op *op)
{
        if (!scn_grow((void **)&export->ops, &export->ops_capacity, sizeof *export->ops, export->ops_count + 1,
                    SIZE_MAX / sizeof *export->ops)) {
                return SCN_E_NO_MEMORY;
        }
        export->ops[export->ops_count++] = *op;
        return SCN_OK;
}

/* Of a node that is there already. */
static enum scn_error set_properties(struct export *export, const struct scn_tree_node *node)
{
        struct scn_op op = {.kind = SCN_OP_SET, .node = {.kind = SCN_REF_UID, .uid = node->uid}};
        struct scn_unpacker unpacker = scn_unpacker_from(node->props);
        enum scn_error error = SCN_OK;
        for (uint32_t left = scn_unpack_map(&unpacker); left > 0 && error == SCN_OK; left--) {
                op.key = scn_unpack_text(&unpacker, UINT32_MAX);
                op.value = scn_unpack_raw(&unpacker);
                error = unpacker.error == SCN_OK ? add_op(export, &op) : unpacker.error;
        }
        return error;
}

/* The root is there already; what it has of its own is set. */
static enum scn_error begin(struct export *export, const struct scn_tree_node *node)
{
        struct scn_op op = {.node = {.kind = SCN_REF_UID, .uid = node->uid}, .name = node->name, .trs = node->trs};
        const struct scn_document_options options = {.limits = no_limits(), .root_uid = node->uid, .random = draw};
        enum scn_error error = scn_document_create(&options, &export->document);
        op.kind = SCN_OP_TRANSFORM;
        op.fields = SCN_FIELDS_TRS;
        error = error == SCN_OK ? add_op(export, &op) : error;
        op.kind = SCN_OP_RENAME;
        error = error == SCN_OK ? add_op(export, &op) : error;
        return error == SCN_OK ? set_properties(export, node) : error;
}

/* The op's `properties` is an index until all have come, for the array may move. */
static enum scn_error add_node(struct export *export, const struct scn_tree_node *node)
{
        struct scn_unpacker unpacker = scn_unpacker_from(node->props);
        struct scn_op op = {
                .kind = SCN_OP_ADD,
                .parent = {.kind = SCN_REF_UID, .uid = node->parent},
                .uid = node->uid,
                .name = node->name,
                .fields = SCN_FIELDS_TRS,
                .trs = node->trs,
        };
        op.properties_count = scn_unpack_map(&unpacker);
        for (uint32_t i = 0; i < op.properties_count && unpacker.error == SCN_OK; i++) {
                if (!scn_grow((void **)&export->properties, &export->properties_capacity, sizeof *export->properties,
                            export->properties_count + 1, SIZE_MAX / sizeof *export->properties)) {
                        return SCN_E_NO_MEMORY;
                }
                struct scn_property *property = &export->properties[export->properties_count++];
                property->key = scn_unpack_text(&unpacker, UINT32_MAX);
                property->value = scn_unpack_raw(&unpacker);
        }
        return unpacker.error == SCN_OK ? add_op(export, &op) : unpacker.error;
}

static enum scn_error apply(struct export *export)
{
        const struct scn_edit edit = {.ops = export->ops, .ops_count = (uint32_t) export->ops_count};
        struct scn_changes *changes;
        struct scn_refusal refusal;
        size_t at = 0;
        for (size_t i = 0; i < export->ops_count; i++) {
                if (export->ops[i].kind == SCN_OP_ADD && export->ops[i].properties_count > 0) {
                        export->ops[i].properties = &export->properties[at];
                        at += export->ops[i].properties_count;
                }
        }
        const enum scn_error error = scn_document_apply(export->document, &edit, &changes, &refusal);
        if (error == SCN_OK) {
                scn_document_settle(export->document, changes);
        }
        export->ops_count = 0;
        export->properties_count = 0;
        return error;
}

static void on_tree(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct export *export = data;
        struct scn_tree_node node;
        size_t at = 0;
        enum scn_error error = SCN_OK;
        if (export->ctl->is_done) {
                return;
        }
        while (answer->failure == NULL && error == SCN_OK && scn_answer_tree(answer, &at, &node)) {
                error = export->document == NULL ? begin(export, &node)
                        : node.continues         ? set_properties(export, &node)
                                                 : add_node(export, &node);
        }
        if (error == SCN_OK && export->ops_count > 0) {
                error = apply(export);
        }
        export->rev = answer->rev;
        if (error != SCN_OK) {
                (void)scn_ctl_refuse(export->ctl, error);
                return;
        }
        scn_ctl_on_done(client, answer, export->ctl);
}

static void print_done(const struct export *export, const char *path, const struct scn_gltf_report *report)
{
        struct scn_ctl *ctl = export->ctl;
        const uint32_t nodes_count = scn_document_nodes_count(export->document) - 1;
        if (ctl->is_json) {
                scn_ctl_begin_line(ctl);
                scn_ctl_key(ctl, "file");
                scn_json_put_cstring(&ctl->json, path);
                scn_ctl_key(ctl, "rev");
                scn_json_put_uint(&ctl->json, export->rev);
                scn_ctl_key(ctl, "nodes");
                scn_json_put_uint(&ctl->json, nodes_count);
                scn_ctl_put_notes(ctl, report);
                scn_ctl_end_line(ctl);
        } else {
                scn_ctl_print_cstring(path);
                scn_ctl_print(": %u nodes at revision %llu\n", nodes_count, (unsigned long long)export->rev);
                scn_ctl_print_notes(report);
        }
}

int scn_ctl_run_export(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct export export = {.ctl = ctl};
        struct scn_request request = SCN_REQUEST_INIT;
        struct scn_gltf_report report;
        const char *path = arguments->values[1];
        char real[PATH_BYTES];
        request.at = arguments->options[SCN_CTL_OPTION_at];
        if (scn_ctl_is_live(ctl, realpath(path, real) != NULL ? real : path)) {
                return ctl->code;
        }
        if (!scn_gltf_is_name(path)) {
                return scn_ctl_misuse(ctl, "FILE: '%s': what is written is glTF: it ends in .gltf or .glb", path);
        }
        if (!scn_ctl_open(ctl, arguments->values[0])) {
                return ctl->code;
        }
        const enum scn_error error = scn_client_tree(ctl->client, &request, on_tree, &export);
        int code = error == SCN_OK ? scn_ctl_wait(ctl) : scn_ctl_refuse(ctl, error);
        if (code == SCN_CTL_OK && export.document != NULL) {
                const scn_node_id root = scn_document_root(export.document);
                if (scn_gltf_write_file(export.document, root, path, scn_gltf_format_of(path), &report) ==
                        SCN_GLTF_OK) {
                        print_done(&export, path, &report);
                } else {
                        scn_ctl_fail_gltf(ctl, path, &report);
                        code = ctl->code;
                }
        }
        scn_free(export.ops);
        scn_free(export.properties);
        scn_document_destroy(export.document);
        return code;
}
