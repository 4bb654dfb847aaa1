/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _XOPEN_SOURCE 700
#include "tests/lib/locale.h"

#include <criterion/criterion.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[] = "/tmp/scn_locale_XXXXXX";

void locale_enter_odd(void)
{
        char command[256];
        char text[16];

        cr_assert_not_null(mkdtemp(folder));
        (void)snprintf(command, sizeof command, "localedef -i ps_AF -f UTF-8 %s/ps_AF.UTF-8", folder);
        cr_assert_eq(system(command), 0, "is package locales installed?");
        cr_assert_eq(setenv("LOCPATH", folder, 1), 0);
        cr_assert_not_null(setlocale(LC_ALL, "ps_AF.UTF-8"));
        (void)snprintf(text, sizeof text, "%.1f", 1.5);
        cr_assert_eq(strlen(text), 4, "its point should have two bytes: %s", text);
}

void locale_leave_odd(void)
{
        char command[256];

        cr_assert_not_null(setlocale(LC_ALL, "C"));
        (void)snprintf(command, sizeof command, "rm -r %s", folder);
        cr_assert_eq(system(command), 0);
}
