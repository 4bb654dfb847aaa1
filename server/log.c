/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _POSIX_C_SOURCE 200809L /* gmtime_r */

#include "server/log.h"

#include "protocol/base/assert.h"
#include "protocol/base/bytes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A piece of text escaped at its longest: six bytes for one. */
#define PIECE_BYTES_MAX 24u
/* What must still fit behind a text that was cut. */
#define TAIL_BYTES_MAX 16u
#define OTHER_KIND "other"

struct line {
        char bytes[SCN_LOG_LINE_BYTES];
        size_t size;
};

void scn_log_init(struct scn_log *log, const struct scn_log_options *options)
{
        SCN_ASSERT(options->write != NULL);
        *log = (struct scn_log){.options = *options};
}

/* ---------------------------------------------------------------- escaping */

static void add(struct line *line, const void *bytes, size_t size)
{
        SCN_ASSERT(size <= sizeof line->bytes - line->size);
        memcpy(line->bytes + line->size, bytes, size);
        line->size += size;
}

static void add_format(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add_format(struct line *line, const char *format, ...)
{
        va_list arguments;

        va_start(arguments, format);
        int size = vsnprintf(line->bytes + line->size, sizeof line->bytes - line->size, format, arguments);
        va_end(arguments);
        SCN_ASSERT(size >= 0 && (size_t)size < sizeof line->bytes - line->size);
        line->size += (size_t)size;
}

/* The size of the UTF-8 form at the start of the bytes; 0 if none begins there. */
static size_t form_size(const uint8_t *bytes, size_t size)
{
        for (size_t length = 1; length <= 4 && length <= size; length++)
                if (scn_utf8_is_valid(bytes, length))
                        return length;
        return 0;
}

/* Returns how many bytes of the text that was. */
static size_t add_piece(struct line *line, enum scn_log_format format, const uint8_t *text, size_t size)
{
        const size_t form = form_size(text, size);
        const bool is_json = format == SCN_LOG_FORMAT_JSON;
        uint32_t character;

        if (form == 0) {
                if (is_json)
                        add_format(line, "\\ufffd");
                else
                        add_format(line, "\\x%02x", text[0]);
                return 1;
        }
        if (scn_utf8_control_bytes(text, form, &character) > 0)
                add_format(line, is_json ? "\\u%04" PRIx32 : "\\u{%" PRIx32 "}", character);
        else if (text[0] == '\\' || (is_json && text[0] == '"'))
                add_format(line, "\\%c", text[0]);
        else
                add(line, text, form);
        return form;
}

static void add_escaped(struct line *line, enum scn_log_format format, const char *text)
{
        size_t size = strlen(text);

        while (size > 0) {
                if (sizeof line->bytes - line->size < PIECE_BYTES_MAX + TAIL_BYTES_MAX) {
                        add(line, "...", 3);
                        return;
                }
                size_t used = add_piece(line, format, (const uint8_t *)text, size);
                text += used;
                size -= used;
        }
}

/* ------------------------------------------------------------------- lines */

static const char *level_name(enum scn_log_level level)
{
        switch (level) {
        case SCN_LOG_ERROR:
                return "error";
        case SCN_LOG_WARNING:
                return "warning";
        case SCN_LOG_INFO:
                return "info";
        case SCN_LOG_DEBUG:
                return "debug";
        }
        return "unknown";
}

static void add_time(struct line *line, uint64_t utc_us)
{
        time_t seconds = (time_t)(utc_us / 1000000u);
        struct tm parts = {0};

        (void)gmtime_r(&seconds, &parts);
        add_format(line, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                parts.tm_hour, parts.tm_min, parts.tm_sec, (int)(utc_us / 1000u % 1000u));
}

static void emit(struct scn_log *log, enum scn_log_level level, const char *kind, const char *text)
{
        struct line line = {.size = 0};
        enum scn_log_format format = log->options.format;
        bool is_json = format == SCN_LOG_FORMAT_JSON;

        if (is_json)
                add_format(&line, "{\"time\":\"");
        add_time(&line, log->options.utc_us(log->options.data));
        add_format(&line, is_json ? "\",\"level\":\"%s\",\"kind\":\"" : " %s ", level_name(level));
        add_escaped(&line, format, kind);
        add_format(&line, is_json ? "\",\"text\":\"" : ": ");
        add_escaped(&line, format, text);
        add_format(&line, is_json ? "\"}\n" : "\n");
        log->options.write(log->options.data, line.bytes, line.size);
}

/* ------------------------------------------------------------------ limits */

static struct scn_log_kind *kind_of(struct scn_log *log, enum scn_log_level level, const char *name, uint64_t now_ms)
{
        for (size_t i = 0; i < log->kinds_count; i++) {
                struct scn_log_kind *kind = &log->kinds[i];
                if (kind->level == level && strncmp(kind->name, name, sizeof kind->name - 1) == 0)
                        return kind;
        }
        if (log->kinds_count == SCN_LOG_KINDS_MAX)
                return &log->kinds[SCN_LOG_KINDS_MAX - 1];

        struct scn_log_kind *kind = &log->kinds[log->kinds_count++];
        if (log->kinds_count == SCN_LOG_KINDS_MAX)
                name = OTHER_KIND;
        *kind = (struct scn_log_kind){.level = level, .window_start_ms = now_ms};
        memcpy(kind->name, name, strnlen(name, sizeof kind->name - 1));
        return kind;
}

static void end_window(struct scn_log *log, struct scn_log_kind *kind)
{
        char text[64];

        if (kind->lines_count > SCN_LOG_LINES_MAX) {
                (void)snprintf(
                        text, sizeof text, "suppressed %" PRIu64 " like this", kind->lines_count - SCN_LOG_LINES_MAX);
                emit(log, kind->level, kind->name, text);
        }
        kind->lines_count = 0;
}

static void write_text(struct scn_log *log, enum scn_log_level level, const char *kind_name, const char *text)
{
        if (level == SCN_LOG_DEBUG)
                return;
        uint64_t now_ms = log->options.monotonic_ms(log->options.data);
        struct scn_log_kind *kind = kind_of(log, level, kind_name, now_ms);

        if (now_ms - kind->window_start_ms >= SCN_LOG_WINDOW_MS) {
                end_window(log, kind);
                kind->window_start_ms = now_ms;
        }
        kind->lines_count++;
        if (kind->lines_count <= SCN_LOG_LINES_MAX)
                emit(log, level, kind_name, text);
}

void scn_log_write(struct scn_log *log, enum scn_log_level level, const char *kind, const char *format, ...)
{
        char text[SCN_LOG_LINE_BYTES];
        va_list arguments;

        va_start(arguments, format);
        (void)vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        write_text(log, level, kind, text);
}

void scn_log_text(struct scn_log *log, enum scn_log_level level, const char *text)
{
        char kind[SCN_LOG_KIND_BYTES];
        size_t size = strcspn(text, ": ");

        if (size == 0 || size >= sizeof kind || text[size] != ':' || text[size + 1] != ' ') {
                write_text(log, level, "server", text);
                return;
        }
        memcpy(kind, text, size);
        kind[size] = '\0';
        write_text(log, level, kind, text + size + 2);
}

void scn_log_tick(struct scn_log *log)
{
        uint64_t now_ms = log->options.monotonic_ms(log->options.data);

        for (size_t i = 0; i < log->kinds_count; i++) {
                struct scn_log_kind *kind = &log->kinds[i];
                if (now_ms - kind->window_start_ms >= SCN_LOG_WINDOW_MS) {
                        end_window(log, kind);
                        kind->window_start_ms = now_ms;
                }
        }
}

void scn_log_finish(struct scn_log *log)
{
        for (size_t i = 0; i < log->kinds_count; i++)
                end_window(log, &log->kinds[i]);
}
