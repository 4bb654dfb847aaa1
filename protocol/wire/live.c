/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "protocol/wire/live.h"

#include "protocol/base/uid.h"
#include "protocol/wire/message.h"

#include <string.h>

enum wish_key {
        KEY_NODE = 1,
        KEY_T = 7,
        KEY_R,
        KEY_S,
};

static const struct {
        uint32_t field;
        uint32_t key;
        uint32_t count;
        size_t offset;
} parts[] = {
        {SCN_FIELDS_TRANSLATION, KEY_T, 3, offsetof(struct scn_trs, t)},
        {SCN_FIELDS_ROTATION, KEY_R, 4, offsetof(struct scn_trs, r)},
        {SCN_FIELDS_SCALE, KEY_S, 3, offsetof(struct scn_trs, s)},
};
#define PARTS_COUNT (sizeof parts / sizeof parts[0])

static void fail(struct scn_unpacker *unpacker, enum scn_error error)
{
        unpacker->error = unpacker->error == SCN_OK ? error : unpacker->error;
}

static void pack_floats(struct scn_packer *packer, const struct scn_trs *trs, size_t part)
{
        const float *floats = (const float *)(const void *)((const uint8_t *)trs + parts[part].offset);
        scn_pack_array(packer, parts[part].count);
        for (uint32_t i = 0; i < parts[part].count; i++) {
                scn_pack_float(packer, floats[i]);
        }
}

static void unpack_floats(struct scn_unpacker *unpacker, struct scn_trs *trs, size_t part)
{
        float *floats = (float *)(void *)((uint8_t *)trs + parts[part].offset);
        if (scn_unpack_array(unpacker) != parts[part].count) {
                fail(unpacker, SCN_E_BAD_MESSAGE);
        }
        for (uint32_t i = 0; i < parts[part].count && unpacker->error == SCN_OK; i++) {
                floats[i] = scn_unpack_float(unpacker);
        }
}

/* --- Wishes --- */

void scn_pack_preview_wish(struct scn_packer *packer, const struct scn_preview_wish *wish)
{
        uint32_t count = 1;
        for (size_t i = 0; i < PARTS_COUNT; i++) {
                count += (wish->fields & parts[i].field) != 0;
        }
        scn_pack_map(packer, count);
        scn_pack_uint(packer, KEY_NODE);
        scn_pack_ref(packer, &wish->node);
        for (size_t i = 0; i < PARTS_COUNT; i++) {
                if ((wish->fields & parts[i].field) != 0) {
                        scn_pack_uint(packer, parts[i].key);
                        pack_floats(packer, &wish->trs, i);
                }
        }
}

static void unpack_entry(struct scn_unpacker *unpacker, struct scn_preview_wish *wish)
{
        const uint64_t key = scn_unpack_uint(unpacker, UINT32_MAX);
        if (key == KEY_NODE) {
                if (wish->node.kind != SCN_REF_NONE) {
                        fail(unpacker, SCN_E_BAD_MESSAGE);
                }
                wish->node = scn_unpack_ref(unpacker);
                return;
        }
        for (size_t i = 0; i < PARTS_COUNT; i++) {
                if (key != parts[i].key) {
                        continue;
                }
                if ((wish->fields & parts[i].field) != 0) {
                        fail(unpacker, SCN_E_BAD_MESSAGE);
                }
                wish->fields |= parts[i].field;
                unpack_floats(unpacker, &wish->trs, i);
                return;
        }
        (void)scn_unpack_raw(unpacker);
}

struct scn_preview_wish scn_unpack_preview_wish(struct scn_unpacker *unpacker)
{
        struct scn_preview_wish wish = {.node = {.kind = SCN_REF_NONE}, .trs = SCN_TRS_IDENTITY};
        const uint32_t count = scn_unpack_map(unpacker);
        for (uint32_t i = 0; i < count && unpacker->error == SCN_OK; i++) {
                unpack_entry(unpacker, &wish);
        }
        if (wish.node.kind == SCN_REF_NONE) {
                fail(unpacker, SCN_E_MISSING_FIELD);
        }
        return wish;
}

/* --- live --- */

void scn_pack_live_presence(struct scn_packer *packer, const struct scn_live_presence *presence)
{
        const bool is_gone = presence->map.data == NULL;
        scn_pack_array(packer, is_gone ? 1 : 3);
        scn_pack_uint(packer, presence->session);
        if (!is_gone) {
                scn_pack_text(packer, presence->author);
                scn_pack_raw(packer, presence->map);
        }
}

void scn_pack_live_lock(struct scn_packer *packer, const struct scn_live_lock *lock)
{
        const bool is_gone = lock->author.data == NULL;
        scn_pack_array(packer, is_gone ? 2 : 6);
        scn_pack_uid(packer, lock->node);
        scn_pack_uint(packer, lock->session);
        if (!is_gone) {
                scn_pack_text(packer, lock->author);
                scn_pack_uint(packer, lock->mask);
                scn_pack_bool(packer, lock->has_subtree);
                scn_pack_uint(packer, lock->left_ms);
        }
}

void scn_pack_live_preview(struct scn_packer *packer, const struct scn_live_preview *preview)
{
        uint32_t count = 2;
        for (uint32_t i = 0; i < PARTS_COUNT; i++) {
                count = (preview->fields & parts[i].field) != 0 ? 3 + i : count;
        }
        scn_pack_array(packer, count);
        scn_pack_uint(packer, preview->session);
        scn_pack_uid(packer, preview->node);
        for (uint32_t i = 0; i + 2 < count; i++) {
                if ((preview->fields & parts[i].field) != 0) {
                        pack_floats(packer, &preview->trs, i);
                } else {
                        scn_pack_nil(packer);
                }
        }
}

/* The head of an element: how many follow it, or an error if the key is not whole. */
static uint32_t unpack_head(struct scn_unpacker *unpacker, uint32_t key_count)
{
        const uint32_t count = scn_unpack_array(unpacker);
        if (count < key_count) {
                fail(unpacker, SCN_E_BAD_MESSAGE);
                return 0;
        }
        return count;
}

static void skip_rest(struct scn_unpacker *unpacker, uint32_t known, uint32_t count)
{
        for (uint32_t i = known; i < count && unpacker->error == SCN_OK; i++) {
                (void)scn_unpack_raw(unpacker);
        }
}

struct scn_live_presence scn_unpack_live_presence(struct scn_unpacker *unpacker)
{
        struct scn_live_presence presence = {0};
        const uint32_t count = unpack_head(unpacker, 1);
        presence.session = scn_unpack_uint(unpacker, SCN_REVISION_MAX);
        if (count > 1 && !scn_unpack_is_nil(unpacker)) {
                presence.author = scn_unpack_text(unpacker, UINT32_MAX);
        }
        if (count > 2 && !scn_unpack_is_nil(unpacker)) {
                if (scn_unpack_kind(unpacker) != SCN_PACK_MAP) {
                        fail(unpacker, SCN_E_BAD_MESSAGE);
                }
                presence.map = scn_unpack_raw(unpacker);
        }
        skip_rest(unpacker, 3, count);
        return presence;
}

struct scn_live_lock scn_unpack_live_lock(struct scn_unpacker *unpacker)
{
        struct scn_live_lock lock = {0};
        const uint32_t count = unpack_head(unpacker, 2);
        lock.node = scn_unpack_uid(unpacker);
        lock.session = scn_unpack_uint(unpacker, SCN_REVISION_MAX);
        if (count > 2 && !scn_unpack_is_nil(unpacker)) {
                lock.author = scn_unpack_text(unpacker, UINT32_MAX);
        }
        if (count > 3 && !scn_unpack_is_nil(unpacker)) {
                lock.mask = (uint32_t)scn_unpack_uint(unpacker, UINT32_MAX);
        }
        if (count > 4 && !scn_unpack_is_nil(unpacker)) {
                lock.has_subtree = scn_unpack_bool(unpacker);
        }
        if (count > 5 && !scn_unpack_is_nil(unpacker)) {
                lock.left_ms = scn_unpack_uint(unpacker, SCN_REVISION_MAX);
        }
        skip_rest(unpacker, 6, count);
        return lock;
}

struct scn_live_preview scn_unpack_live_preview(struct scn_unpacker *unpacker)
{
        struct scn_live_preview preview = {.trs = SCN_TRS_IDENTITY};
        const uint32_t count = unpack_head(unpacker, 2);
        preview.session = scn_unpack_uint(unpacker, SCN_REVISION_MAX);
        preview.node = scn_unpack_uid(unpacker);
        for (uint32_t i = 0; i < PARTS_COUNT && i + 2 < count && unpacker->error == SCN_OK; i++) {
                if (!scn_unpack_is_nil(unpacker)) {
                        preview.fields |= parts[i].field;
                        unpack_floats(unpacker, &preview.trs, i);
                }
        }
        skip_rest(unpacker, 2 + PARTS_COUNT, count);
        return preview;
}

/* --- Merging a presence --- */

/* Room for what was there and a message's worth of keys, most of which may replace or remove. */
#define KEYS_READ_MAX (4u * SCN_LIVE_presence_keys_max)

struct key {
        struct scn_slice key;
        struct scn_slice value; /* data == NULL: to be removed */
};

struct keys {
        struct key keys[KEYS_READ_MAX + SCN_LIVE_presence_keys_max];
        size_t count;
        size_t old_count;
        struct scn_buffer values; /* canonical; reserved, so that it stays where it is */
};

static struct key *find_key(struct keys *keys, size_t from, struct scn_slice name)
{
        for (size_t i = from; i < keys->count; i++) {
                if (keys->keys[i].key.size == name.size && memcmp(keys->keys[i].key.data, name.data, name.size) == 0) {
                        return &keys->keys[i];
                }
        }
        return NULL;
}

/* What is there stands first; its spelling is our own. */
static void read_old(struct keys *keys, struct scn_slice map)
{
        struct scn_unpacker unpacker = scn_unpacker_from(map);
        const uint32_t count = map.data == NULL ? 0 : scn_unpack_map(&unpacker);
        for (uint32_t i = 0; i < count; i++) {
                keys->keys[keys->count].key = scn_unpack_text(&unpacker, UINT32_MAX);
                keys->keys[keys->count++].value = scn_unpack_raw(&unpacker);
        }
        keys->old_count = keys->count;
}

static enum scn_error read_new_value(
        struct keys *keys, const struct scn_limits *limits, struct scn_unpacker *unpacker, struct scn_slice *value_out)
{
        *value_out = (struct scn_slice){NULL, 0};
        if (scn_unpack_is_nil(unpacker)) {
                return SCN_OK;
        }
        const size_t at = keys->values.size;
        const struct scn_slice raw = scn_unpack_raw(unpacker);
        const enum scn_error error =
                unpacker->error != SCN_OK ? unpacker->error : scn_value_canonicalise(raw, limits, &keys->values);
        if (error == SCN_OK) {
                *value_out = (struct scn_slice){keys->values.data + at, (uint32_t)(keys->values.size - at)};
        }
        return error;
}

static enum scn_error read_new(struct keys *keys, const struct scn_limits *limits, struct scn_slice map)
{
        struct scn_unpacker unpacker = scn_unpacker_from(map);
        const uint32_t count = scn_unpack_map(&unpacker);
        if (unpacker.error == SCN_OK && count > KEYS_READ_MAX) {
                return SCN_E_TOO_MANY_KEYS;
        }
        for (uint32_t i = 0; i < count; i++) {
                struct key new;
                new.key = scn_unpack_text(&unpacker, UINT32_MAX);
                if (unpacker.error != SCN_OK) {
                        return unpacker.error;
                }
                if (new.key.size == 0 || new.key.size > limits->key_bytes_max) {
                        return SCN_E_KEY_TOO_LONG;
                }
                if (find_key(keys, keys->old_count, new.key) != NULL) {
                        return SCN_E_DUPLICATE_KEY;
                }
                const enum scn_error error = read_new_value(keys, limits, &unpacker, &new.value);
                if (error != SCN_OK) {
                        return error;
                }
                keys->keys[keys->count++] = new;
        }
        return unpacker.error;
}

/* A key that is there already keeps its place. */
static void merge(struct keys *keys)
{
        const size_t count = keys->count;
        size_t kept = 0;
        for (size_t i = 0; i < keys->old_count; i++) {
                struct key *new = find_key(keys, keys->old_count, keys->keys[i].key);
                if (new != NULL) {
                        keys->keys[i].value = new->value;
                        new->value = (struct scn_slice){NULL, 0};
                }
        }
        for (size_t i = 0; i < count; i++) {
                if (keys->keys[i].value.data != NULL) {
                        keys->keys[kept++] = keys->keys[i];
                }
        }
        keys->count = kept;
}

static enum scn_error pack_keys(const struct keys *keys, struct scn_buffer *merged)
{
        if (keys->count == 0) {
                return SCN_OK;
        }
        if (keys->count > SCN_LIVE_presence_keys_max) {
                return SCN_E_TOO_MANY_KEYS;
        }
        struct scn_packer packer = scn_packer_to(merged);
        scn_pack_map(&packer, (uint32_t)keys->count);
        for (size_t i = 0; i < keys->count; i++) {
                scn_pack_text(&packer, keys->keys[i].key);
                scn_pack_raw(&packer, keys->keys[i].value);
        }
        return packer.error;
}

enum scn_error scn_presence_merge(
        struct scn_slice present, struct scn_slice map, const struct scn_limits *limits, struct scn_buffer *merged)
{
        struct keys keys;
        keys.count = 0;
        scn_buffer_init(&keys.values, map.size);
        enum scn_error error = scn_buffer_reserve(&keys.values, map.size);
        if (error == SCN_OK) {
                read_old(&keys, present);
                error = read_new(&keys, limits, map);
        }
        if (error == SCN_OK) {
                merge(&keys);
                error = pack_keys(&keys, merged);
        }
        scn_buffer_finish(&keys.values);
        return error;
}
