/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* prctl, nftw, the socket calls under -std=c11 */

#include "tests/lib/daemon.h"

#include "protocol/base/alloc.h"
#include "tests/lib/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARGUMENTS_MAX 32
#define LOG_BYTES_MAX (1u << 20)
#define POLL_NS 2000000L

uint64_t scn_daemon_now_ms(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

static void pause_a_little(void)
{
        (void)nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
}

/* --------------------------------------------------------------- processes */

void scn_daemon_init(struct scn_daemon *daemon)
{
        *daemon = (struct scn_daemon){.folder = "/tmp/scened-test-XXXXXX"};
        cr_assert_not_null(mkdtemp(daemon->folder), "mkdtemp: %s", strerror(errno));
        (void)snprintf(daemon->log_path, sizeof daemon->log_path, "%s/log", daemon->folder);
}

static int remove_one(const char *path, const struct stat *found, int kind, struct FTW *place)
{
        (void)found;
        (void)kind;
        (void)place;
        return remove(path);
}

void scn_daemon_finish(struct scn_daemon *daemon)
{
        if (daemon->process != 0) {
                scn_daemon_signal(daemon, SIGKILL);
                (void)scn_daemon_wait(daemon);
        }
        cr_assert_eq(nftw(daemon->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* In the child. */
static _Noreturn void become(
        const struct scn_daemon *daemon, const struct scn_daemon_options *options, char *const *arguments)
{
        struct rlimit limit = {options->descriptors_max, options->descriptors_max};
        struct rlimit file_limit = {options->file_bytes_max, options->file_bytes_max};
        int log = open(daemon->log_path, O_WRONLY | O_CREAT | O_APPEND, 0600);

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(log, STDOUT_FILENO);
        (void)dup2(log, STDERR_FILENO);
        (void)dup2(options->input, STDIN_FILENO);
        for (int i = STDERR_FILENO + 1; i < 256; i++)
                (void)close(i);
        (void)umask((mode_t)(options->mask != 0 ? options->mask : 022));
        if (options->file_bytes_max != 0)
                (void)setrlimit(RLIMIT_FSIZE, &file_limit);
        if (chdir(daemon->folder) == 0 && (options->descriptors_max == 0 || setrlimit(RLIMIT_NOFILE, &limit) == 0))
                (void)execv(arguments[0], arguments);
        perror(arguments[0]);
        _exit(127);
}

const char *scn_daemon_bin(void)
{
        return SCN_TEST_BIN;
}

void scn_daemon_start(struct scn_daemon *daemon, const struct scn_daemon_options *options)
{
        char program[4096];
        const char *arguments[ARGUMENTS_MAX] = {program};
        size_t count = 1;

        cr_assert_eq(daemon->process, 0, "it runs already");
        const bool is_elsewhere = options->program[0] == '/';
        (void)snprintf(program, sizeof program, "%s%s%s", is_elsewhere ? "" : SCN_TEST_BIN, is_elsewhere ? "" : "/",
                options->program);
        for (size_t i = 0; options->arguments[i] != NULL; i++) {
                cr_assert_lt(count, (size_t)ARGUMENTS_MAX - 1);
                arguments[count++] = options->arguments[i];
        }
        daemon->process = fork();
        cr_assert_geq(daemon->process, 0, "fork: %s", strerror(errno));
        if (daemon->process == 0)
                become(daemon, options, (char *const *)(uintptr_t)arguments);
}

void scn_daemon_signal(struct scn_daemon *daemon, int number)
{
        cr_assert_gt(daemon->process, 0);
        cr_assert_eq(kill(daemon->process, number), 0, "kill: %s", strerror(errno));
}

int scn_daemon_wait_long(struct scn_daemon *daemon, uint64_t timeout_ms)
{
        uint64_t until_ms = scn_daemon_now_ms() + timeout_ms;
        int status;

        cr_assert_gt(daemon->process, 0);
        while (waitpid(daemon->process, &status, WNOHANG) == 0) {
                cr_assert_lt(scn_daemon_now_ms(), until_ms, "the program does not end");
                pause_a_little();
        }
        daemon->process = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int scn_daemon_wait(struct scn_daemon *daemon)
{
        return scn_daemon_wait_long(daemon, 2 * SCN_DAEMON_WAIT_MS);
}

int scn_daemon_stop(struct scn_daemon *daemon)
{
        scn_daemon_signal(daemon, SIGTERM);
        return scn_daemon_wait(daemon);
}

int scn_daemon_run(struct scn_daemon *daemon, const struct scn_daemon_options *options)
{
        scn_daemon_start(daemon, options);
        return scn_daemon_wait(daemon);
}

/* ------------------------------------------------------------- what it says */

/* The whole file, with a zero behind; NULL if it does not exist. */
static char *read_file(const char *path)
{
        FILE *file = fopen(path, "re");
        if (file == NULL)
                return NULL;
        char *text = scn_alloc_zero(1, LOG_BYTES_MAX + 1);
        cr_assert_not_null(text);
        size_t size = fread(text, 1, LOG_BYTES_MAX, file);
        text[size] = '\0';
        (void)fclose(file);
        return text;
}

char *scn_daemon_log(const struct scn_daemon *daemon)
{
        char *text = read_file(daemon->log_path);

        return text != NULL ? text : scn_alloc_zero(1, 1);
}

size_t scn_daemon_log_count(const struct scn_daemon *daemon, const char *text)
{
        char *log = scn_daemon_log(daemon);
        size_t count = 0;

        for (const char *at = strstr(log, text); at != NULL; at = strstr(at + 1, text))
                count++;
        scn_free(log);
        return count;
}

void scn_daemon_wait_for_log(struct scn_daemon *daemon, const char *text)
{
        uint64_t until_ms = scn_daemon_now_ms() + SCN_DAEMON_WAIT_MS;

        while (scn_daemon_log_count(daemon, text) == 0) {
                if (scn_daemon_now_ms() >= until_ms) {
                        char *log = scn_daemon_log(daemon);
                        cr_assert_fail("\"%s\" does not come; the log says:\n%s", text, log);
                }
                pause_a_little();
        }
}

uint16_t scn_daemon_port(struct scn_daemon *daemon)
{
        static const char before[] = "listening on 127.0.0.1:";
        unsigned long port = 0;

        scn_daemon_wait_for_log(daemon, before);
        char *log = scn_daemon_log(daemon);
        for (const char *at = strstr(log, before); at != NULL; at = strstr(at + 1, before))
                port = strtoul(at + strlen(before), NULL, 10);
        scn_free(log);
        cr_assert(port > 0 && port <= UINT16_MAX);
        return (uint16_t)port;
}

uint64_t scn_daemon_cpu_ms(const struct scn_daemon *daemon)
{
        char path[64];
        unsigned long user, kernel;

        (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)daemon->process);
        char *text = read_file(path);
        cr_assert_not_null(text);
        /* Behind the name in brackets: state and ten numbers, then the two. */
        const char *at = strrchr(text, ')');
        cr_assert_eq(sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel), 2);
        scn_free(text);
        return (user + kernel) * 1000u / (uint64_t)sysconf(_SC_CLK_TCK);
}

uint64_t scn_daemon_status_kib(const struct scn_daemon *daemon, const char *line)
{
        char path[64];
        unsigned long kib = 0;

        (void)snprintf(path, sizeof path, "/proc/%d/status", (int)daemon->process);
        char *text = read_file(path);
        cr_assert_not_null(text);
        const char *at = strstr(text, line);
        cr_assert_not_null(at);
        cr_assert_eq(sscanf(at + strlen(line), ": %lu kB", &kib), 1);
        scn_free(text);
        return kib;
}

uint64_t scn_daemon_memory_kib(const struct scn_daemon *daemon)
{
        return scn_daemon_status_kib(daemon, "VmRSS");
}

/* ----------------------------------------------------------------- sockets */

static void set_timeouts(int descriptor)
{
        struct timeval time = {.tv_sec = SCN_DAEMON_WAIT_MS / 1000};

        (void)setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
        (void)setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

/* Takes the descriptor. */
static int try_connect(int descriptor, const struct sockaddr *address, socklen_t size)
{
        cr_assert_geq(descriptor, 0, "socket: %s", strerror(errno));
        set_timeouts(descriptor);
        if (connect(descriptor, address, size) != 0) {
                int error = errno;
                (void)close(descriptor);
                return -error;
        }
        return descriptor;
}

int scn_daemon_try_connect(uint16_t port)
{
        struct sockaddr_in address = {
                .sin_family = AF_INET,
                .sin_port = htons(port),
                .sin_addr = {htonl(INADDR_LOOPBACK)},
        };

        return try_connect(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), (struct sockaddr *)&address, sizeof address);
}

int scn_daemon_connect(uint16_t port)
{
        int descriptor = scn_daemon_try_connect(port);
        int on = 1;

        cr_assert_geq(descriptor, 0, "connect to port %u: %s", port, strerror(-descriptor));
        (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        return descriptor;
}

int scn_daemon_try_connect_unix(const char *path)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};

        cr_assert_lt(strlen(path), sizeof address.sun_path);
        memcpy(address.sun_path, path, strlen(path) + 1);
        return try_connect(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), (struct sockaddr *)&address, sizeof address);
}

int scn_daemon_connect_unix(const char *path)
{
        int descriptor = scn_daemon_try_connect_unix(path);

        cr_assert_geq(descriptor, 0, "connect to %s: %s", path, strerror(-descriptor));
        return descriptor;
}

void scn_daemon_send(int descriptor, const void *bytes, size_t size)
{
        const uint8_t *at = bytes;

        while (size > 0) {
                ssize_t sent = send(descriptor, at, size, MSG_NOSIGNAL);
                cr_assert_gt(sent, 0, "send: %s", strerror(errno));
                at += sent;
                size -= (size_t)sent;
        }
}

void scn_daemon_receive(int descriptor, void *bytes, size_t size)
{
        uint8_t *at = bytes;

        while (size > 0) {
                ssize_t received = recv(descriptor, at, size, 0);
                cr_assert_neq(received, 0, "the peer has closed with %zu bytes to come", size);
                cr_assert_gt(received, 0, "recv: %s, with %zu bytes to come", strerror(errno), size);
                at += received;
                size -= (size_t)received;
        }
}

void scn_daemon_expect_end(int descriptor)
{
        uint8_t byte;
        ssize_t received = recv(descriptor, &byte, 1, 0);

        cr_assert_leq(received, 0, "a byte %u instead of the end", byte);
        cr_assert(received == 0 || (errno != EAGAIN && errno != EWOULDBLOCK), "the peer does not close");
}

size_t scn_daemon_send_until_stuck(int descriptor, const void *bytes, size_t size, unsigned stuck_ms)
{
        const uint8_t *at = bytes;
        size_t total = 0;

        while (total < size) {
                struct pollfd waiting = {.fd = descriptor, .events = POLLOUT};
                if (poll(&waiting, 1, (int)stuck_ms) == 0)
                        break;
                ssize_t sent = send(descriptor, at + total, size - total, MSG_NOSIGNAL | MSG_DONTWAIT);
                if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
                        continue;
                cr_assert_gt(sent, 0, "send: %s", strerror(errno));
                total += (size_t)sent;
        }
        return total;
}
