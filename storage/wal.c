/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "storage/wal.h"

#include "storage/database.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define MAGIC 0x377f0682u /* or with the lowest bit set: how its sums are made */
#define FRAME_HEAD_BYTES (SCN_DATABASE_WAL_FRAME_BYTES - SCN_DATABASE_PAGE_BYTES)
#define SALT_BYTES 8u
/* Where a file reaches 1 GiB, one page belongs to nobody and has no frame. */
#define PAGES_WITHOUT_FRAME 1u

static uint32_t number_at(const uint8_t *at)
{
        return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static bool read_at(int fd, uint64_t offset, uint8_t *bytes, size_t size)
{
        return pread(fd, bytes, size, (off_t)offset) == (ssize_t)size;
}

uint64_t scn_wal_file_bytes_min(int fd)
{
        uint8_t head[SCN_DATABASE_WAL_HEAD_BYTES], frame[FRAME_HEAD_BYTES];
        uint64_t offset = sizeof head, frames = PAGES_WITHOUT_FRAME, pages = 0;

        if (!read_at(fd, 0, head, sizeof head) || (number_at(head) & ~1u) != MAGIC ||
                number_at(head + 8) != SCN_DATABASE_PAGE_BYTES)
                return 0;
        for (; pages == 0; offset += SCN_DATABASE_WAL_FRAME_BYTES, frames++) {
                /* A frame of another time, or of none: no commit was ended, and nothing is in it. */
                if (!read_at(fd, offset, frame, sizeof frame) || memcmp(frame + 8, head + 16, SALT_BYTES) != 0)
                        return 0;
                pages = number_at(frame + 4);
        }
        return pages > frames ? (pages - frames) * SCN_DATABASE_PAGE_BYTES : 0;
}
