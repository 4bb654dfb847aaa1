/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What befalls all of them, as a table. */

#include "protocol/base/uid.h"
#include "tests/sim/sim.h"

static struct sim_link *any_link(struct sim *sim)
{
        struct sim_link *link = sim->links;
        uint32_t count = 0;
        for (; link != NULL; link = link->next) {
                count++;
        }
        uint32_t at = count == 0 ? 0 : sim_below(sim, count);
        for (link = sim->links; at > 0; at--) {
                link = link->next;
        }
        return link;
}

static void cut(struct sim *sim)
{
        struct sim_link *link = any_link(sim);
        if (link != NULL) {
                sim_link_cut(link);
        }
}

/* Mostly a hiccup; sometimes for longer than anybody waits. */
static void stall(struct sim *sim)
{
        struct sim_link *link = any_link(sim);
        if (link != NULL) {
                struct sim_pipe *pipe = sim_chance(sim, 75) ? &link->down : &link->up;
                const uint32_t most_s = sim_chance(sim, 85) ? 3 : 50;
                pipe->stalled_until_us = sim->now_us + sim_below(sim, most_s * SIM_S);
                sim_note(sim, "stall", pipe == &link->down, 0, 0);
        }
}

/* The peer is there no more, but nobody hears of it. */
static void fall_silent(struct sim *sim)
{
        struct sim_link *link = any_link(sim);
        if (link != NULL && link->session != NULL) {
                link->up.stalled_until_us = sim->now_us + 35 * (uint64_t)SIM_S + sim_below(sim, 30 * SIM_S);
                sim_note(sim, "silent", link->owner->index, 0, 0);
        }
}

static void crash(struct sim *sim)
{
        if (sim->climate.has_crashes) {
                sim_host_crash(sim);
        }
}

static void stop(struct sim *sim)
{
        if (sim->climate.has_crashes) {
                sim_host_stop(sim);
        }
}

static void back_up(struct sim *sim)
{
        const uint32_t which = sim_below(sim, sim->climate.documents_count);
        const struct sim_document *document = sim_host_document(sim, which);
        /* What is about to be written over is not brought back: numbers that were used in it are used again. */
        if (sim->climate.has_backups && document != NULL && document->next_contents == NULL) {
                if (sim->backups[which] != NULL) {
                        sim_document_destroy(sim->backups[which]);
                }
                sim->backups[which] = sim_document_copy(document);
                sim_note(sim, "back up", which, document->transactions_count, 0);
        }
}

static void lose(struct sim *sim, uint32_t document, const struct scn_journal_transaction *transaction)
{
        for (struct sim_wish *wish = sim->wishes; wish != NULL; wish = wish->next) {
                if (!wish->is_request && wish->document == document && wish->number == transaction->number &&
                        scn_uid_equal(wish->author->uid, transaction->client)) {
                        wish->was_lost = true;
                }
        }
}

static uint32_t which_document(const struct sim *sim, const struct sim_document *document)
{
        uint32_t which = 0;
        while (which < sim->climate.documents_count && sim_host_document(sim, which) != document) {
                which++;
        }
        return which;
}

/* Whatever the one has and the other has not is lost. */
void sim_replace(void *data, const struct sim_document *now, const struct sim_document *old)
{
        struct sim *sim = data;
        const uint32_t which = which_document(sim, now);
        for (size_t i = 0; now != NULL && i < now->transactions_count; i++) {
                if (i >= old->transactions_count || old->transactions[i] != now->transactions[i]) {
                        lose(sim, which, &now->transactions[i]->transaction);
                }
        }
        sim_note(sim, "replaced", which, old->transactions_count, 0);
        sim->history++;
        sim_claims_lose(sim); /* the room has closed */
}

/* An older state, while the server is down. */
void sim_put_back(struct sim *sim, uint32_t which)
{
        sim_disk_put_back(&sim->disk, sim->backups[which]);
        sim->backups[which] = NULL;
}

static void put_back(struct sim *sim)
{
        const uint32_t which = sim_below(sim, sim->climate.documents_count);
        if (sim->climate.has_backups && sim->backups[which] != NULL && sim->server != NULL && !sim->is_stopping) {
                sim_host_crash(sim);
                sim_put_back(sim, which);
        }
}

/* An older state, while the server has it open. */
static void write_over(struct sim *sim)
{
        const uint32_t which = sim_below(sim, sim->climate.documents_count);
        const struct sim_document *document = sim_host_document(sim, which);
        if (sim->backups[which] != NULL && document != NULL && document->next_contents == NULL) {
                sim_note(sim, "write over", which, 0, 0);
                if (sim_disk_write_over(&sim->disk, sim->backups[which])) {
                        sim->backups[which] = NULL;
                }
        }
}

static void spoil_disk(struct sim *sim)
{
        static const enum scn_error errors[] = {SCN_E_STORAGE_FULL, SCN_E_STORAGE_FAILED, SCN_E_STORAGE_BUSY};
        if (!sim->climate.has_bad_disk) {
                return;
        }
        const bool is_unknown = sim_chance(sim, 30);
        sim->disk.faults = (struct sim_disk_faults){
                .write_error = errors[sim_below(sim, 3)],
                .write_percent = is_unknown ? 0 : 20 + sim_below(sim, 81),
                .unknown_percent = is_unknown ? 10 + sim_below(sim, 60) : 0,
                .read_percent = sim_chance(sim, 20) ? sim_below(sim, 50) : 0,
        };
        sim_note(sim, "bad disk", is_unknown, sim->disk.faults.write_percent, sim->disk.faults.read_percent);
        sim_schedule(sim, 1 + sim_below(sim, 2 * SIM_S), SIM_EVENT_DISK_WELL, NULL, 0);
}

/* Long enough for the rooms to close. */
static void empty_house(struct sim *sim)
{
        sim_note(sim, "empty house", 0, 0, 0);
        for (uint32_t i = 0; i < sim->climate.authors_count; i++) {
                struct sim_author *author = &sim->authors[i];
                author->offline_until_us = sim->now_us + 60 * (uint64_t)SIM_S + sim_below(sim, 9 * SIM_S);
                if (author->link != NULL) {
                        sim_link_cut(author->link);
                }
        }
}

static const struct weather_row {
        uint32_t weight;
        void (*fall)(struct sim *sim);
} weather_rows[] = {
        {28, cut},
        {4, fall_silent},
        {25, stall},
        {9, crash},
        {6, stop},
        {7, back_up},
        {5, put_back},
        {3, write_over},
        {12, spoil_disk},
        {1, empty_house},
};

void sim_weather(struct sim *sim)
{
        if (sim->is_ending) {
                return;
        }
        sim_schedule(sim, 1 + sim_below(sim, 2 * sim->climate.weather_us), SIM_EVENT_WEATHER, NULL, 0);
        uint32_t at = sim_below(sim, 100);
        const struct weather_row *row = weather_rows;
        while (at >= row->weight) {
                at -= row->weight;
                row++;
        }
        row->fall(sim);
}
