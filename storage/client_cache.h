/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_STORAGE_CLIENT_CACHE_H
#define SCN_STORAGE_CLIENT_CACHE_H

/* The clients that an appending handle has to do with: their rows, their last numbers, and what they did in the
 * window of revisions that is being filled (FORMAT.md, Clients). So a batch asks the file nothing about clients that
 * are known, and writes a row for each of them once in a window instead of once in a batch.
 *
 * It is right as long as only this handle appends; whoever finds that the journal has grown by another hand clears
 * it, and so does whoever takes a batch back. */

#include "protocol/base/index_map.h"
#include "storage/storage.h"

/* Part of the format: runs are written for the revisions 1 … 1024, 1025 … 2048, and so on. */
#define SCN_JOURNAL_WINDOW 1024u

struct scn_client_entry {
        struct scn_uid uid;
        struct scn_slice author; /* owned */
        int64_t id;
        uint64_t last_number;
        scn_revision first_revision; /* in the window; 0: none */
        scn_revision last_revision;
        int64_t last_time_us;
};

struct scn_client_cache {
        struct scn_client_entry *entries; /* owned */
        size_t count;
        size_t capacity;
        struct scn_index_map map;
        uint32_t latest;            /* the one looked for last, or SCN_INDEX_MAP_NONE */
        bool is_loaded;             /* holds all that happened in the window */
        scn_revision last_revision; /* of the journal, when it was right */
        int64_t next_record;        /* the id that the next row in records gets */
};

struct scn_journal;

/* The last revision of the last full window. */
static inline scn_revision scn_client_window_start(scn_revision last_revision)
{
        return last_revision / SCN_JOURNAL_WINDOW * SCN_JOURNAL_WINDOW;
}

void scn_client_cache_init(struct scn_client_cache *cache);
void scn_client_cache_clear(struct scn_client_cache *cache);
void scn_client_cache_finish(struct scn_client_cache *cache);

/* Reads what happened in the window after `last_revision`. Inside a transaction. */
SCN_NODISCARD enum scn_error scn_client_cache_load(
        struct scn_journal *journal, scn_revision last_revision, struct scn_storage_fault *fault);
/* The client of a transaction, from the cache, the file, or new; borrowed until the next call.
 * SCN_E_BAD_BATCH: the client belongs to another author. Inside a write transaction. */
SCN_NODISCARD enum scn_error scn_client_cache_resolve(struct scn_journal *journal,
        const struct scn_journal_transaction *transaction, struct scn_client_entry **entry_out,
        struct scn_storage_fault *fault);
/* The window is full: writes its runs. Inside a write transaction. */
SCN_NODISCARD enum scn_error scn_client_cache_end_window(struct scn_journal *journal, struct scn_storage_fault *fault);

#endif
