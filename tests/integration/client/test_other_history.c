/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* An older copy of a document is put back while somebody is away with edits that were not sent: the library comes back
 * to another history than the one it left, whose revisions have the same numbers (CASES B09). */

#include "protocol/base/uid.h"
#include "tests/lib/editor.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

#define BACKED_UP 25u /* revisions */
#define LEFT_AT 40u
#define COME_TO 60u
#define UNSENT 3u
#define PATH_BYTES 256

static void wait_for(struct editor *editor)
{
        while (!editors_are_ready(editor, 1)) {
                editors_turn(editor, 1);
        }
}

/* Adds a node of this name under the root: an edit is a node, and a revision. */
static void add(struct editor *editor, const char *name)
{
        struct scn_draft *draft = scn_draft_create(editor->client, editor->view);
        struct scn_addition addition = SCN_ADDITION_INIT;
        addition.parent = SCN_BY_PATH("/");
        addition.name = name;
        cr_assert_eq(scn_draft_add(draft, &addition, NULL), SCN_OK);
        editor_submit(editor, draft);
}

static void add_up_to(struct editor *editor, scn_revision revision, const char *name)
{
        for (scn_revision i = scn_view_revision(editor->view); i < revision; i++) {
                add(editor, name);
        }
        editors_settle(editor, 1);
        cr_assert_eq(scn_view_revision(editor->view), revision);
}

static uint32_t count_named(const struct editor *editor, const char *name)
{
        const struct scn_uid root = scn_view_root(editor->view);
        uint32_t count = 0;
        for (struct scn_uid at = root; !scn_uid_is_none(at); at = scn_view_walk(editor->view, root, at)) {
                struct scn_node_info node;
                cr_assert(scn_view_node(editor->view, at, &node));
                count += node.name.size == strlen(name) && memcmp(node.name.data, name, node.name.size) == 0;
        }
        return count;
}

/* What an editor was told first once it was back. */
struct first {
        bool is_told;
        bool is_whole;
        scn_revision to;
};

static void on_event(struct scn_view *view, const struct scn_view_event *event, void *data)
{
        struct first *first = data;
        (void)view;
        if (event->kind == SCN_VIEW_DELTA && !first->is_told) {
                *first = (struct first){.is_told = true, .is_whole = event->is_whole, .to = event->to};
        }
}

/* Stops the daemon, lays the copy where the document is, and starts it. */
static void put_back(struct serve *serve, const char *copy)
{
        char path[PATH_BYTES];
        (void)snprintf(path, sizeof path, "%s/data/shared.scene", serve->daemon.folder);
        cr_assert_eq(scn_daemon_stop(&serve->daemon), 0);
        cr_assert_eq(rename(copy, path), 0);
        serve_start(serve);
}

SCN_TEST_WITH(library, comes_back_to_an_older_copy_with_all_it_had_not_sent, .timeout = 300)
{
        struct serve serve;
        char address[SERVE_ADDRESS_BYTES];
        char copy[PATH_BYTES];
        struct editor editors[3];
        struct first first = {.is_told = false};
        serve_begin(&serve);
        serve_address(&serve, SERVE_UNIX, address);
        (void)snprintf(copy, sizeof copy, "%s/copy.scene", serve.daemon.folder);
        editor_begin(&editors[0], address, 2);
        wait_for(&editors[0]);
        add_up_to(&editors[0], BACKED_UP, "kept");
        cr_assert_eq(serve_scenectl(&serve, NULL, "backup", "shared", copy, NULL), 0);
        add_up_to(&editors[0], LEFT_AT, "lost");
        put_back(&serve, copy);
        /* The first has not looked: for all it knows, it is connected, at revision 40. Now it is told, and waits. */
        for (uint32_t i = 0; i < UNSENT; i++) {
                add(&editors[0], "unsent");
        }
        editor_begin(&editors[1], address, 3);
        wait_for(&editors[1]);
        cr_assert_eq(scn_view_revision(editors[1].view), BACKED_UP);
        add_up_to(&editors[1], COME_TO, "new");
        cr_assert_eq(scn_view_observe(editors[0].view, SCN_MASK_DURABLE, on_event, &first, NULL), SCN_OK);
        cr_assert_eq(scn_view_revision(editors[0].view), LEFT_AT);
        editors_settle(editors, 2);
        cr_assert(first.is_told);
        cr_assert(first.is_whole, "it goes on from a revision of another history");
        cr_assert_geq(first.to, COME_TO);
        cr_assert_eq(editors[0].refused, 0);
        cr_assert_eq(editors[0].accepted, editors[0].submitted);
        editor_begin(&editors[2], address, 4);
        editors_settle(editors, 3);
        for (uint32_t i = 0; i < 3; i++) {
                cr_assert_eq(scn_view_revision(editors[i].view), COME_TO + UNSENT);
                cr_assert_eq(count_named(&editors[i], "kept"), BACKED_UP);
                cr_assert_eq(count_named(&editors[i], "lost"), 0);
                cr_assert_eq(count_named(&editors[i], "new"), COME_TO - BACKED_UP);
                cr_assert_eq(count_named(&editors[i], "unsent"), UNSENT);
                cr_assert_eq(scn_view_nodes_count(editors[i].view), 1 + COME_TO + UNSENT);
                editor_end(&editors[i]);
        }
        cr_assert_eq(serve_scenectl(&serve, NULL, "verify", "shared", NULL), 0);
        serve_finish(&serve);
}
