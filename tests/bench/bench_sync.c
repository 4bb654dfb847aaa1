/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _POSIX_C_SOURCE 200809L

/* The daemon under load, beside the least that a server can do (relay.c): joining, fan-out, saturation, delays, world
 * queries, slow clients. The server has the first core and the load the second, as far as there are two. CPU time is
 * that of all the server's threads, the journal's included; every acknowledged edit is durable.
 *
 * What is compared runs side by side, in turns, and the median of the rounds counts; the least and the greatest stand
 * behind it. Delays are upper bounds on a machine that others use, too. Where the least that a part can cost is known,
 * it is measured in the same run and printed without a budget: the relay's system calls for the same bytes, and
 * SQLite's commits of the same bytes.
 *
 * SECONDS are of each load, else 3. */

#include "protocol/base/bytes.h"
#include "protocol/wire/ops.h"
#include "tests/bench/bench.h"
#include "tests/bench/sync_floor.h"
#include "tests/bench/sync_net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NODES 10000u
#define ROUNDS 7
#define JOURNAL_PAGES 1200u /* more than what empties it */
#define PEERS_MAX SYNC_PEERS_MAX
#define WRITERS 10u
#define IN_FLIGHT 64u
#define RELAY_BYTES 40u

/* A server and those who are connected to it. */
struct side {
        struct sync_server server;
        struct sync_peer writer;
        struct sync_peer peers[PEERS_MAX];
        struct sync_peer *all[PEERS_MAX];
};

static struct side sides[2]; /* the daemon and the relay, where both run */
static struct sync_peer *const peers = sides[0].peers;
static double seconds = 3;
static double delays[4000000];
static size_t delays_count;

static int compare_doubles(const void *a, const void *b)
{
        const double left = *(const double *)a;
        const double right = *(const double *)b;
        return (left > right) - (left < right);
}

/* Of the delays noted, which are then forgotten; in microseconds. */
static double percentile_us(double part)
{
        if (delays_count == 0) {
                return 0;
        }
        qsort(delays, delays_count, sizeof delays[0], compare_doubles);
        return delays[(size_t)((double)(delays_count - 1) * part)] / 1e3;
}

static void note_delay(double since_ns)
{
        if (delays_count < sizeof delays / sizeof delays[0]) {
                delays[delays_count++] = sync_now_ns() - since_ns;
        }
}

/* --- The scene --- */

static bool has_answer(void *data)
{
        return ((struct sync_peer *)data)->answers > 0;
}

static void on_applied(struct sync_peer *peer, const struct scn_message *message, void *data)
{
        (void)data;
        peer->answers += message->kind == SCN_MESSAGE_applied || message->kind == SCN_MESSAGE_answer;
}

static void fill(uint16_t port)
{
        static struct scn_op ops[NODES];
        static char names[NODES][8];
        struct sync_peer writer;
        struct scn_message message;
        struct scn_buffer bytes;
        sync_peer_open(&writer, port, 1, false);
        for (uint32_t i = 0; i < NODES; i++) {
                const int length = snprintf(names[i], sizeof names[i], "n%u", i);
                ops[i] = (struct scn_op){.kind = SCN_OP_ADD,
                        .parent = {.kind = SCN_REF_ID, .id = i < 10 ? 1 : 2 + i / 10},
                        .name = {(const uint8_t *)names[i], (uint32_t)length},
                        .fields = SCN_FIELDS_TRANSLATION,
                        .trs = {.t = {(float)i, 0.5f, 0.25f}}};
        }
        scn_buffer_init(&bytes, SCN_MESSAGE_BYTES_MAX);
        struct scn_packer packer = scn_packer_to(&bytes);
        scn_ops_encode(&packer, ops, NODES);
        scn_message_init(&message, SCN_MESSAGE_edit);
        message.as.edit.number = ++writer.number;
        message.as.edit.ops = (struct scn_slice){bytes.data, (uint32_t)bytes.size};
        sync_peer_send(&writer, &message);
        struct sync_peer *only = &writer;
        sync_run_until(&only, 1, false, on_applied, has_answer, &writer);
        scn_buffer_finish(&bytes);
        sync_peer_close(&writer);
        /* The checkpoint that such an edit asks for is not to be measured with what follows. */
        const struct timespec pause = {.tv_nsec = 500000000};
        (void)nanosleep(&pause, NULL);
}

/* Of no server before, for connections that were closed linger. */
static uint16_t next_port(void)
{
        static uint16_t used;
        return (uint16_t)(20000 + getpid() % 10000 + used++);
}

static struct sync_server start(bool is_relay)
{
        struct sync_server server = sync_server_start(is_relay, next_port());
        if (!is_relay) {
                fill(server.port);
        }
        return server;
}

static bool have_joined(void *data)
{
        const struct side *side = data;
        for (uint32_t i = 0; side->all[i] == &side->peers[i]; i++) {
                if (!side->peers[i].has_joined) {
                        return false;
                }
        }
        return true;
}

/* Peers 0 .. count - 1 with a view of everything, or just connected; behind them stands nobody yet. */
static void connect_peers(struct side *side, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                side->all[i] = &side->peers[i];
                if (side->server.is_relay) {
                        sync_peer_connect(&side->peers[i], side->server.port);
                } else {
                        sync_peer_open(&side->peers[i], side->server.port, 100 + i, true);
                }
        }
        side->all[count] = NULL;
        if (!side->server.is_relay) {
                sync_run_until(side->all, count, false, NULL, have_joined, side);
        }
        for (uint32_t i = 0; i < count; i++) {
                side->peers[i].bytes = 0;
                side->peers[i].deltas = 0;
        }
}

static void disconnect_peers(struct side *side, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                sync_peer_close(&side->peers[i]);
        }
}

/* A server with so many observers, and a writer behind them. */
static void start_side(struct side *side, bool is_relay, uint32_t count)
{
        side->server = start(is_relay);
        if (is_relay) {
                sync_peer_connect(&side->writer, side->server.port);
        } else {
                sync_peer_open(&side->writer, side->server.port, 7, false);
        }
        connect_peers(side, count);
        side->all[count] = &side->writer;
}

static void stop_side(struct side *side, uint32_t count)
{
        disconnect_peers(side, count);
        sync_peer_close(&side->writer);
        sync_server_stop(&side->server);
}

/* --- Joining --- */

struct wait {
        struct sync_peer *peer;
        uint64_t bytes;
};

static bool has_bytes(void *data)
{
        const struct wait *wait = data;
        return wait->peer->bytes >= wait->bytes;
}

static bool has_joined(void *data)
{
        return ((struct sync_peer *)data)->has_joined;
}

static double join_one(const struct sync_server *server, uint32_t client, uint64_t *bytes_out)
{
        struct sync_peer *joiner = &peers[client];
        sync_peer_open(joiner, server->port, client, false);
        joiner->bytes = 0;
        const double before = sync_server_cpu_ns(server);
        sync_peer_view(joiner);
        sync_run_until(&joiner, 1, false, NULL, has_joined, joiner);
        const double used = sync_server_cpu_ns(server) - before;
        *bytes_out = joiner->bytes;
        return used;
}

/* What the relay uses to send as many bytes to one of ten. */
static double relay_bytes(uint64_t bytes)
{
        enum {
                RECEIVERS = 10,
                TIMES = 20
        };
        struct side *relay = &sides[1];
        uint8_t *block = calloc(1, bytes);
        start_side(relay, true, RECEIVERS);
        sync_run(relay->all, RECEIVERS, 50e6, true, NULL, NULL);
        const double before = sync_server_cpu_ns(&relay->server);
        for (int i = 0; i < TIMES && block != NULL; i++) {
                sync_peer_send_bytes(&relay->writer, block, bytes);
                for (uint32_t peer = 0; peer < RECEIVERS; peer++) {
                        struct wait wait = {&relay->peers[peer], bytes * (uint64_t)(i + 1)};
                        sync_run_until(relay->all, RECEIVERS, true, NULL, has_bytes, &wait);
                }
        }
        const double used = sync_server_cpu_ns(&relay->server) - before;
        free(block);
        stop_side(relay, RECEIVERS);
        return used / RECEIVERS / TIMES;
}

/* The first has a snapshot encoded, and the next are sent the same bytes; when all have left it is gone, and whoever
 * comes is the first again. The very first besides finds a server that has done nothing for half a second, all of whose
 * memory may be cold: a machine that gives idle memory back to its host takes up to 20 ms for that. */
static void bench_joins(void)
{
        enum {
                OTHERS = 20
        };
        struct sync_server server = start(false);
        struct sync_peer other;
        double first[ROUNDS];
        uint64_t bytes = 0;
        double next = 1e18;
        scn_bench_heading("join, 10,000 nodes");
        const double cold = join_one(&server, 0, &bytes);
        for (uint32_t i = 0; i < ROUNDS; i++) {
                sync_peer_close(&peers[0]);
                sync_peer_open(&other, server.port, 7, false); /* answered when the server has seen the other close */
                sync_peer_close(&other);
                first[i] = join_one(&server, 0, &bytes) / 1e6;
        }
        for (uint32_t i = 0; i < OTHERS; i++) {
                const double used = join_one(&server, 1 + i, &bytes);
                next = used < next ? used : next;
        }
        for (uint32_t i = 0; i < 1 + OTHERS; i++) {
                sync_peer_close(&peers[i]);
        }
        sync_server_stop(&server);
        const double relayed = relay_bytes(bytes);
        (void)scn_bench_median("server CPU, the first", first, ROUNDS, "ms", 2);
        scn_bench_row("  the very first, of an idle server", cold / 1e6, "ms", SCN_BENCH_NO_BUDGET);
        scn_bench_row("server CPU, the next (best of 20)", next / 1e3, "us", SCN_BENCH_NO_BUDGET);
        scn_bench_row("relay, the same bytes", relayed / 1e3, "us", SCN_BENCH_NO_BUDGET);
        scn_bench_row("the next, in percent of the relay", 100 * next / relayed, "%", 130);
        scn_bench_row("bytes a node", (double)bytes / NODES, "B", 75);
}

/* --- Fan-out --- */

struct fan_out {
        double cpu_ns; /* a delivery */
        double bytes;
};

/* Edits for so long, and what each delivery of them cost. */
static struct fan_out fan_out(struct side *side, uint32_t count, uint32_t nodes, uint32_t rate, double for_seconds)
{
        static const uint8_t block[RELAY_BYTES];
        static float x = 1e5f;
        const bool is_relay = side->server.is_relay;
        struct fan_out sums = {0, 0};
        uint64_t deliveries = 0;
        for (uint32_t i = 0; i < count; i++) {
                side->peers[i].bytes = 0;
                side->peers[i].deltas = 0;
        }
        const double before = sync_server_cpu_ns(&side->server);
        const uint32_t times = (uint32_t)(for_seconds * rate);
        double next_ns = sync_now_ns();
        for (uint32_t i = 0; i < times; i++) {
                if (is_relay) {
                        sync_peer_send_bytes(&side->writer, block, sizeof block);
                } else {
                        sync_peer_move(&side->writer, 100, nodes, x += 1);
                }
                next_ns += 1e9 / rate;
                const double left = next_ns - sync_now_ns();
                sync_run(side->all, count + 1, left > 0 ? left : 0, is_relay, NULL, NULL);
        }
        sync_run(side->all, count + 1, 50e6, is_relay, NULL, NULL);
        sums.cpu_ns = sync_server_cpu_ns(&side->server) - before;
        for (uint32_t i = 0; i < count; i++) {
                deliveries += is_relay ? side->peers[i].bytes / RELAY_BYTES : side->peers[i].deltas;
                sums.bytes += (double)side->peers[i].bytes;
        }
        return (struct fan_out){sums.cpu_ns / (double)deliveries, sums.bytes / (double)deliveries};
}

/* A journal's write-ahead file grows until it is emptied for the first time, and is written over from then on: what
 * goes on for long is measured then. */
static void grow_journal(struct side *side)
{
        struct sync_peer *writer = &side->writer;
        for (uint32_t i = 0; i < JOURNAL_PAGES; i++) {
                writer->answers = 0;
                sync_peer_move(writer, 100, 1, (float)i);
                sync_run_until(&writer, 1, false, on_applied, has_answer, writer);
        }
}

/* Of a commit of one edit by SQLite alone, as often. */
static double commit_ns(void)
{
        double once[ROUNDS];
        struct sync_floor *floor = sync_floor_create();
        (void)sync_floor_ns(floor, 1); /* its file has grown, too */
        for (int i = 0; i < ROUNDS; i++) {
                once[i] = sync_floor_paced_ns(floor, 40, 60) / 1e3;
        }
        sync_floor_destroy(floor);
        return 1e3 *
                scn_bench_median("one durable commit by SQLite alone, 60 times a second", once, ROUNDS, "us",
                        SCN_BENCH_NO_BUDGET);
}

static void bench_observers(uint32_t count, double budget, double once_ns)
{
        double least[ROUNDS];
        double ours[ROUNDS];
        double relay[ROUNDS];
        double percent[ROUNDS];
        double durable[ROUNDS];
        double bytes = 0;
        char text[80];
        start_side(&sides[0], false, 0);
        grow_journal(&sides[0]);
        connect_peers(&sides[0], count);
        sides[0].all[count] = &sides[0].writer;
        start_side(&sides[1], true, count);
        for (int i = 0; i < ROUNDS; i++) {
                const struct fan_out ours_once = fan_out(&sides[0], count, 1, 60, seconds / 3);
                relay[i] = fan_out(&sides[1], count, 1, 60, seconds / 3).cpu_ns / 1e3;
                ours[i] = ours_once.cpu_ns / 1e3;
                percent[i] = 100 * ours[i] / relay[i];
                durable[i] = 100 * (relay[i] + once_ns / 1e3 / count) / relay[i];
                least[i] = 100 * percent[i] / durable[i];
                bytes = ours_once.bytes;
        }
        stop_side(&sides[0], count);
        stop_side(&sides[1], count);
        (void)snprintf(text, sizeof text, "%u observers: CPU a delivery", count);
        (void)scn_bench_median(text, ours, ROUNDS, "us", SCN_BENCH_NO_BUDGET);
        (void)scn_bench_median("  the relay, which keeps nothing", relay, ROUNDS, "us", SCN_BENCH_NO_BUDGET);
        (void)scn_bench_median("  in percent of it", percent, ROUNDS, "%", budget);
        (void)scn_bench_median(
                "  the relay and such a commit, in percent of it", durable, ROUNDS, "%", SCN_BENCH_NO_BUDGET);
        (void)scn_bench_median("  in percent of these two", least, ROUNDS, "%", SCN_BENCH_NO_BUDGET);
        scn_bench_row("  bytes a delivery, frame and all", bytes, "B", 30);
}

static void bench_fan_out(void)
{
        static const uint32_t counts[] = {1, 50, 200, 1000};
        static const double budgets[] = {SCN_BENCH_NO_BUDGET, 150, 120, 120};
        scn_bench_heading("fan-out: one node moved 60 times a second");
        const double once_ns = commit_ns();
        for (int i = 0; i < 4; i++) {
                bench_observers(counts[i], budgets[i], once_ns);
        }
        start_side(&sides[0], false, 50);
        const struct fan_out many = fan_out(&sides[0], 50, 500, 30, seconds);
        stop_side(&sides[0], 50);
        scn_bench_heading("500 nodes moved in one edit, 30 times a second, 50 observers");
        scn_bench_row("bytes a node", many.bytes / 500, "B", 15);
        scn_bench_row("CPU a delivery", many.cpu_ns / 1e3, "us", SCN_BENCH_NO_BUDGET);
}

/* --- Saturation --- */

static struct sync_peer writers[WRITERS];
static uint64_t answered;

static void keep_writing(struct sync_peer *peer, const struct scn_message *message, void *data)
{
        (void)data;
        if (message->kind == SCN_MESSAGE_applied) {
                note_delay(peer->sent_ns[message->as.applied.number % 1024]);
                answered++;
                sync_peer_move(peer, 2 + (scn_node_id)(peer - writers) * 900 + (scn_node_id)(peer->number % 900), 1,
                        (float)peer->number);
        } else if (message->kind == SCN_MESSAGE_refused) {
                fprintf(stderr, "bench_sync: refused: %.*s\n", (int)message->as.refused.text.size,
                        (const char *)message->as.refused.text.data);
                exit(1);
        }
}

static void start_writers(struct side *side, uint32_t observers)
{
        for (uint32_t i = 0; i < WRITERS; i++) {
                sync_peer_open(&writers[i], side->server.port, 10 + i, false);
                side->all[observers + i] = &writers[i];
                writers[i].is_gathering = true;
        }
        for (uint32_t i = 0; i < WRITERS; i++) {
                for (uint32_t j = 0; j < IN_FLIGHT; j++) {
                        sync_peer_move(&writers[i], 2 + i * 900 + j, 1, (float)j + 1);
                }
                sync_peer_flush(&writers[i]);
        }
}

static void bench_saturation(void)
{
        enum {
                OBSERVERS = 50
        };
        struct side *side = &sides[0];
        double rates[ROUNDS];
        double costs[ROUNDS];
        double floors[ROUNDS];
        uint64_t edits = 0;
        uint64_t batches = 0;
        side->server = start(false);
        connect_peers(side, OBSERVERS);
        start_writers(side, OBSERVERS);
        sync_run(side->all, OBSERVERS + WRITERS, 100e6, false, keep_writing, NULL);
        delays_count = 0;
        struct sync_floor *floor = sync_floor_create();
        for (int i = 0; i < ROUNDS; i++) {
                answered = 0;
                peers[0].deltas = 0;
                const double before = sync_server_cpu_ns(&side->server);
                const double start_ns = sync_now_ns();
                sync_run(side->all, OBSERVERS + WRITERS, seconds / 3 * 1e9, false, keep_writing, NULL);
                costs[i] = (sync_server_cpu_ns(&side->server) - before) / (double)answered / 1e3;
                rates[i] = (double)answered / (sync_now_ns() - start_ns) * 1e9;
                edits += answered;
                batches += peers[0].deltas;
        }
        disconnect_peers(side, OBSERVERS);
        for (uint32_t i = 0; i < WRITERS; i++) {
                sync_peer_close(&writers[i]);
        }
        sync_server_stop(&side->server);
        const uint32_t batch = batches == 0 ? 1 : (uint32_t)(edits / batches);
        for (int i = 0; i < ROUNDS; i++) {
                floors[i] = sync_floor_ns(floor, batch) / 1e3;
        }
        sync_floor_destroy(floor);
        scn_bench_heading("saturation: 10 writers with 64 edits in flight each, 50 observers");
        (void)scn_bench_median("durable edits a second", rates, ROUNDS, "1/s", SCN_BENCH_NO_BUDGET);
        scn_bench_row("  the fastest peer (Colyseus, nothing kept)", 147129, "1/s", SCN_BENCH_NO_BUDGET);
        scn_bench_row("  the fastest that stores (y-websocket, no fsync)", 4713, "1/s", SCN_BENCH_NO_BUDGET);
        (void)scn_bench_median("CPU an edit, all threads", costs, ROUNDS, "us", 4);
        (void)scn_bench_median("  SQLite alone, the same bytes and batches", floors, ROUNDS, "us", SCN_BENCH_NO_BUDGET);
        scn_bench_row("  edits a batch", batch, "", SCN_BENCH_NO_BUDGET);
        scn_bench_row("answered, median", percentile_us(0.5) / 1e3, "ms", SCN_BENCH_NO_BUDGET);
        scn_bench_row("answered, 99 %", percentile_us(0.99) / 1e3, "ms", 20);
}

/* --- Delays --- */

static bool has_delta(void *data)
{
        return ((struct sync_peer *)data)->deltas > 0;
}

/* From sending to seen by the one observer, once. */
static double delay_us(struct side *side, float x)
{
        static const uint8_t block[RELAY_BYTES];
        struct wait wait = {&side->peers[0], side->peers[0].bytes + RELAY_BYTES};
        const bool is_relay = side->server.is_relay;
        side->peers[0].deltas = 0;
        const double sent_ns = sync_now_ns();
        if (is_relay) {
                sync_peer_send_bytes(&side->writer, block, sizeof block);
                sync_run_until(side->all, 2, true, NULL, has_bytes, &wait);
        } else {
                sync_peer_move(&side->writer, 100, 1, x);
                sync_run_until(side->all, 2, false, NULL, has_delta, &side->peers[0]);
        }
        const double took_ns = sync_now_ns() - sent_ns;
        sync_run(side->all, 2, 2e6, is_relay, NULL, NULL);
        return took_ns / 1e3;
}

static void bench_delay(void)
{
        enum {
                TIMES = 301
        };
        static double ours[TIMES];
        static double relay[TIMES];
        start_side(&sides[0], false, 1);
        start_side(&sides[1], true, 1);
        for (uint32_t i = 0; i < TIMES; i++) {
                ours[i] = delay_us(&sides[0], (float)(i + 1));
                relay[i] = delay_us(&sides[1], 0);
        }
        stop_side(&sides[0], 1);
        stop_side(&sides[1], 1);
        scn_bench_heading("one edit, unloaded: sent to seen by the other");
        const double median = scn_bench_median("ours, durable when it is seen", ours, TIMES, "us", SCN_BENCH_NO_BUDGET);
        const double relayed = scn_bench_median("the relay", relay, TIMES, "us", SCN_BENCH_NO_BUDGET);
        scn_bench_row(
                "what is left for one commit (bench_history) and 0.1 ms", median - relayed, "us", SCN_BENCH_NO_BUDGET);
}

/* --- Questions --- */

static double world_cpu_ns(struct side *side, uint32_t nodes, uint32_t times, uint64_t *bytes_out)
{
        struct sync_peer *asker = &side->writer;
        struct scn_buffer bytes;
        struct scn_message message;
        scn_buffer_init(&bytes, 1u << 16);
        struct scn_packer packer = scn_packer_to(&bytes);
        scn_pack_array(&packer, nodes);
        for (uint32_t i = 0; i < nodes; i++) {
                scn_pack_uint(&packer, 2 + i * 7 % 9000);
        }
        scn_message_init(&message, SCN_MESSAGE_world);
        message.as.world.nodes = (struct scn_slice){bytes.data, (uint32_t)bytes.size};
        asker->bytes = 0;
        const double before = sync_server_cpu_ns(&side->server);
        for (uint32_t i = 0; i < times; i++) {
                asker->answers = 0;
                message.as.world.request = i;
                sync_peer_send(asker, &message);
                sync_run_until(&asker, 1, false, on_applied, has_answer, asker);
        }
        const double used = sync_server_cpu_ns(&side->server) - before;
        *bytes_out = asker->bytes / times;
        scn_buffer_finish(&bytes);
        return used / times;
}

/* What the relay uses for as many bytes, from one to one. */
static double relay_one_ns(struct side *side, uint64_t bytes, uint32_t times)
{
        uint8_t *block = calloc(1, bytes);
        struct sync_peer *receiver = &side->peers[0];
        receiver->bytes = 0;
        const double before = sync_server_cpu_ns(&side->server);
        for (uint32_t i = 0; i < times && block != NULL; i++) {
                struct wait wait = {receiver, bytes * (uint64_t)(i + 1)};
                sync_peer_send_bytes(&side->writer, block, bytes);
                sync_run_until(&receiver, 1, true, NULL, has_bytes, &wait);
        }
        free(block);
        return (sync_server_cpu_ns(&side->server) - before) / times;
}

static void bench_questions(void)
{
        double one[ROUNDS];
        double many[ROUNDS];
        double relay_one[ROUNDS];
        double relay_many[ROUNDS];
        uint64_t bytes;
        start_side(&sides[0], false, 0);
        start_side(&sides[1], true, 1);
        for (int i = 0; i < ROUNDS; i++) {
                one[i] = world_cpu_ns(&sides[0], 1, 1000, &bytes) / 1e3;
                relay_one[i] = relay_one_ns(&sides[1], bytes, 1000) / 1e3;
                many[i] = world_cpu_ns(&sides[0], 1000, 50, &bytes) / 1e6;
                relay_many[i] = relay_one_ns(&sides[1], bytes, 50) / 1e6;
        }
        stop_side(&sides[0], 0);
        stop_side(&sides[1], 1);
        scn_bench_heading("world over the socket, server CPU, one question at a time");
        (void)scn_bench_median("one node", one, ROUNDS, "us", 30);
        (void)scn_bench_median("  the relay, the same bytes", relay_one, ROUNDS, "us", SCN_BENCH_NO_BUDGET);
        (void)scn_bench_median("1,000 nodes in one", many, ROUNDS, "ms", 0.3);
        (void)scn_bench_median("  the relay, the same bytes", relay_many, ROUNDS, "ms", SCN_BENCH_NO_BUDGET);
}

/* --- Memory, and those that do not read --- */

/* The first ones open the document, and with it a database: that is not what a client costs. */
static void bench_idle(void)
{
        enum {
                FIRST = 50,
                IDLE = 1000
        };
        struct sync_server server = sync_server_start(false, next_port());
        const double before = sync_server_rss_kib(&server);
        double opened = before;
        for (uint32_t i = 0; i < FIRST + IDLE; i++) {
                opened = i == FIRST ? sync_server_rss_kib(&server) : opened;
                sync_peer_open(&peers[i], server.port, 100 + i, false);
        }
        const double after = sync_server_rss_kib(&server);
        scn_bench_heading("memory");
        scn_bench_row("idle daemon", before / 1024, "MiB", 8);
        scn_bench_row("an empty document that 50 have opened", opened - before, "KiB", SCN_BENCH_NO_BUDGET);
        scn_bench_row("a plain idle client, of 1,000 more", (after - opened) / IDLE, "KiB", 4);
        disconnect_peers(&sides[0], FIRST + IDLE);
        sync_server_stop(&server);
}

static void on_paced(struct sync_peer *peer, const struct scn_message *message, void *data)
{
        (void)data;
        if (message->kind == SCN_MESSAGE_applied) {
                note_delay(peer->sent_ns[message->as.applied.number % 1024]);
        }
}

/* 5,000 edits a second; nine observers read, the others do not. */
static double paced_p99_us(struct side *side)
{
        delays_count = 0;
        for (uint32_t i = 0; i < (uint32_t)(seconds * 500); i++) {
                for (uint32_t j = 0; j < 10; j++) {
                        sync_peer_move(&side->writer, 2 + (i * 10 + j) % 9000, 1, (float)side->writer.number);
                }
                sync_run(side->all, 10, 2e6, false, on_paced, NULL);
        }
        return percentile_us(0.99);
}

static void bench_slow_clients(void)
{
        enum {
                SLOW = 200
        };
        struct side *side = &sides[0];
        start_side(side, false, 9);
        const double alone = paced_p99_us(side);
        const double before = sync_server_rss_kib(&side->server);
        for (uint32_t i = 0; i < SLOW; i++) {
                sync_peer_open(&peers[100 + i], side->server.port, 500 + i, true);
        }
        const double beside = paced_p99_us(side);
        const double after = sync_server_rss_kib(&side->server);
        scn_bench_heading("5,000 edits a second, 9 observers, and 200 that read nothing");
        scn_bench_row("answered, 99 %, without them", alone / 1e3, "ms", SCN_BENCH_NO_BUDGET);
        scn_bench_row("answered, 99 %, with them", beside / 1e3, "ms", 2 * alone / 1e3);
        scn_bench_row("memory a client that reads nothing", (after - before) / SLOW, "KiB", SCN_BENCH_NO_BUDGET);
        for (uint32_t i = 0; i < SLOW; i++) {
                sync_peer_close(&peers[100 + i]);
        }
        stop_side(side, 9);
}

int main(int count, char **arguments)
{
        static const char usage[] = "bench_sync [SECONDS [joins|fan-out|saturation|delay|questions|idle|slow ...]]";
        static const struct scn_bench_part parts[] = {
                {"joins", bench_joins},
                {"fan-out", bench_fan_out},
                {"saturation", bench_saturation},
                {"delay", bench_delay},
                {"questions", bench_questions},
                {"idle", bench_idle},
                {"slow", bench_slow_clients},
        };
        seconds = count > 1 ? scn_bench_number(arguments[1], 1, usage) : seconds;
        sync_pin(SYNC_LOAD_CORE);
        sync_take_descriptors();
        scn_bench_run_parts(parts, sizeof parts / sizeof parts[0], arguments + 2, count > 2 ? count - 2 : 0, usage);
        return 0;
}
