/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_SHAKY_DISK_H
#define SCN_TESTS_LIB_SHAKY_DISK_H

/* A disk that fails when it is told to: an SQLite VFS over the usual one, made the default by scn_shaky_install(), so
 * that everything opened afterwards in this process goes through it. It counts the operations that change files
 * (writes, truncations, deletions, syncs), lets one of them fail, and remembers what has been synced, so that a loss
 * of power can be acted out: what was written since the last sync may or may not be there. Of a file that is there
 * when it is first opened all has been synced. */

#include <scn/types.h>

enum scn_shaky_fault {
        SCN_SHAKY_NONE,
        SCN_SHAKY_FULL,        /* a write: no space left, nothing is written */
        SCN_SHAKY_SHORT_WRITE, /* a write: the first half is written, then an error */
        SCN_SHAKY_SYNC_FAILS,  /* a sync: an error; what was to be synced stays unsynced for ever */
        SCN_SHAKY_DEAD,        /* any operation: the process is as good as dead, all that follow fail too */
};

struct scn_shaky {
        uint64_t operations;        /* so far */
        uint64_t syncs;             /* so far */
        uint64_t writes;            /* so far */
        enum scn_shaky_fault fault; /* what happens next */
        uint64_t fault_at;          /* at the operation (writes, syncs: among these) with this number, from 1 */
        bool is_sticky;             /* and at all after it */
        const char *only;           /* files whose path ends so, or NULL: all */
        bool has_struck;
};

extern struct scn_shaky scn_shaky;

void scn_shaky_install(void);

/* Writes to another directory what the files of one directory may look like after a loss of power: what was synced
 * and, of what was written since, what `seed` chooses, in pieces of 512 bytes. */
void scn_shaky_lose_power(const char *from, const char *to, uint64_t seed);
/* What the file has beyond so many bytes is in the system's cache only. The file must have been opened. */
void scn_shaky_cut_synced(const char *path, size_t size);
/* Forgets all files. To be called when nothing is open. */
void scn_shaky_reset(void);

#endif
