/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_H
#define SCN_CLIENT_H

/* libscn: a program's end of a connection to scened.
 *
 *   struct scn_client   who edits, the edits that wait for an answer, requests, views. It does no I/O: bytes go in,
 *                       bytes come out, time is an argument. Outlives connections: it resumes where it was.
 *   struct scn_view     a replica of a subtree, with this client's own pending edits on top
 *   struct scn_draft    an edit being written down: ops that are applied all together or not at all
 *   struct scn_socket   carries a client's bytes over TCP or a Unix socket; fd, events, dispatch, flush
 *
 * Rules that hold everywhere:
 *   - No global state; a client with all that belongs to it is used by one thread at a time.
 *   - Callbacks are called from inside scn_client_dispatch() (thus scn_socket_dispatch() and scn_socket_wait()) only,
 *     and may call everything but scn_client_destroy(), scn_socket_destroy() and dispatch itself. If a function that
 *     takes a callback returns an error, the callback never runs; else it runs exactly once, also when the client is
 *     destroyed first: "cancelled" then (a callback that tells of several answers runs once for each).
 *   - Structs that the library hands to callbacks may grow at their end in later versions; structs that a program
 *     fills in begin with `size`, which the initialiser sets: a macro, and for who cannot use that a function of the
 *     same name, which takes the struct to be as long as this version of the library has it.
 *   - Names and values that the library shows are borrowed, valid until the client is next called with other than
 *     questions. Text that goes in is UTF-8, copied, and ends in a zero unless a size stands beside it. */

#include <scn/error.h>
#include <scn/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct scn_client;
struct scn_view;
struct scn_draft;
struct scn_socket;

/* "0.1.0" */
SCN_API const char *scn_version(void);

/* --- Uids --- */

/* Reads the 36 characters of a UUID; false if `text` is something else. */
SCN_API bool scn_uid_from_text(const char *text, struct scn_uid *uid_out);
SCN_API void scn_uid_to_text(struct scn_uid uid, char text_out[SCN_UID_TEXT_LENGTH + 1]);

/* --- Why something went wrong --- */

#define SCN_FAILURE_CODE_BYTES 40
#define SCN_FAILURE_TEXT_BYTES 472

/* The words are those of the server (scn_error_code() lists them); the library's own are "cancelled",
 * "disconnected", "timeout", "no_memory", "bad_message" and "bad_delta". */
struct scn_failure {
        char code[SCN_FAILURE_CODE_BYTES];
        char text[SCN_FAILURE_TEXT_BYTES]; /* for people */
        bool has_op;
        uint32_t op;             /* index of the op in its edit */
        struct scn_uid node;     /* the node it is about, or none */
        struct scn_slice detail; /* msgpack map: what was in the way; data == NULL: not told */
};

/* --- The client --- */

enum scn_client_state {
        SCN_CLIENT_OFFLINE,  /* no connection */
        SCN_CLIENT_GREETING, /* connected, not open yet */
        SCN_CLIENT_OPEN,     /* bound to its document; without a document: welcome */
        SCN_CLIENT_ENDED,    /* refused for good (taken over, kicked, no such document ...): it will not reconnect */
};

/* `failure`: why it went offline or ended, else NULL. */
typedef void (*scn_state_fn)(
        struct scn_client *client, enum scn_client_state state, const struct scn_failure *failure, void *data);

struct scn_client_options {
        size_t size;          /* set by the initialiser */
        const char *document; /* NULL: none; only requests that need none are answered then */
        bool create;          /* make the document if it is not there */
        const char *author;   /* NULL: the server makes a guest's name of the uid */
        const char *token;    /* where a login is configured */
        const char *agent;    /* program and version, for people */
        /* Belongs to one author and one session at a time: the same again after a restart, or none: a random one. */
        struct scn_uid uid;
        /* Fills random bytes: for uids and for spreading reconnects. NULL: the system's. */
        void (*random)(void *data, uint8_t *bytes, size_t size);
        scn_state_fn on_state; /* may be NULL */
        void *data;            /* passed to random and on_state */
};

#define SCN_CLIENT_OPTIONS_INIT                                                                                        \
        {                                                                                                              \
                .size = sizeof(struct scn_client_options)                                                              \
        }
SCN_API void scn_client_options_init(struct scn_client_options *options);

/* `options` is borrowed for the call. SCN_E_NO_MEMORY; SCN_E_RANGE: a size that is none, or a text too long. */
SCN_API SCN_NODISCARD enum scn_error scn_client_create(
        const struct scn_client_options *options, struct scn_client **client_out);
/* Ends its views and drafts too. No callback runs but those that say "cancelled". A socket of it goes first
 * (asserts). Takes NULL. */
SCN_API void scn_client_destroy(struct scn_client *client);

SCN_API enum scn_client_state scn_client_state(const struct scn_client *client);
SCN_API struct scn_uid scn_client_uid(const struct scn_client *client);
/* Number of the session, once greeted; else 0. */
SCN_API uint64_t scn_client_session(const struct scn_client *client);
/* Once open: the root's uid and whom edits belong to; else none and "". */
SCN_API struct scn_uid scn_client_root(const struct scn_client *client);
/* Whether both have the same document of the same server, by what it is opened under there; not before both were open
 * once. */
SCN_API bool scn_client_is_beside(const struct scn_client *client, const struct scn_client *other);
SCN_API const char *scn_client_author(const struct scn_client *client);
/* A random uid, as a node may have. */
SCN_API struct scn_uid scn_client_make_uid(struct scn_client *client);
/* Edits, undos and redos that wait for an answer. */
SCN_API uint32_t scn_client_pending_count(const struct scn_client *client);

/* --- The client without a socket: for other transports and for tests --- */

/* A connection exists; the greeting is in the output. */
SCN_API SCN_NODISCARD enum scn_error scn_client_connect(struct scn_client *client, uint64_t now_ms);
/* It is gone. What was sent and not answered is sent again at the next one; requests fail. */
SCN_API void scn_client_disconnect(struct scn_client *client, uint64_t now_ms);
/* Bytes that arrived; they wait for the dispatch. An error ends the connection (close, then disconnect). */
SCN_API SCN_NODISCARD enum scn_error scn_client_feed(
        struct scn_client *client, const void *bytes, size_t size, uint64_t now_ms);
/* Reads what was fed, calls back. An error ends the connection, as above. */
SCN_API SCN_NODISCARD enum scn_error scn_client_dispatch(struct scn_client *client, uint64_t now_ms);
/* The next bytes to send, borrowed until the next call; none: size 0. */
SCN_API struct scn_slice scn_client_output(struct scn_client *client);
SCN_API void scn_client_sent(struct scn_client *client, size_t bytes);
/* Whether and from when on it would like a connection; UINT64_MAX: it has one, or wants none. */
SCN_API uint64_t scn_client_connect_at_ms(const struct scn_client *client);
/* When dispatch should be called though nothing arrives; UINT64_MAX: never. */
SCN_API uint64_t scn_client_wake_at_ms(const struct scn_client *client);

/* --- How calls name nodes --- */

/* By uid, or else by path ("/", "/Player/Hand", "Name[2]"); neither: none. */
struct scn_target {
        struct scn_uid uid;
        const char *path;
};

#define SCN_BY_UID(node_uid) ((struct scn_target){.uid = (node_uid)})
#define SCN_BY_PATH(node_path) ((struct scn_target){.path = (node_path)})

/* --- Edits --- */

enum scn_position_kind {
        SCN_POSITION_UNSAID, /* last; a move within its parent: where it is */
        SCN_POSITION_FIRST,
        SCN_POSITION_AFTER,
        SCN_POSITION_INDEX,
};

struct scn_position {
        enum scn_position_kind kind;
        struct scn_target after;
        uint32_t index;
};

/* `view` (may be NULL): what its author saw. The library then knows the parent that a transform is meant in, and
 * says so: had somebody else moved the node meanwhile, the edit is refused instead of misplacing it. NULL: no
 * memory. Destroy takes NULL. */
SCN_API struct scn_draft *scn_draft_create(struct scn_client *client, struct scn_view *view);
SCN_API void scn_draft_destroy(struct scn_draft *draft);

/* Edits of one client in a row with the same number are one step of undo (a drag, say). */
SCN_API void scn_draft_set_group(struct scn_draft *draft, uint64_t group);
/* The revision its author had seen. Strict: refuse the edit if a field it writes was changed by another client since
 * then; else it only tells transforms that are meant in a parent which somebody else has set since. */
SCN_API void scn_draft_set_base(struct scn_draft *draft, scn_revision base, bool is_strict);

/* It brings in what was made elsewhere, a file's scene say: the history names that as its cause. */
SCN_API void scn_draft_set_import(struct scn_draft *draft);

struct scn_addition {
        size_t size; /* set by the initialiser */
        struct scn_target parent;
        struct scn_position position;
        struct scn_uid uid; /* none: the library chooses */
        const char *name;   /* NULL: it has none */
        const float *t;     /* 3; NULL: 0 0 0 */
        const float *r;     /* 4; NULL: 0 0 0 1 */
        const float *s;     /* 3; NULL: 1 1 1 */
};

#define SCN_ADDITION_INIT                                                                                              \
        {                                                                                                              \
                .size = sizeof(struct scn_addition)                                                                    \
        }
SCN_API void scn_addition_init(struct scn_addition *addition);

/* All of these: SCN_E_NO_MEMORY, SCN_E_TOO_LARGE, SCN_E_TOO_MANY_OPS, SCN_E_BAD_OP (no node was named). The draft is
 * then as before. What the server says about an op comes with the answer to the edit. */
SCN_API SCN_NODISCARD enum scn_error scn_draft_add(
        struct scn_draft *draft, const struct scn_addition *addition, struct scn_uid *uid_out);
/* With its subtree. */
SCN_API SCN_NODISCARD enum scn_error scn_draft_remove(struct scn_draft *draft, struct scn_target node);

#define SCN_MOVE_KEEP_WORLD 1u /* it stays where it is in the world */
#define SCN_MOVE_LOSSY 2u      /* shear that the transform cannot hold is given up */
SCN_API SCN_NODISCARD enum scn_error scn_draft_move(struct scn_draft *draft, struct scn_target node,
        struct scn_target parent, struct scn_position position, uint32_t flags);
/* NULL: as it is. */
SCN_API SCN_NODISCARD enum scn_error scn_draft_transform(
        struct scn_draft *draft, struct scn_target node, const float *t, const float *r, const float *s);
/* NULL: none. */
SCN_API SCN_NODISCARD enum scn_error scn_draft_rename(
        struct scn_draft *draft, struct scn_target node, const char *name);
/* `value`: one msgpack object; data == NULL removes the key. */
SCN_API SCN_NODISCARD enum scn_error scn_draft_set(
        struct scn_draft *draft, struct scn_target node, const char *key, struct scn_slice value);
SCN_API SCN_NODISCARD enum scn_error scn_draft_set_bool(
        struct scn_draft *draft, struct scn_target node, const char *key, bool value);
SCN_API SCN_NODISCARD enum scn_error scn_draft_set_int(
        struct scn_draft *draft, struct scn_target node, const char *key, int64_t value);
SCN_API SCN_NODISCARD enum scn_error scn_draft_set_double(
        struct scn_draft *draft, struct scn_target node, const char *key, double value);
SCN_API SCN_NODISCARD enum scn_error scn_draft_set_text(
        struct scn_draft *draft, struct scn_target node, const char *key, const char *value);
/* A reference to a node. */
SCN_API SCN_NODISCARD enum scn_error scn_draft_set_node(
        struct scn_draft *draft, struct scn_target node, const char *key, struct scn_uid value);

struct scn_result {
        uint64_t edit;                     /* as submit gave it */
        const struct scn_failure *failure; /* NULL: it is durable */
        scn_revision rev;                  /* made by it, or judged at */
        bool is_unchanged;                 /* nothing changed: no revision was made */
        struct scn_slice results;          /* msgpack array: what the server chose, by op; data == NULL: nothing */
        struct scn_slice summary;          /* undo, redo: msgpack map of steps, applied, skipped */
};

typedef void (*scn_result_fn)(struct scn_client *client, const struct scn_result *result, void *data);

/* Takes the draft, also on error. The client's views show the edit from now on; it is sent when that is possible,
 * and again after each reconnect until there is an answer. `callback` may be NULL; *edit_out (may be NULL) gets a
 * number, counted up. SCN_E_NO_MEMORY, SCN_E_TOO_LARGE (too much waits to be sent). */
SCN_API SCN_NODISCARD enum scn_error scn_draft_submit(
        struct scn_draft *draft, scn_result_fn callback, void *data, uint64_t *edit_out);

/* Take back, or bring back, the author's own steps. */
struct scn_undo {
        size_t size;
        uint32_t count;    /* steps; 0: 1 */
        bool force;        /* undo: also where others have built on it */
        scn_revision step; /* undo: this one, named by its first revision; 0: the last */
        bool is_dry;       /* undo: only say what it would do */
};

#define SCN_UNDO_INIT                                                                                                  \
        {                                                                                                              \
                .size = sizeof(struct scn_undo)                                                                        \
        }
SCN_API void scn_undo_init(struct scn_undo *undo);

SCN_API SCN_NODISCARD enum scn_error scn_client_undo(
        struct scn_client *client, const struct scn_undo *undo, scn_result_fn callback, void *data);
SCN_API SCN_NODISCARD enum scn_error scn_client_redo(
        struct scn_client *client, const struct scn_undo *undo, scn_result_fn callback, void *data);

/* What the document (or, with `node`, a subtree that was there then and is there now) was at a revision, time or tag is
 * brought back, as a step that can be undone. */
SCN_API SCN_NODISCARD enum scn_error scn_client_restore(
        struct scn_client *client, const char *at, struct scn_target node, scn_result_fn callback, void *data);

/* --- Views --- */

/* Why the view changed. */
enum scn_view_event_kind {
        SCN_VIEW_DELTA,   /* the server told: others' edits, one's own once they are durable, what the server chose */
        SCN_VIEW_EDITED,  /* one's own edit was submitted */
        SCN_VIEW_REFUSED, /* one's own edit was refused and taken back */
};

/* A node that is there now, and what may have changed of it; read its values from the view. */
struct scn_view_change {
        struct scn_uid uid;
        bool is_new;         /* it was not in the view before */
        bool is_whole;       /* all of it is told: forget what you had of it, if anything */
        uint32_t fields;     /* SCN_FIELDS_* */
        uint32_t keys_first; /* SCN_FIELDS_PROPERTY: its keys in the event */
        uint32_t keys_count;
};

/* A node that is not in the view any more. */
struct scn_view_gone {
        struct scn_uid uid;
        struct scn_slice name; /* what it was called; no data: it had no name, or the view did not know it */
};

struct scn_view_event {
        enum scn_view_event_kind kind;
        uint32_t mask;     /* channels */
        scn_revision from; /* a delta: from which revision to which */
        scn_revision to;
        bool is_whole;                         /* forget all you had: `changes` is all there is */
        uint64_t edit;                         /* edited, refused: which */
        const struct scn_failure *failure;     /* refused */
        const struct scn_view_change *changes; /* parents before children; a node may be named more than once */
        size_t changes_count;
        const struct scn_slice *keys;
        size_t keys_count;
        const struct scn_view_gone *removed; /* with all that was beneath, of which some may be listed too */
        size_t removed_count;
        const struct scn_view_gone *left; /* with all that was beneath: they live outside the view */
        size_t left_count;
        /* Replay: of the transaction; 0 and empty elsewhere. */
        uint64_t time_us; /* since 1970, UTC */
        struct scn_slice author;
        struct scn_slice cause;
};

typedef void (*scn_view_fn)(struct scn_view *view, const struct scn_view_event *event, void *data);
/* The server refused the view, or it ended; failure NULL: a replay has come to its end. */
typedef void (*scn_view_end_fn)(struct scn_view *view, const struct scn_failure *failure, void *data);

/* What is shown of presence, locks and previews has changed; mask: in which of SCN_MASK_VOLATILE. Read it anew. */
typedef void (*scn_live_fn)(struct scn_view *view, uint32_t mask, void *data);

/* Where a node is, in a view of worlds. */
struct scn_world_change {
        struct scn_uid uid;
        bool is_gone;     /* it is not in the view any more */
        bool overflows;   /* no matrix of float32 can say it */
        float matrix[16]; /* column-major; read if neither */
};

typedef void (*scn_worlds_fn)(
        struct scn_view *view, const struct scn_world_change *changes, uint32_t count, void *data);

struct scn_view_options {
        size_t size;
        struct scn_target root; /* none: the document's root */
        uint32_t mask;          /* channels; 0: all. Structure is always in, but for SCN_MASK_WORLD alone: see below. */
        uint32_t rate;          /* deltas a second at the most; 0: as they come */
        scn_view_fn on_change;  /* may be NULL; hears all channels */
        scn_view_end_fn on_end; /* may be NULL */
        void *data;
        scn_live_fn on_live;     /* may be NULL; see "What is only now" */
        scn_worlds_fn on_worlds; /* may be NULL; with the mask SCN_MASK_WORLD */
};

#define SCN_VIEW_OPTIONS_INIT                                                                                          \
        {                                                                                                              \
                .size = sizeof(struct scn_view_options)                                                                \
        }
SCN_API void scn_view_options_init(struct scn_view_options *options);

/* SCN_E_NO_MEMORY. */
SCN_API SCN_NODISCARD enum scn_error scn_view_create(
        struct scn_client *client, const struct scn_view_options *options, struct scn_view **view_out);
/* May be called from its own callback. Takes NULL. */
SCN_API void scn_view_destroy(struct scn_view *view);

/* A view with the mask SCN_MASK_WORLD, and no durable channel, is for who wants to know where things are and holds no
 * hierarchy: it has no nodes, only world matrices by uid, which also an ancestor's move renews. on_worlds tells all of
 * them first, and then what may have changed; on_change hears nothing. One's own edits show when they are durable. */
SCN_API uint32_t scn_view_worlds_count(const struct scn_view *view);
/* Column-major. SCN_E_NO_NODE, SCN_E_OVERFLOW. */
SCN_API SCN_NODISCARD enum scn_error scn_view_matrix(
        const struct scn_view *view, struct scn_uid uid, float matrix_out[16]);

/* A view of the past that moves on by itself: the state at `from`, then one event a revision. */
struct scn_replay_options {
        size_t size;
        scn_revision from;      /* begin after this one */
        scn_revision to;        /* end with this one; 0: the last */
        struct scn_target root; /* none: the document's root */
        uint32_t mask;          /* 0: all */
        scn_view_fn on_change;
        scn_view_end_fn on_end;
        void *data;
        const char *from_at; /* a revision, time or tag, instead of from; to_at the same */
        const char *to_at;
        const char *author; /* only what this one did; between, what others did comes as events of nobody */
        bool is_merged;     /* all that changed between from and to as one event of nobody */
};

#define SCN_REPLAY_OPTIONS_INIT                                                                                        \
        {                                                                                                              \
                .size = sizeof(struct scn_replay_options)                                                              \
        }
SCN_API void scn_replay_options_init(struct scn_replay_options *options);

SCN_API SCN_NODISCARD enum scn_error scn_replay_create(
        struct scn_client *client, const struct scn_replay_options *options, struct scn_view **view_out);

struct scn_view_observer;

/* Calls back for events of these channels. *observer_out may be NULL; it is for unobserve, which says whether it was
 * there. SCN_E_NO_MEMORY. */
SCN_API SCN_NODISCARD enum scn_error scn_view_observe(struct scn_view *view, uint32_t mask, scn_view_fn callback,
        void *data, struct scn_view_observer **observer_out);
SCN_API bool scn_view_unobserve(struct scn_view *view, struct scn_view_observer *observer);

/* True once the state has come. */
SCN_API bool scn_view_is_ready(const struct scn_view *view);
/* The revision it was last told; own pending edits are on top of that. */
SCN_API scn_revision scn_view_revision(const struct scn_view *view);
/* Own edits shown on top. */
SCN_API uint32_t scn_view_pending_count(const struct scn_view *view);
SCN_API uint32_t scn_view_nodes_count(const struct scn_view *view);
/* None while there is nothing. */
SCN_API struct scn_uid scn_view_root(const struct scn_view *view);

struct scn_node_info {
        struct scn_uid uid;
        struct scn_uid parent;   /* none: the view's root */
        struct scn_uid previous; /* sibling before, or none */
        struct scn_uid next;
        struct scn_uid first_child;
        uint32_t children_count;
        uint32_t properties_count;
        struct scn_slice name; /* data == NULL: it has none */
        struct scn_trs trs;
};

/* False: there is no such node in the view. */
SCN_API bool scn_view_node(const struct scn_view *view, struct scn_uid node, struct scn_node_info *info_out);
/* By path; none if there is no such node. */
SCN_API struct scn_uid scn_view_find(const struct scn_view *view, const char *path);
/* The node that comes after `at` in a walk over `top` and what is beneath it, parents first, siblings in order; none
 * at the end. Start with at = top, which is the first. */
SCN_API struct scn_uid scn_view_walk(const struct scn_view *view, struct scn_uid top, struct scn_uid at);
/* A property's value as msgpack; data == NULL: it is not there. */
SCN_API struct scn_slice scn_view_property(const struct scn_view *view, struct scn_uid node, const char *key);
/* Property number `index`, sorted by key; false: there are fewer. */
SCN_API bool scn_view_property_at(const struct scn_view *view, struct scn_uid node, uint32_t index,
        struct scn_slice *key_out, struct scn_slice *value_out);
/* Column-major; relative to what the view's root stands in. SCN_E_NO_NODE, SCN_E_OVERFLOW. */
SCN_API SCN_NODISCARD enum scn_error scn_view_world(
        const struct scn_view *view, struct scn_uid node, float matrix_out[16]);
/* Of all that is shown; equal to the server's at the same revision if nothing is pending. */
SCN_API void scn_view_digest(const struct scn_view *view, uint8_t digest_out[16]);

/* --- What is only now: presence, previews, locks --- */

/* Not part of the scene: nothing of it is stored, undone, or in what a view's other functions show. A view has what is
 * in its mask (SCN_MASK_PRESENCE, SCN_MASK_LOCKS, SCN_MASK_PREVIEW), also of one's own session; without a connection it
 * has none. Whoever shows a node that is previewed uses the preview's translation, rotation, scale in place of the
 * node's, as far as `fields` says. */

struct scn_presence_info {
        uint64_t session;
        bool is_own;
        struct scn_slice author;
        struct scn_slice map; /* msgpack */
};

struct scn_lock_info {
        struct scn_uid node;
        uint64_t session;
        bool is_own; /* this session's; the same author's other sessions may edit, too */
        struct scn_slice author;
        uint32_t mask;
        bool has_subtree;
        uint64_t left_ms; /* until it ends if it is not renewed, at the time of the last dispatch */
};

struct scn_preview_info {
        uint64_t session;
        bool is_own;
        struct scn_uid node;
        uint32_t fields; /* of SCN_FIELDS_TRS */
        struct scn_trs trs;
};

SCN_API uint32_t scn_view_presences_count(const struct scn_view *view);
SCN_API uint32_t scn_view_locks_count(const struct scn_view *view);
SCN_API uint32_t scn_view_previews_count(const struct scn_view *view);
/* Number `index` of them; false: there are fewer. */
SCN_API bool scn_view_presence(const struct scn_view *view, uint32_t index, struct scn_presence_info *info_out);
SCN_API bool scn_view_lock(const struct scn_view *view, uint32_t index, struct scn_lock_info *info_out);
SCN_API bool scn_view_preview(const struct scn_view *view, uint32_t index, struct scn_preview_info *info_out);

/* Puts the keys of a msgpack map into this session's presence; a nil removes one. The newest is sent when there is a
 * connection, and again after each reconnect; what comes between is not queued. SCN_E_NO_MEMORY, SCN_E_TOO_LARGE,
 * SCN_E_TOO_MANY_KEYS, SCN_E_BAD_MESSAGE (no map) and what refuses a property's value; it is then as before. */
SCN_API SCN_NODISCARD enum scn_error scn_client_set_presence(
        struct scn_client *client, const void *map, size_t map_size);
/* Shows others a node elsewhere, until it is ended, or an edit of this client that moves or transforms the node, by its
 * uid, is accepted. fields: of SCN_FIELDS_TRS, not none. Sent like a presence. SCN_E_NO_MEMORY,
 * SCN_E_TOO_MANY_PREVIEWS, SCN_E_NOT_FINITE, SCN_E_ZERO_QUATERNION, SCN_E_RANGE (no node, or no such fields). */
SCN_API SCN_NODISCARD enum scn_error scn_client_preview(
        struct scn_client *client, struct scn_uid node, uint32_t fields, const struct scn_trs *trs);
SCN_API void scn_client_end_preview(struct scn_client *client, struct scn_uid node);

struct scn_lock {
        size_t size;
        uint32_t ttl_s;   /* seconds, until it is renewed by locking again; 0: 60 */
        uint32_t mask;    /* channels, of SCN_MASK_DURABLE; 0: all */
        bool has_subtree; /* with all that is beneath */
};

#define SCN_LOCK_INIT                                                                                                  \
        {                                                                                                              \
                .size = sizeof(struct scn_lock)                                                                        \
        }
SCN_API void scn_lock_init(struct scn_lock *lock);

/* --- Requests --- */

struct scn_answer {
        const struct scn_failure *failure; /* NULL: it was answered */
        struct scn_slice body;             /* msgpack; see PROTOCOL.md, or read it with the functions below */
        scn_revision rev;                  /* it is true for, 0 if that means nothing */
        scn_revision durable;              /* what cannot be lost any more, 0 likewise */
        bool has_more;                     /* the callback is called again */
};

typedef void (*scn_answer_fn)(struct scn_client *client, const struct scn_answer *answer, void *data);

/* What requests may be narrowed by; each reads what its line names. */
struct scn_request {
        size_t size;
        struct scn_target node; /* tree, digest: top of the subtree; log: only what touched it; world: relative to */
        const char *at;         /* tree, digest, world: revision, time or tag; NULL: now */
        bool has_depth;         /* tree */
        uint32_t depth;
        bool durable;       /* world: only what cannot be lost any more */
        const char *author; /* log */
        scn_revision from;  /* log; 0: not said */
        scn_revision to;
        uint64_t limit;
        uint64_t group;    /* log: only this group's; 0: not said */
        const char *since; /* log: what happened after this revision, time or tag */
        const char *until; /* log: up to and with this one */
        uint64_t last;     /* log: only the last so many of all these; 0: not said */
};

#define SCN_REQUEST_INIT                                                                                               \
        {                                                                                                              \
                .size = sizeof(struct scn_request)                                                                     \
        }
SCN_API void scn_request_init(struct scn_request *request);

/* All of these: SCN_E_NO_MEMORY, SCN_E_TOO_LARGE. A request made before the client is open waits; one that is
 * under way when the connection breaks fails as "disconnected". */
SCN_API SCN_NODISCARD enum scn_error scn_client_world(struct scn_client *client, const struct scn_target *nodes,
        size_t nodes_count, const struct scn_request *request, scn_answer_fn callback, void *data);
SCN_API SCN_NODISCARD enum scn_error scn_client_tree(
        struct scn_client *client, const struct scn_request *request, scn_answer_fn callback, void *data);
SCN_API SCN_NODISCARD enum scn_error scn_client_digest(
        struct scn_client *client, const struct scn_request *request, scn_answer_fn callback, void *data);
SCN_API SCN_NODISCARD enum scn_error scn_client_log(
        struct scn_client *client, const struct scn_request *request, scn_answer_fn callback, void *data);
SCN_API SCN_NODISCARD enum scn_error scn_client_documents(
        struct scn_client *client, scn_answer_fn callback, void *data);
/* The same with what state each is in, which scn_answer_document_state() reads. */
SCN_API SCN_NODISCARD enum scn_error scn_client_document_states(
        struct scn_client *client, scn_answer_fn callback, void *data);
/* Of the documents that were deleted, of which scn_answer_document_state() reads the name and the time. */
SCN_API SCN_NODISCARD enum scn_error scn_client_trash(struct scn_client *client, scn_answer_fn callback, void *data);
/* action: "create", "delete", "undelete", "rename" (to: the new name, else NULL). */
SCN_API SCN_NODISCARD enum scn_error scn_client_manage(struct scn_client *client, const char *action,
        const char *document, const char *to, scn_answer_fn callback, void *data);
SCN_API SCN_NODISCARD enum scn_error scn_client_info(struct scn_client *client, scn_answer_fn callback, void *data);
SCN_API SCN_NODISCARD enum scn_error scn_client_who(struct scn_client *client, scn_answer_fn callback, void *data);
SCN_API SCN_NODISCARD enum scn_error scn_client_kick(
        struct scn_client *client, uint64_t session, scn_answer_fn callback, void *data);
SCN_API SCN_NODISCARD enum scn_error scn_client_verify(struct scn_client *client, scn_answer_fn callback, void *data);
/* `rev` NULL: the durable revision. A tag that is there already names this revision from now on. */
SCN_API SCN_NODISCARD enum scn_error scn_client_tag(
        struct scn_client *client, const char *name, const scn_revision *rev, scn_answer_fn callback, void *data);
SCN_API SCN_NODISCARD enum scn_error scn_client_untag(
        struct scn_client *client, const char *name, scn_answer_fn callback, void *data);
/* A new document named `to`, as the open one was at a revision, time or tag (NULL: as it is). */
SCN_API SCN_NODISCARD enum scn_error scn_client_fork(
        struct scn_client *client, const char *at, const char *to, scn_answer_fn callback, void *data);
/* Who set each field of a node that is there. */
SCN_API SCN_NODISCARD enum scn_error scn_client_blame(
        struct scn_client *client, struct scn_target node, scn_answer_fn callback, void *data);
SCN_API SCN_NODISCARD enum scn_error scn_client_tags(struct scn_client *client, scn_answer_fn callback, void *data);
SCN_API SCN_NODISCARD enum scn_error scn_client_backup(struct scn_client *client, scn_answer_fn callback, void *data);
/* A document's file that is to become a document of the server (`scenectl restore-file`). */
struct scn_file {
        size_t size;
        const char *document; /* the name it is to have */
        uint64_t bytes;
        bool replaces; /* a document that has the name goes to the trash, and its sessions end */
};

#define SCN_FILE_INIT                                                                                                  \
        {                                                                                                              \
                .size = sizeof(struct scn_file)                                                                        \
        }
SCN_API void scn_file_init(struct scn_file *file);

/* Gives the next bytes of a file: how many, at most `size`; 0 or less: there are no more. */
typedef int64_t (*scn_read_fn)(void *data, uint8_t *bytes_out, size_t size);

/* `read` is called now, and from within dispatch until `callback`, which has the same data, is called without has_more.
 * Nothing of it is there before the server has verified all of it. */
SCN_API SCN_NODISCARD enum scn_error scn_client_restore_file(
        struct scn_client *client, const struct scn_file *file, scn_read_fn read, scn_answer_fn callback, void *data);
/* Keeps other authors from editing these nodes, all or none; `lock` may be NULL. After a reconnect the locks of the
 * session before last some seconds: lock again to keep them. The failure "locked" says in its text whose they are. */
SCN_API SCN_NODISCARD enum scn_error scn_client_lock(struct scn_client *client, const struct scn_target *nodes,
        size_t nodes_count, const struct scn_lock *lock, scn_answer_fn callback, void *data);
/* nodes_count 0: all that this session holds. */
SCN_API SCN_NODISCARD enum scn_error scn_client_unlock(struct scn_client *client, const struct scn_target *nodes,
        size_t nodes_count, scn_answer_fn callback, void *data);
SCN_API SCN_NODISCARD enum scn_error scn_client_ping(struct scn_client *client, scn_answer_fn callback, void *data);

/* One node of an answer to `tree`. */
struct scn_tree_node {
        scn_node_id id;
        struct scn_uid uid;
        struct scn_uid parent;
        struct scn_slice name;  /* data == NULL: it has none */
        struct scn_slice props; /* msgpack map */
        struct scn_trs trs;
        bool continues; /* these are further properties of the node before; besides, only id and uid are told */
};

/* One node of an answer to `world`, in the order asked for. */
struct scn_world {
        struct scn_uid uid;
        struct scn_slice path; /* data == NULL: to tell it would cost too much */
        float matrix[16];      /* column-major */
        struct scn_trs trs;
        struct scn_slice code; /* data == NULL: all is well; else the word of an error, and its text */
        struct scn_slice text;
};

/* Each reads the next element of the body and moves *at on; start with 0 and go on while it says true. False: the
 * end, or a body of another kind. */
SCN_API bool scn_answer_tree(const struct scn_answer *answer, size_t *at, struct scn_tree_node *node_out);
SCN_API bool scn_answer_world(const struct scn_answer *answer, size_t *at, struct scn_world *world_out);
SCN_API bool scn_answer_document(const struct scn_answer *answer, size_t *at, struct scn_slice *name_out);
/* A document's uid, last revision and newest epoch: two files that agree in these are the same document. */
struct scn_document_state {
        struct scn_slice name;
        struct scn_slice code; /* data == NULL: all is well; else the word of an error, and nothing below is known */
        struct scn_uid uid;
        scn_revision rev;
        uint8_t epoch[8];
        uint64_t deleted_us; /* when, since 1970, UTC; 0: it was not */
};
SCN_API bool scn_answer_document_state(
        const struct scn_answer *answer, size_t *at, struct scn_document_state *state_out);
SCN_API bool scn_answer_digest(const struct scn_answer *answer, uint8_t digest_out[16]);

/* --- The socket --- */

#define SCN_SOCKET_READABLE 1u
#define SCN_SOCKET_WRITABLE 2u

/* "HOST:PORT", "[IPV6]:PORT" or "unix:PATH"; borrows the client, connects to it for as long as the socket lives and
 * reconnects when the connection breaks. NULL: the default, 127.0.0.1:7420. Looking up a host's name may take a
 * while. SCN_E_NO_MEMORY; SCN_E_RANGE: that is no address. */
SCN_API SCN_NODISCARD enum scn_error scn_socket_create(
        struct scn_client *client, const char *address, struct scn_socket **socket_out);
SCN_API void scn_socket_destroy(struct scn_socket *socket);
/* To be asked before each wait: -1 while there is no connection; changes with each. */
SCN_API int scn_socket_fd(const struct scn_socket *socket);
/* What to wait for, SCN_SOCKET_*; asks the client for output first. */
SCN_API uint32_t scn_socket_events(struct scn_socket *socket);
/* Milliseconds after which to dispatch though nothing happened; -1: never. */
SCN_API int scn_socket_timeout_ms(const struct scn_socket *socket);
/* Connects, reads what is there, calls back, writes what can be written; never waits. */
SCN_API void scn_socket_dispatch(struct scn_socket *socket);
/* Writes what can be written; never waits. */
SCN_API void scn_socket_flush(struct scn_socket *socket);
/* For a program without a loop of its own: waits at most so long (-1: for ever), then dispatches. */
SCN_API void scn_socket_wait(struct scn_socket *socket, int timeout_ms);
/* Why there is no connection, for people; "" if there is one. */
SCN_API const char *scn_socket_problem(const struct scn_socket *socket);
/* Attempts to connect that failed since the last that succeeded. */
SCN_API uint32_t scn_socket_failures(const struct scn_socket *socket);

#ifdef __cplusplus
}
#endif

#endif
