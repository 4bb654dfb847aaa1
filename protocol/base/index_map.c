/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/base/index_map.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"

#include <string.h>

#define CAPACITY_MIN 16u
#define CAPACITY_MAX (UINT32_C(1) << 31)

/* Three quarters full at most: an entry is then found after 2.5 probes on average, a missing key is known to
 * be missing after 8.5, and there is always an empty place that ends a search. */
static uint32_t room(uint32_t capacity)
{
        return capacity - capacity / 4;
}

static uint32_t home(const struct scn_index_map *map, uint64_t hash)
{
        return (uint32_t)hash & (map->capacity - 1);
}

static uint32_t after(const struct scn_index_map *map, uint32_t place)
{
        return (place + 1) & (map->capacity - 1);
}

void scn_index_map_init(
        struct scn_index_map *map, const void *owner, scn_index_map_hash_fn hash, scn_index_map_match_fn match)
{
        *map = (struct scn_index_map){.owner = owner, .hash = hash, .match = match};
}

void scn_index_map_finish(struct scn_index_map *map)
{
        scn_free(map->entries);
        *map = (struct scn_index_map){0};
}

static void put(struct scn_index_map *map, uint64_t hash, uint32_t ref)
{
        uint32_t place = home(map, hash);

        while (map->entries[place] != SCN_INDEX_MAP_NONE)
                place = after(map, place);
        map->entries[place] = ref;
}

bool scn_index_map_reserve(struct scn_index_map *map, uint32_t count)
{
        if (count <= room(map->capacity))
                return true;
        if (count > room(CAPACITY_MAX))
                return false;

        struct scn_index_map larger = *map;
        if (larger.capacity == 0)
                larger.capacity = CAPACITY_MIN;
        while (count > room(larger.capacity))
                larger.capacity *= 2;
        size_t size = (size_t)larger.capacity * sizeof *larger.entries;
        larger.entries = scn_alloc(size);
        if (larger.entries == NULL)
                return false;
        memset(larger.entries, 0xff, size); /* SCN_INDEX_MAP_NONE everywhere */
        for (uint32_t place = 0; place < map->capacity; place++) {
                uint32_t ref = map->entries[place];
                if (ref != SCN_INDEX_MAP_NONE)
                        put(&larger, map->hash(map->owner, ref), ref);
        }
        scn_free(map->entries);
        *map = larger;
        return true;
}

uint32_t scn_index_map_find(const struct scn_index_map *map, uint64_t hash, const void *key)
{
        if (map->count == 0)
                return SCN_INDEX_MAP_NONE;
        for (uint32_t place = home(map, hash);; place = after(map, place)) {
                uint32_t ref = map->entries[place];
                if (ref == SCN_INDEX_MAP_NONE || map->match(map->owner, ref, key))
                        return ref;
        }
}

void scn_index_map_add(struct scn_index_map *map, uint64_t hash, uint32_t ref)
{
        SCN_ASSERT(map->count < room(map->capacity));
        SCN_ASSERT(ref != SCN_INDEX_MAP_NONE);
        put(map, hash, ref);
        map->count++;
}

void scn_index_map_remove(struct scn_index_map *map, uint64_t hash, uint32_t ref)
{
        SCN_ASSERT(map->count != 0);
        SCN_ASSERT(ref != SCN_INDEX_MAP_NONE);
        uint32_t gap = home(map, hash);
        while (map->entries[gap] != ref) {
                SCN_ASSERT(map->entries[gap] != SCN_INDEX_MAP_NONE);
                gap = after(map, gap);
        }

        /* Whoever stands behind the gap without an empty place between may have been pushed past it: it moves
         * into the gap, unless its home lies after the gap, and leaves the next gap behind. */
        for (uint32_t place = after(map, gap);; place = after(map, place)) {
                uint32_t other = map->entries[place];
                if (other == SCN_INDEX_MAP_NONE)
                        break;
                uint32_t other_home = home(map, map->hash(map->owner, other));
                uint32_t mask = map->capacity - 1;
                if (((place - other_home) & mask) < ((place - gap) & mask))
                        continue;
                map->entries[gap] = other;
                gap = place;
        }
        map->entries[gap] = SCN_INDEX_MAP_NONE;
        map->count--;
}
