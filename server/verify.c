/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/verify.h"

#include "server/at.h"
#include "server/core.h"
#include "server/room_open.h"

#include <stdio.h>

/* Each checkpoint, the newest first: that it is the state the journal has a digest of. */
static enum scn_error verify_checkpoints(struct scn_journal *journal, const struct scn_document_options *options,
        scn_revision base, struct scn_storage_fault *fault)
{
        scn_revision at = SCN_REVISION_MAX;
        enum scn_error error = SCN_OK;
        while (error == SCN_OK && at > 0) {
                struct scn_document *document = NULL;
                struct scn_storage_fault damaged = {.text = ""};
                error = scn_document_restore(journal, options, at, &document, &damaged, fault);
                if (error == SCN_OK && damaged.text[0] != '\0') {
                        *fault = damaged;
                        error = SCN_E_CORRUPT;
                }
                at = error == SCN_OK ? scn_document_revision(document) : 0;
                at = at > base ? at - 1 : 0;
                scn_document_destroy(document);
        }
        return error;
}

/* The state with which what is kept of the history begins. */
static enum scn_error make_base(struct scn_journal *journal, const struct scn_document_options *options,
        scn_revision base, struct scn_document **document_out, struct scn_storage_fault *fault)
{
        struct scn_storage_fault damaged = {.text = ""};
        return base == 0 ? scn_document_born(journal, options, document_out)
                         : scn_document_restore(journal, options, base, document_out, &damaged, fault);
}

static enum scn_error replay_all(struct scn_journal *journal, const struct scn_document_options *options,
        struct scn_verified *verified, struct scn_storage_fault *fault)
{
        struct scn_journal_state state;
        struct scn_document *document = NULL;
        enum scn_error error = scn_journal_state(journal, &state, fault);
        if (error == SCN_OK) {
                error = make_base(journal, options, state.base, &document, fault);
        }
        if (error == SCN_OK) {
                error = scn_replay(journal, document, 0, fault);
        }
        if (error == SCN_OK) {
                verified->base = state.base;
                verified->revision = scn_document_revision(document);
                verified->digests = scn_document_digests(document);
                error = verify_checkpoints(journal, options, state.base, fault);
        }
        scn_document_destroy(document);
        return error;
}

/* A tag that nobody could have set could be neither found nor removed. */
static enum scn_error verify_tags(struct scn_journal *journal, struct scn_storage_fault *fault)
{
        struct scn_journal_tags tags;
        enum scn_error error = scn_journal_list_tags(journal, &tags, fault);
        for (size_t i = 0; error == SCN_OK && i < tags.count; i++) {
                const struct scn_journal_tag *tag = &tags.entries[i];
                const bool is_name = scn_at_may_be_tag(tag->name);
                if (!is_name || tag->author.size > SCN_AUTHOR_BYTES_MAX) {
                        fault->revision = tag->revision;
                        (void)snprintf(fault->text, sizeof fault->text, "tags, row %.*s: %s", (int)tag->name.size,
                                (const char *)tag->name.data,
                                is_name ? "the author is too long" : "a tag cannot have this name");
                        error = SCN_E_CORRUPT;
                }
        }
        scn_journal_tags_finish(&tags);
        return error;
}

enum scn_error scn_document_verify(struct scn_journal *journal, const struct scn_document_options *options,
        struct scn_verified *verified_out, struct scn_storage_fault *fault)
{
        enum scn_error error = scn_journal_verify(journal, fault);
        if (error == SCN_OK) {
                error = verify_tags(journal, fault);
        }
        for (int i = 0; error == SCN_OK; i++) {
                error = replay_all(journal, options, verified_out, fault);
                if (error != SCN_E_FOLDED || i + 1 == SCN_FOLDED_TRIES) {
                        return error;
                }
                error = SCN_OK;
        }
        return error;
}
