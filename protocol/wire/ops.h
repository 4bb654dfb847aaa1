/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_WIRE_OPS_H
#define SCN_WIRE_OPS_H

/* The ops of an edit on the wire: an array of maps with small integer keys. Unknown keys are skipped.
 *
 *    0 op      0 add, 1 remove, 2 move, 3 transform, 4 rename, 5 set (the order of SCN_OP_LIST)
 *    1 node    reference: id, uid or path                     all but add
 *    2 parent  reference                                      add, move; transform: the parent meant
 *    3 index   integer                                        add, move: position in the final list
 *    4 after   reference, nil = first                         add, move
 *    5 uid     bin                                            add: absent = the server chooses
 *    6 name    str, nil = absent                              add, rename
 *    7 t  8 r  9 s   arrays of 3, 4, 3 numbers                add, transform
 *   10 props   map of key to value                            add
 *   11 key     str                                            set
 *   12 value   any value, nil = remove the key                set
 *   13 keep    1 = keep the world transform                   move
 *   14 lossy   true = give up shear                           move
 */

#include "protocol/base/arena.h"
#include "protocol/scene/edit.h"
#include "protocol/wire/pack.h"

#include <scn/limits.h>

/* Decoded ops, reused from edit to edit: zeroed to start with. They borrow from the bytes they were read from. */
struct scn_ops {
        struct scn_op *ops;
        size_t count;
        size_t capacity;
        struct scn_property *properties;
        size_t properties_count;
        size_t properties_capacity;
        struct scn_arena arena; /* what ops made from change records need besides */
};

/* Empties it, for the next edit; what it has once needed is kept. */
void scn_ops_reset(struct scn_ops *ops);
void scn_ops_finish(struct scn_ops *ops);

/* What was wrong: an op, and the field its numbers are in. */
struct scn_ops_fault {
        uint32_t op;
        enum scn_field field; /* SCN_FIELD_COUNT: none */
        const char *entry;    /* of the op's map, by its name in PROTOCOL.md, or "ops"; NULL: none of those it has */
        const char *reason;   /* for people; NULL: no other than the error's text */
};

/* Appends the ops of an array; ops that were there stay (parts of one edit). Errors: SCN_E_BAD_OP (malformed, an
 * op or key of the wrong kind), SCN_E_TOO_MANY_OPS, number errors (naming the field), SCN_E_NO_MEMORY. */
SCN_NODISCARD enum scn_error scn_ops_decode(
        struct scn_slice array, const struct scn_limits *limits, struct scn_ops *ops, struct scn_ops_fault *fault_out);

/* Writes an array of ops. */
void scn_ops_encode(struct scn_packer *packer, const struct scn_op *ops, uint32_t count);

#endif
