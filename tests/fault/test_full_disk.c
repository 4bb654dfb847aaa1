/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* umount2 under -std=c11 */

/* A document on a disk that is full when it is opened (CASES B55): it can be read, and edited as soon as there is
 * room; nobody is told of an epoch under which a revision could be made before the file lists it. */

#include "server/core.h"
#include "tests/lib/held.h"
#include "tests/lib/hub.h"
#include "tests/lib/scene.h"
#include "tests/lib/shaky_disk.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

static void fill_disk(bool is_full)
{
        scn_shaky.fault = is_full ? SCN_SHAKY_FULL : SCN_SHAKY_NONE;
        scn_shaky.fault_at = scn_shaky.writes + 1;
        scn_shaky.is_sticky = true;
        scn_shaky.only = NULL;
}

static struct scn_room *room_of(struct hub *hub)
{
        return hub->server->rooms;
}

static void edit(struct peer *peer, uint32_t uid)
{
        struct scn_op op = scene_add(1, uid, "node");
        peer_edit(peer, &op, 1);
}

static int64_t count_epochs(const struct hub *hub)
{
        char path[96];
        (void)snprintf(path, sizeof path, "%s/island.scene", hub->path);
        return scn_test_sql(path, "SELECT count(*) FROM epochs");
}

/* Three revisions, then the server is stopped and started again on a full disk. */
static void start_full(struct hub *hub, struct peer *peer, uint8_t first_epoch[8])
{
        scn_shaky_install();
        hub_start(hub);
        peer_open(peer, hub, 1, "ann", "island");
        for (uint32_t i = 0; i < 3; i++) {
                edit(peer, 100 + i);
                (void)peer_expect(peer, SCN_MESSAGE_applied);
        }
        memcpy(first_epoch, &room_of(hub)->epoch, 8);
        peer_close(peer);
        hub_stop(hub);
        fill_disk(true);
        hub_restart(hub);
        peer_open(peer, hub, 1, "ann", "island");
}

static void make_room(struct hub *hub)
{
        fill_disk(false);
        scn_server_tick(hub->server);
        hub_run(hub);
}

static bool resumes(struct hub *hub, const uint8_t epoch[8], uint64_t rev)
{
        struct peer peer;
        struct scn_message message;
        peer_open(&peer, hub, 50, "cy", "island");
        scn_message_init(&message, SCN_MESSAGE_view);
        message.as.view.request = 77;
        message.as.view.view = 1;
        message.as.view.root = scene_path("/");
        message.as.view.mask = SCN_MASK_ALL;
        message.as.view.epoch = (struct scn_slice){epoch, 8};
        message.as.view.rev = rev;
        peer_send(&peer, &message);
        const bool is_resumed = peer_expect(&peer, SCN_MESSAGE_viewed).as.viewed.resumed;
        peer_close(&peer);
        return is_resumed;
}

SCN_TEST(full_disk, lets_a_document_be_read_that_was_opened_on_it)
{
        struct hub hub;
        struct peer peer;
        uint8_t first[8];
        start_full(&hub, &peer, first);
        cr_assert_eq(hub.errors_logged, 1);
        cr_assert(resumes(&hub, first, 2));
        cr_assert(resumes(&hub, (const uint8_t *)&room_of(&hub)->epoch, 3));
        (void)ask_digest(&peer);
        edit(&peer, 200);
        peer_expect_code(&peer, SCN_MESSAGE_refused, "storage_full");
        edit(&peer, 201);
        peer_expect_code(&peer, SCN_MESSAGE_refused, "storage_full");
        cr_assert_eq(scn_document_revision(room_of(&hub)->document), 3);
        /* Looking for room every second costs the log nothing. */
        for (int i = 0; i < 5; i++) {
                scn_server_tick(hub.server);
                hub_run(&hub);
        }
        cr_assert_eq(hub.errors_logged, 1);
        cr_assert(scn_shaky.has_struck);
        fill_disk(false);
        peer_close(&peer);
        hub_finish(&hub);
}

SCN_TEST(full_disk, that_has_room_again_takes_edits_once_the_epoch_has_begun)
{
        struct hub hub;
        struct peer peer;
        uint8_t first[8];
        uint8_t second[8];
        start_full(&hub, &peer, first);
        memcpy(second, &room_of(&hub)->epoch, 8);
        edit(&peer, 200);
        peer_expect_code(&peer, SCN_MESSAGE_refused, "storage_full");
        make_room(&hub);
        cr_assert_eq(count_epochs(&hub), 2);
        edit(&peer, 201);
        cr_assert_eq(peer_expect(&peer, SCN_MESSAGE_applied).as.applied.rev, 4);
        cr_assert(resumes(&hub, first, 3));
        cr_assert_not(resumes(&hub, first, 4));
        cr_assert(resumes(&hub, second, 3));
        cr_assert(resumes(&hub, second, 4));
        peer_close(&peer);
        hub_stop(&hub);
        hub_restart(&hub);
        peer_open(&peer, &hub, 1, "ann", "island");
        cr_assert(resumes(&hub, first, 3));
        cr_assert_not(resumes(&hub, first, 4));
        cr_assert(resumes(&hub, second, 4));
        peer_close(&peer);
        hub_finish(&hub);
}

/* What it told as its epoch is unknown then, and that is all. */
SCN_TEST(full_disk, does_no_harm_if_the_server_ends_before_there_is_room)
{
        struct hub hub;
        struct peer peer;
        uint8_t first[8];
        uint8_t second[8];
        start_full(&hub, &peer, first);
        memcpy(second, &room_of(&hub)->epoch, 8);
        peer_close(&peer);
        hub_stop(&hub);
        fill_disk(false);
        hub_restart(&hub);
        peer_open(&peer, &hub, 1, "ann", "island");
        cr_assert_eq(count_epochs(&hub), 2);
        cr_assert(resumes(&hub, first, 3));
        cr_assert_not(resumes(&hub, second, 3));
        edit(&peer, 201);
        cr_assert_eq(peer_expect(&peer, SCN_MESSAGE_applied).as.applied.rev, 4);
        peer_close(&peer);
        hub_finish(&hub);
}

SCN_TEST(full_disk, gives_repeats_their_first_answers_all_the_same)
{
        struct hub hub;
        struct peer peer;
        uint8_t first[8];
        start_full(&hub, &peer, first);
        struct scn_op op = scene_add(1, 101, "node");
        peer_edit_as(&peer, 2, &op, 1);
        cr_assert_eq(peer_expect(&peer, SCN_MESSAGE_applied).as.applied.rev, 2);
        fill_disk(false);
        peer_close(&peer);
        hub_finish(&hub);
}

SCN_TEST(full_disk, without_verdict_on_the_epoch_closes_the_document)
{
        struct hub hub;
        struct peer peer;
        uint8_t first[8];
        start_full(&hub, &peer, first);
        scn_shaky.fault = SCN_SHAKY_SYNC_FAILS;
        scn_shaky.fault_at = scn_shaky.syncs + 1;
        scn_shaky.is_sticky = true;
        for (int i = 0; i < 4 && !peer_has_ended(&peer); i++) {
                scn_server_tick(hub.server);
                hub_run(&hub);
        }
        cr_assert(peer_has_ended(&peer));
        fill_disk(false);
        peer_close(&peer);
        hub_run(&hub);
        scn_server_tick(hub.server);
        hub_run(&hub);
        peer_open(&peer, &hub, 1, "ann", "island");
        edit(&peer, 201);
        cr_assert_eq(peer_expect(&peer, SCN_MESSAGE_applied).as.applied.rev, 4);
        peer_close(&peer);
        hub_finish(&hub);
}

/* --- A real one --- */

static void write_ballast(const struct hub *hub)
{
        char path[96];
        (void)snprintf(path, sizeof path, "%s/ballast", hub->path);
        FILE *file = fopen(path, "wb");
        cr_assert_not_null(file);
        while (fputs("this stands in the way of others. ", file) >= 0 && fflush(file) == 0) {
        }
        (void)fclose(file);
}

static void remove_ballast(const struct hub *hub)
{
        char path[96];
        (void)snprintf(path, sizeof path, "%s/ballast", hub->path);
        cr_assert_eq(remove(path), 0);
}

/* On a file system of 4 MiB. Needs root, like the journal's own test of it. */
SCN_TEST(full_disk, of_the_real_kind_is_read_from_and_written_to_when_there_is_room)
{
        struct hub hub;
        struct peer peer;
        struct scn_digests before;
        hub_start(&hub);
        hub_stop(&hub);
        if (mount("scn-test", hub.path, "tmpfs", 0, "size=4m,mode=700") != 0) {
                const char *reason = strerror(errno);
                hub_finish(&hub);
                cr_skip_test("a small file system cannot be mounted here: %s", reason);
        }
        hub_restart(&hub);
        peer_open(&peer, &hub, 1, "ann", "island");
        for (uint32_t i = 0; i < 50; i++) {
                edit(&peer, 100 + i);
                (void)peer_expect(&peer, SCN_MESSAGE_applied);
        }
        before = scn_document_digests(room_of(&hub)->document);
        peer_close(&peer);
        hub_stop(&hub);
        write_ballast(&hub);
        hub_restart(&hub);
        peer_open(&peer, &hub, 1, "ann", "island");
        const struct scn_digests after = scn_document_digests(room_of(&hub)->document);
        cr_assert_eq(memcmp(&before, &after, sizeof before), 0);
        edit(&peer, 900);
        peer_expect_code(&peer, SCN_MESSAGE_refused, "storage_full");
        remove_ballast(&hub);
        scn_server_tick(hub.server);
        hub_run(&hub);
        edit(&peer, 901);
        cr_assert_eq(peer_expect(&peer, SCN_MESSAGE_applied).as.applied.rev, 51);
        peer_close(&peer);
        hub_stop(&hub);
        cr_assert_eq(umount2(hub.path, MNT_DETACH), 0);
        hub_finish(&hub);
}
