/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "storage/wal.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a process leaves that dies, and what becomes of it when somebody puts an older copy beside it. */

static const struct scn_test_shape small = SCN_TEST_SHAPE_SMALL;

/* An island that goes on after a copy was made of it, and what a process that died then would have left of it. */
struct ruin {
        struct scn_test_storage test;
        char copy[512];
        char directory[512]; /* of its own, for nobody has it open */
        char died[528], died_wal[536];
        char left[536];
};

#define COPIED 40

static void run(const char *command, const char *from, const char *to)
{
        char line[1200];

        snprintf(line, sizeof line, "%s '%s' '%s'", command, from, to);
        cr_assert_eq(system(line), 0, "%s", line);
}

/* A commit for each revision; after moved_at all of it is in the file itself, and no write-ahead file is left. 0: never
 * before the end. */
static void leave(struct ruin *ruin, scn_revision moved_at, scn_revision last)
{
        char path[512], wal[520];

        scn_test_storage_init(&ruin->test);
        snprintf(path, sizeof path, "%s", scn_test_storage_file(&ruin->test, "island.scene"));
        snprintf(wal, sizeof wal, "%s-wal", path);
        snprintf(ruin->copy, sizeof ruin->copy, "%s", scn_test_storage_file(&ruin->test, "copy"));
        snprintf(ruin->directory, sizeof ruin->directory, "%s", scn_test_storage_file(&ruin->test, "died"));
        snprintf(ruin->died, sizeof ruin->died, "%s/island.scene", ruin->directory);
        snprintf(ruin->died_wal, sizeof ruin->died_wal, "%s-wal", ruin->died);
        snprintf(ruin->left, sizeof ruin->left, "%s-left", ruin->died);
        struct scn_journal *journal = scn_test_create_island(&ruin->test);
        for (scn_revision revision = 1; revision <= last; revision++) {
                SCN_TEST_OK(scn_test_append(journal, revision, 1, &small, NULL));
                if (revision == COPIED)
                        scn_test_copy(journal, ruin->copy);
                if (revision == moved_at) {
                        scn_journal_close(journal);
                        journal = scn_test_open_island(&ruin->test, SCN_JOURNAL_WRITE);
                }
        }
        run("mkdir -p", ruin->directory, ruin->directory);
        run("cp", path, ruin->died);
        run("cp", wal, ruin->died_wal);
        scn_journal_close(journal);
}

/* Opens what was left as a data directory. Returns how many transactions the document has. */
static scn_revision open_ruin(const struct ruin *ruin, uint32_t strange)
{
        struct scn_storage *storage;
        struct scn_journal *journal;
        uint32_t count;

        SCN_TEST_OK(scn_storage_open(ruin->directory, &storage, NULL));
        const char *first = scn_storage_strange_wals(storage, &count);
        cr_assert_eq(count, strange);
        cr_assert_str_eq(first, strange > 0 ? "island.scene" : "");
        SCN_TEST_OK(scn_journal_open(storage, scn_test_text("island"), NULL, &journal, NULL));
        SCN_TEST_OK(scn_journal_verify(journal, NULL));
        const scn_revision transactions = scn_test_count(journal, &small);
        SCN_TEST_OK(scn_test_append(journal, transactions + 1, 1, &small, NULL));
        scn_journal_close(journal);
        scn_storage_close(storage);
        return transactions;
}

static void finish(struct ruin *ruin)
{
        scn_test_storage_finish(&ruin->test);
}

static uint64_t least_of(const char *wal)
{
        const int fd = open(wal, O_RDONLY);

        cr_assert_geq(fd, 0);
        const uint64_t least = scn_wal_file_bytes_min(fd);
        close(fd);
        return least;
}

static uint64_t bytes_of(const char *path)
{
        const int fd = open(path, O_RDONLY);

        cr_assert_geq(fd, 0);
        const off_t bytes = lseek(fd, 0, SEEK_END);
        close(fd);
        return (uint64_t)bytes;
}

SCN_TEST(wal, of_a_process_that_died_is_kept)
{
        static const scn_revision lasts[] = {1, 2, 9, 30, 100};

        for (size_t i = 0; i < sizeof lasts / sizeof lasts[0]; i++) {
                for (scn_revision moved_at = 0; moved_at < lasts[i]; moved_at += lasts[i] / 2 + 1) {
                        struct ruin ruin;
                        leave(&ruin, moved_at, lasts[i]);
                        cr_assert_leq(least_of(ruin.died_wal), bytes_of(ruin.died));
                        cr_assert(moved_at == 0 || least_of(ruin.died_wal) > bytes_of(ruin.died) / 2);
                        cr_assert_eq(open_ruin(&ruin, 0), lasts[i]);
                        finish(&ruin);
                }
        }
}

SCN_TEST(wal, of_a_later_state_than_the_copy_beside_it_is_set_aside)
{
        struct scn_storage_fault fault = {0};
        struct scn_journal *journal;
        struct ruin ruin;

        leave(&ruin, 150, 160);
        run("cp", ruin.copy, ruin.died);
        cr_assert_gt(least_of(ruin.died_wal), bytes_of(ruin.died));
        cr_assert_eq(scn_journal_open_file(ruin.died, &journal, &fault), SCN_E_CORRUPT);
        cr_assert_not_null(strstr(fault.text, "island.scene: the write-ahead file beside it needs a longer file"), "%s",
                fault.text);
        const uint64_t wal_bytes = bytes_of(ruin.died_wal);
        cr_assert_eq(open_ruin(&ruin, 1), COPIED);
        cr_assert_eq(bytes_of(ruin.left), wal_bytes);
        cr_assert_eq(open_ruin(&ruin, 0), COPIED + 1);
        finish(&ruin);
}

/* Then it has all that was written since the copy. */
SCN_TEST(wal, that_goes_back_behind_the_copy_beside_it_loses_nothing)
{
        struct ruin ruin;

        leave(&ruin, COPIED / 2, 160);
        run("cp", ruin.copy, ruin.died);
        cr_assert_eq(open_ruin(&ruin, 0), 160);
        finish(&ruin);
}

/* A file of somebody else's making may get shorter: then a commit behind the first one says how short. */
SCN_TEST(wal, of_a_file_that_has_got_shorter_since_is_kept)
{
        static const char fill[] = "CREATE TABLE more (bytes); INSERT INTO more VALUES (zeroblob(1000000))";
        static const char empty[] = "DELETE FROM more";
        struct scn_test_storage test;
        char path[512], wal[520];
        sqlite3 *writer, *reader, *mover;

        scn_test_storage_init(&test);
        snprintf(path, sizeof path, "%s", scn_test_storage_file(&test, "shrinks.scene"));
        snprintf(wal, sizeof wal, "%s-wal", path);
        cr_assert_eq(sqlite3_open(path, &writer), SQLITE_OK);
        cr_assert_eq(sqlite3_exec(writer, "PRAGMA auto_vacuum = FULL; PRAGMA journal_mode = WAL", 0, 0, 0), SQLITE_OK);
        cr_assert_eq(sqlite3_exec(writer, fill, 0, 0, 0), SQLITE_OK);
        cr_assert_eq(sqlite3_wal_checkpoint_v2(writer, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL), SQLITE_OK);
        cr_assert_eq(sqlite3_exec(writer, "CREATE TABLE one (bytes)", 0, 0, 0), SQLITE_OK);
        const uint64_t before = least_of(wal);
        cr_assert_gt(before, 900000);
        cr_assert_eq(sqlite3_exec(writer, empty, 0, 0, 0), SQLITE_OK);
        /* Who reads the end keeps the file from beginning anew, but not from being moved. */
        cr_assert_eq(sqlite3_open(path, &reader), SQLITE_OK);
        cr_assert_eq(sqlite3_exec(reader, "BEGIN; SELECT * FROM one", 0, 0, 0), SQLITE_OK);
        cr_assert_eq(sqlite3_open(path, &mover), SQLITE_OK);
        cr_assert_eq(sqlite3_exec(mover, "SELECT * FROM one", 0, 0, 0), SQLITE_OK); /* which finds the file */
        cr_assert_eq(sqlite3_wal_checkpoint_v2(mover, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL), SQLITE_OK);
        cr_assert_eq(sqlite3_exec(writer, "INSERT INTO one VALUES (1)", 0, 0, 0), SQLITE_OK);
        cr_assert_lt(bytes_of(path), before);
        cr_assert_leq(least_of(wal), bytes_of(path));
        cr_assert_not(scn_wal_is_strange(AT_FDCWD, path));
        sqlite3_close(mover);
        cr_assert_eq(sqlite3_exec(reader, "ROLLBACK", 0, 0, 0), SQLITE_OK);
        sqlite3_close(reader);
        sqlite3_close(writer);
        scn_test_storage_finish(&test);
}

SCN_TEST(wal, that_is_a_pipe_or_beside_an_empty_file_is_left_to_others)
{
        struct scn_storage *storage;
        struct ruin ruin;
        uint32_t count;

        leave(&ruin, 150, 160);
        cr_assert_eq(truncate(ruin.died, 0), 0);
        cr_assert_not(scn_wal_is_strange(AT_FDCWD, ruin.died));
        run("cp", ruin.copy, ruin.died);
        cr_assert(scn_wal_is_strange(AT_FDCWD, ruin.died));
        cr_assert_eq(unlink(ruin.died_wal), 0);
        cr_assert_eq(mkfifo(ruin.died_wal, 0600), 0);
        cr_assert_not(scn_wal_is_strange(AT_FDCWD, ruin.died));
        SCN_TEST_OK(scn_storage_open(ruin.directory, &storage, NULL));
        (void)scn_storage_strange_wals(storage, &count);
        cr_assert_eq(count, 0);
        scn_storage_close(storage);
        finish(&ruin);
}

SCN_TEST(wal, that_cannot_be_set_aside_keeps_the_directory_from_being_opened)
{
        struct scn_storage_fault fault = {0};
        struct scn_storage *storage;
        struct ruin ruin;

        leave(&ruin, 150, 160);
        run("cp", ruin.copy, ruin.died);
        cr_assert_eq(mkdir(ruin.left, 0700), 0);
        cr_assert_neq(scn_storage_open(ruin.directory, &storage, &fault), SCN_OK);
        cr_assert_not_null(strstr(fault.text, "set aside the write-ahead file of island.scene"), "%s", fault.text);
        cr_assert_eq(rmdir(ruin.left), 0);
        cr_assert_eq(open_ruin(&ruin, 1), COPIED);
        finish(&ruin);
}

SCN_TEST(wal, that_says_nothing_of_its_file_is_left_to_sqlite)
{
        static const struct {
                const char *what;
                off_t offset;
                const char *bytes;
        } cases[] = {
                {"another magic", 0, "\x37\x7f\x06\x84"},
                {"pages of other sizes", 8, "\x00\x00\x20\x00"},
                {"frames of another time", 16, "\x01\x02\x03\x04"},
        };
        struct ruin ruin;
        char wal[600];

        leave(&ruin, 150, 160);
        cr_assert_gt(least_of(ruin.died_wal), 0);
        snprintf(wal, sizeof wal, "%s.changed", ruin.died_wal);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                run("cp", ruin.died_wal, wal);
                const int fd = open(wal, O_WRONLY);
                cr_assert_eq(pwrite(fd, cases[i].bytes, 4, cases[i].offset), 4);
                close(fd);
                cr_assert_eq(least_of(wal), 0, "%s", cases[i].what);
        }
        run("cp", ruin.died_wal, wal);
        cr_assert_eq(truncate(wal, 40), 0);
        cr_assert_eq(least_of(wal), 0);
        cr_assert_eq(truncate(wal, 0), 0);
        cr_assert_eq(least_of(wal), 0);
        finish(&ruin);
}
