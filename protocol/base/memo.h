/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_BASE_MEMO_H
#define SCN_BASE_MEMO_H

/* A scratch map from 32-bit keys to 32-bit values, for one computation: what was found out about a node on one
 * walk up is not walked again. Its size follows what was put in, never the document. */

#include <scn/error.h>
#include <scn/types.h>

#define SCN_MEMO_NONE UINT32_MAX /* neither a key nor a value */

struct scn_memo {
        uint64_t *entries; /* owned; key << 32 | value; key NONE: empty */
        uint32_t capacity; /* a power of two, or 0 */
        uint32_t count;
};

void scn_memo_finish(struct scn_memo *memo);
/* SCN_MEMO_NONE if there is no such key. */
uint32_t scn_memo_get(const struct scn_memo *memo, uint32_t key);
/* Enters or replaces. SCN_E_NO_MEMORY, but never for a key that is in. */
SCN_NODISCARD enum scn_error scn_memo_put(struct scn_memo *memo, uint32_t key, uint32_t value);

#endif
