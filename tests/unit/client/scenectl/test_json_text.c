/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/json_text.h"

#include "tests/lib/locale.h"
#include "tests/lib/random.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static char text[4096];
static struct scn_buffer buffer = {.data = (uint8_t *)text, .capacity = sizeof text - 1, .size_max = sizeof text - 1};

static struct scn_json fresh(void)
{
        buffer.size = 0;
        return scn_json_to(&buffer);
}

static const char *written(const struct scn_json *json)
{
        cr_assert_eq(json->error, SCN_OK);
        text[buffer.size] = '\0';
        return text;
}

static const char *float_text(float value)
{
        struct scn_json json = fresh();
        scn_json_put_float(&json, value);
        return written(&json);
}

static const char *double_text(double value)
{
        struct scn_json json = fresh();
        scn_json_put_double(&json, value);
        return written(&json);
}

SCN_TEST(json_text, writes_floats_as_short_as_they_can_be)
{
        static const struct {
                float value;
                const char *text;
        } rows[] = {{0.0f, "0"}, {-0.0f, "-0.0"}, {1.0f, "1"}, {-1.5f, "-1.5"}, {0.1f, "0.1"},
                {0.70710678f, "0.70710677"}, {100000.0f, "100000"}, {16777216.0f, "16777216"}, {0.00002f, "0.00002"},
                {1e-6f, "1e-06"}, {3.4028235e38f, "3.4028235e+38"}, {1e-45f, "1e-45"}, {-123.456f, "-123.456"},
                {0.03125f, "0.03125"}};

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                cr_expect_str_eq(float_text(rows[i].value), rows[i].text);
}

/* Through a double, as all readers of JSON have it. */
SCN_TEST(json_text, writes_every_float_so_that_its_bits_come_back)
{
        struct scn_random random = scn_random_from_seed(scn_test_seed(1));

        for (uint32_t i = 0; i < 300000; i++) {
                uint32_t bits = (uint32_t)scn_random_next(&random);
                float value;
                /* Half of them of everyday size. */
                if (i % 2 == 0)
                        bits = (bits & 0x807fffff) | (uint32_t)(97 + (bits >> 8 & 63)) << 23;
                memcpy(&value, &bits, sizeof value);
                if (!isfinite(value))
                        continue;
                const float back = (float)strtod(float_text(value), NULL);
                cr_assert_eq(memcmp(&back, &value, sizeof value), 0, "%a became %s", (double)value, text);
        }
}

SCN_TEST(json_text, writes_doubles_that_come_back_and_look_like_no_integer)
{
        struct scn_random random = scn_random_from_seed(scn_test_seed(2));

        cr_expect_str_eq(double_text(0.1), "0.1");
        cr_expect_str_eq(double_text((double)0.1f), "0.10000000149011612");
        cr_expect_str_eq(double_text(5.0), "5.0");
        cr_expect_str_eq(double_text(-0.0), "-0.0");
        cr_expect_str_eq(double_text(1e300), "1e+300");
        for (uint32_t i = 0; i < 100000; i++) {
                const uint64_t bits = scn_random_next(&random);
                double value;
                memcpy(&value, &bits, sizeof value);
                if (!isfinite(value))
                        continue;
                const double back = strtod(double_text(value), NULL);
                cr_assert_eq(memcmp(&back, &value, sizeof value), 0, "%a became %s", value, text);
                cr_assert_not_null(strpbrk(text, ".e"));
        }
}

SCN_TEST(json_text, writes_integers_to_their_ends)
{
        struct scn_json json = fresh();

        scn_json_put_int(&json, INT64_MIN);
        scn_json_put(&json, " ");
        scn_json_put_int(&json, 0);
        scn_json_put(&json, " ");
        scn_json_put_uint(&json, UINT64_MAX);
        cr_expect_str_eq(written(&json), "-9223372036854775808 0 18446744073709551615");
}

SCN_TEST(json_text, escapes_what_json_wants_escaped_and_whatever_a_terminal_would_obey)
{
        struct scn_json json = fresh();
        const char odd[] = "a\"b\\c\n\t\x01\x7f\0z\xc3\xa9\xc2\x80\xc2\x9b\xc2\xa0\xe2\x80\xae\xe2\x82\xac";

        scn_json_put_text(&json, (struct scn_slice){(const uint8_t *)odd, sizeof odd - 1});
        scn_json_put_cstring(&json, "");
        cr_expect_str_eq(written(&json),
                "\"a\\\"b\\\\c\\n\\t\\u0001\\u007f\\u0000z\xc3\xa9\\u0080\\u009b\xc2\xa0\\u202e\xe2\x82\xac\"\"\"");
}

SCN_TEST(json_text, refuses_what_json_cannot_say)
{
        struct scn_json json = fresh();
        scn_json_put_float(&json, NAN);
        cr_expect_eq(json.error, SCN_E_NOT_FINITE);
        json = fresh();
        scn_json_put_double(&json, HUGE_VAL);
        cr_expect_eq(json.error, SCN_E_NOT_FINITE);
        scn_json_put(&json, "nothing more");
        cr_expect_eq(buffer.size, 0);
        json = fresh();
        scn_json_put_text(&json, scene_text("\xc0\x80"));
        cr_expect_eq(json.error, SCN_E_BAD_UTF8);
}

SCN_TEST(json_text, shows_what_is_no_utf8_in_a_path_as_such)
{
        static const struct {
                const char *path;
                const char *wanted;
        } rows[] = {
                {"caf\xe9.gltf", "\"caf\xef\xbf\xbd.gltf\""},
                {"\xc3", "\"\xef\xbf\xbd\""},
                {"\xc3\xa9\xc3", "\"\xc3\xa9\xef\xbf\xbd\""},
                {"\xf0\x9f\x98\"\n\xf0\x9f\x98\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\\\"\\n\xf0\x9f\x98\x80\""},
                {"\xff\xc2\x9b[", "\"\xef\xbf\xbd\\u009b[\""},
        };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct scn_json json = fresh();
                scn_json_put_cstring(&json, rows[i].path);
                cr_expect_str_eq(written(&json), rows[i].wanted);
        }
}

SCN_TEST(json_text, is_the_same_under_any_locale)
{
        locale_enter_odd();
        cr_expect_str_eq(double_text(0.5), "0.5");
        cr_expect_str_eq(double_text(-1.25e-300), "-1.25e-300");
        cr_expect_str_eq(float_text(1.5e20f), "1.5e+20");
        cr_expect_str_eq(float_text(-0.25f), "-0.25");
        locale_leave_odd();
}

SCN_TEST(json_text, keeps_to_the_buffers_maximum)
{
        struct scn_buffer small;
        scn_buffer_init(&small, 3);
        struct scn_json json = scn_json_to(&small);

        scn_json_put(&json, "abc");
        cr_expect_eq(json.error, SCN_OK);
        scn_json_put(&json, "d");
        cr_expect_eq(json.error, SCN_E_TOO_LARGE);
        scn_buffer_finish(&small);
}
