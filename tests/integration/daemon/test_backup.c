/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE

/* Backups of a document that is edited as fast as it goes: each is a whole document of one moment. */

#include "tests/lib/caller.h"
#include "tests/lib/daemon.h"
#include "tests/lib/scene.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WRITERS 2u
#define WINDOW 32u
#define BACKUPS 3

struct writer {
        pthread_t thread;
        uint16_t port;
        uint32_t client;
        _Atomic uint64_t acknowledged;
        atomic_bool shall_stop;
};

static void send_edit(struct caller *caller, uint64_t number)
{
        struct scn_op ops[2] = {scene_add(1, 0, "a node"), scene_translate(1, (float)number, 0, 0)};
        caller_edit(caller, number, ops, 2);
}

static void *write_on(void *data)
{
        struct writer *writer = data;
        struct caller caller;
        caller_begin(&caller, scn_daemon_connect(writer->port), writer->client, "ann");
        (void)caller_open(&caller, "island");
        uint64_t sent = 0;
        while (!atomic_load(&writer->shall_stop) || sent > writer->acknowledged) {
                while (!atomic_load(&writer->shall_stop) && sent < writer->acknowledged + WINDOW) {
                        send_edit(&caller, ++sent);
                }
                const struct scn_message message = caller_expect(&caller, SCN_MESSAGE_applied);
                cr_assert_eq(message.as.applied.number, writer->acknowledged + 1);
                writer->acknowledged++;
        }
        caller_end(&caller);
        return NULL;
}

static uint64_t acknowledged_by(struct writer *writers)
{
        return writers[0].acknowledged + writers[1].acknowledged;
}

static void back_up(struct scn_daemon *tool, uint16_t port, const char *path)
{
        char server[32];
        (void)snprintf(server, sizeof server, "127.0.0.1:%u", port);
        const char *arguments[] = {"--server", server, "--as", "bob", "backup", "island", path, NULL};
        const int code =
                scn_daemon_run(tool, &(struct scn_daemon_options){.program = "scenectl", .arguments = arguments});
        char *log = scn_daemon_log(tool);
        cr_assert_eq(code, 0, "%s", log);
        scn_free(log);
}

static void verify(struct scn_daemon *tool, uint16_t port, const char *file)
{
        char server[32];
        (void)snprintf(server, sizeof server, "127.0.0.1:%u", port);
        const char *arguments[] = {"--server", server, "--as", "bob", "verify", file, NULL};
        const int code =
                scn_daemon_run(tool, &(struct scn_daemon_options){.program = "scenectl", .arguments = arguments});
        char *log = scn_daemon_log(tool);
        cr_assert_eq(code, 0, "%s", log);
        scn_free(log);
}

SCN_TEST_WITH(backup, under_load_is_a_document_of_one_moment_that_verifies, .timeout = 120)
{
        static const char *const arguments[] = {"--listen", "127.0.0.1:0", "--data", "data", NULL};
        struct scn_daemon daemon;
        struct scn_daemon tool;
        struct writer writers[WRITERS] = {0};
        uint64_t before[BACKUPS];
        uint64_t after[BACKUPS];
        char path[BACKUPS][128];
        scn_daemon_init(&daemon);
        scn_daemon_init(&tool);
        scn_daemon_start(&daemon, &(struct scn_daemon_options){.program = "scened", .arguments = arguments});
        const uint16_t port = scn_daemon_port(&daemon);
        for (uint32_t i = 0; i < WRITERS; i++) {
                writers[i].port = port;
                writers[i].client = 1 + i;
                cr_assert_eq(pthread_create(&writers[i].thread, NULL, write_on, &writers[i]), 0);
        }
        for (uint32_t i = 0; i < BACKUPS; i++) {
                const uint64_t wanted = acknowledged_by(writers) + 1000;
                while (acknowledged_by(writers) < wanted) {
                        (void)usleep(1000);
                }
                (void)snprintf(path[i], sizeof path[i], "%s/copy%u.scene", daemon.folder, i);
                before[i] = acknowledged_by(writers);
                back_up(&tool, port, path[i]);
                after[i] = acknowledged_by(writers);
        }
        for (uint32_t i = 0; i < WRITERS; i++) {
                atomic_store(&writers[i].shall_stop, true);
                cr_assert_eq(pthread_join(writers[i].thread, NULL), 0);
        }
        for (uint32_t i = 0; i < BACKUPS; i++) {
                struct stat status;
                cr_assert_eq(stat(path[i], &status), 0);
                cr_assert_eq(status.st_mode & 0777, 0600);
                verify(&tool, port, path[i]);
                const uint64_t revision = (uint64_t)scn_test_sql(path[i], "SELECT max(rev) FROM transactions");
                cr_assert_geq(revision, before[i]);
                cr_assert_leq(revision, after[i] + WRITERS * WINDOW);
        }
        cr_assert_eq(scn_daemon_log_count(&daemon, " error "), 0);
        cr_assert_eq(scn_daemon_stop(&daemon), 0);
        scn_daemon_finish(&tool);
        scn_daemon_finish(&daemon);
}
