/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* usleep, the socket calls under -std=c11 */

#include "tests/lib/daemon.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define AT_ONCE_MS 1800u /* some milliseconds; a peer that does not close would be waited for for two seconds */

struct fixture {
        struct scn_daemon daemon;
        uint16_t port;
        char path[SCN_DAEMON_PATH_BYTES + 8];
};

static void start(struct fixture *fixture)
{
        const char *arguments[] = {"--listen", "127.0.0.1:0", "--listen", "unix:socket", NULL};

        scn_daemon_init(&fixture->daemon);
        scn_daemon_start(
                &fixture->daemon, &(struct scn_daemon_options){.program = "scened_echo", .arguments = arguments});
        fixture->port = scn_daemon_port(&fixture->daemon);
        (void)snprintf(fixture->path, sizeof fixture->path, "%s/socket", fixture->daemon.folder);
        scn_daemon_wait_for_log(&fixture->daemon, "listening on unix:socket");
}

static void expect_echo(int peer, const char *text)
{
        char echoed[64];

        scn_daemon_receive(peer, echoed, strlen(text));
        cr_assert_eq(memcmp(echoed, text, strlen(text)), 0);
}

SCN_TEST(stop, ends_an_idle_daemon_at_once)
{
        static const int numbers[] = {SIGTERM, SIGINT};
        for (size_t i = 0; i < 2; i++) {
                struct fixture fixture;
                start(&fixture);
                uint64_t start_ms = scn_daemon_now_ms();
                scn_daemon_signal(&fixture.daemon, numbers[i]);
                cr_assert_eq(scn_daemon_wait(&fixture.daemon), 0);
                cr_assert_lt(scn_daemon_now_ms() - start_ms, AT_ONCE_MS);
                scn_daemon_finish(&fixture.daemon);
        }
}

SCN_TEST(stop, answers_what_is_under_way_and_says_goodbye)
{
        struct fixture fixture;
        start(&fixture);
        int busy = scn_daemon_connect(fixture.port);
        int idle = scn_daemon_connect_unix(fixture.path);
        scn_daemon_send(busy, "hello\xffJ", 7);
        expect_echo(busy, "hello");
        scn_daemon_signal(&fixture.daemon, SIGTERM);
        scn_daemon_expect_end(idle);
        expect_echo(busy, "job\n");
        scn_daemon_expect_end(busy);
        (void)close(busy);
        (void)close(idle);
        cr_assert_eq(scn_daemon_wait(&fixture.daemon), 0);
        scn_daemon_finish(&fixture.daemon);
}

SCN_TEST(stop, listens_no_more_from_the_signal_on)
{
        struct fixture fixture;
        start(&fixture);
        int busy = scn_daemon_connect_unix(fixture.path);
        scn_daemon_send(busy, "\xffJ!", 3);
        expect_echo(busy, "!");
        scn_daemon_signal(&fixture.daemon, SIGTERM);
        scn_daemon_wait_for_log(&fixture.daemon, "stopping");
        (void)usleep(50000);
        cr_assert_lt(scn_daemon_try_connect_unix(fixture.path), 0);
        cr_assert_eq(scn_daemon_try_connect(fixture.port), -ECONNREFUSED);
        cr_assert_eq(access(fixture.path, F_OK), -1);
        expect_echo(busy, "job\n");
        (void)close(busy);
        cr_assert_eq(scn_daemon_wait(&fixture.daemon), 0);
        scn_daemon_finish(&fixture.daemon);
}

/* Peers of every awkward kind: none reads, and none closes. */
SCN_TEST(stop, takes_less_than_ten_seconds_whatever_peers_do)
{
        struct fixture fixture;
        start(&fixture);
        size_t size = 32u << 20;
        uint8_t *bytes = scn_alloc_zero(1, size);
        int peers[4] = {
                scn_daemon_connect(fixture.port),
                scn_daemon_connect_unix(fixture.path),
                scn_daemon_connect(fixture.port),
                scn_daemon_connect_unix(fixture.path),
        };
        cr_assert_lt(scn_daemon_send_until_stuck(peers[0], bytes, size, 300), size);
        cr_assert_lt(scn_daemon_send_until_stuck(peers[1], bytes, size, 300), size);
        scn_daemon_send(peers[2], "silent", 6);

        uint64_t start_ms = scn_daemon_now_ms();
        scn_daemon_signal(&fixture.daemon, SIGTERM);
        (void)usleep(50000);
        scn_daemon_signal(&fixture.daemon, SIGTERM);
        scn_daemon_signal(&fixture.daemon, SIGINT);
        cr_assert_eq(scn_daemon_wait(&fixture.daemon), 0);
        cr_assert_lt(scn_daemon_now_ms() - start_ms, 10000);
        cr_assert_eq(scn_daemon_log_count(&fixture.daemon, "stopping"), 1);
        for (size_t i = 0; i < 4; i++)
                (void)close(peers[i]);
        scn_free(bytes);
        scn_daemon_finish(&fixture.daemon);
}

/* The other way round: peers that read give a daemon no reason to wait. */
SCN_TEST(stop, does_not_wait_for_peers_that_close_when_told)
{
        struct fixture fixture;
        start(&fixture);
        int peer = scn_daemon_connect(fixture.port);
        scn_daemon_send(peer, "hello", 5);
        expect_echo(peer, "hello");
        /* One that closed its sending side beforehand has nothing more to close. */
        int quiet = scn_daemon_connect(fixture.port);
        scn_daemon_send(quiet, "\xffJ!", 3);
        expect_echo(quiet, "!");
        cr_assert_eq(shutdown(quiet, SHUT_WR), 0);
        (void)usleep(50000);
        scn_daemon_signal(&fixture.daemon, SIGTERM);
        scn_daemon_expect_end(peer);
        (void)close(peer);
        expect_echo(quiet, "job\n");
        scn_daemon_expect_end(quiet);
        uint64_t start_ms = scn_daemon_now_ms();
        cr_assert_eq(scn_daemon_wait(&fixture.daemon), 0);
        cr_assert_lt(scn_daemon_now_ms() - start_ms, AT_ONCE_MS);
        (void)close(quiet);
        scn_daemon_finish(&fixture.daemon);
}

SCN_TEST(stop, is_not_what_other_signals_mean)
{
        struct fixture fixture;
        start(&fixture);
        scn_daemon_signal(&fixture.daemon, SIGHUP);
        scn_daemon_signal(&fixture.daemon, SIGPIPE);
        (void)usleep(50000);
        int peer = scn_daemon_connect(fixture.port);
        scn_daemon_send(peer, "still here", 10);
        expect_echo(peer, "still here");
        (void)close(peer);
        cr_assert_eq(scn_daemon_stop(&fixture.daemon), 0);
        scn_daemon_finish(&fixture.daemon);
}

/* Nothing that was begun is given up: what the disk has been handed may be acknowledged by the next daemon only if
 * this one has let go of it. */
SCN_TEST(stop, waits_for_the_storage_and_says_so)
{
        struct fixture fixture;
        start(&fixture);
        int peer = scn_daemon_connect(fixture.port);
        scn_daemon_send(peer, "\xffK!", 3);
        expect_echo(peer, "!");
        /* Reset, so that there is no connection to wait for. */
        (void)setsockopt(peer, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
        (void)close(peer);
        uint64_t start_ms = scn_daemon_now_ms();
        cr_assert_eq(scn_daemon_stop(&fixture.daemon), 0);
        cr_assert_gt(scn_daemon_now_ms() - start_ms, 7500);
        cr_assert_eq(scn_daemon_log_count(&fixture.daemon, "warning stop: the storage is not done yet"), 1);
        scn_daemon_finish(&fixture.daemon);
}
