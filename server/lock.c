/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Locks: who may take one, and which edits touch somebody else's (DESIGN §5). */

#include "protocol/base/alloc.h"
#include "protocol/base/memo.h"
#include "server/live.h"

#include <stdlib.h>
#include <string.h>

static bool is_of(const struct scn_live_entry *lock, const struct scn_session *session)
{
        return lock->bytes.size == session->author_size &&
                memcmp(lock->bytes.data, session->author, session->author_size) == 0;
}

/* Another author's lock on this very node that covers one of these channels, or NULL. */
static const struct scn_live_entry *find_on(
        const struct scn_session *session, scn_node_id id, uint32_t mask, bool has_subtree)
{
        const struct scn_live *live = session->room->live;
        size_t at = scn_live_place(live->locks, live->locks_count, id);
        for (; at < live->locks_count && live->locks[at]->id == id; at++) {
                const struct scn_live_entry *lock = live->locks[at];
                if ((lock->mask & mask) != 0 && (lock->has_subtree || !has_subtree) && !is_of(lock, session)) {
                        return lock;
                }
        }
        return NULL;
}

/* The same of a lock on a whole subtree that the node is in, or the top of. */
static const struct scn_live_entry *find_around(const struct scn_session *session, scn_node_id id, uint32_t mask)
{
        const struct scn_document *document = scn_room_document(session->room);
        const struct scn_live_entry *lock = NULL;
        while (id != 0 && lock == NULL) {
                lock = find_on(session, id, mask, true);
                id = scn_document_node(document, id).parent;
        }
        return lock;
}

static const struct scn_live_entry *find_covering(const struct scn_session *session, scn_node_id id, uint32_t mask)
{
        const struct scn_live_entry *lock = find_on(session, id, mask, false);
        return lock != NULL ? lock : find_around(session, id, mask);
}

bool scn_lock_bars_preview(const struct scn_session *session, scn_node_id id)
{
        const struct scn_live *live = session->room->live;
        return live != NULL && live->locks_count > 0 && find_covering(session, id, SCN_MASK_TRANSFORM) != NULL;
}

/* --- Taking and releasing --- */

static bool is_asked(const struct scn_lock_wish *wish, scn_node_id id)
{
        size_t first = 0;
        size_t end = wish->ids_count;
        while (first < end) {
                const size_t half = first + (end - first) / 2;
                if (wish->ids[half] == id) {
                        return true;
                }
                *(wish->ids[half] < id ? &first : &end) = wish->ids[half] < id ? half + 1 : half;
        }
        return false;
}

/* Whether a lock as wished would cover the node. */
static bool would_cover(const struct scn_document *document, const struct scn_lock_wish *wish, scn_node_id id)
{
        bool is_covered = is_asked(wish, id);
        while (wish->has_subtree && !is_covered && id != 0) {
                id = scn_document_node(document, id).parent;
                is_covered = id != 0 && is_asked(wish, id);
        }
        return is_covered;
}

static const struct scn_live_entry *find_blocker(const struct scn_session *session, const struct scn_lock_wish *wish)
{
        const struct scn_live *live = session->room->live;
        for (size_t i = 0; i < wish->ids_count; i++) {
                const struct scn_live_entry *lock = find_covering(session, wish->ids[i], wish->mask);
                if (lock != NULL) {
                        return lock;
                }
        }
        for (size_t i = 0; i < live->locks_count && wish->has_subtree; i++) {
                const struct scn_live_entry *lock = live->locks[i];
                if ((lock->mask & wish->mask) != 0 && !is_of(lock, session) &&
                        scn_document_has(scn_room_document(session->room), lock->id) &&
                        would_cover(scn_room_document(session->room), wish, lock->id)) {
                        return lock;
                }
        }
        return NULL;
}

/* The author's own lock on this very node: there is at most one. */
static struct scn_live_entry *find_own(const struct scn_session *session, scn_node_id id)
{
        const struct scn_live *live = session->room->live;
        size_t at = scn_live_place(live->locks, live->locks_count, id);
        for (; at < live->locks_count && live->locks[at]->id == id; at++) {
                if (is_of(live->locks[at], session)) {
                        return live->locks[at];
                }
        }
        return NULL;
}

static struct scn_live_entry *make_lock(struct scn_session *session, scn_node_id id)
{
        struct scn_live_entry *lock = scn_live_make(session, SCN_LIVE_LOCK, id);
        uint8_t *author = scn_alloc(session->author_size);
        if (lock == NULL || author == NULL) {
                scn_free(lock);
                scn_free(author);
                return NULL;
        }
        memcpy(author, session->author, session->author_size);
        lock->bytes = (struct scn_slice){author, session->author_size};
        return lock;
}

/* Linked by `newer`; not in the list yet. */
static enum scn_error make_locks(
        struct scn_session *session, const struct scn_lock_wish *wish, struct scn_live_entry **made_out)
{
        struct scn_live_entry **last = made_out;
        for (size_t i = 0; i < wish->ids_count; i++) {
                if (find_own(session, wish->ids[i]) == NULL) {
                        *last = make_lock(session, wish->ids[i]);
                        if (*last == NULL) {
                                return SCN_E_NO_MEMORY;
                        }
                        last = &(*last)->newer;
                }
        }
        return SCN_OK;
}

static void free_made(struct scn_live_entry *made)
{
        while (made != NULL) {
                struct scn_live_entry *next = made->newer;
                scn_free((void *)made->bytes.data);
                scn_free(made);
                made = next;
        }
}

static void insert(struct scn_live *live, struct scn_live_entry *lock)
{
        const size_t at = scn_live_place(live->locks, live->locks_count, lock->id);
        memmove(live->locks + at + 1, live->locks + at, (live->locks_count - at) * sizeof(struct scn_live_entry *));
        live->locks[at] = lock;
        live->locks_count++;
}

/* From now on it is this session's. */
static void hold(struct scn_session *session, const struct scn_lock_wish *wish, struct scn_live_entry *lock)
{
        struct scn_live *live = session->room->live;
        if (lock->owner != session || lock->count == 0) {
                if (lock->count != 0) {
                        scn_live_note_gone(live, lock);
                        lock->began = live->count + 1;
                }
                if (lock->count != 0 && lock->owner != NULL) {
                        lock->owner->locks_count--;
                }
                lock->owner = session;
                lock->session = session->number;
                session->locks_count++;
        }
        lock->mask = wish->mask;
        lock->has_subtree = wish->has_subtree;
        lock->expires_ms = scn_server_now_ms(session->server) + wish->ttl_ms;
        live->expires_ms = lock->expires_ms < live->expires_ms ? lock->expires_ms : live->expires_ms;
        scn_live_touch(live, lock);
}

/* What others were dragging. */
static void end_barred_previews(struct scn_session *session, const struct scn_lock_wish *wish)
{
        struct scn_room *room = session->room;
        struct scn_live_entry *newer = NULL;
        if ((wish->mask & SCN_MASK_TRANSFORM) == 0 || room->live->previews_count == 0) {
                return;
        }
        for (struct scn_live_entry *entry = room->live->oldest; entry != NULL; entry = newer) {
                newer = entry->newer;
                if (entry->kind == SCN_LIVE_PREVIEW && scn_document_has(scn_room_document(room), entry->id) &&
                        scn_lock_bars_preview(entry->owner, entry->id)) {
                        scn_live_end(room->live, entry);
                }
        }
}

enum scn_error scn_lock_take(
        struct scn_session *session, const struct scn_lock_wish *wish, const struct scn_live_entry **blocker_out)
{
        struct scn_live *live = scn_live_get(session->room);
        size_t news_count = 0;
        size_t gained_count = 0;
        if (live == NULL) {
                return SCN_E_NO_MEMORY;
        }
        *blocker_out = find_blocker(session, wish);
        if (*blocker_out != NULL) {
                return SCN_E_LOCKED;
        }
        for (size_t i = 0; i < wish->ids_count; i++) {
                const struct scn_live_entry *own = find_own(session, wish->ids[i]);
                news_count += own == NULL;
                gained_count += own == NULL || own->owner != session;
        }
        if (session->locks_count + gained_count > SCN_LIVE_locks_max ||
                live->locks_count + news_count > SCN_LIVE_room_locks_max) {
                return SCN_E_TOO_MANY_LOCKS;
        }
        struct scn_live_entry *made = NULL;
        if (!scn_grow((void **)&live->locks, &live->locks_capacity, sizeof *live->locks, live->locks_count + news_count,
                    SIZE_MAX) ||
                make_locks(session, wish, &made) != SCN_OK) {
                free_made(made);
                return SCN_E_NO_MEMORY;
        }
        for (size_t i = 0; i < wish->ids_count; i++) {
                struct scn_live_entry *lock = find_own(session, wish->ids[i]);
                if (lock == NULL) {
                        lock = made;
                        made = made->newer;
                        insert(live, lock);
                }
                hold(session, wish, lock);
        }
        end_barred_previews(session, wish);
        return SCN_OK;
}

uint32_t scn_lock_release(struct scn_session *session, const scn_node_id *ids, size_t ids_count)
{
        uint32_t count = 0;
        for (size_t i = 0; i < ids_count && session->room->live != NULL; i++) {
                struct scn_live_entry *lock = find_own(session, ids[i]);
                if (lock != NULL) {
                        scn_live_end(session->room->live, lock);
                        count++;
                }
        }
        return count;
}

uint32_t scn_lock_release_all(struct scn_session *session)
{
        struct scn_live *live = session->room->live;
        uint32_t count = 0;
        for (size_t i = live == NULL ? 0 : live->locks_count; i-- > 0 && session->locks_count > 0;) {
                if (live->locks[i]->owner == session) {
                        scn_live_end(live, live->locks[i]);
                        count++;
                }
        }
        return count;
}

/* --- Edits --- */

/* A node that an edit took out of a subtree of which some channels are locked, but not its structure. */
struct escape {
        scn_node_id id;
        uint32_t mask; /* one channel */
        const struct scn_live_entry *lock;
};

/* By combination of channels: what was found above a node, so that an edit of many deep nodes does not walk the same
 * way for each. 0: nothing; else 1 more than the lock's place in the room's row. */
struct found {
        struct scn_memo above[SCN_MASK_DURABLE + 1];
};

struct check {
        const struct scn_session *session;
        const struct scn_document *document;
        struct found locks;
        struct found escaped;
        struct escape *escapes; /* by id, then channel */
        size_t escapes_count;
        size_t escapes_capacity;
};

static uint32_t channel_of(const struct scn_change *change)
{
        switch (change->kind) {
        case SCN_OP_RENAME:
                return SCN_MASK_NAME;
        case SCN_OP_SET:
                return SCN_MASK_PROPERTIES;
        case SCN_OP_TRANSFORM:
                return SCN_MASK_TRANSFORM;
        case SCN_OP_MOVE:
                return SCN_MASK_STRUCTURE | ((change->fields & SCN_FIELDS_TRS) != 0 ? SCN_MASK_TRANSFORM : 0);
        case SCN_OP_ADD:
        case SCN_OP_REMOVE:
        case SCN_OP_COUNT:
                break;
        }
        return SCN_MASK_STRUCTURE;
}

typedef const struct scn_live_entry *(*find_at_fn)(const struct check *check, scn_node_id id, uint32_t mask);

static uint32_t place_of(const struct check *check, const struct scn_live_entry *lock)
{
        const struct scn_live *live = check->session->room->live;
        size_t at = scn_live_place(live->locks, live->locks_count, lock->id);
        while (live->locks[at] != lock) {
                at++;
        }
        return (uint32_t)at;
}

/* What `find_at` finds at the node or the nearest above it. */
static const struct scn_live_entry *find_above(
        const struct check *check, struct scn_memo *memo, find_at_fn find_at, scn_node_id id, uint32_t mask)
{
        const struct scn_live_entry *lock = NULL;
        uint32_t known = SCN_MEMO_NONE;
        scn_node_id end = id;
        while (end != 0 && lock == NULL) {
                known = scn_memo_get(memo, end);
                if (known != SCN_MEMO_NONE) {
                        break;
                }
                lock = find_at(check, end, mask);
                end = scn_document_node(check->document, end).parent;
        }
        if (known == SCN_MEMO_NONE) {
                known = lock == NULL ? 0 : place_of(check, lock) + 1;
        }
        for (; id != end; id = scn_document_node(check->document, id).parent) {
                if (scn_memo_put(memo, id, known) != SCN_OK) {
                        break; /* then it is walked again */
                }
        }
        return known == 0 ? NULL : check->session->room->live->locks[known - 1];
}

static const struct scn_live_entry *find_lock_at(const struct check *check, scn_node_id id, uint32_t mask)
{
        return find_on(check->session, id, mask, true);
}

/* A lock around a former or present parent. One that the same edit has removed is found by its own record. */
static const struct scn_live_entry *find_around_uid(struct check *check, struct scn_uid uid, uint32_t mask)
{
        const scn_node_id id = scn_document_find_uid(check->document, uid);
        return find_above(check, &check->locks.above[mask], find_lock_at, id, mask);
}

static const struct scn_live_entry *check_removal(struct check *check, const struct scn_change *change)
{
        uint32_t cursor = 0;
        for (uint32_t i = 0; i < change->as.remove.nodes_count; i++) {
                const scn_node_id id = scn_document_removed_node(check->document, &change->as.remove, &cursor).id;
                const struct scn_live_entry *lock = find_on(check->session, id, SCN_MASK_DURABLE, false);
                if (lock != NULL) {
                        return lock;
                }
        }
        return find_around_uid(check, change->as.remove.place.parent, SCN_MASK_DURABLE);
}

static int compare_escapes(const void *a, const void *b)
{
        const struct escape *left = a;
        const struct escape *right = b;
        return left->id != right->id ? (left->id > right->id) - (left->id < right->id)
                                     : (left->mask > right->mask) - (left->mask < right->mask);
}

/* What is written must not be slipped out from under a lock by a later op. */
static const struct scn_live_entry *find_escape_at(const struct check *check, scn_node_id id, uint32_t mask)
{
        const struct escape key = {.id = id, .mask = mask & ~SCN_MASK_STRUCTURE};
        const struct escape *escape = bsearch(&key, check->escapes, check->escapes_count, sizeof key, compare_escapes);
        return escape == NULL ? NULL : escape->lock;
}

static const struct scn_live_entry *check_change(struct check *check, const struct scn_change *change)
{
        const uint32_t mask = channel_of(change);
        const struct scn_live_entry *lock = NULL;
        if (change->kind == SCN_OP_REMOVE) {
                return check_removal(check, change);
        }
        if (change->kind == SCN_OP_ADD) {
                return find_around_uid(check, change->as.add.place.parent, SCN_MASK_STRUCTURE);
        }
        if (change->kind == SCN_OP_MOVE) {
                lock = find_around_uid(check, change->as.move.before.parent, mask);
                lock = lock != NULL ? lock : find_around_uid(check, change->as.move.after.parent, SCN_MASK_STRUCTURE);
        }
        if (lock == NULL && scn_document_has(check->document, change->id)) {
                lock = find_on(check->session, change->id, mask, false);
                if (lock == NULL) {
                        lock = find_above(check, &check->locks.above[mask], find_lock_at, change->id, mask);
                }
                if (lock == NULL && check->escapes_count > 0) {
                        lock = find_above(check, &check->escaped.above[mask], find_escape_at, change->id, mask);
                }
        }
        return lock;
}

static enum scn_error note_escape(struct check *check, const struct scn_change *change, uint32_t mask)
{
        const struct scn_live_entry *lock = find_around_uid(check, change->as.move.before.parent, mask);
        if (lock == NULL) {
                return SCN_OK;
        }
        if (!scn_grow((void **)&check->escapes, &check->escapes_capacity, sizeof *check->escapes,
                    check->escapes_count + 1, SIZE_MAX)) {
                return SCN_E_NO_MEMORY;
        }
        check->escapes[check->escapes_count++] = (struct escape){change->id, mask, lock};
        return SCN_OK;
}

static enum scn_error find_escapes(struct check *check, const struct scn_changes *changes)
{
        enum scn_error error = SCN_OK;
        for (uint32_t i = 0; i < scn_changes_count(changes); i++) {
                const struct scn_change *change = scn_changes_get(changes, i);
                for (uint32_t mask = SCN_MASK_NAME; mask <= SCN_MASK_PROPERTIES && error == SCN_OK; mask <<= 1) {
                        error = change->kind == SCN_OP_MOVE ? note_escape(check, change, mask) : SCN_OK;
                }
        }
        if (check->escapes_count > 1) {
                qsort(check->escapes, check->escapes_count, sizeof *check->escapes, compare_escapes);
        }
        return error;
}

static void tell_holder(const struct scn_live_entry *lock, uint32_t op, struct scn_refusal *refusal)
{
        *refusal = (struct scn_refusal){
                .op = op,
                .field = SCN_FIELD_COUNT,
                .node = lock->uid,
                .holder = lock->bytes,
                .session = lock->session,
        };
}

enum scn_error scn_lock_check(
        const struct scn_session *session, const struct scn_changes *changes, struct scn_refusal *refusal_out)
{
        const struct scn_live *live = session->room->live;
        if (live == NULL || live->locks_count == 0) {
                return SCN_OK;
        }
        struct check check = {.session = session, .document = session->room->document};
        enum scn_error error = find_escapes(&check, changes);
        for (uint32_t i = 0; i < scn_changes_count(changes) && error == SCN_OK; i++) {
                const struct scn_change *change = scn_changes_get(changes, i);
                const struct scn_live_entry *lock = check_change(&check, change);
                if (lock != NULL) {
                        tell_holder(lock, change->op, refusal_out);
                        error = SCN_E_LOCKED;
                }
        }
        if (error == SCN_E_NO_MEMORY) {
                *refusal_out = (struct scn_refusal){.field = SCN_FIELD_COUNT};
        }
        scn_free(check.escapes);
        for (uint32_t mask = 0; mask <= SCN_MASK_DURABLE; mask++) {
                scn_memo_finish(&check.locks.above[mask]);
                scn_memo_finish(&check.escaped.above[mask]);
        }
        return error;
}
