/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/scene/value.h"

#include "tests/lib/spelling.h"
#include "tests/lib/test.h"

#include <string.h>
#include <time.h>

/* Nesting. */

static void append_nested(struct scn_buffer *buffer, uint32_t levels, bool is_map)
{
        for (uint32_t i = 0; i + 1 < levels; i++) {
                append_byte(buffer, is_map ? 0x81 : 0x91);
                if (is_map)
                        append(buffer, "\xa1k", 2);
        }
        if (levels != 0)
                append_byte(buffer, is_map ? 0x80 : 0x90);
        else
                append_byte(buffer, 0x01);
}

static void expect_levels(const struct scn_limits *limits, uint32_t levels, enum scn_error expected)
{
        for (uint32_t is_map = 0; is_map < 2; is_map++) {
                struct scn_buffer input;
                scn_buffer_init(&input, BUFFER_BYTES_MAX);
                append_nested(&input, levels, is_map != 0);
                if (expected == SCN_OK)
                        expect_within(limits, slice_of(&input), slice_of(&input));
                else
                        expect_error_within(limits, slice_of(&input), expected);
                scn_buffer_finish(&input);
        }
}

SCN_TEST(value, may_nest_up_to_the_limit_and_no_deeper)
{
        struct scn_limits limits = default_limits();

        expect_levels(&limits, 16, SCN_OK);
        expect_levels(&limits, 17, SCN_E_VALUE_TOO_DEEP);
        limits.value_levels_max = 0;
        expect_levels(&limits, 0, SCN_OK);
        expect_levels(&limits, 1, SCN_E_VALUE_TOO_DEEP);
        limits.value_levels_max = 1000;
        expect_levels(&limits, SCN_VALUE_LEVELS_MAX, SCN_OK);
        expect_levels(&limits, SCN_VALUE_LEVELS_MAX + 1, SCN_E_VALUE_TOO_DEEP);
}

SCN_TEST(value, counts_levels_and_not_containers)
{
        struct scn_limits limits = default_limits();

        limits.value_levels_max = 2;
        expect_within(&limits, BYTES("\x93\x90\x91\x01\x80"), BYTES("\x93\x90\x91\x01\x80"));
        expect_error_within(&limits, BYTES("\x93\x90\x91\x90\x80"), SCN_E_VALUE_TOO_DEEP);
}

/* Text and keys. */

SCN_TEST(value, refuses_text_that_is_not_utf8)
{
        expect_error(BYTES("\xa1\xff"), SCN_E_BAD_UTF8);
        expect_error(BYTES("\xa3\xed\xa0\x80"), SCN_E_BAD_UTF8);
        expect_error(BYTES("\x91\xa2\xc3\x28"), SCN_E_BAD_UTF8);
        expect_error(BYTES("\x81\xa1\xff\x01"), SCN_E_BAD_UTF8);
        expect(BYTES("\xc4\x01\xff"), BYTES("\xc4\x01\xff"));
        expect(BYTES("\xa4\xf0\x9f\x98\x80"), BYTES("\xa4\xf0\x9f\x98\x80"));
}

SCN_TEST(value, refuses_keys_that_are_not_strings)
{
        expect_error(BYTES("\x81\x01\x01"), SCN_E_BAD_VALUE);
        expect_error(BYTES("\x81\xc0\x01"), SCN_E_BAD_VALUE);
        expect_error(BYTES("\x81\xc4\x01x\x01"), SCN_E_BAD_VALUE);
        expect_error(BYTES("\x81\x90\x01"), SCN_E_BAD_VALUE);
        expect_error(BYTES("\x81\x80\x01"), SCN_E_BAD_VALUE);
}

SCN_TEST(value, permits_nil_inside_and_keeps_the_order_of_a_map)
{
        expect(BYTES("\x83\xa1z\xc0\xa1y\x91\xc0\xa0\xc2"), BYTES("\x83\xa1z\xc0\xa1y\x91\xc0\xa0\xc2"));
}

SCN_TEST(value, refuses_the_same_key_twice_in_a_map)
{
        expect_error(BYTES("\x82\xa1"
                           "a\x01\xa1"
                           "a\x02"),
                SCN_E_DUPLICATE_KEY);
        expect_error(BYTES("\x82\xa1"
                           "a\x01\xd9\x01"
                           "a\x02"),
                SCN_E_DUPLICATE_KEY);
        expect_error(BYTES("\x83\xa1"
                           "b\x01\xa1"
                           "a\x01\xa1"
                           "b\x02"),
                SCN_E_DUPLICATE_KEY);
        expect_error(BYTES("\x82\xa0\x01\xa0\x02"), SCN_E_DUPLICATE_KEY);
        expect_error(BYTES("\x82\xa9"
                           "prefix--x\x01\xa9"
                           "prefix--x\x02"),
                SCN_E_DUPLICATE_KEY);
        /* around and after an inner map with keys of its own */
        expect_error(BYTES("\x82\xa1"
                           "a\x82\xa1"
                           "b\x01\xa1"
                           "c\x01\xa1"
                           "a\x02"),
                SCN_E_DUPLICATE_KEY);
        expect_error(BYTES("\x81\xa1"
                           "a\x82\xa1"
                           "b\x01\xa1"
                           "b\x01"),
                SCN_E_DUPLICATE_KEY);
        expect_error(BYTES("\x91\x82\xa1"
                           "a\x01\xa1"
                           "a\x02"),
                SCN_E_DUPLICATE_KEY);
}

SCN_TEST(value, tells_alike_keys_apart)
{
        expect(BYTES("\x82\xa1"
                     "a\x01\xa2"
                     "a\0\x02"),
                BYTES("\x82\xa1"
                      "a\x01\xa2"
                      "a\0\x02"));
        expect(BYTES("\x82\xa2"
                     "a\0\x02\xa1"
                     "a\0"),
                BYTES("\x82\xa2"
                      "a\0\x02\xa1"
                      "a\0"));
        expect(BYTES("\x82\xa8"
                     "prefix--\x01\xa9"
                     "prefix--x\x02"),
                BYTES("\x82\xa8"
                      "prefix--\x01\xa9"
                      "prefix--x\x02"));
        expect(BYTES("\x82\xa9"
                     "prefix--y\x01\xa9"
                     "prefix--x\x02"),
                BYTES("\x82\xa9"
                      "prefix--y\x01\xa9"
                      "prefix--x\x02"));
        /* the same key in two maps, beside and inside each other */
        expect(BYTES("\x92\x81\xa1"
                     "a\x01\x81\xa1"
                     "a\x01"),
                BYTES("\x92\x81\xa1"
                      "a\x01\x81\xa1"
                      "a\x01"));
        expect(BYTES("\x81\xa1"
                     "a\x81\xa1"
                     "a\x01"),
                BYTES("\x81\xa1"
                      "a\x81\xa1"
                      "a\x01"));
}

enum key_order {
        KEYS_RISING,
        KEYS_FALLING,
        KEYS_MIXED,
};

/* `count` keys of two bytes; the one at `repeated_at` is the first one again (count = none is). */
static void append_big_map(struct scn_buffer *buffer, enum key_order order, uint32_t count, uint32_t repeated_at)
{
        append_head(buffer, 0xde, count, 2);
        for (uint32_t i = 0; i < count; i++) {
                uint32_t at = i == repeated_at ? 0 : i;
                uint32_t key = order == KEYS_RISING ? at : order == KEYS_FALLING ? count - 1 - at : at * 7919u % count;
                append_byte(buffer, 0xa2);
                append_byte(buffer, key / 128 & 0x7f);
                append_byte(buffer, key & 0x7f);
                append_byte(buffer, 0x01);
        }
}

/* 7919 is prime and no divisor of the count, so the mixed keys are distinct. */
#define BIG_MAP_COUNT 16000u
/* Sorting takes 2 ms, and 10 under sanitizers; comparing each with each takes 200, and 2,000. */
#define BIG_MAP_SECONDS_MAX 0.1

/* Processor time of the best of three, so that a busy machine does not matter. */
static double seconds_to_judge(struct scn_slice input, enum scn_error expected)
{
        const struct scn_limits limits = default_limits();
        double best = 1e9;

        for (uint32_t i = 0; i < 3; i++) {
                struct scn_buffer buffer;
                scn_buffer_init(&buffer, BUFFER_BYTES_MAX);
                clock_t start = clock();
                cr_assert_eq(scn_value_canonicalise(input, &limits, &buffer), expected);
                double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
                best = seconds < best ? seconds : best;
                scn_buffer_finish(&buffer);
        }
        return best;
}

SCN_TEST(value, judges_a_map_of_thousands_of_keys_in_no_time)
{
        for (enum key_order order = KEYS_RISING; order <= KEYS_MIXED; order++) {
                struct scn_buffer input;
                scn_buffer_init(&input, BUFFER_BYTES_MAX);
                append_big_map(&input, order, BIG_MAP_COUNT, BIG_MAP_COUNT);
                expect(slice_of(&input), slice_of(&input));
                cr_assert_lt(seconds_to_judge(slice_of(&input), SCN_OK), BIG_MAP_SECONDS_MAX);
                for (uint32_t repeated_at = BIG_MAP_COUNT / 2; repeated_at < BIG_MAP_COUNT; repeated_at += 7999) {
                        scn_buffer_reset(&input);
                        append_big_map(&input, order, BIG_MAP_COUNT, repeated_at);
                        cr_assert_lt(seconds_to_judge(slice_of(&input), SCN_E_DUPLICATE_KEY), BIG_MAP_SECONDS_MAX);
                }
                scn_buffer_finish(&input);
        }
}

/* Malformed and hostile. */

SCN_TEST(value, cut_short_anywhere_or_followed_by_anything_is_refused)
{
        struct scn_slice whole = BYTES("\x86\xa1n\xc0\xa1"
                                       "b\xc3\xa1i\x95\x7f\xcc\xff\xcd\x12\x34\xce\x12\x34\x56\x78"
                                       "\xcf\x12\x34\x56\x78\x9a\xbc\xde\xf0\xa1j\x95\xe0\xd0\x80\xd1\x80\x01\xd2\x80\0"
                                       "\0\x01\xd3\x80\0\0\0\0\0\0\x01\xa1x\x82\xa1r\xd8\x01" UID_TEXT
                                       "\xa1h\xc7\x20\x02" HASH_TEXT "\xa1y\x94\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a\xca"
                                       "\x3f\x80\0\0\xc4\x03\0\x01\x02\xd9\x20" HASH_TEXT);
        struct scn_buffer longer;

        expect(whole, whole);
        for (uint32_t size = 0; size < whole.size; size++)
                expect_error((struct scn_slice){whole.data, size}, SCN_E_BAD_VALUE);
        scn_buffer_init(&longer, BUFFER_BYTES_MAX);
        append(&longer, whole.data, whole.size);
        append_byte(&longer, 0x01);
        expect_error(slice_of(&longer), SCN_E_BAD_VALUE);
        scn_buffer_finish(&longer);
}

/* CASES B37. Neither the time nor the memory may follow what is claimed. */
static void expect_hostile(struct scn_slice input, enum scn_error expected)
{
        struct scn_limits limits = default_limits();
        struct scn_buffer buffer;

        scn_buffer_init(&buffer, BUFFER_BYTES_MAX);
        struct scn_alloc_stats start = scn_alloc_stats();
        enum scn_error error = scn_value_canonicalise(input, &limits, &buffer);
        struct scn_alloc_stats end = scn_alloc_stats();
        cr_assert_eq(error, expected, "head %02x: %s", input.data[0], scn_error_code(error));
        cr_assert_leq(end.calls - start.calls, 1);
        cr_assert_leq(end.live_bytes - start.live_bytes, 2u * input.size + 64);
        scn_buffer_finish(&buffer);
        expect_error(input, expected);
}

SCN_TEST_WITH(value, is_not_impressed_by_claimed_counts, .timeout = 20)
{
        struct scn_buffer input;

        expect_hostile(BYTES("\xdd\xff\xff\xff\xff"), SCN_E_BAD_VALUE);
        expect_hostile(BYTES("\xdf\x7f\xff\xff\xff"), SCN_E_BAD_VALUE);
        expect_hostile(BYTES("\xdf\xff\xff\xff\xff"), SCN_E_BAD_VALUE);
        expect_hostile(BYTES("\xdf\x80\0\0\0"), SCN_E_BAD_VALUE);
        expect_hostile(BYTES("\xc6\xff\xff\xff\xff"), SCN_E_BAD_VALUE);
        expect_hostile(BYTES("\xdb\xff\xff\xff\xff"), SCN_E_BAD_VALUE);
        expect_hostile(BYTES("\xc9\xff\xff\xff\xff\x01"), SCN_E_BAD_VALUE);
        expect_hostile(BYTES("\x81\xdb\xff\xff\xff\xff"), SCN_E_BAD_VALUE);
        expect_hostile(BYTES("\x82\xa1x\xc0"), SCN_E_BAD_VALUE);

        scn_buffer_init(&input, BUFFER_BYTES_MAX);
        for (uint32_t i = 0; i < 24000; i++)
                append_head(&input, 0xdc, 0xffff, 2);
        expect_hostile(slice_of(&input), SCN_E_VALUE_TOO_DEEP);

        /* 31 levels that promise 65,535 elements each, and as many bytes behind as make the first promises true */
        scn_buffer_reset(&input);
        for (uint32_t i = 0; i < 31; i++)
                append_head(&input, 0xdc, 0xffff, 2);
        expect_hostile(slice_of(&input), SCN_E_BAD_VALUE);
        for (uint32_t i = 0; i < 65535; i++)
                append_byte(&input, 0xc0);
        expect_hostile(slice_of(&input), SCN_E_VALUE_TOO_DEEP);
        scn_buffer_finish(&input);
}

/* Memory. */

static enum scn_error canonicalise_big_map(void *data)
{
        const struct scn_buffer *input = data;
        const struct scn_limits limits = default_limits();
        struct scn_buffer buffer;

        scn_buffer_init(&buffer, BUFFER_BYTES_MAX);
        enum scn_error error = scn_value_canonicalise(slice_of(input), &limits, &buffer);
        cr_assert_eq(buffer.size, error == SCN_OK ? input->size : 0);
        scn_buffer_finish(&buffer);
        return error;
}

static enum scn_error check_big_map(void *data)
{
        const struct scn_limits limits = default_limits();
        return scn_value_check(slice_of(data), &limits);
}

SCN_TEST(value, survives_every_allocation_that_fails)
{
        struct scn_buffer input;

        scn_buffer_init(&input, BUFFER_BYTES_MAX);
        append_big_map(&input, KEYS_MIXED, 500, 500);
        scn_test_fail_each_allocation(canonicalise_big_map, &input);
        scn_test_fail_each_allocation(check_big_map, &input);
        scn_buffer_finish(&input);
}

SCN_TEST(value, check_of_a_small_one_allocates_nothing)
{
        const struct scn_limits limits = default_limits();
        uint64_t calls = scn_alloc_stats().calls;

        cr_assert_eq(scn_value_check(BYTES("\x82\xa1"
                                           "a\x01\xa1"
                                           "b\x92\xc3\xc0"),
                             &limits),
                SCN_OK);
        cr_assert_eq(scn_value_check(BYTES("\xcd\0\x01"), &limits), SCN_E_BAD_VALUE);
        cr_assert_eq(scn_value_check(BYTES("\x01\x01"), &limits), SCN_E_BAD_VALUE);
        cr_assert_eq(scn_alloc_stats().calls, calls);
}
