/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/shaky_disk.h"

#include "tests/lib/random.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MAX 16
#define SECTOR_BYTES 512u

struct scn_shaky scn_shaky;

/* --------------------------------------------------- what has been synced */

struct change {
        int64_t offset; /* -1: the file was cut to `size` */
        size_t size;
        uint8_t *bytes;
        struct change *next;
};

struct image {
        char path[512];
        uint8_t *bytes; /* as of the last sync */
        size_t size;
        struct change *first, **last; /* since then */
};

static struct image images[FILES_MAX];
static size_t images_count;

/* The block may be longer than the size: it grows by steps. */
static void resize(uint8_t **bytes, size_t *size, size_t wanted)
{
        const size_t step = (size_t)1 << 16;
        uint8_t *moved = *bytes;

        if (moved == NULL || (wanted + 1 + step - 1) / step != (*size + 1 + step - 1) / step)
                moved = realloc(*bytes, (wanted + 1 + step - 1) / step * step);
        if (moved == NULL)
                abort();
        if (wanted > *size)
                memset(moved + *size, 0, wanted - *size);
        *bytes = moved;
        *size = wanted;
}

static void read_image(struct image *image)
{
        FILE *file = fopen(image->path, "rb");

        if (file == NULL)
                return;
        fseek(file, 0, SEEK_END);
        resize(&image->bytes, &image->size, (size_t)ftell(file));
        rewind(file);
        if (image->size != 0 && fread(image->bytes, image->size, 1, file) != 1)
                abort();
        fclose(file);
}

static struct image *find_image(const char *path, bool may_add)
{
        for (size_t i = 0; i < images_count; i++) {
                if (strcmp(images[i].path, path) == 0)
                        return &images[i];
        }
        if (!may_add || images_count == FILES_MAX)
                return NULL;
        struct image *image = &images[images_count++];
        *image = (struct image){.last = &image->first};
        snprintf(image->path, sizeof image->path, "%s", path);
        return image;
}

static void drop_changes(struct image *image)
{
        while (image->first != NULL) {
                struct change *change = image->first;
                image->first = change->next;
                free(change->bytes);
                free(change);
        }
        image->last = &image->first;
}

static void note_change(const char *path, int64_t offset, const void *bytes, size_t size)
{
        struct image *image = find_image(path, true);
        struct change *change = calloc(1, sizeof *change);

        if (image == NULL || change == NULL)
                abort();
        *change = (struct change){.offset = offset, .size = size};
        if (bytes != NULL) {
                change->bytes = malloc(size);
                if (change->bytes == NULL)
                        abort();
                memcpy(change->bytes, bytes, size);
        }
        *image->last = change;
        image->last = &change->next;
}

/* random NULL: all of it. */
static void apply_change(uint8_t **bytes, size_t *size, const struct change *change, struct scn_random *random)
{
        if (change->offset < 0) {
                if (random == NULL || scn_random_chance(random, 50))
                        resize(bytes, size, change->size);
                return;
        }
        const size_t start = (size_t)change->offset;
        if (random == NULL && start + change->size > *size)
                resize(bytes, size, start + change->size);
        for (size_t at = 0; at < change->size; at += SECTOR_BYTES) {
                const size_t piece = change->size - at < SECTOR_BYTES ? change->size - at : SECTOR_BYTES;
                if (random != NULL && !scn_random_chance(random, 50))
                        continue;
                if (start + at + piece > *size)
                        resize(bytes, size, start + at + piece);
                memcpy(*bytes + start + at, change->bytes + at, piece);
        }
}

static void note_sync(const char *path)
{
        struct image *image = find_image(path, true);

        if (image == NULL)
                abort();
        for (const struct change *change = image->first; change != NULL; change = change->next)
                apply_change(&image->bytes, &image->size, change, NULL);
        drop_changes(image);
}

static void forget(struct image *image)
{
        drop_changes(image);
        free(image->bytes);
        *image = images[--images_count];
        if (image->first == NULL)
                image->last = &image->first;
}

void scn_shaky_cut_synced(const char *path, size_t size)
{
        struct image *image = find_image(path, false);

        if (image == NULL || size > image->size)
                abort();
        resize(&image->bytes, &image->size, size);
}

void scn_shaky_reset(void)
{
        while (images_count != 0)
                forget(&images[0]);
        scn_shaky = (struct scn_shaky){0};
}

void scn_shaky_lose_power(const char *from, const char *to, uint64_t seed)
{
        struct scn_random random = scn_random_from_seed(seed);

        for (size_t i = 0; i < images_count; i++) {
                const char *name = strrchr(images[i].path, '/');
                char path[1024];
                if (strncmp(images[i].path, from, strlen(from)) != 0)
                        continue;
                uint8_t *bytes = NULL;
                size_t size = 0;
                resize(&bytes, &size, images[i].size);
                if (size != 0)
                        memcpy(bytes, images[i].bytes, size);
                for (const struct change *change = images[i].first; change != NULL; change = change->next)
                        apply_change(&bytes, &size, change, &random);
                snprintf(path, sizeof path, "%s%s", to, name);
                FILE *file = fopen(path, "wb");
                if (file == NULL || (size != 0 && fwrite(bytes, size, 1, file) != 1) || fclose(file) != 0)
                        abort();
                free(bytes);
        }
}

/* ------------------------------------------------------------ the decision */

/* Whether the operation shall fail. `count` is the number that fault_at means. */
static bool strikes(enum scn_shaky_fault kind, uint64_t count, const char *path)
{
        if (scn_shaky.fault != kind || scn_shaky.fault_at == 0)
                return false;
        if (scn_shaky.only != NULL) {
                const size_t size = strlen(path), ending = strlen(scn_shaky.only);
                if (size < ending || strcmp(path + size - ending, scn_shaky.only) != 0)
                        return false;
        }
        if (count != scn_shaky.fault_at && !(scn_shaky.is_sticky && count > scn_shaky.fault_at))
                return false;
        scn_shaky.has_struck = true;
        return true;
}

static bool is_dead(const char *path)
{
        scn_shaky.operations++;
        if (scn_shaky.fault == SCN_SHAKY_DEAD && scn_shaky.has_struck)
                return true;
        return strikes(SCN_SHAKY_DEAD, scn_shaky.operations, path);
}

/* ------------------------------------------------------------------- files */

struct shaky_file {
        sqlite3_file base;
        const char *path;
        sqlite3_file *real;
};

static sqlite3_file *real_of(sqlite3_file *file)
{
        return ((struct shaky_file *)file)->real;
}

static int shaky_close(sqlite3_file *file)
{
        return real_of(file)->pMethods->xClose(real_of(file));
}

static int shaky_read(sqlite3_file *file, void *bytes, int size, sqlite3_int64 offset)
{
        return real_of(file)->pMethods->xRead(real_of(file), bytes, size, offset);
}

static int shaky_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset)
{
        struct shaky_file *shaky = (struct shaky_file *)file;
        int failure = SQLITE_OK;

        scn_shaky.writes++;
        if (is_dead(shaky->path))
                return SQLITE_IOERR_WRITE;
        if (strikes(SCN_SHAKY_FULL, scn_shaky.writes, shaky->path))
                return SQLITE_FULL;
        if (strikes(SCN_SHAKY_SHORT_WRITE, scn_shaky.writes, shaky->path)) {
                size /= 2;
                failure = SQLITE_IOERR_WRITE;
        }
        const int code = shaky->real->pMethods->xWrite(shaky->real, bytes, size, offset);
        if (code == SQLITE_OK)
                note_change(shaky->path, offset, bytes, (size_t)size);
        return code != SQLITE_OK ? code : failure;
}

static int shaky_truncate(sqlite3_file *file, sqlite3_int64 size)
{
        struct shaky_file *shaky = (struct shaky_file *)file;

        if (is_dead(shaky->path))
                return SQLITE_IOERR_TRUNCATE;
        const int code = shaky->real->pMethods->xTruncate(shaky->real, size);
        if (code == SQLITE_OK)
                note_change(shaky->path, -1, NULL, (size_t)size);
        return code;
}

static int shaky_sync(sqlite3_file *file, int flags)
{
        struct shaky_file *shaky = (struct shaky_file *)file;
        (void)flags; /* nothing is really synced: the tests act out what would be lost */

        scn_shaky.syncs++;
        if (is_dead(shaky->path))
                return SQLITE_IOERR_FSYNC;
        if (strikes(SCN_SHAKY_SYNC_FAILS, scn_shaky.syncs, shaky->path)) {
                /* The system has dropped what it could not write, and will not try again. */
                struct image *image = find_image(shaky->path, true);
                if (image != NULL)
                        drop_changes(image);
                return SQLITE_IOERR_FSYNC;
        }
        note_sync(shaky->path);
        return SQLITE_OK;
}

static int shaky_file_size(sqlite3_file *file, sqlite3_int64 *size)
{
        return real_of(file)->pMethods->xFileSize(real_of(file), size);
}

static int shaky_lock(sqlite3_file *file, int lock)
{
        return real_of(file)->pMethods->xLock(real_of(file), lock);
}

static int shaky_unlock(sqlite3_file *file, int lock)
{
        return real_of(file)->pMethods->xUnlock(real_of(file), lock);
}

static int shaky_check_reserved(sqlite3_file *file, int *result)
{
        return real_of(file)->pMethods->xCheckReservedLock(real_of(file), result);
}

static int shaky_control(sqlite3_file *file, int operation, void *argument)
{
        return real_of(file)->pMethods->xFileControl(real_of(file), operation, argument);
}

static int shaky_sector_size(sqlite3_file *file)
{
        return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int shaky_characteristics(sqlite3_file *file)
{
        return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int shaky_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **memory)
{
        return real_of(file)->pMethods->xShmMap(real_of(file), page, size, extend, memory);
}

static int shaky_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
        return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}

static void shaky_shm_barrier(sqlite3_file *file)
{
        real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int shaky_shm_unmap(sqlite3_file *file, int is_deleted)
{
        return real_of(file)->pMethods->xShmUnmap(real_of(file), is_deleted);
}

static const sqlite3_io_methods shaky_methods = {
        .iVersion = 2,
        .xClose = shaky_close,
        .xRead = shaky_read,
        .xWrite = shaky_write,
        .xTruncate = shaky_truncate,
        .xSync = shaky_sync,
        .xFileSize = shaky_file_size,
        .xLock = shaky_lock,
        .xUnlock = shaky_unlock,
        .xCheckReservedLock = shaky_check_reserved,
        .xFileControl = shaky_control,
        .xSectorSize = shaky_sector_size,
        .xDeviceCharacteristics = shaky_characteristics,
        .xShmMap = shaky_shm_map,
        .xShmLock = shaky_shm_lock,
        .xShmBarrier = shaky_shm_barrier,
        .xShmUnmap = shaky_shm_unmap,
};

/* -------------------------------------------------------------------- VFS */

static sqlite3_vfs shaky_vfs;

static sqlite3_vfs *real_vfs(void)
{
        return shaky_vfs.pAppData;
}

static int shaky_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *flags_out)
{
        struct shaky_file *shaky = (struct shaky_file *)file;
        (void)vfs;

        *shaky = (struct shaky_file){.path = path != NULL ? path : "", .real = (sqlite3_file *)(shaky + 1)};
        /* Before SQLite has it open: closing a file drops the locks that the process has on it. */
        if (path != NULL && find_image(path, false) == NULL)
                read_image(find_image(path, true));
        const int code = real_vfs()->xOpen(real_vfs(), path, shaky->real, flags, flags_out);
        if (shaky->real->pMethods != NULL)
                shaky->base.pMethods = &shaky_methods;
        return code;
}

static int shaky_delete(sqlite3_vfs *vfs, const char *path, int sync_directory)
{
        struct image *image = find_image(path, false);
        (void)vfs;

        if (is_dead(path))
                return SQLITE_IOERR_DELETE;
        const int code = real_vfs()->xDelete(real_vfs(), path, sync_directory);
        if (code == SQLITE_OK && image != NULL)
                forget(image);
        return code;
}

void scn_shaky_install(void)
{
        sqlite3_vfs *usual = sqlite3_vfs_find(NULL);

        if (usual == &shaky_vfs)
                return;
        shaky_vfs = *usual;
        shaky_vfs.zName = "shaky";
        shaky_vfs.pNext = NULL;
        shaky_vfs.pAppData = usual;
        shaky_vfs.szOsFile = (int)sizeof(struct shaky_file) + usual->szOsFile;
        shaky_vfs.xOpen = shaky_open;
        shaky_vfs.xDelete = shaky_delete;
        sqlite3_vfs_register(&shaky_vfs, 1);
}
