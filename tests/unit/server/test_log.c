/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/test.h"

#include "server/log.h"

#include <stdio.h>
#include <string.h>

struct fixture {
        struct scn_log log;
        uint64_t utc_us;
        uint64_t now_ms;
        size_t lines;
        char last[SCN_LOG_LINE_BYTES + 1];
};

static void keep_line(void *data, const char *line, size_t size)
{
        struct fixture *fixture = data;

        cr_assert_leq(size, (size_t)SCN_LOG_LINE_BYTES);
        cr_assert_eq(line[size - 1], '\n');
        cr_assert_null(memchr(line, '\n', size - 1), "a line is two lines");
        memcpy(fixture->last, line, size - 1);
        fixture->last[size - 1] = '\0';
        fixture->lines++;
}

static uint64_t utc_us(void *data)
{
        return ((struct fixture *)data)->utc_us;
}

static uint64_t now_ms(void *data)
{
        return ((struct fixture *)data)->now_ms;
}

static void start(struct fixture *fixture, enum scn_log_format format)
{
        *fixture = (struct fixture){.utc_us = UINT64_C(1769860800123456)}; /* 2026-01-31 12:00:00.123456 */
        scn_log_init(&fixture->log,
                &(struct scn_log_options){
                        .format = format,
                        .write = keep_line,
                        .utc_us = utc_us,
                        .monotonic_ms = now_ms,
                        .data = fixture,
                });
}

SCN_TEST(log, writes_lines_of_text)
{
        struct fixture fixture;
        start(&fixture, SCN_LOG_FORMAT_TEXT);
        scn_log_write(&fixture.log, SCN_LOG_INFO, "net", "listening on port %d", 7420);
        cr_assert_str_eq(fixture.last, "2026-01-31T12:00:00.123Z info net: listening on port 7420");
        scn_log_write(&fixture.log, SCN_LOG_ERROR, "net", "oh");
        cr_assert_str_eq(fixture.last, "2026-01-31T12:00:00.123Z error net: oh");
        scn_log_write(&fixture.log, SCN_LOG_WARNING, "disk", "%s", "");
        cr_assert_str_eq(fixture.last, "2026-01-31T12:00:00.123Z warning disk: ");
        cr_assert_eq(fixture.lines, 3);
}

SCN_TEST(log, writes_lines_of_json)
{
        struct fixture fixture;
        start(&fixture, SCN_LOG_FORMAT_JSON);
        scn_log_write(&fixture.log, SCN_LOG_WARNING, "net", "a \"word\" \\ and more");
        cr_assert_str_eq(fixture.last,
                "{\"time\":\"2026-01-31T12:00:00.123Z\",\"level\":\"warning\",\"kind\":\"net\","
                "\"text\":\"a \\\"word\\\" \\\\ and more\"}");
}

SCN_TEST(log, drops_what_is_for_debugging)
{
        struct fixture fixture;
        start(&fixture, SCN_LOG_FORMAT_TEXT);
        scn_log_write(&fixture.log, SCN_LOG_DEBUG, "net", "oh");
        cr_assert_eq(fixture.lines, 0);
}

SCN_TEST(log, escapes_what_could_forge_a_line_or_move_a_cursor)
{
        static const char *const cases[][3] = {
                /* as given, as text, as JSON */
                {"a\nb\r", "a\\u{a}b\\u{d}", "a\\u000ab\\u000d"},
                {"\033[2J\x7f", "\\u{1b}[2J\\u{7f}", "\\u001b[2J\\u007f"},
                {"\xc2\x9b", "\\u{9b}", "\\u009b"}, /* the one-character form of ESC [ */
                {"\xe2\x80\xae\xe2\x80\xa8\xe2\x81\xa6\xe2\x80\x8f", "\\u{202e}\\u{2028}\\u{2066}\\u{200f}",
                        "\\u202e\\u2028\\u2066\\u200f"},
                {"back\\slash", "back\\\\slash", "back\\\\slash"},
                {"\xff\xc3", "\\xff\\xc3", "\\ufffd\\ufffd"},
                {"\xed\xa0\x80", "\\xed\\xa0\\x80", "\\ufffd\\ufffd\\ufffd"},
                {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80", "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
                        "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"},
        };
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                for (int is_json = 0; is_json < 2; is_json++) {
                        struct fixture fixture;
                        char expected[256];
                        start(&fixture, is_json ? SCN_LOG_FORMAT_JSON : SCN_LOG_FORMAT_TEXT);
                        scn_log_write(&fixture.log, SCN_LOG_INFO, "x", "%s", cases[i][0]);
                        (void)snprintf(expected, sizeof expected, is_json ? "\"text\":\"%s\"}" : " x: %s",
                                cases[i][is_json ? 2 : 1]);
                        size_t size = strlen(fixture.last);
                        cr_assert_geq(size, strlen(expected));
                        cr_assert_str_eq(fixture.last + size - strlen(expected), expected);
                }
        }
}

SCN_TEST(log, cuts_long_lines)
{
        static char text[10000];
        for (int i = 0; i < 3; i++) {
                struct fixture fixture;
                start(&fixture, i == 1 ? SCN_LOG_FORMAT_JSON : SCN_LOG_FORMAT_TEXT);
                memset(text, i == 0 ? 'x' : 1, sizeof text - 1);
                scn_log_text(&fixture.log, SCN_LOG_INFO, text);
                cr_assert_eq(fixture.lines, 1);
                size_t size = strlen(fixture.last);
                cr_assert_gt(size, (size_t)SCN_LOG_LINE_BYTES - 64);
                cr_assert_not_null(strstr(fixture.last, "..."));
        }
}

SCN_TEST(log, limits_lines_of_a_kind_and_tells_how_many_are_missing)
{
        struct fixture fixture;
        start(&fixture, SCN_LOG_FORMAT_TEXT);
        for (int i = 0; i < 5000; i++)
                scn_log_write(&fixture.log, SCN_LOG_WARNING, "peer", "bad message %d", i);
        cr_assert_eq(fixture.lines, SCN_LOG_LINES_MAX);
        cr_assert_not_null(strstr(fixture.last, "bad message 9"));

        /* Other kinds, and the same at another level, are heard. */
        scn_log_write(&fixture.log, SCN_LOG_ERROR, "peer", "oh");
        scn_log_write(&fixture.log, SCN_LOG_WARNING, "disk", "oh");
        cr_assert_eq(fixture.lines, SCN_LOG_LINES_MAX + 2);

        fixture.now_ms = SCN_LOG_WINDOW_MS - 1;
        scn_log_tick(&fixture.log);
        cr_assert_eq(fixture.lines, SCN_LOG_LINES_MAX + 2);
        fixture.now_ms = SCN_LOG_WINDOW_MS;
        scn_log_tick(&fixture.log);
        cr_assert_eq(fixture.lines, SCN_LOG_LINES_MAX + 3);
        cr_assert_not_null(strstr(fixture.last, "warning peer: suppressed 4990 like this"));
        scn_log_tick(&fixture.log);
        cr_assert_eq(fixture.lines, SCN_LOG_LINES_MAX + 3);

        scn_log_write(&fixture.log, SCN_LOG_WARNING, "peer", "again");
        cr_assert_not_null(strstr(fixture.last, "again"));
}

SCN_TEST(log, tells_how_many_are_missing_before_the_next_and_at_the_end)
{
        struct fixture fixture;
        start(&fixture, SCN_LOG_FORMAT_TEXT);
        for (unsigned i = 0; i < SCN_LOG_LINES_MAX + 1; i++)
                scn_log_write(&fixture.log, SCN_LOG_WARNING, "peer", "bad");
        fixture.now_ms = 2 * SCN_LOG_WINDOW_MS;
        scn_log_write(&fixture.log, SCN_LOG_WARNING, "peer", "bad");
        cr_assert_eq(fixture.lines, SCN_LOG_LINES_MAX + 2);
        for (unsigned i = 0; i < SCN_LOG_LINES_MAX + 6; i++)
                scn_log_write(&fixture.log, SCN_LOG_WARNING, "peer", "bad");
        scn_log_finish(&fixture.log);
        cr_assert_not_null(strstr(fixture.last, "suppressed 7 like this"));
}

SCN_TEST(log, holds_a_limit_though_the_kinds_be_many)
{
        struct fixture fixture;
        start(&fixture, SCN_LOG_FORMAT_TEXT);
        for (unsigned i = 0; i < 10000; i++) {
                char kind[32];
                (void)snprintf(kind, sizeof kind, "kind%u", i);
                scn_log_write(&fixture.log, SCN_LOG_WARNING, kind, "bad");
        }
        cr_assert_eq(fixture.lines, SCN_LOG_KINDS_MAX - 1 + SCN_LOG_LINES_MAX);
        scn_log_finish(&fixture.log);
        cr_assert_not_null(strstr(fixture.last, "warning other: suppressed "));
}

SCN_TEST(log, takes_the_kind_from_the_first_word_of_a_text)
{
        static const char *const cases[][2] = {
                {"room: it is full", " room: it is full"},
                {"it is: full", " server: it is: full"},
                {": full", " server: : full"},
                {"room:full", " server: room:full"},
                {"room:", " server: room:"},
                {"", " server: "},
                {"a-word-that-is-too-long-for-a-kind: full", " server: a-word-that-is-too-long-for-a-kind: full"},
        };
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                struct fixture fixture;
                start(&fixture, SCN_LOG_FORMAT_TEXT);
                scn_log_text(&fixture.log, SCN_LOG_INFO, cases[i][0]);
                cr_assert_str_eq(fixture.last + strlen("2026-01-31T12:00:00.123Z info"), cases[i][1]);
        }
}
