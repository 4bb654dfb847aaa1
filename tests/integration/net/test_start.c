/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/daemon.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARGUMENTS_MAX 8

/* Runs it with these arguments to its end; its exit code and what it says must be these. */
struct run_case {
        const char *arguments[ARGUMENTS_MAX];
        int code;
        const char *says;
};

static void expect(const struct run_case *expected)
{
        struct scn_daemon daemon;

        scn_daemon_init(&daemon);
        int code = scn_daemon_run(
                &daemon, &(struct scn_daemon_options){.program = "scened_echo", .arguments = expected->arguments});
        char *log = scn_daemon_log(&daemon);
        cr_assert_eq(code, expected->code, "exit code %d instead of %d:\n%s", code, expected->code, log);
        cr_assert_not_null(strstr(log, expected->says), "nothing of \"%s\" in:\n%s", expected->says, log);
        scn_free(log);
        scn_daemon_finish(&daemon);
}

SCN_TEST(start, answers_what_is_asked_about_it)
{
        static const struct run_case cases[] = {
                {{"--version"}, 0, "scened 0."},
                {{"--check"}, 0, "the settings are good"},
                {{"--help"}, 0, "--log-format=text|json"},
                {{"--usage"}, 0, "--listen=ADDRESS"},
        };
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
                expect(&cases[i]);
}

SCN_TEST(start, refuses_bad_usage_with_code_2_naming_setting_and_value)
{
        static const struct run_case cases[] = {
                {{"--nonsense"}, 2, "--nonsense"},
                {{"--listen"}, 2, "'--listen' requires an argument"},
                {{"data"}, 2, "data: is no option"},
                {{"--listen", "0.0.0.0:7420"}, 2, "scened: --listen 0.0.0.0:7420: can be reached from other machines"},
                {{"--listen", "[::]:7420"}, 2, "--listen [::]:7420: can be reached from other machines"},
                {{"--check", "--listen", "192.168.1.1:7420"}, 2, "--listen 192.168.1.1:7420: can be reached"},
                {{"--log-format", "xml"}, 2, "--log-format xml: is neither text nor json"},
                {{"--config", "no-such-file"}, 2, "--config no-such-file: No such file or directory"},
        };
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
                expect(&cases[i]);
}

SCN_TEST(start, fails_with_code_1_naming_setting_and_value)
{
        static const struct run_case cases[] = {
                {{"--data", "taken"}, 1, "error start: --data taken: in use"},
                {{"--log-format", "json", "--data", "taken"}, 1,
                        "\"kind\":\"start\",\"text\":\"--data taken: in use\"}"},
        };
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
                expect(&cases[i]);
}

SCN_TEST(start, names_an_address_that_is_taken)
{
        struct scn_daemon daemon, second;
        const char *arguments[] = {"--listen", "127.0.0.1:0", NULL};
        char address[32], complaint[128];
        scn_daemon_init(&daemon);
        scn_daemon_start(&daemon, &(struct scn_daemon_options){.program = "scened_echo", .arguments = arguments});
        (void)snprintf(address, sizeof address, "127.0.0.1:%u", scn_daemon_port(&daemon));
        (void)snprintf(complaint, sizeof complaint,
                "--listen %s: another program listens there; choose another with --listen", address);

        /* And of several addresses none is left behind, nor said to be served, if one of them cannot be. */
        const char *twice[] = {"--listen", "unix:socket", "--listen", address, NULL};
        second = daemon;
        second.process = 0;
        cr_assert_eq(
                scn_daemon_run(&second, &(struct scn_daemon_options){.program = "scened_echo", .arguments = twice}), 1);
        cr_assert_eq(scn_daemon_log_count(&daemon, complaint), 1);
        cr_assert_eq(scn_daemon_log_count(&daemon, "listening on"), 1);
        char path[SCN_DAEMON_PATH_BYTES + 8];
        (void)snprintf(path, sizeof path, "%s/socket", daemon.folder);
        cr_assert_eq(access(path, F_OK), -1);
        cr_assert_eq(scn_daemon_stop(&daemon), 0);
        scn_daemon_finish(&daemon);
}

SCN_TEST(start, reads_a_file_of_settings)
{
        struct scn_daemon daemon;
        char path[SCN_DAEMON_PATH_BYTES + 8];
        const char *arguments[] = {"--config", "conf", NULL};
        scn_daemon_init(&daemon);
        (void)snprintf(path, sizeof path, "%s/conf", daemon.folder);
        FILE *file = fopen(path, "we");
        cr_assert_not_null(file);
        (void)fputs("# where\nlisten = 127.0.0.1:0\nlog-format = json\n", file);
        (void)fclose(file);
        scn_daemon_start(&daemon, &(struct scn_daemon_options){.program = "scened_echo", .arguments = arguments});
        (void)close(scn_daemon_connect(scn_daemon_port(&daemon)));
        cr_assert_eq(scn_daemon_log_count(&daemon, "\"kind\":\"net\",\"text\":\"listening on 127.0.0.1:"), 1);
        cr_assert_eq(scn_daemon_stop(&daemon), 0);
        scn_daemon_finish(&daemon);
}

SCN_TEST(start, serves_ipv6_where_there_is_any)
{
        struct scn_daemon daemon;
        const char *arguments[] = {"--listen", "[::1]:0", NULL};
        if (access("/proc/net/if_inet6", F_OK) != 0)
                return;
        scn_daemon_init(&daemon);
        scn_daemon_start(&daemon, &(struct scn_daemon_options){.program = "scened_echo", .arguments = arguments});
        scn_daemon_wait_for_log(&daemon, "net: listening on [::1]:");
        cr_assert_eq(scn_daemon_stop(&daemon), 0);
        scn_daemon_finish(&daemon);
}

SCN_TEST(log, is_neither_flooded_nor_forged_through_the_core)
{
        struct scn_daemon daemon;
        const char *arguments[] = {"--listen", "127.0.0.1:0", NULL};
        scn_daemon_init(&daemon);
        scn_daemon_start(&daemon, &(struct scn_daemon_options){.program = "scened_echo", .arguments = arguments});
        int peer = scn_daemon_connect(scn_daemon_port(&daemon));
        scn_daemon_send(peer, "\xffl!", 3);
        char echoed;
        scn_daemon_receive(peer, &echoed, 1);
        cr_assert_eq(scn_daemon_log_count(&daemon, "warning rude: \\u{1b}[2J\\u{a}line two\\xff\n"), 10);
        cr_assert_eq(scn_daemon_stop(&daemon), 0);
        cr_assert_eq(scn_daemon_log_count(&daemon, "rude"), 11);
        cr_assert_eq(scn_daemon_log_count(&daemon, "warning rude: suppressed 90 like this\n"), 1);
        (void)close(peer);
        scn_daemon_finish(&daemon);
}
