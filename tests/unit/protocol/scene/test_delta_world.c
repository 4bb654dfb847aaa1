/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Views of world matrices, for receivers that hold no hierarchy: what they are told is always enough. */

#include "protocol/base/uid.h"
#include "protocol/wire/columns.h"
#include "tests/lib/random.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

#define HELD_MAX 4096

/* A receiver: what it holds by id. */
struct held {
        struct scn_uid uid;
        bool is_held;
        bool overflows;
        bool has_world;
        struct scn_affine world;
};

struct receiver {
        struct held held[HELD_MAX];
        scn_revision revision;
        bool is_fresh;
};

/* Through the wire, as a client gets it. */
static void take(struct receiver *receiver, struct scn_document *document, uint32_t root_uid, size_t *told_out)
{
        const struct scn_delta_request request = {.root = scene_uid(root_uid),
                .mask = SCN_MASK_WORLD,
                .is_fresh = receiver->is_fresh,
                .from = receiver->revision};
        struct scn_delta sent = {0};
        struct scn_delta delta = {0};
        struct scn_columns_cursor cursor = {0};
        struct scn_buffer part;
        bool has_more = true;
        cr_assert_eq(scn_delta_compute(document, &request, &sent), SCN_OK);
        scn_buffer_init(&part, 1u << 24);
        while (has_more) {
                scn_buffer_reset(&part);
                struct scn_packer packer = scn_packer_to(&part);
                has_more = scn_columns_encode(&packer, &sent, &cursor);
                cr_assert_eq(scn_columns_decode((struct scn_slice){part.data, (uint32_t)part.size}, &delta), SCN_OK);
        }
        scn_buffer_finish(&part);
        if (delta.is_whole) {
                memset(receiver->held, 0, sizeof receiver->held);
        }
        for (size_t i = 0; i < delta.nodes_count; i++) {
                cr_assert(delta.nodes[i].is_new);
                cr_assert_eq(delta.nodes[i].fields, 0, "only the name is told");
                receiver->held[delta.nodes[i].id] = (struct held){.uid = delta.nodes[i].uid, .is_held = true};
        }
        for (size_t i = 0; i < delta.worlds_count; i++) {
                struct held *held = &receiver->held[delta.worlds[i].id];
                held->world = delta.worlds[i].world;
                held->overflows = delta.worlds[i].overflows;
                held->has_world = true;
        }
        for (size_t i = 0; i < delta.removed_count; i++) {
                receiver->held[delta.removed[i]].is_held = false;
        }
        for (size_t i = 0; i < delta.left_count; i++) {
                receiver->held[delta.left[i]].is_held = false;
        }
        *told_out = delta.worlds_count;
        receiver->revision = scn_document_revision(document);
        receiver->is_fresh = false;
        scn_delta_finish(&sent);
        scn_delta_finish(&delta);
}

static void check(const struct receiver *receiver, const struct scn_document *document, uint32_t root_uid)
{
        const scn_node_id root = scn_document_find_uid(document, scene_uid(root_uid));
        uint32_t held_count = 0;
        uint32_t count = 0;
        for (uint32_t id = 0; id < HELD_MAX; id++) {
                held_count += receiver->held[id].is_held;
        }
        for (scn_node_id at = root; at != 0; at = scn_document_walk(document, root, at)) {
                struct scn_affine world;
                const struct held *held = &receiver->held[at];
                const enum scn_error error = scn_document_world(document, at, &world);
                cr_assert(held->is_held && held->has_world, "node %u is missing", at);
                cr_assert(scn_uid_equal(held->uid, scn_document_node(document, at).uid));
                cr_assert_eq(held->overflows, error != SCN_OK);
                cr_assert(error != SCN_OK || memcmp(&held->world, &world, sizeof world) == 0, "node %u moved", at);
                count++;
        }
        cr_assert_eq(held_count, count, "%u nodes are held, %u are there", held_count, count);
}

static scn_node_id any_node(const struct scn_document *document, struct scn_random *random)
{
        scn_node_id at = scn_document_root(document);
        for (uint32_t left = scn_random_below(random, scn_document_nodes_count(document)); left > 0; left--) {
                at = scn_document_walk(document, scn_document_root(document), at);
        }
        return at;
}

static void edit(struct scn_document *document, struct scn_random *random)
{
        struct scn_changes *changes;
        struct scn_refusal refusal;
        const scn_node_id node = any_node(document, random);
        const scn_node_id other = any_node(document, random);
        const uint32_t kind = scn_random_below(random, 10);
        const bool is_small = scn_document_nodes_count(document) < 30;
        struct scn_op op = kind < 3           ? scene_translate(node, (float)scn_random_below(random, 9), 1, 2)
                : kind < (is_small ? 7u : 5u) ? scene_add(node, 0, NULL)
                : kind < 8                    ? scene_move(node, other)
                : kind < 9                    ? scene_rename(node, "x")
                                              : scene_remove(node);
        if (kind == 2 && scn_random_chance(random, 20)) {
                op.fields = SCN_FIELDS_SCALE;
                op.trs.s[0] = op.trs.s[1] = op.trs.s[2] = scn_random_chance(random, 50) ? 3e38f : 1.0f;
        }
        const struct scn_edit made = {.ops = &op, .ops_count = 1, .client = scene_client(1)};
        if (scn_random_chance(random, 90) || op.kind != SCN_OP_REMOVE) {
                if (scn_document_apply(document, &made, &changes, &refusal) == SCN_OK) {
                        scn_document_settle(document, changes);
                }
        }
}

SCN_TEST(delta_world, is_always_enough_for_who_holds_no_hierarchy)
{
        const uint64_t first = scn_test_seed(1);
        static struct receiver receiver;
        for (uint64_t seed = first; seed < first + 300; seed++) {
                struct scn_random random = scn_random_from_seed(seed);
                struct scn_document *document = scene_create();
                /* The view's root is somewhere inside, and moves as all others do. */
                const scn_node_id above = scene_new(document, 1, 40, "above");
                (void)scene_new(document, above, 41, "root");
                memset(&receiver, 0, sizeof receiver);
                receiver.is_fresh = true;
                for (int i = 0; i < 60; i++) {
                        size_t told;
                        for (uint32_t left = scn_random_below(&random, 6); left > 0; left--) {
                                edit(document, &random);
                        }
                        take(&receiver, document, 41, &told);
                        if (scn_document_find_uid(document, scene_uid(41)) == 0) {
                                break; /* the root is gone, and with it the view */
                        }
                        check(&receiver, document, 41);
                }
                scn_document_destroy(document);
        }
}

SCN_TEST(delta_world, tells_a_moved_ancestors_descendants_and_nobody_else)
{
        static struct receiver receiver;
        size_t told;
        struct scn_document *document = scene_create();
        const scn_node_id boat = scene_new(document, 1, 2, "boat");
        const scn_node_id mast = scene_new(document, boat, 3, "mast");
        (void)scene_new(document, mast, 4, "lantern");
        (void)scene_new(document, 1, 5, "lighthouse");
        memset(&receiver, 0, sizeof receiver);
        receiver.is_fresh = true;
        take(&receiver, document, 1, &told);
        cr_assert_eq(told, 5);
        (void)scene_do(document, scene_translate(mast, 1, 2, 3));
        take(&receiver, document, 1, &told);
        cr_assert_eq(told, 2);
        (void)scene_do(document, scene_rename(boat, "ship"));
        take(&receiver, document, 1, &told);
        cr_assert_eq(told, 0, "a name moves nothing");
        (void)scene_do(document, scene_translate(boat, 1, 2, 3));
        (void)scene_do(document, scene_translate(mast, 7, 2, 3));
        take(&receiver, document, 1, &told);
        cr_assert_eq(told, 3, "each once");
        check(&receiver, document, 1);
        scn_document_destroy(document);
}
