/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include "server/clock.h"

#include <time.h>

static struct timespec now_of(clockid_t clock)
{
        struct timespec now = {0};

        (void)clock_gettime(clock, &now); /* fails for unknown clocks only */
        return now;
}

uint64_t scn_clock_utc_us(void *data)
{
        (void)data;
        struct timespec now = now_of(CLOCK_REALTIME);
        return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

uint64_t scn_clock_monotonic_ms(void *data)
{
        (void)data;
        struct timespec now = now_of(CLOCK_MONOTONIC);
        return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}
