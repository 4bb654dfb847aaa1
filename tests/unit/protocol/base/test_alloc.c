/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
/* For pthread_barrier_t. */
#define _POSIX_C_SOURCE 200809L
#include "tests/lib/test.h"

#include <pthread.h>
#include <string.h>

SCN_TEST(alloc, gives_a_block_to_free_for_size_zero)
{
        void *blocks[] = {
                scn_alloc(0),
                scn_alloc_zero(0, 8),
                scn_alloc_zero(8, 0),
                scn_realloc(NULL, 0),
                scn_alloc_aligned(64, 0),
        };
        for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
                cr_assert_neq(blocks[i], NULL, "way %zu", i);
                scn_free(blocks[i]);
        }
}

SCN_TEST(alloc, keeps_a_block_that_is_resized_to_nothing)
{
        void *block = scn_realloc(scn_alloc(100), 0);
        cr_assert_neq(block, NULL);
        cr_assert_eq(scn_alloc_stats().live_count, 1);
        scn_free(block);
}

SCN_TEST(alloc, takes_null_for_free)
{
        struct scn_alloc_stats before = scn_alloc_stats();
        scn_free(NULL);
        cr_assert_eq(scn_alloc_stats().live_count, before.live_count);
        cr_assert_eq(scn_alloc_stats().live_bytes, before.live_bytes);
}

SCN_TEST(alloc, zeroes_what_it_was_asked_to)
{
        /* A used block of the size goes back first, so that zeroes are no accident. */
        uint8_t *used = scn_alloc(1000);
        memset(used, 0xaa, 1000);
        scn_free(used);

        uint8_t *block = scn_alloc_zero(10, 100);
        for (size_t i = 0; i < 1000; i++)
                cr_assert_eq(block[i], 0, "byte %zu", i);
        scn_free(block);
}

SCN_TEST(alloc, refuses_a_product_that_overflows)
{
        cr_assert_eq(scn_alloc_zero(SIZE_MAX / 2, 4), NULL);
}

SCN_TEST(alloc, aligns)
{
        for (size_t alignment = 8; alignment <= 4096; alignment *= 2) {
                void *block = scn_alloc_aligned(alignment, alignment + 1);
                cr_assert_neq(block, NULL);
                cr_assert_eq((uintptr_t)block % alignment, 0, "alignment %zu", alignment);
                memset(block, 1, alignment + 1);
                scn_free(block);
        }
}

SCN_TEST(alloc, refuses_a_size_that_overflows_when_aligned)
{
        cr_assert_eq(scn_alloc_aligned(4096, SIZE_MAX - 10), NULL);
}

SCN_TEST_ABORTS(alloc, asserts_that_an_alignment_is_a_power_of_two)
{
        scn_free(scn_alloc_aligned(24, 100));
}

SCN_TEST_ABORTS(alloc, asserts_that_an_alignment_is_at_most_a_page)
{
        scn_free(scn_alloc_aligned(8192, 100));
}

SCN_TEST(alloc, counts_blocks_bytes_and_calls)
{
        struct scn_alloc_stats before = scn_alloc_stats();
        void *small = scn_alloc(10);
        void *zeroed = scn_alloc_zero(10, 10);
        void *aligned = scn_alloc_aligned(64, 1000);
        struct scn_alloc_stats with = scn_alloc_stats();
        cr_assert_eq(with.live_count - before.live_count, 3);
        cr_assert_geq(with.live_bytes - before.live_bytes, 1110);
        cr_assert_leq(with.live_bytes - before.live_bytes, 1400);
        cr_assert_eq(with.calls - before.calls, 3);

        small = scn_realloc(small, 5000);
        struct scn_alloc_stats grown = scn_alloc_stats();
        cr_assert_eq(grown.live_count - before.live_count, 3);
        cr_assert_geq(grown.live_bytes - with.live_bytes, 4900);
        cr_assert_eq(grown.calls - before.calls, 4);

        small = scn_realloc(small, 20);
        cr_assert_lt(scn_alloc_stats().live_bytes, grown.live_bytes - 4000);

        scn_free(small);
        scn_free(zeroed);
        scn_free(aligned);
        struct scn_alloc_stats after = scn_alloc_stats();
        cr_assert_eq(after.live_count, before.live_count);
        cr_assert_eq(after.live_bytes, before.live_bytes);
        cr_assert_eq(after.calls - before.calls, 5);
}

/* One call of each kind; bit i of the result: the ith one gave a block. */
static unsigned call_each_kind(void)
{
        void *blocks[] = {scn_alloc(1), scn_alloc_zero(1, 1), scn_realloc(NULL, 1), scn_alloc_aligned(16, 1)};
        unsigned given = 0;
        for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
                given |= (blocks[i] != NULL ? 1u : 0u) << i;
                scn_free(blocks[i]);
        }
        return given;
}

SCN_TEST(alloc, fails_the_nth_call_only)
{
        for (unsigned nth = 1; nth <= 4; nth++) {
                scn_alloc_fail_at(nth, false);
                cr_assert_eq(call_each_kind(), 15u & ~(1u << (nth - 1)), "the call %u", nth);
        }
}

SCN_TEST(alloc, fails_all_calls_from_the_nth_if_told_so)
{
        for (unsigned nth = 1; nth <= 4; nth++) {
                scn_alloc_fail_at(nth, true);
                cr_assert_eq(call_each_kind(), 15u & ((1u << (nth - 1)) - 1), "from the call %u", nth);
                cr_assert_eq(call_each_kind(), 0);
        }
}

SCN_TEST(alloc, stops_failing_when_told_so)
{
        scn_alloc_fail_at(1, true);
        cr_assert_eq(call_each_kind(), 0);
        scn_alloc_fail_at(0, true);
        cr_assert_eq(call_each_kind(), 15);
}

SCN_TEST(alloc, counts_a_failed_call_but_no_block)
{
        struct scn_alloc_stats before = scn_alloc_stats();
        scn_alloc_fail_at(1, true);
        call_each_kind();
        struct scn_alloc_stats after = scn_alloc_stats();
        cr_assert_eq(after.calls - before.calls, 4);
        cr_assert_eq(after.live_count, before.live_count);
        cr_assert_eq(after.live_bytes, before.live_bytes);
}

SCN_TEST(alloc, leaves_a_block_untouched_when_its_resize_fails)
{
        char *block = scn_alloc(6);
        memcpy(block, "hello", 6);
        struct scn_alloc_stats before = scn_alloc_stats();
        scn_alloc_fail_at(1, false);
        cr_assert_eq(scn_realloc(block, 100000), NULL);
        cr_assert_str_eq(block, "hello");
        cr_assert_eq(scn_alloc_stats().live_count, before.live_count);
        cr_assert_eq(scn_alloc_stats().live_bytes, before.live_bytes);
        scn_free(block);
}

SCN_TEST(alloc, grows_an_array_without_losing_its_contents)
{
        uint32_t *array = NULL;
        size_t capacity = 0;
        for (uint32_t i = 0; i < 100000; i++) {
                cr_assert(scn_grow((void **)&array, &capacity, sizeof *array, (size_t)i + 1, SIZE_MAX));
                cr_assert_gt(capacity, i);
                array[i] = i * 3;
        }
        for (uint32_t i = 0; i < 100000; i++)
                cr_assert_eq(array[i], i * 3);
        scn_free(array);
}

SCN_TEST(alloc, doubles_small_arrays_and_grows_large_ones_by_a_32nd)
{
        uint8_t *array = NULL;
        size_t capacity = 0;
        const size_t small = 4096;
        unsigned steps = 0;
        while (capacity < 1000000) {
                size_t before = capacity;
                cr_assert(scn_grow((void **)&array, &capacity, 1, capacity + 1, SIZE_MAX));
                if (before >= small)
                        cr_assert_eq(capacity, before + before / 32);
                else if (before > 0)
                        cr_assert_eq(capacity, before * 2);
                steps++;
        }
        cr_assert_leq(steps, 200);
        scn_free(array);
}

SCN_TEST(alloc, leaves_an_array_alone_that_is_large_enough)
{
        uint8_t *array = NULL;
        size_t capacity = 0;
        cr_assert(scn_grow((void **)&array, &capacity, 1, 100, 1000));
        cr_assert_eq(capacity, 100);
        uint64_t calls = scn_alloc_stats().calls;
        cr_assert(scn_grow((void **)&array, &capacity, 1, 100, 1000));
        cr_assert(scn_grow((void **)&array, &capacity, 1, 0, 1000));
        cr_assert_eq(scn_alloc_stats().calls, calls);
        cr_assert_eq(capacity, 100);
        scn_free(array);
}

SCN_TEST(alloc, grows_an_array_to_its_maximum_and_no_further)
{
        uint16_t *array = NULL;
        size_t capacity = 0;
        cr_assert(scn_grow((void **)&array, &capacity, sizeof *array, 60, 100));
        cr_assert(scn_grow((void **)&array, &capacity, sizeof *array, 61, 100));
        cr_assert_eq(capacity, 100);
        cr_assert(scn_grow((void **)&array, &capacity, sizeof *array, 100, 100));
        uint16_t *before = array;
        cr_assert_not(scn_grow((void **)&array, &capacity, sizeof *array, 101, 100));
        cr_assert_eq(array, before);
        cr_assert_eq(capacity, 100);
        scn_free(array);
}

SCN_TEST(alloc, refuses_an_array_whose_bytes_overflow)
{
        uint64_t *array = NULL;
        size_t capacity = 0;
        cr_assert_not(scn_grow((void **)&array, &capacity, sizeof *array, SIZE_MAX / 8 + 1, SIZE_MAX));
        cr_assert_eq(array, NULL);
        cr_assert_eq(capacity, 0);
}

SCN_TEST(alloc, leaves_an_array_untouched_when_it_cannot_grow)
{
        uint8_t *array = NULL;
        size_t capacity = 0;
        cr_assert(scn_grow((void **)&array, &capacity, 1, 10, 1000));
        array[9] = 7;
        uint8_t *before = array;
        size_t capacity_before = capacity;
        scn_alloc_fail_at(1, false);
        cr_assert_not(scn_grow((void **)&array, &capacity, 1, 500, 1000));
        cr_assert_eq(array, before);
        cr_assert_eq(capacity, capacity_before);
        cr_assert_eq(array[9], 7);
        scn_free(array);
}

#define THREADS_MAX 200
/* Enough that two run side by side for a while even on a busy machine. */
#define ROUNDS_OF_FEW 500000

struct crowd {
        pthread_barrier_t start; /* nobody begins before all are there, so that they do get in each other's way */
        int rounds;
};

static void *allocate_often(void *data)
{
        struct crowd *crowd = data;
        pthread_barrier_wait(&crowd->start);
        for (int i = 0; i < crowd->rounds; i++) {
                void *block = scn_realloc(scn_alloc(10), 200);
                scn_free(block);
        }
        return NULL;
}

static void check_counts_of_threads(unsigned threads_count, int rounds)
{
        struct scn_alloc_stats before = scn_alloc_stats();
        pthread_t threads[THREADS_MAX];
        struct crowd crowd = {.rounds = rounds};
        cr_assert_eq(pthread_barrier_init(&crowd.start, NULL, threads_count), 0);
        for (unsigned i = 0; i < threads_count; i++)
                cr_assert_eq(pthread_create(&threads[i], NULL, allocate_often, &crowd), 0);
        for (unsigned i = 0; i < threads_count; i++)
                cr_assert_eq(pthread_join(threads[i], NULL), 0);
        pthread_barrier_destroy(&crowd.start);
        struct scn_alloc_stats after = scn_alloc_stats();
        cr_assert_eq(after.calls - before.calls, (uint64_t)threads_count * (uint64_t)rounds * 2);
        cr_assert_eq(after.live_count, before.live_count);
        cr_assert_eq(after.live_bytes, before.live_bytes);
}

SCN_TEST(alloc, counts_right_from_several_threads)
{
        check_counts_of_threads(4, ROUNDS_OF_FEW);
}

SCN_TEST(alloc, counts_right_from_more_threads_than_it_keeps_apart)
{
        check_counts_of_threads(THREADS_MAX, 5000);
        /* These all come late, and collide. */
        check_counts_of_threads(4, ROUNDS_OF_FEW);
}

static void *allocate_one(void *data)
{
        (void)data;
        return scn_alloc(1000);
}

SCN_TEST(alloc, counts_a_block_freed_by_another_thread)
{
        struct scn_alloc_stats before = scn_alloc_stats();
        pthread_t thread;
        void *block;
        cr_assert_eq(pthread_create(&thread, NULL, allocate_one, NULL), 0);
        cr_assert_eq(pthread_join(thread, &block), 0);
        cr_assert_eq(scn_alloc_stats().live_count - before.live_count, 1);
        scn_free(block);
        cr_assert_eq(scn_alloc_stats().live_count, before.live_count);
        cr_assert_eq(scn_alloc_stats().live_bytes, before.live_bytes);
}

SCN_TEST(alloc, fails_one_call_among_all_threads)
{
        scn_alloc_fail_at(30, false);
        unsigned given_count = 0;
        for (int i = 0; i < 60; i++) {
                pthread_t thread;
                void *block;
                cr_assert_eq(pthread_create(&thread, NULL, allocate_one, NULL), 0);
                cr_assert_eq(pthread_join(thread, &block), 0);
                cr_assert_eq(block == NULL, i == 29, "thread %d", i);
                given_count += block != NULL;
                scn_free(block);
        }
        cr_assert_eq(given_count, 59);
}
