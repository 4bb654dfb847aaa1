/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/undo_chains.h"

#include "protocol/base/alloc.h"
#include "protocol/base/index_map.h"
#include "protocol/base/uid.h"
#include "protocol/scene/digest.h"

#include <string.h>

/* Stands for a node's lives in place of a field. */
#define LIVES (SCN_FIELD_PROPERTY + 1u)

/* A field that an op of the step is about; or a node that it adds. */
struct link {
        struct scn_uid node;
        uint32_t field; /* enum scn_field, or LIVES */
        uint32_t life;  /* the node's, within the step; of LIVES: 0 */
        uint32_t added; /* LIVES: so often */
        struct scn_slice key;
        size_t op;               /* the first */
        struct scn_chain *chain; /* in the arena; NULL: it is alone so far */
};

struct linking {
        struct scn_ops *ops;
        struct link *links;
        size_t count, capacity;
        bool has_lives;
        struct scn_index_map map; /* links */
};

static uint64_t hash_of(const struct link *link)
{
        const struct scn_slice node = {link->node.bytes, sizeof link->node.bytes};
        const uint64_t key = link->key.data == NULL ? 0 : scn_digest_bytes(link->key).high;
        return scn_digest_bytes(node).low + key + (link->field + link->life * UINT64_C(8)) * UINT64_C(0x9e3779b1);
}

static uint64_t hash_link(const void *owner, uint32_t ref)
{
        return hash_of(&((const struct linking *)owner)->links[ref]);
}

static bool match_link(const void *owner, uint32_t ref, const void *key)
{
        const struct link *a = &((const struct linking *)owner)->links[ref];
        const struct link *b = key;
        return a->field == b->field && a->life == b->life && scn_uid_equal(a->node, b->node) &&
                scn_slice_equal(a->key, b->key);
}

/* The op's condition is a copy from then on: what reads records does not know of chains. */
static bool attach(struct linking *linking, size_t index, const struct link *link, bool is_first)
{
        struct scn_op *op = &linking->ops->ops[index];
        struct scn_chains *chains = op->condition->chains;
        if (chains == NULL) {
                struct scn_condition *condition = scn_arena_alloc(&linking->ops->arena, sizeof *condition);
                chains = scn_arena_alloc(&linking->ops->arena, sizeof *chains);
                if (condition == NULL || chains == NULL) {
                        return false;
                }
                *chains = (struct scn_chains){.follows = 0};
                *condition = *op->condition;
                condition->chains = chains;
                op->condition = condition;
        }
        chains->of[link->field] = link->chain;
        chains->follows |= is_first ? 0 : 1u << link->field;
        return true;
}

static bool add_first(struct linking *linking, const struct link *link)
{
        if (!scn_grow((void **)&linking->links, &linking->capacity, sizeof *linking->links, linking->count + 1,
                    SCN_INDEX_MAP_NONE) ||
                !scn_index_map_reserve(&linking->map, (uint32_t)linking->count + 1)) {
                return false;
        }
        linking->links[linking->count] = *link;
        scn_index_map_add(&linking->map, hash_of(link), (uint32_t)linking->count++);
        return true;
}

static bool link_field(struct linking *linking, const struct link *link)
{
        const uint32_t ref = scn_index_map_find(&linking->map, hash_of(link), link);
        if (ref == SCN_INDEX_MAP_NONE) {
                return add_first(linking, link);
        }
        struct link *first = &linking->links[ref];
        if (first->chain == NULL) {
                first->chain = scn_arena_alloc(&linking->ops->arena, sizeof *first->chain);
                if (first->chain == NULL || !attach(linking, first->op, first, true)) {
                        return false;
                }
                first->chain->is_broken = false;
        }
        return attach(linking, link->op, first, false);
}

/* What is done to a node that is added has nothing to do with what was done to it before it went. */
static bool begin_life(struct linking *linking, struct scn_uid node)
{
        const struct link link = {.node = node, .field = LIVES, .added = 1};
        const uint32_t ref = scn_index_map_find(&linking->map, hash_of(&link), &link);
        if (ref != SCN_INDEX_MAP_NONE) {
                linking->links[ref].added++;
                return true;
        }
        linking->has_lives = true;
        return add_first(linking, &link);
}

static uint32_t life_of(const struct linking *linking, struct scn_uid node)
{
        const struct link link = {.node = node, .field = LIVES};
        const uint32_t ref =
                linking->has_lives ? scn_index_map_find(&linking->map, hash_of(&link), &link) : SCN_INDEX_MAP_NONE;
        return ref == SCN_INDEX_MAP_NONE ? 0 : linking->links[ref].added;
}

static uint32_t fields_of(const struct scn_op *op)
{
        switch (op->kind) {
        case SCN_OP_MOVE:
                return SCN_FIELDS_PLACE | (op->fields & SCN_FIELDS_TRS);
        case SCN_OP_TRANSFORM:
                return op->fields & SCN_FIELDS_TRS;
        case SCN_OP_RENAME:
                return SCN_FIELDS_NAME;
        case SCN_OP_SET:
                return SCN_FIELDS_PROPERTY;
        case SCN_OP_ADD:
        case SCN_OP_REMOVE:
        case SCN_OP_COUNT:
                break;
        }
        return 0;
}

enum scn_error scn_undo_chains_link(struct scn_ops *ops, size_t first)
{
        struct linking linking = {.ops = ops};
        bool is_good = true;
        scn_index_map_init(&linking.map, &linking, hash_link, match_link);
        for (size_t i = first; i < ops->count && is_good; i++) {
                const struct scn_op *op = &ops->ops[i];
                const uint32_t fields = fields_of(op);
                struct link link = {
                        .node = op->node.uid,
                        .life = life_of(&linking, op->node.uid),
                        .key = op->kind == SCN_OP_SET ? op->key : (struct scn_slice){NULL, 0},
                        .op = i,
                };
                if (op->kind == SCN_OP_ADD) {
                        is_good = begin_life(&linking, op->uid);
                }
                for (link.field = 0; link.field <= SCN_FIELD_PROPERTY && is_good; link.field++) {
                        is_good = (fields >> link.field & 1) == 0 || link_field(&linking, &link);
                }
        }
        scn_index_map_finish(&linking.map);
        scn_free(linking.links);
        return is_good ? SCN_OK : SCN_E_NO_MEMORY;
}
