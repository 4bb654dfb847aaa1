/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/bench/scene_document.h"
#include "tests/bench/scene_worlds.h"

#include <stdio.h>
#include <string.h>

/* The scene core against its budgets (DESIGN §10). Build the release preset and run it; names given as arguments
 * choose parts. A part is a function in a scene_<part>.c, which CMake links in, and a row here. */
static const struct {
        const char *name;
        void (*run)(void);
} parts[] = {
        {"worlds", bench_worlds},
        {"document", bench_document},
};

static int is_chosen(const char *name, int argc, char **argv)
{
        for (int i = 1; i < argc; i++) {
                if (strcmp(argv[i], name) == 0)
                        return 1;
        }
        return argc == 1;
}

int main(int argc, char **argv)
{
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
                if (is_chosen(parts[i].name, argc, argv))
                        parts[i].run();
        }
        return 0;
}
