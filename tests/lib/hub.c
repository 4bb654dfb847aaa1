/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#define _XOPEN_SOURCE 700
#include "tests/lib/hub.h"

#include "protocol/base/alloc.h"
#include "protocol/wire/ops.h"
#include "tests/lib/heard.h"
#include "tests/lib/scene.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- The host --- */

static uint64_t utc_us(void *data)
{
        return ((struct hub *)data)->utc_us;
}

static uint64_t monotonic_ms(void *data)
{
        struct hub *hub = data;
        hub->monotonic_ms += hub->ms_a_look;
        return hub->monotonic_ms;
}

static void fill_random(void *data, uint8_t *bytes, size_t size)
{
        struct hub *hub = data;
        for (size_t i = 0; i < size; i++) {
                hub->random = hub->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
                bytes[i] = (uint8_t)(hub->random >> 56);
        }
}

static void submit(void *data, struct scn_job *job)
{
        struct hub *hub = data;
        cr_assert_lt(hub->jobs_count, HUB_JOBS_MAX);
        hub->jobs[hub->jobs_count++] = job;
}

static void wake(void *data, struct scn_session *session, void *transport)
{
        (void)data;
        (void)session;
        (void)transport;
}

static void log_text(void *data, enum scn_log_level level, const char *text)
{
        struct hub *hub = data;
        hub->errors_logged += level == SCN_LOG_ERROR;
        hub->warnings_logged += level == SCN_LOG_WARNING;
        if (level == SCN_LOG_WARNING) {
                (void)snprintf(hub->warning, sizeof hub->warning, "%s", text);
        }
}

static enum scn_error create(struct hub *hub, char problem[SCN_PROBLEM_BYTES])
{
        const struct scn_server_options options = {
                .data_path = hub->path,
                .agent = "hub",
                .limits = hub->limits,
                .output_bytes_max = hub->output_bytes_max,
                .memory_bytes_max = hub->memory_bytes_max,
                .fold_age_s = hub->fold_age_s,
                .keep_age_s = hub->keep_age_s,
                .reserve_bytes = hub->reserve_bytes,
                .input_bytes_max = hub->input_bytes_max,
                .utc_us = utc_us,
                .monotonic_ms = monotonic_ms,
                .random = fill_random,
                .submit = submit,
                .wake = wake,
                .log = log_text,
                .data = hub,
        };
        return scn_server_create(&options, &hub->server, problem);
}

void hub_restart(struct hub *hub)
{
        char problem[SCN_PROBLEM_BYTES];
        cr_assert_eq(create(hub, problem), SCN_OK, "%s", problem);
}

bool hub_try_restart(struct hub *hub)
{
        char problem[SCN_PROBLEM_BYTES];
        return create(hub, problem) == SCN_OK;
}

void hub_start(struct hub *hub)
{
        *hub = (struct hub){
                .utc_us = 1700000000000000u, .monotonic_ms = 1000, .random = 42, .limits = SCN_LIMITS_DEFAULT};
        (void)snprintf(hub->path, sizeof hub->path, "/tmp/scened-hub-XXXXXX");
        cr_assert_not_null(mkdtemp(hub->path));
        hub_restart(hub);
}

bool hub_step(struct hub *hub)
{
        scn_server_turn(hub->server);
        if (hub->jobs_count == 0) {
                return false;
        }
        struct scn_job *job = hub->jobs[0];
        hub->jobs_count--;
        memmove(&hub->jobs[0], &hub->jobs[1], hub->jobs_count * sizeof hub->jobs[0]);
        job->run(job);
        hub->utc_us += 100;
        job->done(job);
        return true;
}

void hub_run(struct hub *hub)
{
        for (int i = 0; i < 100000; i++) {
                if (!hub_step(hub)) {
                        return;
                }
        }
        cr_assert(false, "the server never comes to rest");
}

void hub_stop(struct hub *hub)
{
        scn_server_stop(hub->server);
        hub_run(hub);
        scn_server_tick(hub->server);
        hub_run(hub);
        cr_assert(scn_server_is_stopped(hub->server));
        scn_server_destroy(hub->server);
        hub->server = NULL;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
        (void)status;
        (void)type;
        (void)walk;
        return remove(path);
}

void hub_finish(struct hub *hub)
{
        if (hub->server != NULL) {
                hub_stop(hub);
        }
        cr_assert_eq(nftw(hub->path, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* --- Peers --- */

void peer_connect(struct peer *peer, struct hub *hub)
{
        *peer = (struct peer){.hub = hub};
        peer->session = scn_session_create(hub->server, peer);
        cr_assert_not_null(peer->session);
        scn_frame_reader_init(&peer->reader);
        peer->reader.message_bytes_max = SCN_MESSAGE_BYTES_MAX;
        peer->reader.buffer.size_max = SIZE_MAX / 2; /* it drains more than it reads */
        scn_buffer_init(&peer->outgoing, SCN_MESSAGE_BYTES_MAX + 64);
}

void peer_close(struct peer *peer)
{
        scn_session_destroy(peer->session);
        scn_frame_reader_finish(&peer->reader);
        scn_buffer_finish(&peer->outgoing);
        *peer = (struct peer){0};
}

void peer_send_bytes(struct peer *peer, const void *bytes, size_t size)
{
        scn_session_feed(peer->session, bytes, size);
}

/* Whether it has a number instead of a request; both are the first field. */
static bool has_number(enum scn_message_kind kind)
{
        return kind == SCN_MESSAGE_edit || kind == SCN_MESSAGE_undo || kind == SCN_MESSAGE_redo ||
                kind == SCN_MESSAGE_restore;
}

/* What was asked under a request or number; NULL: nothing that is known. */
static const char *asked_of(const struct peer *peer, uint64_t request, bool is_number)
{
        for (size_t i = peer->asked_count; i-- > 0 && i + PEER_ASKED_MAX >= peer->asked_count;) {
                const struct peer_asked *asked = &peer->asked[i % PEER_ASKED_MAX];
                if (asked->request == request && has_number(asked->kind) == is_number) {
                        return scn_message_name(asked->kind);
                }
        }
        return NULL;
}

/* Nobody hears a word that PROTOCOL.md does not announce. */
static void check_failure(const struct peer *peer, const struct scn_message *message)
{
        const bool is_refused = message->kind == SCN_MESSAGE_refused;
        if (!is_refused && message->kind != SCN_MESSAGE_failed) {
                return;
        }
        const struct scn_slice code = is_refused ? message->as.refused.code : message->as.failed.code;
        const uint64_t request = is_refused ? message->as.refused.number : message->as.failed.request;
        const bool closes = !is_refused && message->as.failed.closes;
        const char where = is_refused ? 'E' : closes ? 'C' : 'R';
        const bool may_come =
                heard_may_come(code, where) || (where == 'R' && request == SCN_ABSENT && heard_may_come(code, 'P'));
        const char *name = closes ? NULL : asked_of(peer, request, is_refused);
        cr_assert(may_come, "%.*s does not come so", (int)code.size, (const char *)code.data);
        cr_assert(name == NULL || heard_by(name, code), "%s does not hear %.*s", name, (int)code.size,
                (const char *)code.data);
}

void peer_send(struct peer *peer, const struct scn_message *message)
{
        peer->asked[peer->asked_count++ % PEER_ASKED_MAX] =
                (struct peer_asked){message->as.ping.request, message->kind};
        struct scn_buffer payload;
        scn_buffer_init(&payload, SCN_MESSAGE_BYTES_MAX);
        cr_assert_eq(scn_message_encode(message, &payload), SCN_OK);
        scn_buffer_reset(&peer->outgoing);
        cr_assert_eq(scn_frame_append_head(&peer->outgoing, payload.size), SCN_OK);
        cr_assert_eq(scn_buffer_append(&peer->outgoing, payload.data, payload.size), SCN_OK);
        scn_buffer_finish(&payload);
        peer_send_bytes(peer, peer->outgoing.data, peer->outgoing.size);
}

/* Takes what the server has for this peer. */
void peer_drain(struct peer *peer)
{
        struct scn_slice slices[8];
        size_t count;
        while (!peer->does_not_read && (count = scn_session_output(peer->session, slices, 8)) > 0) {
                size_t bytes = 0;
                for (size_t i = 0; i < count; i++) {
                        cr_assert_eq(scn_frame_reader_feed(&peer->reader, slices[i].data, slices[i].size), SCN_OK);
                        bytes += slices[i].size;
                }
                scn_session_sent(peer->session, bytes);
        }
}

bool peer_receive(struct peer *peer, struct scn_message *message_out)
{
        struct scn_slice payload;
        struct scn_message_fault fault;
        enum scn_error error;
        if (!scn_frame_reader_next(&peer->reader, &payload, &error)) {
                cr_assert_eq(error, SCN_OK);
                hub_run(peer->hub);
                peer_drain(peer);
                hub_run(peer->hub);
                peer_drain(peer);
                if (!scn_frame_reader_next(&peer->reader, &payload, &error)) {
                        cr_assert_eq(error, SCN_OK);
                        return false;
                }
        }
        cr_assert_eq(scn_message_decode(payload, SCN_RECEIVER_CLIENT, message_out, &fault), SCN_OK);
        peer->payload = payload;
        check_failure(peer, message_out);
        return true;
}

struct scn_message peer_expect(struct peer *peer, enum scn_message_kind kind)
{
        struct scn_message message;
        while (peer_receive(peer, &message)) {
                if (message.kind == kind) {
                        return message;
                }
                cr_assert(message.kind != SCN_MESSAGE_failed, "%.*s: %.*s", (int)message.as.failed.code.size,
                        (const char *)message.as.failed.code.data, (int)message.as.failed.text.size,
                        (const char *)message.as.failed.text.data);
        }
        cr_assert(false, "no message %s came", scn_message_name(kind));
        return message;
}

static void expect_slice(struct scn_slice got, const char *wanted)
{
        cr_assert(scene_is_text(got, wanted), "%.*s, not %s", (int)got.size, (const char *)got.data, wanted);
}

void peer_expect_code(struct peer *peer, enum scn_message_kind kind, const char *code)
{
        const struct scn_message message = peer_expect(peer, kind);
        expect_slice(kind == SCN_MESSAGE_refused ? message.as.refused.code : message.as.failed.code, code);
}

void peer_expect_text(struct peer *peer, enum scn_message_kind kind, const char *text)
{
        const struct scn_message message = peer_expect(peer, kind);
        expect_slice(kind == SCN_MESSAGE_refused ? message.as.refused.text : message.as.failed.text, text);
}

bool peer_has_ended(const struct peer *peer)
{
        return scn_session_has_ended(peer->session);
}

void peer_greet(struct peer *peer, struct hub *hub, uint32_t client, const char *author)
{
        struct scn_message message;
        peer_connect(peer, hub);
        peer_send_bytes(peer, scn_preface, SCN_PREFACE_BYTES);
        scn_message_init(&message, SCN_MESSAGE_hello);
        message.as.hello.version = SCN_PROTOCOL_VERSION;
        message.as.hello.client = scene_client(client);
        message.as.hello.name = scene_text(author);
        peer_send(peer, &message);
}

void peer_ask_open(struct peer *peer, const char *document, bool create)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_open);
        message.as.open.request = 1;
        message.as.open.document = scene_text(document);
        message.as.open.create = create;
        peer_send(peer, &message);
}

void peer_open(struct peer *peer, struct hub *hub, uint32_t client, const char *author, const char *document)
{
        peer_greet(peer, hub, client, author);
        cr_assert_eq(peer_expect(peer, SCN_MESSAGE_welcome).as.welcome.version, 1);
        peer_ask_open(peer, document, true);
        peer->last_stored = peer_expect(peer, SCN_MESSAGE_opened).as.opened.number;
        peer->number = peer->last_stored;
}

/* --- Edits --- */

/* `message` has all but the ops. */
static void send_edit(struct peer *peer, struct scn_message *message, const struct scn_op *ops, uint32_t count)
{
        struct scn_buffer buffer;
        scn_buffer_init(&buffer, SCN_MESSAGE_BYTES_MAX);
        struct scn_packer packer = scn_packer_to(&buffer);
        scn_ops_encode(&packer, ops, count);
        cr_assert_eq(packer.error, SCN_OK);
        message->as.edit.ops = (struct scn_slice){buffer.data, (uint32_t)buffer.size};
        peer_send(peer, message);
        scn_buffer_finish(&buffer);
}

void peer_edit_part(struct peer *peer, uint64_t number, const struct scn_op *ops, uint32_t count, bool has_more)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_edit);
        message.as.edit.number = number;
        message.as.edit.more = has_more;
        send_edit(peer, &message, ops, count);
}

void peer_edit_as(struct peer *peer, uint64_t number, const struct scn_op *ops, uint32_t count)
{
        peer_edit_part(peer, number, ops, count, false);
}

void peer_edit(struct peer *peer, const struct scn_op *ops, uint32_t count)
{
        peer_edit_as(peer, ++peer->number, ops, count);
}

void peer_edit_in(struct peer *peer, uint64_t group, const struct scn_op *ops, uint32_t count)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_edit);
        message.as.edit.number = ++peer->number;
        message.as.edit.group = group;
        send_edit(peer, &message, ops, count);
}

static uint64_t or_absent(uint64_t value)
{
        return value == 0 ? SCN_ABSENT : value;
}

void peer_undo(struct peer *peer, struct peer_wish wish)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_undo);
        message.as.undo.number = ++peer->number;
        message.as.undo.count = or_absent(wish.count);
        message.as.undo.step = or_absent(wish.step);
        message.as.undo.force = wish.is_forced;
        message.as.undo.dry = wish.is_dry;
        peer_send(peer, &message);
}

void peer_redo(struct peer *peer, uint64_t count)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_redo);
        message.as.redo.number = ++peer->number;
        message.as.redo.count = or_absent(count);
        peer_send(peer, &message);
}
