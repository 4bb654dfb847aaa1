/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Builds a document from the rows of a snapshot. A file may be damaged, so nothing is believed: each row is
 * checked as it comes, the whole at the end. */

#include "protocol/base/memo.h"
#include "protocol/scene/mutation.h"
#include "protocol/scene/order.h"
#include "protocol/scene/snapshot.h"
#include "protocol/scene/transform.h"
#include "protocol/scene/value.h"

#include <string.h>

struct scn_snapshot_loader {
        struct scn_document *document; /* owned until taken */
        struct scn_snapshot_header header;
        int kind;                 /* of the last row; -1 before the first */
        uint32_t slot;            /* of the last node */
        uint32_t properties_left; /* of it, to come */
        uint32_t feed_left;
        bool is_done;
        struct scn_memo moved; /* id -> number of its newest MOVED entry */
};

enum scn_error scn_snapshot_loader_create(
        const struct scn_document_options *options, struct scn_snapshot_loader **loader_out)
{
        struct scn_snapshot_loader *loader = scn_alloc_zero(1, sizeof *loader);
        if (loader == NULL) {
                return SCN_E_NO_MEMORY;
        }
        loader->kind = -1;
        loader->slot = SCN_NONE;
        const enum scn_error error = scn_document_create_empty(options, &loader->document);
        if (error != SCN_OK) {
                scn_free(loader);
                return error;
        }
        *loader_out = loader;
        return SCN_OK;
}

void scn_snapshot_loader_destroy(struct scn_snapshot_loader *loader)
{
        if (loader != NULL) {
                scn_memo_finish(&loader->moved);
                scn_document_destroy(loader->document);
                scn_free(loader);
        }
}

struct scn_document *scn_snapshot_loader_take(struct scn_snapshot_loader *loader)
{
        SCN_ASSERT(loader->is_done && loader->document != NULL);
        struct scn_document *document = loader->document;
        loader->document = NULL;
        return document;
}

static enum scn_error load_header(struct scn_snapshot_loader *loader, const struct scn_snapshot_header *header)
{
        struct scn_document *document = loader->document;
        if (header->revision > SCN_REVISION_MAX || header->horizon > header->revision || header->next_id == 0) {
                return SCN_E_BAD_SNAPSHOT;
        }
        if (header->nodes_count > document->limits.nodes_max) {
                return SCN_E_TOO_MANY_NODES;
        }
        loader->header = *header;
        document->uid = header->uid;
        document->revision = header->revision;
        document->horizon = header->horizon;
        document->next_id = header->next_id;
        return SCN_OK;
}

static enum scn_error load_client(struct scn_snapshot_loader *loader, struct scn_uid client)
{
        struct scn_document *document = loader->document;
        const uint32_t count = document->clients_count;
        uint32_t number;
        if (count > document->limits.clients_max) {
                return SCN_E_TOO_MANY_CLIENTS;
        }
        const enum scn_error error = scn_table_client(document, client, &number);
        return error == SCN_OK && number != count ? SCN_E_BAD_SNAPSHOT : error;
}

static bool read_stamp(
        const struct scn_snapshot_loader *loader, const struct scn_snapshot_stamp *row, struct scn_stamp *stamp_out)
{
        *stamp_out = scn_stamp_make(row->revision, row->writer, row->client);
        return row->revision <= loader->header.revision && row->writer <= loader->header.revision &&
                row->client < loader->document->clients_count;
}

/* --- Nodes --- */

static bool is_good_node(const struct scn_snapshot_loader *loader, const struct scn_snapshot_node *row)
{
        const struct scn_document *document = loader->document;
        const scn_revision revision = loader->header.revision;
        bool is_good = row->id != 0 && row->id < loader->header.next_id && !scn_uid_is_none(row->uid) &&
                row->birth <= revision && row->name.size <= document->limits.name_bytes_max &&
                (row->name.data == NULL || scn_utf8_is_valid(row->name.data, row->name.size)) &&
                scn_transform_check(row->trs.t, 3) == SCN_OK && scn_transform_check(row->trs.r, 4) == SCN_OK &&
                scn_transform_check(row->trs.s, 3) == SCN_OK && scn_table_find_id(document, row->id) == SCN_NONE &&
                scn_table_find_uid(document, row->uid) == SCN_NONE &&
                document->nodes_count < loader->header.nodes_count &&
                (row->parent == 0) == (document->root == SCN_NONE);
        for (uint32_t channel = 0; channel < SCN_CHANNEL_COUNT; channel++) {
                is_good = is_good && row->subtree_rev[channel] <= revision;
        }
        for (uint32_t field = 0; field < SCN_FIELD_COUNT; field++) {
                struct scn_stamp stamp;
                is_good = is_good &&
                        row->stamps[field].revision <= row->subtree_rev[scn_channel_of((enum scn_field)field)] &&
                        read_stamp(loader, &row->stamps[field], &stamp) && row->stamps[field].revision >= row->birth;
        }
        return is_good;
}

/* Heights are a cache: raised from each node as it is hung in. *depth_out: of the new node. */
static void link_last(struct scn_document *document, uint32_t slot, uint32_t parent, uint32_t *depth_out)
{
        const uint32_t last = parent == SCN_NONE ? SCN_NONE : scn_hierarchy_last_child(document->hierarchy, parent);
        uint32_t depth = 0;
        scn_hierarchy_link(document->hierarchy, slot, parent, last);
        scn_order_linked(document, slot);
        for (uint32_t at = parent; at != SCN_NONE; at = scn_hierarchy_parent(document->hierarchy, at)) {
                depth++;
                struct scn_node *node = scn_node_at(document, at);
                if (node->height < depth) {
                        node->height = depth & INT32_MAX;
                }
        }
        *depth_out = depth;
}

static void fill_node(struct scn_document *document, struct scn_node *node, const struct scn_snapshot_node *row)
{
        node->id = row->id;
        node->uid = row->uid;
        node->birth = row->birth;
        memcpy(node->subtree_rev, row->subtree_rev, sizeof node->subtree_rev);
        for (uint32_t field = 0; field < SCN_FIELD_COUNT; field++) {
                const struct scn_snapshot_stamp *stamp = &row->stamps[field];
                node->stamps[field] = scn_stamp_make(stamp->revision, stamp->writer, stamp->client);
        }
        document->nodes_count++;
}

/* An ancestor's marks are never older than those below it. */
static bool has_marks_below(const struct scn_node *parent, const struct scn_snapshot_node *row)
{
        bool is_good = true;
        for (uint32_t channel = 0; channel < SCN_CHANNEL_COUNT; channel++) {
                is_good = is_good && row->subtree_rev[channel] <= parent->subtree_rev[channel];
        }
        return is_good;
}

/* Grows by doubling, to what the header claims: by steps, large tables would be copied again and again, and at once, a
 * damaged header would take what there is. */
static enum scn_error reserve_nodes(struct scn_snapshot_loader *loader)
{
        struct scn_document *document = loader->document;
        const uint32_t count = document->nodes_count;
        const uint32_t left = loader->header.nodes_count - count;
        const uint32_t extra = count == 0 ? 1 : left < count ? left : count;
        if ((count & (count - 1)) != 0) {
                return scn_table_reserve(document, 1);
        }
        const enum scn_error error = scn_hierarchy_reserve(document->hierarchy, count + extra);
        return error == SCN_OK ? scn_table_reserve(document, extra) : error;
}

static enum scn_error load_node(struct scn_snapshot_loader *loader, const struct scn_snapshot_node *row)
{
        struct scn_document *document = loader->document;
        uint32_t parent = SCN_NONE;
        if (!is_good_node(loader, row)) {
                return SCN_E_BAD_SNAPSHOT;
        }
        if (row->parent != 0) {
                parent = scn_table_slot(document, row->parent);
                if (parent == SCN_NONE || !has_marks_below(scn_node_at(document, parent), row)) {
                        return SCN_E_BAD_SNAPSHOT;
                }
        }
        struct scn_text *name = row->name.data == NULL ? NULL : scn_text_create(row->name);
        uint32_t slot;
        if ((row->name.data != NULL && name == NULL) || reserve_nodes(loader) != SCN_OK ||
                scn_table_take_slot(document, &slot) != SCN_OK) {
                scn_free(name);
                return SCN_E_NO_MEMORY;
        }
        struct scn_node *node = scn_node_at(document, slot);
        fill_node(document, node, row);
        scn_node_set_name(document, slot, name);
        scn_hierarchy_set_local(document->hierarchy, slot, &row->trs);
        scn_table_add_id(document, node->id, slot);
        scn_table_add_uid(document, node->uid, slot);
        uint32_t depth;
        link_last(document, slot, parent, &depth);
        document->root = parent == SCN_NONE ? slot : document->root;
        scn_digests_of_node(document, slot, ~SCN_MASK_PROPERTIES, false, &document->digests);
        loader->slot = slot;
        loader->properties_left = row->properties_count;
        return depth > document->limits.depth_max ? SCN_E_DEPTH : SCN_OK;
}

static enum scn_error load_property(struct scn_snapshot_loader *loader, const struct scn_snapshot_property *row)
{
        struct scn_document *document = loader->document;
        struct scn_stamp stamp;
        if (loader->properties_left == 0 || row->key.size == 0 || row->key.size > document->limits.key_bytes_max ||
                !scn_utf8_is_valid(row->key.data, row->key.size) || !read_stamp(loader, &row->stamp, &stamp) ||
                (row->value.data != NULL && !scn_value_is_canonical(row->value, &document->limits))) {
                return SCN_E_BAD_SNAPSHOT;
        }
        struct scn_node *node = scn_node_at(document, loader->slot);
        bool is_known;
        const uint32_t index = scn_props_find(node->props, row->key, &is_known);
        /* They come sorted, so each goes last. */
        if (is_known || index != (node->props == NULL ? 0 : node->props->count)) {
                return SCN_E_BAD_SNAPSHOT;
        }
        struct scn_prop_text *text = scn_prop_text_create(row->key, row->value);
        if (text == NULL || scn_props_reserve(node, index + 1) != SCN_OK) {
                scn_free(text);
                return SCN_E_NO_MEMORY;
        }
        scn_props_insert(node, index, (struct scn_prop){stamp, text});
        if (row->value.data != NULL) {
                scn_digest_add(&document->digests.channels[SCN_CHANNEL_PROPERTIES],
                        scn_digest_property(node->uid, row->key, row->value));
        }
        loader->properties_left--;
        return node->props->living_count > document->limits.properties_max ? SCN_E_TOO_MANY_PROPS : SCN_OK;
}

/* --- Past and feed --- */

static bool is_good_past(const struct scn_snapshot_loader *loader, const struct scn_snapshot_past *row)
{
        const struct scn_document *document = loader->document;
        const uint32_t tail = document->past_tail;
        const scn_revision before = tail == document->past_head ? 0 : scn_past_at(document, tail - 1)->revision;
        const uint32_t older = scn_memo_get(&loader->moved, row->id);
        const bool has_overlap = row->kind == SCN_PAST_MOVED && older != SCN_MEMO_NONE &&
                row->since < scn_past_at(document, older)->revision;
        const bool is_new_name = row->kind != SCN_PAST_REMOVED ||
                (!scn_uid_is_none(row->uid) && scn_table_find_id(document, row->id) == SCN_NONE);
        return row->kind <= SCN_PAST_EMPTIED && row->id != 0 && row->id < loader->header.next_id &&
                row->revision > loader->header.horizon && row->revision >= before &&
                row->revision <= loader->header.revision && row->since <= row->revision &&
                row->client < document->clients_count && is_new_name && !has_overlap;
}

static void enter_removed(struct scn_document *document, const struct scn_snapshot_past *row, uint32_t ref)
{
        const uint32_t former = scn_table_find_uid(document, row->uid);
        scn_table_add_id(document, row->id, ref);
        if (former != SCN_NONE && (former & SCN_PAST_BIT) == 0) {
                return;
        }
        if (former != SCN_NONE) {
                scn_table_remove_uid(document, row->uid, former);
        }
        scn_table_add_uid(document, row->uid, ref);
}

static enum scn_error load_past(struct scn_snapshot_loader *loader, const struct scn_snapshot_past *row)
{
        struct scn_document *document = loader->document;
        if (!is_good_past(loader, row)) {
                return SCN_E_BAD_SNAPSHOT;
        }
        if (scn_past_reserve(document, 1) != SCN_OK || scn_table_reserve(document, 1) != SCN_OK) {
                return SCN_E_NO_MEMORY;
        }
        const struct scn_past entry = {
                .kind = row->kind,
                .revision = row->revision,
                .since = row->since,
                .uid = row->uid,
                .id = row->id,
                .parent = row->parent,
                .client = row->client,
                .older = row->kind == SCN_PAST_EMPTIED ? SCN_NONE : scn_memo_get(&loader->moved, row->id),
                .feed_previous = SCN_NONE,
                .feed_next = SCN_NONE,
        };
        const uint32_t number = scn_past_append(document, &entry);
        if (row->kind == SCN_PAST_REMOVED) {
                enter_removed(document, row, SCN_PAST_BIT | number);
                loader->feed_left++;
        }
        if (row->kind != SCN_PAST_MOVED) {
                return SCN_OK;
        }
        const uint32_t slot = scn_table_slot(document, row->id);
        if (slot != SCN_NONE) {
                scn_node_at(document, slot)->past = number;
        }
        return scn_memo_put(&loader->moved, row->id, number);
}

/* Up to the horizon the order no longer matters, and may not show; see scn_node_changed(). */
static bool is_after(const struct scn_document *document, uint32_t earlier, uint32_t later)
{
        const scn_revision revision = scn_feed_revision(document, earlier);
        return revision <= document->horizon || revision <= scn_feed_revision(document, later);
}

static enum scn_error load_feed(struct scn_snapshot_loader *loader, scn_node_id id)
{
        struct scn_document *document = loader->document;
        const uint32_t ref = scn_table_find_id(document, id);
        const uint32_t last = document->feed_last;
        if (ref == SCN_NONE || loader->feed_left == 0 || (last != SCN_NONE && !is_after(document, last, ref))) {
                return SCN_E_BAD_SNAPSHOT;
        }
        /* One that is in already has a neighbour, or is alone. */
        if (ref == document->feed_first || scn_feed_previous(document, ref) != SCN_NONE) {
                return SCN_E_BAD_SNAPSHOT;
        }
        scn_feed_append(document, ref);
        loader->feed_left--;
        return SCN_OK;
}

static enum scn_error load_end(struct scn_snapshot_loader *loader)
{
        const struct scn_document *document = loader->document;
        const bool is_whole = loader->feed_left == 0 && document->root != SCN_NONE &&
                memcmp(&document->digests, &loader->header.digests, sizeof document->digests) == 0;
        loader->is_done = is_whole;
        return is_whole ? SCN_OK : SCN_E_BAD_SNAPSHOT;
}

/* Kinds rise, but for properties, which come behind their node. */
static bool is_in_order(const struct scn_snapshot_loader *loader, enum scn_snapshot_row_kind kind)
{
        if (loader->kind == -1 || loader->is_done) {
                return kind == SCN_ROW_HEADER && !loader->is_done;
        }
        const bool has_all_nodes = loader->document->nodes_count == loader->header.nodes_count;
        switch (kind) {
        case SCN_ROW_HEADER:
                return false;
        case SCN_ROW_CLIENT:
                return loader->kind <= SCN_ROW_CLIENT;
        case SCN_ROW_NODE:
                return loader->kind <= SCN_ROW_PROPERTY && loader->properties_left == 0;
        case SCN_ROW_PROPERTY:
                return loader->kind == SCN_ROW_NODE || loader->kind == SCN_ROW_PROPERTY;
        case SCN_ROW_PAST:
        case SCN_ROW_FEED:
        case SCN_ROW_END:
                return loader->kind <= (int)kind && loader->properties_left == 0 && has_all_nodes;
        }
        return false;
}

enum scn_error scn_snapshot_load(struct scn_snapshot_loader *loader, const struct scn_snapshot_row *row)
{
        if (!is_in_order(loader, row->kind)) {
                return SCN_E_BAD_SNAPSHOT;
        }
        if (loader->kind < SCN_ROW_PAST && row->kind >= SCN_ROW_PAST) {
                loader->feed_left = loader->header.nodes_count;
        }
        loader->kind = (int)row->kind;
        switch (row->kind) {
        case SCN_ROW_HEADER:
                return load_header(loader, &row->as.header);
        case SCN_ROW_CLIENT:
                return load_client(loader, row->as.client);
        case SCN_ROW_NODE:
                return load_node(loader, &row->as.node);
        case SCN_ROW_PROPERTY:
                return load_property(loader, &row->as.property);
        case SCN_ROW_PAST:
                return load_past(loader, &row->as.past);
        case SCN_ROW_FEED:
                return load_feed(loader, row->as.feed);
        case SCN_ROW_END:
                return load_end(loader);
        }
        return SCN_E_BAD_SNAPSHOT;
}
