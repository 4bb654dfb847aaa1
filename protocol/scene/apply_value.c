/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The ops that change a value in place: transform, rename, set; and the checks that add shares with them. */

#include "protocol/scene/apply.h"
#include "protocol/scene/transform.h"
#include "protocol/scene/value.h"

#include <string.h>

#define TRS_RECORD_BYTES (SCN_RECORD_BYTES + 2 * sizeof(struct scn_trs) + 24)

enum scn_error scn_apply_check_trs(struct scn_apply *apply, uint32_t fields, struct scn_trs *trs, uint32_t *flags_out)
{
        enum scn_error error = SCN_OK;
        bool was_changed = false;
        if ((fields & SCN_FIELDS_TRANSLATION) != 0) {
                error = scn_transform_check(trs->t, 3);
                if (error != SCN_OK) {
                        return scn_apply_refuse(apply, error, SCN_FIELD_TRANSLATION);
                }
        }
        if ((fields & SCN_FIELDS_ROTATION) != 0) {
                error = scn_quaternion_normalise(trs->r, &was_changed);
                if (error != SCN_OK) {
                        return scn_apply_refuse(apply, error, SCN_FIELD_ROTATION);
                }
        }
        if ((fields & SCN_FIELDS_SCALE) != 0) {
                error = scn_transform_check(trs->s, 3);
                if (error != SCN_OK) {
                        return scn_apply_refuse(apply, error, SCN_FIELD_SCALE);
                }
        }
        *flags_out |= was_changed ? SCN_CHANGE_NORMALISED : 0;
        return SCN_OK;
}

/* --- transform --- */

static enum scn_error refuse_stale_parent(struct scn_apply *apply, uint32_t slot, scn_revision since)
{
        const struct scn_document *document = apply->mutation.document;
        apply->refusal->other = scn_uid_at(document, scn_hierarchy_parent(document->hierarchy, slot));
        apply->refusal->revision = since;
        return SCN_E_STALE_PARENT;
}

/* Whether the numbers are meant in the parent the node has now (CASES B05). */
static enum scn_error check_parent(struct scn_apply *apply, uint32_t slot)
{
        const struct scn_document *document = apply->mutation.document;
        const struct scn_edit *edit = apply->edit;
        const struct scn_node *node = scn_node_at(document, slot);
        const scn_revision since = scn_parent_since(document, node);
        if (apply->op->parent.kind != SCN_REF_NONE) {
                uint32_t named;
                const enum scn_error error =
                        scn_document_find_slot(document, &apply->op->parent, &apply->path_steps_left, &named);
                /* A parent that is gone is another parent than the present one, too. */
                const bool is_other = error == SCN_E_GONE ||
                        (error == SCN_OK && named != scn_hierarchy_parent(document->hierarchy, slot));
                apply->refusal->lost = is_other || error == SCN_OK ? NULL : &apply->op->parent;
                return is_other ? refuse_stale_parent(apply, slot, since) : error;
        }
        if (!edit->has_base || slot == document->root) {
                return SCN_OK;
        }
        const struct scn_past *entry = scn_past_of(document, node->id, node->past);
        const struct scn_stamp place = node->stamps[SCN_FIELD_PLACE];
        /* Who set the parent: the mover; or, at birth, the maker, as long as the place still has its stamp. */
        const bool is_own = entry != NULL
                ? entry->client == apply->mutation.client
                : scn_stamp_revision(place) == node->birth && scn_stamp_client(place) == apply->mutation.client;
        const bool is_later = since > edit->base || edit->base < document->horizon;
        return is_later && !is_own ? refuse_stale_parent(apply, slot, since) : SCN_OK;
}

static enum scn_error check_transform_stamps(struct scn_apply *apply, uint32_t slot, uint32_t fields)
{
        const struct scn_node *node = scn_node_at(apply->mutation.document, slot);
        enum scn_error error = SCN_OK;
        for (uint32_t field = SCN_FIELD_TRANSLATION; field <= SCN_FIELD_SCALE && error == SCN_OK; field++) {
                if ((fields & 1u << field) != 0) {
                        error = scn_apply_check_stamp(apply, slot, (enum scn_field)field, node->stamps[field]);
                }
        }
        return error;
}

bool scn_apply_brings_writer(const struct scn_apply *apply, uint32_t field, struct scn_stamp stamp)
{
        return apply->op->writers != NULL && apply->op->writers[field] != scn_stamp_writer(stamp);
}

uint32_t scn_apply_changed_trs(const struct scn_apply *apply, uint32_t slot, uint32_t fields,
        const struct scn_trs *before, const struct scn_trs *after)
{
        const struct scn_node *node = scn_node_at(apply->mutation.document, slot);
        uint32_t changed = scn_trs_compare(before, after);
        for (uint32_t field = SCN_FIELD_TRANSLATION; field <= SCN_FIELD_SCALE; field++) {
                if ((fields >> field & 1) != 0 && scn_apply_brings_writer(apply, field, node->stamps[field])) {
                        changed |= 1u << field;
                }
        }
        return changed;
}

enum scn_error scn_apply_transform(struct scn_apply *apply)
{
        const struct scn_document *document = apply->mutation.document;
        const uint32_t fields = apply->fields & SCN_FIELDS_TRS;
        struct scn_trs trs = apply->op->trs;
        uint32_t flags = 0;
        uint32_t slot;
        enum scn_error error = scn_apply_find_node(apply, &slot);
        if (error == SCN_OK) {
                error = scn_apply_check_trs(apply, fields, &trs, &flags);
        }
        if (error == SCN_OK) {
                error = check_parent(apply, slot);
        }
        if (error == SCN_OK) {
                error = check_transform_stamps(apply, slot, fields);
        }
        if (error != SCN_OK) {
                return error;
        }
        const struct scn_trs before = scn_hierarchy_local(document->hierarchy, slot);
        const struct scn_trs after = scn_trs_merge(&before, &trs, fields);
        const uint32_t changed = scn_apply_changed_trs(apply, slot, fields, &before, &after);
        if (changed == 0) {
                return SCN_OK;
        }
        struct scn_change *record;
        error = scn_changes_record(&apply->mutation, SCN_OP_TRANSFORM, TRS_RECORD_BYTES, &record);
        if (error != SCN_OK) {
                return error;
        }
        const struct scn_node *node = scn_node_at(document, slot);
        record->op = apply->op_index;
        record->fields = changed;
        record->flags = flags;
        record->id = node->id;
        record->uid = node->uid;
        record->as.transform.parent = scn_uid_at(document, scn_hierarchy_parent(document->hierarchy, slot));
        record->as.transform.before = before;
        record->as.transform.after = after;
        for (uint32_t i = 0; i < 3; i++) {
                record->as.transform.writer_before[i] = scn_stamp_writer(node->stamps[SCN_FIELD_TRANSLATION + i]);
        }
        return scn_mutate_trs(&apply->mutation, slot, &after, changed);
}

/* --- rename --- */

enum scn_error scn_apply_check_name(struct scn_apply *apply, struct scn_slice name)
{
        if (name.size > apply->mutation.document->limits.name_bytes_max) {
                return scn_apply_refuse(apply, SCN_E_NAME_TOO_LONG, SCN_FIELD_NAME);
        }
        const bool is_good = name.data == NULL || scn_utf8_is_valid(name.data, name.size);
        return is_good ? SCN_OK : scn_apply_refuse(apply, SCN_E_BAD_UTF8, SCN_FIELD_NAME);
}

enum scn_error scn_apply_rename(struct scn_apply *apply)
{
        const struct scn_slice name = apply->op->name;
        uint32_t slot;
        enum scn_error error = scn_apply_find_node(apply, &slot);
        if (error == SCN_OK) {
                error = scn_apply_check_name(apply, name);
        }
        if (error != SCN_OK) {
                return error;
        }
        const struct scn_node *node = scn_node_at(apply->mutation.document, slot);
        error = scn_apply_check_stamp(apply, slot, SCN_FIELD_NAME, node->stamps[SCN_FIELD_NAME]);
        const bool is_changed = !scn_text_is(node->name, name) ||
                scn_apply_brings_writer(apply, SCN_FIELD_NAME, node->stamps[SCN_FIELD_NAME]);
        if (error != SCN_OK || !is_changed) {
                return error;
        }
        struct scn_change *record;
        const uint64_t text_bytes = (uint64_t)name.size + (node->name == NULL ? 0 : node->name->size);
        error = scn_changes_record(&apply->mutation, SCN_OP_RENAME, SCN_RECORD_BYTES + text_bytes, &record);
        if (error != SCN_OK) {
                return error;
        }
        struct scn_text *text = NULL;
        if (name.data != NULL) {
                text = scn_text_create(name);
                if (text == NULL) {
                        return SCN_E_NO_MEMORY;
                }
        }
        record->op = apply->op_index;
        record->fields = SCN_FIELDS_NAME;
        record->id = node->id;
        record->uid = node->uid;
        record->as.rename.before = scn_text_slice(node->name);
        record->as.rename.after = scn_text_slice(text);
        record->as.rename.writer_before = scn_stamp_writer(node->stamps[SCN_FIELD_NAME]);
        return scn_mutate_name(&apply->mutation, slot, text);
}

/* --- set --- */

static enum scn_error check_key(struct scn_apply *apply, struct scn_slice key)
{
        apply->refusal->key = key;
        if (key.size == 0 || key.size > apply->mutation.document->limits.key_bytes_max) {
                return scn_apply_refuse(apply, SCN_E_KEY_TOO_LONG, SCN_FIELD_PROPERTY);
        }
        const bool is_good = scn_utf8_is_valid(key.data, key.size);
        return is_good ? SCN_OK : scn_apply_refuse(apply, SCN_E_BAD_UTF8, SCN_FIELD_PROPERTY);
}

enum scn_error scn_apply_make_property(
        struct scn_apply *apply, const struct scn_property *property, struct scn_prop_text **text_out)
{
        struct scn_document *document = apply->mutation.document;
        enum scn_error error = check_key(apply, property->key);
        if (error != SCN_OK) {
                return error;
        }
        struct scn_slice value = {NULL, 0};
        if (property->value.data != NULL) {
                scn_buffer_reset(&document->scratch);
                error = scn_value_canonicalise(property->value, &document->limits, &document->scratch);
                if (error != SCN_OK) {
                        return scn_apply_refuse(apply, error, SCN_FIELD_PROPERTY);
                }
                value = (struct scn_slice){document->scratch.data, (uint32_t)document->scratch.size};
        }
        *text_out = scn_prop_text_create(property->key, value);
        return *text_out == NULL ? SCN_E_NO_MEMORY : SCN_OK;
}

static bool is_same_value(const struct scn_prop_text *a, const struct scn_prop_text *b)
{
        /* The keys are the same. No text at all is as good as a removed key. */
        const uint32_t size = a == NULL ? 0 : a->value_size;
        return size == b->value_size &&
                (size == 0 || memcmp(a->bytes + a->key_size, b->bytes + b->key_size, size) == 0);
}

/* Everything that can refuse a set, once its text is made. *is_changed_out: it would change something. */
static enum scn_error check_set(
        struct scn_apply *apply, uint32_t slot, const struct scn_prop_text *text, bool *is_changed_out)
{
        const struct scn_document *document = apply->mutation.document;
        const struct scn_props *props = scn_node_at(document, slot)->props;
        bool is_known;
        const uint32_t index = scn_props_find(props, apply->op->key, &is_known);
        const struct scn_prop_text *before = is_known ? props->items[index].text : NULL;
        const bool is_new_node = scn_node_at(document, slot)->birth == apply->mutation.revision;
        if (before != NULL || (apply->edit->base < document->horizon && !is_new_node)) {
                const struct scn_stamp stamp = is_known ? props->items[index].stamp : (struct scn_stamp){0, 0};
                const enum scn_error error = scn_apply_check_stamp(apply, slot, SCN_FIELD_PROPERTY, stamp);
                if (error != SCN_OK) {
                        apply->refusal->value =
                                before == NULL ? (struct scn_slice){NULL, 0} : scn_prop_view(before).value;
                        return error;
                }
        }
        *is_changed_out = !is_same_value(before, text) ||
                (is_known && scn_apply_brings_writer(apply, SCN_FIELD_PROPERTY, props->items[index].stamp));
        const bool is_one_more = text->value_size > 0 && (before == NULL || before->value_size == 0);
        const uint64_t fields_max = (uint64_t)document->limits.properties_max * SCN_REMOVED_KEYS_RATIO;
        const bool is_full = props != NULL &&
                (props->living_count >= document->limits.properties_max ||
                        (before == NULL && props->count >= fields_max));
        return is_one_more && is_full ? scn_apply_refuse(apply, SCN_E_TOO_MANY_PROPS, SCN_FIELD_PROPERTY) : SCN_OK;
}

static enum scn_error record_set(struct scn_apply *apply, uint32_t slot, const struct scn_prop_text *text)
{
        const struct scn_node *node = scn_node_at(apply->mutation.document, slot);
        bool is_known;
        const uint32_t index = scn_props_find(node->props, apply->op->key, &is_known);
        const struct scn_prop *before = is_known ? &node->props->items[index] : NULL;
        const uint64_t text_bytes =
                (uint64_t)text->key_size + text->value_size + (before == NULL ? 0 : before->text->value_size);
        struct scn_change *record;
        const enum scn_error error =
                scn_changes_record(&apply->mutation, SCN_OP_SET, SCN_RECORD_BYTES + text_bytes, &record);
        if (error != SCN_OK) {
                return error;
        }
        record->op = apply->op_index;
        record->id = node->id;
        record->uid = node->uid;
        record->as.set.key = scn_prop_view(text).key;
        record->as.set.after = scn_prop_view(text).value;
        if (before != NULL) {
                record->as.set.before = scn_prop_view(before->text).value;
                record->as.set.writer_before = scn_stamp_writer(before->stamp);
        } else if (apply->op->condition != NULL) {
                /* Left empty, and that is forgotten: it counted as written by whom the condition says. */
                record->as.set.writer_before = apply->op->condition->writers[SCN_FIELD_PROPERTY];
        }
        return SCN_OK;
}

enum scn_error scn_apply_set(struct scn_apply *apply)
{
        const struct scn_property property = {apply->op->key, apply->op->value};
        struct scn_prop_text *text = NULL;
        bool is_changed = false;
        uint32_t slot;
        enum scn_error error = scn_apply_find_node(apply, &slot);
        if (error == SCN_OK) {
                error = scn_apply_make_property(apply, &property, &text);
        }
        if (error != SCN_OK) {
                return error;
        }
        error = check_set(apply, slot, text, &is_changed);
        if (error == SCN_OK && is_changed) {
                error = record_set(apply, slot, text);
        }
        if (error != SCN_OK || !is_changed) {
                scn_free(text);
                return error;
        }
        return scn_mutate_property(&apply->mutation, slot, text);
}
