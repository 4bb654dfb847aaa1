/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/leftover.h"

#include "protocol/base/assert.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
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

static sigset_t block(void)
{
        sigset_t set, before;

        (void)sigemptyset(&set);
        for (size_t i = 0; i < NUMBERS_COUNT; i++)
                (void)sigaddset(&set, numbers[i]);
        (void)sigprocmask(SIG_BLOCK, &set, &before);
        return before;
}

static void unblock(const sigset_t *before)
{
        (void)sigprocmask(SIG_SETMASK, before, NULL);
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

/* While they are blocked. */
static void note(const char *path)
{
        SCN_ASSERT(paths_count < SCN_LEFTOVERS_MAX);
        paths[paths_count++] = path;
        for (size_t i = 0; i < NUMBERS_COUNT; i++)
                catch_signal(numbers[i]);
}

void scn_leftover_note(const char *path)
{
        const sigset_t before = block();

        note(path);
        unblock(&before);
}

int scn_leftover_make_file(char *template, int *fd_out)
{
        const sigset_t before = block();

        *fd_out = mkstemp(template);
        const int error = *fd_out < 0 ? errno : 0;
        if (error == 0)
                note(template);
        unblock(&before);
        return error;
}

int scn_leftover_make_folder(char *template)
{
        const sigset_t before = block();
        const int error = mkdtemp(template) == NULL ? errno : 0;

        if (error == 0)
                note(template);
        unblock(&before);
        return error;
}

void scn_leftover_forget(const char *path)
{
        const sigset_t before = block();

        for (size_t i = 0; i < paths_count; i++) {
                if (paths[i] == path) {
                        paths_count--;
                        memmove(&paths[i], &paths[i + 1], (paths_count - i) * sizeof *paths);
                        break;
                }
        }
        unblock(&before);
}
