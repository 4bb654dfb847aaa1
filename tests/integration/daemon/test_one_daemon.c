/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* symlink, usleep under -std=c11 */

/* One data directory has one daemon, however the second one comes. */

#include "protocol/scene/digest.h"
#include "tests/lib/caller.h"
#include "tests/lib/scene.h"
#include "tests/lib/serve.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define RACES 50
/* A second is wanted. */
#define REFUSAL_MS 10000u

/* Starts a daemon with a log and a socket of its own on another's data. */
static void start_second(struct scn_daemon *second, const char *data)
{
        const char *arguments[] = {"--listen", "127.0.0.1:0", "--listen", "unix:own", "--data", data, NULL};
        scn_daemon_start(second, &(struct scn_daemon_options){.program = "scened", .arguments = arguments});
}

static void data_path(const struct serve *serve, char path_out[SERVE_ADDRESS_BYTES])
{
        (void)snprintf(path_out, SERVE_ADDRESS_BYTES, "%s/data", serve->daemon.folder);
}

/* Names, sizes and times of change of all that lies in the data directory: changes when anything does. */
static uint64_t fingerprint(const struct serve *serve)
{
        char path[SERVE_ADDRESS_BYTES];
        uint64_t sum = 0;
        data_path(serve, path);
        DIR *stream = opendir(path);
        cr_assert_not_null(stream);
        for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
                char file[SERVE_ADDRESS_BYTES + 300];
                struct stat status;
                (void)snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
                cr_assert_eq(stat(file, &status), 0);
                const uint64_t facts[] = {(uint64_t)status.st_ino, (uint64_t)status.st_size,
                        (uint64_t)status.st_mtim.tv_sec, (uint64_t)status.st_mtim.tv_nsec};
                sum += scn_digest_bytes((struct scn_slice){(const uint8_t *)facts, sizeof facts}).low;
        }
        (void)closedir(stream);
        return sum;
}

static void edit_once(const struct serve *serve, uint64_t number)
{
        struct caller caller;
        const struct scn_op op = scene_add(1, 0, "node");
        caller_begin(&caller, serve_connect(serve, SERVE_UNIX), 1, "ann");
        cr_assert_eq(caller_open(&caller, "isle"), number - 1);
        caller_edit(&caller, number, &op, 1);
        (void)caller_await(&caller, number);
        caller_end(&caller);
}

/* The second one goes away at once, naming the first, and has changed nothing. */
static void expect_turned_away(const struct serve *serve, const char *data)
{
        struct scn_daemon second;
        char holder[32];
        const uint64_t before = fingerprint(serve);
        const uint64_t begin_ms = scn_daemon_now_ms();
        scn_daemon_init(&second);
        start_second(&second, data);
        cr_expect_eq(scn_daemon_wait(&second), 1);
        cr_expect_lt(scn_daemon_now_ms() - begin_ms, REFUSAL_MS);
        (void)snprintf(holder, sizeof holder, "%d", (int)serve->daemon.process);
        cr_expect_eq(scn_daemon_log_count(&second, holder), 1, "it does not name process %s", holder);
        cr_expect_eq(scn_daemon_log_count(&second, "another process has"), 0, "it says it twice");
        cr_expect_eq(scn_daemon_log_count(&second, "listening on"), 0);
        cr_expect_eq(fingerprint(serve), before, "something has changed");
        scn_daemon_finish(&second);
}

SCN_TEST_WITH(one_daemon, has_a_data_directory_however_it_is_called_and_whatever_the_first_one_does, .timeout = 120)
{
        struct serve serve;
        char data[SERVE_ADDRESS_BYTES];
        char link[SERVE_ADDRESS_BYTES];
        serve_begin(&serve);
        data_path(&serve, data);
        (void)snprintf(link, sizeof link, "%s/link", serve.daemon.folder);
        cr_assert_eq(symlink(data, link), 0);
        edit_once(&serve, 1);
        expect_turned_away(&serve, data);
        expect_turned_away(&serve, link);
        scn_daemon_signal(&serve.daemon, SIGSTOP);
        expect_turned_away(&serve, data);
        scn_daemon_signal(&serve.daemon, SIGCONT);
        edit_once(&serve, 2);

        /* After a kill the next one starts without help, wherever it comes from. */
        serve_kill(&serve);
        struct scn_daemon second;
        scn_daemon_init(&second);
        start_second(&second, link);
        (void)scn_daemon_port(&second);
        cr_expect_eq(scn_daemon_stop(&second), 0);
        scn_daemon_finish(&second);
        serve_start(&serve);
        edit_once(&serve, 3);
        serve_finish(&serve);
}

/* Until one of the two has ended; gives the other. */
static struct scn_daemon *await_one(struct scn_daemon *a, struct scn_daemon *b)
{
        const uint64_t until_ms = scn_daemon_now_ms() + REFUSAL_MS;
        for (;;) {
                siginfo_t info = {.si_pid = 0};
                cr_assert_eq(waitid(P_PID, (id_t)a->process, &info, WEXITED | WNOHANG | WNOWAIT), 0);
                if (info.si_pid == 0) {
                        cr_assert_eq(waitid(P_PID, (id_t)b->process, &info, WEXITED | WNOHANG | WNOWAIT), 0);
                }
                if (info.si_pid != 0) {
                        return info.si_pid == a->process ? b : a;
                }
                cr_assert_lt(scn_daemon_now_ms(), until_ms, "both stay");
                (void)usleep(1000);
        }
}

SCN_TEST_WITH(one_daemon, is_left_of_two_that_start_at_the_same_instant, .timeout = 120)
{
        for (int race = 0; race < RACES; race++) {
                struct scn_daemon two[2];
                char data[SCN_DAEMON_PATH_BYTES + 8];
                scn_daemon_init(&two[0]);
                scn_daemon_init(&two[1]);
                (void)snprintf(data, sizeof data, "%s/data", two[0].folder);
                start_second(&two[0], data);
                start_second(&two[1], data);
                struct scn_daemon *left = await_one(&two[0], &two[1]);
                struct scn_daemon *other = left == &two[0] ? &two[1] : &two[0];
                cr_assert_eq(scn_daemon_wait(other), 1);
                cr_assert_eq(scn_daemon_log_count(other, "listening on"), 0);
                (void)scn_daemon_port(left);
                cr_assert_eq(scn_daemon_stop(left), 0);
                scn_daemon_finish(&two[1]);
                scn_daemon_finish(&two[0]);
        }
}
