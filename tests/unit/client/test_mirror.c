/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Views: the confirmed state with pending edits on top, what is told of it, and resuming. */

#include "tests/unit/client/view_bench.h"

SCN_TEST(view, shows_the_whole_once_it_has_come)
{
        struct bench bench;
        set_up(&bench);
        cr_assert(scn_view_is_ready(bench.view));
        cr_assert_eq(scn_view_nodes_count(bench.view), 4);
        cr_assert_eq(bench.heard.events, 1);
        cr_assert(bench.heard.is_whole);
        cr_assert_eq(bench.heard.changes_count, 4);
        cr_assert(bench.heard.changes[3].is_new);
        mock_expect_same(&bench.mock, bench.view);
        struct scn_node_info info;
        const struct scn_uid c = scn_view_find(bench.view, "/a/c");
        cr_assert(scn_uid_equal(c, scene_uid(4)));
        cr_assert(scn_view_node(bench.view, c, &info));
        cr_assert(scn_uid_equal(info.parent, scene_uid(2)));
        cr_assert_eq(memcmp(info.name.data, "c", 1), 0);
        uint32_t walked = 0;
        for (struct scn_uid at = scn_view_root(bench.view); !scn_uid_is_none(at);
                at = scn_view_walk(bench.view, scn_view_root(bench.view), at)) {
                walked++;
        }
        cr_assert_eq(walked, 4);
        mock_finish(&bench.mock);
}

SCN_TEST(view, shows_an_edit_at_once_and_once_only)
{
        struct bench bench;
        set_up(&bench);
        const uint64_t edit = submit_move_to_x(&bench, 2, 5.0f);
        cr_assert_float_eq(x_of(bench.view, 2), 5.0f, 0.0f);
        cr_assert_eq(scn_view_pending_count(bench.view), 1);
        cr_assert_eq(bench.heard.events, 1, "callbacks wait for a dispatch");
        dispatch(&bench);
        cr_assert_eq(bench.heard.events, 2);
        cr_assert_eq(bench.heard.kind, SCN_VIEW_EDITED);
        cr_assert_eq(bench.heard.edit, edit);
        cr_assert_eq(bench.heard.mask, SCN_MASK_TRANSFORM);
        cr_assert_eq(bench.heard.changes[0].fields, SCN_FIELDS_TRANSLATION);

        (void)mock_expect(&bench.mock, SCN_MESSAGE_edit);
        cr_assert_eq(mock_answer_edit(&bench.mock), SCN_MESSAGE_applied);
        cr_assert_eq(mock_deliver(&bench.mock), SCN_OK);
        cr_assert_eq(scn_client_pending_count(bench.mock.client), 0);
        cr_assert_eq(scn_view_pending_count(bench.view), 1, "it is on top until the view was told");
        cr_assert_float_eq(x_of(bench.view, 2), 5.0f, 0.0f);
        mock_publish(&bench.mock, &bench.theirs);
        cr_assert_eq(scn_view_pending_count(bench.view), 0);
        cr_assert_eq(bench.heard.kind, SCN_VIEW_DELTA);
        mock_expect_same(&bench.mock, bench.view);
        cr_assert(TAILQ_EMPTY(&bench.mock.client->accepted));
        mock_finish(&bench.mock);
}

SCN_TEST(view, keeps_pending_edits_on_top_of_what_others_do)
{
        struct bench bench;
        set_up(&bench);
        (void)submit_move_to_x(&bench, 2, 5.0f);
        (void)mock_do(&bench.mock, scene_translate(id_of(&bench, 2), 1.0f, 0.0f, 0.0f));
        (void)mock_do(&bench.mock, scene_rename(id_of(&bench, 3), "other"));
        mock_publish(&bench.mock, &bench.theirs);
        cr_assert_float_eq(x_of(bench.view, 2), 5.0f, 0.0f);
        cr_assert(!scn_uid_is_none(scn_view_find(bench.view, "/other")));
        cr_assert_eq(bench.heard.mask & SCN_MASK_NAME, SCN_MASK_NAME);
        (void)mock_expect(&bench.mock, SCN_MESSAGE_edit);
        mock_refuse_edit(&bench.mock, "busy");
        cr_assert_eq(mock_deliver(&bench.mock), SCN_OK);
        cr_assert_float_eq(x_of(bench.view, 2), 1.0f, 0.0f);
        cr_assert_eq(bench.heard.kind, SCN_VIEW_REFUSED);
        cr_assert_str_eq(bench.heard.code, "busy");
        cr_assert_eq(bench.heard.changes_count, 1);
        mock_expect_same(&bench.mock, bench.view);
        mock_finish(&bench.mock);
}

SCN_TEST(view, takes_back_exactly_the_edit_that_was_refused)
{
        struct bench bench;
        set_up(&bench);
        struct scn_draft *draft = scn_draft_create(bench.mock.client, bench.view);
        struct scn_addition addition = SCN_ADDITION_INIT;
        struct scn_uid added;
        addition.parent = SCN_BY_UID(scene_uid(2));
        cr_assert_eq(scn_draft_add(draft, &addition, &added), SCN_OK);
        (void)submit(draft);
        (void)submit_move_to_x(&bench, 2, 5.0f);
        (void)submit_move_to_x(&bench, 3, 6.0f);
        draft = scn_draft_create(bench.mock.client, bench.view);
        cr_assert_eq(scn_draft_rename(draft, SCN_BY_UID(added), "child"), SCN_OK);
        (void)submit(draft);
        dispatch(&bench);
        cr_assert_eq(scn_view_pending_count(bench.view), 4);
        (void)mock_expect(&bench.mock, SCN_MESSAGE_edit);
        mock_refuse_edit(&bench.mock, "too_many_nodes");
        cr_assert_eq(mock_deliver(&bench.mock), SCN_OK);
        cr_assert_eq(scn_view_nodes_count(bench.view), 4);
        cr_assert_float_eq(x_of(bench.view, 2), 5.0f, 0.0f);
        cr_assert_float_eq(x_of(bench.view, 3), 6.0f, 0.0f);
        cr_assert_eq(scn_view_pending_count(bench.view), 2, "the rename of what is not there shows nothing");
        cr_assert_eq(bench.heard.removed_count, 1);
        cr_assert(scn_uid_equal(bench.heard.removed, added));
        mock_finish(&bench.mock);
}

SCN_TEST(view, brings_a_removed_subtree_back_when_that_was_refused)
{
        struct bench bench;
        set_up(&bench);
        struct scn_draft *draft = scn_draft_create(bench.mock.client, bench.view);
        cr_assert_eq(scn_draft_remove(draft, SCN_BY_UID(scene_uid(2))), SCN_OK);
        (void)submit(draft);
        dispatch(&bench);
        cr_assert_eq(bench.heard.removed_count, 2, "a, with c");
        cr_expect_str_eq(bench.heard.removed_name, "a");
        cr_assert_eq(scn_view_nodes_count(bench.view), 2);
        (void)mock_expect(&bench.mock, SCN_MESSAGE_edit);
        mock_refuse_edit(&bench.mock, "conflict");
        cr_assert_eq(mock_deliver(&bench.mock), SCN_OK);
        cr_assert_eq(scn_view_nodes_count(bench.view), 4);
        cr_assert_eq(bench.heard.removed_count, 0);
        cr_assert_eq(bench.heard.changes_count, 2, "a and c");
        cr_assert(scn_uid_equal(bench.heard.changes[0].uid, scene_uid(2)));
        cr_assert(bench.heard.changes[1].is_new);
        mock_expect_same(&bench.mock, bench.view);
        mock_finish(&bench.mock);
}

SCN_TEST(view, does_not_call_a_node_new_that_its_own_edit_had_added)
{
        struct bench bench;
        set_up(&bench);
        struct scn_draft *draft = scn_draft_create(bench.mock.client, bench.view);
        struct scn_addition addition = SCN_ADDITION_INIT;
        struct scn_uid added;
        addition.parent = SCN_BY_UID(scene_uid(2));
        cr_assert_eq(scn_draft_add(draft, &addition, &added), SCN_OK);
        (void)submit(draft);
        dispatch(&bench);
        cr_assert(bench.heard.changes[0].is_new);
        (void)mock_do(&bench.mock, scene_rename(id_of(&bench, 3), "other"));
        mock_publish(&bench.mock, &bench.theirs);
        cr_assert_eq(bench.heard.removed_count, 0);
        for (size_t i = 0; i < bench.heard.changes_count; i++) {
                cr_assert(!bench.heard.changes[i].is_new);
        }
        (void)mock_expect(&bench.mock, SCN_MESSAGE_edit);
        cr_assert_eq(mock_answer_edit(&bench.mock), SCN_MESSAGE_applied);
        mock_publish(&bench.mock, &bench.theirs);
        cr_assert_eq(bench.heard.removed_count, 0);
        cr_assert_gt(bench.heard.changes_count, 0);
        for (size_t i = 0; i < bench.heard.changes_count; i++) {
                cr_assert(scn_uid_equal(bench.heard.changes[i].uid, added));
                cr_assert(!bench.heard.changes[i].is_new, "confirmed is not new");
        }
        mock_expect_same(&bench.mock, bench.view);
        mock_finish(&bench.mock);
}

SCN_TEST(view, names_what_went_with_a_node_that_is_there_again)
{
        struct bench bench;
        set_up(&bench);
        const struct scn_op ops[] = {scene_remove(id_of(&bench, 2)), scene_add(1, 2, "anew")};
        (void)scene_do_all(bench.mock.document, ops, 2);
        mock_publish(&bench.mock, &bench.theirs);
        cr_assert_eq(bench.heard.changes_count, 1);
        cr_assert(bench.heard.changes[0].is_new);
        cr_assert_eq(bench.heard.removed_count, 1, "c; a is there");
        cr_assert(scn_uid_equal(bench.heard.removed, scene_uid(4)));
        cr_expect_str_eq(bench.heard.removed_name, "c");
        (void)mock_do(&bench.mock, scene_remove(id_of(&bench, 2)));
        mock_publish(&bench.mock, &bench.theirs);
        cr_assert_eq(bench.heard.removed_count, 1);
        cr_expect_str_eq(bench.heard.removed_name, "anew");
        mock_finish(&bench.mock);
}

SCN_TEST(view, names_a_node_that_its_own_edit_had_moved_out_of_what_is_removed)
{
        struct bench bench;
        set_up(&bench);
        const struct scn_position last = {.kind = SCN_POSITION_UNSAID};
        struct scn_draft *draft = scn_draft_create(bench.mock.client, bench.view);
        cr_assert_eq(scn_draft_move(draft, SCN_BY_UID(scene_uid(4)), SCN_BY_UID(scene_uid(3)), last, 0), SCN_OK);
        (void)submit(draft);
        dispatch(&bench);
        (void)mock_do(&bench.mock, scene_remove(id_of(&bench, 2)));
        mock_publish(&bench.mock, &bench.theirs);
        cr_assert_eq(scn_view_nodes_count(bench.view), 2);
        bool names_c = false;
        for (size_t i = 0; i < bench.heard.removed_count && i < 16; i++) {
                names_c = names_c || scn_uid_equal(bench.heard.removed_all[i], scene_uid(4));
        }
        cr_assert(names_c, "for whoever listens c was under b, and did not go with a");
        mock_finish(&bench.mock);
}

SCN_TEST(view, tells_new_nodes_parents_first)
{
        struct bench bench;
        set_up(&bench);
        const scn_node_id top = scene_new(bench.mock.document, 1, 9, "top");
        (void)scene_new(bench.mock.document, top, 5, "below, with a smaller uid");
        mock_publish(&bench.mock, &bench.theirs);
        struct scn_draft *draft = scn_draft_create(bench.mock.client, bench.view);
        cr_assert_eq(scn_draft_remove(draft, SCN_BY_UID(scene_uid(9))), SCN_OK);
        (void)submit(draft);
        dispatch(&bench);
        (void)mock_expect(&bench.mock, SCN_MESSAGE_edit);
        mock_refuse_edit(&bench.mock, "conflict");
        cr_assert_eq(mock_deliver(&bench.mock), SCN_OK);
        cr_assert_eq(bench.heard.changes_count, 2);
        cr_assert(scn_uid_equal(bench.heard.changes[0].uid, scene_uid(9)));
        cr_assert(scn_uid_equal(bench.heard.changes[1].uid, scene_uid(5)));
        mock_finish(&bench.mock);
}

SCN_TEST(view, goes_on_with_the_same_node_whatever_its_path_is_by_then)
{
        struct bench bench;
        set_up(&bench);
        struct scn_view *part = make_view(&bench, SCN_BY_PATH("/a"), 0);
        cr_assert_eq(mock_expect(&bench.mock, SCN_MESSAGE_view)->as.view.root.kind, SCN_REF_PATH);
        (void)mock_accept_view(&bench.mock, false);
        mock_disconnect(&bench.mock);
        (void)mock_do(&bench.mock, scene_rename(id_of(&bench, 2), "other"));
        mock_open(&bench.mock);
        (void)mock_answer_view(&bench.mock, true);
        const struct scn_node_ref root = mock_expect(&bench.mock, SCN_MESSAGE_view)->as.view.root;
        cr_assert_eq(root.kind, SCN_REF_UID);
        cr_assert(scn_uid_equal(root.uid, scene_uid(2)));
        (void)mock_accept_view(&bench.mock, true);
        mock_expect_same(&bench.mock, part);
        mock_finish(&bench.mock);
}

SCN_TEST(view, says_the_parent_that_a_transform_is_meant_in)
{
        struct bench bench;
        set_up(&bench);
        struct scn_draft *draft = scn_draft_create(bench.mock.client, bench.view);
        const float t[3] = {1.0f, 2.0f, 3.0f};
        const struct scn_position last = {.kind = SCN_POSITION_UNSAID};
        cr_assert_eq(scn_draft_transform(draft, SCN_BY_UID(scene_uid(4)), t, NULL, NULL), SCN_OK);
        cr_assert_eq(scn_draft_move(draft, SCN_BY_UID(scene_uid(4)), SCN_BY_UID(scene_uid(3)), last, 0), SCN_OK);
        cr_assert_eq(scn_draft_transform(draft, SCN_BY_UID(scene_uid(4)), t, NULL, NULL), SCN_OK);
        (void)submit(draft);
        struct scn_ops ops = {0};
        struct scn_ops_fault fault;
        const struct scn_limits limits = SCN_LIMITS_DEFAULT;
        cr_assert_eq(
                scn_ops_decode(mock_expect(&bench.mock, SCN_MESSAGE_edit)->as.edit.ops, &limits, &ops, &fault), SCN_OK);
        cr_assert_eq(ops.count, 3);
        cr_assert(scn_uid_equal(ops.ops[0].parent.uid, scene_uid(2)), "as it is in the view");
        cr_assert(scn_uid_equal(ops.ops[2].parent.uid, scene_uid(3)), "as the op before made it");
        scn_ops_finish(&ops);

        /* And so somebody else's move does not misplace it. */
        (void)submit_move_to_x(&bench, 2, 9.0f);
        (void)mock_do(&bench.mock, scene_move(id_of(&bench, 2), id_of(&bench, 3)));
        (void)mock_expect(&bench.mock, SCN_MESSAGE_edit);
        cr_assert_eq(mock_answer_edit(&bench.mock), SCN_MESSAGE_refused);
        cr_assert_eq(mock_deliver(&bench.mock), SCN_OK);
        cr_assert_str_eq(bench.heard.code, "stale_parent");
        mock_finish(&bench.mock);
}

SCN_TEST(view, resumes_and_drops_what_the_resumed_state_has)
{
        struct bench bench;
        set_up(&bench);
        (void)submit_move_to_x(&bench, 2, 5.0f);
        (void)mock_expect(&bench.mock, SCN_MESSAGE_edit);
        mock_swallow_edit(&bench.mock); /* stored, but the answer is lost */
        mock_disconnect(&bench.mock);
        (void)mock_do(&bench.mock, scene_translate(id_of(&bench, 2), 7.0f, 0.0f, 0.0f));
        cr_assert_eq(scn_view_nodes_count(bench.view), 4, "it goes on showing what it had");
        const scn_revision cursor = scn_view_revision(bench.view);
        mock_open(&bench.mock);
        (void)mock_expect(&bench.mock, SCN_MESSAGE_edit);
        struct scn_message answer;
        scn_message_init(&answer, SCN_MESSAGE_applied);
        answer.as.applied.number = bench.mock.message.as.edit.number;
        answer.as.applied.rev = cursor + 1;
        bench.theirs = mock_answer_view(&bench.mock, true);
        cr_assert_eq(bench.heard.from, cursor);
        cr_assert(!bench.heard.is_whole);
        cr_assert_float_eq(x_of(bench.view, 2), 5.0f, 0.0f, "for all it knows its edit comes last");
        mock_send(&bench.mock, &answer);
        cr_assert_eq(mock_deliver(&bench.mock), SCN_OK);
        cr_assert_float_eq(x_of(bench.view, 2), 7.0f, 0.0f);
        cr_assert_eq(bench.heard.changes_count, 1);
        cr_assert(TAILQ_EMPTY(&bench.mock.client->accepted));
        mock_expect_same(&bench.mock, bench.view);
        mock_finish(&bench.mock);
}

/* The server is there again, with another history of the document, in which the client has done nothing. */
static void come_back_as(struct bench *bench, struct scn_document *document)
{
        scn_document_destroy(bench->mock.document);
        bench->mock.document = document;
        bench->mock.number = 0;
        bench->mock.epoch[0] = 1;
        mock_open(&bench->mock);
}

/* An edit is accepted, and the connection lost before the delta. */
static void have_accepted_and_lose(struct bench *bench)
{
        (void)submit_move_to_x(bench, 2, 5.0f);
        (void)mock_expect(&bench->mock, SCN_MESSAGE_edit);
        cr_assert_eq(mock_answer_edit(&bench->mock), SCN_MESSAGE_applied);
        cr_assert_eq(mock_deliver(&bench->mock), SCN_OK);
        mock_disconnect(&bench->mock);
}

/* B09: the server comes back with an older copy of the file, whose revisions are smaller. */
SCN_TEST(view, takes_over_another_history_with_its_edits_on_top)
{
        struct bench bench;
        set_up(&bench);
        struct scn_document *backup = scene_copy(bench.mock.document);
        for (int i = 0; i < 5; i++) {
                (void)mock_do(&bench.mock, scene_translate(id_of(&bench, 3), (float)i + 1.0f, 0.0f, 0.0f));
        }
        (void)scene_new(bench.mock.document, 1, 9, "only there");
        mock_publish(&bench.mock, &bench.theirs);
        cr_assert_eq(scn_view_nodes_count(bench.view), 5);
        mock_disconnect(&bench.mock);
        (void)submit_move_to_x(&bench, 2, 5.0f);
        come_back_as(&bench, backup);
        bench.theirs = mock_answer_view(&bench.mock, false);
        cr_assert(bench.heard.is_whole);
        cr_assert_eq(scn_view_nodes_count(bench.view), 4);
        cr_assert_float_eq(x_of(bench.view, 2), 5.0f, 0.0f);
        (void)mock_expect(&bench.mock, SCN_MESSAGE_edit);
        cr_assert_eq(mock_answer_edit(&bench.mock), SCN_MESSAGE_applied);
        mock_publish(&bench.mock, &bench.theirs);
        mock_expect_same(&bench.mock, bench.view);
        mock_finish(&bench.mock);
}

/* What was accepted in the old history counts in numbers that the new one gives again. */
SCN_TEST(view, of_another_history_does_not_show_what_was_accepted_and_lost)
{
        struct bench bench;
        set_up(&bench);
        struct scn_document *backup = scene_copy(bench.mock.document);
        have_accepted_and_lose(&bench);
        come_back_as(&bench, backup);
        bench.theirs = mock_answer_view(&bench.mock, false);
        cr_assert_eq(scn_view_pending_count(bench.view), 0);
        cr_assert(TAILQ_EMPTY(&bench.mock.client->accepted));
        mock_expect_same(&bench.mock, bench.view);
        mock_finish(&bench.mock);
}

/* Where the old history ends at what the view has, it is resumed, and no delta will come. */
SCN_TEST(view, resumed_where_it_was_in_another_history_does_not_show_what_was_accepted_and_lost)
{
        struct bench bench;
        set_up(&bench);
        struct scn_document *backup = scene_copy(bench.mock.document);
        have_accepted_and_lose(&bench);
        const scn_revision cursor = scn_view_revision(bench.view);
        cr_assert_eq(scn_document_revision(backup), cursor);
        cr_assert_float_eq(x_of(bench.view, 2), 5.0f, 0.0f);
        come_back_as(&bench, backup);
        bench.heard.changes_count = 0;
        bench.theirs = mock_answer_view(&bench.mock, true);
        cr_assert_eq(scn_view_pending_count(bench.view), 0);
        cr_assert_eq(bench.heard.changes_count, 1, "its program is told");
        cr_assert(TAILQ_EMPTY(&bench.mock.client->accepted));
        mock_expect_same(&bench.mock, bench.view);
        /* From now on it goes by the new one. */
        (void)submit_move_to_x(&bench, 2, 6.0f);
        (void)mock_expect(&bench.mock, SCN_MESSAGE_edit);
        cr_assert_eq(mock_answer_edit(&bench.mock), SCN_MESSAGE_applied);
        cr_assert_eq(mock_deliver(&bench.mock), SCN_OK);
        cr_assert_eq(scn_view_pending_count(bench.view), 1);
        mock_publish(&bench.mock, &bench.theirs);
        cr_assert_eq(scn_view_pending_count(bench.view), 0);
        mock_expect_same(&bench.mock, bench.view);
        mock_finish(&bench.mock);
}

/* The other way round: the view has not arrived in the new history yet, and its cursor is a number of the old. */
SCN_TEST(view, of_the_old_history_keeps_what_is_accepted_in_the_new)
{
        struct bench bench;
        set_up(&bench);
        struct scn_document *backup = scene_copy(bench.mock.document);
        for (int i = 0; i < 5; i++) {
                (void)mock_do(&bench.mock, scene_translate(id_of(&bench, 3), (float)i + 1.0f, 0.0f, 0.0f));
        }
        mock_publish(&bench.mock, &bench.theirs);
        (void)submit_move_to_x(&bench, 2, 5.0f);
        (void)mock_expect(&bench.mock, SCN_MESSAGE_edit);
        mock_disconnect(&bench.mock); /* it was not stored */
        come_back_as(&bench, backup);
        (void)mock_expect(&bench.mock, SCN_MESSAGE_edit);
        cr_assert_eq(mock_answer_edit(&bench.mock), SCN_MESSAGE_applied);
        cr_assert_eq(mock_deliver(&bench.mock), SCN_OK);
        cr_assert_float_eq(x_of(bench.view, 2), 5.0f, 0.0f);
        bench.theirs = mock_answer_view(&bench.mock, false);
        cr_assert_float_eq(x_of(bench.view, 2), 5.0f, 0.0f);
        mock_expect_same(&bench.mock, bench.view);
        mock_finish(&bench.mock);
}

SCN_TEST(view, of_a_subtree_shows_of_an_edit_what_is_in_it)
{
        struct bench bench;
        set_up(&bench);
        struct scn_view *part = make_view(&bench, SCN_BY_PATH("/a"), SCN_MASK_STRUCTURE | SCN_MASK_TRANSFORM);
        struct mock_view theirs = mock_answer_view(&bench.mock, false);
        cr_assert_eq(scn_view_nodes_count(part), 2);
        struct scn_draft *draft = scn_draft_create(bench.mock.client, bench.view);
        const float t[3] = {1.0f, 0.0f, 0.0f};
        cr_assert_eq(scn_draft_transform(draft, SCN_BY_UID(scene_uid(3)), t, NULL, NULL), SCN_OK);
        cr_assert_eq(scn_draft_transform(draft, SCN_BY_UID(scene_uid(4)), t, NULL, NULL), SCN_OK);
        cr_assert_eq(scn_draft_rename(draft, SCN_BY_UID(scene_uid(4)), "new name"), SCN_OK);
        (void)submit(draft);
        cr_assert_float_eq(x_of(part, 4), 1.0f, 0.0f);
        struct scn_node_info info;
        cr_assert(scn_view_node(part, scene_uid(4), &info));
        cr_assert_null(info.name.data, "names are not in it");
        cr_assert(scn_view_node(bench.view, scene_uid(4), &info));
        cr_assert_eq(info.name.size, 8);
        (void)mock_expect(&bench.mock, SCN_MESSAGE_edit);
        cr_assert_eq(mock_answer_edit(&bench.mock), SCN_MESSAGE_applied);
        mock_publish(&bench.mock, &bench.theirs);
        cr_assert_eq(scn_view_pending_count(bench.view), 0);
        cr_assert_eq(scn_view_pending_count(part), 1);
        mock_publish(&bench.mock, &theirs);
        cr_assert_eq(scn_view_pending_count(part), 0);
        cr_assert(TAILQ_EMPTY(&bench.mock.client->accepted));
        scn_view_destroy(part);
        cr_assert_eq(mock_expect(&bench.mock, SCN_MESSAGE_unview)->as.unview.view, theirs.number);
        mock_finish(&bench.mock);
}

SCN_TEST(view, forgets_an_accepted_edit_of_which_nothing_shows)
{
        struct bench bench;
        set_up(&bench);
        struct scn_view *part = make_view(&bench, SCN_BY_PATH("/a"), 0);
        (void)mock_answer_view(&bench.mock, false);
        scn_view_destroy(bench.view);
        (void)mock_expect(&bench.mock, SCN_MESSAGE_unview);
        struct scn_draft *draft = scn_draft_create(bench.mock.client, NULL);
        cr_assert_eq(scn_draft_rename(draft, SCN_BY_UID(scene_uid(3)), "x"), SCN_OK);
        (void)submit(draft);
        (void)mock_expect(&bench.mock, SCN_MESSAGE_edit);
        cr_assert_eq(mock_answer_edit(&bench.mock), SCN_MESSAGE_applied);
        cr_assert_eq(mock_deliver(&bench.mock), SCN_OK);
        cr_assert_eq(scn_view_pending_count(part), 0);
        cr_assert(TAILQ_EMPTY(&bench.mock.client->accepted), "it would wait for ever");
        mock_finish(&bench.mock);
}

static void send_bad_delta(struct bench *bench, uint64_t view)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_delta);
        message.as.delta.view = view;
        message.as.delta.to = 1000;
        message.as.delta.back = 1;
        message.as.delta.columns = (struct scn_slice){(const uint8_t *)"\x81\x03\xc4\x0d\x7e............", 17};
        mock_send(&bench->mock, &message);
        cr_assert_eq(mock_deliver(&bench->mock), SCN_OK);
}

SCN_TEST(view, asks_for_the_whole_when_a_delta_does_not_fit_and_ends_at_the_second)
{
        struct bench bench;
        set_up(&bench);
        send_bad_delta(&bench, bench.theirs.number);
        send_bad_delta(&bench, bench.theirs.number);
        cr_assert_eq(scn_view_nodes_count(bench.view), 4, "what it had stays");
        cr_assert(!bench.heard.is_ended);
        (void)mock_answer_view(&bench.mock, false);
        mock_expect_same(&bench.mock, bench.view);
        cr_assert(bench.heard.is_whole);
        send_bad_delta(&bench, bench.theirs.number);
        struct scn_message answer;
        const struct scn_message_view *request = &mock_expect(&bench.mock, SCN_MESSAGE_view)->as.view;
        cr_assert_null(request->epoch.data, "it does not resume from what is doubted");
        scn_message_init(&answer, SCN_MESSAGE_viewed);
        answer.as.viewed.request = request->request;
        answer.as.viewed.view = request->view;
        answer.as.viewed.rev = 3;
        mock_send(&bench.mock, &answer);
        send_bad_delta(&bench, bench.theirs.number);
        cr_assert(bench.heard.is_ended);
        cr_assert_str_eq(bench.heard.code, "bad_delta");
        mock_finish(&bench.mock);
}

SCN_TEST(view, is_told_when_the_server_refuses_it)
{
        struct bench bench;
        set_up(&bench);
        (void)make_view(&bench, SCN_BY_PATH("/nowhere"), 0);
        struct scn_message failed;
        scn_message_init(&failed, SCN_MESSAGE_failed);
        failed.as.failed.request = mock_expect(&bench.mock, SCN_MESSAGE_view)->as.view.request;
        failed.as.failed.code = scene_text("no_node");
        failed.as.failed.text = scene_text("no such node");
        mock_send(&bench.mock, &failed);
        cr_assert_eq(mock_deliver(&bench.mock), SCN_OK);
        cr_assert(bench.heard.is_ended);
        cr_assert_str_eq(bench.heard.code, "no_node");
        mock_finish(&bench.mock);
}

SCN_TEST(view, that_has_ended_shows_no_edits_and_holds_none_back)
{
        struct bench bench;
        set_up(&bench);
        (void)submit_move_to_x(&bench, 2, 5.0f);
        cr_assert_eq(scn_view_pending_count(bench.view), 1);
        (void)mock_expect(&bench.mock, SCN_MESSAGE_edit);
        mock_swallow_edit(&bench.mock);
        mock_disconnect(&bench.mock);
        mock_open(&bench.mock);
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_applied);
        message.as.applied.number = mock_expect(&bench.mock, SCN_MESSAGE_edit)->as.edit.number;
        message.as.applied.rev = scn_document_revision(bench.mock.document);
        mock_send(&bench.mock, &message);
        scn_message_init(&message, SCN_MESSAGE_failed);
        message.as.failed.request = mock_expect(&bench.mock, SCN_MESSAGE_view)->as.view.request;
        message.as.failed.code = scene_text("gone");
        message.as.failed.text = scene_text("gone");
        mock_send(&bench.mock, &message);
        cr_assert_eq(mock_deliver(&bench.mock), SCN_OK);
        cr_assert(bench.heard.is_ended);
        cr_assert_eq(scn_view_pending_count(bench.view), 0);
        const uint32_t events = bench.heard.events;
        (void)submit_move_to_x(&bench, 2, 6.0f);
        dispatch(&bench);
        cr_assert_eq(bench.heard.events, events);
        cr_assert_eq(scn_view_pending_count(bench.view), 0);
        (void)mock_expect(&bench.mock, SCN_MESSAGE_edit);
        cr_assert_eq(mock_answer_edit(&bench.mock), SCN_MESSAGE_applied);
        cr_assert_eq(mock_deliver(&bench.mock), SCN_OK);
        cr_assert(TAILQ_EMPTY(&bench.mock.client->accepted));
        mock_finish(&bench.mock);
}

static void destroy_itself(struct scn_view *view, const struct scn_view_event *event, void *data)
{
        uint32_t *calls = data;
        (void)event;
        ++*calls;
        scn_view_destroy(view);
}

SCN_TEST(view, may_be_destroyed_by_its_own_callback)
{
        struct bench bench;
        uint32_t calls = 0;
        set_up(&bench);
        cr_assert_eq(scn_view_observe(bench.view, SCN_MASK_NAME, destroy_itself, &calls, NULL), SCN_OK);
        (void)submit_move_to_x(&bench, 2, 5.0f);
        (void)mock_do(&bench.mock, scene_translate(id_of(&bench, 3), 1.0f, 0.0f, 0.0f));
        mock_publish(&bench.mock, &bench.theirs);
        cr_assert_eq(calls, 0, "it asked for names");
        (void)mock_do(&bench.mock, scene_rename(id_of(&bench, 3), "x"));
        mock_publish(&bench.mock, &bench.theirs);
        cr_assert_eq(calls, 1);
        cr_assert(TAILQ_EMPTY(&bench.mock.client->views));
        mock_finish(&bench.mock);
}

SCN_TEST(replay, tells_each_revision_with_its_author)
{
        struct bench bench;
        struct scn_view *replay;
        struct scn_replay_options options = SCN_REPLAY_OPTIONS_INIT;
        set_up(&bench);
        options.from = 3;
        options.on_change = on_change;
        options.on_end = on_end;
        options.data = &bench.heard;
        cr_assert_eq(scn_replay_create(bench.mock.client, &options, &replay), SCN_OK);
        const struct scn_message_replay request = mock_expect(&bench.mock, SCN_MESSAGE_replay)->as.replay;
        cr_assert(request.from.size == 1 && request.from.data[0] == 3);
        cr_assert_null(request.to.data);
        struct scn_message answer;
        scn_message_init(&answer, SCN_MESSAGE_answer);
        answer.as.answer.request = request.request;
        answer.as.answer.body = scene_text("\x83\xa3rev\x03\xa4time\xcd\x12\x34\xa6"
                                           "author\xa3"
                                           "eve");
        answer.as.answer.more = true;
        mock_send(&bench.mock, &answer);
        bench.heard = (struct heard){.events = 0};
        struct scn_message whole;
        scn_message_init(&whole, SCN_MESSAGE_delta);
        whole.as.delta.view = request.request;
        whole.as.delta.to = 3;
        whole.as.delta.back = 3;
        whole.as.delta.columns =
                (struct scn_slice){(const uint8_t *)"\x82\x00\xc4\x11\x02................\x09\xc4\x01\x02", 25};
        mock_send(&bench.mock, &whole);
        cr_assert_eq(mock_deliver(&bench.mock), SCN_OK);
        cr_assert_eq(bench.heard.events, 1);
        cr_assert_eq(scn_view_nodes_count(replay), 1);
        cr_assert_eq(replay->time_us, 0x1234);
        cr_assert_eq(memcmp(replay->author, "eve", 3), 0);
        answer.as.answer.more = false;
        mock_send(&bench.mock, &answer);
        cr_assert_eq(mock_deliver(&bench.mock), SCN_OK);
        cr_assert(bench.heard.is_ended);
        cr_assert_str_eq(bench.heard.code, "");
        scn_view_destroy(replay);
        mock_finish(&bench.mock);
}
