/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* From a file to a document, on a worker thread, from the file alone: the loop takes over the finished one. */

#include "server/room_open.h"

#include "protocol/base/alloc.h"
#include "protocol/base/uid.h"
#include "server/checkpoint.h"
#include "server/record.h"

#include <stdio.h>
#include <string.h>

static void replay_fault(struct scn_storage_fault *fault, scn_revision revision, const char *what)
{
        if (fault == NULL) {
                return; /* nobody wants to know */
        }
        fault->revision = revision;
        (void)snprintf(fault->text, sizeof fault->text, "transaction %llu: %s", (unsigned long long)revision, what);
}

bool scn_document_has_digest(const struct scn_document *document, struct scn_slice stored)
{
        const struct scn_digests digests = scn_document_digests(document);
        return stored.size == sizeof digests && memcmp(stored.data, &digests, sizeof digests) == 0;
}

static enum scn_error redo_records(const struct scn_journal_transaction *transaction, struct scn_ops *ops)
{
        scn_ops_reset(ops);
        for (uint32_t i = 0; i < transaction->records_count; i++) {
                const struct scn_journal_record *record = &transaction->records[i];
                const enum scn_error error = scn_record_redo(record->kind, record->node, record->after, ops);
                if (error != SCN_OK) {
                        return error;
                }
        }
        scn_record_settle(ops);
        return SCN_OK;
}

enum scn_error scn_redo_transaction(struct scn_document *document, const struct scn_journal_transaction *transaction,
        struct scn_ops *ops, struct scn_changes **changes_out, struct scn_storage_fault *fault)
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
                .revision = transaction->revision,
        };
        struct scn_refusal refusal;
        error = scn_document_apply(document, &edit, changes_out, &refusal);
        if (error == SCN_E_NO_MEMORY || error == SCN_OK) {
                return error;
        }
        replay_fault(fault, transaction->revision, scn_error_text(error));
        return SCN_E_CORRUPT;
}

enum scn_error scn_replay_transaction(struct scn_document *document, const struct scn_journal_transaction *transaction,
        struct scn_ops *ops, struct scn_storage_fault *fault)
{
        struct scn_changes *changes;
        const enum scn_error error = scn_redo_transaction(document, transaction, ops, &changes, fault);
        if (error != SCN_OK) {
                return error;
        }
        scn_document_settle(document, changes);
        if (scn_document_revision(document) != transaction->revision ||
                !scn_document_has_digest(document, transaction->digest)) {
                replay_fault(fault, transaction->revision, "the digest after it is not the recorded one");
                return SCN_E_CORRUPT;
        }
        return SCN_OK;
}

enum scn_error scn_replay(
        struct scn_journal *journal, struct scn_document *document, scn_revision to, struct scn_storage_fault *fault)
{
        struct scn_ops ops = {0};
        struct scn_journal_state state;
        enum scn_error error = scn_journal_state(journal, &state, fault);
        const scn_revision judged = error == SCN_OK ? state.judged : 0;
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
        /* A window that was folded between two pages is not damage: half of it was read as it was before. */
        if (error == SCN_E_CORRUPT && scn_journal_state(journal, &state, NULL) == SCN_OK && state.judged != judged) {
                error = SCN_E_FOLDED;
        }
        return error;
}

uint32_t scn_origin_encode(const struct scn_origin *origin, uint8_t bytes[SCN_ORIGIN_BYTES_MAX])
{
        memcpy(bytes, origin->root.bytes, 16);
        memcpy(bytes + 16, origin->source.bytes, 16);
        for (uint32_t i = 0; i < 8; i++) {
                bytes[32 + i] = (uint8_t)(origin->revision >> (56 - 8 * i));
        }
        return scn_uid_is_none(origin->source) ? 16 : SCN_ORIGIN_BYTES_MAX;
}

enum scn_error scn_origin_decode(struct scn_slice bytes, struct scn_origin *origin_out)
{
        *origin_out = (struct scn_origin){.revision = 0};
        if (bytes.size != 16 && bytes.size != SCN_ORIGIN_BYTES_MAX) {
                return SCN_E_CORRUPT;
        }
        memcpy(origin_out->root.bytes, bytes.data, 16);
        if (bytes.size == SCN_ORIGIN_BYTES_MAX) {
                memcpy(origin_out->source.bytes, bytes.data + 16, 16);
                for (uint32_t i = 0; i < 8; i++) {
                        origin_out->revision = origin_out->revision << 8 | bytes.data[32 + i];
                }
        }
        return scn_uid_is_none(origin_out->root) ? SCN_E_CORRUPT : SCN_OK;
}

enum scn_error scn_document_born(
        struct scn_journal *journal, const struct scn_document_options *wanted, struct scn_document **document_out)
{
        struct scn_journal_state state;
        struct scn_origin origin;
        struct scn_document_options options = *wanted;
        enum scn_error error = scn_journal_state(journal, &state, NULL);
        if (error == SCN_OK) {
                error = scn_origin_decode(scn_journal_origin(journal), &origin);
        }
        if (error != SCN_OK) {
                return error;
        }
        options.uid = state.uid;
        options.root_uid = origin.root;
        return scn_document_create(&options, document_out);
}

/* --- Checkpoints --- */

static enum scn_error decode_parts(struct scn_checkpoint_reader *reader, const struct scn_document_options *options,
        struct scn_document **document_out, struct scn_storage_fault *fault)
{
        struct scn_checkpoint_decoder *decoder = NULL;
        struct scn_slice part = {NULL, 0};
        enum scn_error error = scn_checkpoint_decoder_create(options, &decoder);
        do {
                error = error == SCN_OK ? scn_checkpoint_reader_next(reader, &part, fault) : error;
                error = error == SCN_OK && part.data != NULL ? scn_checkpoint_decoder_feed(decoder, part) : error;
        } while (error == SCN_OK && part.data != NULL);
        if (error == SCN_OK) {
                error = scn_checkpoint_decoder_take(decoder, document_out);
        }
        scn_checkpoint_decoder_destroy(decoder);
        return error;
}

/* It is this document's state at this revision, also by what the journal says. */
static enum scn_error prove(struct scn_journal *journal, const struct scn_document *document,
        const struct scn_checkpoint_info *info, struct scn_storage_fault *fault)
{
        const struct scn_journal_range range = {.from = info->revision, .to = info->revision, .without_records = true};
        struct scn_journal_page *page = NULL;
        struct scn_journal_state state;
        enum scn_error error = scn_journal_state(journal, &state, fault);
        if (error == SCN_OK &&
                (scn_document_revision(document) != info->revision ||
                        !scn_document_has_digest(document, info->digest) ||
                        !scn_uid_equal(scn_document_uid(document), state.uid))) {
                error = SCN_E_BAD_SNAPSHOT;
        }
        if (error != SCN_OK || info->revision == 0) {
                return error;
        }
        error = scn_journal_read(journal, &range, &page, fault);
        if (error == SCN_OK &&
                (scn_journal_page_count(page) != 1 ||
                        !scn_document_has_digest(document, scn_journal_page_get(page, 0)->digest))) {
                error = SCN_E_BAD_SNAPSHOT;
        }
        scn_journal_page_destroy(page);
        return error;
}

/* *document_out stays NULL if there is no checkpoint. A fault always names the checkpoint, if one was found. */
static enum scn_error load_checkpoint(struct scn_journal *journal, const struct scn_document_options *options,
        scn_revision at_most, struct scn_document **document_out, struct scn_storage_fault *fault)
{
        struct scn_checkpoint_reader *reader = NULL;
        struct scn_document *document = NULL;
        enum scn_error error = scn_checkpoint_reader_create(journal, at_most, &reader, fault);
        if (error != SCN_OK || reader == NULL) {
                return error;
        }
        const struct scn_checkpoint_info info = scn_checkpoint_reader_info(reader);
        error = decode_parts(reader, options, &document, fault);
        if (error == SCN_OK) {
                error = prove(journal, document, &info, fault);
        }
        if (error != SCN_OK) {
                scn_document_destroy(document);
                document = NULL;
                fault->revision = info.revision;
                if (fault->text[0] == '\0') {
                        (void)snprintf(fault->text, sizeof fault->text, "the checkpoint of revision %llu: %s",
                                (unsigned long long)info.revision, scn_error_text(error));
                }
        }
        scn_checkpoint_reader_destroy(reader);
        *document_out = document;
        return error;
}

/* What would be no better with an older checkpoint. */
static bool is_final(enum scn_error error)
{
        return error == SCN_E_NO_MEMORY || error == SCN_E_STORAGE_BUSY || error == SCN_E_STORAGE_FULL;
}

enum scn_error scn_document_restore(struct scn_journal *journal, const struct scn_document_options *wanted,
        scn_revision at_most, struct scn_document **document_out, struct scn_storage_fault *damaged,
        struct scn_storage_fault *fault)
{
        struct scn_journal_state state;
        scn_revision at = at_most;
        enum scn_error last = SCN_E_CORRUPT;
        bool has_older = true;
        *document_out = NULL;
        const enum scn_error asked = scn_journal_state(journal, &state, fault);
        if (asked != SCN_OK) {
                return asked;
        }
        while (has_older) {
                struct scn_storage_fault found = {.text = ""};
                const enum scn_error error = load_checkpoint(journal, wanted, at, document_out, &found);
                if (error == SCN_OK && *document_out != NULL) {
                        return SCN_OK;
                }
                if (is_final(error)) {
                        *fault = found;
                        return error;
                }
                if (error == SCN_E_NO_CHECKPOINT) {
                        continue; /* dropped while it was read: others are there */
                }
                if (error != SCN_OK) {
                        *damaged = found;
                        last = error;
                }
                has_older = error != SCN_OK && found.revision > state.base && found.revision <= at;
                at = has_older ? found.revision - 1 : 0;
        }
        if (state.base == 0) {
                return scn_document_born(journal, wanted, document_out);
        }
        if (damaged->text[0] != '\0') {
                *fault = *damaged;
        } else {
                replay_fault(fault, state.base, "the checkpoint that the history begins with is not there");
        }
        return last;
}

static enum scn_error make_at(struct scn_journal *journal, const struct scn_document_options *wanted,
        scn_revision revision, struct scn_document **document_out, struct scn_storage_fault *damaged,
        struct scn_storage_fault *fault)
{
        *document_out = NULL;
        enum scn_error error = scn_journal_has_revision(journal, revision, fault);
        if (error == SCN_OK) {
                error = scn_document_restore(journal, wanted, revision, document_out, damaged, fault);
        }
        if (error == SCN_OK && revision > 0) {
                error = scn_replay(journal, *document_out, revision, fault);
        }
        /* It may have been folded or dropped meanwhile. */
        error = error == SCN_OK ? scn_journal_has_revision(journal, revision, fault) : error;
        if (error == SCN_OK && scn_document_revision(*document_out) != revision) {
                error = SCN_E_CORRUPT;
        }
        if (error != SCN_OK) {
                scn_document_destroy(*document_out);
                *document_out = NULL;
        }
        return error;
}

enum scn_error scn_document_at(struct scn_journal *journal, const struct scn_document_options *wanted,
        scn_revision revision, struct scn_document **document_out, struct scn_storage_fault *damaged,
        struct scn_storage_fault *fault)
{
        enum scn_error error = SCN_E_FOLDED;
        for (int i = 0; i < SCN_FOLDED_TRIES && error == SCN_E_FOLDED; i++) {
                error = make_at(journal, wanted, revision, document_out, damaged, fault);
                if (error == SCN_E_FOLDED && scn_journal_has_revision(journal, revision, fault) != SCN_OK) {
                        return error;
                }
        }
        return error;
}

/* --- Opening --- */

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

static enum scn_error list_epochs(struct scn_opened_document *opened, struct scn_storage_fault *fault)
{
        struct scn_journal_epoch *epochs = scn_alloc(SCN_EPOCHS_MAX * sizeof *epochs);
        if (epochs == NULL) {
                return SCN_E_NO_MEMORY;
        }
        const enum scn_error error =
                scn_journal_list_epochs(opened->journal, epochs, SCN_EPOCHS_MAX, &opened->epochs_count, fault);
        opened->epochs = scn_realloc(epochs, opened->epochs_count * sizeof *epochs);
        if (opened->epochs == NULL) {
                opened->epochs = epochs; /* as it was */
        }
        /* The newest that the file lists ends where ours will begin. */
        if (error == SCN_OK && !opened->has_epoch && opened->epochs_count > 0) {
                opened->epochs[0].ended = scn_document_revision(opened->document);
        }
        return error;
}

/* Before anyone is served: from here on revisions count in a history of its own name. On a full disk it begins later,
 * at the same revision, for until then there can be no other. */
static enum scn_error begin_epoch(
        const struct scn_open_wish *wish, struct scn_opened_document *opened, struct scn_storage_fault *fault)
{
        if (opened->is_still) {
                return SCN_OK;
        }
        const enum scn_error error = scn_journal_begin_epoch(opened->journal, wish->epoch, wish->now_us, &opened->full);
        opened->has_epoch = error == SCN_OK;
        if (error != SCN_OK && error != SCN_E_STORAGE_FULL) {
                *fault = opened->full;
                return error;
        }
        return SCN_OK;
}

enum scn_error scn_open_document(
        const struct scn_open_wish *wish, struct scn_opened_document *opened, struct scn_storage_fault *fault)
{
        bool is_made;
        *opened = (struct scn_opened_document){0};
        enum scn_error error = open_journal(wish, &opened->journal, &is_made, fault);
        if (error == SCN_E_STORAGE_FULL &&
                scn_journal_open_still(wish->storage, wish->name, &opened->journal, NULL) == SCN_OK) {
                opened->is_still = true;
                opened->full = *fault;
                *fault = (struct scn_storage_fault){.text = ""};
                error = SCN_OK;
        }
        if (error == SCN_OK) {
                error = scn_document_restore(
                        opened->journal, &wish->options, SCN_REVISION_MAX, &opened->document, &opened->damaged, fault);
        }
        if (error == SCN_OK) {
                error = scn_replay(opened->journal, opened->document, 0, fault);
        }
        if (error == SCN_OK) {
                error = scn_journal_state(opened->journal, &opened->state, fault);
        }
        if (error == SCN_OK) {
                error = begin_epoch(wish, opened, fault);
        }
        if (error == SCN_OK) {
                error = list_epochs(opened, fault);
        }
        if (error != SCN_OK) {
                scn_free(opened->epochs);
                scn_document_destroy(opened->document);
                scn_journal_close(opened->journal);
                *opened = (struct scn_opened_document){0};
                /* Whoever is refused finds no empty document later, unless not even that can be done. */
                const enum scn_error unmade =
                        is_made ? scn_storage_delete(wish->storage, wish->name, wish->now_us, NULL) : SCN_OK;
                (void)unmade;
                return error;
        }
        return SCN_OK;
}
