/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "server/problem.h"

#include <stdarg.h>
#include <stdio.h>

void scn_problem_set(char problem_out[SCN_PROBLEM_BYTES], const char *format, ...)
{
        va_list arguments;

        va_start(arguments, format);
        (void)vsnprintf(problem_out, SCN_PROBLEM_BYTES, format, arguments);
        va_end(arguments);
}
