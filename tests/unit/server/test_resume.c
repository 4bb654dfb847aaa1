/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* memmem under -std=c11 */

/* Coming back to a view with what one has of it (CASES B09, B11): over restarts, and to another history. */

#include "server/core.h"
#include "tests/lib/held.h"
#include "tests/lib/hub.h"
#include "tests/lib/scene.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REVISIONS 30

/* A copy of the whole document as it was at each revision, and the epoch it was told under. */
struct copies {
        struct scene_view views[REVISIONS + 1];
        uint8_t epoch[8];
};

static const struct scn_document *document_of(const struct hub *hub)
{
        return hub->server->rooms->document;
}

static struct scn_room *room_of(struct hub *hub)
{
        return hub->server->rooms;
}

static void keep_copy(struct copies *copies, struct hub *hub)
{
        struct scn_document *document = room_of(hub)->document;
        struct scene_view *view = &copies->views[scn_document_revision(document)];
        *view = scene_view_create(1, SCN_MASK_ALL);
        view->root = scn_document_node(document, scn_document_root(document)).uid;
        scene_view_update(view, document);
        memcpy(copies->epoch, &room_of(hub)->epoch, sizeof copies->epoch);
}

static void drop_copies(struct copies *copies)
{
        for (size_t i = 0; i <= REVISIONS; i++) {
                if (copies->views[i].replica != NULL) {
                        scene_view_finish(&copies->views[i]);
                }
        }
}

/* Adds, changes, moves and removes nodes: revision `next` of a row that is always the same. */
static void edit(struct peer *peer, uint32_t next)
{
        struct scn_op op = scene_add(1, 100 + next, "node");
        if (next % 5 == 0) {
                op = scene_move(3, next % 10 == 0 ? 2 : 5);
        } else if (next % 7 == 0) {
                op = scene_rename(2, next % 2 == 0 ? "even" : "odd");
        } else if (next == 23) {
                op = scene_remove(4);
        }
        peer_edit(peer, &op, 1);
        cr_assert_eq(peer_expect(peer, SCN_MESSAGE_applied).as.applied.rev, next);
}

static void edit_up_to(struct hub *hub, struct peer *peer, struct copies *copies, uint32_t last)
{
        uint32_t next = (uint32_t)scn_document_revision(document_of(hub)) + 1;
        if (copies != NULL && next == 1) {
                keep_copy(copies, hub);
        }
        for (; next <= last; next++) {
                edit(peer, next);
                if (copies != NULL) {
                        keep_copy(copies, hub);
                }
        }
}

/* Asks to go on from there; says whether the server does. */
static bool resume(struct peer *peer, const uint8_t *epoch, uint64_t rev)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_view);
        message.as.view.request = 77;
        message.as.view.view = 1;
        message.as.view.root = scene_path("/");
        message.as.view.mask = SCN_MASK_ALL;
        message.as.view.epoch = (struct scn_slice){epoch, 8};
        message.as.view.rev = rev;
        peer_send(peer, &message);
        return peer_expect(peer, SCN_MESSAGE_viewed).as.viewed.resumed;
}

/* Every copy is brought up to date by what comes for its revision, and by nothing else. */
static void expect_all_resume(struct hub *hub, struct copies *copies, const uint8_t *epoch)
{
        for (uint64_t rev = 0; rev <= REVISIONS; rev++) {
                struct peer peer;
                struct held held = {.replica = copies->views[rev].replica};
                peer_open(&peer, hub, 50, "cy", "island");
                cr_assert(resume(&peer, epoch, rev), "revision %d", (int)rev);
                const bool has_delta = take_delta(&peer, &held);
                cr_assert_eq(has_delta, rev < scn_document_revision(document_of(hub)));
                cr_assert_not(take_delta(&peer, &held));
                cr_assert(has_digest(held.replica, ask_digest(&peer)), "revision %d", (int)rev);
                peer_close(&peer);
        }
}

static void expect_snapshot(struct hub *hub, const uint8_t *epoch, uint64_t rev)
{
        struct peer peer;
        struct held held;
        hold(&held);
        peer_open(&peer, hub, 50, "cy", "island");
        cr_assert_not(resume(&peer, epoch, rev));
        cr_assert(take_delta(&peer, &held));
        cr_assert(has_digest(held.replica, ask_digest(&peer)));
        let_go(&held);
        peer_close(&peer);
}

SCN_TEST(resume, is_by_delta_from_each_revision_of_this_epoch)
{
        struct hub hub;
        struct peer peer;
        struct copies copies = {0};
        hub_start(&hub);
        peer_open(&peer, &hub, 1, "ann", "island");
        edit_up_to(&hub, &peer, &copies, REVISIONS);
        expect_all_resume(&hub, &copies, copies.epoch);
        expect_snapshot(&hub, copies.epoch, REVISIONS + 1);
        expect_snapshot(&hub, copies.epoch, SCN_REVISION_MAX);
        drop_copies(&copies);
        peer_close(&peer);
        hub_finish(&hub);
}

SCN_TEST(resume, is_by_delta_after_restarts_with_and_without_checkpoints)
{
        for (uint32_t with_checkpoint = 0; with_checkpoint < 2; with_checkpoint++) {
                struct hub hub;
                struct peer peer;
                struct copies copies = {0};
                hub_start(&hub);
                peer_open(&peer, &hub, 1, "ann", "island");
                edit_up_to(&hub, &peer, &copies, REVISIONS);
                if (with_checkpoint != 0) {
                        scn_room_gather(room_of(&hub), 2u << 20);
                        hub_run(&hub);
                }
                for (int i = 0; i < 3; i++) {
                        peer_close(&peer);
                        hub_stop(&hub);
                        hub_restart(&hub);
                        peer_open(&peer, &hub, 1, "ann", "island");
                        cr_assert_neq(memcmp(&room_of(&hub)->epoch, copies.epoch, 8), 0);
                }
                edit_up_to(&hub, &peer, NULL, REVISIONS + 5);
                expect_all_resume(&hub, &copies, copies.epoch);
                /* What the old epoch never had. */
                expect_snapshot(&hub, copies.epoch, REVISIONS + 1);
                expect_snapshot(&hub, copies.epoch, SCN_REVISION_MAX);
                drop_copies(&copies);
                peer_close(&peer);
                hub_finish(&hub);
        }
}

SCN_TEST(resume, is_a_snapshot_before_the_horizon)
{
        struct hub hub;
        struct peer peer;
        struct copies copies = {0};
        hub_start(&hub);
        hub_stop(&hub);
        hub.limits.past_min = 3;
        hub_restart(&hub);
        peer_open(&peer, &hub, 1, "ann", "island");
        edit_up_to(&hub, &peer, &copies, REVISIONS);
        for (uint32_t i = 0; i < 40; i++) {
                struct scn_op ops[] = {
                        scene_add(1, 900, "short-lived"), scene_remove(scn_document_next_id(document_of(&hub)))};
                peer_edit(&peer, &ops[0], 1);
                (void)peer_expect(&peer, SCN_MESSAGE_applied);
                peer_edit(&peer, &ops[1], 1);
                (void)peer_expect(&peer, SCN_MESSAGE_applied);
        }
        for (int i = 0; i < 2; i++) {
                const scn_revision horizon = scn_document_horizon(document_of(&hub));
                struct peer other;
                cr_assert_gt(horizon, 1);
                expect_snapshot(&hub, copies.epoch, horizon - 1);
                peer_open(&other, &hub, 50, "cy", "island");
                cr_assert(resume(&other, copies.epoch, horizon));
                peer_close(&other);
                peer_close(&peer);
                hub_stop(&hub);
                hub_restart(&hub);
                peer_open(&peer, &hub, 1, "ann", "island");
        }
        drop_copies(&copies);
        peer_close(&peer);
        hub_finish(&hub);
}

SCN_TEST(resume, is_a_snapshot_for_what_is_no_epoch)
{
        struct hub hub;
        struct peer peer;
        struct copies copies = {0};
        uint8_t epoch[8] = {1, 2, 3, 4, 5, 6, 7, 8};
        hub_start(&hub);
        peer_open(&peer, &hub, 1, "ann", "island");
        edit_up_to(&hub, &peer, NULL, 5);
        expect_snapshot(&hub, epoch, 3);
        memset(epoch, 0, sizeof epoch);
        expect_snapshot(&hub, epoch, 3);
        drop_copies(&copies);
        peer_close(&peer);
        hub_finish(&hub);
}

/* --- A backup put back by hand --- */

static void put_back(const char *folder, const char *from, const char *to)
{
        char command[256];
        (void)snprintf(command, sizeof command, "cp %s/%s %s/%s", folder, from, folder, to);
        cr_assert_eq(system(command), 0);
}

SCN_TEST(resume, against_a_backup_put_back_is_a_snapshot_for_all_that_it_has_lost)
{
        struct hub hub;
        struct peer peer;
        struct copies copies = {0};
        hub_start(&hub);
        peer_open(&peer, &hub, 1, "ann", "island");
        edit_up_to(&hub, &peer, &copies, 15);
        peer_close(&peer);
        hub_stop(&hub);
        put_back(hub.path, "island.scene", "backup");
        hub_restart(&hub);
        peer_open(&peer, &hub, 1, "ann", "island");
        edit_up_to(&hub, &peer, &copies, REVISIONS);
        peer_close(&peer);
        hub_stop(&hub);
        put_back(hub.path, "backup", "island.scene");
        hub_restart(&hub);
        peer_open(&peer, &hub, 2, "bob", "island");
        cr_assert_eq(scn_document_revision(document_of(&hub)), 15);
        for (uint32_t i = 0; i < REVISIONS; i++) {
                struct scn_op op = scene_add(1, 500 + i, "other");
                peer_edit(&peer, &op, 1);
                (void)peer_expect(&peer, SCN_MESSAGE_applied);
        }
        /* The epoch under which these were told is not in this file. */
        for (uint64_t rev = 0; rev <= REVISIONS; rev++) {
                expect_snapshot(&hub, copies.epoch, rev);
        }
        drop_copies(&copies);
        peer_close(&peer);
        hub_finish(&hub);
}

SCN_TEST(resume, is_honoured_for_the_newest_epochs_only)
{
        struct hub hub;
        struct peer peer;
        struct copies copies = {0};
        hub_start(&hub);
        peer_open(&peer, &hub, 1, "ann", "island");
        edit_up_to(&hub, &peer, &copies, 3);
        for (uint32_t i = 0; i < 256; i++) {
                struct peer other;
                if (i == 255) {
                        peer_open(&other, &hub, 50, "cy", "island");
                        cr_assert(resume(&other, copies.epoch, 3));
                        peer_close(&other);
                }
                peer_close(&peer);
                hub_stop(&hub);
                hub_restart(&hub);
                peer_open(&peer, &hub, 1, "ann", "island");
        }
        expect_snapshot(&hub, copies.epoch, 3);
        drop_copies(&copies);
        peer_close(&peer);
        hub_finish(&hub);
}

/* What no client can have: -1, 2^53 + 1, 1.5. In a message they take the place of 2^53 - 1. */
static const struct {
        const char *spelling;
        const char *code;
} nonsense[] = {
        {"\xd3\xff\xff\xff\xff\xff\xff\xff\xff", "range"},
        {"\xcf\x00\x20\x00\x00\x00\x00\x00\x01", "range"},
        {"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "range"},
        {"\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00", "not_integer"},
};
#define NONSENSE_BYTES 9u

static void expect_nonsense(struct peer *peer, const struct scn_message *message)
{
        static const uint8_t marker[NONSENSE_BYTES] = {0xcf, 0x00, 0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
        struct scn_buffer bytes;
        scn_buffer_init(&bytes, 256);
        cr_assert_eq(scn_message_encode(message, &bytes), SCN_OK);
        uint8_t *at = memmem(bytes.data, bytes.size, marker, sizeof marker);
        cr_assert_not_null(at);
        for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
                uint8_t head[2] = {0xc4, (uint8_t)bytes.size};
                memcpy(at, nonsense[i].spelling, NONSENSE_BYTES);
                peer_send_bytes(peer, head, sizeof head);
                peer_send_bytes(peer, bytes.data, bytes.size);
                hub_run(peer->hub);
                struct scn_message answer;
                cr_assert(peer_receive(peer, &answer));
                cr_expect_eq(answer.kind, SCN_MESSAGE_failed, "%s", scn_message_name(answer.kind));
                cr_expect(scene_is_text(answer.as.failed.code, nonsense[i].code), "%.*s",
                        (int)answer.as.failed.code.size, (const char *)answer.as.failed.code.data);
                cr_expect_neq(answer.as.failed.closes, true);
                cr_expect_not(peer_receive(peer, &answer), "it is answered twice");
        }
        scn_buffer_finish(&bytes);
}

static struct scn_message question(enum scn_message_kind kind)
{
        struct scn_message message;
        scn_message_init(&message, kind);
        message.as.ping.request = 77; /* the first field of all */
        return message;
}

SCN_TEST(resume, of_a_view_or_of_the_past_from_a_revision_that_cannot_be_is_refused)
{
        static const struct scn_slice last = {(const uint8_t *)"\xcf\x00\x1f\xff\xff\xff\xff\xff\xff", 9};
        static const struct {
                enum scn_message_kind kind;
                size_t place;
        } ends[] = {
                {SCN_MESSAGE_log, offsetof(struct scn_message, as.log.since)},
                {SCN_MESSAGE_log, offsetof(struct scn_message, as.log.until)},
                {SCN_MESSAGE_replay, offsetof(struct scn_message, as.replay.from)},
                {SCN_MESSAGE_replay, offsetof(struct scn_message, as.replay.to)},
        };
        struct hub hub;
        struct peer peer;
        struct scn_message message;
        hub_start(&hub);
        peer_open(&peer, &hub, 1, "ann", "island");
        edit_up_to(&hub, &peer, NULL, 5);
        message = question(SCN_MESSAGE_view);
        message.as.view.view = 1;
        message.as.view.root = scene_path("/");
        message.as.view.mask = SCN_MASK_ALL;
        message.as.view.epoch = (struct scn_slice){(const uint8_t *)&room_of(&hub)->epoch, 8};
        message.as.view.rev = SCN_REVISION_MAX;
        expect_nonsense(&peer, &message);
        cr_expect_null(peer.session->views);
        message = question(SCN_MESSAGE_log);
        message.as.log.from = SCN_REVISION_MAX;
        expect_nonsense(&peer, &message);
        message = question(SCN_MESSAGE_log);
        message.as.log.to = SCN_REVISION_MAX;
        expect_nonsense(&peer, &message);
        for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
                message = question(ends[i].kind);
                *(struct scn_slice *)((uint8_t *)&message + ends[i].place) = last;
                expect_nonsense(&peer, &message);
        }
        cr_assert_not(resume(&peer, (const uint8_t *)&room_of(&hub)->epoch, SCN_REVISION_MAX));
        peer_close(&peer);
        hub_finish(&hub);
}
