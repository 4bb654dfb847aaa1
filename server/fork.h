/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_FORK_H
#define SCN_SERVER_FORK_H

/* A new document with what another was at a revision: the same uids, no undo, and a note of where it came from. Made
 * on a worker as a draft, which gets its name when it is whole and has the source's digest. */

#include "server/core.h"

/* True: it is under way or answered, and what the session asks for next waits; false: it must wait itself. */
bool scn_fork_ask(struct scn_session *session, const struct scn_message_fork *message);

#endif
