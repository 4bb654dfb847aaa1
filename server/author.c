/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/author.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/base/bytes.h"
#include "protocol/base/index_map.h"

#include <stdlib.h>
#include <string.h>

/* Transactions looked at in one go. */
#define WINDOW 1000u

/* --- Arrays --- */

static bool grow(void **array, size_t *capacity, size_t size, size_t count)
{
        return scn_grow(array, capacity, size, count, SIZE_MAX);
}

static bool reserve(struct scn_steps *steps, size_t all, size_t undo, size_t redo)
{
        return grow((void **)&steps->all, &steps->all_capacity, sizeof *steps->all, steps->all_count + all) &&
                grow((void **)&steps->undo, &steps->undo_capacity, sizeof *steps->undo, steps->undo_count + undo) &&
                grow((void **)&steps->redo, &steps->redo_capacity, sizeof *steps->redo, steps->redo_count + redo);
}

void scn_steps_finish(struct scn_steps *steps)
{
        scn_free(steps->all);
        scn_free(steps->undo);
        scn_free(steps->redo);
        *steps = (struct scn_steps){0};
}

/* Where a step of this name stands, or would. */
static size_t place_of(const struct scn_steps *steps, scn_revision first)
{
        size_t low = 0;
        size_t high = steps->all_count;
        /* A new one goes behind all others, most of the time. */
        if (high > 0 && steps->all[high - 1].first < first) {
                return high;
        }
        while (low < high) {
                const size_t middle = low + (high - low) / 2;
                if (steps->all[middle].first < first) {
                        low = middle + 1;
                } else {
                        high = middle;
                }
        }
        return low;
}

const struct scn_step *scn_steps_find(const struct scn_steps *steps, scn_revision first)
{
        const size_t place = place_of(steps, first);
        return place < steps->all_count && steps->all[place].first == first ? &steps->all[place] : NULL;
}

static void drop_undo(struct scn_steps *steps, scn_revision step)
{
        for (size_t i = steps->undo_count; i-- > 0;) {
                if (steps->undo[i] == step) {
                        steps->undo_count--;
                        memmove(&steps->undo[i], &steps->undo[i + 1], (steps->undo_count - i) * sizeof *steps->undo);
                        return;
                }
        }
}

static void drop_redo(struct scn_steps *steps, scn_revision step)
{
        for (size_t i = steps->redo_count; i-- > 0;) {
                if (steps->redo[i].step == step) {
                        steps->redo_count--;
                        memmove(&steps->redo[i], &steps->redo[i + 1], (steps->redo_count - i) * sizeof *steps->redo);
                        return;
                }
        }
}

/* The oldest beyond what is promised go when there are too many. */
static void forget_oldest(struct scn_steps *steps)
{
        const size_t dropped = steps->all_count - SCN_UNDO_STEPS_MAX;
        const scn_revision oldest = steps->all[dropped].first;
        size_t kept = 0;
        steps->all_count -= dropped;
        memmove(steps->all, steps->all + dropped, steps->all_count * sizeof *steps->all);
        for (size_t i = 0; i < steps->undo_count; i++) {
                if (steps->undo[i] >= oldest) {
                        steps->undo[kept++] = steps->undo[i];
                }
        }
        steps->undo_count = kept;
        kept = 0;
        for (size_t i = 0; i < steps->redo_count; i++) {
                if (steps->redo[i].step >= oldest) {
                        steps->redo[kept++] = steps->redo[i];
                }
        }
        steps->redo_count = kept;
}

/* --- Authors --- */

struct scn_author *scn_author_get(struct scn_authors *authors, struct scn_slice name, scn_revision since)
{
        struct scn_author *author = authors->first;
        while (author != NULL &&
                !(author->name.size == name.size && memcmp(author->name.data, name.data, name.size) == 0)) {
                author = author->next;
        }
        if (author != NULL) {
                return author;
        }
        author = scn_alloc_zero(1, sizeof *author);
        if (author == NULL || !scn_slice_copy(name, &author->name)) {
                scn_free(author);
                return NULL;
        }
        author->since = since;
        author->next = authors->first;
        authors->first = author;
        authors->idle_count++;
        return author;
}

void scn_author_enter(struct scn_authors *authors, struct scn_author *author)
{
        authors->idle_count -= author->sessions_count == 0;
        author->sessions_count++;
}

void scn_author_leave(struct scn_authors *authors, struct scn_author *author)
{
        struct scn_author **at = &authors->first;
        SCN_ASSERT(author->sessions_count > 0);
        if (--author->sessions_count > 0) {
                return;
        }
        authors->idle_count++;
        while (*at != author) {
                at = &(*at)->next;
        }
        *at = author->next;
        author->next = authors->first;
        authors->first = author;
}

static void destroy_author(struct scn_author *author)
{
        scn_steps_finish(&author->steps);
        scn_free((void *)author->name.data);
        scn_free(author);
}

void scn_authors_trim(struct scn_authors *authors)
{
        struct scn_author **at = &authors->first;
        size_t kept = 0;
        while (authors->idle_count > SCN_AUTHORS_IDLE_MAX && *at != NULL) {
                struct scn_author *author = *at;
                kept += author->sessions_count == 0;
                if (author->sessions_count == 0 && kept > SCN_AUTHORS_IDLE_MAX) {
                        *at = author->next;
                        authors->idle_count--;
                        destroy_author(author);
                } else {
                        at = &author->next;
                }
        }
}

void scn_authors_destroy(struct scn_authors *authors)
{
        while (authors->first != NULL) {
                struct scn_author *next = authors->first->next;
                destroy_author(authors->first);
                authors->first = next;
        }
        authors->idle_count = 0;
}

bool scn_author_reserve(struct scn_author *author, size_t extra)
{
        return reserve(&author->steps, extra, extra, extra);
}

void scn_author_note_edit(struct scn_author *author, scn_revision step, scn_revision revision)
{
        struct scn_steps *steps = &author->steps;
        const size_t place = place_of(steps, step);
        author->changes++;
        steps->redo_count = 0;
        if (place < steps->all_count) {
                /* A name can only be new at the end; one that was forgotten stays so. */
                if (steps->all[place].first == step) {
                        steps->all[place].last = revision;
                }
                return;
        }
        SCN_ASSERT(steps->all_count < steps->all_capacity && steps->undo_count < steps->undo_capacity);
        steps->all[steps->all_count++] = (struct scn_step){.first = step, .last = revision};
        steps->undo[steps->undo_count++] = step;
        if (steps->all_count > SCN_UNDO_STEPS_MAX + SCN_UNDO_STEPS_MAX / 4) {
                forget_oldest(steps);
        }
}

void scn_author_note_undo(struct scn_author *author, const scn_revision *undone, size_t count, scn_revision by)
{
        struct scn_steps *steps = &author->steps;
        author->changes++;
        for (size_t i = 0; i < count; i++) {
                drop_undo(steps, undone[i]);
                drop_redo(steps, undone[i]);
                if (by != 0) {
                        SCN_ASSERT(steps->redo_count < steps->redo_capacity);
                        steps->redo[steps->redo_count++] = (struct scn_undone){undone[i], by};
                }
        }
}

void scn_author_note_redo(struct scn_author *author, const scn_revision *redone, size_t count, scn_revision by)
{
        struct scn_steps *steps = &author->steps;
        author->changes++;
        for (size_t i = 0; i < count; i++) {
                const size_t place = place_of(steps, redone[i]);
                if (place < steps->all_count && steps->all[place].first == redone[i]) {
                        steps->all[place].redone = by;
                }
                drop_redo(steps, redone[i]);
                drop_undo(steps, redone[i]);
                SCN_ASSERT(steps->undo_count < steps->undo_capacity);
                steps->undo[steps->undo_count++] = redone[i];
        }
}

/* --- What was before --- */

/* Everything is met newest first: the first that is heard of a step says how it stands. */
struct reading {
        struct scn_slice author;
        scn_steps_of_fn steps_of;
        struct scn_steps *steps; /* newest first, and `all` in the order in which they were met */
        struct scn_index_map met;
        bool has_edit;
};

static uint64_t hash_of(scn_revision first)
{
        return first * UINT64_C(0x9e3779b97f4a7c15) >> 20;
}

static uint64_t hash_met(const void *owner, uint32_t ref)
{
        return hash_of(((const struct reading *)owner)->steps->all[ref].first);
}

static bool match_met(const void *owner, uint32_t ref, const void *key)
{
        return ((const struct reading *)owner)->steps->all[ref].first == *(const scn_revision *)key;
}

/* What is 0 in `step` is not known yet. *is_new_out: it has not been heard of before. */
static enum scn_error meet(struct reading *reading, struct scn_step step, bool *is_new_out)
{
        struct scn_steps *steps = reading->steps;
        const uint32_t ref = scn_index_map_find(&reading->met, hash_of(step.first), &step.first);
        *is_new_out = ref == SCN_INDEX_MAP_NONE;
        if (!*is_new_out) {
                struct scn_step *known = &steps->all[ref];
                known->last = known->last == 0 ? step.last : known->last;
                known->redone = known->redone == 0 ? step.redone : known->redone;
                return SCN_OK;
        }
        if (!reserve(steps, 1, 1, 1) || !scn_index_map_reserve(&reading->met, (uint32_t)steps->all_count + 1)) {
                return SCN_E_NO_MEMORY;
        }
        steps->all[steps->all_count] = step;
        scn_index_map_add(&reading->met, hash_of(step.first), (uint32_t)steps->all_count);
        steps->all_count++;
        return SCN_OK;
}

static enum scn_error meet_taking(struct reading *reading, const struct scn_journal_transaction *transaction)
{
        scn_revision about[SCN_UNDO_COUNT_MAX];
        struct scn_steps *steps = reading->steps;
        const size_t count = reading->steps_of(transaction->answer, about, SCN_UNDO_COUNT_MAX);
        for (size_t i = count; i-- > 0;) {
                bool is_new;
                const scn_revision redone = transaction->cause == SCN_CAUSE_REDO ? transaction->revision : 0;
                const struct scn_step step = {.first = about[i], .redone = redone};
                const enum scn_error error = meet(reading, step, &is_new);
                if (error != SCN_OK) {
                        return error;
                }
                if (is_new && transaction->cause == SCN_CAUSE_REDO) {
                        steps->undo[steps->undo_count++] = about[i];
                } else if (is_new && !reading->has_edit) {
                        steps->redo[steps->redo_count++] = (struct scn_undone){about[i], transaction->revision};
                }
        }
        return SCN_OK;
}

static enum scn_error meet_transaction(struct reading *reading, const struct scn_journal_transaction *transaction)
{
        /* What a document was made of is nobody's step. */
        if (transaction->cause == SCN_CAUSE_FORK) {
                return SCN_OK;
        }
        if (transaction->author.size != reading->author.size ||
                memcmp(transaction->author.data, reading->author.data, reading->author.size) != 0) {
                return SCN_OK;
        }
        if (transaction->cause == SCN_CAUSE_UNDO || transaction->cause == SCN_CAUSE_REDO) {
                return meet_taking(reading, transaction);
        }
        bool is_new;
        const struct scn_step step = {.first = transaction->step, .last = transaction->revision};
        const enum scn_error error = meet(reading, step, &is_new);
        if (error == SCN_OK && is_new) {
                reading->steps->undo[reading->steps->undo_count++] = transaction->step;
        }
        reading->has_edit = true;
        return error;
}

/* Revisions from..to, newest first. */
static enum scn_error read_window(struct reading *reading, struct scn_journal *journal, scn_revision from,
        scn_revision to, struct scn_storage_fault *fault)
{
        struct scn_journal_page *pages[WINDOW];
        uint32_t pages_count = 0;
        enum scn_error error = SCN_OK;
        scn_revision next = from;
        while (error == SCN_OK && next <= to) {
                const struct scn_journal_range range = {.from = next, .to = to, .without_records = true};
                struct scn_journal_page *page = NULL;
                error = scn_journal_read(journal, &range, &page, fault);
                const uint32_t count = error == SCN_OK ? scn_journal_page_count(page) : 0;
                if (count == 0) {
                        scn_journal_page_destroy(page);
                        break;
                }
                pages[pages_count++] = page;
                next = scn_journal_page_get(page, count - 1)->revision + 1;
        }
        while (pages_count > 0) {
                struct scn_journal_page *page = pages[--pages_count];
                for (uint32_t i = scn_journal_page_count(page); i-- > 0 && error == SCN_OK;) {
                        error = meet_transaction(reading, scn_journal_page_get(page, i));
                }
                scn_journal_page_destroy(page);
        }
        return error;
}

/* A step of which no transaction was met is older than what was looked at: nobody can take it back. */
static bool is_whole(const struct reading *reading, scn_revision first)
{
        const uint32_t ref = scn_index_map_find(&reading->met, hash_of(first), &first);
        return ref != SCN_INDEX_MAP_NONE && reading->steps->all[ref].last != 0;
}

static void keep_whole(struct reading *reading)
{
        struct scn_steps *steps = reading->steps;
        size_t kept = 0;
        for (size_t i = 0; i < steps->undo_count; i++) {
                if (is_whole(reading, steps->undo[i])) {
                        steps->undo[kept++] = steps->undo[i];
                }
        }
        steps->undo_count = kept;
        kept = 0;
        for (size_t i = 0; i < steps->redo_count; i++) {
                if (is_whole(reading, steps->redo[i].step)) {
                        steps->redo[kept++] = steps->redo[i];
                }
        }
        steps->redo_count = kept;
}

static int compare_steps(const void *a, const void *b)
{
        const struct scn_step *left = a;
        const struct scn_step *right = b;
        return (left->first > right->first) - (left->first < right->first);
}

/* From the order of reading to that of use. */
static void turn_round(struct scn_steps *steps)
{
        size_t kept = 0;
        for (size_t i = 0, j = steps->undo_count; i + 1 < j; i++) {
                const scn_revision step = steps->undo[i];
                steps->undo[i] = steps->undo[--j];
                steps->undo[j] = step;
        }
        for (size_t i = 0, j = steps->redo_count; i + 1 < j; i++) {
                const struct scn_undone undone = steps->redo[i];
                steps->redo[i] = steps->redo[--j];
                steps->redo[j] = undone;
        }
        for (size_t i = 0; i < steps->all_count; i++) {
                if (steps->all[i].last != 0) {
                        steps->all[kept++] = steps->all[i];
                }
        }
        steps->all_count = kept;
        if (kept > 0) {
                qsort(steps->all, kept, sizeof *steps->all, compare_steps);
        }
}

enum scn_error scn_steps_read(struct scn_journal *journal, struct scn_slice author, scn_revision last,
        scn_steps_of_fn steps_of, struct scn_steps *steps_out, struct scn_storage_fault *fault)
{
        struct reading reading = {.author = author, .steps_of = steps_of, .steps = steps_out};
        struct scn_journal_state state;
        *steps_out = (struct scn_steps){0};
        enum scn_error error = scn_journal_state(journal, &state, fault);
        if (error != SCN_OK) {
                return error;
        }
        /* What was dropped as too old may be far more than there is. */
        const scn_revision first = state.base > 0 ? state.base : 1;
        scn_index_map_init(&reading.met, &reading, hash_met, match_met);
        while (error == SCN_OK && last >= first && steps_out->all_count < SCN_UNDO_STEPS_MAX) {
                const scn_revision from = last - first >= WINDOW ? last - WINDOW + 1 : first;
                error = read_window(&reading, journal, from, last, fault);
                last = from - 1;
        }
        if (error == SCN_OK) {
                keep_whole(&reading);
                turn_round(steps_out);
        } else {
                scn_steps_finish(steps_out);
        }
        scn_index_map_finish(&reading.met);
        return error;
}

bool scn_author_set_past(struct scn_author *author, const struct scn_steps *past)
{
        struct scn_steps *steps = &author->steps;
        const bool has_edits = steps->all_count > 0;
        const size_t redo_count = has_edits ? 0 : past->redo_count;
        /* A batch in flight relies on what it has reserved. */
        const size_t all_spare = steps->all_capacity - steps->all_count;
        const size_t undo_spare = steps->undo_capacity - steps->undo_count;
        const size_t redo_spare = steps->redo_capacity - steps->redo_count;
        if (!reserve(steps, past->all_count + all_spare, past->undo_count + undo_spare, redo_count + redo_spare)) {
                return false;
        }
        /* An array that was never needed has no address, and memmove must not be given one. */
        if (steps->all_count > 0) {
                memmove(steps->all + past->all_count, steps->all, steps->all_count * sizeof *steps->all);
        }
        if (steps->undo_count > 0) {
                memmove(steps->undo + past->undo_count, steps->undo, steps->undo_count * sizeof *steps->undo);
        }
        for (size_t i = 0; i < past->all_count; i++) {
                steps->all[i] = past->all[i];
        }
        for (size_t i = 0; i < past->undo_count; i++) {
                steps->undo[i] = past->undo[i];
        }
        for (size_t i = 0; i < redo_count; i++) {
                steps->redo[i] = past->redo[i];
        }
        steps->all_count += past->all_count;
        steps->undo_count += past->undo_count;
        steps->redo_count = redo_count;
        author->has_past = true;
        author->changes++;
        return true;
}
