/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_SCENECTL_GLTF_WRITE_H
#define SCN_CLIENT_SCENECTL_GLTF_WRITE_H

/* Nodes of a scene written as a glTF 2.0 file, .gltf or .glb, that the Khronos validator accepts and that
 * gltf_read.h turns into the same nodes again: names, transforms and properties bit for bit, siblings in order.
 *
 * The file has one scene with one tree of nodes, and no buffers. Nodes stand level by level. A million of them pass
 * through a small buffer; what is kept in memory is four bytes a node.
 *
 *      gltf.camera, gltf.light   cameras and lights of the file, each distinct one once, if they are what glTF wants
 *      gltf.extras               extras
 *      all other properties      extras.scened.properties, in the tagged style of json_value.h; references to nodes
 *                                in the file by number, so that an import can give new uids
 *      keys with a zero byte     extras.scened.pairs, a list [[key, value], ...], for few readers take such a member
 *
 * gltf.mesh and gltf.skin are among these others: the meshes and skins themselves are in the file that was imported,
 * not in the document, nor in what is written; the report tells of how many nodes that is so.
 * extras.scened.extras holds a value of gltf.extras that cannot stand as extras beside that.
 *
 * extras.scened.rotation is a rotation that glTF cannot have: documents keep one whose length is a little more than 1
 * bit for bit, and glTF wants no component beyond 1. The file's own is then as near as it may be.
 *
 * The document's root is written as a node of its own only when it has a transform or properties; its name is the
 * scene's. */

#include "client/scenectl/gltf_name.h"
#include "client/scenectl/gltf_report.h"
#include "protocol/scene/document.h"

/* Writes `top`, which must be living (asserts), and all beneath it. The file appears under its name whole, or not at
 * all: on a fault a former file of that name is untouched (see file_out.h). The report is init'ed here; its detail
 * names node and property. SCN_GLTF_NOT_WRITABLE, SCN_GLTF_NO_MEMORY, SCN_GLTF_NOT_FINITE, SCN_GLTF_BAD_TEXT,
 * SCN_GLTF_BAD_VALUE, SCN_GLTF_FILE_TOO_LARGE (a .glb beyond 4 GiB). */
SCN_NODISCARD enum scn_gltf_fault scn_gltf_write_file(const struct scn_document *document, scn_node_id top,
        const char *path, enum scn_gltf_format format, struct scn_gltf_report *report);

#endif
