/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Views of worlds: matrices by uid, without a hierarchy. */

#include "client/client.h"
#include "protocol/base/alloc.h"
#include "protocol/base/index_map.h"
#include "protocol/base/uid.h"
#include "protocol/scene/transform.h"
#include "protocol/wire/columns.h"

#include <string.h>

/* What is known of a node. */
struct row {
        scn_node_id id;
        struct scn_uid uid;
        bool has_world; /* the delta that names it says it, too */
        bool overflows;
        bool is_told; /* whole: it is still there */
        struct scn_affine world;
};

struct scn_worlds {
        struct row *rows; /* owned; in no order */
        size_t count, capacity;
        struct scn_index_map by_id;
        struct scn_index_map by_uid;
        scn_node_id root;                 /* with it all goes */
        struct scn_delta delta;           /* as far as its parts have come */
        struct scn_world_change *changes; /* owned; to be told */
        size_t changes_count, changes_capacity;
};

static uint64_t hash_of_id(scn_node_id id)
{
        return id * UINT64_C(0x9e3779b97f4a7c15) >> 16;
}

static uint64_t hash_of_uid(struct scn_uid uid)
{
        uint64_t half;
        memcpy(&half, uid.bytes + 8, sizeof half);
        return half * UINT64_C(0x9e3779b97f4a7c15) >> 16;
}

static uint64_t hash_id(const void *owner, uint32_t ref)
{
        return hash_of_id(((const struct scn_worlds *)owner)->rows[ref].id);
}

static bool match_id(const void *owner, uint32_t ref, const void *key)
{
        return ((const struct scn_worlds *)owner)->rows[ref].id == *(const scn_node_id *)key;
}

static uint64_t hash_uid(const void *owner, uint32_t ref)
{
        return hash_of_uid(((const struct scn_worlds *)owner)->rows[ref].uid);
}

static bool match_uid(const void *owner, uint32_t ref, const void *key)
{
        return scn_uid_equal(((const struct scn_worlds *)owner)->rows[ref].uid, *(const struct scn_uid *)key);
}

struct scn_worlds *scn_worlds_create(void)
{
        struct scn_worlds *worlds = scn_alloc_zero(1, sizeof *worlds);
        if (worlds != NULL) {
                scn_index_map_init(&worlds->by_id, worlds, hash_id, match_id);
                scn_index_map_init(&worlds->by_uid, worlds, hash_uid, match_uid);
        }
        return worlds;
}

void scn_worlds_destroy(struct scn_worlds *worlds)
{
        if (worlds != NULL) {
                scn_index_map_finish(&worlds->by_id);
                scn_index_map_finish(&worlds->by_uid);
                scn_delta_finish(&worlds->delta);
                scn_free(worlds->rows);
                scn_free(worlds->changes);
                scn_free(worlds);
        }
}

static struct row *find_id(const struct scn_worlds *worlds, scn_node_id id)
{
        const uint32_t ref = scn_index_map_find(&worlds->by_id, hash_of_id(id), &id);
        return ref == SCN_INDEX_MAP_NONE ? NULL : &worlds->rows[ref];
}

static struct row *find_uid(const struct scn_worlds *worlds, struct scn_uid uid)
{
        const uint32_t ref = scn_index_map_find(&worlds->by_uid, hash_of_uid(uid), &uid);
        return ref == SCN_INDEX_MAP_NONE ? NULL : &worlds->rows[ref];
}

/* Room for what a delta can change was made before. */
static void note(struct scn_worlds *worlds, const struct row *row, bool is_gone)
{
        struct scn_world_change *change = &worlds->changes[worlds->changes_count++];
        *change = (struct scn_world_change){.uid = row->uid, .is_gone = is_gone, .overflows = row->overflows};
        if (!is_gone && !row->overflows) {
                scn_affine_to_mat4(&row->world, change->matrix);
        }
}

/* The last row takes its place. */
static void drop(struct scn_worlds *worlds, struct row *row)
{
        const uint32_t ref = (uint32_t)(row - worlds->rows);
        const uint32_t last = (uint32_t)worlds->count - 1;
        note(worlds, row, true);
        scn_index_map_remove(&worlds->by_id, hash_of_id(row->id), ref);
        scn_index_map_remove(&worlds->by_uid, hash_of_uid(row->uid), ref);
        if (ref != last) {
                const struct row *moved = &worlds->rows[last];
                scn_index_map_remove(&worlds->by_id, hash_of_id(moved->id), last);
                scn_index_map_remove(&worlds->by_uid, hash_of_uid(moved->uid), last);
                *row = *moved;
                scn_index_map_add(&worlds->by_id, hash_of_id(row->id), ref);
                scn_index_map_add(&worlds->by_uid, hash_of_uid(row->uid), ref);
        }
        worlds->count--;
}

/* A uid whose former life is not over yet in what we hold is so now. */
static void enter(struct scn_worlds *worlds, const struct scn_delta_node *node)
{
        struct row *known = find_id(worlds, node->id);
        if (known != NULL && scn_uid_equal(known->uid, node->uid)) {
                known->is_told = true;
                return;
        }
        struct row *former = known != NULL ? known : find_uid(worlds, node->uid);
        if (former != NULL) {
                drop(worlds, former);
                former = find_uid(worlds, node->uid);
        }
        if (former != NULL) {
                drop(worlds, former);
        }
        const uint32_t ref = (uint32_t)worlds->count++;
        worlds->rows[ref] = (struct row){.id = node->id, .uid = node->uid, .is_told = true};
        scn_index_map_add(&worlds->by_id, hash_of_id(node->id), ref);
        scn_index_map_add(&worlds->by_uid, hash_of_uid(node->uid), ref);
}

static bool reserve(struct scn_worlds *worlds)
{
        const struct scn_delta *delta = &worlds->delta;
        const size_t rows = worlds->count + delta->nodes_count;
        const size_t changes = 2 * rows + delta->worlds_count + delta->removed_count + delta->left_count;
        return rows < UINT32_MAX / 4 &&
                scn_grow((void **)&worlds->rows, &worlds->capacity, sizeof *worlds->rows, rows, SIZE_MAX) &&
                scn_grow((void **)&worlds->changes, &worlds->changes_capacity, sizeof *worlds->changes, changes,
                        SIZE_MAX) &&
                scn_index_map_reserve(&worlds->by_id, (uint32_t)rows) &&
                scn_index_map_reserve(&worlds->by_uid, (uint32_t)rows);
}

static void drop_ids(struct scn_worlds *worlds, const scn_node_id *ids, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                struct row *row = find_id(worlds, ids[i]);
                while (ids[i] == worlds->root && worlds->count > 0) {
                        drop(worlds, &worlds->rows[0]);
                        row = NULL;
                }
                if (row != NULL) {
                        drop(worlds, row);
                }
        }
}

static void apply(struct scn_worlds *worlds)
{
        const struct scn_delta *delta = &worlds->delta;
        worlds->root = delta->is_whole ? delta->root : worlds->root;
        for (size_t i = 0; i < worlds->count; i++) {
                worlds->rows[i].is_told = !delta->is_whole;
        }
        for (size_t i = 0; i < delta->nodes_count; i++) {
                if (delta->nodes[i].is_new) {
                        enter(worlds, &delta->nodes[i]);
                }
        }
        for (size_t i = 0; i < delta->worlds_count; i++) {
                struct row *row = find_id(worlds, delta->worlds[i].id);
                if (row != NULL) {
                        row->has_world = true;
                        row->overflows = delta->worlds[i].overflows;
                        row->world = delta->worlds[i].world;
                        note(worlds, row, false);
                }
        }
        drop_ids(worlds, delta->removed, delta->removed_count);
        drop_ids(worlds, delta->left, delta->left_count);
        for (size_t i = worlds->count; i-- > 0;) {
                if (!worlds->rows[i].is_told) {
                        drop(worlds, &worlds->rows[i]);
                }
        }
}

static void begin_anew(struct scn_worlds *worlds)
{
        scn_delta_finish(&worlds->delta);
        worlds->changes_count = 0;
}

enum scn_error scn_worlds_take(struct scn_view *view, const struct scn_message_delta *delta)
{
        struct scn_worlds *worlds = view->worlds;
        enum scn_error error = scn_columns_decode(delta->columns, &worlds->delta);
        if (error == SCN_OK && delta->more) {
                return SCN_OK;
        }
        if (error == SCN_OK && !reserve(worlds)) {
                error = SCN_E_NO_MEMORY;
        }
        if (error == SCN_OK) {
                apply(worlds);
                view->is_doubted = false;
                if (worlds->changes_count > 0 && view->on_worlds != NULL && !view->is_dead) {
                        view->on_worlds(view, worlds->changes, (uint32_t)worlds->changes_count, view->data);
                }
        }
        begin_anew(worlds);
        return error;
}

uint32_t scn_view_worlds_count(const struct scn_view *view)
{
        return view->worlds == NULL ? 0 : (uint32_t)view->worlds->count;
}

enum scn_error scn_view_matrix(const struct scn_view *view, struct scn_uid uid, float matrix_out[16])
{
        const struct row *row = view->worlds == NULL ? NULL : find_uid(view->worlds, uid);
        if (row == NULL || !row->has_world) {
                return SCN_E_NO_NODE;
        }
        if (row->overflows) {
                return SCN_E_OVERFLOW;
        }
        scn_affine_to_mat4(&row->world, matrix_out);
        return SCN_OK;
}
