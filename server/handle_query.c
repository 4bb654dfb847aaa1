/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Questions, answered at once from the applied state; the answer says that revision and the durable one. */

#include "protocol/base/alloc.h"
#include "protocol/base/uid.h"
#include "protocol/scene/digest.h"
#include "protocol/scene/transform.h"
#include "server/answers.h"
#include "server/core.h"
#include "server/live.h"
#include "server/room_open.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BODY_BYTES_MAX (SCN_MESSAGE_BYTES_MAX - 64)
#define PART_BYTES (256u << 10)
/* Of one node, and how many make a part, usually: room made at once. */
#define WORLD_BYTES_USUAL 212u
#define WORLDS_OF_A_PART (PART_BYTES / WORLD_BYTES_USUAL + 2)
#define ARRAY_HEAD_BYTES_MAX 5u

/* --- Answers gathered, on the loop or on a worker --- */

void scn_answers_finish(struct scn_answers *answers)
{
        for (size_t i = 0; i < answers->count; i++) {
                scn_shared_bytes_unref(answers->frames[i]);
        }
        scn_free(answers->frames);
        *answers = (struct scn_answers){0};
}

void scn_answers_fail(struct scn_answers *answers, enum scn_error error)
{
        answers->error = answers->error == SCN_OK ? error : answers->error;
}

void scn_answers_exceed(struct scn_answers *answers, const char *limit, uint64_t allowed)
{
        if (answers->error == SCN_OK) {
                answers->error = SCN_E_TOO_LARGE;
                answers->limit = limit;
                answers->allowed = allowed;
        }
}

void scn_answers_reject(struct scn_answers *answers, const char *field, enum scn_error error)
{
        if (answers->error == SCN_OK && error != SCN_OK) {
                answers->error = error;
                answers->field = field;
        }
}

void scn_answers_add_message(struct scn_answers *answers, const struct scn_message *message)
{
        if (answers->error != SCN_OK) {
                return;
        }
        struct scn_shared_bytes *frame = scn_session_frame(message);
        if (frame == NULL ||
                !scn_grow((void **)&answers->frames, &answers->capacity, sizeof(struct scn_shared_bytes *),
                        answers->count + 1, SIZE_MAX)) {
                scn_shared_bytes_unref(frame);
                scn_answers_fail(answers, SCN_E_NO_MEMORY);
                return;
        }
        answers->frames[answers->count++] = frame;
        answers->bytes += frame->size;
}

static void add_body(struct scn_answers *answers, struct scn_slice body, bool more)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_answer);
        message.as.answer.request = answers->request;
        message.as.answer.body = body;
        message.as.answer.more = more;
        message.as.answer.rev = answers->rev;
        message.as.answer.durable = answers->durable;
        scn_answers_add_message(answers, &message);
}

void scn_answers_add(struct scn_answers *answers, struct scn_packer *packer, bool more)
{
        if (packer->error != SCN_OK) {
                scn_answers_fail(answers, packer->error);
        } else {
                add_body(answers, (struct scn_slice){packer->buffer->data, (uint32_t)packer->buffer->size}, more);
        }
}

void scn_answers_send(struct scn_answers *answers, struct scn_session *session, const char *text)
{
        if (answers->error != SCN_OK && answers->limit != NULL) {
                scn_session_fail_limit(
                        session, answers->request, answers->error, "world.nodes", answers->limit, answers->allowed);
                return;
        }
        if (answers->error != SCN_OK && text == NULL && answers->field != NULL) {
                scn_session_fail_nodes(session, answers->request, answers->error, answers->field);
                return;
        }
        if (answers->error != SCN_OK) {
                scn_session_fail(session, answers->request, answers->error, text);
                return;
        }
        for (size_t i = 0; i < answers->count; i++) {
                scn_session_send_shared(session, answers->frames[i]);
        }
}

struct scn_answers scn_answers_about(const struct scn_session *session, uint64_t request)
{
        struct scn_answers answers = {.request = request, .rev = SCN_ABSENT, .durable = SCN_ABSENT};
        if (session->room != NULL && scn_room_document(session->room) != NULL) {
                answers.rev = scn_document_revision(scn_room_document(session->room));
                answers.durable = session->room->durable;
        }
        return answers;
}

static void finish(struct scn_session *session, struct scn_answers *answers)
{
        scn_answers_send(answers, session, NULL);
        scn_answers_finish(answers);
}

static void finish_body(struct scn_session *session, uint64_t request, struct scn_packer *packer)
{
        struct scn_answers answers = scn_answers_about(session, request);
        scn_answers_add(&answers, packer, false);
        finish(session, &answers);
        scn_buffer_finish(packer->buffer);
}

/* A body is an array, whose count must be known first: elements are gathered behind room for its head. */
static struct scn_packer begin_elements(struct scn_buffer *elements, size_t bytes)
{
        static const uint8_t room[ARRAY_HEAD_BYTES_MAX];
        scn_buffer_init(elements, BODY_BYTES_MAX);
        struct scn_packer packer = scn_packer_to(elements);
        packer.error = scn_buffer_reserve(elements, bytes);
        if (packer.error == SCN_OK) {
                packer.error = scn_buffer_append(elements, room, sizeof room);
        }
        return packer;
}

static bool is_part(const struct scn_buffer *elements)
{
        return elements->size > PART_BYTES + ARRAY_HEAD_BYTES_MAX;
}

static void add_part(struct scn_answers *answers, struct scn_packer *packer, uint32_t count, bool more)
{
        uint8_t bytes[ARRAY_HEAD_BYTES_MAX];
        struct scn_buffer head = {.data = bytes, .capacity = sizeof bytes, .size_max = sizeof bytes};
        struct scn_packer head_packer = scn_packer_to(&head);
        struct scn_buffer *elements = packer->buffer;
        scn_answers_fail(answers, packer->error);
        if (answers->error != SCN_OK) {
                return;
        }
        scn_pack_array(&head_packer, count);
        uint8_t *start = elements->data + ARRAY_HEAD_BYTES_MAX - head.size;
        memcpy(start, bytes, head.size);
        const size_t size = elements->size - ARRAY_HEAD_BYTES_MAX + head.size;
        add_body(answers, (struct scn_slice){start, (uint32_t)size}, more);
        elements->size = ARRAY_HEAD_BYTES_MAX;
}

/* --- world --- */

static void pack_floats(struct scn_packer *packer, uint32_t key, const float *floats, uint32_t count)
{
        scn_pack_uint(packer, key);
        scn_pack_floats(packer, floats, count);
}

/* What the nodes of one question have in common. */
struct asked {
        const struct scn_document *document;
        const struct scn_node_ref *relative;
        scn_node_id frame; /* what `relative` names; 0: the world's, or there is none because of ... */
        enum scn_error frame_error;
        /* Children that may still be looked at: to find nodes by path, and to tell the paths of nodes. */
        uint64_t find_steps;
        uint64_t tell_steps;
        struct scn_paths paths;
        struct scn_affine
                decomposed; /* the world told last, and what it gave; at first no number, which none is like */
        struct scn_trs trs;
};

static bool is_same_linear_part(const struct scn_affine *a, const struct scn_affine *b)
{
        for (size_t row = 0; row < 12; row += 4) {
                if (memcmp(&a->m[row], &b->m[row], 3 * sizeof a->m[0]) != 0) {
                        return false;
                }
        }
        return true;
}

/* Rotation and scale depend on nothing but the linear part, which neighbours often have in common. */
static void decompose(struct asked *asked, const struct scn_affine *world)
{
        struct scn_trs *trs = &asked->trs;
        if (is_same_linear_part(world, &asked->decomposed)) {
                for (size_t i = 0; i < 3; i++) {
                        trs->t[i] = world->m[4 * i + 3];
                }
                return;
        }
        struct scn_affine64 wide;
        for (int i = 0; i < 12; i++) {
                wide.m[i] = (double)world->m[i];
        }
        *trs = scn_transform_decompose(&wide, NULL);
        asked->decomposed = *world;
}

/* Nil where telling it would cost more steps than are left. */
static void pack_path(struct scn_packer *packer, struct asked *asked, uint32_t slot)
{
        const struct scn_buffer *path = &asked->paths.text;
        const enum scn_error error = scn_document_tell_path(asked->document, slot, &asked->tell_steps, &asked->paths);
        if (error == SCN_E_PATH_TOO_LONG) {
                scn_pack_nil(packer);
        } else if (error == SCN_OK) {
                scn_pack_text(packer, (struct scn_slice){path->data, (uint32_t)path->size});
        } else if (packer->error == SCN_OK) {
                packer->error = error;
        }
}

/* The node's, or its frame's, which is told with each node. Nothing is looked up again for it: that would be a search
 * of its own for every node of the question. */
static void pack_error(struct scn_packer *packer, const struct asked *asked, const char *what,
        const struct scn_node_ref *ref, enum scn_error error)
{
        struct scn_said said;
        const char *text = scn_about_node(&said, what, ref, error, scn_document_limits(asked->document));
        scn_pack_map(packer, 2);
        scn_pack_uint(packer, 9);
        scn_pack_cstring(packer, scn_error_code(error));
        scn_pack_uint(packer, 10);
        scn_pack_cstring(packer, text);
}

static void pack_world(struct scn_packer *packer, struct asked *asked, const struct scn_node_ref *ref)
{
        struct scn_located located;
        float matrix[16];
        const enum scn_error error =
                scn_document_locate(asked->document, ref, asked->frame, &asked->find_steps, &located);
        if (error != SCN_OK && error != SCN_E_SINGULAR) {
                pack_error(packer, asked, "node", ref, error);
                return;
        }
        if (error != SCN_OK || asked->frame_error != SCN_OK) {
                pack_error(packer, asked, "relative", asked->relative, error != SCN_OK ? error : asked->frame_error);
                return;
        }
        decompose(asked, &located.world);
        scn_affine_to_mat4(&located.world, matrix);
        scn_pack_map(packer, 6);
        scn_pack_uint(packer, 0);
        scn_pack_uid(packer, located.uid);
        scn_pack_uint(packer, 1);
        pack_path(packer, asked, located.slot);
        pack_floats(packer, 2, matrix, 16);
        pack_floats(packer, 3, asked->trs.t, 3);
        pack_floats(packer, 4, asked->trs.r, 4);
        pack_floats(packer, 5, asked->trs.s, 3);
}

static void find_frame(struct asked *asked)
{
        if (asked->relative->kind != SCN_REF_NONE) {
                asked->frame_error =
                        scn_document_find_within(asked->document, asked->relative, &asked->find_steps, &asked->frame);
        }
}

static void check_worlds(struct scn_answers *answers)
{
        if (answers->bytes > SCN_SERVER_world_bytes_max) {
                scn_answers_exceed(answers, "world_bytes_max", SCN_SERVER_world_bytes_max);
        }
}

void scn_query_world(
        const struct scn_document *document, const struct scn_message_world *message, struct scn_answers *answers)
{
        struct scn_buffer elements;
        struct scn_unpacker nodes = scn_unpacker_from(message->nodes);
        const uint32_t count = scn_unpack_array(&nodes);
        const uint64_t steps_max = scn_document_limits(document)->path_steps_max;
        struct asked asked = {
                .document = document,
                .relative = &message->relative,
                .find_steps = steps_max,
                .tell_steps = steps_max,
                .decomposed = {{NAN}},
        };
        uint32_t gathered = 0;
        if (count > SCN_SERVER_world_nodes_max) {
                scn_answers_exceed(answers, "world_nodes_max", SCN_SERVER_world_nodes_max);
                return;
        }
        find_frame(&asked);
        scn_buffer_init(&asked.paths.text, BODY_BYTES_MAX);
        struct scn_packer packer =
                begin_elements(&elements, (count < WORLDS_OF_A_PART ? count : WORLDS_OF_A_PART) * WORLD_BYTES_USUAL);
        for (uint32_t i = 0; i < count && nodes.error == SCN_OK && packer.error == SCN_OK; i++) {
                const struct scn_node_ref ref = scn_unpack_ref(&nodes);
                if (nodes.error == SCN_OK) {
                        pack_world(&packer, &asked, &ref);
                        gathered++;
                }
                if (is_part(&elements) && i + 1 < count) {
                        add_part(answers, &packer, gathered, true);
                        gathered = 0;
                }
                check_worlds(answers);
                packer.error = packer.error == SCN_OK ? answers->error : packer.error;
        }
        if (packer.error == SCN_OK && !scn_unpack_is_done(&nodes)) {
                scn_answers_reject(answers, "world.nodes", nodes.error != SCN_OK ? nodes.error : SCN_E_BAD_MESSAGE);
        }
        add_part(answers, &packer, gathered, false);
        check_worlds(answers);
        scn_buffer_finish(&elements);
        scn_buffer_finish(&asked.paths.text);
}

/* --- tree --- */

/* Properties from field number `at` on that make up about a part. Returns where the next part begins: behind the last
 * field if there is none. */
static uint32_t count_properties(const struct scn_document *document, scn_node_id id, uint32_t at, uint32_t *count_out)
{
        const uint32_t fields_count = scn_document_node(document, id).property_fields_count;
        size_t bytes = 0;
        *count_out = 0;
        for (; at < fields_count; at++) {
                const struct scn_property property = scn_document_property(document, id, at, NULL);
                if (property.value.data != NULL && bytes > PART_BYTES) {
                        break;
                }
                if (property.value.data != NULL) {
                        bytes += property.key.size + property.value.size;
                        ++*count_out;
                }
        }
        return at;
}

/* Returns where the next part begins, as above. */
static uint32_t pack_properties(
        struct scn_packer *packer, const struct scn_document *document, scn_node_id id, uint32_t at)
{
        uint32_t count;
        const uint32_t end = count_properties(document, id, at, &count);
        scn_pack_uint(packer, 7);
        scn_pack_map(packer, count);
        for (; at < end; at++) {
                const struct scn_property property = scn_document_property(document, id, at, NULL);
                if (property.value.data != NULL) {
                        scn_pack_text(packer, property.key);
                        scn_pack_raw(packer, property.value);
                }
        }
        return end;
}

/* A node, or, from property field number `at` on, what is left of one. Returns as above. */
static uint32_t pack_node(struct scn_packer *packer, const struct scn_document *document, scn_node_id id, uint32_t at)
{
        const struct scn_node_view node = scn_document_node(document, id);
        scn_pack_map(packer, at == 0 ? 8 : 4);
        scn_pack_uint(packer, 0);
        scn_pack_uint(packer, node.id);
        scn_pack_uint(packer, 1);
        scn_pack_uid(packer, node.uid);
        if (at > 0) {
                at = pack_properties(packer, document, id, at);
                scn_pack_uint(packer, 8);
                scn_pack_bool(packer, true);
                return at;
        }
        scn_pack_uint(packer, 2);
        if (node.parent == 0) {
                scn_pack_nil(packer);
        } else {
                scn_pack_uid(packer, scn_document_node(document, node.parent).uid);
        }
        scn_pack_uint(packer, 3);
        if (node.name.data == NULL) {
                scn_pack_nil(packer);
        } else {
                scn_pack_text(packer, node.name);
        }
        pack_floats(packer, 4, node.trs.t, 3);
        pack_floats(packer, 5, node.trs.r, 4);
        pack_floats(packer, 6, node.trs.s, 3);
        return pack_properties(packer, document, id, 0);
}

/* The next node of the walk that is not below the depth asked for. */
static scn_node_id next_node(const struct scn_document *document, scn_node_id top, scn_node_id id, uint64_t levels)
{
        const uint32_t base = scn_document_depth(document, top);
        do {
                id = scn_document_walk(document, top, id);
        } while (id != 0 && levels != SCN_ABSENT && scn_document_depth(document, id) - base > levels);
        return id;
}

void scn_query_tree(
        const struct scn_document *document, const struct scn_message_tree *message, struct scn_answers *answers)
{
        scn_node_id top = scn_document_root(document);
        if (message->node.kind != SCN_REF_NONE) {
                const enum scn_error error = scn_document_find(document, &message->node, &top);
                if (error != SCN_OK) {
                        scn_answers_fail(answers, error);
                        return;
                }
        }
        struct scn_buffer nodes;
        struct scn_packer packer = begin_elements(&nodes, 0);
        uint32_t count = 0;
        uint32_t at = 0; /* property field of the node, if it is told in several pieces */
        scn_node_id id = top;
        while (id != 0 && packer.error == SCN_OK) {
                at = pack_node(&packer, document, id, at);
                count++;
                if (at >= scn_document_node(document, id).property_fields_count) {
                        id = next_node(document, top, id, message->depth);
                        at = 0;
                }
                if (is_part(&nodes) && id != 0) {
                        add_part(answers, &packer, count, true);
                        count = 0;
                }
        }
        add_part(answers, &packer, count, false);
        scn_buffer_finish(&nodes);
}

/* --- digest, info, who --- */

void scn_pack_digest(struct scn_packer *packer, const struct scn_digests *digests)
{
        const struct scn_digest sum = scn_digests_combine(digests, SCN_MASK_ALL);
        uint8_t bytes[16];
        for (int i = 0; i < 8; i++) {
                bytes[i] = (uint8_t)(sum.high >> (56 - 8 * i));
                bytes[8 + i] = (uint8_t)(sum.low >> (56 - 8 * i));
        }
        scn_pack_bin(packer, bytes, sizeof bytes);
}

void scn_query_digest(
        const struct scn_document *document, const struct scn_message_digest *message, struct scn_answers *answers)
{
        struct scn_digests digests = scn_document_digests(document);
        const uint32_t mask = message->mask == SCN_ABSENT ? SCN_MASK_ALL : (uint32_t)message->mask;
        if (message->node.kind != SCN_REF_NONE) {
                scn_node_id id;
                const enum scn_error error = scn_document_find(document, &message->node, &id);
                if (error != SCN_OK) {
                        scn_answers_fail(answers, error);
                        return;
                }
                digests = scn_document_subtree_digests(document, id, mask);
        }
        for (uint32_t channel = 0; channel < SCN_CHANNEL_COUNT; channel++) {
                if ((mask >> channel & 1) == 0) {
                        digests.channels[channel] = (struct scn_digest){0, 0};
                }
        }
        struct scn_buffer body;
        scn_buffer_init(&body, BODY_BYTES_MAX);
        struct scn_packer packer = scn_packer_to(&body);
        scn_pack_digest(&packer, &digests);
        scn_answers_add(answers, &packer, false);
        scn_buffer_finish(&body);
}

/* --- Any of these, about the live document --- */

void scn_query(struct scn_document *document, const struct scn_message *message, struct scn_answers *answers)
{
        if (message->kind == SCN_MESSAGE_world) {
                struct scn_unpacker nodes = scn_unpacker_from(message->as.world.nodes);
                scn_document_prepare_worlds(document, scn_unpack_array(&nodes));
                scn_query_world(document, &message->as.world, answers);
        } else if (message->kind == SCN_MESSAGE_tree) {
                scn_query_tree(document, &message->as.tree, answers);
        } else {
                scn_query_digest(document, &message->as.digest, answers);
        }
}

bool scn_handle_query(struct scn_session *session, const struct scn_message *message)
{
        if (scn_query_is_long(session, message)) {
                return scn_query_lend(session, message);
        }
        struct scn_answers answers = scn_answers_about(session, message->as.ping.request); /* the first field of all */
        scn_query(scn_room_document(session->room), message, &answers);
        finish(session, &answers);
        return true;
}

static void pack_named(struct scn_packer *packer, const char *name, uint64_t value)
{
        scn_pack_cstring(packer, name);
        scn_pack_uint(packer, value);
}

#define PACK_COUNTER(name, what) pack_named(packer, #name, counters->name);

static void pack_room_counters(struct scn_packer *packer, const struct scn_room_counters *counters)
{
        scn_pack_cstring(packer, "counters");
        scn_pack_map(packer, SCN_ROOM_COUNTERS);
        SCN_ROOM_COUNTER_LIST(PACK_COUNTER)
}

static void pack_session_counters(struct scn_packer *packer, const struct scn_session_counters *counters)
{
        scn_pack_cstring(packer, "counters");
        scn_pack_map(packer, SCN_SESSION_COUNTERS);
        SCN_SESSION_COUNTER_LIST(PACK_COUNTER)
}

void scn_handle_info(struct scn_session *session, uint64_t request)
{
        const struct scn_room *room = session->room;
        char epoch[17];
        uint32_t sessions = 0;
        for (const struct scn_session *at = room->sessions; at != NULL; at = at->next_in_room) {
                sessions += at->state == SCN_SESSION_OPEN;
        }
        /* The bytes of `opened`, in their order. */
        for (size_t i = 0; i < sizeof room->epoch; i++) {
                (void)snprintf(epoch + 2 * i, 3, "%02x", ((const uint8_t *)&room->epoch)[i]);
        }
        struct scn_buffer body;
        scn_buffer_init(&body, BODY_BYTES_MAX);
        struct scn_packer packer = scn_packer_to(&body);
        struct scn_origin origin = {.revision = 0};
        const bool is_fork = scn_origin_decode(scn_journal_origin(room->journal), &origin) == SCN_OK &&
                !scn_uid_is_none(origin.source);
        scn_pack_map(&packer, 10u + (is_fork ? 2u : 0u) + (room->folded_us != 0));
        scn_pack_cstring(&packer, "doc");
        scn_pack_text(&packer, room->name);
        pack_named(&packer, "rev", scn_document_revision(scn_room_document(room)));
        pack_named(&packer, "durable", room->durable);
        scn_pack_cstring(&packer, "epoch");
        scn_pack_cstring(&packer, epoch);
        pack_named(&packer, "nodes", scn_document_nodes_count(scn_room_document(room)));
        pack_named(&packer, "horizon", scn_document_horizon(scn_room_document(room)));
        pack_named(&packer, "base", room->base);
        pack_named(&packer, "folded_to", room->folded_to);
        if (room->folded_us != 0) {
                pack_named(&packer, "folded_at", room->folded_us);
        }
        pack_named(&packer, "sessions", sessions);
        pack_room_counters(&packer, &room->counters);
        if (is_fork) {
                scn_pack_cstring(&packer, "forked_from");
                scn_pack_uid(&packer, origin.source);
                pack_named(&packer, "forked_at", origin.revision);
        }
        finish_body(session, request, &packer);
}

/* Revisions that the view lacks which lacks most. Where nothing is owed a cursor may stand still. */
static uint64_t count_lacking(const struct scn_session *session)
{
        uint64_t most = 0;
        for (const struct scn_view *view = session->views; view != NULL && session->is_behind; view = view->next) {
                const uint64_t lacking = session->room->durable - view->cursor;
                most = lacking > most ? lacking : most;
        }
        return most;
}

static void pack_session(struct scn_packer *packer, const struct scn_session *at)
{
        scn_pack_map(packer, at->presence != NULL ? 7 : 6);
        pack_named(packer, "session", at->number);
        scn_pack_cstring(packer, "author");
        scn_pack_text(packer, (struct scn_slice){at->author, at->author_size});
        scn_pack_cstring(packer, "document");
        if (at->room == NULL) {
                scn_pack_nil(packer);
        } else {
                scn_pack_text(packer, at->room->name);
        }
        pack_named(packer, "waiting", at->outbox_bytes);
        pack_named(packer, "behind", at->room == NULL ? 0 : count_lacking(at));
        pack_session_counters(packer, &at->counters);
        if (at->presence != NULL) {
                scn_pack_cstring(packer, "presence");
                scn_pack_raw(packer, at->presence->bytes);
        }
}

void scn_handle_who(struct scn_session *session, uint64_t request)
{
        struct scn_answers answers = scn_answers_about(session, request);
        struct scn_buffer elements;
        struct scn_packer packer = begin_elements(&elements, 0);
        uint32_t count = 0;
        for (const struct scn_session *at = session->server->sessions; at != NULL; at = at->next) {
                if (at->state == SCN_SESSION_NEW || at->state == SCN_SESSION_ENDED) {
                        continue;
                }
                if (is_part(&elements)) {
                        add_part(&answers, &packer, count, true);
                        count = 0;
                }
                pack_session(&packer, at);
                count++;
        }
        add_part(&answers, &packer, count, false);
        finish(session, &answers);
        scn_buffer_finish(&elements);
}
