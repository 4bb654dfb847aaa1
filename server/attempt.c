/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/attempt.h"

#include "server/answer.h"
#include "server/restore.h"

#include <stdio.h>

/* --- Reading --- */

/* The ops of all parts, in order. */
static enum scn_error decode_parts(const struct scn_attempt *attempt, struct scn_ops_fault *fault)
{
        const struct scn_limits *limits = &attempt->session->server->options.limits;
        struct scn_ops *ops = &attempt->batch->ops;
        enum scn_error error = SCN_OK;
        const struct scn_queued *part = attempt->session->staged_first;
        for (; part != NULL && error == SCN_OK; part = part->next) {
                struct scn_message message;
                struct scn_message_fault message_fault;
                const struct scn_slice payload = {part->payload, part->size};
                error = scn_message_decode(payload, SCN_RECEIVER_SERVER, &message, &message_fault);
                if (error == SCN_OK) {
                        error = scn_ops_decode(message.as.edit.ops, limits, ops, fault);
                }
        }
        return error == SCN_OK ? scn_ops_decode(attempt->message->as.edit.ops, limits, ops, fault) : error;
}

void scn_attempt_read(struct scn_attempt *attempt)
{
        struct scn_ops *ops = &attempt->batch->ops;
        const struct scn_session *session = attempt->session;
        const struct scn_message_edit *message = &attempt->message->as.edit;
        struct scn_taken *taken = &attempt->taken;
        attempt->fault = (struct scn_ops_fault){.field = SCN_FIELD_COUNT};
        scn_ops_reset(ops);
        attempt->error = decode_parts(attempt, &attempt->fault);
        attempt->ops = attempt->error == SCN_OK ? SCN_ATTEMPT_READ : SCN_ATTEMPT_UNREADABLE;
        taken->group = message->group;
        taken->cause = message->import ? SCN_CAUSE_IMPORT : SCN_CAUSE_EDIT;
        taken->edit = (struct scn_edit){
                .ops = ops->ops,
                .ops_count = attempt->ops == SCN_ATTEMPT_READ ? (uint32_t)ops->count : 0,
                .client = session->client,
                .has_base = message->base != SCN_ABSENT,
                .base = message->base == SCN_ABSENT ? 0 : message->base,
                .is_strict = message->strict,
                .step = message->group != SCN_ABSENT && message->group == session->group_number ? session->group_step
                                                                                                : 0,
        };
}

/* Whether ops remove so much: looked at only where there is so much, and not further than that. */
static bool removes_much(const struct scn_document *document, const struct scn_op *ops, size_t count)
{
        uint64_t left = SCN_LONG_NODES;
        for (size_t i = 0; i < count && left > 0; i++) {
                scn_node_id top;
                if (ops[i].kind != SCN_OP_REMOVE ||
                        scn_document_find_within(document, &ops[i].node, &left, &top) != SCN_OK) {
                        continue;
                }
                left -= scn_document_count_below(document, top, (uint32_t)left);
        }
        return left == 0;
}

static const struct scn_ops *ops_of(const struct scn_attempt *attempt)
{
        switch (attempt->kind) {
        case SCN_ATTEMPT_EDIT:
                return attempt->ops == SCN_ATTEMPT_READ ? &attempt->batch->ops : NULL;
        case SCN_ATTEMPT_RESTORE:
                return scn_restore_ops(attempt->session->restore);
        case SCN_ATTEMPT_UNDO:
                return scn_undo_ops(attempt->session->undo);
        }
        return NULL;
}

bool scn_attempt_is_long(const struct scn_attempt *attempt)
{
        const struct scn_document *document = scn_room_document(attempt->batch->room);
        const struct scn_ops *ops = ops_of(attempt);
        if (attempt->kind == SCN_ATTEMPT_EDIT && attempt->ops == SCN_ATTEMPT_UNREAD) {
                return attempt->session->staged_bytes + attempt->message->as.edit.ops.size >= SCN_LONG_BYTES;
        }
        return ops != NULL &&
                (ops->count >= SCN_LONG_NODES ||
                        (scn_document_nodes_count(document) > SCN_LONG_NODES &&
                                removes_much(document, ops->ops, ops->count)));
}

/* --- Trying --- */

/* What was done stays if it changed something, and can be answered and noted. */
static void keep(struct scn_attempt *attempt)
{
        struct scn_document *document = attempt->batch->room->document;
        struct scn_changes *changes = attempt->changes;
        attempt->answer = (struct scn_slice){attempt->batch->answer.data, (uint32_t)attempt->batch->answer.size};
        if (changes == NULL) {
                return;
        }
        const bool is_changed = scn_changes_count(changes) > 0;
        if (attempt->untold == SCN_OK && is_changed) {
                attempt->untold = scn_batch_put_records(attempt->batch, &attempt->taken, changes);
        }
        if (attempt->untold != SCN_OK || !is_changed) {
                scn_document_take_back(document, changes);
                attempt->changes = NULL;
        }
}

static void try_edit(struct scn_attempt *attempt)
{
        struct scn_batch *batch = attempt->batch;
        struct scn_document *document = batch->room->document;
        struct scn_changes *changes;
        if (attempt->ops == SCN_ATTEMPT_UNREAD) {
                scn_attempt_read(attempt);
        }
        if (attempt->ops == SCN_ATTEMPT_UNREADABLE) {
                return;
        }
        attempt->error = scn_document_apply(document, &attempt->taken.edit, &changes, &attempt->refusal);
        if (attempt->error != SCN_OK) {
                return;
        }
        attempt->error = scn_lock_check(attempt->session, changes, &attempt->refusal);
        if (attempt->error != SCN_OK) {
                scn_document_take_back(document, changes);
                return;
        }
        attempt->changes = changes;
        scn_buffer_reset(&batch->answer);
        attempt->untold =
                scn_answer_encode_applied(attempt->taken.number, changes, &attempt->taken.edit, &batch->answer);
        keep(attempt);
}

/* The answer to an undo, redo or restore that could be done. */
static void answer_with(struct scn_attempt *attempt, struct scn_slice summary)
{
        struct scn_batch *batch = attempt->batch;
        const bool is_changed = attempt->changes != NULL && scn_changes_count(attempt->changes) > 0;
        const scn_revision revision = scn_document_revision(batch->room->document);
        scn_buffer_reset(&batch->answer);
        attempt->untold =
                scn_answer_encode_taken_back(attempt->taken.number, revision, !is_changed, summary, &batch->answer);
        keep(attempt);
}

static void try_undo(struct scn_attempt *attempt)
{
        const struct scn_undo_result *undone = &attempt->undone;
        struct scn_taken *taken = &attempt->taken;
        attempt->error = scn_undo_apply(attempt->session, &attempt->undone, &attempt->refusal);
        if (attempt->error != SCN_OK) {
                return;
        }
        taken->edit = *undone->edit;
        taken->edit.step = undone->steps[0];
        taken->cause = undone->cause;
        taken->op_steps = undone->op_steps;
        taken->steps = undone->steps;
        taken->steps_count = undone->steps_count;
        attempt->changes = undone->changes;
        answer_with(attempt, undone->summary);
}

static void try_restore(struct scn_attempt *attempt)
{
        struct scn_slice summary;
        attempt->taken.cause = SCN_CAUSE_RESTORE;
        attempt->error = scn_restore_apply(
                attempt->session, &attempt->changes, &attempt->taken.edit, &summary, &attempt->refusal);
        if (attempt->error == SCN_OK) {
                answer_with(attempt, summary);
        } else {
                attempt->changes = NULL;
        }
}

void scn_attempt_try(struct scn_attempt *attempt)
{
        switch (attempt->kind) {
        case SCN_ATTEMPT_EDIT:
                try_edit(attempt);
                break;
        case SCN_ATTEMPT_RESTORE:
                try_restore(attempt);
                break;
        case SCN_ATTEMPT_UNDO:
                try_undo(attempt);
                break;
        }
}

/* --- Telling --- */

/* An edit whose ops could not be read. */
static void refuse_unread(const struct scn_attempt *attempt)
{
        const struct scn_ops_fault *fault = &attempt->fault;
        const struct scn_refusal refusal = {.op = fault->op, .field = fault->field};
        char text[128];
        const bool is_of_field = fault->field < SCN_FIELD_COUNT && fault->reason == NULL;
        if (fault->entry == NULL || is_of_field || attempt->error == SCN_E_NO_MEMORY) {
                scn_batch_add_refused(attempt->batch, &attempt->taken, attempt->error, &refusal);
                return;
        }
        (void)snprintf(text, sizeof text, "%s: %s", fault->entry,
                fault->reason != NULL ? fault->reason : scn_error_text(attempt->error));
        scn_batch_add_refused_said(attempt->batch, &attempt->taken, attempt->error, &refusal, text);
}

/* The edit itself may be small: it is what would have to be told of it that no message holds. */
static void refuse_untold(const struct scn_attempt *attempt)
{
        char text[160];
        if (attempt->untold != SCN_E_TOO_LARGE || attempt->kind != SCN_ATTEMPT_EDIT) {
                scn_batch_add_refused(attempt->batch, &attempt->taken, attempt->untold, NULL);
                return;
        }
        (void)snprintf(text, sizeof text,
                "results: the answer would be larger than message_bytes_max = %u: name the nodes by uids of your own, "
                "or send several edits",
                SCN_MESSAGE_BYTES_MAX);
        scn_batch_add_refused_said(attempt->batch, &attempt->taken, attempt->untold, NULL, text);
}

/* A gesture goes on until an edit of another one. */
static void note_gesture(const struct scn_attempt *attempt, scn_revision revision)
{
        const struct scn_taken *taken = &attempt->taken;
        struct scn_session *session = attempt->session;
        const scn_revision step = taken->edit.step != 0 ? taken->edit.step : revision;
        session->group_number = taken->group;
        session->group_step = taken->group == SCN_ABSENT ? 0 : step;
}

/* Of what could be done. */
static void tell_done(struct scn_attempt *attempt)
{
        if (attempt->untold != SCN_OK) {
                refuse_untold(attempt);
                return;
        }
        if (attempt->changes == NULL) {
                scn_batch_add_unchanged(attempt->batch, &attempt->taken, attempt->answer);
                return;
        }
        const scn_revision revision = scn_changes_revision(attempt->changes);
        if (scn_batch_add(attempt->batch, &attempt->taken, attempt->changes, attempt->answer) &&
                attempt->kind == SCN_ATTEMPT_EDIT) {
                note_gesture(attempt, revision);
        }
}

static void tell_edit(struct scn_attempt *attempt)
{
        struct scn_session *session = attempt->session;
        session->last_number = attempt->taken.number;
        session->has_number = true;
        if (attempt->error == SCN_OK) {
                tell_done(attempt);
        } else if (attempt->ops == SCN_ATTEMPT_UNREADABLE) {
                refuse_unread(attempt);
        } else {
                scn_batch_add_refused(attempt->batch, &attempt->taken, attempt->error, &attempt->refusal);
        }
        scn_session_drop_staged(session);
}

/* False: who was in the way has to be found out first. */
static bool tell_undo(struct scn_attempt *attempt)
{
        struct scn_session *session = attempt->session;
        const struct scn_undo_result *undone = &attempt->undone;
        if (attempt->error == SCN_E_BUSY) {
                enum scn_error error;
                (void)scn_undo_prepare(session, attempt->message, &error);
                return false;
        }
        scn_session_use_number(session, attempt->taken.number);
        if (attempt->error == SCN_OK) {
                if (!undone->is_dry) {
                        scn_room_close_groups(session->room, undone->author);
                }
                tell_done(attempt);
        } else {
                scn_batch_add_refused(attempt->batch, &attempt->taken, attempt->error, &attempt->refusal);
        }
        attempt->batch->undos_count = attempt->batch->entries_count;
        scn_undo_destroy(session->undo);
        session->undo = NULL;
        return true;
}

static void tell_restore(struct scn_attempt *attempt)
{
        struct scn_session *session = attempt->session;
        scn_session_use_number(session, attempt->taken.number);
        if (attempt->error == SCN_OK) {
                session->group_step = attempt->changes != NULL ? 0 : session->group_step;
                tell_done(attempt);
        } else {
                scn_batch_add_refused(attempt->batch, &attempt->taken, attempt->error, &attempt->refusal);
        }
        scn_restore_destroy(session->restore);
        session->restore = NULL;
}

bool scn_attempt_tell(struct scn_attempt *attempt)
{
        switch (attempt->kind) {
        case SCN_ATTEMPT_EDIT:
                tell_edit(attempt);
                return true;
        case SCN_ATTEMPT_RESTORE:
                tell_restore(attempt);
                return true;
        case SCN_ATTEMPT_UNDO:
                return tell_undo(attempt);
        }
        return false;
}
