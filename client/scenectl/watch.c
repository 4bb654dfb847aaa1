/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* watch: the state, then each change; with --since, what changed since a revision instead of the state. Presence,
 * locks and previews only where they are asked for.
 *
 * A view cannot begin in the past without the state of then. So, with --since, the past is replayed up to where the
 * view begins; what the view tells meanwhile is kept back, ready to be printed. */

#include "client/scenectl/event.h"
#include "protocol/base/uid.h"

#include <stdio.h>

#define KEPT_BYTES_MAX ((size_t)256 << 20)

struct watch {
        struct scn_ctl *ctl;
        struct scn_target root;
        uint32_t mask;
        bool has_since;
        uint64_t since;
        scn_revision begins; /* the view's first revision */
        bool is_replaying;
        struct scn_buffer kept;
};

static void on_end(struct scn_view *view, const struct scn_failure *failure, void *data)
{
        const struct watch *watch = data;
        (void)view;
        if (failure != NULL) {
                scn_ctl_fail(watch->ctl, failure);
        }
}

static void on_replayed(struct scn_view *view, const struct scn_view_event *event, void *data)
{
        const struct watch *watch = data;
        if (!event->is_whole && event->to > watch->since) {
                scn_ctl_format_event(watch->ctl, view, event, watch->mask);
                scn_ctl_print_line(watch->ctl);
        }
}

static void on_replay_end(struct scn_view *view, const struct scn_failure *failure, void *data)
{
        struct watch *watch = data;
        if (failure != NULL) {
                scn_ctl_fail(watch->ctl, failure);
                return;
        }
        watch->is_replaying = false;
        if (watch->kept.size > 0) {
                (void)fwrite(watch->kept.data, 1, watch->kept.size, stdout);
        }
        scn_buffer_reset(&watch->kept);
        scn_ctl_flush(watch->ctl);
        scn_view_destroy(view);
}

static void begin_replay(struct watch *watch)
{
        struct scn_replay_options options = SCN_REPLAY_OPTIONS_INIT;
        struct scn_view *replay;
        options.from = watch->since;
        options.to = watch->begins;
        options.root = watch->root;
        options.mask = watch->mask;
        options.on_change = on_replayed;
        options.on_end = on_replay_end;
        options.data = watch;
        const enum scn_error error = scn_replay_create(watch->ctl->client, &options, &replay);
        if (error != SCN_OK) {
                (void)scn_ctl_refuse(watch->ctl, error);
        }
}

static void on_first(struct watch *watch, const struct scn_view_event *event)
{
        watch->begins = event->to;
        if (watch->since > watch->begins) {
                struct scn_failure future = {.code = "future"};
                (void)snprintf(future.text, sizeof future.text, "revision %llu: the last revision is %llu",
                        (unsigned long long)watch->since, (unsigned long long)watch->begins);
                scn_ctl_fail(watch->ctl, &future);
        } else if (watch->since < watch->begins) {
                watch->is_replaying = true;
                begin_replay(watch);
        }
}

static void on_change(struct scn_view *view, const struct scn_view_event *event, void *data)
{
        struct watch *watch = data;
        struct scn_ctl *ctl = watch->ctl;
        if (watch->has_since) {
                watch->has_since = false;
                on_first(watch, event);
                return;
        }
        scn_ctl_format_event(ctl, view, event, watch->mask);
        if (!watch->is_replaying) {
                scn_ctl_print_line(ctl);
                return;
        }
        const enum scn_error error = ctl->json.error != SCN_OK
                ? ctl->json.error
                : scn_buffer_append(&watch->kept, ctl->line.data, ctl->line.size);
        if (error != SCN_OK) {
                (void)scn_ctl_refuse(ctl, error);
        }
}

static void on_live(struct scn_view *view, uint32_t mask, void *data)
{
        const struct watch *watch = data;
        scn_ctl_print_live(watch->ctl, view, mask);
}

/* With the mask `world`: where nodes are, whenever that may have changed. */
static void on_worlds(struct scn_view *view, const struct scn_world_change *changes, uint32_t count, void *data)
{
        struct scn_ctl *ctl = ((const struct watch *)data)->ctl;
        (void)view;
        for (uint32_t i = 0; i < count; i++) {
                const struct scn_world_change *change = &changes[i];
                char uid[SCN_UID_TEXT_LENGTH + 1];
                scn_uid_to_text(change->uid, uid);
                if (!ctl->is_json) {
                        const char *what = change->is_gone ? "gone" : change->overflows ? "overflow" : NULL;
                        if (what != NULL) {
                                scn_ctl_print("%s  %s\n", uid, what);
                        } else {
                                scn_ctl_print("%s  t %.9g %.9g %.9g\n", uid, (double)change->matrix[12],
                                        (double)change->matrix[13], (double)change->matrix[14]);
                        }
                        continue;
                }
                scn_ctl_begin_line(ctl);
                scn_ctl_key(ctl, "uid");
                scn_ctl_put_uid(ctl, change->uid);
                if (change->is_gone || change->overflows) {
                        scn_ctl_key(ctl, change->is_gone ? "gone" : "overflow");
                        scn_json_put(&ctl->json, "true");
                } else {
                        scn_ctl_key(ctl, "matrix");
                        scn_ctl_put_floats(ctl, change->matrix, 16);
                }
                scn_ctl_end_line(ctl);
        }
        scn_ctl_flush(ctl);
}

static int run(struct watch *watch, const char *document)
{
        struct scn_ctl *ctl = watch->ctl;
        struct scn_view_options options = SCN_VIEW_OPTIONS_INIT;
        struct scn_view *view;
        if (!scn_ctl_open(ctl, document)) {
                return ctl->code;
        }
        options.root = watch->root;
        options.mask = watch->mask == 0 ? SCN_MASK_DURABLE : watch->mask;
        options.on_change = on_change;
        options.on_end = on_end;
        options.on_live = on_live;
        options.on_worlds = on_worlds;
        options.data = watch;
        const enum scn_error error = scn_view_create(ctl->client, &options, &view);
        return error == SCN_OK ? scn_ctl_wait(ctl) : scn_ctl_refuse(ctl, error);
}

/* A view of worlds holds no hierarchy, and has no past: beside a channel of nodes it would say nothing. */
static bool is_possible(const struct watch *watch)
{
        const bool has_world = (watch->mask & SCN_MASK_WORLD) != 0;
        if (has_world && (watch->mask & SCN_MASK_DURABLE) != 0) {
                (void)scn_ctl_misuse(
                        watch->ctl, "--mask: world goes with none of structure, name, transform and properties");
        } else if (has_world && watch->has_since) {
                (void)scn_ctl_misuse(watch->ctl, "--mask: world tells what is, and has no --since");
        }
        return watch->ctl->code != SCN_CTL_USAGE;
}

int scn_ctl_run_watch(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct watch watch = {.ctl = ctl};
        const char *mask = arguments->options[SCN_CTL_OPTION_mask];
        const char *since = arguments->options[SCN_CTL_OPTION_since];
        watch.has_since = since != NULL;
        if ((arguments->values_count > 1 && !scn_ctl_read_node(ctl, "NODE", arguments->values[1], &watch.root)) ||
                (mask != NULL && !scn_ctl_read_mask(ctl, mask, SCN_MASK_ALL, &watch.mask)) ||
                (since != NULL && !scn_ctl_read_number(ctl, "--since", since, SCN_REVISION_MAX, &watch.since)) ||
                !is_possible(&watch)) {
                return SCN_CTL_USAGE;
        }
        scn_buffer_init(&watch.kept, KEPT_BYTES_MAX);
        const int code = run(&watch, arguments->values[0]);
        scn_buffer_finish(&watch.kept);
        return code;
}
