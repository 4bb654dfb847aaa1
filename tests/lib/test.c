/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/test.h"

#include <inttypes.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_LEAK_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define HAS_LEAK_SANITIZER 1
#endif

#ifdef HAS_LEAK_SANITIZER
#include <sanitizer/lsan_interface.h>

/* LeakSanitizer looks when scn_test_run() asks it to, not at a process's end: the process that runs the tests is
 * Criterion's, and Criterion now and then leaves a block behind there. A suppression would not do, for Criterion
 * stands in every test's call stack. */
__attribute__((visibility("default"))) const char *__lsan_default_options(void)
{
        return "leak_check_at_exit=0";
}
#endif

/* An attempt that never gets by without its next allocation loops. */
#define FAILING_RUNS_MAX UINT64_C(1000000)

void scn_test_run(void (*body)(void))
{
        uint64_t live_before = scn_alloc_stats().live_count;

        body();
        scn_alloc_fail_at(0, false);
        uint64_t live_after = scn_alloc_stats().live_count;
        cr_assert_eq(live_after, live_before,
                "the test leaks: %" PRIu64 " blocks alive at its start, %" PRIu64 " at its end", live_before,
                live_after);
#ifdef HAS_LEAK_SANITIZER
        cr_assert_eq(__lsan_do_recoverable_leak_check(), 0, "the test leaks: see LeakSanitizer's report");
#endif
}

/* One round of failing allocations, alone or with all later ones. */
static uint64_t fail_each(scn_test_attempt_fn attempt, void *data, bool is_sticky)
{
        for (uint64_t nth = 1; nth <= FAILING_RUNS_MAX; nth++) {
                struct scn_alloc_stats before = scn_alloc_stats();
                scn_alloc_fail_at(nth, is_sticky);
                enum scn_error error = attempt(data);
                scn_alloc_fail_at(0, false);
                struct scn_alloc_stats after = scn_alloc_stats();

                cr_assert_eq(after.live_count, before.live_count,
                        "allocation %" PRIu64 " failed%s: %" PRIu64 " blocks before, %" PRIu64 " after", nth,
                        is_sticky ? " and all later ones" : "", before.live_count, after.live_count);
                if (after.calls - before.calls < nth) {
                        cr_assert_eq(error, SCN_OK, "nothing failed, and yet: %s", scn_error_code(error));
                        return nth - 1;
                }
                cr_assert(error == SCN_E_NO_MEMORY || error == SCN_OK,
                        "allocation %" PRIu64 " failed%s: the answer is %s", nth,
                        is_sticky ? " and all later ones" : "", scn_error_code(error));
        }
        cr_assert_fail("the attempt allocates without end");
        return 0;
}

uint64_t scn_test_fail_each_allocation(scn_test_attempt_fn attempt, void *data)
{
        uint64_t count = fail_each(attempt, data, false);

        fail_each(attempt, data, true);
        cr_assert_neq(count, 0, "the attempt allocates nothing");
        return count;
}

uint64_t scn_test_seed(uint64_t usual)
{
        const char *text = getenv("SCN_TEST_SEED");
        return text != NULL && *text != '\0' ? strtoull(text, NULL, 0) : usual;
}

uint64_t scn_test_seeds(uint64_t usual)
{
        const char *text = getenv("SCN_SEEDS");
        return text == NULL || *text == '\0' ? usual : strtoull(text, NULL, 10);
}
