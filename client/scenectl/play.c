/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/play.h"

#include "protocol/base/alloc.h"
#include "protocol/base/uid.h"

#include <stdio.h>
#include <string.h>

#define UNDER_WAY_MAX 256u
#define ADDRESS_BYTES 512
#define KEY_BYTES 256

struct scn_play {
        struct scn_ctl *ctl;  /* of the source: prints */
        struct scn_ctl other; /* of the target: connects */
        char server[ADDRESS_BYTES];
        /* An edit that is refused ends it, and what was sent behind that one is done all the same: so the first is
         * waited for, and each that is accepted lets one more be under way. */
        uint32_t under_way_max;
        uint64_t edit; /* the last one's number, and of each the revision it came from: */
        scn_revision revisions[UNDER_WAY_MAX + 1];
        bool has_failed;
};

struct scn_play *scn_play_open(struct scn_ctl *ctl, const char *target)
{
        struct scn_play *play = scn_alloc_zero(1, sizeof *play);
        const char *slash = strrchr(target, '/');
        const size_t size = slash != NULL ? (size_t)(slash - target) : 0;
        if (play == NULL || size >= sizeof play->server) {
                scn_free(play);
                (void)scn_ctl_misuse(ctl, "--into: '%s' is no ADDRESS/DOC", target);
                return NULL;
        }
        memcpy(play->server, target, size);
        scn_ctl_init(&play->other);
        play->ctl = ctl;
        play->other.server = slash != NULL ? play->server : ctl->server;
        play->other.author = ctl->author;
        play->other.is_json = ctl->is_json;
        play->other.creates = true;
        if (!scn_ctl_open(&play->other, slash != NULL ? slash + 1 : target)) {
                ctl->code = play->other.code;
                scn_ctl_finish(&play->other);
                scn_free(play);
                return NULL;
        }
        /* By whatever address: it would be played into what is still to be played. */
        if (scn_client_is_beside(ctl->client, play->other.client)) {
                (void)scn_ctl_misuse(ctl, "--into: '%s' is what is replayed", target);
                scn_ctl_finish(&play->other);
                scn_free(play);
                return NULL;
        }
        return play;
}

static void on_result(struct scn_client *client, const struct scn_result *result, void *data)
{
        struct scn_play *play = data;
        (void)client;
        if (result->failure == NULL) {
                play->under_way_max += play->under_way_max < UNDER_WAY_MAX;
        } else if (!play->has_failed) {
                struct scn_failure failure = *result->failure;
                (void)snprintf(failure.text, sizeof failure.text, "revision %llu of what is replayed: %.400s",
                        (unsigned long long)play->revisions[result->edit % (UNDER_WAY_MAX + 1)], result->failure->text);
                play->has_failed = true;
                scn_ctl_fail(&play->other, &failure);
        }
}

/* --- An event as ops --- */

/* The source's root stands for the target's. */
static struct scn_target target_of(const struct scn_view *view, struct scn_uid uid)
{
        return scn_uid_equal(uid, scn_view_root(view)) ? SCN_BY_PATH("/") : SCN_BY_UID(uid);
}

static struct scn_position position_of(const struct scn_view *view, const struct scn_node_info *node)
{
        struct scn_position position = {.kind = SCN_POSITION_FIRST};
        if (!scn_uid_is_none(node->previous)) {
                position.kind = SCN_POSITION_AFTER;
                position.after = target_of(view, node->previous);
        }
        return position;
}

/* A name may hold a zero; what is behind it cannot be said here. NULL: it has none, or no memory. */
static char *copy_name(struct scn_slice name)
{
        char *copy = name.data != NULL ? scn_alloc((size_t)name.size + 1) : NULL;
        if (copy != NULL) {
                memcpy(copy, name.data, name.size);
                copy[name.size] = '\0';
        }
        return copy;
}

static enum scn_error draft_property(struct scn_draft *draft, struct scn_target node, struct scn_slice key,
        const struct scn_view *view, struct scn_uid uid)
{
        char text[KEY_BYTES];
        if (key.size >= sizeof text) {
                return SCN_E_KEY_TOO_LONG;
        }
        memcpy(text, key.data, key.size);
        text[key.size] = '\0';
        return scn_draft_set(draft, node, text, scn_view_property(view, uid, text));
}

static enum scn_error draft_place(struct scn_draft *draft, const struct scn_view *view,
        const struct scn_view_change *change, const struct scn_node_info *node, const char *name)
{
        struct scn_addition addition = SCN_ADDITION_INIT;
        addition.parent = target_of(view, node->parent);
        addition.position = position_of(view, node);
        if (!change->is_new) {
                return (change->fields & SCN_FIELDS_PLACE) == 0
                        ? SCN_OK
                        : scn_draft_move(draft, SCN_BY_UID(node->uid), addition.parent, addition.position, 0);
        }
        addition.uid = node->uid;
        addition.name = name;
        addition.t = node->trs.t;
        addition.r = node->trs.r;
        addition.s = node->trs.s;
        return scn_draft_add(draft, &addition, NULL);
}

static enum scn_error draft_fields(struct scn_draft *draft, const struct scn_view *view,
        const struct scn_view_event *event, const struct scn_view_change *change, const struct scn_node_info *node,
        const char *name)
{
        const struct scn_target target = target_of(view, node->uid);
        const bool is_root = scn_uid_is_none(node->parent);
        const uint32_t fields = change->is_new ? UINT32_MAX : change->fields;
        enum scn_error error = SCN_OK;
        struct scn_slice key;
        struct scn_slice value;
        if ((fields & SCN_FIELDS_NAME) != 0 && (is_root || !change->is_new)) {
                error = scn_draft_rename(draft, target, name);
        }
        if (error == SCN_OK && (fields & SCN_FIELDS_TRS) != 0 && (is_root || !change->is_new)) {
                error = scn_draft_transform(draft, target, node->trs.t, node->trs.r, node->trs.s);
        }
        for (uint32_t i = 0;
                change->is_new && error == SCN_OK && scn_view_property_at(view, node->uid, i, &key, &value); i++) {
                error = draft_property(draft, target, key, view, node->uid);
        }
        for (uint32_t i = 0; !change->is_new && error == SCN_OK && i < change->keys_count; i++) {
                error = draft_property(draft, target, event->keys[change->keys_first + i], view, node->uid);
        }
        return error;
}

static enum scn_error draft_change(struct scn_draft *draft, const struct scn_view *view,
        const struct scn_view_event *event, const struct scn_view_change *change)
{
        struct scn_node_info node;
        if (!scn_view_node(view, change->uid, &node)) {
                return SCN_OK; /* gone with one above it */
        }
        char *name = copy_name(node.name);
        enum scn_error error = scn_uid_is_none(node.parent) ? SCN_OK : draft_place(draft, view, change, &node, name);
        if (error == SCN_OK) {
                error = draft_fields(draft, view, event, change, &node, name);
        }
        scn_free(name);
        return error;
}

static enum scn_error draft_event(
        struct scn_draft *draft, const struct scn_view *view, const struct scn_view_event *event)
{
        enum scn_error error = SCN_OK;
        for (size_t i = 0; i < event->changes_count && error == SCN_OK; i++) {
                error = draft_change(draft, view, event, &event->changes[i]);
        }
        for (size_t i = 0; i < event->removed_count && error == SCN_OK; i++) {
                error = scn_draft_remove(draft, SCN_BY_UID(event->removed[i].uid));
        }
        for (size_t i = 0; i < event->left_count && error == SCN_OK; i++) {
                error = scn_draft_remove(draft, SCN_BY_UID(event->left[i].uid));
        }
        return error;
}

/* Until no more are under way than may be, or none. */
static bool settle(struct scn_play *play, bool is_end)
{
        while (!play->has_failed && scn_client_pending_count(play->other.client) > (is_end ? 0 : play->under_way_max)) {
                if (!scn_ctl_turn(&play->other, -1)) {
                        play->has_failed = true;
                }
        }
        return !play->has_failed;
}

void scn_play_event(struct scn_play *play, const struct scn_view *view, const struct scn_view_event *event)
{
        if (play->has_failed) {
                return;
        }
        struct scn_draft *draft = scn_draft_create(play->other.client, NULL);
        enum scn_error error = draft != NULL ? draft_event(draft, view, event) : SCN_E_NO_MEMORY;
        if (error == SCN_OK) {
                error = scn_draft_submit(draft, on_result, play, &play->edit);
                play->revisions[play->edit % (UNDER_WAY_MAX + 1)] = event->to;
        } else {
                scn_draft_destroy(draft);
        }
        if (error != SCN_OK) {
                play->has_failed = true;
                (void)scn_ctl_refuse(play->ctl, error);
                return;
        }
        if (!settle(play, false)) {
                play->ctl->code = play->other.code;
                scn_ctl_done(play->ctl);
        }
}

bool scn_play_close(struct scn_play *play)
{
        if (play == NULL) {
                return true;
        }
        const bool is_good = settle(play, true);
        if (!is_good && play->ctl->code == SCN_CTL_OK) {
                play->ctl->code = play->other.code != SCN_CTL_OK ? play->other.code : SCN_CTL_REFUSED;
        }
        scn_ctl_finish(&play->other);
        scn_free(play);
        return is_good;
}
