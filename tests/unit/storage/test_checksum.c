/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "storage/checksum.h"
#include "tests/lib/random.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Whatever the sizes, and wherever the buffer is full: the sum is that over all fields written one after another. */
SCN_TEST(storage_checksum, is_that_of_the_fields_written_one_after_another)
{
        struct scn_random random = scn_random_from_seed(scn_test_seed(3));
        static uint8_t payload[5000], written[1 << 17];
        struct scn_checksum checksum;

        for (size_t i = 0; i < sizeof payload; i++)
                payload[i] = (uint8_t)scn_random_next(&random);
        cr_assert(scn_checksum_init(&checksum));
        for (int i = 0; i < 2000; i++) {
                size_t size = 0;
                for (uint32_t fields = scn_random_below(&random, 20); fields != 0; fields--) {
                        int64_t number = (int64_t)scn_random_next(&random);
                        struct scn_slice bytes = {payload, 0};
                        if (scn_random_chance(&random, 50)) {
                                scn_checksum_integer(&checksum, number);
                        } else {
                                bytes.size = scn_random_below(&random, scn_random_chance(&random, 20) ? 5000 : 300);
                                if (scn_random_chance(&random, 10))
                                        bytes = (struct scn_slice){NULL, 0};
                                number = bytes.data != NULL ? (int64_t)bytes.size : -1;
                                scn_checksum_bytes(&checksum, bytes);
                        }
                        for (int k = 0; k < 8; k++)
                                written[size++] = (uint8_t)((uint64_t)number >> 8 * k);
                        memcpy(written + size, payload, bytes.size);
                        size += bytes.size;
                }
                cr_assert_eq(scn_checksum_take(&checksum), (int64_t)XXH3_64bits(written, size), "sum %d", i);
        }
        scn_checksum_finish(&checksum);
}

SCN_TEST(storage_checksum, forgets_what_was_not_taken)
{
        static uint8_t payload[3000];
        struct scn_checksum checksum;

        cr_assert(scn_checksum_init(&checksum));
        scn_checksum_integer(&checksum, 5);
        const int64_t wanted = scn_checksum_take(&checksum);
        scn_checksum_bytes(&checksum, (struct scn_slice){payload, sizeof payload});
        scn_checksum_reset(&checksum);
        scn_checksum_integer(&checksum, 5);
        cr_assert_eq(scn_checksum_take(&checksum), wanted);
        scn_checksum_finish(&checksum);
}
