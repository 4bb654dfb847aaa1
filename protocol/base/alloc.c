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

/* Counts are kept per thread, for a locked instruction costs as much as the allocation itself. A thread that comes
 * first to a cell is the only one that ever writes it; what it has counted stays there when it ends, since only the
 * sums mean anything. Threads that come when all cells are taken share the last one and do lock.
 *
 * Two counters tell how many blocks live: a call that left no new block behind (it failed, or moved an old one) ends
 * at once. */
struct cell {
        _Alignas(64) atomic_uint_fast64_t calls; /* on a cache line of its own */
        atomic_uint_fast64_t ended;
        atomic_uint_fast64_t live_bytes; /* modulo 2^64: a block may be freed by another thread */
};

#define CELLS_COUNT 64
#define SHARED_CELL (&cells[CELLS_COUNT - 1])

static struct cell cells[CELLS_COUNT];
static atomic_uint_fast64_t threads_count;
static _Thread_local struct cell *cell_of_thread;

/* How many calls from now one fails; 0: none. While is_failing_sticky, it stays at 1 once it is there. */
static atomic_uint_fast64_t fail_countdown;
static atomic_bool is_failing_sticky;

static struct cell *own_cell(void)
{
        if (cell_of_thread == NULL) {
                uint64_t number = atomic_fetch_add_explicit(&threads_count, 1, memory_order_relaxed);
                cell_of_thread = number < CELLS_COUNT - 1 ? &cells[number] : SHARED_CELL;
        }
        return cell_of_thread;
}

static uint64_t load(const atomic_uint_fast64_t *counter)
{
        return atomic_load_explicit(counter, memory_order_relaxed);
}

/* counter: one of the cell's. */
static void add(const struct cell *cell, atomic_uint_fast64_t *counter, uint64_t amount)
{
        if (cell == SHARED_CELL)
                atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
        else
                atomic_store_explicit(counter, load(counter) + amount, memory_order_relaxed);
}

/* Whether a test wants this call to fail. */
static bool must_fail(void)
{
        uint64_t left = load(&fail_countdown);

        while (left != 0) {
                if (left == 1 && atomic_load_explicit(&is_failing_sticky, memory_order_relaxed))
                        return true;
                if (atomic_compare_exchange_weak_explicit(
                            &fail_countdown, &left, left - 1, memory_order_relaxed, memory_order_relaxed))
                        return left == 1;
        }
        return false;
}

/* False if the call is to fail. */
static bool begin_call(struct cell *cell)
{
        add(cell, &cell->calls, 1);
        if (!must_fail())
                return true;
        add(cell, &cell->ended, 1);
        return false;
}

static void *end_call(struct cell *cell, void *block)
{
        if (block != NULL)
                add(cell, &cell->live_bytes, malloc_usable_size(block));
        else
                add(cell, &cell->ended, 1);
        return block;
}

void *scn_alloc(size_t size)
{
        struct cell *cell = own_cell();
        if (!begin_call(cell))
                return NULL;
        return end_call(cell, malloc(size != 0 ? size : 1));
}

void *scn_alloc_zero(size_t count, size_t size)
{
        struct cell *cell = own_cell();
        if (!begin_call(cell))
                return NULL;
        if (count == 0 || size == 0)
                count = size = 1;
        /* calloc checks too, but a sanitizer's calloc ends the program there. */
        if (count > SIZE_MAX / size)
                return end_call(cell, NULL);
        return end_call(cell, calloc(count, size));
}

void *scn_alloc_aligned(size_t alignment, size_t size)
{
        SCN_ASSERT(alignment != 0 && (alignment & (alignment - 1)) == 0);
        SCN_ASSERT(alignment <= ALIGNMENT_MAX);
        struct cell *cell = own_cell();
        if (!begin_call(cell))
                return NULL;
        if (size > SIZE_MAX - alignment)
                return end_call(cell, NULL);
        /* C11 wants a multiple of the alignment. */
        size = size != 0 ? (size + alignment - 1) & ~(alignment - 1) : alignment;
        return end_call(cell, aligned_alloc(alignment, size));
}

void *scn_realloc(void *block, size_t size)
{
        if (block == NULL)
                return scn_alloc(size);
        struct cell *cell = own_cell();
        if (!begin_call(cell))
                return NULL;

        size_t size_before = malloc_usable_size(block);
        /* realloc(block, 0) would free it. */
        void *moved = realloc(block, size != 0 ? size : 1);
        if (moved != NULL)
                add(cell, &cell->live_bytes, (uint64_t)malloc_usable_size(moved) - (uint64_t)size_before);
        add(cell, &cell->ended, 1);
        return moved;
}

void scn_free(void *block)
{
        if (block == NULL)
                return;
        struct cell *cell = own_cell();
        add(cell, &cell->ended, 1);
        add(cell, &cell->live_bytes, 0 - (uint64_t)malloc_usable_size(block));
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

void scn_alloc_keep_little(void)
{
        (void)mallopt(M_ARENA_MAX, 2);
        /* Fixed: left alone it grows with what is freed, and then large blocks stay. */
        (void)mallopt(M_MMAP_THRESHOLD, 1 << 20);
        (void)mallopt(M_TRIM_THRESHOLD, 4 << 20);
}

struct scn_alloc_stats scn_alloc_stats(void)
{
        struct scn_alloc_stats stats = {0};
        uint64_t ended = 0;

        /* What has ended is read first: then it does not outnumber the calls. */
        for (size_t i = 0; i < CELLS_COUNT; i++)
                ended += load(&cells[i].ended);
        for (size_t i = 0; i < CELLS_COUNT; i++) {
                stats.calls += load(&cells[i].calls);
                stats.live_bytes += load(&cells[i].live_bytes);
        }
        stats.live_count = stats.calls - ended;
        return stats;
}

void scn_alloc_fail_at(uint64_t nth, bool is_sticky)
{
        atomic_store_explicit(&is_failing_sticky, is_sticky, memory_order_relaxed);
        atomic_store_explicit(&fail_countdown, nth, memory_order_relaxed);
}
