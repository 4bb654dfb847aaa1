/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/base/alloc.h"

#include "protocol/base/assert.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define DOUBLING_COUNT_MAX ((size_t)4096)
#define COUNT_MIN ((size_t)8)
#define ALIGNMENT_MAX ((size_t)4096)

/* Two counters tell how many blocks live, so that an allocation and a free touch two each and not three:
 * a call that left no new block behind (it failed, or moved an old one) ends at once. */
static atomic_uint_fast64_t calls;
static atomic_uint_fast64_t ended;
static atomic_uint_fast64_t live_bytes;

/* Calls with these numbers fail. UINT64_MAX is never reached: nothing fails. */
static atomic_uint_fast64_t fail_first = UINT64_MAX;
static atomic_uint_fast64_t fail_last = UINT64_MAX;

static uint64_t add(atomic_uint_fast64_t *counter, uint64_t amount)
{
        return atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}

static uint64_t load(atomic_uint_fast64_t *counter)
{
        return atomic_load_explicit(counter, memory_order_relaxed);
}

/* False if a test wants this call to fail. */
static bool begin_call(void)
{
        uint64_t number = add(&calls, 1) + 1;

        if (number < load(&fail_first) || number > load(&fail_last))
                return true;
        add(&ended, 1);
        return false;
}

static void *end_call(void *block)
{
        if (block != NULL)
                add(&live_bytes, malloc_usable_size(block));
        else
                add(&ended, 1);
        return block;
}

void *scn_alloc(size_t size)
{
        if (!begin_call())
                return NULL;
        return end_call(malloc(size != 0 ? size : 1));
}

void *scn_alloc_zero(size_t count, size_t size)
{
        if (!begin_call())
                return NULL;
        if (count == 0 || size == 0)
                count = size = 1;
        /* calloc checks too, but a sanitizer's calloc ends the program there. */
        if (count > SIZE_MAX / size)
                return end_call(NULL);
        return end_call(calloc(count, size));
}

void *scn_alloc_aligned(size_t alignment, size_t size)
{
        SCN_ASSERT(alignment != 0 && (alignment & (alignment - 1)) == 0);
        SCN_ASSERT(alignment <= ALIGNMENT_MAX);
        if (!begin_call())
                return NULL;
        if (size > SIZE_MAX - alignment)
                return end_call(NULL);
        /* C11 wants a multiple of the alignment. */
        size = size != 0 ? (size + alignment - 1) & ~(alignment - 1) : alignment;
        return end_call(aligned_alloc(alignment, size));
}

void *scn_realloc(void *block, size_t size)
{
        if (block == NULL)
                return scn_alloc(size);
        if (!begin_call())
                return NULL;

        size_t size_before = malloc_usable_size(block);
        /* realloc(block, 0) would free it. */
        void *moved = realloc(block, size != 0 ? size : 1);
        if (moved != NULL)
                add(&live_bytes, (uint64_t)malloc_usable_size(moved) - (uint64_t)size_before);
        add(&ended, 1);
        return moved;
}

void scn_free(void *block)
{
        if (block == NULL)
                return;
        add(&ended, 1);
        add(&live_bytes, 0 - (uint64_t)malloc_usable_size(block));
        free(block);
}

static size_t grown(size_t capacity)
{
        if (capacity < COUNT_MIN)
                return COUNT_MIN;
        size_t step = capacity < DOUBLING_COUNT_MAX ? capacity : capacity / 32;
        return capacity <= SIZE_MAX - step ? capacity + step : SIZE_MAX;
}

bool scn_grow(void **array, size_t *capacity, size_t element_size, size_t count_needed, size_t count_max)
{
        SCN_ASSERT(element_size != 0);
        if (count_needed <= *capacity)
                return true;
        if (count_max > SIZE_MAX / element_size)
                count_max = SIZE_MAX / element_size;
        if (count_needed > count_max)
                return false;

        size_t count = grown(*capacity);
        if (count > count_max)
                count = count_max;
        if (count < count_needed)
                count = count_needed;
        /* The caller's variable is a pointer to its own type: only its bytes may be read as a void pointer. */
        void *block;
        memcpy(&block, array, sizeof block);
        block = scn_realloc(block, count * element_size);
        if (block == NULL)
                return false;
        memcpy(array, &block, sizeof block);
        *capacity = count;
        return true;
}

struct scn_alloc_stats scn_alloc_stats(void)
{
        /* What has ended is read first: it can then never outnumber the calls. */
        uint64_t ended_now = load(&ended);
        uint64_t calls_now = load(&calls);

        return (struct scn_alloc_stats){
                .live_count = calls_now - ended_now,
                .live_bytes = load(&live_bytes),
                .calls = calls_now,
        };
}

void scn_alloc_fail_at(uint64_t nth, bool is_sticky)
{
        uint64_t first = nth != 0 ? load(&calls) + nth : UINT64_MAX;

        atomic_store_explicit(&fail_last, is_sticky ? UINT64_MAX : first, memory_order_relaxed);
        atomic_store_explicit(&fail_first, first, memory_order_relaxed);
}
