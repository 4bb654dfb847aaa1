/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_FAILURE_H
#define SCN_CLIENT_FAILURE_H

/* Filling in what a program is told when something went wrong. */

#include <scn/client.h>

/* A word of the library's own, or of an error. text NULL: the error list's, or none. */
struct scn_failure scn_failure_of(const char *code, const char *text);
struct scn_failure scn_failure_of_error(enum scn_error error);
/* As the server said it; cut where it is too long. */
struct scn_failure scn_failure_told(struct scn_slice code, struct scn_slice text);

#endif
