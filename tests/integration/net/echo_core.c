/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
/* A stand-in for the daemon's core, behind server/server.h: it echoes, so that server/net can be tested alone.
 *
 * What arrives goes to a session's inbox, and from there to its outbox at the turn, as edits do. A byte 0xff is not
 * echoed; the one behind it is a command:
 *
 *   e  end the session, once all before is echoed
 *   j  run a job of 20 ms on a worker and echo "job\n" when it is done; J: of 1500 ms; K: of 8000 ms
 *   d  take all descriptors that are left, answer "full\n"; D: give them back, answer "free\n"
 *   t  at the next tick, echo the monotonic time of that moment, 20 digits
 *   z  send 16 MiB of zeros
 *   l  log a rude line, a hundred times
 *
 * A data directory called "taken" is in use by another daemon. */
#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/base/bytes.h"
#include "server/server.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

#define COMMAND 0xff
#define BOX_BYTES_WANTED (256u << 10)
#define BOX_BYTES_MAX (1u << 20)
#define TAKEN_MAX 1024
#define ZEROS_BYTES (16u << 20)

static const uint8_t zeros[65536];

struct echo_job {
        struct scn_job job;
        struct scn_server *server;
        struct scn_session *session; /* NULL: gone */
        uint32_t sleep_ms;
        TAILQ_ENTRY(echo_job) link;
};

struct scn_session {
        struct scn_server *server;
        void *transport;
        struct scn_buffer inbox;
        struct scn_buffer outbox;
        size_t sent;
        size_t zeros_left; /* behind the outbox */
        bool is_command;
        bool is_waiting_for_tick;
        bool is_ending; /* once the boxes are empty and jobs_count is 0 */
        size_t jobs_count;
        TAILQ_ENTRY(scn_session) link;
};

struct scn_server {
        struct scn_server_options options;
        TAILQ_HEAD(, scn_session) sessions;
        TAILQ_HEAD(, echo_job) jobs;
        bool is_stopping;
        int taken[TAKEN_MAX];
        size_t taken_count;
};

static void wake(struct scn_session *session)
{
        session->server->options.wake(session->server->options.data, session, session->transport);
}

static void echo(struct scn_session *session, const void *bytes, size_t size)
{
        enum scn_error error = scn_buffer_append(&session->outbox, bytes, size);
        SCN_ASSERT(error == SCN_OK);
        wake(session);
}

/* ------------------------------------------------------------------ server */

enum scn_error scn_server_create(
        const struct scn_server_options *options, struct scn_server **server_out, char problem_out[SCN_PROBLEM_BYTES])
{
        if (strcmp(options->data_path, "taken") == 0) {
                memcpy(problem_out, "in use", sizeof "in use");
                return SCN_E_IN_USE;
        }
        struct scn_server *server = scn_alloc_zero(1, sizeof *server);
        if (server == NULL)
                return SCN_E_NO_MEMORY;
        server->options = *options;
        TAILQ_INIT(&server->sessions);
        TAILQ_INIT(&server->jobs);
        *server_out = server;
        return SCN_OK;
}

static void take_turn(struct scn_session *session)
{
        if (session->inbox.size > 0 && session->outbox.size == 0) {
                echo(session, session->inbox.data, session->inbox.size);
                scn_buffer_reset(&session->inbox);
        }
        if (session->is_ending)
                wake(session);
}

void scn_server_turn(struct scn_server *server)
{
        struct scn_session *session;

        TAILQ_FOREACH(session, &server->sessions, link)
        {
                if (session->inbox.size > 0)
                        take_turn(session);
        }
}

uint64_t scn_server_due_ms(const struct scn_server *server)
{
        (void)server;
        return UINT64_MAX;
}

void scn_server_tick(struct scn_server *server)
{
        struct scn_session *session;

        TAILQ_FOREACH(session, &server->sessions, link)
        {
                char text[21];
                if (!session->is_waiting_for_tick)
                        continue;
                session->is_waiting_for_tick = false;
                (void)snprintf(text, sizeof text, "%020" PRIu64, server->options.monotonic_ms(server->options.data));
                echo(session, text, 20);
        }
}

void scn_server_stop(struct scn_server *server)
{
        struct scn_session *session;

        SCN_ASSERT(!server->is_stopping);
        server->is_stopping = true;
        TAILQ_FOREACH(session, &server->sessions, link)
        {
                session->is_ending = true;
                wake(session);
        }
}

bool scn_server_is_stopped(const struct scn_server *server)
{
        return server->is_stopping && TAILQ_EMPTY(&server->jobs);
}

static void give_descriptors_back(struct scn_server *server)
{
        while (server->taken_count > 0)
                (void)close(server->taken[--server->taken_count]);
}

void scn_server_destroy(struct scn_server *server)
{
        if (server == NULL)
                return;
        SCN_ASSERT(TAILQ_EMPTY(&server->sessions) && TAILQ_EMPTY(&server->jobs));
        give_descriptors_back(server);
        scn_free(server);
}

/* -------------------------------------------------------------------- jobs */

static void run_job(struct scn_job *job)
{
        struct echo_job *echo_job = (struct echo_job *)(void *)job;
        struct timespec time = {
                .tv_sec = echo_job->sleep_ms / 1000,
                .tv_nsec = (long)(echo_job->sleep_ms % 1000) * 1000000,
        };

        (void)nanosleep(&time, NULL);
}

static void finish_job(struct scn_job *job)
{
        struct echo_job *echo_job = (struct echo_job *)(void *)job;

        TAILQ_REMOVE(&echo_job->server->jobs, echo_job, link);
        if (echo_job->session != NULL) {
                echo_job->session->jobs_count--;
                echo(echo_job->session, "job\n", 4);
        }
        scn_free(echo_job);
}

static void start_job(struct scn_session *session, uint32_t sleep_ms)
{
        struct scn_server *server = session->server;
        struct echo_job *job = scn_alloc_zero(1, sizeof *job);

        SCN_ASSERT(job != NULL);
        *job = (struct echo_job){
                .job = {.run = run_job, .done = finish_job},
                .server = server,
                .session = session,
                .sleep_ms = sleep_ms,
        };
        session->jobs_count++;
        TAILQ_INSERT_TAIL(&server->jobs, job, link);
        server->options.submit(server->options.data, &job->job);
}

/* ---------------------------------------------------------------- sessions */

struct scn_session *scn_session_create(struct scn_server *server, void *transport)
{
        struct scn_session *session = server->is_stopping ? NULL : scn_alloc_zero(1, sizeof *session);

        if (session == NULL)
                return NULL;
        session->server = server;
        session->transport = transport;
        scn_buffer_init(&session->inbox, BOX_BYTES_MAX);
        scn_buffer_init(&session->outbox, BOX_BYTES_MAX);
        TAILQ_INSERT_TAIL(&server->sessions, session, link);
        return session;
}

void scn_session_destroy(struct scn_session *session)
{
        struct echo_job *job;

        TAILQ_FOREACH(job, &session->server->jobs, link)
        {
                if (job->session == session)
                        job->session = NULL;
        }
        TAILQ_REMOVE(&session->server->sessions, session, link);
        scn_buffer_finish(&session->inbox);
        scn_buffer_finish(&session->outbox);
        scn_free(session);
}

static void take_descriptors(struct scn_session *session)
{
        struct scn_server *server = session->server;

        while (server->taken_count < TAKEN_MAX) {
                int taken = open("/dev/null", O_RDONLY | O_CLOEXEC);
                if (taken < 0)
                        break;
                server->taken[server->taken_count++] = taken;
        }
        echo(session, "full\n", 5);
}

static void obey(struct scn_session *session, uint8_t command)
{
        struct scn_server *server = session->server;

        switch (command) {
        case 'e':
                session->is_ending = true;
                wake(session);
                break;
        case 'j':
                start_job(session, 20);
                break;
        case 'J':
                start_job(session, 1500);
                break;
        case 'K':
                start_job(session, 8000);
                break;
        case 'd':
                take_descriptors(session);
                break;
        case 'D':
                give_descriptors_back(server);
                echo(session, "free\n", 5);
                break;
        case 'z':
                session->zeros_left = ZEROS_BYTES;
                wake(session);
                break;
        case 't':
                session->is_waiting_for_tick = true;
                break;
        case 'l':
                for (int i = 0; i < 100; i++)
                        server->options.log(server->options.data, SCN_LOG_WARNING, "rude: \033[2J\nline two\xff");
                break;
        default:
                SCN_ASSERT(command == COMMAND);
        }
}

void scn_session_feed(struct scn_session *session, const void *bytes, size_t size)
{
        const uint8_t *at = bytes;
        enum scn_error error = SCN_OK;

        for (const uint8_t *end = at + size; at < end; at++) {
                if (session->is_command)
                        obey(session, *at);
                else if (*at != COMMAND)
                        error = scn_buffer_append(&session->inbox, at, 1);
                SCN_ASSERT(error == SCN_OK);
                session->is_command = !session->is_command && *at == COMMAND;
        }
}

void scn_session_end_input(struct scn_session *session)
{
        session->is_ending = true;
        wake(session);
}

bool scn_session_wants_input(const struct scn_session *session)
{
        return !session->is_ending && session->inbox.size < BOX_BYTES_WANTED;
}

bool scn_session_is_working(const struct scn_session *session)
{
        return session->jobs_count > 0 && session->outbox.size == session->sent;
}

size_t scn_session_output(struct scn_session *session, struct scn_slice *slices, size_t slices_max)
{
        size_t left = session->outbox.size - session->sent;
        size_t count = 0;

        /* In small pieces, so that there are many. */
        for (size_t at = 0; at < left && count < slices_max; count++) {
                size_t size = left - at < 4096 ? left - at : 4096;
                slices[count] = (struct scn_slice){session->outbox.data + session->sent + at, (uint32_t)size};
                at += size;
        }
        left = session->zeros_left;
        for (; left > 0 && count < slices_max; count++) {
                size_t size = left < sizeof zeros ? left : sizeof zeros;
                slices[count] = (struct scn_slice){zeros, (uint32_t)size};
                left -= size;
        }
        return count;
}

void scn_session_sent(struct scn_session *session, size_t bytes)
{
        size_t of_outbox = session->outbox.size - session->sent;

        if (bytes < of_outbox)
                of_outbox = bytes;
        session->sent += of_outbox;
        SCN_ASSERT(bytes - of_outbox <= session->zeros_left);
        session->zeros_left -= bytes - of_outbox;
        if (session->sent < session->outbox.size || of_outbox == 0)
                return;
        session->sent = 0;
        scn_buffer_reset(&session->outbox);
        take_turn(session);
        wake(session); /* it may want input again, or has ended */
}

bool scn_session_has_ended(const struct scn_session *session)
{
        return session->is_ending && session->inbox.size == 0 && session->jobs_count == 0;
}
