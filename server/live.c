/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What a room's volatile channels hold, and what ends it: sessions that go, edits, removals, time. */

#include "server/live.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"

#include <stdlib.h>
#include <string.h>

/* --- The list --- */

struct scn_live *scn_live_get(struct scn_room *room)
{
        if (room->live == NULL) {
                room->live = scn_alloc_zero(1, sizeof *room->live);
                if (room->live != NULL) {
                        room->live->due_ms = UINT64_MAX;
                        room->live->expires_ms = UINT64_MAX;
                }
        }
        return room->live;
}

static struct scn_live *live_of(const struct scn_session *session)
{
        return session->room->live;
}

/* A 1 kHz robot changes more often than anybody is told. */
static void schedule(struct scn_live *live)
{
        const uint64_t next_ms = live->passed_ms + SCN_LIVE_INTERVAL_MS;
        live->due_ms = next_ms < live->due_ms ? next_ms : live->due_ms;
}

struct scn_live_entry *scn_live_make(struct scn_session *session, enum scn_live_kind kind, scn_node_id id)
{
        struct scn_live_entry *entry = scn_alloc_zero(1, sizeof *entry);
        if (entry != NULL) {
                entry->kind = kind;
                entry->owner = session;
                entry->session = session->number;
                entry->id = id;
                if (id != 0) {
                        entry->uid = scn_document_node(scn_room_document(session->room), id).uid;
                }
        }
        return entry;
}

static void unlink_entry(struct scn_live *live, struct scn_live_entry *entry)
{
        *(entry->older != NULL ? &entry->older->newer : &live->oldest) = entry->newer;
        *(entry->newer != NULL ? &entry->newer->older : &live->newest) = entry->older;
}

void scn_live_touch(struct scn_live *live, struct scn_live_entry *entry)
{
        if (entry->count != 0) {
                unlink_entry(live, entry);
        } else {
                entry->began = live->count + 1;
                live->entries_count++;
                live->previews_count += entry->kind == SCN_LIVE_PREVIEW;
        }
        entry->count = ++live->count;
        entry->older = live->newest;
        entry->newer = NULL;
        *(live->newest != NULL ? &live->newest->newer : &live->oldest) = entry;
        live->newest = entry;
        schedule(live);
}

/* The oldest are forgotten a few at a time, so that the rest moves seldom. */
static void forget_gone(struct scn_live *live)
{
        const size_t count = SCN_LIVE_GONE_MAX / 4;
        live->gone_floor = live->gone[count - 1].count;
        live->gone_count -= count;
        memmove(live->gone, live->gone + count, live->gone_count * sizeof *live->gone);
}

void scn_live_note_gone(struct scn_live *live, const struct scn_live_entry *entry)
{
        live->count++;
        schedule(live);
        if (live->gone_count == SCN_LIVE_GONE_MAX) {
                forget_gone(live);
        }
        if (!scn_grow((void **)&live->gone, &live->gone_capacity, sizeof *live->gone, live->gone_count + 1,
                    SCN_LIVE_GONE_MAX)) {
                live->gone_floor = live->count;
                live->gone_count = 0;
                return;
        }
        live->gone[live->gone_count++] = (struct scn_live_gone){
                .kind = entry->kind,
                .began = entry->began,
                .count = live->count,
                .session = entry->session,
                .id = entry->id,
                .uid = entry->uid,
        };
}

size_t scn_live_place(struct scn_live_entry *const *row, size_t count, scn_node_id id)
{
        size_t first = 0;
        while (count > 0) {
                const size_t half = count / 2;
                const bool is_before = row[first + half]->id < id;
                first += is_before ? half + 1 : 0;
                count = is_before ? count - half - 1 : half;
        }
        return first;
}

static void take_from_row(struct scn_live_entry **row, size_t *count, const struct scn_live_entry *entry)
{
        size_t at = scn_live_place(row, *count, entry->id);
        while (row[at] != entry) {
                at++;
        }
        (*count)--;
        memmove(row + at, row + at + 1, (*count - at) * sizeof *row);
}

void scn_live_end(struct scn_live *live, struct scn_live_entry *entry)
{
        struct scn_session *owner = entry->owner;
        scn_live_note_gone(live, entry);
        unlink_entry(live, entry);
        live->entries_count--;
        switch (entry->kind) {
        case SCN_LIVE_PRESENCE:
                owner->presence = NULL;
                break;
        case SCN_LIVE_LOCK:
                take_from_row(live->locks, &live->locks_count, entry);
                if (owner != NULL) {
                        owner->locks_count--;
                }
                break;
        case SCN_LIVE_PREVIEW:
                live->previews_count--;
                take_from_row(owner->previews, &owner->previews_count, entry);
                break;
        }
        scn_free((void *)entry->bytes.data);
        scn_free(entry);
}

void scn_live_destroy(struct scn_live *live)
{
        if (live == NULL) {
                return;
        }
        /* Only locks can outlive all sessions. */
        while (live->newest != NULL) {
                SCN_ASSERT(live->newest->owner == NULL);
                scn_live_end(live, live->newest);
        }
        scn_free(live->locks);
        scn_free(live->gone);
        scn_free(live->moved);
        scn_free(live);
}

bool scn_live_is_under(const struct scn_document *document, scn_node_id id, scn_node_id top)
{
        while (id != 0 && id != top) {
                id = scn_document_node(document, id).parent;
        }
        return id == top && top != 0;
}

/* --- What sessions say --- */

enum scn_error scn_live_set_presence(struct scn_session *session, struct scn_slice bytes)
{
        struct scn_live *live = scn_live_get(session->room);
        if (live == NULL) {
                return SCN_E_NO_MEMORY;
        }
        if (bytes.data == NULL) {
                if (session->presence != NULL) {
                        scn_live_end(live, session->presence);
                }
                return SCN_OK;
        }
        if (session->presence == NULL) {
                session->presence = scn_live_make(session, SCN_LIVE_PRESENCE, 0);
                if (session->presence == NULL) {
                        return SCN_E_NO_MEMORY;
                }
        }
        scn_free((void *)session->presence->bytes.data);
        session->presence->bytes = bytes;
        scn_live_touch(live, session->presence);
        return SCN_OK;
}

struct scn_live_entry *scn_live_find_preview(const struct scn_session *session, scn_node_id id)
{
        const size_t at = scn_live_place(session->previews, session->previews_count, id);
        return at < session->previews_count && session->previews[at]->id == id ? session->previews[at] : NULL;
}

/* Makes what is new, linked by `newer` and not in the list yet. */
static enum scn_error make_previews(
        struct scn_session *session, const struct scn_live_wish *wishes, size_t count, struct scn_live_entry **made_out)
{
        struct scn_live_entry **last = made_out;
        for (size_t i = 0; i < count; i++) {
                if (wishes[i].fields == 0 || scn_live_find_preview(session, wishes[i].id) != NULL) {
                        continue;
                }
                *last = scn_live_make(session, SCN_LIVE_PREVIEW, wishes[i].id);
                if (*last == NULL) {
                        return SCN_E_NO_MEMORY;
                }
                last = &(*last)->newer;
        }
        return SCN_OK;
}

static void free_made(struct scn_live_entry *made)
{
        while (made != NULL) {
                struct scn_live_entry *next = made->newer;
                scn_free(made);
                made = next;
        }
}

static void insert_preview(struct scn_session *session, struct scn_live_entry *entry)
{
        const size_t at = scn_live_place(session->previews, session->previews_count, entry->id);
        memmove(session->previews + at + 1, session->previews + at,
                (session->previews_count - at) * sizeof(struct scn_live_entry *));
        session->previews[at] = entry;
        session->previews_count++;
}

static void show_preview(struct scn_live *live, struct scn_live_entry *entry, const struct scn_live_wish *wish)
{
        const bool is_same = entry->fields == wish->fields && memcmp(&entry->trs, &wish->trs, sizeof entry->trs) == 0;
        entry->is_ending = false;
        if (!is_same || entry->count == 0) {
                entry->fields = wish->fields;
                entry->trs = wish->trs;
                scn_live_touch(live, entry);
        }
}

enum scn_error scn_live_set_previews(struct scn_session *session, const struct scn_live_wish *wishes, size_t count)
{
        struct scn_live *live = scn_live_get(session->room);
        size_t wanted = session->previews_count;
        for (size_t i = 0; i < count; i++) {
                const bool is_there = scn_live_find_preview(session, wishes[i].id) != NULL;
                wanted += !is_there && wishes[i].fields != 0;
                wanted -= is_there && wishes[i].fields == 0;
        }
        if (wanted > SCN_LIVE_previews_max) {
                return SCN_E_TOO_MANY_PREVIEWS;
        }
        struct scn_live_entry *made = NULL;
        /* Some may come before others go. */
        if (live == NULL ||
                !scn_grow((void **)&session->previews, &session->previews_capacity, sizeof *session->previews,
                        session->previews_count + count, SIZE_MAX) ||
                make_previews(session, wishes, count, &made) != SCN_OK) {
                free_made(made);
                return SCN_E_NO_MEMORY;
        }
        for (size_t i = 0; i < count; i++) {
                struct scn_live_entry *entry = scn_live_find_preview(session, wishes[i].id);
                if (wishes[i].fields == 0 && entry != NULL) {
                        scn_live_end(live, entry);
                } else if (wishes[i].fields != 0) {
                        if (entry == NULL) {
                                entry = made;
                                made = made->newer;
                                insert_preview(session, entry);
                        }
                        show_preview(live, entry, &wishes[i]);
                }
        }
        return SCN_OK;
}

void scn_live_end_previews(struct scn_session *session)
{
        while (session->previews_count > 0) {
                scn_live_end(live_of(session), session->previews[session->previews_count - 1]);
        }
        scn_free(session->previews);
        session->previews = NULL;
        session->previews_capacity = 0;
}

/* --- What ends it --- */

/* A lock's author may come back. */
static void orphan_locks(struct scn_session *session)
{
        struct scn_live *live = live_of(session);
        const uint64_t until_ms = scn_server_now_ms(session->server) + SCN_LOCK_GRACE_MS;
        for (size_t i = 0; i < live->locks_count && session->locks_count > 0; i++) {
                struct scn_live_entry *lock = live->locks[i];
                if (lock->owner == session) {
                        lock->owner = NULL;
                        lock->expires_ms = until_ms < lock->expires_ms ? until_ms : lock->expires_ms;
                        live->expires_ms = lock->expires_ms < live->expires_ms ? lock->expires_ms : live->expires_ms;
                        session->locks_count--;
                        scn_live_touch(live, lock);
                }
        }
}

void scn_live_leave(struct scn_session *session)
{
        if (live_of(session) == NULL) {
                return;
        }
        if (session->presence != NULL) {
                scn_live_end(live_of(session), session->presence);
        }
        scn_live_end_previews(session);
        orphan_locks(session);
}

static void expire_locks(struct scn_live *live, uint64_t now_ms)
{
        if (now_ms < live->expires_ms) {
                return;
        }
        live->expires_ms = UINT64_MAX;
        for (size_t i = live->locks_count; i-- > 0;) {
                struct scn_live_entry *lock = live->locks[i];
                if (lock->expires_ms <= now_ms) {
                        scn_live_end(live, lock);
                } else if (lock->expires_ms < live->expires_ms) {
                        live->expires_ms = lock->expires_ms;
                }
        }
}

/* Locks and previews of nodes that are not there. */
static void sweep(struct scn_room *room)
{
        struct scn_live_entry *newer = NULL;
        for (struct scn_live_entry *entry = room->live->oldest; entry != NULL; entry = newer) {
                newer = entry->newer;
                if (entry->id != 0 && !scn_document_has(scn_room_document(room), entry->id)) {
                        scn_live_end(room->live, entry);
                }
        }
}

/* --- Edits --- */

static bool has_located(const struct scn_room *room)
{
        return room->live != NULL && (room->live->locks_count > 0 || room->live->previews_count > 0);
}

static void end_with_edit(struct scn_session *session, enum scn_op_kind kind, scn_node_id id, bool is_sure)
{
        const bool is_placed = kind == SCN_OP_TRANSFORM || kind == SCN_OP_MOVE;
        struct scn_live_entry *preview = is_placed ? scn_live_find_preview(session, id) : NULL;
        if (preview != NULL) {
                preview->ends_for_sure = is_sure || (preview->is_ending && preview->ends_for_sure);
                preview->is_ending = true;
                live_of(session)->has_ending = true;
        }
}

/* The preview goes when the edit is published, lest the node jumps back; one that is newer than the edit stays. A node
 * that was put where it was before has no change, but is no longer dragged either. */
void scn_live_note_applied(
        struct scn_session *session, const struct scn_edit *edit, const struct scn_changes *changes, bool is_sure)
{
        const struct scn_document *document = scn_room_document(session->room);
        const uint32_t changes_count = changes == NULL ? 0 : scn_changes_count(changes);
        for (uint32_t i = 0; i < changes_count && session->previews_count > 0; i++) {
                const struct scn_change *change = scn_changes_get(changes, i);
                end_with_edit(session, change->kind, change->id, false);
        }
        const uint32_t ops_count = edit == NULL ? 0 : edit->ops_count;
        for (uint32_t i = 0; i < ops_count && session->previews_count > 0; i++) {
                const struct scn_node_ref *node = &edit->ops[i].node;
                const scn_node_id id = node->kind == SCN_REF_ID ? node->id
                        : node->kind == SCN_REF_UID             ? scn_document_find_uid(document, node->uid)
                                                                : 0;
                end_with_edit(session, edit->ops[i].kind, id, is_sure);
        }
}

void scn_live_note_published(struct scn_room *room, const struct scn_changes *changes)
{
        struct scn_live *live = room->live;
        if (!has_located(room) || (scn_changes_mask(changes) & SCN_MASK_STRUCTURE) == 0) {
                return;
        }
        for (uint32_t i = 0; i < scn_changes_count(changes) && !live->has_lost_moved; i++) {
                const struct scn_change *change = scn_changes_get(changes, i);
                if (change->kind != SCN_OP_MOVE) {
                        continue;
                }
                if (scn_grow((void **)&live->moved, &live->moved_capacity, sizeof *live->moved, live->moved_count + 1,
                            SIZE_MAX)) {
                        live->moved[live->moved_count++] = change->id;
                } else {
                        live->has_lost_moved = true;
                }
        }
}

static int compare_ids(const void *a, const void *b)
{
        const scn_node_id left = *(const scn_node_id *)a;
        const scn_node_id right = *(const scn_node_id *)b;
        return (left > right) - (left < right);
}

static bool was_moved(const struct scn_live *live, const struct scn_document *document, scn_node_id id)
{
        bool was = live->has_lost_moved;
        for (; id != 0 && !was; id = scn_document_node(document, id).parent) {
                was = bsearch(&id, live->moved, live->moved_count, sizeof *live->moved, compare_ids) != NULL;
        }
        return was;
}

/* What moved may have come into a view, or left it: it is told again. */
static void touch_moved(struct scn_room *room)
{
        struct scn_live *live = room->live;
        if (live->moved_count > 0 || live->has_lost_moved) {
                const uint64_t last = live->count;
                struct scn_live_entry *newer = NULL;
                if (live->moved_count > 1) {
                        qsort(live->moved, live->moved_count, sizeof *live->moved, compare_ids);
                }
                for (struct scn_live_entry *at = live->oldest; at != NULL && at->count <= last; at = newer) {
                        newer = at->newer;
                        if (at->id != 0 && was_moved(live, scn_room_document(room), at->id)) {
                                scn_live_touch(live, at);
                                live->moved_revision = scn_document_revision(scn_room_document(room));
                        }
                }
        }
        scn_free(live->moved);
        live->moved = NULL;
        live->moved_count = live->moved_capacity = 0;
        live->has_lost_moved = false;
}

static void end_ending(struct scn_live *live, bool must_end)
{
        struct scn_live_entry *newer = NULL;
        for (struct scn_live_entry *entry = live->oldest; entry != NULL && live->has_ending; entry = newer) {
                newer = entry->newer;
                if (entry->is_ending && (must_end || entry->ends_for_sure)) {
                        scn_live_end(live, entry);
                } else {
                        entry->is_ending = false;
                }
        }
        live->has_ending = false;
}

void scn_live_publish(struct scn_room *room, uint32_t mask)
{
        struct scn_live *live = room->live;
        if (live == NULL) {
                return;
        }
        end_ending(live, true);
        if ((mask & SCN_MASK_STRUCTURE) != 0) {
                sweep(room);
                touch_moved(room);
        }
        if (live->due_ms <= scn_server_now_ms(room->server)) {
                scn_live_tell(room);
        }
}

void scn_live_take_back(struct scn_room *room)
{
        if (room->live != NULL) {
                end_ending(room->live, false);
                sweep(room);
        }
}

/* --- Time --- */

void scn_live_turn(struct scn_room *room)
{
        struct scn_live *live = room->live;
        if (live == NULL || room->loan != NULL) {
                return;
        }
        const uint64_t now_ms = scn_server_now_ms(room->server);
        /* One that has ended stays in the room until its connection is closed. */
        for (struct scn_session *at = room->sessions; at != NULL && live->entries_count > 0; at = at->next_in_room) {
                if (at->state == SCN_SESSION_ENDED) {
                        scn_live_leave(at);
                }
        }
        expire_locks(live, now_ms);
        if (live->due_ms > now_ms || !scn_room_is_settled(room)) {
                return;
        }
        room->moment++;
        scn_live_tell(room);
}

uint64_t scn_live_due_ms(const struct scn_room *room)
{
        const struct scn_live *live = room->live;
        if (live == NULL || room->loan != NULL) {
                return UINT64_MAX;
        }
        const bool can_tell = scn_room_is_settled(room) && live->due_ms < live->expires_ms;
        return can_tell ? live->due_ms : live->expires_ms;
}
