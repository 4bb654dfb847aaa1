/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/edits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES_MAX 400u
#define CLIENTS_COUNT 4u

#define LIMITS(depth, nodes, name_bytes, key_bytes, value_bytes, properties, ops, past)                                \
        {                                                                                                              \
                .depth_max = (depth), .nodes_max = (nodes), .name_bytes_max = (name_bytes),                            \
                .key_bytes_max = (key_bytes), .value_bytes_max = (value_bytes), .value_levels_max = 16,                \
                .properties_max = (properties), .ops_max = (ops), .record_bytes_max = 1u << 28, .clients_max = 1000,   \
                .path_steps_max = 4000000, .past_min = (past)                                                          \
        }

const struct edits_profile edits_profile_mixed = {
        .name = "mixed",
        .limits = LIMITS(1024, 100000, 1024, 128, 65536, 256, 100000, 65536),
        .seeds_count = 200,
        .bouts_count = 14,
        .nodes_wanted = 25,
        .ops_count_max = 6,
        .first_adds = 12,
        .uids_count = 60,
        .weights = {6, 2, 5, 5, 3, 5},
        .wrong_chance = 3,
        .deep_chance = 20,
        .flat_chance = 20,
        .keep_world_chance = 25,
        .odd_scale_chance = 10,
};

const struct edits_profile edits_profile_deep = {
        .name = "deep",
        .limits = LIMITS(24, 100000, 1024, 128, 65536, 256, 100000, 65536),
        .seeds_count = 100,
        .bouts_count = 14,
        .nodes_wanted = 40,
        .ops_count_max = 4,
        .first_adds = 22,
        .uids_count = 100,
        .weights = {5, 1, 8, 4, 1, 1},
        .wrong_chance = 2,
        .deep_chance = 85,
        .flat_chance = 3,
        .keep_world_chance = 30,
        .odd_scale_chance = 3,
};

/* Long enough for an index of siblings with more than one block. */
const struct edits_profile edits_profile_flat = {
        .name = "flat",
        .limits = LIMITS(1024, 100000, 1024, 128, 65536, 256, 100000, 65536),
        .seeds_count = 3,
        .bouts_count = 4,
        .nodes_wanted = 650,
        .ops_count_max = 60,
        .first_adds = 640,
        .uids_count = 3000,
        .weights = {10, 6, 20, 2, 1, 1},
        .wrong_chance = 0,
        .deep_chance = 1,
        .flat_chance = 96,
        .keep_world_chance = 5,
        .odd_scale_chance = 0,
};

const struct edits_profile edits_profile_limits = {
        .name = "limits",
        .limits = LIMITS(4, 14, 6, 4, 12, 3, 5, 65536),
        .seeds_count = 200,
        .bouts_count = 14,
        .nodes_wanted = 14,
        .ops_count_max = 5,
        .first_adds = 5,
        .uids_count = 25,
        .weights = {8, 2, 5, 3, 4, 10},
        .wrong_chance = 3,
        .deep_chance = 40,
        .flat_chance = 10,
        .keep_world_chance = 10,
        .odd_scale_chance = 5,
};

const struct edits_profile edits_profile_horizon = {
        .name = "horizon",
        .limits = LIMITS(1024, 100000, 1024, 128, 65536, 256, 100000, 6),
        .seeds_count = 150,
        .bouts_count = 30,
        .nodes_wanted = 6,
        .ops_count_max = 4,
        .first_adds = 4,
        .uids_count = 12,
        .weights = {8, 5, 8, 2, 2, 16},
        .wrong_chance = 2,
        .deep_chance = 25,
        .flat_chance = 25,
        .keep_world_chance = 5,
        .odd_scale_chance = 5,
};

const struct edits_profile edits_profile_worlds = {
        .name = "worlds",
        .limits = LIMITS(1024, 100000, 1024, 128, 65536, 256, 100000, 65536),
        .seeds_count = 150,
        .bouts_count = 12,
        .nodes_wanted = 20,
        .ops_count_max = 3,
        .first_adds = 15,
        .uids_count = 60,
        .weights = {3, 1, 12, 8, 0, 0},
        .wrong_chance = 1,
        .deep_chance = 30,
        .flat_chance = 20,
        .keep_world_chance = 80,
        .odd_scale_chance = 15,
};

struct scn_uid edits_uid(uint32_t number)
{
        struct scn_uid uid = {{0}};

        /* Spread over the bytes, so that order by uid is not order by number. */
        uid.bytes[0] = (uint8_t)(number * 167u + 13u);
        uid.bytes[6] = 0x40;
        uid.bytes[8] = 0x80;
        uid.bytes[14] = (uint8_t)(number >> 8);
        uid.bytes[15] = (uint8_t)number;
        return uid;
}

struct scn_uid edits_any_uid(struct scn_random *random, const struct model *model)
{
        const struct model_state *state = model_now(model);

        if (scn_random_chance(random, 25))
                return edits_uid(0);
        if (scn_random_chance(random, 20))
                return edits_uid(1 + scn_random_below(random, 10));
        return state->nodes[scn_random_below(random, state->nodes_count)].uid;
}

static uint32_t below(struct edits_generator *generator, uint32_t count)
{
        return scn_random_below(generator->random, count);
}

static bool chance(struct edits_generator *generator, uint32_t percent)
{
        return scn_random_chance(generator->random, percent);
}

static bool is_wrong(struct edits_generator *generator)
{
        return chance(generator, generator->profile->wrong_chance);
}

/* References. */

static const struct model_node *any_node(struct edits_generator *generator)
{
        const struct model_state *state = model_now(generator->model);
        return &state->nodes[below(generator, state->nodes_count)];
}

static void append_text(struct scn_slice *path, uint8_t *bytes, const char *text, size_t size)
{
        if (path->size + size > PATH_BYTES_MAX)
                size = PATH_BYTES_MAX - path->size;
        memcpy(bytes + path->size, text, size);
        path->size += (uint32_t)size;
}

/* How many siblings of this name stand before it. */
static uint32_t index_among_equals(const struct model_state *state, const struct model_node *node)
{
        uint32_t index = 0;

        for (const struct model_node *other = state->nodes; other != node; other++)
                index += other->parent == node->parent &&
                        (node->name.size == 0 ? other->name.size == 0 : model_slices_equal(other->name, node->name));
        return index;
}

static void append_segment(
        struct edits_generator *generator, struct scn_slice *path, uint8_t *bytes, const struct model_node *node)
{
        uint32_t index = index_among_equals(model_now(generator->model), node);
        char number[16];

        append_text(path, bytes, "/", 1);
        for (uint32_t i = 0; i < node->name.size; i++) {
                char character = (char)node->name.data[i];
                if (strchr("/[\\", character) != NULL)
                        append_text(path, bytes, "\\", 1);
                append_text(path, bytes, &character, 1);
        }
        if (index == 0 && node->name.size != 0 && chance(generator, 50))
                return;
        int length = snprintf(number, sizeof number, "[%u]", index);
        append_text(path, bytes, number, (size_t)length);
}

/* False if the path would be too long. */
static bool make_path(struct edits_generator *generator, const struct model_node *node, struct scn_slice *path)
{
        const struct model_state *state = model_now(generator->model);
        const struct model_node *chain[64];
        uint32_t count = 0;
        uint8_t *bytes = model_alloc(generator->model, PATH_BYTES_MAX);

        *path = (struct scn_slice){bytes, 0};
        for (; node->parent != 0; node = model_find(state, node->parent)) {
                if (count == 64)
                        return false;
                chain[count++] = node;
        }
        if (count == 0)
                append_text(path, bytes, "/", 1);
        while (count-- != 0)
                append_segment(generator, path, bytes, chain[count]);
        return path->size < PATH_BYTES_MAX;
}

static struct scn_node_ref by_id(scn_node_id id)
{
        return (struct scn_node_ref){.kind = SCN_REF_ID, .id = id};
}

static struct scn_node_ref by_path(const char *path)
{
        return (struct scn_node_ref){.kind = SCN_REF_PATH, .path = {(const uint8_t *)path, (uint32_t)strlen(path)}};
}

static struct scn_node_ref ref_to(struct edits_generator *generator, const struct model_node *node)
{
        struct scn_node_ref ref = by_id(node->id);
        uint32_t kind = below(generator, 10);

        if (kind < 3)
                ref = (struct scn_node_ref){.kind = SCN_REF_UID, .uid = node->uid};
        else if (kind < 5 && make_path(generator, node, &ref.path))
                ref.kind = SCN_REF_PATH;
        return ref;
}

static struct scn_node_ref wrong_ref(struct edits_generator *generator)
{
        static const char *const paths[] = {
                "", "x", "/nobody", "/[99]", "/Hand[77]", "/x[", "/x[1", "/x[]", "/x[a]", "/x[1]y", "/x\\", "x/y"};
        const struct model_state *state = model_now(generator->model);

        switch (below(generator, 7)) {
        case 0:
                return (struct scn_node_ref){.kind = SCN_REF_NONE};
        case 1:
                return by_id(0);
        case 2:
                return by_id(state->next_id + 1000);
        case 3:
                return (struct scn_node_ref){.kind = SCN_REF_UID, .uid = {{0xff, 1}}};
        case 4:
                return by_path(paths[below(generator, sizeof paths / sizeof paths[0])]);
        case 5:
                if (state->ended_count != 0)
                        return by_id(state->ended[below(generator, state->ended_count)].id);
                return by_id(UINT32_MAX);
        default:
                if (state->ended_count != 0)
                        return (struct scn_node_ref){
                                .kind = SCN_REF_UID, .uid = state->ended[below(generator, state->ended_count)].uid};
                return by_path("");
        }
}

/* A node, or sometimes one that this edit has made. */
static struct scn_node_ref any_ref(struct edits_generator *generator)
{
        scn_node_id first_new = model_now(generator->model)->next_id;

        if (is_wrong(generator))
                return wrong_ref(generator);
        if (generator->next_id != first_new && chance(generator, 25))
                return by_id(first_new + below(generator, generator->next_id - first_new));
        return ref_to(generator, any_node(generator));
}

static struct scn_node_ref parent_ref(struct edits_generator *generator)
{
        const struct model_state *state = model_now(generator->model);
        scn_node_id newest = 0;

        if (chance(generator, generator->profile->flat_chance))
                return (struct scn_node_ref){.kind = SCN_REF_UID, .uid = edits_uid(0)};
        if (!chance(generator, generator->profile->deep_chance))
                return any_ref(generator);
        if (generator->next_id != state->next_id)
                return by_id(generator->next_id - 1);
        for (uint32_t i = 0; i < state->nodes_count; i++)
                newest = state->nodes[i].id > newest ? state->nodes[i].id : newest;
        return by_id(newest);
}

static void choose_place(struct edits_generator *generator, struct scn_op *op)
{
        uint32_t siblings_count = generator->profile->nodes_wanted;

        op->place = (enum scn_place_kind)below(generator, 3);
        if (op->place == SCN_PLACE_INDEX)
                op->index = chance(generator, 50) ? below(generator, 4) : below(generator, siblings_count + 3);
        if (op->place == SCN_PLACE_AFTER && chance(generator, 75))
                op->after = any_ref(generator);
}

/* Values. */

#define BYTES(literal)                                                                                                 \
        {                                                                                                              \
                (const uint8_t *)(literal), (uint32_t)(sizeof(literal) - 1)                                            \
        }

static const struct scn_slice names[] = {{NULL, 0}, BYTES("Hand"), BYTES("Hand"), BYTES("Arm"), BYTES("a/b"),
        BYTES("x[1]"), BYTES("b\\s"), BYTES("\xc3\xa9"), BYTES(""), BYTES("sixsix"), BYTES("sevenxx")};
static const struct scn_slice wrong_names[] = {BYTES("\xff"), BYTES("\xed\xa0\x80"), BYTES("\xc3")};
static const struct scn_slice keys[] = {
        BYTES("a"), BYTES("b"), BYTES("ab"), BYTES("abcd"), BYTES("z"), BYTES("abcde"), BYTES("\xc3\xa9")};
static const struct scn_slice wrong_keys[] = {BYTES(""), BYTES("\xff"), {NULL, 0}};
static const struct scn_slice values[] = {BYTES("\x05"), BYTES("\xcd\0\x05"), BYTES("\xd3\0\0\0\0\0\0\0\x05"),
        BYTES("\xc3"), BYTES("\xa1x"), BYTES("\xd9\x01x"), BYTES("\xcb\x3f\xf8\0\0\0\0\0\0"), BYTES("\xca\x3f\xc0\0\0"),
        BYTES("\x92\x01\xc0"), BYTES("\x81\xa1k\xdc\0\x01\x02"),
        BYTES("\xd8\x01"
              "0123456789abcdef"),
        BYTES("\xa0"),
        BYTES("\xaf"
              "fifteen letters"),
        BYTES("\x80"),
        BYTES("\xab"
              "eleven char")};
static const struct scn_slice wrong_values[] = {BYTES("\xc1"), BYTES("\xc0"), BYTES(""), BYTES("\x92\x01"),
        BYTES("\x01\x01"), BYTES("\xa1\xff"),
        BYTES("\x82\xa1"
              "a\x01\xa1"
              "a\x02"),
        BYTES("\xca\x7f\xc0\0\0"), BYTES("\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x01")};

#define CHOOSE(generator, array) ((array)[below(generator, sizeof(array) / sizeof((array)[0]))])

static struct scn_slice choose_name(struct edits_generator *generator)
{
        return is_wrong(generator) ? CHOOSE(generator, wrong_names) : CHOOSE(generator, names);
}

static struct scn_slice choose_key(struct edits_generator *generator)
{
        return is_wrong(generator) ? CHOOSE(generator, wrong_keys) : CHOOSE(generator, keys);
}

static struct scn_slice choose_value(struct edits_generator *generator)
{
        return is_wrong(generator) ? CHOOSE(generator, wrong_values) : CHOOSE(generator, values);
}

static void choose_rotation(struct edits_generator *generator, float rotation[4])
{
        static const float rotations[][4] = {{0, 0, 0, 1}, {0, 0, 0, 1}, {0, 0, 0, 2}, {1, 0, 0, 0},
                {0.5f, 0.5f, 0.5f, 0.5f}, {0.70710677f, 0, 0, 0.70710677f}, {0, -0.70710677f, 0, 0.70710677f},
                {0, 0, 0.6f, 0.8f}, {0, 0, 0, -1}};

        if (is_wrong(generator)) {
                memset(rotation, 0, 4 * sizeof *rotation);
                rotation[0] = chance(generator, 30) ? NAN : 0.0f;
                return;
        }
        if (chance(generator, 50)) {
                memcpy(rotation, CHOOSE(generator, rotations), 4 * sizeof *rotation);
                return;
        }
        for (uint32_t i = 0; i < 4; i++)
                rotation[i] = scn_random_float(generator->random, 0.1f, 1.0f) * (chance(generator, 50) ? 1.0f : -1.0f);
}

static void choose_scale(struct edits_generator *generator, float scale[3])
{
        static const float uniform[] = {1, 1, 1, 1, 2, 0.5f, 0.3f};
        static const float odd[][3] = {
                {1, 2, 1}, {3, 1, 0.25f}, {-1, 1, 1}, {-1, -1, -1}, {0, 1, 1}, {0, 0, 0}, {1, 1, -0.0f}};

        if (chance(generator, generator->profile->odd_scale_chance)) {
                memcpy(scale, CHOOSE(generator, odd), 3 * sizeof *scale);
                return;
        }
        scale[0] = scale[1] = scale[2] = CHOOSE(generator, uniform);
        if (is_wrong(generator))
                scale[below(generator, 3)] = -INFINITY;
}

static void choose_trs(struct edits_generator *generator, struct scn_op *op)
{
        op->fields = below(generator, 8) * SCN_FIELDS_TRANSLATION;
        for (uint32_t i = 0; i < 3; i++)
                op->trs.t[i] = chance(generator, 50) ? (float)below(generator, 3)
                                                     : scn_random_float(generator->random, -10.0f, 10.0f);
        if (is_wrong(generator))
                op->trs.t[below(generator, 3)] = NAN;
        choose_rotation(generator, op->trs.r);
        choose_scale(generator, op->trs.s);
}

/* Ops. */

static struct scn_uid choose_new_uid(struct edits_generator *generator)
{
        struct scn_uid uid = {{0}};

        if (chance(generator, 20))
                return uid;
        for (uint32_t tries = 0; tries < 4; tries++) {
                uid = edits_uid(1 + below(generator, generator->profile->uids_count));
                if (model_find_uid(model_now(generator->model), uid) == NULL || is_wrong(generator))
                        return uid;
        }
        return (struct scn_uid){{0}};
}

static void choose_properties(struct edits_generator *generator, struct scn_op *op)
{
        uint32_t count = chance(generator, 60) ? 0 : 1 + below(generator, 3);
        struct scn_property *properties = model_alloc(generator->model, 4 * sizeof *properties);

        for (uint32_t i = 0; i < count; i++) {
                properties[i] = (struct scn_property){.key = choose_key(generator), .value = choose_value(generator)};
                for (uint32_t j = 0; j < i; j++)
                        if (model_slices_equal(properties[i].key, properties[j].key) && !is_wrong(generator))
                                count = i;
        }
        op->properties = properties;
        op->properties_count = count;
}

static void make_add(struct edits_generator *generator, struct scn_op *op)
{
        op->parent = parent_ref(generator);
        op->uid = choose_new_uid(generator);
        op->name = choose_name(generator);
        choose_place(generator, op);
        choose_trs(generator, op);
        choose_properties(generator, op);
        if (chance(generator, 3))
                op->id = generator->next_id + below(generator, 3);
        if (is_wrong(generator))
                op->id = 1;
        generator->next_id = (op->id > generator->next_id ? op->id : generator->next_id) + 1;
}

static void make_move(struct edits_generator *generator, struct scn_op *op)
{
        op->node = any_ref(generator);
        op->parent = parent_ref(generator);
        if (chance(generator, 30)) {
                const struct model_node *node = any_node(generator);
                op->node = ref_to(generator, node);
                if (node->parent != 0)
                        op->parent = by_id(node->parent); /* a new place in the same row */
        }
        choose_place(generator, op);
        op->keep_world = chance(generator, generator->profile->keep_world_chance);
        op->is_lossy = chance(generator, 20);
}

static void make_transform(struct edits_generator *generator, struct scn_op *op)
{
        const struct model_node *node = any_node(generator);

        op->node = chance(generator, 70) ? ref_to(generator, node) : any_ref(generator);
        choose_trs(generator, op);
        if (chance(generator, 40))
                op->parent = node->parent != 0 && !is_wrong(generator) ? by_id(node->parent) : any_ref(generator);
        if (node->parent == 0 && !is_wrong(generator))
                op->parent = (struct scn_node_ref){.kind = SCN_REF_NONE};
}

static void make_op(struct edits_generator *generator, struct scn_op *op)
{
        *op = (struct scn_op){.trs = SCN_TRS_IDENTITY};
        uint32_t nodes_count = model_now(generator->model)->nodes_count, sum = 0;
        uint32_t weights[SCN_OP_COUNT];

        for (uint32_t kind = 0; kind < SCN_OP_COUNT; kind++)
                weights[kind] = generator->profile->weights[kind];
        if (nodes_count < generator->profile->nodes_wanted)
                weights[SCN_OP_ADD] *= 2;
        else
                weights[SCN_OP_REMOVE] *= 3;
        for (uint32_t kind = 0; kind < SCN_OP_COUNT; kind++)
                sum += weights[kind];
        uint32_t chosen = below(generator, sum), kind = 0;
        for (; chosen >= weights[kind]; kind++)
                chosen -= weights[kind];
        op->kind = (enum scn_op_kind)kind;
        op->node = any_ref(generator);
        if (op->kind == SCN_OP_ADD)
                make_add(generator, op);
        else if (op->kind == SCN_OP_MOVE)
                make_move(generator, op);
        else if (op->kind == SCN_OP_TRANSFORM)
                make_transform(generator, op);
        else if (op->kind == SCN_OP_RENAME)
                op->name = choose_name(generator);
        else if (op->kind == SCN_OP_SET) {
                op->key = choose_key(generator);
                op->value = chance(generator, 25) ? (struct scn_slice){0} : choose_value(generator);
        }
        if (is_wrong(generator) && chance(generator, 5))
                op->kind = SCN_OP_COUNT;
}

static void make_first_ops(struct edits_generator *generator, struct scn_op *ops, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                ops[i] = (struct scn_op){.kind = SCN_OP_ADD, .trs = SCN_TRS_IDENTITY};
                ops[i].parent = by_id(1);
                if (chance(generator, generator->profile->deep_chance) && generator->next_id > 2)
                        ops[i].parent = by_id(generator->next_id - 1);
                ops[i].name = names[1 + below(generator, 5)];
                ops[i].uid = edits_uid(1 + i);
                ops[i].trs.t[0] = (float)i;
                ops[i].fields = SCN_FIELDS_TRANSLATION;
                generator->next_id = 2 + i + 1;
        }
}

struct scn_node_ref edits_any_ref(struct edits_generator *generator)
{
        generator->next_id = model_now(generator->model)->next_id;
        return chance(generator, 30) ? wrong_ref(generator) : any_ref(generator);
}

const struct scn_edit *edits_generate(struct edits_generator *generator)
{
        const struct edits_profile *profile = generator->profile;
        const struct model_state *state = model_now(generator->model);
        struct scn_edit *edit = model_alloc(generator->model, sizeof *edit);
        uint32_t count = chance(generator, 50) ? 1 : below(generator, profile->ops_count_max + 1);
        bool is_first = state->revision == 0 && state->next_id == 2;

        count = is_first ? profile->first_adds : count;
        if (is_wrong(generator) && profile->limits.ops_max < 1000)
                count = profile->limits.ops_max + 1;
        struct scn_op *ops = model_alloc(generator->model, (count + (size_t)1) * sizeof *ops);
        generator->next_id = state->next_id;
        if (is_first)
                make_first_ops(generator, ops, count);
        else
                for (uint32_t i = 0; i < count; i++)
                        make_op(generator, &ops[i]);
        *edit = (struct scn_edit){.ops = ops, .ops_count = count};
        uint32_t client = below(generator, CLIENTS_COUNT);
        if (client != 0)
                edit->client = (struct scn_uid){{0xc1, (uint8_t)client}};
        if (chance(generator, 8)) /* one that was hardly ever here */
                edit->client = (struct scn_uid){{0xc2, (uint8_t)below(generator, 256)}};
        if (chance(generator, 20))
                edit->step = scn_random_next(generator->random) % (state->revision + 1);
        if (is_wrong(generator))
                edit->step = state->revision + 1 + below(generator, 3);
        if (chance(generator, 35) && !is_first) {
                uint32_t back = below(generator, 12);
                edit->has_base = true;
                edit->base = back < state->revision ? state->revision - back : 0;
                edit->is_strict = chance(generator, 50);
        }
        return edit;
}
