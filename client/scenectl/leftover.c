/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/leftover.h"

#include "protocol/base/assert.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
#define NUMBERS_COUNT (sizeof numbers / sizeof numbers[0])

/* Changed only while the signals are blocked. */
static const char *paths[SCN_LEFTOVERS_MAX];
static size_t paths_count;

static void on_signal(int number)
{
        for (size_t i = paths_count; i > 0; i--) {
                if (unlink(paths[i - 1]) != 0)
                        (void)rmdir(paths[i - 1]);
        }
        /* Its default again (SA_RESETHAND), and it comes when this returns. */
        (void)raise(number);
}

static void block(sigset_t *before)
{
        sigset_t set;

        (void)sigemptyset(&set);
        for (size_t i = 0; i < NUMBERS_COUNT; i++)
                (void)sigaddset(&set, numbers[i]);
        (void)sigprocmask(SIG_BLOCK, &set, before);
}

static void catch_signal(int number)
{
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
        struct sigaction before;

        if (sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_DFL) {
                (void)sigfillset(&action.sa_mask);
                (void)sigaction(number, &action, NULL);
        }
}

void scn_leftover_note(const char *path)
{
        sigset_t before;

        SCN_ASSERT(paths_count < SCN_LEFTOVERS_MAX);
        block(&before);
        paths[paths_count++] = path;
        for (size_t i = 0; i < NUMBERS_COUNT; i++)
                catch_signal(numbers[i]);
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

void scn_leftover_forget(const char *path)
{
        sigset_t before;

        block(&before);
        for (size_t i = 0; i < paths_count; i++) {
                if (paths[i] == path) {
                        paths_count--;
                        memmove(&paths[i], &paths[i + 1], (paths_count - i) * sizeof *paths);
                        break;
                }
        }
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
}
