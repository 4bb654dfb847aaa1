/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_NET_STATE_H
#define SCN_SERVER_NET_STATE_H

/* The inside of a loop, for the files of server/net alone. */

#include "server/log.h"
#include "server/net/connection.h"
#include "server/net/descriptors.h"
#include "server/net/listener.h"
#include "server/net/worker.h"
#include "server/server.h"

#include <sys/queue.h>
#include <uv.h>

/* All connections read into one buffer: what arrived is taken by the session before anything else is read. */
#define SCN_LOOP_READ_BYTES 65536u

TAILQ_HEAD(scn_connection_list, scn_connection);

struct scn_loop {
        uv_loop_t uv;
        uv_timer_t tick;
        uv_timer_t due;            /* when the core wants its turn by itself */
        uv_prepare_t before_sleep; /* settles what timers caused */
        uv_check_t after_sleep;    /* settles what arrived */
        uv_idle_t not_yet;         /* active while woken connections are left for the next turn: no sleep */
        uv_async_t stop;
        uv_signal_t signals[2];
        uint8_t handles_count; /* of those above that were initialised */

        struct scn_server *server;
        struct scn_log *log;
        struct scn_worker worker;
        struct scn_descriptors descriptors;
        struct scn_listener *listeners; /* owned */
        size_t listeners_count;
        size_t listeners_open;

        struct scn_connection_list connections; /* all, by .all, until their handles are closed */
        size_t connections_count;
        struct scn_connection_list woken; /* to be looked at, by .woken */
        size_t woken_count;

        uint64_t due_ms;   /* what that timer is set to, by the core's clock; UINT64_MAX: it is not */
        bool is_unsettled; /* something happened outside of reading: settle before sleeping */
        bool is_stopping;
        bool is_finished; /* all but the loop's own handles is closed */
        uint64_t cut_at_ms;
        uint8_t read_buffer[SCN_LOOP_READ_BYTES];
};

/* A connection's memory is about to go: its descriptor is free. */
void scn_loop_on_descriptor_freed(struct scn_loop *loop);
/* Milliseconds; what deadlines are made of. */
uint64_t scn_loop_now_ms(const struct scn_loop *loop);

#endif
