/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <string.h>

static struct scn_journal *make_island(struct scn_test_storage *test)
{
        scn_test_storage_init(test);
        struct scn_journal *journal = scn_test_create_island(test);
        SCN_TEST_OK(scn_test_append(journal, 1, 10, &SCN_TEST_SHAPE_SMALL, NULL));
        return journal;
}

static enum scn_error set(struct scn_journal *journal, const char *name, scn_revision revision)
{
        const struct scn_journal_tag tag = {
                .name = scn_test_text(name), .revision = revision, .time_us = 77, .author = scn_test_text("ann")};
        return scn_journal_set_tag(journal, &tag, NULL);
}

static scn_revision find(struct scn_journal *journal, const char *name)
{
        scn_revision revision = 99;
        SCN_TEST_OK(scn_journal_find_tag(journal, scn_test_text(name), &revision, NULL));
        return revision;
}

static bool is_text(struct scn_slice slice, const char *text)
{
        return slice.size == strlen(text) && memcmp(slice.data, text, slice.size) == 0;
}

SCN_TEST(journal_tag, names_a_revision_until_it_is_set_anew_or_removed)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test);
        scn_revision revision;

        SCN_TEST_OK(set(journal, "draft", 3));
        SCN_TEST_OK(set(journal, "empty", 0));
        cr_assert_eq(find(journal, "draft"), 3);
        cr_assert_eq(find(journal, "empty"), 0);
        SCN_TEST_OK(set(journal, "draft", 7));
        scn_journal_close(journal);
        journal = scn_test_open_island(&test, SCN_JOURNAL_WRITE);
        cr_assert_eq(find(journal, "draft"), 7);
        SCN_TEST_OK(scn_journal_remove_tag(journal, scn_test_text("draft"), NULL));
        cr_assert_eq(scn_journal_remove_tag(journal, scn_test_text("draft"), NULL), SCN_E_NO_TAG);
        cr_assert_eq(scn_journal_find_tag(journal, scn_test_text("draft"), &revision, NULL), SCN_E_NO_TAG);
        cr_assert_eq(find(journal, "empty"), 0);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal_tag, are_listed_by_revision_and_then_by_name)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test);
        struct scn_journal_tags tags;
        static const char *const wanted[] = {"z", "a", "b"};

        SCN_TEST_OK(set(journal, "b", 5));
        SCN_TEST_OK(set(journal, "a", 5));
        SCN_TEST_OK(set(journal, "z", 2));
        SCN_TEST_OK(scn_journal_list_tags(journal, &tags, NULL));
        cr_assert_eq(tags.count, 3);
        for (size_t i = 0; i < tags.count; i++) {
                cr_assert(is_text(tags.entries[i].name, wanted[i]));
                cr_assert(is_text(tags.entries[i].author, "ann"));
                cr_assert_eq(tags.entries[i].revision, i == 0 ? 2 : 5);
                cr_assert_eq(tags.entries[i].time_us, 77);
        }
        scn_journal_tags_finish(&tags);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal_tag, of_a_wrong_size_or_a_revision_that_is_not_there_is_refused)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test);
        static char name[SCN_JOURNAL_TAG_BYTES_MAX + 2];

        memset(name, 'n', SCN_JOURNAL_TAG_BYTES_MAX + 1);
        cr_assert_eq(set(journal, name, 1), SCN_E_BAD_BATCH);
        cr_assert_eq(set(journal, "", 1), SCN_E_BAD_BATCH);
        cr_assert_eq(set(journal, "next", 11), SCN_E_FUTURE);
        name[SCN_JOURNAL_TAG_BYTES_MAX] = '\0';
        SCN_TEST_OK(set(journal, name, 10));
        cr_assert_eq(find(journal, name), 10);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal_tag, there_are_so_many_at_the_most)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test);
        struct scn_journal_tags tags;

        scn_test_sql(scn_test_storage_file(&test, "island.scene"),
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)"
                " INSERT INTO tags SELECT 'tag' || i, 1, 1, '' FROM n");
        SCN_TEST_OK(set(journal, "last", 1));
        cr_assert_eq(set(journal, "one more", 1), SCN_E_TOO_MANY_TAGS);
        SCN_TEST_OK(set(journal, "last", 2));
        SCN_TEST_OK(scn_journal_list_tags(journal, &tags, NULL));
        cr_assert_eq(tags.count, (size_t)SCN_JOURNAL_TAGS_MAX);
        scn_journal_tags_finish(&tags);
        SCN_TEST_OK(scn_journal_remove_tag(journal, scn_test_text("tag1"), NULL));
        SCN_TEST_OK(set(journal, "one more", 1));
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal_tag, is_set_beside_the_handle_that_appends)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test);
        struct scn_journal *other = scn_test_open_island(&test, SCN_JOURNAL_WRITE);

        SCN_TEST_OK(set(other, "here", 10));
        SCN_TEST_OK(scn_test_append(journal, 11, 2, &SCN_TEST_SHAPE_SMALL, NULL));
        SCN_TEST_OK(set(other, "there", 12));
        cr_assert_eq(find(journal, "there"), 12);
        SCN_TEST_OK(scn_journal_verify(journal, NULL));
        scn_journal_close(other);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}
