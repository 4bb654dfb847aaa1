/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/gltf_value_set.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"

#include <string.h>

static uint64_t hash_of_bytes(struct scn_slice bytes)
{
        uint64_t hash = bytes.size;

        for (uint32_t i = 0; i < bytes.size; i++)
                hash = scn_gltf_value_set_mix(hash + bytes.data[i]);
        return hash;
}

static uint64_t hash_of_item(const void *owner, uint32_t ref)
{
        const struct scn_gltf_value_set *set = owner;
        return hash_of_bytes(set->items[ref]);
}

static bool is_item(const void *owner, uint32_t ref, const void *key)
{
        const struct scn_gltf_value_set *set = owner;
        const struct scn_slice *wanted = key;
        const struct scn_slice item = set->items[ref];
        return item.size == wanted->size && memcmp(item.data, wanted->data, item.size) == 0;
}

void scn_gltf_value_set_init(struct scn_gltf_value_set *set)
{
        *set = (struct scn_gltf_value_set){.items = NULL};
        scn_index_map_init(&set->by_value, set, hash_of_item, is_item);
}

void scn_gltf_value_set_finish(struct scn_gltf_value_set *set)
{
        scn_index_map_finish(&set->by_value);
        scn_free(set->items);
}

bool scn_gltf_value_set_add(struct scn_gltf_value_set *set, struct scn_slice value, uint32_t *number_out)
{
        const uint64_t hash = hash_of_bytes(value);

        SCN_ASSERT(value.data != NULL);
        *number_out = scn_index_map_find(&set->by_value, hash, &value);
        if (*number_out != SCN_INDEX_MAP_NONE)
                return true;
        if (!scn_index_map_reserve(&set->by_value, (uint32_t)set->count + 1) ||
                !scn_grow((void **)&set->items, &set->capacity, sizeof *set->items, set->count + 1, UINT32_MAX - 1))
                return false;
        *number_out = (uint32_t)set->count;
        set->items[set->count++] = value;
        scn_index_map_add(&set->by_value, hash, *number_out);
        return true;
}
