/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What is done for the files beside the turns, on workers.
 *
 * A checkpoint is made with a journal handle and a document of its own, out of the last checkpoint and the transactions
 * behind it: so it proves them, and the room goes on turning meanwhile. Only closing waits.
 *
 * What has to be done on the handle that appends (forgetting clients, the epoch that a full disk did not take) is a
 * small piece about every second, and turns wait for that piece. */

#include "protocol/base/alloc.h"
#include "server/adopt.h"
#include "server/checkpoint.h"
#include "server/core.h"
#include "server/room_open.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* A checkpoint is due when what has to be replayed exceeds a quarter of what has to be loaded. */
#ifndef DUE_BYTES_MIN /* the simulator has its own */
#define DUE_BYTES_MIN SCN_CHECKPOINT_DUE_BYTES
#endif
#define DUE_SHARE 4u
/* When a room closes anyway, a part of that is enough: the next opening is the quicker for it. */
#define LAST_SHARE 4u
#define RETRY_MS 60000u
/* For a room where nothing is committed; a commit looks for itself. */
#define LOOK_MS 5000u
/* After each a worker rests this many times as long as it took: under load 1 MiB is soon gathered, and making
 * checkpoints must not cost more than the edits. */
#define REST 10u
/* Between two looks at whether it is still wanted. */
#define REPLAY_STEP 1000u

#define DAY_MS (UINT64_C(24) * 3600 * 1000)

struct scn_checkpoint_job {
        struct scn_job job;
        struct scn_room *room;
        struct scn_storage *storage;
        struct scn_slice name; /* the room's, which outlives the job */
        struct scn_document_options options;
        int64_t now_us;
        uint64_t began_ms;
        uint64_t gathered_bytes; /* when it began */
        uint64_t memory_bytes;   /* of the document that it was made of; 0: not known */
        atomic_bool is_cancelled;
        uint64_t bytes; /* of the checkpoint */
        scn_revision revision;
        struct scn_storage_fault damaged;
        enum scn_error error;
        struct scn_storage_fault fault;
};

static bool is_cancelled(struct scn_checkpoint_job *job)
{
        return atomic_load_explicit(&job->is_cancelled, memory_order_relaxed);
}

/* To the end of the journal as it was at the beginning: the room may add to it faster than we like. */
static enum scn_error replay(struct scn_checkpoint_job *job, struct scn_journal *journal, struct scn_document *document)
{
        struct scn_journal_state state;
        enum scn_error error = scn_journal_state(journal, &state, &job->fault);
        while (error == SCN_OK && scn_document_revision(document) < state.last_revision && !is_cancelled(job)) {
                const scn_revision next = scn_document_revision(document) + REPLAY_STEP;
                const scn_revision to = next < state.last_revision ? next : state.last_revision;
                error = scn_replay(journal, document, to, &job->fault);
                if (error == SCN_OK && scn_document_revision(document) < to) {
                        error = SCN_E_CORRUPT;
                }
        }
        return error;
}

static enum scn_error write_parts(
        struct scn_checkpoint_job *job, struct scn_checkpoint_writer *writer, const struct scn_document *document)
{
        struct scn_checkpoint_encoder *encoder = scn_checkpoint_encoder_create(document);
        const struct scn_digests digests = scn_document_digests(document);
        struct scn_slice part = {NULL, 0};
        enum scn_error error = encoder == NULL ? SCN_E_NO_MEMORY : scn_checkpoint_encoder_next(encoder, &part);
        while (error == SCN_OK && part.data != NULL && !is_cancelled(job)) {
                job->bytes += part.size;
                error = scn_checkpoint_writer_append(writer, part, &job->fault);
                error = error == SCN_OK ? scn_checkpoint_encoder_next(encoder, &part) : error;
        }
        scn_checkpoint_encoder_destroy(encoder);
        if (error != SCN_OK || is_cancelled(job)) {
                return error;
        }
        job->revision = scn_document_revision(document);
        return scn_checkpoint_writer_finish(
                writer, (struct scn_slice){(const uint8_t *)&digests, sizeof digests}, &job->fault);
}

static enum scn_error write_checkpoint(
        struct scn_checkpoint_job *job, struct scn_journal *journal, const struct scn_document *document)
{
        struct scn_checkpoint_writer *writer = NULL;
        enum scn_error error = scn_checkpoint_writer_create(
                journal, scn_document_revision(document), job->now_us, &writer, &job->fault);
        if (error == SCN_OK) {
                error = write_parts(job, writer, document);
        }
        scn_checkpoint_writer_destroy(writer);
        return error;
}

static enum scn_error thin(struct scn_checkpoint_job *job, struct scn_journal *journal)
{
        enum scn_error error = SCN_OK;
        bool is_done = false;
        while (error == SCN_OK && !is_done && !is_cancelled(job)) {
                error = scn_checkpoint_thin(journal, &is_done, &job->fault);
        }
        return error;
}

static void run_checkpoint(struct scn_job *base)
{
        struct scn_checkpoint_job *job = (struct scn_checkpoint_job *)base;
        struct scn_journal *journal = NULL;
        struct scn_document *document = NULL;
        job->error = scn_journal_open(job->storage, job->name, NULL, &journal, &job->fault);
        if (job->error != SCN_OK) {
                return;
        }
        job->error =
                scn_document_restore(journal, &job->options, SCN_REVISION_MAX, &document, &job->damaged, &job->fault);
        if (job->error == SCN_OK) {
                job->error = replay(job, journal, document);
        }
        if (job->error == SCN_OK && !is_cancelled(job)) {
                job->error = write_checkpoint(job, journal, document);
        }
        if (job->error == SCN_OK && job->revision > 0) {
                job->error = thin(job, journal);
        }
        job->memory_bytes = job->error == SCN_OK ? scn_document_bytes(document) : 0;
        scn_document_destroy(document);
        scn_journal_close(journal);
}

static void done_checkpoint(struct scn_job *base)
{
        struct scn_checkpoint_job *job = (struct scn_checkpoint_job *)base;
        struct scn_room *room = job->room;
        room->checkpoint = NULL;
        room->server->checkpoint_jobs_count--;
        if (job->revision > 0) {
                room->checkpoint_bytes = job->bytes;
                room->gathered_bytes -= job->gathered_bytes;
                if (job->memory_bytes > 0) {
                        room->memory_bytes = job->memory_bytes + room->gathered_bytes;
                }
                room->has_damaged_checkpoint = false;
                const uint64_t now_ms = scn_server_now_ms(room->server);
                room->checkpoint_retry_ms = now_ms + REST * (now_ms - job->began_ms);
        }
        if (job->error != SCN_OK) {
                room->checkpoint_retry_ms = scn_server_now_ms(room->server) + RETRY_MS;
                scn_server_log(room->server, SCN_LOG_WARNING, "document %.*s: checkpoint: %s: %s", (int)room->name.size,
                        (const char *)room->name.data, scn_error_text(job->error), job->fault.text);
        } else if (job->revision > 0) {
                scn_server_log(room->server, SCN_LOG_DEBUG, "document %.*s: checkpoint of revision %llu, %llu bytes",
                        (int)room->name.size, (const char *)room->name.data, (unsigned long long)job->revision,
                        (unsigned long long)job->bytes);
        }
        scn_free(job);
        scn_room_tick(room);
}

static bool is_due(const struct scn_room *room, bool is_last)
{
        const uint64_t share = room->checkpoint_bytes / DUE_SHARE;
        const uint64_t due = share > DUE_BYTES_MIN ? share : DUE_BYTES_MIN;
        return room->durable > 0 &&
                (room->has_damaged_checkpoint || room->gathered_bytes > (is_last ? due / LAST_SHARE : due));
}

bool scn_room_checkpoint(struct scn_room *room, bool is_last)
{
        struct scn_server *server = room->server;
        const struct scn_server_options *options = &server->options;
        if (room->checkpoint != NULL) {
                return true;
        }
        /* One that is about to be replaced has been told to stop making them. */
        if (room->state != SCN_ROOM_OPEN || room->is_broken || !room->has_epoch || server->is_stopping ||
                server->is_low || scn_adopt_is_replacing(server, room->name) || !is_due(room, is_last) ||
                server->checkpoint_jobs_count >= SCN_CHECKPOINT_JOBS_MAX ||
                scn_server_now_ms(server) < room->checkpoint_retry_ms) {
                return false;
        }
        struct scn_checkpoint_job *job = scn_alloc_zero(1, sizeof *job);
        if (job == NULL) {
                return false;
        }
        job->job = (struct scn_job){.run = run_checkpoint, .done = done_checkpoint};
        job->room = room;
        job->storage = server->storage;
        job->name = room->name;
        job->options = (struct scn_document_options){.limits = options->limits, .random = scn_document_no_random};
        options->random(options->data, (uint8_t *)&job->options.hash_seed, sizeof job->options.hash_seed);
        job->now_us = (int64_t)options->utc_us(options->data);
        job->began_ms = scn_server_now_ms(server);
        job->gathered_bytes = room->gathered_bytes;
        atomic_init(&job->is_cancelled, false);
        room->checkpoint = job;
        server->checkpoint_jobs_count++;
        scn_server_note_reader(server);
        options->submit(options->data, &job->job);
        return true;
}

void scn_room_cancel_checkpoint(struct scn_room *room)
{
        if (room->checkpoint != NULL) {
                atomic_store_explicit(&room->checkpoint->is_cancelled, true, memory_order_relaxed);
        }
}

/* --- The reserve --- */

struct look_job {
        struct scn_job job;
        struct scn_server *server;
        uint64_t free_bytes;
        enum scn_error error;
};

static void run_look(struct scn_job *base)
{
        struct look_job *job = (struct look_job *)base;
        job->error = scn_storage_free_bytes(job->server->storage, &job->free_bytes, NULL);
}

static void note_free(struct scn_server *server, enum scn_error error, uint64_t free_bytes)
{
        const unsigned long long free_mib = free_bytes >> 20;
        const unsigned long long reserve_mib = server->options.reserve_bytes >> 20;
        /* If it cannot be known, what is written will tell. */
        const bool is_low = error == SCN_OK && free_bytes < server->options.reserve_bytes;
        server->above_reserve = error != SCN_OK ? UINT64_MAX : is_low ? 0 : free_bytes - server->options.reserve_bytes;
        server->is_low = is_low;
        if (is_low != server->was_low) {
                server->was_low = is_low;
                scn_server_log(server, is_low ? SCN_LOG_ERROR : SCN_LOG_INFO,
                        is_low ? "disk: %llu MiB are free, less than the reserve of %llu MiB: no edits for now"
                               : "disk: %llu MiB are free, the reserve is %llu MiB: edits are taken again",
                        free_mib, reserve_mib);
        }
}

static void done_look(struct scn_job *base)
{
        struct look_job *job = (struct look_job *)base;
        job->server->jobs_count--;
        job->server->is_looking = false;
        note_free(job->server, job->error, job->free_bytes);
        scn_free(job);
}

void scn_server_look_at_disk(struct scn_server *server)
{
        uint64_t free_bytes = 0;
        if (server->options.reserve_bytes > 0) {
                const enum scn_error error = scn_storage_free_bytes(server->storage, &free_bytes, NULL);
                note_free(server, error, free_bytes);
        }
}

/* At each tick: what other programs write counts, too. */
static void look(struct scn_server *server)
{
        const struct scn_server_options *options = &server->options;
        if (options->reserve_bytes == 0 || server->is_looking) {
                return;
        }
        struct look_job *job = scn_alloc_zero(1, sizeof *job);
        if (job == NULL) {
                return; /* later */
        }
        *job = (struct look_job){.job = {.run = run_look, .done = done_look}, .server = server};
        server->is_looking = true;
        server->jobs_count++;
        options->submit(options->data, &job->job);
}

/* What a commit takes of the disk at most, about: the rows in the file, in the write-ahead file, and pages around
 * them. */
#define COMMIT_COST(bytes) (4 * (bytes) + (64u << 10))

void scn_server_spend(struct scn_server *server, uint64_t bytes)
{
        const uint64_t cost = COMMIT_COST(bytes);
        if (server->options.reserve_bytes == 0 || server->is_low) {
                return;
        }
        if (server->above_reserve > cost) {
                server->above_reserve -= cost;
        } else {
                server->is_low = true;
                look(server);
        }
}

void scn_room_gather(struct scn_room *room, uint64_t bytes)
{
        room->gathered_bytes += bytes;
        room->look_at_ms = scn_server_now_ms(room->server) + LOOK_MS;
        room->memory_bytes += bytes; /* a document grows by no more than its journal; a checkpoint tells */
        scn_server_spend(room->server, bytes);
        (void)scn_room_checkpoint(room, false);
}

bool scn_room_has_readers(const struct scn_room *room)
{
        const struct scn_server *server = room->server;
        return server->history_jobs_count[SCN_HISTORY_QUESTION] > 0 ||
                server->history_jobs_count[SCN_HISTORY_STEP] > 0 || server->backups_count > 0 || server->has_listing ||
                room->checkpoint != NULL || scn_room_has_history_piece(room);
}

/* SQLite can use the file from its beginning again only when nobody reads what is in it. Our own readers end by
 * themselves; a shell that somebody has left open does not. */
void scn_room_note_wal(struct scn_room *room, const struct scn_journal_wal *wal, bool was_alone)
{
        const int size = (int)room->name.size;
        const char *name = (const char *)room->name.data;
        const unsigned long long mib = wal->bytes >> 20;
        const bool is_held = wal->bytes > SCN_JOURNAL_WAL_BYTES_MAX && wal->held_count > room->wal_held_count;
        room->wal_held_count = wal->held_count;
        if (is_held && was_alone && room->wal_said != SCN_WAL_SAID_WHOSE) {
                room->wal_said = SCN_WAL_SAID_WHOSE;
                scn_server_log(room->server, SCN_LOG_WARNING,
                        "document %.*s: its write-ahead file has %llu MiB: another program keeps reading the document",
                        size, name, mib);
        } else if (is_held && room->wal_said == SCN_WAL_SAID_NOTHING) {
                room->wal_said = SCN_WAL_SAID_LARGE;
                scn_server_log(room->server, SCN_LOG_INFO,
                        "document %.*s: its write-ahead file has %llu MiB, until what reads the document has ended",
                        size, name, mib);
        } else if (room->wal_said != SCN_WAL_SAID_NOTHING && wal->bytes < SCN_JOURNAL_WAL_BYTES_MAX / 2) {
                room->wal_said = SCN_WAL_SAID_NOTHING;
                scn_server_log(
                        room->server, SCN_LOG_INFO, "document %.*s: its write-ahead file is short again", size, name);
        }
}

/* --- On the room's own handle --- */

enum piece {
        PIECE_EPOCH,
        PIECE_FORGET,
        PIECE_LOOK,
        PIECE_COUNT,
};

struct piece_job {
        struct scn_job job;
        struct scn_room *room;
        enum piece piece;
        int64_t now_us;
        bool is_done;
        struct scn_journal *journal; /* opened for writing in place of the room's */
        enum scn_error error;
        struct scn_storage_fault fault;
};

/* Perhaps there is room to open it by now. */
static enum scn_error reopen(struct piece_job *job)
{
        const struct scn_room *room = job->room;
        struct scn_journal_state state;
        enum scn_error error = scn_journal_open(room->server->storage, room->name, NULL, &job->journal, &job->fault);
        if (error == SCN_OK) {
                error = scn_journal_state(job->journal, &state, &job->fault);
        }
        if (error == SCN_OK && state.last_revision != room->durable) {
                error = SCN_E_OUTCOME_UNKNOWN;
                (void)snprintf(job->fault.text, sizeof job->fault.text, "the file is not the one that was read");
        }
        return error;
}

static void run_piece(struct scn_job *base)
{
        struct piece_job *job = (struct piece_job *)base;
        const struct scn_room *room = job->room;
        if (job->piece == PIECE_LOOK) {
                job->error = scn_journal_look(room->journal, &job->fault);
                return;
        }
        if (job->piece == PIECE_FORGET) {
                job->error = scn_journal_forget_clients(room->journal, job->now_us, &job->is_done, &job->fault);
                return;
        }
        job->error = room->is_still ? reopen(job) : SCN_OK;
        if (job->journal != NULL) {
                scn_journal_close(room->journal);
        }
        if (job->error == SCN_OK) {
                struct scn_journal *journal = job->journal != NULL ? job->journal : room->journal;
                job->error = scn_journal_begin_epoch(journal, room->epoch, job->now_us, &job->fault);
        }
}

static void log_piece(const struct piece_job *job)
{
        const struct scn_room *room = job->room;
        static const char *const names[PIECE_COUNT] = {"epoch", "clients", "look"};
        const bool is_epoch = job->piece == PIECE_EPOCH;
        if (is_epoch && job->error == SCN_OK) {
                scn_server_log(room->server, SCN_LOG_INFO, "document %.*s: can be edited again", (int)room->name.size,
                        (const char *)room->name.data);
        } else if (job->error != SCN_OK && (!is_epoch || job->error != SCN_E_STORAGE_FULL)) {
                scn_server_log(room->server, SCN_LOG_WARNING, "document %.*s: %s: %s: %s", (int)room->name.size,
                        (const char *)room->name.data, names[job->piece], scn_error_text(job->error), job->fault.text);
        }
}

static void done_piece(struct scn_job *base)
{
        struct piece_job *job = (struct piece_job *)base;
        struct scn_room *room = job->room;
        const uint64_t now_ms = scn_server_now_ms(room->server);
        room->jobs_count--;
        if (job->journal != NULL) {
                room->journal = job->journal;
                room->is_still = false;
        }
        log_piece(job);
        if (job->piece == PIECE_EPOCH) {
                room->has_epoch = job->error == SCN_OK;
        } else if (job->piece == PIECE_LOOK) {
                room->look_at_ms = now_ms + LOOK_MS;
        } else if (job->error != SCN_OK) {
                room->forget_at_ms = now_ms + RETRY_MS;
        } else if (job->is_done) {
                room->forget_at_ms = now_ms + DAY_MS;
        }
        if (job->error == SCN_E_OUTCOME_UNKNOWN) {
                scn_room_break(room, job->fault.text);
        }
        scn_free(job);
        scn_room_greet(room);
        scn_room_ask_repeats(room);
        scn_room_tick(room);
}

static void submit_piece(struct scn_room *room, enum piece piece)
{
        const struct scn_server_options *options = &room->server->options;
        struct piece_job *job = scn_alloc_zero(1, sizeof *job);
        if (job == NULL) {
                return; /* later */
        }
        *job = (struct piece_job){
                .job = {.run = run_piece, .done = done_piece},
                .room = room,
                .piece = piece,
                .now_us = (int64_t)options->utc_us(options->data),
        };
        room->jobs_count++;
        options->submit(options->data, &job->job);
}

static void do_piece(struct scn_room *room)
{
        if (!scn_room_is_settled(room) || room->jobs_count > 0) {
                return;
        }
        if (!room->has_epoch) {
                submit_piece(room, PIECE_EPOCH);
        } else if (scn_server_now_ms(room->server) >= room->forget_at_ms) {
                submit_piece(room, PIECE_FORGET);
        } else if (scn_server_now_ms(room->server) >= room->look_at_ms) {
                submit_piece(room, PIECE_LOOK);
        }
}

/* --- The trash --- */

struct purge_job {
        struct scn_job job;
        struct scn_server *server;
        int64_t now_us;
        uint32_t removed_count;
        enum scn_error error;
        struct scn_storage_fault fault;
};

static void run_purge(struct scn_job *base)
{
        struct purge_job *job = (struct purge_job *)base;
        job->error = scn_storage_purge(job->server->storage, job->now_us, &job->removed_count, &job->fault);
}

static void done_purge(struct scn_job *base)
{
        struct purge_job *job = (struct purge_job *)base;
        job->server->jobs_count--;
        if (job->error != SCN_OK) {
                scn_server_log(
                        job->server, SCN_LOG_WARNING, "trash: %s: %s", scn_error_text(job->error), job->fault.text);
        } else if (job->removed_count > 0) {
                scn_server_log(job->server, SCN_LOG_INFO, "trash: %u documents removed for good", job->removed_count);
        }
        scn_free(job);
}

static void purge(struct scn_server *server)
{
        const struct scn_server_options *options = &server->options;
        struct purge_job *job = scn_alloc_zero(1, sizeof *job);
        if (job == NULL) {
                return; /* later */
        }
        *job = (struct purge_job){
                .job = {.run = run_purge, .done = done_purge},
                .server = server,
                .now_us = (int64_t)options->utc_us(options->data),
        };
        server->purge_at_ms = scn_server_now_ms(server) + DAY_MS;
        server->jobs_count++;
        options->submit(options->data, &job->job);
}

void scn_server_upkeep(struct scn_server *server)
{
        if (server->is_stopping) {
                return;
        }
        look(server);
        if (scn_server_now_ms(server) >= server->purge_at_ms) {
                purge(server);
        }
        for (struct scn_room *room = server->rooms; room != NULL; room = room->next) {
                do_piece(room);
                scn_room_upkeep_history(room);
        }
}
