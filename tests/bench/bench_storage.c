/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "storage/storage.h"
#include "tests/bench/bench.h"

#include <ftw.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The journal at its seam beside raw SQLite (DESIGN §10): the same bytes, committed in turns on the same disk.
 *
 * usage: bench_storage [DIRECTORY]      (default: the working directory; it should be on a disk)
 *
 * An edit is one transform: one record of 100 bytes, half before, half after. "Raw" is a table of (rev, bytes) with
 * the settings of BENCH.md (WAL, FULL, prepared statements, BEGIN IMMEDIATE), whose bytes are all that the seam was
 * given for the edit: payload, digest, content hash, answer, node and client. Beside it, for comparison, a raw table
 * of the 100 bytes alone. The three take turns, batch by batch, so that a disk that changes its speed slows all. */

#define PAYLOAD_BYTES 100u
#define HASH_BYTES 16u
#define DIGEST_BYTES 64u
#define ANSWER_BYTES 20u
/* payload, hash, digest, answer, node, client, and eight integers as the seam takes them */
#define SAME_BYTES (PAYLOAD_BYTES + HASH_BYTES + DIGEST_BYTES + ANSWER_BYTES + 16u + 16u + 8u * 8u)
#define WRITERS 10u
#define BATCH_MAX 1000u
#define ROUNDS 5
#define SHARE_WANTED 0.70

static uint8_t bytes[4096];
static struct scn_journal_transaction batch[BATCH_MAX];
static struct scn_journal_record records[BATCH_MAX];

struct raw {
        sqlite3 *handle;
        sqlite3_stmt *begin, *insert, *commit;
        uint32_t row_bytes;
        int64_t rev;
};

static void need(bool is_good, const char *what)
{
        if (!is_good) {
                fprintf(stderr, "bench_storage: %s failed\n", what);
                exit(1);
        }
}

static sqlite3_stmt *prepare(sqlite3 *handle, const char *sql)
{
        sqlite3_stmt *statement;

        need(sqlite3_prepare_v3(handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) == SQLITE_OK, sql);
        return statement;
}

static void raw_open(struct raw *raw, const char *path, uint32_t row_bytes)
{
        *raw = (struct raw){.row_bytes = row_bytes};
        need(sqlite3_open_v2(path, &raw->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                     NULL) == SQLITE_OK,
                path);
        need(sqlite3_exec(raw->handle,
                     "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                     "CREATE TABLE edits (rev INTEGER PRIMARY KEY, bytes BLOB)",
                     NULL, NULL, NULL) == SQLITE_OK,
                "the raw table");
        raw->begin = prepare(raw->handle, "BEGIN IMMEDIATE");
        raw->insert = prepare(raw->handle, "INSERT INTO edits VALUES (?, ?)");
        raw->commit = prepare(raw->handle, "COMMIT");
}

static void raw_close(struct raw *raw)
{
        sqlite3_finalize(raw->begin);
        sqlite3_finalize(raw->insert);
        sqlite3_finalize(raw->commit);
        sqlite3_close(raw->handle);
}

static void run(sqlite3_stmt *statement)
{
        need(sqlite3_step(statement) == SQLITE_DONE, "a raw statement");
        sqlite3_reset(statement);
}

static void raw_append(struct raw *raw, uint32_t count)
{
        run(raw->begin);
        for (uint32_t i = 0; i < count; i++) {
                sqlite3_bind_int64(raw->insert, 1, ++raw->rev);
                sqlite3_bind_blob(raw->insert, 2, bytes, (int)raw->row_bytes, SQLITE_STATIC);
                run(raw->insert);
        }
        run(raw->commit);
}

static void make_batch(scn_revision first, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                const scn_revision revision = first + i;
                records[i] = (struct scn_journal_record){
                        .kind = 3,
                        .node = {{(uint8_t)revision, (uint8_t)(revision >> 8)}},
                        .before = {bytes, PAYLOAD_BYTES / 2},
                        .after = {bytes, PAYLOAD_BYTES / 2},
                };
                batch[i] = (struct scn_journal_transaction){
                        .revision = revision,
                        .time_us = INT64_C(1700000000000000) + (int64_t)revision * 100,
                        .author = {(const uint8_t *)"somebody", 8},
                        .client = {{1, (uint8_t)(revision % WRITERS)}},
                        .number = revision,
                        .content_hash = {bytes, HASH_BYTES},
                        .step = revision,
                        .digest = {bytes, DIGEST_BYTES},
                        .answer = {bytes, ANSWER_BYTES},
                        .records = &records[i],
                        .records_count = 1,
                };
        }
}

static double wall_now(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Seconds of wall and of this thread's CPU, of the three that take turns. */
enum contestant {
        SEAM,
        RAW_SAME,
        RAW_PAYLOAD,
        CONTESTANTS,
};

struct times {
        double wall[CONTESTANTS];
        double cpu[CONTESTANTS];
};

static void run_round(struct scn_journal *journal, struct raw *same, struct raw *payload, uint32_t size,
        uint32_t batches, scn_revision *revision, struct times *times)
{
        *times = (struct times){0};
        for (uint32_t i = 0; i < batches; i++) {
                make_batch(*revision + 1, size);
                for (int k = 0; k < CONTESTANTS; k++) {
                        /* whoever comes first after a pause of the disk should not always be the same */
                        const enum contestant who = (enum contestant)((i + (uint32_t)k) % CONTESTANTS);
                        const double wall = wall_now(), cpu = scn_bench_now_ns();
                        if (who == SEAM) {
                                need(scn_journal_append(journal, batch, size, NULL) == SCN_OK, "append");
                                need(scn_journal_upkeep(journal, NULL) == SCN_OK, "upkeep");
                        } else {
                                raw_append(who == RAW_SAME ? same : payload, size);
                        }
                        times->wall[who] += wall_now() - wall;
                        times->cpu[who] += (scn_bench_now_ns() - cpu) * 1e-9;
                }
                *revision += size;
        }
}

static void report_share(const char *what, double share)
{
        printf("  %-58s %10.0f %-11s budget %6.0f  %s\n", what, share * 100.0, "percent", SHARE_WANTED * 100.0,
                share >= SHARE_WANTED ? "ok" : "over");
}

static void report(uint32_t size, double edits, const struct times *best)
{
        static const char *const names[CONTESTANTS] = {"seam", "raw SQLite, the same bytes", "raw SQLite, 100 bytes"};
        char text[96];

        printf("\n  %u edits a batch\n", size);
        for (int i = 0; i < CONTESTANTS; i++) {
                scn_bench_row(names[i], edits / best->wall[i], "edits/s", SCN_BENCH_NO_BUDGET);
                snprintf(text, sizeof text, "%s, CPU", names[i]);
                scn_bench_row(text, best->cpu[i] / edits * 1e6, "us/edit", SCN_BENCH_NO_BUDGET);
        }
        report_share("seam as a share of the same bytes", best->wall[RAW_SAME] / best->wall[SEAM]);
        report_share("seam as a share of 100 bytes", best->wall[RAW_PAYLOAD] / best->wall[SEAM]);
}

static void run_size(const char *directory, struct scn_storage *storage, uint32_t size, uint32_t batches)
{
        const struct scn_storage_birth birth = {.uid = {{1}}, .created_us = 1};
        char name[32], path[512];
        struct scn_journal *journal;
        struct raw same, payload;
        struct times best = {0}, times;
        scn_revision revision = 0;

        snprintf(name, sizeof name, "bench%u", size);
        const struct scn_slice document = {(const uint8_t *)name, (uint32_t)strlen(name)};
        need(scn_storage_create(storage, document, &birth, NULL) == SCN_OK, "create");
        need(scn_journal_open(storage, document, NULL, &journal, NULL) == SCN_OK, "open");
        snprintf(path, sizeof path, "%s/same%u.db", directory, size);
        raw_open(&same, path, SAME_BYTES);
        snprintf(path, sizeof path, "%s/payload%u.db", directory, size);
        raw_open(&payload, path, PAYLOAD_BYTES);

        for (int i = 0; i < ROUNDS; i++) {
                run_round(journal, &same, &payload, size, batches, &revision, &times);
                for (int k = 0; k < CONTESTANTS; k++) {
                        best.wall[k] = i == 0 || times.wall[k] < best.wall[k] ? times.wall[k] : best.wall[k];
                        best.cpu[k] = i == 0 || times.cpu[k] < best.cpu[k] ? times.cpu[k] : best.cpu[k];
                }
        }
        report(size, (double)batches * size, &best);
        raw_close(&same);
        raw_close(&payload);
        scn_journal_close(journal);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
        (void)status;
        (void)type;
        (void)place;
        return remove(path);
}

int main(int argc, char **argv)
{
        static const struct {
                uint32_t size, batches;
        } sizes[] = {{1, 300}, {10, 300}, {100, 200}, {1000, 60}};
        char directory[256];
        struct scn_storage *storage;

        snprintf(directory, sizeof directory, "%s/bench-storage-XXXXXX", argc > 1 ? argv[1] : ".");
        need(mkdtemp(directory) != NULL, "mkdtemp");
        for (size_t i = 0; i < sizeof bytes; i++)
                bytes[i] = (uint8_t)(i * 167 + (i >> 8));
        need(scn_storage_open(directory, &storage, NULL) == SCN_OK, "the data directory");
        scn_bench_heading("journal at its seam beside raw SQLite commits");
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
                run_size(directory, storage, sizes[i].size, sizes[i].batches);
        scn_storage_close(storage);
        nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        return 0;
}
