/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* strerrordesc_np() */
#include "storage/fault.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum scn_error scn_fault_set(struct scn_storage_fault *fault, enum scn_error error, scn_revision revision,
        int system_code, const char *format, ...)
{
        if (fault == NULL)
                return error;
        *fault = (struct scn_storage_fault){.revision = revision, .system_code = system_code};

        va_list arguments;
        va_start(arguments, format);
        vsnprintf(fault->text, sizeof fault->text, format, arguments);
        va_end(arguments);
        return error;
}

static enum scn_error map_errno(int error_number)
{
        switch (error_number) {
        case ENOSPC:
        case EDQUOT:
        case EFBIG:
                return SCN_E_STORAGE_FULL;
        case ENOMEM:
                return SCN_E_NO_MEMORY;
        default:
                return SCN_E_STORAGE_FAILED;
        }
}

enum scn_error scn_fault_set_errno(
        struct scn_storage_fault *fault, int error_number, const char *verb, const char *what)
{
        /* strerror() may use a buffer that another thread writes to. */
        const char *reason = strerrordesc_np(error_number);

        if (reason == NULL)
                reason = "unknown error";
        /* A path can be longer than the text; the reason must not be cut off by it. */
        const size_t taken = sizeof "cannot  : " + strlen(verb) + strlen(reason);
        const int room = taken < sizeof fault->text ? (int)(sizeof fault->text - taken) : 0;
        return scn_fault_set(
                fault, map_errno(error_number), 0, error_number, "cannot %s %.*s: %s", verb, room, what, reason);
}

enum scn_error scn_storage_fail_future(struct scn_storage_fault *fault, scn_revision revision, scn_revision last)
{
        return scn_fault_set(fault, SCN_E_FUTURE, revision, 0, "the last revision is %llu", (unsigned long long)last);
}
