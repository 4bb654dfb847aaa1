/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/scene/value.h"

#include "tests/lib/random.h"
#include "tests/lib/test.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#define BYTES(literal) ((struct scn_slice){(const uint8_t *)(literal), (uint32_t)(sizeof(literal) - 1)})
#define BUFFER_BYTES_MAX ((size_t)1 << 24)

/* What stands in the buffer before the call, to see that it is appended to and left alone. */
static const uint8_t before[] = {0xaa, 0xbb, 0xcc};

static struct scn_limits default_limits(void)
{
        return SCN_LIMITS_DEFAULT;
}

static struct scn_slice slice_of(const struct scn_buffer *buffer)
{
        return (struct scn_slice){buffer->data, (uint32_t)buffer->size};
}

static void append(struct scn_buffer *buffer, const void *bytes, size_t size)
{
        cr_assert_eq(scn_buffer_append(buffer, bytes, size), SCN_OK);
}

static void append_byte(struct scn_buffer *buffer, uint32_t byte)
{
        uint8_t narrow = (uint8_t)byte;
        append(buffer, &narrow, 1);
}

static void append_big_endian(struct scn_buffer *buffer, uint64_t number, uint32_t size)
{
        while (size-- != 0)
                append_byte(buffer, (uint32_t)(number >> (8 * size) & 0xff));
}

static void append_head(struct scn_buffer *buffer, uint32_t byte, uint64_t argument, uint32_t argument_bytes)
{
        append_byte(buffer, byte);
        append_big_endian(buffer, argument, argument_bytes);
}

/* Runs the walker over a copy in a block of exactly this size, so that a sanitizer sees a byte read too many.
 * On success *spelled holds the canonical bytes alone; the caller ends it. */
static enum scn_error spell_within(struct scn_slice input, const struct scn_limits *limits, struct scn_buffer *spelled)
{
        uint8_t *copy = scn_alloc(input.size);
        struct scn_buffer buffer;

        cr_assert_not_null(copy);
        if (input.size != 0)
                memcpy(copy, input.data, input.size);
        scn_buffer_init(&buffer, BUFFER_BYTES_MAX);
        append(&buffer, before, sizeof before);
        enum scn_error error = scn_value_canonicalise((struct scn_slice){copy, input.size}, limits, &buffer);
        cr_assert_eq(memcmp(buffer.data, before, sizeof before), 0, "bytes before were touched");
        if (error == SCN_OK)
                cr_assert_leq(buffer.size - sizeof before, input.size, "longer than the input");
        else
                cr_assert_eq(buffer.size, sizeof before, "a refused value was left in the buffer");

        enum scn_error check = scn_value_check((struct scn_slice){copy, input.size}, limits);
        bool is_same = error == SCN_OK && buffer.size - sizeof before == input.size &&
                memcmp(buffer.data + sizeof before, copy, input.size) == 0;
        cr_assert_eq(check == SCN_OK, is_same, "check says %s", scn_error_code(check));
        cr_assert_eq(scn_value_is_canonical((struct scn_slice){copy, input.size}, limits), is_same);

        scn_buffer_init(spelled, BUFFER_BYTES_MAX);
        if (error == SCN_OK)
                append(spelled, buffer.data + sizeof before, buffer.size - sizeof before);
        scn_buffer_finish(&buffer);
        scn_free(copy);
        return error;
}

static void expect_within(const struct scn_limits *limits, struct scn_slice input, struct scn_slice expected)
{
        struct scn_buffer spelled;
        enum scn_error error = spell_within(input, limits, &spelled);

        cr_assert_eq(
                error, SCN_OK, "head %02x, %" PRIu32 " bytes: %s", input.data[0], input.size, scn_error_code(error));
        cr_assert_eq(spelled.size, expected.size, "head %02x: %zu bytes instead of %" PRIu32, input.data[0],
                spelled.size, expected.size);
        cr_assert_eq(memcmp(spelled.data, expected.data, expected.size), 0, "head %02x: other bytes", input.data[0]);
        scn_buffer_finish(&spelled);

        /* What is canonical stays as it is. */
        cr_assert_eq(spell_within(expected, limits, &spelled), SCN_OK);
        cr_assert_eq(spelled.size, expected.size);
        cr_assert_eq(memcmp(spelled.data, expected.data, expected.size), 0);
        scn_buffer_finish(&spelled);
}

static void expect(struct scn_slice input, struct scn_slice expected)
{
        struct scn_limits limits = default_limits();
        expect_within(&limits, input, expected);
}

static void expect_error_within(const struct scn_limits *limits, struct scn_slice input, enum scn_error expected)
{
        struct scn_buffer spelled;
        enum scn_error error = spell_within(input, limits, &spelled);

        cr_assert_eq(error, expected, "head %02x, %" PRIu32 " bytes: %s instead of %s",
                input.size != 0 ? input.data[0] : 0u, input.size, scn_error_code(error), scn_error_code(expected));
        scn_buffer_finish(&spelled);
}

static void expect_error(struct scn_slice input, enum scn_error expected)
{
        struct scn_limits limits = default_limits();
        expect_error_within(&limits, input, expected);
}

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

#define UID_TEXT "0123456789abcdef"
#define HASH_TEXT UID_TEXT UID_TEXT

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

static uint32_t bytes_of_uint(uint64_t number)
{
        return number <= 0x7f ? 0 : number <= 0xff ? 1 : number <= 0xffff ? 2 : number <= UINT32_MAX ? 4 : 8;
}

static uint32_t bytes_of_int(int64_t number)
{
        return number >= -32 ? 0 : number >= -128 ? 1 : number >= -32768 ? 2 : number >= INT32_MIN ? 4 : 8;
}

static uint32_t log2_of(uint32_t size)
{
        return size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
}

static void append_uint(struct scn_buffer *buffer, uint64_t number, uint32_t size)
{
        if (size == 0)
                append_byte(buffer, (uint32_t)number);
        else
                append_head(buffer, 0xcc + log2_of(size), number, size);
}

static void append_int(struct scn_buffer *buffer, int64_t number, uint32_t size)
{
        if (size == 0)
                append_byte(buffer, (uint32_t)number & 0xff);
        else
                append_head(buffer, 0xd0 + log2_of(size), (uint64_t)number, size);
}

static const uint32_t sizes[] = {0, 1, 2, 4, 8};
#define SIZES_COUNT (sizeof sizes / sizeof sizes[0])

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

static uint64_t bits_of(double number)
{
        uint64_t bits;
        memcpy(&bits, &number, sizeof bits);
        return bits;
}

static uint32_t bits_of_float(float number)
{
        uint32_t bits;
        memcpy(&bits, &number, sizeof bits);
        return bits;
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

enum family {
        FAMILY_STR,
        FAMILY_BIN,
        FAMILY_ARRAY,
        FAMILY_MAP,
};

/* Heads by width of the count: in the head itself (0 = there is none), 1, 2 and 4 bytes. */
static const struct {
        uint32_t short_head, short_max;
        uint32_t heads[4]; /* of 1, 2 and 4 bytes; none of 8 */
} families[] = {
        [FAMILY_STR] = {0xa0, 31, {0xd9, 0xda, 0xdb}},
        [FAMILY_BIN] = {0, 0, {0xc4, 0xc5, 0xc6}},
        [FAMILY_ARRAY] = {0x90, 15, {0, 0xdc, 0xdd}},
        [FAMILY_MAP] = {0x80, 15, {0, 0xde, 0xdf}},
};

/* False if the family has no such head or the count does not fit. */
static bool append_family_head(struct scn_buffer *buffer, enum family family, uint32_t count, uint32_t width)
{
        if (width == 0) {
                if (families[family].short_head == 0 || count > families[family].short_max)
                        return false;
                append_byte(buffer, families[family].short_head + count);
                return true;
        }
        uint32_t head = families[family].heads[log2_of(width)];
        if (head == 0 || (width < 4 && count >> (8 * width) != 0))
                return false;
        append_head(buffer, head, count, width);
        return true;
}

static void append_contents(struct scn_buffer *buffer, enum family family, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                if (family == FAMILY_MAP) {
                        append_byte(buffer, 0xa3);
                        append_byte(buffer, 'a' + i % 26);
                        append_byte(buffer, 'a' + i / 26 % 26);
                        append_byte(buffer, 'a' + i / 676);
                }
                append_byte(buffer, 'x');
        }
}

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

/* Random values: a generator that knows the canonical spelling writes it beside another one. */

struct pair {
        struct scn_buffer any;
        struct scn_buffer canonical;
};

static void append_both(struct pair *pair, const void *bytes, size_t size)
{
        append(&pair->any, bytes, size);
        append(&pair->canonical, bytes, size);
}

static uint32_t random_size_from(struct scn_random *random, uint32_t least)
{
        uint32_t size;

        do
                size = sizes[scn_random_below(random, SIZES_COUNT)];
        while (size < least);
        return size;
}

static void generate_number(struct scn_random *random, struct pair *pair)
{
        uint64_t bits = scn_random_next(random) >> scn_random_below(random, 64);
        int64_t negative = -(int64_t)(bits >> 1) - 1;
        float narrow = scn_random_float(random, -100.0f, 100.0f);
        double wide = (double)narrow * 1.0000001;

        switch (scn_random_below(random, 4)) {
        case 0:
                append_uint(&pair->canonical, bits, bytes_of_uint(bits));
                append_uint(&pair->any, bits, random_size_from(random, bytes_of_uint(bits)));
                break;
        case 1:
                append_int(&pair->canonical, negative, bytes_of_int(negative));
                append_int(&pair->any, negative, random_size_from(random, bytes_of_int(negative)));
                break;
        case 2:
                append_head(&pair->canonical, 0xca, bits_of_float(narrow), 4);
                if (scn_random_chance(random, 50))
                        append_head(&pair->any, 0xca, bits_of_float(narrow), 4);
                else
                        append_head(&pair->any, 0xcb, bits_of((double)narrow), 8);
                break;
        default:
                if ((double)(float)wide == wide)
                        append_head(&pair->canonical, 0xca, bits_of_float((float)wide), 4);
                else
                        append_head(&pair->canonical, 0xcb, bits_of(wide), 8);
                append_head(&pair->any, 0xcb, bits_of(wide), 8);
                break;
        }
}

static void generate_head(struct scn_random *random, struct pair *pair, enum family family, uint32_t count)
{
        const uint32_t widths[] = {0, 1, 2, 4};
        uint32_t i = 0;

        while (!append_family_head(&pair->canonical, family, count, widths[i]))
                i++;
        while (!append_family_head(&pair->any, family, count, widths[i + scn_random_below(random, 4 - i)]))
                continue;
}

static void generate_key(struct scn_random *random, struct pair *pair, uint32_t number)
{
        uint32_t filling = scn_random_below(random, 40);

        generate_head(random, pair, FAMILY_STR, filling + 1);
        for (uint32_t i = 0; i < filling; i++)
                append_both(pair, "k", 1);
        uint8_t last = (uint8_t)('A' + number);
        append_both(pair, &last, 1);
}

static void generate(struct scn_random *random, struct pair *pair, uint32_t levels)
{
        uint32_t count = scn_random_below(random, 20);

        switch (scn_random_below(random, levels != 0 ? 8 : 4)) {
        case 0:
        case 1:
                generate_number(random, pair);
                break;
        case 2:
                append_both(pair, scn_random_chance(random, 50) ? "\xc2" : "\xc3", 1);
                break;
        case 3:
                count = scn_random_below(random, 300);
                generate_head(random, pair, scn_random_chance(random, 50) ? FAMILY_STR : FAMILY_BIN, count);
                for (uint32_t i = 0; i < count; i++)
                        append_both(pair, "t", 1);
                break;
        case 4:
                append(&pair->any, "\xc7\x10\x01" UID_TEXT, 19);
                append(&pair->canonical, "\xd8\x01" UID_TEXT, 18);
                break;
        case 5:
                generate_head(random, pair, FAMILY_MAP, count);
                for (uint32_t i = 0; i < count; i++) {
                        generate_key(random, pair, i);
                        generate(random, pair, levels - 1);
                }
                break;
        default:
                generate_head(random, pair, FAMILY_ARRAY, count);
                for (uint32_t i = 0; i < count; i++)
                        generate(random, pair, levels - 1);
                break;
        }
}

/* Whatever a damaged value is taken for, its canonical spelling is one, and stays. */
static void damage(struct scn_random *random, struct scn_buffer *value)
{
        const struct scn_limits limits = default_limits();
        struct scn_buffer spelled;

        for (uint32_t i = 0; i < 8; i++) {
                value->data[scn_random_below(random, (uint32_t)value->size)] = (uint8_t)scn_random_next(random);
                if (spell_within(slice_of(value), &limits, &spelled) == SCN_OK)
                        expect(slice_of(&spelled), slice_of(&spelled));
                scn_buffer_finish(&spelled);
        }
}

SCN_TEST_WITH(value, random_has_one_canonical_spelling_which_stays, .timeout = 60)
{
        uint64_t seed = scn_test_seed(1);
        uint32_t other_spellings = 0;
        struct scn_limits limits = default_limits();

        limits.value_bytes_max = 1u << 22;
        for (uint32_t i = 0; i < 600; i++) {
                struct scn_random random = scn_random_from_seed(seed * 1000003 + i);
                struct pair pair;
                scn_buffer_init(&pair.any, BUFFER_BYTES_MAX);
                scn_buffer_init(&pair.canonical, BUFFER_BYTES_MAX);
                generate(&random, &pair, 3);
                other_spellings += pair.any.size != pair.canonical.size;
                expect_within(&limits, slice_of(&pair.any), slice_of(&pair.canonical));
                damage(&random, &pair.any);
                scn_buffer_finish(&pair.any);
                scn_buffer_finish(&pair.canonical);
        }
        cr_assert_gt(other_spellings, 300, "the generator hardly ever spells otherwise: seed %" PRIu64, seed);
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

/* Numbers of fields (CASES B39). */

static struct scn_number number_int(int64_t i)
{
        return (struct scn_number){.kind = SCN_NUMBER_INT, .value.i = i};
}

static struct scn_number number_uint(uint64_t u)
{
        return (struct scn_number){.kind = SCN_NUMBER_UINT, .value.u = u};
}

static struct scn_number number_float(double f)
{
        return (struct scn_number){.kind = SCN_NUMBER_FLOAT, .value.f = f};
}

static void expect_float(struct scn_number number, float expected)
{
        float result = 12345.0f;

        cr_assert_eq(scn_number_to_float(&number, &result), SCN_OK);
        cr_assert_eq(
                bits_of_float(result), bits_of_float(expected), "%a instead of %a", (double)result, (double)expected);
}

static void expect_no_float(struct scn_number number, enum scn_error expected)
{
        float result = 12345.0f;

        cr_assert_eq(scn_number_to_float(&number, &result), expected);
        cr_assert_eq(result, 12345.0f);
}

SCN_TEST(number, of_every_family_is_taken_for_a_float)
{
        expect_float(number_uint(1), 1.0f);
        expect_float(number_int(-1), -1.0f);
        expect_float(number_int(INT64_MIN), -0x1p63f);
        expect_float(number_uint(UINT64_MAX), 0x1p64f);
        expect_float(number_float((double)0.1f), 0.1f);
        expect_float(number_float(0.1), 0.1f);
        expect_float(number_float(-0.0), -0.0f);
        expect_float(number_float(0x1p-149), 0x1p-149f);
        expect_float(number_float(0x1p-1074), 0.0f);
        expect_float(number_float((double)FLT_MAX), FLT_MAX);
}

SCN_TEST(number, is_rounded_to_float_once_and_to_even)
{
        expect_float(number_uint(16777217), 16777216.0f);
        expect_float(number_uint(16777219), 16777220.0f);
        /* By way of a double this would first become the exact middle, and then the even neighbour below. */
        expect_float(number_uint((UINT64_C(1) << 62) + (UINT64_C(1) << 38) + 1), 0x1.000002p62f);
        expect_float(number_int(-(INT64_C(1) << 62) - (INT64_C(1) << 38) - 1), -0x1.000002p62f);
        /* The largest double that still rounds to FLT_MAX; the next one up is half way and goes to even. */
        expect_float(number_float(0x1.fffffefffffffp127), FLT_MAX);
        expect_no_float(number_float(0x1.ffffffp127), SCN_E_RANGE);
}

SCN_TEST(number, out_of_range_is_refused_for_a_float)
{
        expect_no_float(number_float(1e300), SCN_E_RANGE);
        expect_no_float(number_float(-1e300), SCN_E_RANGE);
        expect_no_float(number_float((double)NAN), SCN_E_NOT_FINITE);
        expect_no_float(number_float((double)INFINITY), SCN_E_NOT_FINITE);
        expect_no_float(number_float(-(double)INFINITY), SCN_E_NOT_FINITE);
}

static void expect_integer(struct scn_number number, uint64_t max, uint64_t expected)
{
        uint64_t result = 12345;

        cr_assert_eq(scn_number_to_integer(&number, max, &result), SCN_OK);
        cr_assert_eq(result, expected, "%" PRIu64 " instead of %" PRIu64, result, expected);
}

static void expect_no_integer(struct scn_number number, uint64_t max, enum scn_error expected)
{
        uint64_t result = 12345;

        cr_assert_eq(scn_number_to_integer(&number, max, &result), expected);
        cr_assert_eq(result, 12345);
}

SCN_TEST(number, is_taken_for_an_integer_exactly_or_not_at_all)
{
        const uint64_t numbers[] = {
                0, 1, UINT64_C(1) << 31, UINT64_C(1) << 32, (UINT64_C(1) << 53) + 1, UINT64_C(1) << 63, UINT64_MAX};

        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
                expect_integer(number_uint(numbers[i]), UINT64_MAX, numbers[i]);
                expect_integer(number_uint(numbers[i]), numbers[i], numbers[i]);
                if (numbers[i] != 0)
                        expect_no_integer(number_uint(numbers[i]), numbers[i] - 1, SCN_E_RANGE);
        }
        expect_no_integer(number_uint((UINT64_C(1) << 53) + 1), SCN_REVISION_MAX, SCN_E_RANGE);
        expect_no_integer(number_uint(UINT64_C(1) << 32), UINT32_MAX, SCN_E_RANGE);
        expect_no_integer(number_int(-1), UINT64_MAX, SCN_E_RANGE);
        expect_no_integer(number_int(INT64_MIN), UINT64_MAX, SCN_E_RANGE);
        expect_integer(number_int(7), 7, 7);
}

SCN_TEST(number, with_a_point_is_an_integer_when_it_is_whole)
{
        expect_integer(number_float(1.0), UINT64_MAX, 1);
        expect_integer(number_float(-0.0), UINT64_MAX, 0);
        expect_integer(number_float(0x1p31), UINT64_MAX, UINT64_C(1) << 31);
        expect_integer(number_float(0x1p53), UINT64_MAX, UINT64_C(1) << 53);
        expect_integer(number_float(0x1p63), UINT64_MAX, UINT64_C(1) << 63);
        expect_integer(number_float(0x1.fffffffffffffp63), UINT64_MAX, UINT64_MAX - 2047);
        expect_no_integer(number_float(0x1p64), UINT64_MAX, SCN_E_RANGE);
        expect_no_integer(number_float(1e300), UINT64_MAX, SCN_E_RANGE);
        expect_no_integer(number_float(-1.0), UINT64_MAX, SCN_E_RANGE);
        expect_no_integer(number_float(-1e300), UINT64_MAX, SCN_E_RANGE);
        expect_no_integer(number_float(1.5), UINT64_MAX, SCN_E_NOT_INTEGER);
        expect_no_integer(number_float(-1.5), UINT64_MAX, SCN_E_NOT_INTEGER);
        expect_no_integer(number_float(0x1p-1074), UINT64_MAX, SCN_E_NOT_INTEGER);
        expect_no_integer(number_float((double)NAN), UINT64_MAX, SCN_E_NOT_FINITE);
        expect_no_integer(number_float(-(double)INFINITY), UINT64_MAX, SCN_E_NOT_FINITE);
        expect_no_integer(number_float(0x1p32), UINT32_MAX, SCN_E_RANGE);
}
