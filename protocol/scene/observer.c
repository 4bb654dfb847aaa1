/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/scene/observer.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"

#include <string.h>

struct entry {
        uint64_t serial; /* counted up per observable, never reused; the handle that the caller holds */
        scn_observer_fn callback;
        void *data;
        /* Bit d: the notification that runs at nesting depth d has called this one. Needed only when the order
         * changes under it, but cheaper kept always than remembered elsewhere. */
        uint64_t called;
        uint32_t mask;
        bool is_once;
        bool is_removed; /* while a notification runs: to be dropped at its end */
};

SCN_STATIC_ASSERT(SCN_OBSERVER_NESTING_MAX == 64, "a bit of `called` for each depth");

struct scn_observable {
        struct entry *entries; /* in the order of calls */
        size_t capacity;
        uint32_t entries_count; /* removed ones included */
        uint32_t removed_count;
        uint64_t last_serial;
        uint64_t order_version; /* changes whenever an entry changes its index */
        uint32_t depth;         /* notifications running, one inside the other */
        struct scn_event event;
};

/* A handle is a serial number in the clothes of a pointer that nobody follows. An address would be given again
 * to a later observer, and removing twice would not be harmless. */
static struct scn_observer *handle_of(uint64_t serial)
{
        return (struct scn_observer *)(uintptr_t)serial;
}

struct scn_observable *scn_observable_create(void)
{
        return scn_alloc_zero(1, sizeof(struct scn_observable));
}

void scn_observable_destroy(struct scn_observable *observable)
{
        if (observable == NULL)
                return;
        SCN_ASSERT(observable->depth == 0);
        SCN_ASSERT(observable->entries_count == 0);
        scn_free(observable->entries);
        scn_free(observable);
}

/* Moves one entry; those between its old and its new index make room. */
static void move_entry(struct scn_observable *observable, uint32_t from, uint32_t to)
{
        struct entry *entries = observable->entries;
        struct entry moved = entries[from];

        if (from == to)
                return;
        if (to < from)
                memmove(&entries[to + 1], &entries[to], (from - to) * sizeof *entries);
        else
                memmove(&entries[from], &entries[from + 1], (to - from) * sizeof *entries);
        entries[to] = moved;
        observable->order_version++;
}

enum scn_error scn_observable_add(struct scn_observable *observable, const struct scn_observer_options *options,
        struct scn_observer **observer_out)
{
        SCN_ASSERT(options->callback != NULL);
        if (!scn_grow((void **)&observable->entries, &observable->capacity, sizeof(struct entry),
                    (size_t)observable->entries_count + 1, UINT32_MAX))
                return SCN_E_NO_MEMORY;
        observable->entries[observable->entries_count++] = (struct entry){
                .serial = ++observable->last_serial,
                .callback = options->callback,
                .data = options->data,
                .mask = options->mask,
                .is_once = options->is_once,
        };
        if (options->is_first)
                move_entry(observable, observable->entries_count - 1, 0);
        *observer_out = handle_of(observable->last_serial);
        return SCN_OK;
}

/* The index of a registered observer, or UINT32_MAX. */
static uint32_t find_entry(const struct scn_observable *observable, const struct scn_observer *observer)
{
        for (uint32_t i = 0; i < observable->entries_count; i++) {
                const struct entry *entry = &observable->entries[i];
                if (handle_of(entry->serial) == observer)
                        return entry->is_removed ? UINT32_MAX : i;
        }
        return UINT32_MAX;
}

static void mark_removed(struct scn_observable *observable, struct entry *entry)
{
        entry->is_removed = true;
        observable->removed_count++;
}

static void drop_removed(struct scn_observable *observable)
{
        uint32_t kept = 0;

        if (observable->removed_count == 0)
                return;
        for (uint32_t i = 0; i < observable->entries_count; i++)
                if (!observable->entries[i].is_removed)
                        observable->entries[kept++] = observable->entries[i];
        observable->entries_count = kept;
        observable->removed_count = 0;
        observable->order_version++;
}

bool scn_observable_remove(struct scn_observable *observable, const struct scn_observer *observer)
{
        uint32_t index = find_entry(observable, observer);

        if (index == UINT32_MAX)
                return false;
        mark_removed(observable, &observable->entries[index]);
        if (observable->depth == 0)
                drop_removed(observable);
        return true;
}

bool scn_observable_make_first(struct scn_observable *observable, const struct scn_observer *observer)
{
        uint32_t index = find_entry(observable, observer);

        if (index == UINT32_MAX)
                return false;
        move_entry(observable, index, 0);
        return true;
}

bool scn_observable_make_last(struct scn_observable *observable, const struct scn_observer *observer)
{
        uint32_t index = find_entry(observable, observer);

        if (index == UINT32_MAX)
                return false;
        move_entry(observable, index, observable->entries_count - 1);
        return true;
}

uint32_t scn_observable_count(const struct scn_observable *observable)
{
        uint32_t count = 0;

        for (uint32_t i = 0; i < observable->entries_count; i++)
                count += !observable->entries[i].is_removed && observable->entries[i].mask != 0;
        return count;
}

/* One notification on its way through the entries. */
struct tour {
        uint32_t mask;
        uint64_t depth_bit;
        uint64_t last_serial; /* later ones were added during the notification */
        uint64_t order_version;
        uint32_t next_index;
};

/* The next entry to call, or NULL. When the order has changed, the search begins anew: who was called carries
 * the bit, so nobody is called twice, and whoever slipped in front is not missed. */
static struct entry *find_next(struct scn_observable *observable, struct tour *tour)
{
        if (tour->order_version != observable->order_version) {
                tour->order_version = observable->order_version;
                tour->next_index = 0;
        }
        while (tour->next_index < observable->entries_count) {
                struct entry *entry = &observable->entries[tour->next_index++];
                if (!entry->is_removed && (entry->mask & tour->mask) != 0 && (entry->called & tour->depth_bit) == 0 &&
                        entry->serial <= tour->last_serial)
                        return entry;
        }
        return NULL;
}

static enum scn_error call(struct scn_observable *observable, struct entry *entry)
{
        /* The callback may add, and so move the entries: nothing of the entry is read after this. */
        scn_observer_fn callback = entry->callback;
        void *data = entry->data;
        const void *returned = NULL;

        if (entry->is_once)
                mark_removed(observable, entry);
        enum scn_error error = callback(&observable->event, &returned, data);
        observable->event.last_return = returned;
        return error;
}

static enum scn_error call_all(struct scn_observable *observable, const void *data, struct tour *tour)
{
        struct entry *entry;
        enum scn_error error = SCN_OK;

        for (uint32_t i = 0; i < observable->entries_count; i++)
                observable->entries[i].called &= ~tour->depth_bit;
        observable->event = (struct scn_event){.mask = tour->mask, .data = data, .last_return = data};
        while (error == SCN_OK && !observable->event.skip_next && (entry = find_next(observable, tour)) != NULL) {
                entry->called |= tour->depth_bit;
                error = call(observable, entry);
        }
        return error;
}

enum scn_error scn_observable_notify(
        struct scn_observable *observable, uint32_t mask, const void *data, bool *was_completed_out)
{
        bool was_completed = true;
        enum scn_error error = SCN_OK;

        if (observable->entries_count != 0) {
                SCN_ASSERT(observable->depth < SCN_OBSERVER_NESTING_MAX);
                struct tour tour = {
                        .mask = mask,
                        .depth_bit = UINT64_C(1) << observable->depth,
                        .last_serial = observable->last_serial,
                        .order_version = observable->order_version,
                };
                struct scn_event outer = observable->event;
                observable->depth++;
                error = call_all(observable, data, &tour);
                was_completed = error == SCN_OK && !observable->event.skip_next;
                observable->depth--;
                observable->event = outer;
                if (observable->depth == 0)
                        drop_removed(observable);
        }
        if (was_completed_out != NULL)
                *was_completed_out = was_completed;
        return error;
}
