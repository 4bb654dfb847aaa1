/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/base64.h"

#include "protocol/base/assert.h"

#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void scn_base64_encode(const uint8_t *bytes, uint32_t count, char text_out[5])
{
        SCN_ASSERT(count >= 1 && count <= 3);
        const uint32_t bits =
                (uint32_t)bytes[0] << 16 | (count > 1 ? (uint32_t)bytes[1] << 8 : 0) | (count > 2 ? bytes[2] : 0u);
        for (uint32_t i = 0; i < 4; i++)
                text_out[i] = i <= count ? alphabet[bits >> (18 - 6 * i) & 63] : '=';
        text_out[4] = '\0';
}

/* The six bits of a character, or 64. */
static uint32_t bits_of(char c)
{
        const char *at = c != '\0' ? strchr(alphabet, c) : NULL;
        return at != NULL ? (uint32_t)(at - alphabet) : 64;
}

uint32_t scn_base64_count(const char *text, size_t size)
{
        if (size % 4 != 0 || size / 4 * 3 >= SCN_BASE64_BAD)
                return SCN_BASE64_BAD;
        if (size == 0)
                return 0;
        const uint32_t padding = text[size - 1] != '=' ? 0u : text[size - 2] != '=' ? 1u : 2u;
        for (size_t i = 0; i < size - padding; i++) {
                if (bits_of(text[i]) == 64)
                        return SCN_BASE64_BAD;
        }
        /* The last character before the padding has bits that belong to no byte. */
        const uint32_t loose = (1u << 2 * padding) - 1;
        if ((bits_of(text[size - padding - 1]) & loose) != 0)
                return SCN_BASE64_BAD;
        return (uint32_t)(size / 4 * 3) - padding;
}

void scn_base64_decode(const char *text, size_t size, uint8_t *bytes_out)
{
        for (size_t i = 0; i < size; i += 4) {
                uint32_t bits = 0;
                for (size_t k = 0; k < 4; k++)
                        bits = bits << 6 | (bits_of(text[i + k]) & 63);
                const size_t count = text[i + 2] == '=' ? 1 : text[i + 3] == '=' ? 2 : 3;
                for (size_t k = 0; k < count; k++)
                        *bytes_out++ = (uint8_t)(bits >> (16 - 8 * k));
        }
}
