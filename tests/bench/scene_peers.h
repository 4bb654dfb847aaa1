/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_BENCH_SCENE_PEERS_H
#define SCN_TESTS_BENCH_SCENE_PEERS_H

/* Other ways to keep world matrices, measured beside ours in the same run. Trees come as the parent of each node,
 * parents before children, node 0 the root. All calls abort when memory is out. */

#include <scn/types.h>

/* What most engines have: nodes on a heap in no order, each with pointers, recomputed by recursion with cglm. */
struct peer_pointers;
struct peer_pointers *peer_pointers_create(const uint32_t *parents, const struct scn_trs *locals, uint32_t count);
void peer_pointers_destroy(struct peer_pointers *tree);
void peer_pointers_update_all(struct peer_pointers *tree);
float peer_pointers_probe(const struct peer_pointers *tree, uint32_t node);

/* The source design: arrays in topological order, a byte per node that says dirty, set down the subtree until one
 * is set already; an update scans all bytes. cglm's mat4. */
struct peer_scan;
struct peer_scan *peer_scan_create(const uint32_t *parents, const struct scn_trs *locals, uint32_t count);
void peer_scan_destroy(struct peer_scan *scan);
void peer_scan_set_local(struct peer_scan *scan, uint32_t node, const struct scn_trs *local);
void peer_scan_update(struct peer_scan *scan);
void peer_scan_update_all(struct peer_scan *scan);
float peer_scan_probe(const struct peer_scan *scan, uint32_t node);

/* A yardstick: moves the bytes of a full recompute (48 read, 48 written a node), in order, and computes nothing. What
 * is computed can be as fast only by asking ahead for memory, which this leaves to the machine. */
struct peer_mover;
struct peer_mover *peer_mover_create(uint32_t count);
void peer_mover_destroy(struct peer_mover *mover);
void peer_mover_move_all(struct peer_mover *mover);
/* The same for one edit of a leaf: 48 bytes stored, the parent's 48 read, 48 written. */
void peer_mover_move_one(struct peer_mover *mover, uint32_t node, uint32_t parent, const struct scn_trs *local);
float peer_mover_probe(const struct peer_mover *mover, uint32_t node);

#endif
