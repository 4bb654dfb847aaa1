/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* kill under -std=c11 */

/* The real daemon: what is shown at the moment arrives in time, and goes with who showed it, however that one goes. */

#include "tests/lib/caller.h"
#include "tests/lib/live.h"
#include "tests/lib/scene.h"
#include "tests/lib/serve.h"
#include "tests/lib/test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void say_hello(struct caller *caller, const struct serve *serve, enum serve_listener listener, uint64_t ping)
{
        struct scn_message message;
        *caller = (struct caller){.descriptor = serve_connect(serve, listener)};
        scn_frame_reader_init(&caller->reader);
        caller->reader.message_bytes_max = SCN_MESSAGE_BYTES_MAX;
        cr_assert(caller_send_bytes(caller->descriptor, scn_preface, SCN_PREFACE_BYTES));
        scn_message_init(&message, SCN_MESSAGE_hello);
        message.as.hello.version = SCN_PROTOCOL_VERSION;
        message.as.hello.client = scene_client(9);
        message.as.hello.name = scene_text("dragger");
        message.as.hello.ping = ping;
        caller_send(caller, &message);
}

static void send_preview(struct caller *caller, float x)
{
        struct scn_buffer nodes;
        struct scn_message message;
        const struct scn_preview_wish wish = {
                .node = scene_id(1), .fields = SCN_FIELDS_TRANSLATION, .trs = {.t = {x, 0, 0}}};
        scn_buffer_init(&nodes, 1024);
        struct scn_packer packer = scn_packer_to(&nodes);
        scn_pack_array(&packer, 1);
        scn_pack_preview_wish(&packer, &wish);
        scn_message_init(&message, SCN_MESSAGE_preview);
        message.as.preview.nodes = (struct scn_slice){nodes.data, (uint32_t)nodes.size};
        caller_send(caller, &message);
        scn_buffer_finish(&nodes);
}

static void send_presence(struct caller *caller)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_presence);
        message.as.presence.map = live_map("x", 1);
        caller_send(caller, &message);
}

/* The next `live`; false: the connection has ended. */
static struct live_told next_live(struct caller *caller)
{
        struct live_told told;
        const struct scn_message message = caller_expect(caller, SCN_MESSAGE_live);
        live_read(&message, &told);
        return told;
}

static void begin_watch(struct caller *watcher, const struct serve *serve)
{
        struct scn_message message;
        caller_begin(watcher, serve_connect(serve, SERVE_TCP), 1, "watcher");
        (void)caller_open(watcher, "stage");
        scn_message_init(&message, SCN_MESSAGE_view);
        message.as.view.request = 5;
        message.as.view.view = 1;
        message.as.view.root = scene_id(1);
        message.as.view.mask = SCN_MASK_STRUCTURE | SCN_MASK_VOLATILE;
        caller_send(watcher, &message);
        (void)caller_expect(watcher, SCN_MESSAGE_delta);
}

/* A process of its own that drags until it is ended from outside. */
static pid_t start_dragger(const struct serve *serve, enum serve_listener listener, uint64_t ping)
{
        const pid_t process = fork();
        cr_assert_geq(process, 0);
        if (process == 0) {
                struct caller caller;
                say_hello(&caller, serve, listener, ping);
                (void)caller_open(&caller, "stage");
                send_presence(&caller);
                for (int i = 0; i < 6000; i++) {
                        send_preview(&caller, (float)i);
                        (void)usleep(10000);
                }
                _exit(0);
        }
        return process;
}

static void end_process(pid_t process)
{
        cr_assert_eq(kill(process, SIGKILL), 0);
        cr_assert_eq(waitpid(process, NULL, 0), process);
}

/* Until both are there, or both are gone. */
static void watch_until(struct caller *watcher, bool is_there)
{
        bool has_presence = !is_there;
        bool has_preview = !is_there;
        while (has_presence != is_there || has_preview != is_there) {
                const struct live_told told = next_live(watcher);
                for (size_t i = 0; i < told.presences_count; i++) {
                        has_presence = told.presences[i].map.data != NULL;
                }
                for (size_t i = 0; i < told.previews_count; i++) {
                        has_preview = told.previews[i].fields != 0;
                }
        }
}

SCN_TEST(daemon_live, the_last_preview_comes_although_nothing_else_happens)
{
        struct serve serve;
        struct caller watcher;
        struct caller dragger;
        serve_begin(&serve);
        begin_watch(&watcher, &serve);
        say_hello(&dragger, &serve, SERVE_UNIX, SCN_ABSENT);
        (void)caller_open(&dragger, "stage");
        const uint64_t began_ms = scn_daemon_now_ms();
        float seen = 0;
        for (int round = 1; round <= 10; round++) {
                for (int i = 0; i < 20; i++) {
                        send_preview(&dragger, (float)(round * 20 + i));
                }
                while (seen < (float)(round * 20 + 19)) {
                        const struct live_told told = next_live(&watcher);
                        cr_assert_gt(told.previews[0].trs.t[0], seen);
                        seen = told.previews[0].trs.t[0];
                }
        }
        /* Not by the tick that comes every second anyway. */
        cr_assert_lt(scn_daemon_now_ms() - began_ms, 4000);
        caller_end(&dragger);
        caller_end(&watcher);
        serve_finish(&serve);
}

SCN_TEST(daemon_live, a_killed_dragger_leaves_no_trace)
{
        struct serve serve;
        struct caller watcher;
        serve_begin(&serve);
        begin_watch(&watcher, &serve);
        for (int listener = 0; listener < SERVE_LISTENERS_COUNT; listener++) {
                const pid_t process = start_dragger(&serve, (enum serve_listener)listener, SCN_ABSENT);
                watch_until(&watcher, true);
                end_process(process);
                watch_until(&watcher, false);
        }
        caller_ask(&watcher, SCN_MESSAGE_info, 7);
        cr_assert_eq(caller_expect(&watcher, SCN_MESSAGE_answer).as.answer.durable, 0, "nothing was journaled");
        caller_end(&watcher);
        serve_finish(&serve);
}

/* Its kernel still takes and acknowledges everything: only that nothing comes from it tells. */
SCN_TEST(daemon_live, a_stopped_dragger_that_promised_to_be_heard_goes_too)
{
        struct serve serve;
        struct caller watcher;
        serve_begin(&serve);
        begin_watch(&watcher, &serve);
        const pid_t process = start_dragger(&serve, SERVE_TCP, 1);
        watch_until(&watcher, true);
        cr_assert_eq(kill(process, SIGSTOP), 0);
        watch_until(&watcher, false);
        end_process(process);
        caller_end(&watcher);
        serve_finish(&serve);
}
