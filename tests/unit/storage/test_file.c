/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "storage/file.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* CASES B57: one data directory, two who want it. */

/* What a process that has tried to open the directory says. */
struct outcome {
        enum scn_error error;
        int64_t holder;
};

/* A child that opens the directory, says how it went, and, if it has it, keeps it until it is killed. */
static pid_t start_opener(const char *path, int *pipe_out)
{
        int ends[2];

        cr_assert_eq(pipe(ends), 0);
        const pid_t pid = fork();
        if (pid != 0) {
                close(ends[1]);
                *pipe_out = ends[0];
                return pid;
        }
        /* A test that fails must leave nobody behind. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct scn_storage_fault fault = {0};
        struct scn_storage *storage;
        struct outcome outcome = {.error = scn_storage_open(path, &storage, &fault)};
        outcome.holder = fault.holder_pid;
        if (write(ends[1], &outcome, sizeof outcome) != sizeof outcome || outcome.error != SCN_OK)
                _exit(1);
        while (true)
                pause();
}

static struct outcome await(int end)
{
        struct outcome outcome;

        cr_assert_eq(read(end, &outcome, sizeof outcome), sizeof outcome);
        close(end);
        return outcome;
}

static void finish(pid_t pid)
{
        kill(pid, SIGKILL);
        cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

static void expect_in_use(const char *path, pid_t holder)
{
        struct scn_storage_fault fault = {0};
        struct scn_storage *storage;

        cr_assert_eq(scn_storage_open(path, &storage, &fault), SCN_E_IN_USE);
        cr_assert_eq(fault.holder_pid, holder);
        char number[32];
        snprintf(number, sizeof number, "%d", (int)holder);
        cr_assert_not_null(strstr(fault.text, number), "%s", fault.text);
}

SCN_TEST(storage_lock, keeps_another_process_out_and_names_the_holder)
{
        struct scn_test_storage test;
        struct stat before, after;
        char link[512];
        int end;

        scn_test_storage_init(&test);
        scn_journal_close(scn_test_create_island(&test));
        scn_storage_close(test.storage);
        test.storage = NULL;
        const pid_t holder = start_opener(test.path, &end);
        cr_assert_eq(await(end).error, SCN_OK);

        cr_assert_eq(stat(test.path, &before), 0);
        expect_in_use(test.path, holder);
        snprintf(link, sizeof link, "%s-link", test.path);
        cr_assert_eq(symlink(test.path, link), 0);
        expect_in_use(link, holder);
        /* a holder that stands still holds */
        kill(holder, SIGSTOP);
        expect_in_use(test.path, holder);
        kill(holder, SIGCONT);
        /* somebody has tidied up */
        cr_assert_eq(unlink(scn_test_storage_file(&test, "scened.lock")), 0);
        struct scn_storage_fault fault = {0};
        struct scn_storage *storage;
        cr_assert_eq(scn_storage_open(test.path, &storage, &fault), SCN_E_IN_USE);
        cr_assert_eq(unlink(scn_test_storage_file(&test, "scened.lock")), 0);
        cr_assert_eq(stat(test.path, &after), 0);
        cr_assert_eq(before.st_nlink, after.st_nlink);

        finish(holder);
        SCN_TEST_OK(scn_storage_open(link, &test.storage, NULL));
        cr_assert_eq(unlink(link), 0);
        scn_test_storage_finish(&test);
}

SCN_TEST(storage_lock, keeps_a_second_handle_of_the_same_process_out)
{
        struct scn_test_storage test;

        scn_test_storage_init(&test);
        expect_in_use(test.path, getpid());
        expect_in_use(test.path, getpid());
        scn_storage_close(test.storage);
        SCN_TEST_OK(scn_storage_open(test.path, &test.storage, NULL));
        scn_test_storage_finish(&test);
}

SCN_TEST_WITH(storage_lock, lets_exactly_one_of_two_in_that_come_at_once, .timeout = 120)
{
        struct scn_test_storage test;

        scn_test_storage_init(&test);
        scn_storage_close(test.storage);
        test.storage = NULL;
        /* We were the last that had it, and are alive: who comes second could take us for the first. */
        cr_assert_eq(truncate(scn_test_storage_file(&test, "scened.lock"), 0), 0);
        for (int i = 0; i < 50; i++) {
                int ends[2];
                const pid_t pids[2] = {start_opener(test.path, &ends[0]), start_opener(test.path, &ends[1])};
                const struct outcome outcomes[2] = {await(ends[0]), await(ends[1])};
                const int winner = outcomes[0].error == SCN_OK ? 0 : 1;
                cr_assert_eq(outcomes[winner].error, SCN_OK);
                cr_assert_eq(outcomes[1 - winner].error, SCN_E_IN_USE);
                cr_assert_eq(outcomes[1 - winner].holder, pids[winner], "round %d", i);
                finish(pids[0]);
                finish(pids[1]);
        }
        scn_test_storage_finish(&test);
}

/* ------------------------------------------------------------------ files */

static int open_directory(struct scn_test_storage *test)
{
        const int fd = open(test->path, O_RDONLY | O_DIRECTORY);
        cr_assert_geq(fd, 0);
        return fd;
}

SCN_TEST(storage_file, is_made_private_and_only_if_there_is_none)
{
        struct scn_test_storage test;
        struct stat status;

        scn_test_storage_init(&test);
        const int fd = open_directory(&test);
        umask(0777);
        cr_assert_eq(scn_file_create_private(fd, "a"), 0);
        cr_assert_eq(scn_file_create_private(fd, "a"), -1);
        cr_assert_eq(errno, EEXIST);
        cr_assert_eq(scn_file_create_directory(fd, "d"), 0);
        cr_assert_eq(scn_file_create_directory(fd, "d"), 0);
        umask(022);
        cr_assert_eq(fstatat(fd, "a", &status, 0), 0);
        cr_assert_eq(status.st_mode & 0777, 0600);
        cr_assert_eq(fstatat(fd, "d", &status, 0), 0);
        cr_assert_eq(status.st_mode & 0777, 0700);
        cr_assert_eq(symlinkat("a", fd, "l"), 0);
        cr_assert_eq(scn_file_create_private(fd, "l"), -1);
        close(fd);
        scn_test_storage_finish(&test);
}

SCN_TEST(storage_file, is_renamed_but_never_over_another)
{
        struct scn_test_storage test;

        scn_test_storage_init(&test);
        const int fd = open_directory(&test);
        cr_assert_eq(scn_file_create_private(fd, "a"), 0);
        cr_assert_eq(scn_file_create_private(fd, "b"), 0);
        cr_assert_eq(scn_file_rename(fd, "a", fd, "b"), -1);
        cr_assert_eq(errno, EEXIST);
        cr_assert_eq(scn_file_rename(fd, "a", fd, "c"), 0);
        cr_assert_eq(scn_file_rename(fd, "a", fd, "d"), -1);
        cr_assert_eq(errno, ENOENT);
        cr_assert_eq(faccessat(fd, "c", F_OK, 0), 0);
        scn_file_remove_database(fd, "c");
        scn_file_remove_database(fd, "c");
        cr_assert_eq(faccessat(fd, "c", F_OK, 0), -1);
        close(fd);
        scn_test_storage_finish(&test);
}
