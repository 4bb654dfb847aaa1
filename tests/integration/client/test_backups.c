/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE

/* scenectl backup --all and restore-file, with the real daemon. */

#include "tests/lib/caller.h"
#include "tests/lib/scene.h"
#include "tests/lib/serve.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 200

static void path_in(const struct serve *serve, const char *name, char path_out[PATH_BYTES])
{
        (void)snprintf(path_out, PATH_BYTES, "%s/%s", serve->daemon.folder, name);
}

/* Runs scenectl, which must end so and print this somewhere. */
#define EXPECT(serve, code, text, ...)                                                                                 \
        do {                                                                                                           \
                char *said;                                                                                            \
                const int got = serve_scenectl(serve, &said, __VA_ARGS__, NULL);                                       \
                cr_assert_eq(got, code, "%s", said);                                                                   \
                cr_assert_not_null(strstr(said, text), "%s", said);                                                    \
                scn_free(said);                                                                                        \
        } while (0)

static uint32_t count_lines_with(const char *output, const char *text)
{
        uint32_t count = 0;
        for (const char *at = output; (at = strstr(at, text)) != NULL; at++) {
                count++;
        }
        return count;
}

static char *back_up_all(const struct serve *serve, const char *folder, int code)
{
        char *output;
        const int got = serve_scenectl(serve, &output, "backup", "--all", folder, NULL);
        cr_assert_eq(got, code, "%s", output);
        return output;
}

static uint32_t count_files(const char *folder)
{
        DIR *directory = opendir(folder);
        struct dirent *entry;
        uint32_t count = 0;
        cr_assert_not_null(directory);
        while ((entry = readdir(directory)) != NULL) {
                count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
        }
        (void)closedir(directory);
        return count;
}

SCN_TEST_WITH(backups, of_all_documents_are_made_anew_only_where_something_has_changed, .timeout = 60)
{
        struct serve serve;
        char folder[PATH_BYTES];
        char file[PATH_BYTES];
        struct stat status;
        serve_begin(&serve);
        path_in(&serve, "copies", folder);
        EXPECT(&serve, 0, "levels/one", "create", "levels/one");
        EXPECT(&serve, 0, "island", "create", "island");
        EXPECT(&serve, 0, "rev", "add", "island", "/", "Boat");
        char *output = back_up_all(&serve, folder, 0);
        cr_assert_eq(count_lines_with(output, "\"copied\":true"), 2, "%s", output);
        scn_free(output);
        output = back_up_all(&serve, folder, 0);
        cr_assert_eq(count_lines_with(output, "\"copied\":false"), 2, "%s", output);
        scn_free(output);
        EXPECT(&serve, 0, "rev", "add", "island", "/", "Buoy");
        output = back_up_all(&serve, folder, 0);
        cr_assert_eq(count_lines_with(output, "\"copied\":true"), 1, "%s", output);
        cr_assert_not_null(strstr(output, "{\"doc\":\"levels/one\",\"file\""), "%s", output);
        scn_free(output);
        /* Nothing but the two files, for their owner alone. */
        cr_assert_eq(count_files(folder), 2);
        path_in(&serve, "copies/levels%2Fone.scene", file);
        cr_assert_eq(stat(file, &status), 0);
        cr_assert_eq(status.st_mode & 0777, 0600);
        path_in(&serve, "copies/island.scene", file);
        EXPECT(&serve, 0, "\"rev\":2", "verify", file);
        serve_finish(&serve);
}

/* A restart begins an epoch: who resumes must not meet a copy that does not list it. */
SCN_TEST_WITH(backups, are_made_anew_when_another_epoch_has_begun, .timeout = 60)
{
        struct serve serve;
        char folder[PATH_BYTES];
        serve_begin(&serve);
        path_in(&serve, "copies", folder);
        EXPECT(&serve, 0, "island", "create", "island");
        scn_free(back_up_all(&serve, folder, 0));
        cr_assert_eq(scn_daemon_stop(&serve.daemon), 0);
        serve_start(&serve);
        char *output = back_up_all(&serve, folder, 0);
        cr_assert_not_null(strstr(output, "\"copied\":false"), "%s", output);
        scn_free(output);
        EXPECT(&serve, 0, "rev", "info", "island");
        output = back_up_all(&serve, folder, 0);
        cr_assert_not_null(strstr(output, "\"copied\":true"), "%s", output);
        scn_free(output);
        serve_finish(&serve);
}

SCN_TEST_WITH(backups, of_others_are_made_when_one_fails, .timeout = 60)
{
        struct serve serve;
        char folder[PATH_BYTES];
        char file[PATH_BYTES];
        serve_begin(&serve);
        path_in(&serve, "copies", folder);
        path_in(&serve, "data/broken.scene", file);
        FILE *broken = fopen(file, "w");
        cr_assert_geq(fputs("no document", broken), 0);
        cr_assert_eq(fclose(broken), 0);
        EXPECT(&serve, 0, "atoll", "create", "atoll");
        EXPECT(&serve, 0, "island", "create", "island");
        char *output = back_up_all(&serve, folder, 1);
        cr_assert_eq(count_lines_with(output, "\"copied\":true"), 2, "%s", output);
        cr_assert_not_null(strstr(output, "{\"doc\":\"broken\",\"error\":\"not_a_document\""), "%s", output);
        scn_free(output);
        cr_assert_eq(count_files(folder), 2);
        serve_finish(&serve);
}

/* --- While somebody writes as fast as it goes --- */

struct writer {
        pthread_t thread;
        struct serve *serve;
        _Atomic uint64_t acknowledged;
        atomic_bool shall_stop;
};

static void *write_on(void *data)
{
        struct writer *writer = data;
        struct caller caller;
        uint64_t sent = 0;
        caller_begin(&caller, serve_connect(writer->serve, SERVE_TCP), 1, "ann");
        (void)caller_open(&caller, "busy");
        while (!atomic_load(&writer->shall_stop) || sent > writer->acknowledged) {
                while (!atomic_load(&writer->shall_stop) && sent < writer->acknowledged + 64) {
                        struct scn_op op = scene_translate(1, (float)sent, 0, 0);
                        caller_edit(&caller, ++sent, &op, 1);
                }
                (void)caller_expect(&caller, SCN_MESSAGE_applied);
                writer->acknowledged++;
        }
        caller_end(&caller);
        return NULL;
}

SCN_TEST_WITH(backups, of_all_under_load_are_whole_and_have_what_was_acknowledged, .timeout = 120)
{
        struct serve serve;
        struct writer writer = {.serve = &serve};
        char folder[PATH_BYTES];
        char file[PATH_BYTES];
        serve_begin(&serve);
        path_in(&serve, "copies", folder);
        path_in(&serve, "copies/busy.scene", file);
        EXPECT(&serve, 0, "calm", "create", "calm");
        EXPECT(&serve, 0, "busy", "create", "busy");
        cr_assert_eq(pthread_create(&writer.thread, NULL, write_on, &writer), 0);
        for (uint32_t i = 0; i < 3; i++) {
                const uint64_t wanted = atomic_load(&writer.acknowledged) + 2000;
                while (atomic_load(&writer.acknowledged) < wanted) {
                        (void)usleep(1000);
                }
                const uint64_t before = atomic_load(&writer.acknowledged);
                char *output = back_up_all(&serve, folder, 0);
                cr_assert_eq(count_lines_with(output, "\"copied\":true"), i == 0 ? 2 : 1, "%s", output);
                scn_free(output);
                cr_assert_geq((uint64_t)scn_test_sql(file, "SELECT max(rev) FROM transactions"), before);
                EXPECT(&serve, 0, "\"ok\":true", "verify", file);
        }
        atomic_store(&writer.shall_stop, true);
        cr_assert_eq(pthread_join(writer.thread, NULL), 0);
        serve_finish(&serve);
}

/* An operator does by hand what scenectl refuses: nothing is acknowledged that the file's next reader will not find. */
SCN_TEST_WITH(backups, put_in_the_place_of_a_live_file_end_its_sessions_and_are_served_from_then_on, .timeout = 60)
{
        struct serve serve;
        struct caller caller;
        char copy[PATH_BYTES];
        char live[PATH_BYTES];
        serve_begin(&serve);
        path_in(&serve, "copy.scene", copy);
        path_in(&serve, "data/island.scene", live);
        caller_begin(&caller, serve_connect(&serve, SERVE_TCP), 1, "ann");
        (void)caller_open(&caller, "island");
        struct scn_op op = scene_translate(1, 1, 0, 0);
        caller_edit(&caller, 1, &op, 1);
        (void)caller_await(&caller, 1);
        EXPECT(&serve, 0, "\"rev\":1", "backup", "island", copy);
        op = scene_translate(1, 2, 0, 0);
        caller_edit(&caller, 2, &op, 1);
        (void)caller_await(&caller, 2);
        cr_assert_eq(rename(copy, live), 0);
        op = scene_translate(1, 3, 0, 0);
        caller_edit(&caller, 3, &op, 1);
        struct scn_message message;
        while (caller_receive(&caller, &message)) {
                cr_assert_neq(message.kind, SCN_MESSAGE_applied);
        }
        caller_end(&caller);
        EXPECT(&serve, 0, "\"rev\":2", "add", "island", "/", "Boat");
        EXPECT(&serve, 0, "\"ok\":true", "verify", "island");
        serve_finish(&serve);
}

SCN_TEST_WITH(backups, into_the_folder_of_a_running_daemon_are_refused_and_nothing_is_lost, .timeout = 60)
{
        struct serve serve;
        char folder[PATH_BYTES];
        char live[PATH_BYTES];
        char link[PATH_BYTES];
        serve_begin(&serve);
        path_in(&serve, "data", folder);
        path_in(&serve, "data/island.scene", live);
        path_in(&serve, "link.scene", link);
        EXPECT(&serve, 0, "island", "create", "island");
        EXPECT(&serve, 0, "rev", "add", "island", "/", "Boat");
        EXPECT(&serve, 1, "belongs to a running scened", "backup", "island", live);
        EXPECT(&serve, 1, "in_use", "export", "island", live);
        char *output = back_up_all(&serve, folder, 1);
        cr_assert_eq(count_lines_with(output, "in_use"), 1, "%s", output);
        cr_assert_null(strstr(output, "\"doc\""), "%s", output);
        scn_free(output);
        /* A link to it is replaced itself. */
        cr_assert_eq(symlink(live, link), 0);
        EXPECT(&serve, 1, "in_use", "export", "island", link);
        EXPECT(&serve, 0, "\"rev\":1", "backup", "island", link);
        struct stat status;
        cr_assert_eq(lstat(link, &status), 0);
        cr_assert(S_ISREG(status.st_mode));
        EXPECT(&serve, 0, "rev", "add", "island", "/", "Buoy");
        cr_assert_eq(scn_daemon_stop(&serve.daemon), 0);
        serve_start(&serve);
        EXPECT(&serve, 0, "Buoy", "tree", "island");
        serve_finish(&serve);
}

SCN_TEST_WITH(backups, onto_what_is_no_folder_fail_once, .timeout = 60)
{
        struct serve serve;
        serve_begin(&serve);
        EXPECT(&serve, 0, "atoll", "create", "atoll");
        EXPECT(&serve, 0, "island", "create", "island");
        char *output = back_up_all(&serve, "/dev/null", 1);
        cr_assert_eq(count_lines_with(output, "not_writable"), 1, "%s", output);
        scn_free(output);
        EXPECT(&serve, 1, "not_writable", "backup", "island", "/dev/null");
        serve_finish(&serve);
}

SCN_TEST_WITH(backups, are_told_of_to_people_without_what_would_steer_a_terminal, .timeout = 60)
{
        static const char document[] = "is\x1b[31mland";
        static const char gone[] = "no\x1b[31mbody";
        struct serve serve;
        char address[SERVE_ADDRESS_BYTES];
        char folder[PATH_BYTES];
        serve_begin(&serve);
        serve_address(&serve, SERVE_UNIX, address);
        path_in(&serve, "copies", folder);
        EXPECT(&serve, 0, "land", "create", document);
        const char *const commands[][6] = {
                {"--server", address, "backup", "--all", folder, NULL},
                {"--server", address, "verify", document, NULL},
                {"--server", address, "backup", gone, "/nonexistent/\x1b[31m.scene", NULL},
        };
        for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
                struct scn_daemon tool;
                scn_daemon_init(&tool);
                scn_daemon_start(&tool, &(struct scn_daemon_options){.program = "scenectl", .arguments = commands[i]});
                (void)scn_daemon_wait_long(&tool, 30000);
                char *said = scn_daemon_log(&tool);
                cr_assert_null(strchr(said, '\x1b'), "%s", said);
                cr_assert_not_null(strstr(said, i < 2 ? "is.[31mland" : "scenectl: "), "%s", said);
                scn_free(said);
                scn_daemon_finish(&tool);
        }
        serve_finish(&serve);
}

/* Copies the document's file and what stands beside it, as a cp in the wrong moment does. */
static void copy_bytes(const char *from, const char *to)
{
        static char bytes[1u << 22];
        FILE *source = fopen(from, "rb");
        FILE *target = fopen(to, "wb");
        cr_assert_not_null(source);
        cr_assert_not_null(target);
        const size_t size = fread(bytes, 1, sizeof bytes, source);
        cr_assert_lt(size, sizeof bytes);
        cr_assert_eq(fwrite(bytes, 1, size, target), size);
        cr_assert_eq(fclose(source), 0);
        cr_assert_eq(fclose(target), 0);
}

/* A folder with island.scene of revision 0 and all the rest in the write-ahead file. */
static void copy_live_pair(struct serve *serve, const char *file)
{
        char live[PATH_BYTES];
        char beside[PATH_BYTES + 8];
        struct stat status;
        path_in(serve, "data/island.scene", live);
        copy_bytes(live, file);
        (void)snprintf(beside, sizeof beside, "%s-wal", file);
        path_in(serve, "data/island.scene-wal", live);
        copy_bytes(live, beside);
        cr_assert_eq(stat(beside, &status), 0);
        cr_assert_gt(status.st_size, 0);
}

SCN_TEST_WITH(backups, have_nothing_beside_them_that_belonged_to_what_they_replace, .timeout = 60)
{
        struct serve serve;
        struct caller caller;
        char folder[PATH_BYTES];
        char file[PATH_BYTES];
        serve_begin(&serve);
        path_in(&serve, "copies", folder);
        path_in(&serve, "copies/island.scene", file);
        cr_assert_eq(mkdir(folder, 0700), 0);
        caller_begin(&caller, serve_connect(&serve, SERVE_TCP), 1, "ann");
        (void)caller_open(&caller, "island");
        EXPECT(&serve, 0, "rev", "add", "island", "/", "Boat");
        copy_live_pair(&serve, file);
        EXPECT(&serve, 0, "rev", "add", "island", "/", "Buoy");
        EXPECT(&serve, 0, "\"rev\":2", "backup", "island", file);
        cr_assert_eq(count_files(folder), 1);
        EXPECT(&serve, 0, "\"rev\":2", "verify", file);
        copy_live_pair(&serve, file);
        scn_free(back_up_all(&serve, folder, 0));
        cr_assert_eq(count_files(folder), 1);
        EXPECT(&serve, 0, "\"rev\":2", "verify", file);
        caller_end(&caller);
        serve_finish(&serve);
}

/* --- restore-file --- */

SCN_TEST_WITH(restore_file, brings_back_what_stands_in_the_write_ahead_file_beside_it, .timeout = 60)
{
        struct serve serve;
        struct caller caller;
        char file[PATH_BYTES];
        serve_begin(&serve);
        path_in(&serve, "one.scene", file);
        caller_begin(&caller, serve_connect(&serve, SERVE_TCP), 1, "ann");
        (void)caller_open(&caller, "island");
        EXPECT(&serve, 0, "rev", "add", "island", "/", "Boat");
        copy_live_pair(&serve, file);
        EXPECT(&serve, 0, "{\"doc\":\"beside\",\"rev\":1,\"digest\"", "restore-file", "beside", file);
        EXPECT(&serve, 0, "Boat", "tree", "beside");
        caller_end(&caller);
        serve_finish(&serve);
}

static void digest_of(const struct serve *serve, const char *document, char digest_out[160])
{
        char *output;
        cr_assert_eq(serve_scenectl(serve, &output, "digest", document, NULL), 0);
        (void)snprintf(digest_out, 160, "%.159s", output);
        scn_free(output);
}

SCN_TEST_WITH(restore_file, brings_a_backup_back_beside_and_in_the_place_of_what_is_there, .timeout = 60)
{
        struct serve serve;
        char file[PATH_BYTES];
        char then[160];
        char now[160];
        serve_begin(&serve);
        path_in(&serve, "one.scene", file);
        EXPECT(&serve, 0, "\"rev\":1", "import", "island", SCN_TEST_SOURCE_DIR "/deploy/quickstart-scene.gltf");
        digest_of(&serve, "island", then);
        EXPECT(&serve, 0, "bytes", "backup", "island", file);
        EXPECT(&serve, 0, "rev", "rm", "island", "/Boat");
        EXPECT(&serve, 0, "{\"doc\":\"beside\",\"rev\":1,\"digest\"", "restore-file", "beside", file);
        digest_of(&serve, "beside", now);
        cr_assert_str_eq(now, then);
        EXPECT(&serve, 1, "name already; --replace", "restore-file", "island", file);
        EXPECT(&serve, 0, "\"rev\":1", "restore-file", "island", file, "--replace");
        digest_of(&serve, "island", now);
        cr_assert_str_eq(now, then);
        serve_finish(&serve);
}

static void expect_refused(struct serve *serve, const char *bytes, size_t size, const char *code)
{
        char file[PATH_BYTES];
        path_in(serve, "bad.scene", file);
        FILE *bad = fopen(file, "wb");
        cr_assert_eq(fwrite(bytes, 1, size, bad), size);
        cr_assert_eq(fclose(bad), 0);
        EXPECT(serve, 1, code, "restore-file", "island", file, "--replace");
}

SCN_TEST_WITH(restore_file, refuses_what_is_damaged_cut_short_foreign_or_newer_and_changes_nothing, .timeout = 60)
{
        static char bytes[1u << 20];
        struct serve serve;
        char file[PATH_BYTES];
        char before[160];
        char after[160];
        serve_begin(&serve);
        path_in(&serve, "good.scene", file);
        EXPECT(&serve, 0, "\"rev\":1", "import", "island", SCN_TEST_SOURCE_DIR "/deploy/quickstart-scene.gltf");
        EXPECT(&serve, 0, "bytes", "backup", "island", file);
        digest_of(&serve, "island", before);
        FILE *good = fopen(file, "rb");
        const size_t size = fread(bytes, 1, sizeof bytes, good);
        cr_assert_eq(fclose(good), 0);
        cr_assert_gt(size, 60000);
        expect_refused(&serve, bytes, size - 8192, "corrupt");
        expect_refused(&serve, "nothing of the kind", 19, "not_a_document");
        expect_refused(&serve, "", 0, "not_a_document");
        bytes[61] = 7;
        expect_refused(&serve, bytes, size, "newer_format");
        bytes[61] = 0;
        char *boat = memmem(bytes, size, "Lantern", 7);
        cr_assert_not_null(boat);
        *boat = 'l';
        expect_refused(&serve, bytes, size, "corrupt");
        digest_of(&serve, "island", after);
        cr_assert_str_eq(after, before);
        EXPECT(&serve, 1, "not_readable", "restore-file", "x", "/nonexistent/file");
        serve_finish(&serve);
}

/* Each is about what nobody could have done with the daemon, and what would stand in the way of those who come. */
SCN_TEST_WITH(restore_file, refuses_what_the_daemon_would_not_have_written_and_names_it, .timeout = 60)
{
        static const struct {
                const char *spoil, *undo, *named;
        } spoils[] = {
                {"CREATE UNIQUE INDEX one_each ON tags (author)", "DROP INDEX one_each", "the index one_each"},
                {"INSERT INTO tags VALUES ('12345', 1, 1, 'ann')", "DELETE FROM tags", "tags, row 12345"},
                {"INSERT INTO tags VALUES ('2026-01-31T10:00:00Z', 1, 1, 'ann')", "DELETE FROM tags",
                        "tags, row 2026-01-31T10"},
                {"INSERT INTO tags VALUES ('good', 1, 1, printf('%257s', 'x'))", "DELETE FROM tags", "tags, row good"},
                {"UPDATE history SET judged = 9223372036854775807", "UPDATE history SET judged = 0", "history, row 1"},
        };
        struct serve serve;
        char file[PATH_BYTES];
        serve_begin(&serve);
        path_in(&serve, "one.scene", file);
        EXPECT(&serve, 0, "\"rev\":1", "import", "island", SCN_TEST_SOURCE_DIR "/deploy/quickstart-scene.gltf");
        EXPECT(&serve, 0, "bytes", "backup", "island", file);
        for (size_t i = 0; i < sizeof spoils / sizeof spoils[0]; i++) {
                (void)scn_test_sql(file, spoils[i].spoil);
                EXPECT(&serve, 1, spoils[i].named, "restore-file", "beside", file);
                EXPECT(&serve, 1, spoils[i].named, "verify", file);
                (void)scn_test_sql(file, spoils[i].undo);
        }
        (void)scn_test_sql(file, "INSERT INTO tags VALUES ('v1', 1, 1, printf('%256s', 'x'))");
        EXPECT(&serve, 0, "\"rev\":1", "restore-file", "beside", file);
        serve_finish(&serve);
}

/* The server is held where it writes what scenectl waits for. */
SCN_TEST_WITH(backups, that_a_signal_ends_leave_nothing, .timeout = 60)
{
        static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
        struct serve serve;
        char folder[PATH_BYTES];
        char file[PATH_BYTES];
        char address[SERVE_ADDRESS_BYTES];
        serve_begin_with(&serve, "scened_faulty");
        path_in(&serve, "copies", folder);
        path_in(&serve, "copies/island", file);
        cr_assert_eq(mkdir(folder, 0755), 0);
        serve_address(&serve, SERVE_UNIX, address);
        EXPECT(&serve, 0, "island", "create", "island");
        EXPECT(&serve, 0, "rev", "add", "island", "/", "Boat"); /* opening it is done */
        for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
                const char *const arguments[] = {"--server", address, "backup", "island", file, NULL};
                struct scn_daemon tool;
                serve_set_fault(&serve, "step");
                scn_daemon_init(&tool);
                scn_daemon_start(&tool, &(struct scn_daemon_options){.program = "scenectl", .arguments = arguments});
                const uint64_t until_ms = scn_daemon_now_ms() + SCN_DAEMON_WAIT_MS;
                while (count_files(folder) == 0) {
                        cr_assert_lt(scn_daemon_now_ms(), until_ms, "nothing is written");
                        (void)usleep(1000);
                }
                scn_daemon_signal(&tool, signals[i]);
                cr_expect_eq(scn_daemon_wait(&tool), 128 + signals[i]);
                cr_expect_eq(count_files(folder), 0);
                scn_daemon_finish(&tool);
                serve_set_fault(&serve, NULL);
        }
        EXPECT(&serve, 0, "rev", "backup", "island", file);
        serve_finish(&serve);
}
