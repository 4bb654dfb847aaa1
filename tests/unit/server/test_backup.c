/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/core.h"
#include "tests/lib/hub.h"
#include "tests/lib/scene.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define PART_BYTES (256u << 10)

struct island {
        struct hub hub;
        struct peer peer;
};

/* About 2 MB in 40 revisions. */
static void start(struct island *island)
{
        static uint8_t value[50003] = {0xc5, 50000 >> 8, 50000 & 0xff};
        hub_start(&island->hub);
        peer_open(&island->peer, &island->hub, 1, "ann", "island");
        for (uint32_t i = 0; i < 40; i++) {
                struct scn_op op = scene_set(1, "k", (struct scn_slice){value, sizeof value});
                value[3] = (uint8_t)(i + 1);
                peer_edit(&island->peer, &op, 1);
                (void)peer_expect(&island->peer, SCN_MESSAGE_applied);
        }
}

static void finish(struct island *island)
{
        if (island->peer.session != NULL) {
                peer_close(&island->peer);
        }
        hub_finish(&island->hub);
}

static uint32_t count_drafts(const struct hub *hub)
{
        DIR *directory = opendir(hub->path);
        struct dirent *entry;
        uint32_t count = 0;
        cr_assert_not_null(directory);
        while ((entry = readdir(directory)) != NULL) {
                count += strncmp(entry->d_name, ".draft-", 7) == 0;
        }
        (void)closedir(directory);
        return count;
}

static void ask(struct peer *peer)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_backup);
        message.as.backup.request = 9;
        peer_send(peer, &message);
}

/* Takes all parts into a file; gives their number. */
static uint32_t take(struct peer *peer, const char *path)
{
        FILE *file = fopen(path, "wb");
        uint32_t count = 0;
        bool more = true;
        cr_assert_not_null(file);
        while (more) {
                const struct scn_message message = peer_expect(peer, SCN_MESSAGE_answer);
                struct scn_unpacker unpacker = scn_unpacker_from(message.as.answer.body);
                const struct scn_slice part = scn_unpack_bin(&unpacker, UINT32_MAX);
                cr_assert_eq(message.as.answer.request, 9);
                cr_assert_gt(part.size, 0);
                cr_assert_leq(part.size, PART_BYTES);
                cr_assert_eq(fwrite(part.data, 1, part.size, file), part.size);
                more = message.as.answer.more;
                count++;
        }
        cr_assert_eq(fclose(file), 0);
        return count;
}

SCN_TEST(backup, is_sent_in_parts_that_make_a_whole_document)
{
        struct island island;
        struct peer other;
        char path[96];
        start(&island);
        (void)snprintf(path, sizeof path, "%s/copy.scene", island.hub.path);
        ask(&island.peer);
        cr_assert_gt(take(&island.peer, path), 5);
        cr_assert_eq(count_drafts(&island.hub), 0);
        peer_open(&other, &island.hub, 2, "bob", "copy");
        const struct scn_document *copy = island.hub.server->rooms->document;
        const struct scn_document *original = island.hub.server->rooms->next->document;
        const struct scn_digests digests[2] = {scn_document_digests(copy), scn_document_digests(original)};
        cr_assert_eq(memcmp(&digests[0], &digests[1], sizeof digests[0]), 0);
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_verify);
        message.as.verify.request = 1;
        peer_send(&other, &message);
        (void)peer_expect(&other, SCN_MESSAGE_answer);
        peer_close(&other);
        finish(&island);
}

SCN_TEST(backup, queues_one_part_at_a_time)
{
        struct island island;
        start(&island);
        island.peer.does_not_read = true;
        ask(&island.peer);
        hub_run(&island.hub);
        for (uint32_t parts = 0; parts < 4; parts++) {
                struct scn_slice slices[8];
                const size_t queued = island.peer.session->outbox_bytes;
                cr_assert_gt(queued, PART_BYTES);
                cr_assert_lt(queued, PART_BYTES + 64);
                /* Half of it is not enough for the next. */
                cr_assert_gt(scn_session_output(island.peer.session, slices, 8), 0);
                scn_session_sent(island.peer.session, queued / 2);
                hub_run(&island.hub);
                cr_assert_eq(island.peer.session->outbox_bytes, queued - queued / 2);
                scn_session_sent(island.peer.session, queued - queued / 2);
                hub_run(&island.hub);
        }
        finish(&island);
        cr_assert_eq(island.hub.errors_logged, 0);
}

SCN_TEST(backup, holds_up_what_its_session_asks_next_and_nobody_else)
{
        struct island island;
        struct peer other;
        struct scn_op op = scene_add(1, 900, "of another");
        struct scn_message ping;
        char path[96];
        start(&island);
        (void)snprintf(path, sizeof path, "%s/copy.scene", island.hub.path);
        peer_open(&other, &island.hub, 2, "bob", "island");
        ask(&island.peer);
        scn_message_init(&ping, SCN_MESSAGE_ping);
        ping.as.ping.request = 10;
        peer_send(&island.peer, &ping);
        peer_edit(&other, &op, 1);
        (void)peer_expect(&other, SCN_MESSAGE_applied);
        cr_assert_gt(take(&island.peer, path), 5);
        cr_assert_eq(peer_expect(&island.peer, SCN_MESSAGE_answer).as.answer.request, 10);
        peer_close(&other);
        finish(&island);
}

SCN_TEST(backup, beyond_the_limit_waits_for_another_to_end)
{
        struct island island;
        struct peer others[SCN_BACKUPS_MAX];
        char path[96];
        start(&island);
        (void)snprintf(path, sizeof path, "%s/copy.scene", island.hub.path);
        for (uint32_t i = 0; i < SCN_BACKUPS_MAX; i++) {
                peer_open(&others[i], &island.hub, 2 + i, "bob", "island");
                others[i].does_not_read = true;
                ask(&others[i]);
        }
        hub_run(&island.hub);
        ask(&island.peer);
        hub_run(&island.hub);
        peer_drain(&island.peer);
        struct scn_message message;
        cr_assert_not(peer_receive(&island.peer, &message));
        cr_assert_eq(island.hub.server->backups_count, SCN_BACKUPS_MAX);
        peer_close(&others[0]);
        cr_assert_gt(take(&island.peer, path), 5);
        peer_close(&others[1]);
        finish(&island);
        cr_assert_eq(others[1].session, NULL);
}

/* Whenever the peer goes: while the file is copied, while a part is read, while one waits to be taken. */
SCN_TEST(backup, leaves_nothing_of_a_peer_that_goes)
{
        for (uint32_t jobs = 0; jobs < 6; jobs++) {
                struct island island;
                start(&island);
                island.peer.does_not_read = true;
                ask(&island.peer);
                for (uint32_t i = 0; i < jobs && island.hub.jobs_count > 0; i++) {
                        struct scn_job *job = island.hub.jobs[0];
                        island.hub.jobs_count = 0;
                        job->run(job);
                        job->done(job);
                }
                peer_close(&island.peer);
                hub_run(&island.hub);
                cr_assert_eq(island.hub.server->backups_count, 0);
                cr_assert_eq(island.hub.server->jobs_count, 0);
                cr_assert_eq(count_drafts(&island.hub), 0);
                finish(&island);
        }
}

SCN_TEST(backup, ends_with_the_server)
{
        struct island island;
        start(&island);
        island.peer.does_not_read = true;
        ask(&island.peer);
        hub_run(&island.hub);
        scn_server_stop(island.hub.server);
        hub_run(&island.hub);
        cr_assert(peer_has_ended(&island.peer));
        peer_close(&island.peer);
        hub_run(&island.hub);
        scn_server_tick(island.hub.server);
        hub_run(&island.hub);
        cr_assert(scn_server_is_stopped(island.hub.server));
        cr_assert_eq(count_drafts(&island.hub), 0);
        finish(&island);
}
