/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* replay: the past as deltas. */

#include "protocol/wire/columns.h"
#include "server/at.h"
#include "server/author.h"
#include "server/history_job.h"
#include "server/room_open.h"

#include <stdio.h>
#include <string.h>

/* What one replay may answer; the last answer says where to go on. */
#define REPLAY_BYTES_MAX SCN_SERVER_replay_bytes_max
/* Of a node, in a document that forgets no removed key: so many that a replay is not refused for them. */
#define PROPERTIES_WITH_PAST (1u << 26)

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

/* What is told, and how far it has been. */
struct telling {
        scn_revision from;
        scn_revision to; /* not beyond the last there is */
        scn_revision cursor;
        scn_revision judged;     /* how far it was folded at the beginning */
        struct scn_slice author; /* data == NULL: everybody's */
        struct scn_delta_request request;
        struct scn_ops ops;
};

/* What has not been told yet, without a head: nobody's in particular. */
static void catch_up(struct scn_history_job *job, struct scn_document *document, struct telling *telling)
{
        telling->request.from = telling->cursor;
        telling->cursor = scn_document_revision(document);
        if (telling->request.from < telling->cursor) {
                add_deltas(job, document, &telling->request);
        }
}

static bool is_told(const struct telling *telling, const struct scn_journal_transaction *transaction)
{
        return telling->author.data == NULL ||
                (telling->author.size == transaction->author.size &&
                        memcmp(telling->author.data, transaction->author.data, transaction->author.size) == 0);
}

static void replay_one(struct scn_history_job *job, struct scn_document *document, struct telling *telling,
        const struct scn_journal_transaction *transaction)
{
        const bool tells = is_told(telling, transaction);
        if (tells) {
                catch_up(job, document, telling);
        }
        scn_answers_fail(&job->answers, scn_replay_transaction(document, transaction, &telling->ops, &job->fault));
        if (tells && job->answers.error == SCN_OK) {
                add_head(job, transaction);
                catch_up(job, document, telling);
        }
}

/* False: there is nothing more, or enough has been told for one answer. */
static bool replay_page(struct scn_history_job *job, struct scn_document *document, struct scn_journal_page *page,
        struct telling *telling)
{
        const uint32_t count = scn_journal_page_count(page);
        for (uint32_t i = 0; i < count && job->answers.error == SCN_OK; i++) {
                replay_one(job, document, telling, scn_journal_page_get(page, i));
                if (job->answers.bytes > REPLAY_BYTES_MAX) {
                        return false;
                }
        }
        return count > 0;
}

static void tell_each(struct scn_history_job *job, struct scn_journal *journal, struct scn_document *document,
        struct telling *telling)
{
        bool goes_on = true;
        while (goes_on && job->answers.error == SCN_OK && scn_document_revision(document) < telling->to) {
                const struct scn_journal_range range = {.from = scn_document_revision(document) + 1, .to = telling->to};
                struct scn_journal_page *page = NULL;
                scn_answers_fail(&job->answers, scn_journal_read(journal, &range, &page, &job->fault));
                goes_on = replay_page(job, document, page, telling);
                scn_journal_page_destroy(page);
        }
        /* Half of a window was read as it was before it was folded: that is not damage. */
        struct scn_journal_state state;
        if (job->answers.error == SCN_E_CORRUPT && scn_journal_state(journal, &state, NULL) == SCN_OK &&
                state.judged != telling->judged) {
                job->answers.error = SCN_E_FOLDED;
        }
}

static enum scn_error find_range(struct scn_history_job *job, struct scn_journal *journal,
        const struct scn_message_replay *replay, struct telling *telling)
{
        struct scn_journal_state state;
        enum scn_error error = scn_journal_state(journal, &state, &job->fault);
        job->blamed = replay->from;
        telling->to = SCN_REVISION_MAX;
        telling->judged = error == SCN_OK ? state.judged : 0;
        if (error == SCN_OK && replay->from.data != NULL) {
                error = scn_at_find(journal, replay->from, &telling->from, &job->fault);
        }
        if (error == SCN_OK && replay->to.data != NULL) {
                job->blamed = replay->to;
                error = scn_at_find(journal, replay->to, &telling->to, &job->fault);
        }
        if (error != SCN_OK) {
                return error;
        }
        if (telling->from > state.last_revision ||
                (replay->merged && replay->to.data != NULL && telling->to > state.last_revision)) {
                job->blamed = telling->from > state.last_revision ? replay->from : replay->to;
                return scn_storage_fail_future(&job->fault,
                        telling->from > state.last_revision ? telling->from : telling->to, state.last_revision);
        }
        telling->to = telling->to < state.last_revision ? telling->to : state.last_revision;
        if (replay->to.data != NULL && telling->to > 0) {
                error = scn_journal_has_revision(journal, telling->to, &job->fault);
                if (error != SCN_OK) {
                        return error;
                }
        }
        if (telling->from > telling->to) {
                (void)snprintf(job->fault.text, sizeof job->fault.text,
                        "revision %llu, to begin after, lies behind revision %llu, to end with",
                        (unsigned long long)telling->from, (unsigned long long)telling->to);
                return SCN_E_RANGE;
        }
        job->blamed = replay->from;
        return SCN_OK;
}

/* No horizon may stand between two revisions that are compared. What the document may hold is more than a live one,
 * for it forgets no key that was removed. */
static void keep_past(struct scn_limits *limits)
{
        limits->past_min = UINT32_MAX;
        limits->properties_max = PROPERTIES_WITH_PAST;
}

void scn_history_replay(
        struct scn_history_job *job, struct scn_journal *journal, const struct scn_message_replay *replay)
{
        struct scn_document *document = NULL;
        struct telling telling = {.author = replay->author};
        if (replay->merged || replay->author.data != NULL) {
                keep_past(&job->options.limits);
        }
        enum scn_error error = find_range(job, journal, replay, &telling);
        if (error == SCN_OK) {
                error = scn_history_restore(job, journal, telling.from, &document);
        }
        if (error != SCN_OK) {
                scn_answers_fail(&job->answers, error);
                return;
        }
        telling.cursor = telling.from;
        telling.request = (struct scn_delta_request){
                .root = scn_uid_is_none(job->node) ? scn_document_node(document, scn_document_root(document)).uid
                                                   : job->node,
                .mask = replay->mask == SCN_ABSENT ? SCN_MASK_ALL : (uint32_t)replay->mask,
                .is_fresh = true,
        };
        add_deltas(job, document, &telling.request);
        telling.request.is_fresh = false;
        if (!replay->merged) {
                tell_each(job, journal, document, &telling);
        } else if (telling.from < telling.to) {
                scn_answers_fail(&job->answers, scn_replay(journal, document, telling.to, &job->fault));
        }
        if (job->answers.error == SCN_OK) {
                catch_up(job, document, &telling);
        }
        add_end(job, document, scn_document_revision(document) >= telling.to);
        scn_ops_finish(&telling.ops);
        scn_document_destroy(document);
}
