/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Whether a delta is a long one is known before it is computed. */

#include "protocol/scene/delta.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

/* Under the root: 2 with 10 nodes below it in a row, 13 with none; all of revision 1. */
static struct scn_document *begin(void)
{
        struct scn_document *document = scene_create();
        struct scn_op ops[12];
        ops[0] = scene_add(1, 50, "much");
        for (uint32_t i = 1; i <= 10; i++) {
                ops[i] = scene_add(i + 1, 50 + i, "below");
        }
        ops[11] = scene_add(1, 70, "alone");
        cr_assert_eq(scene_do_all(document, ops, 12), 1);
        return document;
}

/* The smallest number of which it says that so many are not looked at. */
static uint32_t size_of(const struct scn_document *document, const struct scn_delta_request *request)
{
        uint32_t size = 0;
        while (scn_delta_is_long(document, request, size + 1)) {
                size++;
        }
        return size;
}

static uint32_t size_since(const struct scn_document *document, uint32_t root, uint32_t mask, scn_revision from)
{
        const struct scn_delta_request request = {.root = scene_uid(root), .mask = mask, .from = from};
        return size_of(document, &request);
}

static uint32_t size_of_whole(const struct scn_document *document, uint32_t root)
{
        const struct scn_delta_request request = {.root = scene_uid(root), .mask = SCN_MASK_ALL, .is_fresh = true};
        return size_of(document, &request);
}

SCN_TEST(delta_size, of_a_whole_view_is_that_of_its_subtree)
{
        struct scn_document *document = begin();
        cr_assert_eq(size_of_whole(document, 1), 13);
        cr_assert_eq(size_of_whole(document, 50), 11);
        cr_assert_eq(size_of_whole(document, 70), 1);
        cr_assert_eq(size_of_whole(document, 99), 0);
        scn_document_destroy(document);
}

SCN_TEST(delta_size, counts_what_changed_since_the_cursor)
{
        struct scn_document *document = begin();
        cr_assert_eq(size_since(document, 1, SCN_MASK_ALL, 1), 0);
        (void)scene_do(document, scene_rename(2, "a"));
        (void)scene_do(document, scene_rename(5, "b"));
        (void)scene_do(document, scene_rename(2, "c"));
        cr_assert_eq(size_since(document, 1, SCN_MASK_ALL, 1), 2);
        cr_assert_eq(size_since(document, 1, SCN_MASK_ALL, 2), 2);
        cr_assert_eq(size_since(document, 1, SCN_MASK_ALL, 3), 1);
        scn_document_destroy(document);
}

SCN_TEST(delta_size, counts_what_may_have_entered_with_a_node_that_was_moved)
{
        struct scn_document *document = begin();
        (void)scene_do(document, scene_move(2, 13));
        cr_assert_eq(size_since(document, 70, SCN_MASK_ALL, 1), 1 + 11);
        (void)scene_do(document, scene_translate(2, 1, 0, 0));
        cr_assert_eq(size_since(document, 70, SCN_MASK_ALL, 2), 1);
        scn_document_destroy(document);
}

SCN_TEST(delta_size, of_worlds_counts_all_below_a_transform_that_changed)
{
        struct scn_document *document = begin();
        (void)scene_do(document, scene_translate(3, 1, 0, 0));
        cr_assert_eq(size_since(document, 1, SCN_MASK_WORLD, 1), 1 + 10);
        (void)scene_do(document, scene_rename(2, "told nobody of worlds"));
        cr_assert_eq(size_since(document, 1, SCN_MASK_WORLD, 2), 1);
        scn_document_destroy(document);
}

SCN_TEST(delta_size, counts_what_was_removed_also_where_the_views_root_is_gone)
{
        struct scn_document *document = begin();
        (void)scene_do(document, scene_remove(2));
        cr_assert_eq(size_since(document, 1, SCN_MASK_ALL, 1), 11);
        cr_assert_eq(size_since(document, 50, SCN_MASK_ALL, 1), 11);
        cr_assert_eq(size_since(document, 50, SCN_MASK_ALL, 2), 0);
        scn_document_destroy(document);
}

SCN_TEST(delta_size, of_a_root_that_came_back_is_that_of_its_subtree)
{
        struct scn_document *document = begin();
        (void)scene_do(document, scene_remove(13));
        (void)scene_do(document, scene_add(1, 70, "again"));
        cr_assert_eq(size_since(document, 70, SCN_MASK_ALL, 1), 1);
        scn_document_destroy(document);
}
