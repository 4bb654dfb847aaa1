/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "client/mirror.h"

#include "client/task.h"
#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/wire/columns.h"

#include <string.h>

/* Bytes of one delta in parts: far above the greatest document, far below what would hurt. */
#define DELTA_BYTES_MAX ((size_t)2 << 30)

/* What one edit, or one op of it, did to the document. An edit's entries stand together. */
struct scn_shown {
        struct scn_task *task;
        struct scn_changes *changes;
};

enum scn_error scn_mirror_init(struct scn_mirror *mirror, const struct scn_document_options *options, uint32_t mask)
{
        *mirror = (struct scn_mirror){.mask = mask};
        return scn_document_create_replica(options, &mirror->document);
}

/* --- On top --- */

static bool is_first(const struct scn_mirror *mirror, size_t index)
{
        return index == 0 || mirror->shown[index - 1].task != mirror->shown[index].task;
}

uint32_t scn_mirror_pending_count(const struct scn_mirror *mirror)
{
        uint32_t count = 0;
        for (size_t i = 0; i < mirror->shown_count; i++) {
                count += is_first(mirror, i);
        }
        return count;
}

static void pop(struct scn_mirror *mirror)
{
        const size_t last = --mirror->shown_count;
        scn_document_take_back(mirror->document, mirror->shown[last].changes);
        if (is_first(mirror, last)) {
                mirror->shown[last].task->on_top--;
        }
}

static bool push(struct scn_mirror *mirror, struct scn_task *task, const struct scn_op *ops, uint32_t count)
{
        if (!scn_grow((void **)&mirror->shown, &mirror->shown_capacity, sizeof *mirror->shown, mirror->shown_count + 1,
                    UINT32_MAX)) {
                return false;
        }
        const struct scn_edit edit = {.ops = ops, .ops_count = count};
        struct scn_changes *changes;
        struct scn_refusal refusal;
        if (scn_document_apply(mirror->document, &edit, &changes, &refusal) != SCN_OK) {
                return false;
        }
        if (scn_changes_count(changes) == 0) {
                scn_document_take_back(mirror->document, changes);
                return true;
        }
        mirror->shown[mirror->shown_count] = (struct scn_shown){task, changes};
        task->on_top += is_first(mirror, mirror->shown_count);
        mirror->shown_count++;
        return true;
}

/* Leaves out what the view does not hold. False: the op is about nothing else. */
static bool filter(uint32_t mask, struct scn_op *op)
{
        switch (op->kind) {
        case SCN_OP_ADD:
                op->name = (mask & SCN_MASK_NAME) != 0 ? op->name : (struct scn_slice){NULL, 0};
                op->fields = (mask & SCN_MASK_TRANSFORM) != 0 ? op->fields : 0;
                op->properties_count = (mask & SCN_MASK_PROPERTIES) != 0 ? op->properties_count : 0;
                return true;
        case SCN_OP_TRANSFORM:
                return (mask & SCN_MASK_TRANSFORM) != 0;
        case SCN_OP_RENAME:
                return (mask & SCN_MASK_NAME) != 0;
        case SCN_OP_SET:
                return (mask & SCN_MASK_PROPERTIES) != 0;
        case SCN_OP_REMOVE:
        case SCN_OP_MOVE:
        case SCN_OP_COUNT:
                break;
        }
        return true;
}

static bool read_ops(struct scn_mirror *mirror, const struct scn_task *task)
{
        struct scn_ops *ops = &mirror->ops;
        struct scn_ops_fault fault;
        ops->count = 0;
        ops->properties_count = 0;
        for (uint32_t i = 0; i < task->parts_count; i++) {
                const struct scn_draft_part *part = &task->parts[i];
                const struct scn_slice array = {
                        part->bytes.data + part->start, (uint32_t)part->bytes.size - part->start};
                if (scn_ops_decode(array, scn_document_limits(mirror->document), ops, &fault) != SCN_OK) {
                        return false;
                }
        }
        size_t kept = 0;
        for (size_t i = 0; i < ops->count; i++) {
                if (filter(mirror->mask, &ops->ops[i])) {
                        ops->ops[kept++] = ops->ops[i];
                }
        }
        ops->count = kept;
        return kept > 0;
}

/* All of it, or else what fits of it. */
static void show(struct scn_mirror *mirror, struct scn_task *task)
{
        if (!mirror->is_ready || scn_document_root(mirror->document) == 0 || !read_ops(mirror, task)) {
                return;
        }
        const struct scn_ops *ops = &mirror->ops;
        if (push(mirror, task, ops->ops, (uint32_t)ops->count)) {
                return;
        }
        for (size_t i = 0; i < ops->count; i++) {
                (void)push(mirror, task, &ops->ops[i], 1);
        }
}

/* Where an edit's entries begin, or the count. */
static size_t first_of(const struct scn_mirror *mirror, const struct scn_task *task)
{
        size_t at = 0;
        while (at < mirror->shown_count && mirror->shown[at].task != task) {
                at++;
        }
        return at;
}

static void tell_from(const struct scn_mirror *mirror, size_t first, struct scn_told *told)
{
        for (size_t i = first; i < mirror->shown_count; i++) {
                scn_told_add_changes(told, mirror->document, mirror->shown[i].changes);
        }
}

/* Takes back all from an entry on. `told` may be NULL: then it does not matter what that touches. */
static void pop_all(struct scn_mirror *mirror, size_t first, struct scn_told *told)
{
        for (size_t i = first; told != NULL && i < mirror->shown_count; i++) {
                scn_told_note(told, mirror->document, mirror->shown[i].changes);
        }
        if (told != NULL) {
                scn_told_end_notes(told);
        }
        while (mirror->shown_count > first) {
                if (told != NULL) {
                        scn_told_add_undone(told, mirror->shown[mirror->shown_count - 1].changes);
                }
                pop(mirror);
        }
}

void scn_mirror_show(struct scn_mirror *mirror, struct scn_task *task, struct scn_told *told)
{
        const size_t first = mirror->shown_count;
        show(mirror, task);
        tell_from(mirror, first, told);
        scn_told_sort_out(told, mirror->document);
}

bool scn_mirror_drop(struct scn_mirror *mirror, struct scn_task *task, struct scn_told *told)
{
        const size_t first = first_of(mirror, task);
        if (first == mirror->shown_count) {
                return false;
        }
        /* Each edit once, in order, to be put on top again. Those above are at most as many as the entries. */
        size_t above_count = 0;
        struct scn_task **above = scn_alloc((mirror->shown_count - first) * sizeof(struct scn_task *));
        for (size_t i = first; i < mirror->shown_count; i++) {
                if (above != NULL && is_first(mirror, i) && mirror->shown[i].task != task) {
                        above[above_count++] = mirror->shown[i].task;
                }
        }
        pop_all(mirror, first, told);
        for (size_t i = 0; i < above_count; i++) {
                show(mirror, above[i]);
        }
        scn_free(above);
        tell_from(mirror, first, told);
        scn_told_sort_out(told, mirror->document);
        return true;
}

/* The confirmed state has it, or will never have it. */
static bool has_reached(const struct scn_mirror *mirror, const struct scn_task *task)
{
        return task->is_accepted &&
                (task->history < mirror->history || (task->history == mirror->history && task->rev <= mirror->cursor));
}

bool scn_mirror_settle(struct scn_mirror *mirror, struct scn_task *task, struct scn_told *told)
{
        return has_reached(mirror, task) && scn_mirror_drop(mirror, task, told);
}

/* --- Deltas --- */

void scn_mirror_forget_parts(struct scn_mirror *mirror)
{
        for (size_t i = 0; i < mirror->parts_count; i++) {
                scn_free(mirror->parts[i]);
        }
        mirror->parts_count = 0;
        mirror->parts_bytes = 0;
        struct scn_delta *delta = &mirror->delta;
        delta->is_whole = false;
        delta->root = 0;
        delta->nodes_count = 0;
        delta->worlds_count = 0;
        delta->properties_count = 0;
        delta->removed_count = 0;
        delta->left_count = 0;
}

void scn_mirror_bare(struct scn_mirror *mirror)
{
        pop_all(mirror, 0, NULL);
}

void scn_mirror_finish(struct scn_mirror *mirror)
{
        scn_mirror_bare(mirror);
        scn_mirror_forget_parts(mirror);
        scn_free(mirror->parts);
        scn_free(mirror->shown);
        scn_delta_finish(&mirror->delta);
        scn_ops_finish(&mirror->ops);
        scn_document_destroy(mirror->document);
}

/* A part that is not the last must outlive its message. */
static enum scn_error keep_part(struct scn_mirror *mirror, struct scn_slice *columns)
{
        if (columns->size > DELTA_BYTES_MAX - mirror->parts_bytes) {
                return SCN_E_TOO_LARGE;
        }
        if (!scn_grow((void **)&mirror->parts, &mirror->parts_capacity, sizeof *mirror->parts, mirror->parts_count + 1,
                    SIZE_MAX)) {
                return SCN_E_NO_MEMORY;
        }
        uint8_t *kept = scn_alloc(columns->size);
        if (kept == NULL) {
                return SCN_E_NO_MEMORY;
        }
        memcpy(kept, columns->data, columns->size);
        mirror->parts[mirror->parts_count++] = kept;
        mirror->parts_bytes += columns->size;
        columns->data = kept;
        return SCN_OK;
}

/* The wire does not repeat the root: it is the one that is here, unless it is among the removed. */
static void complete(struct scn_mirror *mirror, const struct scn_mirror_part *part)
{
        struct scn_delta *delta = &mirror->delta;
        delta->from = part->from;
        delta->to = part->to;
        delta->mask = mirror->mask;
        if (delta->is_whole) {
                return;
        }
        delta->root = scn_document_root(mirror->document);
        for (size_t i = 0; i < delta->removed_count; i++) {
                if (delta->removed[i] == delta->root) {
                        delta->root = 0;
                        return;
                }
        }
}

static bool is_to_show(const struct scn_mirror *mirror, const struct scn_task *task)
{
        return task->kind == SCN_TASK_EDIT && !has_reached(mirror, task);
}

/* Those that were on top, and those that did not fit before. */
static void show_all(struct scn_mirror *mirror, const struct scn_task_queue *tasks)
{
        struct scn_task *task;
        TAILQ_FOREACH(task, tasks, link)
        {
                if (is_to_show(mirror, task)) {
                        show(mirror, task);
                }
        }
}

static enum scn_error apply(struct scn_mirror *mirror, const struct scn_mirror_part *part,
        const struct scn_mirror_tasks *tasks, struct scn_told *told)
{
        const bool is_whole = mirror->delta.is_whole;
        pop_all(mirror, 0, is_whole ? NULL : told);
        if (!is_whole) {
                scn_told_add_gone(told, mirror->document, &mirror->delta); /* ids lose their meaning afterwards */
        }
        const enum scn_error error = scn_document_apply_delta(mirror->document, &mirror->delta);
        if (error == SCN_OK) {
                mirror->cursor = mirror->delta.to;
                mirror->history = part->history;
                mirror->is_ready = true;
                scn_told_add_delta(told, mirror->document, &mirror->delta);
        }
        show_all(mirror, tasks->accepted);
        show_all(mirror, tasks->pending);
        tell_from(mirror, 0, told);
        scn_told_sort_out(told, mirror->document);
        return error;
}

enum scn_error scn_mirror_take(struct scn_mirror *mirror, const struct scn_mirror_part *part,
        const struct scn_mirror_tasks *tasks, struct scn_told *told)
{
        struct scn_slice columns = part->columns;
        enum scn_error error = part->has_more ? keep_part(mirror, &columns) : SCN_OK;
        if (error == SCN_OK) {
                error = scn_columns_decode(columns, &mirror->delta);
        }
        if (error == SCN_OK && !part->has_more) {
                complete(mirror, part);
                told->event.from = mirror->delta.is_whole ? 0 : part->from;
                told->event.to = part->to;
                told->event.is_whole = mirror->delta.is_whole;
                error = apply(mirror, part, tasks, told);
        }
        if (error != SCN_OK || !part->has_more) {
                scn_mirror_forget_parts(mirror);
        }
        return error;
}
