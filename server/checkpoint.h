/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_CHECKPOINT_H
#define SCN_SERVER_CHECKPOINT_H

/* How a checkpoint is spelled: the rows of a snapshot (protocol/scene/snapshot.h) as bytes, cut into parts as the
 * storage takes them. storage/FORMAT.md, Checkpoints, has it byte by byte:
 *
 *   1 | row row row ...                  the version, then rows; a row may begin in one part and end in another
 *   row: kind | length | body            kind: enum scn_snapshot_row_kind, one byte; length: varint
 *
 * Writing trusts the document, reading trusts nothing: a damaged file is an error, never a crash. */

#include "protocol/scene/snapshot.h"

#define SCN_CHECKPOINT_VERSION 1u
/* The least of the journal that a checkpoint is due for: some 1,500 edits, which are replayed in a few milliseconds. */
#define SCN_CHECKPOINT_DUE_BYTES (UINT64_C(512) << 10)
/* Of a row's body: what has to be held until all of it has come. */
#define SCN_CHECKPOINT_ROW_BYTES_MAX (1u << 20)
/* Ids that one row of the feed holds. */
#define SCN_CHECKPOINT_FEED_IDS_MAX 4096u

/* Reads a document that does not change meanwhile. NULL: out of memory. */
struct scn_checkpoint_encoder;
struct scn_checkpoint_encoder *scn_checkpoint_encoder_create(const struct scn_document *document);
void scn_checkpoint_encoder_destroy(struct scn_checkpoint_encoder *encoder);
/* The next part, 1 to SCN_CHECKPOINT_PART_BYTES_MAX bytes, borrowed until the next call; data == NULL after the last.
 * SCN_E_NO_MEMORY; SCN_E_TOO_LARGE: a row exceeds SCN_CHECKPOINT_ROW_BYTES_MAX. */
SCN_NODISCARD enum scn_error scn_checkpoint_encoder_next(
        struct scn_checkpoint_encoder *encoder, struct scn_slice *part_out);

/* options.uid and root_uid are not read. SCN_E_NO_MEMORY. */
struct scn_checkpoint_decoder;
SCN_NODISCARD enum scn_error scn_checkpoint_decoder_create(
        const struct scn_document_options *options, struct scn_checkpoint_decoder **decoder_out);
void scn_checkpoint_decoder_destroy(struct scn_checkpoint_decoder *decoder);
/* Takes the bytes that follow, however they are cut. SCN_E_BAD_SNAPSHOT, limit errors, SCN_E_NO_MEMORY; the decoder
 * is then only good for destroying. */
SCN_NODISCARD enum scn_error scn_checkpoint_decoder_feed(
        struct scn_checkpoint_decoder *decoder, struct scn_slice bytes);
/* After the last bytes: the document, the caller's from now on. SCN_E_BAD_SNAPSHOT: there is more to come. */
SCN_NODISCARD enum scn_error scn_checkpoint_decoder_take(
        struct scn_checkpoint_decoder *decoder, struct scn_document **document_out);

#endif
