/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Room for what is encoded and not sent: a cap over all sessions together.
 *
 * At the cap who wants more waits, and is served in turn when there is room. While somebody waits, those that keep the
 * room and do not take what they asked for are cut off, so any number of stopped readers costs the others nothing.
 * Above half of the cap nobody who has something unsent gets more, so that much is left for those who have not. */

#include "protocol/base/assert.h"
#include "server/core.h"

/* Nobody is cut off for less than this: all sessions that there can be may hold so much and leave half of the cap. */
#define SPARED_PARTS (2 * SCN_SESSIONS_MAX)
/* This part of the cap is made free at once, lest everybody who comes next needs it done anew. */
#define FREED_PARTS 16u

static size_t bytes_max(const struct scn_server *server)
{
        const size_t max = server->options.output_bytes_max;
        return max != 0 ? max : SCN_OUTPUT_BYTES_MAX;
}

static bool has_room(const struct scn_server *server)
{
        return server->output_bytes < bytes_max(server);
}

bool scn_output_claim(struct scn_server *server)
{
        /* Who waits comes before who happens to ask when there is room again. */
        server->has_starved = server->has_starved || !has_room(server);
        return !server->has_starved;
}

bool scn_output_has_plenty(const struct scn_server *server)
{
        return !server->has_starved && server->output_bytes < bytes_max(server) / 2;
}

/* --- Who is cut off --- */

/* What would be freed if the session went. Of what a view's group keeps for the next one, too, one reference is its. */
static size_t held_bytes(const struct scn_session *session)
{
        size_t held = 0;
        for (const struct scn_segment *segment = session->outbox_first; segment != NULL; segment = segment->next) {
                const struct scn_shared_bytes *bytes = segment->bytes;
                held += bytes->references > 2 ? bytes->size / (bytes->references - 1) : bytes->size;
        }
        return held;
}

static bool is_slack(const struct scn_session *session, uint64_t now_ms)
{
        return session->outbox_first != NULL && !session->is_cut && now_ms - session->pace_ms >= SCN_PACE_MS;
}

/* Returns how much goes already with those that were cut off and are still there. */
static size_t weigh(struct scn_server *server, uint64_t now_ms)
{
        size_t going = 0;
        for (struct scn_session *session = server->sessions; session != NULL; session = session->next) {
                session->held_bytes = session->is_cut || is_slack(session, now_ms) ? held_bytes(session) : 0;
                going += session->is_cut ? session->held_bytes : 0;
        }
        return going;
}

static struct scn_session *find_largest(const struct scn_server *server)
{
        struct scn_session *largest = NULL;
        for (struct scn_session *session = server->sessions; session != NULL; session = session->next) {
                if (!session->is_cut && (largest == NULL || session->held_bytes > largest->held_bytes)) {
                        largest = session;
                }
        }
        return largest != NULL && largest->held_bytes > bytes_max(server) / SPARED_PARTS ? largest : NULL;
}

/* Those that hold most first. Their memory is free when the host has seen it. False: nobody was cut off. */
static bool make_room(struct scn_server *server, uint64_t now_ms)
{
        const size_t wanted = bytes_max(server) - bytes_max(server) / FREED_PARTS;
        uint32_t count = 0;
        size_t going = weigh(server, now_ms);
        struct scn_session *session = NULL;
        while (server->output_bytes >= wanted + going && (session = find_largest(server)) != NULL) {
                going += session->held_bytes;
                if (session->room != NULL && session->state != SCN_SESSION_ENDED) {
                        session->room->counters.silenced++;
                }
                scn_session_cut(session);
                count++;
        }
        if (count > 0) {
                scn_server_log(server, SCN_LOG_WARNING,
                        "%u connections cut off: while others waited for room, %u ms went by and they took too little",
                        count, SCN_PACE_MS);
        }
        return count > 0;
}

/* --- In turn --- */

/* Sessions with numbers above `from` and not above `to`, until one has to wait again: that one will be the first, or
 * the next one if the turn has lasted long enough. Who has something unsent is served when that is gone. */
static void serve_up_to(struct scn_server *server, uint64_t from, uint64_t to, uint64_t until_ms)
{
        for (struct scn_session *session = server->sessions; session != NULL && !server->has_starved;
                session = session->next) {
                if (session->number <= from || session->number > to || !scn_session_is_drained(session)) {
                        continue;
                }
                scn_view_catch_up(session);
                scn_session_pump(session);
                server->starved_at = session->number;
                if (!server->has_starved && scn_server_now_ms(server) >= until_ms) {
                        server->starved_at--;
                        server->has_starved = true;
                }
        }
}

/* Was the loop held up, then nobody could take anything: what has come meanwhile is looked at first. */
static bool has_been_looking(const struct scn_server *server, uint64_t now_ms)
{
        return server->starved_ms != 0 && now_ms - server->starved_ms < SCN_PACE_MS / 2;
}

void scn_output_turn(struct scn_server *server)
{
        if (!server->has_starved) {
                server->starved_ms = 0;
                server->output_due_ms = 0;
                return;
        }
        const uint64_t now_ms = scn_server_now_ms(server);
        /* Under pressure, what is only kept goes first. */
        for (struct scn_room *room = server->rooms; room != NULL && !has_room(server); room = room->next) {
                scn_view_drop_snapshots(room, true);
        }
        if (!has_room(server) && has_been_looking(server, now_ms) && now_ms >= server->output_due_ms) {
                server->output_due_ms = make_room(server, now_ms) ? now_ms : now_ms + SCN_PACE_LOOK_MS;
        }
        server->starved_ms = now_ms;
        server->has_starved = !has_room(server);
        const uint64_t first = server->starved_at;
        serve_up_to(server, 0, first, now_ms + SCN_TURN_MS);
        serve_up_to(server, first, UINT64_MAX, now_ms + SCN_TURN_MS);
}

uint64_t scn_output_due_ms(const struct scn_server *server)
{
        if (!server->has_starved) {
                return UINT64_MAX;
        }
        return has_room(server) ? 0 : server->output_due_ms;
}
