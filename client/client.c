/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The client's life, and the way of bytes through it. */

#include "client/client.h"

#include "client/draft.h"
#include "client/failure.h"
#include "client/socket.h"
#include "protocol/base/alloc.h"
#include "protocol/base/uid.h"

#include <string.h>

/* What has been sent is cut off once there is so much of it. */
#define SCRATCH_BYTES_MAX (SCN_MESSAGE_BYTES_MAX)
#define OUTPUT_BYTES_MAX (SCN_CLIENT_OUTPUT_BYTES + SCN_MESSAGE_BYTES_MAX + 4096u)

#ifndef SCN_VERSION
#define SCN_VERSION "0"
#endif

const char *scn_version(void)
{
        return SCN_VERSION;
}

bool scn_uid_from_text(const char *text, struct scn_uid *uid_out)
{
        return scn_uid_parse(text, strlen(text), uid_out);
}

void scn_uid_to_text(struct scn_uid uid, char text_out[SCN_UID_TEXT_LENGTH + 1])
{
        scn_uid_format(uid, text_out);
}

/* --- Life --- */

static bool is_too_long(const char *text)
{
        return text != NULL && strlen(text) >= SCN_CLIENT_TEXT_BYTES_MAX;
}

static bool copy_text(const char *text, char **copy_out)
{
        if (text == NULL) {
                return true;
        }
        const size_t size = strlen(text) + 1;
        *copy_out = scn_alloc(size);
        if (*copy_out != NULL) {
                memcpy(*copy_out, text, size);
        }
        return *copy_out != NULL;
}

struct scn_uid scn_client_random_uid(struct scn_client *client)
{
        uint8_t bytes[16];
        client->random(client->data, bytes, sizeof bytes);
        return scn_uid_from_random(bytes);
}

struct scn_uid scn_client_make_uid(struct scn_client *client)
{
        return scn_client_random_uid(client);
}

static void init(struct scn_client *client, const struct scn_client_options *options)
{
        client->create = options->create;
        client->random = options->random;
        client->on_state = options->on_state;
        client->data = options->data;
        client->limits = SCN_LIMITS_DEFAULT;
        client->ping = SCN_ABSENT;
        client->pause_ms = SCN_CLIENT_PAUSE_MS;
        client->next_number = 1;
        client->uid = scn_uid_is_none(options->uid) ? scn_client_random_uid(client) : options->uid;
        client->random(client->data, (uint8_t *)&client->hash_seed, sizeof client->hash_seed);
        scn_frame_reader_init(&client->reader);
        scn_buffer_init(&client->output, OUTPUT_BYTES_MAX);
        scn_buffer_init(&client->scratch, SCRATCH_BYTES_MAX);
        scn_buffer_init(&client->own.presence, SCN_LIVE_presence_bytes_max);
        scn_buffer_init(&client->own.sent, SCN_LIVE_presence_bytes_max);
        TAILQ_INIT(&client->tasks);
        TAILQ_INIT(&client->accepted);
        TAILQ_INIT(&client->failed);
        TAILQ_INIT(&client->views);
        TAILQ_INIT(&client->drafts);
}

enum scn_error scn_client_create(const struct scn_client_options *options, struct scn_client **client_out)
{
        /* A program built against an older library knows fewer options: the rest is as initialised. */
        struct scn_client_options full = SCN_CLIENT_OPTIONS_INIT;
        if (options->size < sizeof options->size || options->size > sizeof full) {
                return SCN_E_RANGE;
        }
        memcpy(&full, options, options->size);
        if (is_too_long(full.document) || is_too_long(full.author) || is_too_long(full.token) ||
                is_too_long(full.agent)) {
                return SCN_E_RANGE;
        }
        struct scn_client *client = scn_alloc_zero(1, sizeof *client);
        if (client == NULL) {
                return SCN_E_NO_MEMORY;
        }
        if (full.random == NULL) {
                full.random = scn_system_random;
        }
        init(client, &full);
        if (!copy_text(full.document, &client->document) || !copy_text(full.author, &client->author_wanted) ||
                !copy_text(full.token, &client->token) || !copy_text(full.agent, &client->agent)) {
                scn_client_destroy(client);
                return SCN_E_NO_MEMORY;
        }
        *client_out = client;
        return SCN_OK;
}

/* What callbacks asked for when they heard that all is cancelled is not told again. */
static void cancel_rest(struct scn_client *client, const struct scn_failure *failure)
{
        struct scn_task *task;
        scn_client_fail_all(client, failure);
        TAILQ_FOREACH(task, &client->failed, link)
        {
                task->on_result = NULL;
                task->on_answer = NULL;
        }
        scn_client_tell_failed(client);
}

void scn_client_destroy(struct scn_client *client)
{
        if (client == NULL) {
                return;
        }
        SCN_ASSERT(!client->is_dispatching);
        SCN_ASSERT(!client->has_socket);
        client->is_dispatching = true; /* callbacks see a client in which nothing is freed under them */
        const struct scn_failure cancelled = scn_failure_of("cancelled", "the client was ended before the answer");
        scn_client_end(client, &cancelled);
        scn_client_tell_failed(client);
        cancel_rest(client, &cancelled);
        while (!TAILQ_EMPTY(&client->drafts)) {
                scn_draft_destroy(TAILQ_FIRST(&client->drafts));
        }
        struct scn_view *view;
        TAILQ_FOREACH(view, &client->views, link)
        {
                view->is_dead = true;
        }
        scn_client_sweep_views(client);
        scn_frame_reader_finish(&client->reader);
        scn_buffer_finish(&client->output);
        scn_buffer_finish(&client->scratch);
        scn_buffer_finish(&client->own.presence);
        scn_buffer_finish(&client->own.sent);
        scn_free(client->own.previews);
        scn_free(client->document);
        scn_free(client->author_wanted);
        scn_free(client->token);
        scn_free(client->agent);
        scn_free(client);
}

/* --- State --- */

enum scn_client_state scn_client_state(const struct scn_client *client)
{
        return client->state;
}

struct scn_uid scn_client_uid(const struct scn_client *client)
{
        return client->uid;
}

uint64_t scn_client_session(const struct scn_client *client)
{
        return client->session;
}

struct scn_uid scn_client_root(const struct scn_client *client)
{
        return client->root;
}

bool scn_client_is_beside(const struct scn_client *client, const struct scn_client *other)
{
        return client->history != 0 && other->history != 0 &&
                memcmp(client->epoch, other->epoch, sizeof client->epoch) == 0;
}

const char *scn_client_author(const struct scn_client *client)
{
        return client->author;
}

uint32_t scn_client_pending_count(const struct scn_client *client)
{
        return client->pending_count;
}

void scn_client_set_state(struct scn_client *client, enum scn_client_state state)
{
        client->state = state;
        client->state_since_ms = client->now_ms;
        if (state == SCN_CLIENT_OPEN) {
                client->has_failure = false;
                client->pause_ms = SCN_CLIENT_PAUSE_MS;
        }
}

void scn_client_end(struct scn_client *client, const struct scn_failure *failure)
{
        if (client->state == SCN_CLIENT_ENDED) {
                return;
        }
        client->failure = *failure;
        client->has_failure = true;
        client->is_broken = true;
        scn_client_set_state(client, SCN_CLIENT_ENDED);
        scn_client_fail_all(client, failure);
        struct scn_view *view;
        TAILQ_FOREACH(view, &client->views, link)
        {
                if (!view->is_ended) {
                        scn_view_fail(view, failure);
                }
        }
}

void scn_client_break(struct scn_client *client, const struct scn_failure *failure)
{
        if (client->state == SCN_CLIENT_ENDED) {
                return;
        }
        client->is_broken = true;
        client->failure = *failure;
        client->has_failure = true;
}

static void tell_state(struct scn_client *client)
{
        if (client->told == client->state) {
                return;
        }
        client->told = client->state;
        if (client->on_state != NULL) {
                const bool is_bad = client->state == SCN_CLIENT_OFFLINE || client->state == SCN_CLIENT_ENDED;
                const struct scn_failure failure = client->failure;
                client->on_state(client, client->state, is_bad && client->has_failure ? &failure : NULL, client->data);
        }
}

/* --- Connecting --- */

static struct scn_slice slice_of(const char *text)
{
        return text == NULL ? (struct scn_slice){NULL, 0}
                            : (struct scn_slice){(const uint8_t *)text, (uint32_t)strlen(text)};
}

static enum scn_error greet(struct scn_client *client)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_hello);
        message.as.hello.version = SCN_PROTOCOL_VERSION;
        message.as.hello.client = client->uid;
        message.as.hello.name = slice_of(client->author_wanted);
        message.as.hello.token = slice_of(client->token);
        message.as.hello.agent = slice_of(client->agent);
        message.as.hello.ping = SCN_CLIENT_PING_S;
        enum scn_error error = scn_buffer_append(&client->output, scn_preface, SCN_PREFACE_BYTES);
        if (error == SCN_OK) {
                error = scn_client_send(client, &message);
        }
        if (error == SCN_OK && client->document != NULL) {
                scn_message_init(&message, SCN_MESSAGE_open);
                client->open_request = ++client->numbers;
                message.as.open.request = client->open_request;
                message.as.open.document = slice_of(client->document);
                message.as.open.create = client->create;
                error = scn_client_send(client, &message);
        }
        return error;
}

static void forget_connection(struct scn_client *client)
{
        scn_frame_reader_finish(&client->reader);
        scn_frame_reader_init(&client->reader);
        client->reader.message_bytes_max = SCN_MESSAGE_BYTES_MAX;
        scn_buffer_reset(&client->output);
        client->output_at = 0;
        client->is_broken = false;
        client->ping = SCN_ABSENT;
        client->session = 0;
}

enum scn_error scn_client_connect(struct scn_client *client, uint64_t now_ms)
{
        SCN_ASSERT(client->state == SCN_CLIENT_OFFLINE);
        forget_connection(client);
        client->now_ms = now_ms;
        client->heard_ms = now_ms;
        client->sent_ms = now_ms;
        client->has_failure = false;
        const enum scn_error error = greet(client);
        if (error == SCN_OK) {
                scn_client_set_state(client, SCN_CLIENT_GREETING);
        } else {
                forget_connection(client);
        }
        return error;
}

/* Exponential, and never two clients in step. */
static void plan_reconnect(struct scn_client *client)
{
        uint32_t random;
        client->random(client->data, (uint8_t *)&random, sizeof random);
        client->connect_at_ms = client->now_ms + client->pause_ms + random % (client->pause_ms / 2 + 1);
        client->pause_ms =
                client->pause_ms > SCN_CLIENT_PAUSE_MAX_MS / 2 ? SCN_CLIENT_PAUSE_MAX_MS : client->pause_ms * 2;
}

void scn_client_disconnect(struct scn_client *client, uint64_t now_ms)
{
        client->now_ms = now_ms;
        if (client->state == SCN_CLIENT_ENDED) {
                return;
        }
        if (!client->has_failure) {
                client->failure = scn_failure_of("disconnected", "the connection was closed");
                client->has_failure = true;
        }
        forget_connection(client);
        scn_client_set_state(client, SCN_CLIENT_OFFLINE);
        plan_reconnect(client);
        scn_client_unsend(client);
        scn_client_unsend_own(client);
        struct scn_view *view;
        TAILQ_FOREACH(view, &client->views, link)
        {
                scn_view_unsend(view);
        }
}

uint64_t scn_client_connect_at_ms(const struct scn_client *client)
{
        return client->state == SCN_CLIENT_OFFLINE ? client->connect_at_ms : UINT64_MAX;
}

/* --- Bytes --- */

enum scn_error scn_client_feed(struct scn_client *client, const void *bytes, size_t size, uint64_t now_ms)
{
        client->now_ms = now_ms;
        if (client->is_broken || client->state == SCN_CLIENT_OFFLINE) {
                return SCN_E_OUT_OF_TURN;
        }
        client->heard_ms = now_ms;
        const enum scn_error error = scn_frame_reader_feed(&client->reader, bytes, size);
        if (error != SCN_OK) {
                const struct scn_failure failure = scn_failure_of_error(error);
                scn_client_break(client, &failure);
        }
        return error;
}

enum scn_error scn_client_send_payload(struct scn_client *client, struct scn_slice payload)
{
        const size_t before = client->output.size;
        enum scn_error error = scn_frame_append_head(&client->output, payload.size);
        if (error == SCN_OK) {
                error = scn_buffer_append(&client->output, payload.data, payload.size);
        }
        if (error != SCN_OK) {
                client->output.size = before;
        }
        return error;
}

enum scn_error scn_client_send(struct scn_client *client, const struct scn_message *message)
{
        scn_buffer_reset(&client->scratch);
        const enum scn_error error = scn_message_encode(message, &client->scratch);
        return error != SCN_OK ? error
                               : scn_client_send_payload(client,
                                         (struct scn_slice){client->scratch.data, (uint32_t)client->scratch.size});
}

struct scn_slice scn_client_output(struct scn_client *client)
{
        struct scn_buffer *output = &client->output;
        if (client->output_at > 0) {
                memmove(output->data, output->data + client->output_at, output->size - client->output_at);
                output->size -= client->output_at;
                client->output_at = 0;
        }
        while (output->size < SCN_CLIENT_OUTPUT_BYTES && scn_client_send_next(client)) {
        }
        return output->size == 0 || client->is_broken ? (struct scn_slice){NULL, 0}
                                                      : (struct scn_slice){output->data, (uint32_t)output->size};
}

void scn_client_sent(struct scn_client *client, size_t bytes)
{
        SCN_ASSERT(bytes <= client->output.size - client->output_at);
        client->output_at += bytes;
        client->sent_ms = bytes > 0 ? client->now_ms : client->sent_ms;
}

/* --- Time --- */

static uint64_t later(uint64_t a, uint64_t b)
{
        return a > b ? a : b;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

/* The server is promised to hear something; what waits in the output is as good. */
static uint64_t say_at_ms(const struct scn_client *client)
{
        return client->output.size > client->output_at ? UINT64_MAX : client->sent_ms + SCN_CLIENT_ASK_AFTER_MS;
}

static uint64_t alarm_ms(const struct scn_client *client)
{
        switch (client->state) {
        case SCN_CLIENT_GREETING:
                return client->state_since_ms + SCN_CLIENT_GREETING_MS;
        case SCN_CLIENT_OPEN:
                return sooner(say_at_ms(client),
                        client->ping == SCN_ABSENT
                                ? client->heard_ms + SCN_CLIENT_ASK_AFTER_MS
                                : later(client->heard_ms, client->asked_ms) + SCN_CLIENT_DEAD_AFTER_MS);
        case SCN_CLIENT_OFFLINE:
        case SCN_CLIENT_ENDED:
                break;
        }
        return UINT64_MAX;
}

uint64_t scn_client_wake_at_ms(const struct scn_client *client)
{
        return scn_client_has_news(client) ? 0 : alarm_ms(client);
}

/* A connection on which nothing comes is asked, and given up if it does not answer. */
static void keep_alive(struct scn_client *client)
{
        if (client->is_broken || client->now_ms < alarm_ms(client)) {
                return;
        }
        const bool must_say = client->now_ms >= say_at_ms(client);
        if (client->state == SCN_CLIENT_OPEN && (client->ping == SCN_ABSENT || must_say)) {
                struct scn_message message;
                scn_message_init(&message, SCN_MESSAGE_ping);
                client->asked_ms = client->ping == SCN_ABSENT ? client->now_ms : client->asked_ms;
                client->ping = ++client->numbers;
                message.as.ping.request = client->ping;
                if (scn_client_send(client, &message) != SCN_OK) {
                        client->ping = SCN_ABSENT;
                }
                return;
        }
        const struct scn_failure failure = scn_failure_of("timeout", "the server did not answer in time");
        scn_client_break(client, &failure);
}

/* --- Dispatch --- */

static void dispatch_messages(struct scn_client *client)
{
        struct scn_slice payload;
        enum scn_error error = SCN_OK;
        while (!client->is_broken && scn_frame_reader_next(&client->reader, &payload, &error)) {
                error = scn_client_handle(client, payload);
                if (error != SCN_OK) {
                        break;
                }
                tell_state(client);
        }
        if (error != SCN_OK && !client->is_broken) {
                const struct scn_failure failure = scn_failure_of_error(error);
                scn_client_break(client, &failure);
        }
}

enum scn_error scn_client_dispatch(struct scn_client *client, uint64_t now_ms)
{
        SCN_ASSERT(!client->is_dispatching);
        client->is_dispatching = true;
        client->now_ms = now_ms;
        tell_state(client);
        scn_client_tell_failed(client);
        scn_client_tell_views(client);
        if (client->state != SCN_CLIENT_OFFLINE) {
                dispatch_messages(client);
                keep_alive(client);
        }
        if (client->state == SCN_CLIENT_ENDED) {
                scn_client_fail_all(client, &client->failure);
        }
        tell_state(client);
        scn_client_tell_failed(client);
        scn_client_tell_views(client);
        client->is_dispatching = false;
        scn_client_sweep_views(client);
        return client->is_broken ? SCN_E_BAD_MESSAGE : SCN_OK;
}
