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

static void handle_hello(struct scn_session *session, const struct scn_message_hello *hello)
{
        if (hello->version < SCN_PROTOCOL_VERSION) {
                char text[96];
                (void)snprintf(text, sizeof text, "hello.version: %llu is not spoken here, version %u is",
                        (unsigned long long)hello->version, SCN_PROTOCOL_VERSION);
                scn_session_end(session, SCN_E_VERSION, text);
                return;
        }
        if (scn_uid_is_none(hello->client)) {
                scn_session_end(session, SCN_E_RANGE, "hello.client: no uid");
                return;
        }
        if (hello->name.size > SCN_SERVER_author_bytes_max) {
                char text[80];
                (void)snprintf(text, sizeof text, "hello.name: longer than author_bytes_max = %u bytes",
                        SCN_SERVER_author_bytes_max);
                scn_session_end(session, SCN_E_RANGE, text);
                return;
        }
        if (hello->ping != SCN_ABSENT && (hello->ping == 0 || hello->ping > SCN_SERVER_ping_max)) {
                char text[80];
                (void)snprintf(text, sizeof text, "hello.ping: from 1 second to ping_max = %u", SCN_SERVER_ping_max);
                scn_session_end(session, SCN_E_RANGE, text);
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

/* --- Administration, on worker threads --- */

enum manage_action {
        MANAGE_LIST,
        MANAGE_LIST_TRASH,
        MANAGE_CREATE,
        MANAGE_DELETE,
        MANAGE_UNDELETE,
        MANAGE_RENAME,
};

/* Of a document in the list: what its file says, which need not be open for it. */
struct manage_state {
        enum scn_error error;
        struct scn_journal_state journal;
};

struct manage_job {
        struct scn_job job;
        struct scn_server *server;
        uint64_t session; /* number: it may be gone when the job is done */
        uint64_t request;
        struct scn_claim claims[2]; /* of name and to */
        enum manage_action action;
        struct scn_uid uids[2];
        int64_t now_us;
        struct scn_slice name; /* owned bytes, like to */
        struct scn_slice to;
        struct scn_room *room;       /* that is closed for it, or NULL */
        struct scn_journal *journal; /* of that room */
        bool wants_states;
        struct scn_storage_list list;
        struct manage_state *states; /* owned: one for each in the list; NULL: not asked for */
        enum scn_error error;
        bool is_of_old; /* ... renaming: the error, not of the new name */
        struct scn_storage_fault fault;
};

static void destroy_manage(struct manage_job *manage)
{
        scn_storage_list_finish(&manage->list);
        scn_free(manage->states);
        scn_free((void *)manage->name.data);
        scn_free((void *)manage->to.data);
        scn_free(manage);
}

static void look_into(const struct scn_storage *storage, struct scn_slice name, struct manage_state *state)
{
        static const struct scn_journal_options reading = {.mode = SCN_JOURNAL_READ};
        struct scn_journal *journal = NULL;
        state->error = scn_journal_open(storage, name, &reading, &journal, NULL);
        if (state->error == SCN_OK) {
                state->error = scn_journal_state(journal, &state->journal, NULL);
        }
        scn_journal_close(journal);
}

static enum scn_error list_documents(struct manage_job *manage)
{
        struct scn_storage *storage = manage->server->storage;
        const enum scn_storage_place place =
                manage->action == MANAGE_LIST_TRASH ? SCN_STORAGE_TRASH : SCN_STORAGE_DOCUMENTS;
        const enum scn_error error = scn_storage_list(storage, place, &manage->list, NULL);
        if (error != SCN_OK || !manage->wants_states) {
                return error;
        }
        manage->states = scn_alloc_zero(manage->list.count + 1, sizeof *manage->states);
        if (manage->states == NULL) {
                return SCN_E_NO_MEMORY;
        }
        for (size_t i = 0; i < manage->list.count; i++) {
                if (atomic_load(&manage->server->is_giving_up)) {
                        return SCN_E_STOPPING;
                }
                look_into(storage, manage->list.entries[i].name, &manage->states[i]);
        }
        return SCN_OK;
}

static void run_manage(struct scn_job *job)
{
        struct manage_job *manage = (struct manage_job *)job;
        struct scn_storage *storage = manage->server->storage;
        const struct scn_storage_birth birth = {
                .uid = manage->uids[0],
                .created_us = manage->now_us,
                .origin = {manage->uids[1].bytes, sizeof manage->uids[1].bytes},
        };
        scn_journal_close(manage->journal);
        switch (manage->action) {
        case MANAGE_LIST:
        case MANAGE_LIST_TRASH:
                manage->error = list_documents(manage);
                break;
        case MANAGE_CREATE:
                manage->error = scn_storage_create(storage, manage->name, &birth, &manage->fault);
                break;
        case MANAGE_DELETE:
                manage->error = scn_storage_delete(storage, manage->name, manage->now_us, &manage->fault);
                break;
        case MANAGE_UNDELETE:
                manage->error = scn_storage_undelete(storage, manage->name, &manage->fault);
                break;
        case MANAGE_RENAME:
                manage->error = scn_storage_rename(storage, manage->name, manage->to, &manage->fault);
                manage->is_of_old = manage->error == SCN_E_BAD_NAME &&
                        scn_storage_find(storage, manage->name, NULL) == SCN_E_BAD_NAME;
                break;
        }
}

static void pack_document(struct scn_packer *packer, const struct manage_job *manage, size_t index)
{
        const struct scn_slice name = manage->list.entries[index].name;
        const struct manage_state *state = manage->states != NULL ? &manage->states[index] : NULL;
        if (manage->action == MANAGE_LIST_TRASH) {
                scn_pack_map(packer, 2);
                scn_pack_cstring(packer, "doc");
                scn_pack_text(packer, name);
                scn_pack_cstring(packer, "deleted");
                scn_pack_uint(packer, (uint64_t)manage->list.entries[index].deleted_us);
                return;
        }
        if (state == NULL) {
                scn_pack_text(packer, name);
                return;
        }
        scn_pack_map(packer, state->error == SCN_OK ? 4 : 2);
        scn_pack_cstring(packer, "doc");
        scn_pack_text(packer, name);
        if (state->error != SCN_OK) {
                scn_pack_cstring(packer, "error");
                scn_pack_cstring(packer, scn_error_code(state->error));
                return;
        }
        scn_pack_cstring(packer, "uid");
        scn_pack_uid(packer, state->journal.uid);
        scn_pack_cstring(packer, "rev");
        scn_pack_uint(packer, state->journal.last_revision);
        scn_pack_cstring(packer, "epoch");
        scn_pack_bin(packer, (const uint8_t *)&state->journal.epoch, sizeof state->journal.epoch);
}

/* What the storage says of names is said in its files' names; of all else it knows more. */
static const char *manage_text(const struct manage_job *manage)
{
        if (manage->error == SCN_E_NO_DOCUMENT && manage->action == MANAGE_UNDELETE) {
                return "there is none of this name in the trash";
        }
        const bool is_of_name = manage->error == SCN_E_NO_DOCUMENT || manage->error == SCN_E_DOCUMENT_EXISTS ||
                manage->error == SCN_E_BAD_NAME;
        return is_of_name || manage->fault.text[0] == '\0' ? NULL : manage->fault.text;
}

static void answer_manage(struct scn_session *session, struct manage_job *manage)
{
        static const struct scn_slice none = {NULL, 0};
        if (manage->error != SCN_OK) {
                const bool is_rename = manage->action == MANAGE_RENAME;
                const struct scn_message asked = {.kind = SCN_MESSAGE_manage,
                        .as.manage = {
                                .document = manage->name, .to = is_rename && !manage->is_of_old ? manage->to : none}};
                scn_session_fail_about(session, &asked, manage->request, manage->error, manage_text(manage));
                return;
        }
        struct scn_buffer body;
        scn_buffer_init(&body, SCN_MESSAGE_BYTES_MAX - 64);
        struct scn_packer packer = scn_packer_to(&body);
        if (manage->action == MANAGE_LIST || manage->action == MANAGE_LIST_TRASH) {
                scn_pack_array(&packer, (uint32_t)manage->list.count);
                for (size_t i = 0; i < manage->list.count; i++) {
                        pack_document(&packer, manage, i);
                }
        } else {
                scn_pack_bool(&packer, true);
        }
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_answer);
        message.as.answer.request = manage->request;
        message.as.answer.body = (struct scn_slice){body.data, (uint32_t)body.size};
        if (packer.error == SCN_OK) {
                scn_session_send(session, &message);
        } else {
                scn_session_fail(session, manage->request, packer.error, NULL);
        }
        scn_buffer_finish(&body);
}

static void done_manage(struct scn_job *job)
{
        struct manage_job *manage = (struct manage_job *)job;
        struct scn_server *server = manage->server;
        struct scn_session *session = scn_server_find_session(server, manage->session);
        const bool is_listing = manage->wants_states;
        server->jobs_count--;
        server->has_listing = server->has_listing && !is_listing;
        for (int i = 0; i < 2; i++) {
                scn_server_give_name_back(server, &manage->claims[i]);
        }
        if (manage->room != NULL) {
                manage->room->jobs_count--;
                scn_room_tick(manage->room);
        }
        if (session != NULL) {
                answer_manage(session, manage);
                session->is_asking = false;
                scn_session_pump(session);
        }
        destroy_manage(manage);
        if (is_listing) {
                scn_server_pump(server); /* somebody may have waited for it to end */
        }
}

/* A document that is open, or is about to have its place taken, stays where it is: then that is said. */
static bool is_in_use(struct scn_session *session, uint64_t request, const struct scn_room *room, struct scn_slice name,
        struct scn_slice to)
{
        const bool is_open = room != NULL && !scn_room_is_unused(room);
        const bool is_of_new = !is_open && !scn_adopt_is_replacing(session->server, name);
        const struct scn_message asked = {.kind = SCN_MESSAGE_manage, .as.manage = {.document = is_of_new ? to : name}};
        if (is_of_new && !scn_adopt_is_replacing(session->server, to)) {
                return false;
        }
        scn_session_fail_about(session, &asked, request, SCN_E_BUSY,
                is_open ? "the document is open" : "a document of that name is being replaced");
        return true;
}

static void submit_manage(struct scn_session *session, uint64_t request, enum manage_action action,
        struct scn_slice name, struct scn_slice to, bool wants_states)
{
        struct scn_server *server = session->server;
        const struct scn_server_options *options = &server->options;
        struct scn_room *room =
                action == MANAGE_DELETE || action == MANAGE_RENAME ? scn_server_find_room(server, name) : NULL;
        if (is_in_use(session, request, room, name, action == MANAGE_RENAME ? to : name)) {
                return;
        }
        struct manage_job *manage = scn_alloc_zero(1, sizeof *manage);
        if (manage == NULL || !scn_slice_copy(name, &manage->name) || !scn_slice_copy(to, &manage->to)) {
                if (manage != NULL) {
                        destroy_manage(manage);
                }
                scn_session_fail(session, request, SCN_E_NO_MEMORY, NULL);
                return;
        }
        manage->job = (struct scn_job){.run = run_manage, .done = done_manage};
        manage->server = server;
        manage->session = session->number;
        manage->request = request;
        manage->action = action;
        manage->wants_states = wants_states;
        manage->now_us = (int64_t)options->utc_us(options->data);
        for (int i = 0; i < 2; i++) {
                uint8_t random[16];
                options->random(options->data, random, sizeof random);
                manage->uids[i] = scn_uid_from_random(random);
        }
        if (room != NULL) {
                manage->room = room;
                manage->journal = scn_room_retire(room);
        }
        if (action != MANAGE_LIST) {
                scn_server_claim_name(server, &manage->claims[0], manage->name);
                scn_server_claim_name(server, &manage->claims[1], manage->to);
        }
        server->has_listing = server->has_listing || wants_states;
        scn_server_note_reader(server);
        server->jobs_count++;
        session->is_asking = true;
        options->submit(options->data, &manage->job);
}

static void handle_manage(struct scn_session *session, const struct scn_message_manage *message)
{
        static const char *const actions[] = {"create", "delete", "undelete", "rename"};
        for (uint32_t i = 0; i < 4; i++) {
                const struct scn_slice action = text_of(actions[i]);
                if (action.size == message->action.size &&
                        memcmp(action.data, message->action.data, action.size) == 0) {
                        if (MANAGE_CREATE + i == MANAGE_RENAME && message->to.data == NULL) {
                                scn_session_fail_field(session, message->request, SCN_E_MISSING_FIELD, "manage.to");
                                return;
                        }
                        struct scn_storage_fault fault;
                        const enum scn_error error =
                                i == 0 ? scn_server_check_reserve(session->server, &fault) : SCN_OK;
                        if (error != SCN_OK) {
                                scn_session_fail(session, message->request, error, fault.text);
                                return;
                        }
                        scn_server_spend(session->server, 0);
                        submit_manage(session, message->request, (enum manage_action)(MANAGE_CREATE + i),
                                message->document, message->to, false);
                        return;
                }
        }
        scn_session_fail(session, message->request, SCN_E_BAD_MESSAGE, "manage.action is none of those there are");
}

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

/* One that opens every file is enough at a time: batches need workers, too. */
static bool on_documents(struct scn_session *session, const struct scn_message *message)
{
        const struct scn_slice none = {NULL, 0};
        const struct scn_message_documents *documents = &message->as.documents;
        const bool wants_states = documents->states && !documents->trash;
        if ((wants_states && session->server->has_listing) || !scn_output_claim(session->server)) {
                return false;
        }
        submit_manage(session, documents->request, documents->trash ? MANAGE_LIST_TRASH : MANAGE_LIST, none, none,
                wants_states);
        return true;
}

static bool on_manage(struct scn_session *session, const struct scn_message *message)
{
        handle_manage(session, &message->as.manage);
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
                        session->state == SCN_SESSION_OPENING ? "another open is under way: its answer comes first"
                                                              : "a document is open already");
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
        if (scn_query_is_long(session, message)) {
                return scn_query_lend(session, message);
        }
        scn_handle_world(session, &message->as.world);
        return true;
}

static bool on_tree(struct scn_session *session, const struct scn_message *message)
{
        if (message->as.tree.at.data != NULL) {
                return scn_history_ask(session, message);
        }
        if (!scn_output_claim(session->server)) {
                return false;
        }
        if (scn_query_is_long(session, message)) {
                return scn_query_lend(session, message);
        }
        scn_handle_tree(session, &message->as.tree);
        return true;
}

static bool on_digest(struct scn_session *session, const struct scn_message *message)
{
        if (message->as.digest.at.data != NULL) {
                return scn_history_ask(session, message);
        }
        if (scn_query_is_long(session, message)) {
                return scn_query_lend(session, message);
        }
        scn_handle_digest(session, &message->as.digest);
        return true;
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
                        scn_session_note_refused(session, message);
                        scn_session_reject(session, message->kind, request_of(message), SCN_E_NOT_OPEN, NULL);
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
