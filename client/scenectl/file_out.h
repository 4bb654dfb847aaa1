/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_SCENECTL_FILE_OUT_H
#define SCN_CLIENT_SCENECTL_FILE_OUT_H

/* A file written so that nobody ever sees half of it: beside its target, under another name, and moved there once it
 * is whole and on the disk. Until then, and on any failure, a file of that name is as it was. The other is removed also
 * if a signal ends the program (leftover.h); so a scn_file_out stays where it is until it is ended.
 *
 * A target that is a link is followed. What exists and is not a regular file (a device, a folder, a pipe) is refused
 * rather than replaced. An old file's mode is kept.
 *
 * All calls return 0 or an errno. */

#include <stddef.h>
#include <stdint.h>

/* Linux takes no longer path, its zero included. */
#define SCN_FILE_OUT_PATH_BYTES 4096

struct scn_file_out {
        int fd;        /* -1: not open */
        unsigned mode; /* what the finished file gets */
        char target[SCN_FILE_OUT_PATH_BYTES];
        char temporary[SCN_FILE_OUT_PATH_BYTES];
};

/* A new file is for whom the user's mask leaves it. */
int scn_file_out_begin(struct scn_file_out *out, const char *path);
/* The same, but a link to a file, or to nothing, is replaced itself, and a new file is for its owner alone. */
int scn_file_out_begin_over_link(struct scn_file_out *out, const char *path);
int scn_file_out_write(struct scn_file_out *out, const void *bytes, size_t size);
/* Overwrites bytes already written, near the beginning. */
int scn_file_out_patch(struct scn_file_out *out, size_t offset, const void *bytes, size_t size);
/* Ends the file, either way. */
int scn_file_out_commit(struct scn_file_out *out);
/* Allowed after a commit, and then does nothing. */
void scn_file_out_abandon(struct scn_file_out *out);

#endif
