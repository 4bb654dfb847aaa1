/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* usleep, kill under -std=c11 */

/* A daemon that is told to stop while everybody edits: it ends in time although somebody never reads, and what it has
 * acknowledged is there afterwards. */

#include "tests/lib/caller.h"
#include "tests/lib/scene.h"
#include "tests/lib/serve.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WRITERS 20u
#define WINDOW 8u
#define STOP_MS 10000u

struct writer {
        struct caller caller;
        uint64_t acknowledged;
        uint64_t sent;
        bool is_over;
};

struct table {
        struct serve serve;
        struct writer writers[WRITERS]; /* half of them over each listener */
        int stuck;                      /* edits and never reads */
};

static void send_edit(struct writer *writer)
{
        const struct scn_op op = scene_add(1, 0, "node");
        caller_edit(&writer->caller, ++writer->sent, &op, 1);
}

/* Somebody with a view who takes nothing of what he is told. */
static int begin_stuck(struct serve *serve)
{
        struct caller caller;
        const int descriptor = serve_connect(serve, SERVE_TCP);
        caller_begin(&caller, descriptor, 99, "eve");
        (void)caller_open(&caller, "isle");
        caller_view(&caller, 2);
        for (uint64_t number = 1; number <= 200; number++) {
                const struct scn_op op = scene_add(1, 0, "a node with a name that is not that short");
                caller_edit(&caller, number, &op, 1);
                caller_ask(&caller, SCN_MESSAGE_tree, number);
        }
        scn_frame_reader_finish(&caller.reader);
        return descriptor;
}

static void begin(struct table *table)
{
        *table = (struct table){.stuck = -1};
        serve_begin(&table->serve);
        for (uint32_t i = 0; i < WRITERS; i++) {
                struct writer *writer = &table->writers[i];
                caller_begin(&writer->caller, serve_connect(&table->serve, i % SERVE_LISTENERS_COUNT), 1 + i, "ann");
                (void)caller_open(&writer->caller, "isle");
        }
        table->stuck = begin_stuck(&table->serve);
}

/* What has come, if anything; false: the connection has ended. */
static void take(struct writer *writer)
{
        struct scn_message message;
        if (!caller_receive(&writer->caller, &message)) {
                writer->is_over = true;
                return;
        }
        if (message.kind == SCN_MESSAGE_applied) {
                cr_assert_eq(message.as.applied.number, writer->acknowledged + 1);
                writer->acknowledged++;
        } else {
                cr_assert_eq(message.kind, SCN_MESSAGE_failed, "%s", scn_message_name(message.kind));
                cr_assert(message.as.failed.closes);
        }
}

/* Everybody edits for so long, or until all connections have ended. */
static void write_for(struct table *table, uint64_t duration_ms)
{
        const uint64_t end_ms = scn_daemon_now_ms() + duration_ms;
        uint32_t over = 0;
        while (scn_daemon_now_ms() < end_ms && over < WRITERS) {
                struct pollfd polled[WRITERS];
                over = 0;
                for (uint32_t i = 0; i < WRITERS; i++) {
                        struct writer *writer = &table->writers[i];
                        while (!writer->is_over && writer->sent < writer->acknowledged + WINDOW) {
                                send_edit(writer);
                        }
                        polled[i] = (struct pollfd){
                                .fd = writer->is_over ? -1 : writer->caller.descriptor, .events = POLLIN};
                        over += writer->is_over;
                }
                cr_assert_geq(poll(polled, WRITERS, 10), 0);
                for (uint32_t i = 0; i < WRITERS; i++) {
                        if (polled[i].revents != 0) {
                                take(&table->writers[i]);
                        }
                }
        }
}

static void expect_all_there(struct table *table)
{
        uint64_t acknowledged = 0;
        for (uint32_t i = 0; i < WRITERS; i++) {
                struct writer *writer = &table->writers[i];
                caller_end(&writer->caller);
                caller_begin(&writer->caller, serve_connect(&table->serve, SERVE_UNIX), 1 + i, "ann");
                const uint64_t stored = caller_open(&writer->caller, "isle");
                cr_expect_geq(stored, writer->acknowledged, "an acknowledged edit is lost");
                cr_expect_leq(stored, writer->sent);
                acknowledged += writer->acknowledged;
        }
        cr_expect_gt(acknowledged, 0);
        caller_ask(&table->writers[0].caller, SCN_MESSAGE_verify, 3);
        (void)caller_expect(&table->writers[0].caller, SCN_MESSAGE_answer);
        for (uint32_t i = 0; i < WRITERS; i++) {
                caller_end(&table->writers[i].caller);
        }
}

/* After the daemon has left in an orderly way, nothing waits to be put in order. */
static void expect_clean(const struct serve *serve)
{
        char path[SERVE_ADDRESS_BYTES + 16];
        (void)snprintf(path, sizeof path, "%s/data/isle.scene-wal", serve->daemon.folder);
        cr_expect_neq(access(path, F_OK), 0, "a write-ahead file is left");
        cr_expect_neq(access(serve->socket, F_OK), 0, "a socket is left");
}

/* The signal, and once more after so many milliseconds; 0: not again. */
static void stop_under_load(int number, unsigned again_ms)
{
        struct table table;
        begin(&table);
        write_for(&table, 300);
        const uint64_t begin_ms = scn_daemon_now_ms();
        scn_daemon_signal(&table.serve.daemon, number);
        if (again_ms > 0) {
                write_for(&table, again_ms);
                scn_daemon_signal(&table.serve.daemon, number);
        }
        write_for(&table, STOP_MS);
        cr_assert_eq(scn_daemon_wait(&table.serve.daemon), 0);
        cr_expect_lt(scn_daemon_now_ms() - begin_ms, STOP_MS);
        (void)close(table.stuck);
        expect_clean(&table.serve);
        serve_start(&table.serve);
        expect_all_there(&table);
        serve_finish(&table.serve);
}

SCN_TEST_WITH(stop, under_load_ends_in_time_and_keeps_what_was_acknowledged, .timeout = 60)
{
        stop_under_load(SIGTERM, 0);
}

SCN_TEST_WITH(stop, asked_for_twice_is_the_same, .timeout = 60)
{
        stop_under_load(SIGTERM, 50);
}

SCN_TEST_WITH(stop, by_interrupt_is_the_same, .timeout = 60)
{
        stop_under_load(SIGINT, 0);
}

/* --- The first process --- */

/* The only child of a process; 0: it has none yet. */
static pid_t child_of(pid_t parent)
{
        char path[96];
        int child = 0;
        (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
        FILE *file = fopen(path, "re");
        if (file != NULL) {
                (void)(fscanf(file, "%d", &child) == 1);
                (void)fclose(file);
        }
        return child;
}

/* Whether the system lets anybody here have a first process of his own. */
static bool may_unshare(void)
{
        const char *arguments[] = {"--user", "--map-root-user", "--pid", "--fork", "true", NULL};
        struct scn_daemon tool;
        scn_daemon_init(&tool);
        const int code = scn_daemon_run(
                &tool, &(struct scn_daemon_options){.program = "/usr/bin/unshare", .arguments = arguments});
        scn_daemon_finish(&tool);
        return code == 0;
}

/* As in a container, where signals without a handler do nothing. */
SCN_TEST_WITH(stop, is_understood_by_the_first_process_of_a_container, .timeout = 60)
{
        struct serve serve;
        char program[256];
        const char *arguments[] = {"--user", "--map-root-user", "--pid", "--fork", "--kill-child", program, "--data",
                "data", "--listen", "127.0.0.1:0", NULL};
        const int signals[] = {SIGTERM, SIGINT};
        if (!may_unshare()) {
                cr_skip_test("a process namespace cannot be had here");
        }
        (void)snprintf(program, sizeof program, "%s/scened", scn_daemon_bin());
        for (size_t i = 0; i < 2; i++) {
                serve = (struct serve){.program = "scened"};
                scn_daemon_init(&serve.daemon);
                scn_daemon_start(&serve.daemon,
                        &(struct scn_daemon_options){.program = "/usr/bin/unshare", .arguments = arguments});
                const uint16_t port = scn_daemon_port(&serve.daemon);
                struct caller caller;
                const struct scn_op op = scene_add(1, 0, "node");
                caller_begin(&caller, scn_daemon_connect(port), 1, "ann");
                (void)caller_open(&caller, "isle");
                caller_edit(&caller, 1, &op, 1);
                (void)caller_await(&caller, 1);
                const pid_t inner = child_of(serve.daemon.process);
                cr_assert_gt(inner, 0);
                const uint64_t begin_ms = scn_daemon_now_ms();
                cr_assert_eq(kill(inner, signals[i]), 0);
                caller_end(&caller);
                cr_expect_eq(scn_daemon_wait(&serve.daemon), 0);
                cr_expect_lt(scn_daemon_now_ms() - begin_ms, STOP_MS);
                scn_daemon_finish(&serve.daemon);
        }
}

/* --- An import --- */

#define PART_OPS 2000u
#define PARTS 20u

/* One edit in parts, some of which have come, or all of them: it is there whole or not at all. */
SCN_TEST_WITH(stop, amid_a_large_edit_keeps_it_whole_or_not_at_all, .timeout = 60)
{
        static struct scn_op ops[PART_OPS];
        for (uint32_t i = 0; i < PART_OPS; i++) {
                ops[i] = scene_add(1, 0, "node");
        }
        for (uint32_t parts = PARTS - 1; parts <= PARTS; parts++) {
                struct serve serve;
                struct caller caller;
                struct scn_message message;
                serve_begin(&serve);
                caller_begin(&caller, serve_connect(&serve, SERVE_UNIX), 1, "ann");
                (void)caller_open(&caller, "isle");
                for (uint32_t part = 1; part <= parts; part++) {
                        caller_edit_part(&caller, 1, ops, PART_OPS, part < PARTS);
                }
                scn_daemon_signal(&serve.daemon, SIGTERM);
                bool is_acknowledged = false;
                while (caller_receive(&caller, &message)) {
                        is_acknowledged = is_acknowledged || message.kind == SCN_MESSAGE_applied;
                }
                caller_end(&caller);
                cr_expect_eq(scn_daemon_wait(&serve.daemon), 0);
                cr_expect(!is_acknowledged || parts == PARTS);
                serve_start(&serve);
                caller_begin(&caller, serve_connect(&serve, SERVE_UNIX), 1, "ann");
                const uint64_t stored = caller_open(&caller, "isle");
                cr_expect(stored == 1 || !is_acknowledged);
                cr_expect_eq(caller_count_nodes(&caller), stored == 1 ? 1 + PARTS * PART_OPS : 1);
                caller_end(&caller);
                serve_finish(&serve);
        }
}
