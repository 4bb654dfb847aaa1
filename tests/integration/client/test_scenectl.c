/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* truncate under -std=c11 */

/* The command line against the daemon: what is printed, to the byte where programs read it, and how it ends. */

#include "tests/lib/stage.h"

#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

SCN_TEST_WITH(scenectl, manages_documents, .timeout = 60)
{
        struct stage stage;
        stage_set_up(&stage);
        expect(stage_run(&stage, 0, "ls", NULL), "");
        (void)stage_run(&stage, 0, "create", "b", NULL);
        expect(stage_run(&stage, 0, "create", "a", "--json", NULL), "{\"doc\":\"a\"}\n");
        expect(stage_run(&stage, 1, "--json", "create", "a", NULL),
                "{\"error\":\"document_exists\",\"message\":\"document a: a document has this name already\"}\n");
        (void)stage_run(&stage, 0, "rename", "a", "c", NULL);
        expect(stage_run(&stage, 0, "ls", NULL), "b\nc\n");
        (void)stage_run(&stage, 0, "delete", "b", NULL);
        expect(stage_run(&stage, 0, "ls", "--json", NULL), "{\"doc\":\"c\"}\n");
        expect_part(stage_run(&stage, 0, "ls", "--trash", NULL), "b  deleted 2");
        expect_part(stage_run(&stage, 0, "ls", "--trash", "--json", NULL), "{\"doc\":\"b\",\"deleted_us\":1");
        (void)stage_run(&stage, 0, "undelete", "b", NULL);
        expect(stage_run(&stage, 0, "ls", NULL), "b\nc\n");
        expect(stage_run(&stage, 0, "ls", "--trash", NULL), "");
        expect_part(stage_run(&stage, 0, "info", "b", "--json", NULL),
                "{\"doc\":\"b\",\"rev\":0,\"durable\":0,\"epoch\":\"");
        expect_part(stage_run(&stage, 0, "who", "--json", NULL), "\"author\":\"ann\"");
        expect_part(stage_run(&stage, 1, "kick", "12345", NULL), "no_session");
        expect_part(stage_run(&stage, 0, "ping", NULL), "answered");
        stage_tear_down(&stage);
}

/* Each as it is typed, and what must stand in the answer. */
static const struct {
        int code;
        const char *words[8];
        const char *wanted;
} wrongs[] = {
        {1, {"info", "nope"}, "document nope: no document"},
        {1, {"info", "nope"}, "scenectl ls names the documents"},
        {1, {"who", "nope"}, "document nope: no document"},
        {1, {"delete", "nope"}, "document nope: no document"},
        {1, {"undelete", "nope"}, "document nope: there is none of this name in the trash"},
        {1, {"rename", "nope", "other"}, "document nope: no document"},
        {1, {"rename", "isle", "port"}, "document port: a document has this name"},
        {1, {"create", "isle"}, "document isle: a document has this name"},
        {1, {"fork", "isle", "port"}, "document port: a document has this name"},
        {1, {"fork", "isle", "new", "--at", "99"}, "revision 99: the last revision is 2"},
        {1, {"verify", "nope"}, "document nope: no document"},
        {1, {"verify", "./nope.scene"}, "./nope.scene: there is no nope.scene"},
        {1, {"verify", "/etc/passwd"}, "/etc/passwd: file is not a database"},
        {1, {"restore-file", "new", "/etc/passwd"}, "/etc/passwd: "},
        {1, {"restore-file", "new", "/nonexistent"}, "/nonexistent: No such file"},
        {1, {"restore-file", "isle", "/etc/passwd"}, "document isle: a document has this name already; --replace"},
        {1, {"backup", "nope", "x"}, "document nope: no document"},
        {1, {"backup", "isle", "/nonexistent/x"}, "/nonexistent/x: "},
        {1, {"export", "isle", "/nonexistent/x.glb"}, "/nonexistent/x.glb: "},
        {1, {"export", "isle", "x.glb", "--at", "fleet"}, "tag fleet: no tag"},
        {1, {"import", "isle", "/nonexistent.gltf"}, "/nonexistent.gltf: "},
        {1, {"apply", "isle", "/nonexistent"}, "/nonexistent: cannot be read"},
        {1, {"kick", "12345"}, "session 12345: there is no such session"},
        {1, {"tree", "isle", "/X"}, "node /X: no node has this path"},
        {1, {"tree", "isle", "--at", "2026-13-01T00:00:00Z"}, "time 2026-13-01T00:00:00Z: "},
        {1, {"get", "isle", "/X"}, "node /X: "},
        {1, {"get", "isle", "/["}, "node /[: the path is malformed"},
        {1, {"get", "isle", "/Boat", "--at", "99"}, "revision 99: the last revision is 2"},
        {1, {"world", "isle", "/X"}, "no_node: node /X: no node has this path"},
        {1, {"world", "isle", "/Boat", "--relative-to", "/X"}, "no_node: relative /X: "},
        {1, {"digest", "isle", "/X"}, "node /X: "},
        {1, {"digest", "isle", "--at", "fleet"}, "scenectl tag DOCUMENT --list names the tags"},
        {1, {"blame", "isle", "/X"}, "node /X: "},
        {1, {"log", "isle", "--node", "/X"}, "node /X: "},
        {1, {"log", "isle", "--until", "fleet"}, "tag fleet: "},
        {1, {"diff", "isle", "1", "fleet"}, "tag fleet: "},
        {1, {"diff", "isle", "1", "99"}, "revision 99: the last revision is 2"},
        {1, {"replay", "isle", "--from", "99"}, "revision 99: the last revision is 2"},
        {1, {"replay", "isle", "--to", "fleet"}, "tag fleet: "},
        {1, {"restore", "isle", "99"}, "revision 99: the last revision is 2"},
        {1, {"restore", "isle", "1", "--node", "/X"}, "node /X: "},
        {1, {"restore", "isle", "1", "--node", LAMP}, LAMP ": it was not there at revision 1"},
        {1, {"tag", "isle", "fleet", "99"}, "revision 99: the last revision is 2"},
        {1, {"tag", "isle", "fleet", "--remove"}, "tag fleet: no tag"},
        {1, {"watch", "isle", "/X"}, "node /X: "},
        {1, {"watch", "isle", "--since", "99"}, "revision 99: the last revision is 2"},
        {1, {"lock", "isle", "/Boat", "/X", "--ttl", "5"}, "node /X: "},
        {1, {"unlock", "isle", "/X"}, "node /X: "},
        {1, {"undo", "isle", "--step", "99"}, "step 99: "},
        {1, {"move", "isle", "/X", "/"}, "node /X: "},
        {1, {"move", "isle", "/Boat", "/X"}, "parent /X: "},
        {1, {"rm", "isle", "/X"}, "node /X: "},
        {1, {"transform", "isle", "/X", "--scale", "1,1,1"}, "node /X: "},
        {1, {"rename-node", "isle", "/X", "Y"}, "node /X: "},
        {1, {"set", "isle", "/X", "key", "1"}, "node /X: "},
        {1, {"set", "isle", "/Boat", "", "1"},
                "property '': the property key is empty or longer than the limit, key_bytes_max = 128"},
        {1, {"unset", "isle", "/X", "key"}, "node /X: "},
        {2, {"tree", "isle", "Boat"}, "NODE: 'Boat' is no node"},
        {2, {"tree", "isle", "--depth", "-1"}, "--depth: '-1' is no whole number"},
        {2, {"add", "isle", "/", "N", "--index", "x"}, "--index: 'x' is no whole number"},
        {2, {"add", "isle", "/", "N", "--after", "x"}, "--after: 'x' is no node"},
        {2, {"add", "isle", "/", "N", "--uid", "x"}, "--uid: 'x' is no uid"},
        {2, {"add", "isle", "/", "N", "--set", "x=y"}, "--set: 'y' is no JSON"},
        {2, {"transform", "isle", "/Boat", "--scale", "1,2"}, "--scale: '1,2' is not 3 numbers"},
        {2, {"set", "isle", "/Boat", "key", "{"}, "JSON: '{' is no JSON"},
        {2, {"undo", "isle", "x"}, "N: 'x' is no whole number"},
        {2, {"tag", "isle", "fleet", "x"}, "REV: 'x' is no whole number"},
        {2, {"kick", "x"}, "SESSION: 'x' is no whole number"},
        {2, {"watch", "isle", "--mask", "x"}, "--mask: 'x' is no channel"},
        {2, {"watch", "isle", "--mask", "world,name"}, "--mask: world goes with none of structure, name, "},
        {2, {"watch", "isle", "--mask", "world", "--since", "1"}, "--mask: world tells what is, and has no --since"},
        {2, {"diff", "isle", "2", "1"}, "diff goes from an older revision to a newer one: 2 lies behind 1"},
        {1, {"tree", "isle", "--at", "2026-11-30"}, "a time is 2026-11-30T09:02:41Z"},
        {2, {"replay", "isle", "--speed", "x"}, "--speed: 'x' is no speed"},
        {2, {"--server", "x", "ping"}, "--server: 'x' is no address"},
        {3, {"--server", "unix:/nonexistent", "ping"}, "is scened running there?"},
};

SCN_TEST_WITH(scenectl, names_what_was_wrong_whatever_was_asked, .timeout = 120)
{
        struct stage stage;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        (void)stage_run(&stage, 0, "create", "port", NULL);
        for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
                const char *const *words = wrongs[i].words;
                expect_part(stage_run(&stage, wrongs[i].code, words[0], words[1], words[2], words[3], words[4],
                                    words[5], words[6], words[7], NULL),
                        wrongs[i].wanted);
        }
        stage_tear_down(&stage);
}

SCN_TEST_WITH(scenectl, tells_of_a_parent_that_is_not_there_and_not_of_the_uid_it_made_up, .timeout = 60)
{
        struct stage stage;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        expect(stage_run(&stage, 1, "add", "isle", "/X", "N", NULL),
                "scenectl: no_node: parent /X: no node has this path\n  op 0\n");
        const char *got = stage_run(&stage, 1, "add", "isle", "/", "N", "--rotation", "0,0,0,0", "--json", NULL);
        expect_part(got, "{\"error\":\"zero_quaternion\",\"op\":0,\"message\":\"rotation: a rotation has no length\"");
        got = stage_run(&stage, 1, "add", "isle", "/", "N", "--rotation", "0,0,0,0", "--uid", NEW, "--json", NULL);
        expect_part(got, "\"node\":\"" NEW "\"");
        stage_tear_down(&stage);
}

SCN_TEST_WITH(scenectl, takes_a_number_below_zero_for_a_value, .timeout = 60)
{
        struct stage stage;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        (void)stage_run(&stage, 0, "set", "isle", "/Boat", "weight", "-1", NULL);
        (void)stage_run(&stage, 0, "set", "isle", "/Boat", "trim", "-2.5e1", "--json", NULL);
        (void)stage_run(&stage, 0, "transform", "isle", "/Boat", "--translation", "-1,-2,-3", NULL);
        (void)stage_run(&stage, 0, "rename-node", "isle", "/Boat", "--", "-7", NULL);
        const char *got = stage_run(&stage, 0, "get", "isle", BOAT, NULL);
        expect_part(got, "name: -7\n");
        expect_part(got, "translation: -1 -2 -3\n");
        expect_part(got, "trim: -25");
        expect_part(got, "weight: -1\n");
        expect_part(stage_run(&stage, 2, "get", "isle", BOAT, "-x", NULL), "invalid option");
        stage_tear_down(&stage);
}

static size_t count_of(const char *text, const char *part)
{
        size_t count = 0;
        for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part)) {
                count++;
        }
        return count;
}

SCN_TEST_WITH(scenectl, says_once_why_it_was_sent_away, .timeout = 60)
{
        struct stage stage;
        struct scn_daemon watcher;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        const char *arguments[] = {"--server", stage.server, "watch", "isle", NULL};
        scn_daemon_init(&watcher);
        scn_daemon_start(&watcher, &(struct scn_daemon_options){.program = "scenectl", .arguments = arguments});
        scn_daemon_wait_for_log(&watcher, "Lamp");
        char file[SCN_DAEMON_PATH_BYTES + 16];
        (void)snprintf(file, sizeof file, "%s/copy.scene", stage.tool.folder);
        (void)stage_run(&stage, 0, "backup", "isle", file, NULL);
        (void)stage_run(&stage, 0, "restore-file", "isle", file, "--replace", NULL);
        cr_assert_eq(scn_daemon_wait(&watcher), 1);
        char *log = scn_daemon_log(&watcher);
        cr_assert_eq(count_of(log, "scenectl: replaced: "), 1, "%s", log);
        scn_free(log);
        scn_daemon_finish(&watcher);
        stage_tear_down(&stage);
}

SCN_TEST_WITH(scenectl, says_that_the_sibling_to_stand_behind_is_not_there, .timeout = 60)
{
        struct stage stage;
        static const char note[] = "\nnote: there is no such place: it went last\n";
        stage_set_up(&stage);
        stage_make_scene(&stage);
        expect_part(stage_run(&stage, 0, "add", "isle", "/", "N", "--after", "/X", NULL), note);
        expect_part(stage_run(&stage, 0, "move", "isle", "/Boat/Lamp", "/", "--after", "/X", NULL), note);
        const char *got = stage_run(&stage, 0, "move", "isle", "/N", "/", "--after", "/Boat", NULL);
        cr_assert_null(strstr(got, "note"), "%s", got);
        stage_tear_down(&stage);
}

/* What is shown can be typed. */
SCN_TEST_WITH(scenectl, shows_times_as_it_takes_them, .timeout = 60)
{
        struct stage stage;
        char time[64];
        stage_set_up(&stage);
        stage_make_scene(&stage);
        (void)stage_run(&stage, 0, "tag", "isle", "fleet", NULL);
        const char *at = strstr(stage_run(&stage, 0, "tag", "isle", "--list", NULL), "time: ");
        cr_assert_not_null(at);
        (void)snprintf(time, sizeof time, "%.*s", (int)strcspn(at + 6, ","), at + 6);
        expect_part(stage_run(&stage, 0, "digest", "isle", "--at", time, NULL), "  revision 2\n");
        stage_tear_down(&stage);
}

SCN_TEST_WITH(scenectl, says_that_what_a_file_is_put_under_must_be_there, .timeout = 60)
{
        struct stage stage;
        char file[SCN_DAEMON_PATH_BYTES + 16];
        stage_set_up(&stage);
        stage_make_scene(&stage);
        (void)snprintf(file, sizeof file, "%s/boat.gltf", stage.tool.folder);
        (void)stage_run(&stage, 0, "export", "isle", file, NULL);
        expect(stage_run(&stage, 1, "import", "new", file, "--under", "/Quay", NULL),
                "scenectl: no_document: document new: no document has this name\n"
                "  --under names a node of a document that is there: scenectl create makes one, and so does import "
                "without --under\n");
        expect_part(
                stage_run(&stage, 1, "import", "isle", file, "--under", "/Quay", NULL), "parent /Quay: no node has");
        expect(stage_run(&stage, 0, "ls", NULL), "isle\n");
        stage_tear_down(&stage);
}

SCN_TEST_WITH(scenectl, says_that_a_link_is_no_document, .timeout = 60)
{
        struct stage stage;
        char link[SCN_DAEMON_PATH_BYTES + 32];
        char line[256];
        stage_set_up(&stage);
        stage_make_scene(&stage);
        (void)snprintf(link, sizeof link, "%s/data/other.scene", stage.serve.daemon.folder);
        cr_assert_eq(symlink("isle.scene", link), 0);
        static const char said[] = "document other: other.scene: a symbolic link, which is not followed";
        expect_part(stage_run(&stage, 1, "info", "other", NULL), said);
        expect_part(stage_run(&stage, 1, "delete", "other", NULL), said);
        expect_part(stage_run(&stage, 1, "rename", "other", "third", NULL), said);
        expect_part(stage_run(&stage, 1, "create", "other", NULL), "document other: a document has this name already");
        char file[SCN_DAEMON_PATH_BYTES + 16];
        (void)snprintf(file, sizeof file, "%s/copy.scene", stage.tool.folder);
        (void)stage_run(&stage, 0, "backup", "isle", file, NULL);
        (void)snprintf(line, sizeof line, "scenectl: document_exists: %s\n", said);
        expect(stage_run(&stage, 1, "restore-file", "other", file, "--replace", NULL), line);
        expect(stage_run(&stage, 0, "ls", NULL), "isle\n");
        stage_tear_down(&stage);
}

SCN_TEST_WITH(scenectl, shows_what_it_was_told_to_add, .timeout = 60)
{
        struct stage stage;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        expect(stage_run(&stage, 0, "get", "isle", "/Boat/Lamp", "--json", NULL),
                "{\"uid\":\"" LAMP "\",\"parent\":\"" BOAT "\",\"name\":\"Lamp\",\"t\":[0,0.1,0],\"r\":[0,0,0,1],"
                "\"s\":[1,1,1],\"props\":{\"hue\":[1.0,{\"$bin\":\"AA==\"}],\"lit\":true}}\n");
        expect(stage_run(&stage, 0, "tree", "isle", BOAT, NULL), "Boat  " BOAT "\n  Lamp  " LAMP "\n");
        expect(stage_run(&stage, 0, "tree", "isle", BOAT, "--depth", "0", NULL), "Boat  " BOAT "\n");
        expect_part(stage_run(&stage, 0, "tree", "isle", "--at", "1", NULL), "Boat");
        cr_assert_null(strstr(stage.output, "Lamp"), "it was not there yet");
        expect(stage_run(&stage, 0, "world", "isle", "/Boat/Lamp", "--json", NULL),
                "{\"uid\":\"" LAMP "\",\"path\":\"/Boat/Lamp\",\"rev\":2,\"durable\":2,"
                "\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,1,2.1,3,1],\"t\":[1,2.1,3],\"r\":[0,0,0,1],\"s\":[1,1,1]}\n");
        expect_part(
                stage_run(&stage, 1, "world", "isle", "/Nobody", "/Boat", "--json", NULL), "{\"error\":\"no_node\"");
        expect_part(stage.output, "\"path\":\"/Boat\"");
        expect_part(stage_run(&stage, 0, "world", "isle", LAMP, "--relative-to", BOAT, NULL), "t 0 0.1 0 ");
        stage_tear_down(&stage);
}

SCN_TEST_WITH(scenectl, edits_and_says_what_came_of_it, .timeout = 60)
{
        struct stage stage;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        expect(stage_run(
                       &stage, 0, "--json", "move", "isle", "/Boat/Lamp", "/", "--keep", "world", "--index", "0", NULL),
                "{\"rev\":3}\n");
        expect_part(stage_run(&stage, 0, "get", "isle", "/Lamp", NULL), "translation: 1 2.1 3\n");
        expect(stage_run(&stage, 0, "transform", "isle", "/Lamp", "--scale", "2,2,2", NULL), "revision 4\n");
        expect(stage_run(&stage, 0, "rename-node", "isle", "/Lamp", "Light", NULL), "revision 5\n");
        expect(stage_run(&stage, 0, "set", "isle", "/Light", "n", "{\"$int\":\"9007199254740993\"}", NULL),
                "revision 6\n");
        expect(stage_run(&stage, 0, "--json", "set", "isle", "/Light", "n", "{\"$int\":\"9007199254740993\"}", NULL),
                "{\"rev\":6,\"changed\":false}\n");
        expect(stage_run(&stage, 0, "unset", "isle", "/Light", "hue", NULL), "revision 7\n");
        expect_part(stage_run(&stage, 0, "get", "isle", "/Light", "--json", NULL),
                "\"props\":{\"lit\":true,\"n\":{\"$int\":\"9007199254740993\"}}");
        expect(stage_run(&stage, 1, "--json", "move", "isle", "/Boat", BOAT, NULL),
                "{\"error\":\"cycle\",\"op\":0,\"node\":\"" BOAT
                "\",\"message\":\"a node cannot be moved under itself or a descendant\",\"detail\":{\"other\":\"" BOAT
                "\"}}\n");
        expect(stage_run(&stage, 0, "diff", "isle", "2", "7", "--node", BOAT, NULL), "revision 7\n  > " LAMP " Lamp\n");
        expect(stage_run(&stage, 0, "rm", "isle", "/Boat", NULL), "revision 8\n");
        expect(stage_run(&stage, 0, "diff", "isle", "7", "8", NULL), "revision 8\n  - " BOAT " Boat\n");
        expect_part(stage_run(&stage, 1, "rm", "isle", BOAT, NULL), "gone");
        stage_tear_down(&stage);
}

static void write_file(const struct stage *stage, const char *name, const char *text)
{
        char path[SCN_DAEMON_PATH_BYTES + 32];
        (void)snprintf(path, sizeof path, "%s/%s", stage->tool.folder, name);
        FILE *file = fopen(path, "w");
        cr_assert_not_null(file);
        (void)fputs(text, file);
        cr_assert_eq(fclose(file), 0);
}

SCN_TEST_WITH(scenectl, applies_lines_each_whole_or_not_at_all, .timeout = 60)
{
        struct stage stage;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        write_file(&stage, "edits",
                "{\"ops\":[{\"op\":\"rename\",\"node\":\"/Boat\",\"name\":\"Ship\"},"
                "{\"op\":\"set\",\"node\":\"/Ship\",\"key\":\"k\",\"value\":1}]}\n"
                "\n"
                "{\"ops\":[{\"op\":\"rename\",\"node\":\"/Ship\",\"name\":\"X\"},{\"op\":\"remove\",\"node\":\"/\"}]}\n"
                "nonsense\n"
                "{\"ops\":[{\"op\":\"rename\",\"node\":\"/Ship\",\"name\":\"Boat\"}]}");
        expect_part(stage_run(&stage, 1, "--json", "apply", "isle", "edits", NULL),
                "{\"rev\":3}\n{\"error\":\"root\",\"op\":1,");
        expect_part(stage.output, "}\n{\"error\":\"bad_op\",\"message\":\"the line is no JSON");
        expect_part(stage.output, "}\n{\"rev\":4}\n");
        expect_part(stage_run(&stage, 1, "apply", "isle", "nowhere", NULL), "not_readable");
        stage_tear_down(&stage);
}

static uint64_t lines_of(const struct stage *stage)
{
        return scn_daemon_log_count(&stage->tool, "\n");
}

SCN_TEST_WITH(scenectl, watches_the_state_and_then_what_changes, .timeout = 60)
{
        struct stage stage;
        struct stage editor;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        stage_join(&editor, &stage);
        stage_start(&stage, "watch", "isle", "/Boat", "--json", "--mask", "transform", NULL);
        scn_daemon_wait_for_log(&stage.tool, "\"left\":[]}\n");
        (void)stage_run(&editor, 0, "add", "isle", "/", "Elsewhere", NULL);
        (void)stage_run(&editor, 0, "rename-node", "isle", LAMP, "Light", NULL);
        (void)stage_run(&editor, 0, "transform", "isle", LAMP, "--translation", "5,0,0", NULL);
        scn_daemon_wait_for_log(&stage.tool, "\"t\":[5,0,0]");
        (void)stage_run(&editor, 0, "move", "isle", LAMP, "/Elsewhere", NULL);
        scn_daemon_wait_for_log(&stage.tool, "\"left\":[\"" LAMP "\"]}\n");
        cr_assert_eq(lines_of(&stage), 3, "it hears nothing of what it did not ask for");
        cr_assert_eq(scn_daemon_log_count(&stage.tool, "{\"from\":0,\"to\":2,\"changed\":[{\"uid\":\"" BOAT), 1);
        cr_assert_eq(
                scn_daemon_log_count(&stage.tool, "\"to\":5,\"changed\":[{\"uid\":\"" LAMP "\",\"t\":[5,0,0]}]"), 1);
        cr_assert_eq(scn_daemon_log_count(&stage.tool, "name"), 0, "nor of a new node");
        cr_assert_eq(scn_daemon_log_count(&stage.tool, "props"), 0, "nor of a new node");
        (void)scn_daemon_stop(&stage.tool);
        stage_start(&stage, "watch", "isle", "--since", "3", "--json", NULL);
        scn_daemon_wait_for_log(&stage.tool, "\"to\":6");
        (void)stage_run(&editor, 0, "rm", "isle", "/Boat", NULL);
        scn_daemon_wait_for_log(&stage.tool, "\"removed\":[\"" BOAT "\"]");
        cr_assert_eq(lines_of(&stage), 4, "revisions 4, 5 and 6, then 7");
        cr_assert_eq(scn_daemon_log_count(&stage.tool, "{\"from\":3,\"to\":4,"), 1);
        (void)scn_daemon_stop(&stage.tool);
        stage_leave(&editor);
        stage_tear_down(&stage);
}

static void restart_daemon(struct stage *stage)
{
        cr_assert_eq(scn_daemon_stop(&stage->serve.daemon), 0);
        serve_start(&stage->serve);
}

/* A server that is started anew has no locks. */
SCN_TEST_WITH(scenectl, takes_its_locks_again_and_says_so_when_the_server_is_back, .timeout = 60)
{
        static const char told[] = "locked  " BOAT "\n";
        struct stage stage;
        struct stage ben;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        stage_join(&ben, &stage);
        stage_start(&stage, "lock", "isle", "/Boat", NULL);
        scn_daemon_wait_for_log(&stage.tool, told);
        restart_daemon(&stage);
        for (int i = 0; i < 400 && scn_daemon_log_count(&stage.tool, told) < 2; i++) {
                (void)nanosleep(&(struct timespec){.tv_nsec = 25000000}, NULL);
        }
        cr_assert_eq(scn_daemon_log_count(&stage.tool, told), 2);
        expect_part(stage_run(&ben, 1, "--as", "ben", "rename-node", "isle", "/Boat", "Ship", NULL), "locked");
        scn_daemon_signal(&stage.tool, SIGINT);
        cr_assert_eq(scn_daemon_wait(&stage.tool), 0);
        stage_leave(&ben);
        stage_tear_down(&stage);
}

struct holder {
        sqlite3 *database;
        unsigned milliseconds;
};

static void *hold_file(void *data)
{
        const struct holder *holder = data;
        (void)usleep(holder->milliseconds * 1000);
        (void)sqlite3_exec(holder->database, "ROLLBACK", NULL, NULL, NULL);
        return NULL;
}

/* The server gives up after 5 s, which the client takes for something that passes. */
SCN_TEST_WITH(scenectl, waits_for_a_document_that_is_busy_for_a_moment, .timeout = 60)
{
        char path[2 * SCN_DAEMON_PATH_BYTES];
        struct holder holder = {.milliseconds = 6000};
        struct stage stage;
        pthread_t thread;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        restart_daemon(&stage);
        (void)snprintf(path, sizeof path, "%s/data/isle.scene", stage.serve.daemon.folder);
        cr_assert_eq(sqlite3_open(path, &holder.database), SQLITE_OK);
        cr_assert_eq(sqlite3_exec(holder.database, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
        cr_assert_eq(pthread_create(&thread, NULL, hold_file, &holder), 0);
        expect_part(stage_run(&stage, 0, "rename-node", "isle", "/Boat", "Ship", NULL), "revision 3");
        cr_assert_eq(pthread_join(thread, NULL), 0);
        cr_assert_eq(sqlite3_close(holder.database), SQLITE_OK);
        stage_tear_down(&stage);
}

/* A lock lasts as long as its command, and a watch that asks for locks shows it. */
SCN_TEST_WITH(scenectl, locks_nodes_for_as_long_as_it_runs, .timeout = 60)
{
        struct stage stage;
        struct stage watcher;
        struct stage ben;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        stage_join(&watcher, &stage);
        stage_join(&ben, &stage);
        stage_start(&watcher, "watch", "isle", "--json", "--mask", "locks,presence", NULL);
        scn_daemon_wait_for_log(&watcher.tool, "{\"from\":0,\"to\":2,");
        stage_start(&stage, "lock", "isle", "/Boat", "--subtree", NULL);
        scn_daemon_wait_for_log(&stage.tool, "locked  " BOAT "\n");
        scn_daemon_wait_for_log(&watcher.tool, "{\"locks\":[{\"uid\":\"" BOAT "\",\"session\":");
        expect_part(stage_run(&ben, 1, "--as", "ben", "--json", "rename-node", "isle", LAMP, "Light", NULL),
                "\"detail\":{\"holder\":\"ann\",\"session\":");
        expect_part(stage_run(&ben, 1, "--as", "ben", "lock", "isle", LAMP, NULL), "locked by ann, session ");
        expect_part(stage_run(&ben, 0, "--as", "ben", "--json", "unlock", "isle", "/Boat", NULL), "{\"unlocked\":0}");
        scn_daemon_signal(&stage.tool, SIGINT);
        cr_assert_eq(scn_daemon_wait(&stage.tool), 0);
        scn_daemon_wait_for_log(&watcher.tool, "{\"locks\":[]}\n");
        (void)stage_run(&ben, 0, "--as", "ben", "rename-node", "isle", LAMP, "Light", NULL);
        expect_part(stage_run(&ben, 0, "--as", "ben", "lock", "isle", LAMP, "--ttl", "1", NULL), "locked  " LAMP);
        stage_start(&stage, "lock", "isle", "/Boat", NULL);
        scn_daemon_wait_for_log(&stage.tool, "locked  " BOAT "\n");
        expect_part(stage_run(&ben, 0, "--as", "ann", "unlock", "isle", "/Boat", NULL), "unlocked  1");
        (void)stage_run(&ben, 0, "--as", "ben", "rename-node", "isle", "/Boat", "Ship", NULL);
        expect_part(stage_run(&ben, 2, "lock", "isle", "/Ship", "--ttl", "0", NULL), "at least a second");
        (void)scn_daemon_stop(&watcher.tool);
        stage_leave(&watcher);
        stage_leave(&ben);
        scn_daemon_signal(&stage.tool, SIGINT);
        (void)scn_daemon_wait(&stage.tool);
        stage_tear_down(&stage);
}

/* Two of the boat, one of the lamp, two of the root. */
static void apply_of_five_ops(struct stage *stage)
{
        write_file(stage, "five",
                "{\"ops\":[{\"op\":\"rename\",\"node\":\"" BOAT "\",\"name\":\"Gig\"},"
                "{\"op\":\"set\",\"node\":\"" BOAT "\",\"key\":\"k\",\"value\":1},"
                "{\"op\":\"rename\",\"node\":\"" LAMP "\",\"name\":\"Lantern\"},"
                "{\"op\":\"set\",\"node\":\"/\",\"key\":\"k\",\"value\":1},"
                "{\"op\":\"set\",\"node\":\"/\",\"key\":\"l\",\"value\":1}]}\n");
        (void)stage_run(stage, 0, "apply", "isle", "five", NULL);
}

SCN_TEST_WITH(scenectl, tells_the_past, .timeout = 60)
{
        struct stage stage;
        char digest[80];
        stage_set_up(&stage);
        stage_make_scene(&stage);
        (void)snprintf(digest, sizeof digest, "%s", stage_run(&stage, 0, "digest", "isle", "--json", NULL));
        (void)stage_run(&stage, 0, "rename-node", "isle", BOAT, "Ship", NULL);
        cr_assert_str_neq(stage_run(&stage, 0, "digest", "isle", "--json", NULL), digest);
        expect(stage_run(&stage, 0, "digest", "isle", "--at", "2", "--json", NULL), digest);
        expect_part(stage_run(&stage, 0, "log", "isle", NULL), "ann  edit  rename " BOAT "\n");
        cr_assert_eq(lines_of(&stage), 3);
        apply_of_five_ops(&stage);
        expect_part(stage_run(&stage, 0, "log", "isle", "--from", "4", NULL),
                "ann  edit  rename+set " BOAT ", rename " LAMP " and 2 more\n");
        expect_part(stage_run(&stage, 0, "log", "isle", "--from", "2", "--to", "2", "--json", NULL),
                "{\"rev\":2,\"time\":");
        expect_part(stage.output, "\"author\":\"ann\"");
        expect_part(stage.output, "\"ops\":[{\"op\":\"add\",\"uid\":\"" LAMP "\"}]}\n");
        expect_part(stage_run(&stage, 0, "replay", "isle", "--from", "1", "--json", NULL),
                "{\"from\":0,\"to\":1,\"changed\":[{\"uid\":");
        expect_part(
                stage.output, "\"author\":\"ann\",\"cause\":\"edit\",\"changed\":[{\"uid\":\"" LAMP "\",\"parent\":");
        expect_part(
                stage.output, "\"changed\":[{\"uid\":\"" BOAT "\",\"name\":\"Ship\"}],\"removed\":[],\"left\":[]}\n");
        cr_assert_eq(lines_of(&stage), 4);
        expect_part(stage_run(&stage, 0, "verify", "isle", "--json", NULL), "\"ok\":true");
        expect_part(stage_run(&stage, 1, "tree", "isle", "--at", "99", NULL), "future");
        stage_tear_down(&stage);
}

SCN_TEST_WITH(scenectl, reaches_the_daemon_by_address_and_by_name, .timeout = 60)
{
        static const char *const hosts[] = {"127.0.0.1", "localhost"};
        struct stage stage;
        char server[32];
        stage_set_up(&stage);
        for (size_t i = 0; i < 2; i++) {
                (void)snprintf(server, sizeof server, "%s:%u", hosts[i], stage.serve.port);
                expect_part(stage_run(&stage, 0, "--server", server, "ping", NULL), "answered");
        }
        expect_part(stage_run(&stage, 3, "--server", "127.0.0.1:1", "ping", NULL), "127.0.0.1:1: Connection refused");
        stage_tear_down(&stage);
}

SCN_TEST_WITH(scenectl, tells_wrong_usage_from_refusals_and_lost_servers, .timeout = 60)
{
        struct stage stage;
        stage_set_up(&stage);
        expect_part(stage_run(&stage, 2, "frob", NULL), "there is no command");
        expect_part(stage_run(&stage, 2, NULL), "which command");
        expect_part(stage_run(&stage, 2, "tree", NULL), "DOC");
        expect_part(stage_run(&stage, 2, "tree", "a", "b", "c", NULL), "too many");
        expect_part(stage_run(&stage, 2, "tree", "a", "b", NULL), "is no node");
        expect_part(stage_run(&stage, 2, "tree", "--durable", "a", NULL), "unrecognized option");
        expect_part(stage_run(&stage, 2, "add", "a", "/", "n", "--translation", "1,2", NULL), "is not 3 numbers");
        expect_part(stage_run(&stage, 2, "add", "a", "/", "n", "--translation", "1,2,nan", NULL), "is not 3 numbers");
        expect_part(stage_run(&stage, 2, "set", "a", "/", "k", "{", NULL), "is no JSON");
        expect_part(stage_run(&stage, 2, "watch", "a", "--mask", "name,frob", NULL), "is no channel");
        expect_part(stage_run(&stage, 2, "undo", "a", "-1", NULL), "N: '-1' is no whole number");
        expect_part(stage_run(&stage, 2, "--server", "nonsense", "ls", NULL), "is no address");
        expect_part(stage_run(&stage, 1, "--json", "tree", "nowhere", NULL), "{\"error\":\"no_document\",");
        expect_part(stage_run(&stage, 3, "--json", "--server", "unix:/nowhere/socket", "ls", NULL),
                "{\"error\":\"no_connection\",");
        expect_part(stage_run(&stage, 0, "--help", NULL), "rename-node");
        /* Beneath one another, also in the longest. */
        expect_part(stage.output, "standard input\n  watch ");
        expect_part(stage.output, "whole or\n                                   not at all; FILE -: standard input\n");
        expect_part(stage_run(&stage, 0, "-h", NULL), "rename-node");
        expect_part(stage_run(&stage, 0, "help", NULL), "rename-node");
        expect_part(stage_run(&stage, 2, "help", "frob", NULL), "there is no command 'frob'");
        expect_part(stage_run(&stage, 0, "world", "--help", NULL), "--relative-to");
        expect_part(stage_run(&stage, 0, "world", "-h", NULL), "--relative-to");
        expect_part(stage_run(&stage, 0, "help", "world", NULL), "--relative-to");
        expect_part(stage_run(&stage, 0, "--version", NULL), "scenectl 0.");
        stage_tear_down(&stage);
}

/* Which op, which node, and what was in the way: for people and for programs. */
SCN_TEST_WITH(scenectl, says_of_a_refusal_which_op_it_was_and_what_was_in_the_way, .timeout = 60)
{
        static const char line[] = "{\"ops\":[{\"op\":\"rename\",\"node\":\"/Boat\",\"name\":\"x\"},"
                                   "{\"op\":\"move\",\"node\":\"/x\",\"parent\":\"/x/Lamp\"}]}\n";
        struct stage stage;
        char path[SCN_DAEMON_PATH_BYTES + 16];
        stage_set_up(&stage);
        stage_make_scene(&stage);
        (void)snprintf(path, sizeof path, "%s/edit", stage.serve.daemon.folder);
        FILE *file = fopen(path, "we");
        cr_assert_not_null(file);
        fputs(line, file);
        fputs(line, file);
        cr_assert_eq(fclose(file), 0);
        expect_part(stage_run(&stage, 1, "apply", "isle", path, NULL),
                "scenectl: cycle: a node cannot be moved under itself or a descendant\n"
                "  line 1, op 1, node " BOAT ", {\"other\":\"" LAMP "\"}\nscenectl: cycle: ");
        expect_part(stage_run(&stage, 1, "--json", "apply", "isle", path, NULL),
                "{\"error\":\"cycle\",\"op\":1,\"node\":\"" BOAT
                "\",\"message\":\"a node cannot be moved under itself or a descendant\","
                "\"detail\":{\"other\":\"" LAMP "\"},\"line\":1}\n{\"error\":");
        expect_part(stage_run(&stage, 1, "--json", "move", "isle", "/Boat", "/Boat/Lamp", NULL), "\"op\":0,");
        stage_tear_down(&stage);
}

/* The server keeps it open for a while, but nobody has it. */
SCN_TEST_WITH(scenectl, deletes_and_renames_a_document_that_nobody_has_open_any_more, .timeout = 60)
{
        struct stage stage;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        stage_start(&stage, "watch", "isle", NULL);
        scn_daemon_wait_for_log(&stage.tool, "revision 2");
        struct scn_daemon watcher = stage.tool;
        scn_daemon_init(&stage.tool);
        expect_part(stage_run(&stage, 1, "--json", "delete", "isle", NULL), "\"busy\"");
        scn_daemon_signal(&watcher, SIGKILL);
        (void)scn_daemon_wait(&watcher);
        scn_daemon_finish(&watcher);
        (void)stage_run(&stage, 0, "rename", "isle", "island", NULL);
        expect_part(stage_run(&stage, 0, "info", "island", "--json", NULL), "\"rev\":2,");
        (void)stage_run(&stage, 0, "delete", "island", NULL);
        expect(stage_run(&stage, 0, "ls", NULL), "");
        expect_part(stage_run(&stage, 1, "--json", "info", "island", NULL), "\"no_document\"");
        (void)stage_run(&stage, 0, "undelete", "island", NULL);
        expect_part(stage_run(&stage, 0, "info", "island", "--json", NULL), "\"rev\":2,");
        stage_tear_down(&stage);
}

/* Its properties come in pieces. */
SCN_TEST_WITH(scenectl, shows_a_node_with_many_properties_as_one, .timeout = 60)
{
        static char text[60001];
        struct stage stage;
        char path[SCN_DAEMON_PATH_BYTES + 16];
        stage_set_up(&stage);
        stage_make_scene(&stage);
        (void)snprintf(path, sizeof path, "%s/edit", stage.serve.daemon.folder);
        FILE *file = fopen(path, "we");
        cr_assert_not_null(file);
        memset(text, 'x', sizeof text - 1);
        for (int i = 0; i < 12; i++) {
                fprintf(file, "{\"ops\":[{\"op\":\"set\",\"node\":\"/Boat\",\"key\":\"k%02d\",\"value\":\"%s\"}]}\n", i,
                        text);
        }
        cr_assert_eq(fclose(file), 0);
        (void)stage_run(&stage, 0, "apply", "isle", path, NULL);
        const char *output = stage_run(&stage, 0, "--json", "get", "isle", "/Boat", NULL);
        for (int i = 0; i < 12; i++) {
                char key[32];
                (void)snprintf(key, sizeof key, "\"k%02d\":\"x", i);
                expect_part(output, key);
        }
        cr_expect_eq(strchr(output, '\n'), output + strlen(output) - 1, "more than one line");
        expect_part(output, "\"}}\n");
        (void)stage_run(&stage, 0, "--json", "tree", "isle", NULL);
        size_t lines = 0;
        for (const char *at = stage.output; (at = strchr(at, '\n')) != NULL; at++) {
                lines++;
        }
        cr_expect_eq(lines, 3);
        expect_part(stage_run(&stage, 0, "get", "isle", "/Boat", NULL), "\nk11: \"xxx");
        stage_tear_down(&stage);
}

/* A number below zero is a value, whichever option it stands behind. */
SCN_TEST_WITH(scenectl, takes_a_number_below_zero_for_the_value_of_any_option, .timeout = 60)
{
        struct stage stage;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        (void)stage_run(&stage, 0, "rename-node", "isle", "/Boat", "Gannet", "--as", "-5", NULL);
        expect_part(stage_run(&stage, 0, "--json", "log", "isle", "--from", "3", NULL), "\"author\":\"-5\"");
        (void)stage_run(&stage, 0, "transform", "isle", "/Gannet", "--translation", "-1,-2,-3", NULL);
        expect_part(stage_run(&stage, 0, "get", "isle", "/Gannet", NULL), "translation: -1 -2 -3");
        stage_tear_down(&stage);
}

static void expect_clean(const char *output)
{
        cr_expect_null(strchr(output, '\x1b'), "%s", output);
        cr_expect_null(strchr(output, '\x7f'), "%s", output);
        cr_expect_null(strstr(output, "\xc2\x9b"), "%s", output);
        cr_expect_null(strstr(output, "\xe2\x80\xae"), "%s", output);
}

SCN_TEST_WITH(scenectl, prints_nothing_that_would_steer_a_terminal, .timeout = 60)
{
        static const char name[] = "/a\x1b(0\xc2\x9b"
                                   "b\x7f\xe2\x80\xae";
        static const char value[] = "\"c\x7f\xc2\x9b\"";
        struct stage stage;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        expect_clean(stage_run(&stage, 1, "world", "isle", name, NULL));
        expect_part(stage.output, "node /a.(0.b..: no node has this path");
        expect_clean(stage_run(&stage, 1, "get", "isle", name, NULL));
        expect_clean(stage_run(&stage, 2, "get", "isle", name + 1, NULL));
        expect_part(stage.output, "'a.(0.b..' is no node");
        (void)stage_run(&stage, 0, "add", "isle", "/", name + 1, NULL);
        expect_clean(stage_run(&stage, 0, "world", "isle", name, NULL));
        expect_clean(stage_run(&stage, 0, "tree", "isle", NULL));
        expect_clean(stage_run(&stage, 0, "replay", "isle", "--speed", "max", NULL));
        expect_part(stage.output, " a.(0.b..");
        (void)stage_run(&stage, 0, "set", "isle", name, name + 1, value, "--as", "ben", NULL);
        expect_clean(stage_run(&stage, 1, "undo", "isle", "--as", "ben", "--step", "77", NULL));
        expect_clean(stage_run(&stage, 0, "get", "isle", name, NULL));
        expect_clean(stage_run(&stage, 0, "blame", "isle", name, NULL));
        expect_clean(stage_run(&stage, 0, "diff", "isle", "2", "4", NULL));
        expect_clean(stage_run(&stage, 0, "--json", "get", "isle", name, NULL));
        expect_part(stage.output, "\"name\":\"a\\u001b(0\\u009bb\\u007f\\u202e\"");
        expect_part(stage.output, ":\"c\\u007f\\u009b\"");
        expect_clean(stage_run(&stage, 0, "--json", "world", "isle", name, NULL));
        expect_clean(stage_run(&stage, 0, "--json", "replay", "isle", "--speed", "max", NULL));
        expect_clean(stage_run(&stage, 0, "--json", "blame", "isle", name, NULL));
        expect_clean(stage_run(&stage, 1, "--json", "get", "isle", "/\x7f\xc2\x9b", NULL));
        stage_tear_down(&stage);
}

SCN_TEST_WITH(scenectl, replays_what_one_author_did, .timeout = 60)
{
        struct stage stage;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        (void)stage_run(&stage, 0, "--as", "ben", "rename-node", "isle", "/Boat", "Gannet", NULL);
        (void)stage_run(&stage, 0, "rename-node", "isle", "/Gannet", "Boat", NULL);
        const char *output = stage_run(&stage, 0, "replay", "isle", "--speed", "max", "--author", "ben", NULL);
        expect_part(output, "revision 3  ben");
        cr_expect_null(strstr(output, "  ann"), "%s", output);
        output = stage_run(&stage, 0, "replay", "isle", "--speed", "max", "--author", "ann", NULL);
        expect_part(output, "revision 4  ann");
        cr_expect_null(strstr(output, "  ben"), "%s", output);
        expect_part(stage_run(&stage, 2, "replay", "isle", "--into", "x", "--author", "ann", NULL), "neither");
        expect_part(stage_run(&stage, 2, "replay", "isle", "--into", "isle", NULL), "'isle' is what is replayed");
        char here[2 * SERVE_ADDRESS_BYTES];
        (void)snprintf(here, sizeof here, "%s/isle", stage.server);
        expect_part(stage_run(&stage, 2, "replay", "isle", "--into", here, NULL), "is what is replayed");
        (void)snprintf(here, sizeof here, "unix:/%s/isle", stage.server + strlen("unix:"));
        expect_part(stage_run(&stage, 2, "replay", "isle", "--into", here, NULL), "is what is replayed");
        stage_tear_down(&stage);
}

/* The same facts for people and for programs. */
SCN_TEST_WITH(scenectl, says_who_is_there_and_what_came_since, .timeout = 60)
{
        struct stage stage;
        stage_set_up(&stage);
        stage_make_scene(&stage);
        expect_part(stage_run(&stage, 0, "who", NULL), "ann");
        expect_part(stage_run(&stage, 0, "--json", "who", NULL), "\"author\":\"ann\",\"document\":null,");
        expect(stage_run(&stage, 0, "--json", "who", "isle", NULL), "");
        expect_part(stage_run(&stage, 0, "info", "isle", NULL), "nodes: 3");
        expect_part(stage_run(&stage, 0, "--json", "info", "isle", NULL), "\"nodes\":3,");
        stage_start(&stage, "watch", "isle", "--since", "1", NULL);
        scn_daemon_wait_for_log(&stage.tool, "revision 2  ann  edit\n  + " LAMP " Lamp");
        cr_expect_eq(scn_daemon_log_count(&stage.tool, "revision"), 1, "what was there before is told, too");
        cr_expect_eq(scn_daemon_stop(&stage.tool), 128 + SIGTERM);
        stage_start(&stage, "--json", "watch", "isle", "--since", "1", NULL);
        scn_daemon_wait_for_log(&stage.tool, "{\"from\":1,\"to\":2,");
        cr_expect_eq(scn_daemon_stop(&stage.tool), 128 + SIGTERM);
        expect_part(stage_run(&stage, 1, "--json", "watch", "isle", "--since", "9", NULL), "\"error\":\"future\"");
        stage_tear_down(&stage);
}
