/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "tests/lib/random.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

/* A row as a plain array: what the index must agree with. */
struct row {
        scn_node_id ids[4000];
        uint32_t count;
};

static void insert(struct row *row, uint32_t at, scn_node_id id)
{
        memmove(&row->ids[at + 1], &row->ids[at], (row->count - at) * sizeof id);
        row->ids[at] = id;
        row->count++;
}

static void erase(struct row *row, uint32_t at)
{
        row->count--;
        memmove(&row->ids[at], &row->ids[at + 1], (row->count - at) * sizeof row->ids[0]);
}

SCN_TEST(order, agrees_with_a_plain_array_through_inserts_moves_and_removals)
{
        static struct row row;
        struct scn_document *document = scene_create();
        struct scn_random random = scn_random_from_seed(scn_test_seed(5));
        for (uint32_t step = 0; step < 6000; step++) {
                const uint32_t dice = scn_random_below(&random, 10);
                if (row.count < 10 || (dice < 6 && row.count < 3500)) {
                        const uint32_t at = scn_random_below(&random, row.count + 1);
                        struct scn_op op = scene_add(1, 0, NULL);
                        op.place = SCN_PLACE_INDEX;
                        op.index = at;
                        insert(&row, at, scn_document_next_id(document));
                        (void)scene_do(document, op);
                } else if (dice < 8) {
                        const uint32_t from = scn_random_below(&random, row.count);
                        const uint32_t to = scn_random_below(&random, row.count);
                        const scn_node_id id = row.ids[from];
                        erase(&row, from);
                        insert(&row, to, id);
                        (void)scene_do(document, scene_move_index(id, 1, to));
                } else {
                        const uint32_t at = scn_random_below(&random, row.count);
                        (void)scene_do(document, scene_remove(row.ids[at]));
                        erase(&row, at);
                }
                const uint32_t at = scn_random_below(&random, row.count);
                cr_assert_eq(scn_document_child(document, 1, at), row.ids[at]);
                cr_assert_eq(scn_document_index(document, row.ids[at]), at);
                if (step % 500 == 0) {
                        scn_document_check(document);
                }
        }
        for (uint32_t i = 0; i < row.count; i++) {
                cr_assert_eq(scn_document_child(document, 1, i), row.ids[i]);
        }
        scn_document_destroy(document);
}

/* CASES B07, the tree's part: one order everywhere, also after a restart; bounded keys. */
SCN_TEST(order, is_the_same_for_everybody_after_inserts_between_the_same_two)
{
        struct scn_document *document = scene_create();
        struct scene_view view = scene_view_create(1, SCN_MASK_ALL);
        struct scn_random random = scn_random_from_seed(scn_test_seed(6));
        for (uint32_t i = 0; i < 1000; i++) {
                struct scn_op op = scene_add(1, 0, NULL);
                op.place = SCN_PLACE_INDEX;
                (void)scene_do_as(document, 2 + i % 4, op);
        }
        scene_view_update(&view, document);
        const scn_node_id anchor = scn_document_child(document, 1, 500);
        for (uint32_t i = 0; i < 5000; i++) {
                struct scn_op op = scene_add(1, 0, NULL);
                op.place = SCN_PLACE_AFTER;
                op.after = scene_id(anchor);
                (void)scene_do(document, op);
        }
        for (uint32_t i = 0; i < 1000; i++) {
                const scn_node_id id = scn_document_child(document, 1, scn_random_below(&random, 6000));
                (void)scene_do(document, scene_move_index(id, 1, scn_random_below(&random, 6000)));
        }
        scene_view_update(&view, document);
        struct scn_document *copy = scene_copy(document);
        for (uint32_t i = 0; i < 6000; i++) {
                const scn_node_id id = scn_document_child(document, 1, i);
                cr_assert_eq(scn_document_child(view.replica, 1, i), id);
                cr_assert_eq(scn_document_child(copy, 1, i), id);
        }
        const scn_revision revision = scn_document_revision(document);
        cr_assert_eq(scene_do(document, scene_move_index(anchor, 1, scn_document_index(document, anchor))), revision);
        scn_document_destroy(copy);
        scene_view_finish(&view);
        scn_document_destroy(document);
}

SCN_TEST(order, does_without_its_index_when_memory_is_out)
{
        struct scn_document *document = scene_create();
        for (uint32_t i = 0; i < 2000; i++) {
                (void)scene_new(document, 1, 0, NULL);
        }
        /* The index cannot be built: positions are counted. */
        scn_alloc_fail_at(1, true);
        cr_assert_eq(scn_document_index(document, 1501), 1499);
        cr_assert_eq(scn_document_child(document, 1, 1499), 1501);
        scn_alloc_fail_at(0, false);
        /* Now it is built; then a block that has to split cannot, and the index goes. */
        cr_assert_eq(scn_document_index(document, 1501), 1499);
        for (uint32_t i = 0; i < 600; i++) {
                struct scn_op op = scene_move_index(2001 - i, 1, 10);
                scn_alloc_fail_at(1, true);
                const struct scn_edit edit = {.ops = &op, .ops_count = 1};
                struct scn_changes *changes;
                struct scn_refusal refusal;
                const enum scn_error error = scn_document_apply(document, &edit, &changes, &refusal);
                scn_alloc_fail_at(0, false);
                if (error == SCN_OK) {
                        scn_document_settle(document, changes);
                } else {
                        (void)scene_do(document, op);
                }
                cr_assert_eq(scn_document_index(document, 2001 - i), 10);
        }
        scn_document_check(document);
        scn_document_destroy(document);
}
