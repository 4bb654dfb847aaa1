/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The only file that uses msgpack-c. */

#include "protocol/wire/pack.h"

#include "protocol/base/assert.h"

#include <math.h>
#include <msgpack.h>
#include <string.h>

/* --- Writing --- */

static int append(void *data, const char *bytes, size_t size)
{
        struct scn_packer *packer = data;
        if (packer->error == SCN_OK) {
                packer->error = scn_buffer_append(packer->buffer, bytes, size);
        }
        return packer->error == SCN_OK ? 0 : -1;
}

/* What is written most is spelled here, in place: short heads, and what has a size known before. NULL: an error. */
static inline uint8_t *take_room(struct scn_packer *packer, size_t size)
{
        struct scn_buffer *buffer = packer->buffer;
        if (packer->error == SCN_OK && buffer->capacity - buffer->size < size) {
                packer->error = scn_buffer_reserve(buffer, size);
        }
        if (packer->error != SCN_OK) {
                return NULL;
        }
        buffer->size += size;
        return buffer->data + buffer->size - size;
}

static inline void append_byte(struct scn_packer *packer, uint8_t byte)
{
        uint8_t *room = take_room(packer, 1);
        if (room != NULL) {
                *room = byte;
        }
}

/* What went wrong stands in packer->error; msgpack-c only passes our own -1 on. */
#define PACK(packer, call, ...)                                                                                        \
        do {                                                                                                           \
                msgpack_packer pk;                                                                                     \
                msgpack_packer_init(&pk, (packer), append);                                                            \
                (void)call(&pk, __VA_ARGS__);                                                                          \
        } while (0)

/* Most significant byte first. Compilers make one store of the copy, not of four. */
static inline void put_32(uint8_t *room, uint32_t bits)
{
        const uint8_t bytes[] = {(uint8_t)(bits >> 24), (uint8_t)(bits >> 16), (uint8_t)(bits >> 8), (uint8_t)bits};
        memcpy(room, bytes, sizeof bytes);
}

void scn_pack_nil(struct scn_packer *packer)
{
        append_byte(packer, 0xc0);
}

void scn_pack_bool(struct scn_packer *packer, bool value)
{
        append_byte(packer, value ? 0xc3 : 0xc2);
}

void scn_pack_uint(struct scn_packer *packer, uint64_t value)
{
        uint8_t *room;
        if (value < 0x80) {
                append_byte(packer, (uint8_t)value);
        } else if (value > UINT32_MAX || value <= UINT8_MAX) {
                PACK(packer, msgpack_pack_uint64, value);
        } else if (value <= UINT16_MAX && (room = take_room(packer, 3)) != NULL) {
                room[0] = 0xcd;
                room[1] = (uint8_t)(value >> 8);
                room[2] = (uint8_t)value;
        } else if (value > UINT16_MAX && (room = take_room(packer, 5)) != NULL) {
                room[0] = 0xce;
                put_32(room + 1, (uint32_t)value);
        }
}

void scn_pack_int(struct scn_packer *packer, int64_t value)
{
        PACK(packer, msgpack_pack_int64, value);
}

void scn_pack_float(struct scn_packer *packer, float value)
{
        PACK(packer, msgpack_pack_float, value);
}

void scn_pack_floats(struct scn_packer *packer, const float *values, uint32_t count)
{
        SCN_ASSERT(count <= 16);
        /* All at once: an answer about a thousand nodes has 26,000 of them. */
        uint8_t *room = take_room(packer, (count < 16 ? 1 : 3) + (size_t)5 * count);
        if (room == NULL) {
                return;
        }
        if (count < 16) {
                *room++ = (uint8_t)(0x90 | count);
        } else {
                memcpy(room, "\xdc\x00\x10", 3);
                room += 3;
        }
        for (uint32_t i = 0; i < count; i++, room += 5) {
                uint32_t bits;
                memcpy(&bits, &values[i], sizeof bits);
                room[0] = 0xca;
                put_32(room + 1, bits);
        }
}

void scn_pack_double(struct scn_packer *packer, double value)
{
        const float narrow = fabs(value) <= 3.4028234663852886e38 ? (float)value : 0.0f;
        const double wide = narrow;
        if (memcmp(&wide, &value, sizeof wide) == 0) {
                scn_pack_float(packer, narrow);
        } else {
                PACK(packer, msgpack_pack_double, value);
        }
}

void scn_pack_text(struct scn_packer *packer, struct scn_slice text)
{
        if (text.size < 0x20) {
                append_byte(packer, (uint8_t)(0xa0 | text.size));
        } else {
                PACK(packer, msgpack_pack_str, text.size);
        }
        (void)append(packer, (const char *)text.data, text.size);
}

void scn_pack_cstring(struct scn_packer *packer, const char *text)
{
        scn_pack_text(packer, (struct scn_slice){(const uint8_t *)text, (uint32_t)strlen(text)});
}

void scn_pack_bin(struct scn_packer *packer, const void *bytes, size_t size)
{
        PACK(packer, msgpack_pack_bin, size);
        (void)append(packer, bytes, size);
}

void scn_pack_uid(struct scn_packer *packer, struct scn_uid uid)
{
        uint8_t *room = take_room(packer, 2 + sizeof uid.bytes);
        if (room != NULL) {
                room[0] = 0xc4;
                room[1] = sizeof uid.bytes;
                memcpy(room + 2, uid.bytes, sizeof uid.bytes);
        }
}

void scn_pack_ext(struct scn_packer *packer, int8_t type, const void *bytes, uint32_t size)
{
        PACK(packer, msgpack_pack_ext, size, type);
        (void)append(packer, bytes, size);
}

void scn_pack_array(struct scn_packer *packer, uint32_t count)
{
        if (count < 0x10) {
                append_byte(packer, (uint8_t)(0x90 | count));
        } else {
                PACK(packer, msgpack_pack_array, count);
        }
}

void scn_pack_map(struct scn_packer *packer, uint32_t count)
{
        if (count < 0x10) {
                append_byte(packer, (uint8_t)(0x80 | count));
        } else {
                PACK(packer, msgpack_pack_map, count);
        }
}

void scn_pack_raw(struct scn_packer *packer, struct scn_slice object)
{
        SCN_ASSERT(object.size > 0);
        (void)append(packer, (const char *)object.data, object.size);
}

/* --- Reading --- */

/* A head, taken apart. Two words, so that it travels in registers. */
struct head {
        union {
                uint64_t u;
                int64_t i;
                double f;
        } value;        /* of a number, or 1 for true; for the rest: size in bytes, or count */
        uint8_t kind;   /* enum scn_pack_kind */
        uint8_t number; /* enum scn_number_kind */
        int8_t ext;
};

static void fail(struct scn_unpacker *unpacker, enum scn_error error)
{
        if (unpacker->error == SCN_OK) {
                unpacker->error = error;
        }
}

static void fail_short(struct scn_unpacker *unpacker)
{
        if (unpacker->error == SCN_OK) {
                unpacker->error = SCN_E_BAD_MESSAGE;
                unpacker->is_short = true;
        }
}

static inline size_t left_of(const struct scn_unpacker *unpacker)
{
        return (size_t)(unpacker->end - unpacker->at);
}

static inline struct head head_of(enum scn_pack_kind kind, uint64_t size)
{
        return (struct head){.value.u = size, .kind = (uint8_t)kind};
}

static inline struct head whole(uint64_t value)
{
        return (struct head){.value.u = value, .kind = SCN_PACK_NUMBER, .number = SCN_NUMBER_UINT};
}

/* A big-endian number of 1, 2, 4 or 8 bytes. */
static uint64_t take_bytes(struct scn_unpacker *unpacker, size_t size)
{
        uint64_t value = 0;
        if (left_of(unpacker) < size) {
                fail_short(unpacker);
                return 0;
        }
        for (size_t i = 0; i < size; i++) {
                value = value << 8 | *unpacker->at++;
        }
        return value;
}

static struct head take_float(struct scn_unpacker *unpacker, size_t size)
{
        struct head head = {.kind = SCN_PACK_NUMBER, .number = SCN_NUMBER_FLOAT};
        const uint64_t bits = take_bytes(unpacker, size);
        if (size == 4) {
                const uint32_t bits32 = (uint32_t)bits;
                float narrow;
                memcpy(&narrow, &bits32, sizeof narrow);
                head.value.f = (double)narrow;
        } else {
                memcpy(&head.value.f, &bits, sizeof bits);
        }
        return head;
}

static struct head take_int(struct scn_unpacker *unpacker, size_t size)
{
        const uint64_t bits = take_bytes(unpacker, size);
        const unsigned shift = (unsigned)(64 - 8 * size);
        const int64_t value = (int64_t)(bits << shift) >> shift;
        return value >= 0 ? whole((uint64_t)value)
                          : (struct head){.value.i = value, .kind = SCN_PACK_NUMBER, .number = SCN_NUMBER_INT};
}

static struct head take_ext(struct scn_unpacker *unpacker, uint64_t size)
{
        struct head head = head_of(SCN_PACK_EXT, size);
        head.ext = (int8_t)(uint8_t)take_bytes(unpacker, 1);
        return head;
}

/* Heads 0xc0 to 0xdf: one by one. */
static struct head take_named_head(struct scn_unpacker *unpacker, uint8_t byte)
{
        switch (byte) {
        case 0xc0:
                return head_of(SCN_PACK_NIL, 0);
        case 0xc2:
        case 0xc3:
                return head_of(SCN_PACK_BOOL, byte & 1);
        case 0xc4:
        case 0xc5:
        case 0xc6:
                return head_of(SCN_PACK_BIN, take_bytes(unpacker, (size_t)1 << (byte - 0xc4)));
        case 0xc7:
        case 0xc8:
        case 0xc9:
                return take_ext(unpacker, take_bytes(unpacker, (size_t)1 << (byte - 0xc7)));
        case 0xca:
        case 0xcb:
                return take_float(unpacker, byte == 0xca ? 4 : 8);
        case 0xcc:
        case 0xcd:
        case 0xce:
        case 0xcf:
                return whole(take_bytes(unpacker, (size_t)1 << (byte - 0xcc)));
        case 0xd0:
        case 0xd1:
        case 0xd2:
        case 0xd3:
                return take_int(unpacker, (size_t)1 << (byte - 0xd0));
        case 0xd4:
        case 0xd5:
        case 0xd6:
        case 0xd7:
        case 0xd8:
                return take_ext(unpacker, UINT64_C(1) << (byte - 0xd4));
        case 0xd9:
        case 0xda:
        case 0xdb:
                return head_of(SCN_PACK_TEXT, take_bytes(unpacker, (size_t)1 << (byte - 0xd9)));
        case 0xdc:
        case 0xdd:
                return head_of(SCN_PACK_ARRAY, take_bytes(unpacker, byte == 0xdc ? 2 : 4));
        case 0xde:
        case 0xdf:
                return head_of(SCN_PACK_MAP, take_bytes(unpacker, byte == 0xde ? 2 : 4));
        default:
                fail(unpacker, SCN_E_BAD_MESSAGE); /* 0xc1 is nothing */
                return head_of(SCN_PACK_NONE, 0);
        }
}

static inline struct head take_any_head(struct scn_unpacker *unpacker)
{
        if (unpacker->error != SCN_OK || left_of(unpacker) == 0) {
                fail_short(unpacker);
                return head_of(SCN_PACK_NONE, 0);
        }
        const uint8_t byte = *unpacker->at++;
        if (byte < 0x80) {
                return whole(byte);
        }
        if (byte < 0x90) {
                return head_of(SCN_PACK_MAP, byte & 0x0f);
        }
        if (byte < 0xa0) {
                return head_of(SCN_PACK_ARRAY, byte & 0x0f);
        }
        if (byte < 0xc0) {
                return head_of(SCN_PACK_TEXT, byte & 0x1f);
        }
        if (byte >= 0xe0) {
                return (struct head){.value.i = (int64_t)byte - 256, .kind = SCN_PACK_NUMBER, .number = SCN_NUMBER_INT};
        }
        return take_named_head(unpacker, byte);
}

/* Bytes that an object of this head has left at the least. */
static inline uint64_t bytes_behind(struct head head)
{
        switch ((enum scn_pack_kind)head.kind) {
        case SCN_PACK_TEXT:
        case SCN_PACK_BIN:
        case SCN_PACK_EXT:
        case SCN_PACK_ARRAY:
                return head.value.u;
        case SCN_PACK_MAP:
                return 2 * head.value.u;
        case SCN_PACK_NONE:
        case SCN_PACK_NIL:
        case SCN_PACK_BOOL:
        case SCN_PACK_NUMBER:
                break;
        }
        return 0;
}

/* Checks a count or size against what is left. */
static inline struct head take_head(struct scn_unpacker *unpacker)
{
        const struct head head = take_any_head(unpacker);
        if (bytes_behind(head) > left_of(unpacker)) {
                fail_short(unpacker);
        }
        return unpacker->error == SCN_OK ? head : head_of(SCN_PACK_NONE, 0);
}

static inline struct head take_kind(struct scn_unpacker *unpacker, enum scn_pack_kind kind)
{
        const struct head head = take_head(unpacker);
        if (head.kind != kind) {
                fail(unpacker, SCN_E_BAD_MESSAGE);
                return head_of(SCN_PACK_NONE, 0);
        }
        return head;
}

static struct scn_number number_of(struct head head)
{
        struct scn_number number = {.kind = (enum scn_number_kind)head.number};
        memcpy(&number.value, &head.value, sizeof number.value);
        return number;
}

static struct scn_slice take_slice(struct scn_unpacker *unpacker, uint64_t size)
{
        /* The head was checked: so many bytes are there. An empty text is still a text. */
        const struct scn_slice slice = {unpacker->at, (uint32_t)size};
        unpacker->at += size;
        return slice;
}

enum scn_pack_kind scn_unpack_kind(const struct scn_unpacker *unpacker)
{
        struct scn_unpacker copy = *unpacker;
        return copy.error == SCN_OK && left_of(&copy) > 0 ? (enum scn_pack_kind)take_any_head(&copy).kind
                                                          : SCN_PACK_NONE;
}

bool scn_unpack_is_nil(struct scn_unpacker *unpacker)
{
        if (unpacker->error != SCN_OK || left_of(unpacker) == 0 || *unpacker->at != 0xc0) {
                return false;
        }
        unpacker->at++;
        return true;
}

bool scn_unpack_bool(struct scn_unpacker *unpacker)
{
        return take_kind(unpacker, SCN_PACK_BOOL).value.u != 0;
}

struct scn_number scn_unpack_number(struct scn_unpacker *unpacker)
{
        return number_of(take_kind(unpacker, SCN_PACK_NUMBER));
}

uint64_t scn_unpack_uint(struct scn_unpacker *unpacker, uint64_t max)
{
        const struct head head = take_kind(unpacker, SCN_PACK_NUMBER);
        uint64_t value = 0;
        if (unpacker->error == SCN_OK && head.number == SCN_NUMBER_UINT && head.value.u <= max) {
                return head.value.u;
        }
        if (unpacker->error == SCN_OK) {
                const struct scn_number number = number_of(head);
                const enum scn_error error = scn_number_to_integer(&number, max, &value);
                if (error != SCN_OK) {
                        fail(unpacker, error);
                        value = 0;
                }
        }
        return value;
}

/* A float32 that is finite: most of what is read. */
static bool take_plain_float(struct scn_unpacker *unpacker, float *value_out)
{
        const uint8_t *at = unpacker->at;
        if (unpacker->error != SCN_OK || left_of(unpacker) < 5 || at[0] != 0xca) {
                return false;
        }
        const uint32_t bits = (uint32_t)at[1] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 8 | at[4];
        memcpy(value_out, &bits, sizeof bits);
        if (!isfinite(*value_out)) {
                return false;
        }
        unpacker->at += 5;
        return true;
}

float scn_unpack_float(struct scn_unpacker *unpacker)
{
        float plain;
        if (take_plain_float(unpacker, &plain)) {
                return plain;
        }
        const struct head head = take_kind(unpacker, SCN_PACK_NUMBER);
        float value = 0.0f;
        if (unpacker->error == SCN_OK) {
                const struct scn_number number = number_of(head);
                const enum scn_error error = scn_number_to_float(&number, &value);
                if (error != SCN_OK) {
                        fail(unpacker, error);
                        value = 0.0f;
                }
        }
        return value;
}

struct scn_slice scn_unpack_text(struct scn_unpacker *unpacker, uint32_t size_max)
{
        const struct head head = take_kind(unpacker, SCN_PACK_TEXT);
        if (unpacker->error == SCN_OK && head.value.u > size_max) {
                fail(unpacker, SCN_E_TOO_LARGE);
        }
        if (unpacker->error == SCN_OK && !scn_utf8_is_valid(unpacker->at, head.value.u)) {
                fail(unpacker, SCN_E_BAD_UTF8);
        }
        return unpacker->error == SCN_OK ? take_slice(unpacker, head.value.u) : (struct scn_slice){NULL, 0};
}

struct scn_slice scn_unpack_bin(struct scn_unpacker *unpacker, uint32_t size_max)
{
        const struct head head = take_kind(unpacker, SCN_PACK_BIN);
        if (unpacker->error == SCN_OK && head.value.u > size_max) {
                fail(unpacker, SCN_E_TOO_LARGE);
        }
        return unpacker->error == SCN_OK ? take_slice(unpacker, head.value.u) : (struct scn_slice){NULL, 0};
}

struct scn_uid scn_unpack_uid(struct scn_unpacker *unpacker)
{
        struct scn_uid uid = {{0}};
        const struct scn_slice bytes = scn_unpack_bin(unpacker, sizeof uid.bytes);
        if (unpacker->error == SCN_OK && bytes.size != sizeof uid.bytes) {
                fail(unpacker, SCN_E_BAD_MESSAGE);
        }
        if (unpacker->error == SCN_OK) {
                memcpy(uid.bytes, bytes.data, sizeof uid.bytes);
        }
        return uid;
}

struct scn_slice scn_unpack_ext(struct scn_unpacker *unpacker, int8_t *type_out)
{
        const struct head head = take_kind(unpacker, SCN_PACK_EXT);
        *type_out = head.ext;
        return unpacker->error == SCN_OK ? take_slice(unpacker, head.value.u) : (struct scn_slice){NULL, 0};
}

uint32_t scn_unpack_array(struct scn_unpacker *unpacker)
{
        return (uint32_t)take_kind(unpacker, SCN_PACK_ARRAY).value.u;
}

uint32_t scn_unpack_map(struct scn_unpacker *unpacker)
{
        return (uint32_t)take_kind(unpacker, SCN_PACK_MAP).value.u;
}

/* Bytes behind a head that says alone how long its object is, so that it can be passed over; the rest has 0xff. */
static inline uint8_t plain_bytes(uint8_t byte)
{
        static const uint8_t named[32] = {
                0, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 4, 8, 1, 2, 4, 8,                /* 0xc0 */
                1, 2, 4, 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, /* 0xd0 */
        };
        if (byte < 0x80 || byte >= 0xe0) {
                return 0;
        }
        return byte < 0xa0 ? 0xff : byte < 0xc0 ? byte & 0x1f : named[byte - 0xc0];
}

/* Passes over as many of `count` plain objects as come next. Returns how many are left. */
static uint64_t pass_plain(struct scn_unpacker *unpacker, uint64_t count)
{
        const uint8_t *at = unpacker->at;
        for (; count > 0 && at < unpacker->end; count--) {
                const uint8_t bytes = plain_bytes(*at);
                if (bytes == 0xff || (size_t)(unpacker->end - at) <= bytes) {
                        break;
                }
                at += 1 + bytes;
        }
        unpacker->at = at;
        return count;
}

struct scn_slice scn_unpack_raw(struct scn_unpacker *unpacker)
{
        const uint8_t *start = unpacker->at;
        uint64_t open[SCN_PACK_LEVELS_MAX]; /* objects still to come, level by level */
        uint32_t level = 0;
        open[0] = 1;
        while (unpacker->error == SCN_OK) {
                open[level] = pass_plain(unpacker, open[level]);
                while (open[level] == 0 && level > 0) {
                        level--;
                }
                if (open[level] == 0) {
                        break;
                }
                const struct head head = take_head(unpacker);
                open[level]--;
                if (head.kind == SCN_PACK_ARRAY || head.kind == SCN_PACK_MAP) {
                        if (++level == SCN_PACK_LEVELS_MAX) {
                                fail(unpacker, SCN_E_BAD_MESSAGE);
                                break;
                        }
                        open[level] = bytes_behind(head);
                } else {
                        unpacker->at += bytes_behind(head);
                }
        }
        return unpacker->error == SCN_OK ? (struct scn_slice){start, (uint32_t)(unpacker->at - start)}
                                         : (struct scn_slice){NULL, 0};
}

bool scn_unpack_is_done(const struct scn_unpacker *unpacker)
{
        return unpacker->error == SCN_OK && unpacker->at == unpacker->end;
}
