/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_WIRE_COLUMNS_H
#define SCN_WIRE_COLUMNS_H

/* A delta on the wire: a map from column number to a bin. In each column entries follow one another, each beginning
 * with a node's id as a signed difference from the id of the entry before it (0 before the first).
 *
 *   0 new       id uid[16]                                  nodes that enter
 *   1 place     id parent previous                          parent: signed difference from the entry's id;
 *                                                           previous: 0 = first, else 1 + zigzag(difference from id)
 *   2 name      id size text                                size: 0 = absent, else 1 + bytes
 *   3 t         id float32[3]
 *   4 r         id float32[4]
 *   5 s         id float32[3]
 *   6 props     id key_size key value_size value            value_size 0: the key was removed
 *   7 removed   id                                          their lives are over
 *   8 left      id                                          they live elsewhere
 *   9 whole     id                                          forget all you had; the root's id, 0 = there is none
 *  10 matrix    id float32[12]                              a view of worlds: four columns of the upper three rows
 *  11 overflow  id                                          the same, beyond what float32 can hold
 *
 * Numbers are base-128 varints, least significant group first, at most 10 bytes; signed ones zigzag (0, -1, 1, -2
 * ... become 0, 1, 2, 3 ...). Floats are IEEE 754, little-endian. The order of entries in `place` is the order in
 * which to place; every node of `new` but the view's root stands there too. A delta that is too large for one
 * message comes in parts; differences begin anew in each. */

#include "protocol/scene/delta.h"
#include "protocol/wire/pack.h"

#ifndef SCN_COLUMNS_PART_BYTES /* the simulator has its own */
#define SCN_COLUMNS_PART_BYTES (256u << 10)
#endif

/* How far a delta has been encoded: nodes wholly, properties of the next one, removed and left ids, worlds. */
struct scn_columns_cursor {
        size_t node;
        uint32_t property;
        size_t removed;
        size_t left;
        size_t world;
};

/* Encodes the part of `delta` that begins at the cursor, as a map, and moves the cursor on. True if more is to come.
 * Start with a zeroed cursor and go on while it says true. A part has at most SCN_COLUMNS_PART_BYTES and what one
 * more property takes, whatever the delta holds. SCN_E_NO_MEMORY and SCN_E_TOO_LARGE stand in the packer. */
bool scn_columns_encode(struct scn_packer *packer, const struct scn_delta *delta, struct scn_columns_cursor *cursor);

/* Appends a part to `delta` (zeroed, or finished with reset, before the first one). Names and values are borrowed
 * from the bytes, so all parts must stay until the delta is applied. Fills nodes, properties, removed, left,
 * is_whole and root. SCN_E_BAD_DELTA, SCN_E_NO_MEMORY. */
SCN_NODISCARD enum scn_error scn_columns_decode(struct scn_slice map, struct scn_delta *delta);

#endif
