/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_UNDO_H
#define SCN_SERVER_UNDO_H

/* Undo and redo (DESIGN §6). The steps' records are read from the journal by a worker and become ops with
 * conditions; these are then one edit of a turn like any other, the first of its batch, so that what was prepared is
 * what there is. Nobody but the session waits meanwhile. */

#include "server/author.h"
#include "server/core.h"

struct scn_undo;

enum scn_undo_state {
        SCN_UNDO_READY,   /* scn_session.undo can be taken */
        SCN_UNDO_WAITS,   /* a job is under way, or will be when a worker is free */
        SCN_UNDO_REFUSED, /* *error_out says why */
};

/* Prepares the undo or redo at the head of the inbox as far as it can be now; called again and again. */
enum scn_undo_state scn_undo_prepare(
        struct scn_session *session, const struct scn_message *message, enum scn_error *error_out);
/* What it would do, once it is ready. */
const struct scn_ops *scn_undo_ops(const struct scn_undo *undo);
/* NULL is allowed. */
void scn_undo_destroy(struct scn_undo *undo);

/* What was done, or would have been. */
struct scn_undo_result {
        struct scn_changes *changes;  /* NULL: nothing; not for a dry run, which is taken back */
        const struct scn_edit *edit;  /* borrowed from the undo */
        const scn_revision *op_steps; /* the step that each op is about */
        const scn_revision *steps;    /* those that were taken or brought back, in order */
        size_t steps_count;
        enum scn_cause cause;
        struct scn_author *author;
        struct scn_slice summary; /* msgpack, borrowed from the undo */
        bool is_dry;
};

/* Applies what was prepared. SCN_E_BUSY: first it has to be found out who was in the way; prepare again. On other
 * errors nothing has changed and *refusal_out says why. */
SCN_NODISCARD enum scn_error scn_undo_apply(
        struct scn_session *session, struct scn_undo_result *result_out, struct scn_refusal *refusal_out);
/* The steps that a stored answer to an undo or redo names (scn_steps_of_fn). */
size_t scn_undo_steps_of(struct scn_slice answer, scn_revision *steps, size_t steps_max);

#endif
