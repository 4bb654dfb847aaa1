/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _POSIX_C_SOURCE 200809L

/* The daemon under load, beside the least that a server can do (relay.c): joining, fan-out, saturation, delays, world
 * queries, slow clients. The server has the first core and the load the second, as far as there are two. CPU time is
 * that of all the server's threads, the journal's included; every acknowledged edit is durable. Needs a quiet machine:
 * delays are upper bounds, and what counts is the ratio within one run.
 *
 * usage: bench_sync [SECONDS [PART]] (of each load, 3; joins, fan-out, saturation, delay, questions, idle or slow) */

#include "protocol/base/bytes.h"
#include "protocol/wire/ops.h"
#include "tests/bench/bench.h"
#include "tests/bench/sync_net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NODES 10000u
#define PEERS_MAX 1100u
#define WRITERS 10u
#define IN_FLIGHT 64u
#define RELAY_BYTES 40u

static struct sync_peer peers[PEERS_MAX];
static struct sync_peer *all[PEERS_MAX];
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
        const uint32_t count = *(const uint32_t *)data;
        for (uint32_t i = 0; i < count; i++) {
                if (!peers[i].has_joined) {
                        return false;
                }
        }
        return true;
}

/* Peers 0 .. count - 1 with a view of everything, or just connected. */
static void connect_peers(const struct sync_server *server, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                all[i] = &peers[i];
                if (server->is_relay) {
                        sync_peer_connect(&peers[i], server->port);
                } else {
                        sync_peer_open(&peers[i], server->port, 100 + i, true);
                }
        }
        if (!server->is_relay) {
                sync_run_until(all, count, false, NULL, have_joined, &count);
        }
        for (uint32_t i = 0; i < count; i++) {
                peers[i].bytes = 0;
                peers[i].deltas = 0;
        }
}

static void disconnect_peers(uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                sync_peer_close(&peers[i]);
        }
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
        struct sync_server relay = start(true);
        struct sync_peer sender;
        struct wait wait = {.bytes = bytes * TIMES};
        uint8_t *block = calloc(1, bytes);
        sync_peer_connect(&sender, relay.port);
        connect_peers(&relay, RECEIVERS);
        sync_run(all, RECEIVERS, 50e6, true, NULL, NULL);
        const double before = sync_server_cpu_ns(&relay);
        for (int i = 0; i < TIMES && block != NULL; i++) {
                sync_peer_send_bytes(&sender, block, bytes);
                for (uint32_t peer = 0; peer < RECEIVERS; peer++) {
                        wait = (struct wait){&peers[peer], bytes * (uint64_t)(i + 1)};
                        sync_run_until(all, RECEIVERS, true, NULL, has_bytes, &wait);
                }
        }
        const double used = sync_server_cpu_ns(&relay) - before;
        free(block);
        disconnect_peers(RECEIVERS);
        sync_peer_close(&sender);
        sync_server_stop(&relay);
        return used / RECEIVERS / TIMES;
}

static void bench_joins(void)
{
        struct sync_server server = start(false);
        uint64_t bytes = 0;
        double next = 1e18;
        scn_bench_heading("join, 10,000 nodes");
        const double first = join_one(&server, 50, &bytes);
        for (uint32_t i = 0; i < 20; i++) {
                const double used = join_one(&server, 51 + i, &bytes);
                next = used < next ? used : next;
        }
        for (uint32_t i = 0; i < 21; i++) {
                sync_peer_close(&peers[50 + i]);
        }
        sync_server_stop(&server);
        const double relayed = relay_bytes(bytes);
        scn_bench_row("server CPU, the first", first / 1e6, "ms", 2);
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

static struct fan_out fan_out(bool is_relay, uint32_t count, uint32_t nodes, uint32_t rate)
{
        static const uint8_t block[RELAY_BYTES];
        struct sync_server server = start(is_relay);
        struct sync_peer writer;
        uint64_t deliveries = 0;
        uint64_t bytes = 0;
        if (is_relay) {
                sync_peer_connect(&writer, server.port);
        } else {
                sync_peer_open(&writer, server.port, 7, false);
        }
        connect_peers(&server, count);
        all[count] = &writer;
        const double before = sync_server_cpu_ns(&server);
        const uint32_t times = (uint32_t)(seconds * rate);
        double next_ns = sync_now_ns();
        for (uint32_t i = 0; i < times; i++) {
                if (is_relay) {
                        sync_peer_send_bytes(&writer, block, sizeof block);
                } else {
                        sync_peer_move(&writer, 100, nodes, (float)(i + 1));
                }
                next_ns += 1e9 / rate;
                const double left = next_ns - sync_now_ns();
                sync_run(all, count + 1, left > 0 ? left : 0, is_relay, NULL, NULL);
        }
        sync_run(all, count + 1, 300e6, is_relay, NULL, NULL);
        const double used = sync_server_cpu_ns(&server) - before;
        for (uint32_t i = 0; i < count; i++) {
                deliveries += is_relay ? peers[i].bytes / RELAY_BYTES : peers[i].deltas;
                bytes += peers[i].bytes;
        }
        disconnect_peers(count);
        sync_peer_close(&writer);
        sync_server_stop(&server);
        return (struct fan_out){used / (double)deliveries, (double)bytes / (double)deliveries};
}

static void bench_fan_out(void)
{
        static const uint32_t counts[] = {1, 50, 200, 1000};
        static const double budgets[] = {SCN_BENCH_NO_BUDGET, 150, 120, 120};
        scn_bench_heading("fan-out: one node moved 60 times a second");
        for (int i = 0; i < 4; i++) {
                char text[80];
                const struct fan_out relay = fan_out(true, counts[i], 1, 60);
                const struct fan_out ours = fan_out(false, counts[i], 1, 60);
                (void)snprintf(text, sizeof text, "%u observers: CPU a delivery", counts[i]);
                scn_bench_row(text, ours.cpu_ns / 1e3, "us", SCN_BENCH_NO_BUDGET);
                scn_bench_row("  the relay", relay.cpu_ns / 1e3, "us", SCN_BENCH_NO_BUDGET);
                scn_bench_row("  in percent of it", 100 * ours.cpu_ns / relay.cpu_ns, "%", budgets[i]);
                scn_bench_row("  bytes a delivery, frame and all", ours.bytes, "B", 30);
        }
        const struct fan_out many = fan_out(false, 50, 500, 30);
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

static void bench_saturation(void)
{
        enum {
                OBSERVERS = 50
        };
        struct sync_server server = start(false);
        connect_peers(&server, OBSERVERS);
        for (uint32_t i = 0; i < WRITERS; i++) {
                sync_peer_open(&writers[i], server.port, 10 + i, false);
                all[OBSERVERS + i] = &writers[i];
        }
        delays_count = 0;
        answered = 0;
        const double before = sync_server_cpu_ns(&server);
        const double start_ns = sync_now_ns();
        for (uint32_t i = 0; i < WRITERS; i++) {
                for (uint32_t j = 0; j < IN_FLIGHT; j++) {
                        sync_peer_move(&writers[i], 2 + i * 900 + j, 1, (float)j + 1);
                }
        }
        sync_run(all, OBSERVERS + WRITERS, seconds * 1e9, false, keep_writing, NULL);
        const double used = sync_server_cpu_ns(&server) - before;
        const double took = sync_now_ns() - start_ns;
        scn_bench_heading("saturation: 10 writers with 64 edits in flight each, 50 observers");
        scn_bench_row("durable edits a second", (double)answered / took * 1e9, "1/s", SCN_BENCH_NO_BUDGET);
        scn_bench_row("  the fastest peer (Colyseus, nothing kept)", 147129, "1/s", SCN_BENCH_NO_BUDGET);
        scn_bench_row("  the fastest that stores (y-websocket, no fsync)", 4713, "1/s", SCN_BENCH_NO_BUDGET);
        scn_bench_row("CPU an edit, all threads", used / (double)answered / 1e3, "us", 4);
        scn_bench_row("answered, median", percentile_us(0.5) / 1e3, "ms", SCN_BENCH_NO_BUDGET);
        scn_bench_row("answered, 99 %", percentile_us(0.99) / 1e3, "ms", 20);
        disconnect_peers(OBSERVERS);
        for (uint32_t i = 0; i < WRITERS; i++) {
                sync_peer_close(&writers[i]);
        }
        sync_server_stop(&server);
}

/* --- Delays --- */

static bool has_delta(void *data)
{
        return ((struct sync_peer *)data)->deltas > 0;
}

/* From sending to seen by the one observer; and, ours, to the acknowledgement. */
static double delay_us(bool is_relay)
{
        static const uint8_t block[RELAY_BYTES];
        struct sync_server server = start(is_relay);
        struct sync_peer writer;
        if (is_relay) {
                sync_peer_connect(&writer, server.port);
        } else {
                sync_peer_open(&writer, server.port, 7, false);
        }
        connect_peers(&server, 1);
        all[1] = &writer;
        delays_count = 0;
        for (uint32_t i = 0; i < 300; i++) {
                struct wait wait = {&peers[0], peers[0].bytes + RELAY_BYTES};
                peers[0].deltas = 0;
                const double sent_ns = sync_now_ns();
                if (is_relay) {
                        sync_peer_send_bytes(&writer, block, sizeof block);
                        sync_run_until(all, 2, true, NULL, has_bytes, &wait);
                } else {
                        sync_peer_move(&writer, 100, 1, (float)(i + 1));
                        sync_run_until(all, 2, false, NULL, has_delta, &peers[0]);
                }
                note_delay(sent_ns);
                sync_run(all, 2, 2e6, is_relay, NULL, NULL);
        }
        disconnect_peers(1);
        sync_peer_close(&writer);
        sync_server_stop(&server);
        return percentile_us(0.5);
}

static void bench_delay(void)
{
        const double relay = delay_us(true);
        const double ours = delay_us(false);
        scn_bench_heading("one edit, unloaded: sent to seen by the other, median");
        scn_bench_row("ours, durable when it is seen", ours, "us", SCN_BENCH_NO_BUDGET);
        scn_bench_row("the relay", relay, "us", SCN_BENCH_NO_BUDGET);
        scn_bench_row(
                "what is left for one commit (bench_history) and 0.1 ms", ours - relay, "us", SCN_BENCH_NO_BUDGET);
}

/* --- Questions --- */

static double world_cpu_ns(const struct sync_server *server, uint32_t nodes, uint32_t times)
{
        struct sync_peer asker;
        struct sync_peer *only = &asker;
        struct scn_buffer bytes;
        struct scn_message message;
        sync_peer_open(&asker, server->port, 70, false);
        scn_buffer_init(&bytes, 1u << 16);
        struct scn_packer packer = scn_packer_to(&bytes);
        scn_pack_array(&packer, nodes);
        for (uint32_t i = 0; i < nodes; i++) {
                scn_pack_uint(&packer, 2 + i * 7 % 9000);
        }
        scn_message_init(&message, SCN_MESSAGE_world);
        message.as.world.nodes = (struct scn_slice){bytes.data, (uint32_t)bytes.size};
        const double before = sync_server_cpu_ns(server);
        for (uint32_t i = 0; i < times; i++) {
                asker.answers = 0;
                message.as.world.request = i;
                sync_peer_send(&asker, &message);
                sync_run_until(&only, 1, false, on_applied, has_answer, &asker);
        }
        const double used = sync_server_cpu_ns(server) - before;
        scn_buffer_finish(&bytes);
        sync_peer_close(&asker);
        return used / times;
}

static void bench_questions(void)
{
        struct sync_server server = start(false);
        scn_bench_heading("world over the socket, server CPU, one question at a time");
        scn_bench_row("one node", world_cpu_ns(&server, 1, 3000) / 1e3, "us", 30);
        scn_bench_row("1,000 nodes in one", world_cpu_ns(&server, 1000, 200) / 1e6, "ms", 0.3);
        sync_server_stop(&server);
}

/* --- Memory, and those that do not read --- */

static void bench_idle(void)
{
        enum {
                IDLE = 500
        };
        struct sync_server server = sync_server_start(false, next_port());
        const double before = sync_server_rss_kib(&server);
        for (uint32_t i = 0; i < IDLE; i++) {
                sync_peer_open(&peers[i], server.port, 100 + i, false);
        }
        const double after = sync_server_rss_kib(&server);
        scn_bench_heading("memory");
        scn_bench_row("idle daemon", before / 1024, "MiB", 8);
        scn_bench_row("a plain idle client", (after - before) / IDLE, "KiB", 4);
        disconnect_peers(IDLE);
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
static double paced_p99_us(const struct sync_server *server, struct sync_peer *writer)
{
        all[9] = writer;
        delays_count = 0;
        for (uint32_t i = 0; i < (uint32_t)(seconds * 500); i++) {
                for (uint32_t j = 0; j < 10; j++) {
                        sync_peer_move(writer, 2 + (i * 10 + j) % 9000, 1, (float)writer->number);
                }
                sync_run(all, 10, 2e6, false, on_paced, NULL);
        }
        (void)server;
        return percentile_us(0.99);
}

static void bench_slow_clients(void)
{
        enum {
                SLOW = 200
        };
        struct sync_server server = start(false);
        struct sync_peer writer;
        connect_peers(&server, 9);
        sync_peer_open(&writer, server.port, 7, false);
        const double alone = paced_p99_us(&server, &writer);
        const double before = sync_server_rss_kib(&server);
        for (uint32_t i = 0; i < SLOW; i++) {
                sync_peer_open(&peers[100 + i], server.port, 500 + i, true);
        }
        const double beside = paced_p99_us(&server, &writer);
        const double after = sync_server_rss_kib(&server);
        scn_bench_heading("5,000 edits a second, 9 observers, and 200 that read nothing");
        scn_bench_row("answered, 99 %, without them", alone / 1e3, "ms", SCN_BENCH_NO_BUDGET);
        scn_bench_row("answered, 99 %, with them", beside / 1e3, "ms", 2 * alone / 1e3);
        scn_bench_row("memory a client that reads nothing", (after - before) / SLOW, "KiB", SCN_BENCH_NO_BUDGET);
        for (uint32_t i = 0; i < SLOW; i++) {
                sync_peer_close(&peers[100 + i]);
        }
        disconnect_peers(9);
        sync_peer_close(&writer);
        sync_server_stop(&server);
}

int main(int count, char **arguments)
{
        static const struct {
                const char *name;
                void (*run)(void);
        } parts[] = {
                {"joins", bench_joins},
                {"fan-out", bench_fan_out},
                {"saturation", bench_saturation},
                {"delay", bench_delay},
                {"questions", bench_questions},
                {"idle", bench_idle},
                {"slow", bench_slow_clients},
        };
        seconds = count > 1 ? strtod(arguments[1], NULL) : seconds;
        sync_pin(1);
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
                if (count < 3 || strcmp(arguments[2], parts[i].name) == 0) {
                        parts[i].run();
                }
        }
        return 0;
}
