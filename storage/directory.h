/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_STORAGE_DIRECTORY_H
#define SCN_STORAGE_DIRECTORY_H

/* The open data directory, as the files of the storage see it. */

#include "storage/storage.h"

#include <stdatomic.h>

#define SCN_STORAGE_TRASH_NAME "trash"
#define SCN_STORAGE_DRAFT_PREFIX ".draft-"
/* A document that is about to take the place of the one whose file name follows. */
#define SCN_STORAGE_NEXT_PREFIX ".next-"
#define SCN_STORAGE_PATH_SIZE 4096u

struct scn_storage {
        int directory_fd;
        int trash_fd;
        int lock_fd;
        uint64_t keep_free;               /* bytes, beside what is promised */
        atomic_uint_fast64_t *promised;   /* owned: bytes, to files that are being written */
        char path[SCN_STORAGE_PATH_SIZE]; /* absolute, without symbolic links */
        uint32_t strange_count;           /* write-ahead files that were set aside when the directory was opened ... */
        char strange[256];                /* ... and the file of the first one's document */
};

/* Puts the path of a file in the directory together; false if it is too long. */
SCN_NODISCARD bool scn_storage_path_of(
        const struct scn_storage *storage, const char *file, char path_out[SCN_STORAGE_PATH_SIZE]);
/* Its last name, for texts that somebody from afar may see. */
const char *scn_storage_base_name(const struct scn_storage *storage);
/* Whoever edits needs the disk more than whoever wants a copy or brings a file: sets so many bytes aside for one, if
 * with all that has been promised enough stays free. SCN_E_STORAGE_FULL: it does not; nothing is promised. They are
 * given back as they are written, and when they will not be. */
SCN_NODISCARD enum scn_error scn_storage_promise(
        const struct scn_storage *storage, uint64_t bytes, struct scn_storage_fault *fault);
void scn_storage_take_promise_back(const struct scn_storage *storage, uint64_t bytes);
/* Ends a scn_storage_replace() that was interrupted: is the old file still in its place, it stays; is it in the trash,
 * the new one, which was whole before, takes its place. */
SCN_NODISCARD enum scn_error scn_storage_finish_replacing(
        const struct scn_storage *storage, const char *file, struct scn_storage_fault *fault);

#endif
