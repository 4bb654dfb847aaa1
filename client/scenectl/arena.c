/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/arena.h"

#include "protocol/base/alloc.h"

#include <string.h>

/* Much more than a name, and little enough that the last one's rest is no loss. */
#define BLOCK_BYTES ((size_t)65536)

struct scn_arena_block {
        struct scn_arena_block *before;
        size_t size;
        uint8_t bytes[];
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

struct scn_slice scn_arena_copy(struct scn_arena *arena, const void *bytes, uint32_t size)
{
        /* Nothing, too, needs an address that is its own to be told from what is absent. */
        const size_t needed = size > 0 ? size : 1;

        if (arena->left < needed) {
                const size_t block_size = needed > BLOCK_BYTES ? needed : BLOCK_BYTES;
                struct scn_arena_block *block = scn_alloc(sizeof *block + block_size);
                if (block == NULL)
                        return (struct scn_slice){NULL, 0};
                block->before = arena->newest;
                block->size = block_size;
                arena->newest = block;
                arena->left = block_size;
        }
        uint8_t *copy = arena->newest->bytes + arena->newest->size - arena->left;
        if (size > 0)
                memcpy(copy, bytes, size);
        arena->left -= needed;
        return (struct scn_slice){copy, size};
}
