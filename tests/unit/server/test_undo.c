/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Undo through the server's core: one behaviour at a time. Of redo, and of what was redone: test_redo.c; at random:
 * tests/property/test_undo.c. */

#include "protocol/base/alloc.h"
#include "server/author.h"
#include "server/core.h"
#include "tests/lib/asking.h"
#include "tests/lib/scene.h"
#include "tests/lib/steps.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

SCN_TEST(undo, takes_back_ones_own_and_nobody_elses)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        struct peer robot;
        steps_begin(&hub, &ann, &ben);
        peer_open(&robot, &hub, 3, "robot", "test");
        (void)asking_edit(&ann, scene_translate(2, 1, 0, 0));
        (void)asking_edit(&ben, scene_translate(3, 2, 0, 0));
        (void)asking_edit(&robot, scene_rename(2, "renamed"));
        steps_undo(&ann, (struct peer_wish){0}, "steps 3 applied 1");
        cr_assert_eq(steps_x(&hub, "/renamed"), 0.0f);
        cr_assert_eq(steps_x(&hub, "/M"), 2.0f);
        steps_undo(&ben, (struct peer_wish){0}, "steps 4 applied 1");
        cr_assert_eq(steps_x(&hub, "/M"), 0.0f);
        /* Ann's node has a name that is not hers: it stays. */
        peer_undo(&ann, (struct peer_wish){0});
        peer_expect_code(&ann, SCN_MESSAGE_refused, "superseded");
        steps_expect_nothing(&ann);
        peer_close(&robot);
        steps_end(&hub, &ann, &ben);
}

SCN_TEST(undo, skips_a_field_that_somebody_has_written_since_and_names_who)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        steps_begin(&hub, &ann, &ben);
        struct scn_op both = scene_translate(2, 1, 0, 0);
        both.fields |= SCN_FIELDS_SCALE;
        both.trs.s[0] = both.trs.s[1] = both.trs.s[2] = 2.0f;
        (void)asking_edit(&ann, both);
        (void)asking_edit(&ben, scene_translate(2, 7, 0, 0));
        steps_undo(&ann, (struct peer_wish){0}, "steps 3 applied 1 skipped translation:superseded:ben@4");
        cr_assert_eq(steps_x(&hub, "/N"), 7.0f);
        cr_assert_eq(scn_document_node(steps_document(&hub), 2).trs.s[0], 1.0f);
        /* Ben takes his back: what was there is Ann's, and hers again to take back. */
        steps_undo(&ben, (struct peer_wish){0}, "steps 4 applied 1");
        cr_assert_eq(steps_x(&hub, "/N"), 1.0f);
        steps_undo(&ann, (struct peer_wish){.step = 3}, "steps 3 applied 1 skipped scale:superseded:ann@5");
        cr_assert_eq(steps_x(&hub, "/N"), 0.0f);
        steps_end(&hub, &ann, &ben);
}

SCN_TEST(undo, names_a_field_once_that_a_gesture_has_written_often)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        steps_begin(&hub, &ann, &ben);
        for (uint32_t i = 1; i <= 5; i++) {
                (void)steps_edit_in(&ann, 9, scene_translate(2, (float)i, 0, 0)); /* 3 .. 7 */
        }
        (void)asking_edit(&ben, scene_translate(2, 7, 0, 0));
        steps_undo(&ann, (struct peer_wish){0}, "steps 3 applied 0 skipped translation:superseded:ben@8");
        steps_end(&hub, &ann, &ben);
}

/* The undo itself has put Ben's name back, which then keeps the node from going. */
SCN_TEST(undo, that_is_refused_for_what_it_has_put_back_itself_names_whose_that_is)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        steps_begin(&hub, &ann, &ben);
        (void)steps_edit_in(&ann, 5, scene_add(1, 21, "A"));                 /* 3 */
        (void)asking_edit(&ben, scene_rename(steps_id(&hub, 21), "B"));      /* 4 */
        (void)steps_edit_in(&ann, 5, scene_rename(steps_id(&hub, 21), "C")); /* 5 */
        peer_undo(&ann, (struct peer_wish){0});
        const struct scn_message refused = peer_expect(&ann, SCN_MESSAGE_refused);
        cr_assert(scn_slice_equal(refused.as.refused.code, scene_text("superseded")));
        struct scn_unpacker detail = scn_unpacker_from(refused.as.refused.detail);
        uint64_t revision = 0;
        for (uint32_t left = scn_unpack_map(&detail); left > 0; left--) {
                if (scn_slice_equal(scn_unpack_text(&detail, 16), scene_text("rev"))) {
                        revision = scn_unpack_uint(&detail, SCN_REVISION_MAX);
                } else {
                        (void)scn_unpack_raw(&detail);
                }
        }
        cr_assert_eq(revision, 4);
        steps_end(&hub, &ann, &ben);
}

SCN_TEST(undo, of_a_drag_is_one_step_and_restores_the_bits)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        steps_begin(&hub, &ann, &ben);
        (void)asking_edit(&ann, scene_translate(2, 0.1f, 0, 0));
        const float start = steps_x(&hub, "/N");
        for (int i = 0; i < 300; i++) {
                (void)steps_edit_in(&ann, 5, scene_translate(2, (float)(i % 7) + 0.5f, 0, 0));
        }
        /* What changes nothing is no step, and closes nothing. */
        const scn_revision before = scn_document_revision(steps_document(&hub));
        peer_edit(&ann, NULL, 0);
        cr_assert(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.unchanged);
        steps_send(&ann, SCN_ABSENT, scene_translate(2, steps_x(&hub, "/N"), 0, 0));
        cr_assert(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.unchanged);
        cr_assert_eq(scn_document_revision(steps_document(&hub)), before);
        steps_undo(&ann, (struct peer_wish){0}, "steps 4 applied 300");
        cr_assert_eq(steps_x(&hub, "/N"), start);
        steps_redo(&ann, 1, "steps 4 applied 300");
        cr_assert_eq(steps_x(&hub, "/N"), (float)(299 % 7) + 0.5f);
        steps_end(&hub, &ann, &ben);
}

/* The node was restored by the same undo, and goes again with it. */
SCN_TEST(undo, refused_for_what_others_wrote_to_a_node_that_it_has_brought_back_names_it)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        steps_begin(&hub, &ann, &ben);
        (void)steps_edit_in(&ann, 5, scene_add(1, 77, "more"));
        (void)asking_edit(&ben, scene_set(4, "colour", scene_integer(3)));
        (void)steps_edit_in(&ann, 5, scene_remove(4));
        peer_undo(&ann, (struct peer_wish){0});
        const struct scn_message message = peer_expect(&ann, SCN_MESSAGE_refused);
        const struct scn_slice text = message.as.refused.text;
        static const char wanted[] = "property colour: others have written it since";
        cr_assert(text.size >= sizeof wanted - 1 && memcmp(text.data, wanted, sizeof wanted - 1) == 0, "%.*s",
                (int)text.size, (const char *)text.data);
        steps_end(&hub, &ann, &ben);
}

SCN_TEST(undo, sees_a_new_step_where_the_group_changes_or_was_closed)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        steps_begin(&hub, &ann, &ben);
        (void)steps_edit_in(&ann, 5, scene_translate(2, 1, 0, 0)); /* 3 */
        (void)steps_edit_in(&ann, 6, scene_translate(2, 2, 0, 0)); /* 4 */
        (void)steps_edit_in(&ben, 6, scene_translate(3, 2, 0, 0)); /* 5: another client's */
        (void)steps_edit_in(&ann, 6, scene_translate(2, 3, 0, 0)); /* 6, with 4 */
        (void)asking_edit(&ann, scene_rename(2, "P"));             /* 7 */
        (void)steps_edit_in(&ann, 6, scene_translate(2, 4, 0, 0)); /* 8: that one was closed */
        steps_undo(&ann, (struct peer_wish){0}, "steps 8 applied 1");
        (void)steps_edit_in(&ann, 6, scene_translate(2, 5, 0, 0)); /* 10: so was that */
        steps_undo(&ann, (struct peer_wish){.count = 3}, "steps 10 7 4 applied 4");
        cr_assert_eq(steps_x(&hub, "/N"), 1.0f);
        /* The end of the session closes it, too. */
        (void)steps_edit_in(&ann, 9, scene_translate(2, 8, 0, 0)); /* 12 */
        peer_close(&ann);
        peer_open(&ann, &hub, 1, "ann", "test");
        (void)steps_edit_in(&ann, 9, scene_translate(2, 9, 0, 0)); /* 13 */
        steps_undo(&ann, (struct peer_wish){.count = 2}, "steps 13 12 applied 2");
        steps_end(&hub, &ann, &ben);
}

SCN_TEST(undo, of_a_removal_brings_back_the_same_nodes_at_the_same_place)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        steps_begin(&hub, &ann, &ben);
        (void)asking_edit(&ann, scene_add(1, 21, "P"));
        (void)asking_edit(&ann, scene_add(steps_id(&hub, 21), 22, "C"));
        (void)asking_edit(&ann, scene_add(steps_id(&hub, 21), 23, "D"));
        (void)asking_edit(&ann, scene_add(steps_id(&hub, 22), 24, "G"));
        (void)asking_edit(&ann, scene_add(1, 25, "last"));
        (void)asking_edit(&ben, scene_set(steps_id(&hub, 24), "k", scene_integer(7)));
        const struct scn_digests before = scn_document_digests(steps_document(&hub));
        const scn_node_id former = steps_id(&hub, 21);
        (void)asking_edit(&ann, scene_remove(former));
        cr_assert_eq(steps_id(&hub, 24), 0);
        steps_undo(&ann, (struct peer_wish){0}, "steps 9 applied 4");
        const struct scn_digests after = scn_document_digests(steps_document(&hub));
        cr_assert_eq(memcmp(&before, &after, sizeof before), 0);
        cr_assert_neq(steps_id(&hub, 21), former, "an id belongs to one life");
        steps_end(&hub, &ann, &ben);
}

SCN_TEST(undo, of_a_removal_is_refused_when_the_parent_is_gone_and_uses_the_step_up)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        steps_begin(&hub, &ann, &ben);
        (void)asking_edit(&ann, scene_add(3, 21, "under M"));
        (void)asking_edit(&ann, scene_remove(steps_id(&hub, 21)));
        (void)asking_edit(&ben, scene_remove(3));
        peer_undo(&ann, (struct peer_wish){0});
        peer_expect_code(&ann, SCN_MESSAGE_refused, "gone");
        steps_undo(&ben, (struct peer_wish){0}, "steps 5 applied 1");
        /* By its name it can be had again. */
        steps_undo(&ann, (struct peer_wish){.step = 4}, "steps 4 applied 1");
        cr_assert_neq(steps_id(&hub, 21), 0);
        steps_end(&hub, &ann, &ben);
}

SCN_TEST(undo, leaves_a_transform_alone_under_another_parent_and_a_move_where_others_have_moved_on)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        steps_begin(&hub, &ann, &ben);
        (void)asking_edit(&ann, scene_translate(2, 5, 0, 0)); /* 3 */
        (void)asking_edit(&ben, scene_move(2, 3));            /* 4 */
        steps_undo(&ann, (struct peer_wish){0}, "steps 3 applied 0 skipped place:stale_parent:ben@4");
        (void)asking_edit(&ann, scene_move(2, 1));            /* 5 */
        (void)asking_edit(&ben, scene_translate(2, 6, 0, 0)); /* 6 */
        steps_undo(&ann, (struct peer_wish){0}, "steps 5 applied 0 skipped translation:superseded:ben@6");
        cr_assert_eq(steps_x(&hub, "/N"), 6.0f);
        steps_end(&hub, &ann, &ben);
}

/* The transform goes back first, and then counts as another's again, as it did before the step. */
SCN_TEST(undo, of_a_step_that_moved_and_transformed_what_others_had_placed_takes_back_both)
{
        struct hub hub;
        struct peer ann, ben;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "test");
        peer_open(&ben, &hub, 2, "ben", "test");
        (void)asking_edit(&ann, scene_add(1, 50, "boat"));
        (void)asking_edit(&ann, scene_add(1, 51, "oar"));
        (void)asking_edit(&ben, scene_translate(3, 1, 1, 1));
        const struct scn_digests before = scn_document_digests(steps_document(&hub));
        (void)steps_edit_in(&ann, 5, scene_move(3, 2));
        (void)steps_edit_in(&ann, 5, scene_translate(3, 2, 2, 2));
        peer_undo(&ann, (struct peer_wish){.count = 1});
        const struct scn_message answer = peer_expect(&ann, SCN_MESSAGE_applied);
        cr_assert_str_eq(steps_summary(&answer), "steps 4 applied 2");
        const struct scn_digests after = scn_document_digests(steps_document(&hub));
        cr_assert_eq(memcmp(&before, &after, sizeof after), 0);
        peer_close(&ann);
        peer_close(&ben);
        hub_finish(&hub);
}

SCN_TEST(undo, of_several_steps_is_one_revision_and_stops_before_one_that_is_refused)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        steps_begin(&hub, &ann, &ben);
        (void)asking_edit(&ben, scene_rename(2, "Ben's")); /* 3: so step 1 cannot be taken back */
        (void)asking_edit(&ann, scene_translate(2, 1, 0, 0));
        (void)asking_edit(&ann, scene_translate(2, 2, 0, 0));
        const scn_revision before = scn_document_revision(steps_document(&hub));
        steps_undo(&ann, (struct peer_wish){.count = 9}, "steps 5 4 applied 2");
        cr_assert_eq(scn_document_revision(steps_document(&hub)), before + 1);
        peer_undo(&ann, (struct peer_wish){0});
        peer_expect_code(&ann, SCN_MESSAGE_refused, "superseded");
        steps_redo(&ann, 1, "steps 4 applied 1");
        cr_assert_eq(steps_x(&hub, "/Ben's"), 1.0f);
        steps_redo(&ann, 9, "steps 5 applied 1");
        cr_assert_eq(steps_x(&hub, "/Ben's"), 2.0f);
        steps_end(&hub, &ann, &ben);
}

SCN_TEST(undo, can_only_say_what_it_would_do)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        steps_begin(&hub, &ann, &ben);
        (void)asking_edit(&ann, scene_translate(2, 1, 0, 0));
        const struct scn_digests before = scn_document_digests(steps_document(&hub));
        peer_undo(&ann, (struct peer_wish){.is_dry = true});
        struct scn_message message = peer_expect(&ann, SCN_MESSAGE_applied);
        cr_assert(message.as.applied.unchanged);
        cr_assert_eq(message.as.applied.rev, 3);
        cr_assert_str_eq(steps_summary(&message), "steps 3 applied 1");
        const struct scn_digests after = scn_document_digests(steps_document(&hub));
        cr_assert_eq(memcmp(&before, &after, sizeof before), 0);
        cr_assert_eq(scn_document_revision(steps_document(&hub)), 3);
        steps_undo(&ann, (struct peer_wish){0}, "steps 3 applied 1");
        steps_end(&hub, &ann, &ben);
}

SCN_TEST(undo, belongs_to_the_author_whatever_the_session_and_survives_a_restart)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        struct peer other;
        steps_begin(&hub, &ann, &ben);
        (void)asking_edit(&ann, scene_translate(2, 1, 0, 0)); /* 3 */
        peer_open(&other, &hub, 9, "ann", "test");
        (void)asking_edit(&other, scene_translate(2, 2, 0, 0)); /* 4 */
        steps_undo(&ann, (struct peer_wish){0}, "steps 4 applied 1");
        peer_close(&ann);
        peer_close(&ben);
        peer_close(&other);
        hub_stop(&hub);
        hub_restart(&hub);
        peer_open(&other, &hub, 10, "ann", "test");
        steps_redo(&other, 1, "steps 4 applied 1");
        cr_assert_eq(steps_x(&hub, "/N"), 2.0f);
        steps_undo(&other, (struct peer_wish){.count = 2}, "steps 4 3 applied 2");
        cr_assert_eq(steps_x(&hub, "/N"), 0.0f);
        peer_close(&other);
        hub_finish(&hub);
}

SCN_TEST(undo, sent_again_gets_its_first_answer_and_is_done_once)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        steps_begin(&hub, &ann, &ben);
        (void)asking_edit(&ann, scene_translate(2, 1, 0, 0));
        (void)asking_edit(&ann, scene_translate(2, 2, 0, 0));
        steps_undo(&ann, (struct peer_wish){0}, "steps 4 applied 1");
        peer_close(&ann);
        peer_open(&ann, &hub, 1, "ann", "test");
        ann.number--;
        steps_undo(&ann, (struct peer_wish){0}, "steps 4 applied 1");
        cr_assert_eq(scn_document_revision(steps_document(&hub)), 5);
        cr_assert_eq(steps_x(&hub, "/N"), 1.0f);
        /* Another one under the same number. */
        ann.number--;
        peer_undo(&ann, (struct peer_wish){.count = 2});
        peer_expect_code(&ann, SCN_MESSAGE_refused, "number_reused");
        steps_end(&hub, &ann, &ben);
}

SCN_TEST(undo, waits_for_what_the_connection_has_sent_before_it)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        steps_begin(&hub, &ann, &ben);
        steps_send(&ann, SCN_ABSENT, scene_translate(2, 1, 0, 0));
        peer_undo(&ann, (struct peer_wish){0});
        steps_send(&ann, SCN_ABSENT, scene_translate(2, 3, 0, 0));
        peer_undo(&ann, (struct peer_wish){0});
        peer_undo(&ann, (struct peer_wish){0});
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        steps_expect(&ann, "steps 3 applied 1");
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        steps_expect(&ann, "steps 5 applied 1");
        steps_expect(&ann, "steps 1 applied 1");
        steps_end(&hub, &ann, &ben);
}

/* Two sessions of one author at once: each takes its own step back, none twice. */
SCN_TEST(undo, by_two_sessions_of_one_author_takes_two_steps)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        struct peer other;
        steps_begin(&hub, &ann, &ben);
        peer_open(&other, &hub, 9, "ann", "test");
        (void)asking_edit(&ann, scene_translate(2, 1, 0, 0));
        (void)asking_edit(&ann, scene_translate(2, 2, 0, 0));
        peer_undo(&ann, (struct peer_wish){0});
        peer_undo(&other, (struct peer_wish){0});
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        (void)peer_expect(&other, SCN_MESSAGE_applied);
        cr_assert_eq(steps_x(&hub, "/N"), 0.0f);
        steps_redo(&other, 2, "steps 3 4 applied 2");
        peer_close(&other);
        steps_end(&hub, &ann, &ben);
}

/* The past is read while a batch is in flight whose edits are to be noted without fail. */
SCN_TEST(undo, leaves_a_batch_in_flight_the_room_to_note_its_edits_when_the_past_comes)
{
        struct scn_authors list = {0};
        struct scn_author *ann = scn_author_get(&list, scene_text("ann"), 0);
        struct scn_author *before = scn_author_get(&list, scene_text("ann as she was"), 0);
        cr_assert(scn_author_reserve(before, 100));
        for (scn_revision i = 1; i <= 100; i++) {
                scn_author_note_edit(before, i, i);
        }
        cr_assert(scn_author_reserve(ann, 50));
        cr_assert(scn_author_set_past(ann, &before->steps));
        for (scn_revision i = 101; i <= 150; i++) {
                scn_author_note_edit(ann, i, i);
        }
        cr_assert_eq(ann->steps.all_count, 150);
        cr_assert_eq(ann->steps.undo[149], 150);
        scn_authors_destroy(&list);
}

SCN_TEST(undo, has_nothing_to_take_back_for_an_author_who_has_only_watched)
{
        struct hub hub;
        struct peer ann;
        struct peer cy;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "test");
        (void)asking_edit(&ann, scene_add(1, 20, "N"));
        peer_close(&ann);
        hub_stop(&hub);
        hub_restart(&hub);
        peer_open(&cy, &hub, 3, "cy", "test");
        steps_expect_nothing(&cy);
        peer_close(&cy);
        hub_finish(&hub);
}

SCN_TEST(undo, has_its_number_counted_when_there_is_nothing)
{
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "test");
        steps_expect_nothing(&ann);
        steps_expect_nothing(&ann);
        cr_assert_eq(asking_edit(&ann, scene_add(1, 20, "N")), 1);
        peer_undo(&ann, (struct peer_wish){.step = 77});
        peer_expect_code(&ann, SCN_MESSAGE_refused, "nothing_to_undo");
        steps_undo(&ann, (struct peer_wish){0}, "steps 1 applied 1");
        peer_close(&ann);
        hub_finish(&hub);
}

SCN_TEST(undo, keeps_the_last_10000_steps)
{
        struct scn_authors list = {0};
        struct scn_author *ann = scn_author_get(&list, scene_text("ann"), 0);
        for (scn_revision i = 1; i <= SCN_UNDO_STEPS_MAX + SCN_UNDO_STEPS_MAX / 4; i++) {
                cr_assert(scn_author_reserve(ann, 1));
                scn_author_note_edit(ann, i, i);
        }
        cr_assert_eq(ann->steps.undo_count, SCN_UNDO_STEPS_MAX + SCN_UNDO_STEPS_MAX / 4);
        cr_assert(scn_author_reserve(ann, 1));
        scn_author_note_edit(ann, 20000, 20000);
        cr_assert_eq(ann->steps.undo_count, SCN_UNDO_STEPS_MAX);
        cr_assert_eq(ann->steps.undo[0], SCN_UNDO_STEPS_MAX / 4 + 2);
        scn_authors_destroy(&list);
}

/* The room forgets who has been gone for long; the journal does not. */
SCN_TEST(undo, takes_back_what_was_done_before_many_others_came_and_went)
{
        enum {
                OTHERS = SCN_AUTHORS_IDLE_MAX + 3
        };
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "test");
        cr_assert_eq(asking_edit(&ann, scene_add(1, 50, "boat")), 1);
        cr_assert_eq(asking_edit(&ann, scene_rename(2, "ship")), 2);
        steps_undo(&ann, (struct peer_wish){0}, "steps 2 applied 1");
        peer_close(&ann);
        for (uint32_t i = 0; i < OTHERS; i++) {
                struct peer other;
                char name[16];
                (void)snprintf(name, sizeof name, "other %u", i);
                peer_open(&other, &hub, 2 + i, name, "test");
                (void)asking_edit(&other, scene_add(1, 100 + i, name));
                cr_assert_leq(hub.server->rooms->authors.idle_count, SCN_AUTHORS_IDLE_MAX);
                peer_close(&other);
        }
        size_t known = 0;
        for (const struct scn_author *at = hub.server->rooms->authors.first; at != NULL; at = at->next) {
                known++;
                cr_assert_neq(at->name.size, 3, "ann is forgotten");
        }
        cr_assert_eq(known, SCN_AUTHORS_IDLE_MAX + 1);
        peer_open(&ann, &hub, 1, "ann", "test");
        cr_assert_eq(asking_edit(&ann, scene_translate(2, 1, 0, 0)), 3 + OTHERS + 1);
        cr_assert_eq(hub.server->rooms->authors.idle_count, SCN_AUTHORS_IDLE_MAX);
        steps_undo(&ann, (struct peer_wish){.count = 2}, "steps 71 1 applied 2");
        cr_assert_eq(steps_id(&hub, 50), 0);
        steps_redo(&ann, 2, "steps 1 71 applied 2");
        cr_assert_eq(steps_x(&hub, "/boat"), 1);
        peer_close(&ann);
        hub_finish(&hub);
}

/* --- Without memory --- */

/* One turn in which the nth allocation fails; then there is memory again. Who was cut off comes back. */
static void turn_without(struct hub *hub, struct peer *peer, uint64_t nth)
{
        scn_batch_drop_spare(hub->server->rooms); /* else a turn allocates next to nothing */
        scn_alloc_fail_at(nth, false);
        scn_server_turn(hub->server);
        scn_alloc_fail_at(0, false);
        hub_run(hub);
        if (peer_has_ended(peer)) {
                peer_close(peer);
                peer_open(peer, hub, 1, "ann", "test");
        }
}

/* Whether the last edit was taken; it was answered, or the connection ended. */
static bool was_taken(struct peer *peer)
{
        struct scn_message message;
        bool was = false;
        while (peer_receive(peer, &message)) {
                was = was || message.kind == SCN_MESSAGE_applied;
        }
        return was;
}

/* The step would bear the name of a revision that somebody else has made. */
SCN_TEST(undo, an_edit_that_memory_did_not_suffice_for_begins_no_gesture)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        uint32_t lost_count = 0;
        char summary[64];
        steps_begin(&hub, &ann, &ben);
        for (uint64_t nth = 1; nth <= 40; nth++) {
                steps_send(&ann, nth, scene_translate(2, (float)nth, 0, 0));
                turn_without(&hub, &ann, nth);
                const bool is_there = was_taken(&ann);
                lost_count += !is_there;
                (void)asking_edit(&ben, scene_translate(3, (float)nth, 0, 0));
                const scn_revision revision = steps_edit_in(&ann, nth, scene_translate(2, (float)nth, 1, 0));
                if (!is_there) {
                        (void)snprintf(summary, sizeof summary, "steps %llu applied 1", (unsigned long long)revision);
                        steps_undo(&ann, (struct peer_wish){0}, summary);
                }
        }
        cr_assert_gt(lost_count, 5, "lost %u", lost_count);
        steps_end(&hub, &ann, &ben);
}

SCN_TEST(undo, that_memory_did_not_suffice_for_can_be_asked_for_again)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        uint32_t lost_count = 0;
        steps_begin(&hub, &ann, &ben);
        (void)asking_edit(&ann, scene_translate(2, 1, 0, 0));
        steps_undo(&ann, (struct peer_wish){0}, "steps 3 applied 1");
        steps_redo(&ann, 1, "steps 3 applied 1");
        for (uint64_t nth = 1; nth <= 40; nth++) {
                peer_undo(&ann, (struct peer_wish){0});
                scn_server_turn(hub.server);
                cr_assert_eq(hub.jobs_count, 1);
                hub.jobs[0]->run(hub.jobs[0]);
                hub.jobs[0]->done(hub.jobs[--hub.jobs_count]);
                turn_without(&hub, &ann, nth);
                if (!was_taken(&ann)) {
                        lost_count++;
                        steps_undo(&ann, (struct peer_wish){0}, "steps 3 applied 1");
                }
                steps_redo(&ann, 1, "steps 3 applied 1");
        }
        cr_assert_gt(lost_count, 5, "lost %u", lost_count);
        steps_end(&hub, &ann, &ben);
}
