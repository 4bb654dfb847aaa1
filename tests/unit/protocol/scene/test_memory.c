/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Every allocation made to fail in turn, and a small stack. */

#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <pthread.h>
#include <string.h>

/* A document to edit, and what it was like. Made anew for each attempt, so nothing is warm. */
struct attempt {
        const struct scn_op *ops;
        uint32_t count;
};

static struct scn_document *create_base(void)
{
        struct scn_document *document = scene_create();
        for (uint32_t i = 0; i < 40; i++) {
                (void)scene_new(document, i < 36 ? 1 : 37, 100 + i, "node");
        }
        (void)scene_do(document, scene_set(3, "a", scene_integer(1)));
        (void)scn_document_index(document, 20);
        return document;
}

/* The document is made and ended with allocation as usual; only the edit between meets failures. */
static struct scn_document *base;
static struct scn_buffer base_dump;

static void check_unchanged(void)
{
        struct scn_buffer dump;
        scene_dump(base, &dump);
        cr_assert(dump.size == base_dump.size && memcmp(dump.data, base_dump.data, dump.size) == 0);
        scn_buffer_finish(&dump);
        scn_document_check(base);
}

/* Runs `attempt` with its nth allocation failing, n = 1, 2, 3 ..., on a fresh document each time, until it
 * gets by. Returns how many could fail. */
static uint64_t fail_each(enum scn_error (*attempt)(void *data), void *data)
{
        for (uint64_t nth = 1;; nth++) {
                const uint64_t alive = scn_alloc_stats().live_count;
                base = create_base();
                scene_dump(base, &base_dump);
                scn_alloc_fail_at(nth, false);
                const enum scn_error error = attempt(data);
                scn_alloc_fail_at(0, false);
                cr_assert(error == SCN_OK || error == SCN_E_NO_MEMORY, "%s", scn_error_text(error));
                check_unchanged();
                scn_buffer_finish(&base_dump);
                scn_document_destroy(base);
                cr_assert_eq(scn_alloc_stats().live_count, alive);
                if (error == SCN_OK) {
                        return nth - 1;
                }
        }
}

/* Applies, and takes back what was applied, so the document must be as before either way. */
static enum scn_error apply_and_take_back(void *data)
{
        const struct attempt *attempt = data;
        const struct scn_edit edit = {.ops = attempt->ops, .ops_count = attempt->count, .client = scene_client(9)};
        struct scn_changes *changes;
        struct scn_refusal refusal;
        const enum scn_error error = scn_document_apply(base, &edit, &changes, &refusal);
        if (error == SCN_OK) {
                scn_document_take_back(base, changes);
        }
        return error;
}

SCN_TEST(memory, failing_at_any_allocation_of_an_edit_leaves_the_document_as_it_was)
{
        struct scn_op add = scene_add(3, 900, "new");
        const struct scn_property properties[] = {
                {scene_text("x"), scene_integer(1)}, {scene_text("y"), scene_integer(2)}};
        add.properties = properties;
        add.properties_count = 2;
        add.place = SCN_PLACE_INDEX;
        const struct scn_op ops[] = {
                add,
                scene_rename(3, "renamed"),
                scene_set(3, "b", scene_integer(2)),
                scene_set(3, "a", (struct scn_slice){NULL, 0}),
                scene_translate(4, 1, 2, 3),
                scene_move(5, 4),
                scene_move_index(6, 1, 9),
                scene_remove(37),
                scene_add(1, 136, "reborn"),
        };
        struct attempt attempt = {ops, sizeof ops / sizeof ops[0]};
        cr_assert_gt(fail_each(apply_and_take_back, &attempt), 15);
        for (uint32_t i = 0; i < attempt.count - 1; i++) {
                struct attempt single = {&ops[i], 1};
                (void)fail_each(apply_and_take_back, &single);
        }
}

static enum scn_error compute(void *data)
{
        struct scn_delta delta = {0};
        const struct scn_delta_request request = {.root = scene_uid(136), .mask = SCN_MASK_ALL, .from = 3};
        const struct scn_delta_request whole = {.root = scene_uid(1), .mask = SCN_MASK_ALL, .is_fresh = true};
        const struct scn_delta_request part = {.root = scene_uid(1), .mask = SCN_MASK_ALL, .from = 10};
        (void)data;
        enum scn_error error = scn_delta_compute(base, &request, &delta);
        error = error == SCN_OK ? scn_delta_compute(base, &whole, &delta) : error;
        error = error == SCN_OK ? scn_delta_compute(base, &part, &delta) : error;
        scn_delta_finish(&delta);
        return error;
}

static enum scn_error list(void *data)
{
        struct scn_node_list nodes = {0};
        (void)data;
        enum scn_error error = scn_document_list_changed(base, 5, &nodes);
        error = error == SCN_OK ? scn_document_list_dirty(base, 5, &nodes) : error;
        scn_node_list_finish(&nodes);
        return error;
}

static enum scn_error snapshot(void *data)
{
        const struct scn_document_options options = scene_options();
        struct scn_snapshot_loader *loader = NULL;
        struct scn_snapshot_reader *reader = scn_snapshot_reader_create(base);
        (void)data;
        if (reader == NULL) {
                return SCN_E_NO_MEMORY;
        }
        enum scn_error error = scn_snapshot_loader_create(&options, &loader);
        struct scn_snapshot_row row = {.kind = SCN_ROW_HEADER};
        while (error == SCN_OK && row.kind != SCN_ROW_END) {
                row = scn_snapshot_next(reader);
                error = scn_snapshot_load(loader, &row);
        }
        scn_snapshot_reader_destroy(reader);
        scn_snapshot_loader_destroy(loader);
        return error;
}

SCN_TEST(memory, failing_in_a_question_or_a_snapshot_harms_nothing)
{
        cr_assert_gt(fail_each(compute, NULL), 5);
        cr_assert_gt(fail_each(list, NULL), 3);
        cr_assert_gt(fail_each(snapshot, NULL), 40);
}

/* A replica of the base at revision 20, the delta to the present, and the other way round: whole. */
static enum scn_error apply_deltas(void *data)
{
        const struct scn_delta *deltas = data;
        struct scn_document *replica;
        const struct scn_document_options options = scene_options();
        enum scn_error error = scn_document_create_replica(&options, &replica);
        if (error != SCN_OK) {
                return error;
        }
        error = scn_document_apply_delta(replica, &deltas[0]);
        cr_assert(error == SCN_OK || scn_document_nodes_count(replica) == 0);
        scn_document_check(replica);
        if (error == SCN_OK) {
                const uint32_t count = scn_document_nodes_count(replica);
                const struct scn_digests before = scn_document_digests(replica);
                error = scn_document_apply_delta(replica, &deltas[1]);
                const struct scn_digests after = scn_document_digests(replica);
                cr_assert(error == SCN_OK ||
                        (count == scn_document_nodes_count(replica) && memcmp(&before, &after, sizeof before) == 0));
                scn_document_check(replica);
        }
        scn_document_destroy(replica);
        return error;
}

SCN_TEST(memory, failing_in_a_delta_leaves_the_replica_as_it_was)
{
        struct scn_document *document = create_base();
        struct scn_delta deltas[2] = {{0}, {0}};
        const struct scn_delta_request whole = {.root = scene_uid(1), .mask = SCN_MASK_ALL, .is_fresh = true};
        struct scn_document *old = scene_copy(document);
        cr_assert_eq(scn_delta_compute(old, &whole, &deltas[0]), SCN_OK);
        const scn_revision from = scn_document_revision(document);
        (void)scene_do(document, scene_move(5, 4));
        (void)scene_do(document, scene_remove(37));
        (void)scene_new(document, 5, 136, "reborn");
        (void)scene_do(document, scene_set(5, "k", scene_integer(3)));
        (void)scene_do(document, scene_rename(5, "x"));
        const struct scn_delta_request part = {.root = scene_uid(1), .mask = SCN_MASK_ALL, .from = from};
        cr_assert_eq(scn_delta_compute(document, &part, &deltas[1]), SCN_OK);
        cr_assert_gt(scn_test_fail_each_allocation(apply_deltas, deltas), 10);
        scn_delta_finish(&deltas[0]);
        scn_delta_finish(&deltas[1]);
        scn_document_destroy(old);
        scn_document_destroy(document);
}

static enum scn_error create(void *data)
{
        struct scn_document *document;
        const struct scn_document_options options = scene_options();
        (void)data;
        const enum scn_error error = scn_document_create(&options, &document);
        if (error == SCN_OK) {
                scn_document_destroy(document);
        }
        return error;
}

SCN_TEST(memory, failing_in_create_leaves_nothing_behind)
{
        cr_assert_gt(scn_test_fail_each_allocation(create, NULL), 5);
}

/* --- A stack of 256 KiB suffices at any depth --- */

#define DEPTH 5000u

static void *work_deep(void *data)
{
        struct scn_limits limits = SCN_LIMITS_DEFAULT;
        static struct scn_op ops[DEPTH];
        (void)data;
        limits.depth_max = DEPTH;
        struct scn_document *document = scene_create_limited(&limits);
        for (uint32_t i = 0; i < DEPTH; i++) {
                ops[i] = scene_add(i + 1, 10 + i, NULL);
        }
        (void)scene_do_all(document, ops, DEPTH);
        cr_assert_eq(scene_refused(document, 1, scene_add(DEPTH + 1, 5, NULL)), SCN_E_DEPTH);
        (void)scene_do(document, scene_translate(2, 1, 0, 0));
        (void)scene_do(document, scene_translate(DEPTH + 1, 1, 0, 0));
        scn_document_update_worlds(document);
        struct scn_affine world;
        cr_assert_eq(scn_document_world(document, DEPTH + 1, &world), SCN_OK);
        cr_assert_eq(world.m[3], 2.0f);
        struct scn_node_list dirty = {0};
        cr_assert_eq(scn_document_list_dirty(document, 2, &dirty), SCN_OK);
        cr_assert_eq(dirty.count, DEPTH + 1);
        scn_node_list_finish(&dirty);
        struct scn_delta delta = {0};
        const struct scn_delta_request request = {.root = scene_uid(10), .mask = SCN_MASK_ALL, .from = 0};
        cr_assert_eq(scn_delta_compute(document, &request, &delta), SCN_OK);
        cr_assert_eq(delta.nodes_count, DEPTH);
        scn_delta_finish(&delta);
        scn_document_check(document);
        struct scn_document *copy = scene_copy(document);
        const struct scn_op remove = scene_remove(2);
        struct scn_changes *changes = scene_apply(document, &remove, 1);
        scn_document_take_back(document, changes);
        cr_assert(scene_is_same(document, copy));
        (void)scene_do(document, remove);
        scn_document_destroy(copy);
        scn_document_destroy(document);
        return NULL;
}

SCN_TEST_WITH(memory, a_stack_of_256_kib_suffices_for_chains, .timeout = 120)
{
        pthread_t thread;
        pthread_attr_t attributes;
        cr_assert_eq(pthread_attr_init(&attributes), 0);
        cr_assert_eq(pthread_attr_setstacksize(&attributes, 256 * 1024), 0);
        cr_assert_eq(pthread_create(&thread, &attributes, work_deep, NULL), 0);
        cr_assert_eq(pthread_join(thread, NULL), 0);
        pthread_attr_destroy(&attributes);
}
