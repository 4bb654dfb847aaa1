/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* A new document out of a revision of another. */

#include "server/core.h"
#include "tests/lib/asking.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct stage {
        struct hub hub;
        struct peer ann;
};

static void set_up(struct stage *stage)
{
        hub_start(&stage->hub);
        peer_open(&stage->ann, &stage->hub, 1, "ann", "isle");
        (void)asking_edit(&stage->ann, scene_add(1, 50, "boat"));
        (void)asking_edit(&stage->ann, scene_add(2, 51, "oar"));
        (void)asking_edit(&stage->ann, scene_set(1, "key", scene_integer(7)));
        (void)asking_edit(&stage->ann, scene_remove(3));
}

static void tear_down(struct stage *stage)
{
        peer_close(&stage->ann);
        hub_finish(&stage->hub);
}

static void send(struct peer *peer, const char *at, const char *to)
{
        uint8_t bytes[ASKING_AT_BYTES];
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_fork);
        message.as.fork.request = 5;
        message.as.fork.at = asking_at(bytes, at);
        message.as.fork.to = scene_text(to);
        peer_send(peer, &message);
}

static bool is_same(struct scn_digest a, struct scn_digest b)
{
        return a.high == b.high && a.low == b.low;
}

static uint32_t count_files(const struct hub *hub)
{
        DIR *folder = opendir(hub->path);
        uint32_t count = 0;
        cr_assert_not_null(folder);
        while (readdir(folder) != NULL) {
                count++;
        }
        cr_assert_eq(closedir(folder), 0);
        return count;
}

SCN_TEST(fork, has_the_digest_of_its_revision_and_remembers_where_it_came_from)
{
        struct stage stage;
        struct peer bob;
        struct scn_message message;
        set_up(&stage);
        send(&stage.ann, "3", "second");
        const struct scn_message answer = peer_expect(&stage.ann, SCN_MESSAGE_answer);
        cr_assert(asking_has_text(answer.as.answer.body, "doc", "second"));
        cr_assert_eq(asking_member(answer.as.answer.body, "rev"), 3);
        const struct scn_digest wanted = asking_digest(&stage.ann, "3");
        peer_open(&bob, &stage.hub, 2, "bob", "second");
        cr_assert(is_same(asking_digest(&bob, NULL), wanted));
        scn_message_init(&message, SCN_MESSAGE_info);
        message.as.info.request = 6;
        peer_send(&bob, &message);
        message = peer_expect(&bob, SCN_MESSAGE_answer);
        cr_assert_eq(asking_member(message.as.answer.body, "forked_at"), 3);
        cr_assert(asking_has(message.as.answer.body, "forked_from"));
        cr_assert_eq(asking_edit(&bob, scene_rename(2, "ship")), 2);
        peer_close(&bob);
        peer_close(&stage.ann);
        hub_stop(&stage.hub);
        hub_restart(&stage.hub);
        peer_open(&bob, &stage.hub, 2, "bob", "second");
        cr_assert(is_same(asking_digest(&bob, "1"), wanted));
        stage.ann = bob;
        tear_down(&stage);
}

SCN_TEST(fork, has_no_steps_to_undo)
{
        struct stage stage;
        struct peer ann;
        struct scn_message message;
        set_up(&stage);
        send(&stage.ann, NULL, "second");
        cr_assert_eq(asking_member(peer_expect(&stage.ann, SCN_MESSAGE_answer).as.answer.body, "rev"), 4);
        peer_open(&ann, &stage.hub, 3, "ann", "second");
        scn_message_init(&message, SCN_MESSAGE_undo);
        for (uint64_t step = 0; step < 2; step++) {
                message.as.undo.number = ++ann.number;
                message.as.undo.step = step == 0 ? SCN_ABSENT : step;
                peer_send(&ann, &message);
                peer_expect_code(&ann, SCN_MESSAGE_refused, "nothing_to_undo");
        }
        peer_close(&ann);
        tear_down(&stage);
}

SCN_TEST(fork, of_the_beginning_is_empty)
{
        struct stage stage;
        struct peer ann;
        set_up(&stage);
        send(&stage.ann, "0", "second");
        (void)peer_expect(&stage.ann, SCN_MESSAGE_answer);
        peer_open(&ann, &stage.hub, 3, "ann", "second");
        cr_assert(is_same(asking_digest(&ann, NULL), asking_digest(&stage.ann, "0")));
        cr_assert_eq(asking_edit(&ann, scene_add(1, 60, "first")), 1);
        peer_close(&ann);
        tear_down(&stage);
}

SCN_TEST(fork, that_fails_leaves_nothing_behind)
{
        struct stage stage;
        set_up(&stage);
        send(&stage.ann, NULL, "second");
        (void)peer_expect(&stage.ann, SCN_MESSAGE_answer);
        const uint32_t files = count_files(&stage.hub);
        const struct {
                const char *at;
                const char *to;
                const char *code;
        } cases[] = {{NULL, "second", "document_exists"}, {NULL, "isle", "document_exists"}, {NULL, "", "bad_name"},
                {"9", "third", "future"}, {"never", "third", "no_tag"}};
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                send(&stage.ann, cases[i].at, cases[i].to);
                peer_expect_code(&stage.ann, SCN_MESSAGE_failed, cases[i].code);
        }
        cr_assert_eq(count_files(&stage.hub), files);
        cr_assert_eq(stage.hub.warnings_logged, 0, "what there is not may be asked for often");
        tear_down(&stage);
}

SCN_TEST(fork, names_the_document_that_it_could_not_read)
{
        char file[128];
        struct stage stage;
        set_up(&stage);
        (void)snprintf(file, sizeof file, "%s/isle.scene", stage.hub.path);
        cr_assert_eq(unlink(file), 0);
        send(&stage.ann, NULL, "second");
        peer_expect_text(&stage.ann, SCN_MESSAGE_failed, "document isle: no document has this name");
        tear_down(&stage);
}

/* A draft that cannot be filled: the limits in force do not take what the source has. */
SCN_TEST(fork, that_breaks_off_half_way_leaves_nothing_behind)
{
        struct stage stage;
        set_up(&stage);
        const uint32_t files = count_files(&stage.hub);
        stage.hub.server->options.limits.ops_max = 1;
        send(&stage.ann, "2", "second");
        peer_expect_code(&stage.ann, SCN_MESSAGE_failed, "too_many_ops");
        cr_assert_eq(count_files(&stage.hub), files);
        tear_down(&stage);
}
