/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/adopt.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "server/answers.h"
#include "server/history_job.h"
#include "server/verify.h"

#include <string.h>

/*   RECEIVING ── all is there ──▶ CHECKING ── it is right ──▶ CLOSING ── nobody has it open ──▶ PLACING
 *       ▲ │
 *       └─┘ a part                                    CLOSING only where a document is replaced */
enum state {
        RECEIVING,
        CHECKING,
        CLOSING,
        PLACING,
};

#define TELL_MS 5000u /* so often somebody who waits is told that it goes on */

struct scn_adopt {
        struct scn_job job;
        struct scn_adopt *next; /* of the server */
        struct scn_server *server;
        struct scn_session *session; /* NULL: gone */
        uint64_t request;
        struct scn_slice name; /* owned bytes */
        uint64_t number;       /* of the session */
        uint64_t bytes;
        uint64_t received;
        int64_t now_us;
        uint64_t heard_ms; /* when the last part came */
        uint64_t told_ms;
        bool replaces;
        bool is_last; /* of the parts: no more will come */
        bool is_busy; /* a job is under way */
        enum state state;
        struct scn_adoption *file;
        struct scn_journal *draft;
        struct scn_room *room;   /* that is closed for it, or NULL ... */
        struct scn_journal *old; /* ... and its journal */
        uint8_t *part;           /* owned */
        uint32_t part_size;
        struct scn_document_options options;
        struct scn_verified verified;
        enum scn_error error;
        struct scn_storage_fault fault;
};

/* --- On a worker --- */

static void run_write(struct scn_job *job)
{
        struct scn_adopt *adopt = (struct scn_adopt *)job;
        if (adopt->file == NULL) {
                adopt->error = scn_adoption_create(
                        adopt->server->storage, adopt->number, adopt->bytes, &adopt->file, &adopt->fault);
        }
        if (adopt->error == SCN_OK) {
                const struct scn_slice part = {adopt->part, adopt->part_size};
                adopt->error = scn_adoption_write(adopt->file, part, &adopt->fault);
        }
}

static void run_check(struct scn_job *job)
{
        struct scn_adopt *adopt = (struct scn_adopt *)job;
        adopt->error = scn_adoption_open(adopt->file, &adopt->draft, &adopt->fault);
        if (adopt->error == SCN_OK) {
                adopt->error = scn_document_verify(adopt->draft, &adopt->options, &adopt->verified, &adopt->fault);
        }
}

static void run_place(struct scn_job *job)
{
        struct scn_adopt *adopt = (struct scn_adopt *)job;
        struct scn_storage *storage = adopt->server->storage;
        struct scn_journal *draft = adopt->draft;
        scn_journal_close(adopt->old);
        adopt->old = NULL;
        adopt->draft = NULL;
        if (adopt->replaces) {
                adopt->error = scn_storage_replace(storage, draft, adopt->name, adopt->now_us, &adopt->fault);
        } else {
                adopt->error = scn_storage_publish(storage, draft, adopt->name, &adopt->fault);
        }
}

static void run_end(struct scn_job *job)
{
        struct scn_adopt *adopt = (struct scn_adopt *)job;
        if (adopt->draft != NULL) {
                scn_storage_discard(adopt->server->storage, adopt->draft);
        }
        scn_adoption_destroy(adopt->file);
}

/* --- On the loop: its end --- */

static void submit(struct scn_adopt *adopt, void (*run)(struct scn_job *job), void (*done)(struct scn_job *job))
{
        const struct scn_server_options *options = &adopt->server->options;
        SCN_ASSERT(!adopt->is_busy);
        adopt->job = (struct scn_job){.run = run, .done = done};
        adopt->is_busy = true;
        options->submit(options->data, &adopt->job);
}

static void done_end(struct scn_job *job)
{
        struct scn_adopt *adopt = (struct scn_adopt *)job;
        struct scn_server *server = adopt->server;
        struct scn_adopt **at = &server->adopts;
        while (*at != adopt) {
                at = &(*at)->next;
        }
        *at = adopt->next;
        server->adopts_count--;
        server->jobs_count--;
        scn_free((void *)adopt->name.data);
        scn_free(adopt->part);
        scn_free(adopt);
}

/* The session is free for what it asks next; what is left of the file goes on a worker. */
static void let_go(struct scn_adopt *adopt)
{
        struct scn_session *session = adopt->session;
        adopt->session = NULL;
        adopt->state = RECEIVING; /* it holds no name any more */
        submit(adopt, run_end, done_end);
        if (session != NULL) {
                session->adopt = NULL;
                session->is_asking = false;
        }
}

static void end(struct scn_adopt *adopt)
{
        struct scn_session *session = adopt->session;
        let_go(adopt);
        if (session != NULL) {
                scn_session_pump(session);
        }
}

/* Nothing came of it; the parts that are still under way are passed over. */
static void say_failed(struct scn_adopt *adopt)
{
        if (adopt->session != NULL) {
                if (!adopt->is_last) {
                        adopt->session->torn_file = adopt->request;
                }
                scn_session_fail(adopt->session, adopt->request, adopt->error,
                        adopt->fault.text[0] != '\0' ? adopt->fault.text : NULL);
        }
}

static void fail(struct scn_adopt *adopt)
{
        say_failed(adopt);
        end(adopt);
}

static bool is_over(const struct scn_adopt *adopt)
{
        return adopt->session == NULL || adopt->session->state == SCN_SESSION_ENDED;
}

/* --- On the loop: answers --- */

static void answer(struct scn_adopt *adopt, bool is_placed)
{
        struct scn_buffer body;
        struct scn_message message;
        scn_buffer_init(&body, 1024);
        struct scn_packer packer = scn_packer_to(&body);
        scn_pack_map(&packer, is_placed ? 3 : 1);
        if (is_placed) {
                scn_pack_cstring(&packer, "doc");
                scn_pack_text(&packer, adopt->name);
                scn_history_pack(&packer, "rev", adopt->verified.revision);
                scn_pack_cstring(&packer, "digest");
                scn_pack_digest(&packer, &adopt->verified.digests);
        } else {
                scn_history_pack(&packer, "received", adopt->received);
        }
        scn_message_init(&message, SCN_MESSAGE_answer);
        message.as.answer.request = adopt->request;
        message.as.answer.body = (struct scn_slice){body.data, (uint32_t)body.size};
        message.as.answer.more = !is_placed;
        if (packer.error == SCN_OK) {
                scn_session_send(adopt->session, &message);
        } else {
                scn_session_end(adopt->session, packer.error, NULL);
        }
        scn_buffer_finish(&body);
        adopt->told_ms = scn_server_now_ms(adopt->server);
}

/* --- On the loop: the name --- */

static void done_place(struct scn_job *job)
{
        struct scn_adopt *adopt = (struct scn_adopt *)job;
        struct scn_room *room = adopt->room;
        adopt->is_busy = false;
        adopt->room = NULL;
        if (room != NULL) {
                room->jobs_count--;
                scn_room_tick(room);
        }
        if (adopt->error == SCN_OK) {
                scn_server_log(adopt->server, SCN_LOG_INFO, "document %.*s: made of a file, revision %llu",
                        (int)adopt->name.size, (const char *)adopt->name.data,
                        (unsigned long long)adopt->verified.revision);
        }
        if (adopt->error != SCN_OK || is_over(adopt)) {
                fail(adopt);
                return;
        }
        answer(adopt, true);
        end(adopt);
}

static void end_sessions(struct scn_room *room)
{
        for (struct scn_session *session = room->sessions; session != NULL; session = session->next_in_room) {
                scn_session_end(session, SCN_E_REPLACED, NULL);
        }
        scn_room_cancel_checkpoint(room);
        (void)scn_room_cancel_history_upkeep(room);
}

/* As soon as nobody has the document open. */
static void place(struct scn_adopt *adopt)
{
        struct scn_room *room = adopt->replaces ? scn_server_find_room(adopt->server, adopt->name) : NULL;
        if (is_over(adopt)) {
                end(adopt);
                return;
        }
        if (room != NULL) {
                end_sessions(room);
                if (room->state != SCN_ROOM_OPEN || !scn_room_is_unused(room)) {
                        adopt->state = CLOSING;
                        return;
                }
                adopt->room = room;
                adopt->old = scn_room_retire(room);
        }
        adopt->state = PLACING;
        submit(adopt, run_place, done_place);
}

bool scn_adopt_is_replacing(const struct scn_server *server, struct scn_slice name)
{
        for (const struct scn_adopt *adopt = server->adopts; adopt != NULL; adopt = adopt->next) {
                if ((adopt->state == CLOSING || adopt->state == PLACING) && adopt->replaces &&
                        adopt->name.size == name.size && memcmp(adopt->name.data, name.data, name.size) == 0) {
                        return true;
                }
        }
        return false;
}

/* --- On the loop: parts --- */

static void done_check(struct scn_job *job)
{
        struct scn_adopt *adopt = (struct scn_adopt *)job;
        adopt->is_busy = false;
        scn_server_end_history_job(adopt->server);
        if (adopt->error == SCN_OK && adopt->replaces && scn_adopt_is_replacing(adopt->server, adopt->name)) {
                adopt->error = SCN_E_BUSY;
        }
        if (adopt->error != SCN_OK) {
                scn_server_log(adopt->server, SCN_LOG_WARNING, "document %.*s: a file was refused: %s: %s",
                        (int)adopt->name.size, (const char *)adopt->name.data, scn_error_text(adopt->error),
                        adopt->fault.text);
                fail(adopt);
                return;
        }
        place(adopt);
}

/* Few at a time, like all that reads journals. */
static void check(struct scn_adopt *adopt)
{
        adopt->state = CHECKING;
        if (is_over(adopt)) {
                end(adopt);
                return;
        }
        if (!scn_server_has_history_job(adopt->server)) {
                return; /* scn_adopt_turn() tries again */
        }
        scn_server_begin_history_job(adopt->server);
        submit(adopt, run_check, done_check);
}

static void done_write(struct scn_job *job)
{
        struct scn_adopt *adopt = (struct scn_adopt *)job;
        struct scn_session *session = adopt->session;
        adopt->is_busy = false;
        if (is_over(adopt)) {
                end(adopt);
                return;
        }
        adopt->received += adopt->part_size;
        if (adopt->error == SCN_OK && adopt->is_last && adopt->received < adopt->bytes) {
                adopt->error = SCN_E_RANGE;
        }
        if (adopt->error != SCN_OK) {
                fail(adopt);
                return;
        }
        if (adopt->is_last) {
                check(adopt);
                return;
        }
        session->is_asking = false;
        answer(adopt, false);
        scn_session_pump(session);
}

static void take_part(struct scn_adopt *adopt, const struct scn_message_adopt *message)
{
        struct scn_session *session = adopt->session;
        uint8_t *part = scn_realloc(adopt->part, message->part.size > 0 ? message->part.size : 1);
        adopt->heard_ms = scn_server_now_ms(adopt->server);
        adopt->is_last = !message->more;
        session->is_asking = true;
        adopt->part = part != NULL ? part : adopt->part;
        if (part == NULL || message->part.size > adopt->bytes - adopt->received) {
                adopt->error = part == NULL ? SCN_E_NO_MEMORY : SCN_E_RANGE;
                say_failed(adopt);
                let_go(adopt); /* the session is just working off its inbox */
                return;
        }
        if (message->part.size > 0) {
                memcpy(adopt->part, message->part.data, message->part.size);
        }
        adopt->part_size = message->part.size;
        submit(adopt, run_write, done_write);
}

static void no_random(void *data, uint8_t *bytes, size_t size)
{
        (void)data;
        memset(bytes, 0, size);
}

/* What can be known without the file; SCN_OK: it may come. */
static enum scn_error refuse(const struct scn_session *session, const struct scn_message_adopt *message)
{
        const struct scn_server *server = session->server;
        const uint64_t max = server->options.file_bytes_max;
        if (server->adopts_count >= SCN_ADOPTS_MAX || server->is_stopping) {
                return SCN_E_BUSY;
        }
        if (message->bytes > (max != 0 ? max : SCN_FILE_BYTES_MAX)) {
                return SCN_E_TOO_LARGE;
        }
        if (message->document.size == 0 || message->document.size > SCN_STORAGE_FILE_NAME_BYTES_MAX) {
                return SCN_E_BAD_NAME;
        }
        if (session->room != NULL && session->room->name.size == message->document.size &&
                memcmp(session->room->name.data, message->document.data, message->document.size) == 0) {
                return SCN_E_OUT_OF_TURN; /* its own session would be ended before the answer */
        }
        return SCN_OK;
}

static struct scn_adopt *begin(struct scn_session *session, const struct scn_message_adopt *message)
{
        struct scn_server *server = session->server;
        const struct scn_server_options *options = &server->options;
        struct scn_adopt *adopt = scn_alloc_zero(1, sizeof *adopt);
        if (adopt == NULL || !scn_slice_copy(message->document, &adopt->name)) {
                scn_free(adopt);
                return NULL;
        }
        adopt->server = server;
        adopt->session = session;
        adopt->request = message->request;
        adopt->number = session->number;
        adopt->bytes = message->bytes;
        adopt->replaces = message->replace;
        adopt->now_us = (int64_t)options->utc_us(options->data);
        adopt->options = (struct scn_document_options){.limits = options->limits, .random = no_random};
        adopt->next = server->adopts;
        server->adopts = adopt;
        server->adopts_count++;
        server->jobs_count++;
        session->adopt = adopt;
        return adopt;
}

void scn_adopt_take(struct scn_session *session, const struct scn_message_adopt *message)
{
        if (session->adopt == NULL && session->torn_file == message->request) {
                session->torn_file = message->more ? session->torn_file : SCN_ABSENT;
                return;
        }
        enum scn_error error = session->adopt == NULL         ? refuse(session, message)
                : session->adopt->request != message->request ? SCN_E_OUT_OF_TURN
                                                              : SCN_OK;
        if (error == SCN_OK && session->adopt == NULL && begin(session, message) == NULL) {
                error = SCN_E_NO_MEMORY;
        }
        if (error != SCN_OK) {
                if (session->adopt == NULL && message->more) {
                        session->torn_file = message->request;
                }
                scn_session_fail(session, message->request, error, NULL);
                return;
        }
        take_part(session->adopt, message);
}

void scn_adopt_forget(struct scn_session *session)
{
        struct scn_adopt *adopt = session->adopt;
        if (adopt != NULL) {
                session->adopt = NULL;
                adopt->session = NULL;
                if (!adopt->is_busy) {
                        end(adopt);
                }
        }
}

void scn_adopt_turn(struct scn_server *server)
{
        struct scn_adopt *next = NULL;
        for (struct scn_adopt *adopt = server->adopts; adopt != NULL; adopt = next) {
                next = adopt->next;
                if (adopt->state == CLOSING && !adopt->is_busy) {
                        place(adopt);
                } else if (adopt->state == CHECKING && !adopt->is_busy) {
                        check(adopt);
                }
        }
}

void scn_adopt_tick(struct scn_server *server)
{
        const uint64_t now_ms = scn_server_now_ms(server);
        struct scn_adopt *next = NULL;
        for (struct scn_adopt *adopt = server->adopts; adopt != NULL; adopt = next) {
                next = adopt->next;
                if (is_over(adopt)) {
                        continue;
                }
                if (adopt->state != RECEIVING && now_ms - adopt->told_ms >= TELL_MS) {
                        answer(adopt, false);
                } else if (adopt->state == RECEIVING && !adopt->is_busy &&
                        now_ms - adopt->heard_ms > SCN_NO_PROGRESS_MS) {
                        adopt->error = SCN_E_SILENT;
                        fail(adopt);
                }
        }
}
