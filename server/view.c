/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Views: each a replica of its own, with a cursor. What one lacks is computed from the document at the publish point
 * or when its session has drained; views with the same root, mask and cursor share one encoding. */

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/wire/columns.h"
#include "server/core.h"

#include <string.h>

/* --- Sending --- */

/* Below this copying is cheaper than one more piece to send. */
#define FRAMED_BYTES_MAX 4096u

/* The frame's head and the message's, which are the view's own; the columns follow. */
static uint32_t write_head(
        const struct scn_view *view, uint32_t columns_size, scn_revision to, uint64_t back, bool more, uint8_t head[64])
{
        uint8_t fields[56];
        struct scn_buffer buffer = {.data = fields, .capacity = sizeof fields, .size_max = sizeof fields};
        struct scn_packer packer = scn_packer_to(&buffer);
        scn_pack_array(&packer, more ? 6 : 5);
        scn_pack_uint(&packer, SCN_MESSAGE_delta);
        scn_pack_uint(&packer, view->number);
        scn_pack_uint(&packer, to);
        scn_pack_uint(&packer, back);
        SCN_ASSERT(packer.error == SCN_OK);
        const uint32_t frame_size = scn_frame_head((uint32_t)buffer.size + columns_size + more, head);
        memcpy(head + frame_size, fields, buffer.size);
        return frame_size + (uint32_t)buffer.size;
}

static void send_part(
        struct scn_view *view, struct scn_shared_bytes *columns, scn_revision to, uint64_t back, bool more)
{
        uint8_t head[64];
        struct scn_session *session = view->session;
        const uint32_t head_size = write_head(view, columns->size, to, back, more, head);
        struct scn_shared_bytes *start = scn_shared_bytes_create(head, head_size);
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
}

/* A small delta goes out in one piece, which is made once for all who get the same. */
static void send_framed(struct scn_view *view, struct scn_encoding *encoding, uint64_t back)
{
        const bool is_made =
                encoding->framed != NULL && encoding->framed_view == view->number && encoding->framed_back == back;
        if (!is_made) {
                uint8_t head[64];
                const struct scn_shared_bytes *columns = encoding->parts[0];
                const uint32_t head_size = write_head(view, columns->size, encoding->to, back, false, head);
                scn_shared_bytes_unref(encoding->framed);
                encoding->framed = scn_shared_bytes_alloc(head_size + columns->size);
                if (encoding->framed == NULL) {
                        scn_session_end(view->session, SCN_E_NO_MEMORY, NULL);
                        return;
                }
                memcpy(encoding->framed->bytes, head, head_size);
                memcpy(encoding->framed->bytes + head_size, columns->bytes, columns->size);
                encoding->framed_view = view->number;
                encoding->framed_back = back;
        }
        scn_session_send_shared(view->session, encoding->framed);
}

/* An edit shows to its author, but not in every view: that it has come is all there is to say then. */
static bool is_owed(const struct scn_view *view)
{
        return view->is_resumed || view->told < view->session->owed;
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
        SCN_COUNT(view->session, deltas);
        view->told = to;
        view->is_resumed = false;
}

static void send_encoding(struct scn_view *view, struct scn_encoding *encoding, uint64_t back)
{
        const bool is_small = encoding->count == 1 && encoding->bytes <= FRAMED_BYTES_MAX;
        if (is_small) {
                send_framed(view, encoding, back);
        }
        for (size_t i = 0; !is_small && i < encoding->count && view->session->state == SCN_SESSION_OPEN; i++) {
                send_part(view, encoding->parts[i], encoding->to, back, i + 1 < encoding->count);
        }
        view->cursor = encoding->to;
        view->waiting_since = 0;
        if (encoding->count > 0) {
                SCN_COUNT(view->session, deltas);
                view->told = encoding->to;
                view->is_resumed = false;
        }
}

struct scn_delta_request scn_view_request(const struct scn_view_group *group, bool is_fresh, scn_revision from)
{
        return (struct scn_delta_request){
                .root = group->root, .mask = group->mask, .is_fresh = is_fresh, .from = is_fresh ? 0 : from};
}

static bool is_long(struct scn_view_group *group, const struct scn_delta_request *request)
{
        const bool is_known =
                request->is_fresh ? group->is_whole_long : group->long_from != 0 && group->long_from == request->from;
        if (is_known) {
                return true;
        }
        if (!scn_delta_is_long(scn_room_document(group->room), request, SCN_LONG_NODES)) {
                return false;
        }
        if (request->is_fresh) {
                group->is_whole_long = true;
        } else {
                group->long_from = request->from;
        }
        return true;
}

/* The view has to wait until a worker has made what it lacks. */
static void want(struct scn_view *view, bool is_whole)
{
        struct scn_room *room = view->group->room;
        if (view->waiting_since == 0) {
                view->waiting_since = ++room->wishes_ever;
        }
        view->waits_for_whole = is_whole;
        view->session->is_behind = true;
        room->wants_encoding = true;
}

/* NULL: the view has to wait, or its session has ended. */
static struct scn_encoding *encode(struct scn_view *view, scn_revision from, struct scn_encodings *encodings)
{
        struct scn_view_group *group = view->group;
        struct scn_document *document = scn_room_document(group->room);
        const scn_revision revision = scn_document_revision(document);
        const struct scn_delta_request request = scn_view_request(group, false, from);
        enum scn_error error = SCN_OK;
        if (group->ready.from == from && group->ready.to == revision && from < revision) {
                return &group->ready;
        }
        struct scn_encoding *encoding = scn_encodings_find(encodings, &request, revision);
        if (encoding == NULL && is_long(group, &request)) {
                want(view, false);
                return NULL;
        }
        if (encoding == NULL) {
                encoding = scn_encodings_make(encodings, document, &request, &error);
        }
        if (encoding == NULL) {
                scn_session_end(view->session, error, NULL);
        }
        return encoding;
}

/* A kept snapshot serves as long as what has changed since is under a quarter of it. *since_out: that, or NULL. */
static bool can_use_snapshot(struct scn_view *view, struct scn_encodings *encodings, struct scn_encoding **since_out)
{
        struct scn_view_group *group = view->group;
        const struct scn_document *document = scn_room_document(group->room);
        *since_out = NULL;
        if (group->snapshot.count == 0 || group->snapshot.to < scn_document_horizon(document)) {
                return false;
        }
        if (group->snapshot.to == scn_document_revision(document)) {
                return true;
        }
        const struct scn_delta_request request = scn_view_request(group, false, group->snapshot.to);
        if (is_long(group, &request)) {
                return false;
        }
        *since_out = encode(view, group->snapshot.to, encodings);
        return *since_out != NULL && (*since_out)->bytes < group->snapshot.bytes / 4;
}

static bool make_snapshot(struct scn_view *view)
{
        struct scn_view_group *group = view->group;
        const struct scn_delta_request request = scn_view_request(group, true, 0);
        if (is_long(group, &request)) {
                want(view, true);
                return false;
        }
        scn_encoding_finish(&group->snapshot);
        const enum scn_error error = scn_encoding_make(scn_room_document(group->room), &request, &group->snapshot);
        if (error != SCN_OK) {
                scn_session_end(view->session, error, NULL);
                return false;
        }
        group->whole_bytes = group->snapshot.bytes;
        return true;
}

/* The whole view: the group's snapshot, which everybody shares who joins, and what has changed since. False: it has to
 * wait, or its session has ended. */
static bool send_whole(struct scn_view *view, struct scn_encodings *encodings)
{
        struct scn_view_group *group = view->group;
        struct scn_encoding *since;
        if (!can_use_snapshot(view, encodings, &since)) {
                since = NULL;
                if (view->session->state != SCN_SESSION_OPEN || !make_snapshot(view)) {
                        return false;
                }
        }
        group->snapshot_used_ms = scn_server_now_ms(group->room->server);
        group->room->counters.snapshots++;
        send_encoding(view, &group->snapshot, group->snapshot.to);
        if (since != NULL) {
                send_encoding(view, since, since->to - since->from);
        }
        /* Nothing here has changed since, but who comes back may have been answered with what was done elsewhere. */
        if (view->told < view->cursor && view->session->state == SCN_SESSION_OPEN) {
                send_nothing(view, view->cursor);
        }
        view->is_fresh = false;
        return true;
}

/* False: it has to wait, for its time or until less is under way to all. */
static bool may_send(const struct scn_view *view)
{
        struct scn_room *room = view->group->room;
        const uint64_t now_ms = view->interval_ms == 0 ? 0 : scn_server_now_ms(room->server);
        if (now_ms < view->next_ms) {
                const bool is_first = room->views_due_ms == 0 || view->next_ms < room->views_due_ms;
                room->views_due_ms = is_first ? view->next_ms : room->views_due_ms;
                return false;
        }
        return scn_output_claim(room->server);
}

/* A delta of more than half the whole is no gain. */
static bool is_too_much(const struct scn_view_group *group, const struct scn_encoding *lack)
{
        return lack->bytes > SCN_COLUMNS_PART_BYTES && group->whole_bytes > 0 && lack->bytes > group->whole_bytes / 2;
}

/* Sends a view what it lacks. */
static void send_lack(struct scn_view *view, struct scn_encodings *encodings)
{
        const struct scn_document *document = scn_room_document(view->group->room);
        const scn_revision revision = scn_document_revision(document);
        const bool is_fresh = view->is_fresh || view->cursor < scn_document_horizon(document);
        if (!is_fresh && view->cursor == revision && !is_owed(view)) {
                return;
        }
        if (!may_send(view)) {
                view->session->is_behind = true;
                return;
        }
        struct scn_encoding *lack = is_fresh ? NULL : encode(view, view->cursor, encodings);
        if (lack == NULL && !is_fresh) {
                return;
        }
        if (lack == NULL || is_too_much(view->group, lack)) {
                view->is_fresh = true; /* also if it has to wait for that */
                if (!send_whole(view, encodings)) {
                        return;
                }
        } else {
                send_encoding(view, lack, revision - view->told);
        }
        view->next_ms = view->interval_ms == 0 ? 0 : scn_server_now_ms(view->session->server) + view->interval_ms;
        if (is_owed(view) && view->session->state == SCN_SESSION_OPEN) {
                send_nothing(view, revision);
        }
}

void scn_view_serve(struct scn_view *view)
{
        struct scn_encodings encodings = {.count = 0};
        SCN_ASSERT(scn_room_is_settled(view->group->room));
        send_lack(view, &encodings);
        scn_encodings_finish(&encodings);
}

/* The views from `first` on come before the others from now on. */
static void put_first(struct scn_session *session, struct scn_view *first)
{
        struct scn_view **at = &session->views;
        struct scn_view *last = first;
        while (*at != first) {
                at = &(*at)->next;
        }
        while (last->next != NULL) {
                last = last->next;
        }
        *at = NULL;
        last->next = session->views;
        session->views = first;
}

void scn_view_catch_up(struct scn_session *session)
{
        if (session->state != SCN_SESSION_OPEN || !session->is_behind || !scn_session_is_drained(session) ||
                !scn_room_is_settled(session->room)) {
                return;
        }
        session->is_behind = false;
        struct scn_view *view = session->views;
        for (; view != NULL && session->state == SCN_SESSION_OPEN; view = view->next) {
                if (!scn_session_is_drained(session)) {
                        session->is_behind = true;
                        /* While edits go on, the first ones would lack something again each time. */
                        put_first(session, view);
                        return;
                }
                scn_view_serve(view);
        }
}

void scn_view_catch_up_all(struct scn_room *room)
{
        for (struct scn_session *session = room->sessions; session != NULL; session = session->next_in_room) {
                scn_view_catch_up(session);
        }
}

void scn_view_serve_due(struct scn_room *room)
{
        if (room->views_due_ms == 0 || !scn_room_is_settled(room) ||
                scn_server_now_ms(room->server) < room->views_due_ms) {
                return;
        }
        room->views_due_ms = 0;
        scn_view_catch_up_all(room);
}

/* --- Groups: observers of what the room publishes --- */

static enum scn_error on_published(struct scn_event *event, const void **return_out, void *data)
{
        struct scn_view_group *group = data;
        struct scn_encodings encodings = {.count = 0};
        (void)event;
        (void)return_out;
        group->calls++;
        for (struct scn_view *view = group->views; view != NULL; view = view->next_in_group) {
                if (view->session->state != SCN_SESSION_OPEN) {
                        continue;
                }
                if (scn_session_may_send(view->session)) {
                        send_lack(view, &encodings);
                } else {
                        view->session->is_behind = true;
                        SCN_COUNT(view->session, skipped);
                }
        }
        scn_encodings_finish(&encodings);
        return SCN_OK;
}

void scn_view_drop_snapshots(struct scn_room *room, bool is_pressed)
{
        const uint64_t now_ms = scn_server_now_ms(room->server);
        for (struct scn_view_group *group = room->groups; group != NULL; group = group->next) {
                const bool is_idle = group->snapshot.count > 0 && group->snapshot.parts[0]->references == 1;
                if (is_idle && (is_pressed || now_ms - group->snapshot_used_ms > SCN_SNAPSHOT_IDLE_MS)) {
                        scn_encoding_finish(&group->snapshot);
                }
        }
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
                .mask = mask == SCN_MASK_WORLD ? SCN_MASK_STRUCTURE | SCN_MASK_TRANSFORM : mask,
                .callback = on_published,
                .data = group};
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
                scn_encoding_finish(&group->snapshot);
                scn_encoding_finish(&group->ready);
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
                message->rev <= scn_document_revision(scn_room_document(room)) &&
                message->rev >= scn_document_horizon(scn_room_document(room));
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

/* Structure is always in, but where worlds alone are asked for. */
static uint32_t mask_of(uint64_t asked)
{
        const uint32_t mask = (uint32_t)asked & (SCN_MASK_DURABLE | SCN_MASK_WORLD);
        return mask == SCN_MASK_WORLD ? mask : (mask & SCN_MASK_DURABLE) | SCN_MASK_STRUCTURE;
}

/* Milliseconds; 0: as soon as there is something. */
static uint32_t interval_of(uint64_t rate)
{
        if (rate == SCN_ABSENT || rate == 0) {
                return 0;
        }
        return rate >= SCN_SERVER_rate_max ? 1 : (SCN_SERVER_rate_max + (uint32_t)rate - 1) / (uint32_t)rate;
}

enum scn_error scn_view_start(struct scn_session *session, const struct scn_message_view *message)
{
        struct scn_room *room = session->room;
        scn_node_id root;
        const enum scn_error error = scn_document_find(scn_room_document(room), &message->root, &root);
        if (error != SCN_OK) {
                return error;
        }
        if (find_view(session, message->view) == NULL && session->views_count >= SCN_SERVER_views_max) {
                return SCN_E_TOO_MANY_VIEWS;
        }
        const uint32_t mask = mask_of(message->mask);
        struct scn_view *view = scn_alloc_zero(1, sizeof *view);
        struct scn_view_group *group =
                view == NULL ? NULL : get_group(room, scn_document_node(scn_room_document(room), root).uid, mask);
        if (group == NULL) {
                scn_free(view);
                return SCN_E_NO_MEMORY;
        }
        const bool is_resumed = can_resume(room, message);
        const scn_revision revision = scn_document_revision(scn_room_document(room));
        *view = (struct scn_view){
                .next_in_group = group->views,
                .group = group,
                .session = session,
                .number = message->view,
                .cursor = is_resumed ? message->rev : 0,
                .told = is_resumed ? message->rev : 0,
                .is_resumed = is_resumed && message->rev < revision,
                .is_fresh = !is_resumed,
                .interval_ms = interval_of(message->rate),
                .live_mask = (uint32_t)message->mask & SCN_MASK_VOLATILE,
        };
        group->views = view; /* first, for the group goes with its last view */
        scn_view_stop(session, message->view);
        view->next = session->views;
        session->views = view;
        session->views_count++;
        room->counters.resumed += is_resumed;
        answer_view(session, message, is_resumed);
        scn_view_serve(view);
        scn_live_begin_view(view);
        return SCN_OK;
}
