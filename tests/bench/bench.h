/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_BENCH_BENCH_H
#define SCN_TESTS_BENCH_BENCH_H

/* Timing and printing for the benchmarks. A benchmark prints what it measured beside the budget of DESIGN §10 and
 * says "ok" or "over"; it fails nothing, for the machine is shared. */

#include <scn/types.h>

#include <stddef.h>

struct scn_bench_part {
        const char *name;
        void (*run)(void);
};

/* Says how the program is used, and ends it with 2. */
_Noreturn void scn_bench_misuse(const char *usage);
/* A whole number from the command line, not below `least`; else the same. */
uint32_t scn_bench_number(const char *text, uint32_t least, const char *usage);
/* The parts of these names, in the order of the parts; all if none is named. One that there is not: the same, before
 * anything runs. */
void scn_bench_run_parts(
        const struct scn_bench_part *parts, size_t parts_count, char *const *names, int names_count, const char *usage);

/* CPU time of this thread, in nanoseconds: what a busy neighbour does not stretch. */
double scn_bench_now_ns(void);

/* Runs `once` at least `runs` times, more often if it is short, and returns the time of the fastest run. */
double scn_bench_best_ns(uint32_t runs, void (*once)(void *data), void *data);

#define SCN_BENCH_NO_BUDGET 0.0

void scn_bench_heading(const char *text);
/* One row of the table; a number above its budget is called "over". */
void scn_bench_row(const char *what, double value, const char *unit, double budget);
/* The same for several rounds: the median counts, and is returned; the least and the greatest stand behind it. Sorts
 * them. */
double scn_bench_median(const char *what, double *values, uint32_t count, const char *unit, double budget);
/* The same for a ratio that should be at least the one given. */
void scn_bench_ratio(const char *what, double value, double at_least);

#endif
