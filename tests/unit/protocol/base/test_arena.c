/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/base/arena.h"

#include "tests/lib/test.h"

#include <string.h>

SCN_TEST(arena, keeps_addresses_and_bytes_whatever_is_added_later)
{
        struct scn_arena arena = {0};
        const struct scn_slice first = scn_arena_copy(&arena, "first", 5);
        for (uint32_t i = 0; i < 100000; i++) {
                const struct scn_slice copy = scn_arena_copy(&arena, &i, sizeof i);
                cr_assert_not_null(copy.data);
                cr_assert_eq(memcmp(copy.data, &i, sizeof i), 0);
        }
        cr_assert_eq(first.size, 5);
        cr_assert_eq(memcmp(first.data, "first", 5), 0);
        scn_arena_finish(&arena);
}

SCN_TEST(arena, gives_aligned_memory_between_copies_of_any_length)
{
        struct scn_arena arena = {0};
        for (uint32_t i = 0; i < 3000; i++) {
                cr_assert_not_null(scn_arena_copy(&arena, "abcdefghijklm", i % 13).data);
                void *block = scn_arena_alloc(&arena, 1 + i * 37 % 70000);
                cr_assert_not_null(block);
                cr_assert_eq((uintptr_t)block % 16, 0, "%p", block);
                memset(block, 0xaa, 1 + i * 37 % 70000);
        }
        scn_arena_finish(&arena);
}

SCN_TEST(arena, tells_nothing_from_what_is_absent)
{
        struct scn_arena arena = {0};
        const struct scn_slice nothing = scn_arena_copy(&arena, NULL, 0);
        cr_assert_not_null(nothing.data);
        cr_assert_eq(nothing.size, 0);
        scn_arena_finish(&arena);
}

static enum scn_error attempt(void *data)
{
        struct scn_arena arena = {0};
        (void)data;
        const bool is_good = scn_arena_alloc(&arena, 70000) != NULL && scn_arena_copy(&arena, "a", 1).data != NULL;
        scn_arena_finish(&arena);
        return is_good ? SCN_OK : SCN_E_NO_MEMORY;
}

SCN_TEST(arena, survives_each_failing_allocation)
{
        cr_assert_geq(scn_test_fail_each_allocation(attempt, NULL), 2);
}
