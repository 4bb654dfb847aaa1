/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* replay: the past as deltas. */

#include "protocol/wire/columns.h"
#include "server/author.h"
#include "server/history_job.h"
#include "server/room_open.h"

/* What one replay may answer; the last answer says where to go on. */
#define REPLAY_BYTES_MAX (64u << 20)

static void add_deltas(
        struct scn_history_job *job, struct scn_document *document, const struct scn_delta_request *request)
{
        struct scn_answers *answers = &job->answers;
        struct scn_delta delta = {0};
        struct scn_delta_request whole = *request;
        enum scn_error error = scn_delta_compute(document, request, &delta);
        if (error == SCN_E_BEFORE_HORIZON) {
                whole.is_fresh = true;
                error = scn_delta_compute(document, &whole, &delta);
        }
        struct scn_columns_cursor cursor = {0};
        bool has_more = error == SCN_OK && !scn_delta_is_empty(&delta);
        scn_answers_fail(answers, error);
        while (has_more && answers->error == SCN_OK) {
                struct scn_buffer columns;
                struct scn_message message;
                scn_buffer_init(&columns, SCN_MESSAGE_BYTES_MAX - 64);
                struct scn_packer packer = scn_packer_to(&columns);
                has_more = scn_columns_encode(&packer, &delta, &cursor);
                scn_message_init(&message, SCN_MESSAGE_delta);
                message.as.delta.view = answers->request;
                message.as.delta.to = delta.to;
                message.as.delta.back = delta.to - delta.from;
                message.as.delta.columns = (struct scn_slice){columns.data, (uint32_t)columns.size};
                message.as.delta.more = has_more;
                scn_answers_fail(answers, packer.error);
                scn_answers_add_message(answers, &message);
                scn_buffer_finish(&columns);
        }
        scn_delta_finish(&delta);
}

/* The head of what follows: who did it, when. */
static void add_head(struct scn_history_job *job, const struct scn_journal_transaction *transaction)
{
        struct scn_buffer body;
        scn_buffer_init(&body, 4096);
        struct scn_packer packer = scn_packer_to(&body);
        scn_pack_map(&packer, 4);
        scn_history_pack(&packer, "rev", transaction->revision);
        scn_history_pack(&packer, "time", (uint64_t)transaction->time_us);
        scn_pack_cstring(&packer, "author");
        scn_pack_text(&packer, transaction->author);
        scn_pack_cstring(&packer, "cause");
        scn_pack_cstring(&packer, scn_history_cause(transaction->cause));
        job->answers.rev = transaction->revision;
        scn_answers_add(&job->answers, &packer, true);
        scn_buffer_finish(&body);
}

/* The last answer: the digest where it ended, and where to go on if that was not the end. */
static void add_end(struct scn_history_job *job, const struct scn_document *document, bool is_end)
{
        const struct scn_digests digests = scn_document_digests(document);
        struct scn_buffer body;
        scn_buffer_init(&body, 256);
        struct scn_packer packer = scn_packer_to(&body);
        scn_pack_map(&packer, is_end ? 1 : 2);
        scn_pack_cstring(&packer, "digest");
        scn_pack_digest(&packer, &digests);
        if (!is_end) {
                scn_history_pack(&packer, "next", scn_document_revision(document));
        }
        job->answers.rev = scn_document_revision(document);
        scn_answers_add(&job->answers, &packer, false);
        scn_buffer_finish(&body);
}

static bool replay_page(struct scn_history_job *job, struct scn_document *document, struct scn_journal_page *page,
        struct scn_delta_request *request, struct scn_ops *ops)
{
        const uint32_t count = scn_journal_page_count(page);
        for (uint32_t i = 0; i < count && job->answers.error == SCN_OK; i++) {
                const struct scn_journal_transaction *transaction = scn_journal_page_get(page, i);
                request->from = scn_document_revision(document);
                scn_answers_fail(&job->answers, scn_replay_transaction(document, transaction, ops, &job->fault));
                add_head(job, transaction);
                if (job->answers.error == SCN_OK) {
                        add_deltas(job, document, request);
                }
                if (job->answers.bytes > REPLAY_BYTES_MAX) {
                        return false;
                }
        }
        return count > 0;
}

void scn_history_replay(
        struct scn_history_job *job, struct scn_journal *journal, const struct scn_message_replay *replay)
{
        struct scn_document *document = NULL;
        struct scn_ops ops = {0};
        const scn_revision from = replay->from == SCN_ABSENT ? 0 : replay->from;
        const scn_revision to = replay->to == SCN_ABSENT ? 0 : replay->to;
        enum scn_error error = scn_history_restore(job, journal, from, &document);
        if (error != SCN_OK) {
                scn_answers_fail(&job->answers, error);
                return;
        }
        struct scn_delta_request request = {
                .root = scn_uid_is_none(job->node) ? scn_document_node(document, scn_document_root(document)).uid
                                                   : job->node,
                .mask = replay->mask == SCN_ABSENT ? SCN_MASK_ALL : (uint32_t)replay->mask,
                .is_fresh = true,
        };
        add_deltas(job, document, &request);
        request.is_fresh = false;
        bool goes_on = true;
        bool is_end = false;
        while (goes_on && job->answers.error == SCN_OK && (to == 0 || scn_document_revision(document) < to)) {
                const struct scn_journal_range range = {.from = scn_document_revision(document) + 1, .to = to};
                struct scn_journal_page *page = NULL;
                scn_answers_fail(&job->answers, scn_journal_read(journal, &range, &page, &job->fault));
                is_end = scn_journal_page_count(page) == 0;
                goes_on = replay_page(job, document, page, &request, &ops);
                scn_journal_page_destroy(page);
        }
        is_end = is_end || (to != 0 && scn_document_revision(document) >= to);
        add_end(job, document, is_end || from == to);
        scn_ops_finish(&ops);
        scn_document_destroy(document);
}
