/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* A disk that is full, that writes half, whose sync fails once: what was acknowledged is there afterwards, and what
 * could not be stored nobody ever saw. */

#include "tests/lib/caller.h"
#include "tests/lib/scene.h"
#include "tests/lib/serve.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

#define WATCHERS 3u

struct table {
        struct serve serve;
        struct caller editor;
        struct caller watchers[WATCHERS];
};

/* While a document is being closed it cannot be opened. */
static void open_when_closed(struct table *table)
{
        const uint64_t until_ms = scn_daemon_now_ms() + SCN_DAEMON_WAIT_MS;
        struct scn_message open;
        struct scn_message message;
        struct caller caller;
        scn_message_init(&open, SCN_MESSAGE_open);
        open.as.open.request = 1;
        open.as.open.document = scene_text("isle");
        caller_begin(&caller, serve_connect(&table->serve, SERVE_TCP), 2, "ann");
        do {
                cr_assert_lt(scn_daemon_now_ms(), until_ms, "it stays closed");
                caller_send(&caller, &open);
                cr_assert(caller_receive(&caller, &message));
        } while (message.kind != SCN_MESSAGE_opened);
        caller_end(&caller);
}

static void enter(struct table *table)
{
        caller_begin(&table->editor, serve_connect(&table->serve, SERVE_UNIX), 1, "ann");
        (void)caller_open(&table->editor, "isle");
        for (uint32_t i = 0; i < WATCHERS; i++) {
                caller_begin(
                        &table->watchers[i], serve_connect(&table->serve, i % SERVE_LISTENERS_COUNT), 10 + i, "bob");
                (void)caller_open(&table->watchers[i], "isle");
                caller_view(&table->watchers[i], 3);
                (void)caller_expect(&table->watchers[i], SCN_MESSAGE_delta);
        }
}

static void leave(struct table *table)
{
        caller_end(&table->editor);
        for (uint32_t i = 0; i < WATCHERS; i++) {
                caller_end(&table->watchers[i]);
        }
}

static void restart(struct table *table)
{
        leave(table);
        serve_set_fault(&table->serve, NULL);
        cr_assert_eq(scn_daemon_stop(&table->serve.daemon), 0);
        serve_start(&table->serve);
        enter(table);
}

static void send_edit(struct table *table, uint64_t number)
{
        const struct scn_op op = scene_translate(1, (float)number, 2.0f, 3.0f);
        caller_edit(&table->editor, number, &op, 1);
}

static void edit(struct table *table, uint64_t number)
{
        send_edit(table, number);
        (void)caller_await(&table->editor, number);
}

static void expect_refused(struct table *table, uint64_t number, const char *code)
{
        send_edit(table, number);
        const struct scn_message message = caller_expect(&table->editor, SCN_MESSAGE_refused);
        cr_expect_eq(message.as.refused.number, number);
        cr_expect_eq(message.as.refused.code.size, strlen(code));
        cr_expect_eq(memcmp(message.as.refused.code.data, code, strlen(code)), 0, "%.*s, not %s",
                (int)message.as.refused.code.size, (const char *)message.as.refused.code.data, code);
}

/* Every watcher has been told up to this revision, and of nothing beyond; reading goes on for all of them. */
static void expect_watched(struct table *table, scn_revision revision)
{
        for (uint32_t i = 0; i < WATCHERS; i++) {
                struct scn_message message;
                scn_revision told = 0;
                caller_world(&table->watchers[i], 9);
                do {
                        cr_assert(caller_receive(&table->watchers[i], &message));
                        told = message.kind == SCN_MESSAGE_delta ? message.as.delta.to : told;
                        cr_assert_neq(message.kind, SCN_MESSAGE_failed);
                } while (message.kind != SCN_MESSAGE_answer);
                cr_expect_eq(message.as.answer.rev, revision);
                cr_expect_leq(told, revision);
        }
}

static bool is_same(struct scn_digest a, struct scn_digest b)
{
        return a.high == b.high && a.low == b.low;
}

SCN_TEST_WITH(failing_disk, that_is_full_refuses_edits_and_nothing_else_until_there_is_room, .timeout = 120)
{
        struct table table = {.serve = {.port = 0}};
        serve_begin_with(&table.serve, "scened_faulty");
        enter(&table);
        for (uint64_t number = 1; number <= 10; number++) {
                edit(&table, number);
        }
        const struct scn_digest digest = caller_digest(&table.editor);
        serve_set_fault(&table.serve, "full");
        for (uint64_t number = 11; number <= 200; number++) {
                expect_refused(&table, number, "storage_full");
        }
        cr_expect(is_same(caller_digest(&table.editor), digest));
        expect_watched(&table, 10);
        const size_t lines = scn_daemon_log_count(&table.serve.daemon, " error ") +
                scn_daemon_log_count(&table.serve.daemon, " warning ");
        cr_expect(lines > 0 && lines < 50, "%zu lines of log", lines);

        serve_set_fault(&table.serve, NULL);
        edit(&table, 201);
        expect_watched(&table, 11);
        const struct scn_digest after = caller_digest(&table.editor);
        restart(&table);
        cr_expect(is_same(caller_digest(&table.editor), after));
        expect_watched(&table, 11);
        leave(&table);
        serve_finish(&table.serve);
}

SCN_TEST_WITH(failing_disk, that_writes_half_refuses_that_edit_and_takes_the_next, .timeout = 120)
{
        struct table table = {.serve = {.port = 0}};
        serve_begin_with(&table.serve, "scened_faulty");
        enter(&table);
        edit(&table, 1);
        serve_set_fault(&table.serve, "short");
        expect_refused(&table, 2, "storage_full");
        expect_watched(&table, 1);
        edit(&table, 3);
        const struct scn_digest digest = caller_digest(&table.editor);
        restart(&table);
        cr_expect(is_same(caller_digest(&table.editor), digest));
        leave(&table);
        serve_finish(&table.serve);
}

static void expect_unknown(struct scn_slice code)
{
        cr_expect(scene_is_text(code, "outcome_unknown"), "%.*s", (int)code.size, (const char *)code.data);
}

/* Of this edit and of those behind it, as far as they had come, and then of all. */
static void expect_no_verdict(struct caller *editor, uint64_t number)
{
        struct scn_message message;
        message = caller_expect(editor, SCN_MESSAGE_refused);
        cr_expect_eq(message.as.refused.number, number);
        expect_unknown(message.as.refused.code);
        do {
                cr_assert(caller_receive(editor, &message), "it is sent away without a word");
                cr_assert(message.kind == SCN_MESSAGE_refused || message.kind == SCN_MESSAGE_failed, "%s",
                        scn_message_name(message.kind));
                expect_unknown(message.kind == SCN_MESSAGE_refused ? message.as.refused.code : message.as.failed.code);
        } while (message.kind == SCN_MESSAGE_refused);
        cr_expect_eq(message.as.failed.closes, true);
        cr_expect_not(caller_receive(editor, &message));
}

/* No verdict may be given: the document takes no more edits until it is opened again, which here is at once. */
SCN_TEST_WITH(failing_disk, whose_sync_fails_once_loses_nothing_acknowledged, .timeout = 120)
{
        struct table table = {.serve = {.port = 0}};
        struct scn_message message;
        serve_begin_with(&table.serve, "scened_faulty");
        enter(&table);
        for (uint64_t number = 1; number <= 5; number++) {
                edit(&table, number);
        }
        expect_watched(&table, 5);
        serve_set_fault(&table.serve, "sync");
        send_edit(&table, 6);
        send_edit(&table, 7);
        expect_no_verdict(&table.editor, 6);
        for (uint32_t i = 0; i < WATCHERS; i++) {
                while (caller_receive(&table.watchers[i], &message)) {
                        cr_expect_neq(message.kind, SCN_MESSAGE_delta, "told of what may be lost");
                }
        }
        leave(&table);
        open_when_closed(&table);
        enter(&table);
        caller_ask(&table.editor, SCN_MESSAGE_verify, 4);
        (void)caller_expect(&table.editor, SCN_MESSAGE_answer);
        caller_world(&table.editor, 5);
        const scn_revision revision = caller_expect(&table.editor, SCN_MESSAGE_answer).as.answer.rev;
        cr_expect(revision >= 5 && revision <= 7, "revision %llu", (unsigned long long)revision);
        const struct scn_digest digest = caller_digest(&table.editor);
        restart(&table);
        cr_expect(is_same(caller_digest(&table.editor), digest));
        leave(&table);
        serve_finish(&table.serve);
}
