/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SCENE_STATE_H
#define SCN_SCENE_STATE_H

/* The inside of a document, for the files of protocol/scene alone (and for benchmarks that count bytes).
 *
 * Nodes live in slots: pages of nodes that never move, plus the hierarchy's arrays with the same numbers. A slot
 * is reused, an id is not. A removed subtree keeps its slots, detached and with all its contents, until the
 * changes that removed it are settled, so a take-back only hangs it in again.
 *
 *   by_id   id  -> slot | past entry       by_uid  uid -> slot | past entry (the latest life)
 *   feed    oldest ... newest change: a doubly linked list through nodes and past entries, each once
 *   past    a ring of what happened to places and lives, oldest first; its old end is the horizon */

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/base/bytes.h"
#include "protocol/base/index_map.h"
#include "protocol/base/uid.h"
#include "protocol/scene/digest.h"
#include "protocol/scene/document.h"
#include "protocol/scene/snapshot.h"

/* A reference is a slot, or, with this bit, the number of a past entry modulo 2^31. */
#define SCN_PAST_BIT UINT32_C(0x80000000)
#define SCN_PAST_MASK (SCN_PAST_BIT - 1)
#define SCN_NONE UINT32_MAX

#define SCN_ID_MAX (UINT32_MAX - 1)

/* Revision 53 bits, writer 53 bits, client 22 bits: five of these are two fifths of a node. */
#define SCN_STAMP_CLIENT_BITS 11
#define SCN_STAMP_CLIENTS_MAX ((1u << 2 * SCN_STAMP_CLIENT_BITS) - 1)
#define SCN_STAMP_CLIENT_LOW ((UINT64_C(1) << SCN_STAMP_CLIENT_BITS) - 1)

struct scn_stamp {
        uint64_t revision_client; /* revision << 11 | client's high bits */
        uint64_t writer_client;   /* writer << 11 | client's low bits */
};

static inline struct scn_stamp scn_stamp_make(scn_revision revision, scn_revision writer, uint32_t client)
{
        return (struct scn_stamp){
                revision << SCN_STAMP_CLIENT_BITS | client >> SCN_STAMP_CLIENT_BITS,
                writer << SCN_STAMP_CLIENT_BITS | (client & SCN_STAMP_CLIENT_LOW),
        };
}

static inline scn_revision scn_stamp_revision(struct scn_stamp stamp)
{
        return stamp.revision_client >> SCN_STAMP_CLIENT_BITS;
}

static inline scn_revision scn_stamp_writer(struct scn_stamp stamp)
{
        return stamp.writer_client >> SCN_STAMP_CLIENT_BITS;
}

static inline uint32_t scn_stamp_client(struct scn_stamp stamp)
{
        return (uint32_t)(stamp.revision_client & SCN_STAMP_CLIENT_LOW) << SCN_STAMP_CLIENT_BITS |
                (uint32_t)(stamp.writer_client & SCN_STAMP_CLIENT_LOW);
}

/* Immutable once made. */
struct scn_text {
        uint32_t size;
        uint8_t bytes[];
};

/* Key and canonical value, immutable once made; value_size 0: a removed key. */
struct scn_prop_text {
        uint32_t key_size;
        uint32_t value_size;
        uint8_t bytes[];
};

struct scn_prop {
        struct scn_stamp stamp;
        struct scn_prop_text *text; /* owned */
};

/* Sorted by key bytes. */
struct scn_props {
        scn_revision revision; /* of the latest change of any of them */
        uint32_t count;
        uint32_t capacity;
        uint32_t living_count; /* without removed keys */
        scn_revision emptied;  /* the revision whose past knows already that the node lost a key */
        struct scn_prop items[];
};

/* Removed keys stay until the horizon has passed them: with them a node has at most so many times the properties it
 * may have. */
#define SCN_REMOVED_KEYS_RATIO 4

struct scn_node {
        scn_revision subtree_rev[SCN_CHANNEL_COUNT]; /* last change of the channel here or below */
        struct scn_stamp stamps[SCN_FIELD_COUNT];
        struct scn_uid uid;
        scn_revision birth;
        scn_node_id id;         /* 0: the slot is free */
        uint32_t feed_previous; /* references; feed_next links free slots too */
        uint32_t feed_next;
        uint32_t past;                /* number of its newest MOVED entry, or SCN_NONE; may lie before the horizon */
        uint32_t order_block;         /* see order.h, or SCN_NONE */
        uint32_t height : 31;         /* levels below: exact, or, if loose, an upper bound */
        uint32_t is_height_loose : 1; /* something below has gone since it was counted; true above it, too */
        struct scn_text *name;        /* owned; NULL: absent */
        struct scn_props *props;      /* owned; NULL: none */
};

SCN_STATIC_ASSERT(sizeof(struct scn_node) == 176, "a node is counted in DESIGN's 320 bytes");

#define SCN_PAGE_BITS 6
#define SCN_PAGE_NODES (1u << SCN_PAGE_BITS)

/* Nodes never move. Beside them stands a byte of each one's name, so that who looks for a name among siblings need not
 * fetch all of them and their names. */
struct scn_page {
        struct scn_node nodes[SCN_PAGE_NODES];
        uint8_t name_marks[SCN_PAGE_NODES];
};

struct scn_past {
        scn_revision revision; /* when it became past: removal, move, emptying */
        scn_revision since;    /* removed: birth; moved: when the former parent had been set */
        struct scn_uid uid;    /* removed */
        scn_node_id id;
        scn_node_id parent;
        uint32_t feed_previous; /* removed: it stands in the feed */
        uint32_t feed_next;
        uint32_t older;  /* number of the node's entry before this one, or SCN_NONE */
        uint32_t client; /* moved: who set the parent that replaced this one */
        enum scn_past_kind kind;
};

struct scn_order_block;

struct scn_document {
        struct scn_limits limits;
        struct scn_uid uid;
        uint64_t hash_seed;
        void (*random)(void *data, uint8_t *bytes, size_t size);
        void *random_data;

        scn_revision revision;
        scn_node_id next_id;
        struct scn_digests digests;
        uint32_t root; /* slot, or SCN_NONE in an empty replica */
        bool is_busy;  /* inside a call that changes it: observers may not */

        struct scn_page **pages; /* owned */
        size_t pages_capacity;
        uint32_t slots_count; /* ever used */
        uint32_t slots_free;  /* first free slot, linked by feed_next */
        uint32_t nodes_count;
        struct scn_hierarchy *hierarchy;
        struct scn_index_map by_uid;
        struct scn_index_map by_id;

        struct scn_uid *clients; /* [0] is the server itself, all zero */
        size_t clients_capacity;
        uint32_t clients_count;
        struct scn_index_map by_client;

        uint32_t feed_first; /* references */
        uint32_t feed_last;

        struct scn_past *past; /* ring; capacity is a power of two or 0 */
        uint32_t past_capacity;
        uint32_t past_head; /* numbers, free-running: the oldest entry kept ... */
        uint32_t past_live; /* ... the oldest one after the horizon ... */
        uint32_t past_tail; /* ... and the next to be made */
        scn_revision horizon;

        struct scn_order_block **order_blocks; /* owned; see order.h */
        size_t order_blocks_capacity;
        uint32_t order_blocks_count;
        uint32_t order_blocks_free;

        struct scn_observable *observable;
        struct scn_changes *oldest; /* outstanding changes, linked oldest to newest */
        struct scn_changes *newest;
        struct scn_changes *spare; /* ended ones kept for reuse, a short list */
        uint32_t spare_count;
        struct scn_buffer scratch; /* canonical values on their way in */
        struct scn_buffer quoted;  /* what the last refusal says of the document */
};

static inline struct scn_node *scn_node_at(const struct scn_document *document, uint32_t slot)
{
        return &document->pages[slot >> SCN_PAGE_BITS]->nodes[slot & (SCN_PAGE_NODES - 1)];
}

static inline uint8_t scn_name_mark_at(const struct scn_document *document, uint32_t slot)
{
        return document->pages[slot >> SCN_PAGE_BITS]->name_marks[slot & (SCN_PAGE_NODES - 1)];
}

/* Equal names have equal ones; none and an empty one have 0. What siblings are named by default differs at the end. */
static inline uint8_t scn_name_mark(const struct scn_text *name)
{
        const uint32_t size = name == NULL ? 0 : name->size;
        uint32_t mark = size;
        for (uint32_t i = size > 4 ? size - 4 : 0; i < size; i++) {
                mark = mark * 31 + name->bytes[i];
        }
        return (uint8_t)(mark ^ mark >> 8);
}

/* Takes the name, which may be NULL; what was there is the caller's. */
static inline void scn_node_set_name(struct scn_document *document, uint32_t slot, struct scn_text *name)
{
        scn_node_at(document, slot)->name = name;
        document->pages[slot >> SCN_PAGE_BITS]->name_marks[slot & (SCN_PAGE_NODES - 1)] = scn_name_mark(name);
}

/* The last change of any field: what the node's position in the feed goes by. From the horizon on this is exact; a
 * node whose last change was to remove a key may count as older once that key is forgotten. */
static inline scn_revision scn_node_changed(const struct scn_node *node)
{
        scn_revision changed = node->props == NULL ? 0 : node->props->revision;
        for (uint32_t field = 0; field < SCN_FIELD_COUNT; field++) {
                const scn_revision revision = scn_stamp_revision(node->stamps[field]);
                changed = revision > changed ? revision : changed;
        }
        return changed;
}

static inline struct scn_past *scn_past_at(const struct scn_document *document, uint32_t number)
{
        return &document->past[number & (document->past_capacity - 1)];
}

static inline struct scn_uid scn_uid_at(const struct scn_document *document, uint32_t slot)
{
        return slot == SCN_NONE ? (struct scn_uid){{0}} : scn_node_at(document, slot)->uid;
}

static inline scn_node_id scn_id_at(const struct scn_document *document, uint32_t slot)
{
        return slot == SCN_NONE ? 0 : scn_node_at(document, slot)->id;
}

/* Levels below the root. Cost: the depth. */
static inline uint32_t scn_depth_at(const struct scn_document *document, uint32_t slot)
{
        uint32_t depth = 0;
        while ((slot = scn_hierarchy_parent(document->hierarchy, slot)) != SCN_NONE) {
                depth++;
        }
        return depth;
}

static inline struct scn_slice scn_text_slice(const struct scn_text *text)
{
        return text == NULL ? (struct scn_slice){NULL, 0} : (struct scn_slice){text->bytes, text->size};
}

static inline struct scn_property scn_prop_view(const struct scn_prop_text *text)
{
        return (struct scn_property){
                .key = {text->bytes, text->key_size},
                .value = {text->value_size == 0 ? NULL : text->bytes + text->key_size, text->value_size},
        };
}

static inline struct scn_stamp_view scn_stamp_view(const struct scn_document *document, struct scn_stamp stamp)
{
        return (struct scn_stamp_view){
                scn_stamp_revision(stamp), scn_stamp_writer(stamp), document->clients[scn_stamp_client(stamp)]};
}

static inline enum scn_channel scn_channel_of(enum scn_field field)
{
        return field == SCN_FIELD_PLACE       ? SCN_CHANNEL_STRUCTURE
                : field == SCN_FIELD_NAME     ? SCN_CHANNEL_NAME
                : field == SCN_FIELD_PROPERTY ? SCN_CHANNEL_PROPERTIES
                                              : SCN_CHANNEL_TRANSFORM;
}

/* Those of T, R, S whose bits differ. */
uint32_t scn_trs_compare(const struct scn_trs *a, const struct scn_trs *b);
/* `base`, with the fields given taken from `other`. */
struct scn_trs scn_trs_merge(const struct scn_trs *base, const struct scn_trs *other, uint32_t fields);
/* The fixed fields and PROPERTY that a mask lets through. */
uint32_t scn_fields_of_mask(uint32_t mask);

/* --- find.c --- */

/* The living slot a reference names; errors of scn_document_find(). *steps_left, from limits.path_steps_max on, is
 * what the paths of one edit may still look at. */
SCN_NODISCARD enum scn_error scn_document_find_slot(
        const struct scn_document *document, const struct scn_node_ref *ref, uint64_t *steps_left, uint32_t *slot_out);

/* --- table.c: slots, maps, clients --- */

SCN_NODISCARD enum scn_error scn_document_create_empty(
        const struct scn_document_options *options, struct scn_document **document_out);
/* A cleared slot, in no list and no map; SCN_E_NO_MEMORY. Maps, hierarchy and page have room for it. */
SCN_NODISCARD enum scn_error scn_table_take_slot(struct scn_document *document, uint32_t *slot_out);
/* Frees texts and the index of its children; the slot is in no list and no map any more. */
void scn_table_free_slot(struct scn_document *document, uint32_t slot);
/* Room in both maps for `extra` more names. */
SCN_NODISCARD enum scn_error scn_table_reserve(struct scn_document *document, uint32_t extra);
/* References; SCN_NONE if unknown. */
uint32_t scn_table_find_id(const struct scn_document *document, scn_node_id id);
uint32_t scn_table_find_uid(const struct scn_document *document, struct scn_uid uid);
/* Enters or removes a reference (slot or past) under its id, or under its uid. Room must be there. */
void scn_table_add_id(struct scn_document *document, scn_node_id id, uint32_t ref);
void scn_table_remove_id(struct scn_document *document, scn_node_id id, uint32_t ref);
void scn_table_add_uid(struct scn_document *document, struct scn_uid uid, uint32_t ref);
void scn_table_remove_uid(struct scn_document *document, struct scn_uid uid, uint32_t ref);
/* The slot of a living id, or SCN_NONE. */
uint32_t scn_table_slot(const struct scn_document *document, scn_node_id id);
/* The number of a client's stamps, made if new. SCN_E_NO_MEMORY, SCN_E_TOO_MANY_CLIENTS. */
SCN_NODISCARD enum scn_error scn_table_client(
        struct scn_document *document, struct scn_uid client, uint32_t *number_out);
/* numbers[0 .. clients_count - 1], zeroed, get new numbers from 1 on for the clients who still have a stamp
 * somewhere; the others, and the server, keep 0. Returns how many have. */
uint32_t scn_table_number_clients(const struct scn_document *document, uint32_t *numbers);
/* Forgets the clients numbered `count` and above. */
void scn_table_forget_clients(struct scn_document *document, uint32_t count);

/* True if the text is this one; NULL and absent are the same. */
bool scn_text_is(const struct scn_text *text, struct scn_slice slice);
/* Texts; NULL when memory is out. */
struct scn_text *scn_text_create(struct scn_slice text);
struct scn_prop_text *scn_prop_text_create(struct scn_slice key, struct scn_slice value);
/* Position of a key among the properties, or where it would stand; *is_found_out says which. */
uint32_t scn_props_find(const struct scn_props *props, struct scn_slice key, bool *is_found_out);
/* Room for one more; may move the block. */
SCN_NODISCARD enum scn_error scn_props_reserve(struct scn_node *node, uint32_t count);
void scn_props_insert(struct scn_node *node, uint32_t index, struct scn_prop prop);
/* The text is the caller's again. */
void scn_props_remove(struct scn_node *node, uint32_t index);

/* --- delta_world.c --- */

struct scn_delta;
/* Fills delta->worlds for the subtree of `root`: all if the delta is whole, else what may have changed after `from`.
 * Cost: those, and the changed nodes' depth. SCN_E_NO_MEMORY. */
SCN_NODISCARD enum scn_error scn_delta_add_worlds(
        struct scn_document *document, struct scn_delta *delta, uint32_t root, scn_revision from);

/* --- feed.c --- */

void scn_feed_append(struct scn_document *document, uint32_t ref);
void scn_feed_remove(struct scn_document *document, uint32_t ref);
/* `previous` SCN_NONE: at the front. */
void scn_feed_insert(struct scn_document *document, uint32_t ref, uint32_t previous);
uint32_t scn_feed_previous(const struct scn_document *document, uint32_t ref);
/* The revision at which the referenced node last changed or was removed. */
scn_revision scn_feed_revision(const struct scn_document *document, uint32_t ref);
/* Room for `extra` more past entries. */
SCN_NODISCARD enum scn_error scn_past_reserve(struct scn_document *document, uint32_t extra);
/* Appends; returns the entry's number modulo 2^31. */
uint32_t scn_past_append(struct scn_document *document, const struct scn_past *entry);
/* True if `number` is still kept. */
bool scn_past_is_kept(const struct scn_document *document, uint32_t number);
/* When the node's present parent was set: true from the horizon on. */
scn_revision scn_parent_since(const struct scn_document *document, const struct scn_node *node);
/* The node's newest entry about a former parent, or NULL. */
const struct scn_past *scn_past_of(const struct scn_document *document, scn_node_id id, uint32_t number);
/* Moves the horizon as far as the number of entries asks; at the end of each revision. */
void scn_horizon_advance(struct scn_document *document);
/* Drops what lies before the horizon; only while no changes are outstanding. */
void scn_horizon_drop(struct scn_document *document);

#endif
