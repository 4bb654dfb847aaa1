/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What views lack and is long to encode: a worker makes it, to which the room is lent. */

#include "protocol/base/alloc.h"
#include "server/core.h"

struct view_loan {
        struct scn_loan loan;
        struct scn_view_group *group; /* stays while the room is lent */
        struct scn_delta_request request;
        struct scn_encoding made;
        enum scn_error error;
};

static void work_view(struct scn_loan *loan)
{
        struct view_loan *lent = (struct view_loan *)loan;
        lent->error = scn_encoding_make(loan->room->document, &lent->request, &lent->made);
}

/* What was made, or why it could not be. Where the horizon has passed the cursor, the whole is asked for. */
static void take_made(struct view_loan *lent)
{
        struct scn_view_group *group = lent->group;
        const bool is_over = lent->error != SCN_OK && lent->error != SCN_E_BEFORE_HORIZON;
        for (struct scn_view *view = group->views; view != NULL && is_over; view = view->next_in_group) {
                if (view->session->is_behind) {
                        scn_session_end(view->session, lent->error, NULL);
                }
        }
        struct scn_encoding *place = lent->request.is_fresh ? &group->snapshot : &group->ready;
        scn_encoding_finish(place);
        *place = lent->made;
        if (lent->request.is_fresh) {
                group->is_whole_long = false;
        } else {
                group->long_from = 0;
        }
        if (lent->request.is_fresh && lent->error == SCN_OK) {
                group->whole_bytes = lent->made.bytes;
                group->snapshot_used_ms = scn_server_now_ms(group->room->server);
        }
}

/* What was made is for the revision that there is now: views that wait get it before there is another one. */
static void back_view(struct scn_loan *loan)
{
        struct view_loan *lent = (struct view_loan *)loan;
        take_made(lent);
        scn_view_catch_up_all(loan->room);
        scn_encoding_finish(&lent->group->ready);
        scn_free(lent);
}

/* Who could not take it now will ask again when it can. */
static bool can_take(const struct scn_view *view)
{
        return view->session->state == SCN_SESSION_OPEN && scn_session_is_drained(view->session) &&
                (view->interval_ms == 0 || scn_server_now_ms(view->session->server) >= view->next_ms);
}

/* Who has waited for the longest; NULL: nobody waits. */
static struct scn_view *find_waiting(const struct scn_room *room)
{
        struct scn_view *first = NULL;
        for (const struct scn_view_group *group = room->groups; group != NULL; group = group->next) {
                for (struct scn_view *view = group->views; view != NULL; view = view->next_in_group) {
                        view->waiting_since = can_take(view) ? view->waiting_since : 0;
                        if (view->waiting_since != 0 && (first == NULL || view->waiting_since < first->waiting_since)) {
                                first = view;
                        }
                }
        }
        return first;
}

/* Those who wait for the same need wait no longer than for this. */
static void note_answered(const struct scn_view_group *group, const struct scn_delta_request *request)
{
        for (struct scn_view *view = group->views; view != NULL; view = view->next_in_group) {
                if (view->waits_for_whole == request->is_fresh &&
                        (request->is_fresh || view->cursor == request->from)) {
                        view->waiting_since = 0;
                }
        }
}

bool scn_view_lend(struct scn_room *room)
{
        if (!scn_room_can_lend(room)) {
                return false;
        }
        const struct scn_view *view = find_waiting(room);
        struct view_loan *lent = view != NULL ? scn_alloc_zero(1, sizeof *lent) : NULL;
        room->wants_encoding = view != NULL;
        if (lent == NULL) {
                return false;
        }
        lent->loan = (struct scn_loan){.work = work_view, .back = back_view};
        lent->group = view->group;
        lent->request = scn_view_request(view->group, view->waits_for_whole, view->cursor);
        note_answered(lent->group, &lent->request);
        scn_room_lend(room, &lent->loan);
        return true;
}
