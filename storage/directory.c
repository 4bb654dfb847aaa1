/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "storage/directory.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "storage/fault.h"
#include "storage/file.h"
#include "storage/journal.h"
#include "storage/name.h"
#include "storage/wal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

SCN_STATIC_ASSERT(SCN_STORAGE_PATH_SIZE >= PATH_MAX, "realpath() needs so much room");
SCN_STATIC_ASSERT(sizeof((struct scn_storage *)NULL)->strange > NAME_MAX, "any file's name");

/* More than any directory we could list in a sensible time. */
#define ENTRIES_MAX ((size_t)1 << 22)

/* ------------------------------------------------------------ open, close */

bool scn_storage_path_of(const struct scn_storage *storage, const char *file, char path_out[SCN_STORAGE_PATH_SIZE])
{
        return (size_t)snprintf(path_out, SCN_STORAGE_PATH_SIZE, "%s/%s", storage->path, file) < SCN_STORAGE_PATH_SIZE;
}

const char *scn_storage_base_name(const struct scn_storage *storage)
{
        const char *slash = strrchr(storage->path, '/');

        return slash != NULL && slash[1] != '\0' ? slash + 1 : storage->path;
}

/* A stream of its own over a directory that stays open. */
static DIR *open_stream(int directory_fd)
{
        const int fd = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;

        if (stream == NULL && fd >= 0)
                close(fd);
        return stream;
}

/* Drafts that nobody published. Only whoever has the lock may do this. */
static void remove_drafts(const struct scn_storage *storage)
{
        DIR *stream = open_stream(storage->directory_fd);
        struct dirent *entry;

        if (stream == NULL)
                return;
        while ((entry = readdir(stream)) != NULL) {
                if (strncmp(entry->d_name, SCN_STORAGE_DRAFT_PREFIX, strlen(SCN_STORAGE_DRAFT_PREFIX)) == 0)
                        unlinkat(storage->directory_fd, entry->d_name, 0);
        }
        closedir(stream);
}

/* Documents that were about to take the place of others. */
static enum scn_error finish_replacing(const struct scn_storage *storage, struct scn_storage_fault *fault)
{
        const size_t prefix = strlen(SCN_STORAGE_NEXT_PREFIX), suffix = SCN_STORAGE_SUFFIX_BYTES;
        DIR *stream = open_stream(storage->directory_fd);
        struct dirent *entry;
        enum scn_error error = SCN_OK;

        if (stream == NULL)
                return SCN_OK;
        while (error == SCN_OK && (entry = readdir(stream)) != NULL) {
                const size_t size = strlen(entry->d_name);
                if (strncmp(entry->d_name, SCN_STORAGE_NEXT_PREFIX, prefix) == 0 && size > prefix + suffix &&
                        strcmp(entry->d_name + size - suffix, SCN_STORAGE_SUFFIX) == 0)
                        error = scn_storage_finish_replacing(storage, entry->d_name + prefix, fault);
        }
        closedir(stream);
        return error;
}

/* What somebody has put an older copy beside while nobody had the directory. As long as SQLite has not seen it, it can
 * be taken away. */
static enum scn_error set_strange_wals_aside(struct scn_storage *storage, struct scn_storage_fault *fault)
{
        char path[SCN_STORAGE_PATH_SIZE];
        DIR *stream = open_stream(storage->directory_fd);
        struct scn_storage_name name;
        struct dirent *entry;
        enum scn_error error = SCN_OK;

        if (stream == NULL)
                return SCN_OK;
        while (error == SCN_OK && (entry = readdir(stream)) != NULL) {
                if (!scn_storage_name_from_file(entry->d_name, SCN_STORAGE_DOCUMENTS, &name) ||
                        !scn_wal_is_strange(storage->directory_fd, entry->d_name) ||
                        !scn_storage_path_of(storage, entry->d_name, path))
                        continue;
                if (!scn_database_set_wal_aside(path))
                        error = scn_fault_set_errno(fault, errno, "set aside the write-ahead file of", entry->d_name);
                else if (storage->strange_count++ == 0)
                        snprintf(storage->strange, sizeof storage->strange, "%s", entry->d_name);
        }
        closedir(stream);
        return error;
}

const char *scn_storage_strange_wals(const struct scn_storage *storage, uint32_t *count_out)
{
        *count_out = storage->strange_count;
        return storage->strange;
}

/* Nothing is made inside before the lock is ours: whoever is refused has changed nothing. */
static enum scn_error open_locked(struct scn_storage *storage, struct scn_storage_fault *fault)
{
        enum scn_error error = scn_file_lock(storage->directory_fd, storage->path, &storage->lock_fd, fault);

        if (error != SCN_OK)
                return error;
        if (scn_file_create_directory(storage->directory_fd, SCN_STORAGE_TRASH_NAME) < 0)
                return scn_fault_set_errno(fault, errno, "make the trash in", storage->path);
        storage->trash_fd =
                openat(storage->directory_fd, SCN_STORAGE_TRASH_NAME, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (storage->trash_fd < 0)
                return scn_fault_set_errno(fault, errno, "open the trash in", storage->path);
        /* Before anything is moved there, the trash must outlast a loss of power. */
        if (fsync(storage->directory_fd) < 0)
                return scn_fault_set_errno(fault, errno, "sync the directory", storage->path);
        remove_drafts(storage);
        error = finish_replacing(storage, fault);
        return error == SCN_OK ? set_strange_wals_aside(storage, fault) : error;
}

/* A directory that was just made is there after a loss of power only if the one around it has been synced. Whether an
 * earlier process came so far is not known; and not everybody may look into the one around. */
static enum scn_error sync_parent(const struct scn_storage *storage, struct scn_storage_fault *fault)
{
        char parent[SCN_STORAGE_PATH_SIZE];
        const char *slash = strrchr(storage->path, '/');

        SCN_ASSERT(slash != NULL);
        snprintf(parent, sizeof parent, "%.*s/", (int)(slash - storage->path), storage->path);
        const int fd = openat(AT_FDCWD, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return SCN_OK;
        const int result = fsync(fd);
        const int reason = errno;
        close(fd);
        return result == 0 ? SCN_OK : scn_fault_set_errno(fault, reason, "sync the directory around", storage->path);
}

static enum scn_error open_directory(const char *path, struct scn_storage *storage, struct scn_storage_fault *fault)
{
        if (scn_file_create_directory(AT_FDCWD, path) < 0)
                return scn_fault_set_errno(fault, errno, "make the data directory", path);
        if (realpath(path, storage->path) == NULL)
                return scn_fault_set_errno(fault, errno, "find the data directory", path);
        storage->directory_fd = open(storage->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (storage->directory_fd < 0)
                return scn_fault_set_errno(fault, errno, "open the data directory", storage->path);
        const enum scn_error error = sync_parent(storage, fault);
        return error == SCN_OK ? open_locked(storage, fault) : error;
}

enum scn_error scn_storage_open(const char *path, struct scn_storage **storage_out, struct scn_storage_fault *fault)
{
        struct scn_storage *storage = scn_alloc_zero(1, sizeof *storage);

        if (storage == NULL)
                return scn_fault_set(fault, SCN_E_NO_MEMORY, 0, 0, "out of memory");
        storage->directory_fd = storage->trash_fd = storage->lock_fd = -1;
        storage->keep_free = SCN_COPY_RESERVE_BYTES;
        storage->promised = scn_alloc_zero(1, sizeof *storage->promised);
        const enum scn_error error = storage->promised != NULL
                ? open_directory(path, storage, fault)
                : scn_fault_set(fault, SCN_E_NO_MEMORY, 0, 0, "out of memory");
        if (error != SCN_OK) {
                scn_storage_close(storage);
                return error;
        }
        *storage_out = storage;
        return SCN_OK;
}

void scn_storage_close(struct scn_storage *storage)
{
        if (storage == NULL)
                return;
        scn_journal_settle_all();
        if (storage->trash_fd >= 0)
                close(storage->trash_fd);
        if (storage->lock_fd >= 0)
                close(storage->lock_fd);
        if (storage->directory_fd >= 0)
                close(storage->directory_fd);
        scn_free(storage->promised);
        scn_free(storage);
}

bool scn_storage_is_held(const char *path)
{
        const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
                return errno != ENOENT && errno != ENOTDIR;
        const bool is_held = scn_file_is_locked(fd);
        close(fd);
        return is_held;
}

enum scn_error scn_storage_free_bytes(
        const struct scn_storage *storage, uint64_t *bytes_out, struct scn_storage_fault *fault)
{
        struct statvfs status;

        if (fstatvfs(storage->directory_fd, &status) < 0)
                return scn_fault_set_errno(fault, errno, "measure the file system of", scn_storage_base_name(storage));
        *bytes_out = (uint64_t)status.f_bavail * status.f_frsize;
        return SCN_OK;
}

void scn_storage_keep_free(struct scn_storage *storage, uint64_t bytes)
{
        storage->keep_free = bytes > SCN_COPY_RESERVE_BYTES ? bytes : SCN_COPY_RESERVE_BYTES;
}

enum scn_error scn_storage_promise(const struct scn_storage *storage, uint64_t bytes, struct scn_storage_fault *fault)
{
        const uint64_t most = UINT64_MAX >> 8; /* more is on no disk, and sums of it stay numbers */
        const uint64_t wanted = bytes < most ? bytes : most;
        /* First the sum, then what is free: what others write between the two counts twice, not never. */
        const uint64_t others = atomic_fetch_add(storage->promised, wanted);
        uint64_t free_bytes = 0;
        enum scn_error error = scn_storage_free_bytes(storage, &free_bytes, fault);

        if (error == SCN_OK && (free_bytes < storage->keep_free || others + wanted > free_bytes - storage->keep_free))
                error = scn_fault_set(fault, SCN_E_STORAGE_FULL, 0, 0,
                        "%" PRIu64 " MiB are wanted, %" PRIu64 " MiB are free, of which %" PRIu64
                        " MiB must stay so and %" PRIu64 " MiB are promised",
                        bytes >> 20, free_bytes >> 20, storage->keep_free >> 20, others >> 20);
        if (error != SCN_OK)
                scn_storage_take_promise_back(storage, wanted);
        return error;
}

void scn_storage_take_promise_back(const struct scn_storage *storage, uint64_t bytes)
{
        const uint64_t before = atomic_fetch_sub(storage->promised, bytes);

        SCN_ASSERT(before >= bytes);
}

/* ------------------------------------------------------------------- list */

static int compare_entries(const void *left, const void *right)
{
        const struct scn_storage_entry *a = left, *b = right;
        const uint32_t common = a->name.size < b->name.size ? a->name.size : b->name.size;
        const int order = memcmp(a->name.data, b->name.data, common);

        if (order != 0)
                return order;
        if (a->name.size != b->name.size)
                return a->name.size < b->name.size ? -1 : 1;
        return (a->deleted_us < b->deleted_us) - (a->deleted_us > b->deleted_us);
}

static enum scn_error add_entry(struct scn_storage_list *list, int directory_fd, const char *file,
        const struct scn_storage_name *name, struct scn_storage_fault *fault)
{
        struct stat status;

        if (fstatat(directory_fd, file, &status, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(status.st_mode))
                return SCN_OK; /* gone meanwhile, or no file */
        uint8_t *bytes = scn_alloc(name->size);
        if (bytes == NULL ||
                !scn_grow((void **)&list->entries, &list->capacity, sizeof list->entries[0], list->count + 1,
                        ENTRIES_MAX)) {
                scn_free(bytes);
                return scn_fault_set(fault, SCN_E_NO_MEMORY, 0, 0, "out of memory");
        }
        memcpy(bytes, name->bytes, name->size);
        list->entries[list->count++] = (struct scn_storage_entry){
                .name = {bytes, name->size},
                .file_bytes = (uint64_t)status.st_size,
                .deleted_us = name->time_us,
        };
        return SCN_OK;
}

enum scn_error scn_storage_list(const struct scn_storage *storage, enum scn_storage_place place,
        struct scn_storage_list *list_out, struct scn_storage_fault *fault)
{
        const int directory_fd = place == SCN_STORAGE_TRASH ? storage->trash_fd : storage->directory_fd;
        DIR *stream = open_stream(directory_fd);
        struct scn_storage_name name;
        struct dirent *entry;
        enum scn_error error = SCN_OK;

        *list_out = (struct scn_storage_list){0};
        if (stream == NULL)
                return scn_fault_set_errno(fault, errno, "list", scn_storage_base_name(storage));
        while (error == SCN_OK && (entry = readdir(stream)) != NULL) {
                if (scn_storage_name_from_file(entry->d_name, place, &name))
                        error = add_entry(list_out, directory_fd, entry->d_name, &name, fault);
        }
        closedir(stream);
        if (error != SCN_OK) {
                scn_storage_list_finish(list_out);
                return error;
        }
        if (list_out->count > 1)
                qsort(list_out->entries, list_out->count, sizeof list_out->entries[0], compare_entries);
        return SCN_OK;
}

void scn_storage_list_finish(struct scn_storage_list *list)
{
        for (size_t i = 0; i < list->count; i++)
                scn_free((void *)(uintptr_t)list->entries[i].name.data);
        scn_free(list->entries);
        *list = (struct scn_storage_list){0};
}

enum scn_error scn_storage_find(
        const struct scn_storage *storage, struct scn_slice name, struct scn_storage_fault *fault)
{
        struct scn_storage_file_name file;
        struct stat status;
        enum scn_error error = scn_storage_name_to_file(name, &file, fault);

        if (error != SCN_OK)
                return error;
        if (fstatat(storage->directory_fd, file.text, &status, AT_SYMLINK_NOFOLLOW) == 0)
                return SCN_OK;
        if (errno == ENOENT)
                return scn_fault_set(fault, SCN_E_NO_DOCUMENT, 0, errno, "there is no %s", file.text);
        return scn_fault_set_errno(fault, errno, "look for", file.text);
}

static enum scn_error open_kind(const struct scn_storage *storage, struct scn_slice name, enum scn_database_kind kind,
        const struct scn_journal_options *options, struct scn_journal **journal_out, struct scn_storage_fault *fault)
{
        struct scn_storage_file_name file;
        char path[SCN_STORAGE_PATH_SIZE];
        enum scn_error error = scn_storage_name_to_file(name, &file, fault);

        if (error != SCN_OK)
                return error;
        if (!scn_storage_path_of(storage, file.text, path))
                return scn_fault_set_errno(fault, ENAMETOOLONG, "open", file.text);
        return scn_journal_open_on(path, kind, options, journal_out, fault);
}

enum scn_error scn_journal_open(const struct scn_storage *storage, struct scn_slice name,
        const struct scn_journal_options *options, struct scn_journal **journal_out, struct scn_storage_fault *fault)
{
        const bool is_reader = options != NULL && options->mode == SCN_JOURNAL_READ;
        return open_kind(
                storage, name, is_reader ? SCN_DATABASE_READ : SCN_DATABASE_WRITE, options, journal_out, fault);
}

enum scn_error scn_journal_open_still(const struct scn_storage *storage, struct scn_slice name,
        struct scn_journal **journal_out, struct scn_storage_fault *fault)
{
        return open_kind(storage, name, SCN_DATABASE_READ_STILL, NULL, journal_out, fault);
}
