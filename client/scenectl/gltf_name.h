/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_SCENECTL_GLTF_NAME_H
#define SCN_CLIENT_SCENECTL_GLTF_NAME_H

/* What the name of a file says about it. */

#include <stdbool.h>

enum scn_gltf_format {
        SCN_GLTF_TEXT,
        SCN_GLTF_BINARY,
};

/* By the end of its name: ".glb", in any case, is binary. */
enum scn_gltf_format scn_gltf_format_of(const char *path);
/* Whether it says that it is glTF: by its end, ".gltf" or ".glb", in any case. */
bool scn_gltf_is_name(const char *path);

#endif
