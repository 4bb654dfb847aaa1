/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_ADOPT_H
#define SCN_SERVER_ADOPT_H

/* adopt: a document's file comes in parts and becomes a document here. It is received beside the documents, verified by
 * doing all of it again, and only then given its name; until then there is nothing of it, and nothing stays of it if
 * the connection ends. If it is to take a document's place, the sessions of that one are ended first. */

#include "server/core.h"

/* Takes a part. While a worker is about it, the session is asking. */
void scn_adopt_take(struct scn_session *session, const struct scn_message_adopt *message);
/* A part cannot be read, which is answered elsewhere: its file fails. `request`: SCN_ABSENT if not known. */
void scn_adopt_note_unread(struct scn_session *session, uint64_t request);
/* The session goes. */
void scn_adopt_forget(struct scn_session *session);
/* Goes on with files that waited for a worker, or for a document to be closed. */
void scn_adopt_turn(struct scn_server *server);
/* About every second: tells those who wait that it takes time, and gives up what nothing more comes of. */
void scn_adopt_tick(struct scn_server *server);
/* Whether a document is about to be replaced: nobody may open it now. */
bool scn_adopt_is_replacing(const struct scn_server *server, struct scn_slice name);

#endif
