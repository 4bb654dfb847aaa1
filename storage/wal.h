/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_STORAGE_WAL_H
#define SCN_STORAGE_WAL_H

/* A look into a write-ahead file before SQLite takes it, past SQLite, which asks no such question: a process died and
 * left it, and somebody may have put an older copy of the document beside it since. Of the two SQLite would make a
 * mixture. */

#include <stdbool.h>
#include <stdint.h>

/* How many bytes the file must have at least that a write-ahead file was written for; 0: nothing says so. The
 * descriptor is open for reading. Whoever else may be writing: the file is to be measured afterwards.
 *
 * A write-ahead file begins where a checkpoint has put everything into the file itself. Its first commit says how many
 * pages there are with it, and has a frame for each that it added; the file had the others. Later checkpoints may have
 * made it longer since, or as short as a later commit says (https://www.sqlite.org/fileformat2.html, section 4). A file
 * that has so many may be a later copy, with which the write-ahead file gives the last state all the same: it has every
 * page that was written since. An older copy of about the same length is not found out. */
uint64_t scn_wal_file_bytes_min(int fd);

/* Whether what lies beside a document, DOCUMENT-wal, needs a longer file than this one. A document without bytes, and
 * what is no file, is left to others. */
bool scn_wal_is_strange(int directory_fd, const char *document);

#endif
