/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* POLLRDHUP, the socket calls under -std=c11 */

/* The real daemon among peers that ask for more than it may have under way to all, and take none of it. */

#include "tests/lib/caller.h"
#include "tests/lib/scene.h"
#include "tests/lib/serve.h"
#include "tests/lib/test.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define STOPPED 130u
#define QUESTIONS 5u
#define NODES 60u
#define VALUE_BYTES 60000u
/* What is wanted is a second or two at first, and nothing worth mentioning later. */
#define ANSWER_MS 15000u
#define ROUNDS 20u
#define GROWTH_KIB (400u << 10) /* 256 MiB, what is there for a moment besides, and what the allocator keeps */

/* All nodes have a value; a tree is some megabytes. */
static void write_values(struct caller *writer)
{
        static uint8_t text[VALUE_BYTES];
        struct scn_buffer value;
        memset(text, 'v', sizeof text);
        scn_buffer_init(&value, VALUE_BYTES + 8);
        struct scn_packer packer = scn_packer_to(&value);
        scn_pack_text(&packer, (struct scn_slice){text, VALUE_BYTES});
        for (uint32_t i = 0; i < NODES; i++) {
                const struct scn_op ops[] = {scene_add(1, 50 + i, "crate"),
                        scene_set(2 + i, "value", (struct scn_slice){value.data, (uint32_t)value.size})};
                caller_edit(writer, i + 1, ops, 2);
                cr_assert_eq(caller_await(writer, i + 1), i + 1);
        }
        scn_buffer_finish(&value);
}

static void begin_stopped(struct caller *stopped, const struct serve *serve, uint32_t number)
{
        const int descriptor = serve_connect(serve, (enum serve_listener)(number % SERVE_LISTENERS_COUNT));
        const int bytes = 4096;
        cr_assert_eq(setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes), 0);
        caller_begin(stopped, descriptor, 100 + number, "stopped");
        (void)caller_open(stopped, "store");
        for (uint32_t i = 0; i < QUESTIONS; i++) {
                caller_ask(stopped, SCN_MESSAGE_tree, 7);
        }
}

static uint64_t ask_all(struct caller *healthy, uint64_t number)
{
        const struct scn_op op = scene_translate(2, (float)number, 0, 0);
        const uint64_t began_ms = scn_daemon_now_ms();
        caller_ask(healthy, SCN_MESSAGE_who, 7);
        (void)caller_expect(healthy, SCN_MESSAGE_answer);
        caller_world(healthy, 8);
        (void)caller_expect(healthy, SCN_MESSAGE_answer);
        cr_expect_eq(caller_count_nodes(healthy), NODES + 1);
        caller_ask(healthy, SCN_MESSAGE_log, 9);
        (void)caller_expect(healthy, SCN_MESSAGE_answer);
        caller_edit(healthy, number, &op, 1);
        (void)caller_await(healthy, number);
        return scn_daemon_now_ms() - began_ms;
}

static bool is_cut_off(const struct caller *caller)
{
        struct pollfd one = {.fd = caller->descriptor, .events = POLLRDHUP};
        return poll(&one, 1, 0) == 1 && (one.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

SCN_TEST_WITH(stopped, peers_that_hold_all_there_is_room_for_do_not_keep_others_from_their_answers, .timeout = 120)
{
        static struct caller stopped[STOPPED];
        struct serve serve;
        struct caller writer;
        struct caller healthy;
        uint32_t cut_count = 0;
        uint64_t later_ms = 0;
        /* What the address sanitizer keeps of freed memory is not the daemon's. */
        cr_assert_eq(setenv("ASAN_OPTIONS", "quarantine_size_mb=1", 1), 0);
        serve_begin(&serve);
        caller_begin(&writer, serve_connect(&serve, SERVE_UNIX), 1, "writer");
        (void)caller_open(&writer, "store");
        write_values(&writer);
        caller_begin(&healthy, serve_connect(&serve, SERVE_TCP), 2, "healthy");
        (void)caller_open(&healthy, "store");
        const uint64_t before_kib = scn_daemon_memory_kib(&serve.daemon);
        for (uint32_t i = 0; i < STOPPED; i++) {
                begin_stopped(&stopped[i], &serve, i);
        }
        const uint64_t first_ms = ask_all(&healthy, 1);
        cr_expect_lt(first_ms, ANSWER_MS);
        for (uint64_t number = 2; number <= ROUNDS; number++) {
                const uint64_t took_ms = ask_all(&healthy, number);
                later_ms = took_ms > later_ms ? took_ms : later_ms;
        }
        cr_expect_lt(later_ms, ANSWER_MS / 10);
        for (uint32_t i = 0; i < STOPPED; i++) {
                cut_count += is_cut_off(&stopped[i]);
        }
        cr_expect_gt(cut_count, 0, "there was room for all");
        cr_expect_lt(cut_count, STOPPED, "some cost nobody anything");
        const uint64_t grown_kib = scn_daemon_status_kib(&serve.daemon, "VmHWM") - before_kib;
        cr_expect_lt(grown_kib, GROWTH_KIB);
        cr_log_info("%u of %u cut off; the first answers took %llu ms, later ones %llu ms at most; %llu KiB more",
                cut_count, STOPPED, (unsigned long long)first_ms, (unsigned long long)later_ms,
                (unsigned long long)grown_kib);
        for (uint32_t i = 0; i < STOPPED; i++) {
                caller_end(&stopped[i]);
        }
        caller_end(&healthy);
        caller_end(&writer);
        serve_finish(&serve);
}
