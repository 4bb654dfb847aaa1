/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* usleep under -std=c11 */

/* The real daemon is told to stop while a checkpoint is half written, on a disk that is slow (CASES B71). */

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

SCN_TEST_WITH(stop, in_the_middle_of_a_checkpoint_loses_nothing_and_ends_in_time, .timeout = 120)
{
        struct serve serve;
        struct caller caller;
        serve_begin_with(&serve, "scened_faulty");
        caller_begin(&caller, serve_connect(&serve, SERVE_UNIX), 1, "ann");
        (void)caller_open(&caller, "isle");
        serve_set_fault(&serve, "slow 200");
        write_values(&caller);
        const uint64_t until_ms = scn_daemon_now_ms() + 30000;
        while (ask(&serve,
                       "SELECT count(*) FROM checkpoint_parts WHERE checkpoint NOT IN "
                       "(SELECT checkpoint FROM checkpoints)") == 0) {
                cr_assert_lt(scn_daemon_now_ms(), until_ms, "no checkpoint is made");
                (void)usleep(1000);
        }
        const struct scn_digest digest = caller_digest(&caller);
        const int64_t checkpoints = ask(&serve, "SELECT count(*) FROM checkpoints");
        const uint64_t began_ms = scn_daemon_now_ms();
        cr_expect_eq(scn_daemon_stop(&serve.daemon), 0);
        cr_expect_lt(scn_daemon_now_ms() - began_ms, STOP_MS);
        caller_end(&caller);
        cr_expect_eq(ask(&serve, "SELECT count(*) FROM checkpoints"), checkpoints, "it was not in the middle of it");
        serve_set_fault(&serve, NULL);
        serve_start(&serve);
        caller_begin(&caller, serve_connect(&serve, SERVE_UNIX), 1, "ann");
        cr_expect_geq(caller_open(&caller, "isle"), VALUES);
        const struct scn_digest after = caller_digest(&caller);
        cr_expect(after.low == digest.low && after.high == digest.high);
        caller_ask(&caller, SCN_MESSAGE_verify, 4);
        (void)caller_expect(&caller, SCN_MESSAGE_answer);
        caller_end(&caller);
        serve_finish(&serve);
}
