/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_CLIENT_H
#define SCN_CLIENT_CLIENT_H

/* The client's insides: what client.c (life, bytes), tasks.c (sending), handle.c (messages), view.c and request.c
 * share. Nobody else includes it. */

#include "client/event.h"
#include "client/live.h"
#include "client/mirror.h"
#include "client/task.h"
#include "protocol/base/assert.h"
#include "protocol/wire/frame.h"

#include <scn/client.h>
#include <scn/limits.h>

/* Nothing heard for so long: ask. Nothing heard for so long after that: the connection is dead. */
#define SCN_CLIENT_ASK_AFTER_MS 15000u
#define SCN_CLIENT_DEAD_AFTER_MS 30000u
/* The server is promised to hear something this often; it waits for twice as long. */
#define SCN_CLIENT_PING_S 20u
/* A server that answers a greeting later than this is not one. */
#define SCN_CLIENT_GREETING_MS 20000u
/* First, and longest, pause before connecting again; doubled each time, and spread by up to a half. */
#define SCN_CLIENT_PAUSE_MS 100u
#define SCN_CLIENT_PAUSE_MAX_MS 10000u
/* More output than this is not made before some has gone. */
#define SCN_CLIENT_OUTPUT_BYTES (256u << 10)
/* What may wait to be answered, all edits together. */
#define SCN_CLIENT_PENDING_BYTES_MAX (512u << 20)
#define SCN_CLIENT_TEXT_BYTES_MAX 1024u

TAILQ_HEAD(scn_view_queue, scn_view);
TAILQ_HEAD(scn_draft_queue, scn_draft);

struct scn_view {
        TAILQ_ENTRY(scn_view) link;
        struct scn_client *client;
        uint64_t number;  /* of the view, and for a replay also of the request */
        uint64_t request; /* under way, or SCN_ABSENT */
        bool is_replay;
        bool is_wanted;  /* to be asked for when that is possible */
        bool is_asked;   /* asked for on this connection */
        bool is_viewed;  /* the server has answered that */
        bool is_ended;   /* no more will come */
        bool is_dead;    /* destroyed from within a callback */
        bool is_doubted; /* its last delta did not fit: a second one in a row ends it */
        struct scn_node_ref root;
        char *path; /* owned; what root.path points to */
        uint64_t mask;
        uint64_t rate;
        struct scn_buffer replay_from; /* as on the wire; empty: not said */
        struct scn_buffer replay_to;
        scn_revision replay_began; /* where it goes on from */
        char *replay_author;       /* owned; NULL: everybody's */
        bool is_merged;
        bool has_head; /* what is told next is a transaction's own */
        bool has_epoch;
        uint8_t epoch[8]; /* the history that the cursor counts in */
        struct scn_mirror mirror;
        struct scn_observable *observable;
        struct scn_view_observer *observers; /* list */
        scn_view_end_fn on_end;
        void *data;
        struct scn_told *queue_first; /* events to be told by the next dispatch */
        struct scn_told *queue_last;
        bool has_lost_event;
        struct scn_worlds *worlds; /* owned; NULL: it is a view of nodes */
        scn_worlds_fn on_worlds;
        struct scn_live_tables live;
        uint32_t live_mask; /* changed, to be told by the next dispatch */
        scn_live_fn on_live;
        /* Replay: what the next delta belongs to. */
        uint64_t time_us;
        char author[256];
        uint32_t author_size;
        char cause[32];
        uint32_t cause_size;
        scn_revision replay_next; /* where to go on; SCN_ABSENT: that is all */
        struct scn_slice digest;  /* at the end; borrowed from the message */
        bool is_continued;        /* the state that comes first is here already */
        struct scn_failure *end;  /* owned: to be told by the next dispatch */
};

struct scn_client {
        /* Options, owned. */
        char *document;
        char *author_wanted;
        char *token;
        char *agent;
        bool create;
        struct scn_uid uid;
        void (*random)(void *data, uint8_t *bytes, size_t size);
        scn_state_fn on_state;
        void *data;

        enum scn_client_state state;
        enum scn_client_state told; /* what on_state heard last */
        struct scn_failure failure; /* why it is offline or ended */
        bool has_failure;
        bool has_socket;
        bool is_dispatching;
        bool is_broken; /* this connection is to be closed */
        uint64_t now_ms;
        uint64_t state_since_ms;
        uint64_t heard_ms;
        uint64_t sent_ms;
        uint64_t asked_ms; /* when the ping under way was sent */
        uint64_t connect_at_ms;
        uint32_t pause_ms;
        uint64_t ping; /* request number of the ping under way, or SCN_ABSENT */

        struct scn_frame_reader reader;
        struct scn_buffer output;
        size_t output_at;
        struct scn_buffer scratch;

        uint64_t session;
        struct scn_uid root;
        uint8_t epoch[8];
        uint64_t history; /* epochs seen so far: revisions of different ones cannot be compared */
        char author[SCN_CLIENT_TEXT_BYTES_MAX];
        uint64_t open_request;
        struct scn_limits limits;
        uint64_t hash_seed;

        uint64_t numbers;     /* last given to a request or view */
        uint64_t edits;       /* last given to an edit, for the program */
        uint64_t next_number; /* for the next edit that was never sent */
        uint64_t last_number; /* sent on this connection; 0: none yet */

        struct scn_task_queue tasks;    /* without an answer, in order */
        struct scn_task_queue accepted; /* edits that still show on top, in order; all before those in tasks */
        struct scn_task_queue failed;   /* to be told by the next dispatch */
        struct scn_task *next_task;     /* the first that is not wholly sent */
        uint32_t next_part;
        size_t pending_bytes;
        uint32_t pending_count;
        struct scn_view_queue views;
        struct scn_draft_queue drafts;
        struct scn_live_own own; /* presence and previews */
};

/* --- client.c --- */

struct scn_uid scn_client_random_uid(struct scn_client *client);
/* Appends a message to the output. SCN_E_NO_MEMORY, SCN_E_TOO_LARGE; the output is then as before. */
SCN_NODISCARD enum scn_error scn_client_send(struct scn_client *client, const struct scn_message *message);
SCN_NODISCARD enum scn_error scn_client_send_payload(struct scn_client *client, struct scn_slice payload);
void scn_client_set_state(struct scn_client *client, enum scn_client_state state);
/* For good: everything that waits fails with the same reason. */
void scn_client_end(struct scn_client *client, const struct scn_failure *failure);
/* This connection only. */
void scn_client_break(struct scn_client *client, const struct scn_failure *failure);

/* --- task.c --- */

/* Appends whatever is next to the output; false: there is nothing, or no memory for it. */
bool scn_client_send_next(struct scn_client *client);
/* The connection is gone. */
void scn_client_unsend(struct scn_client *client);
void scn_client_add_task(struct scn_client *client, struct scn_task *task);
/* Moves a task to those that failed. */
void scn_client_fail_task(struct scn_client *client, struct scn_task *task, const struct scn_failure *failure);
void scn_client_fail_all(struct scn_client *client, const struct scn_failure *failure);
void scn_client_tell_failed(struct scn_client *client);
/* An edit that shows nowhere any more is gone. */
void scn_client_sweep_accepted(struct scn_client *client);
struct scn_task *scn_client_find_number(struct scn_client *client, uint64_t number);
struct scn_task *scn_client_find_request(struct scn_client *client, uint64_t request);
void scn_client_remove_task(struct scn_client *client, struct scn_task *task);

/* --- live.c --- */

/* Sends what is due of presence and previews; false: nothing is. */
bool scn_client_send_own(struct scn_client *client);
/* The connection is gone: what runs is sent again on the next one. */
void scn_client_unsend_own(struct scn_client *client);
/* An edit is handed in; it was accepted, or was not. */
void scn_client_own_submitted(struct scn_client *client, const struct scn_task *task);
void scn_client_own_answered(struct scn_client *client, const struct scn_task *task, bool is_accepted);
SCN_NODISCARD enum scn_error scn_view_take_live(struct scn_view *view, const struct scn_message_live *live);
/* There is nothing of it any more. */
void scn_view_clear_live(struct scn_view *view);

/* --- worlds.c --- */

/* NULL: out of memory. */
struct scn_worlds *scn_worlds_create(void);
/* NULL is allowed. */
void scn_worlds_destroy(struct scn_worlds *worlds);
/* Takes a delta, or a part of one, and tells what has changed. SCN_E_BAD_DELTA, SCN_E_NO_MEMORY. */
SCN_NODISCARD enum scn_error scn_worlds_take(struct scn_view *view, const struct scn_message_delta *delta);

/* --- handle.c --- */

SCN_NODISCARD enum scn_error scn_client_handle(struct scn_client *client, struct scn_slice payload);

/* --- view.c --- */

/* Puts an edit on top of all views. */
void scn_client_show(struct scn_client *client, struct scn_task *task);
/* It was refused. */
void scn_client_unshow(struct scn_client *client, struct scn_task *task, const struct scn_failure *failure);
/* It was accepted: views that are there already let go of it. */
void scn_client_settle(struct scn_client *client, struct scn_task *task);
void scn_view_take_delta(struct scn_view *view, const struct scn_message_delta *delta);
/* The view is what it was, and no delta will come to say so. */
void scn_view_resume(struct scn_view *view);
struct scn_view *scn_client_find_view(struct scn_client *client, uint64_t number);
struct scn_view *scn_client_find_view_request(struct scn_client *client, uint64_t request);
SCN_NODISCARD enum scn_error scn_view_send_request(struct scn_view *view);
void scn_view_unsend(struct scn_view *view);
void scn_view_fail(struct scn_view *view, const struct scn_failure *failure);
/* The server has sent what it sends at a time: that was all, or more is asked for. */
void scn_view_end_replay(struct scn_view *view);
SCN_NODISCARD enum scn_error scn_replay_send(struct scn_view *view);
/* A view, before it is asked for; NULL: no memory. */
struct scn_view *scn_view_make(struct scn_client *client, uint32_t mask);
/* Gives it its root and whom it calls. On failure it is gone. */
SCN_NODISCARD enum scn_error scn_view_begin(
        struct scn_view *view, struct scn_target root, scn_view_fn on_change, scn_view_end_fn on_end, void *data);
void scn_view_free(struct scn_view *view);
/* "at": a revision, if it is all digits; else a time or a tag, which the server tells apart. NULL: absent. The caller
 * ends the buffer in any case, which the slice points into. */
SCN_NODISCARD enum scn_error scn_client_spell_at(
        const char *at, struct scn_buffer *buffer, struct scn_slice *slice_out);
/* Tells what waits to be told. */
void scn_client_tell_views(struct scn_client *client);
/* Frees those that were destroyed from within a callback. */
void scn_client_sweep_views(struct scn_client *client);
bool scn_client_has_news(const struct scn_client *client);

#endif
