/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What a connection hears when it says something wrong. */

#include "server/core.h"
#include "tests/lib/hub.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <string.h>

/* All that the server has to say, as bytes. */
static size_t output_of(struct peer *peer, uint8_t *bytes, size_t size_max)
{
        struct scn_slice slices[8];
        const size_t count = scn_session_output(peer->session, slices, 8);
        size_t size = 0;
        for (size_t i = 0; i < count; i++) {
                cr_assert_leq(size + slices[i].size, size_max);
                memcpy(bytes + size, slices[i].data, slices[i].size);
                size += slices[i].size;
        }
        return size;
}

SCN_TEST(session, begins_its_stream_with_the_preface_even_if_a_failure_is_all_there_is_to_say)
{
        static const char *const bad[] = {"GET / HTTP/1.1\r\n\r\n", "SCENED\x01\n\xc4\x02\x92\x14"};
        struct hub hub;
        hub_start(&hub);
        for (size_t i = 0; i < 2; i++) {
                struct peer peer;
                uint8_t bytes[512];
                peer_connect(&peer, &hub);
                peer_send_bytes(&peer, bad[i], strlen(bad[i]));
                cr_assert_gt(output_of(&peer, bytes, sizeof bytes), SCN_PREFACE_BYTES);
                cr_assert(memcmp(bytes, scn_preface, SCN_PREFACE_BYTES) == 0);
                peer_close(&peer);
        }
        hub_finish(&hub);
}

SCN_TEST(session, says_whether_a_failure_ends_the_connection)
{
        struct hub hub;
        struct peer peer;
        struct scn_message message;
        hub_start(&hub);
        peer_open(&peer, &hub, 1, "ann", "island");
        peer_send_bytes(&peer, "\xc4\x02\x91\x3f", 4);
        cr_assert(peer_receive(&peer, &message));
        cr_assert_eq(message.kind, SCN_MESSAGE_failed);
        cr_assert_eq(message.as.failed.request, SCN_ABSENT);
        cr_assert_not(message.as.failed.closes);
        cr_assert_not(peer_has_ended(&peer));
        peer_send_bytes(&peer, "\xc1", 1);
        cr_assert(peer_receive(&peer, &message));
        cr_assert_eq(message.kind, SCN_MESSAGE_failed);
        cr_assert(message.as.failed.closes);
        cr_assert(peer_has_ended(&peer));
        peer_close(&peer);
        hub_finish(&hub);
}

/* Numbers of edits and of requests are two rows: an answer must not be taken for the other's. */
SCN_TEST(session, refuses_an_edit_that_cannot_be_read_under_its_number_and_counts_it)
{
        struct hub hub;
        struct peer peer;
        struct scn_message message;
        hub_start(&hub);
        peer_open(&peer, &hub, 1, "ann", "island");
        peer_send_bytes(&peer, "\xc4\x03\x92\x03\x01", 5);
        cr_assert(peer_receive(&peer, &message));
        cr_assert_eq(message.kind, SCN_MESSAGE_refused);
        cr_assert_eq(message.as.refused.number, 1);
        cr_assert(scene_is_text(message.as.refused.code, "missing_field"));
        cr_assert(scene_is_text(message.as.refused.text, "edit.ops: a field that must be there is absent"));
        const struct scn_op op = scene_add(1, 50, "boat");
        peer_edit_as(&peer, 2, &op, 1);
        cr_assert_eq(peer_expect(&peer, SCN_MESSAGE_applied).as.applied.number, 2);
        peer_close(&peer);
        hub_finish(&hub);
}

SCN_TEST(session, counts_the_number_of_an_undo_that_is_refused)
{
        struct hub hub;
        struct peer peer;
        struct scn_message message;
        hub_start(&hub);
        peer_open(&peer, &hub, 1, "ann", "island");
        scn_message_init(&message, SCN_MESSAGE_undo);
        message.as.undo.number = 1;
        peer_send(&peer, &message);
        (void)peer_expect(&peer, SCN_MESSAGE_refused);
        const struct scn_op op = scene_add(1, 50, "boat");
        peer_edit_as(&peer, 2, &op, 1);
        cr_assert_eq(peer_expect(&peer, SCN_MESSAGE_applied).as.applied.number, 2);
        scn_message_init(&message, SCN_MESSAGE_redo);
        message.as.redo.number = 4;
        peer_send(&peer, &message);
        peer_expect_code(&peer, SCN_MESSAGE_refused, "gap");
        peer_close(&peer);
        hub_finish(&hub);
}

SCN_TEST(session, answers_by_kind_before_a_document_is_open)
{
        struct hub hub;
        struct peer peer;
        struct scn_message message;
        hub_start(&hub);
        peer_greet(&peer, &hub, 1, NULL);
        (void)peer_expect(&peer, SCN_MESSAGE_welcome);
        const struct scn_op op = scene_add(1, 50, "boat");
        peer_edit_as(&peer, 7, &op, 1);
        cr_assert(peer_receive(&peer, &message));
        cr_assert_eq(message.kind, SCN_MESSAGE_refused);
        cr_assert_eq(message.as.refused.number, 7);
        cr_assert(scene_is_text(message.as.refused.code, "not_open"));
        scn_message_init(&message, SCN_MESSAGE_unview);
        message.as.unview.view = 3;
        peer_send(&peer, &message);
        cr_assert(peer_receive(&peer, &message));
        cr_assert_eq(message.kind, SCN_MESSAGE_failed);
        cr_assert_eq(message.as.failed.request, SCN_ABSENT, "a view's number is no request's");
        scn_message_init(&message, SCN_MESSAGE_open);
        message.as.open.request = 4;
        message.as.open.document = scene_text("");
        peer_send(&peer, &message);
        cr_assert(peer_receive(&peer, &message));
        cr_assert_eq(message.as.failed.request, 4);
        cr_assert(scene_is_text(message.as.failed.code, "bad_name"));
        peer_close(&peer);
        hub_finish(&hub);
}

/* --- Life --- */

static void greet(struct peer *peer, struct hub *hub, uint64_t ping)
{
        struct scn_message message;
        peer_connect(peer, hub);
        peer_send_bytes(peer, scn_preface, SCN_PREFACE_BYTES);
        scn_message_init(&message, SCN_MESSAGE_hello);
        message.as.hello.version = SCN_PROTOCOL_VERSION;
        message.as.hello.client = scene_client(7);
        message.as.hello.ping = ping;
        peer_send(peer, &message);
}

static void pass(struct hub *hub, uint64_t milliseconds)
{
        hub->monotonic_ms += milliseconds;
        scn_server_tick(hub->server);
}

SCN_TEST(session, is_given_up_after_twice_the_time_in_which_it_promised_to_say_something)
{
        struct hub hub;
        struct peer peer;
        hub_start(&hub);
        greet(&peer, &hub, 5);
        (void)peer_expect(&peer, SCN_MESSAGE_welcome);
        pass(&hub, 10000);
        cr_assert_not(peer_has_ended(&peer));
        pass(&hub, 1);
        peer_expect_code(&peer, SCN_MESSAGE_failed, "silent");
        cr_assert(peer_has_ended(&peer));
        peer_close(&peer);
        /* Who promised nothing may be silent. */
        greet(&peer, &hub, SCN_ABSENT);
        (void)peer_expect(&peer, SCN_MESSAGE_welcome);
        pass(&hub, 10000000);
        cr_assert_not(peer_has_ended(&peer));
        peer_close(&peer);
        hub_finish(&hub);
}

SCN_TEST(session, any_byte_is_a_sign_of_life_also_of_half_a_message)
{
        struct hub hub;
        struct peer peer;
        hub_start(&hub);
        greet(&peer, &hub, 5);
        (void)peer_expect(&peer, SCN_MESSAGE_welcome);
        /* A message of 200 bytes over a line of one byte in nine seconds. */
        peer_send_bytes(&peer, "\xc4\xc8", 2);
        for (int i = 0; i < 50; i++) {
                peer_send_bytes(&peer, "x", 1);
                pass(&hub, 9000);
                cr_assert_not(peer_has_ended(&peer));
        }
        pass(&hub, 2000);
        cr_assert(peer_has_ended(&peer));
        peer_close(&peer);
        hub_finish(&hub);
}

SCN_TEST(session, time_in_which_nothing_is_read_from_it_does_not_count)
{
        enum {
                SIZE = 1 << 20
        };
        static uint8_t bytes[SIZE + 5] = {0xc6, SIZE >> 24, SIZE >> 16 & 255, SIZE >> 8 & 255, SIZE & 255};
        struct hub hub;
        struct peer peer;
        struct scn_message message;
        hub_start(&hub);
        greet(&peer, &hub, 5);
        (void)peer_expect(&peer, SCN_MESSAGE_welcome);
        scn_message_init(&message, SCN_MESSAGE_documents);
        message.as.documents.request = 1;
        peer_send(&peer, &message); /* its job does not run, so all that follows waits */
        while (scn_session_wants_input(peer.session)) {
                peer_send_bytes(&peer, bytes, sizeof bytes);
        }
        pass(&hub, 20000);
        cr_assert_not(peer_has_ended(&peer));
        peer_close(&peer);
        hub_finish(&hub);
}

SCN_TEST(session, may_promise_between_a_second_and_an_hour)
{
        static const struct {
                uint64_t ping;
                bool is_good;
        } cases[] = {{0, false}, {1, true}, {3600, true}, {3601, false}};
        struct hub hub;
        hub_start(&hub);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                struct peer peer;
                greet(&peer, &hub, cases[i].ping);
                if (cases[i].is_good) {
                        (void)peer_expect(&peer, SCN_MESSAGE_welcome);
                } else {
                        peer_expect_text(&peer, SCN_MESSAGE_failed, "hello.ping: from 1 second to ping_max = 3600");
                }
                peer_close(&peer);
        }
        hub_finish(&hub);
}

SCN_TEST(session, says_which_number_comes_next)
{
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "test");
        const struct scn_op op = scene_set(1, "a", scene_integer(1));
        peer_edit_as(&ann, 5, &op, 1);
        cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.rev, 1);
        peer_edit_as(&ann, 9, &op, 1);
        const struct scn_message gap = peer_expect(&ann, SCN_MESSAGE_refused);
        cr_assert(scene_is_text(gap.as.refused.text, "number 9: the next one is 6"));
        cr_assert_eq(gap.as.refused.op, SCN_ABSENT);
        peer_close(&ann);
        hub_finish(&hub);
}

SCN_TEST(session, names_a_message_it_does_not_know_and_no_request)
{
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "test");
        peer_send_bytes(&ann, "\xc4\x03\x92\x63\x07", 5);
        const struct scn_message message = peer_expect(&ann, SCN_MESSAGE_failed);
        cr_assert(scene_is_text(message.as.failed.text, "message 99: there is no such message, or not for this side"));
        cr_assert_eq(message.as.failed.request, SCN_ABSENT);
        cr_assert_not(message.as.failed.closes);
        peer_close(&ann);
        hub_finish(&hub);
}

SCN_TEST(session, says_which_request_was_too_large)
{
        static char name[5000];
        struct hub hub;
        struct peer ann;
        struct scn_message message;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "test");
        memset(name, 'x', sizeof name - 1);
        struct scn_buffer payload;
        struct scn_buffer frame;
        scn_buffer_init(&payload, 8192);
        scn_buffer_init(&frame, 8192);
        struct scn_packer packer = scn_packer_to(&payload);
        scn_pack_array(&packer, 3);
        scn_pack_uint(&packer, SCN_MESSAGE_tree);
        scn_pack_uint(&packer, 77);
        scn_pack_cstring(&packer, name);
        cr_assert_eq(scn_frame_append_head(&frame, payload.size), SCN_OK);
        cr_assert_eq(scn_buffer_append(&frame, payload.data, payload.size), SCN_OK);
        peer_send_bytes(&ann, frame.data, frame.size);
        cr_assert(peer_receive(&ann, &message));
        cr_assert_eq(message.kind, SCN_MESSAGE_failed);
        cr_assert_eq(message.as.failed.request, 77);
        cr_assert(scn_slice_equal(message.as.failed.text, scene_text("tree: it is larger than its limit, 4096 bytes")));
        scn_buffer_finish(&payload);
        scn_buffer_finish(&frame);
        peer_close(&ann);
        hub_finish(&hub);
}

/* --- What cannot be read --- */

/* What a stream of these bytes, behind others, ends with. */
static void expect_end(const char *bytes, size_t size, bool is_greeted, const char *code, const char *text)
{
        struct hub hub;
        struct peer peer;
        struct scn_message message;
        hub_start(&hub);
        if (is_greeted) {
                peer_open(&peer, &hub, 1, "ann", "test");
        } else {
                peer_connect(&peer, &hub);
        }
        peer_send_bytes(&peer, bytes, size);
        peer_drain(&peer);
        cr_assert(peer_receive(&peer, &message));
        cr_assert_eq(message.kind, SCN_MESSAGE_failed);
        cr_assert(message.as.failed.closes);
        cr_assert(scn_slice_equal(message.as.failed.code, scene_text(code)), "%s", text);
        cr_assert(scn_slice_equal(message.as.failed.text, scene_text(text)), "%.*s instead of %s",
                (int)message.as.failed.text.size, (const char *)message.as.failed.text.data, text);
        cr_assert(peer_has_ended(&peer));
        peer_close(&peer);
        hub_finish(&hub);
}

#define STREAM(text) text, sizeof text - 1

SCN_TEST(session, ends_saying_how_large_a_message_may_be_before_hello_and_behind_it)
{
        expect_end(STREAM("SCENED\x01\n\xc5\x10\x01"), false, "too_large",
                "message of 4097 bytes: it is larger than its limit, 4096 bytes before hello");
        expect_end(STREAM("\xc6\x00\x40\x00\x01"), true, "too_large",
                "message of 4194305 bytes: it is larger than its limit, message_bytes_max = 4194304");
}

SCN_TEST(session, ends_saying_which_version_was_spoken_and_which_is_wanted)
{
        expect_end(STREAM("SCENED\x02\n"), false, "version", "the preface is of version 2: version 1 is spoken here");
        expect_end(STREAM("SCENED\x02"), false, "version", "the preface is of version 2: version 1 is spoken here");
        expect_end(STREAM("SCENED\x01\n\xc4\x15\x93\x01\x00\xc4\x10"
                          "0123456789abcdef"),
                false, "version", "hello.version: 0 is not spoken here, version 1 is");
}

SCN_TEST(session, ends_saying_that_the_stream_has_no_preface_or_what_stands_where_a_frame_should_begin)
{
        expect_end(STREAM("GET / HTTP/1.1"), false, "bad_message",
                "the stream does not begin with the preface of this protocol");
        expect_end(STREAM("SCENED\x01\r"), false, "bad_message",
                "the stream does not begin with the preface of this protocol");
        expect_end(STREAM("\xdd"), true, "bad_message", "no frame begins with the byte 0xdd");
}

/* --- Shares --- */

static void ping(struct peer *peer, uint64_t request)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_ping);
        message.as.ping.request = request;
        peer_send(peer, &message);
}

SCN_TEST(session, that_asks_much_at_once_waits_for_others_when_it_has_had_its_share_of_a_turn)
{
        enum {
                PINGS = 4 * SCN_SHARE_MS
        };
        struct hub hub;
        struct peer ann;
        struct peer bob;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        peer_open(&bob, &hub, 2, "bob", "island");
        scn_server_turn(hub.server);
        hub.ms_a_look = 1;
        for (uint32_t i = 0; i < PINGS; i++) {
                ping(&ann, 100 + i);
        }
        cr_assert(ann.session->is_resting);
        cr_assert_not_null(ann.session->inbox_first);
        cr_assert_eq(scn_server_due_ms(hub.server), 0, "it goes on as soon as it can");
        ping(&bob, 7);
        cr_assert_null(bob.session->inbox_first, "he is answered before her");
        uint32_t turns = 0;
        for (; ann.session->inbox_first != NULL && turns < PINGS; turns++) {
                scn_server_turn(hub.server);
        }
        cr_assert(turns >= 3 && turns < PINGS, "%u turns", turns);
        hub.ms_a_look = 0;
        for (uint32_t i = 0; i < PINGS; i++) {
                cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_answer).as.answer.request, 100 + i, "and in order");
        }
        cr_assert_eq(peer_expect(&bob, SCN_MESSAGE_answer).as.answer.request, 7);
        scn_server_turn(hub.server);
        cr_assert_neq(scn_server_due_ms(hub.server), 0);
        peer_close(&ann);
        peer_close(&bob);
        hub_finish(&hub);
}

SCN_TEST(session, edits_of_a_room_take_a_turn_that_ends_after_its_time)
{
        enum {
                EDITS = 3 * SCN_TURN_MS
        };
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        for (uint32_t i = 0; i < EDITS; i++) {
                const struct scn_op op = scene_add(1, 50 + i, "node");
                peer_edit(&ann, &op, 1);
        }
        hub.ms_a_look = 1;
        (void)hub_step(&hub);
        hub.ms_a_look = 0;
        const scn_revision first = hub.server->rooms->durable;
        cr_assert(first > 0 && first <= SCN_TURN_MS, "%llu in the first turn", (unsigned long long)first);
        for (uint32_t i = 0; i < EDITS; i++) {
                cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.rev, i + 1);
        }
        peer_close(&ann);
        hub_finish(&hub);
}

static void expect_bad_author(struct hub *hub, uint32_t client, const char *author)
{
        struct peer peer;
        peer_greet(&peer, hub, client, author);
        (void)peer_expect(&peer, SCN_MESSAGE_welcome);
        peer_ask_open(&peer, "island", false);
        peer_expect_code(&peer, SCN_MESSAGE_failed, "bad_author");
        cr_expect(peer_has_ended(&peer));
        peer_close(&peer);
}

/* Else what one did would be answered to another, and the numbers of both would run together. */
SCN_TEST(session, of_a_client_that_has_edited_for_one_author_is_refused_to_any_other)
{
        static const char *const others[] = {"bob", "an", "anna", "Ann"};
        struct hub hub;
        struct peer ann;
        struct peer bob;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        const struct scn_op op = scene_add(1, 50, "boat");
        peer_edit(&ann, &op, 1);
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
                expect_bad_author(&hub, 1, others[i]);
        }
        const struct scn_op rename = scene_rename(2, "ship");
        peer_edit(&ann, &rename, 1);
        (void)peer_expect(&ann, SCN_MESSAGE_applied); /* nobody has taken over from her */
        peer_close(&ann);
        hub_stop(&hub);
        hub_restart(&hub);
        expect_bad_author(&hub, 1, "bob");
        peer_open(&ann, &hub, 1, "ann", "island");
        cr_expect_eq(ann.last_stored, 2);
        peer_open(&bob, &hub, 1, "bob", "port"); /* a document knows those who edit it */
        cr_expect_eq(bob.last_stored, 0);
        peer_close(&ann);
        peer_close(&bob);
        hub_finish(&hub);
}

SCN_TEST(session, that_renames_a_document_has_to_say_to_what)
{
        struct hub hub;
        struct peer ann;
        struct scn_message message;
        hub_start(&hub);
        peer_greet(&ann, &hub, 1, "ann");
        scn_message_init(&message, SCN_MESSAGE_manage);
        message.as.manage.request = 5;
        message.as.manage.action = scene_text("rename");
        message.as.manage.document = scene_text("isle");
        peer_send(&ann, &message);
        peer_expect_text(&ann, SCN_MESSAGE_failed, "manage.to: a field that must be there is absent");
        peer_close(&ann);
        hub_finish(&hub);
}
