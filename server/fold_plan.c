/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/fold_plan.h"

#include "protocol/base/alloc.h"
#include "protocol/base/bytes.h"
#include "protocol/base/index_map.h"
#include "protocol/base/uid.h"
#include "protocol/scene/edit.h"
#include "server/author.h"
#include "server/record_fold.h"

#include <string.h>

#define NONE UINT32_MAX
#define BYTES_MAX ((size_t)1 << 30)

/* The edits of one step in the window. */
struct gesture {
        scn_revision step;
        uint32_t first, last; /* indexes */
        uint32_t count;
        bool can_fold;
        uint32_t first_write, last_write; /* in order of their making, by next_of_gesture; NONE: none yet */
        uint32_t records_first, records_count;
};

/* What a gesture writes: a transform, a name or a property of a node. */
struct written {
        struct scn_record_field field; /* before the first and after the last so far */
        uint32_t gesture;
        uint32_t next_of_gesture;
        uint32_t next_of_node; /* of the same node, whoever writes it; NONE: the last */
};

struct scn_fold_plan {
        const struct scn_journal_transaction *const *transactions;
        uint32_t count;
        struct scn_fold_part *parts;
        uint32_t saved;
        uint32_t *gesture_of; /* by transaction; NONE: it is of no gesture */
        struct gesture *gestures;
        size_t gestures_count, gestures_capacity;
        struct written *written;
        size_t written_count, written_capacity;
        struct scn_index_map by_step; /* gestures */
        struct scn_index_map by_node; /* the first that is written of each node */
        struct scn_buffer bytes;      /* of the new records */
        struct scn_journal_record *records;
        size_t records_count, records_capacity;
};

static uint64_t spread(uint64_t value)
{
        value *= UINT64_C(0x9e3779b97f4a7c15);
        return value ^ value >> 32;
}

static uint64_t hash_gesture(const void *owner, uint32_t ref)
{
        return spread(((const struct scn_fold_plan *)owner)->gestures[ref].step);
}

static bool match_gesture(const void *owner, uint32_t ref, const void *key)
{
        return ((const struct scn_fold_plan *)owner)->gestures[ref].step == *(const scn_revision *)key;
}

static uint64_t hash_uid(struct scn_uid uid)
{
        uint64_t words[2];
        memcpy(words, uid.bytes, sizeof words);
        return spread(words[0] ^ (words[1] << 29 | words[1] >> 35));
}

static uint64_t hash_written(const void *owner, uint32_t ref)
{
        return hash_uid(((const struct scn_fold_plan *)owner)->written[ref].field.node);
}

static bool match_written(const void *owner, uint32_t ref, const void *key)
{
        return scn_uid_equal(
                ((const struct scn_fold_plan *)owner)->written[ref].field.node, *(const struct scn_uid *)key);
}

/* --- Which transactions are gestures --- */

static bool continues(const struct scn_journal_transaction *first, const struct scn_journal_transaction *next)
{
        return scn_uid_equal(first->client, next->client) && first->group == next->group;
}

static enum scn_error note_gesture(struct scn_fold_plan *plan, uint32_t index)
{
        const struct scn_journal_transaction *transaction = plan->transactions[index];
        uint32_t ref = scn_index_map_find(&plan->by_step, spread(transaction->step), &transaction->step);
        if (ref == SCN_INDEX_MAP_NONE) {
                if (!scn_grow((void **)&plan->gestures, &plan->gestures_capacity, sizeof *plan->gestures,
                            plan->gestures_count + 1, NONE) ||
                        !scn_index_map_reserve(&plan->by_step, (uint32_t)plan->gestures_count + 1)) {
                        return SCN_E_NO_MEMORY;
                }
                ref = (uint32_t)plan->gestures_count++;
                plan->gestures[ref] = (struct gesture){
                        .step = transaction->step,
                        .first = index,
                        .can_fold = !scn_uid_is_none(transaction->client),
                        .first_write = NONE,
                        .last_write = NONE,
                };
                scn_index_map_add(&plan->by_step, spread(transaction->step), ref);
        }
        struct gesture *gesture = &plan->gestures[ref];
        gesture->can_fold = gesture->can_fold && continues(plan->transactions[gesture->first], transaction);
        gesture->last = index;
        gesture->count++;
        plan->gesture_of[index] = ref;
        return SCN_OK;
}

static enum scn_error find_gestures(struct scn_fold_plan *plan)
{
        enum scn_error error = SCN_OK;
        for (uint32_t i = 0; i < plan->count && error == SCN_OK; i++) {
                plan->gesture_of[i] = NONE;
                if (plan->transactions[i]->cause == SCN_CAUSE_EDIT) {
                        error = note_gesture(plan, i);
                }
        }
        for (size_t i = 0; i < plan->gestures_count; i++) {
                struct gesture *gesture = &plan->gestures[i];
                gesture->can_fold = gesture->can_fold && gesture->count > 1 &&
                        plan->transactions[gesture->last]->answer.size <= SCN_JOURNAL_FOLD_ANSWER_BYTES_MAX;
        }
        return error;
}

/* --- What they write --- */

static bool is_same_place(const struct scn_record_field *a, const struct scn_record_field *b)
{
        return a->kind == b->kind && a->key.size == b->key.size &&
                (a->key.size == 0 || memcmp(a->key.data, b->key.data, a->key.size) == 0);
}

static enum scn_error add_written(
        struct scn_fold_plan *plan, uint32_t gesture, const struct scn_record_field *field, uint32_t first_of_node)
{
        if (!scn_grow((void **)&plan->written, &plan->written_capacity, sizeof *plan->written, plan->written_count + 1,
                    NONE) ||
                !scn_index_map_reserve(&plan->by_node, (uint32_t)plan->written_count + 1)) {
                return SCN_E_NO_MEMORY;
        }
        const uint32_t ref = (uint32_t)plan->written_count++;
        struct gesture *of = &plan->gestures[gesture];
        plan->written[ref] =
                (struct written){.field = *field, .gesture = gesture, .next_of_gesture = NONE, .next_of_node = NONE};
        if (first_of_node == SCN_INDEX_MAP_NONE) {
                scn_index_map_add(&plan->by_node, hash_uid(field->node), ref);
        } else {
                plan->written[ref].next_of_node = plan->written[first_of_node].next_of_node;
                plan->written[first_of_node].next_of_node = ref;
        }
        if (of->last_write == NONE) {
                of->first_write = ref;
        } else {
                plan->written[of->last_write].next_of_gesture = ref;
        }
        of->last_write = ref;
        return SCN_OK;
}

static enum scn_error note_record(struct scn_fold_plan *plan, uint32_t gesture, const struct scn_journal_record *record)
{
        struct gesture *of = &plan->gestures[gesture];
        struct scn_record_field field;
        bool is_field;
        const enum scn_error error = scn_record_read_field(record, &field, &is_field);
        if (error != SCN_OK || !is_field) {
                of->can_fold = false;
                return error;
        }
        const uint32_t first = scn_index_map_find(&plan->by_node, hash_uid(field.node), &field.node);
        uint32_t at = first;
        while (at != NONE &&
                !(plan->written[at].gesture == gesture && is_same_place(&plan->written[at].field, &field))) {
                at = plan->written[at].next_of_node;
        }
        if (at == NONE) {
                return add_written(plan, gesture, &field, first);
        }
        of->can_fold = scn_record_join(&plan->written[at].field, &field, of->step);
        return SCN_OK;
}

static enum scn_error find_written(struct scn_fold_plan *plan, uint32_t *at_out)
{
        enum scn_error error = SCN_OK;
        for (uint32_t i = 0; i < plan->count && error == SCN_OK; i++) {
                const struct scn_journal_transaction *transaction = plan->transactions[i];
                const uint32_t gesture = plan->gesture_of[i];
                *at_out = i;
                for (uint32_t k = 0; k < transaction->records_count && error == SCN_OK && gesture != NONE &&
                        plan->gestures[gesture].can_fold;
                        k++) {
                        error = note_record(plan, gesture, &transaction->records[k]);
                }
        }
        for (size_t i = 0; i < plan->written_count && error == SCN_OK; i++) {
                const struct written *written = &plan->written[i];
                struct gesture *gesture = &plan->gestures[written->gesture];
                gesture->can_fold = gesture->can_fold && !scn_record_is_idle(&written->field);
        }
        return error;
}

/* --- What is in their way --- */

/* A record of transaction `index`, which may touch what a gesture writes around it. */
struct touch {
        struct scn_fold_plan *plan;
        uint32_t index;
        const struct scn_record_field *field; /* NULL: the node itself comes, goes or moves */
};

static void touch_node(void *data, struct scn_uid node)
{
        const struct touch *touch = data;
        struct scn_fold_plan *plan = touch->plan;
        uint32_t at = scn_index_map_find(&plan->by_node, hash_uid(node), &node);
        for (; at != NONE; at = plan->written[at].next_of_node) {
                const struct written *written = &plan->written[at];
                struct gesture *gesture = &plan->gestures[written->gesture];
                const bool is_within = gesture->first < touch->index && touch->index < gesture->last;
                const bool is_own = plan->gesture_of[touch->index] == written->gesture;
                if (!is_within || is_own) {
                        continue;
                }
                const bool is_same = touch->field == NULL ||
                        (is_same_place(touch->field, &written->field) &&
                                (touch->field->kind != SCN_OP_TRANSFORM ||
                                        (touch->field->fields & written->field.fields) != 0));
                gesture->can_fold = gesture->can_fold && !is_same;
        }
}

static enum scn_error touch_record(struct touch *touch, const struct scn_journal_record *record)
{
        struct scn_record_field field;
        bool is_field;
        enum scn_error error = scn_record_read_field(record, &field, &is_field);
        if (error != SCN_OK) {
                return error;
        }
        /* What takes something back is read without its "after"; its kind and fields are there. */
        const bool is_place =
                record->kind == SCN_OP_ADD || record->kind == SCN_OP_REMOVE || record->kind == SCN_OP_MOVE;
        touch->field = is_place ? NULL : &field;
        touch_node(touch, record->node);
        return record->kind == SCN_OP_REMOVE ? scn_record_removed(record, touch_node, touch) : SCN_OK;
}

static enum scn_error find_touches(struct scn_fold_plan *plan, uint32_t *at_out)
{
        struct touch touch = {.plan = plan};
        enum scn_error error = SCN_OK;
        for (uint32_t i = 0; i < plan->count && error == SCN_OK; i++) {
                const struct scn_journal_transaction *transaction = plan->transactions[i];
                touch.index = *at_out = i;
                for (uint32_t k = 0; k < transaction->records_count && error == SCN_OK; k++) {
                        error = touch_record(&touch, &transaction->records[k]);
                }
        }
        return error;
}

/* --- What they become --- */

/* Until all bytes are there, which may move, payloads have sizes only. */
static enum scn_error write_records(struct scn_fold_plan *plan, struct gesture *gesture)
{
        enum scn_error error = SCN_OK;
        gesture->records_first = (uint32_t)plan->records_count;
        for (uint32_t at = gesture->first_write; at != NONE && error == SCN_OK;
                at = plan->written[at].next_of_gesture) {
                const struct scn_record_field *field = &plan->written[at].field;
                const size_t start = plan->bytes.size;
                size_t before_size = 0;
                error = scn_record_write_field(field, &plan->bytes, &before_size);
                if (error == SCN_OK &&
                        !scn_grow((void **)&plan->records, &plan->records_capacity, sizeof *plan->records,
                                plan->records_count + 1, NONE)) {
                        error = SCN_E_NO_MEMORY;
                }
                if (error == SCN_OK) {
                        plan->records[plan->records_count++] = (struct scn_journal_record){
                                .kind = field->kind,
                                .node = field->node,
                                .before = {NULL, (uint32_t)before_size},
                                .after = {NULL, (uint32_t)(plan->bytes.size - start - before_size)},
                        };
                }
        }
        gesture->records_count = (uint32_t)plan->records_count - gesture->records_first;
        return error;
}

static enum scn_error join_all(struct scn_fold_plan *plan)
{
        enum scn_error error = SCN_OK;
        for (size_t i = 0; i < plan->gestures_count && error == SCN_OK; i++) {
                if (plan->gestures[i].can_fold) {
                        error = write_records(plan, &plan->gestures[i]);
                }
        }
        const uint8_t *at = plan->bytes.data;
        for (size_t i = 0; i < plan->records_count && error == SCN_OK; i++) {
                struct scn_journal_record *record = &plan->records[i];
                record->before.data = at;
                record->after.data = at + record->before.size;
                at += (size_t)record->before.size + record->after.size;
        }
        for (uint32_t i = 0; i < plan->count; i++) {
                struct scn_fold_part *part = &plan->parts[i];
                *part = (struct scn_fold_part){.transaction = plan->transactions[i], .into = i};
                const struct gesture *gesture =
                        plan->gesture_of[i] != NONE ? &plan->gestures[plan->gesture_of[i]] : NULL;
                if (gesture == NULL || !gesture->can_fold) {
                        continue;
                }
                part->into = gesture->last;
                plan->saved += gesture->last != i;
                if (gesture->last == i) {
                        part->records = plan->records + gesture->records_first;
                        part->records_count = gesture->records_count;
                }
        }
        return error;
}

enum scn_error scn_fold_plan_create(const struct scn_journal_transaction *const *transactions, uint32_t count,
        struct scn_fold_plan **plan_out, uint32_t *at_out)
{
        struct scn_fold_plan *plan = scn_alloc_zero(1, sizeof *plan);
        *plan_out = NULL;
        *at_out = 0;
        if (plan == NULL) {
                return SCN_E_NO_MEMORY;
        }
        plan->transactions = transactions;
        plan->count = count;
        scn_buffer_init(&plan->bytes, BYTES_MAX);
        scn_index_map_init(&plan->by_step, plan, hash_gesture, match_gesture);
        scn_index_map_init(&plan->by_node, plan, hash_written, match_written);
        plan->parts = scn_alloc_zero(count, sizeof *plan->parts);
        plan->gesture_of = scn_alloc_zero(count, sizeof *plan->gesture_of);
        enum scn_error error = plan->parts == NULL || plan->gesture_of == NULL ? SCN_E_NO_MEMORY : find_gestures(plan);
        error = error == SCN_OK ? find_written(plan, at_out) : error;
        error = error == SCN_OK ? find_touches(plan, at_out) : error;
        error = error == SCN_OK ? join_all(plan) : error;
        if (error != SCN_OK) {
                scn_fold_plan_destroy(plan);
                return error;
        }
        *plan_out = plan;
        return SCN_OK;
}

void scn_fold_plan_destroy(struct scn_fold_plan *plan)
{
        if (plan == NULL) {
                return;
        }
        scn_index_map_finish(&plan->by_step);
        scn_index_map_finish(&plan->by_node);
        scn_buffer_finish(&plan->bytes);
        scn_free(plan->records);
        scn_free(plan->written);
        scn_free(plan->gestures);
        scn_free(plan->gesture_of);
        scn_free(plan->parts);
        scn_free(plan);
}

const struct scn_fold_part *scn_fold_plan_parts(const struct scn_fold_plan *plan)
{
        return plan->parts;
}

uint32_t scn_fold_plan_saved(const struct scn_fold_plan *plan)
{
        return plan->saved;
}
