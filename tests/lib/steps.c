/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "tests/lib/steps.h"

#include "server/core.h"
#include "tests/lib/asking.h"
#include "tests/lib/scene.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* --- Two authors --- */

void steps_begin(struct hub *hub, struct peer *ann, struct peer *ben)
{
        hub_start(hub);
        peer_open(ann, hub, 1, "ann", "test");
        peer_open(ben, hub, 2, "ben", "test");
        cr_assert_eq(asking_edit(ann, scene_add(1, 20, "N")), 1);
        cr_assert_eq(asking_edit(ben, scene_add(1, 30, "M")), 2);
}

void steps_end(struct hub *hub, struct peer *ann, struct peer *ben)
{
        peer_close(ann);
        peer_close(ben);
        hub_finish(hub);
}

struct scn_document *steps_document(struct hub *hub)
{
        return hub->server->rooms->document;
}

float steps_x(struct hub *hub, const char *path)
{
        scn_node_id id;
        const struct scn_node_ref ref = scene_path(path);
        cr_assert_eq(scn_document_find(steps_document(hub), &ref, &id), SCN_OK);
        return scn_document_node(steps_document(hub), id).trs.t[0];
}

scn_node_id steps_id(struct hub *hub, uint32_t uid)
{
        return scn_document_find_uid(steps_document(hub), scene_uid(uid));
}

/* --- Steps, there and back --- */

void steps_send(struct peer *peer, uint64_t group, struct scn_op op)
{
        peer_edit_in(peer, group, &op, 1);
}

scn_revision steps_edit_in(struct peer *peer, uint64_t group, struct scn_op op)
{
        steps_send(peer, group, op);
        return peer_expect(peer, SCN_MESSAGE_applied).as.applied.rev;
}

const char *steps_summary(const struct scn_message *message)
{
        static char text[512];
        size_t at = 0;
        struct scn_unpacker unpacker = scn_unpacker_from(message->as.applied.summary);
        cr_assert_eq(scn_unpack_map(&unpacker), 3);
        (void)scn_unpack_text(&unpacker, 16);
        at += (size_t)snprintf(text + at, sizeof text - at, "steps");
        for (uint32_t left = scn_unpack_array(&unpacker); left > 0; left--) {
                const uint64_t step = scn_unpack_uint(&unpacker, SCN_REVISION_MAX);
                at += (size_t)snprintf(text + at, sizeof text - at, " %llu", (unsigned long long)step);
        }
        (void)scn_unpack_text(&unpacker, 16);
        const uint64_t applied = scn_unpack_uint(&unpacker, SCN_REVISION_MAX);
        at += (size_t)snprintf(text + at, sizeof text - at, " applied %llu", (unsigned long long)applied);
        (void)scn_unpack_text(&unpacker, 16);
        for (uint32_t left = scn_unpack_array(&unpacker); left > 0; left--) {
                struct scn_slice words[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
                uint64_t rev = 0;
                for (uint32_t members = scn_unpack_map(&unpacker); members > 0; members--) {
                        const struct scn_slice key = scn_unpack_text(&unpacker, 16);
                        const int word = key.data[0] == 'f'       ? 0
                                : memcmp(key.data, "rea", 3) == 0 ? 1
                                : key.data[0] == 'a'              ? 2
                                                                  : -1;
                        if (word >= 0) {
                                words[word] = scn_unpack_text(&unpacker, 64);
                        } else if (memcmp(key.data, "rev", 3) == 0) {
                                rev = scn_unpack_uint(&unpacker, SCN_REVISION_MAX);
                        } else {
                                (void)scn_unpack_raw(&unpacker);
                        }
                }
                at += (size_t)snprintf(text + at, sizeof text - at, " skipped %.*s:%.*s:%.*s@%llu", (int)words[0].size,
                        (const char *)words[0].data, (int)words[1].size, (const char *)words[1].data,
                        (int)words[2].size, words[2].data == NULL ? "" : (const char *)words[2].data,
                        (unsigned long long)rev);
        }
        cr_assert(scn_unpack_is_done(&unpacker));
        return text;
}

void steps_expect(struct peer *peer, const char *summary)
{
        const struct scn_message message = peer_expect(peer, SCN_MESSAGE_applied);
        cr_assert_str_eq(steps_summary(&message), summary);
}

void steps_undo(struct peer *peer, struct peer_wish wish, const char *summary)
{
        peer_undo(peer, wish);
        steps_expect(peer, summary);
}

void steps_redo(struct peer *peer, uint64_t count, const char *summary)
{
        peer_redo(peer, count);
        steps_expect(peer, summary);
}

void steps_expect_nothing(struct peer *peer)
{
        peer_undo(peer, (struct peer_wish){0});
        peer_expect_code(peer, SCN_MESSAGE_refused, "nothing_to_undo");
}
