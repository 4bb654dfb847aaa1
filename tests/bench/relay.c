/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE

/* The least a server can do, to measure ours against: whatever one connection sends goes to all others, merged into
 * one write for each of them and loop turn. No document, no order, no journal.
 *
 * usage: bench_relay PORT (on 127.0.0.1; prints "ready"; ends with SIGTERM) */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

struct peer {
        uv_tcp_t tcp;
        struct peer *next;
        uv_write_t write;
        char *sending; /* NULL: nothing under way */
        char *waiting;
        size_t waiting_size, waiting_capacity;
};

static struct peer *peers;
static uv_loop_t loop;
static char input[1 << 16];

static void flush(struct peer *peer);

static void append(struct peer *peer, const char *bytes, size_t size)
{
        if (peer->waiting_size + size > peer->waiting_capacity) {
                peer->waiting_capacity = 2 * (peer->waiting_size + size);
                peer->waiting = realloc(peer->waiting, peer->waiting_capacity);
                if (peer->waiting == NULL) {
                        abort();
                }
        }
        memcpy(peer->waiting + peer->waiting_size, bytes, size);
        peer->waiting_size += size;
}

static void on_written(uv_write_t *write, int status)
{
        struct peer *peer = write->data;
        (void)status;
        free(peer->sending);
        peer->sending = NULL;
        flush(peer);
}

static void flush(struct peer *peer)
{
        if (peer->waiting_size == 0 || peer->sending != NULL || uv_is_closing((uv_handle_t *)&peer->tcp)) {
                return;
        }
        uv_buf_t buffer = uv_buf_init(peer->waiting, (unsigned)peer->waiting_size);
        const int sent = uv_try_write((uv_stream_t *)&peer->tcp, &buffer, 1);
        if (sent == (int)peer->waiting_size) {
                peer->waiting_size = 0;
                return;
        }
        const size_t done = sent > 0 ? (size_t)sent : 0;
        peer->sending = peer->waiting;
        buffer = uv_buf_init(peer->sending + done, (unsigned)(peer->waiting_size - done));
        peer->waiting = NULL;
        peer->waiting_size = 0;
        peer->waiting_capacity = 0;
        peer->write.data = peer;
        (void)uv_write(&peer->write, (uv_stream_t *)&peer->tcp, &buffer, 1, on_written);
}

static void on_closed(uv_handle_t *handle)
{
        struct peer *peer = handle->data;
        struct peer **at = &peers;
        while (*at != peer) {
                at = &(*at)->next;
        }
        *at = peer->next;
        free(peer->waiting);
        free(peer);
}

static void on_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer)
{
        (void)handle;
        (void)wanted;
        *buffer = uv_buf_init(input, sizeof input);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
        struct peer *from = stream->data;
        if (count < 0) {
                uv_close((uv_handle_t *)stream, on_closed);
                return;
        }
        for (struct peer *peer = peers; peer != NULL; peer = peer->next) {
                if (peer != from) {
                        append(peer, buffer->base, (size_t)count);
                }
        }
}

static void on_connection(uv_stream_t *listener, int status)
{
        struct peer *peer = calloc(1, sizeof *peer);
        if (status < 0 || peer == NULL) {
                abort();
        }
        (void)uv_tcp_init(&loop, &peer->tcp);
        peer->tcp.data = peer;
        peer->next = peers;
        peers = peer;
        if (uv_accept(listener, (uv_stream_t *)&peer->tcp) != 0) {
                abort();
        }
        (void)uv_tcp_nodelay(&peer->tcp, 1);
        (void)uv_read_start((uv_stream_t *)&peer->tcp, on_alloc, on_read);
}

static void on_check(uv_check_t *check)
{
        (void)check;
        for (struct peer *peer = peers; peer != NULL; peer = peer->next) {
                flush(peer);
        }
}

int main(int count, char **arguments)
{
        uv_tcp_t listener;
        uv_check_t check;
        struct sockaddr_in address;
        if (count != 2 || uv_loop_init(&loop) != 0 ||
                uv_ip4_addr("127.0.0.1", (int)strtol(arguments[1], NULL, 10), &address) != 0) {
                return 2;
        }
        (void)uv_tcp_init(&loop, &listener);
        (void)uv_check_init(&loop, &check);
        (void)uv_check_start(&check, on_check);
        if (uv_tcp_bind(&listener, (const struct sockaddr *)&address, 0) != 0 ||
                uv_listen((uv_stream_t *)&listener, 1024, on_connection) != 0) {
                return 1;
        }
        printf("ready\n");
        fflush(stdout);
        return uv_run(&loop, UV_RUN_DEFAULT);
}
