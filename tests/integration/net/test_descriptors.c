/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* usleep, the socket calls under -std=c11 */

#include "tests/lib/daemon.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PEERS 100
#define TURNED_AWAY "turned away"

static void start(struct scn_daemon *daemon, unsigned descriptors_max)
{
        const char *arguments[] = {"--listen", "127.0.0.1:0", NULL};

        scn_daemon_init(daemon);
        scn_daemon_start(daemon,
                &(struct scn_daemon_options){
                        .program = "scened_echo",
                        .arguments = arguments,
                        .descriptors_max = descriptors_max,
                });
}

static void expect_echo(int peer)
{
        char echoed[5];

        scn_daemon_send(peer, "hello", 5);
        scn_daemon_receive(peer, echoed, 5);
        cr_assert_eq(memcmp(echoed, "hello", 5), 0);
}

/* True if the connection is served; false if it was closed. */
static bool is_served(int peer)
{
        char echoed;

        return send(peer, "x", 1, MSG_NOSIGNAL) == 1 && recv(peer, &echoed, 1, 0) == 1;
}

static bool is_new_one_served(uint16_t port)
{
        int peer = scn_daemon_connect(port);
        bool served = is_served(peer);

        (void)close(peer);
        return served;
}

static void expect_served_within_a_second(uint16_t port)
{
        uint64_t until_ms = scn_daemon_now_ms() + 1000;

        while (!is_new_one_served(port))
                cr_assert_lt(scn_daemon_now_ms(), until_ms, "descriptors are free, and nobody is let in");
}

static void expect_idle(const struct scn_daemon *daemon)
{
        uint64_t cpu_ms = scn_daemon_cpu_ms(daemon);

        (void)usleep(1000000);
        cr_assert_lt(scn_daemon_cpu_ms(daemon) - cpu_ms, 200, "more than a fifth of a processor, for nothing");
}

SCN_TEST(descriptors, are_kept_from_connections_and_the_surplus_is_turned_away)
{
        struct scn_daemon daemon;
        start(&daemon, 64);
        uint16_t port = scn_daemon_port(&daemon);
        int first = scn_daemon_connect(port);
        int peers[PEERS];
        size_t served = 0;
        expect_echo(first);
        for (size_t i = 0; i < PEERS; i++)
                peers[i] = scn_daemon_connect(port);
        for (size_t i = 0; i < PEERS; i++)
                served += is_served(peers[i]);
        /* 64, of which 32 are kept. */
        cr_assert_eq(served, 31);
        expect_idle(&daemon);
        expect_echo(first);
        /* All are of one kind, so few are logged, and the rest is counted. */
        size_t lines = scn_daemon_log_count(&daemon, TURNED_AWAY);
        cr_assert(lines >= 1 && lines <= 10, "%zu lines", lines);

        for (size_t i = 0; i < 50; i++)
                (void)close(peers[i]);
        expect_served_within_a_second(port);
        expect_echo(first);
        for (size_t i = 50; i < PEERS; i++)
                (void)close(peers[i]);
        (void)close(first);
        cr_assert_eq(scn_daemon_stop(&daemon), 0);
        cr_assert_eq(scn_daemon_log_count(&daemon, "accept: suppressed"), 1);
        scn_daemon_finish(&daemon);
}

SCN_TEST(descriptors, that_run_out_do_not_make_the_loop_spin)
{
        struct scn_daemon daemon;
        start(&daemon, 200);
        uint16_t port = scn_daemon_port(&daemon);
        int first = scn_daemon_connect(port);
        char answer[5];
        expect_echo(first);
        scn_daemon_send(first,
                "\xff"
                "d",
                2);
        scn_daemon_receive(first, answer, 5);
        cr_assert_eq(memcmp(answer, "full\n", 5), 0);

        int peers[10];
        for (size_t i = 0; i < 10; i++)
                peers[i] = scn_daemon_connect(port);
        for (size_t i = 0; i < 10; i++)
                cr_assert(!is_served(peers[i]));
        cr_assert_geq(scn_daemon_log_count(&daemon, "Too many open files"), 1);
        expect_idle(&daemon);
        expect_echo(first);

        scn_daemon_send(first,
                "\xff"
                "D",
                2);
        scn_daemon_receive(first, answer, 5);
        cr_assert_eq(memcmp(answer, "free\n", 5), 0);
        expect_served_within_a_second(port);
        for (size_t i = 0; i < 10; i++)
                (void)close(peers[i]);
        (void)close(first);
        cr_assert_eq(scn_daemon_stop(&daemon), 0);
        scn_daemon_finish(&daemon);
}

SCN_TEST(descriptors, too_few_to_be_of_use_are_a_start_up_error)
{
        struct scn_daemon daemon;
        start(&daemon, 30);
        cr_assert_eq(scn_daemon_wait(&daemon), 1);
        cr_assert_eq(scn_daemon_log_count(&daemon, "start: RLIMIT_NOFILE (ulimit -n) 30: leaves no descriptor"), 1);
        scn_daemon_finish(&daemon);
}
