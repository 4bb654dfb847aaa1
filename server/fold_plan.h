/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_FOLD_PLAN_H
#define SCN_SERVER_FOLD_PLAN_H

/* Which transactions of a window of history can be joined (DESIGN §6, Files). A gesture, that is the edits of one
 * step by one client, becomes one transaction at its last revision in the window, with what each field was before and
 * is after; but only if it does nothing except setting fields, and nobody else writes, adds, removes or moves in its
 * time what it writes: then an undo finds what it would have found, and so does a redo, which brings a field back
 * whole or not at all (server/undo_chains.h). Judges by the records alone. */

#include "storage/storage.h"

struct scn_fold_plan;

/* What becomes of a transaction. */
struct scn_fold_part {
        const struct scn_journal_transaction *transaction; /* borrowed */
        uint32_t into; /* the index of the one that it goes up in; its own: it stays */
        /* It stays, with these in the place of its records; NULL: with its own. */
        const struct scn_journal_record *records;
        uint32_t records_count;
};

/* The transactions, in order, are borrowed as long as the plan lives. SCN_E_CORRUPT: *at_out is the index of one with
 * a record that cannot be read. */
SCN_NODISCARD enum scn_error scn_fold_plan_create(const struct scn_journal_transaction *const *transactions,
        uint32_t count, struct scn_fold_plan **plan_out, uint32_t *at_out);
void scn_fold_plan_destroy(struct scn_fold_plan *plan);

const struct scn_fold_part *scn_fold_plan_parts(const struct scn_fold_plan *plan);
/* How many transactions go. */
uint32_t scn_fold_plan_saved(const struct scn_fold_plan *plan);

#endif
