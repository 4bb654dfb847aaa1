/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The cap over all that is encoded and not sent: who keeps what others wait for is cut off, and nobody else
 * (server/output.c). */

#include "server/core.h"
#include "tests/lib/hub.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

#define NODES 4000u /* few enough that the loop does all itself */
#define READERS 20u
#define ANSWERS 8u /* for so many trees there is room */
#define STEP_MS 50u

struct stand {
        struct hub hub;
        struct peer ann; /* reads what she is sent */
        struct peer readers[READERS];
        size_t tree_bytes;
        uint32_t cut_count;
};

static void ask_view(struct peer *peer, uint64_t view)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_view);
        message.as.view.request = 7;
        message.as.view.view = view;
        message.as.view.root = scene_path("/");
        message.as.view.mask = SCN_MASK_ALL;
        peer_send(peer, &message);
}

static void ask(struct peer *peer, enum scn_message_kind kind)
{
        if (kind == SCN_MESSAGE_view) {
                ask_view(peer, 1);
                return;
        }
        struct scn_message message;
        scn_message_init(&message, kind);
        message.as.tree.request = 7; /* the first member of all */
        peer_send(peer, &message);
}

static void begin(struct stand *stand)
{
        struct scn_op *ops = calloc(NODES, sizeof *ops);
        struct scn_message message;
        char name[500];
        cr_assert_not_null(ops);
        memset(name, 'n', sizeof name - 1);
        name[sizeof name - 1] = '\0';
        for (uint32_t i = 0; i < NODES; i++) {
                ops[i] = scene_add(1, 50 + i, name);
        }
        *stand = (struct stand){.cut_count = 0};
        hub_start(&stand->hub);
        peer_open(&stand->ann, &stand->hub, 1, "ann", "test");
        peer_edit(&stand->ann, ops, NODES);
        (void)peer_expect(&stand->ann, SCN_MESSAGE_applied);
        free(ops);
        ask(&stand->ann, SCN_MESSAGE_tree);
        stand->tree_bytes = stand->ann.session->outbox_bytes;
        cr_assert_gt(stand->tree_bytes, 4 * SCN_PACE_BYTES);
        while (peer_receive(&stand->ann, &message)) {
        }
        stand->hub.server->options.output_bytes_max = ANSWERS * stand->tree_bytes;
        for (uint32_t i = 0; i < READERS; i++) {
                peer_open(&stand->readers[i], &stand->hub, 10 + i, "reader", "test");
                stand->readers[i].does_not_read = true;
        }
}

static void end(struct stand *stand)
{
        for (uint32_t i = 0; i < READERS; i++) {
                if (stand->readers[i].session != NULL) {
                        peer_close(&stand->readers[i]);
                }
        }
        peer_close(&stand->ann);
        cr_assert_eq(stand->hub.server->output_bytes, 0);
        hub_finish(&stand->hub);
}

/* Some turns at one moment, between which connections close as the network's would. */
static void look(struct stand *stand)
{
        for (uint32_t turn = 0; turn < 5; turn++) {
                struct scn_slice slice;
                hub_run(&stand->hub);
                for (uint32_t i = 0; i < READERS; i++) {
                        struct peer *reader = &stand->readers[i];
                        if (reader->session != NULL && peer_has_ended(reader)) {
                                cr_assert_eq(scn_session_output(reader->session, &slice, 1), 0);
                                peer_close(reader);
                                stand->cut_count++;
                        }
                }
        }
}

static void pass(struct stand *stand, uint32_t ms)
{
        for (uint32_t passed_ms = 0; passed_ms < ms; passed_ms += STEP_MS) {
                stand->hub.monotonic_ms += STEP_MS;
                look(stand);
        }
}

static bool is_answered(struct peer *peer)
{
        struct scn_message message;
        bool is_last = false;
        while (peer_receive(peer, &message)) {
                is_last = is_last || (message.kind == SCN_MESSAGE_answer && !message.as.answer.more) ||
                        (message.kind == SCN_MESSAGE_delta && !message.as.delta.more);
        }
        return is_last;
}

/* As many readers as there is room for, and one who waits. */
static void fill_up(struct stand *stand)
{
        for (uint32_t i = 0; i < ANSWERS; i++) {
                ask(&stand->readers[i], SCN_MESSAGE_tree);
                cr_assert_gt(stand->readers[i].session->outbox_bytes, 0, "reader %u", i);
        }
        ask(&stand->ann, SCN_MESSAGE_tree);
        look(stand);
        cr_assert_not(is_answered(&stand->ann));
}

SCN_TEST(output, that_nobody_takes_keeps_others_waiting_for_a_second_or_two_and_then_no_more)
{
        static const enum scn_message_kind kinds[] = {SCN_MESSAGE_tree, SCN_MESSAGE_who, SCN_MESSAGE_log,
                SCN_MESSAGE_documents, SCN_MESSAGE_digest, SCN_MESSAGE_view};
        const size_t kinds_count = sizeof kinds / sizeof kinds[0];
        static struct stand stand;
        size_t most = 0;
        begin(&stand);
        for (uint32_t i = 0; i < READERS; i++) {
                for (uint32_t j = 0; j < 5; j++) {
                        ask(&stand.readers[i], SCN_MESSAGE_tree);
                }
        }
        for (uint32_t i = 0; i < 4 * kinds_count; i++) {
                const uint64_t began_ms = stand.hub.monotonic_ms;
                ask(&stand.ann, kinds[i % kinds_count]);
                while (!is_answered(&stand.ann)) {
                        most = stand.hub.server->output_bytes > most ? stand.hub.server->output_bytes : most;
                        cr_assert_lt(stand.hub.monotonic_ms, began_ms + 10000, "question %u", i);
                        pass(&stand, STEP_MS);
                }
                const uint64_t took_ms = stand.hub.monotonic_ms - began_ms;
                if (i == 0) {
                        /* All come at once, and for so many there is room in a second. */
                        cr_assert_gt(took_ms, 0, "there was too much room");
                        cr_assert_leq(took_ms, READERS / ANSWERS * (SCN_PACE_MS + 2 * SCN_PACE_LOOK_MS));
                } else {
                        cr_assert_eq(took_ms, 0, "question %u", i);
                }
                pass(&stand, STEP_MS);
        }
        cr_assert_gt(stand.cut_count, 0);
        cr_assert_lt(most, (ANSWERS + 1) * stand.tree_bytes);
        end(&stand);
}

SCN_TEST(output, is_taken_from_nobody_while_nobody_waits)
{
        static struct stand stand;
        begin(&stand);
        for (uint32_t i = 0; i < ANSWERS; i++) {
                ask(&stand.readers[i], SCN_MESSAGE_tree);
        }
        cr_assert_geq(stand.hub.server->output_bytes, stand.hub.server->options.output_bytes_max);
        pass(&stand, 10 * SCN_PACE_MS);
        cr_assert_eq(stand.cut_count, 0);
        cr_assert_eq(scn_server_due_ms(stand.hub.server), UINT64_MAX);
        end(&stand);
}

SCN_TEST(output, is_taken_a_second_after_it_was_queued_and_no_sooner)
{
        static struct stand stand;
        begin(&stand);
        fill_up(&stand);
        pass(&stand, SCN_PACE_MS - STEP_MS);
        cr_assert_eq(stand.cut_count, 0);
        cr_assert_leq(scn_server_due_ms(stand.hub.server), stand.hub.monotonic_ms + SCN_PACE_LOOK_MS);
        pass(&stand, STEP_MS + SCN_PACE_LOOK_MS);
        cr_assert_eq(stand.cut_count, 1, "%u", stand.cut_count);
        cr_assert(is_answered(&stand.ann));
        cr_assert_eq(stand.hub.server->rooms->counters.silenced, 1);
        end(&stand);
}

/* Reader 0 takes just enough in each second, all others a byte less. */
SCN_TEST(output, is_left_to_whom_who_reads_slowly_but_steadily)
{
        static struct stand stand;
        begin(&stand);
        fill_up(&stand);
        for (uint32_t second = 0; second < 3; second++) {
                pass(&stand, SCN_PACE_MS / 2);
                for (uint32_t i = 0; i < ANSWERS; i++) {
                        if (stand.readers[i].session != NULL) {
                                scn_session_sent(stand.readers[i].session, SCN_PACE_BYTES - (i > 0));
                        }
                }
                ask(&stand.ann, SCN_MESSAGE_tree);
                pass(&stand, SCN_PACE_MS / 2);
                /* What is free is filled anew, by readers that have just come. */
                for (uint32_t i = 0; i < READERS; i++) {
                        if (stand.readers[i].session != NULL && i >= ANSWERS) {
                                ask(&stand.readers[i], SCN_MESSAGE_tree);
                        }
                }
        }
        for (uint32_t i = 0; i < ANSWERS; i++) {
                cr_assert_eq(stand.readers[i].session != NULL, i == 0, "reader %u", i);
        }
        end(&stand);
}

SCN_TEST(output, is_taken_from_those_first_that_hold_most)
{
        static struct stand stand;
        begin(&stand);
        /* One that has two of them, as long as there is plenty. */
        ask(&stand.readers[3], SCN_MESSAGE_tree);
        ask(&stand.readers[3], SCN_MESSAGE_tree);
        cr_assert_eq(stand.readers[3].session->outbox_bytes, 2 * stand.tree_bytes);
        for (uint32_t i = 0; i < ANSWERS - 1; i++) {
                if (i != 3) {
                        ask(&stand.readers[i], SCN_MESSAGE_tree);
                }
        }
        ask(&stand.ann, SCN_MESSAGE_tree);
        pass(&stand, SCN_PACE_MS + SCN_PACE_LOOK_MS);
        cr_assert_null(stand.readers[3].session);
        cr_assert_eq(stand.cut_count, 1);
        cr_assert(is_answered(&stand.ann));
        end(&stand);
}

/* Of a view that many share each has a part only. */
SCN_TEST(output, that_is_shared_counts_as_a_part_for_each)
{
        static struct stand stand;
        begin(&stand);
        for (uint32_t i = 1; i < READERS; i++) {
                for (uint64_t view = 1; view <= 4; view++) {
                        ask_view(&stand.readers[i], view);
                }
                cr_assert_gt(stand.readers[i].session->outbox_bytes, stand.tree_bytes);
        }
        const size_t shared_bytes = stand.hub.server->output_bytes;
        ask(&stand.readers[0], SCN_MESSAGE_tree);
        stand.hub.server->options.output_bytes_max = shared_bytes + stand.tree_bytes;
        ask(&stand.ann, SCN_MESSAGE_tree);
        pass(&stand, SCN_PACE_MS + SCN_PACE_LOOK_MS);
        cr_assert_null(stand.readers[0].session);
        cr_assert_eq(stand.cut_count, 1);
        cr_assert(is_answered(&stand.ann));
        end(&stand);
}

/* Reader 0 has the room and is steady: the others would be next, were it worth while. */
static uint32_t count_small_ones_cut(size_t more_than_spared)
{
        static struct stand stand;
        begin(&stand);
        ask(&stand.readers[0], SCN_MESSAGE_tree);
        for (uint32_t i = 1; i < READERS; i++) {
                ask(&stand.readers[i], SCN_MESSAGE_ping);
        }
        const size_t small_bytes = stand.readers[1].session->outbox_bytes;
        stand.hub.server->options.output_bytes_max = 2 * SCN_SESSIONS_MAX * small_bytes - more_than_spared;
        ask(&stand.ann, SCN_MESSAGE_tree);
        for (uint32_t i = 0; i < 4; i++) {
                pass(&stand, SCN_PACE_MS / 2);
                scn_session_sent(stand.readers[0].session, SCN_PACE_BYTES);
        }
        cr_assert_not(is_answered(&stand.ann));
        const uint32_t cut_count = stand.cut_count;
        end(&stand);
        return cut_count;
}

SCN_TEST(output, is_taken_from_nobody_who_holds_less_than_everybody_may)
{
        cr_assert_eq(count_small_ones_cut(0), 0);
        cr_assert_eq(count_small_ones_cut(1), READERS - 1);
}

/* While the loop did something else for long, nobody's socket was looked at. */
SCN_TEST(output, is_not_taken_from_those_that_could_not_take_it)
{
        static struct stand stand;
        begin(&stand);
        fill_up(&stand);
        stand.hub.monotonic_ms += 3 * SCN_PACE_MS;
        scn_server_turn(stand.hub.server);
        for (uint32_t i = 0; i < ANSWERS; i++) {
                cr_assert_not(peer_has_ended(&stand.readers[i]));
                stand.readers[i].does_not_read = false;
                peer_drain(&stand.readers[i]);
        }
        look(&stand);
        cr_assert(is_answered(&stand.ann));
        cr_assert_eq(stand.cut_count, 0);
        end(&stand);
}

SCN_TEST(output, of_which_half_is_queued_goes_to_those_that_have_taken_what_they_have)
{
        static struct stand stand;
        begin(&stand);
        for (uint32_t i = 0; i < 3; i++) {
                for (uint32_t j = 0; j < 3; j++) {
                        ask(&stand.readers[i], SCN_MESSAGE_tree);
                }
        }
        cr_assert_eq(stand.readers[0].session->outbox_bytes, 3 * stand.tree_bytes);
        cr_assert_eq(stand.readers[1].session->outbox_bytes, stand.tree_bytes);
        cr_assert_eq(stand.readers[2].session->outbox_bytes, stand.tree_bytes);
        ask(&stand.ann, SCN_MESSAGE_tree);
        cr_assert(is_answered(&stand.ann));
        end(&stand);
}

SCN_TEST(output, that_is_short_keeps_all_waiting_that_may_be_long)
{
        static const enum scn_message_kind kinds[] = {
                SCN_MESSAGE_tree, SCN_MESSAGE_who, SCN_MESSAGE_log, SCN_MESSAGE_documents, SCN_MESSAGE_view};
        const uint32_t kinds_count = sizeof kinds / sizeof kinds[0];
        static struct stand stand;
        begin(&stand);
        fill_up(&stand);
        for (uint32_t i = 0; i < kinds_count; i++) {
                struct peer *reader = &stand.readers[ANSWERS + i];
                reader->does_not_read = false;
                ask(reader, kinds[i]);
                cr_assert_not(is_answered(reader), "%s", scn_message_name(kinds[i]));
        }
        pass(&stand, SCN_PACE_MS + SCN_PACE_LOOK_MS);
        for (uint32_t i = 0; i < kinds_count; i++) {
                cr_assert(is_answered(&stand.readers[ANSWERS + i]), "%s", scn_message_name(kinds[i]));
        }
        end(&stand);
}
