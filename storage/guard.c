/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "storage/guard.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"

#include <sqlite3.h>
#include <stdio.h>
#include <sys/queue.h>
#include <sys/stat.h>

#define PATH_BYTES (4096 + 256 + 8)

/* What a file is known by, and what changes when somebody writes to it. */
struct mark {
        dev_t device;
        ino_t inode;
        off_t size;
        struct timespec changed;
};

struct scn_guard {
        LIST_ENTRY(scn_guard) link;
        struct mark mark;
        uint64_t wal_bytes; /* of the write-ahead file; 0: nothing is known */
        uint64_t moves;     /* begun so far */
        uint32_t moving;    /* now */
        uint32_t users;
        scn_revision revision; /* the last of the journal, and its time */
        int64_t time_us;
        bool is_spoiled;
};

/* Where times of change do not stay as they are (some network and shared file systems), looking at them would find
 * something again and again. */
#define ALARMS_MAX 3u
#define DEVICES_MAX 16u

static struct {
        dev_t device;
        uint32_t false_alarms;
} devices[DEVICES_MAX];

/* One list for the process, as SQLite has one for the locks and for the index of the write-ahead file: they belong to
 * the process and the inode, whoever it is that opens the file. */
static LIST_HEAD(, scn_guard) guards = LIST_HEAD_INITIALIZER(guards);

static void lock(void)
{
        sqlite3_mutex_enter(sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_APP1));
}

static void unlock(void)
{
        sqlite3_mutex_leave(sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_APP1));
}

static bool look_at(const char *path, struct mark *mark_out)
{
        struct stat status;

        if (stat(path, &status) < 0)
                return false;
        *mark_out = (struct mark){status.st_dev, status.st_ino, status.st_size, status.st_mtim};
        return true;
}

static bool is_same_file(const struct mark *a, const struct mark *b)
{
        return a->device == b->device && a->inode == b->inode;
}

static uint32_t *false_alarms_on(dev_t device)
{
        for (uint32_t i = 0; i < DEVICES_MAX; i++) {
                if (devices[i].device == device || devices[i].false_alarms == 0) {
                        devices[i].device = device;
                        return &devices[i].false_alarms;
                }
        }
        return NULL;
}

static bool has_steady_times(dev_t device)
{
        const uint32_t *alarms = false_alarms_on(device);

        return alarms == NULL || *alarms < ALARMS_MAX;
}

static bool is_unchanged(const struct mark *a, const struct mark *b)
{
        const bool has_time = a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;

        return a->size == b->size && (has_time || !has_steady_times(a->device));
}

/* Of a file that has lost its name nothing can be said here. */
static void look(struct scn_guard *guard, const char *path)
{
        char wal[PATH_BYTES];
        struct mark now;

        if (guard->moving > 0 || !look_at(path, &now) || !is_same_file(&now, &guard->mark))
                return;
        guard->is_spoiled |= !is_unchanged(&now, &guard->mark);
        snprintf(wal, sizeof wal, "%s-wal", path);
        if (look_at(wal, &now))
                guard->is_spoiled |= (uint64_t)now.size < guard->wal_bytes;
}

enum scn_error scn_guard_enter(const char *path, struct scn_guard **guard_out)
{
        struct scn_guard *fresh = scn_alloc_zero(1, sizeof *fresh);
        struct scn_guard *guard;

        if (fresh == NULL)
                return SCN_E_NO_MEMORY;
        lock();
        const bool is_there = look_at(path, &fresh->mark);
        LIST_FOREACH(guard, &guards, link)
        {
                if (is_there && is_same_file(&guard->mark, &fresh->mark))
                        break;
        }
        if (guard == NULL) {
                guard = fresh;
                fresh = NULL;
                LIST_INSERT_HEAD(&guards, guard, link);
        }
        const bool is_spoiled = guard->is_spoiled;
        guard->users += !is_spoiled;
        unlock();
        scn_free(fresh);
        if (is_spoiled)
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
        if (is_last && !is_spoiled)
                LIST_REMOVE(guard, link);
        unlock();
        if (is_last && !is_spoiled)
                scn_free(guard);
        return is_last && is_spoiled;
}

void scn_guard_forget(struct scn_guard *guard, bool is_false_alarm)
{
        if (guard == NULL)
                return;
        lock();
        uint32_t *alarms = is_false_alarm ? false_alarms_on(guard->mark.device) : NULL;
        if (alarms != NULL)
                ++*alarms;
        LIST_REMOVE(guard, link);
        unlock();
        scn_free(guard);
}

void scn_guard_note_end(struct scn_guard *guard, scn_revision revision, int64_t time_us)
{
        lock();
        if (revision >= guard->revision) {
                guard->revision = revision;
                guard->time_us = time_us;
        }
        unlock();
}

bool scn_guard_is_end(struct scn_guard *guard, scn_revision revision, int64_t time_us)
{
        lock();
        const bool is_end = revision == guard->revision && time_us == guard->time_us;
        unlock();
        return is_end;
}

bool scn_guard_check(struct scn_guard *guard, const char *path, uint64_t *moves_out)
{
        lock();
        look(guard, path);
        const bool is_well = !guard->is_spoiled;
        *moves_out = guard->moves;
        unlock();
        return is_well;
}

void scn_guard_note_wal(struct scn_guard *guard, uint64_t moves, uint64_t bytes)
{
        lock();
        if (moves == guard->moves && bytes > guard->wal_bytes)
                guard->wal_bytes = bytes;
        unlock();
}

bool scn_guard_begin_move(struct scn_guard *guard, const char *path)
{
        lock();
        look(guard, path);
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
        struct mark now;

        lock();
        SCN_ASSERT(guard->moving > 0);
        if (--guard->moving == 0 && look_at(path, &now) && is_same_file(&now, &guard->mark))
                guard->mark = now;
        unlock();
}
