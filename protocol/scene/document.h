/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SCENE_DOCUMENT_H
#define SCN_SCENE_DOCUMENT_H

/* The scene document: a tree of nodes with transforms, names and properties (DESIGN §3).
 *
 * The server's rooms, the client's mirror, replay and simulation all run on this one. Its tree has one writer,
 * scn_document_apply(); a replica's has scn_document_apply_delta(). No I/O, no clock, no static state, no
 * recursion; randomness comes in as a function. A failed call changes nothing.
 *
 * Deliberate differences from the source design "scene-document": equal values leave no record; ids are never
 * given twice; uids are UUIDs; a move can say the place among the siblings.
 *
 * Not for several threads at once. */

#include "protocol/base/bytes.h"
#include "protocol/scene/change.h"
#include "protocol/scene/hierarchy.h"
#include "protocol/scene/observer.h"

#include <scn/limits.h>

struct scn_document;

struct scn_document_options {
        struct scn_limits limits; /* key_bytes_max counts as 255 at most, clients_max as 2^22 - 1 */
        struct scn_uid uid;       /* the document's own */
        struct scn_uid root_uid;
        uint64_t hash_seed; /* random, so that no peer can choose uids that collide */
        /* Fills `size` random bytes; for the uids of nodes added without one. Where nothing is made up, since all uids
         * stand in a file: scn_document_no_random(). */
        void (*random)(void *data, uint8_t *bytes, size_t size);
        void *random_data;
};

void scn_document_no_random(void *data, uint8_t *bytes, size_t size);

/* A document at revision 0 with a root (id 1, no name, identity). SCN_E_NO_MEMORY. */
SCN_NODISCARD enum scn_error scn_document_create(
        const struct scn_document_options *options, struct scn_document **document_out);
/* A replica: empty, without even a root, until a whole delta arrives (options.root_uid is not read). */
SCN_NODISCARD enum scn_error scn_document_create_replica(
        const struct scn_document_options *options, struct scn_document **document_out);
/* Takes NULL. What a document has once needed (pages of nodes, the hierarchy's arrays, blocks of the sibling index) it
 * keeps for reuse until here. Asserts that no observer is registered; ends changes that are still outstanding. */
void scn_document_destroy(struct scn_document *document);

struct scn_uid scn_document_uid(const struct scn_document *document);
/* 0 in an empty replica. */
scn_node_id scn_document_root(const struct scn_document *document);
scn_revision scn_document_revision(const struct scn_document *document);
/* The oldest revision from which deltas can be made; see scn_document_past_count(). */
scn_revision scn_document_horizon(const struct scn_document *document);
uint32_t scn_document_nodes_count(const struct scn_document *document);
/* The id the next node gets. */
scn_node_id scn_document_next_id(const struct scn_document *document);
/* As they hold: what is out of reach in the options is lowered. */
const struct scn_limits *scn_document_limits(const struct scn_document *document);
/* Entries kept for the horizon: removed nodes, former parents, removed keys. */
uint32_t scn_document_past_count(const struct scn_document *document);

/* --- Edits --- */

/* Applies `edit` as one revision, or not at all, and tells the observers of scn_document_observable().
 *
 * `edit` is borrowed for the call. On success *changes_out holds the change records (count 0 and the present
 * revision if nothing changed: then no trace is left); the caller ends it with take_back or settle, NULL never.
 * On failure *refusal_out says why, and the document is as before, to the last bit that anybody can see. Its key and
 * value are the document's until the next call.
 * Errors: all of <scn/error.h> up to SCN_E_TOO_MANY_REVISIONS, and SCN_E_BAD_PATH.
 * Must not be called from an observer (asserts). */
SCN_NODISCARD enum scn_error scn_document_apply(struct scn_document *document, const struct scn_edit *edit,
        struct scn_changes **changes_out, struct scn_refusal *refusal_out);

/* Undoes the newest outstanding changes exactly: revision, ids, stamps, feed, places, horizon and digest are as
 * before (asserts that they are the newest). Cannot fail. Tells the observers. Frees `changes`. */
void scn_document_take_back(struct scn_document *document, struct scn_changes *changes);

/* Says that the oldest outstanding changes can no longer be taken back (asserts that they are the oldest): drops
 * what only a take-back needed, and what lies before the horizon. Cannot fail. Frees `changes`. */
void scn_document_settle(struct scn_document *document, struct scn_changes *changes);

/* --- Nodes --- */

/* A stamp: revision and client of the last change, and the step its value counts as written by (DESIGN §6). */
struct scn_stamp_view {
        scn_revision revision;
        scn_revision writer;
        struct scn_uid client;
};

/* Where a node is, in the world and in memory. Borrowed. */
struct scn_located {
        uint32_t slot; /* for scn_document_tell_path() */
        struct scn_uid uid;
        struct scn_affine world;
};

#define SCN_PATHS_LEVELS 32u

/* The path told last. */
struct scn_paths {
        struct scn_buffer text; /* owned by the caller */
        uint32_t depth;         /* levels known */
        struct scn_path_level {
                uint32_t slot;
                uint32_t end;   /* in the text */
                uint64_t steps; /* what it cost */
        } levels[SCN_PATHS_LEVELS];
};

/* Borrowed: valid until the document changes. */
struct scn_node_view {
        scn_node_id id;
        struct scn_uid uid;
        scn_node_id parent;   /* 0: the root */
        scn_node_id previous; /* the sibling before, or 0 */
        scn_node_id next;
        scn_node_id first_child;
        uint32_t children_count;
        scn_revision birth;
        struct scn_slice name;
        struct scn_trs trs;
        uint32_t properties_count;      /* as a user counts: removed keys left out */
        uint32_t property_fields_count; /* with removed keys that the horizon has not passed */
};

/* What it takes in memory, about. Cost: its nodes. */
size_t scn_document_bytes(const struct scn_document *document);

/* Resolves id, uid or path. SCN_E_NO_NODE, SCN_E_GONE (a known id or uid whose life is over), SCN_E_BAD_PATH,
 * SCN_E_PATH_TOO_LONG, SCN_E_BAD_OP for SCN_REF_NONE. */
SCN_NODISCARD enum scn_error scn_document_find(
        const struct scn_document *document, const struct scn_node_ref *ref, scn_node_id *id_out);
/* The same where one request names many: *steps_left begins at limits.path_steps_max and is used up by paths. */
SCN_NODISCARD enum scn_error scn_document_find_within(
        const struct scn_document *document, const struct scn_node_ref *ref, uint64_t *steps_left, scn_node_id *id_out);
/* Puts the path of a located node into `paths->text`, names where they are unique among the siblings before, else with
 * their index. *steps_left is used up by looking at these. SCN_E_PATH_TOO_LONG: it is at 0; SCN_E_NO_MEMORY,
 * SCN_E_TOO_LARGE; the text then means nothing. `paths` begins as zeros but for its text, and serves one path after
 * the other while the document does not change: what the next has in common with the last one is there. */
SCN_NODISCARD enum scn_error scn_document_tell_path(
        const struct scn_document *document, uint32_t slot, uint64_t *steps_left, struct scn_paths *paths);
/* 0 if no living node has it. */
scn_node_id scn_document_find_uid(const struct scn_document *document, struct scn_uid uid);
bool scn_document_has(const struct scn_document *document, scn_node_id id);
/* The id must be living (asserts). */
struct scn_node_view scn_document_node(const struct scn_document *document, scn_node_id id);
struct scn_stamp_view scn_document_stamp(const struct scn_document *document, scn_node_id id, enum scn_field field);
/* Property field number `index` of property_fields_count, sorted by key bytes; value.data == NULL: a removed key.
 * stamp_out may be NULL. */
struct scn_property scn_document_property(
        const struct scn_document *document, scn_node_id id, uint32_t index, struct scn_stamp_view *stamp_out);
/* The value of a key; data == NULL if it is not there. */
struct scn_slice scn_document_get(const struct scn_document *document, scn_node_id id, struct scn_slice key);
/* Position among its siblings, from 0. Cost: logarithmic in practice, see order.h. */
uint32_t scn_document_index(struct scn_document *document, scn_node_id id);
/* The child at a position, or 0. */
scn_node_id scn_document_child(struct scn_document *document, scn_node_id parent, uint32_t index);
/* The next node of a walk over the subtree of `top`, parents first, siblings in order; 0 at the end. */
scn_node_id scn_document_walk(const struct scn_document *document, scn_node_id top, scn_node_id id);
/* Nodes of the subtree of `top`, with it, counted no further than `max`. */
uint32_t scn_document_count_below(const struct scn_document *document, scn_node_id top, uint32_t max);
/* Levels below the root. Cost: the depth. */
uint32_t scn_document_depth(const struct scn_document *document, scn_node_id id);

/* A node of a removed subtree, as it was, while the changes are outstanding: index counts parents first, from 0
 * to nodes_count - 1. Start with *cursor = 0 and call nodes_count times; the view's parent, previous, next and
 * first_child ids are those at the removal. */
struct scn_node_view scn_document_removed_node(
        const struct scn_document *document, const struct scn_change_remove *removal, uint32_t *cursor);
/* The uid of its parent; for the top of the subtree the record's place says it. */
struct scn_uid scn_document_removed_parent(const struct scn_document *document, uint32_t cursor);
struct scn_stamp_view scn_document_removed_stamp(
        const struct scn_document *document, uint32_t cursor, enum scn_field field);
struct scn_property scn_document_removed_property(
        const struct scn_document *document, uint32_t cursor, uint32_t index, struct scn_stamp_view *stamp_out);

/* --- World transforms (DESIGN §7); see hierarchy.h and transform.h --- */

/* Relative to the root's parent space, i.e. with the root's own transform. SCN_E_NO_NODE, SCN_E_GONE,
 * SCN_E_OVERFLOW. Exact without an update; cost: the depth. */
SCN_NODISCARD enum scn_error scn_document_world(
        const struct scn_document *document, scn_node_id id, struct scn_affine *world_out);
/* Relative to another node: inverse(other.world) * world, computed in double precision. SCN_E_SINGULAR too. */
SCN_NODISCARD enum scn_error scn_document_world_relative(
        const struct scn_document *document, scn_node_id id, scn_node_id other, struct scn_affine *world_out);
/* One of these, with the node found on the way; `frame` 0: the world's. Their errors, and those of finding the node;
 * SCN_E_SINGULAR, and nothing else, is the frame's, which must be living (asserts). */
SCN_NODISCARD enum scn_error scn_document_locate(const struct scn_document *document, const struct scn_node_ref *ref,
        scn_node_id frame, uint64_t *steps_left, struct scn_located *located_out);
/* Brings all stored world matrices up to date. */
void scn_document_update_worlds(struct scn_document *document);
/* The same where that is cheaper than to look `count` of them up as they are. */
void scn_document_prepare_worlds(struct scn_document *document, uint32_t count);
bool scn_document_world_is_stale(const struct scn_document *document, scn_node_id id);
/* For counters, kernels and benchmarks. */
struct scn_hierarchy *scn_document_hierarchy(struct scn_document *document);

/* --- What changed (the mark upwards and the feed; DESIGN §3, Dirtiness) --- */

/* True if anything under `id`, of the channels in `mask`, changed after revision `since`: one comparison a
 * channel. A node that left or was removed counts for those it left. The id must be living (asserts). */
bool scn_document_changed_since(const struct scn_document *document, scn_node_id id, uint32_t mask, scn_revision since);

/* A list of nodes, reused from call to call: init with {0}, end with scn_node_list_finish(). */
struct scn_node_list {
        scn_node_id *ids;
        size_t count;
        size_t capacity;
};
void scn_node_list_finish(struct scn_node_list *list);

/* Living nodes that changed after `since`, in the order of their last change. Cost: their number and that of the
 * nodes removed since. SCN_E_BEFORE_HORIZON, SCN_E_FUTURE, SCN_E_NO_MEMORY. */
SCN_NODISCARD enum scn_error scn_document_list_changed(
        const struct scn_document *document, scn_revision since, struct scn_node_list *list);
/* The same, with parents that lost a child and with all ancestors, by depth, equal depth by id: ancestors always
 * come before descendants. */
SCN_NODISCARD enum scn_error scn_document_list_dirty(
        const struct scn_document *document, scn_revision since, struct scn_node_list *list);

/* --- Digest and observers --- */

/* Of the whole document, kept incrementally. */
struct scn_digests scn_document_digests(const struct scn_document *document);
/* Of a subtree as a view has it (its root without place), by a walk. Channels outside the mask are zero. */
struct scn_digests scn_document_subtree_digests(const struct scn_document *document, scn_node_id id, uint32_t mask);

enum scn_document_event_kind {
        SCN_DOCUMENT_APPLIED,
        SCN_DOCUMENT_TAKEN_BACK,
        SCN_DOCUMENT_DELTA,
};

/* The event of scn_document_observable(); its mask says the channels that changed. */
struct scn_document_event {
        enum scn_document_event_kind kind;
        const struct scn_document *document; /* as it is now */
        const struct scn_changes *changes;   /* applied: what was done; NULL otherwise */
        const struct scn_delta *delta;       /* NULL unless a delta */
};

/* Observers here must not fail and must not change the document (asserts). */
struct scn_observable *scn_document_observable(struct scn_document *document);

/* Checks parents, rings, counts, maps, order, stamps of ancestors, feed and digest from scratch, and asserts; for
 * tests, debug builds and fuzzing. Cost: the whole document. */
void scn_document_check(const struct scn_document *document);

#endif
