/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* mkstemp, under -std=c11 */

#include "tests/lib/test.h"

#include "server/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARGUMENTS_MAX 40

struct fixture {
        struct scn_config config;
        char problem[SCN_PROBLEM_BYTES];
        char path[32]; /* of the file of settings, if there is one */
};

/* `file`: what stands in the file that --config names; NULL: no such option. */
static bool read_config(struct fixture *fixture, const char *file, const char *const *arguments)
{
        char *all[ARGUMENTS_MAX + 4] = {"scened"};
        int count = 1;

        *fixture = (struct fixture){.path = "/tmp/scened-test-XXXXXX"};
        if (file != NULL) {
                int descriptor = mkstemp(fixture->path);
                cr_assert_geq(descriptor, 0);
                cr_assert_eq(write(descriptor, file, strlen(file)), (ssize_t)strlen(file));
                (void)close(descriptor);
                all[count++] = "--config";
                all[count++] = fixture->path;
        }
        for (size_t i = 0; arguments != NULL && arguments[i] != NULL; i++) {
                cr_assert_lt(count, ARGUMENTS_MAX);
                all[count++] = (char *)(uintptr_t)arguments[i];
        }
        bool is_read = scn_config_read(count, all, &fixture->config, fixture->problem);
        if (file != NULL)
                (void)unlink(fixture->path);
        return is_read;
}

#define ARGUMENTS(...) ((const char *const[]){__VA_ARGS__, NULL})

SCN_TEST(config, has_defaults_that_need_no_set_up)
{
        struct fixture fixture;
        cr_assert(read_config(&fixture, NULL, NULL));
        cr_assert_eq(fixture.config.action, SCN_CONFIG_RUN);
        cr_assert_str_eq(fixture.config.data_path, "./scened-data");
        cr_assert_eq(fixture.config.listens_count, 1);
        cr_assert_str_eq(fixture.config.listens[0].text, "127.0.0.1:7420");
        cr_assert_eq(fixture.config.log_format, SCN_LOG_FORMAT_TEXT);
        cr_assert_eq(fixture.config.memory_bytes_max, UINT64_C(4) << 30);
        cr_assert_eq(fixture.config.fold_age_s, 7 * 86400);
        cr_assert_eq(fixture.config.keep_age_s, 0);
        cr_assert_eq(fixture.config.reserve_bytes, UINT64_C(64) << 20);
}

SCN_TEST(config, takes_days_and_parts_of_days_and_mebibytes)
{
        static const struct {
                const char *text;
                uint64_t seconds;
        } days[] = {{"0", 0}, {"0.0", 0}, {"1", 86400}, {"0.5", 43200}, {"36500", UINT64_C(36500) * 86400},
                {"0.00002", 1}, {"1.000000000", 86400}};
        static const char *const bad_days[] = {
                "", ".5", "1.", "-1", "36501", "1 ", "0.000001", "1.0000000000", "seven", "99999999999999999999"};
        static const char *const bad_memory[] = {"", "0", "-1", "1073741825", "1M", "99999999999999999999"};
        struct fixture fixture;
        for (size_t i = 0; i < sizeof days / sizeof days[0]; i++) {
                cr_assert(read_config(
                        &fixture, NULL, ARGUMENTS("--fold-days", days[i].text, "--keep-days", days[i].text)));
                cr_assert_eq(fixture.config.fold_age_s, days[i].seconds, "%s", days[i].text);
                cr_assert_eq(fixture.config.keep_age_s, days[i].seconds, "%s", days[i].text);
        }
        for (size_t i = 0; i < sizeof bad_days / sizeof bad_days[0]; i++) {
                cr_assert_not(read_config(&fixture, NULL, ARGUMENTS("--fold-days", bad_days[i])), "%s", bad_days[i]);
                cr_assert_not_null(strstr(fixture.problem, "--fold-days"));
        }
        for (size_t i = 0; i < sizeof bad_memory / sizeof bad_memory[0]; i++) {
                cr_assert_not(read_config(&fixture, NULL, ARGUMENTS("--memory", bad_memory[i])), "%s", bad_memory[i]);
        }
        cr_assert(read_config(&fixture, "memory = 1073741824\nreserve = 0\n", NULL));
        cr_assert_eq(fixture.config.memory_bytes_max, UINT64_C(1) << 50);
        cr_assert_eq(fixture.config.reserve_bytes, 0);
}

SCN_TEST(config, is_read_from_the_command_line)
{
        struct fixture fixture;
        cr_assert(read_config(&fixture, NULL,
                ARGUMENTS("--data", "/var/d", "--listen", "unix:a", "--listen=[::1]:1", "--log-format=json")));
        cr_assert_str_eq(fixture.config.data_path, "/var/d");
        cr_assert_eq(fixture.config.listens_count, 2);
        cr_assert_str_eq(fixture.config.listens[0].text, "unix:a");
        cr_assert_str_eq(fixture.config.listens[1].text, "[::1]:1");
        cr_assert_eq(fixture.config.log_format, SCN_LOG_FORMAT_JSON);
}

SCN_TEST(config, is_read_from_a_file)
{
        struct fixture fixture;
        cr_assert(read_config(&fixture,
                "# a comment\n\n  data=/var/a b = c  \r\nlisten = unix:a\n\tlisten\t=\tunix:b\nlog-format = json",
                NULL));
        cr_assert_str_eq(fixture.config.data_path, "/var/a b = c");
        cr_assert_eq(fixture.config.listens_count, 2);
        cr_assert_str_eq(fixture.config.listens[0].text, "unix:a");
        cr_assert_str_eq(fixture.config.listens[1].text, "unix:b");
        cr_assert_eq(fixture.config.log_format, SCN_LOG_FORMAT_JSON);
}

SCN_TEST(config, of_the_command_line_counts_more_than_that_of_the_file)
{
        struct fixture fixture;
        cr_assert(read_config(&fixture, "data = a\nlisten = unix:a\nlisten = unix:b\nlog-format = json\n",
                ARGUMENTS("--listen", "unix:c", "--log-format", "text")));
        cr_assert_str_eq(fixture.config.data_path, "a");
        cr_assert_eq(fixture.config.listens_count, 1);
        cr_assert_str_eq(fixture.config.listens[0].text, "unix:c");
        cr_assert_eq(fixture.config.log_format, SCN_LOG_FORMAT_TEXT);
}

SCN_TEST(config, answers_questions_only_after_the_settings_were_found_good)
{
        struct fixture fixture;
        cr_assert(read_config(&fixture, NULL, ARGUMENTS("--check")));
        cr_assert_eq(fixture.config.action, SCN_CONFIG_CHECK);
        cr_assert(read_config(&fixture, NULL, ARGUMENTS("--version", "--check")));
        cr_assert_eq(fixture.config.action, SCN_CONFIG_VERSION);
        cr_assert(read_config(&fixture, NULL, ARGUMENTS("--check", "--version")));
        cr_assert_eq(fixture.config.action, SCN_CONFIG_VERSION);
        cr_assert(!read_config(&fixture, NULL, ARGUMENTS("--check", "--data", "")));
        cr_assert(!read_config(&fixture, "log-format = xml", ARGUMENTS("--check")));
}

SCN_TEST(config, names_what_is_wrong_on_the_command_line)
{
        static const char *const cases[][3] = {
                {"--data", "", "--data : is empty"},
                {"--listen", "nowhere", "--listen nowhere: has no port; "},
                {"--listen", "0.0.0.0:7420", "--listen 0.0.0.0:7420: can be reached from other machines, "},
                {"--log-format", "xml", "--log-format xml: is neither text nor json"},
                {"--config", "/no/such", "--config /no/such: No such file or directory"},
                {"--config", "/", "--config /: Is a directory"},
                {"--config", "/proc/self/cmdline", "--config /proc/self/cmdline: is not a text"},
        };
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                struct fixture fixture;
                cr_assert(!read_config(&fixture, NULL, ARGUMENTS(cases[i][0], cases[i][1])));
                cr_assert_eq(strncmp(fixture.problem, cases[i][2], strlen(cases[i][2])), 0, "%s instead of %s",
                        fixture.problem, cases[i][2]);
        }
}

SCN_TEST(config, names_what_is_wrong_in_the_file_and_where)
{
        static const char *const cases[][2] = {
                {"data", ":1: data: is not of the form name = value"},
                {"\n# x\n dta = x", ":3: dta: there is no such setting"},
                {"check = yes", ":1: check: there is no such setting"},
                {"config = other", ":1: config: there is no such setting"},
                {"= x", ":1: : there is no such setting"},
                {"data = a\ndata = b", ":2: data = b: is given a second time"},
                {"data =", ":1: data = : is empty"},
                {"\nlisten = 10.0.0.1:1", ":2: listen = 10.0.0.1:1: can be reached from other machines"},
        };
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                struct fixture fixture;
                /* What the command line says does not excuse the file. */
                cr_assert(!read_config(&fixture, cases[i][0], ARGUMENTS("--listen", "unix:a", "--data", "x")));
                size_t size = strlen(fixture.path);
                cr_assert_eq(strncmp(fixture.problem, fixture.path, size), 0, "%s", fixture.problem);
                cr_assert_eq(strncmp(fixture.problem + size, cases[i][1], strlen(cases[i][1])), 0, "%s instead of %s",
                        fixture.problem, cases[i][1]);
        }
}

SCN_TEST(config, takes_each_setting_once_and_listens_often)
{
        struct fixture fixture;
        cr_assert(!read_config(&fixture, NULL, ARGUMENTS("--data", "a", "--data", "b")));
        cr_assert_str_eq(fixture.problem, "--data b: is given a second time");

        const char *arguments[2 * SCN_CONFIG_LISTENS_MAX + 3] = {NULL};
        for (size_t i = 0; i < 2 * SCN_CONFIG_LISTENS_MAX; i += 2) {
                arguments[i] = "--listen";
                arguments[i + 1] = "unix:a";
        }
        cr_assert(read_config(&fixture, NULL, arguments));
        cr_assert_eq(fixture.config.listens_count, SCN_CONFIG_LISTENS_MAX);
        arguments[2 * SCN_CONFIG_LISTENS_MAX] = "--listen";
        arguments[2 * SCN_CONFIG_LISTENS_MAX + 1] = "unix:a";
        cr_assert(!read_config(&fixture, NULL, arguments));
        cr_assert_str_eq(fixture.problem, "--listen unix:a: is one more than the 16 addresses there may be");
}

SCN_TEST(config, does_not_read_files_without_end)
{
        struct fixture fixture;
        cr_assert(!read_config(&fixture, NULL, ARGUMENTS("--config", "/dev/zero")));
        cr_assert_str_eq(fixture.problem, "--config /dev/zero: is larger than 64 KiB");

        static char lines[70000];
        memset(lines, '\n', 65536);
        cr_assert(read_config(&fixture, lines, NULL));
        memset(lines, '\n', 65537);
        cr_assert(!read_config(&fixture, lines, NULL));

        static char many[65536];
        for (size_t i = 0; i < 4000; i++)
                memcpy(many + 16 * i, "listen = unix:a\n", 16);
        cr_assert(!read_config(&fixture, many, NULL));
        cr_assert_not_null(strstr(fixture.problem, ":65: listen = unix:a: is one setting more than the 64"));
        many[16 * 64] = '\0';
        cr_assert(!read_config(&fixture, many, NULL));
        cr_assert_not_null(strstr(fixture.problem, ":17: listen = unix:a: is one more than the 16 addresses"),
                "of so many settings it is the addresses that are too many: %s", fixture.problem);
}

SCN_TEST(config, refuses_a_path_that_is_too_long)
{
        static char path[SCN_CONFIG_PATH_BYTES + 1];
        struct fixture fixture;
        memset(path, 'x', SCN_CONFIG_PATH_BYTES - 1);
        cr_assert(read_config(&fixture, NULL, ARGUMENTS("--data", path)));
        cr_assert_str_eq(fixture.config.data_path, path);
        path[SCN_CONFIG_PATH_BYTES - 1] = 'x';
        cr_assert(!read_config(&fixture, NULL, ARGUMENTS("--data", path)));
}
