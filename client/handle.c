/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What each message of the server does. An error ends the connection. */

#include "client/client.h"
#include "client/failure.h"
#include "client/upload.h"

#include <string.h>

static bool is_word(struct scn_slice text, const char *word)
{
        return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

/* --- The greeting --- */

/* The server's limits where it states them: a mirror must hold what the server holds. */
static void take_limits(struct scn_client *client, struct scn_slice map)
{
        struct scn_unpacker unpacker = scn_unpacker_from(map);
        const uint32_t count = scn_unpack_map(&unpacker);
        for (uint32_t i = 0; i < count && unpacker.error == SCN_OK; i++) {
                const struct scn_slice name = scn_unpack_text(&unpacker, UINT32_MAX);
                struct scn_unpacker value = unpacker;
                (void)scn_unpack_raw(&unpacker);
                const uint64_t number = scn_unpack_uint(&value, UINT32_MAX);
                if (unpacker.error != SCN_OK || value.error != SCN_OK) {
                        continue;
                }
#define TAKE_LIMIT(field, usual, reason)                                                                               \
        if (is_word(name, #field)) {                                                                                   \
                client->limits.field = (uint32_t)number;                                                               \
        }
                SCN_LIMIT_LIST(TAKE_LIMIT)
#undef TAKE_LIMIT
        }
}

static enum scn_error handle_welcome(struct scn_client *client, const struct scn_message_welcome *welcome)
{
        if (client->state != SCN_CLIENT_GREETING || client->session != 0) {
                return SCN_E_OUT_OF_TURN;
        }
        client->session = welcome->session;
        take_limits(client, welcome->limits);
        if (client->document == NULL) {
                scn_client_set_state(client, SCN_CLIENT_OPEN);
        }
        return SCN_OK;
}

static enum scn_error handle_opened(struct scn_client *client, const struct scn_message_opened *opened)
{
        if (client->state != SCN_CLIENT_GREETING || opened->request != client->open_request ||
                opened->epoch.size != sizeof client->epoch) {
                return SCN_E_OUT_OF_TURN;
        }
        client->root = opened->root;
        client->history += client->history == 0 || memcmp(client->epoch, opened->epoch.data, sizeof client->epoch) != 0;
        memcpy(client->epoch, opened->epoch.data, sizeof client->epoch);
        const uint32_t size =
                opened->author.size < sizeof client->author ? opened->author.size : (uint32_t)sizeof client->author - 1;
        memcpy(client->author, opened->author.data, size);
        client->author[size] = '\0';
        if (client->next_number <= opened->number) {
                client->next_number = opened->number + 1;
        }
        scn_client_set_state(client, SCN_CLIENT_OPEN);
        return SCN_OK;
}

/* --- Edits --- */

static void tell_result(struct scn_client *client, struct scn_task *task, const struct scn_result *result)
{
        if (task->on_result != NULL) {
                task->on_result(client, result, task->data);
        }
}

static enum scn_error handle_applied(struct scn_client *client, const struct scn_message_applied *applied)
{
        struct scn_task *task = scn_client_find_number(client, applied->number);
        if (task == NULL) {
                return SCN_OK; /* one that took an answered number's place */
        }
        scn_client_remove_task(client, task);
        scn_client_own_answered(client, task, true);
        task->is_accepted = true;
        task->rev = applied->rev;
        task->history = client->history;
        TAILQ_INSERT_TAIL(&client->accepted, task, link);
        scn_client_settle(client, task);
        const struct scn_result result = {
                .edit = task->edit,
                .rev = applied->rev,
                .is_unchanged = applied->unchanged,
                .results = applied->results,
                .summary = applied->summary,
        };
        tell_result(client, task, &result);
        scn_client_tell_views(client);
        scn_client_sweep_accepted(client);
        return SCN_OK;
}

static struct scn_failure failure_of_refusal(const struct scn_message_refused *refused)
{
        struct scn_failure failure = scn_failure_told(refused->code, refused->text);
        failure.has_op = refused->op != SCN_ABSENT;
        failure.op = failure.has_op ? (uint32_t)refused->op : 0;
        failure.node = refused->node;
        failure.detail = refused->detail;
        return failure;
}

static enum scn_error handle_refused(struct scn_client *client, const struct scn_message_refused *refused)
{
        struct scn_task *task = scn_client_find_number(client, refused->number);
        const struct scn_failure failure = failure_of_refusal(refused);
        if (task == NULL) {
                return SCN_OK;
        }
        if (is_word(refused->code, "outcome_unknown")) {
                /* Whether it is stored will be known when it is sent again, to the document opened anew. */
                scn_client_break(client, &failure);
                return SCN_OK;
        }
        scn_client_remove_task(client, task);
        if (task->kind == SCN_TASK_EDIT) {
                scn_client_own_answered(client, task, false);
                scn_client_unshow(client, task, &failure);
        }
        const struct scn_result result = {.edit = task->edit, .failure = &failure};
        tell_result(client, task, &result);
        scn_task_destroy(task);
        scn_client_tell_views(client);
        return SCN_OK;
}

/* --- Failures --- */

/* Reasons to try again later; all others are final. */
static bool is_passing(struct scn_slice code)
{
        static const char *const words[] = {"busy", "stopping", "silent", "storage_busy", "storage_failed",
                "storage_full", "outcome_unknown", "no_memory", "slow"};
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
                if (is_word(code, words[i])) {
                        return true;
                }
        }
        return false;
}

/* No code: a message of ours could not even be read. Sent again it would be as bad, so that is final too. */
static void end_or_break(struct scn_client *client, struct scn_slice code, const struct scn_failure *failure)
{
        if (code.data != NULL && is_passing(code)) {
                scn_client_break(client, failure);
        } else {
                scn_client_end(client, failure);
        }
}

static void answer_task(struct scn_client *client, struct scn_task *task, const struct scn_answer *answer)
{
        if (!answer->has_more) {
                scn_client_remove_task(client, task);
        }
        if (task->on_answer != NULL) {
                task->on_answer(client, answer, task->data);
        }
        if (!answer->has_more) {
                scn_task_destroy(task);
        }
}

static enum scn_error handle_failed(struct scn_client *client, const struct scn_message_failed *failed)
{
        const struct scn_failure failure = scn_failure_told(failed->code, failed->text);
        if (client->state == SCN_CLIENT_GREETING && failed->request == client->open_request) {
                end_or_break(client, failed->code, &failure);
                return SCN_OK;
        }
        /* About a presence or preview: both sides have the same limits, but the newest counts, not each. */
        if (failed->request == SCN_ABSENT && !failed->closes && client->own.has_spoken) {
                return SCN_OK;
        }
        if (failed->request == SCN_ABSENT || failed->closes) {
                end_or_break(client, failed->closes ? failed->code : (struct scn_slice){NULL, 0}, &failure);
                return SCN_OK;
        }
        struct scn_task *task = scn_client_find_request(client, failed->request);
        struct scn_view *view = scn_client_find_view_request(client, failed->request);
        if (task != NULL) {
                const struct scn_answer answer = {.failure = &failure};
                answer_task(client, task, &answer);
        } else if (view != NULL) {
                scn_view_fail(view, &failure);
                scn_client_tell_views(client);
        }
        return SCN_OK;
}

/* --- Answers --- */

static void copy_slice(char *to, size_t room, uint32_t *size_out, struct scn_slice text)
{
        *size_out = text.size < room ? text.size : (uint32_t)room;
        if (*size_out > 0) {
                memcpy(to, text.data, *size_out);
        }
}

static void take_replay_member(struct scn_view *view, struct scn_slice key, struct scn_unpacker *value)
{
        if (is_word(key, "time")) {
                view->time_us = scn_unpack_uint(value, SCN_REVISION_MAX);
        } else if (is_word(key, "author")) {
                copy_slice(view->author, sizeof view->author, &view->author_size, scn_unpack_text(value, UINT32_MAX));
        } else if (is_word(key, "cause")) {
                copy_slice(view->cause, sizeof view->cause, &view->cause_size, scn_unpack_text(value, UINT32_MAX));
        } else if (is_word(key, "next")) {
                view->replay_next = scn_unpack_uint(value, SCN_REVISION_MAX);
        } else if (is_word(key, "digest")) {
                view->digest = scn_unpack_bin(value, UINT32_MAX);
        }
}

/* What the delta that follows belongs to; or, at the end, where to go on. */
static void take_replay_head(struct scn_view *view, struct scn_slice body)
{
        struct scn_unpacker unpacker = scn_unpacker_from(body);
        const uint32_t count = scn_unpack_kind(&unpacker) == SCN_PACK_MAP ? scn_unpack_map(&unpacker) : 0;
        view->has_head = true;
        view->time_us = 0;
        view->author_size = 0;
        view->cause_size = 0;
        view->replay_next = SCN_ABSENT;
        view->digest = (struct scn_slice){NULL, 0};
        for (uint32_t i = 0; i < count && unpacker.error == SCN_OK; i++) {
                const struct scn_slice key = scn_unpack_text(&unpacker, UINT32_MAX);
                struct scn_unpacker value = unpacker;
                (void)scn_unpack_raw(&unpacker);
                if (unpacker.error == SCN_OK) {
                        take_replay_member(view, key, &value);
                }
        }
}

static enum scn_error handle_answer(struct scn_client *client, const struct scn_message_answer *message)
{
        if (message->request == client->ping) {
                client->ping = SCN_ABSENT;
                return SCN_OK;
        }
        struct scn_task *task = scn_client_find_request(client, message->request);
        struct scn_view *view = scn_client_find_view_request(client, message->request);
        if (task != NULL) {
                const struct scn_answer answer = {
                        .body = message->body,
                        .rev = message->rev == SCN_ABSENT ? 0 : message->rev,
                        .durable = message->durable == SCN_ABSENT ? 0 : message->durable,
                        .has_more = message->more,
                };
                if (scn_upload_go_on(client, task, &answer) != SCN_OK) {
                        return SCN_E_NO_MEMORY;
                }
                answer_task(client, task, &answer);
        } else if (view != NULL && view->is_replay) {
                take_replay_head(view, message->body);
                if (!message->more) {
                        scn_view_end_replay(view);
                        scn_client_tell_views(client);
                }
        }
        return SCN_OK;
}

static enum scn_error handle_viewed(struct scn_client *client, const struct scn_message_viewed *viewed)
{
        struct scn_view *view = scn_client_find_view_request(client, viewed->request);
        if (view != NULL) {
                view->is_viewed = true;
                scn_view_clear_live(view);
                view->request = SCN_ABSENT;
                if (viewed->resumed && viewed->rev == scn_view_revision(view)) {
                        scn_view_resume(view);
                }
        }
        return SCN_OK;
}

static enum scn_error handle_delta(struct scn_client *client, const struct scn_message_delta *delta)
{
        struct scn_view *view = scn_client_find_view(client, delta->view);
        if (view != NULL) {
                scn_view_take_delta(view, delta);
                scn_client_sweep_accepted(client);
        }
        return SCN_OK;
}

static enum scn_error handle_live(struct scn_client *client, const struct scn_message_live *live)
{
        struct scn_view *view = scn_client_find_view(client, live->view);
        const enum scn_error error = view == NULL ? SCN_OK : scn_view_take_live(view, live);
        scn_client_tell_views(client);
        return error;
}

enum scn_error scn_client_handle(struct scn_client *client, struct scn_slice payload)
{
        struct scn_message message;
        struct scn_message_fault fault;
        const enum scn_error error = scn_message_decode(payload, SCN_RECEIVER_CLIENT, &message, &fault);
        if (error == SCN_E_UNKNOWN_MESSAGE) {
                return SCN_OK; /* of a later version, and thus not for us */
        }
        if (error != SCN_OK) {
                return error;
        }
        if (client->session == 0 && message.kind != SCN_MESSAGE_welcome && message.kind != SCN_MESSAGE_failed) {
                return SCN_E_OUT_OF_TURN;
        }
        switch (message.kind) {
        case SCN_MESSAGE_welcome:
                return handle_welcome(client, &message.as.welcome);
        case SCN_MESSAGE_opened:
                return handle_opened(client, &message.as.opened);
        case SCN_MESSAGE_applied:
                return handle_applied(client, &message.as.applied);
        case SCN_MESSAGE_refused:
                return handle_refused(client, &message.as.refused);
        case SCN_MESSAGE_failed:
                return handle_failed(client, &message.as.failed);
        case SCN_MESSAGE_delta:
                return handle_delta(client, &message.as.delta);
        case SCN_MESSAGE_viewed:
                return handle_viewed(client, &message.as.viewed);
        case SCN_MESSAGE_answer:
                return handle_answer(client, &message.as.answer);
        case SCN_MESSAGE_live:
                return handle_live(client, &message.as.live);
        case SCN_MESSAGE_hello:
        case SCN_MESSAGE_open:
        case SCN_MESSAGE_edit:
        case SCN_MESSAGE_view:
        case SCN_MESSAGE_unview:
        case SCN_MESSAGE_undo:
        case SCN_MESSAGE_redo:
        case SCN_MESSAGE_world:
        case SCN_MESSAGE_tree:
        case SCN_MESSAGE_digest:
        case SCN_MESSAGE_log:
        case SCN_MESSAGE_replay:
        case SCN_MESSAGE_documents:
        case SCN_MESSAGE_manage:
        case SCN_MESSAGE_info:
        case SCN_MESSAGE_who:
        case SCN_MESSAGE_kick:
        case SCN_MESSAGE_verify:
        case SCN_MESSAGE_backup:
        case SCN_MESSAGE_ping:
        case SCN_MESSAGE_presence:
        case SCN_MESSAGE_preview:
        case SCN_MESSAGE_lock:
        case SCN_MESSAGE_unlock:
        case SCN_MESSAGE_tag:
        case SCN_MESSAGE_tags:
        case SCN_MESSAGE_blame:
        case SCN_MESSAGE_restore:
        case SCN_MESSAGE_fork:
        case SCN_MESSAGE_adopt:
                break;
        }
        return SCN_E_OUT_OF_TURN;
}
