/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SCENE_APPLY_H
#define SCN_SCENE_APPLY_H

/* The six ops, between scn_document_apply() and the mutations: each finds its nodes, checks its rules, writes its
 * record and mutates. An op that changes nothing writes no record. */

#include "protocol/scene/mutation.h"

/* What a record costs where it is stored, besides its texts: kind, ids, writers, headers. It only has to bound them. */
#define SCN_RECORD_BYTES 64

struct scn_apply {
        struct scn_mutation mutation;
        const struct scn_edit *edit;
        const struct scn_op *op;
        uint32_t op_index;
        uint32_t fields; /* op->fields, without those that its condition skips */
        struct scn_refusal *refusal;
        uint64_t path_steps_left;
};

SCN_NODISCARD enum scn_error scn_apply_add(struct scn_apply *apply);
SCN_NODISCARD enum scn_error scn_apply_remove(struct scn_apply *apply);
SCN_NODISCARD enum scn_error scn_apply_move(struct scn_apply *apply);
SCN_NODISCARD enum scn_error scn_apply_transform(struct scn_apply *apply);
SCN_NODISCARD enum scn_error scn_apply_rename(struct scn_apply *apply);
SCN_NODISCARD enum scn_error scn_apply_set(struct scn_apply *apply);

/* --- Conditions (apply_undo.c) --- */

/* Whether and how far the op's condition lets it take its change back: sets apply->fields. *goes_on_out false: there
 * is nothing to do, and skips say why. SCN_E_SUPERSEDED: the whole edit is refused. SCN_E_NO_MEMORY. */
SCN_NODISCARD enum scn_error scn_apply_check_condition(struct scn_apply *apply, bool *goes_on_out);
/* Tells the op's chains whether it went on. */
void scn_apply_note_chains(const struct scn_apply *apply, bool goes_on);
/* Notes that a field, or what the op is about, is left as it is. `stamp`: of what is in the way; of revision 0: nothing
 * that somebody wrote. SCN_E_NO_MEMORY. */
SCN_NODISCARD enum scn_error scn_apply_skip(
        struct scn_apply *apply, enum scn_error reason, enum scn_field field, struct scn_stamp stamp);

/* --- Shared by the ops --- */

/* The node the op is about; its uid is in the refusal from then on. */
SCN_NODISCARD enum scn_error scn_apply_find_node(struct scn_apply *apply, uint32_t *slot_out);
/* With strict: SCN_E_CONFLICT if another client stamped this after the base. */
SCN_NODISCARD enum scn_error scn_apply_check_stamp(
        struct scn_apply *apply, uint32_t slot, enum scn_field field, struct scn_stamp stamp);
/* Fills a refusal of one field. Returns `error`. */
enum scn_error scn_apply_refuse(struct scn_apply *apply, enum scn_error error, enum scn_field field);
SCN_NODISCARD enum scn_error scn_apply_check_name(struct scn_apply *apply, struct scn_slice name);
/* Checks the fields given, normalises the rotation; *flags_out gets SCN_CHANGE_NORMALISED. */
SCN_NODISCARD enum scn_error scn_apply_check_trs(
        struct scn_apply *apply, uint32_t fields, struct scn_trs *trs, uint32_t *flags_out);
/* What is put back brings its writer along, also where the value is there already: whether it is another than the
 * stamp's. */
bool scn_apply_brings_writer(const struct scn_apply *apply, uint32_t field, struct scn_stamp stamp);
/* Those of T, R, S that differ, and of `fields` those that get another writer. */
uint32_t scn_apply_changed_trs(const struct scn_apply *apply, uint32_t slot, uint32_t fields,
        const struct scn_trs *before, const struct scn_trs *after);
/* Checks key and value and makes the text that a node will own. value.data == NULL: a removed key. */
SCN_NODISCARD enum scn_error scn_apply_make_property(
        struct scn_apply *apply, const struct scn_property *property, struct scn_prop_text **text_out);
/* The last change of anything at a node or below. */
scn_revision scn_apply_last_change(const struct scn_node *node);
/* Where a slot stands now, as records have it. */
struct scn_place scn_apply_place(const struct scn_document *document, uint32_t slot);

#endif
