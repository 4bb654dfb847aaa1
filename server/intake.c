/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* How much input all sessions hold together: messages that wait, parts of edits, frames that have come in part.
 *
 * At the limit, sessions that hold something are not read from until a good part of it is worked off. Messages are
 * worked off by themselves. What is incomplete is not: so that such sessions cannot keep one another from completing,
 * one of them, the oldest, may go on all the same. It has a while to do so; else it gives up its place and its
 * connection. Sessions that hold nothing are served as ever, so the limit is exceeded by one read of each and by what
 * one session may hold. */

#include "server/core.h"

/* Once full, it is so until this is free again: sessions are not to be woken for every message. */
#define RELIEF(max) ((max) / 8)

static size_t max_of(const struct scn_server *server)
{
        return server->options.input_bytes_max != 0 ? server->options.input_bytes_max : SCN_INPUT_BYTES_MAX;
}

static bool is_incomplete(const struct scn_session *session)
{
        return session->staged_first != NULL || session->reader.buffer.size > session->reader.at;
}

/* It cannot be worked off as it is. */
static bool is_stuck(const struct scn_session *session)
{
        return session->state != SCN_SESSION_ENDED && session->inbox_first == NULL && is_incomplete(session);
}

/* The oldest of those that are stuck; the list begins with the newest. */
static void choose(struct scn_server *server)
{
        server->completing = NULL;
        for (struct scn_session *session = server->sessions; session != NULL; session = session->next) {
                if (is_stuck(session)) {
                        server->completing = session;
                }
        }
        if (server->completing != NULL) {
                server->completing_since_ms = scn_server_now_ms(server);
                scn_session_wake(server->completing);
        }
}

static void relieve(struct scn_server *server)
{
        server->is_input_full = false;
        server->completing = NULL;
        for (struct scn_session *session = server->sessions; session != NULL; session = session->next) {
                scn_session_wake(session);
        }
}

/* `may_choose`: somebody is stuck since it was last chosen, or was in somebody's way. This comes with every message,
 * so all sessions are not to be looked at for each. */
static void look(struct scn_server *server, bool may_choose)
{
        const size_t max = max_of(server);
        if (!server->is_input_full && server->input_bytes >= max) {
                server->is_input_full = true;
                may_choose = true;
                scn_server_log(server, SCN_LOG_WARNING, "input: as much as may be waits to be worked off");
        } else if (server->is_input_full && server->input_bytes <= max - RELIEF(max)) {
                relieve(server);
        }
        if (server->is_input_full && server->completing == NULL && may_choose) {
                choose(server);
        }
}

void scn_intake_count(struct scn_session *session)
{
        struct scn_server *server = session->server;
        const size_t held =
                session->inbox_bytes + session->staged_bytes + session->staged_heads + session->reader.buffer.capacity;
        server->input_bytes = server->input_bytes - session->input_bytes + held;
        session->input_bytes = held;
        const bool has_completed = server->completing == session && !is_incomplete(session);
        if (has_completed) {
                server->completing = NULL;
        }
        look(server, has_completed || is_stuck(session));
}

void scn_intake_forget(struct scn_session *session)
{
        struct scn_server *server = session->server;
        server->input_bytes -= session->input_bytes;
        session->input_bytes = 0;
        if (server->completing == session) {
                server->completing = NULL;
        }
        look(server, true);
}

bool scn_intake_has_room(const struct scn_session *session)
{
        const struct scn_server *server = session->server;
        return !server->is_input_full || server->completing == session ||
                (session->inbox_first == NULL && !is_incomplete(session));
}

/* What was completed waits for its turn, or a worker reads it. */
static bool is_worked_off(const struct scn_session *session)
{
        return scn_session_is_lent(session) || (session->state != SCN_SESSION_ENDED && session->inbox_first != NULL);
}

void scn_intake_tick(struct scn_server *server, uint64_t now_ms)
{
        struct scn_session *session = server->completing;
        if (session == NULL) {
                look(server, true);
        } else if (!is_worked_off(session) && now_ms - server->completing_since_ms > SCN_INPUT_PATIENCE_MS) {
                scn_session_end(session, SCN_E_BUSY, "others wait for what was not completed in time");
                scn_session_drop_staged(session);
                scn_frame_reader_finish(&session->reader);
                scn_intake_count(session);
        }
}
