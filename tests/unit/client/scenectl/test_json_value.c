/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/json_value.h"

#include "client/scenectl/json_read.h"
#include "protocol/base/uid.h"
#include "tests/lib/random.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <string.h>

static enum scn_error pack(const char *text, enum scn_json_style style, struct scn_buffer *packed)
{
        json_error_t error;
        bool is_out_of_memory;
        json_t *json = scn_json_load(scene_text(text), 0, &error, &is_out_of_memory);

        cr_assert_not_null(json, "%s: %s", text, error.text);
        enum scn_error result = scn_json_pack_value(json, style, NULL, 16, packed);
        json_decref(json);
        return result;
}

static struct scn_slice slice_of(const struct scn_buffer *buffer)
{
        return (struct scn_slice){buffer->data, (uint32_t)buffer->size};
}

/* JSON to msgpack and back; the msgpack must be what a document would keep. */
static void assert_same(const char *text, enum scn_json_style style, const char *expected)
{
        struct scn_buffer packed;
        struct scn_buffer written;
        const struct scn_limits limits = SCN_LIMITS_DEFAULT;

        scn_buffer_init(&packed, 65536);
        scn_buffer_init(&written, 65536);
        cr_assert_eq(pack(text, style, &packed), SCN_OK, "%s", text);
        cr_expect(scn_value_is_canonical(slice_of(&packed), &limits), "%s", text);
        struct scn_json json = scn_json_to(&written);
        scn_json_put_value(&json, slice_of(&packed), style, NULL);
        cr_assert_eq(json.error, SCN_OK, "%s", text);
        cr_expect_eq(written.size, strlen(expected), "%s became %.*s", text, (int)written.size, (char *)written.data);
        cr_expect_eq(memcmp(written.data, expected, written.size), 0, "%s became %.*s", text, (int)written.size,
                (char *)written.data);
        scn_buffer_finish(&packed);
        scn_buffer_finish(&written);
}

static void assert_bad(const char *text, enum scn_error expected)
{
        struct scn_buffer packed;

        scn_buffer_init(&packed, 65536);
        cr_expect_eq(pack(text, SCN_JSON_TAGGED, &packed), expected, "%s", text);
        scn_buffer_finish(&packed);
}

SCN_TEST(json_value, says_plain_things_plainly)
{
        static const char *const texts[] = {"1", "-1", "1.0", "0.1", "\"a\\u0000b\"", "true", "false", "[]", "{}",
                "[[],{},[1]]", "{\"b\":1,\"a\":[null,{\"c\":{}}]}", "9223372036854775807", "-9223372036854775808",
                "[1,[2,[3,[4]]],5]", "{\"a\":{\"b\":{}},\"c\":{}}", "-0.0", "1e+300"};

        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
                assert_same(texts[i], SCN_JSON_PLAIN, texts[i]);
}

SCN_TEST(json_value, has_a_tag_for_what_json_has_no_word_for)
{
        static const char *const texts[] = {"{\"$node\":\"01234567-89ab-cdef-0123-456789abcdef\"}",
                "{\"$blob\":\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}", "{\"$bin\":\"\"}",
                "{\"$bin\":\"AA==\"}", "{\"$bin\":\"AAE=\"}", "{\"$bin\":\"AAH/\"}",
                "{\"$int\":\"18446744073709551615\"}", "{\"$int\":\"-9223372036854775808\"}",
                "{\"$int\":\"9007199254740993\"}", "9007199254740992", "{\"$map\":[[\"$bin\",1]]}",
                "[{\"$bin\":\"AA==\"},{\"$map\":[[\"$a\",{\"$map\":[[\"$b\",[]]]}],[\"c\",{}]]},2]",
                "{\"$map\":[[\"a\\u0000\",[1,2]],[\"b\",3]]}", "{\"a\":{\"$bin\":\"AA==\"}}"};

        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
                assert_same(texts[i], SCN_JSON_TAGGED, texts[i]);
        assert_same("{\"$int\":\"7\"}", SCN_JSON_TAGGED, "7");
        assert_same("{\"$map\":[]}", SCN_JSON_TAGGED, "{}");
        assert_same("{\"$bin\":\"AA==\"}", SCN_JSON_PLAIN, "{\"$bin\":\"AA==\"}");
}

SCN_TEST(json_value, refuses_malformed_tags)
{
        static const char *const texts[] = {"{\"$node\":1}", "{\"$node\":\"x\"}", "{\"$node\":null}",
                "{\"$blob\":\"00\"}",
                "{\"$blob\":\"0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef\"}", "{\"$bin\":\"A\"}",
                "{\"$bin\":\"AB==\"}", "{\"$bin\":\"A===\"}", "{\"$bin\":\"====\"}", "{\"$bin\":\"AA=A\"}",
                "{\"$bin\":\"AA-_\"}", "{\"$bin\":3}", "{\"$int\":\"\"}", "{\"$int\":\"-\"}", "{\"$int\":\"1x\"}",
                "{\"$int\":\"18446744073709551616\"}", "{\"$int\":\"-9223372036854775809\"}", "{\"$int\":1}",
                "{\"$what\":1}", "{\"$bin\":\"\",\"a\":1}", "{\"a\":1,\"$bin\":\"\"}", "{\"$map\":{}}",
                "{\"$map\":[[1,2]]}", "{\"$map\":[[\"a\"]]}", "{\"$map\":[[\"a\",1,2]]}", "{\"$map\":[1]}",
                "{\"$map\":[[]]}"};

        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
                assert_bad(texts[i], SCN_E_BAD_VALUE);
        assert_bad("[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", SCN_E_VALUE_TOO_DEEP);
}

/* A float32 keeps its kind: its text is that of the double it stands for. */
SCN_TEST(json_value, keeps_the_width_of_floats)
{
        assert_same("0.10000000149011612", SCN_JSON_PLAIN, "0.10000000149011612");
        struct scn_buffer packed;
        scn_buffer_init(&packed, 64);
        cr_assert_eq(pack("0.10000000149011612", SCN_JSON_PLAIN, &packed), SCN_OK);
        cr_expect_eq(packed.size, 5);
        scn_buffer_reset(&packed);
        cr_assert_eq(pack("0.1", SCN_JSON_PLAIN, &packed), SCN_OK);
        cr_expect_eq(packed.size, 9);
        scn_buffer_finish(&packed);
}

static bool find_index(void *data, struct scn_uid uid, uint32_t *index_out)
{
        *index_out = 12;
        return scn_uid_equal(uid, *(const struct scn_uid *)data);
}

static bool find_uid(void *data, uint32_t index, struct scn_uid *uid_out)
{
        *uid_out = *(const struct scn_uid *)data;
        return index == 12;
}

SCN_TEST(json_value, names_nodes_of_the_same_file_by_number)
{
        struct scn_uid uid = scene_uid(5);
        const struct scn_json_nodes nodes = {find_index, find_uid, &uid};
        struct scn_buffer packed;
        struct scn_buffer written;
        json_error_t error;
        bool is_out_of_memory;

        scn_buffer_init(&packed, 64);
        scn_buffer_init(&written, 64);
        json_t *json = scn_json_load(scene_text("{\"$node\":12}"), 0, &error, &is_out_of_memory);
        cr_assert_eq(scn_json_pack_value(json, SCN_JSON_TAGGED, &nodes, 16, &packed), SCN_OK);
        json_decref(json);
        struct scn_json out = scn_json_to(&written);
        scn_json_put_value(&out, slice_of(&packed), SCN_JSON_TAGGED, &nodes);
        cr_expect_eq(written.size, strlen("{\"$node\":12}"));
        json = scn_json_load(scene_text("{\"$node\":13}"), 0, &error, &is_out_of_memory);
        cr_expect_eq(scn_json_pack_value(json, SCN_JSON_TAGGED, &nodes, 16, &packed), SCN_E_BAD_VALUE);
        json_decref(json);
        scn_buffer_finish(&packed);
        scn_buffer_finish(&written);
}

static bool is_plain(const char *bytes, uint32_t size)
{
        return scn_json_value_is_plain((struct scn_slice){(const uint8_t *)bytes, size});
}

SCN_TEST(json_value, knows_what_json_can_say)
{
        cr_expect(is_plain("\x01", 1));
        cr_expect(is_plain("\x81\xa1\x61\x92\xc0\xc3", 6));
        cr_expect(!is_plain("\xc4\x00", 2), "binary");
        cr_expect(!is_plain("\x91\xc4\x00", 3), "binary inside");
        cr_expect(!is_plain("\xcf\xff\xff\xff\xff\xff\xff\xff\xff", 9), "beyond an int64");
        cr_expect(!is_plain("\xa1\x00", 2), "a zero byte");
        cr_expect(!is_plain("\xca\x7f\xc0\x00\x00", 5), "NaN");
        cr_expect(!is_plain("\x92\x01", 2), "cut short");
        cr_expect(!is_plain("\x01\x01", 2), "too much");
        cr_expect(!is_plain("", 0), "nothing");
}

SCN_TEST(json_value, refuses_bytes_that_are_no_value)
{
        struct scn_buffer written;
        struct scn_random random = scn_random_from_seed(scn_test_seed(3));
        uint32_t refused = 0;

        scn_buffer_init(&written, 1 << 20);
        for (uint32_t i = 0; i < 20000; i++) {
                uint8_t bytes[24];
                for (size_t k = 0; k < sizeof bytes; k++)
                        bytes[k] = (uint8_t)scn_random_next(&random);
                scn_buffer_reset(&written);
                struct scn_json json = scn_json_to(&written);
                const struct scn_slice value = {bytes, scn_random_below(&random, sizeof bytes + 1)};
                scn_json_put_value(&json, value, SCN_JSON_TAGGED, NULL);
                refused += json.error != SCN_OK;
                (void)scn_json_value_is_plain(value);
        }
        scn_buffer_finish(&written);
        cr_expect(refused > 15000 && refused < 20000, "%u", refused);
}

static enum scn_error pack_under_pressure(void *data)
{
        struct scn_buffer packed;
        json_error_t parse_error;
        bool is_out_of_memory;
        json_t *json = scn_json_load(scene_text(data), 0, &parse_error, &is_out_of_memory);

        if (json == NULL)
                return is_out_of_memory ? SCN_E_NO_MEMORY : SCN_E_BAD_VALUE;
        scn_buffer_init(&packed, 65536);
        enum scn_error error = scn_json_pack_value(json, SCN_JSON_TAGGED, NULL, 16, &packed);
        json_decref(json);
        scn_buffer_finish(&packed);
        return error;
}

SCN_TEST(json_value, says_so_when_memory_is_out)
{
        char text[] = "{\"a\":[1,2.5,\"text\"],\"b\":{\"$bin\":\"AAEC\"}}";
        cr_expect_gt(scn_test_fail_each_allocation(pack_under_pressure, text), 10);
}
