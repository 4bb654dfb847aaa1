/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE

/* Three editors work for a while, in a time that is not ours; then somebody goes back and forth in what they did, with
 * scenectl, against the daemon. What each stop shows is what was noted while it was written.
 *
 * SCN_SCRUB_MINUTES: how long they work; SCN_SCRUB_STOPS: how many stops (tests/long/run: an hour, 200). */

#include "protocol/base/uid.h"
#include "server/core.h"
#include "tests/lib/hub.h"
#include "tests/lib/random.h"
#include "tests/lib/scene.h"
#include "tests/lib/serve.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EDITORS 3u
#define FRAMES_A_SECOND 60u
#define FIRST_NODES 120u
#define REVISIONS_MAX (1u << 20)
#define SNAPSHOTS 32u
#define NODES_MAX 1024u
/* Before now: what is older than a week is folded, and then not every revision has a state of its own. */
#define BEGAN_BEFORE_S 7200
#define REPLAY_LENGTH 40u
#define DOCUMENT "island"

struct editor {
        struct peer peer;
        scn_node_id node; /* that is being dragged ... */
        uint32_t frames;  /* ... for so many more frames; 0: idle ... */
        uint32_t idle;    /* ... for so many */
        uint64_t group;
        float x;
};

struct node {
        char uid[SCN_UID_TEXT_LENGTH + 1];
        char parent[SCN_UID_TEXT_LENGTH + 1]; /* "": the root */
        char name[32];
        struct scn_trs trs;
};

/* The whole scene, as it was noted. */
struct snapshot {
        scn_revision revision;
        uint32_t count;
        struct node *nodes;
};

struct film {
        char folder[40];
        struct hub hub;
        struct editor editors[EDITORS];
        struct scn_random random;
        uint64_t began_us;
        struct scn_digest *digests; /* by revision */
        uint32_t *frames;           /* the same: when */
        scn_revision last;
        struct snapshot snapshots[SNAPSHOTS];
        uint32_t snapshots_count;
};

static uint32_t number_from(const char *name, uint32_t usual)
{
        const char *text = getenv(name);
        return text != NULL ? (uint32_t)strtoul(text, NULL, 10) : usual;
}

/* --- The work --- */

static const struct scn_document *document_of(const struct film *film)
{
        return film->hub.server->rooms->document;
}

/* Hands in one op and notes what the document is then. False: it was refused, or has changed nothing. */
static bool do_op(struct film *film, struct editor *editor, const struct scn_op *op, uint64_t group, uint32_t frame)
{
        struct scn_buffer buffer;
        struct scn_message message;
        scn_buffer_init(&buffer, SCN_MESSAGE_BYTES_MAX);
        struct scn_packer packer = scn_packer_to(&buffer);
        scn_ops_encode(&packer, op, 1);
        cr_assert_eq(packer.error, SCN_OK);
        scn_message_init(&message, SCN_MESSAGE_edit);
        message.as.edit.number = ++editor->peer.number;
        message.as.edit.group = group;
        message.as.edit.ops = (struct scn_slice){buffer.data, (uint32_t)buffer.size};
        peer_send(&editor->peer, &message);
        scn_buffer_finish(&buffer);
        cr_assert(peer_receive(&editor->peer, &message));
        if (message.kind != SCN_MESSAGE_applied || message.as.applied.unchanged) {
                return false;
        }
        film->last = message.as.applied.rev;
        cr_assert_lt(film->last, REVISIONS_MAX);
        const struct scn_digests digests = scn_document_digests(document_of(film));
        film->digests[film->last] = scn_digests_combine(&digests, SCN_MASK_ALL);
        film->frames[film->last] = frame;
        return true;
}

/* One that lives, not the root. */
static scn_node_id choose(struct film *film)
{
        const struct scn_document *document = document_of(film);
        scn_node_id id = 0;
        for (uint32_t steps = 1 + scn_random_below(&film->random, scn_document_nodes_count(document) - 1); steps > 0;
                steps--) {
                id = scn_document_walk(document, 1, id == 0 ? 1 : id);
        }
        return id;
}

static void add(struct film *film, struct editor *editor, uint32_t frame)
{
        char name[16];
        (void)snprintf(name, sizeof name, "node %u", (unsigned)film->last);
        const bool is_deep = scn_document_nodes_count(document_of(film)) > 4 && scn_random_chance(&film->random, 70);
        const struct scn_op op = scene_add(is_deep ? choose(film) : 1, 0, name);
        (void)do_op(film, editor, &op, SCN_ABSENT, frame);
}

static void do_something(struct film *film, struct editor *editor, uint32_t frame)
{
        const uint32_t what = scn_random_below(&film->random, 10);
        const bool is_full = scn_document_nodes_count(document_of(film)) > 2 * FIRST_NODES;
        struct scn_op op;
        if (what < 3 && !is_full) {
                add(film, editor, frame);
                return;
        }
        op = what < 4      ? scene_remove(choose(film))
                : what < 6 ? scene_move(choose(film), choose(film))
                : what < 8 ? scene_rename(choose(film), what == 6 ? "crate" : "barrel")
                           : scene_set(choose(film), "k", scene_integer((uint8_t)scn_random_below(&film->random, 100)));
        if (what >= 4 || is_full) {
                (void)do_op(film, editor, &op, SCN_ABSENT, frame);
        }
}

static void live_a_frame(struct film *film, struct editor *editor, uint32_t frame)
{
        if (editor->idle > 0) {
                editor->idle--;
        } else if (editor->frames > 0) {
                const struct scn_op op =
                        scene_translate(editor->node, editor->x += 0.125f, (float)frame / 64.0f, -1.0f);
                editor->frames = do_op(film, editor, &op, editor->group, frame) ? editor->frames - 1 : 0;
                editor->idle = editor->frames == 0 ? 30 + scn_random_below(&film->random, 870) : 0;
        } else if (scn_random_chance(&film->random, 80)) {
                editor->node = choose(film);
                editor->frames = 60 + scn_random_below(&film->random, 300);
                editor->group++;
        } else {
                do_something(film, editor, frame);
                editor->idle = 30 + scn_random_below(&film->random, 300);
        }
}

static void note_all(struct film *film)
{
        const struct scn_document *document = document_of(film);
        struct snapshot *snapshot = &film->snapshots[film->snapshots_count++];
        *snapshot = (struct snapshot){.revision = film->last, .nodes = calloc(NODES_MAX, sizeof(struct node))};
        cr_assert_not_null(snapshot->nodes);
        for (scn_node_id id = 1; id != 0; id = scn_document_walk(document, 1, id)) {
                const struct scn_node_view view = scn_document_node(document, id);
                struct node *node = &snapshot->nodes[snapshot->count++];
                cr_assert_lt(snapshot->count, NODES_MAX);
                scn_uid_format(view.uid, node->uid);
                if (view.parent != 0) {
                        scn_uid_format(scn_document_node(document, view.parent).uid, node->parent);
                }
                (void)snprintf(
                        node->name, sizeof node->name, "%.*s", (int)view.name.size, (const char *)view.name.data);
                node->trs = view.trs;
        }
}

static void begin_frame(struct film *film, uint32_t frame)
{
        film->hub.utc_us = film->began_us + (uint64_t)frame * 1000000 / FRAMES_A_SECOND;
        film->hub.monotonic_ms = 1000 + (uint64_t)frame * 1000 / FRAMES_A_SECOND;
}

static void make_film(struct film *film, uint32_t frames)
{
        static const char *const names[EDITORS] = {"ann", "ben", "cleo"};
        *film = (struct film){
                .random = scn_random_from_seed(scn_test_seed(1)),
                .began_us = ((uint64_t)time(NULL) - BEGAN_BEFORE_S) * 1000000,
        };
        film->digests = calloc(REVISIONS_MAX, sizeof *film->digests);
        film->frames = calloc(REVISIONS_MAX, sizeof *film->frames);
        cr_assert(film->digests != NULL && film->frames != NULL);
        (void)snprintf(film->folder, sizeof film->folder, "%s/scn-scrub-XXXXXX",
                access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        cr_assert_not_null(mkdtemp(film->folder));
        film->hub = (struct hub){.random = 42, .limits = SCN_LIMITS_DEFAULT};
        begin_frame(film, 0);
        (void)snprintf(film->hub.path, sizeof film->hub.path, "%s/data", film->folder);
        hub_restart(&film->hub);
        for (uint32_t i = 0; i < EDITORS; i++) {
                peer_open(&film->editors[i].peer, &film->hub, 1 + i, names[i], DOCUMENT);
        }
        for (uint32_t i = 0; i < FIRST_NODES; i++) {
                add(film, &film->editors[i % EDITORS], 0);
        }
        for (uint32_t frame = 1; frame <= frames; frame++) {
                begin_frame(film, frame);
                for (uint32_t i = 0; i < EDITORS; i++) {
                        live_a_frame(film, &film->editors[i], frame);
                }
                if (frame % (frames / SNAPSHOTS) == 0 && film->snapshots_count < SNAPSHOTS) {
                        note_all(film);
                }
        }
        for (uint32_t i = 0; i < EDITORS; i++) {
                peer_close(&film->editors[i].peer);
        }
        hub_stop(&film->hub);
}

static void burn_film(struct film *film)
{
        for (uint32_t i = 0; i < film->snapshots_count; i++) {
                free(film->snapshots[i].nodes);
        }
        free(film->digests);
        free(film->frames);
        scn_test_remove_all(film->folder);
}

/* --- The stops --- */

static const char *const kinds[] = {"digest --at REV", "digest --at TIME", "tree --at REV", "replay from there"};
#define KINDS (sizeof kinds / sizeof kinds[0])
#define STOPS_MAX 4096u

static struct {
        double ms[STOPS_MAX];
        uint32_t count;
} took[KINDS + 1];

static double now_ms(void)
{
        struct timespec now;
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void note_time(size_t kind, double began_ms)
{
        cr_assert_lt(took[kind].count, STOPS_MAX);
        took[kind].ms[took[kind].count++] = now_ms() - began_ms;
}

static void expect_digest(const struct film *film, const char *output, scn_revision revision, const char *at)
{
        char expected[96];
        const struct scn_digest digest = film->digests[revision];
        (void)snprintf(expected, sizeof expected, "\"digest\":\"%016llx%016llx\"", (unsigned long long)digest.high,
                (unsigned long long)digest.low);
        cr_assert_not_null(strstr(output, expected), "at %s: %s, not %s", at, output, expected);
        (void)snprintf(expected, sizeof expected, "\"rev\":%llu,", (unsigned long long)revision);
        cr_assert_not_null(strstr(output, expected), "at %s: %s, not %s", at, output, expected);
}

static void stop_at_revision(const struct film *film, const struct serve *serve, scn_revision revision)
{
        char at[24];
        char *output;
        (void)snprintf(at, sizeof at, "%llu", (unsigned long long)revision);
        const double began_ms = now_ms();
        cr_assert_eq(serve_scenectl(serve, &output, "digest", DOCUMENT, "--at", at, NULL), 0);
        note_time(0, began_ms);
        expect_digest(film, output, revision, at);
        scn_free(output);
}

/* Between two frames: what had been done by then. */
static void stop_at_time(const struct film *film, const struct serve *serve, scn_revision revision)
{
        const uint32_t frame = film->frames[revision];
        const uint64_t time_us = film->began_us + (uint64_t)frame * 1000000 / FRAMES_A_SECOND + 15000;
        const time_t seconds = (time_t)(time_us / 1000000);
        struct tm parts;
        char date[32], at[48];
        char *output;
        while (revision < film->last && film->frames[revision + 1] == frame) {
                revision++;
        }
        cr_assert_not_null(gmtime_r(&seconds, &parts));
        cr_assert_gt(strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts), 0);
        (void)snprintf(at, sizeof at, "%s.%06uZ", date, (unsigned)(time_us % 1000000));
        const double began_ms = now_ms();
        cr_assert_eq(serve_scenectl(serve, &output, "digest", DOCUMENT, "--at", at, NULL), 0);
        note_time(1, began_ms);
        expect_digest(film, output, revision, at);
        scn_free(output);
}

static void expect_floats(json_t *node, const char *key, const float *expected, size_t count, const char *uid)
{
        json_t *list = json_object_get(node, key);
        cr_assert_eq(json_array_size(list), count, "%s: %s", uid, key);
        for (size_t i = 0; i < count; i++) {
                const float found = (float)json_number_value(json_array_get(list, i));
                cr_assert_eq(memcmp(&found, &expected[i], sizeof found), 0, "%s: %s", uid, key);
        }
}

/* `found`: uid to what is told of the node. */
static void expect_scene(json_t *found, const struct snapshot *snapshot)
{
        cr_assert_eq(json_object_size(found), snapshot->count, "revision %llu has %zu nodes, not %u",
                (unsigned long long)snapshot->revision, json_object_size(found), snapshot->count);
        for (uint32_t i = 0; i < snapshot->count; i++) {
                const struct node *expected = &snapshot->nodes[i];
                json_t *node = json_object_get(found, expected->uid);
                const char *name = json_string_value(json_object_get(node, "name"));
                const char *parent = json_string_value(json_object_get(node, "parent"));
                cr_assert_not_null(node, "%s is not there", expected->uid);
                cr_assert_str_eq(name != NULL ? name : "", expected->name);
                cr_assert_str_eq(parent != NULL ? parent : "", expected->parent);
                expect_floats(node, "t", expected->trs.t, 3, expected->uid);
                expect_floats(node, "r", expected->trs.r, 4, expected->uid);
                expect_floats(node, "s", expected->trs.s, 3, expected->uid);
        }
}

static void put_node(json_t *scene, json_t *node)
{
        const char *uid = json_string_value(json_object_get(node, "uid"));
        json_t *known = json_object_get(scene, uid);
        if (known != NULL) {
                cr_assert_eq(json_object_update(known, node), 0);
        } else {
                cr_assert_eq(json_object_set(scene, uid, node), 0);
        }
}

/* A removed node stands for all that is beneath it. */
static void remove_node(json_t *scene, const char *uid)
{
        bool has_more = true;
        (void)json_object_del(scene, uid);
        while (has_more) {
                const char *key;
                json_t *node;
                has_more = false;
                json_object_foreach(scene, key, node)
                {
                        const char *parent = json_string_value(json_object_get(node, "parent"));
                        if (parent != NULL && json_object_get(scene, parent) == NULL) {
                                (void)json_object_del(scene, key);
                                has_more = true;
                                break;
                        }
                }
        }
}

static void put_delta(json_t *scene, json_t *line)
{
        size_t index;
        json_t *entry;
        json_array_foreach(json_object_get(line, "changed"), index, entry)
        {
                put_node(scene, entry);
        }
        json_array_foreach(json_object_get(line, "removed"), index, entry)
        {
                remove_node(scene, json_string_value(entry));
        }
}

/* Each line of the output; returns how many. */
static uint32_t put_lines(json_t *scene, const char *output, void (*put)(json_t *scene, json_t *line))
{
        uint32_t count = 0;
        for (const char *at = output; *at != '\0'; count++) {
                const char *end = strchr(at, '\n');
                json_error_t problem;
                cr_assert_not_null(end);
                json_t *line = json_loadb(at, (size_t)(end - at), 0, &problem);
                cr_assert_not_null(line, "%s", problem.text);
                put(scene, line);
                json_decref(line);
                at = end + 1;
        }
        return count;
}

static void stop_at_tree(const struct film *film, const struct serve *serve, uint32_t which)
{
        const struct snapshot *snapshot = &film->snapshots[which % film->snapshots_count];
        char at[24];
        char *output;
        (void)snprintf(at, sizeof at, "%llu", (unsigned long long)snapshot->revision);
        const double began_ms = now_ms();
        cr_assert_eq(serve_scenectl(serve, &output, "tree", DOCUMENT, "--at", at, NULL), 0);
        note_time(2, began_ms);
        json_t *scene = json_object();
        (void)put_lines(scene, output, put_node);
        expect_scene(scene, snapshot);
        json_decref(scene);
        scn_free(output);
}

/* Begins a little before, and ends there. */
static void stop_at_replay(const struct film *film, const struct serve *serve, uint32_t which)
{
        const struct snapshot *snapshot = &film->snapshots[which % film->snapshots_count];
        char from[24], to[24];
        char *output;
        (void)snprintf(from, sizeof from, "%llu", (unsigned long long)(snapshot->revision - REPLAY_LENGTH));
        (void)snprintf(to, sizeof to, "%llu", (unsigned long long)snapshot->revision);
        const double began_ms = now_ms();
        cr_assert_eq(
                serve_scenectl(serve, &output, "replay", DOCUMENT, "--from", from, "--to", to, "--speed", "max", NULL),
                0);
        note_time(3, began_ms);
        json_t *scene = json_object();
        cr_assert_eq(put_lines(scene, output, put_delta), REPLAY_LENGTH + 1);
        expect_scene(scene, snapshot);
        json_decref(scene);
        scn_free(output);
}

/* What asking costs where nothing has to be sought. */
static void stop_at_present(const struct film *film, const struct serve *serve)
{
        char *output;
        const double began_ms = now_ms();
        cr_assert_eq(serve_scenectl(serve, &output, "digest", DOCUMENT, NULL), 0);
        note_time(KINDS, began_ms);
        expect_digest(film, output, film->last, "present");
        scn_free(output);
}

static int compare_times(const void *a, const void *b)
{
        const double left = *(const double *)a, right = *(const double *)b;
        return (left > right) - (left < right);
}

static void print_times(void)
{
        for (size_t i = 0; i <= KINDS; i++) {
                const uint32_t count = took[i].count;
                qsort(took[i].ms, count, sizeof took[i].ms[0], compare_times);
                (void)printf("%-18s %3u stops  median %6.1f ms  worst %6.1f ms\n",
                        i < KINDS ? kinds[i] : "digest (present)", count, took[i].ms[count / 2], took[i].ms[count - 1]);
        }
}

static void scrub(struct film *film, const struct serve *serve, uint32_t stops)
{
        for (uint32_t i = 0; i < stops; i++) {
                const scn_revision revision = 1 + scn_random_below(&film->random, (uint32_t)film->last);
                const uint32_t which = scn_random_below(&film->random, SNAPSHOTS);
                switch (i % 8) {
                case 3:
                case 6:
                        stop_at_time(film, serve, revision);
                        break;
                case 5:
                        stop_at_tree(film, serve, which);
                        break;
                case 7:
                        stop_at_replay(film, serve, which);
                        break;
                case 1:
                        stop_at_present(film, serve);
                        stop_at_revision(film, serve, revision);
                        break;
                default:
                        stop_at_revision(film, serve, revision);
                }
        }
}

SCN_TEST_WITH(scrub, shows_at_every_stop_what_was_noted_there, .timeout = 3000)
{
        const uint32_t minutes = number_from("SCN_SCRUB_MINUTES", 5);
        struct film film;
        struct serve serve = {.program = "scened"};
        char link[SERVE_ADDRESS_BYTES];
        make_film(&film, minutes * 60 * FRAMES_A_SECOND);
        (void)printf("%u minutes of %u editors: %llu transactions\n", minutes, EDITORS, (unsigned long long)film.last);
        cr_assert_gt(film.last, minutes * 1500);
        scn_daemon_init(&serve.daemon);
        (void)snprintf(serve.socket, sizeof serve.socket, "%s/socket", serve.daemon.folder);
        (void)snprintf(link, sizeof link, "%s/data", serve.daemon.folder);
        cr_assert_eq(symlink(film.hub.path, link), 0);
        serve_start(&serve);
        scrub(&film, &serve, number_from("SCN_SCRUB_STOPS", 24));
        print_times();
        serve_finish(&serve);
        burn_film(&film);
}
