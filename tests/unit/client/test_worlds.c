/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Views of worlds: where things are, for programs that hold no hierarchy. */

#include "tests/lib/mock.h"
#include "tests/lib/random.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <string.h>

struct heard {
        uint32_t calls;
        uint32_t moved;
        uint32_t gone;
        uint32_t changes; /* by on_change: none */
};

static void on_worlds(struct scn_view *view, const struct scn_world_change *changes, uint32_t count, void *data)
{
        struct heard *heard = data;
        (void)view;
        heard->calls++;
        for (uint32_t i = 0; i < count; i++) {
                heard->gone += changes[i].is_gone;
                heard->moved += !changes[i].is_gone;
        }
}

static void on_change(struct scn_view *view, const struct scn_view_event *event, void *data)
{
        (void)view;
        (void)event;
        ((struct heard *)data)->changes++;
}

static struct scn_view *start(struct mock *mock, struct heard *heard, struct mock_view *theirs)
{
        const struct scn_client_options client_options = mock_options();
        struct scn_view_options options = SCN_VIEW_OPTIONS_INIT;
        struct scn_view *view;
        mock_init(mock, &client_options);
        for (uint32_t i = 2; i < 6; i++) {
                (void)mock_do(mock, scene_add(i - 1, i, "chain"));
        }
        *heard = (struct heard){.calls = 0};
        options.mask = SCN_MASK_WORLD;
        options.on_worlds = on_worlds;
        options.on_change = on_change;
        options.data = heard;
        cr_assert_eq(scn_view_create(mock->client, &options, &view), SCN_OK);
        mock_open(mock);
        *theirs = mock_answer_view(mock, false);
        cr_assert_eq(theirs->mask, SCN_MASK_WORLD);
        cr_assert_eq(mock_deliver(mock), SCN_OK);
        return view;
}

/* All of the document, and nothing else. */
static void expect_all(const struct mock *mock, const struct scn_view *view)
{
        const struct scn_document *document = mock->document;
        const scn_node_id root = scn_document_root(document);
        uint32_t count = 0;
        for (scn_node_id at = root; at != 0; at = scn_document_walk(document, root, at), count++) {
                struct scn_affine world;
                float matrix[16];
                cr_assert_eq(scn_view_matrix(view, scn_document_node(document, at).uid, matrix), SCN_OK);
                cr_assert_eq(scn_document_world(document, at, &world), SCN_OK);
                for (int i = 0; i < 3; i++) {
                        cr_assert_eq(matrix[12 + i], world.m[4 * i + 3]);
                }
        }
        cr_assert_eq(scn_view_worlds_count(view), count);
}

SCN_TEST(worlds, are_told_first_all_and_then_those_that_an_ancestor_moved)
{
        struct mock mock;
        struct heard heard;
        struct mock_view theirs;
        const struct scn_view *view = start(&mock, &heard, &theirs);
        cr_assert_eq(heard.moved, 5);
        expect_all(&mock, view);
        (void)mock_do(&mock, scene_translate(3, 7, 8, 9));
        mock_publish(&mock, &theirs);
        cr_assert_eq(heard.calls, 2);
        cr_assert_eq(heard.moved, 5 + 3);
        expect_all(&mock, view);
        (void)mock_do(&mock, scene_remove(4));
        mock_publish(&mock, &theirs);
        cr_assert_eq(heard.gone, 2);
        expect_all(&mock, view);
        float matrix[16];
        cr_assert_eq(scn_view_matrix(view, scene_uid(4), matrix), SCN_E_NO_NODE);
        cr_assert_eq(heard.changes, 0);
        mock_finish(&mock);
}

SCN_TEST(worlds, come_whole_after_a_break_and_what_is_not_there_any_more_is_gone)
{
        struct mock mock;
        struct heard heard;
        struct mock_view theirs;
        const struct scn_view *view = start(&mock, &heard, &theirs);
        mock_disconnect(&mock);
        (void)mock_do(&mock, scene_remove(5));
        (void)mock_do(&mock, scene_translate(2, 1, 1, 1));
        mock.now_ms += 60000;
        mock_open(&mock);
        theirs = mock_answer_view(&mock, false);
        cr_assert_eq(mock_deliver(&mock), SCN_OK);
        cr_assert_eq(heard.gone, 1);
        expect_all(&mock, view);
        mock_finish(&mock);
}

SCN_TEST(worlds, follow_whatever_is_edited)
{
        struct scn_random random = scn_random_from_seed(scn_test_seed(1));
        struct mock mock;
        struct heard heard;
        struct mock_view theirs;
        const struct scn_view *view = start(&mock, &heard, &theirs);
        for (uint32_t i = 0; i < 400; i++) {
                const struct scn_document *document = mock.document;
                scn_node_id nodes[2];
                for (int j = 0; j < 2; j++) {
                        uint32_t left = scn_random_below(&random, scn_document_nodes_count(document));
                        nodes[j] = 1;
                        while (left-- > 0) {
                                nodes[j] = scn_document_walk(document, 1, nodes[j]);
                        }
                }
                const uint32_t kind = scn_random_below(&random, 10);
                const struct scn_op op = kind < 4 ? scene_add(nodes[0], 100 + scn_random_below(&random, 60), NULL)
                        : kind < 6                ? scene_move(nodes[0], nodes[1])
                        : kind < 7                ? scene_remove(nodes[0])
                                                  : scene_translate(nodes[0], (float)i, 1, 2);
                const struct scn_edit edit = {.ops = &op, .ops_count = 1, .client = scene_client(2)};
                struct scn_changes *changes;
                struct scn_refusal refusal;
                if (scn_document_apply(mock.document, &edit, &changes, &refusal) == SCN_OK) {
                        scn_document_settle(mock.document, changes);
                }
                if (scn_random_chance(&random, 40)) {
                        mock_publish(&mock, &theirs);
                        expect_all(&mock, view);
                }
        }
        mock_finish(&mock);
}
