/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "tests/lib/scene.h"

#include "protocol/base/alloc.h"
#include "protocol/base/uid.h"

#include <criterion/criterion.h>
#include <string.h>

struct scn_uid scene_uid(uint32_t number)
{
        struct scn_uid uid = {{0}};
        for (int i = 0; i < 4; i++) {
                uid.bytes[15 - i] = (uint8_t)(number >> (8 * i));
        }
        return uid;
}

struct scn_uid scene_client(uint32_t number)
{
        struct scn_uid uid = scene_uid(number);
        if (number != 0) {
                uid.bytes[0] = 0xc1;
        }
        return uid;
}

struct scn_slice scene_text(const char *text)
{
        return (struct scn_slice){(const uint8_t *)text, text == NULL ? 0 : (uint32_t)strlen(text)};
}

struct scn_slice scene_integer(uint8_t value)
{
        static uint8_t spelled[128];
        spelled[value & 0x7f] = value & 0x7f;
        return (struct scn_slice){&spelled[value & 0x7f], 1};
}

/* A counter is random enough for a name. */
static void count_up(void *data, uint8_t *bytes, size_t size)
{
        static uint32_t count;
        (void)data;
        count++;
        memset(bytes, 0xab, size);
        memcpy(bytes, &count, sizeof count);
}

struct scn_document_options scene_options(void)
{
        return (struct scn_document_options){
                .limits = SCN_LIMITS_DEFAULT,
                .uid = scene_uid(0xd0c),
                .root_uid = scene_uid(1),
                .hash_seed = 7,
                .random = count_up,
        };
}

struct scn_document *scene_create_limited(const struct scn_limits *limits)
{
        struct scn_document_options options = scene_options();
        struct scn_document *document = NULL;
        options.limits = *limits;
        cr_assert_eq(scn_document_create(&options, &document), SCN_OK);
        return document;
}

struct scn_document *scene_create(void)
{
        return scene_create_limited(&SCN_LIMITS_DEFAULT);
}

/* --- Ops --- */

struct scn_node_ref scene_id(scn_node_id id)
{
        return (struct scn_node_ref){.kind = SCN_REF_ID, .id = id};
}

struct scn_node_ref scene_ref(uint32_t uid_number)
{
        return (struct scn_node_ref){.kind = SCN_REF_UID, .uid = scene_uid(uid_number)};
}

struct scn_node_ref scene_path(const char *path)
{
        return (struct scn_node_ref){.kind = SCN_REF_PATH, .path = scene_text(path)};
}

bool scene_is_text(struct scn_slice slice, const char *text)
{
        return scn_slice_equal(slice, scene_text(text));
}

scn_node_id scene_any_node(const struct scn_document *document, struct scn_random *random)
{
        const scn_node_id root = scn_document_root(document);
        uint32_t left = scn_random_below(random, scn_document_nodes_count(document));
        scn_node_id at = root;
        while (left-- > 0) {
                at = scn_document_walk(document, root, at);
        }
        return at;
}

struct scn_op scene_add(scn_node_id parent, uint32_t uid_number, const char *name)
{
        return (struct scn_op){
                .kind = SCN_OP_ADD,
                .parent = scene_id(parent),
                .uid = uid_number == 0 ? (struct scn_uid){{0}} : scene_uid(uid_number),
                .name = scene_text(name),
        };
}

struct scn_op scene_remove(scn_node_id id)
{
        return (struct scn_op){.kind = SCN_OP_REMOVE, .node = scene_id(id)};
}

struct scn_op scene_move(scn_node_id id, scn_node_id parent)
{
        return (struct scn_op){.kind = SCN_OP_MOVE, .node = scene_id(id), .parent = scene_id(parent)};
}

struct scn_op scene_move_after(scn_node_id id, scn_node_id parent, scn_node_id after)
{
        struct scn_op op = scene_move(id, parent);
        op.place = SCN_PLACE_AFTER;
        op.after = after == 0 ? (struct scn_node_ref){.kind = SCN_REF_NONE} : scene_id(after);
        return op;
}

struct scn_op scene_move_index(scn_node_id id, scn_node_id parent, uint32_t index)
{
        struct scn_op op = scene_move(id, parent);
        op.place = SCN_PLACE_INDEX;
        op.index = index;
        return op;
}

struct scn_op scene_translate(scn_node_id id, float x, float y, float z)
{
        return (struct scn_op){
                .kind = SCN_OP_TRANSFORM,
                .node = scene_id(id),
                .fields = SCN_FIELDS_TRANSLATION,
                .trs = {.t = {x, y, z}},
        };
}

struct scn_op scene_rename(scn_node_id id, const char *name)
{
        return (struct scn_op){.kind = SCN_OP_RENAME, .node = scene_id(id), .name = scene_text(name)};
}

struct scn_op scene_set(scn_node_id id, const char *key, struct scn_slice value)
{
        return (struct scn_op){.kind = SCN_OP_SET, .node = scene_id(id), .key = scene_text(key), .value = value};
}

/* --- Edits --- */

static struct scn_changes *apply_as(
        struct scn_document *document, uint32_t client, const struct scn_op *ops, uint32_t count)
{
        const struct scn_edit edit = {.ops = ops, .ops_count = count, .client = scene_client(client)};
        struct scn_changes *changes = NULL;
        struct scn_refusal refusal;
        const enum scn_error error = scn_document_apply(document, &edit, &changes, &refusal);
        cr_assert_eq(error, SCN_OK, "op %u: %s", refusal.op, scn_error_text(error));
        return changes;
}

struct scn_changes *scene_apply(struct scn_document *document, const struct scn_op *ops, uint32_t count)
{
        return apply_as(document, 1, ops, count);
}

scn_revision scene_do_as(struct scn_document *document, uint32_t client, struct scn_op op)
{
        struct scn_changes *changes = apply_as(document, client, &op, 1);
        const scn_revision revision = scn_changes_revision(changes);
        scn_document_settle(document, changes);
        return revision;
}

scn_revision scene_do(struct scn_document *document, struct scn_op op)
{
        return scene_do_as(document, 1, op);
}

scn_revision scene_do_all(struct scn_document *document, const struct scn_op *ops, uint32_t count)
{
        struct scn_changes *changes = scene_apply(document, ops, count);
        const scn_revision revision = scn_changes_revision(changes);
        scn_document_settle(document, changes);
        return revision;
}

scn_node_id scene_new(struct scn_document *document, scn_node_id parent, uint32_t uid_number, const char *name)
{
        const scn_node_id id = scn_document_next_id(document);
        (void)scene_do(document, scene_add(parent, uid_number, name));
        cr_assert(scn_document_has(document, id));
        return id;
}

enum scn_error scene_refused(struct scn_document *document, uint32_t client, struct scn_op op)
{
        const struct scn_edit edit = {.ops = &op, .ops_count = 1, .client = scene_client(client)};
        struct scn_buffer before;
        struct scn_buffer after;
        struct scn_changes *changes = NULL;
        struct scn_refusal refusal;
        scene_dump(document, &before);
        const enum scn_error error = scn_document_apply(document, &edit, &changes, &refusal);
        cr_assert_neq(error, SCN_OK);
        cr_assert_eq(refusal.op, 0);
        scene_dump(document, &after);
        cr_assert(before.size == after.size && memcmp(before.data, after.data, before.size) == 0,
                "a refused edit left a trace");
        scn_buffer_finish(&before);
        scn_buffer_finish(&after);
        scn_document_check(document);
        return error;
}

/* --- Snapshots --- */

static void put(struct scn_buffer *dump, const void *data, size_t size)
{
        cr_assert_eq(scn_buffer_append(dump, data, size), SCN_OK);
}

#define PUT(dump, value) put(dump, &(value), sizeof(value))

static void put_slice(struct scn_buffer *dump, struct scn_slice slice)
{
        const uint32_t size = slice.data == NULL ? UINT32_MAX : slice.size;
        PUT(dump, size);
        put(dump, slice.data, slice.size);
}

static void put_stamp(struct scn_buffer *dump, const struct scn_snapshot_stamp *stamp)
{
        PUT(dump, stamp->revision);
        PUT(dump, stamp->writer);
        PUT(dump, stamp->client);
}

static void put_node(struct scn_buffer *dump, const struct scn_snapshot_node *node)
{
        PUT(dump, node->id);
        PUT(dump, node->uid);
        PUT(dump, node->parent);
        PUT(dump, node->birth);
        PUT(dump, node->subtree_rev);
        for (int i = 0; i < SCN_FIELD_COUNT; i++) {
                put_stamp(dump, &node->stamps[i]);
        }
        put_slice(dump, node->name);
        PUT(dump, node->trs);
        PUT(dump, node->properties_count);
}

static void put_past(struct scn_buffer *dump, const struct scn_snapshot_past *past)
{
        PUT(dump, past->kind);
        PUT(dump, past->id);
        PUT(dump, past->uid);
        PUT(dump, past->parent);
        PUT(dump, past->revision);
        PUT(dump, past->since);
        PUT(dump, past->client);
}

static void put_row(struct scn_buffer *dump, const struct scn_snapshot_row *row)
{
        PUT(dump, row->kind);
        switch (row->kind) {
        case SCN_ROW_HEADER:
                PUT(dump, row->as.header.uid);
                PUT(dump, row->as.header.revision);
                PUT(dump, row->as.header.horizon);
                PUT(dump, row->as.header.next_id);
                PUT(dump, row->as.header.nodes_count);
                PUT(dump, row->as.header.digests);
                break;
        case SCN_ROW_CLIENT:
                PUT(dump, row->as.client);
                break;
        case SCN_ROW_NODE:
                put_node(dump, &row->as.node);
                break;
        case SCN_ROW_PROPERTY:
                put_slice(dump, row->as.property.key);
                put_slice(dump, row->as.property.value);
                put_stamp(dump, &row->as.property.stamp);
                break;
        case SCN_ROW_PAST:
                put_past(dump, &row->as.past);
                break;
        case SCN_ROW_FEED:
                PUT(dump, row->as.feed);
                break;
        case SCN_ROW_END:
                break;
        }
}

void scene_dump(const struct scn_document *document, struct scn_buffer *dump)
{
        struct scn_snapshot_reader *reader = scn_snapshot_reader_create(document);
        cr_assert_not_null(reader);
        scn_buffer_init(dump, SIZE_MAX / 2);
        struct scn_snapshot_row row;
        do {
                row = scn_snapshot_next(reader);
                put_row(dump, &row);
        } while (row.kind != SCN_ROW_END);
        scn_snapshot_reader_destroy(reader);
}

bool scene_is_same(const struct scn_document *a, const struct scn_document *b)
{
        struct scn_buffer dump_a;
        struct scn_buffer dump_b;
        scene_dump(a, &dump_a);
        scene_dump(b, &dump_b);
        const bool is_same = dump_a.size == dump_b.size && memcmp(dump_a.data, dump_b.data, dump_a.size) == 0;
        scn_buffer_finish(&dump_a);
        scn_buffer_finish(&dump_b);
        return is_same;
}

struct scn_document *scene_copy(const struct scn_document *document)
{
        struct scn_document_options options = scene_options();
        struct scn_snapshot_loader *loader = NULL;
        options.limits = *scn_document_limits(document);
        cr_assert_eq(scn_snapshot_loader_create(&options, &loader), SCN_OK);
        struct scn_snapshot_reader *reader = scn_snapshot_reader_create(document);
        cr_assert_not_null(reader);
        struct scn_snapshot_row row;
        do {
                row = scn_snapshot_next(reader);
                cr_assert_eq(scn_snapshot_load(loader, &row), SCN_OK, "row of kind %d", (int)row.kind);
        } while (row.kind != SCN_ROW_END);
        struct scn_document *copy = scn_snapshot_loader_take(loader);
        scn_snapshot_loader_destroy(loader);
        scn_snapshot_reader_destroy(reader);
        return copy;
}

/* --- Views --- */

struct scene_view scene_view_create(uint32_t root_uid_number, uint32_t mask)
{
        const struct scn_document_options options = scene_options();
        struct scene_view view = {NULL, scene_uid(root_uid_number), mask, true};
        cr_assert_eq(scn_document_create_replica(&options, &view.replica), SCN_OK);
        return view;
}

void scene_view_finish(struct scene_view *view)
{
        scn_document_destroy(view->replica);
}

void scene_view_check(const struct scene_view *view, const struct scn_document *document)
{
        const scn_node_id root = scn_document_find_uid(document, view->root);
        const scn_node_id own = scn_document_root(view->replica);
        scn_document_check(view->replica);
        cr_assert_eq(root, own, "the view's root is %u, the replica's %u", root, own);
        cr_assert_eq(scn_document_revision(document), scn_document_revision(view->replica));
        if (root == 0) {
                cr_assert_eq(scn_document_nodes_count(view->replica), 0);
                return;
        }
        const uint32_t mask = view->mask | SCN_MASK_STRUCTURE;
        const struct scn_digests server = scn_document_subtree_digests(document, root, mask);
        const struct scn_digests mirror = scn_document_subtree_digests(view->replica, own, mask);
        for (int i = 0; i < SCN_CHANNEL_COUNT; i++) {
                cr_assert(memcmp(&server.channels[i], &mirror.channels[i], sizeof server.channels[i]) == 0,
                        "the digest of channel %d differs", i);
        }
        for (scn_node_id id = root; id != 0; id = scn_document_walk(document, root, id)) {
                cr_assert(scn_document_has(view->replica, id), "the replica lacks node %u", id);
        }
}

void scene_view_take(struct scene_view *view, struct scn_document *document, struct scn_delta *delta)
{
        const struct scn_delta_request request = {
                .root = view->root,
                .mask = view->mask,
                .is_fresh = view->is_fresh,
                .from = scn_document_revision(view->replica),
        };
        const enum scn_error computed = scn_delta_compute(document, &request, delta);
        cr_assert_eq(computed, SCN_OK, "%s", scn_error_text(computed));
        const enum scn_error applied = scn_document_apply_delta(view->replica, delta);
        cr_assert_eq(applied, SCN_OK, "%s", scn_error_text(applied));
        view->is_fresh = false;
        scene_view_check(view, document);
}

void scene_view_update(struct scene_view *view, struct scn_document *document)
{
        struct scn_delta delta = {0};
        scene_view_take(view, document, &delta);
        scn_delta_finish(&delta);
}
