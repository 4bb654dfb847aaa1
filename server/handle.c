/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What each message does. A handler answers, or says that the message must wait at the head of its inbox. */

#include "protocol/base/alloc.h"
#include "server/adopt.h"
#include "server/core.h"
#include "server/fork.h"
#include "server/history.h"
#include "server/live.h"
#include "server/tag.h"

#include <stdio.h>
#include <string.h>

static struct scn_slice text_of(const char *text)
{
        return (struct scn_slice){(const uint8_t *)text, (uint32_t)strlen(text)};
}

/* --- hello, open --- */

/* What other parts hold, and what the table says of it. */
SCN_STATIC_ASSERT(SCN_SERVER_message_bytes_max == SCN_MESSAGE_BYTES_MAX, "of the wire");
SCN_STATIC_ASSERT(SCN_SERVER_tags_max == SCN_JOURNAL_TAGS_MAX, "of the storage");
SCN_STATIC_ASSERT(SCN_SERVER_tag_bytes_max == SCN_JOURNAL_TAG_BYTES_MAX, "of the storage");
SCN_STATIC_ASSERT(SCN_SERVER_document_bytes_max == SCN_STORAGE_FILE_NAME_BYTES_MAX, "of the storage");

static void pack_limits(struct scn_packer *packer, const struct scn_server_options *options)
{
        const struct scn_limits *limits = &options->limits;
        const struct {
                const char *name;
                uint64_t value;
        } own[] = {{"file_bytes_max", options->file_bytes_max != 0 ? options->file_bytes_max : SCN_FILE_BYTES_MAX},
#define SERVER_LIMIT(name, value, what) {#name, SCN_SERVER_##name},
                SCN_SERVER_LIMIT_LIST(SERVER_LIMIT)
#undef SERVER_LIMIT
#define LIVE_LIMIT(name, value, what) {#name, SCN_LIVE_##name},
                        SCN_LIVE_LIMIT_LIST(LIVE_LIMIT)
#undef LIVE_LIMIT
        };
        static const char *const names[] = {
#define LIMIT_NAME(name, value, reason) #name,
                SCN_LIMIT_LIST(LIMIT_NAME)
#undef LIMIT_NAME
        };
        const uint32_t values[] = {
#define LIMIT_VALUE(name, value, reason) limits->name,
                SCN_LIMIT_LIST(LIMIT_VALUE)
#undef LIMIT_VALUE
        };
        const uint32_t count = sizeof names / sizeof names[0];
        const uint32_t own_count = sizeof own / sizeof own[0];
        scn_pack_map(packer, count + own_count);
        for (uint32_t i = 0; i < count; i++) {
                scn_pack_cstring(packer, names[i]);
                scn_pack_uint(packer, values[i]);
        }
        for (uint32_t i = 0; i < own_count; i++) {
                scn_pack_cstring(packer, own[i].name);
                scn_pack_uint(packer, own[i].value);
        }
}

/* Where no login is configured the author is the name stated, or made of the client's uid (DESIGN §8). */
static bool take_author(struct scn_session *session, struct scn_slice name)
{
        char guest[6 + SCN_UID_TEXT_LENGTH + 1] = "guest-";
        struct scn_slice copy;
        if (name.data == NULL || name.size == 0) {
                scn_uid_format(session->client, guest + 6);
                name = (struct scn_slice){(const uint8_t *)guest, sizeof guest - 1};
        }
        if (!scn_slice_copy(name, &copy)) {
                return false;
        }
        session->author = copy.data;
        session->author_size = copy.size;
        return true;
}

/* SCN_OK, or why the text says that nobody is let in who says this. */
static enum scn_error check_hello(const struct scn_message_hello *hello, char *text, size_t room)
{
        if (hello->version < SCN_PROTOCOL_VERSION) {
                (void)snprintf(text, room, "hello.version: %llu is not spoken here, version %u is",
                        (unsigned long long)hello->version, SCN_PROTOCOL_VERSION);
                return SCN_E_VERSION;
        }
        if (scn_uid_is_none(hello->client)) {
                (void)snprintf(text, room, "hello.client: no uid");
                return SCN_E_RANGE;
        }
        if (hello->name.size > SCN_SERVER_author_bytes_max) {
                (void)snprintf(text, room, "hello.name: of %u bytes, author_bytes_max = %u", hello->name.size,
                        SCN_SERVER_author_bytes_max);
                return SCN_E_RANGE;
        }
        if (hello->ping != SCN_ABSENT && (hello->ping == 0 || hello->ping > SCN_SERVER_ping_max)) {
                (void)snprintf(text, room, "hello.ping: from 1 second to ping_max = %u", SCN_SERVER_ping_max);
                return SCN_E_RANGE;
        }
        return SCN_OK;
}

static void handle_hello(struct scn_session *session, const struct scn_message_hello *hello)
{
        char text[96];
        const enum scn_error error = check_hello(hello, text, sizeof text);
        if (error != SCN_OK) {
                scn_session_end(session, error, text);
                return;
        }
        session->promised_ms = hello->ping == SCN_ABSENT ? 0 : hello->ping * 1000;
        session->client = hello->client;
        if (!take_author(session, hello->name)) {
                scn_session_end(session, SCN_E_NO_MEMORY, NULL);
                return;
        }
        session->state = SCN_SESSION_KNOWN;
        session->reader.message_bytes_max = SCN_MESSAGE_BYTES_MAX;
        struct scn_buffer limits;
        scn_buffer_init(&limits, 4096);
        struct scn_packer packer = scn_packer_to(&limits);
        pack_limits(&packer, &session->server->options);
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_welcome);
        message.as.welcome.version = SCN_PROTOCOL_VERSION;
        message.as.welcome.session = session->number;
        message.as.welcome.limits = (struct scn_slice){limits.data, (uint32_t)limits.size};
        message.as.welcome.agent = text_of(session->server->options.agent);
        scn_session_send(session, &message);
        scn_buffer_finish(&limits);
}

/* --- Administration --- */

static void handle_kick(struct scn_session *session, const struct scn_message_kick *message)
{
        struct scn_session *target = scn_server_find_session(session->server, message->session);
        if (target == NULL) {
                scn_session_fail(session, message->request, SCN_E_NO_SESSION, NULL);
                return;
        }
        struct scn_message answer;
        scn_message_init(&answer, SCN_MESSAGE_answer);
        answer.as.answer.request = message->request;
        answer.as.answer.body = text_of("\xc3");
        scn_session_send(session, &answer);
        scn_session_end(target, SCN_E_KICKED, NULL);
}

static void handle_ping(struct scn_session *session, uint64_t request)
{
        struct scn_message answer;
        scn_message_init(&answer, SCN_MESSAGE_answer);
        answer.as.answer.request = request;
        answer.as.answer.body = text_of("\xc3");
        scn_session_send(session, &answer);
}

/* --- Views --- */

static bool handle_view(struct scn_session *session, const struct scn_message_view *message)
{
        if (!scn_room_is_settled(session->room)) {
                return false;
        }
        const enum scn_error error = scn_view_start(session, message);
        if (error != SCN_OK) {
                scn_session_fail(session, message->request, error, NULL);
        }
        return true;
}

/* --- Dispatch --- */

static uint64_t request_of(const struct scn_message *message)
{
        /* By convention the first member; see note_request() in message.c. */
        const bool is_answered = message->kind != SCN_MESSAGE_unview && message->kind != SCN_MESSAGE_presence &&
                message->kind != SCN_MESSAGE_preview;
        return is_answered ? message->as.ping.request : SCN_ABSENT;
}

static bool on_ping(struct scn_session *session, const struct scn_message *message)
{
        handle_ping(session, message->as.ping.request);
        return true;
}

static bool on_documents(struct scn_session *session, const struct scn_message *message)
{
        return scn_handle_documents(session, &message->as.documents);
}

static bool on_manage(struct scn_session *session, const struct scn_message *message)
{
        scn_handle_manage(session, &message->as.manage);
        return true;
}

/* What can be large waits until less is under way to all. */
static bool on_who(struct scn_session *session, const struct scn_message *message)
{
        if (scn_session_is_lent(session) || !scn_output_claim(session->server)) {
                return false;
        }
        scn_handle_who(session, message->as.who.request);
        return true;
}

static bool on_kick(struct scn_session *session, const struct scn_message *message)
{
        handle_kick(session, &message->as.kick);
        return true;
}

static bool on_open(struct scn_session *session, const struct scn_message *message)
{
        if (session->state != SCN_SESSION_KNOWN) {
                scn_session_fail(session, message->as.open.request, SCN_E_OUT_OF_TURN,
                        session->state == SCN_SESSION_OPENING
                                ? "open: one is under way, and its answer has to be awaited"
                                : "open: a document is open already");
                return true;
        }
        session->state = SCN_SESSION_OPENING;
        scn_room_enter(session, message->as.open.document, message->as.open.create, message->as.open.request);
        return true;
}

/* For the room's turn. */
static bool on_edit(struct scn_session *session, const struct scn_message *message)
{
        (void)session;
        (void)message;
        return false;
}

static bool on_view(struct scn_session *session, const struct scn_message *message)
{
        return handle_view(session, &message->as.view);
}

static bool on_unview(struct scn_session *session, const struct scn_message *message)
{
        scn_view_stop(session, message->as.unview.view);
        return true;
}

static bool on_world(struct scn_session *session, const struct scn_message *message)
{
        if (message->as.world.durable && !scn_room_is_settled(session->room)) {
                return false;
        }
        if (message->as.world.at.data != NULL) {
                return scn_history_ask(session, message);
        }
        if (!scn_output_claim(session->server)) {
                return false;
        }
        return scn_handle_query(session, message);
}

static bool on_tree(struct scn_session *session, const struct scn_message *message)
{
        if (message->as.tree.at.data != NULL) {
                return scn_history_ask(session, message);
        }
        if (!scn_output_claim(session->server)) {
                return false;
        }
        return scn_handle_query(session, message);
}

static bool on_digest(struct scn_session *session, const struct scn_message *message)
{
        if (message->as.digest.at.data != NULL) {
                return scn_history_ask(session, message);
        }
        return scn_handle_query(session, message);
}

static bool on_info(struct scn_session *session, const struct scn_message *message)
{
        scn_handle_info(session, message->as.info.request);
        return true;
}

static bool on_history(struct scn_session *session, const struct scn_message *message)
{
        return scn_history_ask(session, message);
}

/* The revisions that its answer names must be in the journal. */
static bool on_blame(struct scn_session *session, const struct scn_message *message)
{
        return scn_room_is_settled(session->room) && scn_history_ask(session, message);
}

static bool on_tag(struct scn_session *session, const struct scn_message *message)
{
        return scn_tag_ask(session, &message->as.tag);
}

static bool on_fork(struct scn_session *session, const struct scn_message *message)
{
        return scn_fork_ask(session, &message->as.fork);
}

static bool on_backup(struct scn_session *session, const struct scn_message *message)
{
        return scn_backup_start(session, message->as.backup.request);
}

static bool on_adopt(struct scn_session *session, const struct scn_message *message)
{
        scn_adopt_take(session, &message->as.adopt);
        return true;
}

static bool on_presence(struct scn_session *session, const struct scn_message *message)
{
        scn_handle_presence(session, &message->as.presence);
        return true;
}

static bool on_preview(struct scn_session *session, const struct scn_message *message)
{
        scn_handle_preview(session, &message->as.preview);
        return true;
}

static bool on_lock(struct scn_session *session, const struct scn_message *message)
{
        scn_handle_lock(session, &message->as.lock);
        return true;
}

static bool on_unlock(struct scn_session *session, const struct scn_message *message)
{
        scn_handle_unlock(session, &message->as.unlock);
        return true;
}

/* What a session may say once it has said hello. */
static const struct {
        enum scn_message_kind kind;
        bool needs_room;
        bool (*handle)(struct scn_session *session, const struct scn_message *message);
} handlers[] = {
        {SCN_MESSAGE_ping, false, on_ping},
        {SCN_MESSAGE_documents, false, on_documents},
        {SCN_MESSAGE_manage, false, on_manage},
        {SCN_MESSAGE_who, false, on_who},
        {SCN_MESSAGE_kick, false, on_kick},
        {SCN_MESSAGE_adopt, false, on_adopt},
        {SCN_MESSAGE_open, false, on_open},
        {SCN_MESSAGE_edit, true, on_edit},
        {SCN_MESSAGE_undo, true, on_edit},
        {SCN_MESSAGE_redo, true, on_edit},
        {SCN_MESSAGE_restore, true, on_edit},
        {SCN_MESSAGE_view, true, on_view},
        {SCN_MESSAGE_unview, true, on_unview},
        {SCN_MESSAGE_world, true, on_world},
        {SCN_MESSAGE_tree, true, on_tree},
        {SCN_MESSAGE_digest, true, on_digest},
        {SCN_MESSAGE_info, true, on_info},
        {SCN_MESSAGE_log, true, on_history},
        {SCN_MESSAGE_replay, true, on_history},
        {SCN_MESSAGE_verify, true, on_history},
        {SCN_MESSAGE_backup, true, on_backup},
        {SCN_MESSAGE_presence, true, on_presence},
        {SCN_MESSAGE_preview, true, on_preview},
        {SCN_MESSAGE_lock, true, on_lock},
        {SCN_MESSAGE_unlock, true, on_unlock},
        {SCN_MESSAGE_tag, true, on_tag},
        {SCN_MESSAGE_tags, true, on_history},
        {SCN_MESSAGE_blame, true, on_blame},
        {SCN_MESSAGE_fork, true, on_fork},
};

/* By its name, for not all have a request that would tell which it was. */
static void refuse_unopened(struct scn_session *session, const struct scn_message *message)
{
        char text[96];
        (void)snprintf(text, sizeof text, "%s: %s", scn_message_name(message->kind), scn_error_text(SCN_E_NOT_OPEN));
        scn_session_note_refused(session, message);
        scn_session_reject(session, message->kind, request_of(message), SCN_E_NOT_OPEN, text);
}

bool scn_handle(struct scn_session *session, const struct scn_message *message)
{
        if (session->state == SCN_SESSION_NEW) {
                if (message->kind == SCN_MESSAGE_hello) {
                        handle_hello(session, &message->as.hello);
                } else {
                        scn_session_end(session, SCN_E_OUT_OF_TURN, "hello comes first");
                }
                return true;
        }
        for (size_t i = 0; i < sizeof handlers / sizeof handlers[0]; i++) {
                if (handlers[i].kind != message->kind) {
                        continue;
                }
                if (handlers[i].needs_room && session->state == SCN_SESSION_OPENING) {
                        return false;
                }
                if (handlers[i].needs_room && session->state != SCN_SESSION_OPEN) {
                        refuse_unopened(session, message);
                        return true;
                }
                if (handlers[i].needs_room && scn_session_is_lent(session)) {
                        return false;
                }
                return handlers[i].handle(session, message);
        }
        scn_session_fail(session, SCN_ABSENT, SCN_E_OUT_OF_TURN, "hello comes only once");
        return true;
}
