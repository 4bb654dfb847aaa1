/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_GLTF_H
#define SCN_TESTS_LIB_GLTF_H

/* Short words for reading glTF in tests. */

#include "client/scenectl/gltf_read.h"
#include "protocol/scene/document.h"
#include "tests/lib/gltf_same.h"

#define FILE_WITH(members) "{\"asset\":{\"version\":\"2.0\"}," members "}"
#define NODES(list) FILE_WITH("\"nodes\":[" list "]")

/* Default limits, the default scene, tops under the root of scene_create()'s documents, and "random" uids that are
 * the same in each run. */
struct scn_gltf_read_options gltf_options(void);

/* Reads text, which must be taken. */
struct scn_gltf_nodes gltf_read(const char *text, struct scn_gltf_report *report);
/* Reads text that must be refused, with nothing given out, and gives the fault. */
enum scn_gltf_fault gltf_refused(const char *text, struct scn_gltf_report *report);
/* The same, with the fault and the node that must be named. */
void gltf_refused_as(const char *text, enum scn_gltf_fault fault, uint32_t node);
/* The op that adds the node of this name; asserts that there is one. */
const struct scn_op *gltf_find(const struct scn_gltf_nodes *nodes, const char *name);
/* The value of a property; data == NULL if it is absent. */
struct scn_slice gltf_property(const struct scn_op *op, const char *key);
/* A property value as JSON in the tagged style; valid until the next call. */
const char *gltf_json(struct scn_slice value);
/* A new document with these nodes under its root, which must be accepted as one edit. Ends `nodes`. */
struct scn_document *gltf_document(struct scn_gltf_nodes *nodes);

#endif
