/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* setenv, truncate under -std=c11 */

/* What scenectl says of a wrong command line, of what it does not do, and of what was done otherwise. */

#include "tests/lib/stage.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

SCN_TEST_WITH(scenectl_words, complains_in_json_of_any_wrong_command_line, .timeout = 60)
{
        static const char *const cases[][4] = {
                {"ls", "--bogus"},
                {"ls", "a"},
                {"get"},
                {"ls", "--server"},
                {"nonsense"},
                {"undo", "isle", "x"},
                {NULL},
        };
        struct stage stage;
        stage_set_up(&stage);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                const char *output = stage_run(&stage, 2, "--json", cases[i][0], cases[i][1], cases[i][2], NULL);
                expect_part(output, "{\"error\":\"usage\",\"message\":\"");
                cr_assert_eq(strchr(output, '\n'), output + strlen(output) - 1, "more than a line: %s", output);
        }
        expect_part(stage_run(&stage, 2, "ls", "--bogus", NULL), "unrecognized option '--bogus'");
        stage_tear_down(&stage);
}

SCN_TEST_WITH(scenectl_words, names_a_wrong_or_deaf_server_as_it_was_given, .timeout = 60)
{
        struct stage stage;
        stage_set_up(&stage);
        expect_part(stage_run(&stage, 2, "ping", "--server", "bogus", NULL), "--server: 'bogus' is no address");
        expect_part(stage_run(&stage, 3, "ping", "--server", "[::1]:1", NULL), "[::1]:1: ");
        expect_part(stage_run(&stage, 3, "ping", "--server", "127.0.0.1:1", NULL), " 127.0.0.1:1: ");
        cr_assert_eq(setenv("SCENED_SERVER", "bogus", 1), 0);
        expect_part(stage_run(&stage, 2, "ping", NULL), "SCENED_SERVER: 'bogus' is no address");
        stage_tear_down(&stage);
}

SCN_TEST_WITH(scenectl_words, takes_steps_in_a_number_that_is_one_and_says_when_there_were_fewer, .timeout = 60)
{
        struct stage stage;
        stage_set_up(&stage);
        (void)stage_run(&stage, 0, "create", "isle", NULL);
        (void)stage_run(&stage, 0, "add", "isle", "/", "Boat", NULL);
        expect_part(stage_run(&stage, 2, "undo", "isle", "0", NULL), "'0' is no whole number from 1 to 1000");
        expect_part(stage_run(&stage, 2, "redo", "isle", "0", NULL), "'0' is no whole number");
        expect_part(stage_run(&stage, 2, "undo", "isle", "1001", NULL), "'1001' is no whole number");
        expect_part(stage_run(&stage, 0, "undo", "isle", "1000", NULL), "note: 1 of 1000 steps: ");
        expect_part(stage_run(&stage, 0, "redo", "isle", "2", NULL), "note: 1 of 2 steps: ");
        expect_no_part(stage_run(&stage, 0, "undo", "isle", NULL), "note");
        stage_tear_down(&stage);
}

SCN_TEST_WITH(scenectl_words, exports_nothing_but_gltf, .timeout = 60)
{
        struct stage stage;
        char path[SERVE_ADDRESS_BYTES];
        stage_set_up(&stage);
        (void)stage_run(&stage, 0, "create", "isle", NULL);
        (void)snprintf(path, sizeof path, "%s/x.obj", stage.tool.folder);
        expect_part(stage_run(&stage, 2, "export", "isle", path, NULL), "it ends in .gltf or .glb");
        cr_assert_eq(access(path, F_OK), -1);
        (void)snprintf(path, sizeof path, "%s/x.GLTF", stage.tool.folder);
        (void)stage_run(&stage, 0, "export", "isle", path, NULL);
        cr_assert_eq(unlink(path), 0);
        stage_tear_down(&stage);
}

static void write_edit(const char *path, const char *rotation)
{
        FILE *file = fopen(path, "w");
        cr_assert_not_null(file);
        (void)fprintf(file,
                "{\"ops\":[{\"op\":\"add\",\"parent\":\"/\",\"name\":\"Lamp\"},"
                "{\"op\":\"transform\",\"node\":\"/Boat\",\"r\":[%s]}]}\n",
                rotation);
        cr_assert_eq(fclose(file), 0);
}

SCN_TEST_WITH(scenectl_words, says_the_uids_of_what_was_added_and_what_was_done_otherwise, .timeout = 60)
{
        struct stage stage;
        char path[SERVE_ADDRESS_BYTES];
        stage_set_up(&stage);
        (void)stage_run(&stage, 0, "create", "isle", NULL);
        expect_part(stage_run(&stage, 0, "add", "isle", "/", "Boat", "--uid", BOAT, "--rotation", "0,0,0,2", NULL),
                "note: the rotation was normalised\n");
        (void)snprintf(path, sizeof path, "%s/edits", stage.tool.folder);
        write_edit(path, "0,3,0,0");
        expect_part(
                stage_run(&stage, 0, "apply", "isle", path, NULL), "revision 2\nnote: the rotation was normalised\n");
        write_edit(path, "3,0,0,0");
        const char *output = stage_run(&stage, 0, "--json", "apply", "isle", path, NULL);
        expect_part(output, "{\"rev\":3,\"results\":[{\"op\":0,\"uid\":\"");
        expect_part(output, "{\"op\":1,\"uid\":\"" BOAT "\",\"otherwise\":[\"normalised\"]}]}\n");
        cr_assert_eq(unlink(path), 0);
        stage_tear_down(&stage);
}

SCN_TEST_WITH(scenectl_words, offers_each_command_what_it_can_do, .timeout = 60)
{
        struct stage stage;
        stage_set_up(&stage);
        (void)stage_run(&stage, 0, "create", "isle", NULL);
        (void)stage_run(&stage, 0, "add", "isle", "/", "Boat", NULL);
        expect_no_part(stage_run(&stage, 0, "log", "--help", NULL), "replay");
        expect_no_part(stage_run(&stage, 0, "undo", "--help", NULL), "undo: ");
        expect_no_part(stage_run(&stage, 0, "diff", "--help", NULL), "presence");
        expect_part(stage_run(&stage, 0, "watch", "--help", NULL), "presence");
        expect_part(
                stage_run(&stage, 2, "diff", "isle", "0", "1", "--mask", "presence", NULL), "'presence' is no channel");
        expect_part(stage_run(&stage, 2, "replay", "isle", "--mask", "world", NULL), "'world' is no channel");
        (void)stage_run(&stage, 0, "tag", "isle", "first", "1", NULL);
        expect_part(stage_run(&stage, 0, "tag", "isle", NULL), "name: first, rev: 1, time: ");
        expect_no_part(stage_run(&stage, 0, "verify", "isle", NULL), "\"");
        stage_tear_down(&stage);
}

/* What a mask leaves out is not known: it must not look as if it had a value. */
SCN_TEST_WITH(scenectl_words, prints_of_a_new_node_only_what_was_asked_for, .timeout = 60)
{
        struct stage stage;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        expect_part(stage_run(&stage, 0, "--json", "diff", "isle", "0", "1", "--mask", "properties", NULL),
                ",\"after\":null,\"props\":{}}],\"removed\":[],\"left\":[]}\n");
        expect_part(stage.output, "{\"from\":0,\"to\":1,\"changed\":[{\"uid\":\"" BOAT "\",\"parent\":\"");
        expect_no_part(stage.output, "\"name\"");
        expect_no_part(stage.output, "\"t\"");
        expect_part(stage_run(&stage, 0, "--json", "replay", "isle", "--from", "2", "--mask", "name", NULL),
                "{\"uid\":\"" LAMP "\",\"parent\":\"" BOAT "\",\"after\":null,\"name\":\"Lamp\"}]");
        stage_start(&stage, "--json", "watch", "isle", "/Boat/Lamp", "--mask", "presence", NULL);
        scn_daemon_wait_for_log(&stage.tool, "{\"uid\":\"" LAMP "\",\"parent\":null,\"after\":null}],");
        cr_expect_eq(scn_daemon_stop(&stage.tool), 128 + SIGTERM);
        stage_tear_down(&stage);
}

SCN_TEST_WITH(scenectl_words, says_what_an_undo_would_change_and_programs_as_ever, .timeout = 60)
{
        struct stage stage;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        expect(stage_run(&stage, 0, "undo", "isle", "2", "--dry-run", NULL),
                "would change 2, revision 2  steps: [2,1], skipped: []\n");
        expect(stage_run(&stage, 0, "--json", "undo", "isle", "2", "--dry-run", NULL),
                "{\"rev\":2,\"changed\":false,\"steps\":[2,1],\"applied\":2,\"skipped\":[]}\n");
        (void)stage_run(&stage, 0, "transform", "isle", "/Boat", "--translation", "7,7,7", NULL);
        (void)stage_run(&stage, 0, "--as", "ben", "transform", "isle", "/Boat", "--translation", "8,8,8", NULL);
        expect_part(stage_run(&stage, 0, "undo", "isle", "--dry-run", NULL),
                "would change nothing, revision 4  steps: [3]");
        expect_part(stage.output, ", skipped: 1\n  skipped translation of " BOAT ": superseded by ben, revision 4, 20");
        cr_expect_null(strstr(stage.output, "applied"), "%s", stage.output);
        stage_tear_down(&stage);
}

SCN_TEST_WITH(scenectl_words, tells_people_in_words_what_an_undo_has_left_alone, .timeout = 60)
{
        struct stage stage;
        char path[SERVE_ADDRESS_BYTES];
        stage_set_up(&stage);
        stage_make_scene(&stage);
        (void)snprintf(path, sizeof path, "%s/edits", stage.tool.folder);
        FILE *file = fopen(path, "w");
        cr_assert_not_null(file);
        (void)fprintf(file,
                "{\"ops\":[{\"op\":\"transform\",\"node\":\"/Boat\",\"t\":[7,7,7]},"
                "{\"op\":\"set\",\"node\":\"/Boat\",\"key\":\"cargo\",\"value\":1},"
                "{\"op\":\"rename\",\"node\":\"/Boat/Lamp\",\"name\":\"Light\"}]}\n");
        cr_assert_eq(fclose(file), 0);
        (void)stage_run(&stage, 0, "apply", "isle", path, NULL);
        cr_assert_eq(unlink(path), 0);
        (void)stage_run(&stage, 0, "--as", "ben", "transform", "isle", "/Boat", "--translation", "8,8,8", NULL);
        (void)stage_run(&stage, 0, "--as", "ben", "set", "isle", "/Boat", "cargo", "2", NULL);
        expect_part(stage_run(&stage, 0, "undo", "isle", NULL), "revision 6  steps: [3], applied: 1, skipped: 2\n");
        expect_part(stage.output, "\n  skipped translation of " BOAT ": superseded by ben, revision 4, 20");
        expect_part(stage.output, "\n  skipped property cargo of " BOAT ": superseded by ben, revision 5, 20");
        expect_part(stage.output + strlen(stage.output) - 2, "Z\n");
        stage_tear_down(&stage);
}

SCN_TEST_WITH(scenectl_words, tells_people_once_that_the_connection_is_lost_and_goes_on_when_it_is_back, .timeout = 60)
{
        static const char told[] = "scenectl: connection lost: trying again for 10 s\n";
        struct stage stage;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        stage_start(&stage, "watch", "isle", NULL);
        scn_daemon_wait_for_log(&stage.tool, "revision 2");
        serve_kill(&stage.serve);
        scn_daemon_wait_for_log(&stage.tool, told);
        serve_start(&stage.serve);
        struct scn_daemon watcher = stage.tool;
        scn_daemon_init(&stage.tool);
        (void)stage_run(&stage, 0, "rename-node", "isle", "/Boat", "Gannet", NULL);
        scn_daemon_wait_for_log(&watcher, "Gannet");
        cr_expect_eq(scn_daemon_log_count(&watcher, told), 1);
        cr_expect_eq(scn_daemon_stop(&watcher), 128 + SIGTERM);
        scn_daemon_finish(&watcher);
        stage_tear_down(&stage);
}

SCN_TEST_WITH(scenectl_words, gives_a_server_up_that_stays_away_and_tells_programs_in_one_line, .timeout = 60)
{
        struct stage stage;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        stage_start(&stage, "--json", "watch", "isle", NULL);
        scn_daemon_wait_for_log(&stage.tool, "\"to\":2");
        serve_kill(&stage.serve);
        cr_expect_eq(scn_daemon_wait(&stage.tool), 3);
        cr_expect_eq(scn_daemon_log_count(&stage.tool, "connection lost"), 0);
        cr_expect_eq(scn_daemon_log_count(&stage.tool, "{\"error\":\"no_connection\""), 1);
        serve_start(&stage.serve);
        stage_tear_down(&stage);
}

SCN_TEST_WITH(scenectl_words, says_where_a_tag_stood_and_that_it_was_removed, .timeout = 60)
{
        struct stage stage;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        expect(stage_run(&stage, 0, "tag", "isle", "b", "1", NULL), "name: b, rev: 1\n");
        expect(stage_run(&stage, 0, "tag", "isle", "a", "1", NULL), "name: a, rev: 1\n");
        expect(stage_run(&stage, 0, "tag", "isle", "a", "1", NULL), "name: a, rev: 1\n");
        expect(stage_run(&stage, 0, "tag", "isle", "a", "0", NULL), "name: a, rev: 0, was: 1\n");
        expect(stage_run(&stage, 0, "--json", "tag", "isle", "a", NULL), "{\"name\":\"a\",\"rev\":2,\"was\":0}\n");
        expect(stage_run(&stage, 0, "--json", "tag", "isle", "a", "--remove", NULL),
                "{\"name\":\"a\",\"rev\":2,\"removed\":true}\n");
        expect(stage_run(&stage, 0, "tag", "isle", "b", "--remove", NULL), "name: b, rev: 1, removed: true\n");
        stage_tear_down(&stage);
}

/* What a path takes apart, a backslash keeps together (PROTOCOL §1). */
SCN_TEST_WITH(scenectl_words, reaches_a_name_with_a_slash_by_path, .timeout = 60)
{
        struct stage stage;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        (void)stage_run(&stage, 0, "add", "isle", "/Boat", "a/b[1]\\", "--uid", NEW, NULL);
        expect_part(
                stage_run(&stage, 0, "--json", "get", "isle", "/Boat/a\\/b\\[1]\\\\", NULL), "{\"uid\":\"" NEW "\",");
        expect_part(stage_run(&stage, 0, "--json", "world", "isle", NEW, NULL),
                "\"path\":\"/Boat/a\\\\/b\\\\[1]\\\\\\\\\"");
        expect_part(stage_run(&stage, 1, "get", "isle", "/Boat/a/b", NULL), "no_node");
        stage_tear_down(&stage);
}

/* The texts of --help are held against what is so. */
SCN_TEST_WITH(scenectl_words, takes_the_node_and_the_first_revision_of_log_and_replay_as_their_help_says, .timeout = 60)
{
        struct stage stage;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        (void)stage_run(&stage, 0, "rename-node", "isle", "/Boat", "Gannet", NULL);
        (void)stage_run(&stage, 0, "rename-node", "isle", LAMP, "Light", NULL);
        expect_part(stage_run(&stage, 0, "log", "--help", NULL), "itself included");
        expect_part(stage_run(&stage, 0, "--json", "log", "isle", "--from", "2", "--to", "2", NULL), "{\"rev\":2,");
        expect_part(stage_run(&stage, 0, "replay", "--help", NULL), "begin after it");
        const char *output = stage_run(&stage, 0, "--json", "replay", "isle", "--from", "2", "--to", "3", NULL);
        cr_expect_eq(strncmp(output, "{\"from\":0,\"to\":2,", 17), 0, "%s", output);
        expect_part(output, "\n{\"from\":2,\"to\":3,");
        expect_part(stage_run(&stage, 0, "tree", "isle", "/Boat", "--at", "2", NULL), "Boat  " BOAT);
        expect_part(stage_run(&stage, 1, "tree", "isle", "/Gannet", "--at", "2", NULL), "no_node");
        expect_part(stage_run(&stage, 1, "log", "isle", "--node", "/Boat", NULL), "no_node");
        output = stage_run(&stage, 0, "--json", "log", "isle", "--node", "/Gannet", NULL);
        expect_part(output, "{\"rev\":3,");
        cr_expect_null(strstr(output, "{\"rev\":4,"), "%s", output);
        expect_part(stage_run(&stage, 1, "replay", "isle", "--node", "/Boat", NULL), "no_node");
        output = stage_run(&stage, 0, "--json", "replay", "isle", "--node", "/Gannet", "--speed", "max", NULL);
        expect_part(output, "\"to\":4,\"time\"");
        stage_tear_down(&stage);
}

/* Its nodes are the same, but for the root; who made them, and when, is not. */
SCN_TEST_WITH(scenectl_words, makes_by_a_replay_a_document_of_equal_nodes_and_another_author, .timeout = 60)
{
        struct stage stage;
        char digest[33];
        stage_set_up(&stage);
        stage_make_scene(&stage);
        (void)stage_run(&stage, 0, "replay", "isle", "--speed", "max", "--into", "copy", "--as", "ben", NULL);
        expect_part(stage_run(&stage, 0, "log", "copy", NULL), "  ben  edit  add ");
        expect_no_part(stage.output, "ann");
        (void)snprintf(digest, sizeof digest, "%.32s", stage_run(&stage, 0, "digest", "isle", "/Boat", NULL));
        cr_assert_eq(strlen(digest), 32);
        cr_expect_eq(strncmp(stage_run(&stage, 0, "digest", "copy", "/Boat", NULL), digest, 32), 0, "%s", stage.output);
        (void)snprintf(digest, sizeof digest, "%.32s", stage_run(&stage, 0, "digest", "isle", NULL));
        cr_expect_neq(strncmp(stage_run(&stage, 0, "digest", "copy", NULL), digest, 32), 0, "%s", stage.output);
        /* Once more its first node is there already: that ends it, and nothing comes behind it. */
        (void)stage_run(&stage, 0, "rename-node", "isle", "/Boat", "Ship", NULL);
        expect_part(stage_run(&stage, 1, "replay", "isle", "--speed", "max", "--into", "copy", NULL),
                "exists: revision 1 of what is replayed: ");
        expect_part(stage_run(&stage, 0, "log", "copy", "--last", "1", NULL), "2  ");
        stage_tear_down(&stage);
}
