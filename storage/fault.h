/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_STORAGE_FAULT_H
#define SCN_STORAGE_FAULT_H

/* How the rest of the storage fills a struct scn_storage_fault. */

#include "storage/storage.h"

/* Fills the fault, unless it is NULL, and returns the error, so that a caller can say both in one line. The text is
 * made from the format and cut to what fits. */
enum scn_error scn_fault_set(struct scn_storage_fault *fault, enum scn_error error, scn_revision revision,
        int system_code, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The same for a failed system call on something named: maps errno (STORAGE_FULL, NO_MEMORY, else STORAGE_FAILED). */
enum scn_error scn_fault_set_errno(
        struct scn_storage_fault *fault, int error_number, const char *verb, const char *what);

#endif
