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
#define EXPECT_AT OTHER
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
                {"\x91\x81\x00\x09", 4, "op: from 0 to 5"},
                {"\x91\x83\x00\x00\x02\xa1/\x03\xff", 9, "index: from 0 to 4294967295"},
                {"\x91\x81\x00\x00", 4, "parent: an add needs one"},
                {"\x91\x82\x00\x05\x01\xa1/", 7, "key: a set needs one"},
                {"\x91\x83\x00\x05\x01\xa1/\x0b\x07", 9, "key: wants text, a str"},
                {"\x91\x82\x00\x01\x01\xc3", 6, "node: wants a node: an id, a uid or a path"},
                {"\x91\x83\x00\x03\x01\xa1/\x08\xa0", 9, "r: wants an array of 4 numbers"},
                {"\x91\x07", 2, "ops: this op is not a map"},
                {"\x07", 1, "ops: not an array"},
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

SCN_TEST(about, an_edit_that_cannot_be_so_says_what_is_wrong_with_it)
{
        struct scn_message message;
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "isle");
        (void)asking_edit(&ann, scene_add(1, 50, "boat"));
        scn_message_init(&message, SCN_MESSAGE_edit);
        message.as.edit.number = ++ann.number;
        message.as.edit.ops = scene_text("\x90");
        message.as.edit.strict = true;
        peer_send(&ann, &message);
        peer_expect_text(&ann, SCN_MESSAGE_refused, "strict: needs base");
        struct scn_op op = scene_move(2, 1);
        op.place = SCN_PLACE_AFTER;
        op.after = path("/boat");
        peer_edit(&ann, &op, 1);
        peer_expect_text(&ann, SCN_MESSAGE_refused, "after: it is the node itself");
        peer_close(&ann);
        hub_finish(&hub);
}

static void ask_lock(struct peer *peer, uint64_t ttl, uint64_t mask)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_lock);
        message.as.lock.request = 9;
        message.as.lock.nodes = scene_text("\x91\x02");
        message.as.lock.ttl = ttl;
        message.as.lock.mask = mask;
        peer_send(peer, &message);
}

SCN_TEST(about, an_edit_and_a_lock_name_the_same_lock_in_their_way)
{
        char wanted[160];
        char uid[SCN_UID_TEXT_LENGTH + 1];
        struct hub hub;
        struct peer ann, ben;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "isle");
        peer_open(&ben, &hub, 2, "ben", "isle");
        (void)asking_edit(&ann, scene_add(1, 50, "boat"));
        ask_lock(&ann, SCN_ABSENT, SCN_ABSENT);
        (void)peer_expect(&ann, SCN_MESSAGE_answer);
        scn_uid_format(scene_uid(50), uid);
        (void)snprintf(wanted, sizeof wanted, "node %s: locked by ann, session 1", uid);
        ask_lock(&ben, SCN_ABSENT, SCN_ABSENT);
        peer_expect_text(&ben, SCN_MESSAGE_failed, wanted);
        const struct scn_op op = scene_translate(2, 1, 2, 3);
        peer_edit(&ben, &op, 1);
        peer_expect_text(&ben, SCN_MESSAGE_refused, wanted);
        ask_lock(&ann, 3601, SCN_ABSENT);
        peer_expect_text(&ann, SCN_MESSAGE_failed, "lock.ttl: from 1 second to lock_ttl_max = 3600");
        ask_lock(&ann, SCN_ABSENT, 16);
        peer_expect_text(&ann, SCN_MESSAGE_failed, "lock.mask: of no channel that can be locked");
        peer_close(&ben);
        peer_close(&ann);
        hub_finish(&hub);
}

static void expect_turned_away(struct hub *hub, uint64_t ping, const char *name, const char *wanted)
{
        struct scn_message message;
        struct peer peer;
        peer_connect(&peer, hub);
        peer_send_bytes(&peer, scn_preface, SCN_PREFACE_BYTES);
        scn_message_init(&message, SCN_MESSAGE_hello);
        message.as.hello.version = SCN_PROTOCOL_VERSION;
        message.as.hello.client = scene_client(1);
        message.as.hello.name = scene_text(name);
        message.as.hello.ping = ping;
        peer_send(&peer, &message);
        peer_expect_text(&peer, SCN_MESSAGE_failed, wanted);
        peer_close(&peer);
}

SCN_TEST(about, a_greeting_hears_the_limit_that_it_is_beyond)
{
        char name[258];
        struct hub hub;
        hub_start(&hub);
        memset(name, 'n', sizeof name - 1);
        name[sizeof name - 1] = '\0';
        expect_turned_away(&hub, SCN_ABSENT, name, "hello.name: of 257 bytes, author_bytes_max = 256");
        expect_turned_away(&hub, 3601, "ann", "hello.ping: from 1 second to ping_max = 3600");
        expect_turned_away(&hub, 0, "ann", "hello.ping: from 1 second to ping_max = 3600");
        hub_finish(&hub);
}

SCN_TEST(about, a_greeting_that_cannot_be_read_ends_with_the_field_that_is_wrong)
{
        static const struct {
                const char *bytes;
                size_t size;
                const char *text;
        } cases[] = {
                {"\xc4\x07\x92\x01\xca\x3f\xc0\0\0", 9, "hello.version: the number must be a whole number"},
                {"\xc4\x07\x92\x01\xca\x7f\xc0\0\0", 9, "hello.version: a number is NaN or infinite"},
                {"\xc4\x17\x94\x01\x01\xc4\x10"
                 "abcdefghijklmnop\xa1\xff",
                        25, "hello.name: the text is not valid UTF-8"},
                {"\xc4\x03\x92\x01\xff", 5, "hello.version: a number is outside the range of its field"},
                {"\xc4\x02\x91\x01", 4, "hello.version: a field that must be there is absent"},
                {"\xc4\x02\x91\x3f", 4, "message 63: there is no such message, or not for this side"},
        };
        struct hub hub;
        hub_start(&hub);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                struct peer peer;
                peer_connect(&peer, &hub);
                peer_send_bytes(&peer, scn_preface, SCN_PREFACE_BYTES);
                peer_send_bytes(&peer, cases[i].bytes, cases[i].size);
                peer_expect_text(&peer, SCN_MESSAGE_failed, cases[i].text);
                cr_assert(peer_has_ended(&peer));
                peer_close(&peer);
        }
        hub_finish(&hub);
}

/* Not all have a request by which it could be told what failed. */
SCN_TEST(about, what_needs_a_document_is_named_where_there_is_none)
{
        static const struct {
                enum scn_message_kind kind;
                const char *text;
        } cases[] = {
                {SCN_MESSAGE_unview, "unview: no document is open on this connection"},
                {SCN_MESSAGE_presence, "presence: no document is open on this connection"},
                {SCN_MESSAGE_preview, "preview: no document is open on this connection"},
                {SCN_MESSAGE_info, "info: no document is open on this connection"},
        };
        struct scn_message message;
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_greet(&ann, &hub, 1, "ann");
        (void)peer_expect(&ann, SCN_MESSAGE_welcome);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                scn_message_init(&message, cases[i].kind);
                if (cases[i].kind == SCN_MESSAGE_info || cases[i].kind == SCN_MESSAGE_unview) {
                        message.as.info.request = 3;
                } else {
                        message.as.presence.map = scene_text("\x80");
                }
                peer_send(&ann, &message);
                peer_expect_text(&ann, SCN_MESSAGE_failed, cases[i].text);
        }
        peer_close(&ann);
        hub_finish(&hub);
}

SCN_TEST(about, an_opening_is_told_from_a_document_that_is_open)
{
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_greet(&ann, &hub, 1, "ann");
        (void)peer_expect(&ann, SCN_MESSAGE_welcome);
        peer_ask_open(&ann, "isle", true);
        peer_ask_open(&ann, "port", true);
        peer_expect_text(&ann, SCN_MESSAGE_failed, "open: one is under way, and its answer has to be awaited");
        (void)peer_expect(&ann, SCN_MESSAGE_opened);
        peer_ask_open(&ann, "port", true);
        peer_expect_text(&ann, SCN_MESSAGE_failed, "open: a document is open already");
        peer_close(&ann);
        hub_finish(&hub);
}

SCN_TEST(about, a_presence_that_is_too_large_is_named)
{
        uint8_t map[4200] = {0x81, 0xa1, 'k', 0xc5, 0x10, 0x40};
        struct scn_message message;
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "isle");
        scn_message_init(&message, SCN_MESSAGE_presence);
        message.as.presence.map = (struct scn_slice){map, 6 + 0x1040};
        peer_send(&ann, &message);
        peer_expect_text(&ann, SCN_MESSAGE_failed, "presence: it is larger than its limit, presence_bytes_max = 4096");
        peer_close(&ann);
        hub_finish(&hub);
}

SCN_TEST(about, a_renaming_without_the_new_name_says_so)
{
        struct scn_message message;
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "isle");
        scn_message_init(&message, SCN_MESSAGE_manage);
        message.as.manage.request = 4;
        message.as.manage.action = scene_text("rename");
        message.as.manage.document = scene_text("port");
        peer_send(&ann, &message);
        const struct scn_message failed = peer_expect(&ann, SCN_MESSAGE_failed);
        cr_expect(scene_is_text(failed.as.failed.code, "missing_field"));
        cr_expect(scene_is_text(failed.as.failed.text, "manage.to: a field that must be there is absent"));
        message.as.manage.action = scene_text("renames");
        peer_send(&ann, &message);
        peer_expect_text(&ann, SCN_MESSAGE_failed, "manage.action: none of those there are");
        peer_close(&ann);
        hub_finish(&hub);
}

/* [true], a negative number, and a text that is none. */
SCN_TEST(about, what_reads_as_no_revision_is_named_by_its_field)
{
        static const struct {
                enum scn_message_kind kind;
                size_t at;
                const char *field;
        } cases[] = {
#define OTHER(message, field)
#define CASE_UINT OTHER
#define CASE_BOOL OTHER
#define CASE_UID OTHER
#define CASE_TEXT OTHER
#define CASE_BIN OTHER
#define CASE_REF OTHER
#define CASE_RAW OTHER
#define CASE_AT(message, field)                                                                                        \
        {SCN_MESSAGE_##message, offsetof(struct scn_message, as.message.field), #message "." #field},
#define CASE_FIELD(message, kind, field, need, what) CASE_##kind(message, field)
#define CASE_MESSAGE(number, name, receiver, since, bytes_max, what) SCN_FIELDS_OF_##name(CASE_FIELD, name)
                SCN_MESSAGE_LIST(CASE_MESSAGE)
#undef OTHER
        };
        static const struct {
                const char *at;
                const char *text;
        } wrong[] = {
                {"\x91\xc3", "wants a revision, or a time or tag as text"},
                {"\xff", "a number is outside the range of its field"},
                {"\xa1\xff", "the text is not valid UTF-8"},
        };
        char wanted[100];
        struct scn_message message;
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "isle");
        for (size_t i = 0; i < 3 * sizeof cases / sizeof cases[0]; i++) {
                const bool has_number = cases[i / 3].kind == SCN_MESSAGE_restore;
                scn_message_init(&message, cases[i / 3].kind);
                message.as.tree.request = has_number ? ++ann.number : 7;
                if (cases[i / 3].kind == SCN_MESSAGE_world) {
                        message.as.world.nodes = scene_text("\x90");
                } else if (cases[i / 3].kind == SCN_MESSAGE_fork) {
                        message.as.fork.to = scene_text("port");
                }
                *(struct scn_slice *)((char *)&message + cases[i / 3].at) = scene_text(wrong[i % 3].at);
                peer_send(&ann, &message);
                (void)snprintf(wanted, sizeof wanted, "%s: %s", cases[i / 3].field, wrong[i % 3].text);
                peer_expect_text(&ann, has_number ? SCN_MESSAGE_refused : SCN_MESSAGE_failed, wanted);
        }
        peer_close(&ann);
        hub_finish(&hub);
}

SCN_TEST(about, nodes_that_are_none_are_named_by_their_field_in_the_past_too)
{
        uint8_t bytes[ASKING_AT_BYTES];
        struct scn_message message;
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "isle");
        scn_message_init(&message, SCN_MESSAGE_world);
        message.as.world.request = 7;
        message.as.world.nodes = scene_text("\x91\xc3");
        for (int i = 0; i < 2; i++) {
                message.as.world.at = i == 0 ? (struct scn_slice){NULL, 0} : asking_at(bytes, "0");
                peer_send(&ann, &message);
                peer_expect_text(
                        &ann, SCN_MESSAGE_failed, "world.nodes: wants an array of nodes, each an id, a uid or a path");
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
