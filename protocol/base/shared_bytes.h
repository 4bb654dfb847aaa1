/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_BASE_SHARED_BYTES_H
#define SCN_BASE_SHARED_BYTES_H

/* Immutable bytes with a reference count: one encoding, sent to many. Not for several threads at once. */

#include <scn/types.h>

struct scn_shared_bytes {
        uint32_t references;
        uint32_t size;
        uint8_t bytes[];
};

/* With one reference, the caller's. NULL: out of memory. */
struct scn_shared_bytes *scn_shared_bytes_create(const void *bytes, uint32_t size);
struct scn_shared_bytes *scn_shared_bytes_ref(struct scn_shared_bytes *shared);
/* NULL is allowed. */
void scn_shared_bytes_unref(struct scn_shared_bytes *shared);

#endif
