/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/adopt.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "server/answers.h"
#include "server/history_job.h"
#include "server/verify.h"

#include <stdatomic.h>
#include <stdio.h>
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
        uint64_t number;       /* of the file */
        uint64_t bytes;
        uint64_t received;
        int64_t now_us;
        uint64_t progress_ms; /* when so much had come ... */
        uint64_t progress;    /* ... in bytes */
        uint64_t asked_ms;    /* when the job under way began */
        uint64_t told_ms;
        bool replaces;
        bool is_last; /* of the parts: no more will come */
        bool is_busy; /* a job is under way */
        enum state state;
        struct scn_adoption *file;
        struct scn_journal *draft;
        atomic_bool is_given_up;                /* nobody waits for it: the check is to end ... */
        _Atomic(struct scn_journal *) in_check; /* ... which reads this, the draft, as soon as it is open */
        struct scn_room *room;                  /* that is closed for it, or NULL ... */
        struct scn_journal *old;                /* ... and its journal */
        uint8_t *part;                          /* owned */
        uint32_t part_size;
        struct scn_document_options options;
        struct scn_verified verified;
        enum scn_error error;
        struct scn_storage_fault fault;
};

/* --- On a worker --- */

/* Before all the work, though only the name's being given decides. */
static enum scn_error check_name(struct scn_adopt *adopt)
{
        const enum scn_error error = scn_storage_find(adopt->server->storage, adopt->name, NULL);
        return error == SCN_OK && !adopt->replaces ? SCN_E_DOCUMENT_EXISTS
                : error == SCN_E_NO_DOCUMENT       ? SCN_OK
                                                   : error;
}

static void run_write(struct scn_job *job)
{
        struct scn_adopt *adopt = (struct scn_adopt *)job;
        if (adopt->file == NULL) {
                adopt->error = check_name(adopt);
        }
        if (adopt->error == SCN_OK && adopt->file == NULL) {
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
                scn_journal_let_give_up(adopt->draft, &adopt->is_given_up);
                atomic_store(&adopt->in_check, adopt->draft);
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
                /* The file that was sent is one: it is what stands in its place that is none, and stays there. */
                adopt->error = adopt->error == SCN_E_NOT_A_DOCUMENT ? SCN_E_DOCUMENT_EXISTS : adopt->error;
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
        adopt->asked_ms = scn_server_now_ms(adopt->server);
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
                        scn_torn_push(&adopt->session->torn_files, adopt->request);
                }
                struct scn_message asked;
                scn_message_init(&asked, SCN_MESSAGE_adopt);
                asked.as.adopt.document = adopt->name;
                scn_session_fail_about(adopt->session, &asked, adopt->request, adopt->error,
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
        if (is_over(adopt)) {
                end(adopt);
                return;
        }
        if (adopt->error != SCN_OK) {
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
        if (scn_server_is_claimed(adopt->server, adopt->name)) {
                adopt->state = CLOSING; /* what is under way with the name comes first, and nothing new begins */
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

/* One that is about to have the name, whether or not another document has it now. */
static bool is_placing(const struct scn_server *server, struct scn_slice name, bool replaces)
{
        const struct scn_adopt *adopt = server->adopts;
        while (adopt != NULL &&
                ((adopt->state != CLOSING && adopt->state != PLACING) || (replaces && !adopt->replaces) ||
                        !scn_slice_equal(adopt->name, name))) {
                adopt = adopt->next;
        }
        return adopt != NULL;
}

bool scn_adopt_is_replacing(const struct scn_server *server, struct scn_slice name)
{
        return is_placing(server, name, true);
}

/* Its own session would be ended before the answer. */
static bool is_own(const struct scn_session *session, struct scn_slice name)
{
        return session != NULL && session->room != NULL && scn_slice_equal(session->room->name, name);
}

/* --- On the loop: parts --- */

static void done_check(struct scn_job *job)
{
        struct scn_adopt *adopt = (struct scn_adopt *)job;
        adopt->is_busy = false;
        adopt->server->has_check = false;
        atomic_store(&adopt->in_check, NULL);
        if (is_over(adopt) && adopt->error == SCN_E_STOPPING) {
                end(adopt);
                return;
        }
        /* Of the file. What it comes too early for is between the server and who asks. */
        scn_server_log_fault(adopt->server, adopt->name, "a file was refused", adopt->error, &adopt->fault, NULL);
        if (adopt->error == SCN_OK && is_own(adopt->session, adopt->name)) {
                adopt->error = SCN_E_OUT_OF_TURN;
        }
        if (adopt->error == SCN_OK && is_placing(adopt->server, adopt->name, false)) {
                adopt->error = SCN_E_BUSY;
        }
        if (adopt->error != SCN_OK) {
                fail(adopt);
                return;
        }
        place(adopt);
}

/* One at a time: it may take long, and those who ask about the past need workers, too. */
static void check(struct scn_adopt *adopt)
{
        adopt->state = CHECKING;
        if (is_over(adopt)) {
                end(adopt);
                return;
        }
        if (adopt->server->has_check) {
                return; /* scn_adopt_turn() tries again */
        }
        adopt->server->has_check = true;
        submit(adopt, run_check, done_check);
}

/* Where nobody waits for it any longer. Again and again: SQLite forgets it where it has just begun. */
static void give_up_check(struct scn_adopt *adopt)
{
        atomic_store(&adopt->is_given_up, true);
        struct scn_journal *journal = atomic_load(&adopt->in_check);
        if (journal != NULL) {
                scn_journal_interrupt(journal);
        }
}

/* The disk's time is not the sender's. */
static void note_progress(struct scn_adopt *adopt)
{
        const uint64_t now_ms = scn_server_now_ms(adopt->server);
        adopt->received += adopt->part_size;
        adopt->progress_ms += now_ms - adopt->asked_ms;
        if (adopt->received - adopt->progress >= SCN_FILE_PROGRESS_BYTES) {
                adopt->progress = adopt->received;
                adopt->progress_ms = now_ms;
        }
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
        note_progress(adopt);
        if (adopt->error == SCN_OK && adopt->is_last && adopt->received < adopt->bytes) {
                adopt->error = SCN_E_RANGE;
                (void)snprintf(adopt->fault.text, sizeof adopt->fault.text,
                        "adopt.bytes: %llu were announced, and %llu came", (unsigned long long)adopt->bytes,
                        (unsigned long long)adopt->received);
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

/* SCN_OK: the part fits. */
static enum scn_error judge_part(struct scn_adopt *adopt, const struct scn_message_adopt *message)
{
        if (message->part.size > adopt->bytes - adopt->received || (message->part.size == 0 && message->more)) {
                if (message->part.size == 0) {
                        (void)snprintf(adopt->fault.text, sizeof adopt->fault.text,
                                "adopt.part: it is empty, and not the last");
                } else {
                        (void)snprintf(adopt->fault.text, sizeof adopt->fault.text,
                                "adopt.part: more comes than the %llu bytes that were announced",
                                (unsigned long long)adopt->bytes);
                }
                return SCN_E_RANGE;
        }
        return scn_server_check_reserve(adopt->server, &adopt->fault);
}

static void take_part(struct scn_adopt *adopt, const struct scn_message_adopt *message)
{
        struct scn_session *session = adopt->session;
        uint8_t *part = scn_realloc(adopt->part, message->part.size > 0 ? message->part.size : 1);
        adopt->is_last = !message->more;
        session->is_asking = true;
        adopt->part = part != NULL ? part : adopt->part;
        adopt->error = part == NULL ? SCN_E_NO_MEMORY : judge_part(adopt, message);
        if (adopt->error != SCN_OK) {
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

/* What can be known without the file; SCN_OK: it may come. The text stays empty where the error says it all. */
static enum scn_error refuse(
        const struct scn_session *session, const struct scn_message_adopt *message, struct scn_storage_fault *fault)
{
        const struct scn_server *server = session->server;
        const uint64_t max = server->options.file_bytes_max;
        if (server->is_stopping) {
                return SCN_E_STOPPING;
        }
        if (server->adopts_count >= SCN_ADOPTS_MAX) {
                (void)snprintf(
                        fault->text, sizeof fault->text, "the server receives %u files at a time", SCN_ADOPTS_MAX);
                return SCN_E_BUSY;
        }
        if (message->bytes > (max != 0 ? max : SCN_FILE_BYTES_MAX)) {
                (void)snprintf(fault->text, sizeof fault->text, "adopt.bytes: %llu are more than file_bytes_max = %llu",
                        (unsigned long long)message->bytes, (unsigned long long)(max != 0 ? max : SCN_FILE_BYTES_MAX));
                return SCN_E_TOO_LARGE;
        }
        if (message->document.size == 0 || message->document.size > SCN_STORAGE_FILE_NAME_BYTES_MAX) {
                return SCN_E_BAD_NAME;
        }
        if (is_own(session, message->document)) {
                (void)snprintf(fault->text, sizeof fault->text, "this connection has the document open itself");
                return SCN_E_OUT_OF_TURN;
        }
        return scn_server_check_reserve(server, fault);
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
        adopt->number = ++server->files_ever;
        adopt->progress_ms = scn_server_now_ms(server);
        atomic_init(&adopt->is_given_up, false);
        atomic_init(&adopt->in_check, NULL);
        adopt->bytes = message->bytes;
        adopt->replaces = message->replace;
        adopt->now_us = (int64_t)options->utc_us(options->data);
        adopt->options = (struct scn_document_options){.limits = options->limits, .random = scn_document_no_random};
        adopt->next = server->adopts;
        server->adopts = adopt;
        server->adopts_count++;
        server->jobs_count++;
        session->adopt = adopt;
        return adopt;
}

/* A part has failed for itself: so do those that follow, up to the last. */
static void note_failed(struct scn_session *session, const struct scn_message_adopt *message)
{
        if (message->more) {
                scn_torn_push(&session->torn_files, message->request);
        } else {
                scn_torn_remove(&session->torn_files, message->request);
        }
}

void scn_adopt_note_unread(struct scn_session *session, uint64_t request)
{
        struct scn_adopt *adopt = session->adopt;
        if (adopt != NULL && (request == adopt->request || request == SCN_ABSENT)) {
                request = adopt->request;
                let_go(adopt);
        }
        if (request != SCN_ABSENT) {
                scn_torn_push(&session->torn_files, request);
        } else {
                session->torn_files.has_unnamed = true;
        }
}

void scn_adopt_take(struct scn_session *session, const struct scn_message_adopt *message)
{
        struct scn_storage_fault fault = {.text = ""};
        if (scn_torn_take(&session->torn_files, message->request)) {
                note_failed(session, message);
                scn_session_fail(session, message->request, SCN_E_OUT_OF_TURN,
                        "the file of this request was refused: its parts are passed over up to the last");
                return;
        }
        enum scn_error error = session->adopt == NULL ? refuse(session, message, &fault) : SCN_OK;
        if (session->adopt != NULL && session->adopt->request != message->request) {
                error = SCN_E_OUT_OF_TURN;
                (void)snprintf(fault.text, sizeof fault.text, "the file of request %llu is not complete",
                        (unsigned long long)session->adopt->request);
        }
        if (error == SCN_OK && session->adopt == NULL && begin(session, message) == NULL) {
                error = SCN_E_NO_MEMORY;
        }
        if (error != SCN_OK) {
                note_failed(session, message);
                scn_session_fail(session, message->request, error, fault.text[0] != '\0' ? fault.text : NULL);
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
                } else if (adopt->state == CHECKING) {
                        give_up_check(adopt);
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
                } else if (adopt->state == CHECKING && is_over(adopt)) {
                        give_up_check(adopt);
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
                if (!scn_session_wants_input(adopt->session)) {
                        adopt->progress_ms = now_ms; /* it is we who do not read */
                }
                if (adopt->state != RECEIVING && now_ms - adopt->told_ms >= TELL_MS) {
                        answer(adopt, false);
                } else if (adopt->state == RECEIVING && !adopt->is_busy &&
                        now_ms - adopt->progress_ms > SCN_NO_PROGRESS_MS) {
                        adopt->error = SCN_E_SILENT;
                        fail(adopt);
                }
        }
}
