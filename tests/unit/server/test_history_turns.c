/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Who reads the past next: it is few at a time who may, and whoever waits comes in turn. */

#include "server/core.h"
#include "tests/lib/asking.h"
#include "tests/lib/hub.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <stdio.h>

#define READERS 4u
#define QUESTIONS 8u
#define STEPS 10u /* jobs that may be done before it is the turn of who waits */

struct hall {
        struct hub hub;
        struct peer waiting; /* in a document of its own, and there before all others */
        struct peer readers[READERS];
};

static void ask_digest(struct peer *peer, uint64_t request)
{
        uint8_t bytes[ASKING_AT_BYTES];
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_digest);
        message.as.digest.request = request;
        message.as.digest.at = asking_at(bytes, "1");
        peer_send(peer, &message);
}

static void edit(struct peer *peer, const char *name)
{
        const struct scn_op op = scene_rename(1, name);
        peer_edit(peer, &op, 1);
        (void)peer_expect(peer, SCN_MESSAGE_applied);
}

/* All readers have asked for more than they will be told for a while. */
static void begin(struct hall *hall)
{
        hub_start(&hall->hub);
        peer_open(&hall->waiting, &hall->hub, 1, "ann", "own");
        edit(&hall->waiting, "one");
        edit(&hall->waiting, "two");
        for (uint32_t i = 0; i < READERS; i++) {
                peer_open(&hall->readers[i], &hall->hub, 10 + i, "ben", i % 2 == 0 ? "left" : "right");
                edit(&hall->readers[i], "name");
        }
        for (uint64_t i = 0; i < QUESTIONS; i++) {
                for (uint32_t k = 0; k < READERS; k++) {
                        ask_digest(&hall->readers[k], 5 + i);
                }
        }
}

static void end(struct hall *hall)
{
        peer_close(&hall->waiting);
        for (uint32_t i = 0; i < READERS; i++) {
                peer_close(&hall->readers[i]);
        }
        hub_finish(&hall->hub);
}

/* True if what the one who waits asked for came within some jobs, while the others still have something to ask. */
static bool comes_in_turn(struct hall *hall, enum scn_message_kind kind)
{
        struct scn_message message;
        struct scn_message_fault fault;
        struct scn_slice payload;
        enum scn_error error;
        for (uint32_t i = 0; i < STEPS; i++) {
                cr_assert(hub_step(&hall->hub));
                cr_assert_eq(hall->hub.server->history_jobs_count[SCN_HISTORY_QUESTION], SCN_HISTORY_JOBS_MAX);
                peer_drain(&hall->waiting);
                while (scn_frame_reader_next(&hall->waiting.reader, &payload, &error)) {
                        cr_assert_eq(scn_message_decode(payload, SCN_RECEIVER_CLIENT, &message, &fault), SCN_OK);
                        if (message.kind == kind) {
                                return true;
                        }
                }
        }
        return false;
}

SCN_TEST(history, is_read_for_who_has_waited_longest)
{
        static struct hall hall;
        begin(&hall);
        ask_digest(&hall.waiting, 5);
        cr_assert(comes_in_turn(&hall, SCN_MESSAGE_answer));
        end(&hall);
}

SCN_TEST(history, is_read_for_an_undo_while_others_go_on_asking)
{
        static struct hall hall;
        begin(&hall);
        peer_undo(&hall.waiting, (struct peer_wish){.count = 1});
        cr_assert(comes_in_turn(&hall, SCN_MESSAGE_applied));
        end(&hall);
}

SCN_TEST(history, is_read_for_one_undo_after_the_other)
{
        struct hub hub;
        struct peer peers[READERS];
        hub_start(&hub);
        for (uint32_t i = 0; i < READERS; i++) {
                char name[16];
                (void)snprintf(name, sizeof name, "own%u", i);
                peer_open(&peers[i], &hub, 1 + i, "ann", name);
                edit(&peers[i], "one");
                edit(&peers[i], "two");
        }
        for (uint32_t i = 0; i < READERS; i++) {
                peer_undo(&peers[i], (struct peer_wish){.count = 1});
        }
        scn_server_turn(hub.server);
        cr_assert_eq(hub.server->history_jobs_count[SCN_HISTORY_STEP], SCN_HISTORY_JOBS_MAX);
        /* Of those that wait the first in line is the next, and of the two that were served nobody. */
        const struct scn_session *last = NULL;
        for (uint32_t i = 0; i < READERS; i++) {
                const uint64_t place = peers[i].session->history_place;
                last = place != 0 && (last == NULL || place > last->history_place) ? peers[i].session : last;
        }
        cr_assert_not_null(last);
        cr_assert(hub_step(&hub));
        cr_assert_eq(hub.server->history_jobs_count[SCN_HISTORY_STEP], SCN_HISTORY_JOBS_MAX);
        cr_assert_neq(last->history_place, 0, "it was not its turn yet");
        for (uint32_t i = 0; i < READERS; i++) {
                (void)peer_expect(&peers[i], SCN_MESSAGE_applied);
                peer_close(&peers[i]);
        }
        hub_finish(&hub);
}
