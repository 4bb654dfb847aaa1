/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Documents of the past that are kept, and the budget of all documents. */

#include "server/memory.h"
#include "tests/lib/asking.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

#define EDITS 40u

struct stage {
        struct hub hub;
        struct peer ann;
        struct scn_digest live[EDITS + 1]; /* of each revision, as it was told live */
};

static struct scn_room *room_of(struct stage *stage)
{
        return stage->hub.server->rooms;
}

static void set_up(struct stage *stage)
{
        hub_start(&stage->hub);
        peer_open(&stage->ann, &stage->hub, 1, "ann", "isle");
        for (uint32_t i = 1; i <= EDITS; i++) {
                const scn_revision rev = asking_edit(
                        &stage->ann, i == 1 ? scene_add(1, 50, "boat") : scene_translate(2, (float)i, 0, 0));
                cr_assert_eq(rev, i);
                stage->live[i] = asking_digest(&stage->ann, NULL);
        }
}

static void tear_down(struct stage *stage)
{
        peer_close(&stage->ann);
        hub_finish(&stage->hub);
}

static void look_at(struct stage *stage, scn_revision revision)
{
        char at[24];
        (void)snprintf(at, sizeof at, "%llu", (unsigned long long)revision);
        const struct scn_digest digest = asking_digest(&stage->ann, at);
        cr_assert(memcmp(&digest, &stage->live[revision], sizeof digest) == 0, "revision %s", at);
}

SCN_TEST(memory, keeps_what_was_looked_at_and_leads_it_on)
{
        struct stage stage;
        set_up(&stage);
        look_at(&stage, 7);
        cr_assert_eq(room_of(&stage)->past_count, 1);
        const struct scn_past *first = room_of(&stage)->past;
        look_at(&stage, 7);
        cr_assert(room_of(&stage)->past == first, "the same one again");
        for (uint32_t revision = 8; revision <= EDITS; revision++) {
                look_at(&stage, revision);
                cr_assert_eq(room_of(&stage)->past_count, 1);
        }
        /* Back again: nothing that is kept can be led there. */
        look_at(&stage, 3);
        cr_assert_eq(room_of(&stage)->past_count, 2);
        look_at(&stage, 5);
        look_at(&stage, EDITS);
        cr_assert_eq(room_of(&stage)->past_count, 2);
        tear_down(&stage);
}

SCN_TEST(memory, lends_one_document_to_all_who_ask_for_its_tag)
{
        struct stage stage;
        set_up(&stage);
        cr_assert_eq(asking_tag(&stage.ann, "calm", 9), 9);
        for (uint32_t i = 0; i < 3; i++) {
                const struct scn_digest digest = asking_digest(&stage.ann, "calm");
                cr_assert(memcmp(&digest, &stage.live[9], sizeof digest) == 0);
                cr_assert_eq(room_of(&stage)->past_count, 1);
        }
        tear_down(&stage);
}

SCN_TEST(memory, what_is_being_read_is_neither_led_on_nor_lost)
{
        struct stage stage;
        struct scn_past_loan reading;
        struct scn_past_loan other;
        set_up(&stage);
        look_at(&stage, 7);
        scn_past_lend(room_of(&stage), 7, &reading);
        cr_assert_not_null(scn_past_find(&reading, 7));
        look_at(&stage, 8);
        cr_assert_eq(room_of(&stage)->past_count, 2);
        scn_past_lend(room_of(&stage), 7, &other);
        cr_assert(scn_past_find(&other, 7) == scn_past_find(&reading, 7));
        scn_past_drop(room_of(&stage));
        cr_assert_eq(room_of(&stage)->past_count, 0);
        cr_assert_eq(scn_document_revision(scn_past_find(&reading, 7)), 7);
        scn_past_return(stage.hub.server, room_of(&stage), &other);
        cr_assert_eq(scn_document_revision(scn_past_find(&reading, 7)), 7);
        scn_past_return(stage.hub.server, NULL, &reading);
        tear_down(&stage);
}

SCN_TEST(memory, keeps_so_many_of_a_room_and_the_last_used_of_them)
{
        struct stage stage;
        set_up(&stage);
        /* Backwards, so that none can be led on. */
        for (uint32_t i = 0; i <= SCN_PAST_PER_ROOM_MAX; i++) {
                stage.hub.monotonic_ms++;
                look_at(&stage, 30 - i);
                cr_assert_eq(room_of(&stage)->past_count, i < SCN_PAST_PER_ROOM_MAX ? i + 1 : SCN_PAST_PER_ROOM_MAX);
        }
        struct scn_past_loan loan;
        scn_past_lend(room_of(&stage), 29, &loan);
        cr_assert_not_null(scn_past_find(&loan, 29));
        scn_past_return(stage.hub.server, room_of(&stage), &loan);
        scn_past_lend(room_of(&stage), 30, &loan);
        cr_assert_null(scn_past_find(&loan, 30), "the one used longest ago went");
        scn_past_return(stage.hub.server, room_of(&stage), &loan);
        tear_down(&stage);
}

SCN_TEST(memory, lets_go_of_what_nobody_asks_for_any_more)
{
        struct stage stage;
        set_up(&stage);
        look_at(&stage, 7);
        stage.hub.monotonic_ms += SCN_PAST_IDLE_MS - 1;
        scn_server_tick(stage.hub.server);
        cr_assert_eq(room_of(&stage)->past_count, 1);
        stage.hub.monotonic_ms += 1;
        scn_server_tick(stage.hub.server);
        cr_assert_eq(room_of(&stage)->past_count, 0);
        cr_assert_eq(stage.hub.server->past_bytes, 0);
        tear_down(&stage);
}

SCN_TEST(memory, the_past_has_a_share_of_the_budget)
{
        struct stage stage;
        set_up(&stage);
        look_at(&stage, 30);
        const size_t one = stage.hub.server->past_bytes;
        cr_assert_gt(one, 0);
        look_at(&stage, 29);
        cr_assert_eq(stage.hub.server->past_bytes, 2 * one);
        stage.hub.server->options.memory_bytes_max = 2 * one * SCN_PAST_SHARE;
        stage.hub.monotonic_ms++;
        look_at(&stage, 28);
        cr_assert_eq(stage.hub.server->past_bytes, 2 * one);
        cr_assert_eq(room_of(&stage)->past_count, 2);
        stage.hub.server->options.memory_bytes_max = one * SCN_PAST_SHARE - 1;
        scn_past_drop(room_of(&stage));
        look_at(&stage, 27);
        cr_assert_eq(room_of(&stage)->past_count, 0, "larger than all of the share");
        tear_down(&stage);
}

static void open_document(struct peer *peer, struct hub *hub, uint32_t client, const char *name)
{
        struct scn_message message;
        peer_greet(peer, hub, client, NULL);
        scn_message_init(&message, SCN_MESSAGE_open);
        message.as.open.request = 2;
        message.as.open.document = scene_text(name);
        message.as.open.create = true;
        peer_send(peer, &message);
}

SCN_TEST(memory, at_the_budget_rooms_without_sessions_close_and_then_no_more_are_opened)
{
        struct stage stage;
        struct peer bob;
        set_up(&stage);
        look_at(&stage, 7);
        stage.hub.server->options.memory_bytes_max = 1;
        open_document(&bob, &stage.hub, 2, "other");
        peer_expect_code(&bob, SCN_MESSAGE_failed, "busy");
        cr_assert_eq(room_of(&stage)->past_count, 0, "the past went first");
        peer_close(&bob);
        /* What is open goes on. */
        cr_assert_eq(asking_edit(&stage.ann, scene_rename(2, "ship")), EDITS + 1);
        peer_close(&stage.ann);
        open_document(&bob, &stage.hub, 2, "other");
        (void)peer_expect(&bob, SCN_MESSAGE_opened);
        cr_assert_eq(stage.hub.server->rooms_count, 1, "the idle room made way");
        peer_close(&bob);
        hub_finish(&stage.hub);
}

SCN_TEST(memory, documents_that_are_opened_at_the_same_time_do_not_pass_the_budget_together)
{
        struct hub hub;
        struct peer peers[4];
        hub_start(&hub);
        for (uint32_t i = 0; i < 3; i++) {
                static const char *const names[] = {"one", "two", "three"};
                peer_open(&peers[i], &hub, 1 + i, "ann", names[i]);
                (void)asking_edit(&peers[i], scene_add(1, 50, "boat"));
        }
        for (uint32_t i = 0; i < 3; i++) {
                peer_close(&peers[i]);
        }
        hub_stop(&hub);
        hub.memory_bytes_max = 1;
        hub_restart(&hub);
        open_document(&peers[0], &hub, 11, "one");
        open_document(&peers[1], &hub, 12, "two");
        open_document(&peers[2], &hub, 13, "three");
        open_document(&peers[3], &hub, 14, "new");
        peer_expect_code(&peers[1], SCN_MESSAGE_failed, "busy");
        peer_expect_code(&peers[2], SCN_MESSAGE_failed, "busy");
        (void)peer_expect(&peers[0], SCN_MESSAGE_opened);
        (void)peer_expect(&peers[3], SCN_MESSAGE_opened);
        hub_run(&hub);
        cr_assert_eq(hub.server->rooms_count, 2);
        /* As soon as there is room it opens, and nothing is amiss with it. */
        peer_close(&peers[0]);
        peer_close(&peers[1]);
        peer_close(&peers[3]);
        hub_run(&hub);
        open_document(&peers[1], &hub, 12, "two");
        (void)peer_expect(&peers[1], SCN_MESSAGE_opened);
        cr_assert_eq(asking_edit(&peers[1], scene_rename(2, "ship")), 2);
        peer_close(&peers[1]);
        peer_close(&peers[2]);
        hub_finish(&hub);
}

SCN_TEST(memory, counts_what_a_document_takes)
{
        struct stage stage;
        set_up(&stage);
        const uint64_t before = room_of(&stage)->memory_bytes;
        static uint8_t text[2000] = {0xc5, 0x07, 0xcd};
        (void)asking_edit(&stage.ann, scene_set(2, "note", (struct scn_slice){text, sizeof text}));
        cr_assert_geq(room_of(&stage)->memory_bytes, before + sizeof text);
        const size_t counted = scn_document_bytes(room_of(&stage)->document);
        cr_assert_gt(counted, 2 * 320 + sizeof text);
        cr_assert_lt(counted, 20000 + sizeof text);
        tear_down(&stage);
}

/* Of a document that is written again and again the journal grows, and it does not. */
SCN_TEST(memory, of_a_document_is_known_anew_from_each_checkpoint)
{
        static uint8_t value[60000] = {0xc5, (60000 - 3) >> 8, (60000 - 3) & 0xff};
        struct stage stage;
        set_up(&stage);
        uint64_t most = 0;
        for (uint32_t i = 0; i < 200; i++) {
                value[3] = (uint8_t)i;
                (void)asking_edit(&stage.ann, scene_set(2, "value", (struct scn_slice){value, sizeof value}));
                hub_run(&stage.hub);
                stage.hub.monotonic_ms += 60000; /* a checkpoint that is due is not put off */
                scn_server_tick(stage.hub.server);
                hub_run(&stage.hub);
                most = room_of(&stage)->memory_bytes > most ? room_of(&stage)->memory_bytes : most;
        }
        cr_assert_gt(most, sizeof value);
        cr_assert_lt(most, 4u << 20, "12 MB were written: %llu", (unsigned long long)most);
        tear_down(&stage);
}

SCN_TEST(memory, is_not_lost_to_questions_that_have_no_answer)
{
        struct stage stage;
        set_up(&stage);
        look_at(&stage, 7);
        const struct scn_past *kept = room_of(&stage)->past;
        const size_t bytes = stage.hub.server->past_bytes;
        cr_assert_not_null(kept);
        for (uint32_t i = 0; i < 3; i++) {
                asking_expect_failure(&stage.ann, "41", "future");
                cr_assert_eq(room_of(&stage)->past_count, 1);
                cr_assert_eq(stage.hub.server->past_bytes, bytes);
        }
        struct scn_past_loan loan;
        scn_past_lend(room_of(&stage), 7, &loan);
        cr_assert_eq(scn_document_revision(scn_past_find(&loan, 7)), 7);
        scn_past_return(stage.hub.server, room_of(&stage), &loan);
        tear_down(&stage);
}

SCN_TEST(memory, leads_a_document_on_over_so_many_revisions_and_no_more)
{
        struct stage stage;
        struct scn_past_loan loan;
        set_up(&stage);
        look_at(&stage, 7);
        scn_past_lend(room_of(&stage), 7 + SCN_PAST_LEAD_MAX + 1, &loan);
        cr_assert_null(loan.base);
        scn_past_return(stage.hub.server, room_of(&stage), &loan);
        scn_past_lend(room_of(&stage), 7 + SCN_PAST_LEAD_MAX, &loan);
        cr_assert_not_null(loan.base);
        cr_assert_eq(room_of(&stage)->past_count, 0);
        scn_past_return(stage.hub.server, room_of(&stage), &loan);
        cr_assert_eq(room_of(&stage)->past_count, 1);
        tear_down(&stage);
}
