/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/verify.h"

#include "server/room_open.h"

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

enum scn_error scn_document_verify(struct scn_journal *journal, const struct scn_document_options *options,
        struct scn_verified *verified_out, struct scn_storage_fault *fault)
{
        enum scn_error error = scn_journal_verify(journal, fault);
        for (int i = 0; error == SCN_OK; i++) {
                error = replay_all(journal, options, verified_out, fault);
                if (error != SCN_E_FOLDED || i + 1 == SCN_FOLDED_TRIES) {
                        return error;
                }
                error = SCN_OK;
        }
        return error;
}
