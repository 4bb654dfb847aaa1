/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/verify.h"

#include "server/room_open.h"

/* Each checkpoint, the newest first: that it is the state the journal has a digest of. */
static enum scn_error verify_checkpoints(
        struct scn_journal *journal, const struct scn_document_options *options, struct scn_storage_fault *fault)
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
                at = at > 0 ? at - 1 : 0;
                scn_document_destroy(document);
        }
        return error;
}

enum scn_error scn_document_verify(struct scn_journal *journal, const struct scn_document_options *options,
        struct scn_verified *verified_out, struct scn_storage_fault *fault)
{
        struct scn_document *document = NULL;
        enum scn_error error = scn_journal_verify(journal, fault);
        if (error == SCN_OK) {
                error = scn_document_born(journal, options, &document);
        }
        if (error == SCN_OK) {
                error = scn_replay(journal, document, 0, fault);
        }
        if (error == SCN_OK) {
                verified_out->revision = scn_document_revision(document);
                verified_out->digests = scn_document_digests(document);
                error = verify_checkpoints(journal, options, fault);
        }
        scn_document_destroy(document);
        return error;
}
