/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_ATTEMPT_H
#define SCN_SERVER_ATTEMPT_H

/* An edit, undo, redo or restore that a turn has taken: first it is tried, which tells nobody anything and may be done
 * by a worker that the room is lent to; then, on the loop, what came of it is put into the batch. */

#include "server/batch.h"
#include "server/undo.h"

enum scn_attempt_kind {
        SCN_ATTEMPT_EDIT,
        SCN_ATTEMPT_UNDO, /* or redo */
        SCN_ATTEMPT_RESTORE,
};

enum scn_attempt_ops {
        SCN_ATTEMPT_UNREAD,
        SCN_ATTEMPT_READ, /* into the batch's ops */
        SCN_ATTEMPT_UNREADABLE,
};

struct scn_attempt {
        enum scn_attempt_kind kind;
        struct scn_batch *batch;
        struct scn_session *session;
        const struct scn_message *message; /* borrowed, like what it points to in the session's inbox */
        struct scn_taken taken;            /* number and hash are the caller's to say */
        enum scn_attempt_ops ops;          /* of an edit */
        struct scn_ops_fault fault;        /* where they could not be read; `error` says why */
        enum scn_error error;              /* why it is refused: the document is as before */
        struct scn_refusal refusal;
        enum scn_error untold;       /* it could be done, but not answered or noted: refused, too */
        struct scn_changes *changes; /* NULL: nothing changed */
        struct scn_slice answer;     /* the message, in the batch's buffer for one */
        struct scn_undo_result undone;
};

/* Reads an edit's ops, as many as that is. */
void scn_attempt_read(struct scn_attempt *attempt);
/* Whether to try it would keep the loop for long. Of an edit that has not been read its size counts. */
bool scn_attempt_is_long(const struct scn_attempt *attempt);
/* On the loop or on a worker. */
void scn_attempt_try(struct scn_attempt *attempt);
/* False: it has to wait, for more must be known first. Else it is in the batch, and the message at the head of the
 * inbox is done with. */
bool scn_attempt_tell(struct scn_attempt *attempt);

#endif
