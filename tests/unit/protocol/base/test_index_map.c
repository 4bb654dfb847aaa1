/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/random.h"
#include "tests/lib/test.h"

#include "protocol/base/index_map.h"

#include <inttypes.h>

/* The owner of the keys: reference r stands for keys[r]. A key's hash is the key's low bits under the mask, so
 * that a test chooses who collides. */
struct owner {
        uint32_t keys[4096];
        uint64_t hash_mask;
        bool is_in[4096]; /* the naive model: which references are in the map */
};

static uint64_t hash_of_key(const struct owner *owner, uint32_t key)
{
        return key & owner->hash_mask;
}

static uint64_t hash_of_ref(const void *data, uint32_t ref)
{
        const struct owner *owner = data;
        cr_assert(owner->is_in[ref], "the map asked for the hash of %" PRIu32 ", which is not in", ref);
        return hash_of_key(owner, owner->keys[ref]);
}

static bool ref_matches(const void *data, uint32_t ref, const void *key)
{
        const struct owner *owner = data;
        cr_assert(owner->is_in[ref], "the map compared %" PRIu32 ", which is not in", ref);
        return owner->keys[ref] == *(const uint32_t *)key;
}

static struct owner owner;

static struct scn_index_map start(uint64_t hash_mask)
{
        owner = (struct owner){.hash_mask = hash_mask};
        for (uint32_t ref = 0; ref < 4096; ref++)
                owner.keys[ref] = ref * 7 + 1;
        struct scn_index_map map;
        scn_index_map_init(&map, &owner, hash_of_ref, ref_matches);
        return map;
}

static uint32_t find(const struct scn_index_map *map, uint32_t ref)
{
        uint32_t key = owner.keys[ref];
        return scn_index_map_find(map, hash_of_key(&owner, key), &key);
}

static void add(struct scn_index_map *map, uint32_t ref)
{
        cr_assert(scn_index_map_reserve(map, map->count + 1));
        scn_index_map_add(map, hash_of_key(&owner, owner.keys[ref]), ref);
        owner.is_in[ref] = true;
}

/* The reference stays hashable during the call, as the header demands of what is in the map. */
static void take_out(struct scn_index_map *map, uint32_t ref)
{
        scn_index_map_remove(map, hash_of_key(&owner, owner.keys[ref]), ref);
        owner.is_in[ref] = false;
}

static void check_all(const struct scn_index_map *map, uint32_t refs_count, uint64_t seed)
{
        uint32_t count = 0;
        for (uint32_t ref = 0; ref < refs_count; ref++) {
                cr_assert_eq(find(map, ref), owner.is_in[ref] ? ref : SCN_INDEX_MAP_NONE,
                        "reference %" PRIu32 ", seed %" PRIu64, ref, seed);
                count += owner.is_in[ref];
        }
        cr_assert_eq(map->count, count);
}

SCN_TEST(index_map, finds_nothing_while_empty)
{
        struct scn_index_map map = start(UINT64_MAX);
        cr_assert_eq(find(&map, 0), SCN_INDEX_MAP_NONE);
        cr_assert(scn_index_map_reserve(&map, 10));
        cr_assert_eq(find(&map, 0), SCN_INDEX_MAP_NONE);
        scn_index_map_finish(&map);
}

SCN_TEST(index_map, allocates_nothing_until_room_is_asked_for)
{
        struct scn_index_map map = start(UINT64_MAX);
        cr_assert(scn_index_map_reserve(&map, 0));
        cr_assert_eq(map.entries, NULL);
        scn_index_map_finish(&map);
}

SCN_TEST(index_map, finds_what_was_added_through_growth)
{
        struct scn_index_map map = start(UINT64_MAX);
        for (uint32_t ref = 0; ref < 4096; ref++)
                add(&map, ref);
        check_all(&map, 4096, 0);
        cr_assert_leq(map.capacity, 8192);
        scn_index_map_finish(&map);
}

SCN_TEST(index_map, tells_keys_apart_that_share_a_hash)
{
        struct scn_index_map map = start(0);
        for (uint32_t ref = 0; ref < 200; ref++)
                add(&map, ref);
        check_all(&map, 300, 0);
        scn_index_map_finish(&map);
}

/* Fills the smallest table, homes chosen by the digits of a number, and takes out each one in turn. */
static void remove_each(uint32_t homes, uint32_t first_home)
{
        for (uint32_t victim = 0; victim < 8; victim++) {
                struct scn_index_map map = start(15);
                for (uint32_t ref = 0; ref < 8; ref++) {
                        /* Distinct keys; their low four bits are their homes. */
                        owner.keys[ref] = (ref + 1) << 4 | ((first_home + (homes >> (2 * ref) & 3)) & 15);
                        add(&map, ref);
                }
                cr_assert_eq(map.capacity, 16);
                take_out(&map, victim);
                for (uint32_t ref = 0; ref < 8; ref++)
                        cr_assert_eq(find(&map, ref), ref == victim ? SCN_INDEX_MAP_NONE : ref,
                                "homes %" PRIx32 " from %" PRIu32 ", without %" PRIu32, homes, first_home, victim);
                scn_index_map_finish(&map);
        }
}

SCN_TEST(index_map, shifts_back_so_that_a_removal_hides_nobody)
{
        struct scn_random random = scn_random_from_seed(scn_test_seed(1));
        for (int i = 0; i < 1000; i++) {
                uint32_t homes = scn_random_below(&random, 1u << 16);
                remove_each(homes, 4);  /* a cluster in the middle */
                remove_each(homes, 13); /* and one that runs over the end of the table */
        }
}

static void agree_with_model(uint64_t hash_mask, uint32_t refs_count, uint64_t seed)
{
        struct scn_random random = scn_random_from_seed(seed);
        struct scn_index_map map = start(hash_mask);
        for (int step = 0; step < 6000; step++) {
                uint32_t ref = scn_random_below(&random, refs_count);
                /* Long phases of mostly adding and mostly removing, so that it gets full and empty. */
                bool wants_in = scn_random_chance(&random, step / 1000 % 2 == 0 ? 80 : 20);
                if (wants_in && !owner.is_in[ref])
                        add(&map, ref);
                else if (!wants_in && owner.is_in[ref])
                        take_out(&map, ref);
                if (step % 50 == 0)
                        check_all(&map, refs_count, seed);
        }
        check_all(&map, refs_count, seed);
        scn_index_map_finish(&map);
}

SCN_TEST(index_map, agrees_with_a_naive_model)
{
        static const uint64_t masks[] = {UINT64_MAX, 63, 7, 1, 0, ~UINT64_C(15)};
        uint64_t seed = scn_test_seed(1);
        for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
                agree_with_model(masks[i], 100, seed);
                agree_with_model(masks[i], 12, seed); /* exactly the room of the smallest table */
        }
}

SCN_TEST(index_map, puts_back_without_allocating_what_was_in)
{
        struct scn_index_map map = start(31);
        cr_assert(scn_index_map_reserve(&map, 1000));
        for (uint32_t ref = 0; ref < 1000; ref++)
                add(&map, ref);
        for (uint32_t ref = 0; ref < 1000; ref++)
                take_out(&map, ref);
        check_all(&map, 1000, 0);
        scn_alloc_fail_at(1, true);
        for (uint32_t ref = 1000; ref-- > 0;)
                add(&map, ref);
        check_all(&map, 1000, 0);
        scn_index_map_finish(&map);
}

SCN_TEST(index_map, is_as_before_when_memory_is_out)
{
        struct scn_index_map map = start(UINT64_MAX);
        for (uint32_t ref = 0; ref < 12; ref++)
                add(&map, ref);
        scn_alloc_fail_at(1, false);
        cr_assert_not(scn_index_map_reserve(&map, 13));
        check_all(&map, 20, 0);
        cr_assert(scn_index_map_reserve(&map, 13));
        check_all(&map, 20, 0);
        scn_index_map_finish(&map);
}

SCN_TEST(index_map, refuses_more_room_than_it_can_number)
{
        struct scn_index_map map = start(UINT64_MAX);
        cr_assert_not(scn_index_map_reserve(&map, UINT32_MAX));
        cr_assert_eq(map.capacity, 0);
        scn_index_map_finish(&map);
}

SCN_TEST(index_map, keeps_to_four_bytes_an_entry_and_at_most_three_quarters_full)
{
        struct scn_index_map map = start(UINT64_MAX);
        cr_assert(scn_index_map_reserve(&map, 3072));
        cr_assert_eq(map.capacity, 4096);
        cr_assert_leq(scn_alloc_stats().live_bytes, 4096 * 4 + 64);
        cr_assert(scn_index_map_reserve(&map, 3073));
        cr_assert_eq(map.capacity, 8192);
        scn_index_map_finish(&map);
}

SCN_TEST_ABORTS(index_map, asserts_that_there_is_room)
{
        struct scn_index_map map = start(UINT64_MAX);
        scn_index_map_add(&map, 1, 1);
}

SCN_TEST_ABORTS(index_map, asserts_that_what_is_removed_is_in)
{
        struct scn_index_map map = start(UINT64_MAX);
        add(&map, 1);
        scn_index_map_remove(&map, 2, 2);
}

SCN_TEST_ABORTS(index_map, asserts_that_no_reference_is_the_mark_of_none)
{
        struct scn_index_map map = start(UINT64_MAX);
        cr_assert(scn_index_map_reserve(&map, 1));
        scn_index_map_add(&map, 1, SCN_INDEX_MAP_NONE);
}
