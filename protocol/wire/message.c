/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "protocol/wire/message.h"

#include "protocol/base/assert.h"
#include "protocol/base/uid.h"

#include <string.h>

/* --- The table, as data --- */

enum field_kind {
        KIND_UINT,
        KIND_BOOL,
        KIND_UID,
        KIND_TEXT,
        KIND_BIN,
        KIND_REF,
        KIND_AT,
        KIND_RAW,
};

enum {
        PRESENCE_M = 1,
        PRESENCE_O = 0
};

struct field {
        enum field_kind kind;
        bool is_mandatory;
        uint32_t offset; /* in struct scn_message */
        const char *name;
};

struct row {
        uint32_t number;
        enum scn_message_receiver receiver;
        uint32_t bytes_max;
        uint32_t fields_count;
        const struct field *fields;
        const char *name;
};

#define FIELD_ROW(message, kind, name, presence, what)                                                                 \
        {KIND_##kind, PRESENCE_##presence, offsetof(struct scn_message, as.message.name), #name},
#define FIELDS_OF(number, message, receiver, since, bytes_max, what)                                                   \
        static const struct field fields_of_##message[] = {SCN_FIELDS_OF_##message(FIELD_ROW, message)};
SCN_MESSAGE_LIST(FIELDS_OF)
#undef FIELDS_OF
#undef FIELD_ROW

static const struct row rows[] = {
#define ROW(number, name, receiver, since, bytes_max, what)                                                            \
        {number, SCN_RECEIVER_##receiver, bytes_max, sizeof fields_of_##name / sizeof(struct field), fields_of_##name, \
                #name},
        SCN_MESSAGE_LIST(ROW)
#undef ROW
};

enum {
#define PLACE(number, name, receiver, since, bytes_max, what) PLACE_##name,
        SCN_MESSAGE_LIST(PLACE)
#undef PLACE
};

/* From a number to one more than the row's place. */
static const uint8_t places[] = {
#define PLACE(number, name, receiver, since, bytes_max, what) [number] = PLACE_##name + 1,
        SCN_MESSAGE_LIST(PLACE)
#undef PLACE
};

static const struct row *find_row(uint64_t number)
{
        const uint8_t place = number < sizeof places ? places[number] : 0;
        return place == 0 ? NULL : &rows[place - 1];
}

const char *scn_message_name(uint64_t number)
{
        const struct row *row = find_row(number);
        return row == NULL ? "?" : row->name;
}

static void *member(struct scn_message *message, const struct field *field)
{
        return (uint8_t *)message + field->offset;
}

void scn_message_init(struct scn_message *message, enum scn_message_kind kind)
{
        const struct row *row = find_row(kind);
        SCN_ASSERT(row != NULL);
        memset(message, 0, sizeof *message);
        message->kind = kind;
        for (uint32_t i = 0; i < row->fields_count; i++) {
                if (row->fields[i].kind == KIND_UINT) {
                        *(uint64_t *)member(message, &row->fields[i]) = SCN_ABSENT;
                }
        }
}

static bool is_absent(const struct scn_message *message, const struct field *field)
{
        const void *at = (const uint8_t *)message + field->offset;
        switch (field->kind) {
        case KIND_UINT:
                return *(const uint64_t *)at == SCN_ABSENT;
        case KIND_BOOL:
                return !*(const bool *)at;
        case KIND_UID:
                return scn_uid_is_none(*(const struct scn_uid *)at);
        case KIND_REF:
                return ((const struct scn_node_ref *)at)->kind == SCN_REF_NONE;
        case KIND_TEXT:
        case KIND_BIN:
        case KIND_AT:
        case KIND_RAW:
                return ((const struct scn_slice *)at)->data == NULL;
        }
        return true;
}

uint64_t scn_message_number(struct scn_slice payload)
{
        struct scn_unpacker unpacker = scn_unpacker_from(payload);
        const uint32_t count = scn_unpack_array(&unpacker);
        const uint64_t number = scn_unpack_uint(&unpacker, UINT32_MAX);
        return count > 0 && unpacker.error == SCN_OK ? number : SCN_ABSENT;
}

/* --- References --- */

void scn_pack_ref(struct scn_packer *packer, const struct scn_node_ref *ref)
{
        switch (ref->kind) {
        case SCN_REF_NONE:
                scn_pack_nil(packer);
                break;
        case SCN_REF_ID:
                scn_pack_uint(packer, ref->id);
                break;
        case SCN_REF_UID:
                scn_pack_uid(packer, ref->uid);
                break;
        case SCN_REF_PATH:
                scn_pack_text(packer, ref->path);
                break;
        }
}

struct scn_node_ref scn_unpack_ref(struct scn_unpacker *unpacker)
{
        struct scn_node_ref ref = {.kind = SCN_REF_NONE};
        switch (scn_unpack_kind(unpacker)) {
        case SCN_PACK_NIL:
                (void)scn_unpack_is_nil(unpacker);
                return ref;
        case SCN_PACK_NUMBER:
                ref.kind = SCN_REF_ID;
                ref.id = (scn_node_id)scn_unpack_uint(unpacker, UINT32_MAX);
                return ref;
        case SCN_PACK_BIN:
                ref.kind = SCN_REF_UID;
                ref.uid = scn_unpack_uid(unpacker);
                return ref;
        case SCN_PACK_TEXT:
                ref.kind = SCN_REF_PATH;
                ref.path = scn_unpack_text(unpacker, UINT32_MAX);
                return ref;
        case SCN_PACK_NONE:
        case SCN_PACK_BOOL:
        case SCN_PACK_ARRAY:
        case SCN_PACK_MAP:
        case SCN_PACK_EXT:
                break;
        }
        unpacker->error = unpacker->error == SCN_OK ? SCN_E_BAD_MESSAGE : unpacker->error;
        return ref;
}

/* --- Encoding --- */

static void encode_field(struct scn_packer *packer, const struct scn_message *message, const struct field *field)
{
        const void *at = (const uint8_t *)message + field->offset;
        if (is_absent(message, field) && !field->is_mandatory) {
                scn_pack_nil(packer);
                return;
        }
        switch (field->kind) {
        case KIND_UINT:
                scn_pack_uint(packer, *(const uint64_t *)at);
                break;
        case KIND_BOOL:
                scn_pack_bool(packer, *(const bool *)at);
                break;
        case KIND_UID:
                scn_pack_uid(packer, *(const struct scn_uid *)at);
                break;
        case KIND_TEXT:
                scn_pack_text(packer, *(const struct scn_slice *)at);
                break;
        case KIND_BIN:
                scn_pack_bin(packer, ((const struct scn_slice *)at)->data, ((const struct scn_slice *)at)->size);
                break;
        case KIND_REF:
                scn_pack_ref(packer, at);
                break;
        case KIND_AT:
        case KIND_RAW:
                scn_pack_raw(packer, *(const struct scn_slice *)at);
                break;
        }
}

enum scn_error scn_message_encode(const struct scn_message *message, struct scn_buffer *buffer)
{
        const struct row *row = find_row(message->kind);
        const size_t start = buffer->size;
        SCN_ASSERT(row != NULL);
        uint32_t count = row->fields_count;
        while (count > 0 && is_absent(message, &row->fields[count - 1]) && !row->fields[count - 1].is_mandatory) {
                count--;
        }
        struct scn_packer packer = scn_packer_to(buffer);
        scn_pack_array(&packer, 1 + count);
        scn_pack_uint(&packer, row->number);
        for (uint32_t i = 0; i < count; i++) {
                const struct field *field = &row->fields[i];
                SCN_ASSERT(!field->is_mandatory || field->kind == KIND_BOOL || !is_absent(message, field));
                encode_field(&packer, message, field);
        }
        if (packer.error == SCN_OK && row->bytes_max != 0 && buffer->size - start > row->bytes_max) {
                packer.error = SCN_E_TOO_LARGE;
        }
        if (packer.error != SCN_OK) {
                buffer->size = start;
        }
        return packer.error;
}

/* --- Decoding --- */

/* Kept as it is spelled: whether there is such a revision, time or tag, the history says. */
static struct scn_slice decode_at(struct scn_unpacker *unpacker)
{
        const struct scn_slice spelled = scn_unpack_raw(unpacker);
        struct scn_unpacker at = scn_unpacker_from(spelled);
        if (scn_unpack_kind(&at) == SCN_PACK_TEXT) {
                (void)scn_unpack_text(&at, UINT32_MAX);
        } else {
                (void)scn_unpack_uint(&at, SCN_REVISION_MAX);
        }
        unpacker->error = unpacker->error == SCN_OK ? at.error : unpacker->error;
        return spelled;
}

static void decode_field(struct scn_unpacker *unpacker, struct scn_message *message, const struct field *field)
{
        void *at = member(message, field);
        switch (field->kind) {
        case KIND_UINT:
                *(uint64_t *)at = scn_unpack_uint(unpacker, SCN_REVISION_MAX);
                break;
        case KIND_BOOL:
                *(bool *)at = scn_unpack_bool(unpacker);
                break;
        case KIND_UID:
                *(struct scn_uid *)at = scn_unpack_uid(unpacker);
                break;
        case KIND_TEXT:
                *(struct scn_slice *)at = scn_unpack_text(unpacker, UINT32_MAX);
                break;
        case KIND_BIN:
                *(struct scn_slice *)at = scn_unpack_bin(unpacker, UINT32_MAX);
                break;
        case KIND_REF:
                *(struct scn_node_ref *)at = scn_unpack_ref(unpacker);
                break;
        case KIND_AT:
                *(struct scn_slice *)at = decode_at(unpacker);
                break;
        case KIND_RAW:
                *(struct scn_slice *)at = scn_unpack_raw(unpacker);
                break;
        }
}

/* By convention the first field says which request or number the answer is to. */
static bool is_request(const struct row *row)
{
        const struct field *first = &row->fields[0];
        return first->kind == KIND_UINT && (strcmp(first->name, "request") == 0 || strcmp(first->name, "number") == 0);
}

static void note_request(const struct scn_message *message, const struct row *row, struct scn_message_fault *fault)
{
        if (is_request(row)) {
                fault->request = *(const uint64_t *)((const uint8_t *)message + row->fields[0].offset);
        }
}

static const char ends_early[] = "it ends too early";

/* What a field takes, for whoever has sent something of another kind. */
static const char *const wants[] = {
        [KIND_UINT] = "wants an integer from 0 to 2^53 - 1",
        [KIND_BOOL] = "wants true or false",
        [KIND_UID] = "wants a uid, a bin of 16 bytes",
        [KIND_TEXT] = "wants text, a str",
        [KIND_BIN] = "wants a bin",
        [KIND_REF] = "wants a node: an id, a uid or a path",
        [KIND_AT] = "wants a revision, or a time or tag as text",
        [KIND_RAW] = "wants one object",
};

static enum scn_error decode_fields(struct scn_unpacker *unpacker, uint32_t count, const struct row *row,
        struct scn_message *message, struct scn_message_fault *fault)
{
        for (uint32_t i = 0; i < row->fields_count; i++) {
                const struct field *field = &row->fields[i];
                fault->field = field->name;
                const bool is_there = i < count && !scn_unpack_is_nil(unpacker);
                if (!is_there && field->is_mandatory) {
                        return unpacker->error != SCN_OK ? unpacker->error : SCN_E_MISSING_FIELD;
                }
                if (is_there) {
                        decode_field(unpacker, message, field);
                }
                if (unpacker->error != SCN_OK) {
                        fault->reason = unpacker->is_short             ? ends_early
                                : unpacker->error == SCN_E_BAD_MESSAGE ? wants[field->kind]
                                                                       : NULL;
                        return unpacker->error;
                }
                /* A uid of zeros is none. */
                if (field->is_mandatory && field->kind == KIND_UID && is_absent(message, field)) {
                        return SCN_E_MISSING_FIELD;
                }
                if (i == 0) {
                        note_request(message, row, fault);
                }
        }
        fault->field = NULL;
        for (uint32_t i = row->fields_count; i < count; i++) {
                (void)scn_unpack_raw(unpacker);
        }
        fault->reason = unpacker->is_short                                   ? ends_early
                : unpacker->error == SCN_OK && !scn_unpack_is_done(unpacker) ? "bytes follow behind its end"
                                                                             : NULL;
        return scn_unpack_is_done(unpacker) ? SCN_OK : SCN_E_BAD_MESSAGE;
}

/* Why not even the number of a message could be read. */
static const char *reason_of(struct scn_slice payload, const struct scn_unpacker *unpacker)
{
        struct scn_unpacker first = scn_unpacker_from(payload);
        const bool is_array = scn_unpack_kind(&first) == SCN_PACK_ARRAY;
        if (is_array && scn_unpack_array(&first) == 0 && first.error == SCN_OK) {
                return "an empty array";
        }
        return unpacker->is_short ? ends_early : is_array ? "its number is none" : "not an array";
}

enum scn_error scn_message_decode(struct scn_slice payload, enum scn_message_receiver receiver,
        struct scn_message *message_out, struct scn_message_fault *fault_out)
{
        struct scn_unpacker unpacker = scn_unpacker_from(payload);
        *fault_out = (struct scn_message_fault){SCN_ABSENT, SCN_ABSENT, NULL, 0, NULL};
        const uint32_t count = scn_unpack_array(&unpacker);
        const uint64_t number = scn_unpack_uint(&unpacker, UINT32_MAX);
        if (unpacker.error != SCN_OK || count == 0) {
                fault_out->reason = reason_of(payload, &unpacker);
                return SCN_E_BAD_MESSAGE;
        }
        fault_out->number = number;
        const struct row *row = find_row(number);
        if (row == NULL || row->receiver != receiver) {
                return SCN_E_UNKNOWN_MESSAGE;
        }
        if (row->bytes_max != 0 && payload.size > row->bytes_max) {
                struct scn_unpacker first = unpacker;
                const uint64_t request = scn_unpack_uint(&first, SCN_REVISION_MAX);
                fault_out->bytes_max = row->bytes_max;
                fault_out->request = is_request(row) && first.error == SCN_OK ? request : SCN_ABSENT;
                return SCN_E_TOO_LARGE;
        }
        scn_message_init(message_out, (enum scn_message_kind)number);
        return decode_fields(&unpacker, count - 1, row, message_out, fault_out);
}
