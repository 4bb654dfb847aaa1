/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_STORAGE_GUARD_H
#define SCN_STORAGE_GUARD_H

/* Finds out that another program has written to a document's file while we have it open: `cp old.scene doc.scene`
 * leaves the name and the inode as they were. SQLite does not look, and what it wrote from then on would be lost or
 * would make one file of two.
 *
 * In WAL mode only a checkpoint writes to the file itself, and all of ours are made between scn_guard_begin_move()
 * and scn_guard_end_move(); a size or a time of change that is not as these left it is somebody else's doing. Of the
 * write-ahead file we know how long it must be at least. What happens while a checkpoint is being made, a few
 * milliseconds at most, is not found.
 *
 * The handles of this process on one file share one guard; they may be in different threads. */

#include "storage/storage.h"

struct scn_guard;

/* Before the file is opened. SCN_E_STORAGE_BUSY: another program has written to it, and not all who had it open have
 * left it; SCN_E_NO_MEMORY. `path`, here and below, is what the caller knows it by. */
SCN_NODISCARD enum scn_error scn_guard_enter(const char *path, struct scn_guard **guard_out);
/* By whoever has closed the file. True: it was the last, and another program has written to the file; until it calls
 * scn_guard_forget(), which must follow, nobody else enters. */
SCN_NODISCARD bool scn_guard_leave(struct scn_guard *guard);
/* The guard may be NULL. After a few false alarms, where the document was as we left it in spite of all, times on that
 * file system are not relied on, and only sizes are. */
void scn_guard_forget(struct scn_guard *guard, bool is_false_alarm);

/* The end of the journal, as the file was opened or as it was written since; the highest revision counts. */
void scn_guard_note_end(struct scn_guard *guard, scn_revision revision, int64_t time_us);
/* Whether that is the last of all that was noted. */
SCN_NODISCARD bool scn_guard_is_end(struct scn_guard *guard, scn_revision revision, int64_t time_us);

/* Whether the files are as we left them; false once is false for ever. *moves_out is for scn_guard_note_wal(). */
SCN_NODISCARD bool scn_guard_check(struct scn_guard *guard, const char *path, uint64_t *moves_out);
/* After a commit: the write-ahead file has at least so many bytes, unless something was moved since the check. */
void scn_guard_note_wal(struct scn_guard *guard, uint64_t moves, uint64_t bytes);
/* Around all that writes to the file itself. False: another program has written to it, and nothing may be moved;
 * then no end follows. */
SCN_NODISCARD bool scn_guard_begin_move(struct scn_guard *guard, const char *path);
void scn_guard_end_move(struct scn_guard *guard, const char *path);

#endif
