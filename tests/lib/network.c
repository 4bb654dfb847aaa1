/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* unshare, the flags of interfaces under -std=c11 */

#include "tests/lib/network.h"

#include "tests/lib/test.h"

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

bool network_begin(void)
{
        return unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
}

void network_set_loopback(bool is_up)
{
        struct ifreq request = {.ifr_name = "lo"};
        const int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        cr_assert_geq(descriptor, 0);
        cr_assert_eq(ioctl(descriptor, SIOCGIFFLAGS, &request), 0);
        request.ifr_flags = (short)(is_up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
        cr_assert_eq(ioctl(descriptor, SIOCSIFFLAGS, &request), 0);
        (void)close(descriptor);
}
