/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/writer.h"

#include "server/author.h"

void scn_writer_finish(struct scn_writer_search *search)
{
        scn_journal_page_destroy(search->page);
        *search = (struct scn_writer_search){.page = NULL};
}

static enum scn_error read_heads(struct scn_writer_search *search, struct scn_journal *journal, scn_revision from,
        scn_revision to, struct scn_storage_fault *fault)
{
        const struct scn_journal_range range = {.from = from, .to = to, .without_records = true};
        scn_journal_page_destroy(search->page);
        search->page = NULL;
        search->at = 0;
        return scn_journal_read(journal, &range, &search->page, fault);
}

static bool is_found(const struct scn_writer_search *search)
{
        return search->at < scn_journal_page_count(search->page);
}

/* A step that can be folded is of one client. */
static bool is_of(const struct scn_journal_transaction *transaction, struct scn_stamp_view stamp)
{
        return transaction->step == stamp.writer && transaction->cause == SCN_CAUSE_EDIT;
}

/* On to the transaction that a folded one went up in, which is in the same window. */
static enum scn_error read_folded(struct scn_writer_search *search, struct scn_journal *journal,
        struct scn_stamp_view stamp, struct scn_storage_fault *fault)
{
        const scn_revision end = stamp.revision + SCN_JOURNAL_FOLD_WINDOW - 1;
        enum scn_error error = read_heads(search, journal, stamp.revision, end, fault);
        while (error == SCN_OK && is_found(search)) {
                const struct scn_journal_transaction *transaction = scn_journal_page_get(search->page, search->at);
                if (is_of(transaction, stamp)) {
                        break;
                }
                search->at++;
                if (!is_found(search)) {
                        error = read_heads(search, journal, transaction->revision + 1, end, fault);
                }
        }
        return error;
}

static enum scn_error read_stamp(struct scn_writer_search *search, struct scn_journal *journal,
        struct scn_stamp_view stamp, struct scn_storage_fault *fault)
{
        enum scn_error error = read_heads(search, journal, stamp.revision, stamp.revision, fault);
        if (error != SCN_OK || is_found(search)) {
                return error;
        }
        error = scn_journal_has_revision(journal, stamp.revision, NULL);
        switch ((int)error) {
        case SCN_OK:
                return SCN_E_CORRUPT;
        case SCN_E_FOLDED:
                return read_folded(search, journal, stamp, fault);
        case SCN_E_BEFORE_RETENTION:
        case SCN_E_FUTURE:
                return SCN_OK;
        default:
                return error;
        }
}

enum scn_error scn_writer_find(struct scn_writer_search *search, struct scn_journal *journal,
        struct scn_stamp_view stamp, const struct scn_journal_transaction **transaction_out,
        struct scn_storage_fault *fault)
{
        enum scn_error error = SCN_OK;
        *transaction_out = NULL;
        if (stamp.revision != 0 && search->revision != stamp.revision) {
                error = read_stamp(search, journal, stamp, fault);
                search->revision = error == SCN_OK ? stamp.revision : 0;
        }
        if (error == SCN_OK && stamp.revision != 0 && is_found(search)) {
                *transaction_out = scn_journal_page_get(search->page, search->at);
        }
        return error;
}
