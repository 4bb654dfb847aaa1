/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The commands about history, against the daemon. */

#include "tests/lib/caller.h"
#include "tests/lib/serve.h"
#include "tests/lib/test.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

static char output[1 << 20]; /* of the last command */

#define RUN(serve, ...) run_and_keep(serve_scenectl(serve, &got, "--as", "ann", __VA_ARGS__, NULL))

static char *got;

/* What was printed, in memory that the next call takes; the exit code is the first thing compared. */
static int run_and_keep(int code)
{
        (void)snprintf(output, sizeof output, "%s", got);
        scn_free(got);
        got = NULL;
        return code;
}

static void expect_part(const char *part)
{
        cr_assert_not_null(strstr(output, part), "%s: has no %s", output, part);
}

/* "DIGEST" of {"rev":..,"digest":"DIGEST"}. */
static void keep_digest(char digest[33])
{
        const char *at = strstr(output, "\"digest\":\"");
        cr_assert_not_null(at, "%s", output);
        (void)snprintf(digest, 33, "%.32s", at + strlen("\"digest\":\""));
}

#define BOAT "11111111-1111-4111-8111-111111111111"

static void make_scene(struct serve *serve)
{
        serve_begin(serve);
        cr_assert_eq(RUN(serve, "create", "isle"), 0);
        cr_assert_eq(RUN(serve, "add", "isle", "/", "Boat", "--uid", BOAT, "--translation", "1,2,3"), 0);
        cr_assert_eq(RUN(serve, "add", "isle", "/Boat", "Lamp", "--set", "lit=true"), 0);
}

SCN_TEST_WITH(scenectl_history, tags_revisions_and_asks_by_their_names, .timeout = 60)
{
        struct serve serve;
        char first[33];
        char at_tag[33];
        make_scene(&serve);
        cr_assert_eq(RUN(&serve, "digest", "isle", "--at", "1"), 0);
        keep_digest(first);
        cr_assert_eq(RUN(&serve, "tag", "isle", "boat only", "1"), 0);
        cr_assert_str_eq(output, "{\"name\":\"boat only\",\"rev\":1}\n");
        cr_assert_eq(RUN(&serve, "tag", "isle", "now"), 0);
        expect_part("\"rev\":2");
        cr_assert_eq(RUN(&serve, "digest", "isle", "--at", "boat only"), 0);
        keep_digest(at_tag);
        cr_assert_str_eq(at_tag, first);
        cr_assert_eq(RUN(&serve, "world", "isle", "/Boat", "--at", "now"), 0);
        expect_part("\"rev\":2");
        cr_assert_eq(RUN(&serve, "tree", "isle", "--at", "never"), 1);
        expect_part("\"no_tag\"");
        cr_assert_eq(RUN(&serve, "tag", "isle", "--list"), 0);
        expect_part("{\"name\":\"boat only\",\"rev\":1,\"time\":");
        expect_part("\"author\":\"ann\"}\n{\"name\":\"now\",\"rev\":2,");
        cr_assert_eq(RUN(&serve, "tag", "isle", "now", "--remove"), 0);
        cr_assert_eq(RUN(&serve, "tree", "isle", "--at", "now"), 1);
        cr_assert_eq(RUN(&serve, "tag", "isle", "now", "1", "--remove"), 2);
        cr_assert_eq(RUN(&serve, "tag", "isle", "2026-01-31T12:00:00Z"), 1);
        expect_part("\"bad_tag\"");
        serve_finish(&serve);
}

SCN_TEST_WITH(scenectl_history, blames_each_field, .timeout = 60)
{
        struct serve serve;
        make_scene(&serve);
        cr_assert_eq(RUN(&serve, "rename-node", "isle", "/Boat", "Ship"), 0);
        cr_assert_eq(RUN(&serve, "blame", "isle", BOAT), 0);
        expect_part("{\"field\":\"place\",\"rev\":1,\"step\":1,\"time\":");
        expect_part("{\"field\":\"name\",\"rev\":3,\"step\":3,\"time\":");
        expect_part("\"author\":\"ann\",\"client\":\"");
        cr_assert_eq(RUN(&serve, "blame", "isle", "/Ship/Lamp"), 0);
        expect_part("{\"field\":\"property\",\"key\":\"lit\",\"rev\":2,");
        cr_assert_eq(RUN(&serve, "blame", "isle", "/Boat"), 1);
        expect_part("\"no_node\"");
        serve_finish(&serve);
}

SCN_TEST_WITH(scenectl_history, tells_what_is_otherwise_and_nothing_else, .timeout = 60)
{
        struct serve serve;
        make_scene(&serve);
        cr_assert_eq(RUN(&serve, "rename-node", "isle", "/Boat", "Ship"), 0);
        cr_assert_eq(RUN(&serve, "set", "isle", "/Ship", "flag", "1"), 0);
        cr_assert_eq(RUN(&serve, "set", "isle", "/Ship", "crew", "2"), 0);
        cr_assert_eq(RUN(&serve, "rename-node", "isle", "/Ship", "Boat"), 0);
        cr_assert_eq(RUN(&serve, "unset", "isle", "/Boat", "flag"), 0);
        cr_assert_eq(RUN(&serve, "rm", "isle", "/Boat/Lamp"), 0);
        cr_assert_eq(RUN(&serve, "tag", "isle", "dark"), 0);
        cr_assert_eq(RUN(&serve, "diff", "isle", "2", "dark"), 0);
        expect_part("{\"from\":2,\"to\":8,\"changed\":[{\"uid\":\"" BOAT "\",\"props\":{\"crew\":2}}],\"removed\":[\"");
        cr_assert_eq(RUN(&serve, "diff", "isle", "2", "3"), 0);
        expect_part("{\"from\":2,\"to\":3,\"changed\":[{\"uid\":\"" BOAT "\",\"name\":\"Ship\"}],\"removed\":[],");
        cr_assert_eq(RUN(&serve, "diff", "isle", "3", "3"), 0);
        cr_assert_str_eq(output, "");
        cr_assert_eq(RUN(&serve, "undo", "isle", "2"), 0);
        cr_assert_eq(RUN(&serve, "diff", "isle", "6", "9"), 0);
        cr_assert_str_eq(output, "");
        cr_assert_eq(RUN(&serve, "diff", "isle", "dark", "2"), 1);
        expect_part(
                "\"error\":\"range\",\"message\":\"revision 8, to begin after, lies behind revision 2, to end with\"");
        cr_assert_eq(RUN(&serve, "diff", "isle", "2", "99"), 1);
        expect_part("\"future\"");
        serve_finish(&serve);
}

SCN_TEST_WITH(scenectl_history, logs_and_replays_between_tags_and_of_one_author, .timeout = 60)
{
        struct serve serve;
        make_scene(&serve);
        cr_assert_eq(RUN(&serve, "tag", "isle", "made"), 0);
        cr_assert_eq(serve_scenectl(&serve, NULL, "--as", "bob", "rename-node", "isle", "/Boat", "Ship", NULL), 0);
        cr_assert_eq(RUN(&serve, "transform", "isle", "/Ship", "--translation", "4,5,6"), 0);
        cr_assert_eq(RUN(&serve, "log", "isle", "--since", "made"), 0);
        cr_assert_eq(strncmp(output, "{\"rev\":3,", 9), 0, "%s", output);
        expect_part("\n{\"rev\":4,");
        cr_assert_eq(RUN(&serve, "log", "isle", "--until", "1"), 0);
        cr_assert_null(strstr(output, "\"rev\":2"));
        cr_assert_eq(RUN(&serve, "log", "isle", "--group", "7"), 0);
        cr_assert_str_eq(output, "");
        cr_assert_eq(RUN(&serve, "replay", "isle", "--from", "made", "--author", "ann", "--speed", "max"), 0);
        expect_part("{\"from\":0,\"to\":2,");
        expect_part("{\"from\":3,\"to\":4,\"time\":");
        cr_assert_null(strstr(output, "Ship"), "%s", output);
        cr_assert_eq(RUN(&serve, "replay", "isle", "--to", "made", "--speed", "max"), 0);
        expect_part("{\"from\":1,\"to\":2,\"time\":");
        cr_assert_null(strstr(output, "\"to\":3"));
        serve_finish(&serve);
}

static uint32_t count_lines(void)
{
        uint32_t count = 0;
        for (const char *at = output; *at != '\0'; at++) {
                count += *at == '\n';
        }
        return count;
}

SCN_TEST_WITH(scenectl_history, logs_all_of_a_long_history_or_the_oldest_or_newest_of_it, .timeout = 60)
{
        struct serve serve;
        struct caller caller;
        serve_begin(&serve);
        caller_begin(&caller, serve_connect(&serve, SERVE_UNIX), 1, "ann");
        (void)caller_open(&caller, "isle");
        caller_drag(&caller, 5, 500);
        caller_end(&caller);
        cr_assert_eq(RUN(&serve, "log", "isle"), 0);
        cr_expect_eq(count_lines(), 2500);
        expect_part("\n{\"rev\":2500,");
        cr_assert_eq(RUN(&serve, "log", "isle", "--group", "5"), 0);
        cr_expect_eq(count_lines(), 500);
        cr_assert_eq(RUN(&serve, "log", "isle", "--limit", "1000"), 0);
        cr_expect_eq(count_lines(), 1000);
        cr_assert_eq(RUN(&serve, "log", "isle", "--from", "3", "--limit", "2001"), 0);
        cr_expect_eq(count_lines(), 2001);
        expect_part("\n{\"rev\":2003,");
        cr_assert_eq(RUN(&serve, "log", "isle", "--last", "1100"), 0);
        cr_expect_eq(count_lines(), 1100);
        cr_expect_eq(strncmp(output, "{\"rev\":1401,", 12), 0);
        expect_part("\n{\"rev\":2500,");
        cr_assert_eq(RUN(&serve, "log", "isle", "--last", "10000"), 0);
        cr_expect_eq(count_lines(), 2500);
        cr_assert_eq(RUN(&serve, "log", "isle", "--last", "10001"), 2);
        expect_part("--last: '10001' is no whole number from 0 to 10000");
        cr_assert_eq(RUN(&serve, "log", "isle", "--limit", "0"), 2);
        expect_part("--limit: of 0 there is nothing to tell");
        cr_assert_eq(RUN(&serve, "log", "isle", "--limit", "1", "--last", "1"), 2);
        serve_finish(&serve);
}

SCN_TEST_WITH(scenectl_history, restores_what_was_and_undoes_it, .timeout = 60)
{
        struct serve serve;
        char then[33];
        char now[33];
        make_scene(&serve);
        cr_assert_eq(RUN(&serve, "digest", "isle"), 0);
        keep_digest(then);
        cr_assert_eq(RUN(&serve, "tag", "isle", "good"), 0);
        cr_assert_eq(RUN(&serve, "rm", "isle", "/Boat/Lamp"), 0);
        cr_assert_eq(RUN(&serve, "rename-node", "isle", "/Boat", "Ship"), 0);
        cr_assert_eq(RUN(&serve, "restore", "isle", "good"), 0);
        cr_assert_str_eq(output, "{\"rev\":5,\"restored\":2,\"applied\":2}\n");
        cr_assert_eq(RUN(&serve, "digest", "isle"), 0);
        keep_digest(now);
        cr_assert_str_eq(now, then);
        cr_assert_eq(RUN(&serve, "undo", "isle"), 0);
        expect_part("\"steps\":[5]");
        cr_assert_eq(RUN(&serve, "restore", "isle", "2", "--node", "/Ship"), 0);
        expect_part("\"rev\":7");
        cr_assert_eq(RUN(&serve, "restore", "isle", "99"), 1);
        expect_part("\"future\"");
        serve_finish(&serve);
}

SCN_TEST_WITH(scenectl_history, forks_a_document, .timeout = 60)
{
        struct serve serve;
        char then[33];
        char now[33];
        make_scene(&serve);
        cr_assert_eq(RUN(&serve, "digest", "isle", "--at", "1"), 0);
        keep_digest(then);
        cr_assert_eq(RUN(&serve, "fork", "isle", "--at", "1", "second"), 0);
        cr_assert_str_eq(output, "{\"doc\":\"second\",\"rev\":1}\n");
        cr_assert_eq(RUN(&serve, "digest", "second"), 0);
        keep_digest(now);
        cr_assert_str_eq(now, then);
        cr_assert_eq(RUN(&serve, "info", "second"), 0);
        expect_part("\"forked_at\":1");
        cr_assert_eq(RUN(&serve, "verify", "second"), 0);
        cr_assert_eq(RUN(&serve, "fork", "isle", "second"), 1);
        expect_part("\"document_exists\"");
        serve_finish(&serve);
}

/* Damage that SQLite itself does not see. */
static void spoil(const char *path, const char *sql)
{
        sqlite3 *handle;
        cr_assert_eq(sqlite3_open(path, &handle), SQLITE_OK);
        cr_assert_eq(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(handle));
        cr_assert_eq(sqlite3_close(handle), SQLITE_OK);
}

SCN_TEST_WITH(scenectl_history, verifies_files_with_and_without_a_daemon, .timeout = 60)
{
        struct serve serve;
        char live[33];
        char file[33];
        char path[SCN_DAEMON_PATH_BYTES + 32];
        char copy[SCN_DAEMON_PATH_BYTES + 32];
        make_scene(&serve);
        (void)snprintf(path, sizeof path, "%s/data/isle.scene", serve.daemon.folder);
        (void)snprintf(copy, sizeof copy, "%s/copy.scene", serve.daemon.folder);
        cr_assert_eq(RUN(&serve, "digest", "isle"), 0);
        keep_digest(live);
        cr_assert_eq(RUN(&serve, "verify", path), 0);
        expect_part("\"rev\":2,");
        expect_part("\"ok\":true");
        keep_digest(file);
        cr_assert_str_eq(file, live);
        cr_assert_eq(RUN(&serve, "backup", "isle", copy), 0);
        serve_kill(&serve);
        cr_assert_eq(RUN(&serve, "verify", copy), 0);
        keep_digest(file);
        cr_assert_str_eq(file, live);
        spoil(copy, "UPDATE transactions SET after = zeroblob(length(after)) WHERE rev = 2");
        cr_assert_eq(RUN(&serve, "verify", copy, path), 1);
        expect_part("\"corrupt\"");
        expect_part("revision 2: ");
        expect_part("\"ok\":true");
        cr_assert_eq(RUN(&serve, "verify", "./nothing.scene"), 1);
        serve_start(&serve);
        cr_assert_eq(RUN(&serve, "verify", "isle"), 0);
        serve_finish(&serve);
}
