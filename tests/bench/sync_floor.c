/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "tests/bench/sync_floor.h"

#include "tests/bench/bench.h"
#include "tests/bench/sync_net.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Of one moved node: record, content hash, digest, answer, node, client, and eight integers. */
#define ROW_BYTES 236
#define EDITS 20000u

struct sync_floor {
        char folder[64];
        char path[80];
        sqlite3 *handle;
        sqlite3_stmt *begin, *insert, *commit;
        sqlite3_int64 revision;
};

static void need(bool is_good, const char *what)
{
        if (!is_good) {
                fprintf(stderr, "bench_sync: %s failed\n", what);
                exit(1);
        }
}

static sqlite3_stmt *prepare(sqlite3 *handle, const char *sql)
{
        sqlite3_stmt *statement;
        need(sqlite3_prepare_v3(handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) == SQLITE_OK, sql);
        return statement;
}

struct sync_floor *sync_floor_create(void)
{
        static const char *const settings = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                                            "CREATE TABLE edits (rev INTEGER PRIMARY KEY, bytes BLOB)";
        struct sync_floor *floor = calloc(1, sizeof *floor);
        need(floor != NULL, "memory");
        (void)snprintf(floor->folder, sizeof floor->folder, "/tmp/scened-floor-XXXXXX");
        need(mkdtemp(floor->folder) != NULL, "a folder in /tmp");
        (void)snprintf(floor->path, sizeof floor->path, "%s/rows", floor->folder);
        need(sqlite3_open(floor->path, &floor->handle) == SQLITE_OK, floor->path);
        need(sqlite3_exec(floor->handle, settings, NULL, NULL, NULL) == SQLITE_OK, "the table");
        floor->begin = prepare(floor->handle, "BEGIN IMMEDIATE");
        floor->insert = prepare(floor->handle, "INSERT INTO edits VALUES (?, ?)");
        floor->commit = prepare(floor->handle, "COMMIT");
        return floor;
}

void sync_floor_destroy(struct sync_floor *floor)
{
        sqlite3_finalize(floor->begin);
        sqlite3_finalize(floor->insert);
        sqlite3_finalize(floor->commit);
        sqlite3_close(floor->handle);
        (void)unlink(floor->path);
        (void)rmdir(floor->folder);
        free(floor);
}

static void run(sqlite3_stmt *statement)
{
        need(sqlite3_step(statement) == SQLITE_DONE, "a statement");
        sqlite3_reset(statement);
}

static void commit(struct sync_floor *floor, uint32_t batch)
{
        static const unsigned char bytes[ROW_BYTES];
        run(floor->begin);
        for (uint32_t k = 0; k < batch; k++) {
                sqlite3_bind_int64(floor->insert, 1, ++floor->revision);
                sqlite3_bind_blob(floor->insert, 2, bytes, sizeof bytes, SQLITE_STATIC);
                run(floor->insert);
        }
        run(floor->commit);
}

/* CPU of so many commits, on the server's core. pause NULL: one behind the other. */
static double commits_ns(struct sync_floor *floor, uint32_t commits, uint32_t batch, const struct timespec *pause)
{
        sync_pin(SYNC_SERVER_CORE);
        const double before = scn_bench_now_ns();
        for (uint32_t i = 0; i < commits; i++) {
                if (pause != NULL) {
                        (void)nanosleep(pause, NULL);
                }
                commit(floor, batch);
        }
        const double used = scn_bench_now_ns() - before;
        sync_pin(SYNC_LOAD_CORE);
        return used;
}

double sync_floor_ns(struct sync_floor *floor, uint32_t batch)
{
        const uint32_t commits = EDITS / batch + 1;
        return commits_ns(floor, commits, batch, NULL) / commits / batch;
}

double sync_floor_paced_ns(struct sync_floor *floor, uint32_t count, uint32_t rate)
{
        const struct timespec pause = {.tv_nsec = 1000000000 / (long)rate};
        return commits_ns(floor, count, 1, &pause) / count;
}
