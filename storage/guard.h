/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_STORAGE_GUARD_H
#define SCN_STORAGE_GUARD_H

/* Finds out that another program has written to a document's file while we have it open: `cp old.scene doc.scene`
 * leaves the name and the inode as they were. SQLite does not look, and what it wrote from then on would be lost or
 * would make one file of two.
 *
 * In WAL mode only a checkpoint writes to the file itself. All of ours are made between scn_guard_begin_move() and
 * scn_guard_end_move(), and so are a writer's opening and everybody's closing, which may make one; a size or a time of
 * change that is not as these left it is somebody else's doing. Of the write-ahead file we know how long it must be at
 * least. What happens during a move is not found.
 *
 * The handles of this process on one file share one guard; they may be in different threads. */

#include "storage/storage.h"

struct scn_guard;

/* A file as it is at a moment. */
struct scn_guard_file {
        uint64_t device;
        uint64_t inode; /* 0: it is not there, or nobody knows */
        uint64_t bytes;
        int64_t changed_s; /* UTC, with the next */
        int64_t changed_ns;
        bool is_unknown; /* it could not be looked at now */
};

/* What is expected, before the files are seen. */
struct scn_guard_look {
        uint64_t moves;
        uint64_t wal_inode; /* 0: nothing is known of the write-ahead file */
        uint64_t wal_bytes;
};

void scn_guard_see(const char *path, struct scn_guard_file *file_out);
/* The write-ahead file, without its times. Who asks for the time of a file makes the next write to it set a new one
 * (multigrain timestamps, Linux 6.13), which ext4 without a journal then writes with each fdatasync: before every
 * commit that cost 0.1 ms of 0.3. */
void scn_guard_see_wal(const char *path, struct scn_guard_file *file_out);
bool scn_guard_is_same(const struct scn_guard_file *a, const struct scn_guard_file *b);

/* Before the file is opened. SCN_E_STORAGE_BUSY: another program has written to it, or has put another file in its
 * place, and not all who had it open have left it, or it is not settled; SCN_E_NO_MEMORY. `path`, here and below, is
 * what the caller knows it by. */
SCN_NODISCARD enum scn_error scn_guard_enter(const char *path, struct scn_guard **guard_out);
/* By whoever has closed the file. True: it was the last, and another program has written to the file. What becomes of
 * it is then for the caller to settle: scn_guard_forget() or scn_guard_put_back() follows, and until the first nobody
 * else enters. */
SCN_NODISCARD bool scn_guard_leave(struct scn_guard *guard);
/* One that was put back, to settle it now; NULL: there is none. path NULL: any. */
struct scn_guard *scn_guard_take(const char *path);
void scn_guard_put_back(struct scn_guard *guard);
const char *scn_guard_path(const struct scn_guard *guard);
/* Whether nobody has written to the file for a second: before, somebody may be at it still. */
SCN_NODISCARD bool scn_guard_is_quiet(const struct scn_guard *guard);
/* Whether the path stands for another file by now, or for none. */
SCN_NODISCARD bool scn_guard_has_moved(const struct scn_guard *guard);
/* After a few false alarms, where the document was as we left it in spite of all, the file's times are not relied on,
 * and only sizes are. */
void scn_guard_forget(struct scn_guard *guard, bool is_false_alarm);

/* The end of the journal, as the file was opened or as it was written since; the highest revision counts. */
void scn_guard_note_end(struct scn_guard *guard, scn_revision revision, int64_t time_us);
/* Before a commit, which may turn out to have been stored without a verdict. */
void scn_guard_note_intent(struct scn_guard *guard, scn_revision revision, int64_t time_us);
/* Whether that is the last of all that was noted, or what was intended. */
SCN_NODISCARD bool scn_guard_is_end(struct scn_guard *guard, scn_revision revision, int64_t time_us);

void scn_guard_begin_look(struct scn_guard *guard, struct scn_guard_look *look_out);
/* Whether the files, as they were seen since, are as we left them; false once is false for ever. Where something was
 * moved meanwhile it cannot be said: true. */
SCN_NODISCARD bool scn_guard_check(struct scn_guard *guard, const struct scn_guard_look *look,
        const struct scn_guard_file *main, const struct scn_guard_file *wal);
/* After a commit: this write-ahead file has at least so many bytes, unless something was moved since that look. */
void scn_guard_note_wal(struct scn_guard *guard, uint64_t moves, uint64_t inode, uint64_t bytes);
/* Whether it may be the one that was written to. */
SCN_NODISCARD bool scn_guard_is_own_wal(struct scn_guard *guard, const struct scn_guard_file *wal);
/* After a check, around all that may write to the file itself. False: another program has written to it, and nothing
 * may be moved; then no end follows. */
SCN_NODISCARD bool scn_guard_begin_move(struct scn_guard *guard);
void scn_guard_end_move(struct scn_guard *guard, const char *path);

#endif
