/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What is done with a large scene holds up nobody in another document. SCN_NODES says how large (tests/long/run: half
 * a million). The wanted time is a tenth of what fails the test. */

#include "tests/lib/caller.h"
#include "tests/lib/scene.h"
#include "tests/lib/serve.h"
#include "tests/lib/test.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#define ANSWER_MS 200u /* a tenth of it is wanted */
#define PART_OPS 16384u
#define FANOUT 8u

struct table {
        struct serve serve;
        struct caller builder;
        struct caller neighbour;
        uint32_t nodes;
};

static void begin(struct table *table)
{
        const char *text = getenv("SCN_NODES");
        table->nodes = text == NULL ? 100000 : (uint32_t)strtoul(text, NULL, 10);
        serve_begin(&table->serve);
        caller_begin(&table->builder, serve_connect(&table->serve, SERVE_TCP), 1, "ann");
        caller_begin(&table->neighbour, serve_connect(&table->serve, SERVE_TCP), 2, "ben");
        (void)caller_open(&table->builder, "large");
        (void)caller_open(&table->neighbour, "small");
}

/* Something has come, or was read along with what came before it. */
static bool has_answer(const struct caller *caller)
{
        struct pollfd poll_fd = {.fd = caller->descriptor, .events = POLLIN};
        return caller->reader.buffer.size > caller->reader.at || poll(&poll_fd, 1, 0) > 0;
}

/* The neighbour asks, edits and asks again, until the builder has an answer. Returns how often. */
static uint32_t watch(struct table *table, const char *what)
{
        static uint64_t number;
        uint64_t longest_ms = 0;
        uint32_t count = 0;
        do {
                const struct scn_op op = scene_translate(1, (float)++number, 0, 0);
                const uint64_t began_ms = scn_daemon_now_ms();
                caller_world(&table->neighbour, 5);
                (void)caller_expect(&table->neighbour, SCN_MESSAGE_answer);
                const uint64_t took_ms = scn_daemon_now_ms() - began_ms;
                caller_edit(&table->neighbour, number, &op, 1);
                (void)caller_await(&table->neighbour, number);
                longest_ms = took_ms > longest_ms ? took_ms : longest_ms;
                count++;
        } while (!has_answer(&table->builder));
        printf("%u nodes, %s: the neighbour's longest of %u answers: %llu ms\n", table->nodes, what, count,
                (unsigned long long)longest_ms);
        cr_expect_lt(longest_ms, ANSWER_MS, "%s", what);
        return count;
}

/* A tree of nodes: 2 and what is below it, each with so many children. */
static void build(struct table *table, uint64_t number)
{
        struct scn_op *ops = calloc(PART_OPS, sizeof *ops);
        cr_assert_not_null(ops);
        for (uint32_t i = 0; i < table->nodes; i += PART_OPS) {
                const uint32_t left = table->nodes - i;
                const uint32_t count = left < PART_OPS ? left : PART_OPS;
                for (uint32_t j = 0; j < count; j++) {
                        const uint32_t at = i + j;
                        ops[j] = scene_add(1, 50 + at, "node");
                        ops[j].parent = at == 0 ? scene_id(1) : scene_ref(50 + (at - 1) / FANOUT);
                }
                caller_edit_part(&table->builder, number, ops, count, left > PART_OPS);
        }
        free(ops);
}

SCN_TEST_WITH(neighbour, of_a_large_scene_is_answered_while_it_is_built_read_removed_and_brought_back, .timeout = 600)
{
        static struct table table;
        struct scn_message message;
        begin(&table);
        caller_view(&table.builder, 3);
        (void)caller_expect(&table.builder, SCN_MESSAGE_delta);

        build(&table, 1);
        cr_expect_gt(watch(&table, "an edit that adds"), 1, "there was nothing to wait for");
        cr_assert_eq(caller_await(&table.builder, 1), 1);
        (void)watch(&table, "a view's delta");
        do {
                message = caller_expect(&table.builder, SCN_MESSAGE_delta);
        } while (message.as.delta.more);

        caller_ask(&table.builder, SCN_MESSAGE_tree, 4);
        (void)watch(&table, "the tree");
        do {
                message = caller_expect(&table.builder, SCN_MESSAGE_answer);
        } while (message.as.answer.more);

        const struct scn_op op = scene_remove(2);
        caller_edit(&table.builder, 2, &op, 1);
        (void)watch(&table, "an edit that removes");
        cr_assert_eq(caller_await(&table.builder, 2), 2);
        (void)watch(&table, "a delta of what is gone");
        (void)caller_expect(&table.builder, SCN_MESSAGE_delta);

        scn_message_init(&message, SCN_MESSAGE_undo);
        message.as.undo.number = 3;
        caller_send(&table.builder, &message);
        (void)watch(&table, "its undo");
        cr_assert_eq(caller_await(&table.builder, 3), 3);
        (void)watch(&table, "a view that has it back");
        caller_end(&table.builder);
        caller_end(&table.neighbour);
        serve_finish(&table.serve);
}
