/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/test.h"

#include <stdint.h>
#include <string.h>

static const struct {
        enum scn_error error;
        int number;
        const char *code;
        const char *text;
} rows[] = {
#define ROW(name, number, code, text) {SCN_E_##name, number, code, text},
        SCN_ERROR_LIST(ROW)
#undef ROW
};

#define ROWS_COUNT (sizeof rows / sizeof rows[0])

SCN_TEST(error, answers_with_code_and_text_of_its_row)
{
        for (size_t i = 0; i < ROWS_COUNT; i++) {
                cr_assert_eq((int)rows[i].error, rows[i].number);
                cr_assert_str_eq(scn_error_code(rows[i].error), rows[i].code);
                cr_assert_str_eq(scn_error_text(rows[i].error), rows[i].text);
        }
}

SCN_TEST(error, has_no_number_or_code_twice)
{
        for (size_t i = 0; i < ROWS_COUNT; i++) {
                cr_assert_lt(rows[i].number, 0, "%s is no error", rows[i].code);
                for (size_t k = 0; k < i; k++) {
                        cr_assert_neq(rows[i].number, rows[k].number, "%s, %s", rows[i].code, rows[k].code);
                        cr_assert_str_neq(rows[i].code, rows[k].code);
                }
        }
}

SCN_TEST(error, spells_codes_as_lower_case_words)
{
        for (size_t i = 0; i < ROWS_COUNT; i++) {
                const char *code = rows[i].code;
                cr_assert_gt(strlen(code), 0);
                cr_assert_eq(strspn(code, "abcdefghijklmnopqrstuvwxyz0123456789_"), strlen(code), "%s", code);
        }
}

SCN_TEST(error, spells_texts_as_one_line_without_a_full_stop)
{
        for (size_t i = 0; i < ROWS_COUNT; i++) {
                const char *text = rows[i].text;
                cr_assert_gt(strlen(text), 0);
                cr_assert_eq(strchr(text, '\n'), NULL, "%s", rows[i].code);
                cr_assert_neq(text[strlen(text) - 1], '.', "%s", rows[i].code);
        }
}

SCN_TEST(error, names_success_too)
{
        cr_assert_eq(SCN_OK, 0);
        cr_assert_str_eq(scn_error_code(SCN_OK), "ok");
        cr_assert_str_eq(scn_error_text(SCN_OK), "success");
}

SCN_TEST(error, answers_for_a_number_from_the_future)
{
        /* The volatile keeps a compiler that trusts enums from seeing through it. */
        volatile int number = -9999;
        cr_assert_str_eq(scn_error_code((enum scn_error)number), "unknown");
        cr_assert_str_eq(scn_error_text((enum scn_error)number), "unknown error");
}
