/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Who did what: blame, log by group and time, replays that tell less than all. */

#include "protocol/wire/columns.h"
#include "protocol/wire/ops.h"
#include "tests/lib/asking.h"
#include "tests/lib/held.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

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
}

static void tear_down(struct stage *stage)
{
        peer_close(&stage->ann);
        peer_close(&stage->bob);
        hub_finish(&stage->hub);
}

/* --- blame --- */

static struct scn_unpacker blame(struct peer *peer, scn_node_id id, uint32_t *count_out)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_blame);
        message.as.blame.request = 7;
        message.as.blame.node = scene_id(id);
        peer_send(peer, &message);
        message = peer_expect(peer, SCN_MESSAGE_answer);
        struct scn_unpacker unpacker = scn_unpacker_from(message.as.answer.body);
        *count_out = scn_unpack_array(&unpacker);
        return unpacker;
}

SCN_TEST(blame, names_who_set_each_field_and_when)
{
        static const struct {
                const char *field;
                const char *author;
                scn_revision rev;
        } wanted[] = {{"place", "ann", 1}, {"name", "bob", 2}, {"translation", "ann", 3}, {"rotation", "ann", 1},
                {"scale", "ann", 1}, {"property", "bob", 4}};
        struct stage stage;
        uint32_t count;
        set_up(&stage);
        (void)asking_edit(&stage.ann, scene_add(1, 50, "boat"));
        (void)asking_edit(&stage.bob, scene_rename(2, "ship"));
        (void)asking_edit(&stage.ann, scene_translate(2, 1, 2, 3));
        (void)asking_edit(&stage.bob, scene_set(2, "kept", scene_integer(1)));
        (void)asking_edit(&stage.bob, scene_set(2, "gone", scene_integer(1)));
        (void)asking_edit(&stage.ann, scene_set(2, "gone", (struct scn_slice){NULL, 0}));
        struct scn_unpacker fields = blame(&stage.ann, 2, &count);
        cr_assert_eq(count, 6);
        for (uint32_t i = 0; i < count; i++) {
                const struct scn_slice map = scn_unpack_raw(&fields);
                cr_assert(asking_has_text(map, "field", wanted[i].field), "field %u", i);
                cr_assert(asking_has_text(map, "author", wanted[i].author), "field %u", i);
                cr_assert_eq(asking_member(map, "rev"), wanted[i].rev);
                cr_assert_eq(asking_member(map, "step"), wanted[i].rev);
                cr_assert_gt(asking_member(map, "time"), 0);
                cr_assert_eq(asking_has_text(map, "key", "kept"), i == 5);
        }
        tear_down(&stage);
}

SCN_TEST(blame, of_a_value_that_undo_brought_back_names_both_the_undo_and_the_step)
{
        struct stage stage;
        uint32_t count;
        set_up(&stage);
        (void)asking_edit(&stage.ann, scene_add(1, 50, "boat"));
        (void)asking_edit(&stage.ann, scene_rename(2, "ship"));
        peer_undo(&stage.ann, (struct peer_wish){0});
        cr_assert_eq(peer_expect(&stage.ann, SCN_MESSAGE_applied).as.applied.rev, 3);
        struct scn_unpacker fields = blame(&stage.bob, 2, &count);
        (void)scn_unpack_raw(&fields);
        const struct scn_slice name = scn_unpack_raw(&fields);
        cr_assert_eq(asking_member(name, "rev"), 3);
        cr_assert_eq(asking_member(name, "step"), 1);
        cr_assert(asking_has_text(name, "cause", "undo"));
        tear_down(&stage);
}

SCN_TEST(blame, names_an_import_as_what_it_is_and_undo_takes_it_back_like_any_edit)
{
        struct stage stage;
        struct scn_message message;
        struct scn_buffer ops;
        uint32_t count;
        set_up(&stage);
        const struct scn_op op = scene_add(1, 50, "boat");
        scn_buffer_init(&ops, 1024);
        struct scn_packer packer = scn_packer_to(&ops);
        scn_ops_encode(&packer, &op, 1);
        scn_message_init(&message, SCN_MESSAGE_edit);
        message.as.edit.number = ++stage.ann.number;
        message.as.edit.ops = (struct scn_slice){ops.data, (uint32_t)ops.size};
        message.as.edit.import = true;
        peer_send(&stage.ann, &message);
        (void)peer_expect(&stage.ann, SCN_MESSAGE_applied);
        struct scn_unpacker fields = blame(&stage.bob, 2, &count);
        cr_assert(asking_has_text(scn_unpack_raw(&fields), "cause", "import"));
        peer_undo(&stage.ann, (struct peer_wish){0});
        cr_assert_eq(peer_expect(&stage.ann, SCN_MESSAGE_applied).as.applied.rev, 2);
        scn_buffer_finish(&ops);
        tear_down(&stage);
}

SCN_TEST(blame, of_a_root_that_nobody_touched_names_nobody)
{
        struct stage stage;
        uint32_t count;
        set_up(&stage);
        struct scn_unpacker fields = blame(&stage.ann, 1, &count);
        cr_assert_eq(count, 5);
        for (uint32_t i = 0; i < count; i++) {
                const struct scn_slice map = scn_unpack_raw(&fields);
                cr_assert_eq(asking_member(map, "rev"), 0);
                cr_assert_not(asking_has(map, "author"));
        }
        tear_down(&stage);
}

/* --- log --- */

struct wish {
        uint64_t group;
        const char *since;
        const char *until;
        uint64_t last; /* 0: all */
};

/* The revisions that the log tells, as digits: "124". */
static void read_log(struct peer *peer, struct wish wish, char revisions[16])
{
        uint8_t since[ASKING_AT_BYTES];
        uint8_t until[ASKING_AT_BYTES];
        struct scn_message message;
        uint32_t size = 0;
        scn_message_init(&message, SCN_MESSAGE_log);
        message.as.log.request = 7;
        message.as.log.group = wish.group;
        message.as.log.since = asking_at(since, wish.since);
        message.as.log.until = asking_at(until, wish.until);
        message.as.log.last = wish.last == 0 ? SCN_ABSENT : wish.last;
        peer_send(peer, &message);
        message = peer_expect(peer, SCN_MESSAGE_answer);
        struct scn_unpacker unpacker = scn_unpacker_from(message.as.answer.body);
        const uint32_t count = scn_unpack_array(&unpacker);
        cr_assert_lt(count, 16);
        while (size < count) {
                revisions[size++] = (char)('0' + asking_member(scn_unpack_raw(&unpacker), "rev"));
        }
        revisions[size] = '\0';
}

static void edit_in_group(struct peer *peer, uint64_t group, struct scn_op op)
{
        peer_edit_in(peer, group, &op, 1);
        (void)peer_expect(peer, SCN_MESSAGE_applied);
}

SCN_TEST(log, tells_what_is_of_a_group_or_between_two_times_or_tags_and_the_last_of_it)
{
        struct stage stage;
        char revisions[16];
        set_up(&stage);
        (void)asking_edit(&stage.ann, scene_add(1, 50, "boat"));
        edit_in_group(&stage.ann, 5, scene_translate(2, 1, 0, 0));
        (void)asking_tag(&stage.ann, "mark", SCN_ABSENT);
        (void)asking_edit(&stage.bob, scene_rename(2, "ship"));
        edit_in_group(&stage.ann, 5, scene_translate(2, 2, 0, 0));
        const struct {
                struct wish wish;
                const char *revisions;
        } cases[] = {
                {{.group = SCN_ABSENT}, "1234"},
                {{.group = 5}, "24"},
                {{.group = SCN_ABSENT, .since = "mark"}, "34"},
                {{.group = SCN_ABSENT, .until = "mark"}, "12"},
                {{.group = 5, .since = "mark", .until = "3"}, ""},
                {{.group = SCN_ABSENT, .since = "1", .until = "3"}, "23"},
                {{.group = SCN_ABSENT, .until = "0"}, ""},
                {{.group = SCN_ABSENT, .since = "2099-01-31T12:00:00Z"}, ""},
                {{.group = SCN_ABSENT, .since = "1999-01-31T12:00:00Z"}, "1234"},
                {{.group = SCN_ABSENT, .last = 1}, "4"},
                {{.group = SCN_ABSENT, .last = 4}, "1234"},
                {{.group = SCN_ABSENT, .last = 5}, "1234"},
                {{.group = 5, .last = 1}, "4"},
                {{.group = 5, .until = "3", .last = 1}, "2"},
                {{.group = SCN_ABSENT, .since = "1", .until = "3", .last = 9}, "23"},
                {{.group = SCN_ABSENT, .since = "1", .until = "3", .last = 1}, "3"},
                {{.group = SCN_ABSENT, .until = "0", .last = 1}, ""},
                {{.group = SCN_ABSENT, .since = "2099-01-31T12:00:00Z", .last = 1}, ""},
        };
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                read_log(&stage.bob, cases[i].wish, revisions);
                cr_assert_str_eq(revisions, cases[i].revisions, "case %zu: %s", i, revisions);
        }
        tear_down(&stage);
}

/* --- replay --- */

SCN_TEST(history, a_log_of_a_range_with_nothing_in_it_is_empty)
{
        static const uint64_t ranges[][2] = {{2, 1}, {3, SCN_ABSENT}, {99, 100}};
        struct scn_message message;
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "test");
        (void)asking_edit(&ann, scene_add(1, 50, "a"));
        (void)asking_edit(&ann, scene_add(1, 51, "b"));
        for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
                scn_message_init(&message, SCN_MESSAGE_log);
                message.as.log.request = 7;
                message.as.log.from = ranges[i][0];
                message.as.log.to = ranges[i][1];
                peer_send(&ann, &message);
                const struct scn_slice body = peer_expect(&ann, SCN_MESSAGE_answer).as.answer.body;
                cr_expect(body.size == 1 && body.data[0] == 0x90, "case %zu", i);
        }
        peer_close(&ann);
        hub_finish(&hub);
}

static void replay_of(struct peer *peer, struct scn_node_ref node)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_replay);
        message.as.replay.request = 7;
        message.as.replay.node = node;
        peer_send(peer, &message);
}

SCN_TEST(history, a_replay_of_a_uid_is_empty_until_it_appears_but_a_path_must_lead_somewhere)
{
        struct scn_message message;
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "test");
        (void)asking_edit(&ann, scene_add(1, 50, "a"));
        (void)asking_edit(&ann, scene_add(1, 51, "b"));
        replay_of(&ann, (struct scn_node_ref){.kind = SCN_REF_UID, .uid = scene_uid(51)});
        message = peer_expect(&ann, SCN_MESSAGE_delta);
        cr_expect(message.as.delta.to == 0 && message.as.delta.columns.size == 5, "it is whole, and has no root");
        message = peer_expect(&ann, SCN_MESSAGE_delta);
        cr_expect_eq(message.as.delta.to, 2);
        replay_of(&ann, (struct scn_node_ref){.kind = SCN_REF_UID, .uid = scene_uid(77)});
        (void)peer_expect(&ann, SCN_MESSAGE_delta);
        while (peer_expect(&ann, SCN_MESSAGE_answer).as.answer.more) {
        }
        replay_of(&ann, scene_path("/c"));
        peer_expect_code(&ann, SCN_MESSAGE_failed, "no_node");
        peer_close(&ann);
        hub_finish(&hub);
}

static void send_replay(struct peer *peer, const char *from, const char *to, bool is_merged, const char *author)
{
        uint8_t begins[ASKING_AT_BYTES];
        uint8_t ends[ASKING_AT_BYTES];
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_replay);
        message.as.replay.request = 31;
        message.as.replay.from = asking_at(begins, from);
        message.as.replay.to = asking_at(ends, to);
        message.as.replay.merged = is_merged;
        message.as.replay.author = author == NULL ? (struct scn_slice){NULL, 0} : scene_text(author);
        peer_send(peer, &message);
}

/* These scenes fit into one part. */
static void apply(struct held *held, const struct scn_message_delta *message)
{
        struct scn_delta delta = {0};
        cr_assert_not(message->more);
        cr_assert_eq(scn_columns_decode(message->columns, &delta), SCN_OK);
        delta.to = message->to;
        delta.from = message->to - message->back;
        delta.root = delta.is_whole ? delta.root : scn_document_root(held->replica);
        cr_assert_eq(scn_document_apply_delta(held->replica, &delta), SCN_OK);
        scn_delta_finish(&delta);
}

static bool ends_with_digest_of(struct scn_slice body, const struct held *held)
{
        static const uint8_t head[] = "\x81\xa6"
                                      "digest\xc4\x10";
        struct scn_digest digest = {0, 0};
        cr_assert_eq(body.size, sizeof head - 1 + 16);
        cr_assert_eq(memcmp(body.data, head, sizeof head - 1), 0);
        for (size_t i = 0; i < 8; i++) {
                digest.high = digest.high << 8 | body.data[sizeof head - 1 + i];
                digest.low = digest.low << 8 | body.data[sizeof head + 7 + i];
        }
        return has_digest(held->replica, digest);
}

/* What comes, as letters: d a delta, and its last revision; h a head, and its revision; e the end. The deltas are
 * applied to a replica, which must then be what the end says. */
static void follow(struct peer *peer, char story[64])
{
        struct held held;
        struct scn_message message;
        size_t size = 0;
        hold(&held);
        for (bool has_more = true; has_more;) {
                cr_assert(peer_receive(peer, &message));
                cr_assert_lt(size, 60);
                if (message.kind == SCN_MESSAGE_delta) {
                        story[size++] = 'd';
                        story[size++] = (char)('0' + message.as.delta.to);
                        apply(&held, &message.as.delta);
                } else {
                        cr_assert_eq(message.kind, SCN_MESSAGE_answer);
                        has_more = message.as.answer.more;
                        story[size++] = has_more ? 'h' : 'e';
                        story[size++] = (char)('0' + message.as.answer.rev);
                }
        }
        story[size] = '\0';
        cr_assert(ends_with_digest_of(message.as.answer.body, &held));
        let_go(&held);
}

static void make_four(struct stage *stage)
{
        set_up(stage);
        (void)asking_edit(&stage->bob, scene_add(1, 50, "boat"));
        (void)asking_edit(&stage->ann, scene_add(2, 51, "mast"));
        (void)asking_edit(&stage->bob, scene_remove(3));
        (void)asking_edit(&stage->bob, scene_add(2, 52, "oar"));
        (void)asking_edit(&stage->ann, scene_rename(2, "ship"));
        (void)asking_edit(&stage->bob, scene_translate(2, 5, 5, 5));
}

SCN_TEST(replay, merged_tells_two_revisions_and_nothing_between)
{
        struct stage stage;
        char story[64];
        make_four(&stage);
        send_replay(&stage.ann, "2", "5", true, NULL);
        follow(&stage.ann, story);
        cr_assert_str_eq(story, "d2d5e5");
        send_replay(&stage.ann, "3", "3", true, NULL);
        follow(&stage.ann, story);
        cr_assert_str_eq(story, "d3e3");
        send_replay(&stage.ann, NULL, NULL, true, NULL);
        follow(&stage.ann, story);
        cr_assert_str_eq(story, "d0d6e6");
        tear_down(&stage);
}

SCN_TEST(replay, of_one_author_tells_what_others_did_meanwhile_as_nobodys)
{
        struct stage stage;
        char story[64];
        make_four(&stage);
        send_replay(&stage.ann, NULL, NULL, false, "ann");
        follow(&stage.ann, story);
        cr_assert_str_eq(story, "d0d1h2d2d4h5d5d6e6");
        send_replay(&stage.ann, "1", "5", false, "bob");
        follow(&stage.ann, story);
        cr_assert_str_eq(story, "d1d2h3d3h4d4d5e5");
        send_replay(&stage.ann, "1", "3", false, "cy");
        follow(&stage.ann, story);
        cr_assert_str_eq(story, "d1e3");
        tear_down(&stage);
}

SCN_TEST(replay, begins_and_ends_at_revisions_times_or_tags)
{
        struct stage stage;
        char story[64];
        make_four(&stage);
        (void)asking_tag(&stage.ann, "oars", 4);
        send_replay(&stage.ann, "oars", "2099-01-31T12:00:00Z", false, NULL);
        follow(&stage.ann, story);
        cr_assert_str_eq(story, "d4h5d5h6d6e6");
        send_replay(&stage.ann, "oars", "3", true, NULL);
        peer_expect_code(&stage.ann, SCN_MESSAGE_failed, "range");
        send_replay(&stage.ann, "oars", "9", true, NULL);
        peer_expect_code(&stage.ann, SCN_MESSAGE_failed, "future");
        send_replay(&stage.ann, "7", NULL, false, NULL);
        peer_expect_code(&stage.ann, SCN_MESSAGE_failed, "future");
        send_replay(&stage.ann, "nowhere", NULL, false, NULL);
        peer_expect_code(&stage.ann, SCN_MESSAGE_failed, "no_tag");
        tear_down(&stage);
}

/* The live document has forgotten what lies so far back; the one that compares must not. */
SCN_TEST(replay, merged_knows_what_was_removed_before_the_horizon)
{
        struct stage stage;
        char story[64];
        set_up(&stage);
        peer_close(&stage.ann);
        peer_close(&stage.bob);
        hub_stop(&stage.hub);
        stage.hub.limits.past_min = 1;
        hub_restart(&stage.hub);
        peer_open(&stage.ann, &stage.hub, 1, "ann", "isle");
        peer_open(&stage.bob, &stage.hub, 2, "bob", "isle");
        (void)asking_edit(&stage.ann, scene_add(1, 50, "boat"));
        for (uint32_t i = 0; i < 4; i++) {
                (void)asking_edit(&stage.ann, i % 2 == 0 ? scene_add(2, 60, "oar") : scene_remove(3 + i / 2));
        }
        (void)asking_edit(&stage.ann, scene_remove(2));
        send_replay(&stage.ann, "2", "6", true, NULL);
        follow(&stage.ann, story);
        cr_assert_str_eq(story, "d2d6e6");
        tear_down(&stage);
}
