/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* How the model finds what an op names. */

#include "tests/lib/model_follow.h"

#include "protocol/base/uid.h"

#include <string.h>

static void judge_missing(struct follower *follower, bool is_known, bool may_be_forgotten)
{
        follow_must(follower, is_known ? SCN_E_GONE : SCN_E_NO_NODE);
        if (is_known && may_be_forgotten)
                follow_must(follower, SCN_E_NO_NODE);
}

static struct model_node *resolve_id(struct follower *follower, scn_node_id id)
{
        struct model_node *node = id != 0 ? model_find(&follower->state, id) : NULL;
        bool is_known = false;

        if (node != NULL)
                return node;
        for (uint32_t i = 0; i < follower->state.ended_count; i++)
                is_known |= follower->state.ended[i].id == id;
        if (!is_known && id != 0 && id < follower->state.next_id) /* passed over by a replay */
                follow_must(follower, SCN_E_GONE);
        judge_missing(follower, is_known, false);
        if (id == 0)
                follow_may(follower, SCN_E_BAD_OP);
        return NULL;
}

static struct model_node *resolve_uid(struct follower *follower, struct scn_uid uid)
{
        struct model_node *node = model_find_uid(&follower->state, uid);
        bool is_known = false, is_remembered = false;

        if (node != NULL)
                return node;
        for (uint32_t i = 0; i < follower->state.ended_count; i++) {
                const struct model_ended *ended = &follower->state.ended[i];
                if (!scn_uid_equal(ended->uid, uid))
                        continue;
                is_known = true;
                /* A life that began and ended in one edit need not be remembered. */
                is_remembered |= ended->removal > follower->state.horizon && ended->birth != ended->removal;
        }
        judge_missing(follower, is_known, !is_remembered);
        return NULL;
}

struct segment {
        uint8_t name[256];
        uint32_t name_size;
        bool has_name;
        uint32_t index;
};

/* Reads one segment from *at on, up to the slash behind it; false if it is malformed. */
static bool read_segment(struct scn_slice path, uint32_t *at, struct segment *segment)
{
        *segment = (struct segment){0};
        for (; *at < path.size && path.data[*at] != '/' && path.data[*at] != '['; ++*at) {
                uint8_t character = path.data[*at];
                if (character == '\\') {
                        if (++*at == path.size)
                                return false;
                        character = path.data[*at];
                }
                segment->has_name = true;
                segment->name[segment->name_size++ % sizeof segment->name] = character;
        }
        if (*at == path.size || path.data[*at] == '/')
                return segment->has_name;
        uint32_t digits = 0;
        for (++*at; *at < path.size && path.data[*at] >= '0' && path.data[*at] <= '9' && digits < 9; ++*at, digits++)
                segment->index = segment->index * 10 + path.data[*at] - '0';
        if (digits == 0 || *at == path.size || path.data[*at] != ']')
                return false;
        ++*at;
        return *at == path.size || path.data[*at] == '/';
}

static struct model_node *find_segment(
        const struct model_state *state, scn_node_id parent, const struct segment *segment)
{
        uint32_t index = 0;
        const struct scn_slice name = {segment->name, segment->name_size};

        for (uint32_t i = 0; i < state->nodes_count; i++) {
                struct scn_slice other = state->nodes[i].name;
                /* A path cannot say an empty name otherwise than as none. */
                bool is_match = segment->has_name ? model_slices_equal(other, name) : other.size == 0;
                if (state->nodes[i].parent == parent && is_match && index++ == segment->index)
                        return &state->nodes[i];
        }
        return NULL;
}

static struct model_node *resolve_path(struct follower *follower, struct scn_slice path)
{
        struct model_node *node = NULL;
        struct segment segment;
        uint32_t at = 1;

        for (uint32_t i = 0; i < follower->state.nodes_count; i++)
                if (follower->state.nodes[i].parent == 0)
                        node = &follower->state.nodes[i];
        if (path.size == 0 || path.data[0] != '/') {
                follow_must(follower, SCN_E_BAD_PATH);
                return NULL;
        }
        for (; at < path.size; at++) {
                if (!read_segment(path, &at, &segment)) {
                        follow_must(follower, SCN_E_BAD_PATH);
                        if (node == NULL) /* whichever is noticed first */
                                follow_must(follower, SCN_E_NO_NODE);
                        return NULL;
                }
                if (node != NULL)
                        node = find_segment(&follower->state, node->id, &segment);
        }
        if (node == NULL)
                follow_must(follower, SCN_E_NO_NODE);
        return node;
}

struct model_node *follow_resolve(struct follower *follower, const struct scn_node_ref *ref)
{
        switch (ref->kind) {
        case SCN_REF_ID:
                return resolve_id(follower, ref->id);
        case SCN_REF_UID:
                return resolve_uid(follower, ref->uid);
        case SCN_REF_PATH:
                return resolve_path(follower, ref->path);
        case SCN_REF_NONE:
                break;
        }
        follow_must(follower, SCN_E_BAD_OP);
        return NULL;
}

const struct model_node *model_resolve(struct model *model, const struct scn_node_ref *ref, uint64_t *errors_out)
{
        struct follower follower = {.model = model, .state = *model_now(model)};
        const struct model_node *node = follow_resolve(&follower, ref);

        *errors_out = follower.verdict.must | follower.verdict.may;
        return node;
}
