/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_SCENECTL_ASSIMP_READ_H
#define SCN_CLIENT_SCENECTL_ASSIMP_READ_H

/* Other formats than glTF, read with libassimp into the same ops: FBX, Collada, OBJ, .blend and what else it knows.
 * Without the library (option SCN_ASSIMP of the build) every file is refused, and the report says so.
 *
 * Nodes, names, transforms, and of meshes the references, as gltf.mesh. The file's root becomes a node, for it often
 * turns one system of axes into another. libassimp may open other files that the first one names (materials, say), but
 * none outside its folder. It is a large library, and some files make it go down: it works in a process of its own,
 * whose end is a refusal like any other. A file that nobody trusts is better taken as glTF. */

#include "client/scenectl/gltf_read.h"

bool scn_assimp_is_built_in(void);

/* As scn_gltf_read_file(); options.scene, is_whole and file_bytes_max are not looked at. */
SCN_NODISCARD enum scn_gltf_fault scn_assimp_read_file(const char *path, const struct scn_gltf_read_options *options,
        struct scn_gltf_nodes *nodes_out, struct scn_gltf_report *report);

#endif
