/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* All system calls of the client library: names, sockets, time, randomness. */

#define _DEFAULT_SOURCE 1

#include "client/socket.h"

#include "client/client.h"
#include "client/failure.h"
#include "protocol/base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define ADDRESS_DEFAULT "127.0.0.1:7420"
#define PROBLEM_BYTES 256u
#define READ_BYTES (64u << 10)
/* A dispatch ends after so many bytes, so that a program's loop gets its turn. */
#define READ_TURN_BYTES (4u << 20)
/* A connection that is not there after this long is tried elsewhere, or later. */
#define CONNECT_MS 10000u

struct scn_socket {
        struct scn_client *client;
        int fd; /* -1: none */
        bool is_connecting;
        uint64_t connecting_since_ms;
        bool is_unix;
        char host[NI_MAXHOST]; /* or the path */
        char service[NI_MAXSERV];
        struct addrinfo *found; /* while connecting: what the name stands for */
        struct addrinfo *next;  /* to be tried next */
        uint32_t failures;
        char problem[PROBLEM_BYTES];
        uint8_t bytes[READ_BYTES];
};

/* --- Time and randomness --- */

static uint64_t now_ms(void)
{
        struct timespec now;
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void scn_system_random(void *data, uint8_t *bytes, size_t size)
{
        (void)data;
        while (size > 0) {
                const ssize_t count = getrandom(bytes, size, 0);
                SCN_ASSERT(count > 0 || errno == EINTR);
                if (count > 0) {
                        bytes += count;
                        size -= (size_t)count;
                }
        }
}

/* --- Addresses --- */

static bool copy_part(char *to, size_t room, const char *from, size_t size)
{
        if (size == 0 || size >= room) {
                return false;
        }
        memcpy(to, from, size);
        to[size] = '\0';
        return true;
}

/* A number of one to five digits; a resolver would take any modulo 65536. */
static bool is_port(const char *text)
{
        const size_t size = strlen(text);
        return size > 0 && size <= 5 && strspn(text, "0123456789") == size && strtoul(text, NULL, 10) <= 65535;
}

static bool parse_address(struct scn_socket *socket, const char *address)
{
        if (strncmp(address, "unix:", 5) == 0) {
                socket->is_unix = true;
                return copy_part(
                        socket->host, sizeof((struct sockaddr_un *)NULL)->sun_path, address + 5, strlen(address + 5));
        }
        const char *colon = strrchr(address, ':');
        if (colon == NULL || !is_port(colon + 1) ||
                !copy_part(socket->service, sizeof socket->service, colon + 1, strlen(colon + 1))) {
                return false;
        }
        const char *host = address;
        size_t size = (size_t)(colon - address);
        if (size >= 2 && host[0] == '[' && host[size - 1] == ']') {
                host++;
                size -= 2;
        } else if (memchr(host, ':', size) != NULL) {
                return false;
        }
        return copy_part(socket->host, sizeof socket->host, host, size);
}

/* --- Connecting --- */

static void note_problem(struct scn_socket *socket, const char *what)
{
        const bool is_ip6 = !socket->is_unix && strchr(socket->host, ':') != NULL;
        (void)snprintf(socket->problem, sizeof socket->problem, "%s%.128s%s%s%.32s: %.80s", is_ip6 ? "[" : "",
                socket->host, is_ip6 ? "]" : "", socket->is_unix ? "" : ":", socket->service, what);
}

static void forget_names(struct scn_socket *socket)
{
        if (socket->found != NULL) {
                freeaddrinfo(socket->found);
        }
        socket->found = socket->next = NULL;
}

static void close_fd(struct scn_socket *socket)
{
        if (socket->fd >= 0) {
                (void)close(socket->fd);
        }
        socket->fd = -1;
        socket->is_connecting = false;
}

/* It did not come to a connection; the client waits before the next attempt. */
static void give_up(struct scn_socket *socket)
{
        close_fd(socket);
        forget_names(socket);
        socket->failures++;
        const struct scn_failure failure = scn_failure_of("disconnected", socket->problem);
        scn_client_break(socket->client, &failure);
        scn_client_disconnect(socket->client, now_ms());
}

static void begin_client(struct scn_socket *socket)
{
        forget_names(socket);
        socket->is_connecting = false;
        const enum scn_error error = scn_client_connect(socket->client, now_ms());
        if (error != SCN_OK) {
                note_problem(socket, scn_error_text(error));
                give_up(socket);
                return;
        }
        socket->failures = 0;
        socket->problem[0] = '\0';
}

/* Small messages must not wait for each other; nor may the fd go to programs that this one starts. */
static int open_socket(int family)
{
        const int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd >= 0 && family != AF_UNIX) {
                const int yes = 1;
                (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        }
        return fd;
}

static void connect_to(struct scn_socket *socket, int family, const struct sockaddr *address, socklen_t size)
{
        socket->fd = open_socket(family);
        if (socket->fd < 0) {
                note_problem(socket, strerror(errno));
                return;
        }
        if (connect(socket->fd, address, size) == 0) {
                begin_client(socket);
        } else if (errno == EINPROGRESS) {
                socket->is_connecting = true;
                socket->connecting_since_ms = now_ms();
        } else {
                note_problem(socket, strerror(errno));
                close_fd(socket);
        }
}

static void connect_next(struct scn_socket *socket)
{
        close_fd(socket);
        while (socket->fd < 0 && socket->next != NULL) {
                const struct addrinfo *address = socket->next;
                socket->next = address->ai_next;
                connect_to(socket, address->ai_family, address->ai_addr, address->ai_addrlen);
        }
        if (socket->fd < 0 && scn_client_state(socket->client) == SCN_CLIENT_OFFLINE) {
                give_up(socket);
        }
}

static void connect_unix(struct scn_socket *socket)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        memcpy(address.sun_path, socket->host, strlen(socket->host));
        connect_to(socket, AF_UNIX, (const struct sockaddr *)&address, sizeof address);
        if (socket->fd < 0) {
                give_up(socket);
        }
}

static void connect_tcp(struct scn_socket *socket)
{
        const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
        /* RFC 6761, 6.3: this name means the machine itself, also where nothing resolves names. */
        const char *host = strcmp(socket->host, "localhost") == 0 ? "127.0.0.1" : socket->host;
        const int code = getaddrinfo(host, socket->service, &hints, &socket->found);
        if (code != 0) {
                socket->found = NULL;
                note_problem(socket, gai_strerror(code));
                give_up(socket);
                return;
        }
        socket->next = socket->found;
        connect_next(socket);
}

/* The connection under way is there, or is not. */
static void finish_connecting(struct scn_socket *socket)
{
        struct pollfd poll_fd = {.fd = socket->fd, .events = POLLOUT};
        if (poll(&poll_fd, 1, 0) <= 0) {
                if (now_ms() - socket->connecting_since_ms > CONNECT_MS) {
                        note_problem(socket, "no answer");
                        connect_next(socket);
                }
                return;
        }
        int code = 0;
        socklen_t size = sizeof code;
        if (getsockopt(socket->fd, SOL_SOCKET, SO_ERROR, &code, &size) != 0) {
                code = errno;
        }
        if (code == 0) {
                begin_client(socket);
                return;
        }
        note_problem(socket, strerror(code));
        if (socket->is_unix) {
                give_up(socket);
        } else {
                connect_next(socket);
        }
}

/* --- Reading and writing --- */

static void disconnect(struct scn_socket *socket)
{
        close_fd(socket);
        scn_client_disconnect(socket->client, now_ms());
}

static void lose(struct scn_socket *socket, const char *why)
{
        const struct scn_failure failure = scn_failure_of("disconnected", why);
        note_problem(socket, why);
        scn_client_break(socket->client, &failure);
        disconnect(socket);
}

static void dispatch_client(struct scn_socket *socket)
{
        const bool was_connected = socket->fd >= 0 && !socket->is_connecting;
        if (scn_client_dispatch(socket->client, now_ms()) != SCN_OK && was_connected) {
                disconnect(socket);
        }
}

/* What came before the end is read before the end is told. */
static void read_all(struct scn_socket *socket)
{
        size_t taken = 0;
        while (socket->fd >= 0 && taken < READ_TURN_BYTES) {
                const ssize_t count = recv(socket->fd, socket->bytes, sizeof socket->bytes, 0);
                if (count < 0 && errno == EINTR) {
                        continue;
                }
                if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
                        return;
                }
                if (count <= 0) {
                        lose(socket, count == 0 ? "the server closed the connection" : strerror(errno));
                        return;
                }
                taken += (size_t)count;
                if (scn_client_feed(socket->client, socket->bytes, (size_t)count, now_ms()) != SCN_OK) {
                        disconnect(socket);
                        return;
                }
                dispatch_client(socket);
        }
}

void scn_socket_flush(struct scn_socket *socket)
{
        while (socket->fd >= 0 && !socket->is_connecting) {
                const struct scn_slice output = scn_client_output(socket->client);
                if (output.size == 0) {
                        return;
                }
                const ssize_t count = send(socket->fd, output.data, output.size, MSG_NOSIGNAL);
                if (count >= 0) {
                        scn_client_sent(socket->client, (size_t)count);
                } else if (errno != EINTR) {
                        /* An error shows again when reading, behind what the server still had to say. */
                        return;
                }
        }
}

/* --- The loop's side --- */

enum scn_error scn_socket_create(struct scn_client *client, const char *address, struct scn_socket **socket_out)
{
        struct scn_socket *socket = scn_alloc_zero(1, sizeof *socket);
        SCN_ASSERT(!client->has_socket);
        if (socket == NULL) {
                return SCN_E_NO_MEMORY;
        }
        socket->client = client;
        socket->fd = -1;
        if (!parse_address(socket, address == NULL ? ADDRESS_DEFAULT : address)) {
                scn_free(socket);
                return SCN_E_RANGE;
        }
        client->has_socket = true;
        *socket_out = socket;
        return SCN_OK;
}

void scn_socket_destroy(struct scn_socket *socket)
{
        if (socket == NULL) {
                return;
        }
        SCN_ASSERT(!socket->client->is_dispatching);
        if (socket->fd >= 0) {
                const bool was_connected = !socket->is_connecting;
                close_fd(socket);
                if (was_connected) {
                        scn_client_disconnect(socket->client, now_ms());
                }
        }
        forget_names(socket);
        socket->client->has_socket = false;
        scn_free(socket);
}

int scn_socket_fd(const struct scn_socket *socket)
{
        return socket->fd;
}

uint32_t scn_socket_events(struct scn_socket *socket)
{
        if (socket->fd < 0) {
                return 0;
        }
        if (socket->is_connecting) {
                return SCN_SOCKET_WRITABLE;
        }
        return SCN_SOCKET_READABLE | (scn_client_output(socket->client).size > 0 ? SCN_SOCKET_WRITABLE : 0);
}

int scn_socket_timeout_ms(const struct scn_socket *socket)
{
        const uint64_t now = now_ms();
        uint64_t at = scn_client_wake_at_ms(socket->client);
        if (socket->is_connecting) {
                const uint64_t end = socket->connecting_since_ms + CONNECT_MS;
                at = end < at ? end : at;
        } else if (socket->fd < 0) {
                const uint64_t connect_at = scn_client_connect_at_ms(socket->client);
                at = connect_at < at ? connect_at : at;
        }
        if (at == UINT64_MAX) {
                return -1;
        }
        const uint64_t left = at > now ? at - now : 0;
        return left > 3600000 ? 3600000 : (int)left;
}

void scn_socket_dispatch(struct scn_socket *socket)
{
        if (socket->is_connecting) {
                finish_connecting(socket);
        } else if (socket->fd < 0 && scn_client_connect_at_ms(socket->client) <= now_ms()) {
                if (socket->is_unix) {
                        connect_unix(socket);
                } else {
                        connect_tcp(socket);
                }
        }
        scn_socket_flush(socket);
        if (!socket->is_connecting) {
                read_all(socket);
        }
        dispatch_client(socket);
        scn_socket_flush(socket);
}

void scn_socket_wait(struct scn_socket *socket, int timeout_ms)
{
        const int own_ms = scn_socket_timeout_ms(socket);
        const uint32_t events = scn_socket_events(socket);
        struct pollfd poll_fd = {
                .fd = socket->fd,
                .events = (short)(((events & SCN_SOCKET_READABLE) != 0 ? POLLIN : 0) |
                        ((events & SCN_SOCKET_WRITABLE) != 0 ? POLLOUT : 0)),
        };
        const int wait_ms = timeout_ms < 0 || (own_ms >= 0 && own_ms < timeout_ms) ? own_ms : timeout_ms;
        (void)poll(&poll_fd, socket->fd >= 0 ? 1 : 0, wait_ms);
        scn_socket_dispatch(socket);
}

const char *scn_socket_problem(const struct scn_socket *socket)
{
        return socket->problem;
}

uint32_t scn_socket_failures(const struct scn_socket *socket)
{
        return socket->failures;
}
