/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* backup: a copy of the document's file, sent in parts. Steps of it are jobs of their own, so that batches get in
 * between. First the file is copied; then each part is read when the one before has gone out. */

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "server/core.h"

#include <stdio.h>
#include <string.h>

#define STEP_BYTES (4u << 20)
#define PART_BYTES (256u << 10)

struct scn_backup_stream {
        struct scn_job job;
        struct scn_server *server;
        struct scn_session *session; /* NULL: gone */
        uint64_t request;
        struct scn_slice name; /* owned bytes */
        uint64_t number;
        struct scn_copy *copy;
        uint64_t left; /* to be copied, then to be sent */
        bool is_copied;
        bool is_busy; /* a job is under way */
        uint8_t *part;
        size_t part_size;
        enum scn_error error;
        struct scn_storage_fault fault;
};

/* --- On a worker --- */

static void run_copy(struct scn_job *job)
{
        struct scn_backup_stream *stream = (struct scn_backup_stream *)job;
        if (stream->copy == NULL) {
                stream->error = scn_copy_create(
                        stream->server->storage, stream->name, stream->number, &stream->copy, &stream->fault);
        }
        if (stream->error == SCN_OK) {
                stream->error = scn_copy_step(stream->copy, STEP_BYTES, &stream->left, &stream->fault);
        }
        if (stream->error == SCN_OK && stream->left == 0) {
                stream->is_copied = true;
                stream->left = scn_copy_bytes(stream->copy);
        }
}

static void run_read(struct scn_job *job)
{
        struct scn_backup_stream *stream = (struct scn_backup_stream *)job;
        stream->error = scn_copy_read(stream->copy, stream->part, PART_BYTES, &stream->part_size, &stream->fault);
        if (stream->error == SCN_OK && (stream->part_size == 0 || stream->part_size > stream->left)) {
                stream->error = SCN_E_STORAGE_FAILED;
        }
}

static void run_end(struct scn_job *job)
{
        struct scn_backup_stream *stream = (struct scn_backup_stream *)job;
        scn_copy_destroy(stream->copy);
        stream->copy = NULL;
}

/* --- On the loop --- */

static void done_step(struct scn_job *job);
static void done_end(struct scn_job *job);

static void submit(
        struct scn_backup_stream *stream, void (*run)(struct scn_job *job), void (*done)(struct scn_job *job))
{
        struct scn_server *server = stream->server;
        SCN_ASSERT(!stream->is_busy);
        stream->job = (struct scn_job){.run = run, .done = done};
        stream->is_busy = true;
        server->jobs_count++;
        server->options.submit(server->options.data, &stream->job);
}

static void done_end(struct scn_job *job)
{
        struct scn_backup_stream *stream = (struct scn_backup_stream *)job;
        struct scn_server *server = stream->server;
        server->jobs_count--;
        server->backups_count--;
        scn_free((void *)stream->name.data);
        scn_free(stream->part);
        scn_free(stream);
        /* Somebody may have waited for this one to end. */
        for (struct scn_session *session = server->sessions; session != NULL; session = session->next) {
                scn_session_pump(session);
        }
}

/* The session is free for what it asks next; the copy goes on a worker. */
static void end(struct scn_backup_stream *stream)
{
        struct scn_session *session = stream->session;
        submit(stream, run_end, done_end);
        if (session != NULL) {
                stream->session = NULL;
                session->backup = NULL;
                session->is_asking = false;
                scn_session_pump(session);
        }
}

static void send_part(struct scn_backup_stream *stream)
{
        struct scn_message answer;
        struct scn_buffer body;
        scn_buffer_init(&body, PART_BYTES + 16);
        struct scn_packer packer = scn_packer_to(&body);
        scn_pack_bin(&packer, stream->part, (uint32_t)stream->part_size);
        stream->left -= stream->part_size;
        scn_message_init(&answer, SCN_MESSAGE_answer);
        answer.as.answer.request = stream->request;
        answer.as.answer.body = (struct scn_slice){body.data, (uint32_t)body.size};
        answer.as.answer.more = stream->left > 0;
        if (packer.error == SCN_OK) {
                scn_session_send(stream->session, &answer);
        } else {
                scn_session_end(stream->session, packer.error, NULL);
        }
        scn_buffer_finish(&body);
}

static void fail(struct scn_backup_stream *stream)
{
        scn_server_log(stream->server, SCN_LOG_WARNING, "document %.*s: backup: %s: %s", (int)stream->name.size,
                (const char *)stream->name.data, scn_error_text(stream->error), stream->fault.text);
        scn_session_fail(stream->session, stream->request, stream->error,
                stream->fault.text[0] != '\0' ? stream->fault.text : NULL);
}

static void done_step(struct scn_job *job)
{
        struct scn_backup_stream *stream = (struct scn_backup_stream *)job;
        struct scn_session *session = stream->session;
        stream->server->jobs_count--;
        stream->is_busy = false;
        if (session == NULL || session->state == SCN_SESSION_ENDED) {
                end(stream);
                return;
        }
        if (!stream->is_copied && stream->server->is_low && stream->error == SCN_OK) {
                stream->error = SCN_E_STORAGE_FULL;
                (void)snprintf(stream->fault.text, sizeof stream->fault.text,
                        "the server's disk has no room for the copy that a backup begins with: %llu MiB must stay free",
                        (unsigned long long)stream->server->options.reserve_bytes >> 20);
        }
        if (stream->error != SCN_OK) {
                fail(stream);
                end(stream);
                return;
        }
        if (!stream->is_copied) {
                submit(stream, run_copy, done_step);
                return;
        }
        if (stream->part_size > 0) {
                send_part(stream);
                stream->part_size = 0;
                if (stream->left == 0) {
                        end(stream);
                        return;
                }
        }
        scn_backup_go_on(session);
}

void scn_backup_go_on(struct scn_session *session)
{
        struct scn_backup_stream *stream = session->backup;
        if (stream != NULL && stream->is_copied && !stream->is_busy && scn_session_is_drained(session)) {
                submit(stream, run_read, done_step);
        }
}

void scn_backup_forget(struct scn_session *session)
{
        struct scn_backup_stream *stream = session->backup;
        if (stream != NULL) {
                session->backup = NULL;
                stream->session = NULL;
                if (!stream->is_busy) {
                        submit(stream, run_end, done_end);
                }
        }
}

bool scn_backup_start(struct scn_session *session, uint64_t request)
{
        struct scn_server *server = session->server;
        if (server->backups_count >= SCN_BACKUPS_MAX) {
                return false;
        }
        struct scn_backup_stream *stream = scn_alloc_zero(1, sizeof *stream);
        uint8_t *part = scn_alloc(PART_BYTES);
        struct scn_slice copy = {NULL, 0};
        if (stream == NULL || part == NULL || !scn_slice_copy(session->room->name, &copy)) {
                scn_free(stream);
                scn_free(part);
                scn_session_fail(session, request, SCN_E_NO_MEMORY, NULL);
                return true;
        }
        *stream = (struct scn_backup_stream){
                .server = server,
                .session = session,
                .request = request,
                .name = copy,
                .number = ++server->files_ever,
                .part = part,
        };
        session->backup = stream;
        session->is_asking = true;
        server->backups_count++;
        scn_server_note_reader(server);
        submit(stream, run_copy, done_step);
        return true;
}
