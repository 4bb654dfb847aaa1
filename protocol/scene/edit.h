/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SCENE_EDIT_H
#define SCN_SCENE_EDIT_H

/* An edit: one or more ops, applied all or nothing, in order, each checked against the state that the ops before
 * it left (DESIGN §3). Plain data; everything it points to is borrowed for the call that takes it. */

#include <scn/types.h>

/* The six ops; change records have the same kinds. The word is the one users type and the wire says. */
/*      name        word */
#define SCN_OP_LIST(X)                                                                                                 \
        X(ADD, "add")                                                                                                  \
        X(REMOVE, "remove")                                                                                            \
        X(MOVE, "move")                                                                                                \
        X(TRANSFORM, "transform")                                                                                      \
        X(RENAME, "rename")                                                                                            \
        X(SET, "set")

enum scn_op_kind {
#define SCN_OP_ENUM(name, word) SCN_OP_##name,
        SCN_OP_LIST(SCN_OP_ENUM)
#undef SCN_OP_ENUM
        SCN_OP_COUNT,
};

/* How a request names a node. Paths (DESIGN §8) are resolved against the state the ops before left:
 *   /            the root           /Player/Hand   by names          Name[2]   the third of equal names
 *   [i]          the i-th unnamed sibling, from 0                     \/ \[ \\  the characters themselves */
enum scn_node_ref_kind {
        SCN_REF_NONE,
        SCN_REF_ID,
        SCN_REF_UID,
        SCN_REF_PATH,
};

struct scn_node_ref {
        enum scn_node_ref_kind kind;
        scn_node_id id;
        struct scn_uid uid;
        struct scn_slice path;
};

/* Where among the siblings. A named sibling that is not (or no longer) a child of the parent, and an index beyond
 * the end, put the node last; its change record then says so. A node named as its own sibling is SCN_E_BAD_OP. */
enum scn_place_kind {
        SCN_PLACE_UNSAID, /* add, move to another parent: last; move within the parent: where it is */
        SCN_PLACE_AFTER,  /* after a sibling; SCN_REF_NONE = first */
        SCN_PLACE_INDEX,  /* the index in the final list */
};

struct scn_property {
        struct scn_slice key;
        struct scn_slice value; /* one msgpack object, any spelling; data == NULL: removed */
};

/* What a step that is brought back did to one field, one thing after the other: where one of its ops is skipped, so are
 * those behind it. They share it. */
struct scn_chain {
        bool is_broken; /* written whenever an op of it is judged */
};

/* An op's part in them. */
struct scn_chains {
        struct scn_chain *of[SCN_FIELD_COUNT + 1]; /* by enum scn_field, up to PROPERTY; NULL: none */
        uint32_t follows;                          /* the fields, SCN_FIELDS_*, in whose chain it is not the first */
};

/* An op that takes something back does so only where nobody has written since (DESIGN §6, undo). Where a condition
 * does not hold the op, or the one field, is skipped, and scn_changes_skip() tells. */
struct scn_condition {
        scn_revision since;          /* the revision whose change is taken back */
        const scn_revision *writers; /* whom the fields must count as written by: by enum scn_field, up to PROPERTY */
        struct scn_chains *chains;   /* NULL: none */
        struct scn_uid parent;       /* transform: the parent then. remove: one that goes itself, and with it all that
                                      * is under it; none: no such */
        bool was_emptied;            /* set: the key was left empty, which the horizon may have passed */
        bool is_forced;              /* remove: whoever has written or filled the subtree */
};

/* What each kind reads is said behind the field; the rest is ignored. */
struct scn_op {
        enum scn_op_kind kind;
        struct scn_node_ref node;   /* all but add */
        struct scn_node_ref parent; /* add, move: required. transform: the parent its numbers are meant in, or NONE */
        enum scn_place_kind place;  /* add, move */
        struct scn_node_ref after;
        struct scn_node_ref before; /* where that sibling is not there: before this one, if it is */
        uint32_t index;
        struct scn_uid uid;    /* add: none = the document chooses */
        scn_node_id id;        /* add: 0 = the next; a journal's replay says which, never below the next */
        struct scn_slice name; /* add, rename: data == NULL = absent */
        uint32_t fields;       /* add, transform: which of T, R, S are given, SCN_FIELDS_* */
        struct scn_trs trs;
        const struct scn_property *properties; /* add: distinct keys, values present */
        uint32_t properties_count;
        struct scn_slice key;   /* set */
        struct scn_slice value; /* set: data == NULL removes the key */
        bool keep_world;        /* move: the server computes the local transform anew */
        bool is_lossy;          /* move: a result that would shear is accepted */
        /* Whom the fields count as written by; NULL: the edit's step. By enum scn_field; set: up to PROPERTY; add:
         * with those of the properties behind, which must then be sorted by key. */
        const scn_revision *writers;
        const struct scn_condition *condition; /* NULL: none. move: fields and trs are then taken back with it */
};

struct scn_edit {
        const struct scn_op *ops;
        uint32_t ops_count;
        struct scn_uid client; /* who is stamped; none = the server itself */
        scn_revision step;     /* the writer of the fields: the first revision of the group it belongs to;
                                 * 0 = the revision this edit makes */
        scn_revision revision; /* the one that it makes, above the document's; 0 = the next. For a history with gaps */
        bool has_base;         /* base: the revision the client had seen */
        bool is_strict;        /* needs base: fields this edit writes must not have changed since, by others */
        scn_revision base;
        /* With conditions: whether a step is one of the author who takes back. */
        bool (*is_own)(void *data, scn_revision step);
        void *is_own_data;
};

/* Why an edit was refused, for the answer: which op, which node, what was in the way. Pointers are valid until
 * the document changes. */
struct scn_refusal {
        uint32_t op;                     /* index; == ops_count when the fault is the edit's as a whole */
        enum scn_field field;            /* conflict and number errors: the field; SCN_FIELD_COUNT when none */
        struct scn_uid node;             /* none when it was never found */
        const struct scn_node_ref *lost; /* of the op, the reference that led to no node; NULL: each did */
        struct scn_uid other;            /* cycle: the parent; stale_parent: the present one; conflict: the client */
        struct scn_slice key;            /* field == property: its key */
        struct scn_slice value;          /* conflict: the name or property value now (data == NULL: absent) */
        struct scn_trs trs;              /* conflict in the transform: the present one */
        scn_revision revision;           /* conflict, stale_parent: when it was set */
        double residual;                 /* shear */
        struct scn_slice holder;         /* locked, which a document does not know of itself: whose lock it is ... */
        uint64_t session;                /* ... and the number of the session */
        scn_revision step;               /* undo, redo: the step that is refused; filled in by who takes back */
};

#endif
