/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* diff: what is otherwise at one revision than at another. What was changed in between and is again as it was is no
 * difference, so the state at the first is held beside the one at the second. */

#include "client/scenectl/event.h"
#include "protocol/base/alloc.h"
#include "protocol/base/uid.h"

#include <stdlib.h>
#include <string.h>

struct diff {
        struct scn_ctl *ctl;
        struct scn_replay_options options;
        struct scn_view *before;
        struct scn_view *after;
};

static bool is_same_bytes(struct scn_slice a, struct scn_slice b)
{
        return (a.data == NULL) == (b.data == NULL) && a.size == b.size &&
                (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static bool is_same_key(const struct diff *diff, struct scn_uid uid, struct scn_slice key)
{
        char text[256];
        if (key.size >= sizeof text) {
                return false;
        }
        memcpy(text, key.data, key.size);
        text[key.size] = '\0';
        return is_same_bytes(scn_view_property(diff->before, uid, text), scn_view_property(diff->after, uid, text));
}

/* Of the fields that were changed, those that are otherwise. */
static uint32_t different_fields(const struct scn_node_info *before, const struct scn_node_info *after, uint32_t fields)
{
        if (scn_uid_equal(before->parent, after->parent) && scn_uid_equal(before->previous, after->previous)) {
                fields &= ~SCN_FIELDS_PLACE;
        }
        if (is_same_bytes(before->name, after->name)) {
                fields &= ~SCN_FIELDS_NAME;
        }
        if (memcmp(before->trs.t, after->trs.t, sizeof after->trs.t) == 0) {
                fields &= ~SCN_FIELDS_TRANSLATION;
        }
        if (memcmp(before->trs.r, after->trs.r, sizeof after->trs.r) == 0) {
                fields &= ~SCN_FIELDS_ROTATION;
        }
        if (memcmp(before->trs.s, after->trs.s, sizeof after->trs.s) == 0) {
                fields &= ~SCN_FIELDS_SCALE;
        }
        return fields;
}

static uint32_t count_keys(const struct scn_view *view, struct scn_uid uid)
{
        struct scn_slice key;
        struct scn_slice value;
        uint32_t count = 0;
        while (scn_view_property_at(view, uid, count, &key, &value)) {
                count++;
        }
        return count;
}

/* A node that was removed and is there again has another id, and is told whole. */
static bool is_same_node(const struct diff *diff, const struct scn_node_info *before, const struct scn_node_info *after)
{
        const uint32_t fields = SCN_FIELDS_PLACE | SCN_FIELDS_NAME | SCN_FIELDS_TRS;
        const uint32_t count = count_keys(diff->after, after->uid);
        bool is_same = different_fields(before, after, fields) == 0 && count == count_keys(diff->before, after->uid);
        for (uint32_t i = 0; i < count && is_same; i++) {
                struct scn_slice key;
                struct scn_slice value;
                is_same = scn_view_property_at(diff->after, after->uid, i, &key, &value) &&
                        is_same_key(diff, after->uid, key);
        }
        return is_same;
}

/* Narrows a change to what is otherwise, its keys to those at the front of its own. False: nothing is. */
static bool narrow(const struct diff *diff, struct scn_view_change *change, struct scn_slice *keys)
{
        struct scn_node_info before;
        struct scn_node_info after;
        if (!scn_view_node(diff->before, change->uid, &before) || !scn_view_node(diff->after, change->uid, &after)) {
                return true;
        }
        if (change->is_new) {
                return !is_same_node(diff, &before, &after);
        }
        uint32_t kept = 0;
        for (uint32_t i = 0; i < change->keys_count; i++) {
                const struct scn_slice key = keys[change->keys_first + i];
                if (!is_same_key(diff, change->uid, key)) {
                        keys[change->keys_first + kept++] = key;
                }
        }
        change->keys_count = kept;
        change->fields = different_fields(&before, &after, change->fields);
        if (kept == 0) {
                change->fields &= ~SCN_FIELDS_PROPERTY;
        }
        return change->fields != 0;
}

static void print(struct diff *diff, const struct scn_view_event *event)
{
        struct scn_view_event shown = *event;
        struct scn_view_change *changes = scn_alloc_zero(event->changes_count, sizeof *changes);
        struct scn_slice *keys = scn_alloc_zero(event->keys_count, sizeof *keys);
        if (changes == NULL || keys == NULL) {
                (void)scn_ctl_refuse(diff->ctl, SCN_E_NO_MEMORY);
        } else {
                for (size_t i = 0; i < event->keys_count; i++) {
                        keys[i] = event->keys[i];
                }
                shown.changes = changes;
                shown.changes_count = 0;
                shown.keys = keys;
                for (size_t i = 0; i < event->changes_count; i++) {
                        changes[shown.changes_count] = event->changes[i];
                        shown.changes_count += narrow(diff, &changes[shown.changes_count], keys);
                }
        }
        if (shown.changes == changes && shown.changes_count + shown.removed_count + shown.left_count > 0) {
                scn_ctl_format_event(diff->ctl, diff->after, &shown, diff->options.mask);
                scn_ctl_print_line(diff->ctl);
        }
        scn_free(changes);
        scn_free(keys);
}

static void on_after(struct scn_view *view, const struct scn_view_event *event, void *data)
{
        struct diff *diff = data;
        (void)view;
        if (!event->is_whole) {
                print(diff, event);
        }
}

static void on_after_end(struct scn_view *view, const struct scn_failure *failure, void *data)
{
        const struct diff *diff = data;
        (void)view;
        if (failure != NULL) {
                scn_ctl_fail(diff->ctl, failure);
        } else {
                scn_ctl_done(diff->ctl);
        }
}

/* The first state is here: now the second. */
static void on_before_end(struct scn_view *view, const struct scn_failure *failure, void *data)
{
        struct diff *diff = data;
        (void)view;
        if (failure != NULL) {
                scn_ctl_fail(diff->ctl, failure);
                return;
        }
        const enum scn_error error = scn_replay_create(diff->ctl->client, &diff->options, &diff->after);
        if (error != SCN_OK) {
                (void)scn_ctl_refuse(diff->ctl, error);
        }
}

static bool is_number(const char *text)
{
        return text[0] != '\0' && strspn(text, "0123456789") == strlen(text);
}

/* Said of numbers here; only the server knows where tags and times stand. */
static bool goes_back(const char *from, const char *to)
{
        return is_number(from) && is_number(to) && strtoull(from, NULL, 10) > strtoull(to, NULL, 10);
}

int scn_ctl_run_diff(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct diff diff = {.ctl = ctl, .options = SCN_REPLAY_OPTIONS_INIT};
        const char *node = arguments->options[SCN_CTL_OPTION_node];
        const char *mask = arguments->options[SCN_CTL_OPTION_mask];
        if ((node != NULL && !scn_ctl_read_node(ctl, "--node", node, &diff.options.root)) ||
                (mask != NULL && !scn_ctl_read_mask(ctl, mask, SCN_MASK_DURABLE, &diff.options.mask))) {
                return SCN_CTL_USAGE;
        }
        if (goes_back(arguments->values[1], arguments->values[2])) {
                return scn_ctl_misuse(ctl, "diff goes from an older revision to a newer one: %s lies behind %s",
                        arguments->values[1], arguments->values[2]);
        }
        diff.options.from_at = arguments->values[1];
        diff.options.to_at = arguments->values[1];
        diff.options.is_merged = true;
        diff.options.data = &diff;
        struct scn_replay_options before = diff.options;
        before.on_end = on_before_end;
        diff.options.to_at = arguments->values[2];
        diff.options.on_change = on_after;
        diff.options.on_end = on_after_end;
        if (!scn_ctl_open(ctl, arguments->values[0])) {
                return ctl->code;
        }
        const enum scn_error error = scn_replay_create(ctl->client, &before, &diff.before);
        return error == SCN_OK ? scn_ctl_wait(ctl) : scn_ctl_refuse(ctl, error);
}
