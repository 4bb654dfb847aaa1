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
                scn_pack_array(packer, 4);
                scn_pack_uint(packer, change->fields);
                pack_trs(packer, &change->as.transform.before);
                pack_writers(packer, change->as.transform.writer_before, 3);
                pack_optional_uid(packer, change->as.transform.parent);
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

uint32_t scn_record_after_count(uint32_t kind)
{
        static const uint32_t counts[SCN_OP_COUNT] = {
                [SCN_OP_ADD] = 6, [SCN_OP_MOVE] = 4, [SCN_OP_TRANSFORM] = 2, [SCN_OP_RENAME] = 1, [SCN_OP_SET] = 2};
        return counts[kind];
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
                pack_place(packer, &change->as.move.after, false);
                scn_pack_uint(packer, change->fields);
                pack_trs(packer, &change->as.move.trs_after);
                break;
        case SCN_OP_TRANSFORM:
                scn_pack_uint(packer, change->fields);
                pack_trs(packer, &change->as.transform.after);
                break;
        case SCN_OP_RENAME:
                pack_optional_text(packer, change->as.rename.after);
                break;
        case SCN_OP_SET:
                scn_pack_text(packer, change->as.set.key);
                pack_optional_value(packer, change->as.set.after);
                break;
        }
}

/* Those of a new node: its fixed fields' and its properties'. */
static uint32_t writers_count(const struct scn_change *change)
{
        return SCN_FIELD_COUNT + (change->kind == SCN_OP_ADD ? change->as.add.properties_count : 1u);
}

static void encode_own(struct scn_packer *packer, const struct scn_change *change, const struct scn_record_own *own)
{
        scn_pack_array(packer, 2);
        scn_pack_uint(packer, own->step);
        if (change->kind == SCN_OP_REMOVE) {
                scn_pack_array(packer, 0);
        } else {
                pack_writers(packer, own->writers, writers_count(change));
        }
}

enum scn_error scn_record_encode(const struct scn_document *document, const struct scn_change *change,
        const struct scn_record_own *own, struct scn_buffer *buffer, size_t *before_size_out)
{
        const size_t start = buffer->size;
        const uint32_t count = scn_record_after_count(change->kind) + (own != NULL);
        struct scn_packer packer = scn_packer_to(buffer);
        encode_before(&packer, document, change);
        *before_size_out = buffer->size - start;
        if (count > 0) {
                scn_pack_array(&packer, count);
        }
        encode_after(&packer, change);
        if (own != NULL) {
                encode_own(&packer, change, own);
        }
        return packer.error;
}
