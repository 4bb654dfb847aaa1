/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* usleep under -std=c11 */

/* The real daemon is told to stop while a checkpoint is half written, or history half folded, on a disk that is slow
 * (CASES B71). */

#include "tests/lib/caller.h"
#include "tests/lib/scene.h"
#include "tests/lib/serve.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define VALUES 20u
#define VALUE_BYTES 60000u
#define STOP_MS 10000u
#define GESTURES 50u
#define EDITS 80u /* of a gesture: together more than a checkpoint and three windows of folding */

static int64_t ask(const struct serve *serve, const char *sql)
{
        char path[SCN_DAEMON_PATH_BYTES + 32];
        (void)snprintf(path, sizeof path, "%s/data/isle.scene", serve->daemon.folder);
        return scn_test_sql(path, sql);
}

/* More than a checkpoint is due for, and more than one part of it. */
static void write_values(struct caller *caller)
{
        static char bytes[VALUE_BYTES + 8];
        struct scn_buffer value;
        scn_buffer_init(&value, sizeof bytes);
        struct scn_packer packer = scn_packer_to(&value);
        memset(bytes, 'x', VALUE_BYTES);
        scn_pack_text(&packer, (struct scn_slice){(const uint8_t *)bytes, VALUE_BYTES});
        for (uint64_t number = 1; number <= VALUES; number++) {
                char key[16];
                (void)snprintf(key, sizeof key, "k%u", (unsigned)number);
                const struct scn_op op = scene_set(1, key, (struct scn_slice){value.data, (uint32_t)value.size});
                caller_edit(caller, number, &op, 1);
                (void)caller_await(caller, number);
        }
        scn_buffer_finish(&value);
}

/* Until no more than so many transactions are left of what can be folded. */
static void wait_for_fold(const struct serve *serve, int64_t left)
{
        const uint64_t until_ms = scn_daemon_now_ms() + 60000;
        while (ask(serve, "SELECT count(*) FROM transactions WHERE rev <= 3072") > left) {
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
        /* Now it is old enough, and each window takes a while. */
        serve_set_fault(&serve, "slow 300");
        serve.fold_days = "0.00003";
        serve_start(&serve);
        caller_begin(&caller, serve_connect(&serve, SERVE_UNIX), 1, "ann");
        (void)caller_open(&caller, "isle");
        wait_for_fold(&serve, 3072 - 1000);
        const uint64_t began_ms = scn_daemon_now_ms();
        cr_expect_eq(scn_daemon_stop(&serve.daemon), 0);
        cr_expect_lt(scn_daemon_now_ms() - began_ms, STOP_MS);
        caller_end(&caller);
        cr_expect_gt(
                ask(&serve, "SELECT count(*) FROM transactions WHERE rev <= 3072"), 1000, "it had all been folded");
        serve_set_fault(&serve, NULL);
        serve_start(&serve);
        expect_all(&serve, (uint64_t)GESTURES * EDITS, &digest);
        caller_begin(&caller, serve_connect(&serve, SERVE_UNIX), 1, "ann");
        (void)caller_open(&caller, "isle");
        wait_for_fold(&serve, 100);
        caller_end(&caller);
        expect_all(&serve, (uint64_t)GESTURES * EDITS, &digest);
        serve_finish(&serve);
}

SCN_TEST_WITH(stop, in_the_middle_of_a_checkpoint_loses_nothing_and_ends_in_time, .timeout = 120)
{
        struct serve serve;
        struct caller caller;
        serve_begin_with(&serve, "scened_faulty");
        caller_begin(&caller, serve_connect(&serve, SERVE_UNIX), 1, "ann");
        (void)caller_open(&caller, "isle");
        serve_set_fault(&serve, "slow 200");
        write_values(&caller);
        const struct scn_digest digest = caller_digest(&caller);
        const uint64_t until_ms = scn_daemon_now_ms() + 30000;
        while (ask(&serve,
                       "SELECT count(*) FROM checkpoint_parts WHERE checkpoint NOT IN "
                       "(SELECT checkpoint FROM checkpoints)") == 0) {
                cr_assert_lt(scn_daemon_now_ms(), until_ms, "no checkpoint is made");
                (void)usleep(1000);
        }
        const int64_t checkpoints = ask(&serve, "SELECT count(*) FROM checkpoints");
        const uint64_t began_ms = scn_daemon_now_ms();
        cr_expect_eq(scn_daemon_stop(&serve.daemon), 0);
        cr_expect_lt(scn_daemon_now_ms() - began_ms, STOP_MS);
        caller_end(&caller);
        cr_expect_eq(ask(&serve, "SELECT count(*) FROM checkpoints"), checkpoints, "it was not in the middle of it");
        serve_set_fault(&serve, NULL);
        serve_start(&serve);
        expect_all(&serve, VALUES, &digest);
        serve_finish(&serve);
}
