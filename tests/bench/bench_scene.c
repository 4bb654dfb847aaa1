/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/bench/bench.h"
#include "tests/bench/scene_document.h"
#include "tests/bench/scene_worlds.h"

/* The scene core against its budgets (DESIGN §10). Build the release preset and run it; names given as arguments
 * choose parts. A part is a function in a scene_<part>.c, which CMake links in, and a row here. */
int main(int count, char **arguments)
{
        static const struct scn_bench_part parts[] = {
                {"worlds", bench_worlds},
                {"document", bench_document},
        };
        scn_bench_run_parts(
                parts, sizeof parts / sizeof parts[0], arguments + 1, count - 1, "bench_scene [worlds] [document]");
        return 0;
}
