/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Files that must be refused, by the name of their fault. */

#define _XOPEN_SOURCE 700
#include "client/scenectl/gltf_read.h"

#include "client/scenectl/json_read.h"
#include "client/scenectl/json_value.h"
#include "tests/lib/gltf.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Impossible hierarchies (B31) --- */

SCN_TEST(gltf_read, refuses_impossible_hierarchies_by_node_and_reason)
{
        gltf_refused_as(NODES("{\"children\":[0]}"), SCN_GLTF_CYCLE, 0);
        gltf_refused_as(NODES("{\"children\":[1]},{\"children\":[0]}"), SCN_GLTF_CYCLE, 0);
        gltf_refused_as(NODES("{\"children\":[2]},{\"children\":[2]},{}"), SCN_GLTF_TWO_PARENTS, 2);
        gltf_refused_as(NODES("{\"children\":[1,1]},{}"), SCN_GLTF_TWICE, 1);
        gltf_refused_as(NODES("{\"children\":[99]}"), SCN_GLTF_BAD_INDEX, 0);
        gltf_refused_as(
                FILE_WITH("\"nodes\":[{\"children\":[1]},{}],\"scenes\":[{\"nodes\":[0,1]}]"), SCN_GLTF_SCENE_CHILD, 1);
}

SCN_TEST(gltf_read, names_both_nodes_and_the_line)
{
        struct scn_gltf_report report;
        char message[SCN_GLTF_MESSAGE_BYTES];

        (void)gltf_refused(NODES("\n{\"children\":[2]},\n{\"children\":[2]},\n{}"), &report);
        scn_gltf_report_describe(&report, message);
        cr_expect_str_eq(message, "line 3: node 2: a node is a child of two nodes (node 0)");
        (void)gltf_refused(NODES("{},\n{\"children\":[1]}"), &report);
        scn_gltf_report_describe(&report, message);
        cr_expect_str_eq(message, "line 2: node 1: a node is its own ancestor (node 1)");
}

SCN_TEST(gltf_read, refuses_rings_that_no_scene_lists)
{
        gltf_refused_as(FILE_WITH("\"nodes\":[{},{\"children\":[2]},{\"children\":[3]},{\"children\":[1]}],"
                                  "\"scenes\":[{\"nodes\":[0]}]"),
                SCN_GLTF_CYCLE, 1);
        /* A tail that leads up to the ring is not on it. */
        gltf_refused_as(NODES("{},{\"children\":[2]},{\"children\":[1,0]}"), SCN_GLTF_CYCLE, 2);
}

SCN_TEST(gltf_read, refuses_bad_indices)
{
        gltf_refused_as(NODES("{\"children\":[-1]}"), SCN_GLTF_BAD_INDEX, 0);
        gltf_refused_as(NODES("{\"children\":[1.5]},{}"), SCN_GLTF_BAD_KIND, 0);
        gltf_refused_as(NODES("{\"children\":[4294967297]},{}"), SCN_GLTF_BAD_INDEX, 0);
        gltf_refused_as(NODES("{\"children\":[\"1\"]},{}"), SCN_GLTF_BAD_KIND, 0);
        gltf_refused_as(NODES("{\"children\":1},{}"), SCN_GLTF_BAD_KIND, 0);
        gltf_refused_as(NODES("{},{\"camera\":0}"), SCN_GLTF_BAD_INDEX, 1);
        gltf_refused_as(NODES("{\"mesh\":0}"), SCN_GLTF_BAD_INDEX, 0);
        gltf_refused_as(NODES("{\"skin\":7}"), SCN_GLTF_BAD_INDEX, 0);
        gltf_refused_as(NODES("{\"extensions\":{\"KHR_lights_punctual\":{\"light\":0}}}"), SCN_GLTF_BAD_INDEX, 0);
        gltf_refused_as(
                FILE_WITH("\"nodes\":[{}],\"scenes\":[{\"nodes\":[1]}]"), SCN_GLTF_BAD_INDEX, SCN_GLTF_NODE_NONE);
        gltf_refused_as(
                FILE_WITH("\"nodes\":[{}],\"scenes\":[{}],\"scene\":1"), SCN_GLTF_BAD_INDEX, SCN_GLTF_NODE_NONE);
        gltf_refused_as(FILE_WITH("\"nodes\":[{}],\"scenes\":[{\"nodes\":[0,0]}]"), SCN_GLTF_TWICE, 0);
        gltf_refused_as(
                NODES("{\"extras\":{\"scened\":{\"properties\":{\"to\":{\"$node\":1}}}}}"), SCN_GLTF_BAD_VALUE, 0);
}

SCN_TEST(gltf_read, says_which_entry_of_a_list_is_at_fault)
{
        static const struct {
                const char *text;
                enum scn_gltf_fault fault;
                const char *part;
        } rows[] = {
                {FILE_WITH("\"cameras\":[{},[]]"), SCN_GLTF_BAD_KIND, ": camera 1 is not an object"},
                {FILE_WITH("\"cameras\":[{},{\"extras\":[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]}]"), SCN_GLTF_VALUE_TOO_DEEP,
                        ": camera 1"},
                {FILE_WITH("\"meshes\":[{},{},7]"), SCN_GLTF_BAD_KIND, ": mesh 2 is not an object"},
                {FILE_WITH("\"images\":[{},1]"), SCN_GLTF_BAD_KIND, ": image 1 is not an object"},
                {FILE_WITH("\"scenes\":[{},{\"nodes\":1}]"), SCN_GLTF_BAD_KIND, ": scene 1"},
                {FILE_WITH("\"scenes\":[{},{\"nodes\":[5]}]"), SCN_GLTF_BAD_INDEX,
                        ": scene 1's node 5, where there are 0"},
                {FILE_WITH("\"skins\":[null]"), SCN_GLTF_BAD_KIND, ": skin 0 is not an object"},
                {FILE_WITH("\"extensions\":[]"), SCN_GLTF_BAD_KIND, ": extensions is not an object"},
                {FILE_WITH("\"extensions\":{\"KHR_lights_punctual\":1}"), SCN_GLTF_BAD_KIND,
                        ": KHR_lights_punctual is not an object"},
                {FILE_WITH("\"extensions\":{\"KHR_lights_punctual\":{\"lights\":[1]}}"), SCN_GLTF_BAD_KIND,
                        ": light 0 is not an object"},
                {FILE_WITH("\"extensionsRequired\":\"A\""), SCN_GLTF_BAD_KIND, ": extensionsRequired "},
                {FILE_WITH("\"extensionsRequired\":[\"A\",1]"), SCN_GLTF_BAD_KIND, ": extensionsRequired "},
                {NODES("{\"extensions\":{\"KHR_lights_punctual\":1}}"), SCN_GLTF_BAD_KIND,
                        "node 0: a member is not of the kind that glTF says: KHR_lights_punctual is not an object"},
                {NODES("{\"children\":[1e300]}"), SCN_GLTF_BAD_INDEX, ": child 1e+300, where there are 1"},
        };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct scn_gltf_report report;
                char message[SCN_GLTF_MESSAGE_BYTES];
                cr_expect_eq(gltf_refused(rows[i].text, &report), rows[i].fault, "%s: %s", rows[i].text,
                        scn_gltf_fault_word(report.fault));
                scn_gltf_report_describe(&report, message);
                cr_expect_not_null(strstr(message, rows[i].part), "%s: %s", rows[i].text, message);
        }
}

/* --- Hostile and broken text --- */

SCN_TEST(gltf_read, refuses_what_is_not_gltf_2)
{
        gltf_refused_as("{}", SCN_GLTF_NOT_GLTF, SCN_GLTF_NODE_NONE);
        gltf_refused_as(
                "{\"asset\":{\"version\":\"1.0\"},\"nodes\":{\"a\":{}}}", SCN_GLTF_NOT_GLTF, SCN_GLTF_NODE_NONE);
        gltf_refused_as("{\"asset\":{\"version\":2}}", SCN_GLTF_NOT_GLTF, SCN_GLTF_NODE_NONE);
        gltf_refused_as("{\"asset\":[]}", SCN_GLTF_NOT_GLTF, SCN_GLTF_NODE_NONE);
        gltf_refused_as(
                "{\"asset\":{\"version\":\"2.0\",\"minVersion\":\"2.1\"}}", SCN_GLTF_NOT_GLTF, SCN_GLTF_NODE_NONE);
        gltf_refused_as(FILE_WITH("\"nodes\":{}"), SCN_GLTF_BAD_KIND, SCN_GLTF_NODE_NONE);
        gltf_refused_as(NODES("7"), SCN_GLTF_BAD_KIND, 0);
        gltf_refused_as(NODES("{\"name\":7}"), SCN_GLTF_BAD_KIND, 0);
        gltf_refused_as(NODES("{\"translation\":[1,2]}"), SCN_GLTF_BAD_KIND, 0);
        gltf_refused_as(NODES("{\"translation\":[1,2,null]}"), SCN_GLTF_BAD_KIND, 0);
        gltf_refused_as(NODES("{\"extensions\":[]}"), SCN_GLTF_BAD_KIND, 0);
        gltf_refused_as(FILE_WITH("\"nodes\":[{\"camera\":0}],\"cameras\":[1]"), SCN_GLTF_BAD_KIND, SCN_GLTF_NODE_NONE);
        gltf_refused_as(FILE_WITH("\"scenes\":[1]"), SCN_GLTF_BAD_KIND, SCN_GLTF_NODE_NONE);
}

SCN_TEST(gltf_read, refuses_what_is_not_json)
{
        static const char *const texts[] = {"", " ", "nonsense", "[]", "\xff\xfe", "{\"asset\":{\"version\":\"2.0\"}",
                "{\"asset\":{\"version\":\"2.0\"}} x", "{\"asset\":{\"version\":\"2.0\"},}", "{\"asset\"",
                "{\"asset\":", "{\"asset", "{\"asset\\", "{\"nodes\":[}]", "{\"nodes\":[{]}]}", "{\"a\" 1}", "{1:2}",
                "{\"a\":1 \"b\":2}", NODES("{},"), NODES("{\"translation\":[NaN,0,0]}"),
                NODES("{\"translation\":[Infinity,0,0]}"), NODES("{\"translation\":[1.,0,0]}"),
                NODES("{\"name\":\"a\",\"name\":\"b\"}"), NODES("{'name':1}"), FILE_WITH("\"nodes\":[],\"nodes\":[]"),
                FILE_WITH("\"nodes\":[],\"n\\u006fdes\":[]"), NODES("{\"name\":\"\xc0\x80\"}"),
                NODES("{\"name\":\"\\ud800\"}")};

        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                struct scn_gltf_report report;
                cr_expect_eq(gltf_refused(texts[i], &report), SCN_GLTF_NOT_JSON, "%s: %s", texts[i],
                        scn_gltf_fault_word(report.fault));
        }
}

SCN_TEST(gltf_read, refuses_numbers_that_no_float_holds)
{
        gltf_refused_as(NODES("{},{\"translation\":[0,1e39,0]}"), SCN_GLTF_RANGE, 1);
        gltf_refused_as(NODES("{\"scale\":[-3.5e38,1,1]}"), SCN_GLTF_RANGE, 0);
        gltf_refused_as(NODES("{\"translation\":[1e400,0,0]}"), SCN_GLTF_RANGE, 0);
        gltf_refused_as(NODES("{\"rotation\":[0,0,0,0]}"), SCN_GLTF_ZERO_QUATERNION, 0);
        gltf_refused_as(NODES("{\"extras\":[1e400]}"), SCN_GLTF_RANGE, 0);
}

SCN_TEST(gltf_read, refuses_brackets_nested_without_end)
{
        const size_t depth = 1000000;
        char *text = malloc(depth + 64);
        struct scn_gltf_report report;

        const int head = snprintf(text, 64, "{\"asset\":{\"version\":\"2.0\"},\"x\":");
        memset(text + head, '[', depth);
        text[(size_t)head + depth] = '\0';
        cr_expect_eq(gltf_refused(text, &report), SCN_GLTF_NOT_JSON);
        free(text);
}

SCN_TEST(gltf_read, follows_brackets_to_a_limit)
{
        const struct {
                uint32_t depth;
                enum scn_gltf_fault fault;
        } rows[] = {{SCN_JSON_NESTING_MAX, SCN_GLTF_OK}, {SCN_JSON_NESTING_MAX + 1, SCN_GLTF_NOT_JSON}};

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                char text[1024];
                struct scn_gltf_read_options options = gltf_options();
                struct scn_gltf_nodes nodes;
                struct scn_gltf_report report;
                int size = snprintf(text, sizeof text, "{\"asset\":{\"version\":\"2.0\"},\"x\":");
                for (uint32_t k = 0; k < rows[i].depth; k++)
                        text[size++] = '[';
                for (uint32_t k = 0; k < rows[i].depth; k++)
                        text[size++] = ']';
                (void)snprintf(text + size, sizeof text - (size_t)size, "}");
                cr_expect_eq(scn_gltf_read_bytes(scene_text(text), &options, &nodes, &report), rows[i].fault, "%u: %s",
                        rows[i].depth, report.detail);
                scn_gltf_nodes_finish(&nodes);
        }
}

SCN_TEST(gltf_read, refuses_what_exceeds_the_documents_limits)
{
        struct scn_gltf_read_options options = gltf_options();
        struct scn_gltf_nodes nodes;
        struct scn_gltf_report report;
        static const struct {
                const char *text;
                enum scn_gltf_fault fault;
        } rows[] = {
                {NODES("{},{},{},{},{}"), SCN_GLTF_TOO_MANY_NODES},
                {NODES("{\"children\":[1]},{\"children\":[2]},{\"children\":[3]},{}"), SCN_GLTF_DEPTH},
                {NODES("{\"name\":\"123456789\"}"), SCN_GLTF_NAME_TOO_LONG},
                {NODES("{\"extras\":\"123456789 123456789 123456789\"}"), SCN_GLTF_VALUE_TOO_LARGE},
                {NODES("{\"extras\":[[[]]]}"), SCN_GLTF_VALUE_TOO_DEEP},
                {NODES("{\"extras\":{\"scened\":{\"properties\":{\"123456789 12\":1}}}}"), SCN_GLTF_KEY_TOO_LONG},
                {NODES("{\"extras\":{\"scened\":{\"properties\":{\"\":1}}}}"), SCN_GLTF_KEY_TOO_LONG},
                {NODES("{\"extras\":{\"scened\":{\"properties\":{\"a\":1,\"b\":1,\"c\":1}}}}"),
                        SCN_GLTF_TOO_MANY_PROPS},
                {NODES("{\"extras\":{\"scened\":{\"properties\":{\"a\":{\"$what\":1}}}}}"), SCN_GLTF_BAD_VALUE},
                {NODES("{\"extras\":{\"scened\":{\"pairs\":[[1,2]]}}}"), SCN_GLTF_BAD_VALUE},
                {NODES("{\"extras\":{\"scened\":{\"pairs\":[[\"a\"]]}}}"), SCN_GLTF_BAD_VALUE},
                {NODES("{\"extras\":{\"scened\":{\"pairs\":[\"a\"]}}}"), SCN_GLTF_BAD_VALUE},
                {NODES("{\"extras\":{\"scened\":{\"pairs\":[[\"\",1]]}}}"), SCN_GLTF_KEY_TOO_LONG},
                {NODES("{\"extras\":{\"scened\":{\"pairs\":[[\"a\",1],[\"b\",1],[\"c\",1]]}}}"),
                        SCN_GLTF_TOO_MANY_PROPS},
        };

        options.limits.nodes_max = 4;
        options.limits.depth_max = 3;
        options.limits.name_bytes_max = 8;
        options.limits.value_bytes_max = 24;
        options.limits.value_levels_max = 2;
        options.limits.key_bytes_max = 11;
        options.limits.properties_max = 2;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                cr_expect_eq(scn_gltf_read_bytes(scene_text(rows[i].text), &options, &nodes, &report), rows[i].fault,
                        "%s: %s", rows[i].text, scn_gltf_fault_word(report.fault));
                cr_expect_null(nodes.ops);
        }
}

SCN_TEST(gltf_read, takes_a_file_up_to_its_limit)
{
        const char *text = FILE_WITH("\"nodes\":[]");
        struct scn_gltf_read_options options = gltf_options();
        struct scn_gltf_nodes nodes;
        struct scn_gltf_report report;

        options.file_bytes_max = (uint32_t)strlen(text);
        cr_expect_eq(scn_gltf_read_bytes(scene_text(text), &options, &nodes, &report), SCN_GLTF_OK);
        scn_gltf_nodes_finish(&nodes);
        options.file_bytes_max--;
        cr_expect_eq(scn_gltf_read_bytes(scene_text(text), &options, &nodes, &report), SCN_GLTF_FILE_TOO_LARGE);
        cr_expect_null(nodes.ops);
}

SCN_TEST(gltf_read, refuses_paths_that_leave_the_files_folder_and_says_which)
{
        static const char *const outside[] = {"../a.bin", "a/../../b", "/etc/passwd", "a/./../../b", "..", "%2e%2e/a",
                "..%2fa", "..%5Ca", "%5cetc", "%2Fetc/passwd", "..\\\\a", "\\\\\\\\host\\\\share", "C:/a.bin",
                "file:///etc/passwd", "http://host/a.bin", "a/..\\u002f../b", " /a", "  http://host/a"};
        static const char *const inside[] = {"a.bin", "a/b.bin", "a/../b", "./a", "a/..", "...", "..a/b", "a//../b",
                "data:;base64,AAAA", "dat\\u0061:,x", "a?/../../b", "a#../../b", "%zz/../b", "", "1:2"};
        struct scn_gltf_report report;
        char text[512];
        char message[SCN_GLTF_MESSAGE_BYTES];
        for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
                (void)snprintf(text, sizeof text, FILE_WITH("\"%s\":[{},{\"uri\":\"%s\"}],\"nodes\":[{}]"),
                        i % 2 == 0 ? "buffers" : "images", outside[i]);
                gltf_refused_as(text, SCN_GLTF_PATH_OUTSIDE, SCN_GLTF_NODE_NONE);
        }
        for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
                (void)snprintf(
                        text, sizeof text, FILE_WITH("\"buffers\":[{\"uri\":\"%s\"}],\"nodes\":[{}]"), inside[i]);
                struct scn_gltf_nodes nodes = gltf_read(text, &report);
                cr_expect_eq(nodes.ops_count, 1, "%s", inside[i]);
                scn_gltf_nodes_finish(&nodes);
        }
        (void)gltf_refused(FILE_WITH("\"nodes\":[{}],\n\"images\":[{},\n{\"uri\":\"a/../../b.png\"}]"), &report);
        scn_gltf_report_describe(&report, message);
        cr_expect_str_eq(message, "line 3: a path leads out of the file's folder: image 1: a/../../b.png");
        gltf_refused_as(FILE_WITH("\"buffers\":[{\"uri\":7}],\"nodes\":[{}]"), SCN_GLTF_BAD_KIND, SCN_GLTF_NODE_NONE);
        /* However the key is spelled, and however many there are. */
        static const char *const hidden[] = {"\"\\u0075ri\":\"/a\"", "\"u\\u0072\\u0069\":\"/a\"",
                "\"uri\":\"/a\",\"uri\":\"a\"", "\"uri\":\"a\",\"ur\\u0069\":\"/a\""};
        for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
                (void)snprintf(text, sizeof text, FILE_WITH("\"images\":[{%s}]"), hidden[i]);
                gltf_refused_as(text, SCN_GLTF_PATH_OUTSIDE, SCN_GLTF_NODE_NONE);
        }
        static const char *const plain[] = {"\"u\\u0072\":\"/a\"", "\"\\uri\":\"/a\"", "\"uri\\u0000\":\"/a\"",
                "\"\\u00\":\"/a\"", "\"ur\\u0069\\\"\":\"/a\"", "\"\":\"/a\""};
        for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
                (void)snprintf(text, sizeof text, FILE_WITH("\"images\":[{%s}]"), plain[i]);
                struct scn_gltf_nodes nodes = gltf_read(text, &report);
                scn_gltf_nodes_finish(&nodes);
        }
        gltf_refused_as(
                FILE_WITH("\"buffers\":[{\"uri\":\"a\\u0000/../../b\"}]"), SCN_GLTF_BAD_TEXT, SCN_GLTF_NODE_NONE);
        gltf_refused_as(FILE_WITH("\"buffers\":[{\"uri\":\"\\thttp:a\"}]"), SCN_GLTF_BAD_TEXT, SCN_GLTF_NODE_NONE);
        gltf_refused_as(FILE_WITH("\"buffers\":{}"), SCN_GLTF_BAD_KIND, SCN_GLTF_NODE_NONE);
        gltf_refused_as(FILE_WITH("\"images\":[{\"uri\":\"a\" 1}]"), SCN_GLTF_NOT_JSON, SCN_GLTF_NODE_NONE);
}

/* B67: accessors that lie in every way. Nobody here looks at them. */
SCN_TEST(gltf_read, does_not_touch_accessors)
{
        static const char *const lies[] = {
                "\"accessors\":[{\"count\":4611686018427387904,\"componentType\":5126,\"type\":\"MAT4\"}]",
                "\"accessors\":[{\"count\":0,\"componentType\":5126,\"type\":\"VEC3\"}]",
                "\"accessors\":[{\"count\":1,\"sparse\":{\"count\":9,\"indices\":{\"bufferView\":7}}}]",
                "\"bufferViews\":[{\"buffer\":0,\"byteOffset\":99,\"byteLength\":4294967295,\"byteStride\":252}]",
                "\"buffers\":[{\"byteLength\":1000,\"uri\":\"data:application/octet-stream;base64,AAAA\"}]",
                "\"buffers\":[{\"byteLength\":1,\"uri\":\"nowhere/to/be/found.bin\"},{}],\"images\":[{\"bufferView\":9}]",
                "\"accessors\":[{\"max\":[NaN]}]",
        };

        for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
                char text[512];
                struct scn_gltf_report report;
                (void)snprintf(text, sizeof text, FILE_WITH("%s,\"nodes\":[{\"name\":\"n\"}]"), lies[i]);
                struct scn_gltf_nodes nodes = gltf_read(text, &report);
                cr_expect_eq(nodes.ops_count, 1, "%s", lies[i]);
                scn_gltf_nodes_finish(&nodes);
        }
}
