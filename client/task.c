/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Sending what waits, and sending it again. */

#include "client/task.h"

#include "client/client.h"
#include "client/failure.h"
#include "client/upload.h"
#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"

struct scn_task *scn_task_create(enum scn_task_kind kind)
{
        struct scn_task *task = scn_alloc_zero(1, sizeof *task);
        if (task != NULL) {
                task->kind = kind;
                scn_buffer_init(&task->payload, SCN_MESSAGE_BYTES_MAX);
        }
        return task;
}

void scn_task_destroy(struct scn_task *task)
{
        if (task == NULL) {
                return;
        }
        SCN_ASSERT(task->on_top == 0);
        for (uint32_t i = 0; i < task->parts_count; i++) {
                scn_buffer_finish(&task->parts[i].bytes);
        }
        scn_free(task->parts);
        scn_buffer_finish(&task->payload);
        scn_free(task->failure);
        scn_upload_destroy(task->upload);
        scn_free(task);
}

/* --- The queue --- */

static bool has_number(const struct scn_task *task)
{
        return task->kind != SCN_TASK_REQUEST;
}

void scn_client_add_task(struct scn_client *client, struct scn_task *task)
{
        TAILQ_INSERT_TAIL(&client->tasks, task, link);
        client->pending_bytes += task->bytes;
        client->pending_count += has_number(task);
        if (client->next_task == NULL) {
                client->next_task = task;
                client->next_part = 0;
        }
}

void scn_client_remove_task(struct scn_client *client, struct scn_task *task)
{
        if (client->next_task == task) {
                client->next_task = TAILQ_NEXT(task, link);
                client->next_part = 0;
        }
        TAILQ_REMOVE(&client->tasks, task, link);
        client->pending_bytes -= task->bytes;
        client->pending_count -= has_number(task);
}

struct scn_task *scn_client_find_number(struct scn_client *client, uint64_t number)
{
        struct scn_task *task;
        TAILQ_FOREACH(task, &client->tasks, link)
        {
                if (has_number(task) && task->number == number && task->is_sent) {
                        return task;
                }
        }
        return NULL;
}

struct scn_task *scn_client_find_request(struct scn_client *client, uint64_t request)
{
        struct scn_task *task;
        TAILQ_FOREACH(task, &client->tasks, link)
        {
                if (!has_number(task) && task->number == request && task->is_sent) {
                        return task;
                }
        }
        return NULL;
}

/* --- Sending --- */

static enum scn_error send_filler(struct scn_client *client, uint64_t number)
{
        static const uint8_t no_ops[] = {0x90};
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_edit);
        message.as.edit.number = number;
        message.as.edit.ops = (struct scn_slice){no_ops, sizeof no_ops};
        return scn_client_send(client, &message);
}

/* Gives the number it goes by; and numbers below it that are answered already are used up. */
static enum scn_error prepare_number(struct scn_client *client, struct scn_task *task)
{
        if (task->number == 0) {
                task->number = client->next_number++;
        }
        while (client->last_number != 0 && client->last_number + 1 < task->number) {
                const enum scn_error error = send_filler(client, client->last_number + 1);
                if (error != SCN_OK) {
                        return error;
                }
                client->last_number++;
        }
        return SCN_OK;
}

static enum scn_error send_numbered(struct scn_client *client, struct scn_task *task)
{
        enum scn_error error = client->next_part == 0 ? prepare_number(client, task) : SCN_OK;
        if (error != SCN_OK) {
                return error;
        }
        struct scn_message message = task->message;
        bool has_more = false;
        if (message.kind == SCN_MESSAGE_edit) {
                const struct scn_draft_part *part = &task->parts[client->next_part];
                has_more = client->next_part + 1 < task->parts_count;
                message.as.edit.number = task->number;
                message.as.edit.ops =
                        (struct scn_slice){part->bytes.data + part->start, (uint32_t)part->bytes.size - part->start};
                message.as.edit.more = has_more;
        } else if (message.kind == SCN_MESSAGE_undo) {
                message.as.undo.number = task->number;
        } else if (message.kind == SCN_MESSAGE_restore) {
                message.as.restore.number = task->number;
        } else {
                message.as.redo.number = task->number;
        }
        error = scn_client_send(client, &message);
        if (error == SCN_OK) {
                task->is_sent = true;
                client->last_number = task->number;
                client->next_part++;
                if (!has_more) {
                        client->next_task = TAILQ_NEXT(task, link);
                        client->next_part = 0;
                }
        }
        return error;
}

static enum scn_error send_request(struct scn_client *client, struct scn_task *task)
{
        const enum scn_error error =
                scn_client_send_payload(client, (struct scn_slice){task->payload.data, (uint32_t)task->payload.size});
        if (error == SCN_OK) {
                task->is_sent = true;
                client->next_task = TAILQ_NEXT(task, link);
        }
        return error;
}

static struct scn_view *next_view(struct scn_client *client)
{
        struct scn_view *view;
        TAILQ_FOREACH(view, &client->views, link)
        {
                if (view->is_wanted && !view->is_dead) {
                        return view;
                }
        }
        return NULL;
}

/* What was sent before the connection broke comes first: most of it is stored and answered at once, so that views
 * do not show old edits on top of what is newer. An edit in parts is not interrupted. */
bool scn_client_send_next(struct scn_client *client)
{
        if (client->state != SCN_CLIENT_OPEN || client->is_broken) {
                return false;
        }
        struct scn_task *task = client->next_task;
        const bool is_urgent = task != NULL && (task->is_resent || client->next_part > 0);
        struct scn_view *view = is_urgent ? NULL : next_view(client);
        if (view != NULL) {
                return scn_view_send_request(view) == SCN_OK;
        }
        if (!is_urgent && scn_client_send_own(client)) {
                return true;
        }
        if (task == NULL) {
                return false;
        }
        return (has_number(task) ? send_numbered(client, task) : send_request(client, task)) == SCN_OK;
}

void scn_client_unsend(struct scn_client *client)
{
        const struct scn_failure failure = scn_failure_of("disconnected", "the connection broke before the answer");
        struct scn_task *task = TAILQ_FIRST(&client->tasks);
        while (task != NULL) {
                struct scn_task *next = TAILQ_NEXT(task, link);
                if (task->is_sent && !has_number(task)) {
                        scn_client_fail_task(client, task, &failure);
                } else if (task->is_sent) {
                        task->is_sent = false;
                        task->is_resent = true;
                }
                task = next;
        }
        client->next_task = TAILQ_FIRST(&client->tasks);
        client->next_part = 0;
        client->last_number = 0;
}

/* --- The end --- */

void scn_client_fail_task(struct scn_client *client, struct scn_task *task, const struct scn_failure *failure)
{
        scn_client_remove_task(client, task);
        task->failure = scn_alloc(sizeof *failure);
        if (task->failure != NULL) {
                *task->failure = *failure;
                task->failure->detail = (struct scn_slice){NULL, 0};
        }
        if (task->kind == SCN_TASK_EDIT) {
                scn_client_own_answered(client, task, false);
                scn_client_unshow(client, task, failure);
        }
        TAILQ_INSERT_TAIL(&client->failed, task, link);
}

void scn_client_fail_all(struct scn_client *client, const struct scn_failure *failure)
{
        while (!TAILQ_EMPTY(&client->tasks)) {
                scn_client_fail_task(client, TAILQ_FIRST(&client->tasks), failure);
        }
}

static void tell_failed(struct scn_client *client, struct scn_task *task)
{
        const struct scn_failure no_memory = scn_failure_of_error(SCN_E_NO_MEMORY);
        const struct scn_failure *failure = task->failure != NULL ? task->failure : &no_memory;
        if (task->on_result != NULL) {
                const struct scn_result result = {.edit = task->edit, .failure = failure};
                task->on_result(client, &result, task->data);
        }
        if (task->on_answer != NULL) {
                const struct scn_answer answer = {.failure = failure};
                task->on_answer(client, &answer, task->data);
        }
        scn_task_destroy(task);
}

/* Those only that are there now: a callback may go on making requests that fail. */
void scn_client_tell_failed(struct scn_client *client)
{
        struct scn_task_queue now = TAILQ_HEAD_INITIALIZER(now);
        TAILQ_CONCAT(&now, &client->failed, link);
        while (!TAILQ_EMPTY(&now)) {
                struct scn_task *task = TAILQ_FIRST(&now);
                TAILQ_REMOVE(&now, task, link);
                tell_failed(client, task);
        }
}

void scn_client_sweep_accepted(struct scn_client *client)
{
        struct scn_task *task = TAILQ_FIRST(&client->accepted);
        while (task != NULL) {
                struct scn_task *next = TAILQ_NEXT(task, link);
                if (task->on_top == 0) {
                        TAILQ_REMOVE(&client->accepted, task, link);
                        scn_task_destroy(task);
                }
                task = next;
        }
}
