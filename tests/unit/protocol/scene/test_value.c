/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/scene/value.h"

#include "tests/lib/spelling.h"
#include "tests/lib/test.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Head bytes. */

/* `count` nils, or in a map the keys "a", "b", … with nil. */
static void append_elements(struct scn_buffer *buffer, uint32_t count, bool is_map)
{
        for (uint32_t i = 0; i < count; i++) {
                if (is_map) {
                        append_byte(buffer, 0xa1);
                        append_byte(buffer, 'a' + i);
                }
                append_byte(buffer, 0xc0);
        }
}

static void append_letters(struct scn_buffer *buffer, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                append_byte(buffer, 'x');
}

/* Objects of the heads that stand for themselves, all but 0xc0 to 0xdf. */
static void append_short_object(struct scn_buffer *buffer, uint32_t head)
{
        append_byte(buffer, head);
        if (head >= 0x80 && head <= 0x9f)
                append_elements(buffer, head & 0x0f, head <= 0x8f);
        else if (head >= 0xa0 && head <= 0xbf)
                append_letters(buffer, head & 0x1f);
}

SCN_TEST(value, keeps_every_short_head_as_it_is)
{
        uint32_t count = 0;

        for (uint32_t head = 0; head <= 0xff; head++) {
                if (head >= 0xc0 && head <= 0xdf)
                        continue;
                struct scn_buffer object;
                scn_buffer_init(&object, BUFFER_BYTES_MAX);
                append_short_object(&object, head);
                expect(slice_of(&object), slice_of(&object));
                scn_buffer_finish(&object);
                count++;
        }
        cr_assert_eq(count, 224);
}

SCN_TEST(value, spells_every_long_head_in_the_shortest_way)
{
        const struct {
                struct scn_slice input;
                struct scn_slice expected;
        } cases[] = {
                {BYTES("\xc2"), BYTES("\xc2")},
                {BYTES("\xc3"), BYTES("\xc3")},
                {BYTES("\xc4\x01x"), BYTES("\xc4\x01x")},
                {BYTES("\xc5\0\x01x"), BYTES("\xc4\x01x")},
                {BYTES("\xc6\0\0\0\x01x"), BYTES("\xc4\x01x")},
                {BYTES("\xc7\x10\x01" UID_TEXT), BYTES("\xd8\x01" UID_TEXT)},
                {BYTES("\xc7\x20\x02" HASH_TEXT), BYTES("\xc7\x20\x02" HASH_TEXT)},
                {BYTES("\xc8\0\x20\x02" HASH_TEXT), BYTES("\xc7\x20\x02" HASH_TEXT)},
                {BYTES("\xc9\0\0\0\x10\x01" UID_TEXT), BYTES("\xd8\x01" UID_TEXT)},
                {BYTES("\xca\x3f\xc0\0\0"), BYTES("\xca\x3f\xc0\0\0")},
                {BYTES("\xcb\x3f\xf8\0\0\0\0\0\0"), BYTES("\xca\x3f\xc0\0\0")},
                {BYTES("\xcc\x05"), BYTES("\x05")},
                {BYTES("\xcd\0\x05"), BYTES("\x05")},
                {BYTES("\xce\0\0\0\x05"), BYTES("\x05")},
                {BYTES("\xcf\0\0\0\0\0\0\0\x05"), BYTES("\x05")},
                {BYTES("\xd0\x05"), BYTES("\x05")},
                {BYTES("\xd1\0\x05"), BYTES("\x05")},
                {BYTES("\xd2\0\0\0\x05"), BYTES("\x05")},
                {BYTES("\xd3\0\0\0\0\0\0\0\x05"), BYTES("\x05")},
                {BYTES("\xd8\x01" UID_TEXT), BYTES("\xd8\x01" UID_TEXT)},
                {BYTES("\xd9\x01x"), BYTES("\xa1x")},
                {BYTES("\xda\0\x01x"), BYTES("\xa1x")},
                {BYTES("\xdb\0\0\0\x01x"), BYTES("\xa1x")},
                {BYTES("\xdc\0\x01\xc0"), BYTES("\x91\xc0")},
                {BYTES("\xdd\0\0\0\x01\xc0"), BYTES("\x91\xc0")},
                {BYTES("\xde\0\x01\xa1x\xc0"), BYTES("\x81\xa1x\xc0")},
                {BYTES("\xdf\0\0\0\x01\xa1x\xc0"), BYTES("\x81\xa1x\xc0")},
        };

        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
                expect(cases[i].input, cases[i].expected);
}

SCN_TEST(value, refuses_nil_on_top_the_unused_head_and_unknown_extensions)
{
        expect_error(BYTES(""), SCN_E_BAD_VALUE);
        expect_error(BYTES("\xc0"), SCN_E_BAD_VALUE);
        expect_error(BYTES("\xc1"), SCN_E_BAD_VALUE);
        expect_error(BYTES("\x91\xc1"), SCN_E_BAD_VALUE);
        expect_error(BYTES("\xd4\x01x"), SCN_E_BAD_VALUE);
        expect_error(BYTES("\xd5\x01xx"), SCN_E_BAD_VALUE);
        expect_error(BYTES("\xd6\xff\0\0\0\0"), SCN_E_BAD_VALUE); /* a timestamp */
        expect_error(BYTES("\xd7\x02xxxxxxxx"), SCN_E_BAD_VALUE);
        expect_error(BYTES("\xd8\x02" UID_TEXT), SCN_E_BAD_VALUE);
        expect_error(BYTES("\xd8\0" UID_TEXT), SCN_E_BAD_VALUE);
        expect_error(BYTES("\xd8\x03" UID_TEXT), SCN_E_BAD_VALUE);
        expect_error(BYTES("\xc7\0\x01"), SCN_E_BAD_VALUE);
        expect_error(BYTES("\xc7\x0f\x01"
                           "0123456789abcde"),
                SCN_E_BAD_VALUE);
        expect_error(BYTES("\xc7\x11\x01" UID_TEXT "x"), SCN_E_BAD_VALUE);
        expect_error(BYTES("\xc7\x20\x01" HASH_TEXT), SCN_E_BAD_VALUE);
        expect_error(BYTES("\xc7\x1f\x02"
                           "0123456789abcdef0123456789abcde"),
                SCN_E_BAD_VALUE);
        expect_error(BYTES("\xc7\x21\x02" HASH_TEXT "x"), SCN_E_BAD_VALUE);
}

SCN_TEST(value, of_a_lone_head_byte_is_only_what_needs_nothing_more)
{
        for (uint32_t head = 0; head <= 0xff; head++) {
                bool is_whole =
                        head <= 0x80 || head == 0x90 || head == 0xa0 || head == 0xc2 || head == 0xc3 || head >= 0xe0;
                uint8_t byte = (uint8_t)head;
                struct scn_slice input = {&byte, 1};
                if (is_whole)
                        expect(input, input);
                else
                        expect_error(input, SCN_E_BAD_VALUE);
        }
}

/* Numbers. */

/* The number in every width that holds it, unsigned and, if it fits there, signed. */
static void expect_uint(uint64_t number)
{
        struct scn_buffer expected;

        scn_buffer_init(&expected, BUFFER_BYTES_MAX);
        append_uint(&expected, number, bytes_of_uint(number));
        for (size_t i = 0; i < SIZES_COUNT; i++) {
                struct scn_buffer input;
                scn_buffer_init(&input, BUFFER_BYTES_MAX);
                if (sizes[i] >= bytes_of_uint(number)) {
                        append_uint(&input, number, sizes[i]);
                        expect(slice_of(&input), slice_of(&expected));
                }
                scn_buffer_reset(&input);
                if (sizes[i] != 0 && number >> (8 * sizes[i] - 1) == 0) {
                        append_int(&input, (int64_t)number, sizes[i]);
                        expect(slice_of(&input), slice_of(&expected));
                }
                scn_buffer_finish(&input);
        }
        scn_buffer_finish(&expected);
}

static void expect_negative(int64_t number)
{
        struct scn_buffer expected;

        scn_buffer_init(&expected, BUFFER_BYTES_MAX);
        append_int(&expected, number, bytes_of_int(number));
        for (size_t i = 0; i < SIZES_COUNT; i++) {
                struct scn_buffer input;
                scn_buffer_init(&input, BUFFER_BYTES_MAX);
                if (sizes[i] >= bytes_of_int(number)) {
                        append_int(&input, number, sizes[i]);
                        expect(slice_of(&input), slice_of(&expected));
                }
                scn_buffer_finish(&input);
        }
        scn_buffer_finish(&expected);
}

SCN_TEST(value, spells_integers_in_the_shortest_way_at_every_border)
{
        for (uint32_t bit = 0; bit < 64; bit++) {
                uint64_t power = UINT64_C(1) << bit;
                expect_uint(power - 1);
                expect_uint(power);
                expect_uint(power + 1);
                if (bit == 63)
                        continue;
                expect_negative(-(int64_t)power);
                expect_negative(-(int64_t)power - 1);
                if (bit != 0)
                        expect_negative(-(int64_t)power + 1);
        }
        expect_uint(UINT64_MAX);
        expect_negative(INT64_MIN);
}

static void expect_float64_kept(double number)
{
        struct scn_buffer object;

        scn_buffer_init(&object, BUFFER_BYTES_MAX);
        append_head(&object, 0xcb, bits_of(number), 8);
        expect(slice_of(&object), slice_of(&object));
        scn_buffer_finish(&object);
}

static void expect_float32(float number)
{
        struct scn_buffer narrow, wide;

        scn_buffer_init(&narrow, BUFFER_BYTES_MAX);
        scn_buffer_init(&wide, BUFFER_BYTES_MAX);
        append_head(&narrow, 0xca, bits_of_float(number), 4);
        append_head(&wide, 0xcb, bits_of((double)number), 8);
        expect(slice_of(&narrow), slice_of(&narrow));
        expect(slice_of(&wide), slice_of(&narrow));
        scn_buffer_finish(&narrow);
        scn_buffer_finish(&wide);
}

SCN_TEST(value, spells_floats_as_float32_where_that_is_exact)
{
        const float floats[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.1f, 16777216.0f, FLT_MAX, -FLT_MAX, FLT_MIN, 0x1p-149f,
                0x1.fffffcp-127f, FLT_EPSILON};
        const double doubles[] = {0.1, 1e300, -1e300, 16777217.0, 0x1p-150, 0x1.8p-149, DBL_MIN, 0x1p-1074, DBL_MAX,
                0x1.fffffefp127, 0x1p128, 1.0 + DBL_EPSILON};

        for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++)
                expect_float32(floats[i]);
        for (size_t i = 0; i < sizeof doubles / sizeof doubles[0]; i++)
                expect_float64_kept(doubles[i]);
}

SCN_TEST(value, never_turns_a_float_into_an_integer)
{
        expect(BYTES("\xcb\x3f\xf0\0\0\0\0\0\0"), BYTES("\xca\x3f\x80\0\0"));
        expect(BYTES("\xcb\x80\0\0\0\0\0\0\0"), BYTES("\xca\x80\0\0\0"));
}

SCN_TEST(value, refuses_numbers_that_are_not_finite)
{
        expect_error(BYTES("\xca\x7f\x80\0\0"), SCN_E_NOT_FINITE);
        expect_error(BYTES("\xca\xff\x80\0\0"), SCN_E_NOT_FINITE);
        expect_error(BYTES("\xca\x7f\xc0\0\0"), SCN_E_NOT_FINITE);
        expect_error(BYTES("\xca\x7f\x80\0\x01"), SCN_E_NOT_FINITE);
        expect_error(BYTES("\xcb\x7f\xf0\0\0\0\0\0\0"), SCN_E_NOT_FINITE);
        expect_error(BYTES("\xcb\xff\xf0\0\0\0\0\0\0"), SCN_E_NOT_FINITE);
        expect_error(BYTES("\xcb\x7f\xf8\0\0\0\0\0\0"), SCN_E_NOT_FINITE);
        expect_error(BYTES("\xcb\x7f\xf0\0\0\0\0\0\x01"), SCN_E_NOT_FINITE);
        expect_error(BYTES("\x81\xa1x\x92\x01\xca\x7f\xc0\0\0"), SCN_E_NOT_FINITE);
}

/* Sizes and counts. */

static void expect_family(enum family family, uint32_t count)
{
        const uint32_t widths[] = {0, 1, 2, 4};
        struct scn_buffer expected, input;

        scn_buffer_init(&expected, BUFFER_BYTES_MAX);
        scn_buffer_init(&input, BUFFER_BYTES_MAX);
        for (size_t i = 0; i < 4; i++) {
                if (expected.size == 0 && append_family_head(&expected, family, count, widths[i]))
                        append_contents(&expected, family, count);
                scn_buffer_reset(&input);
                if (!append_family_head(&input, family, count, widths[i]))
                        continue;
                append_contents(&input, family, count);
                expect(slice_of(&input), slice_of(&expected));
        }
        cr_assert_neq(expected.size, 0);
        scn_buffer_finish(&expected);
        scn_buffer_finish(&input);
}

SCN_TEST(value, spells_sizes_and_counts_in_the_shortest_way_at_every_border)
{
        const uint32_t counts[] = {0, 1, 15, 16, 17, 31, 32, 33, 255, 256, 257};

        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
                for (enum family family = FAMILY_STR; family <= FAMILY_MAP; family++)
                        expect_family(family, counts[i]);
        expect_family(FAMILY_STR, 65532);
        expect_family(FAMILY_BIN, 65533);
        expect_family(FAMILY_ARRAY, 65533);
}

SCN_TEST(value, spells_counts_above_two_bytes_when_the_limit_allows)
{
        struct scn_limits limits = default_limits();
        struct scn_buffer input;

        limits.value_bytes_max = 1u << 20;
        for (enum family family = FAMILY_STR; family <= FAMILY_ARRAY; family++) {
                scn_buffer_init(&input, BUFFER_BYTES_MAX);
                append_head(&input, families[family].heads[2], 65536, 4);
                append_contents(&input, family, 65536);
                expect_within(&limits, slice_of(&input), slice_of(&input));
                scn_buffer_finish(&input);
        }
}

SCN_TEST(value, counts_the_canonical_bytes_against_the_limit)
{
        struct scn_limits limits = default_limits();

        limits.value_bytes_max = 4;
        expect_within(&limits, BYTES("\xa3xyz"), BYTES("\xa3xyz"));
        expect_within(&limits, BYTES("\xdb\0\0\0\x03xyz"), BYTES("\xa3xyz"));
        expect_within(&limits, BYTES("\xdd\0\0\0\x03\x01\xcf\0\0\0\0\0\0\0\x02\x03"), BYTES("\x93\x01\x02\x03"));
        expect_error_within(&limits, BYTES("\xa4wxyz"), SCN_E_VALUE_TOO_LARGE);
        expect_error_within(&limits, BYTES("\x94\x01\x02\x03\x04"), SCN_E_VALUE_TOO_LARGE);
        expect_error_within(&limits, BYTES("\xce\x01\0\0\0"), SCN_E_VALUE_TOO_LARGE);
        limits.value_bytes_max = 0;
        expect_error_within(&limits, BYTES("\xc3"), SCN_E_VALUE_TOO_LARGE);
}

SCN_TEST(value, refuses_more_than_the_buffer_may_ever_hold)
{
        struct scn_limits limits = default_limits();
        struct scn_buffer buffer;

        scn_buffer_init(&buffer, 5);
        append(&buffer, before, sizeof before);
        cr_assert_eq(scn_value_canonicalise(BYTES("\xa2xy"), &limits, &buffer), SCN_E_TOO_LARGE);
        cr_assert_eq(buffer.size, sizeof before);
        cr_assert_eq(scn_value_canonicalise(BYTES("\xa1x"), &limits, &buffer), SCN_OK);
        cr_assert_eq(buffer.size, 5);
        scn_buffer_finish(&buffer);
}
