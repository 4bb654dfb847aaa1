/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_BASE_ALLOC_H
#define SCN_BASE_ALLOC_H

/* The only door to the heap. Everything in the tree allocates here, so that a test can count what is alive and
 * make the n-th allocation fail. The counters are atomic: any thread may call anything here. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All return NULL when memory is out (or a test made this allocation fail); size 0 is allowed and gives a
 * pointer to free. The caller owns what it gets and ends it with scn_free(). */
void *scn_alloc(size_t size);
void *scn_alloc_zero(size_t count, size_t size);
/* On failure the old block is untouched. */
void *scn_realloc(void *block, size_t size);
/* alignment: a power of two, at most 4096. */
void *scn_alloc_aligned(size_t alignment, size_t size);
/* NULL is allowed. */
void scn_free(void *block);

/* Makes room for at least count_needed elements of element_size bytes: doubles while small, grows by a thirty-second
 * when large, so that a big table wastes little. *array and *capacity change together, or not at all (false:
 * out of memory, or count_needed above count_max). */
bool scn_grow(void **array, size_t *capacity, size_t element_size, size_t count_needed, size_t count_max);

/* For a program that runs for long beside other threads: what was freed goes back to the system, rather than being kept
 * by each thread that has once needed much. To be called before the first thread. */
void scn_alloc_keep_little(void);

struct scn_alloc_stats {
        uint64_t live_count; /* blocks alive */
        uint64_t live_bytes; /* usable bytes of these blocks, as the C library rounds them */
        uint64_t calls;      /* allocations asked for since the start, failed ones included */
};

/* Exact when no other thread is allocating or freeing. */
struct scn_alloc_stats scn_alloc_stats(void);

/* For tests: the nth allocation from now (1 = the next) fails, and, if is_sticky, all after it.
 * nth 0 switches it off. */
void scn_alloc_fail_at(uint64_t nth, bool is_sticky);

#endif
