/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_STORAGE_CHECKSUM_H
#define SCN_STORAGE_CHECKSUM_H

/* XXH3 over a row's fields (FORMAT.md, Checksums). Finds faults, not forgers. */

#include "storage/storage.h"

/* Most rows are short: they are put together in the buffer and hashed at once. */
#define SCN_CHECKSUM_BUFFER_BYTES 1024u

struct scn_checksum {
        void *state; /* owned; of a sum whose fields have not fitted the buffer */
        bool is_streaming;
        size_t size; /* of what stands in the buffer */
        uint8_t buffer[SCN_CHECKSUM_BUFFER_BYTES];
};

/* False: out of memory. One serves for any number of sums, one after the other. */
SCN_NODISCARD bool scn_checksum_init(struct scn_checksum *checksum);
void scn_checksum_finish(struct scn_checksum *checksum);

/* Forgets the fields so far: a sum that was not taken. */
void scn_checksum_reset(struct scn_checksum *checksum);
void scn_checksum_integer(struct scn_checksum *checksum, int64_t value);
void scn_checksum_integers(struct scn_checksum *checksum, const int64_t *values, size_t count);
/* data == NULL is NULL, which is not the same as empty. */
void scn_checksum_bytes(struct scn_checksum *checksum, struct scn_slice bytes);
/* The sum of all fields since the last one; the next begins anew. */
int64_t scn_checksum_take(struct scn_checksum *checksum);

#endif
