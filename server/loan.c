/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* A room is lent to a worker for what takes long (DESIGN §4). */

#include "protocol/base/assert.h"
#include "server/core.h"

static void run_loan(struct scn_job *job)
{
        struct scn_loan *loan = (struct scn_loan *)job;
        loan->work(loan);
}

/* Those whose connection has closed meanwhile. */
static void let_leave(struct scn_room *room)
{
        struct scn_session *next = NULL;
        for (struct scn_session *session = room->sessions; session != NULL; session = next) {
                next = session->next_in_room;
                if (session->is_leaving) {
                        scn_session_destroy(session);
                }
        }
}

/* What waits in other rooms because as many were lent as may be. Where that was longest ago comes first. */
static void serve_others(struct scn_server *server)
{
        struct scn_room *next = NULL;
        for (struct scn_room *room = server->rooms; room != NULL; room = next) {
                next = room->next;
                if (room->must_stay) {
                        continue;
                }
                for (struct scn_session *session = room->sessions; session != NULL; session = session->next_in_room) {
                        scn_session_pump(session);
                }
                scn_room_turn(room);
        }
}

static void done_loan(struct scn_job *job)
{
        struct scn_loan *loan = (struct scn_loan *)job;
        struct scn_room *room = loan->room;
        struct scn_server *server = room->server;
        const bool was_full = server->loans_count >= SCN_LOANS_MAX;
        room->loan = NULL;
        room->jobs_count--;
        server->loans_count--;
        loan->back(loan);
        let_leave(room);
        /* First all that is short, then other rooms, then edits, then what is long again: none keeps the others from
         * their turn. */
        room->must_stay = true;
        scn_room_go_on(room);
        if (was_full) {
                serve_others(server);
        }
        room->must_stay = false;
        scn_room_turn(room);
        scn_room_go_on(room);
        scn_room_tick(room);
}

static void put_last(struct scn_room *room)
{
        struct scn_room **at = &room->server->rooms;
        while (*at != room) {
                at = &(*at)->next;
        }
        *at = room->next;
        while (*at != NULL) {
                at = &(*at)->next;
        }
        *at = room;
        room->next = NULL;
}

bool scn_room_can_lend(const struct scn_room *room)
{
        return room->loan == NULL && !room->must_stay && room->server->loans_count < SCN_LOANS_MAX;
}

void scn_room_lend(struct scn_room *room, struct scn_loan *loan)
{
        const struct scn_server_options *options = &room->server->options;
        SCN_ASSERT(room->loan == NULL);
        loan->job = (struct scn_job){.run = run_loan, .done = done_loan};
        loan->room = room;
        put_last(room);
        room->loan = loan;
        room->jobs_count++;
        room->server->loans_count++;
        options->submit(options->data, &loan->job);
}
