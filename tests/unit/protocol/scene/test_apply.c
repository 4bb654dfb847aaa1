/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The rules of DESIGN §3 for single ops, each at its edge; faults of whole kinds are in test_cases.c. */

#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include "protocol/base/uid.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct scn_limits small_limits(void)
{
        struct scn_limits limits = SCN_LIMITS_DEFAULT;
        limits.depth_max = 3;
        limits.nodes_max = 6;
        limits.name_bytes_max = 4;
        limits.key_bytes_max = 3;
        limits.value_bytes_max = 8;
        limits.value_levels_max = 1;
        limits.properties_max = 2;
        limits.ops_max = 3;
        limits.clients_max = 3;
        return limits;
}

static struct scn_document *create_small(void)
{
        const struct scn_limits limits = small_limits();
        return scene_create_limited(&limits);
}

static enum scn_error try_ops(struct scn_document *document, uint32_t client, const struct scn_op *ops, uint32_t count,
        struct scn_refusal *refusal)
{
        const struct scn_edit edit = {.ops = ops, .ops_count = count, .client = scene_client(client)};
        struct scn_changes *changes;
        const enum scn_error error = scn_document_apply(document, &edit, &changes, refusal);
        if (error == SCN_OK) {
                scn_document_settle(document, changes);
        }
        scn_document_check(document);
        return error;
}

SCN_TEST(limits, hold_at_the_depth_allowed_and_not_below)
{
        struct scn_document *document = create_small();
        const scn_node_id a = scene_new(document, 1, 2, NULL);
        const scn_node_id b = scene_new(document, a, 3, NULL);
        const scn_node_id c = scene_new(document, b, 4, NULL);
        cr_assert_eq(scene_refused(document, 1, scene_add(c, 5, NULL)), SCN_E_DEPTH);
        const scn_node_id d = scene_new(document, 1, 6, NULL);
        /* a has two levels below it; under d it would need four in all. */
        cr_assert_eq(scene_refused(document, 1, scene_move(a, d)), SCN_E_DEPTH);
        /* Once c is gone it fits, although heights are only bounds. */
        (void)scene_do(document, scene_remove(c));
        (void)scene_do(document, scene_move(a, d));
        scn_document_destroy(document);
}

SCN_TEST(limits, hold_at_the_number_of_nodes)
{
        struct scn_document *document = create_small();
        for (uint32_t i = 0; i < 5; i++) {
                (void)scene_new(document, 1, 10 + i, NULL);
        }
        cr_assert_eq(scene_refused(document, 1, scene_add(1, 20, NULL)), SCN_E_TOO_MANY_NODES);
        (void)scene_do(document, scene_remove(2));
        (void)scene_new(document, 1, 20, NULL);
        scn_document_destroy(document);
}

SCN_TEST(limits, hold_for_names_and_keys)
{
        struct scn_document *document = create_small();
        (void)scene_do(document, scene_rename(1, "1234"));
        cr_assert_eq(scene_refused(document, 1, scene_rename(1, "12345")), SCN_E_NAME_TOO_LONG);
        cr_assert_eq(scene_refused(document, 1, scene_add(1, 2, "12345")), SCN_E_NAME_TOO_LONG);
        cr_assert_eq(scene_refused(document, 1, scene_rename(1, "\xff")), SCN_E_BAD_UTF8);
        (void)scene_do(document, scene_set(1, "abc", scene_integer(1)));
        cr_assert_eq(scene_refused(document, 1, scene_set(1, "abcd", scene_integer(1))), SCN_E_KEY_TOO_LONG);
        cr_assert_eq(scene_refused(document, 1, scene_set(1, "", scene_integer(1))), SCN_E_KEY_TOO_LONG);
        cr_assert_eq(scene_refused(document, 1, scene_set(1, "\xc3", scene_integer(1))), SCN_E_BAD_UTF8);
        scn_document_destroy(document);
}

SCN_TEST(limits, hold_for_values)
{
        struct scn_document *document = create_small();
        (void)scene_do(document,
                scene_set(1, "k",
                        (struct scn_slice){(const uint8_t *)"\xa7"
                                                            "1234567",
                                8}));
        cr_assert_eq(scene_refused(document, 1,
                             scene_set(1, "k",
                                     (struct scn_slice){(const uint8_t *)"\xa8"
                                                                         "12345678",
                                             9})),
                SCN_E_VALUE_TOO_LARGE);
        (void)scene_do(document, scene_set(1, "k", (struct scn_slice){(const uint8_t *)"\x91\x01", 2}));
        cr_assert_eq(
                scene_refused(document, 1, scene_set(1, "k", (struct scn_slice){(const uint8_t *)"\x91\x91\x01", 3})),
                SCN_E_VALUE_TOO_DEEP);
        cr_assert_eq(scene_refused(document, 1, scene_set(1, "k", (struct scn_slice){(const uint8_t *)"\xc0", 1})),
                SCN_E_BAD_VALUE);
        scn_document_destroy(document);
}

SCN_TEST(limits, hold_for_the_properties_of_a_node_and_count_only_those_that_are_there)
{
        struct scn_document *document = create_small();
        (void)scene_do(document, scene_set(1, "a", scene_integer(1)));
        (void)scene_do(document, scene_set(1, "b", scene_integer(1)));
        cr_assert_eq(scene_refused(document, 1, scene_set(1, "c", scene_integer(1))), SCN_E_TOO_MANY_PROPS);
        (void)scene_do(document, scene_set(1, "a", (struct scn_slice){NULL, 0}));
        (void)scene_do(document, scene_set(1, "c", scene_integer(1)));
        cr_assert_eq(scene_refused(document, 1, scene_set(1, "a", scene_integer(1))), SCN_E_TOO_MANY_PROPS);
        struct scn_op op = scene_add(1, 2, NULL);
        const struct scn_property properties[] = {{scene_text("a"), scene_integer(1)},
                {scene_text("b"), scene_integer(2)}, {scene_text("c"), scene_integer(3)}};
        op.properties = properties;
        op.properties_count = 3;
        cr_assert_eq(scene_refused(document, 1, op), SCN_E_TOO_MANY_PROPS);
        op.properties_count = 2;
        (void)scene_do(document, op);
        cr_assert_eq(scn_document_node(document, 2).properties_count, 2);
        scn_document_destroy(document);
}

SCN_TEST(limits, hold_for_ops_and_clients)
{
        struct scn_document *document = create_small();
        struct scn_refusal refusal;
        const struct scn_op ops[] = {
                scene_rename(1, "a"), scene_rename(1, "b"), scene_rename(1, "c"), scene_rename(1, "d")};
        cr_assert_eq(try_ops(document, 1, ops, 4, &refusal), SCN_E_TOO_MANY_OPS);
        cr_assert_eq(refusal.op, 4);
        cr_assert_eq(try_ops(document, 1, ops, 3, &refusal), SCN_OK);
        cr_assert_eq(try_ops(document, 2, ops, 1, &refusal), SCN_OK);
        cr_assert_eq(try_ops(document, 3, ops, 2, &refusal), SCN_OK);
        const struct scn_op set1 = scene_set(1, "a", scene_integer(1));
        cr_assert_eq(try_ops(document, 1, &set1, 1, &refusal), SCN_OK);
        const struct scn_op set2 = scene_set(1, "b", scene_integer(1));
        cr_assert_eq(try_ops(document, 2, &set2, 1, &refusal), SCN_OK);
        cr_assert_eq(try_ops(document, 4, ops, 1, &refusal), SCN_E_TOO_MANY_CLIENTS);
        /* Client 3 loses its last stamp, and is forgotten for the sake of a new one. */
        cr_assert_eq(try_ops(document, 1, ops, 1, &refusal), SCN_OK);
        cr_assert_eq(try_ops(document, 4, &ops[1], 1, &refusal), SCN_OK);
        cr_assert(scn_uid_equal(scn_document_stamp(document, 1, SCN_FIELD_NAME).client, scene_client(4)));
        struct scn_stamp_view stamp;
        (void)scn_document_property(document, 1, 1, &stamp);
        cr_assert(scn_uid_equal(stamp.client, scene_client(2)));
        cr_assert_eq(try_ops(document, 3, ops, 1, &refusal), SCN_E_TOO_MANY_CLIENTS);
        scn_document_destroy(document);
}

SCN_TEST(limits, hold_for_ids_and_revisions)
{
        struct scn_document *document = scene_create();
        struct scn_op op = scene_add(1, 2, NULL);
        op.id = UINT32_MAX - 1;
        (void)scene_do(document, op);
        cr_assert_eq(scene_refused(document, 1, scene_add(1, 3, NULL)), SCN_E_TOO_MANY_IDS);
        op.id = 5;
        op.uid = scene_uid(9);
        cr_assert_eq(scene_refused(document, 1, op), SCN_E_BAD_OP);
        scn_document_destroy(document);
}

SCN_TEST(limits, beyond_what_can_be_held_are_lowered)
{
        struct scn_limits limits = SCN_LIMITS_DEFAULT;
        limits.key_bytes_max = UINT32_MAX;
        limits.clients_max = UINT32_MAX;
        struct scn_document *document = scene_create_limited(&limits);
        char key[257];
        memset(key, 'k', sizeof key);
        key[256] = '\0';
        cr_assert_eq(scene_refused(document, 1, scene_set(1, key, scene_integer(1))), SCN_E_KEY_TOO_LONG);
        key[255] = '\0';
        (void)scene_do(document, scene_set(1, key, scene_integer(1)));
        cr_assert_eq(scn_document_limits(document)->clients_max, SCN_LIMITS_DEFAULT.clients_max);
        scn_document_destroy(document);
}

/* --- Cost: nothing here takes a second, unless it grows with the square --- */

SCN_TEST_WITH(cost, of_a_removal_grows_with_the_nodes_alone, .timeout = 15)
{
        const uint32_t count = 100000;
        struct scn_document *document = scene_create();
        struct scn_op *ops = scn_alloc_zero(count, sizeof *ops);
        const scn_node_id top = scene_new(document, 1, 2, NULL);
        for (uint32_t i = 0; i < count; i++) {
                ops[i] = scene_add(top, 3 + i, NULL);
        }
        (void)scene_do_all(document, ops, count);
        ops[0] = scene_remove(top);
        scn_document_take_back(document, scene_apply(document, ops, 1));
        (void)scene_do(document, ops[0]);
        scn_free(ops);
        scn_document_destroy(document);
}

SCN_TEST_WITH(cost, of_taking_back_properties_grows_with_their_number_alone, .timeout = 15)
{
        const uint32_t count = 150000;
        struct scn_limits limits = SCN_LIMITS_DEFAULT;
        limits.properties_max = count;
        struct scn_document *document = scene_create_limited(&limits);
        struct scn_op *ops = scn_alloc_zero(2 * (size_t)count, sizeof *ops);
        char(*keys)[8] = scn_alloc_zero(count, sizeof *keys);
        for (uint32_t i = 0; i < count; i++) {
                (void)snprintf(keys[i], sizeof keys[i], "%07u", i);
                ops[2 * i] = scene_set(1, keys[i], scene_integer(1));
                ops[2 * i + 1] = scene_set(1, keys[i], (struct scn_slice){NULL, 0});
        }
        scn_document_take_back(document, scene_apply(document, ops, 2 * count));
        cr_assert_eq(scn_document_node(document, 1).property_fields_count, 0);
        scn_free(keys);
        scn_free(ops);
        scn_document_destroy(document);
}

SCN_TEST(limits, hold_for_the_siblings_that_the_paths_of_an_edit_look_at)
{
        struct scn_limits limits = SCN_LIMITS_DEFAULT;
        limits.path_steps_max = 20;
        struct scn_document *document = scene_create_limited(&limits);
        for (uint32_t i = 0; i < 15; i++) {
                (void)scene_new(document, 1, 10 + i, NULL);
        }
        struct scn_op ops[2] = {scene_rename(0, "a"), scene_rename(0, "b")};
        struct scn_refusal refusal;
        /* When the second is looked for, the ninth has a name: that costs a step, too. */
        ops[0].node = scene_path("/[8]");
        ops[1].node = scene_path("/[9]");
        cr_assert_eq(try_ops(document, 1, ops, 2, &refusal), SCN_OK);
        (void)scene_do(document, scene_rename(10, NULL));
        (void)scene_do(document, scene_rename(12, NULL));
        ops[0].node = scene_path("/[9]");
        cr_assert_eq(try_ops(document, 1, ops, 2, &refusal), SCN_E_PATH_TOO_LONG);
        cr_assert_eq(refusal.op, 1);
        scn_document_destroy(document);
}

/* Sets so many properties, all of them alike. */
static enum scn_error set_properties(uint32_t record_bytes_max, uint32_t count, struct scn_refusal *refusal)
{
        struct scn_limits limits = SCN_LIMITS_DEFAULT;
        limits.record_bytes_max = record_bytes_max;
        struct scn_document *document = scene_create_limited(&limits);
        const struct scn_op ops[] = {scene_set(1, "a", scene_integer(1)), scene_set(1, "b", scene_integer(1)),
                scene_set(1, "c", scene_integer(1))};
        const enum scn_error error = try_ops(document, 1, ops, count, refusal);
        cr_assert_eq(scn_document_revision(document), error == SCN_OK ? 1 : 0);
        cr_assert_eq(scn_document_node(document, 1).properties_count, error == SCN_OK ? count : 0);
        scn_document_destroy(document);
        return error;
}

SCN_TEST(limits, hold_for_the_bytes_of_an_edits_records)
{
        struct scn_refusal refusal;
        uint32_t one = 1;
        while (set_properties(one, 1, &refusal) == SCN_E_TOO_LARGE && one < 10000) {
                one++;
        }
        cr_assert(one > 10 && one < 1000, "%u", one);
        cr_assert_eq(set_properties(3 * one, 3, &refusal), SCN_OK);
        cr_assert_eq(set_properties(3 * one - 1, 3, &refusal), SCN_E_TOO_LARGE);
        cr_assert_eq(refusal.op, 2);
        cr_assert_eq(set_properties(3 * one - 1, 2, &refusal), SCN_OK);
}

SCN_TEST(limits, hold_for_removed_keys_that_are_still_remembered)
{
        struct scn_document *document = create_small();
        char key[2] = {'a', '\0'};
        for (uint32_t i = 0; i < 8; i++, key[0]++) {
                (void)scene_do(document, scene_set(1, key, scene_integer(1)));
                (void)scene_do(document, scene_set(1, key, (struct scn_slice){NULL, 0}));
        }
        cr_assert_eq(scene_refused(document, 1, scene_set(1, key, scene_integer(1))), SCN_E_TOO_MANY_PROPS);
        (void)scene_do(document, scene_set(1, "a", scene_integer(1)));
        scn_document_destroy(document);
}

SCN_TEST(changes, say_how_much_memory_waits_for_them_to_be_settled)
{
        static uint8_t value[60003] = {0xda, 0xea, 0x60};
        memset(value + 3, 'x', sizeof value - 3);
        struct scn_document *document = scene_create();
        (void)scene_do(document, scene_set(1, "k", (struct scn_slice){value, sizeof value}));
        const struct scn_op op = scene_set(1, "k", scene_integer(1));
        struct scn_changes *changes = scene_apply(document, &op, 1);
        cr_assert_gt(scn_changes_bytes(changes), 60000);
        scn_document_settle(document, changes);
        scn_document_destroy(document);
}

/* --- Numbers --- */

SCN_TEST(transform, refuses_what_is_not_finite_naming_the_field_and_keeps_the_rest_bit_for_bit)
{
        struct scn_document *document = scene_create();
        const float bad[] = {NAN, INFINITY, -INFINITY};
        for (int i = 0; i < 3; i++) {
                struct scn_op op = scene_translate(1, 0, bad[i], 0);
                struct scn_refusal refusal;
                cr_assert_eq(try_ops(document, 1, &op, 1, &refusal), SCN_E_NOT_FINITE);
                cr_assert_eq(refusal.field, SCN_FIELD_TRANSLATION);
                op.fields = SCN_FIELDS_SCALE;
                op.trs.s[2] = bad[i];
                cr_assert_eq(try_ops(document, 1, &op, 1, &refusal), SCN_E_NOT_FINITE);
                cr_assert_eq(refusal.field, SCN_FIELD_SCALE);
                op.fields = SCN_FIELDS_ROTATION;
                op.trs.r[0] = bad[i];
                cr_assert_eq(try_ops(document, 1, &op, 1, &refusal), SCN_E_NOT_FINITE);
                cr_assert_eq(refusal.field, SCN_FIELD_ROTATION);
        }
        const struct scn_trs odd = {{-0.0f, 1e-45f, 3.4e38f}, {0, 0, 0, 1}, {0.0f, -1.0f, -0.0f}};
        const struct scn_op op = {.kind = SCN_OP_TRANSFORM, .node = scene_id(1), .fields = SCN_FIELDS_TRS, .trs = odd};
        (void)scene_do(document, op);
        const struct scn_trs kept = scn_document_node(document, 1).trs;
        cr_assert(memcmp(&kept, &odd, sizeof odd) == 0);
        /* Equal means equal bits: 0.0 is another value than -0.0. */
        const scn_revision revision = scn_document_revision(document);
        cr_assert_eq(scene_do(document, op), revision);
        struct scn_op zero = op;
        zero.trs.t[0] = 0.0f;
        cr_assert_eq(scene_do(document, zero), revision + 1);
        scn_document_destroy(document);
}

SCN_TEST(transform, normalises_a_rotation_that_is_not_of_unit_length_and_says_so)
{
        struct scn_document *document = scene_create();
        struct scn_op op = {.kind = SCN_OP_TRANSFORM, .node = scene_id(1), .fields = SCN_FIELDS_ROTATION};
        op.trs.r[0] = 3.0f;
        op.trs.r[3] = 4.0f;
        struct scn_changes *changes = scene_apply(document, &op, 1);
        cr_assert_eq(scn_changes_get(changes, 0)->flags, SCN_CHANGE_NORMALISED);
        cr_assert_eq(scn_changes_get(changes, 0)->as.transform.after.r[0], 0.6f);
        scn_document_settle(document, changes);
        memset(op.trs.r, 0, sizeof op.trs.r);
        cr_assert_eq(scene_refused(document, 1, op), SCN_E_ZERO_QUATERNION);
        scn_document_destroy(document);
}

/* --- base, strict, parent --- */

struct claim {
        uint32_t client;
        scn_revision base;
        bool is_strict;
};

static enum scn_error claim(
        struct scn_document *document, struct claim claim, struct scn_op op, struct scn_refusal *refusal)
{
        const struct scn_edit edit = {
                .ops = &op,
                .ops_count = 1,
                .client = scene_client(claim.client),
                .has_base = true,
                .base = claim.base,
                .is_strict = claim.is_strict,
        };
        struct scn_changes *changes;
        const enum scn_error error = scn_document_apply(document, &edit, &changes, refusal);
        if (error == SCN_OK) {
                scn_document_take_back(document, changes);
        }
        return error;
}

SCN_TEST(strict, refuses_a_field_that_another_client_changed_after_the_base)
{
        struct scn_document *document = scene_create();
        const scn_node_id a = scene_new(document, 1, 2, "a");
        const scn_node_id b = scene_new(document, a, 3, "b");
        const scn_revision base = scn_document_revision(document);
        (void)scene_do_as(document, 2, scene_translate(a, 1, 0, 0));
        (void)scene_do_as(document, 2, scene_set(b, "k", scene_integer(7)));
        struct scn_refusal refusal;
        const struct claim own = {2, base, true};
        const struct claim other = {3, base, true};
        const struct claim later = {3, base + 2, true};
        const struct claim loose = {3, base, false};
        const struct scn_op moved = scene_translate(a, 2, 0, 0);
        cr_assert_eq(claim(document, own, moved, &refusal), SCN_OK);
        cr_assert_eq(claim(document, later, moved, &refusal), SCN_OK);
        cr_assert_eq(claim(document, loose, moved, &refusal), SCN_OK);
        cr_assert_eq(claim(document, other, moved, &refusal), SCN_E_CONFLICT);
        cr_assert_eq(refusal.field, SCN_FIELD_TRANSLATION);
        cr_assert_eq(refusal.trs.t[0], 1.0f);
        cr_assert_eq(refusal.revision, base + 1);
        cr_assert(scn_uid_equal(refusal.other, scene_client(2)));
        /* Another field of the same node is no conflict, another key neither. */
        cr_assert_eq(claim(document, other, scene_rename(a, "x"), &refusal), SCN_OK);
        cr_assert_eq(claim(document, other, scene_set(b, "other", scene_integer(1)), &refusal), SCN_OK);
        cr_assert_eq(claim(document, other, scene_set(b, "k", scene_integer(8)), &refusal), SCN_E_CONFLICT);
        cr_assert_eq(refusal.value.data[0], 7);
        /* A removal conflicts with anything in the subtree. */
        cr_assert_eq(claim(document, other, scene_remove(a), &refusal), SCN_E_CONFLICT);
        cr_assert_eq(claim(document, own, scene_remove(a), &refusal), SCN_OK);
        scn_document_destroy(document);
}

SCN_TEST(strict, counts_a_removed_key_as_changed)
{
        struct scn_document *document = scene_create();
        (void)scene_do_as(document, 2, scene_set(1, "k", scene_integer(7)));
        const scn_revision base = scn_document_revision(document);
        (void)scene_do_as(document, 2, scene_set(1, "k", (struct scn_slice){NULL, 0}));
        struct scn_refusal refusal;
        cr_assert_eq(claim(document, (struct claim){3, base, true}, scene_set(1, "k", scene_integer(8)), &refusal),
                SCN_E_CONFLICT);
        cr_assert_null(refusal.value.data);
        scn_document_destroy(document);
}

SCN_TEST(strict, counts_a_base_before_the_horizon_as_changed)
{
        struct scn_limits limits = SCN_LIMITS_DEFAULT;
        limits.past_min = 2;
        struct scn_document *document = scene_create_limited(&limits);
        const scn_revision base = scn_document_revision(document);
        for (uint32_t i = 0; i < 4; i++) {
                (void)scene_do(document, scene_remove(scene_new(document, 1, 10 + i, NULL)));
        }
        cr_assert_gt(scn_document_horizon(document), base);
        struct scn_refusal refusal;
        cr_assert_eq(claim(document, (struct claim){1, base, true}, scene_rename(1, "x"), &refusal), SCN_E_CONFLICT);
        cr_assert_eq(claim(document, (struct claim){1, base, true}, scene_set(1, "k", scene_integer(1)), &refusal),
                SCN_E_CONFLICT);
        cr_assert_eq(claim(document, (struct claim){1, base, false}, scene_rename(1, "x"), &refusal), SCN_OK);
        scn_document_destroy(document);
}

SCN_TEST(base, beyond_the_present_revision_is_refused)
{
        struct scn_document *document = scene_create();
        struct scn_refusal refusal;
        cr_assert_eq(claim(document, (struct claim){1, 1, false}, scene_rename(1, "x"), &refusal), SCN_E_FUTURE);
        scn_document_destroy(document);
}

SCN_TEST(base, without_parent_refuses_a_transform_after_anothers_move)
{
        struct scn_document *document = scene_create();
        const scn_node_id a = scene_new(document, 1, 2, NULL);
        const scn_node_id b = scene_new(document, 1, 3, NULL);
        const scn_revision base = scn_document_revision(document);
        (void)scene_do_as(document, 2, scene_move(b, a));
        /* A new place under the same parent, by somebody else, does not hide who set the parent. */
        (void)scene_do_as(document, 3, scene_move_index(b, a, 0));
        struct scn_refusal refusal;
        const struct scn_op op = scene_translate(b, 1, 0, 0);
        cr_assert_eq(claim(document, (struct claim){3, base, false}, op, &refusal), SCN_E_STALE_PARENT);
        cr_assert(scn_uid_equal(refusal.other, scene_uid(2)));
        cr_assert_eq(refusal.revision, base + 1);
        cr_assert_eq(claim(document, (struct claim){2, base, false}, op, &refusal), SCN_OK);
        cr_assert_eq(claim(document, (struct claim){3, base + 1, false}, op, &refusal), SCN_OK);
        scn_document_destroy(document);
}

SCN_TEST(parent, named_by_a_transform_must_be_the_present_one)
{
        struct scn_document *document = scene_create();
        const scn_node_id a = scene_new(document, 1, 2, NULL);
        const scn_node_id b = scene_new(document, 1, 3, NULL);
        struct scn_op op = scene_translate(b, 1, 0, 0);
        op.parent = scene_id(a);
        cr_assert_eq(scene_refused(document, 1, op), SCN_E_STALE_PARENT);
        op.parent = scene_id(1);
        (void)scene_do(document, op);
        op.trs.t[0] = 2.0f;
        (void)scene_do(document, scene_move(b, a));
        (void)scene_do(document, scene_move(b, 1));
        (void)scene_do(document, scene_remove(a));
        op.parent = scene_id(a);
        cr_assert_eq(scene_refused(document, 1, op), SCN_E_STALE_PARENT);
        scn_document_destroy(document);
}

SCN_TEST(step, is_the_writer_of_what_an_edit_writes)
{
        struct scn_document *document = scene_create();
        (void)scene_do(document, scene_rename(1, "first"));
        const struct scn_op op = scene_rename(1, "second");
        const struct scn_edit edit = {.ops = &op, .ops_count = 1, .client = scene_client(1), .step = 1};
        struct scn_changes *changes;
        struct scn_refusal refusal;
        cr_assert_eq(scn_document_apply(document, &edit, &changes, &refusal), SCN_OK);
        cr_assert_eq(scn_changes_get(changes, 0)->as.rename.writer_before, 1);
        scn_document_settle(document, changes);
        cr_assert_eq(scn_document_stamp(document, 1, SCN_FIELD_NAME).revision, 2);
        cr_assert_eq(scn_document_stamp(document, 1, SCN_FIELD_NAME).writer, 1);
        const struct scn_edit wrong = {.ops = &op, .ops_count = 1, .client = scene_client(1), .step = 99};
        cr_assert_eq(scn_document_apply(document, &wrong, &changes, &refusal), SCN_E_BAD_OP);
        scn_document_destroy(document);
}

/* --- Properties --- */

SCN_TEST(properties, are_kept_in_one_spelling_whatever_came)
{
        struct scn_document *document = scene_create();
        /* uint32 5, then a fixint 5: the same value, so the second is no change. */
        const uint8_t wide[] = {0xce, 0, 0, 0, 5};
        (void)scene_do(document, scene_set(1, "k", (struct scn_slice){wide, sizeof wide}));
        cr_assert_eq(scn_document_get(document, 1, scene_text("k")).size, 1);
        cr_assert_eq(scene_do(document, scene_set(1, "k", scene_integer(5))), 1);
        scn_document_destroy(document);
}

SCN_TEST(properties, of_an_add_must_have_distinct_keys_and_values)
{
        struct scn_document *document = scene_create();
        struct scn_op op = scene_add(1, 2, NULL);
        struct scn_property properties[] = {{scene_text("a"), scene_integer(1)}, {scene_text("a"), scene_integer(2)}};
        op.properties = properties;
        op.properties_count = 2;
        cr_assert_eq(scene_refused(document, 1, op), SCN_E_DUPLICATE_KEY);
        properties[1] = (struct scn_property){scene_text("b"), {NULL, 0}};
        cr_assert_eq(scene_refused(document, 1, op), SCN_E_BAD_VALUE);
        scn_document_destroy(document);
}

/* --- Observers --- */

static enum scn_error count_call(struct scn_event *event, const void **return_out, void *data)
{
        const struct scn_document_event *what = event->data;
        uint32_t *calls = data;
        (void)return_out;
        calls[what->kind]++;
        calls[3] = event->mask;
        return SCN_OK;
}

SCN_TEST(observers, hear_the_channels_they_asked_for)
{
        struct scn_document *document = scene_create();
        uint32_t transform_calls[4] = {0};
        uint32_t all_calls[4] = {0};
        struct scn_observer *transform_observer;
        struct scn_observer *all_observer;
        struct scn_observer_options options = {
                .mask = SCN_MASK_TRANSFORM, .callback = count_call, .data = transform_calls};
        struct scn_observable *observable = scn_document_observable(document);
        cr_assert_eq(scn_observable_add(observable, &options, &transform_observer), SCN_OK);
        options.mask = SCN_MASK_ALL;
        options.data = all_calls;
        cr_assert_eq(scn_observable_add(observable, &options, &all_observer), SCN_OK);
        (void)scene_do(document, scene_rename(1, "x"));
        cr_assert_eq(transform_calls[SCN_DOCUMENT_APPLIED], 0);
        cr_assert_eq(all_calls[SCN_DOCUMENT_APPLIED], 1);
        cr_assert_eq(all_calls[3], SCN_MASK_NAME);
        const struct scn_op op = scene_translate(1, 1, 0, 0);
        scn_document_take_back(document, scene_apply(document, &op, 1));
        cr_assert_eq(transform_calls[SCN_DOCUMENT_APPLIED], 1);
        cr_assert_eq(transform_calls[SCN_DOCUMENT_TAKEN_BACK], 1);
        (void)scene_do(document, scene_rename(1, "x"));
        cr_assert_eq(all_calls[SCN_DOCUMENT_APPLIED], 2, "an edit that changes nothing is not announced");
        cr_assert(scn_observable_remove(observable, transform_observer));
        cr_assert(scn_observable_remove(observable, all_observer));
        scn_document_destroy(document);
}
