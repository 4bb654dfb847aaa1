/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* usleep under -std=c11 */

/* The real daemon with a fold age of seconds: what was dragged becomes short while somebody goes on editing, and
 * scenectl is told the same of all that is left, and why of what is not. */

#include "protocol/base/alloc.h"
#include "tests/lib/caller.h"
#include "tests/lib/daemon.h"
#include "tests/lib/scene.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define GESTURES 50u
#define EDITS 80u /* of a gesture: together more than a checkpoint and three windows of folding */
#define LONG_MS 60000u

static int64_t ask(const struct scn_daemon *daemon, const char *sql)
{
        char path[SCN_DAEMON_PATH_BYTES + 32];
        (void)snprintf(path, sizeof path, "%s/data/island.scene", daemon->folder);
        return scn_test_sql(path, sql);
}

/* Goes on editing, and says what the longest wait for an answer was. */
static uint64_t edit_until_folded(const struct scn_daemon *daemon, struct caller *caller)
{
        const uint64_t start_ms = scn_daemon_now_ms();
        uint64_t longest_ms = 0;
        uint64_t number = (uint64_t)GESTURES * EDITS;
        while (ask(daemon, "SELECT count(*) FROM transactions WHERE rev <= 3072") > 100) {
                const struct scn_op op = scene_rename(1, number % 2 == 0 ? "even" : "odd");
                const uint64_t began_ms = scn_daemon_now_ms();
                cr_assert_lt(began_ms - start_ms, LONG_MS, "nothing is folded");
                caller_edit(caller, ++number, &op, 1);
                (void)caller_await(caller, number);
                const uint64_t took_ms = scn_daemon_now_ms() - began_ms;
                longest_ms = took_ms > longest_ms ? took_ms : longest_ms;
                (void)usleep(2000);
        }
        return longest_ms;
}

/* Exit code; what it printed is in the tool's log. */
static int scenectl(struct scn_daemon *tool, uint16_t port, const char *command, const char *option, const char *value)
{
        char server[32];
        (void)snprintf(server, sizeof server, "127.0.0.1:%u", port);
        const char *arguments[] = {"--server", server, "--as", "ann", command, "island", option, value, NULL};
        return scn_daemon_run(tool, &(struct scn_daemon_options){.program = "scenectl", .arguments = arguments});
}

static void expect_said(const struct scn_daemon *tool, const char *text)
{
        char *log = scn_daemon_log(tool);
        cr_assert_not_null(strstr(log, text), "%s is not in: %s", text, log);
        scn_free(log);
}

SCN_TEST_WITH(daemon, folds_what_is_old_beside_the_edits_and_says_so, .timeout = 300)
{
        static const char *const arguments[] = {
                "--listen", "127.0.0.1:0", "--data", "data", "--fold-days", "0.00003", NULL};
        struct scn_daemon daemon;
        struct scn_daemon tool;
        struct caller caller;
        scn_daemon_init(&daemon);
        scn_daemon_init(&tool);
        scn_daemon_start(&daemon, &(struct scn_daemon_options){.program = "scened", .arguments = arguments});
        scn_daemon_wait_for_log(&daemon, "listening on");
        const uint16_t port = scn_daemon_port(&daemon);
        caller_begin(&caller, scn_daemon_connect(port), 11, "ann");
        (void)caller_open(&caller, "island");
        caller_drag(&caller, GESTURES, EDITS);
        cr_assert_lt(edit_until_folded(&daemon, &caller), 2000);
        const struct scn_digest digest = caller_digest(&caller);
        caller_end(&caller);
        /* Each gesture that lies in a window is its last transaction; one across two is one in each. */
        cr_assert_eq(ask(&daemon, "SELECT count(*) FROM transactions WHERE rev <= 1024"), 1024 / EDITS + 1);
        cr_assert_eq(scenectl(&tool, port, "verify", NULL, NULL), 0);
        cr_assert_eq(scenectl(&tool, port, "digest", "--at", "800"), 0);
        cr_assert_eq(scenectl(&tool, port, "digest", "--at", "801"), 1);
        expect_said(&tool, "folded");
        cr_assert_eq(scenectl(&tool, port, "log", "--to", "900"), 0);
        expect_said(&tool, "880  ");
        cr_assert_eq(scenectl(&tool, port, "undo", NULL, NULL), 0);
        cr_assert_eq(scenectl(&tool, port, "redo", NULL, NULL), 0);
        /* Killed and started again: the same, and it goes on. */
        scn_daemon_signal(&daemon, SIGKILL);
        cr_assert_eq(scn_daemon_wait(&daemon), 128 + SIGKILL);
        const size_t before = scn_daemon_log_count(&daemon, "listening on");
        scn_daemon_start(&daemon, &(struct scn_daemon_options){.program = "scened", .arguments = arguments});
        while (scn_daemon_log_count(&daemon, "listening on") == before) {
                (void)usleep(5000);
        }
        caller_begin(&caller, scn_daemon_connect(scn_daemon_port(&daemon)), 12, "ben");
        (void)caller_open(&caller, "island");
        const struct scn_digest again = caller_digest(&caller);
        cr_assert(digest.low == again.low && digest.high == again.high);
        caller_end(&caller);
        cr_assert_eq(scenectl(&tool, scn_daemon_port(&daemon), "verify", NULL, NULL), 0);
        cr_assert_eq(scn_daemon_stop(&daemon), 0);
        scn_daemon_finish(&daemon);
        scn_daemon_finish(&tool);
}
