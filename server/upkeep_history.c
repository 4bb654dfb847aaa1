/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Old history becomes shorter, on workers: what is older than one age is folded (fold.h), what is older than another
 * is dropped.
 *
 * A few windows at a time, with a journal handle and a document of its own, and then a rest: each window is one short
 * commit, which is all that an edit can have to wait for. One document after the other, so that no more than one has
 * a second copy in memory. */

#include "protocol/base/alloc.h"
#include "server/adopt.h"
#include "server/core.h"
#include "server/fold.h"
#include "server/memory.h"

#include <stdatomic.h>
#include <string.h>

#define WINDOWS 8u   /* in one piece */
#define REST 10u     /* after a piece: so many times as long as it took */
#define AGE_SHARE 8u /* of an age, between two looks at what has reached it; but not ... */
#define LOOK_MS_MIN 1000u
#define LOOK_MS_MAX (3600u * 1000u)
#define RETRY_MS 60000u

struct scn_history_upkeep {
        struct scn_job job;
        struct scn_room *room;
        struct scn_storage *storage;
        struct scn_slice name; /* the room's, which outlives it */
        struct scn_folder *folder;
        int64_t fold_before_us; /* INT64_MIN: nothing is to be folded, or dropped */
        int64_t keep_from_us;
        uint64_t began_ms;
        bool is_running;
        atomic_bool is_cancelled;
        /* Of the piece. */
        bool is_done;
        uint32_t windows, refuted;
        uint32_t transactions;
        uint64_t dropped;
        struct scn_journal_state state; /* behind it */
        enum scn_error error;
        struct scn_storage_fault fault;
};

static bool is_cancelled(struct scn_history_upkeep *upkeep)
{
        return atomic_load_explicit(&upkeep->is_cancelled, memory_order_relaxed);
}

static enum scn_error fold(struct scn_history_upkeep *upkeep, struct scn_journal *journal, bool *is_done_out)
{
        scn_revision to = 0;
        enum scn_error error = scn_fold_limit(journal, upkeep->fold_before_us, &to, &upkeep->fault);
        *is_done_out = false;
        for (uint32_t i = 0; i < WINDOWS && error == SCN_OK && !*is_done_out && !is_cancelled(upkeep); i++) {
                struct scn_folded folded;
                error = scn_folder_step(upkeep->folder, journal, to, &folded, &upkeep->fault);
                *is_done_out = error == SCN_OK && folded.last == 0;
                upkeep->windows += error == SCN_OK && folded.last != 0;
                upkeep->transactions += folded.transactions;
                upkeep->refuted += folded.is_refuted;
        }
        return error;
}

static void run(struct scn_job *base)
{
        struct scn_history_upkeep *upkeep = (struct scn_history_upkeep *)base;
        struct scn_journal *journal = NULL;
        bool is_folded = true;
        bool is_dropped = true;
        upkeep->error = scn_journal_open(upkeep->storage, upkeep->name, NULL, &journal, &upkeep->fault);
        if (upkeep->error == SCN_OK && upkeep->keep_from_us != INT64_MIN) {
                upkeep->error = scn_journal_retain(
                        journal, upkeep->keep_from_us, &upkeep->dropped, &is_dropped, &upkeep->fault);
        }
        if (upkeep->error == SCN_OK && upkeep->fold_before_us != INT64_MIN) {
                upkeep->error = fold(upkeep, journal, &is_folded);
        }
        if (upkeep->error == SCN_OK) {
                upkeep->error = scn_journal_state(journal, &upkeep->state, &upkeep->fault);
        }
        upkeep->is_done = is_folded && is_dropped;
        scn_journal_close(journal);
}

/* --- On the loop --- */

static void destroy(struct scn_history_upkeep *upkeep)
{
        upkeep->room->history_upkeep = NULL;
        upkeep->room->server->has_history_upkeep = false;
        scn_folder_destroy(upkeep->folder);
        scn_free(upkeep);
}

static uint64_t look_ms(const struct scn_server *server)
{
        const uint64_t fold_s = server->options.fold_age_s;
        const uint64_t keep_s = server->options.keep_age_s;
        const uint64_t age_s = keep_s == 0 || (fold_s != 0 && fold_s < keep_s) ? fold_s : keep_s;
        const uint64_t ms = age_s < LOOK_MS_MAX ? age_s * 1000 / AGE_SHARE : LOOK_MS_MAX;
        return ms < LOOK_MS_MIN ? LOOK_MS_MIN : ms > LOOK_MS_MAX ? LOOK_MS_MAX : ms;
}

static void log_piece(const struct scn_history_upkeep *upkeep)
{
        const struct scn_room *room = upkeep->room;
        const int size = (int)room->name.size;
        const char *name = (const char *)room->name.data;
        if (upkeep->error != SCN_OK) {
                scn_server_log(room->server, SCN_LOG_WARNING, "document %.*s: folding: %s: %s", size, name,
                        scn_error_text(upkeep->error), upkeep->fault.text);
        }
        if (upkeep->refuted > 0) {
                scn_server_log(room->server, SCN_LOG_WARNING,
                        "document %.*s: %u windows of history would not have led to the same when folded: they stay",
                        size, name, upkeep->refuted);
        }
        if (upkeep->transactions > 0 || upkeep->dropped > 0) {
                scn_server_log(room->server, SCN_LOG_DEBUG,
                        "document %.*s: %u transactions folded in %u windows, %llu dropped", size, name,
                        upkeep->transactions, upkeep->windows, (unsigned long long)upkeep->dropped);
        }
}

/* For whoever asks what has become of the history. */
static void note_piece(struct scn_room *room, const struct scn_history_upkeep *upkeep)
{
        room->counters.folded += upkeep->transactions;
        room->counters.dropped += upkeep->dropped;
        if (upkeep->transactions > 0) {
                room->folded_us = room->server->options.utc_us(room->server->options.data);
        }
        if (upkeep->error == SCN_OK) {
                room->base = upkeep->state.base;
                room->folded_to = upkeep->state.judged;
        }
}

static void done(struct scn_job *base)
{
        struct scn_history_upkeep *upkeep = (struct scn_history_upkeep *)base;
        struct scn_room *room = upkeep->room;
        const uint64_t now_ms = scn_server_now_ms(room->server);
        upkeep->is_running = false;
        log_piece(upkeep);
        note_piece(room, upkeep);
        /* What was made of the past is one of within what has been folded now, or of before what is kept. */
        if (upkeep->transactions > 0 || upkeep->dropped > 0) {
                scn_past_drop(room);
        }
        room->history_upkeep_ms = now_ms + REST * (now_ms - upkeep->began_ms);
        if (upkeep->error != SCN_OK) {
                room->history_upkeep_ms = now_ms + RETRY_MS;
        } else if (upkeep->is_done) {
                room->history_upkeep_ms = now_ms + look_ms(room->server);
        }
        if (upkeep->error != SCN_OK || upkeep->is_done || is_cancelled(upkeep)) {
                destroy(upkeep);
        }
        scn_room_tick(room);
}

static struct scn_history_upkeep *create(struct scn_room *room)
{
        struct scn_server *server = room->server;
        const struct scn_server_options *options = &server->options;
        struct scn_history_upkeep *upkeep = scn_alloc_zero(1, sizeof *upkeep);
        struct scn_document_options document = {.limits = options->limits, .random = scn_document_no_random};
        if (upkeep == NULL) {
                return NULL;
        }
        options->random(options->data, (uint8_t *)&document.hash_seed, sizeof document.hash_seed);
        upkeep->job = (struct scn_job){.run = run, .done = done};
        upkeep->room = room;
        upkeep->storage = server->storage;
        upkeep->name = room->name;
        atomic_init(&upkeep->is_cancelled, false);
        upkeep->folder = scn_folder_create(&document);
        if (upkeep->folder == NULL) {
                scn_free(upkeep);
                return NULL;
        }
        room->history_upkeep = upkeep;
        server->has_history_upkeep = true;
        return upkeep;
}

/* The time that lies so long back. */
static int64_t before_us(const struct scn_server *server, uint64_t age_s)
{
        const uint64_t now_us = server->options.utc_us(server->options.data);
        return age_s == 0 || age_s > now_us / 1000000 ? INT64_MIN : (int64_t)(now_us - age_s * 1000000);
}

static bool may_begin(const struct scn_room *room)
{
        const struct scn_server_options *options = &room->server->options;
        return (options->fold_age_s != 0 || options->keep_age_s != 0) && room->state == SCN_ROOM_OPEN &&
                !room->is_broken && room->has_epoch && !room->is_still && room->durable > 0 &&
                !scn_adopt_is_replacing(room->server, room->name) &&
                scn_server_now_ms(room->server) >= room->history_upkeep_ms;
}

void scn_room_upkeep_history(struct scn_room *room)
{
        struct scn_server *server = room->server;
        struct scn_history_upkeep *upkeep = room->history_upkeep;
        if (!may_begin(room) || (upkeep == NULL && server->has_history_upkeep) ||
                (upkeep != NULL && (upkeep->is_running || is_cancelled(upkeep)))) {
                return;
        }
        upkeep = upkeep == NULL ? create(room) : upkeep;
        if (upkeep == NULL) {
                return; /* later */
        }
        upkeep->fold_before_us = before_us(server, server->options.fold_age_s);
        upkeep->keep_from_us = before_us(server, server->options.keep_age_s);
        upkeep->began_ms = scn_server_now_ms(server);
        upkeep->windows = upkeep->refuted = upkeep->transactions = 0;
        upkeep->dropped = 0;
        upkeep->error = SCN_OK;
        upkeep->is_running = true;
        scn_server_note_reader(server);
        server->options.submit(server->options.data, &upkeep->job);
}

bool scn_room_has_history_piece(const struct scn_room *room)
{
        return room->history_upkeep != NULL && room->history_upkeep->is_running;
}

bool scn_room_cancel_history_upkeep(struct scn_room *room)
{
        struct scn_history_upkeep *upkeep = room->history_upkeep;
        if (upkeep != NULL && !upkeep->is_running) {
                destroy(upkeep);
                upkeep = NULL;
        }
        if (upkeep != NULL) {
                atomic_store_explicit(&upkeep->is_cancelled, true, memory_order_relaxed);
        }
        return upkeep == NULL;
}
