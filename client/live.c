/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What is only now: telling one's own presence and previews, and keeping what views are told of everybody's. */

#include "client/client.h"
#include "client/draft.h"
#include "client/failure.h"
#include "protocol/base/alloc.h"
#include "protocol/base/uid.h"
#include "protocol/scene/transform.h"
#include "protocol/wire/ops.h"

#include <string.h>

/* As many previews as all sessions of a server of ours can have; another may not fill our memory. */
#define ROWS_MAX (4096u * SCN_LIVE_previews_max)

/* --- One's own presence --- */

static struct scn_slice slice_of(const struct scn_buffer *buffer)
{
        return (struct scn_slice){buffer->size == 0 ? NULL : buffer->data, (uint32_t)buffer->size};
}

static bool is_same(struct scn_slice a, struct scn_slice b)
{
        return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

enum scn_error scn_client_set_presence(struct scn_client *client, const void *map, size_t map_size)
{
        struct scn_buffer merged;
        if (map_size > SCN_MESSAGE_BYTES_MAX) {
                return SCN_E_TOO_LARGE;
        }
        const struct scn_slice change = {map, (uint32_t)map_size};
        scn_buffer_init(&merged, SCN_LIVE_presence_bytes_max);
        const enum scn_error error =
                scn_presence_merge(slice_of(&client->own.presence), change, &client->limits, &merged);
        if (error != SCN_OK) {
                scn_buffer_finish(&merged);
                return error;
        }
        scn_buffer_finish(&client->own.presence);
        client->own.presence = merged;
        return SCN_OK;
}

/* The value of a key; data == NULL: it is not there. */
static struct scn_slice value_of(struct scn_slice map, struct scn_slice key)
{
        struct scn_unpacker unpacker = scn_unpacker_from(map);
        const uint32_t count = map.data == NULL ? 0 : scn_unpack_map(&unpacker);
        for (uint32_t i = 0; i < count; i++) {
                const struct scn_slice at = scn_unpack_text(&unpacker, UINT32_MAX);
                const struct scn_slice value = scn_unpack_raw(&unpacker);
                if (is_same(at, key)) {
                        return value;
                }
        }
        return (struct scn_slice){NULL, 0};
}

/* Packs the keys of `from` that are missing from `to` or have another value there; for a removal only those that are
 * missing, each with nil. Returns how many; packer NULL: only that. */
static uint32_t pack_changes(struct scn_packer *packer, struct scn_slice from, struct scn_slice to, bool is_removal)
{
        struct scn_unpacker unpacker = scn_unpacker_from(from);
        const uint32_t count = from.data == NULL ? 0 : scn_unpack_map(&unpacker);
        uint32_t packed = 0;
        for (uint32_t i = 0; i < count; i++) {
                const struct scn_slice key = scn_unpack_text(&unpacker, UINT32_MAX);
                const struct scn_slice value = scn_unpack_raw(&unpacker);
                const struct scn_slice other = value_of(to, key);
                if (is_removal ? other.data != NULL : is_same(other, value)) {
                        continue;
                }
                packed++;
                if (packer != NULL) {
                        scn_pack_text(packer, key);
                        if (is_removal) {
                                scn_pack_nil(packer);
                        } else {
                                scn_pack_raw(packer, value);
                        }
                }
        }
        return packed;
}

static enum scn_error send_presence(struct scn_client *client)
{
        struct scn_live_own *own = &client->own;
        const struct scn_slice now = slice_of(&own->presence);
        const struct scn_slice then = slice_of(&own->sent);
        struct scn_message message;
        struct scn_buffer map;
        struct scn_buffer sent;
        scn_buffer_init(&map, 4u * SCN_LIVE_presence_bytes_max);
        scn_buffer_init(&sent, SCN_LIVE_presence_bytes_max);
        struct scn_packer packer = scn_packer_to(&map);
        scn_pack_map(&packer, pack_changes(NULL, now, then, false) + pack_changes(NULL, then, now, true));
        (void)pack_changes(&packer, now, then, false);
        (void)pack_changes(&packer, then, now, true);
        scn_message_init(&message, SCN_MESSAGE_presence);
        message.as.presence.map = slice_of(&map);
        enum scn_error error = packer.error;
        if (error == SCN_OK && now.size > 0) {
                error = scn_buffer_append(&sent, now.data, now.size);
        }
        if (error == SCN_OK) {
                error = scn_client_send(client, &message);
        }
        if (error == SCN_OK) {
                scn_buffer_finish(&own->sent);
                own->sent = sent;
        } else {
                scn_buffer_finish(&sent);
        }
        scn_buffer_finish(&map);
        return error;
}

/* --- One's own previews --- */

static struct scn_own_preview *find_own(struct scn_client *client, struct scn_uid node)
{
        for (size_t i = 0; i < client->own.previews_count; i++) {
                if (scn_uid_equal(client->own.previews[i].node, node)) {
                        return &client->own.previews[i];
                }
        }
        return NULL;
}

static void drop_own(struct scn_client *client, struct scn_own_preview *preview)
{
        *preview = client->own.previews[--client->own.previews_count];
}

static enum scn_error check_preview(struct scn_uid node, uint32_t fields, struct scn_trs *trs)
{
        enum scn_error error = SCN_OK;
        bool was_changed;
        if (scn_uid_is_none(node) || fields == 0 || (fields & ~SCN_FIELDS_TRS) != 0) {
                return SCN_E_RANGE;
        }
        if ((fields & SCN_FIELDS_TRANSLATION) != 0) {
                error = scn_transform_check(trs->t, 3);
        }
        if ((fields & SCN_FIELDS_ROTATION) != 0 && error == SCN_OK) {
                error = scn_quaternion_normalise(trs->r, &was_changed);
        }
        if ((fields & SCN_FIELDS_SCALE) != 0 && error == SCN_OK) {
                error = scn_transform_check(trs->s, 3);
        }
        return error;
}

enum scn_error scn_client_preview(
        struct scn_client *client, struct scn_uid node, uint32_t fields, const struct scn_trs *trs)
{
        struct scn_live_own *own = &client->own;
        struct scn_own_preview *preview = find_own(client, node);
        struct scn_trs checked = *trs;
        const enum scn_error error = check_preview(node, fields, &checked);
        if (error != SCN_OK) {
                return error;
        }
        if (preview == NULL) {
                size_t running = 0;
                for (size_t i = 0; i < own->previews_count; i++) {
                        running += own->previews[i].fields != 0;
                }
                if (running >= SCN_LIVE_previews_max) {
                        return SCN_E_TOO_MANY_PREVIEWS;
                }
                if (!scn_grow((void **)&own->previews, &own->previews_capacity, sizeof *own->previews,
                            own->previews_count + 1, SIZE_MAX)) {
                        return SCN_E_NO_MEMORY;
                }
                preview = &own->previews[own->previews_count++];
                *preview = (struct scn_own_preview){.node = node};
        }
        preview->fields = fields;
        preview->trs = checked;
        preview->is_due = true;
        preview->edit = 0;
        return SCN_OK;
}

void scn_client_end_preview(struct scn_client *client, struct scn_uid node)
{
        struct scn_own_preview *preview = find_own(client, node);
        if (preview != NULL && preview->is_sent) {
                preview->fields = 0;
                preview->is_due = true;
                preview->edit = 0;
        } else if (preview != NULL) {
                drop_own(client, preview);
        }
}

static bool has_due_preview(const struct scn_client *client)
{
        bool is_due = false;
        for (size_t i = 0; i < client->own.previews_count; i++) {
                is_due = is_due || client->own.previews[i].is_due;
        }
        return is_due;
}

static enum scn_error send_previews(struct scn_client *client)
{
        struct scn_live_own *own = &client->own;
        struct scn_message message;
        struct scn_buffer nodes;
        uint32_t count = 0;
        for (size_t i = 0; i < own->previews_count; i++) {
                count += own->previews[i].is_due;
        }
        scn_buffer_init(&nodes, SCN_MESSAGE_BYTES_MAX / 4);
        struct scn_packer packer = scn_packer_to(&nodes);
        scn_pack_array(&packer, count);
        for (size_t i = 0; i < own->previews_count; i++) {
                const struct scn_own_preview *at = &own->previews[i];
                const struct scn_preview_wish wish = {
                        .node = scn_ref_of_target(SCN_BY_UID(at->node)), .fields = at->fields, .trs = at->trs};
                if (at->is_due) {
                        scn_pack_preview_wish(&packer, &wish);
                }
        }
        scn_message_init(&message, SCN_MESSAGE_preview);
        message.as.preview.nodes = slice_of(&nodes);
        const enum scn_error error = packer.error != SCN_OK ? packer.error : scn_client_send(client, &message);
        for (size_t i = own->previews_count; i-- > 0 && error == SCN_OK;) {
                struct scn_own_preview *at = &own->previews[i];
                at->is_sent = at->is_sent || at->is_due;
                at->is_due = false;
                if (at->fields == 0) {
                        drop_own(client, at);
                }
        }
        scn_buffer_finish(&nodes);
        return error;
}

bool scn_client_send_own(struct scn_client *client)
{
        const bool has_presence = !is_same(slice_of(&client->own.presence), slice_of(&client->own.sent));
        if (client->document == NULL || !(has_presence || has_due_preview(client))) {
                return false;
        }
        client->own.has_spoken = true;
        return (has_presence ? send_presence(client) : send_previews(client)) == SCN_OK;
}

/* One that an edit in flight will end is left to that edit. */
void scn_client_unsend_own(struct scn_client *client)
{
        scn_buffer_reset(&client->own.sent);
        client->own.has_spoken = false;
        for (size_t i = client->own.previews_count; i-- > 0;) {
                struct scn_own_preview *at = &client->own.previews[i];
                at->is_sent = false;
                at->is_due = at->edit == 0;
                if (at->fields == 0) {
                        drop_own(client, at);
                }
        }
}

static void end_with(struct scn_client *client, const struct scn_task *task, const struct scn_ops *ops)
{
        for (size_t i = 0; i < ops->count; i++) {
                const struct scn_op *op = &ops->ops[i];
                const bool is_written = op->kind == SCN_OP_TRANSFORM || op->kind == SCN_OP_MOVE;
                struct scn_own_preview *preview =
                        is_written && op->node.kind == SCN_REF_UID ? find_own(client, op->node.uid) : NULL;
                if (preview != NULL && preview->fields != 0) {
                        preview->edit = task->edit;
                        preview->is_due = false;
                }
        }
}

void scn_client_own_submitted(struct scn_client *client, const struct scn_task *task)
{
        for (uint32_t i = 0; i < task->parts_count && client->own.previews_count > 0; i++) {
                const struct scn_draft_part *part = &task->parts[i];
                const struct scn_slice array = {
                        part->bytes.data + part->start, (uint32_t)part->bytes.size - part->start};
                struct scn_ops ops = {0};
                struct scn_ops_fault fault;
                if (scn_ops_decode(array, &client->limits, &ops, &fault) == SCN_OK) {
                        end_with(client, task, &ops);
                }
                scn_ops_finish(&ops);
        }
}

/* After a refusal it runs on. */
void scn_client_own_answered(struct scn_client *client, const struct scn_task *task, bool is_accepted)
{
        for (size_t i = client->own.previews_count; i-- > 0;) {
                struct scn_own_preview *at = &client->own.previews[i];
                if (at->edit == 0 || at->edit != task->edit) {
                        continue;
                }
                at->edit = 0;
                at->is_due = true; /* maybe the newest has not been sent */
                if (is_accepted) {
                        drop_own(client, at);
                }
        }
}

/* --- What views are told --- */

static void free_row(struct scn_live_row *row)
{
        scn_free(row->bytes);
        scn_free(row);
}

static void clear(struct scn_live_table *table)
{
        for (size_t i = 0; i < table->count; i++) {
                free_row(table->rows[i]);
        }
        scn_free(table->rows);
        *table = (struct scn_live_table){0};
}

void scn_view_clear_live(struct scn_view *view)
{
        view->live_mask |= (view->live.presences.count > 0 ? SCN_MASK_PRESENCE : 0) |
                (view->live.locks.count > 0 ? SCN_MASK_LOCKS : 0) |
                (view->live.previews.count > 0 ? SCN_MASK_PREVIEW : 0);
        clear(&view->live.presences);
        clear(&view->live.locks);
        clear(&view->live.previews);
}

static int compare(const struct scn_live_row *a, const struct scn_live_row *b)
{
        return a->session != b->session ? (a->session > b->session) - (a->session < b->session)
                                        : memcmp(&a->node, &b->node, sizeof a->node);
}

static size_t place_of(const struct scn_live_table *table, const struct scn_live_row *key)
{
        size_t first = 0;
        size_t count = table->count;
        while (count > 0) {
                const size_t half = count / 2;
                const bool is_before = compare(table->rows[first + half], key) < 0;
                first += is_before ? half + 1 : 0;
                count = is_before ? count - half - 1 : half;
        }
        return first;
}

static void forget(struct scn_live_table *table, const struct scn_live_row *key)
{
        const size_t at = place_of(table, key);
        if (at < table->count && compare(table->rows[at], key) == 0) {
                free_row(table->rows[at]);
                table->count--;
                memmove(table->rows + at, table->rows + at + 1, (table->count - at) * sizeof *table->rows);
        }
}

static struct scn_live_row *copy_row(const struct scn_live_row *told, struct scn_slice author, struct scn_slice map)
{
        struct scn_live_row *row = scn_alloc(sizeof *row);
        uint8_t *bytes = scn_alloc((size_t)author.size + map.size);
        if (row == NULL || bytes == NULL) {
                scn_free(row);
                scn_free(bytes);
                return NULL;
        }
        *row = *told;
        row->bytes = bytes;
        row->author_size = author.size;
        row->map_size = map.size;
        if (author.size > 0) {
                memcpy(bytes, author.data, author.size);
        }
        if (map.size > 0) {
                memcpy(bytes + author.size, map.data, map.size);
        }
        return row;
}

static enum scn_error put(
        struct scn_live_table *table, const struct scn_live_row *told, struct scn_slice author, struct scn_slice map)
{
        const size_t at = place_of(table, told);
        const bool is_there = at < table->count && compare(table->rows[at], told) == 0;
        if (!is_there && table->count >= ROWS_MAX) {
                return SCN_E_TOO_LARGE;
        }
        struct scn_live_row *row = copy_row(told, author, map);
        if (row == NULL ||
                !scn_grow((void **)&table->rows, &table->capacity, sizeof *table->rows, table->count + !is_there,
                        ROWS_MAX)) {
                if (row != NULL) {
                        free_row(row);
                }
                return SCN_E_NO_MEMORY;
        }
        if (is_there) {
                free_row(table->rows[at]);
        } else {
                memmove(table->rows + at + 1, table->rows + at, (table->count - at) * sizeof *table->rows);
                table->count++;
        }
        table->rows[at] = row;
        return SCN_OK;
}

static enum scn_error take_presence(struct scn_view *view, struct scn_unpacker *unpacker)
{
        const struct scn_live_presence told = scn_unpack_live_presence(unpacker);
        const struct scn_live_row row = {.session = told.session};
        if (unpacker->error == SCN_OK && told.map.data != NULL) {
                return put(&view->live.presences, &row, told.author, told.map);
        }
        forget(&view->live.presences, &row);
        return unpacker->error;
}

static enum scn_error take_lock(struct scn_view *view, struct scn_unpacker *unpacker)
{
        const struct scn_live_lock told = scn_unpack_live_lock(unpacker);
        const struct scn_live_row row = {
                .session = told.session,
                .node = told.node,
                .mask = told.mask,
                .has_subtree = told.has_subtree,
                .until_ms = view->client->now_ms + told.left_ms,
        };
        if (unpacker->error == SCN_OK && told.author.data != NULL) {
                return put(&view->live.locks, &row, told.author, (struct scn_slice){NULL, 0});
        }
        forget(&view->live.locks, &row);
        return unpacker->error;
}

static enum scn_error take_preview(struct scn_view *view, struct scn_unpacker *unpacker)
{
        const struct scn_live_preview told = scn_unpack_live_preview(unpacker);
        const struct scn_live_row row = {
                .session = told.session, .node = told.node, .fields = told.fields, .trs = told.trs};
        const struct scn_slice none = {NULL, 0};
        if (unpacker->error == SCN_OK && told.fields != 0) {
                return put(&view->live.previews, &row, none, none);
        }
        forget(&view->live.previews, &row);
        return unpacker->error;
}

static enum scn_error take_array(struct scn_view *view, struct scn_slice array, uint32_t mask,
        enum scn_error (*take)(struct scn_view *view, struct scn_unpacker *unpacker))
{
        struct scn_unpacker unpacker = scn_unpacker_from(array);
        const uint32_t count = array.data == NULL ? 0 : scn_unpack_array(&unpacker);
        enum scn_error error = array.data == NULL ? SCN_OK : unpacker.error;
        for (uint32_t i = 0; i < count && error == SCN_OK; i++) {
                error = take(view, &unpacker);
        }
        view->live_mask |= count > 0 ? mask : 0;
        return error;
}

enum scn_error scn_view_take_live(struct scn_view *view, const struct scn_message_live *live)
{
        if (view->is_ended || !view->is_viewed) {
                return SCN_OK;
        }
        if (live->whole) {
                scn_view_clear_live(view);
        }
        enum scn_error error = take_array(view, live->presence, SCN_MASK_PRESENCE, take_presence);
        if (error == SCN_OK) {
                error = take_array(view, live->locks, SCN_MASK_LOCKS, take_lock);
        }
        if (error == SCN_OK) {
                error = take_array(view, live->previews, SCN_MASK_PREVIEW, take_preview);
        }
        return error;
}

/* --- Reading --- */

uint32_t scn_view_presences_count(const struct scn_view *view)
{
        return (uint32_t)view->live.presences.count;
}

uint32_t scn_view_locks_count(const struct scn_view *view)
{
        return (uint32_t)view->live.locks.count;
}

uint32_t scn_view_previews_count(const struct scn_view *view)
{
        return (uint32_t)view->live.previews.count;
}

static struct scn_slice author_of(const struct scn_live_row *row)
{
        return (struct scn_slice){row->bytes, row->author_size};
}

bool scn_view_presence(const struct scn_view *view, uint32_t index, struct scn_presence_info *info_out)
{
        if (index >= view->live.presences.count) {
                return false;
        }
        const struct scn_live_row *row = view->live.presences.rows[index];
        *info_out = (struct scn_presence_info){
                .session = row->session,
                .is_own = row->session == view->client->session,
                .author = author_of(row),
                .map = {row->bytes + row->author_size, row->map_size},
        };
        return true;
}

bool scn_view_lock(const struct scn_view *view, uint32_t index, struct scn_lock_info *info_out)
{
        if (index >= view->live.locks.count) {
                return false;
        }
        const struct scn_live_row *row = view->live.locks.rows[index];
        const uint64_t now_ms = view->client->now_ms;
        *info_out = (struct scn_lock_info){
                .node = row->node,
                .session = row->session,
                .is_own = row->session == view->client->session,
                .author = author_of(row),
                .mask = row->mask,
                .has_subtree = row->has_subtree,
                .left_ms = row->until_ms > now_ms ? row->until_ms - now_ms : 0,
        };
        return true;
}

bool scn_view_preview(const struct scn_view *view, uint32_t index, struct scn_preview_info *info_out)
{
        if (index >= view->live.previews.count) {
                return false;
        }
        const struct scn_live_row *row = view->live.previews.rows[index];
        *info_out = (struct scn_preview_info){
                .session = row->session,
                .is_own = row->session == view->client->session,
                .node = row->node,
                .fields = row->fields,
                .trs = row->trs,
        };
        return true;
}
