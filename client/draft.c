/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Writing an edit down, and handing it in. */

#include "client/draft.h"

#include "client/client.h"
#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/base/uid.h"
#include "protocol/scene/digest.h"
#include "protocol/wire/ops.h"

#include <string.h>

/* Room for the head of a part's array, whose count is known last. */
#define HEAD_BYTES 5u
/* An add with more properties than this is followed by ops that set the rest. */
#define JOINED_BYTES_MAX (512u << 10)
#define JOINED_COUNT_MAX 256u
/* More than a message takes around the ops of a part, and than a text's head and that of a map it stands in. */
#define PART_HEAD_BYTES 64u
#define TEXT_HEAD_BYTES 16u
/* In an op's map: the key of the properties (protocol/wire/ops.h). */
#define KEY_PROPS 10u

/* --- Life --- */

static uint64_t hash_of_place(const void *owner, uint32_t ref)
{
        const struct scn_draft *draft = owner;
        return scn_hash_uid(draft->places[ref].node, draft->client->hash_seed);
}

static bool is_place_of(const void *owner, uint32_t ref, const void *key)
{
        const struct scn_draft *draft = owner;
        return scn_uid_equal(draft->places[ref].node, *(const struct scn_uid *)key);
}

struct scn_draft *scn_draft_create(struct scn_client *client, struct scn_view *view)
{
        struct scn_draft *draft = scn_alloc_zero(1, sizeof *draft);
        if (draft == NULL) {
                return NULL;
        }
        draft->task = scn_task_create(SCN_TASK_EDIT);
        if (draft->task == NULL) {
                scn_free(draft);
                return NULL;
        }
        draft->client = client;
        draft->view = view;
        scn_message_init(&draft->task->message, SCN_MESSAGE_edit);
        scn_buffer_init(&draft->addition, SCN_MESSAGE_BYTES_MAX);
        scn_buffer_init(&draft->properties, SCN_MESSAGE_BYTES_MAX);
        scn_buffer_init(&draft->scratch, SCN_MESSAGE_BYTES_MAX);
        scn_index_map_init(&draft->placed, draft, hash_of_place, is_place_of);
        TAILQ_INSERT_TAIL(&client->drafts, draft, link);
        return draft;
}

void scn_draft_destroy(struct scn_draft *draft)
{
        if (draft == NULL) {
                return;
        }
        TAILQ_REMOVE(&draft->client->drafts, draft, link);
        scn_task_destroy(draft->task);
        scn_buffer_finish(&draft->addition);
        scn_buffer_finish(&draft->properties);
        scn_buffer_finish(&draft->scratch);
        scn_index_map_finish(&draft->placed);
        scn_free(draft->places);
        scn_free(draft);
}

void scn_draft_set_group(struct scn_draft *draft, uint64_t group)
{
        draft->task->message.as.edit.group = group;
}

void scn_draft_set_base(struct scn_draft *draft, scn_revision base, bool is_strict)
{
        draft->task->message.as.edit.base = base;
        draft->task->message.as.edit.strict = is_strict;
}

void scn_draft_set_import(struct scn_draft *draft)
{
        draft->task->message.as.edit.import = true;
}

/* --- Parts --- */

/* The head of the array goes right before the ops. */
static void close_part(struct scn_draft *draft)
{
        if (draft->part_ops == 0) {
                return;
        }
        struct scn_draft_part *part = &draft->task->parts[draft->task->parts_count - 1];
        const uint32_t count = draft->part_ops;
        uint8_t *end = part->bytes.data + HEAD_BYTES;
        if (count < 16) {
                end[-1] = (uint8_t)(0x90 | count);
                part->start = HEAD_BYTES - 1;
        } else if (count <= UINT16_MAX) {
                end[-3] = 0xdc;
                end[-2] = (uint8_t)(count >> 8);
                end[-1] = (uint8_t)count;
                part->start = HEAD_BYTES - 3;
        } else {
                end[-5] = 0xdd;
                for (int i = 0; i < 4; i++) {
                        end[-4 + i] = (uint8_t)(count >> (24 - 8 * i));
                }
                part->start = 0;
        }
        draft->part_ops = 0;
}

/* A part with room for `size` more bytes. */
static enum scn_error open_part(struct scn_draft *draft, size_t size)
{
        struct scn_task *task = draft->task;
        if (draft->part_ops > 0 && task->parts[task->parts_count - 1].bytes.size + size > SCN_DRAFT_PART_BYTES) {
                close_part(draft);
        }
        if (draft->part_ops > 0) {
                return scn_buffer_reserve(&task->parts[task->parts_count - 1].bytes, size);
        }
        if (!scn_grow((void **)&task->parts, &draft->parts_capacity, sizeof *task->parts, task->parts_count + 1,
                    UINT32_MAX)) {
                return SCN_E_NO_MEMORY;
        }
        struct scn_draft_part *part = &task->parts[task->parts_count];
        *part = (struct scn_draft_part){.start = 0};
        scn_buffer_init(&part->bytes, SCN_MESSAGE_BYTES_MAX - 256);
        const enum scn_error error = scn_buffer_reserve(&part->bytes, HEAD_BYTES + size);
        if (error != SCN_OK) {
                scn_buffer_finish(&part->bytes);
                return error;
        }
        part->bytes.size = HEAD_BYTES;
        task->parts_count++;
        return SCN_OK;
}

/* Appends an op's map, with the properties that joined it. */
static enum scn_error append_spelled(struct scn_draft *draft, const struct scn_buffer *op, bool has_properties)
{
        uint8_t extra[8];
        struct scn_buffer head;
        scn_buffer_init(&head, sizeof extra);
        head.data = extra;
        head.capacity = sizeof extra;
        const bool is_joined = has_properties && draft->properties_count > 0;
        if (is_joined) {
                struct scn_packer packer = scn_packer_to(&head);
                scn_pack_uint(&packer, KEY_PROPS);
                scn_pack_map(&packer, draft->properties_count);
                SCN_ASSERT(packer.error == SCN_OK);
        }
        const size_t size = op->size + (is_joined ? head.size + draft->properties.size : 0);
        const enum scn_error error = open_part(draft, size);
        if (error != SCN_OK) {
                return error;
        }
        struct scn_buffer *bytes = &draft->task->parts[draft->task->parts_count - 1].bytes;
        const size_t at = bytes->size;
        bool is_good = scn_buffer_append(bytes, op->data, op->size) == SCN_OK;
        if (is_joined) {
                SCN_ASSERT((bytes->data[at] & 0xf0) == 0x80 && bytes->data[at] < 0x8f);
                bytes->data[at]++;
                is_good = is_good && scn_buffer_append(bytes, head.data, head.size) == SCN_OK &&
                        scn_buffer_append(bytes, draft->properties.data, draft->properties.size) == SCN_OK;
        }
        SCN_ASSERT(is_good); /* there was room */
        draft->part_ops++;
        draft->bytes += size;
        return SCN_OK;
}

static enum scn_error flush_addition(struct scn_draft *draft)
{
        if (draft->addition.size == 0) {
                return SCN_OK;
        }
        const enum scn_error error = append_spelled(draft, &draft->addition, true);
        if (error == SCN_OK) {
                scn_buffer_reset(&draft->addition);
                scn_buffer_reset(&draft->properties);
                draft->properties_count = 0;
        }
        return error;
}

/* Spells one op without the array around it. */
static enum scn_error spell(const struct scn_op *op, struct scn_buffer *buffer)
{
        scn_buffer_reset(buffer);
        struct scn_packer packer = scn_packer_to(buffer);
        scn_ops_encode(&packer, op, 1);
        if (packer.error == SCN_OK) {
                memmove(buffer->data, buffer->data + 1, buffer->size - 1);
                buffer->size--;
        } else {
                scn_buffer_reset(buffer);
        }
        return packer.error;
}

/* --- Places --- */

static enum scn_error note_place(struct scn_draft *draft, struct scn_uid node, const struct scn_node_ref *parent)
{
        const uint64_t hash = scn_hash_uid(node, draft->client->hash_seed);
        uint32_t ref = scn_index_map_find(&draft->placed, hash, &node);
        if (ref == SCN_INDEX_MAP_NONE) {
                ref = (uint32_t)draft->places_count;
                if (!scn_grow((void **)&draft->places, &draft->places_capacity, sizeof *draft->places, ref + 1u,
                            UINT32_MAX - 1) ||
                        !scn_index_map_reserve(&draft->placed, ref + 1)) {
                        return SCN_E_NO_MEMORY;
                }
                draft->places[ref].node = node;
                draft->places_count++;
                scn_index_map_add(&draft->placed, hash, ref);
        }
        draft->places[ref].parent = parent->kind == SCN_REF_UID ? parent->uid : (struct scn_uid){{0}};
        return SCN_OK;
}

static bool is_uid(const struct scn_node_ref *ref)
{
        return ref->kind == SCN_REF_UID;
}

/* The parent that a transform of this node is meant in, as far as its author can know; or none. */
static struct scn_node_ref parent_of(const struct scn_draft *draft, struct scn_uid node)
{
        const uint64_t hash = scn_hash_uid(node, draft->client->hash_seed);
        const uint32_t ref = scn_index_map_find(&draft->placed, hash, &node);
        struct scn_uid parent = {{0}};
        if (ref != SCN_INDEX_MAP_NONE) {
                parent = draft->places[ref].parent;
        } else {
                struct scn_node_info info;
                parent = scn_view_node(draft->view, node, &info) ? info.parent : parent;
        }
        return scn_ref_of_target((struct scn_target){.uid = parent});
}

/* --- Ops --- */

/* Whether an edit that has so many more bytes of ops is one that a server takes: its messages' own bytes count, too. */
static bool has_room(const struct scn_draft *draft, size_t size)
{
        const size_t heads = ((size_t)draft->task->parts_count + 2) * PART_HEAD_BYTES;
        return draft->bytes + draft->addition.size + draft->properties.size + heads + size <= SCN_DRAFT_BYTES_MAX;
}

struct scn_node_ref scn_ref_of_target(struct scn_target target)
{
        if (!scn_uid_is_none(target.uid)) {
                return (struct scn_node_ref){.kind = SCN_REF_UID, .uid = target.uid};
        }
        if (target.path != NULL) {
                return (struct scn_node_ref){
                        .kind = SCN_REF_PATH, .path = {(const uint8_t *)target.path, (uint32_t)strlen(target.path)}};
        }
        return (struct scn_node_ref){.kind = SCN_REF_NONE};
}

static bool can_join(const struct scn_draft *draft, const struct scn_op *op)
{
        if (op->kind != SCN_OP_SET || draft->addition.size == 0 || !is_uid(&op->node) ||
                !scn_uid_equal(op->node.uid, draft->added) || op->value.data == NULL || op->key.data == NULL ||
                draft->properties_count >= JOINED_COUNT_MAX ||
                draft->properties.size + op->value.size > JOINED_BYTES_MAX) {
                return false;
        }
        struct scn_unpacker unpacker =
                scn_unpacker_from((struct scn_slice){draft->properties.data, (uint32_t)draft->properties.size});
        for (uint32_t i = 0; i < draft->properties_count; i++) {
                const struct scn_slice key = scn_unpack_text(&unpacker, UINT32_MAX);
                (void)scn_unpack_raw(&unpacker);
                if (key.size == op->key.size && memcmp(key.data, op->key.data, key.size) == 0) {
                        return false;
                }
        }
        return true;
}

static enum scn_error join(struct scn_draft *draft, const struct scn_op *op)
{
        const size_t before = draft->properties.size;
        if (!has_room(draft, (size_t)op->key.size + op->value.size + TEXT_HEAD_BYTES)) {
                return SCN_E_TOO_LARGE;
        }
        struct scn_packer packer = scn_packer_to(&draft->properties);
        scn_pack_text(&packer, op->key);
        scn_pack_raw(&packer, op->value);
        if (packer.error != SCN_OK) {
                draft->properties.size = before;
                return packer.error;
        }
        draft->properties_count++;
        return SCN_OK;
}

static enum scn_error append_add(struct scn_draft *draft, const struct scn_op *op)
{
        enum scn_error error = flush_addition(draft);
        if (error == SCN_OK) {
                error = spell(op, &draft->addition);
        }
        if (error == SCN_OK && !has_room(draft, 0)) {
                error = SCN_E_TOO_LARGE;
        }
        if (error == SCN_OK && draft->view != NULL) {
                error = note_place(draft, op->uid, &op->parent);
        }
        if (error != SCN_OK) {
                scn_buffer_reset(&draft->addition);
                return error;
        }
        if (op->properties_count > 0) {
                error = append_spelled(draft, &draft->addition, false);
                scn_buffer_reset(&draft->addition);
        }
        draft->added = op->uid;
        return error;
}

static enum scn_error append_other(struct scn_draft *draft, const struct scn_op *op)
{
        enum scn_error error = flush_addition(draft);
        if (error == SCN_OK) {
                error = spell(op, &draft->scratch);
        }
        if (error == SCN_OK && !has_room(draft, draft->scratch.size)) {
                error = SCN_E_TOO_LARGE;
        }
        if (error == SCN_OK && draft->view != NULL && op->kind == SCN_OP_MOVE && is_uid(&op->node)) {
                error = note_place(draft, op->node.uid, &op->parent);
        }
        return error == SCN_OK ? append_spelled(draft, &draft->scratch, false) : error;
}

enum scn_error scn_draft_append(struct scn_draft *draft, const struct scn_op *op)
{
        const struct scn_node_ref *named = op->kind == SCN_OP_ADD ? &op->parent : &op->node;
        if (named->kind == SCN_REF_NONE || (op->kind == SCN_OP_MOVE && op->parent.kind == SCN_REF_NONE)) {
                return SCN_E_BAD_OP;
        }
        if (can_join(draft, op)) {
                return join(draft, op);
        }
        if (draft->ops_count >= draft->client->limits.ops_max) {
                return SCN_E_TOO_MANY_OPS;
        }
        struct scn_op full = *op;
        if (full.kind == SCN_OP_ADD && scn_uid_is_none(full.uid)) {
                full.uid = scn_client_random_uid(draft->client);
        }
        if (full.kind == SCN_OP_TRANSFORM && full.parent.kind == SCN_REF_NONE && draft->view != NULL &&
                is_uid(&full.node)) {
                full.parent = parent_of(draft, full.node.uid);
        }
        const enum scn_error error = full.kind == SCN_OP_ADD ? append_add(draft, &full) : append_other(draft, &full);
        draft->ops_count += error == SCN_OK;
        return error;
}

static struct scn_slice slice_of(const char *text)
{
        return text == NULL ? (struct scn_slice){NULL, 0}
                            : (struct scn_slice){(const uint8_t *)text, (uint32_t)strlen(text)};
}

static void set_position(struct scn_op *op, struct scn_position position)
{
        switch (position.kind) {
        case SCN_POSITION_UNSAID:
                op->place = SCN_PLACE_UNSAID;
                break;
        case SCN_POSITION_FIRST:
                op->place = SCN_PLACE_AFTER;
                break;
        case SCN_POSITION_AFTER:
                op->place = SCN_PLACE_AFTER;
                op->after = scn_ref_of_target(position.after);
                break;
        case SCN_POSITION_INDEX:
                op->place = SCN_PLACE_INDEX;
                op->index = position.index;
                break;
        }
}

static void set_trs(struct scn_op *op, const float *t, const float *r, const float *s)
{
        op->trs = SCN_TRS_IDENTITY;
        op->fields = (t != NULL ? SCN_FIELDS_TRANSLATION : 0) | (r != NULL ? SCN_FIELDS_ROTATION : 0) |
                (s != NULL ? SCN_FIELDS_SCALE : 0);
        memcpy(op->trs.t, t != NULL ? t : op->trs.t, t != NULL ? sizeof op->trs.t : 0);
        memcpy(op->trs.r, r != NULL ? r : op->trs.r, r != NULL ? sizeof op->trs.r : 0);
        memcpy(op->trs.s, s != NULL ? s : op->trs.s, s != NULL ? sizeof op->trs.s : 0);
}

enum scn_error scn_draft_add(struct scn_draft *draft, const struct scn_addition *addition, struct scn_uid *uid_out)
{
        struct scn_op op = {
                .kind = SCN_OP_ADD,
                .parent = scn_ref_of_target(addition->parent),
                .uid = scn_uid_is_none(addition->uid) ? scn_client_random_uid(draft->client) : addition->uid,
                .name = slice_of(addition->name),
        };
        set_position(&op, addition->position);
        set_trs(&op, addition->t, addition->r, addition->s);
        const enum scn_error error = scn_draft_append(draft, &op);
        if (error == SCN_OK && uid_out != NULL) {
                *uid_out = op.uid;
        }
        return error;
}

enum scn_error scn_draft_remove(struct scn_draft *draft, struct scn_target node)
{
        const struct scn_op op = {.kind = SCN_OP_REMOVE, .node = scn_ref_of_target(node)};
        return scn_draft_append(draft, &op);
}

enum scn_error scn_draft_move(struct scn_draft *draft, struct scn_target node, struct scn_target parent,
        struct scn_position position, uint32_t flags)
{
        struct scn_op op = {
                .kind = SCN_OP_MOVE,
                .node = scn_ref_of_target(node),
                .parent = scn_ref_of_target(parent),
                .keep_world = (flags & SCN_MOVE_KEEP_WORLD) != 0,
                .is_lossy = (flags & SCN_MOVE_LOSSY) != 0,
        };
        set_position(&op, position);
        return scn_draft_append(draft, &op);
}

enum scn_error scn_draft_transform(
        struct scn_draft *draft, struct scn_target node, const float *t, const float *r, const float *s)
{
        struct scn_op op = {.kind = SCN_OP_TRANSFORM, .node = scn_ref_of_target(node)};
        set_trs(&op, t, r, s);
        return scn_draft_append(draft, &op);
}

enum scn_error scn_draft_rename(struct scn_draft *draft, struct scn_target node, const char *name)
{
        const struct scn_op op = {.kind = SCN_OP_RENAME, .node = scn_ref_of_target(node), .name = slice_of(name)};
        return scn_draft_append(draft, &op);
}

/* --- Properties --- */

enum scn_error scn_draft_set(struct scn_draft *draft, struct scn_target node, const char *key, struct scn_slice value)
{
        struct scn_unpacker unpacker = scn_unpacker_from(value);
        if (value.data != NULL) {
                (void)scn_unpack_raw(&unpacker);
        }
        if (key == NULL || (value.data != NULL && !scn_unpack_is_done(&unpacker))) {
                return SCN_E_BAD_OP;
        }
        const struct scn_op op = {
                .kind = SCN_OP_SET,
                .node = scn_ref_of_target(node),
                .key = slice_of(key),
                .value = value,
        };
        return scn_draft_append(draft, &op);
}

/* What was packed into a buffer of this function's caller. */
static enum scn_error set_packed(
        struct scn_draft *draft, struct scn_target node, const char *key, const struct scn_packer *packer)
{
        if (packer->error != SCN_OK) {
                return packer->error;
        }
        return scn_draft_set(
                draft, node, key, (struct scn_slice){packer->buffer->data, (uint32_t)packer->buffer->size});
}

#define SMALL_VALUE_BYTES 64u

enum scn_error scn_draft_set_bool(struct scn_draft *draft, struct scn_target node, const char *key, bool value)
{
        struct scn_buffer buffer;
        scn_buffer_init(&buffer, SMALL_VALUE_BYTES);
        struct scn_packer packer = scn_packer_to(&buffer);
        scn_pack_bool(&packer, value);
        const enum scn_error error = set_packed(draft, node, key, &packer);
        scn_buffer_finish(&buffer);
        return error;
}

enum scn_error scn_draft_set_int(struct scn_draft *draft, struct scn_target node, const char *key, int64_t value)
{
        struct scn_buffer buffer;
        scn_buffer_init(&buffer, SMALL_VALUE_BYTES);
        struct scn_packer packer = scn_packer_to(&buffer);
        scn_pack_int(&packer, value);
        const enum scn_error error = set_packed(draft, node, key, &packer);
        scn_buffer_finish(&buffer);
        return error;
}

enum scn_error scn_draft_set_double(struct scn_draft *draft, struct scn_target node, const char *key, double value)
{
        struct scn_buffer buffer;
        scn_buffer_init(&buffer, SMALL_VALUE_BYTES);
        struct scn_packer packer = scn_packer_to(&buffer);
        scn_pack_double(&packer, value);
        const enum scn_error error = set_packed(draft, node, key, &packer);
        scn_buffer_finish(&buffer);
        return error;
}

enum scn_error scn_draft_set_text(struct scn_draft *draft, struct scn_target node, const char *key, const char *value)
{
        struct scn_buffer buffer;
        scn_buffer_init(&buffer, SCN_MESSAGE_BYTES_MAX);
        struct scn_packer packer = scn_packer_to(&buffer);
        scn_pack_cstring(&packer, value);
        const enum scn_error error = set_packed(draft, node, key, &packer);
        scn_buffer_finish(&buffer);
        return error;
}

enum scn_error scn_draft_set_node(
        struct scn_draft *draft, struct scn_target node, const char *key, struct scn_uid value)
{
        struct scn_buffer buffer;
        scn_buffer_init(&buffer, SMALL_VALUE_BYTES);
        struct scn_packer packer = scn_packer_to(&buffer);
        scn_pack_ext(&packer, SCN_EXT_NODE, value.bytes, sizeof value.bytes);
        const enum scn_error error = set_packed(draft, node, key, &packer);
        scn_buffer_finish(&buffer);
        return error;
}

/* --- Handing in --- */

/* An edit of nothing is an edit too: it is answered. */
static enum scn_error close_draft(struct scn_draft *draft)
{
        enum scn_error error = flush_addition(draft);
        close_part(draft);
        if (error == SCN_OK && draft->task->parts_count == 0) {
                error = open_part(draft, 0);
                if (error == SCN_OK) {
                        draft->task->parts[0].bytes.data[HEAD_BYTES - 1] = 0x90;
                        draft->task->parts[0].start = HEAD_BYTES - 1;
                }
        }
        if (error == SCN_OK && draft->client->pending_bytes + draft->bytes > SCN_CLIENT_PENDING_BYTES_MAX) {
                error = SCN_E_TOO_LARGE;
        }
        return error;
}

enum scn_error scn_draft_submit(struct scn_draft *draft, scn_result_fn callback, void *data, uint64_t *edit_out)
{
        struct scn_client *client = draft->client;
        const enum scn_error error = close_draft(draft);
        if (error == SCN_OK) {
                struct scn_task *task = draft->task;
                draft->task = NULL;
                task->edit = ++client->edits;
                task->bytes = draft->bytes + sizeof *task;
                task->on_result = callback;
                task->data = data;
                if (edit_out != NULL) {
                        *edit_out = task->edit;
                }
                scn_client_add_task(client, task);
                scn_client_own_submitted(client, task);
                scn_client_show(client, task);
        }
        scn_draft_destroy(draft);
        return error;
}
