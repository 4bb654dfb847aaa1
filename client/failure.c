/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "client/failure.h"

#include <string.h>

static struct scn_slice slice_of(const char *text)
{
        return (struct scn_slice){(const uint8_t *)text, (uint32_t)strlen(text)};
}

static void copy(char *to, size_t room, struct scn_slice text)
{
        size_t size = text.size < room ? text.size : room - 1;
        /* Not in the middle of a character. */
        while (size < text.size && size > 0 && (text.data[size] & 0xc0) == 0x80) {
                size--;
        }
        if (size > 0) {
                memcpy(to, text.data, size);
        }
        to[size] = '\0';
}

struct scn_failure scn_failure_told(struct scn_slice code, struct scn_slice text)
{
        struct scn_failure failure = {.has_op = false};
        copy(failure.code, sizeof failure.code, code);
        copy(failure.text, sizeof failure.text, text);
        return failure;
}

struct scn_failure scn_failure_of(const char *code, const char *text)
{
        return scn_failure_told(slice_of(code), slice_of(text));
}

struct scn_failure scn_failure_of_error(enum scn_error error)
{
        return scn_failure_of(scn_error_code(error), scn_error_text(error));
}
