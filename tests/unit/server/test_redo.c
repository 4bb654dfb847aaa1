/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Redo, and undo of what was redone, through the server's core: one behaviour at a time. */

#include "server/author.h"
#include "server/core.h"
#include "tests/lib/asking.h"
#include "tests/lib/scene.h"
#include "tests/lib/steps.h"
#include "tests/lib/test.h"

#include <string.h>

SCN_TEST(redo, brings_back_all_that_a_step_did_to_a_field_or_nothing)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        steps_begin(&hub, &ann, &ben);
        (void)steps_edit_in(&ann, 5, scene_translate(2, 1, 0, 0));
        (void)asking_edit(&ben, scene_translate(2, 7, 0, 0));
        (void)steps_edit_in(&ann, 5, scene_translate(2, 3, 0, 0));
        (void)steps_edit_in(&ann, 5, scene_translate(2, 4, 0, 0));
        steps_undo(&ann, (struct peer_wish){0}, "steps 3 applied 2 skipped translation:superseded:ben@4");
        /* What Ben's hid is Ann's, so it is as her last edit found it, but not as her undo left it. */
        steps_undo(&ben, (struct peer_wish){0}, "steps 4 applied 1");
        cr_assert_eq(steps_x(&hub, "/N"), 1.0f);
        peer_redo(&ann, 1);
        const struct scn_message message = peer_expect(&ann, SCN_MESSAGE_applied);
        cr_assert(message.as.applied.unchanged);
        cr_assert_str_eq(steps_summary(&message), "steps 3 applied 0 skipped translation:superseded:ben@8");
        cr_assert_eq(steps_x(&hub, "/N"), 1.0f);
        steps_end(&hub, &ann, &ben);
}

SCN_TEST(redo, of_a_field_is_whole_or_nothing_also_where_a_node_was_added_or_removed_in_between)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        steps_begin(&hub, &ann, &ben);
        (void)steps_edit_in(&ann, 5, scene_translate(2, 1, 0, 0));
        (void)asking_edit(&ben, scene_translate(2, 7, 0, 0));
        (void)steps_edit_in(&ann, 5, scene_translate(2, 3, 0, 0));
        (void)steps_edit_in(&ann, 5, scene_add(1, 77, "more"));
        (void)steps_edit_in(&ann, 5, scene_translate(2, 4, 0, 0));
        (void)steps_edit_in(&ann, 5, scene_remove(4));
        (void)steps_edit_in(&ann, 5, scene_translate(2, 5, 0, 0));
        steps_undo(&ann, (struct peer_wish){0}, "steps 3 applied 5 skipped translation:superseded:ben@4");
        steps_undo(&ben, (struct peer_wish){0}, "steps 4 applied 1");
        peer_redo(&ann, 1);
        const struct scn_message message = peer_expect(&ann, SCN_MESSAGE_applied);
        cr_assert_str_eq(steps_summary(&message), "steps 3 applied 2 skipped translation:superseded:ben@11");
        cr_assert_eq(steps_x(&hub, "/N"), 1.0f);
        steps_end(&hub, &ann, &ben);
}

static void set_three(struct peer *peer, uint8_t value, const char *name)
{
        (void)steps_edit_in(peer, 5, scene_translate(2, (float)value, 0, 0));
        (void)steps_edit_in(peer, 5, scene_rename(2, name));
        (void)steps_edit_in(peer, 5, scene_set(2, "k", scene_integer(value)));
}

SCN_TEST(redo, puts_the_writer_back_where_a_field_has_the_value_already)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        steps_begin(&hub, &ann, &ben);
        set_three(&ben, 3, "b");
        set_three(&ann, 5, "a");
        steps_undo(&ann, (struct peer_wish){0}, "steps 6 applied 3");
        /* Of the same step as what the undo left. */
        set_three(&ben, 5, "a");
        steps_redo(&ann, 1, "steps 6 applied 3");
        steps_undo(&ann, (struct peer_wish){0}, "steps 6 applied 3");
        cr_assert_eq(steps_x(&hub, "/a"), 5.0f);
        steps_undo(&ben, (struct peer_wish){0}, "steps 3 applied 6");
        cr_assert_eq(steps_x(&hub, "/N"), 0.0f);
        steps_end(&hub, &ann, &ben);
}

/* A digest says nothing of writers: by what can be taken back on top of it they are seen. */
static void expect_digests(struct hub *hub, const struct scn_digests *wanted)
{
        const struct scn_digests digests = scn_document_digests(steps_document(hub));
        cr_assert_eq(memcmp(wanted, &digests, sizeof digests), 0);
}

static void come_back(struct hub *hub, struct peer *ann, struct peer *ben)
{
        peer_close(ann);
        peer_close(ben);
        hub_stop(hub);
        hub_restart(hub);
        peer_open(ann, hub, 1, "ann", "test");
        peer_open(ben, hub, 2, "ben", "test");
}

SCN_TEST(undo, of_a_removal_that_was_redone_restores_what_was_removed_last)
{
        for (int restarts = 0; restarts < 2; restarts++) {
                struct hub hub;
                struct peer ann;
                struct peer ben;
                steps_begin(&hub, &ann, &ben);
                (void)asking_edit(&ben, scene_rename(2, "b")); /* 3 */
                (void)asking_edit(&ann, scene_remove(2));      /* 4 */
                steps_undo(&ann, (struct peer_wish){0}, "steps 4 applied 1");
                /* The name is Ann's again. */
                steps_undo(&ben, (struct peer_wish){0}, "steps 3 applied 1");
                const struct scn_digests before = scn_document_digests(steps_document(&hub));
                steps_redo(&ann, 1, "steps 4 applied 1");
                if (restarts > 0) {
                        come_back(&hub, &ann, &ben);
                }
                steps_undo(&ann, (struct peer_wish){0}, "steps 4 applied 1");
                expect_digests(&hub, &before);
                steps_redo(&ben, 1, "steps 3 applied 1");
                cr_assert_eq(steps_x(&hub, "/b"), 0.0f);
                steps_end(&hub, &ann, &ben);
        }
}

SCN_TEST(undo, of_a_removal_that_was_redone_restores_what_stood_elsewhere_by_then)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        steps_begin(&hub, &ann, &ben);
        (void)asking_edit(&ann, scene_add(1, 21, "child")); /* 3 */
        const scn_node_id child = steps_id(&hub, 21);
        struct scn_op all = scene_translate(child, 1, 2, 3);
        all.fields = SCN_FIELDS_TRS;
        all.trs.s[0] = all.trs.s[1] = all.trs.s[2] = 2.0f;
        all.trs.r[0] = 1.0f;
        all.trs.r[3] = 0.0f;
        (void)steps_edit_in(&ben, 5, scene_move(child, 2)); /* 4: under Ann's N */
        (void)steps_edit_in(&ben, 5, all);                  /* 5 */
        (void)asking_edit(&ann, scene_remove(2));           /* 6 */
        steps_undo(&ann, (struct peer_wish){0}, "steps 6 applied 2");
        steps_undo(&ben, (struct peer_wish){0}, "steps 4 applied 2");
        const struct scn_digests before = scn_document_digests(steps_document(&hub));
        steps_redo(&ann, 1, "steps 6 applied 2");
        cr_assert_eq(steps_id(&hub, 21), 0);
        steps_undo(&ann, (struct peer_wish){0}, "steps 6 applied 2");
        expect_digests(&hub, &before);
        steps_end(&hub, &ann, &ben);
}

SCN_TEST(undo, of_a_removal_that_was_redone_leaves_gone_what_somebody_else_had_removed)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        steps_begin(&hub, &ann, &ben);
        (void)steps_edit_in(&ann, 5, scene_remove(2)); /* 3 */
        (void)steps_edit_in(&ann, 5, scene_translate(3, 1, 0, 0));
        steps_undo(&ann, (struct peer_wish){0}, "steps 3 applied 2");
        (void)asking_edit(&ben, scene_remove(steps_id(&hub, 20)));
        steps_redo(&ann, 1, "steps 3 applied 1 skipped place:gone:@0");
        steps_undo(&ann, (struct peer_wish){0}, "steps 3 applied 1");
        cr_assert_eq(steps_id(&hub, 20), 0);
        cr_assert_eq(steps_x(&hub, "/M"), 0.0f);
        steps_end(&hub, &ann, &ben);
}

SCN_TEST(undo, of_what_was_redone_restores_the_value_that_the_redo_found)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        steps_begin(&hub, &ann, &ben);
        set_three(&ben, 1, "b"); /* 3 */
        set_three(&ann, 9, "a"); /* 6 */
        steps_undo(&ann, (struct peer_wish){0}, "steps 6 applied 3");
        set_three(&ben, 2, "c"); /* of the same step as before */
        const struct scn_digests before = scn_document_digests(steps_document(&hub));
        steps_redo(&ann, 1, "steps 6 applied 3");
        steps_undo(&ann, (struct peer_wish){0}, "steps 6 applied 3");
        expect_digests(&hub, &before);
        steps_undo(&ben, (struct peer_wish){0}, "steps 3 applied 6");
        steps_end(&hub, &ann, &ben);
}

SCN_TEST(undo, of_what_was_redone_takes_back_also_what_the_redo_had_to_leave)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        steps_begin(&hub, &ann, &ben);
        const struct scn_digests before = scn_document_digests(steps_document(&hub));
        struct scn_op both = scene_translate(2, 1, 0, 0);
        both.fields |= SCN_FIELDS_SCALE;
        both.trs.s[0] = both.trs.s[1] = both.trs.s[2] = 2.0f;
        (void)asking_edit(&ann, both);                        /* 3 */
        (void)asking_edit(&ben, scene_translate(2, 7, 0, 0)); /* 4 */
        steps_undo(&ann, (struct peer_wish){0}, "steps 3 applied 1 skipped translation:superseded:ben@4");
        steps_redo(&ann, 1, "steps 3 applied 1");
        steps_undo(&ben, (struct peer_wish){0}, "steps 4 applied 1");
        steps_undo(&ann, (struct peer_wish){0}, "steps 3 applied 2");
        expect_digests(&hub, &before);
        steps_end(&hub, &ann, &ben);
}

/* The place alone was redone, for the translation was another step's by then. */
SCN_TEST(undo, of_a_move_that_was_redone_takes_back_also_the_transform_that_came_with_it)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        steps_begin(&hub, &ann, &ben);
        (void)asking_edit(&ben, scene_translate(3, 4, 0, 0)); /* 3 */
        const struct scn_digests before = scn_document_digests(steps_document(&hub));
        struct scn_op move = scene_move(2, 3);
        move.keep_world = true;
        (void)asking_edit(&ann, move);                        /* 4 */
        (void)asking_edit(&ann, scene_translate(2, 1, 0, 0)); /* 5 */
        steps_undo(&ann, (struct peer_wish){.step = 4}, "steps 4 applied 1 skipped translation:superseded:ann@5");
        steps_redo(&ann, 1, "steps 4 applied 1");
        steps_undo(&ann, (struct peer_wish){.step = 5}, "steps 5 applied 1");
        steps_undo(&ann, (struct peer_wish){.step = 4}, "steps 4 applied 1");
        expect_digests(&hub, &before);
        steps_end(&hub, &ann, &ben);
}

/* Of the place, and of the transform that came with it. */
SCN_TEST(redo, puts_the_writer_back_where_a_node_has_the_place_already)
{
        for (int restarts = 0; restarts < 2; restarts++) {
                struct hub hub;
                struct peer ann;
                struct peer ben;
                steps_begin(&hub, &ann, &ben);
                (void)asking_edit(&ben, scene_add(1, 21, "other"));   /* 3 */
                (void)asking_edit(&ann, scene_translate(3, 4, 0, 0)); /* 4: of M */
                (void)asking_edit(&ben, scene_add(1, 22, "top"));     /* 5 */
                const scn_node_id other = steps_id(&hub, 21);
                struct scn_op move = scene_move(other, 3);
                move.keep_world = true;
                (void)steps_edit_in(&ben, 5, scene_move(other, steps_id(&hub, 22))); /* 6 */
                (void)asking_edit(&ann, move);                                       /* 7 */
                steps_undo(&ann, (struct peer_wish){0}, "steps 7 applied 1");
                /* Of the same step as what the undo left. */
                (void)steps_edit_in(&ben, 5, scene_move(other, 3));
                const struct scn_digests before = scn_document_digests(steps_document(&hub));
                steps_redo(&ann, 1, "steps 7 applied 1");
                cr_assert_eq(steps_x(&hub, "/M/other"), -4.0f);
                if (restarts > 0) {
                        come_back(&hub, &ann, &ben);
                }
                steps_undo(&ben, (struct peer_wish){0}, "steps 6 applied 0 skipped place:superseded:ann@10");
                steps_undo(&ann, (struct peer_wish){0}, "steps 7 applied 1");
                expect_digests(&hub, &before);
                steps_undo(&ben, (struct peer_wish){.step = 6}, "steps 6 applied 2");
                cr_assert_eq(steps_x(&hub, "/other"), 0.0f);
                steps_end(&hub, &ann, &ben);
        }
}

SCN_TEST(undo, of_a_removal_is_refused_where_a_uid_that_would_come_back_lives_again_and_so_is_redo_of_an_add)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        steps_begin(&hub, &ann, &ben);
        steps_undo(&ann, (struct peer_wish){0}, "steps 1 applied 1");
        (void)asking_edit(&ben, scene_add(1, 20, "another"));
        peer_redo(&ann, 1);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "exists");
        (void)asking_edit(&ann, scene_add(1, 21, "A"));
        (void)asking_edit(&ann, scene_remove(steps_id(&hub, 21)));
        (void)asking_edit(&ben, scene_add(1, 21, "another"));
        peer_undo(&ann, (struct peer_wish){0});
        peer_expect_code(&ann, SCN_MESSAGE_refused, "exists");
        cr_assert_neq(steps_id(&hub, 21), 0);
        steps_end(&hub, &ann, &ben);
}

SCN_TEST(undo, of_an_add_that_others_have_filled_needs_force_and_redo_brings_all_of_it_back)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        steps_begin(&hub, &ann, &ben);
        (void)asking_edit(&ben, scene_add(2, 31, "Ben's"));
        const struct scn_digests before = scn_document_digests(steps_document(&hub));
        peer_undo(&ann, (struct peer_wish){0});
        peer_expect_code(&ann, SCN_MESSAGE_refused, "superseded");
        steps_undo(&ann, (struct peer_wish){.step = 1, .is_forced = true}, "steps 1 applied 1");
        cr_assert_eq(steps_id(&hub, 31), 0);
        steps_redo(&ann, 1, "steps 1 applied 2");
        const struct scn_digests after = scn_document_digests(steps_document(&hub));
        cr_assert_eq(memcmp(&before, &after, sizeof before), 0);
        steps_end(&hub, &ann, &ben);
}

SCN_TEST(redo, is_emptied_of_what_could_be_brought_back_by_a_new_step)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        steps_begin(&hub, &ann, &ben);
        (void)asking_edit(&ann, scene_translate(2, 1, 0, 0));
        steps_undo(&ann, (struct peer_wish){0}, "steps 3 applied 1");
        (void)asking_edit(&ann, scene_rename(2, "other"));
        peer_redo(&ann, 1);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "nothing_to_undo");
        /* Also when the room has read it from the journal. */
        steps_undo(&ann, (struct peer_wish){0}, "steps 5 applied 1");
        (void)asking_edit(&ann, scene_rename(2, "third"));
        peer_close(&ann);
        peer_close(&ben);
        hub_stop(&hub);
        hub_restart(&hub);
        peer_open(&ann, &hub, 1, "ann", "test");
        peer_redo(&ann, 1);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "nothing_to_undo");
        peer_close(&ann);
        hub_finish(&hub);
}

SCN_TEST(undo, of_an_import_removes_it_in_one_and_redo_brings_it_back)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        struct scn_op ops[100];
        steps_begin(&hub, &ann, &ben);
        for (uint32_t i = 0; i < 100; i++) {
                ops[i] = scene_add(0, 100 + i, "imported");
                ops[i].parent = i == 0 ? scene_ref(1) : scene_ref(100 + (i - 1) / 2);
                ops[i].parent = i == 0 ? scene_id(1) : ops[i].parent;
        }
        peer_edit(&ann, ops, 100);
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        const struct scn_digests before = scn_document_digests(steps_document(&hub));
        steps_undo(&ann, (struct peer_wish){0}, "steps 3 applied 1");
        cr_assert_eq(scn_document_nodes_count(steps_document(&hub)), 3);
        steps_redo(&ann, 1, "steps 3 applied 100");
        const struct scn_digests after = scn_document_digests(steps_document(&hub));
        cr_assert_eq(memcmp(&before, &after, sizeof before), 0);
        steps_end(&hub, &ann, &ben);
}

/* One undo took many steps; each has its records in the same transaction. */
SCN_TEST(undo, of_many_steps_at_once_is_brought_back_in_any_portions)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        struct scn_message message;
        struct scn_digests states[41];
        steps_begin(&hub, &ann, &ben);
        for (uint32_t i = 0; i < 40; i++) {
                states[i] = scn_document_digests(steps_document(&hub));
                (void)asking_edit(&ann, i % 3 == 0 ? scene_add(2, 100 + i, "n") : scene_translate(2, (float)i, 1, 2));
        }
        states[40] = scn_document_digests(steps_document(&hub));
        /* One in the middle is used up: nothing of it comes back. */
        (void)asking_edit(&ben, scene_rename(steps_id(&hub, 118), "Ben's"));
        peer_undo(&ann, (struct peer_wish){.count = 21});
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        peer_undo(&ann, (struct peer_wish){0});
        peer_expect_code(&ann, SCN_MESSAGE_refused, "superseded");
        peer_undo(&ann, (struct peer_wish){.count = 18});
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        steps_undo(&ben, (struct peer_wish){0}, "steps 43 applied 1");
        for (uint32_t portion = 1, left = 39; left > 0; portion++) {
                peer_redo(&ann, portion);
                message = peer_expect(&ann, SCN_MESSAGE_applied);
                left -= portion < left ? portion : left;
        }
        const struct scn_digests after = scn_document_digests(steps_document(&hub));
        cr_assert_eq(memcmp(&states[40], &after, sizeof after), 0);
        (void)message;
        steps_end(&hub, &ann, &ben);
}
