/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* usleep, the socket calls under -std=c11 */

#include "tests/lib/daemon.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define PATH_BYTES (SCN_DAEMON_PATH_BYTES + 16)

static const char *const arguments[] = {"--listen", "unix:socket", NULL};

static struct scn_daemon_options options_with_mask(unsigned mask)
{
        return (struct scn_daemon_options){.program = "scened_echo", .arguments = arguments, .mask = mask};
}

static void path_of(const struct scn_daemon *daemon, char path[PATH_BYTES])
{
        (void)snprintf(path, PATH_BYTES, "%s/socket", daemon->folder);
}

static void start(struct scn_daemon *daemon)
{
        struct scn_daemon_options options = options_with_mask(022);
        size_t before = scn_daemon_log_count(daemon, "listening on unix:socket");

        scn_daemon_start(daemon, &options);
        while (scn_daemon_log_count(daemon, "listening on unix:socket") == before)
                (void)usleep(1000);
}

static void expect_echo(const char *path)
{
        char echoed[5];
        int peer = scn_daemon_connect_unix(path);

        scn_daemon_send(peer, "hello", 5);
        scn_daemon_receive(peer, echoed, 5);
        cr_assert_eq(memcmp(echoed, "hello", 5), 0);
        (void)close(peer);
}

static ino_t inode_of(const char *path)
{
        struct stat found;

        cr_assert_eq(lstat(path, &found), 0, "%s: %s", path, strerror(errno));
        return found.st_ino;
}

SCN_TEST(unix_socket, is_closed_to_others_whatever_the_mask)
{
        static const unsigned masks[] = {0, 022, 077, 0777};
        struct scn_daemon daemon;
        char path[PATH_BYTES];
        scn_daemon_init(&daemon);
        path_of(&daemon, path);
        for (size_t i = 0; i < 4; i++) {
                struct scn_daemon_options options = options_with_mask(masks[i]);
                struct stat found = {0};
                scn_daemon_start(&daemon, &options);
                /* Looked at from the first moment. */
                uint64_t until_ms = scn_daemon_now_ms() + SCN_DAEMON_WAIT_MS;
                while (lstat(path, &found) != 0)
                        cr_assert_lt(scn_daemon_now_ms(), until_ms);
                cr_assert_eq(found.st_mode & 0777, 0600, "mask %o: mode %o", masks[i], (unsigned)found.st_mode);
                int peer;
                while ((peer = scn_daemon_try_connect_unix(path)) == -ECONNREFUSED)
                        cr_assert_lt(scn_daemon_now_ms(), until_ms);
                cr_assert_geq(peer, 0);
                (void)close(peer);
                cr_assert_eq(scn_daemon_stop(&daemon), 0);
        }
        scn_daemon_finish(&daemon);
}

SCN_TEST(unix_socket, leaves_the_mask_as_it_was)
{
        struct scn_daemon daemon;
        char path[64];
        scn_daemon_init(&daemon);
        start(&daemon);
        (void)snprintf(path, sizeof path, "/proc/%d/status", (int)daemon.process);
        FILE *file = fopen(path, "re");
        char line[256];
        unsigned mask = 0;
        while (fgets(line, sizeof line, file) != NULL && sscanf(line, "Umask: %o", &mask) != 1) {
        }
        (void)fclose(file);
        cr_assert_eq(mask, 022);
        cr_assert_eq(scn_daemon_stop(&daemon), 0);
        scn_daemon_finish(&daemon);
}

SCN_TEST(unix_socket, is_removed_when_the_daemon_stops)
{
        struct scn_daemon daemon;
        char path[PATH_BYTES];
        scn_daemon_init(&daemon);
        path_of(&daemon, path);
        start(&daemon);
        expect_echo(path);
        cr_assert_eq(scn_daemon_stop(&daemon), 0);
        cr_assert_eq(access(path, F_OK), -1);
        scn_daemon_finish(&daemon);
}

SCN_TEST(unix_socket, of_a_daemon_that_died_is_replaced)
{
        struct scn_daemon daemon;
        char path[PATH_BYTES];
        scn_daemon_init(&daemon);
        path_of(&daemon, path);
        start(&daemon);
        scn_daemon_signal(&daemon, SIGKILL);
        cr_assert_eq(scn_daemon_wait(&daemon), 128 + SIGKILL);
        cr_assert_eq(access(path, F_OK), 0);

        start(&daemon);
        expect_echo(path);
        cr_assert_eq(scn_daemon_stop(&daemon), 0);
        cr_assert_eq(access(path, F_OK), -1);
        scn_daemon_finish(&daemon);
}

/* A second daemon beside a first; in the same folder, as a process of its own. */
static int run_second(const struct scn_daemon *first)
{
        struct scn_daemon second = *first;
        struct scn_daemon_options options = options_with_mask(022);

        second.process = 0;
        return scn_daemon_run(&second, &options);
}

SCN_TEST(unix_socket, of_a_living_daemon_is_left_alone)
{
        struct scn_daemon daemon;
        char path[PATH_BYTES];
        scn_daemon_init(&daemon);
        path_of(&daemon, path);
        start(&daemon);
        ino_t inode = inode_of(path);

        cr_assert_eq(run_second(&daemon), 1);
        cr_assert_eq(scn_daemon_log_count(&daemon, "--listen unix:socket: another program listens there"), 1);
        cr_assert_eq(inode_of(path), inode);
        expect_echo(path);

        /* Nor when it does not answer. */
        scn_daemon_signal(&daemon, SIGSTOP);
        cr_assert_eq(run_second(&daemon), 1);
        scn_daemon_signal(&daemon, SIGCONT);
        cr_assert_eq(inode_of(path), inode);
        expect_echo(path);
        cr_assert_eq(scn_daemon_stop(&daemon), 0);
        scn_daemon_finish(&daemon);
}

SCN_TEST(unix_socket, belongs_to_one_of_two_that_start_over_a_dead_one_at_once)
{
        struct scn_daemon daemon;
        char path[PATH_BYTES];
        scn_daemon_init(&daemon);
        path_of(&daemon, path);
        for (int i = 0; i < 10; i++) {
                struct scn_daemon others[3];
                struct scn_daemon_options options = options_with_mask(022);
                start(&daemon);
                scn_daemon_signal(&daemon, SIGKILL);
                (void)scn_daemon_wait(&daemon);

                size_t before = scn_daemon_log_count(&daemon, "listening on");
                size_t refused = scn_daemon_log_count(&daemon, "another program listens there");
                for (int k = 0; k < 3; k++) {
                        others[k] = daemon;
                        scn_daemon_start(&others[k], &options);
                }
                while (scn_daemon_log_count(&daemon, "listening on") +
                                scn_daemon_log_count(&daemon, "another program") <
                        before + refused + 3)
                        (void)usleep(1000);
                cr_assert_eq(scn_daemon_log_count(&daemon, "listening on"), before + 1);
                expect_echo(path);
                for (int k = 0; k < 3; k++) {
                        (void)kill(others[k].process, SIGTERM);
                        (void)scn_daemon_wait(&others[k]);
                }
                cr_assert_eq(access(path, F_OK), -1);
        }
        scn_daemon_finish(&daemon);
}

SCN_TEST(unix_socket, does_not_take_the_place_of_another_file)
{
        struct scn_daemon daemon;
        char path[PATH_BYTES];
        scn_daemon_init(&daemon);
        path_of(&daemon, path);
        int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        cr_assert_eq(write(file, "precious", 8), 8);
        (void)close(file);

        cr_assert_eq(run_second(&daemon), 1);
        cr_assert_eq(scn_daemon_log_count(&daemon, "--listen unix:socket: there is something else than a socket"), 1);
        struct stat found;
        cr_assert_eq(lstat(path, &found), 0);
        cr_assert_eq(found.st_size, 8);
        scn_daemon_finish(&daemon);
}

SCN_TEST(unix_socket, of_a_successor_is_not_removed)
{
        struct scn_daemon daemon;
        char path[PATH_BYTES];
        scn_daemon_init(&daemon);
        path_of(&daemon, path);
        start(&daemon);
        cr_assert_eq(unlink(path), 0);
        struct scn_daemon second = daemon;
        second.process = 0;
        start(&second);
        cr_assert_eq(scn_daemon_stop(&daemon), 0);
        expect_echo(path);
        cr_assert_eq(scn_daemon_stop(&second), 0);
        cr_assert_eq(access(path, F_OK), -1);
        scn_daemon_finish(&daemon);
}

SCN_TEST(unix_socket, makes_no_folder)
{
        struct scn_daemon daemon;
        const char *const deep[] = {"--listen", "unix:no/such/socket", NULL};
        scn_daemon_init(&daemon);
        cr_assert_eq(
                scn_daemon_run(&daemon, &(struct scn_daemon_options){.program = "scened_echo", .arguments = deep}), 1);
        cr_assert_eq(scn_daemon_log_count(&daemon, "--listen unix:no/such/socket: No such file or directory"), 1);
        scn_daemon_finish(&daemon);
}

/* The lock keeps two that start at once apart; that nobody can abuse it, the wait has an end. */
SCN_TEST(unix_socket, waits_for_somebody_who_has_its_folder_locked_but_not_for_ever)
{
        struct scn_daemon daemon;
        struct scn_daemon_options options = options_with_mask(022);
        char path[PATH_BYTES];
        scn_daemon_init(&daemon);
        path_of(&daemon, path);
        int folder = open(daemon.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        cr_assert_eq(flock(folder, LOCK_EX), 0);
        scn_daemon_start(&daemon, &options);
        (void)usleep(600000);
        cr_assert_eq(access(path, F_OK), -1);
        scn_daemon_wait_for_log(&daemon, "listening on unix:socket");
        expect_echo(path);
        cr_assert_eq(scn_daemon_stop(&daemon), 0);
        (void)close(folder);
        scn_daemon_finish(&daemon);
}

/* What an attempt that fails leaves behind: everything as it was. */
SCN_TEST(unix_socket, is_not_touched_by_a_daemon_that_cannot_have_its_data)
{
        static const char *const taken[] = {"--data", "taken", "--listen", "unix:socket", NULL};
        struct scn_daemon daemon;
        char path[PATH_BYTES];
        scn_daemon_init(&daemon);
        path_of(&daemon, path);
        start(&daemon);
        scn_daemon_signal(&daemon, SIGKILL);
        (void)scn_daemon_wait(&daemon);
        ino_t inode = inode_of(path);
        cr_assert_eq(
                scn_daemon_run(&daemon, &(struct scn_daemon_options){.program = "scened_echo", .arguments = taken}), 1);
        cr_assert_eq(inode_of(path), inode);
        scn_daemon_finish(&daemon);
}
