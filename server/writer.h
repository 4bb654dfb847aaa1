/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_WRITER_H
#define SCN_SERVER_WRITER_H

/* Who wrote a field: from its stamp to the head of a transaction of the journal, also where history has been folded.
 * For workers: blame, and the skips of an undo. */

#include "protocol/scene/document.h"
#include "storage/storage.h"

/* A search, which remembers what was asked last: fields of one transaction stand together often. Init with {0}. */
struct scn_writer_search {
        struct scn_journal_page *page; /* owned; NULL: nothing has been asked for yet, or it was not found */
        uint32_t at;                   /* in the page, what was found; beyond: nothing */
        scn_revision revision;         /* that was asked for last; 0: none */
};

void scn_writer_finish(struct scn_writer_search *search);
/* The transaction of the stamp, without records; one that was folded is found in that of the same step and client that
 * it went up in. NULL: nobody's (revision 0), or the journal does not have it: from before what is kept, or not
 * stored yet. Borrowed until the next call. */
SCN_NODISCARD enum scn_error scn_writer_find(struct scn_writer_search *search, struct scn_journal *journal,
        struct scn_stamp_view stamp, const struct scn_journal_transaction **transaction_out,
        struct scn_storage_fault *fault);

#endif
