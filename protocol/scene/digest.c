/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/scene/digest.h"

#include "protocol/base/assert.h"

/* Inlined, the short inputs of a digest cost a third of a call into the library. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <string.h>

#define UID_BYTES ((uint32_t)sizeof(struct scn_uid))
/* What fits is hashed in one piece, which is much faster for short input; nearly all names and values fit. */
#define PIECE_BYTES_MAX 512u

SCN_STATIC_ASSERT(sizeof(struct scn_uid) == 16, "a uid is hashed as its 16 bytes");

static struct scn_digest digest_from(XXH128_hash_t hash)
{
        return (struct scn_digest){.low = hash.low64, .high = hash.high64};
}

static uint8_t *put(uint8_t *at, const void *bytes, uint32_t size)
{
        memcpy(at, bytes, size);
        return at + size;
}

static uint8_t *put_field(uint8_t *at, struct scn_uid uid, enum scn_field field)
{
        at = put(at, uid.bytes, UID_BYTES);
        *at++ = (uint8_t)field;
        return at;
}

/* Byte by byte, and so the same on a big-endian machine; compilers make one store of it. */
static uint8_t *put_float(uint8_t *at, float number)
{
        uint32_t bits;

        memcpy(&bits, &number, sizeof bits);
        at[0] = (uint8_t)bits;
        at[1] = (uint8_t)(bits >> 8);
        at[2] = (uint8_t)(bits >> 16);
        at[3] = (uint8_t)(bits >> 24);
        return at + 4;
}

/* `start` is what precedes the bytes in a piece that has room for PIECE_BYTES_MAX. */
static struct scn_digest hash_with(uint8_t *start, uint32_t start_size, struct scn_slice bytes)
{
        if (bytes.size <= PIECE_BYTES_MAX - start_size) {
                if (bytes.size != 0)
                        put(start + start_size, bytes.data, bytes.size);
                return digest_from(XXH3_128bits(start, start_size + bytes.size));
        }
        XXH3_state_t state;
        XXH3_128bits_reset(&state);
        XXH3_128bits_update(&state, start, start_size);
        XXH3_128bits_update(&state, bytes.data, bytes.size);
        return digest_from(XXH3_128bits_digest(&state));
}

struct scn_digest scn_digest_place(struct scn_uid uid, struct scn_uid parent, struct scn_uid previous)
{
        uint8_t bytes[16 + 1 + 16 + 16];
        uint8_t *at = put_field(bytes, uid, SCN_FIELD_PLACE);

        at = put(at, parent.bytes, UID_BYTES);
        put(at, previous.bytes, UID_BYTES);
        return digest_from(XXH3_128bits(bytes, sizeof bytes));
}

struct scn_digest scn_digest_name(struct scn_uid uid, struct scn_slice name)
{
        uint8_t piece[PIECE_BYTES_MAX];

        SCN_ASSERT(name.data != NULL);
        put_field(piece, uid, SCN_FIELD_NAME);
        return hash_with(piece, UID_BYTES + 1, name);
}

struct scn_digest scn_digest_translation(struct scn_uid uid, const float translation[3])
{
        uint8_t bytes[16 + 1 + 3 * 4];
        uint8_t *at = put_field(bytes, uid, SCN_FIELD_TRANSLATION);

        for (uint32_t i = 0; i < 3; i++)
                at = put_float(at, translation[i]);
        return digest_from(XXH3_128bits(bytes, sizeof bytes));
}

struct scn_digest scn_digest_rotation(struct scn_uid uid, const float rotation[4])
{
        uint8_t bytes[16 + 1 + 4 * 4];
        uint8_t *at = put_field(bytes, uid, SCN_FIELD_ROTATION);

        for (uint32_t i = 0; i < 4; i++)
                at = put_float(at, rotation[i]);
        return digest_from(XXH3_128bits(bytes, sizeof bytes));
}

struct scn_digest scn_digest_scale(struct scn_uid uid, const float scale[3])
{
        uint8_t bytes[16 + 1 + 3 * 4];
        uint8_t *at = put_field(bytes, uid, SCN_FIELD_SCALE);

        for (uint32_t i = 0; i < 3; i++)
                at = put_float(at, scale[i]);
        return digest_from(XXH3_128bits(bytes, sizeof bytes));
}

struct scn_digest scn_digest_property(struct scn_uid uid, struct scn_slice key, struct scn_slice value)
{
        uint8_t piece[PIECE_BYTES_MAX];

        SCN_ASSERT(key.size <= SCN_DIGEST_KEY_BYTES_MAX);
        uint8_t *at = put_field(piece, uid, SCN_FIELD_PROPERTY);
        *at++ = (uint8_t)key.size;
        if (key.size != 0)
                at = put(at, key.data, key.size);
        return hash_with(piece, (uint32_t)(at - piece), value);
}

struct scn_digest scn_digests_combine(const struct scn_digests *digests, uint32_t mask)
{
        struct scn_digest sum = {0};

        for (uint32_t channel = 0; channel < SCN_CHANNEL_COUNT; channel++)
                if ((mask >> channel & 1u) != 0)
                        scn_digest_add(&sum, digests->channels[channel]);
        return sum;
}

uint64_t scn_hash_uid(struct scn_uid uid, uint64_t seed)
{
        return XXH3_64bits_withSeed(uid.bytes, sizeof uid.bytes, seed);
}

uint64_t scn_hash_id(scn_node_id id, uint64_t seed)
{
        return XXH3_64bits_withSeed(&id, sizeof id, seed);
}

struct scn_digest scn_digest_bytes(struct scn_slice bytes)
{
        return digest_from(XXH3_128bits(bytes.data, bytes.size));
}
