/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The client against a server that does what the test says: greeting, exactly once, resuming, requests. */

#include "tests/lib/mock.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include "client/client.h"
#include "protocol/base/uid.h"

#include <string.h>

/* What callbacks said. */
struct heard {
        uint32_t results;
        uint32_t refusals;
        struct scn_result last;
        char code[SCN_FAILURE_CODE_BYTES];
        uint32_t answers;
        bool has_more;
};

static void on_result(struct scn_client *client, const struct scn_result *result, void *data)
{
        struct heard *heard = data;
        (void)client;
        heard->results += result->failure == NULL;
        heard->refusals += result->failure != NULL;
        heard->last = *result;
        memcpy(heard->code, result->failure == NULL ? "ok" : result->failure->code,
                result->failure == NULL ? 3 : sizeof heard->code);
}

static void on_answer(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct heard *heard = data;
        (void)client;
        heard->answers++;
        heard->has_more = answer->has_more;
        memcpy(heard->code, answer->failure == NULL ? "ok" : answer->failure->code,
                answer->failure == NULL ? 3 : sizeof heard->code);
}

/* Submits one op: a node named `name` under the root. */
static struct scn_uid submit_add(struct mock *mock, const char *name, struct heard *heard)
{
        struct scn_draft *draft = scn_draft_create(mock->client, NULL);
        struct scn_addition addition = SCN_ADDITION_INIT;
        struct scn_uid uid;
        addition.parent = SCN_BY_PATH("/");
        addition.name = name;
        cr_assert_eq(scn_draft_add(draft, &addition, &uid), SCN_OK);
        cr_assert_eq(scn_draft_submit(draft, on_result, heard, NULL), SCN_OK);
        return uid;
}

SCN_TEST(client, greets_and_opens_in_one_go)
{
        struct mock mock;
        const struct scn_client_options options = mock_options();
        mock_init(&mock, &options);
        cr_assert_eq(scn_client_state(mock.client), SCN_CLIENT_OFFLINE);
        mock_connect(&mock);
        const struct scn_message_hello *hello = &mock_expect(&mock, SCN_MESSAGE_hello)->as.hello;
        cr_assert_eq(hello->version, SCN_PROTOCOL_VERSION);
        cr_assert(scn_uid_equal(hello->client, scn_client_uid(mock.client)));
        cr_assert_eq(memcmp(hello->name.data, "ann", 3), 0);
        const struct scn_message_open *open = &mock_expect(&mock, SCN_MESSAGE_open)->as.open;
        cr_assert_eq(open->document.size, 4);
        mock_expect_nothing(&mock);
        mock_send_welcome(&mock);
        cr_assert_eq(mock_deliver(&mock), SCN_OK);
        cr_assert_eq(scn_client_state(mock.client), SCN_CLIENT_GREETING, "welcome is not opened");
        mock_send_opened(&mock);
        cr_assert_eq(mock_deliver(&mock), SCN_OK);
        cr_assert_eq(scn_client_state(mock.client), SCN_CLIENT_OPEN);
        cr_assert_str_eq(scn_client_author(mock.client), "ann");
        cr_assert(scn_uid_equal(scn_client_root(mock.client), scene_uid(1)));
        mock_finish(&mock);
}

SCN_TEST(client, is_open_once_welcome_if_it_wants_no_document)
{
        struct mock mock;
        struct scn_client_options options = mock_options();
        options.document = NULL;
        struct heard heard = {0};
        mock_init(&mock, &options);
        cr_assert_eq(scn_client_documents(mock.client, on_answer, &heard), SCN_OK);
        mock_connect(&mock);
        (void)mock_expect(&mock, SCN_MESSAGE_hello);
        mock_expect_nothing(&mock);
        mock_send_welcome(&mock);
        cr_assert_eq(mock_deliver(&mock), SCN_OK);
        cr_assert_eq(scn_client_state(mock.client), SCN_CLIENT_OPEN);
        (void)mock_expect(&mock, SCN_MESSAGE_documents);
        mock_finish(&mock);
        cr_assert_str_eq(heard.code, "cancelled", "who asked is told");
        cr_assert_eq(heard.answers, 1);
}

SCN_TEST(client, numbers_edits_from_what_the_server_has_stored)
{
        struct mock mock;
        struct heard heard = {0};
        const struct scn_client_options options = mock_options();
        mock_init(&mock, &options);
        mock.number = 41;
        (void)submit_add(&mock, "made offline", &heard);
        mock_open(&mock);
        (void)submit_add(&mock, "made online", &heard);
        cr_assert_eq(mock_expect(&mock, SCN_MESSAGE_edit)->as.edit.number, 42);
        cr_assert_eq(mock_answer_edit(&mock), SCN_MESSAGE_applied);
        cr_assert_eq(mock_expect(&mock, SCN_MESSAGE_edit)->as.edit.number, 43);
        cr_assert_eq(mock_answer_edit(&mock), SCN_MESSAGE_applied);
        cr_assert_eq(heard.results, 0, "nothing was dispatched yet");
        cr_assert_eq(mock_deliver(&mock), SCN_OK);
        cr_assert_eq(heard.results, 2);
        cr_assert_eq(heard.last.rev, 2);
        cr_assert_eq(heard.last.edit, 2);
        cr_assert_eq(scn_client_pending_count(mock.client), 0);
        mock_finish(&mock);
}

static void keep_payload(const struct mock *mock, struct scn_buffer *copy)
{
        scn_buffer_init(copy, SCN_MESSAGE_BYTES_MAX);
        cr_assert_eq(scn_buffer_append(copy, mock->inbox.data, mock->inbox.size), SCN_OK);
}

SCN_TEST(client, sends_pending_edits_again_byte_for_byte)
{
        struct mock mock;
        struct heard heard = {0};
        const struct scn_client_options options = mock_options();
        mock_init(&mock, &options);
        mock_open(&mock);
        struct scn_draft *draft = scn_draft_create(mock.client, NULL);
        struct scn_addition addition = SCN_ADDITION_INIT;
        struct scn_uid uid;
        addition.parent = SCN_BY_PATH("/");
        cr_assert_eq(scn_draft_add(draft, &addition, &uid), SCN_OK);
        cr_assert_eq(scn_draft_set_text(draft, SCN_BY_UID(uid), "k", "v"), SCN_OK);
        scn_draft_set_group(draft, 5);
        scn_draft_set_base(draft, 0, true);
        cr_assert_eq(scn_draft_submit(draft, on_result, &heard, NULL), SCN_OK);
        (void)submit_add(&mock, "second", &heard);
        (void)mock_expect(&mock, SCN_MESSAGE_edit);
        struct scn_buffer first;
        keep_payload(&mock, &first);
        mock_swallow_edit(&mock);
        (void)mock_expect(&mock, SCN_MESSAGE_edit);
        mock_disconnect(&mock);
        cr_assert_eq(scn_client_pending_count(mock.client), 2);
        cr_assert_eq(heard.results + heard.refusals, 0);
        (void)submit_add(&mock, "third", &heard);

        mock_open(&mock);
        (void)mock_expect(&mock, SCN_MESSAGE_edit);
        cr_assert_eq(mock.inbox.size, first.size);
        cr_assert_eq(memcmp(mock.inbox.data, first.data, first.size), 0);
        cr_assert_eq(mock.message.as.edit.number, 1);
        cr_assert_eq(mock_expect(&mock, SCN_MESSAGE_edit)->as.edit.number, 2);
        cr_assert_eq(mock_expect(&mock, SCN_MESSAGE_edit)->as.edit.number, 3);
        mock_expect_nothing(&mock);
        scn_buffer_finish(&first);
        mock_finish(&mock);
        cr_assert_eq(heard.refusals, 3);
        cr_assert_str_eq(heard.code, "cancelled");
}

/* Sent again, what was refused could be accepted; left out, the numbers would have a gap. */
SCN_TEST(client, puts_an_empty_edit_where_a_number_was_answered_before_the_break)
{
        struct mock mock;
        struct heard heard = {0};
        const struct scn_client_options options = mock_options();
        mock_init(&mock, &options);
        mock_open(&mock);
        for (int i = 0; i < 4; i++) {
                (void)submit_add(&mock, "x", &heard);
        }
        for (int i = 0; i < 4; i++) {
                (void)mock_expect(&mock, SCN_MESSAGE_edit);
                if (i == 1 || i == 3) {
                        mock_refuse_edit(&mock, "busy");
                }
        }
        cr_assert_eq(mock_deliver(&mock), SCN_OK);
        cr_assert_eq(heard.refusals, 2);
        mock_disconnect(&mock);
        mock_open(&mock);
        const uint32_t sizes[] = {2, 1, 2, 1, 2};
        (void)submit_add(&mock, "y", &heard);
        for (uint64_t i = 0; i < 5; i++) {
                const struct scn_message_edit *edit = &mock_expect(&mock, SCN_MESSAGE_edit)->as.edit;
                cr_assert_eq(edit->number, i + 1);
                cr_assert_eq(edit->ops.size > 1, sizes[i] > 1, "number %d", (int)i + 1);
                cr_assert_eq(mock_answer_edit(&mock), SCN_MESSAGE_applied);
        }
        cr_assert_eq(mock_deliver(&mock), SCN_OK);
        cr_assert_eq(heard.results, 3);
        cr_assert_eq(heard.refusals, 2);
        mock_finish(&mock);
}

SCN_TEST(client, keeps_an_edit_whose_outcome_is_unknown)
{
        struct mock mock;
        struct heard heard = {0};
        const struct scn_client_options options = mock_options();
        mock_init(&mock, &options);
        mock_open(&mock);
        (void)submit_add(&mock, "x", &heard);
        (void)mock_expect(&mock, SCN_MESSAGE_edit);
        mock_refuse_edit(&mock, "outcome_unknown");
        cr_assert_neq(mock_deliver(&mock), SCN_OK, "the connection is no good any more");
        mock_disconnect(&mock);
        cr_assert_eq(heard.results + heard.refusals, 0);
        mock_open(&mock);
        (void)mock_expect(&mock, SCN_MESSAGE_edit);
        cr_assert_eq(mock_answer_edit(&mock), SCN_MESSAGE_applied);
        cr_assert_eq(mock_deliver(&mock), SCN_OK);
        cr_assert_eq(heard.results, 1);
        mock_finish(&mock);
}

SCN_TEST(client, sends_a_large_edit_in_parts_under_one_number)
{
        struct mock mock;
        struct heard heard = {0};
        const struct scn_client_options options = mock_options();
        mock_init(&mock, &options);
        mock_open(&mock);
        struct scn_draft *draft = scn_draft_create(mock.client, NULL);
        struct scn_addition addition = SCN_ADDITION_INIT;
        addition.parent = SCN_BY_PATH("/");
        addition.name = "a name that is not of the shortest kind, so that there are soon a few megabytes of them";
        for (int i = 0; i < 30000; i++) {
                cr_assert_eq(scn_draft_add(draft, &addition, NULL), SCN_OK);
        }
        cr_assert_eq(scn_draft_submit(draft, on_result, &heard, NULL), SCN_OK);
        cr_assert_eq(scn_client_ping(mock.client, on_answer, &heard), SCN_OK);
        uint32_t ops_count = 0;
        uint32_t parts_count = 0;
        bool has_more = true;
        while (has_more) {
                const struct scn_message_edit *edit = &mock_expect(&mock, SCN_MESSAGE_edit)->as.edit;
                struct scn_unpacker unpacker = scn_unpacker_from(edit->ops);
                cr_assert_eq(edit->number, 1);
                ops_count += scn_unpack_array(&unpacker);
                parts_count++;
                has_more = edit->more;
        }
        cr_assert_eq(ops_count, 30000);
        cr_assert_gt(parts_count, 2);
        (void)mock_expect(&mock, SCN_MESSAGE_ping);
        mock_disconnect(&mock);
        cr_assert_eq(heard.answers, 1);
        cr_assert_str_eq(heard.code, "disconnected", "a request is not sent again");
        mock_open(&mock);
        (void)mock_expect(&mock, SCN_MESSAGE_edit);
        mock_finish(&mock);
}

SCN_TEST(client, joins_properties_to_the_node_that_was_just_added)
{
        struct mock mock;
        struct heard heard = {0};
        const struct scn_client_options options = mock_options();
        mock_init(&mock, &options);
        mock_open(&mock);
        struct scn_draft *draft = scn_draft_create(mock.client, NULL);
        struct scn_addition addition = SCN_ADDITION_INIT;
        struct scn_uid uid;
        addition.parent = SCN_BY_PATH("/");
        cr_assert_eq(scn_draft_add(draft, &addition, &uid), SCN_OK);
        cr_assert_eq(scn_draft_set_int(draft, SCN_BY_UID(uid), "a", -3), SCN_OK);
        cr_assert_eq(scn_draft_set_bool(draft, SCN_BY_UID(uid), "b", true), SCN_OK);
        cr_assert_eq(scn_draft_set_double(draft, SCN_BY_UID(uid), "a", 0.5), SCN_OK, "the same key a second time");
        cr_assert_eq(scn_draft_set_node(draft, SCN_BY_UID(uid), "self", uid), SCN_OK);
        cr_assert_eq(scn_draft_submit(draft, on_result, &heard, NULL), SCN_OK);
        const struct scn_message_edit *edit = &mock_expect(&mock, SCN_MESSAGE_edit)->as.edit;
        struct scn_unpacker unpacker = scn_unpacker_from(edit->ops);
        cr_assert_eq(scn_unpack_array(&unpacker), 3, "an add with a and b, a again, self");
        cr_assert_eq(mock_answer_edit(&mock), SCN_MESSAGE_applied);
        const scn_node_id id = scn_document_find_uid(mock.document, uid);
        cr_assert_eq(scn_document_node(mock.document, id).properties_count, 3);
        cr_assert_eq(scn_document_get(mock.document, id, scene_text("a")).data[0], 0xca);
        mock_finish(&mock);
}

SCN_TEST(client, asks_a_silent_server_and_then_gives_it_up)
{
        struct mock mock;
        const struct scn_client_options options = mock_options();
        mock_init(&mock, &options);
        mock_open(&mock);
        const uint64_t at = scn_client_wake_at_ms(mock.client);
        cr_assert_eq(at, mock.now_ms + SCN_CLIENT_ASK_AFTER_MS);
        mock.now_ms = at + 3600000; /* it had been asleep */
        cr_assert_eq(scn_client_dispatch(mock.client, mock.now_ms), SCN_OK);
        struct scn_message answer;
        scn_message_init(&answer, SCN_MESSAGE_answer);
        answer.as.answer.request = mock_expect(&mock, SCN_MESSAGE_ping)->as.ping.request;
        answer.as.answer.body = scene_text("\xc3");
        mock_send(&mock, &answer);
        cr_assert_eq(mock_deliver(&mock), SCN_OK);
        mock.now_ms = scn_client_wake_at_ms(mock.client);
        cr_assert_eq(scn_client_dispatch(mock.client, mock.now_ms), SCN_OK);
        (void)mock_expect(&mock, SCN_MESSAGE_ping);
        mock.now_ms += SCN_CLIENT_DEAD_AFTER_MS - 1;
        cr_assert_eq(scn_client_dispatch(mock.client, mock.now_ms), SCN_OK);
        mock.now_ms++;
        cr_assert_neq(scn_client_dispatch(mock.client, mock.now_ms), SCN_OK);
        mock_finish(&mock);
}

SCN_TEST(client, gives_up_what_does_not_greet)
{
        struct mock mock;
        const struct scn_client_options options = mock_options();
        mock_init(&mock, &options);
        mock_connect(&mock);
        cr_assert_eq(scn_client_dispatch(mock.client, mock.now_ms), SCN_OK, "that it is greeting is told");
        mock.now_ms = scn_client_wake_at_ms(mock.client);
        cr_assert_eq(mock.now_ms, 1000000 + SCN_CLIENT_GREETING_MS);
        cr_assert_eq(scn_client_dispatch(mock.client, mock.now_ms - 1), SCN_OK);
        cr_assert_neq(scn_client_dispatch(mock.client, mock.now_ms), SCN_OK);
        mock_disconnect(&mock);
        cr_assert_eq(scn_client_state(mock.client), SCN_CLIENT_OFFLINE);
        mock_finish(&mock);
}

struct states {
        enum scn_client_state last;
        uint32_t count;
        char code[SCN_FAILURE_CODE_BYTES];
};

static void on_state(
        struct scn_client *client, enum scn_client_state state, const struct scn_failure *failure, void *data)
{
        struct states *states = data;
        (void)client;
        states->last = state;
        states->count++;
        memcpy(states->code, failure == NULL ? "" : failure->code, failure == NULL ? 1 : sizeof states->code);
}

static void send_failed(struct mock *mock, uint64_t request, const char *code)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_failed);
        message.as.failed.request = request;
        message.as.failed.code = scene_text(code);
        message.as.failed.text = scene_text("because");
        message.as.failed.closes = request == SCN_ABSENT;
        mock_send(mock, &message);
}

/* Peer's random numbers need no data. */
static void count(void *data, uint8_t *bytes, size_t size)
{
        (void)data;
        memset(bytes, 7, size);
}

SCN_TEST(client, tells_reasons_that_pass_from_those_that_are_final)
{
        struct mock mock;
        struct states states = {0};
        struct heard heard = {0};
        struct scn_client_options options = mock_options();
        options.on_state = on_state;
        options.random = count;
        options.data = &states;
        mock_init(&mock, &options);
        mock_open(&mock);
        cr_assert_eq(states.last, SCN_CLIENT_OPEN);
        (void)submit_add(&mock, "x", &heard);
        send_failed(&mock, SCN_ABSENT, "stopping");
        cr_assert_neq(mock_deliver(&mock), SCN_OK);
        mock_disconnect(&mock);
        cr_assert_eq(states.last, SCN_CLIENT_OFFLINE);
        cr_assert_str_eq(states.code, "stopping");
        cr_assert_lt(scn_client_connect_at_ms(mock.client), mock.now_ms + 1000);
        mock_open(&mock);
        cr_assert_eq(heard.refusals, 0);
        send_failed(&mock, SCN_ABSENT, "taken_over");
        cr_assert_neq(mock_deliver(&mock), SCN_OK);
        cr_assert_eq(states.last, SCN_CLIENT_ENDED);
        cr_assert_str_eq(states.code, "taken_over");
        cr_assert_eq(heard.refusals, 1);
        cr_assert_str_eq(heard.code, "taken_over");
        cr_assert_eq(scn_client_connect_at_ms(mock.client), UINT64_MAX);
        mock_finish(&mock);
}

SCN_TEST(client, ends_when_its_document_does_not_exist)
{
        struct mock mock;
        const struct scn_client_options options = mock_options();
        mock_init(&mock, &options);
        mock_connect(&mock);
        (void)mock_expect(&mock, SCN_MESSAGE_hello);
        mock_send_welcome(&mock);
        send_failed(&mock, mock_expect(&mock, SCN_MESSAGE_open)->as.open.request, "no_document");
        cr_assert_neq(mock_deliver(&mock), SCN_OK);
        cr_assert_eq(scn_client_state(mock.client), SCN_CLIENT_ENDED);
        mock_finish(&mock);
}

SCN_TEST(client, answers_requests_in_parts_and_failures)
{
        struct mock mock;
        struct heard heard = {0};
        const struct scn_client_options options = mock_options();
        mock_init(&mock, &options);
        mock_open(&mock);
        struct scn_request narrow = SCN_REQUEST_INIT;
        narrow.node = SCN_BY_PATH("/a");
        narrow.at = "17";
        narrow.has_depth = true;
        narrow.depth = 0;
        cr_assert_eq(scn_client_tree(mock.client, &narrow, on_answer, &heard), SCN_OK);
        const struct scn_message_tree *tree = &mock_expect(&mock, SCN_MESSAGE_tree)->as.tree;
        cr_assert_eq(tree->depth, 0);
        cr_assert_eq(tree->at.size, 1, "a revision is a number");
        cr_assert_eq(tree->at.data[0], 17);
        struct scn_message answer;
        scn_message_init(&answer, SCN_MESSAGE_answer);
        answer.as.answer.request = tree->request;
        answer.as.answer.body = scene_text("\x90");
        answer.as.answer.more = true;
        mock_send(&mock, &answer);
        cr_assert_eq(mock_deliver(&mock), SCN_OK);
        cr_assert_eq(heard.answers, 1);
        cr_assert(heard.has_more);
        answer.as.answer.more = false;
        mock_send(&mock, &answer);
        mock_send(&mock, &answer);
        cr_assert_eq(mock_deliver(&mock), SCN_OK, "an answer that nobody waits for is no fault");
        cr_assert_eq(heard.answers, 2);
        cr_assert_eq(scn_client_info(mock.client, on_answer, &heard), SCN_OK);
        send_failed(&mock, mock_expect(&mock, SCN_MESSAGE_info)->as.info.request, "busy");
        cr_assert_eq(mock_deliver(&mock), SCN_OK);
        cr_assert_eq(heard.answers, 3);
        cr_assert_str_eq(heard.code, "busy");
        mock_finish(&mock);
}

SCN_TEST(client, sends_undo_with_a_number_of_its_own_and_again_after_a_break)
{
        struct mock mock;
        struct heard heard = {0};
        const struct scn_client_options options = mock_options();
        mock_init(&mock, &options);
        mock_open(&mock);
        struct scn_undo undo = SCN_UNDO_INIT;
        undo.count = 2;
        cr_assert_eq(scn_client_undo(mock.client, &undo, on_result, &heard), SCN_OK);
        cr_assert_eq(mock_expect(&mock, SCN_MESSAGE_undo)->as.undo.number, 1);
        mock_disconnect(&mock);
        mock_open(&mock);
        cr_assert_eq(mock_expect(&mock, SCN_MESSAGE_undo)->as.undo.count, 2);
        cr_assert_eq(mock.message.as.undo.number, 1);
        struct scn_message answer;
        scn_message_init(&answer, SCN_MESSAGE_refused);
        answer.as.refused.number = 1;
        answer.as.refused.code = scene_text("nothing_to_undo");
        answer.as.refused.text = scene_text("there is nothing");
        mock_send(&mock, &answer);
        cr_assert_eq(mock_deliver(&mock), SCN_OK);
        cr_assert_str_eq(heard.code, "nothing_to_undo");
        mock_finish(&mock);
}

SCN_TEST(client, ends_a_connection_on_which_nonsense_arrives)
{
        static const char *const nonsense[] = {
                "HTTP/1.1", "SCENED\x01\n\xff", "SCENED\x01\n\xc4\x01\xc1", "SCENED\x01\n\xc4\x04\x93\x42\x01\x01"};
        for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
                struct mock mock;
                const struct scn_client_options options = mock_options();
                mock_init(&mock, &options);
                cr_assert_eq(scn_client_connect(mock.client, 0), SCN_OK);
                enum scn_error error = scn_client_feed(mock.client, nonsense[i], strlen(nonsense[i]), 0);
                if (error == SCN_OK) {
                        error = scn_client_dispatch(mock.client, 0);
                }
                cr_assert_neq(error, SCN_OK, "case %d", (int)i);
                mock_finish(&mock);
        }
}

static enum scn_error make_a_client(void *data)
{
        struct scn_client_options options = mock_options();
        struct scn_client *client = NULL;
        (void)data;
        enum scn_error error = scn_client_create(&options, &client);
        if (error == SCN_OK) {
                error = scn_client_connect(client, 0);
        }
        if (error == SCN_OK) {
                struct scn_view_options view_options = SCN_VIEW_OPTIONS_INIT;
                struct scn_view *view;
                view_options.root = SCN_BY_PATH("/a/b");
                error = scn_view_create(client, &view_options, &view);
        }
        if (error == SCN_OK) {
                struct scn_addition addition = SCN_ADDITION_INIT;
                struct scn_draft *draft = scn_draft_create(client, NULL);
                struct scn_uid uid;
                addition.parent = SCN_BY_PATH("/");
                addition.name = "x";
                error = draft == NULL ? SCN_E_NO_MEMORY : scn_draft_add(draft, &addition, &uid);
                error = error != SCN_OK ? error : scn_draft_set_text(draft, SCN_BY_UID(uid), "k", "v");
                error = error != SCN_OK ? error : scn_draft_remove(draft, SCN_BY_UID(uid));
                error = error != SCN_OK ? error : scn_draft_submit(draft, NULL, NULL, NULL);
        }
        if (error == SCN_OK) {
                error = scn_client_ping(client, NULL, NULL);
        }
        scn_client_destroy(client);
        return error;
}

SCN_TEST(client, survives_each_allocation_failing)
{
        cr_assert_gt(scn_test_fail_each_allocation(make_a_client, NULL), 10);
}
