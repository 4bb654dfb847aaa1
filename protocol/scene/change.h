/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SCENE_CHANGE_H
#define SCN_SCENE_CHANGE_H

/* What an accepted edit did: one change record for each op that changed something (DESIGN §6), and, hidden, all
 * that is needed to take it back exactly.
 *
 * The journal stores records, undo reads them, the acknowledgement is made of them. Equal values leave no
 * record, unlike the source design "scene-document", whose setters always append one; and records are handed
 * out with the edit that made them, once, instead of being drained from the document.
 *
 * Life: scn_document_apply() makes it; scn_document_take_back() or scn_document_settle() ends it. Everything
 * a record points to lives as long. */

#include "protocol/scene/edit.h"

#include <scn/error.h>

/* A place as records, deltas, digest and files have it. `next` is only told so that undo of a removal can find
 * its way when `previous` is gone. None = there is none. */
struct scn_place {
        struct scn_uid parent;
        struct scn_uid previous;
        struct scn_uid next;
};

/* These bits stand on the wire, under SCN_RESULT_FLAGS. */
enum scn_change_flag {
        SCN_CHANGE_NORMALISED = 1, /* the rotation given was not of unit length and was normalised */
        SCN_CHANGE_WENT_LAST = 2,  /* the sibling or index named was not there: the node went last */
        SCN_CHANGE_LOSSY = 4,      /* shear was given up; residual says how much */
};

struct scn_change_add {
        struct scn_place place;
        struct scn_trs trs;
        struct scn_slice name;
        const struct scn_property *properties; /* sorted by key, canonical values */
        uint32_t properties_count;
};

struct scn_change_remove {
        struct scn_place place;
        scn_node_id parent; /* the same place, by the lives of then */
        scn_node_id previous;
        scn_node_id next;
        uint32_t nodes_count; /* of the subtree; scn_changes_removed_node() walks it, parents first */
        uint32_t slot;        /* internal: where the subtree waits */
};

/* fields: PLACE, and those of T, R, S that keep=world changed. */
struct scn_change_move {
        struct scn_place before;
        struct scn_place after;
        struct scn_trs trs_before;
        struct scn_trs trs_after;
        scn_revision place_writer_before;
        scn_revision trs_writer_before[3];
        double residual;
};

struct scn_change_transform {
        struct scn_uid parent; /* then; none: of the root */
        struct scn_trs before;
        struct scn_trs after;
        scn_revision writer_before[3]; /* of T, R, S */
};

struct scn_change_rename {
        struct scn_slice before;
        struct scn_slice after;
        scn_revision writer_before;
};

struct scn_change_set {
        struct scn_slice key;
        struct scn_slice before; /* data == NULL: was not there */
        struct scn_slice after;  /* data == NULL: removed */
        scn_revision writer_before;
};

struct scn_change {
        enum scn_op_kind kind;
        uint32_t op;     /* index of the op in its edit */
        uint32_t fields; /* fixed fields whose value changed, SCN_FIELDS_* */
        uint32_t flags;  /* enum scn_change_flag */
        scn_node_id id;
        struct scn_uid uid;
        union {
                struct scn_change_add add;
                struct scn_change_remove remove;
                struct scn_change_move move;
                struct scn_change_transform transform;
                struct scn_change_rename rename;
                struct scn_change_set set;
        } as;
};

struct scn_changes;

/* The revision it made, or, if nothing changed (count 0), the one it was judged at. */
scn_revision scn_changes_revision(const struct scn_changes *changes);
/* Channels it changed. */
uint32_t scn_changes_mask(const struct scn_changes *changes);
uint32_t scn_changes_count(const struct scn_changes *changes);
/* index < count (asserts). */
const struct scn_change *scn_changes_get(const struct scn_changes *changes, uint32_t index);
/* What a condition kept from being taken back; the first 128 of an edit are all different. */
struct scn_skip {
        uint32_t op;           /* index of the first */
        enum scn_error reason; /* SUPERSEDED: another writer; STALE_PARENT; GONE; what refuses a move */
        enum scn_field field;
        struct scn_uid node;
        struct scn_slice key; /* field == property */
        /* SUPERSEDED, STALE_PARENT: the stamp of the change that is in the way; else 0 and none. */
        scn_revision revision;
        scn_revision writer;
        struct scn_uid client;
};
uint32_t scn_changes_skips_count(const struct scn_changes *changes);
/* index < count (asserts). */
const struct scn_skip *scn_changes_skip(const struct scn_changes *changes, uint32_t index);
/* Bytes of memory it holds, for a room's turn to bound what it has in flight. */
size_t scn_changes_bytes(const struct scn_changes *changes);

#endif
