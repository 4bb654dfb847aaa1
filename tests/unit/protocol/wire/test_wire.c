/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "tests/lib/random.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include "protocol/base/uid.h"
#include "protocol/wire/columns.h"
#include "protocol/wire/frame.h"
#include "protocol/wire/message.h"
#include "protocol/wire/ops.h"

#include <string.h>

static struct scn_slice slice_of(const struct scn_buffer *buffer)
{
        return (struct scn_slice){buffer->data, (uint32_t)buffer->size};
}

/* --- Messages --- */

SCN_TEST(message, reads_back_what_was_written_and_leaves_absent_fields_out)
{
        struct scn_buffer buffer;
        scn_buffer_init(&buffer, 4096);
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_view);
        message.as.view.request = 7;
        message.as.view.view = 3;
        message.as.view.root = scene_path("/Player");
        message.as.view.mask = SCN_MASK_ALL;
        cr_assert_eq(scn_message_encode(&message, &buffer), SCN_OK);
        cr_assert_eq(buffer.data[0], 0x95, "an array of number and four fields");
        struct scn_message back;
        struct scn_message_fault fault;
        cr_assert_eq(scn_message_decode(slice_of(&buffer), SCN_RECEIVER_SERVER, &back, &fault), SCN_OK);
        cr_assert_eq(back.kind, SCN_MESSAGE_view);
        cr_assert_eq(back.as.view.request, 7);
        cr_assert_eq(back.as.view.root.kind, SCN_REF_PATH);
        cr_assert_eq(back.as.view.mask, SCN_MASK_ALL);
        cr_assert_eq(back.as.view.rate, SCN_ABSENT);
        cr_assert_null(back.as.view.epoch.data);
        cr_assert_eq(scn_message_decode(slice_of(&buffer), SCN_RECEIVER_CLIENT, &back, &fault), SCN_E_UNKNOWN_MESSAGE);
        scn_buffer_finish(&buffer);
}

static enum scn_error decode(const char *bytes, uint32_t size, struct scn_message_fault *fault)
{
        struct scn_message message;
        return scn_message_decode(
                (struct scn_slice){(const uint8_t *)bytes, size}, SCN_RECEIVER_SERVER, &message, fault);
}

SCN_TEST(message, names_what_is_wrong)
{
        struct scn_message_fault fault;
        cr_assert_eq(decode("\x92\x14\x05", 3, &fault), SCN_OK);
        cr_assert_eq(decode("\x93\x14\x05\xc3", 4, &fault), SCN_OK, "a field of a later version is skipped");
        cr_assert_eq(decode("\x91\x14", 2, &fault), SCN_E_MISSING_FIELD);
        cr_assert_str_eq(fault.field, "request");
        cr_assert_eq(decode("\x92\x14\xc0", 3, &fault), SCN_E_MISSING_FIELD);
        cr_assert_eq(decode("\x92\x14\xa1x", 4, &fault), SCN_E_BAD_MESSAGE);
        cr_assert_eq(decode("\x92\x14\xff", 3, &fault), SCN_E_RANGE);
        cr_assert_eq(decode("\x92\x14\x05\x05", 4, &fault), SCN_E_BAD_MESSAGE, "bytes left over");
        cr_assert_eq(decode("\x92\x3f\x05", 3, &fault), SCN_E_UNKNOWN_MESSAGE);
        cr_assert_eq(fault.number, 0x3f);
        cr_assert_eq(decode("\x93\x11\x05\xa1x", 5, &fault), SCN_E_BAD_MESSAGE);
        cr_assert_str_eq(fault.field, "session");
        cr_assert_eq(fault.request, 5, "what could be read of the request is known");
        /* A uid of zeros is none. */
        cr_assert_eq(decode("\x93\x01\x01\xc4\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 21, &fault), SCN_E_MISSING_FIELD);
        cr_assert_str_eq(fault.field, "client");
        cr_assert_eq(decode("", 0, &fault), SCN_E_BAD_MESSAGE);
        cr_assert_eq(decode("\x90", 1, &fault), SCN_E_BAD_MESSAGE);
        cr_assert_eq(decode("\xc1", 1, &fault), SCN_E_BAD_MESSAGE);
}

SCN_TEST(message, tells_what_is_cut_short_from_what_is_too_long_or_no_message)
{
        static const struct {
                const char *bytes;
                uint32_t size;
                const char *field; /* NULL: none */
                const char *reason;
        } cases[] = {
                {"", 0, NULL, "it ends too early"},
                {"\x92", 1, NULL, "it ends too early"},
                {"\x90", 1, NULL, "an empty array"},
                {"\x14", 1, NULL, "not an array"},
                {"\x81\x14\5", 3, NULL, "not an array"},
                {"\xc1", 1, NULL, "not an array"},
                {"\x92\xa1x\5", 4, NULL, "its number is none"},
                {"\x92\x14", 2, NULL, "it ends too early"},
                {"\x92\x14\xcd\5", 4, "request", "it ends too early"},
                {"\x93\x14\5\xcd\5", 5, NULL, "it ends too early"},
                {"\x92\x14\5\5", 4, NULL, "bytes follow behind its end"},
                {"\x92\x14\xa1x", 4, "request", "wants an integer from 0 to 2^53 - 1"},
        };
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                struct scn_message_fault fault;
                cr_assert_eq(decode(cases[i].bytes, cases[i].size, &fault), SCN_E_BAD_MESSAGE, "case %zu", i);
                cr_expect_eq(fault.field == NULL, cases[i].field == NULL, "case %zu", i);
                cr_expect_str_eq(fault.reason, cases[i].reason, "case %zu", i);
        }
}

SCN_TEST(message, says_what_a_field_takes_that_something_of_another_kind_was_sent_for)
{
        static const struct {
                const char *bytes;
                uint32_t size;
                const char *field;
                const char *reason;
        } cases[] = {
                {"\x92\1\xa1x", 4, "version", "wants an integer from 0 to 2^53 - 1"},
                {"\x93\1\1\xc3", 4, "client", "wants a uid, a bin of 16 bytes"},
                {"\x93\1\1\xc4\1\0", 6, "client", "wants a uid, a bin of 16 bytes"},
                {"\x93\2\7\7", 4, "document", "wants text, a str"},
                {"\x94\2\7\xa1x\1", 6, "create", "wants true or false"},
                {"\x94\4\7\1\x90", 5, "root", "wants a node: an id, a uid or a path"},
                {"\x97\4\7\1\xa1/\1\xc0\xa1x", 10, "epoch", "wants a bin"},
        };
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                struct scn_message_fault fault;
                cr_assert_eq(decode(cases[i].bytes, cases[i].size, &fault), SCN_E_BAD_MESSAGE, "case %zu", i);
                cr_assert_str_eq(fault.field, cases[i].field, "case %zu", i);
                cr_assert_str_eq(fault.reason, cases[i].reason, "case %zu", i);
        }
}

SCN_TEST(message, survives_any_bytes)
{
        struct scn_random random = scn_random_from_seed(scn_test_seed(3));
        uint32_t understood = 0;
        for (uint32_t i = 0; i < 200000; i++) {
                uint8_t bytes[40];
                const uint32_t size = scn_random_below(&random, sizeof bytes);
                for (uint32_t k = 0; k < size; k++) {
                        bytes[k] = (uint8_t)scn_random_next(&random);
                }
                if (size > 1) {
                        bytes[0] = (uint8_t)(0x90 | scn_random_below(&random, 8));
                        bytes[1] = (uint8_t)scn_random_below(&random, 22);
                }
                struct scn_message_fault fault;
                understood += decode((const char *)bytes, size, &fault) == SCN_OK;
        }
        cr_assert_gt(understood, 100);
}

/* CASES B37: what claims to be huge costs nothing. */
SCN_TEST(unpacker, believes_no_count_beyond_the_bytes_that_are_there)
{
        static const struct {
                const char *bytes;
                uint32_t size;
        } cases[] = {
                {"\xdd\xff\xff\xff\xff", 5},
                {"\xdf\x7f\xff\xff\xff", 5},
                {"\xc6\xff\xff\xff\xff", 5},
                {"\xdb\xff\xff\xff\xff", 5},
                {"\xdc\xff\xff", 3},
                {"\xc9\xff\xff\xff\xff\x01", 6},
        };
        const uint64_t calls = scn_alloc_stats().calls;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                struct scn_unpacker unpacker =
                        scn_unpacker_from((struct scn_slice){(const uint8_t *)cases[i].bytes, cases[i].size});
                (void)scn_unpack_raw(&unpacker);
                cr_assert_neq(unpacker.error, SCN_OK);
        }
        uint8_t nested[3 * 24000];
        for (size_t i = 0; i < sizeof nested; i += 3) {
                memcpy(&nested[i], "\xdc\xff\xff", 3);
        }
        struct scn_unpacker unpacker = scn_unpacker_from((struct scn_slice){nested, sizeof nested});
        (void)scn_unpack_raw(&unpacker);
        cr_assert_neq(unpacker.error, SCN_OK);
        cr_assert_eq(scn_alloc_stats().calls, calls);
}

/* --- Frames --- */

static void append_frame(struct scn_buffer *stream, const void *bytes, size_t size)
{
        cr_assert_eq(scn_frame_append_head(stream, size), SCN_OK);
        cr_assert_eq(scn_buffer_append(stream, bytes, size), SCN_OK);
}

/* Between messages a connection costs nothing but itself. */
SCN_TEST(frame_reader, gives_back_its_memory_only_when_nothing_is_under_way)
{
        struct scn_frame_reader reader;
        struct scn_slice payload;
        enum scn_error error;
        scn_frame_reader_init(&reader);
        cr_assert_eq(scn_frame_reader_feed(&reader, "SCENED\x01\n\xc4\x01\x90\xc4\x02\x91", 14), SCN_OK);
        cr_assert(scn_frame_reader_next(&reader, &payload, &error));
        scn_frame_reader_trim(&reader);
        cr_assert_gt(reader.buffer.capacity, 0);
        cr_assert_not(scn_frame_reader_next(&reader, &payload, &error));
        cr_assert_eq(scn_frame_reader_feed(&reader, "\x92", 1), SCN_OK);
        cr_assert(scn_frame_reader_next(&reader, &payload, &error));
        cr_assert_eq(memcmp(payload.data, "\x91\x92", 2), 0);
        scn_frame_reader_trim(&reader);
        cr_assert_eq(reader.buffer.capacity, 0);
        cr_assert_eq(scn_frame_reader_feed(&reader, "\xc4\x01\x93", 3), SCN_OK);
        cr_assert(scn_frame_reader_next(&reader, &payload, &error));
        scn_frame_reader_finish(&reader);
}

/* CASES B41: a stream cut anywhere gives the same messages, once and in order. */
SCN_TEST(frames, come_out_whole_however_the_stream_is_cut)
{
        static uint8_t large[70000];
        static const size_t sizes[] = {0, 1, 255, 256, 65535, 65536, 3};
        struct scn_buffer stream;
        scn_buffer_init(&stream, 1 << 20);
        cr_assert_eq(scn_buffer_append(&stream, scn_preface, SCN_PREFACE_BYTES), SCN_OK);
        for (size_t i = 0; i < 7; i++) {
                memset(large, (int)i, sizeof large);
                append_frame(&stream, large, sizes[i]);
        }
        for (size_t cut = 1; cut < 3000; cut = cut < 300 ? cut + 1 : cut + 487) {
                struct scn_frame_reader reader;
                struct scn_slice payload;
                enum scn_error error;
                size_t count = 0;
                scn_frame_reader_init(&reader);
                reader.message_bytes_max = SCN_MESSAGE_BYTES_MAX;
                for (size_t at = 0; at < stream.size; at += cut) {
                        const size_t size = stream.size - at < cut ? stream.size - at : cut;
                        cr_assert_eq(scn_frame_reader_feed(&reader, stream.data + at, size), SCN_OK);
                        while (scn_frame_reader_next(&reader, &payload, &error)) {
                                cr_assert_eq(payload.size, sizes[count]);
                                cr_assert(payload.size == 0 || payload.data[payload.size - 1] == count);
                                count++;
                        }
                        cr_assert_eq(error, SCN_OK);
                }
                cr_assert_eq(count, 7);
                scn_frame_reader_finish(&reader);
        }
        scn_buffer_finish(&stream);
}

SCN_TEST(frames, end_at_a_byte_that_begins_none_and_never_go_on)
{
        static const uint8_t bytes[] = {'S', 'C', 'E', 'N', 'E', 'D', 1, '\n', 0xc4, 1, 0x90, 0xc1, 0xc4, 1, 0x90};
        struct scn_frame_reader reader;
        struct scn_slice payload;
        enum scn_error error;
        scn_frame_reader_init(&reader);
        cr_assert_eq(scn_frame_reader_feed(&reader, bytes, sizeof bytes), SCN_OK);
        cr_assert(scn_frame_reader_next(&reader, &payload, &error));
        cr_assert_not(scn_frame_reader_next(&reader, &payload, &error));
        cr_assert_eq(error, SCN_E_BAD_MESSAGE);
        cr_assert_eq(scn_frame_reader_feed(&reader, bytes, sizeof bytes), SCN_E_BAD_MESSAGE);
        scn_frame_reader_finish(&reader);
}

SCN_TEST(frames, beyond_the_limit_and_without_preface_are_refused_before_they_arrive)
{
        struct scn_frame_reader reader;
        struct scn_slice payload;
        enum scn_error error;
        scn_frame_reader_init(&reader);
        cr_assert_eq(scn_frame_reader_feed(&reader, scn_preface, SCN_PREFACE_BYTES), SCN_OK);
        cr_assert_eq(scn_frame_reader_feed(&reader, "\xc5\x10\x01", 3), SCN_OK);
        cr_assert_not(scn_frame_reader_next(&reader, &payload, &error));
        cr_assert_eq(error, SCN_E_TOO_LARGE);
        cr_assert_eq(reader.size_met, 4097);
        scn_frame_reader_finish(&reader);
        scn_frame_reader_init(&reader);
        cr_assert_eq(scn_frame_reader_feed(&reader, "GET / HTTP/1.1", 14), SCN_OK);
        cr_assert_not(scn_frame_reader_next(&reader, &payload, &error));
        cr_assert_eq(error, SCN_E_BAD_MESSAGE);
        scn_frame_reader_finish(&reader);
}

SCN_TEST(frames, behind_the_preface_of_another_version_are_refused_as_soon_as_it_is_known)
{
        struct scn_frame_reader reader;
        struct scn_slice payload;
        enum scn_error error;
        scn_frame_reader_init(&reader);
        cr_assert_eq(scn_frame_reader_feed(&reader, "SCENED", 6), SCN_OK);
        cr_assert_not(scn_frame_reader_next(&reader, &payload, &error));
        cr_assert_eq(error, SCN_OK);
        cr_assert_eq(scn_frame_reader_feed(&reader, "\x07", 1), SCN_OK);
        cr_assert_not(scn_frame_reader_next(&reader, &payload, &error));
        cr_assert_eq(error, SCN_E_VERSION);
        cr_assert_eq(reader.byte_met, 7);
        scn_frame_reader_finish(&reader);
}

/* What a frame's head is taken for when nothing has come of the rest. */
static enum scn_error take_head(const char *head, size_t size, bool is_greeted)
{
        struct scn_frame_reader reader;
        struct scn_slice payload;
        enum scn_error error;
        scn_frame_reader_init(&reader);
        if (is_greeted) {
                reader.message_bytes_max = SCN_MESSAGE_BYTES_MAX;
        }
        cr_assert_eq(scn_frame_reader_feed(&reader, scn_preface, SCN_PREFACE_BYTES), SCN_OK);
        cr_assert_eq(scn_frame_reader_feed(&reader, head, size), SCN_OK);
        cr_assert_not(scn_frame_reader_next(&reader, &payload, &error));
        scn_frame_reader_finish(&reader);
        return error;
}

SCN_TEST(frames, are_waited_for_up_to_the_limit_which_is_small_before_the_greeting)
{
        cr_assert_eq(take_head("\xc5\x10\x00", 3, false), SCN_OK);
        cr_assert_eq(take_head("\xc5\x10\x01", 3, false), SCN_E_TOO_LARGE);
        cr_assert_eq(take_head("\xc6\x00\x40\x00\x00", 5, true), SCN_OK);
        cr_assert_eq(take_head("\xc6\x00\x40\x00\x01", 5, true), SCN_E_TOO_LARGE);
}

/* So many nested arrays in a message that takes any object. */
static enum scn_error decode_nested(uint32_t levels)
{
        uint8_t bytes[128] = {0x93, SCN_MESSAGE_world, 7};
        struct scn_message_fault fault;
        memset(bytes + 3, 0x91, levels);
        bytes[3 + levels] = 1;
        return decode((const char *)bytes, 4 + levels, &fault);
}

SCN_TEST(message, holds_objects_that_are_nested_up_to_a_limit)
{
        cr_assert_eq(decode_nested(63), SCN_OK);
        cr_assert_eq(decode_nested(64), SCN_E_BAD_MESSAGE);
}

/* --- Ops --- */

SCN_TEST(ops, read_back_as_they_were_written)
{
        struct scn_op ops[8] = {
                scene_add(1, 5, "name"),
                scene_remove(9),
                scene_move_after(3, 4, 0),
                scene_move_index(3, 4, 70000),
                scene_translate(2, 0.1f, -0.0f, 1e-45f),
                scene_rename(2, NULL),
                scene_set(2, "key", scene_integer(9)),
                scene_set(2, "key", (struct scn_slice){NULL, 0}),
        };
        const struct scn_property properties[] = {
                {scene_text("a"), scene_integer(1)}, {scene_text("b"), scene_integer(2)}};
        ops[0].properties = properties;
        ops[0].properties_count = 2;
        ops[2].keep_world = true;
        ops[2].is_lossy = true;
        struct scn_buffer buffer;
        scn_buffer_init(&buffer, 4096);
        struct scn_packer packer = scn_packer_to(&buffer);
        scn_ops_encode(&packer, ops, 8);
        cr_assert_eq(packer.error, SCN_OK);
        struct scn_ops back = {0};
        struct scn_ops_fault fault;
        cr_assert_eq(scn_ops_decode(slice_of(&buffer), &SCN_LIMITS_DEFAULT, &back, &fault), SCN_OK);
        cr_assert_eq(back.count, 8);
        cr_assert_eq(back.ops[0].properties_count, 2);
        cr_assert_eq(back.ops[0].properties[1].value.data[0], 2);
        cr_assert(scn_uid_equal(back.ops[0].uid, scene_uid(5)));
        cr_assert(back.ops[2].keep_world && back.ops[2].is_lossy);
        cr_assert_eq(back.ops[2].place, SCN_PLACE_AFTER);
        cr_assert_eq(back.ops[2].after.kind, SCN_REF_NONE);
        cr_assert_eq(back.ops[3].index, 70000);
        cr_assert(memcmp(back.ops[4].trs.t, ops[4].trs.t, sizeof ops[4].trs.t) == 0);
        cr_assert_null(back.ops[5].name.data);
        cr_assert_eq(back.ops[6].value.data[0], 9);
        cr_assert_null(back.ops[7].value.data);
        struct scn_buffer again;
        scn_buffer_init(&again, 4096);
        packer = scn_packer_to(&again);
        scn_ops_encode(&packer, back.ops, 8);
        cr_assert(again.size == buffer.size && memcmp(again.data, buffer.data, again.size) == 0);
        scn_buffer_finish(&again);
        scn_buffer_finish(&buffer);
        scn_ops_finish(&back);
}

SCN_TEST(ops, say_which_op_and_field_is_wrong)
{
        struct scn_ops ops = {0};
        struct scn_ops_fault fault;
        /* [{0:1,1:9}, {0:3,1:9,8:[0,0,nan,1]}] */
        static const uint8_t nan_rotation[] = {
                0x92, 0x82, 0, 1, 1, 9, 0x83, 0, 3, 1, 9, 8, 0x94, 0, 0, 0xca, 0x7f, 0xc0, 0, 0, 1};
        cr_assert_eq(scn_ops_decode(
                             (struct scn_slice){nan_rotation, sizeof nan_rotation}, &SCN_LIMITS_DEFAULT, &ops, &fault),
                SCN_E_NOT_FINITE);
        cr_assert_eq(fault.op, 1);
        cr_assert_eq(fault.field, SCN_FIELD_ROTATION);
        static const struct {
                const char *bytes;
                uint32_t size;
                enum scn_error error;
                const char *entry;
                const char *reason;
        } cases[] = {
                {"\x91\x83\0\1\1\x09\1\x08", 8, SCN_E_BAD_OP, "node", "it is there twice"},
                {"\x91\x81\1\x09", 4, SCN_E_BAD_OP, "op", "each op needs one"},
                {"\x91\x81\0\x09", 4, SCN_E_RANGE, "op", "from 0 to 5"},
                {"\x91\x82\0\1\1\xc3", 6, SCN_E_BAD_OP, "node", "wants a node: an id, a uid or a path"},
                {"\x91\x82\0\4\6\x07", 6, SCN_E_BAD_OP, "name", "wants text, a str, or nil"},
                {"\x91\x82\0\0\x0a\x90", 6, SCN_E_BAD_OP, "props", "wants a map with keys of text"},
                {"\x91\x82\0\0\5\xc4\1\0", 8, SCN_E_BAD_OP, "uid", "wants a uid, a bin of 16 bytes"},
                {"\x91\x82\0\3\7\x92\1\1", 8, SCN_E_BAD_OP, "t", "wants an array of 3 numbers"},
                {"\x91\x82\0\3\x09\x93\1\1\xc0", 9, SCN_E_BAD_OP, "s", "wants an array of 3 numbers"},
                {"\x91\x82\0\2\x0e\1", 6, SCN_E_BAD_OP, "lossy", "wants true or false"},
                {"\x91\x82\0\2\x0d\2", 6, SCN_E_RANGE, "keep", "from 0 to 1"},
                {"\x91\x82\0\0\3\xff", 6, SCN_E_RANGE, "index", "from 0 to 4294967295"},
                {"\x91\x83\0\0\3\0\4\xc0", 8, SCN_E_BAD_OP, "after", "either index or after"},
                {"\x91\x81\0\0", 4, SCN_E_BAD_OP, "parent", "an add needs one"},
                {"\x91\x82\0\0\2\xc0", 6, SCN_E_BAD_OP, "parent", "an add needs one"},
                {"\x91\x81\0\1", 4, SCN_E_BAD_OP, "node", "a remove needs one"},
                {"\x91\x81\0\2", 4, SCN_E_BAD_OP, "node", "a move needs one"},
                {"\x91\x82\0\2\1\x09", 6, SCN_E_BAD_OP, "parent", "a move needs one"},
                {"\x91\x81\0\3", 4, SCN_E_BAD_OP, "node", "a transform needs one"},
                {"\x91\x81\0\4", 4, SCN_E_BAD_OP, "node", "a rename needs one"},
                {"\x91\x82\0\5\x0b\xa1k", 7, SCN_E_BAD_OP, "node", "a set needs one"},
                {"\x91\x82\0\5\1\x09", 6, SCN_E_BAD_OP, "key", "a set needs one"},
                {"\x91\x83\0\5\1\x09\x0b\7", 8, SCN_E_BAD_OP, "key", "wants text, a str"},
                {"\x91\x81\xa1x\1", 5, SCN_E_BAD_OP, "ops", "a key of this op is no integer from 0 to 4294967295"},
                {"\x91\x07", 2, SCN_E_BAD_OP, "ops", "this op is not a map"},
                {"\x07", 1, SCN_E_BAD_OP, "ops", "not an array"},
        };
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                const struct scn_slice bytes = {(const uint8_t *)cases[i].bytes, cases[i].size};
                ops.count = 0;
                cr_assert_eq(scn_ops_decode(bytes, &SCN_LIMITS_DEFAULT, &ops, &fault), cases[i].error, "case %zu", i);
                cr_assert_str_eq(fault.entry, cases[i].entry, "case %zu", i);
                cr_assert_str_eq(fault.reason, cases[i].reason, "case %zu", i);
        }
        scn_ops_finish(&ops);
}

/* --- Deltas --- */

/* Through bytes and back, in parts, into a replica: must be as if applied directly. Returns the bytes. */
static size_t send(struct scn_document *document, struct scn_document *replica, const struct scn_delta_request *request)
{
        struct scn_delta delta = {0};
        struct scn_delta received = {0};
        struct scn_buffer parts[64];
        struct scn_columns_cursor cursor = {0};
        size_t bytes = 0;
        uint32_t count = 0;
        cr_assert_eq(scn_delta_compute(document, request, &delta), SCN_OK);
        bool has_more = true;
        while (has_more) {
                cr_assert_lt(count, 64);
                scn_buffer_init(&parts[count], SCN_MESSAGE_BYTES_MAX);
                struct scn_packer packer = scn_packer_to(&parts[count]);
                has_more = scn_columns_encode(&packer, &delta, &cursor);
                cr_assert_eq(packer.error, SCN_OK);
                cr_assert_leq(parts[count].size, SCN_COLUMNS_PART_BYTES + 70000);
                cr_assert_eq(scn_columns_decode(slice_of(&parts[count]), &received), SCN_OK);
                bytes += parts[count].size;
                count++;
        }
        received.from = delta.from;
        received.to = delta.to;
        received.mask = delta.mask;
        if (!received.is_whole) {
                received.root = delta.root;
        }
        const enum scn_error error = scn_document_apply_delta(replica, &received);
        cr_assert_eq(error, SCN_OK, "%s", scn_error_text(error));
        for (uint32_t i = 0; i < count; i++) {
                scn_buffer_finish(&parts[i]);
        }
        scn_delta_finish(&delta);
        scn_delta_finish(&received);
        return bytes;
}

SCN_TEST(columns, bring_a_replica_to_the_servers_state_within_the_byte_budgets)
{
        enum {
                NODES = 10000
        };
        struct scn_document *document = scene_create();
        struct scene_view view = scene_view_create(1, SCN_MASK_ALL);
        struct scn_random random = scn_random_from_seed(scn_test_seed(4));
        static struct scn_op ops[NODES];
        for (uint32_t i = 0; i < NODES; i++) {
                ops[i] = scene_add(1 + i / 4, 0, NULL);
                ops[i].fields = SCN_FIELDS_TRS;
                ops[i].trs = (struct scn_trs){{(float)i, 1, 2}, {0, 0.6f, 0, 0.8f}, {1, 2, 1}};
        }
        (void)scene_do_all(document, ops, NODES);
        struct scn_delta_request request = {.root = scene_uid(1), .mask = SCN_MASK_ALL, .is_fresh = true};
        const size_t join = send(document, view.replica, &request);
        scene_view_check(&view, document);
        cr_log_info("join: %.1f bytes a node", (double)join / NODES);
        cr_assert_leq(join, (size_t)75 * NODES);
        request.is_fresh = false;
        request.from = scn_document_revision(document);
        (void)scene_do(document, scene_translate(7777, 1, 2, 3));
        const size_t one = send(document, view.replica, &request);
        cr_assert_leq(one, 18, "%zu bytes", one);
        request.from = scn_document_revision(document);
        for (uint32_t i = 0; i < 500; i++) {
                ops[i] = scene_translate(2 + scn_random_below(&random, NODES), (float)i, 2, 3);
        }
        (void)scene_do_all(document, ops, 500);
        const size_t many = send(document, view.replica, &request);
        cr_assert_leq(many, 15 * 500, "%zu bytes", many);
        /* Everything else, once. */
        request.from = scn_document_revision(document);
        (void)scene_do(document, scene_set(5, "k", scene_integer(1)));
        (void)scene_do(document, scene_set(5, "l", scene_integer(2)));
        (void)scene_do(document, scene_rename(6, "six"));
        (void)scene_do(document, scene_rename(6, NULL));
        (void)scene_do(document, scene_move_index(9, 1, 1));
        (void)scene_do(document, scene_remove(4));
        (void)scene_do(document, scene_set(5, "l", (struct scn_slice){NULL, 0}));
        (void)scene_new(document, 9, 123456, "new");
        (void)send(document, view.replica, &request);
        scene_view_check(&view, document);
        scene_view_finish(&view);
        scn_document_destroy(document);
}

/* No part may outgrow a message, not even for a node with all the properties it may have ... */
SCN_TEST(columns, split_the_properties_of_a_node_among_parts)
{
        struct scn_document *document = scene_create();
        struct scene_view view = scene_view_create(1, SCN_MASK_ALL);
        static uint8_t value[65000] = {0xc5, (65000 - 3) >> 8, (65000 - 3) & 0xff};
        for (uint32_t i = 0; i < 100; i++) {
                const char key[] = {(char)('A' + i / 26), (char)('a' + i % 26), '\0'};
                (void)scene_do(document, scene_set(1, key, (struct scn_slice){value, sizeof value}));
        }
        (void)scene_new(document, 1, 5, "child");
        const struct scn_delta_request request = {.root = scene_uid(1), .mask = SCN_MASK_ALL, .is_fresh = true};
        cr_assert_gt(send(document, view.replica, &request), SCN_MESSAGE_BYTES_MAX);
        scene_view_check(&view, document);
        scene_view_finish(&view);
        scn_document_destroy(document);
}

/* ... nor for a long list of what has gone. */
SCN_TEST(columns, split_long_lists_of_ids_among_parts)
{
        enum {
                IDS = 200000
        };
        static scn_node_id ids[IDS];
        for (uint32_t i = 0; i < IDS; i++) {
                ids[i] = 1 + (i * 77777u) % 4000000u;
        }
        const struct scn_delta delta = {.removed = ids, .removed_count = IDS, .left = ids, .left_count = IDS};
        struct scn_delta received = {0};
        struct scn_columns_cursor cursor = {0};
        bool has_more = true;
        while (has_more) {
                struct scn_buffer part;
                scn_buffer_init(&part, SCN_MESSAGE_BYTES_MAX);
                struct scn_packer packer = scn_packer_to(&part);
                has_more = scn_columns_encode(&packer, &delta, &cursor);
                cr_assert_eq(packer.error, SCN_OK);
                cr_assert_leq(part.size, SCN_COLUMNS_PART_BYTES + 64);
                cr_assert_eq(scn_columns_decode(slice_of(&part), &received), SCN_OK);
                scn_buffer_finish(&part);
        }
        cr_assert(received.removed_count == IDS && memcmp(received.removed, ids, sizeof ids) == 0);
        cr_assert(received.left_count == IDS && memcmp(received.left, ids, sizeof ids) == 0);
        scn_delta_finish(&received);
}

SCN_TEST(columns, survive_any_bytes)
{
        struct scn_random random = scn_random_from_seed(scn_test_seed(8));
        struct scn_document *document = scene_create();
        for (uint32_t i = 0; i < 20; i++) {
                (void)scene_new(document, 1 + i / 3, 0, "name");
        }
        (void)scene_do(document, scene_set(4, "k", scene_integer(1)));
        struct scn_delta delta = {0};
        const struct scn_delta_request request = {.root = scene_uid(1), .mask = SCN_MASK_ALL, .is_fresh = true};
        cr_assert_eq(scn_delta_compute(document, &request, &delta), SCN_OK);
        struct scn_buffer good;
        scn_buffer_init(&good, 65536);
        struct scn_packer packer = scn_packer_to(&good);
        struct scn_columns_cursor cursor = {0};
        cr_assert_not(scn_columns_encode(&packer, &delta, &cursor));
        uint32_t applied = 0;
        for (uint32_t i = 0; i < 5000; i++) {
                struct scn_buffer bad;
                scn_buffer_init(&bad, 65536);
                cr_assert_eq(scn_buffer_append(&bad, good.data, good.size), SCN_OK);
                const uint32_t flips = 1 + scn_random_below(&random, 3);
                for (uint32_t k = 0; k < flips; k++) {
                        bad.data[scn_random_below(&random, (uint32_t)bad.size)] ^=
                                (uint8_t)(1u << scn_random_below(&random, 8));
                }
                bad.size -= scn_random_below(&random, 4) == 0 ? scn_random_below(&random, (uint32_t)bad.size) : 0;
                struct scn_delta received = {0};
                struct scene_view view = scene_view_create(1, SCN_MASK_ALL);
                if (scn_columns_decode(slice_of(&bad), &received) == SCN_OK) {
                        received.to = 1;
                        applied += scn_document_apply_delta(view.replica, &received) == SCN_OK;
                        scn_document_check(view.replica);
                }
                scn_delta_finish(&received);
                scene_view_finish(&view);
                scn_buffer_finish(&bad);
        }
        cr_assert_gt(applied, 0);
        scn_buffer_finish(&good);
        scn_delta_finish(&delta);
        scn_document_destroy(document);
}
