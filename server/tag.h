/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_TAG_H
#define SCN_SERVER_TAG_H

/* Setting and removing tags: names for revisions. They stand beside the journal, so it happens on a worker with a
 * handle of its own, and edits go on meanwhile. */

#include "server/core.h"

/* True: it is under way or answered, and what the session asks for next waits; false: it must wait itself. */
bool scn_tag_ask(struct scn_session *session, const struct scn_message_tag *message);

#endif
