/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The publish point: from a batch that the journal has, or has not, to those who wait for it (DESIGN §4). */

#include "protocol/base/alloc.h"
#include "server/answer.h"
#include "server/batch.h"

#include <string.h>

/* Answers go out in pieces of about this size. */
#define ANSWERS_BYTES 65536u

static void note_published(struct scn_entry *entry)
{
        switch (entry->cause) {
        case SCN_CAUSE_UNDO:
                scn_author_note_undo(
                        entry->author, entry->steps, entry->steps_count, scn_changes_revision(entry->changes));
                break;
        case SCN_CAUSE_REDO:
                scn_author_note_redo(
                        entry->author, entry->steps, entry->steps_count, scn_changes_revision(entry->changes));
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

static void send_answers(struct scn_session *session)
{
        if (session->answers != NULL) {
                session->answers->size = session->answers_size;
                scn_session_send_shared(session, session->answers);
                scn_shared_bytes_unref(session->answers);
                session->answers = NULL;
        }
}

/* What a batch answers to one session goes out in one piece, or a few. */
static void put_into_piece(struct scn_session *session, const uint8_t *frame, size_t size)
{
        if (session->answers != NULL && session->answers->size - session->answers_size < size) {
                send_answers(session);
        }
        if (session->answers == NULL) {
                const size_t wanted = session->answers_bytes < ANSWERS_BYTES ? session->answers_bytes : ANSWERS_BYTES;
                session->answers = scn_shared_bytes_alloc((uint32_t)(wanted < size ? size : wanted));
                session->answers_size = 0;
        }
        if (session->answers == NULL) {
                scn_session_end(session, SCN_E_NO_MEMORY, NULL);
                return;
        }
        memcpy(session->answers->bytes + session->answers_size, frame, size);
        session->answers_size += (uint32_t)size;
}

/* Of an entry that still has a session. */
static void answer(const struct scn_batch *batch, const struct scn_entry *entry)
{
        struct scn_session *session = entry->session;
        (void)scn_session_may_send(session); /* before this is queued */
        session->answers_due--;
        /* Also where nothing was left to change: it shows until a view has reached what it was judged by. */
        if (entry->is_accepted) {
                session->owed = batch->room->durable;
                session->is_behind = true;
                SCN_COUNT(session, edits);
        } else {
                SCN_COUNT(session, refused);
        }
        put_into_piece(session, batch->answers.data + entry->answer, entry->answer_size);
        session->answers_bytes -= entry->answer_size;
}

static void send_all_answers(const struct scn_batch *batch)
{
        for (size_t i = 0; i < batch->entries_count; i++) {
                if (batch->entries[i].session != NULL) {
                        send_answers(batch->entries[i].session);
                }
        }
}

/* At the publish point: what is stored counts from now on. Nobody is told yet. */
static void note_all(struct scn_room *room, const struct scn_batch *batch)
{
        room->durable = scn_document_revision(scn_room_document(room));
        /* Nothing is queued beyond one delta: who has not taken the last one gets a merged one later. */
        room->moment++;
        room->counters.commits += batch->drafts_count > 0;
        for (size_t i = 0; i < batch->entries_count; i++) {
                struct scn_entry *entry = &batch->entries[i];
                if (entry->changes != NULL) {
                        note_published(entry);
                        scn_live_note_published(room, entry->changes);
                }
        }
}

/* What is stored will not be taken back; what surely is not never happened, and is taken back, newest first. */
static void settle_all(struct scn_document *document, const struct scn_batch *batch)
{
        const size_t count = batch->entries_count;
        for (size_t i = 0; i < count; i++) {
                struct scn_changes *changes = batch->entries[batch->error == SCN_OK ? i : count - 1 - i].changes;
                if (changes != NULL && batch->error == SCN_OK) {
                        scn_document_settle(document, changes);
                } else if (changes != NULL) {
                        scn_document_take_back(document, changes);
                }
        }
}

/* Acknowledgements, then deltas. */
static void tell_all(struct scn_room *room, const struct scn_batch *batch)
{
        for (size_t i = 0; i < batch->entries_count; i++) {
                if (batch->entries[i].session != NULL) {
                        answer(batch, &batch->entries[i]);
                }
        }
        send_all_answers(batch);
        if (batch->mask != 0) {
                scn_view_publish(room, batch->mask);
        }
        /* What an edit ends goes behind it, lest a node jumps back. */
        scn_live_publish(room, batch->mask);
        if (batch->drafts_count > 0) {
                scn_room_gather(room,
                        batch->bytes.size + batch->answers.size +
                                SCN_JOURNAL_ROW_COST * (batch->drafts_count + batch->records_count));
        }
}

/* What was taken back is refused. */
static void refuse_all(struct scn_room *room, struct scn_batch *batch)
{
        scn_server_log(room->server, SCN_LOG_ERROR, "document %.*s: %s: %s", (int)room->name.size,
                (const char *)room->name.data, scn_error_text(batch->error), batch->fault.text);
        for (size_t i = 0; i < batch->entries_count; i++) {
                if (batch->entries[i].changes != NULL) {
                        batch->entries[i].author->is_pending = false;
                }
        }
        scn_room_close_groups(room, NULL);
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
                if (has_changed) {
                        entry->session->answers_due--;
                        entry->session->answers_bytes -= entry->answer_size;
                        send_answers(entry->session);
                        scn_answer_refused(entry->session, entry->number, error, NULL);
                } else {
                        answer(batch, entry);
                }
        }
        send_all_answers(batch);
}

void scn_room_break(struct scn_room *room, const char *why)
{
        room->is_broken = true;
        struct scn_session *next = NULL;
        for (struct scn_session *session = room->sessions; session != NULL; session = next) {
                next = session->next_in_room;
                scn_session_end(session, SCN_E_OUTCOME_UNKNOWN, why[0] != '\0' ? why : NULL);
        }
}

void scn_room_go_on(struct scn_room *room)
{
        struct scn_session *next = NULL;
        bool has_newcomer = false;
        bool has_repeat = false;
        for (struct scn_session *session = room->sessions; session != NULL; session = next) {
                next = session->next_in_room;
                if (room->server->is_stopping && room->batch == NULL) {
                        scn_session_end(session, SCN_E_STOPPING, "the server is stopping");
                        continue;
                }
                scn_view_catch_up(session);
                scn_session_pump(session);
                has_newcomer = has_newcomer || session->state == SCN_SESSION_OPENING;
                has_repeat = has_repeat || session->has_repeat;
        }
        if (has_newcomer) {
                scn_room_greet(room);
        }
        if (has_repeat) {
                scn_room_ask_repeats(room);
        }
}

/* What is settled is told, and the batch is done with. */
static void tell_settled(struct scn_room *room, struct scn_batch *batch)
{
        room->batch = NULL;
        if (batch->error == SCN_OK) {
                tell_all(room, batch);
        } else {
                refuse_all(room, batch);
        }
        /* Without a verdict, or if it does not continue what the file has now. */
        if (batch->error == SCN_E_OUTCOME_UNKNOWN || batch->error == SCN_E_BAD_BATCH) {
                scn_room_break(room, batch->fault.text);
        }
        scn_batch_end(batch);
}

struct settling {
        struct scn_loan loan;
        struct scn_batch *batch;
};

static void work_settle(struct scn_loan *loan)
{
        settle_all(loan->room->document, ((struct settling *)loan)->batch);
}

static void back_settle(struct scn_loan *loan)
{
        tell_settled(loan->room, ((struct settling *)loan)->batch);
        scn_free(loan);
}

/* To settle, or take back, what removes or has removed much takes long: a worker does it, also where as many rooms are
 * lent as may be, for this cannot wait. False: there is not so much. */
static bool settle_long(struct scn_room *room, struct scn_batch *batch)
{
        const bool is_long = batch->bytes.size >= SCN_LONG_RECORD_BYTES && room->loan == NULL;
        struct settling *settling = is_long ? scn_alloc(sizeof *settling) : NULL;
        if (settling == NULL) {
                return false;
        }
        *settling = (struct settling){.loan = {.work = work_settle, .back = back_settle}, .batch = batch};
        scn_room_lend(room, &settling->loan);
        return true;
}

bool scn_batch_publish(struct scn_batch *batch)
{
        struct scn_room *room = batch->room;
        if (batch->error == SCN_OK) {
                note_all(room, batch);
        }
        if (settle_long(room, batch)) {
                return false;
        }
        settle_all(scn_room_document(room), batch);
        tell_settled(room, batch);
        return true;
}
