/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/history.h"

#include "protocol/base/alloc.h"
#include "protocol/wire/columns.h"
#include "server/answers.h"
#include "server/room_open.h"

#include <string.h>

#define LOG_PART_BYTES (256u << 10)
#define LOG_TRANSACTIONS_MAX 10000u
#define LOG_OPS_MAX 1000u /* named of one transaction: an import of a million nodes would not fit into a message */
/* What one replay may answer; the last answer says where to go on. */
#define REPLAY_BYTES_MAX (64u << 20)

struct history_job {
        struct scn_job job;
        struct scn_server *server;
        uint64_t session;
        struct scn_slice name; /* owned, like payload */
        struct scn_slice payload;
        struct scn_uid node; /* log, replay: resolved by the loop; none: all */
        struct scn_document_options options;
        struct scn_answers answers;
        struct scn_storage_fault fault;
        struct scn_storage_fault damaged; /* a checkpoint that could not be used; no text: there was none */
};

/* --- When --- */

static bool read_digits(const uint8_t **at, const uint8_t *end, int count, int64_t *number_out)
{
        *number_out = 0;
        for (int i = 0; i < count; i++) {
                if (*at == end || **at < '0' || **at > '9') {
                        return false;
                }
                *number_out = *number_out * 10 + (*(*at)++ - '0');
        }
        return true;
}

static bool read_mark(const uint8_t **at, const uint8_t *end, char mark)
{
        if (*at == end || **at != (uint8_t)mark) {
                return false;
        }
        ++*at;
        return true;
}

/* Days since 1970-01-01 in the Gregorian calendar. */
static int64_t days_since_epoch(int64_t year, int64_t month, int64_t day)
{
        const int64_t shifted = month <= 2 ? year - 1 : year;
        const int64_t era = shifted / 400;
        const int64_t year_of_era = shifted - era * 400;
        const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
        return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

/* YYYY-MM-DDTHH:MM:SS[.fraction]Z (RFC 3339, UTC only), in microseconds. */
static bool read_time(struct scn_slice text, int64_t *time_us_out)
{
        const uint8_t *at = text.data;
        const uint8_t *end = text.data + text.size;
        int64_t year, month, day, hour, minute, second;
        if (!read_digits(&at, end, 4, &year) || !read_mark(&at, end, '-') || !read_digits(&at, end, 2, &month) ||
                !read_mark(&at, end, '-') || !read_digits(&at, end, 2, &day) || !read_mark(&at, end, 'T') ||
                !read_digits(&at, end, 2, &hour) || !read_mark(&at, end, ':') || !read_digits(&at, end, 2, &minute) ||
                !read_mark(&at, end, ':') || !read_digits(&at, end, 2, &second) || month < 1 || month > 12 || day < 1 ||
                day > 31 || hour > 23 || minute > 59 || second > 60) {
                return false;
        }
        int64_t us = 0;
        if (read_mark(&at, end, '.')) {
                for (int64_t weight = 100000; at != end && *at >= '0' && *at <= '9'; weight /= 10) {
                        us += (*at++ - '0') * weight;
                }
        }
        *time_us_out =
                ((days_since_epoch(year, month, day) * 24 + hour) * 60 + minute) * 60000000 + second * 1000000 + us;
        return read_mark(&at, end, 'Z') && at == end;
}

/* `at` as the wire has it: a revision, or a time as text. */
static enum scn_error find_revision(struct scn_journal *journal, struct scn_slice at, scn_revision *revision_out)
{
        struct scn_unpacker unpacker = scn_unpacker_from(at);
        if (scn_unpack_kind(&unpacker) == SCN_PACK_TEXT) {
                int64_t time_us;
                if (!read_time(scn_unpack_text(&unpacker, 64), &time_us)) {
                        return SCN_E_BAD_TIME;
                }
                return scn_journal_find_time(journal, time_us, revision_out, NULL);
        }
        *revision_out = scn_unpack_uint(&unpacker, SCN_REVISION_MAX);
        return scn_unpack_is_done(&unpacker) ? SCN_OK : SCN_E_BAD_MESSAGE;
}

/* --- The document as it was --- */

static enum scn_error open_past(struct history_job *job, struct scn_journal **journal_out)
{
        const struct scn_journal_options reading = {.mode = SCN_JOURNAL_READ};
        return scn_journal_open(job->server->storage, job->name, &reading, journal_out, &job->fault);
}

static enum scn_error replay_to(
        struct history_job *job, struct scn_journal *journal, scn_revision revision, struct scn_document **document_out)
{
        struct scn_journal_state state;
        enum scn_error error = scn_journal_state(journal, &state, &job->fault);
        if (error == SCN_OK && revision > state.last_revision) {
                error = SCN_E_FUTURE;
        }
        if (error == SCN_OK) {
                error = scn_document_restore(
                        journal, &job->options, revision, document_out, &job->damaged, &job->fault);
        }
        if (error != SCN_OK || revision == 0) {
                return error;
        }
        error = scn_replay(journal, *document_out, revision, &job->fault);
        if (error != SCN_OK) {
                scn_document_destroy(*document_out);
                *document_out = NULL;
        }
        return error;
}

static void answer_past(struct history_job *job, struct scn_journal *journal, const struct scn_message *message)
{
        struct scn_document *document = NULL;
        struct scn_answers *answers = &job->answers;
        scn_revision revision = 0;
        const struct scn_slice at = message->kind == SCN_MESSAGE_world ? message->as.world.at
                : message->kind == SCN_MESSAGE_tree                    ? message->as.tree.at
                                                                       : message->as.digest.at;
        enum scn_error error = find_revision(journal, at, &revision);
        if (error == SCN_OK) {
                error = replay_to(job, journal, revision, &document);
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
        scn_document_destroy(document);
}

/* --- log --- */

static void pack_named(struct scn_packer *packer, const char *name, uint64_t value)
{
        scn_pack_cstring(packer, name);
        scn_pack_uint(packer, value);
}

static const char *cause_name(uint32_t cause)
{
        static const char *const names[] = {
#define CAUSE_NAME(name, word) word,
                SCN_CAUSE_LIST(CAUSE_NAME)
#undef CAUSE_NAME
        };
        return cause < SCN_CAUSE_COUNT ? names[cause] : "?";
}

static const char *op_name(uint32_t kind)
{
        static const char *const names[] = {
#define OP_NAME(name, word) word,
                SCN_OP_LIST(OP_NAME)
#undef OP_NAME
        };
        return kind < SCN_OP_COUNT ? names[kind] : "?";
}

static void pack_transaction(struct scn_packer *packer, const struct scn_journal_transaction *transaction)
{
        const uint32_t named_count =
                transaction->records_count < LOG_OPS_MAX ? transaction->records_count : LOG_OPS_MAX;
        scn_pack_map(packer, 9);
        pack_named(packer, "rev", transaction->revision);
        pack_named(packer, "time", (uint64_t)transaction->time_us);
        scn_pack_cstring(packer, "author");
        scn_pack_text(packer, transaction->author);
        scn_pack_cstring(packer, "client");
        scn_pack_uid(packer, transaction->client);
        pack_named(packer, "number", transaction->number);
        pack_named(packer, "group", transaction->group);
        scn_pack_cstring(packer, "cause");
        scn_pack_cstring(packer, cause_name(transaction->cause));
        pack_named(packer, "changes", transaction->records_count);
        scn_pack_cstring(packer, "ops");
        scn_pack_array(packer, named_count);
        for (uint32_t i = 0; i < named_count; i++) {
                scn_pack_map(packer, 2);
                scn_pack_cstring(packer, "op");
                scn_pack_cstring(packer, op_name(transaction->records[i].kind));
                scn_pack_cstring(packer, "uid");
                scn_pack_uid(packer, transaction->records[i].node);
        }
}

static bool is_wanted(const struct history_job *job, const struct scn_message_log *log,
        const struct scn_journal_transaction *transaction)
{
        if (log->author.data != NULL &&
                (log->author.size != transaction->author.size ||
                        memcmp(log->author.data, transaction->author.data, log->author.size) != 0)) {
                return false;
        }
        bool has_node = scn_uid_is_none(job->node);
        for (uint32_t i = 0; i < transaction->records_count && !has_node; i++) {
                has_node = scn_uid_equal(transaction->records[i].node, job->node);
        }
        return has_node;
}

/* Gathers rows and sends them behind their count. */
struct log_part {
        struct scn_buffer rows;
        struct scn_packer packer;
        uint32_t count;
};

static void flush_part(struct scn_answers *answers, struct log_part *part, bool more)
{
        struct scn_buffer body;
        scn_buffer_init(&body, SCN_MESSAGE_BYTES_MAX - 64);
        struct scn_packer packer = scn_packer_to(&body);
        scn_pack_array(&packer, part->count);
        if (part->count > 0) {
                scn_pack_raw(&packer, (struct scn_slice){part->rows.data, (uint32_t)part->rows.size});
        }
        packer.error = part->packer.error != SCN_OK ? part->packer.error : packer.error;
        scn_answers_add(answers, &packer, more);
        scn_buffer_finish(&body);
        scn_buffer_reset(&part->rows);
        part->count = 0;
}

static void answer_log(struct history_job *job, struct scn_journal *journal, const struct scn_message_log *log)
{
        struct scn_answers *answers = &job->answers;
        uint64_t left =
                log->limit == SCN_ABSENT || log->limit > LOG_TRANSACTIONS_MAX ? LOG_TRANSACTIONS_MAX : log->limit;
        scn_revision next = log->from == SCN_ABSENT ? 1 : log->from;
        const scn_revision to = log->to == SCN_ABSENT ? 0 : log->to;
        struct log_part part = {.count = 0};
        uint32_t count = 1;
        scn_buffer_init(&part.rows, SCN_MESSAGE_BYTES_MAX - 64);
        part.packer = scn_packer_to(&part.rows);
        while (left > 0 && count > 0 && answers->error == SCN_OK) {
                const struct scn_journal_range range = {.from = next, .to = to};
                struct scn_journal_page *page = NULL;
                scn_answers_fail(answers, scn_journal_read(journal, &range, &page, &job->fault));
                count = answers->error == SCN_OK ? scn_journal_page_count(page) : 0;
                for (uint32_t i = 0; i < count && left > 0; i++) {
                        const struct scn_journal_transaction *transaction = scn_journal_page_get(page, i);
                        next = transaction->revision + 1;
                        if (!is_wanted(job, log, transaction)) {
                                continue;
                        }
                        pack_transaction(&part.packer, transaction);
                        part.count++;
                        left--;
                        if (part.rows.size > LOG_PART_BYTES) {
                                flush_part(answers, &part, true);
                        }
                }
                scn_journal_page_destroy(page);
        }
        flush_part(answers, &part, false);
        scn_buffer_finish(&part.rows);
}

/* --- replay --- */

static void add_deltas(struct history_job *job, struct scn_document *document, const struct scn_delta_request *request)
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
static void add_head(struct history_job *job, const struct scn_journal_transaction *transaction)
{
        struct scn_buffer body;
        scn_buffer_init(&body, 4096);
        struct scn_packer packer = scn_packer_to(&body);
        scn_pack_map(&packer, 4);
        pack_named(&packer, "rev", transaction->revision);
        pack_named(&packer, "time", (uint64_t)transaction->time_us);
        scn_pack_cstring(&packer, "author");
        scn_pack_text(&packer, transaction->author);
        scn_pack_cstring(&packer, "cause");
        scn_pack_cstring(&packer, cause_name(transaction->cause));
        job->answers.rev = transaction->revision;
        scn_answers_add(&job->answers, &packer, true);
        scn_buffer_finish(&body);
}

/* The last answer: the digest where it ended, and where to go on if that was not the end. */
static void add_end(struct history_job *job, const struct scn_document *document, bool is_end)
{
        const struct scn_digests digests = scn_document_digests(document);
        struct scn_buffer body;
        scn_buffer_init(&body, 256);
        struct scn_packer packer = scn_packer_to(&body);
        scn_pack_map(&packer, is_end ? 1 : 2);
        scn_pack_cstring(&packer, "digest");
        scn_pack_digest(&packer, &digests);
        if (!is_end) {
                pack_named(&packer, "next", scn_document_revision(document));
        }
        job->answers.rev = scn_document_revision(document);
        scn_answers_add(&job->answers, &packer, false);
        scn_buffer_finish(&body);
}

static bool replay_page(struct history_job *job, struct scn_document *document, struct scn_journal_page *page,
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

static void answer_replay(struct history_job *job, struct scn_journal *journal, const struct scn_message_replay *replay)
{
        struct scn_document *document = NULL;
        struct scn_ops ops = {0};
        const scn_revision from = replay->from == SCN_ABSENT ? 0 : replay->from;
        const scn_revision to = replay->to == SCN_ABSENT ? 0 : replay->to;
        enum scn_error error = replay_to(job, journal, from, &document);
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

/* --- verify --- */

/* Each checkpoint, the newest first: that it is the state the journal has a digest of. */
static enum scn_error verify_checkpoints(struct history_job *job, struct scn_journal *journal)
{
        scn_revision at = SCN_REVISION_MAX;
        enum scn_error error = SCN_OK;
        while (error == SCN_OK && at > 0) {
                struct scn_document *document = NULL;
                error = scn_document_restore(journal, &job->options, at, &document, &job->damaged, &job->fault);
                if (error == SCN_OK && job->damaged.text[0] != '\0') {
                        job->fault = job->damaged;
                        error = SCN_E_CORRUPT;
                }
                at = error == SCN_OK ? scn_document_revision(document) : 0;
                at = at > 0 ? at - 1 : 0;
                scn_document_destroy(document);
        }
        return error;
}

/* All transactions from the first on, whatever checkpoints there are. */
static enum scn_error verify(struct history_job *job, struct scn_journal *journal, struct scn_document **document_out)
{
        enum scn_error error = scn_journal_verify(journal, &job->fault);
        if (error == SCN_OK) {
                error = scn_document_born(journal, &job->options, document_out);
        }
        if (error == SCN_OK) {
                error = scn_replay(journal, *document_out, 0, &job->fault);
        }
        return error == SCN_OK ? verify_checkpoints(job, journal) : error;
}

static void answer_verify(struct history_job *job, struct scn_journal *journal)
{
        struct scn_document *document = NULL;
        const enum scn_error error = verify(job, journal, &document);
        if (error != SCN_OK) {
                scn_document_destroy(document);
                scn_answers_fail(&job->answers, error);
                return;
        }
        const struct scn_digests digests = scn_document_digests(document);
        struct scn_buffer body;
        scn_buffer_init(&body, 256);
        struct scn_packer packer = scn_packer_to(&body);
        scn_pack_map(&packer, 3);
        pack_named(&packer, "rev", scn_document_revision(document));
        scn_pack_cstring(&packer, "digest");
        scn_pack_digest(&packer, &digests);
        scn_pack_cstring(&packer, "ok");
        scn_pack_bool(&packer, true);
        scn_answers_add(&job->answers, &packer, false);
        scn_buffer_finish(&body);
        scn_document_destroy(document);
}

/* --- The job --- */

static void run_history(struct scn_job *base)
{
        struct history_job *job = (struct history_job *)base;
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
                answer_log(job, journal, &message.as.log);
        } else if (message.kind == SCN_MESSAGE_replay) {
                answer_replay(job, journal, &message.as.replay);
        } else if (message.kind == SCN_MESSAGE_verify) {
                answer_verify(job, journal);
        } else {
                answer_past(job, journal, &message);
        }
        scn_journal_close(journal);
}

static void destroy_job(struct history_job *job)
{
        scn_answers_finish(&job->answers);
        scn_free((void *)job->name.data);
        scn_free((void *)job->payload.data);
        scn_free(job);
}

static void done_history(struct scn_job *base)
{
        struct history_job *job = (struct history_job *)base;
        struct scn_session *session = scn_server_find_session(job->server, job->session);
        if (job->damaged.text[0] != '\0') {
                scn_server_log(job->server, SCN_LOG_WARNING, "document %.*s: passed over: %s", (int)job->name.size,
                        (const char *)job->name.data, job->damaged.text);
        }
        if (session != NULL) {
                session->answers_due--;
                scn_answers_send(&job->answers, session, job->fault.text[0] != '\0' ? job->fault.text : NULL);
        }
        scn_server_end_history_job(job->server);
        destroy_job(job);
}

static bool copy_slice(struct scn_slice from, struct scn_slice *to)
{
        uint8_t *bytes = scn_alloc(from.size);
        if (bytes != NULL) {
                memcpy(bytes, from.data, from.size);
                *to = (struct scn_slice){bytes, from.size};
        }
        return bytes != NULL;
}

static void no_random(void *data, uint8_t *bytes, size_t size)
{
        (void)data;
        memset(bytes, 0, size);
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
        const enum scn_error error = scn_document_find(session->room->document, ref, &id);
        if (error == SCN_OK) {
                *node_out = scn_document_node(session->room->document, id).uid;
        }
        return error;
}

bool scn_history_ask(struct scn_session *session, const struct scn_message *message)
{
        struct scn_server *server = session->server;
        if (!scn_server_has_history_job(server)) {
                return false;
        }
        if (!scn_server_has_output_room(server)) {
                server->has_starved = true;
                return false;
        }
        const struct scn_queued *head = session->inbox_first;
        /* By convention the first member is the request. */
        const uint64_t request = message->as.log.request;
        struct history_job *job = scn_alloc_zero(1, sizeof *job);
        enum scn_error error = SCN_E_NO_MEMORY;
        if (job != NULL && copy_slice(session->room->name, &job->name) &&
                copy_slice((struct scn_slice){head->payload, head->size}, &job->payload)) {
                error = resolve_node(session, message, &job->node);
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
        job->options = (struct scn_document_options){.limits = server->options.limits, .random = no_random};
        job->answers = (struct scn_answers){.request = request, .rev = SCN_ABSENT, .durable = session->room->durable};
        session->answers_due++;
        scn_server_begin_history_job(server);
        server->options.submit(server->options.data, &job->job);
        return true;
}
