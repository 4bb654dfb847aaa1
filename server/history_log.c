/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* log and tags. */

#include "server/at.h"
#include "server/author.h"
#include "server/history_job.h"

#include <string.h>

#define PART_BYTES (256u << 10)
/* Ops named of one transaction: those of an import of a million nodes would not fit into a message. */
#define LOG_OPS_MAX SCN_SERVER_log_ops_max
/* Revisions that are looked at in one go where the last ones are looked for. */
#define LAST_WINDOW 256u

/* --- log --- */

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
        scn_history_pack(packer, "rev", transaction->revision);
        scn_history_pack(packer, "time", (uint64_t)transaction->time_us);
        scn_pack_cstring(packer, "author");
        scn_pack_text(packer, transaction->author);
        scn_pack_cstring(packer, "client");
        scn_pack_uid(packer, transaction->client);
        scn_history_pack(packer, "number", transaction->number);
        scn_history_pack(packer, "group", transaction->group);
        scn_pack_cstring(packer, "cause");
        scn_pack_cstring(packer, scn_history_cause(transaction->cause));
        scn_history_pack(packer, "changes", transaction->records_count);
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

static bool is_wanted(const struct scn_history_job *job, const struct scn_message_log *log,
        const struct scn_journal_transaction *transaction)
{
        if (log->author.data != NULL &&
                (log->author.size != transaction->author.size ||
                        memcmp(log->author.data, transaction->author.data, log->author.size) != 0)) {
                return false;
        }
        if (log->group != SCN_ABSENT && log->group != transaction->group) {
                return false;
        }
        bool has_node = scn_uid_is_none(job->node);
        for (uint32_t i = 0; i < transaction->records_count && !has_node; i++) {
                has_node = scn_uid_equal(transaction->records[i].node, job->node);
        }
        return has_node;
}

/* Gathers rows and sends them behind their count. */
struct part {
        struct scn_buffer rows;
        struct scn_packer packer;
        uint32_t count;
};

static void begin_part(struct part *part)
{
        scn_buffer_init(&part->rows, SCN_MESSAGE_BYTES_MAX - 64);
        part->packer = scn_packer_to(&part->rows);
}

static void flush_part(struct scn_answers *answers, struct part *part, bool more)
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

/* The revisions that were asked for, from..to; none: to < from. */
static enum scn_error find_range(struct scn_history_job *job, struct scn_journal *journal,
        const struct scn_message_log *log, scn_revision *from_out, scn_revision *to_out)
{
        enum scn_error error = SCN_OK;
        scn_revision at;
        *from_out = log->from == SCN_ABSENT ? 1 : log->from;
        *to_out = log->to == SCN_ABSENT || log->to == 0 ? SCN_REVISION_MAX : log->to;
        job->blamed = log->since;
        if (log->since.data != NULL) {
                error = scn_at_find(journal, log->since, &at, &job->fault);
                *from_out = error == SCN_OK && at >= *from_out ? at + 1 : *from_out;
        }
        if (error == SCN_OK && log->until.data != NULL) {
                job->blamed = log->until;
                error = scn_at_find(journal, log->until, &at, &job->fault);
                *to_out = error == SCN_OK && at < *to_out ? at : *to_out;
        }
        if (error != SCN_OK) {
                return error;
        }
        job->blamed = (struct scn_slice){NULL, 0}; /* what is said of a number names it itself */
        /* Who names a beginning wants to be told that there is nothing of it; else the log begins where it begins. */
        if (log->from != SCN_ABSENT && log->from > 1) {
                error = scn_journal_has_revision(journal, log->from, &job->fault);
                error = error == SCN_E_BEFORE_RETENTION ? error : SCN_OK;
        }
        return error;
}

/* The revisions from..to that are wanted: at most so many as there are from..to. */
static enum scn_error find_wanted(struct scn_history_job *job, struct scn_journal *journal,
        const struct scn_message_log *log, struct scn_journal_range range, scn_revision *wanted, uint32_t *count_out)
{
        enum scn_error error = SCN_OK;
        uint32_t count = 1;
        range.without_records = scn_uid_is_none(job->node);
        *count_out = 0;
        while (error == SCN_OK && count > 0 && range.from <= range.to) {
                struct scn_journal_page *page = NULL;
                error = scn_journal_read(journal, &range, &page, &job->fault);
                count = error == SCN_OK ? scn_journal_page_count(page) : 0;
                for (uint32_t i = 0; i < count; i++) {
                        const struct scn_journal_transaction *transaction = scn_journal_page_get(page, i);
                        range.from = transaction->revision + 1;
                        if (is_wanted(job, log, transaction)) {
                                wanted[(*count_out)++] = transaction->revision;
                        }
                }
                scn_journal_page_destroy(page);
        }
        return error;
}

/* Moves the beginning to where the last so many that are wanted begin, looked for from the end on. */
static enum scn_error skip_to_last(struct scn_history_job *job, struct scn_journal *journal,
        const struct scn_message_log *log, scn_revision *from, scn_revision to)
{
        scn_revision wanted[LAST_WINDOW];
        struct scn_journal_state state;
        uint64_t left = log->last < SCN_SERVER_log_max ? log->last : SCN_SERVER_log_max;
        const scn_revision first = *from > 0 ? *from : 1;
        enum scn_error error = scn_journal_state(journal, &state, &job->fault);
        scn_revision end = error == SCN_OK && to > state.last_revision ? state.last_revision : to;
        *from = end + 1;
        while (error == SCN_OK && left > 0 && end >= first) {
                const scn_revision begin = end - first < LAST_WINDOW ? first : end - LAST_WINDOW + 1;
                uint32_t count;
                error = find_wanted(
                        job, journal, log, (struct scn_journal_range){.from = begin, .to = end}, wanted, &count);
                const uint32_t taken = count < left ? count : (uint32_t)left;
                *from = taken > 0 ? wanted[count - taken] : *from;
                left -= taken;
                end = begin - 1;
        }
        return error;
}

void scn_history_log(struct scn_history_job *job, struct scn_journal *journal, const struct scn_message_log *log)
{
        struct scn_answers *answers = &job->answers;
        uint64_t left = log->limit == SCN_ABSENT || log->limit > SCN_SERVER_log_max ? SCN_SERVER_log_max : log->limit;
        scn_revision next;
        scn_revision to;
        struct part part = {.count = 0};
        uint32_t count = 1;
        enum scn_error error = find_range(job, journal, log, &next, &to);
        if (error == SCN_OK && log->last != SCN_ABSENT) {
                error = skip_to_last(job, journal, log, &next, to);
        }
        if (error != SCN_OK) {
                scn_answers_fail(answers, error);
                return;
        }
        begin_part(&part);
        while (left > 0 && count > 0 && next <= to && answers->error == SCN_OK) {
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
                        if (part.rows.size > PART_BYTES) {
                                flush_part(answers, &part, true);
                        }
                }
                scn_journal_page_destroy(page);
        }
        flush_part(answers, &part, false);
        scn_buffer_finish(&part.rows);
}

/* --- tags --- */

static void pack_tag(struct scn_packer *packer, const struct scn_journal_tag *tag)
{
        scn_pack_map(packer, 4);
        scn_pack_cstring(packer, "name");
        scn_pack_text(packer, tag->name);
        scn_history_pack(packer, "rev", tag->revision);
        scn_history_pack(packer, "time", (uint64_t)tag->time_us);
        scn_pack_cstring(packer, "author");
        scn_pack_text(packer, tag->author);
}

void scn_history_tags(struct scn_history_job *job, struct scn_journal *journal)
{
        struct scn_answers *answers = &job->answers;
        struct scn_journal_tags tags;
        const enum scn_error error = scn_journal_list_tags(journal, &tags, &job->fault);
        if (error != SCN_OK) {
                scn_answers_fail(answers, error);
                return;
        }
        struct part part = {.count = 0};
        begin_part(&part);
        for (size_t i = 0; i < tags.count && answers->error == SCN_OK; i++) {
                pack_tag(&part.packer, &tags.entries[i]);
                part.count++;
                if (part.rows.size > PART_BYTES) {
                        flush_part(answers, &part, true);
                }
        }
        flush_part(answers, &part, false);
        scn_buffer_finish(&part.rows);
        scn_journal_tags_finish(&tags);
}
