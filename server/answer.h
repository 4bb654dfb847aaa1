/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_ANSWER_H
#define SCN_SERVER_ANSWER_H

/* Answers to edits: `applied` and `refused` (PROTOCOL.md). */

#include "server/core.h"

/* Appends the payload of `applied`. Results: an array of maps, one for each op of which there is something to tell:
 *   0 op, 1 id, 2 uid, 3 flags (enum scn_change_flag), 4 t, 5 r, 6 s (what was stored instead), 7 residual
 * Where they would not fit, nodes that the client gave a uid and of which there is no more to tell are left out.
 * SCN_E_TOO_LARGE if they do not fit even so; the payload is then as before. */
SCN_NODISCARD enum scn_error scn_answer_encode_applied(
        uint64_t number, const struct scn_changes *changes, const struct scn_edit *edit, struct scn_buffer *payload);
/* The same for an undo or redo: what was done is in `summary`, a msgpack map. */
SCN_NODISCARD enum scn_error scn_answer_encode_taken_back(uint64_t number, scn_revision revision, bool is_unchanged,
        struct scn_slice summary, struct scn_buffer *payload);
/* "place", "name" ...; also a refusal's. */
const char *scn_answer_field_word(enum scn_field field);
/* A frame with `refused`; refusal may be NULL, and text: then it is the error list's. NULL: out of memory. */
struct scn_shared_bytes *scn_answer_encode_refused(
        uint64_t number, enum scn_error error, const struct scn_refusal *refusal, const char *text);
/* A frame around a payload. NULL: out of memory. */
struct scn_shared_bytes *scn_answer_frame(struct scn_slice payload);
void scn_answer_refused(struct scn_session *session, uint64_t number, enum scn_error error, const char *text);
/* Sends a payload that was stored with its transaction. */
void scn_answer_stored(struct scn_session *session, struct scn_slice payload);

#endif
