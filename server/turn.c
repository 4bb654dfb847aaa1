/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* A room's turn: edits from the inboxes, one batch to the journal, the publish point (DESIGN §4). */

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "server/answer.h"
#include "server/core.h"
#include "server/record.h"
#include "server/restore.h"
#include "server/undo.h"

#include <string.h>

/* What the storage counts for a transaction or a record beside its payloads (storage/FORMAT.md). */
#define ROW_COST 64u

/* --- The batch in flight --- */

/* A transaction while its bytes may still move: offsets into the batch's buffer. */
struct draft {
        scn_revision revision;
        int64_t time_us;
        struct scn_uid client;
        uint64_t number;
        uint64_t group;
        uint64_t step;
        enum scn_cause cause;
        size_t author, author_size;
        size_t hash;
        size_t digest;
        size_t answer, answer_size;
        size_t records_first, records_count;
};

struct draft_record {
        uint32_t kind;
        struct scn_uid node;
        size_t before, before_size;
        size_t after_size;
};

struct scn_batch {
        struct scn_job job;
        struct scn_room *room;
        struct scn_buffer bytes;
        struct draft *drafts;
        size_t drafts_count, drafts_capacity;
        struct draft_record *records;
        size_t records_count, records_capacity;
        struct scn_entry *entries; /* all edits of the turn, in order */
        size_t entries_count, entries_capacity;
        struct scn_ops ops;       /* of the edit that is being taken: memory is reused from one to the next ... */
        struct scn_buffer answer; /* ... and so is that of its answer */
        size_t undos_count;       /* the first so many entries */
        size_t bytes_taken;       /* of edits */
        size_t steps_count;       /* that its undos and redos are about */
        uint32_t mask;
        struct scn_journal_transaction *transactions; /* made when the bytes have come to rest */
        struct scn_journal_record *journal_records;
        enum scn_error error;
        enum scn_error upkeep_error; /* nothing is lost by it */
        struct scn_storage_fault fault;
};

static void destroy_batch(struct scn_batch *batch)
{
        if (batch == NULL) {
                return;
        }
        for (size_t i = 0; i < batch->entries_count; i++) {
                scn_shared_bytes_unref(batch->entries[i].answer);
                scn_free(batch->entries[i].steps);
        }
        scn_ops_finish(&batch->ops);
        scn_buffer_finish(&batch->answer);
        scn_buffer_finish(&batch->bytes);
        scn_free(batch->drafts);
        scn_free(batch->records);
        scn_free(batch->entries);
        scn_free(batch->transactions);
        scn_free(batch->journal_records);
        scn_free(batch);
}

static struct scn_batch *create_batch(struct scn_room *room)
{
        struct scn_batch *batch = scn_alloc_zero(1, sizeof *batch);
        if (batch != NULL) {
                batch->room = room;
                scn_buffer_init(&batch->bytes, SIZE_MAX / 2);
                scn_buffer_init(&batch->answer, SCN_MESSAGE_BYTES_MAX);
        }
        return batch;
}

void scn_batch_forget(struct scn_batch *batch, const struct scn_session *session)
{
        for (size_t i = 0; batch != NULL && i < batch->entries_count; i++) {
                if (batch->entries[i].session == session) {
                        batch->entries[i].session = NULL;
                }
        }
}

/* --- The turn --- */

static size_t put(struct scn_batch *batch, const void *bytes, size_t size, enum scn_error *error)
{
        const size_t at = batch->bytes.size;
        if (*error == SCN_OK) {
                *error = scn_buffer_append(&batch->bytes, bytes, size);
        }
        return at;
}

/* What an edit, or an undo or redo, is made of. */
struct taken {
        struct scn_session *session;
        uint64_t number;
        uint64_t group;
        struct scn_digest hash;
        struct scn_edit edit;
        enum scn_cause cause;
        const scn_revision *op_steps; /* undo, redo: the step that each op is about */
        const scn_revision *steps;    /* ... and all of them */
        size_t steps_count;
};

static enum scn_error put_record(struct scn_batch *batch, const struct taken *taken, const struct scn_change *change)
{
        struct draft_record record = {.kind = change->kind, .node = change->uid, .before = batch->bytes.size};
        struct scn_record_own own;
        if (taken->op_steps != NULL) {
                own = (struct scn_record_own){taken->op_steps[change->op], taken->edit.ops[change->op].writers};
        }
        const enum scn_error error = scn_record_encode(batch->room->document, change,
                taken->op_steps != NULL ? &own : NULL, &batch->bytes, &record.before_size);
        if (error != SCN_OK) {
                return error;
        }
        record.after_size = batch->bytes.size - record.before - record.before_size;
        if (!scn_grow((void **)&batch->records, &batch->records_capacity, sizeof *batch->records,
                    batch->records_count + 1, SIZE_MAX)) {
                return SCN_E_NO_MEMORY;
        }
        batch->records[batch->records_count++] = record;
        return SCN_OK;
}

static enum scn_error put_records(struct scn_batch *batch, const struct taken *taken, const struct scn_changes *changes)
{
        enum scn_error error = SCN_OK;
        for (uint32_t i = 0; i < scn_changes_count(changes) && error == SCN_OK; i++) {
                error = put_record(batch, taken, scn_changes_get(changes, i));
        }
        return error;
}

/* Times rise, also when the clock does not. */
static int64_t next_time(struct scn_room *room)
{
        const int64_t now = (int64_t)room->server->options.utc_us(room->server->options.data);
        room->last_time_us = now > room->last_time_us ? now : room->last_time_us + 1;
        return room->last_time_us;
}

/* Writes the transaction of an applied edit. The answer's payload is what a repeat gets. */
static enum scn_error draft_transaction(
        struct scn_batch *batch, const struct taken *taken, struct scn_changes *changes, struct scn_slice answer)
{
        struct scn_room *room = batch->room;
        const struct scn_digests digests = scn_document_digests(room->document);
        enum scn_error error = SCN_OK;
        struct draft draft = {
                .revision = scn_changes_revision(changes),
                .client = taken->session->client,
                .number = taken->number,
                .group = taken->group == SCN_ABSENT ? 0 : taken->group,
                .step = taken->edit.step == 0 ? scn_changes_revision(changes) : taken->edit.step,
                .cause = taken->cause,
                .author_size = taken->session->author_size,
                .answer_size = answer.size,
                .records_first = batch->records_count,
        };
        draft.author = put(batch, taken->session->author, draft.author_size, &error);
        draft.hash = put(batch, &taken->hash, sizeof taken->hash, &error);
        draft.digest = put(batch, &digests, sizeof digests, &error);
        draft.answer = put(batch, answer.data, answer.size, &error);
        if (error == SCN_OK) {
                error = put_records(batch, taken, changes);
        }
        draft.records_count = batch->records_count - draft.records_first;
        if (error == SCN_OK &&
                !scn_grow((void **)&batch->drafts, &batch->drafts_capacity, sizeof *batch->drafts,
                        batch->drafts_count + 1, SIZE_MAX)) {
                error = SCN_E_NO_MEMORY;
        }
        if (error != SCN_OK) {
                batch->records_count = draft.records_first;
                return error;
        }
        draft.time_us = next_time(room);
        batch->drafts[batch->drafts_count++] = draft;
        batch->mask |= scn_changes_mask(changes);
        return SCN_OK;
}

static bool push_entry(struct scn_batch *batch, struct scn_entry entry)
{
        if (entry.answer == NULL ||
                !scn_grow((void **)&batch->entries, &batch->entries_capacity, sizeof *batch->entries,
                        batch->entries_count + 1, SIZE_MAX)) {
                scn_shared_bytes_unref(entry.answer);
                scn_free(entry.steps);
                return false;
        }
        batch->entries[batch->entries_count++] = entry;
        entry.session->answers_due++;
        return true;
}

static void refuse_later(
        struct scn_batch *batch, const struct taken *taken, enum scn_error error, const struct scn_refusal *refusal)
{
        const struct scn_entry entry = {
                .session = taken->session,
                .answer = scn_answer_encode_refused(taken->number, error, refusal),
                .number = taken->number,
        };
        if (!push_entry(batch, entry)) {
                scn_session_end(taken->session, SCN_E_NO_MEMORY, NULL);
        }
}

/* What the author can take back once this is published; noting it must not fail then. */
static enum scn_error note_entry(
        struct scn_batch *batch, const struct taken *taken, const struct scn_changes *changes, struct scn_entry *entry)
{
        entry->changes = NULL;
        entry->author = scn_session_author(taken->session);
        entry->cause = taken->cause;
        entry->step = taken->edit.step == 0 ? scn_changes_revision(changes) : taken->edit.step;
        if (entry->author == NULL ||
                !scn_author_reserve(
                        entry->author, batch->entries_count + 1 + batch->steps_count + taken->steps_count)) {
                return SCN_E_NO_MEMORY;
        }
        batch->steps_count += taken->steps_count;
        if (taken->steps_count > 0) {
                entry->steps = scn_alloc_zero(taken->steps_count, sizeof *entry->steps);
                if (entry->steps == NULL) {
                        return SCN_E_NO_MEMORY;
                }
                memcpy(entry->steps, taken->steps, taken->steps_count * sizeof *entry->steps);
                entry->steps_count = taken->steps_count;
        }
        return SCN_OK;
}

/* What was applied gets its transaction and its answer, or is taken back and refused. */
static void draft_changes(
        struct scn_batch *batch, const struct taken *taken, struct scn_changes *changes, struct scn_slice answer)
{
        struct scn_document *document = batch->room->document;
        struct scn_entry entry = {.session = taken->session, .number = taken->number, .is_accepted = true};
        enum scn_error error = note_entry(batch, taken, changes, &entry);
        if (error == SCN_OK) {
                error = draft_transaction(batch, taken, changes, answer);
        }
        if (error != SCN_OK) {
                scn_free(entry.steps);
                scn_document_take_back(document, changes);
                refuse_later(batch, taken, error, NULL);
                return;
        }
        entry.changes = changes;
        entry.answer = scn_answer_frame(answer);
        if (push_entry(batch, entry)) {
                scn_live_note_applied(taken->session, changes);
                return;
        }
        /* It cannot be answered, so it must not have happened. */
        batch->drafts_count--;
        batch->records_count = batch->drafts[batch->drafts_count].records_first;
        scn_document_take_back(document, changes);
        scn_session_end(taken->session, SCN_E_NO_MEMORY, NULL);
}

/* Nothing changed: there is only an answer. */
static void answer_unchanged(struct scn_batch *batch, const struct taken *taken, struct scn_slice answer)
{
        const struct scn_entry entry = {
                .session = taken->session,
                .answer = scn_answer_frame(answer),
                .is_accepted = true,
                .number = taken->number,
        };
        if (!push_entry(batch, entry)) {
                scn_session_end(taken->session, SCN_E_NO_MEMORY, NULL);
        }
}

static void apply_edit(struct scn_batch *batch, const struct taken *taken)
{
        struct scn_document *document = batch->room->document;
        struct scn_session *session = taken->session;
        struct scn_changes *changes;
        struct scn_refusal refusal;
        struct scn_buffer *payload = &batch->answer;
        enum scn_error error = scn_document_apply(document, &taken->edit, &changes, &refusal);
        if (error != SCN_OK) {
                refuse_later(batch, taken, error, &refusal);
                return;
        }
        error = scn_lock_check(session, changes, &refusal);
        if (error != SCN_OK) {
                scn_document_take_back(document, changes);
                refuse_later(batch, taken, error, &refusal);
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
                refuse_later(batch, taken, error, NULL);
        } else if (is_changed) {
                /* A gesture goes on until an edit of another one. */
                session->group_number = taken->group;
                session->group_step = taken->group == SCN_ABSENT ? 0
                        : taken->edit.step != 0                  ? taken->edit.step
                                                                 : scn_changes_revision(changes);
                draft_changes(batch, taken, changes, answer);
        } else {
                answer_unchanged(batch, taken, answer);
        }
}

/* --- Taking edits from the inboxes --- */

static void refuse_now(struct scn_session *session, uint64_t number, enum scn_error error)
{
        scn_answer_refused(session, number, error);
        scn_session_pop(session);
        scn_session_pump(session);
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

static void decode_and_apply(struct scn_batch *batch, struct scn_session *session,
        const struct scn_message_edit *message, struct scn_digest hash)
{
        struct scn_ops *ops = &batch->ops;
        struct scn_ops_fault fault;
        struct taken taken = {
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
                const struct scn_refusal refusal = {.op = fault.op, .field = fault.field};
                refuse_later(batch, &taken, error, &refusal);
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

/* A part that has more to come is only put aside. */
static void stage_part(struct scn_session *session, uint64_t number, struct scn_slice payload)
{
        if (session->staged_bytes + payload.size > SCN_STAGED_BYTES_MAX) {
                scn_session_drop_staged(session);
                scn_session_end(session, SCN_E_TOO_LARGE, "an edit in parts exceeds its limit");
                return;
        }
        session->staged_hash = chain_hash(session, payload);
        session->staged_number = number;
        scn_session_stage(session);
        scn_session_pump(session);
}

/* An undo or redo by an author closes what gestures the author has open. */
static void close_groups(struct scn_room *room, const struct scn_author *author)
{
        for (struct scn_session *session = room->sessions; session != NULL; session = session->next_in_room) {
                if (author == NULL || session->own == author) {
                        session->group_step = 0;
                }
        }
}

static void draft_undo(struct scn_batch *batch, const struct taken *taken, const struct scn_undo_result *result)
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
                refuse_later(batch, taken, error, NULL);
        } else if (is_changed) {
                draft_changes(batch, taken, result->changes, answer);
        } else {
                answer_unchanged(batch, taken, answer);
        }
        scn_buffer_finish(&payload);
}

static void apply_undo(struct scn_batch *batch, struct scn_session *session, const struct scn_undo_result *result,
        uint64_t number, struct scn_digest hash)
{
        struct taken taken = {
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
        result->author->is_pending = result->changes != NULL;
        if (!result->is_dry) {
                close_groups(batch->room, result->author);
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
                scn_session_use_number(session, number);
                refuse_now(session, number, error);
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
                const struct taken taken = {.session = session, .number = number};
                refuse_later(batch, &taken, error, &refusal);
        }
        batch->undos_count = batch->entries_count;
        scn_undo_destroy(session->undo);
        session->undo = NULL;
        if (session->state == SCN_SESSION_OPEN) {
                scn_session_pop(session);
                scn_session_pump(session);
        }
        return true;
}

/* Answers what was restored, which is a step of its own. */
static void draft_restore(
        struct scn_batch *batch, const struct taken *taken, struct scn_changes *changes, struct scn_slice summary)
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
        struct taken taken = {.session = session,
                .number = message->number,
                .group = SCN_ABSENT,
                .hash = hash,
                .cause = SCN_CAUSE_RESTORE};
        struct scn_changes *changes;
        struct scn_refusal refusal;
        struct scn_slice summary;
        enum scn_error error = SCN_OK;
        const enum scn_restore_state state = scn_restore_prepare(session, message, &error);
        if (state == SCN_RESTORE_REFUSED) {
                scn_session_use_number(session, message->number);
                refuse_now(session, message->number, error);
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
                refuse_later(batch, &taken, error, &refusal);
        }
        scn_restore_destroy(session->restore);
        session->restore = NULL;
        if (session->state == SCN_SESSION_OPEN) {
                scn_session_pop(session);
                scn_session_pump(session);
        }
        return true;
}

/* Takes the edit at the head of a session's inbox. False: it has to wait. */
static bool take_edit(struct scn_batch *batch, struct scn_session *session)
{
        const struct scn_queued *queued = scn_session_edit(session);
        const struct scn_slice payload = {queued->payload, queued->size};
        struct scn_message message;
        struct scn_message_fault fault;
        bool is_repeat;
        const enum scn_error decoded = scn_message_decode(payload, SCN_RECEIVER_SERVER, &message, &fault);
        SCN_ASSERT(decoded == SCN_OK); /* it was read once already, when it came to the head */
        if (message.kind != SCN_MESSAGE_edit && message.kind != SCN_MESSAGE_undo && message.kind != SCN_MESSAGE_redo &&
                message.kind != SCN_MESSAGE_restore) {
                return false; /* a view, which waits for the publish point */
        }
        const uint64_t number = message.as.edit.number; /* the first field of all */
        const enum scn_error error = check_number(session, number, &is_repeat);
        const bool is_torn = session->staged_first != NULL && session->staged_number != number;
        if (error != SCN_OK || is_torn) {
                scn_session_drop_staged(session);
                refuse_now(session, number, error != SCN_OK ? error : SCN_E_GAP);
                return true;
        }
        if (message.kind == SCN_MESSAGE_edit && message.as.edit.more) {
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
        /* Only reading goes while the file cannot even list the epoch. */
        if (!batch->room->has_epoch) {
                scn_session_use_number(session, number);
                scn_session_drop_staged(session);
                refuse_now(session, number, SCN_E_STORAGE_FULL);
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
        if (session->state == SCN_SESSION_OPEN) {
                scn_session_pop(session);
                scn_session_pump(session);
        }
        return true;
}

/* What was prepared before this turn comes first. */
static void take_prepared(struct scn_room *room, struct scn_batch *batch)
{
        struct scn_session *next = NULL;
        for (struct scn_session *session = room->sessions; session != NULL; session = next) {
                next = session->next_in_room;
                const bool is_prepared = session->undo != NULL || session->restore != NULL;
                if (is_prepared && scn_session_edit(session) != NULL) {
                        (void)take_edit(batch, session);
                }
        }
}

/* Round robin, one edit a session and round, until nobody has one or the turn is full. */
static void fill_batch(struct scn_room *room, struct scn_batch *batch)
{
        bool has_taken = true;
        take_prepared(room, batch);
        while (has_taken) {
                has_taken = false;
                struct scn_session *next = NULL;
                for (struct scn_session *session = room->sessions; session != NULL; session = next) {
                        next = session->next_in_room;
                        if (batch->entries_count >= SCN_TURN_EDITS_MAX || batch->bytes_taken >= SCN_TURN_BYTES_MAX) {
                                return;
                        }
                        if (scn_session_edit(session) != NULL) {
                                has_taken = take_edit(batch, session) || has_taken;
                        }
                }
        }
}

/* --- In flight --- */

static void make_transaction(struct scn_batch *batch, size_t index, struct scn_journal_record **at)
{
        const uint8_t *bytes = batch->bytes.data;
        const struct draft *draft = &batch->drafts[index];
        batch->transactions[index] = (struct scn_journal_transaction){
                .revision = draft->revision,
                .time_us = draft->time_us,
                .author = {bytes + draft->author, (uint32_t)draft->author_size},
                .client = draft->client,
                .number = draft->number,
                .content_hash = {bytes + draft->hash, sizeof(struct scn_digest)},
                .group = draft->group,
                .cause = (uint32_t)draft->cause,
                .step = draft->step,
                .digest = {bytes + draft->digest, sizeof(struct scn_digests)},
                .answer = {bytes + draft->answer, (uint32_t)draft->answer_size},
                .records = *at,
                .records_count = (uint32_t)draft->records_count,
        };
        for (size_t i = 0; i < draft->records_count; i++) {
                const struct draft_record *record = &batch->records[draft->records_first + i];
                *(*at)++ = (struct scn_journal_record){
                        .kind = record->kind,
                        .node = record->node,
                        .before = {bytes + record->before, (uint32_t)record->before_size},
                        .after = {bytes + record->before + record->before_size, (uint32_t)record->after_size},
                };
        }
}

static bool make_transactions(struct scn_batch *batch)
{
        batch->transactions = scn_alloc_zero(batch->drafts_count, sizeof *batch->transactions);
        batch->journal_records = scn_alloc_zero(batch->records_count, sizeof *batch->journal_records);
        if (batch->transactions == NULL || batch->journal_records == NULL) {
                return false;
        }
        struct scn_journal_record *at = batch->journal_records;
        for (size_t i = 0; i < batch->drafts_count; i++) {
                make_transaction(batch, i, &at);
        }
        return true;
}

static void run_batch(struct scn_job *job)
{
        struct scn_batch *batch = (struct scn_batch *)job;
        batch->error = scn_journal_append(
                batch->room->journal, batch->transactions, (uint32_t)batch->drafts_count, &batch->fault);
        if (batch->error == SCN_OK) {
                batch->upkeep_error = scn_journal_upkeep(batch->room->journal, &batch->fault);
        }
}

static void note_published(struct scn_entry *entry)
{
        switch (entry->cause) {
        case SCN_CAUSE_UNDO:
                scn_author_note_undo(
                        entry->author, entry->steps, entry->steps_count, scn_changes_revision(entry->changes));
                break;
        case SCN_CAUSE_REDO:
                scn_author_note_redo(entry->author, entry->steps, entry->steps_count);
                break;
        case SCN_CAUSE_EDIT:
        case SCN_CAUSE_IMPORT:
        case SCN_CAUSE_RESTORE:
        case SCN_CAUSE_FORK:
        case SCN_CAUSE_COUNT:
                scn_author_note_edit(entry->author, entry->step, scn_changes_revision(entry->changes));
                break;
        }
        entry->author->is_pending = false;
}

/* The publish point: acknowledgements, then deltas. */
static void publish(struct scn_room *room, struct scn_batch *batch)
{
        room->durable = scn_document_revision(room->document);
        /* Nothing is queued beyond one delta: who has not taken the last one gets a merged one later. */
        for (struct scn_session *session = room->sessions; session != NULL; session = session->next_in_room) {
                session->may_send = scn_session_is_drained(session);
        }
        for (size_t i = 0; i < batch->entries_count; i++) {
                struct scn_entry *entry = &batch->entries[i];
                const bool is_changed = entry->changes != NULL;
                if (is_changed) {
                        note_published(entry);
                        scn_live_note_published(room, entry->changes);
                        scn_document_settle(room->document, entry->changes);
                }
                if (entry->session != NULL) {
                        entry->session->answers_due--;
                        /* Also where nothing was left to change: it shows until a view has reached what it was judged
                         * by. */
                        if (entry->is_accepted) {
                                entry->session->owed = room->durable;
                                entry->session->is_behind = true;
                        }
                        scn_session_send_shared(entry->session, entry->answer);
                }
        }
        if (batch->mask != 0) {
                scn_view_publish(room, batch->mask);
        }
        /* What an edit ends goes behind it, lest a node jumps back. */
        scn_live_publish(room, batch->mask);
        scn_room_gather(room, batch->bytes.size + ROW_COST * (batch->drafts_count + batch->records_count));
}

/* What was surely not stored never happened: taken back, newest first, and refused. */
static void take_back(struct scn_room *room, struct scn_batch *batch)
{
        scn_server_log(room->server, SCN_LOG_ERROR, "document %.*s: %s: %s", (int)room->name.size,
                (const char *)room->name.data, scn_error_text(batch->error), batch->fault.text);
        for (size_t i = batch->entries_count; i-- > 0;) {
                if (batch->entries[i].changes != NULL) {
                        batch->entries[i].author->is_pending = false;
                        scn_document_take_back(room->document, batch->entries[i].changes);
                }
        }
        close_groups(room, NULL);
        scn_live_take_back(room);
        const enum scn_error error = batch->error == SCN_E_BAD_BATCH ? SCN_E_STORAGE_FAILED : batch->error;
        bool has_changed = false;
        for (size_t i = 0; i < batch->entries_count; i++) {
                struct scn_entry *entry = &batch->entries[i];
                /* From the first change on edits were judged by a state that never was: their answers would tell of
                 * it. */
                has_changed = has_changed || entry->changes != NULL;
                if (entry->session == NULL) {
                        continue;
                }
                entry->session->answers_due--;
                if (has_changed) {
                        scn_answer_refused(entry->session, entry->number, error);
                } else {
                        scn_session_send_shared(entry->session, entry->answer);
                }
        }
}

void scn_room_break(struct scn_room *room)
{
        room->is_broken = true;
        struct scn_session *next = NULL;
        for (struct scn_session *session = room->sessions; session != NULL; session = next) {
                next = session->next_in_room;
                scn_session_end(session, SCN_E_OUTCOME_UNKNOWN, NULL);
        }
}

static void go_on(struct scn_room *room)
{
        struct scn_session *next = NULL;
        for (struct scn_session *session = room->sessions; session != NULL; session = next) {
                next = session->next_in_room;
                if (room->server->is_stopping) {
                        scn_session_end(session, SCN_E_STOPPING, "the server is stopping");
                        continue;
                }
                if (session->state == SCN_SESSION_OPEN && session->is_behind && scn_session_is_drained(session) &&
                        scn_room_is_settled(room)) {
                        scn_view_catch_up(session);
                }
                scn_session_pump(session);
        }
        scn_room_greet(room);
        scn_room_ask_repeats(room);
}

static void done_batch(struct scn_job *job)
{
        struct scn_batch *batch = (struct scn_batch *)job;
        struct scn_room *room = batch->room;
        room->batch = NULL;
        if (batch->upkeep_error != SCN_OK) {
                scn_server_log(room->server, SCN_LOG_WARNING, "document %.*s: upkeep: %s: %s", (int)room->name.size,
                        (const char *)room->name.data, scn_error_text(batch->upkeep_error), batch->fault.text);
        }
        if (batch->error == SCN_OK) {
                publish(room, batch);
        } else if (batch->error == SCN_E_OUTCOME_UNKNOWN) {
                take_back(room, batch); /* nothing of it is published */
                scn_room_break(room);
        } else {
                take_back(room, batch);
        }
        destroy_batch(batch);
        go_on(room);
        scn_room_turn(room);
        scn_room_tick(room);
}

void scn_room_turn(struct scn_room *room)
{
        const struct scn_server_options *options = &room->server->options;
        if (!scn_room_is_settled(room) || room->jobs_count > 0 || room->server->is_stopping) {
                return;
        }
        bool has_edit = false;
        for (struct scn_session *session = room->sessions; session != NULL && !has_edit;
                session = session->next_in_room) {
                has_edit = scn_session_edit(session) != NULL;
        }
        struct scn_batch *batch = has_edit ? create_batch(room) : NULL;
        if (batch == NULL) {
                return;
        }
        room->batch = batch;
        fill_batch(room, batch);
        if (batch->drafts_count > 0 && make_transactions(batch)) {
                batch->job = (struct scn_job){.run = run_batch, .done = done_batch};
                options->submit(options->data, &batch->job);
                return;
        }
        /* Nothing to store: refusals and edits that changed nothing are answered at once. */
        room->batch = NULL;
        if (batch->drafts_count > 0) {
                batch->error = SCN_E_NO_MEMORY;
                take_back(room, batch);
        } else {
                publish(room, batch);
        }
        destroy_batch(batch);
        scn_room_ask_repeats(room);
}
