/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* A connection: two pipes with room for some bytes, out of which pieces of any size arrive at some time. The server's
 * end is driven as server/net does it, the client's as its socket. */

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "tests/sim/sim.h"

#include <string.h>

#define HALF_OPEN_US (40 * (uint64_t)SIM_S)

static void init_pipe(struct sim *sim, struct sim_pipe *pipe)
{
        pipe->capacity = 1 + sim_below(sim, sim->climate.pipe_max);
        pipe->bytes = scn_alloc(pipe->capacity);
        SCN_ASSERT(pipe->bytes != NULL);
        pipe->left = SIZE_MAX;
}

struct sim_link *sim_link_create(struct sim_author *author)
{
        struct sim *sim = author->sim;
        struct sim_link *link = scn_alloc_zero(1, sizeof *link);
        SCN_ASSERT(link != NULL);
        link->sim = sim;
        link->session = scn_session_create(sim->server, link);
        if (link->session == NULL) {
                scn_free(link);
                return NULL;
        }
        link->number = ++sim->links_ever;
        link->author = author;
        link->owner = author;
        link->heard_us = link->taken_us = sim->now_us;
        link->document = author->document;
        link->history = sim->history;
        link->delay_us = 1 + sim_below(sim, sim->climate.delay_us);
        link->chunk_max = 1 + sim_below(sim, sim->climate.chunk_max);
        init_pipe(sim, &link->up);
        init_pipe(sim, &link->down);
        sim_tap_init(link);
        link->next = sim->links;
        sim->links = link;
        return link;
}

static void schedule(struct sim_link *link, uint64_t in_us, enum sim_event_kind kind)
{
        link->events_count++;
        sim_schedule(link->sim, in_us, kind, link, 0);
}

static void schedule_pipe(struct sim_link *link, struct sim_pipe *pipe, enum sim_event_kind kind)
{
        if (!pipe->is_scheduled) {
                const uint64_t now_us = link->sim->now_us;
                const uint32_t delay_us = link->sim->is_ending ? link->delay_us / 20 : link->delay_us;
                uint64_t in_us = 1 + delay_us / 2 + sim_below(link->sim, delay_us + 1);
                if (pipe->stalled_until_us > now_us && !link->sim->is_ending) {
                        in_us = pipe->stalled_until_us - now_us;
                }
                pipe->is_scheduled = true;
                schedule(link, in_us, kind);
        }
}

void sim_link_wake(struct sim_link *link)
{
        schedule_pipe(link, &link->down, SIM_EVENT_DOWN);
        schedule_pipe(link, &link->up, SIM_EVENT_UP);
}

void sim_link_poke(struct sim_link *link)
{
        schedule_pipe(link, &link->up, SIM_EVENT_UP);
}

/* How much arrives at once: mostly a good piece, sometimes hardly anything. */
static size_t piece(struct sim_link *link, size_t available)
{
        struct sim *sim = link->sim;
        const uint32_t most = sim_chance(sim, 15) ? 12 : link->chunk_max;
        const size_t size = 1 + sim_below(sim, most);
        return size < available ? size : available;
}

static void consume(struct sim_pipe *pipe, size_t size)
{
        pipe->size -= size;
        memmove(pipe->bytes, pipe->bytes + size, pipe->size);
        pipe->left -= pipe->left == SIZE_MAX ? 0 : size;
}

static size_t available(const struct sim_pipe *pipe)
{
        return pipe->size < pipe->left ? pipe->size : pipe->left;
}

static bool is_stalled(const struct sim_link *link, const struct sim_pipe *pipe)
{
        return pipe->stalled_until_us > link->sim->now_us && !link->sim->is_ending;
}

/* --- To the server --- */

static void refill_up(struct sim_link *link)
{
        struct sim_pipe *pipe = &link->up;
        if (link->author == NULL || link->is_cut) {
                return;
        }
        const struct scn_slice output = scn_client_output(link->author->client);
        sim_author_learn_numbers(link->author);
        const size_t room = pipe->capacity - pipe->size;
        const size_t most = piece(link, output.size < room ? output.size : room);
        const size_t size = output.size == 0 || room == 0 ? 0 : most;
        if (size > 0) {
                memcpy(pipe->bytes + pipe->size, output.data, size);
                pipe->size += size;
                scn_client_sent(link->author->client, size);
        }
        if (size > 0) {
                schedule_pipe(link, pipe, SIM_EVENT_UP);
        }
}

void sim_link_up(struct sim_link *link)
{
        struct sim_pipe *pipe = &link->up;
        pipe->is_scheduled = false;
        const bool can_arrive =
                link->session != NULL && !is_stalled(link, pipe) && scn_session_wants_input(link->session);
        const size_t size = can_arrive && available(pipe) > 0 ? piece(link, available(pipe)) : 0;
        if (size > 0) {
                uint8_t bytes[65536];
                SCN_ASSERT(size <= sizeof bytes);
                memcpy(bytes, pipe->bytes, size);
                consume(pipe, size);
                sim_note(link->sim, "up", link->author == NULL ? 99 : link->author->index, size, 0);
                link->heard_us = link->sim->now_us;
                sim_tap_up(link, bytes, size);
                scn_session_feed(link->session, bytes, size);
                sim_host_turn_soon(link->sim);
        }
        if (can_arrive && available(pipe) > 0) {
                schedule_pipe(link, pipe, SIM_EVENT_UP);
        }
        refill_up(link);
        if (is_stalled(link, pipe) && pipe->size > 0) {
                schedule_pipe(link, pipe, SIM_EVENT_UP);
        }
}

/* --- To the client --- */

/* The server has closed its end: what it had sent still arrives. */
static void close_server(struct sim_link *link)
{
        sim_claim_let_go(link, false);
        scn_session_destroy(link->session);
        link->session = NULL;
        link->up.left = 0;
        if (!link->is_cut) {
                link->is_cut = true;
                link->down.left = link->down.size;
        }
        sim_note(link->sim, "close", link->author == NULL ? 99 : link->author->index, 0, 0);
        sim_host_turn_soon(link->sim);
}

static void take_output(struct sim_link *link, size_t size)
{
        struct sim_pipe *pipe = &link->down;
        struct scn_slice slices[4];
        const size_t count = scn_session_output(link->session, slices, 4);
        size_t taken = 0;
        for (size_t i = 0; i < count && taken < size; i++) {
                const size_t left = size - taken;
                const size_t part = slices[i].size < left ? slices[i].size : left;
                memcpy(pipe->bytes + pipe->size + taken, slices[i].data, part);
                taken += part;
        }
        const uint8_t *bytes = pipe->bytes + pipe->size;
        if (!scn_session_has_ended(link->session)) {
                link->taken_us = link->sim->now_us;
        }
        sim_tap_down(link, bytes, taken);
        pipe->size += taken;
        scn_session_sent(link->session, taken);
        sim_host_turn_soon(link->sim);
}

static void refill_down(struct sim_link *link)
{
        struct sim_pipe *pipe = &link->down;
        struct scn_slice slice;
        if (link->session == NULL) {
                return;
        }
        const size_t room = pipe->capacity - pipe->size;
        if (room > 0 && scn_session_output(link->session, &slice, 1) > 0) {
                take_output(link, piece(link, room));
        }
        const bool has_output = scn_session_output(link->session, &slice, 1) > 0;
        if (scn_session_has_ended(link->session) && !has_output) {
                close_server(link);
        } else if (has_output && (room > 0 || !link->is_cut)) {
                schedule_pipe(link, pipe, SIM_EVENT_DOWN);
        }
}

static void feed_client(struct sim_link *link, size_t size)
{
        struct sim_pipe *pipe = &link->down;
        struct sim_author *author = link->author;
        const enum scn_error error = scn_client_feed(author->client, pipe->bytes, size, link->sim->now_us / SIM_MS);
        if (error != SCN_OK && error != SCN_E_OUT_OF_TURN) {
                sim_fail(link->sim, "what the server sent is no stream of frames: %s", scn_error_code(error));
        }
        consume(pipe, size);
        author->has_unread = true;
        sim_note(link->sim, "down", author->index, size, 0);
        if (sim_chance(link->sim, 80)) {
                sim_author_dispatch(author);
        } else {
                author->alarm_us = link->sim->now_us + sim_below(link->sim, 20 * SIM_MS);
                sim_schedule(link->sim, author->alarm_us - link->sim->now_us, SIM_EVENT_ALARM, author, 0);
        }
}

void sim_link_down(struct sim_link *link)
{
        struct sim_pipe *pipe = &link->down;
        pipe->is_scheduled = false;
        if (is_stalled(link, pipe)) {
                refill_down(link);
                schedule_pipe(link, pipe, SIM_EVENT_DOWN);
                return;
        }
        if (link->author != NULL && available(pipe) > 0) {
                feed_client(link, piece(link, available(pipe)));
        } else if (link->author == NULL && !link->is_cut) {
                pipe->size = 0; /* nobody reads, but the bytes were taken */
        }
        refill_down(link);
        if (link->session != NULL && link->up.size > 0 && scn_session_wants_input(link->session)) {
                schedule_pipe(link, &link->up, SIM_EVENT_UP); /* it may have waited until that was read */
        }
        if (link->author != NULL && available(pipe) > 0) {
                schedule_pipe(link, pipe, SIM_EVENT_DOWN);
        } else if (link->author != NULL && link->is_cut) {
                schedule(link, sim_below(link->sim, 50 * SIM_MS), SIM_EVENT_CUT_CLIENT);
        }
}

/* --- The end --- */

static void schedule_server_end(struct sim_link *link)
{
        if (link->session != NULL) {
                const bool is_half_open = sim_chance(link->sim, 10) && !link->sim->is_ending;
                schedule(link, is_half_open ? sim_below(link->sim, HALF_OPEN_US) : sim_below(link->sim, 300 * SIM_MS),
                        SIM_EVENT_CUT_SERVER);
        }
}

/* What is in the pipes arrives up to any byte. */
void sim_link_cut(struct sim_link *link)
{
        if (link->is_cut) {
                return;
        }
        struct sim *sim = link->sim;
        link->is_cut = true;
        link->up.left = sim_below(sim, (uint32_t)link->up.size + 1);
        link->down.left = sim_below(sim, (uint32_t)link->down.size + 1);
        sim_note(sim, "cut", link->author == NULL ? 99 : link->author->index, link->up.left, link->down.left);
        sim_link_wake(link);
        schedule_server_end(link);
}

void sim_link_cut_client(struct sim_link *link)
{
        struct sim_author *author = link->author;
        if (author != NULL) {
                sim_note(link->sim, "offline", author->index, 0, 0);
                link->author = NULL;
                author->link = NULL;
                scn_client_disconnect(author->client, link->sim->now_us / SIM_MS);
                sim_author_settle(author);
                schedule_server_end(link);
        }
}

void sim_link_cut_server(struct sim_link *link)
{
        if (link->session == NULL) {
                return;
        }
        if (sim_chance(link->sim, 20)) {
                scn_session_end_input(link->session);
                schedule(link, sim_below(link->sim, SIM_S), SIM_EVENT_CUT_SERVER);
                return;
        }
        close_server(link);
}

void sim_link_leave(struct sim_link *link)
{
        link->author->link = NULL;
        link->author = NULL;
        sim_link_cut(link);
        schedule_server_end(link);
}

void sim_link_lose_server(struct sim_link *link)
{
        sim_claim_let_go(link, true);
        if (link->session != NULL) {
                scn_session_destroy(link->session);
                link->session = NULL;
        }
        if (!link->is_cut) {
                link->is_cut = true;
                link->down.left = sim_below(link->sim, (uint32_t)link->down.size + 1);
        }
        link->up.left = 0;
        if (link->author != NULL) {
                schedule(link, sim_below(link->sim, 200 * SIM_MS), SIM_EVENT_CUT_CLIENT);
        }
}

bool sim_link_is_quiet(const struct sim_link *link)
{
        struct scn_slice slice;
        return !link->is_cut && link->session != NULL && link->author != NULL && link->up.size == 0 &&
                link->down.size == 0 && !link->up.is_scheduled && !link->down.is_scheduled &&
                scn_session_output(link->session, &slice, 1) == 0;
}

void sim_links_sweep(struct sim *sim)
{
        struct sim_link **at = &sim->links;
        while (*at != NULL) {
                struct sim_link *link = *at;
                if (link->author == NULL && link->session == NULL && link->events_count == 0) {
                        *at = link->next;
                        sim_tap_finish(link);
                        scn_free(link->up.bytes);
                        scn_free(link->down.bytes);
                        scn_free(link);
                } else {
                        at = &link->next;
                }
        }
}
