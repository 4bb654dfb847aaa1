/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Printing, for people and for programs. */

#include "client/scenectl/ctl.h"
#include "protocol/base/uid.h"
#include "protocol/wire/pack.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* --- JSON lines --- */

void scn_ctl_begin_line(struct scn_ctl *ctl)
{
        scn_buffer_reset(&ctl->line);
        ctl->json = scn_json_to(&ctl->line);
        ctl->wants_comma = false;
        scn_json_put(&ctl->json, "{");
}

void scn_ctl_next(struct scn_ctl *ctl)
{
        if (ctl->wants_comma) {
                scn_json_put(&ctl->json, ",");
        }
        ctl->wants_comma = true;
}

void scn_ctl_key(struct scn_ctl *ctl, const char *key)
{
        scn_ctl_next(ctl);
        scn_json_put_cstring(&ctl->json, key);
        scn_json_put(&ctl->json, ":");
}

void scn_ctl_open_bracket(struct scn_ctl *ctl, const char *bracket)
{
        scn_json_put(&ctl->json, bracket);
        ctl->wants_comma = false;
}

void scn_ctl_close_bracket(struct scn_ctl *ctl, const char *bracket)
{
        scn_json_put(&ctl->json, bracket);
        ctl->wants_comma = true;
}

void scn_ctl_end_line(struct scn_ctl *ctl)
{
        scn_json_put(&ctl->json, "}\n");
        if (ctl->json.error != SCN_OK) {
                (void)fprintf(stderr, "scenectl: cannot be shown as JSON: %s\n", scn_error_text(ctl->json.error));
                ctl->code = SCN_CTL_REFUSED;
                return;
        }
        (void)fwrite(ctl->line.data, 1, ctl->line.size, stdout);
}

void scn_ctl_flush(struct scn_ctl *ctl)
{
        if ((fflush(stdout) != 0 || ferror(stdout) != 0) && ctl->code == SCN_CTL_OK) {
                (void)fprintf(stderr, "scenectl: standard output cannot be written\n");
                ctl->code = SCN_CTL_REFUSED;
                ctl->is_done = true;
        }
}

/* --- Values --- */

void scn_ctl_put_uid(struct scn_ctl *ctl, struct scn_uid uid)
{
        char text[SCN_UID_TEXT_LENGTH + 1];
        if (scn_uid_is_none(uid)) {
                scn_json_put(&ctl->json, "null");
                return;
        }
        scn_uid_format(uid, text);
        scn_json_put_cstring(&ctl->json, text);
}

void scn_ctl_put_name(struct scn_ctl *ctl, struct scn_slice name)
{
        if (name.data == NULL) {
                scn_json_put(&ctl->json, "null");
        } else {
                scn_json_put_text(&ctl->json, name);
        }
}

void scn_ctl_put_floats(struct scn_ctl *ctl, const float *floats, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                scn_json_put(&ctl->json, i == 0 ? "[" : ",");
                scn_json_put_float(&ctl->json, floats[i]);
        }
        scn_json_put(&ctl->json, "]");
}

void scn_ctl_put_hex(struct scn_ctl *ctl, struct scn_slice bytes)
{
        static const char digits[] = "0123456789abcdef";
        scn_json_put(&ctl->json, "\"");
        for (uint32_t i = 0; i < bytes.size; i++) {
                const char pair[3] = {digits[bytes.data[i] >> 4], digits[bytes.data[i] & 15], '\0'};
                scn_json_put(&ctl->json, pair);
        }
        scn_json_put(&ctl->json, "\"");
}

void scn_ctl_put_props(struct scn_ctl *ctl, struct scn_slice map)
{
        struct scn_unpacker unpacker = scn_unpacker_from(map);
        const uint32_t count = map.data == NULL ? 0 : scn_unpack_map(&unpacker);
        scn_ctl_open_bracket(ctl, "{");
        for (uint32_t i = 0; i < count && unpacker.error == SCN_OK; i++) {
                const struct scn_slice key = scn_unpack_text(&unpacker, UINT32_MAX);
                const struct scn_slice value = scn_unpack_raw(&unpacker);
                if (unpacker.error == SCN_OK) {
                        scn_ctl_next(ctl);
                        scn_json_put_text(&ctl->json, key);
                        scn_json_put(&ctl->json, ":");
                        scn_json_put_value(&ctl->json, value, SCN_JSON_TAGGED, NULL);
                }
        }
        scn_ctl_close_bracket(ctl, "}");
}

/* --- Bodies: maps and arrays of what the server says about itself --- */

/* A container that is being read. */
struct level {
        uint32_t left;
        bool is_map;
};

struct body {
        struct scn_ctl *ctl;
        struct scn_unpacker unpacker;
        struct level levels[SCN_PACK_LEVELS_MAX];
        uint32_t depth;
        bool is_digest; /* the key said so */
};

static void put_bin(struct body *body)
{
        const struct scn_slice bytes = scn_unpack_bin(&body->unpacker, UINT32_MAX);
        struct scn_uid uid;
        if (bytes.size == sizeof uid.bytes && !body->is_digest) {
                memcpy(uid.bytes, bytes.data, sizeof uid.bytes);
                scn_ctl_put_uid(body->ctl, uid);
        } else {
                scn_ctl_put_hex(body->ctl, bytes);
        }
}

static void open_level(struct body *body, bool is_map)
{
        const uint32_t count = is_map ? scn_unpack_map(&body->unpacker) : scn_unpack_array(&body->unpacker);
        if (body->depth == SCN_PACK_LEVELS_MAX) {
                body->unpacker.error = SCN_E_VALUE_TOO_DEEP;
                return;
        }
        body->levels[body->depth++] = (struct level){count, is_map};
        scn_ctl_open_bracket(body->ctl, is_map ? "{" : "[");
}

static void put_one(struct body *body)
{
        const enum scn_pack_kind kind = scn_unpack_kind(&body->unpacker);
        if (kind == SCN_PACK_MAP || kind == SCN_PACK_ARRAY) {
                open_level(body, kind == SCN_PACK_MAP);
        } else if (kind == SCN_PACK_BIN) {
                put_bin(body);
        } else {
                const struct scn_slice value = scn_unpack_raw(&body->unpacker);
                if (body->unpacker.error == SCN_OK) {
                        scn_json_put_value(&body->ctl->json, value, SCN_JSON_TAGGED, NULL);
                }
        }
}

static void put_key(struct body *body)
{
        const struct scn_slice key = scn_unpack_text(&body->unpacker, UINT32_MAX);
        if (body->unpacker.error == SCN_OK) {
                scn_json_put_text(&body->ctl->json, key);
                scn_json_put(&body->ctl->json, ":");
                body->is_digest = key.size == 6 && memcmp(key.data, "digest", 6) == 0;
        }
}

/* Until the levels opened from `base` on are closed. */
static void put_levels(struct body *body, uint32_t base)
{
        while (body->depth > base && body->unpacker.error == SCN_OK) {
                struct level *level = &body->levels[body->depth - 1];
                if (level->left == 0) {
                        body->depth--;
                        scn_ctl_close_bracket(body->ctl, level->is_map ? "}" : "]");
                        continue;
                }
                level->left--;
                scn_ctl_next(body->ctl);
                if (level->is_map) {
                        put_key(body);
                }
                put_one(body);
        }
}

void scn_ctl_put_members(struct scn_ctl *ctl, struct scn_slice map)
{
        struct body body = {.ctl = ctl, .unpacker = scn_unpacker_from(map)};
        const uint32_t count = scn_unpack_map(&body.unpacker);
        for (uint32_t i = 0; i < count && body.unpacker.error == SCN_OK; i++) {
                scn_ctl_next(ctl);
                put_key(&body);
                put_one(&body);
                put_levels(&body, 0);
        }
}

/* --- For people --- */

void scn_ctl_print(const char *format, ...)
{
        va_list arguments;
        va_start(arguments, format);
        (void)vprintf(format, arguments);
        va_end(arguments);
}

/* The next byte to show of a text; *at moves on. */
static char next_plain(struct scn_slice text, uint32_t *at)
{
        uint32_t character;
        const uint32_t control = scn_utf8_control_bytes(&text.data[*at], text.size - *at, &character);
        const char shown = control > 0 ? '.' : (char)text.data[*at];
        *at += control > 1 ? control : 1;
        return shown;
}

static void print_plain(FILE *stream, struct scn_slice text)
{
        for (uint32_t at = 0; at < text.size;) {
                (void)putc(next_plain(text, &at), stream);
        }
}

void scn_ctl_print_text(struct scn_slice text)
{
        print_plain(stdout, text);
}

void scn_ctl_complain(struct scn_slice text)
{
        print_plain(stderr, text);
}

void scn_ctl_put_plain(struct scn_ctl *ctl, struct scn_slice text)
{
        for (uint32_t at = 0; at < text.size;) {
                const char shown[2] = {next_plain(text, &at), '\0'};
                scn_json_put(&ctl->json, shown);
        }
}

void scn_ctl_print_cstring(const char *text)
{
        scn_ctl_print_text((struct scn_slice){(const uint8_t *)text, (uint32_t)strlen(text)});
}

void scn_ctl_print_uid(struct scn_uid uid)
{
        char text[SCN_UID_TEXT_LENGTH + 1];
        scn_uid_format(uid, text);
        (void)fputs(text, stdout);
}

/* As many digits as read back to the same bits, as in JSON. */
void scn_ctl_print_floats(const char *name, const float *floats, uint32_t count)
{
        struct scn_buffer buffer;
        scn_buffer_init(&buffer, 4096);
        struct scn_json json = scn_json_to(&buffer);
        scn_json_put(&json, name);
        for (uint32_t i = 0; i < count; i++) {
                scn_json_put(&json, i == 0 && name[0] == '\0' ? "" : " ");
                scn_json_put_float(&json, floats[i]);
        }
        (void)fwrite(buffer.data, 1, buffer.size, stdout);
        scn_buffer_finish(&buffer);
}

/* Members that are microseconds since 1970. */
static bool is_time(struct scn_slice key)
{
        static const char *const words[] = {"time", "folded_at"};
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
                if (key.size == strlen(words[i]) && memcmp(key.data, words[i], key.size) == 0) {
                        return true;
                }
        }
        return false;
}

static void print_hex(struct scn_slice bytes)
{
        for (uint32_t i = 0; i < bytes.size; i++) {
                scn_ctl_print("%02x", bytes.data[i]);
        }
}

static bool is_named(struct scn_slice key, const char *name)
{
        return key.size == strlen(name) && memcmp(key.data, name, key.size) == 0;
}

bool scn_ctl_find_member(struct scn_slice map, const char *name, struct scn_unpacker *unpacker_out)
{
        *unpacker_out = scn_unpacker_from(map);
        for (uint32_t left = map.data == NULL ? 0 : scn_unpack_map(unpacker_out); left > 0; left--) {
                const struct scn_slice key = scn_unpack_text(unpacker_out, UINT32_MAX);
                if (unpacker_out->error == SCN_OK && is_named(key, name)) {
                        return true;
                }
                (void)scn_unpack_raw(unpacker_out);
                if (unpacker_out->error != SCN_OK) {
                        return false;
                }
        }
        return false;
}

/* Each value as JSON says it, digests and texts without quotation marks and times as dates. */
void scn_ctl_print_members(struct scn_slice map, const char *separator)
{
        const char *const none[] = {NULL};
        scn_ctl_print_members_but(map, separator, none);
}

static bool is_among(struct scn_slice key, const char *const *names)
{
        while (*names != NULL && !is_named(key, *names)) {
                names++;
        }
        return *names != NULL;
}

void scn_ctl_print_members_but(struct scn_slice map, const char *separator, const char *const *but)
{
        struct scn_unpacker unpacker = scn_unpacker_from(map);
        const char *between = "";
        const uint32_t count = scn_unpack_map(&unpacker);
        for (uint32_t i = 0; i < count && unpacker.error == SCN_OK; i++) {
                const struct scn_slice key = scn_unpack_text(&unpacker, UINT32_MAX);
                struct scn_unpacker value = unpacker;
                (void)scn_unpack_raw(&unpacker);
                if (unpacker.error != SCN_OK) {
                        return;
                }
                if (is_among(key, but)) {
                        continue;
                }
                (void)fputs(between, stdout);
                between = separator;
                scn_ctl_print_text(key);
                (void)fputs(": ", stdout);
                if (scn_unpack_kind(&value) == SCN_PACK_TEXT) {
                        scn_ctl_print_text(scn_unpack_text(&value, UINT32_MAX));
                        continue;
                }
                if (is_time(key)) {
                        scn_ctl_print_time(scn_unpack_uint(&value, UINT64_MAX));
                        continue;
                }
                if (key.size == 6 && memcmp(key.data, "digest", 6) == 0) {
                        print_hex(scn_unpack_bin(&value, UINT32_MAX));
                        continue;
                }
                struct scn_ctl scratch;
                scn_ctl_init(&scratch);
                struct body body = {.ctl = &scratch, .unpacker = value};
                put_one(&body);
                put_levels(&body, 0);
                scn_ctl_print_text((struct scn_slice){scratch.line.data, (uint32_t)scratch.line.size});
                scn_ctl_finish(&scratch);
        }
}

void scn_ctl_print_time(uint64_t time_us)
{
        const time_t seconds = (time_t)(time_us / 1000000);
        struct tm parts;
        char text[32];
        if (gmtime_r(&seconds, &parts) == NULL || strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts) == 0) {
                scn_ctl_print("%llu", (unsigned long long)time_us);
                return;
        }
        scn_ctl_print("%s.%06uZ", text, (unsigned)(time_us % 1000000));
}
