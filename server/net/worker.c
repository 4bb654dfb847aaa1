/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "server/net/worker.h"

#include "protocol/base/assert.h"

void scn_worker_init(struct scn_worker *worker, uv_loop_t *loop)
{
        *worker = (struct scn_worker){.loop = loop};
        for (size_t i = 0; i < SCN_WORKER_REQUESTS_COUNT; i++)
                worker->requests[i].uv.data = worker;
}

void scn_worker_finish(struct scn_worker *worker)
{
        SCN_ASSERT(worker->jobs_count == 0);
        worker->loop = NULL;
}

/* On a worker thread. */
static void on_run(uv_work_t *uv)
{
        struct scn_worker_request *request = (struct scn_worker_request *)(void *)uv;

        request->job->run(request->job);
}

static void start_waiting(struct scn_worker *worker);

static void on_done(uv_work_t *uv, int status)
{
        struct scn_worker_request *request = (struct scn_worker_request *)(void *)uv;
        struct scn_worker *worker = uv->data;
        struct scn_job *job = request->job;

        SCN_ASSERT(status == 0); /* nobody cancels */
        request->job = NULL;
        worker->jobs_count--;
        start_waiting(worker);
        job->done(job);
}

static struct scn_worker_request *find_free(struct scn_worker *worker)
{
        for (size_t i = 0; i < SCN_WORKER_REQUESTS_COUNT; i++)
                if (worker->requests[i].job == NULL)
                        return &worker->requests[i];
        return NULL;
}

static void start_waiting(struct scn_worker *worker)
{
        while (worker->waiting_first != NULL) {
                struct scn_worker_request *request = find_free(worker);
                if (request == NULL)
                        return;
                struct scn_job *job = worker->waiting_first;
                worker->waiting_first = job->next;
                request->job = job;
                int error = uv_queue_work(worker->loop, &request->uv, on_run, on_done);
                SCN_ASSERT(error == 0); /* it fails without a callback only */
        }
}

void scn_worker_submit(struct scn_worker *worker, struct scn_job *job)
{
        SCN_ASSERT(job->run != NULL && job->done != NULL);
        job->next = NULL;
        if (worker->waiting_first == NULL)
                worker->waiting_first = job;
        else
                worker->waiting_last->next = job;
        worker->waiting_last = job;
        worker->jobs_count++;
        start_waiting(worker);
}
