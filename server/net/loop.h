/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_NET_LOOP_H
#define SCN_SERVER_NET_LOOP_H

/* Drives the daemon's core with libuv: listeners, connections, worker threads, time and signals. One loop is one
 * daemon; a process may have several, each on a thread of its own.
 *
 * A turn of the loop: bytes that arrived are fed to their sessions, signals and finished jobs are taken in; then
 * scn_server_turn() is called once, and every connection that the core woke is looked at, before the loop sleeps.
 *
 * Stopping (SIGTERM, SIGINT, scn_loop_stop()): listeners close at once, the core is told, sessions end and their
 * connections drain. What has not ended by then is cut after SCN_LOOP_DRAIN_MS; a second signal changes nothing.
 * Only the core is waited for longer: it says when nothing is under way to the disk. */

#include "server/address.h"
#include "server/log.h"
#include "server/server.h"

#define SCN_LOOP_DRAIN_MS 5000u

struct scn_loop;

struct scn_loop_options {
        const char *data_path;
        const char *agent;
        struct scn_limits limits;
        const struct scn_address *listens; /* borrowed for scn_loop_create() */
        size_t listens_count;
        struct scn_log *log;       /* borrowed as long as the loop lives */
        bool takes_signals;        /* SIGTERM and SIGINT stop it */
        uint64_t memory_bytes_max; /* these four as in struct scn_server_options */
        uint64_t fold_age_s;
        uint64_t keep_age_s;
        uint64_t reserve_bytes;
};

/* Takes the data directory, then listens; each address is logged as "listening on …", with the port it got. NULL:
 * problem_out says why. */
SCN_NODISCARD struct scn_loop *scn_loop_create(
        const struct scn_loop_options *options, char problem_out[SCN_PROBLEM_BYTES]);
/* Returns once it has been stopped and everything is closed. To be called once. */
void scn_loop_run(struct scn_loop *loop);
/* From any thread, while scn_loop_run() has not returned. */
void scn_loop_stop(struct scn_loop *loop);
/* Only before or after scn_loop_run(). Takes NULL. */
void scn_loop_destroy(struct scn_loop *loop);

#endif
