/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "server/net/loop.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "server/clock.h"
#include "server/net/state.h"
#include "server/problem.h"

#include <signal.h>
#include <string.h>

#define TICK_MS 1000u
/* How often connections that wake one another are looked at in one turn of the loop; then peers are read again. */
#define PASSES_MAX 2

static const int stop_signals[] = {SIGTERM, SIGINT};

uint64_t scn_loop_now_ms(const struct scn_loop *loop)
{
        return uv_now(&loop->uv);
}

/* ---------------------------------------------------------------- the host */

static void on_core_submit(void *data, struct scn_job *job)
{
        struct scn_loop *loop = data;

        scn_worker_submit(&loop->worker, job);
}

static void on_core_wake(void *data, struct scn_session *session, void *transport)
{
        (void)data;
        (void)session;
        scn_connection_wake(transport);
}

static void on_core_log(void *data, enum scn_log_level level, const char *text)
{
        struct scn_loop *loop = data;

        scn_log_text(loop->log, level, text);
}

static void on_core_random(void *data, uint8_t *bytes, size_t size)
{
        (void)data;
        int error = uv_random(NULL, NULL, bytes, size, 0, NULL);
        /* Uids and epochs must not be guessed at: a system without randomness cannot be served. */
        SCN_ASSERT(error == 0);
}

/* ---------------------------------------------------------------- stopping */

static void close_own_handles(struct scn_loop *loop)
{
        uv_handle_t *handles[] = {
                (uv_handle_t *)&loop->worker.done,
                (uv_handle_t *)&loop->tick,
                (uv_handle_t *)&loop->due,
                (uv_handle_t *)&loop->before_sleep,
                (uv_handle_t *)&loop->after_sleep,
                (uv_handle_t *)&loop->not_yet,
                (uv_handle_t *)&loop->stop,
                (uv_handle_t *)&loop->signals[0],
                (uv_handle_t *)&loop->signals[1],
        };

        scn_worker_stop(&loop->worker);
        for (size_t i = 0; i < loop->handles_count; i++)
                uv_close(handles[i], NULL);
        loop->handles_count = 0;
}

static void close_listeners(struct scn_loop *loop)
{
        for (size_t i = 0; i < loop->listeners_count; i++)
                if (loop->listeners[i].is_open)
                        scn_listener_close(&loop->listeners[i]);
}

static void begin_stop(struct scn_loop *loop)
{
        if (loop->is_stopping)
                return;
        loop->is_stopping = true;
        loop->is_unsettled = true;
        loop->cut_at_ms = scn_loop_now_ms(loop) + SCN_LOOP_DRAIN_MS;
        scn_log_write(loop->log, SCN_LOG_INFO, "net", "stopping; %zu connections", loop->connections_count);
        close_listeners(loop);
        scn_server_stop(loop->server);
}

/* The loop ends when it has no open handle left. */
static void finish_if_stopped(struct scn_loop *loop)
{
        if (!loop->is_stopping || loop->is_finished || loop->connections_count > 0 ||
                !scn_server_is_stopped(loop->server))
                return;
        loop->is_finished = true;
        close_own_handles(loop);
}

static void on_signal(uv_signal_t *handle, int number)
{
        struct scn_loop *loop = handle->data;

        (void)number;
        begin_stop(loop);
}

static void on_stop(uv_async_t *handle)
{
        begin_stop(handle->data);
}

/* ----------------------------------------------------------------- turning */

static void close_connections(struct scn_loop *loop)
{
        struct scn_connection *connection;

        TAILQ_FOREACH(connection, &loop->connections, all)
        {
                scn_connection_close(connection); /* its memory stays until on_closed */
        }
}

static void look_at_woken(struct scn_loop *loop)
{
        for (int pass = 0; pass < PASSES_MAX && loop->woken_count > 0; pass++) {
                /* Who is woken meanwhile has the next pass. */
                for (size_t left = loop->woken_count; left > 0 && loop->woken_count > 0; left--) {
                        struct scn_connection *connection = TAILQ_FIRST(&loop->woken);
                        scn_connection_take_wake(connection);
                        scn_connection_look(connection);
                }
        }
}

static void on_not_yet(uv_idle_t *handle)
{
        (void)handle; /* that it is active keeps the loop awake */
}

static void on_due(uv_timer_t *handle)
{
        struct scn_loop *loop = handle->data;

        loop->due_ms = UINT64_MAX;
        loop->is_unsettled = true;
}

/* The core takes its turns when something happened; this is for when nothing does. */
static void set_due(struct scn_loop *loop)
{
        uint64_t due_ms = scn_server_due_ms(loop->server);
        uint64_t now_ms;

        if (due_ms == loop->due_ms)
                return;
        loop->due_ms = due_ms;
        if (due_ms == UINT64_MAX) {
                (void)uv_timer_stop(&loop->due);
                return;
        }
        now_ms = scn_clock_monotonic_ms(NULL);
        uv_update_time(&loop->uv);
        (void)uv_timer_start(&loop->due, on_due, due_ms > now_ms ? due_ms - now_ms : 0, 0);
}

static void settle(struct scn_loop *loop)
{
        if (loop->is_finished)
                return;
        look_at_woken(loop);
        scn_server_turn(loop->server);
        look_at_woken(loop);
        set_due(loop);
        loop->is_unsettled = loop->woken_count > 0;
        if (loop->is_unsettled)
                (void)uv_idle_start(&loop->not_yet, on_not_yet);
        else
                (void)uv_idle_stop(&loop->not_yet);
        finish_if_stopped(loop);
}

static void on_after_sleep(uv_check_t *handle)
{
        settle(handle->data);
}

static void on_before_sleep(uv_prepare_t *handle)
{
        struct scn_loop *loop = handle->data;

        if (loop->is_unsettled)
                settle(loop);
}

/* Stopping has taken long enough. What is on its way to the disk is waited for all the same, but not in silence. */
static void cut(struct scn_loop *loop)
{
        if (loop->connections_count == 0)
                scn_log_write(loop->log, SCN_LOG_WARNING, "stop", "the storage is not done yet; waiting for it");
        close_connections(loop);
        loop->cut_at_ms = scn_loop_now_ms(loop) + SCN_LOOP_DRAIN_MS;
}

static void on_tick(uv_timer_t *handle)
{
        struct scn_loop *loop = handle->data;
        struct scn_connection *connection;
        uint64_t now_ms = scn_loop_now_ms(loop);

        scn_server_tick(loop->server);
        scn_log_tick(loop->log);
        TAILQ_FOREACH(connection, &loop->connections, all)
        {
                scn_connection_tick(connection, now_ms);
        }
        if (loop->is_stopping && now_ms >= loop->cut_at_ms)
                cut(loop);
        for (size_t i = 0; i < loop->listeners_count; i++)
                scn_listener_resume(&loop->listeners[i]);
        loop->is_unsettled = true;
}

void scn_loop_on_descriptor_freed(struct scn_loop *loop)
{
        for (size_t i = 0; i < loop->listeners_count; i++)
                scn_listener_resume(&loop->listeners[i]);
        finish_if_stopped(loop);
}

/* ---------------------------------------------------------- coming and going */

static int init_handle(struct scn_loop *loop, int error, uv_handle_t *handle)
{
        if (error != 0)
                return error;
        handle->data = loop;
        loop->handles_count++;
        return 0;
}

/* In the order of close_own_handles(). Returns libuv's error. */
static int init_handles(struct scn_loop *loop)
{
        uv_loop_t *uv = &loop->uv;
        int error = init_handle(loop, 0, (uv_handle_t *)&loop->worker.done);

        if (error == 0)
                error = init_handle(loop, uv_timer_init(uv, &loop->tick), (uv_handle_t *)&loop->tick);
        if (error == 0)
                error = init_handle(loop, uv_timer_init(uv, &loop->due), (uv_handle_t *)&loop->due);
        if (error == 0)
                error = init_handle(loop, uv_prepare_init(uv, &loop->before_sleep), (uv_handle_t *)&loop->before_sleep);
        if (error == 0)
                error = init_handle(loop, uv_check_init(uv, &loop->after_sleep), (uv_handle_t *)&loop->after_sleep);
        if (error == 0)
                error = init_handle(loop, uv_idle_init(uv, &loop->not_yet), (uv_handle_t *)&loop->not_yet);
        if (error == 0)
                error = init_handle(loop, uv_async_init(uv, &loop->stop, on_stop), (uv_handle_t *)&loop->stop);
        for (size_t i = 0; i < 2 && error == 0; i++)
                error = init_handle(loop, uv_signal_init(uv, &loop->signals[i]), (uv_handle_t *)&loop->signals[i]);
        if (error == 0)
                error = uv_timer_start(&loop->tick, on_tick, TICK_MS, TICK_MS);
        if (error == 0)
                error = uv_prepare_start(&loop->before_sleep, on_before_sleep);
        if (error == 0)
                error = uv_check_start(&loop->after_sleep, on_after_sleep);
        return error;
}

static int take_signals(struct scn_loop *loop)
{
        for (size_t i = 0; i < 2; i++) {
                int error = uv_signal_start(&loop->signals[i], on_signal, stop_signals[i]);
                if (error != 0)
                        return error;
        }
        return 0;
}

static bool open_server(
        struct scn_loop *loop, const struct scn_loop_options *options, char problem_out[SCN_PROBLEM_BYTES])
{
        struct scn_server_options core = {
                .data_path = options->data_path,
                .agent = options->agent,
                .limits = options->limits,
                .memory_bytes_max = options->memory_bytes_max,
                .fold_age_s = options->fold_age_s,
                .keep_age_s = options->keep_age_s,
                .reserve_bytes = options->reserve_bytes,
                .utc_us = scn_clock_utc_us,
                .monotonic_ms = scn_clock_monotonic_ms,
                .random = on_core_random,
                .submit = on_core_submit,
                .wake = on_core_wake,
                .log = on_core_log,
                .data = loop,
        };

        char cause[SCN_PROBLEM_BYTES] = "";
        enum scn_error error = scn_server_create(&core, &loop->server, cause);
        if (error != SCN_OK)
                scn_problem_set(problem_out, "--data %.*s: %s", SCN_PROBLEM_VALUE_BYTES, options->data_path,
                        cause[0] != '\0' ? cause : scn_error_text(error));
        return error == SCN_OK;
}

static bool open_listeners(
        struct scn_loop *loop, const struct scn_loop_options *options, char problem_out[SCN_PROBLEM_BYTES])
{
        loop->listeners = scn_alloc_zero(options->listens_count, sizeof *loop->listeners);
        if (loop->listeners == NULL) {
                scn_problem_set(problem_out, "--listen: out of memory");
                return false;
        }
        for (size_t i = 0; i < options->listens_count; i++) {
                if (!scn_listener_open(
                            &loop->listeners[i], loop, &options->listens[i], options->data_path, problem_out))
                        return false;
                loop->listeners_count++;
                loop->listeners_open++;
        }
        /* Said of all or none: who waits for the line finds every address served. */
        for (size_t i = 0; i < options->listens_count; i++)
                scn_log_write(loop->log, SCN_LOG_INFO, "net", "listening on %s", loop->listeners[i].socket.text);
        return true;
}

struct scn_loop *scn_loop_create(const struct scn_loop_options *options, char problem_out[SCN_PROBLEM_BYTES])
{
        struct scn_loop *loop = scn_alloc_zero(1, sizeof *loop);

        if (loop == NULL) {
                scn_problem_set(problem_out, "out of memory");
                return NULL;
        }
        loop->log = options->log;
        loop->descriptors.reserve = -1;
        loop->due_ms = UINT64_MAX;
        TAILQ_INIT(&loop->connections);
        TAILQ_INIT(&loop->woken);
        int error = uv_loop_init(&loop->uv);
        if (error != 0) {
                scn_problem_set(problem_out, "the event loop: %s", uv_strerror(error));
                scn_free(loop);
                return NULL;
        }
        error = scn_worker_init(&loop->worker, &loop->uv);
        if (error != 0) {
                scn_problem_set(problem_out, "the event loop: %s", uv_strerror(error));
                (void)uv_loop_close(&loop->uv);
                scn_free(loop);
                return NULL;
        }
        error = init_handles(loop);
        if (error == 0 && options->takes_signals)
                error = take_signals(loop);
        if (error == 0 && !scn_worker_start(&loop->worker))
                error = UV_EAGAIN;
        if (error != 0)
                scn_problem_set(problem_out, "the event loop: %s", uv_strerror(error));
        /* The data directory before the sockets: a second daemon goes away without having touched one. */
        if (error != 0 || !scn_descriptors_init(&loop->descriptors, problem_out) ||
                !open_server(loop, options, problem_out) || !open_listeners(loop, options, problem_out)) {
                scn_loop_destroy(loop);
                return NULL;
        }
        return loop;
}

void scn_loop_run(struct scn_loop *loop)
{
        (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
        SCN_ASSERT(loop->is_finished);
}

void scn_loop_stop(struct scn_loop *loop)
{
        (void)uv_async_send(&loop->stop);
}

void scn_loop_destroy(struct scn_loop *loop)
{
        if (loop == NULL)
                return;
        close_listeners(loop);
        close_own_handles(loop);
        /* One that never ran still has to see its handles closed. */
        loop->is_finished = true;
        (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
        scn_server_destroy(loop->server);
        scn_worker_finish(&loop->worker);
        scn_descriptors_finish(&loop->descriptors);
        int error = uv_loop_close(&loop->uv);
        SCN_ASSERT(error == 0);
        SCN_ASSERT(loop->connections_count == 0 && loop->listeners_open == 0);
        scn_free(loop->listeners);
        scn_free(loop);
}
