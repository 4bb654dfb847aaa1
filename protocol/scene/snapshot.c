/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "protocol/scene/snapshot.h"

#include "protocol/scene/mutation.h"
#include "protocol/scene/transform.h"
#include "protocol/scene/value.h"

#include <string.h>

/* --- Reading --- */

struct scn_snapshot_reader {
        const struct scn_document *document;
        int next;          /* kind of the row to come; past SCN_ROW_END: done */
        uint32_t *clients; /* owned: number in the document -> number of the row; 0: not used, no row */
        uint32_t *slots;   /* owned: level by level */
        uint32_t at;       /* client, node or past entry to come */
        uint32_t property; /* of node at - 1, to come */
        uint32_t ref;      /* of the feed, to come */
};

static void list_levels(struct scn_snapshot_reader *reader)
{
        const struct scn_hierarchy *hierarchy = reader->document->hierarchy;
        uint32_t count = 0;
        if (reader->document->root != SCN_NONE) {
                reader->slots[count++] = reader->document->root;
        }
        for (uint32_t i = 0; i < count; i++) {
                uint32_t child = scn_hierarchy_first_child(hierarchy, reader->slots[i]);
                for (; child != SCN_NONE; child = scn_hierarchy_next(hierarchy, child)) {
                        reader->slots[count++] = child;
                }
        }
        SCN_ASSERT(count == reader->document->nodes_count);
}

struct scn_snapshot_reader *scn_snapshot_reader_create(const struct scn_document *document)
{
        SCN_ASSERT(document->oldest == NULL);
        struct scn_snapshot_reader *reader = scn_alloc_zero(1, sizeof *reader);
        if (reader == NULL) {
                return NULL;
        }
        reader->document = document;
        reader->clients = scn_alloc_zero(document->clients_count, sizeof *reader->clients);
        reader->slots = scn_alloc_zero(document->nodes_count, sizeof *reader->slots);
        if (reader->clients == NULL || reader->slots == NULL) {
                scn_snapshot_reader_destroy(reader);
                return NULL;
        }
        list_levels(reader);
        /* Clients whose last stamp is gone are left behind. */
        (void)scn_table_number_clients(document, reader->clients);
        return reader;
}

void scn_snapshot_reader_destroy(struct scn_snapshot_reader *reader)
{
        if (reader != NULL) {
                scn_free(reader->clients);
                scn_free(reader->slots);
                scn_free(reader);
        }
}

static struct scn_snapshot_stamp row_stamp(const struct scn_snapshot_reader *reader, struct scn_stamp stamp)
{
        return (struct scn_snapshot_stamp){
                scn_stamp_revision(stamp),
                scn_stamp_writer(stamp),
                reader->clients[scn_stamp_client(stamp)],
        };
}

static struct scn_snapshot_row header_row(struct scn_snapshot_reader *reader)
{
        const struct scn_document *document = reader->document;
        reader->next = SCN_ROW_CLIENT;
        reader->at = 1;
        return (struct scn_snapshot_row){
                .kind = SCN_ROW_HEADER,
                .as.header =
                        {
                                .uid = document->uid,
                                .revision = document->revision,
                                .horizon = document->horizon,
                                .next_id = document->next_id,
                                .nodes_count = document->nodes_count,
                                .digests = document->digests,
                        },
        };
}

static struct scn_snapshot_row node_row(struct scn_snapshot_reader *reader)
{
        const struct scn_document *document = reader->document;
        const uint32_t slot = reader->slots[reader->at++];
        const struct scn_node *node = scn_node_at(document, slot);
        struct scn_snapshot_row row = {
                .kind = SCN_ROW_NODE,
                .as.node =
                        {
                                .id = node->id,
                                .uid = node->uid,
                                .parent = scn_id_at(document, scn_hierarchy_parent(document->hierarchy, slot)),
                                .birth = node->birth,
                                .name = scn_text_slice(node->name),
                                .trs = scn_hierarchy_local(document->hierarchy, slot),
                                .properties_count = node->props == NULL ? 0 : node->props->count,
                        },
        };
        memcpy(row.as.node.subtree_rev, node->subtree_rev, sizeof node->subtree_rev);
        for (uint32_t field = 0; field < SCN_FIELD_COUNT; field++) {
                row.as.node.stamps[field] = row_stamp(reader, node->stamps[field]);
        }
        reader->property = 0;
        return row;
}

static struct scn_snapshot_row property_row(struct scn_snapshot_reader *reader, const struct scn_props *props)
{
        const struct scn_prop *prop = &props->items[reader->property++];
        const struct scn_property view = scn_prop_view(prop->text);
        return (struct scn_snapshot_row){
                .kind = SCN_ROW_PROPERTY,
                .as.property = {view.key, view.value, row_stamp(reader, prop->stamp)},
        };
}

static struct scn_snapshot_row past_row(struct scn_snapshot_reader *reader)
{
        const struct scn_past *entry = scn_past_at(reader->document, reader->at++);
        return (struct scn_snapshot_row){
                .kind = SCN_ROW_PAST,
                .as.past =
                        {
                                .kind = entry->kind,
                                .id = entry->id,
                                .uid = entry->uid,
                                .parent = entry->parent,
                                .revision = entry->revision,
                                .since = entry->since,
                                .client = reader->clients[entry->client],
                        },
        };
}

static struct scn_snapshot_row feed_row(struct scn_snapshot_reader *reader)
{
        const struct scn_document *document = reader->document;
        const uint32_t ref = reader->ref;
        struct scn_snapshot_row row = {.kind = SCN_ROW_FEED};
        if ((ref & SCN_PAST_BIT) != 0) {
                row.as.feed = scn_past_at(document, ref & SCN_PAST_MASK)->id;
                reader->ref = scn_past_at(document, ref & SCN_PAST_MASK)->feed_next;
        } else {
                row.as.feed = scn_node_at(document, ref)->id;
                reader->ref = scn_node_at(document, ref)->feed_next;
        }
        return row;
}

struct scn_snapshot_row scn_snapshot_next(struct scn_snapshot_reader *reader)
{
        const struct scn_document *document = reader->document;
        SCN_ASSERT(reader->next != SCN_ROW_END + 1);
        if (reader->next == SCN_ROW_HEADER) {
                return header_row(reader);
        }
        if (reader->next == SCN_ROW_CLIENT) {
                while (reader->at < document->clients_count) {
                        const uint32_t client = reader->at++;
                        if (reader->clients[client] != 0) {
                                return (struct scn_snapshot_row){
                                        .kind = SCN_ROW_CLIENT, .as.client = document->clients[client]};
                        }
                }
                reader->next = SCN_ROW_NODE;
                reader->at = 0;
        }
        if (reader->next == SCN_ROW_NODE) {
                const struct scn_props *props =
                        reader->at == 0 ? NULL : scn_node_at(document, reader->slots[reader->at - 1])->props;
                if (props != NULL && reader->property < props->count) {
                        return property_row(reader, props);
                }
                if (reader->at < document->nodes_count) {
                        return node_row(reader);
                }
                reader->next = SCN_ROW_PAST;
                reader->at = document->past_head;
        }
        if (reader->next == SCN_ROW_PAST) {
                if (reader->at != document->past_tail) {
                        return past_row(reader);
                }
                reader->next = SCN_ROW_FEED;
                reader->ref = document->feed_first;
        }
        if (reader->next == SCN_ROW_FEED && reader->ref != SCN_NONE) {
                return feed_row(reader);
        }
        reader->next = SCN_ROW_END + 1;
        return (struct scn_snapshot_row){.kind = SCN_ROW_END};
}
