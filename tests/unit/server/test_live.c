/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Presence and previews: who is told what, when, and when they end. */

#include "protocol/wire/ops.h"
#include "server/live.h"
#include "tests/lib/live.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

#define ALL (SCN_MASK_TRANSFORM | SCN_MASK_VOLATILE)

/* Ann edits, Bob looks on. Nodes: 2 boat, 3 mast under it, 4 quay. */
struct island {
        struct hub hub;
        struct peer ann;
        struct peer bob;
};

static void edit(struct peer *peer, struct scn_op op)
{
        peer_edit(peer, &op, 1);
        (void)peer_expect(peer, SCN_MESSAGE_applied);
}

static void begin(struct island *island)
{
        hub_start(&island->hub);
        peer_open(&island->ann, &island->hub, 1, "ann", "island");
        peer_open(&island->bob, &island->hub, 2, "bob", "island");
        edit(&island->ann, scene_add(1, 50, "boat"));
        edit(&island->ann, scene_add(2, 51, "mast"));
        edit(&island->ann, scene_add(1, 52, "quay"));
        live_view(&island->bob, 1, 1, ALL);
}

static void finish(struct island *island)
{
        if (island->ann.session != NULL) {
                peer_close(&island->ann);
        }
        peer_close(&island->bob);
        hub_finish(&island->hub);
}

static void expect_map(struct scn_slice map, struct scn_slice wanted)
{
        cr_assert(map.size == wanted.size && memcmp(map.data, wanted.data, map.size) == 0);
}

/* --- Presence --- */

SCN_TEST(live, tells_a_presence_with_session_and_author_from_the_server)
{
        struct island island;
        begin(&island);
        live_presence(&island.ann, live_map("x", 1));
        const struct live_told told = live_expect(&island.bob);
        cr_assert_eq(told.view, 1);
        cr_assert_not(told.is_whole);
        cr_assert_eq(told.presences_count, 1);
        cr_assert_eq(told.presences[0].session, 1);
        cr_assert(scene_is_text(told.presences[0].author, "ann"));
        expect_map(told.presences[0].map, live_map("x", 1));
        live_expect_nothing(&island.bob);
        finish(&island);
}

SCN_TEST(live, merges_presence_by_key_and_a_nil_removes_one)
{
        static const uint8_t two[] = {0x82, 0xa1, 'x', 0xc0, 0xa1, 'y', 2};
        static const uint8_t none[] = {0x81, 0xa1, 'y', 0xc0};
        struct island island;
        begin(&island);
        live_presence(&island.ann, live_map("x", 1));
        live_presence(&island.ann, live_map("z", 3));
        struct live_told told = live_expect(&island.bob);
        static const uint8_t both[] = {0x82, 0xa1, 'x', 1, 0xa1, 'z', 3};
        expect_map(told.presences[0].map, (struct scn_slice){both, sizeof both});
        live_presence(&island.ann, (struct scn_slice){two, sizeof two});
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        told = live_expect(&island.bob);
        static const uint8_t left[] = {0x82, 0xa1, 'z', 3, 0xa1, 'y', 2};
        expect_map(told.presences[0].map, (struct scn_slice){left, sizeof left});
        static const uint8_t no_z[] = {0x81, 0xa1, 'z', 0xc0};
        live_presence(&island.ann, (struct scn_slice){no_z, sizeof no_z});
        live_presence(&island.ann, (struct scn_slice){none, sizeof none});
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        told = live_expect(&island.bob);
        cr_assert_eq(told.presences_count, 1);
        cr_assert_null(told.presences[0].map.data, "it has nothing left to show");
        finish(&island);
}

SCN_TEST(live, ends_presence_and_previews_with_their_session)
{
        struct island island;
        begin(&island);
        live_presence(&island.ann, live_map("x", 1));
        live_preview(&island.ann, 2, 5);
        (void)live_expect(&island.bob);
        peer_close(&island.ann);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        const struct live_told told = live_expect(&island.bob);
        cr_assert_eq(told.presences_count, 1);
        cr_assert_null(told.presences[0].map.data);
        cr_assert_eq(told.previews_count, 1);
        cr_assert_eq(told.previews[0].fields, 0);
        cr_assert(scn_uid_equal(told.previews[0].node, scene_uid(50)));
        finish(&island);
}

/* A kicked client that reads nothing keeps its connection for a while, but not its presence. */
SCN_TEST(live, ends_presence_when_the_session_ends_though_its_connection_stays)
{
        struct island island;
        struct scn_message message;
        begin(&island);
        live_presence(&island.ann, live_map("x", 1));
        (void)live_expect(&island.bob);
        island.ann.does_not_read = true;
        scn_message_init(&message, SCN_MESSAGE_kick);
        message.as.kick.request = 5;
        message.as.kick.session = 1;
        peer_send(&island.bob, &message);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        cr_assert_null(live_expect(&island.bob).presences[0].map.data);
        finish(&island);
}

SCN_TEST(live, shows_presence_in_who)
{
        struct island island;
        struct scn_message message;
        begin(&island);
        live_presence(&island.ann, live_map("tool", 1));
        scn_message_init(&message, SCN_MESSAGE_who);
        message.as.who.request = 3;
        peer_send(&island.bob, &message);
        const struct scn_slice body = peer_expect(&island.bob, SCN_MESSAGE_answer).as.answer.body;
        bool has_presence = false;
        for (uint32_t i = 0; i + 9 <= body.size; i++) {
                has_presence = has_presence || memcmp(body.data + i, "\xa8presence", 9) == 0;
        }
        cr_assert(has_presence);
        finish(&island);
}

/* --- Previews --- */

SCN_TEST(live, tells_a_preview_as_given_and_the_latest_wins)
{
        struct island island;
        begin(&island);
        const struct scn_preview_wish wish = {
                .node = scene_path("/boat"), .fields = SCN_FIELDS_ROTATION, .trs = {.r = {0, 0, 2, 0}}};
        live_preview_raw(&island.ann, &wish, 1);
        struct live_told told = live_expect(&island.bob);
        cr_assert_eq(told.previews_count, 1);
        cr_assert_eq(told.previews[0].session, 1);
        cr_assert(scn_uid_equal(told.previews[0].node, scene_uid(50)));
        cr_assert_eq(told.previews[0].fields, SCN_FIELDS_ROTATION);
        cr_assert_eq(told.previews[0].trs.r[2], 1.0f, "a rotation is one of unit length");
        live_preview(&island.ann, 2, 5);
        live_preview(&island.ann, 2, 6);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        told = live_expect(&island.bob);
        cr_assert_eq(told.previews_count, 1);
        cr_assert_eq(told.previews[0].fields, SCN_FIELDS_TRANSLATION);
        cr_assert_eq(told.previews[0].trs.t[0], 6.0f);
        live_expect_nothing(&island.bob);
        finish(&island);
}

SCN_TEST(live, ends_one_preview_or_all_when_asked_to)
{
        struct island island;
        begin(&island);
        for (scn_node_id id = 1; id <= 4; id++) {
                live_preview(&island.ann, id, 1);
        }
        cr_assert_eq(live_expect(&island.bob).previews_count, 4);
        live_end_preview(&island.ann, 3);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        struct live_told told = live_expect(&island.bob);
        cr_assert_eq(told.previews_count, 1);
        cr_assert(scn_uid_equal(told.previews[0].node, scene_uid(51)));
        cr_assert_eq(told.previews[0].fields, 0);
        live_end_previews(&island.ann);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        told = live_expect(&island.bob);
        cr_assert_eq(told.previews_count, 3);
        for (size_t i = 0; i < 3; i++) {
                cr_assert_eq(told.previews[i].fields, 0);
        }
        finish(&island);
}

static scn_revision info_revision(struct peer *peer)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_info);
        message.as.info.request = 77;
        peer_send(peer, &message);
        return peer_expect(peer, SCN_MESSAGE_answer).as.answer.durable;
}

SCN_TEST(live, a_drag_of_ten_seconds_is_one_record_and_at_most_one_message_an_interval)
{
        struct island island;
        struct scn_message message;
        uint64_t lives = 0;
        float seen = -1;
        begin(&island);
        const scn_revision before = info_revision(&island.ann);
        for (int frame = 0; frame < 600; frame++) {
                live_preview(&island.ann, 2, (float)frame);
                live_wait(&island.hub, frame % 3 == 0 ? 17 : 16);
                cr_assert_eq(info_revision(&island.ann), before, "a preview is no edit");
                struct live_told told;
                while (peer_receive(&island.bob, &message)) {
                        cr_assert_eq((int)message.kind, (int)SCN_MESSAGE_live);
                        live_read(&message, &told);
                        seen = told.previews[0].trs.t[0];
                        lives++;
                }
        }
        cr_assert_eq(seen, 599.0f);
        cr_assert_leq(lives, 601);
        edit(&island.ann, scene_translate(2, 599, 0, 0));
        cr_assert_eq(info_revision(&island.ann), before + 1);
        /* First the edit, then the end of the preview: nothing jumps back. */
        cr_assert(peer_receive(&island.bob, &message));
        cr_assert_eq((int)message.kind, (int)SCN_MESSAGE_delta);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        const struct live_told told = live_expect(&island.bob);
        cr_assert_eq(told.previews_count, 1);
        cr_assert_eq(told.previews[0].fields, 0);
        scn_message_init(&message, SCN_MESSAGE_log);
        message.as.log.request = 9;
        message.as.log.from = before + 1;
        peer_send(&island.ann, &message);
        message = peer_expect(&island.ann, SCN_MESSAGE_answer);
        struct scn_unpacker unpacker = scn_unpacker_from(message.as.answer.body);
        cr_assert_eq(scn_unpack_array(&unpacker), 1);
        finish(&island);
}

SCN_TEST(live, a_robot_of_one_kilohertz_costs_one_message_an_interval)
{
        struct island island;
        struct scn_message message;
        size_t count = 0;
        float seen = 0;
        begin(&island);
        for (int i = 1; i <= 150; i++) {
                live_preview(&island.ann, 2, (float)i);
                live_wait(&island.hub, 1);
                while (peer_receive(&island.bob, &message)) {
                        struct live_told told;
                        live_read(&message, &told);
                        seen = told.previews[0].trs.t[0];
                        count++;
                }
        }
        cr_assert_leq(count, 150 / SCN_LIVE_INTERVAL_MS + 1);
        cr_assert_geq(count, 150 / SCN_LIVE_INTERVAL_MS);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        while (peer_receive(&island.bob, &message)) {
                struct live_told told;
                live_read(&message, &told);
                seen = told.previews[0].trs.t[0];
        }
        cr_assert_eq(seen, 150.0f, "the last one comes in the end");
        finish(&island);
}

SCN_TEST(live, says_when_it_wants_its_turn)
{
        struct island island;
        begin(&island);
        cr_assert_eq(scn_server_due_ms(island.hub.server), UINT64_MAX);
        live_preview(&island.ann, 2, 1);
        cr_assert_leq(scn_server_due_ms(island.hub.server), island.hub.monotonic_ms);
        (void)live_expect(&island.bob);
        cr_assert_eq(scn_server_due_ms(island.hub.server), UINT64_MAX);
        live_preview(&island.ann, 2, 2);
        cr_assert_eq(scn_server_due_ms(island.hub.server), island.hub.monotonic_ms + SCN_LIVE_INTERVAL_MS);
        live_end_previews(&island.ann);
        const scn_node_id id = 2;
        live_ask_lock(&island.ann, (struct live_lock){.ids = &id, .count = 1, .ttl = 7});
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        cr_assert_eq(scn_server_due_ms(island.hub.server), island.hub.monotonic_ms - SCN_LIVE_INTERVAL_MS + 7000);
        finish(&island);
}

SCN_TEST(live, a_preview_that_is_newer_than_the_edit_stays)
{
        struct island island;
        begin(&island);
        live_preview(&island.ann, 2, 1);
        (void)live_expect(&island.bob);
        const struct scn_op op = scene_translate(2, 2, 0, 0);
        peer_edit(&island.ann, &op, 1);
        scn_server_turn(island.hub.server); /* taken; its batch is in flight */
        live_preview(&island.ann, 2, 3);
        (void)peer_expect(&island.ann, SCN_MESSAGE_applied);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        const struct live_told told = live_expect(&island.bob);
        cr_assert_eq(told.previews_count, 1);
        cr_assert_eq(told.previews[0].trs.t[0], 3.0f);
        finish(&island);
}

SCN_TEST(live, a_preview_stays_through_others_edits_and_own_ones_of_other_kinds_and_ends_with_a_move_or_removal)
{
        struct island island;
        begin(&island);
        live_preview(&island.ann, 2, 1);
        live_preview(&island.ann, 3, 1);
        live_preview(&island.ann, 4, 1);
        cr_assert_eq(live_expect(&island.bob).previews_count, 3);
        edit(&island.bob, scene_translate(2, 9, 0, 0));
        edit(&island.ann, scene_rename(2, "ship"));
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        live_expect_nothing(&island.bob);
        edit(&island.ann, scene_move(4, 2));
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        struct live_told told = live_expect(&island.bob);
        cr_assert_eq(told.previews_count, 1);
        cr_assert(scn_uid_equal(told.previews[0].node, scene_uid(52)));
        cr_assert_eq(told.previews[0].fields, 0);
        edit(&island.bob, scene_remove(2));
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        told = live_expect(&island.bob);
        cr_assert_eq(told.previews_count, 2, "of the node and of what is beneath");
        finish(&island);
}

/* Dragged about, and put back where it was. */
SCN_TEST(live, an_edit_that_finds_nothing_to_change_ends_the_preview_too)
{
        struct island island;
        begin(&island);
        edit(&island.ann, scene_translate(2, 1, 0, 0));
        live_preview(&island.ann, 2, 5);
        live_preview(&island.ann, 3, 5);
        cr_assert_eq(live_expect(&island.bob).previews_count, 2);
        edit(&island.ann, scene_translate(2, 1, 0, 0));
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        struct live_told told = live_expect(&island.bob);
        cr_assert_eq(told.previews_count, 1);
        cr_assert(scn_uid_equal(told.previews[0].node, scene_uid(50)));
        cr_assert_eq(told.previews[0].fields, 0);
        /* By its uid, beside an op that does change something. */
        struct scn_op ops[2] = {scene_move(3, 2), scene_rename(2, "ship")};
        edit(&island.ann, scene_move(3, 2));
        live_preview(&island.ann, 3, 6);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        told = live_expect(&island.bob);
        cr_assert_eq(told.previews_count, 2, "the one that ended, and the new one");
        cr_assert_eq(told.previews[1].trs.t[0], 6.0f);
        ops[0].node = (struct scn_node_ref){.kind = SCN_REF_UID, .uid = told.previews[1].node};
        peer_edit(&island.ann, ops, 2);
        (void)peer_expect(&island.ann, SCN_MESSAGE_applied);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        told = live_expect(&island.bob);
        cr_assert_eq(told.previews_count, 1);
        cr_assert_eq(told.previews[0].fields, 0);
        finish(&island);
}

SCN_TEST(live, a_refused_edit_ends_no_preview)
{
        struct island island;
        begin(&island);
        live_preview(&island.ann, 2, 1);
        (void)live_expect(&island.bob);
        const struct scn_op ops[] = {scene_translate(2, 5, 0, 0), scene_remove(99)};
        peer_edit(&island.ann, ops, 2);
        peer_expect_code(&island.ann, SCN_MESSAGE_refused, "no_node");
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        live_expect_nothing(&island.bob);
        finish(&island);
}

/* --- Views --- */

SCN_TEST(live, a_view_is_told_of_its_own_subtree_and_of_its_channels_only)
{
        struct island island;
        struct peer cy;
        begin(&island);
        peer_open(&cy, &island.hub, 3, "cy", "island");
        live_view(&cy, 7, 2, SCN_MASK_PREVIEW);
        live_presence(&island.ann, live_map("x", 1));
        live_preview(&island.ann, 4, 1);
        live_expect_nothing(&cy);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        live_expect_nothing(&cy);
        live_preview(&island.ann, 3, 1);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        const struct live_told told = live_expect(&cy);
        cr_assert_eq(told.view, 7);
        cr_assert_eq(told.presences_count, 0);
        cr_assert_eq(told.previews_count, 1);
        cr_assert(scn_uid_equal(told.previews[0].node, scene_uid(51)));
        peer_close(&cy);
        finish(&island);
}

SCN_TEST(live, a_node_that_moves_out_of_a_view_takes_its_preview_along_and_brings_it_back)
{
        struct island island;
        struct peer cy;
        begin(&island);
        peer_open(&cy, &island.hub, 3, "cy", "island");
        live_view(&cy, 1, 2, SCN_MASK_PREVIEW);
        live_preview(&island.ann, 3, 1);
        cr_assert_eq(live_expect(&cy).previews[0].fields, SCN_FIELDS_TRANSLATION);
        edit(&island.bob, scene_move(3, 4));
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        struct live_told told = live_expect(&cy);
        cr_assert_eq(told.previews_count, 1);
        cr_assert_eq(told.previews[0].fields, 0);
        /* What goes on outside is no business of the view's. */
        live_preview(&island.ann, 3, 2);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        live_expect_nothing(&cy);
        edit(&island.bob, scene_move(4, 2)); /* with what is beneath it */
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        told = live_expect(&cy);
        cr_assert_eq(told.previews_count, 1);
        cr_assert_eq(told.previews[0].trs.t[0], 2.0f);
        /* Out and ended between two messages: told as gone once. */
        edit(&island.bob, scene_move(4, 1));
        live_end_previews(&island.ann);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        told = live_expect(&cy);
        cr_assert_eq(told.previews[0].fields, 0);
        live_expect_nothing(&cy);
        peer_close(&cy);
        finish(&island);
}

SCN_TEST(live, a_new_view_is_told_all_there_is_and_an_empty_one_nothing)
{
        struct island island;
        struct peer cy;
        begin(&island);
        live_expect_nothing(&island.bob);
        live_presence(&island.ann, live_map("x", 1));
        live_lock(&island.ann, 3, 0, true);
        live_preview(&island.ann, 2, 1);
        live_preview(&island.bob, 4, 1);
        peer_open(&cy, &island.hub, 3, "cy", "island");
        live_view(&cy, 1, 2, ALL);
        const struct live_told told = live_expect(&cy);
        cr_assert(told.is_whole);
        cr_assert_eq(told.presences_count, 1);
        cr_assert_eq(told.locks_count, 1);
        cr_assert_eq(told.locks[0].mask, SCN_MASK_DURABLE);
        cr_assert(told.locks[0].has_subtree);
        cr_assert_eq(told.locks[0].left_ms, 60000);
        cr_assert(scene_is_text(told.locks[0].author, "ann"));
        cr_assert_eq(told.previews_count, 1, "Bob's is outside");
        live_expect_nothing(&cy);
        /* A changed view begins anew. */
        live_view(&cy, 1, 1, SCN_MASK_PREVIEW);
        const struct live_told anew = live_expect(&cy);
        cr_assert(anew.is_whole);
        cr_assert_eq(anew.presences_count, 0);
        cr_assert_eq(anew.previews_count, 2);
        peer_close(&cy);
        finish(&island);
}

SCN_TEST(live, a_view_whose_root_goes_and_comes_back_is_told_everything_again)
{
        struct island island;
        struct peer cy;
        begin(&island);
        peer_open(&cy, &island.hub, 3, "cy", "island");
        live_view(&cy, 1, 2, SCN_MASK_PREVIEW | SCN_MASK_PRESENCE);
        live_presence(&island.bob, live_map("x", 1));
        live_preview(&island.ann, 3, 1);
        (void)live_expect(&cy);
        edit(&island.ann, scene_remove(2));
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        struct live_told told = live_expect(&cy);
        cr_assert(told.is_whole);
        cr_assert_eq(told.previews_count, 0);
        cr_assert_eq(told.presences_count, 1);
        peer_undo(&island.ann, (struct peer_wish){0});
        (void)peer_expect(&island.ann, SCN_MESSAGE_applied);
        const struct scn_preview_wish wish = {
                .node = scene_ref(51), .fields = SCN_FIELDS_TRANSLATION, .trs = {.t = {4, 0, 0}}};
        live_preview_raw(&island.ann, &wish, 1);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        told = live_expect(&cy);
        cr_assert(told.is_whole);
        cr_assert_eq(told.previews_count, 1);
        peer_close(&cy);
        finish(&island);
}

SCN_TEST(live, who_reads_nothing_gets_one_merged_message_when_it_has_drained)
{
        struct island island;
        struct scn_message message;
        begin(&island);
        live_preview(&island.ann, 2, 0);
        (void)live_expect(&island.bob);
        island.bob.does_not_read = true;
        for (int i = 1; i <= 100; i++) {
                live_preview(&island.ann, 2, (float)i);
                live_preview(&island.ann, 4, (float)i);
                live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        }
        live_end_preview(&island.ann, 4);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        cr_assert_leq(island.bob.session->outbox_bytes, 200, "one message in flight");
        island.bob.does_not_read = false;
        struct live_told told = live_expect(&island.bob);
        cr_assert_eq(told.previews[0].trs.t[0], 1.0f);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        told = live_expect(&island.bob);
        for (size_t i = 0; i < told.previews_count; i++) {
                cr_assert(scn_uid_equal(told.previews[i].node, scene_uid(50)) ? told.previews[i].trs.t[0] == 100.0f
                                                                              : told.previews[i].fields == 0);
        }
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        cr_assert_not(peer_receive(&island.bob, &message));
        finish(&island);
}

/* Ann's edit ends her preview while Bob does not read. He drains while a batch is in flight that shows nothing in his
 * view: at its publish point he is told the first edit before the end. */
SCN_TEST(live, the_end_of_a_preview_waits_for_a_delta_that_an_earlier_batch_still_owes)
{
        struct island island;
        struct scn_message message;
        begin(&island);
        live_preview(&island.ann, 2, 1);
        (void)live_expect(&island.bob);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        live_preview(&island.ann, 4, 1);
        island.bob.does_not_read = true;
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        edit(&island.ann, scene_translate(2, 1, 0, 0));
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        const struct scn_op op = scene_set(4, "k", scene_integer(1));
        peer_edit(&island.ann, &op, 1);
        scn_server_turn(island.hub.server);
        island.bob.does_not_read = false;
        peer_drain(&island.bob);
        (void)peer_expect(&island.ann, SCN_MESSAGE_applied);
        cr_assert(peer_receive(&island.bob, &message));
        cr_assert_eq((int)message.kind, (int)SCN_MESSAGE_live);
        cr_assert(peer_receive(&island.bob, &message));
        cr_assert_eq((int)message.kind, (int)SCN_MESSAGE_delta);
        cr_assert_eq(message.as.delta.columns.data[0] != 0x80, true, "that of the edit");
        cr_assert_eq(live_expect(&island.bob).previews[0].fields, 0);
        finish(&island);
}

/* A view's rate holds its deltas back, and then also what an edit has ended. */
SCN_TEST(live, the_end_of_a_preview_waits_with_the_edit_for_a_slow_views_time)
{
        struct island island;
        struct scn_message message;
        begin(&island);
        scn_message_init(&message, SCN_MESSAGE_view);
        message.as.view.request = 8;
        message.as.view.view = 8;
        message.as.view.root = scene_id(1);
        message.as.view.mask = SCN_MASK_TRANSFORM | SCN_MASK_PREVIEW;
        message.as.view.rate = 1;
        peer_send(&island.ann, &message);
        (void)peer_expect(&island.ann, SCN_MESSAGE_delta);
        live_preview(&island.bob, 2, 1);
        cr_assert_eq(live_expect(&island.ann).previews_count, 1, "previews have no rate but their own");
        edit(&island.bob, scene_translate(2, 1, 0, 0));
        cr_assert_leq(scn_server_due_ms(island.hub.server), island.hub.monotonic_ms + SCN_LIVE_INTERVAL_MS);
        live_wait(&island.hub, 900);
        cr_assert_not(peer_receive(&island.ann, &message));
        live_wait(&island.hub, 100 + SCN_LIVE_INTERVAL_MS);
        cr_assert(peer_receive(&island.ann, &message));
        cr_assert_eq((int)message.kind, (int)SCN_MESSAGE_delta);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        cr_assert_eq(live_expect(&island.ann).previews[0].fields, 0);
        cr_assert_eq(scn_server_due_ms(island.hub.server), UINT64_MAX);
        finish(&island);
}

/* Drained while a batch is in flight: the publish point must not forget it. */
SCN_TEST(live, who_drains_while_a_batch_is_in_flight_is_told_at_the_publish_point)
{
        struct island island;
        begin(&island);
        live_preview(&island.ann, 2, 1);
        (void)live_expect(&island.bob);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        island.bob.does_not_read = true;
        live_preview(&island.ann, 2, 2);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        live_preview(&island.ann, 2, 3);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        const struct scn_op op = scene_rename(4, "pier");
        peer_edit(&island.ann, &op, 1);
        scn_server_turn(island.hub.server);
        island.bob.does_not_read = false;
        peer_drain(&island.bob);
        (void)peer_expect(&island.ann, SCN_MESSAGE_applied);
        cr_assert_eq(live_expect(&island.bob).previews[0].trs.t[0], 2.0f);
        cr_assert_eq(live_expect(&island.bob).previews[0].trs.t[0], 3.0f);
        finish(&island);
}

SCN_TEST(live, a_view_that_lacks_more_ends_than_are_remembered_is_told_everything)
{
        struct island island;
        begin(&island);
        live_preview(&island.ann, 2, 1);
        (void)live_expect(&island.bob);
        live_preview(&island.ann, 4, 1);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        (void)live_expect(&island.bob);
        island.bob.does_not_read = true;
        live_preview(&island.ann, 4, 2);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        live_end_preview(&island.ann, 4);
        for (uint32_t i = 0; i <= SCN_LIVE_GONE_MAX; i++) {
                live_preview(&island.ann, 3, 1);
                live_end_preview(&island.ann, 3);
        }
        island.bob.does_not_read = false;
        cr_assert_not(live_expect(&island.bob).is_whole);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        const struct live_told told = live_expect(&island.bob);
        cr_assert(told.is_whole);
        cr_assert_eq(told.previews_count, 1);
        cr_assert(scn_uid_equal(told.previews[0].node, scene_uid(50)));
        finish(&island);
}

static void join_a_crowd(struct hub *hub, size_t crowd)
{
        struct peer cy;
        size_t messages = 0;
        size_t presences = 0;
        peer_open(&cy, hub, 3, "cy", "island");
        live_view(&cy, 1, 1, SCN_MASK_PRESENCE);
        while (presences < crowd) {
                const struct live_told told = live_expect(&cy);
                cr_assert_eq(told.is_whole, messages == 0);
                messages++;
                presences += told.presences_count;
        }
        cr_assert_eq(presences, crowd);
        cr_assert_geq(messages, 3);
        live_expect_nothing(&cy);
        peer_close(&cy);
}

SCN_TEST(live, what_does_not_fit_one_message_comes_in_several)
{
        enum {
                PEERS = 40
        };
        static struct peer peers[PEERS];
        static uint8_t map[4096] = {0x81, 0xa1, 'x', 0xc5, 0x0f, 0xf9};
        struct island island;
        begin(&island);
        peer_close(&island.bob);
        peer_open(&island.bob, &island.hub, 2, "bob", "island");
        for (uint32_t i = 0; i < PEERS; i++) {
                peer_open(&peers[i], &island.hub, 10 + i, "robot", "island");
                live_presence(&peers[i], (struct scn_slice){map, sizeof map - 1});
        }
        join_a_crowd(&island.hub, PEERS);
        /* Also when everybody has been told of it, and ends are forgotten. */
        live_preview(&island.ann, 2, 1);
        live_end_preview(&island.ann, 2);
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        join_a_crowd(&island.hub, PEERS);
        for (uint32_t i = 0; i < PEERS; i++) {
                peer_close(&peers[i]);
        }
        finish(&island);
}

/* The end of a preview is told with the last part, in the state of the tree that the view had before the first. */
static void leave_amid_parts(bool moves_between)
{
        enum {
                PEERS = 40
        };
        static struct peer peers[PEERS];
        static uint8_t map[4096] = {0x81, 0xa1, 'x', 0xc5, 0x0f, 0xf9};
        struct island island;
        struct peer cy;
        begin(&island);
        peer_open(&cy, &island.hub, 3, "cy", "island");
        live_view(&cy, 1, 2, SCN_MASK_PRESENCE | SCN_MASK_PREVIEW);
        live_preview(&island.ann, 3, 1);
        cr_assert_eq(live_expect(&cy).previews_count, 1);
        cy.does_not_read = true;
        for (uint32_t i = 0; i < PEERS; i++) {
                peer_open(&peers[i], &island.hub, 10 + i, "robot", "island");
                live_presence(&peers[i], (struct scn_slice){map, sizeof map - 1});
        }
        edit(&island.bob, scene_move(3, 4));
        cy.does_not_read = false;
        bool is_gone = false;
        size_t messages = 0;
        for (uint32_t round = 0; round < 10; round++) {
                struct scn_message message;
                peer_drain(&cy);
                live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
                if (moves_between && round < 3) {
                        edit(&island.bob, scene_move(3, round % 2 == 0 ? 2 : 4));
                        edit(&island.bob, scene_move(3, round % 2 == 0 ? 4 : 1));
                }
                while (peer_receive(&cy, &message)) {
                        struct live_told told = {0};
                        if (message.kind == SCN_MESSAGE_live) {
                                live_read(&message, &told);
                                is_gone = is_gone || told.is_whole ||
                                        (told.previews_count > 0 && told.previews[0].fields == 0);
                                messages++;
                        }
                }
        }
        cr_assert(messages > 1, "it came in parts");
        cr_assert(is_gone);
        for (uint32_t i = 0; i < PEERS; i++) {
                peer_close(&peers[i]);
        }
        peer_close(&cy);
        finish(&island);
}

SCN_TEST(live, what_left_a_view_is_told_as_gone_though_it_is_told_in_parts)
{
        leave_amid_parts(false);
}

SCN_TEST(live, moves_between_the_parts_hide_nothing)
{
        leave_amid_parts(true);
}

/* --- Limits and faults --- */

SCN_TEST(live, presence_has_a_limit_of_bytes_and_one_of_keys)
{
        static uint8_t map[4200];
        static const uint8_t head[] = {0x81, 0xa1, 'x', 0xc5, 0x0f, 0xfa};
        struct island island;
        begin(&island);
        /* One key, whose value fills it to the last byte. */
        memcpy(map, head, sizeof head);
        live_presence(&island.ann, (struct scn_slice){map, SCN_LIVE_presence_bytes_max});
        cr_assert_eq(live_expect(&island.bob).presences[0].map.size, SCN_LIVE_presence_bytes_max);
        map[5]++;
        live_presence(&island.ann, (struct scn_slice){map, SCN_LIVE_presence_bytes_max + 1});
        peer_expect_code(&island.ann, SCN_MESSAGE_failed, "too_large");
        static uint8_t none[] = {0x81, 0xa1, 'x', 0xc0};
        live_presence(&island.ann, (struct scn_slice){none, sizeof none});
        for (uint32_t i = 0; i < SCN_LIVE_presence_keys_max; i++) {
                char key[8];
                (void)snprintf(key, sizeof key, "k%u", i);
                live_presence(&island.ann, live_map(key, 1));
        }
        struct scn_message message;
        cr_assert_not(peer_receive(&island.ann, &message), "so many may be");
        live_presence(&island.ann, live_map("one more", 1));
        peer_expect_code(&island.ann, SCN_MESSAGE_failed, "too_many_keys");
        live_presence(&island.ann, live_map("k7", 2));
        cr_assert_not(peer_receive(&island.ann, &message), "one that is there may change");
        finish(&island);
}

SCN_TEST(live, a_session_previews_so_many_nodes_and_no_more)
{
        static struct scn_op ops[SCN_LIVE_previews_max + 1];
        static struct scn_preview_wish wishes[SCN_LIVE_previews_max + 1];
        struct island island;
        struct scn_message message;
        begin(&island);
        for (uint32_t i = 0; i <= SCN_LIVE_previews_max; i++) {
                ops[i] = scene_add(1, 100 + i, NULL);
                wishes[i] = (struct scn_preview_wish){
                        .node = scene_ref(100 + i), .fields = SCN_FIELDS_SCALE, .trs = SCN_TRS_IDENTITY};
        }
        peer_edit(&island.ann, ops, SCN_LIVE_previews_max + 1);
        (void)peer_expect(&island.ann, SCN_MESSAGE_applied);
        live_preview_raw(&island.ann, wishes, SCN_LIVE_previews_max + 1);
        peer_expect_code(&island.ann, SCN_MESSAGE_failed, "too_many_previews");
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        live_expect_nothing(&island.bob);
        live_preview_raw(&island.ann, wishes, SCN_LIVE_previews_max);
        cr_assert_not(peer_receive(&island.ann, &message));
        live_preview_raw(&island.ann, wishes + SCN_LIVE_previews_max, 1);
        peer_expect_code(&island.ann, SCN_MESSAGE_failed, "too_many_previews");
        /* One for another, in one message. */
        wishes[0] = wishes[SCN_LIVE_previews_max];
        wishes[1].fields = 0;
        live_preview_raw(&island.ann, wishes, 2);
        cr_assert_not(peer_receive(&island.ann, &message));
        finish(&island);
}

SCN_TEST(live, what_cannot_be_read_is_said_changes_nothing_and_the_connection_stays)
{
        static const uint8_t not_text[] = {0x81, 0x01, 0x02};
        static const uint8_t twice[] = {0x82, 0xa1, 'x', 1, 0xa1, 'x', 2};
        static const uint8_t array[] = {0x90};
        static const uint8_t not_finite[] = {
                0x91, 0x82, 0x01, 0x02, 0x07, 0x93, 0xcb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0, 1, 1};
        static const uint8_t nowhere[] = {0x91, 0x81, 0x07, 0x93, 1, 2, 3};
        static const struct {
                bool is_preview;
                struct scn_slice bytes;
                const char *code;
        } cases[] = {
                {false, {not_text, sizeof not_text}, "bad_message"},
                {false, {twice, sizeof twice}, "duplicate_key"},
                {false, {array, sizeof array}, "bad_message"},
                {true, {not_finite, sizeof not_finite}, "not_finite"},
                {true, {nowhere, sizeof nowhere}, "missing_field"},
        };
        struct island island;
        struct scn_message message;
        begin(&island);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                scn_message_init(&message, cases[i].is_preview ? SCN_MESSAGE_preview : SCN_MESSAGE_presence);
                message.as.presence.map = cases[i].bytes; /* the only field of both */
                peer_send(&island.ann, &message);
                cr_assert(peer_receive(&island.ann, &message));
                cr_assert_eq((int)message.kind, (int)SCN_MESSAGE_failed);
                cr_assert_eq(message.as.failed.request, SCN_ABSENT);
                cr_assert_not(message.as.failed.closes);
                cr_assert(scene_is_text(message.as.failed.code, cases[i].code), "case %zu: %.*s", i,
                        (int)message.as.failed.code.size, (const char *)message.as.failed.code.data);
        }
        const struct scn_preview_wish flat = {
                .node = scene_id(2), .fields = SCN_FIELDS_ROTATION, .trs = {.r = {0, 0, 0, 0}}};
        live_preview_raw(&island.ann, &flat, 1);
        peer_expect_code(&island.ann, SCN_MESSAGE_failed, "zero_quaternion");
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        live_expect_nothing(&island.bob);
        edit(&island.ann, scene_rename(2, "still here"));
        finish(&island);
}

SCN_TEST(live, a_preview_of_a_node_that_is_gone_is_dropped_in_silence)
{
        struct island island;
        struct scn_message message;
        begin(&island);
        edit(&island.bob, scene_remove(3));
        live_preview(&island.ann, 3, 1);
        cr_assert_not(peer_receive(&island.ann, &message));
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        live_expect_nothing(&island.bob);
        finish(&island);
}

SCN_TEST(live, needs_a_document)
{
        struct island island;
        struct peer cy;
        begin(&island);
        peer_greet(&cy, &island.hub, 3, NULL);
        live_presence(&cy, live_map("x", 1));
        peer_expect_code(&cy, SCN_MESSAGE_failed, "not_open");
        peer_close(&cy);
        finish(&island);
}

/* Whatever allocation fails: the peer is told or cut off, and nothing is lost or left behind. */
SCN_TEST(live, survives_the_failure_of_any_allocation)
{
        struct island island;
        struct peer cy;
        begin(&island);
        for (uint64_t nth = 1; nth <= 30; nth++) {
                peer_open(&cy, &island.hub, 3, "cy", "island");
                live_view(&cy, 1, 1, ALL);
                scn_alloc_fail_at(nth, false);
                const uint8_t x[] = {0x81, 0xa1, 'x', (uint8_t)nth};
                scn_session_feed(cy.session, (const uint8_t[]){0xc4, 6, 0x92, SCN_MESSAGE_presence}, 4);
                scn_session_feed(cy.session, x, sizeof x);
                scn_session_feed(
                        cy.session, (const uint8_t[]){0xc4, 12, 0x92, SCN_MESSAGE_preview, 0x91, 0x82, 1, 2}, 8);
                scn_session_feed(cy.session, (const uint8_t[]){7, 0x93, 1, 2, (uint8_t)nth % 100}, 5);
                scn_session_feed(cy.session, (const uint8_t[]){0x90}, 0);
                scn_session_feed(cy.session, (const uint8_t[]){0xc4, 5, 0x93, SCN_MESSAGE_lock, 1, 0x91, 3}, 7);
                scn_server_turn(island.hub.server);
                scn_alloc_fail_at(0, false);
                peer_close(&cy);
                live_wait(&island.hub, SCN_LOCK_GRACE_MS / 1000 + SCN_LIVE_INTERVAL_MS);
                if (peer_has_ended(&island.bob)) {
                        peer_close(&island.bob);
                        peer_open(&island.bob, &island.hub, 2, "bob", "island");
                        live_view(&island.bob, 1, 1, ALL);
                }
                struct scn_message message;
                while (peer_receive(&island.bob, &message)) {
                }
        }
        live_presence(&island.ann, live_map("x", 1));
        live_wait(&island.hub, SCN_LIVE_INTERVAL_MS);
        bool is_there = false;
        const struct live_told told = live_expect(&island.bob);
        for (size_t i = 0; i < told.presences_count; i++) {
                is_there = is_there || told.presences[i].session == 1;
        }
        cr_assert(is_there);
        finish(&island);
}
