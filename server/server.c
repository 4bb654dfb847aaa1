/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/server.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "server/adopt.h"
#include "server/core.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Of those who wait for a job, at the end of one. */
#define HISTORY_TRIES 16u

uint64_t scn_server_now_ms(const struct scn_server *server)
{
        return server->options.monotonic_ms(server->options.data);
}

void scn_server_log(const struct scn_server *server, enum scn_log_level level, const char *format, ...)
{
        char text[512];
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        server->options.log(server->options.data, level, text);
}

void scn_server_log_fault(const struct scn_server *server, struct scn_slice name, const char *what,
        enum scn_error error, const struct scn_storage_fault *fault, const struct scn_storage_fault *damaged)
{
        if (error != SCN_OK && fault->text[0] != '\0' && !scn_about_is_of_request(error)) {
                scn_server_log(server, SCN_LOG_WARNING, "document %.*s: %s: %s: %s", (int)name.size,
                        (const char *)name.data, what, scn_error_text(error), fault->text);
        }
        if (damaged != NULL && damaged->text[0] != '\0') {
                scn_server_log(server, SCN_LOG_WARNING, "document %.*s: damaged: %s", (int)name.size,
                        (const char *)name.data, damaged->text);
        }
}

enum scn_error scn_server_check_reserve(const struct scn_server *server, struct scn_storage_fault *fault)
{
        if (!server->is_low) {
                return SCN_OK;
        }
        (void)snprintf(fault->text, sizeof fault->text,
                "less of the server's disk is free than its reserve, %llu MiB: until there is more it is only read",
                (unsigned long long)server->options.reserve_bytes >> 20);
        return SCN_E_STORAGE_FULL;
}

static void log_strange_wals(const struct scn_server *server)
{
        uint32_t count;
        const char *first = scn_storage_strange_wals(server->storage, &count);
        if (count > 0) {
                scn_server_log(server, SCN_LOG_WARNING,
                        "%s: the write-ahead file beside it needs a longer file than this one, and is kept as %s-left",
                        first, first);
        }
        if (count > 1) {
                scn_server_log(server, SCN_LOG_WARNING, "so it is with %u more documents", count - 1);
        }
}

enum scn_error scn_server_create(
        const struct scn_server_options *options, struct scn_server **server_out, char problem_out[SCN_PROBLEM_BYTES])
{
        struct scn_server *server = scn_alloc_zero(1, sizeof *server);
        if (server == NULL) {
                (void)snprintf(problem_out, SCN_PROBLEM_BYTES, "out of memory");
                return SCN_E_NO_MEMORY;
        }
        server->options = *options;
        struct scn_storage_fault fault = {.text = ""};
        const enum scn_error error = scn_storage_open(options->data_path, &server->storage, &fault);
        if (error != SCN_OK) {
                if (fault.text[0] != '\0') {
                        (void)snprintf(problem_out, SCN_PROBLEM_BYTES, "%s", fault.text);
                }
                scn_free(server);
                return error;
        }
        log_strange_wals(server);
        scn_storage_keep_free(server->storage, options->reserve_bytes);
        scn_server_look_at_disk(server);
        atomic_init(&server->is_giving_up, false);
        *server_out = server;
        return SCN_OK;
}

struct scn_room *scn_server_find_room(struct scn_server *server, struct scn_slice name)
{
        struct scn_room *room = server->rooms;
        while (room != NULL && !scn_slice_equal(room->name, name)) {
                room = room->next;
        }
        return room;
}

struct scn_session *scn_server_find_session(struct scn_server *server, uint64_t number)
{
        struct scn_session *session = server->sessions;
        while (session != NULL && session->number != number) {
                session = session->next;
        }
        return session;
}

bool scn_server_has_history_job(struct scn_session *session, enum scn_history_use use)
{
        struct scn_server *server = session->server;
        const bool has_job = server->history_jobs_count[use] < SCN_HISTORY_JOBS_MAX;
        if (!has_job && session->history_place == 0) {
                session->history_place = ++server->history_places_ever;
        }
        return has_job;
}

void scn_server_begin_history_job(struct scn_session *session, enum scn_history_use use)
{
        struct scn_server *server = session->server;
        session->history_place = 0;
        server->jobs_count++;
        server->history_jobs_count[use]++;
        scn_server_note_reader(server);
}

/* The first in the line behind a place; NULL: nobody. */
static struct scn_session *next_in_line(const struct scn_server *server, uint64_t place)
{
        struct scn_session *first = NULL;
        for (struct scn_session *session = server->sessions; session != NULL; session = session->next) {
                const bool is_first = first == NULL || session->history_place < first->history_place;
                first = session->history_place > place && is_first ? session : first;
        }
        return first;
}

/* Who waits and cannot have it now, for the room is not settled, keeps the place. */
void scn_server_end_history_job(struct scn_server *server, enum scn_history_use use)
{
        struct scn_session *session = NULL;
        uint64_t place = 0;
        server->jobs_count--;
        server->history_jobs_count[use]--;
        for (uint32_t i = 0; i < HISTORY_TRIES && server->history_jobs_count[use] < SCN_HISTORY_JOBS_MAX &&
                (session = next_in_line(server, place)) != NULL;
                i++) {
                place = session->history_place;
                scn_session_pump(session);
                if (session->room != NULL) {
                        scn_room_turn(session->room);
                }
        }
        scn_server_pump(server);
}

void scn_server_note_reader(struct scn_server *server)
{
        server->readers_ever++;
}

void scn_server_pump(struct scn_server *server)
{
        for (struct scn_session *session = server->sessions; session != NULL; session = session->next) {
                scn_session_pump(session);
        }
}

void scn_server_claim_name(struct scn_server *server, struct scn_claim *claim, struct scn_slice name)
{
        *claim = (struct scn_claim){.next = server->claims, .name = name};
        server->claims = claim;
}

void scn_server_give_name_back(struct scn_server *server, const struct scn_claim *claim)
{
        struct scn_claim **at = &server->claims;
        while (*at != NULL && *at != claim) {
                at = &(*at)->next;
        }
        if (*at != NULL) {
                *at = claim->next;
        }
}

bool scn_server_is_claimed(const struct scn_server *server, struct scn_slice name)
{
        const struct scn_claim *claim = server->claims;
        while (claim != NULL && !scn_slice_equal(claim->name, name)) {
                claim = claim->next;
        }
        return claim != NULL;
}

static void wake_resting(struct scn_server *server)
{
        server->turns_count++;
        if (!server->has_resting) {
                return;
        }
        server->has_resting = false;
        for (struct scn_session *session = server->sessions; session != NULL; session = session->next) {
                if (session->is_resting) {
                        session->is_resting = false;
                        scn_session_pump(session);
                }
        }
}

void scn_server_turn(struct scn_server *server)
{
        wake_resting(server);
        scn_output_turn(server);
        scn_adopt_turn(server);
        struct scn_room *next = NULL;
        for (struct scn_room *room = server->rooms; room != NULL; room = next) {
                next = room->next;
                scn_view_serve_due(room);
                scn_live_turn(room);
                scn_room_turn(room);
                if (server->is_stopping || room->is_broken) {
                        scn_room_tick(room); /* it closes as soon as everybody is gone */
                }
        }
}

uint64_t scn_server_due_ms(const struct scn_server *server)
{
        uint64_t due_ms = server->has_resting ? 0 : scn_output_due_ms(server);
        for (const struct scn_room *room = server->rooms; room != NULL; room = room->next) {
                const uint64_t live_ms = scn_live_due_ms(room);
                const bool waits = room->views_due_ms != 0 && scn_room_is_settled(room);
                due_ms = live_ms < due_ms ? live_ms : due_ms;
                due_ms = waits && room->views_due_ms < due_ms ? room->views_due_ms : due_ms;
        }
        return due_ms;
}

/* Whom nobody reads from cannot be heard. */
static bool is_silent(struct scn_session *session, uint64_t now_ms)
{
        if (!scn_session_wants_input(session)) {
                session->heard_ms = now_ms;
        }
        return session->promised_ms > 0 && now_ms - session->heard_ms > SCN_SILENT_PROMISES * session->promised_ms;
}

/* NULL: it is not too silent. */
static const char *find_silence(struct scn_session *session, uint64_t now_ms)
{
        if (session->state == SCN_SESSION_NEW && now_ms - session->began_ms > SCN_BEFORE_LOGIN_MS) {
                return "no hello in time";
        }
        if (session->outbox_bytes > 0 && now_ms - session->progress_ms > SCN_NO_PROGRESS_MS) {
                return "nothing was read for too long";
        }
        return is_silent(session, now_ms) ? "nothing came for twice the time promised" : NULL;
}

static void tick_session(struct scn_session *session, uint64_t now_ms)
{
        const char *text = find_silence(session, now_ms);
        if (text != NULL) {
                if (session->room != NULL && session->state != SCN_SESSION_ENDED) {
                        session->room->counters.silenced++;
                }
                scn_session_end(session, SCN_E_SILENT, text);
        }
}

void scn_server_tick(struct scn_server *server)
{
        const uint64_t now_ms = scn_server_now_ms(server);
        for (struct scn_session *session = server->sessions; session != NULL; session = session->next) {
                if (session->state != SCN_SESSION_ENDED) {
                        tick_session(session, now_ms);
                }
        }
        scn_adopt_tick(server);
        scn_server_upkeep(server);
        scn_intake_tick(server, now_ms);
        struct scn_room *next = NULL;
        for (struct scn_room *room = server->rooms; room != NULL; room = next) {
                next = room->next;
                scn_room_tick(room);
        }
}

void scn_server_stop(struct scn_server *server)
{
        server->is_stopping = true;
        atomic_store(&server->is_giving_up, true);
        struct scn_room *next = NULL;
        for (struct scn_session *session = server->sessions; session != NULL; session = session->next) {
                if (session->room == NULL || session->room->batch == NULL) {
                        scn_session_end(session, SCN_E_STOPPING, "the server is stopping");
                }
        }
        scn_adopt_turn(server);
        for (struct scn_room *room = server->rooms; room != NULL; room = next) {
                next = room->next;
                scn_room_tick(room);
        }
}

bool scn_server_is_stopped(const struct scn_server *server)
{
        return server->is_stopping && server->rooms == NULL && server->jobs_count == 0;
}

void scn_server_destroy(struct scn_server *server)
{
        if (server != NULL) {
                SCN_ASSERT(server->sessions == NULL && server->rooms == NULL && server->jobs_count == 0);
                scn_storage_close(server->storage);
                scn_free(server);
        }
}
