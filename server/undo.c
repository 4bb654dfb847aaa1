/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/undo.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "server/answer.h"
#include "server/room_open.h"
#include "server/undo_heads.h"
#include "server/undo_records.h"

struct scn_undo {
        struct scn_author *author; /* the room's */
        uint64_t author_changes;   /* as it was when the steps were chosen */
        enum scn_cause cause;
        bool is_dry;
        bool is_read;     /* the records are there */
        bool wants_heads; /* what is to be known about skips has been noted in heads */
        enum scn_error error;
        struct scn_undo_records records;
        scn_revision *op_steps;
        scn_revision *steps;
        struct scn_undo_heads heads;
        struct scn_edit edit;
        struct scn_buffer summary;
};

const struct scn_ops *scn_undo_ops(const struct scn_undo *undo)
{
        return &undo->records.ops;
}

void scn_undo_destroy(struct scn_undo *undo)
{
        if (undo == NULL) {
                return;
        }
        scn_undo_records_finish(&undo->records);
        scn_undo_heads_finish(&undo->heads);
        scn_buffer_finish(&undo->summary);
        scn_free(undo->op_steps);
        scn_free(undo->steps);
        scn_free(undo);
}

/* --- On a worker --- */

enum job_kind {
        JOB_PAST,    /* what the author can undo at all */
        JOB_RECORDS, /* the steps' records, as ops */
        JOB_HEADS,   /* who was in the way */
};

struct undo_job {
        struct scn_job job;
        enum job_kind kind;
        struct scn_server *server;
        uint64_t session;
        struct scn_slice name; /* owned bytes, like author */
        struct scn_slice author;
        scn_revision since; /* the past ends here */
        struct scn_steps past;
        struct scn_undo *undo; /* owned while the job is under way */
};

static enum scn_error prepare_records(struct scn_journal *journal, struct scn_undo *undo, struct scn_slice author)
{
        struct scn_undo_records *records = &undo->records;
        const enum scn_error error = scn_undo_records_read(records, journal, author);
        if (error != SCN_OK) {
                return error;
        }
        undo->op_steps = scn_alloc_zero(records->ops.count, sizeof *undo->op_steps);
        undo->steps = scn_alloc_zero(records->wanted_count, sizeof *undo->steps);
        if (undo->op_steps == NULL || undo->steps == NULL) {
                return SCN_E_NO_MEMORY;
        }
        size_t op = 0;
        for (size_t i = 0; i < records->wanted_count; i++) {
                undo->steps[i] = records->wanted[i].step.first;
                while (op < records->wanted[i].ops_end) {
                        undo->op_steps[op++] = undo->steps[i];
                }
        }
        undo->is_read = true;
        return SCN_OK;
}

static void run_undo(struct scn_job *base)
{
        struct undo_job *job = (struct undo_job *)base;
        const struct scn_journal_options reading = {.mode = SCN_JOURNAL_READ};
        struct scn_journal *journal = NULL;
        struct scn_undo *undo = job->undo;
        undo->error = scn_journal_open(job->server->storage, job->name, &reading, &journal, NULL);
        if (undo->error != SCN_OK) {
                return;
        }
        switch (job->kind) {
        case JOB_PAST:
                undo->error = scn_steps_read(journal, job->author, job->since, scn_undo_steps_of, &job->past, NULL);
                break;
        case JOB_RECORDS:
                undo->error = prepare_records(journal, undo, job->author);
                break;
        case JOB_HEADS:
                undo->error = scn_undo_heads_find(&undo->heads, journal);
                break;
        }
        scn_journal_close(journal);
}

/* --- Back on the loop --- */

static void destroy_job(struct undo_job *job)
{
        scn_undo_destroy(job->undo);
        scn_steps_finish(&job->past);
        scn_free((void *)job->name.data);
        scn_free((void *)job->author.data);
        scn_free(job);
}

static void done_undo(struct scn_job *base)
{
        struct undo_job *job = (struct undo_job *)base;
        struct scn_session *session = scn_server_find_session(job->server, job->session);
        scn_server_end_history_job(job->server, SCN_HISTORY_STEP);
        if (session != NULL) {
                session->is_asking = false;
                session->undo = job->undo;
                job->undo = NULL;
                struct scn_author *author = session->undo->author;
                if (job->kind == JOB_PAST && session->undo->error == SCN_OK && !author->has_past &&
                        !scn_author_set_past(author, &job->past)) {
                        session->undo->error = SCN_E_NO_MEMORY;
                }
                scn_session_pump(session);
        }
        destroy_job(job);
}

/* Takes the session's undo along. False: out of memory; it has stayed. */
static bool submit(struct scn_session *session, enum job_kind kind)
{
        struct scn_server *server = session->server;
        struct undo_job *job = scn_alloc_zero(1, sizeof *job);
        if (job == NULL) {
                return false;
        }
        if (!scn_slice_copy(session->room->name, &job->name) ||
                !scn_slice_copy(session->undo->author->name, &job->author)) {
                destroy_job(job);
                return false;
        }
        job->job = (struct scn_job){.run = run_undo, .done = done_undo};
        job->kind = kind;
        job->server = server;
        job->session = session->number;
        job->since = session->undo->author->since;
        job->undo = session->undo;
        session->undo = NULL;
        session->is_asking = true;
        scn_server_begin_history_job(session, SCN_HISTORY_STEP);
        server->options.submit(server->options.data, &job->job);
        return true;
}

/* --- What is asked for --- */

static bool add_wanted(struct scn_undo_records *records, struct scn_step step, scn_revision by)
{
        records->wanted[records->wanted_count++] = (struct scn_undo_wanted){.step = step, .by = by};
        return true;
}

static enum scn_error choose_undo(struct scn_undo *undo, const struct scn_message_undo *message, size_t count)
{
        struct scn_undo_records *records = &undo->records;
        const struct scn_steps *steps = &undo->author->steps;
        if (message->step != SCN_ABSENT) {
                const struct scn_step *step = scn_steps_find(steps, message->step);
                return step != NULL && add_wanted(records, *step, 0) ? SCN_OK : SCN_E_NOTHING_TO_UNDO;
        }
        for (size_t i = steps->undo_count; i-- > 0 && records->wanted_count < count;) {
                const struct scn_step *step = scn_steps_find(steps, steps->undo[i]);
                SCN_ASSERT(step != NULL);
                (void)add_wanted(records, *step, 0);
        }
        return records->wanted_count > 0 ? SCN_OK : SCN_E_NOTHING_TO_UNDO;
}

static enum scn_error choose_redo(struct scn_undo *undo, size_t count)
{
        struct scn_undo_records *records = &undo->records;
        const struct scn_steps *steps = &undo->author->steps;
        for (size_t i = steps->redo_count; i-- > 0 && records->wanted_count < count;) {
                (void)add_wanted(records, (struct scn_step){.first = steps->redo[i].step}, steps->redo[i].by);
        }
        return records->wanted_count > 0 ? SCN_OK : SCN_E_NOTHING_TO_UNDO;
}

static enum scn_error choose(struct scn_undo *undo, const struct scn_message *message)
{
        struct scn_undo_records *records = &undo->records;
        const bool is_undo = message->kind == SCN_MESSAGE_undo;
        const uint64_t asked = is_undo ? message->as.undo.count : message->as.redo.count;
        const size_t count = asked == SCN_ABSENT || asked == 0 ? 1
                : asked > SCN_UNDO_COUNT_MAX                   ? SCN_UNDO_COUNT_MAX
                                                               : (size_t)asked;
        undo->cause = is_undo ? SCN_CAUSE_UNDO : SCN_CAUSE_REDO;
        records->is_redo = !is_undo;
        records->is_forced = is_undo && message->as.undo.force;
        undo->is_dry = is_undo && message->as.undo.dry;
        undo->author_changes = undo->author->changes;
        records->wanted_count = 0;
        scn_free(records->wanted);
        records->wanted = scn_alloc_zero(count, sizeof *records->wanted);
        if (records->wanted == NULL) {
                return SCN_E_NO_MEMORY;
        }
        return is_undo ? choose_undo(undo, &message->as.undo, count) : choose_redo(undo, count);
}

static enum scn_error begin(struct scn_session *session, struct scn_author *author)
{
        struct scn_undo *undo = scn_alloc_zero(1, sizeof *undo);
        if (undo == NULL) {
                return SCN_E_NO_MEMORY;
        }
        undo->author = author;
        undo->records.bytes_max = scn_document_limits(scn_room_document(session->room))->record_bytes_max;
        scn_buffer_init(&undo->summary, SCN_MESSAGE_BYTES_MAX / 2);
        session->undo = undo;
        return SCN_OK;
}

static enum scn_undo_state refuse(struct scn_session *session, enum scn_error error, enum scn_error *error_out)
{
        scn_undo_destroy(session->undo);
        session->undo = NULL;
        *error_out = error;
        return SCN_UNDO_REFUSED;
}

enum scn_undo_state scn_undo_prepare(
        struct scn_session *session, const struct scn_message *message, enum scn_error *error_out)
{
        struct scn_author *author = scn_session_author(session);
        /* What this connection has sent before must be durable: only then is it a step. */
        if (session->answers_due > 0 || (author != NULL && author->is_pending)) {
                return SCN_UNDO_WAITS;
        }
        if (session->undo != NULL && session->undo->error != SCN_OK) {
                return refuse(session, session->undo->error, error_out);
        }
        if (session->undo != NULL && session->undo->is_read && session->undo->author_changes != author->changes) {
                scn_undo_destroy(session->undo);
                session->undo = NULL;
        }
        if (session->undo != NULL && session->undo->is_read && !session->undo->wants_heads) {
                return SCN_UNDO_READY;
        }
        if (!scn_server_has_history_job(session, SCN_HISTORY_STEP)) {
                return SCN_UNDO_WAITS;
        }
        enum scn_error error = author == NULL ? SCN_E_NO_MEMORY : SCN_OK;
        if (error == SCN_OK && session->undo == NULL) {
                error = begin(session, author);
        }
        enum job_kind kind = JOB_PAST;
        if (error == SCN_OK && session->undo->wants_heads) {
                kind = JOB_HEADS;
                session->undo->wants_heads = false;
        } else if (error == SCN_OK && author->has_past) {
                kind = JOB_RECORDS;
                error = choose(session->undo, message);
        }
        if (error == SCN_OK && !submit(session, kind)) {
                error = SCN_E_NO_MEMORY;
        }
        return error == SCN_OK ? SCN_UNDO_WAITS : refuse(session, error, error_out);
}

/* --- Applying --- */

static bool is_own(void *data, scn_revision step)
{
        const struct scn_undo *undo = data;
        return step == 0 || scn_steps_find(&undo->author->steps, step) != NULL;
}

static enum scn_error pack_summary(struct scn_undo *undo, const struct scn_changes *changes, size_t steps_count)
{
        scn_buffer_reset(&undo->summary);
        struct scn_packer packer = scn_packer_to(&undo->summary);
        scn_pack_map(&packer, 2 + scn_undo_heads_members(changes));
        scn_pack_cstring(&packer, "steps");
        scn_pack_array(&packer, (uint32_t)steps_count);
        for (size_t i = 0; i < steps_count; i++) {
                scn_pack_uint(&packer, undo->steps[i]);
        }
        scn_pack_cstring(&packer, "applied");
        scn_pack_uint(&packer, scn_changes_count(changes));
        scn_undo_heads_pack(&undo->heads, changes, &packer);
        return packer.error;
}

/* What touches somebody else's lock is refused like what the document refuses. */
static enum scn_error apply_unlocked(const struct scn_session *session, struct scn_undo *undo,
        struct scn_changes **changes_out, struct scn_refusal *refusal)
{
        struct scn_document *document = session->room->document;
        enum scn_error error = scn_document_apply(document, &undo->edit, changes_out, refusal);
        if (error != SCN_OK) {
                return error;
        }
        error = scn_lock_check(session, *changes_out, refusal);
        if (error != SCN_OK) {
                scn_document_take_back(document, *changes_out);
        }
        return error;
}

/* As many of the steps as can be: where a later one is refused, those before it. */
static enum scn_error apply_steps(const struct scn_session *session, struct scn_undo *undo,
        struct scn_changes **changes_out, size_t *steps_count_out, struct scn_refusal *refusal)
{
        size_t count = undo->records.wanted_count;
        for (;;) {
                undo->edit.ops_count = (uint32_t)undo->records.wanted[count - 1].ops_end;
                const enum scn_error error = apply_unlocked(session, undo, changes_out, refusal);
                *steps_count_out = count;
                if (error == SCN_OK) {
                        return SCN_OK;
                }
                size_t refused = 0;
                while (refused + 1 < count && refusal->op >= undo->records.wanted[refused].ops_end) {
                        refused++;
                }
                if (refused == 0 || error == SCN_E_NO_MEMORY) {
                        return error;
                }
                count = refused;
        }
}

static void use_up(struct scn_undo *undo, enum scn_error error)
{
        if (!undo->is_dry && error != SCN_E_NO_MEMORY && error != SCN_E_LOCKED) {
                scn_author_note_undo(undo->author, undo->steps, 1, 0);
        }
}

enum scn_error scn_undo_apply(
        struct scn_session *session, struct scn_undo_result *result_out, struct scn_refusal *refusal_out)
{
        struct scn_undo *undo = session->undo;
        struct scn_document *document = session->room->document;
        struct scn_changes *changes;
        size_t steps_count;
        undo->edit = (struct scn_edit){
                .ops = undo->records.ops.ops, .client = session->client, .is_own = is_own, .is_own_data = undo};
        enum scn_error error = apply_steps(session, undo, &changes, &steps_count, refusal_out);
        if (error != SCN_OK) {
                refusal_out->op = 0;
                refusal_out->step = undo->steps[0];
                use_up(undo, error);
                return error;
        }
        undo->wants_heads = scn_undo_heads_note(&undo->heads, changes);
        error = undo->wants_heads ? SCN_E_BUSY : pack_summary(undo, changes, steps_count);
        if (error != SCN_OK) {
                scn_document_take_back(document, changes);
                return error;
        }
        const bool is_changed = scn_changes_count(changes) > 0;
        *result_out = (struct scn_undo_result){
                .changes = is_changed && !undo->is_dry ? changes : NULL,
                .edit = &undo->edit,
                .op_steps = undo->op_steps,
                .steps = undo->steps,
                .steps_count = steps_count,
                .cause = undo->cause,
                .author = undo->author,
                .summary = {undo->summary.data, (uint32_t)undo->summary.size},
                .is_dry = undo->is_dry,
        };
        if (result_out->changes == NULL) {
                scn_document_take_back(document, changes);
        }
        if (!is_changed && !undo->is_dry) {
                scn_author_note_undo(undo->author, undo->steps, steps_count, 0);
        }
        return SCN_OK;
}

/* --- What a stored answer says --- */

size_t scn_undo_steps_of(struct scn_slice answer, scn_revision *steps, size_t steps_max)
{
        struct scn_message message;
        struct scn_message_fault fault;
        size_t count = 0;
        if (scn_message_decode(answer, SCN_RECEIVER_CLIENT, &message, &fault) != SCN_OK ||
                message.kind != SCN_MESSAGE_applied || message.as.applied.summary.data == NULL) {
                return 0;
        }
        /* The summary begins with them. */
        struct scn_unpacker unpacker = scn_unpacker_from(message.as.applied.summary);
        (void)scn_unpack_map(&unpacker);
        (void)scn_unpack_text(&unpacker, 16);
        const uint32_t told = scn_unpack_array(&unpacker);
        while (count < told && count < steps_max && unpacker.error == SCN_OK) {
                steps[count++] = scn_unpack_uint(&unpacker, SCN_REVISION_MAX);
        }
        return unpacker.error == SCN_OK ? count : 0;
}
