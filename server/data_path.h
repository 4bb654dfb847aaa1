/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_DATA_PATH_H
#define SCN_SERVER_DATA_PATH_H

/* What can be said of a data directory without taking it: for `scened --check`. */

#include "server/server.h"

/* Whether this user can write in it, or make it if it is not there; nothing is made. False: problem_out says which
 * setting, which value and why not. `path` is not empty (asserts). */
SCN_NODISCARD bool scn_data_path_check(const char *path, char problem_out[SCN_PROBLEM_BYTES]);

#endif
