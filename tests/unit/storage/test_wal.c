/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "storage/wal.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void copy_island(struct scn_journal *journal, const char *copy)
{
        struct scn_backup *backup;
        uint64_t bytes_left = UINT64_MAX;

        SCN_TEST_OK(scn_backup_create(journal, copy, &backup, NULL));
        while (bytes_left != 0)
                SCN_TEST_OK(scn_backup_step(backup, UINT32_MAX, &bytes_left, NULL));
        SCN_TEST_OK(scn_backup_finish(backup, NULL));
        scn_backup_destroy(backup);
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
                        copy_island(journal, ruin->copy);
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
static scn_revision open_ruin(const struct ruin *ruin, uint32_t set_aside)
{
        struct scn_storage *storage;
        struct scn_journal *journal;
        uint32_t count;

        SCN_TEST_OK(scn_storage_open(ruin->directory, &storage, NULL));
        const char *first = scn_storage_set_aside(storage, &count);
        cr_assert_eq(count, set_aside);
        cr_assert_str_eq(first, set_aside > 0 ? "island.scene" : "");
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

SCN_TEST(wal, of_a_process_that_died_is_kept_at_every_length)
{
        static const scn_revision lasts[] = {1, 2, 9, 30, 100};

        for (size_t i = 0; i < sizeof lasts / sizeof lasts[0]; i++) {
                for (scn_revision moved_at = 0; moved_at < lasts[i]; moved_at += lasts[i] / 2 + 1) {
                        struct ruin ruin;
                        leave(&ruin, moved_at, lasts[i]);
                        cr_assert_leq(least_of(ruin.died_wal), bytes_of(ruin.died));
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
        cr_assert_not_null(
                strstr(fault.text, "island.scene: the write-ahead file beside it was written for a later state"), "%s",
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
        cr_assert_eq(truncate(wal, 40), 0);
        cr_assert_eq(least_of(wal), 0);
        cr_assert_eq(truncate(wal, 0), 0);
        cr_assert_eq(least_of(wal), 0);
        finish(&ruin);
}
