/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_BENCH_SYNC_FLOOR_H
#define SCN_TESTS_BENCH_SYNC_FLOOR_H

/* The least that keeping edits can cost with SQLite: rows of as many bytes as the journal is given for an edit, in
 * durable commits (WAL, synchronous = FULL), by prepared statements. */

#include <scn/types.h>

struct sync_floor;

/* In a folder of its own in /tmp. Exits with a message if that cannot be had. */
struct sync_floor *sync_floor_create(void);
void sync_floor_destroy(struct sync_floor *floor);
/* CPU of this thread an edit, for commits of so many, about 20,000 edits in all. */
double sync_floor_ns(struct sync_floor *floor, uint32_t batch);
/* CPU of this thread a commit of one edit, for so many of them, `rate` times a second: each finds the caches cold. */
double sync_floor_paced_ns(struct sync_floor *floor, uint32_t count, uint32_t rate);

#endif
