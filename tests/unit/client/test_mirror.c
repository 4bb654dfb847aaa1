/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Views: the confirmed state with pending edits on top, what is told of it, and resuming. */

#include "tests/lib/mock.h"
#include "tests/lib/random.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include "client/client.h"
#include "protocol/base/uid.h"

#include <string.h>

struct heard {
        uint32_t events;
        enum scn_view_event_kind kind;
        uint32_t mask;
        bool is_whole;
        scn_revision from;
        scn_revision to;
        uint64_t edit;
        size_t changes_count;
        struct scn_view_change changes[16];
        size_t removed_count;
        struct scn_uid removed;
        size_t left_count;
        char code[SCN_FAILURE_CODE_BYTES];
        bool is_ended;
};

static void on_change(struct scn_view *view, const struct scn_view_event *event, void *data)
{
        struct heard *heard = data;
        (void)view;
        heard->events++;
        heard->kind = event->kind;
        heard->mask = event->mask;
        heard->is_whole = event->is_whole;
        heard->from = event->from;
        heard->to = event->to;
        heard->edit = event->edit;
        heard->changes_count = event->changes_count;
        for (size_t i = 0; i < event->changes_count && i < 16; i++) {
                heard->changes[i] = event->changes[i];
        }
        heard->removed_count = event->removed_count;
        heard->removed = event->removed_count > 0 ? event->removed[0] : (struct scn_uid){{0}};
        heard->left_count = event->left_count;
        memcpy(heard->code, event->failure == NULL ? "" : event->failure->code,
                event->failure == NULL ? 1 : sizeof heard->code);
}

static void on_end(struct scn_view *view, const struct scn_failure *failure, void *data)
{
        struct heard *heard = data;
        (void)view;
        heard->is_ended = true;
        memcpy(heard->code, failure == NULL ? "" : failure->code, failure == NULL ? 1 : sizeof heard->code);
}

struct bench {
        struct mock mock;
        struct heard heard;
        struct scn_view *view;
        struct mock_view theirs;
};

static struct scn_view *make_view(struct bench *bench, struct scn_target root, uint32_t mask)
{
        struct scn_view_options options = SCN_VIEW_OPTIONS_INIT;
        struct scn_view *view;
        options.root = root;
        options.mask = mask;
        options.on_change = on_change;
        options.on_end = on_end;
        options.data = &bench->heard;
        cr_assert_eq(scn_view_create(bench->mock.client, &options, &view), SCN_OK);
        return view;
}

/* A scene: root(1) with a(2) and b(3), c(4) under a; and a view of all of it. */
static void set_up(struct bench *bench)
{
        const struct scn_client_options options = mock_options();
        *bench = (struct bench){.view = NULL};
        mock_init(&bench->mock, &options);
        const scn_node_id a = scene_new(bench->mock.document, 1, 2, "a");
        (void)scene_new(bench->mock.document, 1, 3, "b");
        (void)scene_new(bench->mock.document, a, 4, "c");
        mock_open(&bench->mock);
        bench->view = make_view(bench, (struct scn_target){.path = NULL}, 0);
        bench->theirs = mock_answer_view(&bench->mock, false);
}

static void dispatch(struct bench *bench)
{
        cr_assert_eq(scn_client_dispatch(bench->mock.client, bench->mock.now_ms), SCN_OK);
}

static uint64_t submit(struct scn_draft *draft)
{
        uint64_t edit;
        cr_assert_eq(scn_draft_submit(draft, NULL, NULL, &edit), SCN_OK);
        return edit;
}

static uint64_t submit_move_to_x(struct bench *bench, uint32_t uid_number, float x)
{
        struct scn_draft *draft = scn_draft_create(bench->mock.client, bench->view);
        const float t[3] = {x, 0.0f, 0.0f};
        cr_assert_eq(scn_draft_transform(draft, SCN_BY_UID(scene_uid(uid_number)), t, NULL, NULL), SCN_OK);
        return submit(draft);
}

static float x_of(const struct scn_view *view, uint32_t uid_number)
{
        struct scn_node_info info;
        cr_assert(scn_view_node(view, scene_uid(uid_number), &info));
        return info.trs.t[0];
}

static scn_node_id id_of(const struct bench *bench, uint32_t uid_number)
{
        return scn_document_find_uid(bench->mock.document, scene_uid(uid_number));
}

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
        scn_document_destroy(bench.mock.document);
        bench.mock.document = backup;
        bench.mock.epoch[0] = 1;
        mock_open(&bench.mock);
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

/* One random op about the nodes 2 .. 9, by the client. */
static void submit_random(struct bench *bench, struct scn_random *random)
{
        struct scn_draft *draft = scn_draft_create(bench->mock.client, bench->view);
        const uint32_t ops = 1 + scn_random_below(random, 3);
        for (uint32_t i = 0; i < ops; i++) {
                const struct scn_target node = SCN_BY_UID(scene_uid(2 + scn_random_below(random, 8)));
                const struct scn_target other = SCN_BY_UID(scene_uid(1 + scn_random_below(random, 9)));
                const float t[3] = {(float)scn_random_below(random, 100), 0.0f, 0.0f};
                const struct scn_position position = {.kind = SCN_POSITION_INDEX, .index = scn_random_below(random, 3)};
                struct scn_addition addition = SCN_ADDITION_INIT;
                addition.parent = other;
                addition.uid = node.uid;
                addition.name = "n";
                enum scn_error error = SCN_OK;
                switch (scn_random_below(random, 6)) {
                case 0:
                        error = scn_draft_add(draft, &addition, NULL);
                        break;
                case 1:
                        error = scn_draft_remove(draft, node);
                        break;
                case 2:
                        error = scn_draft_move(draft, node, other, position, 0);
                        break;
                case 3:
                        error = scn_draft_rename(draft, node, "renamed");
                        break;
                case 4:
                        error = scn_draft_set_int(draft, node, "k", scn_random_below(random, 9));
                        break;
                default:
                        error = scn_draft_transform(draft, node, t, NULL, NULL);
                        break;
                }
                cr_assert_eq(error, SCN_OK);
        }
        (void)submit(draft);
}

static void do_random(struct bench *bench, struct scn_random *random)
{
        const scn_node_id id = id_of(bench, 2 + scn_random_below(random, 8));
        const scn_node_id other = id_of(bench, 1 + scn_random_below(random, 9));
        struct scn_op op = scene_rename(1, "root");
        if (id != 0 && other != 0) {
                const struct scn_op ops[] = {scene_remove(id), scene_move(id, other), scene_rename(id, "theirs"),
                        scene_translate(id, 3.0f, 0.0f, 0.0f), scene_move_index(id, other, 0)};
                op = ops[scn_random_below(random, 5)];
        }
        const struct scn_edit edit = {.ops = &op, .ops_count = 1, .client = scene_client(2)};
        struct scn_changes *changes;
        struct scn_refusal refusal;
        if (scn_document_apply(bench->mock.document, &edit, &changes, &refusal) == SCN_OK) {
                scn_document_settle(bench->mock.document, changes);
        }
}

/* A program that only listens must know all that is there: it has a copy, of which it changes what it is told. */
struct follower {
        struct copy {
                bool is_there;
                uint32_t parent;
                float x;
                uint32_t name_size;
                uint8_t k; /* last byte of the property k; 0: none */
        } copies[10];
};

static uint32_t number_of(struct scn_uid uid)
{
        for (uint32_t i = 1; i < 10; i++) {
                if (scn_uid_equal(uid, scene_uid(i))) {
                        return i;
                }
        }
        return 0;
}

static uint8_t k_of(const struct scn_view *view, uint32_t number)
{
        const struct scn_slice k = scn_view_property(view, scene_uid(number), "k");
        return k.data == NULL ? 0 : (uint8_t)(k.data[k.size - 1] + 1);
}

static bool names_k(const struct scn_view_event *event, const struct scn_view_change *change)
{
        for (uint32_t i = 0; i < change->keys_count; i++) {
                const struct scn_slice key = event->keys[change->keys_first + i];
                if (key.size == 1 && key.data[0] == 'k') {
                        return true;
                }
        }
        return change->is_whole;
}

static void copy_fields(const struct scn_view *view, const struct scn_view_event *event,
        const struct scn_view_change *change, uint32_t number, struct copy *copy)
{
        struct scn_node_info info;
        cr_assert(scn_view_node(view, change->uid, &info));
        if (change->is_whole || (change->fields & SCN_FIELDS_PLACE) != 0) {
                copy->parent = number_of(info.parent);
        }
        if (change->is_whole || (change->fields & SCN_FIELDS_TRANSLATION) != 0) {
                copy->x = info.trs.t[0];
        }
        if (change->is_whole || (change->fields & SCN_FIELDS_NAME) != 0) {
                copy->name_size = info.name.size;
        }
        if (names_k(event, change)) {
                copy->k = k_of(view, number);
        }
}

static bool is_beneath(const struct follower *follower, uint32_t number, uint32_t top)
{
        for (uint32_t steps = 0; number != 0 && steps < 10; steps++) {
                if (number == top) {
                        return true;
                }
                number = follower->copies[number].parent;
        }
        return false;
}

static void follow(struct scn_view *view, const struct scn_view_event *event, void *data)
{
        struct follower *follower = data;
        if (event->is_whole) {
                memset(follower, 0, sizeof *follower);
        }
        for (size_t i = 0; i < event->changes_count; i++) {
                const uint32_t number = number_of(event->changes[i].uid);
                struct scn_node_info info;
                /* Events of own edits are told later than the view shows them, and another may have come since. */
                if (!scn_view_node(view, event->changes[i].uid, &info)) {
                        continue;
                }
                cr_assert(event->changes[i].is_new || follower->copies[number].is_there);
                follower->copies[number].is_there = true;
                copy_fields(view, event, &event->changes[i], number, &follower->copies[number]);
        }
        for (size_t i = 0; i < event->removed_count; i++) {
                bool goes[10];
                for (uint32_t n = 1; n < 10; n++) {
                        goes[n] = is_beneath(follower, n, number_of(event->removed[i]));
                }
                for (uint32_t n = 1; n < 10; n++) {
                        follower->copies[n].is_there = follower->copies[n].is_there && !goes[n];
                }
        }
}

static void check_follower(const struct follower *follower, const struct scn_view *view)
{
        for (uint32_t i = 1; i < 10; i++) {
                const struct copy *copy = &follower->copies[i];
                struct scn_node_info info;
                const bool is_there = scn_view_node(view, scene_uid(i), &info);
                cr_assert_eq(copy->is_there, is_there, "node %u is %sthere", i, is_there ? "" : "not ");
                if (is_there) {
                        cr_assert_eq(copy->parent, number_of(info.parent), "parent of node %u", i);
                        cr_assert_float_eq(copy->x, info.trs.t[0], 0.0f, "translation of node %u", i);
                        cr_assert_eq(copy->name_size, info.name.size, "name of node %u", i);
                        cr_assert_eq(copy->k, k_of(view, i), "property of node %u", i);
                }
        }
}

static void answer_random(struct bench *bench, struct scn_random *random)
{
        if (scn_random_below(random, 8) == 0) {
                mock_refuse_edit(&bench->mock, "busy");
        } else {
                (void)mock_answer_edit(&bench->mock);
        }
}

/* Everything that is there to be read is answered, the view among it. */
static void reconnect_random(struct bench *bench, struct scn_random *random)
{
        cr_assert_eq(mock_deliver(&bench->mock), SCN_OK);
        mock_disconnect(&bench->mock);
        mock_open(&bench->mock);
        while (mock_read(&bench->mock)) {
                if (bench->mock.message.kind == SCN_MESSAGE_edit) {
                        answer_random(bench, random);
                } else {
                        bench->theirs = mock_accept_view(&bench->mock, scn_random_below(random, 2) == 0);
                }
        }
        cr_assert_eq(mock_deliver(&bench->mock), SCN_OK);
}

static void step_random(struct bench *bench, struct scn_random *random)
{
        const uint32_t what = scn_random_below(random, 40);
        if (what < 12) {
                submit_random(bench, random);
        } else if (what < 20) {
                do_random(bench, random);
        } else if (what < 28) {
                if (mock_read(&bench->mock)) {
                        answer_random(bench, random);
                }
                if (what < 24) {
                        cr_assert_eq(mock_deliver(&bench->mock), SCN_OK);
                }
        } else if (what < 39) {
                mock_publish(&bench->mock, &bench->theirs);
        } else {
                reconnect_random(bench, random);
        }
}

/* What is still on top after all was answered and published is what the server need not have told. */
static void check_end(struct bench *bench, struct scn_random *random, const struct follower *follower)
{
        while (mock_read(&bench->mock)) {
                answer_random(bench, random);
        }
        mock_publish(&bench->mock, &bench->theirs);
        cr_assert_eq(scn_client_pending_count(bench->mock.client), 0);
        mock_expect_same(&bench->mock, bench->view);
        check_follower(follower, bench->view);
}

SCN_TEST_WITH(view, agrees_with_the_server_after_random_edits_breaks_and_refusals, .timeout = 240)
{
        struct scn_random random = scn_random_from_seed(scn_test_seed(11));
        for (int round = 0; round < 60; round++) {
                struct bench bench;
                struct follower follower = {.copies = {[1] = {.is_there = true}}};
                const uint32_t parents[] = {0, 0, 1, 1, 2};
                set_up(&bench);
                for (uint32_t i = 2; i < 5; i++) {
                        follower.copies[i] = (struct copy){true, parents[i], 0.0f, 1, 0};
                }
                cr_assert_eq(scn_view_observe(bench.view, SCN_MASK_ALL, follow, &follower, NULL), SCN_OK);
                for (int step = 0; step < 150; step++) {
                        step_random(&bench, &random);
                        dispatch(&bench);
                        check_follower(&follower, bench.view);
                        scn_document_check(bench.view->mirror.document);
                }
                check_end(&bench, &random, &follower);
                mock_finish(&bench.mock);
        }
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
        cr_assert_eq(request.from, 3);
        cr_assert_eq(request.to, SCN_ABSENT);
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
