/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE

/* The ways to the disk of tests/lib/power_disk.h: SQLite's VFS, and the calls that the linker diverts. */

#include "tests/lib/power_notes.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_MAX 64u

/* ----------------------------------------------------------------- failing */

static struct {
        uint32_t at, count;
        enum scn_power_fault fault;
        char name[2 * SCN_POWER_NAME_BYTES];
} failing;

void scn_power_disk_fail(uint32_t at, enum scn_power_fault fault)
{
        failing.at = at;
        failing.count = 0;
        failing.fault = fault;
        failing.name[0] = '\0';
}

bool scn_power_disk_has_failed(void)
{
        return failing.at != 0 && failing.count >= failing.at;
}

const char *scn_power_disk_failed_name(void)
{
        return failing.name;
}

/* Whether the operation is to fail; `name` for people. */
static bool fails(const char *operation, const char *name)
{
        if (failing.at == 0 || ++failing.count != failing.at) {
                return false;
        }
        (void)snprintf(failing.name, sizeof failing.name, "%s %s", operation, name);
        return true;
}

static bool is_full(void)
{
        return failing.fault == SCN_POWER_FULL;
}

/* -------------------------------------------------------- SQLite's own files */

/* The system's VFS has a few tables of methods, one for each way of locking: each is copied, with some replaced. */
#define TABLES_MAX 8

static struct table {
        const sqlite3_io_methods *usual;
        sqlite3_io_methods noting;
} tables[TABLES_MAX];
static sqlite3_vfs vfs;

static struct {
        sqlite3_file *handle;
        uint32_t file;
        uint32_t
                folder; /* to be synced with the file, as SQLite does with a journal it has made; SCN_POWER_NONE: not */
        char name[SCN_POWER_NAME_BYTES];
} open_files[OPEN_MAX];

static const sqlite3_io_methods *usual_of(const sqlite3_file *file)
{
        const char *methods = (const char *)file->pMethods;
        return ((const struct table *)(const void *)(methods - offsetof(struct table, noting)))->usual;
}

/* SCN_POWER_NONE: not one of ours. */
static uint32_t find_open(const sqlite3_file *handle)
{
        for (uint32_t i = 0; scn_power_is_watched() && i < OPEN_MAX; i++) {
                if (open_files[i].handle == handle) {
                        return i;
                }
        }
        return SCN_POWER_NONE;
}

static int noting_write(sqlite3_file *handle, const void *bytes, int size, sqlite3_int64 offset)
{
        const uint32_t at = find_open(handle);
        int failure = SQLITE_OK;
        if (at != SCN_POWER_NONE && fails("write", open_files[at].name)) {
                if (is_full()) {
                        return SQLITE_FULL;
                }
                failure = SQLITE_IOERR_WRITE;
                size /= 2;
        }
        const int code = usual_of(handle)->xWrite(handle, bytes, size, offset);
        if (code == SQLITE_OK && at != SCN_POWER_NONE) {
                scn_power_note_write(open_files[at].file, bytes, (size_t)size, (size_t)offset);
        }
        return code != SQLITE_OK ? code : failure;
}

static int noting_truncate(sqlite3_file *handle, sqlite3_int64 size)
{
        const uint32_t at = find_open(handle);
        if (at != SCN_POWER_NONE && fails("cut", open_files[at].name)) {
                return SQLITE_IOERR_TRUNCATE;
        }
        const int code = usual_of(handle)->xTruncate(handle, size);
        if (code == SQLITE_OK && at != SCN_POWER_NONE) {
                scn_power_note(SCN_POWER_CUT, open_files[at].file, (size_t)size);
        }
        return code;
}

static int noting_sync(sqlite3_file *handle, int flags)
{
        const uint32_t at = find_open(handle);
        (void)flags;
        if (at == SCN_POWER_NONE) {
                return usual_of(handle)->xSync(handle, flags);
        }
        if (fails("sync", open_files[at].name)) {
                scn_power_note(SCN_POWER_LOSE, open_files[at].file, 0);
                return SQLITE_IOERR_FSYNC;
        }
        scn_power_note(SCN_POWER_SYNC, open_files[at].file, 0);
        if (open_files[at].folder != SCN_POWER_NONE) {
                scn_power_note_folder_sync(open_files[at].folder);
                open_files[at].folder = SCN_POWER_NONE;
        }
        return SQLITE_OK;
}

static int noting_close(sqlite3_file *handle)
{
        const uint32_t at = find_open(handle);
        if (at != SCN_POWER_NONE) {
                open_files[at].handle = NULL;
        }
        return usual_of(handle)->xClose(handle);
}

static void replace_methods(sqlite3_file *file)
{
        for (uint32_t i = 0; i < TABLES_MAX; i++) {
                struct table *table = &tables[i];
                if (table->usual == NULL) {
                        table->usual = file->pMethods;
                        table->noting = *file->pMethods;
                        table->noting.xWrite = noting_write;
                        table->noting.xTruncate = noting_truncate;
                        table->noting.xSync = noting_sync;
                        table->noting.xClose = noting_close;
                }
                if (table->usual == file->pMethods) {
                        file->pMethods = &table->noting;
                        return;
                }
        }
        cr_assert(false, "the system's VFS has more tables than were thought of");
}

static sqlite3_vfs *usual_vfs(void)
{
        return vfs.pAppData;
}

static void remember_open(
        sqlite3_file *handle, const char *path, uint32_t folder, const char *name, bool is_new, bool is_journal)
{
        const ino_t number = scn_power_number_of(AT_FDCWD, path, NULL);
        const uint32_t file =
                is_new ? scn_power_note_creation(folder, AT_FDCWD, path, name) : scn_power_find_number(number);
        uint32_t at = 0;
        cr_assert_neq(file, SCN_POWER_NONE, "%s was made behind the disk's back", path);
        while (at < OPEN_MAX && open_files[at].handle != NULL) {
                at++;
        }
        cr_assert_lt(at, OPEN_MAX);
        open_files[at].handle = handle;
        open_files[at].file = file;
        open_files[at].folder = is_new && is_journal ? folder : SCN_POWER_NONE;
        (void)snprintf(open_files[at].name, sizeof open_files[at].name, "%s", name);
}

static int noting_open(sqlite3_vfs *self, const char *path, sqlite3_file *file, int flags, int *flags_out)
{
        const char *name = NULL;
        const uint32_t folder = path != NULL ? scn_power_find_folder(AT_FDCWD, path, &name) : SCN_POWER_NONE;
        const bool is_new = folder != SCN_POWER_NONE && scn_power_number_of(AT_FDCWD, path, NULL) == 0;
        (void)self;
        if (folder != SCN_POWER_NONE && fails("open", name)) {
                file->pMethods = NULL;
                return is_full() ? SQLITE_FULL : SQLITE_CANTOPEN;
        }
        const int code = usual_vfs()->xOpen(usual_vfs(), path, file, flags, flags_out);
        if (file->pMethods != NULL) {
                replace_methods(file);
        }
        if (code == SQLITE_OK && folder != SCN_POWER_NONE) {
                const int journals = SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL;
                remember_open(file, path, folder, name, is_new, (flags & journals) != 0);
        }
        return code;
}

static int noting_delete(sqlite3_vfs *self, const char *path, int sync_folder)
{
        const char *name;
        const uint32_t folder = scn_power_find_folder(AT_FDCWD, path, &name);
        bool is_last = true;
        const ino_t number = scn_power_number_of(AT_FDCWD, path, &is_last);
        (void)self;
        if (folder != SCN_POWER_NONE && fails("delete", name)) {
                return SQLITE_IOERR_DELETE;
        }
        const int code = usual_vfs()->xDelete(usual_vfs(), path, 0);
        if (code == SQLITE_OK && folder != SCN_POWER_NONE) {
                scn_power_note_removal(folder, number, name, is_last);
                if (sync_folder) {
                        scn_power_note_folder_sync(folder);
                }
        }
        return code;
}

void scn_power_install(void)
{
        sqlite3_vfs *usual = sqlite3_vfs_find(NULL);
        if (usual == &vfs) {
                return;
        }
        vfs = *usual;
        vfs.zName = "power";
        vfs.pNext = NULL;
        vfs.pAppData = usual;
        vfs.xOpen = noting_open;
        vfs.xDelete = noting_delete;
        cr_assert_eq(sqlite3_vfs_register(&vfs, 1), SQLITE_OK);
}

/* ------------------------------------------------------- the storage's own calls */

/* The linker gives these the names: what calls fsync() calls __wrap_fsync(), and the system's is __real_fsync(). */
#define DIVERTED(result, name, ...)                                                                                    \
        result __real_##name(__VA_ARGS__);                                                                             \
        result __wrap_##name(__VA_ARGS__);                                                                             \
        result __wrap_##name(__VA_ARGS__)

static int fail_call(void)
{
        errno = is_full() ? ENOSPC : EIO;
        return -1;
}

int __real_openat(int descriptor, const char *path, int flags, mode_t mode);
int __wrap_openat(int descriptor, const char *path, int flags, ...);
int __wrap_openat(int descriptor, const char *path, int flags, ...)
{
        const char *name;
        va_list arguments;
        va_start(arguments, flags);
        const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
        va_end(arguments);
        const uint32_t folder = scn_power_find_folder(descriptor, path, &name);
        const bool is_new =
                folder != SCN_POWER_NONE && (flags & O_CREAT) != 0 && scn_power_number_of(descriptor, path, NULL) == 0;
        if (folder != SCN_POWER_NONE && fails(is_new ? "create" : "open", name)) {
                return fail_call();
        }
        const int opened = __real_openat(descriptor, path, flags, mode);
        if (opened >= 0 && is_new) {
                (void)scn_power_note_creation(folder, descriptor, path, name);
        }
        return opened;
}

DIVERTED(int, mkdirat, int descriptor, const char *path, mode_t mode)
{
        const char *name;
        const uint32_t folder = scn_power_find_folder(descriptor, path, &name);
        if (folder != SCN_POWER_NONE && fails("create", name)) {
                return fail_call();
        }
        const int result = __real_mkdirat(descriptor, path, mode);
        if (result == 0 && folder != SCN_POWER_NONE) {
                (void)scn_power_note_creation(folder, descriptor, path, name);
        }
        return result;
}

DIVERTED(int, unlinkat, int descriptor, const char *path, int flags)
{
        const char *name;
        const uint32_t folder = scn_power_find_folder(descriptor, path, &name);
        bool is_last = true;
        const ino_t number = scn_power_number_of(descriptor, path, &is_last);
        const size_t size = strlen(name);
        if (folder == SCN_POWER_NONE || number == 0 || (size > 4 && strcmp(name + size - 4, "-shm") == 0)) {
                return __real_unlinkat(descriptor, path, flags);
        }
        if (fails("delete", name)) {
                return fail_call();
        }
        const int result = __real_unlinkat(descriptor, path, flags);
        if (result == 0) {
                scn_power_note_removal(folder, number, name, is_last);
        }
        return result;
}

int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path)
{
        return __wrap_unlinkat(AT_FDCWD, path, 0);
}

DIVERTED(int, renameat2, int from, const char *from_path, int to, const char *to_path, unsigned flags)
{
        const char *name, *name_to;
        const uint32_t folder = scn_power_find_folder(from, from_path, &name);
        const uint32_t folder_to = scn_power_find_folder(to, to_path, &name_to);
        const ino_t number = scn_power_number_of(from, from_path, NULL);
        cr_assert_eq(folder == SCN_POWER_NONE, folder_to == SCN_POWER_NONE, "%s: in or out of what is watched", name);
        if (folder != SCN_POWER_NONE && fails("rename", name)) {
                return fail_call();
        }
        const int result = __real_renameat2(from, from_path, to, to_path, flags);
        if (result == 0 && folder != SCN_POWER_NONE) {
                scn_power_note_rename(scn_power_find_number(number), folder, name, folder_to, name_to);
        }
        return result;
}

DIVERTED(int, linkat, int from, const char *from_path, int to, const char *to_path, int flags)
{
        const char *name;
        const uint32_t folder = scn_power_find_folder(to, to_path, &name);
        if (folder != SCN_POWER_NONE && fails("link", name)) {
                return fail_call();
        }
        const int result = __real_linkat(from, from_path, to, to_path, flags);
        if (result == 0 && folder != SCN_POWER_NONE) {
                scn_power_note_link(scn_power_find_number(scn_power_number_of(from, from_path, NULL)), folder, name);
        }
        return result;
}

DIVERTED(int, fsync, int descriptor)
{
        const uint32_t file = scn_power_find_descriptor(descriptor);
        if (file == SCN_POWER_NONE) {
                return __real_fsync(descriptor);
        }
        const bool is_folder = scn_power_is_folder(file);
        if (fails("sync", is_folder ? "a folder" : "a file")) {
                if (!is_folder) {
                        scn_power_note(SCN_POWER_LOSE, file, 0);
                }
                return fail_call();
        }
        if (is_folder) {
                scn_power_note_folder_sync(file);
        } else {
                scn_power_note(SCN_POWER_SYNC, file, 0);
        }
        return 0;
}

DIVERTED(ssize_t, write, int descriptor, const void *bytes, size_t size)
{
        const uint32_t file = scn_power_find_descriptor(descriptor);
        const off_t offset = file != SCN_POWER_NONE ? lseek(descriptor, 0, SEEK_CUR) : 0;
        if (file != SCN_POWER_NONE && fails("write", "a file")) {
                return fail_call();
        }
        const ssize_t count = __real_write(descriptor, bytes, size);
        if (count > 0 && file != SCN_POWER_NONE) {
                scn_power_note_write(file, bytes, (size_t)count, (size_t)offset);
        }
        return count;
}
