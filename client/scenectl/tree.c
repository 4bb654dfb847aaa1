/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* tree, get: nodes as they are, or were. */

#include "client/scenectl/ctl.h"
#include "protocol/base/alloc.h"
#include "protocol/base/uid.h"
#include "protocol/wire/pack.h"

#include <string.h>

struct tree {
        struct scn_ctl *ctl;
        bool is_full;          /* for people: all of each node, not just its name */
        struct scn_uid *chain; /* the ancestors of the node that comes next, topmost first */
        size_t depth;
        size_t capacity;
        bool is_in_line; /* JSON: a node's properties may go on */
};

static void put_properties(struct scn_ctl *ctl, struct scn_slice map)
{
        struct scn_unpacker unpacker = scn_unpacker_from(map);
        const uint32_t count = map.data == NULL ? 0 : scn_unpack_map(&unpacker);
        for (uint32_t i = 0; i < count && unpacker.error == SCN_OK; i++) {
                scn_ctl_next(ctl);
                scn_json_put_text(&ctl->json, scn_unpack_text(&unpacker, UINT32_MAX));
                scn_json_put(&ctl->json, ":");
                scn_json_put_value(&ctl->json, scn_unpack_raw(&unpacker), SCN_JSON_TAGGED, NULL);
        }
}

static void end_json(struct tree *tree)
{
        if (tree->is_in_line) {
                scn_ctl_close_bracket(tree->ctl, "}");
                scn_ctl_end_line(tree->ctl);
        }
        tree->is_in_line = false;
}

static void print_json(struct tree *tree, const struct scn_tree_node *node)
{
        struct scn_ctl *ctl = tree->ctl;
        if (node->continues && tree->is_in_line) {
                put_properties(ctl, node->props);
                return;
        }
        end_json(tree);
        tree->is_in_line = true;
        scn_ctl_begin_line(ctl);
        scn_ctl_key(ctl, "uid");
        scn_ctl_put_uid(ctl, node->uid);
        scn_ctl_key(ctl, "parent");
        scn_ctl_put_uid(ctl, node->parent);
        scn_ctl_key(ctl, "name");
        scn_ctl_put_name(ctl, node->name);
        scn_ctl_key(ctl, "t");
        scn_ctl_put_floats(ctl, node->trs.t, 3);
        scn_ctl_key(ctl, "r");
        scn_ctl_put_floats(ctl, node->trs.r, 4);
        scn_ctl_key(ctl, "s");
        scn_ctl_put_floats(ctl, node->trs.s, 3);
        scn_ctl_key(ctl, "props");
        scn_ctl_open_bracket(ctl, "{");
        put_properties(ctl, node->props);
}

/* Nodes come parents first, so the parent is among the last ones' ancestors. */
static void indent(struct tree *tree, const struct scn_tree_node *node)
{
        while (tree->depth > 0 && !scn_uid_equal(tree->chain[tree->depth - 1], node->parent)) {
                tree->depth--;
        }
        for (size_t i = 0; i < tree->depth; i++) {
                scn_ctl_print("  ");
        }
        if (scn_grow((void **)&tree->chain, &tree->capacity, sizeof *tree->chain, tree->depth + 1, SIZE_MAX)) {
                tree->chain[tree->depth++] = node->uid;
        }
}

static void print_properties(struct scn_slice map)
{
        struct scn_unpacker unpacker = scn_unpacker_from(map);
        const uint32_t count = map.data == NULL ? 0 : scn_unpack_map(&unpacker);
        for (uint32_t i = 0; i < count && unpacker.error == SCN_OK; i++) {
                const struct scn_slice key = scn_unpack_text(&unpacker, UINT32_MAX);
                const struct scn_slice value = scn_unpack_raw(&unpacker);
                struct scn_buffer text;
                scn_buffer_init(&text, (size_t)1 << 24);
                struct scn_json json = scn_json_to(&text);
                scn_json_put_value(&json, value, SCN_JSON_TAGGED, NULL);
                scn_ctl_print_text(key);
                scn_ctl_print(": ");
                scn_ctl_print_text((struct scn_slice){text.data, (uint32_t)text.size});
                scn_ctl_print("\n");
                scn_buffer_finish(&text);
        }
}

static void print_full(const struct scn_tree_node *node)
{
        scn_ctl_print("name: ");
        scn_ctl_print_text(node->name);
        scn_ctl_print("\nuid: ");
        scn_ctl_print_uid(node->uid);
        if (!scn_uid_is_none(node->parent)) {
                scn_ctl_print("\nparent: ");
                scn_ctl_print_uid(node->parent);
        }
        scn_ctl_print_floats("\ntranslation:", node->trs.t, 3);
        scn_ctl_print_floats("\nrotation:", node->trs.r, 4);
        scn_ctl_print_floats("\nscale:", node->trs.s, 3);
        scn_ctl_print("\n");
        print_properties(node->props);
}

static void print_line(struct tree *tree, const struct scn_tree_node *node)
{
        indent(tree, node);
        if (node->name.data == NULL) {
                scn_ctl_print(scn_uid_is_none(node->parent) ? "/" : "-");
        }
        scn_ctl_print_text(node->name);
        scn_ctl_print("  ");
        scn_ctl_print_uid(node->uid);
        scn_ctl_print("\n");
}

static void on_tree(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct tree *tree = data;
        struct scn_tree_node node;
        size_t at = 0;
        while (answer->failure == NULL && scn_answer_tree(answer, &at, &node)) {
                if (tree->ctl->is_json) {
                        print_json(tree, &node);
                } else if (tree->is_full && !node.continues) {
                        print_full(&node);
                } else if (tree->is_full) {
                        print_properties(node.props);
                } else if (!node.continues) {
                        print_line(tree, &node);
                }
        }
        if (!answer->has_more) {
                end_json(tree);
        }
        scn_ctl_on_done(client, answer, tree->ctl);
}

static int run(struct tree *tree, const char *document, const struct scn_request *request)
{
        struct scn_ctl *ctl = tree->ctl;
        if (!scn_ctl_open(ctl, document)) {
                return ctl->code;
        }
        const enum scn_error error = scn_client_tree(ctl->client, request, on_tree, tree);
        const int code = error == SCN_OK ? scn_ctl_wait(ctl) : scn_ctl_refuse(ctl, error);
        scn_free(tree->chain);
        return code;
}

int scn_ctl_run_tree(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct scn_request request = SCN_REQUEST_INIT;
        struct tree tree = {.ctl = ctl};
        const char *depth = arguments->options[SCN_CTL_OPTION_depth];
        uint64_t levels = 0;
        if ((arguments->values_count > 1 && !scn_ctl_read_node(ctl, "NODE", arguments->values[1], &request.node)) ||
                (depth != NULL && !scn_ctl_read_number(ctl, "--depth", depth, UINT32_MAX, &levels))) {
                return SCN_CTL_USAGE;
        }
        request.at = arguments->options[SCN_CTL_OPTION_at];
        request.has_depth = depth != NULL;
        request.depth = (uint32_t)levels;
        return run(&tree, arguments->values[0], &request);
}

int scn_ctl_run_get(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct scn_request request = SCN_REQUEST_INIT;
        struct tree tree = {.ctl = ctl, .is_full = true};
        if (!scn_ctl_read_node(ctl, "NODE", arguments->values[1], &request.node)) {
                return SCN_CTL_USAGE;
        }
        request.at = arguments->options[SCN_CTL_OPTION_at];
        request.has_depth = true;
        return run(&tree, arguments->values[0], &request);
}
