/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/assimp_scene.h"

#include "protocol/base/alloc.h"

#include <assimp/cfileio.h>
#include <assimp/cimport.h>
#include <assimp/config.h>
#include <assimp/scene.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- Files: those in the folder of the first, and beneath --- */

static size_t read_bytes(struct aiFile *file, char *bytes, size_t size, size_t count)
{
        return fread(bytes, size, count, (FILE *)(void *)file->UserData);
}

static size_t write_bytes(struct aiFile *file, const char *bytes, size_t size, size_t count)
{
        (void)file, (void)bytes, (void)size, (void)count;
        return 0;
}

static size_t tell(struct aiFile *file)
{
        const long at = ftell((FILE *)(void *)file->UserData);
        return at > 0 ? (size_t)at : 0;
}

static size_t size_of(struct aiFile *file)
{
        struct stat status;
        return fstat(fileno((FILE *)(void *)file->UserData), &status) == 0 ? (size_t)status.st_size : 0;
}

static enum aiReturn seek(struct aiFile *file, size_t offset, enum aiOrigin origin)
{
        const int whence = origin == aiOrigin_SET ? SEEK_SET : origin == aiOrigin_CUR ? SEEK_CUR : SEEK_END;
        return fseek((FILE *)(void *)file->UserData, (long)offset, whence) == 0 ? aiReturn_SUCCESS : aiReturn_FAILURE;
}

static void flush(struct aiFile *file)
{
        (void)file;
}

/* Whether a path leads, without a step upwards, to something in the folder of the file being read. */
static bool is_within(const char *path, const char *first)
{
        const char *slash = strrchr(first, '/');
        const size_t length = slash != NULL ? (size_t)(slash - first) + 1 : 0;

        if (strncmp(path, first, length) != 0 || (length == 0 && path[0] == '/'))
                return false;
        for (const char *at = path + length; at != NULL; at = strchr(at, '/') != NULL ? strchr(at, '/') + 1 : NULL) {
                if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
                        return false;
        }
        /* Some importers make slashes of these. */
        return strchr(path + length, '\\') == NULL;
}

static struct aiFile *open_file(struct aiFileIO *io, const char *path, const char *mode)
{
        struct stat status;

        if (strchr(mode, 'r') == NULL || !is_within(path, io->UserData) || stat(path, &status) != 0 ||
                !S_ISREG(status.st_mode))
                return NULL;
        FILE *stream = fopen(path, "rb");
        struct aiFile *file = stream != NULL ? scn_alloc(sizeof *file) : NULL;
        if (file == NULL) {
                if (stream != NULL)
                        (void)fclose(stream);
                return NULL;
        }
        *file = (struct aiFile){read_bytes, write_bytes, tell, size_of, seek, flush, (aiUserData)(void *)stream};
        return file;
}

static void close_file(struct aiFileIO *io, struct aiFile *file)
{
        (void)io;
        (void)fclose((FILE *)(void *)file->UserData);
        scn_free(file);
}

static const struct aiScene *load(const char *path)
{
        struct aiFileIO io = {open_file, close_file, (aiUserData)(uintptr_t)path};
        struct aiPropertyStore *store = aiCreatePropertyStore();

        /* Else FBX nodes come as chains of helpers, one for each part of their transform. */
        aiSetImportPropertyInteger(store, AI_CONFIG_IMPORT_FBX_PRESERVE_PIVOTS, 0);
        /* Names, not ids; and no mesh made up where there is none. */
        aiSetImportPropertyInteger(store, AI_CONFIG_IMPORT_COLLADA_USE_COLLADA_NAMES, 1);
        aiSetImportPropertyInteger(store, AI_CONFIG_IMPORT_NO_SKELETON_MESHES, 1);
        const struct aiScene *scene = aiImportFileExWithProperties(path, 0, &io, store);
        aiReleasePropertyStore(store);
        if (scene != NULL && scene->mRootNode != NULL)
                return scene;
        aiReleaseImport(scene);
        return NULL;
}

/* --- Nodes --- */

/* All nodes, level by level, so that a node's children stand one after the other. */
struct listing {
        const struct aiNode **nodes; /* owned */
        size_t count;
        size_t capacity;
};

static bool list_node(struct listing *listing, const struct aiNode *node)
{
        if (!scn_grow((void **)&listing->nodes, &listing->capacity, sizeof *listing->nodes, listing->count + 1,
                    UINT32_MAX - 1))
                return false;
        listing->nodes[listing->count++] = node;
        return true;
}

static bool list_all(struct listing *listing, const struct aiNode *root)
{
        bool is_well = list_node(listing, root);

        for (size_t i = 0; i < listing->count && is_well; i++) {
                const struct aiNode *node = listing->nodes[i];
                for (unsigned k = 0; k < node->mNumChildren && is_well; k++)
                        is_well = list_node(listing, node->mChildren[k]);
        }
        return is_well;
}

/* --- Out --- */

struct outlet {
        FILE *stream;
        bool is_well;
};

static void put(struct outlet *outlet, const void *bytes, size_t size)
{
        outlet->is_well = outlet->is_well && (size == 0 || fwrite(bytes, 1, size, outlet->stream) == size);
}

static void put_node(struct outlet *outlet, const struct aiNode *node, const struct aiScene *scene)
{
        const struct aiMatrix4x4 *m = &node->mTransformation;
        struct scn_assimp_node record = {
                .rows = {m->a1, m->a2, m->a3, m->a4, m->b1, m->b2, m->b3, m->b4, m->c1, m->c2, m->c3, m->c4, m->d1,
                        m->d2, m->d3, m->d4},
                .children_count = node->mNumChildren,
                .mesh = node->mNumMeshes > 0 ? node->mMeshes[0] : SCN_ASSIMP_NO_MESH,
                .name_bytes = node->mName.length,
        };
        const struct aiMesh *mesh = record.mesh < scene->mNumMeshes ? scene->mMeshes[record.mesh] : NULL;

        record.mesh_name_bytes = mesh != NULL ? mesh->mName.length : 0;
        put(outlet, &record, sizeof record);
        put(outlet, node->mName.data, record.name_bytes);
        if (mesh != NULL)
                put(outlet, mesh->mName.data, record.mesh_name_bytes);
}

static void put_scene(struct outlet *outlet, const struct aiScene *scene)
{
        struct scn_assimp_head head = {.reason = ""};
        struct listing listing = {0};

        if (scene == NULL) {
                (void)snprintf(head.reason, sizeof head.reason, "%s", aiGetErrorString());
        } else if (!list_all(&listing, scene->mRootNode)) {
                (void)snprintf(head.reason, sizeof head.reason, "out of memory");
        } else {
                head.nodes_count = (uint32_t)listing.count;
#define COUNT(name, word, member) head.counts[SCN_ASSIMP_##name] = scene->member;
                SCN_ASSIMP_KIND_LIST(COUNT)
#undef COUNT
        }
        put(outlet, &head, sizeof head);
        for (uint32_t i = 0; i < head.nodes_count; i++)
                put_node(outlet, listing.nodes[i], scene);
        scn_free(listing.nodes);
}

bool scn_assimp_tell(const char *path, int fd)
{
        struct outlet outlet = {.stream = fdopen(fd, "wb"), .is_well = true};

        if (outlet.stream == NULL) {
                (void)close(fd);
                return false;
        }
        /* The scene ends with the process. */
        put_scene(&outlet, load(path));
        return fclose(outlet.stream) == 0 && outlet.is_well;
}
