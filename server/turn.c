/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* A room's turn: edits are taken from the inboxes and applied, and make a batch (DESIGN §4). */

#include "protocol/base/alloc.h"
#include "server/answer.h"
#include "server/attempt.h"
#include "server/core.h"
#include "server/restore.h"
#include "server/undo.h"

#include <stdio.h>

/* --- Taking edits from the inboxes --- */

enum step {
        STEP_TAKEN, /* it is done with, and the inbox has moved on */
        STEP_WAITS,
        STEP_LENT, /* so is the room, for it: no more of this turn now */
};

/* What was at the head of the inbox is done. */
static void go_on(struct scn_session *session)
{
        if (session->state == SCN_SESSION_OPEN) {
                scn_session_pop(session);
                scn_session_pump(session);
        }
}

static void refuse_now(struct scn_session *session, uint64_t number, enum scn_error error, const char *text)
{
        scn_answer_refused(session, number, error, text);
        scn_session_pop(session);
        scn_session_pump(session);
}

/* The same, where the number is used up by it. */
static enum step refuse(struct scn_session *session, uint64_t number, enum scn_error error, const char *text)
{
        scn_session_use_number(session, number);
        refuse_now(session, number, error, text);
        return STEP_TAKEN;
}

/* What is wrong with a number, in words: which one comes next, or why what comes under it is only a part. `open`: of
 * the edit that still lacked parts, 0: none. */
static void refuse_number(struct scn_session *session, uint64_t number, enum scn_error error, uint64_t open)
{
        char text[128];
        if (error == SCN_E_RANGE) {
                (void)snprintf(text, sizeof text, "number 0: the first one is 1");
        } else if (error == SCN_E_GAP) {
                (void)snprintf(text, sizeof text, "number %llu: the next one is %llu", (unsigned long long)number,
                        (unsigned long long)session->last_number + 1);
        } else if (open != 0) {
                error = SCN_E_GAP;
                (void)snprintf(text, sizeof text,
                        "number %llu: parts of number %llu were missing: send all of both again",
                        (unsigned long long)number, (unsigned long long)open);
        } else if (number <= session->last_number) {
                error = SCN_E_GAP;
                (void)snprintf(text, sizeof text,
                        "number %llu: it was refused, and so are its further parts: the next one is %llu",
                        (unsigned long long)number, (unsigned long long)session->last_number + 1);
        } else {
                error = SCN_E_GAP;
                (void)snprintf(text, sizeof text, "number %llu: parts of an edit are missing: send all of it again",
                        (unsigned long long)number);
        }
        refuse_now(session, number, error, text);
}

/* The number's place in the client's row: SCN_OK to go on, or why not; *is_repeat_out: at or below the last stored. */
static enum scn_error check_number(struct scn_session *session, uint64_t number, bool *is_repeat_out)
{
        *is_repeat_out = number <= session->last_number;
        if (number == 0) {
                return SCN_E_RANGE;
        }
        return !*is_repeat_out && session->has_number && number != session->last_number + 1 ? SCN_E_GAP : SCN_OK;
}

/* The hash of an edit in parts is one over the hashes of its parts. */
static struct scn_digest chain_hash(const struct scn_session *session, struct scn_slice payload)
{
        const struct scn_digest hashes[2] = {session->staged_hash, scn_digest_bytes(payload)};
        const struct scn_slice both = {(const uint8_t *)hashes, sizeof hashes};
        return session->staged_first == NULL ? hashes[1] : scn_digest_bytes(both);
}

/* Whether one more part, be it the last, fits into an edit. If not the session ends. */
static bool take_part(struct scn_session *session, struct scn_slice payload)
{
        const bool fits = session->staged_bytes + payload.size <= SCN_SERVER_edit_bytes_max;
        if (!fits) {
                char text[96];
                (void)snprintf(text, sizeof text, "an edit in parts is larger than edit_bytes_max = %u",
                        SCN_SERVER_edit_bytes_max);
                scn_session_drop_staged(session);
                scn_session_end(session, SCN_E_TOO_LARGE, text);
        }
        return fits;
}

/* A part that has more to come is only put aside. */
static void stage_part(struct scn_session *session, uint64_t number, struct scn_slice payload)
{
        session->staged_hash = chain_hash(session, payload);
        session->staged_number = number;
        scn_session_stage(session);
        scn_session_pump(session);
}

void scn_room_close_groups(struct scn_room *room, const struct scn_author *author)
{
        for (struct scn_session *session = room->sessions; session != NULL; session = session->next_in_room) {
                if (author == NULL || session->own == author) {
                        session->group_step = 0;
                }
        }
}

/* An attempt that the room was lent for, with the message it is about. */
struct lent {
        struct scn_loan loan;
        struct scn_attempt attempt;
        struct scn_message message;
};

static enum step tell(struct scn_attempt *attempt)
{
        if (!scn_attempt_tell(attempt)) {
                return STEP_WAITS;
        }
        go_on(attempt->session);
        return STEP_TAKEN;
}

static void work_lent(struct scn_loan *loan)
{
        scn_attempt_try(&((struct lent *)loan)->attempt);
}

static void back_lent(struct scn_loan *loan)
{
        struct lent *lent = (struct lent *)loan;
        struct scn_batch *batch = lent->attempt.batch;
        (void)tell(&lent->attempt);
        scn_free(lent);
        scn_batch_submit(batch);
}

/* What is long is tried by a worker. */
static enum step attempt_long(const struct scn_attempt *attempt)
{
        struct scn_room *room = attempt->batch->room;
        struct lent *lent = scn_room_can_lend(room) ? scn_alloc(sizeof *lent) : NULL;
        if (lent == NULL) {
                attempt->session->inbox_first->waits_for_loan = true;
                return STEP_WAITS;
        }
        lent->loan = (struct scn_loan){.work = work_lent, .back = back_lent};
        lent->attempt = *attempt;
        lent->message = *attempt->message;
        lent->attempt.message = &lent->message;
        scn_room_lend(room, &lent->loan);
        return STEP_LENT;
}

static enum step try_or_lend(struct scn_attempt *attempt)
{
        if (attempt->session->inbox_first->waits_for_loan || scn_attempt_is_long(attempt)) {
                return attempt_long(attempt);
        }
        if (attempt->kind == SCN_ATTEMPT_EDIT) {
                scn_attempt_read(attempt);
                if (scn_attempt_is_long(attempt)) {
                        return attempt_long(attempt);
                }
        }
        scn_attempt_try(attempt);
        return tell(attempt);
}

static enum step take_undo(struct scn_attempt *taken)
{
        struct scn_session *session = taken->session;
        enum scn_error error = SCN_OK;
        const enum scn_undo_state state = scn_undo_prepare(session, taken->message, &error);
        if (state == SCN_UNDO_REFUSED) {
                struct scn_said said;
                const struct scn_limits *limits = &session->server->options.limits;
                return refuse(session, taken->taken.number, error,
                        scn_about_request(&said, taken->message, error, NULL, limits));
        }
        /* What was prepared holds for the document before any edit of this batch. */
        if (state == SCN_UNDO_WAITS || taken->batch->entries_count > taken->batch->undos_count) {
                return STEP_WAITS;
        }
        return try_or_lend(taken);
}

static enum step take_restore(struct scn_attempt *taken)
{
        struct scn_session *session = taken->session;
        const struct scn_message_restore *message = &taken->message->as.restore;
        struct scn_said said;
        const char *text = NULL;
        enum scn_error error = SCN_OK;
        const enum scn_restore_state state = scn_restore_prepare(session, message, &said, &text, &error);
        if (state == SCN_RESTORE_REFUSED) {
                return refuse(session, message->number, error, text);
        }
        return state == SCN_RESTORE_WAITS ? STEP_WAITS : try_or_lend(taken);
}

/* Number of the edit whose parts came and that this one, of another number, breaks off; 0: none. */
static uint64_t interrupted(const struct scn_session *session, const struct scn_message *message)
{
        return message->kind == SCN_MESSAGE_edit && session->staged_first != NULL &&
                        session->staged_number != message->as.edit.number
                ? session->staged_number
                : 0;
}

/* Whether a part of the edit is missing: it must not be done then. What had come of another edit is dropped by this
 * one, which is refused itself, lest whoever mixes two up takes it for done. */
static bool is_torn(struct scn_session *session, const struct scn_message *message)
{
        const bool interrupts = interrupted(session, message) != 0;
        if (interrupts || message->kind != SCN_MESSAGE_edit) {
                scn_session_tear_staged(session);
        }
        return message->kind == SCN_MESSAGE_edit &&
                (scn_torn_take(&session->torn, message->as.edit.number) || interrupts);
}

/* Takes the edit at the head of a session's inbox. */
static enum step take_edit(struct scn_batch *batch, struct scn_session *session)
{
        const struct scn_queued *queued = scn_session_edit(session);
        const struct scn_slice payload = {queued->payload, queued->size};
        struct scn_message message;
        struct scn_message_fault message_fault;
        bool is_repeat;
        if (queued->waits_for_loan && !scn_room_can_lend(batch->room)) {
                return STEP_WAITS;
        }
        const enum scn_error decoded = scn_message_decode(payload, SCN_RECEIVER_SERVER, &message, &message_fault);
        if (decoded != SCN_OK) {
                scn_session_answer_fault(session, decoded, &message_fault);
                go_on(session);
                return STEP_TAKEN;
        }
        const uint64_t number = message.as.edit.number; /* the first field of all */
        const enum scn_error error = check_number(session, number, &is_repeat);
        const bool is_part = message.kind == SCN_MESSAGE_edit && message.as.edit.more;
        const uint64_t open = interrupted(session, &message);
        if (is_torn(session, &message) || error != SCN_OK) {
                scn_session_note_refused(session, &message);
                refuse_number(session, number, error, open);
                return STEP_TAKEN;
        }
        if (!take_part(session, payload)) {
                return STEP_TAKEN;
        }
        if (is_part) {
                stage_part(session, number, payload);
                return STEP_TAKEN;
        }
        const struct scn_digest hash = chain_hash(session, payload);
        if (is_repeat) {
                session->has_repeat = true;
                session->repeat_number = number;
                session->repeat_hash = hash;
                return STEP_WAITS;
        }
        /* Only reading goes while the file cannot even list the epoch, or the disk is down to its reserve. */
        if (!batch->room->has_epoch || batch->room->server->is_low) {
                struct scn_storage_fault fault = {.text = ""};
                (void)!scn_server_check_reserve(batch->room->server, &fault);
                scn_session_drop_staged(session);
                return refuse(session, number, SCN_E_STORAGE_FULL, fault.text[0] != '\0' ? fault.text : NULL);
        }
        struct scn_attempt taken = {
                .kind = SCN_ATTEMPT_EDIT,
                .batch = batch,
                .session = session,
                .message = &message,
                .taken = {.session = session, .number = number, .group = SCN_ABSENT, .hash = hash},
        };
        if (message.kind == SCN_MESSAGE_edit) {
                const enum step step = try_or_lend(&taken);
                batch->bytes_taken += step == STEP_TAKEN ? payload.size : 0;
                return step;
        }
        taken.kind = message.kind == SCN_MESSAGE_restore ? SCN_ATTEMPT_RESTORE : SCN_ATTEMPT_UNDO;
        return taken.kind == SCN_ATTEMPT_RESTORE ? take_restore(&taken) : take_undo(&taken);
}

/* What was prepared before this turn comes first. False: the room is lent. */
static bool take_prepared(struct scn_room *room, struct scn_batch *batch)
{
        struct scn_session *next = NULL;
        for (struct scn_session *session = room->ready_first; session != NULL; session = next) {
                next = session->ready_next;
                const bool is_prepared = session->undo != NULL || session->restore != NULL;
                if (is_prepared && scn_session_edit(session) != NULL && take_edit(batch, session) == STEP_LENT) {
                        return false;
                }
        }
        return true;
}

/* The next turn goes on where this one was full, lest those at the end of the list never get one. */
static void go_on_with(struct scn_room *room, struct scn_session *session)
{
        struct scn_session *previous = session->ready_previous;
        if (previous == NULL) {
                return;
        }
        room->ready_last->ready_next = room->ready_first;
        room->ready_first->ready_previous = room->ready_last;
        previous->ready_next = NULL;
        session->ready_previous = NULL;
        room->ready_first = session;
        room->ready_last = previous;
}

/* Round robin, one edit a session and round, until nobody has one or the turn is full. False: the room is lent. */
static bool fill_batch(struct scn_room *room, struct scn_batch *batch)
{
        const uint64_t until_ms = scn_server_now_ms(room->server) + SCN_TURN_MS;
        bool has_taken = true;
        if (!take_prepared(room, batch)) {
                return false;
        }
        while (has_taken) {
                has_taken = false;
                struct scn_session *next = NULL;
                for (struct scn_session *session = room->ready_first; session != NULL; session = next) {
                        next = session->ready_next;
                        if (batch->entries_count >= SCN_TURN_EDITS_MAX || batch->bytes_taken >= SCN_TURN_BYTES_MAX ||
                                scn_server_now_ms(room->server) >= until_ms) {
                                go_on_with(room, session);
                                return true;
                        }
                        const enum step step =
                                scn_session_edit(session) != NULL ? take_edit(batch, session) : STEP_WAITS;
                        if (step == STEP_LENT) {
                                if (next != NULL) {
                                        go_on_with(room, next);
                                }
                                return false;
                        }
                        has_taken = has_taken || step == STEP_TAKEN;
                }
        }
        return true;
}

void scn_room_turn(struct scn_room *room)
{
        if (!scn_room_is_settled(room) || room->jobs_count > 0 || room->server->is_stopping) {
                return;
        }
        const bool comes_next = room->has_encoded; /* an edit, if there is one */
        bool has_edit = false;
        for (struct scn_session *session = room->ready_first; session != NULL && !has_edit;
                session = session->ready_next) {
                has_edit = scn_session_edit(session) != NULL;
        }
        room->has_encoded = false;
        if (room->wants_encoding && !(comes_next && has_edit) && scn_view_lend(room)) {
                room->has_encoded = true;
                return;
        }
        struct scn_batch *batch = has_edit ? scn_batch_create(room) : NULL;
        if (batch == NULL) {
                return;
        }
        room->batch = batch;
        if (fill_batch(room, batch)) {
                scn_batch_submit(batch);
        }
}
