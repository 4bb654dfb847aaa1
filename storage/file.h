/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_STORAGE_FILE_H
#define SCN_STORAGE_FILE_H

/* What the storage does with files beside SQLite: making them private, moving them, making that durable.
 *
 * Nobody may open a document's file here while SQLite has it open in this process: closing the descriptor would
 * drop SQLite's POSIX locks. */

#include "storage/storage.h"

/* Makes an empty file, mode 0600 whatever the umask; errno EEXIST if there is something. 0, or -1 with errno. */
SCN_NODISCARD int scn_file_create_private(int directory_fd, const char *name);
/* Makes the directory, mode 0700 whatever the umask, unless it is there. 0, or -1 with errno. */
SCN_NODISCARD int scn_file_create_directory(int directory_fd, const char *name);
/* Gives the file another name, and never takes that of another file: errno EEXIST. 0, or -1 with errno. */
SCN_NODISCARD int scn_file_rename(int from_fd, const char *from, int to_fd, const char *to);
/* Removes the database and what SQLite puts beside it; what is not there is as good as removed. */
void scn_file_remove_database(int directory_fd, const char *name);

/* Locks the data directory: its file scened.lock, which says our process id, and the directory itself, for somebody
 * may remove the file. The descriptor of the lock file is the caller's; closing it (and directory_fd, which
 * nobody else may share) ends the lock. Errors: SCN_E_IN_USE with the holder's id. */
SCN_NODISCARD enum scn_error scn_file_lock(
        int directory_fd, const char *path, int *lock_fd_out, struct scn_storage_fault *fault);
/* Whether somebody has locked it so. Where that cannot be found out: yes. */
SCN_NODISCARD bool scn_file_is_locked(int directory_fd);

#endif
