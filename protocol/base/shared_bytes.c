/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "protocol/base/shared_bytes.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"

#include <string.h>

struct scn_shared_bytes *scn_shared_bytes_alloc(uint32_t size)
{
        struct scn_shared_bytes *shared = scn_alloc(sizeof *shared + size);
        if (shared != NULL) {
                shared->references = 1;
                shared->size = size;
                shared->counter = NULL;
        }
        return shared;
}

struct scn_shared_bytes *scn_shared_bytes_create(const void *bytes, uint32_t size)
{
        struct scn_shared_bytes *shared = scn_shared_bytes_alloc(size);
        if (shared != NULL && size > 0) {
                memcpy(shared->bytes, bytes, size);
        }
        return shared;
}

struct scn_shared_bytes *scn_shared_bytes_take(struct scn_buffer *buffer, uint32_t size)
{
        SCN_ASSERT(buffer->size >= sizeof(struct scn_shared_bytes) + size);
        struct scn_shared_bytes *shared = (struct scn_shared_bytes *)(void *)buffer->data;
        *shared = (struct scn_shared_bytes){.references = 1, .size = size};
        *buffer = (struct scn_buffer){.size_max = buffer->size_max};
        return shared;
}

struct scn_shared_bytes *scn_shared_bytes_ref(struct scn_shared_bytes *shared)
{
        SCN_ASSERT(shared->references > 0 && shared->references < UINT32_MAX);
        shared->references++;
        return shared;
}

void scn_shared_bytes_count(struct scn_shared_bytes *shared, size_t *counter)
{
        if (shared->counter == NULL) {
                shared->counter = counter;
                *counter += shared->size;
        }
}

void scn_shared_bytes_unref(struct scn_shared_bytes *shared)
{
        if (shared != NULL) {
                SCN_ASSERT(shared->references > 0);
                if (--shared->references == 0) {
                        if (shared->counter != NULL) {
                                *shared->counter -= shared->size;
                        }
                        scn_free(shared);
                }
        }
}
