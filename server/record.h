/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_RECORD_H
#define SCN_SERVER_RECORD_H

/* Change records as the journal keeps them: two payloads each, the state before and the one after, as msgpack arrays
 * (storage/FORMAT.md, Payloads). "After" is what replay needs, "before" what undo needs. References are uids.
 *
 *              before                                              after
 *   add        -                                                   [id parent previous trs name props]
 *   remove     [parent previous next nodes]                        -
 *   move       [parent previous next fields trs writers]           [parent previous fields trs]
 *   transform  [fields trs writers parent]                         [fields trs]
 *   rename     [name writer]                                       [name]
 *   set        [key value writer]                                  [key value]
 *
 *   previous, next, name, value: nil where there is none; trs: bin of ten float32, t r s, little-endian; fields: bits
 *   of enum scn_field; writers: of place (move only), t, r, s; nodes: parents first, each
 *   [uid parent id trs name props writers property-writers]; props: a map, in the order of its keys
 *
 * A record of something taken back (undo, redo) has one more element behind "after": [step writers]. step: the one
 * that was taken back or brought back; writers: what the fields then count as written by, in the order of enum
 * scn_field with one for the property, or for each property of an add, behind; none for a remove. */

#include "protocol/scene/change.h"
#include "protocol/scene/document.h"
#include "protocol/wire/ops.h"
#include "storage/storage.h"

/* About a change that takes something back. */
struct scn_record_own {
        scn_revision step;
        const scn_revision *writers; /* its op's */
};

/* Appends both payloads; *before_size_out says where the first ends. `own` NULL: it takes nothing back.
 * SCN_E_NO_MEMORY, SCN_E_TOO_LARGE. */
SCN_NODISCARD enum scn_error scn_record_encode(const struct scn_document *document, const struct scn_change *change,
        const struct scn_record_own *own, struct scn_buffer *buffer, size_t *before_size_out);

/* Appends the ops that do again what a record says was done: one, or two for a move that kept the world. They borrow
 * from `after` and need scn_record_settle(). SCN_E_CORRUPT: it is no such payload. */
SCN_NODISCARD enum scn_error scn_record_redo(
        uint32_t kind, struct scn_uid node, struct scn_slice after, struct scn_ops *ops);
/* Another record of the same kind as one that is taken back, and the fields to take of it: a move's transform. */
struct scn_record_more {
        const struct scn_journal_record *record;
        uint32_t fields; /* SCN_FIELDS_TRS */
};

/* How a step is taken back, or brought back. */
struct scn_record_undo {
        scn_revision step;
        scn_revision since; /* the revision of the record's transaction */
        bool is_redo;       /* records of other steps, in a transaction that took back several, are left out */
        bool is_forced;
        uint32_t left_out;                  /* of a transform's or a move's fields, those to leave */
        const struct scn_record_more *more; /* NULL: none */
        /* Whether a node is one that the step added: it goes itself, with all beneath. */
        bool (*is_added)(void *data, struct scn_uid uid);
        void *data;
};

/* What a record that sets fields sets; of an add or a removal nothing. Slices borrow from it. */
struct scn_record_about {
        uint32_t fields;       /* SCN_FIELDS_* */
        struct scn_uid parent; /* transform: then */
        struct scn_slice key;  /* set */
};

/* SCN_E_CORRUPT: it is no such record. */
SCN_NODISCARD enum scn_error scn_record_read_about(
        const struct scn_journal_record *record, struct scn_record_about *about_out);

/* The step that a record of something taken back is about. SCN_E_CORRUPT: it takes nothing back. */
SCN_NODISCARD enum scn_error scn_record_step(const struct scn_journal_record *record, scn_revision *step_out);

/* Appends the ops that take a record's change back, under the conditions of DESIGN §6. They borrow from the record
 * and need scn_record_settle(). SCN_E_CORRUPT: it is no such record. */
SCN_NODISCARD enum scn_error scn_record_take_back(
        const struct scn_journal_record *record, const struct scn_record_undo *undo, struct scn_ops *ops);

/* To be called when all are there: gives the adds their properties. */
void scn_record_settle(struct scn_ops *ops);

/* Elements of "after", without that one more. */
uint32_t scn_record_after_count(uint32_t kind);

#endif
