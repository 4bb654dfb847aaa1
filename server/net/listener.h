/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_NET_LISTENER_H
#define SCN_SERVER_NET_LISTENER_H

/* Accepts connections on one address. Where there is no room for a connection (SCN_CONNECTIONS_MAX, the process's
 * descriptors), it is taken and closed at once, which is logged; nobody is left to hang, and the loop does not spin. */

#include "server/net/socket.h"

#include <uv.h>

struct scn_loop;

struct scn_listener {
        uv_poll_t poll;
        struct scn_loop *loop;
        struct scn_socket socket;
        bool is_open;
        bool is_paused; /* there was no descriptor even for turning somebody away */
};

/* `held_path`: see scn_socket_listen(). False: problem_out says why, and nothing is left to be closed. */
SCN_NODISCARD bool scn_listener_open(struct scn_listener *listener, struct scn_loop *loop,
        const struct scn_address *address, const char *held_path, char problem_out[SCN_PROBLEM_BYTES]);
/* The socket is closed, and its file removed, at once; the handle once the loop has turned. Only once. */
void scn_listener_close(struct scn_listener *listener);
/* A descriptor may have become free. */
void scn_listener_resume(struct scn_listener *listener);

#endif
