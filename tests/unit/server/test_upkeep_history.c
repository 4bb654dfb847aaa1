/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Folding, retention and the reserve, end to end: what becomes of the file, and what a client is told. */

#include "server/checkpoint.h"
#include "server/core.h"
#include "tests/lib/asking.h"
#include "tests/lib/hub.h"
#include "tests/lib/scene.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGE_S 100u
#define EDITS 40u /* of a gesture */

struct island {
        struct hub hub;
        struct peer peer;
};

static struct scn_room *room_of(struct island *island)
{
        cr_assert_not_null(island->hub.server->rooms);
        return island->hub.server->rooms;
}

static int64_t ask(const struct island *island, const char *sql)
{
        char path[96];
        (void)snprintf(path, sizeof path, "%s/island.scene", island->hub.path);
        return scn_test_sql(path, sql);
}

static void open_island(struct island *island)
{
        peer_open(&island->peer, &island->hub, 1, "ann", "island");
}

static void start(struct island *island, uint64_t fold_age_s, uint64_t keep_age_s)
{
        hub_start(&island->hub);
        hub_stop(&island->hub);
        island->hub.fold_age_s = fold_age_s;
        island->hub.keep_age_s = keep_age_s;
        hub_restart(&island->hub);
        open_island(island);
}

static void send_in_group(struct island *island, uint64_t number, const struct scn_op *op, uint64_t group)
{
        struct scn_buffer buffer;
        struct scn_message message;
        scn_buffer_init(&buffer, SCN_MESSAGE_BYTES_MAX);
        struct scn_packer packer = scn_packer_to(&buffer);
        scn_ops_encode(&packer, op, 1);
        scn_message_init(&message, SCN_MESSAGE_edit);
        message.as.edit.number = number;
        message.as.edit.ops = (struct scn_slice){buffer.data, (uint32_t)buffer.size};
        message.as.edit.group = group;
        peer_send(&island->peer, &message);
        scn_buffer_finish(&buffer);
}

/* A gesture: the root goes from where it is to x, in so many edits. */
static void drag(struct island *island, uint64_t group, float x)
{
        for (uint32_t i = 1; i <= EDITS; i++) {
                const struct scn_op op = scene_translate(1, x + (float)(i - EDITS), (float)i, 0);
                send_in_group(island, ++island->peer.number, &op, group);
                (void)peer_expect(&island->peer, SCN_MESSAGE_applied);
        }
}

static void make_checkpoint(struct island *island)
{
        scn_room_gather(room_of(island), SCN_CHECKPOINT_DUE_BYTES + 1);
        hub_run(&island->hub);
        cr_assert_null(room_of(island)->checkpoint);
}

/* So much time passes, and then so many ticks. */
static void wait(struct island *island, uint64_t seconds, uint32_t ticks)
{
        island->hub.utc_us += seconds * 1000000;
        for (uint32_t i = 0; i < ticks; i++) {
                island->hub.monotonic_ms += 20000;
                scn_server_tick(island->hub.server);
                hub_run(&island->hub);
                peer_drain(&island->peer);
        }
}

/* Two gestures, of which the file holds 1 … 40 and 41 … 80, with a checkpoint behind them. */
static void drag_twice(struct island *island)
{
        drag(island, 1, 100);
        drag(island, 2, 200);
        make_checkpoint(island);
        cr_assert_eq(room_of(island)->durable, 2 * EDITS);
}

static void ask_tree_at(struct island *island, uint8_t revision)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_tree);
        message.as.tree.request = 9;
        message.as.tree.at = (struct scn_slice){&revision, 1};
        peer_send(&island->peer, &message);
}

static void expect_tree_at(struct island *island, uint8_t revision)
{
        ask_tree_at(island, revision);
        (void)peer_expect(&island->peer, SCN_MESSAGE_answer);
}

static void verify(struct island *island)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_verify);
        message.as.verify.request = 10;
        peer_send(&island->peer, &message);
        (void)peer_expect(&island->peer, SCN_MESSAGE_answer);
}

static float x_of(struct island *island)
{
        return scn_document_node(room_of(island)->document, 1).trs.t[0];
}

static void undo(struct island *island)
{
        peer_undo(&island->peer, (struct peer_wish){0});
}

static bool has_bytes(struct scn_slice bytes, const char *wanted)
{
        const size_t size = strlen(wanted);
        bool is_found = false;
        for (size_t i = 0; i + size <= bytes.size; i++) {
                is_found = is_found || memcmp(bytes.data + i, wanted, size) == 0;
        }
        return is_found;
}

/* Taken back or brought back, and nothing of it skipped. */
static void expect_all_applied(struct island *island)
{
        const struct scn_slice summary = peer_expect(&island->peer, SCN_MESSAGE_applied).as.applied.summary;
        cr_assert(has_bytes(summary, "skipped\x90"), "something was skipped");
}

static void finish(struct island *island)
{
        peer_close(&island->peer);
        hub_finish(&island->hub);
}

SCN_TEST(upkeep_history, folds_gestures_that_are_old_enough_and_no_others)
{
        struct island island;
        start(&island, AGE_S, 0);
        drag_twice(&island);
        wait(&island, AGE_S - 1, 3);
        cr_assert_eq(ask(&island, "SELECT count(*) FROM transactions"), 2 * EDITS);
        wait(&island, 2, 2);
        cr_assert_eq(ask(&island, "SELECT count(*) FROM transactions"), 2);
        cr_assert_eq(ask(&island, "SELECT min(rev) FROM transactions"), EDITS);
        verify(&island);
        /* A third one, too young. */
        drag(&island, 3, 300);
        make_checkpoint(&island);
        wait(&island, 1, 2);
        cr_assert_eq(ask(&island, "SELECT count(*) FROM transactions"), 2 + EDITS);
        finish(&island);
}

SCN_TEST(upkeep_history, that_is_folded_says_so_and_what_is_left_is_as_it_was)
{
        struct island island;
        start(&island, AGE_S, 0);
        drag_twice(&island);
        expect_tree_at(&island, 20); /* which is kept in memory from now on */
        cr_assert_eq(room_of(&island)->past_count, 1);
        wait(&island, AGE_S + 1, 2);
        ask_tree_at(&island, 20);
        peer_expect_code(&island.peer, SCN_MESSAGE_failed, "folded");
        expect_tree_at(&island, 0);
        expect_tree_at(&island, EDITS);
        expect_tree_at(&island, 2 * EDITS);
        /* In any session, and after a restart, too. */
        for (int i = 0; i < 2; i++) {
                cr_assert_float_eq(x_of(&island), 200, 1e-6);
                undo(&island);
                expect_all_applied(&island);
                cr_assert_float_eq(x_of(&island), 100, 1e-6);
                peer_redo(&island.peer, 0);
                (void)peer_expect(&island.peer, SCN_MESSAGE_applied);
                peer_close(&island.peer);
                hub_stop(&island.hub);
                hub_restart(&island.hub);
                open_island(&island);
                island.peer.number = 2 * EDITS + 2 * (uint64_t)(i + 1);
        }
        for (int i = 0; i < 2; i++) {
                undo(&island);
                expect_all_applied(&island);
        }
        cr_assert_float_eq(x_of(&island), 0, 1e-6);
        finish(&island);
}

/* Of every question that names a revision: the nearest that are kept. */
static void expect_nearest(struct island *island, const struct scn_message *question)
{
        peer_send(&island->peer, question);
        const bool is_edit = question->kind == SCN_MESSAGE_restore;
        const struct scn_message answer =
                peer_expect(&island->peer, is_edit ? SCN_MESSAGE_refused : SCN_MESSAGE_failed);
        const struct scn_slice text = is_edit ? answer.as.refused.text : answer.as.failed.text;
        cr_assert(has_bytes(text, "revision 20 was folded; the nearest that are kept: 0 and 40"), "%d: %.*s",
                (int)question->kind, (int)text.size, (const char *)text.data);
}

SCN_TEST(upkeep_history, that_is_folded_names_the_nearest_revisions_to_whoever_asks)
{
        static const uint8_t bytes[] = {20};
        const struct scn_slice at = {bytes, 1};
        struct island island;
        struct scn_message message;
        start(&island, AGE_S, 0);
        drag_twice(&island);
        wait(&island, AGE_S + 1, 2);
        scn_message_init(&message, SCN_MESSAGE_tree);
        message.as.tree = (struct scn_message_tree){.request = 9, .depth = SCN_ABSENT, .at = at};
        expect_nearest(&island, &message);
        scn_message_init(&message, SCN_MESSAGE_digest);
        message.as.digest = (struct scn_message_digest){.request = 9, .mask = SCN_ABSENT, .at = at};
        expect_nearest(&island, &message);
        scn_message_init(&message, SCN_MESSAGE_world);
        message.as.world =
                (struct scn_message_world){.request = 9, .nodes = {(const uint8_t *)"\x91\x01", 2}, .at = at};
        expect_nearest(&island, &message);
        scn_message_init(&message, SCN_MESSAGE_replay);
        message.as.replay.request = 9;
        message.as.replay.from = at;
        expect_nearest(&island, &message);
        message.as.replay.from = (struct scn_slice){NULL, 0};
        message.as.replay.to = at;
        expect_nearest(&island, &message);
        scn_message_init(&message, SCN_MESSAGE_fork);
        message.as.fork = (struct scn_message_fork){.request = 9, .at = at, .to = scene_text("copy")};
        expect_nearest(&island, &message);
        scn_message_init(&message, SCN_MESSAGE_tag);
        message.as.tag = (struct scn_message_tag){.request = 9, .name = scene_text("here"), .rev = 20};
        expect_nearest(&island, &message);
        scn_message_init(&message, SCN_MESSAGE_restore);
        message.as.restore = (struct scn_message_restore){.number = ++island.peer.number, .at = at};
        expect_nearest(&island, &message);
        finish(&island);
}

static uint64_t ask_info(struct island *island, const char *key)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_info);
        message.as.info.request = 9;
        peer_send(&island->peer, &message);
        const struct scn_slice body = peer_expect(&island->peer, SCN_MESSAGE_answer).as.answer.body;
        return asking_has(body, key) ? asking_member(body, key) : SCN_ABSENT;
}

SCN_TEST(upkeep_history, tells_how_far_it_is_to_whoever_asks_for_info)
{
        struct island island;
        start(&island, AGE_S, 3 * AGE_S);
        drag_twice(&island);
        cr_assert_eq(ask_info(&island, "base"), 0);
        cr_assert_eq(ask_info(&island, "folded_to"), 0);
        cr_assert_eq(ask_info(&island, "folded_at"), SCN_ABSENT);
        wait(&island, AGE_S + 1, 2);
        cr_assert_eq(ask_info(&island, "base"), 0);
        cr_assert_eq(ask_info(&island, "folded_to"), 2 * EDITS);
        const uint64_t folded_at = ask_info(&island, "folded_at");
        cr_assert(folded_at > island.hub.utc_us - 2000000 && folded_at <= island.hub.utc_us, "not a moment ago");
        cr_assert_eq(room_of(&island)->counters.folded, 2 * EDITS - 2);
        /* What nobody has told it is what the file says. */
        peer_close(&island.peer);
        hub_stop(&island.hub);
        hub_restart(&island.hub);
        open_island(&island);
        cr_assert_eq(ask_info(&island, "folded_to"), 2 * EDITS);
        cr_assert_eq(ask_info(&island, "folded_at"), SCN_ABSENT);
        wait(&island, 3 * AGE_S, 3);
        cr_assert_eq(ask_info(&island, "base"), (uint64_t)ask(&island, "SELECT min(rev) FROM checkpoints"));
        cr_assert_gt(ask_info(&island, "base"), 0);
        finish(&island);
}

SCN_TEST(upkeep_history, that_is_folded_does_no_request_twice)
{
        struct island island;
        const struct scn_op op = scene_translate(1, 7, 7, 7);
        start(&island, AGE_S, 0);
        drag_twice(&island);
        wait(&island, AGE_S + 1, 2);
        peer_close(&island.peer);
        open_island(&island);
        for (uint64_t number = 1; number < EDITS; number++) {
                send_in_group(&island, number, &op, 1);
                peer_expect_code(&island.peer, SCN_MESSAGE_refused, "folded");
        }
        send_in_group(&island, EDITS, &op, 1);
        peer_expect_code(&island.peer, SCN_MESSAGE_refused, "number_reused");
        const struct scn_op last = scene_translate(1, 100, EDITS, 0);
        send_in_group(&island, EDITS, &last, 1);
        cr_assert_eq(peer_expect(&island.peer, SCN_MESSAGE_applied).as.applied.rev, EDITS);
        cr_assert_eq(room_of(&island)->durable, 2 * EDITS);
        finish(&island);
}

SCN_TEST(upkeep_history, under_way_holds_up_neither_edits_nor_the_end)
{
        struct island island;
        start(&island, AGE_S, 0);
        drag_twice(&island);
        wait(&island, 1, 2); /* what else is due */
        room_of(&island)->look_at_ms = UINT64_MAX;
        island.hub.utc_us += (AGE_S + 1) * UINT64_C(1000000);
        island.hub.monotonic_ms += 20000;
        scn_server_tick(island.hub.server);
        cr_assert(scn_room_has_history_piece(room_of(&island)));
        cr_assert_eq(room_of(&island)->jobs_count, 0);
        const struct scn_op op = scene_translate(1, 1, 1, 1);
        peer_edit(&island.peer, &op, 1);
        scn_server_turn(island.hub.server);
        cr_assert_not_null(room_of(&island)->batch);
        (void)peer_expect(&island.peer, SCN_MESSAGE_applied);
        island.hub.monotonic_ms += 20000;
        scn_server_tick(island.hub.server);
        cr_assert(scn_room_has_history_piece(room_of(&island)));
        finish(&island);
}

/* From a revision that may not be kept, up to one that is. */
static void ask_log(struct island *island, uint64_t from)
{
        uint8_t bytes[ASKING_AT_BYTES];
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_log);
        message.as.log.request = 5;
        message.as.log.from = from;
        message.as.log.until = asking_at(bytes, "85");
        peer_send(&island->peer, &message);
}

SCN_TEST(upkeep_history, that_is_old_enough_is_dropped_and_says_so)
{
        struct island island;
        start(&island, 0, AGE_S);
        drag_twice(&island);
        drag(&island, 3, 300);
        wait(&island, AGE_S + 1, 3);
        cr_assert_eq(ask(&island, "SELECT base FROM history"), 2 * EDITS);
        cr_assert_eq(ask(&island, "SELECT min(rev) FROM transactions"), 2 * EDITS);
        ask_tree_at(&island, 20);
        peer_expect_code(&island.peer, SCN_MESSAGE_failed, "before_retention");
        ask_tree_at(&island, 0);
        peer_expect_code(&island.peer, SCN_MESSAGE_failed, "before_retention");
        ask_log(&island, 20);
        char wanted[100];
        (void)snprintf(wanted, sizeof wanted, "revision 20 is not kept; the first that is: %u", 2 * EDITS);
        peer_expect_text(&island.peer, SCN_MESSAGE_failed, wanted);
        expect_tree_at(&island, 2 * EDITS);
        expect_tree_at(&island, 2 * EDITS + 7);
        verify(&island);
        undo(&island);
        (void)peer_expect(&island.peer, SCN_MESSAGE_applied);
        cr_assert_float_eq(x_of(&island), 200, 1e-6);
        undo(&island);
        peer_expect_code(&island.peer, SCN_MESSAGE_refused, "before_retention");
        cr_assert_float_eq(x_of(&island), 200, 1e-6);
        peer_close(&island.peer);
        hub_stop(&island.hub);
        hub_restart(&island.hub);
        open_island(&island);
        cr_assert_float_eq(x_of(&island), 200, 1e-6);
        verify(&island);
        finish(&island);
}

SCN_TEST(upkeep_history, below_the_reserve_takes_no_edits_and_goes_on_reading_until_there_is_room)
{
        struct island island;
        const struct scn_op op = scene_translate(1, 7, 7, 7);
        start(&island, 0, 0);
        drag(&island, 1, 100);
        island.hub.server->options.reserve_bytes = UINT64_MAX;
        wait(&island, 1, 1);
        cr_assert_eq(island.hub.errors_logged, 1);
        for (int i = 0; i < 3; i++) {
                peer_edit(&island.peer, &op, 1);
                peer_expect_code(&island.peer, SCN_MESSAGE_refused, "storage_full");
                wait(&island, 1, 1);
        }
        cr_assert_eq(island.hub.errors_logged, 1);
        undo(&island);
        peer_expect_code(&island.peer, SCN_MESSAGE_refused, "storage_full");
        expect_tree_at(&island, 20);
        cr_assert_eq(room_of(&island)->durable, EDITS);
        island.hub.server->options.reserve_bytes = 1;
        wait(&island, 1, 1);
        peer_edit(&island.peer, &op, 1);
        (void)peer_expect(&island.peer, SCN_MESSAGE_applied);
        finish(&island);
}

/* Also where nobody edits. */
SCN_TEST(upkeep_history, notices_another_program_that_writes_to_the_file_of_an_open_document)
{
        struct island island;
        char command[160];
        start(&island, 0, 0);
        drag(&island, 1, 100);
        wait(&island, 1, 2); /* what else is due */
        (void)snprintf(command, sizeof command, "touch -d @1 %s/island.scene", island.hub.path);
        cr_assert_eq(system(command), 0);
        island.hub.monotonic_ms += 5000;
        scn_server_tick(island.hub.server);
        const struct scn_message message = peer_expect(&island.peer, SCN_MESSAGE_failed);
        const struct scn_slice text = message.as.failed.text;
        static const char wanted[] = "island.scene: another program has written to it";
        cr_assert(text.size == sizeof wanted - 1 && memcmp(text.data, wanted, text.size) == 0, "%.*s", (int)text.size,
                (const char *)text.data);
        peer_close(&island.peer);
        hub_run(&island.hub);
        cr_assert_null(island.hub.server->rooms);
        open_island(&island);
        cr_assert_eq(room_of(&island)->durable, EDITS);
        finish(&island);
}

static void manage(struct peer *peer, const char *action, const char *document)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_manage);
        message.as.manage.request = 61;
        message.as.manage.action = scene_text(action);
        message.as.manage.document = scene_text(document);
        peer_send(peer, &message);
}

static void tag(struct peer *peer, bool is_removed)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_tag);
        message.as.tag.request = 62;
        message.as.tag.name = scene_text("fleet");
        message.as.tag.remove = is_removed;
        peer_send(peer, &message);
}

static void open_or_make(struct peer *peer, struct hub *hub, uint32_t client, const char *document)
{
        struct scn_message message;
        peer_greet(peer, hub, client, NULL);
        scn_message_init(&message, SCN_MESSAGE_open);
        message.as.open.request = 63;
        message.as.open.document = scene_text(document);
        message.as.open.create = true;
        peer_send(peer, &message);
}

SCN_TEST(upkeep_history, below_the_reserve_makes_no_documents_and_no_tags)
{
        struct island island;
        struct peer bob;
        start(&island, 0, 0);
        tag(&island.peer, false);
        (void)peer_expect(&island.peer, SCN_MESSAGE_answer);
        island.hub.server->options.reserve_bytes = UINT64_MAX;
        wait(&island, 1, 1);
        manage(&island.peer, "create", "more");
        peer_expect_code(&island.peer, SCN_MESSAGE_failed, "storage_full");
        tag(&island.peer, false);
        peer_expect_code(&island.peer, SCN_MESSAGE_failed, "storage_full");
        tag(&island.peer, true);
        (void)peer_expect(&island.peer, SCN_MESSAGE_answer);
        open_or_make(&bob, &island.hub, 70, "more");
        peer_expect_code(&bob, SCN_MESSAGE_failed, "storage_full");
        peer_close(&bob);
        open_or_make(&bob, &island.hub, 71, "island");
        (void)peer_expect(&bob, SCN_MESSAGE_opened);
        peer_close(&bob);
        island.hub.server->options.reserve_bytes = 1;
        wait(&island, 1, 1);
        manage(&island.peer, "create", "more");
        (void)peer_expect(&island.peer, SCN_MESSAGE_answer);
        finish(&island);
}

/* What an edit can have written is counted until it is looked at again. */
SCN_TEST(upkeep_history, reserve_is_not_overrun_between_two_looks_at_the_disk)
{
        struct island island;
        start(&island, 0, 0);
        struct scn_server *server = island.hub.server;
        server->options.reserve_bytes = 1;
        scn_server_look_at_disk(server);
        cr_assert_not(server->is_low);
        cr_assert_gt(server->above_reserve, 1u << 20);
        server->above_reserve = 100u << 10; /* as if others had taken the rest */
        const struct scn_op op = scene_add(1, 90, "crate");
        peer_edit(&island.peer, &op, 1);
        (void)peer_expect(&island.peer, SCN_MESSAGE_applied);
        cr_assert_lt(server->above_reserve, 100u << 10);
        server->options.reserve_bytes = UINT64_MAX; /* it is */
        const struct scn_op other = scene_add(1, 91, "box");
        peer_edit(&island.peer, &other, 1);
        (void)peer_expect(&island.peer, SCN_MESSAGE_applied);
        cr_assert(server->is_low);
        const struct scn_op third = scene_add(1, 92, "chest");
        peer_edit(&island.peer, &third, 1);
        peer_expect_code(&island.peer, SCN_MESSAGE_refused, "storage_full");
        finish(&island);
}

/* Ben moves the root (revision 2); then ann drags it once (3), and the boat until `last`; between these Ben renames. */
static void drag_among_renames(struct island *island, struct peer *ben, scn_revision last)
{
        const struct scn_op boat = scene_add(1, 50, "boat");
        const struct scn_op root = scene_translate(1, 1, 1, 1);
        struct scn_op drag = scene_translate(1, 2, 2, 2);
        peer_edit(ben, &boat, 1);
        peer_edit(ben, &root, 1);
        hub_run(&island->hub);
        send_in_group(island, ++island->peer.number, &drag, 1);
        drag = scene_translate(2, 3, 3, 3);
        send_in_group(island, ++island->peer.number, &drag, 1);
        hub_run(&island->hub);
        for (scn_revision at = 5; at < last; at++) {
                const struct scn_op rename = scene_rename(1, at % 2 == 0 ? "isle" : "island");
                peer_edit(ben, &rename, 1);
        }
        for (scn_revision at = 3; at < last; at++) {
                (void)peer_expect(ben, SCN_MESSAGE_applied);
        }
        drag = scene_translate(2, 4, 4, 4);
        send_in_group(island, ++island->peer.number, &drag, 1);
        hub_run(&island->hub);
        make_checkpoint(island);
        cr_assert_eq(room_of(island)->durable, last);
}

SCN_TEST(upkeep_history, that_is_folded_still_names_who_was_in_the_way_of_an_undo)
{
        /* Next to it, and farther than the journal is read at once. */
        static const scn_revision lasts[] = {7, 1020};
        for (size_t i = 0; i < 2; i++) {
                struct island island;
                struct peer ben;
                start(&island, AGE_S, 0);
                peer_open(&ben, &island.hub, 2, "ben", "island");
                drag_among_renames(&island, &ben, lasts[i]);
                wait(&island, AGE_S + 1, 2);
                cr_assert_eq(ask(&island, "SELECT count(*) FROM transactions WHERE rev IN (3, 4)"), 0);
                peer_undo(&ben, (struct peer_wish){.step = 2});
                const struct scn_slice summary = peer_expect(&ben, SCN_MESSAGE_applied).as.applied.summary;
                cr_assert(has_bytes(summary, "rev\x03\xa6"), "at 3");
                cr_assert(has_bytes(summary, "author\xa3\x61nn"), "by ann");
                peer_close(&ben);
                finish(&island);
        }
}
