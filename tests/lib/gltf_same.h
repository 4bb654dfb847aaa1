/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_GLTF_SAME_H
#define SCN_TESTS_LIB_GLTF_SAME_H

/* Without Criterion, for fuzzing too. */

#include "protocol/scene/document.h"

/* Whether two documents have the same trees: names, transforms and properties bit for bit, uids aside. */
bool gltf_is_same(const struct scn_document *a, const struct scn_document *b);

#endif
