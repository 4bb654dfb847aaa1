/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What the ops have in common: verdicts, stamps, records and values. */

#include "tests/lib/model_follow.h"

#include "protocol/base/bytes.h"
#include "protocol/base/uid.h"
#include "protocol/scene/value.h"

#include <inttypes.h>
#include <string.h>

#define VALUE_BYTES_MAX ((size_t)1 << 20)

/* Verdicts. */

uint64_t follow_bit(enum scn_error error)
{
        return UINT64_C(1) << -(int)error;
}

void follow_must(struct follower *follower, enum scn_error error)
{
        follower->verdict.must |= follow_bit(error);
}

void follow_may(struct follower *follower, enum scn_error error)
{
        follower->verdict.may |= follow_bit(error);
}

static void check_conflict(
        const struct model *model, const struct scn_refusal *refusal, const struct follow_conflict *conflict)
{
        MODEL_CHECK(model, scn_uid_equal(refusal->node, conflict->node), "the conflict is at another node");
        MODEL_CHECK(
                model, scn_uid_equal(refusal->other, conflict->stamp.client), "the conflict is with another client");
        MODEL_CHECK(model, refusal->revision == conflict->stamp.revision, "the conflict is of another revision");
        MODEL_CHECK(model, refusal->field == conflict->field, "the conflict is in field %d instead of %d",
                (int)refusal->field, (int)conflict->field);
        if (conflict->field == SCN_FIELD_PROPERTY)
                MODEL_CHECK(model, model_slices_equal(refusal->key, conflict->key), "the conflict is in another key");
        if (conflict->field == SCN_FIELD_PROPERTY || conflict->field == SCN_FIELD_NAME)
                MODEL_CHECK(model, model_slices_equal(refusal->value, conflict->value),
                        "the conflict is with another value");
        if (conflict->field >= SCN_FIELD_TRANSLATION && conflict->field <= SCN_FIELD_SCALE)
                MODEL_CHECK(model, memcmp(&refusal->trs, &conflict->trs, sizeof refusal->trs) == 0,
                        "the conflict is with another transform");
}

static void check_refusal(struct follower *follower)
{
        const struct scn_refusal *refusal = follower->outcome->refusal;
        enum scn_error error = follower->outcome->error;
        struct model *model = follower->model;

        if (follower->verdict.must != follow_bit(error))
                return;
        /* A uid that the document chose in an edit that it then refused is not known here. */
        bool is_known = follower->node.bytes[0] != FOLLOW_UNKNOWN_UID_BYTE &&
                follower->other_parent.bytes[0] != FOLLOW_UNKNOWN_UID_BYTE;
        if (is_known && (error == SCN_E_CYCLE || error == SCN_E_STALE_PARENT)) {
                MODEL_CHECK(model, scn_uid_equal(refusal->node, follower->node), "the refusal names another node");
                MODEL_CHECK(model, scn_uid_equal(refusal->other, follower->other_parent),
                        "the refusal as %s names another parent", scn_error_code(error));
        }
        if (error == SCN_E_CONFLICT && follower->conflicts_count == 1)
                check_conflict(model, refusal, &follower->conflict);
}

/* True if the op is to be done. Compares the verdicts. */
bool follow_is_accepted(struct follower *follower)
{
        const struct model_outcome *outcome = follower->outcome;
        const struct model_verdict *verdict = &follower->verdict;

        if (outcome->error != SCN_OK && outcome->refusal->op == follower->op_index) {
                MODEL_CHECK(follower->model, ((verdict->must | verdict->may) & follow_bit(outcome->error)) != 0,
                        "op %" PRIu32 " (kind %d) refused as %s, expected were %" PRIx64 " or %" PRIx64,
                        follower->op_index, (int)follower->op->kind, scn_error_code(outcome->error), verdict->must,
                        verdict->may);
                check_refusal(follower);
                return false;
        }
        MODEL_CHECK(follower->model, verdict->must == 0,
                "op %" PRIu32 " (kind %d) accepted, expected was %" PRIx64 "; outcome %s at %" PRIu32,
                follower->op_index, (int)follower->op->kind, verdict->must, scn_error_code(outcome->error),
                outcome->error != SCN_OK ? outcome->refusal->op : 0);
        return true;
}

/* Stamps and marks. */

struct scn_stamp_view follow_stamp(const struct follower *follower)
{
        return (struct scn_stamp_view){
                .revision = follower->revision,
                .writer = follower->edit->step != 0 ? follower->edit->step : follower->revision,
                .client = follower->edit->client,
        };
}

void follow_mark_upwards(struct follower *follower, scn_node_id id, uint32_t channels, bool is_loss)
{
        while (id != 0) {
                struct model_node *node = model_find(&follower->state, id);
                for (uint32_t channel = 0; channel < SCN_CHANNEL_COUNT; channel++)
                        if ((channels >> channel & 1u) != 0)
                                node->marks[channel] = follower->revision;
                if (is_loss)
                        node->node_lost = follower->revision;
                id = node->parent;
        }
}

void follow_changed(struct follower *follower, struct model_node *node, enum scn_channel channel)
{
        follower->state.changes_count++;
        follower->mask |= 1u << channel;
        follow_mark_upwards(follower, node->id, 1u << channel, false);
}

bool follow_is_changed_by_others(const struct follower *follower, scn_revision revision, struct scn_uid client)
{
        const struct scn_edit *edit = follower->edit;
        return edit->has_base && revision > edit->base && !scn_uid_equal(client, edit->client);
}

static void judge_conflict(struct follower *follower, const struct follow_conflict *conflict, bool will_change)
{
        const struct scn_edit *edit = follower->edit;
        const struct scn_stamp_view *stamp = &conflict->stamp;

        /* What this edit itself wrote before is no conflict. */
        if (!edit->is_strict || !edit->has_base || stamp->revision == follower->revision)
                return;
        if (!follow_is_changed_by_others(follower, stamp->revision, stamp->client) &&
                edit->base >= follower->state.horizon)
                return;
        follower->conflict = *conflict;
        /* Of what the horizon has passed nobody need know who it was: then nothing is compared. */
        follower->conflicts_count += stamp->revision > follower->state.horizon ? 1 : 2;
        if (will_change)
                follow_must(follower, SCN_E_CONFLICT);
        else
                follow_may(follower, SCN_E_CONFLICT);
}

void follow_judge_strict(
        struct follower *follower, const struct model_node *node, enum scn_field field, bool will_change)
{
        const struct follow_conflict conflict = {
                .stamp = node->stamps[field],
                .node = node->uid,
                .field = field,
                .value = field == SCN_FIELD_NAME ? node->name : (struct scn_slice){0},
                .trs = node->trs,
        };
        judge_conflict(follower, &conflict, will_change);
}

void follow_judge_strict_property(struct follower *follower, const struct model_node *node,
        const struct model_property *property, bool will_change)
{
        const struct follow_conflict conflict = {
                .stamp = property->stamp,
                .node = node->uid,
                .field = SCN_FIELD_PROPERTY,
                .key = property->key,
                .value = property->value,
                .trs = node->trs,
        };
        judge_conflict(follower, &conflict, will_change);
}

/* Records. */

/* The record this op has made; NULL if the edit was refused later, so that there are none. */
const struct scn_change *follow_take_record(struct follower *follower, scn_node_id id, struct scn_uid uid)
{
        const struct scn_changes *changes = follower->outcome->changes;
        struct model *model = follower->model;

        if (changes == NULL)
                return NULL;
        MODEL_CHECK(model, follower->records_used < scn_changes_count(changes), "op %" PRIu32 " left no record",
                follower->op_index);
        const struct scn_change *change = scn_changes_get(changes, follower->records_used++);
        MODEL_CHECK(model, change->op == follower->op_index, "a record of op %" PRIu32 " where %" PRIu32 " changes",
                change->op, follower->op_index);
        MODEL_CHECK(model, change->kind == follower->op->kind, "record's kind");
        MODEL_CHECK(model, change->id == id, "record's id %" PRIu32 " instead of %" PRIu32, change->id, id);
        MODEL_CHECK(model, scn_uid_equal(change->uid, uid) || scn_uid_is_none(uid), "record's uid");
        return change;
}

void follow_check_record(struct follower *follower, const struct scn_change *change, uint32_t fields, uint32_t flags)
{
        MODEL_CHECK(follower->model, change->fields == fields, "op %" PRIu32 ": fields %" PRIx32 " instead of %" PRIx32,
                follower->op_index, change->fields, fields);
        MODEL_CHECK(follower->model, change->flags == flags, "op %" PRIu32 ": flags %" PRIx32 " instead of %" PRIx32,
                follower->op_index, change->flags, flags);
}

void follow_check_trs(struct follower *follower, const struct scn_trs *actual, const struct scn_trs *expected)
{
        MODEL_CHECK(follower->model, memcmp(actual, expected, sizeof *actual) == 0, "record's transform");
}

void follow_check_slice(struct follower *follower, struct scn_slice actual, struct scn_slice expected)
{
        MODEL_CHECK(follower->model, model_slices_equal(actual, expected), "record's name, key or value");
}

/* Values. */

struct scn_slice follow_judge_value(struct follower *follower, struct scn_slice value)
{
        struct scn_buffer canonical;

        scn_buffer_init(&canonical, VALUE_BYTES_MAX);
        enum scn_error error = scn_value_canonicalise(value, &follower->model->limits, &canonical);
        if (error != SCN_OK)
                follow_must(follower, error);
        const struct scn_slice found = {canonical.data, (uint32_t)canonical.size};
        struct scn_slice kept = error == SCN_OK ? model_keep(follower->model, found) : (struct scn_slice){0};
        scn_buffer_finish(&canonical);
        return kept;
}

void follow_judge_key(struct follower *follower, struct scn_slice key)
{
        if (key.data == NULL || key.size == 0 || key.size > follower->model->limits.key_bytes_max)
                follow_must(follower, SCN_E_KEY_TOO_LONG);
        if (key.data == NULL)
                follow_must(follower, SCN_E_BAD_OP);
        if (key.data != NULL && !scn_utf8_is_valid(key.data, key.size))
                follow_must(follower, SCN_E_BAD_UTF8);
}

void follow_judge_name(struct follower *follower, struct scn_slice name)
{
        if (name.data == NULL)
                return;
        if (name.size > follower->model->limits.name_bytes_max)
                follow_must(follower, SCN_E_NAME_TOO_LONG);
        if (!scn_utf8_is_valid(name.data, name.size))
                follow_must(follower, SCN_E_BAD_UTF8);
}

/* The transform that results from `old` when the op's fields are set. */
struct scn_trs follow_judge_trs(struct follower *follower, const struct scn_trs *old, uint32_t *flags)
{
        const struct scn_op *op = follower->op;
        struct scn_trs trs = *old;
        bool was_changed = false;

        if ((op->fields & ~SCN_FIELDS_TRS) != 0)
                follow_must(follower, SCN_E_BAD_OP);
        if ((op->fields & SCN_FIELDS_TRANSLATION) != 0) {
                memcpy(trs.t, op->trs.t, sizeof trs.t);
                if (scn_transform_check(trs.t, 3) != SCN_OK)
                        follow_must(follower, SCN_E_NOT_FINITE);
        }
        if ((op->fields & SCN_FIELDS_SCALE) != 0) {
                memcpy(trs.s, op->trs.s, sizeof trs.s);
                if (scn_transform_check(trs.s, 3) != SCN_OK)
                        follow_must(follower, SCN_E_NOT_FINITE);
        }
        if ((op->fields & SCN_FIELDS_ROTATION) != 0) {
                memcpy(trs.r, op->trs.r, sizeof trs.r);
                enum scn_error error = scn_quaternion_normalise(trs.r, &was_changed);
                if (error != SCN_OK)
                        follow_must(follower, error);
        }
        *flags = was_changed ? SCN_CHANGE_NORMALISED : 0;
        return trs;
}

uint32_t follow_trs_difference(const struct scn_trs *a, const struct scn_trs *b)
{
        return (model_floats_equal(a->t, b->t, 3) ? 0 : SCN_FIELDS_TRANSLATION) |
                (model_floats_equal(a->r, b->r, 4) ? 0 : SCN_FIELDS_ROTATION) |
                (model_floats_equal(a->s, b->s, 3) ? 0 : SCN_FIELDS_SCALE);
}

void follow_stamp_trs(struct follower *follower, struct model_node *node, uint32_t fields)
{
        for (uint32_t field = SCN_FIELD_TRANSLATION; field <= SCN_FIELD_SCALE; field++)
                if ((fields >> field & 1u) != 0)
                        node->stamps[field] = follow_stamp(follower);
        if (fields != 0)
                follow_changed(follower, node, SCN_CHANNEL_TRANSFORM);
}

static int compare_keys(struct scn_slice a, struct scn_slice b)
{
        uint32_t common = a.size < b.size ? a.size : b.size;
        int order = common != 0 ? memcmp(a.data, b.data, common) : 0;

        return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

/* A copy of the node's properties with this one in it, in order. */
void follow_put_property(struct model *model, struct model_node *node, struct model_property property)
{
        struct model_property *properties =
                model_alloc(model, (node->properties_count + (size_t)1) * sizeof *properties);
        uint32_t count = 0;
        bool is_in = false;

        for (uint32_t i = 0; i < node->properties_count; i++) {
                int order = compare_keys(node->properties[i].key, property.key);
                if (order >= 0 && !is_in) {
                        properties[count++] = property;
                        is_in = true;
                }
                if (order != 0)
                        properties[count++] = node->properties[i];
        }
        if (!is_in)
                properties[count++] = property;
        node->properties = properties;
        node->properties_count = count;
}
