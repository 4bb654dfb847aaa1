/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* A document that has nearly given out its revisions: what is told near 2^53 is exact, and where none is left an edit
 * is refused by name and all else goes on (CASES B39). */

#include "server/checkpoint.h"
#include "server/core.h"
#include "server/room_open.h"
#include "tests/lib/asking.h"
#include "tests/lib/held.h"
#include "tests/lib/scene.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FIRST (SCN_REVISION_MAX - 4)

/* Past the storage; the statement ends with the revision. */
static void change_file(const struct hub *hub, const char *sql, scn_revision revision)
{
        char path[128];
        char text[128];
        (void)snprintf(path, sizeof path, "%s/island.scene", hub->path);
        (void)snprintf(text, sizeof text, "%s %" PRIu64, sql, revision);
        (void)scn_test_sql(path, text);
}

/* The document with one node more, at a revision far ahead. */
static struct scn_document *leap(struct scn_journal *journal, scn_revision revision)
{
        const struct scn_document_options options = scene_options();
        const struct scn_op op = scene_add(1, 50, "boat");
        const struct scn_edit edit = {.ops = &op, .ops_count = 1, .revision = revision};
        struct scn_document *document;
        struct scn_changes *changes;
        struct scn_refusal refusal;
        SCN_TEST_OK(scn_document_born(journal, &options, &document));
        SCN_TEST_OK(scn_document_apply(document, &edit, &changes, &refusal));
        scn_document_settle(document, changes);
        return document;
}

static void keep(struct scn_journal *journal, const struct scn_document *document, int64_t time_us)
{
        const struct scn_digests digests = scn_document_digests(document);
        struct scn_checkpoint_encoder *encoder = scn_checkpoint_encoder_create(document);
        struct scn_checkpoint_writer *writer;
        struct scn_storage_fault fault;
        struct scn_slice part;
        SCN_TEST_OK(scn_checkpoint_writer_create(journal, scn_document_revision(document), time_us, &writer, &fault));
        for (;;) {
                SCN_TEST_OK(scn_checkpoint_encoder_next(encoder, &part));
                if (part.data == NULL) {
                        break;
                }
                SCN_TEST_OK(scn_checkpoint_writer_append(writer, part, &fault));
        }
        const struct scn_slice digest = {(const uint8_t *)&digests, sizeof digests};
        SCN_TEST_OK(scn_checkpoint_writer_finish(writer, digest, &fault));
        scn_checkpoint_writer_destroy(writer);
        scn_checkpoint_encoder_destroy(encoder);
}

/* Makes a history of the document that begins with FIRST, as if all before it had been dropped as too old. */
static void begin_history_late(const struct hub *hub)
{
        struct scn_storage *storage;
        struct scn_journal *journal;
        struct scn_storage_fault fault;
        const int64_t time_us = (int64_t)hub->utc_us + 1;
        change_file(hub, "UPDATE transactions SET rev =", FIRST - 1);
        SCN_TEST_OK(scn_storage_open(hub->path, &storage, &fault));
        SCN_TEST_OK(scn_journal_open(storage, scn_test_text("island"), NULL, &journal, &fault));
        struct scn_document *document = leap(journal, FIRST);
        const struct scn_digests digests = scn_document_digests(document);
        const struct scn_journal_transaction transaction = {.revision = FIRST,
                .time_us = time_us,
                .author = scn_test_text("ann"),
                .step = FIRST,
                .digest = {(const uint8_t *)&digests, sizeof digests}};
        SCN_TEST_OK(scn_journal_append(journal, &transaction, 1, &fault));
        keep(journal, document, time_us);
        scn_document_destroy(document);
        scn_journal_close(journal);
        change_file(hub, "DELETE FROM transactions WHERE rev <", FIRST);
        change_file(hub, "DELETE FROM runs WHERE last_rev <", FIRST);
        change_file(hub, "UPDATE history SET judged =", FIRST);
        change_file(hub, "UPDATE history SET base =", FIRST);
        scn_storage_close(storage);
}

static void start(struct hub *hub)
{
        struct peer peer;
        hub_start(hub);
        peer_open(&peer, hub, 1, "ann", "island");
        (void)asking_edit(&peer, scene_add(1, 40, "quay"));
        peer_close(&peer);
        hub_stop(hub);
        begin_history_late(hub);
        hub->utc_us += 1000000;
        hub_restart(hub);
}

static struct scn_message view(struct peer *peer, const uint8_t epoch[8], scn_revision revision)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_view);
        message.as.view.request = 7;
        message.as.view.view = 1;
        message.as.view.root = scene_path("/");
        message.as.view.mask = SCN_MASK_ALL;
        if (epoch != NULL) {
                message.as.view.epoch = (struct scn_slice){epoch, 8};
                message.as.view.rev = revision;
        }
        peer_send(peer, &message);
        return peer_expect(peer, SCN_MESSAGE_viewed);
}

static void expect_logged(struct peer *peer, scn_revision revision)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_log);
        message.as.log.request = 8;
        message.as.log.from = revision;
        peer_send(peer, &message);
        message = peer_expect(peer, SCN_MESSAGE_answer);
        struct scn_unpacker unpacker = scn_unpacker_from(message.as.answer.body);
        cr_assert_eq(scn_unpack_array(&unpacker), 1);
        cr_expect_eq(asking_member(scn_unpack_raw(&unpacker), "rev"), revision);
}

SCN_TEST(last_revisions, are_told_exactly_in_edits_deltas_resumes_and_the_log)
{
        struct hub hub;
        struct peer ann;
        struct peer bob;
        struct held held;
        uint8_t epoch[8];
        char at[24];
        start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        peer_open(&bob, &hub, 2, "bob", "island");
        hold(&held);
        struct scn_message viewed = view(&bob, NULL, 0);
        cr_expect_eq(viewed.as.viewed.rev, FIRST);
        cr_assert(take_delta(&bob, &held));
        cr_expect_eq(scn_document_revision(held.replica), FIRST);
        for (scn_revision next = FIRST + 1; next < SCN_REVISION_MAX; next++) {
                char name[24];
                (void)snprintf(name, sizeof name, "%" PRIu64, next);
                cr_expect_eq(asking_edit(&ann, scene_rename(2, name)), next);
                const struct scn_message delta = peer_expect(&bob, SCN_MESSAGE_delta);
                cr_expect_eq(delta.as.delta.to, next);
                cr_expect_eq(delta.as.delta.back, 1);
                expect_logged(&ann, next);
        }
        memcpy(epoch, &hub.server->rooms->epoch, sizeof epoch);
        peer_close(&bob);
        peer_open(&bob, &hub, 2, "bob", "island");
        viewed = view(&bob, epoch, FIRST);
        cr_expect_eq(viewed.as.viewed.resumed, true);
        cr_assert(take_delta(&bob, &held));
        cr_expect_eq(scn_document_revision(held.replica), SCN_REVISION_MAX - 1);
        cr_expect(has_digest(held.replica, ask_digest(&ann)));
        (void)snprintf(at, sizeof at, "%" PRIu64, SCN_REVISION_MAX - 1);
        cr_expect(has_digest(held.replica, asking_digest(&ann, at)));
        asking_expect_failure(&ann, "9007199254740991", "future");
        asking_expect_failure(&ann, "9007199254740992", "range");
        let_go(&held);
        peer_close(&ann);
        peer_close(&bob);
        hub_finish(&hub);
}

/* Over a restart, too: what is refused leaves nothing behind. */
SCN_TEST(last_revisions, are_given_out_to_the_last_and_then_edits_are_refused_by_name)
{
        struct hub hub;
        struct peer ann;
        start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        const uint64_t before = ann.number;
        for (scn_revision next = FIRST + 1; next <= SCN_REVISION_MAX; next++) {
                cr_expect_eq(asking_edit(&ann, scene_translate(2, (float)(next - FIRST), 0, 0)), next);
        }
        const struct scn_op last = scene_translate(2, (float)(SCN_REVISION_MAX - FIRST), 0, 0);
        const struct scn_op another = scene_rename(2, "ship");
        const struct scn_digest digest = ask_digest(&ann);
        for (int life = 0; life < 2; life++) {
                peer_edit(&ann, &another, 1);
                peer_expect_code(&ann, SCN_MESSAGE_refused, "too_many_revisions");
                peer_undo(&ann, (struct peer_wish){0});
                peer_expect_code(&ann, SCN_MESSAGE_refused, "too_many_revisions");
                cr_expect_eq(asking_edit(&ann, last), SCN_REVISION_MAX, "it changes nothing, so it needs none");
                expect_logged(&ann, SCN_REVISION_MAX);
                const struct scn_digest now = ask_digest(&ann);
                cr_expect(now.low == digest.low && now.high == digest.high);
                peer_close(&ann);
                hub_stop(&hub);
                hub_restart(&hub);
                peer_open(&ann, &hub, 1, "ann", "island");
                cr_expect_eq(ann.last_stored, before + 4);
                peer_edit_as(&ann, before + 4, &last, 1);
                cr_expect_eq(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.rev, SCN_REVISION_MAX);
                ann.number = before + 4;
        }
        peer_close(&ann);
        hub_finish(&hub);
}
