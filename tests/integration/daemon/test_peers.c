/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* usleep, the socket calls under -std=c11 */

/* The real daemon among peers that do not read, break off, are many, or are there no more without saying so.
 *
 * SCN_STOPPED: how many readers are stopped; SCN_STOPPED_S: for how many seconds, besides the time that the writer
 * takes. */

#include "tests/lib/caller.h"
#include "tests/lib/live.h"
#include "tests/lib/network.h"
#include "tests/lib/scene.h"
#include "tests/lib/serve.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct scn_op write_value(char *room, size_t size, uint32_t round)
{
        struct scn_buffer value;
        memset(room, 'a' + (int)(round % 26), size);
        scn_buffer_init(&value, size + 8);
        struct scn_packer packer = scn_packer_to(&value);
        scn_pack_text(&packer, (struct scn_slice){(const uint8_t *)room, (uint32_t)size});
        memcpy(room, value.data, value.size);
        const struct scn_slice packed = {(const uint8_t *)room, (uint32_t)value.size};
        scn_buffer_finish(&value);
        return scene_set(1, "value", packed);
}

static scn_revision read_to(struct caller *caller, scn_revision wanted, uint32_t *deltas_out)
{
        scn_revision to = 0;
        struct scn_message message;
        while (to < wanted) {
                if (!caller_receive(caller, &message) || message.kind == SCN_MESSAGE_failed) {
                        return 0;
                }
                if (message.kind == SCN_MESSAGE_delta && !message.as.delta.more) {
                        to = message.as.delta.to;
                        (*deltas_out)++;
                }
        }
        return to;
}

/* --- Who does not read --- */

#define STOPPED 12u
#define STOPPED_MAX 500u
#define VALUES 300u
#define VALUE_BYTES 60000u
/* 18 MB a reader, were it queued; what there may be is a delta each, which they share, and what the kernel lends. */
#define GROWTH_KIB (64u << 10)
#define NO_PROGRESS_S 30u

enum fate {
        FATE_MERGED, /* it came to the end by far fewer deltas than there were edits */
        FATE_NOT_MERGED,
        FATE_ENDED, /* with the reason */
        FATE_LOST,  /* without */
};

/* Its receive buffer is small, lest the kernels keep all of it. */
static int connect_small(const struct serve *serve, enum serve_listener listener)
{
        const int descriptor = serve_connect(serve, listener);
        const int bytes = 65536;
        cr_assert_eq(setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes), 0);
        return descriptor;
}

static _Noreturn void read_all(const struct serve *serve, enum serve_listener listener, uint32_t client, int ready)
{
        struct caller caller;
        struct scn_message message;
        uint32_t deltas = 0;
        scn_revision to = 0;
        caller_begin(&caller, connect_small(serve, listener), client, "reader");
        (void)caller_open(&caller, "stage");
        caller_view(&caller, 5);
        (void)caller_expect(&caller, SCN_MESSAGE_delta);
        if (write(ready, "", 1) != 1) {
                _exit(FATE_LOST);
        }
        while (to < VALUES) {
                if (!caller_receive(&caller, &message)) {
                        _exit(FATE_LOST);
                }
                if (message.kind == SCN_MESSAGE_failed) {
                        const struct scn_slice code = message.as.failed.code;
                        _exit(code.size == 6 && memcmp(code.data, "silent", 6) == 0 ? FATE_ENDED : FATE_LOST);
                }
                if (message.kind == SCN_MESSAGE_delta && !message.as.delta.more) {
                        to = message.as.delta.to;
                        deltas++;
                }
        }
        _exit(deltas < VALUES * 2 / 3 ? FATE_MERGED : FATE_NOT_MERGED);
}

static uint32_t read_setting(const char *name, uint32_t usual)
{
        const char *text = getenv(name);
        return text == NULL ? usual : (uint32_t)strtoul(text, NULL, 10);
}

static void start_readers(const struct serve *serve, enum serve_listener listener, pid_t *readers, uint32_t count)
{
        int ready[2];
        cr_assert_eq(pipe(ready), 0);
        for (uint32_t i = 0; i < count; i++) {
                readers[i] = fork();
                cr_assert_geq(readers[i], 0);
                if (readers[i] == 0) {
                        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also if the test fails while it is stopped */
                        read_all(serve, listener, 100 + i, ready[1]);
                }
        }
        for (uint32_t i = 0; i < count; i++) {
                char one;
                cr_assert_eq(read(ready[0], &one, 1), 1); /* of any of them */
        }
        for (uint32_t i = 0; i < count; i++) {
                cr_assert_eq(kill(readers[i], SIGSTOP), 0);
        }
        (void)close(ready[0]);
        (void)close(ready[1]);
}

static int compare_times(const void *a, const void *b)
{
        const uint64_t left = *(const uint64_t *)a;
        const uint64_t right = *(const uint64_t *)b;
        return (left > right) - (left < right);
}

/* Writes all values; returns the time in which 99 of 100 were acknowledged and seen by a healthy reader. */
static uint64_t write_all(struct caller *writer, struct caller *healthy)
{
        static char room[VALUE_BYTES + 8];
        static uint64_t times_ms[VALUES];
        uint32_t deltas = 0;
        for (uint32_t i = 0; i < VALUES; i++) {
                const uint64_t began_ms = scn_daemon_now_ms();
                const struct scn_op op = write_value(room, VALUE_BYTES, i);
                caller_edit(writer, i + 1, &op, 1);
                cr_assert_eq(caller_await(writer, i + 1), i + 1);
                cr_assert_eq(read_to(healthy, i + 1, &deltas), i + 1);
                times_ms[i] = scn_daemon_now_ms() - began_ms;
        }
        qsort(times_ms, VALUES, sizeof times_ms[0], compare_times);
        return times_ms[VALUES * 99 / 100];
}

static void bear_stopped_readers(enum serve_listener listener)
{
        const uint32_t stopped_s = read_setting("SCN_STOPPED_S", 0);
        const uint32_t stopped = read_setting("SCN_STOPPED", STOPPED);
        struct serve serve;
        struct caller writer;
        struct caller healthy;
        pid_t readers[STOPPED_MAX];
        cr_assert_leq(stopped, STOPPED_MAX);
        /* What the address sanitizer keeps of freed memory, 256 MiB by default, is not the daemon's. */
        cr_assert_eq(setenv("ASAN_OPTIONS", "quarantine_size_mb=1", 1), 0);
        serve_begin(&serve);
        caller_begin(&writer, serve_connect(&serve, SERVE_UNIX), 1, "writer");
        (void)caller_open(&writer, "stage");
        caller_begin(&healthy, serve_connect(&serve, SERVE_TCP), 2, "healthy");
        (void)caller_open(&healthy, "stage");
        caller_view(&healthy, 5);
        start_readers(&serve, listener, readers, stopped);
        const uint64_t before_kib = scn_daemon_memory_kib(&serve.daemon);
        const uint64_t slowest_ms = write_all(&writer, &healthy);
        cr_expect_lt(slowest_ms, 1000, "the healthy do not suffer");
        (void)sleep(stopped_s);
        const uint64_t grown_kib = scn_daemon_status_kib(&serve.daemon, "VmHWM") - before_kib;
        cr_log_info("%u readers stopped: p99 of the others %llu ms, %llu KiB more", stopped,
                (unsigned long long)slowest_ms, (unsigned long long)grown_kib);
        cr_expect_lt(grown_kib, GROWTH_KIB);
        for (uint32_t i = 0; i < stopped; i++) {
                int status;
                cr_assert_eq(kill(readers[i], SIGCONT), 0);
                cr_assert_eq(waitpid(readers[i], &status, 0), readers[i]);
                /* The reason goes behind what it has not read, if there is room; it may be too late for that. */
                const int fate = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
                const bool is_ended = fate == FATE_ENDED || fate == FATE_LOST;
                cr_expect(stopped_s > NO_PROGRESS_S + 5 ? is_ended : fate == FATE_MERGED, "reader %u: %d", i, fate);
        }
        caller_end(&writer);
        caller_end(&healthy);
        serve_finish(&serve);
}

SCN_TEST_WITH(peers, that_are_stopped_cost_little_and_get_one_merged_delta_over_tcp, .timeout = 300)
{
        bear_stopped_readers(SERVE_TCP);
}

SCN_TEST_WITH(peers, that_are_stopped_cost_little_and_get_one_merged_delta_over_a_unix_socket, .timeout = 300)
{
        bear_stopped_readers(SERVE_UNIX);
}

/* --- Who breaks off --- */

#define RESETS 60u

/* Goes with a reset, in the middle of an edit, with deltas under way to it. */
static void break_off(const struct serve *serve, enum serve_listener listener, uint32_t client)
{
        const struct linger hard = {.l_onoff = 1, .l_linger = 0};
        struct caller caller;
        struct scn_message message;
        struct scn_buffer payload;
        struct scn_buffer frame;
        caller_begin(&caller, serve_connect(serve, listener), client, "breaker");
        (void)caller_open(&caller, "stage");
        caller_view(&caller, 5);
        scn_buffer_init(&payload, 1024);
        scn_buffer_init(&frame, 1024);
        scn_message_init(&message, SCN_MESSAGE_ping);
        message.as.ping.request = 9;
        caller_send(&caller, &message);
        /* A frame of which the end never comes. */
        cr_assert_eq(scn_message_encode(&message, &payload), SCN_OK);
        cr_assert_eq(scn_frame_append_head(&frame, 500), SCN_OK);
        cr_assert_eq(scn_buffer_append(&frame, payload.data, payload.size), SCN_OK);
        (void)caller_send_bytes(caller.descriptor, frame.data, frame.size);
        scn_buffer_finish(&payload);
        scn_buffer_finish(&frame);
        cr_assert_eq(setsockopt(caller.descriptor, SOL_SOCKET, SO_LINGER, &hard, sizeof hard), 0);
        caller_end(&caller);
}

SCN_TEST_WITH(peers, that_reset_amid_a_message_disturb_nobody, .timeout = 120)
{
        static char room[VALUE_BYTES + 8];
        struct serve serve;
        struct caller writer;
        struct caller reader;
        uint32_t deltas = 0;
        serve_begin(&serve);
        caller_begin(&writer, serve_connect(&serve, SERVE_TCP), 1, "writer");
        (void)caller_open(&writer, "stage");
        caller_begin(&reader, serve_connect(&serve, SERVE_UNIX), 2, "reader");
        (void)caller_open(&reader, "stage");
        caller_view(&reader, 5);
        for (uint32_t i = 0; i < RESETS; i++) {
                const struct scn_op op = write_value(room, VALUE_BYTES, i);
                caller_edit(&writer, i + 1, &op, 1);
                break_off(&serve, (enum serve_listener)(i % SERVE_LISTENERS_COUNT), 100 + i);
                cr_assert_eq(caller_await(&writer, i + 1), i + 1);
                cr_assert_eq(read_to(&reader, i + 1, &deltas), i + 1);
        }
        cr_expect_eq(caller_count_nodes(&writer), 1);
        caller_end(&writer);
        caller_end(&reader);
        serve_finish(&serve);
}

/* --- Who are many --- */

#define MANY 1000u
#define CALLER_KIB 64u

static void raise_descriptors(void)
{
        struct rlimit limit;
        cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
        limit.rlim_cur = limit.rlim_max;
        cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
        cr_assert_geq(limit.rlim_max, MANY + 100, "too few descriptors are allowed here");
}

SCN_TEST_WITH(peers, may_be_a_thousand_with_a_view_each, .timeout = 120)
{
        static struct caller callers[MANY];
        struct serve serve;
        struct caller writer;
        raise_descriptors();
        serve_begin(&serve);
        caller_begin(&writer, serve_connect(&serve, SERVE_UNIX), 1, "writer");
        (void)caller_open(&writer, "stage");
        const uint64_t before_kib = scn_daemon_memory_kib(&serve.daemon);
        for (uint32_t i = 0; i < MANY; i++) {
                const int descriptor = serve_connect(&serve, (enum serve_listener)(i % SERVE_LISTENERS_COUNT));
                caller_begin(&callers[i], descriptor, 100 + i, "reader");
                (void)caller_open(&callers[i], "stage");
                caller_view(&callers[i], 5);
        }
        for (uint32_t round = 1; round <= 5; round++) {
                const struct scn_op op = scene_translate(1, (float)round, 0, 0);
                caller_edit(&writer, round, &op, 1);
                cr_assert_eq(caller_await(&writer, round), round);
                for (uint32_t i = 0; i < MANY; i++) {
                        uint32_t deltas = 0;
                        cr_assert_eq(read_to(&callers[i], round, &deltas), round);
                }
        }
        cr_expect_lt(scn_daemon_memory_kib(&serve.daemon), before_kib + MANY * CALLER_KIB);
        for (uint32_t i = 0; i < MANY; i++) {
                caller_end(&callers[i]);
        }
        caller_end(&writer);
        serve_finish(&serve);
}

/* --- Who is there no more --- */

static void say_hello(struct caller *caller, int descriptor, uint32_t client, const char *author, uint64_t ping)
{
        struct scn_message message;
        *caller = (struct caller){.descriptor = descriptor};
        scn_frame_reader_init(&caller->reader);
        caller->reader.message_bytes_max = SCN_MESSAGE_BYTES_MAX;
        cr_assert(caller_send_bytes(caller->descriptor, scn_preface, SCN_PREFACE_BYTES));
        scn_message_init(&message, SCN_MESSAGE_hello);
        message.as.hello.version = SCN_PROTOCOL_VERSION;
        message.as.hello.client = scene_client(client);
        message.as.hello.name = scene_text(author);
        message.as.hello.ping = ping;
        caller_send(caller, &message);
        (void)caller_open(caller, "stage");
}

static void show_and_lock(struct caller *caller)
{
        struct scn_message message;
        struct scn_buffer nodes;
        const struct scn_node_ref root = scene_id(1);
        scn_message_init(&message, SCN_MESSAGE_presence);
        message.as.presence.map = live_map("x", 1);
        caller_send(caller, &message);
        scn_buffer_init(&nodes, 64);
        struct scn_packer packer = scn_packer_to(&nodes);
        scn_pack_array(&packer, 1);
        scn_pack_ref(&packer, &root);
        scn_message_init(&message, SCN_MESSAGE_lock);
        message.as.lock.request = 7;
        message.as.lock.nodes = (struct scn_slice){nodes.data, (uint32_t)nodes.size};
        caller_send(caller, &message);
        (void)caller_expect(caller, SCN_MESSAGE_answer);
        scn_buffer_finish(&nodes);
}

static void begin_watcher(struct caller *watcher, const struct serve *serve)
{
        struct scn_message message;
        caller_begin(watcher, serve_connect(serve, SERVE_UNIX), 1, "watcher");
        (void)caller_open(watcher, "stage");
        scn_message_init(&message, SCN_MESSAGE_view);
        message.as.view.request = 5;
        message.as.view.view = 1;
        message.as.view.root = scene_id(1);
        message.as.view.mask = SCN_MASK_STRUCTURE | SCN_MASK_VOLATILE;
        caller_send(watcher, &message);
}

#define GESTURE 7u

/* A gesture that is not closed. */
static void begin_gesture(struct caller *caller)
{
        caller->group = GESTURE;
        for (uint64_t number = 1; number <= 2; number++) {
                const struct scn_op op = scene_translate(1, (float)number, 0, 0);
                caller_edit(caller, number, &op, 1);
                cr_assert_eq(caller_await(caller, number), number);
        }
}

/* Whoever it was comes back: what it does now is another step, though it bears the same number. */
static void expect_gesture_closed(const struct serve *serve, uint32_t client, const char *author)
{
        struct caller again;
        struct scn_message message;
        const struct scn_op op = scene_translate(1, 3, 0, 0);
        caller_begin(&again, serve_connect(serve, SERVE_UNIX), client, author);
        cr_assert_eq(caller_open(&again, "stage"), 2);
        again.group = GESTURE;
        caller_edit(&again, 3, &op, 1);
        (void)caller_await(&again, 3);
        scn_message_init(&message, SCN_MESSAGE_undo);
        message.as.undo.number = 4;
        caller_send(&again, &message);
        (void)caller_await(&again, 4);
        caller_world(&again, 9);
        const struct scn_message answer = caller_expect(&again, SCN_MESSAGE_answer);
        /* Somewhere in it the matrix stands with x = 2: as float32, big end first. */
        static const uint8_t two[] = {0xca, 0x40, 0, 0, 0};
        cr_expect_not_null(memmem(answer.as.answer.body.data, answer.as.answer.body.size, two, sizeof two),
                "only the last edit was undone");
        caller_end(&again);
}

struct seen {
        bool has_presence;
        bool has_lock;
};

static void watch(struct caller *watcher, struct seen *seen)
{
        struct live_told told;
        const struct scn_message message = caller_expect(watcher, SCN_MESSAGE_live);
        live_read(&message, &told);
        for (size_t i = 0; i < told.presences_count; i++) {
                seen->has_presence = told.presences[i].map.data != NULL;
        }
        for (size_t i = 0; i < told.locks_count; i++) {
                seen->has_lock = told.locks[i].author.data != NULL;
        }
}

/* Nothing comes over the network any more, not even that it is over. */
SCN_TEST_WITH(peers, that_are_cut_off_are_gone_within_two_intervals_with_all_they_showed, .timeout = 120)
{
        const unsigned interval_ms = 1000;
        const unsigned grace_ms = 10000;
        struct serve serve;
        struct caller watcher;
        struct caller ghost;
        struct seen seen = {false, false};
        if (!network_begin()) {
                cr_skip_test("a network namespace cannot be had here: it takes root");
        }
        network_set_loopback(true);
        serve_begin(&serve);
        begin_watcher(&watcher, &serve);
        say_hello(&ghost, serve_connect(&serve, SERVE_TCP), 2, "ghost", interval_ms / 1000);
        begin_gesture(&ghost);
        show_and_lock(&ghost);
        while (!seen.has_presence || !seen.has_lock) {
                watch(&watcher, &seen);
        }
        const uint64_t began_ms = scn_daemon_now_ms();
        network_set_loopback(false);
        caller_end(&ghost);
        while (seen.has_presence) {
                watch(&watcher, &seen);
        }
        const uint64_t gone_ms = scn_daemon_now_ms() - began_ms;
        cr_expect_gt(gone_ms, interval_ms, "that would be before it broke its promise");
        cr_expect_lt(gone_ms, 10 * interval_ms);
        cr_expect(seen.has_lock, "a lock outlives its session for a while");
        while (seen.has_lock) {
                watch(&watcher, &seen);
        }
        cr_expect_gt(scn_daemon_now_ms() - began_ms, grace_ms);
        expect_gesture_closed(&serve, 2, "ghost");
        caller_end(&watcher);
        serve_finish(&serve);
}

/* The kernel still takes what comes for it. */
SCN_TEST_WITH(peers, that_are_stopped_in_mid_gesture_are_gone_within_two_intervals, .timeout = 120)
{
        const unsigned interval_ms = 1000;
        struct serve serve;
        struct caller watcher;
        struct seen seen = {false, false};
        int ready[2];
        char one;
        serve_begin(&serve);
        begin_watcher(&watcher, &serve);
        cr_assert_eq(pipe(ready), 0);
        const pid_t ghost = fork();
        cr_assert_geq(ghost, 0);
        if (ghost == 0) {
                struct caller caller;
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                say_hello(&caller, serve_connect(&serve, SERVE_TCP), 2, "ghost", interval_ms / 1000);
                begin_gesture(&caller);
                show_and_lock(&caller);
                _exit(write(ready[1], "", 1) == 1 && pause() == 0);
        }
        cr_assert_eq(read(ready[0], &one, 1), 1);
        cr_assert_eq(kill(ghost, SIGSTOP), 0);
        const uint64_t began_ms = scn_daemon_now_ms();
        while (!seen.has_presence) {
                watch(&watcher, &seen);
        }
        while (seen.has_presence) {
                watch(&watcher, &seen);
        }
        cr_expect_lt(scn_daemon_now_ms() - began_ms, 10 * interval_ms);
        expect_gesture_closed(&serve, 2, "ghost");
        cr_assert_eq(kill(ghost, SIGKILL), 0);
        cr_assert_eq(waitpid(ghost, NULL, 0), ghost);
        (void)close(ready[0]);
        (void)close(ready[1]);
        caller_end(&watcher);
        serve_finish(&serve);
}

/* What arrives counts as life, also where it is no message yet. */
SCN_TEST_WITH(peers, that_upload_slowly_are_not_taken_for_dead, .timeout = 120)
{
        static char room[VALUE_BYTES + 8];
        static uint8_t bytes[VALUE_BYTES + 1024];
        struct serve serve;
        struct caller uploader;
        struct scn_buffer sent;
        int ends[2];
        serve_begin(&serve);
        say_hello(&uploader, serve_connect(&serve, SERVE_TCP), 1, "uploader", 1);
        const struct scn_op op = write_value(room, VALUE_BYTES, 1);
        /* The frame as caller_edit() spells it, to be sent in small pieces. */
        cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        struct caller spelled = {.descriptor = ends[0]};
        caller_edit(&spelled, 1, &op, 1);
        (void)close(ends[0]);
        scn_buffer_init(&sent, sizeof bytes);
        ssize_t size;
        while ((size = recv(ends[1], bytes, sizeof bytes, 0)) > 0) {
                cr_assert_eq(scn_buffer_append(&sent, bytes, (size_t)size), SCN_OK);
        }
        (void)close(ends[1]);
        for (size_t at = 0; at < sent.size;) {
                const size_t piece = sent.size - at < 1500 ? sent.size - at : 1500;
                cr_assert(caller_send_bytes(uploader.descriptor, sent.data + at, piece));
                at += piece;
                (void)usleep(100000);
        }
        cr_expect_eq(caller_await(&uploader, 1), 1);
        scn_buffer_finish(&sent);
        caller_end(&uploader);
        serve_finish(&serve);
}
