/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The library against a daemon that is killed. SCN_KILLS says how often (tests/long/run: 100). */

#include "tests/lib/editor.h"
#include "tests/lib/random.h"
#include "tests/lib/test.h"

#include <stdlib.h>

static uint32_t kills_count(void)
{
        const char *text = getenv("SCN_KILLS");
        return text == NULL ? 10 : (uint32_t)strtoul(text, NULL, 10);
}

/* Adds one node under the root, so that the number of nodes is the number of edits that took effect. */
static void edit_add(struct editor *editor)
{
        struct scn_draft *draft = scn_draft_create(editor->client, editor->view);
        struct scn_addition addition = SCN_ADDITION_INIT;
        addition.parent = SCN_BY_PATH("/");
        cr_assert_eq(scn_draft_add(draft, &addition, NULL), SCN_OK);
        editor_submit(editor, draft);
}

SCN_TEST_WITH(library, a_killed_daemon_neither_loses_nor_doubles_an_edit, .timeout = 1200)
{
        struct serve serve;
        char address[SERVE_ADDRESS_BYTES];
        struct editor editors[2];
        struct scn_random random = scn_random_from_seed(scn_test_seed(5));
        serve_begin(&serve);
        serve_address(&serve, SERVE_UNIX, address);
        for (uint32_t i = 0; i < 2; i++) {
                editor_begin(&editors[i], address, i);
        }
        while (!editors_are_ready(editors, 2)) {
                editors_turn(editors, 2);
        }
        for (uint32_t kill = 0; kill < kills_count(); kill++) {
                const uint32_t rounds = 1 + scn_random_below(&random, 40);
                for (uint32_t round = 0; round < rounds; round++) {
                        for (uint32_t i = 0; i < 2; i++) {
                                edit_add(&editors[i]);
                                edit_add(&editors[i]);
                        }
                        editors_turn(editors, 2);
                }
                serve_kill(&serve);
                editors_turn(editors, 2);
                serve_start(&serve);
        }
        editors_settle(editors, 2);
        cr_assert_eq(editors[0].refused + editors[1].refused, 0);
        cr_assert_eq(editors[0].accepted + editors[1].accepted, editors[0].submitted + editors[1].submitted);
        cr_assert_eq(scn_view_nodes_count(editors[0].view), 1 + editors[0].submitted + editors[1].submitted);
        for (uint32_t i = 0; i < 2; i++) {
                editor_end(&editors[i]);
        }
        cr_assert_eq(serve_scenectl(&serve, NULL, "replay", "shared", "--speed", "max", NULL), 0);
        serve_finish(&serve);
}
