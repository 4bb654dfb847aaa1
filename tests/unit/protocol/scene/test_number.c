/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/scene/value.h"

#include "tests/lib/spelling.h"
#include "tests/lib/test.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

/* Numbers of fields (CASES B39). */

static struct scn_number number_int(int64_t i)
{
        return (struct scn_number){.kind = SCN_NUMBER_INT, .value.i = i};
}

static struct scn_number number_uint(uint64_t u)
{
        return (struct scn_number){.kind = SCN_NUMBER_UINT, .value.u = u};
}

static struct scn_number number_float(double f)
{
        return (struct scn_number){.kind = SCN_NUMBER_FLOAT, .value.f = f};
}

static void expect_float(struct scn_number number, float expected)
{
        float result = 12345.0f;

        cr_assert_eq(scn_number_to_float(&number, &result), SCN_OK);
        cr_assert_eq(
                bits_of_float(result), bits_of_float(expected), "%a instead of %a", (double)result, (double)expected);
}

static void expect_no_float(struct scn_number number, enum scn_error expected)
{
        float result = 12345.0f;

        cr_assert_eq(scn_number_to_float(&number, &result), expected);
        cr_assert_eq(result, 12345.0f);
}

SCN_TEST(number, of_every_family_is_taken_for_a_float)
{
        expect_float(number_uint(1), 1.0f);
        expect_float(number_int(-1), -1.0f);
        expect_float(number_int(INT64_MIN), -0x1p63f);
        expect_float(number_uint(UINT64_MAX), 0x1p64f);
        expect_float(number_float((double)0.1f), 0.1f);
        expect_float(number_float(0.1), 0.1f);
        expect_float(number_float(-0.0), -0.0f);
        expect_float(number_float(0x1p-149), 0x1p-149f);
        expect_float(number_float(0x1p-1074), 0.0f);
        expect_float(number_float((double)FLT_MAX), FLT_MAX);
}

SCN_TEST(number, is_rounded_to_float_once_and_to_even)
{
        expect_float(number_uint(16777217), 16777216.0f);
        expect_float(number_uint(16777219), 16777220.0f);
        /* By way of a double this would first become the exact middle, and then the even neighbour below. */
        expect_float(number_uint((UINT64_C(1) << 62) + (UINT64_C(1) << 38) + 1), 0x1.000002p62f);
        expect_float(number_int(-(INT64_C(1) << 62) - (INT64_C(1) << 38) - 1), -0x1.000002p62f);
        /* The largest double that still rounds to FLT_MAX; the next one up is half way and goes to even. */
        expect_float(number_float(0x1.fffffefffffffp127), FLT_MAX);
        expect_no_float(number_float(0x1.ffffffp127), SCN_E_RANGE);
}

SCN_TEST(number, out_of_range_is_refused_for_a_float)
{
        expect_no_float(number_float(1e300), SCN_E_RANGE);
        expect_no_float(number_float(-1e300), SCN_E_RANGE);
        expect_no_float(number_float((double)NAN), SCN_E_NOT_FINITE);
        expect_no_float(number_float((double)INFINITY), SCN_E_NOT_FINITE);
        expect_no_float(number_float(-(double)INFINITY), SCN_E_NOT_FINITE);
}

static void expect_integer(struct scn_number number, uint64_t max, uint64_t expected)
{
        uint64_t result = 12345;

        cr_assert_eq(scn_number_to_integer(&number, max, &result), SCN_OK);
        cr_assert_eq(result, expected, "%" PRIu64 " instead of %" PRIu64, result, expected);
}

static void expect_no_integer(struct scn_number number, uint64_t max, enum scn_error expected)
{
        uint64_t result = 12345;

        cr_assert_eq(scn_number_to_integer(&number, max, &result), expected);
        cr_assert_eq(result, 12345);
}

SCN_TEST(number, is_taken_for_an_integer_exactly_or_not_at_all)
{
        const uint64_t numbers[] = {
                0, 1, UINT64_C(1) << 31, UINT64_C(1) << 32, (UINT64_C(1) << 53) + 1, UINT64_C(1) << 63, UINT64_MAX};

        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
                expect_integer(number_uint(numbers[i]), UINT64_MAX, numbers[i]);
                expect_integer(number_uint(numbers[i]), numbers[i], numbers[i]);
                if (numbers[i] != 0)
                        expect_no_integer(number_uint(numbers[i]), numbers[i] - 1, SCN_E_RANGE);
        }
        expect_no_integer(number_uint((UINT64_C(1) << 53) + 1), SCN_REVISION_MAX, SCN_E_RANGE);
        expect_no_integer(number_uint(UINT64_C(1) << 32), UINT32_MAX, SCN_E_RANGE);
        expect_no_integer(number_int(-1), UINT64_MAX, SCN_E_RANGE);
        expect_no_integer(number_int(INT64_MIN), UINT64_MAX, SCN_E_RANGE);
        expect_integer(number_int(7), 7, 7);
}

SCN_TEST(number, with_a_point_is_an_integer_when_it_is_whole)
{
        expect_integer(number_float(1.0), UINT64_MAX, 1);
        expect_integer(number_float(-0.0), UINT64_MAX, 0);
        expect_integer(number_float(0x1p31), UINT64_MAX, UINT64_C(1) << 31);
        expect_integer(number_float(0x1p53), UINT64_MAX, UINT64_C(1) << 53);
        expect_integer(number_float(0x1p63), UINT64_MAX, UINT64_C(1) << 63);
        expect_integer(number_float(0x1.fffffffffffffp63), UINT64_MAX, UINT64_MAX - 2047);
        expect_no_integer(number_float(0x1p64), UINT64_MAX, SCN_E_RANGE);
        expect_no_integer(number_float(1e300), UINT64_MAX, SCN_E_RANGE);
        expect_no_integer(number_float(-1.0), UINT64_MAX, SCN_E_RANGE);
        expect_no_integer(number_float(-1e300), UINT64_MAX, SCN_E_RANGE);
        expect_no_integer(number_float(1.5), UINT64_MAX, SCN_E_NOT_INTEGER);
        expect_no_integer(number_float(-1.5), UINT64_MAX, SCN_E_NOT_INTEGER);
        expect_no_integer(number_float(0x1p-1074), UINT64_MAX, SCN_E_NOT_INTEGER);
        expect_no_integer(number_float((double)NAN), UINT64_MAX, SCN_E_NOT_FINITE);
        expect_no_integer(number_float(-(double)INFINITY), UINT64_MAX, SCN_E_NOT_FINITE);
        expect_no_integer(number_float(0x1p32), UINT32_MAX, SCN_E_RANGE);
}
