/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Undo and redo through the server's core: one behaviour at a time. At random: tests/property/test_undo.c. */

#include "protocol/base/alloc.h"
#include "server/author.h"
#include "server/core.h"
#include "tests/lib/hub.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

static struct scn_document *document_of(struct hub *hub)
{
        return hub->server->rooms->document;
}

static void send_grouped(struct peer *peer, struct scn_op op, uint64_t group)
{
        struct scn_buffer buffer;
        struct scn_message message;
        scn_buffer_init(&buffer, SCN_MESSAGE_BYTES_MAX);
        struct scn_packer packer = scn_packer_to(&buffer);
        scn_ops_encode(&packer, &op, 1);
        scn_message_init(&message, SCN_MESSAGE_edit);
        message.as.edit.number = ++peer->number;
        message.as.edit.ops = (struct scn_slice){buffer.data, (uint32_t)buffer.size};
        message.as.edit.group = group;
        peer_send(peer, &message);
        scn_buffer_finish(&buffer);
}

/* A lone edit, which must be applied. */
static scn_revision edit(struct peer *peer, struct scn_op op)
{
        send_grouped(peer, op, SCN_ABSENT);
        return peer_expect(peer, SCN_MESSAGE_applied).as.applied.rev;
}

static scn_revision edit_in(struct peer *peer, uint64_t group, struct scn_op op)
{
        send_grouped(peer, op, group);
        return peer_expect(peer, SCN_MESSAGE_applied).as.applied.rev;
}

struct wish {
        uint64_t count;
        uint64_t step; /* 0: none */
        bool is_forced;
        bool is_dry;
};

static void send_undo(struct peer *peer, struct wish wish)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_undo);
        message.as.undo.number = ++peer->number;
        message.as.undo.count = wish.count == 0 ? SCN_ABSENT : wish.count;
        message.as.undo.step = wish.step == 0 ? SCN_ABSENT : wish.step;
        message.as.undo.force = wish.is_forced;
        message.as.undo.dry = wish.is_dry;
        peer_send(peer, &message);
}

static void send_redo(struct peer *peer, uint64_t count)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_redo);
        message.as.redo.number = ++peer->number;
        message.as.redo.count = count;
        peer_send(peer, &message);
}

/* An answer's summary as text: "steps 4 2 applied 1 skipped name:superseded:ben@3". */
static const char *summary_of(const struct scn_message *message)
{
        static char text[512];
        size_t at = 0;
        struct scn_unpacker unpacker = scn_unpacker_from(message->as.applied.summary);
        cr_assert_eq(scn_unpack_map(&unpacker), 3);
        (void)scn_unpack_text(&unpacker, 16);
        at += (size_t)snprintf(text + at, sizeof text - at, "steps");
        for (uint32_t left = scn_unpack_array(&unpacker); left > 0; left--) {
                const uint64_t step = scn_unpack_uint(&unpacker, SCN_REVISION_MAX);
                at += (size_t)snprintf(text + at, sizeof text - at, " %llu", (unsigned long long)step);
        }
        (void)scn_unpack_text(&unpacker, 16);
        const uint64_t applied = scn_unpack_uint(&unpacker, SCN_REVISION_MAX);
        at += (size_t)snprintf(text + at, sizeof text - at, " applied %llu", (unsigned long long)applied);
        (void)scn_unpack_text(&unpacker, 16);
        for (uint32_t left = scn_unpack_array(&unpacker); left > 0; left--) {
                struct scn_slice words[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
                uint64_t rev = 0;
                for (uint32_t members = scn_unpack_map(&unpacker); members > 0; members--) {
                        const struct scn_slice key = scn_unpack_text(&unpacker, 16);
                        const int word = key.data[0] == 'f'       ? 0
                                : memcmp(key.data, "rea", 3) == 0 ? 1
                                : key.data[0] == 'a'              ? 2
                                                                  : -1;
                        if (word >= 0) {
                                words[word] = scn_unpack_text(&unpacker, 64);
                        } else if (memcmp(key.data, "rev", 3) == 0) {
                                rev = scn_unpack_uint(&unpacker, SCN_REVISION_MAX);
                        } else {
                                (void)scn_unpack_raw(&unpacker);
                        }
                }
                at += (size_t)snprintf(text + at, sizeof text - at, " skipped %.*s:%.*s:%.*s@%llu", (int)words[0].size,
                        (const char *)words[0].data, (int)words[1].size, (const char *)words[1].data,
                        (int)words[2].size, words[2].data == NULL ? "" : (const char *)words[2].data,
                        (unsigned long long)rev);
        }
        cr_assert(scn_unpack_is_done(&unpacker));
        return text;
}

static void expect_undone(struct peer *peer, const char *summary)
{
        const struct scn_message message = peer_expect(peer, SCN_MESSAGE_applied);
        cr_assert_str_eq(summary_of(&message), summary);
}

static void undo(struct peer *peer, struct wish wish, const char *summary)
{
        send_undo(peer, wish);
        expect_undone(peer, summary);
}

static void redo(struct peer *peer, uint64_t count, const char *summary)
{
        send_redo(peer, count);
        expect_undone(peer, summary);
}

static void expect_nothing(struct peer *peer)
{
        send_undo(peer, (struct wish){0});
        peer_expect_code(peer, SCN_MESSAGE_refused, "nothing_to_undo");
}

static float x_of(struct hub *hub, const char *path)
{
        scn_node_id id;
        const struct scn_node_ref ref = scene_path(path);
        cr_assert_eq(scn_document_find(document_of(hub), &ref, &id), SCN_OK);
        return scn_document_node(document_of(hub), id).trs.t[0];
}

static scn_node_id id_of(struct hub *hub, uint32_t uid)
{
        return scn_document_find_uid(document_of(hub), scene_uid(uid));
}

static void open_two(struct hub *hub, struct peer *ann, struct peer *ben)
{
        hub_start(hub);
        peer_open(ann, hub, 1, "ann", "test");
        peer_open(ben, hub, 2, "ben", "test");
        cr_assert_eq(edit(ann, scene_add(1, 20, "N")), 1);
        cr_assert_eq(edit(ben, scene_add(1, 30, "M")), 2);
}

static void close_two(struct hub *hub, struct peer *ann, struct peer *ben)
{
        peer_close(ann);
        peer_close(ben);
        hub_finish(hub);
}

SCN_TEST(undo, takes_back_ones_own_and_nobody_elses)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        struct peer robot;
        open_two(&hub, &ann, &ben);
        peer_open(&robot, &hub, 3, "robot", "test");
        (void)edit(&ann, scene_translate(2, 1, 0, 0));
        (void)edit(&ben, scene_translate(3, 2, 0, 0));
        (void)edit(&robot, scene_rename(2, "renamed"));
        undo(&ann, (struct wish){0}, "steps 3 applied 1");
        cr_assert_eq(x_of(&hub, "/renamed"), 0.0f);
        cr_assert_eq(x_of(&hub, "/M"), 2.0f);
        undo(&ben, (struct wish){0}, "steps 4 applied 1");
        cr_assert_eq(x_of(&hub, "/M"), 0.0f);
        /* Ann's node has a name that is not hers: it stays. */
        send_undo(&ann, (struct wish){0});
        peer_expect_code(&ann, SCN_MESSAGE_refused, "superseded");
        expect_nothing(&ann);
        peer_close(&robot);
        close_two(&hub, &ann, &ben);
}

SCN_TEST(undo, skips_a_field_that_somebody_has_written_since_and_names_who)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        open_two(&hub, &ann, &ben);
        struct scn_op both = scene_translate(2, 1, 0, 0);
        both.fields |= SCN_FIELDS_SCALE;
        both.trs.s[0] = both.trs.s[1] = both.trs.s[2] = 2.0f;
        (void)edit(&ann, both);
        (void)edit(&ben, scene_translate(2, 7, 0, 0));
        undo(&ann, (struct wish){0}, "steps 3 applied 1 skipped translation:superseded:ben@4");
        cr_assert_eq(x_of(&hub, "/N"), 7.0f);
        cr_assert_eq(scn_document_node(document_of(&hub), 2).trs.s[0], 1.0f);
        /* Ben takes his back: what was there is Ann's, and hers again to take back. */
        undo(&ben, (struct wish){0}, "steps 4 applied 1");
        cr_assert_eq(x_of(&hub, "/N"), 1.0f);
        undo(&ann, (struct wish){.step = 3}, "steps 3 applied 1 skipped scale:superseded:ann@5");
        cr_assert_eq(x_of(&hub, "/N"), 0.0f);
        close_two(&hub, &ann, &ben);
}

/* The undo itself has put Ben's name back, which then keeps the node from going. */
SCN_TEST(undo, that_is_refused_for_what_it_has_put_back_itself_names_whose_that_is)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        open_two(&hub, &ann, &ben);
        (void)edit_in(&ann, 5, scene_add(1, 21, "A"));              /* 3 */
        (void)edit(&ben, scene_rename(id_of(&hub, 21), "B"));       /* 4 */
        (void)edit_in(&ann, 5, scene_rename(id_of(&hub, 21), "C")); /* 5 */
        send_undo(&ann, (struct wish){0});
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
        close_two(&hub, &ann, &ben);
}

SCN_TEST(undo, of_a_drag_is_one_step_and_restores_the_bits)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        open_two(&hub, &ann, &ben);
        (void)edit(&ann, scene_translate(2, 0.1f, 0, 0));
        const float start = x_of(&hub, "/N");
        for (int i = 0; i < 300; i++) {
                (void)edit_in(&ann, 5, scene_translate(2, (float)(i % 7) + 0.5f, 0, 0));
        }
        /* What changes nothing is no step, and closes nothing. */
        const scn_revision before = scn_document_revision(document_of(&hub));
        peer_edit(&ann, NULL, 0);
        cr_assert(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.unchanged);
        send_grouped(&ann, scene_translate(2, x_of(&hub, "/N"), 0, 0), SCN_ABSENT);
        cr_assert(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.unchanged);
        cr_assert_eq(scn_document_revision(document_of(&hub)), before);
        undo(&ann, (struct wish){0}, "steps 4 applied 300");
        cr_assert_eq(x_of(&hub, "/N"), start);
        redo(&ann, 1, "steps 4 applied 300");
        cr_assert_eq(x_of(&hub, "/N"), (float)(299 % 7) + 0.5f);
        close_two(&hub, &ann, &ben);
}

SCN_TEST(undo, redo_brings_back_all_that_a_step_did_to_a_field_or_nothing)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        open_two(&hub, &ann, &ben);
        (void)edit_in(&ann, 5, scene_translate(2, 1, 0, 0));
        (void)edit(&ben, scene_translate(2, 7, 0, 0));
        (void)edit_in(&ann, 5, scene_translate(2, 3, 0, 0));
        (void)edit_in(&ann, 5, scene_translate(2, 4, 0, 0));
        undo(&ann, (struct wish){0}, "steps 3 applied 2 skipped translation:superseded:ben@4");
        /* What Ben's hid is Ann's, so it is as her last edit found it, but not as her undo left it. */
        undo(&ben, (struct wish){0}, "steps 4 applied 1");
        cr_assert_eq(x_of(&hub, "/N"), 1.0f);
        send_redo(&ann, 1);
        const struct scn_message message = peer_expect(&ann, SCN_MESSAGE_applied);
        cr_assert(message.as.applied.unchanged);
        cr_assert_str_eq(summary_of(&message),
                "steps 3 applied 0 skipped translation:superseded:ben@8 skipped translation:superseded:ben@8");
        cr_assert_eq(x_of(&hub, "/N"), 1.0f);
        close_two(&hub, &ann, &ben);
}

SCN_TEST(undo, redo_of_a_field_is_whole_or_nothing_also_where_a_node_was_added_or_removed_in_between)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        open_two(&hub, &ann, &ben);
        (void)edit_in(&ann, 5, scene_translate(2, 1, 0, 0));
        (void)edit(&ben, scene_translate(2, 7, 0, 0));
        (void)edit_in(&ann, 5, scene_translate(2, 3, 0, 0));
        (void)edit_in(&ann, 5, scene_add(1, 77, "more"));
        (void)edit_in(&ann, 5, scene_translate(2, 4, 0, 0));
        (void)edit_in(&ann, 5, scene_remove(4));
        (void)edit_in(&ann, 5, scene_translate(2, 5, 0, 0));
        undo(&ann, (struct wish){0}, "steps 3 applied 5 skipped translation:superseded:ben@4");
        undo(&ben, (struct wish){0}, "steps 4 applied 1");
        send_redo(&ann, 1);
        const struct scn_message message = peer_expect(&ann, SCN_MESSAGE_applied);
        cr_assert_str_eq(summary_of(&message),
                "steps 3 applied 2 skipped translation:superseded:ben@11 skipped translation:superseded:ben@11 skipped "
                "translation:superseded:ben@11");
        cr_assert_eq(x_of(&hub, "/N"), 1.0f);
        close_two(&hub, &ann, &ben);
}

static void set_three(struct peer *peer, uint8_t value, const char *name)
{
        (void)edit_in(peer, 5, scene_translate(2, (float)value, 0, 0));
        (void)edit_in(peer, 5, scene_rename(2, name));
        (void)edit_in(peer, 5, scene_set(2, "k", scene_integer(value)));
}

SCN_TEST(undo, redo_puts_the_writer_back_where_a_field_has_the_value_already)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        open_two(&hub, &ann, &ben);
        set_three(&ben, 3, "b");
        set_three(&ann, 5, "a");
        undo(&ann, (struct wish){0}, "steps 6 applied 3");
        /* Of the same step as what the undo left. */
        set_three(&ben, 5, "a");
        redo(&ann, 1, "steps 6 applied 3");
        undo(&ann, (struct wish){0}, "steps 6 applied 3");
        cr_assert_eq(x_of(&hub, "/a"), 5.0f);
        undo(&ben, (struct wish){0}, "steps 3 applied 6");
        cr_assert_eq(x_of(&hub, "/N"), 0.0f);
        close_two(&hub, &ann, &ben);
}

/* A digest says nothing of writers: by what can be taken back on top of it they are seen. */
static void expect_digests(struct hub *hub, const struct scn_digests *wanted)
{
        const struct scn_digests digests = scn_document_digests(document_of(hub));
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
                open_two(&hub, &ann, &ben);
                (void)edit(&ben, scene_rename(2, "b")); /* 3 */
                (void)edit(&ann, scene_remove(2));      /* 4 */
                undo(&ann, (struct wish){0}, "steps 4 applied 1");
                /* The name is Ann's again. */
                undo(&ben, (struct wish){0}, "steps 3 applied 1");
                const struct scn_digests before = scn_document_digests(document_of(&hub));
                redo(&ann, 1, "steps 4 applied 1");
                if (restarts > 0) {
                        come_back(&hub, &ann, &ben);
                }
                undo(&ann, (struct wish){0}, "steps 4 applied 1");
                expect_digests(&hub, &before);
                redo(&ben, 1, "steps 3 applied 1");
                cr_assert_eq(x_of(&hub, "/b"), 0.0f);
                close_two(&hub, &ann, &ben);
        }
}

SCN_TEST(undo, of_a_removal_that_was_redone_restores_what_stood_elsewhere_by_then)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        open_two(&hub, &ann, &ben);
        (void)edit(&ann, scene_add(1, 21, "child")); /* 3 */
        const scn_node_id child = id_of(&hub, 21);
        struct scn_op all = scene_translate(child, 1, 2, 3);
        all.fields = SCN_FIELDS_TRS;
        all.trs.s[0] = all.trs.s[1] = all.trs.s[2] = 2.0f;
        all.trs.r[0] = 1.0f;
        all.trs.r[3] = 0.0f;
        (void)edit_in(&ben, 5, scene_move(child, 2)); /* 4: under Ann's N */
        (void)edit_in(&ben, 5, all);                  /* 5 */
        (void)edit(&ann, scene_remove(2));            /* 6 */
        undo(&ann, (struct wish){0}, "steps 6 applied 2");
        undo(&ben, (struct wish){0}, "steps 4 applied 2");
        const struct scn_digests before = scn_document_digests(document_of(&hub));
        redo(&ann, 1, "steps 6 applied 2");
        cr_assert_eq(id_of(&hub, 21), 0);
        undo(&ann, (struct wish){0}, "steps 6 applied 2");
        expect_digests(&hub, &before);
        close_two(&hub, &ann, &ben);
}

SCN_TEST(undo, of_a_removal_that_was_redone_leaves_gone_what_somebody_else_had_removed)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        open_two(&hub, &ann, &ben);
        (void)edit_in(&ann, 5, scene_remove(2)); /* 3 */
        (void)edit_in(&ann, 5, scene_translate(3, 1, 0, 0));
        undo(&ann, (struct wish){0}, "steps 3 applied 2");
        (void)edit(&ben, scene_remove(id_of(&hub, 20)));
        redo(&ann, 1, "steps 3 applied 1 skipped place:gone:@0");
        undo(&ann, (struct wish){0}, "steps 3 applied 1");
        cr_assert_eq(id_of(&hub, 20), 0);
        cr_assert_eq(x_of(&hub, "/M"), 0.0f);
        close_two(&hub, &ann, &ben);
}

SCN_TEST(undo, of_what_was_redone_restores_the_value_that_the_redo_found)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        open_two(&hub, &ann, &ben);
        set_three(&ben, 1, "b"); /* 3 */
        set_three(&ann, 9, "a"); /* 6 */
        undo(&ann, (struct wish){0}, "steps 6 applied 3");
        set_three(&ben, 2, "c"); /* of the same step as before */
        const struct scn_digests before = scn_document_digests(document_of(&hub));
        redo(&ann, 1, "steps 6 applied 3");
        undo(&ann, (struct wish){0}, "steps 6 applied 3");
        expect_digests(&hub, &before);
        undo(&ben, (struct wish){0}, "steps 3 applied 6");
        close_two(&hub, &ann, &ben);
}

SCN_TEST(undo, of_what_was_redone_takes_back_also_what_the_redo_had_to_leave)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        open_two(&hub, &ann, &ben);
        const struct scn_digests before = scn_document_digests(document_of(&hub));
        struct scn_op both = scene_translate(2, 1, 0, 0);
        both.fields |= SCN_FIELDS_SCALE;
        both.trs.s[0] = both.trs.s[1] = both.trs.s[2] = 2.0f;
        (void)edit(&ann, both);                        /* 3 */
        (void)edit(&ben, scene_translate(2, 7, 0, 0)); /* 4 */
        undo(&ann, (struct wish){0}, "steps 3 applied 1 skipped translation:superseded:ben@4");
        redo(&ann, 1, "steps 3 applied 1");
        undo(&ben, (struct wish){0}, "steps 4 applied 1");
        undo(&ann, (struct wish){0}, "steps 3 applied 2");
        expect_digests(&hub, &before);
        close_two(&hub, &ann, &ben);
}

/* The place alone was redone, for the translation was another step's by then. */
SCN_TEST(undo, of_a_move_that_was_redone_takes_back_also_the_transform_that_came_with_it)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        open_two(&hub, &ann, &ben);
        (void)edit(&ben, scene_translate(3, 4, 0, 0)); /* 3 */
        const struct scn_digests before = scn_document_digests(document_of(&hub));
        struct scn_op move = scene_move(2, 3);
        move.keep_world = true;
        (void)edit(&ann, move);                        /* 4 */
        (void)edit(&ann, scene_translate(2, 1, 0, 0)); /* 5 */
        undo(&ann, (struct wish){.step = 4}, "steps 4 applied 1 skipped translation:superseded:ann@5");
        redo(&ann, 1, "steps 4 applied 1");
        undo(&ann, (struct wish){.step = 5}, "steps 5 applied 1");
        undo(&ann, (struct wish){.step = 4}, "steps 4 applied 1");
        expect_digests(&hub, &before);
        close_two(&hub, &ann, &ben);
}

/* Of the place, and of the transform that came with it. */
SCN_TEST(undo, redo_puts_the_writer_back_where_a_node_has_the_place_already)
{
        for (int restarts = 0; restarts < 2; restarts++) {
                struct hub hub;
                struct peer ann;
                struct peer ben;
                open_two(&hub, &ann, &ben);
                (void)edit(&ben, scene_add(1, 21, "other"));   /* 3 */
                (void)edit(&ann, scene_translate(3, 4, 0, 0)); /* 4: of M */
                (void)edit(&ben, scene_add(1, 22, "top"));     /* 5 */
                const scn_node_id other = id_of(&hub, 21);
                struct scn_op move = scene_move(other, 3);
                move.keep_world = true;
                (void)edit_in(&ben, 5, scene_move(other, id_of(&hub, 22))); /* 6 */
                (void)edit(&ann, move);                                     /* 7 */
                undo(&ann, (struct wish){0}, "steps 7 applied 1");
                /* Of the same step as what the undo left. */
                (void)edit_in(&ben, 5, scene_move(other, 3));
                const struct scn_digests before = scn_document_digests(document_of(&hub));
                redo(&ann, 1, "steps 7 applied 1");
                cr_assert_eq(x_of(&hub, "/M/other"), -4.0f);
                if (restarts > 0) {
                        come_back(&hub, &ann, &ben);
                }
                undo(&ben, (struct wish){0},
                        "steps 6 applied 0 skipped place:superseded:ann@10 skipped place:superseded:ann@10");
                undo(&ann, (struct wish){0}, "steps 7 applied 1");
                expect_digests(&hub, &before);
                undo(&ben, (struct wish){.step = 6}, "steps 6 applied 2");
                cr_assert_eq(x_of(&hub, "/other"), 0.0f);
                close_two(&hub, &ann, &ben);
        }
}

/* The node was restored by the same undo, and goes again with it. */
SCN_TEST(undo, refused_for_what_others_wrote_to_a_node_that_it_has_brought_back_names_it)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        open_two(&hub, &ann, &ben);
        (void)edit_in(&ann, 5, scene_add(1, 77, "more"));
        (void)edit(&ben, scene_set(4, "colour", scene_integer(3)));
        (void)edit_in(&ann, 5, scene_remove(4));
        send_undo(&ann, (struct wish){0});
        const struct scn_message message = peer_expect(&ann, SCN_MESSAGE_refused);
        const struct scn_slice text = message.as.refused.text;
        static const char wanted[] = "property colour: others have written it since";
        cr_assert(text.size >= sizeof wanted - 1 && memcmp(text.data, wanted, sizeof wanted - 1) == 0, "%.*s",
                (int)text.size, (const char *)text.data);
        close_two(&hub, &ann, &ben);
}

SCN_TEST(undo, sees_a_new_step_where_the_group_changes_or_was_closed)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        open_two(&hub, &ann, &ben);
        (void)edit_in(&ann, 5, scene_translate(2, 1, 0, 0)); /* 3 */
        (void)edit_in(&ann, 6, scene_translate(2, 2, 0, 0)); /* 4 */
        (void)edit_in(&ben, 6, scene_translate(3, 2, 0, 0)); /* 5: another client's */
        (void)edit_in(&ann, 6, scene_translate(2, 3, 0, 0)); /* 6, with 4 */
        (void)edit(&ann, scene_rename(2, "P"));              /* 7 */
        (void)edit_in(&ann, 6, scene_translate(2, 4, 0, 0)); /* 8: that one was closed */
        undo(&ann, (struct wish){0}, "steps 8 applied 1");
        (void)edit_in(&ann, 6, scene_translate(2, 5, 0, 0)); /* 10: so was that */
        undo(&ann, (struct wish){.count = 3}, "steps 10 7 4 applied 4");
        cr_assert_eq(x_of(&hub, "/N"), 1.0f);
        /* The end of the session closes it, too. */
        (void)edit_in(&ann, 9, scene_translate(2, 8, 0, 0)); /* 12 */
        peer_close(&ann);
        peer_open(&ann, &hub, 1, "ann", "test");
        (void)edit_in(&ann, 9, scene_translate(2, 9, 0, 0)); /* 13 */
        undo(&ann, (struct wish){.count = 2}, "steps 13 12 applied 2");
        close_two(&hub, &ann, &ben);
}

SCN_TEST(undo, of_a_removal_brings_back_the_same_nodes_at_the_same_place)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        open_two(&hub, &ann, &ben);
        (void)edit(&ann, scene_add(1, 21, "P"));
        (void)edit(&ann, scene_add(id_of(&hub, 21), 22, "C"));
        (void)edit(&ann, scene_add(id_of(&hub, 21), 23, "D"));
        (void)edit(&ann, scene_add(id_of(&hub, 22), 24, "G"));
        (void)edit(&ann, scene_add(1, 25, "last"));
        (void)edit(&ben, scene_set(id_of(&hub, 24), "k", scene_integer(7)));
        const struct scn_digests before = scn_document_digests(document_of(&hub));
        const scn_node_id former = id_of(&hub, 21);
        (void)edit(&ann, scene_remove(former));
        cr_assert_eq(id_of(&hub, 24), 0);
        undo(&ann, (struct wish){0}, "steps 9 applied 4");
        const struct scn_digests after = scn_document_digests(document_of(&hub));
        cr_assert_eq(memcmp(&before, &after, sizeof before), 0);
        cr_assert_neq(id_of(&hub, 21), former, "an id belongs to one life");
        close_two(&hub, &ann, &ben);
}

SCN_TEST(undo, of_a_removal_is_refused_when_the_parent_is_gone_and_uses_the_step_up)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        open_two(&hub, &ann, &ben);
        (void)edit(&ann, scene_add(3, 21, "under M"));
        (void)edit(&ann, scene_remove(id_of(&hub, 21)));
        (void)edit(&ben, scene_remove(3));
        send_undo(&ann, (struct wish){0});
        peer_expect_code(&ann, SCN_MESSAGE_refused, "gone");
        undo(&ben, (struct wish){0}, "steps 5 applied 1");
        /* By its name it can be had again. */
        undo(&ann, (struct wish){.step = 4}, "steps 4 applied 1");
        cr_assert_neq(id_of(&hub, 21), 0);
        close_two(&hub, &ann, &ben);
}

SCN_TEST(undo, of_a_removal_is_refused_where_a_uid_that_would_come_back_lives_again_and_so_is_redo_of_an_add)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        open_two(&hub, &ann, &ben);
        undo(&ann, (struct wish){0}, "steps 1 applied 1");
        (void)edit(&ben, scene_add(1, 20, "another"));
        send_redo(&ann, 1);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "exists");
        (void)edit(&ann, scene_add(1, 21, "A"));
        (void)edit(&ann, scene_remove(id_of(&hub, 21)));
        (void)edit(&ben, scene_add(1, 21, "another"));
        send_undo(&ann, (struct wish){0});
        peer_expect_code(&ann, SCN_MESSAGE_refused, "exists");
        cr_assert_neq(id_of(&hub, 21), 0);
        close_two(&hub, &ann, &ben);
}

SCN_TEST(undo, of_an_add_that_others_have_filled_needs_force_and_redo_brings_all_of_it_back)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        open_two(&hub, &ann, &ben);
        (void)edit(&ben, scene_add(2, 31, "Ben's"));
        const struct scn_digests before = scn_document_digests(document_of(&hub));
        send_undo(&ann, (struct wish){0});
        peer_expect_code(&ann, SCN_MESSAGE_refused, "superseded");
        undo(&ann, (struct wish){.step = 1, .is_forced = true}, "steps 1 applied 1");
        cr_assert_eq(id_of(&hub, 31), 0);
        redo(&ann, 1, "steps 1 applied 2");
        const struct scn_digests after = scn_document_digests(document_of(&hub));
        cr_assert_eq(memcmp(&before, &after, sizeof before), 0);
        close_two(&hub, &ann, &ben);
}

SCN_TEST(undo, leaves_a_transform_alone_under_another_parent_and_a_move_where_others_have_moved_on)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        open_two(&hub, &ann, &ben);
        (void)edit(&ann, scene_translate(2, 5, 0, 0)); /* 3 */
        (void)edit(&ben, scene_move(2, 3));            /* 4 */
        undo(&ann, (struct wish){0}, "steps 3 applied 0 skipped place:stale_parent:ben@4");
        (void)edit(&ann, scene_move(2, 1));            /* 5 */
        (void)edit(&ben, scene_translate(2, 6, 0, 0)); /* 6 */
        undo(&ann, (struct wish){0}, "steps 5 applied 0 skipped translation:superseded:ben@6");
        cr_assert_eq(x_of(&hub, "/N"), 6.0f);
        close_two(&hub, &ann, &ben);
}

/* The transform goes back first, and then counts as another's again, as it did before the step. */
SCN_TEST(undo, of_a_step_that_moved_and_transformed_what_others_had_placed_takes_back_both)
{
        struct hub hub;
        struct peer ann, ben;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "test");
        peer_open(&ben, &hub, 2, "ben", "test");
        (void)edit(&ann, scene_add(1, 50, "boat"));
        (void)edit(&ann, scene_add(1, 51, "oar"));
        (void)edit(&ben, scene_translate(3, 1, 1, 1));
        const struct scn_digests before = scn_document_digests(document_of(&hub));
        (void)edit_in(&ann, 5, scene_move(3, 2));
        (void)edit_in(&ann, 5, scene_translate(3, 2, 2, 2));
        send_undo(&ann, (struct wish){.count = 1});
        const struct scn_message answer = peer_expect(&ann, SCN_MESSAGE_applied);
        cr_assert_str_eq(summary_of(&answer), "steps 4 applied 2");
        const struct scn_digests after = scn_document_digests(document_of(&hub));
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
        open_two(&hub, &ann, &ben);
        (void)edit(&ben, scene_rename(2, "Ben's")); /* 3: so step 1 cannot be taken back */
        (void)edit(&ann, scene_translate(2, 1, 0, 0));
        (void)edit(&ann, scene_translate(2, 2, 0, 0));
        const scn_revision before = scn_document_revision(document_of(&hub));
        undo(&ann, (struct wish){.count = 9}, "steps 5 4 applied 2");
        cr_assert_eq(scn_document_revision(document_of(&hub)), before + 1);
        send_undo(&ann, (struct wish){0});
        peer_expect_code(&ann, SCN_MESSAGE_refused, "superseded");
        redo(&ann, 1, "steps 4 applied 1");
        cr_assert_eq(x_of(&hub, "/Ben's"), 1.0f);
        redo(&ann, 9, "steps 5 applied 1");
        cr_assert_eq(x_of(&hub, "/Ben's"), 2.0f);
        close_two(&hub, &ann, &ben);
}

SCN_TEST(undo, can_only_say_what_it_would_do)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        open_two(&hub, &ann, &ben);
        (void)edit(&ann, scene_translate(2, 1, 0, 0));
        const struct scn_digests before = scn_document_digests(document_of(&hub));
        send_undo(&ann, (struct wish){.is_dry = true});
        struct scn_message message = peer_expect(&ann, SCN_MESSAGE_applied);
        cr_assert(message.as.applied.unchanged);
        cr_assert_eq(message.as.applied.rev, 3);
        cr_assert_str_eq(summary_of(&message), "steps 3 applied 1");
        const struct scn_digests after = scn_document_digests(document_of(&hub));
        cr_assert_eq(memcmp(&before, &after, sizeof before), 0);
        cr_assert_eq(scn_document_revision(document_of(&hub)), 3);
        undo(&ann, (struct wish){0}, "steps 3 applied 1");
        close_two(&hub, &ann, &ben);
}

SCN_TEST(undo, belongs_to_the_author_whatever_the_session_and_survives_a_restart)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        struct peer other;
        open_two(&hub, &ann, &ben);
        (void)edit(&ann, scene_translate(2, 1, 0, 0)); /* 3 */
        peer_open(&other, &hub, 9, "ann", "test");
        (void)edit(&other, scene_translate(2, 2, 0, 0)); /* 4 */
        undo(&ann, (struct wish){0}, "steps 4 applied 1");
        peer_close(&ann);
        peer_close(&ben);
        peer_close(&other);
        hub_stop(&hub);
        hub_restart(&hub);
        peer_open(&other, &hub, 10, "ann", "test");
        redo(&other, 1, "steps 4 applied 1");
        cr_assert_eq(x_of(&hub, "/N"), 2.0f);
        undo(&other, (struct wish){.count = 2}, "steps 4 3 applied 2");
        cr_assert_eq(x_of(&hub, "/N"), 0.0f);
        peer_close(&other);
        hub_finish(&hub);
}

SCN_TEST(undo, is_emptied_of_what_could_be_brought_back_by_a_new_step)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        open_two(&hub, &ann, &ben);
        (void)edit(&ann, scene_translate(2, 1, 0, 0));
        undo(&ann, (struct wish){0}, "steps 3 applied 1");
        (void)edit(&ann, scene_rename(2, "other"));
        send_redo(&ann, 1);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "nothing_to_undo");
        /* Also when the room has read it from the journal. */
        undo(&ann, (struct wish){0}, "steps 5 applied 1");
        (void)edit(&ann, scene_rename(2, "third"));
        peer_close(&ann);
        peer_close(&ben);
        hub_stop(&hub);
        hub_restart(&hub);
        peer_open(&ann, &hub, 1, "ann", "test");
        send_redo(&ann, 1);
        peer_expect_code(&ann, SCN_MESSAGE_refused, "nothing_to_undo");
        peer_close(&ann);
        hub_finish(&hub);
}

SCN_TEST(undo, sent_again_gets_its_first_answer_and_is_done_once)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        open_two(&hub, &ann, &ben);
        (void)edit(&ann, scene_translate(2, 1, 0, 0));
        (void)edit(&ann, scene_translate(2, 2, 0, 0));
        undo(&ann, (struct wish){0}, "steps 4 applied 1");
        peer_close(&ann);
        peer_open(&ann, &hub, 1, "ann", "test");
        ann.number--;
        undo(&ann, (struct wish){0}, "steps 4 applied 1");
        cr_assert_eq(scn_document_revision(document_of(&hub)), 5);
        cr_assert_eq(x_of(&hub, "/N"), 1.0f);
        /* Another one under the same number. */
        ann.number--;
        send_undo(&ann, (struct wish){.count = 2});
        peer_expect_code(&ann, SCN_MESSAGE_refused, "number_reused");
        close_two(&hub, &ann, &ben);
}

SCN_TEST(undo, waits_for_what_the_connection_has_sent_before_it)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        open_two(&hub, &ann, &ben);
        send_grouped(&ann, scene_translate(2, 1, 0, 0), SCN_ABSENT);
        send_undo(&ann, (struct wish){0});
        send_grouped(&ann, scene_translate(2, 3, 0, 0), SCN_ABSENT);
        send_undo(&ann, (struct wish){0});
        send_undo(&ann, (struct wish){0});
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        expect_undone(&ann, "steps 3 applied 1");
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        expect_undone(&ann, "steps 5 applied 1");
        expect_undone(&ann, "steps 1 applied 1");
        close_two(&hub, &ann, &ben);
}

/* Two sessions of one author at once: each takes its own step back, none twice. */
SCN_TEST(undo, by_two_sessions_of_one_author_takes_two_steps)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        struct peer other;
        open_two(&hub, &ann, &ben);
        peer_open(&other, &hub, 9, "ann", "test");
        (void)edit(&ann, scene_translate(2, 1, 0, 0));
        (void)edit(&ann, scene_translate(2, 2, 0, 0));
        send_undo(&ann, (struct wish){0});
        send_undo(&other, (struct wish){0});
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        (void)peer_expect(&other, SCN_MESSAGE_applied);
        cr_assert_eq(x_of(&hub, "/N"), 0.0f);
        redo(&other, 2, "steps 3 4 applied 2");
        peer_close(&other);
        close_two(&hub, &ann, &ben);
}

SCN_TEST(undo, of_an_import_removes_it_in_one_and_redo_brings_it_back)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        struct scn_op ops[100];
        open_two(&hub, &ann, &ben);
        for (uint32_t i = 0; i < 100; i++) {
                ops[i] = scene_add(0, 100 + i, "imported");
                ops[i].parent = i == 0 ? scene_ref(1) : scene_ref(100 + (i - 1) / 2);
                ops[i].parent = i == 0 ? scene_id(1) : ops[i].parent;
        }
        peer_edit(&ann, ops, 100);
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        const struct scn_digests before = scn_document_digests(document_of(&hub));
        undo(&ann, (struct wish){0}, "steps 3 applied 1");
        cr_assert_eq(scn_document_nodes_count(document_of(&hub)), 3);
        redo(&ann, 1, "steps 3 applied 100");
        const struct scn_digests after = scn_document_digests(document_of(&hub));
        cr_assert_eq(memcmp(&before, &after, sizeof before), 0);
        close_two(&hub, &ann, &ben);
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
        (void)edit(&ann, scene_add(1, 20, "N"));
        peer_close(&ann);
        hub_stop(&hub);
        hub_restart(&hub);
        peer_open(&cy, &hub, 3, "cy", "test");
        expect_nothing(&cy);
        peer_close(&cy);
        hub_finish(&hub);
}

SCN_TEST(undo, has_its_number_counted_when_there_is_nothing)
{
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "test");
        expect_nothing(&ann);
        expect_nothing(&ann);
        cr_assert_eq(edit(&ann, scene_add(1, 20, "N")), 1);
        send_undo(&ann, (struct wish){.step = 77});
        peer_expect_code(&ann, SCN_MESSAGE_refused, "nothing_to_undo");
        undo(&ann, (struct wish){0}, "steps 1 applied 1");
        peer_close(&ann);
        hub_finish(&hub);
}

/* One undo took many steps; each has its records in the same transaction. */
SCN_TEST(undo, of_many_steps_at_once_is_brought_back_in_any_portions)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        struct scn_message message;
        struct scn_digests states[41];
        open_two(&hub, &ann, &ben);
        for (uint32_t i = 0; i < 40; i++) {
                states[i] = scn_document_digests(document_of(&hub));
                (void)edit(&ann, i % 3 == 0 ? scene_add(2, 100 + i, "n") : scene_translate(2, (float)i, 1, 2));
        }
        states[40] = scn_document_digests(document_of(&hub));
        /* One in the middle is used up: nothing of it comes back. */
        (void)edit(&ben, scene_rename(id_of(&hub, 118), "Ben's"));
        send_undo(&ann, (struct wish){.count = 21});
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        send_undo(&ann, (struct wish){0});
        peer_expect_code(&ann, SCN_MESSAGE_refused, "superseded");
        send_undo(&ann, (struct wish){.count = 18});
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        undo(&ben, (struct wish){0}, "steps 43 applied 1");
        for (uint32_t portion = 1, left = 39; left > 0; portion++) {
                send_redo(&ann, portion);
                message = peer_expect(&ann, SCN_MESSAGE_applied);
                left -= portion < left ? portion : left;
        }
        const struct scn_digests after = scn_document_digests(document_of(&hub));
        cr_assert_eq(memcmp(&states[40], &after, sizeof after), 0);
        (void)message;
        close_two(&hub, &ann, &ben);
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
        cr_assert_eq(edit(&ann, scene_add(1, 50, "boat")), 1);
        cr_assert_eq(edit(&ann, scene_rename(2, "ship")), 2);
        undo(&ann, (struct wish){0}, "steps 2 applied 1");
        peer_close(&ann);
        for (uint32_t i = 0; i < OTHERS; i++) {
                struct peer other;
                char name[16];
                (void)snprintf(name, sizeof name, "other %u", i);
                peer_open(&other, &hub, 2 + i, name, "test");
                (void)edit(&other, scene_add(1, 100 + i, name));
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
        cr_assert_eq(edit(&ann, scene_translate(2, 1, 0, 0)), 3 + OTHERS + 1);
        cr_assert_eq(hub.server->rooms->authors.idle_count, SCN_AUTHORS_IDLE_MAX);
        undo(&ann, (struct wish){.count = 2}, "steps 71 1 applied 2");
        cr_assert_eq(id_of(&hub, 50), 0);
        redo(&ann, 2, "steps 1 71 applied 2");
        cr_assert_eq(x_of(&hub, "/boat"), 1);
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
        open_two(&hub, &ann, &ben);
        for (uint64_t nth = 1; nth <= 40; nth++) {
                send_grouped(&ann, scene_translate(2, (float)nth, 0, 0), nth);
                turn_without(&hub, &ann, nth);
                const bool is_there = was_taken(&ann);
                lost_count += !is_there;
                (void)edit(&ben, scene_translate(3, (float)nth, 0, 0));
                const scn_revision revision = edit_in(&ann, nth, scene_translate(2, (float)nth, 1, 0));
                if (!is_there) {
                        (void)snprintf(summary, sizeof summary, "steps %llu applied 1", (unsigned long long)revision);
                        undo(&ann, (struct wish){0}, summary);
                }
        }
        cr_assert_gt(lost_count, 5, "lost %u", lost_count);
        close_two(&hub, &ann, &ben);
}

SCN_TEST(undo, that_memory_did_not_suffice_for_can_be_asked_for_again)
{
        struct hub hub;
        struct peer ann;
        struct peer ben;
        uint32_t lost_count = 0;
        open_two(&hub, &ann, &ben);
        (void)edit(&ann, scene_translate(2, 1, 0, 0));
        undo(&ann, (struct wish){0}, "steps 3 applied 1");
        redo(&ann, 1, "steps 3 applied 1");
        for (uint64_t nth = 1; nth <= 40; nth++) {
                send_undo(&ann, (struct wish){0});
                scn_server_turn(hub.server);
                cr_assert_eq(hub.jobs_count, 1);
                hub.jobs[0]->run(hub.jobs[0]);
                hub.jobs[0]->done(hub.jobs[--hub.jobs_count]);
                turn_without(&hub, &ann, nth);
                if (!was_taken(&ann)) {
                        lost_count++;
                        undo(&ann, (struct wish){0}, "steps 3 applied 1");
                }
                redo(&ann, 1, "steps 3 applied 1");
        }
        cr_assert_gt(lost_count, 5, "lost %u", lost_count);
        close_two(&hub, &ann, &ben);
}
