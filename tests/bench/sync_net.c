/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "tests/bench/sync_net.h"

#include "protocol/base/bytes.h"
#include "protocol/base/uid.h"
#include "protocol/wire/ops.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void need(bool is_good, const char *what)
{
        if (!is_good) {
                fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
                exit(1);
        }
}

double sync_now_ns(void)
{
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

void sync_pin(int core)
{
        cpu_set_t cores;
        CPU_ZERO(&cores);
        CPU_SET((size_t)core, &cores);
        (void)sched_setaffinity(0, sizeof cores, &cores);
}

void sync_unpin(void)
{
        cpu_set_t cores;
        (void)memset(&cores, 0xff, sizeof cores);
        (void)sched_setaffinity(0, sizeof cores, &cores);
}

void sync_take_descriptors(void)
{
        struct rlimit limit;
        need(getrlimit(RLIMIT_NOFILE, &limit) == 0, "getrlimit");
        limit.rlim_cur = limit.rlim_max;
        need(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
}

/* --- Servers --- */

static void path_of(const char *program, char path[512])
{
        const ssize_t size = readlink("/proc/self/exe", path, 400);
        need(size > 0, "/proc/self/exe");
        path[size] = '\0';
        char *name = strrchr(path, '/') + 1;
        memcpy(name, program, strlen(program) + 1);
}

static void run_server(const struct sync_server *server)
{
        char path[512];
        char port[16];
        char listen[32];
        (void)snprintf(port, sizeof port, "%u", server->port);
        (void)snprintf(listen, sizeof listen, "127.0.0.1:%u", server->port);
        path_of(server->is_relay ? "bench_relay" : "scened", path);
        sync_pin(SYNC_SERVER_CORE);
        (void)freopen("/dev/null", "w", stdout);
        (void)freopen("/dev/null", "w", stderr);
        if (server->is_relay) {
                (void)execl(path, path, port, (char *)NULL);
        } else {
                (void)execl(path, path, "--data", server->folder, "--listen", listen, (char *)NULL);
        }
        _exit(127);
}

static bool can_connect(uint16_t port)
{
        const struct sockaddr_in address = {
                .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const bool is_good = connect(descriptor, (const struct sockaddr *)&address, sizeof address) == 0;
        (void)close(descriptor);
        return is_good;
}

struct sync_server sync_server_start(bool is_relay, uint16_t port)
{
        struct sync_server server = {.port = port, .is_relay = is_relay};
        const char *where = getenv("TMPDIR");
        (void)snprintf(server.folder, sizeof server.folder, "%s/scened-bench-XXXXXX", where == NULL ? "/tmp" : where);
        need(mkdtemp(server.folder) != NULL, server.folder);
        need(!can_connect(port), "somebody else listens on the port");
        (void)fflush(stdout);
        server.pid = fork();
        need(server.pid >= 0, "fork");
        if (server.pid == 0) {
                run_server(&server);
        }
        for (int i = 0; i < 500 && !can_connect(port); i++) {
                (void)usleep(10000);
        }
        need(can_connect(port), "the server does not come up");
        return server;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
        (void)status;
        (void)type;
        (void)walk;
        return remove(path);
}

void sync_server_stop(struct sync_server *server)
{
        int status;
        (void)kill(server->pid, SIGTERM);
        (void)waitpid(server->pid, &status, 0);
        (void)nftw(server->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

double sync_server_cpu_ns(const struct sync_server *server)
{
        clockid_t clock;
        struct timespec used;
        need(clock_getcpuclockid(server->pid, &clock) == 0 && clock_gettime(clock, &used) == 0, "CPU clock");
        return (double)used.tv_sec * 1e9 + (double)used.tv_nsec;
}

double sync_server_rss_kib(const struct sync_server *server)
{
        char path[64];
        char line[256];
        double kib = 0;
        (void)snprintf(path, sizeof path, "/proc/%d/status", (int)server->pid);
        FILE *file = fopen(path, "re");
        while (file != NULL && fgets(line, sizeof line, file) != NULL) {
                if (strncmp(line, "VmRSS:", 6) == 0) {
                        kib = strtod(line + 6, NULL);
                }
        }
        if (file != NULL) {
                (void)fclose(file);
        }
        return kib;
}

/* --- Connections --- */

void sync_peer_connect(struct sync_peer *peer, uint16_t port)
{
        const struct sockaddr_in address = {
                .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        const int on = 1;
        memset(peer, 0, sizeof *peer);
        peer->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        need(peer->descriptor >= 0 && connect(peer->descriptor, (const struct sockaddr *)&address, sizeof address) == 0,
                "connect");
        (void)setsockopt(peer->descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        scn_buffer_init(&peer->gathered, 1u << 20);
        scn_frame_reader_init(&peer->reader);
        peer->reader.message_bytes_max = SCN_MESSAGE_BYTES_MAX;
}

/* The peers looked at last: to watch a thousand anew for each edit would cost more than all the rest. */
static struct {
        int set; /* -1: none */
        size_t count;
        struct sync_peer *peers[SYNC_PEERS_MAX];
} watched = {.set = -1};

static void forget_watched(void)
{
        if (watched.set >= 0) {
                (void)close(watched.set);
                watched.set = -1;
        }
}

void sync_peer_close(struct sync_peer *peer)
{
        forget_watched();
        scn_buffer_finish(&peer->gathered);
        (void)close(peer->descriptor);
        scn_frame_reader_finish(&peer->reader);
}

void sync_peer_send_bytes(struct sync_peer *peer, const void *bytes, size_t size)
{
        const uint8_t *at = bytes;
        while (size > 0) {
                const ssize_t sent = send(peer->descriptor, at, size, MSG_NOSIGNAL);
                need(sent > 0 || errno == EAGAIN, "send");
                if (sent > 0) {
                        at += sent;
                        size -= (size_t)sent;
                }
        }
}

void sync_peer_send(struct sync_peer *peer, const struct scn_message *message)
{
        struct scn_buffer payload;
        struct scn_buffer frame;
        scn_buffer_init(&payload, SCN_MESSAGE_BYTES_MAX);
        scn_buffer_init(&frame, SCN_MESSAGE_BYTES_MAX + 8);
        need(scn_message_encode(message, &payload) == SCN_OK && scn_frame_append_head(&frame, payload.size) == SCN_OK &&
                        scn_buffer_append(&frame, payload.data, payload.size) == SCN_OK,
                "encode");
        if (peer->is_gathering) {
                need(scn_buffer_append(&peer->gathered, frame.data, frame.size) == SCN_OK, "memory");
        } else {
                sync_peer_send_bytes(peer, frame.data, frame.size);
        }
        scn_buffer_finish(&payload);
        scn_buffer_finish(&frame);
}

void sync_peer_flush(struct sync_peer *peer)
{
        sync_peer_send_bytes(peer, peer->gathered.data, peer->gathered.size);
        scn_buffer_reset(&peer->gathered);
}

void sync_peer_view(struct sync_peer *peer)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_view);
        message.as.view.request = 2;
        message.as.view.view = 1;
        message.as.view.root = (struct scn_node_ref){.kind = SCN_REF_PATH, .path = {(const uint8_t *)"/", 1}};
        message.as.view.mask = SCN_MASK_DURABLE;
        sync_peer_send(peer, &message);
}

static bool is_open(void *data)
{
        return ((struct sync_peer *)data)->answers > 0;
}

static void on_greeting(struct sync_peer *peer, const struct scn_message *message, void *data)
{
        (void)data;
        peer->answers += message->kind == SCN_MESSAGE_opened;
}

void sync_peer_open(struct sync_peer *peer, uint16_t port, uint32_t client, bool has_view)
{
        struct scn_message message;
        sync_peer_connect(peer, port);
        sync_peer_send_bytes(peer, scn_preface, SCN_PREFACE_BYTES);
        scn_message_init(&message, SCN_MESSAGE_hello);
        message.as.hello.version = SCN_PROTOCOL_VERSION;
        for (uint32_t i = 0; i < 16; i++) {
                message.as.hello.client.bytes[i] = (uint8_t)(i < 4 ? client >> 8 * i : 0x55);
        }
        message.as.hello.name = (struct scn_slice){(const uint8_t *)"bench", 5};
        sync_peer_send(peer, &message);
        scn_message_init(&message, SCN_MESSAGE_open);
        message.as.open.request = 1;
        message.as.open.document = (struct scn_slice){(const uint8_t *)"bench", 5};
        message.as.open.create = true;
        sync_peer_send(peer, &message);
        sync_run_until(&peer, 1, false, on_greeting, is_open, peer);
        peer->answers = 0;
        if (has_view) {
                sync_peer_view(peer);
        }
}

void sync_peer_edit(struct sync_peer *peer, const struct scn_op *ops, uint32_t count)
{
        struct scn_message message;
        struct scn_buffer bytes;
        scn_buffer_init(&bytes, SCN_MESSAGE_BYTES_MAX);
        struct scn_packer packer = scn_packer_to(&bytes);
        scn_ops_encode(&packer, ops, count);
        scn_message_init(&message, SCN_MESSAGE_edit);
        message.as.edit.number = ++peer->number;
        message.as.edit.ops = (struct scn_slice){bytes.data, (uint32_t)bytes.size};
        peer->sent_ns[peer->number % 1024] = sync_now_ns();
        sync_peer_send(peer, &message);
        scn_buffer_finish(&bytes);
}

void sync_peer_move(struct sync_peer *peer, scn_node_id first, uint32_t count, float x)
{
        static struct scn_op ops[1024];
        for (uint32_t i = 0; i < count; i++) {
                ops[i] = (struct scn_op){.kind = SCN_OP_TRANSFORM,
                        .node = {.kind = SCN_REF_ID, .id = first + i},
                        .fields = SCN_FIELDS_TRANSLATION,
                        .trs = {.t = {x, (float)i + 0.25f, -x}}};
        }
        sync_peer_edit(peer, ops, count);
}

/* --- Reading --- */

static void take_bytes(
        struct sync_peer *peer, const uint8_t *bytes, size_t size, sync_message_fn on_message, void *data)
{
        struct scn_slice payload;
        enum scn_error error;
        need(scn_frame_reader_feed(&peer->reader, bytes, size) == SCN_OK, "frames");
        while (scn_frame_reader_next(&peer->reader, &payload, &error)) {
                struct scn_message message;
                struct scn_message_fault fault;
                need(scn_message_decode(payload, SCN_RECEIVER_CLIENT, &message, &fault) == SCN_OK, "message");
                if (message.kind == SCN_MESSAGE_failed) {
                        fprintf(stderr, "%s: %.*s\n", program_invocation_short_name, (int)message.as.failed.text.size,
                                (const char *)message.as.failed.text.data);
                        exit(1);
                }
                if (message.kind == SCN_MESSAGE_delta) {
                        peer->deltas += !message.as.delta.more;
                        peer->has_joined = peer->has_joined || !message.as.delta.more;
                }
                if (on_message != NULL) {
                        on_message(peer, &message, data);
                }
        }
        need(error == SCN_OK, "frames");
}

static void read_peer(struct sync_peer *peer, bool is_raw, sync_message_fn on_message, void *data)
{
        static uint8_t bytes[1 << 18];
        const ssize_t size = recv(peer->descriptor, bytes, sizeof bytes, MSG_DONTWAIT);
        need(size > 0 || (size < 0 && errno == EAGAIN), "the server has closed");
        if (size > 0) {
                peer->bytes += (uint64_t)size;
                if (!is_raw) {
                        take_bytes(peer, bytes, (size_t)size, on_message, data);
                }
                if (peer->gathered.size > 0) {
                        sync_peer_flush(peer);
                }
        }
}

static int watch(struct sync_peer **peers, size_t count)
{
        need(count <= SYNC_PEERS_MAX, "too many peers");
        if (watched.set >= 0 && watched.count == count &&
                memcmp(watched.peers, peers, count * sizeof(struct sync_peer *)) == 0) {
                return watched.set;
        }
        forget_watched();
        const int set = epoll_create1(EPOLL_CLOEXEC);
        need(set >= 0, "epoll");
        for (size_t i = 0; i < count; i++) {
                struct epoll_event event = {.events = EPOLLIN, .data.ptr = peers[i]};
                need(epoll_ctl(set, EPOLL_CTL_ADD, peers[i]->descriptor, &event) == 0, "epoll");
        }
        watched.set = set;
        watched.count = count;
        memcpy(watched.peers, peers, count * sizeof(struct sync_peer *));
        return set;
}

static void wait_once(int set, bool is_raw, sync_message_fn on_message, void *data, int timeout_ms)
{
        struct epoll_event events[256];
        const int count = epoll_wait(set, events, 256, timeout_ms);
        for (int i = 0; i < count; i++) {
                read_peer(events[i].data.ptr, is_raw, on_message, data);
        }
}

void sync_run(
        struct sync_peer **peers, size_t count, double for_ns, bool is_raw, sync_message_fn on_message, void *data)
{
        const int set = watch(peers, count);
        const double until = sync_now_ns() + for_ns;
        for (double now = sync_now_ns(); now < until; now = sync_now_ns()) {
                wait_once(set, is_raw, on_message, data, (int)((until - now) / 1e6));
        }
}

void sync_run_until(struct sync_peer **peers, size_t count, bool is_raw, sync_message_fn on_message,
        bool (*is_done)(void *data), void *data)
{
        const int set = watch(peers, count);
        const double until = sync_now_ns() + 60e9;
        while (!is_done(data)) {
                need(sync_now_ns() < until, "nothing comes for a minute");
                wait_once(set, is_raw, on_message, data, 100);
        }
}
