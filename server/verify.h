/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_VERIFY_H
#define SCN_SERVER_VERIFY_H

/* Whether a document's file holds what it says: everything is read, every transaction done again from the first one
 * on, every digest and every checkpoint compared. On any thread, from the file alone. */

#include "protocol/scene/document.h"
#include "storage/storage.h"

/* What the file ends with. */
struct scn_verified {
        scn_revision base; /* the first state that is kept; 0: all of it is */
        scn_revision revision;
        struct scn_digests digests;
};

/* SCN_E_CORRUPT and SCN_E_BAD_SNAPSHOT: the fault names the first revision or checkpoint that is wrong; those of
 * storage.h. uid and root_uid of the options are not read. */
SCN_NODISCARD enum scn_error scn_document_verify(struct scn_journal *journal,
        const struct scn_document_options *options, struct scn_verified *verified_out, struct scn_storage_fault *fault);

#endif
