/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_BENCH_SYNC_NET_H
#define SCN_TESTS_BENCH_SYNC_NET_H

/* A load of plain connections on one thread, and servers that run beside it, on a core of their own. */

#include "protocol/wire/frame.h"
#include "protocol/wire/message.h"

#include <sys/types.h>

/* --- Servers --- */

struct sync_server {
        pid_t pid;
        uint16_t port;
        char folder[256]; /* of data, in $TMPDIR or /tmp, removed at the end */
        bool is_relay;
};

/* scened or the relay, from the folder of this program. Exits with a message if it does not come up. */
struct sync_server sync_server_start(bool is_relay, uint16_t port);
void sync_server_stop(struct sync_server *server);
/* CPU time of all its threads so far. */
double sync_server_cpu_ns(const struct sync_server *server);
double sync_server_rss_kib(const struct sync_server *server);

/* --- Connections --- */

struct sync_peer {
        int descriptor;
        struct scn_frame_reader reader;
        uint64_t bytes; /* received */
        uint64_t deltas;
        uint64_t answers;  /* of edits and questions */
        uint64_t number;   /* of the last edit sent */
        bool has_joined;   /* the whole view has come */
        bool is_gathering; /* what it sends while messages are handled goes out when all that came is handled */
        struct scn_buffer gathered;
        /* Edits under way, for their delays: when each was sent. */
        double sent_ns[1024];
};

#define SYNC_PEERS_MAX 1100u

/* Where there is one core only, both share it. */
#define SYNC_SERVER_CORE 0
#define SYNC_LOAD_CORE 1

double sync_now_ns(void); /* wall time */
/* As many descriptors as may be: of two servers' peers. */
void sync_take_descriptors(void);
/* This thread, and what it starts. */
void sync_pin(int core);
void sync_unpin(void);

void sync_peer_connect(struct sync_peer *peer, uint16_t port);
/* Preface, hello, open (which is answered), and, if asked for, a view of everything. */
void sync_peer_open(struct sync_peer *peer, uint16_t port, uint32_t client, bool has_view);
void sync_peer_view(struct sync_peer *peer);
void sync_peer_close(struct sync_peer *peer);
void sync_peer_send(struct sync_peer *peer, const struct scn_message *message);
void sync_peer_send_bytes(struct sync_peer *peer, const void *bytes, size_t size);
void sync_peer_edit(struct sync_peer *peer, const struct scn_op *ops, uint32_t count);
/* One edit that moves `count` nodes from id `first` on. */
void sync_peer_move(struct sync_peer *peer, scn_node_id first, uint32_t count, float x);

/* What is called for each message that comes; NULL: only counted. */
typedef void (*sync_message_fn)(struct sync_peer *peer, const struct scn_message *message, void *data);
/* Sends what was gathered. */
void sync_peer_flush(struct sync_peer *peer);
/* Reads what comes to any of the peers for so long. `is_raw`: bytes are counted, not read. */
void sync_run(
        struct sync_peer **peers, size_t count, double for_ns, bool is_raw, sync_message_fn on_message, void *data);
/* The same, until `is_done` says so; exits after 60 s. */
void sync_run_until(struct sync_peer **peers, size_t count, bool is_raw, sync_message_fn on_message,
        bool (*is_done)(void *data), void *data);

#endif
