/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "tests/lib/held.h"

#include "protocol/scene/digest.h"
#include "protocol/wire/columns.h"
#include "tests/lib/scene.h"

#include <criterion/criterion.h>

void hold(struct held *held)
{
        const struct scn_document_options options = scene_options();
        *held = (struct held){0};
        cr_assert_eq(scn_document_create_replica(&options, &held->replica), SCN_OK);
}

void let_go(struct held *held)
{
        scn_document_destroy(held->replica);
}

bool take_delta(struct peer *peer, struct held *held)
{
        struct scn_delta delta = {0};
        struct scn_message message;
        struct scn_buffer parts[16];
        bool has_delta = false;
        bool more = true;
        size_t count = 0;
        while (more && peer_receive(peer, &message)) {
                if (message.kind != SCN_MESSAGE_delta) {
                        continue;
                }
                cr_assert_lt(count, sizeof parts / sizeof parts[0]);
                const struct scn_message_delta *part = &message.as.delta;
                scn_buffer_init(&parts[count], SCN_MESSAGE_BYTES_MAX);
                cr_assert_eq(scn_buffer_append(&parts[count], part->columns.data, part->columns.size), SCN_OK);
                const struct scn_slice columns = {parts[count].data, part->columns.size};
                cr_assert_eq(scn_columns_decode(columns, &delta), SCN_OK);
                delta.to = part->to;
                delta.from = part->to - part->back;
                delta.root = delta.is_whole ? delta.root : scn_document_root(held->replica);
                more = part->more;
                has_delta = true;
                count++;
        }
        if (has_delta) {
                const enum scn_error error = scn_document_apply_delta(held->replica, &delta);
                cr_assert_eq(error, SCN_OK, "%s", scn_error_text(error));
        }
        for (size_t i = 0; i < count; i++) {
                scn_buffer_finish(&parts[i]);
        }
        scn_delta_finish(&delta);
        return has_delta;
}

void take_deltas(struct peer *peer, struct held *held)
{
        while (take_delta(peer, held)) {
        }
}

struct scn_digest ask_digest(struct peer *peer)
{
        struct scn_message message;
        struct scn_digest digest = {0, 0};
        scn_message_init(&message, SCN_MESSAGE_digest);
        message.as.digest.request = 5;
        peer_send(peer, &message);
        message = peer_expect(peer, SCN_MESSAGE_answer);
        struct scn_unpacker unpacker = scn_unpacker_from(message.as.answer.body);
        const struct scn_slice bytes = scn_unpack_bin(&unpacker, 16);
        cr_assert_eq(bytes.size, 16);
        for (int i = 0; i < 8; i++) {
                digest.high = digest.high << 8 | bytes.data[i];
                digest.low = digest.low << 8 | bytes.data[8 + i];
        }
        return digest;
}

bool has_digest(const struct scn_document *replica, struct scn_digest digest)
{
        const struct scn_digests digests =
                scn_document_subtree_digests(replica, scn_document_root(replica), SCN_MASK_ALL);
        const struct scn_digest own = scn_digests_combine(&digests, SCN_MASK_ALL);
        return own.low == digest.low && own.high == digest.high;
}
