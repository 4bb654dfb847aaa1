/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <string.h>

/* A document with everything in it: several clients, properties, removed keys, moved, removed and reborn nodes. */
static struct scn_document *create_rich(uint32_t past_min)
{
        struct scn_limits limits = SCN_LIMITS_DEFAULT;
        limits.past_min = past_min;
        struct scn_document *document = scene_create_limited(&limits);
        scn_node_id id[40];
        for (uint32_t i = 0; i < 40; i++) {
                id[i] = scene_new(document, i < 5 ? 1 : id[i / 5], 100 + i, i % 3 == 0 ? NULL : "name");
                (void)scene_do_as(document, 2 + i % 3, scene_set(id[i], "k", scene_integer((uint8_t)i)));
        }
        for (uint32_t i = 10; i < 20; i++) {
                (void)scene_do_as(document, 5, scene_move(id[i], id[i % 5]));
                (void)scene_do_as(document, 6, scene_set(id[i], "k", (struct scn_slice){NULL, 0}));
        }
        for (uint32_t i = 20; i < 26; i++) {
                if (scn_document_has(document, id[i])) {
                        (void)scene_do_as(document, 7, scene_remove(id[i]));
                        (void)scene_new(document, 1, 100 + i, "reborn");
                }
        }
        return document;
}

SCN_TEST(snapshot, rebuilds_the_same_document)
{
        struct scn_document *document = create_rich(65536);
        struct scn_document *copy = scene_copy(document);
        scn_document_check(copy);
        cr_assert(scene_is_same(document, copy));
        scn_document_destroy(copy);
        scn_document_destroy(document);
}

SCN_TEST(snapshot, makes_a_document_that_goes_on_like_the_one_never_closed)
{
        struct scn_document *document = create_rich(12);
        struct scn_document *copy = scene_copy(document);
        for (uint32_t i = 0; i < 100; i++) {
                const struct scn_op ops[] = {
                        scene_add(1, 1000 + i, "later"),
                        scene_move_index(scn_document_next_id(document), 1, i % 7),
                };
                (void)scene_do_all(document, ops, 2);
                (void)scene_do_all(copy, ops, 2);
                const scn_node_id old = scn_document_find_uid(document, scene_uid(i < 9 ? 101 + i : 1000 + i - 9));
                if (old != 0) {
                        (void)scene_do_as(document, 3, scene_remove(old));
                        (void)scene_do_as(copy, 3, scene_remove(old));
                }
                cr_assert_eq(scn_document_horizon(document), scn_document_horizon(copy));
        }
        cr_assert_gt(scn_document_horizon(document), 0);
        cr_assert(scene_is_same(document, copy));
        scn_document_destroy(copy);
        scn_document_destroy(document);
}

SCN_TEST(snapshot, answers_old_cursors_with_the_same_deltas)
{
        struct scn_document *document = create_rich(65536);
        struct scn_document *copy = scene_copy(document);
        struct scn_delta delta = {0};
        struct scn_delta delta_copy = {0};
        for (scn_revision from = 0; from <= scn_document_revision(document); from++) {
                const struct scn_delta_request request = {.root = scene_uid(101), .mask = SCN_MASK_ALL, .from = from};
                cr_assert_eq(scn_delta_compute(document, &request, &delta), SCN_OK);
                cr_assert_eq(scn_delta_compute(copy, &request, &delta_copy), SCN_OK);
                cr_assert_eq(delta.nodes_count, delta_copy.nodes_count);
                for (size_t i = 0; i < delta.nodes_count; i++) {
                        cr_assert_eq(delta.nodes[i].id, delta_copy.nodes[i].id);
                        cr_assert_eq(delta.nodes[i].fields, delta_copy.nodes[i].fields);
                        cr_assert_eq(delta.nodes[i].previous, delta_copy.nodes[i].previous);
                }
                cr_assert_eq(delta.removed_count, delta_copy.removed_count);
                cr_assert_eq(delta.left_count, delta_copy.left_count);
        }
        scn_delta_finish(&delta);
        scn_delta_finish(&delta_copy);
        scn_document_destroy(copy);
        scn_document_destroy(document);
}

/* --- Damaged rows --- */

/* Loads all rows, but lets `damage` change row number `at` first. Returns the first error. */
static enum scn_error load_damaged(const struct scn_document *document, uint32_t at, uint32_t how)
{
        const struct scn_document_options options = scene_options();
        struct scn_snapshot_loader *loader = NULL;
        cr_assert_eq(scn_snapshot_loader_create(&options, &loader), SCN_OK);
        struct scn_snapshot_reader *reader = scn_snapshot_reader_create(document);
        struct scn_snapshot_row row;
        enum scn_error error = SCN_OK;
        uint32_t number = 0;
        do {
                row = scn_snapshot_next(reader);
                const bool is_end = row.kind == SCN_ROW_END;
                if (number++ == at) {
                        if (how == 0) {
                                if (is_end) {
                                        break;
                                }
                                continue; /* the row is missing */
                        }
                        if (how == 1 && row.kind == SCN_ROW_PAST && row.as.past.kind == SCN_PAST_EMPTIED) {
                                error = SCN_E_BAD_SNAPSHOT; /* two keys of one node in one edit look the same */
                        } else if (how == 1) {
                                error = scn_snapshot_load(loader, &row); /* it comes twice */
                        } else if (row.kind != SCN_ROW_PROPERTY) {
                                uint8_t *bytes = (uint8_t *)&row.as;
                                bytes[(how * 7) % 16] ^= 0x40; /* its names are damaged */
                        }
                }
                if (error == SCN_OK) {
                        error = scn_snapshot_load(loader, &row);
                }
                if (is_end) {
                        break;
                }
        } while (error == SCN_OK);
        scn_snapshot_reader_destroy(reader);
        scn_snapshot_loader_destroy(loader);
        return error;
}

SCN_TEST(snapshot, with_a_row_missing_or_doubled_is_refused)
{
        struct scn_document *document = create_rich(65536);
        uint32_t rows = 0;
        struct scn_snapshot_reader *reader = scn_snapshot_reader_create(document);
        while (scn_snapshot_next(reader).kind != SCN_ROW_END) {
                rows++;
        }
        scn_snapshot_reader_destroy(reader);
        uint32_t silent = 0;
        for (uint32_t at = 0; at < rows; at++) {
                silent += load_damaged(document, at, 0) == SCN_OK;
                cr_assert_neq(load_damaged(document, at, 1), SCN_OK, "row %u twice", at);
                /* Whatever else is damaged: an answer, never a crash. */
                for (uint32_t how = 2; how < 6; how++) {
                        (void)load_damaged(document, at, how);
                }
        }
        /* Only rows about moves and removed keys can be lacking without anything else speaking of them. */
        cr_assert_leq(silent, 20, "%u rows missing were not noticed", silent);
        scn_document_destroy(document);
}

/* --- Rows that fit, but were never written --- */

#define ROWS_MAX 64

/* All rows, which borrow from the document alone. Returns how many. */
static uint32_t list_rows(const struct scn_document *document, struct scn_snapshot_row rows[ROWS_MAX])
{
        struct scn_snapshot_reader *reader = scn_snapshot_reader_create(document);
        uint32_t count = 0;
        do {
                cr_assert_lt(count, ROWS_MAX);
                rows[count] = scn_snapshot_next(reader);
        } while (rows[count++].kind != SCN_ROW_END);
        scn_snapshot_reader_destroy(reader);
        return count;
}

static enum scn_error load_rows(const struct scn_snapshot_row *rows, uint32_t count, struct scn_document **document_out)
{
        const struct scn_document_options options = scene_options();
        struct scn_snapshot_loader *loader = NULL;
        enum scn_error error = scn_snapshot_loader_create(&options, &loader);
        for (uint32_t i = 0; i < count && error == SCN_OK; i++) {
                error = scn_snapshot_load(loader, &rows[i]);
        }
        *document_out = error == SCN_OK ? scn_snapshot_loader_take(loader) : NULL;
        scn_snapshot_loader_destroy(loader);
        return error;
}

SCN_TEST(snapshot, with_properties_that_are_not_sorted_is_refused)
{
        struct scn_document *document = scene_create();
        struct scn_document *loaded;
        struct scn_snapshot_row rows[ROWS_MAX];
        (void)scene_do(document, scene_set(1, "a", scene_integer(1)));
        (void)scene_do(document, scene_set(1, "b", scene_integer(2)));
        const uint32_t count = list_rows(document, rows);
        for (uint32_t i = 0; i + 1 < count; i++) {
                if (rows[i].kind == SCN_ROW_PROPERTY && rows[i + 1].kind == SCN_ROW_PROPERTY) {
                        const struct scn_snapshot_row first = rows[i];
                        rows[i] = rows[i + 1];
                        rows[i + 1] = first;
                        break;
                }
        }
        cr_assert_eq(load_rows(rows, count, &loaded), SCN_E_BAD_SNAPSHOT);
        scn_document_destroy(document);
}

SCN_TEST_WITH(snapshot, with_a_ring_in_its_past_still_answers, .timeout = 10)
{
        struct scn_document *document = scene_create();
        struct scn_document *loaded;
        struct scn_snapshot_row rows[ROWS_MAX];
        const scn_node_id from = scene_new(document, 1, 2, "from");
        const scn_node_id to = scene_new(document, 1, 3, "to");
        const scn_node_id a = scene_new(document, from, 4, "a");
        const scn_node_id b = scene_new(document, from, 5, "b");
        const scn_revision cursor = scn_document_revision(document);
        (void)scene_do(document, scene_move(a, to));
        (void)scene_do(document, scene_move(b, to));
        const uint32_t count = list_rows(document, rows);
        for (uint32_t i = 0; i < count; i++) {
                if (rows[i].kind == SCN_ROW_PAST) {
                        rows[i].as.past.parent = rows[i].as.past.id == a ? b : a;
                }
        }
        cr_assert_eq(load_rows(rows, count, &loaded), SCN_OK);
        struct scn_delta delta = {0};
        const struct scn_delta_request request = {.root = scene_uid(3), .mask = SCN_MASK_ALL, .from = cursor};
        cr_assert_eq(scn_delta_compute(loaded, &request, &delta), SCN_OK);
        scn_delta_finish(&delta);
        scn_document_destroy(loaded);
        scn_document_destroy(document);
}

SCN_TEST(snapshot, can_be_loaded_when_the_last_edit_before_it_was_taken_back)
{
        struct scn_limits limits = SCN_LIMITS_DEFAULT;
        limits.past_min = 0;
        struct scn_document *document = scene_create_limited(&limits);
        const struct scn_op moves_horizon[] = {
                scene_add(1, 2, NULL),
                scene_add(1, 3, NULL),
                scene_remove(2),
                scene_remove(3),
        };
        const struct scn_op rename = scene_rename(1, "not for long");
        struct scn_changes *settled = scene_apply(document, moves_horizon, 4);
        struct scn_changes *taken_back = scene_apply(document, &rename, 1);
        scn_document_settle(document, settled);
        scn_document_take_back(document, taken_back);
        cr_assert_eq(scn_document_horizon(document), 1);
        struct scn_document *copy = scene_copy(document);
        cr_assert(scene_is_same(document, copy));
        scn_document_destroy(copy);
        scn_document_destroy(document);
}

SCN_TEST(snapshot, at_the_last_revision_refuses_the_first_op_that_would_change_something)
{
        struct scn_document *document = scene_create();
        struct scn_document *last;
        struct scn_snapshot_row rows[ROWS_MAX];
        const uint32_t count = list_rows(document, rows);
        rows[0].as.header.revision = SCN_REVISION_MAX - 1;
        rows[0].as.header.horizon = SCN_REVISION_MAX - 1;
        cr_assert_eq(load_rows(rows, count, &last), SCN_OK);
        cr_assert_eq(scene_do(last, scene_rename(1, "last")), SCN_REVISION_MAX);
        cr_assert_eq(scene_do(last, scene_rename(1, "last")), SCN_REVISION_MAX, "no change, no revision");
        /* Before the horizon a strict edit meets conflicts, but never with what it wrote itself. */
        const struct scn_op ops[] = {scene_add(1, 2, "one"), scene_rename(2, "two")};
        const struct scn_edit edit = {
                .ops = ops, .ops_count = 2, .client = scene_client(1), .has_base = true, .is_strict = true};
        struct scn_changes *changes;
        struct scn_refusal refusal;
        cr_assert_eq(scn_document_apply(last, &edit, &changes, &refusal), SCN_E_TOO_MANY_REVISIONS);
        cr_assert_eq(refusal.op, 0);
        cr_assert_null(refusal.value.data);
        scn_document_check(last);
        scn_document_destroy(last);
        scn_document_destroy(document);
}
