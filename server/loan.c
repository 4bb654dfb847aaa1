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

static void done_loan(struct scn_job *job)
{
        struct scn_loan *loan = (struct scn_loan *)job;
        struct scn_room *room = loan->room;
        struct scn_server *server = room->server;
        room->loan = NULL;
        room->jobs_count--;
        server->loans_count--;
        loan->back(loan);
        let_leave(room);
        /* First all that is short, then edits, then what is long again: none keeps the others from their turn. */
        room->must_stay = true;
        scn_room_go_on(room);
        room->must_stay = false;
        scn_room_turn(room);
        scn_room_go_on(room);
        scn_room_tick(room);
        scn_server_pump(server); /* somebody in another room may have waited for a loan to end */
}

bool scn_room_can_lend(const struct scn_room *room)
{
        return room->loan == NULL && !room->must_stay && room->server->loans_count < SCN_LOANS_MAX;
}

void scn_room_lend(struct scn_room *room, struct scn_loan *loan)
{
        const struct scn_server_options *options = &room->server->options;
        SCN_ASSERT(scn_room_can_lend(room));
        loan->job = (struct scn_job){.run = run_loan, .done = done_loan};
        loan->room = room;
        room->loan = loan;
        room->jobs_count++;
        room->server->loans_count++;
        options->submit(options->data, &loan->job);
}
