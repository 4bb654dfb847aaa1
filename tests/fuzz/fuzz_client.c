/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* A client between a program that does this and that and a server that says anything: what arrives must neither break
 * it nor make it call back more or less than once.
 *
 * The input is a row of steps. A step is a byte: 0, the size of a message in two bytes, and the message, which the
 * server says; 1, sizes and bytes likewise, which come as they are, without a frame around them; or what the program
 * does, see `steps`. */

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/base/uid.h"
#include "protocol/wire/frame.h"
#include "protocol/wire/message.h"

#include <scn/client.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CONNECTIONS_MAX 16u
#define VIEWS_MAX 4u
#define DRAFTS_MAX 64u

struct world {
        struct scn_client *client;
        struct scn_view *views[VIEWS_MAX];
        uint32_t views_count;
        uint32_t connections;
        uint32_t drafts;
        uint64_t now_ms;
        uint8_t random;
        uint64_t asked;    /* edits, undos, requests whose callback has not run for the last time */
        uint64_t answered; /* that many have */
        uint64_t seen;     /* so that reading is not optimised away */
};

static void draw(void *data, uint8_t *bytes, size_t size)
{
        struct world *world = data;
        for (size_t i = 0; i < size; i++) {
                bytes[i] = world->random++;
        }
}

/* --- Callbacks read all they can --- */

static void read_bytes(struct world *world, struct scn_slice bytes)
{
        for (uint32_t i = 0; bytes.data != NULL && i < bytes.size; i++) {
                world->seen += bytes.data[i];
        }
}

static void read_failure(struct world *world, const struct scn_failure *failure)
{
        if (failure != NULL) {
                world->seen += strlen(failure->code) + strlen(failure->text);
                read_bytes(world, failure->detail);
        }
}

static void on_result(struct scn_client *client, const struct scn_result *result, void *data)
{
        struct world *world = data;
        (void)client;
        world->answered++;
        read_failure(world, result->failure);
        read_bytes(world, result->results);
        read_bytes(world, result->summary);
}

static void on_answer(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct world *world = data;
        struct scn_tree_node node;
        struct scn_world place;
        struct scn_slice name;
        uint8_t digest[16];
        (void)client;
        world->answered += !answer->has_more;
        read_failure(world, answer->failure);
        read_bytes(world, answer->body);
        for (size_t at = 0; scn_answer_tree(answer, &at, &node);) {
                read_bytes(world, node.name);
                read_bytes(world, node.props);
        }
        for (size_t at = 0; scn_answer_world(answer, &at, &place);) {
                read_bytes(world, place.path);
                read_bytes(world, place.text);
        }
        for (size_t at = 0; scn_answer_document(answer, &at, &name);) {
                read_bytes(world, name);
        }
        world->seen += scn_answer_digest(answer, digest);
}

/* The whole view: each node is reached, and so is each property. */
static void read_view(struct world *world, const struct scn_view *view)
{
        const struct scn_uid root = scn_view_root(view);
        uint32_t count = 0;
        uint8_t digest[16];
        for (struct scn_uid at = root; !scn_uid_is_none(at); at = scn_view_walk(view, root, at)) {
                struct scn_node_info node;
                struct scn_slice key;
                struct scn_slice value;
                float matrix[16];
                count++;
                SCN_ASSERT(scn_view_node(view, at, &node));
                read_bytes(world, node.name);
                for (uint32_t i = 0; i < node.properties_count; i++) {
                        SCN_ASSERT(scn_view_property_at(view, at, i, &key, &value));
                        read_bytes(world, key);
                        read_bytes(world, value);
                }
                world->seen += scn_view_world(view, at, matrix) == SCN_OK;
        }
        SCN_ASSERT(count == scn_view_nodes_count(view));
        scn_view_digest(view, digest);
        world->seen += digest[0];
}

static void on_change(struct scn_view *view, const struct scn_view_event *event, void *data)
{
        struct world *world = data;
        for (size_t i = 0; i < event->changes_count; i++) {
                const struct scn_view_change *change = &event->changes[i];
                for (uint32_t k = 0; k < change->keys_count; k++) {
                        SCN_ASSERT(change->keys_first + k < event->keys_count);
                        read_bytes(world, event->keys[change->keys_first + k]);
                }
        }
        for (size_t i = 0; i < event->removed_count; i++) {
                world->seen += event->removed[i].uid.bytes[0] + event->removed[i].name.size;
        }
        for (size_t i = 0; i < event->left_count; i++) {
                world->seen += event->left[i].uid.bytes[0] + event->left[i].name.size;
        }
        read_bytes(world, event->author);
        read_bytes(world, event->cause);
        read_failure(world, event->failure);
        read_view(world, view);
}

static void on_end(struct scn_view *view, const struct scn_failure *failure, void *data)
{
        (void)view;
        read_failure(data, failure);
}

/* --- The server --- */

static void feed(struct world *world, const void *bytes, size_t size)
{
        if (scn_client_feed(world->client, bytes, size, world->now_ms) != SCN_OK ||
                scn_client_dispatch(world->client, world->now_ms) != SCN_OK) {
                scn_client_disconnect(world->client, world->now_ms);
        }
}

static void say(struct world *world, struct scn_slice payload)
{
        struct scn_buffer frame;
        scn_buffer_init(&frame, SCN_MESSAGE_BYTES_MAX + 8);
        SCN_ASSERT(scn_frame_append_head(&frame, payload.size) == SCN_OK);
        SCN_ASSERT(scn_buffer_append(&frame, payload.data, payload.size) == SCN_OK);
        feed(world, frame.data, frame.size);
        scn_buffer_finish(&frame);
}

static void say_message(struct world *world, const struct scn_message *message)
{
        struct scn_buffer payload;
        scn_buffer_init(&payload, SCN_MESSAGE_BYTES_MAX);
        SCN_ASSERT(scn_message_encode(message, &payload) == SCN_OK);
        say(world, (struct scn_slice){payload.data, (uint32_t)payload.size});
        scn_buffer_finish(&payload);
}

static void drain(struct world *world)
{
        for (struct scn_slice output; (output = scn_client_output(world->client)).size > 0;) {
                read_bytes(world, output);
                scn_client_sent(world->client, output.size);
        }
}

static void greet(struct world *world)
{
        static const uint8_t no_limits[] = {0x80};
        static const uint8_t epoch[8] = {0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7};
        struct scn_message message;
        feed(world, scn_preface, SCN_PREFACE_BYTES);
        scn_message_init(&message, SCN_MESSAGE_welcome);
        message.as.welcome.version = SCN_PROTOCOL_VERSION;
        message.as.welcome.session = 7;
        message.as.welcome.limits = (struct scn_slice){no_limits, sizeof no_limits};
        say_message(world, &message);
        scn_message_init(&message, SCN_MESSAGE_opened);
        message.as.opened.request = 1;
        memset(message.as.opened.document.bytes, 0xd0, 16);
        memset(message.as.opened.root.bytes, 0xe0, 16);
        message.as.opened.epoch = (struct scn_slice){epoch, sizeof epoch};
        message.as.opened.rev = 1;
        message.as.opened.number = 0;
        message.as.opened.author = (struct scn_slice){(const uint8_t *)"ann", 3};
        say_message(world, &message);
        drain(world);
}

static void connect(struct world *world)
{
        world->now_ms += 100000;
        if (scn_client_state(world->client) == SCN_CLIENT_OFFLINE && world->connections < CONNECTIONS_MAX) {
                world->connections++;
                if (scn_client_connect(world->client, world->now_ms) == SCN_OK) {
                        drain(world);
                        greet(world);
                }
        }
}

/* --- The program --- */

static void make_view(struct world *world)
{
        struct scn_view_options options = SCN_VIEW_OPTIONS_INIT;
        options.on_change = on_change;
        options.on_end = on_end;
        options.data = world;
        if (world->views_count < VIEWS_MAX &&
                scn_view_create(world->client, &options, &world->views[world->views_count]) == SCN_OK) {
                world->views_count++;
        }
}

static void make_replay(struct world *world)
{
        struct scn_replay_options options = SCN_REPLAY_OPTIONS_INIT;
        options.on_change = on_change;
        options.on_end = on_end;
        options.data = world;
        if (world->views_count < VIEWS_MAX &&
                scn_replay_create(world->client, &options, &world->views[world->views_count]) == SCN_OK) {
                world->views_count++;
        }
}

static void drop_view(struct world *world)
{
        if (world->views_count > 0) {
                scn_view_destroy(world->views[--world->views_count]);
        }
}

/* Some node that the first view shows, the `index`-th of the walk. */
static struct scn_target some_node(const struct world *world, uint32_t index)
{
        const struct scn_view *view = world->views_count > 0 ? world->views[0] : NULL;
        struct scn_uid at = view != NULL ? scn_view_root(view) : (struct scn_uid){{0}};
        for (; index > 0 && !scn_uid_is_none(at); index--) {
                const struct scn_uid next = scn_view_walk(view, scn_view_root(view), at);
                at = scn_uid_is_none(next) ? at : next;
        }
        return scn_uid_is_none(at) ? SCN_BY_PATH("/") : SCN_BY_UID(at);
}

static void edit(struct world *world)
{
        struct scn_draft *draft = world->drafts < DRAFTS_MAX
                ? scn_draft_create(world->client, world->views_count > 0 ? world->views[0] : NULL)
                : NULL;
        if (draft == NULL) {
                return;
        }
        const uint32_t kind = world->drafts++;
        const struct scn_target node = some_node(world, kind % 5);
        const struct scn_position position = {.kind = SCN_POSITION_INDEX, .index = kind % 3};
        const float t[3] = {(float)kind, 1.0f, 2.0f};
        struct scn_addition addition = SCN_ADDITION_INIT;
        addition.parent = node;
        addition.name = "n";
        enum scn_error error = SCN_OK;
        error = kind % 3 == 0 ? scn_draft_add(draft, &addition, NULL) : error;
        error = error == SCN_OK && kind % 4 == 1
                ? scn_draft_move(draft, node, some_node(world, kind % 7), position, SCN_MOVE_KEEP_WORLD)
                : error;
        error = error == SCN_OK && kind % 4 == 2 ? scn_draft_set_double(draft, node, "k", (double)kind) : error;
        error = error == SCN_OK && kind % 7 == 3 ? scn_draft_remove(draft, node) : error;
        error = error == SCN_OK ? scn_draft_transform(draft, node, t, NULL, NULL) : error;
        if (error != SCN_OK) {
                scn_draft_destroy(draft);
        } else if (scn_draft_submit(draft, on_result, world, NULL) == SCN_OK) {
                world->asked++;
        }
}

static void undo(struct world *world)
{
        const struct scn_undo what = SCN_UNDO_INIT;
        if (world->drafts++ < DRAFTS_MAX) {
                world->asked += scn_client_undo(world->client, &what, on_result, world) == SCN_OK;
        }
}

static void ask(struct world *world)
{
        const struct scn_target root = SCN_BY_PATH("/");
        if (world->drafts++ < DRAFTS_MAX) {
                world->asked += scn_client_world(world->client, &root, 1, NULL, on_answer, world) == SCN_OK;
                world->asked += scn_client_tree(world->client, NULL, on_answer, world) == SCN_OK;
        }
}

static void break_off(struct world *world)
{
        scn_client_disconnect(world->client, world->now_ms);
        connect(world);
}

static void wait(struct world *world)
{
        world->now_ms += 10000;
        feed(world, NULL, 0);
}

static void (*const steps[])(struct world *world) = {
        make_view, make_replay, drop_view, edit, undo, ask, break_off, wait, connect, drain};
#define STEPS_COUNT (sizeof steps / sizeof steps[0])

/* Returns what is left of the input. */
static struct scn_slice step(struct world *world, struct scn_slice input)
{
        const uint8_t kind = input.data[0];
        if (kind >= 2) {
                steps[(kind - 2u) % STEPS_COUNT](world);
                return (struct scn_slice){input.data + 1, input.size - 1};
        }
        if (input.size < 3) {
                return (struct scn_slice){NULL, 0};
        }
        const uint32_t claimed = (uint32_t)input.data[1] << 8 | input.data[2];
        const uint32_t size = claimed < input.size - 3 ? claimed : input.size - 3;
        if (kind == 0) {
                say(world, (struct scn_slice){input.data + 3, size});
        } else {
                feed(world, input.data + 3, size);
        }
        drain(world);
        return (struct scn_slice){input.data + 3 + size, input.size - 3 - size};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct world world = {.random = 1};
        struct scn_client_options options = SCN_CLIENT_OPTIONS_INIT;
        struct scn_slice input = {data, (uint32_t)size};
        options.document = "isle";
        options.random = draw;
        options.data = &world;
        SCN_ASSERT(scn_client_create(&options, &world.client) == SCN_OK);
        make_view(&world);
        connect(&world);
        while (input.size > 0) {
                input = step(&world, input);
        }
        scn_client_destroy(world.client);
        SCN_ASSERT(world.answered == world.asked);
        return 0;
}
