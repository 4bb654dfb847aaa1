/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Slots, the maps from names to them, clients, and the texts that nodes own. */

#include "protocol/scene/order.h"
#include "protocol/scene/state.h"

#include <string.h>

SCN_STATIC_ASSERT(SCN_REVISION_MAX <= UINT64_MAX >> SCN_STAMP_CLIENT_BITS, "a stamp holds every revision");

enum scn_error scn_table_take_slot(struct scn_document *document, uint32_t *slot_out)
{
        uint32_t slot = document->slots_free;
        if (slot != SCN_NONE) {
                document->slots_free = scn_node_at(document, slot)->feed_next;
        } else {
                slot = document->slots_count;
                if (slot >= SCN_PAST_BIT) {
                        return SCN_E_TOO_MANY_NODES;
                }
                const size_t page = slot >> SCN_PAGE_BITS;
                if ((slot & (SCN_PAGE_NODES - 1)) == 0) {
                        if (!scn_grow((void **)&document->pages, &document->pages_capacity, sizeof *document->pages,
                                    page + 1, SIZE_MAX)) {
                                return SCN_E_NO_MEMORY;
                        }
                        document->pages[page] = scn_alloc(sizeof(struct scn_page));
                        if (document->pages[page] == NULL) {
                                return SCN_E_NO_MEMORY;
                        }
                }
                if (scn_hierarchy_reserve(document->hierarchy, slot + 1) != SCN_OK) {
                        if ((slot & (SCN_PAGE_NODES - 1)) == 0) {
                                scn_free(document->pages[page]);
                        }
                        return SCN_E_NO_MEMORY;
                }
                document->slots_count = slot + 1;
        }
        *scn_node_at(document, slot) = (struct scn_node){
                .feed_previous = SCN_NONE,
                .feed_next = SCN_NONE,
                .past = SCN_NONE,
                .order_block = SCN_NONE,
        };
        scn_node_set_name(document, slot, NULL);
        *slot_out = slot;
        return SCN_OK;
}

void scn_table_free_slot(struct scn_document *document, uint32_t slot)
{
        struct scn_node *node = scn_node_at(document, slot);
        scn_free(node->name);
        if (node->props != NULL) {
                for (uint32_t i = 0; i < node->props->count; i++) {
                        scn_free(node->props->items[i].text);
                }
                scn_free(node->props);
        }
        scn_node_set_name(document, slot, NULL);
        node->props = NULL;
        node->id = 0;
        node->feed_next = document->slots_free;
        document->slots_free = slot;
}

/* --- Maps --- */

enum scn_error scn_table_reserve(struct scn_document *document, uint32_t extra)
{
        const bool has_room = scn_index_map_reserve(&document->by_id, document->by_id.count + extra) &&
                scn_index_map_reserve(&document->by_uid, document->by_uid.count + extra);
        return has_room ? SCN_OK : SCN_E_NO_MEMORY;
}

uint32_t scn_table_find_id(const struct scn_document *document, scn_node_id id)
{
        return scn_index_map_find(&document->by_id, scn_hash_id(id, document->hash_seed), &id);
}

uint32_t scn_table_find_uid(const struct scn_document *document, struct scn_uid uid)
{
        return scn_index_map_find(&document->by_uid, scn_hash_uid(uid, document->hash_seed), &uid);
}

void scn_table_add_id(struct scn_document *document, scn_node_id id, uint32_t ref)
{
        scn_index_map_add(&document->by_id, scn_hash_id(id, document->hash_seed), ref);
}

void scn_table_remove_id(struct scn_document *document, scn_node_id id, uint32_t ref)
{
        scn_index_map_remove(&document->by_id, scn_hash_id(id, document->hash_seed), ref);
}

void scn_table_add_uid(struct scn_document *document, struct scn_uid uid, uint32_t ref)
{
        scn_index_map_add(&document->by_uid, scn_hash_uid(uid, document->hash_seed), ref);
}

void scn_table_remove_uid(struct scn_document *document, struct scn_uid uid, uint32_t ref)
{
        scn_index_map_remove(&document->by_uid, scn_hash_uid(uid, document->hash_seed), ref);
}

uint32_t scn_table_slot(const struct scn_document *document, scn_node_id id)
{
        const uint32_t ref = scn_table_find_id(document, id);
        return ref != SCN_NONE && (ref & SCN_PAST_BIT) != 0 ? SCN_NONE : ref;
}

/* --- Clients --- */

static void mark_client(uint32_t *numbers, struct scn_stamp stamp)
{
        numbers[scn_stamp_client(stamp)] = 1;
}

uint32_t scn_table_number_clients(const struct scn_document *document, uint32_t *numbers)
{
        for (uint32_t slot = 0; slot < document->slots_count; slot++) {
                const struct scn_node *node = scn_node_at(document, slot);
                for (uint32_t field = 0; node->id != 0 && field < SCN_FIELD_COUNT; field++) {
                        mark_client(numbers, node->stamps[field]);
                }
                for (uint32_t i = 0; node->props != NULL && i < node->props->count; i++) {
                        mark_client(numbers, node->props->items[i].stamp);
                }
        }
        for (uint32_t n = document->past_head; n != document->past_tail; n++) {
                numbers[scn_past_at(document, n)->client] = 1;
        }
        uint32_t count = 0;
        numbers[0] = 0;
        for (uint32_t i = 1; i < document->clients_count; i++) {
                numbers[i] = numbers[i] != 0 ? ++count : 0;
        }
        return count;
}

static struct scn_stamp renumber(const uint32_t *numbers, struct scn_stamp stamp)
{
        return scn_stamp_make(scn_stamp_revision(stamp), scn_stamp_writer(stamp), numbers[scn_stamp_client(stamp)]);
}

static void renumber_stamps(struct scn_document *document, const uint32_t *numbers)
{
        for (uint32_t slot = 0; slot < document->slots_count; slot++) {
                struct scn_node *node = scn_node_at(document, slot);
                for (uint32_t field = 0; node->id != 0 && field < SCN_FIELD_COUNT; field++) {
                        node->stamps[field] = renumber(numbers, node->stamps[field]);
                }
                for (uint32_t i = 0; node->props != NULL && i < node->props->count; i++) {
                        node->props->items[i].stamp = renumber(numbers, node->props->items[i].stamp);
                }
        }
        for (uint32_t n = document->past_head; n != document->past_tail; n++) {
                scn_past_at(document, n)->client = numbers[scn_past_at(document, n)->client];
        }
}

/* Forgets the clients whose last stamp is gone. Not while an edit could be taken back: its log has stamps, too. */
static enum scn_error compact_clients(struct scn_document *document)
{
        if (document->oldest != NULL) {
                return SCN_E_TOO_MANY_CLIENTS;
        }
        uint32_t *numbers = scn_alloc_zero(document->clients_count, sizeof *numbers);
        if (numbers == NULL) {
                return SCN_E_NO_MEMORY;
        }
        const uint32_t used = scn_table_number_clients(document, numbers);
        const uint32_t count = document->clients_count;
        if (used + 1 < count) {
                renumber_stamps(document, numbers);
                scn_table_forget_clients(document, 1);
                for (uint32_t i = 1; i < count; i++) {
                        const struct scn_uid client = document->clients[i];
                        if (numbers[i] != 0) {
                                document->clients[numbers[i]] = client;
                                scn_index_map_add(
                                        &document->by_client, scn_hash_uid(client, document->hash_seed), numbers[i]);
                        }
                }
                document->clients_count = used + 1;
        }
        scn_free(numbers);
        return used + 1 < count ? SCN_OK : SCN_E_TOO_MANY_CLIENTS;
}

enum scn_error scn_table_client(struct scn_document *document, struct scn_uid client, uint32_t *number_out)
{
        if (scn_uid_is_none(client)) {
                *number_out = 0;
                return SCN_OK;
        }
        const uint64_t hash = scn_hash_uid(client, document->hash_seed);
        const uint32_t known = scn_index_map_find(&document->by_client, hash, &client);
        if (known != SCN_NONE) {
                *number_out = known;
                return SCN_OK;
        }
        if (document->clients_count > document->limits.clients_max) {
                const enum scn_error error = compact_clients(document);
                if (error != SCN_OK) {
                        return error;
                }
        }
        const uint32_t number = document->clients_count;
        if (!scn_index_map_reserve(&document->by_client, number + 1) ||
                !scn_grow((void **)&document->clients, &document->clients_capacity, sizeof *document->clients,
                        (size_t)number + 1, SIZE_MAX)) {
                return SCN_E_NO_MEMORY;
        }
        document->clients[number] = client;
        document->clients_count = number + 1;
        scn_index_map_add(&document->by_client, hash, number);
        *number_out = number;
        return SCN_OK;
}

void scn_table_forget_clients(struct scn_document *document, uint32_t count)
{
        while (document->clients_count > count) {
                const uint32_t number = document->clients_count - 1;
                const uint64_t hash = scn_hash_uid(document->clients[number], document->hash_seed);
                scn_index_map_remove(&document->by_client, hash, number);
                document->clients_count = number;
        }
}

/* --- Texts --- */

bool scn_text_is(const struct scn_text *text, struct scn_slice slice)
{
        if (text == NULL || slice.data == NULL) {
                return text == NULL && slice.data == NULL;
        }
        return text->size == slice.size && memcmp(text->bytes, slice.data, slice.size) == 0;
}

struct scn_text *scn_text_create(struct scn_slice text)
{
        struct scn_text *made = scn_alloc(sizeof *made + text.size);
        if (made != NULL) {
                made->size = text.size;
                memcpy(made->bytes, text.data, text.size);
        }
        return made;
}

struct scn_prop_text *scn_prop_text_create(struct scn_slice key, struct scn_slice value)
{
        struct scn_prop_text *made = scn_alloc(sizeof *made + key.size + value.size);
        if (made != NULL) {
                made->key_size = key.size;
                made->value_size = value.size;
                memcpy(made->bytes, key.data, key.size);
                if (value.size > 0) {
                        memcpy(made->bytes + key.size, value.data, value.size);
                }
        }
        return made;
}

/* --- Properties --- */

static int compare_keys(const struct scn_prop_text *text, struct scn_slice key)
{
        const uint32_t shorter = text->key_size < key.size ? text->key_size : key.size;
        const int order = memcmp(text->bytes, key.data, shorter);
        return order != 0 ? order : (text->key_size > key.size) - (text->key_size < key.size);
}

uint32_t scn_props_find(const struct scn_props *props, struct scn_slice key, bool *is_found_out)
{
        uint32_t low = 0;
        uint32_t high = props == NULL ? 0 : props->count;
        *is_found_out = false;
        while (low < high) {
                const uint32_t middle = low + (high - low) / 2;
                const int order = compare_keys(props->items[middle].text, key);
                if (order == 0) {
                        *is_found_out = true;
                        return middle;
                }
                if (order < 0) {
                        low = middle + 1;
                } else {
                        high = middle;
                }
        }
        return low;
}

enum scn_error scn_props_reserve(struct scn_node *node, uint32_t count)
{
        struct scn_props *props = node->props;
        if (props != NULL && props->capacity >= count) {
                return SCN_OK;
        }
        const uint32_t capacity = count <= 4 ? count : count + count / 2;
        props = scn_realloc(props, sizeof *props + capacity * sizeof props->items[0]);
        if (props == NULL) {
                return SCN_E_NO_MEMORY;
        }
        if (node->props == NULL) {
                *props = (struct scn_props){0};
        }
        props->capacity = capacity;
        node->props = props;
        return SCN_OK;
}

void scn_props_insert(struct scn_node *node, uint32_t index, struct scn_prop prop)
{
        struct scn_props *props = node->props;
        SCN_ASSERT(props->count < props->capacity && index <= props->count);
        memmove(&props->items[index + 1], &props->items[index], (props->count - index) * sizeof prop);
        props->items[index] = prop;
        props->count++;
        props->living_count += prop.text->value_size > 0;
        const scn_revision revision = scn_stamp_revision(prop.stamp);
        props->revision = revision > props->revision ? revision : props->revision;
}

void scn_props_remove(struct scn_node *node, uint32_t index)
{
        struct scn_props *props = node->props;
        SCN_ASSERT(index < props->count);
        props->living_count -= props->items[index].text->value_size > 0;
        props->count--;
        memmove(&props->items[index], &props->items[index + 1], (props->count - index) * sizeof props->items[0]);
        if (props->count == 0) {
                scn_free(props);
                node->props = NULL;
        }
}
