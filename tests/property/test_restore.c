/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Restoring, at random: every earlier revision comes back to the bit, of the document or of a subtree, and undo takes
 * it away again to the bit (DESIGN §6). SCN_SEEDS asks for more than the short form. */

#include "protocol/scene/digest.h"
#include "server/core.h"
#include "tests/lib/asking.h"
#include "tests/lib/random.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EDITS 40u
#define REVISIONS_MAX 512u
#define UIDS 30u

struct world {
        struct hub hub;
        struct peer ann;
        struct peer bob;
        struct scn_random random;
        struct scn_digests was[REVISIONS_MAX];
        scn_revision known; /* the last one whose digests were noted */
        uint64_t seed;
};

static const struct scn_document *document_of(const struct world *world)
{
        return world->hub.server->rooms->document;
}

static void note(struct world *world)
{
        const scn_revision revision = scn_document_revision(document_of(world));
        cr_assert(revision <= world->known + 1 && revision < REVISIONS_MAX);
        world->was[revision] = scn_document_digests(document_of(world));
        world->known = revision;
}

static bool is_now(const struct world *world, scn_revision revision)
{
        const struct scn_digests digests = scn_document_digests(document_of(world));
        return memcmp(&digests, &world->was[revision], sizeof digests) == 0;
}

static scn_node_id any_node(struct world *world)
{
        return scene_any_node(document_of(world), &world->random);
}

static struct scn_op any_op(struct world *world)
{
        static const char *const words[] = {"a", "b", "c"};
        struct scn_random *random = &world->random;
        const scn_node_id node = any_node(world);
        const char *word = words[scn_random_below(random, 3)];
        switch (scn_random_below(random, 10)) {
        case 0:
        case 1:
        case 2: {
                struct scn_op op = scene_add(node, 50 + scn_random_below(random, UIDS), word);
                op.place = SCN_PLACE_INDEX;
                op.index = scn_random_below(random, 4);
                return op;
        }
        case 3:
                return scene_remove(node);
        case 4:
        case 5:
        case 6:
                return scene_move_index(node, any_node(world), scn_random_below(random, 4));
        case 7:
                return scene_translate(node, (float)scn_random_below(random, 4), 1, 2);
        case 8:
                return scene_rename(node, scn_random_chance(random, 30) ? NULL : word);
        default:
                return scene_set(node, word,
                        scn_random_chance(random, 40) ? (struct scn_slice){NULL, 0}
                                                      : scene_integer((uint8_t)scn_random_below(random, 3)));
        }
}

static void begin(struct world *world, uint64_t seed)
{
        struct scn_message message;
        *world = (struct world){.random = scn_random_from_seed(seed), .seed = seed};
        hub_start(&world->hub);
        peer_open(&world->ann, &world->hub, 10, "ann", "test");
        peer_open(&world->bob, &world->hub, 11, "bob", "test");
        note(world);
        for (uint32_t i = 0; i < EDITS; i++) {
                struct peer *peer = scn_random_chance(&world->random, 50) ? &world->ann : &world->bob;
                struct scn_op ops[3];
                const uint32_t count = 1 + scn_random_below(&world->random, 3);
                for (uint32_t k = 0; k < count; k++) {
                        ops[k] = any_op(world);
                }
                peer_edit(peer, ops, count);
                while (peer_receive(peer, &message)) {
                }
                note(world);
        }
}

static void end(struct world *world)
{
        peer_close(&world->ann);
        peer_close(&world->bob);
        hub_finish(&world->hub);
}

static struct scn_message ask(struct world *world, struct scn_message *message)
{
        message->as.restore.number = ++world->ann.number;
        peer_send(&world->ann, message);
        cr_assert(peer_receive(&world->ann, message), "seed %llu: no answer", (unsigned long long)world->seed);
        return *message;
}

static struct scn_message restore(struct world *world, scn_revision revision, scn_node_id node)
{
        uint8_t bytes[ASKING_AT_BYTES];
        char at[24];
        struct scn_message message;
        (void)snprintf(at, sizeof at, "%llu", (unsigned long long)revision);
        scn_message_init(&message, SCN_MESSAGE_restore);
        message.as.restore.at = asking_at(bytes, at);
        if (node != 0) {
                message.as.restore.node = scene_id(node);
        }
        return ask(world, &message);
}

/* What the last restore did goes, and the document is what it was at `before`. */
static void undo(struct world *world, scn_revision before)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_undo);
        message = ask(world, &message);
        cr_assert_eq(message.kind, SCN_MESSAGE_applied);
        note(world);
        cr_assert(is_now(world, before), "seed %llu: undo of the restore at %llu", (unsigned long long)world->seed,
                (unsigned long long)before);
}

static void check_whole(struct world *world)
{
        const scn_revision last = world->known;
        for (scn_revision revision = 0; revision <= last; revision++) {
                const scn_revision before = world->known;
                const struct scn_message answer = restore(world, revision, 0);
                cr_assert_eq(answer.kind, SCN_MESSAGE_applied);
                note(world);
                cr_assert(is_now(world, revision), "seed %llu, revision %llu", (unsigned long long)world->seed,
                        (unsigned long long)revision);
                scn_document_check(document_of(world));
                if (world->known != before) {
                        undo(world, before);
                }
        }
}

static struct scn_digest digest_of(const struct scn_digests *digests)
{
        return scn_digests_combine(digests, SCN_MASK_ALL);
}

static struct scn_digest past_digest(struct world *world, scn_revision revision, struct scn_uid uid, bool *is_there)
{
        uint8_t bytes[ASKING_AT_BYTES];
        char at[24];
        struct scn_message message;
        struct scn_digest digest = {0, 0};
        (void)snprintf(at, sizeof at, "%llu", (unsigned long long)revision);
        scn_message_init(&message, SCN_MESSAGE_digest);
        message.as.digest.request = 3;
        message.as.digest.at = asking_at(bytes, at);
        message.as.digest.node = (struct scn_node_ref){.kind = SCN_REF_UID, .uid = uid};
        peer_send(&world->bob, &message);
        cr_assert(peer_receive(&world->bob, &message));
        *is_there = message.kind == SCN_MESSAGE_answer;
        for (int i = 0; *is_there && i < 8; i++) {
                digest.high = digest.high << 8 | message.as.answer.body.data[2 + i];
                digest.low = digest.low << 8 | message.as.answer.body.data[10 + i];
        }
        return digest;
}

/* A subtree of any node: exactly as it was, or refused, because the node was not there or would hold itself. */
static uint32_t check_subtrees(struct world *world)
{
        uint32_t restored = 0;
        for (uint32_t i = 0; i < 20; i++) {
                const scn_revision before = world->known;
                const scn_revision revision = scn_random_below(&world->random, (uint32_t)before + 1);
                const scn_node_id node = any_node(world);
                const struct scn_uid uid = scn_document_node(document_of(world), node).uid;
                bool was_there;
                const struct scn_digest wanted = past_digest(world, revision, uid, &was_there);
                const struct scn_message answer = restore(world, revision, node);
                note(world);
                if (answer.kind == SCN_MESSAGE_refused) {
                        const char *code = was_there ? "cycle" : "no_node";
                        cr_assert(answer.as.refused.code.size == strlen(code) &&
                                memcmp(answer.as.refused.code.data, code, strlen(code)) == 0);
                        cr_assert(is_now(world, before));
                        continue;
                }
                const scn_node_id now = scn_document_find_uid(document_of(world), uid);
                cr_assert(was_there);
                const struct scn_digests digests = scn_document_subtree_digests(document_of(world), now, SCN_MASK_ALL);
                const struct scn_digest is = digest_of(&digests);
                cr_assert(is.high == wanted.high && is.low == wanted.low, "seed %llu, %u",
                        (unsigned long long)world->seed, i);
                restored++;
                if (world->known != before) {
                        undo(world, before);
                }
        }
        return restored;
}

static uint64_t seeds_count(uint64_t least)
{
        const char *text = getenv("SCN_SEEDS");
        const uint64_t asked = text == NULL ? 0 : strtoull(text, NULL, 10);
        return asked > least ? asked : least;
}

SCN_TEST_WITH(restore, brings_every_revision_back_and_undo_takes_it_away, .timeout = 600)
{
        static struct world world;
        for (uint64_t seed = 1; seed <= seeds_count(25); seed++) {
                begin(&world, seed);
                check_whole(&world);
                end(&world);
        }
}

SCN_TEST_WITH(restore, of_a_subtree_leaves_all_else, .timeout = 600)
{
        static struct world world;
        uint32_t restored = 0;
        for (uint64_t seed = 1; seed <= seeds_count(25); seed++) {
                begin(&world, seed);
                restored += check_subtrees(&world);
                end(&world);
        }
        cr_assert_gt(restored, 50);
}
