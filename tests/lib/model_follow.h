/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_MODEL_FOLLOW_H
#define SCN_TESTS_LIB_MODEL_FOLLOW_H

/* Inside of model_follow(): one edit on its way through the model. Of use to the model's own files only. */

#include "tests/lib/model.h"

/* First byte of a uid that stands for one the document has not told. */
#define FOLLOW_UNKNOWN_UID_BYTE 0xee

struct follower {
        struct model *model;
        const struct scn_document *document;
        const struct scn_edit *edit;
        const struct model_outcome *outcome;
        struct model_state state; /* becomes the next revision */
        scn_revision revision;    /* that one's number */
        const struct scn_op *op;
        uint32_t op_index;
        struct model_verdict verdict; /* on this op */
        /* What a refusal must tell, where only one answer is possible. */
        struct scn_uid node;
        struct scn_uid other_parent;
        struct follow_conflict {
                struct scn_stamp_view stamp;
                struct scn_uid node;
                enum scn_field field;
                struct scn_slice key;
                struct scn_slice value;
                struct scn_trs trs;
        } conflict;
        uint32_t conflicts_count;
        uint32_t records_used;
        uint32_t mask;         /* channels it must say it changed */
        uint32_t mask_open;    /* channels it may say so */
        uint32_t unknown_uids; /* chosen by the document in an edit that it refused later */
};

/* Verdicts: what must, and what may be answered to this op. */
uint64_t follow_bit(enum scn_error error);
void follow_must(struct follower *follower, enum scn_error error);
void follow_may(struct follower *follower, enum scn_error error);
/* Compares them with the outcome; true if the op is to be done. */
bool follow_is_accepted(struct follower *follower);
/* `strict` for a field that the op writes; if the value stays, the design leaves it open. */
void follow_judge_strict(
        struct follower *follower, const struct model_node *node, enum scn_field field, bool will_change);
void follow_judge_strict_property(struct follower *follower, const struct model_node *node,
        const struct model_property *property, bool will_change);
bool follow_is_changed_by_others(const struct follower *follower, scn_revision revision, struct scn_uid client);

/* The node that is named, or NULL and a verdict. */
struct model_node *follow_resolve(struct follower *follower, const struct scn_node_ref *ref);

/* The stamp of what this edit writes. */
struct scn_stamp_view follow_stamp(const struct follower *follower);
void follow_mark_upwards(struct follower *follower, scn_node_id id, uint32_t channels, bool is_loss);
/* To be called with each field that changed. */
void follow_changed(struct follower *follower, struct model_node *node, enum scn_channel channel);

/* The record this op has made; NULL if the edit was refused later, so that there are none. */
const struct scn_change *follow_take_record(struct follower *follower, scn_node_id id, struct scn_uid uid);
void follow_check_record(struct follower *follower, const struct scn_change *change, uint32_t fields, uint32_t flags);
void follow_check_trs(struct follower *follower, const struct scn_trs *actual, const struct scn_trs *expected);
void follow_check_slice(struct follower *follower, struct scn_slice actual, struct scn_slice expected);

/* Values that an op brings; the result is what would be kept. */
struct scn_slice follow_judge_value(struct follower *follower, struct scn_slice value);
void follow_judge_key(struct follower *follower, struct scn_slice key);
void follow_judge_name(struct follower *follower, struct scn_slice name);
struct scn_trs follow_judge_trs(struct follower *follower, const struct scn_trs *old, uint32_t *flags);
/* Those of T, R, S whose bits differ. */
uint32_t follow_trs_difference(const struct scn_trs *a, const struct scn_trs *b);
void follow_stamp_trs(struct follower *follower, struct model_node *node, uint32_t fields);
/* A copy of the node's properties with this one in it, in order. */
void follow_put_property(struct model *model, struct model_node *node, struct model_property property);

/* The ops that change the tree. Each judges, and does it if it is to be done; false ends the edit. */
bool follow_add(struct follower *follower);
bool follow_remove(struct follower *follower);
bool follow_move(struct follower *follower);

#endif
