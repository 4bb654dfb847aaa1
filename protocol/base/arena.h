/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_BASE_ARENA_H
#define SCN_BASE_ARENA_H

/* Memory that lives and ends together: names and values of a file being read, what belongs to a list of ops.
 * Addresses stay. Bounded by what is put in, which the input's own size bounds. */

#include <scn/types.h>

#include <stddef.h>

struct scn_arena_block;

/* Init with {0}. */
struct scn_arena {
        struct scn_arena_block *newest; /* owned, with all before it */
        size_t left;
};

void scn_arena_finish(struct scn_arena *arena);
/* `size` bytes, aligned for any plain type; NULL if memory is out. */
void *scn_arena_alloc(struct scn_arena *arena, size_t size);
/* A copy with an address of its own, also of nothing; data == NULL if memory is out. */
struct scn_slice scn_arena_copy(struct scn_arena *arena, const void *bytes, uint32_t size);

#endif
