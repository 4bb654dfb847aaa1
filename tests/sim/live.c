/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What authors show, drag and lock, and whether everybody sees it. */

#include "client/client.h"
#include "protocol/base/assert.h"
#include "protocol/base/uid.h"
#include "tests/sim/sim.h"

#include <stdio.h>
#include <string.h>

/* More than authors can have. */
#define FACTS_MAX 1024u

static bool is_asleep(const struct sim_author *author)
{
        return !author->sim->climate.has_live || scn_uid_is_none(scn_client_root(author->client));
}

/* --- Deeds --- */

static void show(struct sim_author *author, const char *key, uint32_t value, bool is_removal)
{
        struct scn_buffer map;
        scn_buffer_init(&map, 64);
        struct scn_packer packer = scn_packer_to(&map);
        scn_pack_map(&packer, 1);
        scn_pack_text(&packer, (struct scn_slice){(const uint8_t *)key, (uint32_t)strlen(key)});
        if (is_removal) {
                scn_pack_nil(&packer);
        } else {
                scn_pack_uint(&packer, value);
        }
        const enum scn_error error = scn_client_set_presence(author->client, map.data, map.size);
        SCN_ASSERT(error == SCN_OK);
        scn_buffer_finish(&map);
        sim_note(author->sim, "presence", author->index, value, is_removal);
}

void sim_do_presence(struct sim_author *author)
{
        static const char *const keys[] = {"camera", "tool", "a"};
        struct sim *sim = author->sim;
        if (sim->climate.has_live) {
                const char *key = keys[sim_below(sim, 3)];
                const uint32_t value = sim_below(sim, 1000);
                show(author, key, value, sim_chance(sim, 35));
        }
}

static void preview(struct sim_author *author)
{
        struct sim *sim = author->sim;
        const struct scn_trs trs = {
                .t = {(float)sim_below(sim, 1000), 1, 2}, .r = {0, (float)sim_below(sim, 3), 0, 1}, .s = {1, 2, 1}};
        const enum scn_error error = scn_client_preview(author->client, author->drag.node, author->drag.fields, &trs);
        SCN_ASSERT(error == SCN_OK);
}

static void end_drag(struct sim_author *author)
{
        switch (author->drag.end) {
        case 0:
        case 1:
                sim_drop(author, author->drag.node, author->drag.fields, author->drag.end == 1);
                break;
        case 2:
                scn_client_end_preview(author->client, author->drag.node);
                break;
        case 3:
                author->must_leave = true;
                author->alarm_us = author->sim->now_us;
                sim_schedule(author->sim, 0, SIM_EVENT_ALARM, author, 0);
                break;
        default:
                break; /* it is left standing */
        }
}

void sim_drag_on(struct sim_author *author)
{
        struct sim *sim = author->sim;
        if (author->client == NULL || author->drag.left == 0 || author->must_leave || sim->is_ending) {
                return;
        }
        author->drag.left--;
        if (author->drag.left > 0) {
                preview(author);
                sim_schedule(sim, 3 * SIM_MS + sim_below(sim, 30 * SIM_MS), SIM_EVENT_DRAG, author, 0);
        } else {
                end_drag(author);
        }
        sim_note(sim, "drag", author->index, author->drag.left, author->drag.end);
        sim_author_settle(author);
}

void sim_do_drag(struct sim_author *author)
{
        struct sim *sim = author->sim;
        if (is_asleep(author) || author->drag.left > 0) {
                return;
        }
        author->drag = (struct sim_drag){
                .node = sim_any_name(author),
                .left = 2 + sim_below(sim, 10),
                .fields = sim_chance(sim, 50) ? SCN_FIELDS_TRANSLATION : SCN_FIELDS_ROTATION | SCN_FIELDS_SCALE,
                .end = sim_chance(sim, 3)     ? 3
                        : sim_chance(sim, 60) ? sim_below(sim, 2)
                                              : 2 + 2 * sim_below(sim, 2),
        };
        sim_schedule(sim, 0, SIM_EVENT_DRAG, author, 0);
}

void sim_do_lock(struct sim_author *author)
{
        struct sim *sim = author->sim;
        struct scn_target nodes[3];
        struct scn_lock lock = SCN_LOCK_INIT;
        const size_t count = 1 + sim_below(sim, 3);
        if (is_asleep(author)) {
                return;
        }
        for (size_t i = 0; i < count; i++) {
                nodes[i] = sim_any_target(author);
        }
        lock.ttl_s = 1 + sim_below(sim, sim_chance(sim, 80) ? 6 : 40);
        lock.mask = sim_chance(sim, 50) ? 0 : 1 + sim_below(sim, 15);
        lock.has_subtree = sim_chance(sim, 50);
        const enum scn_error error =
                scn_client_lock(author->client, nodes, count, &lock, sim_on_answer, sim_request(author));
        SCN_ASSERT(error == SCN_OK);
        sim_note(sim, "lock", author->index, lock.ttl_s, lock.mask);
}

void sim_do_unlock(struct sim_author *author)
{
        struct sim *sim = author->sim;
        const struct scn_target node = sim_any_target(author);
        if (is_asleep(author)) {
                return;
        }
        const enum scn_error error = scn_client_unlock(
                author->client, &node, sim_chance(sim, 50) ? 0 : 1, sim_on_answer, sim_request(author));
        SCN_ASSERT(error == SCN_OK);
        sim_note(sim, "unlock", author->index, 0, 0);
}

void sim_do_raw(struct sim_author *author)
{
        static const struct scn_uid none = {{0}};
        struct sim *sim = author->sim;
        if (!sim->climate.has_raws || scn_uid_is_none(scn_client_root(author->client))) {
                return;
        }
        struct sim_raw *raw = &author->raws[sim_below(sim, SIM_RAWS_MAX)];
        const struct scn_uid root = sim_chance(sim, 40) ? none : sim_any_name(author);
        const uint32_t mask = sim_chance(sim, 60) ? SCN_MASK_WORLD : sim_author_any_mask(author) & SCN_MASK_DURABLE;
        if (raw->number == 0) {
                sim_raw_open(author, root, mask);
        } else if (sim_chance(sim, 15)) {
                sim_raw_end(raw);
        } else {
                const uint32_t what = sim_below(sim, 4);
                sim_raw_change(
                        raw, what == 0 || what == 3 ? raw->root : root, what == 1 || what == 3 ? raw->mask : mask);
        }
}

/* --- What is seen --- */

static bool is_same_bytes(struct scn_slice a, struct scn_slice b)
{
        return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static bool sees_presence(const struct scn_view *view, const struct sim_fact *fact)
{
        struct scn_presence_info info;
        for (uint32_t i = 0; scn_view_presence(view, i, &info); i++) {
                if (info.session == fact->session) {
                        return is_same_bytes(info.author, fact->author) && is_same_bytes(info.map, fact->map);
                }
        }
        return false;
}

/* Told later than it began, it ends no earlier than it does. */
static bool sees_lock(const struct scn_view *view, const struct sim_fact *fact)
{
        struct scn_lock_info info;
        for (uint32_t i = 0; scn_view_lock(view, i, &info); i++) {
                if (info.session == fact->session && scn_uid_equal(info.node, fact->node)) {
                        return is_same_bytes(info.author, fact->author) && info.mask == fact->lock_mask &&
                                info.has_subtree == fact->has_subtree &&
                                view->client->now_ms + info.left_ms + 2 >= fact->expires_ms;
                }
        }
        return false;
}

static bool sees_preview(const struct scn_view *view, const struct sim_fact *fact)
{
        struct scn_preview_info info;
        for (uint32_t i = 0; scn_view_preview(view, i, &info); i++) {
                if (info.session == fact->session && scn_uid_equal(info.node, fact->node)) {
                        return info.fields == fact->fields && memcmp(&info.trs, &fact->trs, sizeof info.trs) == 0;
                }
        }
        return false;
}

static bool sees(const struct scn_view *view, const struct sim_fact *fact)
{
        return fact->mask == SCN_MASK_PRESENCE ? sees_presence(view, fact)
                : fact->mask == SCN_MASK_LOCKS ? sees_lock(view, fact)
                                               : sees_preview(view, fact);
}

static const char *kind_of(const struct sim_fact *fact)
{
        return fact->mask == SCN_MASK_PRESENCE ? "presence" : fact->mask == SCN_MASK_LOCKS ? "lock" : "preview";
}

static bool has_fact(
        const struct sim_fact *facts, size_t count, uint32_t mask, uint64_t session, const struct scn_uid *node)
{
        for (size_t i = 0; i < count; i++) {
                if (facts[i].mask == mask && facts[i].session == session &&
                        (node == NULL || scn_uid_equal(facts[i].node, *node))) {
                        return true;
                }
        }
        return false;
}

/* All facts are seen; so is nothing that is none. */
static void verify_nothing_more(const struct sim_view *mine, const struct sim_fact *facts, size_t count)
{
        const struct sim_author *author = mine->author;
        const struct scn_view *view = mine->view;
        struct scn_presence_info presence;
        for (uint32_t i = 0; scn_view_presence(view, i, &presence); i++) {
                if (!has_fact(facts, count, SCN_MASK_PRESENCE, presence.session, NULL)) {
                        sim_fail(author->sim, "author %u sees a presence of session %llu, which has none",
                                author->index, (unsigned long long)presence.session);
                }
        }
        struct scn_lock_info lock;
        for (uint32_t i = 0; scn_view_lock(view, i, &lock); i++) {
                if (!has_fact(facts, count, SCN_MASK_LOCKS, lock.session, &lock.node)) {
                        sim_fail(author->sim, "author %u sees a lock of session %llu, with %llu ms left, that is none",
                                author->index, (unsigned long long)lock.session, (unsigned long long)lock.left_ms);
                }
        }
        struct scn_preview_info preview;
        for (uint32_t i = 0; scn_view_preview(view, i, &preview); i++) {
                if (!has_fact(facts, count, SCN_MASK_PREVIEW, preview.session, &preview.node)) {
                        sim_fail(author->sim, "author %u sees a preview of session %llu that is none", author->index,
                                (unsigned long long)preview.session);
                }
        }
        const size_t seen =
                (size_t)scn_view_presences_count(view) + scn_view_locks_count(view) + scn_view_previews_count(view);
        if (seen != count) {
                sim_fail(author->sim, "author %u sees %zu presences, locks and previews of %zu", author->index, seen,
                        count);
        }
}

static void verify_view(const struct sim_view *mine)
{
        const struct sim_author *author = mine->author;
        const struct sim *sim = author->sim;
        const struct scn_view *view = mine->view;
        struct sim_fact facts[FACTS_MAX];
        const uint32_t mask = (mine->mask == 0 ? SCN_MASK_ALL : mine->mask) & SCN_MASK_VOLATILE;
        const size_t count = sim_inside_facts(sim, author->document, mine->root, mask, facts, FACTS_MAX);
        for (size_t i = 0; i < count; i++) {
                if (!sees(view, &facts[i])) {
                        sim_fail(sim, "author %u does not see the %s of session %llu as it is", author->index,
                                kind_of(&facts[i]), (unsigned long long)facts[i].session);
                }
        }
        verify_nothing_more(mine, facts, count);
}

static const struct scn_own_preview *find_own(const struct scn_client *client, struct scn_uid node)
{
        for (size_t i = 0; i < client->own.previews_count; i++) {
                if (scn_uid_equal(client->own.previews[i].node, node) && client->own.previews[i].fields != 0) {
                        return &client->own.previews[i];
                }
        }
        return NULL;
}

/* The server, too, makes it a rotation. */
static bool is_about(const float *a, const float *b)
{
        const float least = 0.999999f * 0.999999f;
        return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] > least;
}

static bool shows_as_told(const struct scn_own_preview *own, const struct sim_fact *fact)
{
        return own != NULL && own->fields == fact->fields &&
                ((own->fields & SCN_FIELDS_TRANSLATION) == 0 ||
                        memcmp(own->trs.t, fact->trs.t, sizeof own->trs.t) == 0) &&
                ((own->fields & SCN_FIELDS_ROTATION) == 0 || is_about(own->trs.r, fact->trs.r)) &&
                ((own->fields & SCN_FIELDS_SCALE) == 0 || memcmp(own->trs.s, fact->trs.s, sizeof own->trs.s) == 0);
}

/* The server has of an author what its program shows; a preview may have ended without it. */
static void verify_author(const struct sim_author *author)
{
        static const struct scn_uid none = {{0}};
        const struct sim *sim = author->sim;
        const struct scn_client *client = author->client;
        const struct scn_slice own = {client->own.presence.data, (uint32_t)client->own.presence.size};
        struct sim_fact facts[FACTS_MAX];
        bool has_presence = false;
        const size_t count =
                sim_inside_facts(sim, author->document, none, SCN_MASK_PRESENCE | SCN_MASK_PREVIEW, facts, FACTS_MAX);
        for (size_t i = 0; i < count; i++) {
                if (facts[i].session != scn_client_session(client)) {
                        continue;
                }
                if (facts[i].mask == SCN_MASK_PRESENCE && facts[i].map.size != own.size) {
                        sim_fail(sim, "the presence of author %u is not what it shows", author->index);
                }
                if (facts[i].mask == SCN_MASK_PREVIEW && !shows_as_told(find_own(client, facts[i].node), &facts[i])) {
                        const struct scn_own_preview *own_preview = find_own(client, facts[i].node);
                        sim_fail(sim, "author %u previews what it does not show: %x, not %x", author->index,
                                facts[i].fields, own_preview == NULL ? 0 : own_preview->fields);
                }
                has_presence = has_presence || facts[i].mask == SCN_MASK_PRESENCE;
        }
        if (has_presence != (own.size > 0)) {
                sim_fail(sim, "author %u %s a presence", author->index, has_presence ? "has still" : "lacks");
        }
}

void sim_live_verify(struct sim *sim)
{
        for (uint32_t i = 0; i < sim->climate.authors_count; i++) {
                const struct sim_author *author = &sim->authors[i];
                verify_author(author);
                for (size_t k = 0; k < SIM_VIEWS_MAX; k++) {
                        const struct sim_view *view = &author->views[k];
                        if (view->view != NULL && !view->is_ended && !view->is_replay) {
                                verify_view(view);
                        }
                }
        }
}

/* --- For the last time --- */

void sim_live_act_last(struct sim *sim)
{
        for (uint32_t i = 0; i < sim->climate.authors_count && sim->climate.has_live; i++) {
                struct sim_author *author = &sim->authors[i];
                show(author, "last", i, false);
                for (size_t k = author->client->own.previews_count; k-- > 0;) {
                        scn_client_end_preview(author->client, author->client->own.previews[k].node);
                }
                author->drag.node = sim_any_name(author);
                author->drag.fields = SCN_FIELDS_TRANSLATION;
                author->drag.is_barred = sim_inside_is_barred(sim, author->document, author->drag.node, author->name);
                preview(author);
                sim_author_settle(author);
        }
}

static bool previews(const struct sim_author *author, const struct sim_fact *facts, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                if (facts[i].session == scn_client_session(author->client) &&
                        scn_uid_equal(facts[i].node, author->drag.node)) {
                        return true;
                }
        }
        return false;
}

/* Where nothing bars a preview, it is there. */
void sim_live_verify_last(struct sim *sim)
{
        static const struct scn_uid none = {{0}};
        struct sim_fact facts[FACTS_MAX];
        for (uint32_t i = 0; i < sim->climate.authors_count && sim->climate.has_live; i++) {
                const struct sim_author *author = &sim->authors[i];
                const size_t count = sim_inside_facts(sim, author->document, none, SCN_MASK_PREVIEW, facts, FACTS_MAX);
                const bool is_expected = sim_inside_has_node(sim, author->document, author->drag.node);
                if (is_expected && !author->drag.is_barred && !previews(author, facts, count)) {
                        sim_fail(sim, "the preview of author %u is not there", author->index);
                }
                if (!is_expected && previews(author, facts, count)) {
                        sim_fail(sim, "author %u previews a node that is not there", author->index);
                }
        }
}
