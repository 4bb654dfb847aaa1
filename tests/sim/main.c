/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* usage: sim [--seed N] [--trace] | [--seeds COUNT] [--from N] [--jobs COUNT] [--twice]
 *
 * Runs seeds; the first that fails is printed and ends it. --trace prints what happens in the one seed. --twice runs
 * each seed two times and compares their traces. --jobs: so many processes share the seeds. */

#include "tests/sim/sim.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define JOBS_MAX 64

struct wanted {
        uint64_t from;
        uint64_t count;
        uint64_t jobs;
        bool is_traced;
        bool is_twice;
        bool is_silent;
};

static char dying[64];

/* An assertion or a sanitizer ends the process: say which seed that was. */
static void on_signal(int number)
{
        const ssize_t ignored = write(STDERR_FILENO, dying, strlen(dying));
        (void)ignored;
        (void)signal(number, SIG_DFL);
        (void)raise(number);
}

static uint64_t number_of(const char *text, struct argp_state *state)
{
        char *end;
        errno = 0;
        const uint64_t number = strtoull(text, &end, 10);
        if (*end != '\0' || end == text || errno != 0) {
                argp_error(state, "%s is no number", text);
        }
        return number;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
        struct wanted *wanted = state->input;
        switch (key) {
        case 's':
                wanted->from = number_of(argument, state);
                wanted->count = 1;
                break;
        case 'n':
                wanted->count = number_of(argument, state);
                break;
        case 'f':
                wanted->from = number_of(argument, state);
                break;
        case 'j':
                wanted->jobs = number_of(argument, state);
                if (wanted->jobs == 0 || wanted->jobs > JOBS_MAX) {
                        argp_error(state, "between 1 and %d jobs", JOBS_MAX);
                }
                break;
        case 't':
                wanted->is_traced = true;
                break;
        case '2':
                wanted->is_twice = true;
                break;
        default:
                return ARGP_ERR_UNKNOWN;
        }
        return 0;
}

/* Of this process alone. */
static double cpu_s(void)
{
        struct timespec now;
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void run_share(const struct wanted *wanted, uint64_t share)
{
        struct sim_result sum = {0};
        const double began_s = cpu_s();
        uint64_t seeds = 0;
        for (uint64_t i = share; i < wanted->count; i += wanted->jobs) {
                const uint64_t seed = wanted->from + i;
                (void)snprintf(dying, sizeof dying, "seed %" PRIu64 ": the process is ended\n", seed);
                const struct sim_result result = sim_run(seed, wanted->is_traced);
                if (wanted->is_twice && sim_run(seed, false).hash != result.hash) {
                        (void)fprintf(stderr, "seed %" PRIu64 ": two runs have two traces\n", seed);
                        exit(1);
                }
                sum.hash = sum.hash * 31 + result.hash;
                sum.events += result.events;
                sum.wishes += result.wishes;
                sum.acked += result.acked;
                seeds++;
        }
        (void)printf("%" PRIu64 " seeds: %.2f ms of CPU, %.0f events, %.0f edits, %.0f accepted a seed; ", seeds,
                (cpu_s() - began_s) * 1e3 / (double)seeds, (double)sum.events / (double)seeds,
                (double)sum.wishes / (double)seeds, (double)sum.acked / (double)seeds);
        (void)printf("trace %016" PRIx64 "\n", sum.hash);
}

/* The first that fails ends the others. */
static int run_jobs(const struct wanted *wanted)
{
        pid_t children[JOBS_MAX];
        int verdict = 0;
        (void)fflush(stdout);
        for (uint64_t i = 0; i < wanted->jobs; i++) {
                children[i] = fork();
                if (children[i] == 0) {
                        run_share(wanted, i);
                        exit(0);
                }
        }
        for (uint64_t left = wanted->jobs; left > 0; left--) {
                int status = 1;
                const pid_t ended = wait(&status);
                for (uint64_t i = 0; i < wanted->jobs; i++) {
                        if (children[i] == ended) {
                                children[i] = -1;
                        } else if (status != 0 && children[i] > 0) {
                                (void)kill(children[i], SIGTERM);
                        }
                }
                verdict = status != 0 ? 1 : verdict;
        }
        return verdict;
}

int main(int argc, char **argv)
{
        static const struct argp_option options[] = {
                {"seed", 's', "N", 0, "Run this seed alone", 0},
                {"trace", 't', NULL, 0, "Print what happens", 0},
                {"seeds", 'n', "COUNT", 0, "Run so many (100)", 0},
                {"from", 'f', "N", 0, "Begin with this one (1)", 0},
                {"jobs", 'j', "COUNT", 0, "In so many processes (1)", 0},
                {"twice", '2', NULL, 0, "Run each two times; the traces must be the same", 0},
                {0},
        };
        const struct argp argp = {options, parse, NULL, "Runs the simulator.", NULL, NULL, NULL};
        struct wanted wanted = {.from = 1, .count = 100, .jobs = 1};
        if (argp_parse(&argp, argc, argv, 0, NULL, &wanted) != 0) {
                return 2;
        }
        (void)signal(SIGABRT, on_signal);
        (void)signal(SIGSEGV, on_signal);
        if (wanted.jobs > 1) {
                return run_jobs(&wanted);
        }
        run_share(&wanted, 0);
        return 0;
}
