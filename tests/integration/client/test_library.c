/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The library against the daemon, over its sockets: two editors at once, and a daemon that is killed. */

#include "tests/lib/daemon.h"
#include "tests/lib/random.h"
#include "tests/lib/test.h"

#include "protocol/base/uid.h"

#include <scn/client.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define UNDER_WAY_MAX 64u
#define WAIT_MS 60000u

struct stage {
        struct scn_daemon daemon;
        char server[SCN_DAEMON_PATH_BYTES + 16];
};

static void start_daemon(struct stage *stage)
{
        const char *arguments[] = {"--listen", "unix:socket", "--data", "data", NULL};
        const size_t before = stage->daemon.process == 0 && stage->server[0] != '\0'
                ? scn_daemon_log_count(&stage->daemon, "listening on unix:socket")
                : 0;
        scn_daemon_start(&stage->daemon, &(struct scn_daemon_options){.program = "scened", .arguments = arguments});
        const uint64_t until = scn_daemon_now_ms() + WAIT_MS;
        scn_daemon_wait_for_log(&stage->daemon, "listening on unix:socket");
        while (scn_daemon_log_count(&stage->daemon, "listening on unix:socket") == before) {
                cr_assert_lt(scn_daemon_now_ms(), until);
        }
        (void)snprintf(stage->server, sizeof stage->server, "unix:%s/socket", stage->daemon.folder);
}

static void set_up(struct stage *stage)
{
        *stage = (struct stage){.server = ""};
        scn_daemon_init(&stage->daemon);
        start_daemon(stage);
}

static void tear_down(struct stage *stage)
{
        cr_assert_eq(scn_daemon_stop(&stage->daemon), 0);
        scn_daemon_finish(&stage->daemon);
}

/* --- Editors --- */

struct editor {
        struct scn_client *client;
        struct scn_socket *socket;
        struct scn_view *view;
        struct scn_random random;
        uint32_t submitted;
        uint32_t accepted;
        uint32_t refused;
        uint32_t strange; /* refusals that no edit of these tests deserves */
        bool has_digest;
        uint8_t digest[16];
};

static void begin_editor(struct editor *editor, const struct stage *stage, uint32_t seed)
{
        struct scn_client_options options = SCN_CLIENT_OPTIONS_INIT;
        struct scn_view_options view_options = SCN_VIEW_OPTIONS_INIT;
        *editor = (struct editor){.random = scn_random_from_seed(seed)};
        options.document = "shared";
        options.create = true;
        options.author = seed % 2 == 0 ? "ann" : "bob";
        cr_assert_eq(scn_client_create(&options, &editor->client), SCN_OK);
        cr_assert_eq(scn_socket_create(editor->client, stage->server, &editor->socket), SCN_OK);
        cr_assert_eq(scn_view_create(editor->client, &view_options, &editor->view), SCN_OK);
}

static void end_editor(struct editor *editor)
{
        scn_socket_destroy(editor->socket);
        scn_client_destroy(editor->client);
}

static void on_result(struct scn_client *client, const struct scn_result *result, void *data)
{
        static const char *const deserved[] = {
                "gone", "no_node", "exists", "root", "cycle", "stale_parent", "singular", "shear", "conflict"};
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

static void submit(struct editor *editor, struct scn_draft *draft)
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

static enum scn_error draft_random(struct editor *editor, struct scn_draft *draft)
{
        const struct scn_target node = SCN_BY_UID(any_node(editor));
        const struct scn_target other = SCN_BY_UID(any_node(editor));
        const float t[3] = {(float)scn_random_below(&editor->random, 100), 1.0f, 2.0f};
        const struct scn_position position = {
                .kind = SCN_POSITION_INDEX, .index = scn_random_below(&editor->random, 4)};
        struct scn_addition addition = SCN_ADDITION_INIT;
        addition.parent = node;
        addition.position = position;
        addition.name = "n";
        addition.t = t;
        switch (scn_random_below(&editor->random, 10)) {
        case 0:
        case 1:
        case 2:
                return scn_draft_add(draft, &addition, NULL);
        case 3:
                return scn_view_nodes_count(editor->view) > 100 ? scn_draft_remove(draft, node)
                                                                : scn_draft_add(draft, &addition, NULL);
        case 4:
                return scn_draft_move(draft, node, other, position, 0);
        case 5:
                return scn_draft_move(draft, node, other, position, SCN_MOVE_KEEP_WORLD | SCN_MOVE_LOSSY);
        case 6:
                return scn_draft_rename(draft, node, t[0] < 50.0f ? "renamed" : NULL);
        case 7:
                return scn_draft_set_double(draft, node, t[0] < 50.0f ? "a" : "b", (double)t[0] / 3.0);
        default:
                return scn_draft_transform(draft, node, t, NULL, NULL);
        }
}

static void edit_random(struct editor *editor)
{
        struct scn_draft *draft = scn_draft_create(editor->client, editor->view);
        for (uint32_t i = 1 + scn_random_below(&editor->random, 3); i > 0; i--) {
                cr_assert_eq(draft_random(editor, draft), SCN_OK);
        }
        submit(editor, draft);
}

static void turn(struct editor *editors, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                scn_socket_wait(editors[i].socket, 1);
        }
}

static bool is_ready(const struct editor *editors, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                if (!scn_view_is_ready(editors[i].view)) {
                        return false;
                }
        }
        return true;
}

static bool is_quiet(const struct editor *editors, uint32_t count)
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

static void expect_digest(const struct editor *editor, const uint8_t digest[16])
{
        uint8_t own[16];
        scn_view_digest(editor->view, own);
        cr_assert_eq(memcmp(own, digest, sizeof own), 0, "the digests differ");
}

/* Until everybody has everything. */
static void settle(struct editor *editors, uint32_t count)
{
        const uint64_t until = scn_daemon_now_ms() + WAIT_MS;
        bool is_equal = false;
        while (!is_equal) {
                turn(editors, count);
                cr_assert_lt(scn_daemon_now_ms(), until, "the views do not come to rest");
                if (is_ready(editors, count) && is_quiet(editors, count)) {
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

/* A replay to the end compares the digest by itself. */
static void replay(const struct stage *stage)
{
        struct scn_daemon tool;
        const char *arguments[] = {"--server", stage->server, "replay", "shared", "--speed", "max", NULL};
        scn_daemon_init(&tool);
        cr_assert_eq(
                scn_daemon_run(&tool, &(struct scn_daemon_options){.program = "scenectl", .arguments = arguments}), 0);
        scn_daemon_finish(&tool);
}

SCN_TEST_WITH(library, two_editors_at_once_end_with_the_same_scene_as_server_file_and_replay, .timeout = 280)
{
        struct stage stage;
        struct editor editors[3];
        set_up(&stage);
        for (uint32_t i = 0; i < 2; i++) {
                begin_editor(&editors[i], &stage, (uint32_t)scn_test_seed(7) + i);
        }
        while (!is_ready(editors, 2)) {
                turn(editors, 2);
        }
        while (editors[0].submitted < 1000 || editors[1].submitted < 1000) {
                for (uint32_t i = 0; i < 2; i++) {
                        if (editors[i].submitted < 1000 &&
                                scn_client_pending_count(editors[i].client) < UNDER_WAY_MAX) {
                                edit_random(&editors[i]);
                        }
                }
                turn(editors, 2);
        }
        settle(editors, 2);
        cr_assert_eq(editors[0].strange + editors[1].strange, 0);
        for (uint32_t i = 0; i < 2; i++) {
                cr_assert_eq(editors[i].accepted + editors[i].refused, 1000);
                cr_assert_gt(editors[i].accepted, 500);
        }
        begin_editor(&editors[2], &stage, 2);
        settle(editors, 3);

        uint8_t digest[16];
        memcpy(digest, editors[0].digest, sizeof digest);
        cr_assert_eq(scn_daemon_stop(&stage.daemon), 0);
        start_daemon(&stage);
        settle(editors, 3);
        expect_digest(&editors[2], digest);
        replay(&stage);
        for (uint32_t i = 0; i < 3; i++) {
                end_editor(&editors[i]);
        }
        tear_down(&stage);
}

/* Adds one node under the root, so that the number of nodes is the number of edits that took effect. */
static void edit_add(struct editor *editor)
{
        struct scn_draft *draft = scn_draft_create(editor->client, editor->view);
        struct scn_addition addition = SCN_ADDITION_INIT;
        addition.parent = SCN_BY_PATH("/");
        cr_assert_eq(scn_draft_add(draft, &addition, NULL), SCN_OK);
        submit(editor, draft);
}

SCN_TEST_WITH(library, a_killed_daemon_neither_loses_nor_doubles_an_edit, .timeout = 280)
{
        struct stage stage;
        struct editor editors[2];
        struct scn_random random = scn_random_from_seed(scn_test_seed(5));
        set_up(&stage);
        for (uint32_t i = 0; i < 2; i++) {
                begin_editor(&editors[i], &stage, i);
        }
        while (!is_ready(editors, 2)) {
                turn(editors, 2);
        }
        for (int kill = 0; kill < 10; kill++) {
                const uint32_t rounds = 1 + scn_random_below(&random, 40);
                for (uint32_t round = 0; round < rounds; round++) {
                        for (uint32_t i = 0; i < 2; i++) {
                                edit_add(&editors[i]);
                                edit_add(&editors[i]);
                        }
                        turn(editors, 2);
                }
                scn_daemon_signal(&stage.daemon, SIGKILL);
                cr_assert_eq(scn_daemon_wait(&stage.daemon), 128 + SIGKILL);
                turn(editors, 2);
                start_daemon(&stage);
        }
        settle(editors, 2);
        cr_assert_eq(editors[0].refused + editors[1].refused, 0);
        cr_assert_eq(editors[0].accepted + editors[1].accepted, editors[0].submitted + editors[1].submitted);
        cr_assert_eq(scn_view_nodes_count(editors[0].view), 1 + editors[0].submitted + editors[1].submitted);
        for (uint32_t i = 0; i < 2; i++) {
                end_editor(&editors[i]);
        }
        replay(&stage);
        tear_down(&stage);
}
