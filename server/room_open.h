/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_ROOM_OPEN_H
#define SCN_SERVER_ROOM_OPEN_H

/* Making a document out of its file: for opening a room, for documents of the past, for verification. Runs on worker
 * threads and touches only what it is given. */

#include "protocol/scene/document.h"
#include "protocol/wire/ops.h"
#include "server/limits.h"
#include "storage/storage.h"

struct scn_open_wish {
        struct scn_storage *storage;
        struct scn_slice name;
        bool create;
        struct scn_uid birth_uid; /* if it is created */
        struct scn_uid birth_root;
        uint64_t epoch; /* random, not 0 */
        int64_t now_us;
        struct scn_document_options options;
};

/* Epochs of a document that are known while it is open: who comes back after more openings gets a snapshot. */
#define SCN_EPOCHS_MAX SCN_SERVER_epochs_max

struct scn_opened_document {
        struct scn_journal *journal;
        struct scn_document *document;
        struct scn_journal_epoch *epochs; /* the newest, newest first */
        uint32_t epochs_count;
        struct scn_journal_state state;   /* before the epoch began */
        struct scn_storage_fault damaged; /* a checkpoint that could not be used; no text: there was none */
        bool has_epoch;                   /* false: the disk was full; no edit may be taken until it has begun */
        bool is_still;                    /* so full that the journal can only be read: scn_journal_open_still() */
        struct scn_storage_fault full;    /* then */
};

/* Opens the file for writing, makes the document of its newest checkpoint and the transactions behind it, and begins
 * the epoch. Each transaction must lead to the digest recorded with it. Errors: those of storage.h; SCN_E_CORRUPT,
 * naming the revision. Nothing is open then. */
SCN_NODISCARD enum scn_error scn_open_document(
        const struct scn_open_wish *wish, struct scn_opened_document *opened, struct scn_storage_fault *fault);

/* What the birth notes: the root's uid, and of a fork the uid and revision of the document it was made of. */
struct scn_origin {
        struct scn_uid root;
        struct scn_uid source; /* none: it is no fork */
        scn_revision revision;
};

#define SCN_ORIGIN_BYTES_MAX 40u

/* Returns how many bytes of the buffer it has written. */
uint32_t scn_origin_encode(const struct scn_origin *origin, uint8_t bytes[SCN_ORIGIN_BYTES_MAX]);
/* SCN_E_CORRUPT: it is no such note. */
SCN_NODISCARD enum scn_error scn_origin_decode(struct scn_slice bytes, struct scn_origin *origin_out);

/* The document at revision 0; its uid and its root's are what the birth noted. SCN_E_CORRUPT, SCN_E_NO_MEMORY. */
SCN_NODISCARD enum scn_error scn_document_born(
        struct scn_journal *journal, const struct scn_document_options *wanted, struct scn_document **document_out);

/* The document of the newest checkpoint at or below a revision, proven by its own digest and the journal's, or, if
 * there is none and the history begins there, the one at revision 0. A checkpoint that is damaged is passed over, and
 * said in `damaged`, for older ones or the journal alone tell the same. Errors: those of storage.h but for that. */
SCN_NODISCARD enum scn_error scn_document_restore(struct scn_journal *journal,
        const struct scn_document_options *wanted, scn_revision at_most, struct scn_document **document_out,
        struct scn_storage_fault *damaged, struct scn_storage_fault *fault);

/* The document as it was at a revision, which the journal must have: SCN_E_FUTURE, SCN_E_FOLDED and
 * SCN_E_BEFORE_RETENTION say that it has not. Else as scn_document_restore(). */
SCN_NODISCARD enum scn_error scn_document_at(struct scn_journal *journal, const struct scn_document_options *wanted,
        scn_revision revision, struct scn_document **document_out, struct scn_storage_fault *damaged,
        struct scn_storage_fault *fault);

/* Does one transaction again and checks nothing: the changes are the caller's. */
SCN_NODISCARD enum scn_error scn_redo_transaction(struct scn_document *document,
        const struct scn_journal_transaction *transaction, struct scn_ops *ops, struct scn_changes **changes_out,
        struct scn_storage_fault *fault);
/* Whether this is what the journal has as its digest: the four sums, each low then high, little-endian. */
bool scn_document_has_digest(const struct scn_document *document, struct scn_slice stored);
/* Does one transaction again and checks revision and digest. `ops` is scratch memory, reused. */
SCN_NODISCARD enum scn_error scn_replay_transaction(struct scn_document *document,
        const struct scn_journal_transaction *transaction, struct scn_ops *ops, struct scn_storage_fault *fault);
/* All that follow the document's revision, up to `to` (0: the last there is). SCN_E_FOLDED: the history was folded
 * while it was read; from the beginning it can be read again. */
#define SCN_FOLDED_TRIES 4
SCN_NODISCARD enum scn_error scn_replay(
        struct scn_journal *journal, struct scn_document *document, scn_revision to, struct scn_storage_fault *fault);

#endif
