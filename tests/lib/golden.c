/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "tests/lib/golden.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXAMPLES_MAX 128
#define BYTES_MAX 65536
#define NAME_BYTES 48

static struct {
        struct example {
                char name[NAME_BYTES];
                uint32_t first;
                uint32_t size;
        } examples[EXAMPLES_MAX];
        uint32_t count;
        uint8_t bytes[BYTES_MAX];
        uint32_t bytes_count;
} golden;

static void read_bytes(const char *at)
{
        while (true) {
                while (isspace((unsigned char)*at)) {
                        at++;
                }
                if (*at == '\0') {
                        return;
                }
                char *end;
                const unsigned long byte = strtoul(at, &end, 16);
                cr_assert(end == at + 2 && byte <= UINT8_MAX && golden.bytes_count < BYTES_MAX,
                        "%s: these are no bytes: %s", golden.examples[golden.count - 1].name, at);
                golden.bytes[golden.bytes_count++] = (uint8_t)byte;
                golden.examples[golden.count - 1].size++;
                at = end;
        }
}

static void read_line(const char *line)
{
        if (line[0] == ' ') {
                cr_assert_gt(golden.count, 0);
                read_bytes(line);
        } else if (line[0] != '#' && line[0] != '\n') {
                const char *colon = strchr(line, ':');
                cr_assert(colon != NULL && colon - line < NAME_BYTES && golden.count < EXAMPLES_MAX);
                struct example *example = &golden.examples[golden.count++];
                memcpy(example->name, line, (size_t)(colon - line));
                example->first = golden.bytes_count;
                read_bytes(colon + 1);
        }
}

static void read_all(void)
{
        static char line[BYTES_MAX];
        if (golden.count > 0) {
                return;
        }
        FILE *file = fopen(SCN_TEST_SOURCE_DIR "/tests/golden/wire.hex", "r");
        cr_assert_not_null(file);
        while (fgets(line, sizeof line, file) != NULL) {
                read_line(line);
        }
        fclose(file);
        cr_assert_gt(golden.count, 0);
}

uint32_t golden_count(void)
{
        read_all();
        return golden.count;
}

const char *golden_name(uint32_t index)
{
        cr_assert_lt(index, golden.count);
        return golden.examples[index].name;
}

static const struct example *find(const char *name)
{
        read_all();
        for (uint32_t i = 0; i < golden.count; i++) {
                if (strcmp(golden.examples[i].name, name) == 0) {
                        return &golden.examples[i];
                }
        }
        return NULL;
}

struct scn_slice golden_get(const char *name)
{
        const struct example *example = find(name);
        cr_assert_not_null(example, "tests/golden/wire.hex has no example %s", name);
        return (struct scn_slice){golden.bytes + example->first, example->size};
}

void golden_expect(const char *name, struct scn_slice bytes)
{
        const struct example *example = find(name);
        if (example != NULL && example->size == bytes.size &&
                memcmp(golden.bytes + example->first, bytes.data, bytes.size) == 0) {
                return;
        }
        /* Not through Criterion, which cuts long texts. */
        fprintf(stderr, "%s:", name);
        for (uint32_t i = 0; i < bytes.size; i++) {
                fprintf(stderr, " %02x", bytes.data[i]);
        }
        fprintf(stderr, "\n");
        cr_expect(false, "%s is not as in tests/golden/wire.hex; what it is stands above", name);
}
