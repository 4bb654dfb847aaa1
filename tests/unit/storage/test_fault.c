/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "storage/fault.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

SCN_TEST(storage_fault, is_filled_with_a_text_that_fits)
{
        struct scn_storage_fault fault = {.holder_pid = 5};
        char long_text[1000];

        memset(long_text, 'x', sizeof long_text - 1);
        long_text[sizeof long_text - 1] = '\0';
        cr_assert_eq(scn_fault_set(&fault, SCN_E_CORRUPT, 7, 11, "%s and %d", "this", 3), SCN_E_CORRUPT);
        cr_assert_eq(fault.revision, 7);
        cr_assert_eq(fault.system_code, 11);
        cr_assert_eq(fault.holder_pid, 0);
        cr_assert_str_eq(fault.text, "this and 3");
        cr_assert_eq(scn_fault_set(&fault, SCN_E_CORRUPT, 0, 0, "%s", long_text), SCN_E_CORRUPT);
        cr_assert_eq(strlen(fault.text), sizeof fault.text - 1);
        cr_assert_eq(scn_fault_set(NULL, SCN_E_BAD_NAME, 0, 0, "nobody listens"), SCN_E_BAD_NAME);
}

SCN_TEST(storage_fault, keeps_the_reason_though_the_name_is_long)
{
        char path[1000];

        for (size_t size = 150; size < sizeof path; size++) {
                struct scn_storage_fault fault = {0};
                memset(path, 'x', size);
                path[size] = '\0';
                cr_assert_eq(scn_fault_set_errno(&fault, ENOTDIR, "open", path), SCN_E_STORAGE_FAILED);
                cr_assert_not_null(strstr(fault.text, "xx: Not a directory"), "%zu", size);
                const size_t whole = strlen("cannot open : Not a directory") + size;
                cr_assert_eq(strlen(fault.text), whole < sizeof fault.text ? whole : sizeof fault.text - 1);
        }
}

SCN_TEST(storage_fault, tells_a_full_disk_from_a_broken_one)
{
        static const struct {
                int number;
                enum scn_error error;
        } rows[] = {{ENOSPC, SCN_E_STORAGE_FULL}, {EDQUOT, SCN_E_STORAGE_FULL}, {EFBIG, SCN_E_STORAGE_FULL},
                {ENOMEM, SCN_E_NO_MEMORY}, {EIO, SCN_E_STORAGE_FAILED}, {EACCES, SCN_E_STORAGE_FAILED},
                {9999, SCN_E_STORAGE_FAILED}};

        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                struct scn_storage_fault fault = {0};
                cr_assert_eq(scn_fault_set_errno(&fault, rows[i].number, "read", "it"), rows[i].error);
                cr_assert_eq(fault.system_code, rows[i].number);
                cr_assert_eq(strncmp(fault.text, "cannot read it: ", 16), 0);
        }
}
