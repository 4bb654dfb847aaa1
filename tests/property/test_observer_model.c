/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/scene/observer.h"

#include "tests/lib/random.h"
#include "tests/lib/test.h"

#include <inttypes.h>
#include <string.h>

/* A naive model that predicts each call, and observers that do anything at random. */

static struct scn_observable *observable;

#define MODEL_MAX 4000
#define NESTING_MAX 4
#define PRESENT_MAX 24

struct model_observer {
        struct scn_observer *handle;
        uint32_t mask;
        bool is_once;
};

struct model_run {
        uint32_t mask;
        uint32_t known; /* observers with a smaller index were there at its start */
        bool was_called[MODEL_MAX];
        bool is_ended;
};

static struct {
        uint64_t seed;
        struct scn_random random;
        struct model_observer observers[MODEL_MAX]; /* all that ever were, by birth */
        uint32_t observers_count;
        uint32_t order[MODEL_MAX]; /* those that are, in order */
        uint32_t order_count;
        struct model_run runs[NESTING_MAX];
        uint32_t depth;
        uint32_t calls_count;
} model;

static enum scn_error on_model_event(struct scn_event *event, const void **return_out, void *data);

static uint32_t model_place(uint32_t index)
{
        uint32_t place = 0;

        while (place < model.order_count && model.order[place] != index)
                place++;
        return place;
}

static bool model_remove(uint32_t index)
{
        uint32_t place = model_place(index);

        if (place == model.order_count)
                return false;
        model.order_count--;
        for (; place < model.order_count; place++)
                model.order[place] = model.order[place + 1];
        return true;
}

static void model_insert(uint32_t index, bool is_first)
{
        uint32_t place = model.order_count++;

        for (; is_first && place != 0; place--)
                model.order[place] = model.order[place - 1];
        model.order[place] = index;
}

/* Who must be called next by the innermost notification; MODEL_MAX: nobody. */
static uint32_t model_next(void)
{
        const struct model_run *run = &model.runs[model.depth - 1];

        for (uint32_t place = 0; place < model.order_count && !run->is_ended; place++) {
                uint32_t index = model.order[place];
                if (index < run->known && !run->was_called[index] && (model.observers[index].mask & run->mask) != 0)
                        return index;
        }
        return MODEL_MAX;
}

static void add_anybody(void)
{
        uint32_t index = model.observers_count;
        struct model_observer *observer = &model.observers[index];
        bool is_first = scn_random_chance(&model.random, 40);

        if (index == MODEL_MAX || model.order_count == PRESENT_MAX)
                return;
        observer->mask = scn_random_chance(&model.random, 30) ? SCN_MASK_ALL : scn_random_below(&model.random, 8);
        observer->is_once = scn_random_chance(&model.random, 30);
        const struct scn_observer_options options = {
                .mask = observer->mask,
                .is_first = is_first,
                .is_once = observer->is_once,
                .callback = on_model_event,
                .data = observer,
        };
        cr_assert_eq(scn_observable_add(observable, &options, &observer->handle), SCN_OK);
        model.observers_count++;
        model_insert(index, is_first);
}

static void notify_anything(void)
{
        struct model_run *run = &model.runs[model.depth];
        bool was_completed = false;

        if (model.depth == NESTING_MAX)
                return;
        *run = (struct model_run){.mask = scn_random_below(&model.random, 8), .known = model.observers_count};
        model.depth++;
        enum scn_error error = scn_observable_notify(observable, run->mask, run, &was_completed);
        cr_assert_eq(model_next(), MODEL_MAX, "somebody was left out: seed %" PRIu64, model.seed);
        cr_assert_eq(was_completed, !run->is_ended, "seed %" PRIu64, model.seed);
        cr_assert(error == SCN_OK || run->is_ended, "seed %" PRIu64, model.seed);
        model.depth--;
}

/* One of those that are or ever were. */
static uint32_t anybody(void)
{
        if (model.order_count != 0 && scn_random_chance(&model.random, 80))
                return model.order[scn_random_below(&model.random, model.order_count)];
        return scn_random_below(&model.random, model.observers_count);
}

static void do_anything(void)
{
        uint32_t action = scn_random_below(&model.random, 10);

        if (action < 3 || model.observers_count == 0) {
                add_anybody();
                return;
        }
        uint32_t index = anybody();
        const struct scn_observer *handle = model.observers[index].handle;
        bool is_first = scn_random_chance(&model.random, 50);
        if (action < 5) {
                cr_assert_eq(
                        scn_observable_remove(observable, handle), model_remove(index), "seed %" PRIu64, model.seed);
        } else if (action < 8) {
                bool is_there = model_remove(index);
                if (is_there)
                        model_insert(index, is_first);
                cr_assert_eq(is_first ? scn_observable_make_first(observable, handle)
                                      : scn_observable_make_last(observable, handle),
                        is_there, "seed %" PRIu64, model.seed);
        } else {
                notify_anything();
        }
}

static enum scn_error on_model_event(struct scn_event *event, const void **return_out, void *data)
{
        uint32_t index = (uint32_t)((struct model_observer *)data - model.observers);
        struct model_run *run = &model.runs[model.depth - 1];

        model.calls_count++;
        cr_assert_eq(index, model_next(), "observer %" PRIu32 " instead of %" PRIu32 ": seed %" PRIu64, index,
                model_next(), model.seed);
        cr_assert_eq(event->data, run);
        cr_assert_eq(event->mask, run->mask);
        run->was_called[index] = true;
        if (model.observers[index].is_once)
                model_remove(index);
        for (uint32_t i = scn_random_below(&model.random, 3); i != 0; i--)
                do_anything();
        *return_out = data;
        cr_assert_not(event->skip_next);
        event->skip_next = scn_random_chance(&model.random, 3);
        bool is_failing = scn_random_chance(&model.random, 3);
        run->is_ended = event->skip_next || is_failing;
        return is_failing ? SCN_E_OBSERVER : SCN_OK;
}

static void run_model(uint64_t seed)
{
        memset(&model, 0, sizeof model);
        model.seed = seed;
        model.random = scn_random_from_seed(seed);
        observable = scn_observable_create();
        cr_assert_not_null(observable);
        for (uint32_t step = 0; step < 60; step++) {
                do_anything();
                notify_anything();
                uint32_t audible_count = 0;
                for (uint32_t place = 0; place < model.order_count; place++)
                        audible_count += model.observers[model.order[place]].mask != 0;
                cr_assert_eq(scn_observable_count(observable), audible_count, "seed %" PRIu64, seed);
        }
        while (model.order_count != 0) {
                cr_assert(scn_observable_remove(observable, model.observers[model.order[0]].handle));
                model_remove(model.order[0]);
        }
        scn_observable_destroy(observable);
}

SCN_TEST_WITH(observer, at_random_does_what_a_naive_model_does, .timeout = 60)
{
        uint64_t first_seed = scn_test_seed(1);
        uint32_t calls_count = 0;

        for (uint64_t seed = first_seed; seed < first_seed + 200; seed++) {
                run_model(seed);
                calls_count += model.calls_count;
        }
        cr_assert_gt(calls_count, 10000, "hardly anybody was ever called");
}
