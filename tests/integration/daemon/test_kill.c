/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* usleep under -std=c11 */

/* The real daemon, killed at random moments under load, again and again: every acknowledged edit is there, no half
 * edit, starting needs no help, and what clients send again is neither lost nor doubled. SCN_KILLS says how often
 * (tests/long/run: 100). */

#include "tests/lib/caller.h"
#include "tests/lib/daemon.h"
#include "tests/lib/random.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLIENTS 3u
#define WINDOW 64u /* edits in flight of one client */

/* One client's life over all the daemon's lives. */
struct writer {
        uint32_t client;
        uint16_t port;
        uint64_t acknowledged; /* all numbers up to here */
        uint64_t sent;
};

static uint32_t kills_count(void)
{
        const char *text = getenv("SCN_KILLS");
        return text == NULL ? 8 : (uint32_t)strtoul(text, NULL, 10);
}

/* Two nodes without uids in one edit: done twice it would be four, done half it would be one. */
static void send_edit(struct caller *caller, uint64_t number)
{
        struct scn_op ops[2] = {scene_add(1, 0, "first"), scene_add(1, 0, "second")};
        caller_edit(caller, number, ops, 2);
}

/* Sends what is not acknowledged again, then new edits, until the connection breaks. */
static void *write_until_it_breaks(void *data)
{
        struct writer *writer = data;
        struct caller caller;
        struct scn_message message;
        caller_begin(&caller, scn_daemon_connect(writer->port), writer->client, "ann");
        const uint64_t stored = caller_open(&caller, "island");
        cr_assert_geq(stored, writer->acknowledged, "an acknowledged edit is lost");
        cr_assert_leq(stored, writer->sent, "something was stored that was never sent");
        uint64_t next = writer->acknowledged + 1;
        bool is_there = true;
        while (is_there) {
                while (next <= writer->acknowledged + WINDOW) {
                        send_edit(&caller, next);
                        writer->sent = next > writer->sent ? next : writer->sent;
                        next++;
                }
                is_there = caller_receive(&caller, &message);
                if (is_there) {
                        cr_assert_eq(message.kind, SCN_MESSAGE_applied, "%s", scn_message_name(message.kind));
                        cr_assert_eq(message.as.applied.number, writer->acknowledged + 1);
                        writer->acknowledged++;
                }
        }
        caller_end(&caller);
        return NULL;
}

static void start(struct scn_daemon *daemon)
{
        static const char *const arguments[] = {"--listen", "127.0.0.1:0", "--data", "data", NULL};
        scn_daemon_start(daemon, &(struct scn_daemon_options){.program = "scened", .arguments = arguments});
}

static uint64_t count_nodes(struct caller *caller)
{
        struct scn_message message;
        uint64_t count = 0;
        scn_message_init(&message, SCN_MESSAGE_tree);
        message.as.tree.request = 2;
        caller_send(caller, &message);
        do {
                message = caller_expect(caller, SCN_MESSAGE_answer);
                struct scn_unpacker unpacker = scn_unpacker_from(message.as.answer.body);
                count += scn_unpack_array(&unpacker);
        } while (message.as.answer.more);
        return count;
}

/* After the last start: all is sent again, until nothing is open; then every edit is there once. */
static void settle(struct writer *writer)
{
        struct caller caller;
        caller_begin(&caller, scn_daemon_connect(writer->port), writer->client, "ann");
        cr_assert_geq(caller_open(&caller, "island"), writer->acknowledged);
        for (uint64_t number = writer->acknowledged + 1; number <= writer->sent; number++) {
                send_edit(&caller, number);
                cr_assert_eq(caller_expect(&caller, SCN_MESSAGE_applied).as.applied.number, number);
        }
        caller_end(&caller);
}

SCN_TEST_WITH(daemon, killed_under_load_loses_no_acknowledged_edit_and_doubles_none, .timeout = 1200)
{
        struct scn_daemon daemon;
        struct writer writers[CLIENTS] = {{.client = 11}, {.client = 12}, {.client = 13}};
        struct scn_random random = scn_random_from_seed(scn_test_seed(9));
        scn_daemon_init(&daemon);
        for (uint32_t kill = 0; kill < kills_count(); kill++) {
                pthread_t threads[CLIENTS];
                start(&daemon);
                const uint16_t port = scn_daemon_port(&daemon);
                for (uint32_t i = 0; i < CLIENTS; i++) {
                        writers[i].port = port;
                        cr_assert_eq(pthread_create(&threads[i], NULL, write_until_it_breaks, &writers[i]), 0);
                }
                (void)usleep(100000 + scn_random_below(&random, 400000));
                scn_daemon_signal(&daemon, SIGKILL);
                cr_assert_eq(scn_daemon_wait(&daemon), 128 + SIGKILL);
                for (uint32_t i = 0; i < CLIENTS; i++) {
                        cr_assert_eq(pthread_join(threads[i], NULL), 0);
                }
        }
        start(&daemon);
        uint64_t sent = 0;
        for (uint32_t i = 0; i < CLIENTS; i++) {
                writers[i].port = scn_daemon_port(&daemon);
                settle(&writers[i]);
                sent += writers[i].sent;
        }
        struct caller caller;
        caller_begin(&caller, scn_daemon_connect(writers[0].port), 99, "reader");
        (void)caller_open(&caller, "island");
        cr_assert_eq(count_nodes(&caller), 1 + 2 * sent);
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_verify);
        message.as.verify.request = 3;
        caller_send(&caller, &message);
        (void)caller_expect(&caller, SCN_MESSAGE_answer);
        caller_end(&caller);
        cr_assert_eq(scn_daemon_stop(&daemon), 0);
        cr_log_info("%u kills, %llu edits", kills_count(), (unsigned long long)sent);
        cr_assert_gt(sent, 100);
        scn_daemon_finish(&daemon);
}
