/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Two editors at the same time on an imported scene: whoever is asked afterwards has the same. SCN_EDITS says how many
 * edits each makes (tests/long/run: more). */

#include "tests/lib/editor.h"
#include "tests/lib/test.h"

#include "protocol/base/uid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCENE SCN_TEST_SOURCE_DIR "/deploy/quickstart-scene.gltf"
#define UNDER_WAY_MAX 64u
#define EDITORS 2u

static uint32_t edits_count(void)
{
        const char *text = getenv("SCN_EDITS");
        return text == NULL ? 10000 : (uint32_t)strtoul(text, NULL, 10);
}

static void begin(struct editor *editor, const struct serve *serve, enum serve_listener listener, uint32_t seed)
{
        char address[SERVE_ADDRESS_BYTES];
        serve_address(serve, listener, address);
        editor_begin(editor, address, seed);
        editor->nodes_wanted = 450;
}

/* Under its old port nobody is any more. */
static void reconnect(struct editor *editor, const struct serve *serve)
{
        char address[SERVE_ADDRESS_BYTES];
        serve_address(serve, SERVE_TCP, address);
        scn_socket_destroy(editor->socket);
        cr_assert_eq(scn_socket_create(editor->client, address, &editor->socket), SCN_OK);
}

static void edit_all(struct editor *editors, uint32_t count)
{
        while (editors[0].submitted < count || editors[1].submitted < count) {
                for (uint32_t i = 0; i < EDITORS; i++) {
                        while (editors[i].submitted < count &&
                                scn_client_pending_count(editors[i].client) < UNDER_WAY_MAX) {
                                editor_edit(&editors[i]);
                        }
                }
                editors_turn(editors, EDITORS);
        }
}

static void expect_digest(const struct editor *editor, const uint8_t digest[16])
{
        uint8_t own[16];
        scn_view_digest(editor->view, own);
        cr_assert_eq(memcmp(own, digest, sizeof own), 0, "the digests differ");
}

/* One who has just come, and the server. */
static void expect_fresh(const struct serve *serve, enum serve_listener listener, const uint8_t digest[16])
{
        struct editor fresh;
        begin(&fresh, serve, listener, 2);
        editors_settle(&fresh, 1);
        expect_digest(&fresh, digest);
        editor_end(&fresh);
}

struct replay {
        bool has_ended;
        bool has_failed;
        uint64_t revisions;
};

static void on_replayed(struct scn_view *view, const struct scn_view_event *event, void *data)
{
        struct replay *replay = data;
        (void)view;
        replay->revisions += !event->is_whole;
}

static void on_replay_end(struct scn_view *view, const struct scn_failure *failure, void *data)
{
        struct replay *replay = data;
        (void)view;
        replay->has_ended = true;
        replay->has_failed = failure != NULL;
}

/* All revisions from the journal, one after the other, by a client that has seen none of them. */
static void expect_replay(const struct serve *serve, scn_revision revisions, const uint8_t digest[16])
{
        struct editor reader;
        struct replay replay = {.has_ended = false};
        struct scn_replay_options options = SCN_REPLAY_OPTIONS_INIT;
        struct scn_view *view;
        uint8_t own[16];
        const uint64_t until_ms = scn_daemon_now_ms() + 6 * SCN_DAEMON_WAIT_MS;
        begin(&reader, serve, SERVE_UNIX, 3);
        options.on_change = on_replayed;
        options.on_end = on_replay_end;
        options.data = &replay;
        cr_assert_eq(scn_replay_create(reader.client, &options, &view), SCN_OK);
        while (!replay.has_ended) {
                scn_socket_wait(reader.socket, 10);
                cr_assert_lt(scn_daemon_now_ms(), until_ms, "the replay does not end");
        }
        cr_assert(!replay.has_failed);
        cr_expect_eq(replay.revisions, revisions);
        scn_view_digest(view, own);
        cr_expect_eq(memcmp(own, digest, sizeof own), 0, "the replay ends with another scene");
        editor_end(&reader);
}

/* The journal proves itself, on the server and by the command. */
static void expect_verified(const struct serve *serve, const uint8_t digest[16])
{
        char wanted[64] = "\"digest\":\"";
        char *output;
        for (size_t i = 0; i < 16; i++) {
                (void)snprintf(wanted + 10 + 2 * i, 3, "%02x", digest[i]);
        }
        cr_expect_eq(serve_scenectl(serve, &output, "verify", "shared", NULL), 0);
        cr_expect_not_null(strstr(output, "\"ok\":true"), "%s", output);
        cr_expect_not_null(strstr(output, wanted), "%s: not %s", output, wanted);
        scn_free(output);
        cr_expect_eq(serve_scenectl(serve, &output, "digest", "shared", NULL), 0);
        cr_expect_not_null(strstr(output, wanted), "%s: not %s", output, wanted);
        scn_free(output);
}

static void expect_tally(const struct editor *editors)
{
        for (uint32_t i = 0; i < EDITORS; i++) {
                cr_expect_eq(editors[i].strange, 0);
                cr_expect_eq(editors[i].accepted + editors[i].refused, edits_count());
                cr_expect_gt(editors[i].accepted, edits_count() / 2);
                for (size_t kind = 0; kind < SCN_OP_COUNT; kind++) {
                        cr_expect_gt(editors[i].kinds[kind], 0, "no op of kind %zu", kind);
                }
        }
}

SCN_TEST_WITH(editors, two_at_once_end_with_the_scene_that_everybody_has_now_and_after_a_kill, .timeout = 600)
{
        struct serve serve;
        struct editor editors[EDITORS];
        uint8_t digest[16];
        const uint64_t seed = scn_test_seed(7);
        serve_begin(&serve);
        cr_assert_eq(serve_scenectl(&serve, NULL, "import", "shared", SCENE, NULL), 0);
        begin(&editors[0], &serve, SERVE_TCP, 2 * (uint32_t)seed);
        begin(&editors[1], &serve, SERVE_UNIX, 2 * (uint32_t)seed + 1);
        while (!editors_are_ready(editors, EDITORS)) {
                editors_turn(editors, EDITORS);
        }
        cr_assert_gt(scn_view_nodes_count(editors[0].view), 400, "the imported scene");
        edit_all(editors, edits_count());
        editors_settle(editors, EDITORS);
        expect_tally(editors);
        memcpy(digest, editors[0].digest, sizeof digest);
        const scn_revision revision = scn_view_revision(editors[0].view);
        expect_fresh(&serve, SERVE_TCP, digest);

        cr_assert_eq(scn_daemon_stop(&serve.daemon), 0);
        serve_start(&serve);
        expect_fresh(&serve, SERVE_TCP, digest);
        serve_kill(&serve);
        serve_start(&serve);
        expect_fresh(&serve, SERVE_UNIX, digest);

        reconnect(&editors[0], &serve);
        editors_settle(editors, EDITORS);
        expect_digest(&editors[0], digest);
        expect_replay(&serve, revision, digest);
        expect_verified(&serve, digest);
        cr_expect_eq(serve_scenectl(&serve, NULL, "replay", "shared", "--speed", "max", NULL), 0);
        for (uint32_t i = 0; i < EDITORS; i++) {
                editor_end(&editors[i]);
        }
        serve_finish(&serve);
}

static void expect_same_text(const char *path, const char *other_path)
{
        static char text[2][1 << 20];
        const char *const paths[2] = {path, other_path};
        size_t sizes[2];
        for (int i = 0; i < 2; i++) {
                FILE *file = fopen(paths[i], "re");
                cr_assert_not_null(file);
                sizes[i] = fread(text[i], 1, sizeof text[i], file);
                (void)fclose(file);
                cr_assert(sizes[i] > 1000 && sizes[i] < sizeof text[i]);
        }
        cr_expect(sizes[0] == sizes[1] && memcmp(text[0], text[1], sizes[0]) == 0, "the scenes differ");
}

/* Played again, revision by revision, as edits of a document on another server. */
SCN_TEST_WITH(editors, replayed_into_another_document_make_the_same_scene, .timeout = 300)
{
        struct serve serve;
        struct serve other;
        struct editor editors[EDITORS];
        char target[SERVE_ADDRESS_BYTES + 8];
        char files[2][SERVE_ADDRESS_BYTES];
        serve_begin(&serve);
        serve_begin(&other);
        cr_assert_eq(serve_scenectl(&serve, NULL, "import", "shared", SCENE, NULL), 0);
        begin(&editors[0], &serve, SERVE_TCP, 4);
        begin(&editors[1], &serve, SERVE_UNIX, 5);
        while (!editors_are_ready(editors, EDITORS)) {
                editors_turn(editors, EDITORS);
        }
        edit_all(editors, 1000);
        editors_settle(editors, EDITORS);
        for (uint32_t i = 0; i < EDITORS; i++) {
                editor_end(&editors[i]);
        }
        (void)snprintf(target, sizeof target, "unix:%.70s/copy", other.socket);
        cr_expect_eq(serve_scenectl(&serve, NULL, "replay", "shared", "--speed", "max", "--into", target, NULL), 0);
        (void)snprintf(files[0], sizeof files[0], "%s/a.gltf", serve.daemon.folder);
        (void)snprintf(files[1], sizeof files[1], "%s/b.gltf", serve.daemon.folder);
        cr_assert_eq(serve_scenectl(&serve, NULL, "export", "shared", files[0], NULL), 0);
        cr_assert_eq(serve_scenectl(&other, NULL, "export", "copy", files[1], NULL), 0);
        expect_same_text(files[0], files[1]);
        /* A second time, its nodes are there already. */
        char *output;
        cr_expect_eq(serve_scenectl(&serve, &output, "replay", "shared", "--speed", "max", "--into", target, NULL), 1);
        cr_expect_not_null(strstr(output, "\"error\":\"exists\""), "%.300s", output);
        scn_free(output);
        serve_finish(&serve);
        serve_finish(&other);
}
