/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/scene/observer.h"

#include "tests/lib/test.h"

#include <string.h>

#define LOG_BYTES 256

/* Who was called, one letter each; a nested notification stands in brackets. */
static char calls[LOG_BYTES];
static struct scn_observable *observable;

/* An observer that does what a test tells it, once for each call. */
struct actor {
        char name;
        struct scn_observer *handle;
        void (*act)(struct actor *actor, struct scn_event *event);
        struct actor *other;            /* for act */
        const void *returned;           /* what it returns */
        const void *last_return, *data; /* what it was told at its last call */
        uint32_t mask;
        enum scn_error error;
};

static void note(char letter)
{
        size_t length = strlen(calls);

        cr_assert_lt(length + 1, sizeof calls);
        calls[length] = letter;
        calls[length + 1] = '\0';
}

static enum scn_error on_event(struct scn_event *event, const void **return_out, void *data)
{
        struct actor *actor = data;

        note(actor->name);
        actor->last_return = event->last_return;
        actor->data = event->data;
        actor->mask = event->mask;
        cr_assert_null(*return_out);
        if (actor->returned != NULL)
                *return_out = actor->returned;
        if (actor->act != NULL)
                actor->act(actor, event);
        return actor->error;
}

static void start(void)
{
        calls[0] = '\0';
        observable = scn_observable_create();
        cr_assert_not_null(observable);
}

static void add_with(struct actor *actor, struct scn_observer_options options)
{
        options.callback = on_event;
        options.data = actor;
        cr_assert_eq(scn_observable_add(observable, &options, &actor->handle), SCN_OK);
        cr_assert_not_null(actor->handle);
}

static void add(struct actor *actor)
{
        add_with(actor, (struct scn_observer_options){.mask = SCN_MASK_ALL});
}

static void remove_actor(struct actor *actor)
{
        cr_assert(scn_observable_remove(observable, actor->handle));
}

static bool notify(uint32_t mask)
{
        bool was_completed = false;

        cr_assert_eq(scn_observable_notify(observable, mask, NULL, &was_completed), SCN_OK);
        return was_completed;
}

static void expect_calls(const char *expected)
{
        cr_assert_str_eq(calls, expected);
        calls[0] = '\0';
}

/* Takes out whoever is left, so that destroy finds nobody. */
static void finish(struct actor *actors, size_t count)
{
        for (size_t i = 0; i < count; i++)
                scn_observable_remove(observable, actors[i].handle);
        cr_assert_eq(scn_observable_count(observable), 0);
        scn_observable_destroy(observable);
}

SCN_TEST(observer, with_mask_minus_one_hears_everything)
{
        struct actor a[] = {{.name = 'a'}};

        start();
        add(&a[0]);
        cr_assert(notify(1));
        cr_assert(notify(1u << 31));
        cr_assert(notify(SCN_MASK_ALL));
        expect_calls("aaa");
        cr_assert_eq(a[0].mask, SCN_MASK_ALL);
        finish(a, 1);
}

SCN_TEST(observer, hears_only_what_its_mask_lets_through)
{
        struct actor a[] = {{.name = 'a'}, {.name = 'b'}, {.name = 'c'}, {.name = 'd'}};

        start();
        add_with(&a[0], (struct scn_observer_options){.mask = SCN_MASK_NAME});
        add_with(&a[1], (struct scn_observer_options){.mask = SCN_MASK_TRANSFORM});
        add_with(&a[2], (struct scn_observer_options){.mask = SCN_MASK_NAME | SCN_MASK_TRANSFORM});
        add_with(&a[3], (struct scn_observer_options){.mask = 0});
        cr_assert_eq(scn_observable_count(observable), 3);
        notify(SCN_MASK_NAME);
        expect_calls("ac");
        notify(SCN_MASK_TRANSFORM);
        expect_calls("bc");
        notify(SCN_MASK_NAME | SCN_MASK_TRANSFORM | SCN_MASK_STRUCTURE);
        expect_calls("abc");
        cr_assert(notify(SCN_MASK_STRUCTURE));
        expect_calls("");
        notify(SCN_MASK_ALL);
        expect_calls("abc");
        notify(0);
        expect_calls("");
        finish(a, 4);
}

SCN_TEST(observer, is_called_in_the_order_of_adding_but_first_ones_before)
{
        struct actor a[] = {{.name = 'a'}, {.name = 'b'}, {.name = 'c'}, {.name = 'd'}};

        start();
        add(&a[0]);
        add(&a[1]);
        add_with(&a[2], (struct scn_observer_options){.mask = SCN_MASK_ALL, .is_first = true});
        notify(1);
        expect_calls("cab");
        add_with(&a[3], (struct scn_observer_options){.mask = SCN_MASK_ALL, .is_first = true});
        notify(1);
        expect_calls("dcab");
        finish(a, 4);
}

SCN_TEST(observer, is_given_the_event_and_its_own_data)
{
        struct actor a[] = {{.name = 'a'}};
        int event = 7;

        start();
        add(&a[0]);
        cr_assert_eq(scn_observable_notify(observable, 5, &event, NULL), SCN_OK);
        cr_assert_eq(a[0].data, &event);
        cr_assert_eq(a[0].mask, 5);
        expect_calls("a");
        finish(a, 1);
}

SCN_TEST(observer, reads_what_the_one_before_returned_and_the_first_reads_the_event)
{
        int event, one, three;
        struct actor a[] = {
                {.name = 'a', .returned = &one}, {.name = 'b'}, {.name = 'c', .returned = &three}, {.name = 'd'}};

        start();
        add(&a[0]);
        add(&a[1]);
        add_with(&a[2], (struct scn_observer_options){.mask = 2});
        add(&a[3]);
        cr_assert_eq(scn_observable_notify(observable, 2, &event, NULL), SCN_OK);
        cr_assert_eq(a[0].last_return, &event);
        cr_assert_eq(a[1].last_return, &one);
        cr_assert_null(a[2].last_return);
        cr_assert_eq(a[3].last_return, &three);
        /* One that is passed over returns nothing: the one before it is the one called before. */
        cr_assert_eq(scn_observable_notify(observable, 1, &event, NULL), SCN_OK);
        cr_assert_null(a[3].last_return);
        scn_observable_remove(observable, a[1].handle);
        cr_assert_eq(scn_observable_notify(observable, 1, &event, NULL), SCN_OK);
        cr_assert_eq(a[3].last_return, &one);
        finish(a, 4);
}

SCN_TEST(observer, once_is_called_once)
{
        struct actor a[] = {{.name = 'a'}, {.name = 'b'}, {.name = 'c'}};

        start();
        add(&a[0]);
        add_with(&a[1], (struct scn_observer_options){.mask = SCN_MASK_ALL, .is_once = true});
        add(&a[2]);
        notify(1);
        notify(1);
        expect_calls("abcac");
        cr_assert_eq(scn_observable_count(observable), 2);
        cr_assert_not(scn_observable_remove(observable, a[1].handle));
        finish(a, 3);
}

SCN_TEST(observer, once_is_not_used_up_by_what_its_mask_holds_back)
{
        struct actor a[] = {{.name = 'a'}};

        start();
        add_with(&a[0], (struct scn_observer_options){.mask = SCN_MASK_NAME, .is_once = true});
        notify(SCN_MASK_TRANSFORM);
        expect_calls("");
        cr_assert_eq(scn_observable_count(observable), 1);
        notify(SCN_MASK_NAME);
        notify(SCN_MASK_NAME);
        expect_calls("a");
        finish(a, 1);
}

static void notify_again_once(struct actor *actor, struct scn_event *event)
{
        (void)event;
        actor->act = NULL;
        note('(');
        notify(1);
        note(')');
}

SCN_TEST(observer, once_is_not_called_again_by_a_notification_inside_its_call)
{
        struct actor a[] = {{.name = 'a'}, {.name = 'b', .act = notify_again_once}, {.name = 'c'}};

        start();
        add(&a[0]);
        add_with(&a[1], (struct scn_observer_options){.mask = SCN_MASK_ALL, .is_once = true});
        add_with(&a[2], (struct scn_observer_options){.mask = SCN_MASK_ALL, .is_once = true});
        notify(1);
        /* c was used up inside, so the outer one does not call it again. */
        expect_calls("ab(ac)");
        finish(a, 3);
}

SCN_TEST(observer, can_be_moved_to_the_top_and_to_the_bottom)
{
        struct actor a[] = {{.name = 'a'}, {.name = 'b'}, {.name = 'c'}};

        start();
        for (size_t i = 0; i < 3; i++)
                add(&a[i]);
        cr_assert(scn_observable_make_first(observable, a[2].handle));
        notify(1);
        expect_calls("cab");
        cr_assert(scn_observable_make_last(observable, a[0].handle));
        notify(1);
        expect_calls("cba");
        cr_assert(scn_observable_make_first(observable, a[2].handle));
        cr_assert(scn_observable_make_last(observable, a[0].handle));
        notify(1);
        expect_calls("cba");
        remove_actor(&a[1]);
        cr_assert_not(scn_observable_make_first(observable, a[1].handle));
        cr_assert_not(scn_observable_make_last(observable, a[1].handle));
        cr_assert_not(scn_observable_make_first(observable, NULL));
        finish(a, 3);
}

static void skip_next(struct actor *actor, struct scn_event *event)
{
        (void)actor;
        event->skip_next = true;
}

SCN_TEST(observer, that_says_skip_next_keeps_the_rest_from_hearing)
{
        struct actor a[] = {{.name = 'a'}, {.name = 'b', .act = skip_next}, {.name = 'c'}};

        start();
        for (size_t i = 0; i < 3; i++)
                add(&a[i]);
        cr_assert_not(notify(1));
        expect_calls("ab");
        /* It was said about one event only. */
        a[1].act = NULL;
        cr_assert(notify(1));
        expect_calls("abc");
        finish(a, 3);
}

SCN_TEST(observer, that_says_skip_next_as_the_last_one_is_heard_by_notify)
{
        struct actor a[] = {{.name = 'a', .act = skip_next}};

        start();
        add(&a[0]);
        cr_assert_not(notify(1));
        expect_calls("a");
        finish(a, 1);
}

SCN_TEST(observer, that_fails_ends_the_notification)
{
        struct actor a[] = {{.name = 'a'}, {.name = 'b', .error = SCN_E_OBSERVER}, {.name = 'c'}};
        bool was_completed = true;

        start();
        for (size_t i = 0; i < 3; i++)
                add(&a[i]);
        cr_assert_eq(scn_observable_notify(observable, 1, NULL, &was_completed), SCN_E_OBSERVER);
        cr_assert_not(was_completed);
        expect_calls("ab");
        a[1].error = SCN_OK;
        cr_assert(notify(1));
        expect_calls("abc");
        finish(a, 3);
}

static void remove_other(struct actor *actor, struct scn_event *event)
{
        (void)event;
        actor->act = NULL;
        remove_actor(actor->other);
        cr_assert_not(scn_observable_remove(observable, actor->other->handle));
}

SCN_TEST(observer, removed_while_all_are_being_told_is_not_called_and_the_next_one_is)
{
        struct actor a[] = {{.name = 'a', .act = remove_other}, {.name = 'b'}, {.name = 'c'}};

        a[0].other = &a[1];
        start();
        for (size_t i = 0; i < 3; i++)
                add(&a[i]);
        cr_assert(notify(1));
        expect_calls("ac");
        cr_assert_eq(scn_observable_count(observable), 2);
        notify(1);
        expect_calls("ac");
        finish(a, 3);
}

SCN_TEST(observer, that_removes_itself_or_one_before_it_skips_nobody)
{
        struct actor a[] = {
                {.name = 'a'}, {.name = 'b', .act = remove_other}, {.name = 'c', .act = remove_other}, {.name = 'd'}};

        a[1].other = &a[1];
        a[2].other = &a[0];
        start();
        for (size_t i = 0; i < 4; i++)
                add(&a[i]);
        notify(1);
        expect_calls("abcd");
        notify(1);
        expect_calls("cd");
        finish(a, 4);
}

static void add_other(struct actor *actor, struct scn_event *event)
{
        (void)event;
        actor->act = NULL;
        add(actor->other);
}

static void add_other_first(struct actor *actor, struct scn_event *event)
{
        (void)event;
        actor->act = NULL;
        add_with(actor->other, (struct scn_observer_options){.mask = SCN_MASK_ALL, .is_first = true});
}

SCN_TEST(observer, added_while_all_are_being_told_is_first_called_the_next_time)
{
        struct actor a[] = {
                {.name = 'a', .act = add_other}, {.name = 'b', .act = add_other_first}, {.name = 'c'}, {.name = 'd'}};

        a[0].other = &a[2];
        a[1].other = &a[3];
        start();
        add(&a[0]);
        add(&a[1]);
        notify(1);
        expect_calls("ab");
        notify(1);
        expect_calls("dabc");
        finish(a, 4);
}

static void add_other_and_notify(struct actor *actor, struct scn_event *event)
{
        add_other(actor, event);
        notify_again_once(actor, event);
}

SCN_TEST(observer, added_before_a_nested_notification_is_called_by_that_one)
{
        struct actor a[] = {{.name = 'a', .act = add_other_and_notify}, {.name = 'b'}, {.name = 'c'}};

        a[0].other = &a[2];
        start();
        add(&a[0]);
        add(&a[1]);
        notify(1);
        expect_calls("a(abc)b");
        notify(1);
        expect_calls("abc");
        finish(a, 3);
}

static void notify_nested(struct actor *actor, struct scn_event *event)
{
        static int inner;
        const struct scn_event outer = *event;
        bool was_completed = true;

        actor->act = skip_next;
        note('(');
        cr_assert_eq(scn_observable_notify(observable, 2, &inner, &was_completed), SCN_OK);
        note(')');
        cr_assert_not(was_completed);
        cr_assert_eq(actor->data, &inner);
        cr_assert_eq(actor->mask, 2);
        actor->act = NULL;
        /* The state of the outer one is back. */
        cr_assert_eq(event->mask, outer.mask);
        cr_assert_eq(event->data, outer.data);
        cr_assert_eq(event->last_return, outer.last_return);
        cr_assert_not(event->skip_next);
}

SCN_TEST(observer, told_inside_another_notification_leaves_the_outer_one_as_it_was)
{
        int event, one;
        struct actor a[] = {{.name = 'a', .returned = &one}, {.name = 'b', .act = notify_nested}, {.name = 'c'}};

        start();
        for (size_t i = 0; i < 3; i++)
                add(&a[i]);
        cr_assert_eq(scn_observable_notify(observable, 1, &event, NULL), SCN_OK);
        expect_calls("ab(ab)c");
        cr_assert_eq(a[2].data, &event);
        cr_assert_eq(a[2].mask, 1);
        finish(a, 3);
}

static uint32_t depth_reached;

static void notify_to_the_limit(struct actor *actor, struct scn_event *event)
{
        (void)actor;
        (void)event;
        if (++depth_reached < SCN_OBSERVER_NESTING_MAX)
                notify(1);
}

SCN_TEST(observer, can_nest_as_deep_as_promised)
{
        struct actor a[] = {{.name = 'a', .act = notify_to_the_limit}, {.name = 'b'}};
        char expected[2 * SCN_OBSERVER_NESTING_MAX + 1] = {0};

        memset(expected, 'a', SCN_OBSERVER_NESTING_MAX);
        memset(expected + SCN_OBSERVER_NESTING_MAX, 'b', SCN_OBSERVER_NESTING_MAX);
        start();
        depth_reached = 0;
        add(&a[0]);
        add(&a[1]);
        notify(1);
        expect_calls(expected);
        finish(a, 2);
}

static void notify_for_ever(struct actor *actor, struct scn_event *event)
{
        (void)event;
        calls[0] = '\0';
        cr_assert_not_null(actor);
        notify(1);
}

SCN_TEST_ABORTS(observer, cannot_nest_for_ever)
{
        struct actor actor = {.name = 'a', .act = notify_for_ever};

        start();
        add(&actor);
        notify(1);
}

SCN_TEST(observer, none_means_true_and_costs_nothing)
{
        start();
        uint64_t allocations = scn_alloc_stats().calls;
        bool was_completed = false;
        cr_assert_eq(scn_observable_notify(observable, 1, NULL, &was_completed), SCN_OK);
        cr_assert(was_completed);
        cr_assert_eq(scn_observable_notify(observable, 1, NULL, NULL), SCN_OK);
        cr_assert_eq(scn_alloc_stats().calls, allocations);
        cr_assert_eq(scn_observable_count(observable), 0);
        scn_observable_destroy(observable);
}

SCN_TEST(observer, is_told_without_allocating)
{
        struct actor a[] = {{.name = 'a', .act = notify_again_once}, {.name = 'b', .act = remove_other}, {.name = 'c'}};

        a[1].other = &a[2];
        start();
        for (size_t i = 0; i < 3; i++)
                add(&a[i]);
        uint64_t allocations = scn_alloc_stats().calls;
        notify(1);
        expect_calls("a(ab)b");
        cr_assert_eq(scn_alloc_stats().calls, allocations);
        finish(a, 3);
}

SCN_TEST(observer, says_whether_it_was_there_when_removed_and_twice_is_harmless)
{
        struct actor a[] = {{.name = 'a'}, {.name = 'b'}};

        start();
        add(&a[0]);
        cr_assert(scn_observable_remove(observable, a[0].handle));
        cr_assert_not(scn_observable_remove(observable, a[0].handle));
        cr_assert_not(scn_observable_remove(observable, NULL));
        /* A later observer is never mistaken for the old one. */
        add(&a[1]);
        cr_assert_not(scn_observable_remove(observable, a[0].handle));
        cr_assert_eq(scn_observable_count(observable), 1);
        finish(a, 2);
}

static void make_other_first(struct actor *actor, struct scn_event *event)
{
        (void)event;
        actor->act = NULL;
        cr_assert(scn_observable_make_first(observable, actor->other->handle));
}

static void make_other_last(struct actor *actor, struct scn_event *event)
{
        (void)event;
        actor->act = NULL;
        cr_assert(scn_observable_make_last(observable, actor->other->handle));
}

SCN_TEST(observer, moved_while_all_are_being_told_is_neither_skipped_nor_called_twice)
{
        struct actor a[] = {{.name = 'a'}, {.name = 'b', .act = make_other_first}, {.name = 'c'}, {.name = 'd'}};

        start();
        for (size_t i = 0; i < 4; i++)
                add(&a[i]);
        a[1].other = &a[3]; /* one that waits goes to the front */
        notify(1);
        expect_calls("abdc");
        notify(1);
        expect_calls("dabc");
        a[0].act = make_other_last; /* one that has been told goes to the back */
        a[0].other = &a[3];
        notify(1);
        expect_calls("dabc");
        notify(1);
        expect_calls("abcd");
        a[0].act = make_other_last; /* itself */
        a[0].other = &a[0];
        notify(1);
        expect_calls("abcd");
        notify(1);
        expect_calls("bcda");
        finish(a, 4);
}

SCN_TEST(observer, moved_inside_a_nested_notification_is_called_once_by_each)
{
        struct actor a[] = {
                {.name = 'a', .act = notify_again_once}, {.name = 'b', .act = make_other_first}, {.name = 'c'}};

        a[1].other = &a[2];
        start();
        for (size_t i = 0; i < 3; i++)
                add(&a[i]);
        notify(1);
        expect_calls("a(abc)cb");
        finish(a, 3);
}

static enum scn_error add_and_destroy(void *data)
{
        struct actor actor = {.name = 'a'};
        const struct scn_observer_options options = {.mask = 1, .callback = on_event, .data = &actor};

        (void)data;
        struct scn_observable *own = scn_observable_create();
        if (own == NULL)
                return SCN_E_NO_MEMORY;
        enum scn_error error = SCN_OK;
        struct scn_observer *handles[20];
        uint32_t count = 0;
        while (error == SCN_OK && count < 20) {
                error = scn_observable_add(own, &options, &handles[count]);
                if (error == SCN_OK)
                        count++;
        }
        cr_assert_eq(scn_observable_count(own), count);
        while (count != 0)
                cr_assert(scn_observable_remove(own, handles[--count]));
        scn_observable_destroy(own);
        return error;
}

SCN_TEST(observer, survives_every_allocation_that_fails)
{
        scn_test_fail_each_allocation(add_and_destroy, NULL);
}

SCN_TEST(observer, may_be_destroyed_when_there_never_was_one)
{
        uint64_t live = scn_alloc_stats().live_count;

        scn_observable_destroy(NULL);
        cr_assert_eq(scn_alloc_stats().live_count, live);
}

SCN_TEST_ABORTS(observer, still_registered_forbids_to_destroy)
{
        struct actor actor = {.name = 'a'};

        start();
        add(&actor);
        scn_observable_destroy(observable);
}
