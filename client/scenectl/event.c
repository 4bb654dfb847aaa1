/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "client/scenectl/event.h"

#include "protocol/base/uid.h"

#include <stdio.h>
#include <string.h>

/* --- JSON --- */

static void put_place(struct scn_ctl *ctl, const struct scn_node_info *node)
{
        scn_ctl_key(ctl, "parent");
        scn_ctl_put_uid(ctl, node->parent);
        scn_ctl_key(ctl, "after");
        scn_ctl_put_uid(ctl, node->previous);
}

static void put_property(struct scn_ctl *ctl, struct scn_slice key, struct scn_slice value)
{
        scn_ctl_next(ctl);
        scn_json_put_text(&ctl->json, key);
        scn_json_put(&ctl->json, ":");
        if (value.data == NULL) {
                scn_json_put(&ctl->json, "null");
        } else {
                scn_json_put_value(&ctl->json, value, SCN_JSON_TAGGED, NULL);
        }
}

/* A slice is a key, but the view is asked by text. */
static struct scn_slice property_of(const struct scn_view *view, struct scn_uid uid, struct scn_slice key)
{
        char text[256];
        if (key.size >= sizeof text) {
                return (struct scn_slice){NULL, 0};
        }
        memcpy(text, key.data, key.size);
        text[key.size] = '\0';
        return scn_view_property(view, uid, text);
}

static void put_properties(struct scn_ctl *ctl, const struct scn_view *view, const struct scn_view_event *event,
        const struct scn_view_change *change)
{
        struct scn_slice key;
        struct scn_slice value;
        scn_ctl_key(ctl, "props");
        scn_ctl_open_bracket(ctl, "{");
        if (change->is_new) {
                for (uint32_t i = 0; scn_view_property_at(view, change->uid, i, &key, &value); i++) {
                        put_property(ctl, key, value);
                }
        } else {
                for (uint32_t i = 0; i < change->keys_count; i++) {
                        key = event->keys[change->keys_first + i];
                        put_property(ctl, key, property_of(view, change->uid, key));
                }
        }
        scn_ctl_close_bracket(ctl, "}");
}

/* Structure is always in. */
static uint32_t fields_of(uint32_t mask)
{
        return SCN_FIELDS_PLACE | ((mask & SCN_MASK_NAME) != 0 ? SCN_FIELDS_NAME : 0) |
                ((mask & SCN_MASK_TRANSFORM) != 0 ? SCN_FIELDS_TRS : 0) |
                ((mask & SCN_MASK_PROPERTIES) != 0 ? SCN_FIELDS_PROPERTY : 0);
}

static void put_change(struct scn_ctl *ctl, const struct scn_view *view, const struct scn_view_event *event,
        const struct scn_view_change *change, uint32_t mask)
{
        struct scn_node_info node;
        const uint32_t fields = change->is_new ? fields_of(mask) : change->fields;
        if (!scn_view_node(view, change->uid, &node)) {
                return;
        }
        scn_ctl_next(ctl);
        scn_ctl_open_bracket(ctl, "{");
        scn_ctl_key(ctl, "uid");
        scn_ctl_put_uid(ctl, change->uid);
        if ((fields & SCN_FIELDS_PLACE) != 0) {
                put_place(ctl, &node);
        }
        if ((fields & SCN_FIELDS_NAME) != 0) {
                scn_ctl_key(ctl, "name");
                scn_ctl_put_name(ctl, node.name);
        }
        if ((fields & SCN_FIELDS_TRANSLATION) != 0) {
                scn_ctl_key(ctl, "t");
                scn_ctl_put_floats(ctl, node.trs.t, 3);
        }
        if ((fields & SCN_FIELDS_ROTATION) != 0) {
                scn_ctl_key(ctl, "r");
                scn_ctl_put_floats(ctl, node.trs.r, 4);
        }
        if ((fields & SCN_FIELDS_SCALE) != 0) {
                scn_ctl_key(ctl, "s");
                scn_ctl_put_floats(ctl, node.trs.s, 3);
        }
        if ((fields & SCN_FIELDS_PROPERTY) != 0) {
                put_properties(ctl, view, event, change);
        }
        scn_ctl_close_bracket(ctl, "}");
}

static void put_uids(struct scn_ctl *ctl, const char *key, const struct scn_view_gone *gone, size_t count)
{
        scn_ctl_key(ctl, key);
        scn_ctl_open_bracket(ctl, "[");
        for (size_t i = 0; i < count; i++) {
                scn_ctl_next(ctl);
                scn_ctl_put_uid(ctl, gone[i].uid);
        }
        scn_ctl_close_bracket(ctl, "]");
}

static void format_json(
        struct scn_ctl *ctl, const struct scn_view *view, const struct scn_view_event *event, uint32_t mask)
{
        scn_ctl_begin_line(ctl);
        scn_ctl_key(ctl, "from");
        scn_json_put_uint(&ctl->json, event->from);
        scn_ctl_key(ctl, "to");
        scn_json_put_uint(&ctl->json, event->to);
        if (event->time_us != 0) {
                scn_ctl_key(ctl, "time");
                scn_json_put_uint(&ctl->json, event->time_us);
        }
        if (event->cause.size > 0) {
                scn_ctl_key(ctl, "author");
                scn_json_put_text(&ctl->json, event->author);
                scn_ctl_key(ctl, "cause");
                scn_json_put_text(&ctl->json, event->cause);
        }
        scn_ctl_key(ctl, "changed");
        scn_ctl_open_bracket(ctl, "[");
        for (size_t i = 0; i < event->changes_count; i++) {
                put_change(ctl, view, event, &event->changes[i], mask);
        }
        scn_ctl_close_bracket(ctl, "]");
        put_uids(ctl, "removed", event->removed, event->removed_count);
        put_uids(ctl, "left", event->left, event->left_count);
        scn_json_put(&ctl->json, "}\n");
}

/* --- For people --- */

static void put_numbers(struct scn_ctl *ctl, const char *name, const float *floats, uint32_t count)
{
        scn_json_put(&ctl->json, name);
        for (uint32_t i = 0; i < count; i++) {
                scn_json_put(&ctl->json, " ");
                scn_json_put_float(&ctl->json, floats[i]);
        }
}

static void put_label(struct scn_ctl *ctl, struct scn_uid uid, struct scn_slice name)
{
        char text[SCN_UID_TEXT_LENGTH + 1];
        scn_uid_format(uid, text);
        scn_json_put(&ctl->json, text);
        scn_json_put(&ctl->json, name.size > 0 ? " " : "");
        scn_ctl_put_plain(ctl, name);
}

static void put_line(struct scn_ctl *ctl, const struct scn_view *view, const struct scn_view_event *event,
        const struct scn_view_change *change)
{
        struct scn_node_info node;
        if (!scn_view_node(view, change->uid, &node)) {
                return;
        }
        scn_json_put(&ctl->json, change->is_new ? "  + " : "  ~ ");
        put_label(ctl, change->uid, node.name);
        if ((change->fields & SCN_FIELDS_TRANSLATION) != 0) {
                put_numbers(ctl, "  t", node.trs.t, 3);
        }
        if (!change->is_new) {
                scn_json_put(&ctl->json, (change->fields & SCN_FIELDS_PLACE) != 0 ? "  moved" : "");
                scn_json_put(&ctl->json, (change->fields & SCN_FIELDS_NAME) != 0 ? "  renamed" : "");
                if ((change->fields & SCN_FIELDS_ROTATION) != 0) {
                        put_numbers(ctl, "  r", node.trs.r, 4);
                }
                if ((change->fields & SCN_FIELDS_SCALE) != 0) {
                        put_numbers(ctl, "  s", node.trs.s, 3);
                }
        }
        for (uint32_t i = 0; i < change->keys_count && !change->is_new; i++) {
                scn_json_put(&ctl->json, "  ");
                scn_ctl_put_plain(ctl, event->keys[change->keys_first + i]);
        }
        scn_json_put(&ctl->json, "\n");
}

static void put_gone(struct scn_ctl *ctl, const char *mark, const struct scn_view_gone *gone, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                scn_json_put(&ctl->json, mark);
                put_label(ctl, gone[i].uid, gone[i].name);
                scn_json_put(&ctl->json, "\n");
        }
}

static void format_text(struct scn_ctl *ctl, const struct scn_view *view, const struct scn_view_event *event)
{
        scn_buffer_reset(&ctl->line);
        ctl->json = scn_json_to(&ctl->line);
        scn_json_put(&ctl->json, "revision ");
        scn_json_put_uint(&ctl->json, event->to);
        if (event->cause.size > 0) {
                scn_json_put(&ctl->json, "  ");
                scn_ctl_put_plain(ctl, event->author);
                scn_json_put(&ctl->json, "  ");
                scn_ctl_put_plain(ctl, event->cause);
        }
        scn_json_put(&ctl->json, "\n");
        for (size_t i = 0; i < event->changes_count; i++) {
                put_line(ctl, view, event, &event->changes[i]);
        }
        put_gone(ctl, "  - ", event->removed, event->removed_count);
        put_gone(ctl, "  > ", event->left, event->left_count);
}

void scn_ctl_format_event(
        struct scn_ctl *ctl, const struct scn_view *view, const struct scn_view_event *event, uint32_t mask)
{
        if (ctl->is_json) {
                format_json(ctl, view, event, mask == 0 ? SCN_MASK_ALL : mask);
        } else {
                format_text(ctl, view, event);
        }
}

void scn_ctl_print_line(struct scn_ctl *ctl)
{
        if (ctl->json.error != SCN_OK) {
                (void)scn_ctl_refuse(ctl, ctl->json.error);
                return;
        }
        (void)fwrite(ctl->line.data, 1, ctl->line.size, stdout);
        scn_ctl_flush(ctl);
}
