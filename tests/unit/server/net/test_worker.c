/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* uv.h under -std=c11 */

#include "server/net/worker.h"

#include "tests/lib/test.h"

#define JOBS 200u

struct bench {
        uv_loop_t loop;
        struct scn_worker worker;
        uv_sem_t gate; /* what jobs that wait wait for */
        uint32_t done_count;
        uint32_t left; /* to be submitted, one after the other */
};

struct task {
        struct scn_job job;
        struct bench *bench;
        uv_thread_t thread;
        uint32_t runs;
        uint32_t ends;
        bool waits;
};

static void begin(struct bench *bench)
{
        cr_assert_eq(uv_loop_init(&bench->loop), 0);
        cr_assert_eq(scn_worker_init(&bench->worker, &bench->loop), 0);
        cr_assert(scn_worker_start(&bench->worker));
        cr_assert_eq(uv_sem_init(&bench->gate, 0), 0);
        bench->done_count = 0;
        bench->left = 0;
}

static void end(struct bench *bench)
{
        scn_worker_stop(&bench->worker);
        uv_close((uv_handle_t *)&bench->worker.done, NULL);
        (void)uv_run(&bench->loop, UV_RUN_DEFAULT);
        scn_worker_finish(&bench->worker);
        uv_sem_destroy(&bench->gate);
        cr_assert_eq(uv_loop_close(&bench->loop), 0);
}

static void run_task(struct scn_job *job)
{
        struct task *task = (struct task *)job;
        if (task->waits)
                uv_sem_wait(&task->bench->gate);
        task->thread = uv_thread_self();
        task->runs++;
}

static void done_task(struct scn_job *job)
{
        struct task *task = (struct task *)job;
        struct bench *bench = task->bench;
        task->ends++;
        bench->done_count++;
        if (bench->left > 0) {
                bench->left--;
                scn_worker_submit(&bench->worker, &(task + 1)->job);
        }
}

static void prepare(struct bench *bench, struct task *tasks, uint32_t count, bool waits)
{
        for (uint32_t i = 0; i < count; i++)
                tasks[i] = (struct task){.job = {.run = run_task, .done = done_task}, .bench = bench, .waits = waits};
}

static void wait_for(struct bench *bench, uint32_t done_count)
{
        while (bench->done_count < done_count)
                (void)uv_run(&bench->loop, UV_RUN_ONCE);
}

SCN_TEST(worker, does_every_job_once_however_many_wait)
{
        static struct bench bench;
        static struct task tasks[JOBS];
        begin(&bench);
        prepare(&bench, tasks, JOBS, false);
        for (uint32_t i = 0; i < JOBS; i++)
                scn_worker_submit(&bench.worker, &tasks[i].job);
        wait_for(&bench, JOBS);
        for (uint32_t i = 0; i < JOBS; i++)
                cr_assert(tasks[i].runs == 1 && tasks[i].ends == 1);
        cr_assert_leq(bench.worker.threads_count, SCN_WORKER_THREADS_MAX);
        end(&bench);
}

SCN_TEST(worker, does_jobs_that_follow_one_another_on_one_thread)
{
        static struct bench bench;
        static struct task tasks[JOBS];
        begin(&bench);
        prepare(&bench, tasks, JOBS, false);
        bench.left = JOBS - 1;
        scn_worker_submit(&bench.worker, &tasks[0].job);
        wait_for(&bench, JOBS);
        for (uint32_t i = 1; i < JOBS; i++)
                cr_assert(uv_thread_equal(&tasks[i].thread, &tasks[0].thread));
        cr_assert_eq(bench.worker.threads_count, 1);
        end(&bench);
}

SCN_TEST(worker, does_the_job_in_line_when_a_thread_is_free)
{
        static struct bench bench;
        static struct task tasks[SCN_WORKER_THREADS_MAX + 1];
        begin(&bench);
        prepare(&bench, tasks, SCN_WORKER_THREADS_MAX, true);
        prepare(&bench, tasks + SCN_WORKER_THREADS_MAX, 1, false);
        for (uint32_t i = 0; i <= SCN_WORKER_THREADS_MAX; i++)
                scn_worker_submit(&bench.worker, &tasks[i].job);
        (void)uv_run(&bench.loop, UV_RUN_NOWAIT);
        cr_assert_eq(bench.done_count, 0, "all threads wait, and so does the last job");
        uv_sem_post(&bench.gate);
        wait_for(&bench, 2);
        cr_assert_eq(tasks[SCN_WORKER_THREADS_MAX].ends, 1);
        for (uint32_t i = 1; i < SCN_WORKER_THREADS_MAX; i++)
                uv_sem_post(&bench.gate);
        wait_for(&bench, SCN_WORKER_THREADS_MAX + 1);
        end(&bench);
}
