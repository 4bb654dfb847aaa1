/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_SERVE_H
#define SCN_TESTS_LIB_SERVE_H

/* The real daemon with one listener of each kind, in a folder of its own, started as often as a test likes. */

#include "tests/lib/daemon.h"

enum serve_listener {
        SERVE_TCP,
        SERVE_UNIX,
        SERVE_LISTENERS_COUNT,
};

#define SERVE_ADDRESS_BYTES (SCN_DAEMON_PATH_BYTES + 16)

struct serve {
        struct scn_daemon daemon;
        const char *program;
        const char *fold_days; /* --fold-days from the next start on; NULL: not said */
        uint16_t port;
        char socket[SERVE_ADDRESS_BYTES]; /* path of the Unix socket */
};

/* Makes the folder and starts. */
void serve_begin(struct serve *serve);
/* The same with another program: "scened_faulty" is the daemon on a disk whose faults are told by
 * serve_set_fault(). */
void serve_begin_with(struct serve *serve, const char *program);
/* See tests/integration/daemon/faulty_disk.c; NULL: none from now on. */
void serve_set_fault(const struct serve *serve, const char *fault);
/* Again, on the data that is there and with a log that is empty, once the daemon has ended. The port is another. */
void serve_start(struct serve *serve);
/* Kills it, and waits until it is gone. */
void serve_kill(struct serve *serve);
/* Stops, which must succeed, and removes all. */
void serve_finish(struct serve *serve);

/* A connected, blocking socket. */
int serve_connect(const struct serve *serve, enum serve_listener listener);
/* As scenectl and the library want it: "127.0.0.1:PORT", "unix:PATH". */
void serve_address(const struct serve *serve, enum serve_listener listener, char address_out[SERVE_ADDRESS_BYTES]);

/* Runs scenectl --server ADDRESS --json with these arguments, up to NULL, to its end. Returns its exit code; what it
 * printed is in *output_out (may be NULL), to be freed with scn_free(). */
int serve_scenectl(const struct serve *serve, char **output_out, ...) __attribute__((sentinel));

#endif
