/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/random.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct scn_test_shape small = {.client = 1, .records_count = 1, .payload_bytes = 100, .answer_bytes = 20};
/* Record 0 in the transaction's row, record 1 in records. */
static const struct scn_test_shape both = {.client = 1, .records_count = 2, .payload_bytes = 60, .answer_bytes = 20};

static struct scn_journal *make_island(
        struct scn_test_storage *test, uint32_t count, const struct scn_test_shape *shape)
{
        scn_test_storage_init(test);
        struct scn_journal *journal = scn_test_create_island(test);
        SCN_TEST_OK(scn_test_append(journal, 1, count, shape, NULL));
        return journal;
}

static uint32_t count_page(struct scn_journal *journal, struct scn_journal_range range)
{
        struct scn_journal_page *page;

        SCN_TEST_OK(scn_journal_read(journal, &range, &page, NULL));
        const uint32_t count = scn_journal_page_count(page);
        for (uint32_t i = 0; i < count; i++)
                cr_assert_eq(scn_journal_page_get(page, i)->revision, (range.from != 0 ? range.from : 1) + i);
        scn_journal_page_destroy(page);
        return count;
}

SCN_TEST(journal_read, gives_the_range_asked_for_in_pages)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test, 1500, &small);

        cr_assert_eq(count_page(journal, (struct scn_journal_range){.from = 1}), 1000);
        cr_assert_eq(count_page(journal, (struct scn_journal_range){.from = 1001}), 500);
        cr_assert_eq(count_page(journal, (struct scn_journal_range){0}), 1000);
        cr_assert_eq(count_page(journal, (struct scn_journal_range){.from = 5, .to = 5}), 1);
        cr_assert_eq(count_page(journal, (struct scn_journal_range){.from = 5, .to = 9}), 5);
        cr_assert_eq(count_page(journal, (struct scn_journal_range){.from = 1499, .to = 9000}), 2);
        cr_assert_eq(count_page(journal, (struct scn_journal_range){.from = 1501}), 0);
        cr_assert_eq(count_page(journal, (struct scn_journal_range){.from = SCN_REVISION_MAX}), 0);
        cr_assert_eq(count_page(journal, (struct scn_journal_range){.from = UINT64_MAX}), 0);
        cr_assert_eq(count_page(journal, (struct scn_journal_range){.from = 9, .to = 5}), 0);
        cr_assert_eq(count_page(journal, (struct scn_journal_range){.from = 1, .transactions_max = 7}), 7);
        const uint32_t some = count_page(journal, (struct scn_journal_range){.from = 1, .bytes_max = 2000});
        cr_assert(some >= 5 && some <= 12, "%u", some);
        cr_assert_eq(count_page(journal, (struct scn_journal_range){.from = 1, .bytes_max = 1}), 1);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal_read, tells_heads_without_records)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test, 20, &both);
        const struct scn_journal_range range = {.from = 1, .without_records = true};
        struct scn_journal_page *page;

        SCN_TEST_OK(scn_journal_read(journal, &range, &page, NULL));
        cr_assert_eq(scn_journal_page_count(page), 20);
        for (uint32_t i = 0; i < 20; i++)
                cr_assert(scn_test_transaction_is(scn_journal_page_get(page, i), i + 1, &both, true));
        scn_journal_page_destroy(page);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal_read, finds_nothing_in_a_new_document)
{
        struct scn_test_storage test;
        scn_revision revision = 9;

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        cr_assert_eq(count_page(journal, (struct scn_journal_range){.from = 1}), 0);
        SCN_TEST_OK(scn_journal_find_time(journal, INT64_MAX, &revision, NULL));
        cr_assert_eq(revision, 0);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal_read, does_not_see_half_of_what_is_being_appended)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test, 10, &small);
        struct scn_journal *reader = scn_test_open_island(&test, SCN_JOURNAL_READ);

        cr_assert_eq(scn_test_count(reader, &small), 10);
        SCN_TEST_OK(scn_test_append(journal, 11, 10, &small, NULL));
        cr_assert_eq(scn_test_count(reader, &small), 20);
        scn_journal_close(reader);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal_read, finds_the_revision_of_a_time)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test, 100, &small);

        for (scn_revision i = 0; i <= 101; i++) {
                const scn_revision wanted = i <= 100 ? i : 100;
                const int64_t moment = scn_test_time_of(i);
                scn_revision revision = 999;
                SCN_TEST_OK(scn_journal_find_time(journal, moment, &revision, NULL));
                cr_assert_eq(revision, wanted);
                SCN_TEST_OK(scn_journal_find_time(journal, moment + 1, &revision, NULL));
                cr_assert_eq(revision, wanted);
                SCN_TEST_OK(scn_journal_find_time(journal, moment - 1, &revision, NULL));
                cr_assert_eq(revision, i == 0 ? 0 : i - 1);
        }
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

/* ----------------------------------------------------------------- damage */

/* Asserts that the journal can be read up to the revision before, and that this one is named. */
static void expect_damage(struct scn_journal *journal, scn_revision revision, const char *what)
{
        struct scn_storage_fault fault = {0};
        struct scn_journal_page *page;
        enum scn_error error;
        struct scn_journal_range range = {.from = 1};

        error = scn_journal_read(journal, &range, &page, &fault);
        cr_assert_eq(error, SCN_E_CORRUPT, "%s: %s", what, scn_error_code(error));
        cr_assert_eq(fault.revision, revision, "%s: %llu is named: %s", what, (unsigned long long)fault.revision,
                fault.text);
        cr_assert_null(page);
        range.to = revision - 1;
        SCN_TEST_OK(scn_journal_read(journal, &range, &page, &fault));
        cr_assert_eq(scn_journal_page_count(page), revision - 1, "%s", what);
        scn_journal_page_destroy(page);
        cr_assert_eq(scn_journal_verify(journal, &fault), SCN_E_CORRUPT, "%s", what);
}

/* Every column is spoilt in turn, by the SQL that changes it and the one that puts it back. */
static const struct {
        const char *spoil;
        const char *mend;
} spoils[] = {
        {"UPDATE transactions SET time_us = time_us + 1 WHERE rev = 60",
                "UPDATE transactions SET time_us = time_us - 1 WHERE rev = 60"},
        {"UPDATE transactions SET client = 2 WHERE rev = 60", "UPDATE transactions SET client = 1 WHERE rev = 60"},
        {"UPDATE transactions SET number = number + 1 WHERE rev = 60",
                "UPDATE transactions SET number = number - 1 WHERE rev = 60"},
        {"UPDATE transactions SET group_number = group_number + 1 WHERE rev = 60",
                "UPDATE transactions SET group_number = group_number - 1 WHERE rev = 60"},
        {"UPDATE transactions SET cause = cause + 1 WHERE rev = 60",
                "UPDATE transactions SET cause = cause - 1 WHERE rev = 60"},
        {"UPDATE transactions SET cause = -1 WHERE rev = 60", "UPDATE transactions SET cause = 0 WHERE rev = 60"},
        {"UPDATE transactions SET step = step + 1 WHERE rev = 60",
                "UPDATE transactions SET step = step - 1 WHERE rev = 60"},
        {"UPDATE transactions SET record_count = 1 WHERE rev = 60",
                "UPDATE transactions SET record_count = 2 WHERE rev = 60"},
        {"UPDATE transactions SET record_count = 1 << 40 WHERE rev = 60",
                "UPDATE transactions SET record_count = 2 WHERE rev = 60"},
        {"UPDATE transactions SET journal_bytes = journal_bytes + 1 WHERE rev = 60",
                "UPDATE transactions SET journal_bytes = journal_bytes - 1 WHERE rev = 60"},
        {"UPDATE transactions SET content_hash = digest WHERE rev = 60",
                "UPDATE transactions SET content_hash = (SELECT bytes FROM saved WHERE column = 'content_hash') WHERE rev = 60"},
        {"UPDATE transactions SET digest = content_hash WHERE rev = 60",
                "UPDATE transactions SET digest = (SELECT bytes FROM saved WHERE column = 'digest') WHERE rev = 60"},
        {"UPDATE transactions SET answer = CAST(x'00' || answer AS BLOB) WHERE rev = 60",
                "UPDATE transactions SET answer = (SELECT bytes FROM saved WHERE column = 'answer') WHERE rev = 60"},
        {"UPDATE transactions SET answer = NULL WHERE rev = 60",
                "UPDATE transactions SET answer = (SELECT bytes FROM saved WHERE column = 'answer') WHERE rev = 60"},
        {"UPDATE transactions SET kind = kind + 1 WHERE rev = 60",
                "UPDATE transactions SET kind = kind - 1 WHERE rev = 60"},
        {"UPDATE transactions SET kind = NULL WHERE rev = 60", "UPDATE transactions SET kind = 0 WHERE rev = 60"},
        {"UPDATE transactions SET node = zeroblob(16) WHERE rev = 60",
                "UPDATE transactions SET node = (SELECT bytes FROM saved WHERE column = 'node') WHERE rev = 60"},
        {"UPDATE transactions SET node = zeroblob(15) WHERE rev = 60",
                "UPDATE transactions SET node = (SELECT bytes FROM saved WHERE column = 'node') WHERE rev = 60"},
        {"UPDATE transactions SET before = after WHERE rev = 60",
                "UPDATE transactions SET before = (SELECT bytes FROM saved WHERE column = 'before') WHERE rev = 60"},
        {"UPDATE transactions SET after = before WHERE rev = 60",
                "UPDATE transactions SET after = (SELECT bytes FROM saved WHERE column = 'after') WHERE rev = 60"},
        {"UPDATE transactions SET first_record = first_record + 1 WHERE rev = 60",
                "UPDATE transactions SET first_record = first_record - 1 WHERE rev = 60"},
        {"UPDATE transactions SET first_record = NULL WHERE rev = 60",
                "UPDATE transactions SET first_record = 60 WHERE rev = 60"},
        {"UPDATE transactions SET records_checksum = records_checksum + 1 WHERE rev = 60",
                "UPDATE transactions SET records_checksum = records_checksum - 1 WHERE rev = 60"},
        {"UPDATE transactions SET checksum = checksum + 1 WHERE rev = 60",
                "UPDATE transactions SET checksum = checksum - 1 WHERE rev = 60"},
        {"UPDATE records SET rev = 61 WHERE rev = 60", "UPDATE records SET rev = 60 WHERE id = 60"},
        {"UPDATE records SET position = 2 WHERE rev = 60", "UPDATE records SET position = 1 WHERE rev = 60"},
        {"UPDATE records SET position = -1 WHERE rev = 60", "UPDATE records SET position = 1 WHERE rev = 60"},
        {"UPDATE records SET part = 1 WHERE rev = 60", "UPDATE records SET part = 0 WHERE rev = 60"},
        {"UPDATE records SET kind = 9 WHERE rev = 60", "UPDATE records SET kind = 1 WHERE rev = 60"},
        {"UPDATE records SET kind = -9 WHERE rev = 60", "UPDATE records SET kind = 1 WHERE rev = 60"},
        {"UPDATE records SET node = zeroblob(16) WHERE rev = 60",
                "UPDATE records SET node = (SELECT bytes FROM saved WHERE column = 'rnode') WHERE rev = 60"},
        {"UPDATE records SET before = after WHERE rev = 60",
                "UPDATE records SET before = (SELECT bytes FROM saved WHERE column = 'rbefore') WHERE rev = 60"},
        {"UPDATE records SET after = before WHERE rev = 60",
                "UPDATE records SET after = (SELECT bytes FROM saved WHERE column = 'rafter') WHERE rev = 60"},
        {"INSERT INTO lost SELECT * FROM records WHERE rev = 60; DELETE FROM records WHERE rev = 60",
                "INSERT INTO records SELECT * FROM lost; DELETE FROM lost"},
        {"INSERT INTO gone SELECT * FROM transactions WHERE rev = 60; DELETE FROM transactions WHERE rev = 60",
                "INSERT INTO transactions SELECT * FROM gone; DELETE FROM gone"},
        {"UPDATE transactions SET rev = 6000 WHERE rev = 60", "UPDATE transactions SET rev = 60 WHERE rev = 6000"},
};

/* With a database beside the file for what is put back: in the file itself it would be damage. */
static void run_beside(const char *file, const char *sql)
{
        char text[4096];
        char aside[512];

        snprintf(aside, sizeof aside, "%s.aside", file);
        FILE *made = fopen(aside, "ab");
        cr_assert(made != NULL && fclose(made) == 0);
        snprintf(text, sizeof text, "ATTACH '%s' AS aside; %s", aside, sql);
        scn_test_sql(file, text);
}

SCN_TEST_WITH(journal_read, names_the_revision_that_is_damaged_or_missing_and_is_whole_when_mended, .timeout = 120)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test, 100, &both);
        const char *file = scn_test_storage_file(&test, "island.scene");

        run_beside(file,
                "CREATE TABLE aside.saved (column TEXT, bytes BLOB);"
                "INSERT INTO saved SELECT 'content_hash', content_hash FROM transactions WHERE rev = 60;"
                "INSERT INTO saved SELECT 'digest', digest FROM transactions WHERE rev = 60;"
                "INSERT INTO saved SELECT 'answer', answer FROM transactions WHERE rev = 60;"
                "INSERT INTO saved SELECT 'node', node FROM transactions WHERE rev = 60;"
                "INSERT INTO saved SELECT 'before', before FROM transactions WHERE rev = 60;"
                "INSERT INTO saved SELECT 'after', after FROM transactions WHERE rev = 60;"
                "INSERT INTO saved SELECT 'rnode', node FROM records WHERE rev = 60;"
                "INSERT INTO saved SELECT 'rbefore', before FROM records WHERE rev = 60;"
                "INSERT INTO saved SELECT 'rafter', after FROM records WHERE rev = 60;"
                "CREATE TABLE aside.lost AS SELECT * FROM records WHERE 0;"
                "CREATE TABLE aside.gone AS SELECT * FROM transactions WHERE 0");
        for (size_t i = 0; i < sizeof spoils / sizeof spoils[0]; i++) {
                run_beside(file, spoils[i].spoil);
                expect_damage(journal, 60, spoils[i].spoil);
                run_beside(file, spoils[i].mend);
                cr_assert_eq(scn_test_count(journal, &both), 100, "%s", spoils[i].mend);
                SCN_TEST_OK(scn_journal_verify(journal, NULL));
        }
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

/* CASES B23, as far as it is the journal's: one damaged document, one that works. */
/* What is said of a record that is not what was written, but so many bytes. */
static void read_record_of(uint32_t size, struct scn_storage_fault *fault)
{
        static const struct scn_test_shape shape = {.client = 1, .records_count = 1, .payload_bytes = 5000};
        struct scn_test_storage test;
        struct scn_journal_page *page;
        char sql[96];

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        SCN_TEST_OK(scn_test_append(journal, 1, 1, &shape, NULL));
        scn_journal_close(journal);
        snprintf(sql, sizeof sql, "UPDATE records SET after = zeroblob(%u)", size);
        scn_test_sql(scn_test_storage_file(&test, "island.scene"), sql);
        journal = scn_test_open_island(&test, SCN_JOURNAL_READ);
        cr_assert_eq(scn_journal_read(journal, &(struct scn_journal_range){.from = 1}, &page, fault), SCN_E_CORRUPT);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

/* A row that nobody can have written is not read into memory. */
SCN_TEST(journal_read, looks_at_no_row_longer_than_any_that_is_written)
{
        struct scn_storage_fault fault = {0};

        read_record_of(2u << 20, &fault);
        cr_assert_null(strstr(fault.text, "too big"), "%s", fault.text);
        read_record_of((2u << 20) + 1, &fault);
        cr_assert_not_null(strstr(fault.text, "too big"), "%s", fault.text);
}

SCN_TEST_WITH(journal_read, damage_of_one_document_is_none_of_anothers, .timeout = 120)
{
        struct scn_test_storage test;
        struct scn_journal *island = make_island(&test, 1000, &small), *reef;
        const struct scn_storage_birth birth = {.uid = {{8}}, .created_us = 1};
        struct scn_storage_fault fault = {0};
        struct scn_journal_page *page;

        SCN_TEST_OK(scn_storage_create(test.storage, scn_test_text("reef"), &birth, NULL));
        SCN_TEST_OK(scn_journal_open(test.storage, scn_test_text("reef"), NULL, &reef, NULL));
        SCN_TEST_OK(scn_test_append(reef, 1, 1000, &small, NULL));
        scn_journal_close(island);
        const char *file = scn_test_storage_file(&test, "island.scene");
        scn_test_sql(file,
                "CREATE TABLE gone AS SELECT * FROM transactions WHERE rev = 600;"
                "DELETE FROM transactions WHERE rev = 600");

        island = scn_test_open_island(&test, SCN_JOURNAL_WRITE);
        const struct scn_journal_range range = {.from = 501};
        cr_assert_eq(scn_journal_read(island, &range, &page, &fault), SCN_E_CORRUPT);
        cr_assert_eq(fault.revision, 600);
        scn_journal_close(island);
        SCN_TEST_OK(scn_test_append(reef, 1001, 1, &small, NULL));
        cr_assert_eq(scn_test_sql(file, "SELECT count(*) FROM transactions"), 999);

        scn_test_sql(file, "INSERT INTO transactions SELECT * FROM gone");
        island = scn_test_open_island(&test, SCN_JOURNAL_WRITE);
        cr_assert_eq(scn_test_count(island, &small), 1000);
        scn_journal_close(island);
        scn_journal_close(reef);
        scn_test_storage_finish(&test);
}

/* A record of a kind from a newer version is not the storage's business. */
SCN_TEST(journal_read, gives_back_kinds_that_nobody_knows)
{
        struct scn_test_storage test;
        struct scn_test_transaction made;
        struct scn_journal_page *page;

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        scn_test_transaction_init(&made, 1, &both);
        made.records[0].kind = UINT32_MAX;
        made.records[1].kind = 4000000000u;
        made.transaction.cause = UINT32_MAX;
        SCN_TEST_OK(scn_journal_append(journal, &made.transaction, 1, NULL));
        SCN_TEST_OK(scn_journal_read(journal, &(struct scn_journal_range){.from = 1}, &page, NULL));
        const struct scn_journal_transaction *read = scn_journal_page_get(page, 0);
        cr_assert_eq(read->records[0].kind, UINT32_MAX);
        cr_assert_eq(read->records[1].kind, 4000000000u);
        cr_assert_eq(read->cause, UINT32_MAX);
        scn_journal_page_destroy(page);
        scn_test_transaction_finish(&made);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

/* ---------------------------------------------------------- flipped bytes */

static uint8_t *read_file(const char *path, size_t *size)
{
        FILE *file = fopen(path, "rb");

        cr_assert_not_null(file);
        fseek(file, 0, SEEK_END);
        *size = (size_t)ftell(file);
        rewind(file);
        uint8_t *bytes = malloc(*size);
        cr_assert(bytes != NULL && fread(bytes, *size, 1, file) == 1);
        fclose(file);
        return bytes;
}

static void write_file(const char *path, const uint8_t *bytes, size_t size)
{
        FILE *file = fopen(path, "wb");

        cr_assert(file != NULL && fwrite(bytes, size, 1, file) == 1 && fclose(file) == 0);
}

static bool is_damage(enum scn_error error)
{
        return error == SCN_E_CORRUPT || error == SCN_E_NOT_A_DOCUMENT || error == SCN_E_NEWER_FORMAT ||
                error == SCN_E_OLDER_FORMAT;
}

/* Reads all and compares; SCN_OK: everything is as it was appended. */
static enum scn_error read_all(const char *path, uint32_t count)
{
        struct scn_journal *journal;
        struct scn_journal_page *page;
        const struct scn_journal_range range = {.from = 1, .transactions_max = count + 1};
        enum scn_error error = scn_journal_open_file(path, &journal, NULL);

        if (error != SCN_OK)
                return error;
        error = scn_journal_read(journal, &range, &page, NULL);
        if (error == SCN_OK) {
                const uint32_t found = scn_journal_page_count(page);
                for (uint32_t i = 0; i < found; i++)
                        cr_assert(scn_test_transaction_is(scn_journal_page_get(page, i), i + 1, &both, false),
                                "a flipped byte was taken for data");
                /* Only the end may be missing in silence, and that verification finds. */
                if (found != count)
                        error = scn_journal_verify(journal, NULL) == SCN_OK ? SCN_E_BAD_VALUE : SCN_E_CORRUPT;
                scn_journal_page_destroy(page);
        }
        scn_journal_close(journal);
        return error;
}

SCN_TEST_WITH(journal_read, never_takes_a_flipped_byte_for_data, .timeout = 300)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test, 60, &both);
        struct scn_random random = scn_random_from_seed(scn_test_seed(23));
        char path[512];
        size_t size;
        int found = 0;

        SCN_TEST_OK(scn_journal_begin_epoch(journal, 77, 1, NULL));
        scn_journal_close(journal);
        snprintf(path, sizeof path, "%s", scn_test_storage_file(&test, "island.scene"));
        uint8_t *bytes = read_file(path, &size);
        for (int i = 0; i < 600; i++) {
                const size_t at = scn_random_below(&random, (uint32_t)size);
                const uint8_t flip = (uint8_t)(1u << scn_random_below(&random, 8));
                bytes[at] ^= flip;
                write_file(path, bytes, size);
                const enum scn_error error = read_all(path, 60);
                cr_assert(error == SCN_OK || is_damage(error) || error == SCN_E_STORAGE_FAILED, "byte %zu, bits %x: %s",
                        at, flip, scn_error_code(error));
                found += error != SCN_OK;
                bytes[at] ^= flip;
        }
        cr_assert_gt(found, 100, "only %d flips were found: the test flips in vain", found);
        write_file(path, bytes, size);
        cr_assert_eq(read_all(path, 60), SCN_OK);
        free(bytes);
        scn_test_storage_finish(&test);
}
