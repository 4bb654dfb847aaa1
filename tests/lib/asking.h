/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_ASKING_H
#define SCN_TESTS_LIB_ASKING_H

/* Peers of a hub that ask about the past: what stands behind `at` is a text here, a revision if it is all digits. */

#include "tests/lib/hub.h"

#define ASKING_AT_BYTES 512

/* Spells `at`; the slice points into the bytes. NULL: absent. */
struct scn_slice asking_at(uint8_t bytes[ASKING_AT_BYTES], const char *at);
/* The digest of the document as it was. */
struct scn_digest asking_digest(struct peer *peer, const char *at);
/* The same question, to be answered by a failure. */
void asking_expect_failure(struct peer *peer, const char *at, const char *code);
/* Hands in one op, which must be applied; returns the revision. */
scn_revision asking_edit(struct peer *peer, struct scn_op op);
/* Sets a tag and returns the revision it names; rev SCN_ABSENT: the durable one. */
scn_revision asking_tag(struct peer *peer, const char *name, uint64_t rev);
/* A number in a map with text keys; asserts that it is there. */
uint64_t asking_member(struct scn_slice map, const char *key);
/* Whether a map has this text under this key. */
bool asking_has_text(struct scn_slice map, const char *key, const char *text);
/* Whether a map has this key. */
bool asking_has(struct scn_slice map, const char *key);

#endif
