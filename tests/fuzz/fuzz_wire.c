/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Any bytes, read as each of the things that come over the wire. What is taken must read back to the same when it is
 * written again; what applies to a document must leave one that is whole; and the walker that bounds a message must
 * judge like msgpack-c's own reader.
 *
 * The first byte says what the rest is (see `targets` at the end). */

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/base/uid.h"
#include "protocol/scene/document.h"
#include "protocol/wire/columns.h"
#include "protocol/wire/frame.h"
#include "protocol/wire/message.h"
#include "protocol/wire/ops.h"

#include <msgpack.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_same(const struct scn_buffer *a, const struct scn_buffer *b)
{
        return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static struct scn_slice slice_of(const struct scn_buffer *buffer)
{
        return (struct scn_slice){buffer->data, (uint32_t)buffer->size};
}

/* --- A small document to try things on --- */

static struct scn_uid uid_from(uint8_t number)
{
        struct scn_uid uid = {{0}};
        uid.bytes[15] = number;
        return uid;
}

static void draw(void *data, uint8_t *bytes, size_t size)
{
        uint8_t *next = data;
        for (size_t i = 0; i < size; i++) {
                bytes[i] = (*next)++;
        }
}

static struct scn_document *make_document(uint8_t *random)
{
        const struct scn_document_options options = {
                .limits = SCN_LIMITS_DEFAULT,
                .uid = uid_from(200),
                .root_uid = uid_from(1),
                .random = draw,
                .random_data = random,
        };
        struct scn_op ops[4];
        struct scn_document *document;
        struct scn_changes *changes;
        struct scn_refusal refusal;
        for (uint8_t i = 0; i < 4; i++) {
                ops[i] = (struct scn_op){
                        .kind = SCN_OP_ADD,
                        .parent = {.kind = SCN_REF_ID, .id = 1u + i / 2u},
                        .uid = uid_from((uint8_t)(2 + i)),
                        .name = {(const uint8_t *)"abcd" + i, 1},
                };
        }
        const struct scn_edit edit = {.ops = ops, .ops_count = 4};
        SCN_ASSERT(scn_document_create(&options, &document) == SCN_OK);
        SCN_ASSERT(scn_document_apply(document, &edit, &changes, &refusal) == SCN_OK);
        scn_document_settle(document, changes);
        return document;
}

/* --- Frames --- */

/* All payloads behind one another, fed `step` bytes at a time. */
static enum scn_error cut(struct scn_slice stream, size_t step, struct scn_buffer *payloads)
{
        struct scn_frame_reader reader;
        enum scn_error error = SCN_OK;
        scn_frame_reader_init(&reader);
        for (size_t at = 0; at < stream.size && error == SCN_OK; at += step) {
                const size_t size = stream.size - at < step ? stream.size - at : step;
                struct scn_slice payload;
                error = scn_frame_reader_feed(&reader, stream.data + at, size);
                while (error == SCN_OK && scn_frame_reader_next(&reader, &payload, &error)) {
                        SCN_ASSERT(payload.size <= SCN_MESSAGE_BYTES_BEFORE_LOGIN_MAX);
                        SCN_ASSERT(scn_buffer_append(payloads, payload.data, payload.size) == SCN_OK);
                        SCN_ASSERT(scn_buffer_append(payloads, "|", 1) == SCN_OK);
                }
        }
        scn_frame_reader_finish(&reader);
        return error;
}

static void try_frames(struct scn_slice input)
{
        struct scn_buffer whole;
        struct scn_buffer pieces;
        const size_t step = input.size > 0 ? 1 + input.data[0] % 7u : 1;
        scn_buffer_init(&whole, SIZE_MAX);
        scn_buffer_init(&pieces, SIZE_MAX);
        const enum scn_error error = cut(input, input.size + 1, &whole);
        SCN_ASSERT(cut(input, step, &pieces) == error);
        SCN_ASSERT(is_same(&whole, &pieces));
        scn_buffer_finish(&whole);
        scn_buffer_finish(&pieces);
}

/* --- Messages --- */

static void try_message(struct scn_slice input, enum scn_message_receiver receiver)
{
        struct scn_message message;
        struct scn_message_fault fault;
        struct scn_buffer once;
        struct scn_buffer twice;
        if (scn_message_decode(input, receiver, &message, &fault) != SCN_OK) {
                return;
        }
        scn_buffer_init(&once, SCN_MESSAGE_BYTES_MAX);
        scn_buffer_init(&twice, SCN_MESSAGE_BYTES_MAX);
        /* A number may be shorter as a float than as an integer. */
        const enum scn_error error = scn_message_encode(&message, &once);
        SCN_ASSERT(error == SCN_OK || error == SCN_E_TOO_LARGE);
        if (error == SCN_OK) {
                SCN_ASSERT(scn_message_decode(slice_of(&once), receiver, &message, &fault) == SCN_OK);
                SCN_ASSERT(scn_message_encode(&message, &twice) == SCN_OK);
                SCN_ASSERT(is_same(&once, &twice));
        }
        scn_buffer_finish(&once);
        scn_buffer_finish(&twice);
}

static void try_request(struct scn_slice input)
{
        try_message(input, SCN_RECEIVER_SERVER);
}

static void try_answer(struct scn_slice input)
{
        try_message(input, SCN_RECEIVER_CLIENT);
}

/* --- Ops --- */

static void apply_ops(const struct scn_ops *ops)
{
        uint8_t random = 0;
        struct scn_document *document = make_document(&random);
        const struct scn_edit edit = {.ops = ops->ops, .ops_count = (uint32_t)ops->count, .client = uid_from(100)};
        struct scn_changes *changes;
        struct scn_refusal refusal;
        if (scn_document_apply(document, &edit, &changes, &refusal) == SCN_OK) {
                scn_document_check(document);
                scn_document_settle(document, changes);
        }
        scn_document_check(document);
        scn_document_destroy(document);
}

static void encode_ops(const struct scn_ops *ops, struct scn_buffer *buffer)
{
        scn_buffer_init(buffer, SIZE_MAX);
        struct scn_packer packer = scn_packer_to(buffer);
        scn_ops_encode(&packer, ops->ops, (uint32_t)ops->count);
        SCN_ASSERT(packer.error == SCN_OK);
}

static void try_ops(struct scn_slice input)
{
        const struct scn_limits limits = SCN_LIMITS_DEFAULT;
        struct scn_ops ops = {0};
        struct scn_ops again = {0};
        struct scn_ops_fault fault;
        struct scn_buffer once;
        struct scn_buffer twice;
        if (scn_ops_decode(input, &limits, &ops, &fault) == SCN_OK) {
                encode_ops(&ops, &once);
                SCN_ASSERT(scn_ops_decode(slice_of(&once), &limits, &again, &fault) == SCN_OK);
                encode_ops(&again, &twice);
                SCN_ASSERT(is_same(&once, &twice));
                apply_ops(&ops);
                scn_buffer_finish(&once);
                scn_buffer_finish(&twice);
        }
        scn_ops_finish(&ops);
        scn_ops_finish(&again);
}

/* --- Columns --- */

/* Nodes without a place come in no order of their own; the server lists them by id. */
static void sort_unplaced(struct scn_delta *delta)
{
        for (size_t i = 1; i < delta->nodes_count; i++) {
                const struct scn_delta_node node = delta->nodes[i];
                size_t at = i;
                for (; at > 0 && ((node.fields | delta->nodes[at - 1].fields) & SCN_FIELDS_PLACE) == 0 &&
                        delta->nodes[at - 1].id > node.id;
                        at--) {
                        delta->nodes[at] = delta->nodes[at - 1];
                }
                delta->nodes[at] = node;
        }
}

static void encode_columns(struct scn_delta *delta, struct scn_buffer *buffer)
{
        struct scn_columns_cursor cursor = {0};
        sort_unplaced(delta);
        scn_buffer_init(buffer, SIZE_MAX);
        struct scn_packer packer = scn_packer_to(buffer);
        SCN_ASSERT(!scn_columns_encode(&packer, delta, &cursor));
        SCN_ASSERT(packer.error == SCN_OK);
}

/* On a copy of a view, as a client does. */
static void apply_columns(struct scn_delta *delta)
{
        uint8_t random = 0;
        struct scn_document *document = make_document(&random);
        const struct scn_document_options options = {.limits = SCN_LIMITS_DEFAULT};
        const struct scn_delta_request request = {.root = uid_from(1), .mask = SCN_MASK_ALL, .is_fresh = true};
        struct scn_document *replica;
        struct scn_delta whole = {0};
        SCN_ASSERT(scn_document_create_replica(&options, &replica) == SCN_OK);
        SCN_ASSERT(scn_delta_compute(document, &request, &whole) == SCN_OK);
        SCN_ASSERT(scn_document_apply_delta(replica, &whole) == SCN_OK);
        delta->from = 1;
        delta->to = 2;
        delta->root = delta->is_whole ? delta->root : 1;
        if (scn_document_apply_delta(replica, delta) == SCN_OK) {
                SCN_ASSERT(scn_document_revision(replica) == 2);
        }
        scn_document_check(replica);
        scn_delta_finish(&whole);
        scn_document_destroy(replica);
        scn_document_destroy(document);
}

static void try_columns(struct scn_slice input)
{
        struct scn_delta delta = {0};
        struct scn_delta again = {0};
        struct scn_buffer once;
        struct scn_buffer twice;
        if (scn_columns_decode(input, &delta) == SCN_OK) {
                apply_columns(&delta);
                encode_columns(&delta, &once);
                SCN_ASSERT(scn_columns_decode(slice_of(&once), &again) == SCN_OK);
                encode_columns(&again, &twice);
                SCN_ASSERT(is_same(&once, &twice));
                scn_buffer_finish(&once);
                scn_buffer_finish(&twice);
        }
        scn_delta_finish(&delta);
        scn_delta_finish(&again);
}

/* --- The walker, beside msgpack-c --- */

#define MSGPACK_LEVELS_MAX 32

/* How deep an object that is whole is nested. */
static uint32_t levels_of(struct scn_slice object)
{
        struct scn_unpacker at = scn_unpacker_from(object);
        uint64_t open[SCN_PACK_LEVELS_MAX + 1] = {1};
        uint32_t level = 0;
        uint32_t deepest = 0;
        while (open[level] > 0) {
                const enum scn_pack_kind kind = scn_unpack_kind(&at);
                open[level]--;
                if (kind == SCN_PACK_ARRAY || kind == SCN_PACK_MAP) {
                        const uint64_t count = kind == SCN_PACK_ARRAY ? scn_unpack_array(&at) : scn_unpack_map(&at);
                        open[++level] = kind == SCN_PACK_ARRAY ? count : 2 * count;
                        deepest = level > deepest ? level : deepest;
                } else {
                        (void)scn_unpack_raw(&at);
                }
                while (level > 0 && open[level] == 0) {
                        level--;
                }
        }
        SCN_ASSERT(scn_unpack_is_done(&at));
        return deepest;
}

static void try_walk(struct scn_slice input)
{
        struct scn_unpacker unpacker = scn_unpacker_from(input);
        const struct scn_slice object = scn_unpack_raw(&unpacker);
        const bool is_taken = unpacker.error == SCN_OK;
        SCN_ASSERT(!is_taken || (object.data == input.data && object.size <= input.size));
        /* msgpack-c reserves what a head claims, which may be gigabytes, and knows fewer levels. */
        const bool may_claim =
                memchr(input.data, 0xdd, input.size) != NULL || memchr(input.data, 0xdf, input.size) != NULL;
        if (is_taken ? levels_of(object) >= MSGPACK_LEVELS_MAX : may_claim) {
                return;
        }
        msgpack_unpacked result;
        size_t offset = 0;
        msgpack_unpacked_init(&result);
        const msgpack_unpack_return verdict =
                msgpack_unpack_next(&result, (const char *)input.data, input.size, &offset);
        if (is_taken) {
                SCN_ASSERT(verdict == MSGPACK_UNPACK_SUCCESS || verdict == MSGPACK_UNPACK_EXTRA_BYTES);
                SCN_ASSERT(offset == object.size);
        } else {
                SCN_ASSERT(verdict != MSGPACK_UNPACK_SUCCESS && verdict != MSGPACK_UNPACK_EXTRA_BYTES);
        }
        msgpack_unpacked_destroy(&result);
}

/* --- Values and paths --- */

static void try_value(struct scn_slice input)
{
        const struct scn_limits limits = SCN_LIMITS_DEFAULT;
        struct scn_buffer once;
        struct scn_buffer twice;
        scn_buffer_init(&once, SIZE_MAX);
        scn_buffer_init(&twice, SIZE_MAX);
        if (scn_value_canonicalise(input, &limits, &once) == SCN_OK) {
                SCN_ASSERT(once.size <= input.size);
                SCN_ASSERT(scn_value_check(slice_of(&once), &limits) == SCN_OK);
                SCN_ASSERT(scn_value_canonicalise(slice_of(&once), &limits, &twice) == SCN_OK);
                SCN_ASSERT(is_same(&once, &twice));
        }
        scn_buffer_finish(&once);
        scn_buffer_finish(&twice);
}

static void try_path(struct scn_slice input)
{
        uint8_t random = 0;
        struct scn_document *document = make_document(&random);
        const struct scn_node_ref ref = {.kind = SCN_REF_PATH, .path = input};
        scn_node_id id = 0;
        if (scn_document_find(document, &ref, &id) == SCN_OK) {
                SCN_ASSERT(scn_document_has(document, id));
        }
        scn_document_destroy(document);
}

static void (*const targets[])(struct scn_slice input) = {
        try_frames, try_request, try_answer, try_ops, try_columns, try_walk, try_value, try_path};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size > 1 && size < UINT32_MAX) {
                const uint64_t live = scn_alloc_stats().live_count;
                targets[data[0] % (sizeof targets / sizeof targets[0])](
                        (struct scn_slice){data + 1, (uint32_t)(size - 1)});
                SCN_ASSERT(scn_alloc_stats().live_count == live);
        }
        return 0;
}
