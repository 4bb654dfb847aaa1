/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _XOPEN_SOURCE 700

/* CASES B59: the process dies, or the power goes, at any operation of the disk while a checkpoint is made, edits come
 * and old checkpoints are dropped; and again while the document is opened. What was acknowledged is there, once. */

#include "server/core.h"
#include "tests/lib/held.h"
#include "tests/lib/hub.h"
#include "tests/lib/scene.h"
#include "tests/lib/shaky_disk.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_EDITS 6u

static void fail_at(uint64_t at)
{
        scn_shaky.fault = SCN_SHAKY_DEAD;
        scn_shaky.fault_at = scn_shaky.operations + at;
        scn_shaky.is_sticky = true;
        scn_shaky.has_struck = false;
}

static void heal(void)
{
        scn_shaky.fault = SCN_SHAKY_NONE;
        scn_shaky.has_struck = false;
}

/* Not the same twice: nodes without uids, places by number. */
static void send_edit(struct peer *peer)
{
        struct scn_op ops[] = {scene_add(1, 0, "node"), scene_move_index(2, 1, 1)};
        peer_edit(peer, ops, peer->number == 0 ? 1 : 2);
}

/* What was acknowledged last, and the digest then. */
struct told {
        scn_revision revision;
        struct scn_digests digests;
};

static const struct scn_document *document_of(const struct hub *hub)
{
        return hub->server->rooms->document;
}

/* False if it was not acknowledged. */
static bool edit(struct hub *hub, struct peer *peer, struct told *told)
{
        struct scn_message message;
        send_edit(peer);
        while (peer_receive(peer, &message)) {
                if (message.kind == SCN_MESSAGE_applied) {
                        told->revision = message.as.applied.rev;
                        told->digests = scn_document_digests(document_of(hub));
                        return true;
                }
        }
        return false;
}

/* Checkpoints, so many that some are dropped, with edits in between, until the disk is dead. */
static void work(struct hub *hub, struct peer *peer, struct told *told)
{
        for (int i = 0; i < 5 && !scn_shaky.has_struck; i++) {
                scn_room_gather(hub->server->rooms, (1u << 20) + 1);
                hub_run(hub);
                if (!edit(hub, peer, told) || !edit(hub, peer, told)) {
                        return;
                }
        }
}

static void stop(struct hub *hub, struct peer *peer)
{
        if (peer->session != NULL) {
                peer_close(peer);
        }
        hub_stop(hub);
}

/* Opens; false if the disk died under it. */
static bool try_open(struct hub *hub)
{
        struct scn_message message;
        struct peer peer;
        peer_greet(&peer, hub, 3, NULL);
        peer_ask_open(&peer, "island", false);
        bool is_open = false;
        while (peer_receive(&peer, &message)) {
                is_open = is_open || message.kind == SCN_MESSAGE_opened;
        }
        peer_close(&peer);
        return is_open;
}

static void check(struct hub *hub, const struct told *told, uint64_t at)
{
        struct scn_message message;
        struct peer peer;
        struct scn_digests digests;
        scn_revision revision = 0;
        for (int i = 0; i < 2; i++) {
                hub_restart(hub);
                peer_open(&peer, hub, 1, "ann", "island");
                const struct scn_digests now = scn_document_digests(document_of(hub));
                cr_assert(i == 0 || memcmp(&now, &digests, sizeof now) == 0, "died at %" PRIu64, at);
                cr_assert(i == 0 || scn_document_revision(document_of(hub)) == revision, "died at %" PRIu64, at);
                digests = now;
                revision = scn_document_revision(document_of(hub));
                cr_assert(revision == told->revision || revision == told->revision + 1,
                        "died at %" PRIu64 ": %" PRIu64 ", told %" PRIu64, at, revision, told->revision);
                cr_assert(revision != told->revision || memcmp(&now, &told->digests, sizeof now) == 0,
                        "died at %" PRIu64, at);
                scn_message_init(&message, SCN_MESSAGE_verify);
                message.as.verify.request = 1;
                peer_send(&peer, &message);
                (void)peer_expect(&peer, SCN_MESSAGE_answer);
                stop(hub, &peer);
        }
}

/* Returns false if all was done before the operation came. */
static bool die_at(uint64_t at, bool loses_power)
{
        struct hub hub;
        struct peer peer;
        struct told told = {0};
        scn_shaky_reset();
        hub_start(&hub);
        peer_open(&peer, &hub, 1, "ann", "island");
        for (uint32_t i = 0; i < FIRST_EDITS; i++) {
                cr_assert(edit(&hub, &peer, &told));
        }
        fail_at(at);
        work(&hub, &peer, &told);
        const bool has_died = scn_shaky.has_struck;
        stop(&hub, &peer);
        heal();
        if (loses_power) {
                struct hub after = hub;
                (void)snprintf(after.path, sizeof after.path, "/tmp/scened-hub-XXXXXX");
                cr_assert_not_null(mkdtemp(after.path));
                scn_shaky_lose_power(hub.path, after.path, at);
                hub_finish(&hub);
                hub = after;
        } else {
                /* The recovery dies, too. */
                hub_restart(&hub);
                fail_at(1 + at % 5);
                (void)try_open(&hub);
                hub_stop(&hub);
                heal();
        }
        check(&hub, &told, at);
        hub_finish(&hub);
        return has_died;
}

SCN_TEST_WITH(checkpoint_disk, loses_nothing_acknowledged_when_the_process_dies_at_any_operation, .timeout = 600)
{
        uint64_t at = 1;
        scn_shaky_install();
        while (die_at(at, false)) {
                at++;
        }
        cr_assert_gt(at, 60, "%" PRIu64, at);
}

SCN_TEST_WITH(checkpoint_disk, loses_nothing_acknowledged_when_the_power_fails_at_any_operation, .timeout = 600)
{
        uint64_t at = 1;
        scn_shaky_install();
        while (die_at(at, true)) {
                at += 2;
        }
        cr_assert_gt(at, 60, "%" PRIu64, at);
}
