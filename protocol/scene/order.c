/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "protocol/scene/order.h"

#include "protocol/scene/state.h"

#include <string.h>

/* Counts stand beside the numbers, so that a position is summed up without visiting the blocks. */
struct entry {
        uint32_t number; /* of the block */
        uint32_t count;  /* slots in it */
};

/* One row: the children of one parent. */
struct scn_order_row {
        struct entry *blocks; /* left to right */
        size_t capacity;
        uint32_t count;
};

struct scn_order_block {
        struct scn_order_row *row;
        uint32_t ordinal; /* position in row->blocks */
        uint32_t slots[SCN_ORDER_BLOCK_MAX];
};

static struct scn_order_block *block_of(const struct scn_document *document, uint32_t slot)
{
        const uint32_t number = scn_node_at(document, slot)->order_block;
        return number == SCN_NONE ? NULL : document->order_blocks[number];
}

static struct entry *entry_of(const struct scn_order_block *block)
{
        return &block->row->blocks[block->ordinal];
}

/* The row over a parent's children, or NULL. */
static struct scn_order_row *row_of(const struct scn_document *document, uint32_t parent)
{
        const uint32_t first = scn_hierarchy_first_child(document->hierarchy, parent);
        const struct scn_order_block *block = first == SCN_NONE ? NULL : block_of(document, first);
        return block == NULL ? NULL : block->row;
}

static uint32_t position_in(const struct scn_order_block *block, uint32_t slot)
{
        uint32_t position = 0;
        while (block->slots[position] != slot) {
                position++;
                SCN_ASSERT(position < entry_of(block)->count);
        }
        return position;
}

static void renumber(struct scn_document *document, struct scn_order_row *row, uint32_t from)
{
        for (uint32_t i = from; i < row->count; i++) {
                document->order_blocks[row->blocks[i].number]->ordinal = i;
        }
}

/* Puts an empty block, a free one or a new one, at `ordinal` of the row. */
static enum scn_error insert_block(struct scn_document *document, struct scn_order_row *row, uint32_t ordinal)
{
        uint32_t number = document->order_blocks_free;
        if (number == SCN_NONE) {
                number = document->order_blocks_count;
                struct scn_order_block *made = scn_alloc(sizeof *made);
                if (made == NULL ||
                        !scn_grow((void **)&document->order_blocks, &document->order_blocks_capacity,
                                sizeof *document->order_blocks, (size_t)number + 1, SIZE_MAX)) {
                        scn_free(made);
                        return SCN_E_NO_MEMORY;
                }
                document->order_blocks[number] = made;
                document->order_blocks_count++;
                made->row = NULL;
                made->ordinal = SCN_NONE;
                document->order_blocks_free = number;
        }
        if (!scn_grow((void **)&row->blocks, &row->capacity, sizeof *row->blocks, (size_t)row->count + 1, SIZE_MAX)) {
                return SCN_E_NO_MEMORY;
        }
        struct scn_order_block *block = document->order_blocks[number];
        document->order_blocks_free = block->ordinal;
        block->row = row;
        memmove(&row->blocks[ordinal + 1], &row->blocks[ordinal], (row->count - ordinal) * sizeof row->blocks[0]);
        row->blocks[ordinal] = (struct entry){number, 0};
        row->count++;
        renumber(document, row, ordinal);
        return SCN_OK;
}

/* An unused block keeps its number and waits in a list through `ordinal`. */
static void release_block(struct scn_document *document, uint32_t number)
{
        struct scn_order_block *block = document->order_blocks[number];
        block->row = NULL;
        block->ordinal = document->order_blocks_free;
        document->order_blocks_free = number;
}

static void destroy_row(struct scn_document *document, struct scn_order_row *row)
{
        for (uint32_t i = 0; i < row->count; i++) {
                const struct entry *entry = &row->blocks[i];
                const struct scn_order_block *block = document->order_blocks[entry->number];
                for (uint32_t k = 0; k < entry->count; k++) {
                        scn_node_at(document, block->slots[k])->order_block = SCN_NONE;
                }
                release_block(document, entry->number);
        }
        scn_free(row->blocks);
        scn_free(row);
}

/* Blocks are filled to three quarters, so that the next insertions find room. NULL: out of memory. */
static struct scn_order_row *build_row(struct scn_document *document, uint32_t parent)
{
        struct scn_order_row *row = scn_alloc_zero(1, sizeof *row);
        if (row == NULL) {
                return NULL;
        }
        struct entry *entry = NULL;
        uint32_t slot = scn_hierarchy_first_child(document->hierarchy, parent);
        for (; slot != SCN_NONE; slot = scn_hierarchy_next(document->hierarchy, slot)) {
                if (entry == NULL || entry->count == SCN_ORDER_BLOCK_MAX / 4 * 3) {
                        if (insert_block(document, row, row->count) != SCN_OK) {
                                destroy_row(document, row);
                                return NULL;
                        }
                        entry = &row->blocks[row->count - 1];
                }
                document->order_blocks[entry->number]->slots[entry->count++] = slot;
                scn_node_at(document, slot)->order_block = entry->number;
        }
        return row;
}

/* The row over a parent's children if it is worth having one. */
static struct scn_order_row *get_row(struct scn_document *document, uint32_t parent)
{
        struct scn_order_row *row = row_of(document, parent);
        if (row == NULL && scn_hierarchy_children_count(document->hierarchy, parent) > SCN_ORDER_ROW_MIN) {
                row = build_row(document, parent);
        }
        return row;
}

uint32_t scn_order_index(struct scn_document *document, uint32_t slot)
{
        const uint32_t parent = scn_hierarchy_parent(document->hierarchy, slot);
        if (parent == SCN_NONE) {
                return 0;
        }
        const struct scn_order_row *row = get_row(document, parent);
        uint32_t index = 0;
        if (row == NULL) {
                uint32_t before = scn_hierarchy_previous(document->hierarchy, slot);
                for (; before != SCN_NONE; before = scn_hierarchy_previous(document->hierarchy, before)) {
                        index++;
                }
                return index;
        }
        const struct scn_order_block *block = block_of(document, slot);
        for (uint32_t i = 0; i < block->ordinal; i++) {
                index += row->blocks[i].count;
        }
        return index + position_in(block, slot);
}

uint32_t scn_order_child(struct scn_document *document, uint32_t parent, uint32_t index)
{
        SCN_ASSERT(index < scn_hierarchy_children_count(document->hierarchy, parent));
        const struct scn_order_row *row = get_row(document, parent);
        if (row == NULL) {
                uint32_t slot = scn_hierarchy_first_child(document->hierarchy, parent);
                while (index-- > 0) {
                        slot = scn_hierarchy_next(document->hierarchy, slot);
                }
                return slot;
        }
        for (uint32_t i = 0;; i++) {
                SCN_ASSERT(i < row->count);
                if (index < row->blocks[i].count) {
                        return document->order_blocks[row->blocks[i].number]->slots[index];
                }
                index -= row->blocks[i].count;
        }
}

/* Moves the upper half of a full block into a new one after it. */
static enum scn_error split(struct scn_document *document, struct scn_order_block *block)
{
        struct scn_order_row *row = block->row;
        const enum scn_error error = insert_block(document, row, block->ordinal + 1);
        if (error != SCN_OK) {
                return error;
        }
        struct entry *lower = &row->blocks[block->ordinal];
        struct entry *upper = lower + 1;
        struct scn_order_block *added = document->order_blocks[upper->number];
        lower->count = SCN_ORDER_BLOCK_MAX / 2;
        upper->count = SCN_ORDER_BLOCK_MAX - lower->count;
        memcpy(added->slots, &block->slots[lower->count], upper->count * sizeof added->slots[0]);
        for (uint32_t i = 0; i < upper->count; i++) {
                scn_node_at(document, added->slots[i])->order_block = upper->number;
        }
        return SCN_OK;
}

void scn_order_linked(struct scn_document *document, uint32_t slot)
{
        const uint32_t previous = scn_hierarchy_previous(document->hierarchy, slot);
        const uint32_t neighbour = previous != SCN_NONE ? previous : scn_hierarchy_next(document->hierarchy, slot);
        scn_node_at(document, slot)->order_block = SCN_NONE;
        if (neighbour == SCN_NONE || block_of(document, neighbour) == NULL) {
                return;
        }
        struct scn_order_block *block = block_of(document, neighbour);
        if (entry_of(block)->count == SCN_ORDER_BLOCK_MAX) {
                if (split(document, block) != SCN_OK) {
                        destroy_row(document, block->row);
                        return;
                }
                block = block_of(document, neighbour);
        }
        const uint32_t position = previous == SCN_NONE ? 0 : position_in(block, previous) + 1;
        struct entry *entry = entry_of(block);
        memmove(&block->slots[position + 1], &block->slots[position],
                (entry->count - position) * sizeof block->slots[0]);
        block->slots[position] = slot;
        entry->count++;
        scn_node_at(document, slot)->order_block = entry->number;
}

void scn_order_unlinking(struct scn_document *document, uint32_t slot)
{
        struct scn_order_block *block = block_of(document, slot);
        if (block == NULL) {
                return;
        }
        const uint32_t position = position_in(block, slot);
        scn_node_at(document, slot)->order_block = SCN_NONE;
        struct entry *entry = entry_of(block);
        entry->count--;
        memmove(&block->slots[position], &block->slots[position + 1],
                (entry->count - position) * sizeof block->slots[0]);
        if (entry->count > 0) {
                return;
        }
        struct scn_order_row *row = block->row;
        const uint32_t ordinal = block->ordinal;
        release_block(document, entry->number);
        row->count--;
        memmove(&row->blocks[ordinal], &row->blocks[ordinal + 1], (row->count - ordinal) * sizeof row->blocks[0]);
        if (row->count == 0) {
                destroy_row(document, row);
                return;
        }
        renumber(document, row, ordinal);
}

void scn_order_forget(struct scn_document *document, uint32_t parent)
{
        struct scn_order_row *row = row_of(document, parent);
        if (row != NULL) {
                destroy_row(document, row);
        }
}

void scn_order_finish(struct scn_document *document)
{
        for (uint32_t i = 0; i < document->order_blocks_count; i++) {
                if (document->order_blocks[i]->row != NULL) {
                        destroy_row(document, document->order_blocks[i]->row);
                }
        }
        for (uint32_t i = 0; i < document->order_blocks_count; i++) {
                scn_free(document->order_blocks[i]);
        }
        scn_free(document->order_blocks);
}

void scn_order_check(const struct scn_document *document, uint32_t parent)
{
        const struct scn_order_row *row = row_of(document, parent);
        uint32_t slot = scn_hierarchy_first_child(document->hierarchy, parent);
        if (row == NULL) {
                return;
        }
        for (uint32_t i = 0; i < row->count; i++) {
                const struct entry *entry = &row->blocks[i];
                const struct scn_order_block *block = document->order_blocks[entry->number];
                SCN_ASSERT(block->row == row);
                SCN_ASSERT(block->ordinal == i);
                SCN_ASSERT(entry->count > 0);
                for (uint32_t k = 0; k < entry->count; k++) {
                        SCN_ASSERT(block->slots[k] == slot);
                        SCN_ASSERT(scn_node_at(document, slot)->order_block == entry->number);
                        slot = scn_hierarchy_next(document->hierarchy, slot);
                }
        }
        SCN_ASSERT(slot == SCN_NONE);
}
