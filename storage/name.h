/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_STORAGE_NAME_H
#define SCN_STORAGE_NAME_H

/* Document names and the file names they stand for (FORMAT.md, File names). No name becomes a path, a hidden file or
 * a special one, and each file name comes from exactly one name. */

#include "storage/storage.h"

#define SCN_STORAGE_SUFFIX ".scene"
#define SCN_STORAGE_SUFFIX_BYTES 6u
/* A dot and the digits of the greatest 64-bit number. */
#define SCN_STORAGE_TRASH_BYTES_MAX 20u
/* With SQLite's longest ending, "-journal", and a zero; a file name may have 255 bytes. */
#define SCN_STORAGE_FILE_NAME_SIZE                                                                                     \
        (SCN_STORAGE_FILE_NAME_BYTES_MAX + SCN_STORAGE_TRASH_BYTES_MAX + SCN_STORAGE_SUFFIX_BYTES + 8u + 1u)

struct scn_storage_file_name {
        char text[SCN_STORAGE_FILE_NAME_SIZE]; /* zero-terminated */
};

/* SCN_E_BAD_NAME, see SCN_STORAGE_FILE_NAME_BYTES_MAX. */
SCN_NODISCARD enum scn_error scn_storage_name_to_file(
        struct scn_slice name, struct scn_storage_file_name *file_out, struct scn_storage_fault *fault);
/* The name in the trash: the same with the time in between. time_us must not be negative (asserts). */
SCN_NODISCARD enum scn_error scn_storage_name_to_trash(struct scn_slice name, int64_t time_us,
        struct scn_storage_file_name *file_out, struct scn_storage_fault *fault);

struct scn_storage_name {
        uint8_t bytes[SCN_STORAGE_FILE_NAME_BYTES_MAX];
        uint32_t size;
        int64_t time_us; /* of a name in the trash, else 0 */
};

/* False if no document's file (or none in the trash) is called so. */
bool scn_storage_name_from_file(const char *file, enum scn_storage_place place, struct scn_storage_name *name_out);

#endif
