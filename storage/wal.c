/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "storage/wal.h"

#include "storage/database.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x377f0682u /* or with the lowest bit set: how its sums are made */
#define FRAME_HEAD_BYTES (SCN_DATABASE_WAL_FRAME_BYTES - SCN_DATABASE_PAGE_BYTES)
#define SALT_BYTES 8u
/* A file that reaches 1 GiB has a page there that belongs to nobody and has no frame. */
#define PAGES_WITH_ALL_FRAMES ((UINT64_C(1) << 30) / SCN_DATABASE_PAGE_BYTES)

static uint32_t number_at(const uint8_t *at)
{
        return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static bool read_at(int fd, uint64_t offset, uint8_t *bytes, size_t size)
{
        return pread(fd, bytes, size, (off_t)offset) == (ssize_t)size;
}

/* Frames up to one of another time, or of none: what is behind it is not valid either. */
uint64_t scn_wal_file_bytes_min(int fd)
{
        uint8_t head[SCN_DATABASE_WAL_HEAD_BYTES], frame[FRAME_HEAD_BYTES];
        uint64_t offset = sizeof head, frames = 0, least = 0;
        bool has_commit = false;

        if (!read_at(fd, 0, head, sizeof head) || (number_at(head) & ~1u) != MAGIC ||
                number_at(head + 8) != SCN_DATABASE_PAGE_BYTES)
                return 0;
        for (; read_at(fd, offset, frame, sizeof frame) && number_at(frame) != 0 &&
                memcmp(frame + 8, head + 16, SALT_BYTES) == 0;
                offset += SCN_DATABASE_WAL_FRAME_BYTES) {
                const uint64_t pages = number_at(frame + 4); /* with this commit; 0: it is not its last frame */
                frames += !has_commit;
                if (pages == 0)
                        continue;
                const uint64_t added = has_commit ? 0 : frames + (pages > PAGES_WITH_ALL_FRAMES);
                const uint64_t had = pages > added ? pages - added : 0;
                least = !has_commit || had < least ? had : least;
                has_commit = true;
        }
        return least * SCN_DATABASE_PAGE_BYTES;
}

bool scn_wal_is_strange(int directory_fd, const char *document)
{
        char wal[SCN_DATABASE_PATH_BYTES];
        struct stat status;

        if ((size_t)snprintf(wal, sizeof wal, "%s-wal", document) >= sizeof wal)
                return false;
        const int fd = openat(directory_fd, wal, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0)
                return false;
        const bool is_file = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
        const uint64_t least = is_file ? scn_wal_file_bytes_min(fd) : 0;
        close(fd);
        return fstatat(directory_fd, document, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
                status.st_size > 0 && (uint64_t)status.st_size < least;
}
