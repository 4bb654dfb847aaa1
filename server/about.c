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
#include <stddef.h>
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

/* Unless the text, which may be NULL, begins with it. */
static void put_revision_number(struct scn_said *said, scn_revision revision, const char *text)
{
        char head[64];
        (void)snprintf(head, sizeof head, "revision %" PRIu64 " ", revision);
        if (text == NULL || strncmp(text, head, strlen(head)) != 0) {
                put_number(said, "revision", revision);
        }
}

/* A revision, a time or a tag, as it was said. */
static void put_at(struct scn_said *said, struct scn_slice at, const char *text)
{
        struct scn_unpacker unpacker = scn_unpacker_from(at);
        if (at.data == NULL) {
                return;
        }
        if (scn_unpack_kind(&unpacker) == SCN_PACK_TEXT) {
                const struct scn_slice name = scn_unpack_text(&unpacker, UINT32_MAX);
                if (unpacker.error == SCN_OK) {
                        put_named(said, scn_at_is_time(name) ? "time" : "tag", name);
                }
                return;
        }
        const scn_revision revision = scn_at_revision(at);
        if (revision != SCN_ABSENT) {
                put_revision_number(said, revision, text);
        }
}

/* --- Which thing an error belongs to --- */

enum subject {
        SUBJECT_NONE,
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

/* Where in a message these things stand; 0, where the kind is: nowhere. Of two revisions the first one: whoever knows
 * that it was the second puts that in its place. */
static const struct place {
        enum scn_message_kind kind;
        const char *word; /* for the node */
        size_t node;
        size_t at;
        size_t document;
        size_t to; /* the name that a document is to get */
} places[] = {
#define WHERE(field) offsetof(struct scn_message, as.field)
        {.kind = SCN_MESSAGE_open, .document = WHERE(open.document)},
        {.kind = SCN_MESSAGE_view, "node", .node = WHERE(view.root)},
        {.kind = SCN_MESSAGE_world, "relative", .node = WHERE(world.relative), .at = WHERE(world.at)},
        {.kind = SCN_MESSAGE_tree, "node", .node = WHERE(tree.node), .at = WHERE(tree.at)},
        {.kind = SCN_MESSAGE_digest, "node", .node = WHERE(digest.node), .at = WHERE(digest.at)},
        {.kind = SCN_MESSAGE_log, "node", .node = WHERE(log.node), .at = WHERE(log.since)},
        {.kind = SCN_MESSAGE_replay, "node", .node = WHERE(replay.node), .at = WHERE(replay.from)},
        {.kind = SCN_MESSAGE_blame, "node", .node = WHERE(blame.node)},
        {.kind = SCN_MESSAGE_restore, "node", .node = WHERE(restore.node), .at = WHERE(restore.at)},
        {.kind = SCN_MESSAGE_fork, .at = WHERE(fork.at), .to = WHERE(fork.to)},
        {.kind = SCN_MESSAGE_adopt, .document = WHERE(adopt.document)},
        {.kind = SCN_MESSAGE_manage, .document = WHERE(manage.document), .to = WHERE(manage.to)},
#undef WHERE
};

static const struct place *place_of(const struct scn_message *message)
{
        static const struct place nowhere = {.node = 0};
        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
                if (places[i].kind == message->kind) {
                        return &places[i];
                }
        }
        return &nowhere;
}

static const struct scn_node_ref *node_of(const struct scn_message *message)
{
        const size_t at = place_of(message)->node;
        return at == 0 ? NULL : (const struct scn_node_ref *)((const char *)message + at);
}

static struct scn_slice slice_at(const struct scn_message *message, size_t at)
{
        return at == 0 ? (struct scn_slice){NULL, 0} : *(const struct scn_slice *)((const char *)message + at);
}

static void put_revision(
        struct scn_said *said, const struct scn_message *message, enum scn_error error, const char *text)
{
        if (message->kind != SCN_MESSAGE_tag) {
                put_at(said, slice_at(message, place_of(message)->at), text);
        } else if (error == SCN_E_NO_TAG || error == SCN_E_BAD_TAG) {
                put_named(said, "tag", message->as.tag.name);
        } else if (message->as.tag.rev != SCN_ABSENT) {
                put_revision_number(said, message->as.tag.rev, text);
        }
}

/* Of two names that of the new document where the error can only be about it. A fork does not name the other one: it
 * is the one that is open. What is wrong with a file that was sent is nothing of the document whose name it was to
 * get. */
static void put_document(struct scn_said *said, const struct scn_message *message, enum scn_error error)
{
        const struct place *place = place_of(message);
        const bool is_of_new = error == SCN_E_DOCUMENT_EXISTS || error == SCN_E_BAD_NAME ||
                (error == SCN_E_BUSY && place->document == 0);
        const bool is_of_file = error == SCN_E_NOT_A_DOCUMENT || error == SCN_E_CORRUPT ||
                error == SCN_E_NEWER_FORMAT || error == SCN_E_OLDER_FORMAT;
        const struct scn_slice to = slice_at(message, place->to);
        const struct scn_slice name = is_of_new && to.data != NULL ? to : slice_at(message, place->document);
        if (name.data != NULL && !(is_of_file && message->kind == SCN_MESSAGE_adopt)) {
                put_named(said, "document", name);
        }
}

static enum subject subject_of(enum scn_error error)
{
        for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) {
                if (subjects[i].error == error) {
                        return subjects[i].subject;
                }
        }
        return SUBJECT_NONE;
}

bool scn_about_is_of_request(enum scn_error error)
{
        const enum subject subject = subject_of(error);
        return subject == SUBJECT_NODE || subject == SUBJECT_REVISION || error == SCN_E_TOO_MANY_TAGS;
}

bool scn_about_is_of_document(enum scn_error error)
{
        return subject_of(error) == SUBJECT_DOCUMENT;
}

static void put_subject(
        struct scn_said *said, const struct scn_message *message, enum scn_error error, const char *text)
{
        switch (subject_of(error)) {
        case SUBJECT_NONE:
                break;
        case SUBJECT_NODE:
                if (node_of(message) != NULL) {
                        put_ref(said, place_of(message)->word, node_of(message));
                }
                break;
        case SUBJECT_REVISION:
                put_revision(said, message, error, text);
                break;
        case SUBJECT_DOCUMENT:
                put_document(said, message, error);
                break;
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

static void put_record_limit(struct scn_said *said, const struct scn_limits *limits)
{
        char text[64];
        (void)snprintf(text, sizeof text, ", record_bytes_max = %" PRIu32, limits->record_bytes_max);
        put(said, text);
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
        put_subject(said, message, error, text);
        (void)end(said, error, text != NULL ? text : text_of(error, node_of(message)), limits);
        if (error == SCN_E_TOO_LARGE && (message->kind == SCN_MESSAGE_undo || message->kind == SCN_MESSAGE_redo)) {
                put_record_limit(said, limits);
        }
        return said->text;
}

const char *scn_about_node(struct scn_said *said, const char *what, const struct scn_node_ref *ref,
        enum scn_error error, const struct scn_limits *limits)
{
        *said = (struct scn_said){.size = 0};
        put_ref(said, what, ref);
        return end(said, error, text_of(error, ref), limits);
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

const char *scn_about_lock(struct scn_said *said, struct scn_uid node, struct scn_slice holder, uint64_t session)
{
        const struct scn_node_ref ref = {.kind = SCN_REF_UID, .uid = node};
        char text[64];
        *said = (struct scn_said){.size = 0};
        put_ref(said, "node", &ref);
        put(said, "locked by ");
        put_slice(said, holder);
        (void)snprintf(text, sizeof text, ", session %" PRIu64, session);
        put(said, text);
        return said->text;
}

/* What is wrong with an edit as such, or with an op that can be read. NULL: nothing of that. */
static const char *bad_op_text(const struct scn_edit *edit, const struct scn_refusal *refusal)
{
        if (edit->is_strict && !edit->has_base) {
                return "strict: needs base";
        }
        const struct scn_op *op = refusal != NULL && refusal->op < edit->ops_count ? &edit->ops[refusal->op] : NULL;
        return op != NULL && op->place == SCN_PLACE_AFTER ? "after: it is the node itself" : NULL;
}

const char *scn_about_edit(struct scn_said *said, const struct scn_edit *edit, enum scn_error error,
        const struct scn_refusal *refusal, const struct scn_limits *limits)
{
        const char *text = error == SCN_E_BAD_OP ? bad_op_text(edit, refusal) : NULL;
        if (error == SCN_E_LOCKED && refusal != NULL) {
                return scn_about_lock(said, refusal->node, refusal->holder, refusal->session);
        }
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
        text = text != NULL ? text : text_of(error, refusal != NULL ? refusal->lost : NULL);
        (void)end(said, error, text, limits);
        if (error == SCN_E_TOO_LARGE) {
                put_record_limit(said, limits);
        }
        return said->text;
}

const char *scn_about_stream(struct scn_said *said, const struct scn_frame_reader *reader, enum scn_error error)
{
        char *const text = said->text;
        const size_t room = sizeof said->text;
        if (error == SCN_E_VERSION) {
                (void)snprintf(text, room, "the preface is of version %u: version %u is spoken here", reader->byte_met,
                        SCN_FRAMING_VERSION);
        } else if (error == SCN_E_TOO_LARGE && reader->message_bytes_max == SCN_MESSAGE_BYTES_BEFORE_LOGIN_MAX) {
                (void)snprintf(text, room, "message of %" PRIu32 " bytes: %s, %u bytes before hello", reader->size_met,
                        scn_error_text(error), SCN_MESSAGE_BYTES_BEFORE_LOGIN_MAX);
        } else if (error == SCN_E_TOO_LARGE) {
                (void)snprintf(text, room, "message of %" PRIu32 " bytes: %s, message_bytes_max = %u", reader->size_met,
                        scn_error_text(error), SCN_MESSAGE_BYTES_MAX);
        } else if (error == SCN_E_BAD_MESSAGE && !reader->has_preface) {
                (void)snprintf(text, room, "the stream does not begin with the preface of this protocol");
        } else if (error == SCN_E_BAD_MESSAGE) {
                (void)snprintf(text, room, "no frame begins with the byte 0x%02x", reader->byte_met);
        } else {
                (void)snprintf(text, room, "%s", scn_error_text(error));
        }
        said->size = strlen(text);
        return text;
}
