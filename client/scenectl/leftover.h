/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_SCENECTL_LEFTOVER_H
#define SCN_CLIENT_SCENECTL_LEFTOVER_H

/* Files that nobody wants once the program is gone: they are removed when SIGINT, SIGTERM or SIGHUP ends it. A signal
 * that was ignored at the start stays so. For one thread. */

/* The path is borrowed until it is forgotten. A folder is removed if nothing is in it; what was noted last goes first.
 * At most SCN_LEFTOVERS_MAX at a time. */
#define SCN_LEFTOVERS_MAX 4u
void scn_leftover_note(const char *path);
/* It has gone, or is wanted now. */
void scn_leftover_forget(const char *path);

#endif
