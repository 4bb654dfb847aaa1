/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_NET_WORKER_H
#define SCN_SERVER_NET_WORKER_H

/* Runs the core's jobs on threads. Submitting allocates nothing; who finds no thread waits in line.
 *
 * Threads begin when they are first needed, and the one that rested last works next: a document that is edited has its
 * commits on one thread, whose memory is warm. Whoever is woken finds the lock free, or on a busy core the one that
 * wakes would have to run again before it could go on. */

#include "server/server.h"

#include <uv.h>

/* Journals wait for the disk most of the time; a slow checkpoint must not hold them all up. */
#define SCN_WORKER_THREADS_MAX 16u

struct scn_worker_thread {
        uv_thread_t thread;
        uv_sem_t wake;
        struct scn_worker *worker;
        struct scn_job *job; /* what to do when woken; NULL: end */
        struct scn_worker_thread *next_idle;
};

struct scn_worker {
        uv_async_t done;               /* first: tells the loop that jobs are done */
        uv_mutex_t mutex;              /* for what stands below, as far as threads touch it */
        struct scn_job *waiting_first; /* by job->next */
        struct scn_job *waiting_last;
        struct scn_job *done_first;
        struct scn_job *done_last;
        struct scn_worker_thread *idle; /* the one that rested last first */
        struct scn_worker_thread threads[SCN_WORKER_THREADS_MAX];
        /* The loop's alone. */
        uint32_t threads_count;
        size_t jobs_count; /* submitted and not done */
};

/* Returns libuv's error. On success worker->done is the caller's to close, once the worker has stopped. */
int scn_worker_init(struct scn_worker *worker, uv_loop_t *loop);
/* Starts the first thread, before any job; false: the system has none. */
SCN_NODISCARD bool scn_worker_start(struct scn_worker *worker);
/* Ends the threads. Asserts that no job is under way; none may come any more. */
void scn_worker_stop(struct scn_worker *worker);
/* Behind stop, once the handle is closed. */
void scn_worker_finish(struct scn_worker *worker);
void scn_worker_submit(struct scn_worker *worker, struct scn_job *job);

#endif
