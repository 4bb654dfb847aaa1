/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/about.h"

#include "protocol/base/uid.h"
#include "protocol/wire/live.h"
#include "protocol/wire/pack.h"
#include "server/answer.h"
#include "server/at.h"
#include "server/core.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* So much of a thing's name is shown: room is left for the reason, also where a client keeps less than is sent. */
#define NAME_BYTES_MAX 200u

/* --- Putting together --- */

static void put(struct scn_said *said, const char *text)
{
        const size_t room = sizeof said->text - said->size;
        const int size = snprintf(said->text + said->size, room, "%s", text);
        said->size += (size_t)size < room ? (size_t)size : room - 1;
}

/* Not cut within a character. */
static void put_slice(struct scn_said *said, struct scn_slice slice)
{
        char name[NAME_BYTES_MAX + 1];
        uint32_t size = slice.size < NAME_BYTES_MAX ? slice.size : NAME_BYTES_MAX;
        while (size < slice.size && size > 0 && (slice.data[size] & 0xc0) == 0x80) {
                size--;
        }
        for (uint32_t i = 0; i < size; i++) {
                name[i] = slice.data[i] == 0 ? '.' : (char)slice.data[i];
        }
        name[size] = '\0';
        put(said, size == 0 ? "''" : name);
        if (size < slice.size) {
                put(said, " ...");
        }
}

static void put_named(struct scn_said *said, const char *what, struct scn_slice name)
{
        put(said, what);
        put(said, " ");
        put_slice(said, name);
        put(said, ": ");
}

static void put_number(struct scn_said *said, const char *what, uint64_t number)
{
        char text[64];
        (void)snprintf(text, sizeof text, "%s %" PRIu64 ": ", what, number);
        put(said, text);
}

static void put_ref(struct scn_said *said, const char *what, const struct scn_node_ref *ref)
{
        char uid[SCN_UID_TEXT_LENGTH + 1];
        if (ref->kind == SCN_REF_PATH) {
                put_named(said, what, ref->path);
        } else if (ref->kind == SCN_REF_UID) {
                scn_uid_format(ref->uid, uid);
                put_named(said, what, (struct scn_slice){(const uint8_t *)uid, SCN_UID_TEXT_LENGTH});
        } else if (ref->kind == SCN_REF_ID) {
                put_number(said, what, ref->id);
        }
}

/* A revision, a time or a tag, as it was said. */
static void put_at(struct scn_said *said, struct scn_slice at)
{
        struct scn_unpacker unpacker = scn_unpacker_from(at);
        if (at.data == NULL) {
                return;
        }
        if (scn_unpack_kind(&unpacker) == SCN_PACK_TEXT) {
                const struct scn_slice text = scn_unpack_text(&unpacker, UINT32_MAX);
                if (unpacker.error == SCN_OK) {
                        put_named(said, scn_at_is_time(text) ? "time" : "tag", text);
                }
                return;
        }
        const scn_revision revision = scn_at_revision(at);
        if (revision != SCN_ABSENT) {
                put_number(said, "revision", revision);
        }
}

/* --- Which thing an error belongs to --- */

enum subject {
        SUBJECT_NODE,
        SUBJECT_REVISION,
        SUBJECT_DOCUMENT,
        SUBJECT_SESSION,
        SUBJECT_STEP,
};

static const struct {
        enum scn_error error;
        enum subject subject;
} subjects[] = {
        {SCN_E_NO_NODE, SUBJECT_NODE},
        {SCN_E_GONE, SUBJECT_NODE},
        {SCN_E_BAD_PATH, SUBJECT_NODE},
        {SCN_E_PATH_TOO_LONG, SUBJECT_NODE},
        {SCN_E_FUTURE, SUBJECT_REVISION},
        {SCN_E_NO_TAG, SUBJECT_REVISION},
        {SCN_E_BAD_TAG, SUBJECT_REVISION},
        {SCN_E_BAD_TIME, SUBJECT_REVISION},
        {SCN_E_FOLDED, SUBJECT_REVISION},
        {SCN_E_BEFORE_RETENTION, SUBJECT_REVISION},
        {SCN_E_NO_DOCUMENT, SUBJECT_DOCUMENT},
        {SCN_E_DOCUMENT_EXISTS, SUBJECT_DOCUMENT},
        {SCN_E_BAD_NAME, SUBJECT_DOCUMENT},
        {SCN_E_BUSY, SUBJECT_DOCUMENT},
        {SCN_E_STORAGE_BUSY, SUBJECT_DOCUMENT},
        {SCN_E_CORRUPT, SUBJECT_DOCUMENT},
        {SCN_E_NOT_A_DOCUMENT, SUBJECT_DOCUMENT},
        {SCN_E_NEWER_FORMAT, SUBJECT_DOCUMENT},
        {SCN_E_OLDER_FORMAT, SUBJECT_DOCUMENT},
        {SCN_E_NO_SESSION, SUBJECT_SESSION},
        {SCN_E_NOTHING_TO_UNDO, SUBJECT_STEP},
};

static const struct scn_node_ref *node_of(const struct scn_message *message)
{
        static const struct scn_node_ref none = {.kind = SCN_REF_NONE};
        return message->kind == SCN_MESSAGE_view       ? &message->as.view.root
                : message->kind == SCN_MESSAGE_world   ? &message->as.world.relative
                : message->kind == SCN_MESSAGE_tree    ? &message->as.tree.node
                : message->kind == SCN_MESSAGE_digest  ? &message->as.digest.node
                : message->kind == SCN_MESSAGE_log     ? &message->as.log.node
                : message->kind == SCN_MESSAGE_replay  ? &message->as.replay.node
                : message->kind == SCN_MESSAGE_blame   ? &message->as.blame.node
                : message->kind == SCN_MESSAGE_restore ? &message->as.restore.node
                                                       : &none;
}

/* Of two the first one: whoever knows that it was the second puts that in its place. */
static struct scn_slice at_of(const struct scn_message *message)
{
        static const struct scn_slice none = {NULL, 0};
        return message->kind == SCN_MESSAGE_world      ? message->as.world.at
                : message->kind == SCN_MESSAGE_tree    ? message->as.tree.at
                : message->kind == SCN_MESSAGE_digest  ? message->as.digest.at
                : message->kind == SCN_MESSAGE_log     ? message->as.log.since
                : message->kind == SCN_MESSAGE_replay  ? message->as.replay.from
                : message->kind == SCN_MESSAGE_restore ? message->as.restore.at
                : message->kind == SCN_MESSAGE_fork    ? message->as.fork.at
                                                       : none;
}

static void put_revision(struct scn_said *said, const struct scn_message *message, enum scn_error error)
{
        if (message->kind != SCN_MESSAGE_tag) {
                put_at(said, at_of(message));
        } else if (error == SCN_E_NO_TAG || error == SCN_E_BAD_TAG) {
                put_named(said, "tag", message->as.tag.name);
        } else if (message->as.tag.rev != SCN_ABSENT) {
                put_number(said, "revision", message->as.tag.rev);
        }
}

/* Of two names that of the new document, where the error can only be about it. */
static struct scn_slice document_of(const struct scn_message *message, enum scn_error error)
{
        static const struct scn_slice none = {NULL, 0};
        if (message->kind == SCN_MESSAGE_manage) {
                const bool is_new = message->as.manage.to.data != NULL &&
                        (error == SCN_E_DOCUMENT_EXISTS || error == SCN_E_BAD_NAME);
                return is_new ? message->as.manage.to : message->as.manage.document;
        }
        const bool is_of_file = error == SCN_E_NOT_A_DOCUMENT || error == SCN_E_CORRUPT ||
                error == SCN_E_NEWER_FORMAT || error == SCN_E_OLDER_FORMAT;
        return message->kind == SCN_MESSAGE_open     ? message->as.open.document
                : message->kind == SCN_MESSAGE_adopt ? (is_of_file ? none : message->as.adopt.document)
                : message->kind == SCN_MESSAGE_fork  ? message->as.fork.to
                                                     : none;
}

static void put_subject(struct scn_said *said, const struct scn_message *message, enum scn_error error)
{
        size_t row = 0;
        while (row < sizeof subjects / sizeof subjects[0] && subjects[row].error != error) {
                row++;
        }
        if (row == sizeof subjects / sizeof subjects[0]) {
                return;
        }
        switch (subjects[row].subject) {
        case SUBJECT_NODE:
                put_ref(said, message->kind == SCN_MESSAGE_world ? "relative" : "node", node_of(message));
                break;
        case SUBJECT_REVISION:
                put_revision(said, message, error);
                break;
        case SUBJECT_DOCUMENT: {
                const struct scn_slice name = document_of(message, error);
                if (name.data != NULL) {
                        put_named(said, "document", name);
                }
                break;
        }
        case SUBJECT_SESSION:
                if (message->kind == SCN_MESSAGE_kick) {
                        put_number(said, "session", message->as.kick.session);
                }
                break;
        case SUBJECT_STEP:
                if (message->kind == SCN_MESSAGE_undo && message->as.undo.step != SCN_ABSENT) {
                        put_number(said, "step", message->as.undo.step);
                }
                break;
        }
}

/* --- Which limit was met --- */

static void put_limit(struct scn_said *said, enum scn_error error, const struct scn_limits *limits)
{
        const struct {
                enum scn_error error;
                const char *name;
                uint64_t value;
        } rows[] = {
                {SCN_E_DEPTH, "depth_max", limits->depth_max},
                {SCN_E_TOO_MANY_NODES, "nodes_max", limits->nodes_max},
                {SCN_E_NAME_TOO_LONG, "name_bytes_max", limits->name_bytes_max},
                {SCN_E_KEY_TOO_LONG, "key_bytes_max", limits->key_bytes_max},
                {SCN_E_VALUE_TOO_LARGE, "value_bytes_max", limits->value_bytes_max},
                {SCN_E_VALUE_TOO_DEEP, "value_levels_max", limits->value_levels_max},
                {SCN_E_TOO_MANY_PROPS, "properties_max", limits->properties_max},
                {SCN_E_TOO_MANY_OPS, "ops_max", limits->ops_max},
                {SCN_E_TOO_MANY_CLIENTS, "clients_max", limits->clients_max},
                {SCN_E_PATH_TOO_LONG, "path_steps_max", limits->path_steps_max},
                {SCN_E_TOO_MANY_VIEWS, "views_max", SCN_SERVER_views_max},
                {SCN_E_TOO_MANY_TAGS, "tags_max", SCN_SERVER_tags_max},
                {SCN_E_TOO_MANY_LOCKS, "locks_max", SCN_LIVE_locks_max},
                {SCN_E_TOO_MANY_LOCKS, "room_locks_max", SCN_LIVE_room_locks_max},
                {SCN_E_TOO_MANY_PREVIEWS, "previews_max", SCN_LIVE_previews_max},
                {SCN_E_TOO_MANY_KEYS, "presence_keys_max", SCN_LIVE_presence_keys_max},
        };
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                if (rows[i].error == error) {
                        char text[80];
                        (void)snprintf(text, sizeof text, ", %s = %" PRIu64, rows[i].name, rows[i].value);
                        put(said, text);
                }
        }
}

/* A name can lead nowhere though there was a node once; only a uid or an id is never given to another. */
static const char *text_of(enum scn_error error, const struct scn_node_ref *ref)
{
        return error == SCN_E_NO_NODE && ref != NULL && ref->kind == SCN_REF_PATH ? "no node has this path"
                                                                                  : scn_error_text(error);
}

static const char *end(struct scn_said *said, enum scn_error error, const char *text, const struct scn_limits *limits)
{
        put(said, text);
        put_limit(said, error, limits);
        return said->text;
}

const char *scn_about_request(struct scn_said *said, const struct scn_message *message, enum scn_error error,
        const char *text, const struct scn_limits *limits)
{
        *said = (struct scn_said){.size = 0};
        put_subject(said, message, error);
        return end(said, error, text != NULL ? text : text_of(error, node_of(message)), limits);
}

const char *scn_about_node(struct scn_said *said, const char *what, const struct scn_node_ref *ref,
        enum scn_error error, const struct scn_limits *limits)
{
        *said = (struct scn_said){.size = 0};
        put_ref(said, what, ref);
        return end(said, error, text_of(error, ref), limits);
}

const char *scn_about_reserve(struct scn_said *said, uint64_t reserve_bytes)
{
        *said = (struct scn_said){.size = 0};
        (void)snprintf(said->text, sizeof said->text,
                "less of the server's disk is free than its reserve, %" PRIu64
                " MiB: until there is more it is only read",
                reserve_bytes >> 20);
        return said->text;
}

/* --- Edits --- */

static void put_lost(struct scn_said *said, const struct scn_edit *edit, const struct scn_refusal *refusal)
{
        if (refusal->op >= edit->ops_count) {
                return;
        }
        const struct scn_op *op = &edit->ops[refusal->op];
        put_ref(said,
                refusal->lost == &op->node             ? "node"
                        : refusal->lost == &op->parent ? "parent"
                                                       : "after",
                refusal->lost);
}

const char *scn_about_edit(struct scn_said *said, const struct scn_edit *edit, enum scn_error error,
        const struct scn_refusal *refusal, const struct scn_limits *limits)
{
        *said = (struct scn_said){.size = 0};
        if (refusal != NULL && refusal->lost != NULL) {
                put_lost(said, edit, refusal);
        } else if (error == SCN_E_FUTURE && edit->has_base) {
                put_number(said, "base", edit->base);
        } else if (refusal != NULL && refusal->key.data != NULL) {
                put_named(said, "property", refusal->key);
        } else if (refusal != NULL && refusal->field < SCN_FIELD_COUNT) {
                put(said, scn_answer_field_word(refusal->field));
                put(said, ": ");
        }
        (void)end(said, error, text_of(error, refusal != NULL ? refusal->lost : NULL), limits);
        if (error == SCN_E_TOO_LARGE) {
                char text[64];
                (void)snprintf(text, sizeof text, ", record_bytes_max = %" PRIu32, limits->record_bytes_max);
                put(said, text);
        }
        return said->text;
}
