/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_UNIT_CLIENT_VIEW_BENCH_H
#define SCN_TESTS_UNIT_CLIENT_VIEW_BENCH_H

/* A client with a view of a small scene, and what the view's callbacks said last. */

#include "tests/lib/mock.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include "client/client.h"
#include "protocol/base/uid.h"

#include <stdio.h>
#include <string.h>

struct heard {
        uint32_t events;
        enum scn_view_event_kind kind;
        uint32_t mask;
        bool is_whole;
        scn_revision from;
        scn_revision to;
        uint64_t edit;
        size_t changes_count;
        struct scn_view_change changes[16];
        size_t removed_count;
        struct scn_uid removed;
        char removed_name[16];
        struct scn_uid removed_all[16];
        size_t left_count;
        char code[SCN_FAILURE_CODE_BYTES];
        bool is_ended;
};

static inline void on_change(struct scn_view *view, const struct scn_view_event *event, void *data)
{
        struct heard *heard = data;
        (void)view;
        heard->events++;
        heard->kind = event->kind;
        heard->mask = event->mask;
        heard->is_whole = event->is_whole;
        heard->from = event->from;
        heard->to = event->to;
        heard->edit = event->edit;
        heard->changes_count = event->changes_count;
        for (size_t i = 0; i < event->changes_count && i < 16; i++) {
                heard->changes[i] = event->changes[i];
        }
        heard->removed_count = event->removed_count;
        heard->removed = event->removed_count > 0 ? event->removed[0].uid : (struct scn_uid){{0}};
        const struct scn_slice name = event->removed_count > 0 ? event->removed[0].name : (struct scn_slice){NULL, 0};
        (void)snprintf(heard->removed_name, sizeof heard->removed_name, "%.*s", (int)name.size,
                name.data != NULL ? (const char *)name.data : "");
        for (size_t i = 0; i < event->removed_count && i < 16; i++) {
                heard->removed_all[i] = event->removed[i].uid;
        }
        heard->left_count = event->left_count;
        memcpy(heard->code, event->failure == NULL ? "" : event->failure->code,
                event->failure == NULL ? 1 : sizeof heard->code);
}

static inline void on_end(struct scn_view *view, const struct scn_failure *failure, void *data)
{
        struct heard *heard = data;
        (void)view;
        heard->is_ended = true;
        memcpy(heard->code, failure == NULL ? "" : failure->code, failure == NULL ? 1 : sizeof heard->code);
}

struct bench {
        struct mock mock;
        struct heard heard;
        struct scn_view *view;
        struct mock_view theirs;
};

static inline struct scn_view *make_view(struct bench *bench, struct scn_target root, uint32_t mask)
{
        struct scn_view_options options = SCN_VIEW_OPTIONS_INIT;
        struct scn_view *view;
        options.root = root;
        options.mask = mask;
        options.on_change = on_change;
        options.on_end = on_end;
        options.data = &bench->heard;
        cr_assert_eq(scn_view_create(bench->mock.client, &options, &view), SCN_OK);
        return view;
}

/* A scene: root(1) with a(2) and b(3), c(4) under a; and a view of all of it. */
static inline void set_up(struct bench *bench)
{
        const struct scn_client_options options = mock_options();
        *bench = (struct bench){.view = NULL};
        mock_init(&bench->mock, &options);
        const scn_node_id a = scene_new(bench->mock.document, 1, 2, "a");
        (void)scene_new(bench->mock.document, 1, 3, "b");
        (void)scene_new(bench->mock.document, a, 4, "c");
        mock_open(&bench->mock);
        bench->view = make_view(bench, (struct scn_target){.path = NULL}, 0);
        bench->theirs = mock_answer_view(&bench->mock, false);
}

static inline void dispatch(struct bench *bench)
{
        cr_assert_eq(scn_client_dispatch(bench->mock.client, bench->mock.now_ms), SCN_OK);
}

static inline uint64_t submit(struct scn_draft *draft)
{
        uint64_t edit;
        cr_assert_eq(scn_draft_submit(draft, NULL, NULL, &edit), SCN_OK);
        return edit;
}

static inline uint64_t submit_move_to_x(struct bench *bench, uint32_t uid_number, float x)
{
        struct scn_draft *draft = scn_draft_create(bench->mock.client, bench->view);
        const float t[3] = {x, 0.0f, 0.0f};
        cr_assert_eq(scn_draft_transform(draft, SCN_BY_UID(scene_uid(uid_number)), t, NULL, NULL), SCN_OK);
        return submit(draft);
}

static inline float x_of(const struct scn_view *view, uint32_t uid_number)
{
        struct scn_node_info info;
        cr_assert(scn_view_node(view, scene_uid(uid_number), &info));
        return info.trs.t[0];
}

static inline scn_node_id id_of(const struct bench *bench, uint32_t uid_number)
{
        return scn_document_find_uid(bench->mock.document, scene_uid(uid_number));
}

#endif
