/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* They come from a file, so nothing in them is believed. */

#include "server/record_fold.h"

#include "protocol/base/uid.h"
#include "protocol/scene/change.h"
#include "server/record.h"

#include <string.h>

#define FIELDS_COUNT 3u
/* The first of the three transform fields. */
#define FIELD_FIRST SCN_FIELD_TRANSLATION

static enum scn_error end_of(const struct scn_unpacker *unpacker)
{
        if (unpacker->error == SCN_E_NO_MEMORY) {
                return SCN_E_NO_MEMORY;
        }
        return scn_unpack_is_done(unpacker) ? SCN_OK : SCN_E_CORRUPT;
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

static void expect(struct scn_unpacker *unpacker, uint32_t told, uint32_t wanted)
{
        if (told != wanted && unpacker->error == SCN_OK) {
                unpacker->error = SCN_E_BAD_MESSAGE;
        }
}

static enum scn_error read_before(struct scn_slice bytes, struct scn_record_field *field)
{
        static const uint32_t counts[SCN_OP_COUNT] = {[SCN_OP_TRANSFORM] = 4, [SCN_OP_RENAME] = 2, [SCN_OP_SET] = 3};
        struct scn_unpacker unpacker = scn_unpacker_from(bytes);
        expect(&unpacker, scn_unpack_array(&unpacker), counts[field->kind]);
        if (field->kind == SCN_OP_TRANSFORM) {
                field->fields = (uint32_t)scn_unpack_uint(&unpacker, UINT32_MAX) & SCN_FIELDS_TRS;
                read_trs(&unpacker, &field->before_trs);
                expect(&unpacker, scn_unpack_array(&unpacker), FIELDS_COUNT);
                for (uint32_t i = 0; i < FIELDS_COUNT; i++) {
                        field->writers[i] = scn_unpack_uint(&unpacker, SCN_REVISION_MAX);
                }
                if (!scn_unpack_is_nil(&unpacker)) {
                        field->parent = scn_unpack_uid(&unpacker);
                }
                return end_of(&unpacker);
        }
        if (field->kind == SCN_OP_SET) {
                field->key = scn_unpack_raw(&unpacker);
        }
        field->before = scn_unpack_raw(&unpacker);
        field->writer = scn_unpack_uint(&unpacker, SCN_REVISION_MAX);
        return end_of(&unpacker);
}

/* *is_own_out: there is more at the end, about taking back. */
static enum scn_error read_after(struct scn_slice bytes, struct scn_record_field *field, bool *is_own_out)
{
        struct scn_unpacker unpacker = scn_unpacker_from(bytes);
        const uint32_t count = scn_unpack_array(&unpacker);
        *is_own_out = count == scn_record_after_count(field->kind) + 1;
        if (*is_own_out) {
                return unpacker.error == SCN_OK ? SCN_OK : end_of(&unpacker);
        }
        expect(&unpacker, count, scn_record_after_count(field->kind));
        if (field->kind == SCN_OP_TRANSFORM) {
                const uint32_t fields = (uint32_t)scn_unpack_uint(&unpacker, UINT32_MAX) & SCN_FIELDS_TRS;
                expect(&unpacker, fields, field->fields);
                read_trs(&unpacker, &field->after_trs);
                return end_of(&unpacker);
        }
        if (field->kind == SCN_OP_SET) {
                const struct scn_slice key = scn_unpack_raw(&unpacker);
                expect(&unpacker, key.size == field->key.size && memcmp(key.data, field->key.data, key.size) == 0, 1);
        }
        field->after = scn_unpack_raw(&unpacker);
        return end_of(&unpacker);
}

enum scn_error scn_record_read_field(
        const struct scn_journal_record *record, struct scn_record_field *field_out, bool *is_field_out)
{
        bool is_own;
        *is_field_out = record->kind == SCN_OP_TRANSFORM || record->kind == SCN_OP_RENAME || record->kind == SCN_OP_SET;
        if (!*is_field_out) {
                return record->kind < SCN_OP_COUNT ? SCN_OK : SCN_E_CORRUPT;
        }
        *field_out = (struct scn_record_field){.kind = record->kind, .node = record->node};
        enum scn_error error = read_before(record->before, field_out);
        error = error == SCN_OK ? read_after(record->after, field_out, &is_own) : error;
        *is_field_out = error == SCN_OK && !is_own;
        return error;
}

/* A field's floats in a transform. */
static void part_of(uint32_t field, size_t *offset_out, size_t *size_out)
{
        static const size_t offsets[FIELDS_COUNT] = {
                offsetof(struct scn_trs, t), offsetof(struct scn_trs, r), offsetof(struct scn_trs, s)};
        static const size_t sizes[FIELDS_COUNT] = {3 * sizeof(float), 4 * sizeof(float), 3 * sizeof(float)};
        *offset_out = offsets[field];
        *size_out = sizes[field];
}

static bool is_same_part(const struct scn_trs *a, const struct scn_trs *b, uint32_t field)
{
        size_t offset;
        size_t size;
        part_of(field, &offset, &size);
        return memcmp((const uint8_t *)a + offset, (const uint8_t *)b + offset, size) == 0;
}

static void copy_part(struct scn_trs *to, const struct scn_trs *from, uint32_t field)
{
        size_t offset;
        size_t size;
        part_of(field, &offset, &size);
        memcpy((uint8_t *)to + offset, (const uint8_t *)from + offset, size);
}

static bool has_part(const struct scn_record_field *field, uint32_t part)
{
        return (field->fields >> (FIELD_FIRST + part) & 1) != 0;
}

static bool join_transform(struct scn_record_field *field, const struct scn_record_field *next, scn_revision step)
{
        if (!scn_uid_equal(field->parent, next->parent)) {
                return false;
        }
        for (uint32_t i = 0; i < FIELDS_COUNT; i++) {
                if (has_part(next, i) && has_part(field, i) &&
                        (next->writers[i] != step || !is_same_part(&field->after_trs, &next->before_trs, i))) {
                        return false;
                }
        }
        for (uint32_t i = 0; i < FIELDS_COUNT; i++) {
                if (has_part(next, i) && !has_part(field, i)) {
                        copy_part(&field->before_trs, &next->before_trs, i);
                        field->writers[i] = next->writers[i];
                }
                if (has_part(next, i)) {
                        copy_part(&field->after_trs, &next->after_trs, i);
                }
        }
        field->fields |= next->fields;
        return true;
}

static bool is_same(struct scn_slice a, struct scn_slice b)
{
        return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

bool scn_record_join(struct scn_record_field *field, const struct scn_record_field *next, scn_revision step)
{
        if (field->kind == SCN_OP_TRANSFORM) {
                return join_transform(field, next, step);
        }
        if (next->writer != step || !is_same(field->after, next->before)) {
                return false;
        }
        /* A property that was taken away meanwhile: a removal of the node does not remember by whom, so that an undo
         * of the whole may find less in its way than one of the parts. */
        if (field->kind == SCN_OP_SET && field->after.size == 1 && field->after.data[0] == 0xc0) {
                return false;
        }
        field->after = next->after;
        return true;
}

bool scn_record_is_idle(const struct scn_record_field *field)
{
        bool is_idle = field->kind != SCN_OP_TRANSFORM && is_same(field->before, field->after);
        for (uint32_t i = 0; field->kind == SCN_OP_TRANSFORM && i < FIELDS_COUNT; i++) {
                is_idle = is_idle || (has_part(field, i) && is_same_part(&field->before_trs, &field->after_trs, i));
        }
        return is_idle;
}

static void write_transform(struct scn_packer *packer, const struct scn_record_field *field)
{
        scn_pack_array(packer, 4);
        scn_pack_uint(packer, field->fields);
        scn_pack_bin(packer, &field->before_trs, sizeof field->before_trs);
        scn_pack_array(packer, FIELDS_COUNT);
        for (uint32_t i = 0; i < FIELDS_COUNT; i++) {
                scn_pack_uint(packer, field->writers[i]);
        }
        if (scn_uid_is_none(field->parent)) {
                scn_pack_nil(packer);
        } else {
                scn_pack_uid(packer, field->parent);
        }
}

enum scn_error scn_record_write_field(
        const struct scn_record_field *field, struct scn_buffer *buffer, size_t *before_size_out)
{
        const size_t start = buffer->size;
        struct scn_packer packer = scn_packer_to(buffer);
        if (field->kind == SCN_OP_TRANSFORM) {
                write_transform(&packer, field);
        } else {
                scn_pack_array(&packer, field->kind == SCN_OP_SET ? 3 : 2);
                if (field->kind == SCN_OP_SET) {
                        scn_pack_raw(&packer, field->key);
                }
                scn_pack_raw(&packer, field->before);
                scn_pack_uint(&packer, field->writer);
        }
        *before_size_out = buffer->size - start;
        scn_pack_array(&packer, scn_record_after_count(field->kind));
        if (field->kind == SCN_OP_TRANSFORM) {
                scn_pack_uint(&packer, field->fields);
                scn_pack_bin(&packer, &field->after_trs, sizeof field->after_trs);
        } else {
                if (field->kind == SCN_OP_SET) {
                        scn_pack_raw(&packer, field->key);
                }
                scn_pack_raw(&packer, field->after);
        }
        return packer.error;
}

enum scn_error scn_record_removed(
        const struct scn_journal_record *record, void (*found)(void *data, struct scn_uid node), void *data)
{
        struct scn_unpacker unpacker = scn_unpacker_from(record->before);
        expect(&unpacker, scn_unpack_array(&unpacker), 4);
        for (int i = 0; i < 3; i++) {
                (void)scn_unpack_raw(&unpacker);
        }
        const uint32_t count = scn_unpack_array(&unpacker);
        for (uint32_t i = 0; i < count && unpacker.error == SCN_OK; i++) {
                expect(&unpacker, scn_unpack_array(&unpacker), 8);
                const struct scn_uid node = scn_unpack_uid(&unpacker);
                for (int k = 1; k < 8; k++) {
                        (void)scn_unpack_raw(&unpacker);
                }
                if (unpacker.error == SCN_OK) {
                        found(data, node);
                }
        }
        return end_of(&unpacker);
}
