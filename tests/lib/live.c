/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "tests/lib/live.h"

#include "tests/lib/scene.h"

#include <criterion/criterion.h>
#include <string.h>

#define REQUEST 900u

/* A buffer of a kilobyte or two that a message is written into; one at a time. */
static struct scn_packer begin(struct scn_buffer *buffer)
{
        scn_buffer_init(buffer, SCN_MESSAGE_BYTES_MAX);
        return scn_packer_to(buffer);
}

static struct scn_slice bytes_of(const struct scn_packer *packer)
{
        cr_assert_eq(packer->error, SCN_OK);
        return (struct scn_slice){packer->buffer->data, (uint32_t)packer->buffer->size};
}

struct scn_slice live_map(const char *key, uint8_t value)
{
        static uint8_t bytes[64];
        struct scn_buffer buffer;
        struct scn_packer packer = begin(&buffer);
        scn_pack_map(&packer, 1);
        scn_pack_cstring(&packer, key);
        scn_pack_uint(&packer, value);
        const struct scn_slice spelled = bytes_of(&packer);
        cr_assert_leq(spelled.size, sizeof bytes);
        memcpy(bytes, spelled.data, spelled.size);
        scn_buffer_finish(&buffer);
        return (struct scn_slice){bytes, spelled.size};
}

void live_presence(struct peer *peer, struct scn_slice map)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_presence);
        message.as.presence.map = map;
        peer_send(peer, &message);
}

void live_preview_raw(struct peer *peer, const struct scn_preview_wish *wishes, uint32_t count)
{
        struct scn_buffer buffer;
        struct scn_packer packer = begin(&buffer);
        struct scn_message message;
        scn_pack_array(&packer, count);
        for (uint32_t i = 0; i < count; i++) {
                scn_pack_preview_wish(&packer, &wishes[i]);
        }
        scn_message_init(&message, SCN_MESSAGE_preview);
        message.as.preview.nodes = bytes_of(&packer);
        peer_send(peer, &message);
        scn_buffer_finish(&buffer);
}

void live_preview(struct peer *peer, scn_node_id id, float x)
{
        const struct scn_preview_wish wish = {
                .node = scene_id(id), .fields = SCN_FIELDS_TRANSLATION, .trs = {.t = {x, 0, 0}}};
        live_preview_raw(peer, &wish, 1);
}

void live_end_preview(struct peer *peer, scn_node_id id)
{
        const struct scn_preview_wish wish = {.node = scene_id(id)};
        live_preview_raw(peer, &wish, 1);
}

void live_end_previews(struct peer *peer)
{
        live_preview_raw(peer, NULL, 0);
}

static void pack_ids(struct scn_packer *packer, const scn_node_id *ids, uint32_t count)
{
        scn_pack_array(packer, count);
        for (uint32_t i = 0; i < count; i++) {
                const struct scn_node_ref ref = scene_id(ids[i]);
                scn_pack_ref(packer, &ref);
        }
}

void live_ask_lock(struct peer *peer, struct live_lock lock)
{
        struct scn_buffer buffer;
        struct scn_packer packer = begin(&buffer);
        struct scn_message message;
        pack_ids(&packer, lock.ids, lock.count);
        scn_message_init(&message, SCN_MESSAGE_lock);
        message.as.lock.request = REQUEST;
        message.as.lock.nodes = bytes_of(&packer);
        message.as.lock.ttl = lock.ttl == 0 ? SCN_ABSENT : lock.ttl;
        message.as.lock.mask = lock.mask == 0 ? SCN_ABSENT : lock.mask;
        message.as.lock.subtree = lock.has_subtree;
        peer_send(peer, &message);
        scn_buffer_finish(&buffer);
}

void live_lock(struct peer *peer, scn_node_id id, uint32_t mask, bool has_subtree)
{
        live_ask_lock(peer, (struct live_lock){.ids = &id, .count = 1, .mask = mask, .has_subtree = has_subtree});
        cr_assert_eq(peer_expect(peer, SCN_MESSAGE_answer).as.answer.request, REQUEST);
}

void live_expect_no_lock(struct peer *peer, scn_node_id id, const char *code)
{
        live_ask_lock(peer, (struct live_lock){.ids = &id, .count = 1, .has_subtree = true});
        peer_expect_code(peer, SCN_MESSAGE_failed, code);
}

uint64_t live_unlock(struct peer *peer, scn_node_id id)
{
        return live_unlock_all(peer, &id, id == 0 ? 0 : 1);
}

uint64_t live_unlock_all(struct peer *peer, const scn_node_id *ids, uint32_t count)
{
        struct scn_buffer buffer;
        struct scn_packer packer = begin(&buffer);
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_unlock);
        message.as.unlock.request = REQUEST;
        if (count > 0) {
                pack_ids(&packer, ids, count);
                message.as.unlock.nodes = bytes_of(&packer);
        }
        peer_send(peer, &message);
        scn_buffer_finish(&buffer);
        message = peer_expect(peer, SCN_MESSAGE_answer);
        struct scn_unpacker unpacker = scn_unpacker_from(message.as.answer.body);
        const uint64_t ended = scn_unpack_uint(&unpacker, UINT32_MAX);
        cr_assert(scn_unpack_is_done(&unpacker));
        return ended;
}

void live_view(struct peer *peer, uint64_t number, scn_node_id root, uint32_t mask)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_view);
        message.as.view.request = number;
        message.as.view.view = number;
        message.as.view.root = scene_id(root);
        message.as.view.mask = mask;
        peer_send(peer, &message);
        (void)peer_expect(peer, SCN_MESSAGE_viewed);
        (void)peer_expect(peer, SCN_MESSAGE_delta);
}

static uint32_t array_of(struct scn_unpacker *unpacker, struct scn_slice bytes)
{
        *unpacker = scn_unpacker_from(bytes);
        const uint32_t count = bytes.data == NULL ? 0 : scn_unpack_array(unpacker);
        cr_assert_leq(count, LIVE_TOLD_MAX);
        return count;
}

void live_read(const struct scn_message *message, struct live_told *told)
{
        const struct scn_message_live *live = &message->as.live;
        struct scn_unpacker unpacker;
        *told = (struct live_told){.view = live->view, .count = live->count, .is_whole = live->whole};
        told->presences_count = array_of(&unpacker, live->presence);
        for (size_t i = 0; i < told->presences_count; i++) {
                told->presences[i] = scn_unpack_live_presence(&unpacker);
        }
        cr_assert(live->presence.data == NULL || scn_unpack_is_done(&unpacker));
        told->locks_count = array_of(&unpacker, live->locks);
        for (size_t i = 0; i < told->locks_count; i++) {
                told->locks[i] = scn_unpack_live_lock(&unpacker);
        }
        cr_assert(live->locks.data == NULL || scn_unpack_is_done(&unpacker));
        told->previews_count = array_of(&unpacker, live->previews);
        for (size_t i = 0; i < told->previews_count; i++) {
                told->previews[i] = scn_unpack_live_preview(&unpacker);
        }
        cr_assert(live->previews.data == NULL || scn_unpack_is_done(&unpacker));
}

struct live_told live_expect(struct peer *peer)
{
        struct live_told told;
        const struct scn_message message = peer_expect(peer, SCN_MESSAGE_live);
        live_read(&message, &told);
        return told;
}

void live_expect_nothing(struct peer *peer)
{
        struct scn_message message;
        while (peer_receive(peer, &message)) {
                cr_assert_neq((int)message.kind, (int)SCN_MESSAGE_live, "nothing was to be told");
        }
}

void live_wait(struct hub *hub, uint64_t milliseconds)
{
        for (; milliseconds > 0; milliseconds--) {
                hub->monotonic_ms++;
                hub_run(hub);
        }
}
