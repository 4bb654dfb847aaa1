/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Views: each a replica of its own, with a cursor. What one lacks is computed from the document at the publish point
 * or when its session has drained; views with the same root, mask and cursor share one encoding. */

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/wire/columns.h"
#include "server/core.h"

#include <string.h>

/* --- One delta, encoded in parts --- */

/* The parts of one (root, mask, from), made once, sent to many. */
struct encoding {
        scn_revision from;
        bool is_fresh;
        bool is_empty;
        struct scn_shared_bytes **parts; /* maps of columns */
        size_t count;
        size_t capacity;
};

static void finish_encoding(struct encoding *encoding)
{
        for (size_t i = 0; i < encoding->count; i++) {
                scn_shared_bytes_unref(encoding->parts[i]);
        }
        scn_free(encoding->parts);
        *encoding = (struct encoding){0};
}

static enum scn_error encode_part(
        struct encoding *encoding, const struct scn_delta *delta, struct scn_columns_cursor *cursor, bool *has_more)
{
        struct scn_buffer buffer;
        scn_buffer_init(&buffer, SCN_MESSAGE_BYTES_MAX - 64);
        struct scn_packer packer = scn_packer_to(&buffer);
        *has_more = scn_columns_encode(&packer, delta, cursor);
        enum scn_error error = packer.error;
        if (error == SCN_OK &&
                !scn_grow((void **)&encoding->parts, &encoding->capacity, sizeof *encoding->parts, encoding->count + 1,
                        SIZE_MAX)) {
                error = SCN_E_NO_MEMORY;
        }
        if (error == SCN_OK) {
                encoding->parts[encoding->count] = scn_shared_bytes_create(buffer.data, (uint32_t)buffer.size);
                error = encoding->parts[encoding->count] == NULL ? SCN_E_NO_MEMORY : SCN_OK;
                encoding->count += error == SCN_OK;
        }
        scn_buffer_finish(&buffer);
        return error;
}

static enum scn_error encode(const struct scn_view *view, bool is_fresh, struct encoding *encoding)
{
        struct scn_delta delta = {0};
        const struct scn_delta_request request = {
                .root = view->group->root,
                .mask = view->group->mask,
                .is_fresh = is_fresh,
                .from = view->cursor,
        };
        *encoding = (struct encoding){.from = view->cursor, .is_fresh = is_fresh};
        enum scn_error error = scn_delta_compute(view->group->room->document, &request, &delta);
        encoding->is_empty = error == SCN_OK && !delta.is_whole && scn_delta_is_empty(&delta);
        struct scn_columns_cursor cursor = {0};
        bool has_more = !encoding->is_empty;
        while (error == SCN_OK && has_more) {
                error = encode_part(encoding, &delta, &cursor, &has_more);
        }
        scn_delta_finish(&delta);
        if (error != SCN_OK) {
                finish_encoding(encoding);
        }
        return error;
}

/* A delta message is its head, which is the view's own, and the shared columns behind it. */
static void send_part(
        struct scn_view *view, struct scn_shared_bytes *columns, scn_revision to, uint64_t back, bool more)
{
        struct scn_buffer head;
        struct scn_buffer frame;
        struct scn_session *session = view->session;
        scn_buffer_init(&head, 64);
        scn_buffer_init(&frame, 64);
        struct scn_packer packer = scn_packer_to(&head);
        scn_pack_array(&packer, more ? 6 : 5);
        scn_pack_uint(&packer, SCN_MESSAGE_delta);
        scn_pack_uint(&packer, view->number);
        scn_pack_uint(&packer, to);
        scn_pack_uint(&packer, back);
        const size_t size = head.size + columns->size + more;
        const bool is_good = packer.error == SCN_OK && scn_frame_append_head(&frame, size) == SCN_OK &&
                scn_buffer_append(&frame, head.data, head.size) == SCN_OK;
        struct scn_shared_bytes *start = is_good ? scn_shared_bytes_create(frame.data, (uint32_t)frame.size) : NULL;
        struct scn_shared_bytes *end = more ? scn_shared_bytes_create("\xc3", 1) : NULL;
        if (start == NULL || (more && end == NULL)) {
                scn_session_end(session, SCN_E_NO_MEMORY, NULL);
        } else {
                scn_session_send_shared(session, start);
                scn_session_send_shared(session, columns);
                if (end != NULL) {
                        scn_session_send_shared(session, end);
                }
        }
        scn_shared_bytes_unref(start);
        scn_shared_bytes_unref(end);
        scn_buffer_finish(&head);
        scn_buffer_finish(&frame);
}

/* An edit shows to its author, but not in every view: that it has come is all there is to say then. */
static bool is_owed(const struct scn_view *view)
{
        return view->told < view->session->owed;
}

static void send_nothing(struct scn_view *view, scn_revision to)
{
        struct scn_shared_bytes *columns = scn_shared_bytes_create("\x80", 1);
        if (columns == NULL) {
                scn_session_end(view->session, SCN_E_NO_MEMORY, NULL);
                return;
        }
        send_part(view, columns, to, to - view->told, false);
        scn_shared_bytes_unref(columns);
        view->told = to;
}

static void send_encoding(struct scn_view *view, const struct encoding *encoding)
{
        const scn_revision revision = scn_document_revision(view->group->room->document);
        const uint64_t back = encoding->is_fresh ? revision : revision - view->told;
        for (size_t i = 0; i < encoding->count && view->session->state == SCN_SESSION_OPEN; i++) {
                send_part(view, encoding->parts[i], revision, back, i + 1 < encoding->count);
        }
        view->cursor = revision;
        view->told = encoding->count > 0 ? revision : view->told;
        view->is_fresh = false;
        if (is_owed(view)) {
                send_nothing(view, revision);
        }
}

/* Sends a view what it lacks; `shared` keeps the last encoding for the next view of the group. */
static void send_lack(struct scn_view *view, struct encoding *shared)
{
        const struct scn_document *document = view->group->room->document;
        bool is_fresh = view->is_fresh || view->cursor < scn_document_horizon(document);
        const bool is_known =
                shared->count > 0 && shared->is_fresh == is_fresh && (is_fresh || shared->from == view->cursor);
        if (!is_fresh && view->cursor == scn_document_revision(document) && !is_owed(view)) {
                return;
        }
        if (!is_known) {
                finish_encoding(shared);
                const enum scn_error error = encode(view, is_fresh, shared);
                if (error != SCN_OK) {
                        scn_session_end(view->session, error, NULL);
                        return;
                }
        }
        send_encoding(view, shared);
}

void scn_view_catch_up(struct scn_session *session)
{
        SCN_ASSERT(scn_room_is_settled(session->room));
        session->is_behind = false;
        struct scn_view *view = session->views;
        for (; view != NULL && session->state == SCN_SESSION_OPEN; view = view->next) {
                struct encoding shared = {0};
                if (!scn_session_is_drained(session)) {
                        session->is_behind = true;
                        return;
                }
                send_lack(view, &shared);
                finish_encoding(&shared);
        }
}

/* --- Groups: observers of what the room publishes --- */

static enum scn_error on_published(struct scn_event *event, const void **return_out, void *data)
{
        struct scn_view_group *group = data;
        struct encoding shared = {0};
        (void)event;
        (void)return_out;
        for (struct scn_view *view = group->views; view != NULL; view = view->next_in_group) {
                if (view->session->state != SCN_SESSION_OPEN) {
                        continue;
                }
                if (view->session->may_send) {
                        send_lack(view, &shared);
                } else {
                        view->session->is_behind = true;
                }
        }
        finish_encoding(&shared);
        return SCN_OK;
}

static struct scn_view_group *get_group(struct scn_room *room, struct scn_uid root, uint32_t mask)
{
        struct scn_view_group *group = room->groups;
        while (group != NULL && !(scn_uid_equal(group->root, root) && group->mask == mask)) {
                group = group->next;
        }
        if (group != NULL) {
                return group;
        }
        group = scn_alloc_zero(1, sizeof *group);
        if (group == NULL) {
                return NULL;
        }
        *group = (struct scn_view_group){.room = room, .root = root, .mask = mask};
        const struct scn_observer_options options = {
                .mask = mask | SCN_MASK_STRUCTURE, .callback = on_published, .data = group};
        if (scn_observable_add(room->published, &options, &group->observer) != SCN_OK) {
                scn_free(group);
                return NULL;
        }
        group->next = room->groups;
        room->groups = group;
        return group;
}

static void leave_group(struct scn_view *view)
{
        struct scn_view_group *group = view->group;
        struct scn_view **at = &group->views;
        while (*at != view) {
                at = &(*at)->next_in_group;
        }
        *at = view->next_in_group;
        if (group->views == NULL) {
                struct scn_view_group **place = &group->room->groups;
                while (*place != group) {
                        place = &(*place)->next;
                }
                *place = group->next;
                (void)scn_observable_remove(group->room->published, group->observer);
                scn_free(group);
        }
}

void scn_view_publish(struct scn_room *room, uint32_t mask)
{
        const enum scn_error error = scn_observable_notify(room->published, mask, NULL, NULL);
        SCN_ASSERT(error == SCN_OK);
}

/* --- Starting and stopping --- */

static struct scn_view *find_view(const struct scn_session *session, uint64_t number)
{
        struct scn_view *view = session->views;
        while (view != NULL && view->number != number) {
                view = view->next;
        }
        return view;
}

void scn_view_stop(struct scn_session *session, uint64_t number)
{
        struct scn_view **at = &session->views;
        while (*at != NULL && (*at)->number != number) {
                at = &(*at)->next;
        }
        if (*at != NULL) {
                struct scn_view *view = *at;
                *at = view->next;
                leave_group(view);
                session->views_count--;
                scn_free(view);
        }
}

void scn_view_stop_all(struct scn_session *session)
{
        while (session->views != NULL) {
                scn_view_stop(session, session->views->number);
        }
}

/* The last revision up to which an epoch's history is this one's; false: the file does not list it. */
static bool find_epoch(const struct scn_room *room, uint64_t epoch, scn_revision *last_out)
{
        *last_out = SCN_REVISION_MAX;
        if (epoch == room->epoch) {
                return true;
        }
        for (uint32_t i = 0; i < room->epochs_count; i++) {
                if (room->epochs[i].id == epoch) {
                        *last_out = room->epochs[i].ended;
                        return true;
                }
        }
        return false;
}

/* What the client has must be a state of this history, and not older than what the feed remembers (DESIGN §5). */
static bool can_resume(const struct scn_room *room, const struct scn_message_view *message)
{
        uint64_t epoch = 0;
        scn_revision last;
        if (message->epoch.size != sizeof epoch || message->rev == SCN_ABSENT) {
                return false;
        }
        memcpy(&epoch, message->epoch.data, sizeof epoch);
        return find_epoch(room, epoch, &last) && message->rev <= last &&
                message->rev <= scn_document_revision(room->document) &&
                message->rev >= scn_document_horizon(room->document);
}

static void answer_view(struct scn_session *session, const struct scn_message_view *message, bool is_resumed)
{
        struct scn_message answer;
        scn_message_init(&answer, SCN_MESSAGE_viewed);
        answer.as.viewed.request = message->request;
        answer.as.viewed.view = message->view;
        answer.as.viewed.resumed = is_resumed;
        answer.as.viewed.rev = session->room->durable;
        scn_session_send(session, &answer);
}

enum scn_error scn_view_start(struct scn_session *session, const struct scn_message_view *message)
{
        struct scn_room *room = session->room;
        scn_node_id root;
        const enum scn_error error = scn_document_find(room->document, &message->root, &root);
        if (error != SCN_OK) {
                return error;
        }
        if (find_view(session, message->view) == NULL && session->views_count >= SCN_VIEWS_PER_SESSION_MAX) {
                return SCN_E_TOO_MANY_VIEWS;
        }
        const uint32_t mask = (uint32_t)message->mask | SCN_MASK_STRUCTURE;
        struct scn_view *view = scn_alloc_zero(1, sizeof *view);
        struct scn_view_group *group =
                view == NULL ? NULL : get_group(room, scn_document_node(room->document, root).uid, mask);
        if (group == NULL) {
                scn_free(view);
                return SCN_E_NO_MEMORY;
        }
        scn_view_stop(session, message->view);
        const bool is_resumed = can_resume(room, message);
        *view = (struct scn_view){
                .next = session->views,
                .next_in_group = group->views,
                .group = group,
                .session = session,
                .number = message->view,
                .cursor = is_resumed ? message->rev : 0,
                .told = is_resumed ? message->rev : 0,
                .is_fresh = !is_resumed,
        };
        session->views = view;
        session->views_count++;
        group->views = view;
        answer_view(session, message, is_resumed);
        struct encoding shared = {0};
        send_lack(view, &shared);
        finish_encoding(&shared);
        scn_live_begin_view(view);
        return SCN_OK;
}
