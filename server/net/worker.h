/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_NET_WORKER_H
#define SCN_SERVER_NET_WORKER_H

/* Runs the core's jobs on libuv's threads. Submitting cannot fail and allocates nothing: so many requests are kept
 * ready, and further jobs wait in line. */

#include "server/server.h"

#include <uv.h>

/* More than there are threads, so that none waits for the loop before it has its next job. */
#define SCN_WORKER_REQUESTS_COUNT 64u

struct scn_worker_request {
        uv_work_t uv;
        struct scn_job *job; /* NULL: free */
};

struct scn_worker {
        uv_loop_t *loop;
        struct scn_worker_request requests[SCN_WORKER_REQUESTS_COUNT];
        struct scn_job *waiting_first; /* by job->next */
        struct scn_job *waiting_last;
        size_t jobs_count; /* submitted and not done */
};

void scn_worker_init(struct scn_worker *worker, uv_loop_t *loop);
/* Asserts that no job is under way. */
void scn_worker_finish(struct scn_worker *worker);
void scn_worker_submit(struct scn_worker *worker, struct scn_job *job);

#endif
