/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_UNDO_RECORDS_H
#define SCN_SERVER_UNDO_RECORDS_H

/* The records of steps, read from the journal, as ops that take them back or bring them back (DESIGN §6). All of it on
 * a worker. */

#include "protocol/wire/ops.h"
#include "server/author.h"

/* A step to take back or bring back. */
struct scn_undo_wanted {
        struct scn_step step;
        scn_revision by; /* to bring it back: the transaction that took it back */
        size_t ops_end;  /* filled in: where its ops end */
};

/* Zeroed to start with; `wanted` and what is asked for are filled in by the caller. */
struct scn_undo_records {
        struct scn_undo_wanted *wanted; /* owned */
        size_t wanted_count;
        bool is_redo;
        bool is_forced;
        struct scn_ops ops; /* they borrow from the pages */
        struct scn_journal_page **pages;
        size_t pages_count, pages_capacity;
        uint64_t bytes;     /* of all pages */
        uint64_t bytes_max; /* of one request, for which as many of its steps are done as there is room for. What a redo
                             * did to the last of them comes in addition, one transaction at the most */
};

void scn_undo_records_finish(struct scn_undo_records *records);
/* Reads the steps wanted, of which as many as there is room for are left. SCN_E_TOO_LARGE, SCN_E_BEFORE_RETENTION: not
 * even the first can be done. SCN_E_BUSY, SCN_E_CORRUPT, SCN_E_NO_MEMORY, and what reading a journal returns. */
SCN_NODISCARD enum scn_error scn_undo_records_read(
        struct scn_undo_records *records, struct scn_journal *journal, struct scn_slice author);

#endif
