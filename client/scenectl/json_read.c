/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/json_read.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"

#include <ctype.h>
#include <locale.h>
#include <string.h>

/* --- Pieces --- */

static void skip_space(struct scn_json_skim *skim)
{
        while (skim->at < skim->end &&
                (*skim->at == ' ' || *skim->at == '\n' || *skim->at == '\r' || *skim->at == '\t'))
                skim->at++;
}

static bool fail(struct scn_json_skim *skim, const char *fault)
{
        skim->fault = skim->at == skim->end ? "the text ends too soon" : fault;
        return false;
}

static bool take(struct scn_json_skim *skim, uint8_t byte, const char *fault)
{
        skip_space(skim);
        if (skim->at == skim->end || *skim->at != byte)
                return fail(skim, fault);
        skim->at++;
        return true;
}

struct scn_json_skim scn_json_skim_from(struct scn_slice text, char opening)
{
        struct scn_json_skim skim = {.at = text.data, .end = text.data + text.size};

        SCN_ASSERT(text.data != NULL);
        skim.closing = opening == '{' ? '}' : ']';
        (void)take(
                &skim, (uint8_t)opening, opening == '{' ? "an object should begin here" : "an array should begin here");
        return skim;
}

/* Stands at the quotation mark that begins it. */
static bool skip_text(struct scn_json_skim *skim)
{
        for (skim->at++; skim->at < skim->end; skim->at++) {
                if (*skim->at == '"') {
                        skim->at++;
                        return true;
                }
                if (*skim->at == '\\' && ++skim->at == skim->end)
                        break;
        }
        return fail(skim, "");
}

/* Stands at a bracket. Of each that is open a bit says whether it was a brace. */
static bool skip_brackets(struct scn_json_skim *skim)
{
        uint8_t braces[SCN_JSON_NESTING_MAX / 8] = {0};
        uint32_t depth = 0;

        do {
                const uint8_t byte = *skim->at;
                const uint32_t top = depth - 1;
                if (byte == '"') {
                        if (!skip_text(skim))
                                return false;
                        continue;
                }
                if (byte == '{' || byte == '[') {
                        if (depth == SCN_JSON_NESTING_MAX)
                                return fail(skim, "brackets are nested too deep");
                        const uint8_t bit = (uint8_t)(1u << depth % 8);
                        braces[depth / 8] = (uint8_t)((braces[depth / 8] & ~bit) | (byte == '{' ? bit : 0));
                        depth++;
                } else if (byte == '}' || byte == ']') {
                        if ((braces[top / 8] >> top % 8 & 1) != (byte == '}'))
                                return fail(skim, "the bracket does not fit the one that it closes");
                        depth--;
                }
                skim->at++;
        } while (depth > 0 && skim->at < skim->end);
        return depth == 0 || fail(skim, "");
}

static bool is_scalar_byte(uint8_t byte)
{
        return byte > ' ' && strchr(",:{}[]\"", byte) == NULL;
}

static bool skip_value(struct scn_json_skim *skim)
{
        const uint8_t *begin = skim->at;

        if (skim->at < skim->end && *skim->at == '"')
                return skip_text(skim);
        if (skim->at < skim->end && (*skim->at == '{' || *skim->at == '['))
                return skip_brackets(skim);
        while (skim->at < skim->end && is_scalar_byte(*skim->at))
                skim->at++;
        return skim->at > begin || fail(skim, "a value should be here");
}

static struct scn_slice slice_to(const struct scn_json_skim *skim, const uint8_t *begin)
{
        return (struct scn_slice){begin, (uint32_t)(skim->at - begin)};
}

bool scn_json_skim_next(struct scn_json_skim *skim, struct scn_slice *key_out, struct scn_slice *value_out)
{
        const uint8_t *begin;

        if (skim->fault != NULL)
                return false;
        skip_space(skim);
        if (skim->at < skim->end && *skim->at == skim->closing) {
                skim->at++;
                skip_space(skim);
                if (skim->at < skim->end)
                        (void)fail(skim, "something follows the end");
                return false;
        }
        if (skim->has_begun && !take(skim, ',', "a comma or the closing bracket should be here"))
                return false;
        skim->has_begun = true;
        skip_space(skim);
        if (skim->closing == '}') {
                begin = skim->at;
                if (skim->at == skim->end || *skim->at != '"')
                        return fail(skim, "a key should be here");
                if (!skip_text(skim))
                        return false;
                *key_out = slice_to(skim, begin);
                if (!take(skim, ':', "a colon should be here"))
                        return false;
                skip_space(skim);
        }
        begin = skim->at;
        if (!skip_value(skim))
                return false;
        *value_out = slice_to(skim, begin);
        return true;
}

/* --- Keys --- */

/* Takes the character that \uXXXX stands for; -1: it is no such escape. */
static int take_escape(const uint8_t **at, const uint8_t *end)
{
        const uint8_t *digits = *at + 2;
        int code = 0;

        if (end - *at < 6 || (*at)[1] != 'u')
                return -1;
        for (int i = 0; i < 4; i++) {
                const int lower = tolower(digits[i]);
                if (!isxdigit(digits[i]))
                        return -1;
                code = 16 * code + (lower >= 'a' ? lower - 'a' + 10 : lower - '0');
        }
        *at += 6;
        return code;
}

bool scn_json_is_key(struct scn_slice key, const char *word)
{
        SCN_ASSERT(key.size >= 2);
        const uint8_t *at = key.data + 1;
        const uint8_t *end = key.data + key.size - 1;

        for (; *word != '\0'; word++) {
                if (at == end || (*at == '\\' ? take_escape(&at, end) : *at++) != (uint8_t)*word)
                        return false;
        }
        return at == end;
}

/* --- Integers --- */

#define INT64_DIGITS 19

static bool is_digit(uint8_t byte)
{
        return byte >= '0' && byte <= '9';
}

static bool is_odd_integer(const uint8_t *at, size_t size)
{
        const bool is_negative = at[0] == '-';
        const uint8_t *digits = at + is_negative;
        const size_t count = size - is_negative;

        for (size_t i = 0; i < count; i++) {
                if (!is_digit(digits[i]))
                        return false;
        }
        if (count == 1)
                return is_negative && digits[0] == '0';
        if (count != INT64_DIGITS)
                return count > INT64_DIGITS;
        return memcmp(digits, is_negative ? "9223372036854775808" : "9223372036854775807", INT64_DIGITS) > 0;
}

/* Texts are not told from numbers: a text that looks so costs nothing but time. */
bool scn_json_has_odd_integer(struct scn_slice text)
{
        uint32_t digits = 0;

        for (uint32_t i = 0; i < text.size; i++) {
                digits = is_digit(text.data[i]) ? digits + 1 : 0;
                if (digits == INT64_DIGITS)
                        return true;
                if (text.data[i] == '-' && i + 1 < text.size && text.data[i + 1] == '0' &&
                        (i + 2 == text.size || strchr(".eE", text.data[i + 2]) == NULL))
                        return true;
        }
        return false;
}

enum scn_error scn_json_mend_integers(struct scn_slice text, struct scn_buffer *mended)
{
        struct scn_json_skim skim = {.at = text.data, .end = text.data + text.size};
        const uint8_t *begin = text.data;
        enum scn_error error = SCN_OK;

        while (skim.at < skim.end && error == SCN_OK) {
                const uint8_t *number = skim.at;
                if (*number == '"') {
                        (void)skip_text(&skim);
                        continue;
                }
                while (skim.at < skim.end && (is_digit(*skim.at) || strchr("+-.eE", *skim.at) != NULL) &&
                        *skim.at != '\0')
                        skim.at++;
                if (skim.at == number) {
                        skim.at++;
                } else if (is_odd_integer(number, (size_t)(skim.at - number))) {
                        error = scn_buffer_append(mended, begin, (size_t)(skim.at - begin));
                        if (error == SCN_OK)
                                error = scn_buffer_append(mended, ".0", 2);
                        begin = skim.at;
                }
        }
        return error == SCN_OK ? scn_buffer_append(mended, begin, (size_t)(skim.end - begin)) : error;
}

/* --- jansson --- */

/* jansson does not look whether it could keep each character that it read. */
static _Thread_local bool is_out_of_memory;

static void *allocate(size_t size)
{
        void *block = scn_alloc(size);
        is_out_of_memory = is_out_of_memory || block == NULL;
        return block;
}

json_t *scn_json_load(struct scn_slice text, size_t flags, json_error_t *error_out, bool *is_out_of_memory_out)
{
        is_out_of_memory = false;
        json_set_alloc_funcs(allocate, scn_free);
        json_t *value = json_loadb((const char *)text.data, text.size,
                JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY | flags, error_out);
        *is_out_of_memory_out = is_out_of_memory;
        if (!is_out_of_memory)
                return value;
        json_decref(value);
        return NULL;
}

static _Thread_local locale_t locale_before;

void scn_json_enter_locale(void)
{
        locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        SCN_ASSERT(plain != (locale_t)0); /* the C library has this one built in */
        locale_before = uselocale(plain);
}

void scn_json_leave_locale(void)
{
        freelocale(uselocale(locale_before));
}
