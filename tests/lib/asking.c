/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/asking.h"

#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

struct scn_slice asking_at(uint8_t bytes[ASKING_AT_BYTES], const char *at)
{
        struct scn_buffer buffer;
        if (at == NULL) {
                return (struct scn_slice){NULL, 0};
        }
        scn_buffer_init(&buffer, ASKING_AT_BYTES);
        struct scn_packer packer = scn_packer_to(&buffer);
        if (at[0] != '\0' && strspn(at, "0123456789") == strlen(at)) {
                scn_pack_uint(&packer, strtoull(at, NULL, 10));
        } else {
                scn_pack_cstring(&packer, at);
        }
        cr_assert_eq(packer.error, SCN_OK);
        memcpy(bytes, buffer.data, buffer.size);
        const struct scn_slice slice = {bytes, (uint32_t)buffer.size};
        scn_buffer_finish(&buffer);
        return slice;
}

static void ask_digest(struct peer *peer, const char *at)
{
        uint8_t bytes[ASKING_AT_BYTES];
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_digest);
        message.as.digest.request = 8;
        message.as.digest.at = asking_at(bytes, at);
        peer_send(peer, &message);
}

struct scn_digest asking_digest(struct peer *peer, const char *at)
{
        struct scn_digest digest = {0, 0};
        ask_digest(peer, at);
        const struct scn_message answer = peer_expect(peer, SCN_MESSAGE_answer);
        cr_assert_eq(answer.as.answer.body.size, 18);
        for (int i = 0; i < 8; i++) {
                digest.high = digest.high << 8 | answer.as.answer.body.data[2 + i];
                digest.low = digest.low << 8 | answer.as.answer.body.data[10 + i];
        }
        return digest;
}

void asking_expect_failure(struct peer *peer, const char *at, const char *code)
{
        ask_digest(peer, at);
        peer_expect_code(peer, SCN_MESSAGE_failed, code);
}

scn_revision asking_edit(struct peer *peer, struct scn_op op)
{
        peer_edit(peer, &op, 1);
        return peer_expect(peer, SCN_MESSAGE_applied).as.applied.rev;
}

scn_revision asking_tag(struct peer *peer, const char *name, uint64_t rev)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_tag);
        message.as.tag.request = 9;
        message.as.tag.name = scene_text(name);
        message.as.tag.rev = rev;
        peer_send(peer, &message);
        return asking_member(peer_expect(peer, SCN_MESSAGE_answer).as.answer.body, "rev");
}

/* The value behind a key; data == NULL: there is none. */
static struct scn_slice find(struct scn_slice map, const char *key)
{
        struct scn_unpacker unpacker = scn_unpacker_from(map);
        const uint32_t count = scn_unpack_map(&unpacker);
        for (uint32_t i = 0; i < count && unpacker.error == SCN_OK; i++) {
                const struct scn_slice name = scn_unpack_text(&unpacker, 256);
                const struct scn_slice value = scn_unpack_raw(&unpacker);
                if (name.size == strlen(key) && memcmp(name.data, key, name.size) == 0) {
                        return value;
                }
        }
        return (struct scn_slice){NULL, 0};
}

uint64_t asking_member(struct scn_slice map, const char *key)
{
        const struct scn_slice value = find(map, key);
        cr_assert_not_null(value.data, "%s is not there", key);
        struct scn_unpacker unpacker = scn_unpacker_from(value);
        return scn_unpack_uint(&unpacker, UINT64_MAX);
}

bool asking_has_text(struct scn_slice map, const char *key, const char *text)
{
        struct scn_unpacker unpacker = scn_unpacker_from(find(map, key));
        if (scn_unpack_kind(&unpacker) != SCN_PACK_TEXT) {
                return false;
        }
        const struct scn_slice value = scn_unpack_text(&unpacker, UINT32_MAX);
        return value.size == strlen(text) && memcmp(value.data, text, value.size) == 0;
}

bool asking_has(struct scn_slice map, const char *key)
{
        return find(map, key).data != NULL;
}
