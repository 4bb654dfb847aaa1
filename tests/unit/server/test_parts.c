/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Edits in parts: whole or not at all, whatever comes between the parts. */

#include "server/core.h"
#include "tests/lib/hub.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

static void send_part(struct peer *peer, uint64_t number, const char *key, bool more)
{
        const struct scn_op op = scene_set(1, key, scene_integer(1));
        peer_edit_part(peer, number, &op, 1, more);
}

/* Whole or not at all: the last part of an edit must not be done alone. */
SCN_TEST(parts, are_not_done_when_one_of_them_was_refused)
{
        struct hub hub;
        struct peer ann;
        struct scn_message message;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "test");
        send_part(&ann, 1, "a", true);
        send_part(&ann, 2, "b", true);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "gap");
        send_part(&ann, 2, "c", false);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "gap");
        send_part(&ann, 1, "x", false);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "gap");
        send_part(&ann, 1, "d", false);
        cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.rev, 1);
        /* An undo drops what had more to come, also under the number that was meant for it. */
        send_part(&ann, 2, "e", true);
        scn_message_init(&message, SCN_MESSAGE_undo);
        message.as.undo.number = 2;
        peer_send(&ann, &message);
        cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.rev, 2);
        send_part(&ann, 3, "f", true);
        send_part(&ann, 3, "g", false);
        cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.rev, 3);
        const struct scn_document *document = hub.server->rooms->document;
        cr_assert_eq(scn_document_node(document, 1).properties_count, 2, "f and g, and nothing else");
        peer_close(&ann);
        hub_finish(&hub);
}

/* The first part cannot be read: that others would follow it is not known, but they do. */
SCN_TEST(parts, are_each_answered_behind_one_that_cannot_be_read)
{
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "test");
        peer_send_bytes(&ann, "\xc4\x03\x92\x03\x01", 5);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "missing_field");
        send_part(&ann, 1, "a", true);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "gap");
        send_part(&ann, 1, "b", true);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "gap");
        send_part(&ann, 1, "c", false);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "gap");
        send_part(&ann, 2, "d", true);
        send_part(&ann, 2, "e", false);
        cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.rev, 1);
        const struct scn_document *document = hub.server->rooms->document;
        cr_assert_eq(scn_document_node(document, 1).properties_count, 2, "d and e, and nothing else");
        peer_close(&ann);
        hub_finish(&hub);
}

static void send_undo(struct peer *peer, uint64_t number)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_undo);
        message.as.undo.number = number;
        peer_send(peer, &message);
}

/* Nothing but this one property is there. */
static void expect_only(const struct hub *hub, const char *key)
{
        const struct scn_document *document = hub->server->rooms->document;
        uint32_t count = 0;
        for (uint32_t i = 0; i < scn_document_node(document, 1).property_fields_count; i++) {
                const struct scn_property property = scn_document_property(document, 1, i, NULL);
                if (property.value.data != NULL) {
                        cr_assert(scene_is_text(property.key, key), "%.*s", (int)property.key.size, property.key.data);
                        count++;
                }
        }
        cr_assert_eq(count, 1);
}

SCN_TEST(parts, are_refused_up_to_the_last_when_another_edit_came_between)
{
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "test");
        send_part(&ann, 1, "a", true);
        send_part(&ann, 2, "b", false);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "gap");
        send_part(&ann, 1, "c", true);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "gap");
        send_part(&ann, 1, "d", false);
        const struct scn_message gap = peer_expect(&ann, SCN_MESSAGE_refused);
        cr_assert(scene_is_text(gap.as.refused.text, "number 1: parts of an edit are missing: send all of it again"));
        send_part(&ann, 1, "e", false);
        cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.rev, 1);
        expect_only(&hub, "e");
        peer_close(&ann);
        hub_finish(&hub);
}

SCN_TEST(parts, are_refused_up_to_the_last_when_an_undo_came_between)
{
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "test");
        send_part(&ann, 1, "a", false);
        cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.rev, 1);
        /* With the next number, which is the wrong one, and with the right one. */
        send_part(&ann, 2, "b", true);
        send_undo(&ann, 3);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "gap");
        send_part(&ann, 2, "c", false);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "gap");
        send_part(&ann, 2, "d", true);
        send_undo(&ann, 2);
        cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.rev, 2);
        send_part(&ann, 2, "e", false);
        const struct scn_message gap = peer_expect(&ann, SCN_MESSAGE_refused);
        cr_assert(scene_is_text(
                gap.as.refused.text, "number 2: it was refused, and so are its further parts: the next one is 3"));
        send_part(&ann, 3, "f", false);
        cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.rev, 3);
        expect_only(&hub, "f");
        peer_close(&ann);
        hub_finish(&hub);
}

/* Several edits may be under way by halves: each is remembered. */
SCN_TEST(parts, are_refused_up_to_the_last_also_of_an_edit_whose_turn_comes_later)
{
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "test");
        send_part(&ann, 1, "a", true);
        send_part(&ann, 3, "b", true);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "gap");
        send_part(&ann, 2, "c", true);
        for (uint64_t number = 1; number <= 3; number++) {
                send_part(&ann, number, "d", false);
                peer_expect_code(&ann, SCN_MESSAGE_refused, "gap");
        }
        send_part(&ann, 1, "e", false);
        cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.rev, 1);
        expect_only(&hub, "e");
        peer_close(&ann);
        hub_finish(&hub);
}

SCN_TEST(parts, are_refused_up_to_the_last_when_the_first_came_before_the_document_was_open)
{
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_greet(&ann, &hub, 1, "ann");
        (void)peer_expect(&ann, SCN_MESSAGE_welcome);
        send_part(&ann, 1, "a", true);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "not_open");
        peer_ask_open(&ann, "test", true);
        (void)peer_expect(&ann, SCN_MESSAGE_opened);
        send_part(&ann, 1, "b", false);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "gap");
        send_part(&ann, 1, "c", false);
        cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.rev, 1);
        expect_only(&hub, "c");
        peer_close(&ann);
        hub_finish(&hub);
}

/* An edit without a number, and what is not even known to be an edit. */
SCN_TEST(parts, are_refused_up_to_the_last_behind_one_whose_number_cannot_be_read)
{
        static const struct {
                const char *bytes;
                size_t size;
        } unread[] = {{"\xc4\x04\x93\x03\xc0\x90", 6}, {"\xc4\x01\xc1", 3}};
        for (size_t i = 0; i < sizeof unread / sizeof unread[0]; i++) {
                for (size_t staged = 0; staged < 2; staged++) {
                        struct hub hub;
                        struct peer ann;
                        hub_start(&hub);
                        peer_open(&ann, &hub, 1, "ann", "test");
                        if (staged > 0) {
                                send_part(&ann, 1, "a", true);
                        }
                        peer_send_bytes(&ann, unread[i].bytes, unread[i].size);
                        (void)peer_expect(&ann, SCN_MESSAGE_failed);
                        send_part(&ann, 1, "b", true);
                        peer_expect_code(&ann, SCN_MESSAGE_refused, "gap");
                        send_part(&ann, 1, "c", false);
                        peer_expect_code(&ann, SCN_MESSAGE_refused, "gap");
                        peer_close(&ann);
                        hub_finish(&hub);
                }
        }
}

SCN_TEST(parts, of_more_edits_than_are_kept_in_mind_end_the_session)
{
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "test");
        send_part(&ann, 1, "a", false);
        cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.rev, 1);
        for (uint64_t number = 3; number < 3 + SCN_TORN_EDITS_MAX; number++) {
                send_part(&ann, number, "b", true);
                peer_expect_code(&ann, SCN_MESSAGE_refused, "gap");
        }
        /* One whose number is used up has made room. */
        send_part(&ann, 2, "c", false);
        cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.rev, 2);
        send_part(&ann, 3, "d", false);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "gap");
        send_part(&ann, 1 + 3 + SCN_TORN_EDITS_MAX, "e", true);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "gap");
        send_part(&ann, 2 + 3 + SCN_TORN_EDITS_MAX, "f", true);
        const struct scn_message end = peer_expect(&ann, SCN_MESSAGE_failed);
        cr_assert(end.as.failed.closes);
        cr_assert(scene_is_text(end.as.failed.code, "out_of_turn"));
        peer_close(&ann);
        hub_finish(&hub);
}

/* What one does next must be what the refusal says. */
SCN_TEST(parts, of_a_refused_edit_that_are_sent_again_hear_which_number_is_free)
{
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "test");
        peer_send_bytes(&ann, "\xc4\x03\x92\x03\x01", 5);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "missing_field");
        send_part(&ann, 1, "a", false);
        peer_expect_text(
                &ann, SCN_MESSAGE_refused, "number 1: it was refused, and so are its further parts: the next one is 2");
        /* That was its last part: what comes now is a repeat. */
        send_part(&ann, 1, "a", false);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "not_applied");
        send_part(&ann, 2, "a", false);
        cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.rev, 1);
        peer_close(&ann);
        hub_finish(&hub);
}

SCN_TEST(parts, that_another_edit_came_between_hear_what_to_send_again)
{
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "test");
        send_part(&ann, 1, "a", false);
        cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.rev, 1);
        send_part(&ann, 2, "b", true);
        send_part(&ann, 1, "a", false);
        peer_expect_text(&ann, SCN_MESSAGE_refused, "number 1: parts of number 2 were missing: send all of both again");
        send_part(&ann, 1, "a", false);
        cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.rev, 1);
        send_part(&ann, 2, "c", false);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "gap");
        send_part(&ann, 2, "b", true);
        send_part(&ann, 2, "c", false);
        cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.rev, 2);
        peer_close(&ann);
        hub_finish(&hub);
}

SCN_TEST(torn, forgets_what_is_used_up_when_there_is_no_place)
{
        struct scn_torn torn = {.count = 0};
        for (uint64_t number = 1; number <= SCN_TORN_EDITS_MAX; number++) {
                cr_assert(scn_torn_add(&torn, number, 0));
        }
        cr_assert(scn_torn_add(&torn, 1, 0), "it is there");
        cr_assert_not(scn_torn_add(&torn, 99, 0));
        cr_assert(scn_torn_add(&torn, 99, 2));
        cr_assert_not(scn_torn_take(&torn, 2));
        cr_assert(scn_torn_take(&torn, 3));
        cr_assert(scn_torn_take(&torn, 99));
        scn_torn_remove(&torn, 99);
        cr_assert_not(scn_torn_take(&torn, 99));
}

SCN_TEST(torn, forgets_the_oldest_file_when_there_is_no_place)
{
        struct scn_torn torn = {.count = 0};
        for (uint64_t number = 1; number <= SCN_TORN_EDITS_MAX + 1; number++) {
                scn_torn_push(&torn, number);
        }
        cr_assert_not(scn_torn_take(&torn, 1));
        cr_assert(scn_torn_take(&torn, 2));
        cr_assert(scn_torn_take(&torn, SCN_TORN_EDITS_MAX + 1));
}
