/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/torn.h"

#include <string.h>

/* Its index, or the count. */
static uint32_t find(const struct scn_torn *torn, uint64_t number)
{
        uint32_t at = 0;
        while (at < torn->count && torn->numbers[at] != number) {
                at++;
        }
        return at;
}

static void forget_used(struct scn_torn *torn, uint64_t last_number)
{
        uint32_t kept = 0;
        for (uint32_t i = 0; i < torn->count; i++) {
                if (torn->numbers[i] > last_number) {
                        torn->numbers[kept++] = torn->numbers[i];
                }
        }
        torn->count = kept;
}

bool scn_torn_add(struct scn_torn *torn, uint64_t number, uint64_t last_number)
{
        if (find(torn, number) < torn->count) {
                return true;
        }
        if (torn->count == SCN_TORN_EDITS_MAX) {
                forget_used(torn, last_number);
        }
        if (torn->count == SCN_TORN_EDITS_MAX) {
                return false;
        }
        torn->numbers[torn->count++] = number;
        return true;
}

void scn_torn_push(struct scn_torn *torn, uint64_t number)
{
        if (!scn_torn_add(torn, number, 0)) {
                scn_torn_remove(torn, torn->numbers[0]);
                torn->numbers[torn->count++] = number;
        }
}

bool scn_torn_take(struct scn_torn *torn, uint64_t number)
{
        if (find(torn, number) < torn->count) {
                return true;
        }
        const bool is_unnamed = torn->has_unnamed;
        torn->has_unnamed = false;
        return is_unnamed;
}

void scn_torn_remove(struct scn_torn *torn, uint64_t number)
{
        const uint32_t at = find(torn, number);
        if (at < torn->count) {
                torn->count--;
                memmove(&torn->numbers[at], &torn->numbers[at + 1], (torn->count - at) * sizeof torn->numbers[0]);
        }
}
