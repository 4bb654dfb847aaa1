/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_SIM_SIM_H
#define SCN_TESTS_SIM_SIM_H

/* The simulator: the server's core, a disk in memory and some clients in one thread, driven by one seed. Time is
 * virtual; whatever could happen in any order (a job's end, a byte's arrival, a break, a crash) is an event at a
 * random moment. The same seed gives the same run, byte for byte.
 *
 *   schedule.c   events, in order of time          host.c      the server's host: jobs, turns, stops, crashes
 *   link.c       connections, in pieces            tap.c       what goes over them, and whether that may be so
 *   author.c     clients and what they are told    action.c    the table of what authors do
 *   live.c       what they show, drag and lock     claim.c     locks, as a peer may rely on them
 *   raw.c        views that the library has not    inside.c    what the server has of all these
 *   past.c       what they do with the past
 *   weather.c    the table of what befalls all     verify.c    what must hold at the end
 *   store*.c     the disk                          run.c       one seed, from beginning to end
 *
 * A fault ends the program and prints the seed. */

#include "protocol/scene/delta.h"
#include "protocol/scene/digest.h"
#include "protocol/wire/frame.h"
#include "protocol/wire/live.h"
#include "protocol/wire/message.h"
#include "server/server.h"
#include "tests/lib/random.h"
#include "tests/sim/store.h"

#include <scn/client.h>

#define SIM_AUTHORS_MAX 6
#define SIM_VIEWS_MAX 5
#define SIM_RAWS_MAX 2
#define SIM_DOCUMENTS_MAX 2
#define SIM_JOBS_MAX 64
#define SIM_MS 1000u
#define SIM_S 1000000u

/* --- Events --- */

enum sim_event_kind {
        SIM_EVENT_UP,         /* link: bytes to the server */
        SIM_EVENT_DOWN,       /* link: bytes to the client */
        SIM_EVENT_CUT_CLIENT, /* link: the client learns that it is gone */
        SIM_EVENT_CUT_SERVER, /* link: the server does */
        SIM_EVENT_JOB,        /* number: the job's */
        SIM_EVENT_TURN,
        SIM_EVENT_TICK,
        SIM_EVENT_ACT,   /* author: does something */
        SIM_EVENT_DRAG,  /* author: its drag goes on */
        SIM_EVENT_ALARM, /* author: its client asked to be called */
        SIM_EVENT_WEATHER,
        SIM_EVENT_START,     /* the server */
        SIM_EVENT_DISK_WELL, /* the disk's bad time is over */
        SIM_EVENT_COUNT,
};

struct sim_event {
        uint64_t at_us;
        uint64_t sequence;
        enum sim_event_kind kind;
        uint64_t number;
        void *object;
};

/* --- Connections --- */

struct sim_pipe {
        uint8_t *bytes;
        size_t size;
        size_t capacity;
        bool is_scheduled;
        uint64_t stalled_until_us;
        size_t left; /* once cut: so many bytes still arrive */
};

/* Requests or numbers on their way, without an answer. */
struct sim_due {
        uint64_t *numbers;
        size_t count;
        size_t capacity;
};

struct sim_link {
        struct sim_link *next;
        struct sim *sim;
        uint64_t number;           /* from 1 */
        struct sim_author *author; /* NULL: the client's end is closed */
        struct sim_author *owner;
        struct scn_session *session; /* NULL: the server's end is closed */
        uint32_t document;
        uint32_t history;
        uint32_t events_count; /* under way, that name this link */
        struct sim_pipe up;
        struct sim_pipe down;
        uint32_t delay_us;
        uint32_t chunk_max;
        bool is_cut;
        /* The tap. */
        struct scn_frame_reader up_reader;
        struct scn_frame_reader down_reader;
        struct sim_due edits;
        struct sim_due requests;
        uint64_t opened_number; /* at or below: repeats */
        scn_revision shown;     /* the newest revision that a delta told */
        bool was_told_end;      /* failed with closes */
        uint8_t epoch[8];       /* of the opened */
        uint64_t promised_us;   /* its hello's ping; 0: none */
        uint64_t heard_us;      /* when the server last heard something, or did not want to */
        uint64_t taken_us;      /* when something last was taken from it */
        bool has_let_go;        /* the session has ended; its locks are on their own */
};

/* --- Authors --- */

enum sim_wish_state {
        SIM_WISH_PENDING,
        SIM_WISH_ACKED,
        SIM_WISH_UNCHANGED,
        SIM_WISH_REFUSED,
        SIM_WISH_FOLDED,    /* done, and all that is left of it is in another */
        SIM_WISH_CANCELLED, /* its program ended first */
};

/* Something asked for: an edit, undo or redo, or a request. */
struct sim_wish {
        struct sim_wish *next; /* the one made before */
        struct sim *sim;
        struct sim_author *author;
        uint32_t document;
        uint32_t marker; /* 0: none; in every op of an edit that can carry one */
        bool is_request;
        bool is_edit;
        bool was_lost;   /* stored, and gone with a disk put back */
        bool must_match; /* request: for a digest, which is to be this: */
        uint8_t expected[16];
        /* A request for a digest: of this revision; a restore: of the whole document to this one. 0: neither. */
        scn_revision past;
        uint32_t history; /* request: that of the disk when it was made */
        enum sim_wish_state state;
        uint64_t edit;   /* the library's */
        uint64_t number; /* the wire's */
        scn_revision rev;
        uint32_t answers;
        uint32_t adds; /* ops that leave a record whenever the edit is accepted */
        uint32_t removes;
        uint32_t stored;      /* how often in the journal; counted at the end */
        uint64_t arrived_us;  /* at the server, for the first time; 0: it has not */
        uint64_t answered_us; /* when the server last said that it was applied; 0: it has not */
};

struct sim_view {
        struct sim_author *author;
        struct scn_view *view; /* NULL: this slot is free */
        struct scn_uid root;   /* none: the document's */
        uint32_t mask;
        bool is_replay;
        bool is_ended;
        scn_revision to; /* of the last delta */
        char code[SCN_FAILURE_CODE_BYTES];
};

/* A node as a view of worlds has it. */
struct sim_world {
        scn_node_id id;
        struct scn_uid uid;
        bool has_matrix;
        bool overflows;
        struct scn_affine matrix;
};

/* A view that the library cannot have: of worlds, or one whose root and mask change under the same number. It is asked
 * for over the author's connection, and kept where the tap hears its deltas. */
struct sim_raw {
        struct sim_author *author;
        uint64_t number; /* of the view, on the wire; 0: this slot is free */
        struct scn_uid root;
        uint32_t mask;
        uint32_t rate;
        uint64_t link; /* asked for over this one; 0: none */
        uint64_t request;
        bool is_viewed;
        bool has_state;
        scn_revision rev;
        uint8_t epoch[8];
        scn_node_id world_root;
        struct sim_world *worlds; /* mask WORLD */
        size_t worlds_count;
        size_t worlds_capacity;
        struct scn_document *document; /* other masks */
        struct scn_delta delta;        /* that is arriving, maybe in parts */
        uint8_t **parts;
        size_t parts_count;
        size_t parts_capacity;
};

/* What an author drags. */
struct sim_drag {
        struct scn_uid node;
        uint32_t left; /* previews still to come; 0: it drags nothing */
        uint32_t fields;
        uint32_t end;   /* what then */
        bool is_barred; /* the last: somebody else had locked it */
};

/* A node that an author has asked to be locked, as far as the wire tells. */
struct sim_claim {
        struct sim_claim *next;      /* made before */
        const struct sim_link *link; /* NULL: its session has ended */
        uint64_t request;
        uint32_t document;
        char author[16];
        struct scn_uid node; /* none: it was named by its path */
        uint32_t mask;
        bool has_subtree;
        uint64_t asked_us;
        uint64_t granted_us; /* answered; 0: not, or not yet */
        uint64_t sure_us;    /* until then it holds, if it was granted */
        uint64_t maybe_us;   /* after this it certainly does not */
};

struct sim_author {
        struct sim *sim;
        uint32_t index;
        uint32_t document;
        struct scn_uid uid;
        char name[16];
        struct scn_client *client;
        struct sim_link *link;
        struct sim_view views[SIM_VIEWS_MAX];
        struct sim_raw raws[SIM_RAWS_MAX];
        uint64_t raws_ever;
        struct sim_drag drag;
        uint64_t alarm_us; /* UINT64_MAX: none */
        uint64_t offline_until_us;
        uint64_t group;
        uint32_t adds; /* ops in the draft that is being made */
        uint32_t removes;
        uint32_t pace_us;
        bool has_unread; /* bytes were fed, and not dispatched yet */
        bool must_leave; /* its program ends as soon as no callback is under way */
};

/* --- All of it --- */

struct sim_job {
        struct scn_job *job; /* NULL: free */
        bool has_run;
        uint64_t number;
};

struct sim_uids {
        struct scn_uid *uids;
        size_t count;
        size_t capacity;
};

/* How rough this seed is. */
struct sim_climate {
        uint32_t authors_count;
        uint32_t documents_count;
        uint32_t wishes_max; /* then it ends */
        uint32_t pace_us;    /* between one author's deeds */
        uint32_t job_us;     /* a job's length, at most */
        uint32_t delay_us;
        uint32_t chunk_max; /* bytes that arrive at once */
        uint32_t pipe_max;
        uint32_t weather_us; /* between one event and the next */
        uint32_t past_min;
        bool has_crashes;
        bool has_backups;
        bool has_bad_disk;
        bool has_live;
        bool has_raws;
        bool has_shared_names; /* two authors are one, with two programs */
};

struct sim {
        uint64_t seed;
        bool is_traced;
        uint64_t hash; /* of the trace so far */
        uint64_t events_ever;
        struct scn_random random;
        struct sim_climate climate;
        uint64_t now_us;
        struct sim_event *events; /* heap */
        size_t events_count;
        size_t events_capacity;

        struct sim_disk disk;
        struct sim_document *backups[SIM_DOCUMENTS_MAX];
        uint32_t history;          /* counts up whenever an older state is put back */
        struct scn_server *server; /* NULL: down */
        uint64_t server_blocks;    /* of memory, when it had just begun */
        bool is_stopping;
        uint64_t stop_until_us;
        bool has_turn; /* scheduled */
        struct sim_job jobs[SIM_JOBS_MAX];
        uint64_t jobs_ever;

        struct sim_link *links;
        uint64_t links_ever;
        struct sim_author authors[SIM_AUTHORS_MAX];
        struct sim_wish *wishes; /* newest first */
        uint32_t wishes_count;   /* edits, undos and redos */
        uint32_t markers;
        uint32_t requests_due;
        struct sim_claim *claims;
        uint64_t due_us; /* the server wants a turn then; 0: it is not known to */
        struct sim_uids uids[SIM_DOCUMENTS_MAX];
        bool is_ending; /* no more deeds, no more weather */
        uint32_t acked_count;
};

/* --- run.c --- */

struct sim_result {
        uint64_t hash;
        uint64_t events;
        uint32_t wishes;
        uint32_t acked;
};

/* One seed from beginning to end. */
struct sim_result sim_run(uint64_t seed, bool is_traced);
/* Prints the seed and what is wrong, and ends the program. */
_Noreturn void sim_fail(const struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line of the trace: what, who, and two numbers. */
void sim_note(struct sim *sim, const char *what, uint64_t who, uint64_t a, uint64_t b);

static inline uint32_t sim_below(struct sim *sim, uint32_t count)
{
        return scn_random_below(&sim->random, count);
}

static inline bool sim_chance(struct sim *sim, uint32_t percent)
{
        return scn_random_chance(&sim->random, percent);
}

/* --- schedule.c --- */
void sim_schedule(struct sim *sim, uint64_t in_us, enum sim_event_kind kind, void *object, uint64_t number);
/* False: there is none. Moves the time. */
bool sim_next_event(struct sim *sim, struct sim_event *event_out);

/* --- host.c --- */
void sim_host_start(struct sim *sim);
/* In an orderly way; `sim_host_tick` finds that it is done. */
void sim_host_stop(struct sim *sim);
/* Like a kill. */
void sim_host_crash(struct sim *sim);
void sim_host_tick(struct sim *sim);
void sim_host_turn_soon(struct sim *sim);
void sim_host_turn(struct sim *sim);
void sim_host_job(struct sim *sim, uint64_t number);
bool sim_host_is_idle(const struct sim *sim);
bool sim_host_has_rooms(const struct sim *sim);
/* Whether the document is open, and, if nothing is under way in it, at which revision. */
bool sim_host_has_room(const struct sim *sim, uint32_t document);
bool sim_host_is_settled(const struct sim *sim, uint32_t document, scn_revision *durable_out);
/* Of an open document. Root none: its own; a root that is not there: zero. */
struct scn_digest sim_host_digest(const struct sim *sim, uint32_t document, struct scn_uid root, uint32_t mask);
void sim_host_check(const struct sim *sim, uint32_t document);
struct sim_document *sim_host_document(const struct sim *sim, uint32_t document);
struct scn_slice sim_document_name(uint32_t document);

/* --- inside.c --- */
/* A presence, lock or preview that the server has. */
struct sim_fact {
        uint32_t mask; /* SCN_MASK_PRESENCE, LOCKS or PREVIEW */
        uint64_t session;
        struct scn_uid node; /* none: a presence */
        struct scn_slice author;
        struct scn_slice map;
        uint32_t lock_mask;
        bool has_subtree;
        uint64_t expires_ms;
        uint32_t fields;
        struct scn_trs trs;
        bool is_orphan; /* a lock whose session has gone */
};
/* What a view of this root and mask is to have, of at most `most`. */
size_t sim_inside_facts(const struct sim *sim, uint32_t document, struct scn_uid root, uint32_t mask,
        struct sim_fact *facts, size_t most);
/* Whether the server holds another author's lock that covers the node's transform, and whether there is that node. */
bool sim_inside_is_barred(const struct sim *sim, uint32_t document, struct scn_uid node, const char *author);
bool sim_inside_has_node(const struct sim *sim, uint32_t document, struct scn_uid node);
/* What holds of live channels at any time; `is_at_rest`: and when nobody comes or goes. */
void sim_inside_check(const struct sim *sim, bool is_at_rest);
/* False: a view has not been told of all there is. */
bool sim_inside_is_told(const struct sim *sim);
/* The nodes under a root with their matrices; the array is the caller's to free. */
size_t sim_inside_worlds(const struct sim *sim, uint32_t document, struct scn_uid root, struct sim_world **worlds_out);
uint64_t sim_inside_due_us(const struct sim *sim);
/* Who promised to be heard and was not is gone. */
void sim_inside_check_silence(struct sim *sim);

/* --- claim.c --- */
void sim_claim_hear(struct sim_link *link, const struct scn_message *message);
void sim_claim_hear_answer(struct sim_link *link, const struct scn_message_answer *answer);
void sim_claim_hear_failure(struct sim_link *link, uint64_t request);
void sim_claim_hear_refusal(struct sim_link *link, const struct scn_message_refused *refused);
/* The connection's session ends now at the latest; `is_lost`: with its server, and all its locks. */
void sim_claim_let_go(struct sim_link *link, bool is_lost);
/* The server is going, and all locks with it. */
void sim_claims_lose(struct sim *sim);
/* The edit, undo or redo that a number of this connection stands for; NULL: not known. */
struct sim_wish *sim_claim_wish(const struct sim_link *link, uint64_t number);
/* No edit may have written what another author surely had locked. */
void sim_claim_verify(struct sim *sim, uint32_t document, const struct sim_document *stored);
void sim_claims_free(struct sim *sim);

/* --- past.c --- */
void sim_do_restore(struct sim_author *author);
void sim_do_past(struct sim_author *author);
/* As the journal has it. */
struct scn_digest sim_past_digest(const struct sim_document *document, scn_revision revision, uint32_t mask);
void sim_past_hear_digest(const struct sim_wish *wish, const struct scn_answer *answer);
/* The transaction has the digest of what it was to bring back. */
void sim_past_verify_restore(const struct sim_wish *wish, const struct sim_document *document, scn_revision revision);

/* --- raw.c --- */
void sim_raw_open(struct sim_author *author, struct scn_uid root, uint32_t mask);
/* Another root, mask or rate under the same number. */
void sim_raw_change(struct sim_raw *raw, struct scn_uid root, uint32_t mask);
void sim_raw_end(struct sim_raw *raw);
/* Asks for those that this connection does not know of. */
void sim_raws_settle(struct sim_author *author);
void sim_raw_hear_viewed(struct sim_link *link, const struct scn_message_viewed *viewed);
void sim_raw_hear_failed(struct sim_link *link, uint64_t request);
void sim_raw_hear_delta(struct sim_link *link, const struct scn_message_delta *delta);
const char *sim_raws_why_not_quiet(const struct sim_author *author);
void sim_raws_verify(const struct sim_author *author);
void sim_raws_free(struct sim_author *author);

/* --- live.c --- */
void sim_do_presence(struct sim_author *author);
void sim_do_drag(struct sim_author *author);
void sim_do_lock(struct sim_author *author);
void sim_do_unlock(struct sim_author *author);
void sim_do_raw(struct sim_author *author);
void sim_drag_on(struct sim_author *author);
/* What views show of live channels is what the server has. */
void sim_live_verify(struct sim *sim);
/* Everybody shows one thing for the last time, which sim_live_verify_last() finds again. */
void sim_live_act_last(struct sim *sim);
void sim_live_verify_last(struct sim *sim);

/* --- link.c --- */
struct sim_link *sim_link_create(struct sim_author *author);
void sim_link_up(struct sim_link *link);
void sim_link_down(struct sim_link *link);
void sim_link_wake(struct sim_link *link);
/* Something is to be done at the client's end. */
void sim_link_poke(struct sim_link *link);
/* Breaks; each end learns of it in its time. */
void sim_link_cut(struct sim_link *link);
void sim_link_cut_client(struct sim_link *link);
void sim_link_cut_server(struct sim_link *link);
/* The client's end is closed by its owner. */
void sim_link_leave(struct sim_link *link);
/* The server is gone with all that was in it. */
void sim_link_lose_server(struct sim_link *link);
bool sim_link_is_quiet(const struct sim_link *link);
/* Frees those that are closed at both ends. */
void sim_links_sweep(struct sim *sim);

/* --- tap.c --- */
void sim_tap_init(struct sim_link *link);
void sim_tap_finish(struct sim_link *link);
void sim_tap_up(struct sim_link *link, const void *bytes, size_t size);
void sim_tap_down(struct sim_link *link, const void *bytes, size_t size);

/* --- author.c --- */
void sim_author_begin(struct sim_author *author);
void sim_author_end(struct sim_author *author);
void sim_author_alarm(struct sim_author *author);
void sim_author_dispatch(struct sim_author *author);
/* To be called after anything that was asked of its client. */
void sim_author_settle(struct sim_author *author);
bool sim_author_is_quiet(const struct sim_author *author);
struct sim_wish *sim_wish_create(struct sim_author *author);
void sim_on_result(struct scn_client *client, const struct scn_result *result, void *data);
void sim_on_answer(struct scn_client *client, const struct scn_answer *answer, void *data);
/* Numbers that the client has given since. */
void sim_author_learn_numbers(struct sim_author *author);
uint32_t sim_author_any_mask(struct sim_author *author);
void sim_author_open_view(struct sim_author *author, struct scn_uid root, uint32_t mask);
void sim_author_open_replay(struct sim_author *author, scn_revision from, scn_revision to, struct scn_uid root);
void sim_author_ask_again(struct sim_view *view);
void sim_author_end_view(struct sim_view *view);
const char *sim_author_why_not_quiet(const struct sim_author *author);

/* --- action.c, weather.c --- */
void sim_act(struct sim_author *author);
/* A node that is there, as its author sees it, or was, or is to be. */
struct scn_uid sim_any_name(struct sim_author *author);
struct scn_target sim_any_target(struct sim_author *author);
struct sim_view *sim_any_view(struct sim_author *author);
struct sim_wish *sim_request(struct sim_author *author);
/* An edit that places a node as a drag has ended. */
void sim_drop(struct sim_author *author, struct scn_uid node, uint32_t fields, bool is_moved);
void sim_weather(struct sim *sim);
void sim_put_back(struct sim *sim, uint32_t document);
void sim_replace(void *sim, const struct sim_document *now, const struct sim_document *old);

/* --- verify.c --- */
/* While all is quiet and connected. */
void sim_verify_replicas(struct sim *sim);
void sim_verify_journal(struct sim *sim);
/* A mirror against the journal or the document; `is_thorough`: by a walk if need be. */
void sim_verify_view(const struct sim_view *view, bool is_thorough);

#endif
