/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Views that the library has no words for: of world matrices alone, and such as change their root and mask under the
 * same number. The request goes over the author's connection; the library knows nothing of the number, and skips what
 * comes for it; the tap keeps it. */

#include "client/client.h"
#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/base/uid.h"
#include "protocol/scene/document.h"
#include "protocol/wire/columns.h"
#include "tests/sim/sim.h"

#include <string.h>

/* Beyond what the library counts up to. */
#define NUMBERS_FIRST (UINT64_C(1) << 40)
#define REQUESTS_FIRST (UINT64_C(1) << 41)

/* --- What is kept --- */

static void forget_parts(struct sim_raw *raw)
{
        for (size_t i = 0; i < raw->parts_count; i++) {
                scn_free(raw->parts[i]);
        }
        raw->parts_count = 0;
        scn_delta_finish(&raw->delta);
        raw->delta = (struct scn_delta){0};
}

static void forget(struct sim_raw *raw)
{
        forget_parts(raw);
        raw->worlds_count = 0;
        raw->world_root = 0;
        scn_document_destroy(raw->document);
        raw->document = NULL;
        raw->has_state = false;
        raw->rev = 0;
}

void sim_raws_free(struct sim_author *author)
{
        for (size_t i = 0; i < SIM_RAWS_MAX; i++) {
                struct sim_raw *raw = &author->raws[i];
                forget(raw);
                scn_free(raw->worlds);
                scn_free(raw->parts);
                *raw = (struct sim_raw){0};
        }
}

static bool is_of_worlds(const struct sim_raw *raw)
{
        return raw->mask == SCN_MASK_WORLD;
}

/* --- Asking --- */

void sim_raw_open(struct sim_author *author, struct scn_uid root, uint32_t mask)
{
        for (size_t i = 0; i < SIM_RAWS_MAX; i++) {
                struct sim_raw *raw = &author->raws[i];
                if (raw->number == 0) {
                        raw->author = author;
                        raw->number = NUMBERS_FIRST + i;
                        raw->root = root;
                        raw->mask = mask;
                        raw->rate = 0;
                        raw->link = 0;
                        sim_note(author->sim, "raw view", author->index, mask, i);
                        return;
                }
        }
}

void sim_raw_change(struct sim_raw *raw, struct scn_uid root, uint32_t mask)
{
        if (mask != raw->mask || !scn_uid_equal(root, raw->root)) {
                forget(raw);
        }
        raw->root = root;
        raw->mask = mask;
        raw->rate = sim_chance(raw->author->sim, 20) ? 1 + sim_below(raw->author->sim, 20) : 0;
        raw->link = 0;
        sim_note(raw->author->sim, "raw change", raw->author->index, mask, raw->number - NUMBERS_FIRST);
}

static bool can_send(const struct sim_author *author)
{
        return author->link != NULL && !author->link->is_cut && scn_client_state(author->client) == SCN_CLIENT_OPEN;
}

static void send(const struct sim_author *author, const struct scn_message *message)
{
        const enum scn_error error = scn_client_send(author->client, message);
        SCN_ASSERT(error == SCN_OK);
}

void sim_raw_end(struct sim_raw *raw)
{
        struct scn_message message;
        if (can_send(raw->author) && raw->link == raw->author->link->number) {
                scn_message_init(&message, SCN_MESSAGE_unview);
                message.as.unview.view = raw->number;
                send(raw->author, &message);
        }
        forget(raw);
        sim_note(raw->author->sim, "raw end", raw->author->index, 0, raw->number - NUMBERS_FIRST);
        raw->number = 0;
        raw->is_viewed = false;
}

static void ask(struct sim_raw *raw)
{
        struct sim_author *author = raw->author;
        struct scn_message message;
        forget_parts(raw);
        raw->link = author->link->number;
        raw->is_viewed = false;
        raw->request = REQUESTS_FIRST + ++author->raws_ever;
        raw->root = scn_uid_is_none(raw->root) ? scn_client_root(author->client) : raw->root;
        scn_message_init(&message, SCN_MESSAGE_view);
        message.as.view.request = raw->request;
        message.as.view.view = raw->number;
        message.as.view.root = (struct scn_node_ref){.kind = SCN_REF_UID, .uid = raw->root};
        message.as.view.mask = raw->mask;
        message.as.view.rate = raw->rate == 0 ? SCN_ABSENT : raw->rate;
        if (raw->has_state) {
                message.as.view.epoch = (struct scn_slice){raw->epoch, sizeof raw->epoch};
                message.as.view.rev = raw->rev;
        }
        send(author, &message);
}

void sim_raws_settle(struct sim_author *author)
{
        for (size_t i = 0; i < SIM_RAWS_MAX && can_send(author); i++) {
                struct sim_raw *raw = &author->raws[i];
                if (raw->number != 0 && raw->link != author->link->number) {
                        ask(raw);
                }
        }
}

/* --- Being told --- */

static struct sim_raw *find_raw(const struct sim_link *link, uint64_t number, uint64_t request)
{
        for (size_t i = 0; link->author != NULL && i < SIM_RAWS_MAX; i++) {
                struct sim_raw *raw = &link->author->raws[i];
                if (raw->link == link->number && raw->number != 0 &&
                        (raw->number == number || raw->request == request)) {
                        return raw;
                }
        }
        return NULL;
}

void sim_raw_hear_viewed(struct sim_link *link, const struct scn_message_viewed *viewed)
{
        struct sim_raw *raw = find_raw(link, SCN_ABSENT, viewed->request);
        if (raw == NULL) {
                return;
        }
        raw->is_viewed = true;
        if (!viewed->resumed) {
                forget(raw);
        } else if (!raw->has_state) {
                sim_fail(link->sim, "a view is resumed though nobody asked for that");
        }
}

void sim_raw_hear_failed(struct sim_link *link, uint64_t request)
{
        struct sim_raw *raw = find_raw(link, SCN_ABSENT, request);
        if (raw != NULL) {
                forget(raw);
                raw->number = 0;
        }
}

static struct sim_world *find_world(const struct sim_raw *raw, scn_node_id id)
{
        for (size_t i = 0; i < raw->worlds_count; i++) {
                if (raw->worlds[i].id == id) {
                        return &raw->worlds[i];
                }
        }
        return NULL;
}

static void enter(struct sim_raw *raw, const struct scn_delta_node *node)
{
        if (!node->is_new || node->fields != 0) {
                sim_fail(raw->author->sim, "a view of worlds is told more than worlds");
        }
        if (find_world(raw, node->id) == NULL) {
                const bool is_good = scn_grow((void **)&raw->worlds, &raw->worlds_capacity, sizeof *raw->worlds,
                        raw->worlds_count + 1, SIZE_MAX);
                SCN_ASSERT(is_good);
                raw->worlds[raw->worlds_count++] = (struct sim_world){.id = node->id, .uid = node->uid};
        }
}

static void leave(struct sim_raw *raw, const scn_node_id *ids, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                struct sim_world *world = find_world(raw, ids[i]);
                if (ids[i] == raw->world_root) {
                        raw->worlds_count = 0;
                        raw->world_root = 0;
                } else if (world != NULL) {
                        *world = raw->worlds[--raw->worlds_count];
                }
        }
}

/* As the protocol says that a receiver does. */
static void apply_worlds(struct sim_raw *raw, const struct scn_delta *delta)
{
        struct sim *sim = raw->author->sim;
        if (delta->is_whole) {
                raw->worlds_count = 0;
                raw->world_root = delta->root;
        }
        for (size_t i = 0; i < delta->nodes_count; i++) {
                enter(raw, &delta->nodes[i]);
        }
        for (size_t i = 0; i < delta->worlds_count; i++) {
                struct sim_world *world = find_world(raw, delta->worlds[i].id);
                if (world == NULL) {
                        sim_fail(sim, "the matrix of a node that is not in the view");
                }
                world->has_matrix = true;
                world->overflows = delta->worlds[i].overflows;
                world->matrix = delta->worlds[i].world;
        }
        leave(raw, delta->removed, delta->removed_count);
        leave(raw, delta->left, delta->left_count);
        for (size_t i = 0; i < raw->worlds_count; i++) {
                if (!raw->worlds[i].has_matrix) {
                        sim_fail(sim, "a node entered a view of worlds without a matrix");
                }
        }
}

static void fill_random(void *data, uint8_t *bytes, size_t size)
{
        (void)data;
        memset(bytes, 7, size);
}

static void apply_durable(struct sim_raw *raw, struct scn_delta *delta)
{
        struct sim *sim = raw->author->sim;
        if (raw->document == NULL) {
                const struct scn_document_options options = {
                        .limits = SCN_LIMITS_DEFAULT, .hash_seed = 1, .random = fill_random};
                const enum scn_error error = scn_document_create_replica(&options, &raw->document);
                SCN_ASSERT(error == SCN_OK);
        }
        if (!delta->is_whole) {
                delta->root = scn_document_root(raw->document);
        }
        for (size_t i = 0; i < delta->removed_count && !delta->is_whole; i++) {
                delta->root = delta->removed[i] == delta->root ? 0 : delta->root;
        }
        const enum scn_error error = scn_document_apply_delta(raw->document, delta);
        if (error != SCN_OK) {
                sim_fail(sim, "a delta does not fit into a view that has changed: %s", scn_error_code(error));
        }
}

static void verify(const struct sim_raw *raw);

static void apply(struct sim_raw *raw, const struct sim_link *link, const struct scn_message_delta *message)
{
        struct sim *sim = raw->author->sim;
        struct scn_delta *delta = &raw->delta;
        scn_revision durable;
        delta->from = message->to - message->back;
        delta->to = message->to;
        delta->mask = raw->mask | SCN_MASK_STRUCTURE;
        if (!delta->is_whole && (!raw->has_state || delta->from > raw->rev)) {
                sim_fail(sim, "a delta from %llu for a view that is at %llu", (unsigned long long)delta->from,
                        (unsigned long long)raw->rev);
        }
        if (is_of_worlds(raw)) {
                apply_worlds(raw, delta);
        } else {
                apply_durable(raw, delta);
        }
        raw->has_state = true;
        raw->rev = message->to;
        memcpy(raw->epoch, link->epoch, sizeof raw->epoch);
        if (sim_chance(sim, 10) && sim_host_is_settled(sim, raw->author->document, &durable) && durable == raw->rev) {
                verify(raw);
        }
}

void sim_raw_hear_delta(struct sim_link *link, const struct scn_message_delta *message)
{
        struct sim_raw *raw = find_raw(link, message->view, SCN_ABSENT);
        if (raw == NULL || !raw->is_viewed) {
                return; /* it was under way when the view was changed */
        }
        const bool is_good = scn_grow(
                (void **)&raw->parts, &raw->parts_capacity, sizeof *raw->parts, raw->parts_count + 1, SIZE_MAX);
        uint8_t *bytes = scn_alloc(message->columns.size);
        SCN_ASSERT(is_good && bytes != NULL);
        memcpy(bytes, message->columns.data, message->columns.size);
        raw->parts[raw->parts_count++] = bytes;
        const enum scn_error error = scn_columns_decode((struct scn_slice){bytes, message->columns.size}, &raw->delta);
        if (error != SCN_OK) {
                sim_fail(link->sim, "a delta cannot be read: %s", scn_error_code(error));
        }
        if (!message->more) {
                apply(raw, link, message);
                forget_parts(raw);
        }
}

/* --- At rest --- */

const char *sim_raws_why_not_quiet(const struct sim_author *author)
{
        for (size_t i = 0; i < SIM_RAWS_MAX; i++) {
                const struct sim_raw *raw = &author->raws[i];
                if (raw->number != 0 && (raw->link != author->link->number || !raw->is_viewed || !raw->has_state)) {
                        return "a raw view has not come";
                }
        }
        return NULL;
}

static bool is_same_world(const struct sim_world *a, const struct sim_world *b)
{
        return scn_uid_equal(a->uid, b->uid) && a->overflows == b->overflows &&
                (a->overflows || memcmp(&a->matrix, &b->matrix, sizeof a->matrix) == 0);
}

static void verify_worlds(const struct sim_raw *raw)
{
        const struct sim *sim = raw->author->sim;
        struct sim_world *worlds;
        const size_t count = sim_inside_worlds(sim, raw->author->document, raw->root, &worlds);
        if (count != raw->worlds_count) {
                sim_fail(sim, "author %u has %zu nodes in a view of worlds of %zu", raw->author->index,
                        raw->worlds_count, count);
        }
        for (size_t i = 0; i < count; i++) {
                const struct sim_world *own = find_world(raw, worlds[i].id);
                if (own == NULL || !is_same_world(own, &worlds[i])) {
                        sim_fail(sim, "author %u: %s in a view of worlds", raw->author->index,
                                own == NULL ? "a node is missing" : "a matrix is wrong");
                }
        }
        scn_free(worlds);
}

static void verify(const struct sim_raw *raw)
{
        const struct sim_author *author = raw->author;
        if (is_of_worlds(raw)) {
                verify_worlds(raw);
                return;
        }
        const uint32_t mask = raw->mask | SCN_MASK_STRUCTURE;
        const struct scn_digests digests = scn_document_digests(raw->document);
        const struct scn_digest mine = scn_digests_combine(&digests, mask);
        const struct scn_digest there = sim_host_digest(author->sim, author->document, raw->root, mask);
        if (mine.low != there.low || mine.high != there.high) {
                sim_fail(author->sim, "author %u, mask %x: a view that may have changed is not what the server has",
                        author->index, mask);
        }
}

void sim_raws_verify(const struct sim_author *author)
{
        for (size_t i = 0; i < SIM_RAWS_MAX; i++) {
                if (author->raws[i].number != 0) {
                        verify(&author->raws[i]);
                }
        }
}
