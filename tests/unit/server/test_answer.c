/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What an edit's author is told. */

#include "tests/lib/hub.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include "protocol/base/uid.h"
#include "protocol/wire/ops.h"

#include <string.h>

static void send_edit(struct peer *peer, const struct scn_op *ops, uint32_t count, uint64_t base, bool more)
{
        static uint8_t bytes[SCN_MESSAGE_BYTES_MAX];
        struct scn_buffer buffer;
        struct scn_message message;
        scn_buffer_init(&buffer, sizeof bytes);
        struct scn_packer packer = scn_packer_to(&buffer);
        scn_ops_encode(&packer, ops, count);
        cr_assert_eq(packer.error, SCN_OK);
        memcpy(bytes, buffer.data, buffer.size);
        scn_message_init(&message, SCN_MESSAGE_edit);
        message.as.edit.number = peer->number + 1;
        message.as.edit.ops = (struct scn_slice){bytes, (uint32_t)buffer.size};
        message.as.edit.base = base;
        message.as.edit.strict = base != SCN_ABSENT;
        message.as.edit.more = more;
        scn_buffer_finish(&buffer);
        peer_send(peer, &message);
        peer->number += !more;
}

/* The value of a key of the detail; its end is not looked at. */
static struct scn_unpacker detail_of(const struct scn_message *refused, const char *key)
{
        struct scn_unpacker at = scn_unpacker_from(refused->as.refused.detail);
        const uint32_t count = scn_unpack_map(&at);
        for (uint32_t i = 0; i < count; i++) {
                const struct scn_slice name = scn_unpack_text(&at, 64);
                if (name.size == strlen(key) && memcmp(name.data, key, name.size) == 0) {
                        return at;
                }
                (void)scn_unpack_raw(&at);
        }
        cr_assert(false, "nothing is said of %s", key);
        return at;
}

SCN_TEST(answer, shows_the_transform_that_was_in_the_way_of_a_strict_edit)
{
        struct hub hub;
        struct peer a;
        struct peer b;
        hub_start(&hub);
        peer_open(&a, &hub, 1, "ann", "island");
        peer_open(&b, &hub, 2, "bob", "island");
        struct scn_op op = scene_add(1, 50, "boat");
        peer_edit(&a, &op, 1);
        (void)peer_expect(&a, SCN_MESSAGE_applied);
        op = scene_translate(2, 5, 6, 7);
        peer_edit(&b, &op, 1);
        (void)peer_expect(&b, SCN_MESSAGE_applied);
        op = scene_translate(2, 1, 1, 1);
        send_edit(&a, &op, 1, 1, false);
        const struct scn_message refused = peer_expect(&a, SCN_MESSAGE_refused);
        struct scn_unpacker value = detail_of(&refused, "value");
        cr_assert_eq(scn_unpack_array(&value), 3);
        cr_assert_eq(scn_unpack_float(&value), 5.0f);
        cr_assert_eq(scn_unpack_float(&value), 6.0f);
        cr_assert_eq(scn_unpack_float(&value), 7.0f);
        value = detail_of(&refused, "other");
        cr_assert(scn_uid_equal(scn_unpack_uid(&value), scene_client(2)));
        value = detail_of(&refused, "rev");
        cr_assert_eq(scn_unpack_uint(&value, 10), 2);
        peer_close(&a);
        peer_close(&b);
        hub_finish(&hub);
}

SCN_TEST(answer, says_how_much_a_move_would_shear)
{
        struct hub hub;
        struct peer a;
        hub_start(&hub);
        peer_open(&a, &hub, 1, "ann", "island");
        struct scn_op ops[] = {scene_add(1, 50, "flat"), scene_add(1, 51, "turned")};
        ops[0].fields = SCN_FIELDS_SCALE;
        ops[0].trs.s[0] = 10;
        ops[0].trs.s[1] = 1;
        ops[0].trs.s[2] = 1;
        ops[1].fields = SCN_FIELDS_ROTATION;
        ops[1].trs.r[2] = 0.38268343f;
        ops[1].trs.r[3] = 0.92387953f;
        peer_edit(&a, ops, 2);
        (void)peer_expect(&a, SCN_MESSAGE_applied);
        struct scn_op move = scene_move(3, 2);
        move.keep_world = true;
        peer_edit(&a, &move, 1);
        const struct scn_message refused = peer_expect(&a, SCN_MESSAGE_refused);
        struct scn_unpacker value = detail_of(&refused, "residual");
        cr_assert_gt(scn_unpack_float(&value), 0.1f);
        peer_close(&a);
        hub_finish(&hub);
}

/* An import is one edit, whose answer must fit into one message. */
SCN_TEST(answer, leaves_out_nodes_that_the_client_named_where_all_would_not_fit)
{
        enum {
                PART = 50000,
                PARTS = 6
        };
        static struct scn_op ops[PART];
        struct hub hub;
        struct peer a;
        hub_start(&hub);
        peer_open(&a, &hub, 1, "ann", "island");
        for (uint32_t part = 0; part < PARTS; part++) {
                for (uint32_t i = 0; i < PART; i++) {
                        ops[i] = scene_add(1, 50 + part * PART + i, NULL);
                }
                if (part == PARTS - 1) {
                        ops[PART - 1].uid = (struct scn_uid){{0}};
                }
                send_edit(&a, ops, PART, SCN_ABSENT, part < PARTS - 1);
        }
        const struct scn_message applied = peer_expect(&a, SCN_MESSAGE_applied);
        struct scn_unpacker results = scn_unpacker_from(applied.as.applied.results);
        cr_assert_eq(applied.as.applied.rev, 1);
        cr_assert_eq(scn_unpack_array(&results), 1, "the one that was given a uid");
        cr_assert_eq(scn_unpack_map(&results), 3);
        cr_assert_eq(scn_unpack_uint(&results, 0), 0);
        cr_assert_eq(scn_unpack_uint(&results, SCN_REVISION_MAX), PART * PARTS - 1);
        struct scn_message log;
        scn_message_init(&log, SCN_MESSAGE_log);
        log.as.log.request = 1;
        peer_send(&a, &log);
        cr_assert_leq(peer_expect(&a, SCN_MESSAGE_answer).as.answer.body.size, 64000, "the log names some of them");
        peer_close(&a);
        hub_finish(&hub);
}
