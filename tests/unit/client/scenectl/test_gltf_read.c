/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _XOPEN_SOURCE 700
#include "client/scenectl/gltf_read.h"

#include "client/scenectl/json_value.h"
#include "protocol/base/uid.h"
#include "protocol/scene/transform.h"
#include "tests/lib/gltf.h"
#include "tests/lib/locale.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Takes text and gives the note of its only kind. */
static struct scn_gltf_note only_note(const char *text, enum scn_gltf_note_kind kind)
{
        struct scn_gltf_report report;
        struct scn_gltf_nodes nodes = gltf_read(text, &report);

        scn_gltf_nodes_finish(&nodes);
        cr_assert_eq(report.notes_count, 1);
        cr_assert_eq(report.counts[kind], 1);
        return report.notes[0];
}

/* --- What is taken --- */

SCN_TEST(gltf_read, gives_parents_first_and_siblings_in_order)
{
        struct scn_gltf_report report;
        struct scn_gltf_nodes nodes =
                gltf_read(NODES("{\"name\":\"b\"},{\"name\":\"root\",\"children\":[3,0,2]},{\"name\":\"c\"},"
                                "{\"name\":\"a\",\"children\":[4]},{\"name\":\"a1\"}"),
                        &report);

        const char *const expected[] = {"root", "a", "a1", "b", "c"};
        cr_assert_eq(nodes.ops_count, 5);
        for (uint32_t i = 0; i < 5; i++)
                cr_expect_eq(gltf_find(&nodes, expected[i]), &nodes.ops[i]);
        cr_expect_eq(nodes.ops[0].parent.kind, SCN_REF_PATH);
        cr_expect(scn_uid_equal(nodes.ops[1].parent.uid, nodes.ops[0].uid));
        cr_expect(scn_uid_equal(nodes.ops[2].parent.uid, nodes.ops[1].uid));
        struct scn_document *document = gltf_document(&nodes);
        cr_expect_eq(scn_document_nodes_count(document), 6);
        scn_document_destroy(document);
}

SCN_TEST(gltf_read, keeps_each_bit_of_translation_rotation_and_scale)
{
        struct scn_gltf_report report;
        struct scn_gltf_nodes nodes = gltf_read(
                NODES("{\"name\":\"n\",\"translation\":[0.1,-0.0,1e-45],\"rotation\":[0.0,0.70710678,0.0,0.70710678],"
                      "\"scale\":[-2,3.4028235e38,16777217]}"),
                &report);
        const struct scn_op *op = gltf_find(&nodes, "n");
        const struct scn_trs expected = {
                {0.1f, -0.0f, 1e-45f}, {0.0f, 0.70710678f, 0.0f, 0.70710678f}, {-2.0f, 3.4028235e38f, 16777216.0f}};

        cr_expect_eq(op->fields, SCN_FIELDS_TRS);
        cr_expect_eq(memcmp(&op->trs, &expected, sizeof expected), 0);
        cr_expect_eq(report.notes_count, 0);
        scn_gltf_nodes_finish(&nodes);
}

SCN_TEST(gltf_read, knows_the_sign_of_a_zero_that_is_spelled_as_an_integer)
{
        struct scn_gltf_report report;
        struct scn_gltf_nodes nodes = gltf_read(NODES("{\"name\":\"n\",\"translation\":[-0,0,-0]}"), &report);
        const struct scn_op *op = gltf_find(&nodes, "n");

        cr_expect_eq(op->fields, SCN_FIELDS_TRANSLATION);
        cr_expect(signbit(op->trs.t[0]) && !signbit(op->trs.t[1]) && signbit(op->trs.t[2]));
        scn_gltf_nodes_finish(&nodes);
}

/* An integer that jansson cannot keep is a float, and its neighbours stay what they are. */
SCN_TEST(gltf_read, takes_integers_of_any_size_and_minus_zero_in_extras)
{
        static const struct {
                const char *extras;
                const char *wanted;
        } rows[] = {
                {"[18446744073709551616,7,-7]", "[1.8446744073709552e+19,7,-7]"},
                {"[9223372036854775807,-9223372036854775808]",
                        "[{\"$int\":\"9223372036854775807\"},{\"$int\":\"-9223372036854775808\"}]"},
                {"[9223372036854775808,-9223372036854775809,1]", "[9.223372036854776e+18,-9.223372036854776e+18,1]"},
                {"[-0,0,-0.0,1]", "[-0.0,0,-0.0,1]"},
                {"-0", "-0.0"},
                {"{\"-0\":\"-0,\\\"99999999999999999999\",\"a\":-0,\"b\":5}",
                        "{\"-0\":\"-0,\\\"99999999999999999999\",\"a\":-0.0,\"b\":5}"},
                {"[0.12345678901234567890,1e-05,-0e0,100000000000000000000]", "[0.12345678901234568,1e-05,-0.0,1e+20]"},
        };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                char text[256];
                struct scn_gltf_report report;
                (void)snprintf(text, sizeof text, NODES("{\"name\":\"n\",\"extras\":%s}"), rows[i].extras);
                struct scn_gltf_nodes nodes = gltf_read(text, &report);
                cr_expect_str_eq(gltf_json(gltf_property(gltf_find(&nodes, "n"), "gltf.extras")), rows[i].wanted);
                scn_gltf_nodes_finish(&nodes);
        }
        gltf_refused_as(NODES("{\"extras\":[-01,9223372036854775808]}"), SCN_GLTF_NOT_JSON, 0);
        gltf_refused_as(NODES("{\"extras\":{\"a\\u0000b\":1}}"), SCN_GLTF_BAD_TEXT, 0);
}

/* Somebody has put extras into a file beside what scened had kept there. */
SCN_TEST(gltf_read, lets_a_files_own_extras_go_before_those_that_scened_kept)
{
        struct scn_gltf_report report;
        struct scn_gltf_nodes nodes = gltf_read(NODES("{\"name\":\"n\",\"extras\":{\"own\":1,\"scened\":{\"extras\":"
                                                      "{\"kept\":1},\"properties\":{\"a\":2}}}}"),
                &report);
        const struct scn_op *op = gltf_find(&nodes, "n");

        cr_expect_str_eq(gltf_json(gltf_property(op, "gltf.extras")), "{\"own\":1}");
        cr_expect_str_eq(gltf_json(gltf_property(op, "a")), "2");
        cr_expect_eq(report.counts[SCN_GLTF_NOTE_KEPT_EXTRAS], 1);
        scn_gltf_nodes_finish(&nodes);
}

SCN_TEST(gltf_read, takes_integers_that_no_int64_holds)
{
        struct scn_gltf_report report;
        struct scn_gltf_nodes nodes = gltf_read(
                NODES("{\"name\":\"n\",\"translation\":[100000000000000000000,0,0],\"children\":[1]},{}"), &report);

        cr_expect_eq(gltf_find(&nodes, "n")->trs.t[0], 1e20f);
        cr_expect_eq(nodes.ops_count, 2);
        scn_gltf_nodes_finish(&nodes);
}

SCN_TEST(gltf_read, says_nothing_of_what_is_as_by_default)
{
        struct scn_gltf_report report;
        struct scn_gltf_nodes nodes =
                gltf_read(NODES("{\"translation\":[0,0,0],\"rotation\":[0,0,0,1],\"scale\":[1,1,1]}"), &report);

        cr_assert_eq(nodes.ops_count, 1);
        cr_expect_eq(nodes.ops[0].fields, 0);
        cr_expect_null(nodes.ops[0].name.data);
        cr_expect_eq(nodes.ops[0].properties_count, 0);
        scn_gltf_nodes_finish(&nodes);
}

SCN_TEST(gltf_read, normalises_a_rotation_and_says_so)
{
        const struct scn_gltf_note note =
                only_note(NODES("{},{\"name\":\"Arm\",\"rotation\":[0,0,0,2]}"), SCN_GLTF_NOTE_NORMALISED);

        cr_expect_eq(note.node, 1);
        cr_expect_str_eq(note.detail, "Arm");
        cr_expect_eq(note.amount, 2.0);
}

SCN_TEST(gltf_read, keeps_so_many_notes_and_counts_all)
{
        for (uint32_t count = SCN_GLTF_NOTES_MAX; count <= SCN_GLTF_NOTES_MAX + 1; count++) {
                char list[2048] = "";
                char text[4096];
                struct scn_gltf_report report;
                size_t size = 0;
                for (uint32_t i = 0; i < count; i++)
                        size += (size_t)snprintf(
                                list + size, sizeof list - size, "%s{\"rotation\":[0,0,0,2]}", i == 0 ? "" : ",");
                (void)snprintf(text, sizeof text, NODES("%s"), list);
                struct scn_gltf_nodes nodes = gltf_read(text, &report);
                scn_gltf_nodes_finish(&nodes);
                cr_assert_eq(report.counts[SCN_GLTF_NOTE_NORMALISED], count);
                cr_assert_eq(report.notes_count, SCN_GLTF_NOTES_MAX);
        }
}

/* Everything else that a comma can stand in is text, so this is the one way a locale could reach us. */
SCN_TEST(gltf_read, is_the_same_under_any_locale)
{
        struct scn_gltf_report report;
        const char *text = NODES("{\"name\":\"n\",\"translation\":[0.5,1.25e-3,-7.75],\"extras\":0.1}");
        struct scn_gltf_nodes plain = gltf_read(text, &report);

        locale_enter_odd();
        struct scn_gltf_nodes odd = gltf_read(text, &report);
        locale_leave_odd();
        cr_expect_eq(memcmp(&plain.ops[0].trs, &odd.ops[0].trs, sizeof plain.ops[0].trs), 0);
        cr_expect_eq(odd.ops[0].trs.t[2], -7.75f);
        cr_expect_str_eq(gltf_json(gltf_property(&odd.ops[0], "gltf.extras")), "0.1");
        scn_gltf_nodes_finish(&plain);
        scn_gltf_nodes_finish(&odd);
}

/* --- Scenes --- */

#define TWO_SCENES(more)                                                                                               \
        FILE_WITH("\"nodes\":[{\"name\":\"a\"},{\"name\":\"b\",\"children\":[2]},{\"name\":\"c\"}],"                   \
                  "\"scenes\":[{\"name\":\"one\",\"nodes\":[0]},{\"name\":\"two\",\"nodes\":[1]}]" more)

SCN_TEST(gltf_read, takes_the_default_scene_or_else_the_first)
{
        struct scn_gltf_report report;
        struct scn_gltf_nodes said = gltf_read(TWO_SCENES(",\"scene\":1"), &report);
        cr_expect_eq(report.counts[SCN_GLTF_NOTE_UNREACHED], 1);
        struct scn_gltf_nodes unsaid = gltf_read(TWO_SCENES(""), &report);

        cr_assert_eq(said.ops_count, 2);
        cr_expect_eq(gltf_find(&said, "b"), &said.ops[0]);
        cr_assert_eq(unsaid.ops_count, 1);
        cr_expect_eq(gltf_find(&unsaid, "a"), &unsaid.ops[0]);
        scn_gltf_nodes_finish(&said);
        scn_gltf_nodes_finish(&unsaid);
}

SCN_TEST(gltf_read, takes_a_scene_by_name_or_all_nodes)
{
        struct scn_gltf_read_options options = gltf_options();
        struct scn_gltf_report report;
        struct scn_gltf_nodes nodes;
        const struct scn_slice text = scene_text(TWO_SCENES(""));

        options.scene = scene_text("two");
        cr_assert_eq(scn_gltf_read_bytes(text, &options, &nodes, &report), SCN_GLTF_OK);
        cr_expect_eq(nodes.ops_count, 2);
        scn_gltf_nodes_finish(&nodes);
        options.scene = scene_text("three");
        cr_expect_eq(scn_gltf_read_bytes(text, &options, &nodes, &report), SCN_GLTF_NO_SCENE);
        options.is_whole = true;
        cr_assert_eq(scn_gltf_read_bytes(text, &options, &nodes, &report), SCN_GLTF_OK);
        cr_expect_eq(nodes.ops_count, 3);
        cr_expect_eq(report.notes_count, 0);
        scn_gltf_nodes_finish(&nodes);
}

SCN_TEST(gltf_read, takes_a_file_without_nodes)
{
        struct scn_gltf_report report;
        struct scn_gltf_nodes nodes = gltf_read("{\"asset\":{\"version\":\"2.0\"}}", &report);

        cr_expect_eq(nodes.ops_count, 0);
        scn_gltf_nodes_finish(&nodes);
        nodes = gltf_read(FILE_WITH("\"scene\":0,\"scenes\":[{}]"), &report);
        cr_expect_eq(nodes.ops_count, 0);
        scn_gltf_nodes_finish(&nodes);
}

/* --- Properties --- */

SCN_TEST(gltf_read, makes_properties_of_what_a_node_refers_to)
{
        struct scn_gltf_report report;
        struct scn_gltf_nodes nodes = gltf_read(
                FILE_WITH("\"nodes\":[{\"camera\":0,\"mesh\":1,\"skin\":0,\"weights\":[0.5,1],"
                          "\"extensions\":{\"KHR_lights_punctual\":{\"light\":0}},\"extras\":{\"a\":[1,2.5,null]}}],"
                          "\"cameras\":[{\"type\":\"perspective\",\"perspective\":{\"yfov\":0.7,\"znear\":0.25}}],"
                          "\"meshes\":[{\"primitives\":[]},{\"primitives\":[],\"name\":\"Hull\"}],\"skins\":[{}],"
                          "\"extensions\":{\"KHR_lights_punctual\":{\"lights\":[{\"type\":\"point\"}]}}"),
                &report);
        const struct scn_op *op = &nodes.ops[0];

        cr_expect_str_eq(gltf_json(gltf_property(op, "gltf.camera")),
                "{\"type\":\"perspective\",\"perspective\":{\"yfov\":0.7,\"znear\":0.25}}");
        cr_expect_str_eq(gltf_json(gltf_property(op, "gltf.light")), "{\"type\":\"point\"}");
        cr_expect_str_eq(gltf_json(gltf_property(op, "gltf.mesh")), "{\"index\":1,\"name\":\"Hull\"}");
        cr_expect_str_eq(gltf_json(gltf_property(op, "gltf.skin")), "{\"index\":0}");
        cr_expect_str_eq(gltf_json(gltf_property(op, "gltf.weights")), "[0.5,1]");
        cr_expect_str_eq(gltf_json(gltf_property(op, "gltf.extras")), "{\"a\":[1,2.5,null]}");
        cr_expect_eq(op->properties_count, 6);
        cr_expect_eq(report.counts[SCN_GLTF_NOTE_LEFT_OUT], 2, "meshes and skins");
        struct scn_document *document = gltf_document(&nodes);
        scn_document_destroy(document);
}

SCN_TEST(gltf_read, gives_back_what_scened_kept_in_extras)
{
        struct scn_gltf_report report;
        struct scn_gltf_nodes nodes = gltf_read(
                NODES("{\"name\":\"n\",\"extras\":{\"mine\":1,\"scened\":{\"properties\":{\"to\":{\"$node\":1},"
                      "\"all\":{\"$bin\":\"AAEC\"},\"big\":{\"$int\":\"18446744073709551615\"}}}}},{\"name\":\"m\"}"),
                &report);
        const struct scn_op *op = gltf_find(&nodes, "n");
        const struct scn_slice to = gltf_property(op, "to");

        cr_assert_eq(to.size, 18);
        cr_expect_eq(memcmp(to.data + 2, gltf_find(&nodes, "m")->uid.bytes, 16), 0);
        cr_expect_str_eq(gltf_json(gltf_property(op, "all")), "{\"$bin\":\"AAEC\"}");
        cr_expect_str_eq(gltf_json(gltf_property(op, "big")), "{\"$int\":\"18446744073709551615\"}");
        cr_expect_str_eq(gltf_json(gltf_property(op, "gltf.extras")), "{\"mine\":1}");
        scn_gltf_nodes_finish(&nodes);
}

SCN_TEST(gltf_read, takes_another_programs_member_of_that_name_as_extras)
{
        struct scn_gltf_report report;
        struct scn_gltf_nodes nodes = gltf_read(NODES("{\"extras\":{\"scened\":{\"$node\":5}}}"), &report);
        const struct scn_slice extras = gltf_property(&nodes.ops[0], "gltf.extras");

        cr_expect(scn_json_value_is_plain(extras));
        cr_expect_eq(nodes.ops[0].properties_count, 1);
        scn_gltf_nodes_finish(&nodes);
}

SCN_TEST(gltf_read, says_what_it_leaves_out)
{
        cr_expect_str_eq(
                only_note(NODES("{\"extensions\":{\"MSFT_lod\":{}}}"), SCN_GLTF_NOTE_EXTENSION).detail, "MSFT_lod");
        cr_expect_str_eq(only_note(FILE_WITH("\"extensionsRequired\":[\"KHR_draco\"]"), SCN_GLTF_NOTE_REQUIRED).detail,
                "KHR_draco");
        cr_expect_eq(only_note(FILE_WITH("\"animations\":[{},{}]"), SCN_GLTF_NOTE_LEFT_OUT).amount, 2.0);
        cr_expect_eq(only_note(NODES("{\"extras\":null}"), SCN_GLTF_NOTE_NULL_EXTRAS).node, 0);
}

/* --- Matrices (B33) --- */

static void assert_world_of_child(const char *parent, const float expected[3])
{
        char text[1024];
        struct scn_gltf_report report;
        struct scn_affine world;
        scn_node_id child;

        (void)snprintf(
                text, sizeof text, NODES("{%s,\"children\":[1]},{\"name\":\"c\",\"translation\":[1,2,3]}"), parent);
        struct scn_gltf_nodes nodes = gltf_read(text, &report);
        struct scn_document *document = gltf_document(&nodes);
        const struct scn_node_ref ref = scene_path("/[0]/c");
        cr_assert_eq(scn_document_find(document, &ref, &child), SCN_OK);
        cr_assert_eq(scn_document_world(document, child, &world), SCN_OK);
        for (uint32_t i = 0; i < 3; i++)
                cr_expect_float_eq(world.m[4 * i + 3], expected[i], 1e-5f * fmaxf(1.0f, fabsf(expected[i])));
        scn_document_destroy(document);
}

SCN_TEST(gltf_read, takes_a_matrix_apart)
{
        /* A quarter turn about z, scaled by 2, 3, 4, moved by 10, 20, 30. */
        assert_world_of_child("\"matrix\":[0,2,0,0,-3,0,0,0,0,0,4,0,10,20,30,1]", (float[]){4.0f, 22.0f, 42.0f});
        /* Mirrored. */
        assert_world_of_child("\"matrix\":[-1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1]", (float[]){-1.0f, 2.0f, 3.0f});
        /* Flat. */
        assert_world_of_child("\"matrix\":[0,0,0,0,0,1,0,0,0,0,1,0,5,0,0,1]", (float[]){5.0f, 2.0f, 3.0f});
        assert_world_of_child("\"matrix\":[0,0,0,0,0,0,0,0,0,0,0,0,5,6,7,1]", (float[]){5.0f, 6.0f, 7.0f});
}

SCN_TEST(gltf_read, says_how_much_a_sheared_matrix_loses)
{
        const struct scn_gltf_note note = only_note(
                NODES("{\"name\":\"Askew\",\"matrix\":[1,0,0,0,0.5,1,0,0,0,0,1,0,0,0,0,1]}"), SCN_GLTF_NOTE_SHEAR);
        char text[SCN_GLTF_MESSAGE_BYTES];

        cr_expect_str_eq(note.detail, "Askew");
        cr_expect(note.amount > 0.1 && note.amount < 1.0);
        scn_gltf_note_describe(&note, text);
        cr_expect_not_null(strstr(text, "Askew"));
}

SCN_TEST(gltf_read, refuses_a_matrix_that_is_none)
{
        const char *identity = "1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1";
        char text[512];

        (void)snprintf(text, sizeof text, NODES("{},{\"matrix\":[%s],\"translation\":[0,0,0]}"), identity);
        gltf_refused_as(text, SCN_GLTF_MATRIX_AND_TRS, 1);
        (void)snprintf(text, sizeof text, NODES("{\"matrix\":[%s,0]}"), identity);
        gltf_refused_as(text, SCN_GLTF_BAD_MATRIX, 0);
        gltf_refused_as(NODES("{\"matrix\":[1,0,0,0.5,0,1,0,0,0,0,1,0,0,0,0,1]}"), SCN_GLTF_BAD_MATRIX, 0);
        gltf_refused_as(NODES("{\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,0]}"), SCN_GLTF_BAD_MATRIX, 0);
        gltf_refused_as(NODES("{\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,\"1\"]}"), SCN_GLTF_BAD_MATRIX, 0);
        gltf_refused_as(NODES("{\"matrix\":[1,0,0,0,0,1,0,0,0,0,1e39,0,0,0,0,1]}"), SCN_GLTF_RANGE, 0);
        gltf_refused_as(NODES("{\"matrix\":[3e38,3e38,3e38,0,0,1,0,0,0,0,1,0,0,0,0,1]}"), SCN_GLTF_RANGE, 0);
        gltf_refused_as(NODES("{\"matrix\":{}}"), SCN_GLTF_BAD_MATRIX, 0);
}

/* --- Files --- */

static enum scn_gltf_fault read_path(const char *path, struct scn_gltf_report *report)
{
        struct scn_gltf_read_options options = gltf_options();
        struct scn_gltf_nodes nodes;
        enum scn_gltf_fault fault = scn_gltf_read_file(path, &options, &nodes, report);

        scn_gltf_nodes_finish(&nodes);
        return fault;
}

SCN_TEST(gltf_read, reads_a_file_by_its_path)
{
        struct scn_gltf_report report;
        char path[] = "/tmp/scn_gltf_XXXXXX";
        const char *text = "\xef\xbb\xbf" NODES("{}");
        const int fd = mkstemp(path);

        cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
        cr_expect_eq(read_path(path, &report), SCN_GLTF_OK);
        cr_assert_eq(ftruncate(fd, 20), 0);
        cr_expect_eq(read_path(path, &report), SCN_GLTF_NOT_JSON);
        cr_assert_eq(ftruncate(fd, 0), 0);
        cr_expect_eq(read_path(path, &report), SCN_GLTF_NOT_JSON);
        (void)close(fd);
        (void)unlink(path);
        cr_expect_eq(read_path(path, &report), SCN_GLTF_NOT_READABLE);
        cr_expect_eq(read_path("/tmp", &report), SCN_GLTF_NOT_READABLE);
        cr_expect_eq(read_path("/dev/zero", &report), SCN_GLTF_NOT_READABLE);
}

/* --- Memory --- */

static enum scn_error read_under_pressure(void *data)
{
        struct scn_gltf_read_options options = gltf_options();
        struct scn_gltf_nodes nodes;
        struct scn_gltf_report report;
        enum scn_gltf_fault fault = scn_gltf_read_bytes(scene_text(data), &options, &nodes, &report);

        if (fault == SCN_GLTF_NO_MEMORY)
                return SCN_E_NO_MEMORY;
        cr_assert_eq(fault, SCN_GLTF_OK, "%s: %s", scn_gltf_fault_word(fault), report.detail);
        cr_assert_eq(nodes.ops_count, 2);
        cr_assert_eq(nodes.ops[0].trs.t[0], 12.5f);
        cr_assert_str_eq(gltf_json(gltf_property(&nodes.ops[0], "gltf.extras")), "{\"key\":\"value\"}");
        scn_gltf_nodes_finish(&nodes);
        return SCN_OK;
}

SCN_TEST(gltf_read, says_so_when_memory_is_out)
{
        char text[] =
                FILE_WITH("\"nodes\":[{\"name\":\"n\",\"translation\":[12.5,0,-0],\"children\":[1],\"camera\":0,"
                          "\"extras\":{\"key\":\"value\",\"scened\":{\"properties\":{\"b\":{\"$bin\":\"AAEC\"}}}}},"
                          "{\"mesh\":0}],\"cameras\":[{\"type\":\"perspective\"}],\"meshes\":[{\"name\":\"m\"}],"
                          "\"scenes\":[{\"nodes\":[0]}]");

        cr_expect_gt(scn_test_fail_each_allocation(read_under_pressure, text), 50);
}

SCN_TEST(gltf_read, keeps_terminal_commands_out_of_its_messages)
{
        struct scn_gltf_report report;
        char message[SCN_GLTF_MESSAGE_BYTES];

        (void)gltf_refused("{\"asset\":{\"version\":\"\\u001b[2J\\u009b7m\\u007f\"}}", &report);
        scn_gltf_report_describe(&report, message);
        for (const char *at = message; *at != '\0'; at++)
                cr_expect(*at >= 0x20 && *at != 0x7f, "%02x", (unsigned)*at);
}
