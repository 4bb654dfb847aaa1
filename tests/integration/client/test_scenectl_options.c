/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* pipe2, setenv, usleep under -std=c11 */

/* What scenectl reads while it runs, its options that change what is done, and what holds where nothing is said. */

#include "tests/lib/network.h"
#include "tests/lib/stage.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* --- What is typed while it runs --- */

struct typing {
        int from; /* the command's end */
        int to;
};

static void begin_typing(struct typing *typing, struct stage *stage)
{
        int ends[2];
        cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
        *typing = (struct typing){ends[0], ends[1]};
        stage->input = typing->from;
}

static void type(const struct typing *typing, const char *text)
{
        cr_assert_eq(write(typing->to, text, strlen(text)), (ssize_t)strlen(text));
}

static void end_typing(const struct typing *typing, struct stage *stage)
{
        cr_assert_eq(close(typing->to), 0);
        cr_assert_eq(close(typing->from), 0);
        stage->input = 0;
}

SCN_TEST_WITH(scenectl_options, answers_each_line_it_is_given_before_its_input_ends, .timeout = 60)
{
        struct stage stage;
        struct typing typing;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        begin_typing(&typing, &stage);
        stage_start(&stage, "--json", "apply", "isle", "-", NULL);
        type(&typing, "{\"ops\":[{\"op\":\"rename\",\"node\":\"/Boat\",\"name\":\"Gannet\"}]}\n{\"ops\":");
        scn_daemon_wait_for_log(&stage.tool, "{\"rev\":3}\n");
        type(&typing, "[{\"op\":\"rename\",\"node\":\"/Boat\",\"name\":\"Tern\"}]}\n");
        scn_daemon_wait_for_log(&stage.tool, "{\"error\":\"no_node\",\"op\":0,");
        type(&typing, "{\"ops\":[{\"op\":\"rename\",\"node\":\"/Gannet\",\"name\":\"Tern\"}]}");
        end_typing(&typing, &stage);
        expect_part(stage_end(&stage, 1), "\"line\":2}\n{\"rev\":4}\n");
        stage_tear_down(&stage);
}

SCN_TEST_WITH(scenectl_options, replays_a_step_for_each_line_it_is_given, .timeout = 60)
{
        struct stage stage;
        struct typing typing;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        (void)stage_run(&stage, 0, "rename-node", "isle", "/Boat", "Gannet", NULL);
        (void)stage_run(&stage, 0, "rename-node", "isle", "/Gannet", "Tern", NULL);
        begin_typing(&typing, &stage);
        stage_start(&stage, "replay", "isle", "--from", "1", "--step", NULL);
        scn_daemon_wait_for_log(&stage.tool, "revision 1\n");
        (void)usleep(100000);
        cr_assert_eq(scn_daemon_log_count(&stage.tool, "revision 2"), 0, "it goes on by itself");
        type(&typing, "anything\n");
        scn_daemon_wait_for_log(&stage.tool, "revision 2  ann");
        (void)usleep(100000);
        cr_assert_eq(scn_daemon_log_count(&stage.tool, "revision 3"), 0, "a line is one step");
        type(&typing, "\n");
        scn_daemon_wait_for_log(&stage.tool, "revision 3  ann");
        end_typing(&typing, &stage);
        expect_part(stage_end(&stage, 0), "revision 4  ann");
        stage_tear_down(&stage);
}

/* --- Options that change what is done --- */

/* "time" of this revision, as log prints it, in microseconds. */
static uint64_t time_of(struct stage *stage, const char *revision)
{
        const char *log = stage_run(stage, 0, "--json", "log", "isle", "--from", revision, "--to", revision, NULL);
        const char *at = strstr(log, "\"time\":");
        cr_assert_not_null(at, "%s", log);
        return strtoull(at + strlen("\"time\":"), NULL, 10);
}

static uint64_t replay_ms(struct stage *stage, const char *speed)
{
        const uint64_t began_ms = scn_daemon_now_ms();
        expect_part(stage_run(stage, 0, "replay", "isle", "--from", "1", "--speed", speed, NULL), "revision 3  ann");
        return scn_daemon_now_ms() - began_ms;
}

SCN_TEST_WITH(scenectl_options, replays_as_many_times_as_fast_as_it_is_told, .timeout = 60)
{
        struct stage stage;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        (void)usleep(200000);
        (void)stage_run(&stage, 0, "rename-node", "isle", "/Boat", "Gannet", NULL);
        const uint64_t gap_ms = (time_of(&stage, "3") - time_of(&stage, "2")) / 1000;
        cr_assert_geq(gap_ms, (uint64_t)200);
        const uint64_t slow_ms = replay_ms(&stage, "0.1");
        cr_expect_geq(slow_ms, gap_ms * 10 < 5000 ? gap_ms * 10 : 5000, "it does not wait as long as it should");
        cr_expect_lt(replay_ms(&stage, "1e3"), slow_ms / 2);
        cr_expect_lt(replay_ms(&stage, "max"), slow_ms / 2);
        stage_tear_down(&stage);
}

SCN_TEST_WITH(scenectl_options, undoes_over_what_others_did_only_when_it_is_forced, .timeout = 60)
{
        struct stage stage;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        (void)stage_run(&stage, 0, "--as", "ben", "rename-node", "isle", "/Boat/Lamp", "Light", NULL);
        expect_part(stage_run(&stage, 1, "--json", "undo", "isle", NULL), "{\"error\":\"superseded\",");
        expect_part(stage_run(&stage, 0, "get", "isle", LAMP, NULL), "name: Light\n");
        expect(stage_run(&stage, 0, "--json", "undo", "isle", "--step", "2", "--force", NULL),
                "{\"rev\":4,\"steps\":[2],\"applied\":1,\"skipped\":[]}\n");
        expect_part(stage_run(&stage, 1, "get", "isle", LAMP, NULL), "gone");
        stage_tear_down(&stage);
}

SCN_TEST_WITH(scenectl_options, undoes_the_step_that_it_is_told, .timeout = 60)
{
        struct stage stage;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        (void)stage_run(&stage, 0, "rename-node", "isle", BOAT, "Gannet", NULL);
        (void)stage_run(&stage, 0, "transform", "isle", BOAT, "--translation", "7,7,7", NULL);
        expect(stage_run(&stage, 0, "--json", "undo", "isle", "--step", "3", NULL),
                "{\"rev\":5,\"steps\":[3],\"applied\":1,\"skipped\":[]}\n");
        expect_part(stage_run(&stage, 0, "get", "isle", BOAT, NULL), "name: Boat\n");
        expect_part(stage.output, "translation: 7 7 7\n");
        stage_tear_down(&stage);
}

SCN_TEST_WITH(scenectl_options, moves_with_a_shear_only_when_it_may_lose_it, .timeout = 60)
{
        struct stage stage;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        (void)stage_run(&stage, 0, "transform", "isle", "/Boat", "--scale", "1,4,1", NULL);
        (void)stage_run(&stage, 0, "transform", "isle", "/Boat/Lamp", "--rotation", "0,0,0.6,0.8", NULL);
        expect_part(stage_run(&stage, 1, "--json", "move", "isle", "/Boat/Lamp", "/", "--keep", "world", NULL),
                "{\"error\":\"shear\",\"op\":0,");
        expect_part(stage_run(&stage, 0, "get", "isle", LAMP, "--json", NULL), "\"parent\":\"" BOAT "\"");
        expect_part(stage_run(&stage, 0, "move", "isle", "/Boat/Lamp", "/", "--keep", "world", "--lossy", NULL),
                "revision 5\n");
        expect_part(stage_run(&stage, 0, "get", "isle", "/Lamp", NULL), "translation: 1 2.4 3\n");
        stage_tear_down(&stage);
}

SCN_TEST_WITH(scenectl_options, ends_the_session_that_it_is_told, .timeout = 60)
{
        static const char before[] = "\"session\":";
        struct stage stage;
        struct stage ben;
        char session[32];
        stage_set_up(&stage);
        stage_make_scene(&stage);
        stage_join(&ben, &stage);
        ben.author = "ben";
        stage_start(&ben, "watch", "isle", NULL);
        scn_daemon_wait_for_log(&ben.tool, "revision 2");
        const char *at = strstr(stage_run(&stage, 0, "--json", "who", "isle", NULL), before);
        cr_assert_not_null(at, "%s", stage.output);
        (void)snprintf(session, sizeof session, "%lu", strtoul(at + strlen(before), NULL, 10));
        (void)stage_run(&stage, 0, "kick", session, NULL);
        expect_part(stage_end(&ben, 1), "scenectl: kicked: ");
        expect(stage_run(&stage, 0, "--json", "who", "isle", NULL), "");
        expect_part(stage_run(&stage, 1, "kick", session, NULL), "there is no such session");
        stage_leave(&ben);
        stage_tear_down(&stage);
}

/* --- A backup into a pipe --- */

static void copy_file(const char *from, const char *to)
{
        char bytes[4096];
        size_t size;
        FILE *source = fopen(from, "re");
        FILE *copy = fopen(to, "we");
        cr_assert(source != NULL && copy != NULL);
        while ((size = fread(bytes, 1, sizeof bytes, source)) > 0) {
                cr_assert_eq(fwrite(bytes, 1, size, copy), size);
        }
        cr_assert_eq(fclose(source) | fclose(copy), 0);
}

SCN_TEST_WITH(scenectl_options, writes_a_backup_to_where_it_prints, .timeout = 60)
{
        struct stage stage;
        char path[SERVE_ADDRESS_BYTES];
        char digest[80];
        stage_set_up(&stage);
        stage_make_scene(&stage);
        (void)snprintf(digest, sizeof digest, "%s", stage_run(&stage, 0, "--json", "digest", "isle", NULL));
        (void)snprintf(path, sizeof path, "%s/copy.scene", stage.tool.folder);
        (void)stage_run(&stage, 0, "backup", "isle", "-", NULL);
        copy_file(stage.tool.log_path, path);
        expect_part(stage_run(&stage, 0, "--json", "verify", path, NULL), "\"ok\":true");
        (void)stage_run(&stage, 0, "restore-file", "copy", path, NULL);
        expect(stage_run(&stage, 0, "--json", "digest", "copy", NULL), digest);
        stage_tear_down(&stage);
}

/* --- Where nothing is said --- */

static void expect_author(struct stage *stage, const char *revision, const char *author)
{
        char line[64];
        (void)snprintf(line, sizeof line, "  %s  edit  ", author);
        expect_part(stage_run(stage, 0, "log", "isle", "--from", revision, NULL), line);
}

SCN_TEST_WITH(scenectl_options, edits_as_the_user_where_no_name_is_said, .timeout = 60)
{
        const struct passwd *user = getpwuid(getuid());
        struct stage stage;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        cr_assert_eq(setenv("USER", "cleo", 1), 0);
        (void)stage_run(&stage, 0, "rename-node", "isle", BOAT, "Gannet", NULL);
        expect_author(&stage, "3", "ann");
        stage.author = NULL;
        (void)stage_run(&stage, 0, "rename-node", "isle", BOAT, "Tern", NULL);
        expect_author(&stage, "4", "cleo");
        cr_assert_eq(unsetenv("USER"), 0);
        (void)stage_run(&stage, 0, "rename-node", "isle", BOAT, "Skua", NULL);
        if (user != NULL) {
                expect_author(&stage, "5", user->pw_name);
        }
        stage_tear_down(&stage);
}

/* Its client's uid, which nobody else has. */
SCN_TEST_WITH(scenectl_options, edits_as_a_guest_where_the_name_is_empty, .timeout = 60)
{
        struct stage stage;
        char client[64];
        char uid[40];
        stage_set_up(&stage);
        stage_make_scene(&stage);
        stage.author = "";
        (void)stage_run(&stage, 0, "rename-node", "isle", BOAT, "Gannet", NULL);
        const char *at = strstr(stage_run(&stage, 0, "--json", "log", "isle", "--from", "3", NULL), "\"author\":\"");
        cr_assert_not_null(at, "%s", stage.output);
        cr_assert_eq(sscanf(at, "\"author\":\"guest-%36[0-9a-f-]\"", uid), 1, "%s", stage.output);
        (void)snprintf(client, sizeof client, "\"client\":\"%s\"", uid);
        expect_part(stage.output, client);
        stage_tear_down(&stage);
}

SCN_TEST_WITH(scenectl_options, finds_a_server_that_was_told_nothing_when_it_is_told_nothing, .timeout = 60)
{
        static const char *const nothing[] = {NULL};
        struct stage stage = {.author = NULL};
        if (!network_begin()) {
                cr_skip_test("a network namespace cannot be had here: it takes root");
        }
        network_set_loopback(true);
        cr_assert_eq(unsetenv("SCENED_SERVER"), 0);
        scn_daemon_init(&stage.tool);
        scn_daemon_init(&stage.serve.daemon);
        expect_part(stage_run(&stage, 3, "ping", NULL), "127.0.0.1:7420: ");
        scn_daemon_start(&stage.serve.daemon, &(struct scn_daemon_options){.program = "scened", .arguments = nothing});
        scn_daemon_wait_for_log(&stage.serve.daemon, "listening on 127.0.0.1:7420");
        (void)stage_run(&stage, 0, "create", "isle", NULL);
        char path[2 * SERVE_ADDRESS_BYTES];
        (void)snprintf(path, sizeof path, "%s/scened-data/isle.scene", stage.serve.daemon.folder);
        cr_expect_eq(access(path, F_OK), 0);
        stage_tear_down(&stage);
}
