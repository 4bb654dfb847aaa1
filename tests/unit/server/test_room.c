/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The server core end to end in one process: edits, views, exactly once, restarts. */

#include "server/core.h"
#include "tests/lib/held.h"
#include "tests/lib/hub.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include "protocol/base/alloc.h"
#include "protocol/base/uid.h"
#include "protocol/scene/digest.h"
#include "protocol/wire/columns.h"
#include "protocol/wire/ops.h"

#include <stdio.h>
#include <string.h>

static void start_view(struct peer *peer, const char *root, uint32_t mask)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_view);
        message.as.view.request = 77;
        message.as.view.view = 1;
        message.as.view.root = scene_path(root);
        message.as.view.mask = mask;
        peer_send(peer, &message);
        (void)peer_expect(peer, SCN_MESSAGE_viewed);
}

SCN_TEST(room, acknowledges_an_edit_once_it_is_durable_and_sends_it_to_everybody)
{
        struct hub hub;
        struct peer a;
        struct peer b;
        struct held held;
        hub_start(&hub);
        peer_open(&a, &hub, 1, "ann", "island");
        peer_open(&b, &hub, 2, "bob", "island");
        hold(&held);
        start_view(&b, "/", SCN_MASK_ALL);
        take_deltas(&b, &held);
        struct scn_op op = scene_add(1, 50, "boat");
        peer_edit(&a, &op, 1);
        const struct scn_message applied = peer_expect(&a, SCN_MESSAGE_applied);
        cr_assert_eq(applied.as.applied.number, 1);
        cr_assert_eq(applied.as.applied.rev, 1);
        cr_assert_not_null(applied.as.applied.results.data);
        take_deltas(&b, &held);
        cr_assert_neq(scn_document_find_uid(held.replica, scene_uid(50)), 0);
        cr_assert(has_digest(held.replica, ask_digest(&a)));
        op = scene_rename(99, "x");
        peer_edit(&a, &op, 1);
        peer_expect_code(&a, SCN_MESSAGE_refused, "no_node");
        let_go(&held);
        peer_close(&a);
        peer_close(&b);
        hub_finish(&hub);
}

SCN_TEST(room, finds_everything_again_after_a_restart)
{
        struct hub hub;
        struct peer a;
        hub_start(&hub);
        peer_open(&a, &hub, 1, "ann", "island");
        struct scn_op ops[4] = {scene_add(1, 50, "boat"), scene_add(2, 51, "lantern"), scene_translate(2, 1, 2, 3),
                scene_set(3, "lit", scene_integer(1))};
        peer_edit(&a, ops, 4);
        (void)peer_expect(&a, SCN_MESSAGE_applied);
        struct scn_op keep = scene_move(3, 1);
        keep.keep_world = true;
        peer_edit(&a, &keep, 1);
        (void)peer_expect(&a, SCN_MESSAGE_applied);
        struct scn_op remove = scene_remove(2);
        peer_edit(&a, &remove, 1);
        (void)peer_expect(&a, SCN_MESSAGE_applied);
        const struct scn_digest before = ask_digest(&a);
        peer_close(&a);
        hub_stop(&hub);
        hub_restart(&hub);
        peer_open(&a, &hub, 1, "ann", "island");
        cr_assert_eq(a.last_stored, 3);
        const struct scn_digest after = ask_digest(&a);
        cr_assert(before.low == after.low && before.high == after.high);
        peer_close(&a);
        hub_finish(&hub);
}

SCN_TEST(room, answers_a_repeated_number_as_the_first_time)
{
        struct hub hub;
        struct peer a;
        hub_start(&hub);
        peer_open(&a, &hub, 1, "ann", "island");
        struct scn_op op = scene_add(1, 50, "boat");
        struct scn_op other = scene_add(1, 51, "boat");
        peer_edit(&a, &op, 1);
        (void)peer_expect(&a, SCN_MESSAGE_applied);
        const struct scn_op wrong = scene_rename(99, "x");
        peer_edit(&a, &wrong, 1);
        peer_expect_code(&a, SCN_MESSAGE_refused, "no_node");
        peer_edit(&a, &other, 1);
        (void)peer_expect(&a, SCN_MESSAGE_applied);
        /* Lost answers: the same bytes again, on a new connection. */
        peer_close(&a);
        peer_open(&a, &hub, 1, "ann", "island");
        cr_assert_eq(a.last_stored, 3);
        peer_edit_as(&a, 1, &op, 1);
        cr_assert_eq(peer_expect(&a, SCN_MESSAGE_applied).as.applied.rev, 1);
        peer_edit_as(&a, 1, &other, 1);
        peer_expect_code(&a, SCN_MESSAGE_refused, "number_reused");
        peer_edit_as(&a, 2, &wrong, 1);
        peer_expect_code(&a, SCN_MESSAGE_refused, "not_applied");
        peer_edit_as(&a, 4, &wrong, 1);
        peer_expect_code(&a, SCN_MESSAGE_refused, "no_node");
        peer_edit_as(&a, 6, &wrong, 1);
        peer_expect_code(&a, SCN_MESSAGE_refused, "gap");
        peer_close(&a);
        hub_finish(&hub);
}

/* It may be stored: to call it refused would be to say what is not known. */
SCN_TEST(room, that_cannot_look_up_a_repeated_number_does_not_call_it_refused)
{
        struct hub hub;
        struct peer ann;
        struct scn_message message;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        const struct scn_op op = scene_add(1, 50, "boat");
        peer_edit(&ann, &op, 1);
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        peer_close(&ann);
        peer_open(&ann, &hub, 1, "ann", "island");
        peer_edit_as(&ann, 1, &op, 1);
        scn_server_turn(hub.server);
        cr_assert_eq(hub.jobs_count, 1);
        struct scn_job *job = hub.jobs[--hub.jobs_count];
        scn_alloc_fail_at(1, true);
        job->run(job);
        scn_alloc_fail_at(0, false);
        job->done(job);
        cr_assert(peer_receive(&ann, &message));
        cr_assert_eq(message.kind, SCN_MESSAGE_failed);
        cr_assert(message.as.failed.closes);
        cr_assert(peer_has_ended(&ann));
        peer_close(&ann);
        hub_finish(&hub);
}

static void ask(struct peer *peer, enum scn_message_kind kind, const char *create)
{
        struct scn_message message;
        scn_message_init(&message, kind);
        message.as.documents.request = 3;
        if (kind == SCN_MESSAGE_manage) {
                message.as.manage.action = scene_text("create");
                message.as.manage.document = scene_text(create);
        }
        peer_send(peer, &message);
}

SCN_TEST(room, a_document_is_made_or_not_whatever_allocation_fails)
{
        struct hub hub;
        struct peer ann;
        struct scn_message message;
        char name[32];
        uint32_t failed_count = 0;
        hub_start(&hub);
        for (uint64_t nth = 1; nth <= 20; nth++) {
                (void)snprintf(name, sizeof name, "island-%llu", (unsigned long long)nth);
                peer_open(&ann, &hub, 1, "ann", "home");
                /* Waits in the inbox until the list is there. */
                ask(&ann, SCN_MESSAGE_documents, NULL);
                ask(&ann, SCN_MESSAGE_manage, name);
                cr_assert_eq(hub.jobs_count, 1);
                struct scn_job *job = hub.jobs[--hub.jobs_count];
                job->run(job);
                scn_alloc_fail_at(nth, false);
                job->done(job);
                scn_alloc_fail_at(0, false);
                while (peer_receive(&ann, &message)) {
                        failed_count += message.kind == SCN_MESSAGE_failed && !message.as.failed.closes;
                }
                peer_close(&ann);
        }
        cr_assert_geq(failed_count, 3);
        hub_finish(&hub);
}

/* It was sent ahead of the answer; what comes behind it is answered, too. */
SCN_TEST(room, that_cannot_be_opened_has_edits_refused_that_were_sent_meanwhile)
{
        struct hub hub;
        struct peer ann;
        struct scn_message message;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        peer_close(&ann);
        peer_greet(&ann, &hub, 1, NULL);
        peer_ask_open(&ann, "nowhere", false);
        const struct scn_op op = scene_add(1, 50, "boat");
        peer_edit(&ann, &op, 1);
        scn_message_init(&message, SCN_MESSAGE_ping);
        message.as.ping.request = 2;
        peer_send(&ann, &message);
        peer_expect_code(&ann, SCN_MESSAGE_failed, "no_document");
        peer_expect_code(&ann, SCN_MESSAGE_refused, "not_open");
        cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_answer).as.answer.request, 2);
        peer_close(&ann);
        hub_finish(&hub);
}

SCN_TEST(room, that_cannot_be_opened_says_nothing_to_a_session_that_has_ended_meanwhile)
{
        struct hub hub;
        struct peer ann;
        struct scn_message message;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        peer_close(&ann);
        peer_greet(&ann, &hub, 1, NULL);
        peer_ask_open(&ann, "nowhere", false);
        scn_server_stop(hub.server);
        cr_assert(peer_expect(&ann, SCN_MESSAGE_failed).as.failed.closes);
        cr_assert_not(peer_receive(&ann, &message));
        cr_assert(peer_has_ended(&ann));
        peer_close(&ann);
        hub_finish(&hub);
}

SCN_TEST(room, hands_a_client_over_to_its_newer_connection)
{
        struct hub hub;
        struct peer old;
        struct peer new;
        hub_start(&hub);
        peer_open(&old, &hub, 1, "ann", "island");
        peer_open(&new, &hub, 1, "ann", "island");
        peer_expect_code(&old, SCN_MESSAGE_failed, "taken_over");
        cr_assert(peer_has_ended(&old));
        const struct scn_op op = scene_add(1, 50, "boat");
        peer_edit(&new, &op, 1);
        (void)peer_expect(&new, SCN_MESSAGE_applied);
        peer_close(&old);
        peer_close(&new);
        hub_finish(&hub);
}

SCN_TEST(room, applies_an_edit_in_parts_as_one)
{
        struct hub hub;
        struct peer a;
        hub_start(&hub);
        peer_open(&a, &hub, 1, "ann", "island");
        for (uint32_t i = 0; i < 3; i++) {
                struct scn_buffer buffer;
                struct scn_message message;
                const struct scn_op op = scene_add(1 + i, 60 + i, "part");
                scn_buffer_init(&buffer, 4096);
                struct scn_packer packer = scn_packer_to(&buffer);
                scn_ops_encode(&packer, &op, 1);
                scn_message_init(&message, SCN_MESSAGE_edit);
                message.as.edit.number = 1;
                message.as.edit.ops = (struct scn_slice){buffer.data, (uint32_t)buffer.size};
                message.as.edit.more = i < 2;
                peer_send(&a, &message);
                scn_buffer_finish(&buffer);
        }
        cr_assert_eq(peer_expect(&a, SCN_MESSAGE_applied).as.applied.rev, 1);
        peer_close(&a);
        hub_finish(&hub);
}

SCN_TEST(room, keeps_a_watcher_of_a_subtree_ignorant_of_the_rest)
{
        struct hub hub;
        struct peer a;
        struct peer b;
        struct held held;
        hub_start(&hub);
        peer_open(&a, &hub, 1, "ann", "island");
        peer_open(&b, &hub, 2, "bob", "island");
        hold(&held);
        const struct scn_op build[] = {
                scene_add(1, 50, "boat"), scene_add(1, 51, "lighthouse"), scene_add(2, 52, "lantern")};
        peer_edit(&a, build, 3);
        (void)peer_expect(&a, SCN_MESSAGE_applied);
        start_view(&b, "/boat", SCN_MASK_ALL);
        take_deltas(&b, &held);
        cr_assert_eq(scn_document_nodes_count(held.replica), 2);
        struct scn_op op = scene_translate(3, 5, 5, 5);
        peer_edit(&a, &op, 1);
        (void)peer_expect(&a, SCN_MESSAGE_applied);
        cr_assert_not(take_delta(&b, &held), "something was said about the lighthouse");
        op = scene_translate(2, 5, 5, 5);
        peer_edit(&a, &op, 1);
        (void)peer_expect(&a, SCN_MESSAGE_applied);
        cr_assert(take_delta(&b, &held));
        let_go(&held);
        peer_close(&a);
        peer_close(&b);
        hub_finish(&hub);
}

/* CASES B45 in small: what a client does not read is merged, not queued. */
SCN_TEST(room, merges_what_a_slow_client_has_not_read)
{
        struct hub hub;
        struct peer a;
        struct peer b;
        struct held held;
        hub_start(&hub);
        peer_open(&a, &hub, 1, "ann", "island");
        peer_open(&b, &hub, 2, "bob", "island");
        hold(&held);
        const struct scn_op build = scene_add(1, 50, "boat");
        peer_edit(&a, &build, 1);
        (void)peer_expect(&a, SCN_MESSAGE_applied);
        start_view(&b, "/", SCN_MASK_ALL);
        take_deltas(&b, &held);
        b.does_not_read = true;
        static struct scn_slice slices[4096];
        for (uint32_t i = 0; i < 2000; i++) {
                const struct scn_op op = scene_translate(2, (float)i, 0, 0);
                peer_edit(&a, &op, 1);
                (void)peer_expect(&a, SCN_MESSAGE_applied);
        }
        size_t waiting = 0;
        const size_t count = scn_session_output(b.session, slices, 4096);
        for (size_t i = 0; i < count; i++) {
                waiting += slices[i].size;
        }
        cr_assert_leq(waiting, 1000, "%zu bytes wait", waiting);
        b.does_not_read = false;
        take_deltas(&b, &held);
        cr_assert(has_digest(held.replica, ask_digest(&a)));
        let_go(&held);
        peer_close(&a);
        peer_close(&b);
        hub_finish(&hub);
}

SCN_TEST(room, counts_what_it_does_and_for_whom)
{
        struct hub hub;
        struct peer a;
        struct peer b;
        hub_start(&hub);
        peer_open(&a, &hub, 1, "ann", "island");
        peer_open(&b, &hub, 2, "bob", "island");
        const struct scn_room *room = a.session->room;
        const struct scn_op build = scene_add(1, 50, "boat");
        peer_edit(&a, &build, 1);
        (void)peer_expect(&a, SCN_MESSAGE_applied);
        const struct scn_op missing = scene_translate(77, 1, 0, 0);
        peer_edit(&a, &missing, 1);
        (void)peer_expect(&a, SCN_MESSAGE_refused);
        start_view(&b, "/", SCN_MASK_ALL);
        (void)peer_expect(&b, SCN_MESSAGE_delta);
        b.does_not_read = true;
        for (uint32_t i = 0; i < 10; i++) {
                const struct scn_op op = scene_translate(2, (float)i + 1, 0, 0);
                peer_edit(&a, &op, 1);
                (void)peer_expect(&a, SCN_MESSAGE_applied);
        }
        cr_assert_eq(a.session->counters.edits, 11);
        cr_assert_eq(a.session->counters.refused, 1);
        cr_assert_eq(a.session->counters.deltas, 0);
        cr_assert_eq(b.session->counters.edits, 0);
        cr_assert_eq(b.session->counters.deltas, 2, "the whole, and one that it does not take");
        cr_assert_eq(b.session->counters.skipped, 9);
        cr_assert_eq(room->counters.edits, 11);
        cr_assert_eq(room->counters.refused, 1);
        cr_assert_eq(room->counters.commits, 11);
        cr_assert_eq(room->counters.snapshots, 1);
        b.does_not_read = false;
        (void)peer_expect(&b, SCN_MESSAGE_delta);
        (void)peer_expect(&b, SCN_MESSAGE_delta);
        cr_assert_eq(room->counters.deltas, 3);
        cr_assert_eq(room->counters.skipped, 9);
        cr_assert_eq(room->counters.silenced, 0);
        b.does_not_read = true;
        const struct scn_op op = scene_translate(2, 99, 0, 0);
        peer_edit(&a, &op, 1);
        (void)peer_expect(&a, SCN_MESSAGE_applied);
        hub.monotonic_ms += SCN_NO_PROGRESS_MS + 1;
        scn_server_tick(hub.server);
        cr_assert_eq(room->counters.silenced, 1);
        scn_server_tick(hub.server);
        cr_assert_eq(room->counters.silenced, 1, "once");
        peer_close(&a);
        peer_close(&b);
        hub_finish(&hub);
}

SCN_TEST(room, tells_a_client_that_drained_at_a_bad_moment_what_it_missed)
{
        struct hub hub;
        struct peer a;
        struct peer b;
        struct held held;
        hub_start(&hub);
        peer_open(&a, &hub, 1, "ann", "island");
        peer_open(&b, &hub, 2, "bob", "island");
        hold(&held);
        start_view(&b, "/", SCN_MASK_TRANSFORM);
        take_deltas(&b, &held);
        b.does_not_read = true;
        for (uint32_t i = 0; i < 2; i++) {
                const struct scn_op op = scene_translate(1, 1 + (float)i, 0, 0);
                peer_edit(&a, &op, 1);
                (void)peer_expect(&a, SCN_MESSAGE_applied);
        }
        /* It drains while an edit is in flight that has nothing for it: its own delta must not be forgotten. */
        const struct scn_op rename = scene_rename(1, "root");
        peer_edit(&a, &rename, 1);
        scn_server_turn(hub.server);
        b.does_not_read = false;
        peer_drain(&b);
        (void)peer_expect(&a, SCN_MESSAGE_applied);
        take_deltas(&b, &held);
        cr_assert_eq(scn_document_node(held.replica, scn_document_root(held.replica)).trs.t[0], 2.0f);
        let_go(&held);
        peer_close(&a);
        peer_close(&b);
        hub_finish(&hub);
}

/* Some two megabytes, so that a turn takes two of them. */
static void send_large(struct peer *peer, scn_node_id node)
{
        enum {
                VALUE = 60000,
                VALUES = 35
        };
        static uint8_t value[VALUE] = {0xc5, (VALUE - 3) >> 8, (VALUE - 3) & 0xff};
        struct scn_op ops[VALUES];
        char keys[VALUES][16];
        value[VALUE - 1]++; /* it changes something */
        for (int i = 0; i < VALUES; i++) {
                (void)snprintf(keys[i], sizeof keys[i], "k%d", i);
                ops[i] = scene_set(node, keys[i], (struct scn_slice){value, sizeof value});
        }
        peer_edit(peer, ops, VALUES);
}

SCN_TEST(room, large_edits_of_some_do_not_hold_back_one_of_somebody_else)
{
        static const char *const names[] = {"ann", "bob", "cy"};
        struct hub hub;
        struct peer peers[3];
        hub_start(&hub);
        for (uint32_t i = 0; i < 3; i++) {
                const struct scn_op op = scene_add(1, 50 + i, names[i]);
                peer_open(&peers[i], &hub, 1 + i, names[i], "island");
                peer_edit(&peers[i], &op, 1);
                (void)peer_expect(&peers[i], SCN_MESSAGE_applied);
        }
        for (uint32_t i = 0; i < 3; i++) {
                send_large(&peers[0], 2);
                send_large(&peers[1], 3);
        }
        send_large(&peers[2], 4);
        cr_assert_eq(peer_expect(&peers[2], SCN_MESSAGE_applied).as.applied.rev, 3 + 3, "after one of each");
        for (uint32_t i = 0; i < 3; i++) {
                (void)peer_expect(&peers[0], SCN_MESSAGE_applied);
                (void)peer_expect(&peers[1], SCN_MESSAGE_applied);
        }
        for (uint32_t i = 0; i < 3; i++) {
                peer_close(&peers[i]);
        }
        hub_finish(&hub);
}

/* Each newcomer is looked up in the journal, one after another. */
SCN_TEST(room, takes_an_edit_between_those_who_come_in_and_lets_them_in_between_edits)
{
        enum {
                NEWCOMERS = 20,
                EDITS = 5
        };
        struct hub hub;
        struct peer ann;
        struct peer newcomers[NEWCOMERS];
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        for (uint32_t i = 0; i < NEWCOMERS; i++) {
                peer_greet(&newcomers[i], &hub, 10 + i, NULL);
                peer_ask_open(&newcomers[i], "island", false);
        }
        for (uint32_t i = 1; i <= EDITS; i++) {
                const struct scn_op op = scene_add(1, 50 + i, "boat");
                peer_edit(&ann, &op, 1);
                /* The one who is looked up just now, and the edit. */
                cr_assert(hub_step(&hub));
                cr_assert(hub_step(&hub));
                cr_assert_eq(hub.server->rooms->durable, i);
        }
        uint32_t open_count = 0;
        for (uint32_t i = 0; i < NEWCOMERS; i++) {
                open_count += newcomers[i].session->state == SCN_SESSION_OPEN;
        }
        cr_assert_eq(open_count, EDITS, "%u", open_count);
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        for (uint32_t i = 0; i < NEWCOMERS; i++) {
                cr_assert_eq(newcomers[i].session->state, SCN_SESSION_OPEN);
                peer_close(&newcomers[i]);
        }
        peer_close(&ann);
        hub_finish(&hub);
}

/* --- Bad input (CASES B37, B41) --- */

SCN_TEST(session, ends_when_the_stream_is_no_stream_of_frames_and_others_do_not_notice)
{
        struct hub hub;
        struct peer good;
        hub_start(&hub);
        peer_open(&good, &hub, 1, "ann", "island");
        static const char *const bad[] = {"GET / HTTP/1.1\r\n\r\n", "\xdd\xff\xff\xff\xff", "SCENED\x01\n\xc1",
                "SCENED\x01\n\xc6\xff\xff\xff\xff", "SCENED\x01\n\xc4\x01\xc1", "SCENED\x01\n\xc4\x02\x91\x03"};
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
                struct peer peer;
                peer_connect(&peer, &hub);
                peer_send_bytes(&peer, bad[i], strlen(bad[i]));
                cr_assert(peer_has_ended(&peer), "number %zu", i);
                peer_close(&peer);
        }
        const struct scn_op op = scene_add(1, 50, "boat");
        peer_edit(&good, &op, 1);
        (void)peer_expect(&good, SCN_MESSAGE_applied);
        /* A message that is none of those there are is answered, and the connection goes on. */
        peer_send_bytes(&good, "\xc4\x02\x91\x3f", 4);
        peer_expect_code(&good, SCN_MESSAGE_failed, "unknown_message");
        peer_send_bytes(&good, "\xc4\x03\x92\x14\xa0", 5);
        peer_expect_code(&good, SCN_MESSAGE_failed, "bad_message");
        struct scn_message ping;
        scn_message_init(&ping, SCN_MESSAGE_ping);
        ping.as.ping.request = 9;
        peer_send(&good, &ping);
        cr_assert_eq(peer_expect(&good, SCN_MESSAGE_answer).as.answer.request, 9);
        peer_close(&good);
        hub_finish(&hub);
}

SCN_TEST(session, ends_when_hello_does_not_come_in_time)
{
        struct hub hub;
        struct peer peer;
        hub_start(&hub);
        peer_connect(&peer, &hub);
        hub.monotonic_ms += 4000;
        scn_server_tick(hub.server);
        cr_assert_not(peer_has_ended(&peer));
        hub.monotonic_ms += 2000;
        scn_server_tick(hub.server);
        cr_assert(peer_has_ended(&peer));
        peer_close(&peer);
        hub_finish(&hub);
}

/* --- The past --- */

static struct scn_message ask_past(struct peer *peer, enum scn_message_kind kind, scn_revision revision)
{
        struct scn_buffer at;
        struct scn_message message;
        scn_buffer_init(&at, 16);
        struct scn_packer packer = scn_packer_to(&at);
        scn_pack_uint(&packer, revision);
        scn_message_init(&message, kind);
        message.as.ping.request = 8;
        if (kind == SCN_MESSAGE_digest) {
                message.as.digest.at = (struct scn_slice){at.data, (uint32_t)at.size};
        }
        peer_send(peer, &message);
        scn_buffer_finish(&at);
        return peer_expect(peer, SCN_MESSAGE_answer);
}

SCN_TEST(history, answers_what_the_digest_was_at_any_revision)
{
        struct hub hub;
        struct peer a;
        uint8_t live[6][16];
        hub_start(&hub);
        peer_open(&a, &hub, 1, "ann", "island");
        for (uint32_t i = 0; i < 6; i++) {
                const struct scn_op op = i == 4 ? scene_remove(3) : scene_add(1 + i / 3, 50 + i, "node");
                peer_edit(&a, &op, 1);
                (void)peer_expect(&a, SCN_MESSAGE_applied);
                const struct scn_digest digest = ask_digest(&a);
                for (int k = 0; k < 8; k++) {
                        live[i][k] = (uint8_t)(digest.high >> (56 - 8 * k));
                        live[i][8 + k] = (uint8_t)(digest.low >> (56 - 8 * k));
                }
        }
        for (uint32_t i = 0; i < 6; i++) {
                const struct scn_message answer = ask_past(&a, SCN_MESSAGE_digest, i + 1);
                cr_assert_eq(answer.as.answer.rev, i + 1);
                cr_assert_eq(answer.as.answer.body.size, 18);
                cr_assert(memcmp(answer.as.answer.body.data + 2, live[i], 16) == 0, "at revision %u", i + 1);
        }
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_digest);
        message.as.digest.request = 9;
        message.as.digest.at = (struct scn_slice){(const uint8_t *)"\x07", 1};
        peer_send(&a, &message);
        peer_expect_code(&a, SCN_MESSAGE_failed, "future");
        message.as.digest.at = (struct scn_slice){(const uint8_t *)"\xb4"
                                                                   "2099-01-31T12:00:00Z",
                21};
        peer_send(&a, &message);
        cr_assert_eq(peer_expect(&a, SCN_MESSAGE_answer).as.answer.rev, 6);
        message.as.digest.at = (struct scn_slice){(const uint8_t *)"\xa4"
                                                                   "noon",
                5};
        peer_send(&a, &message);
        peer_expect_code(&a, SCN_MESSAGE_failed, "no_tag");
        message.as.digest.at = (struct scn_slice){(const uint8_t *)"\xb4"
                                                                   "2099-02-31T12:00:60+",
                21};
        peer_send(&a, &message);
        peer_expect_code(&a, SCN_MESSAGE_failed, "bad_time");
        peer_close(&a);
        hub_finish(&hub);
}

SCN_TEST(history, replays_to_the_digest_that_was_recorded_live)
{
        struct hub hub;
        struct peer a;
        struct held held;
        hub_start(&hub);
        peer_open(&a, &hub, 1, "ann", "island");
        hold(&held);
        for (uint32_t i = 0; i < 30; i++) {
                const struct scn_op op =
                        i % 5 == 4 ? scene_remove(2 + i - i / 5 - 1) : scene_add(1 + (i > 9), 50 + i, "node");
                peer_edit(&a, &op, 1);
                (void)peer_expect(&a, SCN_MESSAGE_applied);
        }
        const struct scn_digest live = ask_digest(&a);
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_replay);
        message.as.replay.request = 31;
        peer_send(&a, &message);
        take_deltas(&a, &held);
        cr_assert_eq(scn_document_revision(held.replica), 30);
        cr_assert(has_digest(held.replica, live));
        let_go(&held);
        const struct scn_message verified = ask_past(&a, SCN_MESSAGE_verify, 0);
        cr_assert_gt(verified.as.answer.body.size, 20);
        const struct scn_message log = ask_past(&a, SCN_MESSAGE_log, 0);
        struct scn_unpacker unpacker = scn_unpacker_from(log.as.answer.body);
        cr_assert_eq(scn_unpack_array(&unpacker), 30);
        peer_close(&a);
        hub_finish(&hub);
}
