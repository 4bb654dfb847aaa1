/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_FOLD_H
#define SCN_SERVER_FOLD_H

/* Folding: finished gestures of old history become one transaction each (DESIGN §6, Files; FORMAT.md, Folds). A
 * window at a time: planned from its records, done again on a document of the folder's own, and written only if that
 * ends with the digest that was recorded live. On any thread, from a journal handle of its own, while others edit.
 *
 * A folder keeps the document from window to window, so that each costs no more than itself and those before it that
 * could not be folded. */

#include "protocol/scene/document.h"
#include "storage/storage.h"

/* A window with more payload, in bytes, stays as it is: its weight is not in gestures. */
#define SCN_FOLD_WINDOW_BYTES_MAX ((size_t)64 << 20)

struct scn_folder;

/* NULL: memory is out. */
struct scn_folder *scn_folder_create(const struct scn_document_options *options);
/* Takes NULL. */
void scn_folder_destroy(struct scn_folder *folder);

/* What a step has done. */
struct scn_folded {
        scn_revision last;     /* of the window it has judged; 0: none is left */
        uint32_t transactions; /* that went */
        bool is_refuted;       /* what was planned would not have led to the same state: the window stays as it is */
};

/* Judges the next window that ends at or below `to`, which must not be above the newest checkpoint. `journal`: always
 * of the same document, opened for writing. Errors: those of storage.h; the window is then as it was, and the next step
 * takes it up again. */
SCN_NODISCARD enum scn_error scn_folder_step(struct scn_folder *folder, struct scn_journal *journal, scn_revision to,
        struct scn_folded *folded_out, struct scn_storage_fault *fault);

/* Up to where history may be folded whose transactions are older than a time: 0 = none. */
SCN_NODISCARD enum scn_error scn_fold_limit(
        struct scn_journal *journal, int64_t before_us, scn_revision *to_out, struct scn_storage_fault *fault);

#endif
