/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/memory.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"

#include <string.h>

struct scn_past {
        struct scn_past *next; /* of the room */
        struct scn_document *document;
        scn_revision revision;
        size_t bytes;
        uint64_t used_ms;
        uint32_t users;  /* questions that read it */
        bool is_dropped; /* no room has it any more: it goes with the last of them */
};

static uint64_t budget(const struct scn_server *server)
{
        const uint64_t wanted = server->options.memory_bytes_max;
        return wanted != 0 ? wanted : SCN_MEMORY_BYTES_MAX;
}

/* --- Documents of the past --- */

struct discard_job {
        struct scn_job job;
        struct scn_server *server;
        struct scn_document *document;
};

static void run_discard(struct scn_job *base)
{
        scn_document_destroy(((struct discard_job *)base)->document);
}

static void done_discard(struct scn_job *base)
{
        ((struct discard_job *)base)->server->jobs_count--;
        scn_free(base);
}

void scn_memory_discard(struct scn_server *server, struct scn_document *document)
{
        const bool is_large = document != NULL && scn_document_nodes_count(document) > SCN_DISCARD_NODES;
        struct discard_job *job = is_large ? scn_alloc_zero(1, sizeof *job) : NULL;
        if (job == NULL) {
                scn_document_destroy(document);
                return;
        }
        *job = (struct discard_job){
                .job = {.run = run_discard, .done = done_discard}, .server = server, .document = document};
        server->jobs_count++;
        server->options.submit(server->options.data, &job->job);
}

static void destroy(struct scn_server *server, struct scn_past *past)
{
        scn_memory_discard(server, past->document);
        scn_free(past);
}

static struct scn_past *take_out(struct scn_room *room, struct scn_past **at)
{
        struct scn_past *past = *at;
        *at = past->next;
        room->past_count--;
        room->server->past_bytes -= past->bytes;
        return past;
}

static void drop(struct scn_room *room, struct scn_past **at)
{
        struct scn_past *past = take_out(room, at);
        past->is_dropped = true;
        if (past->users == 0) {
                destroy(room->server, past);
        }
}

void scn_past_drop(struct scn_room *room)
{
        room->past_drops_count++;
        while (room->past != NULL) {
                drop(room, &room->past);
        }
}

void scn_past_tick(struct scn_room *room)
{
        const uint64_t now_ms = scn_server_now_ms(room->server);
        for (struct scn_past **at = &room->past; *at != NULL;) {
                if ((*at)->users == 0 && now_ms - (*at)->used_ms >= SCN_PAST_IDLE_MS) {
                        drop(room, at);
                } else {
                        at = &(*at)->next;
                }
        }
}

/* The one nearest before the revision that nobody reads. */
static struct scn_past **find_base(struct scn_room *room, scn_revision wanted)
{
        struct scn_past **best = NULL;
        for (struct scn_past **at = &room->past; *at != NULL; at = &(*at)->next) {
                const scn_revision revision = (*at)->revision;
                if ((*at)->users == 0 && revision < wanted && wanted - revision <= SCN_PAST_LEAD_MAX &&
                        (best == NULL || revision > (*best)->revision)) {
                        best = at;
                }
        }
        return best;
}

void scn_past_lend(struct scn_room *room, scn_revision wanted, struct scn_past_loan *loan)
{
        *loan = (struct scn_past_loan){.epoch = room->epoch, .drops_count = room->past_drops_count};
        for (struct scn_past *past = room->past; past != NULL; past = past->next) {
                if (wanted == SCN_ABSENT || past->revision == wanted) {
                        past->users++;
                        loan->lent[loan->lent_count++] = past;
                }
        }
        struct scn_past **base = wanted == SCN_ABSENT || loan->lent_count > 0 ? NULL : find_base(room, wanted);
        if (base != NULL) {
                struct scn_past *taken = take_out(room, base);
                loan->base = taken->document;
                scn_free(taken);
        }
}

const struct scn_document *scn_past_find(const struct scn_past_loan *loan, scn_revision revision)
{
        for (size_t i = 0; i < loan->lent_count; i++) {
                if (loan->lent[i]->revision == revision) {
                        return loan->lent[i]->document;
                }
        }
        return NULL;
}

void scn_past_keep(struct scn_past_loan *loan, struct scn_document *document)
{
        SCN_ASSERT(loan->made == NULL);
        loan->made = document;
        loan->revision = scn_document_revision(document);
        loan->made_bytes = scn_document_bytes(document);
}

/* The one that was used longest ago, of all rooms; of those that are read nothing is won. */
static bool drop_oldest(struct scn_server *server)
{
        struct scn_room *room_of = NULL;
        struct scn_past **oldest = NULL;
        for (struct scn_room *room = server->rooms; room != NULL; room = room->next) {
                for (struct scn_past **at = &room->past; *at != NULL; at = &(*at)->next) {
                        if ((*at)->users == 0 && (oldest == NULL || (*at)->used_ms < (*oldest)->used_ms)) {
                                oldest = at;
                                room_of = room;
                        }
                }
        }
        if (oldest != NULL) {
                drop(room_of, oldest);
        }
        return oldest != NULL;
}

static bool has_room_for(struct scn_room *room, size_t bytes)
{
        struct scn_server *server = room->server;
        const uint64_t max = budget(server) / SCN_PAST_SHARE;
        bool is_won = bytes <= max;
        while (is_won && server->past_bytes + bytes > max) {
                is_won = drop_oldest(server);
        }
        return is_won && room->past_count < SCN_PAST_PER_ROOM_MAX;
}

/* The room's own that was used longest ago makes way for another. */
static void make_way(struct scn_room *room)
{
        struct scn_past **oldest = NULL;
        for (struct scn_past **at = &room->past; *at != NULL; at = &(*at)->next) {
                if ((*at)->users == 0 && (oldest == NULL || (*at)->used_ms < (*oldest)->used_ms)) {
                        oldest = at;
                }
        }
        if (oldest != NULL && room->past_count >= SCN_PAST_PER_ROOM_MAX) {
                drop(room, oldest);
        }
}

static bool has_past(const struct scn_room *room, scn_revision revision)
{
        const struct scn_past *past = room->past;
        while (past != NULL && past->revision != revision) {
                past = past->next;
        }
        return past != NULL;
}

static void keep(struct scn_room *room, struct scn_past_loan *loan)
{
        make_way(room);
        if (has_past(room, loan->revision) || !has_room_for(room, loan->made_bytes)) {
                return;
        }
        struct scn_past *past = scn_alloc_zero(1, sizeof *past);
        if (past == NULL) {
                return;
        }
        *past = (struct scn_past){
                .next = room->past,
                .document = loan->made,
                .revision = loan->revision,
                .bytes = loan->made_bytes,
                .used_ms = scn_server_now_ms(room->server),
        };
        room->past = past;
        room->past_count++;
        room->server->past_bytes += past->bytes;
        loan->made = NULL;
}

void scn_past_return(struct scn_server *server, struct scn_room *room, struct scn_past_loan *loan)
{
        const bool is_there = room != NULL && room->epoch == loan->epoch && room->state == SCN_ROOM_OPEN;
        for (size_t i = 0; i < loan->lent_count; i++) {
                struct scn_past *past = loan->lent[i];
                past->users--;
                if (past->is_dropped && past->users == 0) {
                        destroy(server, past);
                } else if (is_there) {
                        past->used_ms = scn_server_now_ms(room->server);
                }
        }
        if (is_there && loan->made != NULL && loan->drops_count == room->past_drops_count) {
                keep(room, loan);
        }
        scn_memory_discard(server, loan->made);
        scn_memory_discard(server, loan->base);
        *loan = (struct scn_past_loan){.epoch = 0};
}

/* --- The budget --- */

static uint64_t bytes_of_rooms(const struct scn_server *server)
{
        uint64_t bytes = 0;
        for (const struct scn_room *room = server->rooms; room != NULL; room = room->next) {
                bytes += room->memory_bytes;
        }
        return bytes;
}

/* The room without sessions that has been so for longest. */
static struct scn_room *find_idle(const struct scn_server *server)
{
        struct scn_room *idle = NULL;
        for (struct scn_room *room = server->rooms; room != NULL; room = room->next) {
                if (room->state == SCN_ROOM_OPEN && scn_room_is_unused(room) &&
                        (idle == NULL || room->idle_since_ms < idle->idle_since_ms)) {
                        idle = room;
                }
        }
        return idle;
}

bool scn_memory_claim(struct scn_server *server)
{
        bool is_won = true;
        while (bytes_of_rooms(server) + server->past_bytes >= budget(server) && is_won) {
                struct scn_room *idle = NULL;
                is_won = drop_oldest(server);
                if (!is_won) {
                        idle = find_idle(server);
                        is_won = idle != NULL && scn_room_close(idle);
                }
        }
        return is_won;
}
