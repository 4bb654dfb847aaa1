/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* A session: bytes in become queued messages, messages out become segments. */

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "server/adopt.h"
#include "server/answer.h"
#include "server/core.h"
#include "server/restore.h"
#include "server/undo.h"

#include <stdio.h>
#include <string.h>

/* --- Life --- */

struct scn_session *scn_session_create(struct scn_server *server, void *transport)
{
        if (server->is_stopping || server->sessions_count >= SCN_SESSIONS_MAX) {
                return NULL;
        }
        struct scn_session *session = scn_alloc_zero(1, sizeof *session);
        if (session == NULL) {
                return NULL;
        }
        session->server = server;
        session->transport = transport;
        session->number = ++server->sessions_ever;
        session->began_ms = scn_server_now_ms(server);
        session->progress_ms = session->began_ms;
        session->heard_ms = session->began_ms;
        scn_frame_reader_init(&session->reader);
        session->next = server->sessions;
        if (server->sessions != NULL) {
                server->sessions->previous = session;
        }
        server->sessions = session;
        server->sessions_count++;
        return session;
}

static void free_queue(struct scn_queued *first)
{
        while (first != NULL) {
                struct scn_queued *next = first->next;
                scn_free(first);
                first = next;
        }
}

/* The first one. */
static void drop_segment(struct scn_session *session)
{
        struct scn_segment *segment = session->outbox_first;
        session->outbox_first = segment->next;
        scn_shared_bytes_unref(segment->bytes);
        segment->bytes = NULL;
        if (segment != &session->segment) {
                scn_free(segment);
        }
}

static void free_outbox(struct scn_session *session)
{
        while (session->outbox_first != NULL) {
                drop_segment(session);
        }
        session->outbox_last = NULL;
        session->outbox_bytes = 0;
}

bool scn_session_is_lent(const struct scn_session *session)
{
        return session->room != NULL && session->room->loan != NULL;
}

/* There is no connection any more, but the worker that has the room may be about this one. */
static void leave_later(struct scn_session *session)
{
        session->state = SCN_SESSION_ENDED;
        session->is_leaving = true;
        session->transport = NULL;
        free_outbox(session);
}

void scn_session_destroy(struct scn_session *session)
{
        struct scn_server *server = session->server;
        if (scn_session_is_lent(session)) {
                leave_later(session);
                return;
        }
        scn_backup_forget(session);
        scn_adopt_forget(session);
        scn_room_leave(session);
        free_queue(session->inbox_first);
        free_queue(session->staged_first);
        free_outbox(session);
        scn_undo_destroy(session->undo);
        scn_restore_destroy(session->restore);
        scn_frame_reader_finish(&session->reader);
        scn_free((void *)(uintptr_t)session->author);
        *(session->previous != NULL ? &session->previous->next : &server->sessions) = session->next;
        if (session->next != NULL) {
                session->next->previous = session->previous;
        }
        server->sessions_count--;
        scn_intake_forget(session);
        scn_free(session);
}

/* --- Out --- */

void scn_session_wake(struct scn_session *session)
{
        const struct scn_server_options *options = &session->server->options;
        if (!session->is_leaving) {
                options->wake(options->data, session, session->transport);
        }
}

void scn_session_cut(struct scn_session *session)
{
        session->state = SCN_SESSION_ENDED;
        session->is_cut = true;
        scn_session_wake(session);
}

void scn_session_send_shared(struct scn_session *session, struct scn_shared_bytes *bytes)
{
        if (session->state == SCN_SESSION_ENDED) {
                return;
        }
        struct scn_segment *segment = session->segment.bytes == NULL ? &session->segment : scn_alloc(sizeof *segment);
        if (segment == NULL) {
                scn_session_cut(session);
                return;
        }
        *segment = (struct scn_segment){NULL, scn_shared_bytes_ref(bytes), 0};
        if (session->outbox_last != NULL) {
                session->outbox_last->next = segment;
        } else {
                session->outbox_first = segment;
                session->progress_ms = scn_server_now_ms(session->server);
                session->pace_ms = session->progress_ms;
                session->pace_bytes = 0;
        }
        session->outbox_last = segment;
        session->outbox_bytes += bytes->size;
        scn_shared_bytes_count(bytes, &session->server->output_bytes);
        scn_session_wake(session);
}

/* What is short needs no memory but the frame's own. NULL: it is not short, or there is no memory. */
static struct scn_shared_bytes *frame_short(const struct scn_message *message)
{
        uint8_t bytes[256];
        struct scn_buffer payload = {.data = bytes, .capacity = sizeof bytes, .size_max = sizeof bytes};
        return scn_message_encode(message, &payload) == SCN_OK
                ? scn_answer_frame((struct scn_slice){bytes, (uint32_t)payload.size})
                : NULL;
}

/* What is long is encoded where it stays: behind the head of what is shared, and of the frame. */
static struct scn_shared_bytes *frame_long(const struct scn_message *message)
{
        static const uint8_t front[sizeof(struct scn_shared_bytes) + SCN_FRAME_HEAD_BYTES_MAX];
        const size_t body = message->kind == SCN_MESSAGE_answer ? message->as.answer.body.size : 0;
        struct scn_buffer buffer;
        struct scn_shared_bytes *shared = NULL;
        scn_buffer_init(&buffer, sizeof front + SCN_MESSAGE_BYTES_MAX);
        if (scn_buffer_reserve(&buffer, sizeof front + body + 64) == SCN_OK &&
                scn_buffer_append(&buffer, front, sizeof front) == SCN_OK &&
                scn_message_encode(message, &buffer) == SCN_OK) {
                uint8_t head[SCN_FRAME_HEAD_BYTES_MAX];
                const size_t size = buffer.size - sizeof front;
                const uint32_t head_size = scn_frame_head((uint32_t)size, head);
                uint8_t *const frame = buffer.data + sizeof(struct scn_shared_bytes);
                memcpy(frame, head, head_size);
                if (head_size < sizeof head) {
                        memmove(frame + head_size, frame + sizeof head, size);
                }
                shared = scn_shared_bytes_take(&buffer, head_size + (uint32_t)size);
        }
        scn_buffer_finish(&buffer);
        return shared;
}

struct scn_shared_bytes *scn_session_frame(const struct scn_message *message)
{
        struct scn_shared_bytes *shared = frame_short(message);
        return shared != NULL ? shared : frame_long(message);
}

/* The stream to the client begins with the preface, whatever comes first. */
static bool send_preface(struct scn_session *session)
{
        struct scn_shared_bytes *preface = scn_shared_bytes_create(scn_preface, SCN_PREFACE_BYTES);
        if (preface == NULL) {
                return false;
        }
        session->has_sent_preface = true;
        scn_session_send_shared(session, preface);
        scn_shared_bytes_unref(preface);
        return true;
}

void scn_session_send(struct scn_session *session, const struct scn_message *message)
{
        if (session->state == SCN_SESSION_ENDED) {
                return;
        }
        if (!session->has_sent_preface && !send_preface(session)) {
                scn_session_cut(session);
                return;
        }
        struct scn_shared_bytes *frame = scn_session_frame(message);
        if (frame == NULL) {
                scn_session_cut(session);
                return;
        }
        scn_session_send_shared(session, frame);
        scn_shared_bytes_unref(frame);
}

static struct scn_slice text_of(const char *text)
{
        return (struct scn_slice){(const uint8_t *)text, (uint32_t)strlen(text)};
}

/* A text may have come from a damaged file; what is said must be UTF-8. */
static struct scn_slice clean(const char *text, char room[SCN_SAID_BYTES_MAX])
{
        struct scn_slice slice = text_of(text);
        if (slice.size <= SCN_SAID_BYTES_MAX && scn_utf8_is_valid(slice.data, slice.size)) {
                return slice;
        }
        slice.size = slice.size < SCN_SAID_BYTES_MAX ? slice.size : SCN_SAID_BYTES_MAX;
        for (uint32_t i = 0; i < slice.size; i++) {
                room[i] = (uint8_t)text[i] < 0x80 ? text[i] : '?';
        }
        return (struct scn_slice){(const uint8_t *)room, slice.size};
}

static void send_failed(
        struct scn_session *session, uint64_t request, enum scn_error error, const char *text, bool closes)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_failed);
        message.as.failed.request = request;
        message.as.failed.code = text_of(scn_error_code(error));
        char room[SCN_SAID_BYTES_MAX];
        message.as.failed.text = clean(text != NULL ? text : scn_error_text(error), room);
        message.as.failed.closes = closes;
        scn_session_send(session, &message);
}

void scn_session_fail_said(struct scn_session *session, uint64_t request, enum scn_error error, const char *text)
{
        send_failed(session, request, error, text, false);
}

void scn_session_fail(struct scn_session *session, uint64_t request, enum scn_error error, const char *text)
{
        if (session->asked != NULL) {
                scn_session_fail_about(session, session->asked, request, error, text);
        } else {
                send_failed(session, request, error, text, false);
        }
}

void scn_session_fail_about(struct scn_session *session, const struct scn_message *message, uint64_t request,
        enum scn_error error, const char *text)
{
        struct scn_said said;
        const struct scn_limits *limits = &session->server->options.limits;
        send_failed(session, request, error, scn_about_request(&said, message, error, text, limits), false);
}

void scn_session_fail_limit(struct scn_session *session, uint64_t request, enum scn_error error, const char *field,
        const char *limit, uint64_t allowed)
{
        char text[160];
        (void)snprintf(text, sizeof text, "%s: %s, %s = %llu", field, scn_error_text(error), limit,
                (unsigned long long)allowed);
        scn_session_fail(session, request, error, text);
}

void scn_session_fail_field(struct scn_session *session, uint64_t request, enum scn_error error, const char *field)
{
        char text[160];
        (void)snprintf(text, sizeof text, "%s: %s", field, scn_error_text(error));
        scn_session_fail(session, request, error, text);
}

void scn_session_fail_nodes(struct scn_session *session, uint64_t request, enum scn_error error, const char *field)
{
        char text[160];
        (void)snprintf(text, sizeof text, "%s: %s", field,
                error == SCN_E_BAD_MESSAGE ? "wants an array of nodes, each an id, a uid or a path"
                                           : scn_error_text(error));
        scn_session_fail(session, request, error, text);
}

void scn_session_end(struct scn_session *session, enum scn_error error, const char *text)
{
        if (session->state != SCN_SESSION_ENDED) {
                send_failed(session, SCN_ABSENT, error, text, true);
                session->state = SCN_SESSION_ENDED;
                scn_session_wake(session);
        }
}

size_t scn_session_output(struct scn_session *session, struct scn_slice *slices, size_t slices_max)
{
        size_t count = 0;
        struct scn_segment *segment = session->is_cut ? NULL : session->outbox_first;
        for (; segment != NULL && count < slices_max; segment = segment->next) {
                slices[count++] =
                        (struct scn_slice){segment->bytes->bytes + segment->sent, segment->bytes->size - segment->sent};
        }
        return count;
}

void scn_session_sent(struct scn_session *session, size_t bytes)
{
        session->outbox_bytes -= bytes;
        session->pace_bytes += bytes;
        while (bytes > 0) {
                struct scn_segment *segment = session->outbox_first;
                SCN_ASSERT(segment != NULL);
                const size_t left = segment->bytes->size - segment->sent;
                if (bytes < left) {
                        segment->sent += (uint32_t)bytes;
                        break;
                }
                bytes -= left;
                drop_segment(session);
        }
        if (session->outbox_first != NULL) {
                session->progress_ms = scn_server_now_ms(session->server);
                if (session->pace_bytes >= SCN_PACE_BYTES) {
                        session->pace_ms = session->progress_ms;
                        session->pace_bytes = 0;
                }
                return;
        }
        session->outbox_last = NULL;
        if (session->state == SCN_SESSION_OPEN) {
                scn_view_catch_up(session);
                scn_live_go_on(session);
                scn_backup_go_on(session);
        }
        if (session->outbox_first == NULL) {
                scn_session_pump(session);
        }
}

bool scn_session_may_send(struct scn_session *session)
{
        if (session->moment != session->room->moment) {
                session->moment = session->room->moment;
                session->may_send = scn_session_is_drained(session);
        }
        return session->may_send;
}

struct scn_author *scn_session_author(struct scn_session *session)
{
        struct scn_room *room = session->room;
        if (session->own == NULL) {
                const struct scn_slice name = {session->author, session->author_size};
                session->own = scn_author_get(&room->authors, name, room->durable);
                if (session->own != NULL) {
                        scn_author_enter(&room->authors, session->own);
                }
        }
        return session->own;
}

bool scn_session_is_drained(const struct scn_session *session)
{
        return session->outbox_first == NULL;
}

static bool has_unanswered(const struct scn_session *session)
{
        return session->inbox_first != NULL || session->is_asking || session->answers_due > 0 ||
                session->state == SCN_SESSION_OPENING;
}

bool scn_session_is_working(const struct scn_session *session)
{
        return session->state != SCN_SESSION_ENDED && session->outbox_first == NULL && has_unanswered(session);
}

bool scn_session_has_ended(const struct scn_session *session)
{
        return session->state == SCN_SESSION_ENDED;
}

/* --- In --- */

/* One answer can always be under way, however large it is; another one while there is plenty of room for all. */
bool scn_session_has_room(const struct scn_session *session)
{
        return session->outbox_bytes < SCN_INBOX_BYTES_MAX &&
                (session->outbox_first == NULL || scn_output_has_plenty(session->server));
}

/* While a client takes nothing, nothing more is taken from it. */
bool scn_session_wants_input(const struct scn_session *session)
{
        return session->state != SCN_SESSION_ENDED && !session->has_no_more_input &&
                session->inbox_bytes < SCN_INBOX_BYTES_MAX && session->outbox_bytes < SCN_INBOX_BYTES_MAX &&
                scn_intake_has_room(session);
}

void scn_session_set_ready(struct scn_session *session, bool is_ready)
{
        struct scn_room *room = session->room;
        if (is_ready && !session->is_ready) {
                session->ready_next = NULL;
                session->ready_previous = room->ready_last;
                *(room->ready_last != NULL ? &room->ready_last->ready_next : &room->ready_first) = session;
                room->ready_last = session;
        } else if (!is_ready && session->is_ready) {
                struct scn_session *const previous = session->ready_previous;
                struct scn_session *const next = session->ready_next;
                *(previous != NULL ? &previous->ready_next : &room->ready_first) = next;
                *(next != NULL ? &next->ready_previous : &room->ready_last) = previous;
        }
        session->is_ready = is_ready;
}

static bool enqueue(struct scn_session *session, struct scn_slice payload)
{
        struct scn_queued *queued = scn_alloc(sizeof *queued + payload.size);
        if (queued == NULL) {
                return false;
        }
        queued->next = NULL;
        queued->size = payload.size;
        queued->waits_for_turn = false;
        queued->waits_for_loan = false;
        memcpy(queued->payload, payload.data, payload.size);
        *(session->inbox_last != NULL ? &session->inbox_last->next : &session->inbox_first) = queued;
        session->inbox_last = queued;
        session->inbox_bytes += sizeof *queued + payload.size;
        if (session->room != NULL) {
                scn_session_set_ready(session, true);
        }
        return true;
}

/* The peer has said its last and has been answered. */
static void end_if_done(struct scn_session *session)
{
        if (!session->has_no_more_input || session->state == SCN_SESSION_ENDED || has_unanswered(session)) {
                return;
        }
        if (session->stream_error != SCN_OK) {
                struct scn_said said;
                const enum scn_error error = session->stream_error;
                scn_session_end(session, error, scn_about_stream(&said, &session->reader, error));
        } else {
                session->state = SCN_SESSION_ENDED;
                scn_session_wake(session);
        }
}

/* Behind a break nothing can be read, but what came before it counts (CASES B41). */
static void break_off(struct scn_session *session, enum scn_error error)
{
        session->stream_error = error;
        session->has_no_more_input = true;
        end_if_done(session);
}

void scn_session_feed(struct scn_session *session, const void *bytes, size_t size)
{
        struct scn_slice payload;
        if (session->state == SCN_SESSION_ENDED || session->has_no_more_input) {
                return;
        }
        session->heard_ms = scn_server_now_ms(session->server);
        enum scn_error error = scn_frame_reader_feed(&session->reader, bytes, size);
        while (error == SCN_OK && scn_frame_reader_next(&session->reader, &payload, &error)) {
                if (!enqueue(session, payload)) {
                        error = SCN_E_NO_MEMORY;
                }
                scn_session_pump(session);
                if (session->state == SCN_SESSION_ENDED) {
                        return;
                }
        }
        scn_frame_reader_trim(&session->reader);
        scn_intake_count(session);
        if (error != SCN_OK) {
                break_off(session, error);
        }
        if (!scn_session_wants_input(session)) {
                session->has_stopped_reading = true;
        }
}

static struct scn_queued *take_head(struct scn_session *session)
{
        struct scn_queued *head = session->inbox_first;
        session->history_place = 0;
        session->inbox_first = head->next;
        session->inbox_last = head->next == NULL ? NULL : session->inbox_last;
        session->inbox_bytes -= sizeof *head + head->size;
        if (session->inbox_first == NULL) {
                scn_session_set_ready(session, false);
        }
        scn_intake_count(session);
        if ((session->has_stopped_reading || session->server->is_input_full) && scn_session_wants_input(session)) {
                session->has_stopped_reading = false;
                scn_session_wake(session);
        }
        return head;
}

void scn_session_pop(struct scn_session *session)
{
        scn_free(take_head(session));
}

void scn_session_stage(struct scn_session *session)
{
        struct scn_queued *part = take_head(session);
        part->next = NULL;
        *(session->staged_last != NULL ? &session->staged_last->next : &session->staged_first) = part;
        session->staged_last = part;
        session->staged_bytes += part->size;
        session->staged_heads += sizeof *part;
        scn_intake_count(session);
}

void scn_session_drop_staged(struct scn_session *session)
{
        free_queue(session->staged_first);
        session->staged_first = NULL;
        session->staged_last = NULL;
        session->staged_bytes = 0;
        session->staged_heads = 0;
        scn_intake_count(session);
}

static void tear(struct scn_session *session, uint64_t number)
{
        if (!scn_torn_add(&session->torn, number, session->last_number)) {
                scn_session_end(session, SCN_E_OUT_OF_TURN, "too many edits of which parts are missing");
        }
}

void scn_session_tear_staged(struct scn_session *session)
{
        if (session->staged_first != NULL) {
                tear(session, session->staged_number);
                scn_session_drop_staged(session);
        }
}

void scn_session_note_refused(struct scn_session *session, const struct scn_message *message)
{
        if (message->kind == SCN_MESSAGE_edit && message->as.edit.more) {
                tear(session, message->as.edit.number);
        } else if (message->kind == SCN_MESSAGE_edit) {
                scn_torn_remove(&session->torn, message->as.edit.number);
        }
}

static struct scn_slice payload_of(const struct scn_queued *queued)
{
        return (struct scn_slice){queued->payload, queued->size};
}

/* A number that was answered is used up, lest the next one leaves a gap. */
void scn_session_use_number(struct scn_session *session, uint64_t number)
{
        if (session->state == SCN_SESSION_OPEN && number > session->last_number &&
                (!session->has_number || number == session->last_number + 1)) {
                session->last_number = number;
                session->has_number = true;
        }
}

/* Those that change the document: they have a number of the client's row, and wait for the room's turn. */
static bool is_taken_by_turn(uint64_t kind)
{
        return kind == SCN_MESSAGE_edit || kind == SCN_MESSAGE_undo || kind == SCN_MESSAGE_redo ||
                kind == SCN_MESSAGE_restore;
}

void scn_session_reject(
        struct scn_session *session, uint64_t kind, uint64_t request, enum scn_error error, const char *text)
{
        const bool has_number = is_taken_by_turn(kind);
        if (!has_number || request == SCN_ABSENT) {
                scn_session_fail(session, request, error, text);
                return;
        }
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_refused);
        message.as.refused.number = request;
        message.as.refused.code = text_of(scn_error_code(error));
        message.as.refused.text = text_of(text != NULL ? text : scn_error_text(error));
        scn_session_use_number(session, request);
        scn_session_send(session, &message);
}

/* It may have been one of several parts, and which number it had may not be known: what follows is not done either. */
static void note_unread(struct scn_session *session, const struct scn_message_fault *fault)
{
        if (fault->number == SCN_ABSENT || is_taken_by_turn(fault->number)) {
                scn_session_tear_staged(session);
        }
        if (fault->number == SCN_MESSAGE_edit && fault->request != SCN_ABSENT) {
                tear(session, fault->request);
        } else if (fault->number == SCN_MESSAGE_edit || fault->number == SCN_ABSENT) {
                session->torn.has_unnamed = true;
        }
}

void scn_session_answer_fault(struct scn_session *session, enum scn_error error, const struct scn_message_fault *fault)
{
        char text[128];
        if (fault->bytes_max != 0) {
                (void)snprintf(text, sizeof text, "%s: %s, %u bytes", scn_message_name(fault->number),
                        scn_error_text(error), fault->bytes_max);
        } else if (error == SCN_E_UNKNOWN_MESSAGE) {
                (void)snprintf(text, sizeof text, "message %llu: %s", (unsigned long long)fault->number,
                        scn_error_text(error));
        } else {
                (void)snprintf(text, sizeof text, "%s%s%s: %s",
                        fault->number == SCN_ABSENT ? "message" : scn_message_name(fault->number),
                        fault->field == NULL ? "" : ".", fault->field == NULL ? "" : fault->field,
                        fault->reason != NULL ? fault->reason : scn_error_text(error));
        }
        note_unread(session, fault);
        if (fault->number == SCN_MESSAGE_adopt) {
                scn_adopt_note_unread(session, fault->request);
        }
        if (session->state == SCN_SESSION_NEW) {
                scn_session_end(session, error, text);
        } else {
                scn_session_reject(session, fault->number, fault->request, error, text);
        }
}

void scn_session_end_input(struct scn_session *session)
{
        session->has_no_more_input = true;
        end_if_done(session);
}

static bool handle(struct scn_session *session, const struct scn_message *message)
{
        const struct scn_message *before = session->asked;
        session->asked = message;
        const bool is_done = scn_handle(session, message);
        session->asked = before;
        return is_done;
}

/* Whoever asks much at once does not keep the others waiting. */
static void note_share(struct scn_session *session, uint64_t began_ms)
{
        struct scn_server *server = session->server;
        if (session->share_turn != server->turns_count) {
                session->share_turn = server->turns_count;
                session->share_ms = 0;
        }
        session->share_ms += scn_server_now_ms(server) - began_ms;
        session->is_resting = session->share_ms >= SCN_SHARE_MS;
        server->has_resting = server->has_resting || session->is_resting;
}

static void pump(struct scn_session *session)
{
        while (session->state != SCN_SESSION_ENDED && session->inbox_first != NULL && !session->is_asking &&
                !session->is_resting && scn_session_has_room(session)) {
                struct scn_queued *head = session->inbox_first;
                struct scn_message message;
                struct scn_message_fault fault;
                /* An edit is read once, in its turn. */
                head->waits_for_turn = head->waits_for_turn ||
                        (session->state == SCN_SESSION_OPEN &&
                                scn_message_number(payload_of(head)) == SCN_MESSAGE_edit);
                if (head->waits_for_turn) {
                        return;
                }
                const uint64_t began_ms = scn_server_now_ms(session->server);
                const enum scn_error error =
                        scn_message_decode(payload_of(head), SCN_RECEIVER_SERVER, &message, &fault);
                if (error != SCN_OK) {
                        scn_session_answer_fault(session, error, &fault);
                } else if (!handle(session, &message)) {
                        /* While a document is being opened it is not known yet whether there will be turns. */
                        head->waits_for_turn = session->state == SCN_SESSION_OPEN && is_taken_by_turn(message.kind);
                        return;
                }
                if (session->state != SCN_SESSION_ENDED) {
                        scn_session_pop(session);
                        note_share(session, began_ms);
                }
        }
}

void scn_session_pump(struct scn_session *session)
{
        pump(session);
        end_if_done(session);
}

const struct scn_queued *scn_session_edit(const struct scn_session *session)
{
        const bool is_waiting = session->is_asking || session->is_resting;
        const struct scn_queued *head = session->inbox_first;
        return session->state == SCN_SESSION_OPEN && !is_waiting && head != NULL && head->waits_for_turn ? head : NULL;
}
