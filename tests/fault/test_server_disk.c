/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What the server says when the disk takes nothing. */

#include "tests/lib/hub.h"
#include "tests/lib/scene.h"
#include "tests/lib/shaky_disk.h"
#include "tests/lib/test.h"

#include <string.h>

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
        scn_shaky.fault = SCN_SHAKY_FULL;
        scn_shaky.fault_at = scn_shaky.writes + 1;
        scn_shaky.is_sticky = true;
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
        scn_shaky.fault = SCN_SHAKY_NONE;
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
        scn_shaky.fault = SCN_SHAKY_FULL;
        scn_shaky.fault_at = scn_shaky.writes + 1;
        scn_shaky.is_sticky = true;
        peer_edit(&ann, &op, 1);
        op = scene_add(1, 51, "buoy");
        peer_edit(&ann, &op, 1);
        message = peer_expect(&ann, SCN_MESSAGE_applied);
        cr_assert(message.as.applied.unchanged);
        cr_assert_eq(message.as.applied.rev, 2);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "storage_full");
        cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_delta).as.delta.to, 2);
        scn_shaky.fault = SCN_SHAKY_NONE;
        peer_close(&ann);
        peer_close(&bob);
        hub_finish(&hub);
        scn_shaky_reset();
}
