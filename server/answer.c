/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/answer.h"

#include "protocol/wire/result.h"

#include <string.h>

static void pack_floats(struct scn_packer *packer, uint32_t key, const float *floats, uint32_t count)
{
        scn_pack_uint(packer, key);
        scn_pack_floats(packer, floats, count);
}

/* The transform that an op led to, where it is not just what was asked for. */
static const struct scn_trs *told_trs(const struct scn_change *change)
{
        const bool is_normalised = (change->flags & SCN_CHANGE_NORMALISED) != 0;
        if (change->kind == SCN_OP_ADD && is_normalised) {
                return &change->as.add.trs;
        }
        if (change->kind == SCN_OP_TRANSFORM && is_normalised) {
                return &change->as.transform.after;
        }
        return change->kind == SCN_OP_MOVE && (change->fields & SCN_FIELDS_TRS) != 0 ? &change->as.move.trs_after
                                                                                     : NULL;
}

/* `is_brief`: only what the client cannot know otherwise. A node's uid names it as well as its id, which views tell. */
static bool has_result(const struct scn_change *change, const struct scn_edit *edit, bool is_brief)
{
        const bool is_news = change->kind == SCN_OP_ADD && (!is_brief || scn_uid_is_none(edit->ops[change->op].uid));
        return is_news || change->flags != 0 || told_trs(change) != NULL;
}

static void pack_result(struct scn_packer *packer, const struct scn_change *change)
{
        const struct scn_trs *trs = told_trs(change);
        const bool is_lossy = (change->flags & SCN_CHANGE_LOSSY) != 0;
        scn_pack_map(packer, 3u + (change->flags != 0) + (trs != NULL ? 3u : 0u) + is_lossy);
        scn_pack_uint(packer, SCN_RESULT_OP);
        scn_pack_uint(packer, change->op);
        scn_pack_uint(packer, SCN_RESULT_ID);
        scn_pack_uint(packer, change->id);
        scn_pack_uint(packer, SCN_RESULT_UID);
        scn_pack_uid(packer, change->uid);
        if (change->flags != 0) {
                scn_pack_uint(packer, SCN_RESULT_FLAGS);
                scn_pack_uint(packer, change->flags);
        }
        if (trs != NULL) {
                pack_floats(packer, SCN_RESULT_TRANSLATION, trs->t, 3);
                pack_floats(packer, SCN_RESULT_ROTATION, trs->r, 4);
                pack_floats(packer, SCN_RESULT_SCALE, trs->s, 3);
        }
        if (is_lossy) {
                scn_pack_uint(packer, SCN_RESULT_RESIDUAL);
                scn_pack_double(packer, change->as.move.residual);
        }
}

static enum scn_error encode_applied(uint64_t number, const struct scn_changes *changes, const struct scn_edit *edit,
        bool is_brief, struct scn_buffer *payload)
{
        struct scn_buffer results;
        uint32_t count = 0;
        for (uint32_t i = 0; i < scn_changes_count(changes); i++) {
                count += has_result(scn_changes_get(changes, i), edit, is_brief);
        }
        scn_buffer_init(&results, SCN_MESSAGE_BYTES_MAX);
        struct scn_packer packer = scn_packer_to(&results);
        if (count > 0) {
                scn_pack_array(&packer, count);
        }
        for (uint32_t i = 0; i < scn_changes_count(changes) && count > 0 && packer.error == SCN_OK; i++) {
                if (has_result(scn_changes_get(changes, i), edit, is_brief)) {
                        pack_result(&packer, scn_changes_get(changes, i));
                }
        }
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_applied);
        message.as.applied.number = number;
        message.as.applied.rev = scn_changes_revision(changes);
        message.as.applied.unchanged = scn_changes_count(changes) == 0;
        if (count > 0 && packer.error == SCN_OK) {
                message.as.applied.results = (struct scn_slice){results.data, (uint32_t)results.size};
        }
        enum scn_error error = packer.error;
        if (error == SCN_OK) {
                error = scn_message_encode(&message, payload);
        }
        scn_buffer_finish(&results);
        return error;
}

/* What an import of a million nodes has to be told would not fit into a message; but it knows their uids. */
enum scn_error scn_answer_encode_applied(
        uint64_t number, const struct scn_changes *changes, const struct scn_edit *edit, struct scn_buffer *payload)
{
        const enum scn_error error = encode_applied(number, changes, edit, false, payload);
        return error == SCN_E_TOO_LARGE ? encode_applied(number, changes, edit, true, payload) : error;
}

enum scn_error scn_answer_encode_taken_back(
        uint64_t number, scn_revision revision, bool is_unchanged, struct scn_slice summary, struct scn_buffer *payload)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_applied);
        message.as.applied.number = number;
        message.as.applied.rev = revision;
        message.as.applied.unchanged = is_unchanged;
        message.as.applied.summary = summary;
        return scn_message_encode(&message, payload);
}

static struct scn_slice text_of(const char *text)
{
        return (struct scn_slice){(const uint8_t *)text, (uint32_t)strlen(text)};
}

const char *scn_answer_field_word(enum scn_field field)
{
        static const char *const words[] = {"place", "name", "translation", "rotation", "scale", "property"};
        return words[field];
}

/* What a field has now, where the refusal says it. */
static void pack_value(struct scn_packer *packer, const struct scn_refusal *refusal)
{
        const struct scn_trs *trs = &refusal->trs;
        switch (refusal->field) {
        case SCN_FIELD_NAME:
                scn_pack_text(packer, refusal->value);
                break;
        case SCN_FIELD_TRANSLATION:
                scn_pack_floats(packer, trs->t, 3);
                break;
        case SCN_FIELD_ROTATION:
                scn_pack_floats(packer, trs->r, 4);
                break;
        case SCN_FIELD_SCALE:
                scn_pack_floats(packer, trs->s, 3);
                break;
        case SCN_FIELD_PLACE:
        case SCN_FIELD_PROPERTY:
                scn_pack_raw(packer, refusal->value);
                break;
        }
}

static bool has_trs(enum scn_error error, const struct scn_refusal *refusal)
{
        return error == SCN_E_CONFLICT && refusal->field >= SCN_FIELD_TRANSLATION && refusal->field <= SCN_FIELD_SCALE;
}

/* What was in the way, as far as there is something to say. */
static void pack_detail(struct scn_packer *packer, enum scn_error error, const struct scn_refusal *refusal)
{
        const bool has_field = refusal->field != SCN_FIELD_COUNT || error == SCN_E_CONFLICT;
        const bool has_other = !scn_uid_is_none(refusal->other);
        const bool has_key = refusal->key.data != NULL;
        const bool has_value = refusal->value.data != NULL || has_trs(error, refusal);
        const bool has_revision = refusal->revision != 0;
        const bool has_residual = error == SCN_E_SHEAR;
        const bool has_holder = error == SCN_E_LOCKED;
        const bool has_step = refusal->step != 0;
        scn_pack_map(packer,
                (uint32_t)has_field + has_other + has_key + has_value + has_revision + has_residual + has_step +
                        (has_holder ? 2u : 0u));
        if (has_field) {
                scn_pack_cstring(packer, "field");
                scn_pack_cstring(packer, scn_answer_field_word(refusal->field));
        }
        if (has_other) {
                scn_pack_cstring(packer, "other");
                scn_pack_uid(packer, refusal->other);
        }
        if (has_key) {
                scn_pack_cstring(packer, "key");
                scn_pack_text(packer, refusal->key);
        }
        if (has_value) {
                scn_pack_cstring(packer, "value");
                pack_value(packer, refusal);
        }
        if (has_revision) {
                scn_pack_cstring(packer, "rev");
                scn_pack_uint(packer, refusal->revision);
        }
        if (has_residual) {
                scn_pack_cstring(packer, "residual");
                scn_pack_double(packer, refusal->residual);
        }
        if (has_step) {
                scn_pack_cstring(packer, "step");
                scn_pack_uint(packer, refusal->step);
        }
        if (has_holder) {
                scn_pack_cstring(packer, "holder");
                scn_pack_text(packer, refusal->holder);
                scn_pack_cstring(packer, "session");
                scn_pack_uint(packer, refusal->session);
        }
}

/* The node that is not there, not the one that was to be put there: the uid of that one nobody else has heard of. */
static struct scn_uid node_of(const struct scn_refusal *refusal)
{
        const struct scn_node_ref *lost = refusal->lost;
        const struct scn_uid none = {{0}};
        return lost == NULL ? refusal->node : lost->kind == SCN_REF_UID ? lost->uid : none;
}

struct scn_shared_bytes *scn_answer_encode_refused(
        uint64_t number, enum scn_error error, const struct scn_refusal *refusal, const char *text)
{
        struct scn_message message;
        struct scn_buffer detail;
        scn_buffer_init(&detail, 1u << 20);
        scn_message_init(&message, SCN_MESSAGE_refused);
        message.as.refused.number = number;
        message.as.refused.code = text_of(scn_error_code(error));
        message.as.refused.text = text_of(text != NULL ? text : scn_error_text(error));
        if (refusal != NULL) {
                struct scn_packer packer = scn_packer_to(&detail);
                pack_detail(&packer, error, refusal);
                message.as.refused.op = refusal->op;
                message.as.refused.node = node_of(refusal);
                if (packer.error == SCN_OK) {
                        message.as.refused.detail = (struct scn_slice){detail.data, (uint32_t)detail.size};
                }
        }
        struct scn_shared_bytes *frame = scn_session_frame(&message);
        scn_buffer_finish(&detail);
        return frame;
}

struct scn_shared_bytes *scn_answer_frame(struct scn_slice payload)
{
        uint8_t head[SCN_FRAME_HEAD_BYTES_MAX];
        const uint32_t head_size = scn_frame_head(payload.size, head);
        struct scn_shared_bytes *shared = scn_shared_bytes_alloc(head_size + payload.size);
        if (shared != NULL) {
                memcpy(shared->bytes, head, head_size);
                memcpy(shared->bytes + head_size, payload.data, payload.size);
        }
        return shared;
}

static void send_frame(struct scn_session *session, struct scn_shared_bytes *frame)
{
        if (frame == NULL) {
                scn_session_end(session, SCN_E_NO_MEMORY, NULL);
        } else {
                scn_session_send_shared(session, frame);
        }
        scn_shared_bytes_unref(frame);
}

void scn_answer_refused(struct scn_session *session, uint64_t number, enum scn_error error, const char *text)
{
        SCN_COUNT(session, refused);
        send_frame(session, scn_answer_encode_refused(number, error, NULL, text));
}

void scn_answer_stored(struct scn_session *session, struct scn_slice payload)
{
        send_frame(session, scn_answer_frame(payload));
}
