/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The server's host: time, randomness, workers, and how a server begins and ends. */

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "server/core.h"
#include "tests/sim/sim.h"

#include <string.h>

/* --- What the core asks for --- */

static uint64_t utc_us(void *data)
{
        return UINT64_C(1700000000000000) + ((const struct sim *)data)->now_us;
}

static uint64_t monotonic_ms(void *data)
{
        return ((const struct sim *)data)->now_us / SIM_MS;
}

static void fill_random(void *data, uint8_t *bytes, size_t size)
{
        struct sim *sim = data;
        for (size_t i = 0; i < size; i++) {
                bytes[i] = (uint8_t)scn_random_next(&sim->random);
        }
}

static void submit(void *data, struct scn_job *job)
{
        struct sim *sim = data;
        uint64_t slot = 0;
        while (slot < SIM_JOBS_MAX && sim->jobs[slot].job != NULL) {
                slot++;
        }
        SCN_ASSERT(slot < SIM_JOBS_MAX);
        sim->jobs[slot] = (struct sim_job){.job = job, .number = ++sim->jobs_ever};
        sim_schedule(sim, sim_below(sim, sim->climate.job_us), SIM_EVENT_JOB, NULL, sim->jobs_ever);
}

static void wake(void *data, struct scn_session *session, void *transport)
{
        (void)data;
        (void)session;
        sim_link_wake(transport);
}

static void log_text(void *data, enum scn_log_level level, const char *text)
{
        struct sim *sim = data;
        sim_note(sim, text, 0, level, 0);
}

static struct sim_job *find_job(struct sim *sim, uint64_t number)
{
        for (size_t i = 0; i < SIM_JOBS_MAX; i++) {
                if (sim->jobs[i].job != NULL && sim->jobs[i].number == number) {
                        return &sim->jobs[i];
                }
        }
        return NULL;
}

static bool is_running(void *data, uint64_t number)
{
        return find_job(data, number) != NULL;
}

static void on_broken(void *data, const char *what)
{
        sim_fail(data, "%s", what);
}

/* --- Work --- */

/* One moment for the work, a later one for the loop to hear of it. */
void sim_host_job(struct sim *sim, uint64_t number)
{
        struct sim_job *job = find_job(sim, number);
        if (job == NULL) {
                return; /* gone with its server */
        }
        struct scn_job *work = job->job;
        if (!job->has_run) {
                job->has_run = true;
                sim->disk.job = job->number;
                work->run(work);
                sim->disk.job = 0;
                sim_note(sim, "job", job->number, 0, 0);
                sim_schedule(sim, sim_below(sim, sim->climate.job_us), SIM_EVENT_JOB, NULL, number);
                return;
        }
        sim_note(sim, "done", job->number, 0, 0);
        job->job = NULL;
        work->done(work);
        sim_host_turn_soon(sim);
}

void sim_host_turn_soon(struct sim *sim)
{
        if (!sim->has_turn && sim->server != NULL) {
                sim->has_turn = true;
                sim_schedule(sim, sim_chance(sim, 70) ? 0 : sim_below(sim, 4 * SIM_MS), SIM_EVENT_TURN, NULL, 0);
        }
}

/* What is due by time alone gets a turn of its own, as a timer would give it. */
static void wait_for_due(struct sim *sim)
{
        const uint64_t due_us = sim_inside_due_us(sim);
        if (due_us < sim->now_us + SIM_S && (sim->due_us <= sim->now_us || due_us < sim->due_us)) {
                sim->due_us = due_us > sim->now_us ? due_us : sim->now_us + 1;
                sim_schedule(sim, sim->due_us - sim->now_us, SIM_EVENT_TURN, NULL, 0);
        }
}

void sim_host_turn(struct sim *sim)
{
        sim->has_turn = false;
        if (sim->server == NULL) {
                return;
        }
        scn_server_turn(sim->server);
        for (struct sim_link *link = sim->links; link != NULL; link = link->next) {
                if (link->session != NULL && scn_session_has_ended(link->session)) {
                        sim_claim_let_go(link, false);
                }
        }
        wait_for_due(sim);
}

bool sim_host_is_idle(const struct sim *sim)
{
        for (size_t i = 0; i < SIM_JOBS_MAX; i++) {
                if (sim->jobs[i].job != NULL) {
                        return false;
                }
        }
        if (sim->server == NULL || sim->is_stopping || sim->has_turn) {
                return false;
        }
        /* A view with a rate is told later. */
        const struct scn_session *session = sim->server->sessions;
        while (session != NULL && !session->is_behind) {
                session = session->next;
        }
        return session == NULL && sim_inside_is_told(sim);
}

/* --- Life and death --- */

void sim_host_start(struct sim *sim)
{
        if (sim->server != NULL) {
                return;
        }
        const uint64_t before = scn_alloc_stats().live_count;
        struct scn_limits limits = SCN_LIMITS_DEFAULT;
        limits.past_min = sim->climate.past_min;
        const struct scn_server_options options = {
                .data_path = "sim",
                .agent = "sim",
                .limits = limits,
                .fold_age_s = sim->seed % 2 == 0 ? 0 : 1 + sim->seed % 3,
                .keep_age_s = sim->seed % 8 == 3 ? 3 : 0,
                .utc_us = utc_us,
                .monotonic_ms = monotonic_ms,
                .random = fill_random,
                .submit = submit,
                .wake = wake,
                .log = log_text,
                .data = sim,
        };
        char problem[SCN_PROBLEM_BYTES] = "";
        sim->disk.is_running = is_running;
        sim->disk.on_broken = on_broken;
        sim->disk.on_replace = sim_replace;
        sim->disk.data = sim;
        sim->disk.random = &sim->random;
        if (scn_server_create(&options, &sim->server, problem) != SCN_OK) {
                sim_fail(sim, "the server does not begin: %s", problem);
        }
        sim->due_us = 0;
        sim->server_blocks = scn_alloc_stats().live_count - before;
        sim->is_stopping = false;
        sim_note(sim, "start", 0, 0, 0);
}

static void destroy_server(struct sim *sim)
{
        sim_claims_lose(sim);
        scn_server_destroy(sim->server);
        sim->server = NULL;
        sim->is_stopping = false;
        sim_note(sim, "stopped", 0, 0, 0);
}

void sim_host_stop(struct sim *sim)
{
        if (sim->server == NULL || sim->is_stopping) {
                return;
        }
        sim_note(sim, "stop", 0, 0, 0);
        sim->is_stopping = true;
        sim_claims_lose(sim);
        sim->stop_until_us = sim->now_us + 2 * SIM_S;
        scn_server_stop(sim->server);
}

void sim_host_tick(struct sim *sim)
{
        if (sim->server == NULL) {
                return;
        }
        scn_server_tick(sim->server);
        sim_inside_check_silence(sim);
        sim_inside_check(sim, false);
        sim_host_turn_soon(sim);
        if (!sim->is_stopping) {
                return;
        }
        if (sim->now_us >= sim->stop_until_us) {
                for (struct sim_link *link = sim->links; link != NULL; link = link->next) {
                        sim_link_lose_server(link);
                }
        }
        if (scn_server_is_stopped(sim->server) && sim->server->sessions == NULL) {
                destroy_server(sim);
                sim_schedule(sim, sim_below(sim, 2 * SIM_S), SIM_EVENT_START, NULL, 0);
        }
}

/* What the disk has been told before is on it, what was just being told by coin. What else the process had is
 * brought to an end cut off from the world, to see that no memory is lost. */
void sim_host_crash(struct sim *sim)
{
        if (sim->server == NULL) {
                return;
        }
        sim_note(sim, "crash", 0, 0, 0);
        sim_claims_lose(sim);
        for (size_t i = 0; i < SIM_JOBS_MAX; i++) {
                struct sim_job *job = &sim->jobs[i];
                if (job->job != NULL && !job->has_run && sim_chance(sim, 50)) {
                        job->has_run = true;
                        sim->disk.job = job->number;
                        job->job->run(job->job);
                        sim->disk.job = 0;
                }
        }
        sim_disk_detach(&sim->disk);
        for (struct sim_link *link = sim->links; link != NULL; link = link->next) {
                sim_link_lose_server(link);
        }
        scn_server_stop(sim->server);
        for (uint32_t rounds = 0; !scn_server_is_stopped(sim->server); rounds++) {
                SCN_ASSERT(rounds < 1000);
                for (size_t i = 0; i < SIM_JOBS_MAX; i++) {
                        struct scn_job *work = sim->jobs[i].job;
                        if (work != NULL) {
                                if (!sim->jobs[i].has_run) {
                                        work->run(work);
                                }
                                sim->jobs[i].job = NULL;
                                work->done(work);
                        }
                }
                scn_server_tick(sim->server);
        }
        destroy_server(sim);
        sim_schedule(sim, sim_below(sim, 3 * SIM_S), SIM_EVENT_START, NULL, 0);
}

/* --- Looking inside --- */

struct scn_slice sim_document_name(uint32_t document)
{
        static const uint8_t names[] = "d0d1";
        return (struct scn_slice){names + 2 * (size_t)document, 2};
}

static struct scn_room *find_room(const struct sim *sim, uint32_t document)
{
        struct scn_room *room =
                sim->server == NULL ? NULL : scn_server_find_room(sim->server, sim_document_name(document));
        return room == NULL || room->state != SCN_ROOM_OPEN ? NULL : room;
}

bool sim_host_has_rooms(const struct sim *sim)
{
        return sim->server != NULL && sim->server->rooms != NULL;
}

bool sim_host_has_room(const struct sim *sim, uint32_t document)
{
        return find_room(sim, document) != NULL;
}

bool sim_host_is_settled(const struct sim *sim, uint32_t document, scn_revision *durable_out)
{
        const struct scn_room *room = find_room(sim, document);
        *durable_out = room == NULL ? 0 : room->durable;
        return room != NULL && scn_room_is_settled(room);
}

struct scn_digest sim_host_digest(const struct sim *sim, uint32_t which, struct scn_uid root, uint32_t mask)
{
        const struct scn_room *room = find_room(sim, which);
        SCN_ASSERT(room != NULL);
        const struct scn_document *document = room->document;
        const scn_node_id id =
                scn_uid_is_none(root) ? scn_document_root(document) : scn_document_find_uid(document, root);
        if (id == 0) {
                return (struct scn_digest){0, 0};
        }
        const struct scn_digests digests = scn_document_subtree_digests(document, id, mask);
        return scn_digests_combine(&digests, mask);
}

void sim_host_check(const struct sim *sim, uint32_t document)
{
        const struct scn_room *room = find_room(sim, document);
        if (room != NULL) {
                scn_document_check(room->document);
        }
}

struct sim_document *sim_host_document(const struct sim *sim, uint32_t document)
{
        return sim_disk_find(&sim->disk, SIM_DOCUMENTS, sim_document_name(document));
}
