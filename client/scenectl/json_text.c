/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/json_text.h"

#include "protocol/base/assert.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Any of our numbers, with room to spare. */
#define NUMBER_BYTES_MAX 64

/* Digits that suffice to tell every float32 (float64) from its neighbours. */
#define FLOAT_DIGITS_MAX 9
#define DOUBLE_DIGITS_MAX 17
/* Digits that every decimal number keeps in a float64: with fewer there is nothing to try. */
#define DOUBLE_DIGITS_MIN 15

#define UTF8_BYTES_MAX 4
/* U+FFFD, for what is no character. */
#define REPLACEMENT "\xef\xbf\xbd"

static void append(struct scn_json *json, const void *bytes, size_t size)
{
        if (json->error == SCN_OK)
                json->error = scn_buffer_append(json->buffer, bytes, size);
}

void scn_json_put(struct scn_json *json, const char *text)
{
        append(json, text, strlen(text));
}

/* --- Numbers --- */

/* Writes the digits that end at `end`; returns where they begin. */
static char *digits_before(char *end, uint64_t value, int digits_min)
{
        do {
                *--end = (char)('0' + value % 10);
                value /= 10;
                digits_min--;
        } while (value != 0 || digits_min > 0);
        return end;
}

void scn_json_put_uint(struct scn_json *json, uint64_t value)
{
        char text[NUMBER_BYTES_MAX];
        const char *begin = digits_before(text + sizeof text, value, 1);
        append(json, begin, (size_t)(text + sizeof text - begin));
}

void scn_json_put_int(struct scn_json *json, int64_t value)
{
        if (value < 0)
                scn_json_put(json, "-");
        scn_json_put_uint(json, value < 0 ? UINT64_C(0) - (uint64_t)value : (uint64_t)value);
}

/* A float that is `digits` / 10^`places` for a reader. Both are exact as doubles and a division rounds once, so
 * this is the very number that reading the decimal digits gives, at a fraction of the cost. */
static bool find_decimal(float value, uint64_t *digits_out, int *places_out)
{
        static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13};
        const double magnitude = value;

        if (magnitude < 1e-5 || magnitude >= 1e9)
                return false;
        for (int places = 0; places < (int)(sizeof powers / sizeof *powers); places++) {
                const double digits = floor(magnitude * powers[places] + 0.5);
                if ((float)(digits / powers[places]) == value) {
                        *digits_out = (uint64_t)digits;
                        *places_out = places;
                        return true;
                }
        }
        return false;
}

static void put_decimal(struct scn_json *json, uint64_t digits, int places)
{
        char text[NUMBER_BYTES_MAX];
        char *const end = text + sizeof text;
        char *begin = digits_before(end, digits, places + 1);

        if (places > 0) {
                char *point = end - places - 1;
                memmove(begin - 1, begin, (size_t)(point + 1 - begin));
                *point = '.';
                begin--;
        }
        append(json, begin, (size_t)(end - begin));
}

/* The C library writes the locale's decimal point, which may have several bytes. */
static void put_localised(struct scn_json *json, const char *text, bool needs_point)
{
        char clean[NUMBER_BYTES_MAX];
        size_t size = 0;
        bool is_point = false;

        for (; *text != '\0' && size < sizeof clean - 2; text++) {
                const bool was_point = is_point;
                is_point = strchr("+-0123456789e", *text) == NULL;
                needs_point = needs_point && !is_point && *text != 'e';
                if (!is_point || !was_point)
                        clean[size++] = is_point ? '.' : *text;
        }
        append(json, clean, size);
        if (needs_point)
                scn_json_put(json, ".0");
}

void scn_json_put_float(struct scn_json *json, float value)
{
        uint64_t digits;
        int places;
        char text[NUMBER_BYTES_MAX];

        if (!isfinite(value)) {
                json->error = json->error == SCN_OK ? SCN_E_NOT_FINITE : json->error;
        } else if (value == 0.0f) {
                scn_json_put(json, signbit(value) ? "-0.0" : "0");
        } else if (find_decimal(fabsf(value), &digits, &places)) {
                scn_json_put(json, value < 0.0f ? "-" : "");
                put_decimal(json, digits, places);
        } else {
                for (int count = 1; count <= FLOAT_DIGITS_MAX; count++) {
                        (void)snprintf(text, sizeof text, "%.*g", count, (double)value);
                        if ((float)strtod(text, NULL) == value)
                                break;
                }
                put_localised(json, text, false);
        }
}

void scn_json_put_double(struct scn_json *json, double value)
{
        char text[NUMBER_BYTES_MAX];

        if (!isfinite(value)) {
                json->error = json->error == SCN_OK ? SCN_E_NOT_FINITE : json->error;
                return;
        }
        for (int count = DOUBLE_DIGITS_MIN; count <= DOUBLE_DIGITS_MAX; count++) {
                (void)snprintf(text, sizeof text, "%.*g", count, value);
                if (strtod(text, NULL) == value)
                        break;
        }
        put_localised(json, text, true);
}

/* --- Text --- */

static void put_escaped(struct scn_json *json, uint32_t character)
{
        char text[8];

        switch (character) {
        case '"':
                scn_json_put(json, "\\\"");
                break;
        case '\\':
                scn_json_put(json, "\\\\");
                break;
        case '\n':
                scn_json_put(json, "\\n");
                break;
        case '\t':
                scn_json_put(json, "\\t");
                break;
        default:
                (void)snprintf(text, sizeof text, "\\u%04x", character & 0xffffu);
                scn_json_put(json, text);
        }
}

/* What stands between the quotation marks. */
static void put_content(struct scn_json *json, struct scn_slice text)
{
        uint32_t begin = 0;

        for (uint32_t i = 0; i < text.size; i++) {
                uint32_t character;
                const uint32_t control = scn_utf8_control_bytes(text.data + i, text.size - i, &character);
                if (control == 0 && text.data[i] != '"' && text.data[i] != '\\')
                        continue;
                append(json, text.data + begin, i - begin);
                put_escaped(json, control > 0 ? character : text.data[i]);
                i += control > 0 ? control - 1 : 0;
                begin = i + 1;
        }
        append(json, text.data + begin, text.size - begin);
}

void scn_json_put_text(struct scn_json *json, struct scn_slice text)
{
        SCN_ASSERT(text.data != NULL);
        if (!scn_utf8_is_valid(text.data, text.size)) {
                json->error = json->error == SCN_OK ? SCN_E_BAD_UTF8 : json->error;
                return;
        }
        scn_json_put(json, "\"");
        put_content(json, text);
        scn_json_put(json, "\"");
}

/* Bytes of the character that stands here, 0 if none does. */
static uint32_t character_bytes(const uint8_t *at, size_t left)
{
        for (uint32_t size = 1; size <= UTF8_BYTES_MAX && size <= left; size++) {
                if (scn_utf8_is_valid(at, size))
                        return size;
        }
        return 0;
}

/* Character by character: few texts need it. */
static void put_mended(struct scn_json *json, const uint8_t *at, size_t left)
{
        scn_json_put(json, "\"");
        while (left > 0) {
                const uint32_t size = character_bytes(at, left);
                if (size > 0)
                        put_content(json, (struct scn_slice){at, size});
                else
                        scn_json_put(json, REPLACEMENT);
                at += size > 0 ? size : 1;
                left -= size > 0 ? size : 1;
        }
        scn_json_put(json, "\"");
}

void scn_json_put_cstring(struct scn_json *json, const char *text)
{
        const size_t size = strlen(text);
        SCN_ASSERT(size <= UINT32_MAX);
        const struct scn_slice slice = {(const uint8_t *)text, (uint32_t)size};
        if (scn_utf8_is_valid(slice.data, slice.size))
                scn_json_put_text(json, slice);
        else
                put_mended(json, slice.data, slice.size);
}
