/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _XOPEN_SOURCE 700
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const struct scn_test_shape small = {.client = 1, .records_count = 1, .payload_bytes = 100, .answer_bytes = 20};

static uint32_t count_drafts(const struct scn_test_storage *test)
{
        DIR *directory = opendir(test->path);
        struct dirent *entry;
        uint32_t count = 0;

        cr_assert_not_null(directory);
        while ((entry = readdir(directory)) != NULL)
                count += strncmp(entry->d_name, ".draft-", 7) == 0;
        closedir(directory);
        return count;
}

static struct scn_journal *make_island(struct scn_test_storage *test, uint32_t count)
{
        scn_test_storage_init(test);
        struct scn_journal *journal = scn_test_create_island(test);
        SCN_TEST_OK(scn_test_append(journal, 1, count, &small, NULL));
        return journal;
}

/* Reads the rest in pieces of `step` bytes into a document of this name. */
static void read_into(struct scn_test_storage *test, struct scn_copy *copy, const char *name, size_t step)
{
        FILE *file = fopen(scn_test_storage_file(test, name), "wb");
        uint8_t bytes[8192];
        uint64_t all = 0;
        size_t size;

        cr_assert_not_null(file);
        do {
                SCN_TEST_OK(scn_copy_read(copy, bytes, step, &size, NULL));
                cr_assert_eq(fwrite(bytes, 1, size, file), size);
                all += size;
        } while (size == step);
        cr_assert_eq(all, scn_copy_bytes(copy));
        cr_assert_eq(fclose(file), 0);
}

SCN_TEST(copy, is_the_document_as_it_was_at_the_first_step)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test, 1000);
        struct scn_copy *copy;
        uint64_t left = 1;
        uint32_t steps = 0;

        SCN_TEST_OK(scn_copy_create(test.storage, scn_test_text("island"), 7, &copy, NULL));
        while (left > 0) {
                SCN_TEST_OK(scn_copy_step(copy, 20000, &left, NULL));
                SCN_TEST_OK(scn_test_append(journal, 1001 + 10 * steps++, 10, &small, NULL));
        }
        cr_assert_gt(steps, 5);
        read_into(&test, copy, "other.scene", 5000);
        scn_copy_destroy(copy);
        scn_journal_close(journal);
        SCN_TEST_OK(scn_journal_open_file(scn_test_storage_file(&test, "other.scene"), &journal, NULL));
        SCN_TEST_OK(scn_journal_verify(journal, NULL));
        cr_assert_eq(scn_test_count(journal, &small), 1000);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(copy, is_private_and_has_no_name_once_it_is_whole)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test, 1000);
        struct scn_copy *copy;
        struct stat status;
        uint64_t left = 1;

        SCN_TEST_OK(scn_copy_create(test.storage, scn_test_text("island"), 7, &copy, NULL));
        SCN_TEST_OK(scn_copy_step(copy, 20000, &left, NULL));
        cr_assert_gt(left, 0);
        cr_assert_geq(count_drafts(&test), 1);
        cr_assert_eq(stat(scn_test_storage_file(&test, ".draft-copy-7.part"), &status), 0);
        cr_assert_eq(status.st_mode & 0777, 0600);
        SCN_TEST_OK(scn_copy_step(copy, UINT32_MAX, &left, NULL));
        cr_assert_eq(left, 0);
        cr_assert_eq(count_drafts(&test), 0);
        scn_copy_destroy(copy);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(copy, given_up_leaves_nothing)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test, 1000);
        struct scn_copy *copies[2];
        uint64_t left;

        for (uint64_t i = 0; i < 2; i++) {
                SCN_TEST_OK(scn_copy_create(test.storage, scn_test_text("island"), i, &copies[i], NULL));
                SCN_TEST_OK(scn_copy_step(copies[i], 20000, &left, NULL));
        }
        scn_copy_destroy(copies[0]);
        scn_copy_destroy(copies[1]);
        cr_assert_eq(count_drafts(&test), 0);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(copy, left_behind_by_a_killed_process_goes_when_the_directory_is_opened)
{
        static const char *const names[] = {".draft-copy-3", ".draft-copy-3.part", ".draft-copy-3.part-journal"};
        struct scn_test_storage test;

        scn_journal_close(make_island(&test, 1));
        scn_storage_close(test.storage);
        for (size_t i = 0; i < 3; i++)
                cr_assert_eq(fclose(fopen(scn_test_storage_file(&test, names[i]), "w")), 0);
        cr_assert_eq(count_drafts(&test), 3);
        SCN_TEST_OK(scn_storage_open(test.path, &test.storage, NULL));
        cr_assert_eq(count_drafts(&test), 0);
        scn_test_storage_finish(&test);
}

SCN_TEST(copy, of_what_is_not_there_is_an_error)
{
        struct scn_test_storage test;
        struct scn_copy *copy;

        scn_test_storage_init(&test);
        cr_assert_eq(scn_copy_create(test.storage, scn_test_text("nobody"), 1, &copy, NULL), SCN_E_NO_DOCUMENT);
        scn_test_storage_finish(&test);
}
