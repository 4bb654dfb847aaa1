/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_SCENECTL_GLTF_VALUE_SET_H
#define SCN_CLIENT_SCENECTL_GLTF_VALUE_SET_H

/* Distinct property values, numbered in the order of their first use: the cameras and lights of a file being written,
 * which nodes share. */

#include "protocol/base/index_map.h"

struct scn_gltf_value_set {
        struct scn_slice *items; /* owned; the bytes are borrowed */
        size_t count;
        size_t capacity;
        struct scn_index_map by_value;
};

void scn_gltf_value_set_init(struct scn_gltf_value_set *set);
void scn_gltf_value_set_finish(struct scn_gltf_value_set *set);
/* The number of a value, new or known. False if memory is out. */
SCN_NODISCARD bool scn_gltf_value_set_add(struct scn_gltf_value_set *set, struct scn_slice value, uint32_t *number_out);

/* Mixes the bits of a number, for maps that use the low ones. */
static inline uint64_t scn_gltf_value_set_mix(uint64_t number)
{
        number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        number = (number ^ (number >> 27)) * UINT64_C(0x94d049bb133111eb);
        return number ^ (number >> 31);
}

#endif
