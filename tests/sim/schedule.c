/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Events in a heap, by time and then by the order in which they were made. */

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "tests/sim/sim.h"

static bool is_before(const struct sim_event *a, const struct sim_event *b)
{
        return a->at_us != b->at_us ? a->at_us < b->at_us : a->sequence < b->sequence;
}

void sim_schedule(struct sim *sim, uint64_t in_us, enum sim_event_kind kind, void *object, uint64_t number)
{
        const bool is_good = scn_grow(
                (void **)&sim->events, &sim->events_capacity, sizeof *sim->events, sim->events_count + 1, SIZE_MAX);
        SCN_ASSERT(is_good);
        const struct sim_event event = {sim->now_us + in_us, sim->events_ever++, kind, number, object};
        size_t at = sim->events_count++;
        while (at > 0 && is_before(&event, &sim->events[(at - 1) / 2])) {
                sim->events[at] = sim->events[(at - 1) / 2];
                at = (at - 1) / 2;
        }
        sim->events[at] = event;
}

bool sim_next_event(struct sim *sim, struct sim_event *event_out)
{
        if (sim->events_count == 0) {
                return false;
        }
        *event_out = sim->events[0];
        const struct sim_event last = sim->events[--sim->events_count];
        size_t at = 0;
        for (;;) {
                size_t child = 2 * at + 1;
                if (child + 1 < sim->events_count && is_before(&sim->events[child + 1], &sim->events[child])) {
                        child++;
                }
                if (child >= sim->events_count || !is_before(&sim->events[child], &last)) {
                        break;
                }
                sim->events[at] = sim->events[child];
                at = child;
        }
        sim->events[at] = last;
        sim->now_us = event_out->at_us;
        return true;
}
