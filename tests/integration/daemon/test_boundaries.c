/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* usleep under -std=c11 */

/* What comes through the listeners cut, glued, oversized or made up: each message is taken once and in order, a broken
 * stream ends, memory stays, and others notice nothing. Everything over each listener. */

#include "protocol/wire/ops.h"
#include "tests/lib/caller.h"
#include "tests/lib/scene.h"
#include "tests/lib/serve.h"
#include "tests/lib/test.h"

#include <string.h>
#include <unistd.h>

#define HOSTS 100u
/* A peer costs what it sends, and little more. AddressSanitizer keeps freed memory for a while, up to 256 MiB. */
#if defined(__SANITIZE_ADDRESS__)
#define HOST_KIB_MAX 4096u
#else
#define HOST_KIB_MAX 1024u
#endif
#define ANSWER_MS 1000u

/* --- Bytes of messages --- */

static void put(struct scn_buffer *buffer, const void *bytes, size_t size)
{
        cr_assert_eq(scn_buffer_append(buffer, bytes, size), SCN_OK);
}

static void put_message(struct scn_buffer *buffer, const struct scn_message *message)
{
        struct scn_buffer payload;
        scn_buffer_init(&payload, SCN_MESSAGE_BYTES_MAX);
        cr_assert_eq(scn_message_encode(message, &payload), SCN_OK);
        cr_assert_eq(scn_frame_append_head(buffer, payload.size), SCN_OK);
        put(buffer, payload.data, payload.size);
        scn_buffer_finish(&payload);
}

static void put_edit(struct scn_buffer *buffer, uint64_t number, struct scn_op op)
{
        struct scn_buffer ops;
        struct scn_message message;
        scn_buffer_init(&ops, SCN_MESSAGE_BYTES_MAX);
        struct scn_packer packer = scn_packer_to(&ops);
        scn_ops_encode(&packer, &op, 1);
        scn_message_init(&message, SCN_MESSAGE_edit);
        message.as.edit.number = number;
        message.as.edit.ops = (struct scn_slice){ops.data, (uint32_t)ops.size};
        put_message(buffer, &message);
        scn_buffer_finish(&ops);
}

static void begin(struct caller *caller, const struct serve *serve, enum serve_listener listener, uint32_t client)
{
        caller_begin(caller, serve_connect(serve, listener), client, "ann");
        (void)caller_open(caller, "isle");
}

static uint64_t ping_ms(struct caller *caller)
{
        const uint64_t begin_ms = scn_daemon_now_ms();
        caller_ask(caller, SCN_MESSAGE_ping, 77);
        cr_assert_eq(caller_expect(caller, SCN_MESSAGE_answer).as.answer.request, 77);
        return scn_daemon_now_ms() - begin_ms;
}

/* --- Before login --- */

/* What the hosts send: five bytes that claim much, or many bytes that claim it again and again. */
static void make_claim(struct scn_buffer *claim, unsigned kind)
{
        static const char *const claims[] = {"\xdd\xff\xff\xff\xff", "\xdf\x7f\xff\xff\xff", "\xc6\xff\xff\xff\xff",
                "\xdb\xff\xff\xff\xff", "\xdc\xff\xff", "\xdc\xff\xff"};
        static const unsigned times[] = {1, 1, 1, 1, 24000, 31};
        for (unsigned i = 0; i < times[kind]; i++) {
                put(claim, claims[kind], strlen(claims[kind]));
        }
}

#define CLAIMS 6u
/* How a claim begins: as it is; behind the preface; behind the preface as a frame that is whole. */
#define DRESSES 3u

static void make_attack(struct scn_buffer *attack, unsigned kind, unsigned dress)
{
        struct scn_buffer claim;
        scn_buffer_init(&claim, 1 << 20);
        make_claim(&claim, kind);
        if (dress > 0) {
                put(attack, scn_preface, SCN_PREFACE_BYTES);
        }
        if (dress == 2) {
                cr_assert_eq(scn_frame_append_head(attack, claim.size), SCN_OK);
        }
        put(attack, claim.data, claim.size);
        scn_buffer_finish(&claim);
}

static void attack(const struct serve *serve, enum serve_listener listener, struct caller *witness)
{
        for (unsigned i = 0; i < CLAIMS * DRESSES; i++) {
                static int hosts[HOSTS];
                struct scn_buffer bytes;
                scn_buffer_init(&bytes, 1 << 20);
                make_attack(&bytes, i % CLAIMS, i / CLAIMS);
                for (unsigned host = 0; host < HOSTS; host++) {
                        hosts[host] = serve_connect(serve, listener);
                        /* It may close before it has taken all. */
                        (void)caller_send_bytes(hosts[host], bytes.data, bytes.size);
                }
                cr_expect_lt(ping_ms(witness), ANSWER_MS);
                for (unsigned host = 0; host < HOSTS; host++) {
                        caller_expect_end(hosts[host]);
                }
                scn_buffer_finish(&bytes);
        }
}

SCN_TEST_WITH(boundaries, before_login_a_peer_that_claims_much_gets_little, .timeout = 120)
{
        struct serve serve;
        struct caller witness;
        serve_begin(&serve);
        begin(&witness, &serve, SERVE_UNIX, 1);
        const uint64_t before_kib = scn_daemon_memory_kib(&serve.daemon);
        const uint64_t reserved_kib = scn_daemon_status_kib(&serve.daemon, "VmPeak");
        for (unsigned listener = 0; listener < SERVE_LISTENERS_COUNT; listener++) {
                attack(&serve, listener, &witness);
        }
        const uint64_t peak_kib = scn_daemon_status_kib(&serve.daemon, "VmHWM");
        cr_expect_lt(peak_kib - before_kib, HOSTS * HOST_KIB_MAX, "%llu KiB for %u peers",
                (unsigned long long)(peak_kib - before_kib), HOSTS);
        /* What is claimed is not even reserved. */
        cr_expect_lt(scn_daemon_status_kib(&serve.daemon, "VmPeak") - reserved_kib, 1u << 20);
        caller_end(&witness);
        serve_finish(&serve);
}

/* --- Cut and glued --- */

static void byte_by_byte(const struct serve *serve, enum serve_listener listener)
{
        struct caller caller;
        struct scn_buffer bytes;
        begin(&caller, serve, listener, 10 + listener);
        scn_buffer_init(&bytes, 1 << 20);
        put_edit(&bytes, 1, scene_translate(1, 1.0f, 2.0f, 3.0f));
        for (size_t i = 0; i < bytes.size; i++) {
                cr_assert(caller_send_bytes(caller.descriptor, bytes.data + i, 1));
                (void)usleep(1000);
        }
        (void)caller_await(&caller, 1);
        scn_buffer_finish(&bytes);
        caller_end(&caller);
}

static void all_at_once(const struct serve *serve, enum serve_listener listener)
{
        struct caller caller;
        struct scn_buffer bytes;
        begin(&caller, serve, listener, 20 + listener);
        scn_buffer_init(&bytes, 1 << 20);
        for (uint64_t number = 1; number <= 100; number++) {
                put_edit(&bytes, number, scene_translate(1, (float)number, 2.0f, (float)listener));
        }
        cr_assert(caller_send_bytes(caller.descriptor, bytes.data, bytes.size));
        for (uint64_t number = 1; number <= 100; number++) {
                cr_assert_eq(caller_expect(&caller, SCN_MESSAGE_applied).as.applied.number, number);
        }
        scn_buffer_finish(&bytes);
        caller_end(&caller);
}

static void cut_everywhere(const struct serve *serve, enum serve_listener listener)
{
        struct caller caller;
        struct scn_buffer bytes;
        uint64_t number = 0;
        begin(&caller, serve, listener, 30 + listener);
        scn_buffer_init(&bytes, 1 << 20);
        put_edit(&bytes, 1, scene_translate(1, 0.0f, 2.0f, 3.0f));
        const size_t size = bytes.size;
        for (size_t cut = 1; cut < size; cut++) {
                bytes.size = 0;
                put_edit(&bytes, ++number, scene_translate(1, (float)cut, 4.0f, 3.0f));
                cr_assert(caller_send_bytes(caller.descriptor, bytes.data, cut));
                (void)usleep(2000);
                cr_assert(caller_send_bytes(caller.descriptor, bytes.data + cut, bytes.size - cut));
                (void)caller_await(&caller, number);
        }
        scn_buffer_finish(&bytes);
        caller_end(&caller);
}

SCN_TEST_WITH(boundaries, of_reads_and_writes_are_not_those_of_messages, .timeout = 120)
{
        struct serve serve;
        serve_begin(&serve);
        for (unsigned listener = 0; listener < SERVE_LISTENERS_COUNT; listener++) {
                byte_by_byte(&serve, listener);
                all_at_once(&serve, listener);
                cut_everywhere(&serve, listener);
        }
        serve_finish(&serve);
}

/* An edit that fills a message to the last byte, or by one more. */
static void put_large_edit(struct scn_buffer *bytes, uint64_t number, uint32_t size)
{
        static uint8_t junk[SCN_MESSAGE_BYTES_MAX + 1];
        struct scn_buffer payload;
        scn_buffer_init(&payload, SCN_MESSAGE_BYTES_MAX + 64);
        /* No ops, but a row of zeros; that they are none is found behind the framing. */
        const uint8_t head[] = {0x93, SCN_MESSAGE_edit, (uint8_t)number, 0xdd};
        put(&payload, head, sizeof head);
        const uint32_t count = size - (uint32_t)sizeof head - 4;
        const uint8_t count_bytes[] = {
                (uint8_t)(count >> 24), (uint8_t)(count >> 16), (uint8_t)(count >> 8), (uint8_t)count};
        put(&payload, count_bytes, sizeof count_bytes);
        put(&payload, junk, count);
        cr_assert_eq(payload.size, size);
        cr_assert_eq(scn_frame_append_head(bytes, payload.size), SCN_OK);
        put(bytes, payload.data, payload.size);
        scn_buffer_finish(&payload);
}

SCN_TEST_WITH(boundaries, of_the_largest_message_are_kept_to_the_byte, .timeout = 120)
{
        struct serve serve;
        serve_begin(&serve);
        for (unsigned listener = 0; listener < SERVE_LISTENERS_COUNT; listener++) {
                struct caller caller;
                struct scn_buffer bytes;
                begin(&caller, &serve, listener, 40 + listener);
                scn_buffer_init(&bytes, 3 * SCN_MESSAGE_BYTES_MAX);
                put_large_edit(&bytes, 1, SCN_MESSAGE_BYTES_MAX);
                put_edit(&bytes, 2, scene_translate(1, 1.0f, 1.0f, (float)listener));
                cr_assert(caller_send_bytes(caller.descriptor, bytes.data, bytes.size));
                cr_expect_eq(caller_expect(&caller, SCN_MESSAGE_refused).as.refused.number, 1);
                (void)caller_await(&caller, 2);
                bytes.size = 0;
                put_large_edit(&bytes, 3, SCN_MESSAGE_BYTES_MAX + 1);
                (void)caller_send_bytes(caller.descriptor, bytes.data, bytes.size);
                const struct scn_message failed = caller_expect(&caller, SCN_MESSAGE_failed);
                cr_expect(failed.as.failed.closes);
                cr_expect_eq(memcmp(failed.as.failed.code.data, "too_large", 9), 0);
                caller_expect_end(caller.descriptor);
                scn_frame_reader_finish(&caller.reader);
                scn_buffer_finish(&bytes);
        }
        serve_finish(&serve);
}

/* --- Broken --- */

SCN_TEST_WITH(boundaries, lost_in_a_stream_end_it_behind_what_was_whole, .timeout = 120)
{
        struct serve serve;
        struct caller witness;
        serve_begin(&serve);
        begin(&witness, &serve, SERVE_TCP, 1);
        for (unsigned listener = 0; listener < SERVE_LISTENERS_COUNT; listener++) {
                struct caller caller;
                struct scn_buffer bytes;
                begin(&caller, &serve, listener, 50 + listener);
                scn_buffer_init(&bytes, 1 << 20);
                put_edit(&bytes, 1, scene_add(1, 0, "first"));
                put(&bytes, "\xc1", 1);
                put_edit(&bytes, 2, scene_add(1, 0, "third"));
                cr_assert(caller_send_bytes(caller.descriptor, bytes.data, bytes.size));
                (void)caller_await(&caller, 1);
                cr_expect(caller_expect(&caller, SCN_MESSAGE_failed).as.failed.closes);
                caller_expect_end(caller.descriptor);
                scn_frame_reader_finish(&caller.reader);
                scn_buffer_finish(&bytes);
                cr_expect_eq(caller_count_nodes(&witness), 2 + listener, "the third was applied, too");
        }
        caller_end(&witness);
        serve_finish(&serve);
}

SCN_TEST_WITH(boundaries, of_a_message_that_means_nothing_leave_the_connection_as_it_is, .timeout = 120)
{
        /* Whole frames: no message, no array, an unknown number, a message of the other side, a wrong type. */
        static const char *const nonsense[] = {"\xc4\x01\xc0", "\xc4\x02\xa1x", "\xc4\x02\x91\x3f",
                "\xc4\x03\x92\x47\x01", "\xc4\x04\x92\x14\xa1x", "\xc4\x03\x92\x14\xff"};
        struct serve serve;
        serve_begin(&serve);
        for (unsigned listener = 0; listener < SERVE_LISTENERS_COUNT; listener++) {
                struct caller caller;
                begin(&caller, &serve, listener, 60 + listener);
                for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
                        const size_t size = 2 + (size_t)nonsense[i][1];
                        cr_assert(caller_send_bytes(caller.descriptor, nonsense[i], size));
                        const struct scn_message failed = caller_expect(&caller, SCN_MESSAGE_failed);
                        cr_expect(failed.as.failed.closes != true, "number %zu", i);
                }
                (void)ping_ms(&caller);
                caller_end(&caller);
        }
        serve_finish(&serve);
}

SCN_TEST_WITH(boundaries, of_a_message_cut_by_the_end_of_its_stream_apply_nothing, .timeout = 120)
{
        struct serve serve;
        struct caller witness;
        serve_begin(&serve);
        begin(&witness, &serve, SERVE_UNIX, 1);
        for (unsigned listener = 0; listener < SERVE_LISTENERS_COUNT; listener++) {
                struct scn_buffer bytes;
                scn_buffer_init(&bytes, 1 << 20);
                put_edit(&bytes, 1, scene_add(1, 0, "half"));
                for (size_t cut = 1; cut < bytes.size; cut += 3) {
                        struct caller caller;
                        begin(&caller, &serve, listener, 70 + listener);
                        cr_assert(caller_send_bytes(caller.descriptor, bytes.data, cut));
                        caller_end(&caller);
                }
                scn_buffer_finish(&bytes);
                struct caller last;
                begin(&last, &serve, listener, 70 + listener);
                caller_end(&last);
        }
        cr_expect_eq(caller_count_nodes(&witness), 1);
        caller_end(&witness);
        serve_finish(&serve);
}
