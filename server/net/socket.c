/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "server/net/socket.h"

#include "server/problem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define BACKLOG 511
/* How long the folder of a Unix socket may be held by somebody else who is just starting. */
#define LOCK_TRIES 20
#define LOCK_PAUSE_NS 50000000L

#define SETTING "--listen"

static bool complain(const char *what, const char *why, char problem_out[SCN_PROBLEM_BYTES])
{
        scn_problem_set(problem_out, SETTING " %s: %s", what, why);
        return false;
}

/* With the way out, where there always is one. */
static const char *why_not_bound(int error)
{
        return error == EADDRINUSE ? "another program listens there; choose another with --listen" : strerror(error);
}

/* --------------------------------------------------------------------- TCP */

union socket_address {
        struct sockaddr any;
        struct sockaddr_in ip4;
        struct sockaddr_in6 ip6;
        struct sockaddr_un unix_path;
};

static socklen_t fill_ip(const struct scn_address *address, union socket_address *filled)
{
        memset(filled, 0, sizeof *filled);
        if (address->kind == SCN_ADDRESS_IP4) {
                filled->ip4.sin_family = AF_INET;
                filled->ip4.sin_port = htons(address->port);
                memcpy(&filled->ip4.sin_addr, address->ip, 4);
                return sizeof filled->ip4;
        }
        filled->ip6.sin6_family = AF_INET6;
        filled->ip6.sin6_port = htons(address->port);
        memcpy(&filled->ip6.sin6_addr, address->ip, 16);
        return sizeof filled->ip6;
}

/* The address with the port that the system chose. */
static bool spell_ip(int descriptor, char text[SCN_ADDRESS_TEXT_BYTES])
{
        union socket_address bound;
        socklen_t size = sizeof bound;
        char ip[INET6_ADDRSTRLEN];

        memset(&bound, 0, sizeof bound);
        if (getsockname(descriptor, &bound.any, &size) != 0)
                return false;
        if (bound.any.sa_family == AF_INET) {
                if (inet_ntop(AF_INET, &bound.ip4.sin_addr, ip, sizeof ip) == NULL)
                        return false;
                (void)snprintf(text, SCN_ADDRESS_TEXT_BYTES, "%s:%u", ip, ntohs(bound.ip4.sin_port));
        } else {
                if (inet_ntop(AF_INET6, &bound.ip6.sin6_addr, ip, sizeof ip) == NULL)
                        return false;
                (void)snprintf(text, SCN_ADDRESS_TEXT_BYTES, "[%s]:%u", ip, ntohs(bound.ip6.sin6_port));
        }
        return true;
}

static bool bind_ip(const struct scn_address *address, struct scn_socket *bound)
{
        union socket_address filled;
        socklen_t size = fill_ip(address, &filled);
        int on = 1;

        if (setsockopt(bound->descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0)
                return false;
        if (address->kind == SCN_ADDRESS_IP6 &&
                setsockopt(bound->descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0)
                return false;
        return bind(bound->descriptor, &filled.any, size) == 0 && listen(bound->descriptor, BACKLOG) == 0 &&
                spell_ip(bound->descriptor, bound->text);
}

/* ------------------------------------------------------------ Unix sockets */

static socklen_t fill_path(const char *path, union socket_address *filled)
{
        memset(filled, 0, sizeof *filled);
        filled->unix_path.sun_family = AF_UNIX;
        memcpy(filled->unix_path.sun_path, path, strlen(path) + 1);
        return sizeof filled->unix_path;
}

/* Its own lock would be in the daemon's way. */
static bool is_same_folder(int descriptor, const char *path)
{
        struct stat opened, named;

        return path != NULL && fstat(descriptor, &opened) == 0 && stat(path, &named) == 0 &&
                opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/* Two daemons that start at the same moment could both find a dead file, and the later remove the socket of the
 * earlier: so whoever looks and binds holds the folder's lock. -1 if there is none to be had; then that risk is taken,
 * for anybody who may read a folder could keep it locked. The folder that is held already needs no other lock. */
static int lock_folder_of(const char *path, const char *held_path)
{
        char folder[SCN_ADDRESS_PATH_BYTES];
        const char *slash = strrchr(path, '/');
        size_t size = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);

        memcpy(folder, path, size);
        folder[size] = '\0';
        int descriptor = open(size != 0 ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (descriptor < 0)
                return -1;
        const bool is_held = is_same_folder(descriptor, held_path);
        for (int i = 0; i < LOCK_TRIES && !is_held; i++) {
                if (flock(descriptor, LOCK_EX | LOCK_NB) == 0)
                        return descriptor;
                if (errno != EWOULDBLOCK && errno != EINTR)
                        break;
                (void)nanosleep(&(struct timespec){.tv_nsec = LOCK_PAUSE_NS}, NULL);
        }
        (void)close(descriptor);
        return -1;
}

enum holder {
        HOLDER_NONE, /* the file is a leftover, or gone by now */
        HOLDER_LIVES,
        HOLDER_UNKNOWN, /* errno says why */
};

/* Does anybody listen behind this file? */
static enum holder look_for_holder(const union socket_address *address, socklen_t size)
{
        int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (descriptor < 0)
                return HOLDER_UNKNOWN;
        int error = connect(descriptor, &address->any, size) == 0 ? 0 : errno;
        (void)close(descriptor);
        /* EAGAIN: somebody listens, and too many already wait for them. */
        if (error == 0 || error == EAGAIN)
                return HOLDER_LIVES;
        if (error == ECONNREFUSED || error == ENOENT)
                return HOLDER_NONE;
        errno = error;
        return HOLDER_UNKNOWN;
}

/* The path is taken: clears it if what is there is the socket of somebody dead. */
static bool clear_path(const struct scn_address *address, const union socket_address *filled, socklen_t size,
        char problem_out[SCN_PROBLEM_BYTES])
{
        struct stat found;

        if (lstat(address->path, &found) != 0) {
                if (errno == ENOENT)
                        return true; /* its owner has just gone */
                return complain(address->text, strerror(errno), problem_out);
        }
        if (!S_ISSOCK(found.st_mode))
                return complain(address->text, "there is something else than a socket; it is left alone", problem_out);
        switch (look_for_holder(filled, size)) {
        case HOLDER_LIVES:
                return complain(address->text, why_not_bound(EADDRINUSE), problem_out);
        case HOLDER_UNKNOWN:
                return complain(address->text, strerror(errno), problem_out);
        case HOLDER_NONE:
                break;
        }
        if (unlink(address->path) != 0 && errno != ENOENT)
                return complain(address->text, strerror(errno), problem_out);
        return true;
}

static bool bind_path(const struct scn_address *address, struct scn_socket *bound, char problem_out[SCN_PROBLEM_BYTES])
{
        union socket_address filled;
        socklen_t size = fill_path(address->path, &filled);
        struct stat made;

        /* Whatever the user's mask: nobody else may connect, not even in the moment before a chmod. */
        mode_t mask = umask(S_IRWXG | S_IRWXO | S_IXUSR);
        int result = bind(bound->descriptor, &filled.any, size);
        if (result != 0 && errno == EADDRINUSE) {
                if (!clear_path(address, &filled, size, problem_out)) {
                        (void)umask(mask);
                        return false;
                }
                result = bind(bound->descriptor, &filled.any, size);
        }
        (void)umask(mask);
        if (result != 0)
                return complain(address->text, strerror(errno), problem_out);
        if (listen(bound->descriptor, BACKLOG) != 0 || lstat(address->path, &made) != 0) {
                (void)complain(address->text, strerror(errno), problem_out);
                (void)unlink(address->path);
                return false;
        }
        memcpy(bound->path, address->path, sizeof bound->path);
        memcpy(bound->text, address->text, sizeof bound->text);
        bound->device = made.st_dev;
        bound->inode = made.st_ino;
        return true;
}

static bool listen_unix(const struct scn_address *address, const char *held_path, struct scn_socket *listening,
        char problem_out[SCN_PROBLEM_BYTES])
{
        int lock = lock_folder_of(address->path, held_path);
        bool is_bound = bind_path(address, listening, problem_out);

        if (lock >= 0)
                (void)close(lock);
        return is_bound;
}

/* -------------------------------------------------------------------- both */

bool scn_socket_listen(const struct scn_address *address, const char *held_path, struct scn_socket *socket_out,
        char problem_out[SCN_PROBLEM_BYTES])
{
        struct scn_socket made = {.is_unix = address->kind == SCN_ADDRESS_UNIX};
        int family = made.is_unix ? AF_UNIX : address->kind == SCN_ADDRESS_IP4 ? AF_INET : AF_INET6;
        bool is_listening;

        made.descriptor = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (made.descriptor < 0)
                return complain(address->text, strerror(errno), problem_out);
        if (made.is_unix) {
                is_listening = listen_unix(address, held_path, &made, problem_out);
        } else {
                is_listening = bind_ip(address, &made);
                if (!is_listening)
                        (void)complain(address->text, why_not_bound(errno), problem_out);
        }
        if (!is_listening) {
                (void)close(made.descriptor);
                return false;
        }
        *socket_out = made;
        return true;
}

void scn_socket_close(struct scn_socket *listening)
{
        struct stat found;

        if (listening->descriptor < 0)
                return;
        /* Removed before it is closed: whoever finds a file has somebody to talk to. Another's file stays. */
        if (listening->is_unix && lstat(listening->path, &found) == 0 && found.st_dev == listening->device &&
                found.st_ino == listening->inode)
                (void)unlink(listening->path);
        (void)close(listening->descriptor);
        listening->descriptor = -1;
}
