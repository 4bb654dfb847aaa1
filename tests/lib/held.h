/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_HELD_H
#define SCN_TESTS_LIB_HELD_H

/* What a peer of tests/lib/hub.h holds of a view: a replica, and the deltas that bring it up to date. */

#include "protocol/scene/document.h"
#include "tests/lib/hub.h"

struct held {
        struct scn_document *replica;
};

void hold(struct held *held);
void let_go(struct held *held);
/* Applies one delta, of however many parts, if there is one; other messages before it are passed over. */
bool take_delta(struct peer *peer, struct held *held);
void take_deltas(struct peer *peer, struct held *held);
/* Asks the server for the document's digest. */
struct scn_digest ask_digest(struct peer *peer);
bool has_digest(const struct scn_document *replica, struct scn_digest digest);

#endif
