/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_NET_SOCKET_H
#define SCN_SERVER_NET_SOCKET_H

/* Listening sockets, made by hand where libuv leaves gaps: a Unix socket is closed to others from the first moment at
 * which it can be seen, the file of a daemon that died is cleared away, that of a living one never. */

#include "server/address.h"

#include <sys/types.h>

struct scn_socket {
        int descriptor; /* -1: closed */
        bool is_unix;
        char text[SCN_ADDRESS_TEXT_BYTES]; /* the address, with the port it got */
        /* Of a Unix socket: its file, to be removed only while it is still this one. */
        char path[SCN_ADDRESS_PATH_BYTES];
        dev_t device;
        ino_t inode;
};

/* Non-blocking, close-on-exec, listening. `held_path` is a folder that this process has locked for itself, or NULL.
 * False: problem_out says why, naming the setting. */
SCN_NODISCARD bool scn_socket_listen(const struct scn_address *address, const char *held_path,
        struct scn_socket *socket_out, char problem_out[SCN_PROBLEM_BYTES]);
/* Once closed, does nothing. */
void scn_socket_close(struct scn_socket *listening);

#endif
