/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "protocol/base/arena.h"

#include "protocol/base/alloc.h"

#include <string.h>

/* Much more than a name, and little enough that the last one's rest is no loss. */
#define BLOCK_BYTES ((size_t)65536)
#define ALIGNMENT ((size_t)16)

struct scn_arena_block {
        struct scn_arena_block *before;
        size_t size;
        _Alignas(16) uint8_t bytes[];
};

void scn_arena_finish(struct scn_arena *arena)
{
        while (arena->newest != NULL) {
                struct scn_arena_block *block = arena->newest;
                arena->newest = block->before;
                scn_free(block);
        }
        *arena = (struct scn_arena){0};
}

/* Blocks end at a multiple of the alignment, so what is left tells how the next address is aligned. */
static uint8_t *take(struct scn_arena *arena, size_t needed)
{
        if (arena->left < needed) {
                const size_t wanted = needed > BLOCK_BYTES ? needed : BLOCK_BYTES;
                const size_t block_size = (wanted + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
                struct scn_arena_block *block = scn_alloc(sizeof *block + block_size);
                if (block == NULL) {
                        return NULL;
                }
                block->before = arena->newest;
                block->size = block_size;
                arena->newest = block;
                arena->left = block_size;
        }
        uint8_t *bytes = arena->newest->bytes + arena->newest->size - arena->left;
        arena->left -= needed;
        return bytes;
}

void *scn_arena_alloc(struct scn_arena *arena, size_t size)
{
        arena->left &= ~(ALIGNMENT - 1);
        return take(arena, size > 0 ? size : 1);
}

struct scn_slice scn_arena_copy(struct scn_arena *arena, const void *bytes, uint32_t size)
{
        /* Nothing, too, needs an address that is its own to be told from what is absent. */
        uint8_t *copy = take(arena, size > 0 ? size : 1);
        if (copy == NULL) {
                return (struct scn_slice){NULL, 0};
        }
        if (size > 0) {
                memcpy(copy, bytes, size);
        }
        return (struct scn_slice){copy, size};
}
