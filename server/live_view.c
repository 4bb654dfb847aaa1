/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What views are told of presence, locks and previews: computed from a cursor, shared by those that lack the same. */

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "server/live.h"

/* An encoded message but for its head, for all views of a group with the same cursor. */
struct telling {
        uint32_t mask;
        uint64_t cursor;
        uint64_t ends;
        scn_revision revision;
        scn_revision part_revision;
        scn_node_id root;
        bool is_whole;
        uint64_t upto;                   /* the cursor behind it */
        uint32_t fields_count;           /* in `fields` */
        struct scn_shared_bytes *fields; /* NULL: there is nothing to say */
};

struct array {
        struct scn_buffer buffer;
        struct scn_packer packer;
        uint32_t count;
};

struct builder {
        const struct scn_room *room;
        const struct scn_view *view;
        scn_node_id root; /* of the view, as it lives now; 0: it does not */
        bool is_whole;
        uint64_t now_ms;
        struct array arrays[3]; /* by enum scn_live_kind */
};

static uint32_t bit_of(enum scn_live_kind kind)
{
        static const uint32_t bits[] = {SCN_MASK_PRESENCE, SCN_MASK_LOCKS, SCN_MASK_PREVIEW};
        return bits[kind];
}

static bool is_in(const struct builder *builder, scn_node_id id)
{
        const struct scn_document *document = scn_room_document(builder->room);
        return id == 0 || builder->root == scn_document_root(document) ||
                scn_live_is_under(document, id, builder->root);
}

/* What the client may have been told of: when it was last told all, or in the parts since. */
static bool was_in(const struct builder *builder, scn_node_id id)
{
        const struct scn_document *document = scn_room_document(builder->room);
        const struct scn_view *view = builder->view;
        return id == 0 || scn_delta_was_under(document, id, builder->root, view->live_revision) ||
                (view->live_part_revision != view->live_revision &&
                        scn_delta_was_under(document, id, builder->root, view->live_part_revision));
}

static void add_gone(struct builder *builder, enum scn_live_kind kind, uint64_t session, struct scn_uid uid)
{
        struct array *array = &builder->arrays[kind];
        array->count++;
        switch (kind) {
        case SCN_LIVE_PRESENCE:
                scn_pack_live_presence(&array->packer, &(struct scn_live_presence){.session = session});
                break;
        case SCN_LIVE_LOCK:
                scn_pack_live_lock(&array->packer, &(struct scn_live_lock){.session = session, .node = uid});
                break;
        case SCN_LIVE_PREVIEW:
                scn_pack_live_preview(&array->packer, &(struct scn_live_preview){.session = session, .node = uid});
                break;
        }
}

static void add_entry(struct builder *builder, const struct scn_live_entry *entry)
{
        struct array *array = &builder->arrays[entry->kind];
        array->count++;
        switch (entry->kind) {
        case SCN_LIVE_PRESENCE:
                scn_pack_live_presence(&array->packer,
                        &(struct scn_live_presence){.session = entry->session,
                                .author = {entry->owner->author, entry->owner->author_size},
                                .map = entry->bytes});
                break;
        case SCN_LIVE_LOCK:
                scn_pack_live_lock(&array->packer,
                        &(struct scn_live_lock){.node = entry->uid,
                                .session = entry->session,
                                .author = entry->bytes,
                                .mask = entry->mask,
                                .has_subtree = entry->has_subtree,
                                .left_ms =
                                        entry->expires_ms > builder->now_ms ? entry->expires_ms - builder->now_ms : 0});
                break;
        case SCN_LIVE_PREVIEW:
                scn_pack_live_preview(&array->packer,
                        &(struct scn_live_preview){.session = entry->session,
                                .node = entry->uid,
                                .fields = entry->fields,
                                .trs = entry->trs});
                break;
        }
}

/* The gone ones come first: one whose key is there again must not take that away. */
static void add_all_gone(struct builder *builder)
{
        const struct scn_live *live = builder->room->live;
        const struct scn_view *view = builder->view;
        for (size_t i = live->gone_count; i-- > 0 && live->gone[i].count > view->live_ends;) {
                const struct scn_live_gone *gone = &live->gone[i];
                const bool may_have = gone->began <= view->live_cursor;
                if ((view->live_mask & bit_of(gone->kind)) != 0 && may_have && was_in(builder, gone->id)) {
                        add_gone(builder, gone->kind, gone->session, gone->uid);
                }
        }
}

static size_t bytes_of(const struct builder *builder)
{
        return builder->arrays[0].buffer.size + builder->arrays[1].buffer.size + builder->arrays[2].buffer.size;
}

/* Adds what has changed since the cursor, oldest first, as far as it fits; returns the cursor behind it. */
static uint64_t add_entries(struct builder *builder)
{
        const struct scn_live *live = builder->room->live;
        const struct scn_view *view = builder->view;
        const uint64_t cursor = builder->is_whole ? 0 : view->live_cursor;
        const struct scn_live_entry *entry = live->newest;
        while (entry != NULL && entry->older != NULL && entry->older->count > cursor) {
                entry = entry->older;
        }
        uint64_t upto = cursor;
        for (; entry != NULL && bytes_of(builder) < SCN_LIVE_PART_BYTES; entry = entry->newer) {
                upto = entry->count;
                if (entry->count <= cursor || (view->live_mask & bit_of(entry->kind)) == 0) {
                        continue;
                }
                if (is_in(builder, entry->id)) {
                        add_entry(builder, entry);
                } else if (!builder->is_whole && entry->began <= cursor && was_in(builder, entry->id)) {
                        add_gone(builder, entry->kind, entry->session, entry->uid);
                }
        }
        return entry == NULL ? live->count : upto;
}

/* --- Encoding --- */

static void init_arrays(struct builder *builder)
{
        for (size_t i = 0; i < 3; i++) {
                scn_buffer_init(&builder->arrays[i].buffer, SCN_MESSAGE_BYTES_MAX / 4);
                builder->arrays[i].packer = scn_packer_to(&builder->arrays[i].buffer);
        }
}

static enum scn_error finish_arrays(struct builder *builder)
{
        enum scn_error error = SCN_OK;
        for (size_t i = 0; i < 3; i++) {
                error = error == SCN_OK ? builder->arrays[i].packer.error : error;
                scn_buffer_finish(&builder->arrays[i].buffer);
        }
        return error;
}

/* The fields behind the view's number: count, whole, and the arrays, but for what is absent at the end. */
static enum scn_error join(const struct builder *builder, struct telling *telling)
{
        struct scn_buffer buffer;
        scn_buffer_init(&buffer, SCN_MESSAGE_BYTES_MAX - 64);
        struct scn_packer packer = scn_packer_to(&buffer);
        uint32_t arrays_count = 0;
        for (uint32_t i = 0; i < 3; i++) {
                arrays_count = builder->arrays[i].count > 0 ? i + 1 : arrays_count;
        }
        telling->fields_count = 2 + arrays_count;
        scn_pack_uint(&packer, telling->upto);
        if (telling->is_whole) {
                scn_pack_bool(&packer, true);
        } else {
                scn_pack_nil(&packer);
        }
        enum scn_error error = SCN_OK;
        for (uint32_t i = 0; i < arrays_count; i++) {
                const struct array *array = &builder->arrays[i];
                if (array->count == 0) {
                        scn_pack_nil(&packer);
                        continue;
                }
                scn_pack_array(&packer, array->count);
                error = error == SCN_OK ? scn_buffer_append(&buffer, array->buffer.data, array->buffer.size) : error;
        }
        error = error == SCN_OK ? packer.error : error;
        if (error == SCN_OK) {
                telling->fields = scn_shared_bytes_create(buffer.data, (uint32_t)buffer.size);
                error = telling->fields == NULL ? SCN_E_NO_MEMORY : SCN_OK;
        }
        scn_buffer_finish(&buffer);
        return error;
}

static enum scn_error encode(const struct scn_view *view, scn_node_id root, bool is_whole, struct telling *telling)
{
        const struct scn_room *room = view->group->room;
        struct builder builder = {
                .room = room,
                .view = view,
                .root = root,
                .is_whole = is_whole,
                .now_ms = scn_server_now_ms(room->server),
        };
        *telling = (struct telling){
                .mask = view->live_mask,
                .cursor = view->live_cursor,
                .ends = view->live_ends,
                .revision = view->live_revision,
                .part_revision = view->live_part_revision,
                .root = view->live_root,
                .is_whole = is_whole,
        };
        init_arrays(&builder);
        if (!is_whole) {
                add_all_gone(&builder);
        }
        telling->upto = add_entries(&builder);
        const bool has_any = builder.arrays[0].count + builder.arrays[1].count + builder.arrays[2].count > 0;
        enum scn_error error = SCN_OK;
        /* A view that has never been told anything has nothing that would have to be replaced. */
        if (has_any || (is_whole && !view->is_live_fresh)) {
                error = join(&builder, telling);
        }
        const enum scn_error packed = finish_arrays(&builder);
        return error == SCN_OK ? packed : error;
}

/* --- Sending --- */

static void send(struct scn_view *view, const struct telling *telling)
{
        struct scn_buffer head;
        struct scn_buffer frame;
        scn_buffer_init(&head, 64);
        scn_buffer_init(&frame, 64);
        struct scn_packer packer = scn_packer_to(&head);
        scn_pack_array(&packer, 2 + telling->fields_count);
        scn_pack_uint(&packer, SCN_MESSAGE_live);
        scn_pack_uint(&packer, view->number);
        const bool is_good = packer.error == SCN_OK &&
                scn_frame_append_head(&frame, head.size + telling->fields->size) == SCN_OK &&
                scn_buffer_append(&frame, head.data, head.size) == SCN_OK;
        struct scn_shared_bytes *start = is_good ? scn_shared_bytes_create(frame.data, (uint32_t)frame.size) : NULL;
        if (start == NULL) {
                scn_session_end(view->session, SCN_E_NO_MEMORY, NULL);
        } else {
                scn_session_send_shared(view->session, start);
                scn_session_send_shared(view->session, telling->fields);
        }
        scn_shared_bytes_unref(start);
        scn_buffer_finish(&head);
        scn_buffer_finish(&frame);
}

static bool lacks(const struct scn_view *view)
{
        return view->live_mask != 0 && view->live_cursor < view->group->room->live->count;
}

/* What an edit has ended must not come before the edit: a delta that is still to come goes first, and if that has to
 * wait, for the view's rate or for others' output, so does this. */
static bool is_held(struct scn_view *view)
{
        const scn_revision revision = scn_document_revision(scn_room_document(view->group->room));
        if (!scn_output_claim(view->session->server)) {
                return true;
        }
        if (view->session->is_behind && view->cursor < revision) {
                scn_view_serve(view);
        }
        return view->session->state != SCN_SESSION_OPEN || (view->session->is_behind && view->cursor < revision);
}

static void finish_telling(struct telling *telling)
{
        scn_shared_bytes_unref(telling->fields);
        *telling = (struct telling){0};
}

/* What was told in parts was true in one state of the tree; in another there may be what only one of the parts had. */
static bool is_torn(const struct scn_view *view)
{
        return view->live_cursor < view->live_ends &&
                view->live_part_revision < view->group->room->live->moved_revision;
}

/* Where the root lives another life, or ends that it does not know are forgotten, only all there is will do. */
static bool needs_whole(const struct scn_view *view, scn_node_id root)
{
        const struct scn_room *room = view->group->room;
        return view->is_live_fresh || root != view->live_root || view->live_ends < room->live->gone_floor ||
                is_torn(view) || view->live_revision < scn_document_horizon(scn_room_document(room));
}

/* Tells a view a part of what it lacks; `shared` keeps what was said for the next one of the group. */
static void tell_part(struct scn_view *view, struct telling *shared)
{
        const struct scn_room *room = view->group->room;
        const scn_node_id root = scn_document_find_uid(scn_room_document(room), view->group->root);
        const bool is_whole = needs_whole(view, root);
        const bool is_known = shared->upto > 0 && shared->mask == view->live_mask && shared->is_whole == is_whole &&
                (is_whole ? view->is_live_fresh || shared->fields != NULL
                          : shared->cursor == view->live_cursor && shared->ends == view->live_ends &&
                                        shared->revision == view->live_revision &&
                                        shared->part_revision == view->live_part_revision &&
                                        shared->root == view->live_root);
        if (!is_known) {
                finish_telling(shared);
                const enum scn_error error = encode(view, root, is_whole, shared);
                if (error != SCN_OK) {
                        finish_telling(shared);
                        scn_session_end(view->session, error, NULL);
                        return;
                }
        }
        const bool is_all = shared->upto == room->live->count;
        view->live_cursor = shared->upto;
        view->live_ends = room->live->count;
        view->live_part_revision = scn_document_revision(scn_room_document(room));
        view->live_revision = is_all || is_whole ? view->live_part_revision : view->live_revision;
        view->live_root = root;
        view->is_live_fresh = false;
        if (shared->fields != NULL) {
                /* What is told in parts goes on as soon as the session has drained. */
                view->live_sent_ms = is_all ? scn_server_now_ms(room->server) : 0;
                send(view, shared);
        }
}

/* As much as fits; all, where moves that go on would let it begin for ever anew. */
static void tell(struct scn_view *view, struct telling *shared)
{
        const bool must_end = is_torn(view);
        do {
                tell_part(view, shared);
        } while (must_end && lacks(view) && view->session->state == SCN_SESSION_OPEN);
}

static void want(struct scn_live *live, uint64_t due_ms)
{
        live->due_ms = due_ms < live->due_ms ? due_ms : live->due_ms;
}

static bool is_due(const struct scn_view *view, uint64_t now_ms)
{
        return now_ms >= view->live_sent_ms + SCN_LIVE_INTERVAL_MS;
}

/* When to look again at a view that could not be told now. */
static uint64_t next_ms(const struct scn_view *view, uint64_t now_ms)
{
        return (is_due(view, now_ms) ? now_ms : view->live_sent_ms) + SCN_LIVE_INTERVAL_MS;
}

void scn_live_tell(struct scn_room *room)
{
        struct scn_live *live = room->live;
        const uint64_t now_ms = scn_server_now_ms(room->server);
        bool is_told = true;
        SCN_ASSERT(scn_room_is_settled(room));
        live->passed_ms = now_ms;
        live->due_ms = UINT64_MAX;
        for (struct scn_view_group *group = room->groups; group != NULL; group = group->next) {
                struct telling shared = {0};
                for (struct scn_view *view = group->views; view != NULL; view = view->next_in_group) {
                        if (view->session->state != SCN_SESSION_OPEN || !lacks(view)) {
                                continue;
                        }
                        const bool may_send = scn_session_may_send(view->session);
                        if (may_send && is_due(view, now_ms) && !is_held(view)) {
                                tell(view, &shared);
                        } else if (may_send) {
                                want(live, next_ms(view, now_ms));
                        }
                        is_told = is_told && !lacks(view);
                }
                finish_telling(&shared);
        }
        /* Nobody is left who would have to hear of it. */
        if (is_told) {
                live->gone_floor = live->count;
                live->gone_count = 0;
                scn_free(live->gone);
                live->gone = NULL;
                live->gone_capacity = 0;
        }
}

void scn_live_begin_view(struct scn_view *view)
{
        struct scn_room *room = view->group->room;
        struct telling alone = {0};
        view->live_root = scn_document_find_uid(scn_room_document(room), view->group->root);
        view->live_revision = view->live_part_revision = scn_document_revision(scn_room_document(room));
        if (room->live == NULL || !lacks(view)) {
                return;
        }
        view->is_live_fresh = true;
        if (is_held(view)) {
                want(room->live, scn_server_now_ms(room->server) + SCN_LIVE_INTERVAL_MS);
                return;
        }
        tell(view, &alone);
        finish_telling(&alone);
}

void scn_live_go_on(struct scn_session *session)
{
        struct scn_live *live = session->room->live;
        if (live == NULL) {
                return;
        }
        const uint64_t now_ms = scn_server_now_ms(session->server);
        const bool may_send = scn_room_is_settled(session->room) && scn_session_is_drained(session);
        struct scn_view *view = session->views;
        for (; view != NULL && session->state == SCN_SESSION_OPEN; view = view->next) {
                struct telling alone = {0};
                if (!lacks(view)) {
                        continue;
                }
                if (may_send && is_due(view, now_ms) && !is_held(view)) {
                        tell(view, &alone);
                        finish_telling(&alone);
                } else {
                        /* In a room that is not settled, the publish point is next. */
                        want(live, may_send ? next_ms(view, now_ms) : now_ms);
                }
        }
}
