/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_BASE_INDEX_MAP_H
#define SCN_BASE_INDEX_MAP_H

/* A hash table of 32-bit references into somebody else's table: open addressing, linear probing, four bytes an
 * entry, no tombstones (a removal shifts back). Keys live with the owner, who brings hash and comparison.
 *
 * Own code because a node may cost 320 bytes in all (DESIGN §10); uthash takes 56 for each of the two indexes.
 * After scn_index_map_reserve(n) the map holds n references without allocating: what was in can always be put
 * back, which a take-back relies on. The table never shrinks before finish. The low bits of a hash choose the
 * place, so these must be well spread, and not in a row either: a removal looks at all that stands in a row. */

#include <scn/types.h>

#define SCN_INDEX_MAP_NONE UINT32_MAX

typedef uint64_t (*scn_index_map_hash_fn)(const void *owner, uint32_t ref);
typedef bool (*scn_index_map_match_fn)(const void *owner, uint32_t ref, const void *key);

struct scn_index_map {
        uint32_t *entries; /* owned; capacity is a power of two or 0 */
        uint32_t capacity;
        uint32_t count;
        scn_index_map_hash_fn hash;   /* of a reference that is in the map */
        scn_index_map_match_fn match; /* whether a reference that is in the map has this key */
        const void *owner;
};

void scn_index_map_init(
        struct scn_index_map *map, const void *owner, scn_index_map_hash_fn hash, scn_index_map_match_fn match);
void scn_index_map_finish(struct scn_index_map *map);
/* False if memory is out; the map is then as before. */
SCN_NODISCARD bool scn_index_map_reserve(struct scn_index_map *map, uint32_t count);
/* The reference whose key matches, or SCN_INDEX_MAP_NONE. */
uint32_t scn_index_map_find(const struct scn_index_map *map, uint64_t hash, const void *key);
/* Asserts that there is room; the caller knows that the key is not in. */
void scn_index_map_add(struct scn_index_map *map, uint64_t hash, uint32_t ref);
/* Asserts that the reference is in. */
void scn_index_map_remove(struct scn_index_map *map, uint64_t hash, uint32_t ref);

#endif
