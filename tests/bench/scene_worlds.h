/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_BENCH_SCENE_WORLDS_H
#define SCN_TESTS_BENCH_SCENE_WORLDS_H

/* World transforms: the layout alone, and other layouts beside it. Part of bench_scene. */
void bench_worlds(void);

#endif
