/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/fold.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "server/fold_plan.h"
#include "server/room_open.h"

#include <stdio.h>
#include <string.h>

struct scn_folder {
        struct scn_journal *journal; /* borrowed, during a step */
        struct scn_document_options options;
        struct scn_document *document; /* as the journal has it at the end of the window folded last; NULL: none yet */
        struct scn_ops ops;
        /* Of the window. */
        struct scn_journal_page *pages[SCN_JOURNAL_FOLD_WINDOW];
        const struct scn_journal_transaction *transactions[SCN_JOURNAL_FOLD_WINDOW];
        struct scn_journal_fate fates[SCN_JOURNAL_FOLD_WINDOW];
        struct scn_digests digests[SCN_JOURNAL_FOLD_WINDOW];
        struct scn_changes *changes[SCN_JOURNAL_FOLD_WINDOW]; /* outstanding, in order */
        uint32_t pages_count;
        uint32_t count;
        uint32_t changes_count;
        size_t bytes;
};

struct scn_folder *scn_folder_create(const struct scn_document_options *options)
{
        struct scn_folder *folder = scn_alloc_zero(1, sizeof *folder);
        if (folder != NULL) {
                folder->options = *options;
        }
        return folder;
}

static void drop_window(struct scn_folder *folder)
{
        for (uint32_t i = 0; i < folder->pages_count; i++) {
                scn_journal_page_destroy(folder->pages[i]);
        }
        folder->pages_count = 0;
        folder->count = 0;
        folder->bytes = 0;
}

static void drop_document(struct scn_folder *folder)
{
        scn_document_destroy(folder->document);
        folder->document = NULL;
}

void scn_folder_destroy(struct scn_folder *folder)
{
        if (folder != NULL) {
                drop_window(folder);
                drop_document(folder);
                scn_ops_finish(&folder->ops);
                scn_free(folder);
        }
}

/* --- The window --- */

static enum scn_error read_window(
        struct scn_folder *folder, scn_revision first, scn_revision last, struct scn_storage_fault *fault)
{
        struct scn_journal_range range = {.from = first, .to = last};
        enum scn_error error = SCN_OK;
        while (error == SCN_OK && range.from <= last && folder->bytes <= SCN_FOLD_WINDOW_BYTES_MAX) {
                struct scn_journal_page *page = NULL;
                error = scn_journal_read(folder->journal, &range, &page, fault);
                const uint32_t count = error == SCN_OK ? scn_journal_page_count(page) : 0;
                if (count == 0 || count > SCN_JOURNAL_FOLD_WINDOW - folder->count) {
                        scn_journal_page_destroy(page);
                        return error == SCN_OK ? SCN_E_CORRUPT : error;
                }
                folder->pages[folder->pages_count++] = page;
                folder->bytes += scn_journal_page_bytes(page);
                for (uint32_t i = 0; i < count; i++) {
                        folder->transactions[folder->count++] = scn_journal_page_get(page, i);
                }
                range.from = folder->transactions[folder->count - 1]->revision + 1;
        }
        return error;
}

/* --- The proof --- */

/* The document that was left at the end of an earlier window goes if it is ahead, or if a checkpoint is nearer. */
static enum scn_error drop_if_far(struct scn_folder *folder, scn_revision before, struct scn_storage_fault *fault)
{
        const scn_revision revision = scn_document_revision(folder->document);
        struct scn_checkpoint_reader *reader = NULL;
        scn_revision checkpoint = 0;
        if (revision == before) {
                return SCN_OK;
        }
        const enum scn_error error = scn_checkpoint_reader_create(folder->journal, before, &reader, fault);
        if (error == SCN_OK && reader != NULL) {
                checkpoint = scn_checkpoint_reader_info(reader).revision;
        }
        scn_checkpoint_reader_destroy(reader);
        if (error == SCN_OK && (revision > before || revision < checkpoint)) {
                drop_document(folder);
        }
        return error;
}

/* The document as it was before the window. */
static enum scn_error reach(struct scn_folder *folder, scn_revision before, struct scn_storage_fault *fault)
{
        struct scn_storage_fault damaged = {.text = ""};
        enum scn_error error = folder->document != NULL ? drop_if_far(folder, before, fault) : SCN_OK;
        if (error == SCN_OK && folder->document == NULL) {
                error = scn_document_restore(
                        folder->journal, &folder->options, before, &folder->document, &damaged, fault);
        }
        if (error == SCN_OK && scn_document_revision(folder->document) < before) {
                error = scn_replay(folder->journal, folder->document, before, fault);
        }
        if (error == SCN_OK && scn_document_revision(folder->document) != before) {
                error = SCN_E_CORRUPT;
        }
        if (error != SCN_OK) {
                drop_document(folder);
        }
        return error;
}

static enum scn_error redo_part(
        struct scn_folder *folder, const struct scn_fold_part *part, uint32_t index, struct scn_storage_fault *fault)
{
        struct scn_journal_transaction transaction = *part->transaction;
        if (part->records != NULL) {
                transaction.records = part->records;
                transaction.records_count = part->records_count;
        }
        const enum scn_error error = scn_redo_transaction(
                folder->document, &transaction, &folder->ops, &folder->changes[folder->changes_count], fault);
        if (error != SCN_OK) {
                return error;
        }
        folder->changes_count++;
        folder->digests[index] = scn_document_digests(folder->document);
        return scn_document_revision(folder->document) == transaction.revision ? SCN_OK : SCN_E_CORRUPT;
}

/* Does the window again as it would be. *is_good_out: it leads to what the journal says; else the document is as it
 * was. */
static enum scn_error prove(struct scn_folder *folder, const struct scn_fold_part *parts, bool *is_good_out,
        struct scn_storage_fault *fault)
{
        const uint32_t last = folder->count - 1;
        struct scn_storage_fault refuted = {.text = ""};
        enum scn_error error = reach(folder, folder->transactions[0]->revision - 1, fault);
        *is_good_out = false;
        if (error != SCN_OK) {
                return error;
        }
        folder->changes_count = 0;
        for (uint32_t i = 0; i < folder->count && error == SCN_OK; i++) {
                if (parts[i].into == i) {
                        error = redo_part(folder, &parts[i], i, &refuted);
                }
        }
        *is_good_out = error == SCN_OK && scn_document_has_digest(folder->document, folder->transactions[last]->digest);
        for (uint32_t i = 0; i < folder->changes_count; i++) {
                if (*is_good_out) {
                        scn_document_settle(folder->document, folder->changes[i]);
                } else {
                        scn_document_take_back(folder->document, folder->changes[folder->changes_count - 1 - i]);
                }
        }
        return error == SCN_E_NO_MEMORY ? error : SCN_OK;
}

/* --- A step --- */

static enum scn_error write_window(
        struct scn_folder *folder, const struct scn_fold_part *parts, struct scn_storage_fault *fault)
{
        for (uint32_t i = 0; i < folder->count; i++) {
                folder->fates[i] = (struct scn_journal_fate){
                        .revision = parts[i].transaction->revision,
                        .into = parts[parts[i].into].transaction->revision,
                        .digest = {(const uint8_t *)&folder->digests[i], sizeof folder->digests[i]},
                        .records = parts[i].records,
                        .records_count = parts[i].records_count,
                };
        }
        return scn_journal_fold(folder->journal, folder->fates, folder->count, fault);
}

/* The window is in memory. */
static enum scn_error fold_window(struct scn_folder *folder, struct scn_folded *folded, struct scn_storage_fault *fault)
{
        struct scn_fold_plan *plan;
        uint32_t at;
        bool is_good = false;
        enum scn_error error = scn_fold_plan_create(folder->transactions, folder->count, &plan, &at);
        if (error == SCN_E_CORRUPT) {
                fault->revision = folder->transactions[at]->revision;
                (void)snprintf(fault->text, sizeof fault->text, "transaction %llu: a record cannot be read",
                        (unsigned long long)fault->revision);
        }
        if (error == SCN_OK && scn_fold_plan_saved(plan) > 0) {
                error = prove(folder, scn_fold_plan_parts(plan), &is_good, fault);
                folded->is_refuted = error == SCN_OK && !is_good;
        }
        if (error == SCN_OK && is_good) {
                error = write_window(folder, scn_fold_plan_parts(plan), fault);
                folded->transactions = error == SCN_OK ? scn_fold_plan_saved(plan) : 0;
        } else if (error == SCN_OK) {
                error = scn_journal_note_judged(folder->journal, folded->last, fault);
        }
        scn_fold_plan_destroy(plan);
        return error;
}

enum scn_error scn_folder_step(struct scn_folder *folder, struct scn_journal *journal, scn_revision to,
        struct scn_folded *folded_out, struct scn_storage_fault *fault)
{
        scn_revision first;
        folder->journal = journal;
        *folded_out = (struct scn_folded){.last = 0};
        enum scn_error error = scn_journal_next_fold(folder->journal, to, &first, &folded_out->last, fault);
        if (error != SCN_OK || folded_out->last == 0) {
                return error;
        }
        error = read_window(folder, first, folded_out->last, fault);
        if (error == SCN_OK && folder->bytes > SCN_FOLD_WINDOW_BYTES_MAX) {
                error = scn_journal_note_judged(folder->journal, folded_out->last, fault);
        } else if (error == SCN_OK) {
                error = fold_window(folder, folded_out, fault);
        }
        drop_window(folder);
        if (error != SCN_OK) {
                drop_document(folder); /* it may be ahead of the file */
        }
        return error;
}

enum scn_error scn_fold_limit(
        struct scn_journal *journal, int64_t before_us, scn_revision *to_out, struct scn_storage_fault *fault)
{
        struct scn_journal_state state;
        enum scn_error error = scn_journal_state(journal, &state, fault);
        if (error == SCN_OK) {
                error = scn_journal_find_time(journal, before_us, to_out, fault);
        }
        if (error != SCN_OK) {
                return error;
        }
        const scn_revision checkpoint = state.has_checkpoint ? state.checkpoint_revision : 0;
        *to_out = *to_out < checkpoint ? *to_out : checkpoint;
        return SCN_OK;
}
