/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SCENE_DELTA_H
#define SCN_SCENE_DELTA_H

/* Deltas: what a view that was sent revision `from` lacks at `to` (DESIGN §5). State, not commands: applying one
 * twice does no harm. A view is (root of a subtree, mask). What its holder has is what the filter gave at its
 * cursor: computed from the document's feed, never remembered per client.
 *
 *   in the view then and now   the fields changed since
 *   now only (made or moved in) the whole node, with its visible subtree
 *   then only                  its id, in `removed` (its life is over) or `left` (it lives elsewhere); only nodes
 *                              whose parent at the cursor is not named itself
 *
 * Receiver: create, then place in the order listed, then set fields, then remove what is named with all that is
 * still beneath. `nodes` lists those with a place first: parents before children, children left to right, each
 * with the sibling before it; applied in this order to any older list, that gives the present order. Then the
 * others by id. The root's own place is never told. */

#include "protocol/scene/document.h"

/* A view of world matrices alone (mask: WORLD and no durable channel) is for receivers that hold no hierarchy. Its
 * delta tells new nodes by id and uid and nothing else, the matrix of each whose matrix may have changed, be it by an
 * ancestor's move, and names every node that is not in the view any more. */
struct scn_delta_world {
        scn_node_id id;
        bool overflows; /* no float32 can hold it; m means nothing */
        struct scn_affine world;
};

struct scn_delta_request {
        struct scn_uid root; /* the view's subtree, by uid: its next life is the same view */
        uint32_t mask;       /* channels; structure is always in */
        bool is_fresh;       /* the receiver holds nothing: `from` is not read, the answer is whole */
        scn_revision from;   /* the cursor */
};

/* Values are borrowed from the document and valid until it changes. */
struct scn_delta_node {
        scn_node_id id;
        struct scn_uid uid; /* always told here; the wire tells it for new nodes only */
        bool is_new;        /* enters: all fields of the mask follow */
        uint32_t fields;    /* what is told, SCN_FIELDS_*; a name with data == NULL is an absent one */
        scn_node_id parent; /* SCN_FIELDS_PLACE */
        scn_node_id previous;
        struct scn_slice name;
        struct scn_trs trs;
        uint32_t properties_first; /* SCN_FIELDS_PROPERTY: into delta.properties */
        uint32_t properties_count;
};

struct scn_delta {
        scn_revision from;
        scn_revision to;
        uint32_t mask;
        bool is_whole;    /* forget all you had: this is the whole view */
        scn_node_id root; /* 0: there is no such root now; with is_whole false and removed naming it */
        struct scn_uid root_uid;
        struct scn_delta_node *nodes;
        size_t nodes_count;
        struct scn_property *properties; /* value.data == NULL: removed key */
        size_t properties_count;
        scn_node_id *removed;
        size_t removed_count;
        scn_node_id *left;
        size_t left_count;
        struct scn_delta_world *worlds; /* a view of worlds: parents first */
        size_t worlds_count;
        /* Memory, reused from call to call. */
        size_t nodes_capacity, properties_capacity, removed_capacity, left_capacity, worlds_capacity;
};

/* Start with a zeroed struct. */
void scn_delta_finish(struct scn_delta *delta);

/* Fills `delta`. Cost: the nodes changed since `from`, entering nodes, and the distinct ancestors of both; not the
 * size of the scene or of the view. A root that is not there now and was not at `from` gives an empty delta with
 * root 0. SCN_E_BEFORE_HORIZON, SCN_E_FUTURE (`from` above the revision), SCN_E_NO_MEMORY; contents undefined then.
 * Not const: it may build the index of a long row of siblings, a cache. */
SCN_NODISCARD enum scn_error scn_delta_compute(
        struct scn_document *document, const struct scn_delta_request *request, struct scn_delta *delta);

/* Whether to compute it would mean to look at about `nodes_max` nodes or more; looks at no more than so many itself. */
bool scn_delta_is_long(
        const struct scn_document *document, const struct scn_delta_request *request, uint32_t nodes_max);

/* Whether a node, living or removed since, was in the subtree of `root`, a living node, at a revision that the horizon
 * has not passed. Cost: the depth. */
bool scn_delta_was_under(const struct scn_document *document, scn_node_id id, scn_node_id root, scn_revision revision);
/* True if there is nothing to send. */
bool scn_delta_is_empty(const struct scn_delta *delta);

/* Applies a delta to a replica, all or nothing; its revision is then delta->to. Asserts that no changes are
 * outstanding (a mirror takes its pending edits back first). SCN_E_BAD_DELTA: names unknown nodes, would make a
 * ring, or is not whole and begins after the replica's revision or ends before it; SCN_E_DEPTH,
 * SCN_E_TOO_MANY_NODES, SCN_E_NO_MEMORY. Tells the observers. */
SCN_NODISCARD enum scn_error scn_document_apply_delta(struct scn_document *document, const struct scn_delta *delta);

#endif
