/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY_US (INT64_C(24) * 3600 * 1000000)

static const struct scn_test_shape small = {.client = 1, .records_count = 1, .payload_bytes = 100, .answer_bytes = 20};

static enum scn_error create(struct scn_test_storage *test, const char *name)
{
        const struct scn_storage_birth birth = {.uid = {{1}}, .created_us = 1};

        return scn_storage_create(test->storage, scn_test_text(name), &birth, NULL);
}

static size_t count(struct scn_test_storage *test, enum scn_storage_place place)
{
        struct scn_storage_list list;

        SCN_TEST_OK(scn_storage_list(test->storage, place, &list, NULL));
        const size_t found = list.count;
        scn_storage_list_finish(&list);
        return found;
}

/* Transactions in the document of this name. */
static scn_revision revisions_of(struct scn_test_storage *test, const char *name)
{
        struct scn_journal *journal;

        SCN_TEST_OK(scn_journal_open(test->storage, scn_test_text(name), NULL, &journal, NULL));
        const scn_revision revision = scn_test_count(journal, &small);
        scn_journal_close(journal);
        return revision;
}

/* Makes a document with so many transactions. */
static void make(struct scn_test_storage *test, const char *name, uint32_t transactions)
{
        struct scn_journal *journal;

        SCN_TEST_OK(create(test, name));
        SCN_TEST_OK(scn_journal_open(test->storage, scn_test_text(name), NULL, &journal, NULL));
        SCN_TEST_OK(scn_test_append(journal, 1, transactions, &small, NULL));
        scn_journal_close(journal);
}

SCN_TEST(storage_catalogue, makes_a_document_once)
{
        struct scn_test_storage test;

        scn_test_storage_init(&test);
        SCN_TEST_OK(create(&test, "island"));
        cr_assert_eq(create(&test, "island"), SCN_E_DOCUMENT_EXISTS);
        cr_assert_eq(create(&test, ""), SCN_E_BAD_NAME);
        cr_assert_eq(revisions_of(&test, "island"), 0);
        cr_assert_eq(count(&test, SCN_STORAGE_DOCUMENTS), 1);
        scn_test_storage_finish(&test);
}

SCN_TEST(storage_catalogue, publishes_a_draft_with_all_that_was_put_in)
{
        const struct scn_storage_birth birth = {.uid = {{1}}, .created_us = 1, .origin = scn_test_text("fork")};
        struct scn_test_storage test;
        struct scn_journal *draft;

        scn_test_storage_init(&test);
        SCN_TEST_OK(scn_storage_draft(test.storage, &birth, &draft, NULL));
        SCN_TEST_OK(scn_test_append(draft, 1, 7, &small, NULL));
        cr_assert_eq(count(&test, SCN_STORAGE_DOCUMENTS), 0);
        SCN_TEST_OK(scn_storage_publish(test.storage, draft, scn_test_text("island"), NULL));
        cr_assert_eq(revisions_of(&test, "island"), 7);
        cr_assert_eq(scn_test_sql(scn_test_storage_file(&test, "island.scene"),
                             "SELECT count(*) FROM document WHERE name = 'island'"),
                1);

        SCN_TEST_OK(scn_storage_draft(test.storage, &birth, &draft, NULL));
        cr_assert_eq(scn_storage_publish(test.storage, draft, scn_test_text("island"), NULL), SCN_E_DOCUMENT_EXISTS);
        SCN_TEST_OK(scn_storage_draft(test.storage, &birth, &draft, NULL));
        cr_assert_eq(scn_storage_publish(test.storage, draft, scn_test_text(""), NULL), SCN_E_BAD_NAME);
        cr_assert_eq(revisions_of(&test, "island"), 7);
        cr_assert_eq(access(scn_test_storage_file(&test, ".draft-1"), F_OK), -1);
        scn_test_storage_finish(&test);
}

SCN_TEST(storage_catalogue, removes_drafts_that_nobody_published)
{
        const struct scn_storage_birth birth = {.uid = {{1}}, .created_us = 1};
        struct scn_test_storage test;
        struct scn_journal *first, *second;

        scn_test_storage_init(&test);
        SCN_TEST_OK(scn_storage_draft(test.storage, &birth, &first, NULL));
        SCN_TEST_OK(scn_storage_draft(test.storage, &birth, &second, NULL));
        scn_journal_close(first);
        scn_journal_close(second);
        cr_assert_eq(access(scn_test_storage_file(&test, ".draft-2"), F_OK), 0);
        scn_storage_close(test.storage);
        SCN_TEST_OK(scn_storage_open(test.path, &test.storage, NULL));
        cr_assert_eq(access(scn_test_storage_file(&test, ".draft-1"), F_OK), -1);
        cr_assert_eq(access(scn_test_storage_file(&test, ".draft-2"), F_OK), -1);
        scn_test_storage_finish(&test);
}

SCN_TEST(storage_catalogue, makes_so_many_drafts_at_the_same_time)
{
        const struct scn_storage_birth birth = {.uid = {{1}}, .created_us = 1};
        struct scn_storage_fault fault = {0};
        struct scn_test_storage test;
        struct scn_journal *last, *more;
        char name[32];

        scn_test_storage_init(&test);
        for (int i = 1; i < 10000; i++) {
                snprintf(name, sizeof name, ".draft-%d", i);
                const int fd = open(scn_test_storage_file(&test, name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
                cr_assert_geq(fd, 0);
                (void)close(fd);
        }
        SCN_TEST_OK(scn_storage_draft(test.storage, &birth, &last, NULL));
        cr_assert_eq(access(scn_test_storage_file(&test, ".draft-10000"), F_OK), 0);
        cr_assert_eq(scn_storage_draft(test.storage, &birth, &more, &fault), SCN_E_STORAGE_FAILED);
        cr_assert_eq(access(scn_test_storage_file(&test, ".draft-10001"), F_OK), -1);
        scn_journal_close(last);
        scn_test_storage_finish(&test);
}

SCN_TEST(storage_catalogue, renames_a_document_but_not_over_another)
{
        struct scn_test_storage test;

        scn_test_storage_init(&test);
        make(&test, "island", 3);
        make(&test, "reef", 5);
        cr_assert_eq(scn_storage_rename(test.storage, scn_test_text("island"), scn_test_text("reef"), NULL),
                SCN_E_DOCUMENT_EXISTS);
        cr_assert_eq(
                scn_storage_rename(test.storage, scn_test_text("atoll"), scn_test_text("x"), NULL), SCN_E_NO_DOCUMENT);
        cr_assert_eq(
                scn_storage_rename(test.storage, scn_test_text("island"), scn_test_text(""), NULL), SCN_E_BAD_NAME);
        SCN_TEST_OK(scn_storage_rename(test.storage, scn_test_text("island"), scn_test_text("island"), NULL));
        SCN_TEST_OK(scn_storage_rename(test.storage, scn_test_text("island"), scn_test_text("Island/2"), NULL));
        cr_assert_eq(revisions_of(&test, "Island/2"), 3);
        cr_assert_eq(revisions_of(&test, "reef"), 5);
        cr_assert_eq(scn_storage_find(test.storage, scn_test_text("island"), NULL), SCN_E_NO_DOCUMENT);
        cr_assert_eq(scn_test_sql(scn_test_storage_file(&test, "Island%2F2.scene"),
                             "SELECT count(*) FROM document WHERE name = 'Island/2'"),
                1);
        scn_test_storage_finish(&test);
}

SCN_TEST(storage_catalogue, deletes_to_the_trash_and_brings_back_the_last)
{
        struct scn_test_storage test;
        struct scn_storage_list list;

        scn_test_storage_init(&test);
        for (uint32_t i = 1; i <= 3; i++) {
                make(&test, "is/land", i);
                SCN_TEST_OK(scn_storage_delete(test.storage, scn_test_text("is/land"), 1000, NULL));
        }
        make(&test, "reef", 1);
        SCN_TEST_OK(scn_storage_delete(test.storage, scn_test_text("reef"), 5, NULL));
        cr_assert_eq(count(&test, SCN_STORAGE_DOCUMENTS), 0);
        SCN_TEST_OK(scn_storage_list(test.storage, SCN_STORAGE_TRASH, &list, NULL));
        cr_assert_eq(list.count, 4);
        for (int i = 0; i < 3; i++) {
                cr_assert_arr_eq(list.entries[i].name.data, "is/land", list.entries[i].name.size);
                cr_assert_eq(list.entries[i].deleted_us, 1002 - i);
        }
        cr_assert_eq(list.entries[3].deleted_us, 5);
        scn_storage_list_finish(&list);

        SCN_TEST_OK(scn_storage_undelete(test.storage, scn_test_text("is/land"), NULL));
        cr_assert_eq(revisions_of(&test, "is/land"), 3);
        cr_assert_eq(scn_storage_undelete(test.storage, scn_test_text("is/land"), NULL), SCN_E_DOCUMENT_EXISTS);
        cr_assert_eq(scn_storage_undelete(test.storage, scn_test_text("atoll"), NULL), SCN_E_NO_DOCUMENT);
        cr_assert_eq(scn_storage_delete(test.storage, scn_test_text("atoll"), 1, NULL), SCN_E_NO_DOCUMENT);
        cr_assert_eq(count(&test, SCN_STORAGE_TRASH), 3);
        scn_test_storage_finish(&test);
}

SCN_TEST(storage_catalogue, empties_the_trash_after_thirty_days)
{
        struct scn_test_storage test;
        uint32_t removed = 99;

        scn_test_storage_init(&test);
        make(&test, "old", 1);
        make(&test, "young", 1);
        SCN_TEST_OK(scn_storage_delete(test.storage, scn_test_text("old"), 1000, NULL));
        SCN_TEST_OK(scn_storage_delete(test.storage, scn_test_text("young"), 1001, NULL));
        SCN_TEST_OK(scn_storage_purge(test.storage, 1000 + 30 * DAY_US, &removed, NULL));
        cr_assert_eq(removed, 0);
        SCN_TEST_OK(scn_storage_purge(test.storage, 1001 + 30 * DAY_US, &removed, NULL));
        cr_assert_eq(removed, 1);
        cr_assert_eq(scn_storage_undelete(test.storage, scn_test_text("old"), NULL), SCN_E_NO_DOCUMENT);
        SCN_TEST_OK(scn_storage_undelete(test.storage, scn_test_text("young"), NULL));
        scn_test_storage_finish(&test);
}

SCN_TEST(storage_catalogue, does_not_move_a_document_that_somebody_has_open)
{
        struct scn_test_storage test;

        scn_test_storage_init(&test);
        for (int mode = SCN_JOURNAL_WRITE; mode <= SCN_JOURNAL_READ; mode++) {
                if (mode == SCN_JOURNAL_WRITE)
                        make(&test, "island", 3);
                struct scn_journal *journal = scn_test_open_island(&test, (enum scn_journal_mode)mode);
                cr_assert_eq(scn_test_count(journal, &small), 3);
                struct scn_storage_fault fault = {0};
                const enum scn_error error = scn_storage_delete(test.storage, scn_test_text("island"), 1, &fault);
                cr_assert_eq(error, SCN_E_STORAGE_BUSY, "%s: %s", scn_error_code(error), fault.text);
                cr_assert_eq(scn_storage_rename(test.storage, scn_test_text("island"), scn_test_text("reef"), NULL),
                        SCN_E_STORAGE_BUSY);
                cr_assert_eq(scn_test_count(journal, &small), 3);
                scn_journal_close(journal);
        }
        SCN_TEST_OK(scn_storage_rename(test.storage, scn_test_text("island"), scn_test_text("reef"), NULL));
        cr_assert_eq(revisions_of(&test, "reef"), 3);
        scn_test_storage_finish(&test);
}

/* A document that cannot be opened can be put away, with the write-ahead file that may be what saves it. */
SCN_TEST(storage_catalogue, moves_a_damaged_document_as_it_is)
{
        struct scn_test_storage test;
        struct stat status;
        char path[512], wal[512];

        scn_test_storage_init(&test);
        snprintf(path, sizeof path, "%s", scn_test_storage_file(&test, "island.scene"));
        snprintf(wal, sizeof wal, "%s", scn_test_storage_file(&test, "island.scene-wal"));
        FILE *file = fopen(path, "w");
        cr_assert(file != NULL &&
                fputs("no database, but long enough for SQLite to have a look at it, which it"
                      " does when there are at least a hundred bytes in it",
                        file) >= 0 &&
                fclose(file) == 0);
        file = fopen(wal, "w");
        cr_assert(file != NULL && fputs("something", file) >= 0 && fclose(file) == 0);
        SCN_TEST_OK(scn_storage_rename(test.storage, scn_test_text("island"), scn_test_text("reef"), NULL));
        cr_assert_eq(stat(scn_test_storage_file(&test, "reef.scene-wal"), &status), 0);
        cr_assert_eq(status.st_size, 9);
        SCN_TEST_OK(scn_storage_delete(test.storage, scn_test_text("reef"), 5, NULL));
        cr_assert_eq(stat(scn_test_storage_file(&test, "trash/reef.5.scene-wal"), &status), 0);
        SCN_TEST_OK(scn_storage_undelete(test.storage, scn_test_text("reef"), NULL));
        cr_assert_eq(stat(scn_test_storage_file(&test, "reef.scene-wal"), &status), 0);
        cr_assert_eq(status.st_size, 9);
        cr_assert_eq(stat(scn_test_storage_file(&test, "reef.scene"), &status), 0);
        cr_assert_gt(status.st_size, 100);
        scn_test_storage_finish(&test);
}

SCN_TEST(storage_catalogue, moves_what_a_dead_process_left_in_the_write_ahead_file)
{
        struct scn_test_storage test;
        char from[512], to[512], command[2200];

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        SCN_TEST_OK(scn_test_append(journal, 1, 20, &small, NULL));
        snprintf(from, sizeof from, "%s", scn_test_storage_file(&test, "island.scene"));
        snprintf(to, sizeof to, "%s", scn_test_storage_file(&test, "dead.scene"));
        snprintf(command, sizeof command, "cp %s %s && cp %s-wal %s-wal", from, to, from, to);
        cr_assert_eq(system(command), 0);
        scn_journal_close(journal);
        SCN_TEST_OK(scn_storage_rename(test.storage, scn_test_text("dead"), scn_test_text("risen"), NULL));
        cr_assert_eq(revisions_of(&test, "risen"), 20);
        scn_test_storage_finish(&test);
}

/* Its document was removed by hand, or the file is what a killed process has left of one that moved. */
SCN_TEST(storage_catalogue, takes_no_write_ahead_file_that_lies_about_for_that_of_a_new_document)
{
        struct scn_test_storage test;
        char from[512], to[512], command[2200];

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        SCN_TEST_OK(scn_test_append(journal, 1, 20, &small, NULL));
        snprintf(from, sizeof from, "%s", scn_test_storage_file(&test, "island.scene-wal"));
        snprintf(to, sizeof to, "%s", scn_test_storage_file(&test, "reef.scene-wal"));
        snprintf(command, sizeof command, "cp %s %s", from, to);
        cr_assert_eq(system(command), 0);
        scn_journal_close(journal);
        make(&test, "reef", 0);
        cr_assert_eq(revisions_of(&test, "reef"), 0);
        scn_test_storage_finish(&test);
}

static enum scn_error come_and_go(void *data)
{
        struct scn_test_storage *test = data;
        enum scn_error error = create(test, "island");

        if (error == SCN_OK)
                error = scn_storage_rename(test->storage, scn_test_text("island"), scn_test_text("reef"), NULL);
        if (error == SCN_OK)
                error = scn_storage_delete(test->storage, scn_test_text("reef"), 1, NULL);
        if (error == SCN_OK)
                error = scn_storage_undelete(test->storage, scn_test_text("reef"), NULL);
        /* The next attempt must find everything as this one did. */
        static const char *const left[] = {"island.scene", "reef.scene", "trash/reef.1.scene"};
        for (size_t i = 0; i < sizeof left / sizeof left[0]; i++)
                unlink(scn_test_storage_file(test, left[i]));
        return error;
}

SCN_TEST_WITH(storage_catalogue, survives_each_allocation_that_fails, .timeout = 120)
{
        struct scn_test_storage test;

        scn_test_storage_init(&test);
        scn_test_fail_each_allocation(come_and_go, &test);
        scn_test_storage_finish(&test);
}
