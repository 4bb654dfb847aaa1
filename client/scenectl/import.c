/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* import: a file's nodes, as one edit. The file is read, and judged, before there is a connection: what it holds is
 * taken whole or not at all. */

#include "client/draft.h"
#include "client/scenectl/assimp_read.h"
#include "client/scenectl/ctl.h"
#include "client/scenectl/gltf_name.h"
#include "client/scenectl/gltf_read.h"
#include "protocol/base/alloc.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define TAKE_AWAY_ATTEMPTS 50

struct import {
        struct scn_ctl *ctl;
        struct scn_gltf_report report;
        const char *path;
        uint32_t nodes_count;
        uint32_t *indices; /* owned; of each op, which node of the file it adds */
        bool is_new;       /* the document was made for this */
        bool is_touched;   /* ... and others have edited it since */
};

/* Uids of a client that never connects. */
static void draw(void *data, uint8_t *bytes, size_t size)
{
        while (size > 0) {
                const struct scn_uid uid = scn_client_make_uid(data);
                const size_t count = size < sizeof uid.bytes ? size : sizeof uid.bytes;
                memcpy(bytes, uid.bytes, count);
                bytes += count;
                size -= count;
        }
}

static bool read_file(struct import *import, const char *path, struct scn_gltf_read_options *options,
        struct scn_gltf_nodes *nodes_out)
{
        const struct scn_client_options source_options = SCN_CLIENT_OPTIONS_INIT;
        struct scn_client *source;
        const enum scn_error error = scn_client_create(&source_options, &source);
        if (error != SCN_OK) {
                (void)scn_ctl_refuse(import->ctl, error);
                return false;
        }
        options->random = draw;
        options->random_data = source;
        /* Whatever its name: libassimp knows glTF too, and would go after its meshes. */
        const bool is_gltf = scn_gltf_is_name(path) || scn_gltf_begins(path);
        const enum scn_gltf_fault fault = is_gltf ? scn_gltf_read_file(path, options, nodes_out, &import->report)
                                                  : scn_assimp_read_file(path, options, nodes_out, &import->report);
        scn_client_destroy(source);
        if (fault != SCN_GLTF_OK) {
                scn_ctl_fail_gltf(import->ctl, path, &import->report);
        }
        return fault == SCN_GLTF_OK;
}

/* Of a node that was not made nobody knows the uid; the file's number for it says more. What is wrong with the place
 * that was named is no fault of the file's. */
static void fail_at_node(struct import *import, const struct scn_failure *failure)
{
        struct scn_failure told = *failure;
        if (failure->has_op && failure->op < import->nodes_count && strcmp(failure->code, "no_node") != 0) {
                (void)snprintf(told.text, sizeof told.text, "%.150s: node %u: %.300s", import->path,
                        import->indices[failure->op], failure->text);
        }
        scn_ctl_fail_nameless(import->ctl, &told);
}

static void on_imported(struct scn_client *client, const struct scn_result *result, void *data)
{
        struct import *import = data;
        struct scn_ctl *ctl = import->ctl;
        (void)client;
        if (result->failure != NULL) {
                import->is_touched = result->rev > 0;
                fail_at_node(import, result->failure);
                return;
        }
        if (ctl->is_json) {
                scn_ctl_begin_line(ctl);
                scn_ctl_key(ctl, "rev");
                scn_json_put_uint(&ctl->json, result->rev);
                scn_ctl_key(ctl, "nodes");
                scn_json_put_uint(&ctl->json, import->nodes_count);
                scn_ctl_put_notes(ctl, &import->report);
                scn_ctl_end_line(ctl);
        } else {
                scn_ctl_print("revision %llu  %u nodes\n", (unsigned long long)result->rev, import->nodes_count);
                scn_ctl_print_notes(&import->report);
        }
        scn_ctl_done(ctl);
}

/* Ends the nodes: their ops are spelled by then. */
static enum scn_error submit(struct import *import, struct scn_gltf_nodes *nodes)
{
        struct scn_draft *draft = scn_draft_create(import->ctl->client, NULL);
        enum scn_error error = draft != NULL ? SCN_OK : SCN_E_NO_MEMORY;
        if (draft != NULL) {
                scn_draft_set_import(draft);
        }
        for (uint32_t i = 0; i < nodes->ops_count && error == SCN_OK; i++) {
                error = scn_draft_append(draft, &nodes->ops[i]);
        }
        import->indices = nodes->indices;
        nodes->indices = NULL;
        scn_gltf_nodes_finish(nodes);
        return error == SCN_OK ? scn_draft_submit(draft, on_imported, import, NULL) : error;
}

/* Opens the document; makes it if it is not there, which then is known. */
static bool open_document(struct import *import, const char *document, bool may_create)
{
        struct scn_ctl *ctl = import->ctl;
        ctl->tolerates = may_create ? "no_document" : NULL;
        const bool is_open = scn_ctl_open(ctl, document);
        ctl->tolerates = NULL;
        if (is_open || !ctl->has_tolerated) {
                return is_open;
        }
        ctl->code = SCN_CTL_OK;
        ctl->creates = true;
        import->is_new = true;
        return scn_ctl_open(ctl, document);
}

/* A document that was made for a file which the server then refused goes away again. It is busy until the server has
 * taken notice that we have left it; if others have come, it stays. */
static void take_away(struct import *import, const char *document)
{
        struct scn_ctl *ctl = import->ctl;
        const int code = ctl->code;
        const struct timespec pause = {.tv_nsec = 20000000};
        ctl->tolerates = "busy";
        for (int attempt = 0; attempt < TAKE_AWAY_ATTEMPTS; attempt++) {
                ctl->has_tolerated = false;
                if (!scn_ctl_open(ctl, NULL) ||
                        scn_client_manage(ctl->client, "delete", document, NULL, scn_ctl_on_done, ctl) != SCN_OK ||
                        scn_ctl_wait(ctl) == SCN_CTL_NO_CONNECTION || !ctl->has_tolerated) {
                        break;
                }
                (void)nanosleep(&pause, NULL);
        }
        ctl->tolerates = NULL;
        ctl->code = code;
}

int scn_ctl_run_import(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct import import = {.ctl = ctl, .path = arguments->values[1]};
        struct scn_gltf_read_options options = SCN_GLTF_READ_OPTIONS_DEFAULT;
        struct scn_gltf_nodes nodes;
        struct scn_target under = {.path = "/"};
        const char *node = arguments->options[SCN_CTL_OPTION_under];
        const char *scene = arguments->options[SCN_CTL_OPTION_scene];
        if (node != NULL && !scn_ctl_read_node(ctl, "--under", node, &under)) {
                return SCN_CTL_USAGE;
        }
        options.parent = scn_ref_of_target(under);
        if (scene != NULL) {
                options.scene = (struct scn_slice){(const uint8_t *)scene, (uint32_t)strlen(scene)};
        }
        if (!read_file(&import, arguments->values[1], &options, &nodes)) {
                return ctl->code;
        }
        import.nodes_count = nodes.ops_count;
        /* In a document that is not there, there is nothing to put a file under. */
        if (node != NULL) {
                ctl->hint = "--under names a node of a document that is there: scenectl create makes one, and so does "
                            "import without --under";
        }
        if (!open_document(&import, arguments->values[0], node == NULL)) {
                scn_gltf_nodes_finish(&nodes);
                return ctl->code;
        }
        const enum scn_error error = submit(&import, &nodes);
        const int code = error == SCN_OK ? scn_ctl_wait(ctl) : scn_ctl_refuse(ctl, error);
        if (code == SCN_CTL_REFUSED && import.is_new && !import.is_touched) {
                scn_ctl_close(ctl);
                take_away(&import, arguments->values[0]);
        }
        scn_free(import.indices);
        return code;
}
