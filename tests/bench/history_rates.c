/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* setenv */
#include "tests/bench/history_rates.h"

#include "protocol/wire/ops.h"
#include "storage/storage.h"
#include "tests/bench/bench.h"
#include "tests/bench/sync_net.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The same bytes, committed in turns on the same disk: batch by batch, the daemon round by round, so that a disk that
 * changes its speed slows all.
 *
 * An edit moves one node. "Raw" is a table of (rev, bytes) with the daemon's settings (WAL, FULL, prepared statements,
 * BEGIN IMMEDIATE), whose bytes are all that the seam was given for the edit: payload, digest, content hash, answer,
 * node and client. Beside it, for comparison, a raw table of 100 bytes. The daemon has the first core and one client
 * on the second, with so many edits in flight, which writes once for all that it has read, as libscn does; what the
 * daemon puts into one commit is its own affair. The others run on the daemon's core: a disk may have one core that
 * its interrupts go to, where commits cost a fifth less. */

#define PORT 7933u
#define NODES 100u
/* Three floats before and after, and who wrote them last. */
#define PAYLOAD_BYTES 40u
#define PLAIN_BYTES 100u
#define HASH_BYTES 16u
#define DIGEST_BYTES 64u
#define ANSWER_BYTES 20u
/* payload, hash, digest, answer, node, client, and eight integers as the seam takes them */
#define SAME_BYTES (PAYLOAD_BYTES + HASH_BYTES + DIGEST_BYTES + ANSWER_BYTES + 16u + 16u + 8u * 8u)
#define WRITERS 10u
#define BATCH_MAX 1000u
#define ROUNDS 5
#define SEAM_PERCENT 70
#define DAEMON_PERCENT 50
#define DAEMON_PERCENT_UP_TO 10u

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
                fprintf(stderr, "bench_history: %s failed\n", what);
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

/* Seconds of wall and of CPU: of this thread, or of all the daemon's. The first three take turns in a batch. */
enum contestant {
        SEAM,
        RAW_SAME,
        RAW_PLAIN,
        TURNS,
        DAEMON = TURNS,
        CONTESTANTS,
};

struct times {
        double wall[CONTESTANTS];
        double cpu[CONTESTANTS];
};

/* --- One round of each --- */

static void run_turns(struct scn_journal *journal, struct raw *same, struct raw *plain, uint32_t size, uint32_t batches,
        scn_revision *revision, struct times *times)
{
        for (uint32_t i = 0; i < batches; i++) {
                make_batch(*revision + 1, size);
                for (int k = 0; k < TURNS; k++) {
                        /* whoever comes first after a pause of the disk should not always be the same */
                        const enum contestant who = (enum contestant)((i + (uint32_t)k) % TURNS);
                        const double wall = sync_now_ns(), cpu = scn_bench_now_ns();
                        if (who == SEAM) {
                                need(scn_journal_append(journal, batch, size, NULL) == SCN_OK, "append");
                                need(scn_journal_upkeep(journal, NULL) == SCN_OK, "upkeep");
                        } else {
                                raw_append(who == RAW_SAME ? same : plain, size);
                        }
                        times->wall[who] += (sync_now_ns() - wall) * 1e-9;
                        times->cpu[who] += (scn_bench_now_ns() - cpu) * 1e-9;
                }
                *revision += size;
        }
}

struct flight {
        uint64_t sent, answered, wanted;
};

static void move_one(struct sync_peer *peer, struct flight *flight)
{
        flight->sent++;
        sync_peer_move(peer, 2 + (scn_node_id)(flight->sent % NODES), 1, (float)flight->sent);
}

static void on_applied(struct sync_peer *peer, const struct scn_message *message, void *data)
{
        struct flight *flight = data;
        need(message->kind == SCN_MESSAGE_applied, "an edit");
        flight->answered++;
        if (flight->sent < flight->wanted) {
                move_one(peer, flight);
        }
}

static bool is_over(void *data)
{
        const struct flight *flight = data;
        return flight->answered == flight->wanted;
}

static void run_daemon(const struct sync_server *server, struct sync_peer *peer, uint32_t in_flight, uint32_t edits,
        struct times *times)
{
        struct flight flight = {.wanted = edits};
        const double wall = sync_now_ns(), cpu = sync_server_cpu_ns(server);
        while (flight.sent < in_flight) {
                move_one(peer, &flight);
        }
        sync_peer_flush(peer);
        sync_run_until(&peer, 1, false, on_applied, is_over, &flight);
        times->wall[DAEMON] = (sync_now_ns() - wall) * 1e-9;
        times->cpu[DAEMON] = (sync_server_cpu_ns(server) - cpu) * 1e-9;
}

static void add_nodes(struct sync_peer *peer)
{
        static struct scn_op ops[NODES];
        static const uint8_t name[] = "node";
        struct flight flight = {.sent = 1, .wanted = 1};
        for (uint32_t i = 0; i < NODES; i++) {
                ops[i] = (struct scn_op){
                        .kind = SCN_OP_ADD, .parent = {.kind = SCN_REF_ID, .id = 1}, .name = {name, sizeof name - 1}};
        }
        sync_peer_edit(peer, ops, NODES);
        sync_run_until(&peer, 1, false, on_applied, is_over, &flight);
}

/* --- Report --- */

static void report_share(const char *what, double share, int percent)
{
        printf("  %-58s %10.0f %-11s", what, share * 100.0, "percent");
        if (percent > 0) {
                printf(" budget %6d  %s", percent, share * 100.0 >= percent ? "ok" : "under");
        }
        printf("\n");
}

static void report(uint32_t size, double edits, const struct times *best)
{
        static const char *const names[CONTESTANTS] = {
                [SEAM] = "seam",
                [RAW_SAME] = "raw SQLite, the same bytes",
                [RAW_PLAIN] = "raw SQLite, 100 bytes",
                [DAEMON] = "through the daemon",
        };
        char text[96];

        printf("\n  %u in flight\n", size);
        for (int i = 0; i < CONTESTANTS; i++) {
                scn_bench_row(names[i], edits / best->wall[i], "edits/s", SCN_BENCH_NO_BUDGET);
                snprintf(text, sizeof text, "%s, CPU", names[i]);
                scn_bench_row(text, best->cpu[i] / edits * 1e6, "us/edit", SCN_BENCH_NO_BUDGET);
        }
        report_share("seam as a share of the same bytes", best->wall[RAW_SAME] / best->wall[SEAM], SEAM_PERCENT);
        report_share("seam as a share of 100 bytes", best->wall[RAW_PLAIN] / best->wall[SEAM], 0);
        report_share("daemon as a share of the same bytes", best->wall[RAW_SAME] / best->wall[DAEMON],
                size <= DAEMON_PERCENT_UP_TO ? DAEMON_PERCENT : 0);
}

static void run_size(const char *directory, struct scn_storage *storage, uint32_t size, uint32_t batches)
{
        const struct scn_storage_birth birth = {.uid = {{1}}, .created_us = 1};
        char name[32], path[512];
        struct scn_journal *journal;
        struct raw same, plain;
        struct sync_peer peer;
        struct times best = {0};
        scn_revision revision = 0;

        snprintf(name, sizeof name, "rate%u", size);
        const struct scn_slice document = {(const uint8_t *)name, (uint32_t)strlen(name)};
        need(scn_storage_create(storage, document, &birth, NULL) == SCN_OK, "create");
        need(scn_journal_open(storage, document, NULL, &journal, NULL) == SCN_OK, "open");
        snprintf(path, sizeof path, "%s/same%u.db", directory, size);
        raw_open(&same, path, SAME_BYTES);
        snprintf(path, sizeof path, "%s/plain%u.db", directory, size);
        raw_open(&plain, path, PLAIN_BYTES);
        struct sync_server server = sync_server_start(false, PORT);
        sync_peer_open(&peer, PORT, 1, false);
        add_nodes(&peer);
        peer.is_gathering = true;

        for (int i = 0; i < ROUNDS; i++) {
                struct times times = {0};
                sync_pin(SYNC_SERVER_CORE);
                run_turns(journal, &same, &plain, size, batches, &revision, &times);
                sync_pin(SYNC_LOAD_CORE);
                run_daemon(&server, &peer, size, batches * size, &times);
                for (int k = 0; k < CONTESTANTS; k++) {
                        best.wall[k] = i == 0 || times.wall[k] < best.wall[k] ? times.wall[k] : best.wall[k];
                        best.cpu[k] = i == 0 || times.cpu[k] < best.cpu[k] ? times.cpu[k] : best.cpu[k];
                }
        }
        report(size, (double)batches * size, &best);
        sync_peer_close(&peer);
        sync_server_stop(&server);
        raw_close(&same);
        raw_close(&plain);
        scn_journal_close(journal);
}

void history_rates(const char *directory)
{
        static const struct {
                uint32_t size, batches;
        } sizes[] = {{1, 300}, {10, 300}, {100, 200}, {1000, 60}};
        char path[256];
        struct scn_storage *storage;

        for (size_t i = 0; i < sizeof bytes; i++)
                bytes[i] = (uint8_t)(i * 167 + (i >> 8));
        snprintf(path, sizeof path, "%s/rates", directory);
        need(mkdir(path, 0700) == 0, path);
        need(scn_storage_open(path, &storage, NULL) == SCN_OK, "the data directory");
        need(setenv("TMPDIR", path, 1) == 0, "TMPDIR"); /* the daemon's data beside ours */
        scn_bench_heading("durable edits a second, beside raw SQLite commits");
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
                run_size(path, storage, sizes[i].size, sizes[i].batches);
        scn_storage_close(storage);
        sync_unpin();
}
