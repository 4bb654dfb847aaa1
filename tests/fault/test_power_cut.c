/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _XOPEN_SOURCE 700

/* The power goes at any operation of the disk while a server does a little of everything (tests/lib/mixed_load.h), and
 * again while what is left is opened: what was acknowledged is there, all of it, once; so it is at the next opening.
 * And every single operation fails once, while the process lives on.
 *
 * SCN_POWER_STEP: each so many-th operation, 1 for all of them; SCN_POWER_OUTER: the same for those whose recovery is
 * cut. SCN_POWER_LOSS=all: each of them with every way to lose what was not synced, else with one after the other. */

#include "tests/lib/mixed_load.h"
#include "tests/lib/power_disk.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEPS_MAX 64u
#define FOLDER_BYTES 48u
#define LOOK_US 1000u

/* How many operations are left out between two that are looked at, as long as nothing else is said. */
#ifdef __SANITIZE_ADDRESS__
#define SLOWER 5u
#else
#define SLOWER 1u
#endif

static const char *const losses[SCN_POWER_LOSSES] = {"dead", "forgotten", "torn", "reordered"};

/* What one run of the load has done to its disk, and what was acknowledged when. */
struct run {
        char folder[FOLDER_BYTES];
        struct mixed_load load;
        struct scn_power_disk *disk;
        struct mixed_state states[STEPS_MAX + 1]; /* 0: before the first step */
        uint32_t ends[STEPS_MAX + 1];             /* operations up to which the state was the last acknowledged */
        uint32_t count;
};

static uint32_t number_from(const char *name, uint32_t usual)
{
        const char *text = getenv(name);
        return text != NULL ? (uint32_t)strtoul(text, NULL, 10) : usual;
}

/* What is torn and reordered: otherwise with another SCN_TEST_SEED. */
static uint64_t seed_of(uint32_t at)
{
        return scn_test_seed(0) * 1000003 + at;
}

/* In memory where the system has a place for that. */
static void make_folder(char folder[FOLDER_BYTES])
{
        const char *place = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        (void)snprintf(folder, FOLDER_BYTES, "%s/scn-power-XXXXXX", place);
        cr_assert_not_null(mkdtemp(folder));
}

static void acknowledge(struct run *run)
{
        cr_assert_lt(run->count, STEPS_MAX);
        run->states[run->count] = run->load.state;
        run->ends[run->count++] = scn_power_disk_count(run->disk);
}

/* What was there long enough is folded and dropped: the load would be without that if it were not so. */
static void expect_old_to_go(struct run *run, const char *step)
{
        scn_revision judged, base;
        char path[FOLDER_BYTES + 32];
        (void)snprintf(path, sizeof path, "%s/data/island.scene", run->folder);
        if (strcmp(step, "forget clients") == 0) {
                cr_assert_gt(scn_test_sql(path, "SELECT count(*) FROM folds"), 0);
        } else if (strcmp(step, "grow old") == 0) {
                mixed_history(&run->load, &judged, &base);
                cr_log_info("folded up to revision %u, history begins with %u", (unsigned)judged, (unsigned)base);
                cr_assert_gt(base, 0);
        }
}

/* Does everything once, on a disk that takes notes. */
static void record(struct run *run)
{
        *run = (struct run){.count = 0};
        make_folder(run->folder);
        run->disk = scn_power_disk_create(run->folder);
        mixed_begin(&run->load, run->folder);
        cr_assert(mixed_restart(&run->load));
        for (uint32_t step = 0; step < mixed_steps_count(); step++) {
                acknowledge(run);
                cr_assert(mixed_step(&run->load, step), "%s", mixed_step_name(step));
                expect_old_to_go(run, mixed_step_name(step));
        }
        acknowledge(run);
        mixed_end(&run->load);
        scn_power_disk_rest(run->disk);
        run->ends[run->count - 1] = scn_power_disk_count(run->disk);
        scn_power_disk_check(run->disk);
}

static void finish(struct run *run)
{
        scn_power_disk_destroy(run->disk);
        scn_test_remove_all(run->folder);
}

/* The last state that was acknowledged before the operation. */
static uint32_t state_at(const struct run *run, uint32_t at)
{
        uint32_t i = 0;
        while (i + 1 < run->count && run->ends[i + 1] <= at) {
                i++;
        }
        return i;
}

static uint64_t utc_of(const struct run *run, uint32_t offset)
{
        return run->load.hub.utc_us + offset * LOOK_US;
}

/* What is left must be one of two states, and still be it when it is opened again. */
static void check_left(const struct run *run, const char *folder, uint32_t at, const char *what)
{
        const uint32_t i = state_at(run, at);
        const struct mixed_state *after = &run->states[i + 1 < run->count ? i + 1 : i];
        struct mixed_state found, again;
        mixed_look(folder, utc_of(run, 1), &found, what);
        cr_assert(mixed_fits(&found, &run->states[i], after), "%s: neither as before nor as after:%s", what,
                mixed_difference(&found, &run->states[i]));
        mixed_look(folder, utc_of(run, 2), &again, what);
        cr_assert(mixed_fits(&again, &found, &found), "%s: the second start found something else:%s", what,
                mixed_difference(&again, &found));
}

static void say(const struct run *run, uint32_t at, enum scn_power_loss loss, char text_out[512])
{
        (void)snprintf(text_out, 512, "%s at %u of %u, before '%s', in step '%s'", losses[loss], at,
                scn_power_disk_count(run->disk), scn_power_disk_name(run->disk, at),
                mixed_step_name(state_at(run, at)));
}

static void check_cut(const struct run *run, uint32_t at, enum scn_power_loss loss)
{
        char folder[FOLDER_BYTES], what[512];
        make_folder(folder);
        say(run, at, loss, what);
        scn_power_disk_cut(run->disk, at, loss, seed_of(at), folder);
        check_left(run, folder, at, what);
        scn_test_remove_all(folder);
}

/* Each point with every loss, or with the next one in turn. */
static uint32_t check_points(void (*check)(const struct run *run, uint32_t at, enum scn_power_loss loss), uint32_t step)
{
        const char *all = getenv("SCN_POWER_LOSS");
        struct run run;
        uint32_t points = 0;
        record(&run);
        const uint32_t count = scn_power_disk_count(run.disk);
        for (uint32_t at = (uint32_t)(scn_test_seed(0) % step); at <= count; at += step) {
                for (uint32_t loss = 0; loss < SCN_POWER_LOSSES; loss++) {
                        if (all != NULL || loss == points % SCN_POWER_LOSSES) {
                                check(&run, at, (enum scn_power_loss)loss);
                        }
                }
                points++;
        }
        finish(&run);
        (void)printf("%u of %u operations\n", points, count);
        return count;
}

SCN_TEST_WITH(power_cut, at_any_operation_loses_nothing_acknowledged, .timeout = 6000)
{
        cr_assert_gt(check_points(check_cut, number_from("SCN_POWER_STEP", SLOWER)), 700);
}

/* What opening does to a disk that has lost its power is cut as well. */
static void check_cut_again(const struct run *run, uint32_t at, enum scn_power_loss loss)
{
        const uint32_t step = number_from("SCN_POWER_STEP", 5 * SLOWER);
        char folder[FOLDER_BYTES], left[FOLDER_BYTES], what[512], whole[640];
        struct mixed_state found;
        make_folder(folder);
        say(run, at, loss, what);
        scn_power_disk_cut(run->disk, at, loss, seed_of(at), folder);
        struct scn_power_disk *disk = scn_power_disk_create(folder);
        mixed_look(folder, utc_of(run, 0), &found, what);
        scn_power_disk_rest(disk);
        scn_power_disk_check(disk);
        for (uint32_t again = at % step; again <= scn_power_disk_count(disk); again += step) {
                const enum scn_power_loss other = (enum scn_power_loss)((again + loss) % SCN_POWER_LOSSES);
                (void)snprintf(whole, sizeof whole, "%s, then %s at %u, before '%s'", what, losses[other], again,
                        scn_power_disk_name(disk, again));
                make_folder(left);
                scn_power_disk_cut(disk, again, other, seed_of(again), left);
                check_left(run, left, at, whole);
                scn_test_remove_all(left);
        }
        scn_power_disk_destroy(disk);
        scn_test_remove_all(folder);
}

SCN_TEST_WITH(power_cut, at_any_operation_of_the_recovery_loses_nothing_either, .timeout = 6000)
{
        cr_assert_gt(check_points(check_cut_again, number_from("SCN_POWER_OUTER", 37 * SLOWER)), 700);
}

/* --- A document that cannot be opened --- */

#define DAMAGED "no database, but long enough for SQLite to look at it: it does so when there are a hundred bytes in it"
#define SAVING "what may save it"

static void put_text(const char *folder, const char *name, const char *text)
{
        char path[2 * FOLDER_BYTES];
        (void)snprintf(path, sizeof path, "%s/%s", folder, name);
        FILE *file = fopen(path, "w");
        cr_assert_not_null(file);
        cr_assert_geq(fputs(text, file), 0);
        cr_assert_eq(fclose(file), 0);
}

static bool has_text(const char *folder, const char *name, const char *text)
{
        char path[2 * FOLDER_BYTES], found[256] = "";
        (void)snprintf(path, sizeof path, "%s/%s", folder, name);
        FILE *file = fopen(path, "r");
        if (file == NULL) {
                return false;
        }
        const bool has_line = fgets(found, sizeof found, file) != NULL;
        cr_assert_eq(fclose(file), 0);
        return has_line && strcmp(found, text) == 0;
}

/* How many names the document has; under each, its write-ahead file stands beside it. */
static uint32_t count_whole(const char *folder, const char *what)
{
        static const char *const places[] = {"island.scene", "trash/island.5.scene", "reef.scene"};
        uint32_t count = 0;
        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
                char wal[64];
                (void)snprintf(wal, sizeof wal, "%s-wal", places[i]);
                if (has_text(folder, places[i], DAMAGED)) {
                        cr_assert(has_text(folder, wal, SAVING), "%s: %s stands alone", what, places[i]);
                        count++;
                }
        }
        return count;
}

SCN_TEST_WITH(power_cut, leaves_a_damaged_document_together_with_what_may_save_it, .timeout = 600)
{
        const struct scn_slice island = scn_test_text("island");
        char folder[FOLDER_BYTES], left[FOLDER_BYTES], what[512];
        struct scn_storage *storage;
        make_folder(folder);
        put_text(folder, "island.scene", DAMAGED);
        put_text(folder, "island.scene-wal", SAVING);
        struct scn_power_disk *disk = scn_power_disk_create(folder);
        SCN_TEST_OK(scn_storage_open(folder, &storage, NULL));
        SCN_TEST_OK(scn_storage_delete(storage, island, 5, NULL));
        SCN_TEST_OK(scn_storage_undelete(storage, island, NULL));
        SCN_TEST_OK(scn_storage_rename(storage, island, scn_test_text("reef"), NULL));
        scn_storage_close(storage);
        scn_power_disk_rest(disk);
        scn_power_disk_check(disk);
        const uint32_t count = scn_power_disk_count(disk);
        cr_assert_gt(count, 8);
        for (uint32_t i = 0; i < 8 * SCN_POWER_LOSSES * (count + 1); i++) {
                const uint32_t at = i / (8 * SCN_POWER_LOSSES);
                const enum scn_power_loss loss = (enum scn_power_loss)(i % SCN_POWER_LOSSES);
                make_folder(left);
                scn_power_disk_cut(disk, at, loss, seed_of(i), left);
                (void)snprintf(
                        what, sizeof what, "%s at %u, before '%s'", losses[loss], at, scn_power_disk_name(disk, at));
                cr_assert_gt(count_whole(left, what), 0, "%s: it is gone", what);
                scn_test_remove_all(left);
        }
        scn_power_disk_destroy(disk);
        scn_test_remove_all(folder);
}

/* --- Failing --- */

#define TRIES 4

/* A step that was not acknowledged: what has become of it? Then on with it, or with what comes next. */
static bool begin_again(struct run *run, uint32_t step, const char *what)
{
        struct mixed_state found;
        const struct mixed_state before = run->load.state;
        mixed_stop(&run->load);
        mixed_look(run->folder, run->load.hub.utc_us, &found, what);
        run->load.hub.utc_us += LOOK_US;
        cr_assert(mixed_resolve(&run->load, step, &found), "%s: neither as before nor as after:%s", what,
                mixed_difference(&found, &before));
        cr_assert(mixed_restart(&run->load), "%s: it does not start again", what);
        return !mixed_is_same(&found, &before);
}

/* Right after the failure the power goes, too: what a failed sync was for is not on the disk. */
static void lose_power(const struct run *run, uint32_t step, bool is_done, const char *what)
{
        struct mixed_load load = run->load; /* only its state is looked at */
        struct mixed_state found;
        char left[FOLDER_BYTES];
        make_folder(left);
        scn_power_disk_cut(run->disk, scn_power_disk_count(run->disk), SCN_POWER_FORGET, 0, left);
        mixed_look(left, utc_of(run, 1), &found, what);
        cr_assert(is_done ? mixed_is_same(&found, &load.state) : mixed_resolve(&load, step, &found),
                "%s, power gone:%s", what, mixed_difference(&found, &run->load.state));
        scn_test_remove_all(left);
}

static void do_step(struct run *run, uint32_t step, uint32_t at)
{
        char what[512];
        bool is_done = false;
        for (int i = 0; i < TRIES && !is_done; i++) {
                const bool had_failed = scn_power_disk_has_failed();
                is_done = mixed_step(&run->load, step);
                (void)snprintf(what, sizeof what, "operation %u failed, '%s'; step %u, '%s'", at,
                        scn_power_disk_failed_name(), step, mixed_step_name(step));
                if (!had_failed && scn_power_disk_has_failed()) {
                        lose_power(run, step, is_done, what);
                }
                if (!is_done) {
                        cr_assert(scn_power_disk_has_failed(), "%s: nothing has failed", what);
                        is_done = begin_again(run, step, what);
                }
        }
        cr_assert(is_done, "%s: it is never done", what);
}

/* Whether there were so many operations. */
static bool fail_at(uint32_t at, enum scn_power_fault fault)
{
        struct run run = {.count = 0};
        struct mixed_state found;
        char left[FOLDER_BYTES], what[512];
        make_folder(run.folder);
        run.disk = scn_power_disk_create(run.folder);
        mixed_begin(&run.load, run.folder);
        scn_power_disk_fail(at, fault);
        if (!mixed_restart(&run.load)) {
                cr_assert(scn_power_disk_has_failed());
                cr_assert(mixed_restart(&run.load));
        }
        for (uint32_t step = 0; step < mixed_steps_count(); step++) {
                do_step(&run, step, at);
        }
        mixed_end(&run.load);
        scn_power_disk_rest(run.disk);
        const bool has_failed = scn_power_disk_has_failed();
        (void)snprintf(what, sizeof what, "operation %u failed, '%s'; at the end", at, scn_power_disk_failed_name());
        scn_power_disk_fail(0, fault);
        /* What a failed sync has lost must have been written again by now. */
        make_folder(left);
        scn_power_disk_cut(run.disk, scn_power_disk_count(run.disk), SCN_POWER_FORGET, 0, left);
        mixed_look(left, utc_of(&run, 1), &found, what);
        /* What was to be thrown away may still be in the trash: nobody was promised that it goes. */
        cr_assert(mixed_is_same(&found, &run.load.state), "%s, power gone:%s", what,
                mixed_difference(&found, &run.load.state));
        scn_test_remove_all(left);
        finish(&run);
        return has_failed;
}

static void fail_each(enum scn_power_fault fault)
{
        const uint32_t step = number_from("SCN_POWER_STEP", 7 * SLOWER);
        uint32_t at = 1 + (uint32_t)(scn_test_seed(0) % step);
        while (fail_at(at, fault)) {
                at += step;
        }
        (void)printf("%u operations\n", at);
        cr_assert_gt(at, 700);
}

SCN_TEST_WITH(power_disk, that_breaks_once_at_any_operation_loses_nothing_acknowledged, .timeout = 6000)
{
        fail_each(SCN_POWER_BROKEN);
}

SCN_TEST_WITH(power_disk, that_is_full_once_at_any_operation_loses_nothing_acknowledged, .timeout = 6000)
{
        fail_each(SCN_POWER_FULL);
}
