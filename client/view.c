/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Views: their lives, what is asked of the server for them, and what is told of them. */

#include "client/client.h"
#include "client/draft.h"
#include "client/failure.h"
#include "protocol/base/alloc.h"
#include "protocol/base/uid.h"

#include <string.h>

struct scn_view_observer {
        struct scn_view_observer *next;
        struct scn_view *view;
        struct scn_observer *observer;
        scn_view_fn callback;
        void *data;
};

/* --- Life --- */

static void random_of(void *data, uint8_t *bytes, size_t size)
{
        const struct scn_client *client = data;
        client->random(client->data, bytes, size);
}

static enum scn_error set_root(struct scn_view *view, struct scn_target root)
{
        view->root = scn_ref_of_target(root);
        if (view->root.kind == SCN_REF_PATH) {
                view->path = scn_alloc(view->root.path.size + 1u);
                if (view->path == NULL) {
                        return SCN_E_NO_MEMORY;
                }
                memcpy(view->path, root.path, view->root.path.size + 1u);
                view->root.path.data = (const uint8_t *)view->path;
        }
        return SCN_OK;
}

void scn_view_free(struct scn_view *view)
{
        while (view->queue_first != NULL) {
                struct scn_told *next = view->queue_first->next;
                scn_told_finish(view->queue_first);
                scn_free(view->queue_first);
                view->queue_first = next;
        }
        while (view->observers != NULL) {
                struct scn_view_observer *next = view->observers->next;
                if (view->observers->observer != NULL) {
                        (void)scn_observable_remove(view->observable, view->observers->observer);
                }
                scn_free(view->observers);
                view->observers = next;
        }
        scn_observable_destroy(view->observable);
        if (view->mirror.document != NULL) {
                scn_mirror_finish(&view->mirror);
        }
        scn_buffer_finish(&view->replay_from);
        scn_buffer_finish(&view->replay_to);
        scn_free(view->replay_author);
        scn_view_clear_live(view);
        scn_worlds_destroy(view->worlds);
        scn_free(view->end);
        scn_free(view->path);
        scn_free(view);
}

struct scn_view *scn_view_make(struct scn_client *client, uint32_t mask)
{
        struct scn_view *view = scn_alloc_zero(1, sizeof *view);
        if (view == NULL) {
                return NULL;
        }
        view->client = client;
        view->number = ++client->numbers;
        view->request = SCN_ABSENT;
        view->mask = mask == 0 ? SCN_MASK_ALL : mask;
        view->rate = SCN_ABSENT;
        view->is_wanted = true;
        view->observable = scn_observable_create();
        if (view->observable == NULL) {
                scn_free(view);
                return NULL;
        }
        const struct scn_document_options options = {
                .limits = client->limits,
                .hash_seed = client->hash_seed,
                .random = random_of,
                .random_data = client,
        };
        if (scn_mirror_init(&view->mirror, &options, (uint32_t)view->mask | SCN_MASK_STRUCTURE) != SCN_OK) {
                view->mirror.document = NULL;
                scn_view_free(view);
                return NULL;
        }
        return view;
}

enum scn_error scn_view_begin(
        struct scn_view *view, struct scn_target root, scn_view_fn on_change, scn_view_end_fn on_end, void *data)
{
        enum scn_error error = set_root(view, root);
        view->on_end = on_end;
        view->data = data;
        if (error == SCN_OK && on_change != NULL) {
                error = scn_view_observe(view, SCN_MASK_ALL, on_change, data, NULL);
        }
        if (error != SCN_OK) {
                scn_view_free(view);
                return error;
        }
        TAILQ_INSERT_TAIL(&view->client->views, view, link);
        return SCN_OK;
}

enum scn_error scn_view_create(
        struct scn_client *client, const struct scn_view_options *options, struct scn_view **view_out)
{
        /* A program built against an older library knows fewer options. */
        struct scn_view_options full = SCN_VIEW_OPTIONS_INIT;
        SCN_ASSERT(options->size >= sizeof options->size && options->size <= sizeof full);
        memcpy(&full, options, options->size);
        struct scn_view *view = scn_view_make(client, full.mask);
        if (view == NULL) {
                return SCN_E_NO_MEMORY;
        }
        view->rate = full.rate == 0 ? SCN_ABSENT : full.rate;
        view->on_live = full.on_live;
        view->on_worlds = full.on_worlds;
        if ((full.mask & (SCN_MASK_DURABLE | SCN_MASK_WORLD)) == SCN_MASK_WORLD) {
                view->worlds = scn_worlds_create();
                if (view->worlds == NULL) {
                        scn_view_free(view);
                        return SCN_E_NO_MEMORY;
                }
        }
        const enum scn_error error = scn_view_begin(view, full.root, full.on_change, full.on_end, full.data);
        if (error == SCN_OK) {
                *view_out = view;
        }
        return error;
}

static void send_unview(struct scn_view *view)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_unview);
        message.as.unview.view = view->number;
        if (scn_client_send(view->client, &message) != SCN_OK) {
                const struct scn_failure failure = scn_failure_of_error(SCN_E_NO_MEMORY);
                scn_client_break(view->client, &failure);
        }
}

/* Its edits stay pending; only what shows of them goes. */
void scn_view_destroy(struct scn_view *view)
{
        if (view == NULL || view->is_dead) {
                return;
        }
        struct scn_client *client = view->client;
        struct scn_draft *draft;
        TAILQ_FOREACH(draft, &client->drafts, link)
        {
                draft->view = draft->view == view ? NULL : draft->view;
        }
        if (view->is_asked && !view->is_ended && !view->is_replay && client->state == SCN_CLIENT_OPEN) {
                send_unview(view);
        }
        view->is_dead = true;
        if (!client->is_dispatching) {
                scn_client_sweep_views(client);
        }
}

void scn_client_sweep_views(struct scn_client *client)
{
        struct scn_view *view = TAILQ_FIRST(&client->views);
        while (view != NULL) {
                struct scn_view *next = TAILQ_NEXT(view, link);
                if (view->is_dead) {
                        TAILQ_REMOVE(&client->views, view, link);
                        scn_view_free(view);
                }
                view = next;
        }
        scn_client_sweep_accepted(client);
}

/* --- Observers --- */

static enum scn_error call_observer(struct scn_event *event, const void **return_out, void *data)
{
        const struct scn_view_observer *observer = data;
        (void)return_out;
        if (!observer->view->is_dead) {
                observer->callback(observer->view, event->data, observer->data);
        }
        return SCN_OK;
}

enum scn_error scn_view_observe(
        struct scn_view *view, uint32_t mask, scn_view_fn callback, void *data, struct scn_view_observer **observer_out)
{
        struct scn_view_observer *observer = scn_alloc_zero(1, sizeof *observer);
        if (observer == NULL) {
                return SCN_E_NO_MEMORY;
        }
        observer->view = view;
        observer->callback = callback;
        observer->data = data;
        const struct scn_observer_options options = {.mask = mask, .callback = call_observer, .data = observer};
        const enum scn_error error = scn_observable_add(view->observable, &options, &observer->observer);
        if (error != SCN_OK) {
                scn_free(observer);
                return error;
        }
        observer->next = view->observers;
        view->observers = observer;
        if (observer_out != NULL) {
                *observer_out = observer;
        }
        return SCN_OK;
}

/* It may be the one that is being called, so its memory stays with the view. */
bool scn_view_unobserve(struct scn_view *view, struct scn_view_observer *observer)
{
        struct scn_view_observer *at = view->observers;
        while (at != NULL && at != observer) {
                at = at->next;
        }
        if (at == NULL || at->observer == NULL) {
                return false;
        }
        const bool was_there = scn_observable_remove(view->observable, at->observer);
        at->observer = NULL;
        return was_there;
}

/* --- Telling --- */

static void tell(struct scn_view *view, struct scn_told *told)
{
        const struct scn_view_event *event = scn_told_event(told);
        if (event->mask == 0 && !event->is_whole && event->kind != SCN_VIEW_DELTA) {
                return; /* an edit of which nothing shows here */
        }
        const uint32_t mask = event->is_whole || event->mask == 0 ? SCN_MASK_ALL : event->mask;
        const enum scn_error error = scn_observable_notify(view->observable, mask, event, NULL);
        SCN_ASSERT(error == SCN_OK);
}

/* Takes over what `told` owns; `told` is finished then. */
static void enqueue(struct scn_view *view, struct scn_told *told)
{
        struct scn_told *queued = scn_alloc(sizeof *queued);
        if (queued == NULL) {
                view->has_lost_event = true;
                scn_told_finish(told);
                return;
        }
        *queued = *told;
        queued->next = NULL;
        if (queued->event.failure != NULL) {
                queued->event.failure = &queued->failure;
        }
        if (view->queue_last != NULL) {
                view->queue_last->next = queued;
        } else {
                view->queue_first = queued;
        }
        view->queue_last = queued;
}

static void tell_end(struct scn_view *view)
{
        struct scn_failure *end = view->end;
        view->end = NULL;
        if (view->on_end != NULL && !view->is_dead) {
                view->on_end(view, end->code[0] == '\0' ? NULL : end, view->data);
        }
        scn_free(end);
}

static void tell_queue(struct scn_view *view)
{
        struct scn_told *told = view->queue_first;
        view->queue_first = view->queue_last = NULL;
        while (told != NULL) {
                struct scn_told *next = told->next;
                if (!view->is_dead) {
                        tell(view, told);
                }
                scn_told_finish(told);
                scn_free(told);
                told = next;
        }
        if (view->has_lost_event && !view->is_dead) {
                struct scn_told lost;
                scn_told_init(&lost, SCN_VIEW_DELTA);
                lost.is_poor = true;
                view->has_lost_event = false;
                tell(view, &lost);
        }
        const uint32_t live_mask = view->live_mask;
        view->live_mask = 0;
        if (live_mask != 0 && view->on_live != NULL && !view->is_dead) {
                view->on_live(view, live_mask, view->data);
        }
        if (view->end != NULL) {
                tell_end(view);
        }
}

void scn_client_tell_views(struct scn_client *client)
{
        struct scn_view *view;
        TAILQ_FOREACH(view, &client->views, link)
        {
                tell_queue(view);
        }
}

bool scn_client_has_news(const struct scn_client *client)
{
        const struct scn_view *view;
        TAILQ_FOREACH(view, &client->views, link)
        {
                if (view->queue_first != NULL || view->has_lost_event || view->end != NULL || view->live_mask != 0) {
                        return true;
                }
        }
        return !TAILQ_EMPTY(&client->failed) || client->told != client->state;
}

/* --- Own edits --- */

void scn_client_show(struct scn_client *client, struct scn_task *task)
{
        struct scn_view *view;
        TAILQ_FOREACH(view, &client->views, link)
        {
                if (view->is_replay || view->worlds != NULL || view->is_dead || view->is_ended) {
                        continue;
                }
                struct scn_told told;
                scn_told_init(&told, SCN_VIEW_EDITED);
                told.event.edit = task->edit;
                scn_mirror_show(&view->mirror, task, &told);
                enqueue(view, &told);
        }
}

void scn_client_unshow(struct scn_client *client, struct scn_task *task, const struct scn_failure *failure)
{
        struct scn_view *view;
        TAILQ_FOREACH(view, &client->views, link)
        {
                struct scn_told told;
                scn_told_init(&told, SCN_VIEW_REFUSED);
                told.event.edit = task->edit;
                told.failure = *failure;
                told.failure.detail = (struct scn_slice){NULL, 0};
                told.event.failure = &told.failure;
                if (scn_mirror_drop(&view->mirror, task, &told)) {
                        enqueue(view, &told);
                } else {
                        scn_told_finish(&told);
                }
        }
        SCN_ASSERT(task->on_top == 0);
}

void scn_client_settle(struct scn_client *client, struct scn_task *task)
{
        struct scn_view *view;
        TAILQ_FOREACH(view, &client->views, link)
        {
                struct scn_told told;
                scn_told_init(&told, SCN_VIEW_DELTA);
                told.event.from = told.event.to = view->mirror.cursor;
                if (scn_mirror_settle(&view->mirror, task, &told)) {
                        enqueue(view, &told);
                } else {
                        scn_told_finish(&told);
                }
        }
}

/* --- The server --- */

struct scn_view *scn_client_find_view(struct scn_client *client, uint64_t number)
{
        struct scn_view *view;
        TAILQ_FOREACH(view, &client->views, link)
        {
                if (view->number == number && view->is_asked && !view->is_dead) {
                        return view;
                }
        }
        return NULL;
}

struct scn_view *scn_client_find_view_request(struct scn_client *client, uint64_t request)
{
        struct scn_view *view;
        TAILQ_FOREACH(view, &client->views, link)
        {
                if (view->request == request && view->is_asked && !view->is_dead) {
                        return view;
                }
        }
        return NULL;
}

/* Once it has been there it goes by its uid: its path may be another node's by now. */
static struct scn_node_ref root_of(const struct scn_view *view)
{
        const struct scn_uid known = scn_view_root(view);
        if (!scn_uid_is_none(known)) {
                return scn_ref_of_target((struct scn_target){.uid = known});
        }
        if (view->root.kind != SCN_REF_NONE) {
                return view->root;
        }
        return scn_ref_of_target((struct scn_target){.uid = view->client->root});
}

static enum scn_error send_view(struct scn_view *view)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_view);
        view->request = ++view->client->numbers;
        message.as.view.request = view->request;
        message.as.view.view = view->number;
        message.as.view.root = root_of(view);
        message.as.view.mask = view->mask;
        message.as.view.rate = view->rate;
        if (view->mirror.is_ready && view->has_epoch) {
                message.as.view.epoch = (struct scn_slice){view->epoch, sizeof view->epoch};
                message.as.view.rev = view->mirror.cursor;
        }
        return scn_client_send(view->client, &message);
}

enum scn_error scn_view_send_request(struct scn_view *view)
{
        const enum scn_error error = view->is_replay ? scn_replay_send(view) : send_view(view);
        if (error == SCN_OK) {
                view->is_wanted = false;
                view->is_asked = true;
                view->is_viewed = view->is_replay;
        }
        return error;
}

void scn_view_fail(struct scn_view *view, const struct scn_failure *failure)
{
        view->is_ended = true;
        view->is_wanted = false;
        scn_mirror_bare(&view->mirror); /* no delta will come that would reach what is on top */
        if (view->end != NULL) {
                return;
        }
        view->end = scn_alloc(sizeof *view->end);
        if (view->end != NULL) {
                *view->end = *failure;
                view->end->detail = (struct scn_slice){NULL, 0};
        }
}

/* What was there before is asked for again, to be resumed; a replay is not worth that. */
void scn_view_unsend(struct scn_view *view)
{
        const bool was_asked = view->is_asked;
        view->is_asked = false;
        view->request = SCN_ABSENT;
        scn_mirror_forget_parts(&view->mirror);
        scn_view_clear_live(view);
        if (view->is_ended || !was_asked) {
                return;
        }
        if (view->is_replay) {
                const struct scn_failure failure = scn_failure_of("disconnected", "the connection broke");
                scn_view_fail(view, &failure);
        } else {
                view->is_wanted = true;
        }
}

/* A delta that does not fit means that one side is wrong: the whole view is asked for, once. */
static void doubt(struct scn_view *view, enum scn_error error)
{
        struct scn_failure failure = scn_failure_of_error(error);
        if (error == SCN_E_NO_MEMORY) {
                scn_client_break(view->client, &failure);
        } else if (view->is_doubted || view->is_replay) {
                if (!view->is_replay) {
                        send_unview(view);
                }
                failure = scn_failure_of("bad_delta", scn_error_text(error));
                scn_view_fail(view, &failure);
        } else {
                view->is_doubted = true;
                view->has_epoch = false;
                view->is_wanted = true;
                view->is_asked = false;
        }
}

static void copy_replay(struct scn_view *view, struct scn_told *told)
{
        if (view->is_replay && view->has_head) {
                told->event.time_us = view->time_us;
                told->event.author = (struct scn_slice){(const uint8_t *)view->author, view->author_size};
                told->event.cause = (struct scn_slice){(const uint8_t *)view->cause, view->cause_size};
        }
}

static void note_epoch(struct scn_view *view)
{
        view->has_epoch = true;
        memcpy(view->epoch, view->client->epoch, sizeof view->epoch);
}

/* In the history that the server is in now, which may have begun meanwhile: what was accepted in another one and is not
 * here yet is lost. */
void scn_view_resume(struct scn_view *view)
{
        struct scn_client *client = view->client;
        struct scn_task *task;
        view->mirror.history = client->history;
        note_epoch(view);
        TAILQ_FOREACH(task, &client->accepted, link)
        {
                scn_client_settle(client, task);
        }
        scn_client_tell_views(client);
        scn_client_sweep_accepted(client);
}

void scn_view_take_delta(struct scn_view *view, const struct scn_message_delta *delta)
{
        struct scn_client *client = view->client;
        /* What was under way when the view was asked for anew belongs to what it is not any more. */
        if (view->is_ended || !view->is_viewed || delta->back > delta->to) {
                return;
        }
        if (view->worlds != NULL) {
                const enum scn_error error = scn_worlds_take(view, delta);
                if (error != SCN_OK) {
                        doubt(view, error);
                }
                return;
        }
        struct scn_task_queue none = TAILQ_HEAD_INITIALIZER(none);
        const struct scn_mirror_tasks tasks = {
                view->is_replay ? &none : &client->accepted, view->is_replay ? &none : &client->tasks};
        scn_revision from = delta->to - delta->back;
        if (view->is_replay && from > view->mirror.cursor) {
                from = view->mirror.cursor; /* of revisions that change nothing here there is no delta */
        }
        const struct scn_mirror_part part = {delta->columns, from, delta->to, client->history, delta->more};
        struct scn_told told;
        scn_told_init(&told, SCN_VIEW_DELTA);
        copy_replay(view, &told);
        tell_queue(view);
        const enum scn_error error = scn_mirror_take(&view->mirror, &part, &tasks, &told);
        if (error != SCN_OK) {
                doubt(view, error);
        } else if (!delta->more) {
                view->is_doubted = false;
                note_epoch(view);
                if (!view->is_continued) {
                        tell(view, &told);
                }
                view->is_continued = false;
                view->has_head = false;
        }
        scn_told_finish(&told);
}
