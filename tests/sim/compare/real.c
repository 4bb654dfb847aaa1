/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _XOPEN_SOURCE 700 /* mkdtemp, nftw */

#include "protocol/base/assert.h"
#include "tests/sim/compare/story.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char path[32];

void story_begin(void)
{
        (void)snprintf(path, sizeof path, "/tmp/scened-story-XXXXXX");
        SCN_ASSERT(mkdtemp(path) != NULL);
}

const char *story_path(void)
{
        return path;
}

static int remove_one(const char *name, const struct stat *status, int kind, struct FTW *walk)
{
        (void)status;
        (void)kind;
        (void)walk;
        return remove(name);
}

void story_end(void)
{
        SCN_ASSERT(nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0);
}
