/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "server/fold_plan.h"

#include "protocol/base/bytes.h"
#include "protocol/scene/edit.h"
#include "server/author.h"
#include "server/record_fold.h"
#include "tests/lib/scene.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <string.h>

#define MAX 8u
#define ANN 1u
#define BEN 2u

/* A few transactions of one record each. */
struct window {
        struct scn_journal_transaction transactions[MAX];
        const struct scn_journal_transaction *all[MAX];
        struct scn_journal_record records[MAX];
        struct scn_buffer bytes[MAX];
        uint32_t count;
};

static const struct scn_uid node = {{7}};
static const uint8_t values[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 0xc0}; /* msgpack spells them so */
#define NIL 9u                                                     /* the property is not there */
static const uint8_t keys[] = {0xa1, 'a', 0xa1, 'b'};

static struct scn_slice value(uint32_t of)
{
        return (struct scn_slice){&values[of], 1};
}

static struct scn_record_field set_of(uint32_t key, uint32_t before, uint32_t after, scn_revision writer)
{
        return (struct scn_record_field){
                .kind = SCN_OP_SET,
                .node = node,
                .key = {&keys[2 * key], 2},
                .before = value(before),
                .after = value(after),
                .writer = writer,
        };
}

static struct scn_record_field move_of(uint32_t fields, float before, float after, scn_revision writer)
{
        struct scn_record_field field = {
                .kind = SCN_OP_TRANSFORM, .node = node, .fields = fields, .writers = {writer, writer, writer}};
        for (int i = 0; i < 3; i++) {
                field.before_trs.t[i] = field.before_trs.r[i] = field.before_trs.s[i] = before;
                field.after_trs.t[i] = field.after_trs.r[i] = field.after_trs.s[i] = after;
        }
        return field;
}

static struct scn_journal_transaction *add_raw(struct window *window, uint32_t client, scn_revision step)
{
        const uint32_t at = window->count++;
        window->transactions[at] = (struct scn_journal_transaction){
                .revision = at + 1,
                .client = scn_test_client_uid(client),
                .group = 5,
                .step = step,
                .cause = SCN_CAUSE_EDIT,
                .records = &window->records[at],
                .records_count = 1,
        };
        window->all[at] = &window->transactions[at];
        return &window->transactions[at];
}

static struct scn_journal_transaction *add(
        struct window *window, uint32_t client, scn_revision step, struct scn_record_field field)
{
        const uint32_t at = window->count;
        struct scn_buffer *bytes = &window->bytes[at];
        size_t before = 0;
        scn_buffer_init(bytes, 1000);
        SCN_TEST_OK(scn_record_write_field(&field, bytes, &before));
        window->records[at] = (struct scn_journal_record){
                .kind = field.kind,
                .node = field.node,
                .before = {bytes->data, (uint32_t)before},
                .after = {bytes->data + before, (uint32_t)(bytes->size - before)},
        };
        return add_raw(window, client, step);
}

static struct scn_fold_plan *plan_of(struct window *window)
{
        struct scn_fold_plan *plan;
        uint32_t at;
        SCN_TEST_OK(scn_fold_plan_create(window->all, window->count, &plan, &at));
        return plan;
}

static void finish(struct window *window)
{
        for (uint32_t i = 0; i < window->count; i++) {
                scn_buffer_finish(&window->bytes[i]);
        }
}

/* So many go; the window ends. */
static void expect(struct window *window, uint32_t saved, const char *why)
{
        struct scn_fold_plan *plan = plan_of(window);
        cr_assert_eq(scn_fold_plan_saved(plan), saved, "%s: %u go", why, scn_fold_plan_saved(plan));
        scn_fold_plan_destroy(plan);
        finish(window);
}

SCN_TEST(fold_plan, joins_a_gesture_at_its_end_with_what_was_before_and_is_after)
{
        struct window window = {.count = 0};
        struct scn_record_field joined;
        bool is_field;
        (void)add(&window, ANN, 1, set_of(0, 0, 1, 0));
        (void)add(&window, ANN, 1, set_of(0, 1, 2, 1));
        (void)add(&window, BEN, 3, set_of(1, 0, 1, 0));
        (void)add(&window, ANN, 1, set_of(0, 2, 3, 1));
        struct scn_fold_plan *plan = plan_of(&window);
        const struct scn_fold_part *parts = scn_fold_plan_parts(plan);
        cr_assert_eq(scn_fold_plan_saved(plan), 2);
        cr_assert(parts[0].into == 3 && parts[1].into == 3 && parts[2].into == 2 && parts[3].into == 3);
        cr_assert(parts[2].records == NULL);
        cr_assert_eq(parts[3].records_count, 1);
        SCN_TEST_OK(scn_record_read_field(&parts[3].records[0], &joined, &is_field));
        cr_assert(is_field && joined.before.size == 1 && joined.before.data[0] == 0 && joined.writer == 0);
        cr_assert(joined.after.size == 1 && joined.after.data[0] == 3);
        scn_fold_plan_destroy(plan);
        finish(&window);
}

SCN_TEST(fold_plan, joins_the_parts_of_a_transform_each_from_its_first_to_its_last)
{
        struct window window = {.count = 0};
        struct scn_record_field joined;
        bool is_field;
        (void)add(&window, ANN, 1, move_of(SCN_FIELDS_TRANSLATION, 0, 1, 0));
        (void)add(&window, ANN, 1, move_of(SCN_FIELDS_SCALE, 5, 6, 0));
        (void)add(&window, ANN, 1, move_of(SCN_FIELDS_TRANSLATION, 1, 2, 1));
        struct scn_fold_plan *plan = plan_of(&window);
        cr_assert_eq(scn_fold_plan_saved(plan), 2);
        const struct scn_fold_part *part = &scn_fold_plan_parts(plan)[2];
        cr_assert_eq(part->records_count, 1);
        SCN_TEST_OK(scn_record_read_field(&part->records[0], &joined, &is_field));
        cr_assert_eq(joined.fields, (uint32_t)(SCN_FIELDS_TRANSLATION | SCN_FIELDS_SCALE));
        cr_assert(joined.before_trs.t[0] == 0.0f && joined.after_trs.t[0] == 2.0f);
        cr_assert(joined.before_trs.s[0] == 5.0f && joined.after_trs.s[0] == 6.0f);
        scn_fold_plan_destroy(plan);
        finish(&window);
}

/* Two of Ann's that would fold, with one of Ben's between. */
static void expect_between(struct scn_record_field field, uint32_t saved, const char *why)
{
        struct window window = {.count = 0};
        (void)add(&window, ANN, 1, set_of(0, 0, 1, 0));
        (void)add(&window, BEN, 2, field);
        (void)add(&window, ANN, 1, set_of(0, 1, 2, 1));
        expect(&window, saved, why);
}

SCN_TEST(fold_plan, leaves_a_gesture_alone_where_others_write_what_it_writes)
{
        struct scn_record_field elsewhere = set_of(0, 1, 2, 0);
        elsewhere.node = (struct scn_uid){{8}};
        expect_between(set_of(0, 5, 6, 0), 0, "the same key");
        expect_between(set_of(1, 5, 6, 0), 1, "another key");
        expect_between(elsewhere, 1, "another node");
        expect_between(move_of(SCN_FIELDS_TRANSLATION, 1, 2, 0), 1, "another field");
}

SCN_TEST(fold_plan, leaves_a_gesture_alone_where_its_node_is_moved_meanwhile)
{
        struct window window = {.count = 0};
        (void)add(&window, ANN, 1, set_of(0, 0, 1, 0));
        window.records[window.count] = (struct scn_journal_record){.kind = SCN_OP_MOVE, .node = node};
        (void)add_raw(&window, BEN, 2);
        (void)add(&window, ANN, 1, set_of(0, 1, 2, 1));
        expect(&window, 0, "a move");
}

SCN_TEST(fold_plan, leaves_alone_what_an_undo_would_find_otherwise)
{
        struct window window = {.count = 0};
        (void)add(&window, ANN, 1, set_of(0, 0, 1, 0));
        (void)add(&window, ANN, 1, set_of(0, 3, 2, 1));
        expect(&window, 0, "another value than it left");
        window = (struct window){.count = 0};
        (void)add(&window, ANN, 1, set_of(0, 0, 1, 0));
        (void)add(&window, ANN, 1, set_of(0, 1, 2, 9));
        expect(&window, 0, "another writer");
        window = (struct window){.count = 0};
        (void)add(&window, ANN, 1, set_of(0, 0, 1, 0));
        (void)add(&window, ANN, 1, set_of(0, 1, 0, 1));
        expect(&window, 0, "it ends as it began");
        window = (struct window){.count = 0};
        (void)add(&window, ANN, 1, set_of(0, 0, NIL, 0));
        (void)add(&window, ANN, 1, set_of(0, NIL, 2, 1));
        expect(&window, 0, "what it took away meanwhile");
        window = (struct window){.count = 0};
        (void)add(&window, ANN, 1, set_of(0, NIL, 1, 0));
        (void)add(&window, ANN, 1, set_of(0, 1, NIL, 1));
        expect(&window, 0, "nothing before and after: as it began");
        window = (struct window){.count = 0};
        (void)add(&window, ANN, 1, set_of(0, NIL, 1, 0));
        (void)add(&window, ANN, 1, set_of(0, 1, 2, 1));
        expect(&window, 1, "nothing before alone is no hindrance");
        window = (struct window){.count = 0};
        (void)add(&window, ANN, 1, set_of(0, 0, 1, 0));
        add(&window, ANN, 1, set_of(0, 1, 2, 1))->cause = SCN_CAUSE_UNDO;
        expect(&window, 0, "an undo is no part of it");
        window = (struct window){.count = 0};
        (void)add(&window, ANN, 1, set_of(0, 0, 1, 0));
        add(&window, ANN, 1, set_of(0, 1, 2, 1))->group = 6;
        expect(&window, 0, "another group");
        window = (struct window){.count = 0};
        (void)add(&window, 0, 1, set_of(0, 0, 1, 0));
        (void)add(&window, 0, 1, set_of(0, 1, 2, 1));
        expect(&window, 0, "the server's own");
        window = (struct window){.count = 0};
        (void)add(&window, ANN, 1, set_of(0, 0, 1, 0));
        add(&window, ANN, 1, set_of(0, 1, 2, 1))->answer =
                (struct scn_slice){values, SCN_JOURNAL_FOLD_ANSWER_BYTES_MAX + 1};
        expect(&window, 0, "an answer that stands among records");
        window = (struct window){.count = 0};
        (void)add(&window, ANN, 1, set_of(0, 0, 1, 0));
        add(&window, ANN, 1, set_of(0, 1, 2, 1))->answer =
                (struct scn_slice){values, SCN_JOURNAL_FOLD_ANSWER_BYTES_MAX};
        expect(&window, 1, "one that just does not");
}

SCN_TEST(fold_plan, names_the_transaction_whose_record_cannot_be_read)
{
        static const uint8_t garbage[] = {0x93, 0xc1};
        static const uint32_t kinds[] = {SCN_OP_SET, SCN_OP_TRANSFORM, SCN_OP_RENAME, SCN_OP_REMOVE, 99};
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
                struct window window = {.count = 0};
                struct scn_fold_plan *plan;
                uint32_t at = 99;
                (void)add(&window, ANN, 1, set_of(0, 0, 1, 0));
                window.records[1] = (struct scn_journal_record){
                        .kind = kinds[i], .node = node, .before = {garbage, 2}, .after = {garbage, 2}};
                (void)add_raw(&window, ANN, 1);
                cr_assert_eq(scn_fold_plan_create(window.all, window.count, &plan, &at), SCN_E_CORRUPT, "%u", kinds[i]);
                cr_assert_eq(at, 1);
                cr_assert_null(plan);
                finish(&window);
        }
}
