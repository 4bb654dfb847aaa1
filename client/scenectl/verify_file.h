/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_SCENECTL_VERIFY_FILE_H
#define SCN_CLIENT_SCENECTL_VERIFY_FILE_H

/* Verifying a document's file where it lies, without a daemon: everything in it is read and done again. */

#include "client/scenectl/ctl.h"

/* What a file ends with. */
struct scn_file_state {
        struct scn_uid uid; /* the document's */
        scn_revision revision;
        uint64_t epoch;
        uint8_t digest[16];
};

/* Whether an argument means a file, not a document. */
bool scn_ctl_is_file(const char *text);
/* On failure *failure_out says what is wrong, and where. */
bool scn_ctl_check_file(const char *path, struct scn_file_state *state_out, struct scn_failure *failure_out);
/* The same without verifying and without the digest; false: there is no such file, or it is no document. */
bool scn_ctl_look_into_file(const char *path, struct scn_file_state *state_out);
/* The path of a document's file in a folder; false: it is too long, or the name is none. */
bool scn_ctl_path_in(const char *folder, struct scn_slice name, char *path_out, size_t size);
/* Whether SQLite would read another file beside this one along with it: what a process that died has left, or what one
 * that runs has not moved yet. */
bool scn_ctl_has_file_beside(const char *path);
/* Whether the folder of this path, which need not be there, belongs to a running daemon; then that is printed, and
 * ctl->code is set. */
bool scn_ctl_is_live(struct scn_ctl *ctl, const char *path);
/* A copy of a document's file with all that stands beside it: a descriptor for reading a file that has no name. -1:
 * *failure_out says what went wrong. */
int scn_ctl_copy_file(const char *path, struct scn_failure *failure_out);
/* Puts the path before what is said of a file. */
void scn_ctl_name_file(struct scn_failure *failure, const char *path);
/* The command for one file: prints, and sets ctl->code. */
void scn_ctl_verify_file(struct scn_ctl *ctl, const char *path);

#endif
