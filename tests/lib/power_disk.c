/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE

/* What is left of a disk, computed from the notes of what was asked of it. */

#include "tests/lib/power_notes.h"
#include "tests/lib/random.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTOR_BYTES 512u

const char *scn_power_disk_name(const struct scn_power_disk *disk, uint32_t at)
{
        static const char *const kinds[] = {
                "write", "cut", "sync", "failed sync", "create", "remove", "rename", "sync"};
        static char text[3 * SCN_POWER_NAME_BYTES];
        if (at >= disk->count) {
                return "the end";
        }
        const struct scn_power_note *note = &disk->notes[at];
        const char *name = note->name != NULL ? note->name : "a folder";
        for (uint32_t i = 0; i <= at && note->name == NULL; i++) {
                const struct scn_power_note *other = &disk->notes[i];
                if (other->file == note->file && other->name != NULL && note->kind != SCN_POWER_SYNC_FOLDER) {
                        name = other->name_to != NULL ? other->name_to : other->name;
                }
        }
        (void)snprintf(text, sizeof text, "%s %s%s%s", kinds[note->kind], name, note->name_to != NULL ? " to " : "",
                note->name_to != NULL ? note->name_to : "");
        return text;
}

/* ------------------------------------------------------ what the disk holds */

struct content {
        uint8_t *bytes;
        size_t size, capacity;
};

struct state {
        struct content *files;
        struct scn_power_entry *entries;
        uint32_t entries_count;
};

static void resize(struct content *content, size_t size)
{
        if (size > content->capacity) {
                content->capacity = 2 * size;
                content->bytes = scn_power_get_memory(content->bytes, content->capacity);
        }
        if (size > content->size) {
                memset(content->bytes + content->size, 0, size - content->size);
        }
        content->size = size;
}

static void put(struct content *content, const uint8_t *bytes, size_t size, size_t offset)
{
        if (size == 0) {
                return;
        }
        if (offset + size > content->size) {
                resize(content, offset + size);
        }
        memcpy(content->bytes + offset, bytes, size);
}

static void take_name(struct state *state, uint32_t folder, const char *name, uint32_t file)
{
        for (uint32_t i = 0; i < state->entries_count; i++) {
                struct scn_power_entry *entry = &state->entries[i];
                if (entry->folder == folder && strcmp(entry->name, name) == 0 &&
                        (file == SCN_POWER_NONE || entry->file == file)) {
                        *entry = state->entries[--state->entries_count];
                        return;
                }
        }
}

static void put_name(struct state *state, uint32_t folder, const char *name, uint32_t file)
{
        take_name(state, folder, name, SCN_POWER_NONE);
        cr_assert_lt(state->entries_count, SCN_POWER_ENTRIES_MAX);
        struct scn_power_entry *entry = &state->entries[state->entries_count++];
        *entry = (struct scn_power_entry){.folder = folder, .file = file};
        (void)snprintf(entry->name, sizeof entry->name, "%s", name);
}

static void begin_state(const struct scn_power_disk *disk, struct state *state)
{
        state->files = calloc(SCN_POWER_FILES_MAX, sizeof *state->files);
        state->entries = scn_power_get_memory(NULL, SCN_POWER_ENTRIES_MAX * sizeof *state->entries);
        cr_assert_not_null(state->files);
        for (uint32_t i = 0; i < disk->files_count; i++) {
                put(&state->files[i], disk->files[i].bytes, disk->files[i].size, 0);
        }
        memcpy(state->entries, disk->entries, disk->entries_count * sizeof *state->entries);
        state->entries_count = disk->entries_count;
}

static void end_state(struct state *state)
{
        for (uint32_t i = 0; i < SCN_POWER_FILES_MAX; i++) {
                free(state->files[i].bytes);
        }
        free(state->files);
        free(state->entries);
}

/* How much of a note is on the disk. */
enum fate {
        GONE,
        THERE,
        PENDING,
        TAKEN, /* a rename: the new name was synced, the old one may still be there */
        LEFT,  /* the other way round */
};

static void write_pieces(struct content *content, const struct scn_power_note *note, struct scn_random *random)
{
        for (size_t at = 0; at < note->size; at += SECTOR_BYTES) {
                const size_t size = note->size - at < SECTOR_BYTES ? note->size - at : SECTOR_BYTES;
                if (scn_random_chance(random, 50)) {
                        put(content, note->bytes + at, size, note->offset + at);
                }
        }
}

static void apply(struct state *state, const struct scn_power_note *note)
{
        switch (note->kind) {
        case SCN_POWER_WRITE:
                put(&state->files[note->file], note->bytes, note->size, note->offset);
                break;
        case SCN_POWER_CUT:
                resize(&state->files[note->file], note->offset);
                break;
        case SCN_POWER_CREATE:
                put_name(state, note->folder, note->name, note->file);
                break;
        case SCN_POWER_REMOVE:
                take_name(state, note->folder, note->name, note->file);
                break;
        case SCN_POWER_RENAME:
                take_name(state, note->folder, note->name, note->file);
                put_name(state, note->folder_to, note->name_to, note->file);
                break;
        case SCN_POWER_SYNC:
        case SCN_POWER_LOSE:
        case SCN_POWER_SYNC_FOLDER:
                break;
        }
}

static enum fate fate_of_rename(const struct scn_power_note *note, const bool *is_synced)
{
        if (is_synced[note->folder] && is_synced[note->folder_to]) {
                return THERE;
        }
        return is_synced[note->folder_to] ? TAKEN : is_synced[note->folder] ? LEFT : PENDING;
}

/* What each note's fate is if the power goes after `at` of them. */
static void find_fates(const struct scn_power_disk *disk, uint32_t at, enum fate *fates)
{
        bool is_synced[SCN_POWER_FILES_MAX] = {false}, is_lost[SCN_POWER_FILES_MAX] = {false};
        for (uint32_t i = at; i-- > 0;) {
                const struct scn_power_note *note = &disk->notes[i];
                switch (note->kind) {
                case SCN_POWER_WRITE:
                case SCN_POWER_CUT:
                        fates[i] = is_synced[note->file] ? THERE : is_lost[note->file] ? GONE : PENDING;
                        break;
                case SCN_POWER_SYNC:
                case SCN_POWER_LOSE:
                        is_synced[note->file] = note->kind == SCN_POWER_SYNC;
                        is_lost[note->file] = note->kind == SCN_POWER_LOSE;
                        break;
                case SCN_POWER_CREATE:
                case SCN_POWER_REMOVE:
                        fates[i] = is_synced[note->folder] ? THERE : PENDING;
                        break;
                case SCN_POWER_RENAME:
                        fates[i] = fate_of_rename(note, is_synced);
                        break;
                case SCN_POWER_SYNC_FOLDER:
                        is_synced[note->folder] = true;
                        break;
                }
        }
}

/* Half of a rename: the new name is there beside the old one, or the old one is gone and the new one not there. */
static void apply_half(struct state *state, const struct scn_power_note *note, bool is_new)
{
        if (is_new) {
                put_name(state, note->folder_to, note->name_to, note->file);
        } else {
                take_name(state, note->folder, note->name, note->file);
        }
}

/* What is not on the disk for sure, when anything of it may be. */
static void apply_some(
        struct state *state, const struct scn_power_note *note, enum fate fate, struct scn_random *random)
{
        if (note->kind == SCN_POWER_WRITE) {
                write_pieces(&state->files[note->file], note, random);
        } else if (note->kind == SCN_POWER_RENAME && note->folder != note->folder_to) {
                /* A file that is moved is never without any name. */
                if (fate == TAKEN || scn_random_chance(random, 60)) {
                        apply_half(state, note, true);
                        if (scn_random_chance(random, 50)) {
                                apply_half(state, note, false);
                        }
                }
        } else if (scn_random_chance(random, 50)) {
                apply(state, note);
        }
}

/* The last one in time, of which a part is there. */
static uint32_t choose_torn(const enum fate *fates, uint32_t at, struct scn_random *random)
{
        uint32_t pending = 0;
        for (uint32_t i = 0; i < at; i++) {
                pending += fates[i] == PENDING || fates[i] == TAKEN;
        }
        /* The very last operation is the likeliest to be under way. */
        uint32_t left = pending < 2 || scn_random_chance(random, 50) ? 1 : 1 + scn_random_below(random, pending);
        for (uint32_t i = at; i-- > 0;) {
                if ((fates[i] == PENDING || fates[i] == TAKEN) && --left == 0) {
                        return i;
                }
        }
        return at;
}

static void apply_torn(struct state *state, const struct scn_power_note *note, struct scn_random *random)
{
        if (note->kind == SCN_POWER_WRITE) {
                const size_t size = scn_random_below(random, (uint32_t)note->size + 1);
                put(&state->files[note->file], note->bytes, size, note->offset);
        } else if (scn_random_chance(random, 50)) {
                apply(state, note);
        }
}

static void replay(
        const struct scn_power_disk *disk, uint32_t at, enum scn_power_loss loss, uint64_t seed, struct state *state)
{
        struct scn_random random = scn_random_from_seed(seed);
        enum fate *fates = scn_power_get_memory(NULL, at * sizeof *fates);
        for (uint32_t i = 0; i < at; i++) {
                fates[i] = GONE;
        }
        find_fates(disk, at, fates);
        const uint32_t torn = loss == SCN_POWER_TEAR ? choose_torn(fates, at, &random) : at;
        for (uint32_t i = 0; i < at; i++) {
                const struct scn_power_note *note = &disk->notes[i];
                if (fates[i] == THERE || (fates[i] != GONE && loss != SCN_POWER_REORDER && i < torn)) {
                        if (fates[i] == THERE || loss != SCN_POWER_FORGET) {
                                apply(state, note);
                                continue;
                        }
                }
                if (fates[i] == GONE) {
                        continue;
                }
                if (loss == SCN_POWER_REORDER) {
                        apply_some(state, note, fates[i], &random);
                } else if (i == torn) {
                        apply_torn(state, note, &random);
                } else if (fates[i] == TAKEN || fates[i] == LEFT) {
                        apply_half(state, note, fates[i] == TAKEN);
                }
        }
        free(fates);
}

static void write_entries(const struct scn_power_disk *disk, const struct state *state, uint32_t folder,
        const char *path, char (*paths)[PATH_MAX])
{
        for (uint32_t i = 0; i < state->entries_count; i++) {
                const struct scn_power_entry *entry = &state->entries[i];
                const struct content *content = &state->files[entry->file];
                char name[PATH_MAX + SCN_POWER_NAME_BYTES];
                if (entry->folder != folder) {
                        continue;
                }
                cr_assert_lt(snprintf(name, sizeof name, "%s/%s", path, entry->name), PATH_MAX);
                if (paths[entry->file][0] != '\0') {
                        cr_assert_eq(link(paths[entry->file], name), 0, "%s", name);
                        continue;
                }
                memcpy(paths[entry->file], name, strlen(name) + 1);
                if (disk->files[entry->file].is_folder) {
                        cr_assert_eq(mkdir(name, 0700), 0, "%s", name);
                        continue;
                }
                FILE *stream = fopen(name, "wb");
                cr_assert_not_null(stream, "%s", name);
                cr_assert_eq(fchmod(fileno(stream), 0600), 0);
                cr_assert(content->size == 0 || fwrite(content->bytes, content->size, 1, stream) == 1);
                cr_assert_eq(fclose(stream), 0);
        }
}

void scn_power_disk_cut(
        const struct scn_power_disk *disk, uint32_t at, enum scn_power_loss loss, uint64_t seed, const char *path)
{
        struct scn_power_disk *was_watched = scn_power_watch(NULL); /* what is done here is not the disk's */
        struct state state;
        char(*paths)[PATH_MAX] = calloc(SCN_POWER_FILES_MAX, sizeof *paths);
        cr_assert_not_null(paths);
        cr_assert_leq(at, disk->count);
        begin_state(disk, &state);
        replay(disk, at, loss, seed, &state);
        (void)snprintf(paths[0], PATH_MAX, "%s", path);
        for (uint32_t i = 0; i < disk->files_count; i++) {
                if (disk->files[i].is_folder && paths[i][0] != '\0') {
                        write_entries(disk, &state, i, paths[i], paths);
                }
        }
        end_state(&state);
        free(paths);
        (void)scn_power_watch(was_watched);
}

static void compare_entry(const struct state *state, uint32_t file, const char *path)
{
        struct scn_power_file found = {0};
        scn_power_read_file(&found, path);
        cr_assert_eq(found.size, state->files[file].size, "%s has %zu bytes, %zu are noted", path, found.size,
                state->files[file].size);
        cr_assert(found.size == 0 || memcmp(found.bytes, state->files[file].bytes, found.size) == 0,
                "%s: what is noted differs", path);
        free(found.bytes);
}

void scn_power_disk_check(const struct scn_power_disk *disk)
{
        struct scn_power_disk *now = calloc(1, sizeof *now);
        struct state state;
        begin_state(disk, &state);
        replay(disk, disk->count, SCN_POWER_KEEP, 0, &state);
        char(*paths)[PATH_MAX] = calloc(SCN_POWER_FILES_MAX, sizeof *paths);
        cr_assert(now != NULL && paths != NULL);
        scn_power_read_all(now, disk->path);
        cr_assert_eq(now->entries_count, state.entries_count, "%u names, %u are noted", now->entries_count,
                state.entries_count);
        (void)snprintf(paths[0], PATH_MAX, "%s", disk->path);
        for (uint32_t i = 0; i < disk->files_count; i++) {
                for (uint32_t k = 0; k < state.entries_count && disk->files[i].is_folder; k++) {
                        const struct scn_power_entry *entry = &state.entries[k];
                        if (entry->folder != i) {
                                continue;
                        }
                        char path[PATH_MAX + SCN_POWER_NAME_BYTES];
                        cr_assert_lt(snprintf(path, sizeof path, "%s/%s", paths[i], entry->name), PATH_MAX);
                        memcpy(paths[entry->file], path, strlen(path) + 1);
                        if (!disk->files[entry->file].is_folder) {
                                compare_entry(&state, entry->file, paths[entry->file]);
                        }
                }
        }
        end_state(&state);
        free(paths);
        scn_power_disk_destroy(now);
}
