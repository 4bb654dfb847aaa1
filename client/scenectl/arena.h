/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_SCENECTL_ARENA_H
#define SCN_CLIENT_SCENECTL_ARENA_H

/* Bytes that live and end together: names and values of a file being read. Addresses stay. Bounded by what is put
 * in, which the file's own size bounds. */

#include <scn/types.h>

struct scn_arena_block;

/* Init with {0}. */
struct scn_arena {
        struct scn_arena_block *newest; /* owned, with all before it */
        size_t left;
};

void scn_arena_finish(struct scn_arena *arena);
/* A copy with an address of its own, also of nothing; data == NULL if memory is out. */
struct scn_slice scn_arena_copy(struct scn_arena *arena, const void *bytes, uint32_t size);

#endif
