/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Answers to questions about much: in parts where they exceed a message, and the same as if asked one by one. */

#include "server/about.h"
#include "server/answers.h"
#include "tests/lib/hub.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define WORLD_NODES_MAX 65536u
#define PROPERTIES 256u
#define VALUE_BYTES (65536u - 8)

static void ask_world(struct peer *peer, struct scn_slice ref, uint32_t count)
{
        struct scn_message message;
        struct scn_buffer nodes;
        scn_buffer_init(&nodes, SCN_MESSAGE_BYTES_MAX);
        struct scn_packer packer = scn_packer_to(&nodes);
        scn_pack_array(&packer, count);
        for (uint32_t i = 0; i < count; i++) {
                cr_assert_eq(scn_buffer_append(&nodes, ref.data, ref.size), SCN_OK);
        }
        scn_message_init(&message, SCN_MESSAGE_world);
        message.as.world.request = 6;
        message.as.world.nodes = (struct scn_slice){nodes.data, (uint32_t)nodes.size};
        peer_send(peer, &message);
        scn_buffer_finish(&nodes);
}

/* The nodes of an answer, one after the other, are added to `told`. */
static void gather_worlds(struct peer *peer, scn_node_id first, uint32_t count, struct scn_buffer *told)
{
        uint8_t bytes[64];
        struct scn_buffer nodes = {.data = bytes, .capacity = sizeof bytes, .size_max = sizeof bytes};
        struct scn_packer packer = scn_packer_to(&nodes);
        struct scn_message message;
        scn_pack_array(&packer, count);
        for (uint32_t i = 0; i < count; i++) {
                scn_pack_uint(&packer, first + i);
        }
        cr_assert_eq(packer.error, SCN_OK);
        scn_message_init(&message, SCN_MESSAGE_world);
        message.as.world.request = 7;
        message.as.world.nodes = (struct scn_slice){bytes, (uint32_t)nodes.size};
        peer_send(peer, &message);
        message = peer_expect(peer, SCN_MESSAGE_answer);
        struct scn_unpacker unpacker = scn_unpacker_from(message.as.answer.body);
        cr_assert_eq(scn_unpack_array(&unpacker), count);
        for (uint32_t i = 0; i < count; i++) {
                const struct scn_slice one = scn_unpack_raw(&unpacker);
                cr_assert_eq(scn_buffer_append(told, one.data, one.size), SCN_OK);
        }
        cr_assert(scn_unpack_is_done(&unpacker));
}

/* Some have their rotation and scale in common with the one before, some only part of it. */
SCN_TEST(query, of_worlds_together_tells_of_each_what_it_tells_of_it_alone)
{
        static const struct scn_trs transforms[] = {
                {{1, 2, 3}, {0, 0, 0, 1}, {1, 1, 1}},
                {{4, 5, 6}, {0, 0, 0, 1}, {1, 1, 1}},
                {{4, 5, 6}, {0, 0.6f, 0, 0.8f}, {1, 1, 1}},
                {{7, 8, 9}, {0, 0.6f, 0, 0.8f}, {1, 1, 1}},
                {{7, 8, 9}, {0, 0.6f, 0, 0.8f}, {1, 1, -2}},
                {{7, 8, 9}, {0, 0.6f, 0, 0.8f}, {1, 0, -2}},
                {{0, 0, 0}, {0.6f, 0, 0, 0.8f}, {0, 0, 0}},
                {{1, 0, 0}, {0, 0, 0.6f, 0.8f}, {0, 0, 0}},
                {{1, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}},
                {{1, 0, 0}, {0, 0, 0, 1}, {1, 1, 3}},
                {{1, 0, 0}, {0, 0, 0, 1}, {1, 2, 3}},
                {{1, 0, 0}, {0, 0, 0, 1}, {4, 2, 3}},
        };
        const uint32_t count = sizeof transforms / sizeof transforms[0];
        struct scn_op ops[sizeof transforms / sizeof transforms[0]];
        struct scn_buffer together;
        struct scn_buffer alone;
        struct hub hub;
        struct peer peer;
        for (uint32_t i = 0; i < count; i++) {
                ops[i] = scene_add(1, 2 + i, "node");
                ops[i].fields = SCN_FIELDS_TRANSLATION | SCN_FIELDS_ROTATION | SCN_FIELDS_SCALE;
                ops[i].trs = transforms[i];
        }
        scn_buffer_init(&together, SCN_MESSAGE_BYTES_MAX);
        scn_buffer_init(&alone, SCN_MESSAGE_BYTES_MAX);
        hub_start(&hub);
        peer_open(&peer, &hub, 1, "ann", "isle");
        peer_edit(&peer, ops, count);
        (void)peer_expect(&peer, SCN_MESSAGE_applied);
        gather_worlds(&peer, 2, count, &together);
        for (uint32_t i = 0; i < count; i++) {
                gather_worlds(&peer, 2 + i, 1, &alone);
        }
        cr_assert_eq(together.size, alone.size);
        cr_expect_eq(memcmp(together.data, alone.data, alone.size), 0);
        scn_buffer_finish(&together);
        scn_buffer_finish(&alone);
        peer_close(&peer);
        hub_finish(&hub);
}

static const struct scn_slice root = {(const uint8_t *)"\xa1/", 2};

SCN_TEST(query, of_so_many_worlds_that_they_exceed_a_message_is_answered_in_parts)
{
        struct hub hub;
        struct peer peer;
        uint32_t told = 0;
        uint32_t parts = 0;
        struct scn_message message;
        hub_start(&hub);
        peer_open(&peer, &hub, 1, "ann", "isle");
        ask_world(&peer, root, WORLD_NODES_MAX);
        do {
                message = peer_expect(&peer, SCN_MESSAGE_answer);
                struct scn_unpacker unpacker = scn_unpacker_from(message.as.answer.body);
                told += scn_unpack_array(&unpacker);
                parts++;
        } while (message.as.answer.more == true);
        cr_expect_eq(told, WORLD_NODES_MAX);
        cr_expect_gt(parts, 2);
        ask_world(&peer, root, WORLD_NODES_MAX + 1);
        peer_expect_code(&peer, SCN_MESSAGE_failed, "too_large");
        ask_world(&peer, root, 0);
        message = peer_expect(&peer, SCN_MESSAGE_answer);
        cr_expect_eq(message.as.answer.body.size, 1);
        peer_close(&peer);
        hub_finish(&hub);
}

/* Paths may be long: a few thousand of them would fill the memory of any peer. */
SCN_TEST(query, of_worlds_whose_paths_are_too_much_together_is_refused)
{
        static char name[1001];
        struct scn_op op = scene_add(1, 0, name);
        struct hub hub;
        struct peer peer;
        memset(name, 'n', sizeof name - 1);
        op.uid = scene_uid(2);
        op.name = scene_text(name);
        hub_start(&hub);
        peer_open(&peer, &hub, 1, "ann", "isle");
        for (uint32_t depth = 0; depth < 100; depth++) {
                peer_edit(&peer, &op, 1);
                (void)peer_expect(&peer, SCN_MESSAGE_applied);
                op.parent = scene_ref(2 + depth);
                op.uid = scene_uid(3 + depth);
        }
        struct scn_slice deep = {(const uint8_t *)"\x65", 1}; /* the root has id 1, the last one 101 */
        ask_world(&peer, deep, 600);
        cr_expect_eq(peer_expect(&peer, SCN_MESSAGE_answer).as.answer.more, true);
        ask_world(&peer, deep, 700);
        peer_expect_code(&peer, SCN_MESSAGE_failed, "too_large");
        peer_close(&peer);
        hub_finish(&hub);
}

/* All that is told of so many worlds; 0: it is refused, and why is said. */
static uint64_t bytes_of_worlds(struct peer *peer, struct scn_slice ref, uint32_t count)
{
        uint64_t bytes = 0;
        struct scn_message message;
        ask_world(peer, ref, count);
        hub_run(peer->hub);
        do {
                cr_assert(peer_receive(peer, &message));
                if (message.kind == SCN_MESSAGE_failed) {
                        cr_assert_eq(bytes, 0, "refused in the middle");
                        cr_expect(scene_is_text(message.as.failed.code, "too_large"));
                        cr_expect(scene_is_text(message.as.failed.text,
                                          "world.nodes: it is larger than its limit, world_bytes_max = 67108864"),
                                "%.*s", (int)message.as.failed.text.size, (const char *)message.as.failed.text.data);
                        return 0;
                }
                cr_assert_eq(message.kind, SCN_MESSAGE_answer);
                uint8_t head[SCN_FRAME_HEAD_BYTES_MAX];
                bytes += peer->payload.size + scn_frame_head(peer->payload.size, head);
        } while (message.as.answer.more == true);
        return bytes;
}

SCN_TEST_WITH(query, of_worlds_is_answered_up_to_so_many_bytes_together_and_not_one_more, .timeout = 120)
{
        static char name[1001];
        const uint64_t bytes_max = 67108864;
        const struct scn_slice leaf = {(const uint8_t *)"\x03", 1};
        struct hub hub;
        struct peer peer;
        memset(name, 'n', sizeof name - 1);
        hub_start(&hub);
        peer_open(&peer, &hub, 1, "ann", "isle");
        const struct scn_op ops[2] = {scene_add(1, 2, name), scene_add(2, 3, name)};
        peer_edit(&peer, ops, 2);
        (void)peer_expect(&peer, SCN_MESSAGE_applied);
        const uint64_t one = bytes_of_worlds(&peer, leaf, 2) - bytes_of_worlds(&peer, leaf, 1);
        cr_assert_gt(one, 2000);
        /* Each part has a head of its own, so this is a little too many or just right. */
        uint32_t count = (uint32_t)(bytes_max / one);
        uint64_t bytes;
        uint32_t tries = 0;
        while ((bytes = bytes_of_worlds(&peer, leaf, count)) == 0) {
                cr_assert_lt(tries++, 8, "%u worlds of %u bytes are too much", (unsigned)count, (unsigned)one);
                count--;
        }
        cr_expect_leq(bytes, bytes_max, "%llu bytes in all", (unsigned long long)bytes);
        cr_expect_gt(bytes + one + 16, bytes_max, "%llu bytes and one more would do", (unsigned long long)bytes);
        cr_expect_eq(bytes_of_worlds(&peer, leaf, count + 1), 0);
        peer_close(&peer);
        hub_finish(&hub);
}

static void set_property(struct peer *peer, uint32_t number)
{
        static uint8_t value[VALUE_BYTES] = {0xc5, (VALUE_BYTES - 3) >> 8, (VALUE_BYTES - 3) & 0xff};
        char key[8];
        struct scn_op op;
        (void)snprintf(key, sizeof key, "%03u", number);
        value[VALUE_BYTES - 1] = (uint8_t)number;
        op = scene_set(1, key, (struct scn_slice){value, VALUE_BYTES});
        peer_edit(peer, &op, 1);
        (void)peer_expect(peer, SCN_MESSAGE_applied);
}

/* The next property must be the one of this number. */
static void expect_property(struct scn_unpacker *unpacker, uint32_t number)
{
        char key[8];
        (void)snprintf(key, sizeof key, "%03u", number);
        const struct scn_slice told = scn_unpack_text(unpacker, 8);
        cr_assert(told.size == 3 && memcmp(told.data, key, 3) == 0, "%.3s, not %s", (const char *)told.data, key);
        const struct scn_slice value = scn_unpack_raw(unpacker);
        cr_assert_eq(value.size, VALUE_BYTES);
        cr_assert_eq(value.data[VALUE_BYTES - 1], (uint8_t)number);
}

/* One element of the tree's answer; gives how many properties were told before and in it. */
static uint32_t expect_piece(struct scn_unpacker *unpacker, uint32_t before)
{
        bool continues = false;
        uint32_t count = 0;
        for (uint32_t left = scn_unpack_map(unpacker); left > 0; left--) {
                const uint64_t key = scn_unpack_uint(unpacker, 8);
                if (key == 7) {
                        count = scn_unpack_map(unpacker);
                        for (uint32_t i = 0; i < count; i++) {
                                expect_property(unpacker, before + i);
                        }
                } else if (key == 8) {
                        continues = scn_unpack_bool(unpacker);
                } else {
                        (void)scn_unpack_raw(unpacker);
                }
        }
        cr_assert_eq(unpacker->error, SCN_OK);
        cr_assert_eq(continues, before > 0);
        cr_assert_gt(count, 0, "an empty piece");
        return before + count;
}

SCN_TEST_WITH(query, of_a_node_whose_properties_exceed_a_message_is_answered_in_pieces, .timeout = 60)
{
        struct hub hub;
        struct peer peer;
        struct scn_message message;
        uint32_t told = 0;
        hub_start(&hub);
        peer_open(&peer, &hub, 1, "ann", "isle");
        for (uint32_t i = 0; i < PROPERTIES; i++) {
                set_property(&peer, i);
        }
        scn_message_init(&message, SCN_MESSAGE_tree);
        message.as.tree.request = 3;
        peer_send(&peer, &message);
        do {
                message = peer_expect(&peer, SCN_MESSAGE_answer);
                struct scn_unpacker unpacker = scn_unpacker_from(message.as.answer.body);
                for (uint32_t left = scn_unpack_array(&unpacker); left > 0; left--) {
                        told = expect_piece(&unpacker, told);
                }
        } while (message.as.answer.more == true);
        cr_expect_eq(told, PROPERTIES);
        peer_close(&peer);
        hub_finish(&hub);
}

/* --- The frame of an answer --- */

#define SIBLINGS 20u

/* Nodes 2 to 1 + count, named alike but for the last one, which is "last". */
static struct scn_document *make_row(uint32_t count, uint32_t path_steps_max)
{
        struct scn_limits limits = SCN_LIMITS_DEFAULT;
        limits.path_steps_max = path_steps_max;
        struct scn_document *document = scene_create_limited(&limits);
        for (uint32_t i = 0; i < count; i++) {
                (void)scene_new(document, 1, 2 + i, i + 1 < count ? "node" : "last");
        }
        return document;
}

/* Asks for nodes by uid, from this number on, relative to a path. */
static struct scn_answers ask_relative(
        const struct scn_document *document, const char *relative, uint32_t first, uint32_t count)
{
        struct scn_message message;
        struct scn_buffer nodes;
        struct scn_answers answers = {.request = 1};
        scn_buffer_init(&nodes, SCN_MESSAGE_BYTES_MAX);
        struct scn_packer packer = scn_packer_to(&nodes);
        scn_pack_array(&packer, count);
        for (uint32_t i = 0; i < count; i++) {
                scn_pack_uid(&packer, scene_uid(first + i));
        }
        cr_assert_eq(packer.error, SCN_OK);
        scn_message_init(&message, SCN_MESSAGE_world);
        message.as.world.relative = scene_path(relative);
        message.as.world.nodes = (struct scn_slice){nodes.data, (uint32_t)nodes.size};
        scn_query_world(document, &message.as.world, &answers);
        cr_assert_eq(answers.error, SCN_OK);
        scn_buffer_finish(&nodes);
        return answers;
}

/* The answer's elements; the unpacker stands at the first one. */
static uint32_t open_answer(const struct scn_answers *answers, struct scn_unpacker *elements_out)
{
        struct scn_message message;
        struct scn_message_fault fault;
        struct scn_frame_reader reader;
        struct scn_slice payload;
        enum scn_error error;
        cr_assert_eq(answers->count, 1);
        scn_frame_reader_init(&reader);
        cr_assert_eq(scn_frame_reader_feed(&reader, scn_preface, SCN_PREFACE_BYTES), SCN_OK);
        cr_assert_eq(scn_frame_reader_feed(&reader, answers->frames[0]->bytes, answers->frames[0]->size), SCN_OK);
        cr_assert(scn_frame_reader_next(&reader, &payload, &error));
        cr_assert_eq(scn_message_decode(payload, SCN_RECEIVER_CLIENT, &message, &fault), SCN_OK);
        /* The body lies in the answer, too, which outlives the reader. */
        const struct scn_slice body = message.as.answer.body;
        const uint8_t *end = answers->frames[0]->bytes + answers->frames[0]->size;
        const size_t behind = (size_t)(payload.data + payload.size - body.data);
        *elements_out = scn_unpacker_from((struct scn_slice){end - behind, body.size});
        scn_frame_reader_finish(&reader);
        return scn_unpack_array(elements_out);
}

/* The next element: why there is no world, or "" where there is one. */
static void expect_element(struct scn_unpacker *elements, const char *wanted)
{
        struct scn_slice text = {(const uint8_t *)"", 0};
        for (uint32_t left = scn_unpack_map(elements); left > 0; left--) {
                if (scn_unpack_uint(elements, 10) == 10) {
                        text = scn_unpack_text(elements, 1000);
                } else {
                        (void)scn_unpack_raw(elements);
                }
        }
        cr_assert_eq(elements->error, SCN_OK);
        cr_assert(text.size == strlen(wanted) && memcmp(text.data, wanted, text.size) == 0, "%.*s, not %s",
                (int)text.size, (const char *)text.data, wanted);
}

static void expect_each(const struct scn_document *document, const char *relative, const char *wanted)
{
        struct scn_unpacker elements;
        struct scn_answers answers = ask_relative(document, relative, 2, SIBLINGS);
        cr_assert_eq(open_answer(&answers, &elements), SIBLINGS);
        for (uint32_t i = 0; i < SIBLINGS; i++) {
                expect_element(&elements, wanted);
        }
        scn_answers_finish(&answers);
}

SCN_TEST(query, of_worlds_finds_their_frame_once_however_many_they_are)
{
        struct scn_document *document = make_row(SIBLINGS, SIBLINGS);
        expect_each(document, "/last", "");
        scn_document_destroy(document);
        document = make_row(SIBLINGS, SIBLINGS - 1);
        struct scn_said said;
        struct scn_limits limits = *scn_document_limits(document);
        const struct scn_node_ref frame = scene_path("/last");
        expect_each(document, "/last", scn_about_node(&said, "relative", &frame, SCN_E_PATH_TOO_LONG, &limits));
        scn_document_destroy(document);
}

SCN_TEST(query, of_worlds_blames_the_frame_for_what_is_wrong_with_the_frame_and_the_node_for_the_rest)
{
        struct scn_op flat = scene_translate(1 + SIBLINGS, 0, 0, 0);
        struct scn_document *document = make_row(SIBLINGS, 1000);
        struct scn_unpacker elements;
        expect_each(document, "/nobody", "relative /nobody: no node has this path");
        struct scn_answers answers = ask_relative(document, "/nobody", 1 + SIBLINGS, 2);
        struct scn_said said;
        const struct scn_node_ref lost = scene_ref(2 + SIBLINGS);
        cr_assert_eq(open_answer(&answers, &elements), 2);
        expect_element(&elements, "relative /nobody: no node has this path");
        expect_element(&elements, scn_about_node(&said, "node", &lost, SCN_E_NO_NODE, scn_document_limits(document)));
        scn_answers_finish(&answers);
        flat.fields = SCN_FIELDS_SCALE;
        flat.trs.s[0] = 0;
        (void)scene_do(document, flat);
        const struct scn_node_ref frame = scene_path("/last");
        expect_each(document, "/last",
                scn_about_node(&said, "relative", &frame, SCN_E_SINGULAR, scn_document_limits(document)));
        scn_document_destroy(document);
}

SCN_TEST(query, of_worlds_that_cannot_be_read_says_so_of_its_nodes)
{
        static const struct {
                const char *nodes;
                uint32_t size;
                const char *text;
        } cases[] = {
                {"\xc3", 1, "world.nodes: wants an array of nodes, each an id, a uid or a path"},
                {"\x92\x01\xc3", 3, "world.nodes: wants an array of nodes, each an id, a uid or a path"},
                {"\x91\xff", 2, "world.nodes: a number is outside the range of its field"},
        };
        struct hub hub;
        struct peer peer;
        struct scn_message message;
        hub_start(&hub);
        peer_open(&peer, &hub, 1, "ann", "isle");
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                scn_message_init(&message, SCN_MESSAGE_world);
                message.as.world.request = 5;
                message.as.world.nodes = (struct scn_slice){(const uint8_t *)cases[i].nodes, cases[i].size};
                peer_send(&peer, &message);
                peer_expect_text(&peer, SCN_MESSAGE_failed, cases[i].text);
        }
        peer_close(&peer);
        hub_finish(&hub);
}

/* A search of its own for each of them would take several seconds. */
SCN_TEST(query, of_worlds_of_nodes_that_are_not_there_searches_for_nothing_but_the_frame)
{
        const uint32_t count = 20000;
        struct scn_document *document = make_row(count, 4000000);
        const clock_t began = clock();
        struct scn_answers answers = ask_relative(document, "/last", 1000000, count);
        const double seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
        cr_expect_lt(seconds, 1.0);
        scn_answers_finish(&answers);
        scn_document_destroy(document);
}
