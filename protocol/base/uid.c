/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/base/uid.h"

/* Bytes after which the text form has a hyphen: 8-4-4-4-12 digits. */
#define HYPHENS_AFTER ((1u << 3) | (1u << 5) | (1u << 7) | (1u << 9))

static bool has_hyphen_after(size_t byte)
{
        return (HYPHENS_AFTER >> byte & 1u) != 0;
}

void scn_uid_format(struct scn_uid uid, char text_out[SCN_UID_TEXT_LENGTH + 1])
{
        static const char digits[] = "0123456789abcdef";
        char *at = text_out;

        for (size_t i = 0; i < sizeof uid.bytes; i++) {
                *at++ = digits[uid.bytes[i] >> 4];
                *at++ = digits[uid.bytes[i] & 15];
                if (has_hyphen_after(i))
                        *at++ = '-';
        }
        *at = '\0';
}

/* -1 if it is not a digit. */
static int hex_value(char digit)
{
        if (digit >= '0' && digit <= '9')
                return digit - '0';
        if (digit >= 'a' && digit <= 'f')
                return digit - 'a' + 10;
        if (digit >= 'A' && digit <= 'F')
                return digit - 'A' + 10;
        return -1;
}

bool scn_uid_parse(const char *text, size_t size, struct scn_uid *uid_out)
{
        struct scn_uid uid;

        if (size != SCN_UID_TEXT_LENGTH)
                return false;
        for (size_t i = 0; i < sizeof uid.bytes; i++) {
                int high = hex_value(*text++);
                int low = hex_value(*text++);
                if (high < 0 || low < 0)
                        return false;
                uid.bytes[i] = (uint8_t)(high << 4 | low);
                if (has_hyphen_after(i) && *text++ != '-')
                        return false;
        }
        *uid_out = uid;
        return true;
}

struct scn_uid scn_uid_from_random(const uint8_t random[16])
{
        struct scn_uid uid;

        memcpy(uid.bytes, random, sizeof uid.bytes);
        uid.bytes[6] = (uint8_t)((uid.bytes[6] & 0x0f) | 0x40);
        uid.bytes[8] = (uint8_t)((uid.bytes[8] & 0x3f) | 0x80);
        return uid;
}
