/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_HISTORY_H
#define SCN_SERVER_HISTORY_H

/* Questions about the past: each on a worker, with a document of its own made from the file alone (DESIGN §4, §6). */

#include "server/core.h"

/* Submits the message at the head of the session's inbox: world, tree or digest with `at`, log, replay, verify. The
 * session goes on meanwhile; the answer comes when it is there. False: all workers for this are busy; wait. */
bool scn_history_ask(struct scn_session *session, const struct scn_message *message);

#endif
