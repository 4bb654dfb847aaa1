/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _POSIX_C_SOURCE 200809L
#include "tests/bench/bench.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Short runs are repeated this long: now and then one of them has the machine for itself. */
#define TIME_NS 40e6

void scn_bench_misuse(const char *usage)
{
        fprintf(stderr, "usage: %s\n", usage);
        exit(2);
}

uint32_t scn_bench_number(const char *text, uint32_t least, const char *usage)
{
        char *end;
        errno = 0;
        const unsigned long number = strtoul(text, &end, 10);
        if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || number < least || number > UINT32_MAX)
                scn_bench_misuse(usage);
        return (uint32_t)number;
}

static bool is_among(const char *name, char *const *names, int names_count)
{
        for (int i = 0; i < names_count; i++) {
                if (strcmp(names[i], name) == 0)
                        return true;
        }
        return false;
}

void scn_bench_run_parts(
        const struct scn_bench_part *parts, size_t parts_count, char *const *names, int names_count, const char *usage)
{
        for (int i = 0; i < names_count; i++) {
                size_t part = 0;
                while (part < parts_count && strcmp(parts[part].name, names[i]) != 0)
                        part++;
                if (part == parts_count)
                        scn_bench_misuse(usage);
        }
        for (size_t i = 0; i < parts_count; i++) {
                if (names_count == 0 || is_among(parts[i].name, names, names_count))
                        parts[i].run();
        }
}

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
        scn_bench_median(what, &value, 1, unit, budget);
}

static int compare(const void *a, const void *b)
{
        const double left = *(const double *)a;
        const double right = *(const double *)b;
        return (left > right) - (left < right);
}

double scn_bench_median(const char *what, double *values, uint32_t count, const char *unit, double budget)
{
        qsort(values, count, sizeof *values, compare);
        const double median = values[count / 2];

        printf("  %-58s %10.2f %-11s", what, median, unit);
        if (budget > SCN_BENCH_NO_BUDGET)
                printf(" budget %6.4g  %-4s", budget, median <= budget ? "ok" : "over");
        if (count > 1)
                printf("  %.2f .. %.2f", values[0], values[count - 1]);
        printf("\n");
        fflush(stdout);
        return median;
}

void scn_bench_ratio(const char *what, double value, double at_least)
{
        printf("  %-58s %10.1f %-11s budget %6.0f  %s\n", what, value, "times", at_least,
                value >= at_least ? "ok" : "over");
        fflush(stdout);
}
