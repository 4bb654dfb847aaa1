/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_SCENE_H
#define SCN_TESTS_LIB_SCENE_H

/* Short words for building documents and edits in tests. Everything here asserts that it works; what a test is
 * about it calls itself. */

#include "protocol/base/bytes.h"
#include "protocol/scene/delta.h"
#include "protocol/scene/document.h"
#include "protocol/scene/snapshot.h"
#include "tests/lib/random.h"

/* Uids, clients and property values that are easy to tell apart: made of a number. */
struct scn_uid scene_uid(uint32_t number);
struct scn_uid scene_client(uint32_t number);
struct scn_slice scene_text(const char *text);
/* The msgpack spelling of a small unsigned integer or a short text; valid until the program ends. */
struct scn_slice scene_integer(uint8_t value);

/* Default limits, a root with scene_uid(1), and "random" uids that are the same in each run. */
struct scn_document_options scene_options(void);
struct scn_document *scene_create(void);
struct scn_document *scene_create_limited(const struct scn_limits *limits);

struct scn_node_ref scene_id(scn_node_id id);
struct scn_node_ref scene_ref(uint32_t uid_number);
struct scn_node_ref scene_path(const char *path);

bool scene_is_text(struct scn_slice slice, const char *text);
/* One of the nodes of a document, the root among them. */
scn_node_id scene_any_node(const struct scn_document *document, struct scn_random *random);

/* Ops; fields not named are as {0}. uid_number 0: the document chooses. name NULL: absent. */
struct scn_op scene_add(scn_node_id parent, uint32_t uid_number, const char *name);
struct scn_op scene_remove(scn_node_id id);
struct scn_op scene_move(scn_node_id id, scn_node_id parent);
struct scn_op scene_move_after(scn_node_id id, scn_node_id parent, scn_node_id after);
struct scn_op scene_move_index(scn_node_id id, scn_node_id parent, uint32_t index);
struct scn_op scene_translate(scn_node_id id, float x, float y, float z);
struct scn_op scene_rename(scn_node_id id, const char *name);
struct scn_op scene_set(scn_node_id id, const char *key, struct scn_slice value);

/* Applies one edit of these ops by client 1, which must succeed. */
struct scn_changes *scene_apply(struct scn_document *document, const struct scn_op *ops, uint32_t count);
/* The same, settled at once; returns the revision. */
scn_revision scene_do(struct scn_document *document, struct scn_op op);
scn_revision scene_do_as(struct scn_document *document, uint32_t client, struct scn_op op);
scn_revision scene_do_all(struct scn_document *document, const struct scn_op *ops, uint32_t count);
/* Adds a node by scene_add and gives its id. */
scn_node_id scene_new(struct scn_document *document, scn_node_id parent, uint32_t uid_number, const char *name);
/* Applies one op by `client` that must be refused, checks that nothing changed, and gives the error. */
enum scn_error scene_refused(struct scn_document *document, uint32_t client, struct scn_op op);

/* All rows of a snapshot as bytes: two documents are the same if and only if these are. */
void scene_dump(const struct scn_document *document, struct scn_buffer *dump);
bool scene_is_same(const struct scn_document *a, const struct scn_document *b);
/* A second document, made from the first one's snapshot. */
struct scn_document *scene_copy(const struct scn_document *document);

/* A replica of a view, brought up to date by deltas. */
struct scene_view {
        struct scn_document *replica;
        struct scn_uid root;
        uint32_t mask;
        bool is_fresh;
};
struct scene_view scene_view_create(uint32_t root_uid_number, uint32_t mask);
void scene_view_finish(struct scene_view *view);
/* Computes and applies the delta since the replica's revision; then the digests must agree. */
void scene_view_update(struct scene_view *view, struct scn_document *document);
/* The same, leaving the delta to the caller (to end with scn_delta_finish()). */
void scene_view_take(struct scene_view *view, struct scn_document *document, struct scn_delta *delta);
/* Asserts that the replica has what the filter gives now. */
void scene_view_check(const struct scene_view *view, const struct scn_document *document);

#endif
