/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_SIM_COMPARE_STORY_H
#define SCN_TESTS_SIM_COMPARE_STORY_H

/* What the teller of stories needs of the storage that it is linked with: an empty data directory, and its end. */

#include "storage/storage.h"

void story_begin(void);
const char *story_path(void);
void story_end(void);

#endif
