/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TYPES_H
#define SCN_TYPES_H

/* Plain data that server, client library and its users share. No behaviour, no ownership. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the client library exports carries SCN_API; everything else in it is hidden. */
#if defined(__GNUC__)
#define SCN_NODISCARD __attribute__((warn_unused_result))
#define SCN_API __attribute__((visibility("default")))
#else
#define SCN_NODISCARD
#define SCN_API
#endif

/* A node's name for ever (DESIGN §3): 128 bits, in the byte order of the UUID's text form (RFC 4122 §3).
 * All zero means "none". */
struct scn_uid {
        uint8_t bytes[16];
};

/* Length of a uid's text form, without the terminating zero. */
#define SCN_UID_TEXT_LENGTH 36

/* A node's runtime id: one life of one node in one document, counted up from 1, never given twice. 0 = none.
 * The root's id is 1 in a document that has never lost its root's life, i.e. always. */
typedef uint32_t scn_node_id;

/* A document's revision: 0 = as created, then 1, 2, 3 …; never above SCN_REVISION_MAX. */
typedef uint64_t scn_revision;

/* 2^53 - 1: every integer up to it is exact in JavaScript. */
#define SCN_REVISION_MAX UINT64_C(9007199254740991)

/* A local transform: world = parent.world * T * R * S (glTF 2.0 §3.5). Metres; unit quaternion x y z w. */
struct scn_trs {
        float t[3];
        float r[4];
        float s[3];
};

#define SCN_TRS_IDENTITY ((struct scn_trs){{0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 1.0f}, {1.0f, 1.0f, 1.0f}})

/* Text or bytes that somebody else owns. Not zero-terminated. data == NULL means "absent", which is not "". */
struct scn_slice {
        const uint8_t *data;
        uint32_t size;
};

/* Channels: sets of fields that only filter (DESIGN §3). The bit is 1 << channel. */
enum scn_channel {
        SCN_CHANNEL_STRUCTURE, /* place and life */
        SCN_CHANNEL_NAME,
        SCN_CHANNEL_TRANSFORM, /* translation, rotation, scale */
        SCN_CHANNEL_PROPERTIES,
        SCN_CHANNEL_COUNT,                     /* the durable ones: these have stamps and digests */
        SCN_CHANNEL_WORLD = SCN_CHANNEL_COUNT, /* derived: world matrices */
        SCN_CHANNEL_PRESENCE,
        SCN_CHANNEL_LOCKS,
        SCN_CHANNEL_PREVIEW,
};

#define SCN_MASK_STRUCTURE (1u << SCN_CHANNEL_STRUCTURE)
#define SCN_MASK_NAME (1u << SCN_CHANNEL_NAME)
#define SCN_MASK_TRANSFORM (1u << SCN_CHANNEL_TRANSFORM)
#define SCN_MASK_PROPERTIES (1u << SCN_CHANNEL_PROPERTIES)
#define SCN_MASK_WORLD (1u << SCN_CHANNEL_WORLD)
#define SCN_MASK_PRESENCE (1u << SCN_CHANNEL_PRESENCE)
#define SCN_MASK_LOCKS (1u << SCN_CHANNEL_LOCKS)
#define SCN_MASK_PREVIEW (1u << SCN_CHANNEL_PREVIEW)
#define SCN_MASK_DURABLE ((1u << SCN_CHANNEL_COUNT) - 1)
#define SCN_MASK_VOLATILE (SCN_MASK_PRESENCE | SCN_MASK_LOCKS | SCN_MASK_PREVIEW)
#define SCN_MASK_ALL UINT32_MAX

/* Fixed fields of a node; properties are fields too, named by their key. */
enum scn_field {
        SCN_FIELD_PLACE,
        SCN_FIELD_NAME,
        SCN_FIELD_TRANSLATION,
        SCN_FIELD_ROTATION,
        SCN_FIELD_SCALE,
        SCN_FIELD_COUNT,
        SCN_FIELD_PROPERTY = SCN_FIELD_COUNT,
};

/* Sets of fields, as bits 1 << enum scn_field. SCN_FIELDS_PROPERTY: some property. */
#define SCN_FIELDS_PLACE (1u << SCN_FIELD_PLACE)
#define SCN_FIELDS_NAME (1u << SCN_FIELD_NAME)
#define SCN_FIELDS_TRANSLATION (1u << SCN_FIELD_TRANSLATION)
#define SCN_FIELDS_ROTATION (1u << SCN_FIELD_ROTATION)
#define SCN_FIELDS_SCALE (1u << SCN_FIELD_SCALE)
#define SCN_FIELDS_TRS (SCN_FIELDS_TRANSLATION | SCN_FIELDS_ROTATION | SCN_FIELDS_SCALE)
#define SCN_FIELDS_PROPERTY (1u << SCN_FIELD_PROPERTY)

/* Sums modulo 2^128 of 128-bit hashes, one per durable channel (DESIGN §3, Digest). */
struct scn_digest {
        uint64_t low;
        uint64_t high;
};

struct scn_digests {
        struct scn_digest channels[SCN_CHANNEL_COUNT];
};

#ifdef __cplusplus
}
#endif

#endif
