/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* A room's turn: edits are taken from the inboxes and applied, and make a batch (DESIGN §4). */

#include "protocol/base/assert.h"
#include "server/answer.h"
#include "server/batch.h"
#include "server/core.h"
#include "server/restore.h"
#include "server/undo.h"

#include <stdio.h>

/* A gesture goes on until an edit of another one. */
static void note_gesture(const struct scn_taken *taken, scn_revision revision)
{
        const scn_revision step = taken->edit.step != 0 ? taken->edit.step : revision;
        taken->session->group_number = taken->group;
        taken->session->group_step = taken->group == SCN_ABSENT ? 0 : step;
}

/* The edit itself may be small: it is what would have to be told of it that no message holds. */
static void refuse_answer(struct scn_batch *batch, const struct scn_taken *taken, enum scn_error error)
{
        char text[160];
        if (error != SCN_E_TOO_LARGE) {
                scn_batch_add_refused(batch, taken, error, NULL);
                return;
        }
        (void)snprintf(text, sizeof text,
                "results: the answer would be larger than message_bytes_max = %u: name the nodes by uids of your own, or "
                "send several edits",
                SCN_MESSAGE_BYTES_MAX);
        scn_batch_add_refused_said(batch, taken, error, NULL, text);
}

static void apply_edit(struct scn_batch *batch, const struct scn_taken *taken)
{
        struct scn_document *document = batch->room->document;
        struct scn_changes *changes;
        struct scn_refusal refusal;
        struct scn_buffer *payload = &batch->answer;
        enum scn_error error = scn_document_apply(document, &taken->edit, &changes, &refusal);
        if (error != SCN_OK) {
                scn_batch_add_refused(batch, taken, error, &refusal);
                return;
        }
        error = scn_lock_check(taken->session, changes, &refusal);
        if (error != SCN_OK) {
                scn_document_take_back(document, changes);
                scn_batch_add_refused(batch, taken, error, &refusal);
                return;
        }
        scn_buffer_reset(payload);
        error = scn_answer_encode_applied(taken->number, changes, &taken->edit, payload);
        const struct scn_slice answer = {payload->data, (uint32_t)payload->size};
        const bool is_changed = scn_changes_count(changes) > 0;
        if (error != SCN_OK || !is_changed) {
                scn_document_take_back(document, changes);
        }
        if (error != SCN_OK) {
                refuse_answer(batch, taken, error);
        } else if (is_changed) {
                const scn_revision revision = scn_changes_revision(changes);
                if (scn_batch_add(batch, taken, changes, answer)) {
                        note_gesture(taken, revision);
                }
        } else {
                scn_batch_add_unchanged(batch, taken, answer);
        }
}

/* --- Taking edits from the inboxes --- */

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

/* The ops of all parts, in order. */
static enum scn_error decode_parts(struct scn_batch *batch, const struct scn_session *session,
        const struct scn_message_edit *last, struct scn_ops *ops, struct scn_ops_fault *fault)
{
        const struct scn_limits *limits = &batch->room->server->options.limits;
        enum scn_error error = SCN_OK;
        const struct scn_queued *part = session->staged_first;
        for (; part != NULL && error == SCN_OK; part = part->next) {
                struct scn_message message;
                struct scn_message_fault message_fault;
                const struct scn_slice payload = {part->payload, part->size};
                error = scn_message_decode(payload, SCN_RECEIVER_SERVER, &message, &message_fault);
                if (error == SCN_OK) {
                        error = scn_ops_decode(message.as.edit.ops, limits, ops, fault);
                }
        }
        return error == SCN_OK ? scn_ops_decode(last->ops, limits, ops, fault) : error;
}

/* An edit whose ops could not be read. */
static void refuse_unread(
        struct scn_batch *batch, const struct scn_taken *taken, enum scn_error error, const struct scn_ops_fault *fault)
{
        const struct scn_refusal refusal = {.op = fault->op, .field = fault->field};
        char text[128];
        if (fault->entry == NULL || fault->field < SCN_FIELD_COUNT || error == SCN_E_NO_MEMORY) {
                scn_batch_add_refused(batch, taken, error, &refusal);
                return;
        }
        (void)snprintf(text, sizeof text, "%s: %s", fault->entry, scn_error_text(error));
        scn_batch_add_refused_said(batch, taken, error, &refusal, text);
}

static void decode_and_apply(struct scn_batch *batch, struct scn_session *session,
        const struct scn_message_edit *message, struct scn_digest hash)
{
        struct scn_ops *ops = &batch->ops;
        struct scn_ops_fault fault = {.field = SCN_FIELD_COUNT};
        struct scn_taken taken = {
                .session = session,
                .number = message->number,
                .group = message->group,
                .hash = hash,
                .edit =
                        {
                                .client = session->client,
                                .has_base = message->base != SCN_ABSENT,
                                .base = message->base == SCN_ABSENT ? 0 : message->base,
                                .is_strict = message->strict,
                        },
        };
        if (message->group != SCN_ABSENT && message->group == session->group_number) {
                taken.edit.step = session->group_step;
        }
        scn_ops_reset(ops);
        const enum scn_error error = decode_parts(batch, session, message, ops, &fault);
        session->last_number = message->number;
        session->has_number = true;
        if (error != SCN_OK) {
                refuse_unread(batch, &taken, error, &fault);
        } else {
                taken.edit.ops = ops->ops;
                taken.edit.ops_count = (uint32_t)ops->count;
                apply_edit(batch, &taken);
        }
        scn_session_drop_staged(session);
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
                scn_session_drop_staged(session);
                scn_session_end(session, SCN_E_TOO_LARGE, "an edit in parts is larger than edit_bytes_max");
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

static void draft_undo(struct scn_batch *batch, const struct scn_taken *taken, const struct scn_undo_result *result)
{
        struct scn_document *document = batch->room->document;
        const bool is_changed = result->changes != NULL;
        const scn_revision revision = scn_document_revision(document);
        struct scn_buffer payload;
        scn_buffer_init(&payload, SCN_MESSAGE_BYTES_MAX);
        const enum scn_error error =
                scn_answer_encode_taken_back(taken->number, revision, !is_changed, result->summary, &payload);
        const struct scn_slice answer = {payload.data, (uint32_t)payload.size};
        if (error != SCN_OK) {
                if (is_changed) {
                        scn_document_take_back(document, result->changes);
                }
                scn_batch_add_refused(batch, taken, error, NULL);
        } else if (is_changed) {
                (void)scn_batch_add(batch, taken, result->changes, answer);
        } else {
                scn_batch_add_unchanged(batch, taken, answer);
        }
        scn_buffer_finish(&payload);
}

static void apply_undo(struct scn_batch *batch, struct scn_session *session, const struct scn_undo_result *result,
        uint64_t number, struct scn_digest hash)
{
        struct scn_taken taken = {
                .session = session,
                .number = number,
                .group = SCN_ABSENT,
                .hash = hash,
                .edit = *result->edit,
                .cause = result->cause,
                .op_steps = result->op_steps,
                .steps = result->steps,
                .steps_count = result->steps_count,
        };
        taken.edit.step = result->steps[0];
        if (!result->is_dry) {
                scn_room_close_groups(batch->room, result->author);
        }
        draft_undo(batch, &taken, result);
}

/* True: it is done, and the inbox has moved on. */
static bool take_undo(
        struct scn_batch *batch, struct scn_session *session, const struct scn_message *message, struct scn_digest hash)
{
        const uint64_t number = message->as.undo.number; /* the first field of both */
        struct scn_undo_result result;
        struct scn_refusal refusal;
        enum scn_error error = SCN_OK;
        const enum scn_undo_state state = scn_undo_prepare(session, message, &error);
        if (state == SCN_UNDO_REFUSED) {
                struct scn_said said;
                scn_session_use_number(session, number);
                refuse_now(session, number, error,
                        scn_about_request(&said, message, error, NULL, &session->server->options.limits));
                return true;
        }
        /* What was prepared holds for the document before any edit of this batch. */
        if (state == SCN_UNDO_WAITS || batch->entries_count > batch->undos_count) {
                return false;
        }
        error = scn_undo_apply(session, &result, &refusal);
        if (error == SCN_E_BUSY) {
                (void)scn_undo_prepare(session, message, &error);
                return false;
        }
        scn_session_use_number(session, number);
        if (error == SCN_OK) {
                apply_undo(batch, session, &result, number, hash);
        } else {
                const struct scn_taken taken = {.session = session, .number = number};
                scn_batch_add_refused(batch, &taken, error, &refusal);
        }
        batch->undos_count = batch->entries_count;
        scn_undo_destroy(session->undo);
        session->undo = NULL;
        go_on(session);
        return true;
}

/* Answers what was restored, which is a step of its own. */
static void draft_restore(
        struct scn_batch *batch, const struct scn_taken *taken, struct scn_changes *changes, struct scn_slice summary)
{
        const struct scn_undo_result result = {
                .changes = scn_changes_count(changes) > 0 ? changes : NULL, .summary = summary};
        if (result.changes == NULL) {
                scn_document_take_back(batch->room->document, changes);
        } else {
                taken->session->group_step = 0;
        }
        draft_undo(batch, taken, &result);
}

/* True: it is done, and the inbox has moved on. */
static bool take_restore(struct scn_batch *batch, struct scn_session *session,
        const struct scn_message_restore *message, struct scn_digest hash)
{
        struct scn_taken taken = {
                .session = session,
                .number = message->number,
                .group = SCN_ABSENT,
                .hash = hash,
                .cause = SCN_CAUSE_RESTORE,
        };
        struct scn_changes *changes;
        struct scn_refusal refusal;
        struct scn_slice summary;
        enum scn_error error = SCN_OK;
        struct scn_said said;
        const char *text = NULL;
        const enum scn_restore_state state = scn_restore_prepare(session, message, &said, &text, &error);
        if (state == SCN_RESTORE_REFUSED) {
                scn_session_use_number(session, message->number);
                refuse_now(session, message->number, error, text);
                return true;
        }
        if (state == SCN_RESTORE_WAITS) {
                return false;
        }
        error = scn_restore_apply(session, &changes, &taken.edit, &summary, &refusal);
        scn_session_use_number(session, message->number);
        if (error == SCN_OK) {
                draft_restore(batch, &taken, changes, summary);
        } else {
                scn_batch_add_refused(batch, &taken, error, &refusal);
        }
        scn_restore_destroy(session->restore);
        session->restore = NULL;
        go_on(session);
        return true;
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

/* Takes the edit at the head of a session's inbox. False: it has to wait. */
static bool take_edit(struct scn_batch *batch, struct scn_session *session)
{
        const struct scn_queued *queued = scn_session_edit(session);
        const struct scn_slice payload = {queued->payload, queued->size};
        struct scn_message message;
        struct scn_message_fault message_fault;
        bool is_repeat;
        const enum scn_error decoded = scn_message_decode(payload, SCN_RECEIVER_SERVER, &message, &message_fault);
        if (decoded != SCN_OK) {
                scn_session_answer_fault(session, decoded, &message_fault);
                go_on(session);
                return true;
        }
        if (message.kind != SCN_MESSAGE_edit && message.kind != SCN_MESSAGE_undo && message.kind != SCN_MESSAGE_redo &&
                message.kind != SCN_MESSAGE_restore) {
                return false; /* a view, which waits for the publish point */
        }
        const uint64_t number = message.as.edit.number; /* the first field of all */
        const enum scn_error error = check_number(session, number, &is_repeat);
        const bool is_part = message.kind == SCN_MESSAGE_edit && message.as.edit.more;
        const uint64_t open = interrupted(session, &message);
        if (is_torn(session, &message) || error != SCN_OK) {
                scn_session_note_refused(session, &message);
                refuse_number(session, number, error, open);
                return true;
        }
        if (!take_part(session, payload)) {
                return true;
        }
        if (is_part) {
                stage_part(session, number, payload);
                return true;
        }
        const struct scn_digest hash = chain_hash(session, payload);
        if (is_repeat) {
                session->has_repeat = true;
                session->repeat_number = number;
                session->repeat_hash = hash;
                return false;
        }
        /* Only reading goes while the file cannot even list the epoch, or the disk is down to its reserve. */
        if (!batch->room->has_epoch || batch->room->server->is_low) {
                struct scn_storage_fault fault = {.text = ""};
                (void)!scn_server_check_reserve(batch->room->server, &fault);
                scn_session_use_number(session, number);
                scn_session_drop_staged(session);
                refuse_now(session, number, SCN_E_STORAGE_FULL, fault.text[0] != '\0' ? fault.text : NULL);
                return true;
        }
        if (message.kind == SCN_MESSAGE_restore) {
                return take_restore(batch, session, &message.as.restore, hash);
        }
        if (message.kind != SCN_MESSAGE_edit) {
                return take_undo(batch, session, &message, hash);
        }
        batch->bytes_taken += payload.size;
        decode_and_apply(batch, session, &message.as.edit, hash);
        go_on(session);
        return true;
}

/* What was prepared before this turn comes first. */
static void take_prepared(struct scn_room *room, struct scn_batch *batch)
{
        struct scn_session *next = NULL;
        for (struct scn_session *session = room->ready_first; session != NULL; session = next) {
                next = session->ready_next;
                const bool is_prepared = session->undo != NULL || session->restore != NULL;
                if (is_prepared && scn_session_edit(session) != NULL) {
                        (void)take_edit(batch, session);
                }
        }
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

/* Round robin, one edit a session and round, until nobody has one or the turn is full. */
static void fill_batch(struct scn_room *room, struct scn_batch *batch)
{
        const uint64_t until_ms = scn_server_now_ms(room->server) + SCN_TURN_MS;
        bool has_taken = true;
        take_prepared(room, batch);
        while (has_taken) {
                has_taken = false;
                struct scn_session *next = NULL;
                for (struct scn_session *session = room->ready_first; session != NULL; session = next) {
                        next = session->ready_next;
                        if (batch->entries_count >= SCN_TURN_EDITS_MAX || batch->bytes_taken >= SCN_TURN_BYTES_MAX ||
                                scn_server_now_ms(room->server) >= until_ms) {
                                go_on_with(room, session);
                                return;
                        }
                        if (scn_session_edit(session) != NULL) {
                                has_taken = take_edit(batch, session) || has_taken;
                        }
                }
        }
}

void scn_room_turn(struct scn_room *room)
{
        if (!scn_room_is_settled(room) || room->jobs_count > 0 || room->server->is_stopping) {
                return;
        }
        bool has_edit = false;
        for (struct scn_session *session = room->ready_first; session != NULL && !has_edit;
                session = session->ready_next) {
                has_edit = scn_session_edit(session) != NULL;
        }
        struct scn_batch *batch = has_edit ? scn_batch_create(room) : NULL;
        if (batch == NULL) {
                return;
        }
        room->batch = batch;
        fill_batch(room, batch);
        scn_batch_submit(batch);
}
