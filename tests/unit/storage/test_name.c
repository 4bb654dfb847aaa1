/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "storage/name.h"
#include "tests/lib/random.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

static const struct {
        const char *name;
        const char *file;
} pairs[] = {
        {"island", "island.scene"},
        {"Island", "Island.scene"},
        {"levels/one", "levels%2Fone.scene"},
        {".", "%2E.scene"},
        {"..", "%2E..scene"},
        {".hidden", "%2Ehidden.scene"},
        {"a.b", "a.b.scene"},
        {"../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd.scene"},
        {"100%", "100%25.scene"},
        {"%2F", "%252F.scene"},
        {"a b", "a b.scene"},
        {"-rf", "-rf.scene"},
        {"C:\\x", "C%3A%5Cx.scene"},
        {"line\nfeed", "line%0Afeed.scene"},
        {"del\x7f", "del%7F.scene"},
        {"остров", "остров.scene"},
        {"a.scene", "a.scene.scene"},
        {"trash", "trash.scene"},
        {"x.1", "x.1.scene"},
        {"?*<>|\"", "%3F%2A%3C%3E%7C%22.scene"},
};

SCN_TEST(storage_name, becomes_a_file_name_and_comes_back)
{
        for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
                struct scn_storage_file_name file;
                struct scn_storage_name name;
                SCN_TEST_OK(scn_storage_name_to_file(scn_test_text(pairs[i].name), &file, NULL));
                cr_assert_str_eq(file.text, pairs[i].file);
                cr_assert(scn_storage_name_from_file(file.text, SCN_STORAGE_DOCUMENTS, &name), "%s", file.text);
                cr_assert_eq(name.size, strlen(pairs[i].name));
                cr_assert_arr_eq(name.bytes, pairs[i].name, name.size);
        }
}

SCN_TEST(storage_name, goes_to_the_trash_with_its_time_and_comes_back)
{
        static const int64_t times[] = {0, 9, 1700000000000000, INT64_MAX};

        for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
                for (size_t k = 0; k < sizeof times / sizeof times[0]; k++) {
                        struct scn_storage_file_name file;
                        struct scn_storage_name name;
                        SCN_TEST_OK(scn_storage_name_to_trash(scn_test_text(pairs[i].name), times[k], &file, NULL));
                        cr_assert(scn_storage_name_from_file(file.text, SCN_STORAGE_TRASH, &name), "%s", file.text);
                        cr_assert_eq(name.time_us, times[k]);
                        cr_assert_eq(name.size, strlen(pairs[i].name));
                        cr_assert_arr_eq(name.bytes, pairs[i].name, name.size);
                }
        }
}

SCN_TEST(storage_name, is_refused_when_empty_with_nul_or_not_utf8)
{
        static const struct scn_slice bad[] = {
                {(const uint8_t *)"", 0}, {NULL, 0}, {(const uint8_t *)"a\0b", 3}, {(const uint8_t *)"\0", 1},
                {(const uint8_t *)"\xff", 1}, {(const uint8_t *)"\xc3", 1},
                {(const uint8_t *)"\xc0\xaf", 2},     /* an overlong slash */
                {(const uint8_t *)"\xed\xa0\x80", 3}, /* a surrogate */
        };

        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
                struct scn_storage_file_name file;
                struct scn_storage_fault fault = {0};
                cr_assert_eq(scn_storage_name_to_file(bad[i], &file, &fault), SCN_E_BAD_NAME, "case %zu", i);
                cr_assert_neq(fault.text[0], '\0');
                cr_assert_eq(scn_storage_name_to_trash(bad[i], 1, &file, NULL), SCN_E_BAD_NAME, "case %zu", i);
        }
}

SCN_TEST(storage_name, is_bounded_by_the_length_of_its_file_name)
{
        struct scn_storage_file_name file;
        uint8_t plain[201], slashes[67];

        memset(plain, 'a', sizeof plain);
        memset(slashes, '/', sizeof slashes);
        SCN_TEST_OK(scn_storage_name_to_file((struct scn_slice){plain, 200}, &file, NULL));
        cr_assert_eq(strlen(file.text), 206);
        SCN_TEST_OK(scn_storage_name_to_trash((struct scn_slice){plain, 200}, INT64_MAX, &file, NULL));
        cr_assert_leq(strlen(file.text) + strlen("-journal"), 255);
        cr_assert_eq(scn_storage_name_to_file((struct scn_slice){plain, 201}, &file, NULL), SCN_E_BAD_NAME);
        SCN_TEST_OK(scn_storage_name_to_file((struct scn_slice){slashes, 66}, &file, NULL));
        cr_assert_eq(scn_storage_name_to_file((struct scn_slice){slashes, 67}, &file, NULL), SCN_E_BAD_NAME);
}

SCN_TEST(storage_name, does_not_come_from_a_file_that_no_name_makes)
{
        static const char *const documents[] = {".scene", "island", "island.scene-wal", "island.scenes", "a%2fb.scene",
                "a%41.scene", "a%.scene", "a%2.scene", "a%2G.scene", ".hidden.scene", "..scene", "a%00.scene",
                "a\nb.scene", "a:b.scene", "%FF.scene", "\xff.scene", "scened.lock", ""};
        static const char *const trash[] = {"island.scene", "island..scene", "island.01.scene", "island.-1.scene",
                "island.9223372036854775808.scene", "island.99999999999999999999.scene", ".5.scene", "5.scene",
                "island.5x.scene"};
        struct scn_storage_name name;

        for (size_t i = 0; i < sizeof documents / sizeof documents[0]; i++)
                cr_assert_not(
                        scn_storage_name_from_file(documents[i], SCN_STORAGE_DOCUMENTS, &name), "%s", documents[i]);
        for (size_t i = 0; i < sizeof trash / sizeof trash[0]; i++)
                cr_assert_not(scn_storage_name_from_file(trash[i], SCN_STORAGE_TRASH, &name), "%s", trash[i]);
}

/* Each file name comes from one name, and none leads out of the directory. */
SCN_TEST(storage_name, is_safe_and_reversible_whatever_its_bytes)
{
        struct scn_random random = scn_random_from_seed(scn_test_seed(57));
        static const char alphabet[] = "aZ0.%/\\:\x01\x7f -_~";
        uint32_t accepted = 0;

        for (int i = 0; i < 20000; i++) {
                uint8_t bytes[40];
                const uint32_t size = 1 + scn_random_below(&random, sizeof bytes);
                for (uint32_t k = 0; k < size; k++)
                        bytes[k] = scn_random_chance(&random, 97)
                                ? (uint8_t)alphabet[scn_random_below(&random, sizeof alphabet - 1)]
                                : (uint8_t)scn_random_next(&random);
                struct scn_storage_file_name file;
                struct scn_storage_name name;
                if (scn_storage_name_to_file((struct scn_slice){bytes, size}, &file, NULL) != SCN_OK)
                        continue;
                accepted++;
                cr_assert_null(strchr(file.text, '/'));
                cr_assert_neq(file.text[0], '.');
                cr_assert(scn_storage_name_from_file(file.text, SCN_STORAGE_DOCUMENTS, &name));
                cr_assert_eq(name.size, size);
                cr_assert_arr_eq(name.bytes, bytes, size);
        }
        cr_assert_gt(accepted, 5000);
}
