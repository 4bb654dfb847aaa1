/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_BASE_SHARED_BYTES_H
#define SCN_BASE_SHARED_BYTES_H

/* Immutable bytes with a reference count: one encoding, sent to many. Not for several threads at once. */

#include "protocol/base/bytes.h"
#include <scn/types.h>

#include <stddef.h>

struct scn_shared_bytes {
        uint32_t references;
        uint32_t size;
        size_t *counter; /* borrowed; NULL: not counted */
        uint8_t bytes[];
};

/* With one reference, the caller's, who fills it in. NULL: out of memory. */
struct scn_shared_bytes *scn_shared_bytes_alloc(uint32_t size);
/* The same, filled in. */
struct scn_shared_bytes *scn_shared_bytes_create(const void *bytes, uint32_t size);
/* Takes the buffer's memory, which leaves the buffer empty: what it holds are so many bytes behind room for the struct
 * itself. */
struct scn_shared_bytes *scn_shared_bytes_take(struct scn_buffer *buffer, uint32_t size);
struct scn_shared_bytes *scn_shared_bytes_ref(struct scn_shared_bytes *shared);
/* Counts the bytes in *counter, once, until they are freed. */
void scn_shared_bytes_count(struct scn_shared_bytes *shared, size_t *counter);
/* NULL is allowed. */
void scn_shared_bytes_unref(struct scn_shared_bytes *shared);

#endif
