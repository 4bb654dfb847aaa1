/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* One seed: weather and deeds, then rest, then the reckoning. */

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "tests/sim/sim.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From the last deed until all is quiet; a dead connection is noticed after 45 s, and tried again within 15. */
#define REST_US (200 * (uint64_t)SIM_S)
/* A hundred times what a seed usually has. */
#define EVENTS_MAX 1000000u

void sim_fail(const struct sim *sim, const char *format, ...)
{
        va_list arguments;
        (void)fflush(stdout);
        (void)fprintf(stderr, "seed %" PRIu64 " at %" PRIu64 " us: ", sim->seed, sim->now_us);
        va_start(arguments, format);
        (void)vfprintf(stderr, format, arguments);
        va_end(arguments);
        (void)fprintf(stderr, "\n");
        exit(1);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
        return (hash ^ value) * UINT64_C(0x100000001b3);
}

void sim_note(struct sim *sim, const char *what, uint64_t who, uint64_t a, uint64_t b)
{
        uint64_t hash = sim->hash;
        for (const char *at = what; *at != '\0'; at++) {
                hash = mix(hash, (uint8_t)*at);
        }
        sim->hash = mix(mix(mix(mix(hash, sim->now_us), who), a), b);
        if (sim->is_traced) {
                (void)printf("%10.6f %-14s %2" PRIu64 " %8" PRIu64 " %8" PRIu64 "\n", (double)sim->now_us / 1e6, what,
                        who, a, b);
        }
}

/* --- Beginning --- */

static uint32_t one_of(struct sim *sim, const uint32_t *values, uint32_t count)
{
        return values[sim_below(sim, count)];
}

static void choose_climate(struct sim *sim)
{
        static const uint32_t paces[] = {20 * SIM_MS, 150 * SIM_MS, 900 * SIM_MS};
        static const uint32_t jobs[] = {300, 5 * SIM_MS, 60 * SIM_MS};
        static const uint32_t delays[] = {200, 4 * SIM_MS, 40 * SIM_MS};
        static const uint32_t chunks[] = {60, 700, 9000};
        static const uint32_t pipes[] = {200, 3000, 60000};
        static const uint32_t pasts[] = {2, 30, 65536};
        struct sim_climate *climate = &sim->climate;
        *climate = (struct sim_climate){
                .authors_count = 2 + sim_below(sim, SIM_AUTHORS_MAX - 1),
                .documents_count = sim_chance(sim, 20) ? 2 : 1,
                .wishes_max = 100 + sim_below(sim, 200),
                .pace_us = one_of(sim, paces, 3),
                .job_us = one_of(sim, jobs, 3),
                .delay_us = one_of(sim, delays, 3),
                .chunk_max = one_of(sim, chunks, 3),
                .pipe_max = one_of(sim, pipes, 3),
                .past_min = one_of(sim, pasts, 3),
                .has_crashes = sim_chance(sim, 60),
                .has_backups = sim_chance(sim, 40),
                .has_bad_disk = sim_chance(sim, 50),
                .has_live = sim_chance(sim, 80),
                .has_raws = sim_chance(sim, 60),
                .has_shared_names = sim_chance(sim, 25),
        };
        /* Some thirty events of weather a run, whatever the pace. */
        climate->weather_us = climate->pace_us * climate->wishes_max / climate->authors_count / 30;
}

static void begin(struct sim *sim)
{
        choose_climate(sim);
        sim_disk_mount(&sim->disk);
        sim_host_start(sim);
        for (uint32_t i = 0; i < sim->climate.authors_count; i++) {
                struct sim_author *author = &sim->authors[i];
                author->sim = sim;
                author->index = i;
                author->document = sim_below(sim, sim->climate.documents_count);
                author->pace_us = sim->climate.pace_us;
                sim_author_begin(author);
        }
        sim_schedule(sim, SIM_S, SIM_EVENT_TICK, NULL, 0);
        sim_schedule(sim, sim_below(sim, sim->climate.weather_us), SIM_EVENT_WEATHER, NULL, 0);
}

/* --- Going on --- */

static void tick(struct sim *sim)
{
        sim_host_tick(sim);
        sim_links_sweep(sim);
        sim_schedule(sim, sim->is_stopping ? 100 * SIM_MS : SIM_S, SIM_EVENT_TICK, NULL, 0);
}

static void do_link(const struct sim_event *event)
{
        struct sim_link *link = event->object;
        link->events_count--;
        switch ((int)event->kind) {
        case SIM_EVENT_UP:
                sim_link_up(link);
                break;
        case SIM_EVENT_DOWN:
                sim_link_down(link);
                break;
        case SIM_EVENT_CUT_CLIENT:
                sim_link_cut_client(link);
                break;
        default:
                sim_link_cut_server(link);
                break;
        }
}

static void do_event(struct sim *sim, const struct sim_event *event)
{
        switch (event->kind) {
        case SIM_EVENT_UP:
        case SIM_EVENT_DOWN:
        case SIM_EVENT_CUT_CLIENT:
        case SIM_EVENT_CUT_SERVER:
                do_link(event);
                break;
        case SIM_EVENT_JOB:
                sim_host_job(sim, event->number);
                break;
        case SIM_EVENT_TURN:
                sim_host_turn(sim);
                break;
        case SIM_EVENT_TICK:
                tick(sim);
                break;
        case SIM_EVENT_ACT:
                sim_act(event->object);
                break;
        case SIM_EVENT_DRAG:
                sim_drag_on(event->object);
                break;
        case SIM_EVENT_ALARM:
                sim_author_alarm(event->object);
                break;
        case SIM_EVENT_WEATHER:
                sim_weather(sim);
                break;
        case SIM_EVENT_START:
                sim_host_start(sim);
                break;
        case SIM_EVENT_DISK_WELL:
                sim->disk.faults = (struct sim_disk_faults){.write_error = SCN_OK};
                break;
        case SIM_EVENT_COUNT:
                break;
        }
}

static void step(struct sim *sim)
{
        if (sim->events_ever > EVENTS_MAX) {
                sim_fail(sim, "it goes round in circles");
        }
        struct sim_event event;
        const bool is_good = sim_next_event(sim, &event);
        SCN_ASSERT(is_good); /* there is always a tick */
        do_event(sim, &event);
}

/* --- Coming to rest --- */

static const char *why_not_quiet(struct sim *sim)
{
        if (!sim_host_is_idle(sim)) {
                return "the server has something to do";
        }
        if (sim_disk_is_written_over(&sim->disk)) {
                return "a document that was written over is still open";
        }
        if (sim->requests_due > 0) {
                return "requests wait for an answer";
        }
        for (uint32_t i = 0; i < sim->climate.authors_count; i++) {
                const char *why = sim_author_why_not_quiet(&sim->authors[i]);
                if (why != NULL) {
                        return why;
                }
        }
        return NULL;
}

static void rest(struct sim *sim)
{
        const uint64_t until_us = sim->now_us + REST_US;
        const char *why = NULL;
        sim->is_ending = true;
        sim->disk.faults = (struct sim_disk_faults){.write_error = SCN_OK};
        for (uint32_t i = 0; i < sim->climate.authors_count; i++) {
                sim->authors[i].offline_until_us = 0;
        }
        for (struct sim_link *link = sim->links; link != NULL; link = link->next) {
                link->up.stalled_until_us = 0;
                link->down.stalled_until_us = 0;
        }
        do {
                if (sim->now_us > until_us) {
                        sim_fail(sim, "it never comes to rest: %s", why);
                }
                step(sim);
                why = why_not_quiet(sim);
        } while (why != NULL);
}

/* --- The end --- */

/* All have gone, so the rooms have closed: what the server still holds is what it began with. */
static void verify_memory(struct sim *sim)
{
        for (uint32_t i = 0; i < sim->climate.authors_count; i++) {
                sim_author_end(&sim->authors[i]);
        }
        for (struct sim_link *link = sim->links; link != NULL; link = link->next) {
                if (link->session != NULL) {
                        scn_session_destroy(link->session);
                        link->session = NULL;
                }
        }
        const uint64_t until_us = sim->now_us + 70 * (uint64_t)SIM_S;
        while (sim->now_us < until_us) {
                step(sim);
        }
        if (sim_host_has_rooms(sim)) {
                sim_fail(sim, "a room does not close");
        }
        const uint64_t before = scn_alloc_stats().live_count;
        scn_server_stop(sim->server);
        scn_server_destroy(sim->server);
        sim->server = NULL;
        const uint64_t blocks = before - scn_alloc_stats().live_count;
        if (blocks != sim->server_blocks) {
                sim_fail(sim, "a server without rooms and sessions has %" PRIu64 " blocks of memory, not %" PRIu64,
                        blocks, sim->server_blocks);
        }
}

/* Opened anew, the documents are what they were. */
static void verify_reopened(struct sim *sim, const struct scn_digest *digests)
{
        sim_host_start(sim);
        for (uint32_t i = 0; i < sim->climate.authors_count; i++) {
                struct sim_author *author = &sim->authors[i];
                sim_author_begin(author);
        }
        rest(sim);
        for (uint32_t i = 0; i < sim->climate.documents_count; i++) {
                static const struct scn_uid none = {{0}};
                const struct scn_digest digest =
                        sim_host_has_room(sim, i) ? sim_host_digest(sim, i, none, SCN_MASK_ALL) : digests[i];
                if (digest.low != digests[i].low || digest.high != digests[i].high) {
                        sim_fail(sim, "document %u, opened anew, is another one", i);
                }
        }
        sim_verify_replicas(sim);
        rest(sim);
}

static void finish(struct sim *sim)
{
        sim_claims_free(sim);
        while (sim->wishes != NULL) {
                struct sim_wish *next = sim->wishes->next;
                scn_free(sim->wishes);
                sim->wishes = next;
        }
        for (uint32_t i = 0; i < SIM_DOCUMENTS_MAX; i++) {
                if (sim->backups[i] != NULL) {
                        sim_document_destroy(sim->backups[i]);
                }
                scn_free(sim->uids[i].uids);
        }
        for (struct sim_link *link = sim->links; link != NULL; link = link->next) {
                link->events_count = 0;
        }
        sim_links_sweep(sim);
        SCN_ASSERT(sim->links == NULL);
        scn_free(sim->events);
        sim_disk_unmount(&sim->disk);
}

struct sim_result sim_run(uint64_t seed, bool is_traced)
{
        const uint64_t before = scn_alloc_stats().live_count;
        struct scn_digest digests[SIM_DOCUMENTS_MAX] = {{0, 0}};
        static const struct scn_uid none = {{0}};
        struct sim sim = {.seed = seed, .is_traced = is_traced, .random = scn_random_from_seed(seed)};
        begin(&sim);
        while (!sim.is_ending) {
                step(&sim);
        }
        rest(&sim);
        sim_inside_check(&sim, true);
        sim_live_verify(&sim);
        sim_verify_replicas(&sim);
        sim_live_act_last(&sim);
        rest(&sim);
        sim_inside_check(&sim, true);
        sim_live_verify(&sim);
        sim_live_verify_last(&sim);
        for (uint32_t i = 0; i < sim.climate.documents_count; i++) {
                sim_host_check(&sim, i);
                digests[i] = sim_host_has_room(&sim, i) ? sim_host_digest(&sim, i, none, SCN_MASK_ALL) : digests[i];
        }
        verify_memory(&sim);
        sim_verify_journal(&sim);
        verify_reopened(&sim, digests);
        verify_memory(&sim);
        finish(&sim);
        const uint64_t after = scn_alloc_stats().live_count;
        if (after != before) {
                sim_fail(&sim, "%" PRIu64 " blocks of memory are left", after - before);
        }
        return (struct sim_result){sim.hash, sim.events_ever, sim.wishes_count, sim.acked_count};
}
