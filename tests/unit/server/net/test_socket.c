/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* flock and mkdtemp under -std=c11 */

#include "server/clock.h"
#include "server/net/socket.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

/* The wait for somebody else's lock is a second; this takes none of it. */
SCN_TEST(socket, waits_for_no_lock_of_its_own_folder)
{
        char folder[] = "/tmp/scn-socket-XXXXXX";
        char text[128];
        char around[128];
        char problem[SCN_PROBLEM_BYTES];
        struct scn_address address;
        struct scn_socket listening;
        cr_assert_not_null(mkdtemp(folder));
        const int held = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        cr_assert_eq(flock(held, LOCK_EX | LOCK_NB), 0);
        (void)snprintf(text, sizeof text, "unix:%s/socket", folder);
        (void)snprintf(around, sizeof around, "%s/.", folder);
        cr_assert_null(scn_address_parse(text, &address));
        const uint64_t began_ms = scn_clock_monotonic_ms(NULL);
        cr_assert(scn_socket_listen(&address, around, &listening, problem), "%s", problem);
        cr_assert_lt(scn_clock_monotonic_ms(NULL) - began_ms, 900);
        scn_socket_close(&listening);
        (void)close(held);
        cr_assert_eq(rmdir(folder), 0);
}
