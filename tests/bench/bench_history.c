/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "server/checkpoint.h"
#include "server/fold.h"
#include "server/record.h"
#include "server/room_open.h"
#include "tests/bench/bench.h"
#include "tests/bench/history_rates.h"
#include "tests/lib/random.h"

#include <ftw.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What history costs (DESIGN §10): making it, beside raw SQLite; opening a document by the length of its history, with
 * checkpoints and without, going back in it, replaying it, what making a checkpoint does to those who edit, and what
 * folding does to the file and to them.
 *
 * DIRECTORY is else the working directory, and should be on a disk; NODES are else 1000000, and with 0 there is folding
 * alone.
 *
 * Times are wall time of one call in a warm system. A transaction moves one of a thousand nodes. Checkpoints are
 * made where the daemon would make them: when the journal behind the last exceeds a quarter of it and 512 KiB. */

#define USAGE "bench_history [DIRECTORY [NODES]]"
#define BATCH 1000u
#define OPEN_RUNS 5
#define PROBES 2000

struct world {
        struct scn_storage *storage;
        struct scn_slice name;
        struct scn_journal *journal;
        struct scn_document *document;
        struct scn_random random;
        int64_t time_us;
        uint64_t gathered;
        uint64_t checkpoint_bytes;
        bool has_checkpoints;
        /* Of whom the next transactions are. */
        uint8_t client;
        uint64_t group; /* 0: none */
};

static double wall_ms(void)
{
        struct timespec now;
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void need(bool is_good, const char *what)
{
        if (!is_good) {
                (void)fprintf(stderr, "bench_history: %s failed\n", what);
                exit(1);
        }
}

static void fill_random(void *data, uint8_t *bytes, size_t size)
{
        struct scn_random *random = data;
        for (size_t i = 0; i < size; i++) {
                bytes[i] = (uint8_t)scn_random_next(random);
        }
}

static struct scn_document_options options_of(struct world *world)
{
        return (struct scn_document_options){
                .limits = SCN_LIMITS_DEFAULT,
                .hash_seed = 1,
                .random = fill_random,
                .random_data = &world->random,
        };
}

static void begin(struct world *world, struct scn_storage *storage, const char *name, bool has_checkpoints)
{
        const struct scn_storage_birth birth = {
                .uid = {{1}}, .created_us = 1, .origin = {(const uint8_t *)"0123456789abcdef", 16}};
        *world = (struct world){
                .storage = storage,
                .name = {(const uint8_t *)name, (uint32_t)strlen(name)},
                .random = scn_random_from_seed(1),
                .time_us = 1000,
                .has_checkpoints = has_checkpoints,
                .client = 1,
        };
        const struct scn_document_options options = options_of(world);
        need(scn_storage_create(storage, world->name, &birth, NULL) == SCN_OK, "create");
        need(scn_journal_open(storage, world->name, NULL, &world->journal, NULL) == SCN_OK, "open");
        need(scn_document_born(world->journal, &options, &world->document) == SCN_OK, "birth");
}

static void end(struct world *world)
{
        scn_document_destroy(world->document);
        scn_journal_close(world->journal);
}

/* --- Checkpoints --- */

static uint64_t write_checkpoint(struct scn_journal *journal, const struct scn_document *document)
{
        struct scn_checkpoint_encoder *encoder = scn_checkpoint_encoder_create(document);
        const struct scn_digests digests = scn_document_digests(document);
        struct scn_checkpoint_writer *writer;
        struct scn_slice part;
        uint64_t bytes = 0;
        const enum scn_error error =
                scn_checkpoint_writer_create(journal, scn_document_revision(document), 1, &writer, NULL);
        need(encoder != NULL && error == SCN_OK, "checkpoint");
        while (scn_checkpoint_encoder_next(encoder, &part) == SCN_OK && part.data != NULL) {
                need(scn_checkpoint_writer_append(writer, part, NULL) == SCN_OK, "part");
                bytes += part.size;
        }
        need(scn_checkpoint_writer_finish(
                     writer, (struct scn_slice){(const uint8_t *)&digests, sizeof digests}, NULL) == SCN_OK,
                "finish");
        scn_checkpoint_writer_destroy(writer);
        scn_checkpoint_encoder_destroy(encoder);
        return bytes;
}

static void checkpoint_if_due(struct world *world)
{
        const uint64_t share = world->checkpoint_bytes / 4;
        bool is_done = false;
        if (!world->has_checkpoints ||
                world->gathered <= (share > SCN_CHECKPOINT_DUE_BYTES ? share : SCN_CHECKPOINT_DUE_BYTES)) {
                return;
        }
        world->checkpoint_bytes = write_checkpoint(world->journal, world->document);
        world->gathered = 0;
        while (!is_done) {
                need(scn_checkpoint_thin(world->journal, &is_done, NULL) == SCN_OK, "thin");
        }
}

/* --- Transactions --- */

struct batch {
        struct scn_buffer bytes;
        struct scn_journal_transaction transactions[BATCH];
        struct scn_digests digests[BATCH];
        struct scn_journal_record *records; /* of all, in order */
        size_t *starts;                     /* of each record, before and after, in bytes */
        size_t records_count, records_capacity, starts_capacity;
        uint32_t count;
};

static void add(struct batch *batch, struct world *world, const struct scn_edit *edit)
{
        struct scn_changes *changes;
        struct scn_refusal refusal;
        need(scn_document_apply(world->document, edit, &changes, &refusal) == SCN_OK, "edit");
        const uint32_t count = scn_changes_count(changes);
        const size_t first = batch->records_count;
        need(scn_grow((void **)&batch->records, &batch->records_capacity, sizeof *batch->records, first + count,
                     SIZE_MAX) &&
                        scn_grow((void **)&batch->starts, &batch->starts_capacity, 2 * sizeof *batch->starts,
                                first + count, SIZE_MAX),
                "memory");
        for (uint32_t i = 0; i < count; i++) {
                const struct scn_change *change = scn_changes_get(changes, i);
                size_t before_size;
                const size_t start = batch->bytes.size;
                need(scn_record_encode(world->document, change, NULL, &batch->bytes, &before_size) == SCN_OK, "record");
                batch->records[first + i] = (struct scn_journal_record){
                        .kind = change->kind,
                        .node = change->uid,
                        .before = {NULL, (uint32_t)before_size},
                        .after = {NULL, (uint32_t)(batch->bytes.size - start - before_size)},
                };
                batch->starts[2 * (first + i)] = start;
                batch->starts[2 * (first + i) + 1] = start + before_size;
        }
        batch->records_count += count;
        batch->digests[batch->count] = scn_document_digests(world->document);
        batch->transactions[batch->count] = (struct scn_journal_transaction){
                .revision = scn_changes_revision(changes),
                .time_us = world->time_us += 1000,
                .author = {(const uint8_t *)"somebody", 8},
                .client = {{world->client}},
                .group = world->group,
                .number = scn_changes_revision(changes),
                .content_hash = {(const uint8_t *)"0123456789abcdef", 16},
                .step = edit->step != 0 ? edit->step : scn_changes_revision(changes),
                .answer = {(const uint8_t *)"twenty bytes or some", 20},
                .records_count = count,
        };
        batch->count++;
        scn_document_settle(world->document, changes);
}

static void append(struct batch *batch, struct world *world)
{
        for (size_t i = 0; i < batch->records_count; i++) {
                batch->records[i].before.data = batch->bytes.data + batch->starts[2 * i];
                batch->records[i].after.data = batch->bytes.data + batch->starts[2 * i + 1];
        }
        const struct scn_journal_record *at = batch->records;
        for (uint32_t i = 0; i < batch->count; i++) {
                batch->transactions[i].records = at;
                batch->transactions[i].digest =
                        (struct scn_slice){(const uint8_t *)&batch->digests[i], sizeof batch->digests[i]};
                at += batch->transactions[i].records_count;
        }
        need(scn_journal_append(world->journal, batch->transactions, batch->count, NULL) == SCN_OK, "append");
        need(scn_journal_upkeep(world->journal, NULL) == SCN_OK, "upkeep");
        world->gathered += batch->bytes.size + 64 * batch->records_count + (64 + 16 + 64 + 20) * batch->count;
        scn_buffer_reset(&batch->bytes);
        batch->records_count = 0;
        batch->count = 0;
}

static struct batch *create_batch(void)
{
        struct batch *batch = scn_alloc_zero(1, sizeof *batch);
        need(batch != NULL, "memory");
        scn_buffer_init(&batch->bytes, SIZE_MAX / 2);
        return batch;
}

static void destroy_batch(struct batch *batch)
{
        scn_buffer_finish(&batch->bytes);
        scn_free(batch->records);
        scn_free(batch->starts);
        scn_free(batch);
}

/* Four children each, with names, so many in an edit. */
static void add_nodes(struct world *world, uint32_t count)
{
        struct batch *batch = create_batch();
        struct scn_op *ops = scn_alloc_zero(count, sizeof *ops);
        static const uint8_t node_name[] = "Some node";
        need(ops != NULL, "memory");
        for (uint32_t id = 2, made = 0; made < count; made += 100000) {
                const uint32_t size = count - made < 100000 ? count - made : 100000;
                for (uint32_t i = 0; i < size; i++, id++) {
                        ops[i] = (struct scn_op){
                                .kind = SCN_OP_ADD,
                                .parent = {.kind = SCN_REF_ID, .id = (id + 2) / 4},
                                .name = {node_name, sizeof node_name - 1},
                                .fields = SCN_FIELDS_TRANSLATION,
                                .trs = {.t = {(float)id, 2.0f, 3.0f}},
                        };
                }
                const struct scn_edit edit = {.ops = ops, .ops_count = size, .client = {{1}}};
                add(batch, world, &edit);
                append(batch, world);
        }
        scn_free(ops);
        destroy_batch(batch);
}

static struct scn_op move_op(struct world *world, uint32_t nodes)
{
        return (struct scn_op){
                .kind = SCN_OP_TRANSFORM,
                .node = {.kind = SCN_REF_ID, .id = 2 + scn_random_below(&world->random, nodes)},
                .fields = SCN_FIELDS_TRANSLATION,
                .trs = {.t = {scn_random_float(&world->random, -9, 9), scn_random_float(&world->random, -9, 9), 1}},
        };
}

static void add_history(struct world *world, uint32_t nodes, uint32_t transactions)
{
        struct batch *batch = create_batch();
        for (uint32_t i = 0; i < transactions; i++) {
                const struct scn_op op = move_op(world, nodes);
                const struct scn_edit edit = {.ops = &op, .ops_count = 1, .client = {{1}}};
                add(batch, world, &edit);
                if (batch->count == BATCH || i + 1 == transactions) {
                        append(batch, world);
                        checkpoint_if_due(world);
                }
        }
        destroy_batch(batch);
}

/* --- Measuring --- */

static double open_ms(struct world *world)
{
        static uint64_t epoch = 1000;
        double best = 0;
        for (int i = 0; i < OPEN_RUNS; i++) {
                struct scn_storage_fault fault = {.text = ""};
                struct scn_opened_document opened;
                const struct scn_open_wish wish = {
                        .storage = world->storage,
                        .name = world->name,
                        .epoch = ++epoch,
                        .now_us = world->time_us,
                        .options = options_of(world),
                };
                const double start = wall_ms();
                need(scn_open_document(&wish, &opened, &fault) == SCN_OK, "opening");
                const double took = wall_ms() - start;
                best = i == 0 || took < best ? took : best;
                need(scn_document_revision(opened.document) == scn_document_revision(world->document), "revision");
                scn_document_destroy(opened.document);
                scn_journal_close(opened.journal);
                scn_free(opened.epochs);
        }
        return best;
}

/* The document as it was, from the nearest checkpoint. */
static double seek_ms(struct world *world, scn_revision revision)
{
        const struct scn_document_options options = options_of(world);
        struct scn_storage_fault fault = {.text = ""};
        struct scn_storage_fault damaged = {.text = ""};
        struct scn_document *document;
        const double start = wall_ms();
        need(scn_document_restore(world->journal, &options, revision, &document, &damaged, &fault) == SCN_OK &&
                        scn_replay(world->journal, document, revision, &fault) == SCN_OK,
                "seek");
        const double took = wall_ms() - start;
        need(scn_document_revision(document) == revision, "revision");
        scn_document_destroy(document);
        return took;
}

static void measure_lengths(struct scn_storage *storage, bool has_checkpoints)
{
        static const uint32_t lengths[] = {1000, 10000, 100000, 1000000};
        char text[96];
        double first_ms = 0;
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
                struct world world;
                char name[32];
                (void)snprintf(name, sizeof name, "history-%d-%u", has_checkpoints, lengths[i]);
                begin(&world, storage, name, has_checkpoints);
                add_nodes(&world, 1000);
                add_history(&world, 1000, lengths[i]);
                const double took = open_ms(&world);
                first_ms = i == 0 ? took : first_ms;
                (void)snprintf(text, sizeof text, "open, %u transactions, %s", lengths[i],
                        has_checkpoints ? "checkpoints" : "journal alone");
                scn_bench_row(text, took, "ms", SCN_BENCH_NO_BUDGET);
                if (i > 0 && has_checkpoints) {
                        scn_bench_row("  as a share of the first", 100 * took / first_ms, "percent", 150);
                }
                if (lengths[i] == 100000) {
                        const scn_revision last = scn_document_revision(world.document);
                        static const uint32_t hundredths[] = {1, 10, 50, 90, 99};
                        for (size_t k = 0; k < sizeof hundredths / sizeof hundredths[0]; k++) {
                                (void)snprintf(text, sizeof text, "  go to %u %% of it", hundredths[k]);
                                scn_bench_row(
                                        text, seek_ms(&world, last * hundredths[k] / 100), "ms", SCN_BENCH_NO_BUDGET);
                        }
                        if (!has_checkpoints) {
                                scn_bench_row("  replay, transactions a second",
                                        (double)last / seek_ms(&world, last) * 1e3, "1/s", SCN_BENCH_NO_BUDGET);
                        }
                }
                end(&world);
        }
}

/* --- A large document --- */

struct maker {
        const struct scn_document *document;
        struct scn_journal *journal;
        atomic_bool is_done;
        double took_ms;
};

static void *make(void *data)
{
        struct maker *maker = data;
        const double start = wall_ms();
        (void)write_checkpoint(maker->journal, maker->document);
        maker->took_ms = wall_ms() - start;
        atomic_store(&maker->is_done, true);
        return NULL;
}

/* One edit after the other, each a commit, while `go_on` says so; the longest and the median. */
static void probe(struct world *world, struct scn_document *document, uint32_t nodes, struct maker *maker,
        double *median_out, double *longest_out)
{
        static double times[PROBES];
        struct batch *batch = create_batch();
        struct scn_document *whole = world->document;
        uint32_t count = 0;
        world->document = document;
        while (count < PROBES && (maker == NULL ? count < 500 : !atomic_load(&maker->is_done))) {
                const struct scn_op op = move_op(world, nodes);
                const struct scn_edit edit = {.ops = &op, .ops_count = 1, .client = {{1}}};
                add(batch, world, &edit);
                const double start = wall_ms();
                append(batch, world);
                times[count++] = wall_ms() - start;
        }
        world->document = whole;
        destroy_batch(batch);
        *longest_out = 0;
        for (uint32_t i = 0; i < count; i++) {
                *longest_out = times[i] > *longest_out ? times[i] : *longest_out;
        }
        for (uint32_t i = 0; i <= count / 2; i++) {
                for (uint32_t k = i + 1; k < count; k++) {
                        if (times[k] < times[i]) {
                                const double swap = times[i];
                                times[i] = times[k];
                                times[k] = swap;
                        }
                }
        }
        *median_out = count == 0 ? 0 : times[count / 2];
}

static void measure_large(struct scn_storage *storage, uint32_t nodes)
{
        struct world world;
        struct scn_document *live = NULL;
        struct maker maker = {.document = NULL};
        struct scn_storage_fault fault = {.text = ""};
        double median;
        double longest;
        pthread_t thread;
        begin(&world, storage, "large", false);
        add_nodes(&world, nodes);
        scn_bench_row("open, journal alone", open_ms(&world), "ms", SCN_BENCH_NO_BUDGET);
        const double start = wall_ms();
        const uint64_t bytes = write_checkpoint(world.journal, world.document);
        scn_bench_row("write a checkpoint", wall_ms() - start, "ms", SCN_BENCH_NO_BUDGET);
        scn_bench_row("its size", (double)bytes / nodes, "bytes/node", SCN_BENCH_NO_BUDGET);
        scn_bench_row("open from it", open_ms(&world), "ms", nodes == 1000000 ? 1500 : SCN_BENCH_NO_BUDGET);
        /* The maker reads one document, the edits go to another. */
        const struct scn_document_options options = options_of(&world);
        struct scn_storage_fault damaged;
        need(scn_document_restore(world.journal, &options, SCN_REVISION_MAX, &live, &damaged, &fault) == SCN_OK,
                "copy");
        probe(&world, live, nodes, NULL, &median, &longest);
        scn_bench_row("a commit, median", median, "ms", SCN_BENCH_NO_BUDGET);
        scn_bench_row("a commit, longest", longest, "ms", SCN_BENCH_NO_BUDGET);
        maker.document = world.document;
        need(scn_journal_open(storage, world.name, NULL, &maker.journal, NULL) == SCN_OK, "open");
        need(pthread_create(&thread, NULL, make, &maker) == 0, "thread");
        probe(&world, live, nodes, &maker, &median, &longest);
        need(pthread_join(thread, NULL) == 0, "thread");
        scn_bench_row("a commit while a checkpoint is written, median", median, "ms", SCN_BENCH_NO_BUDGET);
        scn_bench_row("a commit while a checkpoint is written, longest", longest, "ms", 20);
        scn_journal_close(maker.journal);
        scn_document_destroy(live);
        end(&world);
}

/* --- Folding --- */

#define PEOPLE 10u
#define GESTURE 120u /* two seconds at 60 Hz */
#define GESTURES 80u /* of each */
#define HZ 60u
#define HOURS 8u

/* Pages of the tables that hold the journal, in bytes. */
static double journal_bytes(const char *path)
{
        static const char sql[] = "SELECT sum(pgsize) FROM dbstat WHERE name IN"
                                  " ('transactions', 'records', 'runs', 'folds', 'folded_numbers')";
        sqlite3 *handle;
        sqlite3_stmt *statement = NULL;
        need(sqlite3_open(path, &handle) == SQLITE_OK &&
                        sqlite3_prepare_v2(handle, sql, -1, &statement, NULL) == SQLITE_OK &&
                        sqlite3_step(statement) == SQLITE_ROW,
                "the size of tables");
        const double bytes = (double)sqlite3_column_int64(statement, 0);
        (void)sqlite3_finalize(statement);
        (void)sqlite3_close(handle);
        return bytes;
}

/* All drag at once, each a node of their own at a time, gesture after gesture. */
static void drag_together(struct world *world, uint32_t nodes)
{
        struct batch *batch = create_batch();
        for (uint32_t gesture = 1; gesture <= GESTURES; gesture++) {
                scn_revision steps[PEOPLE];
                for (uint32_t i = 0; i < GESTURE; i++) {
                        for (uint32_t person = 0; person < PEOPLE; person++) {
                                const scn_revision next = scn_document_revision(world->document) + 1;
                                struct scn_op op = move_op(world, nodes);
                                op.node.id = 2 + (gesture * PEOPLE + person) % nodes;
                                steps[person] = i == 0 ? next : steps[person];
                                const struct scn_edit edit = {
                                        .ops = &op,
                                        .ops_count = 1,
                                        .client = {{(uint8_t)(person + 1)}},
                                        .step = steps[person] == next ? 0 : steps[person],
                                };
                                world->client = (uint8_t)(person + 1);
                                world->group = gesture;
                                add(batch, world, &edit);
                                if (batch->count == BATCH) {
                                        append(batch, world);
                                }
                        }
                }
        }
        if (batch->count > 0) {
                append(batch, world);
        }
        world->client = 1;
        world->group = 0;
        destroy_batch(batch);
}

struct folding {
        struct maker maker; /* `journal` is the folder's own */
        struct scn_document_options options;
        scn_revision to;
        uint32_t removed;
};

static void *fold(void *data)
{
        struct folding *folding = data;
        struct scn_storage_fault fault = {.text = ""};
        struct scn_folder *folder = scn_folder_create(&folding->options);
        struct scn_folded folded;
        const double start = wall_ms();
        need(folder != NULL, "memory");
        do {
                need(scn_folder_step(folder, folding->maker.journal, folding->to, &folded, &fault) == SCN_OK &&
                                !folded.is_refuted,
                        "fold");
                folding->removed += folded.transactions;
        } while (folded.last != 0);
        folding->maker.took_ms = wall_ms() - start;
        scn_folder_destroy(folder);
        atomic_store(&folding->maker.is_done, true);
        return NULL;
}

static void tell_sizes(double before, double after, double count)
{
        const double a_day = (double)PEOPLE * HZ * 3600 * HOURS / (1 << 20);
        scn_bench_row("bytes a record, before", before / count, "bytes", SCN_BENCH_NO_BUDGET);
        scn_bench_row("bytes a record, folded", after / count, "bytes", SCN_BENCH_NO_BUDGET);
        scn_bench_row("ten people, 60 Hz, 8 hours, before", a_day * before / count, "MiB", SCN_BENCH_NO_BUDGET);
        scn_bench_row("ten people, 60 Hz, 8 hours, folded", a_day * after / count, "MiB", SCN_BENCH_NO_BUDGET);
}

static void measure_folding(struct scn_storage *storage, const char *directory)
{
        struct world world;
        struct folding folding = {.removed = 0};
        char path[512];
        double median;
        double longest;
        pthread_t thread;
        const double count = (double)PEOPLE * GESTURE * GESTURES;
        begin(&world, storage, "folded", false);
        add_nodes(&world, 1000);
        (void)snprintf(path, sizeof path, "%s/folded.scene", directory);
        const double base = journal_bytes(path);
        drag_together(&world, 1000);
        (void)write_checkpoint(world.journal, world.document);
        const double before = journal_bytes(path) - base;
        probe(&world, world.document, 1000, NULL, &median, &longest);
        scn_bench_row("a commit, median", median, "ms", SCN_BENCH_NO_BUDGET);
        scn_bench_row("a commit, longest", longest, "ms", SCN_BENCH_NO_BUDGET);
        const double probed = journal_bytes(path) - base - before;
        folding.options = options_of(&world);
        folding.to = (scn_revision)count + 1;
        need(scn_journal_open(storage, world.name, NULL, &folding.maker.journal, NULL) == SCN_OK, "open");
        need(pthread_create(&thread, NULL, fold, &folding) == 0, "thread");
        const scn_revision first = scn_document_revision(world.document);
        probe(&world, world.document, 1000, &folding.maker, &median, &longest);
        need(pthread_join(thread, NULL) == 0, "thread");
        const double share = (double)(scn_document_revision(world.document) - first) / count;
        scn_bench_row("a commit while history is folded, median", median, "ms", SCN_BENCH_NO_BUDGET);
        scn_bench_row("a commit while history is folded, longest", longest, "ms", 20);
        scn_bench_row(
                "folded a second", (double)folding.removed / folding.maker.took_ms * 1e3, "1/s", SCN_BENCH_NO_BUDGET);
        scn_bench_row(
                "of all transactions, gone", 100 * (double)folding.removed / count, "percent", SCN_BENCH_NO_BUDGET);
        /* What was probed is not folded. */
        tell_sizes(before, journal_bytes(path) - base - probed - share * before, count);
        scn_journal_close(folding.maker.journal);
        end(&world);
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
        const uint32_t nodes = argc > 2 ? scn_bench_number(argv[2], 0, USAGE) : 1000000;
        char directory[256];
        struct scn_storage *storage;

        if (argc > 3 || (argc > 1 && argv[1][0] == '-')) {
                scn_bench_misuse(USAGE);
        }
        (void)snprintf(directory, sizeof directory, "%s/bench-history-XXXXXX", argc > 1 ? argv[1] : ".");
        need(mkdtemp(directory) != NULL, "mkdtemp");
        if (nodes > 0) {
                history_rates(directory);
        }
        need(scn_storage_open(directory, &storage, NULL) == SCN_OK, "the data directory");
        if (nodes > 0) {
                char text[64];
                scn_bench_heading("1,000 nodes, by the length of their history");
                measure_lengths(storage, false);
                measure_lengths(storage, true);
                (void)snprintf(text, sizeof text, "%u nodes", nodes);
                scn_bench_heading(text);
                measure_large(storage, nodes);
        }
        scn_bench_heading("ten people who drag, their gestures folded");
        measure_folding(storage, directory);
        scn_storage_close(storage);
        (void)nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        return 0;
}
