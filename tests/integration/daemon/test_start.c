/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* symlink under -std=c11 */

/* Starting, and asking whether it would, where the data directory is none, or cannot be had: setting, value and cause
 * are named, and nothing has changed. */

#include "tests/lib/daemon.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES (SCN_DAEMON_PATH_BYTES + 32)
/* Root may write anywhere, unless this is taken from it. */
#define SETPRIV "/usr/bin/setpriv"
#define WITHOUT_RIGHTS "--bounding-set=-dac_override,-dac_read_search"

static const char *path_in(const struct scn_daemon *daemon, const char *name)
{
        static char path[PATH_BYTES];
        (void)snprintf(path, sizeof path, "%s/%s", daemon->folder, name);
        return path;
}

/* A file, a link to nothing, a folder that is not for writing. */
static void set_up(struct scn_daemon *daemon)
{
        scn_daemon_init(daemon);
        FILE *file = fopen(path_in(daemon, "file"), "we");
        cr_assert_not_null(file);
        (void)fclose(file);
        cr_assert_eq(symlink("nowhere", path_in(daemon, "link")), 0);
        cr_assert_eq(mkdir(path_in(daemon, "closed"), 0500), 0);
}

static unsigned count_entries(const struct scn_daemon *daemon, const char *name)
{
        unsigned count = 0;
        DIR *stream = opendir(path_in(daemon, name));
        cr_assert_not_null(stream);
        while (readdir(stream) != NULL)
                count++;
        (void)closedir(stream);
        return count;
}

/* Ends with this exit code, having said this and nothing else. */
static void expect(struct scn_daemon *daemon, bool is_check, const char *data, int code, const char *says)
{
        char program[256];
        const char *arguments[] = {
                WITHOUT_RIGHTS, program, "--data", data, "--listen", "unix:socket", is_check ? "--check" : NULL, NULL};
        const bool is_root = geteuid() == 0;
        (void)snprintf(program, sizeof program, "%s/scened", scn_daemon_bin());
        (void)truncate(daemon->log_path, 0);
        const int got = scn_daemon_run(daemon,
                &(struct scn_daemon_options){
                        .program = is_root ? SETPRIV : "scened", .arguments = is_root ? arguments : arguments + 2});
        char *log = scn_daemon_log(daemon);
        cr_expect_eq(got, code, "--data %s: exit code %d: %s", data, got, log);
        cr_expect_not_null(strstr(log, says), "--data %s: nothing of \"%s\" in: %s", data, says, log);
        const char *end = strchr(log, '\n');
        cr_expect(end != NULL && end[1] == '\0', "one line is wanted: %s", log);
        scn_free(log);
}

SCN_TEST(start, names_setting_value_and_cause_where_the_data_directory_cannot_be_had)
{
        static const struct {
                const char *data;
                const char *starting;
                const char *checking;
        } rows[] = {
                {"file", "error start: --data file: cannot open the data directory ",
                        "scened: --data file: Not a directory\n"},
                {"file/data",
                        "error start: --data file/data: cannot make the data directory file/data: Not a directory\n",
                        "scened: --data file/data: Not a directory\n"},
                {"none/data",
                        "error start: --data none/data: cannot make the data directory none/data: "
                        "No such file or directory\n",
                        "scened: --data none/data: cannot be made in none: No such file or directory\n"},
                {"link", "error start: --data link: cannot find the data directory link: No such file or directory\n",
                        "scened: --data link: is a link to nothing\n"},
                {"closed/data/",
                        "error start: --data closed/data/: cannot make the data directory closed/data/: "
                        "Permission denied\n",
                        "scened: --data closed/data/: cannot be made in closed: Permission denied\n"},
                {"closed", "error start: --data closed: cannot open the lock file in ",
                        "scened: --data closed: Permission denied\n"},
        };
        struct scn_daemon daemon;

        set_up(&daemon);
        const unsigned before = count_entries(&daemon, ".");
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                expect(&daemon, true, rows[i].data, 1, rows[i].checking);
                expect(&daemon, false, rows[i].data, 1, rows[i].starting);
        }
        cr_expect_eq(scn_daemon_log_count(&daemon, ": Permission denied"), 1, "the cause is missing");
        cr_expect_eq(count_entries(&daemon, "."), before + 1, "something has been made beside the log");
        cr_expect_eq(count_entries(&daemon, "closed"), 2);
        scn_daemon_finish(&daemon);
}

/* Longer than all that can be said in a line. */
SCN_TEST(start, names_the_cause_behind_a_path_however_long_it_is)
{
        struct scn_daemon daemon;
        char path[2001];

        for (size_t i = 0; i < sizeof path - 1; i++)
                path[i] = i % 10 == 9 ? '/' : 'x';
        path[sizeof path - 2] = 'x';
        path[sizeof path - 1] = '\0';
        set_up(&daemon);
        expect(&daemon, true, path, 1, "x: No such file or directory\n");
        expect(&daemon, false, path, 1, "x: No such file or directory\n");
        scn_daemon_finish(&daemon);
}

SCN_TEST(start, names_who_has_the_data_directory)
{
        struct scn_daemon daemon, second;
        const char *arguments[] = {"--data", "data", "--listen", "127.0.0.1:0", NULL};
        char wanted[256];

        set_up(&daemon);
        scn_daemon_start(&daemon, &(struct scn_daemon_options){.program = "scened", .arguments = arguments});
        (void)scn_daemon_port(&daemon);
        second = daemon;
        second.process = 0;
        (void)snprintf(second.log_path, sizeof second.log_path, "%s/log2", daemon.folder);
        (void)snprintf(wanted, sizeof wanted, "error start: --data data: process %d has the data directory %s/data\n",
                (int)daemon.process, daemon.folder);
        expect(&second, false, "data", 1, wanted);
        cr_expect_eq(scn_daemon_stop(&daemon), 0);
        scn_daemon_finish(&daemon);
}

SCN_TEST(start, finds_the_settings_good_where_the_data_directory_is_there_or_can_be_made)
{
        static const char *const rows[] = {"data", "data/", "./data", "open", "open//", "open/data", "."};
        struct scn_daemon daemon;

        set_up(&daemon);
        cr_assert_eq(mkdir(path_in(&daemon, "open"), 0700), 0);
        const unsigned before = count_entries(&daemon, ".");
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                expect(&daemon, true, rows[i], 0, "scened: the settings are good\n");
        cr_expect_eq(count_entries(&daemon, "."), before + 1, "something has been made beside the log");
        cr_expect_eq(count_entries(&daemon, "open"), 2);
        scn_daemon_finish(&daemon);
}
