/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_TEST_H
#define SCN_TESTS_LIB_TEST_H

/* What every test is written with: Criterion, and bodies that turn red when they leak.
 *
 * Criterion runs each test in a process of its own and takes no notice when LeakSanitizer complains at that
 * process's end, nor of an assertion that fails in a .fini. So the check is made at the end of the body:
 * the count of live blocks must be what it was at the start, and, in a sanitized build, LeakSanitizer must find
 * nothing. */

#include "protocol/base/alloc.h"

#include <scn/error.h>

#include <criterion/criterion.h>
#include <signal.h>

/* SCN_TEST(document_apply, refuses_a_cycle) { ... } */
#define SCN_TEST(module, sentence)                                                                                     \
        static void body_of_##module##_##sentence(void);                                                               \
        Test(module, sentence)                                                                                         \
        {                                                                                                              \
                scn_test_run(body_of_##module##_##sentence);                                                           \
        }                                                                                                              \
        static void body_of_##module##_##sentence(void)

/* The same with Criterion's options behind the name, such as .timeout = 60. */
#define SCN_TEST_WITH(module, sentence, ...)                                                                           \
        static void body_of_##module##_##sentence(void);                                                               \
        Test(module, sentence, __VA_ARGS__)                                                                            \
        {                                                                                                              \
                scn_test_run(body_of_##module##_##sentence);                                                           \
        }                                                                                                              \
        static void body_of_##module##_##sentence(void)

/* The body must end in a failed SCN_ASSERT. What it holds then is not counted: nobody can free it. */
#define SCN_TEST_ABORTS(module, sentence) Test(module, sentence, .signal = SIGABRT)

/* Runs the body and fails the test if the body leaks. Only SCN_TEST calls it. */
void scn_test_run(void (*body)(void));

/* Something that allocates and frees all of it again, whether it succeeds or not. */
typedef enum scn_error (*scn_test_attempt_fn)(void *data);

/* Runs the attempt with its first allocation failing, then with the second, and so on until it gets by with
 * fewer; and all that once more with every later allocation failing too. Each run must answer
 * SCN_E_NO_MEMORY (or SCN_OK, if it has a way around) and leave as many blocks alive as it found; the last one,
 * undisturbed, must succeed. Returns how many allocations could fail; none is a failed test, for it would have
 * tested nothing. */
uint64_t scn_test_fail_each_allocation(scn_test_attempt_fn attempt, void *data);

/* The seed for a test that draws at random: SCN_TEST_SEED from the environment if it is set, so that a failure
 * can be run again, or else the one given. Print it with what fails. */
uint64_t scn_test_seed(uint64_t usual);
/* How many seeds to try: SCN_SEEDS from the environment, or else the number given. */
uint64_t scn_test_seeds(uint64_t usual);

#endif
