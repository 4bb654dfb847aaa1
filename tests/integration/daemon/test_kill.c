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

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLIENTS 3u
#define WINDOW 64u /* edits in flight of one client */
#define LIFE 400u  /* edits of one client in one life of the daemon: at the end all are replayed */

/* One client's life over all the daemon's lives. */
struct writer {
        uint32_t client;
        struct caller caller;
        uint64_t acknowledged; /* all numbers up to here */
        uint64_t sent;
        uint64_t next;
        uint64_t life_end;
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

/* Connects; what is not acknowledged will be sent again. */
static void begin(struct writer *writer, uint16_t port)
{
        caller_begin(&writer->caller, scn_daemon_connect(port), writer->client, "ann");
        const uint64_t stored = caller_open(&writer->caller, "island");
        cr_assert_geq(stored, writer->acknowledged, "an acknowledged edit is lost");
        cr_assert_leq(stored, writer->sent, "something was stored that was never sent");
        writer->next = writer->acknowledged + 1;
        writer->life_end = writer->acknowledged + LIFE;
}

static void fill_window(struct writer *writer)
{
        while (writer->next <= writer->acknowledged + WINDOW && writer->next <= writer->life_end) {
                send_edit(&writer->caller, writer->next);
                writer->sent = writer->next > writer->sent ? writer->next : writer->sent;
                writer->next++;
        }
}

/* False if the connection is broken. */
static bool take_answer(struct writer *writer)
{
        struct scn_message message;
        if (!caller_receive(&writer->caller, &message)) {
                return false;
        }
        cr_assert_eq(message.kind, SCN_MESSAGE_applied, "%s", scn_message_name(message.kind));
        cr_assert_eq(message.as.applied.number, writer->acknowledged + 1);
        writer->acknowledged++;
        return true;
}

static void write_for(struct writer *writers, uint64_t duration_ms)
{
        const uint64_t end_ms = scn_daemon_now_ms() + duration_ms;
        while (scn_daemon_now_ms() < end_ms) {
                struct pollfd polled[CLIENTS];
                for (uint32_t i = 0; i < CLIENTS; i++) {
                        fill_window(&writers[i]);
                        polled[i] = (struct pollfd){.fd = writers[i].caller.descriptor, .events = POLLIN};
                }
                cr_assert_geq(poll(polled, CLIENTS, 1000), 0);
                for (uint32_t i = 0; i < CLIENTS; i++) {
                        if (polled[i].revents != 0) {
                                cr_assert(take_answer(&writers[i]));
                        }
                }
        }
}

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

/* After the last start: all is sent again, until nothing is open. */
static void settle(struct writer *writer, uint16_t port)
{
        begin(writer, port);
        for (uint64_t number = writer->acknowledged + 1; number <= writer->sent; number++) {
                send_edit(&writer->caller, number);
                cr_assert(take_answer(writer));
        }
        caller_end(&writer->caller);
}

/* Every edit is there once, and the journal tells the same. */
static void check(uint16_t port, uint64_t edits)
{
        struct caller caller;
        struct scn_message message;
        caller_begin(&caller, scn_daemon_connect(port), 99, "reader");
        (void)caller_open(&caller, "island");
        cr_assert_eq(caller_count_nodes(&caller), 1 + 2 * edits);
        scn_message_init(&message, SCN_MESSAGE_verify);
        message.as.verify.request = 3;
        caller_send(&caller, &message);
        (void)caller_expect(&caller, SCN_MESSAGE_answer);
        caller_end(&caller);
}

SCN_TEST_WITH(daemon, killed_under_load_loses_no_acknowledged_edit_and_doubles_none, .timeout = 1200)
{
        struct scn_daemon daemon;
        struct writer writers[CLIENTS] = {{.client = 11}, {.client = 12}, {.client = 13}};
        struct scn_random random = scn_random_from_seed(scn_test_seed(9));
        uint64_t sent = 0;
        scn_daemon_init(&daemon);
        for (uint32_t kill = 0; kill < kills_count(); kill++) {
                const uint16_t port = start(&daemon);
                for (uint32_t i = 0; i < CLIENTS; i++) {
                        begin(&writers[i], port);
                }
                write_for(writers, 50 + scn_random_below(&random, 300));
                scn_daemon_signal(&daemon, SIGKILL);
                cr_assert_eq(scn_daemon_wait(&daemon), 128 + SIGKILL);
                for (uint32_t i = 0; i < CLIENTS; i++) {
                        /* What was acknowledged before the end counts, whenever it is read. */
                        while (take_answer(&writers[i])) {
                        }
                        caller_end(&writers[i].caller);
                }
        }
        const uint16_t port = start(&daemon);
        for (uint32_t i = 0; i < CLIENTS; i++) {
                settle(&writers[i], port);
                sent += writers[i].sent;
        }
        check(port, sent);
        cr_assert_eq(scn_daemon_stop(&daemon), 0);
        cr_log_info("%u kills, %llu edits", kills_count(), (unsigned long long)sent);
        cr_assert_gt(sent, 100);
        scn_daemon_finish(&daemon);
}
