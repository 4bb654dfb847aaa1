/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* truncate, usleep under -std=c11 */

#include "tests/lib/serve.h"

#include "tests/lib/test.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define ARGUMENTS_MAX 24
#define TOOL_MS 120000u /* a million nodes take ten seconds */

void serve_begin(struct serve *serve)
{
        serve_begin_with(serve, "scened");
}

void serve_begin_with(struct serve *serve, const char *program)
{
        *serve = (struct serve){.program = program};
        scn_daemon_init(&serve->daemon);
        (void)snprintf(serve->socket, sizeof serve->socket, "%s/socket", serve->daemon.folder);
        serve_start(serve);
}

void serve_start(struct serve *serve)
{
        const char *const arguments[] = {"--listen", "127.0.0.1:0", "--listen", "unix:socket", "--data", "data",
                serve->fold_days != NULL ? "--fold-days" : NULL, serve->fold_days, NULL};
        (void)truncate(serve->daemon.log_path, 0);
        scn_daemon_start(
                &serve->daemon, &(struct scn_daemon_options){.program = serve->program, .arguments = arguments});
        scn_daemon_wait_for_log(&serve->daemon, "listening on unix:");
        serve->port = scn_daemon_port(&serve->daemon);
}

/* The file appears whole or not at all: the daemon looks at it all the time. */
void serve_set_fault(const struct serve *serve, const char *fault)
{
        char path[SERVE_ADDRESS_BYTES];
        char new_path[SERVE_ADDRESS_BYTES];
        (void)snprintf(path, sizeof path, "%s/fault", serve->daemon.folder);
        (void)snprintf(new_path, sizeof new_path, "%s/fault.new", serve->daemon.folder);
        if (fault == NULL) {
                (void)remove(path);
                return;
        }
        FILE *file = fopen(new_path, "we");
        cr_assert_not_null(file);
        fputs(fault, file);
        cr_assert_eq(fclose(file), 0);
        cr_assert_eq(rename(new_path, path), 0);
}

void serve_kill(struct serve *serve)
{
        scn_daemon_signal(&serve->daemon, SIGKILL);
        cr_assert_eq(scn_daemon_wait(&serve->daemon), 128 + SIGKILL);
}

void serve_finish(struct serve *serve)
{
        cr_assert_eq(scn_daemon_stop(&serve->daemon), 0);
        scn_daemon_finish(&serve->daemon);
}

int serve_connect(const struct serve *serve, enum serve_listener listener)
{
        return listener == SERVE_TCP ? scn_daemon_connect(serve->port) : scn_daemon_connect_unix(serve->socket);
}

void serve_address(const struct serve *serve, enum serve_listener listener, char address_out[SERVE_ADDRESS_BYTES])
{
        if (listener == SERVE_TCP) {
                (void)snprintf(address_out, SERVE_ADDRESS_BYTES, "127.0.0.1:%u", serve->port);
        } else {
                (void)snprintf(address_out, SERVE_ADDRESS_BYTES, "unix:%.70s", serve->socket);
        }
}

int serve_scenectl(const struct serve *serve, char **output_out, ...)
{
        char address[SERVE_ADDRESS_BYTES];
        const char *arguments[ARGUMENTS_MAX] = {"--server", address, "--json"};
        size_t count = 3;
        struct scn_daemon tool;
        va_list list;
        serve_address(serve, SERVE_UNIX, address);
        va_start(list, output_out);
        for (const char *next; (next = va_arg(list, const char *)) != NULL;) {
                cr_assert_lt(count, (size_t)ARGUMENTS_MAX - 1);
                arguments[count++] = next;
        }
        va_end(list);
        scn_daemon_init(&tool);
        scn_daemon_start(&tool, &(struct scn_daemon_options){.program = "scenectl", .arguments = arguments});
        const int code = scn_daemon_wait_long(&tool, TOOL_MS);
        if (output_out != NULL) {
                *output_out = scn_daemon_log(&tool);
        }
        scn_daemon_finish(&tool);
        return code;
}
