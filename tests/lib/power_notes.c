/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "tests/lib/power_notes.h"

#include "tests/lib/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Says whose the directory is; nothing depends on what is in it. */
#define LOCK_FILE "scened.lock"

/* ------------------------------------------------------------------- notes */

static struct scn_power_disk *watched;

void *scn_power_get_memory(void *old, size_t size)
{
        void *memory = realloc(old, size + 1);
        cr_assert_not_null(memory);
        return memory;
}

static void add_note(struct scn_power_note note)
{
        struct scn_power_disk *disk = watched;
        if (disk->count == disk->capacity) {
                disk->capacity = 2 * disk->capacity + 256;
                disk->notes = scn_power_get_memory(disk->notes, disk->capacity * sizeof *disk->notes);
        }
        disk->notes[disk->count++] = note;
}

static char *copy_name(const char *name)
{
        const size_t size = strlen(name) + 1;
        cr_assert_leq(size, SCN_POWER_NAME_BYTES);
        return memcpy(scn_power_get_memory(NULL, size), name, size);
}

uint32_t scn_power_find_number(ino_t number)
{
        for (uint32_t i = 0; watched != NULL && i < watched->files_count; i++) {
                if (watched->files[i].number == number) {
                        return i;
                }
        }
        return SCN_POWER_NONE;
}

uint32_t scn_power_find_descriptor(int descriptor)
{
        struct stat status;
        return fstat(descriptor, &status) == 0 ? scn_power_find_number(status.st_ino) : SCN_POWER_NONE;
}

uint32_t scn_power_find_folder(int descriptor, const char *path, const char **name_out)
{
        const char *slash = strrchr(path, '/');
        char parent[PATH_MAX];
        struct stat status;
        *name_out = slash != NULL ? slash + 1 : path;
        if (watched == NULL || strcmp(*name_out, LOCK_FILE) == 0) {
                return SCN_POWER_NONE;
        }
        if (slash == NULL) {
                return scn_power_find_descriptor(descriptor);
        }
        (void)snprintf(parent, sizeof parent, "%.*s", (int)(slash - path), path);
        return fstatat(descriptor, parent, &status, 0) == 0 ? scn_power_find_number(status.st_ino) : SCN_POWER_NONE;
}

static uint32_t add_file(struct scn_power_disk *disk, ino_t number, bool is_folder)
{
        cr_assert_lt(disk->files_count, SCN_POWER_FILES_MAX);
        disk->files[disk->files_count] = (struct scn_power_file){.number = number, .is_folder = is_folder};
        return disk->files_count++;
}

uint32_t scn_power_note_creation(uint32_t folder, int descriptor, const char *path, const char *name)
{
        struct stat status;
        cr_assert_eq(fstatat(descriptor, path, &status, AT_SYMLINK_NOFOLLOW), 0);
        const uint32_t file = add_file(watched, status.st_ino, S_ISDIR(status.st_mode));
        add_note((struct scn_power_note){
                .kind = SCN_POWER_CREATE, .file = file, .folder = folder, .name = copy_name(name)});
        return file;
}

ino_t scn_power_number_of(int descriptor, const char *path, bool *is_last_out)
{
        struct stat status;
        if (fstatat(descriptor, path, &status, AT_SYMLINK_NOFOLLOW) != 0) {
                return 0;
        }
        if (is_last_out != NULL) {
                *is_last_out = status.st_nlink == 1;
        }
        return status.st_ino;
}

void scn_power_note_link(uint32_t file, uint32_t folder, const char *name)
{
        add_note((struct scn_power_note){
                .kind = SCN_POWER_CREATE, .file = file, .folder = folder, .name = copy_name(name)});
}

void scn_power_note_removal(uint32_t folder, ino_t number, const char *name, bool is_last)
{
        const uint32_t file = scn_power_find_number(number);
        cr_assert_neq(file, SCN_POWER_NONE, "%s was made behind the disk's back", name);
        add_note((struct scn_power_note){
                .kind = SCN_POWER_REMOVE, .file = file, .folder = folder, .name = copy_name(name)});
        if (is_last) {
                watched->files[file].number = 0;
        }
}

void scn_power_note_write(uint32_t file, const void *bytes, size_t size, size_t offset)
{
        struct scn_power_note note = {.kind = SCN_POWER_WRITE, .file = file, .offset = offset, .size = size};
        note.bytes = memcpy(scn_power_get_memory(NULL, size), bytes, size);
        add_note(note);
}

void scn_power_note(enum scn_power_kind kind, uint32_t file, size_t size)
{
        add_note((struct scn_power_note){.kind = kind, .file = file, .offset = size});
}

void scn_power_note_folder_sync(uint32_t folder)
{
        add_note((struct scn_power_note){.kind = SCN_POWER_SYNC_FOLDER, .file = SCN_POWER_NONE, .folder = folder});
}

void scn_power_note_rename(uint32_t file, uint32_t folder, const char *name, uint32_t folder_to, const char *name_to)
{
        add_note((struct scn_power_note){
                .kind = SCN_POWER_RENAME,
                .file = file,
                .folder = folder,
                .folder_to = folder_to,
                .name = copy_name(name),
                .name_to = copy_name(name_to),
        });
}

struct scn_power_disk *scn_power_watch(struct scn_power_disk *disk)
{
        struct scn_power_disk *before = watched;
        watched = disk;
        return before;
}

bool scn_power_is_watched(void)
{
        return watched != NULL;
}

bool scn_power_is_folder(uint32_t file)
{
        return watched->files[file].is_folder;
}

/* -------------------------------------------------------------- the watch */

void scn_power_read_file(struct scn_power_file *file, const char *path)
{
        FILE *stream = fopen(path, "rb");
        struct stat status;
        cr_assert_not_null(stream, "%s", path);
        cr_assert_eq(fstat(fileno(stream), &status), 0);
        file->size = (size_t)status.st_size;
        file->bytes = scn_power_get_memory(NULL, file->size);
        cr_assert_eq(fread(file->bytes, 1, file->size, stream), file->size);
        (void)fclose(stream);
}

/* Folders that are found are read after the one that they are in. */
static void read_folder(struct scn_power_disk *disk, uint32_t folder, const char *path, char (*paths)[PATH_MAX])
{
        DIR *stream = opendir(path);
        struct dirent *found;
        struct stat status;
        cr_assert_not_null(stream, "%s", path);
        while ((found = readdir(stream)) != NULL) {
                const size_t size = strlen(found->d_name);
                if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0 ||
                        strcmp(found->d_name, LOCK_FILE) == 0 ||
                        (size > 4 && strcmp(found->d_name + size - 4, "-shm") == 0)) {
                        continue;
                }
                cr_assert_eq(fstatat(dirfd(stream), found->d_name, &status, AT_SYMLINK_NOFOLLOW), 0);
                uint32_t file = 0;
                while (file < disk->files_count && disk->files[file].number != status.st_ino) {
                        file++;
                }
                const bool is_known = file < disk->files_count; /* by another name */
                file = is_known ? file : add_file(disk, status.st_ino, S_ISDIR(status.st_mode));
                cr_assert_lt(disk->entries_count, SCN_POWER_ENTRIES_MAX);
                struct scn_power_entry *entry = &disk->entries[disk->entries_count++];
                *entry = (struct scn_power_entry){.folder = folder, .file = file};
                (void)snprintf(entry->name, sizeof entry->name, "%s", found->d_name);
                char full[PATH_MAX + SCN_POWER_NAME_BYTES];
                cr_assert_lt(snprintf(full, sizeof full, "%s/%s", path, found->d_name), PATH_MAX);
                memcpy(paths[file], full, strlen(full) + 1);
                if (!is_known && !disk->files[file].is_folder) {
                        scn_power_read_file(&disk->files[file], full);
                }
        }
        (void)closedir(stream);
}

void scn_power_read_all(struct scn_power_disk *disk, const char *path)
{
        char(*paths)[PATH_MAX] = scn_power_get_memory(NULL, SCN_POWER_FILES_MAX * sizeof *paths);
        struct stat status;
        cr_assert_eq(stat(path, &status), 0, "%s", path);
        (void)add_file(disk, status.st_ino, true);
        (void)snprintf(paths[0], PATH_MAX, "%s", path);
        for (uint32_t i = 0; i < disk->files_count; i++) {
                if (disk->files[i].is_folder) {
                        read_folder(disk, i, paths[i], paths);
                }
        }
        free(paths);
}

struct scn_power_disk *scn_power_disk_create(const char *path)
{
        struct scn_power_disk *disk = calloc(1, sizeof *disk);
        cr_assert_not_null(disk);
        cr_assert_null(watched);
        scn_power_install();
        cr_assert_not_null(realpath(path, disk->path), "%s", path);
        scn_power_read_all(disk, disk->path);
        watched = disk;
        return disk;
}

void scn_power_disk_rest(struct scn_power_disk *disk)
{
        cr_assert_eq(watched, disk);
        watched = NULL;
}

void scn_power_disk_destroy(struct scn_power_disk *disk)
{
        if (watched == disk) {
                watched = NULL;
        }
        for (uint32_t i = 0; i < disk->count; i++) {
                free(disk->notes[i].bytes);
                free(disk->notes[i].name);
                free(disk->notes[i].name_to);
        }
        for (uint32_t i = 0; i < disk->files_count; i++) {
                free(disk->files[i].bytes);
        }
        free(disk->notes);
        free(disk);
}

uint32_t scn_power_disk_count(const struct scn_power_disk *disk)
{
        return disk->count;
}
