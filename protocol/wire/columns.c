/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "protocol/wire/columns.h"

#include "protocol/base/alloc.h"
#include "protocol/base/memo.h"

#include <string.h>

enum column {
        COLUMN_NEW,
        COLUMN_PLACE,
        COLUMN_NAME,
        COLUMN_T,
        COLUMN_R,
        COLUMN_S,
        COLUMN_PROPS,
        COLUMN_REMOVED,
        COLUMN_LEFT,
        COLUMN_WHOLE,
        COLUMN_MATRIX,
        COLUMN_OVERFLOW,
        COLUMN_COUNT,
};

#define VARINT_BYTES_MAX 10

/* --- Encoding --- */

/* One column under way. */
struct writer {
        struct scn_buffer bytes;
        int64_t id; /* of the entry before */
        enum scn_error error;
};

static void put_slowly(struct writer *writer, const void *bytes, size_t size)
{
        if (writer->error == SCN_OK) {
                writer->error = scn_buffer_append(&writer->bytes, bytes, size);
        }
}

/* Nearly always there is room, and what is put is small: a join of 10,000 nodes puts 80,000 times. */
static inline void put(struct writer *writer, const void *bytes, size_t size)
{
        struct scn_buffer *buffer = &writer->bytes;
        if (size > 0 && buffer->capacity - buffer->size >= size && writer->error == SCN_OK) {
                memcpy(buffer->data + buffer->size, bytes, size);
                buffer->size += size;
        } else {
                put_slowly(writer, bytes, size);
        }
}

static void put_varint(struct writer *writer, uint64_t value)
{
        uint8_t bytes[VARINT_BYTES_MAX];
        size_t size = 0;
        while (value >= 0x80) {
                bytes[size++] = (uint8_t)(value | 0x80);
                value >>= 7;
        }
        bytes[size++] = (uint8_t)value;
        put(writer, bytes, size);
}

static uint64_t zigzag(int64_t value)
{
        return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static void put_id(struct writer *writer, scn_node_id id)
{
        put_varint(writer, zigzag((int64_t)id - writer->id));
        writer->id = id;
}

/* Floats go out as they stand in memory; both ends of every build we support are little-endian. */
static void put_floats(struct writer *writer, scn_node_id id, const float *floats, uint32_t count)
{
        put_id(writer, id);
        put(writer, floats, count * sizeof *floats);
}

static void put_place(struct writer *writer, const struct scn_delta_node *node)
{
        const int64_t id = node->id;
        put_id(writer, node->id);
        put_varint(writer, zigzag((int64_t)node->parent - id));
        put_varint(writer, node->previous == 0 ? 0 : 1 + zigzag((int64_t)node->previous - id));
}

static void put_slice(struct writer *writer, struct scn_slice slice)
{
        put_varint(writer, slice.size);
        put(writer, slice.data, slice.size);
}

static void put_name(struct writer *writer, const struct scn_delta_node *node)
{
        put_id(writer, node->id);
        if (node->name.data == NULL) {
                put_varint(writer, 0);
        } else {
                put_varint(writer, 1 + (uint64_t)node->name.size);
                put(writer, node->name.data, node->name.size);
        }
}

static size_t bytes_of(const struct writer *writers)
{
        size_t bytes = 0;
        for (int i = 0; i < COLUMN_COUNT; i++) {
                bytes += writers[i].bytes.size;
        }
        return bytes;
}

/* All of a node but its properties. */
static void put_node(struct writer *writers, const struct scn_delta_node *node)
{
        if (node->is_new) {
                put_id(&writers[COLUMN_NEW], node->id);
                put(&writers[COLUMN_NEW], node->uid.bytes, sizeof node->uid.bytes);
        }
        if ((node->fields & SCN_FIELDS_PLACE) != 0) {
                put_place(&writers[COLUMN_PLACE], node);
        }
        if ((node->fields & SCN_FIELDS_NAME) != 0) {
                put_name(&writers[COLUMN_NAME], node);
        }
        if ((node->fields & SCN_FIELDS_TRANSLATION) != 0) {
                put_floats(&writers[COLUMN_T], node->id, node->trs.t, 3);
        }
        /* A new node has the identity unless told otherwise. */
        const struct scn_trs identity = SCN_TRS_IDENTITY;
        const bool is_plain_r = node->is_new && memcmp(node->trs.r, identity.r, sizeof identity.r) == 0;
        const bool is_plain_s = node->is_new && memcmp(node->trs.s, identity.s, sizeof identity.s) == 0;
        if ((node->fields & SCN_FIELDS_ROTATION) != 0 && !is_plain_r) {
                put_floats(&writers[COLUMN_R], node->id, node->trs.r, 4);
        }
        if ((node->fields & SCN_FIELDS_SCALE) != 0 && !is_plain_s) {
                put_floats(&writers[COLUMN_S], node->id, node->trs.s, 3);
        }
}

/* A node may have more properties than a message has room for, so they may go on in the next part. */
static void put_properties(struct writer *writers, const struct scn_delta *delta, struct scn_columns_cursor *cursor)
{
        const struct scn_delta_node *node = &delta->nodes[cursor->node];
        const uint32_t count = (node->fields & SCN_FIELDS_PROPERTY) != 0 ? node->properties_count : 0;
        while (cursor->property < count) {
                if (cursor->property > 0 && bytes_of(writers) >= SCN_COLUMNS_PART_BYTES) {
                        return;
                }
                const struct scn_property *property = &delta->properties[node->properties_first + cursor->property];
                put_id(&writers[COLUMN_PROPS], node->id);
                put_slice(&writers[COLUMN_PROPS], property->key);
                put_slice(&writers[COLUMN_PROPS], property->value);
                cursor->property++;
        }
        cursor->node++;
        cursor->property = 0;
}

static void put_ids(struct writer *writers, enum column column, const scn_node_id *ids, size_t count, size_t *at)
{
        while (*at < count && bytes_of(writers) < SCN_COLUMNS_PART_BYTES) {
                put_id(&writers[column], ids[*at]);
                ++*at;
        }
}

/* Rows become columns: matrices are column-major on the wire. */
static void transpose(float *to, const float *from, uint32_t rows, uint32_t columns)
{
        for (uint32_t row = 0; row < rows; row++) {
                for (uint32_t column = 0; column < columns; column++) {
                        to[column * rows + row] = from[row * columns + column];
                }
        }
}

static void put_worlds(struct writer *writers, const struct scn_delta *delta, size_t *at)
{
        while (*at < delta->worlds_count && bytes_of(writers) < SCN_COLUMNS_PART_BYTES) {
                const struct scn_delta_world *world = &delta->worlds[*at];
                if (world->overflows) {
                        put_id(&writers[COLUMN_OVERFLOW], world->id);
                } else {
                        float columns[12];
                        transpose(columns, world->world.m, 3, 4);
                        put_floats(&writers[COLUMN_MATRIX], world->id, columns, 12);
                }
                ++*at;
        }
}

static void pack_columns(struct scn_packer *packer, struct writer *writers)
{
        uint32_t count = 0;
        for (int i = 0; i < COLUMN_COUNT; i++) {
                count += writers[i].bytes.size > 0;
                if (writers[i].error != SCN_OK && packer->error == SCN_OK) {
                        packer->error = writers[i].error;
                }
        }
        scn_pack_map(packer, count);
        for (uint32_t i = 0; i < COLUMN_COUNT; i++) {
                if (writers[i].bytes.size > 0) {
                        scn_pack_uint(packer, i);
                        scn_pack_bin(packer, writers[i].bytes.data, writers[i].bytes.size);
                }
        }
}

bool scn_columns_encode(struct scn_packer *packer, const struct scn_delta *delta, struct scn_columns_cursor *cursor)
{
        struct writer writers[COLUMN_COUNT];
        memset(writers, 0, sizeof writers);
        for (int i = 0; i < COLUMN_COUNT; i++) {
                scn_buffer_init(&writers[i].bytes, UINT32_MAX / 2);
        }
        if (cursor->node + cursor->property + cursor->removed + cursor->left + cursor->world == 0 && delta->is_whole) {
                put_id(&writers[COLUMN_WHOLE], delta->root);
        }
        while (cursor->node < delta->nodes_count && bytes_of(writers) < SCN_COLUMNS_PART_BYTES) {
                if (cursor->property == 0) {
                        put_node(writers, &delta->nodes[cursor->node]);
                }
                put_properties(writers, delta, cursor);
        }
        if (cursor->node == delta->nodes_count) {
                put_ids(writers, COLUMN_REMOVED, delta->removed, delta->removed_count, &cursor->removed);
                put_ids(writers, COLUMN_LEFT, delta->left, delta->left_count, &cursor->left);
                put_worlds(writers, delta, &cursor->world);
        }
        const bool has_more = cursor->node < delta->nodes_count || cursor->removed < delta->removed_count ||
                cursor->left < delta->left_count || cursor->world < delta->worlds_count;
        pack_columns(packer, writers);
        for (int i = 0; i < COLUMN_COUNT; i++) {
                scn_buffer_finish(&writers[i].bytes);
        }
        return has_more && packer->error == SCN_OK;
}

/* --- Decoding --- */

struct reader {
        const uint8_t *at;
        const uint8_t *end;
        int64_t id; /* of the entry before */
        struct scn_delta *delta;
        struct scn_memo nodes; /* id -> index in delta->nodes, of this part */
        enum scn_error error;
};

static void fail(struct reader *reader, enum scn_error error)
{
        reader->error = reader->error == SCN_OK ? error : reader->error;
}

static uint64_t take_varint(struct reader *reader)
{
        uint64_t value = 0;
        for (unsigned shift = 0; shift < 64 && reader->at != reader->end; shift += 7) {
                const uint8_t byte = *reader->at++;
                value |= (uint64_t)(byte & 0x7f) << shift;
                if (byte < 0x80) {
                        return value;
                }
        }
        fail(reader, SCN_E_BAD_DELTA);
        return 0;
}

static int64_t unzigzag(uint64_t value)
{
        return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* An id from its signed difference; 0 is allowed only where it says so. */
static scn_node_id add_difference(struct reader *reader, int64_t base, uint64_t coded, int64_t least)
{
        const int64_t difference = unzigzag(coded);
        /* Looked at before it is added: the sum of what a peer says may be beyond any integer. */
        const bool is_far = difference > UINT32_MAX || difference < -(int64_t)UINT32_MAX;
        const int64_t id = is_far ? -1 : base + difference;
        if (id < least || id > UINT32_MAX) {
                fail(reader, SCN_E_BAD_DELTA);
                return 0;
        }
        return (scn_node_id)id;
}

static scn_node_id take_id(struct reader *reader, int64_t least)
{
        const scn_node_id id = add_difference(reader, reader->id, take_varint(reader), least);
        reader->id = id;
        return id;
}

static const uint8_t *take(struct reader *reader, uint64_t size)
{
        if (reader->error != SCN_OK || size > (uint64_t)(reader->end - reader->at)) {
                fail(reader, SCN_E_BAD_DELTA);
                return NULL;
        }
        const uint8_t *bytes = reader->at;
        reader->at += size;
        return bytes;
}

static struct scn_slice take_slice(struct reader *reader, uint64_t size)
{
        const uint8_t *bytes = take(reader, size);
        return bytes == NULL ? (struct scn_slice){NULL, 0} : (struct scn_slice){bytes, (uint32_t)size};
}

/* The node an entry is about; made if it is the first to speak of it. NULL after an error. */
static struct scn_delta_node *take_node(struct reader *reader)
{
        struct scn_delta *delta = reader->delta;
        const scn_node_id id = take_id(reader, 1);
        if (reader->error != SCN_OK) {
                return NULL;
        }
        const uint32_t known = scn_memo_get(&reader->nodes, id);
        if (known != SCN_MEMO_NONE) {
                return &delta->nodes[known];
        }
        if (!scn_grow((void **)&delta->nodes, &delta->nodes_capacity, sizeof *delta->nodes, delta->nodes_count + 1,
                    SCN_MEMO_NONE - 1) ||
                scn_memo_put(&reader->nodes, id, (uint32_t)delta->nodes_count) != SCN_OK) {
                fail(reader, SCN_E_NO_MEMORY);
                return NULL;
        }
        struct scn_delta_node *node = &delta->nodes[delta->nodes_count++];
        *node = (struct scn_delta_node){.id = id, .trs = SCN_TRS_IDENTITY};
        return node;
}

static void read_new(struct reader *reader, struct scn_delta_node *node)
{
        const uint8_t *uid = take(reader, sizeof node->uid.bytes);
        if (uid != NULL) {
                memcpy(node->uid.bytes, uid, sizeof node->uid.bytes);
                node->is_new = true;
        }
}

static void read_place(struct reader *reader, struct scn_delta_node *node)
{
        node->parent = add_difference(reader, node->id, take_varint(reader), 1);
        const uint64_t previous = take_varint(reader);
        node->previous = previous == 0 ? 0 : add_difference(reader, node->id, previous - 1, 1);
        node->fields |= SCN_FIELDS_PLACE;
}

static void read_name(struct reader *reader, struct scn_delta_node *node)
{
        const uint64_t size = take_varint(reader);
        node->name = size == 0 ? (struct scn_slice){NULL, 0} : take_slice(reader, size - 1);
        node->fields |= SCN_FIELDS_NAME;
}

static void read_floats(struct reader *reader, struct scn_delta_node *node, float *floats, size_t size, uint32_t field)
{
        const uint8_t *bytes = take(reader, size);
        if (bytes != NULL) {
                memcpy(floats, bytes, size);
                node->fields |= field;
        }
}

/* Properties of one node stand together; those of a node told before may not come again later. */
static void read_property(struct reader *reader, struct scn_delta_node *node)
{
        struct scn_delta *delta = reader->delta;
        const struct scn_slice key = take_slice(reader, take_varint(reader));
        const uint64_t value_size = take_varint(reader);
        const struct scn_slice value = value_size == 0 ? (struct scn_slice){NULL, 0} : take_slice(reader, value_size);
        if (node->properties_count > 0 && node->properties_first + node->properties_count != delta->properties_count) {
                fail(reader, SCN_E_BAD_DELTA);
        }
        if (reader->error != SCN_OK) {
                return;
        }
        if (!scn_grow((void **)&delta->properties, &delta->properties_capacity, sizeof *delta->properties,
                    delta->properties_count + 1, UINT32_MAX)) {
                fail(reader, SCN_E_NO_MEMORY);
                return;
        }
        if (node->properties_count == 0) {
                node->properties_first = (uint32_t)delta->properties_count;
        }
        delta->properties[delta->properties_count++] = (struct scn_property){key, value};
        node->properties_count++;
        node->fields |= SCN_FIELDS_PROPERTY;
}

static void read_ids(struct reader *reader, scn_node_id **ids, size_t *count, size_t *capacity)
{
        const scn_node_id id = take_id(reader, 1);
        if (reader->error == SCN_OK && !scn_grow((void **)ids, capacity, sizeof **ids, *count + 1, SIZE_MAX)) {
                fail(reader, SCN_E_NO_MEMORY);
        }
        if (reader->error == SCN_OK) {
                (*ids)[(*count)++] = id;
        }
}

static void read_world(struct reader *reader, bool overflows)
{
        struct scn_delta *delta = reader->delta;
        const scn_node_id id = take_id(reader, 1);
        struct scn_delta_world world = {.id = id, .overflows = overflows};
        const uint8_t *bytes = overflows ? NULL : take(reader, sizeof world.world.m);
        if (reader->error == SCN_OK &&
                !scn_grow((void **)&delta->worlds, &delta->worlds_capacity, sizeof *delta->worlds,
                        delta->worlds_count + 1, SIZE_MAX)) {
                fail(reader, SCN_E_NO_MEMORY);
        }
        if (reader->error == SCN_OK) {
                if (bytes != NULL) {
                        float columns[12];
                        memcpy(columns, bytes, sizeof columns);
                        transpose(world.world.m, columns, 4, 3);
                }
                delta->worlds[delta->worlds_count++] = world;
        }
}

static void read_node_entry(struct reader *reader, enum column column)
{
        struct scn_delta_node *node = take_node(reader);
        if (node == NULL) {
                return;
        }
        if (column == COLUMN_NEW) {
                read_new(reader, node);
        } else if (column == COLUMN_PLACE) {
                read_place(reader, node);
        } else if (column == COLUMN_NAME) {
                read_name(reader, node);
        } else if (column == COLUMN_T) {
                read_floats(reader, node, node->trs.t, sizeof node->trs.t, SCN_FIELDS_TRANSLATION);
        } else if (column == COLUMN_R) {
                read_floats(reader, node, node->trs.r, sizeof node->trs.r, SCN_FIELDS_ROTATION);
        } else if (column == COLUMN_S) {
                read_floats(reader, node, node->trs.s, sizeof node->trs.s, SCN_FIELDS_SCALE);
        } else {
                read_property(reader, node);
        }
}

static void read_column(struct reader *reader, uint64_t column, struct scn_slice bytes)
{
        struct scn_delta *delta = reader->delta;
        reader->at = bytes.data;
        reader->end = bytes.data + bytes.size;
        reader->id = 0;
        while (reader->error == SCN_OK && reader->at != reader->end) {
                if (column <= COLUMN_PROPS) {
                        read_node_entry(reader, (enum column)column);
                } else if (column == COLUMN_REMOVED) {
                        read_ids(reader, &delta->removed, &delta->removed_count, &delta->removed_capacity);
                } else if (column == COLUMN_LEFT) {
                        read_ids(reader, &delta->left, &delta->left_count, &delta->left_capacity);
                } else if (column == COLUMN_WHOLE) {
                        delta->root = take_id(reader, 0);
                        delta->is_whole = true;
                } else if (column == COLUMN_MATRIX || column == COLUMN_OVERFLOW) {
                        read_world(reader, column == COLUMN_OVERFLOW);
                } else {
                        return; /* a column of a later version */
                }
        }
}

/* The order of placing is that of the column, so it is read before any other makes nodes. */
static enum scn_error read_columns(struct scn_slice map, struct reader *reader, bool is_place)
{
        struct scn_unpacker unpacker = scn_unpacker_from(map);
        const uint32_t count = scn_unpack_map(&unpacker);
        for (uint32_t i = 0; i < count && reader->error == SCN_OK; i++) {
                const uint64_t column = scn_unpack_uint(&unpacker, UINT32_MAX);
                const struct scn_slice bytes = scn_unpack_bin(&unpacker, UINT32_MAX);
                if (unpacker.error != SCN_OK) {
                        return SCN_E_BAD_DELTA;
                }
                if ((column == COLUMN_PLACE) == is_place) {
                        read_column(reader, column, bytes);
                }
        }
        if (reader->error == SCN_OK && !scn_unpack_is_done(&unpacker)) {
                return SCN_E_BAD_DELTA;
        }
        return reader->error;
}

/* The root of a whole view has no place, so it comes last; those below it need it first. */
static void bring_root_first(struct reader *reader, size_t first)
{
        struct scn_delta *delta = reader->delta;
        const uint32_t at = delta->is_whole ? scn_memo_get(&reader->nodes, delta->root) : SCN_MEMO_NONE;
        if (at != SCN_MEMO_NONE) {
                const struct scn_delta_node root = delta->nodes[at];
                memmove(&delta->nodes[first + 1], &delta->nodes[first], (at - first) * sizeof root);
                delta->nodes[first] = root;
        }
}

/* What a new node is told of its transform is all of it. */
static void complete_transforms(struct scn_delta *delta, size_t first)
{
        for (size_t i = first; i < delta->nodes_count; i++) {
                struct scn_delta_node *node = &delta->nodes[i];
                if (node->is_new && (node->fields & SCN_FIELDS_TRANSLATION) != 0) {
                        node->fields |= SCN_FIELDS_TRS;
                }
        }
}

enum scn_error scn_columns_decode(struct scn_slice map, struct scn_delta *delta)
{
        struct reader reader = {.delta = delta};
        const size_t first = delta->nodes_count;
        enum scn_error error = read_columns(map, &reader, true);
        if (error == SCN_OK) {
                error = read_columns(map, &reader, false);
        }
        if (error == SCN_OK) {
                complete_transforms(delta, first);
                bring_root_first(&reader, first);
        }
        scn_memo_finish(&reader.nodes);
        return error;
}
