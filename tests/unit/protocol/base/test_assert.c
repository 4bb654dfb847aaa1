/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/test.h"

#include "protocol/base/assert.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

SCN_TEST(assert, lets_the_truth_pass_and_looks_at_it_once)
{
        int looked = 0;
        SCN_ASSERT(++looked == 1);
        cr_assert_eq(looked, 1);
}

SCN_TEST_ABORTS(assert, aborts_on_a_mistake)
{
        SCN_ASSERT(1 + 1 == 3);
}

SCN_TEST(assert, prints_file_line_and_expression)
{
        int ends[2];
        cr_assert_eq(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0) {
                dup2(ends[1], STDERR_FILENO);
                scn_assert_failed("some/file.c", 12, "a == b");
        }
        close(ends[1]);
        char text[200] = {0};
        ssize_t size = read(ends[0], text, sizeof text - 1);
        close(ends[0]);
        int status = 0;
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
        cr_assert_gt(size, 0);
        cr_assert_str_eq(text, "some/file.c:12: assertion failed: a == b\n");
}

SCN_STATIC_ASSERT(sizeof(char) == 1, "a static assertion stands at file level too");
