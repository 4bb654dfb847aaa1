/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/model.h"

#include "protocol/base/alloc.h"
#include "protocol/base/uid.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)1 << 18)
#define ALIGNMENT ((size_t)16)

struct model_block {
        struct model_block *next;
        size_t used;
        size_t size;
        uint8_t *bytes;
};

static void print_ref(const char *what, const struct scn_node_ref *ref)
{
        char uid[SCN_UID_TEXT_LENGTH + 1];

        scn_uid_format(ref->uid, uid);
        if (ref->kind == SCN_REF_ID)
                fprintf(stderr, " %s=%u", what, ref->id);
        else if (ref->kind == SCN_REF_UID)
                fprintf(stderr, " %s=%s", what, uid);
        else if (ref->kind == SCN_REF_PATH)
                fprintf(stderr, " %s=%.*s", what, (int)ref->path.size, (const char *)ref->path.data);
}

static void print_op(uint32_t index, const struct scn_op *op)
{
        static const char *const words[] = {
#define WORD(name, word) word,
                SCN_OP_LIST(WORD)
#undef WORD
                        "?"};
        char uid[SCN_UID_TEXT_LENGTH + 1];

        scn_uid_format(op->uid, uid);
        fprintf(stderr, "  op %u: %s", index, words[op->kind]);
        print_ref("node", &op->node);
        print_ref("parent", &op->parent);
        if (op->place == SCN_PLACE_INDEX)
                fprintf(stderr, " index=%u", op->index);
        else if (op->place == SCN_PLACE_AFTER)
                print_ref("after", &op->after);
        fprintf(stderr, " uid=%s id=%u name=%.*s fields=%x", uid, op->id, (int)op->name.size,
                op->name.data != NULL ? (const char *)op->name.data : "", op->fields);
        fprintf(stderr, " t=%g,%g,%g r=%g,%g,%g,%g s=%g,%g,%g", (double)op->trs.t[0], (double)op->trs.t[1],
                (double)op->trs.t[2], (double)op->trs.r[0], (double)op->trs.r[1], (double)op->trs.r[2],
                (double)op->trs.r[3], (double)op->trs.s[0], (double)op->trs.s[1], (double)op->trs.s[2]);
        fprintf(stderr, " key=%.*s value of %u bytes, properties=%u%s%s\n", (int)op->key.size,
                op->key.data != NULL ? (const char *)op->key.data : "", op->value.size, op->properties_count,
                op->keep_world ? " keep_world" : "", op->is_lossy ? " lossy" : "");
}

static void print_edit(const struct scn_edit *edit)
{
        char client[SCN_UID_TEXT_LENGTH + 1];

        scn_uid_format(edit->client, client);
        fprintf(stderr, "edit: client %s, step %llu", client, (unsigned long long)edit->step);
        if (edit->has_base)
                fprintf(stderr, ", base %llu%s", (unsigned long long)edit->base, edit->is_strict ? " strict" : "");
        fprintf(stderr, "\n");
        for (uint32_t i = 0; i < edit->ops_count; i++)
                print_op(i, &edit->ops[i]);
}

void model_fail(const struct model *model, const char *condition, const char *format, ...)
{
        char text[256];
        va_list arguments;

        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        if (model->edit != NULL)
                print_edit(model->edit);
        cr_assert_fail("%s: %s: not %s", model->context, text, condition);
}

void *model_alloc(struct model *model, size_t size)
{
        struct model_block *block = model->blocks;

        size = (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
        if (block == NULL || size > block->size - block->used) {
                block = scn_alloc(sizeof *block);
                cr_assert_not_null(block);
                *block = (struct model_block){.next = model->blocks, .size = size > BLOCK_BYTES ? size : BLOCK_BYTES};
                block->bytes = scn_alloc(block->size);
                cr_assert_not_null(block->bytes);
                model->blocks = block;
        }
        void *memory = block->bytes + block->used;
        block->used += size;
        memset(memory, 0, size);
        return memory;
}

struct scn_slice model_keep(struct model *model, struct scn_slice bytes)
{
        if (bytes.data == NULL)
                return bytes;
        uint8_t *copy = model_alloc(model, bytes.size + (size_t)1);
        if (bytes.size != 0)
                memcpy(copy, bytes.data, bytes.size);
        return (struct scn_slice){copy, bytes.size};
}

void model_init(struct model *model, const struct scn_document_options *options)
{
        *model = (struct model){.limits = options->limits, .states_capacity = 16};
        model->states = scn_alloc_zero(model->states_capacity, sizeof *model->states);
        cr_assert_not_null(model->states);
        struct model_state *state = &model->states[model->states_count++];
        state->nodes = model_alloc(model, sizeof *state->nodes);
        state->nodes_count = 1;
        state->next_id = 2;
        state->nodes[0] = (struct model_node){.id = 1, .uid = options->root_uid, .trs = SCN_TRS_IDENTITY};
}

void model_finish(struct model *model)
{
        while (model->blocks != NULL) {
                struct model_block *block = model->blocks;
                model->blocks = block->next;
                scn_free(block->bytes);
                scn_free(block);
        }
        scn_free(model->states);
        *model = (struct model){0};
}

const struct model_state *model_now(const struct model *model)
{
        return &model->states[model->states_count - 1];
}

const struct model_state *model_at(const struct model *model, scn_revision revision)
{
        MODEL_CHECK(model, revision < model->states_count, "revision %u", (unsigned)revision);
        return &model->states[revision];
}

void model_take_back(struct model *model)
{
        MODEL_CHECK(model, model->states_count > 1, "nothing to take back");
        model->states_count--;
}

struct model_node *model_find(const struct model_state *state, scn_node_id id)
{
        if (id == 0)
                return NULL;
        for (uint32_t i = 0; i < state->nodes_count; i++)
                if (state->nodes[i].id == id)
                        return &state->nodes[i];
        return NULL;
}

struct model_node *model_find_uid(const struct model_state *state, struct scn_uid uid)
{
        for (uint32_t i = 0; i < state->nodes_count; i++)
                if (scn_uid_equal(state->nodes[i].uid, uid))
                        return &state->nodes[i];
        return NULL;
}

scn_node_id model_previous(const struct model_state *state, const struct model_node *node)
{
        scn_node_id previous = 0;

        for (uint32_t i = 0; &state->nodes[i] != node; i++)
                if (state->nodes[i].parent == node->parent)
                        previous = state->nodes[i].id;
        return node->parent != 0 ? previous : 0;
}

scn_node_id model_next(const struct model_state *state, const struct model_node *node)
{
        for (uint32_t i = (uint32_t)(node - state->nodes) + 1; i < state->nodes_count; i++)
                if (node->parent != 0 && state->nodes[i].parent == node->parent)
                        return state->nodes[i].id;
        return 0;
}

struct scn_uid model_uid_of(const struct model_state *state, scn_node_id id)
{
        const struct model_node *node = id != 0 ? model_find(state, id) : NULL;
        return node != NULL ? node->uid : (struct scn_uid){{0}};
}

uint32_t model_depth(const struct model_state *state, const struct model_node *node)
{
        uint32_t depth = 0;

        for (; node->parent != 0; depth++)
                node = model_find(state, node->parent);
        return depth;
}

uint32_t model_height(const struct model_state *state, const struct model_node *node)
{
        uint32_t height = 0, top = model_depth(state, node);

        if (model_children_count(state, node->id) == 0)
                return 0;
        for (uint32_t i = 0; i < state->nodes_count; i++) {
                if (!model_is_under(state, state->nodes[i].id, node->id))
                        continue;
                uint32_t levels = model_depth(state, &state->nodes[i]) - top;
                height = levels > height ? levels : height;
        }
        return height;
}

bool model_is_under(const struct model_state *state, scn_node_id id, scn_node_id top)
{
        while (id != 0 && id != top) {
                const struct model_node *node = model_find(state, id);
                if (node == NULL)
                        return false;
                id = node->parent;
        }
        return id != 0;
}

uint32_t model_children_count(const struct model_state *state, scn_node_id parent)
{
        uint32_t count = 0;

        for (uint32_t i = 0; i < state->nodes_count; i++)
                count += state->nodes[i].parent == parent;
        return count;
}

bool model_slices_equal(struct scn_slice a, struct scn_slice b)
{
        if (a.data == NULL || b.data == NULL)
                return a.data == NULL && b.data == NULL;
        return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

bool model_floats_equal(const float *a, const float *b, uint32_t count)
{
        return memcmp(a, b, count * sizeof *a) == 0;
}

const struct model_property *model_property(const struct model_node *node, struct scn_slice key)
{
        for (uint32_t i = 0; i < node->properties_count; i++)
                if (model_slices_equal(node->properties[i].key, key))
                        return &node->properties[i];
        return NULL;
}

uint32_t model_properties_count(const struct model_node *node)
{
        uint32_t count = 0;

        for (uint32_t i = 0; i < node->properties_count; i++)
                count += node->properties[i].value.data != NULL;
        return count;
}
