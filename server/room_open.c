/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* From a file to a document, on a worker thread, from the file alone: the loop takes over the finished one. */

#include "server/room_open.h"

#include "protocol/base/alloc.h"
#include "server/record.h"

#include <stdio.h>
#include <string.h>

static void replay_fault(struct scn_storage_fault *fault, scn_revision revision, const char *what)
{
        fault->revision = revision;
        (void)snprintf(fault->text, sizeof fault->text, "transaction %llu: %s", (unsigned long long)revision, what);
}

/* The stored digest is the four sums, each low then high, little-endian. */
static bool is_digest(const struct scn_document *document, struct scn_slice stored)
{
        const struct scn_digests digests = scn_document_digests(document);
        return stored.size == sizeof digests && memcmp(stored.data, &digests, sizeof digests) == 0;
}

static enum scn_error redo_records(const struct scn_journal_transaction *transaction, struct scn_ops *ops)
{
        ops->count = 0;
        ops->properties_count = 0;
        for (uint32_t i = 0; i < transaction->records_count; i++) {
                const struct scn_journal_record *record = &transaction->records[i];
                const enum scn_error error = scn_record_redo(record->kind, record->node, record->after, ops);
                if (error != SCN_OK) {
                        return error;
                }
        }
        struct scn_property *at = ops->properties;
        for (size_t i = 0; i < ops->count; i++) {
                const uint32_t count = ops->ops[i].properties_count;
                ops->ops[i].properties = at;
                at = count == 0 ? at : at + count; /* to nothing nothing may be added, not even 0 */
        }
        return SCN_OK;
}

enum scn_error scn_replay_transaction(struct scn_document *document, const struct scn_journal_transaction *transaction,
        struct scn_ops *ops, struct scn_storage_fault *fault)
{
        enum scn_error error = redo_records(transaction, ops);
        if (error != SCN_OK) {
                replay_fault(fault, transaction->revision, "a record cannot be read");
                return error;
        }
        const struct scn_edit edit = {
                .ops = ops->ops,
                .ops_count = (uint32_t)ops->count,
                .client = transaction->client,
                .step = transaction->step == transaction->revision ? 0 : transaction->step,
        };
        struct scn_changes *changes;
        struct scn_refusal refusal;
        error = scn_document_apply(document, &edit, &changes, &refusal);
        if (error == SCN_E_NO_MEMORY) {
                return error;
        }
        if (error != SCN_OK) {
                replay_fault(fault, transaction->revision, scn_error_text(error));
                return SCN_E_CORRUPT;
        }
        scn_document_settle(document, changes);
        if (scn_document_revision(document) != transaction->revision || !is_digest(document, transaction->digest)) {
                replay_fault(fault, transaction->revision, "the digest after it is not the recorded one");
                return SCN_E_CORRUPT;
        }
        return SCN_OK;
}

enum scn_error scn_replay(
        struct scn_journal *journal, struct scn_document *document, scn_revision to, struct scn_storage_fault *fault)
{
        struct scn_ops ops = {0};
        enum scn_error error = SCN_OK;
        uint32_t count = 1;
        while (error == SCN_OK && count > 0 && (to == 0 || scn_document_revision(document) < to)) {
                const struct scn_journal_range range = {.from = scn_document_revision(document) + 1, .to = to};
                struct scn_journal_page *page = NULL;
                error = scn_journal_read(journal, &range, &page, fault);
                count = error == SCN_OK ? scn_journal_page_count(page) : 0;
                for (uint32_t i = 0; i < count && error == SCN_OK; i++) {
                        error = scn_replay_transaction(document, scn_journal_page_get(page, i), &ops, fault);
                }
                scn_journal_page_destroy(page);
        }
        scn_ops_finish(&ops);
        return error;
}

enum scn_error scn_document_born(
        struct scn_journal *journal, const struct scn_document_options *wanted, struct scn_document **document_out)
{
        struct scn_journal_state state;
        const enum scn_error error = scn_journal_state(journal, &state, NULL);
        const struct scn_slice origin = scn_journal_origin(journal);
        struct scn_document_options options = *wanted;
        if (error != SCN_OK) {
                return error;
        }
        if (origin.size != sizeof options.root_uid.bytes) {
                return SCN_E_CORRUPT;
        }
        options.uid = state.uid;
        memcpy(options.root_uid.bytes, origin.data, sizeof options.root_uid.bytes);
        return scn_document_create(&options, document_out);
}

static enum scn_error open_journal(const struct scn_open_wish *wish, struct scn_journal **journal_out,
        bool *is_made_out, struct scn_storage_fault *fault)
{
        *is_made_out = false;
        enum scn_error error = scn_journal_open(wish->storage, wish->name, NULL, journal_out, fault);
        if (error == SCN_E_NO_DOCUMENT && wish->create) {
                const struct scn_storage_birth birth = {
                        .uid = wish->birth_uid,
                        .created_us = wish->now_us,
                        .origin = {wish->birth_root.bytes, sizeof wish->birth_root.bytes},
                };
                error = scn_storage_create(wish->storage, wish->name, &birth, fault);
                *is_made_out = error == SCN_OK;
                if (error == SCN_OK || error == SCN_E_DOCUMENT_EXISTS) {
                        error = scn_journal_open(wish->storage, wish->name, NULL, journal_out, fault);
                }
        }
        return error;
}

enum scn_error scn_open_document(
        const struct scn_open_wish *wish, struct scn_opened_document *opened, struct scn_storage_fault *fault)
{
        bool is_made;
        *opened = (struct scn_opened_document){0};
        enum scn_error error = open_journal(wish, &opened->journal, &is_made, fault);
        if (error == SCN_OK) {
                error = scn_document_born(opened->journal, &wish->options, &opened->document);
        }
        if (error == SCN_OK) {
                error = scn_replay(opened->journal, opened->document, 0, fault);
        }
        /* Before anyone is served: from here on revisions count in a history of its own name. */
        if (error == SCN_OK) {
                error = scn_journal_begin_epoch(opened->journal, wish->epoch, wish->now_us, fault);
        }
        struct scn_journal_state state;
        if (error == SCN_OK) {
                error = scn_journal_state(opened->journal, &state, fault);
        }
        if (error != SCN_OK) {
                scn_document_destroy(opened->document);
                scn_journal_close(opened->journal);
                *opened = (struct scn_opened_document){0};
                /* Whoever is refused finds no empty document later, unless not even that can be done. */
                const enum scn_error unmade =
                        is_made ? scn_storage_delete(wish->storage, wish->name, wish->now_us, NULL) : SCN_OK;
                (void)unmade;
                return error;
        }
        opened->last_time_us = state.last_time_us;
        return SCN_OK;
}
