/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Limits of the client's library at their edges. */

#include "tests/lib/mock.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include "client/client.h"
#include "client/draft.h"
#include "protocol/wire/live.h"
#include "server/limits.h"

#include <stdio.h>
#include <string.h>

static void begin(struct mock *mock)
{
        const struct scn_client_options options = mock_options();
        mock_init(mock, &options);
        mock_open(mock);
}

static void on_result(struct scn_client *client, const struct scn_result *result, void *data)
{
        (void)client;
        *(uint32_t *)data += result->failure == NULL;
}

/* --- Drafts --- */

/* Sets a property to a binary value that is spelled in so many bytes. */
static enum scn_error set_bytes(struct scn_draft *draft, const char *key, uint32_t size)
{
        static uint8_t value[65536] = {0xc5};
        value[1] = (uint8_t)((size - 3) >> 8);
        value[2] = (uint8_t)(size - 3);
        return scn_draft_set(draft, SCN_BY_PATH("/"), key, (struct scn_slice){value, size});
}

/* Sets large values, then smaller ones, until not even one of 300 bytes fits. */
static uint32_t fill(struct scn_draft *draft)
{
        uint32_t ops_count = 0;
        for (uint32_t size = 65000; size > 280; size = size * 2 / 3) {
                enum scn_error error;
                while ((error = set_bytes(draft, "key", size)) == SCN_OK) {
                        ops_count++;
                }
                cr_assert_eq(error, SCN_E_TOO_LARGE);
        }
        return ops_count;
}

/* What a server takes of one edit counts whole messages, and a client that hands in more would do so for ever. */
SCN_TEST_WITH(draft, of_the_greatest_size_is_one_that_a_server_takes, .timeout = 120)
{
        struct mock mock;
        uint32_t results = 0;
        begin(&mock);
        mock.reader.buffer.size_max = SIZE_MAX / 2; /* it takes all before it reads */
        struct scn_draft *draft = scn_draft_create(mock.client, NULL);
        const uint32_t ops_count = fill(draft);
        const size_t bytes = draft->bytes;
        cr_assert_eq(set_bytes(draft, "key", 300), SCN_E_TOO_LARGE);
        struct scn_addition addition = SCN_ADDITION_INIT;
        char name[600];
        memset(name, 'n', sizeof name - 1);
        name[sizeof name - 1] = '\0';
        addition.parent = SCN_BY_PATH("/");
        addition.name = name;
        cr_assert_eq(scn_draft_add(draft, &addition, NULL), SCN_E_TOO_LARGE);
        cr_assert_eq(draft->bytes, bytes, "what was refused is not there");
        cr_assert_eq(scn_draft_submit(draft, on_result, &results, NULL), SCN_OK);
        uint64_t sent = 0;
        uint32_t told = 0;
        bool has_more = true;
        while (has_more) {
                const struct scn_message_edit *edit = &mock_expect(&mock, SCN_MESSAGE_edit)->as.edit;
                struct scn_unpacker unpacker = scn_unpacker_from(edit->ops);
                told += scn_unpack_array(&unpacker);
                has_more = edit->more;
                sent += mock.inbox.size;
        }
        cr_assert_eq(told, ops_count);
        cr_assert_leq(sent, SCN_SERVER_edit_bytes_max);
        cr_assert_gt(sent, SCN_SERVER_edit_bytes_max - 16384, "%llu", (unsigned long long)sent);
        mock_finish(&mock);
}

/* They join the node that was added last, and count all the same. */
SCN_TEST_WITH(draft, counts_properties_that_join_a_node, .timeout = 120)
{
        struct mock mock;
        begin(&mock);
        struct scn_draft *draft = scn_draft_create(mock.client, NULL);
        struct scn_addition addition = SCN_ADDITION_INIT;
        struct scn_uid uid;
        addition.parent = SCN_BY_PATH("/");
        cr_assert_eq(scn_draft_add(draft, &addition, &uid), SCN_OK);
        draft->bytes = SCN_DRAFT_BYTES_MAX - 950;  /* as if */
        static uint8_t value[800] = {0xc5, 3, 29}; /* 797 bytes */
        char key[8] = "a";
        cr_assert_eq(
                scn_draft_set(draft, SCN_BY_UID(uid), key, (struct scn_slice){value, sizeof value}), SCN_E_TOO_LARGE);
        cr_assert_eq(draft->properties_count, 0);
        value[1] = 1;
        cr_assert_eq(scn_draft_set(draft, SCN_BY_UID(uid), key, (struct scn_slice){value, 3 + 256 + 29}), SCN_OK);
        cr_assert_eq(draft->properties_count, 1);
        scn_draft_destroy(draft);
        mock_finish(&mock);
}

static enum scn_error submit_one(struct mock *mock, size_t *bytes_out)
{
        struct scn_draft *draft = scn_draft_create(mock->client, NULL);
        cr_assert_eq(set_bytes(draft, "key", 300), SCN_OK);
        *bytes_out = draft->bytes;
        return scn_draft_submit(draft, NULL, NULL, NULL);
}

SCN_TEST(draft, is_not_taken_when_more_waits_to_be_sent_than_there_may_be)
{
        struct mock mock;
        size_t bytes;
        begin(&mock);
        cr_assert_eq(submit_one(&mock, &bytes), SCN_OK);
        const size_t waits = mock.client->pending_bytes;
        /* As if there were more of them. */
        mock.client->pending_bytes = SCN_CLIENT_PENDING_BYTES_MAX - bytes + 1;
        cr_assert_eq(submit_one(&mock, &bytes), SCN_E_TOO_LARGE);
        cr_assert_eq(mock.client->pending_bytes, SCN_CLIENT_PENDING_BYTES_MAX - bytes + 1);
        mock.client->pending_bytes--;
        cr_assert_eq(submit_one(&mock, &bytes), SCN_OK);
        mock.client->pending_bytes = 2 * waits;
        mock_finish(&mock);
}

SCN_TEST(draft, has_no_more_ops_than_the_server_said)
{
        struct mock mock;
        begin(&mock);
        mock.client->limits.ops_max = 3;
        struct scn_draft *draft = scn_draft_create(mock.client, NULL);
        for (int i = 0; i < 3; i++) {
                cr_assert_eq(set_bytes(draft, "key", 300), SCN_OK);
        }
        cr_assert_eq(set_bytes(draft, "key", 300), SCN_E_TOO_MANY_OPS);
        cr_assert_eq(draft->ops_count, 3);
        scn_draft_destroy(draft);
        mock_finish(&mock);
}

/* --- Texts --- */

SCN_TEST(client, takes_texts_up_to_a_limit)
{
        static char text[SCN_CLIENT_TEXT_BYTES_MAX + 1];
        struct scn_client_options options = mock_options();
        struct scn_client *client;
        memset(text, 't', SCN_CLIENT_TEXT_BYTES_MAX);
        const char **const texts[] = {&options.author, &options.document, &options.token, &options.agent};
        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
                const char *before = *texts[i];
                *texts[i] = text;
                text[SCN_CLIENT_TEXT_BYTES_MAX - 1] = 't';
                cr_assert_eq(scn_client_create(&options, &client), SCN_E_RANGE, "%zu", i);
                text[SCN_CLIENT_TEXT_BYTES_MAX - 1] = '\0';
                cr_assert_eq(scn_client_create(&options, &client), SCN_OK, "%zu", i);
                scn_client_destroy(client);
                *texts[i] = before;
        }
}

SCN_TEST(client, spells_a_revision_time_or_tag_up_to_a_limit)
{
        static char text[511];
        struct scn_buffer buffer;
        struct scn_slice at;
        memset(text, 't', 510);
        cr_assert_eq(scn_client_spell_at(text, &buffer, &at), SCN_E_TOO_LARGE);
        scn_buffer_finish(&buffer);
        text[509] = '\0'; /* three bytes say how long it is */
        cr_assert_eq(scn_client_spell_at(text, &buffer, &at), SCN_OK);
        cr_assert_eq(at.size, 512);
        scn_buffer_finish(&buffer);
}

/* --- What a server tells --- */

static enum scn_error tell_presences(struct mock *mock, uint64_t view, uint32_t first, uint32_t count)
{
        struct scn_buffer rows;
        struct scn_message message;
        const uint8_t map[] = {0x80};
        scn_buffer_init(&rows, SCN_MESSAGE_BYTES_MAX);
        struct scn_packer packer = scn_packer_to(&rows);
        scn_pack_array(&packer, count);
        for (uint32_t i = 0; i < count; i++) {
                const struct scn_live_presence presence = {
                        .session = first + i, .author = scene_text("ben"), .map = {map, sizeof map}};
                scn_pack_live_presence(&packer, &presence);
        }
        scn_message_init(&message, SCN_MESSAGE_live);
        message.as.live.view = view;
        message.as.live.count = first;
        message.as.live.presence = (struct scn_slice){rows.data, (uint32_t)rows.size};
        mock_send(mock, &message);
        scn_buffer_finish(&rows);
        return mock_deliver(mock);
}

SCN_TEST_WITH(view, is_told_of_so_many_presences_at_the_most, .timeout = 60)
{
        struct mock mock;
        struct scn_view_options options = SCN_VIEW_OPTIONS_INIT;
        struct scn_view *view;
        begin(&mock);
        cr_assert_eq(scn_view_create(mock.client, &options, &view), SCN_OK);
        (void)mock_answer_view(&mock, false);
        cr_assert_eq(mock_deliver(&mock), SCN_OK);
        const uint32_t most = 4096 * SCN_LIVE_previews_max; /* of all sessions that a server of ours can have */
        for (uint32_t told = 0; told < most; told += most / 8) {
                cr_assert_eq(tell_presences(&mock, view->number, 1 + told, most / 8), SCN_OK);
        }
        cr_assert_eq(scn_view_presences_count(view), most);
        cr_assert_eq(tell_presences(&mock, view->number, 1, 1), SCN_OK, "it is known");
        cr_assert_eq(scn_client_state(mock.client), SCN_CLIENT_OPEN);
        cr_assert_neq(tell_presences(&mock, view->number, most + 1, 1), SCN_OK);
        cr_assert_str_eq(mock.client->failure.code, "too_large");
        cr_assert_eq(scn_view_presences_count(view), most);
        mock_finish(&mock);
}
