/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_STEPS_H
#define SCN_TESTS_LIB_STEPS_H

/* Steps of authors, taken back and brought back through the server's core. */

#include "tests/lib/hub.h"

/* Ann and Ben in one document: node 2 is Ann's, with the uid 20 and the name N, node 3 Ben's, 30 and M. */
void steps_begin(struct hub *hub, struct peer *ann, struct peer *ben);
void steps_end(struct hub *hub, struct peer *ann, struct peer *ben);
struct scn_document *steps_document(struct hub *hub);
/* Where a node is, by x. */
float steps_x(struct hub *hub, const char *path);
/* 0: there is none. */
scn_node_id steps_id(struct hub *hub, uint32_t uid);

/* Sends an edit of a gesture; the second expects that it is applied. */
void steps_send(struct peer *peer, uint64_t group, struct scn_op op);
scn_revision steps_edit_in(struct peer *peer, uint64_t group, struct scn_op op);
/* An answer's summary as text: "steps 4 2 applied 1 skipped name:superseded:ben@3". */
const char *steps_summary(const struct scn_message *message);
void steps_expect(struct peer *peer, const char *summary);
/* Undo and redo, which must be answered with this summary. */
void steps_undo(struct peer *peer, struct peer_wish wish, const char *summary);
void steps_redo(struct peer *peer, uint64_t count, const char *summary);
/* There is nothing to undo. */
void steps_expect_nothing(struct peer *peer);

#endif
