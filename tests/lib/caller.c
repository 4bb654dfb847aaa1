/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* the socket calls under -std=c11 */

#include "tests/lib/caller.h"

#include "protocol/wire/ops.h"
#include "tests/lib/scene.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

bool caller_send_bytes(int descriptor, const void *bytes, size_t size)
{
        const uint8_t *at = bytes;
        while (size > 0) {
                const ssize_t sent = send(descriptor, at, size, MSG_NOSIGNAL);
                if (sent <= 0) {
                        return false;
                }
                at += sent;
                size -= (size_t)sent;
        }
        return true;
}

void caller_expect_end(int descriptor)
{
        uint8_t bytes[4096];
        ssize_t size;
        do {
                size = recv(descriptor, bytes, sizeof bytes, 0);
        } while (size > 0);
        cr_assert(size == 0 || (errno != EAGAIN && errno != EWOULDBLOCK), "the peer does not close");
        (void)close(descriptor);
}

void caller_send(struct caller *caller, const struct scn_message *message)
{
        struct scn_buffer payload;
        struct scn_buffer frame;
        scn_buffer_init(&payload, SCN_MESSAGE_BYTES_MAX);
        scn_buffer_init(&frame, SCN_MESSAGE_BYTES_MAX + 8);
        cr_assert_eq(scn_message_encode(message, &payload), SCN_OK);
        cr_assert_eq(scn_frame_append_head(&frame, payload.size), SCN_OK);
        cr_assert_eq(scn_buffer_append(&frame, payload.data, payload.size), SCN_OK);
        (void)caller_send_bytes(caller->descriptor, frame.data, frame.size);
        scn_buffer_finish(&payload);
        scn_buffer_finish(&frame);
}

bool caller_receive(struct caller *caller, struct scn_message *message_out)
{
        struct scn_slice payload;
        struct scn_message_fault fault;
        enum scn_error error;
        while (!scn_frame_reader_next(&caller->reader, &payload, &error)) {
                uint8_t bytes[65536];
                cr_assert_eq(error, SCN_OK);
                ssize_t size;
                do {
                        size = recv(caller->descriptor, bytes, sizeof bytes, 0);
                } while (size < 0 && errno == EINTR); /* it was stopped and went on */
                if (size <= 0) {
                        return false;
                }
                cr_assert_eq(scn_frame_reader_feed(&caller->reader, bytes, (size_t)size), SCN_OK);
        }
        cr_assert_eq(scn_message_decode(payload, SCN_RECEIVER_CLIENT, message_out, &fault), SCN_OK);
        return true;
}

struct scn_message caller_expect(struct caller *caller, enum scn_message_kind kind)
{
        struct scn_message message;
        do {
                cr_assert(caller_receive(caller, &message), "the connection ended before %s came",
                        scn_message_name(kind));
                cr_assert(message.kind != SCN_MESSAGE_failed || kind == SCN_MESSAGE_failed, "%.*s",
                        (int)message.as.failed.text.size, (const char *)message.as.failed.text.data);
        } while (message.kind != kind);
        return message;
}

void caller_begin(struct caller *caller, int descriptor, uint32_t client, const char *author)
{
        struct scn_message hello;
        *caller = (struct caller){.descriptor = descriptor};
        scn_frame_reader_init(&caller->reader);
        caller->reader.message_bytes_max = SCN_MESSAGE_BYTES_MAX;
        (void)caller_send_bytes(descriptor, scn_preface, SCN_PREFACE_BYTES);
        scn_message_init(&hello, SCN_MESSAGE_hello);
        hello.as.hello.version = SCN_PROTOCOL_VERSION;
        hello.as.hello.client = scene_client(client);
        hello.as.hello.name = scene_text(author);
        caller_send(caller, &hello);
        (void)caller_expect(caller, SCN_MESSAGE_welcome);
}

void caller_end(struct caller *caller)
{
        (void)close(caller->descriptor);
        scn_frame_reader_finish(&caller->reader);
}

void caller_ask_open(struct caller *caller, const char *document)
{
        struct scn_message open;
        scn_message_init(&open, SCN_MESSAGE_open);
        open.as.open.request = 1;
        open.as.open.document = scene_text(document);
        open.as.open.create = true;
        caller_send(caller, &open);
}

uint64_t caller_open(struct caller *caller, const char *document)
{
        caller_ask_open(caller, document);
        return caller_expect(caller, SCN_MESSAGE_opened).as.opened.number;
}

void caller_edit(struct caller *caller, uint64_t number, const struct scn_op *ops, uint32_t count)
{
        caller_edit_part(caller, number, ops, count, false);
}

void caller_edit_part(struct caller *caller, uint64_t number, const struct scn_op *ops, uint32_t count, bool has_more)
{
        struct scn_buffer buffer;
        struct scn_message message;
        scn_buffer_init(&buffer, SCN_MESSAGE_BYTES_MAX);
        struct scn_packer packer = scn_packer_to(&buffer);
        scn_ops_encode(&packer, ops, count);
        cr_assert_eq(packer.error, SCN_OK);
        scn_message_init(&message, SCN_MESSAGE_edit);
        message.as.edit.number = number;
        message.as.edit.more = has_more;
        message.as.edit.group = caller->group == 0 ? SCN_ABSENT : caller->group;
        message.as.edit.ops = (struct scn_slice){buffer.data, (uint32_t)buffer.size};
        caller_send(caller, &message);
        scn_buffer_finish(&buffer);
}

void caller_ask(struct caller *caller, enum scn_message_kind kind, uint64_t request)
{
        struct scn_message message;
        scn_message_init(&message, kind);
        message.as.ping.request = request; /* the first field of all of them */
        caller_send(caller, &message);
}

void caller_world(struct caller *caller, uint64_t request)
{
        static const uint8_t root[] = {0x91, 0xa1, '/'};
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_world);
        message.as.world.request = request;
        message.as.world.nodes = (struct scn_slice){root, sizeof root};
        caller_send(caller, &message);
}

void caller_view(struct caller *caller, uint64_t request)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_view);
        message.as.view.request = request;
        message.as.view.view = 1;
        message.as.view.root = scene_path("/");
        message.as.view.mask = SCN_MASK_ALL;
        caller_send(caller, &message);
        (void)caller_expect(caller, SCN_MESSAGE_viewed);
}

struct scn_digest caller_digest(struct caller *caller)
{
        struct scn_digest digest = {0, 0};
        caller_ask(caller, SCN_MESSAGE_digest, 5);
        const struct scn_message answer = caller_expect(caller, SCN_MESSAGE_answer);
        struct scn_unpacker unpacker = scn_unpacker_from(answer.as.answer.body);
        const struct scn_slice bytes = scn_unpack_bin(&unpacker, 16);
        cr_assert_eq(bytes.size, 16);
        for (int i = 0; i < 8; i++) {
                digest.high = digest.high << 8 | bytes.data[i];
                digest.low = digest.low << 8 | bytes.data[8 + i];
        }
        return digest;
}

scn_revision caller_await(struct caller *caller, uint64_t number)
{
        struct scn_message message;
        do {
                message = caller_expect(caller, SCN_MESSAGE_applied);
        } while (message.as.applied.number != number);
        return message.as.applied.rev;
}

void caller_drag(struct caller *caller, uint32_t gestures, uint32_t edits)
{
        uint64_t number = 0;
        for (uint32_t gesture = 1; gesture <= gestures; gesture++) {
                caller->group = gesture;
                for (uint32_t i = 0; i < edits; i++) {
                        const struct scn_op op = scene_translate(1, (float)gesture, (float)i, 1);
                        caller_edit(caller, ++number, &op, 1);
                }
                (void)caller_await(caller, number);
        }
        caller->group = 0;
}

uint64_t caller_count_nodes(struct caller *caller)
{
        struct scn_message message;
        uint64_t count = 0;
        scn_message_init(&message, SCN_MESSAGE_tree);
        message.as.tree.request = 2;
        caller_send(caller, &message);
        do {
                message = caller_expect(caller, SCN_MESSAGE_answer);
                struct scn_unpacker unpacker = scn_unpacker_from(message.as.answer.body);
                count += scn_unpack_array(&unpacker);
        } while (message.as.answer.more);
        return count;
}
