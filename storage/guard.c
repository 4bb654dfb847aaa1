/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "storage/guard.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

/* The time of change of a file may not stay as it is (on some network and shared file systems): looking at it would
 * find something again and again. */
#define ALARMS_MAX 3u
#define ALARMED_MAX 256u

/* While something is being moved. */
#define MOVING UINT64_MAX

#define QUIET_NS INT64_C(1000000000)

struct end {
        scn_revision revision;
        int64_t time_us;
};

struct scn_guard {
        LIST_ENTRY(scn_guard) link;
        struct scn_guard_file file;
        uint64_t wal_inode; /* of the write-ahead file; 0: nothing is known */
        uint64_t wal_bytes; /* 0: nothing is known */
        uint64_t moves;     /* begun or ended so far */
        uint32_t moving;    /* now */
        uint32_t users;
        struct end end;      /* of the journal */
        struct end intended; /* by the last commit */
        bool is_spoiled;
        bool is_taken; /* by who settles it */
        char path[];
};

/* One list for the process, as SQLite has one for the locks and for the index of the write-ahead file: they belong to
 * the process and the inode, whoever it is that opens the file. */
static LIST_HEAD(, scn_guard) guards = LIST_HEAD_INITIALIZER(guards);

static struct {
        struct scn_guard_file file;
        uint32_t count;
} alarmed[ALARMED_MAX];
static uint32_t alarmed_next;

static void lock(void)
{
        sqlite3_mutex_enter(sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_APP1));
}

static void unlock(void)
{
        sqlite3_mutex_leave(sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_APP1));
}

static struct scn_guard_file unseen(void)
{
        return (struct scn_guard_file){.is_unknown = errno != ENOENT && errno != ENOTDIR};
}

void scn_guard_see(const char *path, struct scn_guard_file *file_out)
{
        struct stat status;

        if (stat(path, &status) < 0)
                *file_out = unseen();
        else
                *file_out = (struct scn_guard_file){
                        .device = (uint64_t)status.st_dev,
                        .inode = (uint64_t)status.st_ino,
                        .bytes = (uint64_t)status.st_size,
                        .changed_s = status.st_mtim.tv_sec,
                        .changed_ns = status.st_mtim.tv_nsec,
                };
}

void scn_guard_see_wal(const char *path, struct scn_guard_file *file_out)
{
        struct statx status;

        if (statx(AT_FDCWD, path, 0, STATX_INO | STATX_SIZE, &status) < 0)
                *file_out = unseen();
        else
                *file_out = (struct scn_guard_file){
                        .device = makedev(status.stx_dev_major, status.stx_dev_minor),
                        .inode = status.stx_ino,
                        .bytes = status.stx_size,
                };
}

bool scn_guard_is_same(const struct scn_guard_file *a, const struct scn_guard_file *b)
{
        return a->device == b->device && a->inode == b->inode;
}

/* ------------------------------------------------------------ false alarms */

static uint32_t find_alarms(const struct scn_guard_file *file)
{
        uint32_t i = 0;

        while (i < ALARMED_MAX && !(alarmed[i].count > 0 && scn_guard_is_same(&alarmed[i].file, file)))
                i++;
        return i;
}

static void note_alarm(const struct scn_guard_file *file)
{
        uint32_t i = find_alarms(file);

        if (i == ALARMED_MAX) {
                i = alarmed_next++ % ALARMED_MAX;
                alarmed[i].file = *file;
                alarmed[i].count = 0;
        }
        alarmed[i].count++;
}

static bool has_steady_time(const struct scn_guard_file *file)
{
        const uint32_t i = find_alarms(file);

        return i == ALARMED_MAX || alarmed[i].count < ALARMS_MAX;
}

/* --------------------------------------------------------------- who is in */

static bool is_unsettled(const struct scn_guard *guard)
{
        return guard->users == 0 && guard->is_spoiled && !guard->is_taken;
}

/* Whose inode it is, or else whose path. The inode of one that is not settled may have been given to another file. */
static struct scn_guard *find(const struct scn_guard_file *file, const char *path)
{
        struct scn_guard *guard, *by_path = NULL;

        LIST_FOREACH(guard, &guards, link)
        {
                const bool has_path = strcmp(guard->path, path) == 0;
                if (file->inode != 0 && scn_guard_is_same(&guard->file, file) && (has_path || !is_unsettled(guard)))
                        return guard;
                if (has_path)
                        by_path = guard;
        }
        return by_path;
}

enum scn_error scn_guard_enter(const char *path, struct scn_guard **guard_out)
{
        const size_t bytes = strlen(path) + 1;
        struct scn_guard *fresh = scn_alloc_zero(1, sizeof *fresh + bytes);

        if (fresh == NULL)
                return SCN_E_NO_MEMORY;
        memcpy(fresh->path, path, bytes);
        lock();
        scn_guard_see(path, &fresh->file);
        struct scn_guard *guard = find(&fresh->file, path);
        if (guard == NULL) {
                guard = fresh;
                LIST_INSERT_HEAD(&guards, guard, link);
        }
        const bool is_busy =
                guard->is_spoiled || !scn_guard_is_same(&guard->file, &fresh->file) || strcmp(guard->path, path) != 0;
        guard->users += !is_busy;
        unlock();
        if (guard != fresh)
                scn_free(fresh);
        if (is_busy)
                return SCN_E_STORAGE_BUSY;
        *guard_out = guard;
        return SCN_OK;
}

bool scn_guard_leave(struct scn_guard *guard)
{
        lock();
        SCN_ASSERT(guard->users > 0);
        const bool is_last = --guard->users == 0;
        const bool is_spoiled = guard->is_spoiled;
        guard->is_taken = is_last && is_spoiled;
        if (is_last && !is_spoiled)
                LIST_REMOVE(guard, link);
        unlock();
        if (is_last && !is_spoiled)
                scn_free(guard);
        return is_last && is_spoiled;
}

struct scn_guard *scn_guard_take(const char *path)
{
        struct scn_guard *guard;

        lock();
        LIST_FOREACH(guard, &guards, link)
        {
                if (is_unsettled(guard) && (path == NULL || strcmp(guard->path, path) == 0))
                        break;
        }
        if (guard != NULL)
                guard->is_taken = true;
        unlock();
        return guard;
}

void scn_guard_put_back(struct scn_guard *guard)
{
        lock();
        guard->is_taken = false;
        unlock();
}

const char *scn_guard_path(const struct scn_guard *guard)
{
        return guard->path;
}

bool scn_guard_has_moved(const struct scn_guard *guard)
{
        struct scn_guard_file now;

        scn_guard_see(guard->path, &now);
        return !now.is_unknown && !scn_guard_is_same(&now, &guard->file);
}

bool scn_guard_is_quiet(const struct scn_guard *guard)
{
        struct scn_guard_file file;
        struct timespec now;

        scn_guard_see(guard->path, &file);
        clock_gettime(CLOCK_REALTIME, &now);
        /* A time that was set by hand says nothing of now. */
        const int64_t seconds = now.tv_sec - file.changed_s;
        if (seconds < -2 || seconds > 2)
                return true;
        return seconds * 1000000000 + now.tv_nsec - file.changed_ns >= QUIET_NS;
}

void scn_guard_forget(struct scn_guard *guard, bool is_false_alarm)
{
        lock();
        SCN_ASSERT(guard->users == 0);
        if (is_false_alarm)
                note_alarm(&guard->file);
        LIST_REMOVE(guard, link);
        unlock();
        scn_free(guard);
}

/* ----------------------------------------------------------------- the end */

void scn_guard_note_end(struct scn_guard *guard, scn_revision revision, int64_t time_us)
{
        lock();
        if (revision >= guard->end.revision)
                guard->end = (struct end){revision, time_us};
        unlock();
}

void scn_guard_note_intent(struct scn_guard *guard, scn_revision revision, int64_t time_us)
{
        lock();
        guard->intended = (struct end){revision, time_us};
        unlock();
}

static bool is_at(const struct end *end, scn_revision revision, int64_t time_us)
{
        return revision == end->revision && time_us == end->time_us;
}

bool scn_guard_is_end(struct scn_guard *guard, scn_revision revision, int64_t time_us)
{
        lock();
        const bool is_intended =
                guard->intended.revision > guard->end.revision && is_at(&guard->intended, revision, time_us);
        const bool is_end = is_intended || is_at(&guard->end, revision, time_us);
        unlock();
        return is_end;
}

/* --------------------------------------------------------------- the files */

void scn_guard_begin_look(struct scn_guard *guard, struct scn_guard_look *look_out)
{
        lock();
        *look_out = (struct scn_guard_look){
                .moves = guard->moving > 0 ? MOVING : guard->moves,
                .wal_inode = guard->wal_inode,
                .wal_bytes = guard->wal_bytes,
        };
        unlock();
}

static bool is_unchanged(const struct scn_guard_file *a, const struct scn_guard_file *b)
{
        const bool has_time = a->changed_s == b->changed_s && a->changed_ns == b->changed_ns;

        return a->bytes == b->bytes && (has_time || !has_steady_time(a));
}

bool scn_guard_check(struct scn_guard *guard, const struct scn_guard_look *look, const struct scn_guard_file *main,
        const struct scn_guard_file *wal)
{
        const bool is_cut = wal->inode != 0 && wal->inode == look->wal_inode && wal->bytes < look->wal_bytes;

        lock();
        /* Of a file that has lost its name nothing can be said here. */
        if (look->moves == guard->moves && scn_guard_is_same(main, &guard->file))
                guard->is_spoiled |= is_cut || !is_unchanged(main, &guard->file);
        const bool is_well = !guard->is_spoiled;
        unlock();
        return is_well;
}

void scn_guard_note_wal(struct scn_guard *guard, uint64_t moves, uint64_t inode, uint64_t bytes)
{
        lock();
        guard->wal_inode = inode;
        if (moves == guard->moves && bytes > guard->wal_bytes)
                guard->wal_bytes = bytes;
        unlock();
}

bool scn_guard_is_own_wal(struct scn_guard *guard, const struct scn_guard_file *wal)
{
        lock();
        const bool is_own = guard->wal_inode == 0 || guard->wal_inode == wal->inode;
        unlock();
        return is_own;
}

bool scn_guard_begin_move(struct scn_guard *guard)
{
        lock();
        const bool is_well = !guard->is_spoiled;
        if (is_well) {
                guard->moving++;
                guard->moves++;
                guard->wal_bytes = 0;
        }
        unlock();
        return is_well;
}

void scn_guard_end_move(struct scn_guard *guard, const char *path)
{
        struct scn_guard_file now;

        lock();
        SCN_ASSERT(guard->moving > 0);
        guard->moves++;
        if (--guard->moving == 0) {
                scn_guard_see(path, &now);
                if (scn_guard_is_same(&now, &guard->file))
                        guard->file = now;
        }
        unlock();
}
