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
 *   weather.c    the table of what befalls all     verify.c    what must hold at the end
 *   store*.c     the disk                          run.c       one seed, from beginning to end
 *
 * A fault ends the program and prints the seed. */

#include "protocol/scene/digest.h"
#include "protocol/wire/frame.h"
#include "protocol/wire/message.h"
#include "server/server.h"
#include "tests/lib/random.h"
#include "tests/sim/store.h"

#include <scn/client.h>

#define SIM_AUTHORS_MAX 6
#define SIM_VIEWS_MAX 5
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
        struct sim_author *author;   /* NULL: the client's end is closed */
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
};

/* --- Authors --- */

enum sim_wish_state {
        SIM_WISH_PENDING,
        SIM_WISH_ACKED,
        SIM_WISH_UNCHANGED,
        SIM_WISH_REFUSED,
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
        enum sim_wish_state state;
        uint64_t edit;   /* the library's */
        uint64_t number; /* the wire's */
        scn_revision rev;
        uint32_t answers;
        uint32_t adds; /* ops that leave a record whenever the edit is accepted */
        uint32_t removes;
        uint32_t stored; /* how often in the journal; counted at the end */
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

struct sim_author {
        struct sim *sim;
        uint32_t index;
        uint32_t document;
        struct scn_uid uid;
        char name[16];
        struct scn_client *client;
        struct sim_link *link;
        struct sim_view views[SIM_VIEWS_MAX];
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
        struct sim_author authors[SIM_AUTHORS_MAX];
        struct sim_wish *wishes; /* newest first */
        uint32_t wishes_count;   /* edits, undos and redos */
        uint32_t markers;
        uint32_t requests_due;
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
void sim_author_open_view(struct sim_author *author, struct scn_uid root, uint32_t mask);
void sim_author_open_replay(struct sim_author *author, scn_revision from, scn_revision to, struct scn_uid root);
void sim_author_ask_again(struct sim_view *view);
void sim_author_end_view(struct sim_view *view);
const char *sim_author_why_not_quiet(const struct sim_author *author);

/* --- action.c, weather.c --- */
void sim_act(struct sim_author *author);
void sim_weather(struct sim *sim);
void sim_put_back(struct sim *sim, uint32_t document);

/* --- verify.c --- */
/* While all is quiet and connected. */
void sim_verify_replicas(struct sim *sim);
void sim_verify_journal(struct sim *sim);
/* A mirror against the journal or the document; `is_thorough`: by a walk if need be. */
void sim_verify_view(const struct sim_view *view, bool is_thorough);

#endif
