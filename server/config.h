/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_CONFIG_H
#define SCN_SERVER_CONFIG_H

/* The daemon's settings: defaults, over them a file of lines "name = value", over that the command line. Each setting
 * stands once, in config.c's table; options, file and --help come from it. */

#include "server/address.h"
#include "server/log.h"

#define SCN_CONFIG_LISTENS_MAX 16u
#define SCN_CONFIG_PATH_BYTES 4096u

enum scn_config_action {
        SCN_CONFIG_RUN,
        SCN_CONFIG_CHECK,   /* only say whether it could start */
        SCN_CONFIG_VERSION, /* say the version */
};

struct scn_config {
        enum scn_config_action action;
        char data_path[SCN_CONFIG_PATH_BYTES];
        struct scn_address listens[SCN_CONFIG_LISTENS_MAX]; /* at least one */
        size_t listens_count;
        enum scn_log_format log_format;
        uint64_t memory_bytes_max; /* these four as in struct scn_server_options */
        uint64_t fold_age_s;
        uint64_t keep_age_s;
        uint64_t reserve_bytes;
};

/* Reads the command line and the file that it names. False: problem_out says which setting, which value and why not.
 *
 * What argp itself answers (--help, --usage, unknown options: exit code 2) ends the process; a test that wants to see
 * that runs the daemon. */
SCN_NODISCARD bool scn_config_read(
        int argc, char **argv, struct scn_config *config_out, char problem_out[SCN_PROBLEM_BYTES]);

#endif
