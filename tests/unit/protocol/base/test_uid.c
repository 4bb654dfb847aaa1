/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/random.h"
#include "tests/lib/test.h"

#include "protocol/base/uid.h"

#include <ctype.h>

static const struct scn_uid example = {
        {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10}};
static const char example_text[] = "01234567-89ab-cdef-fedc-ba9876543210";

SCN_TEST(uid, is_written_in_lower_case_with_hyphens)
{
        char text[SCN_UID_TEXT_LENGTH + 1];
        scn_uid_format(example, text);
        cr_assert_str_eq(text, example_text);
        scn_uid_format((struct scn_uid){{0}}, text);
        cr_assert_str_eq(text, "00000000-0000-0000-0000-000000000000");
}

SCN_TEST(uid, is_read_in_both_cases)
{
        struct scn_uid uid = {{0}};
        cr_assert(scn_uid_parse(example_text, SCN_UID_TEXT_LENGTH, &uid));
        cr_assert(scn_uid_equal(uid, example));
        uid = (struct scn_uid){{0}};
        cr_assert(scn_uid_parse("01234567-89AB-cDeF-FEDC-ba9876543210", SCN_UID_TEXT_LENGTH, &uid));
        cr_assert(scn_uid_equal(uid, example));
}

SCN_TEST(uid, comes_back_from_its_text)
{
        struct scn_random random = scn_random_from_seed(scn_test_seed(1));
        for (int i = 0; i < 1000; i++) {
                struct scn_uid uid = scn_random_uid(&random), back;
                char text[SCN_UID_TEXT_LENGTH + 1];
                scn_uid_format(uid, text);
                cr_assert(scn_uid_parse(text, SCN_UID_TEXT_LENGTH, &back));
                cr_assert(scn_uid_equal(uid, back), "%s", text);
        }
}

SCN_TEST(uid, is_refused_at_any_other_length)
{
        char text[] = "01234567-89ab-cdef-fedc-ba98765432100";
        struct scn_uid uid = example;
        for (size_t size = 0; size < sizeof text; size++)
                cr_assert_eq(scn_uid_parse(text, size, &uid), size == SCN_UID_TEXT_LENGTH, "size %zu", size);
}

SCN_TEST(uid, is_refused_with_a_wrong_character_anywhere)
{
        for (size_t at = 0; at < SCN_UID_TEXT_LENGTH; at++)
                for (int c = 0; c < 256; c++) {
                        char text[sizeof example_text];
                        memcpy(text, example_text, sizeof text);
                        bool is_fine = example_text[at] == '-' ? c == '-' : c < 128 && isxdigit(c);
                        text[at] = (char)c;
                        struct scn_uid uid = {{0}};
                        cr_assert_eq(scn_uid_parse(text, SCN_UID_TEXT_LENGTH, &uid), is_fine, "%d at %zu", c, at);
                        if (!is_fine)
                                cr_assert(scn_uid_is_none(uid), "a refused text left something behind");
                }
}

SCN_TEST(uid, without_hyphens_or_in_braces_is_refused)
{
        struct scn_uid uid;
        cr_assert_not(scn_uid_parse("0123456789abcdeffedcba98765432100000", SCN_UID_TEXT_LENGTH, &uid));
        cr_assert_not(scn_uid_parse("{0123456789abcdeffedcba987654321000}", SCN_UID_TEXT_LENGTH, &uid));
}

SCN_TEST(uid, of_zeroes_is_none_and_no_other_is)
{
        struct scn_uid uid = {{0}};
        cr_assert(scn_uid_is_none(uid));
        for (size_t i = 0; i < sizeof uid.bytes; i++) {
                uid.bytes[i] = 1;
                cr_assert_not(scn_uid_is_none(uid));
                cr_assert_not(scn_uid_equal(uid, (struct scn_uid){{0}}));
                uid.bytes[i] = 0;
        }
}

SCN_TEST(uid, from_random_bytes_has_version_4_and_the_variant)
{
        uint8_t bytes[16];
        char text[SCN_UID_TEXT_LENGTH + 1];
        memset(bytes, 0x00, sizeof bytes);
        scn_uid_format(scn_uid_from_random(bytes), text);
        cr_assert_str_eq(text, "00000000-0000-4000-8000-000000000000");
        memset(bytes, 0xff, sizeof bytes);
        scn_uid_format(scn_uid_from_random(bytes), text);
        cr_assert_str_eq(text, "ffffffff-ffff-4fff-bfff-ffffffffffff");
}
