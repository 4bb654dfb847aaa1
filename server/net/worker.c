/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "server/net/worker.h"

#include "protocol/base/assert.h"

static void append(struct scn_job **first, struct scn_job **last, struct scn_job *job)
{
        job->next = NULL;
        if (*first == NULL)
                *first = job;
        else
                (*last)->next = job;
        *last = job;
}

/* ----------------------------------------------------------- on a thread */

/* Returns what to do next; NULL: the thread rests. */
static struct scn_job *change_jobs(struct scn_worker_thread *thread, struct scn_job *done)
{
        struct scn_worker *worker = thread->worker;

        uv_mutex_lock(&worker->mutex);
        append(&worker->done_first, &worker->done_last, done);
        struct scn_job *next = worker->waiting_first;
        if (next != NULL) {
                worker->waiting_first = next->next;
        } else {
                thread->next_idle = worker->idle;
                worker->idle = thread;
        }
        uv_mutex_unlock(&worker->mutex);
        (void)uv_async_send(&worker->done);
        return next;
}

static void run_thread(void *data)
{
        struct scn_worker_thread *thread = data;

        for (;;) {
                uv_sem_wait(&thread->wake);
                struct scn_job *job = thread->job;
                if (job == NULL)
                        return;
                while (job != NULL) {
                        job->run(job);
                        job = change_jobs(thread, job);
                }
        }
}

/* ----------------------------------------------------------- on the loop */

static void on_done(uv_async_t *handle)
{
        struct scn_worker *worker = (struct scn_worker *)(void *)handle;

        uv_mutex_lock(&worker->mutex);
        struct scn_job *job = worker->done_first;
        worker->done_first = NULL;
        uv_mutex_unlock(&worker->mutex);
        while (job != NULL) {
                struct scn_job *next = job->next;
                worker->jobs_count--;
                job->done(job);
                job = next;
        }
}

int scn_worker_init(struct scn_worker *worker, uv_loop_t *loop)
{
        worker->waiting_first = NULL;
        worker->done_first = NULL;
        worker->idle = NULL;
        worker->threads_count = 0;
        worker->jobs_count = 0;
        int error = uv_mutex_init(&worker->mutex);
        if (error != 0)
                return error;
        error = uv_async_init(loop, &worker->done, on_done);
        if (error != 0)
                uv_mutex_destroy(&worker->mutex);
        return error;
}

/* NULL: there are enough, or the system has none. */
static struct scn_worker_thread *start_thread(struct scn_worker *worker)
{
        struct scn_worker_thread *thread = &worker->threads[worker->threads_count];

        if (worker->threads_count == SCN_WORKER_THREADS_MAX)
                return NULL;
        *thread = (struct scn_worker_thread){.worker = worker};
        if (uv_sem_init(&thread->wake, 0) != 0)
                return NULL;
        if (uv_thread_create(&thread->thread, run_thread, thread) != 0) {
                uv_sem_destroy(&thread->wake);
                return NULL;
        }
        worker->threads_count++;
        return thread;
}

bool scn_worker_start(struct scn_worker *worker)
{
        struct scn_worker_thread *thread = start_thread(worker);

        worker->idle = thread;
        return thread != NULL;
}

void scn_worker_stop(struct scn_worker *worker)
{
        SCN_ASSERT(worker->jobs_count == 0);
        for (uint32_t i = 0; i < worker->threads_count; i++) {
                struct scn_worker_thread *thread = &worker->threads[i];
                thread->job = NULL;
                uv_sem_post(&thread->wake);
                uv_thread_join(&thread->thread);
                uv_sem_destroy(&thread->wake);
        }
        worker->threads_count = 0;
        worker->idle = NULL;
}

void scn_worker_finish(struct scn_worker *worker)
{
        SCN_ASSERT(worker->threads_count == 0);
        uv_mutex_destroy(&worker->mutex);
}

/* A thread that has just become idle may be overlooked only before the job waits in line: then it takes it. */
static struct scn_worker_thread *find_thread(struct scn_worker *worker, struct scn_job *job, bool may_start)
{
        uv_mutex_lock(&worker->mutex);
        struct scn_worker_thread *thread = worker->idle;
        if (thread != NULL)
                worker->idle = thread->next_idle;
        else if (!may_start)
                append(&worker->waiting_first, &worker->waiting_last, job);
        uv_mutex_unlock(&worker->mutex);
        return thread;
}

void scn_worker_submit(struct scn_worker *worker, struct scn_job *job)
{
        SCN_ASSERT(job->run != NULL && job->done != NULL);
        worker->jobs_count++;
        struct scn_worker_thread *thread = find_thread(worker, job, true);
        if (thread == NULL)
                thread = start_thread(worker);
        if (thread == NULL)
                thread = find_thread(worker, job, false);
        if (thread != NULL) {
                thread->job = job;
                uv_sem_post(&thread->wake);
        }
}
