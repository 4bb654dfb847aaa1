/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/base64.h"

#include "tests/lib/random.h"
#include "tests/lib/test.h"

#include <string.h>

/* RFC 4648 §10. */
SCN_TEST(base64, agrees_with_the_examples_of_its_rfc)
{
        static const struct {
                const char *bytes;
                const char *text;
        } rows[] = {{"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}};

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                char text[5];
                uint8_t bytes[3];
                scn_base64_encode((const uint8_t *)rows[i].bytes, (uint32_t)strlen(rows[i].bytes), text);
                cr_expect_str_eq(text, rows[i].text);
                cr_assert_eq(scn_base64_count(text, 4), strlen(rows[i].bytes));
                scn_base64_decode(text, 4, bytes);
                cr_expect_eq(memcmp(bytes, rows[i].bytes, strlen(rows[i].bytes)), 0);
        }
}

SCN_TEST(base64, gives_back_any_bytes)
{
        struct scn_random random = scn_random_from_seed(scn_test_seed(4));

        for (uint32_t size = 1; size < 100; size++) {
                uint8_t bytes[100];
                uint8_t back[100];
                char text[140] = "";
                for (uint32_t i = 0; i < size; i++)
                        bytes[i] = (uint8_t)scn_random_next(&random);
                for (uint32_t i = 0; i < size; i += 3)
                        scn_base64_encode(bytes + i, size - i < 3 ? size - i : 3, text + i / 3 * 4);
                cr_assert_eq(scn_base64_count(text, strlen(text)), size);
                scn_base64_decode(text, strlen(text), back);
                cr_assert_eq(memcmp(bytes, back, size), 0);
        }
}

SCN_TEST(base64, takes_one_spelling_only)
{
        static const char *const texts[] = {"A", "AA", "AAA", "AAAAA", "Zh==", "Zm9=", "Z===", "====", "=AAA", "A=AA",
                "Zg=A", "Zm 9", "Zm9-", "Zm9_"};

        cr_expect_eq(scn_base64_count("", 0), 0);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
                cr_expect_eq(scn_base64_count(texts[i], strlen(texts[i])), SCN_BASE64_BAD, "%s", texts[i]);
        cr_expect_eq(scn_base64_count("Zm9\0", 4), SCN_BASE64_BAD);
}
