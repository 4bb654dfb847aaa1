/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/base/alloc.h"
#include "server/clock.h"
#include "server/config.h"
#include "server/data_path.h"
#include "server/log.h"
#include "server/net/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define AGENT "scened " SCN_VERSION
#define EXIT_USAGE 2

static void write_log(void *data, const char *line, size_t size)
{
        (void)data;
        while (size > 0) {
                ssize_t written = write(STDERR_FILENO, line, size);
                if (written < 0 && errno == EINTR)
                        continue;
                if (written <= 0)
                        return; /* there is nobody to tell */
                line += written;
                size -= (size_t)written;
        }
}

static int run(const struct scn_config *config)
{
        struct scn_log log;
        char problem[SCN_PROBLEM_BYTES];

        scn_log_init(&log,
                &(struct scn_log_options){
                        .format = config->log_format,
                        .write = write_log,
                        .utc_us = scn_clock_utc_us,
                        .monotonic_ms = scn_clock_monotonic_ms,
                });
        struct scn_loop *loop = scn_loop_create(
                &(struct scn_loop_options){
                        .data_path = config->data_path,
                        .agent = AGENT,
                        .limits = SCN_LIMITS_DEFAULT,
                        .listens = config->listens,
                        .listens_count = config->listens_count,
                        .log = &log,
                        .memory_bytes_max = config->memory_bytes_max,
                        .fold_age_s = config->fold_age_s,
                        .keep_age_s = config->keep_age_s,
                        .reserve_bytes = config->reserve_bytes,
                        .takes_signals = true,
                },
                problem);
        if (loop == NULL) {
                scn_log_write(&log, SCN_LOG_ERROR, "start", "%s", problem);
                return EXIT_FAILURE;
        }
        scn_loop_run(loop);
        scn_loop_destroy(loop);
        scn_log_write(&log, SCN_LOG_INFO, "net", "stopped");
        scn_log_finish(&log);
        return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
        struct scn_config config;
        char problem[SCN_PROBLEM_BYTES] = "";

        if (!scn_config_read(argc, argv, &config, problem)) {
                fprintf(stderr, "scened: %s\n", problem);
                return EXIT_USAGE;
        }
        switch (config.action) {
        case SCN_CONFIG_VERSION:
                printf("%s\n", AGENT);
                return EXIT_SUCCESS;
        case SCN_CONFIG_CHECK:
                if (!scn_data_path_check(config.data_path, problem)) {
                        fprintf(stderr, "scened: %s\n", problem);
                        return EXIT_FAILURE;
                }
                printf("scened: the settings are good\n");
                return EXIT_SUCCESS;
        case SCN_CONFIG_RUN:
                break;
        }
        /* A peer that is gone is an error of write(); a terminal that is closed does not stop the daemon. */
        (void)signal(SIGPIPE, SIG_IGN);
        (void)signal(SIGHUP, SIG_IGN);
        (void)signal(SIGXFSZ, SIG_IGN); /* a limit on files is a full disk */
        scn_alloc_keep_little();
        return run(&config);
}
