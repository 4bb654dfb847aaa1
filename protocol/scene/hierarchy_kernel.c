/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/scene/hierarchy_kernel.h"

#include <float.h>
#include <string.h>

/* Vectors are written in the extension that gcc (12 and later) and clang share, so the same text is SSE2, NEON or
 * AVX2. None of the targets below brings fused multiply-add. */

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#define HAS_AVX2_BUILD 1
#endif

/* An x87 unit keeps more bits between operations than it stores. */
SCN_STATIC_ASSERT(FLT_EVAL_METHOD == 0, "worlds need arithmetic in 32 bits; on i386 build with -mfpmath=sse");
SCN_STATIC_ASSERT(sizeof(struct scn_hierarchy_local) == 48, "the kernel reads three quads");
SCN_STATIC_ASSERT(sizeof(struct scn_affine) == 48, "the kernel writes three quads");

/* What a list of more slots than this needs does not fit a core's own cache (1.5 MB), so it is asked for ahead: a
 * million nodes are then recomputed in two thirds of the time, in slot order or not. Done in between, and not for
 * many slots at once, for a core keeps track of few requests. */
#define CACHED_SLOTS_MAX 16384u
#define SLOTS_AHEAD 40u

/* Loops over lanes must be written out, or gcc keeps the registers in memory; clang does it unasked. */
#if defined(__clang__)
#define UNROLL
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

#define LANES 1
#define FLOATS float
#define NAME(x) one_##x
#define TARGET
#include "protocol/scene/hierarchy_lanes.h"

void scn_kernel_local(const struct scn_trs *trs, struct scn_affine *world_out)
{
        struct one_linear linear;

        one_turn_and_scale(trs->r, trs->s, &linear);
        *world_out = (struct scn_affine){{linear.x0, linear.y0, linear.z0, trs->t[0], linear.x1, linear.y1, linear.z1,
                trs->t[1], linear.x2, linear.y2, linear.z2, trs->t[2]}};
}

static inline void compute_child(
        const struct scn_affine *parent, const struct scn_trs *trs, struct scn_affine *world_out)
{
        struct one_linear linear;

        one_turn_and_scale(trs->r, trs->s, &linear);
        UNROLL
        for (uint32_t row = 0; row < 3; row++) {
                float world[4];
                one_multiply_row(&parent->m[4 * row], &linear, trs->t, world);
                memcpy(&world_out->m[4 * row], world, sizeof world);
        }
}

void scn_kernel_child(const struct scn_affine *parent, const struct scn_trs *trs, struct scn_affine *world_out)
{
        compute_child(parent, trs, world_out);
}

static void run_one(
        const struct scn_hierarchy_local *locals, struct scn_affine *worlds, const uint32_t *slots, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                uint32_t slot = slots[i] & ~SCN_HIERARCHY_LEVEL;
                compute_child(&worlds[locals[slot].parent], &locals[slot].trs, &worlds[slot]);
        }
}

static inline void ask_for(const struct scn_hierarchy_local *locals, const struct scn_affine *worlds, uint32_t entry)
{
        size_t slot = entry & ~SCN_HIERARCHY_LEVEL;

        __builtin_prefetch(&locals[slot]);
        __builtin_prefetch(&worlds[slot], 1);
}

typedef float floats4 __attribute__((vector_size(16)));
/* Four floats where they lie: in records aligned to no more than a float. */
typedef float stored4 __attribute__((vector_size(16), aligned(4), may_alias));

#define LANES 4
#define FLOATS floats4
#define NAME(x) four_##x
#define TARGET
#define LOAD(records, index, quad) (*(const stored4 *)(const void *)((records)[index] + 4 * (quad)))
#define STORE(records, index, quad, floats) (*(stored4 *)(void *)((records)[index] + 4 * (quad)) = (floats))
#define ZIP_LOW(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define ZIP_HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define PAIR_LOW(a, b) __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define PAIR_HIGH(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)
#define SPREAD(a, k) __builtin_shufflevector(a, a, k, k, k, k)
#include "protocol/scene/hierarchy_lanes.h"

#ifdef HAS_AVX2_BUILD

typedef float floats8 __attribute__((vector_size(32)));

#define LANES 8
#define FLOATS floats8
#define NAME(x) eight_##x
#define TARGET __attribute__((target("avx2")))
/* Intrinsics here, for with the shuffles that say the same gcc does not find the instructions that take the upper
 * half from memory and put it there. */
#define LOAD(records, index, quad)                                                                                     \
        _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps((records)[index] + 4 * (quad))),                      \
                _mm_loadu_ps((records)[(index) + 4] + 4 * (quad)), 1)
#define STORE(records, index, quad, floats)                                                                            \
        (_mm_storeu_ps((records)[index] + 4 * (quad), _mm256_castps256_ps128(floats)),                                 \
                _mm_storeu_ps((records)[(index) + 4] + 4 * (quad), _mm256_extractf128_ps(floats, 1)))
#define ZIP_LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define ZIP_HIGH(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define PAIR_LOW(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define PAIR_HIGH(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define SPREAD(a, k) __builtin_shufflevector(a, a, k, k, k, k, k + 4, k + 4, k + 4, k + 4)
#include "protocol/scene/hierarchy_lanes.h"

#endif

bool scn_kernel_is_available(enum scn_kernel kernel)
{
        switch (kernel) {
        case SCN_KERNEL_BEST:
        case SCN_KERNEL_SCALAR:
        case SCN_KERNEL_VECTOR4:
                return true;
        case SCN_KERNEL_VECTOR8:
#ifdef HAS_AVX2_BUILD
                return __builtin_cpu_supports("avx2") != 0;
#else
                return false;
#endif
        }
        return false;
}

scn_kernel_fn scn_kernel_find(enum scn_kernel kernel)
{
        SCN_ASSERT(scn_kernel_is_available(kernel));
#ifdef HAS_AVX2_BUILD
        bool wants_eight = kernel == SCN_KERNEL_BEST || kernel == SCN_KERNEL_VECTOR8;
        if (wants_eight && scn_kernel_is_available(SCN_KERNEL_VECTOR8))
                return eight_run;
#endif
        return kernel == SCN_KERNEL_SCALAR ? run_one : four_run;
}
