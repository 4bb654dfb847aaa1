/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_SCENECTL_GLTF_FILE_H
#define SCN_CLIENT_SCENECTL_GLTF_FILE_H

/* A glTF file while it is being read; only the reader's own parts include this. The way through them:
 * bytes → gltf_read.c finds the JSON → gltf_parse.c its members, lists and scenes, gltf_path.c where its buffers and
 * images should be → gltf_node.c each node → gltf_tree.c the hierarchy, and ops. */

#include "client/scenectl/gltf_read.h"
#include "client/scenectl/json_read.h"
#include "client/scenectl/json_value.h"
#include "protocol/base/bytes.h"
#include "protocol/scene/transform.h"

/* Members of the file that are looked at; "left out" ones are counted, with a note. */
/*      name                  word                  left out */
#define SCN_GLTF_MEMBER_LIST(X)                                                                                        \
        X(ASSET, "asset", false)                                                                                       \
        X(SCENE, "scene", false)                                                                                       \
        X(SCENES, "scenes", false)                                                                                     \
        X(NODES, "nodes", false)                                                                                       \
        X(CAMERAS, "cameras", false)                                                                                   \
        X(MESHES, "meshes", true)                                                                                      \
        X(SKINS, "skins", true)                                                                                        \
        X(MATERIALS, "materials", true)                                                                                \
        X(ANIMATIONS, "animations", true)                                                                              \
        X(BUFFERS, "buffers", false)                                                                                   \
        X(IMAGES, "images", false)                                                                                     \
        X(EXTENSIONS, "extensions", false)                                                                             \
        X(EXTENSIONS_REQUIRED, "extensionsRequired", false)

enum scn_gltf_member {
#define SCN_GLTF_MEMBER_ENUM(name, word, is_left_out) SCN_GLTF_MEMBER_##name,
        SCN_GLTF_MEMBER_LIST(SCN_GLTF_MEMBER_ENUM)
#undef SCN_GLTF_MEMBER_ENUM
        SCN_GLTF_MEMBER_COUNT,
};

#define SCN_GLTF_LIGHTS "KHR_lights_punctual"

/* Entries that nodes refer to by index: values of cameras and lights, names of meshes and skins. */
struct scn_gltf_list {
        struct scn_slice *items; /* owned; a name may be absent */
        uint32_t count;
};

struct scn_gltf_node {
        uint32_t parent; /* SCN_GLTF_NODE_NONE: a root */
        uint32_t depth;  /* below the file's roots; set where ops are made */
        uint32_t children_first;
        uint32_t children_count;
        uint32_t fields;
        size_t properties_first;
        uint32_t properties_count;
        struct scn_slice name;
        struct scn_trs trs;
        struct scn_uid uid;
};

struct scn_gltf_file {
        const struct scn_gltf_read_options *options;
        struct scn_gltf_report *report;
        struct scn_gltf_nodes *out;                      /* arena and properties are filled while reading */
        struct scn_slice text;                           /* the JSON */
        struct scn_slice piece;                          /* the part of it being read, for line numbers */
        struct scn_slice members[SCN_GLTF_MEMBER_COUNT]; /* data == NULL: absent */
        struct scn_gltf_list cameras;
        struct scn_gltf_list lights;
        struct scn_gltf_list meshes;
        struct scn_gltf_list skins;
        struct scn_gltf_node *nodes; /* owned */
        uint32_t nodes_count;
        uint32_t *children; /* owned; of all nodes, one after the other; room for each node once */
        uint32_t children_count;
        uint32_t *tops; /* owned; the nodes that go under options.parent */
        uint32_t tops_count;
        struct scn_buffer packed; /* scratch */
        struct scn_buffer canonical;
};

/* --- gltf_read.c --- */

void scn_gltf_file_init(struct scn_gltf_file *file, const struct scn_gltf_read_options *options,
        struct scn_gltf_nodes *nodes_out, struct scn_gltf_report *report);
void scn_gltf_file_finish(struct scn_gltf_file *file);

/* --- gltf_parse.c --- */

/* Room for so many nodes and their children, each node with a uid and no parent. */
SCN_NODISCARD enum scn_gltf_fault scn_gltf_file_reserve(struct scn_gltf_file *file, uint32_t nodes_count);

/* The whole JSON, up to nodes and tops. */
SCN_NODISCARD enum scn_gltf_fault scn_gltf_file_parse(struct scn_gltf_file *file);

/* Refuses, with the line of the piece. */
enum scn_gltf_fault scn_gltf_file_refuse(
        struct scn_gltf_file *file, enum scn_gltf_fault fault, uint32_t node, const char *detail);
/* The same for a fault between two nodes. */
enum scn_gltf_fault scn_gltf_file_refuse_pair(
        struct scn_gltf_file *file, enum scn_gltf_fault fault, uint32_t node, uint32_t other);
/* jansson's reading of a piece; NULL: refused. An integer that no int64 holds is JSON all the same, and -0 has its
 * sign: both become floats. */
json_t *scn_gltf_file_load(struct scn_gltf_file *file, struct scn_slice piece, uint32_t node);
/* A JSON value as property value, in the arena; `what` names it in a refusal. */
SCN_NODISCARD enum scn_gltf_fault scn_gltf_file_pack(struct scn_gltf_file *file, const json_t *value,
        enum scn_json_style style, uint32_t node, const char *what, struct scn_slice *value_out);
/* The same for what file->packed holds. */
SCN_NODISCARD enum scn_gltf_fault scn_gltf_file_keep_packed(
        struct scn_gltf_file *file, uint32_t node, const char *what, struct scn_slice *value_out);
/* How many elements an array has; absent: none. Walks it, and so finds out whether it is one. */
SCN_NODISCARD enum scn_gltf_fault scn_gltf_file_count(
        struct scn_gltf_file *file, struct scn_slice array, uint32_t *count_out);
/* Whether an object begins here; if not, it is refused. `what` names it. */
SCN_NODISCARD bool scn_gltf_file_is_object(struct scn_gltf_file *file, struct scn_slice text, const char *what);
/* Refuses what a skim has found wrong. */
SCN_NODISCARD enum scn_gltf_fault scn_gltf_file_check_skim(
        struct scn_gltf_file *file, const struct scn_json_skim *skim);
/* A whole number below `count`. */
SCN_NODISCARD enum scn_gltf_fault scn_gltf_file_index(struct scn_gltf_file *file, const json_t *number, uint32_t count,
        uint32_t node, const char *what, uint32_t *index_out);

/* --- gltf_path.c --- */

/* Whether a URI leads elsewhere than to what is beside or below the file that has it: an absolute path, another scheme
 * than data:, or more ".." than folders before; also where %XX spells it. */
bool scn_gltf_path_leaves_folder(const char *uri);
/* Refuses an array of objects of which one's `uri` does; `what` is one of them. */
SCN_NODISCARD enum scn_gltf_fault scn_gltf_path_check(
        struct scn_gltf_file *file, enum scn_gltf_member member, const char *what);

/* --- gltf_node.c --- */

SCN_NODISCARD enum scn_gltf_fault scn_gltf_node_parse(
        struct scn_gltf_file *file, uint32_t index, struct scn_slice piece);

/* Takes a finite matrix apart; notes shear. The name must be set. */
SCN_NODISCARD enum scn_gltf_fault scn_gltf_node_set_matrix(
        struct scn_gltf_file *file, uint32_t index, const struct scn_affine64 *matrix);
/* The value is in the arena already. One node's properties are added before the next one's. */
SCN_NODISCARD enum scn_gltf_fault scn_gltf_node_add_property(
        struct scn_gltf_file *file, uint32_t index, const char *key, size_t size, struct scn_slice value);
/* A property {"index": number, "name": name}; without a name when there is none. */
SCN_NODISCARD enum scn_gltf_fault scn_gltf_node_add_reference(
        struct scn_gltf_file *file, uint32_t index, const char *key, uint32_t number, struct scn_slice name);

/* --- gltf_tree.c --- */

/* Refuses what is no forest; that no node has two parents is known by then. */
SCN_NODISCARD enum scn_gltf_fault scn_gltf_tree_check(struct scn_gltf_file *file);
/* Makes the ops of the tops and all beneath. */
SCN_NODISCARD enum scn_gltf_fault scn_gltf_tree_make_ops(struct scn_gltf_file *file);

#endif
