/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What is written is read back as it was. */

#define _XOPEN_SOURCE 700
#include "client/scenectl/gltf_write.h"

#include "protocol/wire/pack.h"
#include "tests/lib/gltf.h"
#include "tests/lib/gltf_folder.h"
#include "tests/lib/locale.h"
#include "tests/lib/random.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- There and back --- */

SCN_TEST(gltf_write, gives_back_extras_of_any_kind)
{
        static const char *const texts[] = {"1", "\"text\"", "[]", "{}", "{\"a\":{\"b\":[1,2.5,null,true]}}", "false",
                "{\"scened\":1}", "{\"scened\":{\"properties\":{}}}", "{\"scened\":{\"extras\":{\"$what\":1}}}",
                "{\"$map\":[[\"$node\",5]]}", "{\"$bin\":\"AAEC\"}", "[{\"$bin\":\"AA==\"}]", "{\"a\":\"\\u0000\"}",
                "{\"$map\":[[\"a\\u0000\",5]]}", "0.10000000149011612", "9007199254740993"};

        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                for (uint32_t has_more = 0; has_more < 2; has_more++) {
                        struct scn_document *document = scene_create();
                        const scn_node_id id = scene_new(document, 1, 10, "n");
                        if (strchr(texts[i], '$') != NULL && strstr(texts[i], "what") != NULL)
                                gltf_set(document, id, "gltf.extras",
                                        "{\"scened\":{\"extras\":{\"$map\":[[\"$what\",1]]}}}");
                        else
                                gltf_set(document, id, "gltf.extras", texts[i]);
                        if (has_more == 1)
                                gltf_set(document, id, "speed", "2.5");
                        gltf_enter_folder("a.gltf");
                        (void)gltf_written(document);
                        struct scn_document *copy = gltf_read_back();
                        cr_expect(gltf_is_same(document, copy), "%s became %s", texts[i], gltf_content);
                        gltf_leave_folder();
                        scn_document_destroy(copy);
                        scn_document_destroy(document);
                }
        }
}

SCN_TEST(gltf_write, gives_back_properties_whose_keys_hold_a_zero_byte)
{
        static const struct scn_slice keys[] = {{(const uint8_t *)"a\0b", 3}, {(const uint8_t *)"\0", 1},
                {(const uint8_t *)"a\0c", 3}, {(const uint8_t *)"a", 1}, {(const uint8_t *)"$map", 4}};

        /* Alone, with more of them, and beside others. */
        for (size_t count = 1; count <= sizeof keys / sizeof *keys; count++) {
                struct scn_document *document = scene_create();
                const scn_node_id id = scene_new(document, 1, 10, "n");
                for (size_t i = 0; i < count; i++) {
                        struct scn_op op = scene_set(id, "", scene_integer((uint8_t)i));
                        op.key = keys[i];
                        (void)scene_do(document, op);
                }
                if (count > 2)
                        gltf_set(document, id, "gltf.extras", "{\"own\":1}");
                gltf_enter_folder("a.gltf");
                (void)gltf_written(document);
                struct scn_document *copy = gltf_read_back();
                cr_expect(gltf_is_same(document, copy), "%zu keys became %s", count, gltf_content);
                gltf_leave_folder();
                scn_document_destroy(copy);
                scn_document_destroy(document);
        }
}

SCN_TEST(gltf_write, gives_back_any_scene_to_the_bit)
{
        struct scn_random random = scn_random_from_seed(scn_test_seed(11));
        struct scn_document *document = scene_create();
        static const char *const names[] = {"a.gltf", "b.GLB"};

        gltf_grow_randomly(document, &random, 400);
        for (uint32_t i = 0; i < 2; i++) {
                struct scn_gltf_report report;
                struct scn_gltf_report report_again;
                gltf_enter_folder(names[i]);
                cr_assert_eq(gltf_write_it(document, &report), SCN_GLTF_OK, "%s", report.detail);
                struct scn_document *copy = gltf_read_back();
                cr_expect(gltf_is_same(document, copy), "%s", names[i]);
                /* And the copy's file is the very same. */
                struct stat status;
                cr_assert_eq(stat(gltf_path, &status), 0);
                const off_t size = status.st_size;
                cr_assert_eq(gltf_write_it(copy, &report_again), SCN_GLTF_OK);
                cr_assert_eq(stat(gltf_path, &status), 0);
                cr_expect_eq(status.st_size, size);
                if (i == 1)
                        cr_expect_eq(size % 4, 0);
                gltf_leave_folder();
                scn_document_destroy(copy);
        }
        scn_document_destroy(document);
}

/* Equal to what is as by default, and yet not it. */
SCN_TEST(gltf_write, keeps_the_sign_of_zeros_alone)
{
        struct scn_document *document = scene_create();
        struct scn_op op = scene_add(1, 10, "n");
        op.fields = SCN_FIELDS_TRS;
        op.trs = (struct scn_trs){{-0.0f, -0.0f, -0.0f}, {-0.0f, 0.0f, 0.0f, 1.0f}, {1.0f, 1.0f, 1.0f}};
        (void)scene_do(document, op);

        gltf_enter_folder("a.gltf");
        cr_expect_not_null(strstr(
                gltf_written(document), "{\"name\":\"n\",\"translation\":[-0.0,-0.0,-0.0],\"rotation\":[-0.0,0,0,1]}"));
        struct scn_document *copy = gltf_read_back();
        cr_expect(gltf_is_same(document, copy));
        scn_document_destroy(copy);
        gltf_leave_folder();
        scn_document_destroy(document);
}

SCN_TEST(gltf_write, pads_a_binary_file_whatever_its_length)
{
        struct scn_document *document = scene_create();
        const scn_node_id id = scene_new(document, 1, 10, "");
        static const char *const names[] = {"a", "ab", "abc", "abcd"};

        gltf_enter_folder("a.glb");
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                struct scn_gltf_report report;
                struct stat status;
                (void)scene_do(document, scene_rename(id, names[i]));
                cr_assert_eq(gltf_write_it(document, &report), SCN_GLTF_OK);
                cr_assert_eq(stat(gltf_path, &status), 0);
                cr_expect_eq(status.st_size % 4, 0);
                struct scn_document *copy = gltf_read_back();
                cr_expect(gltf_is_same(document, copy));
                scn_document_destroy(copy);
        }
        gltf_leave_folder();
        scn_document_destroy(document);
}

SCN_TEST(gltf_write, keeps_a_rotation_that_gltf_cannot_have)
{
        struct scn_document *document = scene_create();
        struct scn_op op = scene_add(1, 10, "n");
        op.fields = SCN_FIELDS_ROTATION;
        op.trs.r[1] = -1.00000501f;
        op.trs.r[3] = -0.0f;
        (void)scene_do(document, op);
        struct scn_op longer = scene_add(1, 11, "clamped, it is as by default");
        longer.fields = SCN_FIELDS_ROTATION;
        longer.trs.r[3] = 1.00000501f;
        (void)scene_do(document, longer);

        gltf_enter_folder("a.gltf");
        cr_expect_not_null(strstr(gltf_written(document), "\"rotation\":[0,-1,0,-0.0]"));
        struct scn_document *copy = gltf_read_back();
        cr_expect(gltf_is_same(document, copy));
        scn_document_destroy(copy);

        /* Another program turned the node since. */
        char *at = strstr(gltf_content, "[0,-1,0,-0.0]");
        memcpy(at, "[1, 0,0,-0.0]", 13);
        gltf_write_content(gltf_content);
        copy = gltf_read_back();
        cr_expect_eq(scn_document_node(copy, 2).trs.r[0], 1.0f);
        cr_expect_eq(scn_document_node(copy, 2).trs.r[1], 0.0f);
        scn_document_destroy(copy);
        gltf_leave_folder();
        scn_document_destroy(document);
}

SCN_TEST(gltf_write, is_the_same_under_any_locale)
{
        struct scn_document *document = scene_create();
        const scn_node_id id = scene_new(document, 1, 10, "n");
        (void)scene_do(document, scene_translate(id, 0.5f, 1.5e20f, -1e-20f));
        gltf_set(document, id, "speed", "2.5e-300");

        gltf_enter_folder("a.gltf");
        char *plain = strdup(gltf_written(document));
        locale_enter_odd();
        cr_expect_str_eq(gltf_written(document), plain);
        locale_leave_odd();
        free(plain);
        gltf_leave_folder();
        scn_document_destroy(document);
}

static enum scn_error write_under_pressure(void *data)
{
        struct scn_gltf_report report;
        const enum scn_gltf_fault fault = gltf_write_it(data, &report);

        cr_assert(fault == SCN_GLTF_OK || fault == SCN_GLTF_NO_MEMORY, "%s", scn_gltf_fault_word(fault));
        cr_assert_str_eq(fault == SCN_GLTF_OK ? "old" : gltf_read_content(), "old");
        if (fault == SCN_GLTF_OK)
                gltf_write_content("old");
        return fault == SCN_GLTF_OK ? SCN_OK : SCN_E_NO_MEMORY;
}

SCN_TEST(gltf_write, says_so_when_memory_is_out)
{
        struct scn_document *document = scene_create();
        const scn_node_id id = scene_new(document, 1, 10, "n");
        gltf_set(document, id, "self", "{\"$node\":0}");
        gltf_set(document, id, "gltf.camera",
                "{\"type\":\"perspective\",\"perspective\":{\"yfov\":0.7,\"znear\":0.25}}");
        gltf_set(document, id, "gltf.light", "{\"type\":\"point\"}");
        struct scn_buffer value;
        scn_buffer_init(&value, 64);
        struct scn_packer packer = scn_packer_to(&value);
        scn_pack_ext(&packer, 1, scn_document_node(document, id).uid.bytes, 16);
        (void)scene_do(document, scene_set(id, "self", gltf_slice_of(&value)));
        scn_buffer_finish(&value);

        gltf_enter_folder("a.gltf");
        gltf_write_content("old");
        cr_expect_gt(scn_test_fail_each_allocation(write_under_pressure, document), 5);
        gltf_leave_folder();
        scn_document_destroy(document);
}
