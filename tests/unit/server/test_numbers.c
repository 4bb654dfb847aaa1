/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Numbers of every kind that msgpack has, on their way in and out again: what cannot be held is refused, what is held
 * is what everybody is told (CASES B39). */

#include "tests/lib/hub.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <math.h>
#include <string.h>

#define BYTES(text)                                                                                                    \
        {                                                                                                              \
                (const uint8_t *)(text), sizeof(text) - 1                                                              \
        }

/* A number as it is spelled. */
struct row {
        struct scn_slice spelling;
        const char *code; /* NULL: it is taken ... */
        double value;     /* ... as this */
};

static void send_raw_edit(struct peer *peer, const struct scn_buffer *ops)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_edit);
        message.as.edit.number = ++peer->number;
        message.as.edit.ops = (struct scn_slice){ops->data, (uint32_t)ops->size};
        peer_send(peer, &message);
}

/* An edit of these bytes with a number between them. */
static void send_around(struct peer *peer, struct scn_slice before, struct scn_slice number, struct scn_slice behind)
{
        struct scn_buffer ops;
        scn_buffer_init(&ops, 256);
        cr_assert_eq(scn_buffer_append(&ops, before.data, before.size), SCN_OK);
        cr_assert_eq(scn_buffer_append(&ops, number.data, number.size), SCN_OK);
        cr_assert_eq(scn_buffer_append(&ops, behind.data, behind.size), SCN_OK);
        send_raw_edit(peer, &ops);
        scn_buffer_finish(&ops);
}

/* What the tree says of the root's translation. */
static float told_x(struct peer *peer)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_tree);
        message.as.tree.request = 3;
        message.as.tree.depth = 0;
        peer_send(peer, &message);
        message = peer_expect(peer, SCN_MESSAGE_answer);
        struct scn_unpacker unpacker = scn_unpacker_from(message.as.answer.body);
        cr_assert_eq(scn_unpack_array(&unpacker), 1);
        cr_assert_eq(scn_unpack_map(&unpacker), 8);
        while (scn_unpack_uint(&unpacker, 7) != 4) {
                (void)scn_unpack_raw(&unpacker);
        }
        cr_assert_eq(scn_unpack_array(&unpacker), 3);
        return scn_unpack_float(&unpacker);
}

SCN_TEST(number, in_a_field_of_floats_is_taken_whatever_its_kind_or_refused)
{
        static const struct row rows[] = {
                {BYTES("\x01"), NULL, 1.0}, {BYTES("\xff"), NULL, -1.0},
                {BYTES("\xcf\xff\xff\xff\xff\xff\xff\xff\xff"), NULL, 0x1p64},
                {BYTES("\xd3\x80\x00\x00\x00\x00\x00\x00\x00"), NULL, -0x1p63},
                {BYTES("\xca\x3d\xcc\xcc\xcd"), NULL, (double)0.1f},
                {BYTES("\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a"), NULL, (double)0.1f},
                {BYTES("\xcb\x47\xef\xff\xff\xe0\x00\x00\x00"), NULL, 0x1.fffffep127},
                {BYTES("\xcb\x7e\x37\xe4\x3c\x88\x00\x75\x9c"), "range", 0.0},      /* 1e300 */
                {BYTES("\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00"), "not_finite", 0.0}, /* infinity */
                {BYTES("\xca\x7f\xc0\x00\x00"), "not_finite", 0.0},                 /* NaN */
                {BYTES("\xa1\x31"), "bad_op", 0.0},                                 /* "1" */
                {BYTES("\xc3"), "bad_op", 0.0},                                     /* true */
        };
        /* [{op: transform, node: "/", t: [x, 0, 0]}] */
        const struct scn_slice before = BYTES("\x91\x83\x00\x03\x01\xa1/\x07\x93");
        const struct scn_slice behind = BYTES("\x00\x00");
        struct hub hub;
        struct peer peer;
        hub_start(&hub);
        peer_open(&peer, &hub, 1, "ann", "isle");
        double last = 0.0;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                send_around(&peer, before, rows[i].spelling, behind);
                if (rows[i].code != NULL) {
                        peer_expect_code(&peer, SCN_MESSAGE_refused, rows[i].code);
                } else {
                        (void)peer_expect(&peer, SCN_MESSAGE_applied);
                        last = rows[i].value;
                }
                cr_expect_eq(told_x(&peer), (float)last, "number %zu", i);
        }
        peer_close(&peer);
        hub_stop(&hub);
        hub_restart(&hub);
        peer_open(&peer, &hub, 1, "ann", "isle");
        cr_expect_eq(told_x(&peer), (float)last, "it is stored as it was told");
        peer_close(&peer);
        hub_finish(&hub);
}

SCN_TEST(number, in_a_field_of_integers_is_exact_or_refused)
{
        static const struct row rows[] = {
                {BYTES("\x00"), NULL, 0.0}, {BYTES("\xca\x3f\x80\x00\x00"), NULL, 0.0}, /* 1.0 */
                {BYTES("\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00"), NULL, 0.0},             /* 1.0 */
                {BYTES("\xce\x80\x00\x00\x00"), NULL, 0.0},                             /* 2^31: behind the last */
                {BYTES("\xcf\x00\x00\x00\x01\x00\x00\x00\x00"), "range", 0.0},          /* 2^32 */
                {BYTES("\xcf\x00\x20\x00\x00\x00\x00\x00\x01"), "range", 0.0},          /* 2^53 + 1 */
                {BYTES("\xcf\x80\x00\x00\x00\x00\x00\x00\x00"), "range", 0.0},          /* 2^63 */
                {BYTES("\xcf\xff\xff\xff\xff\xff\xff\xff\xff"), "range", 0.0},          /* 2^64 - 1 */
                {BYTES("\xff"), "range", 0.0},                                          /* -1 */
                {BYTES("\xca\x3f\xc0\x00\x00"), "not_integer", 0.0},                    /* 1.5 */
                {BYTES("\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00"), "not_finite", 0.0},     /* NaN */
        };
        /* [{op: add, parent: "/", index: i}] */
        const struct scn_slice before = BYTES("\x91\x83\x00\x00\x02\xa1/\x03");
        const struct scn_slice behind = {NULL, 0};
        struct hub hub;
        struct peer peer;
        hub_start(&hub);
        peer_open(&peer, &hub, 1, "ann", "isle");
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                send_around(&peer, before, rows[i].spelling, behind);
                if (rows[i].code != NULL) {
                        peer_expect_code(&peer, SCN_MESSAGE_refused, rows[i].code);
                } else {
                        (void)peer_expect(&peer, SCN_MESSAGE_applied);
                }
        }
        peer_close(&peer);
        hub_finish(&hub);
}

/* Request numbers, revisions: refused where JavaScript could not have meant them, never wrapped. */
SCN_TEST(number, of_a_message_beyond_what_javascript_holds_is_refused)
{
        static const struct {
                struct scn_slice frame;
                const char *code; /* NULL: answered */
        } rows[] = {
                {BYTES("\xc4\x0b\x92\x14\xcf\x00\x1f\xff\xff\xff\xff\xff\xff"), NULL}, /* ping 2^53 - 1 */
                {BYTES("\xc4\x0b\x92\x14\xcb\x40\x00\x00\x00\x00\x00\x00\x00"), NULL}, /* ping 2.0 */
                {BYTES("\xc4\x0b\x92\x14\xcf\x00\x20\x00\x00\x00\x00\x00\x00"), "range"},
                {BYTES("\xc4\x0b\x92\x14\xcf\xff\xff\xff\xff\xff\xff\xff\xff"), "range"},
                {BYTES("\xc4\x03\x92\x14\xff"), "range"},
                {BYTES("\xc4\x07\x92\x14\xca\x3f\xc0\x00\x00"), "not_integer"},
        };
        struct hub hub;
        struct peer peer;
        hub_start(&hub);
        peer_open(&peer, &hub, 1, "ann", "isle");
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                peer_send_bytes(&peer, rows[i].frame.data, rows[i].frame.size);
                if (rows[i].code != NULL) {
                        peer_expect_code(&peer, SCN_MESSAGE_failed, rows[i].code);
                } else {
                        (void)peer_expect(&peer, SCN_MESSAGE_answer);
                }
        }
        peer_close(&peer);
        hub_finish(&hub);
}
