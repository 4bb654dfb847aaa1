/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_GLTF_FOLDER_H
#define SCN_TESTS_LIB_GLTF_FOLDER_H

/* A file that a test has written as glTF, in a folder of the test's own. */

#include "client/scenectl/gltf_write.h"
#include "protocol/base/bytes.h"
#include "tests/lib/random.h"

#define GLTF_FOLDER_BYTES sizeof "/tmp/scn_gltf_write_XXXXXX"

extern char gltf_folder[GLTF_FOLDER_BYTES];
extern char gltf_path[64];         /* of the file */
extern char gltf_content[1 << 16]; /* as it was read last */

/* Makes the folder; gives the path of a file of this name in it. */
const char *gltf_enter_folder(const char *name);
uint32_t gltf_count_files(void);
/* Removes the file and the folder, in which nothing else may be left. */
void gltf_leave_folder(void);
const char *gltf_read_content(void);
void gltf_write_content(const char *text);
enum scn_gltf_fault gltf_write_it(const struct scn_document *document, struct scn_gltf_report *report);
/* Writes it, which must succeed, and gives the content. */
const char *gltf_written(const struct scn_document *document);
/* What an import of the file makes of a new document. */
struct scn_document *gltf_read_back(void);
struct scn_slice gltf_slice_of(const struct scn_buffer *buffer);
/* Sets a property to a value spelled as JSON. */
void gltf_set(struct scn_document *document, scn_node_id id, const char *key, const char *text);
/* Adds so many nodes with all that a node may have. */
void gltf_grow_randomly(struct scn_document *document, struct scn_random *random, uint32_t nodes_count);

#endif
