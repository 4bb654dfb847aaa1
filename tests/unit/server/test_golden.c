/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The conversation of PROTOCOL.md, held with a server: what it answers to the requests there is what stands there. */

#include "server/live.h"
#include "tests/lib/golden.h"
#include "tests/lib/hub.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

struct talk {
        struct hub hub;
        struct peer peer;
        uint8_t bytes[65536]; /* what was heard or is to be said, in the terms of the page */
        uint32_t size;
        uint8_t document[16]; /* what the server chose, and the page chose otherwise */
        uint8_t root[16];
        uint8_t epoch[8];
};

/* Puts `to` wherever `from` stands. */
static void replace(struct talk *talk, const uint8_t *from, uint8_t to, uint32_t size)
{
        for (uint32_t at = 0; at + size <= talk->size; at++) {
                if (memcmp(talk->bytes + at, from, size) == 0) {
                        for (uint32_t i = 0; i < size; i++) {
                                talk->bytes[at + i] = (uint8_t)(to + i);
                        }
                }
        }
}

/* What stands behind a word and cannot be foretold is taken from the example. */
static void forgive(struct talk *talk, struct scn_slice example, const char *word, uint32_t size)
{
        const uint32_t length = (uint32_t)strlen(word);
        for (uint32_t at = 0; example.size == talk->size && at + length + size <= talk->size; at++) {
                if (memcmp(talk->bytes + at, word, length) == 0) {
                        memcpy(talk->bytes + at + length, example.data + at + length, size);
                }
        }
}

static void replace_epoch_text(struct talk *talk)
{
        char text[17];
        for (size_t i = 0; i < sizeof talk->epoch; i++) {
                (void)snprintf(text + 2 * i, 3, "%02x", talk->epoch[i]);
        }
        for (uint32_t at = 0; at + 16 <= talk->size; at++) {
                if (memcmp(talk->bytes + at, text, 16) == 0) {
                        memcpy(talk->bytes + at, "f0f1f2f3f4f5f6f7", 16);
                }
        }
}

static void say(struct talk *talk, const char *name)
{
        const struct scn_slice example = golden_get(name);
        struct scn_buffer frame;
        memcpy(talk->bytes, example.data, example.size);
        talk->size = example.size;
        for (uint32_t at = 0; at + 8 <= talk->size; at++) {
                if (memcmp(talk->bytes + at, "\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7", 8) == 0) {
                        memcpy(talk->bytes + at, talk->epoch, 8);
                }
        }
        scn_buffer_init(&frame, sizeof talk->bytes);
        cr_assert_eq(scn_frame_append_head(&frame, talk->size), SCN_OK);
        cr_assert_eq(scn_buffer_append(&frame, talk->bytes, talk->size), SCN_OK);
        peer_send_bytes(&talk->peer, frame.data, frame.size);
        scn_buffer_finish(&frame);
}

static void hear_from(struct talk *talk, struct peer *peer, const char *name)
{
        struct scn_message message;
        cr_assert(peer_receive(peer, &message), "%s did not come", name);
        memcpy(talk->bytes, peer->payload.data, peer->payload.size);
        talk->size = peer->payload.size;
        replace(talk, talk->document, 0xd0, sizeof talk->document);
        replace(talk, talk->root, 0xe0, sizeof talk->root);
        replace(talk, talk->epoch, 0xf0, sizeof talk->epoch);
        if (strcmp(name, "answer/log") == 0 || strcmp(name, "answer/tags") == 0 || strcmp(name, "answer/blame") == 0 ||
                strncmp(name, "answer/replay", 13) == 0) {
                forgive(talk, golden_get(name), "time\xcf", 8);
        }
        if (strcmp(name, "answer/verify") == 0 || strcmp(name, "answer/replay-end") == 0) {
                forgive(talk, golden_get(name), "digest\xc4\x10", 16);
        }
        if (strcmp(name, "answer/documents-states") == 0) {
                forgive(talk, golden_get(name), "uid\xc4\x10", 16);
        }
        if (strcmp(name, "answer/info") == 0) {
                replace_epoch_text(talk);
        }
        golden_expect(name, (struct scn_slice){talk->bytes, talk->size});
}

static void hear(struct talk *talk, const char *name)
{
        hear_from(talk, &talk->peer, name);
}

static void greet(struct talk *talk)
{
        struct scn_message message;
        hub_start(&talk->hub);
        peer_connect(&talk->peer, &talk->hub);
        peer_send_bytes(&talk->peer, scn_preface, SCN_PREFACE_BYTES);
        say(talk, "hello");
        cr_assert_eq(peer_expect(&talk->peer, SCN_MESSAGE_welcome).as.welcome.session, 1);
        say(talk, "open");
        message = peer_expect(&talk->peer, SCN_MESSAGE_opened);
        memcpy(talk->document, message.as.opened.document.bytes, 16);
        memcpy(talk->root, message.as.opened.root.bytes, 16);
        memcpy(talk->epoch, message.as.opened.epoch.data, 8);
        memcpy(talk->bytes, talk->peer.payload.data, talk->peer.payload.size);
        talk->size = talk->peer.payload.size;
        replace(talk, talk->document, 0xd0, sizeof talk->document);
        replace(talk, talk->root, 0xe0, sizeof talk->root);
        replace(talk, talk->epoch, 0xf0, sizeof talk->epoch);
        golden_expect("opened", (struct scn_slice){talk->bytes, talk->size});
}

/* Another client, who moves the boat. */
static void let_bob_edit(struct talk *talk, struct peer *bob)
{
        struct scn_message message;
        peer_connect(bob, &talk->hub);
        peer_send_bytes(bob, scn_preface, SCN_PREFACE_BYTES);
        scn_message_init(&message, SCN_MESSAGE_hello);
        message.as.hello.version = SCN_PROTOCOL_VERSION;
        message.as.hello.name = scene_text("bob");
        for (uint8_t i = 0; i < 16; i++) {
                message.as.hello.client.bytes[i] = (uint8_t)(0x80 + i);
        }
        peer_send(bob, &message);
        peer_ask_open(bob, "island", false);
        (void)peer_expect(bob, SCN_MESSAGE_opened);
        const struct scn_op op = scene_translate(2, 12, 0, -2.5f);
        peer_edit(bob, &op, 1);
        cr_assert_eq(peer_expect(bob, SCN_MESSAGE_applied).as.applied.rev, 4);
}

static void edit_and_view(struct talk *talk)
{
        say(talk, "edit");
        hear(talk, "applied");
        say(talk, "view");
        hear(talk, "viewed");
        hear(talk, "delta");
        say(talk, "edit/change");
        hear(talk, "applied/change");
        hear(talk, "delta/changed");
        say(talk, "world");
        hear(talk, "answer/world");
        say(talk, "tree");
        hear(talk, "answer/tree");
        say(talk, "digest");
        hear(talk, "answer/digest");
        say(talk, "digest/at");
        hear(talk, "answer/digest-at");
        say(talk, "edit/all");
        hear(talk, "applied/all");
        hear(talk, "delta/gone");
}

static void be_refused(struct talk *talk, struct peer *bob)
{
        say(talk, "edit/wrong");
        hear(talk, "refused");
        let_bob_edit(talk, bob);
        (void)peer_expect(&talk->peer, SCN_MESSAGE_delta);
        say(talk, "edit/strict");
        hear(talk, "refused/conflict");
        say(talk, "edit/part");
        say(talk, "edit/last");
        hear(talk, "applied/parts");
        hear(talk, "delta/nothing");
        say(talk, "edit/nothing");
        hear(talk, "applied/unchanged");
        say(talk, "tree/nowhere");
        hear(talk, "failed");
        say(talk, "unview");
        say(talk, "view/resume");
        hear(talk, "viewed/resumed");
        hear(talk, "delta/resumed");
}

static void ask_about_the_rest(struct talk *talk, struct peer *bob)
{
        say(talk, "log");
        hear(talk, "answer/log");
        say(talk, "replay");
        hear(talk, "delta/replay-start");
        hear(talk, "answer/replay");
        hear(talk, "delta/replay");
        hear(talk, "answer/replay-end");
        say(talk, "verify");
        hear(talk, "answer/verify");
        say(talk, "documents");
        hear(talk, "answer/documents");
        say(talk, "manage");
        hear(talk, "answer/manage");
        say(talk, "info");
        hear(talk, "answer/info");
        say(talk, "who");
        hear(talk, "answer/who");
        say(talk, "kick");
        hear(talk, "answer/kick");
        hear_from(talk, bob, "failed/closes");
        say(talk, "ping");
        hear(talk, "answer");
        say(talk, "undo");
        hear(talk, "applied/undo");
        (void)peer_expect(&talk->peer, SCN_MESSAGE_delta);
        say(talk, "redo");
        hear(talk, "applied/redo");
}

static void give_names(struct talk *talk)
{
        (void)peer_expect(&talk->peer, SCN_MESSAGE_delta);
        say(talk, "tag");
        hear(talk, "answer/tag");
        say(talk, "tags");
        hear(talk, "answer/tags");
        say(talk, "blame");
        hear(talk, "answer/blame");
        say(talk, "restore");
        hear(talk, "applied/restore");
        (void)peer_expect(&talk->peer, SCN_MESSAGE_delta);
        say(talk, "fork");
        hear(talk, "answer/fork");
}

static void bring_files(struct talk *talk)
{
        say(talk, "adopt");
        hear(talk, "answer/adopt");
        say(talk, "adopt/last");
        hear(talk, "failed/adopt");
}

/* Bob edits what Ann has locked, under the number that his client has not used yet. */
static void be_locked_out(struct talk *talk, struct peer *bob)
{
        peer_open(bob, &talk->hub, 2, "bob", "island");
        const struct scn_op op = scene_translate(2, 1, 0, 0);
        peer_edit(bob, &op, 1);
        hear_from(talk, bob, "refused/locked");
}

SCN_TEST(golden, is_what_a_server_says_of_what_is_only_now)
{
        static struct talk talk;
        struct peer bob;
        greet(&talk);
        say(&talk, "edit");
        hear(&talk, "applied");
        say(&talk, "presence");
        say(&talk, "view/live");
        (void)peer_expect(&talk.peer, SCN_MESSAGE_delta);
        hear(&talk, "live/whole");
        talk.hub.monotonic_ms += SCN_LIVE_INTERVAL_MS;
        say(&talk, "lock");
        say(&talk, "preview");
        hear(&talk, "answer/lock");
        hear(&talk, "live");
        be_locked_out(&talk, &bob);
        say(&talk, "preview/end");
        talk.hub.monotonic_ms += SCN_LIVE_INTERVAL_MS;
        hear(&talk, "live/gone");
        say(&talk, "unlock");
        hear(&talk, "answer/unlock");
        peer_close(&bob);
        peer_close(&talk.peer);
        hub_finish(&talk.hub);
}

/* A document that was never opened has no epoch. */
SCN_TEST(golden, is_what_a_server_says_of_all_its_documents)
{
        static struct talk talk;
        struct scn_message message;
        greet(&talk);
        say(&talk, "edit");
        hear(&talk, "applied");
        say(&talk, "manage");
        hear(&talk, "answer/manage");
        say(&talk, "documents/states");
        hear(&talk, "answer/documents-states");
        scn_message_init(&message, SCN_MESSAGE_manage);
        message.as.manage.request = 11;
        message.as.manage.action = scene_text("delete");
        message.as.manage.document = scene_text("harbour");
        peer_send(&talk.peer, &message);
        hear(&talk, "answer/manage");
        say(&talk, "documents/trash");
        hear(&talk, "answer/documents-trash");
        peer_close(&talk.peer);
        hub_finish(&talk.hub);
}

SCN_TEST(golden, is_what_a_server_says)
{
        static struct talk talk;
        struct peer bob;
        greet(&talk);
        edit_and_view(&talk);
        be_refused(&talk, &bob);
        ask_about_the_rest(&talk, &bob);
        give_names(&talk);
        bring_files(&talk);
        peer_close(&bob);
        peer_close(&talk.peer);
        hub_finish(&talk.hub);
}
