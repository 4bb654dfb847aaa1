/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Bringing back what was: exactly once, among other editors, and what it refuses. What comes back is looked at by
 * tests/property/test_restore.c. */

#include "protocol/base/uid.h"
#include "server/core.h"
#include "tests/lib/asking.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

struct stage {
        struct hub hub;
        struct peer ann;
        struct peer bob;
};

static void set_up(struct stage *stage)
{
        hub_start(&stage->hub);
        peer_open(&stage->ann, &stage->hub, 1, "ann", "isle");
        peer_open(&stage->bob, &stage->hub, 2, "bob", "isle");
        (void)asking_edit(&stage->ann, scene_add(1, 50, "boat"));
        (void)asking_edit(&stage->bob, scene_rename(2, "ship"));
}

static void tear_down(struct stage *stage)
{
        peer_close(&stage->ann);
        peer_close(&stage->bob);
        hub_finish(&stage->hub);
}

static void send(struct peer *peer, uint64_t number, const char *at, scn_node_id node)
{
        uint8_t bytes[ASKING_AT_BYTES];
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_restore);
        message.as.restore.number = number;
        message.as.restore.at = asking_at(bytes, at);
        if (node != 0) {
                message.as.restore.node = scene_id(node);
        }
        peer_send(peer, &message);
}

static scn_revision await(struct peer *peer)
{
        return peer_expect(peer, SCN_MESSAGE_applied).as.applied.rev;
}

static bool is_named(const struct stage *stage, const char *name)
{
        const struct scn_document *document = stage->hub.server->rooms->document;
        const struct scn_slice is = scn_document_node(document, scn_document_find_uid(document, scene_uid(50))).name;
        return is.size == strlen(name) && memcmp(is.data, name, is.size) == 0;
}

SCN_TEST(restore, sent_again_is_done_once_and_answered_alike)
{
        struct stage stage;
        set_up(&stage);
        const uint64_t number = ++stage.ann.number;
        send(&stage.ann, number, "1", 0);
        cr_assert_eq(await(&stage.ann), 3);
        cr_assert(is_named(&stage, "boat"));
        (void)asking_edit(&stage.bob, scene_rename(2, "raft"));
        send(&stage.ann, number, "1", 0);
        const struct scn_message again = peer_expect(&stage.ann, SCN_MESSAGE_applied);
        cr_assert_eq(again.as.applied.rev, 3);
        cr_assert_eq(asking_member(again.as.applied.summary, "restored"), 1);
        cr_assert_eq(asking_member(again.as.applied.summary, "applied"), 1);
        cr_assert(is_named(&stage, "raft"));
        send(&stage.ann, number, "2", 0);
        peer_expect_code(&stage.ann, SCN_MESSAGE_refused, "number_reused");
        tear_down(&stage);
}

SCN_TEST(restore, to_a_tag_is_a_step_that_its_author_undoes_after_a_restart)
{
        struct stage stage;
        struct scn_message message;
        set_up(&stage);
        (void)asking_tag(&stage.bob, "first", 1);
        send(&stage.ann, ++stage.ann.number, "first", 0);
        cr_assert_eq(await(&stage.ann), 3);
        const uint64_t number = stage.ann.number;
        peer_close(&stage.ann);
        peer_close(&stage.bob);
        hub_stop(&stage.hub);
        hub_restart(&stage.hub);
        peer_open(&stage.ann, &stage.hub, 1, "ann", "isle");
        peer_open(&stage.bob, &stage.hub, 2, "bob", "isle");
        scn_message_init(&message, SCN_MESSAGE_undo);
        message.as.undo.number = number + 1;
        peer_send(&stage.ann, &message);
        cr_assert_eq(await(&stage.ann), 4);
        cr_assert(is_named(&stage, "ship"));
        tear_down(&stage);
}

SCN_TEST(restore, of_what_is_as_it_was_makes_no_revision)
{
        struct stage stage;
        set_up(&stage);
        send(&stage.ann, ++stage.ann.number, "2", 0);
        const struct scn_message answer = peer_expect(&stage.ann, SCN_MESSAGE_applied);
        cr_assert_eq(answer.as.applied.rev, 2);
        cr_assert(answer.as.applied.unchanged);
        tear_down(&stage);
}

SCN_TEST(restore, that_cannot_be_is_refused_and_uses_its_number)
{
        struct stage stage;
        set_up(&stage);
        (void)asking_edit(&stage.ann, scene_add(1, 51, "oar"));
        (void)asking_edit(&stage.ann, scene_remove(3));
        const struct {
                const char *at;
                scn_node_id node;
                const char *code;
        } cases[] = {{"9", 0, "future"}, {"never", 0, "no_tag"}, {"2026-13-31T12:00:00Z", 0, "bad_time"},
                {"2026-02-30T12:00:00Z", 0, "bad_time"}, {"2", 77, "no_node"}, {"2", 3, "no_node"},
                {"0", 2, "no_node"}};
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                send(&stage.ann, ++stage.ann.number, cases[i].at, cases[i].node);
                peer_expect_code(&stage.ann, SCN_MESSAGE_refused, cases[i].code);
        }
        send(&stage.ann, ++stage.ann.number, "77", 0);
        peer_expect_text(&stage.ann, SCN_MESSAGE_refused, "revision 77: the last revision is 4");
        cr_assert_eq(stage.hub.warnings_logged, 0, "what there is not may be asked for often");
        cr_assert_eq(asking_edit(&stage.ann, scene_rename(2, "raft")), 5);
        tear_down(&stage);
}

SCN_TEST(restore, of_a_subtree_takes_back_what_left_it_and_leaves_all_else)
{
        struct stage stage;
        set_up(&stage);
        (void)asking_edit(&stage.ann, scene_add(2, 51, "oar"));
        (void)asking_edit(&stage.ann, scene_move(3, 1));
        (void)asking_edit(&stage.bob, scene_add(1, 52, "buoy"));
        (void)asking_edit(&stage.bob, scene_add(2, 53, "flag"));
        send(&stage.ann, ++stage.ann.number, "3", 2);
        cr_assert_eq(await(&stage.ann), 7);
        const struct scn_document *document = stage.hub.server->rooms->document;
        cr_assert_eq(scn_document_node(document, 3).parent, 2);
        cr_assert_neq(scn_document_find_uid(document, scene_uid(52)), 0);
        cr_assert_eq(scn_document_find_uid(document, scene_uid(53)), 0);
        tear_down(&stage);
}

/* Between what is left of its siblings, by whatever it is named; ids are new. */
SCN_TEST(restore, of_a_subtree_that_is_gone_brings_it_back_to_its_place)
{
        static const struct scn_node_ref refs[] = {
                {.kind = SCN_REF_PATH, .path = {(const uint8_t *)"/two", 4}},
                {.kind = SCN_REF_ID, .id = 4},
                {.kind = SCN_REF_UID, .uid = {{[15] = 61}}},
        };
        struct stage stage;
        struct scn_message message;
        uint8_t bytes[ASKING_AT_BYTES];
        set_up(&stage);
        (void)asking_edit(&stage.ann, scene_add(1, 60, "one"));
        (void)asking_edit(&stage.ann, scene_add(1, 61, "two"));
        (void)asking_edit(&stage.ann, scene_add(4, 62, "in two"));
        (void)asking_edit(&stage.ann, scene_add(1, 63, "three"));
        const struct scn_document *document = stage.hub.server->rooms->document;
        cr_assert_eq(scn_document_find_uid(document, scene_uid(61)), 4);
        const struct scn_uid uid = scene_uid(61);
        (void)asking_edit(&stage.ann, scene_remove(3));
        for (size_t i = 0; i < sizeof refs / sizeof refs[0]; i++) {
                (void)asking_edit(&stage.bob, scene_remove(scn_document_find_uid(document, uid)));
                scn_message_init(&message, SCN_MESSAGE_restore);
                message.as.restore.number = ++stage.ann.number;
                message.as.restore.at = asking_at(bytes, "6");
                message.as.restore.node = refs[i];
                message.as.restore.node.uid = refs[i].kind == SCN_REF_UID ? uid : refs[i].uid;
                peer_send(&stage.ann, &message);
                (void)await(&stage.ann);
                const struct scn_node_view two = scn_document_node(document, scn_document_find_uid(document, uid));
                cr_assert_eq(two.parent, 1);
                cr_assert_eq(two.previous, scn_document_find_uid(document, scene_uid(50)), "the one before is gone");
                cr_assert_eq(two.next, scn_document_find_uid(document, scene_uid(63)));
                const scn_node_id in_two = scn_document_find_uid(document, scene_uid(62));
                cr_assert_eq(scn_document_node(document, in_two).parent, two.id);
        }
        tear_down(&stage);
}

SCN_TEST(restore, of_a_subtree_whose_parent_is_gone_is_refused_and_names_the_parent)
{
        struct stage stage;
        set_up(&stage);
        (void)asking_edit(&stage.ann, scene_add(2, 60, "mast"));
        (void)asking_edit(&stage.ann, scene_add(3, 61, "lamp"));
        (void)asking_edit(&stage.ann, scene_remove(3));
        send(&stage.ann, ++stage.ann.number, "4", 4);
        const struct scn_message message = peer_expect(&stage.ann, SCN_MESSAGE_refused);
        char uid[SCN_UID_TEXT_LENGTH + 1];
        char wanted[100];
        scn_uid_format(scene_uid(60), uid);
        (void)snprintf(wanted, sizeof wanted, "parent %s: %s", uid, scn_error_text(SCN_E_GONE));
        cr_assert(scene_is_text(message.as.refused.code, "gone"));
        cr_assert(scene_is_text(message.as.refused.text, wanted), "%.*s", (int)message.as.refused.text.size,
                (const char *)message.as.refused.text.data);
        send(&stage.ann, ++stage.ann.number, "4", 3);
        (void)await(&stage.ann);
        const struct scn_document *document = stage.hub.server->rooms->document;
        cr_assert_neq(scn_document_find_uid(document, scene_uid(61)), 0);
        tear_down(&stage);
}

SCN_TEST(restore, that_writes_what_somebody_else_has_locked_is_refused)
{
        struct stage stage;
        struct scn_message message;
        set_up(&stage);
        scn_message_init(&message, SCN_MESSAGE_lock);
        message.as.lock.request = 4;
        message.as.lock.nodes = (struct scn_slice){(const uint8_t *)"\x91\x02", 2};
        peer_send(&stage.bob, &message);
        (void)peer_expect(&stage.bob, SCN_MESSAGE_answer);
        send(&stage.ann, ++stage.ann.number, "1", 0);
        peer_expect_code(&stage.ann, SCN_MESSAGE_refused, "locked");
        cr_assert(is_named(&stage, "ship"));
        send(&stage.bob, ++stage.bob.number, "1", 0);
        cr_assert_eq(await(&stage.bob), 3);
        tear_down(&stage);
}

/* --- Among others --- */

/* Runs the oldest job but for its end, and gives it. */
static struct scn_job *run_first(struct hub *hub)
{
        cr_assert_gt(hub->jobs_count, 0);
        struct scn_job *job = hub->jobs[0];
        hub->jobs_count--;
        memmove(&hub->jobs[0], &hub->jobs[1], hub->jobs_count * sizeof hub->jobs[0]);
        job->run(job);
        return job;
}

static void edit_meanwhile(struct stage *stage, const char *name)
{
        const struct scn_op op = scene_rename(2, name);
        peer_edit(&stage->bob, &op, 1);
        scn_server_turn(stage->hub.server);
}

SCN_TEST(restore, is_prepared_again_when_somebody_was_quicker_and_the_third_time_they_wait)
{
        struct stage stage;
        static const char *const meanwhile[] = {"x", "y", "z"};
        set_up(&stage);
        send(&stage.ann, ++stage.ann.number, "1", 0);
        scn_server_turn(stage.hub.server);
        for (size_t i = 0; i < 3; i++) {
                cr_assert_eq(stage.hub.jobs_count, 1);
                struct scn_job *prepared = run_first(&stage.hub);
                edit_meanwhile(&stage, meanwhile[i]);
                cr_assert_eq(stage.hub.jobs_count, i < 2 ? 1 : 0, "round %zu", i);
                if (i < 2) {
                        struct scn_job *batch = run_first(&stage.hub);
                        batch->done(batch);
                }
                prepared->done(prepared);
                scn_server_turn(stage.hub.server);
        }
        cr_assert_eq(await(&stage.ann), 5);
        cr_assert_eq(await(&stage.bob), 3);
        cr_assert_eq(await(&stage.bob), 4);
        cr_assert_geq(await(&stage.bob), 5);
        cr_assert(is_named(&stage, "z"));
        tear_down(&stage);
}

SCN_TEST(restore, whose_author_goes_meanwhile_leaves_nothing_waiting)
{
        struct stage stage;
        set_up(&stage);
        send(&stage.ann, ++stage.ann.number, "1", 0);
        scn_server_turn(stage.hub.server);
        struct scn_job *prepared = run_first(&stage.hub);
        peer_close(&stage.ann);
        prepared->done(prepared);
        cr_assert_eq(asking_edit(&stage.bob, scene_rename(2, "raft")), 3);
        peer_close(&stage.bob);
        hub_finish(&stage.hub);
}
