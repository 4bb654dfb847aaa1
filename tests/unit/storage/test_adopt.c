/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE

#include "storage/directory.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PARTS 3u

static const struct scn_test_shape small = {.client = 1, .records_count = 1, .payload_bytes = 100, .answer_bytes = 20};

/* "island" with so many transactions, closed. */
static void make_island(struct scn_test_storage *test, uint32_t count)
{
        struct scn_journal *journal = scn_test_create_island(test);
        if (count != 0)
                SCN_TEST_OK(scn_test_append(journal, 1, count, &small, NULL));
        scn_journal_close(journal);
}

static uint8_t *read_file(const char *path, uint32_t *size_out)
{
        FILE *file = fopen(path, "rb");
        cr_assert_not_null(file);
        fseek(file, 0, SEEK_END);
        *size_out = (uint32_t)ftell(file);
        rewind(file);
        uint8_t *bytes = malloc(*size_out);
        cr_assert_eq(fread(bytes, 1, *size_out, file), *size_out);
        fclose(file);
        return bytes;
}

/* Hands in a file in parts; what it is opened as is the caller's. */
static enum scn_error adopt(struct scn_test_storage *test, const uint8_t *bytes, uint32_t size,
        struct scn_journal **journal_out, struct scn_storage_fault *fault)
{
        struct scn_adoption *adoption;
        SCN_TEST_OK(scn_adoption_create(test->storage, 7, size, &adoption, fault));
        for (uint32_t i = 0; i < PARTS; i++) {
                const uint32_t from = size / PARTS * i, to = i + 1 == PARTS ? size : size / PARTS * (i + 1);
                SCN_TEST_OK(scn_adoption_write(adoption, (struct scn_slice){bytes + from, to - from}, fault));
        }
        const enum scn_error error = scn_adoption_open(adoption, journal_out, fault);
        scn_adoption_destroy(adoption);
        return error;
}

static uint32_t count_hidden(const struct scn_test_storage *test)
{
        DIR *directory = opendir(test->path);
        struct dirent *entry;
        uint32_t count = 0;
        while ((entry = readdir(directory)) != NULL)
                count += strncmp(entry->d_name, ".draft-", 7) == 0 || strncmp(entry->d_name, ".next-", 6) == 0;
        closedir(directory);
        return count;
}

static scn_revision count_in(struct scn_test_storage *test, const char *name)
{
        struct scn_journal *journal;
        SCN_TEST_OK(scn_journal_open(test->storage, scn_test_text(name), NULL, &journal, NULL));
        const scn_revision count = scn_test_count(journal, &small);
        scn_journal_close(journal);
        return count;
}

SCN_TEST(adopt, makes_a_document_of_a_file_that_comes_in_parts)
{
        struct scn_test_storage test;
        struct scn_journal *journal;
        uint32_t size;
        scn_test_storage_init(&test);
        make_island(&test, 20);
        uint8_t *bytes = read_file(scn_test_storage_file(&test, "island.scene"), &size);
        SCN_TEST_OK(adopt(&test, bytes, size, &journal, NULL));
        cr_assert_eq(scn_storage_find(test.storage, scn_test_text("copy"), NULL), SCN_E_NO_DOCUMENT);
        SCN_TEST_OK(scn_storage_publish(test.storage, journal, scn_test_text("copy"), NULL));
        cr_assert_eq(count_in(&test, "copy"), 20);
        cr_assert_eq(count_hidden(&test), 0);
        free(bytes);
        scn_test_storage_finish(&test);
}

SCN_TEST(adopt, that_is_given_up_leaves_nothing)
{
        struct scn_test_storage test;
        struct scn_adoption *adoption;
        scn_test_storage_init(&test);
        SCN_TEST_OK(scn_adoption_create(test.storage, 1, 100, &adoption, NULL));
        SCN_TEST_OK(scn_adoption_write(adoption, scn_test_text("half of it"), NULL));
        cr_assert_eq(count_hidden(&test), 1);
        scn_adoption_destroy(adoption);
        cr_assert_eq(count_hidden(&test), 0);
        scn_test_storage_finish(&test);
}

SCN_TEST(adopt, refuses_a_file_that_is_foreign_or_newer_or_cut_short_and_leaves_nothing)
{
        static uint8_t noise[9000];
        struct scn_test_storage test;
        struct scn_journal *journal;
        struct scn_storage_fault fault = {0};
        uint32_t size;
        scn_test_storage_init(&test);
        memset(noise, 'x', sizeof noise);
        cr_assert_eq(adopt(&test, noise, sizeof noise, &journal, &fault), SCN_E_NOT_A_DOCUMENT);
        cr_assert_null(strstr(fault.text, ".draft"), "%s", fault.text);
        cr_assert_eq(adopt(&test, noise, 0, &journal, &fault), SCN_E_NOT_A_DOCUMENT);
        make_island(&test, 20);
        uint8_t *bytes = read_file(scn_test_storage_file(&test, "island.scene"), &size);
        cr_assert_eq(adopt(&test, bytes, 5000, &journal, &fault), SCN_E_CORRUPT, "%s", fault.text);
        bytes[62] = 1; /* user_version: 1 + 65536 */
        bytes[61] = 1;
        cr_assert_eq(adopt(&test, bytes, size, &journal, &fault), SCN_E_NEWER_FORMAT, "%s", fault.text);
        cr_assert_null(strstr(fault.text, ".draft"), "%s", fault.text);
        cr_assert_eq(count_hidden(&test), 0);
        free(bytes);
        scn_test_storage_finish(&test);
}

/* What there is room for is measured on a real disk: nobody has 2^62 bytes. */
SCN_TEST(adopt, refuses_what_the_disk_has_no_room_for_before_anything_comes)
{
        struct scn_test_storage test;
        struct scn_adoption *adoption;
        scn_test_storage_init(&test);
        cr_assert_eq(scn_adoption_create(test.storage, 1, UINT64_C(1) << 62, &adoption, NULL), SCN_E_STORAGE_FULL);
        cr_assert_eq(scn_adoption_create(test.storage, 1, UINT64_MAX, &adoption, NULL), SCN_E_STORAGE_FULL);
        cr_assert_eq(count_hidden(&test), 0);
        scn_test_storage_finish(&test);
}

/* Two files of which each has room alone; others may write to the disk meanwhile, but not so much. */
SCN_TEST(adopt, counts_what_others_have_been_promised_until_they_have_written_it_or_are_gone)
{
        struct scn_test_storage test;
        struct scn_adoption *one, *other;
        uint64_t free_bytes;
        scn_test_storage_init(&test);
        SCN_TEST_OK(scn_storage_free_bytes(test.storage, &free_bytes, NULL));
        const uint64_t most = free_bytes / 4 * 3;
        SCN_TEST_OK(scn_adoption_create(test.storage, 1, most, &one, NULL));
        cr_assert_eq(scn_adoption_create(test.storage, 2, most, &other, NULL), SCN_E_STORAGE_FULL);
        SCN_TEST_OK(scn_adoption_write(one, scn_test_text("a part"), NULL));
        cr_assert_eq(scn_adoption_create(test.storage, 2, most, &other, NULL), SCN_E_STORAGE_FULL);
        scn_adoption_destroy(one);
        SCN_TEST_OK(scn_adoption_create(test.storage, 2, most, &other, NULL));
        scn_adoption_destroy(other);
        scn_test_storage_finish(&test);
}

SCN_TEST(adopt, leaves_so_much_free_as_was_said_and_copies_do_the_same)
{
        struct scn_test_storage test;
        struct scn_adoption *adoption;
        struct scn_copy *copy;
        uint64_t free_bytes, left;
        scn_test_storage_init(&test);
        make_island(&test, 200);
        SCN_TEST_OK(scn_storage_free_bytes(test.storage, &free_bytes, NULL));
        scn_storage_keep_free(test.storage, free_bytes / 2);
        cr_assert_eq(scn_adoption_create(test.storage, 1, free_bytes / 4 * 3, &adoption, NULL), SCN_E_STORAGE_FULL);
        SCN_TEST_OK(scn_adoption_create(test.storage, 1, free_bytes / 4, &adoption, NULL));
        scn_adoption_destroy(adoption);
        scn_storage_keep_free(test.storage, free_bytes * 2);
        SCN_TEST_OK(scn_copy_create(test.storage, scn_test_text("island"), 1, &copy, NULL));
        cr_assert_eq(scn_copy_step(copy, 4096, &left, NULL), SCN_E_STORAGE_FULL);
        scn_copy_destroy(copy);
        cr_assert_eq(count_hidden(&test), 0);
        scn_test_storage_finish(&test);
}

/* What a copy has been promised it gives back while it is written, and when it goes. */
SCN_TEST(adopt, has_room_again_when_a_copy_is_whole_or_gone)
{
        struct scn_test_storage test;
        struct scn_adoption *adoption;
        struct scn_copy *copy;
        uint64_t left;
        scn_test_storage_init(&test);
        make_island(&test, 200);
        for (int is_whole = 0; is_whole < 2; is_whole++) {
                SCN_TEST_OK(scn_copy_create(test.storage, scn_test_text("island"), 1, &copy, NULL));
                do {
                        SCN_TEST_OK(scn_copy_step(copy, 4096, &left, NULL));
                } while (is_whole && left > 0);
                cr_assert_eq(atomic_load(test.storage->promised), left);
                scn_copy_destroy(copy);
                cr_assert_eq(atomic_load(test.storage->promised), 0);
        }
        SCN_TEST_OK(scn_adoption_create(test.storage, 1, 100, &adoption, NULL));
        cr_assert_eq(atomic_load(test.storage->promised), 100);
        SCN_TEST_OK(scn_adoption_write(adoption, scn_test_text("0123456789"), NULL));
        cr_assert_eq(atomic_load(test.storage->promised), 90);
        scn_adoption_destroy(adoption);
        cr_assert_eq(atomic_load(test.storage->promised), 0);
        scn_test_storage_finish(&test);
}

SCN_TEST(verify, is_given_up_between_pages_and_within_the_check_of_the_structure)
{
        struct scn_test_storage test;
        atomic_bool is_given_up = false;
        scn_test_storage_init(&test);
        make_island(&test, 200);
        struct scn_journal *journal = scn_test_open_island(&test, SCN_JOURNAL_READ);
        scn_journal_let_give_up(journal, &is_given_up);
        SCN_TEST_OK(scn_journal_verify(journal, NULL));
        is_given_up = true;
        cr_assert_eq(scn_journal_verify(journal, NULL), SCN_E_STOPPING);
        struct scn_journal_page *page;
        cr_assert_eq(scn_journal_read(journal, &(struct scn_journal_range){.from = 1}, &page, NULL), SCN_E_STOPPING);
        is_given_up = false;
        SCN_TEST_OK(scn_journal_verify(journal, NULL));
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(adopt, that_replaces_a_document_puts_the_old_one_into_the_trash)
{
        struct scn_test_storage test;
        struct scn_journal *journal;
        uint32_t size;
        scn_test_storage_init(&test);
        make_island(&test, 20);
        uint8_t *bytes = read_file(scn_test_storage_file(&test, "island.scene"), &size);
        SCN_TEST_OK(scn_journal_open(test.storage, scn_test_text("island"), NULL, &journal, NULL));
        SCN_TEST_OK(scn_test_append(journal, 21, 5, &small, NULL));
        scn_journal_close(journal);
        SCN_TEST_OK(adopt(&test, bytes, size, &journal, NULL));
        SCN_TEST_OK(scn_storage_replace(test.storage, journal, scn_test_text("island"), 1000, NULL));
        cr_assert_eq(count_in(&test, "island"), 20);
        cr_assert_eq(count_hidden(&test), 0);
        SCN_TEST_OK(scn_storage_rename(test.storage, scn_test_text("island"), scn_test_text("new"), NULL));
        SCN_TEST_OK(scn_storage_undelete(test.storage, scn_test_text("island"), NULL));
        cr_assert_eq(count_in(&test, "island"), 25);
        free(bytes);
        scn_test_storage_finish(&test);
}

SCN_TEST(adopt, replaces_also_what_is_not_there)
{
        struct scn_test_storage test;
        struct scn_journal *journal;
        uint32_t size;
        scn_test_storage_init(&test);
        make_island(&test, 3);
        uint8_t *bytes = read_file(scn_test_storage_file(&test, "island.scene"), &size);
        SCN_TEST_OK(adopt(&test, bytes, size, &journal, NULL));
        SCN_TEST_OK(scn_storage_replace(test.storage, journal, scn_test_text("copy"), 1000, NULL));
        cr_assert_eq(count_in(&test, "copy"), 3);
        free(bytes);
        scn_test_storage_finish(&test);
}

SCN_TEST(adopt, that_is_busy_with_an_open_document_changes_nothing)
{
        struct scn_test_storage test;
        struct scn_journal *journal, *reader;
        uint32_t size;
        scn_test_storage_init(&test);
        make_island(&test, 3);
        uint8_t *bytes = read_file(scn_test_storage_file(&test, "island.scene"), &size);
        SCN_TEST_OK(adopt(&test, bytes, size, &journal, NULL));
        reader = scn_test_open_island(&test, SCN_JOURNAL_READ);
        cr_assert_eq(scn_test_count(reader, &small), 3);
        cr_assert_eq(
                scn_storage_replace(test.storage, journal, scn_test_text("island"), 1000, NULL), SCN_E_STORAGE_BUSY);
        cr_assert_eq(scn_test_count(reader, &small), 3);
        scn_journal_close(reader);
        cr_assert_eq(count_hidden(&test), 0);
        free(bytes);
        scn_test_storage_finish(&test);
}

/* As it is left between the steps: with the old document in its place, and with it gone to the trash. */
static void reopen_with_next(bool has_old, scn_revision wanted)
{
        struct scn_test_storage test;
        char from[512];
        uint32_t size;
        scn_test_storage_init(&test);
        make_island(&test, 3);
        snprintf(from, sizeof from, "%s", scn_test_storage_file(&test, "island.scene"));
        uint8_t *bytes = read_file(from, &size);
        FILE *file = fopen(scn_test_storage_file(&test, ".next-island.scene"), "wb");
        cr_assert_eq(fwrite(bytes, 1, size, file), size);
        fclose(file);
        struct scn_journal *journal = scn_test_open_island(&test, SCN_JOURNAL_WRITE);
        SCN_TEST_OK(scn_test_append(journal, 4, 2, &small, NULL));
        scn_journal_close(journal);
        if (!has_old)
                SCN_TEST_OK(scn_storage_delete(test.storage, scn_test_text("island"), 5, NULL));
        scn_storage_close(test.storage);
        SCN_TEST_OK(scn_storage_open(test.path, &test.storage, NULL));
        cr_assert_eq(count_in(&test, "island"), wanted);
        cr_assert_eq(count_hidden(&test), 0);
        free(bytes);
        scn_test_storage_finish(&test);
}

SCN_TEST(adopt, that_was_interrupted_before_the_old_one_had_gone_leaves_the_old_one)
{
        reopen_with_next(true, 5);
}

SCN_TEST(adopt, that_was_interrupted_when_the_old_one_had_gone_is_brought_to_its_end)
{
        reopen_with_next(false, 3);
}
