/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SCENE_SNAPSHOT_H
#define SCN_SCENE_SNAPSHOT_H

/* A checkpoint's contents: all that a live document holds but caches (DESIGN §6, Files), as a stream of rows in a
 * fixed order, so that whoever stores it needs memory for one row only. A document loaded from it behaves as one
 * that was never closed: ids and their counter, stamps, writers, marks, feed and horizon are the same.
 *
 *   header · client* · (node property*)* level by level · past* oldest first · feed* oldest first · end
 *
 * (A view's snapshot is a whole delta, see delta.h.) */

#include "protocol/scene/document.h"

enum scn_snapshot_row_kind {
        SCN_ROW_HEADER,
        SCN_ROW_CLIENT,
        SCN_ROW_NODE,
        SCN_ROW_PROPERTY,
        SCN_ROW_PAST,
        SCN_ROW_FEED,
        SCN_ROW_END,
};

/* A field's stamp; the client is a number of the client rows (0 = the server; rows count from 1). */
struct scn_snapshot_stamp {
        scn_revision revision;
        scn_revision writer;
        uint32_t client;
};

struct scn_snapshot_header {
        struct scn_uid uid;
        scn_revision revision;
        scn_revision horizon;
        scn_node_id next_id;
        uint32_t nodes_count;
        struct scn_digests digests;
};

/* Siblings come left to right, after their parent. */
struct scn_snapshot_node {
        scn_node_id id;
        struct scn_uid uid;
        scn_node_id parent;
        scn_revision birth;
        scn_revision subtree_rev[SCN_CHANNEL_COUNT];
        struct scn_snapshot_stamp stamps[SCN_FIELD_COUNT];
        struct scn_slice name;
        struct scn_trs trs;
        uint32_t properties_count; /* rows that follow, removed keys included */
};

struct scn_snapshot_property {
        struct scn_slice key;
        struct scn_slice value; /* data == NULL: a removed key */
        struct scn_snapshot_stamp stamp;
};

enum scn_past_kind {
        SCN_PAST_REMOVED, /* a node whose life ended at `revision`, begun at `since`, last under `parent` */
        SCN_PAST_MOVED,   /* a node that was under `parent` from `since` until `revision`, when `client` moved it */
        SCN_PAST_EMPTIED, /* a node that lost a key at `revision` */
};

struct scn_snapshot_past {
        enum scn_past_kind kind;
        scn_node_id id;
        struct scn_uid uid; /* removed */
        scn_node_id parent; /* removed, moved */
        scn_revision revision;
        scn_revision since;
        uint32_t client; /* moved */
};

struct scn_snapshot_row {
        enum scn_snapshot_row_kind kind;
        union {
                struct scn_snapshot_header header;
                struct scn_uid client;
                struct scn_snapshot_node node;
                struct scn_snapshot_property property;
                struct scn_snapshot_past past;
                scn_node_id feed; /* living or in a removed row */
        } as;
};

/* Reads the rows of a document that does not change meanwhile and has no outstanding changes (asserts). Not of a
 * replica: there a node may come back under its id, and rows name nodes by id. */
struct scn_snapshot_reader;
/* NULL: out of memory. */
struct scn_snapshot_reader *scn_snapshot_reader_create(const struct scn_document *document);
void scn_snapshot_reader_destroy(struct scn_snapshot_reader *reader);
/* The next row, borrowed until the next call; after SCN_ROW_END there is none (asserts). */
struct scn_snapshot_row scn_snapshot_next(struct scn_snapshot_reader *reader);

/* Builds a document from rows. options.uid and root_uid are not read. */
struct scn_snapshot_loader;
SCN_NODISCARD enum scn_error scn_snapshot_loader_create(
        const struct scn_document_options *options, struct scn_snapshot_loader **loader_out);
void scn_snapshot_loader_destroy(struct scn_snapshot_loader *loader);
/* SCN_E_BAD_SNAPSHOT: rows out of order, unknown or doubled names, counts or digest that do not meet (the digest
 * is computed anew while loading); limit errors; SCN_E_NO_MEMORY. The loader is then only good for destroying. */
SCN_NODISCARD enum scn_error scn_snapshot_load(struct scn_snapshot_loader *loader, const struct scn_snapshot_row *row);
/* After SCN_ROW_END: the document, the caller's from now on. */
struct scn_document *scn_snapshot_loader_take(struct scn_snapshot_loader *loader);

#endif
