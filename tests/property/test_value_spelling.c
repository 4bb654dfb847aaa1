/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/scene/value.h"

#include "tests/lib/random.h"
#include "tests/lib/spelling.h"
#include "tests/lib/test.h"

#include <inttypes.h>
#include <string.h>

/* Random values: a generator that knows the canonical spelling writes it beside another one. */

struct pair {
        struct scn_buffer any;
        struct scn_buffer canonical;
};

static void append_both(struct pair *pair, const void *bytes, size_t size)
{
        append(&pair->any, bytes, size);
        append(&pair->canonical, bytes, size);
}

static uint32_t random_size_from(struct scn_random *random, uint32_t least)
{
        uint32_t size;

        do
                size = sizes[scn_random_below(random, SIZES_COUNT)];
        while (size < least);
        return size;
}

static void generate_number(struct scn_random *random, struct pair *pair)
{
        uint64_t bits = scn_random_next(random) >> scn_random_below(random, 64);
        int64_t negative = -(int64_t)(bits >> 1) - 1;
        float narrow = scn_random_float(random, -100.0f, 100.0f);
        double wide = (double)narrow * 1.0000001;

        switch (scn_random_below(random, 4)) {
        case 0:
                append_uint(&pair->canonical, bits, bytes_of_uint(bits));
                append_uint(&pair->any, bits, random_size_from(random, bytes_of_uint(bits)));
                break;
        case 1:
                append_int(&pair->canonical, negative, bytes_of_int(negative));
                append_int(&pair->any, negative, random_size_from(random, bytes_of_int(negative)));
                break;
        case 2:
                append_head(&pair->canonical, 0xca, bits_of_float(narrow), 4);
                if (scn_random_chance(random, 50))
                        append_head(&pair->any, 0xca, bits_of_float(narrow), 4);
                else
                        append_head(&pair->any, 0xcb, bits_of((double)narrow), 8);
                break;
        default:
                if ((double)(float)wide == wide)
                        append_head(&pair->canonical, 0xca, bits_of_float((float)wide), 4);
                else
                        append_head(&pair->canonical, 0xcb, bits_of(wide), 8);
                append_head(&pair->any, 0xcb, bits_of(wide), 8);
                break;
        }
}

static void generate_head(struct scn_random *random, struct pair *pair, enum family family, uint32_t count)
{
        const uint32_t widths[] = {0, 1, 2, 4};
        uint32_t i = 0;

        while (!append_family_head(&pair->canonical, family, count, widths[i]))
                i++;
        while (!append_family_head(&pair->any, family, count, widths[i + scn_random_below(random, 4 - i)]))
                continue;
}

static void generate_key(struct scn_random *random, struct pair *pair, uint32_t number)
{
        uint32_t filling = scn_random_below(random, 40);

        generate_head(random, pair, FAMILY_STR, filling + 1);
        for (uint32_t i = 0; i < filling; i++)
                append_both(pair, "k", 1);
        uint8_t last = (uint8_t)('A' + number);
        append_both(pair, &last, 1);
}

static void generate(struct scn_random *random, struct pair *pair, uint32_t levels)
{
        uint32_t count = scn_random_below(random, 20);

        switch (scn_random_below(random, levels != 0 ? 8 : 4)) {
        case 0:
        case 1:
                generate_number(random, pair);
                break;
        case 2:
                append_both(pair, scn_random_chance(random, 50) ? "\xc2" : "\xc3", 1);
                break;
        case 3:
                count = scn_random_below(random, 300);
                generate_head(random, pair, scn_random_chance(random, 50) ? FAMILY_STR : FAMILY_BIN, count);
                for (uint32_t i = 0; i < count; i++)
                        append_both(pair, "t", 1);
                break;
        case 4:
                append(&pair->any, "\xc7\x10\x01" UID_TEXT, 19);
                append(&pair->canonical, "\xd8\x01" UID_TEXT, 18);
                break;
        case 5:
                generate_head(random, pair, FAMILY_MAP, count);
                for (uint32_t i = 0; i < count; i++) {
                        generate_key(random, pair, i);
                        generate(random, pair, levels - 1);
                }
                break;
        default:
                generate_head(random, pair, FAMILY_ARRAY, count);
                for (uint32_t i = 0; i < count; i++)
                        generate(random, pair, levels - 1);
                break;
        }
}

/* Whatever a damaged value is taken for, its canonical spelling is one, and stays. */
static void damage(struct scn_random *random, struct scn_buffer *value)
{
        const struct scn_limits limits = default_limits();
        struct scn_buffer spelled;

        for (uint32_t i = 0; i < 8; i++) {
                value->data[scn_random_below(random, (uint32_t)value->size)] = (uint8_t)scn_random_next(random);
                if (spell_within(slice_of(value), &limits, &spelled) == SCN_OK)
                        expect(slice_of(&spelled), slice_of(&spelled));
                scn_buffer_finish(&spelled);
        }
}

SCN_TEST_WITH(value, random_has_one_canonical_spelling_which_stays, .timeout = 60)
{
        uint64_t seed = scn_test_seed(1);
        uint32_t other_spellings = 0;
        struct scn_limits limits = default_limits();

        limits.value_bytes_max = 1u << 22;
        for (uint32_t i = 0; i < 600; i++) {
                struct scn_random random = scn_random_from_seed(seed * 1000003 + i);
                struct pair pair;
                scn_buffer_init(&pair.any, BUFFER_BYTES_MAX);
                scn_buffer_init(&pair.canonical, BUFFER_BYTES_MAX);
                generate(&random, &pair, 3);
                other_spellings += pair.any.size != pair.canonical.size;
                expect_within(&limits, slice_of(&pair.any), slice_of(&pair.canonical));
                damage(&random, &pair.any);
                scn_buffer_finish(&pair.any);
                scn_buffer_finish(&pair.canonical);
        }
        cr_assert_gt(other_spellings, 300, "the generator hardly ever spells otherwise: seed %" PRIu64, seed);
}
