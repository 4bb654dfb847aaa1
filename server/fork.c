/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/fork.h"

#include "protocol/base/alloc.h"
#include "server/adopt.h"
#include "server/answers.h"
#include "server/at.h"
#include "server/author.h"
#include "server/history_job.h"
#include "server/record.h"
#include "server/restore_plan.h"
#include "server/room_open.h"

#include <stdio.h>
#include <string.h>

/* A transaction has so many ops at the most: a document of millions of nodes is made of several. */
#define TRANSACTION_OPS 65536u
#define AUTHOR_BYTES SCN_AUTHOR_BYTES_MAX

struct fork_job {
        struct scn_job job;
        struct scn_server *server;
        uint64_t session;
        uint64_t request;
        struct scn_claim claim; /* of to */
        struct scn_slice name;  /* owned bytes, like at and to */
        struct scn_slice at;    /* data == NULL: durable */
        struct scn_slice to;
        uint8_t author[AUTHOR_BYTES];
        uint32_t author_size;
        scn_revision durable;
        scn_revision revision;
        struct scn_uid uid;
        int64_t now_us;
        struct scn_document_options options;
        enum scn_error error;
        bool is_of_source; /* ... the error */
        struct scn_storage_fault fault;
        struct scn_storage_fault damaged;
};

/* --- On a worker: the source --- */

static enum scn_error make_source(struct fork_job *job, struct scn_journal *journal, struct scn_document **document_out)
{
        enum scn_error error = SCN_OK;
        job->revision = job->durable;
        if (job->at.data != NULL) {
                error = scn_at_find_until(journal, job->at, job->durable, &job->revision, &job->fault);
        }
        if (error == SCN_OK) {
                error = scn_document_at(
                        journal, &job->options, job->revision, document_out, &job->damaged, &job->fault);
        }
        return error;
}

/* --- The copy, transaction by transaction --- */

struct copying {
        struct fork_job *job;
        const struct scn_document *source;
        struct scn_document *copy;
        struct scn_journal *journal; /* the draft's */
        struct scn_ops ops;
        struct scn_buffer bytes; /* records and digest */
        struct scn_journal_record *records;
        size_t records_capacity;
};

/* Records point into the bytes when these have come to rest: until then their data is NULL and only sizes are right. */
static enum scn_error encode_records(struct copying *copying, const struct scn_changes *changes)
{
        const uint32_t count = scn_changes_count(changes);
        if (!scn_grow((void **)&copying->records, &copying->records_capacity, sizeof *copying->records, count,
                    SIZE_MAX)) {
                return SCN_E_NO_MEMORY;
        }
        scn_buffer_reset(&copying->bytes);
        for (uint32_t i = 0; i < count; i++) {
                const struct scn_change *change = scn_changes_get(changes, i);
                const size_t start = copying->bytes.size;
                size_t before_size;
                const enum scn_error error =
                        scn_record_encode(copying->copy, change, NULL, &copying->bytes, &before_size);
                if (error != SCN_OK) {
                        return error;
                }
                const size_t after_size = copying->bytes.size - start - before_size;
                copying->records[i] = (struct scn_journal_record){.kind = change->kind,
                        .node = change->uid,
                        .before = {NULL, (uint32_t)before_size},
                        .after = {NULL, (uint32_t)after_size}};
        }
        const uint8_t *at = copying->bytes.data;
        for (uint32_t i = 0; i < count; i++) {
                struct scn_journal_record *record = &copying->records[i];
                record->before.data = at;
                record->after.data = at + record->before.size;
                at += (size_t)record->before.size + record->after.size;
        }
        return SCN_OK;
}

static enum scn_error store(struct copying *copying, const struct scn_changes *changes)
{
        const struct fork_job *job = copying->job;
        const struct scn_digests digests = scn_document_digests(copying->copy);
        const struct scn_journal_transaction transaction = {
                .revision = scn_changes_revision(changes),
                .time_us = job->now_us + (int64_t)scn_changes_revision(changes) - 1,
                .author = {job->author, job->author_size},
                .cause = SCN_CAUSE_FORK,
                .step = scn_changes_revision(changes),
                .digest = {(const uint8_t *)&digests, sizeof digests},
                .records = copying->records,
                .records_count = scn_changes_count(changes),
        };
        return scn_journal_append(copying->journal, &transaction, 1, &copying->job->fault);
}

/* Applies what has been gathered. */
static enum scn_error flush(struct copying *copying)
{
        const struct scn_edit edit = {.ops = copying->ops.ops, .ops_count = (uint32_t)copying->ops.count};
        struct scn_changes *changes;
        struct scn_refusal refusal;
        enum scn_error error = scn_document_apply(copying->copy, &edit, &changes, &refusal);
        if (error != SCN_OK) {
                return error;
        }
        if (scn_changes_count(changes) > 0) {
                error = encode_records(copying, changes);
                error = error == SCN_OK ? store(copying, changes) : error;
        }
        scn_document_settle(copying->copy, changes);
        scn_ops_finish(&copying->ops);
        copying->ops = (struct scn_ops){0};
        return error;
}

static enum scn_error copy_all(struct copying *copying)
{
        const struct scn_restore_plan plan = {.past = copying->source, .present = copying->copy};
        const scn_node_id root = scn_document_root(copying->source);
        enum scn_error error = SCN_OK;
        for (scn_node_id id = root; id != 0 && error == SCN_OK; id = scn_document_walk(copying->source, root, id)) {
                error = scn_restore_plan_node(&plan, id, &copying->ops);
                if (error == SCN_OK && copying->ops.count >= TRANSACTION_OPS) {
                        error = flush(copying);
                }
        }
        return error == SCN_OK ? flush(copying) : error;
}

static enum scn_error fill(struct fork_job *job, const struct scn_document *source, struct scn_journal *journal)
{
        struct copying copying = {.job = job, .source = source, .journal = journal};
        scn_buffer_init(&copying.bytes, SIZE_MAX / 2);
        enum scn_error error = scn_document_born(journal, &job->options, &copying.copy);
        if (error == SCN_OK) {
                error = copy_all(&copying);
        }
        if (error == SCN_OK) {
                const struct scn_digests wanted = scn_document_digests(source);
                const struct scn_digests made = scn_document_digests(copying.copy);
                error = memcmp(&wanted, &made, sizeof made) == 0 ? SCN_OK : SCN_E_CORRUPT;
        }
        scn_document_destroy(copying.copy);
        scn_ops_finish(&copying.ops);
        scn_buffer_finish(&copying.bytes);
        scn_free(copying.records);
        return error;
}

static enum scn_error publish(struct fork_job *job, const struct scn_document *source)
{
        struct scn_storage *storage = job->server->storage;
        struct scn_journal *draft;
        uint8_t bytes[SCN_ORIGIN_BYTES_MAX];
        const struct scn_origin origin = {
                .root = scn_document_node(source, scn_document_root(source)).uid,
                .source = scn_document_uid(source),
                .revision = job->revision,
        };
        const struct scn_storage_birth birth = {
                .uid = job->uid, .created_us = job->now_us, .origin = {bytes, scn_origin_encode(&origin, bytes)}};
        enum scn_error error = scn_storage_draft(storage, &birth, &draft, &job->fault);
        if (error != SCN_OK) {
                return error;
        }
        error = fill(job, source, draft);
        if (error != SCN_OK) {
                scn_storage_discard(storage, draft);
                return error;
        }
        return scn_storage_publish(storage, draft, job->to, &job->fault);
}

/* Before all the work, though only publishing decides. */
static enum scn_error check_name(struct fork_job *job)
{
        const enum scn_error error = scn_storage_find(job->server->storage, job->to, NULL);
        return error == SCN_OK ? SCN_E_DOCUMENT_EXISTS : error == SCN_E_NO_DOCUMENT ? SCN_OK : error;
}

static void run_fork(struct scn_job *base)
{
        struct fork_job *job = (struct fork_job *)base;
        const struct scn_journal_options reading = {.mode = SCN_JOURNAL_READ};
        struct scn_journal *journal = NULL;
        struct scn_document *source = NULL;
        job->error = check_name(job);
        job->is_of_source = job->error == SCN_OK;
        if (job->error == SCN_OK) {
                job->error = scn_journal_open(job->server->storage, job->name, &reading, &journal, &job->fault);
        }
        if (job->error == SCN_OK) {
                scn_journal_let_give_up(journal, &job->server->is_giving_up);
                job->error = make_source(job, journal, &source);
        }
        if (job->error == SCN_OK) {
                job->is_of_source = false;
                job->error = publish(job, source);
        }
        scn_document_destroy(source);
        scn_journal_close(journal);
}

/* --- On the loop --- */

static void destroy_job(struct fork_job *job)
{
        scn_free((void *)job->name.data);
        scn_free((void *)job->at.data);
        scn_free((void *)job->to.data);
        scn_free(job);
}

/* The message names only the new document. What is wrong with the other one is told as of opening it. */
static void fail(struct scn_session *session, const struct fork_job *job)
{
        const bool is_told = scn_about_is_of_request(job->error) && job->fault.text[0] != '\0';
        struct scn_message asked;
        if (job->is_of_source && scn_about_is_of_document(job->error)) {
                scn_message_init(&asked, SCN_MESSAGE_open);
                asked.as.open.document = job->name;
        } else {
                scn_message_init(&asked, SCN_MESSAGE_fork);
                asked.as.fork.at = job->at;
                asked.as.fork.to = job->to;
        }
        scn_session_fail_about(session, &asked, job->request, job->error, is_told ? job->fault.text : NULL);
}

static void answer(struct scn_session *session, const struct fork_job *job)
{
        struct scn_answers answers = {.request = job->request, .rev = job->revision, .durable = job->durable};
        struct scn_buffer body;
        if (job->error != SCN_OK) {
                fail(session, job);
                return;
        }
        scn_buffer_init(&body, 4096);
        struct scn_packer packer = scn_packer_to(&body);
        scn_pack_map(&packer, 2);
        scn_pack_cstring(&packer, "doc");
        scn_pack_text(&packer, job->to);
        scn_history_pack(&packer, "rev", job->revision);
        scn_answers_add(&answers, &packer, false);
        scn_answers_send(&answers, session, NULL);
        scn_answers_finish(&answers);
        scn_buffer_finish(&body);
}

static void done_fork(struct scn_job *base)
{
        struct fork_job *job = (struct fork_job *)base;
        struct scn_session *session = scn_server_find_session(job->server, job->session);
        scn_server_log_fault(job->server, job->name, "fork", job->error, &job->fault, &job->damaged);
        scn_server_give_name_back(job->server, &job->claim);
        if (session != NULL) {
                session->is_asking = false;
                answer(session, job);
        }
        scn_server_end_history_job(job->server, SCN_HISTORY_QUESTION);
        if (session != NULL) {
                scn_session_pump(session);
        }
        destroy_job(job);
}

/* data stays NULL where there is nothing. */
static bool copy_slice(struct scn_slice from, struct scn_slice *to)
{
        return from.data == NULL || scn_slice_copy(from, to);
}

static void set_up(struct fork_job *job, const struct scn_session *session, const struct scn_message_fork *message)
{
        struct scn_server *server = session->server;
        const struct scn_server_options *options = &server->options;
        uint8_t random[16];
        options->random(options->data, random, sizeof random);
        job->job = (struct scn_job){.run = run_fork, .done = done_fork};
        job->server = server;
        job->session = session->number;
        job->request = message->request;
        job->durable = session->room->durable;
        job->uid = scn_uid_from_random(random);
        job->now_us = (int64_t)options->utc_us(options->data);
        job->options = (struct scn_document_options){.limits = options->limits, .random = scn_document_no_random};
        memcpy(job->author, session->author, session->author_size);
        job->author_size = session->author_size;
}

bool scn_fork_ask(struct scn_session *session, const struct scn_message_fork *message)
{
        struct scn_server *server = session->server;
        if (!scn_room_is_settled(session->room) || !scn_server_has_history_job(session, SCN_HISTORY_QUESTION)) {
                return false;
        }
        struct scn_storage_fault fault;
        const enum scn_error error = scn_server_check_reserve(server, &fault);
        if (error != SCN_OK) {
                scn_session_fail(session, message->request, error, fault.text);
                return true;
        }
        if (scn_adopt_is_replacing(server, message->to)) {
                scn_session_fail(session, message->request, SCN_E_BUSY, "a document of that name is being replaced");
                return true;
        }
        struct fork_job *job = scn_alloc_zero(1, sizeof *job);
        if (job == NULL || !copy_slice(session->room->name, &job->name) || !copy_slice(message->at, &job->at) ||
                !copy_slice(message->to, &job->to)) {
                if (job != NULL) {
                        destroy_job(job);
                }
                scn_session_fail(session, message->request, SCN_E_NO_MEMORY, NULL);
                return true;
        }
        set_up(job, session, message);
        session->is_asking = true;
        scn_server_claim_name(server, &job->claim, job->to);
        scn_server_begin_history_job(session, SCN_HISTORY_QUESTION);
        server->options.submit(server->options.data, &job->job);
        return true;
}
