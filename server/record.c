/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/record.h"

#include "protocol/base/alloc.h"
#include "protocol/base/uid.h"

#include <string.h>

/* --- Encoding --- */

static void pack_optional_uid(struct scn_packer *packer, struct scn_uid uid)
{
        if (scn_uid_is_none(uid)) {
                scn_pack_nil(packer);
        } else {
                scn_pack_uid(packer, uid);
        }
}

static void pack_optional_text(struct scn_packer *packer, struct scn_slice text)
{
        if (text.data == NULL) {
                scn_pack_nil(packer);
        } else {
                scn_pack_text(packer, text);
        }
}

static void pack_optional_value(struct scn_packer *packer, struct scn_slice value)
{
        if (value.data == NULL) {
                scn_pack_nil(packer);
        } else {
                scn_pack_raw(packer, value);
        }
}

static void pack_trs(struct scn_packer *packer, const struct scn_trs *trs)
{
        scn_pack_bin(packer, trs, sizeof *trs);
}

static void pack_writers(struct scn_packer *packer, const scn_revision *writers, uint32_t count)
{
        scn_pack_array(packer, count);
        for (uint32_t i = 0; i < count; i++) {
                scn_pack_uint(packer, writers[i]);
        }
}

static void pack_place(struct scn_packer *packer, const struct scn_place *place, bool has_next)
{
        scn_pack_uid(packer, place->parent);
        pack_optional_uid(packer, place->previous);
        if (has_next) {
                pack_optional_uid(packer, place->next);
        }
}

static void encode_add(struct scn_packer *packer, const struct scn_change *change)
{
        const struct scn_change_add *add = &change->as.add;
        scn_pack_array(packer, 6);
        scn_pack_uint(packer, change->id);
        pack_place(packer, &add->place, false);
        pack_trs(packer, &add->trs);
        pack_optional_text(packer, add->name);
        scn_pack_map(packer, add->properties_count);
        for (uint32_t i = 0; i < add->properties_count; i++) {
                scn_pack_text(packer, add->properties[i].key);
                scn_pack_raw(packer, add->properties[i].value);
        }
}

/* A node of a removed subtree; removed keys are left out. */
static void encode_removed(struct scn_packer *packer, const struct scn_document *document,
        const struct scn_node_view *node, struct scn_uid parent, uint32_t cursor)
{
        scn_revision writers[SCN_FIELD_COUNT];
        scn_pack_array(packer, 8);
        scn_pack_uid(packer, node->uid);
        pack_optional_uid(packer, parent);
        scn_pack_uint(packer, node->id);
        pack_trs(packer, &node->trs);
        pack_optional_text(packer, node->name);
        scn_pack_map(packer, node->properties_count);
        for (uint32_t i = 0; i < node->property_fields_count; i++) {
                const struct scn_property property = scn_document_removed_property(document, cursor, i, NULL);
                if (property.value.data != NULL) {
                        scn_pack_text(packer, property.key);
                        scn_pack_raw(packer, property.value);
                }
        }
        for (uint32_t field = 0; field < SCN_FIELD_COUNT; field++) {
                writers[field] = scn_document_removed_stamp(document, cursor, (enum scn_field)field).writer;
        }
        pack_writers(packer, writers, SCN_FIELD_COUNT);
        scn_pack_array(packer, node->properties_count);
        for (uint32_t i = 0; i < node->property_fields_count; i++) {
                struct scn_stamp_view stamp;
                if (scn_document_removed_property(document, cursor, i, &stamp).value.data != NULL) {
                        scn_pack_uint(packer, stamp.writer);
                }
        }
}

static void encode_remove(
        struct scn_packer *packer, const struct scn_document *document, const struct scn_change_remove *removal)
{
        uint32_t cursor = 0;
        scn_pack_array(packer, 4);
        pack_place(packer, &removal->place, true);
        scn_pack_array(packer, removal->nodes_count);
        for (uint32_t i = 0; i < removal->nodes_count; i++) {
                const struct scn_node_view node = scn_document_removed_node(document, removal, &cursor);
                encode_removed(packer, document, &node,
                        i == 0 ? removal->place.parent : scn_document_removed_parent(document, cursor), cursor);
        }
}

static void encode_before(
        struct scn_packer *packer, const struct scn_document *document, const struct scn_change *change)
{
        switch (change->kind) {
        case SCN_OP_ADD:
        case SCN_OP_COUNT:
                break;
        case SCN_OP_REMOVE:
                encode_remove(packer, document, &change->as.remove);
                break;
        case SCN_OP_MOVE: {
                const struct scn_change_move *move = &change->as.move;
                const scn_revision writers[4] = {move->place_writer_before, move->trs_writer_before[0],
                        move->trs_writer_before[1], move->trs_writer_before[2]};
                scn_pack_array(packer, 6);
                pack_place(packer, &move->before, true);
                scn_pack_uint(packer, change->fields);
                pack_trs(packer, &move->trs_before);
                pack_writers(packer, writers, 4);
                break;
        }
        case SCN_OP_TRANSFORM:
                scn_pack_array(packer, 3);
                scn_pack_uint(packer, change->fields);
                pack_trs(packer, &change->as.transform.before);
                pack_writers(packer, change->as.transform.writer_before, 3);
                break;
        case SCN_OP_RENAME:
                scn_pack_array(packer, 2);
                pack_optional_text(packer, change->as.rename.before);
                scn_pack_uint(packer, change->as.rename.writer_before);
                break;
        case SCN_OP_SET:
                scn_pack_array(packer, 3);
                scn_pack_text(packer, change->as.set.key);
                pack_optional_value(packer, change->as.set.before);
                scn_pack_uint(packer, change->as.set.writer_before);
                break;
        }
}

static void encode_after(struct scn_packer *packer, const struct scn_change *change)
{
        switch (change->kind) {
        case SCN_OP_REMOVE:
        case SCN_OP_COUNT:
                break;
        case SCN_OP_ADD:
                encode_add(packer, change);
                break;
        case SCN_OP_MOVE:
                scn_pack_array(packer, 4);
                pack_place(packer, &change->as.move.after, false);
                scn_pack_uint(packer, change->fields);
                pack_trs(packer, &change->as.move.trs_after);
                break;
        case SCN_OP_TRANSFORM:
                scn_pack_array(packer, 2);
                scn_pack_uint(packer, change->fields);
                pack_trs(packer, &change->as.transform.after);
                break;
        case SCN_OP_RENAME:
                scn_pack_array(packer, 1);
                pack_optional_text(packer, change->as.rename.after);
                break;
        case SCN_OP_SET:
                scn_pack_array(packer, 2);
                scn_pack_text(packer, change->as.set.key);
                pack_optional_value(packer, change->as.set.after);
                break;
        }
}

enum scn_error scn_record_encode(const struct scn_document *document, const struct scn_change *change,
        struct scn_buffer *buffer, size_t *before_size_out)
{
        const size_t start = buffer->size;
        struct scn_packer packer = scn_packer_to(buffer);
        encode_before(&packer, document, change);
        *before_size_out = buffer->size - start;
        encode_after(&packer, change);
        return packer.error;
}

/* --- Doing it again --- */

static struct scn_node_ref uid_ref(struct scn_uid uid)
{
        return (struct scn_node_ref){.kind = SCN_REF_UID, .uid = uid};
}

static struct scn_op *append_op(struct scn_unpacker *unpacker, struct scn_ops *ops, enum scn_op_kind kind)
{
        if (!scn_grow((void **)&ops->ops, &ops->capacity, sizeof *ops->ops, ops->count + 1, SIZE_MAX)) {
                unpacker->error = SCN_E_NO_MEMORY;
                return NULL;
        }
        struct scn_op *op = &ops->ops[ops->count++];
        *op = (struct scn_op){.kind = kind};
        return op;
}

static void read_place(struct scn_unpacker *unpacker, struct scn_op *op)
{
        op->parent = uid_ref(scn_unpack_uid(unpacker));
        op->place = SCN_PLACE_AFTER;
        if (!scn_unpack_is_nil(unpacker)) {
                op->after = uid_ref(scn_unpack_uid(unpacker));
        }
}

static void read_trs(struct scn_unpacker *unpacker, struct scn_trs *trs)
{
        const struct scn_slice bytes = scn_unpack_bin(unpacker, sizeof *trs);
        if (bytes.size == sizeof *trs) {
                memcpy(trs, bytes.data, sizeof *trs);
        } else if (unpacker->error == SCN_OK) {
                unpacker->error = SCN_E_BAD_MESSAGE;
        }
}

static struct scn_slice read_optional_text(struct scn_unpacker *unpacker)
{
        return scn_unpack_is_nil(unpacker) ? (struct scn_slice){NULL, 0} : scn_unpack_text(unpacker, UINT32_MAX);
}

static void redo_add(struct scn_unpacker *unpacker, struct scn_uid node, struct scn_ops *ops)
{
        struct scn_op *op = append_op(unpacker, ops, SCN_OP_ADD);
        if (op == NULL) {
                return;
        }
        op->uid = node;
        op->id = (scn_node_id)scn_unpack_uint(unpacker, UINT32_MAX);
        read_place(unpacker, op);
        op->fields = SCN_FIELDS_TRS;
        read_trs(unpacker, &op->trs);
        op->name = read_optional_text(unpacker);
        const uint32_t count = scn_unpack_map(unpacker);
        for (uint32_t i = 0; i < count && unpacker->error == SCN_OK; i++) {
                if (!scn_grow((void **)&ops->properties, &ops->properties_capacity, sizeof *ops->properties,
                            ops->properties_count + 1, SIZE_MAX)) {
                        unpacker->error = SCN_E_NO_MEMORY;
                        return;
                }
                struct scn_property *property = &ops->properties[ops->properties_count++];
                property->key = scn_unpack_text(unpacker, UINT32_MAX);
                property->value = scn_unpack_raw(unpacker);
                op->properties_count++;
        }
}

static void redo_move(struct scn_unpacker *unpacker, struct scn_uid node, struct scn_ops *ops)
{
        struct scn_op *op = append_op(unpacker, ops, SCN_OP_MOVE);
        struct scn_trs trs;
        if (op == NULL) {
                return;
        }
        op->node = uid_ref(node);
        read_place(unpacker, op);
        const uint32_t fields = (uint32_t)scn_unpack_uint(unpacker, UINT32_MAX) & SCN_FIELDS_TRS;
        read_trs(unpacker, &trs);
        if (fields != 0 && unpacker->error == SCN_OK) {
                struct scn_op *transform = append_op(unpacker, ops, SCN_OP_TRANSFORM);
                if (transform != NULL) {
                        transform->node = uid_ref(node);
                        transform->fields = fields;
                        transform->trs = trs;
                }
        }
}

static void redo_one(struct scn_unpacker *unpacker, uint32_t kind, struct scn_uid node, struct scn_ops *ops)
{
        struct scn_op *op = append_op(unpacker, ops, (enum scn_op_kind)kind);
        if (op == NULL) {
                return;
        }
        op->node = uid_ref(node);
        if (kind == SCN_OP_TRANSFORM) {
                op->fields = (uint32_t)scn_unpack_uint(unpacker, UINT32_MAX) & SCN_FIELDS_TRS;
                read_trs(unpacker, &op->trs);
        } else if (kind == SCN_OP_RENAME) {
                op->name = read_optional_text(unpacker);
        } else if (kind == SCN_OP_SET) {
                op->key = scn_unpack_text(unpacker, UINT32_MAX);
                op->value = scn_unpack_is_nil(unpacker) ? (struct scn_slice){NULL, 0} : scn_unpack_raw(unpacker);
        }
}

static uint32_t fields_of(uint32_t kind)
{
        static const uint32_t counts[SCN_OP_COUNT] = {
                [SCN_OP_ADD] = 6, [SCN_OP_MOVE] = 4, [SCN_OP_TRANSFORM] = 2, [SCN_OP_RENAME] = 1, [SCN_OP_SET] = 2};
        return counts[kind];
}

enum scn_error scn_record_redo(uint32_t kind, struct scn_uid node, struct scn_slice after, struct scn_ops *ops)
{
        struct scn_unpacker unpacker = scn_unpacker_from(after);
        if (kind >= SCN_OP_COUNT) {
                return SCN_E_CORRUPT;
        }
        if (kind != SCN_OP_REMOVE && scn_unpack_array(&unpacker) != fields_of(kind)) {
                return SCN_E_CORRUPT;
        }
        if (kind == SCN_OP_ADD) {
                redo_add(&unpacker, node, ops);
        } else if (kind == SCN_OP_MOVE) {
                redo_move(&unpacker, node, ops);
        } else {
                redo_one(&unpacker, kind, node, ops);
        }
        if (unpacker.error == SCN_E_NO_MEMORY) {
                return SCN_E_NO_MEMORY;
        }
        return scn_unpack_is_done(&unpacker) ? SCN_OK : SCN_E_CORRUPT;
}
