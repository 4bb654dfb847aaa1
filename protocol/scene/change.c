/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The life of what an edit did, and its records. What is logged in it belongs to mutation.c and rollback.c. */

#include "protocol/scene/mutation.h"

#include <string.h>

#define LOG_SPARE_WORDS_MAX 1024
#define ARENA_CHUNK_BYTES 512
#define SPARE_CHANGES_MAX 1024 /* about a KiB each: a turn under load has hundreds of edits */

enum scn_error scn_changes_begin(struct scn_document *document, struct scn_changes **changes_out)
{
        struct scn_changes *changes = document->spare;
        if (changes != NULL) {
                document->spare = changes->newer;
                document->spare_count--;
        } else {
                changes = scn_alloc_zero(1, sizeof *changes);
                if (changes == NULL) {
                        return SCN_E_NO_MEMORY;
                }
        }
        changes->older = NULL;
        changes->newer = NULL;
        changes->revision = document->revision;
        changes->mask = 0;
        changes->record_bytes = 0;
        changes->has_garbage = false;
        changes->garbage_bytes = 0;
        changes->revision_before = document->revision;
        changes->horizon_before = document->horizon;
        changes->next_id_before = document->next_id;
        changes->clients_count_before = document->clients_count;
        changes->past_live_before = document->past_live;
        changes->digests_before = document->digests;
        *changes_out = changes;
        return SCN_OK;
}

void scn_changes_destroy(struct scn_changes *changes)
{
        while (changes->arena != NULL) {
                struct scn_arena_chunk *next = changes->arena->next;
                scn_free(changes->arena);
                changes->arena = next;
        }
        scn_free(changes->records);
        scn_free(changes->skips);
        scn_free(changes->log);
        scn_free(changes);
}

/* Small ones are kept, so that an edit of one op allocates nothing. */
void scn_changes_release(struct scn_document *document, struct scn_changes *changes)
{
        const bool is_small = changes->arena_bytes <= ARENA_CHUNK_BYTES &&
                changes->log_capacity <= LOG_SPARE_WORDS_MAX && changes->records_capacity <= 64 &&
                changes->skips_capacity <= 64;
        if (!is_small || document->spare_count == SPARE_CHANGES_MAX) {
                scn_changes_destroy(changes);
                return;
        }
        if (changes->arena != NULL) {
                changes->arena->used = 0;
        }
        changes->records_count = 0;
        changes->skips_count = 0;
        changes->log_count = 0;
        changes->is_outstanding = false;
        changes->older = NULL;
        changes->newer = document->spare;
        document->spare = changes;
        document->spare_count++;
}

void *scn_changes_alloc(struct scn_changes *changes, size_t size)
{
        size = (size + 15) & ~(size_t)15;
        struct scn_arena_chunk *chunk = changes->arena;
        if (chunk == NULL || chunk->size - chunk->used < size) {
                /* Chunks grow with what is already there, so a large edit has few. */
                size_t wanted = changes->arena_bytes < ARENA_CHUNK_BYTES ? ARENA_CHUNK_BYTES
                        : changes->arena_bytes < 65536                   ? changes->arena_bytes
                                                                         : 65536;
                wanted = wanted < size ? size : wanted;
                chunk = scn_alloc(sizeof *chunk + wanted);
                if (chunk == NULL) {
                        return NULL;
                }
                chunk->next = changes->arena;
                chunk->size = wanted;
                chunk->used = 0;
                changes->arena = chunk;
                changes->arena_bytes += wanted;
        }
        void *block = chunk->bytes + chunk->used;
        chunk->used += size;
        return block;
}

static size_t record_size(enum scn_op_kind kind)
{
        static const size_t sizes[SCN_OP_COUNT] = {
                [SCN_OP_ADD] = sizeof(struct scn_change_add),
                [SCN_OP_REMOVE] = sizeof(struct scn_change_remove),
                [SCN_OP_MOVE] = sizeof(struct scn_change_move),
                [SCN_OP_TRANSFORM] = sizeof(struct scn_change_transform),
                [SCN_OP_RENAME] = sizeof(struct scn_change_rename),
                [SCN_OP_SET] = sizeof(struct scn_change_set),
        };
        return offsetof(struct scn_change, as) + sizes[kind];
}

enum scn_error scn_changes_record(
        struct scn_mutation *mutation, enum scn_op_kind kind, uint64_t stored_bytes, struct scn_change **record_out)
{
        struct scn_changes *changes = mutation->changes;
        /* Before the first change: a stamp could not hold the revision. */
        if (mutation->revision > SCN_REVISION_MAX) {
                return SCN_E_TOO_MANY_REVISIONS;
        }
        if (changes->record_bytes + stored_bytes > mutation->document->limits.record_bytes_max) {
                return SCN_E_TOO_LARGE;
        }
        if (!scn_grow((void **)&changes->records, &changes->records_capacity, sizeof *changes->records,
                    changes->records_count + 1, SIZE_MAX)) {
                return SCN_E_NO_MEMORY;
        }
        struct scn_change *record = scn_changes_alloc(changes, record_size(kind));
        if (record == NULL) {
                return SCN_E_NO_MEMORY;
        }
        memset(record, 0, record_size(kind));
        record->kind = kind;
        changes->records[changes->records_count++] = record;
        changes->record_bytes += stored_bytes;
        *record_out = record;
        return SCN_OK;
}

/* --- What others may know --- */

scn_revision scn_changes_revision(const struct scn_changes *changes)
{
        return changes->revision;
}

uint32_t scn_changes_mask(const struct scn_changes *changes)
{
        return changes->mask;
}

uint32_t scn_changes_count(const struct scn_changes *changes)
{
        return (uint32_t)changes->records_count;
}

const struct scn_change *scn_changes_get(const struct scn_changes *changes, uint32_t index)
{
        SCN_ASSERT(index < changes->records_count);
        return changes->records[index];
}

uint32_t scn_changes_skips_count(const struct scn_changes *changes)
{
        return (uint32_t)changes->skips_count;
}

const struct scn_skip *scn_changes_skip(const struct scn_changes *changes, uint32_t index)
{
        SCN_ASSERT(index < changes->skips_count);
        return &changes->skips[index];
}

size_t scn_changes_bytes(const struct scn_changes *changes)
{
        return sizeof *changes + changes->garbage_bytes + changes->arena_bytes +
                changes->log_capacity * sizeof *changes->log + changes->records_capacity * sizeof(void *) +
                changes->skips_capacity * sizeof *changes->skips;
}
