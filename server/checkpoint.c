/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/checkpoint.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/base/bytes.h"
#include "protocol/base/uid.h"
#include "storage/storage.h"

#include <string.h>

#define VARINT_BYTES_MAX 10

/* What a node's flags say is there. */
#define NODE_HAS_NAME 1u
#define NODE_HAS_T 2u
#define NODE_HAS_R 4u
#define NODE_HAS_S 8u
#define NODE_FLAGS 15u
/* A past entry's kind stands in its two lowest flags. */
#define PAST_KIND 3u
#define PAST_HAS_UID 4u
#define PAST_HAS_PARENT 8u
#define PAST_HAS_CLIENT 16u
#define PAST_FLAGS 31u

/* What the numbers of a row are told against: the row before of its kind, or the node before a property. */
struct past_numbers {
        uint64_t id;
        uint64_t revision;
};

struct context {
        uint64_t id; /* of the last node */
        uint64_t parent;
        uint64_t birth;
        struct past_numbers past;
        uint64_t feed; /* the last id */
};

/* --- Writing --- */

struct scn_checkpoint_encoder {
        struct scn_snapshot_reader *reader;
        struct scn_snapshot_row row; /* the next one */
        struct context last;
        struct scn_buffer body;  /* of one row */
        struct scn_buffer bytes; /* encoded, not yet given away */
        size_t given;            /* of these, at the beginning */
        bool has_ended;
        enum scn_error error;
};

/* Errors stay until the row is complete. */
static void put(struct scn_checkpoint_encoder *encoder, const void *data, size_t size)
{
        if (encoder->error == SCN_OK) {
                encoder->error = scn_buffer_append(&encoder->body, data, size);
        }
}

static size_t spell(uint64_t value, uint8_t bytes_out[VARINT_BYTES_MAX])
{
        size_t size = 0;
        for (; value >= 0x80; value >>= 7) {
                bytes_out[size++] = (uint8_t)(value | 0x80);
        }
        bytes_out[size++] = (uint8_t)value;
        return size;
}

static void put_number(struct scn_checkpoint_encoder *encoder, uint64_t value)
{
        uint8_t bytes[VARINT_BYTES_MAX];
        put(encoder, bytes, spell(value, bytes));
}

/* Zigzag: 0, -1, 1, -2 ... become 0, 1, 2, 3. */
static void put_difference(struct scn_checkpoint_encoder *encoder, uint64_t value, uint64_t from)
{
        const uint64_t difference = value - from;
        put_number(encoder, difference << 1 ^ (UINT64_C(0) - (difference >> 63)));
}

static void put_bytes(struct scn_checkpoint_encoder *encoder, struct scn_slice bytes)
{
        put_number(encoder, bytes.size);
        put(encoder, bytes.data, bytes.size);
}

static void put_stamp(struct scn_checkpoint_encoder *encoder, const struct scn_snapshot_stamp *stamp)
{
        put_difference(encoder, stamp->revision, encoder->last.birth);
        put_difference(encoder, stamp->writer, stamp->revision);
        put_number(encoder, stamp->client);
}

static void put_header(struct scn_checkpoint_encoder *encoder, const struct scn_snapshot_header *header)
{
        put(encoder, header->uid.bytes, sizeof header->uid.bytes);
        put_number(encoder, header->revision);
        put_number(encoder, header->horizon);
        put_number(encoder, header->next_id);
        put_number(encoder, header->nodes_count);
        put(encoder, &header->digests, sizeof header->digests);
}

static uint8_t flags_of(const struct scn_snapshot_node *node)
{
        const struct scn_trs identity = SCN_TRS_IDENTITY;
        return (uint8_t)((node->name.data != NULL ? NODE_HAS_NAME : 0) |
                (memcmp(node->trs.t, identity.t, sizeof identity.t) != 0 ? NODE_HAS_T : 0) |
                (memcmp(node->trs.r, identity.r, sizeof identity.r) != 0 ? NODE_HAS_R : 0) |
                (memcmp(node->trs.s, identity.s, sizeof identity.s) != 0 ? NODE_HAS_S : 0));
}

static void put_node(struct scn_checkpoint_encoder *encoder, const struct scn_snapshot_node *node)
{
        struct context *last = &encoder->last;
        const uint8_t flags = flags_of(node);
        put(encoder, &flags, 1);
        put_difference(encoder, node->id, last->id);
        put(encoder, node->uid.bytes, sizeof node->uid.bytes);
        put_difference(encoder, node->parent, last->parent);
        put_difference(encoder, node->birth, last->birth);
        last->id = node->id;
        last->parent = node->parent;
        last->birth = node->birth;
        for (uint32_t channel = 0; channel < SCN_CHANNEL_COUNT; channel++) {
                put_difference(encoder, node->subtree_rev[channel], node->birth);
        }
        for (uint32_t field = 0; field < SCN_FIELD_COUNT; field++) {
                put_stamp(encoder, &node->stamps[field]);
        }
        put(encoder, node->trs.t, (flags & NODE_HAS_T) != 0 ? sizeof node->trs.t : 0);
        put(encoder, node->trs.r, (flags & NODE_HAS_R) != 0 ? sizeof node->trs.r : 0);
        put(encoder, node->trs.s, (flags & NODE_HAS_S) != 0 ? sizeof node->trs.s : 0);
        if ((flags & NODE_HAS_NAME) != 0) {
                put_bytes(encoder, node->name);
        }
        put_number(encoder, node->properties_count);
}

static void put_property(struct scn_checkpoint_encoder *encoder, const struct scn_snapshot_property *property)
{
        put_stamp(encoder, &property->stamp);
        put_bytes(encoder, property->key);
        /* No value is empty: nothing behind the key is a removed key. */
        put(encoder, property->value.data, property->value.data == NULL ? 0 : property->value.size);
}

static void put_past(struct scn_checkpoint_encoder *encoder, const struct scn_snapshot_past *past)
{
        struct past_numbers *last = &encoder->last.past;
        const uint8_t flags = (uint8_t)((uint8_t)past->kind | (scn_uid_is_none(past->uid) ? 0 : PAST_HAS_UID) |
                (past->parent == 0 ? 0 : PAST_HAS_PARENT) | (past->client == 0 ? 0 : PAST_HAS_CLIENT));
        put(encoder, &flags, 1);
        put_difference(encoder, past->id, last->id);
        put_difference(encoder, past->revision, last->revision);
        put_difference(encoder, past->since, past->revision);
        last->id = past->id;
        last->revision = past->revision;
        if ((flags & PAST_HAS_UID) != 0) {
                put(encoder, past->uid.bytes, sizeof past->uid.bytes);
        }
        if ((flags & PAST_HAS_PARENT) != 0) {
                put_number(encoder, past->parent);
        }
        if ((flags & PAST_HAS_CLIENT) != 0) {
                put_number(encoder, past->client);
        }
}

/* As many as there are: a row each would be longer than what it says. */
static void put_feed(struct scn_checkpoint_encoder *encoder)
{
        for (uint32_t i = 0; i < SCN_CHECKPOINT_FEED_IDS_MAX && encoder->row.kind == SCN_ROW_FEED; i++) {
                put_difference(encoder, encoder->row.as.feed, encoder->last.feed);
                encoder->last.feed = encoder->row.as.feed;
                encoder->row = scn_snapshot_next(encoder->reader);
        }
}

static void put_body(struct scn_checkpoint_encoder *encoder)
{
        const struct scn_snapshot_row *row = &encoder->row;
        switch (row->kind) {
        case SCN_ROW_HEADER:
                put_header(encoder, &row->as.header);
                break;
        case SCN_ROW_CLIENT:
                put(encoder, row->as.client.bytes, sizeof row->as.client.bytes);
                break;
        case SCN_ROW_NODE:
                put_node(encoder, &row->as.node);
                break;
        case SCN_ROW_PROPERTY:
                put_property(encoder, &row->as.property);
                break;
        case SCN_ROW_PAST:
                put_past(encoder, &row->as.past);
                break;
        case SCN_ROW_FEED:
                put_feed(encoder);
                return; /* stands on the next row already */
        case SCN_ROW_END:
                encoder->has_ended = true;
                return;
        }
        encoder->row = scn_snapshot_next(encoder->reader);
}

static enum scn_error put_row(struct scn_checkpoint_encoder *encoder)
{
        uint8_t head[1 + VARINT_BYTES_MAX] = {(uint8_t)encoder->row.kind};
        scn_buffer_reset(&encoder->body);
        put_body(encoder);
        const size_t head_size = 1 + spell(encoder->body.size, head + 1);
        if (encoder->error == SCN_OK) {
                encoder->error = scn_buffer_append(&encoder->bytes, head, head_size);
        }
        if (encoder->error == SCN_OK) {
                encoder->error = scn_buffer_append(&encoder->bytes, encoder->body.data, encoder->body.size);
        }
        return encoder->error;
}

struct scn_checkpoint_encoder *scn_checkpoint_encoder_create(const struct scn_document *document)
{
        static const uint8_t version = SCN_CHECKPOINT_VERSION;
        struct scn_checkpoint_encoder *encoder = scn_alloc_zero(1, sizeof *encoder);
        if (encoder == NULL) {
                return NULL;
        }
        scn_buffer_init(&encoder->body, SCN_CHECKPOINT_ROW_BYTES_MAX);
        scn_buffer_init(&encoder->bytes, SCN_CHECKPOINT_PART_BYTES_MAX + 2 * SCN_CHECKPOINT_ROW_BYTES_MAX);
        encoder->reader = scn_snapshot_reader_create(document);
        if (encoder->reader == NULL || scn_buffer_append(&encoder->bytes, &version, 1) != SCN_OK) {
                scn_checkpoint_encoder_destroy(encoder);
                return NULL;
        }
        encoder->row = scn_snapshot_next(encoder->reader);
        return encoder;
}

void scn_checkpoint_encoder_destroy(struct scn_checkpoint_encoder *encoder)
{
        if (encoder != NULL) {
                scn_snapshot_reader_destroy(encoder->reader);
                scn_buffer_finish(&encoder->body);
                scn_buffer_finish(&encoder->bytes);
                scn_free(encoder);
        }
}

enum scn_error scn_checkpoint_encoder_next(struct scn_checkpoint_encoder *encoder, struct scn_slice *part_out)
{
        struct scn_buffer *bytes = &encoder->bytes;
        *part_out = (struct scn_slice){NULL, 0};
        if (encoder->given > 0) {
                bytes->size -= encoder->given;
                memmove(bytes->data, bytes->data + encoder->given, bytes->size);
                encoder->given = 0;
        }
        while (!encoder->has_ended && bytes->size < SCN_CHECKPOINT_PART_BYTES_MAX) {
                const enum scn_error error = put_row(encoder);
                if (error != SCN_OK) {
                        return error;
                }
        }
        if (bytes->size > 0) {
                encoder->given =
                        bytes->size < SCN_CHECKPOINT_PART_BYTES_MAX ? bytes->size : SCN_CHECKPOINT_PART_BYTES_MAX;
                *part_out = (struct scn_slice){bytes->data, (uint32_t)encoder->given};
        }
        return SCN_OK;
}

/* --- Reading --- */

struct scn_checkpoint_decoder {
        struct scn_snapshot_loader *loader;
        struct context last;
        struct scn_buffer pending; /* the beginning of a row whose end has not come */
        bool has_version;
        bool has_ended;
};

/* A row's bytes, front to back; is_bad: something was not there, or is not what it can be. */
struct cursor {
        const uint8_t *at;
        size_t left;
        bool is_bad;
};

static const uint8_t *take(struct cursor *cursor, uint64_t size)
{
        const uint8_t *at = cursor->at;
        if (cursor->is_bad || size > cursor->left) {
                cursor->is_bad = true;
                return NULL;
        }
        cursor->at += size;
        cursor->left -= (size_t)size;
        return at;
}

static void take_into(struct cursor *cursor, void *bytes_out, size_t size)
{
        const uint8_t *bytes = take(cursor, size);
        if (bytes != NULL) {
                memcpy(bytes_out, bytes, size);
        }
}

static uint64_t take_number(struct cursor *cursor, uint64_t max)
{
        uint64_t value = 0;
        for (uint32_t shift = 0; shift < 7 * VARINT_BYTES_MAX; shift += 7) {
                const uint8_t *byte = take(cursor, 1);
                if (byte == NULL || (shift == 63 && *byte > 1)) {
                        break;
                }
                value |= (uint64_t)(*byte & 0x7f) << shift;
                if (*byte < 0x80) {
                        cursor->is_bad = cursor->is_bad || value > max;
                        return cursor->is_bad ? 0 : value;
                }
        }
        cursor->is_bad = true;
        return 0;
}

/* Wraps round: what comes out is judged like a number that stands there. */
static uint64_t take_difference(struct cursor *cursor, uint64_t from, uint64_t max)
{
        const uint64_t zigzag = take_number(cursor, UINT64_MAX);
        const uint64_t value = from + (zigzag >> 1 ^ (UINT64_C(0) - (zigzag & 1)));
        cursor->is_bad = cursor->is_bad || value > max;
        return cursor->is_bad ? 0 : value;
}

static struct scn_slice take_bytes(struct cursor *cursor)
{
        const uint32_t size = (uint32_t)take_number(cursor, UINT32_MAX);
        return (struct scn_slice){take(cursor, size), size};
}

static void take_stamp(struct cursor *cursor, uint64_t birth, struct scn_snapshot_stamp *stamp)
{
        stamp->revision = take_difference(cursor, birth, SCN_REVISION_MAX);
        stamp->writer = take_difference(cursor, stamp->revision, SCN_REVISION_MAX);
        stamp->client = (uint32_t)take_number(cursor, UINT32_MAX);
}

static void take_header(struct cursor *cursor, struct scn_snapshot_header *header)
{
        take_into(cursor, header->uid.bytes, sizeof header->uid.bytes);
        header->revision = take_number(cursor, SCN_REVISION_MAX);
        header->horizon = take_number(cursor, SCN_REVISION_MAX);
        header->next_id = (scn_node_id)take_number(cursor, UINT32_MAX);
        header->nodes_count = (uint32_t)take_number(cursor, UINT32_MAX);
        take_into(cursor, &header->digests, sizeof header->digests);
}

static uint8_t take_flags(struct cursor *cursor, uint8_t known)
{
        uint8_t flags = 0;
        take_into(cursor, &flags, 1);
        cursor->is_bad = cursor->is_bad || (flags & ~known) != 0;
        return flags;
}

static void take_node(struct cursor *cursor, struct context *last, struct scn_snapshot_node *node)
{
        const uint8_t flags = take_flags(cursor, NODE_FLAGS);
        node->id = (scn_node_id)take_difference(cursor, last->id, UINT32_MAX);
        take_into(cursor, node->uid.bytes, sizeof node->uid.bytes);
        node->parent = (scn_node_id)take_difference(cursor, last->parent, UINT32_MAX);
        node->birth = take_difference(cursor, last->birth, SCN_REVISION_MAX);
        last->id = node->id;
        last->parent = node->parent;
        last->birth = node->birth;
        for (uint32_t channel = 0; channel < SCN_CHANNEL_COUNT; channel++) {
                node->subtree_rev[channel] = take_difference(cursor, node->birth, SCN_REVISION_MAX);
        }
        for (uint32_t field = 0; field < SCN_FIELD_COUNT; field++) {
                take_stamp(cursor, node->birth, &node->stamps[field]);
        }
        node->trs = SCN_TRS_IDENTITY;
        take_into(cursor, node->trs.t, (flags & NODE_HAS_T) != 0 ? sizeof node->trs.t : 0);
        take_into(cursor, node->trs.r, (flags & NODE_HAS_R) != 0 ? sizeof node->trs.r : 0);
        take_into(cursor, node->trs.s, (flags & NODE_HAS_S) != 0 ? sizeof node->trs.s : 0);
        if ((flags & NODE_HAS_NAME) != 0) {
                node->name = take_bytes(cursor);
        }
        node->properties_count = (uint32_t)take_number(cursor, UINT32_MAX);
}

static void take_property(struct cursor *cursor, uint64_t birth, struct scn_snapshot_property *property)
{
        take_stamp(cursor, birth, &property->stamp);
        property->key = take_bytes(cursor);
        if (cursor->left > 0) {
                property->value.size = (uint32_t)cursor->left;
                property->value.data = take(cursor, cursor->left);
        }
}

static void take_past(struct cursor *cursor, struct past_numbers *last, struct scn_snapshot_past *past)
{
        const uint8_t flags = take_flags(cursor, PAST_FLAGS);
        past->kind = (enum scn_past_kind)(flags & PAST_KIND);
        past->id = (scn_node_id)take_difference(cursor, last->id, UINT32_MAX);
        past->revision = take_difference(cursor, last->revision, SCN_REVISION_MAX);
        past->since = take_difference(cursor, past->revision, SCN_REVISION_MAX);
        last->id = past->id;
        last->revision = past->revision;
        if ((flags & PAST_HAS_UID) != 0) {
                take_into(cursor, past->uid.bytes, sizeof past->uid.bytes);
        }
        if ((flags & PAST_HAS_PARENT) != 0) {
                past->parent = (scn_node_id)take_number(cursor, UINT32_MAX);
        }
        if ((flags & PAST_HAS_CLIENT) != 0) {
                past->client = (uint32_t)take_number(cursor, UINT32_MAX);
        }
}

static enum scn_error load_feed(struct scn_checkpoint_decoder *decoder, struct cursor *cursor)
{
        struct scn_snapshot_row row = {.kind = SCN_ROW_FEED};
        enum scn_error error = SCN_OK;
        while (error == SCN_OK && cursor->left > 0) {
                decoder->last.feed = take_difference(cursor, decoder->last.feed, UINT32_MAX);
                row.as.feed = (scn_node_id)decoder->last.feed;
                error = cursor->is_bad ? SCN_E_BAD_SNAPSHOT : scn_snapshot_load(decoder->loader, &row);
        }
        return error;
}

static enum scn_error load_row(struct scn_checkpoint_decoder *decoder, uint8_t kind, struct cursor cursor)
{
        struct scn_snapshot_row row = {.kind = (enum scn_snapshot_row_kind)kind};
        switch (row.kind) {
        case SCN_ROW_HEADER:
                take_header(&cursor, &row.as.header);
                break;
        case SCN_ROW_CLIENT:
                take_into(&cursor, row.as.client.bytes, sizeof row.as.client.bytes);
                break;
        case SCN_ROW_NODE:
                take_node(&cursor, &decoder->last, &row.as.node);
                break;
        case SCN_ROW_PROPERTY:
                take_property(&cursor, decoder->last.birth, &row.as.property);
                break;
        case SCN_ROW_PAST:
                take_past(&cursor, &decoder->last.past, &row.as.past);
                break;
        case SCN_ROW_FEED:
                return load_feed(decoder, &cursor);
        case SCN_ROW_END:
                decoder->has_ended = true;
                break;
        default:
                return SCN_E_BAD_SNAPSHOT;
        }
        return cursor.is_bad || cursor.left > 0 ? SCN_E_BAD_SNAPSHOT : scn_snapshot_load(decoder->loader, &row);
}

/* Loads the row at the front if all of it is there; *size_out: its bytes, 0 if there must be more first. */
static enum scn_error load_front(
        struct scn_checkpoint_decoder *decoder, const uint8_t *bytes, size_t size, size_t *size_out)
{
        struct cursor cursor = {bytes, size, false};
        const uint8_t *kind = take(&cursor, 1);
        const uint64_t length = take_number(&cursor, UINT64_MAX);
        *size_out = 0;
        if (cursor.is_bad) {
                return size > VARINT_BYTES_MAX ? SCN_E_BAD_SNAPSHOT : SCN_OK;
        }
        if (length > SCN_CHECKPOINT_ROW_BYTES_MAX) {
                return SCN_E_BAD_SNAPSHOT;
        }
        if (length > cursor.left) {
                return SCN_OK;
        }
        *size_out = size - cursor.left + (size_t)length;
        cursor.left = (size_t)length;
        return load_row(decoder, *kind, cursor);
}

/* Loads all rows that are there. */
static enum scn_error load_rows(
        struct scn_checkpoint_decoder *decoder, const uint8_t *bytes, size_t size, size_t *used_out)
{
        enum scn_error error = SCN_OK;
        size_t row = 1;
        *used_out = 0;
        if (!decoder->has_version && size > 0) {
                decoder->has_version = true;
                *used_out = 1;
                error = bytes[0] == SCN_CHECKPOINT_VERSION ? SCN_OK : SCN_E_BAD_SNAPSHOT;
        }
        while (error == SCN_OK && row > 0 && *used_out < size) {
                error = load_front(decoder, bytes + *used_out, size - *used_out, &row);
                *used_out += row;
        }
        return error;
}

enum scn_error scn_checkpoint_decoder_create(
        const struct scn_document_options *options, struct scn_checkpoint_decoder **decoder_out)
{
        struct scn_checkpoint_decoder *decoder = scn_alloc_zero(1, sizeof *decoder);
        if (decoder == NULL) {
                return SCN_E_NO_MEMORY;
        }
        scn_buffer_init(&decoder->pending, SIZE_MAX / 2);
        const enum scn_error error = scn_snapshot_loader_create(options, &decoder->loader);
        if (error != SCN_OK) {
                scn_free(decoder);
                return error;
        }
        *decoder_out = decoder;
        return SCN_OK;
}

void scn_checkpoint_decoder_destroy(struct scn_checkpoint_decoder *decoder)
{
        if (decoder != NULL) {
                scn_snapshot_loader_destroy(decoder->loader);
                scn_buffer_finish(&decoder->pending);
                scn_free(decoder);
        }
}

enum scn_error scn_checkpoint_decoder_feed(struct scn_checkpoint_decoder *decoder, struct scn_slice bytes)
{
        struct scn_buffer *pending = &decoder->pending;
        enum scn_error error = SCN_OK;
        size_t used;
        if (pending->size == 0) {
                error = load_rows(decoder, bytes.data, bytes.size, &used);
                return error == SCN_OK ? scn_buffer_append(pending, bytes.data + used, bytes.size - used) : error;
        }
        error = scn_buffer_append(pending, bytes.data, bytes.size);
        if (error == SCN_OK) {
                error = load_rows(decoder, pending->data, pending->size, &used);
        }
        if (error == SCN_OK) {
                pending->size -= used;
                memmove(pending->data, pending->data + used, pending->size);
        }
        return error;
}

enum scn_error scn_checkpoint_decoder_take(struct scn_checkpoint_decoder *decoder, struct scn_document **document_out)
{
        if (!decoder->has_ended || decoder->pending.size > 0) {
                return SCN_E_BAD_SNAPSHOT;
        }
        *document_out = scn_snapshot_loader_take(decoder->loader);
        return SCN_OK;
}
