/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/editor.h"

#include "protocol/base/uid.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

#define WAIT_MS 60000u

void editor_begin(struct editor *editor, const char *address, uint32_t seed)
{
        struct scn_client_options options = SCN_CLIENT_OPTIONS_INIT;
        struct scn_view_options view_options = SCN_VIEW_OPTIONS_INIT;
        *editor = (struct editor){.random = scn_random_from_seed(seed), .nodes_wanted = 100};
        options.document = "shared";
        options.create = true;
        options.author = seed % 2 == 0 ? "ann" : "bob";
        cr_assert_eq(scn_client_create(&options, &editor->client), SCN_OK);
        cr_assert_eq(scn_socket_create(editor->client, address, &editor->socket), SCN_OK);
        cr_assert_eq(scn_view_create(editor->client, &view_options, &editor->view), SCN_OK);
}

void editor_end(struct editor *editor)
{
        scn_socket_destroy(editor->socket);
        scn_client_destroy(editor->client);
}

/* --- Edits --- */

static void on_result(struct scn_client *client, const struct scn_result *result, void *data)
{
        static const char *const deserved[] = {"gone", "no_node", "exists", "root", "cycle", "stale_parent", "singular",
                "shear", "conflict", "overflow"};
        struct editor *editor = data;
        bool is_deserved = false;
        (void)client;
        editor->accepted += result->failure == NULL;
        if (result->failure == NULL || strcmp(result->failure->code, "cancelled") == 0) {
                return;
        }
        for (size_t i = 0; i < sizeof deserved / sizeof deserved[0]; i++) {
                is_deserved = is_deserved || strcmp(result->failure->code, deserved[i]) == 0;
        }
        editor->refused++;
        if (!is_deserved) {
                editor->strange++;
                fprintf(stderr, "refused as %s: %s\n", result->failure->code, result->failure->text);
        }
}

void editor_submit(struct editor *editor, struct scn_draft *draft)
{
        cr_assert_eq(scn_draft_submit(draft, on_result, editor, NULL), SCN_OK);
        editor->submitted++;
}

/* A node that the editor sees: a random step of a walk. */
static struct scn_uid any_node(struct editor *editor)
{
        const struct scn_uid root = scn_view_root(editor->view);
        const uint32_t count = scn_view_nodes_count(editor->view);
        struct scn_uid at = root;
        for (uint32_t i = count == 0 ? 0 : scn_random_below(&editor->random, count); i > 0; i--) {
                const struct scn_uid next = scn_view_walk(editor->view, root, at);
                at = scn_uid_is_none(next) ? at : next;
        }
        return at;
}

static enum scn_op_kind any_kind(struct editor *editor)
{
        static const enum scn_op_kind kinds[] = {SCN_OP_MOVE, SCN_OP_MOVE, SCN_OP_TRANSFORM, SCN_OP_TRANSFORM,
                SCN_OP_TRANSFORM, SCN_OP_RENAME, SCN_OP_SET};
        const uint32_t draw = scn_random_below(&editor->random, 10);
        if (draw >= 3) {
                return kinds[draw - 3];
        }
        return scn_view_nodes_count(editor->view) > editor->nodes_wanted ? SCN_OP_REMOVE : SCN_OP_ADD;
}

static enum scn_error draft_op(struct editor *editor, struct scn_draft *draft, enum scn_op_kind kind)
{
        const struct scn_target node = SCN_BY_UID(any_node(editor));
        const uint32_t draw = scn_random_below(&editor->random, 100);
        const float t[3] = {(float)draw, 1.0f, 2.0f};
        const struct scn_position position = {.kind = SCN_POSITION_INDEX, .index = draw % 4};
        struct scn_addition addition = SCN_ADDITION_INIT;
        switch (kind) {
        case SCN_OP_ADD:
                addition.parent = node;
                addition.position = position;
                addition.name = "n";
                addition.t = t;
                return scn_draft_add(draft, &addition, NULL);
        case SCN_OP_REMOVE:
                return scn_draft_remove(draft, node);
        case SCN_OP_MOVE:
                return scn_draft_move(draft, node, SCN_BY_UID(any_node(editor)), position,
                        draw % 2 == 0 ? 0 : SCN_MOVE_KEEP_WORLD | SCN_MOVE_LOSSY);
        case SCN_OP_RENAME:
                return scn_draft_rename(draft, node, draw < 50 ? "renamed" : NULL);
        case SCN_OP_SET:
                return draw < 20 ? scn_draft_set(draft, node, "a", (struct scn_slice){NULL, 0})
                                 : scn_draft_set_double(draft, node, draw < 60 ? "a" : "b", (double)draw / 3.0);
        case SCN_OP_TRANSFORM:
        case SCN_OP_COUNT:
        default:
                return scn_draft_transform(draft, node, t, NULL, NULL);
        }
}

void editor_edit(struct editor *editor)
{
        struct scn_draft *draft = scn_draft_create(editor->client, editor->view);
        for (uint32_t i = 1 + scn_random_below(&editor->random, 3); i > 0; i--) {
                const enum scn_op_kind kind = any_kind(editor);
                cr_assert_eq(draft_op(editor, draft, kind), SCN_OK);
                editor->kinds[kind]++;
        }
        editor_submit(editor, draft);
}

/* --- Together --- */

void editors_turn(struct editor *editors, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                scn_socket_wait(editors[i].socket, 1);
        }
}

bool editors_are_ready(const struct editor *editors, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                if (!scn_view_is_ready(editors[i].view)) {
                        return false;
                }
        }
        return true;
}

static bool are_quiet(const struct editor *editors, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                if (scn_client_pending_count(editors[i].client) > 0 || scn_view_pending_count(editors[i].view) > 0) {
                        return false;
                }
        }
        return true;
}

static void on_digest(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct editor *editor = data;
        (void)client;
        editor->has_digest = answer->failure == NULL && scn_answer_digest(answer, editor->digest);
}

/* The server's. */
static void ask_digest(struct editor *editor)
{
        const uint64_t until = scn_daemon_now_ms() + WAIT_MS;
        editor->has_digest = false;
        cr_assert_eq(scn_client_digest(editor->client, NULL, on_digest, editor), SCN_OK);
        while (!editor->has_digest) {
                scn_socket_wait(editor->socket, 10);
                cr_assert_lt(scn_daemon_now_ms(), until, "the server does not say its digest");
        }
}

void editors_settle(struct editor *editors, uint32_t count)
{
        const uint64_t until = scn_daemon_now_ms() + WAIT_MS;
        bool is_equal = false;
        while (!is_equal) {
                editors_turn(editors, count);
                cr_assert_lt(scn_daemon_now_ms(), until, "the views do not come to rest");
                if (editors_are_ready(editors, count) && are_quiet(editors, count)) {
                        uint8_t own[16];
                        ask_digest(&editors[0]);
                        is_equal = true;
                        for (uint32_t i = 0; i < count; i++) {
                                scn_view_digest(editors[i].view, own);
                                is_equal = is_equal && memcmp(own, editors[0].digest, sizeof own) == 0;
                        }
                }
        }
}
