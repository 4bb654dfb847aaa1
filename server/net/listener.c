/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "server/net/listener.h"

#include "protocol/base/assert.h"
#include "server/net/state.h"
#include "server/problem.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Of one listener in one turn of the loop: those who are connected have their turn too. */
#define ACCEPTS_MAX 64

static void suspend(struct scn_listener *listener)
{
        (void)uv_poll_stop(&listener->poll);
        listener->is_paused = true;
}

/* No descriptor is left. Returns true if it may be tried again at once. */
static bool shed(struct scn_listener *listener, int error)
{
        struct scn_loop *loop = listener->loop;

        scn_log_write(loop->log, SCN_LOG_WARNING, "accept", "%s: %s; a connection was turned away",
                listener->socket.text, strerror(error));
        bool is_shed = scn_descriptors_shed(&loop->descriptors, listener->socket.descriptor);
        if (loop->descriptors.reserve < 0)
                suspend(listener);
        return is_shed;
}

/* accept() failed. Returns true if it may be tried again at once. */
static bool on_accept_error(struct scn_listener *listener, int error)
{
        switch (error) {
        case EAGAIN:
                return false;
        case EINTR:
        case ECONNABORTED: /* they were gone before we came; so are the next four */
        case EPROTO:
        case EPERM:
        case ETIMEDOUT:
                return true;
        case EMFILE:
        case ENFILE:
                return shed(listener, error);
        default: /* memory, mostly */
                scn_log_write(listener->loop->log, SCN_LOG_WARNING, "accept", "%s: %s", listener->socket.text,
                        strerror(error));
                suspend(listener);
                return false;
        }
}

static bool accept_one(struct scn_listener *listener)
{
        struct scn_loop *loop = listener->loop;
        int taken = accept4(listener->socket.descriptor, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (taken < 0)
                return on_accept_error(listener, errno);
        if (loop->connections_count >= loop->descriptors.connections_max) {
                scn_log_write(loop->log, SCN_LOG_WARNING, "accept",
                        "%s: %zu connections are open, as many as there may be; one more was turned away",
                        listener->socket.text, loop->connections_count);
                (void)close(taken);
                return true;
        }
        scn_connection_open(loop, taken, listener->socket.is_unix);
        return true;
}

static void on_acceptable(uv_poll_t *poll, int status, int events)
{
        struct scn_listener *listener = poll->data;

        (void)events;
        if (status < 0) {
                scn_log_write(listener->loop->log, SCN_LOG_ERROR, "accept", "%s: %s", listener->socket.text,
                        uv_strerror(status));
                suspend(listener);
                return;
        }
        for (int i = 0; i < ACCEPTS_MAX && listener->is_open && !listener->is_paused; i++)
                if (!accept_one(listener))
                        return;
}

bool scn_listener_open(struct scn_listener *listener, struct scn_loop *loop, const struct scn_address *address,
        const char *held_path, char problem_out[SCN_PROBLEM_BYTES])
{
        *listener = (struct scn_listener){.loop = loop};
        if (!scn_socket_listen(address, held_path, &listener->socket, problem_out))
                return false;
        int error = uv_poll_init(&loop->uv, &listener->poll, listener->socket.descriptor);
        if (error != 0) {
                scn_problem_set(problem_out, "--listen %s: %s", address->text, uv_strerror(error));
                scn_socket_close(&listener->socket);
                return false;
        }
        listener->poll.data = listener;
        listener->is_open = true;
        error = uv_poll_start(&listener->poll, UV_READABLE, on_acceptable);
        SCN_ASSERT(error == 0); /* it refuses closing handles only */
        return true;
}

static void on_closed(uv_handle_t *handle)
{
        struct scn_listener *listener = handle->data;

        listener->loop->listeners_open--;
}

void scn_listener_close(struct scn_listener *listener)
{
        SCN_ASSERT(listener->is_open);
        listener->is_open = false;
        /* This takes the descriptor out of the poll set, so it may be closed at once. */
        uv_close((uv_handle_t *)&listener->poll, on_closed);
        scn_socket_close(&listener->socket);
}

void scn_listener_resume(struct scn_listener *listener)
{
        if (!listener->is_open || !listener->is_paused)
                return;
        if (!scn_descriptors_refill(&listener->loop->descriptors))
                return;
        listener->is_paused = false;
        int error = uv_poll_start(&listener->poll, UV_READABLE, on_acceptable);
        SCN_ASSERT(error == 0);
}
