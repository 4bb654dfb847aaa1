/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The examples of PROTOCOL.md: written by this codec, and read back. That the server says what they say is tested
 * in tests/unit/server/test_golden.c, that the page shows the same bytes in tests/tidy. */

#include "tests/lib/golden.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include "protocol/base/uid.h"
#include "protocol/scene/digest.h"
#include "protocol/wire/columns.h"
#include "protocol/wire/frame.h"
#include "protocol/wire/live.h"
#include "protocol/wire/message.h"
#include "protocol/wire/ops.h"

#include <string.h>

/* --- The things that the examples talk about --- */

/* Sixteen bytes that count up: a0 a1 a2 ... */
static struct scn_uid uid_from(uint8_t first)
{
        struct scn_uid uid;
        for (uint8_t i = 0; i < sizeof uid.bytes; i++) {
                uid.bytes[i] = (uint8_t)(first + i);
        }
        return uid;
}

#define ANN uid_from(0xa0)
#define BOAT uid_from(0xb0)
#define LANTERN uid_from(0xc0)
#define OAR uid_from(0x70)
#define RAFT uid_from(0x60)
#define BUOY uid_from(0x90)
#define DOCUMENT uid_from(0xd0)
#define ROOT uid_from(0xe0)

static struct scn_node_ref by_uid(struct scn_uid uid)
{
        return (struct scn_node_ref){.kind = SCN_REF_UID, .uid = uid};
}

static struct scn_slice epoch(void)
{
        static const uint8_t bytes[] = {0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7};
        return (struct scn_slice){bytes, sizeof bytes};
}

/* An object as it stands in a message. Several may be alive at a time. */
struct object {
        struct scn_buffer buffer;
        struct scn_packer packer;
};

static void begin(struct object *object)
{
        scn_buffer_init(&object->buffer, 4096);
        object->packer = scn_packer_to(&object->buffer);
}

static struct scn_slice bytes_of(const struct object *object)
{
        cr_assert_eq(object->packer.error, SCN_OK);
        return (struct scn_slice){object->buffer.data, (uint32_t)object->buffer.size};
}

static void expect_message(const char *name, const struct scn_message *message)
{
        struct scn_buffer payload;
        scn_buffer_init(&payload, SCN_MESSAGE_BYTES_MAX);
        cr_assert_eq(scn_message_encode(message, &payload), SCN_OK);
        golden_expect(name, (struct scn_slice){payload.data, (uint32_t)payload.size});
        scn_buffer_finish(&payload);
}

static struct scn_message make(enum scn_message_kind kind)
{
        struct scn_message message;
        scn_message_init(&message, kind);
        return message;
}

/* --- Requests --- */

SCN_TEST(golden, frames_and_preface)
{
        struct scn_buffer stream;
        const struct scn_slice ping = golden_get("ping");
        scn_buffer_init(&stream, 64);
        cr_assert_eq(scn_buffer_append(&stream, scn_preface, SCN_PREFACE_BYTES), SCN_OK);
        golden_expect("preface", (struct scn_slice){stream.data, (uint32_t)stream.size});
        scn_buffer_reset(&stream);
        cr_assert_eq(scn_frame_append_head(&stream, ping.size), SCN_OK);
        cr_assert_eq(scn_buffer_append(&stream, ping.data, ping.size), SCN_OK);
        golden_expect("frame", (struct scn_slice){stream.data, (uint32_t)stream.size});
        scn_buffer_finish(&stream);
}

SCN_TEST(golden, requests_that_greet_and_manage)
{
        struct scn_message message = make(SCN_MESSAGE_hello);
        message.as.hello.version = 1;
        message.as.hello.client = ANN;
        message.as.hello.name = scene_text("ann");
        message.as.hello.agent = scene_text("demo 1");
        expect_message("hello", &message);
        message.as.hello.agent = (struct scn_slice){NULL, 0};
        message.as.hello.ping = 20;
        expect_message("hello/ping", &message);
        message = make(SCN_MESSAGE_open);
        message.as.open.request = 1;
        message.as.open.document = scene_text("island");
        message.as.open.create = true;
        expect_message("open", &message);
        message = make(SCN_MESSAGE_documents);
        message.as.documents.request = 10;
        expect_message("documents", &message);
        message = make(SCN_MESSAGE_manage);
        message.as.manage.request = 11;
        message.as.manage.action = scene_text("create");
        message.as.manage.document = scene_text("harbour");
        expect_message("manage", &message);
        message.as.manage.request = 18;
        message.as.manage.action = scene_text("rename");
        message.as.manage.to = scene_text("port");
        expect_message("manage/rename", &message);
        message = make(SCN_MESSAGE_info);
        message.as.info.request = 12;
        expect_message("info", &message);
        message = make(SCN_MESSAGE_who);
        message.as.who.request = 13;
        expect_message("who", &message);
        message = make(SCN_MESSAGE_kick);
        message.as.kick.request = 14;
        message.as.kick.session = 2;
        expect_message("kick", &message);
        message = make(SCN_MESSAGE_ping);
        message.as.ping.request = 15;
        expect_message("ping", &message);
}

static void expect_edit(const char *name, struct scn_message *message, const struct scn_op *ops, uint32_t count)
{
        struct object object;
        begin(&object);
        scn_ops_encode(&object.packer, ops, count);
        message->as.edit.ops = bytes_of(&object);
        expect_message(name, message);
        scn_buffer_finish(&object.buffer);
}

static struct scn_op add(struct scn_node_ref parent, struct scn_uid uid, const char *name)
{
        return (struct scn_op){.kind = SCN_OP_ADD, .parent = parent, .uid = uid, .name = scene_text(name)};
}

static const uint8_t true_value[] = {0xc3};
static const struct scn_property visible = {{(const uint8_t *)"scn.visible", 11}, {true_value, 1}};

SCN_TEST(golden, edits)
{
        struct scn_message message = make(SCN_MESSAGE_edit);
        struct scn_op build[] = {add(scene_path("/"), BOAT, "boat"), add(by_uid(BOAT), LANTERN, "lantern")};
        build[0].fields = SCN_FIELDS_TRANSLATION;
        build[0].trs.t[0] = 10;
        build[0].trs.t[2] = -2.5f;
        build[0].properties = &visible;
        build[0].properties_count = 1;
        build[1].fields = SCN_FIELDS_ROTATION;
        build[1].trs.r[3] = 2;
        message.as.edit.number = 1;
        expect_edit("edit", &message, build, 2);

        struct scn_op change[] = {
                scene_translate(2, 11, 0, -2.5f),
                {.kind = SCN_OP_RENAME, .node = scene_path("/boat/lantern"), .name = scene_text("lamp")},
                scene_set(3, "scn.type", (struct scn_slice){(const uint8_t *)"\xa5light", 6}),
                add(by_uid(BOAT), OAR, "oar"),
                scene_set(2, "scn.visible", (struct scn_slice){NULL, 0}),
        };
        change[3].fields = SCN_FIELDS_ROTATION | SCN_FIELDS_SCALE;
        change[3].trs = (struct scn_trs){.r = {0, 0, 1, 0}, .s = {1, 1, 3}};
        message.as.edit.number = 2;
        message.as.edit.group = 7;
        expect_edit("edit/change", &message, change, 5);

        struct scn_op all[] = {
                add(scene_path("/"), BUOY, "buoy"),
                {.kind = SCN_OP_MOVE, .node = by_uid(LANTERN), .parent = scene_path("/")},
                scene_translate(5, 1, 2, 3),
                scene_rename(5, NULL),
                scene_set(5, "scn.visible", (struct scn_slice){NULL, 0}),
                scene_move(4, 1),
                {.kind = SCN_OP_REMOVE, .node = by_uid(LANTERN)},
        };
        all[0].place = SCN_PLACE_INDEX;
        all[0].properties = &visible;
        all[0].properties_count = 1;
        all[1].place = SCN_PLACE_AFTER;
        all[1].keep_world = true;
        all[1].is_lossy = true;
        all[2].parent = scene_id(1);
        all[2].fields = SCN_FIELDS_TRS;
        all[2].trs.r[3] = 1;
        all[2].trs.s[0] = all[2].trs.s[1] = all[2].trs.s[2] = 2;
        all[5].place = SCN_PLACE_AFTER;
        all[5].after = by_uid(BOAT);
        message = make(SCN_MESSAGE_edit);
        message.as.edit.number = 3;
        expect_edit("edit/all", &message, all, 7);

        const struct scn_op wrong = scene_remove(99);
        message.as.edit.number = 4;
        expect_edit("edit/wrong", &message, &wrong, 1);

        const struct scn_op strict = scene_translate(2, 0, 0, 0);
        message.as.edit.number = 5;
        message.as.edit.base = 3;
        message.as.edit.strict = true;
        expect_edit("edit/strict", &message, &strict, 1);

        const struct scn_op part = add(scene_path("/"), RAFT, "part");
        message = make(SCN_MESSAGE_edit);
        message.as.edit.number = 6;
        message.as.edit.more = true;
        expect_edit("edit/part", &message, &part, 1);
        const struct scn_op last = {.kind = SCN_OP_RENAME, .node = scene_path("/part"), .name = scene_text("raft")};
        message.as.edit.more = false;
        expect_edit("edit/last", &message, &last, 1);
        const struct scn_op nothing = scene_rename(2, "boat");
        message.as.edit.number = 7;
        expect_edit("edit/nothing", &message, &nothing, 1);

        message = make(SCN_MESSAGE_undo);
        message.as.undo.number = 8;
        message.as.undo.count = 2;
        expect_message("undo", &message);
        message = make(SCN_MESSAGE_redo);
        message.as.redo.number = 9;
        expect_message("redo", &message);
}

SCN_TEST(golden, views)
{
        struct scn_message message = make(SCN_MESSAGE_view);
        message.as.view.request = 2;
        message.as.view.view = 1;
        message.as.view.root = scene_path("/boat");
        message.as.view.mask = SCN_MASK_STRUCTURE | SCN_MASK_NAME | SCN_MASK_TRANSFORM | SCN_MASK_PROPERTIES;
        expect_message("view", &message);
        message.as.view.request = 3;
        message.as.view.root = by_uid(BOAT);
        message.as.view.epoch = epoch();
        message.as.view.rev = 2;
        expect_message("view/resume", &message);
        message = make(SCN_MESSAGE_view);
        message.as.view.request = 20;
        message.as.view.view = 2;
        message.as.view.root = scene_path("/boat");
        message.as.view.mask = SCN_MASK_STRUCTURE | SCN_MASK_VOLATILE;
        expect_message("view/live", &message);
        message = make(SCN_MESSAGE_unview);
        message.as.unview.view = 1;
        expect_message("unview", &message);
}

SCN_TEST(golden, what_is_only_now)
{
        struct object map;
        struct object nodes;
        struct scn_message message = make(SCN_MESSAGE_presence);
        begin(&map);
        scn_pack_map(&map.packer, 2);
        scn_pack_cstring(&map.packer, "tool");
        scn_pack_cstring(&map.packer, "move");
        scn_pack_cstring(&map.packer, "at");
        scn_pack_array(&map.packer, 3);
        scn_pack_float(&map.packer, 1.5f);
        scn_pack_uint(&map.packer, 2);
        scn_pack_uint(&map.packer, 3);
        message.as.presence.map = bytes_of(&map);
        expect_message("presence", &message);
        message = make(SCN_MESSAGE_preview);
        begin(&nodes);
        const struct scn_preview_wish wish = {
                .node = by_uid(LANTERN), .fields = SCN_FIELDS_TRANSLATION, .trs = {.t = {1, 2, 3}}};
        scn_pack_array(&nodes.packer, 1);
        scn_pack_preview_wish(&nodes.packer, &wish);
        message.as.preview.nodes = bytes_of(&nodes);
        expect_message("preview", &message);
        scn_buffer_reset(&nodes.buffer);
        scn_pack_array(&nodes.packer, 0);
        message.as.preview.nodes = bytes_of(&nodes);
        expect_message("preview/end", &message);
        scn_buffer_reset(&nodes.buffer);
        scn_pack_array(&nodes.packer, 1);
        const struct scn_node_ref boat = by_uid(BOAT);
        scn_pack_ref(&nodes.packer, &boat);
        message = make(SCN_MESSAGE_lock);
        message.as.lock.request = 21;
        message.as.lock.nodes = bytes_of(&nodes);
        message.as.lock.ttl = 30;
        message.as.lock.mask = SCN_MASK_TRANSFORM;
        message.as.lock.subtree = true;
        expect_message("lock", &message);
        message = make(SCN_MESSAGE_unlock);
        message.as.unlock.request = 22;
        expect_message("unlock", &message);
        scn_buffer_finish(&map.buffer);
        scn_buffer_finish(&nodes.buffer);
}

SCN_TEST(golden, questions)
{
        struct object object;
        begin(&object);
        scn_pack_array(&object.packer, 3);
        scn_pack_uid(&object.packer, LANTERN);
        scn_pack_cstring(&object.packer, "/boat");
        scn_pack_uint(&object.packer, 99);
        struct scn_message message = make(SCN_MESSAGE_world);
        message.as.world.request = 4;
        message.as.world.nodes = bytes_of(&object);
        message.as.world.durable = true;
        expect_message("world", &message);
        scn_buffer_finish(&object.buffer);
        message = make(SCN_MESSAGE_tree);
        message.as.tree.request = 5;
        message.as.tree.node = by_uid(BOAT);
        message.as.tree.depth = 1;
        expect_message("tree", &message);
        message = make(SCN_MESSAGE_tree);
        message.as.tree.request = 19;
        message.as.tree.node = scene_path("/nowhere");
        expect_message("tree/nowhere", &message);
        message = make(SCN_MESSAGE_digest);
        message.as.digest.request = 6;
        message.as.digest.node = by_uid(BOAT);
        expect_message("digest", &message);
        begin(&object);
        scn_pack_uint(&object.packer, 1);
        message.as.digest.request = 7;
        message.as.digest.at = bytes_of(&object);
        message.as.digest.mask = SCN_MASK_STRUCTURE | SCN_MASK_NAME;
        expect_message("digest/at", &message);
        scn_buffer_finish(&object.buffer);
        message = make(SCN_MESSAGE_log);
        message.as.log.request = 8;
        message.as.log.author = scene_text("ann");
        message.as.log.limit = 1;
        expect_message("log", &message);
        message = make(SCN_MESSAGE_replay);
        message.as.replay.request = 9;
        message.as.replay.from = (struct scn_slice){(const uint8_t *)"\x01", 1};
        message.as.replay.to = (struct scn_slice){(const uint8_t *)"\x02", 1};
        message.as.replay.node = by_uid(BOAT);
        message.as.replay.mask = SCN_MASK_TRANSFORM;
        expect_message("replay", &message);
        message = make(SCN_MESSAGE_verify);
        message.as.verify.request = 16;
        expect_message("verify", &message);
        message = make(SCN_MESSAGE_backup);
        message.as.backup.request = 17;
        expect_message("backup", &message);
        message = make(SCN_MESSAGE_tag);
        message.as.tag.request = 20;
        message.as.tag.name = scene_text("start");
        message.as.tag.rev = 1;
        expect_message("tag", &message);
        message = make(SCN_MESSAGE_tags);
        message.as.tags.request = 21;
        expect_message("tags", &message);
        message = make(SCN_MESSAGE_restore);
        message.as.restore.number = 10;
        message.as.restore.at = (struct scn_slice){(const uint8_t *)"\x01", 1};
        expect_message("restore", &message);
        message = make(SCN_MESSAGE_fork);
        message.as.fork.request = 23;
        message.as.fork.at = (struct scn_slice){(const uint8_t *)"\x01", 1};
        message.as.fork.to = scene_text("older");
        expect_message("fork", &message);
        message = make(SCN_MESSAGE_documents);
        message.as.documents.request = 25;
        message.as.documents.states = true;
        expect_message("documents/states", &message);
        message = make(SCN_MESSAGE_documents);
        message.as.documents.request = 26;
        message.as.documents.trash = true;
        expect_message("documents/trash", &message);
        message = make(SCN_MESSAGE_adopt);
        message.as.adopt.request = 24;
        message.as.adopt.document = scene_text("rescue");
        message.as.adopt.bytes = 6;
        message.as.adopt.part = scene_text("SQLi");
        message.as.adopt.more = true;
        expect_message("adopt", &message);
        message.as.adopt.part = scene_text("te");
        message.as.adopt.more = false;
        expect_message("adopt/last", &message);
        message = make(SCN_MESSAGE_blame);
        message.as.blame.request = 22;
        message.as.blame.node = by_uid(BOAT);
        expect_message("blame", &message);
}

/* --- What the server says --- */

SCN_TEST(golden, greetings_of_the_server)
{
        struct object limits;
        begin(&limits);
        scn_pack_map(&limits.packer, 2);
        scn_pack_cstring(&limits.packer, "depth_max");
        scn_pack_uint(&limits.packer, 1024);
        scn_pack_cstring(&limits.packer, "message_bytes_max");
        scn_pack_uint(&limits.packer, 4194304);
        struct scn_message message = make(SCN_MESSAGE_welcome);
        message.as.welcome.version = 1;
        message.as.welcome.session = 1;
        message.as.welcome.limits = bytes_of(&limits);
        message.as.welcome.agent = scene_text("scened 0.1.0");
        expect_message("welcome", &message);
        scn_buffer_finish(&limits.buffer);
        message = make(SCN_MESSAGE_opened);
        message.as.opened.request = 1;
        message.as.opened.document = DOCUMENT;
        message.as.opened.root = ROOT;
        message.as.opened.epoch = epoch();
        message.as.opened.rev = 0;
        message.as.opened.number = 0;
        message.as.opened.author = scene_text("ann");
        expect_message("opened", &message);
}

SCN_TEST(golden, answers_to_edits_and_views)
{
        struct scn_message message = make(SCN_MESSAGE_applied);
        message.as.applied.number = 7;
        message.as.applied.rev = 5;
        message.as.applied.unchanged = true;
        expect_message("applied/unchanged", &message);
        message = make(SCN_MESSAGE_failed);
        message.as.failed.request = 19;
        message.as.failed.code = scene_text("no_node");
        message.as.failed.text = scene_text("node /nowhere: no node has this path");
        expect_message("failed", &message);
        message = make(SCN_MESSAGE_failed);
        message.as.failed.code = scene_text("kicked");
        message.as.failed.text = scene_text(scn_error_text(SCN_E_KICKED));
        message.as.failed.closes = true;
        expect_message("failed/closes", &message);
        message = make(SCN_MESSAGE_viewed);
        message.as.viewed.request = 2;
        message.as.viewed.view = 1;
        message.as.viewed.resumed = false;
        message.as.viewed.rev = 1;
        expect_message("viewed", &message);
}

/* --- Digest and values --- */

static struct scn_digest digest_at(const uint8_t *bytes)
{
        struct scn_digest digest = {0, 0};
        for (int i = 0; i < 8; i++) {
                digest.high = digest.high << 8 | bytes[i];
                digest.low = digest.low << 8 | bytes[8 + i];
        }
        return digest;
}

static void expect_hash(const char *name, struct scn_digest hash)
{
        uint8_t bytes[16];
        for (int i = 0; i < 8; i++) {
                bytes[i] = (uint8_t)(hash.high >> (56 - 8 * i));
                bytes[8 + i] = (uint8_t)(hash.low >> (56 - 8 * i));
        }
        golden_expect(name, (struct scn_slice){bytes, sizeof bytes});
}

/* What answers digest/at: the sum over the boat and the lantern, of structure and name. */
SCN_TEST(golden, digest)
{
        static const char *const parts[][2] = {
                {"hashed/boat-place", "hash/boat-place"},
                {"hashed/boat-name", "hash/boat-name"},
                {"hashed/lantern-place", "hash/lantern-place"},
                {"hashed/lantern-name", "hash/lantern-name"},
        };
        const struct scn_uid none = {{0}};
        const struct scn_digest own[] = {
                scn_digest_place(BOAT, none, none),
                scn_digest_name(BOAT, scene_text("boat")),
                scn_digest_place(LANTERN, BOAT, none),
                scn_digest_name(LANTERN, scene_text("lantern")),
        };
        struct scn_digest sum = {0, 0};
        for (size_t i = 0; i < 4; i++) {
                const struct scn_digest hash = scn_digest_bytes(golden_get(parts[i][0]));
                cr_assert(hash.low == own[i].low && hash.high == own[i].high, "%s", parts[i][0]);
                expect_hash(parts[i][1], hash);
                scn_digest_add(&sum, hash);
        }
        const struct scn_slice answer = golden_get("answer/digest-at");
        const struct scn_digest told = digest_at(answer.data + 5);
        cr_assert(told.low == sum.low && told.high == sum.high);
}

SCN_TEST(golden, values)
{
        static const char *const pairs[][2] = {
                {"said/integer", "kept/integer"},
                {"said/negative", "kept/negative"},
                {"said/half", "kept/half"},
                {"said/tenth", "kept/tenth"},
                {"said/one", "kept/one"},
                {"said/map", "kept/map"},
                {"said/node", "kept/node"},
        };
        for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
                struct scn_buffer kept;
                scn_buffer_init(&kept, 4096);
                cr_assert_eq(scn_value_canonicalise(golden_get(pairs[i][0]), &SCN_LIMITS_DEFAULT, &kept), SCN_OK);
                golden_expect(pairs[i][1], (struct scn_slice){kept.data, (uint32_t)kept.size});
                cr_assert(scn_value_is_canonical(golden_get(pairs[i][1]), &SCN_LIMITS_DEFAULT));
                scn_buffer_finish(&kept);
        }
}

/* --- All that there are --- */

static uint64_t number_of(const char *name)
{
        char word[32] = "";
        const size_t size = strcspn(name, "/");
        cr_assert_lt(size, sizeof word);
        memcpy(word, name, size);
        for (uint64_t number = 0; number < 256; number++) {
                if (strcmp(scn_message_name(number), word) == 0) {
                        return number;
                }
        }
        return 0;
}

SCN_TEST(golden, there_is_an_example_of_every_message)
{
#define EXPECT(number, name, receiver, since, bytes_max, what) (void)golden_get(#name);
        SCN_MESSAGE_LIST(EXPECT)
#undef EXPECT
}

/* The example, with all fields that it leaves out and one that nobody knows, which makes it so large. */
static enum scn_error decode_padded(const char *name, uint32_t fields, enum scn_message_receiver receiver, size_t size)
{
        const struct scn_slice example = golden_get(name);
        struct object padded;
        struct scn_message message;
        struct scn_message_fault fault;
        struct scn_unpacker unpacker = scn_unpacker_from(example);
        scn_buffer_init(&padded.buffer, 1 << 17);
        padded.packer = scn_packer_to(&padded.buffer);
        const uint32_t there = scn_unpack_array(&unpacker);
        cr_assert_leq(there, 1 + fields, "%s", name);
        scn_pack_array(&padded.packer, fields + 2);
        for (uint32_t i = 0; i < 1 + fields; i++) {
                if (i < there) {
                        scn_pack_raw(&padded.packer, scn_unpack_raw(&unpacker));
                } else {
                        scn_pack_nil(&padded.packer);
                }
        }
        static const uint8_t zeros[65536];
        const size_t left = size - padded.buffer.size;
        const size_t head = left < 258 ? 2 : left < 65539 ? 3 : 5;
        scn_pack_bin(&padded.packer, zeros, left - head);
        const struct scn_slice bytes = bytes_of(&padded);
        cr_assert_eq(bytes.size, size, "%s: %u", name, bytes.size);
        const enum scn_error error = scn_message_decode(bytes, receiver, &message, &fault);
        scn_buffer_finish(&padded.buffer);
        return error;
}

SCN_TEST(golden, a_message_that_has_a_limit_of_its_own_is_read_up_to_it)
{
#define COUNT_FIELD(m, kind, name, need, what) +1
#define EXPECT(number, name, receiver, since, bytes_max, what)                                                         \
        if ((bytes_max) != 0) {                                                                                        \
                const uint32_t fields = 0 SCN_FIELDS_OF_##name(COUNT_FIELD, name);                                     \
                cr_expect_eq(decode_padded(#name, fields, SCN_RECEIVER_##receiver, (bytes_max)), SCN_OK, #name);       \
                cr_expect_eq(decode_padded(#name, fields, SCN_RECEIVER_##receiver, (bytes_max) + 1), SCN_E_TOO_LARGE,  \
                        #name);                                                                                        \
        }
        SCN_MESSAGE_LIST(EXPECT)
#undef EXPECT
#undef COUNT_FIELD
}

static void check_ops(const char *name, struct scn_slice array)
{
        struct scn_ops ops = {0};
        struct scn_ops_fault fault;
        struct object again;
        cr_assert_eq(scn_ops_decode(array, &SCN_LIMITS_DEFAULT, &ops, &fault), SCN_OK, "%s", name);
        begin(&again);
        scn_ops_encode(&again.packer, ops.ops, (uint32_t)ops.count);
        const struct scn_slice bytes = bytes_of(&again);
        cr_assert(bytes.size == array.size && memcmp(bytes.data, array.data, array.size) == 0, "%s", name);
        scn_buffer_finish(&again.buffer);
        scn_ops_finish(&ops);
}

/* As the server lists them: what has a place in the order of placing, then the others by id. */
static void sort_unplaced(struct scn_delta *delta)
{
        for (size_t i = 1; i < delta->nodes_count; i++) {
                const struct scn_delta_node node = delta->nodes[i];
                size_t at = i;
                for (; at > 0 && ((node.fields | delta->nodes[at - 1].fields) & SCN_FIELDS_PLACE) == 0 &&
                        delta->nodes[at - 1].id > node.id;
                        at--) {
                        delta->nodes[at] = delta->nodes[at - 1];
                }
                delta->nodes[at] = node;
        }
}

static void check_columns(const char *name, struct scn_slice map)
{
        struct scn_delta delta = {0};
        struct scn_columns_cursor cursor = {0};
        struct object again;
        cr_assert_eq(scn_columns_decode(map, &delta), SCN_OK, "%s", name);
        sort_unplaced(&delta);
        begin(&again);
        cr_assert_not(scn_columns_encode(&again.packer, &delta, &cursor));
        const struct scn_slice bytes = bytes_of(&again);
        cr_assert(bytes.size == map.size && memcmp(bytes.data, map.data, map.size) == 0, "%s", name);
        scn_buffer_finish(&again.buffer);
        scn_delta_finish(&delta);
}

SCN_TEST(golden, every_example_of_a_message_reads_back_to_the_same_bytes)
{
        uint32_t messages = 0;
        for (uint32_t i = 0; i < golden_count(); i++) {
                const char *name = golden_name(i);
                const struct scn_slice example = golden_get(name);
                const uint64_t number = number_of(name);
                struct scn_message message;
                struct scn_message_fault fault;
                if (number == 0) {
                        continue;
                }
                const enum scn_message_receiver receiver = number < 64 ? SCN_RECEIVER_SERVER : SCN_RECEIVER_CLIENT;
                const enum scn_error error = scn_message_decode(example, receiver, &message, &fault);
                cr_assert_eq(error, SCN_OK, "%s: %s", name, scn_error_text(error));
                cr_assert_eq(message.kind, number, "%s", name);
                expect_message(name, &message);
                if (message.kind == SCN_MESSAGE_edit) {
                        check_ops(name, message.as.edit.ops);
                } else if (message.kind == SCN_MESSAGE_delta) {
                        check_columns(name, message.as.delta.columns);
                }
                messages++;
        }
        cr_assert_geq(messages, 28);
}
