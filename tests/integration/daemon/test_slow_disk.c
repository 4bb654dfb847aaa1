/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* A disk that is slow, or locked by somebody else, holds up nobody but those who wait for it, and one who edits a lot
 * does not hold up one who edits little. The wanted times are a tenth of what fails a test. */

#include "tests/lib/caller.h"
#include "tests/lib/scene.h"
#include "tests/lib/serve.h"
#include "tests/lib/test.h"

#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define ASKERS 10u
#define ANSWER_MS 500u
#define SYNC_MS 1500u
#define FLOOD 100000u
#define FLOOD_SYNC_MS 100u

struct table {
        struct serve serve;
        struct caller editor;
        struct caller askers[ASKERS]; /* half of them over each listener */
};

static void set_up(struct table *table)
{
        serve_begin_with(&table->serve, "scened_faulty");
        caller_begin(&table->editor, serve_connect(&table->serve, SERVE_TCP), 1, "ann");
        (void)caller_open(&table->editor, "isle");
        for (uint32_t i = 0; i < ASKERS; i++) {
                caller_begin(&table->askers[i], serve_connect(&table->serve, i % SERVE_LISTENERS_COUNT), 10 + i, "bob");
                (void)caller_open(&table->askers[i], "isle");
        }
}

/* The daemon waits for peers, if not for long. */
static void leave(struct table *table)
{
        caller_end(&table->editor);
        for (uint32_t i = 0; i < ASKERS; i++) {
                caller_end(&table->askers[i]);
        }
}

static void tear_down(struct table *table)
{
        leave(table);
        serve_finish(&table->serve);
}

static void edit(struct caller *caller, uint64_t number)
{
        const struct scn_op op = scene_translate(1, (float)number, 2.0f, 3.0f);
        caller_edit(caller, number, &op, 1);
}

/* Each asks twice; gives the longest wait. */
static uint64_t ask_all(struct table *table)
{
        uint64_t longest_ms = 0;
        for (uint32_t i = 0; i < ASKERS; i++) {
                const uint64_t begin_ms = scn_daemon_now_ms();
                caller_ask(&table->askers[i], SCN_MESSAGE_ping, 7);
                caller_world(&table->askers[i], 8);
                cr_expect_eq(caller_expect(&table->askers[i], SCN_MESSAGE_answer).as.answer.request, 7);
                cr_expect_eq(caller_expect(&table->askers[i], SCN_MESSAGE_answer).as.answer.request, 8);
                const uint64_t took_ms = scn_daemon_now_ms() - begin_ms;
                longest_ms = took_ms > longest_ms ? took_ms : longest_ms;
        }
        return longest_ms;
}

SCN_TEST_WITH(slow_disk, does_not_keep_others_from_their_answers, .timeout = 120)
{
        struct table table;
        char fault[32];
        uint64_t acknowledged_ms;
        set_up(&table);
        (void)snprintf(fault, sizeof fault, "slow %u", SYNC_MS);
        serve_set_fault(&table.serve, fault);
        for (uint64_t number = 1; number <= 3; number++) {
                const uint64_t begin_ms = scn_daemon_now_ms();
                edit(&table.editor, number);
                cr_expect_lt(ask_all(&table), ANSWER_MS);
                cr_expect_eq(caller_await(&table.editor, number), number);
                acknowledged_ms = scn_daemon_now_ms() - begin_ms;
                cr_expect_geq(acknowledged_ms, SYNC_MS, "acknowledged before it was stored");
        }
        serve_set_fault(&table.serve, NULL);
        tear_down(&table);
}

#define LONG_MS 11000u /* more than a peer that has closed its sending side may take nothing for */

SCN_TEST_WITH(slow_disk, keeps_nobody_from_an_answer_who_sends_no_more, .timeout = 120)
{
        struct table table;
        char fault[32];
        set_up(&table);
        (void)snprintf(fault, sizeof fault, "slow %u", LONG_MS);
        serve_set_fault(&table.serve, fault);
        edit(&table.editor, 1);
        cr_assert_eq(shutdown(table.editor.descriptor, SHUT_WR), 0);
        /* Longer than the sockets of these tests wait. */
        struct pollfd poll_fd = {.fd = table.editor.descriptor, .events = POLLIN};
        const uint64_t begin_ms = scn_daemon_now_ms();
        cr_assert_eq(poll(&poll_fd, 1, 3 * LONG_MS), 1);
        cr_expect_geq(scn_daemon_now_ms() - begin_ms, LONG_MS, "it was not waited for");
        cr_expect_eq(caller_await(&table.editor, 1), 1);
        struct scn_message message;
        cr_expect_not(caller_receive(&table.editor, &message), "then it is closed");
        serve_set_fault(&table.serve, NULL);
        tear_down(&table);
}

static sqlite3 *lock_file(const struct serve *serve)
{
        char path[SERVE_ADDRESS_BYTES + 16];
        sqlite3 *handle;
        (void)snprintf(path, sizeof path, "%s/data/isle.scene", serve->daemon.folder);
        cr_assert_eq(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
        cr_assert_eq(sqlite3_busy_timeout(handle, 2000), SQLITE_OK);
        cr_assert_eq(sqlite3_exec(handle, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
        return handle;
}

static void unlock_file(sqlite3 *handle)
{
        cr_assert_eq(sqlite3_exec(handle, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
        cr_assert_eq(sqlite3_close(handle), SQLITE_OK);
}

/* Answers come in the order of the edits: stored, or refused as busy. Returns how many were stored. */
static uint64_t take_verdicts(struct caller *caller, uint64_t first, uint64_t last)
{
        uint64_t stored = 0;
        for (uint64_t number = first; number <= last; number++) {
                struct scn_message message;
                cr_assert(caller_receive(caller, &message));
                if (message.kind == SCN_MESSAGE_applied) {
                        cr_assert_eq(message.as.applied.number, number);
                        stored++;
                } else {
                        cr_assert_eq(message.kind, SCN_MESSAGE_refused);
                        cr_assert_eq(message.as.refused.number, number);
                        cr_assert_eq(memcmp(message.as.refused.code.data, "storage_busy", 12), 0);
                }
        }
        return stored;
}

SCN_TEST_WITH(slow_disk, locked_by_somebody_for_five_seconds_keeps_edits_waiting_and_nobody_else, .timeout = 120)
{
        struct table table;
        set_up(&table);
        edit(&table.editor, 1);
        (void)caller_await(&table.editor, 1);
        sqlite3 *handle = lock_file(&table.serve);
        const uint64_t until_ms = scn_daemon_now_ms() + 5000;
        for (uint64_t number = 2; number <= 101; number++) {
                edit(&table.editor, number);
        }
        while (scn_daemon_now_ms() < until_ms) {
                cr_expect_lt(ask_all(&table), ANSWER_MS);
        }
        unlock_file(handle);
        const uint64_t stored = take_verdicts(&table.editor, 2, 101);
        edit(&table.editor, 102);
        cr_expect_eq(caller_await(&table.editor, 102), 1 + stored + 1);
        const struct scn_digest digest = caller_digest(&table.editor);

        leave(&table);
        cr_assert_eq(scn_daemon_stop(&table.serve.daemon), 0);
        serve_start(&table.serve);
        struct caller reader;
        caller_begin(&reader, serve_connect(&table.serve, SERVE_UNIX), 2, "ann");
        (void)caller_open(&reader, "isle");
        const struct scn_digest again = caller_digest(&reader);
        cr_expect(again.high == digest.high && again.low == digest.low);
        caller_end(&reader);
        serve_finish(&table.serve);
}

SCN_TEST_WITH(slow_disk, flooded_by_one_client_takes_another_s_single_edit_soon, .timeout = 120)
{
        struct table table;
        char fault[32];
        scn_revision last = 0;
        set_up(&table);
        (void)snprintf(fault, sizeof fault, "slow %u", FLOOD_SYNC_MS);
        serve_set_fault(&table.serve, fault);
        for (uint64_t number = 1; number <= FLOOD; number++) {
                edit(&table.editor, number);
        }
        const uint64_t begin_ms = scn_daemon_now_ms();
        edit(&table.askers[0], 1);
        const scn_revision revision = caller_await(&table.askers[0], 1);
        cr_expect_lt(scn_daemon_now_ms() - begin_ms, 2000);
        serve_set_fault(&table.serve, NULL);
        last = caller_await(&table.editor, FLOOD);
        cr_expect_eq(last, FLOOD + 1);
        cr_expect_lt(revision, last, "it had to wait for the whole flood");
        tear_down(&table);
}
