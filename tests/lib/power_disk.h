/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_POWER_DISK_H
#define SCN_TESTS_LIB_POWER_DISK_H

/* A disk whose power can be cut at any moment, and whose operations can be made to fail one by one.
 *
 * It watches one folder. What SQLite does there comes through a VFS, what the storage itself asks of the system
 * through calls that the linker diverts to here (tests/CMakeLists.txt says which). Each operation that changes
 * something is noted, with its bytes: writes, cuts, syncs, and what becomes of names in directories, which last only
 * once the directory has been synced. So all that a disk may hold after a loss of power at any operation can be
 * computed from the notes of one run. Syncs cost nothing: nothing is really synced.
 *
 * The folder itself is an ordinary one, best on a file system in memory: what the process sees. */

#include <scn/types.h>

/* What becomes of that which was not synced when the power went. */
enum scn_power_loss {
        SCN_POWER_KEEP,    /* all of it was written: only the process has died */
        SCN_POWER_FORGET,  /* nothing of it */
        SCN_POWER_TEAR,    /* up to some point in time, at which a write was under way */
        SCN_POWER_REORDER, /* any of it, in pieces of a sector */
};
#define SCN_POWER_LOSSES 4

/* The notes of what was done in one folder. */
struct scn_power_disk;

/* Watches the folder, an absolute path, until scn_power_disk_rest(): one at a time. What is in there has been synced.
 * Nothing in it may be open. */
struct scn_power_disk *scn_power_disk_create(const char *path);
void scn_power_disk_rest(struct scn_power_disk *disk);
void scn_power_disk_destroy(struct scn_power_disk *disk);

/* How many operations have changed something so far. */
uint32_t scn_power_disk_count(const struct scn_power_disk *disk);
/* The operation before which the power goes at `at`, for people. */
const char *scn_power_disk_name(const struct scn_power_disk *disk, uint32_t at);
/* Makes in `path`, an empty folder, what is left when the power goes after `at` operations. */
void scn_power_disk_cut(
        const struct scn_power_disk *disk, uint32_t at, enum scn_power_loss loss, uint64_t seed, const char *path);
/* Asserts that the notes make exactly what is in the folder: nothing went past them. Nothing may be open. */
void scn_power_disk_check(const struct scn_power_disk *disk);

enum scn_power_fault {
        SCN_POWER_BROKEN, /* an error, and nothing is done; a write does its first half, a sync loses what it was for */
        SCN_POWER_FULL,   /* what needs room finds none; all else is broken */
};

/* Operations that can fail (also opening, which changes nothing) are counted from here on; the one with this number,
 * from 1, fails. 0: none. */
void scn_power_disk_fail(uint32_t at, enum scn_power_fault fault);
bool scn_power_disk_has_failed(void);
/* The operation that failed, for people. */
const char *scn_power_disk_failed_name(void);

#endif
