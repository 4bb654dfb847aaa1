/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/base/assert.h"

#include <stdio.h>
#include <stdlib.h>

void scn_assert_failed(const char *file, int line, const char *expression)
{
        fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
        abort();
}
