/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/scene/digest.h"

#include "tests/lib/random.h"
#include "tests/lib/test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The expected digests were made by the tool xxhsum (-H2, version 0.8.1) from files that a script laid out byte
 * by byte after the table in the header; written high half first, as that tool prints them. */

static struct scn_uid counted_uid(uint8_t first)
{
        struct scn_uid uid;

        for (size_t i = 0; i < sizeof uid.bytes; i++)
                uid.bytes[i] = (uint8_t)(first + i);
        return uid;
}

static struct scn_uid uid0(void)
{
        return counted_uid(0);
}

static struct scn_slice filled(uint8_t *bytes, uint8_t filling, uint32_t size)
{
        memset(bytes, filling, size);
        return (struct scn_slice){bytes, size};
}

static struct scn_slice text(const char *literal)
{
        return (struct scn_slice){(const uint8_t *)literal, (uint32_t)strlen(literal)};
}

static void expect_digest(struct scn_digest digest, uint64_t high, uint64_t low)
{
        cr_assert_eq(digest.high, high, "high: %016" PRIx64 " instead of %016" PRIx64, digest.high, high);
        cr_assert_eq(digest.low, low, "low: %016" PRIx64 " instead of %016" PRIx64, digest.low, low);
}

SCN_TEST(digest, of_a_place_is_over_uid_parent_and_previous)
{
        const struct scn_uid none = {{0}};

        expect_digest(
                scn_digest_place(uid0(), counted_uid(0x10), counted_uid(0xf0)), 0x16471abd9a7aa891, 0x8fee7b467d07d6a1);
        expect_digest(scn_digest_place(uid0(), none, none), 0x611e894224c91125, 0xf3c011e1c9d6ca00);
}

SCN_TEST(digest, of_a_name_is_over_uid_and_text_of_any_length)
{
        static uint8_t bytes[1024];

        expect_digest(scn_digest_name(uid0(), text("Hand")), 0xd3927098def58f4b, 0x9a48194975ecc984);
        expect_digest(scn_digest_name(uid0(), text("")), 0x00273b145e8995f5, 0xfe53c764dd461aff);
        /* around the size up to which it is hashed in one piece */
        expect_digest(scn_digest_name(uid0(), filled(bytes, 'n', 495)), 0x3e566fc4221f5c72, 0xfd874223e737e5b0);
        expect_digest(scn_digest_name(uid0(), filled(bytes, 'n', 496)), 0x592ec50e1fefb402, 0x534d98f9a7fa955d);
        expect_digest(scn_digest_name(uid0(), filled(bytes, 'n', 1024)), 0x028d01b84445a3a0, 0x9e70d932565d6da4);
}

SCN_TEST(digest, of_a_transform_is_over_uid_and_the_bits_of_its_floats)
{
        const float translation[] = {1.0f, -0.0f, 0.1f};
        const float rotation[] = {0.5f, -0.5f, 0.5f, -0.5f};
        const float scale[] = {2.0f, 0.25f, -1.0f};

        expect_digest(scn_digest_translation(uid0(), translation), 0xe2c003b7af1af1c3, 0x0ef287ecdee1576f);
        expect_digest(scn_digest_rotation(uid0(), rotation), 0x665a8103b47a3673, 0x549f9dfbaf96b31f);
        expect_digest(scn_digest_scale(uid0(), scale), 0x46f76b1f92298b35, 0xa9d55d41c4ab29aa);
}

SCN_TEST(digest, of_a_property_is_over_uid_key_and_value_of_any_length)
{
        static uint8_t key[255];
        static uint8_t value[65536] = {0xc5, 0xff, 0xfd};

        expect_digest(scn_digest_property(uid0(), text("key"), text("\xa1x")), 0x309bad9a71415409, 0xb061253b439cf088);
        expect_digest(scn_digest_property(uid0(), filled(key, 'k', 255), text("\xc3")), 0xf5e74c8b0b77e3b6,
                0xfbf801919ca008b7);
        for (uint32_t i = 0; i < 65533; i++)
                value[3 + i] = (uint8_t)(i % 251);
        expect_digest(scn_digest_property(uid0(), text("large"), (struct scn_slice){value, sizeof value}),
                0x89a9f6aa673def19, 0x4e98cbfdb2f6993f);
}

SCN_TEST(digest, tells_where_a_key_ends_and_the_value_begins)
{
        struct scn_digest one = scn_digest_property(uid0(), text("ab"), text("c"));
        struct scn_digest other = scn_digest_property(uid0(), text("a"), text("bc"));

        cr_assert(one.low != other.low || one.high != other.high);
}

SCN_TEST_ABORTS(digest, takes_no_key_longer_than_its_length_can_say)
{
        static uint8_t key[256];

        scn_digest_property(uid0(), filled(key, 'k', 256), text("\xc3"));
}

SCN_TEST(digest, sum_carries_and_borrows_between_its_halves)
{
        struct scn_digest sum = {.low = UINT64_MAX, .high = 5};

        scn_digest_add(&sum, (struct scn_digest){.low = 1, .high = 0});
        expect_digest(sum, 6, 0);
        scn_digest_add(&sum, (struct scn_digest){.low = UINT64_MAX, .high = UINT64_MAX});
        expect_digest(sum, 5, UINT64_MAX);
        scn_digest_subtract(&sum, (struct scn_digest){.low = UINT64_MAX, .high = UINT64_MAX});
        expect_digest(sum, 6, 0);
        scn_digest_subtract(&sum, (struct scn_digest){.low = 1, .high = 0});
        expect_digest(sum, 5, UINT64_MAX);
        sum = (struct scn_digest){0};
        scn_digest_subtract(&sum, (struct scn_digest){.low = 1, .high = 0});
        expect_digest(sum, UINT64_MAX, UINT64_MAX);
        scn_digest_add(&sum, (struct scn_digest){.low = 1, .high = 0});
        expect_digest(sum, 0, 0);
}

#define ADDENDS_COUNT 200

SCN_TEST(digest, sum_does_not_know_the_order)
{
        uint64_t seed = scn_test_seed(1);
        struct scn_random random = scn_random_from_seed(seed);
        struct scn_digest addends[ADDENDS_COUNT], forwards = {0}, mixed = {0};

        for (uint32_t i = 0; i < ADDENDS_COUNT; i++) {
                addends[i] = scn_digest_name(scn_random_uid(&random), text("x"));
                scn_digest_add(&forwards, addends[i]);
        }
        for (uint32_t i = ADDENDS_COUNT; i != 0; i--) {
                uint32_t chosen = scn_random_below(&random, i);
                scn_digest_add(&mixed, addends[chosen]);
                addends[chosen] = addends[i - 1];
                addends[i - 1] = (struct scn_digest){.low = mixed.low, .high = mixed.high};
        }
        cr_assert(forwards.low != 0 && forwards.high != 0);
        expect_digest(mixed, forwards.high, forwards.low);
}

SCN_TEST(digest, of_a_mask_is_the_sum_of_its_durable_channels)
{
        struct scn_digests digests = {.channels = {
                                              [SCN_CHANNEL_STRUCTURE] = {.low = 1, .high = 10},
                                              [SCN_CHANNEL_NAME] = {.low = 2, .high = 20},
                                              [SCN_CHANNEL_TRANSFORM] = {.low = 4, .high = 40},
                                              [SCN_CHANNEL_PROPERTIES] = {.low = UINT64_MAX, .high = 80},
                                      }};

        expect_digest(scn_digests_combine(&digests, 0), 0, 0);
        expect_digest(scn_digests_combine(&digests, SCN_MASK_STRUCTURE | SCN_MASK_TRANSFORM), 50, 5);
        expect_digest(scn_digests_combine(&digests, SCN_MASK_NAME | SCN_MASK_PROPERTIES), 101, 1);
        expect_digest(scn_digests_combine(&digests, SCN_MASK_ALL), 151, 6);
        expect_digest(scn_digests_combine(&digests, 1u << SCN_CHANNEL_WORLD | 1u << SCN_CHANNEL_LOCKS), 0, 0);
}

SCN_TEST(digest, hashing_allocates_nothing)
{
        static uint8_t value[65536];
        uint64_t calls = scn_alloc_stats().calls;
        struct scn_digest hash = scn_digest_property(uid0(), text("k"), (struct scn_slice){value, sizeof value});

        cr_assert_neq(hash.low, 0);
        cr_assert_eq(scn_alloc_stats().calls, calls);
}

SCN_TEST(hash_uid, depends_on_the_seed_and_on_every_bit)
{
        struct scn_uid uid = uid0();
        uint64_t hash = scn_hash_uid(uid, 1);

        cr_assert_eq(scn_hash_uid(uid, 1), hash);
        cr_assert_neq(scn_hash_uid(uid, 2), hash);
        for (uint32_t bit = 0; bit < 128; bit++) {
                struct scn_uid other = uid;
                other.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
                cr_assert_neq(scn_hash_uid(other, 1), hash, "bit %" PRIu32, bit);
        }
}

static int compare_words(const void *a, const void *b)
{
        uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
        return left < right ? -1 : left > right;
}

#define UIDS_COUNT 65536

SCN_TEST(hash_uid, spreads_uids_that_count_up_over_the_low_bits)
{
        static uint64_t hashes[UIDS_COUNT];
        uint32_t distinct = 1;

        for (uint32_t i = 0; i < UIDS_COUNT; i++) {
                struct scn_uid uid = {{0}};
                memcpy(uid.bytes, &i, sizeof i);
                hashes[i] = scn_hash_uid(uid, 12345) % UIDS_COUNT;
        }
        qsort(hashes, UIDS_COUNT, sizeof hashes[0], compare_words);
        for (uint32_t i = 1; i < UIDS_COUNT; i++)
                distinct += hashes[i] != hashes[i - 1];
        /* thrown at random, 1 - 1/e of the places are hit: 41,427 */
        cr_assert_gt(distinct, 41000);
        cr_assert_lt(distinct, 42000);
}
