/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _DEFAULT_SOURCE /* htole64() */
#include "storage/checksum.h"

#include "protocol/base/alloc.h"

#include <endian.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define STATE_ALIGNMENT 64

bool scn_checksum_init(struct scn_checksum *checksum)
{
        scn_checksum_reset(checksum);
        checksum->state = scn_alloc_aligned(STATE_ALIGNMENT, sizeof(XXH3_state_t));
        return checksum->state != NULL;
}

void scn_checksum_finish(struct scn_checksum *checksum)
{
        scn_free(checksum->state);
        checksum->state = NULL;
}

void scn_checksum_reset(struct scn_checksum *checksum)
{
        checksum->is_streaming = false;
        checksum->size = 0;
}

static void empty_buffer(struct scn_checksum *checksum)
{
        if (!checksum->is_streaming)
                XXH3_64bits_reset(checksum->state);
        checksum->is_streaming = true;
        XXH3_64bits_update(checksum->state, checksum->buffer, checksum->size);
        checksum->size = 0;
}

static inline void add_integer(struct scn_checksum *checksum, int64_t value)
{
        if (sizeof checksum->buffer - checksum->size < sizeof value)
                empty_buffer(checksum);
        const uint64_t little = htole64((uint64_t)value);
        memcpy(checksum->buffer + checksum->size, &little, sizeof little);
        checksum->size += sizeof little;
}

void scn_checksum_integer(struct scn_checksum *checksum, int64_t value)
{
        add_integer(checksum, value);
}

void scn_checksum_integers(struct scn_checksum *checksum, const int64_t *values, size_t count)
{
        for (size_t i = 0; i < count; i++)
                add_integer(checksum, values[i]);
}

void scn_checksum_bytes(struct scn_checksum *checksum, struct scn_slice bytes)
{
        add_integer(checksum, bytes.data != NULL ? (int64_t)bytes.size : -1);
        if (bytes.size > sizeof checksum->buffer - checksum->size)
                empty_buffer(checksum);
        if (bytes.size > sizeof checksum->buffer) {
                XXH3_64bits_update(checksum->state, bytes.data, bytes.size);
        } else if (bytes.size != 0) {
                memcpy(checksum->buffer + checksum->size, bytes.data, bytes.size);
                checksum->size += bytes.size;
        }
}

int64_t scn_checksum_take(struct scn_checksum *checksum)
{
        uint64_t sum;

        if (checksum->is_streaming) {
                empty_buffer(checksum);
                sum = XXH3_64bits_digest(checksum->state);
        } else {
                sum = XXH3_64bits(checksum->buffer, checksum->size);
        }
        scn_checksum_reset(checksum);
        /* The same bits; gcc and clang wrap when a number does not fit. */
        return (int64_t)sum;
}
