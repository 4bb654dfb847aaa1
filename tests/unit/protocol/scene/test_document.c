/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Known behaviour: the source design "scene-document", and the rules of DESIGN §3 one by one. */

#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include "protocol/base/uid.h"

#include <string.h>

/* root -> Player -> Hand, root -> Torch; the source design's scene. */
struct island {
        struct scn_document *document;
        scn_node_id player;
        scn_node_id hand;
        scn_node_id torch;
        scn_revision built; /* what the source design calls flushed */
};

static struct island build_island(void)
{
        struct island island = {.document = scene_create()};
        island.player = scene_new(island.document, 1, 2, "Player");
        island.hand = scene_new(island.document, island.player, 3, "Hand");
        island.torch = scene_new(island.document, 1, 4, "Torch");
        island.built = scn_document_revision(island.document);
        return island;
}

static void assert_dirty(struct scn_document *document, scn_revision since, const scn_node_id *ids, size_t count)
{
        struct scn_node_list list = {0};
        cr_assert_eq(scn_document_list_dirty(document, since, &list), SCN_OK);
        cr_assert_eq(list.count, count, "%zu dirty", list.count);
        for (size_t i = 0; i < count; i++) {
                cr_assert_eq(list.ids[i], ids[i], "at %zu: %u", i, list.ids[i]);
        }
        scn_node_list_finish(&list);
}

SCN_TEST(document, starts_with_a_root_that_is_at_revision_0)
{
        struct scn_document *document = scene_create();
        const struct scn_node_view root = scn_document_node(document, 1);
        cr_assert_eq(scn_document_root(document), 1);
        cr_assert_eq(scn_document_revision(document), 0);
        cr_assert_eq(scn_document_nodes_count(document), 1);
        cr_assert_eq(root.parent, 0);
        cr_assert_eq(root.trs.s[2], 1.0f);
        cr_assert_null(root.name.data);
        scn_document_check(document);
        scn_document_destroy(document);
}

SCN_TEST(document, marks_an_edited_node_and_all_its_ancestors_but_no_sibling)
{
        struct island island = build_island();
        (void)scene_do(island.document, scene_translate(island.hand, 2, 0, 0));
        assert_dirty(island.document, island.built, (scn_node_id[]){1, island.player, island.hand}, 3);
        cr_assert(scn_document_changed_since(island.document, island.player, SCN_MASK_TRANSFORM, island.built));
        cr_assert_not(scn_document_changed_since(island.document, island.player, SCN_MASK_NAME, island.built));
        cr_assert_not(scn_document_changed_since(island.document, island.torch, SCN_MASK_ALL, island.built));
        assert_dirty(island.document, scn_document_revision(island.document), NULL, 0);
        scn_document_destroy(island.document);
}

SCN_TEST(document, marks_the_old_and_the_new_chain_of_a_moved_node)
{
        struct island island = build_island();
        (void)scene_do(island.document, scene_move(island.hand, 1));
        assert_dirty(island.document, island.built, (scn_node_id[]){1, island.player, island.hand}, 3);
        cr_assert_eq(scn_document_node(island.document, island.hand).parent, 1);
        cr_assert_eq(scn_document_node(island.document, island.hand).previous, island.torch);
        scn_document_destroy(island.document);
}

SCN_TEST(document, records_a_removed_subtree_once_parents_first_and_forgets_its_marks)
{
        struct island island = build_island();
        (void)scene_do(island.document, scene_translate(island.hand, 5, 5, 5));
        const struct scn_op op = scene_remove(island.player);
        struct scn_changes *changes = scene_apply(island.document, &op, 1);
        cr_assert_eq(scn_changes_count(changes), 1);
        const struct scn_change *record = scn_changes_get(changes, 0);
        cr_assert_eq(record->kind, SCN_OP_REMOVE);
        cr_assert_eq(record->as.remove.nodes_count, 2);
        uint32_t cursor = 0;
        const struct scn_node_view first = scn_document_removed_node(island.document, &record->as.remove, &cursor);
        cr_assert_eq(first.id, island.player);
        cr_assert_eq(first.parent, 1);
        cr_assert_eq(first.next, island.torch);
        const struct scn_node_view second = scn_document_removed_node(island.document, &record->as.remove, &cursor);
        cr_assert_eq(second.id, island.hand);
        cr_assert_eq(second.parent, island.player);
        cr_assert_eq(second.trs.t[0], 5.0f);
        cr_assert_eq(scn_document_removed_stamp(island.document, cursor, SCN_FIELD_TRANSLATION).revision, 4);
        scn_document_settle(island.document, changes);
        assert_dirty(island.document, island.built, (scn_node_id[]){1}, 1);
        cr_assert_not(scn_document_has(island.document, island.hand));
        scn_document_destroy(island.document);
}

SCN_TEST(document, records_before_and_after_of_a_transform)
{
        struct island island = build_island();
        (void)scene_do_as(island.document, 9, scene_translate(island.hand, 1, 0, 0));
        const struct scn_op op = scene_translate(island.hand, 7, 1, 2);
        struct scn_changes *changes = scene_apply(island.document, &op, 1);
        const struct scn_change *record = scn_changes_get(changes, 0);
        cr_assert_eq(record->kind, SCN_OP_TRANSFORM);
        cr_assert_eq(record->fields, SCN_FIELDS_TRANSLATION);
        cr_assert(scn_uid_equal(record->uid, scene_uid(3)));
        cr_assert_eq(record->as.transform.before.t[0], 1.0f);
        cr_assert_eq(record->as.transform.after.t[0], 7.0f);
        cr_assert_eq(record->as.transform.writer_before[0], 4);
        scn_document_settle(island.document, changes);
        const struct scn_stamp_view stamp = scn_document_stamp(island.document, island.hand, SCN_FIELD_TRANSLATION);
        cr_assert_eq(stamp.revision, 5);
        cr_assert_eq(stamp.writer, 5);
        cr_assert(scn_uid_equal(stamp.client, scene_client(1)));
        scn_document_destroy(island.document);
}

SCN_TEST(document, keeps_the_uid_when_a_node_moves)
{
        struct island island = build_island();
        (void)scene_do(island.document, scene_move(island.torch, island.hand));
        cr_assert(scn_uid_equal(scn_document_node(island.document, island.torch).uid, scene_uid(4)));
        cr_assert_eq(scn_document_find_uid(island.document, scene_uid(4)), island.torch);
        scn_document_destroy(island.document);
}

SCN_TEST(document, takes_a_move_to_the_own_parent_without_a_place_for_no_change)
{
        struct island island = build_island();
        cr_assert_eq(scene_do(island.document, scene_move(island.player, 1)), island.built);
        cr_assert_eq(scn_document_revision(island.document), island.built);
        scn_document_destroy(island.document);
}

SCN_TEST(document, refuses_to_move_or_remove_the_root_and_to_make_a_ring)
{
        struct island island = build_island();
        cr_assert_eq(scene_refused(island.document, 1, scene_remove(1)), SCN_E_ROOT);
        cr_assert_eq(scene_refused(island.document, 1, scene_move(1, island.player)), SCN_E_ROOT);
        cr_assert_eq(scene_refused(island.document, 1, scene_move(island.player, island.hand)), SCN_E_CYCLE);
        cr_assert_eq(scene_refused(island.document, 1, scene_move(island.player, island.player)), SCN_E_CYCLE);
        scn_document_destroy(island.document);
}

SCN_TEST(document, tells_a_node_that_never_was_from_one_that_is_gone)
{
        struct island island = build_island();
        (void)scene_do(island.document, scene_remove(island.torch));
        cr_assert_eq(scene_refused(island.document, 1, scene_rename(island.torch, "x")), SCN_E_GONE);
        cr_assert_eq(scene_refused(island.document, 1, scene_rename(99, "x")), SCN_E_NO_NODE);
        cr_assert_eq(scene_refused(island.document, 1, scene_rename(0, "x")), SCN_E_NO_NODE);
        struct scn_op op = scene_rename(0, "x");
        op.node = scene_ref(4);
        cr_assert_eq(scene_refused(island.document, 1, op), SCN_E_GONE);
        op.node = scene_ref(77);
        cr_assert_eq(scene_refused(island.document, 1, op), SCN_E_NO_NODE);
        scn_document_destroy(island.document);
}

SCN_TEST(document, never_gives_an_id_twice_and_starts_a_new_life_under_an_old_uid)
{
        struct island island = build_island();
        (void)scene_do(island.document, scene_set(island.torch, "lit", scene_integer(1)));
        (void)scene_do(island.document, scene_remove(island.torch));
        const scn_node_id again = scene_new(island.document, 1, 4, NULL);
        cr_assert_gt(again, island.torch);
        const struct scn_node_view node = scn_document_node(island.document, again);
        cr_assert_null(node.name.data);
        cr_assert_eq(node.properties_count, 0);
        cr_assert_eq(scene_refused(island.document, 1, scene_add(1, 4, NULL)), SCN_E_EXISTS);
        scn_document_check(island.document);
        scn_document_destroy(island.document);
}

/* --- All or nothing --- */

SCN_TEST(document, undoes_500_ops_when_the_last_one_is_wrong)
{
        struct island island = build_island();
        struct scn_op ops[500];
        for (uint32_t i = 0; i < 500; i++) {
                switch (i % 5) {
                case 0:
                        ops[i] = scene_add(island.player, 1000 + i, "new");
                        break;
                case 1:
                        ops[i] = scene_translate(island.hand, (float)i, 0, 0);
                        break;
                case 2:
                        ops[i] = scene_set(island.torch, "k", scene_integer((uint8_t)(i % 100)));
                        break;
                case 3:
                        ops[i] = scene_rename(island.player, i % 2 == 0 ? "a" : "b");
                        break;
                default:
                        ops[i] = scene_move(island.hand, i % 2 == 0 ? 1 : island.player);
                        break;
                }
        }
        ops[499] = scene_rename(12345, "wrong");
        struct scn_document *before = scene_copy(island.document);
        const struct scn_edit edit = {.ops = ops, .ops_count = 500, .client = scene_client(2)};
        struct scn_changes *changes;
        struct scn_refusal refusal;
        cr_assert_eq(scn_document_apply(island.document, &edit, &changes, &refusal), SCN_E_NO_NODE);
        cr_assert_eq(refusal.op, 499);
        cr_assert(scene_is_same(island.document, before));
        scn_document_check(island.document);
        scn_document_destroy(before);
        scn_document_destroy(island.document);
}

SCN_TEST(document, leaves_no_trace_of_an_edit_that_changes_nothing)
{
        struct island island = build_island();
        (void)scene_do(island.document, scene_set(island.hand, "k", scene_integer(5)));
        struct scn_document *before = scene_copy(island.document);
        const struct scn_op ops[] = {
                scene_translate(island.hand, 0, 0, 0),
                scene_rename(island.hand, "Hand"),
                scene_set(island.hand, "k", scene_integer(5)),
                scene_set(island.hand, "absent", (struct scn_slice){NULL, 0}),
                scene_move_index(island.player, 1, 0),
                scene_move_after(island.torch, 1, island.player),
        };
        const struct scn_edit edit = {.ops = ops, .ops_count = 6, .client = scene_client(7)};
        struct scn_changes *changes;
        struct scn_refusal refusal;
        cr_assert_eq(scn_document_apply(island.document, &edit, &changes, &refusal), SCN_OK);
        cr_assert_eq(scn_changes_count(changes), 0);
        cr_assert_eq(scn_changes_revision(changes), scn_document_revision(before));
        scn_document_settle(island.document, changes);
        const struct scn_edit nothing = {.ops = NULL, .ops_count = 0, .client = scene_client(7)};
        cr_assert_eq(scn_document_apply(island.document, &nothing, &changes, &refusal), SCN_OK);
        scn_document_take_back(island.document, changes);
        cr_assert(scene_is_same(island.document, before));
        scn_document_destroy(before);
        scn_document_destroy(island.document);
}

SCN_TEST(document, takes_edits_back_newest_first_to_the_last_bit)
{
        struct island island = build_island();
        (void)scene_do(island.document, scene_set(island.hand, "k", scene_integer(5)));
        struct scn_document *before = scene_copy(island.document);
        const struct scn_op first[] = {
                scene_remove(island.player),
                scene_add(1, 2, "reborn"),
                scene_set(island.torch, "k", scene_integer(1)),
        };
        const struct scn_op second[] = {
                scene_add(island.torch, 0, NULL),
                scene_move_index(5, island.torch, 0),
                scene_rename(1, "root"),
        };
        struct scn_changes *changes1 = scene_apply(island.document, first, 3);
        struct scn_document *middle_digest_holder = NULL;
        (void)middle_digest_holder;
        const struct scn_digests middle = scn_document_digests(island.document);
        struct scn_changes *changes2 = scene_apply(island.document, second, 3);
        scn_document_check(island.document);
        scn_document_take_back(island.document, changes2);
        const struct scn_digests again = scn_document_digests(island.document);
        cr_assert(memcmp(&middle, &again, sizeof middle) == 0);
        scn_document_check(island.document);
        scn_document_take_back(island.document, changes1);
        scn_document_check(island.document);
        cr_assert(scene_is_same(island.document, before));
        scn_document_destroy(before);
        scn_document_destroy(island.document);
}

/* --- Places --- */

static void assert_children(struct scn_document *document, scn_node_id parent, const scn_node_id *ids, uint32_t count)
{
        cr_assert_eq(scn_document_node(document, parent).children_count, count);
        for (uint32_t i = 0; i < count; i++) {
                cr_assert_eq(scn_document_child(document, parent, i), ids[i]);
                cr_assert_eq(scn_document_index(document, ids[i]), i);
        }
}

SCN_TEST(document, places_by_sibling_and_by_index_in_the_final_list)
{
        struct scn_document *document = scene_create();
        scn_node_id id[4];
        for (uint32_t i = 0; i < 4; i++) {
                id[i] = scene_new(document, 1, 10 + i, NULL);
        }
        (void)scene_do(document, scene_move_after(id[3], 1, 0));
        assert_children(document, 1, (scn_node_id[]){id[3], id[0], id[1], id[2]}, 4);
        (void)scene_do(document, scene_move_index(id[3], 1, 2));
        assert_children(document, 1, (scn_node_id[]){id[0], id[1], id[3], id[2]}, 4);
        (void)scene_do(document, scene_move_index(id[2], 1, 1));
        assert_children(document, 1, (scn_node_id[]){id[0], id[2], id[1], id[3]}, 4);
        (void)scene_do(document, scene_move_after(id[0], 1, id[1]));
        assert_children(document, 1, (scn_node_id[]){id[2], id[1], id[0], id[3]}, 4);
        cr_assert_eq(scene_refused(document, 1, scene_move_after(id[0], 1, id[0])), SCN_E_BAD_OP);
        scn_document_destroy(document);
}

SCN_TEST(document, puts_a_node_last_and_says_so_when_its_sibling_is_not_there)
{
        struct island island = build_island();
        const scn_node_id gone = scene_new(island.document, 1, 50, NULL);
        (void)scene_do(island.document, scene_remove(gone));
        const struct scn_op ops[] = {
                scene_move_after(island.player, 1, gone),
                scene_move_after(island.torch, 1, island.hand),
                scene_move_index(island.player, 1, 7),
        };
        for (uint32_t i = 0; i < 3; i++) {
                struct scn_changes *changes = scene_apply(island.document, &ops[i], 1);
                cr_assert_eq(scn_changes_count(changes), 1);
                cr_assert_eq(scn_changes_get(changes, 0)->flags, SCN_CHANGE_WENT_LAST);
                cr_assert_null(scn_document_find_uid(island.document, scene_uid(50)) == 0 ? NULL : "");
                scn_document_settle(island.document, changes);
        }
        assert_children(island.document, 1, (scn_node_id[]){island.torch, island.player}, 2);
        scn_document_destroy(island.document);
}

SCN_TEST(document, finds_nodes_by_path)
{
        struct scn_document *document = scene_create();
        const scn_node_id a = scene_new(document, 1, 2, "a/b[1]\\");
        const scn_node_id first = scene_new(document, a, 3, "x");
        const scn_node_id unnamed = scene_new(document, a, 4, NULL);
        const scn_node_id second = scene_new(document, a, 5, "x");
        const struct {
                const char *path;
                enum scn_error error;
                scn_node_id id;
        } cases[] = {
                {"/", SCN_OK, 1},
                {"/a\\/b\\[1]\\\\", SCN_OK, a},
                {"/a\\/b\\[1]\\\\/x", SCN_OK, first},
                {"/a\\/b\\[1]\\\\/x[0]", SCN_OK, first},
                {"/a\\/b\\[1]\\\\/x[1]", SCN_OK, second},
                {"/a\\/b\\[1]\\\\/[0]", SCN_OK, unnamed},
                {"/a\\/b\\[1]\\\\/x[2]", SCN_E_NO_NODE, 0},
                {"/[1]", SCN_E_NO_NODE, 0},
                {"/y/x", SCN_E_NO_NODE, 0},
                {"", SCN_E_BAD_PATH, 0},
                {"a", SCN_E_BAD_PATH, 0},
                {"//", SCN_E_BAD_PATH, 0},
                {"/a\\", SCN_E_BAD_PATH, 0},
                {"/x/", SCN_E_BAD_PATH, 0},
                {"/x[", SCN_E_BAD_PATH, 0},
                {"/x[]", SCN_E_BAD_PATH, 0},
                {"/x[-1]", SCN_E_BAD_PATH, 0},
                {"/x[1]y", SCN_E_BAD_PATH, 0},
                {"/x[99999999999999999999]", SCN_E_BAD_PATH, 0},
        };
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                const struct scn_node_ref ref = scene_path(cases[i].path);
                scn_node_id id = 0;
                cr_assert_eq(scn_document_find(document, &ref, &id), cases[i].error, "%s", cases[i].path);
                cr_assert_eq(id, cases[i].id, "%s: %u", cases[i].path, id);
        }
        scn_document_destroy(document);
}

SCN_TEST(document, resolves_a_path_against_what_the_ops_before_left)
{
        struct scn_document *document = scene_create();
        struct scn_op ops[] = {scene_add(1, 2, "new"), scene_rename(0, "renamed"), scene_set(0, "k", scene_integer(3))};
        ops[1].node = scene_path("/new");
        ops[2].node = scene_path("/renamed");
        (void)scene_do_all(document, ops, 3);
        cr_assert_eq(scn_document_get(document, 2, scene_text("k")).data[0], 3);
        scn_document_destroy(document);
}
