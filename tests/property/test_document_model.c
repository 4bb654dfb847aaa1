/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Random edits of a document, each followed by the naive model of tests/lib/model.h and compared in all that can
 * be seen: verdicts, records, tree, stamps, digests, worlds, feed; what is taken back; deltas applied to copies
 * that were kept at their cursors; snapshots.
 *
 * A failure prints profile, seed and step. SCN_TEST_SEED=<seed> SCN_SEEDS=1 runs that one alone; SCN_SEEDS=<n>
 * runs n seeds of each profile. */

#include "tests/lib/edits.h"
#include "tests/lib/model.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include "protocol/base/uid.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUTSTANDING_MAX 8
#define COPIES_COUNT 4
#define DUMP_BYTES_MAX ((size_t)1 << 26)

/* A replica, kept at its cursor until it is told what changed. */
struct copy {
        struct scn_document *replica; /* NULL: none yet */
        struct scn_uid root;
        uint32_t mask;
        scn_revision cursor;
        bool is_fresh;
        struct scn_observer *observer;
        uint32_t events_count; /* deltas that the replica has announced */
};

struct outstanding {
        struct scn_changes *changes;
        scn_revision horizon_before;
};

struct run {
        const struct edits_profile *profile;
        struct scn_random random;
        struct model model;
        struct scn_document *document;
        struct scn_observer *observer;
        struct outstanding outstanding[OUTSTANDING_MAX];
        uint32_t outstanding_count;
        struct copy copies[COPIES_COUNT];
        struct scn_delta delta; /* reused, as whoever sends is to do */
        /* What the observer heard since last asked. */
        uint32_t events_count;
        struct scn_document_event last_event;
        uint32_t last_event_mask;
        /* What was reached, so that no profile tests nothing. */
        uint32_t accepted_count, refused_count, taken_back_count, deltas_count, reborn_count, horizon_count,
                damaged_count, starved_count, heard_count;
};

static enum scn_error on_document_event(struct scn_event *event, const void **return_out, void *data)
{
        struct run *run = data;

        (void)return_out;
        run->events_count++;
        run->last_event = *(const struct scn_document_event *)event->data;
        run->last_event_mask = event->mask;
        return SCN_OK;
}

static void observe(struct run *run)
{
        const struct scn_observer_options options = {.mask = SCN_MASK_ALL, .callback = on_document_event, .data = run};

        cr_assert_eq(scn_observable_add(scn_document_observable(run->document), &options, &run->observer), SCN_OK);
}

static void random_bytes(void *data, uint8_t *bytes, size_t size)
{
        struct scn_random *random = data;

        for (size_t i = 0; i < size; i++)
                bytes[i] = (uint8_t)scn_random_next(random);
}

static struct scn_document_options options_of(struct run *run)
{
        return (struct scn_document_options){
                .limits = run->profile->limits,
                .uid = scene_uid(0xd0c),
                .root_uid = edits_uid(0),
                .hash_seed = scn_random_next(&run->random),
                .random = random_bytes,
                .random_data = &run->random,
        };
}

/* One event per accepted edit, with its channels; none for others. */
static void check_event(struct run *run, enum scn_document_event_kind kind, const struct scn_changes *changes)
{
        struct model *model = &run->model;

        MODEL_CHECK(model, run->events_count == 1, "%" PRIu32 " events", run->events_count);
        MODEL_CHECK(model, run->last_event.kind == kind, "another kind of event");
        MODEL_CHECK(model, run->last_event.document == run->document, "event of another document");
        if (kind == SCN_DOCUMENT_APPLIED) {
                MODEL_CHECK(model, run->last_event.changes == changes, "event with other changes");
                MODEL_CHECK(model, run->last_event_mask == model->last_mask, "event with mask %" PRIx32,
                        run->last_event_mask);
        }
        run->events_count = 0;
}

/* Sometimes memory is out for what cannot fail. */
static void starve(struct run *run)
{
        if (scn_random_chance(&run->random, 20))
                scn_alloc_fail_at(1, true);
}

static void settle_oldest(struct run *run)
{
        starve(run);
        scn_document_settle(run->document, run->outstanding[0].changes);
        scn_alloc_fail_at(0, false);
        run->outstanding_count--;
        memmove(run->outstanding, run->outstanding + 1, run->outstanding_count * sizeof run->outstanding[0]);
}

static void take_newest_back(struct run *run)
{
        struct outstanding *newest = &run->outstanding[--run->outstanding_count];

        run->events_count = 0;
        starve(run);
        scn_document_take_back(run->document, newest->changes);
        scn_alloc_fail_at(0, false);
        model_take_back(&run->model);
        check_event(run, SCN_DOCUMENT_TAKEN_BACK, NULL);
        MODEL_CHECK(&run->model, scn_document_horizon(run->document) == newest->horizon_before,
                "the horizon is %" PRIu64 " after taking back", scn_document_horizon(run->document));
        run->taken_back_count++;
}

static void apply_random_edit(struct run *run)
{
        struct edits_generator generator = {.profile = run->profile, .random = &run->random, .model = &run->model};
        const struct scn_edit *edit = edits_generate(&generator);
        struct scn_changes *changes = NULL;
        struct scn_refusal refusal;
        scn_revision horizon_before = scn_document_horizon(run->document);

        run->events_count = 0;
        if (scn_random_chance(&run->random, 8))
                scn_alloc_fail_at(1 + scn_random_below(&run->random, 12), scn_random_chance(&run->random, 50));
        enum scn_error error = scn_document_apply(run->document, edit, &changes, &refusal);
        scn_alloc_fail_at(0, false);
        if (error == SCN_E_NO_MEMORY) {
                MODEL_CHECK(&run->model, run->events_count == 0, "an edit without memory was announced");
                run->starved_count++;
                return;
        }
        const struct model_outcome outcome = {
                .error = error, .changes = error == SCN_OK ? changes : NULL, .refusal = &refusal};
        model_follow(&run->model, run->document, edit, &outcome);
        if (error != SCN_OK) {
                run->refused_count++;
                MODEL_CHECK(&run->model, run->events_count == 0, "a refused edit was announced");
                return;
        }
        if (scn_changes_count(changes) == 0) {
                MODEL_CHECK(&run->model, run->events_count == 0, "an edit that changed nothing was announced");
                scn_document_take_back(run->document, changes);
                return;
        }
        check_event(run, SCN_DOCUMENT_APPLIED, changes);
        run->accepted_count++;
        run->horizon_count += scn_document_horizon(run->document) != horizon_before;
        run->outstanding[run->outstanding_count++] =
                (struct outstanding){.changes = changes, .horizon_before = horizon_before};
}

static void compare_all(struct run *run, bool with_worlds)
{
        struct model *model = &run->model;
        scn_revision revision = model_now(model)->revision;

        struct edits_generator generator = {.profile = run->profile, .random = &run->random, .model = model};

        model_compare(model, run->document);
        for (uint32_t i = 0; i < 3; i++) {
                const struct scn_node_ref ref = edits_any_ref(&generator);
                model_compare_find(model, run->document, &ref);
        }
        model_compare_feed(model, run->document, revision - scn_random_below(&run->random, (uint32_t)revision + 1));
        if (scn_random_chance(&run->random, 5))
                model_compare_feed(model, run->document, revision + 1);
        if (with_worlds)
                model_compare_worlds(model, run->document);
        if (scn_random_chance(&run->random, 25))
                scn_document_check(run->document);
}

/* Copies. */

static enum scn_error on_replica_event(struct scn_event *event, const void **return_out, void *data)
{
        const struct scn_document_event *document_event = event->data;
        struct copy *copy = data;

        (void)return_out;
        cr_assert_eq(document_event->kind, SCN_DOCUMENT_DELTA);
        cr_assert_eq(document_event->document, copy->replica);
        cr_assert_not_null(document_event->delta);
        copy->events_count++;
        return SCN_OK;
}

static void start_copy(struct run *run, struct copy *copy)
{
        struct scn_document_options options = options_of(run);

        cr_assert_eq(scn_document_create_replica(&options, &copy->replica), SCN_OK);
        copy->root = edits_any_uid(&run->random, &run->model);
        copy->mask = scn_random_chance(&run->random, 30) ? SCN_MASK_ALL : scn_random_below(&run->random, 16);
        copy->is_fresh = true;
        const struct scn_observer_options observer = {.mask = SCN_MASK_ALL, .callback = on_replica_event, .data = copy};
        struct scn_observable *observable = scn_document_observable(copy->replica);
        cr_assert_eq(scn_observable_add(observable, &observer, &copy->observer), SCN_OK);
}

static void compare_copy(struct run *run, const struct copy *copy)
{
        const struct model_node *top = model_find_uid(model_now(&run->model), copy->root);

        model_compare_view(&run->model, copy->replica, copy->root, copy->mask);
        scn_document_check(copy->replica);
        if (top == NULL)
                return;
        uint32_t mask = (copy->mask | SCN_MASK_STRUCTURE) & 15;
        struct scn_digests sent = scn_document_subtree_digests(run->document, top->id, mask);
        struct scn_digests held = scn_document_digests(copy->replica);
        for (uint32_t channel = 0; channel < SCN_CHANNEL_COUNT; channel++)
                if ((mask >> channel & 1u) != 0)
                        MODEL_CHECK(&run->model,
                                sent.channels[channel].low == held.channels[channel].low &&
                                        sent.channels[channel].high == held.channels[channel].high,
                                "replica: digest of channel %" PRIu32, channel);
}

/* Leaves no trace if it fails; if it gets by, it may be done again. */
static void apply_without_memory(struct run *run, struct copy *copy, const struct scn_delta *delta)
{
        struct scn_buffer before, after;

        if (!scn_random_chance(&run->random, 10))
                return;
        scene_dump(copy->replica, &before);
        scn_alloc_fail_at(1 + scn_random_below(&run->random, 20), scn_random_chance(&run->random, 50));
        enum scn_error error = scn_document_apply_delta(copy->replica, delta);
        scn_alloc_fail_at(0, false);
        scene_dump(copy->replica, &after);
        MODEL_CHECK(&run->model, error == SCN_OK || error == SCN_E_NO_MEMORY, "a delta without memory: %s",
                scn_error_code(error));
        bool is_same = before.size == after.size && memcmp(before.data, after.data, before.size) == 0;
        MODEL_CHECK(&run->model, error == SCN_OK || is_same, "a delta without memory left traces");
        scn_buffer_finish(&before);
        scn_buffer_finish(&after);
}

static void update_copy(struct run *run, struct copy *copy)
{
        struct model *model = &run->model;
        struct scn_delta_request request = {
                .root = copy->root, .mask = copy->mask, .is_fresh = copy->is_fresh, .from = copy->cursor};
        struct scn_delta *delta = &run->delta;

        enum scn_error error = scn_delta_compute(run->document, &request, delta);
        if (!request.is_fresh && request.from < model_now(model)->horizon) {
                MODEL_CHECK(
                        model, error == SCN_E_BEFORE_HORIZON, "delta before the horizon: %s", scn_error_code(error));
                request.is_fresh = true;
                error = scn_delta_compute(run->document, &request, delta);
        }
        MODEL_CHECK(model, error == SCN_OK, "delta: %s", scn_error_code(error));
        model_check_delta(model, &request, delta);
        run->reborn_count += delta->is_whole && !request.is_fresh;
        for (uint32_t times = 1 + scn_random_below(&run->random, 2); times != 0; times--) {
                apply_without_memory(run, copy, delta);
                copy->events_count = 0;
                error = scn_document_apply_delta(copy->replica, delta);
                MODEL_CHECK(model, error == SCN_OK, "apply a delta from %" PRIu64 ": %s", request.from,
                        scn_error_code(error));
                /* What changes nothing in the replica, such as the same delta once more, is not heard. */
                bool is_heard = copy->events_count == 1 || (copy->events_count == 0 && !delta->is_whole);
                run->heard_count += copy->events_count;
                MODEL_CHECK(model, is_heard, "a replica announced %" PRIu32 " deltas", copy->events_count);
                compare_copy(run, copy);
        }
        run->deltas_count++;
        copy->cursor = delta->to;
        copy->is_fresh = false;
        request.is_fresh = false;
        request.from = model_now(model)->revision + 1;
        MODEL_CHECK(model, scn_delta_compute(run->document, &request, delta) == SCN_E_FUTURE, "delta from the future");
}

static void end_copy(struct copy *copy)
{
        if (copy->replica != NULL)
                scn_observable_remove(scn_document_observable(copy->replica), copy->observer);
        scn_document_destroy(copy->replica);
        *copy = (struct copy){0};
}

static void damage_node(struct run *run, struct scn_delta_node *node)
{
        static const uint8_t not_utf8[] = {0xff};
        scn_node_id any = scn_random_below(&run->random, model_now(&run->model)->next_id + 2);

        switch (scn_random_below(&run->random, 9)) {
        case 0:
                node->id = any;
                break;
        case 1:
                node->parent = any;
                break;
        case 2:
                node->previous = any;
                break;
        case 3:
                node->is_new = !node->is_new;
                break;
        case 4:
                node->fields ^= 1u << scn_random_below(&run->random, SCN_FIELD_COUNT + 1);
                break;
        case 5:
                node->name = (struct scn_slice){not_utf8, 1};
                break;
        case 6:
                node->trs.r[scn_random_below(&run->random, 4)] = NAN;
                break;
        case 7:
                node->properties_first += 1 + any;
                break;
        default:
                node->uid = edits_any_uid(&run->random, &run->model);
                break;
        }
}

static void damage_delta(struct run *run, struct scn_delta *delta)
{
        uint32_t kind = scn_random_below(&run->random, 10);

        if (kind == 0) {
                delta->root++;
        } else if (kind == 1) {
                delta->to = delta->from - (delta->from != 0);
        } else if (kind == 2 && delta->removed_count != 0) {
                delta->removed[0] = scn_random_below(&run->random, 10);
        } else if (kind == 3 && delta->nodes_count > 1) {
                struct scn_delta_node first = delta->nodes[0];
                delta->nodes[0] = delta->nodes[delta->nodes_count - 1];
                delta->nodes[delta->nodes_count - 1] = first;
        } else if (kind == 4 && delta->nodes_count != 0) {
                delta->nodes_count--;
        } else if (delta->nodes_count != 0) {
                damage_node(run, &delta->nodes[scn_random_below(&run->random, (uint32_t)delta->nodes_count)]);
        }
}

/* A damaged delta is refused and leaves no trace, or leaves a document that is one. */
static void try_damaged_delta(struct run *run, struct copy *copy)
{
        struct scn_delta_request request = {
                .root = copy->root, .mask = copy->mask, .is_fresh = copy->is_fresh, .from = copy->cursor};
        struct scn_delta *delta = &run->delta;
        struct scn_buffer before, after;

        if (scn_delta_compute(run->document, &request, delta) == SCN_OK) {
                damage_delta(run, delta);
                scene_dump(copy->replica, &before);
                enum scn_error error = scn_document_apply_delta(copy->replica, delta);
                scene_dump(copy->replica, &after);
                scn_document_check(copy->replica);
                bool is_same = before.size == after.size && memcmp(before.data, after.data, before.size) == 0;
                MODEL_CHECK(&run->model, error == SCN_OK || is_same, "a delta refused as %s left traces",
                        scn_error_code(error));
                run->damaged_count += error != SCN_OK;
                scn_buffer_finish(&before);
                scn_buffer_finish(&after);
                if (error == SCN_OK)
                        end_copy(copy);
        }
}

/* A view has its time, then another one takes its place. */
static void update_some_copies(struct run *run)
{
        for (uint32_t i = 0; i < COPIES_COUNT; i++) {
                struct copy *copy = &run->copies[i];
                if (copy->replica == NULL)
                        start_copy(run, copy);
                if (scn_random_chance(&run->random, 10))
                        try_damaged_delta(run, copy);
                if (copy->replica != NULL && scn_random_chance(&run->random, 40))
                        update_copy(run, copy);
                if (scn_random_chance(&run->random, 4))
                        end_copy(copy);
        }
}

/* Snapshots. */

static struct scn_buffer dump(const struct run *run)
{
        struct scn_buffer rows;

        scn_buffer_init(&rows, DUMP_BYTES_MAX);
        scene_dump(run->document, &rows);
        return rows;
}

static void expect_same_dump(struct run *run, struct scn_buffer *before, const char *what)
{
        struct scn_buffer after = dump(run);

        MODEL_CHECK(&run->model, before->size == after.size && memcmp(before->data, after.data, after.size) == 0,
                "the snapshot differs after %s", what);
        scn_buffer_finish(&after);
        scn_buffer_finish(before);
}

/* Goes on with a document made from the snapshot of the present one. */
static void reload(struct run *run)
{
        struct scn_buffer before = dump(run);
        struct scn_document *copy = scene_copy(run->document);

        scn_observable_remove(scn_document_observable(run->document), run->observer);
        scn_document_destroy(run->document);
        run->document = copy;
        observe(run);
        expect_same_dump(run, &before, "loading it");
        compare_all(run, true);
}

/* Runs. */

static void settle_all(struct run *run)
{
        while (run->outstanding_count != 0)
                settle_oldest(run);
        model_compare_forgotten(&run->model, run->document);
        uint32_t nodes_count = scn_document_nodes_count(run->document);
        uint32_t past_min = run->profile->limits.past_min;
        MODEL_CHECK(&run->model,
                scn_document_past_count(run->document) <= (nodes_count > past_min ? nodes_count : past_min),
                "%" PRIu32 " entries of the past", scn_document_past_count(run->document));
}

/* Some edits, of which none, some or all are taken back. */
static void run_bout(struct run *run)
{
        bool is_dumped = scn_random_chance(&run->random, 30);
        struct scn_buffer before;

        if (is_dumped)
                before = dump(run);
        for (uint32_t edits = 1 + scn_random_below(&run->random, OUTSTANDING_MAX - 1); edits != 0; edits--) {
                apply_random_edit(run);
                compare_all(run, scn_random_chance(&run->random, 20));
                if (!is_dumped && run->outstanding_count != 0 && scn_random_chance(&run->random, 20))
                        settle_oldest(run);
        }
        uint32_t kept = is_dumped ? 0 : scn_random_below(&run->random, run->outstanding_count + 1);
        if (!is_dumped && scn_random_chance(&run->random, 60))
                kept = run->outstanding_count;
        while (run->outstanding_count > kept) {
                take_newest_back(run);
                compare_all(run, scn_random_chance(&run->random, 20));
        }
        if (is_dumped)
                expect_same_dump(run, &before, "taking all back");
        settle_all(run);
        model_compare(&run->model, run->document);
}

/* An assertion of the document's aborts: then too one wants to know where. */
static const char *context_now;

static void on_abort(int signal_number)
{
        ssize_t ignored = write(STDERR_FILENO, context_now, strlen(context_now));

        ignored += write(STDERR_FILENO, "\n", 1);
        (void)ignored;
        signal(signal_number, SIG_DFL);
        raise(signal_number);
}

static void run_seed(const struct edits_profile *profile, uint64_t seed, struct run *run)
{
        *run = (struct run){.profile = profile, .random = scn_random_from_seed(seed * UINT64_C(1000003))};
        struct scn_document_options options = options_of(run);

        cr_assert_eq(scn_document_create(&options, &run->document), SCN_OK);
        model_init(&run->model, &options);
        observe(run);
        for (uint32_t bout = 0; bout < profile->bouts_count; bout++) {
                snprintf(run->model.context, sizeof run->model.context, "profile %s, seed %" PRIu64 ", bout %" PRIu32,
                        profile->name, seed, bout);
                run_bout(run);
                update_some_copies(run);
                if (scn_random_chance(&run->random, 15))
                        reload(run);
        }
        for (uint32_t i = 0; i < COPIES_COUNT; i++)
                end_copy(&run->copies[i]);
        scn_delta_finish(&run->delta);
        scn_observable_remove(scn_document_observable(run->document), run->observer);
        scn_document_destroy(run->document);
        model_finish(&run->model);
}

static uint32_t seeds_count(uint32_t usual)
{
        const char *text = getenv("SCN_SEEDS");
        return text != NULL && *text != '\0' ? (uint32_t)strtoul(text, NULL, 0) : usual;
}

/* Runs the seeds and gives the sums of what they reached. */
static struct run run_profile(const struct edits_profile *profile)
{
        uint64_t first = scn_test_seed(1);
        uint32_t count = seeds_count(profile->seeds_count);
        struct run sums = {0};
        struct run *run = scn_alloc(sizeof *run);

        cr_assert_not_null(run);
        context_now = run->model.context;
        signal(SIGABRT, on_abort);
        for (uint64_t seed = first; seed < first + count; seed++) {
                run_seed(profile, seed, run);
                sums.accepted_count += run->accepted_count;
                sums.refused_count += run->refused_count;
                sums.taken_back_count += run->taken_back_count;
                sums.deltas_count += run->deltas_count;
                sums.reborn_count += run->reborn_count;
                sums.horizon_count += run->horizon_count;
                sums.damaged_count += run->damaged_count;
                sums.starved_count += run->starved_count;
                sums.heard_count += run->heard_count;
        }
        scn_free(run);
        if (count >= profile->seeds_count) {
                cr_assert_gt(sums.accepted_count, sums.refused_count / 4, "hardly anything is accepted");
                cr_assert_gt(sums.refused_count, 0, "nothing is refused");
                cr_assert_gt(sums.taken_back_count, 0, "nothing is taken back");
                cr_assert_gt(sums.deltas_count, 0, "nothing is sent");
                cr_assert(sums.starved_count > 0 || sums.accepted_count < 200, "memory is never out");
                cr_assert_gt(sums.heard_count, sums.deltas_count / 2, "hardly any delta is announced");
        }
        return sums;
}

SCN_TEST_WITH(document_model, is_followed_by_a_mixed_tree, .timeout = 3600)
{
        struct run sums = run_profile(&edits_profile_mixed);
        cr_assert(sums.damaged_count > 0 || seeds_count(1000) < edits_profile_mixed.seeds_count,
                "nothing damaged is refused");
        cr_assert(sums.reborn_count > 0 || seeds_count(1000) < edits_profile_mixed.seeds_count, "no root is reborn");
}

SCN_TEST_WITH(document_model, is_followed_by_deep_chains, .timeout = 3600)
{
        struct run sums = run_profile(&edits_profile_deep);
        cr_assert_gt(sums.accepted_count, 0);
}

SCN_TEST_WITH(document_model, is_followed_by_flat_rows, .timeout = 3600)
{
        struct run sums = run_profile(&edits_profile_flat);
        cr_assert_gt(sums.accepted_count, 0);
}

SCN_TEST_WITH(document_model, is_followed_by_a_document_at_its_limits, .timeout = 3600)
{
        struct run sums = run_profile(&edits_profile_limits);
        cr_assert_gt(sums.refused_count, 0);
}

SCN_TEST_WITH(document_model, is_followed_by_one_whose_horizon_moves, .timeout = 3600)
{
        struct run sums = run_profile(&edits_profile_horizon);
        cr_assert(sums.horizon_count > 0 || seeds_count(1000) < edits_profile_horizon.seeds_count,
                "the horizon never moves");
}

SCN_TEST_WITH(document_model, is_followed_by_transforms_that_keep_the_world, .timeout = 3600)
{
        struct run sums = run_profile(&edits_profile_worlds);
        cr_assert_gt(sums.accepted_count, 0);
}
