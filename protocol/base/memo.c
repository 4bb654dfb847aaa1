/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "protocol/base/memo.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"

#include <string.h>

void scn_memo_finish(struct scn_memo *memo)
{
        scn_free(memo->entries);
        *memo = (struct scn_memo){0};
}

/* The entry of a key, or the empty one where it would go. */
static uint64_t *locate(const struct scn_memo *memo, uint32_t key)
{
        const uint32_t mask = memo->capacity - 1;
        uint32_t i = (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;
        while ((uint32_t)(memo->entries[i] >> 32) != key && (uint32_t)(memo->entries[i] >> 32) != SCN_MEMO_NONE) {
                i = (i + 1) & mask;
        }
        return &memo->entries[i];
}

uint32_t scn_memo_get(const struct scn_memo *memo, uint32_t key)
{
        if (memo->count == 0) {
                return SCN_MEMO_NONE;
        }
        const uint64_t entry = *locate(memo, key);
        return (uint32_t)(entry >> 32) == key ? (uint32_t)entry : SCN_MEMO_NONE;
}

static enum scn_error grow(struct scn_memo *memo)
{
        const struct scn_memo old = *memo;
        const uint32_t capacity = old.capacity == 0 ? 64 : old.capacity * 2;
        uint64_t *entries = scn_alloc(capacity * sizeof *entries);
        if (entries == NULL) {
                return SCN_E_NO_MEMORY;
        }
        memset(entries, 0xff, capacity * sizeof *entries);
        memo->entries = entries;
        memo->capacity = capacity;
        for (uint32_t i = 0; i < old.capacity; i++) {
                const uint32_t key = (uint32_t)(old.entries[i] >> 32);
                if (key != SCN_MEMO_NONE) {
                        *locate(memo, key) = old.entries[i];
                }
        }
        scn_free(old.entries);
        return SCN_OK;
}

enum scn_error scn_memo_put(struct scn_memo *memo, uint32_t key, uint32_t value)
{
        SCN_ASSERT(key != SCN_MEMO_NONE);
        if (memo->count >= memo->capacity / 4 * 3 && scn_memo_get(memo, key) == SCN_MEMO_NONE) {
                const enum scn_error error = grow(memo);
                if (error != SCN_OK) {
                        return error;
                }
        }
        uint64_t *entry = locate(memo, key);
        memo->count += (uint32_t)(*entry >> 32) != key;
        *entry = (uint64_t)key << 32 | value;
        return SCN_OK;
}
