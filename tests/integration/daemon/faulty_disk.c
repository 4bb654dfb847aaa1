/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Linked into a daemon, this makes its disk misbehave as the file `fault` in its working directory says:
 *
 *   slow MS   each sync takes so many milliseconds longer
 *   sync      the next sync fails, once
 *   short     the next write writes half and fails, once
 *   full      no write finds room
 *   after N   the next N writes find room, and then none
 *   step      each write waits until it can take away the file `go`
 *
 * SQLite's usual file methods are copied, with two of them replaced. */

#include <sqlite3.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The system's VFS has a few tables of methods, one for each way of locking. */
#define TABLES_MAX 8

static struct table {
        const sqlite3_io_methods *usual;
        sqlite3_io_methods faulty;
} tables[TABLES_MAX];
static sqlite3_vfs vfs;
static sqlite3_mutex *mutex;

static const sqlite3_io_methods *usual_of(const sqlite3_file *file)
{
        return ((const struct table *)(const void *)((const char *)file->pMethods - offsetof(struct table, faulty)))
                ->usual;
}

/* True if this is the fault; one that strikes once is over then. */
static int is_fault(const char *name, int strikes_once, long *number_out)
{
        char word[16] = "";
        long number = 0;
        FILE *file = fopen("fault", "re");
        if (file == NULL)
                return 0;
        const int count = fscanf(file, "%15s %ld", word, &number);
        (void)fclose(file);
        if (count < 1 || strcmp(word, name) != 0)
                return 0;
        if (number_out != NULL)
                *number_out = number;
        return !strikes_once || remove("fault") == 0;
}

/* Counts from when the number is first seen; another number begins anew. */
static int has_run_out(void)
{
        static _Atomic long seen = -1;
        static _Atomic long count;
        long writes = 0;
        if (!is_fault("after", 0, &writes))
                return 0;
        if (writes != seen) {
                seen = writes;
                count = 0;
        }
        return count++ >= writes;
}

static void wait_to_go(void)
{
        const struct timespec pause = {.tv_nsec = 100000};
        while (is_fault("step", 0, NULL) && remove("go") != 0)
                (void)nanosleep(&pause, NULL);
}

static int faulty_sync(sqlite3_file *file, int flags)
{
        long ms = 0;
        if (is_fault("slow", 0, &ms)) {
                const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
                (void)nanosleep(&pause, NULL);
        }
        if (is_fault("sync", 1, NULL))
                return SQLITE_IOERR_FSYNC;
        return usual_of(file)->xSync(file, flags);
}

static int faulty_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset)
{
        wait_to_go();
        if (is_fault("full", 0, NULL) || has_run_out())
                return SQLITE_FULL;
        if (is_fault("short", 1, NULL)) {
                (void)usual_of(file)->xWrite(file, bytes, size / 2, offset);
                return SQLITE_FULL;
        }
        return usual_of(file)->xWrite(file, bytes, size, offset);
}

static const sqlite3_io_methods *faulty_of(const sqlite3_io_methods *usual)
{
        struct table *table = tables;
        sqlite3_mutex_enter(mutex);
        while (table < &tables[TABLES_MAX] && table->usual != NULL && table->usual != usual)
                table++;
        if (table < &tables[TABLES_MAX] && table->usual == NULL) {
                table->faulty = *usual;
                table->faulty.xSync = faulty_sync;
                table->faulty.xWrite = faulty_write;
                table->usual = usual;
        }
        sqlite3_mutex_leave(mutex);
        return table < &tables[TABLES_MAX] ? &table->faulty : usual;
}

static int faulty_open(sqlite3_vfs *own, const char *path, sqlite3_file *file, int flags, int *flags_out)
{
        sqlite3_vfs *usual = own->pAppData;
        const int code = usual->xOpen(usual, path, file, flags, flags_out);
        if (file->pMethods != NULL)
                file->pMethods = faulty_of(file->pMethods);
        return code;
}

__attribute__((constructor)) static void install(void)
{
        sqlite3_vfs *usual = sqlite3_vfs_find(NULL);
        mutex = sqlite3_mutex_alloc(SQLITE_MUTEX_FAST);
        vfs = *usual;
        vfs.zName = "faulty";
        vfs.pNext = NULL;
        vfs.pAppData = usual;
        vfs.xOpen = faulty_open;
        (void)sqlite3_vfs_register(&vfs, 1);
}
