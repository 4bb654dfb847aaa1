/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* usleep under -std=c11 */

/* A watcher of the real daemon that is killed, or stopped, while somebody edits: it goes on where it was. */

#include "tests/lib/caller.h"
#include "tests/lib/daemon.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static uint16_t start(struct scn_daemon *daemon)
{
        static const char *const arguments[] = {"--listen", "127.0.0.1:0", "--data", "data", NULL};
        const size_t before = scn_daemon_log_count(daemon, "listening on");
        scn_daemon_start(daemon, &(struct scn_daemon_options){.program = "scened", .arguments = arguments});
        const uint64_t start_ms = scn_daemon_now_ms();
        while (scn_daemon_log_count(daemon, "listening on") == before) {
                cr_assert_lt(scn_daemon_now_ms() - start_ms, SCN_DAEMON_WAIT_MS);
                (void)usleep(5000);
        }
        return scn_daemon_port(daemon);
}

/* What the watcher has. */
struct copy {
        uint8_t epoch[8];
        uint64_t revision;
};

/* Opens and asks for the whole document; says whether that goes on from the copy. */
static bool watch(struct caller *caller, uint16_t port, struct copy *copy)
{
        struct scn_message message;
        uint8_t epoch[8];
        caller_begin(caller, scn_daemon_connect(port), 2, "bob");
        scn_message_init(&message, SCN_MESSAGE_open);
        message.as.open.request = 1;
        message.as.open.document = scene_text("island");
        caller_send(caller, &message);
        message = caller_expect(caller, SCN_MESSAGE_opened);
        cr_assert_eq(message.as.opened.epoch.size, sizeof epoch);
        memcpy(epoch, message.as.opened.epoch.data, sizeof epoch);
        scn_message_init(&message, SCN_MESSAGE_view);
        message.as.view.request = 2;
        message.as.view.view = 1;
        message.as.view.root = scene_path("/");
        message.as.view.mask = SCN_MASK_ALL;
        message.as.view.epoch = (struct scn_slice){copy->epoch, sizeof copy->epoch};
        message.as.view.rev = copy->revision;
        caller_send(caller, &message);
        const bool is_resumed = caller_expect(caller, SCN_MESSAGE_viewed).as.viewed.resumed;
        memcpy(copy->epoch, epoch, sizeof epoch);
        return is_resumed;
}

/* Takes deltas up to a revision; each begins where the last one ended. */
static void follow(struct caller *caller, struct copy *copy, bool is_resumed, uint64_t revision)
{
        while (copy->revision < revision || !is_resumed) {
                const struct scn_message message = caller_expect(caller, SCN_MESSAGE_delta);
                const uint64_t from = message.as.delta.to - message.as.delta.back;
                cr_assert_eq(from, is_resumed ? copy->revision : 0);
                copy->revision = message.as.delta.to;
                is_resumed = true;
        }
}

SCN_TEST_WITH(resume, goes_on_by_delta_whether_the_daemon_was_stopped_or_killed, .timeout = 120)
{
        static const int signals[] = {SIGTERM, SIGKILL, SIGKILL, SIGTERM};
        struct scn_daemon daemon;
        struct copy copy = {.revision = 0};
        uint64_t number = 0;
        scn_daemon_init(&daemon);
        for (size_t life = 0; life < 4; life++) {
                struct caller writer;
                struct caller watcher;
                const uint16_t port = start(&daemon);
                caller_begin(&writer, scn_daemon_connect(port), 1, "ann");
                cr_assert_eq(caller_open(&writer, "island"), number);
                /* What the watcher missed. */
                for (int i = 0; i < 10; i++) {
                        struct scn_op op = scene_add(1, 0, "node");
                        caller_edit(&writer, ++number, &op, 1);
                        (void)caller_expect(&writer, SCN_MESSAGE_applied);
                }
                const bool is_resumed = watch(&watcher, port, &copy);
                cr_assert_eq(is_resumed, life > 0);
                follow(&watcher, &copy, is_resumed, number);
                /* The last of it may come, or not. */
                for (int i = 0; i < 10; i++) {
                        struct scn_op op = scene_add(1, 0, "node");
                        caller_edit(&writer, ++number, &op, 1);
                }
                follow(&watcher, &copy, true, number - 5);
                for (int i = 0; i < 10; i++) {
                        (void)caller_expect(&writer, SCN_MESSAGE_applied);
                }
                if (signals[life] == SIGKILL) {
                        scn_daemon_signal(&daemon, SIGKILL);
                        cr_assert_eq(scn_daemon_wait(&daemon), 128 + SIGKILL);
                }
                caller_end(&writer);
                caller_end(&watcher);
                if (signals[life] == SIGTERM) {
                        cr_assert_eq(scn_daemon_stop(&daemon), 0);
                }
        }
        scn_daemon_finish(&daemon);
}
