/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_SCENECTL_GLTF_READ_H
#define SCN_CLIENT_SCENECTL_GLTF_READ_H

/* A glTF 2.0 file, .gltf or .glb, read into the ops of one edit: its node trees, parents first, siblings in order.
 *
 * Reads nodes and nothing else: accessors, buffers and images are passed over unread, and no other file is ever
 * opened, whatever a uri says. Everything is checked before anything is given out, so a file is taken whole or
 * refused with the node and the reason. What becomes of a node:
 *
 *      name                       the name; absent stays absent
 *      translation, rotation,     bit for bit as float32; a rotation whose length is not 1 is normalised, with a note;
 *      scale                      what is as by default is left unsaid
 *      matrix                     taken apart; where it shears, the error is noted. Refused beside translation,
 *                                 rotation or scale, and with a last row that is not 0 0 0 1
 *      children                   refused: a cycle, a second parent, the same child twice, a bad index
 *      camera                     gltf.camera  the camera, as a map
 *      KHR_lights_punctual        gltf.light   the light, as a map
 *      mesh, skin                 gltf.mesh, gltf.skin  {"index": 3, "name": "Hull"}
 *      weights                    gltf.weights
 *      extras                     gltf.extras  any value but null
 *      extras.scened              what gltf_write.h put there: all other properties, to the bit
 *      other extensions           left out, with a note
 *
 * Which nodes: those of the file's default scene ("scene", or else the first), of a scene named by the caller, or all
 * that no node has as a child. A file without scenes gives all. A scene that lists a node that is also a child is
 * refused, as glTF says. The rules for children hold for the whole file, not only for what is taken. */

#include "client/scenectl/gltf_report.h"
#include "protocol/base/arena.h"
#include "protocol/scene/edit.h"

#include <scn/limits.h>

/* Bytes of JSON taken at most, unless the caller says otherwise: some six million nodes. */
#define SCN_GLTF_FILE_BYTES_MAX UINT32_C(1073741824)

struct scn_gltf_read_options {
        struct scn_limits limits;   /* the document's: a file beyond them is refused here already */
        uint32_t file_bytes_max;    /* of the JSON; what a .glb holds beside it is never read */
        struct scn_slice scene;     /* its name; data == NULL: the default one */
        bool is_whole;              /* all nodes, whatever the scenes say */
        struct scn_node_ref parent; /* where the top nodes go; path and such are borrowed by the ops */
        uint32_t parent_depth;      /* its level below the root, for the limit of depth */
        /* Fills `size` random bytes; for the uids. */
        void (*random)(void *data, uint8_t *bytes, size_t size);
        void *random_data;
};

/* Default limits and the default scene; parent and random are for the caller to set. */
#define SCN_GLTF_READ_OPTIONS_DEFAULT                                                                                  \
        ((struct scn_gltf_read_options){.limits = SCN_LIMITS_DEFAULT, .file_bytes_max = SCN_GLTF_FILE_BYTES_MAX})

/* What was read: add-ops, each with a uid and a parent that is an op before it or options.parent. */
struct scn_gltf_nodes {
        struct scn_op *ops; /* owned, with all they point to, but for options.parent */
        uint32_t ops_count;
        uint32_t *indices; /* owned; of each op, which node of the file it adds */
        /* The rest is the reader's. */
        struct scn_property *properties;
        size_t properties_count;
        size_t properties_capacity;
        struct scn_arena arena;
};

/* On SCN_GLTF_OK the caller owns *nodes_out and ends it with scn_gltf_nodes_finish(); else it is empty, and the
 * report says why. The report is init'ed here and may hold notes either way. A file is a regular one; a number of
 * top nodes of 0 is no fault. Not for several threads at once (jansson). */
SCN_NODISCARD enum scn_gltf_fault scn_gltf_read_file(const char *path, const struct scn_gltf_read_options *options,
        struct scn_gltf_nodes *nodes_out, struct scn_gltf_report *report);
/* The same from memory; a .glb is known by its first four bytes. */
SCN_NODISCARD enum scn_gltf_fault scn_gltf_read_bytes(struct scn_slice bytes,
        const struct scn_gltf_read_options *options, struct scn_gltf_nodes *nodes_out, struct scn_gltf_report *report);
void scn_gltf_nodes_finish(struct scn_gltf_nodes *nodes);

/* Whether a regular file begins as glTF does: with the first word of a .glb, or with a JSON object. False too for what
 * cannot be read. */
bool scn_gltf_begins(const char *path);

#endif
