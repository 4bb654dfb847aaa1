/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/assimp_read.h"

#include "client/scenectl/gltf_file.h"
#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"

#include <assimp/cfileio.h>
#include <assimp/cimport.h>
#include <assimp/config.h>
#include <assimp/scene.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool scn_assimp_is_built_in(void)
{
        return true;
}

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

static const struct aiScene *load(const char *path, struct scn_gltf_report *report)
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
        if (scene == NULL || scene->mRootNode == NULL) {
                (void)scn_gltf_report_refuse(report, SCN_GLTF_NOT_READABLE, SCN_GLTF_NODE_NONE, aiGetErrorString());
                aiReleaseImport(scene);
                return NULL;
        }
        return scene;
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
                    SCN_GLTF_NODE_NONE - 1))
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

static enum scn_gltf_fault take_text(
        struct scn_gltf_file *file, uint32_t index, const struct aiString *text, struct scn_slice *text_out)
{
        *text_out = (struct scn_slice){NULL, 0};
        if (text->length == 0)
                return SCN_GLTF_OK;
        if (text->length > file->options->limits.name_bytes_max)
                return scn_gltf_file_refuse(file, SCN_GLTF_NAME_TOO_LONG, index, text->data);
        if (!scn_utf8_is_valid((const uint8_t *)text->data, text->length))
                return scn_gltf_file_refuse(file, SCN_GLTF_BAD_TEXT, index, "");
        *text_out = scn_arena_copy(&file->out->arena, text->data, text->length);
        return text_out->data != NULL ? SCN_GLTF_OK : scn_gltf_file_refuse(file, SCN_GLTF_NO_MEMORY, index, "");
}

static enum scn_gltf_fault take_matrix(struct scn_gltf_file *file, uint32_t index, const struct aiMatrix4x4 *matrix)
{
        const float rows[16] = {matrix->a1, matrix->a2, matrix->a3, matrix->a4, matrix->b1, matrix->b2, matrix->b3,
                matrix->b4, matrix->c1, matrix->c2, matrix->c3, matrix->c4, matrix->d1, matrix->d2, matrix->d3,
                matrix->d4};
        struct scn_affine64 affine;

        for (uint32_t i = 0; i < 16; i++) {
                if (!isfinite(rows[i]))
                        return scn_gltf_file_refuse(file, SCN_GLTF_NOT_FINITE, index, "matrix");
        }
        if (rows[12] != 0.0f || rows[13] != 0.0f || rows[14] != 0.0f || rows[15] != 1.0f)
                return scn_gltf_file_refuse(file, SCN_GLTF_BAD_MATRIX, index, "the last row is another");
        for (uint32_t i = 0; i < 12; i++)
                affine.m[i] = rows[i];
        return scn_gltf_node_set_matrix(file, index, &affine);
}

/* A node has one mesh in glTF; the format read may give it several, of which the first is named. */
static enum scn_gltf_fault take_meshes(
        struct scn_gltf_file *file, uint32_t index, const struct aiNode *node, const struct aiScene *scene)
{
        struct scn_slice name;

        if (node->mNumMeshes == 0)
                return SCN_GLTF_OK;
        if (node->mMeshes[0] >= scene->mNumMeshes)
                return scn_gltf_file_refuse(file, SCN_GLTF_BAD_INDEX, index, "mesh");
        enum scn_gltf_fault fault = take_text(file, index, &scene->mMeshes[node->mMeshes[0]]->mName, &name);
        if (fault != SCN_GLTF_OK)
                return fault;
        return scn_gltf_node_add_reference(file, index, "gltf.mesh", node->mMeshes[0], name);
}

static enum scn_gltf_fault take_nodes(
        struct scn_gltf_file *file, const struct listing *listing, const struct aiScene *scene)
{
        enum scn_gltf_fault fault = scn_gltf_file_reserve(file, (uint32_t)listing->count);

        for (uint32_t i = 0; i < listing->count && fault == SCN_GLTF_OK; i++) {
                struct scn_gltf_node *node = &file->nodes[i];
                const struct aiNode *source = listing->nodes[i];
                /* The root is the first; behind each node's children stand those of the next. */
                node->children_first = file->children_count + 1;
                node->children_count = source->mNumChildren;
                for (uint32_t k = 0; k < source->mNumChildren; k++)
                        file->nodes[node->children_first + k].parent = i;
                file->children_count += source->mNumChildren;
                file->children[i] = i;
                node->properties_first = file->out->properties_count;
                fault = take_text(file, i, &source->mName, &node->name);
                if (fault == SCN_GLTF_OK)
                        fault = take_matrix(file, i, &source->mTransformation);
                if (fault == SCN_GLTF_OK)
                        fault = take_meshes(file, i, source, scene);
        }
        return fault;
}

static void note_left_out(struct scn_gltf_report *report, const struct aiScene *scene)
{
        const struct {
                const char *word;
                unsigned count;
        } rows[] = {{"meshes", scene->mNumMeshes}, {"materials", scene->mNumMaterials},
                {"animations", scene->mNumAnimations}, {"cameras", scene->mNumCameras}, {"lights", scene->mNumLights}};

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                const struct scn_slice word = {(const uint8_t *)rows[i].word, (uint32_t)strlen(rows[i].word)};
                if (rows[i].count > 0)
                        scn_gltf_report_add(report, SCN_GLTF_NOTE_LEFT_OUT, SCN_GLTF_NODE_NONE, rows[i].count, word);
        }
}

static enum scn_gltf_fault take_scene(struct scn_gltf_file *file, const struct aiScene *scene)
{
        struct listing listing = {0};
        enum scn_gltf_fault fault = SCN_GLTF_OK;

        note_left_out(file->report, scene);
        if (!list_all(&listing, scene->mRootNode))
                fault = scn_gltf_file_refuse(file, SCN_GLTF_NO_MEMORY, SCN_GLTF_NODE_NONE, "");
        if (fault == SCN_GLTF_OK)
                fault = take_nodes(file, &listing, scene);
        scn_free(listing.nodes);
        file->tops = scn_alloc_zero(1, sizeof *file->tops);
        if (fault == SCN_GLTF_OK && file->tops == NULL)
                fault = scn_gltf_file_refuse(file, SCN_GLTF_NO_MEMORY, SCN_GLTF_NODE_NONE, "");
        file->tops_count = 1;
        return fault != SCN_GLTF_OK ? fault : scn_gltf_tree_make_ops(file);
}

enum scn_gltf_fault scn_assimp_read_file(const char *path, const struct scn_gltf_read_options *options,
        struct scn_gltf_nodes *nodes_out, struct scn_gltf_report *report)
{
        struct scn_gltf_file file;

        scn_gltf_report_init(report);
        scn_gltf_file_init(&file, options, nodes_out, report);
        scn_json_enter_locale();
        const struct aiScene *scene = load(path, report);
        enum scn_gltf_fault fault = scene != NULL ? take_scene(&file, scene) : report->fault;
        aiReleaseImport(scene);
        scn_json_leave_locale();
        scn_gltf_file_finish(&file);
        if (fault != SCN_GLTF_OK)
                scn_gltf_nodes_finish(nodes_out);
        return fault;
}
