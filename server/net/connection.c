/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "server/net/connection.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "server/net/state.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SLICES_MAX 32
/* Written to one connection before the others have their turn. */
#define WRITE_BYTES_MAX (128u << 10)
/* Handed to libuv when the socket is full: small, so that progress is seen soon. */
#define WAITING_BYTES_MAX 65536u
/* What the system keeps beyond that which is under way to the peer. */
#define UNSENT_BYTES (16 << 10)

static void move_to(struct scn_connection *connection, enum scn_connection_state state)
{
        static const bool is_allowed[][3] = {
                [SCN_CONNECTION_OPEN] = {[SCN_CONNECTION_LINGERING] = true, [SCN_CONNECTION_CLOSED] = true},
                [SCN_CONNECTION_LINGERING] = {[SCN_CONNECTION_CLOSED] = true},
                [SCN_CONNECTION_CLOSED] = {false},
        };

        SCN_ASSERT(is_allowed[connection->state][state]);
        connection->state = state;
}

/* A deadline that is nearer stays. */
static void set_deadline(struct scn_connection *connection, uint64_t in_ms)
{
        uint64_t deadline_ms = scn_loop_now_ms(connection->loop) + in_ms;

        if (connection->deadline_ms == 0 || deadline_ms < connection->deadline_ms)
                connection->deadline_ms = deadline_ms;
}

void scn_connection_wake(struct scn_connection *connection)
{
        struct scn_loop *loop = connection->loop;

        loop->is_unsettled = true;
        if (connection->is_woken || connection->state != SCN_CONNECTION_OPEN)
                return;
        connection->is_woken = true;
        TAILQ_INSERT_TAIL(&loop->woken, connection, woken);
        loop->woken_count++;
}

void scn_connection_take_wake(struct scn_connection *connection)
{
        struct scn_loop *loop = connection->loop;

        if (!connection->is_woken)
                return;
        connection->is_woken = false;
        TAILQ_REMOVE(&loop->woken, connection, woken);
        loop->woken_count--;
}

/* ----------------------------------------------------------------- closing */

static void on_closed(uv_handle_t *handle)
{
        struct scn_connection *connection = handle->data;
        struct scn_loop *loop = connection->loop;

        TAILQ_REMOVE(&loop->connections, connection, all);
        loop->connections_count--;
        scn_free(connection);
        scn_loop_on_descriptor_freed(loop);
}

void scn_connection_close(struct scn_connection *connection)
{
        if (connection->state == SCN_CONNECTION_CLOSED)
                return;
        move_to(connection, SCN_CONNECTION_CLOSED);
        scn_connection_take_wake(connection);
        /* First the handle: afterwards libuv does not touch what the session lent it to write. */
        uv_close(&connection->uv.handle, on_closed);
        if (connection->session != NULL)
                scn_session_destroy(connection->session);
        connection->session = NULL;
}

/* ----------------------------------------------------------------- reading */

static void on_buffer(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer_out)
{
        struct scn_connection *connection = handle->data;

        (void)wanted;
        *buffer_out = uv_buf_init((char *)connection->loop->read_buffer, SCN_LOOP_READ_BYTES);
}

static void stop_reading(struct scn_connection *connection)
{
        if (connection->is_reading)
                (void)uv_read_stop(&connection->uv.stream);
        connection->is_reading = false;
}

/* The peer has closed its side. It may still read. */
static void on_input_ended(struct scn_connection *connection)
{
        stop_reading(connection);
        connection->has_input_ended = true;
        if (connection->state == SCN_CONNECTION_LINGERING) {
                scn_connection_close(connection);
                return;
        }
        set_deadline(connection, SCN_CONNECTION_HALF_OPEN_MS);
        scn_session_end_input(connection->session);
        scn_connection_wake(connection);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
        struct scn_connection *connection = stream->data;

        if (size == 0)
                return;
        if (size == UV_EOF) {
                on_input_ended(connection);
                return;
        }
        if (size < 0) {
                scn_connection_close(connection);
                return;
        }
        if (connection->state == SCN_CONNECTION_LINGERING)
                return;
        scn_session_feed(connection->session, buffer->base, (size_t)size);
        if (!scn_session_wants_input(connection->session))
                stop_reading(connection);
}

static void start_reading(struct scn_connection *connection)
{
        if (connection->is_reading)
                return;
        if (uv_read_start(&connection->uv.stream, on_buffer, on_read) == 0)
                connection->is_reading = true;
        else
                scn_connection_close(connection);
}

/* ----------------------------------------------------------------- writing */

/* So many bytes have gone out. */
static void on_progress(struct scn_connection *connection, size_t size)
{
        if (connection->has_input_ended && !scn_session_has_ended(connection->session)) {
                connection->deadline_ms = 0;
                set_deadline(connection, SCN_CONNECTION_HALF_OPEN_MS);
        }
        scn_session_sent(connection->session, size);
}

static void on_written(uv_write_t *request, int status)
{
        struct scn_connection *connection = request->handle->data;

        connection->is_writing = false;
        if (connection->state != SCN_CONNECTION_OPEN)
                return;
        if (status < 0) {
                scn_connection_close(connection);
                return;
        }
        on_progress(connection, connection->writing_bytes);
        scn_connection_wake(connection);
}

/* What the session wants to be written; at most bytes_max of it. Returns how many bytes that are. */
static size_t collect(
        struct scn_connection *connection, size_t bytes_max, uv_buf_t buffers[SLICES_MAX], unsigned *buffers_count)
{
        struct scn_slice slices[SLICES_MAX];
        size_t count = scn_session_output(connection->session, slices, SLICES_MAX);
        size_t bytes = 0;

        SCN_ASSERT(count <= SLICES_MAX);
        *buffers_count = 0;
        for (size_t i = 0; i < count && bytes < bytes_max; i++) {
                size_t size = slices[i].size;
                if (size > bytes_max - bytes)
                        size = bytes_max - bytes;
                /* libuv has one type for both directions; it does not write there. */
                buffers[i] = (uv_buf_t){.base = (char *)(uintptr_t)slices[i].data, .len = size};
                bytes += size;
                ++*buffers_count;
        }
        return bytes;
}

/* The socket is full: libuv tells when a next piece has found room. */
static void wait_to_write(struct scn_connection *connection)
{
        uv_buf_t buffers[SLICES_MAX];
        unsigned count;
        size_t bytes = collect(connection, WAITING_BYTES_MAX, buffers, &count);

        if (bytes == 0)
                return;
        connection->writing_bytes = (uint32_t)bytes;
        connection->is_writing = true;
        if (uv_write(&connection->request.write, &connection->uv.stream, buffers, count, on_written) != 0) {
                connection->is_writing = false;
                scn_connection_close(connection);
        }
}

static void flush(struct scn_connection *connection)
{
        size_t bytes_left = WRITE_BYTES_MAX;

        while (!connection->is_writing) {
                uv_buf_t buffers[SLICES_MAX];
                unsigned count;
                if (bytes_left == 0) {
                        scn_connection_wake(connection);
                        return;
                }
                size_t bytes = collect(connection, bytes_left, buffers, &count);
                if (bytes == 0)
                        return;
                int written = uv_try_write(&connection->uv.stream, buffers, count);
                if (written < 0 && written != UV_EAGAIN) {
                        scn_connection_close(connection);
                        return;
                }
                size_t done = written > 0 ? (size_t)written : 0;
                if (done > 0)
                        on_progress(connection, done);
                if (done < bytes)
                        wait_to_write(connection);
                if (connection->state != SCN_CONNECTION_OPEN)
                        return;
                bytes_left -= done;
        }
}

/* ------------------------------------------------------------------ ending */

static void on_shut_down(uv_shutdown_t *request, int status)
{
        struct scn_connection *connection = request->handle->data;

        if (connection->state == SCN_CONNECTION_CLOSED)
                return;
        if (status < 0 || connection->has_input_ended)
                scn_connection_close(connection);
}

static void linger(struct scn_connection *connection)
{
        move_to(connection, SCN_CONNECTION_LINGERING);
        scn_session_destroy(connection->session);
        connection->session = NULL;
        connection->deadline_ms = 0;
        set_deadline(connection, SCN_CONNECTION_LINGER_MS);
        if (uv_shutdown(&connection->request.shutdown, &connection->uv.stream, on_shut_down) != 0) {
                scn_connection_close(connection);
                return;
        }
        if (!connection->has_input_ended)
                start_reading(connection);
}

void scn_connection_look(struct scn_connection *connection)
{
        if (connection->state != SCN_CONNECTION_OPEN)
                return;
        flush(connection);
        if (connection->state != SCN_CONNECTION_OPEN)
                return;
        if (scn_session_has_ended(connection->session)) {
                struct scn_slice slice;
                bool has_output = scn_session_output(connection->session, &slice, 1) > 0;
                stop_reading(connection);
                set_deadline(connection, SCN_CONNECTION_DRAIN_MS);
                if (!has_output && !connection->is_writing)
                        linger(connection);
                else if (!has_output)
                        scn_connection_close(connection); /* it was cut off: what is lent to libuv goes with it */
                return;
        }
        if (!connection->has_input_ended && scn_session_wants_input(connection->session))
                start_reading(connection);
        else
                stop_reading(connection);
}

/* The peer waits for us, not we for it. */
static bool is_working(const struct scn_connection *connection)
{
        return connection->state == SCN_CONNECTION_OPEN && scn_session_is_working(connection->session);
}

void scn_connection_tick(struct scn_connection *connection, uint64_t now_ms)
{
        if (connection->deadline_ms == 0 || now_ms < connection->deadline_ms)
                return;
        if (is_working(connection)) {
                connection->deadline_ms = 0;
                set_deadline(connection, SCN_CONNECTION_HALF_OPEN_MS);
        } else {
                scn_connection_close(connection);
        }
}

/* ----------------------------------------------------------------- opening */

/* Gives the descriptor to the handle. Returns libuv's error; the descriptor is then still the caller's. */
static int attach(struct scn_connection *connection, int descriptor, bool is_unix)
{
        if (is_unix)
                return uv_pipe_open(&connection->uv.pipe, descriptor);
        const int error = uv_tcp_open(&connection->uv.tcp, descriptor);
        if (error != 0)
                return error;
        /* Slower without, and the peer may be gone by now. */
        (void)uv_tcp_nodelay(&connection->uv.tcp, 1);
        /* Otherwise the system takes megabytes at once from a connection that is slow, and then nothing for seconds:
         * who reads slowly but steadily would look like somebody who has stopped. */
        const int unsent = UNSENT_BYTES;
        (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
        return 0;
}

void scn_connection_open(struct scn_loop *loop, int descriptor, bool is_unix)
{
        struct scn_connection *connection = scn_alloc_zero(1, sizeof *connection);
        int error;

        if (connection == NULL) {
                scn_log_write(loop->log, SCN_LOG_WARNING, "accept", "out of memory; a connection was turned away");
                (void)close(descriptor);
                return;
        }
        connection->loop = loop;
        if (is_unix)
                error = uv_pipe_init(&loop->uv, &connection->uv.pipe, 0);
        else
                error = uv_tcp_init(&loop->uv, &connection->uv.tcp);
        SCN_ASSERT(error == 0); /* they open nothing yet */
        connection->uv.handle.data = connection;
        TAILQ_INSERT_TAIL(&loop->connections, connection, all);
        loop->connections_count++;

        error = attach(connection, descriptor, is_unix);
        if (error != 0) {
                scn_log_write(
                        loop->log, SCN_LOG_WARNING, "accept", "%s; a connection was turned away", uv_strerror(error));
                (void)close(descriptor);
                scn_connection_close(connection);
                return;
        }
        connection->session = scn_session_create(loop->server, connection);
        if (connection->session == NULL) {
                scn_log_write(
                        loop->log, SCN_LOG_WARNING, "accept", "no session can be had; a connection was turned away");
                scn_connection_close(connection);
                return;
        }
        scn_connection_wake(connection);
}
