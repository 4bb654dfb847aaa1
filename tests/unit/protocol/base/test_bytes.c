/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/random.h"
#include "tests/lib/test.h"

#include "protocol/base/alloc.h"
#include "protocol/base/bytes.h"

#include <string.h>

SCN_TEST(buffer, owns_nothing_at_first)
{
        struct scn_buffer buffer;
        scn_buffer_init(&buffer, 100);
        cr_assert_eq(buffer.data, NULL);
        cr_assert_eq(buffer.size, 0);
        cr_assert_eq(buffer.size_max, 100);
        scn_buffer_finish(&buffer);
}

SCN_TEST(buffer, appends_in_order)
{
        struct scn_buffer buffer;
        scn_buffer_init(&buffer, 1000000);
        for (int i = 0; i < 1000; i++) {
                uint8_t piece[3] = {(uint8_t)i, (uint8_t)(i >> 8), 0x55};
                cr_assert_eq(scn_buffer_append(&buffer, piece, 3), SCN_OK);
        }
        cr_assert_eq(buffer.size, 3000);
        for (int i = 0; i < 1000; i++) {
                cr_assert_eq(buffer.data[3 * i], (uint8_t)i);
                cr_assert_eq(buffer.data[3 * i + 1], (uint8_t)(i >> 8));
                cr_assert_eq(buffer.data[3 * i + 2], 0x55);
        }
        scn_buffer_finish(&buffer);
}

SCN_TEST(buffer, appends_nothing_without_an_address)
{
        struct scn_buffer buffer;
        scn_buffer_init(&buffer, 10);
        cr_assert_eq(scn_buffer_append(&buffer, NULL, 0), SCN_OK);
        cr_assert_eq(buffer.size, 0);
        scn_buffer_finish(&buffer);
}

SCN_TEST(slice, copied_has_bytes_of_its_own_also_if_it_has_none)
{
        const uint8_t bytes[] = {1, 2, 3};
        struct scn_slice copy = {NULL, 7};
        cr_assert(scn_slice_copy((struct scn_slice){bytes, 3}, &copy));
        cr_assert(copy.data != bytes && copy.size == 3 && memcmp(copy.data, bytes, 3) == 0);
        scn_free((void *)copy.data);
        cr_assert(scn_slice_copy((struct scn_slice){NULL, 0}, &copy));
        cr_assert(copy.data != NULL && copy.size == 0);
        scn_free((void *)copy.data);
}

SCN_TEST(buffer, fills_to_its_maximum_and_refuses_one_byte_more)
{
        struct scn_buffer buffer;
        scn_buffer_init(&buffer, 10);
        cr_assert_eq(scn_buffer_append(&buffer, "0123456", 7), SCN_OK);
        cr_assert_eq(scn_buffer_append(&buffer, "7890", 4), SCN_E_TOO_LARGE);
        cr_assert_eq(buffer.size, 7);
        cr_assert_eq(scn_buffer_append(&buffer, "789", 3), SCN_OK);
        cr_assert_leq(buffer.capacity, 10);
        cr_assert_eq(scn_buffer_append(&buffer, "", 1), SCN_E_TOO_LARGE);
        cr_assert_eq(scn_buffer_reserve(&buffer, 1), SCN_E_TOO_LARGE);
        cr_assert_eq(scn_buffer_reserve(&buffer, SIZE_MAX), SCN_E_TOO_LARGE);
        cr_assert_eq(buffer.size, 10);
        cr_assert_eq(memcmp(buffer.data, "0123456789", 10), 0);
        scn_buffer_finish(&buffer);
}

SCN_TEST(buffer, of_maximum_zero_holds_nothing)
{
        struct scn_buffer buffer;
        scn_buffer_init(&buffer, 0);
        cr_assert_eq(scn_buffer_append(&buffer, "", 0), SCN_OK);
        cr_assert_eq(scn_buffer_append(&buffer, "x", 1), SCN_E_TOO_LARGE);
        cr_assert_eq(buffer.data, NULL);
        scn_buffer_finish(&buffer);
}

SCN_TEST(buffer, without_a_bound_still_refuses_what_no_machine_has)
{
        struct scn_buffer buffer;
        scn_buffer_init(&buffer, SIZE_MAX);
        cr_assert_eq(scn_buffer_append(&buffer, "abc", 3), SCN_OK);
        cr_assert_eq(scn_buffer_reserve(&buffer, SIZE_MAX), SCN_E_TOO_LARGE);
        cr_assert_eq(buffer.size, 3);
        cr_assert_eq(memcmp(buffer.data, "abc", 3), 0);
        scn_buffer_finish(&buffer);
}

SCN_TEST(buffer, does_not_allocate_for_what_was_reserved)
{
        struct scn_buffer buffer;
        scn_buffer_init(&buffer, 1000);
        cr_assert_eq(scn_buffer_reserve(&buffer, 600), SCN_OK);
        cr_assert_eq(buffer.size, 0);
        scn_alloc_fail_at(1, true);
        for (int i = 0; i < 600; i++)
                cr_assert_eq(scn_buffer_append(&buffer, "x", 1), SCN_OK);
        scn_buffer_finish(&buffer);
}

SCN_TEST(buffer, forgets_its_contents_and_keeps_its_memory)
{
        struct scn_buffer buffer;
        scn_buffer_init(&buffer, 1000);
        cr_assert_eq(scn_buffer_append(&buffer, "abc", 3), SCN_OK);
        scn_buffer_reset(&buffer);
        cr_assert_eq(buffer.size, 0);
        scn_alloc_fail_at(1, true);
        cr_assert_eq(scn_buffer_append(&buffer, "xyz", 3), SCN_OK);
        cr_assert_eq(memcmp(buffer.data, "xyz", 3), 0);
        scn_buffer_finish(&buffer);
}

SCN_TEST(buffer, is_unchanged_when_memory_is_out)
{
        struct scn_buffer buffer;
        scn_buffer_init(&buffer, 100000);
        cr_assert_eq(scn_buffer_append(&buffer, "abc", 3), SCN_OK);
        struct scn_buffer before = buffer;
        scn_alloc_fail_at(1, false);
        cr_assert_eq(scn_buffer_reserve(&buffer, 50000), SCN_E_NO_MEMORY);
        cr_assert_eq(buffer.data, before.data);
        cr_assert_eq(buffer.size, before.size);
        cr_assert_eq(buffer.capacity, before.capacity);
        cr_assert_eq(memcmp(buffer.data, "abc", 3), 0);
        scn_buffer_finish(&buffer);
}

static enum scn_error append_much(void *data)
{
        (void)data;
        struct scn_buffer buffer;
        scn_buffer_init(&buffer, 100000);
        enum scn_error error = SCN_OK;
        for (int i = 0; i < 200 && error == SCN_OK; i++)
                error = scn_buffer_append(&buffer, "0123456789", 10);
        scn_buffer_finish(&buffer);
        return error;
}

SCN_TEST(buffer, survives_each_failing_allocation)
{
        cr_assert_geq(scn_test_fail_each_allocation(append_much, NULL), 3);
}

SCN_TEST(buffer, can_be_finished_twice)
{
        struct scn_buffer buffer;
        scn_buffer_init(&buffer, 10);
        cr_assert_eq(scn_buffer_append(&buffer, "abc", 3), SCN_OK);
        scn_buffer_finish(&buffer);
        scn_buffer_finish(&buffer);
        cr_assert_eq(buffer.data, NULL);
}

/* ------------------------------------------------------------------ UTF-8 */

struct utf8_case {
        const char *text;
        size_t size;
};

#define UTF8(text) ((struct utf8_case){(text), sizeof(text) - 1})

SCN_TEST(utf8, accepts_the_first_and_last_of_each_length)
{
        static const struct utf8_case cases[] = {
                UTF8(""),
                UTF8("\0"), /* U+0000 is a character */
                UTF8("\x7f"),
                UTF8("\xc2\x80"),
                UTF8("\xdf\xbf"),
                UTF8("\xe0\xa0\x80"),
                UTF8("\xed\x9f\xbf"), /* the last before the surrogates */
                UTF8("\xee\x80\x80"), /* the first after them */
                UTF8("\xef\xbf\xbf"),
                UTF8("\xf0\x90\x80\x80"),
                UTF8("\xf4\x8f\xbf\xbf"), /* U+10FFFF */
                UTF8("plain ASCII of more than eight bytes"),
                UTF8("l\xc3\xa4uft, h\xc3\xb6rt, w\xc3\xbchlt"),
        };
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
                cr_assert(scn_utf8_is_valid((const uint8_t *)cases[i].text, cases[i].size), "case %zu", i);
}

SCN_TEST(utf8, accepts_nothing_without_an_address)
{
        cr_assert(scn_utf8_is_valid(NULL, 0));
}

SCN_TEST(utf8, refuses_what_rfc_3629_forbids)
{
        static const struct utf8_case cases[] = {
                UTF8("\x80"), /* a continuation alone */
                UTF8("\xbf"),
                UTF8("\xc0\x80"), /* overlong zero */
                UTF8("\xc1\xbf"), /* overlong U+007F */
                UTF8("\xe0\x80\x80"),
                UTF8("\xe0\x9f\xbf"), /* overlong U+07FF */
                UTF8("\xf0\x80\x80\x80"),
                UTF8("\xf0\x8f\xbf\xbf"), /* overlong U+FFFF */
                UTF8("\xed\xa0\x80"),     /* the first surrogate */
                UTF8("\xed\xbf\xbf"),     /* the last one */
                UTF8("\xf4\x90\x80\x80"), /* U+110000 */
                UTF8("\xf5\x80\x80\x80"),
                UTF8("\xf8\x88\x80\x80\x80"), /* five bytes, as once was allowed */
                UTF8("\xfe"),
                UTF8("\xff"),
                UTF8("\xc2"), /* cut off */
                UTF8("\xe2\x82"),
                UTF8("\xf0\x9f\x98"),
                UTF8("\xc2 "), /* something else where a continuation belongs */
                UTF8("\xc2\xc2"),
                UTF8("\xe2\x28\xac"),
                UTF8("\xe2\x82\x28"),
                UTF8("\xe2\x82\xc0"),
                UTF8("\xf0\x28\x98\x80"),
                UTF8("\xf0\x9f\x28\x80"),
                UTF8("\xf0\x9f\x98\x28"),
        };
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
                cr_assert_not(scn_utf8_is_valid((const uint8_t *)cases[i].text, cases[i].size), "case %zu", i);
}

SCN_TEST(utf8, finds_a_bad_byte_at_any_place_of_a_long_text)
{
        for (size_t size = 1; size <= 40; size++) {
                /* A block of exactly this size, so that a sanitizer sees every byte read beyond it. */
                uint8_t *text = scn_alloc(size);
                memset(text, 'a', size);
                cr_assert(scn_utf8_is_valid(text, size));
                for (size_t bad = 0; bad < size; bad++) {
                        text[bad] = 0x80;
                        cr_assert_not(scn_utf8_is_valid(text, size), "byte %zu of %zu", bad, size);
                        text[bad] = 'a';
                }
                scn_free(text);
        }
}

SCN_TEST(utf8, does_not_read_behind_the_end)
{
        /* The continuation that would complete the character lies outside. */
        static const uint8_t text[] = {'a', 0xc3, 0xbc};
        cr_assert_not(scn_utf8_is_valid(text, 2));
        cr_assert(scn_utf8_is_valid(text, 3));
}

/* The definition turned round: decode generously, then say what was wrong with it. */
static bool is_valid_slowly(const uint8_t *data, size_t size)
{
        for (size_t at = 0; at < size;) {
                uint32_t first = data[at], code, length;
                if (first < 0x80)
                        length = 1, code = first;
                else if ((first & 0xe0) == 0xc0)
                        length = 2, code = first & 0x1f;
                else if ((first & 0xf0) == 0xe0)
                        length = 3, code = first & 0x0f;
                else if ((first & 0xf8) == 0xf0)
                        length = 4, code = first & 0x07;
                else
                        return false;
                if (size - at < length)
                        return false;
                for (uint32_t i = 1; i < length; i++) {
                        if (data[at + i] < 0x80 || data[at + i] > 0xbf)
                                return false;
                        code = code << 6 | (data[at + i] & 0x3fu);
                }
                uint32_t shortest = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
                if (length != shortest || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
                        return false;
                at += length;
        }
        return true;
}

SCN_TEST(utf8, agrees_with_the_definition_on_all_texts_of_up_to_two_bytes)
{
        for (unsigned pair = 0; pair <= 0xffff; pair++) {
                uint8_t text[2] = {(uint8_t)pair, (uint8_t)(pair >> 8)};
                for (size_t size = 1; size <= 2; size++)
                        if (scn_utf8_is_valid(text, size) != is_valid_slowly(text, size))
                                cr_assert_fail("%02x %02x, %zu bytes", text[0], text[1], size);
        }
}

SCN_TEST(utf8, agrees_with_the_definition_on_random_texts)
{
        /* Bytes at the borders of the rules, so that long forms arise at all. */
        static const uint8_t pool[] = {'a', 0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xbf, 0x80, 0xc1, 0xc2,
                0xdf, 0xe0, 0xe1, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf4, 0xf5, 0xff};
        uint64_t seed = scn_test_seed(1);
        struct scn_random random = scn_random_from_seed(seed);
        unsigned valid_count = 0;
        for (int round = 0; round < 300000; round++) {
                uint8_t text[12];
                size_t size = 1 + scn_random_below(&random, sizeof text);
                for (size_t i = 0; i < size; i++)
                        text[i] = pool[scn_random_below(&random, sizeof pool)];
                bool is_valid = is_valid_slowly(text, size);
                if (scn_utf8_is_valid(text, size) != is_valid)
                        cr_assert_fail("seed %llu, round %d", (unsigned long long)seed, round);
                valid_count += is_valid;
        }
        cr_assert_gt(valid_count, 1000, "hardly anything valid was tried");
}

SCN_TEST(utf8, knows_what_a_reader_would_obey)
{
        static const struct {
                const char *text;
                uint32_t size, character;
        } cases[] = {
                {"\x1f", 1, 0x1f},
                {" ", 0, 0},
                {"~", 0, 0},
                {"\x7f", 1, 0x7f},
                {"\xc2\x80", 2, 0x80},
                {"\xc2\x9f", 2, 0x9f},
                {"\xc2\xa0", 0, 0},
                {"\xc2", 0, 0},
                {"\x9b", 0, 0},
                {"\xd8\x9c", 2, 0x61c},
                {"\xe2\x80\x8d", 0, 0},
                {"\xe2\x80\x8e", 3, 0x200e},
                {"\xe2\x80\x8f", 3, 0x200f},
                {"\xe2\x80\x90", 0, 0},
                {"\xe2\x80\xa7", 0, 0},
                {"\xe2\x80\xa8", 3, 0x2028},
                {"\xe2\x80\xae", 3, 0x202e},
                {"\xe2\x80\xaf", 0, 0},
                {"\xe2\x81\xa5", 0, 0},
                {"\xe2\x81\xa6", 3, 0x2066},
                {"\xe2\x81\xa9", 3, 0x2069},
                {"\xe2\x81", 0, 0},
                {"\xf0\x9f\x98\x80", 0, 0},
        };
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                uint32_t character;
                const uint32_t size =
                        scn_utf8_control_bytes((const uint8_t *)cases[i].text, strlen(cases[i].text), &character);
                cr_expect_eq(size, cases[i].size, "case %zu", i);
                cr_expect(size == 0 || character == cases[i].character, "case %zu", i);
        }
}
