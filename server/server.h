/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_SERVER_H
#define SCN_SERVER_SERVER_H

/* The daemon's core, without I/O of its own: bytes of sessions in, bytes out, jobs for worker threads, time and
 * randomness from outside. server/net drives it with libuv; a test or the simulator drives it by hand, two of them
 * in one process if it likes: there is no static state.
 *
 * All functions are to be called from one thread, the loop's; only scn_job.run is called from others. */

#include <scn/error.h>
#include <scn/limits.h>
#include <scn/types.h>

struct scn_server;
struct scn_session;

/* Work that may block (the disk). Owned by whoever submitted it; embedded in their own struct. */
struct scn_job {
        void (*run)(struct scn_job *job);  /* on a worker thread; touches only what the job owns */
        void (*done)(struct scn_job *job); /* on the loop, once, after run; the job is not touched afterwards */
        struct scn_job *next;              /* the host's, from submit until done: submitting cannot fail */
};

enum scn_log_level {
        SCN_LOG_ERROR,
        SCN_LOG_WARNING,
        SCN_LOG_INFO,
        SCN_LOG_DEBUG,
};

struct scn_server_options {
        const char *data_path; /* the data directory; made if it is not there */
        const char *agent;     /* "scened 0.1.0" */
        struct scn_limits limits;
        size_t output_bytes_max;   /* that may be encoded and not sent, for all sessions together; 0: the usual */
        size_t input_bytes_max;    /* that all sessions together may hold; 0: the usual */
        uint64_t file_bytes_max;   /* of a file that is to become a document; 0: the usual */
        uint64_t memory_bytes_max; /* of documents; above, none is opened any more; 0: the usual */
        uint64_t fold_age_s;       /* finished gestures that are older are folded; 0: never */
        uint64_t keep_age_s;       /* history that is older may be dropped; 0: never */
        uint64_t reserve_bytes;    /* of the disk that is to stay free: with less, edits are refused; 0: none */
        /* The host's; `data` is passed to each. */
        uint64_t (*utc_us)(void *data);       /* since 1970, microseconds */
        uint64_t (*monotonic_ms)(void *data); /* milliseconds */
        void (*random)(void *data, uint8_t *bytes, size_t size);
        /* Runs the job on a worker, then its done on the loop. Jobs may run side by side. */
        void (*submit)(void *data, struct scn_job *job);
        /* The session has output, wants input again, or has ended: look at it before the loop sleeps. May be called
         * from inside any call to the core. */
        void (*wake)(void *data, struct scn_session *session, void *transport);
        void (*log)(void *data, enum scn_log_level level, const char *text);
        void *data;
};

#define SCN_PROBLEM_BYTES 512

/* Takes the data directory. On failure problem_out says what is wrong with it, for a person, or is as it was.
 * SCN_E_NO_MEMORY and storage errors, SCN_E_IN_USE among them (problem_out names the holder). */
SCN_NODISCARD enum scn_error scn_server_create(
        const struct scn_server_options *options, struct scn_server **server_out, char problem_out[SCN_PROBLEM_BYTES]);

/* After reading from all sessions that had something, before the loop sleeps: every room with edits waiting and no
 * batch in flight takes its turn. */
void scn_server_turn(struct scn_server *server);

/* When it wants to be called next though nothing arrives, in the host's monotonic milliseconds; UINT64_MAX: it does
 * not. To be asked after each turn. */
uint64_t scn_server_due_ms(const struct scn_server *server);
/* Time passes: rooms without sessions close, silent sessions end. Call about every second. */
void scn_server_tick(struct scn_server *server);

/* No new sessions, no new edits; batches under way are finished and answered, then all sessions end. */
void scn_server_stop(struct scn_server *server);
/* After stop: true once nothing is under way and every room is closed. */
bool scn_server_is_stopped(const struct scn_server *server);
/* Asserts that it is stopped or has no sessions and no room. Takes NULL. */
void scn_server_destroy(struct scn_server *server);

/* --- Sessions: one connection each --- */

/* `transport` is handed back in wake. NULL: out of memory, too many, or stopping; close the connection. */
struct scn_session *scn_session_create(struct scn_server *server, void *transport);
/* The connection is gone, or is being closed by us. The session may stay until a worker is done with it, but wake is
 * not called for it any more. */
void scn_session_destroy(struct scn_session *session);

/* Bytes that arrived. What they cause comes out through scn_session_output(), now or later. */
void scn_session_feed(struct scn_session *session, const void *bytes, size_t size);
/* No more bytes will come; the peer may still read. What was asked is answered, then the session ends. */
void scn_session_end_input(struct scn_session *session);
/* False: read no more from this connection until wake is called for it (its inbox is full, or it does not drain). */
bool scn_session_wants_input(const struct scn_session *session);

/* What is to be written next, in order: up to `slices_max` slices, borrowed until they are reported as sent. Returns
 * how many. */
size_t scn_session_output(struct scn_session *session, struct scn_slice *slices, size_t slices_max);
/* So many bytes of that have gone out. */
void scn_session_sent(struct scn_session *session, size_t bytes);
/* Something that has come is being worked on, and nothing waits to be taken by the peer meanwhile. */
bool scn_session_is_working(const struct scn_session *session);
/* True: close the connection as soon as there is no more output. */
bool scn_session_has_ended(const struct scn_session *session);

#endif
