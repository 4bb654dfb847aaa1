/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* the socket calls under -std=c11 */

#include "tests/lib/test.h"

#include "server/net/descriptors.h"
#include "server/net/socket.h"
#include "tests/lib/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

SCN_TEST(descriptors, keep_a_part_of_the_limit_from_connections)
{
        static const size_t cases[][2] = {
                {0, 0}, {32, 0}, {33, 1}, {64, 32}, {128, 96}, {256, 192}, {1024, 768}, {8192, 4096}, {100000, 4096}};
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
                cr_assert_eq(scn_descriptors_connections_max(cases[i][0]), cases[i][1], "limit %zu: %zu", cases[i][0],
                        scn_descriptors_connections_max(cases[i][0]));
}

SCN_TEST(descriptors, raise_the_process_s_limit_as_far_as_it_may_be)
{
        struct rlimit limit;
        struct scn_descriptors descriptors;
        char problem[SCN_PROBLEM_BYTES];
        cr_assert_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){100, 1000}), 0);
        cr_assert(scn_descriptors_init(&descriptors, problem));
        cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
        cr_assert_eq(limit.rlim_cur, 1000);
        cr_assert_eq(descriptors.connections_max, 750);
        scn_descriptors_finish(&descriptors);
}

/* Takes all that are left; returns the last. */
static int take_all(void)
{
        int last = -1;

        for (int taken; (taken = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;)
                last = taken;
        cr_assert_eq(errno, EMFILE);
        return last;
}

SCN_TEST(descriptors, turn_somebody_away_when_there_are_none)
{
        struct scn_descriptors descriptors;
        struct scn_socket listening;
        struct scn_address address;
        char problem[SCN_PROBLEM_BYTES];
        cr_assert_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){64, 64}), 0);
        cr_assert(scn_descriptors_init(&descriptors, problem));
        cr_assert_null(scn_address_parse("127.0.0.1:0", &address));
        cr_assert(scn_socket_listen(&address, NULL, &listening, problem), "%s", problem);
        int peer = scn_daemon_connect((uint16_t)strtoul(strchr(listening.text, ':') + 1, NULL, 10));
        int last = take_all();

        cr_assert(scn_descriptors_shed(&descriptors, listening.descriptor));
        scn_daemon_expect_end(peer);
        cr_assert_geq(descriptors.reserve, 0);
        /* Nobody waits any more. */
        cr_assert(!scn_descriptors_shed(&descriptors, listening.descriptor));
        cr_assert_geq(descriptors.reserve, 0);

        /* Without a reserve there is nothing to be done, until a descriptor is free. */
        (void)close(descriptors.reserve);
        cr_assert_geq(open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
        descriptors.reserve = -1;
        cr_assert(!scn_descriptors_refill(&descriptors));
        cr_assert(!scn_descriptors_shed(&descriptors, listening.descriptor));
        (void)close(last);
        cr_assert(scn_descriptors_refill(&descriptors));
        cr_assert_eq(descriptors.reserve, last);

        scn_descriptors_finish(&descriptors);
        scn_socket_close(&listening);
        scn_socket_close(&listening);
        (void)close(peer);
}
