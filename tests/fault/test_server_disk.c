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
