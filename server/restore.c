/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/restore.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/base/uid.h"
#include "server/at.h"
#include "server/restore_plan.h"
#include "server/room_open.h"

#include <stdio.h>
#include <string.h>

/* Prepared so often while others edit; then they wait. */
#define PREPARED_FREELY 2u

struct scn_restore {
        uint32_t prepared_count;
        scn_revision prepared_for;
        scn_revision at;
        bool is_whole; /* the document, not a subtree of it */
        enum scn_error error;
        struct scn_document *past; /* the ops borrow from it */
        struct scn_ops ops;
        struct scn_buffer summary;
        struct scn_storage_fault fault; /* says more than the error */
};

struct restore_job {
        struct scn_job job;
        struct scn_server *server;
        struct scn_room *room; /* whose turns wait; NULL: they do not */
        uint64_t session;
        struct scn_slice name; /* owned, like at */
        struct scn_slice at;
        struct scn_node_ref node; /* by uid, or, if it is not there now, as it was said, with a path that is owned */
        struct scn_document_options options;
        struct scn_restore *restore; /* owned while the job is under way */
        struct scn_storage_fault fault;
        struct scn_storage_fault damaged;
};

/* What was prepared, for another time. */
static void empty(struct scn_restore *restore)
{
        scn_ops_finish(&restore->ops);
        restore->ops = (struct scn_ops){0};
        scn_document_destroy(restore->past);
        restore->past = NULL;
}

const struct scn_ops *scn_restore_ops(const struct scn_restore *restore)
{
        return &restore->ops;
}

void scn_restore_destroy(struct scn_restore *restore)
{
        if (restore != NULL) {
                empty(restore);
                scn_buffer_finish(&restore->summary);
                scn_free(restore);
        }
}

/* --- On a worker --- */

static enum scn_error make(
        struct restore_job *job, struct scn_journal *journal, scn_revision revision, struct scn_document **document_out)
{
        return scn_document_at(journal, &job->options, revision, document_out, &job->damaged, &job->fault);
}

static enum scn_error plan(struct restore_job *job, const struct scn_document *present)
{
        struct scn_restore *restore = job->restore;
        struct scn_restore_plan plan = {.past = restore->past, .present = present};
        scn_node_id top = scn_document_root(restore->past);
        const enum scn_error error = restore->is_whole ? SCN_OK : scn_document_find(restore->past, &job->node, &top);
        if (error == SCN_E_NO_NODE || error == SCN_E_GONE) {
                (void)snprintf(job->fault.text, sizeof job->fault.text, "it was not there at revision %llu",
                        (unsigned long long)restore->at);
                return SCN_E_NO_NODE;
        }
        if (error != SCN_OK) {
                return error;
        }
        plan.top = scn_document_node(restore->past, top).uid;
        return scn_restore_plan(&plan, &restore->ops);
}

static enum scn_error prepare(struct restore_job *job, struct scn_journal *journal)
{
        struct scn_restore *restore = job->restore;
        struct scn_document *present = NULL;
        enum scn_error error = scn_at_find_until(journal, job->at, restore->prepared_for, &restore->at, &job->fault);
        if (error == SCN_OK) {
                error = make(job, journal, restore->at, &restore->past);
        }
        if (error == SCN_OK) {
                error = make(job, journal, restore->prepared_for, &present);
        }
        if (error == SCN_OK) {
                error = plan(job, present);
        }
        scn_document_destroy(present);
        return error;
}

static void run_restore(struct scn_job *base)
{
        struct restore_job *job = (struct restore_job *)base;
        const struct scn_journal_options reading = {.mode = SCN_JOURNAL_READ};
        struct scn_journal *journal = NULL;
        job->restore->error = scn_journal_open(job->server->storage, job->name, &reading, &journal, &job->fault);
        if (job->restore->error == SCN_OK) {
                job->restore->error = prepare(job, journal);
        }
        scn_journal_close(journal);
}

/* --- Back on the loop --- */

static void destroy_job(struct restore_job *job)
{
        scn_restore_destroy(job->restore);
        scn_free((void *)job->name.data);
        scn_free((void *)job->at.data);
        scn_free((void *)job->node.path.data);
        scn_free(job);
}

static void done_restore(struct scn_job *base)
{
        struct restore_job *job = (struct restore_job *)base;
        struct scn_session *session = scn_server_find_session(job->server, job->session);
        struct scn_room *room = job->room;
        scn_server_log_fault(job->server, job->name, "restore", job->restore->error, &job->fault, &job->damaged);
        scn_server_end_history_job(job->server, SCN_HISTORY_STEP);
        if (room != NULL) {
                room->jobs_count--;
        }
        if (session != NULL) {
                session->is_asking = false;
                session->restore = job->restore;
                session->restore->fault = job->fault;
                job->restore = NULL;
                scn_session_pump(session);
        }
        destroy_job(job);
        if (room != NULL) {
                scn_room_turn(room);
                scn_room_greet(room);
                scn_room_ask_repeats(room);
                scn_room_tick(room);
        }
}

/* Takes the session's restore along. False: out of memory; it has stayed. */
static bool submit(
        struct scn_session *session, const struct scn_message_restore *message, const struct scn_node_ref *node)
{
        struct scn_server *server = session->server;
        struct scn_restore *restore = session->restore;
        struct restore_job *job = scn_alloc_zero(1, sizeof *job);
        if (job == NULL) {
                return false;
        }
        job->node = *node;
        job->node.path = (struct scn_slice){NULL, 0};
        if (!scn_slice_copy(session->room->name, &job->name) || !scn_slice_copy(message->at, &job->at) ||
                (node->kind == SCN_REF_PATH && !scn_slice_copy(node->path, &job->node.path))) {
                destroy_job(job);
                return false;
        }
        empty(restore);
        restore->prepared_for = session->room->durable;
        job->job = (struct scn_job){.run = run_restore, .done = done_restore};
        job->server = server;
        job->session = session->number;
        job->options =
                (struct scn_document_options){.limits = server->options.limits, .random = scn_document_no_random};
        job->restore = restore;
        session->restore = NULL;
        session->is_asking = true;
        if (restore->prepared_count++ >= PREPARED_FREELY) {
                job->room = session->room;
                job->room->jobs_count++;
        }
        scn_server_begin_history_job(session, SCN_HISTORY_STEP);
        server->options.submit(server->options.data, &job->job);
        return true;
}

/* Where the past has no such revision the fault says which it has. */
static const char *say(const struct scn_session *session, const struct scn_message_restore *message,
        struct scn_said *said, enum scn_error error)
{
        const struct scn_restore *restore = session->restore;
        const bool has_text = restore != NULL && restore->error == error && scn_about_is_of_request(error) &&
                restore->fault.text[0] != '\0';
        const struct scn_message asked = {.kind = SCN_MESSAGE_restore, .as.restore = *message};
        return scn_about_request(
                said, &asked, error, has_text ? restore->fault.text : NULL, &session->server->options.limits);
}

static enum scn_restore_state refuse(struct scn_session *session, enum scn_error error, enum scn_error *error_out)
{
        scn_restore_destroy(session->restore);
        session->restore = NULL;
        *error_out = error;
        return SCN_RESTORE_REFUSED;
}

/* By uid, if it is there now; whether it was there then the worker sees. */
static enum scn_error find_node(
        const struct scn_session *session, const struct scn_message_restore *message, struct scn_node_ref *node_out)
{
        const struct scn_document *document = scn_room_document(session->room);
        scn_node_id id;
        *node_out = message->node;
        if (message->node.kind == SCN_REF_NONE) {
                return SCN_OK;
        }
        const enum scn_error error = scn_document_find(document, &message->node, &id);
        if (error == SCN_OK) {
                *node_out = (struct scn_node_ref){.kind = SCN_REF_UID, .uid = scn_document_node(document, id).uid};
        }
        return error == SCN_E_NO_NODE || error == SCN_E_GONE ? SCN_OK : error;
}

static bool begin(struct scn_session *session, bool is_whole)
{
        struct scn_restore *restore = scn_alloc_zero(1, sizeof *restore);
        if (restore != NULL) {
                scn_buffer_init(&restore->summary, 256);
                restore->is_whole = is_whole;
        }
        session->restore = restore;
        return restore != NULL;
}

enum scn_restore_state scn_restore_prepare(struct scn_session *session, const struct scn_message_restore *message,
        struct scn_said *said, const char **text_out, enum scn_error *error_out)
{
        const struct scn_room *room = session->room;
        struct scn_node_ref node;
        /* What this connection has sent before must be durable, and what is restored over too. */
        if (session->answers_due > 0 || scn_document_revision(scn_room_document(room)) != room->durable) {
                return SCN_RESTORE_WAITS;
        }
        if (session->restore != NULL && session->restore->error != SCN_OK) {
                *text_out = say(session, message, said, session->restore->error);
                return refuse(session, session->restore->error, error_out);
        }
        if (session->restore != NULL && session->restore->past != NULL &&
                session->restore->prepared_for == room->durable) {
                return SCN_RESTORE_READY;
        }
        if (!scn_server_has_history_job(session, SCN_HISTORY_STEP)) {
                return SCN_RESTORE_WAITS;
        }
        enum scn_error error = find_node(session, message, &node);
        if (error == SCN_OK && session->restore == NULL && !begin(session, message->node.kind == SCN_REF_NONE)) {
                error = SCN_E_NO_MEMORY;
        }
        if (error == SCN_OK && !submit(session, message, &node)) {
                error = SCN_E_NO_MEMORY;
        }
        if (error == SCN_OK) {
                return SCN_RESTORE_WAITS;
        }
        *text_out = say(session, message, said, error);
        return refuse(session, error, error_out);
}

/* --- Applying --- */

static enum scn_error pack_summary(struct scn_restore *restore, const struct scn_changes *changes)
{
        scn_buffer_reset(&restore->summary);
        struct scn_packer packer = scn_packer_to(&restore->summary);
        scn_pack_map(&packer, 2);
        scn_pack_cstring(&packer, "restored");
        scn_pack_uint(&packer, restore->at);
        scn_pack_cstring(&packer, "applied");
        scn_pack_uint(&packer, scn_changes_count(changes));
        return packer.error;
}

/* The whole document must now be, bit for bit, what it was. */
static bool is_as_it_was(const struct scn_restore *restore, const struct scn_document *document)
{
        const struct scn_digests was = scn_document_digests(restore->past);
        const struct scn_digests is = scn_document_digests(document);
        return !restore->is_whole || memcmp(&was, &is, sizeof was) == 0;
}

enum scn_error scn_restore_apply(struct scn_session *session, struct scn_changes **changes_out,
        struct scn_edit *edit_out, struct scn_slice *summary_out, struct scn_refusal *refusal_out)
{
        struct scn_restore *restore = session->restore;
        struct scn_document *document = session->room->document;
        SCN_ASSERT(scn_document_revision(document) == restore->prepared_for);
        *edit_out = (struct scn_edit){
                .ops = restore->ops.ops, .ops_count = (uint32_t)restore->ops.count, .client = session->client};
        enum scn_error error = scn_document_apply(document, edit_out, changes_out, refusal_out);
        if (error != SCN_OK) {
                refusal_out->op = 0; /* the ops are not the client's */
                return error;
        }
        /* Somebody else's lock refuses it like an edit. */
        error = scn_lock_check(session, *changes_out, refusal_out);
        if (error == SCN_OK) {
                *refusal_out = (struct scn_refusal){.field = SCN_FIELD_COUNT};
                error = is_as_it_was(restore, document) ? pack_summary(restore, *changes_out) : SCN_E_CORRUPT;
        }
        if (error != SCN_OK) {
                refusal_out->op = 0;
                scn_document_take_back(document, *changes_out);
                return error;
        }
        *summary_out = (struct scn_slice){restore->summary.data, (uint32_t)restore->summary.size};
        return SCN_OK;
}
