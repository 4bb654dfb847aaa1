/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_SCENECTL_LEFTOVER_H
#define SCN_CLIENT_SCENECTL_LEFTOVER_H

/* Files that nobody wants once the program is gone: they are removed when SIGINT, SIGTERM or SIGHUP ends it. A signal
 * that was ignored at the start stays so. For one thread. */

#define SCN_LEFTOVERS_MAX 4u /* at a time */

/* A path is borrowed until it is forgotten; what was noted last goes first, a folder only if nothing is in it. */
void scn_leftover_note(const char *path);
/* As mkstemp() and mkdtemp(), and noted before any signal can come. Returns 0 or an errno; then nothing is noted. */
int scn_leftover_make_file(char *template, int *fd_out);
int scn_leftover_make_folder(char *template);
/* It has gone, or is wanted now. */
void scn_leftover_forget(const char *path);

#endif
