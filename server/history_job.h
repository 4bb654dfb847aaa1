/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_HISTORY_JOB_H
#define SCN_SERVER_HISTORY_JOB_H

/* What the parts of history.h share: a question about the past, while a worker answers it. */

#include "server/answers.h"
#include "server/blame.h"
#include "server/core.h"
#include "server/memory.h"

struct scn_history_job {
        struct scn_job job;
        struct scn_server *server;
        uint64_t session;
        struct scn_slice name; /* owned, like payload */
        struct scn_slice payload;
        struct scn_uid node;     /* log, replay: resolved by the loop; none: all */
        struct scn_blame *blame; /* owned; NULL: another question */
        struct scn_document_options options;
        struct scn_past_loan loan; /* world, tree, digest */
        struct scn_answers answers;
        struct scn_storage_fault fault;
        /* log, replay: of what the message says of revisions that which the error is about; of the payload. No data:
         * nothing of it, or it names itself. */
        struct scn_slice blamed;
        struct scn_storage_fault damaged; /* a checkpoint that could not be used; no text: there was none */
};

/* The document as it was; NULL where that fails. */
SCN_NODISCARD enum scn_error scn_history_restore(struct scn_history_job *job, struct scn_journal *journal,
        scn_revision revision, struct scn_document **document_out);
/* A member of a map: its name, and a number. */
void scn_history_pack(struct scn_packer *packer, const char *name, uint64_t value);
/* The word for a transaction's cause. */
const char *scn_history_cause(uint32_t cause);

/* Each answers its message into job->answers. */
void scn_history_log(struct scn_history_job *job, struct scn_journal *journal, const struct scn_message_log *log);
void scn_history_tags(struct scn_history_job *job, struct scn_journal *journal);
void scn_history_blame(struct scn_history_job *job, struct scn_journal *journal);
void scn_history_replay(
        struct scn_history_job *job, struct scn_journal *journal, const struct scn_message_replay *replay);

#endif
