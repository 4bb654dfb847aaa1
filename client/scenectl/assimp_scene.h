/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_SCENECTL_ASSIMP_SCENE_H
#define SCN_CLIENT_SCENECTL_ASSIMP_SCENE_H

/* What a process that reads a file with libassimp tells the one that started it, through a pipe: a head, then the
 * nodes, level by level, so that a node's children stand one after the other. Both run the same program, so structs go
 * as they lie in memory. Who reads takes nothing of it on trust but the sizes of the structs. */

#include <scn/types.h>

/* What a document has no place for; of each the number is told. */
#define SCN_ASSIMP_KIND_LIST(X)                                                                                        \
        X(MESHES, "meshes", mNumMeshes)                                                                                \
        X(MATERIALS, "materials", mNumMaterials)                                                                       \
        X(ANIMATIONS, "animations", mNumAnimations)                                                                    \
        X(CAMERAS, "cameras", mNumCameras)                                                                             \
        X(LIGHTS, "lights", mNumLights)

enum scn_assimp_kind {
#define SCN_ASSIMP_KIND_ENUM(name, word, member) SCN_ASSIMP_##name,
        SCN_ASSIMP_KIND_LIST(SCN_ASSIMP_KIND_ENUM)
#undef SCN_ASSIMP_KIND_ENUM
        SCN_ASSIMP_KIND_COUNT,
};

#define SCN_ASSIMP_REASON_BYTES 128
#define SCN_ASSIMP_NO_MESH UINT32_MAX

struct scn_assimp_head {
        char reason[SCN_ASSIMP_REASON_BYTES]; /* with a zero; why there are no nodes, or "" */
        uint32_t counts[SCN_ASSIMP_KIND_COUNT];
        uint32_t nodes_count; /* all of them; 0: the file was refused */
};

/* Behind it stand the bytes of the two names. */
struct scn_assimp_node {
        float rows[16];
        uint32_t children_count;
        uint32_t mesh; /* the first, or SCN_ASSIMP_NO_MESH */
        uint32_t name_bytes;
        uint32_t mesh_name_bytes;
};

/* Reads the file and writes the whole to `fd`, which it takes. For a process that ends then: libassimp may go down on
 * a file, and is not cleaned up after. False if it could not be written. */
SCN_NODISCARD bool scn_assimp_tell(const char *path, int fd);

#endif
