/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What authors do, as tables: one of ops, which edits are made of, and one of deeds. A new kind is a function and a
 * row. */

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/base/uid.h"
#include "tests/sim/sim.h"

#include <stdio.h>
#include <string.h>

/* --- Choosing --- */

/* A uid that a node has, had, or was to have. */
static struct scn_uid any_uid(struct sim_author *author)
{
        struct sim *sim = author->sim;
        const struct sim_uids *uids = &sim->uids[author->document];
        if (uids->count == 0 || sim_chance(sim, 5)) {
                return scn_client_root(author->client);
        }
        const uint32_t count = (uint32_t)uids->count;
        const uint32_t recent = count < 40 ? count : 40;
        return uids->uids[sim_chance(sim, 60) ? count - 1 - sim_below(sim, recent) : sim_below(sim, count)];
}

struct sim_view *sim_any_view(struct sim_author *author)
{
        const uint32_t first = sim_below(author->sim, SIM_VIEWS_MAX);
        for (uint32_t i = 0; i < SIM_VIEWS_MAX; i++) {
                struct sim_view *view = &author->views[(first + i) % SIM_VIEWS_MAX];
                if (view->view != NULL && !view->is_replay && !view->is_ended) {
                        return view;
                }
        }
        return NULL;
}

/* Mostly one that is there, as its author sees it. */
static struct scn_uid any_node(struct sim_author *author)
{
        const struct sim_view *view = sim_any_view(author);
        const uint32_t count = view == NULL ? 0 : scn_view_nodes_count(view->view);
        if (count == 0 || sim_chance(author->sim, 10)) {
                return any_uid(author);
        }
        const struct scn_uid root = scn_view_root(view->view);
        struct scn_uid uid = root;
        for (uint32_t i = sim_below(author->sim, count); i > 0; i--) {
                uid = scn_view_walk(view->view, root, uid);
        }
        return uid;
}

struct scn_uid sim_any_name(struct sim_author *author)
{
        struct scn_uid uid = any_node(author);
        while (scn_uid_is_none(uid)) {
                uid.bytes[0] = 1; /* before it has ever been connected nothing is known */
        }
        return uid;
}

struct scn_target sim_any_target(struct sim_author *author)
{
        static const char *const paths[] = {"/", "/x", "/x/x", "/x[1]", "/[0]"};
        if (scn_uid_is_none(scn_client_root(author->client))) {
                return SCN_BY_PATH("/"); /* it has never been connected yet */
        }
        if (sim_chance(author->sim, 4)) {
                return SCN_BY_PATH(paths[sim_below(author->sim, 5)]);
        }
        return SCN_BY_UID(sim_any_name(author));
}

static struct scn_position any_position(struct sim_author *author)
{
        struct sim *sim = author->sim;
        struct scn_position position = {.kind = (enum scn_position_kind)sim_below(sim, 4)};
        position.index = sim_below(sim, 6);
        if (position.kind == SCN_POSITION_AFTER) {
                position.after = SCN_BY_UID(sim_any_name(author));
        }
        return position;
}

static void note_uid(struct sim_author *author, struct scn_uid uid)
{
        struct sim_uids *uids = &author->sim->uids[author->document];
        const bool is_good =
                scn_grow((void **)&uids->uids, &uids->capacity, sizeof *uids->uids, uids->count + 1, SIZE_MAX);
        SCN_ASSERT(is_good);
        uids->uids[uids->count++] = uid;
}

/* Large in relation to what a view holds already? Then rather remove than add. */
static bool is_crowded(const struct sim_author *author)
{
        for (size_t i = 0; i < SIM_VIEWS_MAX; i++) {
                const struct sim_view *view = &author->views[i];
                if (view->view != NULL && scn_view_nodes_count(view->view) > 90) {
                        return true;
                }
        }
        return false;
}

/* --- Ops: each carries the edit's marker if it can --- */

static enum scn_error op_add(struct sim_author *author, struct scn_draft *draft, uint32_t marker)
{
        struct sim *sim = author->sim;
        struct scn_addition addition = SCN_ADDITION_INIT;
        char name[16];
        (void)snprintf(name, sizeof name, sim_chance(sim, 50) ? "x" : "m%u", marker);
        const float t[3] = {(float)sim_below(sim, 100), 1.0f, 0.5f};
        const float r[4] = {0.0f, (float)sim_below(sim, 5), 0.0f, 1.0f};
        const float s[3] = {2.0f, sim_chance(sim, 80) ? 2.0f : 0.0f, sim_chance(sim, 60) ? 2.0f : -1.0f};
        addition.parent = sim_any_target(author);
        addition.position = any_position(author);
        addition.name = sim_chance(sim, 10) ? NULL : name;
        addition.t = t;
        addition.r = sim_chance(sim, 40) ? r : NULL;
        addition.s = sim_chance(sim, 30) ? s : NULL;
        if (sim_chance(sim, 15)) {
                addition.uid = sim_any_name(author); /* back from the dead, or refused */
        }
        struct scn_uid uid;
        const enum scn_error error = scn_draft_add(draft, &addition, &uid);
        if (error == SCN_OK) {
                note_uid(author, uid);
                author->adds++;
        }
        if (error == SCN_OK && sim_chance(sim, 30)) {
                return scn_draft_set_int(draft, SCN_BY_UID(uid), "mark", marker);
        }
        return error;
}

static enum scn_error op_remove(struct sim_author *author, struct scn_draft *draft, uint32_t marker)
{
        (void)marker;
        author->removes++;
        return scn_draft_remove(draft, sim_any_target(author));
}

static enum scn_error op_move(struct sim_author *author, struct scn_draft *draft, uint32_t marker)
{
        struct sim *sim = author->sim;
        const uint32_t flags =
                (sim_chance(sim, 40) ? SCN_MOVE_KEEP_WORLD : 0) | (sim_chance(sim, 50) ? SCN_MOVE_LOSSY : 0);
        /* One draw after the other: arguments are worked out in an order that differs between compilers. */
        const struct scn_target node = sim_any_target(author);
        const struct scn_target parent = sim_any_target(author);
        const struct scn_position position = any_position(author);
        (void)marker;
        return scn_draft_move(draft, node, parent, position, flags);
}

static enum scn_error op_transform(struct sim_author *author, struct scn_draft *draft, uint32_t marker)
{
        struct sim *sim = author->sim;
        const float t[3] = {(float)marker, (float)sim_below(sim, 50), -1.0f};
        const float r[4] = {(float)sim_below(sim, 3), (float)sim_below(sim, 3), 0.5f, 1.0f};
        const float s[3] = {1.0f, (float)(1 + sim_below(sim, 3)), 1.0f};
        const uint32_t which = 1 + sim_below(sim, 7);
        return scn_draft_transform(draft, sim_any_target(author), (which & 1) != 0 ? t : NULL,
                (which & 2) != 0 ? r : NULL, (which & 4) != 0 ? s : NULL);
}

static enum scn_error op_rename(struct sim_author *author, struct scn_draft *draft, uint32_t marker)
{
        char name[16];
        (void)snprintf(name, sizeof name, sim_chance(author->sim, 30) ? "x" : "m%u", marker);
        const struct scn_target node = sim_any_target(author);
        return scn_draft_rename(draft, node, sim_chance(author->sim, 10) ? NULL : name);
}

static enum scn_error op_mark(struct sim_author *author, struct scn_draft *draft, uint32_t marker)
{
        return scn_draft_set_int(draft, sim_any_target(author), "mark", marker);
}

static enum scn_error op_set(struct sim_author *author, struct scn_draft *draft, uint32_t marker)
{
        static const char *const keys[] = {"a", "b", "a longer key, so that it differs"};
        static const struct scn_slice none = {NULL, 0};
        struct sim *sim = author->sim;
        const struct scn_target node = sim_any_target(author);
        const char *key = keys[sim_below(sim, 3)];
        char text[400];
        (void)marker;
        switch (sim_below(sim, 5)) {
        case 0:
                return scn_draft_set(draft, node, key, none);
        case 1:
                return scn_draft_set_bool(draft, node, key, sim_chance(sim, 50));
        case 2:
                return scn_draft_set_double(draft, node, key, sim_below(sim, 9) / 2.0);
        case 3:
                return scn_draft_set_node(draft, node, key, sim_any_name(author));
        default:
                memset(text, 'a' + (int)sim_below(sim, 26), sizeof text);
                text[sim_chance(sim, 90) ? sim_below(sim, 20) : sizeof text - 1] = '\0';
                return scn_draft_set_text(draft, node, key, text);
        }
}

static const struct op_row {
        uint32_t weight;
        enum scn_error (*op)(struct sim_author *author, struct scn_draft *draft, uint32_t marker);
} op_rows[] = {
        {26, op_add},
        {8, op_remove},
        {18, op_move},
        {16, op_transform},
        {8, op_rename},
        {10, op_mark},
        {14, op_set},
};

static enum scn_error any_op(struct sim_author *author, struct scn_draft *draft, uint32_t marker)
{
        uint32_t at = sim_below(author->sim, 100);
        const struct op_row *row = op_rows;
        while (at >= row->weight) {
                at -= row->weight;
                row++;
        }
        return is_crowded(author) && row->op == op_add ? op_remove(author, draft, marker)
                                                       : row->op(author, draft, marker);
}

/* --- Deeds --- */

static struct scn_draft *begin_edit(struct sim_author *author, struct sim_wish **wish_out)
{
        struct sim *sim = author->sim;
        struct sim_view *view = sim_any_view(author);
        struct scn_draft *draft = scn_draft_create(author->client, view == NULL ? NULL : view->view);
        SCN_ASSERT(draft != NULL);
        struct sim_wish *wish = sim_wish_create(author);
        wish->is_edit = true;
        wish->marker = ++sim->markers;
        sim->wishes_count++;
        if (sim_chance(sim, 25)) {
                author->group += sim_chance(sim, 30);
                scn_draft_set_group(draft, author->group + 1);
        }
        if (sim_chance(sim, 20) && view != NULL && scn_view_is_ready(view->view)) {
                scn_draft_set_base(draft, scn_view_revision(view->view), sim_chance(sim, 60));
        }
        author->adds = author->removes = 0;
        *wish_out = wish;
        return draft;
}

static void submit_edit(struct sim_author *author, struct scn_draft *draft, struct sim_wish *wish, uint32_t ops)
{
        wish->adds = author->adds;
        wish->removes = author->removes;
        const enum scn_error error = scn_draft_submit(draft, sim_on_result, wish, &wish->edit);
        SCN_ASSERT(error == SCN_OK);
        sim_note(author->sim, "edit", author->index, wish->marker, ops);
}

static void edit_of(struct sim_author *author, uint32_t ops)
{
        struct sim_wish *wish;
        struct scn_draft *draft = begin_edit(author, &wish);
        for (uint32_t i = 0; i < ops; i++) {
                const enum scn_error error = any_op(author, draft, wish->marker);
                SCN_ASSERT(error == SCN_OK);
        }
        submit_edit(author, draft, wish, ops);
}

void sim_drop(struct sim_author *author, struct scn_uid node, uint32_t fields, bool is_moved)
{
        struct sim_wish *wish;
        struct scn_draft *draft = begin_edit(author, &wish);
        const float t[3] = {(float)wish->marker, 0.0f, 2.0f};
        const float r[4] = {0.0f, 1.0f, 0.0f, 1.0f};
        const float s[3] = {1.0f, 2.0f, 3.0f};
        const struct scn_target parent = is_moved ? sim_any_target(author) : SCN_BY_UID(node);
        const enum scn_error error = is_moved
                ? scn_draft_move(draft, SCN_BY_UID(node), parent, any_position(author), 0)
                : scn_draft_transform(draft, SCN_BY_UID(node), (fields & SCN_FIELDS_TRANSLATION) != 0 ? t : NULL,
                          (fields & SCN_FIELDS_ROTATION) != 0 ? r : NULL, (fields & SCN_FIELDS_SCALE) != 0 ? s : NULL);
        SCN_ASSERT(error == SCN_OK);
        submit_edit(author, draft, wish, 1);
}

static void do_edit(struct sim_author *author)
{
        edit_of(author, 1);
}

/* In parts, too: the simulator's are small. */
static void do_long_edit(struct sim_author *author)
{
        edit_of(author, 2 + sim_below(author->sim, 6));
}

static void do_burst(struct sim_author *author)
{
        const uint32_t count = 3 + sim_below(author->sim, 10);
        for (uint32_t i = 0; i < count; i++) {
                edit_of(author, 1);
        }
}

static void do_undo(struct sim_author *author)
{
        struct sim *sim = author->sim;
        struct sim_wish *wish = sim_wish_create(author);
        struct scn_undo undo = SCN_UNDO_INIT;
        undo.count = sim_chance(sim, 70) ? 0 : 1 + sim_below(sim, 3);
        undo.force = sim_chance(sim, 20);
        sim->wishes_count++;
        const bool is_redo = sim_chance(sim, 40);
        const enum scn_error error = is_redo ? scn_client_redo(author->client, &undo, sim_on_result, wish)
                                             : scn_client_undo(author->client, &undo, sim_on_result, wish);
        SCN_ASSERT(error == SCN_OK);
        sim_note(sim, is_redo ? "redo" : "undo", author->index, undo.count, undo.force);
}

static void do_open_view(struct sim_author *author)
{
        static const struct scn_uid none = {{0}};
        struct sim *sim = author->sim;
        const struct scn_uid root = sim_chance(sim, 30) ? none : sim_any_name(author);
        sim_author_open_view(author, root, sim_chance(sim, 40) ? 0 : sim_author_any_mask(author));
}

static void do_end_view(struct sim_author *author)
{
        struct sim_view *view = &author->views[sim_below(author->sim, SIM_VIEWS_MAX)];
        if (view->view != NULL) {
                sim_author_end_view(view);
        }
}

/* As after a delta that did not fit. */
static void do_ask_again(struct sim_author *author)
{
        struct sim_view *view = sim_any_view(author);
        if (view != NULL && scn_client_state(author->client) == SCN_CLIENT_OPEN) {
                sim_author_ask_again(view);
        }
}

static void do_replay(struct sim_author *author)
{
        static const struct scn_uid none = {{0}};
        struct sim *sim = author->sim;
        const struct sim_view *view = sim_any_view(author);
        const scn_revision now = view == NULL ? 0 : scn_view_revision(view->view);
        const scn_revision from = now == 0 ? 0 : sim_below(sim, (uint32_t)now + 1);
        const scn_revision to = sim_chance(sim, 50) || now == 0 ? 0 : from + sim_below(sim, (uint32_t)(now - from) + 1);
        sim_author_open_replay(author, from, to, sim_chance(sim, 60) ? none : sim_any_name(author));
}

struct sim_wish *sim_request(struct sim_author *author)
{
        struct sim_wish *wish = sim_wish_create(author);
        wish->is_request = true;
        author->sim->requests_due++;
        return wish;
}

static void do_ask(struct sim_author *author)
{
        struct scn_client *client = author->client;
        struct scn_request narrow = SCN_REQUEST_INIT;
        struct sim_wish *wish = sim_request(author);
        enum scn_error error = SCN_OK;
        const struct scn_target nodes[2] = {sim_any_target(author), sim_any_target(author)};
        const uint32_t which = sim_below(author->sim, 10);
        switch (which) {
        case 0:
                narrow.durable = sim_chance(author->sim, 50);
                error = scn_client_world(client, nodes, 2, &narrow, sim_on_answer, wish);
                break;
        case 1:
                narrow.node = nodes[0];
                error = scn_client_tree(client, &narrow, sim_on_answer, wish);
                break;
        case 2:
                narrow.at = sim_chance(author->sim, 50) ? "3" : NULL;
                error = scn_client_digest(client, &narrow, sim_on_answer, wish);
                break;
        case 3:
                narrow.limit = 20;
                error = scn_client_log(client, &narrow, sim_on_answer, wish);
                break;
        case 4:
                error = scn_client_info(client, sim_on_answer, wish);
                break;
        case 5:
                error = scn_client_who(client, sim_on_answer, wish);
                break;
        case 6:
                error = scn_client_documents(client, sim_on_answer, wish);
                break;
        case 7:
                error = scn_client_backup(client, sim_on_answer, wish);
                break;
        case 8:
                error = scn_client_verify(client, sim_on_answer, wish);
                break;
        default:
                error = scn_client_ping(client, sim_on_answer, wish);
                break;
        }
        SCN_ASSERT(error == SCN_OK);
        sim_note(author->sim, "ask", author->index, which, 0);
}

static void do_kick(struct sim_author *author)
{
        struct sim *sim = author->sim;
        const struct sim_author *other = &sim->authors[sim_below(sim, sim->climate.authors_count)];
        const uint64_t session = scn_client_session(other->client);
        if (session != 0 && other != author) {
                struct sim_wish *wish = sim_request(author);
                const enum scn_error error = scn_client_kick(author->client, session, sim_on_answer, wish);
                SCN_ASSERT(error == SCN_OK);
                sim_note(sim, "kick", author->index, other->index, 0);
        }
}

/* Goes on editing alone. */
static void do_leave(struct sim_author *author)
{
        if (author->link != NULL) {
                author->offline_until_us = author->sim->now_us + sim_below(author->sim, 8 * SIM_S);
                sim_link_cut(author->link);
        }
}

static void do_restart(struct sim_author *author)
{
        author->must_leave = true;
        author->alarm_us = author->sim->now_us;
        sim_schedule(author->sim, 0, SIM_EVENT_ALARM, author, 0);
}

static const struct deed_row {
        uint32_t weight;
        void (*deed)(struct sim_author *author);
} deed_rows[] = {
        {440, do_edit},
        {100, do_long_edit},
        {30, do_burst},
        {40, do_undo},
        {50, do_open_view},
        {35, do_end_view},
        {10, do_ask_again},
        {15, do_replay},
        {60, do_ask},
        {30, sim_do_past},
        {10, sim_do_restore},
        {2, do_kick},
        {18, do_leave},
        {5, do_restart},
        {30, sim_do_presence},
        {50, sim_do_drag},
        {35, sim_do_lock},
        {12, sim_do_unlock},
        {28, sim_do_raw},
};

void sim_act(struct sim_author *author)
{
        struct sim *sim = author->sim;
        if (sim->is_ending || sim->wishes_count >= sim->climate.wishes_max) {
                sim->is_ending = true;
                return;
        }
        sim_schedule(sim, sim_below(sim, 2 * author->pace_us), SIM_EVENT_ACT, author, 0);
        if (author->must_leave || scn_client_state(author->client) == SCN_CLIENT_ENDED) {
                return;
        }
        uint32_t at = sim_below(sim, 1000);
        const struct deed_row *row = deed_rows;
        while (at >= row->weight) {
                at -= row->weight;
                row++;
        }
        row->deed(author);
        sim_author_settle(author);
}
