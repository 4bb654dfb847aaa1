/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What the server has: presences, locks, previews, matrices; and what must hold of them whatever is under way. */

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/base/uid.h"
#include "server/live.h"
#include "tests/sim/sim.h"

#include <string.h>

/* The host ticks and turns about so often. */
#define LATE_MS 1500u

static const struct scn_room *find_room(const struct sim *sim, uint32_t document)
{
        const struct scn_room *room =
                sim->server == NULL ? NULL : scn_server_find_room(sim->server, sim_document_name(document));
        return room == NULL || room->state != SCN_ROOM_OPEN ? NULL : room;
}

/* --- What views are to show --- */

static scn_node_id find_root(const struct scn_document *document, struct scn_uid root)
{
        return scn_uid_is_none(root) ? scn_document_root(document) : scn_document_find_uid(document, root);
}

static bool is_beneath(const struct scn_document *document, scn_node_id id, scn_node_id top)
{
        if (top == 0 || !scn_document_has(document, id)) {
                return false;
        }
        while (id != 0 && id != top) {
                id = scn_document_node(document, id).parent;
        }
        return id == top;
}

static uint32_t mask_of(const struct scn_live_entry *entry)
{
        return entry->kind == SCN_LIVE_PRESENCE ? SCN_MASK_PRESENCE
                : entry->kind == SCN_LIVE_LOCK  ? SCN_MASK_LOCKS
                                                : SCN_MASK_PREVIEW;
}

static struct sim_fact fact_of(const struct scn_live_entry *entry)
{
        struct sim_fact fact = {.mask = mask_of(entry), .session = entry->session, .node = entry->uid};
        if (entry->kind == SCN_LIVE_PRESENCE) {
                fact.author = (struct scn_slice){entry->owner->author, entry->owner->author_size};
                fact.map = entry->bytes;
        } else if (entry->kind == SCN_LIVE_LOCK) {
                fact.author = entry->bytes;
                fact.lock_mask = entry->mask;
                fact.has_subtree = entry->has_subtree;
                fact.expires_ms = entry->expires_ms;
                fact.is_orphan = entry->owner == NULL;
        } else {
                fact.fields = entry->fields;
                fact.trs = entry->trs;
        }
        return fact;
}

size_t sim_inside_facts(
        const struct sim *sim, uint32_t which, struct scn_uid root, uint32_t mask, struct sim_fact *facts, size_t most)
{
        const struct scn_room *room = find_room(sim, which);
        size_t count = 0;
        if (room == NULL || room->live == NULL) {
                return 0;
        }
        const scn_node_id top = find_root(room->document, root);
        for (const struct scn_live_entry *entry = room->live->oldest; entry != NULL; entry = entry->newer) {
                const bool is_in = entry->id == 0 || is_beneath(room->document, entry->id, top);
                if ((mask & mask_of(entry)) != 0 && is_in && count < most) {
                        facts[count++] = fact_of(entry);
                }
        }
        return count;
}

bool sim_inside_has_node(const struct sim *sim, uint32_t document, struct scn_uid node)
{
        const struct scn_room *room = find_room(sim, document);
        return room != NULL && scn_document_find_uid(room->document, node) != 0;
}

bool sim_inside_is_barred(const struct sim *sim, uint32_t document, struct scn_uid node, const char *author)
{
        const struct scn_room *room = find_room(sim, document);
        if (room == NULL || room->live == NULL) {
                return false;
        }
        const scn_node_id id = scn_document_find_uid(room->document, node);
        for (const struct scn_live_entry *lock = room->live->oldest; lock != NULL; lock = lock->newer) {
                const bool is_own =
                        lock->bytes.size == strlen(author) && memcmp(lock->bytes.data, author, lock->bytes.size) == 0;
                if (lock->kind == SCN_LIVE_LOCK && !is_own && (lock->mask & SCN_MASK_TRANSFORM) != 0 &&
                        (lock->id == id || (lock->has_subtree && is_beneath(room->document, id, lock->id)))) {
                        return true;
                }
        }
        return false;
}

size_t sim_inside_worlds(const struct sim *sim, uint32_t which, struct scn_uid root, struct sim_world **worlds_out)
{
        const struct scn_room *room = find_room(sim, which);
        SCN_ASSERT(room != NULL);
        const struct scn_document *document = room->document;
        const scn_node_id top = find_root(document, root);
        size_t count = 0;
        *worlds_out = scn_alloc_zero(scn_document_nodes_count(document) + 1, sizeof **worlds_out);
        SCN_ASSERT(*worlds_out != NULL);
        for (scn_node_id id = top; id != 0; id = scn_document_walk(document, top, id)) {
                struct sim_world *world = &(*worlds_out)[count++];
                world->id = id;
                world->uid = scn_document_node(document, id).uid;
                world->has_matrix = true;
                world->overflows = scn_document_world(document, id, &world->matrix) != SCN_OK;
        }
        return count;
}

/* --- What always holds --- */

static bool is_in_room(const struct scn_room *room, const struct scn_session *session)
{
        const struct scn_session *at = room->sessions;
        while (at != NULL && at != session) {
                at = at->next_in_room;
        }
        return at != NULL;
}

/* Its connection is an author's present one. */
static bool is_present(const struct sim *sim, const struct scn_session *session)
{
        for (uint32_t i = 0; i < sim->climate.authors_count; i++) {
                const struct sim_link *link = sim->authors[i].link;
                if (link != NULL && link->session == session) {
                        return true;
                }
        }
        return false;
}

static void check_owner(
        const struct sim *sim, const struct scn_room *room, const struct scn_live_entry *entry, bool is_at_rest)
{
        const unsigned long long number = entry->session;
        if (entry->owner == NULL) {
                return;
        }
        if (!is_in_room(room, entry->owner) || entry->owner->number != entry->session) {
                sim_fail(sim, "session %llu shows something, and is not in the room", number);
        }
        if (is_at_rest && !is_present(sim, entry->owner)) {
                sim_fail(sim, "session %llu has gone, and still shows something", number);
        }
}

static void check_lock(const struct sim *sim, const struct scn_room *room, const struct scn_live_entry *lock)
{
        const uint64_t now_ms = sim->now_us / SIM_MS;
        if (lock->expires_ms + LATE_MS < now_ms) {
                sim_fail(sim, "a lock stands %llu ms after its time", (unsigned long long)(now_ms - lock->expires_ms));
        }
        if (lock->owner == NULL && lock->expires_ms > now_ms + SCN_LOCK_GRACE_MS) {
                sim_fail(sim, "a lock is to outlive its session for %llu ms",
                        (unsigned long long)(lock->expires_ms - now_ms));
        }
        if (room->live->expires_ms > lock->expires_ms) {
                sim_fail(sim, "nobody waits for the end of a lock");
        }
}

/* On the node itself: one that has moved into a locked subtree is dragged on. */
static void check_preview(const struct sim *sim, const struct scn_room *room, const struct scn_live_entry *preview)
{
        for (size_t i = 0; i < room->live->locks_count; i++) {
                const struct scn_live_entry *lock = room->live->locks[i];
                const bool is_own = lock->bytes.size == preview->owner->author_size &&
                        memcmp(lock->bytes.data, preview->owner->author, lock->bytes.size) == 0;
                if (lock->id == preview->id && (lock->mask & SCN_MASK_TRANSFORM) != 0 && !is_own) {
                        sim_fail(sim, "session %llu drags what somebody else has locked",
                                (unsigned long long)preview->session);
                }
        }
}

static void check_room(const struct sim *sim, const struct scn_room *room, bool is_at_rest)
{
        const struct scn_live *live = room->live;
        size_t locks = 0;
        uint64_t last = 0;
        for (const struct scn_live_entry *entry = live->oldest; entry != NULL; entry = entry->newer) {
                check_owner(sim, room, entry, is_at_rest);
                if (entry->kind == SCN_LIVE_LOCK) {
                        locks++;
                        check_lock(sim, room, entry);
                } else if (entry->kind == SCN_LIVE_PREVIEW) {
                        check_preview(sim, room, entry);
                }
                if (entry->count <= last || entry->count > live->count) {
                        sim_fail(sim, "what is shown is not in order");
                }
                if (entry->id != 0 && scn_room_is_settled(room) && !scn_document_has(room->document, entry->id)) {
                        sim_fail(sim, "a lock or preview is left of a node that is gone");
                }
                last = entry->count;
        }
        if (locks != live->locks_count) {
                sim_fail(sim, "there are %zu locks, counted as %zu", locks, live->locks_count);
        }
        for (const struct scn_session *session = room->sessions; session != NULL; session = session->next_in_room) {
                uint32_t own = 0;
                for (size_t i = 0; i < live->locks_count; i++) {
                        own += live->locks[i]->owner == session;
                }
                if (own != session->locks_count) {
                        sim_fail(sim, "session %llu has %u locks, counted as %u", (unsigned long long)session->number,
                                own, session->locks_count);
                }
        }
}

void sim_inside_check(const struct sim *sim, bool is_at_rest)
{
        for (uint32_t i = 0; i < sim->climate.documents_count; i++) {
                const struct scn_room *room = find_room(sim, i);
                if (room != NULL && room->live != NULL && !sim->is_stopping) {
                        check_room(sim, room, is_at_rest);
                }
        }
}

bool sim_inside_is_told(const struct sim *sim)
{
        for (const struct scn_session *session = sim->server->sessions; session != NULL; session = session->next) {
                const struct scn_live *live = session->state != SCN_SESSION_OPEN ? NULL : session->room->live;
                for (const struct scn_view *view = session->views; view != NULL && live != NULL; view = view->next) {
                        if (view->live_mask != 0 && view->live_cursor < live->count) {
                                return false;
                        }
                }
        }
        return true;
}

uint64_t sim_inside_due_us(const struct sim *sim)
{
        const uint64_t due_ms = scn_server_due_ms(sim->server);
        return due_ms > UINT64_MAX / SIM_MS ? UINT64_MAX : due_ms * SIM_MS;
}

void sim_inside_check_silence(struct sim *sim)
{
        for (struct sim_link *link = sim->links; link != NULL; link = link->next) {
                if (link->session == NULL || link->session->state == SCN_SESSION_ENDED) {
                        continue;
                }
                if (!scn_session_wants_input(link->session)) {
                        link->heard_us = sim->now_us;
                } else if (link->promised_us > 0 && sim->now_us - link->heard_us > 2 * link->promised_us + SIM_MS) {
                        sim_fail(sim, "session %llu is still there, though nothing was heard of it for %llu ms",
                                (unsigned long long)link->session->number,
                                (unsigned long long)((sim->now_us - link->heard_us) / SIM_MS));
                }
        }
}
