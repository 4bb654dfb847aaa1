/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct scn_test_shape small = {.client = 1, .records_count = 1, .payload_bytes = 100, .answer_bytes = 20};

/* Who may write nothing, for root may write everything. */
#define NOBODY 65534

static int64_t file_size(const char *path)
{
        struct stat status;
        return stat(path, &status) == 0 ? (int64_t)status.st_size : -1;
}

SCN_TEST(journal, tells_what_its_birth_said)
{
        struct scn_test_storage test;
        struct scn_journal_state state;

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        SCN_TEST_OK(scn_journal_state(journal, &state, NULL));
        cr_assert_eq(state.uid.bytes[0], 7);
        cr_assert_eq(state.created_us, 1);
        cr_assert_eq(state.last_revision, 0);
        cr_assert_eq(state.last_time_us, 0);
        cr_assert_eq(state.epoch, 0);
        cr_assert_not(state.has_checkpoint);
        cr_assert_eq(state.journal_bytes, 0);
        const struct scn_slice origin = scn_journal_origin(journal);
        cr_assert_eq(origin.size, strlen("somewhere"));
        cr_assert_arr_eq(origin.data, "somewhere", origin.size);
        scn_journal_close(journal);
        scn_journal_close(NULL);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal, tells_its_end_and_how_much_it_holds)
{
        struct scn_test_storage test;
        struct scn_journal_state state;

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        SCN_TEST_OK(scn_test_append(journal, 1, 10, &small, NULL));
        SCN_TEST_OK(scn_journal_state(journal, &state, NULL));
        cr_assert_eq(state.last_revision, 10);
        cr_assert_eq(state.last_time_us, scn_test_time_of(10));
        /* hash, digest, answer, payload, and 64 for the transaction and its record each */
        cr_assert_eq(state.journal_bytes, 10 * (16 + 64 + 20 + 100 + 64 + 64));
        cr_assert_gt(state.wal_bytes, 0);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

/* Makes the document with a note of this size about where it came from, made longer in the file by `more`. */
static enum scn_error open_with_origin(uint32_t size, uint32_t more)
{
        static uint8_t origin[65536];
        struct scn_test_storage test;
        struct scn_journal *journal = NULL;
        char sql[96];

        scn_test_storage_init(&test);
        memset(origin, 'o', sizeof origin);
        const struct scn_storage_birth birth = {
                .uid = scn_test_client_uid(9), .created_us = 1, .origin = {origin, size}};
        SCN_TEST_OK(scn_storage_create(test.storage, scn_test_text("island"), &birth, NULL));
        snprintf(sql, sizeof sql, "UPDATE document SET origin = zeroblob(%u)", size + more);
        if (more > 0)
                scn_test_sql(scn_test_storage_file(&test, "island.scene"), sql);
        const enum scn_error error = scn_journal_open(test.storage, scn_test_text("island"), NULL, &journal, NULL);
        if (error == SCN_OK)
                cr_assert_eq(scn_journal_origin(journal).size, size);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
        return error;
}

SCN_TEST(journal, has_an_origin_up_to_its_limit_and_believes_in_none_beyond)
{
        cr_assert_eq(open_with_origin(65536, 0), SCN_OK);
        cr_assert_eq(open_with_origin(65536, 1), SCN_E_CORRUPT);
}

/* ----------------------------------------------------------------- epochs */

SCN_TEST(journal, lists_each_epoch_with_where_it_began_and_ended)
{
        struct scn_test_storage test;
        struct scn_journal_epoch epoch;
        struct scn_journal_state state;
        bool is_found;

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        SCN_TEST_OK(scn_journal_begin_epoch(journal, UINT64_MAX, 100, NULL));
        SCN_TEST_OK(scn_test_append(journal, 1, 5, &small, NULL));
        SCN_TEST_OK(scn_journal_begin_epoch(journal, 2, 200, NULL));
        scn_journal_close(journal);

        journal = scn_test_open_island(&test, SCN_JOURNAL_READ);
        SCN_TEST_OK(scn_journal_find_epoch(journal, UINT64_MAX, &epoch, &is_found, NULL));
        cr_assert(is_found);
        cr_assert_eq(epoch.id, UINT64_MAX);
        cr_assert_eq(epoch.began, 0);
        cr_assert_eq(epoch.ended, 5);
        cr_assert_eq(epoch.time_us, 100);
        SCN_TEST_OK(scn_journal_find_epoch(journal, 2, &epoch, &is_found, NULL));
        cr_assert(is_found);
        cr_assert_eq(epoch.began, 5);
        cr_assert_eq(epoch.ended, SCN_REVISION_MAX);
        SCN_TEST_OK(scn_journal_find_epoch(journal, 3, &epoch, &is_found, NULL));
        cr_assert_not(is_found);
        SCN_TEST_OK(scn_journal_state(journal, &state, NULL));
        cr_assert_eq(state.epoch, 2);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal, lists_the_newest_epochs_first_and_no_more_than_asked_for)
{
        struct scn_test_storage test;
        struct scn_journal_epoch epochs[4];
        uint32_t count;

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        SCN_TEST_OK(scn_journal_list_epochs(journal, epochs, 4, &count, NULL));
        cr_assert_eq(count, 0);
        SCN_TEST_OK(scn_journal_begin_epoch(journal, 7, 100, NULL));
        SCN_TEST_OK(scn_test_append(journal, 1, 5, &small, NULL));
        SCN_TEST_OK(scn_journal_begin_epoch(journal, 6, 200, NULL));
        SCN_TEST_OK(scn_journal_begin_epoch(journal, 8, 300, NULL));
        SCN_TEST_OK(scn_journal_list_epochs(journal, epochs, 4, &count, NULL));
        cr_assert_eq(count, 3);
        cr_assert(epochs[0].id == 8 && epochs[0].began == 5 && epochs[0].ended == SCN_REVISION_MAX);
        cr_assert(epochs[1].id == 6 && epochs[1].began == 5 && epochs[1].ended == 5);
        cr_assert(epochs[2].id == 7 && epochs[2].began == 0 && epochs[2].ended == 5 && epochs[2].time_us == 100);
        SCN_TEST_OK(scn_journal_list_epochs(journal, epochs, 2, &count, NULL));
        cr_assert_eq(count, 2);
        cr_assert_eq(epochs[1].id, 6);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal, refuses_an_epoch_that_was_there_before)
{
        struct scn_test_storage test;

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        SCN_TEST_OK(scn_journal_begin_epoch(journal, 5, 100, NULL));
        cr_assert_eq(scn_journal_begin_epoch(journal, 5, 200, NULL), SCN_E_BAD_BATCH);
        cr_assert_eq(scn_journal_begin_epoch(journal, 0, 200, NULL), SCN_E_BAD_BATCH);
        SCN_TEST_OK(scn_journal_begin_epoch(journal, 6, 200, NULL));
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

/* A file that has lost its end tells so by what it still knows. */
SCN_TEST(journal, is_not_opened_when_its_end_is_missing)
{
        struct scn_test_storage test;
        struct scn_storage_fault fault = {0};
        struct scn_journal *journal;

        scn_test_storage_init(&test);
        journal = scn_test_create_island(&test);
        SCN_TEST_OK(scn_test_append(journal, 1, 10, &small, NULL));
        SCN_TEST_OK(scn_journal_begin_epoch(journal, 5, 100, NULL));
        scn_journal_close(journal);
        const char *file = scn_test_storage_file(&test, "island.scene");
        scn_test_sql(file,
                "CREATE TABLE gone AS SELECT * FROM transactions WHERE rev > 7;"
                "DELETE FROM transactions WHERE rev > 7");
        cr_assert_eq(scn_journal_open(test.storage, scn_test_text("island"), NULL, &journal, &fault), SCN_E_CORRUPT);
        cr_assert_eq(fault.revision, 8);
        scn_test_sql(file, "INSERT INTO transactions SELECT * FROM gone");
        journal = scn_test_open_island(&test, SCN_JOURNAL_WRITE);
        cr_assert_eq(scn_test_count(journal, &small), 10);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

/* ---------------------------------------------------------------- opening */

static void expect_open(struct scn_test_storage *test, enum scn_journal_mode mode, enum scn_error wanted)
{
        const struct scn_journal_options options = {.mode = mode};
        struct scn_storage_fault fault = {0};
        struct scn_journal *journal;
        const enum scn_error error =
                scn_journal_open(test->storage, scn_test_text("island"), &options, &journal, &fault);

        cr_assert_eq(error, wanted, "%s: %s", scn_error_code(error), fault.text);
        if (error == SCN_OK)
                scn_journal_close(journal);
        else
                cr_assert_neq(fault.text[0], '\0');
}

static void put_file(const char *path, const char *text)
{
        FILE *file = fopen(path, "w");
        cr_assert(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

SCN_TEST(journal, is_not_opened_when_the_file_is_none_of_ours)
{
        struct scn_test_storage test;
        char path[512];

        scn_test_storage_init(&test);
        snprintf(path, sizeof path, "%s", scn_test_storage_file(&test, "island.scene"));
        for (int mode = SCN_JOURNAL_WRITE; mode <= SCN_JOURNAL_READ; mode++) {
                expect_open(&test, (enum scn_journal_mode)mode, SCN_E_NO_DOCUMENT);
                put_file(path, "");
                expect_open(&test, (enum scn_journal_mode)mode, SCN_E_NOT_A_DOCUMENT);
                cr_assert_eq(file_size(path), 0);
                put_file(path,
                        "this is a letter, not a database, and it is long enough to be looked at; "
                        "a hundred bytes are the least that SQLite wants to see of a file");
                expect_open(&test, (enum scn_journal_mode)mode, SCN_E_NOT_A_DOCUMENT);
                cr_assert_eq(unlink(path), 0);
                cr_assert_eq(mkdir(path, 0700), 0);
                expect_open(&test, (enum scn_journal_mode)mode, SCN_E_NOT_A_DOCUMENT);
                cr_assert_eq(rmdir(path), 0);
                cr_assert_eq(mkfifo(path, 0600), 0);
                expect_open(&test, (enum scn_journal_mode)mode, SCN_E_NOT_A_DOCUMENT);
                cr_assert_eq(unlink(path), 0);
        }
        /* somebody else's database */
        cr_assert_eq(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
        scn_test_sql(path, "CREATE TABLE t (x); PRAGMA user_version = 1");
        expect_open(&test, SCN_JOURNAL_WRITE, SCN_E_NOT_A_DOCUMENT);
        scn_test_sql(path, "PRAGMA application_id = 1396917582");
        expect_open(&test, SCN_JOURNAL_WRITE, SCN_E_CORRUPT);
        cr_assert_eq(scn_journal_open(test.storage, scn_test_text(""), NULL, &(struct scn_journal *){NULL}, NULL),
                SCN_E_BAD_NAME);
        scn_test_storage_finish(&test);
}

static void read_bytes(const char *path, uint8_t **bytes, size_t *size)
{
        FILE *file = fopen(path, "rb");

        cr_assert_not_null(file);
        *size = (size_t)file_size(path);
        *bytes = malloc(*size + 1);
        cr_assert(*bytes != NULL && (*size == 0 || fread(*bytes, *size, 1, file) == 1));
        fclose(file);
}

static void expect_same_bytes(const char *path, const uint8_t *bytes, size_t size)
{
        uint8_t *found;
        size_t found_size;

        read_bytes(path, &found, &found_size);
        cr_assert(found_size == size && memcmp(found, bytes, size) == 0, "%s has changed", path);
        free(found);
}

SCN_TEST(journal, of_a_newer_format_is_left_as_it_is)
{
        struct scn_test_storage test;
        uint8_t *before;
        size_t before_size;
        char path[512], wal[520];

        scn_test_storage_init(&test);
        scn_journal_close(scn_test_create_island(&test));
        snprintf(path, sizeof path, "%s", scn_test_storage_file(&test, "island.scene"));
        snprintf(wal, sizeof wal, "%s-wal", path);
        scn_test_sql(path, "PRAGMA user_version = 4");
        cr_assert_eq(file_size(wal), -1);
        read_bytes(path, &before, &before_size);
        for (int mode = SCN_JOURNAL_WRITE; mode <= SCN_JOURNAL_READ; mode++)
                expect_open(&test, (enum scn_journal_mode)mode, SCN_E_NEWER_FORMAT);
        expect_same_bytes(path, before, before_size);
        free(before);
        cr_assert_eq(file_size(wal), -1);
        scn_test_storage_finish(&test);
}

/* The newer program has died, and that its format is newer stands in the write-ahead file. */
SCN_TEST(journal, of_a_newer_format_is_left_with_its_write_ahead_file)
{
        struct scn_test_storage test;
        uint8_t *before, *wal_before;
        size_t before_size, wal_size;
        char path[512], wal[520], from[512], command[2200];
        sqlite3 *newer;

        scn_test_storage_init(&test);
        scn_journal_close(scn_test_create_island(&test));
        snprintf(from, sizeof from, "%s", scn_test_storage_file(&test, "newer.scene"));
        snprintf(path, sizeof path, "%s", scn_test_storage_file(&test, "island.scene"));
        snprintf(wal, sizeof wal, "%s-wal", path);
        cr_assert_eq(rename(path, from), 0);
        cr_assert_eq(sqlite3_open(from, &newer), SQLITE_OK);
        cr_assert_eq(sqlite3_exec(newer, "PRAGMA user_version = 4", NULL, NULL, NULL), SQLITE_OK);
        snprintf(command, sizeof command, "cp %s %s && cp %s-wal %s", from, path, from, wal);
        cr_assert_eq(system(command), 0);
        cr_assert_eq(sqlite3_close(newer), SQLITE_OK);
        read_bytes(path, &before, &before_size);
        read_bytes(wal, &wal_before, &wal_size);
        cr_assert_gt(wal_size, 4096);
        for (int mode = SCN_JOURNAL_WRITE; mode <= SCN_JOURNAL_READ; mode++) {
                expect_open(&test, (enum scn_journal_mode)mode, SCN_E_NEWER_FORMAT);
                expect_same_bytes(path, before, before_size);
                expect_same_bytes(wal, wal_before, wal_size);
        }
        free(before);
        free(wal_before);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal, of_an_older_format_is_not_upgraded_by_a_reader)
{
        struct scn_test_storage test;

        scn_test_storage_init(&test);
        scn_journal_close(scn_test_create_island(&test));
        scn_test_sql(scn_test_storage_file(&test, "island.scene"), "PRAGMA user_version = 0");
        /* There is no format 0; with the second format this becomes OLDER_FORMAT. */
        expect_open(&test, SCN_JOURNAL_READ, SCN_E_NOT_A_DOCUMENT);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal, is_not_opened_through_a_symbolic_link)
{
        struct scn_test_storage test;
        char target[512];

        scn_test_storage_init(&test);
        scn_journal_close(scn_test_create_island(&test));
        snprintf(target, sizeof target, "%s", scn_test_storage_file(&test, "elsewhere.scene"));
        cr_assert_eq(rename(scn_test_storage_file(&test, "island.scene"), target), 0);
        cr_assert_eq(symlink(target, scn_test_storage_file(&test, "island.scene")), 0);
        expect_open(&test, SCN_JOURNAL_WRITE, SCN_E_NOT_A_DOCUMENT);
        expect_open(&test, SCN_JOURNAL_READ, SCN_E_NOT_A_DOCUMENT);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal, of_any_file_is_opened_for_reading_and_left_alone)
{
        struct scn_test_storage test;
        struct scn_storage_fault fault = {0};
        struct scn_journal *journal;

        scn_test_storage_init(&test);
        journal = scn_test_create_island(&test);
        SCN_TEST_OK(scn_test_append(journal, 1, 10, &small, NULL));
        /* while it is in use */
        struct scn_journal *foreign;
        SCN_TEST_OK(scn_journal_open_file(scn_test_storage_file(&test, "island.scene"), &foreign, NULL));
        cr_assert_eq(scn_test_count(foreign, &small), 10);
        scn_journal_close(foreign);
        scn_journal_close(journal);
        /* and where nothing can be made beside it */
        cr_assert_eq(chmod(scn_test_storage_file(&test, "island.scene"), 0444), 0);
        cr_assert_eq(chmod(test.path, 0555), 0);
        const bool is_root = geteuid() == 0;
        cr_assert(!is_root || seteuid(NOBODY) == 0);
        const enum scn_error error =
                scn_journal_open_file(scn_test_storage_file(&test, "island.scene"), &foreign, &fault);
        cr_assert_eq(error, SCN_OK, "%s (%d)", fault.text, fault.system_code);
        cr_assert_eq(scn_test_count(foreign, &small), 10);
        SCN_TEST_OK(scn_journal_verify(foreign, NULL));
        scn_journal_close(foreign);
        cr_assert(!is_root || seteuid(0) == 0);
        cr_assert_eq(chmod(test.path, 0700), 0);
        cr_assert_eq(scn_journal_open_file("/nonexistent/x.scene", &foreign, NULL), SCN_E_NO_DOCUMENT);
        scn_test_storage_finish(&test);
}

/* A file from somebody else may bring triggers and views along: they are not run. */
SCN_TEST(journal, does_not_run_what_a_file_brings_along)
{
        struct scn_test_storage test;

        scn_test_storage_init(&test);
        scn_journal_close(scn_test_create_island(&test));
        const char *file = scn_test_storage_file(&test, "island.scene");
        scn_test_sql(file, "CREATE TRIGGER evil AFTER INSERT ON transactions BEGIN DELETE FROM document; END");
        struct scn_journal *journal = scn_test_open_island(&test, SCN_JOURNAL_WRITE);
        SCN_TEST_OK(scn_test_append(journal, 1, 3, &small, NULL));
        cr_assert_eq(scn_test_count(journal, &small), 3);
        scn_journal_close(journal);
        cr_assert_eq(scn_test_sql(file, "SELECT count(*) FROM document"), 1);
        scn_test_storage_finish(&test);
}

static enum scn_error open_and_close(void *data)
{
        struct scn_test_storage *test = data;
        struct scn_journal *journal;
        const enum scn_error error = scn_journal_open(test->storage, scn_test_text("island"), NULL, &journal, NULL);

        if (error == SCN_OK)
                scn_journal_close(journal);
        return error;
}

SCN_TEST(journal, survives_each_allocation_that_fails_while_it_is_opened)
{
        struct scn_test_storage test;

        scn_test_storage_init(&test);
        scn_journal_close(scn_test_create_island(&test));
        scn_test_fail_each_allocation(open_and_close, &test);
        scn_test_storage_finish(&test);
}

/* ------------------------------------------------------ the files beside it */

SCN_TEST(journal, leaves_one_clean_private_file_whatever_the_umask)
{
        static const mode_t masks[] = {0, 022, 077, 0777};

        for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
                struct scn_test_storage test;
                struct stat status;
                char wal[512];
                scn_test_storage_init(&test);
                umask(masks[i]);
                struct scn_journal *journal = scn_test_create_island(&test);
                SCN_TEST_OK(scn_test_append(journal, 1, 3, &small, NULL));
                static const char *const names[] = {
                        "island.scene", "island.scene-wal", "island.scene-shm", "scened.lock"};
                for (size_t k = 0; k < 4; k++) {
                        cr_assert_eq(stat(scn_test_storage_file(&test, names[k]), &status), 0, "%s", names[k]);
                        cr_assert_eq(status.st_mode & 0777, 0600, "%s under umask %o has mode %o", names[k],
                                (unsigned)masks[i], (unsigned)status.st_mode & 0777);
                }
                scn_journal_close(journal);
                snprintf(wal, sizeof wal, "%s", scn_test_storage_file(&test, "island.scene-wal"));
                cr_assert_eq(file_size(wal), -1);
                cr_assert_eq(file_size(scn_test_storage_file(&test, "island.scene-shm")), -1);
                umask(022);
                scn_test_storage_finish(&test);
        }
}

SCN_TEST(journal, is_what_the_documentation_promises_to_the_sqlite3_shell)
{
        struct scn_test_storage test;

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        SCN_TEST_OK(scn_test_append(journal, 1, 3, &small, NULL));
        scn_journal_close(journal);
        const char *file = scn_test_storage_file(&test, "island.scene");
        cr_assert_eq(scn_test_sql(file, "PRAGMA application_id"), 0x5343454e);
        cr_assert_eq(scn_test_sql(file, "PRAGMA user_version"), 3);
        cr_assert_eq(scn_test_sql(file, "PRAGMA page_size"), 4096);
        cr_assert_eq(scn_test_sql(file, "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'"), 1);
        cr_assert_eq(scn_test_sql(file, "SELECT count(*) FROM log WHERE author = 'Ада'"), 3);
        cr_assert_eq(scn_test_sql(file, "SELECT count(*) FROM client_list"), 1);
        cr_assert_eq(scn_test_sql(file, "SELECT count(*) FROM document WHERE name = 'island'"), 1);
        scn_test_storage_finish(&test);
}

static void append_much(struct scn_journal *journal, scn_revision first, uint32_t batches, bool with_upkeep)
{
        const struct scn_test_shape big = {.client = 1, .records_count = 1, .payload_bytes = 900, .answer_bytes = 20};

        for (uint32_t i = 0; i < batches; i++) {
                SCN_TEST_OK(scn_test_append(journal, first + i, 1, &big, NULL));
                if (with_upkeep)
                        SCN_TEST_OK(scn_journal_upkeep(journal, NULL));
        }
}

/* CASES B53, the journal's part: with readers that take their time between pages, and without. */
SCN_TEST_WITH(journal, keeps_the_write_ahead_file_small, .timeout = 120)
{
        const struct scn_journal_options options = {.wal_pages = 50};
        struct scn_test_storage test;
        struct scn_journal *journal;
        struct scn_journal_page *page;

        scn_test_storage_init(&test);
        scn_journal_close(scn_test_create_island(&test));
        SCN_TEST_OK(scn_journal_open(test.storage, scn_test_text("island"), &options, &journal, NULL));
        struct scn_journal *reader = scn_test_open_island(&test, SCN_JOURNAL_READ);
        const char *wal = scn_test_storage_file(&test, "island.scene-wal");
        append_much(journal, 1, 300, true);
        cr_assert_leq(file_size(wal), 60 * 4120);
        SCN_TEST_OK(
                scn_journal_read(reader, &(struct scn_journal_range){.from = 1, .transactions_max = 5}, &page, NULL));
        append_much(journal, 301, 300, true);
        cr_assert_leq(file_size(wal), 60 * 4120);
        scn_journal_page_destroy(page);
        /* Whoever forgets upkeep gets it from the appends, later. */
        append_much(journal, 601, 600, false);
        cr_assert_leq(file_size(wal), 250 * 4120);
        scn_journal_close(reader);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST_WITH(journal, shrinks_the_write_ahead_file_when_somebody_has_stopped_reading, .timeout = 120)
{
        const struct scn_journal_options options = {.wal_pages = 50};
        struct scn_test_storage test;
        struct scn_journal *journal;
        struct scn_backup *reader_that_stays;

        scn_test_storage_init(&test);
        scn_journal_close(scn_test_create_island(&test));
        SCN_TEST_OK(scn_journal_open(test.storage, scn_test_text("island"), &options, &journal, NULL));
        append_much(journal, 1, 10, true);
        struct scn_journal *reader = scn_test_open_island(&test, SCN_JOURNAL_READ);
        char copy[512];
        snprintf(copy, sizeof copy, "%s", scn_test_storage_file(&test, "copy"));
        SCN_TEST_OK(scn_backup_create(reader, copy, &reader_that_stays, NULL));
        append_much(journal, 11, 500, true);
        const char *wal = scn_test_storage_file(&test, "island.scene-wal");
        cr_assert_gt(file_size(wal), 500 * 4120);
        cr_assert_gt(scn_journal_wal(journal).bytes, 500 * 4120);
        cr_assert_geq(scn_journal_wal(journal).held_count, 5, "it is tried again and again");
        scn_backup_destroy(reader_that_stays);
        append_much(journal, 511, 150, true);
        cr_assert_leq(file_size(wal), 60 * 4120);
        cr_assert_eq(scn_journal_wal(journal).held_count, 0);
        scn_journal_close(reader);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal, tells_that_the_write_ahead_file_is_empty_as_soon_as_what_made_it_long_has_been_moved)
{
        const struct scn_journal_options options = {.wal_pages = 50};
        const struct scn_test_shape large = {
                .client = 1, .records_count = 1, .payload_bytes = 900000, .answer_bytes = 20};
        struct scn_test_storage test;
        struct scn_journal *journal;

        scn_test_storage_init(&test);
        scn_journal_close(scn_test_create_island(&test));
        SCN_TEST_OK(scn_journal_open(test.storage, scn_test_text("island"), &options, &journal, NULL));
        SCN_TEST_OK(scn_test_append(journal, 1, 1, &large, NULL));
        SCN_TEST_OK(scn_journal_upkeep(journal, NULL));
        cr_assert_eq(scn_journal_wal(journal).bytes, 0);
        cr_assert_eq(scn_journal_wal(journal).held_count, 0);
        cr_assert_eq(file_size(scn_test_storage_file(&test, "island.scene-wal")), 0);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(journal, is_read_as_it_stands_where_nothing_can_be_made_beside_it)
{
        struct scn_test_storage test;
        struct scn_journal *journal, *still;
        struct stat status;

        scn_test_storage_init(&test);
        journal = scn_test_create_island(&test);
        SCN_TEST_OK(scn_test_append(journal, 1, 5, &small, NULL));
        /* What is in the write-ahead file would be missing. */
        cr_assert_eq(scn_journal_open_still(test.storage, scn_test_text("island"), &still, NULL), SCN_E_STORAGE_FULL);
        scn_journal_close(journal);
        SCN_TEST_OK(scn_journal_open_still(test.storage, scn_test_text("island"), &still, NULL));
        cr_assert_eq(scn_test_count(still, &small), 5);
        cr_assert_neq(stat(scn_test_storage_file(&test, "island.scene-shm"), &status), 0);
        scn_journal_close(still);
        cr_assert_eq(scn_journal_open_still(test.storage, scn_test_text("nobody"), &still, NULL), SCN_E_NO_DOCUMENT);
        scn_test_storage_finish(&test);
}

/* What the daemon adds to, or begins with, is bounded before anything is done with it. */
SCN_TEST(journal, with_times_or_a_beginning_that_cannot_be_is_not_opened)
{
        static const struct {
                const char *spoil, *says;
        } spoils[] = {
                {"UPDATE transactions SET time_us = 9223372036854775807 WHERE rev = 3", "revision 3: no such time"},
                {"UPDATE transactions SET time_us = 253402300800000000 WHERE rev = 3", "revision 3: no such time"},
                {"UPDATE transactions SET time_us = 0 WHERE rev = 3", "revision 3: no such time"},
                {"UPDATE history SET base = -1", "begins or has been judged where it cannot"},
                {"UPDATE history SET base = -1, judged = -1", "begins or has been judged where it cannot"},
                {"UPDATE history SET judged = 9007199254740992", "begins or has been judged where it cannot"},
                {"UPDATE history SET base = 4, judged = 4", "the journal ends before what has been judged"},
        };
        for (size_t i = 0; i < sizeof spoils / sizeof spoils[0]; i++) {
                struct scn_test_storage test;
                struct scn_storage_fault fault = {.text = ""};
                struct scn_journal *journal;
                scn_test_storage_init(&test);
                journal = scn_test_create_island(&test);
                SCN_TEST_OK(scn_test_append(journal, 1, 3, &small, NULL));
                scn_journal_close(journal);
                scn_test_sql(scn_test_storage_file(&test, "island.scene"), spoils[i].spoil);
                cr_assert_eq(scn_journal_open(test.storage, scn_test_text("island"), NULL, &journal, &fault),
                        SCN_E_CORRUPT, "%s", spoils[i].spoil);
                cr_assert_not_null(strstr(fault.text, spoils[i].says), "%s: %s", spoils[i].spoil, fault.text);
                cr_assert_not_null(strstr(fault.text, "island"), "%s", fault.text);
                scn_test_storage_finish(&test);
        }
}

SCN_TEST(journal, takes_the_last_time_there_can_be_and_none_after_it)
{
        struct scn_test_storage test;
        struct scn_test_transaction made;
        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        scn_test_transaction_init(&made, 1, &small);
        made.transaction.time_us = SCN_JOURNAL_TIME_US_MAX + 1;
        cr_assert_eq(scn_journal_append(journal, &made.transaction, 1, NULL), SCN_E_BAD_BATCH);
        made.transaction.time_us = SCN_JOURNAL_TIME_US_MAX;
        SCN_TEST_OK(scn_journal_append(journal, &made.transaction, 1, NULL));
        scn_test_transaction_finish(&made);
        scn_journal_close(journal);
        journal = scn_test_open_island(&test, SCN_JOURNAL_WRITE);
        SCN_TEST_OK(scn_journal_verify(journal, NULL));
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}
