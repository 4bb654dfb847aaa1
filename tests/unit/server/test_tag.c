/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Names for revisions, and asking for the past by them. */

#include "tests/lib/asking.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

static void send_tag(struct peer *peer, const char *name, uint64_t rev, bool remove)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_tag);
        message.as.tag.request = 9;
        message.as.tag.name = scene_text(name);
        message.as.tag.rev = rev;
        message.as.tag.remove = remove;
        peer_send(peer, &message);
}

static bool is_same(struct scn_digest a, struct scn_digest b)
{
        return a.high == b.high && a.low == b.low;
}

SCN_TEST(tag, names_a_revision_for_everybody_and_after_a_restart)
{
        struct hub hub;
        struct peer ann;
        struct peer bob;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "isle");
        cr_assert_eq(asking_edit(&ann, scene_add(1, 50, "boat")), 1);
        const struct scn_digest first = asking_digest(&ann, NULL);
        cr_assert_eq(asking_tag(&ann, "first", SCN_ABSENT), 1);
        cr_assert_eq(asking_edit(&ann, scene_rename(2, "ship")), 2);
        peer_open(&bob, &hub, 2, "bob", "isle");
        cr_assert(is_same(asking_digest(&bob, "first"), first));
        cr_assert_eq(asking_tag(&bob, "first", 2), 2);
        cr_assert_eq(asking_tag(&bob, "start", 0), 0);
        peer_close(&ann);
        peer_close(&bob);
        hub_stop(&hub);
        hub_restart(&hub);
        peer_open(&bob, &hub, 2, "bob", "isle");
        cr_assert_not(is_same(asking_digest(&bob, "first"), first));
        cr_assert(is_same(asking_digest(&bob, "first"), asking_digest(&bob, NULL)));
        peer_close(&bob);
        hub_finish(&hub);
}

SCN_TEST(tag, without_a_revision_has_what_its_author_sent_before)
{
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "isle");
        for (uint32_t i = 0; i < 20; i++) {
                const struct scn_op op = scene_add(1, 50 + i, "node");
                peer_edit(&ann, &op, 1);
        }
        cr_assert_eq(asking_tag(&ann, "twenty", SCN_ABSENT), 20);
        peer_close(&ann);
        hub_finish(&hub);
}

SCN_TEST(tag, that_could_not_be_found_again_is_refused)
{
        static char name[258];
        const char *const bad[] = {"", "12", "2026-01-31T", "2026-01-31T12:00:00Z", name};
        struct hub hub;
        struct peer ann;
        memset(name, 'n', sizeof name - 1);
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "isle");
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
                send_tag(&ann, bad[i], 0, false);
                peer_expect_code(&ann, SCN_MESSAGE_failed, "bad_tag");
        }
        name[256] = '\0';
        cr_assert_eq(asking_tag(&ann, name, 0), 0);
        (void)asking_digest(&ann, name);
        cr_assert_eq(asking_tag(&ann, "2026-01-31", 0), 0);
        send_tag(&ann, "later", 1, false);
        peer_expect_code(&ann, SCN_MESSAGE_failed, "future");
        peer_close(&ann);
        hub_finish(&hub);
}

SCN_TEST(tag, that_is_removed_names_nothing)
{
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "isle");
        (void)asking_edit(&ann, scene_add(1, 50, "boat"));
        (void)asking_tag(&ann, "first", 1);
        send_tag(&ann, "first", SCN_ABSENT, true);
        cr_assert_eq(asking_member(peer_expect(&ann, SCN_MESSAGE_answer).as.answer.body, "rev"), 1);
        asking_expect_failure(&ann, "first", "no_tag");
        send_tag(&ann, "first", SCN_ABSENT, true);
        peer_expect_code(&ann, SCN_MESSAGE_failed, "no_tag");
        peer_close(&ann);
        hub_finish(&hub);
}

SCN_TEST(tag, lists_of_many_come_in_parts)
{
        struct hub hub;
        struct peer ann;
        struct scn_message message;
        uint32_t told = 0;
        uint32_t parts = 0;
        static char author[257];
        memset(author, 'a', sizeof author - 1);
        hub_start(&hub);
        peer_open(&ann, &hub, 1, author, "isle");
        for (uint32_t i = 0; i < 600; i++) {
                char name[256];
                (void)snprintf(name, sizeof name, "%0240u.", i);
                (void)asking_tag(&ann, name, 0);
        }
        scn_message_init(&message, SCN_MESSAGE_tags);
        message.as.tags.request = 10;
        peer_send(&ann, &message);
        do {
                message = peer_expect(&ann, SCN_MESSAGE_answer);
                struct scn_unpacker unpacker = scn_unpacker_from(message.as.answer.body);
                const uint32_t count = scn_unpack_array(&unpacker);
                const struct scn_slice first = scn_unpack_raw(&unpacker);
                char name[256];
                (void)snprintf(name, sizeof name, "%0240u.", told);
                cr_assert(count == 0 || asking_has_text(first, "name", name));
                cr_assert(asking_has_text(first, "author", author));
                told += count;
                parts++;
        } while (message.as.answer.more);
        cr_expect_eq(told, 600);
        cr_expect_geq(parts, 2);
        peer_close(&ann);
        hub_finish(&hub);
}
