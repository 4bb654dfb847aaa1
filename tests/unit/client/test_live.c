/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The client's presence, previews and locks, and what its views show of everybody's. */

#include "tests/lib/live.h"
#include "tests/lib/mock.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include "client/client.h"
#include "protocol/base/uid.h"

#include <string.h>

struct heard {
        uint32_t calls;
        uint32_t mask;
        char code[SCN_FAILURE_CODE_BYTES];
};

static void on_live(struct scn_view *view, uint32_t mask, void *data)
{
        struct heard *heard = data;
        (void)view;
        heard->calls++;
        heard->mask = mask;
}

static void on_answer(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct heard *heard = data;
        (void)client;
        heard->calls++;
        memcpy(heard->code, answer->failure == NULL ? "ok" : answer->failure->code,
                answer->failure == NULL ? 3 : sizeof heard->code);
}

static struct scn_view *begin_view(struct mock *mock, struct heard *heard)
{
        struct scn_view *view;
        struct scn_view_options options = SCN_VIEW_OPTIONS_INIT;
        options.on_live = on_live;
        options.data = heard;
        cr_assert_eq(scn_view_create(mock->client, &options, &view), SCN_OK);
        (void)mock_answer_view(mock, false);
        cr_assert_eq(mock_deliver(mock), SCN_OK);
        return view;
}

static void expect_presence(struct mock *mock, const void *map, size_t size)
{
        const struct scn_slice got = mock_expect(mock, SCN_MESSAGE_presence)->as.presence.map;
        cr_assert(got.size == size && memcmp(got.data, map, size) == 0);
}

static struct scn_preview_wish expect_preview(struct mock *mock, uint32_t count)
{
        const struct scn_slice nodes = mock_expect(mock, SCN_MESSAGE_preview)->as.preview.nodes;
        struct scn_unpacker unpacker = scn_unpacker_from(nodes);
        cr_assert_eq(scn_unpack_array(&unpacker), count);
        const struct scn_preview_wish wish = scn_unpack_preview_wish(&unpacker);
        cr_assert_eq(unpacker.error, SCN_OK);
        return wish;
}

static void preview(struct mock *mock, uint32_t uid, float x)
{
        const struct scn_trs trs = {.t = {x, 0, 0}};
        cr_assert_eq(scn_client_preview(mock->client, scene_uid(uid), SCN_FIELDS_TRANSLATION, &trs), SCN_OK);
}

static void begin(struct mock *mock)
{
        const struct scn_client_options options = mock_options();
        mock_init(mock, &options);
        mock_open(mock);
}

/* --- Presence --- */

SCN_TEST(client_live, sends_what_has_changed_of_its_presence_and_all_of_it_after_a_reconnect)
{
        static const uint8_t xy[] = {0x82, 0xa1, 'x', 1, 0xa1, 'y', 2};
        static const uint8_t y_only[] = {0x81, 0xa1, 'y', 3};
        static const uint8_t no_x[] = {0x81, 0xa1, 'x', 0xc0};
        struct mock mock;
        begin(&mock);
        cr_assert_eq(scn_client_set_presence(mock.client, xy, sizeof xy), SCN_OK);
        expect_presence(&mock, xy, sizeof xy);
        cr_assert_eq(scn_client_set_presence(mock.client, xy, sizeof xy), SCN_OK);
        mock_expect_nothing(&mock);
        cr_assert_eq(scn_client_set_presence(mock.client, y_only, sizeof y_only), SCN_OK);
        expect_presence(&mock, y_only, sizeof y_only);
        cr_assert_eq(scn_client_set_presence(mock.client, no_x, sizeof no_x), SCN_OK);
        expect_presence(&mock, no_x, sizeof no_x);
        mock_disconnect(&mock);
        mock_open(&mock);
        expect_presence(&mock, y_only, sizeof y_only);
        mock_expect_nothing(&mock);
        mock_finish(&mock);
}

SCN_TEST(client_live, refuses_a_presence_that_the_server_would_refuse_and_keeps_the_old_one)
{
        static const uint8_t good[] = {0x81, 0xa1, 'x', 1};
        static const uint8_t no_map[] = {0x93, 1, 2, 3};
        static uint8_t large[5000] = {0x81, 0xa1, 'x', 0xc5, 0x13, 0x80};
        struct mock mock;
        begin(&mock);
        cr_assert_eq(scn_client_set_presence(mock.client, good, sizeof good), SCN_OK);
        cr_assert_eq(scn_client_set_presence(mock.client, no_map, sizeof no_map), SCN_E_BAD_MESSAGE);
        cr_assert_eq(scn_client_set_presence(mock.client, large, 6 + 0x1380), SCN_E_TOO_LARGE);
        expect_presence(&mock, good, sizeof good);
        mock_expect_nothing(&mock);
        mock_finish(&mock);
}

/* --- Previews --- */

SCN_TEST(client_live, sends_the_newest_of_its_previews_and_those_that_run_again_after_a_reconnect)
{
        struct mock mock;
        begin(&mock);
        preview(&mock, 50, 1);
        preview(&mock, 50, 2);
        struct scn_preview_wish wish = expect_preview(&mock, 1);
        cr_assert_eq(wish.trs.t[0], 2.0f);
        cr_assert_eq(wish.fields, SCN_FIELDS_TRANSLATION);
        preview(&mock, 51, 3);
        wish = expect_preview(&mock, 1);
        cr_assert(scn_uid_equal(wish.node.uid, scene_uid(51)), "only what has changed");
        scn_client_end_preview(mock.client, scene_uid(50));
        wish = expect_preview(&mock, 1);
        cr_assert(scn_uid_equal(wish.node.uid, scene_uid(50)));
        cr_assert_eq(wish.fields, 0);
        preview(&mock, 52, 1);
        scn_client_end_preview(mock.client, scene_uid(52));
        mock_expect_nothing(&mock);
        mock_disconnect(&mock);
        mock_open(&mock);
        wish = expect_preview(&mock, 1);
        cr_assert(scn_uid_equal(wish.node.uid, scene_uid(51)));
        mock_expect_nothing(&mock);
        mock_finish(&mock);
}

SCN_TEST(client_live, checks_a_preview_and_counts_them)
{
        struct mock mock;
        struct scn_trs trs = {.r = {0, 0, 0, 0}};
        begin(&mock);
        cr_assert_eq(scn_client_preview(mock.client, scene_uid(1), SCN_FIELDS_ROTATION, &trs), SCN_E_ZERO_QUATERNION);
        cr_assert_eq(scn_client_preview(mock.client, scene_uid(1), SCN_FIELDS_NAME, &trs), SCN_E_RANGE);
        cr_assert_eq(scn_client_preview(mock.client, (struct scn_uid){{0}}, SCN_FIELDS_SCALE, &trs), SCN_E_RANGE);
        trs.t[1] = (float)(1e308 * 10);
        cr_assert_eq(scn_client_preview(mock.client, scene_uid(1), SCN_FIELDS_TRANSLATION, &trs), SCN_E_NOT_FINITE);
        mock_expect_nothing(&mock);
        for (uint32_t i = 0; i < SCN_LIVE_previews_max; i++) {
                preview(&mock, 100 + i, 1);
        }
        trs.t[1] = 0;
        cr_assert_eq(
                scn_client_preview(mock.client, scene_uid(1), SCN_FIELDS_TRANSLATION, &trs), SCN_E_TOO_MANY_PREVIEWS);
        (void)expect_preview(&mock, SCN_LIVE_previews_max);
        scn_client_end_preview(mock.client, scene_uid(100));
        preview(&mock, 1, 1);
        (void)expect_preview(&mock, 2);
        mock_finish(&mock);
}

static void submit_transform(struct mock *mock, uint32_t uid)
{
        struct scn_draft *draft = scn_draft_create(mock->client, NULL);
        const float t[3] = {7, 0, 0};
        cr_assert_eq(scn_draft_transform(draft, SCN_BY_UID(scene_uid(uid)), t, NULL, NULL), SCN_OK);
        cr_assert_eq(scn_draft_submit(draft, NULL, NULL, NULL), SCN_OK);
}

/* The server ends it then; sent again, it would stay for good. */
SCN_TEST(client_live, an_edit_of_the_node_ends_its_preview_once_it_is_accepted)
{
        struct mock mock;
        begin(&mock);
        (void)mock_do(&mock, scene_add(1, 50, "boat"));
        preview(&mock, 50, 1);
        (void)expect_preview(&mock, 1);
        preview(&mock, 50, 2);
        submit_transform(&mock, 50);
        (void)mock_expect(&mock, SCN_MESSAGE_edit);
        mock_expect_nothing(&mock);
        cr_assert_eq(mock_answer_edit(&mock), SCN_MESSAGE_applied);
        cr_assert_eq(mock_deliver(&mock), SCN_OK);
        mock_disconnect(&mock);
        mock_open(&mock);
        mock_expect_nothing(&mock);
        /* While the answer is out nothing is sent again; after a refusal it runs on. */
        preview(&mock, 50, 3);
        (void)expect_preview(&mock, 1);
        submit_transform(&mock, 50);
        (void)mock_expect(&mock, SCN_MESSAGE_edit);
        mock_disconnect(&mock);
        mock_open(&mock);
        (void)mock_expect(&mock, SCN_MESSAGE_edit);
        mock_expect_nothing(&mock);
        mock_refuse_edit(&mock, "locked");
        cr_assert_eq(mock_deliver(&mock), SCN_OK);
        cr_assert_eq(expect_preview(&mock, 1).trs.t[0], 3.0f);
        /* Also the newest of one that the server knows, if there was no time to send it. */
        preview(&mock, 50, 5);
        submit_transform(&mock, 50);
        (void)mock_expect(&mock, SCN_MESSAGE_edit);
        mock_refuse_edit(&mock, "locked");
        cr_assert_eq(mock_deliver(&mock), SCN_OK);
        cr_assert_eq(expect_preview(&mock, 1).trs.t[0], 5.0f);
        /* A newer one is not the edit's to end. */
        submit_transform(&mock, 50);
        (void)mock_expect(&mock, SCN_MESSAGE_edit);
        preview(&mock, 50, 4);
        cr_assert_eq(mock_answer_edit(&mock), SCN_MESSAGE_applied);
        (void)expect_preview(&mock, 1);
        cr_assert_eq(mock_deliver(&mock), SCN_OK);
        mock_disconnect(&mock);
        mock_open(&mock);
        cr_assert_eq(expect_preview(&mock, 1).trs.t[0], 4.0f);
        mock_finish(&mock);
}

SCN_TEST(client_live, a_failure_about_a_preview_does_not_end_the_client)
{
        struct mock mock;
        struct scn_message message;
        begin(&mock);
        preview(&mock, 50, 1);
        (void)expect_preview(&mock, 1);
        scn_message_init(&message, SCN_MESSAGE_failed);
        message.as.failed.code = scene_text("too_many_previews");
        message.as.failed.text = scene_text("preview: too many");
        mock_send(&mock, &message);
        cr_assert_eq(mock_deliver(&mock), SCN_OK);
        cr_assert_eq(scn_client_state(mock.client), SCN_CLIENT_OPEN);
        mock_finish(&mock);
}

/* --- What views show --- */

/* Presence of session 9, a lock and a preview of scene_uid(50) by session 8; or the ends of these. */
static void send_live(struct mock *mock, uint64_t view, bool is_whole, bool is_gone)
{
        struct scn_buffer buffers[3];
        struct scn_packer packers[3];
        struct scn_message message;
        for (int i = 0; i < 3; i++) {
                scn_buffer_init(&buffers[i], 1024);
                packers[i] = scn_packer_to(&buffers[i]);
                scn_pack_array(&packers[i], 1);
        }
        const struct scn_slice none = {NULL, 0};
        scn_pack_live_presence(&packers[0],
                &(struct scn_live_presence){
                        .session = 9, .author = scene_text("ben"), .map = is_gone ? none : live_map("x", 5)});
        scn_pack_live_lock(&packers[1],
                &(struct scn_live_lock){.session = 8,
                        .node = scene_uid(50),
                        .author = is_gone ? none : scene_text("cy"),
                        .mask = 4,
                        .has_subtree = true,
                        .left_ms = 5000});
        scn_pack_live_preview(&packers[2],
                &(struct scn_live_preview){.session = 8,
                        .node = scene_uid(50),
                        .fields = is_gone ? 0 : SCN_FIELDS_SCALE,
                        .trs = {.s = {2, 2, 2}}});
        scn_message_init(&message, SCN_MESSAGE_live);
        message.as.live.view = view;
        message.as.live.count = 1;
        message.as.live.whole = is_whole;
        message.as.live.presence = (struct scn_slice){buffers[0].data, (uint32_t)buffers[0].size};
        message.as.live.locks = (struct scn_slice){buffers[1].data, (uint32_t)buffers[1].size};
        message.as.live.previews = (struct scn_slice){buffers[2].data, (uint32_t)buffers[2].size};
        mock_send(mock, &message);
        cr_assert_eq(mock_deliver(mock), SCN_OK);
        for (int i = 0; i < 3; i++) {
                scn_buffer_finish(&buffers[i]);
        }
}

static void expect_counts(const struct scn_view *view, uint32_t count)
{
        cr_assert_eq(scn_view_presences_count(view), count);
        cr_assert_eq(scn_view_locks_count(view), count);
        cr_assert_eq(scn_view_previews_count(view), count);
}

SCN_TEST(client_live, a_view_shows_what_it_is_told_and_forgets_it_with_the_connection)
{
        struct mock mock;
        struct heard heard = {0};
        begin(&mock);
        struct scn_view *view = begin_view(&mock, &heard);
        send_live(&mock, view->number, true, false);
        cr_assert_eq(heard.calls, 1);
        cr_assert_eq(heard.mask, SCN_MASK_VOLATILE);
        expect_counts(view, 1);
        struct scn_presence_info presence;
        struct scn_lock_info lock;
        struct scn_preview_info shown;
        cr_assert(scn_view_presence(view, 0, &presence));
        cr_assert_eq(presence.session, 9);
        cr_assert(presence.author.size == 3 && memcmp(presence.author.data, "ben", 3) == 0);
        cr_assert(presence.map.size == 4 && memcmp(presence.map.data, live_map("x", 5).data, 4) == 0);
        cr_assert_not(presence.is_own);
        cr_assert_not(scn_view_presence(view, 1, &presence));
        cr_assert(scn_view_lock(view, 0, &lock));
        cr_assert(scn_uid_equal(lock.node, scene_uid(50)));
        cr_assert(lock.has_subtree && lock.mask == 4 && lock.left_ms == 5000);
        cr_assert_not(scn_view_lock(view, 1, &lock));
        cr_assert(scn_view_preview(view, 0, &shown));
        cr_assert_eq(shown.fields, SCN_FIELDS_SCALE);
        cr_assert_eq(shown.trs.s[1], 2.0f);
        cr_assert_not(scn_view_preview(view, 1, &shown));
        cr_assert_eq(scn_view_nodes_count(view), 1, "nothing of it is in the scene");
        mock_disconnect(&mock);
        cr_assert_eq(scn_client_dispatch(mock.client, mock.now_ms), SCN_OK);
        expect_counts(view, 0);
        cr_assert_eq(heard.calls, 2);
        mock_finish(&mock);
}

SCN_TEST(client_live, what_is_gone_goes_and_a_whole_replaces_all)
{
        struct mock mock;
        struct heard heard = {0};
        begin(&mock);
        struct scn_view *view = begin_view(&mock, &heard);
        send_live(&mock, view->number, false, false);
        send_live(&mock, view->number, false, false);
        expect_counts(view, 1);
        send_live(&mock, view->number, false, true);
        expect_counts(view, 0);
        send_live(&mock, view->number, false, true);
        expect_counts(view, 0);
        send_live(&mock, view->number, false, false);
        send_live(&mock, view->number, true, true);
        expect_counts(view, 0);
        send_live(&mock, 77, true, false);
        expect_counts(view, 0);
        mock_finish(&mock);
}

SCN_TEST(client_live, survives_the_failure_of_any_allocation_while_it_is_told)
{
        uint32_t failures = 0;
        for (uint64_t nth = 1; nth <= 12; nth++) {
                struct mock mock;
                struct heard heard = {0};
                struct scn_message message;
                struct scn_buffer locks;
                begin(&mock);
                struct scn_view *view = begin_view(&mock, &heard);
                scn_buffer_init(&locks, 1024);
                struct scn_packer packer = scn_packer_to(&locks);
                scn_pack_array(&packer, 1);
                scn_pack_live_lock(&packer,
                        &(struct scn_live_lock){.session = 8, .node = scene_uid(50), .author = scene_text("cy")});
                scn_message_init(&message, SCN_MESSAGE_live);
                message.as.live.view = view->number;
                message.as.live.count = 1;
                message.as.live.locks = (struct scn_slice){locks.data, (uint32_t)locks.size};
                mock_send(&mock, &message);
                scn_alloc_fail_at(nth, false);
                const enum scn_error error = mock_deliver(&mock);
                scn_alloc_fail_at(0, false);
                cr_assert_eq(scn_view_locks_count(view), error == SCN_OK ? 1 : 0);
                failures += error != SCN_OK;
                scn_buffer_finish(&locks);
                mock_finish(&mock);
        }
        cr_assert(failures >= 3 && failures < 12, "%u", failures);
}

/* --- Locks --- */

SCN_TEST(client_live, asks_for_locks_and_hears_of_them)
{
        struct mock mock;
        struct heard heard = {0};
        struct scn_message message;
        const struct scn_target nodes[] = {SCN_BY_PATH("/boat"), SCN_BY_UID(scene_uid(50))};
        struct scn_lock lock = SCN_LOCK_INIT;
        lock.ttl_s = 30;
        lock.mask = SCN_MASK_TRANSFORM;
        lock.has_subtree = true;
        begin(&mock);
        cr_assert_eq(scn_client_lock(mock.client, nodes, 2, &lock, on_answer, &heard), SCN_OK);
        const struct scn_message_lock *asked = &mock_expect(&mock, SCN_MESSAGE_lock)->as.lock;
        cr_assert_eq(asked->ttl, 30);
        cr_assert_eq(asked->mask, 4);
        cr_assert(asked->subtree);
        struct scn_unpacker unpacker = scn_unpacker_from(asked->nodes);
        cr_assert_eq(scn_unpack_array(&unpacker), 2);
        scn_message_init(&message, SCN_MESSAGE_failed);
        message.as.failed.request = asked->request;
        message.as.failed.code = scene_text("locked");
        message.as.failed.text = scene_text("by ben");
        mock_send(&mock, &message);
        cr_assert_eq(mock_deliver(&mock), SCN_OK);
        cr_assert_str_eq(heard.code, "locked");
        cr_assert_eq(scn_client_unlock(mock.client, NULL, 0, on_answer, &heard), SCN_OK);
        cr_assert_null(mock_expect(&mock, SCN_MESSAGE_unlock)->as.unlock.nodes.data);
        cr_assert_eq(scn_client_unlock(mock.client, nodes, 1, on_answer, &heard), SCN_OK);
        cr_assert_not_null(mock_expect(&mock, SCN_MESSAGE_unlock)->as.unlock.nodes.data);
        mock_finish(&mock);
}

/* --- Life --- */

SCN_TEST(client_live, says_something_as_often_as_it_promised_although_it_hears_a_lot)
{
        struct mock mock;
        const struct scn_client_options options = mock_options();
        uint64_t said_ms;
        mock_init(&mock, &options);
        mock_connect(&mock);
        const uint64_t promised_ms = mock_expect(&mock, SCN_MESSAGE_hello)->as.hello.ping * 1000;
        cr_assert_eq(promised_ms, 20000);
        (void)mock_expect(&mock, SCN_MESSAGE_open);
        mock_send_welcome(&mock);
        mock_send_opened(&mock);
        cr_assert_eq(mock_deliver(&mock), SCN_OK);
        said_ms = mock.now_ms;
        uint32_t pings = 0;
        for (int second = 0; second < 200; second++) {
                mock.now_ms += 1000;
                /* An answer to nothing: life, but no reason to say anything. */
                struct scn_message message;
                scn_message_init(&message, SCN_MESSAGE_answer);
                message.as.answer.request = 999999;
                message.as.answer.body = (struct scn_slice){(const uint8_t *)"\xc3", 1};
                mock_send(&mock, &message);
                cr_assert_eq(mock_deliver(&mock), SCN_OK);
                if (mock_read(&mock)) {
                        cr_assert_eq((int)mock.message.kind, (int)SCN_MESSAGE_ping);
                        said_ms = mock.now_ms;
                        pings++;
                }
                cr_assert_leq(mock.now_ms - said_ms, promised_ms);
        }
        cr_assert_leq(pings, 14, "and not much more often");
        mock_finish(&mock);
}
