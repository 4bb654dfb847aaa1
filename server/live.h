/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_LIVE_H
#define SCN_SERVER_LIVE_H

/* A room's volatile channels: presence, locks, previews (DESIGN §5). They never touch revision, digest or journal.
 *
 * What there is stands in one list, in the order of its last change, each change with the room's next count. A view
 * has a cursor in these counts, so what it lacks is the newer end of the list; what has ended since is in a short list
 * of its own, and a view that lacks more than that remembers is told everything. Nothing is kept for a client.
 *
 * Views are told while the room is settled: then the nodes are where the views think they are. */

#include "protocol/wire/live.h"
#include "server/core.h"

/* At most one message a view in this time. */
#define SCN_LIVE_INTERVAL_MS 15u
/* How long a lock outlives its session, for the author to come back. */
#define SCN_LOCK_GRACE_MS 10000u
#define SCN_LOCK_TTL_S 60u
/* Ended entries that are remembered. The simulator has its own numbers. */
#ifndef SCN_LIVE_GONE_MAX
#define SCN_LIVE_GONE_MAX 1024u
#endif
/* About where a message ends and the next begins. */
#ifndef SCN_LIVE_PART_BYTES
#define SCN_LIVE_PART_BYTES 65536u
#endif

enum scn_live_kind {
        SCN_LIVE_PRESENCE,
        SCN_LIVE_LOCK,
        SCN_LIVE_PREVIEW,
};

struct scn_live_entry {
        struct scn_live_entry *older;
        struct scn_live_entry *newer;
        uint64_t began; /* count */
        uint64_t count; /* when it last changed, or its node was moved */
        enum scn_live_kind kind;
        struct scn_session *owner; /* NULL: a lock whose session has gone */
        uint64_t session;
        scn_node_id id; /* locks and previews: this life of the node, no other */
        struct scn_uid uid;
        struct scn_slice bytes; /* owned; presence: the map, a lock: its author */
        /* A lock. */
        uint32_t mask;
        bool has_subtree;
        uint64_t expires_ms;
        /* A preview. */
        uint32_t fields;
        struct scn_trs trs;
        bool is_ending;     /* an edit of its session, in flight, has written the node */
        bool ends_for_sure; /* and will be answered as accepted also if the batch is taken back: it changed nothing */
};

struct scn_live_gone {
        enum scn_live_kind kind;
        uint64_t began;
        uint64_t count;
        uint64_t session;
        scn_node_id id;
        struct scn_uid uid;
};

struct scn_live {
        uint64_t count;
        struct scn_live_entry *oldest;
        struct scn_live_entry *newest;
        size_t entries_count;
        size_t previews_count;
        struct scn_live_entry **locks; /* by node id */
        size_t locks_count;
        size_t locks_capacity;
        struct scn_live_gone *gone; /* oldest first */
        size_t gone_count;
        size_t gone_capacity;
        uint64_t gone_floor; /* a view whose cursor is below is told everything */
        uint64_t passed_ms;  /* when views were last told */
        uint64_t due_ms;     /* when they are to be told next; UINT64_MAX: nobody lacks anything */
        uint64_t expires_ms; /* not before this does a lock end; UINT64_MAX: there is none */
        bool has_ending;
        scn_revision moved_revision; /* when one of them, or its node's ancestor, was last moved */
        scn_node_id *moved;          /* while a batch is published: the nodes it moved */
        size_t moved_count;
        size_t moved_capacity;
        bool has_lost_moved; /* there was no memory for them */
};

/* --- live.c: what there is --- */

/* Makes these bytes the session's presence, and owns them then; `bytes.data` NULL: it has none. SCN_E_NO_MEMORY. */
SCN_NODISCARD enum scn_error scn_live_set_presence(struct scn_session *session, struct scn_slice bytes);
/* One previewed node, of which at most one element is in a call. */
struct scn_live_wish {
        scn_node_id id;
        uint32_t order; /* in which it was asked for */
        uint32_t fields;
        struct scn_trs trs;
};
/* Sets and ends previews of the session; sorted by id. SCN_E_TOO_MANY_PREVIEWS, SCN_E_NO_MEMORY. */
SCN_NODISCARD enum scn_error scn_live_set_previews(
        struct scn_session *session, const struct scn_live_wish *wishes, size_t count);
void scn_live_end_previews(struct scn_session *session);
/* What the session previews of a node, also of one that has been removed; NULL: nothing. */
struct scn_live_entry *scn_live_find_preview(const struct scn_session *session, scn_node_id id);
/* An entry that is not in the list yet; id 0: it is about no node. NULL: out of memory. */
struct scn_live_entry *scn_live_make(struct scn_session *session, enum scn_live_kind kind, scn_node_id id);
/* It has changed, or is new: it is the newest now, and will be told. */
void scn_live_touch(struct scn_live *live, struct scn_live_entry *entry);
/* It ends, and is freed. */
void scn_live_end(struct scn_live *live, struct scn_live_entry *entry);
/* Notes that something has ended that is not to be told any more under this session's number. */
void scn_live_note_gone(struct scn_live *live, const struct scn_live_entry *entry);
/* The room's, made if need be; NULL: out of memory. */
struct scn_live *scn_live_get(struct scn_room *room);
void scn_live_destroy(struct scn_live *live);
/* The first place in a row sorted by node id that has this id or a later one. */
size_t scn_live_place(struct scn_live_entry *const *row, size_t count, scn_node_id id);
/* True if `id` is `top` or beneath it. */
bool scn_live_is_under(const struct scn_document *document, scn_node_id id, scn_node_id top);

/* --- lock.c --- */

struct scn_lock_wish {
        const scn_node_id *ids; /* sorted, none twice */
        size_t ids_count;
        uint32_t mask;
        bool has_subtree;
        uint64_t ttl_ms;
};
/* Locks all or none. SCN_E_LOCKED (*blocker_out: by whom), SCN_E_TOO_MANY_LOCKS, SCN_E_NO_MEMORY. */
SCN_NODISCARD enum scn_error scn_lock_take(
        struct scn_session *session, const struct scn_lock_wish *wish, const struct scn_live_entry **blocker_out);
/* Ends the author's locks of these nodes; returns how many there were. */
uint32_t scn_lock_release(struct scn_session *session, const scn_node_id *ids, size_t ids_count);
uint32_t scn_lock_release_all(struct scn_session *session);
/* True if somebody else's lock covers the node's transform. */
bool scn_lock_bars_preview(const struct scn_session *session, scn_node_id id);

/* --- handle_live.c --- */
void scn_handle_presence(struct scn_session *session, const struct scn_message_presence *message);
void scn_handle_preview(struct scn_session *session, const struct scn_message_preview *message);
void scn_handle_lock(struct scn_session *session, const struct scn_message_lock *message);
void scn_handle_unlock(struct scn_session *session, const struct scn_message_unlock *message);

#endif
