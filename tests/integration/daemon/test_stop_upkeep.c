/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* usleep under -std=c11 */

/* The real daemon is told to stop while a checkpoint is half written, or history half folded
 * (CASES B71). */

#include "server/checkpoint.h"
#include "tests/lib/caller.h"
#include "tests/lib/scene.h"
#include "tests/lib/serve.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define VALUE_BYTES 60000u
#define VALUES (SCN_CHECKPOINT_DUE_BYTES / VALUE_BYTES + 1) /* with the last one a checkpoint is due */
#define STOP_MS 10000u
#define GESTURES 50u
#define EDITS 80u     /* of a gesture: together more than a checkpoint and three windows of folding */
#define FOLDABLE 3072 /* the windows that are whole */
#define FOLDABLE_LEFT "SELECT count(*) FROM transactions WHERE rev <= 3072"
#define WINDOW 1024

static int64_t ask(const struct serve *serve, const char *sql)
{
        char path[SCN_DAEMON_PATH_BYTES + 32];
        (void)snprintf(path, sizeof path, "%s/data/isle.scene", serve->daemon.folder);
        return scn_test_sql(path, sql);
}

/* Lets the daemon write step by step until the question has that answer, or one below: so it cannot get beyond, however
 * late this is to look. It is held there. */
static void hold_at(const struct serve *serve, const char *sql, int64_t answer)
{
        const uint64_t until_ms = scn_daemon_now_ms() + 60000;
        char go[SERVE_ADDRESS_BYTES];
        (void)snprintf(go, sizeof go, "%s/go", serve->daemon.folder);
        while (ask(serve, sql) > answer) {
                cr_assert_lt(scn_daemon_now_ms(), until_ms, "it does not get there");
                FILE *file = fopen(go, "we");
                cr_assert_not_null(file);
                cr_assert_eq(fclose(file), 0);
                (void)usleep(200);
        }
        (void)remove(go);
}

/* It is told to stop while it is held, and goes on when it knows. */
static void stop_held(struct serve *serve, struct caller *caller)
{
        scn_daemon_signal(&serve->daemon, SIGTERM);
        const struct scn_message message = caller_expect(caller, SCN_MESSAGE_failed);
        cr_expect_eq(message.as.failed.code.size, strlen("stopping"));
        serve_set_fault(serve, NULL);
        const uint64_t began_ms = scn_daemon_now_ms();
        cr_expect_eq(scn_daemon_wait(&serve->daemon), 0);
        cr_expect_lt(scn_daemon_now_ms() - began_ms, STOP_MS);
        caller_end(caller);
}

static void wait_for_fold(const struct serve *serve)
{
        const uint64_t until_ms = scn_daemon_now_ms() + 60000;
        while (ask(serve, FOLDABLE_LEFT) > 100) {
                cr_assert_lt(scn_daemon_now_ms(), until_ms, "nothing is folded");
                (void)usleep(1000);
        }
}

/* All that was edited is there, and the history leads to it. */
static void expect_all(const struct serve *serve, uint64_t edits, const struct scn_digest *digest)
{
        struct caller caller;
        caller_begin(&caller, serve_connect(serve, SERVE_UNIX), 1, "ann");
        cr_expect_eq(caller_open(&caller, "isle"), edits);
        const struct scn_digest after = caller_digest(&caller);
        cr_expect(after.low == digest->low && after.high == digest->high);
        caller_ask(&caller, SCN_MESSAGE_verify, 4);
        (void)caller_expect(&caller, SCN_MESSAGE_answer);
        caller_end(&caller);
}

SCN_TEST_WITH(stop, in_the_middle_of_a_fold_loses_nothing_and_ends_in_time, .timeout = 240)
{
        struct serve serve;
        struct caller caller;
        serve_begin_with(&serve, "scened_faulty");
        caller_begin(&caller, serve_connect(&serve, SERVE_UNIX), 1, "ann");
        (void)caller_open(&caller, "isle");
        caller_drag(&caller, GESTURES, EDITS);
        const struct scn_digest digest = caller_digest(&caller);
        caller_end(&caller);
        cr_assert_eq(scn_daemon_stop(&serve.daemon), 0);
        cr_assert_eq(ask(&serve, "SELECT count(*) FROM transactions"), GESTURES * EDITS);
        /* Now it is old enough. */
        serve.fold_days = "0.00003";
        serve_start(&serve);
        serve_set_fault(&serve, "step");
        caller_begin(&caller, serve_connect(&serve, SERVE_UNIX), 1, "ann");
        caller_ask_open(&caller, "isle"); /* which writes, too */
        hold_at(&serve, FOLDABLE_LEFT, FOLDABLE - WINDOW / 2);
        (void)caller_expect(&caller, SCN_MESSAGE_opened);
        cr_expect_gt(ask(&serve, FOLDABLE_LEFT), FOLDABLE - 2 * WINDOW, "it is beyond the first window");
        stop_held(&serve, &caller);
        cr_expect_gt(ask(&serve, FOLDABLE_LEFT), WINDOW / 2, "it has all been folded");
        serve_start(&serve);
        expect_all(&serve, (uint64_t)GESTURES * EDITS, &digest);
        caller_begin(&caller, serve_connect(&serve, SERVE_UNIX), 1, "ann");
        (void)caller_open(&caller, "isle");
        wait_for_fold(&serve);
        caller_end(&caller);
        expect_all(&serve, (uint64_t)GESTURES * EDITS, &digest);
        serve_finish(&serve);
}

static void write_value(struct caller *caller, uint64_t number)
{
        static char bytes[VALUE_BYTES];
        char key[16];
        struct scn_buffer value;
        scn_buffer_init(&value, sizeof bytes + 8);
        struct scn_packer packer = scn_packer_to(&value);
        memset(bytes, 'x', sizeof bytes);
        scn_pack_text(&packer, (struct scn_slice){(const uint8_t *)bytes, sizeof bytes});
        (void)snprintf(key, sizeof key, "k%u", (unsigned)number);
        const struct scn_op op = scene_set(1, key, (struct scn_slice){value.data, (uint32_t)value.size});
        caller_edit(caller, number, &op, 1);
        scn_buffer_finish(&value);
}

#define UNFINISHED "SELECT count(*) FROM checkpoint_parts WHERE checkpoint NOT IN (SELECT checkpoint FROM checkpoints)"

SCN_TEST_WITH(stop, in_the_middle_of_a_checkpoint_loses_nothing_and_ends_in_time, .timeout = 120)
{
        struct serve serve;
        struct caller caller;
        serve_begin_with(&serve, "scened_faulty");
        caller_begin(&caller, serve_connect(&serve, SERVE_UNIX), 1, "ann");
        (void)caller_open(&caller, "isle");
        for (uint64_t number = 1; number < VALUES; number++) {
                write_value(&caller, number);
                (void)caller_await(&caller, number);
        }
        const int64_t checkpoints = ask(&serve, "SELECT count(*) FROM checkpoints");
        serve_set_fault(&serve, "step");
        write_value(&caller, VALUES);
        hold_at(&serve, "SELECT -(" UNFINISHED ")", -1);
        (void)caller_await(&caller, VALUES);
        const struct scn_digest digest = caller_digest(&caller);
        stop_held(&serve, &caller);
        cr_expect_eq(ask(&serve, "SELECT count(*) FROM checkpoints"), checkpoints, "it was made to its end");
        serve_start(&serve);
        expect_all(&serve, VALUES, &digest);
        serve_finish(&serve);
}
