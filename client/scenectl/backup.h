/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_SCENECTL_BACKUP_H
#define SCN_CLIENT_SCENECTL_BACKUP_H

/* A document's file, streamed here, verified, and only then given its name. */

#include "client/scenectl/ctl.h"

/* What was copied, for the line that says so. */
struct scn_ctl_copy {
        uint64_t bytes;
        bool is_verified; /* not what went to standard output */
        scn_revision revision;
};

/* Copies a document to a file, replacing one that is there; "-": standard output. False: that failed, was said, and is
 * in ctl->code; a file of that name is as it was. */
bool scn_ctl_copy_document(struct scn_ctl *ctl, const char *document, const char *path, struct scn_ctl_copy *copy_out);
/* Copies all documents into a folder, which is made if it is not there; returns ctl->code. */
int scn_ctl_back_up_all(struct scn_ctl *ctl, const char *folder);
#endif
