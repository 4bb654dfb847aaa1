/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_SCENECTL_PLAY_H
#define SCN_CLIENT_SCENECTL_PLAY_H

/* What a replay tells, done again as edits of another document: nodes keep their uids, but the root, which is the
 * other document's own. */

#include "client/scenectl/ctl.h"

struct scn_play;

/* `target`: "DOC" on the same server, or "ADDRESS/DOC"; made if it is not there, and not what is replayed. NULL: that
 * failed and was printed. */
struct scn_play *scn_play_open(struct scn_ctl *ctl, const char *target);
/* Hands in what one event tells, as one edit, and waits while too many are under way. */
void scn_play_event(struct scn_play *play, const struct scn_view *view, const struct scn_view_event *event);
/* Waits until all is answered. False: something was refused, and printed. Takes NULL, which is true. */
bool scn_play_close(struct scn_play *play);

#endif
