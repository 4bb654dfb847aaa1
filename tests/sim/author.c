/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Authors: a client each, its connections, and what it is told. */

#include "client/client.h"
#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/base/uid.h"
#include "tests/sim/sim.h"

#include <stdio.h>
#include <string.h>

static uint64_t now_ms(const struct sim_author *author)
{
        return author->sim->now_us / SIM_MS;
}

/* What a client may end of. */
static const char *const final_codes[] = {"cancelled", "kicked", "taken_over", NULL};

static bool is_one_of(const char *code, const char *const *codes)
{
        while (*codes != NULL && strcmp(*codes, code) != 0) {
                codes++;
        }
        return *codes != NULL;
}

/* --- Wishes --- */

struct sim_wish *sim_wish_create(struct sim_author *author)
{
        struct sim *sim = author->sim;
        struct sim_wish *wish = scn_alloc_zero(1, sizeof *wish);
        SCN_ASSERT(wish != NULL);
        wish->sim = sim;
        wish->author = author;
        wish->document = author->document;
        wish->next = sim->wishes;
        sim->wishes = wish;
        return wish;
}

/* A view may still be owed a word of how far it is when its edit has been answered. */
static void cut_after_answer(struct sim_author *author)
{
        struct sim *sim = author->sim;
        if (author->link != NULL && sim_chance(sim, 1)) {
                sim_link_cut(author->link);
                author->link->down.left = 0;
        }
}

void sim_on_result(struct scn_client *client, const struct scn_result *result, void *data)
{
        struct sim_wish *wish = data;
        static const char *const folded[] = {"folded", NULL};
        static const char *const of_old[] = {"before_retention", NULL};
        struct sim *sim = wish->sim;
        (void)client;
        if (++wish->answers > 1) {
                sim_fail(sim, "edit %u is told of twice", wish->marker);
        }
        wish->rev = result->rev;
        if (result->failure == NULL) {
                wish->state = result->is_unchanged ? SIM_WISH_UNCHANGED : SIM_WISH_ACKED;
                sim->acked_count++;
                cut_after_answer(wish->author);
        } else if (is_one_of(result->failure->code, folded) && wish->marker != 0) { /* of a restore: what it names */
                wish->state = SIM_WISH_FOLDED;
                sim_note(sim, result->failure->code, wish->author->index, wish->marker, 0);
        } else if (is_one_of(result->failure->code, of_old)) {
                wish->state = SIM_WISH_CANCELLED; /* it may be stored, and may not */
        } else if (is_one_of(result->failure->code, final_codes)) {
                wish->state = SIM_WISH_CANCELLED; /* that was the client's end, and says nothing of the edit */
        } else {
                wish->state = SIM_WISH_REFUSED;
                sim_note(sim, result->failure->code, wish->author->index, wish->marker, 0);
        }
        sim_note(sim, "result", wish->author->index, wish->marker, wish->rev);
}

void sim_on_answer(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct sim_wish *wish = data;
        struct sim *sim = wish->sim;
        (void)client;
        if (answer->has_more) {
                return;
        }
        if (++wish->answers > 1) {
                sim_fail(sim, "a request is answered twice");
        }
        sim->requests_due--;
        wish->state = answer->failure == NULL ? SIM_WISH_ACKED : SIM_WISH_REFUSED;
        uint8_t digest[16];
        sim_past_hear_digest(wish, answer);
        if (wish->must_match &&
                (answer->failure != NULL || !scn_answer_digest(answer, digest) ||
                        memcmp(digest, wish->expected, sizeof digest) != 0)) {
                sim_fail(sim, "the digest asked for is %s",
                        answer->failure == NULL ? "not the replica's" : answer->failure->code);
        }
}

void sim_author_learn_numbers(struct sim_author *author)
{
        const struct scn_task *task;
        TAILQ_FOREACH(task, &author->client->tasks, link)
        {
                if (task->kind != SCN_TASK_REQUEST && task->number != 0 && task->data != NULL) {
                        struct sim_wish *wish = task->data;
                        if (wish->number != 0 && wish->number != task->number) {
                                sim_fail(author->sim, "edit %u is sent under two numbers", wish->marker);
                        }
                        wish->number = task->number;
                }
        }
}

/* --- What it is told --- */

static void on_state(
        struct scn_client *client, enum scn_client_state state, const struct scn_failure *failure, void *data)
{
        static const char *const passing[] = {"disconnected", "timeout", "stopping", "silent", "storage_full",
                "storage_failed", "storage_busy", "outcome_unknown", "busy", NULL};
        struct sim_author *author = data;
        const char *code = failure == NULL ? "" : failure->code;
        (void)client;
        sim_note(author->sim, code, author->index, (uint64_t)state, 0);
        if (state == SCN_CLIENT_OFFLINE && failure != NULL && !is_one_of(code, passing)) {
                sim_fail(author->sim, "author %u lost its connection: %s, %s", author->index, code, failure->text);
        }
        if (state == SCN_CLIENT_ENDED) {
                if (!is_one_of(code, final_codes)) {
                        sim_fail(author->sim, "author %u was ended: %s, %s", author->index, code,
                                failure == NULL ? "" : failure->text);
                }
                author->must_leave = true;
        }
}

static void on_change(struct scn_view *view, const struct scn_view_event *event, void *data)
{
        struct sim_view *mine = data;
        struct sim *sim = mine->author->sim;
        if (mine->is_ended) {
                sim_fail(sim, "a view is told something after its end");
        }
        if (event->kind == SCN_VIEW_DELTA && !mine->is_replay) {
                mine->to = scn_view_revision(view);
                sim_note(sim, "delta", mine->author->index, event->from, event->to);
                sim_verify_view(mine, sim_chance(sim, 4));
        }
}

static void on_end(struct scn_view *view, const struct scn_failure *failure, void *data)
{
        static const char *const usual[] = {"gone", "no_node", "cancelled", "kicked", "taken_over", NULL};
        static const char *const of_replay[] = {"disconnected", "storage_failed", "storage_busy", "future", "folded",
                "before_retention", "gone", "no_node", "cancelled", "kicked", "taken_over", NULL};
        struct sim_view *mine = data;
        (void)view;
        if (mine->is_ended) {
                sim_fail(mine->author->sim, "a view ends twice");
        }
        mine->is_ended = true;
        (void)snprintf(mine->code, sizeof mine->code, "%s", failure == NULL ? "" : failure->code);
        sim_note(mine->author->sim, "view ended", mine->author->index, 0, 0);
        if (mine->is_replay ? failure != NULL && !is_one_of(mine->code, of_replay) : !is_one_of(mine->code, usual)) {
                sim_fail(mine->author->sim, "a %s ends: %s", mine->is_replay ? "replay" : "view", mine->code);
        }
}

/* --- Views --- */

static struct sim_view *free_slot(struct sim_author *author)
{
        for (size_t i = 0; i < SIM_VIEWS_MAX; i++) {
                if (author->views[i].view == NULL) {
                        return &author->views[i];
                }
        }
        return NULL;
}

/* Some of the durable channels and some of the volatile ones. */
uint32_t sim_author_any_mask(struct sim_author *author)
{
        return 1 + sim_below(author->sim, 15) + (sim_below(author->sim, 8) << SCN_CHANNEL_PRESENCE);
}

void sim_author_open_view(struct sim_author *author, struct scn_uid root, uint32_t mask)
{
        struct sim_view *mine = free_slot(author);
        if (mine == NULL) {
                return;
        }
        *mine = (struct sim_view){.author = author, .root = root, .mask = mask};
        struct scn_view_options options = SCN_VIEW_OPTIONS_INIT;
        options.root.uid = root;
        options.mask = mask;
        options.rate = sim_chance(author->sim, 15) ? 1 + sim_below(author->sim, 20) : 0;
        options.on_change = on_change;
        options.on_end = on_end;
        options.data = mine;
        const enum scn_error error = scn_view_create(author->client, &options, &mine->view);
        SCN_ASSERT(error == SCN_OK);
        sim_note(author->sim, "open view", author->index, mask, scn_uid_is_none(root));
}

void sim_author_open_replay(struct sim_author *author, scn_revision from, scn_revision to, struct scn_uid root)
{
        struct sim_view *mine = free_slot(author);
        if (mine == NULL) {
                return;
        }
        *mine = (struct sim_view){.author = author, .root = root, .mask = SCN_MASK_ALL, .is_replay = true};
        struct scn_replay_options options = SCN_REPLAY_OPTIONS_INIT;
        options.from = from;
        options.to = to;
        options.root.uid = root;
        options.on_change = on_change;
        options.on_end = on_end;
        options.data = mine;
        const enum scn_error error = scn_replay_create(author->client, &options, &mine->view);
        SCN_ASSERT(error == SCN_OK);
        sim_note(author->sim, "replay", author->index, from, to);
}

void sim_author_ask_again(struct sim_view *view)
{
        sim_note(view->author->sim, "ask again", view->author->index, view->view->number, 0);
        view->view->has_epoch = false;
        view->view->is_wanted = true;
        view->view->is_asked = false;
        scn_mirror_forget_parts(&view->view->mirror);
}

void sim_author_end_view(struct sim_view *view)
{
        sim_note(view->author->sim, "end view", view->author->index, 0, 0);
        scn_view_destroy(view->view);
        view->view = NULL;
}

/* --- Life --- */

static void fill_random(void *data, uint8_t *bytes, size_t size)
{
        struct sim_author *author = data;
        for (size_t i = 0; i < size; i++) {
                bytes[i] = (uint8_t)scn_random_next(&author->sim->random);
        }
}

static void begin_client(struct sim_author *author)
{
        struct scn_client_options options = SCN_CLIENT_OPTIONS_INIT;
        char document[8];
        const struct scn_slice name = sim_document_name(author->document);
        (void)snprintf(document, sizeof document, "%.*s", (int)name.size, (const char *)name.data);
        options.document = document;
        options.create = true;
        options.author = author->name;
        options.uid = author->uid;
        options.random = fill_random;
        options.on_state = on_state;
        options.data = author;
        const enum scn_error error = scn_client_create(&options, &author->client);
        SCN_ASSERT(error == SCN_OK);
        author->must_leave = false;
        author->alarm_us = UINT64_MAX;
        const struct scn_uid none = {{0}};
        sim_author_open_view(author, none, sim_chance(author->sim, 60) ? 0 : sim_author_any_mask(author));
        sim_author_settle(author);
}

void sim_author_begin(struct sim_author *author)
{
        const uint32_t name = author->sim->climate.has_shared_names ? author->index / 2 : author->index;
        (void)snprintf(author->name, sizeof author->name, "author %u", name);
        fill_random(author, author->uid.bytes, sizeof author->uid.bytes);
        author->uid.bytes[0] |= 1;
        begin_client(author);
        sim_schedule(author->sim, sim_below(author->sim, author->pace_us), SIM_EVENT_ACT, author, 0);
}

void sim_author_end(struct sim_author *author)
{
        if (author->link != NULL) {
                sim_link_leave(author->link);
        }
        scn_client_destroy(author->client);
        sim_raws_free(author);
        author->client = NULL;
        author->drag.left = 0;
        memset(author->views, 0, sizeof author->views);
}

/* Its program ends, and begins anew under the same uid. */
static void restart(struct sim_author *author)
{
        sim_note(author->sim, "restart", author->index, 0, 0);
        sim_author_end(author);
        begin_client(author);
}

/* --- Connecting, being called --- */

static void set_alarm(struct sim_author *author, uint64_t at_us)
{
        const uint64_t now_us = author->sim->now_us;
        if (at_us < author->alarm_us) {
                author->alarm_us = at_us > now_us ? at_us : now_us;
                sim_schedule(author->sim, author->alarm_us - now_us, SIM_EVENT_ALARM, author, 0);
        }
}

void sim_author_settle(struct sim_author *author)
{
        struct scn_client *client = author->client;
        if (client->is_broken && author->link != NULL) {
                sim_link_leave(author->link);
                scn_client_disconnect(client, now_ms(author));
        }
        sim_raws_settle(author);
        if (author->link != NULL) {
                sim_link_poke(author->link);
        }
        const struct scn_view *view;
        TAILQ_FOREACH(view, &client->views, link)
        {
                if (view->is_doubted) {
                        sim_fail(author->sim, "a delta did not fit into a view of author %u", author->index);
                }
        }
        uint64_t at_ms = scn_client_wake_at_ms(client);
        uint64_t at_us = at_ms == 0   ? author->sim->now_us + sim_below(author->sim, 2 * SIM_MS)
                : at_ms == UINT64_MAX ? UINT64_MAX
                                      : at_ms * SIM_MS;
        at_ms = scn_client_connect_at_ms(client);
        if (at_ms != UINT64_MAX) {
                uint64_t connect_us = at_ms * SIM_MS;
                connect_us = connect_us < author->offline_until_us ? author->offline_until_us : connect_us;
                at_us = connect_us < at_us ? connect_us : at_us;
        }
        if (at_us != UINT64_MAX) {
                set_alarm(author, at_us);
        }
}

static void try_to_connect(struct sim_author *author)
{
        struct sim *sim = author->sim;
        if (sim->server != NULL && !sim->is_stopping && !sim_chance(sim, 5)) {
                author->link = sim_link_create(author);
        }
        if (author->link == NULL) {
                scn_client_disconnect(author->client, now_ms(author));
                return;
        }
        sim_note(sim, "connect", author->index, 0, 0);
        const enum scn_error error = scn_client_connect(author->client, now_ms(author));
        SCN_ASSERT(error == SCN_OK);
}

void sim_author_dispatch(struct sim_author *author)
{
        author->has_unread = false;
        const enum scn_error error = scn_client_dispatch(author->client, now_ms(author));
        sim_note(author->sim, "dispatch", author->index, error != SCN_OK, 0);
        sim_author_settle(author);
}

void sim_author_alarm(struct sim_author *author)
{
        if (author->client == NULL || author->alarm_us != author->sim->now_us) {
                return;
        }
        author->alarm_us = UINT64_MAX;
        if (author->must_leave) {
                restart(author);
                return;
        }
        if (scn_client_connect_at_ms(author->client) <= now_ms(author) &&
                author->offline_until_us <= author->sim->now_us) {
                try_to_connect(author);
        }
        sim_author_dispatch(author);
        if (author->must_leave) {
                set_alarm(author, author->sim->now_us + sim_below(author->sim, SIM_S));
        }
}

/* --- At the end --- */

static const char *why_view(const struct sim_view *view)
{
        if (view->view == NULL || view->is_ended) {
                return NULL;
        }
        if (view->is_replay) {
                return "a replay has not ended";
        }
        if (!scn_view_is_ready(view->view) || view->view->is_wanted || !view->view->is_viewed) {
                return "a view has not come";
        }
        return NULL;
}

const char *sim_author_why_not_quiet(const struct sim_author *author)
{
        if (scn_client_state(author->client) != SCN_CLIENT_OPEN) {
                return "it is not connected";
        }
        if (scn_client_pending_count(author->client) > 0) {
                return "edits wait for an answer";
        }
        if (author->has_unread || scn_client_has_news(author->client)) {
                return "it has something to tell";
        }
        if (author->link == NULL || !sim_link_is_quiet(author->link)) {
                return "bytes are on their way";
        }
        if (author->link->edits.count > 0 || author->link->requests.count > 0) {
                return "the server owes an answer";
        }
        for (size_t i = 0; i < SIM_VIEWS_MAX; i++) {
                const char *why = why_view(&author->views[i]);
                if (why != NULL) {
                        return why;
                }
        }
        return sim_raws_why_not_quiet(author);
}

bool sim_author_is_quiet(const struct sim_author *author)
{
        return sim_author_why_not_quiet(author) == NULL;
}
