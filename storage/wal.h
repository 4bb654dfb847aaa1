/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_STORAGE_WAL_H
#define SCN_STORAGE_WAL_H

/* A look into a write-ahead file before SQLite takes it, past SQLite, which asks no such question: a process died and
 * left it, and somebody may have put an older copy of the document beside it since. Of the two SQLite would make a
 * mixture. */

#include <stdint.h>

/* How many bytes the file must have at least that a write-ahead file was written for; 0: nothing says so. The
 * descriptor is open for reading. Whoever else may be writing: the file is to be measured afterwards.
 *
 * Our files never get shorter, and a write-ahead file begins where a checkpoint has put everything into the file
 * itself. Its first commit says how many pages there are with it, and has a frame for each that it added; the file
 * must have the others (https://www.sqlite.org/fileformat2.html, section 4). A file that has them may be a later copy,
 * with which the write-ahead file gives the last state all the same: it has every page that was written since. A copy
 * of the same length that is older is not found out. */
uint64_t scn_wal_file_bytes_min(int fd);

#endif
