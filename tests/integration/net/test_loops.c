/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* usleep, the socket calls under -std=c11 */

#include "server/clock.h"
#include "server/net/loop.h"
#include "server/net/state.h"
#include "tests/lib/daemon.h"
#include "tests/lib/test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Loops inside this process, each on a thread of its own, around the core that echoes. */
struct running {
        struct scn_log log;
        struct scn_loop *loop;
        pthread_t thread;
};

static void drop_line(void *data, const char *line, size_t size)
{
        (void)data;
        (void)line;
        (void)size;
}

static struct scn_loop *create(struct running *running, const char *listen, char problem[SCN_PROBLEM_BYTES])
{
        struct scn_address address;

        cr_assert_null(scn_address_parse(listen, &address));
        scn_log_init(&running->log,
                &(struct scn_log_options){
                        .write = drop_line,
                        .utc_us = scn_clock_utc_us,
                        .monotonic_ms = scn_clock_monotonic_ms,
                });
        return scn_loop_create(
                &(struct scn_loop_options){
                        .data_path = "data",
                        .agent = "test",
                        .limits = SCN_LIMITS_DEFAULT,
                        .listens = &address,
                        .listens_count = 1,
                        .log = &running->log,
                },
                problem);
}

static void *run(void *data)
{
        scn_loop_run(data);
        return NULL;
}

static void start(struct running *running)
{
        char problem[SCN_PROBLEM_BYTES] = "";

        running->loop = create(running, "127.0.0.1:0", problem);
        cr_assert_not_null(running->loop, "%s", problem);
        cr_assert_eq(pthread_create(&running->thread, NULL, run, running->loop), 0);
}

static void stop(struct running *running)
{
        scn_loop_stop(running->loop);
        cr_assert_eq(pthread_join(running->thread, NULL), 0);
        scn_loop_destroy(running->loop);
}

static uint16_t port_of(const struct running *running)
{
        return (uint16_t)strtoul(strchr(running->loop->listeners[0].socket.text, ':') + 1, NULL, 10);
}

static void expect_echo(int peer)
{
        char echoed[5];

        scn_daemon_send(peer, "hello", 5);
        scn_daemon_receive(peer, echoed, 5);
        cr_assert_eq(memcmp(echoed, "hello", 5), 0);
}

SCN_TEST(loop, lives_beside_another_in_one_process)
{
        struct running first, second;
        start(&first);
        start(&second);
        int peer = scn_daemon_connect(port_of(&first));
        int other = scn_daemon_connect(port_of(&second));
        expect_echo(peer);
        expect_echo(other);
        stop(&first);
        scn_daemon_expect_end(peer);
        expect_echo(other);
        stop(&second);
        (void)close(peer);
        (void)close(other);
}

SCN_TEST(loop, that_never_ran_is_destroyed)
{
        struct running running;
        char problem[SCN_PROBLEM_BYTES];
        running.loop = create(&running, "127.0.0.1:0", problem);
        cr_assert_not_null(running.loop);
        scn_loop_destroy(running.loop);
        scn_loop_destroy(NULL);
}

SCN_TEST(loop, that_cannot_listen_is_not_made)
{
        struct running running;
        char problem[SCN_PROBLEM_BYTES];
        cr_assert_null(create(&running, "unix:/no/such/folder/socket", problem));
        cr_assert_str_eq(problem, "--listen unix:/no/such/folder/socket: No such file or directory");
}

static enum scn_error attempt_to_create(void *data)
{
        char problem[SCN_PROBLEM_BYTES] = "nothing";
        struct scn_loop *loop = create(data, "127.0.0.1:0", problem);

        if (loop == NULL) {
                cr_assert_neq(strcmp(problem, "nothing"), 0);
                return SCN_E_NO_MEMORY;
        }
        scn_loop_destroy(loop);
        return SCN_OK;
}

SCN_TEST(loop, that_runs_out_of_memory_is_not_made)
{
        struct running running;
        cr_assert_gt(scn_test_fail_each_allocation(attempt_to_create, &running), 0);
}

static uint64_t cpu_ms(void)
{
        struct timespec used;

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        return (uint64_t)used.tv_sec * 1000u + (uint64_t)used.tv_nsec / 1000000u;
}

/* Somebody else was quicker to take the descriptor that was held in reserve: then nobody can even be turned away. */
SCN_TEST(loop, waits_for_descriptors_when_even_its_reserve_is_gone)
{
        struct running running;
        struct rlimit limit = {128, 128};
        cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
        start(&running);
        int first = scn_daemon_connect(port_of(&running));
        /* Connecting needs no descriptor any more. */
        int waiting = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_in address = {
                .sin_family = AF_INET,
                .sin_port = htons(port_of(&running)),
                .sin_addr = {htonl(INADDR_LOOPBACK)},
        };
        char answer[5];
        scn_daemon_send(first,
                "\xff"
                "d",
                2);
        scn_daemon_receive(first, answer, 5);
        (void)close(running.loop->descriptors.reserve);
        int thief = open("/dev/null", O_RDONLY | O_CLOEXEC);
        cr_assert_eq(thief, running.loop->descriptors.reserve);
        running.loop->descriptors.reserve = -1;

        cr_assert_eq(connect(waiting, (struct sockaddr *)&address, sizeof address), 0);
        uint64_t before_ms = cpu_ms();
        (void)usleep(1500000);
        cr_assert_lt(cpu_ms() - before_ms, 200, "the loop spins");
        expect_echo(first);

        scn_daemon_send(first,
                "\xff"
                "D",
                2);
        scn_daemon_receive(first, answer, 5);
        uint64_t freed_ms = scn_daemon_now_ms();
        expect_echo(waiting);
        cr_assert_lt(scn_daemon_now_ms() - freed_ms, 5000);
        (void)close(first);
        (void)close(waiting);
        (void)close(thief);
        stop(&running);
}
