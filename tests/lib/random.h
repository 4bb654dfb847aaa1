/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_RANDOM_H
#define SCN_TESTS_LIB_RANDOM_H

/* Numbers that look random and are the same in each run with the same seed (splitmix64: a counter and a
 * mixing function, so every seed is as good as any other). For tests and benchmarks. */

#include <scn/types.h>

struct scn_random {
        uint64_t state;
};

static inline struct scn_random scn_random_from_seed(uint64_t seed)
{
        return (struct scn_random){seed};
}

static inline uint64_t scn_random_next(struct scn_random *random)
{
        random->state += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t mixed = random->state;
        mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
        return mixed ^ (mixed >> 31);
}

/* 0 .. count - 1; count must not be 0. Slightly uneven, which no test can notice. */
static inline uint32_t scn_random_below(struct scn_random *random, uint32_t count)
{
        return (uint32_t)((scn_random_next(random) >> 32) * count >> 32);
}

/* low <= result < high, in steps of 2^-24 of the distance (rounding may give high itself). */
static inline float scn_random_float(struct scn_random *random, float low, float high)
{
        float unit = (float)(scn_random_next(random) >> 40) * 0x1p-24f;
        return low + (high - low) * unit;
}

/* True in percent of a hundred cases. */
static inline bool scn_random_chance(struct scn_random *random, uint32_t percent)
{
        return scn_random_below(random, 100) < percent;
}

static inline struct scn_uid scn_random_uid(struct scn_random *random)
{
        struct scn_uid uid;
        for (size_t i = 0; i < sizeof uid.bytes; i++)
                uid.bytes[i] = (uint8_t)scn_random_next(random);
        return uid;
}

#endif
