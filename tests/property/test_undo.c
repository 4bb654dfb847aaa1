/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Undo and redo through the server's core, at random: alone they are the identity to the bit, and together they never
 * touch what somebody else has written (DESIGN §6, CASES B17, B19). SCN_SEEDS asks for more than the short form. */

#include "protocol/base/uid.h"
#include "server/core.h"
#include "tests/lib/hub.h"
#include "tests/lib/random.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

#define PEERS_MAX 4
#define STEPS_MAX 128
#define TOLD_MAX 8
#define NODES_WANTED 24

struct world {
        struct hub hub;
        struct peer peers[PEERS_MAX];
        uint64_t groups[PEERS_MAX];
        uint32_t peers_count;
        struct scn_random random;
        uint64_t seed;
        uint32_t again_count; /* undos of what was redone that came to where they began */
};

static const char *const names[PEERS_MAX] = {"ann", "ben", "cy", "dot"};

static struct scn_document *document_of(struct world *world)
{
        return world->hub.server->rooms->document;
}

static void open_peers(struct world *world)
{
        for (uint32_t i = 0; i < world->peers_count; i++) {
                peer_open(&world->peers[i], &world->hub, 10 + i, names[i], "test");
                world->groups[i] = 0;
        }
}

static void begin(struct world *world, uint64_t seed, uint32_t peers_count)
{
        *world = (struct world){.peers_count = peers_count, .random = scn_random_from_seed(seed), .seed = seed};
        hub_start(&world->hub);
        open_peers(world);
}

static void close_peers(struct world *world)
{
        for (uint32_t i = 0; i < world->peers_count; i++) {
                peer_close(&world->peers[i]);
        }
}

static void restart(struct world *world)
{
        close_peers(world);
        hub_stop(&world->hub);
        hub_restart(&world->hub);
        open_peers(world);
}

static void end(struct world *world)
{
        close_peers(world);
        hub_finish(&world->hub);
}

/* --- What a document says, writers included --- */

static void dump_bytes(struct scn_buffer *dump, const void *bytes, size_t size)
{
        cr_assert_eq(scn_buffer_append(dump, bytes, size), SCN_OK);
}

static void dump_node(struct scn_buffer *dump, const struct scn_document *document, scn_node_id id)
{
        const struct scn_node_view node = scn_document_node(document, id);
        const struct scn_uid none = {{0}};
        dump_bytes(dump, &node.uid, sizeof node.uid);
        const struct scn_uid parent = node.parent == 0 ? none : scn_document_node(document, node.parent).uid;
        const struct scn_uid previous = node.previous == 0 ? none : scn_document_node(document, node.previous).uid;
        dump_bytes(dump, &parent, sizeof parent);
        dump_bytes(dump, &previous, sizeof previous);
        dump_bytes(dump, &node.trs, sizeof node.trs);
        dump_bytes(dump, &node.name.size, sizeof node.name.size);
        dump_bytes(dump, node.name.data, node.name.size);
        for (uint32_t field = 0; field < SCN_FIELD_COUNT; field++) {
                const scn_revision writer = scn_document_stamp(document, id, (enum scn_field)field).writer;
                dump_bytes(dump, &writer, sizeof writer);
        }
        for (uint32_t i = 0; i < node.property_fields_count; i++) {
                struct scn_stamp_view stamp;
                const struct scn_property property = scn_document_property(document, id, i, &stamp);
                if (property.value.data != NULL) {
                        dump_bytes(dump, property.key.data, property.key.size);
                        dump_bytes(dump, property.value.data, property.value.size);
                        dump_bytes(dump, &stamp.writer, sizeof stamp.writer);
                }
        }
}

static struct scn_digest dump(struct world *world)
{
        const struct scn_document *document = document_of(world);
        const scn_node_id root = scn_document_root(document);
        struct scn_buffer bytes;
        scn_buffer_init(&bytes, 1u << 24);
        for (scn_node_id at = root; at != 0; at = scn_document_walk(document, root, at)) {
                dump_node(&bytes, document, at);
        }
        const struct scn_digest digest = scn_digest_bytes((struct scn_slice){bytes.data, (uint32_t)bytes.size});
        scn_buffer_finish(&bytes);
        return digest;
}

static bool is_same(struct scn_digest a, struct scn_digest b)
{
        return a.low == b.low && a.high == b.high;
}

/* --- Edits --- */

static scn_node_id any_node(struct world *world)
{
        return scene_any_node(document_of(world), &world->random);
}

static struct scn_op any_value_op(struct world *world, scn_node_id node)
{
        static const char *const words[] = {"a", "b", "c"};
        struct scn_random *random = &world->random;
        switch (scn_random_below(random, 4)) {
        case 0:
                return scene_rename(node, words[scn_random_below(random, 3)]);
        case 1: {
                struct scn_op op = scene_translate(node, (float)scn_random_below(random, 9), 1, 2);
                op.fields = scn_random_chance(random, 50) ? SCN_FIELDS_TRANSLATION | SCN_FIELDS_SCALE : op.fields;
                op.trs.s[0] = op.trs.s[1] = op.trs.s[2] = (float)(1 + scn_random_below(random, 3));
                return op;
        }
        default: {
                const bool removes = scn_random_chance(random, 25);
                return scene_set(node, words[scn_random_below(random, 3)],
                        removes ? (struct scn_slice){NULL, 0} : scene_integer((uint8_t)scn_random_below(random, 5)));
        }
        }
}

static struct scn_op any_op(struct world *world)
{
        struct scn_random *random = &world->random;
        const uint32_t count = scn_document_nodes_count(document_of(world));
        const scn_node_id node = any_node(world);
        const scn_node_id other = any_node(world);
        const uint32_t kind = scn_random_below(random, 100);
        if (kind < (count < NODES_WANTED ? 35u : 15u)) {
                struct scn_op op = scene_add(node, 0, scn_random_chance(random, 50) ? "n" : NULL);
                op.uid = scn_random_uid(random);
                op.place = SCN_PLACE_INDEX;
                op.index = scn_random_below(random, 4);
                return op;
        }
        if (kind < 45) {
                return scene_remove(node);
        }
        if (kind < 65) {
                struct scn_op op = scene_move_index(node, other, scn_random_below(random, 4));
                op.keep_world = scn_random_chance(random, 40);
                op.is_lossy = scn_random_chance(random, 50);
                return op;
        }
        return any_value_op(world, node);
}

/* An edit of one to three ops, often of a gesture. It may be refused. */
static void do_edit(struct world *world, uint32_t who)
{
        struct scn_op ops[3];
        struct scn_message message;
        struct peer *peer = &world->peers[who];
        const uint32_t count = 1 + scn_random_below(&world->random, 3);
        for (uint32_t i = 0; i < count; i++) {
                ops[i] = any_op(world);
        }
        world->groups[who] += scn_random_chance(&world->random, 60);
        peer_edit_in(peer, scn_random_chance(&world->random, 60) ? world->groups[who] : SCN_ABSENT, ops, count);
        while (peer_receive(peer, &message)) {
        }
}

struct told {
        bool is_refused;
        char code[32];
        bool is_unchanged;
        uint32_t steps_count;
        scn_revision steps[TOLD_MAX]; /* the first ones */
        scn_revision first_step;      /* the last one taken back is the oldest */
};

static struct told read_told(const struct scn_message *message)
{
        struct told told = {.is_refused = message->kind == SCN_MESSAGE_refused};
        if (told.is_refused) {
                (void)snprintf(told.code, sizeof told.code, "%.*s", (int)message->as.refused.code.size,
                        (const char *)message->as.refused.code.data);
                return told;
        }
        struct scn_unpacker unpacker = scn_unpacker_from(message->as.applied.summary);
        (void)scn_unpack_map(&unpacker);
        (void)scn_unpack_text(&unpacker, 16);
        told.is_unchanged = message->as.applied.unchanged;
        told.steps_count = scn_unpack_array(&unpacker);
        for (uint32_t i = 0; i < told.steps_count; i++) {
                told.first_step = scn_unpack_uint(&unpacker, SCN_REVISION_MAX);
                told.steps[i < TOLD_MAX ? i : TOLD_MAX - 1] = told.first_step;
        }
        cr_assert_eq(unpacker.error, SCN_OK);
        return told;
}

static struct told do_undo(struct world *world, uint32_t who, bool is_redo, uint64_t count, bool is_dry)
{
        struct scn_message message;
        struct peer *peer = &world->peers[who];
        if (is_redo) {
                peer_redo(peer, count);
        } else {
                peer_undo(peer, (struct peer_wish){.count = count, .is_dry = is_dry});
        }
        struct told told = {.is_refused = true};
        bool has_answer = false;
        while (peer_receive(peer, &message)) {
                if (message.kind == SCN_MESSAGE_applied || message.kind == SCN_MESSAGE_refused) {
                        told = read_told(&message);
                        has_answer = true;
                }
        }
        cr_assert(has_answer);
        scn_document_check(document_of(world));
        return told;
}

static const struct scn_steps *steps_of(struct world *world, uint32_t who)
{
        struct scn_room *room = world->hub.server->rooms;
        return &scn_author_get(&room->authors, scene_text(names[who]), room->durable)->steps;
}

/* --- Alone --- */

static void wander(struct world *world, struct scn_digest *states)
{
        for (int walk = 0; walk < 12; walk++) {
                const size_t before = steps_of(world, 0)->undo_count;
                const size_t redo_before = steps_of(world, 0)->redo_count;
                const bool is_redo = scn_random_chance(&world->random, 45);
                const uint64_t count = 1 + scn_random_below(&world->random, 4);
                const struct told told = do_undo(world, 0, is_redo, count, false);
                const size_t after = steps_of(world, 0)->undo_count;
                const size_t there = is_redo ? redo_before : before;
                const size_t moved = count < there ? count : there;
                cr_assert_eq(told.is_refused, there == 0, "seed %llu: %s", (unsigned long long)world->seed, told.code);
                cr_assert_eq(after, is_redo ? before + moved : before - moved);
                cr_assert(is_same(dump(world), states[after]), "seed %llu: not the state of step %zu after %s of %zu",
                        (unsigned long long)world->seed, after, is_redo ? "redo" : "undo", moved);
        }
}

static void run_alone(uint64_t seed)
{
        struct world world;
        struct scn_digest states[STEPS_MAX];
        begin(&world, seed, 1);
        states[0] = dump(&world);
        for (int bout = 0; bout < 4; bout++) {
                for (int i = 0; i < 12; i++) {
                        do_edit(&world, 0);
                        states[steps_of(&world, 0)->undo_count] = dump(&world);
                }
                if (scn_random_chance(&world.random, 40)) {
                        restart(&world);
                        (void)do_undo(&world, 0, false, 1, true); /* reads the past, changes nothing */
                }
                wander(&world, states);
        }
        /* To the beginning and to the end. */
        const size_t top = steps_of(&world, 0)->undo_count + steps_of(&world, 0)->redo_count;
        while (!do_undo(&world, 0, false, 3, false).is_refused) {
        }
        cr_assert(is_same(dump(&world), states[0]));
        restart(&world);
        while (!do_undo(&world, 0, true, 2, false).is_refused) {
        }
        cr_assert_eq(steps_of(&world, 0)->undo_count, top);
        cr_assert(is_same(dump(&world), states[top]), "seed %llu", (unsigned long long)seed);
        end(&world);
}

/* --- Together --- */

/* A field as somebody else has written it. */
struct foreign {
        struct scn_uid node;
        uint32_t field;
        struct scn_digest value;
        struct scn_stamp_view stamp;
};

struct foreigns {
        struct foreign *items;
        size_t count, capacity;
};

static struct scn_digest value_of(const struct scn_document *document, const struct scn_node_view *node, uint32_t field)
{
        const uint32_t offsets[] = {0, 0, 0, 12, 28};
        const uint32_t sizes[] = {0, 0, 12, 16, 12};
        if (field == SCN_FIELD_NAME) {
                return scn_digest_bytes(node->name);
        }
        if (field == SCN_FIELD_PLACE) {
                const struct scn_uid parent =
                        node->parent == 0 ? (struct scn_uid){{0}} : scn_document_node(document, node->parent).uid;
                return scn_digest_bytes((struct scn_slice){parent.bytes, sizeof parent.bytes});
        }
        return scn_digest_bytes((struct scn_slice){(const uint8_t *)&node->trs + offsets[field], sizes[field]});
}

static void collect(struct world *world, uint32_t who, struct foreigns *foreigns)
{
        const struct scn_document *document = document_of(world);
        const struct scn_steps *own = steps_of(world, who);
        const scn_node_id root = scn_document_root(document);
        foreigns->count = 0;
        for (scn_node_id at = root; at != 0; at = scn_document_walk(document, root, at)) {
                const struct scn_node_view node = scn_document_node(document, at);
                for (uint32_t field = 0; field < SCN_FIELD_COUNT; field++) {
                        const struct scn_stamp_view stamp = scn_document_stamp(document, at, (enum scn_field)field);
                        if (stamp.writer == 0 || scn_steps_find(own, stamp.writer) != NULL) {
                                continue;
                        }
                        cr_assert(scn_grow((void **)&foreigns->items, &foreigns->capacity, sizeof *foreigns->items,
                                foreigns->count + 1, SIZE_MAX));
                        foreigns->items[foreigns->count++] =
                                (struct foreign){node.uid, field, value_of(document, &node, field), stamp};
                }
        }
}

/* What others have written is as it was, but where it stood on a node that only the undone step had made. */
static void check_foreign(struct world *world, const struct foreigns *foreigns, scn_revision first_step)
{
        const struct scn_document *document = document_of(world);
        for (size_t i = 0; i < foreigns->count; i++) {
                const struct foreign *foreign = &foreigns->items[i];
                const scn_node_id id = scn_document_find_uid(document, foreign->node);
                if (id == 0) {
                        cr_assert_leq(foreign->stamp.revision, first_step,
                                "seed %llu: a node that others had written since was removed",
                                (unsigned long long)world->seed);
                        continue;
                }
                const struct scn_node_view node = scn_document_node(document, id);
                cr_assert(is_same(value_of(document, &node, foreign->field), foreign->value),
                        "seed %llu: field %u of somebody else was changed", (unsigned long long)world->seed,
                        foreign->field);
                cr_assert_eq(scn_document_stamp(document, id, (enum scn_field)foreign->field).writer,
                        foreign->stamp.writer, "seed %llu: field %u of somebody else got another writer",
                        (unsigned long long)world->seed, foreign->field);
        }
}

/* An undo that can be but for what others have put on the step's own nodes: these came back newer than the step. False:
 * not all of it could be. */
static bool undo_again(struct world *world, uint32_t who, uint32_t steps_count)
{
        const struct told told = do_undo(world, who, false, steps_count, false);
        cr_assert(!told.is_refused || strcmp(told.code, "superseded") == 0, "seed %llu: %s",
                (unsigned long long)world->seed, told.code);
        return !told.is_refused && told.steps_count == steps_count;
}

static void check_undo_again(struct world *world, uint32_t who, uint32_t steps_count, struct scn_digest undone)
{
        const bool is_whole = undo_again(world, who, steps_count);
        cr_assert(!is_whole || is_same(dump(world), undone),
                "seed %llu: undo, redo and undo of %u steps is not what the undo was", (unsigned long long)world->seed,
                steps_count);
        world->again_count += is_whole;
}

static void check_undo(struct world *world, uint32_t who, struct foreigns *foreigns)
{
        collect(world, who, foreigns);
        const struct scn_digest before = dump(world);
        const struct told told = do_undo(world, who, false, 1 + scn_random_below(&world->random, 2), false);
        if (told.is_refused) {
                cr_assert(is_same(dump(world), before));
                return;
        }
        check_foreign(world, foreigns, told.first_step);
        if (told.is_unchanged || scn_random_chance(&world->random, 50)) {
                return;
        }
        const struct scn_digest undone = dump(world);
        const struct told again = do_undo(world, who, true, told.steps_count, false);
        cr_assert_not(again.is_refused, "seed %llu: %s", (unsigned long long)world->seed, again.code);
        cr_assert(is_same(dump(world), before), "seed %llu: redo right after undo of %u steps is not the identity",
                (unsigned long long)world->seed, told.steps_count);
        if (scn_random_chance(&world->random, 50)) {
                check_undo_again(world, who, told.steps_count, undone);
        }
}

/* Whether a field counts as written by one of the steps. */
static bool has_written(struct world *world, const struct told *told)
{
        const struct scn_document *document = document_of(world);
        const scn_node_id root = scn_document_root(document);
        bool has = false;
        for (scn_node_id at = root; at != 0 && !has; at = scn_document_walk(document, root, at)) {
                const struct scn_node_view node = scn_document_node(document, at);
                for (uint32_t i = 0; i < SCN_FIELD_COUNT + node.property_fields_count && !has; i++) {
                        struct scn_stamp_view stamp;
                        if (i < SCN_FIELD_COUNT) {
                                stamp = scn_document_stamp(document, at, (enum scn_field)i);
                        } else {
                                (void)scn_document_property(document, at, i - SCN_FIELD_COUNT, &stamp);
                        }
                        for (uint32_t k = 0; k < told->steps_count; k++) {
                                has = has || stamp.writer == told->steps[k];
                        }
                }
        }
        return has;
}

/* At any time, whatever others have done since the undo. What others have given back to a step while it was undone is
 * in the document, and not in the redo: then there is more to take back than it did. */
static void check_redo(struct world *world, uint32_t who)
{
        const struct scn_steps *steps = steps_of(world, who);
        struct told next = {.steps_count = 1 + scn_random_below(&world->random, 2)};
        for (uint32_t i = 0; i < next.steps_count && i < steps->redo_count; i++) {
                next.steps[i] = steps->redo[steps->redo_count - 1 - i].step;
        }
        const bool is_alone = !has_written(world, &next);
        const struct scn_digest before = dump(world);
        const struct told told = do_undo(world, who, true, next.steps_count, false);
        if (told.is_refused) {
                cr_assert(is_same(dump(world), before));
        } else if (is_alone && !told.is_unchanged && scn_random_chance(&world->random, 50)) {
                check_undo_again(world, who, told.steps_count, before);
        }
}

/* What the journal says of the steps is what was noted of them; but steps used up by a refusal are forgotten. */
static void check_restart(struct world *world)
{
        scn_revision kept[PEERS_MAX][512];
        size_t counts[PEERS_MAX];
        const struct scn_digest before = dump(world);
        for (uint32_t who = 0; who < world->peers_count; who++) {
                const struct scn_steps *steps = steps_of(world, who);
                counts[who] = steps->undo_count;
                cr_assert_leq(counts[who], 512);
                for (size_t i = 0; i < counts[who]; i++) {
                        kept[who][i] = steps->undo[i];
                }
        }
        restart(world);
        cr_assert(is_same(dump(world), before), "seed %llu", (unsigned long long)world->seed);
        for (uint32_t who = 0; who < world->peers_count; who++) {
                size_t at = 0;
                (void)do_undo(world, who, false, 1, true);
                const struct scn_steps *steps = steps_of(world, who);
                for (size_t i = 0; i < steps->undo_count && at < counts[who]; i++) {
                        at += steps->undo[i] == kept[who][at];
                }
                cr_assert_eq(at, counts[who], "seed %llu: the journal has other steps of %s",
                        (unsigned long long)world->seed, names[who]);
        }
}

static uint32_t run_together(uint64_t seed)
{
        struct world world;
        struct foreigns foreigns = {0};
        begin(&world, seed, 2 + (uint32_t)(seed % 3));
        for (int i = 0; i < 60; i++) {
                const uint32_t who = scn_random_below(&world.random, world.peers_count);
                if (scn_random_chance(&world.random, 30)) {
                        check_undo(&world, who, &foreigns);
                } else if (scn_random_chance(&world.random, 30)) {
                        check_redo(&world, who);
                } else {
                        do_edit(&world, who);
                }
        }
        check_restart(&world);
        scn_free(foreigns.items);
        end(&world);
        return world.again_count;
}

SCN_TEST_WITH(undo, is_the_identity_together_with_redo_when_alone, .timeout = 3000)
{
        const uint64_t first = scn_test_seed(1);
        for (uint64_t seed = first; seed < first + scn_test_seeds(15); seed++) {
                run_alone(seed);
        }
}

SCN_TEST_WITH(undo, never_touches_what_others_have_written, .timeout = 3000)
{
        const uint64_t first = scn_test_seed(1);
        const uint64_t count = scn_test_seeds(15);
        uint64_t again_count = 0;
        for (uint64_t seed = first; seed < first + count; seed++) {
                again_count += run_together(seed);
        }
        cr_assert_gt(again_count, count, "undone again %llu times only", (unsigned long long)again_count);
}
