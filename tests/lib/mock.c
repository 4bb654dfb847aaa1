/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/mock.h"

#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include "protocol/base/uid.h"
#include "protocol/scene/digest.h"
#include "protocol/wire/columns.h"

#include <string.h>

static void count_up(void *data, uint8_t *bytes, size_t size)
{
        static uint32_t counter = 1000;
        (void)data;
        counter++;
        for (size_t i = 0; i < size; i++) {
                bytes[i] = (uint8_t)(counter >> 8 * (i % 4));
        }
}

struct scn_client_options mock_options(void)
{
        struct scn_client_options options = SCN_CLIENT_OPTIONS_INIT;
        options.document = "test";
        options.author = "ann";
        options.random = count_up;
        return options;
}

void mock_init(struct mock *mock, const struct scn_client_options *options)
{
        *mock = (struct mock){.document = scene_create(), .now_ms = 1000000};
        scn_frame_reader_init(&mock->reader);
        scn_buffer_init(&mock->inbox, SCN_MESSAGE_BYTES_MAX);
        scn_buffer_init(&mock->outbox, 64u << 20);
        cr_assert_eq(scn_client_create(options, &mock->client), SCN_OK);
}

void mock_finish(struct mock *mock)
{
        scn_client_destroy(mock->client);
        scn_document_destroy(mock->document);
        scn_frame_reader_finish(&mock->reader);
        scn_buffer_finish(&mock->inbox);
        scn_buffer_finish(&mock->outbox);
}

/* --- Bytes --- */

static void pull(struct mock *mock)
{
        while (true) {
                const struct scn_slice output = scn_client_output(mock->client);
                if (output.size == 0) {
                        return;
                }
                cr_assert_eq(scn_frame_reader_feed(&mock->reader, output.data, output.size), SCN_OK);
                scn_client_sent(mock->client, output.size);
        }
}

/* The payload is copied: a feed would take it away. */
bool mock_read(struct mock *mock)
{
        struct scn_slice payload;
        enum scn_error error;
        struct scn_message_fault fault;
        bool is_there = scn_frame_reader_next(&mock->reader, &payload, &error);
        if (!is_there) {
                pull(mock);
                is_there = scn_frame_reader_next(&mock->reader, &payload, &error);
        }
        cr_assert_eq(error, SCN_OK);
        if (!is_there) {
                return false;
        }
        scn_buffer_reset(&mock->inbox);
        cr_assert_eq(scn_buffer_append(&mock->inbox, payload.data, payload.size), SCN_OK);
        payload.data = mock->inbox.data;
        cr_assert_eq(scn_message_decode(payload, SCN_RECEIVER_SERVER, &mock->message, &fault), SCN_OK);
        return true;
}

struct scn_message *mock_expect(struct mock *mock, enum scn_message_kind kind)
{
        cr_assert(mock_read(mock), "nothing came, not even %s", scn_message_name(kind));
        cr_assert_eq(mock->message.kind, kind, "%s came, not %s", scn_message_name(mock->message.kind),
                scn_message_name(kind));
        return &mock->message;
}

void mock_expect_nothing(struct mock *mock)
{
        cr_assert(!mock_read(mock), "%s came", scn_message_name(mock->message.kind));
}

void mock_send(struct mock *mock, const struct scn_message *message)
{
        struct scn_buffer payload;
        scn_buffer_init(&payload, SCN_MESSAGE_BYTES_MAX);
        cr_assert_eq(scn_message_encode(message, &payload), SCN_OK);
        cr_assert_eq(scn_frame_append_head(&mock->outbox, payload.size), SCN_OK);
        cr_assert_eq(scn_buffer_append(&mock->outbox, payload.data, payload.size), SCN_OK);
        scn_buffer_finish(&payload);
}

/* In pieces of many sizes, as a network would. */
enum scn_error mock_deliver(struct mock *mock)
{
        enum scn_error error = SCN_OK;
        size_t at = 0;
        size_t step = 1;
        if (mock->record != NULL) {
                cr_assert_eq(scn_buffer_append(mock->record, mock->outbox.data, mock->outbox.size), SCN_OK);
        }
        while (at < mock->outbox.size && error == SCN_OK) {
                const size_t left = mock->outbox.size - at;
                const size_t size = step < left ? step : left;
                error = scn_client_feed(mock->client, mock->outbox.data + at, size, mock->now_ms);
                if (error == SCN_OK) {
                        error = scn_client_dispatch(mock->client, mock->now_ms);
                }
                at += size;
                step = step % 61 * 2 + 1;
        }
        scn_buffer_reset(&mock->outbox);
        return error;
}

/* --- Connections --- */

void mock_connect(struct mock *mock)
{
        cr_assert_eq(scn_client_connect(mock->client, mock->now_ms), SCN_OK);
        scn_frame_reader_finish(&mock->reader);
        scn_frame_reader_init(&mock->reader);
        mock->reader.message_bytes_max = SCN_MESSAGE_BYTES_MAX;
        cr_assert_eq(scn_buffer_append(&mock->outbox, scn_preface, SCN_PREFACE_BYTES), SCN_OK);
}

void mock_disconnect(struct mock *mock)
{
        scn_buffer_reset(&mock->outbox);
        scn_client_disconnect(mock->client, mock->now_ms);
        cr_assert_eq(scn_client_dispatch(mock->client, mock->now_ms), SCN_OK);
}

void mock_send_welcome(struct mock *mock)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_welcome);
        message.as.welcome.version = SCN_PROTOCOL_VERSION;
        message.as.welcome.session = ++mock->session;
        message.as.welcome.limits = scene_text("\x80");
        mock_send(mock, &message);
}

void mock_send_opened(struct mock *mock)
{
        struct scn_message message;
        const uint64_t request = mock->message.as.open.request;
        scn_message_init(&message, SCN_MESSAGE_opened);
        message.as.opened.request = request;
        message.as.opened.document = scene_uid(77);
        message.as.opened.root = scene_uid(1);
        message.as.opened.epoch = (struct scn_slice){mock->epoch, sizeof mock->epoch};
        message.as.opened.rev = scn_document_revision(mock->document);
        message.as.opened.number = mock->number;
        message.as.opened.author = scene_text("ann");
        mock_send(mock, &message);
}

void mock_open(struct mock *mock)
{
        mock_connect(mock);
        (void)mock_expect(mock, SCN_MESSAGE_hello);
        mock_send_welcome(mock);
        (void)mock_expect(mock, SCN_MESSAGE_open);
        mock_send_opened(mock);
        cr_assert_eq(mock_deliver(mock), SCN_OK);
        cr_assert_eq(scn_client_state(mock->client), SCN_CLIENT_OPEN);
}

/* --- Edits --- */

static enum scn_error apply(struct mock *mock, scn_revision *rev_out, bool *is_unchanged_out)
{
        struct scn_ops ops = {0};
        struct scn_ops_fault fault;
        struct scn_limits limits = SCN_LIMITS_DEFAULT;
        const struct scn_message_edit *message = &mock->message.as.edit;
        cr_assert_eq(scn_ops_decode(message->ops, &limits, &ops, &fault), SCN_OK);
        const struct scn_edit edit = {
                .ops = ops.ops,
                .ops_count = (uint32_t)ops.count,
                .client = scn_client_uid(mock->client),
                .has_base = message->base != SCN_ABSENT,
                .base = message->base == SCN_ABSENT ? 0 : message->base,
                .is_strict = message->strict,
        };
        struct scn_changes *changes;
        struct scn_refusal refusal;
        const enum scn_error error = scn_document_apply(mock->document, &edit, &changes, &refusal);
        if (error == SCN_OK) {
                *rev_out = scn_changes_revision(changes);
                *is_unchanged_out = scn_changes_count(changes) == 0;
                scn_document_settle(mock->document, changes);
                mock->number = *is_unchanged_out ? mock->number : message->number;
        }
        scn_ops_finish(&ops);
        return error;
}

void mock_refuse_edit(struct mock *mock, const char *code)
{
        struct scn_message answer;
        const uint64_t number = mock->message.as.edit.number;
        scn_message_init(&answer, SCN_MESSAGE_refused);
        answer.as.refused.number = number;
        answer.as.refused.code = scene_text(code);
        answer.as.refused.text = scene_text("refused by the test");
        answer.as.refused.op = 0;
        mock_send(mock, &answer);
}

enum scn_message_kind mock_answer_edit(struct mock *mock)
{
        scn_revision rev;
        bool is_unchanged;
        const uint64_t number = mock->message.as.edit.number;
        const enum scn_error error = apply(mock, &rev, &is_unchanged);
        if (error != SCN_OK) {
                mock_refuse_edit(mock, scn_error_code(error));
                return SCN_MESSAGE_refused;
        }
        struct scn_message answer;
        scn_message_init(&answer, SCN_MESSAGE_applied);
        answer.as.applied.number = number;
        answer.as.applied.rev = rev;
        answer.as.applied.unchanged = is_unchanged;
        mock_send(mock, &answer);
        return SCN_MESSAGE_applied;
}

void mock_swallow_edit(struct mock *mock)
{
        scn_revision rev;
        bool is_unchanged;
        cr_assert_eq(apply(mock, &rev, &is_unchanged), SCN_OK);
}

scn_revision mock_do(struct mock *mock, struct scn_op op)
{
        return scene_do_as(mock->document, 2, op);
}

/* --- Views --- */

static void send_delta(struct mock *mock, struct mock_view *view, bool is_fresh)
{
        struct scn_delta delta = {0};
        const struct scn_delta_request request = {
                .root = view->root, .mask = view->mask, .is_fresh = is_fresh, .from = view->cursor};
        cr_assert_eq(scn_delta_compute(mock->document, &request, &delta), SCN_OK);
        struct scn_columns_cursor cursor = {0};
        bool has_more = !scn_delta_is_empty(&delta) || is_fresh;
        while (has_more) {
                struct scn_buffer columns;
                struct scn_message message;
                scn_buffer_init(&columns, SCN_MESSAGE_BYTES_MAX);
                struct scn_packer packer = scn_packer_to(&columns);
                has_more = scn_columns_encode(&packer, &delta, &cursor);
                cr_assert_eq(packer.error, SCN_OK);
                scn_message_init(&message, SCN_MESSAGE_delta);
                message.as.delta.view = view->number;
                message.as.delta.to = delta.to;
                message.as.delta.back = is_fresh ? delta.to : delta.to - view->told;
                view->told = has_more ? view->told : delta.to;
                message.as.delta.columns = (struct scn_slice){columns.data, (uint32_t)columns.size};
                message.as.delta.more = has_more;
                mock_send(mock, &message);
                scn_buffer_finish(&columns);
        }
        view->cursor = delta.to;
        scn_delta_finish(&delta);
}

static struct scn_uid root_of(struct mock *mock, const struct scn_node_ref *ref)
{
        scn_node_id id;
        cr_assert_eq(scn_document_find(mock->document, ref, &id), SCN_OK);
        return scn_document_node(mock->document, id).uid;
}

struct mock_view mock_answer_view(struct mock *mock, bool resumes)
{
        (void)mock_expect(mock, SCN_MESSAGE_view);
        return mock_accept_view(mock, resumes);
}

struct mock_view mock_accept_view(struct mock *mock, bool resumes)
{
        const struct scn_message_view *request = &mock->message.as.view;
        struct mock_view view = {
                .number = request->view,
                .root = root_of(mock, &request->root),
                .mask = (uint32_t)request->mask,
                .cursor = resumes ? request->rev : 0,
                .told = resumes ? request->rev : 0,
        };
        cr_assert(!resumes || request->epoch.size == 8, "it does not ask to resume");
        struct scn_message answer;
        scn_message_init(&answer, SCN_MESSAGE_viewed);
        answer.as.viewed.request = request->request;
        answer.as.viewed.view = request->view;
        answer.as.viewed.resumed = resumes;
        answer.as.viewed.rev = scn_document_revision(mock->document);
        mock_send(mock, &answer);
        send_delta(mock, &view, !resumes);
        cr_assert_eq(mock_deliver(mock), SCN_OK);
        return view;
}

void mock_publish(struct mock *mock, struct mock_view *view)
{
        send_delta(mock, view, false);
        cr_assert_eq(mock_deliver(mock), SCN_OK);
}

void mock_expect_same(const struct mock *mock, const struct scn_view *view)
{
        const scn_node_id root = scn_document_find_uid(mock->document, scn_view_root(view));
        cr_assert_neq(root, 0, "the view has no root");
        const struct scn_digests digests = scn_document_subtree_digests(mock->document, root, SCN_MASK_ALL);
        const struct scn_digest sum = scn_digests_combine(&digests, SCN_MASK_ALL);
        uint8_t bytes[16];
        scn_view_digest(view, bytes);
        for (uint32_t i = 0; i < 8; i++) {
                cr_assert_eq(bytes[i], (uint8_t)(sum.high >> (56 - 8 * i)), "the digests differ");
                cr_assert_eq(bytes[8 + i], (uint8_t)(sum.low >> (56 - 8 * i)), "the digests differ");
        }
}
