/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Views under random edits by this client and others, refusals, breaks; and without memory. */

#include "tests/lib/random.h"
#include "tests/unit/client/view_bench.h"

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
                        goes[n] = is_beneath(follower, n, number_of(event->removed[i].uid));
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

/* --- Without memory --- */

/* All that a server says in a conversation of a client that does the same each time. */
struct conversation {
        struct scn_buffer bytes;
};

static enum scn_error talk(void *data)
{
        const struct conversation *conversation = data;
        const struct scn_client_options options = mock_options();
        struct scn_view_options view_options = SCN_VIEW_OPTIONS_INIT;
        struct scn_client *client = NULL;
        struct scn_view *view = NULL;
        enum scn_error error = scn_client_create(&options, &client);
        if (error == SCN_OK) {
                error = scn_client_connect(client, 0);
        }
        if (error == SCN_OK) {
                error = scn_view_create(client, &view_options, &view);
        }
        /* Byte by byte, so that no answer comes before what it answers was asked. */
        for (size_t at = 0; error == SCN_OK && at < conversation->bytes.size; at++) {
                error = scn_client_feed(client, conversation->bytes.data + at, 1, 0);
                if (error == SCN_OK && scn_client_dispatch(client, 0) != SCN_OK) {
                        error = SCN_E_NO_MEMORY; /* what else could it be */
                }
                scn_client_sent(client, scn_client_output(client).size);
        }
        const bool is_good = error != SCN_OK || scn_view_nodes_count(view) == 3;
        SCN_ASSERT(is_good);
        /* An edit of two ops of which one fits, and the end of the connection. */
        if (error == SCN_OK) {
                struct scn_draft *draft = scn_draft_create(client, view);
                error = draft == NULL ? SCN_E_NO_MEMORY : scn_draft_remove(draft, SCN_BY_UID(scene_uid(2)));
                error = error != SCN_OK ? error : scn_draft_remove(draft, SCN_BY_UID(scene_uid(88)));
                error = error != SCN_OK ? error : scn_draft_submit(draft, NULL, NULL, NULL);
        }
        if (error == SCN_OK) {
                scn_client_disconnect(client, 0);
                error = scn_client_dispatch(client, 0);
        }
        scn_client_destroy(client);
        return error;
}

SCN_TEST_WITH(view, survives_each_allocation_failing, .timeout = 120)
{
        struct conversation conversation;
        struct bench bench;
        scn_buffer_init(&conversation.bytes, 1u << 20);
        const struct scn_client_options options = mock_options();
        bench = (struct bench){.view = NULL};
        mock_init(&bench.mock, &options);
        bench.mock.record = &conversation.bytes;
        cr_assert_eq(scn_buffer_append(&conversation.bytes, "", 0), SCN_OK);
        (void)scene_new(bench.mock.document, 1, 2, "a");
        (void)scene_new(bench.mock.document, id_of(&bench, 2), 4, "c");
        mock_open(&bench.mock);
        bench.view = make_view(&bench, (struct scn_target){.path = NULL}, 0);
        bench.theirs = mock_answer_view(&bench.mock, false);
        (void)mock_do(&bench.mock, scene_set(id_of(&bench, 4), "k", scene_integer(3)));
        (void)mock_do(&bench.mock, scene_rename(id_of(&bench, 2), "b"));
        mock_publish(&bench.mock, &bench.theirs);
        mock_finish(&bench.mock);
        cr_assert_gt(scn_test_fail_each_allocation(talk, &conversation), 50);
        scn_buffer_finish(&conversation.bytes);
}
