/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/test.h"

#include <stdlib.h>

/* Tests of the test library: every one of the suite "red" must fail, of the suite "green" pass, of the suite "grey" be
 * skipped. The scripts beside this file run them and look. */

SCN_TEST(green, frees_what_it_allocates)
{
        scn_free(scn_alloc(10));
}

SCN_TEST(grey, tells_why_it_is_skipped)
{
        cr_skip_test("the %s is new", "moon");
}

SCN_TEST(red, leaks_a_counted_block)
{
        /* Still reachable, so LeakSanitizer is content: the count must notice. */
        static void *volatile kept;
        kept = scn_alloc(10);
        cr_assert_neq(kept, NULL);
}

SCN_TEST(red, leaks_behind_the_back_of_the_counter)
{
        void *volatile lost = malloc(10);
        cr_assert_neq(lost, NULL);
        lost = NULL;
}

static enum scn_error free_all(void *data)
{
        (void)data;
        void *first = scn_alloc(1);
        void *second = scn_alloc(1);
        enum scn_error error = first != NULL && second != NULL ? SCN_OK : SCN_E_NO_MEMORY;
        scn_free(first);
        scn_free(second);
        return error;
}

SCN_TEST(green, fails_each_of_two_allocations)
{
        cr_assert_eq(scn_test_fail_each_allocation(free_all, NULL), 2);
}

static enum scn_error leak_when_refused(void *data)
{
        (void)data;
        void *first = scn_alloc(1);
        if (first == NULL)
                return SCN_E_NO_MEMORY;
        void *second = scn_alloc(1);
        if (second == NULL)
                return SCN_E_NO_MEMORY;
        scn_free(first);
        scn_free(second);
        return SCN_OK;
}

SCN_TEST(red, leaks_when_an_allocation_fails)
{
        scn_test_fail_each_allocation(leak_when_refused, NULL);
}

static enum scn_error answer_wrongly(void *data)
{
        (void)data;
        void *block = scn_alloc(1);
        if (block == NULL)
                return SCN_E_GONE;
        scn_free(block);
        return SCN_OK;
}

SCN_TEST(red, answers_a_failed_allocation_with_another_error)
{
        scn_test_fail_each_allocation(answer_wrongly, NULL);
}

static enum scn_error never_succeed(void *data)
{
        (void)data;
        scn_free(scn_alloc(1));
        return SCN_E_NO_MEMORY;
}

SCN_TEST(red, fails_though_no_allocation_does)
{
        scn_test_fail_each_allocation(never_succeed, NULL);
}

static enum scn_error allocate_nothing(void *data)
{
        (void)data;
        return SCN_OK;
}

SCN_TEST(red, has_no_allocation_that_could_fail)
{
        scn_test_fail_each_allocation(allocate_nothing, NULL);
}

static enum scn_error err_when_memory_stays_out(void *data)
{
        (void)data;
        void *first = scn_alloc(1);
        void *second = scn_alloc(1);
        void *third = scn_alloc(1);
        scn_free(first);
        scn_free(third);
        if (second == NULL && third == NULL)
                return SCN_E_GONE;
        scn_free(second);
        return SCN_OK;
}

SCN_TEST(red, errs_only_when_later_allocations_fail_too)
{
        scn_test_fail_each_allocation(err_when_memory_stays_out, NULL);
}
