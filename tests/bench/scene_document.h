/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_BENCH_SCENE_DOCUMENT_H
#define SCN_TESTS_BENCH_SCENE_DOCUMENT_H

void bench_document(void);

#endif
