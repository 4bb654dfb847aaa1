/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_CORE_H
#define SCN_SERVER_CORE_H

/* The inside of the server's core: server, session, room, view, and who may do what to them.
 *
 * A session queues the messages that arrive and works them off in order. What asks is answered at once from the
 * applied state, or by a worker if it is about much; an edit waits at the head of its queue for the room's turn; what
 * needs the publish point (views) waits for that. A room takes edits round robin, applies them, and hands the records
 * to the journal as one batch:
 *
 *   inbox -> turn -> one batch in flight -> publish point: answers, then deltas -> next turn
 *
 * Nothing is acknowledged or pushed that could still be lost (DESIGN §4). */

#include "protocol/base/assert.h"
#include "protocol/base/shared_bytes.h"
#include "protocol/base/uid.h"
#include "protocol/scene/delta.h"
#include "protocol/scene/digest.h"
#include "protocol/scene/document.h"
#include "protocol/wire/frame.h"
#include "protocol/wire/message.h"
#include "protocol/wire/ops.h"
#include "server/about.h"
#include "server/author.h"
#include "server/counters.h"
#include "server/encoding.h"
#include "server/limits.h"
#include "server/server.h"
#include "server/torn.h"
#include "storage/storage.h"

#include <stdatomic.h>

/* Limits of the core. Those that a client is told stand in server/limits.h. */
#define SCN_SESSIONS_MAX 4096u
#define SCN_ROOMS_MAX 10000u
#define SCN_AUTHOR_BYTES_MAX SCN_SERVER_author_bytes_max
#ifndef SCN_INBOX_BYTES_MAX               /* the simulator has small ones: tests/sim/small.h */
#define SCN_INBOX_BYTES_MAX (8u << 20)    /* of one session; reading stops above */
#define SCN_INPUT_BYTES_MAX (256u << 20)  /* of all sessions together, see intake.c */
#define SCN_OUTPUT_BYTES_MAX (256u << 20) /* encoded for all sessions together; above, views and questions wait */
#define SCN_PACE_BYTES 65536u             /* of what waits for it, at least, a session takes in SCN_PACE_MS ... */
#define SCN_PACE_MS 1000u                 /* ... or may be cut off for others who wait, see output.c */
#define SCN_PACE_LOOK_MS 100u             /* how often it is looked for one */
#define SCN_TURN_EDITS_MAX 4096u
#endif
#define SCN_INPUT_PATIENCE_MS 10000u /* at that limit, for one session to complete what it has begun */
#define SCN_SNAPSHOT_IDLE_MS 10000u  /* so long a snapshot waits for who joins next */
#define SCN_TURN_BYTES_MAX (4u << 20)
/* What one session's questions, and all edits of a room, may take of a turn before others come; the one that passes it
 * is finished. A path may cost some tens of milliseconds. */
#define SCN_SHARE_MS 5u
#define SCN_TURN_MS 20u
#define SCN_HISTORY_JOBS_MAX 2u /* of each use: the journals' batches need workers, too */
#define SCN_LOANS_MAX 4u        /* rooms lent to workers at a time, but for what cannot wait: settling */
#ifndef SCN_LONG_NODES
/* What takes longer than a few milliseconds with a document: as much of it as this. A worker does it, see loan.c. */
#define SCN_LONG_NODES 4096u             /* looked at, added, removed */
#define SCN_LONG_BYTES (256u << 10)      /* of an edit that is to be read */
#define SCN_LONG_RECORD_BYTES (4u << 20) /* of a batch that is to be settled */
#endif
#define SCN_CHECKPOINT_JOBS_MAX 1u
#define SCN_BACKUPS_MAX 2u /* each has a copy of a document on the disk */
#define SCN_ADOPTS_MAX 4u  /* files that are being received: each has a part in memory and all of it on the disk */
#define SCN_FILE_BYTES_MAX (UINT64_C(64) << 30) /* of such a file */
#define SCN_FILE_PROGRESS_BYTES 65536u          /* of it, at least, in SCN_NO_PROGRESS_MS */
#define SCN_BEFORE_LOGIN_MS 5000u
#define SCN_ROOM_IDLE_MS 60000u
#define SCN_SILENT_PROMISES 2u    /* of the time promised, without anything arriving */
#define SCN_NO_PROGRESS_MS 30000u /* a client that takes nothing of what waits for it */

/* Something that waits to be sent: bytes shared with other sessions, or one's own. */
struct scn_segment {
        struct scn_segment *next;
        struct scn_shared_bytes *bytes;
        uint32_t sent;
};

/* A message that waits to be worked off. */
struct scn_queued {
        struct scn_queued *next;
        uint32_t size;
        bool waits_for_turn; /* an edit, not read yet; or an undo, redo or restore */
        bool waits_for_loan; /* was found to take long when the room could not be lent: not looked at until it can */
        uint8_t payload[];
};

struct scn_view {
        struct scn_view *next; /* of the session */
        struct scn_view *next_in_group;
        struct scn_view_group *group;
        struct scn_session *session;
        uint64_t number;
        scn_revision cursor;  /* what it holds is what its filter gives here ... */
        scn_revision told;    /* ... and gave at the end of the last delta sent: between, nothing changed in it */
        bool is_resumed;      /* is to be told how far it is: what it was owed may have been lost with a connection */
        bool is_fresh;        /* nothing sent yet, or the horizon has passed the cursor */
        uint32_t interval_ms; /* of its rate; 0: none */
        uint64_t next_ms;     /* not before */
        /* What it lacks is long to encode: a worker has to, once the room can be lent. */
        uint64_t waiting_since; /* number of this wish among the room's: the oldest comes first; 0: it has none ... */
        bool waits_for_whole;   /* ... for the whole, not for what has changed since its cursor */
        /* Volatile channels (live.h): a cursor in the room's count, and the state of the tree it was told in. */
        uint64_t live_cursor;
        uint64_t live_ends; /* what ended up to here it knows: the cursor lags behind while all is told in parts */
        scn_revision live_revision;
        scn_revision live_part_revision; /* while all is told in parts: that of the last one */
        scn_node_id live_root;           /* its root's life; 0: there was none */
        uint64_t live_sent_ms;
        uint32_t live_mask; /* which of them it is to be told of */
        bool is_live_fresh; /* nothing sent yet: all there is */
};

/* Views that share encodings: an observer of the room's `published`, with its channels as mask. */
struct scn_view_group {
        struct scn_view_group *next;
        struct scn_room *room;
        struct scn_uid root;
        uint32_t mask;
        struct scn_view *views;
        struct scn_observer *observer;
        uint64_t calls;               /* of the observer: what its mask leaves out costs it nothing */
        struct scn_encoding snapshot; /* the last one made, for who joins next; no parts: none is kept */
        struct scn_encoding ready;    /* a delta that a worker has made, for those who wait for it; `to` is 0: none */
        bool is_whole_long;           /* found to be, and not made since: it is not counted for each view anew */
        scn_revision long_from;       /* the same of what has changed since then; 0: of nothing */
        uint64_t snapshot_used_ms;
        size_t whole_bytes; /* of the last one; 0: not known */
};

/* What the past is read for. Steps are taken in a room's turn, so they cannot wait in one line with questions. */
enum scn_history_use {
        SCN_HISTORY_QUESTION, /* also a tag or a fork */
        SCN_HISTORY_STEP,     /* an undo, redo or restore */
        SCN_HISTORY_USE_COUNT,
};

enum scn_session_state {
        SCN_SESSION_NEW,     /* nothing but a hello may come */
        SCN_SESSION_KNOWN,   /* no document yet */
        SCN_SESSION_OPENING, /* waits for the room or for the client's last number */
        SCN_SESSION_OPEN,
        SCN_SESSION_ENDED, /* what is left to send goes out, then the connection closes */
};

struct scn_room;

/* Something long that is done with a room by a worker, see loan.c. Embedded in what knows more of it. */
struct scn_loan {
        struct scn_job job;
        struct scn_room *room;
        void (*work)(struct scn_loan *loan); /* on the worker, whose the room is meanwhile */
        void (*back)(struct scn_loan *loan); /* on the loop, whose it is again; ends the loan's own memory */
};

struct scn_session {
        /* What every publish point and every piece that goes out touches comes first: a thousand sessions are a
         * thousand misses a line. */
        struct scn_session *next_in_room;
        struct scn_room *room; /* borrowed; NULL before open */
        struct scn_server *server;
        void *transport;
        enum scn_session_state state;
        uint32_t answers_due; /* edits in the room's batch */
        struct scn_queued *inbox_first;
        struct scn_segment *outbox_first;
        struct scn_segment *outbox_last;
        size_t outbox_bytes;
        uint64_t progress_ms; /* when something last went out, or the outbox was empty */
        uint64_t pace_ms;     /* when SCN_PACE_BYTES had last gone out, or the outbox was empty ... */
        size_t pace_bytes;    /* ... and what has since */
        scn_revision owed;    /* of its own last edit: each of its views is told this revision, if by an empty delta */
        uint32_t moment;      /* of the room, at which may_send was looked at */
        bool may_send;        /* had drained then: its views get their deltas */
        bool is_behind;       /* had not: they get one merged delta when it has */
        bool is_cut;          /* nothing goes out any more */
        bool is_leaving;      /* its connection is gone; it follows when its room is no longer lent */
        bool is_asking;       /* something at the head of the inbox waits for a job */
        bool is_resting;      /* it has had its share of this turn: what is left in the inbox waits for the next */
        uint64_t share_turn;  /* the turn in which ... */
        uint64_t share_ms;    /* ... so much of the share is used */
        bool has_repeat;      /* the edit at the head has a number that came before: its stored answer is wanted ... */
        bool has_no_more_input;
        bool has_stopped_reading;
        bool has_sent_preface;
        bool has_number;            /* a first number has come on this connection */
        bool is_ready;              /* in the room's list of those that have something in their inbox */
        struct scn_segment segment; /* the first one to wait needs no memory; free while bytes is NULL */

        struct scn_session *next; /* of the server */
        struct scn_session *previous;
        struct scn_session *ready_next; /* of the room */
        struct scn_session *ready_previous;
        uint64_t number;
        uint64_t began_ms;
        uint64_t heard_ms;    /* when something last arrived, or nothing was read */
        uint64_t promised_ms; /* the client sends something at least this often; 0: it did not say so */

        struct scn_uid client;
        const uint8_t *author; /* owned; NULL before hello */
        uint32_t author_size;
        uint64_t last_number; /* the client's last number seen, here or in the journal */
        uint64_t open_request;
        const struct scn_message *asked; /* what is being handled just now, or NULL: a failure is about it */

        struct scn_frame_reader reader;
        struct scn_queued *inbox_last;
        size_t inbox_bytes;
        size_t input_bytes; /* as the server counts them: inbox, parts, and the frame under way */
        uint64_t repeat_number;
        struct scn_digest repeat_hash;   /* ... if it is the same edit */
        enum scn_error stream_error;     /* why there is no more: it ends the session, once all before is answered */
        struct scn_queued *staged_first; /* parts of an edit that has more to come, in order */
        struct scn_queued *staged_last;
        size_t staged_bytes;
        size_t staged_heads; /* what keeping them costs besides */
        uint64_t staged_number;
        struct scn_torn torn;          /* edits of which a part is missing */
        struct scn_digest staged_hash; /* of the parts so far */
        struct scn_undo *undo;         /* for the undo or redo at the head of the inbox, as far as it is prepared */
        struct scn_restore *restore;   /* the same for a restore */
        struct scn_author *own;        /* the room's, once it was needed */
        uint64_t history_place;  /* in the line of those whose head of the inbox waits to read the past; 0: none */
        uint64_t group_number;   /* the gesture that is open ... */
        scn_revision group_step; /* ... and the step it makes; 0: none */
        /* Answers of the batch that is being published, put together. */
        size_t answers_bytes;             /* that the batch has for it */
        struct scn_shared_bytes *answers; /* the piece that is being filled, or NULL ... */
        uint32_t answers_size;            /* ... so far */

        struct scn_backup_stream *backup; /* being sent; NULL: none */
        struct scn_adopt *adopt;          /* a file that is being received; NULL: none */
        struct scn_torn torn_files;       /* requests of those that failed before their last part, until that */

        struct scn_live_entry *presence;  /* in the room's list; NULL: none */
        struct scn_live_entry **previews; /* by node id */
        size_t previews_count;
        size_t previews_capacity;
        uint32_t locks_count;

        struct scn_view *views;
        uint32_t views_count;
        struct scn_session_counters counters;
        size_t held_bytes; /* output.c's, while it looks for the largest */
};

struct scn_batch;          /* batch.h */
struct scn_checkpoint_job; /* upkeep.c */
struct scn_history_upkeep; /* upkeep_history.c */
struct scn_backup_stream;  /* backup.c */
struct scn_adopt;          /* adopt.c */
struct scn_past;           /* memory.h */
struct scn_live;           /* live.h */
struct scn_live_entry;

enum scn_room_state {
        SCN_ROOM_OPENING,
        SCN_ROOM_OPEN,
        SCN_ROOM_CLOSING,
};

struct scn_room {
        struct scn_room *next; /* of the server */
        struct scn_server *server;
        enum scn_room_state state;
        struct scn_slice name;         /* owned bytes */
        struct scn_document *document; /* see scn_room_document() */
        struct scn_uid document_uid;   /* its own ... */
        struct scn_uid root_uid;       /* ... and its root's: they never change */
        struct scn_loan *loan;         /* it is lent to a worker; NULL: it is the loop's */
        bool must_stay;                /* not to be lent at the moment */
        struct scn_journal *journal;
        uint64_t epoch;
        bool is_still;                    /* the journal can only be read: the disk was too full to open it */
        bool has_epoch;                   /* the file lists it: before, no edit is taken (the disk is full) */
        struct scn_journal_epoch *epochs; /* owned: the newest that the file lists, the present one among them */
        uint32_t epochs_count;
        scn_revision durable;
        struct scn_authors authors; /* who has edited, or wanted to undo */
        int64_t last_time_us;
        struct scn_session *sessions;
        struct scn_session *ready_first; /* those that have something in their inbox, in the order in which it came */
        struct scn_session *ready_last;
        uint32_t moment;         /* counts the occasions at which deltas are sent, see scn_session_may_send() */
        struct scn_batch *batch; /* NULL: none in flight */
        struct scn_batch *spare; /* an empty one with its memory, for the next turn; or NULL */
        struct scn_observable *published;
        struct scn_view_group *groups;
        bool wants_encoding;                       /* one of the views waits for it */
        uint64_t wishes_ever;                      /* of views */
        bool has_encoded;                          /* that was the last thing done: edits come before the next one */
        uint64_t views_due_ms;                     /* when a view's rate lets it be served next; 0: nothing waits */
        struct scn_live *live;                     /* NULL: there has been nothing volatile yet */
        uint32_t jobs_count;                       /* other jobs under way that name this room */
        struct scn_checkpoint_job *checkpoint;     /* under way, beside all else; NULL: none */
        uint64_t checkpoint_bytes;                 /* size of the newest one; 0: there is none */
        uint64_t gathered_bytes;                   /* of the journal behind it, about */
        uint64_t checkpoint_retry_ms;              /* after one that failed: none before */
        struct scn_history_upkeep *history_upkeep; /* begun, and perhaps a piece of it under way; NULL: none */
        scn_revision base;                         /* the first state that the history has; 0: from the start */
        scn_revision folded_to;                    /* up to here it has been looked at what can be folded */
        uint64_t folded_us;         /* when something was folded last, since the document was opened; 0: nothing */
        uint64_t history_upkeep_ms; /* when its next piece may be done */
        uint64_t forget_at_ms;      /* when clients unused for long are looked for */
        uint64_t look_at_ms;        /* when it is looked whether another program has written to the file */
        uint64_t memory_bytes;      /* of the document, about */
        struct scn_past *past;      /* memory.h: as it was, kept for who asks next */
        size_t past_count;
        uint64_t past_drops_count;
        struct scn_room_counters counters;
        enum scn_wal_said {
                SCN_WAL_SAID_NOTHING,
                SCN_WAL_SAID_LARGE, /* for as long as somebody reads */
                SCN_WAL_SAID_WHOSE, /* nobody of ours does */
        } wal_said;
        uint32_t wal_held_count;     /* when it was last looked at */
        bool has_damaged_checkpoint; /* the newest one could not be used: another is wanted */
        uint64_t idle_since_ms;
        bool is_broken; /* the journal gave no verdict: no more edits, closes when it can */
};

/* A name that a job under way may give to a document, or take from one. */
struct scn_claim {
        struct scn_claim *next; /* of the server */
        struct scn_slice name;  /* borrowed */
};

struct scn_server {
        struct scn_server_options options;
        struct scn_storage *storage;
        struct scn_session *sessions;
        uint32_t sessions_count;
        uint64_t sessions_ever;
        struct scn_room *rooms;
        uint32_t rooms_count;
        uint32_t jobs_count;                                /* under way that name no room */
        uint32_t history_jobs_count[SCN_HISTORY_USE_COUNT]; /* of these, those that read the past */
        uint64_t history_places_ever;                       /* given to those who have to wait for one */
        uint32_t checkpoint_jobs_count;
        uint32_t loans_count;    /* rooms that are lent */
        uint64_t readers_ever;   /* jobs that read documents' files beside the rooms themselves */
        bool has_history_upkeep; /* one of the rooms */
        uint32_t backups_count;
        uint64_t above_reserve;   /* so much more is free, as far as it is known */
        bool was_low;             /* when it was last looked */
        bool is_low;              /* less of the disk is free than is to stay free: no edits for now */
        bool is_looking;          /* at how much is free: a job is under way */
        struct scn_adopt *adopts; /* list */
        uint32_t adopts_count;
        uint64_t files_ever;      /* copies and files that came: each has a number of its own */
        bool has_check;           /* of a file that came: a job is under way */
        bool has_listing;         /* of all documents with their states: the same */
        struct scn_claim *claims; /* list */
        atomic_bool is_giving_up; /* is_stopping, for what workers read */
        uint64_t purge_at_ms;     /* when the trash is looked through */
        size_t output_bytes;      /* of all that is encoded and not sent, shared bytes counted once */
        bool has_starved;         /* a session waits for that to become less */
        bool has_resting;         /* a session waits for the next turn */
        uint64_t turns_count;
        uint64_t starved_at;    /* number of the session to begin with then */
        uint64_t starved_ms;    /* of the last turn, if somebody waited in it; else 0 */
        uint64_t output_due_ms; /* while somebody waits: not before is it looked for room */
        size_t past_bytes;      /* of all rooms' documents of the past */
        size_t input_bytes;     /* of all sessions */
        bool is_input_full;
        struct scn_session *completing; /* borrowed: who may go on although it is full, or NULL */
        uint64_t completing_since_ms;
        bool is_stopping;
};

/* --- server.c --- */
uint64_t scn_server_now_ms(const struct scn_server *server);
void scn_server_log(const struct scn_server *server, enum scn_log_level level, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
/* What a document's file had to say to a job, `what`, that ended with this error: a warning where it is more than a
 * request that asks for what there is not. `damaged`: of a checkpoint that could not be used; may be NULL. */
void scn_server_log_fault(const struct scn_server *server, struct scn_slice name, const char *what,
        enum scn_error error, const struct scn_storage_fault *fault, const struct scn_storage_fault *damaged);
/* SCN_E_STORAGE_FULL, and the fault's text, while less of the disk is free than the reserve. */
SCN_NODISCARD enum scn_error scn_server_check_reserve(const struct scn_server *server, struct scn_storage_fault *fault);
/* So much is going to be committed. Between two looks at the disk: where what was written may have reached the reserve
 * nothing more is taken until the next look, which comes at once. */
void scn_server_spend(struct scn_server *server, uint64_t bytes);
struct scn_room *scn_server_find_room(struct scn_server *server, struct scn_slice name);
/* NULL: it is gone. */
struct scn_session *scn_server_find_session(struct scn_server *server, uint64_t number);
/* Jobs that read journals are few at a time. False: there are as many as may be, and the session waits in line. Ending
 * one serves those who wait, in their order. */
bool scn_server_has_history_job(struct scn_session *session, enum scn_history_use use);
void scn_server_begin_history_job(struct scn_session *session, enum scn_history_use use);
void scn_server_end_history_job(struct scn_server *server, enum scn_history_use use);
/* A job begins that reads documents' files, beside the rooms themselves. */
void scn_server_note_reader(struct scn_server *server);
/* Serves sessions of which one may have waited for a job to end. */
void scn_server_pump(struct scn_server *server);
/* While a job may make or move a document of this name, none is put in its place. The name is borrowed. */
void scn_server_claim_name(struct scn_server *server, struct scn_claim *claim, struct scn_slice name);
/* What is no claim of the server is passed over. */
void scn_server_give_name_back(struct scn_server *server, const struct scn_claim *claim);
bool scn_server_is_claimed(const struct scn_server *server, struct scn_slice name);

/* --- session.c --- */
/* Encodes and queues a message; a session that memory cannot serve ends. */
void scn_session_send(struct scn_session *session, const struct scn_message *message);
/* Queues bytes that are frames already; shares them. */
void scn_session_send_shared(struct scn_session *session, struct scn_shared_bytes *bytes);
/* A frame around a message, with one reference; NULL: out of memory or too large. */
struct scn_shared_bytes *scn_session_frame(const struct scn_message *message);
/* `failed` for a request; about what is being handled just now, if something is (about.h). */
void scn_session_fail(struct scn_session *session, uint64_t request, enum scn_error error, const char *text);
/* The same with a text that says already what it is about. */
void scn_session_fail_said(struct scn_session *session, uint64_t request, enum scn_error error, const char *text);
/* The same where a limit was reached: says with what, which, by the name in the greeting, and how much it allows. */
void scn_session_fail_limit(struct scn_session *session, uint64_t request, enum scn_error error, const char *field,
        const char *limit, uint64_t allowed);
/* The same where what a field of the request holds is the error: names it ("lock.nodes"). */
void scn_session_fail_field(struct scn_session *session, uint64_t request, enum scn_error error, const char *field);
/* The same for a list of nodes that could not be read. */
void scn_session_fail_nodes(struct scn_session *session, uint64_t request, enum scn_error error, const char *field);
/* The same for a message that was handled before. */
void scn_session_fail_about(struct scn_session *session, const struct scn_message *message, uint64_t request,
        enum scn_error error, const char *text);
/* Answers a message that is not worked off: an edit, undo or redo with `refused`, for its number is not a request's;
 * all else with `failed`. */
void scn_session_reject(
        struct scn_session *session, uint64_t kind, uint64_t request, enum scn_error error, const char *text);
/* Answers a message that cannot be read. The connection goes on: the framing is whole (CASES B41). */
void scn_session_answer_fault(struct scn_session *session, enum scn_error error, const struct scn_message_fault *fault);
/* Notes that a number was answered. */
void scn_session_use_number(struct scn_session *session, uint64_t number);
/* Says why, and ends the session once that has gone out. It stays in its room until it is destroyed, so this may be
 * called from anywhere. */
void scn_session_end(struct scn_session *session, enum scn_error error, const char *text);
/* Its host is to look at it: there is something to send or to read, or it has ended. */
void scn_session_wake(struct scn_session *session);
/* Works off what can be worked off now. */
void scn_session_pump(struct scn_session *session);
/* What is at the head of the inbox and is the turn's to take; or NULL. */
const struct scn_queued *scn_session_edit(const struct scn_session *session);
void scn_session_pop(struct scn_session *session);
/* Takes the edit at the head out of the inbox and keeps it as a part of a larger one. */
void scn_session_stage(struct scn_session *session);
void scn_session_drop_staged(struct scn_session *session);
/* The same for an edit whose last part is still to come: that is refused, too. */
void scn_session_tear_staged(struct scn_session *session);
/* Notes that a message was refused for itself: if it is a part of an edit, so are those that follow. */
void scn_session_note_refused(struct scn_session *session, const struct scn_message *message);
/* The author's entry in the room; NULL: out of memory. */
struct scn_author *scn_session_author(struct scn_session *session);
/* Whether the worker has it that its room is lent to. */
bool scn_session_is_lent(const struct scn_session *session);
/* Whether there is room to answer more, for this session and for all together. */
bool scn_session_has_room(const struct scn_session *session);
bool scn_session_is_drained(const struct scn_session *session);
/* Whether it had drained when the room's present moment came. Before something is queued at that moment, this must
 * have been asked. */
bool scn_session_may_send(struct scn_session *session);
/* Whether there is something in its inbox, for the room that it is in. */
void scn_session_set_ready(struct scn_session *session, bool is_ready);

/* Its connection is to be closed at once: there is no memory to say why, or it holds what others wait for. What is
 * queued goes with the session; until then the host may have lent it out. May be called from anywhere. */
void scn_session_cut(struct scn_session *session);

/* --- output.c --- */
/* Whether more may be encoded, as far as all sessions together are concerned. False: the caller waits, and sessions are
 * served again when there is room. */
bool scn_output_claim(struct scn_server *server);
/* Whether there is so much that also a session may have more that has not taken what it has. */
bool scn_output_has_plenty(const struct scn_server *server);
/* Serves those that had to wait; makes room if there is none. */
void scn_output_turn(struct scn_server *server);
/* When that is to be done next; UINT64_MAX: nobody waits. */
uint64_t scn_output_due_ms(const struct scn_server *server);

/* --- intake.c --- */
/* To be called whenever what a session holds has become more or less. */
void scn_intake_count(struct scn_session *session);
/* The session goes. */
void scn_intake_forget(struct scn_session *session);
/* Whether more may be read from it, as far as all sessions together are concerned. */
bool scn_intake_has_room(const struct scn_session *session);
void scn_intake_tick(struct scn_server *server, uint64_t now_ms);

/* --- handle.c: one function a message; true: done, false: must wait at the head of the inbox --- */
bool scn_handle(struct scn_session *session, const struct scn_message *message);

/* --- handle_manage.c: workers answer. False: must wait at the head of the inbox --- */
bool scn_handle_documents(struct scn_session *session, const struct scn_message_documents *message);
void scn_handle_manage(struct scn_session *session, const struct scn_message_manage *message);

/* --- handle_query.c --- */
/* `world`, `tree`, `digest`. False: must wait at the head of the inbox. */
bool scn_handle_query(struct scn_session *session, const struct scn_message *message);
void scn_handle_info(struct scn_session *session, uint64_t request);
void scn_handle_who(struct scn_session *session, uint64_t request);

/* --- query_loan.c: of `world`, `tree` and `digest` those about much --- */
bool scn_query_is_long(const struct scn_session *session, const struct scn_message *message);
/* Has a worker answer it, as soon as the room is settled. False: it waits at the head of the inbox, for the room or for
 * the answer. */
bool scn_query_lend(struct scn_session *session, const struct scn_message *message);

/* --- backup.c --- */
/* False: there are as many as there may be, wait. What the session asks for next waits until all is sent. */
bool scn_backup_start(struct scn_session *session, uint64_t request);
/* The session has drained: the next part may come. */
void scn_backup_go_on(struct scn_session *session);
/* The session goes. */
void scn_backup_forget(struct scn_session *session);

/* --- room.c --- */
/* Binds a session to a document, opening it first if need be; answers `opened` or `failed`, now or later. */
void scn_room_enter(struct scn_session *session, struct scn_slice name, bool create, uint64_t request);
void scn_room_leave(struct scn_session *session);
void scn_room_tick(struct scn_room *room);
/* Serves sessions that wait for the room to be open, or for the journal to be free to ask. */
void scn_room_greet(struct scn_room *room);
/* Looks up the stored answers that repeats are waiting for; only while no batch is in flight. */
void scn_room_ask_repeats(struct scn_room *room);
/* True if what the document says can no longer be lost. */
bool scn_room_is_settled(const struct scn_room *room);
/* Of an unused room, which is gone then. False: memory is out; later. */
bool scn_room_close(struct scn_room *room);
/* True if nobody is in it and nothing is under way. */
bool scn_room_is_unused(const struct scn_room *room);
/* Of an unused room: nobody comes in any more, and its journal is the caller's to close, in a job that the room counts
 * and after which it wants a tick. */
struct scn_journal *scn_room_retire(struct scn_room *room);

/* --- loan.c ---
 * What would hold up all documents for long is done on a worker, to which the room is lent: an edit of many nodes, a
 * snapshot, an answer about a whole scene. Until the room is back the loop neither reads nor changes anything of it but
 * what sessions send and are sent. So messages wait at the head of the inbox (those that need nothing of it are
 * answered), the room counts as not settled, locks do not expire, and a session whose connection closes stays until
 * then. */

/* False: it is lent already, or has just been, or too many are: later. */
bool scn_room_can_lend(const struct scn_room *room);
/* Which must be possible. Takes the loan. */
void scn_room_lend(struct scn_room *room, struct scn_loan *loan);
/* The room's document, on the loop. What a worker may run, too, takes it from the room itself. */
static inline struct scn_document *scn_room_document(const struct scn_room *room)
{
        SCN_ASSERT(room->loan == NULL);
        return room->document;
}

/* --- turn.c --- */
void scn_room_turn(struct scn_room *room);
/* The author's gestures end: what comes of one begins another step. An undo or redo does so. NULL: everybody's. */
void scn_room_close_groups(struct scn_room *room, const struct scn_author *author);

/* --- batch.c, publish.c --- */
/* The disk gave no verdict, or somebody else has written to the file: all sessions end and are told why ("": the code
 * says it), the room closes, and the file decides when it is opened again. */
void scn_room_break(struct scn_room *room, const char *why);
/* What waited for the room is served: views that are behind, messages, who comes in, repeats. */
void scn_room_go_on(struct scn_room *room);
/* A session that goes gets no answers any more. NULL: no batch. */
void scn_batch_forget(struct scn_batch *batch, const struct scn_session *session);
void scn_batch_drop_spare(struct scn_room *room);

/* --- upkeep.c --- */
/* Whether it is down to the reserve, at once: before anybody is served. */
void scn_server_look_at_disk(struct scn_server *server);
/* About every second: what the disk needs now and then, a small piece at a time. */
void scn_server_upkeep(struct scn_server *server);
/* At the publish point: so many bytes were added to the journal. */
void scn_room_gather(struct scn_room *room, uint64_t bytes);
/* Whether a job of the server's own may be reading the room's document now. */
bool scn_room_has_readers(const struct scn_room *room);
/* After each append. Says so once if the write-ahead file is longer than it should be because somebody reads, and who
 * that is. `was_alone`: nobody of ours has been reading meanwhile. */
void scn_room_note_wal(struct scn_room *room, const struct scn_journal_wal *wal, bool was_alone);
/* Begins a checkpoint if one is due; `is_last`: the room is about to close, and less is enough. True if one is under
 * way now: the room may go on with everything but closing. */
bool scn_room_checkpoint(struct scn_room *room, bool is_last);
/* One that is under way is given up as soon as it can be. */
void scn_room_cancel_checkpoint(struct scn_room *room);

/* --- upkeep_history.c --- */
/* About every second: folds and drops a piece of what is old enough, beside all else. */
void scn_room_upkeep_history(struct scn_room *room);
/* Whether a piece is under way, beside all else. */
bool scn_room_has_history_piece(const struct scn_room *room);
/* Before the room closes. False: a piece is under way, which ends soon and then wants the room to be there. */
bool scn_room_cancel_history_upkeep(struct scn_room *room);

/* --- view.c --- */
/* Begins or changes a view and sends what it lacks; only while the room is settled. */
enum scn_error scn_view_start(struct scn_session *session, const struct scn_message_view *message);
void scn_view_stop(struct scn_session *session, uint64_t number);
void scn_view_stop_all(struct scn_session *session);
/* Sends the views of a session that is behind what they lack, if it has drained and the room is settled. */
void scn_view_catch_up(struct scn_session *session);
void scn_view_catch_up_all(struct scn_room *room);
struct scn_delta_request scn_view_request(const struct scn_view_group *group, bool is_fresh, scn_revision from);
/* Sends one view what it lacks, unless that has to wait; only while the room is settled. */
void scn_view_serve(struct scn_view *view);
/* Serves views that waited for their time. */
void scn_view_serve_due(struct scn_room *room);
/* Snapshots that nobody has joined for a while go; `is_pressed`: all that nobody is being sent. */
void scn_view_drop_snapshots(struct scn_room *room, bool is_pressed);
/* view_loan.c: has a worker encode what the view lacks that has waited for the longest. True: the room is lent. */
bool scn_view_lend(struct scn_room *room);
/* At the publish point: tells the groups which channels changed. */
void scn_view_publish(struct scn_room *room, uint32_t mask);

/* --- live.c --- */
/* What time has ended, and views that are to be told; call in every turn. */
void scn_live_turn(struct scn_room *room);
/* When scn_live_turn() has something to do; UINT64_MAX: not by time alone. */
uint64_t scn_live_due_ms(const struct scn_room *room);
/* The session leaves: what it showed goes, its locks stay for a grace. */
void scn_live_leave(struct scn_session *session);
/* An edit of the session was accepted and is about to be stored; `changes` NULL: nothing was to be changed. An undo or
 * redo: `edit` NULL. `is_sure`: it changed nothing, and nothing before it in the batch did, so that it is answered as
 * accepted whatever becomes of the batch. */
void scn_live_note_applied(
        struct scn_session *session, const struct scn_edit *edit, const struct scn_changes *changes, bool is_sure);
/* At the publish point, for each edit: before its changes are settled. */
void scn_live_note_published(struct scn_room *room, const struct scn_changes *changes);
/* At the publish point, when all edits are noted and the views have their deltas; `mask`: channels changed. */
void scn_live_publish(struct scn_room *room, uint32_t mask);
/* The batch was taken back. */
void scn_live_take_back(struct scn_room *room);

/* --- live_view.c --- */
/* Tells every view that may be told (scn_session_may_send) what it lacks; only while the room is settled. */
void scn_live_tell(struct scn_room *room);
/* A view has begun. */
void scn_live_begin_view(struct scn_view *view);
/* The session has drained. */
void scn_live_go_on(struct scn_session *session);

/* --- lock.c --- */
/* Whether an edit that was just applied touched what another author has locked. SCN_E_LOCKED: it did, and must be
 * taken back; *refusal_out says where and whose, borrowing from the lock. */
SCN_NODISCARD enum scn_error scn_lock_check(
        const struct scn_session *session, const struct scn_changes *changes, struct scn_refusal *refusal_out);

#endif
