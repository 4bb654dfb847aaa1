/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/tag.h"

#include "protocol/base/alloc.h"
#include "server/answers.h"
#include "server/at.h"
#include "server/history_job.h"

#include <stdio.h>
#include <string.h>

struct tag_job {
        struct scn_job job;
        struct scn_server *server;
        uint64_t session;
        uint64_t request;
        struct scn_slice document; /* owned bytes, like the tag's name and author */
        struct scn_journal_tag tag;
        bool is_removal;
        enum scn_error error;
        struct scn_storage_fault fault;
};

static void run_tag(struct scn_job *base)
{
        struct tag_job *job = (struct tag_job *)base;
        struct scn_journal *journal = NULL;
        job->error = scn_journal_open(job->server->storage, job->document, NULL, &journal, &job->fault);
        if (job->error == SCN_OK && job->is_removal) {
                job->error = scn_journal_find_tag(journal, job->tag.name, &job->tag.revision, &job->fault);
        }
        if (job->error == SCN_OK) {
                job->error = job->is_removal ? scn_journal_remove_tag(journal, job->tag.name, &job->fault)
                                             : scn_journal_set_tag(journal, &job->tag, &job->fault);
        }
        scn_journal_close(journal);
}

static void destroy_job(struct tag_job *job)
{
        scn_free((void *)job->document.data);
        scn_free((void *)job->tag.name.data);
        scn_free((void *)job->tag.author.data);
        scn_free(job);
}

static void fail(struct scn_session *session, const struct tag_job *job)
{
        const bool is_told = scn_about_is_of_request(job->error) && job->fault.text[0] != '\0';
        struct scn_message asked;
        scn_message_init(&asked, SCN_MESSAGE_tag);
        asked.as.tag.name = job->tag.name;
        asked.as.tag.rev = job->tag.revision;
        scn_session_fail_about(session, &asked, job->request, job->error, is_told ? job->fault.text : NULL);
}

static void answer(struct scn_session *session, const struct tag_job *job)
{
        struct scn_answers answers = {
                .request = job->request, .rev = job->tag.revision, .durable = session->room->durable};
        struct scn_buffer body;
        if (job->error != SCN_OK) {
                fail(session, job);
                return;
        }
        scn_buffer_init(&body, 1024);
        struct scn_packer packer = scn_packer_to(&body);
        scn_pack_map(&packer, 2);
        scn_pack_cstring(&packer, "name");
        scn_pack_text(&packer, job->tag.name);
        scn_history_pack(&packer, "rev", job->tag.revision);
        scn_answers_add(&answers, &packer, false);
        scn_answers_send(&answers, session, NULL);
        scn_answers_finish(&answers);
        scn_buffer_finish(&body);
}

static void done_tag(struct scn_job *base)
{
        struct tag_job *job = (struct tag_job *)base;
        struct scn_session *session = scn_server_find_session(job->server, job->session);
        scn_server_log_fault(job->server, job->document, "tag", job->error, &job->fault, NULL);
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

static void submit(struct scn_session *session, const struct scn_message_tag *message, scn_revision revision)
{
        struct scn_server *server = session->server;
        struct tag_job *job = scn_alloc_zero(1, sizeof *job);
        if (job == NULL || !scn_slice_copy(session->room->name, &job->document) ||
                !scn_slice_copy(message->name, &job->tag.name) ||
                !scn_slice_copy((struct scn_slice){session->author, session->author_size}, &job->tag.author)) {
                if (job != NULL) {
                        destroy_job(job);
                }
                scn_session_fail(session, message->request, SCN_E_NO_MEMORY, NULL);
                return;
        }
        job->job = (struct scn_job){.run = run_tag, .done = done_tag};
        job->server = server;
        job->session = session->number;
        job->request = message->request;
        job->is_removal = message->remove;
        job->tag.revision = revision;
        job->tag.time_us = (int64_t)server->options.utc_us(server->options.data);
        session->is_asking = true;
        scn_server_spend(server, 0);
        scn_server_begin_history_job(session, SCN_HISTORY_QUESTION);
        server->options.submit(server->options.data, &job->job);
}

bool scn_tag_ask(struct scn_session *session, const struct scn_message_tag *message)
{
        const struct scn_room *room = session->room;
        if (!scn_at_may_be_tag(message->name)) {
                scn_session_fail(session, message->request, SCN_E_BAD_TAG, NULL);
                return true;
        }
        /* What this connection sent before is to be in the durable revision. */
        if (!scn_room_is_settled(room) || !scn_server_has_history_job(session, SCN_HISTORY_QUESTION)) {
                return false;
        }
        const scn_revision revision = message->rev == SCN_ABSENT ? room->durable : message->rev;
        struct scn_storage_fault fault;
        enum scn_error error = message->remove ? SCN_OK : scn_server_check_reserve(session->server, &fault);
        if (error == SCN_OK && revision > room->durable) {
                error = scn_storage_fail_future(&fault, revision, room->durable);
        }
        if (error != SCN_OK) {
                scn_session_fail(session, message->request, error, fault.text);
        } else {
                submit(session, message, revision);
        }
        return true;
}
