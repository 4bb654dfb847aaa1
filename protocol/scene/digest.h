/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SCENE_DIGEST_H
#define SCN_SCENE_DIGEST_H

/* The digest: per channel the sum modulo 2^128 of XXH3-128 (seed 0) over (uid, field, value) of everything that
 * is there (DESIGN §3). A sum, so it is kept incrementally and does not know the order of edits. It finds
 * faults, not forgers.
 *
 * Bytes hashed, little-endian throughout:
 *
 *   structure    uid[16] 00 parent uid[16] previous sibling uid[16]   (zeros where there is none, and for the
 *                                                                      root of the document, subtree or view)
 *   name         uid[16] 01 UTF-8 bytes                               (an absent name adds nothing)
 *   translation  uid[16] 02 float32[3]
 *   rotation     uid[16] 03 float32[4]
 *   scale        uid[16] 04 float32[3]
 *   property     uid[16] 05 key length[1] key canonical value bytes   (a removed key adds nothing)
 */

#include <scn/types.h>

/* A key's length is one byte. */
#define SCN_DIGEST_KEY_BYTES_MAX 255u

static inline void scn_digest_add(struct scn_digest *sum, struct scn_digest hash)
{
        sum->low += hash.low;
        sum->high += hash.high + (sum->low < hash.low);
}

static inline void scn_digest_subtract(struct scn_digest *sum, struct scn_digest hash)
{
        const uint64_t borrow = sum->low < hash.low;
        sum->low -= hash.low;
        sum->high -= hash.high + borrow;
}

struct scn_digest scn_digest_place(struct scn_uid uid, struct scn_uid parent, struct scn_uid previous);
/* name.data must not be NULL. */
struct scn_digest scn_digest_name(struct scn_uid uid, struct scn_slice name);
struct scn_digest scn_digest_translation(struct scn_uid uid, const float translation[3]);
struct scn_digest scn_digest_rotation(struct scn_uid uid, const float rotation[4]);
struct scn_digest scn_digest_scale(struct scn_uid uid, const float scale[3]);
/* key at most SCN_DIGEST_KEY_BYTES_MAX bytes (asserts). */
struct scn_digest scn_digest_property(struct scn_uid uid, struct scn_slice key, struct scn_slice value);

/* The sum of the channels in the mask: what a replica that holds only these compares. */
struct scn_digest scn_digests_combine(const struct scn_digests *digests, uint32_t mask);

/* XXH3-128 of any bytes, for telling whether two requests are the same. */
struct scn_digest scn_digest_bytes(struct scn_slice bytes);

/* A keyed 64-bit hash for tables whose keys peers choose (seed: 64 random bits per document). */
uint64_t scn_hash_uid(struct scn_uid uid, uint64_t seed);
uint64_t scn_hash_id(scn_node_id id, uint64_t seed);

#endif
