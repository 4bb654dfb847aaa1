/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_BLAME_H
#define SCN_SERVER_BLAME_H

/* Who set each field of a node: the live document's stamps say the revisions, the journal who made them. */

#include "protocol/scene/document.h"

struct scn_blame;

/* The stamps of a living node, with copies of its keys; removed keys are left out. NULL: out of memory. */
struct scn_blame *scn_blame_create(const struct scn_document *document, scn_node_id id);
/* NULL is allowed. */
void scn_blame_destroy(struct scn_blame *blame);

#endif
