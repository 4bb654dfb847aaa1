/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

static const struct scn_test_shape small = {.client = 1, .records_count = 1, .payload_bytes = 100, .answer_bytes = 20};

SCN_TEST(journal_append, keeps_what_it_was_given)
{
        struct scn_test_storage test;

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        SCN_TEST_OK(scn_test_append(journal, 1, 1, &small, NULL));
        SCN_TEST_OK(scn_test_append(journal, 2, 10, &small, NULL));
        cr_assert_eq(scn_test_count(journal, &small), 11);
        scn_journal_close(journal);

        journal = scn_test_open_island(&test, SCN_JOURNAL_READ);
        cr_assert_eq(scn_test_count(journal, &small), 11);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}
