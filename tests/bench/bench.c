/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _POSIX_C_SOURCE 200809L
#include "tests/bench/bench.h"

#include <stdio.h>
#include <time.h>

/* Short runs are repeated this long: now and then one of them has the machine for itself. */
#define TIME_NS 40e6

double scn_bench_now_ns(void)
{
        struct timespec now;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

double scn_bench_best_ns(uint32_t runs, void (*once)(void *data), void *data)
{
        double begin = scn_bench_now_ns();
        double best = 0.0;

        for (uint32_t i = 0; i < runs || scn_bench_now_ns() - begin < TIME_NS; i++) {
                double start = scn_bench_now_ns();
                once(data);
                double took = scn_bench_now_ns() - start;
                best = i == 0 || took < best ? took : best;
        }
        return best;
}

void scn_bench_heading(const char *text)
{
        printf("\n%s\n", text);
}

void scn_bench_row(const char *what, double value, const char *unit, double budget)
{
        printf("  %-58s %10.2f %-11s", what, value, unit);
        if (budget > SCN_BENCH_NO_BUDGET)
                printf(" budget %6.0f  %s", budget, value <= budget ? "ok" : "over");
        printf("\n");
        fflush(stdout);
}

void scn_bench_ratio(const char *what, double value, double at_least)
{
        printf("  %-58s %10.1f %-11s budget %6.0f  %s\n", what, value, "times", at_least,
                value >= at_least ? "ok" : "over");
        fflush(stdout);
}
