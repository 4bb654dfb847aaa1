/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SCENE_ORDER_H
#define SCN_SCENE_ORDER_H

/* The hidden index of long rows of siblings: position of a child, child at a position.
 *
 * The truth is the linked list in the hierarchy; this is a cache over it, built when a position among more than
 * SCN_ORDER_ROW_MIN siblings is first asked for, kept up to date afterwards, and dropped whenever memory for it
 * cannot be had: so nothing here can fail, and nothing of it leaves the process.
 *
 * A row is an array of blocks, left to right, each with up to SCN_ORDER_BLOCK_MAX slots in order. An insertion
 * shifts within one block; a full block splits. A position costs a scan of one block plus a sum over the
 * blocks' counts: for 100,000 siblings about 300 additions, for a million about 3,000. */

#include "protocol/scene/document.h"

#define SCN_ORDER_BLOCK_MAX 512
#define SCN_ORDER_ROW_MIN 32

/* Position among the siblings, from 0. */
uint32_t scn_order_index(struct scn_document *document, uint32_t slot);
/* The child at a position below the parent's count (asserts). */
uint32_t scn_order_child(struct scn_document *document, uint32_t parent, uint32_t index);
/* To be called right after a slot was linked, and right before it is unlinked. */
void scn_order_linked(struct scn_document *document, uint32_t slot);
void scn_order_unlinking(struct scn_document *document, uint32_t slot);
/* Drops the index over a slot's children, if there is one. */
void scn_order_forget(struct scn_document *document, uint32_t parent);
/* Frees all there is, before the nodes go. */
void scn_order_finish(struct scn_document *document);
/* Asserts that the index agrees with the list. */
void scn_order_check(const struct scn_document *document, uint32_t parent);

#endif
