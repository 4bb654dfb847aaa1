/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/gltf_name.h"

#include <ctype.h>
#include <string.h>

/* In letters of either case. */
static bool ends_in(const char *path, const char *end)
{
        const size_t length = strlen(path);
        const size_t end_length = strlen(end);
        bool ends = length >= end_length;

        for (size_t i = 0; i < end_length && ends; i++)
                ends = tolower((unsigned char)path[length - end_length + i]) == end[i];
        return ends;
}

enum scn_gltf_format scn_gltf_format_of(const char *path)
{
        return ends_in(path, ".glb") ? SCN_GLTF_BINARY : SCN_GLTF_TEXT;
}

bool scn_gltf_is_name(const char *path)
{
        return ends_in(path, ".glb") || ends_in(path, ".gltf");
}
