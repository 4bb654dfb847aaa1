/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_RECORD_H
#define SCN_SERVER_RECORD_H

/* Change records as the journal keeps them: two payloads each, the state before and the one after, as msgpack arrays
 * (storage/FORMAT.md, Payloads). "After" is what replay needs, "before" what undo needs. References are uids.
 *
 *              before                                              after
 *   add        -                                                   [id parent previous trs name props]
 *   remove     [parent previous next nodes]                        -
 *   move       [parent previous next fields trs writers]           [parent previous fields trs]
 *   transform  [fields trs writers]                                [fields trs]
 *   rename     [name writer]                                       [name]
 *   set        [key value writer]                                  [key value]
 *
 *   previous, next, name, value: nil where there is none; trs: bin of ten float32, t r s, little-endian; fields: bits
 *   of enum scn_field; writers: of place (move only), t, r, s; nodes: parents first, each
 *   [uid parent id trs name props writers property-writers]; props: a map, in the order of its keys */

#include "protocol/scene/change.h"
#include "protocol/scene/document.h"
#include "protocol/wire/ops.h"

/* Appends both payloads; *before_size_out says where the first ends. SCN_E_NO_MEMORY, SCN_E_TOO_LARGE. */
SCN_NODISCARD enum scn_error scn_record_encode(const struct scn_document *document, const struct scn_change *change,
        struct scn_buffer *buffer, size_t *before_size_out);

/* Appends the ops that do again what a record says was done: one, or two for a move that kept the world. They borrow
 * from `after`. SCN_E_CORRUPT: it is no such payload. */
SCN_NODISCARD enum scn_error scn_record_redo(
        uint32_t kind, struct scn_uid node, struct scn_slice after, struct scn_ops *ops);

#endif
