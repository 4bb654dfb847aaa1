/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Life of a document, and the questions it answers. What changes it is in apply.c and replica.c. */

#include "protocol/scene/document.h"

#include "protocol/scene/mutation.h"
#include "protocol/scene/order.h"
#include "protocol/scene/transform.h"

#include <string.h>

/* A canonical value is never longer than its spelling, which a message bounds. */
#define SCRATCH_BYTES_MAX (16u << 20)

/* --- Keys of the maps --- */

static scn_node_id id_of_ref(const struct scn_document *document, uint32_t ref)
{
        return (ref & SCN_PAST_BIT) != 0 ? scn_past_at(document, ref & SCN_PAST_MASK)->id
                                         : scn_node_at(document, ref)->id;
}

static uint64_t hash_of_id_ref(const void *owner, uint32_t ref)
{
        const struct scn_document *document = owner;
        return scn_hash_id(id_of_ref(document, ref), document->hash_seed);
}

static bool has_id(const void *owner, uint32_t ref, const void *key)
{
        return id_of_ref(owner, ref) == *(const scn_node_id *)key;
}

static struct scn_uid uid_of_ref(const struct scn_document *document, uint32_t ref)
{
        return (ref & SCN_PAST_BIT) != 0 ? scn_past_at(document, ref & SCN_PAST_MASK)->uid
                                         : scn_node_at(document, ref)->uid;
}

static uint64_t hash_of_uid_ref(const void *owner, uint32_t ref)
{
        const struct scn_document *document = owner;
        return scn_hash_uid(uid_of_ref(document, ref), document->hash_seed);
}

static bool has_uid(const void *owner, uint32_t ref, const void *key)
{
        return scn_uid_equal(uid_of_ref(owner, ref), *(const struct scn_uid *)key);
}

static uint64_t hash_of_client_ref(const void *owner, uint32_t ref)
{
        const struct scn_document *document = owner;
        return scn_hash_uid(document->clients[ref], document->hash_seed);
}

static bool has_client(const void *owner, uint32_t ref, const void *key)
{
        const struct scn_document *document = owner;
        return scn_uid_equal(document->clients[ref], *(const struct scn_uid *)key);
}

/* --- Life --- */

/* A configuration may ask for more than a stamp and the digest can hold. */
static struct scn_limits hold_limits(struct scn_limits limits)
{
        if (limits.clients_max > SCN_STAMP_CLIENTS_MAX) {
                limits.clients_max = SCN_STAMP_CLIENTS_MAX;
        }
        if (limits.key_bytes_max > SCN_DIGEST_KEY_BYTES_MAX) {
                limits.key_bytes_max = SCN_DIGEST_KEY_BYTES_MAX;
        }
        return limits;
}

enum scn_error scn_document_create_empty(const struct scn_document_options *options, struct scn_document **document_out)
{
        struct scn_document *document = scn_alloc_zero(1, sizeof *document);
        if (document == NULL) {
                return SCN_E_NO_MEMORY;
        }
        document->limits = hold_limits(options->limits);
        document->uid = options->uid;
        document->hash_seed = options->hash_seed;
        document->random = options->random;
        document->random_data = options->random_data;
        document->next_id = 1;
        document->root = SCN_NONE;
        document->slots_free = SCN_NONE;
        document->feed_first = SCN_NONE;
        document->feed_last = SCN_NONE;
        document->order_blocks_free = SCN_NONE;
        scn_index_map_init(&document->by_id, document, hash_of_id_ref, has_id);
        scn_index_map_init(&document->by_uid, document, hash_of_uid_ref, has_uid);
        scn_index_map_init(&document->by_client, document, hash_of_client_ref, has_client);
        scn_buffer_init(&document->scratch, SCRATCH_BYTES_MAX);
        scn_buffer_init(&document->quoted, SCRATCH_BYTES_MAX);
        document->hierarchy = scn_hierarchy_create();
        document->observable = scn_observable_create();
        const bool has_clients = scn_grow(
                (void **)&document->clients, &document->clients_capacity, sizeof *document->clients, 1, SIZE_MAX);
        if (document->hierarchy == NULL || document->observable == NULL || !has_clients) {
                scn_document_destroy(document);
                return SCN_E_NO_MEMORY;
        }
        document->clients[0] = (struct scn_uid){{0}};
        document->clients_count = 1;
        *document_out = document;
        return SCN_OK;
}

void scn_document_no_random(void *data, uint8_t *bytes, size_t size)
{
        (void)data;
        memset(bytes, 0, size);
}

enum scn_error scn_document_create_replica(
        const struct scn_document_options *options, struct scn_document **document_out)
{
        return scn_document_create_empty(options, document_out);
}

/* The root is no edit: it is there at revision 0. */
static enum scn_error add_root(struct scn_document *document, struct scn_uid uid)
{
        struct scn_changes *changes;
        enum scn_error error = scn_changes_begin(document, &changes);
        if (error != SCN_OK) {
                return error;
        }
        struct scn_mutation mutation = {document, changes, 0, 0, 0, NULL};
        struct scn_new_node root = {
                .id = 1,
                .uid = uid,
                .parent = SCN_NONE,
                .previous = SCN_NONE,
                .trs = SCN_TRS_IDENTITY,
        };
        error = scn_mutate_add(&mutation, &root, &document->root);
        scn_changes_collect(document, changes);
        scn_changes_release(document, changes);
        return error;
}

enum scn_error scn_document_create(const struct scn_document_options *options, struct scn_document **document_out)
{
        struct scn_document *document;
        enum scn_error error = scn_document_create_empty(options, &document);
        if (error != SCN_OK) {
                return error;
        }
        error = add_root(document, options->root_uid);
        if (error != SCN_OK) {
                scn_document_destroy(document);
                return error;
        }
        *document_out = document;
        return SCN_OK;
}

static void end_changes(struct scn_document *document)
{
        while (document->oldest != NULL) {
                scn_document_settle(document, document->oldest);
        }
        while (document->spare != NULL) {
                struct scn_changes *next = document->spare->newer;
                scn_changes_destroy(document->spare);
                document->spare = next;
        }
}

void scn_document_destroy(struct scn_document *document)
{
        if (document == NULL) {
                return;
        }
        end_changes(document);
        scn_order_finish(document);
        for (uint32_t slot = 0; slot < document->slots_count; slot++) {
                if (scn_node_at(document, slot)->id != 0) {
                        scn_table_free_slot(document, slot);
                }
        }
        for (size_t page = 0; page << SCN_PAGE_BITS < document->slots_count; page++) {
                scn_free(document->pages[page]);
        }
        scn_free(document->pages);
        scn_index_map_finish(&document->by_id);
        scn_index_map_finish(&document->by_uid);
        scn_index_map_finish(&document->by_client);
        scn_free(document->clients);
        scn_free(document->past);
        scn_buffer_finish(&document->scratch);
        scn_buffer_finish(&document->quoted);
        scn_hierarchy_destroy(document->hierarchy);
        scn_observable_destroy(document->observable);
        scn_free(document);
}

/* --- The document --- */

struct scn_uid scn_document_uid(const struct scn_document *document)
{
        return document->uid;
}

scn_node_id scn_document_root(const struct scn_document *document)
{
        return scn_id_at(document, document->root);
}

scn_revision scn_document_revision(const struct scn_document *document)
{
        return document->revision;
}

scn_revision scn_document_horizon(const struct scn_document *document)
{
        return document->horizon;
}

uint32_t scn_document_nodes_count(const struct scn_document *document)
{
        return document->nodes_count;
}

scn_node_id scn_document_next_id(const struct scn_document *document)
{
        return document->next_id;
}

const struct scn_limits *scn_document_limits(const struct scn_document *document)
{
        return &document->limits;
}

uint32_t scn_document_past_count(const struct scn_document *document)
{
        return document->past_tail - document->past_live;
}

struct scn_observable *scn_document_observable(struct scn_document *document)
{
        return document->observable;
}

struct scn_hierarchy *scn_document_hierarchy(struct scn_document *document)
{
        return document->hierarchy;
}

uint32_t scn_trs_compare(const struct scn_trs *a, const struct scn_trs *b)
{
        return (memcmp(a->t, b->t, sizeof a->t) != 0 ? SCN_FIELDS_TRANSLATION : 0) |
                (memcmp(a->r, b->r, sizeof a->r) != 0 ? SCN_FIELDS_ROTATION : 0) |
                (memcmp(a->s, b->s, sizeof a->s) != 0 ? SCN_FIELDS_SCALE : 0);
}

struct scn_trs scn_trs_merge(const struct scn_trs *base, const struct scn_trs *other, uint32_t fields)
{
        struct scn_trs merged = *base;
        if ((fields & SCN_FIELDS_TRANSLATION) != 0) {
                memcpy(merged.t, other->t, sizeof merged.t);
        }
        if ((fields & SCN_FIELDS_ROTATION) != 0) {
                memcpy(merged.r, other->r, sizeof merged.r);
        }
        if ((fields & SCN_FIELDS_SCALE) != 0) {
                memcpy(merged.s, other->s, sizeof merged.s);
        }
        return merged;
}

uint32_t scn_fields_of_mask(uint32_t mask)
{
        return ((mask & SCN_MASK_STRUCTURE) != 0 ? SCN_FIELDS_PLACE : 0) |
                ((mask & SCN_MASK_NAME) != 0 ? SCN_FIELDS_NAME : 0) |
                ((mask & SCN_MASK_TRANSFORM) != 0 ? SCN_FIELDS_TRS : 0) |
                ((mask & SCN_MASK_PROPERTIES) != 0 ? SCN_FIELDS_PROPERTY : 0);
}

/* --- Nodes --- */

scn_node_id scn_document_find_uid(const struct scn_document *document, struct scn_uid uid)
{
        const uint32_t ref = scn_table_find_uid(document, uid);
        return ref == SCN_NONE || (ref & SCN_PAST_BIT) != 0 ? 0 : scn_node_at(document, ref)->id;
}

bool scn_document_has(const struct scn_document *document, scn_node_id id)
{
        return scn_table_slot(document, id) != SCN_NONE;
}

static uint32_t living_slot(const struct scn_document *document, scn_node_id id)
{
        const uint32_t slot = scn_table_slot(document, id);
        SCN_ASSERT(slot != SCN_NONE);
        return slot;
}

static struct scn_node_view view_slot(const struct scn_document *document, uint32_t slot)
{
        const struct scn_node *node = scn_node_at(document, slot);
        const struct scn_hierarchy *hierarchy = document->hierarchy;
        return (struct scn_node_view){
                .id = node->id,
                .uid = node->uid,
                .parent = scn_id_at(document, scn_hierarchy_parent(hierarchy, slot)),
                .previous = scn_id_at(document, scn_hierarchy_previous(hierarchy, slot)),
                .next = scn_id_at(document, scn_hierarchy_next(hierarchy, slot)),
                .first_child = scn_id_at(document, scn_hierarchy_first_child(hierarchy, slot)),
                .children_count = scn_hierarchy_children_count(hierarchy, slot),
                .birth = node->birth,
                .name = scn_text_slice(node->name),
                .trs = scn_hierarchy_local(hierarchy, slot),
                .properties_count = node->props == NULL ? 0 : node->props->living_count,
                .property_fields_count = node->props == NULL ? 0 : node->props->count,
        };
}

struct scn_node_view scn_document_node(const struct scn_document *document, scn_node_id id)
{
        return view_slot(document, living_slot(document, id));
}

static struct scn_stamp_view stamp_of_slot(const struct scn_document *document, uint32_t slot, enum scn_field field)
{
        SCN_ASSERT(field < SCN_FIELD_COUNT);
        return scn_stamp_view(document, scn_node_at(document, slot)->stamps[field]);
}

static struct scn_property property_of_slot(
        const struct scn_document *document, uint32_t slot, uint32_t index, struct scn_stamp_view *stamp_out)
{
        const struct scn_node *node = scn_node_at(document, slot);
        SCN_ASSERT(node->props != NULL && index < node->props->count);
        const struct scn_prop *prop = &node->props->items[index];
        if (stamp_out != NULL) {
                *stamp_out = scn_stamp_view(document, prop->stamp);
        }
        return scn_prop_view(prop->text);
}

struct scn_stamp_view scn_document_stamp(const struct scn_document *document, scn_node_id id, enum scn_field field)
{
        return stamp_of_slot(document, living_slot(document, id), field);
}

struct scn_property scn_document_property(
        const struct scn_document *document, scn_node_id id, uint32_t index, struct scn_stamp_view *stamp_out)
{
        return property_of_slot(document, living_slot(document, id), index, stamp_out);
}

struct scn_slice scn_document_get(const struct scn_document *document, scn_node_id id, struct scn_slice key)
{
        const struct scn_props *props = scn_node_at(document, living_slot(document, id))->props;
        bool is_found;
        const uint32_t index = scn_props_find(props, key, &is_found);
        return is_found ? scn_prop_view(props->items[index].text).value : (struct scn_slice){NULL, 0};
}

uint32_t scn_document_index(struct scn_document *document, scn_node_id id)
{
        return scn_order_index(document, living_slot(document, id));
}

scn_node_id scn_document_child(struct scn_document *document, scn_node_id parent, uint32_t index)
{
        const uint32_t slot = living_slot(document, parent);
        return index < scn_hierarchy_children_count(document->hierarchy, slot)
                ? scn_node_at(document, scn_order_child(document, slot, index))->id
                : 0;
}

scn_node_id scn_document_walk(const struct scn_document *document, scn_node_id top, scn_node_id id)
{
        const uint32_t next =
                scn_hierarchy_walk(document->hierarchy, living_slot(document, top), living_slot(document, id));
        return scn_id_at(document, next);
}

uint32_t scn_document_count_below(const struct scn_document *document, scn_node_id top, uint32_t max)
{
        const uint32_t first = living_slot(document, top);
        uint32_t count = 0;
        for (uint32_t ref = first; ref != SCN_NONE && count < max;
                ref = scn_hierarchy_walk(document->hierarchy, first, ref)) {
                count++;
        }
        return count;
}

uint32_t scn_document_depth(const struct scn_document *document, scn_node_id id)
{
        return scn_depth_at(document, living_slot(document, id));
}

/* --- Memory --- */

/* A node with its places in the tables; DESIGN §10 has it as a limit. */
#define NODE_BYTES 320u
/* What the C library adds to a block. */
#define BLOCK_BYTES 16u

static size_t texts_of_slot(const struct scn_node *node)
{
        size_t bytes = node->name == NULL ? 0 : sizeof *node->name + node->name->size + BLOCK_BYTES;
        if (node->props != NULL) {
                bytes += sizeof *node->props + node->props->capacity * sizeof node->props->items[0] + BLOCK_BYTES;
        }
        for (uint32_t i = 0; node->props != NULL && i < node->props->count; i++) {
                const struct scn_prop_text *text = node->props->items[i].text;
                bytes += sizeof *text + text->key_size + text->value_size + BLOCK_BYTES;
        }
        return bytes;
}

size_t scn_document_bytes(const struct scn_document *document)
{
        size_t bytes = sizeof *document + (size_t)document->slots_count * NODE_BYTES +
                (size_t)document->past_capacity * sizeof *document->past;
        for (uint32_t slot = 0; slot < document->slots_count; slot++) {
                const struct scn_node *node = scn_node_at(document, slot);
                bytes += node->id == 0 ? 0 : texts_of_slot(node);
        }
        return bytes;
}

/* --- Removed subtrees: the cursor is the slot + 1 --- */

struct scn_node_view scn_document_removed_node(
        const struct scn_document *document, const struct scn_change_remove *removal, uint32_t *cursor)
{
        const uint32_t slot =
                *cursor == 0 ? removal->slot : scn_hierarchy_walk(document->hierarchy, removal->slot, *cursor - 1);
        SCN_ASSERT(slot != SCN_NONE);
        *cursor = slot + 1;
        struct scn_node_view view = view_slot(document, slot);
        if (slot == removal->slot) {
                view.parent = removal->parent;
                view.previous = removal->previous;
                view.next = removal->next;
        }
        return view;
}

struct scn_uid scn_document_removed_parent(const struct scn_document *document, uint32_t cursor)
{
        SCN_ASSERT(cursor != 0);
        return scn_uid_at(document, scn_hierarchy_parent(document->hierarchy, cursor - 1));
}

struct scn_stamp_view scn_document_removed_stamp(
        const struct scn_document *document, uint32_t cursor, enum scn_field field)
{
        SCN_ASSERT(cursor != 0);
        return stamp_of_slot(document, cursor - 1, field);
}

struct scn_property scn_document_removed_property(
        const struct scn_document *document, uint32_t cursor, uint32_t index, struct scn_stamp_view *stamp_out)
{
        SCN_ASSERT(cursor != 0);
        return property_of_slot(document, cursor - 1, index, stamp_out);
}

/* --- Worlds --- */

static enum scn_error find_for_query(const struct scn_document *document, scn_node_id id, uint32_t *slot_out)
{
        const struct scn_node_ref ref = {.kind = SCN_REF_ID, .id = id};
        uint64_t steps_left = 0; /* an id needs none */
        return scn_document_find_slot(document, &ref, &steps_left, slot_out);
}

enum scn_error scn_document_world(const struct scn_document *document, scn_node_id id, struct scn_affine *world_out)
{
        uint32_t slot;
        const enum scn_error error = find_for_query(document, id, &slot);
        return error != SCN_OK ? error : scn_hierarchy_world(document->hierarchy, slot, world_out);
}

/* In the space of another slot. */
static enum scn_error world_relative(
        const struct scn_document *document, uint32_t slot, uint32_t other_slot, struct scn_affine *world_out)
{
        const struct scn_affine64 world = scn_transform_world64(document->hierarchy, slot);
        const struct scn_affine64 frame = scn_transform_world64(document->hierarchy, other_slot);
        struct scn_affine64 inverse;
        const enum scn_error error = scn_affine64_invert(&frame, &inverse);
        if (error != SCN_OK) {
                return error;
        }
        const struct scn_affine64 relative = scn_affine64_multiply(&inverse, &world);
        return scn_affine64_round(&relative, world_out);
}

enum scn_error scn_document_world_relative(
        const struct scn_document *document, scn_node_id id, scn_node_id other, struct scn_affine *world_out)
{
        uint32_t slot;
        uint32_t other_slot;
        enum scn_error error = find_for_query(document, id, &slot);
        if (error == SCN_OK) {
                error = find_for_query(document, other, &other_slot);
        }
        return error == SCN_OK ? world_relative(document, slot, other_slot, world_out) : error;
}

enum scn_error scn_document_locate(const struct scn_document *document, const struct scn_node_ref *ref,
        scn_node_id frame, uint64_t *steps_left, struct scn_located *located_out)
{
        uint32_t slot;
        const enum scn_error error = scn_document_find_slot(document, ref, steps_left, &slot);
        if (error != SCN_OK) {
                return error;
        }
        located_out->slot = slot;
        located_out->uid = scn_node_at(document, slot)->uid;
        return frame == 0 ? scn_hierarchy_world(document->hierarchy, slot, &located_out->world)
                          : world_relative(document, slot, living_slot(document, frame), &located_out->world);
}

void scn_document_update_worlds(struct scn_document *document)
{
        scn_hierarchy_update(document->hierarchy);
}

/* To look one up while others wait for an update costs about as much as to update so many. */
#define LOOK_UP_COST 16u

void scn_document_prepare_worlds(struct scn_document *document, uint32_t count)
{
        if (document->nodes_count / LOOK_UP_COST <= count) {
                scn_hierarchy_update(document->hierarchy);
        }
}

bool scn_document_world_is_stale(const struct scn_document *document, scn_node_id id)
{
        return scn_hierarchy_is_stale(document->hierarchy, living_slot(document, id));
}

/* --- What changed --- */

bool scn_document_changed_since(const struct scn_document *document, scn_node_id id, uint32_t mask, scn_revision since)
{
        const struct scn_node *node = scn_node_at(document, living_slot(document, id));
        for (uint32_t channel = 0; channel < SCN_CHANNEL_COUNT; channel++) {
                if ((mask & 1u << channel) != 0 && node->subtree_rev[channel] > since) {
                        return true;
                }
        }
        return false;
}

/* --- Digest --- */

struct scn_digests scn_document_digests(const struct scn_document *document)
{
        return document->digests;
}

struct scn_digests scn_document_subtree_digests(const struct scn_document *document, scn_node_id id, uint32_t mask)
{
        struct scn_digests sums = {{{0, 0}}};
        const uint32_t top = living_slot(document, id);
        for (uint32_t at = top; at != SCN_NONE; at = scn_hierarchy_walk(document->hierarchy, top, at)) {
                scn_digests_of_node(document, at, mask, at == top, &sums);
        }
        return sums;
}
