/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_SCENECTL_VERIFY_FILE_H
#define SCN_CLIENT_SCENECTL_VERIFY_FILE_H

/* Verifying a document's file where it lies, without a daemon: everything in it is read and done again. */

#include "client/scenectl/ctl.h"

/* What a file ends with. */
struct scn_file_state {
        scn_revision revision;
        uint64_t epoch;
        uint8_t digest[16];
};

/* Whether an argument means a file, not a document. */
bool scn_ctl_is_file(const char *text);
/* On failure *failure_out says what is wrong, and where. */
bool scn_ctl_check_file(const char *path, struct scn_file_state *state_out, struct scn_failure *failure_out);
/* The command for one file: prints, and sets ctl->code. */
void scn_ctl_verify_file(struct scn_ctl *ctl, const char *path);

#endif
