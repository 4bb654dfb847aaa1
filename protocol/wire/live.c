/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "protocol/wire/live.h"

#include "protocol/base/uid.h"
#include "protocol/wire/message.h"

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
