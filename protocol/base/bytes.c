/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/base/bytes.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"

#include <string.h>

#define BYTES_MIN ((size_t)64)
#define DOUBLED_BYTES_MAX ((size_t)1 << 20)

void scn_buffer_init(struct scn_buffer *buffer, size_t size_max)
{
        *buffer = (struct scn_buffer){.size_max = size_max};
}

void scn_buffer_finish(struct scn_buffer *buffer)
{
        scn_free(buffer->data);
        *buffer = (struct scn_buffer){0};
}

void scn_buffer_reset(struct scn_buffer *buffer)
{
        buffer->size = 0;
}

enum scn_error scn_buffer_reserve(struct scn_buffer *buffer, size_t extra)
{
        SCN_ASSERT(buffer->size <= buffer->size_max);
        if (extra > buffer->size_max - buffer->size)
                return SCN_E_TOO_LARGE;
        /* From a line of memory on it doubles for long: what is packed into it comes a few bytes at a time. */
        size_t wanted = buffer->size + extra;
        if (wanted > buffer->capacity) {
                const size_t doubled = buffer->capacity < DOUBLED_BYTES_MAX ? 2 * buffer->capacity : 0;
                wanted = wanted < doubled ? doubled : wanted;
                wanted = wanted < BYTES_MIN ? BYTES_MIN : wanted;
                wanted = wanted < buffer->size_max ? wanted : buffer->size_max;
        }
        if (!scn_grow((void **)&buffer->data, &buffer->capacity, 1, wanted, buffer->size_max))
                return SCN_E_NO_MEMORY;
        return SCN_OK;
}

enum scn_error scn_buffer_append(struct scn_buffer *buffer, const void *data, size_t size)
{
        if (buffer->capacity - buffer->size < size) {
                const enum scn_error error = scn_buffer_reserve(buffer, size);
                if (error != SCN_OK)
                        return error;
        }
        /* Nothing may have no address, and memcpy must not be given one. */
        if (size != 0)
                memcpy(buffer->data + buffer->size, data, size);
        buffer->size += size;
        return SCN_OK;
}

bool scn_slice_equal(struct scn_slice left, struct scn_slice right)
{
        return left.size == right.size && (left.size == 0 || memcmp(left.data, right.data, left.size) == 0);
}

bool scn_slice_copy(struct scn_slice from, struct scn_slice *copy_out)
{
        uint8_t *bytes = scn_alloc(from.size);
        if (bytes == NULL)
                return false;
        if (from.size > 0)
                memcpy(bytes, from.data, from.size);
        *copy_out = (struct scn_slice){bytes, from.size};
        return true;
}

/* How many bytes the form that begins with this byte has; 0 if none begins so. The second byte, the only one
 * whose range depends on the first, must lie within *low .. *high. */
static size_t utf8_form(uint8_t first, uint8_t *low, uint8_t *high)
{
        *low = 0x80;
        *high = 0xbf;
        if (first <= 0x7f)
                return 1;
        if (first >= 0xc2 && first <= 0xdf) /* C0 and C1 could only spell what one byte can */
                return 2;
        if (first >= 0xe0 && first <= 0xef) {
                if (first == 0xe0)
                        *low = 0xa0; /* below: two bytes would do */
                if (first == 0xed)
                        *high = 0x9f; /* above: surrogates */
                return 3;
        }
        if (first >= 0xf0 && first <= 0xf4) {
                if (first == 0xf0)
                        *low = 0x90; /* below: three bytes would do */
                if (first == 0xf4)
                        *high = 0x8f; /* above: beyond U+10FFFF */
                return 4;
        }
        return 0;
}

static bool are_ascii8(const uint8_t *data)
{
        uint64_t word;
        memcpy(&word, data, sizeof word);
        return (word & UINT64_C(0x8080808080808080)) == 0;
}

bool scn_utf8_is_valid(const uint8_t *data, size_t size)
{
        size_t at = 0;

        while (at < size) {
                /* Most names are plain ASCII. */
                if (size - at >= 8 && are_ascii8(data + at)) {
                        at += 8;
                        continue;
                }
                uint8_t low, high;
                size_t length = utf8_form(data[at], &low, &high);
                if (length == 0 || length > size - at)
                        return false;
                if (length >= 2 && (data[at + 1] < low || data[at + 1] > high))
                        return false;
                for (size_t i = 2; i < length; i++)
                        if ((data[at + i] & 0xc0) != 0x80)
                                return false;
                at += length;
        }
        return true;
}

static bool is_control(uint32_t character)
{
        return character < 0x20 || (character >= 0x7f && character <= 0x9f) || character == 0x061c ||
                (character >= 0x200e && character <= 0x200f) || (character >= 0x2028 && character <= 0x202e) ||
                (character >= 0x2066 && character <= 0x2069);
}

uint32_t scn_utf8_control_bytes(const uint8_t *at, size_t left, uint32_t *character_out)
{
        uint32_t size = 1;

        *character_out = at[0];
        if (left >= 2 && (at[0] & 0xe0) == 0xc0 && (at[1] & 0xc0) == 0x80) {
                size = 2;
                *character_out = (at[0] & 0x1fu) << 6 | (at[1] & 0x3fu);
        } else if (left >= 3 && (at[0] & 0xf0) == 0xe0 && (at[1] & 0xc0) == 0x80 && (at[2] & 0xc0) == 0x80) {
                size = 3;
                *character_out = (at[0] & 0x0fu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
        } else if (at[0] >= 0x80) {
                return 0;
        }
        return is_control(*character_out) ? size : 0;
}
