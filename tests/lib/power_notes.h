/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_POWER_NOTES_H
#define SCN_TESTS_LIB_POWER_NOTES_H

/* Between what asks the disk (power_calls.c) and what is noted of it (power_disk.c). */

#include "tests/lib/power_disk.h"

#include <limits.h>
#include <sys/types.h>

#define SCN_POWER_FILES_MAX 512u
#define SCN_POWER_ENTRIES_MAX 512u
#define SCN_POWER_NAME_BYTES 256u
#define SCN_POWER_NONE UINT32_MAX

enum scn_power_kind {
        SCN_POWER_WRITE,
        SCN_POWER_CUT,
        SCN_POWER_SYNC,
        SCN_POWER_LOSE,   /* a sync failed: what was to be synced is dropped */
        SCN_POWER_CREATE, /* or another name for what is there */
        SCN_POWER_REMOVE,
        SCN_POWER_RENAME,
        SCN_POWER_SYNC_FOLDER,
};

struct scn_power_note {
        enum scn_power_kind kind;
        uint32_t file;   /* or folder: both are numbered together */
        uint32_t folder; /* where a name is made, taken from, or synced */
        uint32_t folder_to;
        size_t offset; /* CUT: the size */
        size_t size;
        uint8_t *bytes;
        char *name;
        char *name_to;
};

struct scn_power_file {
        ino_t number; /* 0: gone, the system may give the number to another */
        bool is_folder;
        uint8_t *bytes; /* when the watch began */
        size_t size;
};

struct scn_power_entry {
        uint32_t folder;
        uint32_t file;
        char name[SCN_POWER_NAME_BYTES];
};

struct scn_power_disk {
        char path[PATH_MAX];
        struct scn_power_file files[SCN_POWER_FILES_MAX]; /* 0: the folder that is watched */
        uint32_t files_count;
        struct scn_power_entry entries[SCN_POWER_ENTRIES_MAX]; /* when the watch began */
        uint32_t entries_count;
        struct scn_power_note *notes;
        uint32_t count, capacity;
};

/* Makes SQLite's files go through power_calls.c from now on. */
void scn_power_install(void);

/* All of these: SCN_POWER_NONE, or nothing, if nobody watches. Files and folders are numbered together. */
uint32_t scn_power_find_number(ino_t number);
uint32_t scn_power_find_descriptor(int descriptor);
bool scn_power_is_folder(uint32_t file);
/* The folder that a path's last part is in, and that part. SCN_POWER_NONE: not one of ours. */
uint32_t scn_power_find_folder(int descriptor, const char *path, const char **name_out);
/* The number of what a name stands for, or 0; whether it has no other name. */
ino_t scn_power_number_of(int descriptor, const char *path, bool *is_last_out);

/* SYNC, LOSE; CUT with the size. */
void scn_power_note(enum scn_power_kind kind, uint32_t file, size_t size);
void scn_power_note_write(uint32_t file, const void *bytes, size_t size, size_t offset);
/* What has just been made under this name. */
uint32_t scn_power_note_creation(uint32_t folder, int descriptor, const char *path, const char *name);
void scn_power_note_link(uint32_t file, uint32_t folder, const char *name);
void scn_power_note_removal(uint32_t folder, ino_t number, const char *name, bool is_last);
void scn_power_note_rename(uint32_t file, uint32_t folder, const char *name, uint32_t folder_to, const char *name_to);
void scn_power_note_folder_sync(uint32_t folder);
bool scn_power_is_watched(void);
/* Watches another one, or none; gives the one before. */
struct scn_power_disk *scn_power_watch(struct scn_power_disk *disk);

/* Of at least one byte; asserts that there is memory. */
void *scn_power_get_memory(void *old, size_t size);
/* The bytes of a file, and all that is in a folder. */
void scn_power_read_file(struct scn_power_file *file, const char *path);
void scn_power_read_all(struct scn_power_disk *disk, const char *path);

#endif
