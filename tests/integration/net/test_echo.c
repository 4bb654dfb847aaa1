/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* usleep, under -std=c11 */

#include "tests/lib/daemon.h"
#include "tests/lib/test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Bytes that are no commands to the echo, at any place. */
static uint8_t *make_bytes(size_t size)
{
        uint8_t *bytes = scn_alloc(size);

        cr_assert_not_null(bytes);
        for (size_t i = 0; i < size; i++)
                bytes[i] = (uint8_t)((i * 7 + i / 251) % 255);
        return bytes;
}

static void start(struct scn_daemon *daemon)
{
        const char *arguments[] = {"--listen", "127.0.0.1:0", "--listen", "unix:socket", NULL};

        scn_daemon_init(daemon);
        scn_daemon_start(daemon, &(struct scn_daemon_options){.program = "scened_echo", .arguments = arguments});
        scn_daemon_wait_for_log(daemon, "listening on unix:socket");
}

static void stop(struct scn_daemon *daemon)
{
        cr_assert_eq(scn_daemon_stop(daemon), 0);
        scn_daemon_finish(daemon);
}

static int connect_unix(const struct scn_daemon *daemon)
{
        char path[SCN_DAEMON_PATH_BYTES + 8];

        (void)snprintf(path, sizeof path, "%s/socket", daemon->folder);
        return scn_daemon_connect_unix(path);
}

static void expect_echo(int descriptor, const void *bytes, size_t size)
{
        uint8_t *echoed = scn_alloc(size);

        cr_assert_not_null(echoed);
        scn_daemon_receive(descriptor, echoed, size);
        cr_assert_eq(memcmp(echoed, bytes, size), 0, "other bytes come back");
        scn_free(echoed);
}

static void expect_conversation(int descriptor)
{
        uint8_t *bytes = make_bytes(5000);

        scn_daemon_send(descriptor, "hello", 5);
        expect_echo(descriptor, "hello", 5);
        scn_daemon_send(descriptor, bytes, 5000);
        expect_echo(descriptor, bytes, 5000);
        scn_free(bytes);
}

SCN_TEST(connection, carries_bytes_over_tcp)
{
        struct scn_daemon daemon;
        start(&daemon);
        int peer = scn_daemon_connect(scn_daemon_port(&daemon));
        expect_conversation(peer);
        (void)close(peer);
        stop(&daemon);
}

SCN_TEST(connection, carries_bytes_over_a_unix_socket)
{
        struct scn_daemon daemon;
        start(&daemon);
        int peer = connect_unix(&daemon);
        expect_conversation(peer);
        (void)close(peer);
        stop(&daemon);
}

SCN_TEST(connection, takes_bytes_one_at_a_time)
{
        struct scn_daemon daemon;
        start(&daemon);
        int peer = scn_daemon_connect(scn_daemon_port(&daemon));
        uint8_t *bytes = make_bytes(300);
        for (size_t i = 0; i < 300; i++) {
                scn_daemon_send(peer, bytes + i, 1);
                if (i % 3 == 0)
                        (void)usleep(1000);
        }
        expect_echo(peer, bytes, 300);
        scn_free(bytes);
        (void)close(peer);
        stop(&daemon);
}

/* Nothing may wait for a timer: 200 round trips are a matter of milliseconds, and would be of minutes with the tick. */
SCN_TEST(connection, answers_in_the_same_turn_of_the_loop)
{
        struct scn_daemon daemon;
        start(&daemon);
        int peer = connect_unix(&daemon);
        uint64_t start_ms = scn_daemon_now_ms();
        for (int i = 0; i < 200; i++) {
                scn_daemon_send(peer, "x", 1);
                expect_echo(peer, "x", 1);
        }
        cr_assert_lt(scn_daemon_now_ms() - start_ms, 4000);
        (void)close(peer);
        stop(&daemon);
}

/* What a tick causes goes out then and there, though no peer has anything to say. */
SCN_TEST(connection, is_written_to_in_the_turn_of_a_tick)
{
        struct scn_daemon daemon;
        start(&daemon);
        int peer = connect_unix(&daemon);
        char digits[21] = "";
        scn_daemon_send(peer, "\xfft", 2);
        scn_daemon_receive(peer, digits, 20);
        cr_assert_lt(scn_daemon_now_ms() - strtoull(digits, NULL, 10), 500);
        (void)close(peer);
        stop(&daemon);
}

/* More than a connection may write in one turn: it goes on in the next, without waiting for anything. */
SCN_TEST(connection, is_written_to_as_long_as_there_is_something)
{
        struct scn_daemon daemon;
        start(&daemon);
        size_t size = 16u << 20;
        uint8_t *bytes = scn_alloc(size);
        for (int is_tcp = 0; is_tcp < 2; is_tcp++) {
                int peer = is_tcp ? scn_daemon_connect(scn_daemon_port(&daemon)) : connect_unix(&daemon);
                uint64_t start_ms = scn_daemon_now_ms();
                scn_daemon_send(peer, "\xffz", 2);
                scn_daemon_receive(peer, bytes, size);
                cr_assert_lt(scn_daemon_now_ms() - start_ms, 5000); /* 64 turns or more; with the tick, a minute */
                (void)close(peer);
        }
        scn_free(bytes);
        stop(&daemon);
}

/* 64 MB for a peer that takes none of its echoes: reading stops, memory does not grow; later all is there. */
static void expect_bounded_memory(struct scn_daemon *daemon, int peer, int other)
{
        size_t size = 64u << 20;
        uint8_t *bytes = make_bytes(size);
        uint64_t memory_kib = scn_daemon_memory_kib(daemon);

        size_t taken = scn_daemon_send_until_stuck(peer, bytes, size, 500);
        cr_assert_lt(taken, size, "all was taken, though nothing was read");
        uint64_t grown_kib = scn_daemon_memory_kib(daemon) - memory_kib;
        cr_assert_lt(grown_kib, 16u << 10, "%zu bytes sent, memory grew by %zu KiB", taken, (size_t)grown_kib);

        /* The others have not noticed; and the stuck one costs no processor time. */
        uint64_t cpu_ms = scn_daemon_cpu_ms(daemon);
        expect_conversation(other);
        (void)usleep(500000);
        cr_assert_lt(scn_daemon_cpu_ms(daemon) - cpu_ms, 100);

        expect_echo(peer, bytes, taken);
        scn_daemon_send(peer, "and on", 6);
        expect_echo(peer, "and on", 6);
        scn_free(bytes);
}

SCN_TEST(connection, bounds_what_is_kept_for_a_tcp_peer_that_does_not_read)
{
        struct scn_daemon daemon;
        start(&daemon);
        int peer = scn_daemon_connect(scn_daemon_port(&daemon));
        int other = connect_unix(&daemon);
        expect_conversation(peer);
        expect_bounded_memory(&daemon, peer, other);
        (void)close(peer);
        (void)close(other);
        stop(&daemon);
}

SCN_TEST(connection, bounds_what_is_kept_for_a_unix_peer_that_does_not_read)
{
        struct scn_daemon daemon;
        start(&daemon);
        int peer = connect_unix(&daemon);
        int other = scn_daemon_connect(scn_daemon_port(&daemon));
        expect_conversation(peer);
        expect_bounded_memory(&daemon, peer, other);
        (void)close(peer);
        (void)close(other);
        stop(&daemon);
}

struct sending {
        int descriptor;
        const uint8_t *bytes;
        size_t size;
};

static void *send_all(void *data)
{
        struct sending *sending = data;

        scn_daemon_send(sending->descriptor, sending->bytes, sending->size);
        (void)shutdown(sending->descriptor, SHUT_WR);
        return NULL;
}

SCN_TEST(connection, echoes_a_long_stream_whole_and_in_order)
{
        struct scn_daemon daemon;
        start(&daemon);
        struct sending sending = {.descriptor = scn_daemon_connect(scn_daemon_port(&daemon)), .size = 32u << 20};
        uint8_t *bytes = make_bytes(sending.size);
        sending.bytes = bytes;
        pthread_t thread;
        cr_assert_eq(pthread_create(&thread, NULL, send_all, &sending), 0);
        expect_echo(sending.descriptor, bytes, sending.size);
        scn_daemon_expect_end(sending.descriptor);
        (void)pthread_join(thread, NULL);
        scn_free(bytes);
        (void)close(sending.descriptor);
        stop(&daemon);
}

SCN_TEST(connection, answers_a_peer_that_has_closed_its_sending_side)
{
        struct scn_daemon daemon;
        start(&daemon);
        for (int is_tcp = 0; is_tcp < 2; is_tcp++) {
                int peer = is_tcp ? scn_daemon_connect(scn_daemon_port(&daemon)) : connect_unix(&daemon);
                scn_daemon_send(peer, "last words \xffj", 13);
                cr_assert_eq(shutdown(peer, SHUT_WR), 0);
                expect_echo(peer, "last words ", 11);
                expect_echo(peer, "job\n", 4); /* which was not there yet when the sending side closed */
                scn_daemon_expect_end(peer);
                (void)close(peer);
        }
        stop(&daemon);
}

SCN_TEST(connection, sends_all_before_it_closes_for_an_ended_session)
{
        struct scn_daemon daemon;
        start(&daemon);
        int peer = scn_daemon_connect(scn_daemon_port(&daemon));
        uint8_t *bytes = make_bytes(200000);
        scn_daemon_send(peer, bytes, 200000);
        /* What comes behind is not read by anybody; a reset on its account would lose the echo. */
        scn_daemon_send(peer,
                "\xff"
                "eignored",
                9);
        (void)usleep(100000);
        scn_daemon_send(peer, bytes, 1000);
        expect_echo(peer, bytes, 200000);
        uint8_t more[16];
        ssize_t received = recv(peer, more, sizeof more, 0);
        cr_assert_leq(received, 7); /* "ignored" came in the same read as the command */
        if (received > 0)
                scn_daemon_expect_end(peer);
        scn_free(bytes);
        (void)close(peer);
        stop(&daemon);
}

SCN_TEST(connection, does_not_wait_for_ever_until_a_peer_closes)
{
        struct scn_daemon daemon;
        start(&daemon);
        int peer = scn_daemon_connect(scn_daemon_port(&daemon));
        scn_daemon_send(peer,
                "\xff"
                "e",
                2);
        scn_daemon_expect_end(peer);
        uint64_t end_ms = scn_daemon_now_ms();
        /* Sent to somebody who is there, but does not listen; in the end nobody is there. */
        while (send(peer, "x", 1, MSG_NOSIGNAL) == 1) {
                cr_assert_lt(scn_daemon_now_ms() - end_ms, 6000);
                (void)usleep(20000);
        }
        cr_assert_gt(scn_daemon_now_ms() - end_ms, 1000);
        (void)close(peer);
        stop(&daemon);
}

SCN_TEST(connection, survives_peers_that_vanish)
{
        struct scn_daemon daemon;
        start(&daemon);
        uint8_t *bytes = make_bytes(1u << 20);
        struct linger hard = {.l_onoff = 1};
        for (int i = 0; i < 20; i++) {
                int peer = scn_daemon_connect(scn_daemon_port(&daemon));
                (void)scn_daemon_send_until_stuck(peer, bytes, 1u << 20, 1);
                scn_daemon_send_until_stuck(peer, "\xffJ\xffj", 4, 0);
                /* A reset in the middle of everything, or a plain end. */
                if (i % 2 == 0)
                        (void)setsockopt(peer, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
                (void)close(peer);
        }
        int peer = connect_unix(&daemon);
        expect_conversation(peer);
        scn_free(bytes);
        (void)close(peer);
        stop(&daemon);
}

SCN_TEST(worker, runs_jobs_beside_the_loop_and_beside_one_another)
{
        struct scn_daemon daemon;
        start(&daemon);
        int peer = connect_unix(&daemon);
        int other = connect_unix(&daemon);
        uint64_t start_ms = scn_daemon_now_ms();
        /* 200 of 20 ms: more than there are requests and threads; one after another they would take 4 s. */
        for (int i = 0; i < 200; i++)
                scn_daemon_send(peer, "\xffj", 2);
        expect_conversation(other);
        cr_assert_lt(scn_daemon_now_ms() - start_ms, 2000, "the loop waits for jobs");
        for (int i = 0; i < 200; i++)
                expect_echo(peer, "job\n", 4);
        cr_assert_lt(scn_daemon_now_ms() - start_ms, 3900, "jobs do not run side by side");

        /* Slow ones do not hold up the others at once. */
        start_ms = scn_daemon_now_ms();
        for (int i = 0; i < 10; i++)
                scn_daemon_send(other, "\xffJ", 2);
        scn_daemon_send(peer, "\xffj", 2);
        expect_echo(peer, "job\n", 4);
        cr_assert_lt(scn_daemon_now_ms() - start_ms, 1000, "ten slow jobs take all threads");
        (void)close(peer);
        (void)close(other);
        stop(&daemon);
}
