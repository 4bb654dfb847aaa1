/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_NET_CONNECTION_H
#define SCN_SERVER_NET_CONNECTION_H

/* One peer: what it sends goes to its session, what the session has for it goes out.
 *
 *              session ended, all sent
 *        OPEN -------------------------> LINGERING
 *          |   error, cut, no progress      | the peer closes too, or has had SCN_CONNECTION_LINGER_MS
 *          +---------------> CLOSED <-------+
 *
 * A lingering connection has told the peer that nothing more comes, and reads on without listening: closed with
 * bytes unread, the kernel would reset it and the peer might lose the last that it was sent. */

#include "server/server.h"

#include <sys/queue.h>
#include <uv.h>

/* For the peer to close its side. */
#define SCN_CONNECTION_LINGER_MS 2000u
/* For what an ended session has left to go out. */
#define SCN_CONNECTION_DRAIN_MS 5000u
/* For a peer that has closed its sending side: time without a byte taken after which it counts as gone. */
#define SCN_CONNECTION_HALF_OPEN_MS 10000u

struct scn_loop;

enum scn_connection_state {
        SCN_CONNECTION_OPEN,
        SCN_CONNECTION_LINGERING,
        SCN_CONNECTION_CLOSED,
};

struct scn_connection {
        union {
                uv_handle_t handle;
                uv_stream_t stream;
                uv_tcp_t tcp;
                uv_pipe_t pipe;
        } uv;
        struct scn_loop *loop;
        struct scn_session *session; /* only while open */
        enum scn_connection_state state;
        bool is_reading;
        bool is_writing; /* the socket is full; a piece of the session's output waits in libuv */
        bool is_woken;
        bool has_input_ended;
        uint32_t writing_bytes;
        uint64_t deadline_ms; /* 0: none */
        union {
                uv_write_t write;
                uv_shutdown_t shutdown; /* after the last write */
        } request;
        TAILQ_ENTRY(scn_connection) all;
        TAILQ_ENTRY(scn_connection) woken;
};

/* Takes the descriptor; if the connection cannot be served, it is closed, which is logged. */
void scn_connection_open(struct scn_loop *loop, int descriptor, bool is_unix);
/* The core has something for it: look at it before the loop sleeps. */
void scn_connection_wake(struct scn_connection *connection);
/* Takes it off the list of those that were woken, if it is there. */
void scn_connection_take_wake(struct scn_connection *connection);
/* Writes, reads on, ends: whatever its session wants. The connection may be closed afterwards. */
void scn_connection_look(struct scn_connection *connection);
/* Closes it if its time is over. */
void scn_connection_tick(struct scn_connection *connection, uint64_t now_ms);
/* At once; what has not been sent is lost. The memory goes when the loop has turned. Once closed, does nothing. */
void scn_connection_close(struct scn_connection *connection);

#endif
