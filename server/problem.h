/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_PROBLEM_H
#define SCN_SERVER_PROBLEM_H

/* One line for a person about why the daemon does not start: setting, value, cause. Made where it is found, shown by
 * main. */

#include "server/server.h"

/* How much is shown of a value that can be long, so that the cause behind it stays. */
#define SCN_PROBLEM_VALUE_BYTES 256

/* Cut off where the buffer ends. */
void scn_problem_set(char problem_out[SCN_PROBLEM_BYTES], const char *format, ...)
        __attribute__((format(printf, 2, 3)));

#endif
