/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_WIRE_PACK_H
#define SCN_WIRE_PACK_H

/* msgpack, bounded in both directions.
 *
 * Writing goes through msgpack-c into a scn_buffer, which has a maximum. Reading is a cursor over bytes that are
 * already here: it allocates nothing, does not recurse, and believes no count beyond the bytes that are left.
 * (msgpack-c's unpacker reserves memory by what a header claims: five bytes ask it for gigabytes.)
 *
 * Both keep the first error and do nothing afterwards, so that a caller checks once, at the end. Writing asserts
 * on our own mistakes; reading returns errors, for they are the peer's. */

#include "protocol/base/bytes.h"
#include "protocol/scene/value.h"

/* --- Writing --- */

struct scn_packer {
        struct scn_buffer *buffer; /* borrowed */
        enum scn_error error;
};

static inline struct scn_packer scn_packer_to(struct scn_buffer *buffer)
{
        return (struct scn_packer){buffer, SCN_OK};
}

void scn_pack_nil(struct scn_packer *packer);
void scn_pack_bool(struct scn_packer *packer, bool value);
void scn_pack_uint(struct scn_packer *packer, uint64_t value);
void scn_pack_int(struct scn_packer *packer, int64_t value);
void scn_pack_float(struct scn_packer *packer, float value);
/* An array of at most 16 of them (asserts). */
void scn_pack_floats(struct scn_packer *packer, const float *values, uint32_t count);
/* float32 where that is exact. */
void scn_pack_double(struct scn_packer *packer, double value);
void scn_pack_text(struct scn_packer *packer, struct scn_slice text);
void scn_pack_cstring(struct scn_packer *packer, const char *text);
void scn_pack_bin(struct scn_packer *packer, const void *bytes, size_t size);
void scn_pack_uid(struct scn_packer *packer, struct scn_uid uid);
void scn_pack_ext(struct scn_packer *packer, int8_t type, const void *bytes, uint32_t size);
void scn_pack_array(struct scn_packer *packer, uint32_t count);
void scn_pack_map(struct scn_packer *packer, uint32_t count);
/* One whole object that is spelled already. */
void scn_pack_raw(struct scn_packer *packer, struct scn_slice object);

/* --- Reading --- */

/* Errors: SCN_E_BAD_MESSAGE (malformed, cut short, another kind than asked for), SCN_E_RANGE, SCN_E_NOT_FINITE,
 * SCN_E_NOT_INTEGER, SCN_E_BAD_UTF8. */
struct scn_unpacker {
        const uint8_t *at;
        const uint8_t *end;
        enum scn_error error;
        bool is_short; /* ... is that the bytes end before the object does */
};

static inline struct scn_unpacker scn_unpacker_from(struct scn_slice bytes)
{
        /* Nothing may have no address, and from that one must not count. */
        return (struct scn_unpacker){bytes.data, bytes.size > 0 ? bytes.data + bytes.size : bytes.data, SCN_OK, false};
}

enum scn_pack_kind {
        SCN_PACK_NONE, /* the end, or an error */
        SCN_PACK_NIL,
        SCN_PACK_BOOL,
        SCN_PACK_NUMBER,
        SCN_PACK_TEXT,
        SCN_PACK_BIN,
        SCN_PACK_ARRAY,
        SCN_PACK_MAP,
        SCN_PACK_EXT,
};

/* What comes next, without taking it. */
enum scn_pack_kind scn_unpack_kind(const struct scn_unpacker *unpacker);
/* Takes a nil if one comes next. */
bool scn_unpack_is_nil(struct scn_unpacker *unpacker);
bool scn_unpack_bool(struct scn_unpacker *unpacker);
struct scn_number scn_unpack_number(struct scn_unpacker *unpacker);
/* A whole number from 0 to max. */
uint64_t scn_unpack_uint(struct scn_unpacker *unpacker, uint64_t max);
/* A number rounded to float32. */
float scn_unpack_float(struct scn_unpacker *unpacker);
/* Valid UTF-8 of at most size_max bytes, borrowed; SCN_E_TOO_LARGE beyond. */
struct scn_slice scn_unpack_text(struct scn_unpacker *unpacker, uint32_t size_max);
struct scn_slice scn_unpack_bin(struct scn_unpacker *unpacker, uint32_t size_max);
struct scn_uid scn_unpack_uid(struct scn_unpacker *unpacker);
struct scn_slice scn_unpack_ext(struct scn_unpacker *unpacker, int8_t *type_out);
/* The count, which the bytes left can hold: at least one byte an element, two an entry. */
uint32_t scn_unpack_array(struct scn_unpacker *unpacker);
uint32_t scn_unpack_map(struct scn_unpacker *unpacker);
/* Takes one whole object of any kind, nested at most SCN_PACK_LEVELS_MAX deep, and gives its bytes. */
struct scn_slice scn_unpack_raw(struct scn_unpacker *unpacker);

#define SCN_PACK_LEVELS_MAX 64

/* True if all was taken and nothing was wrong. */
bool scn_unpack_is_done(const struct scn_unpacker *unpacker);

#endif
