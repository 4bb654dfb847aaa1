/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "protocol/base/alloc.h"
#include "storage/guard.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct scn_test_shape small = SCN_TEST_SHAPE_SMALL;

/* ------------------------------------------------- files that lose their names */

static void expect_no_more(struct scn_journal *journal, scn_revision next, const char *what)
{
        struct scn_storage_fault fault = {0};

        for (int i = 0; i < 2; i++) {
                cr_assert_eq(scn_test_append(journal, next, 1, &small, &fault), SCN_E_OUTCOME_UNKNOWN);
                if (i == 0)
                        cr_assert_not_null(strstr(fault.text, what), "%s", fault.text);
        }
}

/* And what stood in the write-ahead file of the one is not taken for something of the other. */
SCN_TEST(guard, stores_nothing_in_a_file_that_was_replaced)
{
        struct scn_test_storage test;
        char path[512], copy[512], wal[520];

        scn_test_storage_init(&test);
        snprintf(path, sizeof path, "%s", scn_test_storage_file(&test, "island.scene"));
        snprintf(copy, sizeof copy, "%s", scn_test_storage_file(&test, "copy"));
        snprintf(wal, sizeof wal, "%s-wal", path);
        struct scn_journal *journal = scn_test_create_island(&test);
        SCN_TEST_OK(scn_test_append(journal, 1, 10, &small, NULL));
        scn_test_copy(journal, copy);
        SCN_TEST_OK(scn_test_append(journal, 11, 5, &small, NULL));
        cr_assert_eq(rename(copy, path), 0);
        expect_no_more(journal, 16, "another program has replaced");
        cr_assert_eq(access(wal, F_OK), -1);
        scn_journal_close(journal);
        journal = scn_test_open_island(&test, SCN_JOURNAL_WRITE);
        cr_assert_eq(scn_test_count(journal, &small), 10);
        SCN_TEST_OK(scn_test_append(journal, 11, 1, &small, NULL));
        SCN_TEST_OK(scn_journal_verify(journal, NULL));
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(guard, stores_nothing_in_a_file_that_was_moved_away_and_leaves_it_whole)
{
        struct scn_test_storage test;
        char path[512], moved[512];

        scn_test_storage_init(&test);
        snprintf(path, sizeof path, "%s", scn_test_storage_file(&test, "island.scene"));
        snprintf(moved, sizeof moved, "%s", scn_test_storage_file(&test, "moved"));
        struct scn_journal *journal = scn_test_create_island(&test);
        SCN_TEST_OK(scn_test_append(journal, 1, 10, &small, NULL));
        cr_assert_eq(rename(path, moved), 0);
        expect_no_more(journal, 11, "another program has replaced");
        scn_journal_close(journal);
        SCN_TEST_OK(scn_journal_open_file(moved, &journal, NULL));
        cr_assert_eq(scn_test_count(journal, &small), 10);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(guard, stores_nothing_in_a_write_ahead_file_that_was_removed_and_loses_nothing_of_it)
{
        struct scn_test_storage test;

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        SCN_TEST_OK(scn_test_append(journal, 1, 10, &small, NULL));
        cr_assert_eq(unlink(scn_test_storage_file(&test, "island.scene-wal")), 0);
        expect_no_more(journal, 11, "another program has replaced");
        scn_journal_close(journal);
        journal = scn_test_open_island(&test, SCN_JOURNAL_WRITE);
        cr_assert_eq(scn_test_count(journal, &small), 10);
        SCN_TEST_OK(scn_test_append(journal, 11, 1, &small, NULL));
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

/* ---------------------------------------------- files that others write to */

#define LAST 60

/* An island of ten transactions with a copy of it, and then of more. What makes the difference is in the
 * write-ahead file, or some of it has been moved to its place. */
struct island {
        struct scn_test_storage test;
        struct scn_journal *journal;
        char path[512], copy[512], wal[520];
};

static void init(struct island *island, bool is_moved)
{
        const struct scn_journal_options options = {.wal_pages = 1};

        scn_test_storage_init(&island->test);
        snprintf(island->path, sizeof island->path, "%s", scn_test_storage_file(&island->test, "island.scene"));
        snprintf(island->copy, sizeof island->copy, "%s", scn_test_storage_file(&island->test, "copy"));
        snprintf(island->wal, sizeof island->wal, "%s-wal", island->path);
        island->journal = scn_test_create_island(&island->test);
        SCN_TEST_OK(scn_test_append(island->journal, 1, 10, &small, NULL));
        scn_test_copy(island->journal, island->copy);
        if (is_moved) {
                scn_journal_close(island->journal);
                SCN_TEST_OK(scn_journal_open(
                        island->test.storage, scn_test_text("island"), &options, &island->journal, NULL));
        }
        SCN_TEST_OK(scn_test_append(island->journal, 11, LAST - 11, &small, NULL));
        if (is_moved)
                SCN_TEST_OK(scn_journal_upkeep(island->journal, NULL));
        SCN_TEST_OK(scn_test_append(island->journal, LAST, 1, &small, NULL));
}

/* By another program: what this one opens and closes takes SQLite's locks away. */
__attribute__((format(printf, 1, 2))) static void run(const char *format, ...)
{
        char command[1200];
        va_list arguments;

        va_start(arguments, format);
        vsnprintf(command, sizeof command, format, arguments);
        va_end(arguments);
        cr_assert_eq(system(command), 0, "%s", command);
}

/* Writes to the file as somebody did a minute ago. */
static void put(const struct island *island, const char *command)
{
        run("copy=%s; file=%s; %s; touch -d -1minute $file", island->copy, island->path, command);
}

/* Opens the island again, which has `count` transactions, and adds one. */
static void expect_island(struct island *island, scn_revision count)
{
        island->journal = scn_test_open_island(&island->test, SCN_JOURNAL_WRITE);
        cr_assert_eq(scn_test_count(island->journal, &small), count);
        SCN_TEST_OK(scn_journal_verify(island->journal, NULL));
        SCN_TEST_OK(scn_test_append(island->journal, count + 1, 1, &small, NULL));
        scn_journal_close(island->journal);
        scn_test_storage_finish(&island->test);
}

SCN_TEST(guard, lets_nothing_be_stored_in_a_file_that_another_was_copied_over)
{
        struct scn_storage_fault fault;
        struct scn_journal *other;
        struct island island;

        init(&island, true);
        struct scn_journal *reader = scn_test_open_island(&island.test, SCN_JOURNAL_READ);
        put(&island, "cp $copy $file");
        expect_no_more(island.journal, LAST + 1, "island.scene: another program has written to it");
        scn_journal_close(island.journal);
        cr_assert_eq(scn_journal_open(island.test.storage, scn_test_text("island"), NULL, &other, &fault),
                SCN_E_STORAGE_BUSY);
        cr_assert_not_null(strstr(fault.text, "another program has written to it"), "%s", fault.text);
        scn_journal_close(reader);
        expect_island(&island, 10);
}

SCN_TEST(guard, closes_a_file_that_another_was_copied_over_as_it_is)
{
        struct island island;

        init(&island, true);
        put(&island, "cp $copy $file");
        scn_journal_close(island.journal);
        run("cmp %s %s", island.copy, island.path);
        cr_assert_eq(access(island.wal, F_OK), -1);
        expect_island(&island, 10);
}

/* Half of a copy is no document yet. */
SCN_TEST(guard, settles_nothing_while_somebody_may_still_be_writing)
{
        struct scn_journal *journal;
        struct island island;

        init(&island, true);
        run("head -c 30000 %s > %s", island.copy, island.path);
        expect_no_more(island.journal, LAST + 1, "another program has written to it");
        scn_journal_close(island.journal);
        cr_assert_eq(scn_journal_open(island.test.storage, scn_test_text("island"), NULL, &journal, NULL),
                SCN_E_STORAGE_BUSY);
        cr_assert_eq(access(island.wal, F_OK), 0);
        put(&island, "cp $copy $file");
        expect_island(&island, 10);
}

SCN_TEST(guard, settles_at_the_end_what_it_has_put_off)
{
        struct island island;

        init(&island, true);
        run("cp %s %s", island.copy, island.path);
        scn_journal_close(island.journal);
        cr_assert_eq(access(island.wal, F_OK), 0);
        scn_storage_close(island.test.storage);
        cr_assert_eq(access(island.wal, F_OK), -1);
        SCN_TEST_OK(scn_storage_open(island.test.path, &island.test.storage, NULL));
        expect_island(&island, 10);
}

SCN_TEST(guard, leaves_a_file_that_was_moved_away_whole_when_it_is_closed)
{
        struct scn_journal *journal;
        struct island island;

        init(&island, false);
        run("mv %s %s", island.path, island.copy);
        scn_journal_close(island.journal);
        SCN_TEST_OK(scn_journal_open_file(island.copy, &journal, NULL));
        cr_assert_eq(scn_test_count(journal, &small), LAST);
        scn_journal_close(journal);
        scn_test_storage_finish(&island.test);
}

SCN_TEST(guard, leaves_nothing_of_a_file_that_was_moved_away_to_what_comes_in_its_place_later)
{
        struct island island;

        init(&island, false);
        run("mv %s %s.moved", island.path, island.path);
        expect_no_more(island.journal, LAST + 1, "another program has replaced or removed it");
        scn_journal_close(island.journal);
        cr_assert_eq(access(island.wal, F_OK), -1);
        put(&island, "cp $copy $file");
        expect_island(&island, 10);
}

/* Somebody reads an older state, so not all can be moved. */
SCN_TEST(guard, removes_nothing_of_a_write_ahead_file_that_could_not_be_moved)
{
        sqlite3 *reader;
        struct island island;

        init(&island, false);
        cr_assert_eq(sqlite3_open(island.path, &reader), SQLITE_OK);
        cr_assert_eq(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM transactions", NULL, NULL, NULL), SQLITE_OK);
        SCN_TEST_OK(scn_test_append(island.journal, LAST + 1, 2, &small, NULL));
        run("mv %s %s.moved; mv %s %s", island.path, island.path, island.copy, island.path);
        expect_no_more(island.journal, LAST + 3, "another program has replaced or removed it");
        run("test -s %s-left", island.path);
        scn_journal_close(island.journal);
        cr_assert_eq(sqlite3_close(reader), SQLITE_OK);
        expect_island(&island, 10);
}

/* What has lost its name can still be had by who has it open. */
SCN_TEST(guard, loses_nothing_of_a_write_ahead_file_that_was_removed_and_made_anew)
{
        struct scn_journal *other;
        struct island island;

        init(&island, false);
        cr_assert_eq(unlink(island.wal), 0);
        cr_assert_neq(scn_journal_open(island.test.storage, scn_test_text("island"), NULL, &other, NULL), SCN_OK);
        cr_assert_eq(access(island.wal, F_OK), 0);
        expect_no_more(island.journal, LAST + 1, "another program has replaced or removed it");
        scn_journal_close(island.journal);
        expect_island(&island, LAST);
}

/* Where it cannot be set aside, it is not mixed with the file all the same. */
SCN_TEST(guard, opens_nothing_while_what_does_not_belong_to_it_is_still_beside_it)
{
        struct scn_journal *journal;
        struct island island;

        init(&island, true);
        run("mkdir %s-left", island.path);
        put(&island, "cp $copy $file");
        expect_no_more(island.journal, LAST + 1, "another program has written to it");
        scn_journal_close(island.journal);
        cr_assert_eq(scn_journal_open(island.test.storage, scn_test_text("island"), NULL, &journal, NULL),
                SCN_E_STORAGE_BUSY);
        run("cmp %s %s; rmdir %s-left", island.copy, island.path, island.path);
        expect_island(&island, 10);
}

SCN_TEST(guard, opens_no_file_in_the_place_of_one_that_is_open_and_leaves_it_as_it_is)
{
        struct scn_journal *journal;
        struct island island;

        init(&island, true);
        run("cp %s %s.then; mv %s %s", island.copy, island.path, island.copy, island.path);
        cr_assert_eq(scn_journal_open(island.test.storage, scn_test_text("island"), NULL, &journal, NULL),
                SCN_E_STORAGE_BUSY);
        scn_journal_close(island.journal);
        cr_assert_eq(access(island.wal, F_OK), -1);
        run("cmp %s %s.then", island.path, island.path);
        expect_island(&island, 10);
}

SCN_TEST(guard, keeps_what_was_acknowledged_if_the_write_ahead_file_has_all_that_the_copy_lacks)
{
        struct island island;

        init(&island, false);
        put(&island, "cp $copy $file");
        expect_no_more(island.journal, LAST + 1, "another program has written to it");
        scn_journal_close(island.journal);
        expect_island(&island, LAST);
}

/* With what stands in the write-ahead file the document is whole. */
SCN_TEST(guard, loses_nothing_of_a_file_whose_time_somebody_has_set)
{
        struct island island;

        init(&island, true);
        run("touch -d @1 %s", island.path);
        expect_no_more(island.journal, LAST + 1, "another program has written to it");
        scn_journal_close(island.journal);
        cr_assert_eq(access(island.wal, F_OK), 0);
        expect_island(&island, LAST);
}

/* But the sizes. */
SCN_TEST(guard, does_not_rely_on_times_after_a_few_false_alarms)
{
        struct island island;

        init(&island, false);
        for (scn_revision revision = LAST + 1; revision <= LAST + 3; revision++) {
                run("touch -d @1 %s", island.path);
                expect_no_more(island.journal, revision, "another program has written to it");
                scn_journal_close(island.journal);
                island.journal = scn_test_open_island(&island.test, SCN_JOURNAL_WRITE);
                SCN_TEST_OK(scn_test_append(island.journal, revision, 1, &small, NULL));
        }
        run("touch -d @1 %s", island.path);
        SCN_TEST_OK(scn_test_append(island.journal, LAST + 4, 1, &small, NULL));
        run("echo no scene >> %s", island.path);
        expect_no_more(island.journal, LAST + 5, "another program has written to it");
        scn_journal_close(island.journal);
        scn_test_storage_finish(&island.test);
}

/* What another program puts there is no document, or not one of today, or does not belong to what was written last. */
static void expect_set_aside(const char *command, bool is_opened)
{
        struct scn_journal *journal;
        struct island island;

        init(&island, true);
        put(&island, command);
        run("cp %s %s.then", island.path, island.path);
        expect_no_more(island.journal, LAST + 1, "another program has written to it");
        scn_journal_close(island.journal);
        run("cmp %s %s.then", island.path, island.path);
        cr_assert_eq(access(island.wal, F_OK), -1);
        run("test -s %s-left", island.path);
        const enum scn_error error =
                scn_journal_open(island.test.storage, scn_test_text("island"), NULL, &journal, NULL);
        cr_assert_eq(error == SCN_OK, is_opened, "%s", scn_error_code(error));
        if (is_opened)
                scn_journal_close(journal);
        scn_test_storage_finish(&island.test);
}

SCN_TEST(guard, sets_aside_what_does_not_belong_to_a_text)
{
        expect_set_aside("echo no scene > $file", false);
}

/* SQLite would remove what stands beside it. */
SCN_TEST(guard, sets_aside_what_does_not_belong_to_an_empty_file)
{
        expect_set_aside(": > $file", false);
}

SCN_TEST(guard, sets_aside_what_does_not_belong_to_half_a_copy)
{
        expect_set_aside("head -c 30000 $copy | cat > $file", false);
}

SCN_TEST(guard, sets_aside_what_does_not_belong_to_a_copy_of_another_format)
{
        expect_set_aside(
                "printf '\\377\\377' | dd of=$copy bs=1 seek=62 conv=notrunc status=none; cp $copy $file", false);
}

SCN_TEST(guard, refuses_an_empty_file_with_a_write_ahead_file_and_removes_nothing)
{
        struct scn_storage_fault fault;
        struct scn_journal *journal;
        struct island island;

        init(&island, false);
        run("cp %s %s.kept", island.wal, island.wal);
        scn_journal_close(island.journal);
        run("mv %s.kept %s; : > %s", island.wal, island.wal, island.path);
        cr_assert_eq(
                scn_journal_open(island.test.storage, scn_test_text("island"), NULL, &journal, &fault), SCN_E_CORRUPT);
        cr_assert_str_eq(fault.text, "island.scene: is empty, and has a write-ahead file");
        cr_assert_eq(scn_journal_open_file(island.path, &journal, &fault), SCN_E_CORRUPT);
        cr_assert_eq(access(island.wal, F_OK), 0);
        scn_test_storage_finish(&island.test);
}

SCN_TEST(guard, lets_no_backup_be_made_of_two_files)
{
        struct scn_storage_fault fault;
        struct scn_backup *backup;
        struct island island;
        char copy[520];
        uint64_t left = 1;

        init(&island, true);
        snprintf(copy, sizeof copy, "%s2", island.copy);
        struct scn_journal *reader = scn_test_open_island(&island.test, SCN_JOURNAL_READ);
        SCN_TEST_OK(scn_backup_create(reader, copy, &backup, NULL));
        while (left != 0)
                SCN_TEST_OK(scn_backup_step(backup, 1, &left, NULL));
        put(&island, "cp $copy $file");
        cr_assert_eq(scn_backup_finish(backup, &fault), SCN_E_STORAGE_BUSY);
        cr_assert_not_null(strstr(fault.text, "island.scene: another program has written to it"), "%s", fault.text);
        scn_backup_destroy(backup);
        cr_assert_eq(access(copy, F_OK), -1);
        scn_journal_close(reader);
        scn_journal_close(island.journal);
        scn_test_storage_finish(&island.test);
}

SCN_TEST(guard, sees_of_a_write_ahead_file_all_but_its_times)
{
        struct scn_test_storage test;
        struct scn_guard_file seen, wal;
        char path[512];

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        SCN_TEST_OK(scn_test_append(journal, 1, 3, &small, NULL));
        snprintf(path, sizeof path, "%s", scn_test_storage_file(&test, "island.scene-wal"));
        scn_guard_see(path, &seen);
        scn_guard_see_wal(path, &wal);
        cr_assert(scn_guard_is_same(&wal, &seen));
        cr_assert_gt(wal.bytes, 0);
        cr_assert_eq(wal.bytes, seen.bytes);
        cr_assert_gt(seen.changed_s, 0);
        cr_assert_eq(wal.changed_s, 0);
        scn_journal_close(journal);
        scn_guard_see_wal(path, &wal);
        cr_assert_eq(wal.inode, 0);
        cr_assert_not(wal.is_unknown);
        scn_test_storage_finish(&test);
}

/* A commit of one handle while another one moves, and then cuts the write-ahead file; or while another one looks. */
SCN_TEST(guard, expects_nothing_that_was_written_during_a_move_or_a_look)
{
        struct scn_guard_file wal = {.inode = 9, .bytes = 4152};
        struct scn_guard_look look;
        struct scn_test_storage test;
        struct scn_guard_file main;
        struct scn_guard *guard;

        scn_test_storage_init(&test);
        const char *path = scn_test_storage_file(&test, "scened.lock");
        SCN_TEST_OK(scn_guard_enter(path, &guard));
        cr_assert(scn_guard_begin_move(guard));
        scn_guard_see(path, &main);
        scn_guard_begin_look(guard, &look);
        cr_assert(scn_guard_check(guard, &look, &main, &wal));
        scn_guard_note_wal(guard, look.moves, 9, 8272);
        scn_guard_end_move(guard, path);
        scn_guard_begin_look(guard, &look);
        cr_assert(scn_guard_check(guard, &look, &main, &wal));
        scn_guard_note_wal(guard, look.moves, 9, 8272);
        cr_assert(scn_guard_check(guard, &look, &main, &wal));
        scn_guard_begin_look(guard, &look);
        wal.inode = 10;
        cr_assert(scn_guard_check(guard, &look, &main, &wal));
        cr_assert_not(scn_guard_is_own_wal(guard, &wal));
        wal.inode = 9;
        cr_assert_not(scn_guard_check(guard, &look, &main, &wal));
        cr_assert(scn_guard_leave(guard));
        scn_guard_forget(guard, false);
        scn_test_storage_finish(&test);
}

/* The inode of a file that is not settled is another file's by now. */
SCN_TEST(guard, does_not_forget_what_is_not_settled_for_the_sake_of_another_file)
{
        struct scn_test_storage test;
        struct scn_guard_look look;
        struct scn_guard_file main;
        const struct scn_guard_file wal = {0};
        struct scn_guard *guard, *other;
        char path[512], moved[520];

        scn_test_storage_init(&test);
        snprintf(path, sizeof path, "%s", scn_test_storage_file(&test, "scened.lock"));
        snprintf(moved, sizeof moved, "%s.moved", path);
        SCN_TEST_OK(scn_guard_enter(path, &guard));
        cr_assert_eq(scn_guard_enter(moved, &other), SCN_OK, "a file that is not there is nobody's");
        cr_assert_not(scn_guard_leave(other));
        scn_guard_see(path, &main);
        main.bytes++;
        scn_guard_begin_look(guard, &look);
        cr_assert_not(scn_guard_check(guard, &look, &main, &wal));
        cr_assert(scn_guard_leave(guard));
        scn_guard_put_back(guard);
        cr_assert_eq(scn_guard_enter(path, &other), SCN_E_STORAGE_BUSY);
        cr_assert_eq(rename(path, moved), 0);
        SCN_TEST_OK(scn_guard_enter(moved, &other));
        cr_assert_not(scn_guard_leave(other));
        cr_assert_eq(scn_guard_take(path), guard);
        cr_assert(scn_guard_has_moved(guard));
        scn_guard_forget(guard, false);
        scn_test_storage_finish(&test);
}

/* The fsync may fail of what is stored for all that. */
SCN_TEST(guard, takes_what_was_intended_for_an_end_as_well)
{
        struct scn_test_storage test;
        struct scn_guard *guard;

        scn_test_storage_init(&test);
        SCN_TEST_OK(scn_guard_enter(scn_test_storage_file(&test, "scened.lock"), &guard));
        scn_guard_note_end(guard, 7, 70);
        scn_guard_note_intent(guard, 8, 80);
        cr_assert(scn_guard_is_end(guard, 7, 70));
        cr_assert(scn_guard_is_end(guard, 8, 80));
        scn_guard_note_end(guard, 9, 90);
        cr_assert_not(scn_guard_is_end(guard, 8, 80));
        cr_assert_not(scn_guard_is_end(guard, 9, 91));
        cr_assert_not(scn_guard_leave(guard));
        scn_test_storage_finish(&test);
}

SCN_TEST(guard, finds_a_write_ahead_file_that_was_cut)
{
        struct island island;

        init(&island, false);
        run(": > %s", island.wal);
        expect_no_more(island.journal, LAST + 1, "another program has written to it");
        scn_journal_close(island.journal);
        scn_test_storage_finish(&island.test);
}

/* Two handles that move, and cut, what the other one has written. */
SCN_TEST_WITH(guard, takes_no_checkpoint_of_ours_for_somebody_elses, .timeout = 120)
{
        const struct scn_journal_options options = {.wal_pages = 4};
        struct scn_test_storage test;
        struct scn_journal *journals[2];
        uint64_t moved = 0;

        scn_test_storage_init(&test);
        scn_journal_close(scn_test_create_island(&test));
        for (int i = 0; i < 2; i++)
                SCN_TEST_OK(scn_journal_open(test.storage, scn_test_text("island"), &options, &journals[i], NULL));
        for (scn_revision revision = 1; revision <= 200; revision++) {
                struct scn_journal *journal = journals[revision / 7 % 2];
                struct stat before, after;
                cr_assert_eq(stat(scn_test_storage_file(&test, "island.scene"), &before), 0);
                SCN_TEST_OK(scn_test_append(journal, revision, 1, &small, NULL));
                SCN_TEST_OK(scn_journal_upkeep(journals[revision / 5 % 2], NULL));
                cr_assert_eq(stat(scn_test_storage_file(&test, "island.scene"), &after), 0);
                moved += before.st_mtim.tv_nsec != after.st_mtim.tv_nsec;
        }
        cr_assert_gt(moved, 10);
        cr_assert_eq(scn_test_count(journals[0], &small), 200);
        for (int i = 0; i < 2; i++)
                scn_journal_close(journals[i]);
        scn_test_storage_finish(&test);
}
