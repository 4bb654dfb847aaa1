/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_SPELLING_H
#define SCN_TESTS_LIB_SPELLING_H

/* Writing msgpack in any spelling, and asserting what the walker of value.h makes of it. */

#include "protocol/scene/value.h"
#include "tests/lib/test.h"

#include <inttypes.h>
#include <string.h>

#define BYTES(literal) ((struct scn_slice){(const uint8_t *)(literal), (uint32_t)(sizeof(literal) - 1)})
#define BUFFER_BYTES_MAX ((size_t)1 << 24)

/* What stands in the buffer before the call, to see that it is appended to and left alone. */
static const uint8_t before[] = {0xaa, 0xbb, 0xcc};

static inline struct scn_limits default_limits(void)
{
        return SCN_LIMITS_DEFAULT;
}

static inline struct scn_slice slice_of(const struct scn_buffer *buffer)
{
        return (struct scn_slice){buffer->data, (uint32_t)buffer->size};
}

static inline void append(struct scn_buffer *buffer, const void *bytes, size_t size)
{
        cr_assert_eq(scn_buffer_append(buffer, bytes, size), SCN_OK);
}

static inline void append_byte(struct scn_buffer *buffer, uint32_t byte)
{
        uint8_t narrow = (uint8_t)byte;
        append(buffer, &narrow, 1);
}

static inline void append_big_endian(struct scn_buffer *buffer, uint64_t number, uint32_t size)
{
        while (size-- != 0)
                append_byte(buffer, (uint32_t)(number >> (8 * size) & 0xff));
}

static inline void append_head(struct scn_buffer *buffer, uint32_t byte, uint64_t argument, uint32_t argument_bytes)
{
        append_byte(buffer, byte);
        append_big_endian(buffer, argument, argument_bytes);
}

/* Runs the walker over a copy in a block of exactly this size, so that a sanitizer sees a byte read too many.
 * On success *spelled holds the canonical bytes alone; the caller ends it. */
static inline enum scn_error spell_within(
        struct scn_slice input, const struct scn_limits *limits, struct scn_buffer *spelled)
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

static inline void expect_within(const struct scn_limits *limits, struct scn_slice input, struct scn_slice expected)
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

static inline void expect(struct scn_slice input, struct scn_slice expected)
{
        struct scn_limits limits = default_limits();
        expect_within(&limits, input, expected);
}

static inline void expect_error_within(const struct scn_limits *limits, struct scn_slice input, enum scn_error expected)
{
        struct scn_buffer spelled;
        enum scn_error error = spell_within(input, limits, &spelled);

        cr_assert_eq(error, expected, "head %02x, %" PRIu32 " bytes: %s instead of %s",
                input.size != 0 ? input.data[0] : 0u, input.size, scn_error_code(error), scn_error_code(expected));
        scn_buffer_finish(&spelled);
}

static inline void expect_error(struct scn_slice input, enum scn_error expected)
{
        struct scn_limits limits = default_limits();
        expect_error_within(&limits, input, expected);
}

/* What a node's uid and a blob's hash look like inside a value. */
#define UID_TEXT "0123456789abcdef"
#define HASH_TEXT UID_TEXT UID_TEXT

/* Numbers and heads. */

static inline uint32_t bytes_of_uint(uint64_t number)
{
        return number <= 0x7f ? 0 : number <= 0xff ? 1 : number <= 0xffff ? 2 : number <= UINT32_MAX ? 4 : 8;
}

static inline uint32_t bytes_of_int(int64_t number)
{
        return number >= -32 ? 0 : number >= -128 ? 1 : number >= -32768 ? 2 : number >= INT32_MIN ? 4 : 8;
}

static inline uint32_t log2_of(uint32_t size)
{
        return size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
}

static inline void append_uint(struct scn_buffer *buffer, uint64_t number, uint32_t size)
{
        if (size == 0)
                append_byte(buffer, (uint32_t)number);
        else
                append_head(buffer, 0xcc + log2_of(size), number, size);
}

static inline void append_int(struct scn_buffer *buffer, int64_t number, uint32_t size)
{
        if (size == 0)
                append_byte(buffer, (uint32_t)number & 0xff);
        else
                append_head(buffer, 0xd0 + log2_of(size), (uint64_t)number, size);
}

static const uint32_t sizes[] = {0, 1, 2, 4, 8};
#define SIZES_COUNT (sizeof sizes / sizeof sizes[0])

static inline uint64_t bits_of(double number)
{
        uint64_t bits;
        memcpy(&bits, &number, sizeof bits);
        return bits;
}

static inline uint32_t bits_of_float(float number)
{
        uint32_t bits;
        memcpy(&bits, &number, sizeof bits);
        return bits;
}

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
static inline bool append_family_head(struct scn_buffer *buffer, enum family family, uint32_t count, uint32_t width)
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

static inline void append_contents(struct scn_buffer *buffer, enum family family, uint32_t count)
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

#endif
