/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What the server says when the disk takes nothing. */

#include "protocol/base/uid.h"
#include "tests/lib/hub.h"
#include "tests/lib/live.h"
#include "tests/lib/scene.h"
#include "tests/lib/shaky_disk.h"
#include "tests/lib/test.h"

#include <string.h>

static void fill_disk(bool is_full)
{
        scn_shaky.fault = is_full ? SCN_SHAKY_FULL : SCN_SHAKY_NONE;
        scn_shaky.fault_at = scn_shaky.writes + 1;
        scn_shaky.is_sticky = true;
}

/* The first would have changed something, the second was refused for what the first had done, and to the third
 * nothing was left to change: all of that never was. What was judged before keeps its answer. */
SCN_TEST(server_disk, that_is_full_refuses_also_what_was_judged_by_edits_it_did_not_take)
{
        struct hub hub;
        struct peer ann;
        scn_shaky_install();
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        struct scn_op op = scene_rename(88, "nobody");
        fill_disk(true);
        peer_edit(&ann, &op, 1);
        op = scene_add(1, 50, "boat");
        peer_edit(&ann, &op, 1);
        peer_edit(&ann, &op, 1);
        op = scene_rename(2, "boat");
        peer_edit(&ann, &op, 1);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "no_node");
        for (int i = 0; i < 3; i++) {
                const struct scn_message message = peer_expect(&ann, SCN_MESSAGE_refused);
                cr_assert_eq(message.as.refused.number, (uint64_t)i + 2);
                cr_assert(message.as.refused.code.size == 12 &&
                                memcmp(message.as.refused.code.data, "storage_full", 12) == 0,
                        "%.*s", (int)message.as.refused.code.size, (const char *)message.as.refused.code.data);
        }
        fill_disk(false);
        peer_close(&ann);
        hub_finish(&hub);
        scn_shaky_reset();
}

/* Its mirror shows what it asked for until a view has reached the revision that the answer names. */
SCN_TEST(server_disk, that_is_full_does_not_keep_an_author_from_hearing_how_far_a_view_is)
{
        struct hub hub;
        struct peer ann;
        struct peer bob;
        struct scn_message message;
        scn_shaky_install();
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        peer_open(&bob, &hub, 2, "bob", "island");
        struct scn_op op = scene_add(1, 50, "boat");
        peer_edit(&ann, &op, 1);
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        scn_message_init(&message, SCN_MESSAGE_view);
        message.as.view.request = message.as.view.view = 1;
        message.as.view.root = scene_path("/");
        message.as.view.mask = SCN_MASK_TRANSFORM;
        peer_send(&ann, &message);
        (void)peer_expect(&ann, SCN_MESSAGE_delta);
        op = scene_rename(2, "ship");
        peer_edit(&bob, &op, 1);
        (void)peer_expect(&bob, SCN_MESSAGE_applied);
        fill_disk(true);
        peer_edit(&ann, &op, 1);
        op = scene_add(1, 51, "buoy");
        peer_edit(&ann, &op, 1);
        message = peer_expect(&ann, SCN_MESSAGE_applied);
        cr_assert(message.as.applied.unchanged);
        cr_assert_eq(message.as.applied.rev, 2);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "storage_full");
        cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_delta).as.delta.to, 2);
        fill_disk(false);
        peer_close(&ann);
        peer_close(&bob);
        hub_finish(&hub);
        scn_shaky_reset();
}

/* Ann previews a boat (2) and a buoy (3), and Bob, who looks on, has been told. */
static void begin_drag(struct hub *hub, struct peer *ann, struct peer *bob)
{
        const struct scn_op ops[] = {scene_add(1, 50, "boat"), scene_add(1, 51, "buoy")};
        scn_shaky_install();
        hub_start(hub);
        peer_open(ann, hub, 1, "ann", "island");
        peer_open(bob, hub, 2, "bob", "island");
        peer_edit(ann, ops, 2);
        (void)peer_expect(ann, SCN_MESSAGE_applied);
        live_view(bob, 1, 1, SCN_MASK_TRANSFORM | SCN_MASK_PREVIEW);
        live_preview(ann, 2, 1);
        live_preview(ann, 3, 1);
        cr_assert_eq(live_expect(bob).previews_count, 2);
}

static void end_drag(struct hub *hub, struct peer *ann, struct peer *bob)
{
        peer_close(ann);
        peer_close(bob);
        hub_finish(hub);
        scn_shaky_reset();
}

/* What is dragged is gone while that is being stored, and there again when it is not. */
SCN_TEST(server_disk, that_is_full_brings_back_what_it_did_not_remove_as_it_is_previewed_by_now)
{
        struct hub hub;
        struct peer ann;
        struct peer bob;
        begin_drag(&hub, &ann, &bob);
        const struct scn_op ops[] = {scene_remove(2), scene_remove(3)};
        const struct scn_preview_wish wishes[] = {
                {.node = {.kind = SCN_REF_UID, .uid = scene_uid(50)},
                        .fields = SCN_FIELDS_TRANSLATION,
                        .trs = {.t = {2, 0, 0}}},
                {.node = {.kind = SCN_REF_UID, .uid = scene_uid(51)}},
        };
        fill_disk(true);
        peer_edit(&bob, ops, 2);
        scn_server_turn(hub.server);
        live_preview_raw(&ann, wishes, 2);
        peer_expect_code(&bob, SCN_MESSAGE_refused, "storage_full");
        fill_disk(false);
        live_wait(&hub, 1000);
        const struct live_told told = live_expect(&bob);
        cr_assert_eq(told.previews_count, 2);
        for (size_t i = 0; i < 2; i++) {
                const bool is_boat = scn_uid_equal(told.previews[i].node, scene_uid(50));
                cr_assert_eq(told.previews[i].fields, is_boat ? SCN_FIELDS_TRANSLATION : 0u);
                cr_assert(!is_boat || told.previews[i].trs.t[0] == 2.0f);
        }
        end_drag(&hub, &ann, &bob);
}

/* The author's program has been told that its edit is done, and shows no preview. */
SCN_TEST(server_disk, that_is_full_ends_a_preview_whose_edit_was_accepted_as_changing_nothing)
{
        struct hub hub;
        struct peer ann;
        struct peer bob;
        begin_drag(&hub, &ann, &bob);
        struct scn_op op = scene_translate(2, 0, 0, 0);
        fill_disk(true);
        peer_edit(&ann, &op, 1);
        op = scene_translate(3, 5, 0, 0);
        peer_edit(&ann, &op, 1);
        cr_assert(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.unchanged);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "storage_full");
        fill_disk(false);
        live_wait(&hub, 1000);
        const struct live_told told = live_expect(&bob);
        cr_assert_eq(told.previews_count, 1, "the buoy's edit was refused: it is still dragged");
        cr_assert(scn_uid_equal(told.previews[0].node, scene_uid(50)));
        cr_assert_eq(told.previews[0].fields, 0);
        end_drag(&hub, &ann, &bob);
}
