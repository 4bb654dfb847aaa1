/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_RESTORE_H
#define SCN_SERVER_RESTORE_H

/* Restoring a revision: a new transaction that leads back to what was (DESIGN §6). A worker makes the document as it
 * was and as it is, and from the two the ops; these are then one edit of a turn, if the document is still the one they
 * were made for. If others keep editing, they wait the third time. */

#include "server/core.h"

struct scn_restore;

enum scn_restore_state {
        SCN_RESTORE_READY,   /* scn_session.restore can be taken */
        SCN_RESTORE_WAITS,   /* a job is under way, or will be when a worker is free */
        SCN_RESTORE_REFUSED, /* *error_out says why */
};

/* Prepares the restore at the head of the inbox as far as it can be now; called again and again, by a turn. Where it is
 * refused *text_out says why for people, and lives as long as `said`. */
enum scn_restore_state scn_restore_prepare(struct scn_session *session, const struct scn_message_restore *message,
        struct scn_said *said, const char **text_out, enum scn_error *error_out);
/* What it would do, once it is ready. */
const struct scn_ops *scn_restore_ops(const struct scn_restore *restore);
/* NULL is allowed. */
void scn_restore_destroy(struct scn_restore *restore);

/* Applies what was prepared, which must be for the document as it is now. *summary_out: msgpack, borrowed from the
 * restore. On error nothing has changed and *refusal_out says why. */
SCN_NODISCARD enum scn_error scn_restore_apply(struct scn_session *session, struct scn_changes **changes_out,
        struct scn_edit *edit_out, struct scn_slice *summary_out, struct scn_refusal *refusal_out);

#endif
