/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_RESTORE_PLAN_H
#define SCN_SERVER_RESTORE_PLAN_H

/* The ops that lead from a document as it is to what it was. Only what has changed since is looked at: a subtree of
 * which nothing has is passed over as a whole. */

#include "protocol/scene/document.h"
#include "protocol/wire/ops.h"

struct scn_restore_plan {
        const struct scn_document *past;
        const struct scn_document *present;
        struct scn_uid top; /* only this subtree, of the past; its own place stays if it is there now. The root: all */
};

/* Appends the ops; they borrow from `past`. Parents come before children, siblings from left to right; at last goes
 * what the subtree has and had not. SCN_E_NO_MEMORY. */
SCN_NODISCARD enum scn_error scn_restore_plan(const struct scn_restore_plan *plan, struct scn_ops *ops);

/* Of one node of the past: an add, if it is not there now, else what its fields need. */
SCN_NODISCARD enum scn_error scn_restore_plan_node(
        const struct scn_restore_plan *plan, scn_node_id id, struct scn_ops *ops);

#endif
