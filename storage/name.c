/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "storage/name.h"

#include "protocol/base/assert.h"
#include "protocol/base/bytes.h"
#include "storage/fault.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

SCN_STATIC_ASSERT(SCN_STORAGE_FILE_NAME_SIZE <= 256, "the longest file name fits every file system");

static bool is_escaped(uint8_t byte, size_t at)
{
        if (byte < 0x20 || byte == 0x7f || (byte == '.' && at == 0))
                return true;
        return strchr("%/\\:*?\"<>|", byte) != NULL;
}

/* Returns how many bytes were written, or 0 if the name is none. */
static size_t encode(struct scn_slice name, char *out, size_t size_max)
{
        static const char digits[] = "0123456789ABCDEF";
        size_t size = 0;

        if (name.size == 0 || !scn_utf8_is_valid(name.data, name.size))
                return 0;
        for (size_t i = 0; i < name.size; i++) {
                const uint8_t byte = name.data[i];
                const bool is_long = is_escaped(byte, i);
                if (byte == 0 || size + (is_long ? 3 : 1) > size_max)
                        return 0;
                if (is_long) {
                        out[size++] = '%';
                        out[size++] = digits[byte >> 4];
                        out[size++] = digits[byte & 15];
                } else {
                        out[size++] = (char)byte;
                }
        }
        return size;
}

static enum scn_error name_fault(struct scn_storage_fault *fault)
{
        return scn_fault_set(fault, SCN_E_BAD_NAME, 0, 0,
                "a document name is UTF-8 without NUL, and 1 to %d bytes as a file name",
                SCN_STORAGE_FILE_NAME_BYTES_MAX);
}

enum scn_error scn_storage_name_to_file(
        struct scn_slice name, struct scn_storage_file_name *file_out, struct scn_storage_fault *fault)
{
        const size_t size = encode(name, file_out->text, SCN_STORAGE_FILE_NAME_BYTES_MAX);

        if (size == 0)
                return name_fault(fault);
        memcpy(file_out->text + size, SCN_STORAGE_SUFFIX, SCN_STORAGE_SUFFIX_BYTES + 1);
        return SCN_OK;
}

enum scn_error scn_storage_name_to_trash(
        struct scn_slice name, int64_t time_us, struct scn_storage_file_name *file_out, struct scn_storage_fault *fault)
{
        SCN_ASSERT(time_us >= 0);
        const size_t size = encode(name, file_out->text, SCN_STORAGE_FILE_NAME_BYTES_MAX);

        if (size == 0)
                return name_fault(fault);
        snprintf(file_out->text + size, sizeof file_out->text - size, ".%" PRId64 SCN_STORAGE_SUFFIX, time_us);
        return SCN_OK;
}

static int hex_value(char digit)
{
        if (digit >= '0' && digit <= '9')
                return digit - '0';
        return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

/* The way back. What encode() would have written differently was not written by it. */
static bool decode(const char *text, size_t size, struct scn_storage_name *name)
{
        char again[SCN_STORAGE_FILE_NAME_BYTES_MAX];

        if (size == 0 || size > SCN_STORAGE_FILE_NAME_BYTES_MAX)
                return false;
        name->size = 0;
        for (size_t i = 0; i < size; i++) {
                uint8_t byte = (uint8_t)text[i];
                if (byte == '%') {
                        if (size - i < 3 || hex_value(text[i + 1]) < 0 || hex_value(text[i + 2]) < 0)
                                return false;
                        byte = (uint8_t)(hex_value(text[i + 1]) << 4 | hex_value(text[i + 2]));
                        i += 2;
                }
                name->bytes[name->size++] = byte;
        }
        const struct scn_slice decoded = {name->bytes, name->size};
        return encode(decoded, again, sizeof again) == size && memcmp(again, text, size) == 0;
}

/* Takes ".1234" off the end of the text: canonical decimal, at most INT64_MAX. */
static bool take_time(const char *text, size_t *size, int64_t *time_us)
{
        size_t at = *size;
        uint64_t value = 0;

        while (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9')
                at--;
        const size_t digits = *size - at;
        if (at == 0 || text[at - 1] != '.' || digits == 0 || digits >= SCN_STORAGE_TRASH_BYTES_MAX ||
                (digits > 1 && text[at] == '0'))
                return false;
        for (size_t i = at; i < *size; i++)
                value = value * 10 + (uint64_t)(text[i] - '0'); /* 19 digits fit */
        if (value > INT64_MAX)
                return false;
        *time_us = (int64_t)value;
        *size = at - 1;
        return true;
}

bool scn_storage_name_from_file(const char *file, enum scn_storage_place place, struct scn_storage_name *name_out)
{
        size_t size = strlen(file);

        name_out->time_us = 0;
        if (size <= SCN_STORAGE_SUFFIX_BYTES)
                return false;
        size -= SCN_STORAGE_SUFFIX_BYTES;
        if (memcmp(file + size, SCN_STORAGE_SUFFIX, SCN_STORAGE_SUFFIX_BYTES) != 0)
                return false;
        if (place == SCN_STORAGE_TRASH && !take_time(file, &size, &name_out->time_us))
                return false;
        return decode(file, size, name_out);
}
