/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

SCN_TEST(storage_directory, is_made_private_whatever_the_umask)
{
        static const mode_t masks[] = {0, 022, 0777};

        for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
                struct scn_test_storage test;
                struct scn_storage *storage;
                struct stat status;
                char path[512];
                scn_test_storage_init(&test);
                snprintf(path, sizeof path, "%s/inner", test.path);
                umask(masks[i]);
                SCN_TEST_OK(scn_storage_open(path, &storage, NULL));
                umask(022);
                cr_assert_eq(stat(path, &status), 0);
                cr_assert_eq(status.st_mode & 0777, 0700);
                cr_assert_eq(stat(scn_test_storage_file(&test, "inner/trash"), &status), 0);
                cr_assert_eq(status.st_mode & 0777, 0700);
                cr_assert_eq(stat(scn_test_storage_file(&test, "inner/scened.lock"), &status), 0);
                cr_assert_eq(status.st_mode & 0777, 0600);
                scn_storage_close(storage);
                scn_test_storage_finish(&test);
        }
}

SCN_TEST(storage_directory, that_cannot_be_opened_is_named)
{
        struct scn_test_storage test;
        struct scn_storage_fault fault = {0};
        struct scn_storage *storage;
        char path[512];

        cr_assert_eq(scn_storage_open("/nonexistent/deeper", &storage, &fault), SCN_E_STORAGE_FAILED);
        cr_assert_eq(fault.system_code, ENOENT);
        cr_assert_not_null(strstr(fault.text, "/nonexistent/deeper"));
        scn_test_storage_init(&test);
        snprintf(path, sizeof path, "%s/file", test.path);
        cr_assert_eq(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
        cr_assert_eq(scn_storage_open(path, &storage, &fault), SCN_E_STORAGE_FAILED);
        cr_assert_eq(fault.system_code, ENOTDIR);
        scn_storage_close(NULL);
        scn_test_storage_finish(&test);
}

static void create(struct scn_test_storage *test, const char *name)
{
        const struct scn_storage_birth birth = {.uid = {{1}}, .created_us = 1};

        SCN_TEST_OK(scn_storage_create(test->storage, scn_test_text(name), &birth, NULL));
}

SCN_TEST(storage_directory, lists_documents_by_name_and_nothing_else)
{
        static const char *const names[] = {"..", ".hidden", "B", "a", "a/b", "a/b.c", "b", "остров"};
        static const char *const others[] = {"notes.txt", "x.scene-wal", ".draft-1.scene", "a%2fb.scene", "%41.scene"};
        const size_t count = sizeof names / sizeof names[0];
        struct scn_test_storage test;
        struct scn_storage_list list;

        scn_test_storage_init(&test);
        SCN_TEST_OK(scn_storage_list(test.storage, SCN_STORAGE_DOCUMENTS, &list, NULL));
        cr_assert_eq(list.count, 0);
        scn_storage_list_finish(&list);
        for (size_t i = 0; i < count; i++)
                create(&test, names[count - 1 - i]);
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
                cr_assert_eq(close(open(scn_test_storage_file(&test, others[i]), O_CREAT | O_WRONLY, 0600)), 0);
        cr_assert_eq(mkdir(scn_test_storage_file(&test, "folder.scene"), 0700), 0);
        cr_assert_eq(symlink("a.scene", scn_test_storage_file(&test, "link.scene")), 0);

        SCN_TEST_OK(scn_storage_list(test.storage, SCN_STORAGE_DOCUMENTS, &list, NULL));
        cr_assert_eq(list.count, count);
        for (size_t i = 0; i < count; i++) {
                cr_assert_eq(list.entries[i].name.size, strlen(names[i]), "%zu", i);
                cr_assert_arr_eq(list.entries[i].name.data, names[i], strlen(names[i]));
                cr_assert_gt(list.entries[i].file_bytes, 4096);
                cr_assert_eq(list.entries[i].deleted_us, 0);
        }
        scn_storage_list_finish(&list);
        SCN_TEST_OK(scn_storage_list(test.storage, SCN_STORAGE_TRASH, &list, NULL));
        cr_assert_eq(list.count, 0);
        scn_storage_list_finish(&list);
        scn_test_storage_finish(&test);
}

/* Wherever it points: to another document, to a file elsewhere, or nowhere. */
SCN_TEST(storage_directory, takes_no_link_for_a_document)
{
        static const char *const targets[] = {"b.scene", "/etc/passwd", "/nonexistent", "a.scene"};
        struct scn_test_storage test;
        scn_test_storage_init(&test);
        create(&test, "b");
        for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
                static const struct scn_journal_options reading = {.mode = SCN_JOURNAL_READ};
                struct scn_storage_fault fault = {0};
                struct scn_journal *journal;
                cr_assert_eq(symlink(targets[i], scn_test_storage_file(&test, "a.scene")), 0);
                cr_assert_eq(scn_journal_open(test.storage, scn_test_text("a"), NULL, &journal, &fault),
                        SCN_E_NOT_A_DOCUMENT);
                cr_assert_str_eq(fault.text, "a.scene: a symbolic link, which is not followed");
                cr_assert_eq(scn_journal_open(test.storage, scn_test_text("a"), &reading, &journal, &fault),
                        SCN_E_NOT_A_DOCUMENT);
                cr_assert_eq(scn_storage_delete(test.storage, scn_test_text("a"), 1, &fault), SCN_E_NOT_A_DOCUMENT);
                cr_assert_eq(scn_storage_rename(test.storage, scn_test_text("a"), scn_test_text("c"), &fault),
                        SCN_E_NOT_A_DOCUMENT);
                cr_assert_eq(unlink(scn_test_storage_file(&test, "a.scene")), 0);
        }
        scn_test_storage_finish(&test);
}

SCN_TEST(storage_directory, knows_whether_a_document_exists)
{
        struct scn_test_storage test;

        scn_test_storage_init(&test);
        create(&test, "a/b");
        SCN_TEST_OK(scn_storage_find(test.storage, scn_test_text("a/b"), NULL));
        cr_assert_eq(scn_storage_find(test.storage, scn_test_text("A/b"), NULL), SCN_E_NO_DOCUMENT);
        cr_assert_eq(scn_storage_find(test.storage, scn_test_text("a%2Fb"), NULL), SCN_E_NO_DOCUMENT);
        cr_assert_eq(scn_storage_find(test.storage, scn_test_text(""), NULL), SCN_E_BAD_NAME);
        scn_test_storage_finish(&test);
}

/* No name leads out of the directory. */
SCN_TEST(storage_directory, keeps_every_document_inside)
{
        static const char *const names[] = {"../outside", "/tmp/outside", "..", ".", "a/../../outside", "trash/x"};
        struct scn_test_storage test, inner;

        scn_test_storage_init(&test);
        snprintf(inner.path, sizeof inner.path, "%.200s/inner", test.path);
        SCN_TEST_OK(scn_storage_open(inner.path, &inner.storage, NULL));
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
                create(&inner, names[i]);
        cr_assert_eq(access(scn_test_storage_file(&test, "outside.scene"), F_OK), -1);
        cr_assert_eq(access("/tmp/outside.scene", F_OK), -1);
        struct scn_storage_list list;
        SCN_TEST_OK(scn_storage_list(inner.storage, SCN_STORAGE_DOCUMENTS, &list, NULL));
        cr_assert_eq(list.count, sizeof names / sizeof names[0]);
        scn_storage_list_finish(&list);
        scn_storage_close(inner.storage);
        scn_test_storage_finish(&test);
}

SCN_TEST(storage_directory, tells_how_much_room_is_left)
{
        struct scn_test_storage test;
        uint64_t bytes = 0;

        scn_test_storage_init(&test);
        SCN_TEST_OK(scn_storage_free_bytes(test.storage, &bytes, NULL));
        cr_assert_gt(bytes, 0);
        scn_test_storage_finish(&test);
}

static enum scn_error open_and_list(void *data)
{
        struct scn_storage *storage;
        struct scn_storage_list list;
        enum scn_error error = scn_storage_open(data, &storage, NULL);

        if (error != SCN_OK)
                return error;
        error = scn_storage_list(storage, SCN_STORAGE_DOCUMENTS, &list, NULL);
        if (error == SCN_OK)
                scn_storage_list_finish(&list);
        scn_storage_close(storage);
        return error;
}

SCN_TEST(storage_directory, survives_each_allocation_that_fails)
{
        struct scn_test_storage test;

        scn_test_storage_init(&test);
        create(&test, "a");
        create(&test, "b");
        scn_storage_close(test.storage);
        scn_test_fail_each_allocation(open_and_list, test.path);
        test.storage = NULL;
        scn_test_storage_finish(&test);
}

SCN_TEST(directory, is_held_while_somebody_has_it_open_also_without_its_lock_file)
{
        struct scn_test_storage test;

        cr_assert_not(scn_storage_is_held("/nonexistent/folder"));
        cr_assert_not(scn_storage_is_held("/dev/null"));
        scn_test_storage_init(&test);
        cr_assert(scn_storage_is_held(test.path));
        cr_assert_eq(unlink(scn_test_storage_file(&test, "scened.lock")), 0);
        cr_assert(scn_storage_is_held(test.path));
        scn_storage_close(test.storage);
        cr_assert_not(scn_storage_is_held(test.path));
        SCN_TEST_OK(scn_storage_open(test.path, &test.storage, NULL));
        cr_assert(scn_storage_is_held(test.path));
        scn_storage_close(test.storage);
        cr_assert_not(scn_storage_is_held(test.path), "for the lock file is there");
        SCN_TEST_OK(scn_storage_open(test.path, &test.storage, NULL));
        scn_test_storage_finish(&test);
}
