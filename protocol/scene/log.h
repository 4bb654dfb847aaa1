/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SCENE_LOG_H
#define SCN_SCENE_LOG_H

/* The log that takes mutations back: a stack of 64-bit words. mutation.c pushes, rollback.c pops; nobody else.
 * An entry is its payload and then one header word, so it is read from the end. */

#include "protocol/scene/mutation.h"

/* Behind each kind the payload words, in the order in which they are pushed. */
enum scn_log_kind {
        SCN_LOG_STAMP,    /* revision_client, writer_client; number: the field */
        SCN_LOG_FEED,     /* the previous reference */
        SCN_LOG_MARK,     /* an old revision for each ancestor from the slot up, then their count; number: channel */
        SCN_LOG_TRS,      /* the local transform, five words */
        SCN_LOG_NAME,     /* the old text */
        SCN_LOG_PROPERTY, /* the old text or NULL, the new text, the old revision of all, the old stamp's two words */
        SCN_LOG_EMPTIED,  /* nothing: a past entry to pop */
        SCN_LOG_ADD,      /* past references that had the id << 32 | the uid, or SCN_NONE */
        SCN_LOG_MOVE,     /* parent << 32 | previous; number: whether a past entry is to be popped */
        SCN_LOG_REMOVE,   /* parent << 32 | previous */
};

#define SCN_LOG_TRS_WORDS 5
SCN_STATIC_ASSERT(sizeof(struct scn_trs) == SCN_LOG_TRS_WORDS * sizeof(uint64_t), "a transform fits its words");

struct scn_log_header {
        enum scn_log_kind kind;
        uint32_t slot;
        uint32_t number;
};

static inline uint64_t scn_log_pop(struct scn_changes *changes)
{
        SCN_ASSERT(changes->log_count > 0);
        return changes->log[--changes->log_count];
}

static inline struct scn_log_header scn_log_pop_header(struct scn_changes *changes)
{
        const uint64_t word = scn_log_pop(changes);
        return (struct scn_log_header){(enum scn_log_kind)(word & 0xff), (uint32_t)(word >> 8), (uint32_t)(word >> 40)};
}

static inline void scn_log_push(struct scn_changes *changes, uint64_t word)
{
        SCN_ASSERT(changes->log_count < changes->log_capacity);
        changes->log[changes->log_count++] = word;
}

static inline void scn_log_push_header(
        struct scn_changes *changes, enum scn_log_kind kind, uint32_t slot, uint32_t number)
{
        scn_log_push(changes, (uint64_t)kind | (uint64_t)slot << 8 | (uint64_t)number << 40);
}

#endif
