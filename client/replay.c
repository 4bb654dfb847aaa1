/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Views of the past that move on by themselves. */

#include "client/client.h"
#include "client/failure.h"
#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"

#include <string.h>

static struct scn_replay_options full_options(const struct scn_replay_options *options)
{
        struct scn_replay_options full = SCN_REPLAY_OPTIONS_INIT;
        SCN_ASSERT(options->size >= sizeof options->size && options->size <= sizeof full);
        memcpy(&full, options, options->size);
        return full;
}

static enum scn_error spell_revision(scn_revision revision, struct scn_buffer *buffer)
{
        scn_buffer_reset(buffer);
        struct scn_packer packer = scn_packer_to(buffer);
        scn_pack_uint(&packer, revision);
        return packer.error;
}

/* A text says it, or a number; neither: nothing is said. */
static enum scn_error spell_end(const char *at, scn_revision revision, struct scn_buffer *buffer)
{
        struct scn_slice unused;
        if (at != NULL) {
                return scn_client_spell_at(at, buffer, &unused);
        }
        scn_buffer_init(buffer, 16);
        return revision == 0 ? SCN_OK : spell_revision(revision, buffer);
}

static enum scn_error take_options(struct scn_view *view, const struct scn_replay_options *options)
{
        enum scn_error error = spell_end(options->from_at, options->from, &view->replay_from);
        if (error == SCN_OK) {
                error = spell_end(options->to_at, options->to, &view->replay_to);
        }
        if (error == SCN_OK && options->author != NULL) {
                const size_t size = strlen(options->author) + 1;
                view->replay_author = scn_alloc(size);
                if (view->replay_author == NULL) {
                        return SCN_E_NO_MEMORY;
                }
                memcpy(view->replay_author, options->author, size);
        }
        view->is_merged = options->is_merged;
        view->is_replay = true;
        return error;
}

enum scn_error scn_replay_create(
        struct scn_client *client, const struct scn_replay_options *options, struct scn_view **view_out)
{
        const struct scn_replay_options full = full_options(options);
        struct scn_view *view = scn_view_make(client, full.mask);
        if (view == NULL) {
                return SCN_E_NO_MEMORY;
        }
        enum scn_error error = take_options(view, &full);
        if (error != SCN_OK) {
                scn_view_free(view);
                return error;
        }
        error = scn_view_begin(view, full.root, full.on_change, full.on_end, full.data);
        if (error == SCN_OK) {
                *view_out = view;
        }
        return error;
}

static struct scn_slice slice_of(const struct scn_buffer *buffer)
{
        return buffer->size == 0 ? (struct scn_slice){NULL, 0}
                                 : (struct scn_slice){buffer->data, (uint32_t)buffer->size};
}

enum scn_error scn_replay_send(struct scn_view *view)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_replay);
        message.as.replay.request = view->number;
        message.as.replay.from = slice_of(&view->replay_from);
        message.as.replay.to = slice_of(&view->replay_to);
        message.as.replay.node = view->root;
        message.as.replay.mask = view->mask;
        message.as.replay.merged = view->is_merged;
        if (view->replay_author != NULL) {
                message.as.replay.author =
                        (struct scn_slice){(const uint8_t *)view->replay_author, (uint32_t)strlen(view->replay_author)};
        }
        view->request = view->number;
        return scn_client_send(view->client, &message);
}

/* So that a replay proves itself; a part of the document or of its channels has another digest. */
static bool has_digest(const struct scn_view *view, struct scn_slice digest)
{
        uint8_t own[16];
        if (view->root.kind != SCN_REF_NONE || (uint32_t)view->mask != SCN_MASK_ALL || digest.data == NULL) {
                return true;
        }
        scn_view_digest(view, own);
        return digest.size == sizeof own && memcmp(own, digest.data, sizeof own) == 0;
}

void scn_view_end_replay(struct scn_view *view)
{
        struct scn_failure failure = {.code = ""};
        if (!has_digest(view, view->digest)) {
                failure = scn_failure_of("bad_delta", "what was replayed has not the digest that it should have");
        } else if (view->replay_next != SCN_ABSENT && view->replay_next > view->replay_began &&
                spell_revision(view->replay_next, &view->replay_from) == SCN_OK) {
                view->replay_began = view->replay_next;
                view->is_continued = true;
                view->is_wanted = true;
                return;
        }
        scn_view_fail(view, &failure);
}
