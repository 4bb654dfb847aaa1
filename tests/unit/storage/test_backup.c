/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct scn_test_shape small = {.client = 1, .records_count = 1, .payload_bytes = 100, .answer_bytes = 20};

static struct scn_journal *make_island(struct scn_test_storage *test, char copy[512])
{
        scn_test_storage_init(test);
        struct scn_journal *journal = scn_test_create_island(test);
        SCN_TEST_OK(scn_test_append(journal, 1, 500, &small, NULL));
        snprintf(copy, 512, "%s", scn_test_storage_file(test, "copy of island"));
        return journal;
}

static void copy_all(struct scn_backup *backup)
{
        uint64_t left = UINT64_MAX, last;

        while (left != 0) {
                last = left;
                SCN_TEST_OK(scn_backup_step(backup, 8192, &left, NULL));
                cr_assert_lt(left, last);
        }
}

SCN_TEST(backup, is_the_document_as_it_was_when_it_began_while_others_write)
{
        struct scn_test_storage test;
        char copy[512];
        struct scn_journal *journal = make_island(&test, copy);
        struct scn_journal *reader = scn_test_open_island(&test, SCN_JOURNAL_READ), *copied;
        struct scn_backup *backup;
        struct stat status;
        uint64_t left = UINT64_MAX;
        scn_revision revision = 500;

        umask(0);
        SCN_TEST_OK(scn_backup_create(reader, copy, &backup, NULL));
        while (left != 0) {
                SCN_TEST_OK(scn_backup_step(backup, 8192, &left, NULL));
                SCN_TEST_OK(scn_test_append(journal, ++revision, 1, &small, NULL));
                cr_assert_eq(access(copy, F_OK), -1, "there is a file before it is complete");
        }
        cr_assert_gt(revision, 510, "the copy was made in one step");
        SCN_TEST_OK(scn_backup_finish(backup, NULL));
        scn_backup_destroy(backup);
        cr_assert_eq(stat(copy, &status), 0);
        cr_assert_eq(status.st_mode & 0777, 0600);

        SCN_TEST_OK(scn_journal_open_file(copy, &copied, NULL));
        cr_assert_eq(scn_test_count(copied, &small), 500);
        SCN_TEST_OK(scn_journal_verify(copied, NULL));
        scn_journal_close(copied);
        cr_assert_eq(scn_test_count(journal, &small), revision);
        scn_journal_close(reader);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(backup, is_a_document_when_it_gets_the_name_of_one)
{
        struct scn_test_storage test;
        char copy[512];
        struct scn_journal *journal = make_island(&test, copy);
        struct scn_backup *backup;

        SCN_TEST_OK(scn_backup_create(journal, copy, &backup, NULL));
        copy_all(backup);
        SCN_TEST_OK(scn_backup_finish(backup, NULL));
        scn_backup_destroy(backup);
        scn_journal_close(journal);
        cr_assert_eq(rename(copy, scn_test_storage_file(&test, "island.scene")), 0);
        journal = scn_test_open_island(&test, SCN_JOURNAL_WRITE);
        SCN_TEST_OK(scn_test_append(journal, 501, 1, &small, NULL));
        cr_assert_eq(scn_test_count(journal, &small), 501);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(backup, never_takes_the_place_of_a_file)
{
        struct scn_test_storage test;
        char copy[512];
        struct scn_journal *journal = make_island(&test, copy);
        struct scn_backup *backup;

        cr_assert_eq(close(open(copy, O_CREAT | O_WRONLY, 0600)), 0);
        cr_assert_eq(scn_backup_create(journal, copy, &backup, NULL), SCN_E_DOCUMENT_EXISTS);
        cr_assert_eq(unlink(copy), 0);
        SCN_TEST_OK(scn_backup_create(journal, copy, &backup, NULL));
        copy_all(backup);
        cr_assert_eq(close(open(copy, O_CREAT | O_WRONLY, 0600)), 0);
        cr_assert_eq(scn_backup_finish(backup, NULL), SCN_E_DOCUMENT_EXISTS);
        scn_backup_destroy(backup);
        struct stat status;
        cr_assert_eq(stat(copy, &status), 0);
        cr_assert_eq(status.st_size, 0);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(backup, given_up_leaves_nothing)
{
        struct scn_test_storage test;
        char copy[512], part[520];
        struct scn_journal *journal = make_island(&test, copy);
        struct scn_backup *backup;
        struct scn_storage_fault fault = {0};
        uint64_t left;

        SCN_TEST_OK(scn_backup_create(journal, copy, &backup, NULL));
        SCN_TEST_OK(scn_backup_step(backup, 8192, &left, NULL));
        scn_backup_destroy(backup);
        snprintf(part, sizeof part, "%s.part", copy);
        cr_assert_eq(access(copy, F_OK), -1);
        cr_assert_eq(access(part, F_OK), -1);
        cr_assert_eq(scn_backup_create(journal, "/nonexistent/copy", &backup, &fault), SCN_E_STORAGE_FAILED);
        cr_assert_neq(fault.text[0], '\0');
        scn_backup_destroy(NULL);
        /* and the journal is free again */
        SCN_TEST_OK(scn_test_append(journal, 501, 1, &small, NULL));
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST_ABORTS(backup, keeps_the_journal_it_is_made_from_to_itself)
{
        struct scn_test_storage test;
        char copy[512];
        struct scn_journal *journal = make_island(&test, copy);
        struct scn_backup *backup;
        struct scn_journal_state state;

        SCN_TEST_OK(scn_backup_create(journal, copy, &backup, NULL));
        /* What aborts leaves no time for that; the files stay as long as they are open. */
        scn_test_remove_all(test.path);
        (void)!scn_journal_state(journal, &state, NULL);
}
