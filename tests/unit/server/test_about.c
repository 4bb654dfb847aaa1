/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What a failure says it is about. */

#include "protocol/base/uid.h"
#include "server/about.h"
#include "tests/lib/asking.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct scn_limits limits = SCN_LIMITS_DEFAULT;

static struct scn_node_ref path(const char *text)
{
        return (struct scn_node_ref){.kind = SCN_REF_PATH, .path = scene_text(text)};
}

static void expect(const struct scn_message *message, enum scn_error error, const char *text, const char *wanted)
{
        struct scn_said said;
        cr_assert_str_eq(scn_about_request(&said, message, error, text, &limits), wanted);
}

SCN_TEST(about, names_the_node_that_was_asked_for_however_it_was_named)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_tree);
        message.as.tree.node = path("/Boat");
        expect(&message, SCN_E_NO_NODE, NULL, "node /Boat: no node has this path");
        message.as.tree.node = (struct scn_node_ref){.kind = SCN_REF_ID, .id = 12};
        expect(&message, SCN_E_GONE, NULL, "node 12: the node has been removed");
        message.as.tree.node = (struct scn_node_ref){.kind = SCN_REF_UID, .uid = scene_uid(7)};
        struct scn_said said;
        cr_assert_not_null(strstr(scn_about_request(&said, &message, SCN_E_NO_NODE, NULL, &limits),
                ": no such node has ever existed here"));
        cr_assert_eq(strlen(said.text), strlen("node : no such node has ever existed here") + 36);
        scn_message_init(&message, SCN_MESSAGE_world);
        message.as.world.relative = path("/Sea");
        expect(&message, SCN_E_NO_NODE, NULL, "relative /Sea: no node has this path");
}

SCN_TEST(about, names_the_revision_the_time_or_the_tag)
{
        uint8_t bytes[ASKING_AT_BYTES];
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_fork);
        message.as.fork.at = asking_at(bytes, "99");
        expect(&message, SCN_E_FUTURE, "the last revision is 3", "revision 99: the last revision is 3");
        message.as.fork.at = asking_at(bytes, "fleet");
        expect(&message, SCN_E_NO_TAG, NULL, "tag fleet: no tag has this name");
        message.as.fork.at = asking_at(bytes, "2026-13-01T00:00:00Z");
        expect(&message, SCN_E_BAD_TIME, "wrong", "time 2026-13-01T00:00:00Z: wrong");
        scn_message_init(&message, SCN_MESSAGE_tag);
        message.as.tag.name = scene_text("fleet");
        message.as.tag.rev = 5;
        expect(&message, SCN_E_NO_TAG, NULL, "tag fleet: no tag has this name");
        expect(&message, SCN_E_FOLDED, "folded", "revision 5: folded");
        expect(&message, SCN_E_FOLDED, "revision 5 was folded", "revision 5 was folded");
        expect(&message, SCN_E_FOLDED, "revision 50 is another", "revision 5: revision 50 is another");
        scn_message_init(&message, SCN_MESSAGE_fork);
        message.as.fork.at = asking_at(bytes, "5");
        expect(&message, SCN_E_FOLDED, "revision 5 was folded", "revision 5 was folded");
        message.as.fork.at = asking_at(bytes, "fleet");
        expect(&message, SCN_E_FOLDED, "revision 5 was folded", "tag fleet: revision 5 was folded");
}

static uint32_t refs_seen;

/* The node that a message names is told, wherever it stands in it. */
static void expect_ref(enum scn_message_kind kind, size_t at, const char *field)
{
        struct scn_message message;
        struct scn_said said;
        scn_message_init(&message, kind);
        *(struct scn_node_ref *)((char *)&message + at) = path("/X");
        const char *text = scn_about_request(&said, &message, SCN_E_NO_NODE, NULL, &limits);
        cr_expect_not_null(strstr(text, " /X: no node has this path"), "%s: %s", field, text);
        refs_seen++;
}

SCN_TEST(about, knows_where_each_message_names_a_node)
{
#define OTHER(message, field)
#define EXPECT_UINT OTHER
#define EXPECT_BOOL OTHER
#define EXPECT_UID OTHER
#define EXPECT_TEXT OTHER
#define EXPECT_BIN OTHER
#define EXPECT_RAW OTHER
#define EXPECT_REF(message, field)                                                                                     \
        expect_ref(SCN_MESSAGE_##message, offsetof(struct scn_message, as.message.field), #message "." #field);
#define EXPECT_FIELD(message, kind, field, need, what) EXPECT_##kind(message, field)
#define EXPECT_MESSAGE(number, name, receiver, since, bytes_max, what) SCN_FIELDS_OF_##name(EXPECT_FIELD, name)
        SCN_MESSAGE_LIST(EXPECT_MESSAGE)
        cr_expect_geq(refs_seen, 8);
}

SCN_TEST(about, names_the_document_and_of_two_the_one_that_is_meant)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_manage);
        message.as.manage.document = scene_text("isle");
        message.as.manage.to = scene_text("port");
        expect(&message, SCN_E_NO_DOCUMENT, NULL, "document isle: no document has this name");
        expect(&message, SCN_E_DOCUMENT_EXISTS, NULL, "document port: a document has this name already");
        message.as.manage.document = scene_text("");
        message.as.manage.to = (struct scn_slice){NULL, 0};
        expect(&message, SCN_E_BAD_NAME, "bad", "document '': bad");
        scn_message_init(&message, SCN_MESSAGE_fork);
        message.as.fork.to = scene_text("port");
        expect(&message, SCN_E_DOCUMENT_EXISTS, "there", "document port: there");
        expect(&message, SCN_E_BUSY, "taken", "document port: taken");
        expect(&message, SCN_E_CORRUPT, "damaged", "damaged");
        expect(&message, SCN_E_STORAGE_BUSY, "locked", "locked");
        scn_message_init(&message, SCN_MESSAGE_adopt);
        message.as.adopt.document = scene_text("port");
        expect(&message, SCN_E_BUSY, "taken", "document port: taken");
        expect(&message, SCN_E_CORRUPT, "damaged", "damaged");
        scn_message_init(&message, SCN_MESSAGE_open);
        message.as.open.document = scene_text("port");
        expect(&message, SCN_E_CORRUPT, "damaged", "document port: damaged");
}

static void rename_document(struct peer *peer, const char *from, const char *to)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_manage);
        message.as.manage.request = 4;
        message.as.manage.action = scene_text("rename");
        message.as.manage.document = scene_text(from);
        message.as.manage.to = scene_text(to);
        peer_send(peer, &message);
}

SCN_TEST(about, a_renaming_names_the_name_that_cannot_be_one)
{
        char wanted[200];
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "isle");
        rename_document(&ann, "", "port");
        (void)snprintf(wanted, sizeof wanted, "document '': %s", scn_error_text(SCN_E_BAD_NAME));
        peer_expect_text(&ann, SCN_MESSAGE_failed, wanted);
        rename_document(&ann, "port", "");
        peer_expect_text(&ann, SCN_MESSAGE_failed, wanted);
        rename_document(&ann, "port", "isle");
        peer_expect_text(&ann, SCN_MESSAGE_failed, "document port: no document has this name");
        rename_document(&ann, "isle", "port");
        peer_expect_text(&ann, SCN_MESSAGE_failed, "document isle: the document is open");
        peer_close(&ann);
        hub_finish(&hub);
}

/* Of an op as it was sent: [{op: add, parent: "/", ...}], or of another kind. */
SCN_TEST(about, an_edit_that_cannot_be_read_names_the_entry_of_its_op)
{
        static const struct {
                const char *bytes;
                uint32_t size;
                const char *text;
        } cases[] = {
                {"\x91\x81\x00\x09", 4, "op: a number is outside the range of its field"},
                {"\x91\x83\x00\x00\x02\xa1/\x03\xff", 9, "index: a number is outside the range of its field"},
                {"\x91\x82\x00\x01\x01\xc3", 6, "node: the op is malformed"},
                {"\x91\x83\x00\x03\x01\xa1/\x08\xa0", 9, "rotation: the op is malformed"},
                {"\x91\x07", 2, "the op is malformed"},
        };
        struct scn_message message;
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "isle");
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                scn_message_init(&message, SCN_MESSAGE_edit);
                message.as.edit.number = ++ann.number;
                message.as.edit.ops = (struct scn_slice){(const uint8_t *)cases[i].bytes, cases[i].size};
                peer_send(&ann, &message);
                peer_expect_text(&ann, SCN_MESSAGE_refused, cases[i].text);
        }
        peer_close(&ann);
        hub_finish(&hub);
}

SCN_TEST(about, names_the_session_the_step_and_the_limit)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_kick);
        message.as.kick.session = 7;
        expect(&message, SCN_E_NO_SESSION, NULL, "session 7: there is no such session");
        scn_message_init(&message, SCN_MESSAGE_undo);
        message.as.undo.step = 4;
        expect(&message, SCN_E_NOTHING_TO_UNDO, "nothing", "step 4: nothing");
        scn_message_init(&message, SCN_MESSAGE_view);
        expect(&message, SCN_E_TOO_MANY_VIEWS, "too many", "too many, views_max = 64");
        expect(&message, SCN_E_TOO_MANY_LOCKS, "too many", "too many, locks_max = 256, room_locks_max = 16384");
}

SCN_TEST(about, leaves_alone_what_the_request_has_no_part_in)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_tree);
        message.as.tree.node = path("/Boat");
        expect(&message, SCN_E_NO_MEMORY, NULL, "out of memory");
        expect(&message, SCN_E_STORAGE_FAILED, "the disk", "the disk");
        scn_message_init(&message, SCN_MESSAGE_digest);
        expect(&message, SCN_E_FUTURE, "the last revision is 3", "the last revision is 3");
}

/* Cut where a character begins, and never without the reason. */
SCN_TEST(about, says_the_reason_however_long_the_name_is)
{
        char name[1000];
        struct scn_message message;
        struct scn_said said;
        for (size_t i = 0; i + 1 < sizeof name; i += 2) {
                memcpy(name + i, "\xc3\xa9", 2);
        }
        name[0] = '/';
        name[1] = 'x'; /* the characters stand at even places: 200 is between two of them */
        name[2] = 'y'; /* now it is within one */
        memmove(name + 3, name + 4, sizeof name - 4);
        name[sizeof name - 1] = '\0';
        scn_message_init(&message, SCN_MESSAGE_tree);
        message.as.tree.node = path(name);
        const char *text = scn_about_request(&said, &message, SCN_E_NO_NODE, NULL, &limits);
        cr_assert_not_null(strstr(text, " ...: no node has this path"));
        cr_assert(scn_utf8_is_valid((const uint8_t *)text, strlen(text)));
        cr_assert_lt(strlen(text), 256);
}

SCN_TEST(about, an_edit_names_the_reference_that_leads_nowhere)
{
        static const struct {
                enum scn_op_kind kind;
                const char *node;
                const char *parent;
                const char *wanted;
        } cases[] = {
                {.kind = SCN_OP_ADD, .parent = "/X", .wanted = "parent /X: no node has this path"},
                {.kind = SCN_OP_MOVE, .node = "/X", .parent = "/", .wanted = "node /X: no node has this path"},
                {.kind = SCN_OP_MOVE, .node = "/boat", .parent = "/X", .wanted = "parent /X: no node has this path"},
                {.kind = SCN_OP_REMOVE, .node = "/X", .wanted = "node /X: no node has this path"},
                {.kind = SCN_OP_RENAME, .node = "/X", .wanted = "node /X: no node has this path"},
                {.kind = SCN_OP_TRANSFORM, .node = "/X", .wanted = "node /X: no node has this path"},
                {.kind = SCN_OP_TRANSFORM,
                        .node = "/boat",
                        .parent = "/X",
                        .wanted = "parent /X: no node has this path"},
        };
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "isle");
        (void)asking_edit(&ann, scene_add(1, 50, "boat"));
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                struct scn_op op = scene_translate(2, 1, 2, 3);
                op.kind = cases[i].kind;
                op.node = cases[i].node != NULL ? path(cases[i].node) : (struct scn_node_ref){.kind = SCN_REF_NONE};
                op.parent =
                        cases[i].parent != NULL ? path(cases[i].parent) : (struct scn_node_ref){.kind = SCN_REF_NONE};
                peer_edit(&ann, &op, 1);
                const struct scn_message message = peer_expect(&ann, SCN_MESSAGE_refused);
                const struct scn_slice text = message.as.refused.text;
                cr_assert(text.size == strlen(cases[i].wanted) && memcmp(text.data, cases[i].wanted, text.size) == 0,
                        "%zu: %.*s", i, (int)text.size, (const char *)text.data);
                /* A parent that was named by a path has none, and the uid made for the new node says nothing. */
                cr_assert(cases[i].kind != SCN_OP_ADD || scn_uid_is_none(message.as.refused.node));
        }
        peer_close(&ann);
        hub_finish(&hub);
}
