/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_DAEMON_H
#define SCN_TESTS_LIB_DAEMON_H

/* Runs the daemon, or another program of ours, as a child process, and talks to it through sockets. Whatever goes
 * wrong fails the test; a child dies with the test that started it.
 *
 * Times are upper bounds for a loaded machine under sanitizers: nothing waits longer than it must. */

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCN_DAEMON_PATH_BYTES 64
#define SCN_DAEMON_WAIT_MS 10000u

struct scn_daemon {
        pid_t process;                      /* 0: not running */
        char folder[SCN_DAEMON_PATH_BYTES]; /* of its own, in /tmp: data, log, sockets */
        char log_path[SCN_DAEMON_PATH_BYTES + 8];
};

struct scn_daemon_options {
        const char *program;          /* in the build's bin, unless it begins with / */
        const char *const *arguments; /* behind the program's name; ends with NULL */
        unsigned descriptors_max;     /* its ulimit -n; 0: as it is */
        unsigned mask;                /* its umask; 0: 022 */
        unsigned file_bytes_max;      /* where its files end as on a full disk; 0: as it is */
        int input;                    /* what it reads, a descriptor; 0: what the test does */
};

/* Makes the folder, which scn_daemon_finish() removes with all in it. */
void scn_daemon_init(struct scn_daemon *daemon);
void scn_daemon_finish(struct scn_daemon *daemon);

/* The build's bin. */
const char *scn_daemon_bin(void);
/* Its standard output and error are added to the log. */
void scn_daemon_start(struct scn_daemon *daemon, const struct scn_daemon_options *options);
/* Until the log has this text. */
void scn_daemon_wait_for_log(struct scn_daemon *daemon, const char *text);
/* The log so far; the caller frees it with scn_free(). */
char *scn_daemon_log(const struct scn_daemon *daemon);
/* How often the text occurs in the log. */
size_t scn_daemon_log_count(const struct scn_daemon *daemon, const char *text);
/* Waits for "listening on 127.0.0.1:" and returns the port; the last one, if it was started several times. */
uint16_t scn_daemon_port(struct scn_daemon *daemon);
void scn_daemon_signal(struct scn_daemon *daemon, int number);
/* Waits for its end. Returns its exit code, or 128 and the signal that ended it. */
int scn_daemon_wait(struct scn_daemon *daemon);
/* The same, for what may take its time. */
int scn_daemon_wait_long(struct scn_daemon *daemon, uint64_t timeout_ms);
/* SIGTERM, then scn_daemon_wait(). */
int scn_daemon_stop(struct scn_daemon *daemon);
/* Start, wait: for programs that end by themselves. */
int scn_daemon_run(struct scn_daemon *daemon, const struct scn_daemon_options *options);
/* Processor time that it has used. */
uint64_t scn_daemon_cpu_ms(const struct scn_daemon *daemon);
/* Memory that it has in use. */
uint64_t scn_daemon_memory_kib(const struct scn_daemon *daemon);
/* Another line of /proc/PID/status: "VmHWM", the most memory it has had in use; "VmPeak", the most it has reserved. */
uint64_t scn_daemon_status_kib(const struct scn_daemon *daemon, const char *line);

/* --- Sockets: blocking, with SCN_DAEMON_WAIT_MS to wait for anything --- */

int scn_daemon_connect(uint16_t port);
int scn_daemon_connect_unix(const char *path);
/* Negative instead of failing the test: the negated errno. */
int scn_daemon_try_connect(uint16_t port);
int scn_daemon_try_connect_unix(const char *path);
void scn_daemon_send(int descriptor, const void *bytes, size_t size);
/* Exactly so many. */
void scn_daemon_receive(int descriptor, void *bytes, size_t size);
/* The peer must close: nothing but the end, or an error, may come. */
void scn_daemon_expect_end(int descriptor);
/* Sends without waiting until the peer has taken nothing for that long. Returns how much it took. */
size_t scn_daemon_send_until_stuck(int descriptor, const void *bytes, size_t size, unsigned stuck_ms);

uint64_t scn_daemon_now_ms(void);

#endif
