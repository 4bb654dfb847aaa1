/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* presence, preview, lock, unlock: read, checked and bounded, then handed to live.c and lock.c. */

#include "protocol/base/alloc.h"
#include "protocol/base/uid.h"
#include "protocol/scene/transform.h"
#include "server/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is wrong with the first two, which are not answered, is said all the same. */

/* --- presence --- */

void scn_handle_presence(struct scn_session *session, const struct scn_message_presence *message)
{
        const struct scn_slice none = {NULL, 0};
        const struct scn_slice present = session->presence == NULL ? none : session->presence->bytes;
        struct scn_buffer merged;
        scn_buffer_init(&merged, SCN_LIVE_presence_bytes_max);
        enum scn_error error = scn_presence_merge(present, message->map, &session->server->options.limits, &merged);
        const struct scn_slice bytes = {merged.size == 0 ? NULL : merged.data, (uint32_t)merged.size};
        const bool is_same = error == SCN_OK && bytes.size == present.size &&
                (bytes.size == 0 || memcmp(bytes.data, present.data, bytes.size) == 0);
        if (error == SCN_OK && !is_same) {
                error = scn_live_set_presence(session, bytes);
        }
        if (error != SCN_OK || is_same || bytes.data == NULL) {
                scn_buffer_finish(&merged);
        }
        if (error == SCN_E_TOO_LARGE) {
                scn_session_fail_limit(session, SCN_ABSENT, error, "presence", "presence_bytes_max",
                        (uint64_t)SCN_LIVE_presence_bytes_max);
        } else if (error != SCN_OK) {
                scn_session_fail_field(session, SCN_ABSENT, error, "presence");
        }
}

/* --- preview --- */

static int compare_wishes(const void *a, const void *b)
{
        const struct scn_live_wish *left = a;
        const struct scn_live_wish *right = b;
        return left->id != right->id ? (left->id > right->id) - (left->id < right->id)
                                     : (left->order > right->order) - (left->order < right->order);
}

/* By id; of a node that is named more than once the last counts. */
static size_t sort_wishes(struct scn_live_wish *wishes, size_t count)
{
        size_t kept = 0;
        if (count > 1) {
                qsort(wishes, count, sizeof *wishes, compare_wishes);
        }
        for (size_t i = 0; i < count; i++) {
                if (i + 1 == count || wishes[i + 1].id != wishes[i].id) {
                        wishes[kept++] = wishes[i];
                }
        }
        return kept;
}

/* The node, not there now, of which the session previews something; 0: there is none. Previews are sorted by id: for a
 * uid each is looked at, which takes a step. */
static scn_node_id find_previewed(
        const struct scn_session *session, const struct scn_node_ref *ref, uint64_t *steps_left)
{
        if (ref->kind == SCN_REF_ID) {
                return scn_live_find_preview(session, ref->id) != NULL ? ref->id : 0;
        }
        for (size_t i = 0; ref->kind == SCN_REF_UID && *steps_left > 0 && i < session->previews_count; i++) {
                --*steps_left;
                if (scn_uid_equal(session->previews[i]->uid, ref->uid)) {
                        return session->previews[i]->id;
                }
        }
        return 0;
}

/* A node that is gone, or that somebody else has locked meanwhile, is not the sender's fault. What is previewed of one
 * that is gone holds yet: the edit that removed it may be taken back, and must not bring what was shown before. */
static enum scn_error read_wish(struct scn_session *session, struct scn_unpacker *unpacker, uint64_t *steps_left,
        struct scn_live_wish *wish, bool *is_wanted_out)
{
        struct scn_preview_wish read = scn_unpack_preview_wish(unpacker);
        bool was_changed;
        *is_wanted_out = false;
        if (unpacker->error != SCN_OK) {
                return unpacker->error;
        }
        if ((read.fields & SCN_FIELDS_ROTATION) != 0) {
                const enum scn_error error = scn_quaternion_normalise(read.trs.r, &was_changed);
                if (error != SCN_OK) {
                        return error;
                }
        }
        const enum scn_error error =
                scn_document_find_within(scn_room_document(session->room), &read.node, steps_left, &wish->id);
        if (error == SCN_E_NO_NODE || error == SCN_E_GONE) {
                wish->id = find_previewed(session, &read.node, steps_left);
                wish->fields = read.fields;
                wish->trs = read.trs;
                *is_wanted_out = wish->id != 0;
                return SCN_OK;
        }
        /* What it showed before would be out of date. */
        wish->fields = error == SCN_OK && !scn_lock_bars_preview(session, wish->id) ? read.fields : 0;
        wish->trs = read.trs;
        *is_wanted_out = error == SCN_OK;
        return error;
}

static enum scn_error read_wishes(
        struct scn_session *session, struct scn_slice nodes, struct scn_live_wish **wishes_out, size_t *count_out)
{
        struct scn_unpacker unpacker = scn_unpacker_from(nodes);
        const uint32_t count = scn_unpack_array(&unpacker);
        uint64_t steps_left = scn_document_limits(scn_room_document(session->room))->path_steps_max;
        enum scn_error error = unpacker.error;
        *count_out = 0;
        *wishes_out = NULL;
        if (error != SCN_OK || count == 0) {
                return error;
        }
        *wishes_out = scn_alloc_zero(count, sizeof **wishes_out);
        if (*wishes_out == NULL) {
                return SCN_E_NO_MEMORY;
        }
        for (uint32_t i = 0; i < count && error == SCN_OK; i++) {
                struct scn_live_wish *wish = &(*wishes_out)[*count_out];
                bool is_wanted;
                wish->order = i;
                error = read_wish(session, &unpacker, &steps_left, wish, &is_wanted);
                *count_out += error == SCN_OK && is_wanted;
        }
        return error;
}

void scn_handle_preview(struct scn_session *session, const struct scn_message_preview *message)
{
        struct scn_live_wish *wishes;
        size_t count;
        enum scn_error error = read_wishes(session, message->nodes, &wishes, &count);
        if (error == SCN_OK && wishes == NULL) {
                scn_live_end_previews(session);
        } else if (error == SCN_OK) {
                error = scn_live_set_previews(session, wishes, sort_wishes(wishes, count));
        }
        scn_free(wishes);
        if (error != SCN_OK) {
                scn_session_fail_field(session, SCN_ABSENT, error, "preview");
        }
}

/* --- lock, unlock --- */

/* The nodes that a request names, in its order and by id. */
struct named {
        scn_node_id *ids; /* owned, with `sorted` behind it */
        size_t count;
        scn_node_id *sorted;
        size_t sorted_count;
        struct scn_node_ref lost; /* the one that led to no node */
        bool is_unread;           /* what is there cannot be read as nodes */
};

static int compare_ids(const void *a, const void *b)
{
        const scn_node_id left = *(const scn_node_id *)a;
        const scn_node_id right = *(const scn_node_id *)b;
        return (left > right) - (left < right);
}

/* `named` is the caller's to free, also when this fails. */
static enum scn_error read_nodes(
        const struct scn_session *session, struct scn_slice nodes, uint32_t count_max, struct named *named)
{
        struct scn_unpacker unpacker = scn_unpacker_from(nodes);
        const uint32_t count = scn_unpack_array(&unpacker);
        uint64_t steps_left = scn_document_limits(scn_room_document(session->room))->path_steps_max;
        *named = (struct named){.lost = {.kind = SCN_REF_NONE}};
        named->is_unread = unpacker.error != SCN_OK;
        if (named->is_unread || count > count_max) {
                return named->is_unread ? unpacker.error : SCN_E_TOO_MANY_LOCKS;
        }
        /* Each took a byte at least, so this is no more than what a message may have. */
        named->ids = scn_alloc_zero(2 * (size_t)count + 1, sizeof *named->ids);
        if (named->ids == NULL) {
                return SCN_E_NO_MEMORY;
        }
        named->sorted = named->ids + count;
        for (uint32_t i = 0; i < count; i++) {
                const struct scn_node_ref ref = scn_unpack_ref(&unpacker);
                named->is_unread = unpacker.error != SCN_OK;
                if (named->is_unread) {
                        return unpacker.error;
                }
                const enum scn_error error = scn_document_find_within(
                        scn_room_document(session->room), &ref, &steps_left, &named->ids[named->count++]);
                if (error != SCN_OK) {
                        named->lost = ref;
                        return error;
                }
        }
        memcpy(named->sorted, named->ids, count * sizeof named->ids[0]);
        qsort(named->sorted, count, sizeof named->sorted[0], compare_ids);
        for (size_t i = 0; i < count; i++) {
                if (i == 0 || named->sorted[i] != named->sorted[i - 1]) {
                        named->sorted[named->sorted_count++] = named->sorted[i];
                }
        }
        return SCN_OK;
}

static void answer(struct scn_session *session, uint64_t request, struct scn_buffer *body, enum scn_error error)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_answer);
        message.as.answer.request = request;
        message.as.answer.body = (struct scn_slice){body->data, (uint32_t)body->size};
        if (error == SCN_OK) {
                scn_session_send(session, &message);
        } else {
                scn_session_fail(session, request, error, NULL);
        }
        scn_buffer_finish(body);
}

static void fail_nodes(struct scn_session *session, uint64_t request, const char *field, enum scn_error error,
        const struct named *named)
{
        struct scn_said said;
        if (named->is_unread) {
                scn_session_fail_nodes(session, request, error, field);
                return;
        }
        scn_session_fail_said(session, request, error,
                scn_about_node(
                        &said, "node", &named->lost, error, scn_document_limits(scn_room_document(session->room))));
}

static void answer_locked(struct scn_session *session, uint64_t request, const struct named *named)
{
        struct scn_buffer body;
        scn_buffer_init(&body, SCN_MESSAGE_BYTES_MAX - 64);
        struct scn_packer packer = scn_packer_to(&body);
        scn_pack_array(&packer, (uint32_t)named->count);
        for (size_t i = 0; i < named->count; i++) {
                scn_pack_uid(&packer, scn_document_node(scn_room_document(session->room), named->ids[i]).uid);
        }
        answer(session, request, &body, packer.error);
}

static void fail_lock(
        struct scn_session *session, uint64_t request, enum scn_error error, const struct scn_live_entry *blocker)
{
        struct scn_said said;
        if (blocker == NULL) {
                scn_session_fail(session, request, error, NULL);
                return;
        }
        scn_session_fail_said(
                session, request, error, scn_about_lock(&said, blocker->uid, blocker->bytes, blocker->session));
}

void scn_handle_lock(struct scn_session *session, const struct scn_message_lock *message)
{
        const uint64_t ttl = message->ttl == SCN_ABSENT ? SCN_LOCK_TTL_S : message->ttl;
        const uint64_t mask = message->mask == SCN_ABSENT ? SCN_MASK_DURABLE : message->mask & SCN_MASK_DURABLE;
        const struct scn_live_entry *blocker = NULL;
        struct named named;
        if (mask == 0) {
                scn_session_fail(session, message->request, SCN_E_RANGE, "lock.mask: of no channel that can be locked");
                return;
        }
        if (ttl == 0 || ttl > SCN_LIVE_lock_ttl_max) {
                char text[80];
                (void)snprintf(
                        text, sizeof text, "lock.ttl: from 1 second to lock_ttl_max = %u", SCN_LIVE_lock_ttl_max);
                scn_session_fail(session, message->request, SCN_E_RANGE, text);
                return;
        }
        enum scn_error error = read_nodes(session, message->nodes, SCN_LIVE_locks_max, &named);
        if (error != SCN_OK) {
                fail_nodes(session, message->request, "lock.nodes", error, &named);
                scn_free(named.ids);
                return;
        }
        const struct scn_lock_wish wish = {
                .ids = named.sorted,
                .ids_count = named.sorted_count,
                .mask = (uint32_t)mask,
                .has_subtree = message->subtree,
                .ttl_ms = ttl * 1000,
        };
        error = scn_lock_take(session, &wish, &blocker);
        if (error == SCN_OK) {
                answer_locked(session, message->request, &named);
        } else {
                fail_lock(session, message->request, error, blocker);
        }
        scn_free(named.ids);
}

/* As many as a message can name: an author's sessions together may hold more than one of them can. */
void scn_handle_unlock(struct scn_session *session, const struct scn_message_unlock *message)
{
        struct scn_buffer body;
        struct named named = {.ids = NULL};
        const bool is_all = message->nodes.data == NULL;
        const enum scn_error error = is_all ? SCN_OK : read_nodes(session, message->nodes, UINT32_MAX, &named);
        if (error != SCN_OK) {
                fail_nodes(session, message->request, "unlock.nodes", error, &named);
                scn_free(named.ids);
                return;
        }
        const uint32_t count =
                is_all ? scn_lock_release_all(session) : scn_lock_release(session, named.sorted, named.sorted_count);
        scn_free(named.ids);
        scn_buffer_init(&body, 64);
        struct scn_packer packer = scn_packer_to(&body);
        scn_pack_uint(&packer, count);
        answer(session, message->request, &body, packer.error);
}
