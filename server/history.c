/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/history.h"

#include "protocol/base/alloc.h"
#include "server/at.h"
#include "server/author.h"
#include "server/history_job.h"
#include "server/room_open.h"
#include "server/verify.h"

#include <string.h>

/* --- Spelling --- */

void scn_history_pack(struct scn_packer *packer, const char *name, uint64_t value)
{
        scn_pack_cstring(packer, name);
        scn_pack_uint(packer, value);
}

const char *scn_history_cause(uint32_t cause)
{
        static const char *const names[] = {
#define CAUSE_NAME(name, word) word,
                SCN_CAUSE_LIST(CAUSE_NAME)
#undef CAUSE_NAME
        };
        return cause < SCN_CAUSE_COUNT ? names[cause] : "?";
}

/* --- The document as it was --- */

static enum scn_error open_past(struct scn_history_job *job, struct scn_journal **journal_out)
{
        const struct scn_journal_options reading = {.mode = SCN_JOURNAL_READ};
        const enum scn_error error =
                scn_journal_open(job->server->storage, job->name, &reading, journal_out, &job->fault);
        if (error == SCN_OK) {
                scn_journal_let_give_up(*journal_out, &job->server->is_giving_up);
        }
        return error;
}

enum scn_error scn_history_restore(struct scn_history_job *job, struct scn_journal *journal, scn_revision revision,
        struct scn_document **document_out)
{
        return scn_document_at(journal, &job->options, revision, document_out, &job->damaged, &job->fault);
}

static struct scn_slice at_of(const struct scn_message *message)
{
        static const struct scn_slice none = {NULL, 0};
        return message->kind == SCN_MESSAGE_world     ? message->as.world.at
                : message->kind == SCN_MESSAGE_tree   ? message->as.tree.at
                : message->kind == SCN_MESSAGE_digest ? message->as.digest.at
                                                      : none;
}

/* The document that the loan has before the revision, led on to it. False: it cannot be; it may be one of within what
 * has been folded since. Where there is no such revision the document stays the loan's, and as it was. */
static bool lead_on(struct scn_history_job *job, struct scn_journal *journal, scn_revision revision)
{
        struct scn_document *document = job->loan.base;
        if (scn_journal_has_revision(journal, revision, NULL) != SCN_OK) {
                return false;
        }
        job->loan.base = NULL;
        if (scn_replay(journal, document, revision, NULL) != SCN_OK || scn_document_revision(document) != revision ||
                scn_journal_has_revision(journal, revision, NULL) != SCN_OK) {
                scn_document_destroy(document);
                return false;
        }
        scn_past_keep(&job->loan, document);
        return true;
}

static enum scn_error find_past(struct scn_history_job *job, struct scn_journal *journal, scn_revision revision,
        const struct scn_document **document_out)
{
        struct scn_document *made = NULL;
        *document_out = scn_past_find(&job->loan, revision);
        if (*document_out != NULL) {
                return SCN_OK;
        }
        if (job->loan.base != NULL && lead_on(job, journal, revision)) {
                *document_out = job->loan.made;
                return SCN_OK;
        }
        const enum scn_error error = scn_history_restore(job, journal, revision, &made);
        if (error == SCN_OK) {
                scn_past_keep(&job->loan, made);
        }
        *document_out = made;
        return error;
}

static void answer_past(struct scn_history_job *job, struct scn_journal *journal, const struct scn_message *message)
{
        const struct scn_document *document = NULL;
        struct scn_answers *answers = &job->answers;
        scn_revision revision = 0;
        enum scn_error error = scn_at_find(journal, at_of(message), &revision, &job->fault);
        if (error == SCN_OK) {
                error = find_past(job, journal, revision, &document);
        }
        if (error != SCN_OK) {
                scn_answers_fail(answers, error);
                return;
        }
        answers->rev = revision;
        if (message->kind == SCN_MESSAGE_world) {
                scn_query_world(document, &message->as.world, answers);
        } else if (message->kind == SCN_MESSAGE_tree) {
                scn_query_tree(document, &message->as.tree, answers);
        } else {
                scn_query_digest(document, &message->as.digest, answers);
        }
}

/* --- verify --- */

static void answer_verify(struct scn_history_job *job, struct scn_journal *journal)
{
        struct scn_verified verified;
        const enum scn_error error = scn_document_verify(journal, &job->options, &verified, &job->fault);
        if (error != SCN_OK) {
                /* Damage is worth a line in the log whoever asked. */
                job->damaged = job->fault;
                scn_answers_fail(&job->answers, error);
                return;
        }
        struct scn_buffer body;
        scn_buffer_init(&body, 256);
        struct scn_packer packer = scn_packer_to(&body);
        scn_pack_map(&packer, verified.base > 0 ? 4 : 3);
        scn_history_pack(&packer, "rev", verified.revision);
        if (verified.base > 0) {
                scn_history_pack(&packer, "base", verified.base);
        }
        scn_pack_cstring(&packer, "digest");
        scn_pack_digest(&packer, &verified.digests);
        scn_pack_cstring(&packer, "ok");
        scn_pack_bool(&packer, true);
        scn_answers_add(&job->answers, &packer, false);
        scn_buffer_finish(&body);
}

/* --- The job --- */

static void run_history(struct scn_job *base)
{
        struct scn_history_job *job = (struct scn_history_job *)base;
        struct scn_journal *journal = NULL;
        struct scn_message message;
        struct scn_message_fault fault;
        enum scn_error error = scn_message_decode(job->payload, SCN_RECEIVER_SERVER, &message, &fault);
        if (error == SCN_OK) {
                error = open_past(job, &journal);
        }
        if (error != SCN_OK) {
                scn_answers_fail(&job->answers, error);
                return;
        }
        if (message.kind == SCN_MESSAGE_log) {
                scn_history_log(job, journal, &message.as.log);
        } else if (message.kind == SCN_MESSAGE_replay) {
                scn_history_replay(job, journal, &message.as.replay);
        } else if (message.kind == SCN_MESSAGE_tags) {
                scn_history_tags(job, journal);
        } else if (message.kind == SCN_MESSAGE_blame) {
                scn_history_blame(job, journal);
        } else if (message.kind == SCN_MESSAGE_verify) {
                answer_verify(job, journal);
        } else {
                answer_past(job, journal, &message);
        }
        scn_journal_close(journal);
}

static void destroy_job(struct scn_history_job *job)
{
        scn_answers_finish(&job->answers);
        scn_blame_destroy(job->blame);
        scn_free((void *)job->name.data);
        scn_free((void *)job->payload.data);
        scn_free(job);
}

/* Of two revisions that were named only the worker knows which the error is about. */
static void answer(struct scn_session *session, struct scn_history_job *job)
{
        const char *text = job->fault.text[0] != '\0' ? job->fault.text : NULL;
        struct scn_message asked;
        struct scn_message_fault fault;
        if (job->answers.error == SCN_OK || job->answers.field != NULL || job->answers.limit != NULL ||
                scn_message_decode(job->payload, SCN_RECEIVER_SERVER, &asked, &fault) != SCN_OK) {
                scn_answers_send(&job->answers, session, text);
                return;
        }
        if (asked.kind == SCN_MESSAGE_log) {
                asked.as.log.since = job->blamed;
        } else if (asked.kind == SCN_MESSAGE_replay) {
                asked.as.replay.from = job->blamed;
        }
        scn_session_fail_about(session, &asked, job->answers.request, job->answers.error, text);
}

static void done_history(struct scn_job *base)
{
        struct scn_history_job *job = (struct scn_history_job *)base;
        struct scn_session *session = scn_server_find_session(job->server, job->session);
        if (job->damaged.text[0] != '\0') {
                scn_server_log(job->server, SCN_LOG_WARNING, "document %.*s: damaged: %s", (int)job->name.size,
                        (const char *)job->name.data, job->damaged.text);
        }
        if (session != NULL) {
                session->answers_due--;
                answer(session, job);
        }
        scn_past_return(job->server, scn_server_find_room(job->server, job->name), &job->loan);
        scn_server_end_history_job(job->server, SCN_HISTORY_QUESTION);
        destroy_job(job);
}

/* A node of the past may be named by uid only; a path or id is one of now. */
static enum scn_error resolve_node(
        const struct scn_session *session, const struct scn_message *message, struct scn_uid *node_out)
{
        const struct scn_node_ref *ref = message->kind == SCN_MESSAGE_log ? &message->as.log.node
                : message->kind == SCN_MESSAGE_replay                     ? &message->as.replay.node
                                                                          : NULL;
        if (ref == NULL || ref->kind == SCN_REF_NONE || ref->kind == SCN_REF_UID) {
                *node_out = ref == NULL ? (struct scn_uid){{0}} : ref->uid;
                return SCN_OK;
        }
        scn_node_id id;
        const enum scn_error error = scn_document_find(scn_room_document(session->room), ref, &id);
        if (error == SCN_OK) {
                *node_out = scn_document_node(scn_room_document(session->room), id).uid;
        }
        return error;
}

/* What the live document has to say to it. */
static enum scn_error gather(
        struct scn_history_job *job, const struct scn_session *session, const struct scn_message *message)
{
        const struct scn_document *document = scn_room_document(session->room);
        scn_node_id id;
        if (message->kind != SCN_MESSAGE_blame) {
                return resolve_node(session, message, &job->node);
        }
        const enum scn_error error = scn_document_find(document, &message->as.blame.node, &id);
        if (error == SCN_OK) {
                job->blame = scn_blame_create(document, id);
                job->answers.rev = scn_document_revision(document);
        }
        return error == SCN_OK && job->blame == NULL ? SCN_E_NO_MEMORY : error;
}

bool scn_history_ask(struct scn_session *session, const struct scn_message *message)
{
        struct scn_server *server = session->server;
        if (!scn_server_has_history_job(session, SCN_HISTORY_QUESTION)) {
                return false;
        }
        if (!scn_output_claim(server)) {
                return false;
        }
        const struct scn_queued *head = session->inbox_first;
        /* By convention the first member is the request. */
        const uint64_t request = message->as.log.request;
        struct scn_history_job *job = scn_alloc_zero(1, sizeof *job);
        enum scn_error error = SCN_E_NO_MEMORY;
        if (job != NULL && scn_slice_copy(session->room->name, &job->name) &&
                scn_slice_copy((struct scn_slice){head->payload, head->size}, &job->payload)) {
                job->answers =
                        (struct scn_answers){.request = request, .rev = SCN_ABSENT, .durable = session->room->durable};
                error = gather(job, session, message);
        }
        if (error != SCN_OK) {
                if (job != NULL) {
                        destroy_job(job);
                }
                scn_session_fail(session, request, error, NULL);
                return true;
        }
        job->job = (struct scn_job){.run = run_history, .done = done_history};
        job->server = server;
        job->session = session->number;
        job->options =
                (struct scn_document_options){.limits = server->options.limits, .random = scn_document_no_random};
        if (at_of(message).data != NULL) {
                scn_past_lend(session->room, scn_at_revision(at_of(message)), &job->loan);
        }
        session->answers_due++;
        scn_server_begin_history_job(session, SCN_HISTORY_QUESTION);
        server->options.submit(server->options.data, &job->job);
        return true;
}
