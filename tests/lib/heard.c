/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "tests/lib/heard.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* Where the tables begin; they end where the next heading of their level does. */
#define CODES "\n## 10 Error codes\n"
#define LISTS "\n### Who hears what\n"

/* The section, read once: a test runs in a process of its own. */
static const char *section(void)
{
        static char page[1 << 20];
        static const char *begin = NULL;
        if (begin == NULL) {
                FILE *file = fopen(SCN_TEST_SOURCE_DIR "/protocol/PROTOCOL.md", "r");
                cr_assert_not_null(file);
                const size_t size = fread(page, 1, sizeof page - 1, file);
                cr_assert(size > 0 && size < sizeof page - 1);
                (void)fclose(file);
                begin = strstr(page, CODES);
                cr_assert_not_null(begin);
                char *end = strstr(begin + 1, "\n## ");
                cr_assert(end != NULL && strstr(begin, LISTS) != NULL);
                *end = '\0';
        }
        return begin;
}

/* The cell of a row, without bars; column 0 is the first. */
static struct scn_slice cell_of(const char *row, int column)
{
        const char *end = row + strcspn(row, "\n");
        const char *at = row;
        for (int i = 0; i <= column && at < end; i++) {
                at += strcspn(at, "|\n") + 1;
        }
        return at < end ? (struct scn_slice){(const uint8_t *)at, (uint32_t)strcspn(at, "|\n")}
                        : (struct scn_slice){NULL, 0};
}

static bool has(struct scn_slice cell, const char *mark, struct scn_slice word)
{
        char wanted[80];
        const int size =
                snprintf(wanted, sizeof wanted, "%s%.*s%s", mark, (int)word.size, (const char *)word.data, mark);
        for (uint32_t i = 0; i + (uint32_t)size <= cell.size; i++) {
                if (memcmp(cell.data + i, wanted, (size_t)size) == 0) {
                        return true;
                }
        }
        return false;
}

/* The next row behind `at`, or NULL. */
static const char *next_row(const char *at)
{
        at = strstr(at, "\n|");
        return at == NULL ? NULL : at + 1;
}

bool heard_may_come(struct scn_slice code, char where)
{
        const char *const end = strstr(section(), LISTS);
        for (const char *row = next_row(section()); row != NULL && row < end; row = next_row(row)) {
                const struct scn_slice cell = cell_of(row, 1);
                if (has(cell_of(row, 0), "`", code) && memchr(cell.data, where, cell.size) != NULL) {
                        return true;
                }
        }
        return false;
}

/* Whether a group that the cell names has the code. */
static bool is_in_group(struct scn_slice cell, struct scn_slice code)
{
        for (const char *row = next_row(strstr(section(), LISTS)); row != NULL; row = next_row(row)) {
                const struct scn_slice name = cell_of(row, 0);
                if (name.size > 6 && memcmp(name.data, " **", 3) == 0 && has(cell_of(row, 1), "`", code) &&
                        has(cell, "", (struct scn_slice){name.data + 1, name.size - 2})) {
                        return true;
                }
        }
        return false;
}

bool heard_by(const char *request, struct scn_slice code)
{
        const struct scn_slice name = {(const uint8_t *)request, (uint32_t)strlen(request)};
        for (const char *row = next_row(strstr(section(), LISTS)); row != NULL; row = next_row(row)) {
                const struct scn_slice cell = cell_of(row, 1);
                if (has(cell_of(row, 0), "`", name) && (has(cell, "`", code) || is_in_group(cell, code))) {
                        return true;
                }
        }
        return false;
}
