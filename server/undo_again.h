/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_UNDO_AGAIN_H
#define SCN_SERVER_UNDO_AGAIN_H

/* A step that was brought back has been done twice, and what it found the second time is what an undo restores. So
 * where the redo has a record of a field, that counts instead of the step's own; of removals the redo's alone count,
 * for what it found gone it has not removed. Where the redo has none, because it or the undo before it had to leave the
 * field to others, the step's own does: they may have given it back since. Nodes that the step added go under the
 * conditions of its own record. */

#include "server/record.h"

struct scn_undo_again;

/* Prepares to take back a step of which `records` of a redo are, in their order; borrowed until the end. `how` is for
 * these, and borrowed as well. SCN_E_NO_MEMORY, SCN_E_CORRUPT. */
SCN_NODISCARD enum scn_error scn_undo_again_create(const struct scn_journal_record *records, uint32_t count,
        const struct scn_record_undo *how, struct scn_undo_again **again_out);
/* NULL is allowed. */
void scn_undo_again_destroy(struct scn_undo_again *again);
/* Appends the ops for one of the step's own records, to be called for all, the newest first. SCN_E_NO_MEMORY,
 * SCN_E_CORRUPT. */
SCN_NODISCARD enum scn_error scn_undo_again_take_back(struct scn_undo_again *again,
        const struct scn_journal_record *record, const struct scn_record_undo *how, struct scn_ops *ops);
/* Those of the redo's that have no counterpart: a gesture that was folded has one record where the redo has many. */
SCN_NODISCARD enum scn_error scn_undo_again_take_rest(struct scn_undo_again *again, struct scn_ops *ops);

#endif
