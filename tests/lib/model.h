/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_MODEL_H
#define SCN_TESTS_LIB_MODEL_H

/* A reference document that is obviously right: arrays, linear search, a whole copy of the state for each
 * revision. Written from DESIGN §3 and §5 and the headers of protocol/scene alone.
 *
 * It follows a document edit by edit: the document is asked first, then model_follow() judges the answer, does
 * the same to its own state, and compares the records; model_compare() compares everything that can be seen.
 * What the design leaves to the document (a chosen uid, the rounding of a move that keeps the world) is taken
 * over from the records once it has been found plausible. Where the design leaves a verdict open, both are
 * accepted, and the model follows. All that fails is a failed assertion that begins with model.context. */

#include "protocol/scene/delta.h"
#include "protocol/scene/document.h"
#include "protocol/scene/transform.h"

#include <criterion/criterion.h>

struct model_property {
        struct scn_slice key;
        struct scn_slice value; /* data == NULL: a removed key */
        struct scn_stamp_view stamp;
};

struct model_node {
        scn_node_id id;
        struct scn_uid uid;
        scn_node_id parent; /* 0: the root */
        scn_revision birth;
        struct scn_slice name;
        struct scn_trs trs;
        struct scn_stamp_view stamps[SCN_FIELD_COUNT];
        const struct model_property *properties; /* sorted by key, removed ones included */
        uint32_t properties_count;
        scn_revision parent_revision; /* when, and by whom, it got its present parent */
        struct scn_uid parent_client;
        scn_revision child_lost; /* when a child last left it or was removed */
        scn_revision node_lost;  /* when a node last left its subtree or was removed from it */
        /* No later change can have been marked here: what changed below, while it was below. */
        scn_revision marks[SCN_CHANNEL_COUNT];
};

/* A life that is over. */
struct model_ended {
        scn_node_id id;
        struct scn_uid uid;
        scn_revision birth;
        scn_revision removal;
};

/* Children of one parent stand in the array in their order; a parent stands anywhere. */
struct model_state {
        scn_revision revision;
        scn_revision horizon;
        scn_node_id next_id;
        uint64_t changes_count; /* of fields and nodes, ever */
        uint64_t past_events;   /* nodes removed, parents left, keys removed, ever */
        struct model_node *nodes;
        uint32_t nodes_count;
        struct model_ended *ended;
        uint32_t ended_count;
};

struct model_block;

struct model {
        struct scn_limits limits;
        struct model_state *states; /* by revision; the last one is the present */
        uint32_t states_count;
        uint32_t states_capacity;
        struct model_block *blocks;  /* memory of all states, freed together */
        char context[160];           /* seed and step, for messages */
        const struct scn_edit *edit; /* the last one that was followed, for messages; borrowed */
        uint32_t last_mask;          /* channels that it changed */
};

#define MODEL_CHECK(model, condition, ...)                                                                             \
        do {                                                                                                           \
                if (!(condition))                                                                                      \
                        model_fail(model, #condition, __VA_ARGS__);                                                    \
        } while (0)

/* Fails the test, having printed the last edit to standard error. */
void model_fail(const struct model *model, const char *condition, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* Starts as scn_document_create() does. */
void model_init(struct model *model, const struct scn_document_options *options);
void model_finish(struct model *model);

/* Memory that lives as long as the model. */
void *model_alloc(struct model *model, size_t size);
struct scn_slice model_keep(struct model *model, struct scn_slice bytes);

const struct model_state *model_now(const struct model *model);
const struct model_state *model_at(const struct model *model, scn_revision revision);

/* Answer of scn_document_apply(). */
struct model_outcome {
        enum scn_error error;
        const struct scn_changes *changes; /* NULL if refused */
        const struct scn_refusal *refusal;
};

/* Judges the outcome of an edit and does the edit too. The document is looked at only for what records refer to
 * and for its horizon. */
void model_follow(struct model *model, const struct scn_document *document, const struct scn_edit *edit,
        const struct model_outcome *outcome);
/* The document took its newest revision back. */
void model_take_back(struct model *model);

/* Compares tree, order, fields, stamps, counters, digests, worlds, feed and marks. */
void model_compare(struct model *model, struct scn_document *document);
/* Parts of it. */
void model_compare_nodes(struct model *model, struct scn_document *document);
void model_compare_find(struct model *model, const struct scn_document *document, const struct scn_node_ref *ref);
void model_compare_digests(struct model *model, const struct scn_document *document);
/* While nothing is outstanding, removed keys that the horizon has passed are gone. */
void model_compare_forgotten(const struct model *model, const struct scn_document *document);
void model_compare_worlds(struct model *model, struct scn_document *document);
void model_compare_feed(struct model *model, const struct scn_document *document, scn_revision since);

/* Checks that the delta is what a view (root, mask) that was sent `from` lacks, no more and no less. */
void model_check_delta(struct model *model, const struct scn_delta_request *request, const struct scn_delta *delta);
/* Compares a replica with what the filter gives now. */
void model_compare_view(struct model *model, struct scn_document *replica, struct scn_uid root, uint32_t mask);

/* Inside of a state. NULL, 0 or UINT32_MAX: there is none. */
struct model_node *model_find(const struct model_state *state, scn_node_id id);
struct model_node *model_find_uid(const struct model_state *state, struct scn_uid uid);
scn_node_id model_previous(const struct model_state *state, const struct model_node *node);
scn_node_id model_next(const struct model_state *state, const struct model_node *node);
struct scn_uid model_uid_of(const struct model_state *state, scn_node_id id);
uint32_t model_depth(const struct model_state *state, const struct model_node *node);
/* Levels of the subtree below its top. */
uint32_t model_height(const struct model_state *state, const struct model_node *node);
/* True for the top itself. */
bool model_is_under(const struct model_state *state, scn_node_id id, scn_node_id top);
uint32_t model_children_count(const struct model_state *state, scn_node_id parent);
const struct model_property *model_property(const struct model_node *node, struct scn_slice key);
uint32_t model_properties_count(const struct model_node *node);
bool model_slices_equal(struct scn_slice a, struct scn_slice b);
bool model_floats_equal(const float *a, const float *b, uint32_t count);

/* The node that the reference names now; NULL: one of these errors (bits 1 << -error) must be told. */
const struct model_node *model_resolve(struct model *model, const struct scn_node_ref *ref, uint64_t *errors_out);

/* World transform in double precision, and how large the terms were that were added up for it: rounding in
 * single precision cannot be off by more than a small multiple of 2^-24 of these. */
struct model_world {
        struct scn_affine64 matrix;
        struct scn_affine64 magnitude;
};
struct model_world model_world(const struct model_state *state, const struct model_node *node);
/* Compares the answer to "where is it, seen from the other". */
void model_compare_relative(struct model *model, const struct scn_document *document, const struct model_node *node,
        const struct model_node *other);

/* What the design says of keeping the world: bits 1 << -error that must or may be answered. */
struct model_verdict {
        uint64_t must; /* one of these; 0: it must be accepted, or refused by one of `may` */
        uint64_t may;
};
struct model_verdict model_judge_keep_world(const struct model_state *state, const struct model_node *node,
        const struct model_node *new_parent, bool is_lossy);

#endif
