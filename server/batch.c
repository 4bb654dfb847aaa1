/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* From applied edits to the journal (DESIGN §4); from there on: publish.c. */

#include "server/batch.h"

#include "protocol/base/alloc.h"
#include "server/answer.h"
#include "server/record.h"

#include <string.h>

/* Of an idle batch's memory, for each room: a turn of a few hundred edits. */
#define SPARE_BYTES_MAX (512u << 10)
#define DISCARD_BYTES (16u << 20)

/* --- Its memory --- */

/* A transaction while its bytes may still move: offsets into the batch's buffer. */
struct scn_draft {
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
        size_t answer, answer_size; /* its payload, in the batch's answers */
        size_t records_first, records_count;
};

struct scn_draft_record {
        uint32_t kind;
        struct scn_uid node;
        size_t before, before_size;
        size_t after_size;
};

static void finish(struct scn_batch *batch)
{
        scn_ops_finish(&batch->ops);
        scn_buffer_finish(&batch->answer);
        scn_buffer_finish(&batch->answers);
        scn_buffer_finish(&batch->bytes);
        scn_free(batch->drafts);
        scn_free(batch->records);
        scn_free(batch->entries);
        scn_free(batch->transactions);
        scn_free(batch->journal_records);
}

static void destroy(struct scn_batch *batch)
{
        finish(batch);
        scn_free(batch);
}

struct scn_batch *scn_batch_create(struct scn_room *room)
{
        struct scn_batch *batch = room->spare;
        room->spare = NULL;
        if (batch == NULL) {
                batch = scn_alloc_zero(1, sizeof *batch);
                if (batch != NULL) {
                        batch->room = room;
                        scn_buffer_init(&batch->bytes, SIZE_MAX / 2);
                        scn_buffer_init(&batch->answers, SIZE_MAX / 2);
                        scn_buffer_init(&batch->answer, SCN_MESSAGE_BYTES_MAX);
                }
        }
        return batch;
}

static size_t memory_of(const struct scn_batch *batch)
{
        return batch->bytes.capacity + batch->answers.capacity + batch->answer.capacity +
                batch->drafts_capacity * sizeof *batch->drafts + batch->records_capacity * sizeof *batch->records +
                batch->entries_capacity * sizeof *batch->entries +
                batch->transactions_capacity * sizeof *batch->transactions +
                batch->journal_records_capacity * sizeof *batch->journal_records +
                batch->ops.capacity * sizeof *batch->ops.ops +
                batch->ops.properties_capacity * sizeof *batch->ops.properties;
}

static void run_discard(struct scn_job *job)
{
        finish((struct scn_batch *)job);
}

static void done_discard(struct scn_job *job)
{
        ((struct scn_batch *)job)->server->jobs_count--;
        scn_free(job);
}

/* To give back a lot takes long, too: a worker does it. */
static void discard(struct scn_batch *batch)
{
        struct scn_server *server = batch->room->server;
        if (memory_of(batch) <= DISCARD_BYTES) {
                destroy(batch);
                return;
        }
        batch->job = (struct scn_job){.run = run_discard, .done = done_discard};
        batch->server = server;
        server->jobs_count++;
        server->options.submit(server->options.data, &batch->job);
}

void scn_batch_end(struct scn_batch *batch)
{
        struct scn_room *room = batch->room;
        for (size_t i = 0; i < batch->entries_count; i++) {
                scn_free(batch->entries[i].steps);
        }
        scn_authors_trim(&room->authors);
        if (room->spare != NULL || memory_of(batch) > SPARE_BYTES_MAX) {
                discard(batch);
                return;
        }
        scn_ops_reset(&batch->ops);
        scn_buffer_reset(&batch->bytes);
        scn_buffer_reset(&batch->answers);
        batch->drafts_count = 0;
        batch->records_count = 0;
        batch->entries_count = 0;
        batch->steps_count = 0;
        batch->mask = 0;
        batch->now_us = 0;
        batch->error = SCN_OK;
        batch->upkeep_error = SCN_OK;
        batch->undos_count = 0;
        batch->bytes_taken = 0;
        room->spare = batch;
}

void scn_batch_drop_spare(struct scn_room *room)
{
        if (room->spare != NULL) {
                destroy(room->spare);
                room->spare = NULL;
        }
}

void scn_batch_forget(struct scn_batch *batch, const struct scn_session *session)
{
        for (size_t i = 0; batch != NULL && i < batch->entries_count; i++) {
                if (batch->entries[i].session == session) {
                        batch->entries[i].session = NULL;
                }
        }
}

/* --- What is applied --- */

static size_t put(struct scn_batch *batch, const void *bytes, size_t size, enum scn_error *error)
{
        const size_t at = batch->bytes.size;
        if (*error == SCN_OK) {
                *error = scn_buffer_append(&batch->bytes, bytes, size);
        }
        return at;
}

static enum scn_error put_record(
        struct scn_batch *batch, const struct scn_taken *taken, const struct scn_change *change)
{
        struct scn_draft_record record = {.kind = change->kind, .node = change->uid, .before = batch->bytes.size};
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

static void drop_records(struct scn_batch *batch, const struct scn_taken *taken)
{
        batch->records_count = taken->records_first;
        batch->bytes.size = taken->bytes_first;
}

enum scn_error scn_batch_put_records(
        struct scn_batch *batch, struct scn_taken *taken, const struct scn_changes *changes)
{
        enum scn_error error = SCN_OK;
        taken->records_first = batch->records_count;
        taken->bytes_first = batch->bytes.size;
        for (uint32_t i = 0; i < scn_changes_count(changes) && error == SCN_OK; i++) {
                error = put_record(batch, taken, scn_changes_get(changes, i));
        }
        if (error != SCN_OK) {
                drop_records(batch, taken);
        }
        return error;
}

/* Times rise, also when the clock does not; it is looked at once a batch. */
static int64_t next_time(struct scn_batch *batch)
{
        struct scn_room *room = batch->room;
        const struct scn_server_options *options = &room->server->options;
        batch->now_us = batch->now_us == 0 ? (int64_t)options->utc_us(options->data) : batch->now_us;
        room->last_time_us = batch->now_us > room->last_time_us ? batch->now_us : room->last_time_us + 1;
        return room->last_time_us;
}

/* Writes the transaction of an applied edit, whose records are there. The answer's payload is what a repeat gets. */
static enum scn_error draft_transaction(struct scn_batch *batch, const struct scn_taken *taken,
        struct scn_changes *changes, const struct scn_entry *entry, size_t answer_size)
{
        const struct scn_digests digests = scn_document_digests(scn_room_document(batch->room));
        if (!scn_grow((void **)&batch->drafts, &batch->drafts_capacity, sizeof *batch->drafts, batch->drafts_count + 1,
                    SIZE_MAX)) {
                return SCN_E_NO_MEMORY;
        }
        struct scn_draft *draft = &batch->drafts[batch->drafts_count];
        enum scn_error error = SCN_OK;
        *draft = (struct scn_draft){
                .revision = scn_changes_revision(changes),
                .client = taken->session->client,
                .number = taken->number,
                .group = taken->group == SCN_ABSENT ? 0 : taken->group,
                .step = taken->edit.step == 0 ? scn_changes_revision(changes) : taken->edit.step,
                .cause = taken->cause,
                .author_size = taken->session->author_size,
                .answer = entry->answer + entry->answer_size - answer_size,
                .answer_size = answer_size,
                .records_first = taken->records_first,
                .records_count = batch->records_count - taken->records_first,
        };
        draft->author = put(batch, taken->session->author, draft->author_size, &error);
        draft->hash = put(batch, &taken->hash, sizeof taken->hash, &error);
        draft->digest = put(batch, &digests, sizeof digests, &error);
        if (error != SCN_OK) {
                return error;
        }
        draft->time_us = next_time(batch);
        batch->drafts_count++;
        batch->mask |= scn_changes_mask(changes);
        return SCN_OK;
}

/* The next one, which counts once it is pushed. Filled where it stays, as is a draft: a copy of what was just written
 * bit by bit would wait for it. NULL: no memory. */
static struct scn_entry *begin_entry(struct scn_batch *batch, const struct scn_taken *taken, bool is_accepted)
{
        if (!scn_grow((void **)&batch->entries, &batch->entries_capacity, sizeof *batch->entries,
                    batch->entries_count + 1, SIZE_MAX)) {
                return NULL;
        }
        struct scn_entry *entry = &batch->entries[batch->entries_count];
        *entry = (struct scn_entry){.session = taken->session, .number = taken->number, .is_accepted = is_accepted};
        return entry;
}

static void push_entry(struct scn_batch *batch)
{
        const struct scn_entry *entry = &batch->entries[batch->entries_count++];
        entry->session->answers_due++;
        entry->session->answers_bytes += entry->answer_size;
}

/* Puts the frame of an answer with the others; false: no memory. */
static bool put_answer(struct scn_batch *batch, struct scn_slice payload, struct scn_entry *entry)
{
        uint8_t head[SCN_FRAME_HEAD_BYTES_MAX];
        const uint32_t head_size = scn_frame_head(payload.size, head);
        entry->answer = batch->answers.size;
        if (scn_buffer_append(&batch->answers, head, head_size) != SCN_OK ||
                scn_buffer_append(&batch->answers, payload.data, payload.size) != SCN_OK) {
                batch->answers.size = entry->answer;
                return false;
        }
        entry->answer_size = head_size + payload.size;
        return true;
}

void scn_batch_add_refused(
        struct scn_batch *batch, const struct scn_taken *taken, enum scn_error error, const struct scn_refusal *refusal)
{
        struct scn_said said;
        const char *text = scn_about_edit(&said, &taken->edit, error, refusal, &batch->room->server->options.limits);
        scn_batch_add_refused_said(batch, taken, error, refusal, text);
}

void scn_batch_add_refused_said(struct scn_batch *batch, const struct scn_taken *taken, enum scn_error error,
        const struct scn_refusal *refusal, const char *text)
{
        struct scn_entry *entry = begin_entry(batch, taken, false);
        struct scn_shared_bytes *frame = scn_answer_encode_refused(taken->number, error, refusal, text);
        if (entry != NULL && frame != NULL) {
                entry->answer = batch->answers.size;
                entry->answer_size = frame->size;
        }
        if (entry != NULL && frame != NULL && scn_buffer_append(&batch->answers, frame->bytes, frame->size) == SCN_OK) {
                push_entry(batch);
        } else {
                scn_session_end(taken->session, SCN_E_NO_MEMORY, NULL);
        }
        scn_shared_bytes_unref(frame);
}

/* What the author can take back once this is published; noting it must not fail then. */
static enum scn_error note_entry(struct scn_batch *batch, const struct scn_taken *taken,
        const struct scn_changes *changes, struct scn_entry *entry)
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

/* NULL: it is an undo or redo. */
static const struct scn_edit *edit_of(const struct scn_taken *taken)
{
        return taken->op_steps == NULL ? &taken->edit : NULL;
}

/* What was applied gets its transaction and its answer, or is taken back and refused. */
bool scn_batch_add(
        struct scn_batch *batch, const struct scn_taken *taken, struct scn_changes *changes, struct scn_slice answer)
{
        struct scn_document *document = scn_room_document(batch->room);
        struct scn_entry *entry = begin_entry(batch, taken, true);
        enum scn_error error = entry == NULL ? SCN_E_NO_MEMORY : note_entry(batch, taken, changes, entry);
        if (error == SCN_OK && !put_answer(batch, answer, entry)) {
                error = SCN_E_NO_MEMORY;
        }
        if (error == SCN_OK) {
                error = draft_transaction(batch, taken, changes, entry, answer.size);
        }
        if (error != SCN_OK) {
                drop_records(batch, taken);
                if (entry != NULL) {
                        scn_free(entry->steps);
                }
                scn_document_take_back(document, changes);
                scn_batch_add_refused(batch, taken, error, NULL);
                return false;
        }
        entry->changes = changes;
        entry->author->is_pending = entry->author->is_pending || taken->steps_count > 0;
        push_entry(batch);
        scn_live_note_applied(taken->session, edit_of(taken), changes, false);
        return true;
}

/* Nothing changed: there is only an answer. */
void scn_batch_add_unchanged(struct scn_batch *batch, const struct scn_taken *taken, struct scn_slice answer)
{
        struct scn_entry *entry = begin_entry(batch, taken, true);
        if (entry != NULL && put_answer(batch, answer, entry)) {
                push_entry(batch);
                scn_live_note_applied(taken->session, edit_of(taken), NULL, batch->drafts_count == 0);
        } else {
                scn_session_end(taken->session, SCN_E_NO_MEMORY, NULL);
        }
}

/* --- In flight --- */

static void make_transaction(struct scn_batch *batch, size_t index, struct scn_journal_record **at)
{
        const uint8_t *bytes = batch->bytes.data;
        const struct scn_draft *draft = &batch->drafts[index];
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
                .answer = {batch->answers.data + draft->answer, (uint32_t)draft->answer_size},
                .records = *at,
                .records_count = (uint32_t)draft->records_count,
        };
        for (size_t i = 0; i < draft->records_count; i++) {
                const struct scn_draft_record *record = &batch->records[draft->records_first + i];
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
        if (!scn_grow((void **)&batch->transactions, &batch->transactions_capacity, sizeof *batch->transactions,
                    batch->drafts_count, SIZE_MAX) ||
                !scn_grow((void **)&batch->journal_records, &batch->journal_records_capacity,
                        sizeof *batch->journal_records, batch->records_count, SIZE_MAX)) {
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
        batch->error = make_transactions(batch) ? scn_journal_append(batch->room->journal, batch->transactions,
                                                          (uint32_t)batch->drafts_count, &batch->fault)
                                                : SCN_E_NO_MEMORY;
        if (batch->error == SCN_OK) {
                batch->upkeep_error = scn_journal_upkeep(batch->room->journal, &batch->fault);
                batch->wal = scn_journal_wal(batch->room->journal);
        }
}

static void done_batch(struct scn_job *job)
{
        struct scn_batch *batch = (struct scn_batch *)job;
        struct scn_room *room = batch->room;
        if (batch->upkeep_error != SCN_OK) {
                scn_server_log(room->server, SCN_LOG_WARNING, "document %.*s: upkeep: %s: %s", (int)room->name.size,
                        (const char *)room->name.data, scn_error_text(batch->upkeep_error), batch->fault.text);
        }
        if (batch->error == SCN_OK) {
                const bool was_alone = !batch->had_readers && batch->readers_ever == room->server->readers_ever;
                scn_room_note_wal(room, &batch->wal, was_alone);
        }
        if (scn_batch_publish(batch)) {
                scn_room_go_on(room);
                scn_room_turn(room);
                scn_room_tick(room);
        }
}

void scn_batch_submit(struct scn_batch *batch)
{
        struct scn_room *room = batch->room;
        const struct scn_server_options *options = &room->server->options;
        if (batch->drafts_count > 0) {
                batch->job = (struct scn_job){.run = run_batch, .done = done_batch};
                batch->had_readers = scn_room_has_readers(room);
                batch->readers_ever = room->server->readers_ever;
                options->submit(options->data, &batch->job);
                return;
        }
        /* Nothing to store: refusals and edits that changed nothing are answered at once. */
        if (scn_batch_publish(batch)) {
                scn_room_ask_repeats(room);
        }
}
