/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _XOPEN_SOURCE 700
#include "client/scenectl/assimp_read.h"

#include "tests/lib/gltf.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER_TEMPLATE "/tmp/scn_assimp_XXXXXX"
static char folder[sizeof FOLDER_TEMPLATE];

static void enter_folder(void)
{
        memcpy(folder, FOLDER_TEMPLATE, sizeof folder);
        cr_assert_not_null(mkdtemp(folder));
}

static void leave_folder(void)
{
        char command[64];
        (void)snprintf(command, sizeof command, "rm -r %s", folder);
        cr_assert_eq(system(command), 0);
}

static const char *path_of(const char *name)
{
        static char path[128];
        (void)snprintf(path, sizeof path, "%s/%s", folder, name);
        return path;
}

static void put_file(const char *name, const char *text)
{
        FILE *file = fopen(path_of(name), "wb");
        cr_assert_not_null(file);
        cr_assert_eq(fwrite(text, 1, strlen(text), file), strlen(text));
        (void)fclose(file);
}

static enum scn_gltf_fault read_it(const char *name, struct scn_gltf_nodes *nodes, struct scn_gltf_report *report)
{
        struct scn_gltf_read_options options = gltf_options();
        return scn_assimp_read_file(path_of(name), &options, nodes, report);
}

static const char collada[] =
        "<?xml version=\"1.0\"?><COLLADA xmlns=\"http://www.collada.org/2005/11/COLLADASchema\" version=\"1.4.1\">"
        "<asset><unit meter=\"1\"/><up_axis>Y_UP</up_axis></asset><library_visual_scenes><visual_scene id=\"s\" name=\"s\">"
        "<node id=\"boat\" name=\"Boat\"><translate>1 2 3</translate><scale>2 2 2</scale>"
        "<node id=\"lantern\" name=\"Lantern\"><translate>0 0.5 0</translate></node></node>"
        "<node id=\"askew\" name=\"Askew\"><matrix>1 0.5 0 0 0 1 0 0 0 0 1 0 0 0 0 1</matrix></node>"
        "</visual_scene></library_visual_scenes><scene><instance_visual_scene url=\"#s\"/></scene></COLLADA>";

SCN_TEST(assimp_read, reads_another_format_or_says_that_it_cannot)
{
        struct scn_gltf_nodes nodes;
        struct scn_gltf_report report;

        enter_folder();
        put_file("a.dae", collada);
        const enum scn_gltf_fault fault = read_it("a.dae", &nodes, &report);
        leave_folder();
        if (!scn_assimp_is_built_in()) {
                cr_expect_eq(fault, SCN_GLTF_NOT_READABLE);
                cr_expect_str_eq(report.detail,
                        "this build reads .gltf and .glb alone; others need libassimp: "
                        "deploy/install-deps --tests, then build again");
                return;
        }
        cr_assert_eq(fault, SCN_GLTF_OK, "%s", report.detail);
        cr_expect_eq(nodes.ops_count, 4, "with the file's root");
        const struct scn_op *boat = gltf_find(&nodes, "Boat");
        cr_expect_eq(boat->trs.t[2], 3.0f);
        cr_expect_float_eq(boat->trs.s[0], 2.0f, 1e-6f);
        cr_expect_eq(gltf_find(&nodes, "Lantern")->trs.t[1], 0.5f);
        cr_expect_eq(report.counts[SCN_GLTF_NOTE_SHEAR], 1);
        cr_expect_str_eq(report.notes[0].detail, "Askew");

        struct scn_document *document = gltf_document(&nodes);
        scn_node_id id;
        const struct scn_node_ref ref = scene_path("/s/Boat/Lantern");
        cr_expect_eq(scn_document_find(document, &ref, &id), SCN_OK);
        scn_document_destroy(document);
}

SCN_TEST(assimp_read, refuses_what_is_no_scene)
{
        struct scn_gltf_nodes nodes;
        struct scn_gltf_report report;

        enter_folder();
        put_file("a.dae", "nonsense");
        cr_expect_eq(read_it("a.dae", &nodes, &report), SCN_GLTF_NOT_READABLE);
        cr_expect(strlen(report.detail) > 0);
        cr_expect_null(nodes.ops);
        cr_expect_eq(read_it("nothing.dae", &nodes, &report), SCN_GLTF_NOT_READABLE);
        if (!scn_assimp_is_built_in())
                cr_expect_str_eq(report.detail, strerror(ENOENT));
        leave_folder();
}

/* A node that holds itself, and one that stands under itself: libassimp follows them until its stack ends. */
SCN_TEST(assimp_read, refuses_what_its_library_goes_down_on_and_reads_on)
{
        static const char within_itself[] =
                "<?xml version=\"1.0\"?><COLLADA xmlns=\"http://www.collada.org/2005/11/COLLADASchema\" version=\"1.4.1\">"
                "<library_visual_scenes><visual_scene id=\"s\" name=\"s\"><node id=\"a\" name=\"A\">"
                "<instance_node url=\"#a\"/></node></visual_scene></library_visual_scenes>"
                "<scene><instance_visual_scene url=\"#s\"/></scene></COLLADA>";
        static const char under_itself[] =
                "; FBX 7.4.0 project file\nFBXHeaderExtension: {\n\tFBXVersion: 7400\n}\n"
                "Objects: {\n\tModel: 1, \"Model::A\", \"Null\" {\n\t\tVersion: 232\n\t}\n}\n"
                "Connections: {\n\tC: \"OO\",1,0\n\tC: \"OO\",1,1\n}\n";
        struct scn_gltf_nodes nodes;
        struct scn_gltf_report report;

        if (!scn_assimp_is_built_in()) {
                cr_skip_test("built without libassimp");
                return;
        }
        enter_folder();
        put_file("a.dae", within_itself);
        put_file("b.fbx", under_itself);
        put_file("c.dae", collada);
        cr_expect_eq(read_it("a.dae", &nodes, &report), SCN_GLTF_NOT_READABLE);
        cr_expect_not_null(strstr(report.detail, "libassimp"), "%s", report.detail);
        cr_expect_null(nodes.ops);
        cr_expect_eq(read_it("b.fbx", &nodes, &report), SCN_GLTF_NOT_READABLE);
        cr_expect_not_null(strstr(report.detail, "libassimp"), "%s", report.detail);
        cr_expect_eq(read_it("c.dae", &nodes, &report), SCN_GLTF_OK, "%s", report.detail);
        cr_expect_eq(nodes.ops_count, 4);
        scn_gltf_nodes_finish(&nodes);
        leave_folder();
}

/* The process that reads is still writing when the first node is refused. */
SCN_TEST(assimp_read, stops_at_the_first_node_that_it_refuses)
{
        struct scn_gltf_read_options options = gltf_options();
        struct scn_gltf_nodes nodes;
        struct scn_gltf_report report;
        const size_t nodes_count = 20000;
        const size_t node_bytes = sizeof "<node name=\"n\"/>" - 1;

        if (!scn_assimp_is_built_in()) {
                cr_skip_test("built without libassimp");
                return;
        }
        char *text = malloc(sizeof collada + nodes_count * node_bytes);
        const char *place = strstr(collada, "<node id=\"boat\"");
        size_t size = (size_t)(place - collada);
        memcpy(text, collada, size);
        for (size_t i = 0; i < nodes_count; i++, size += node_bytes)
                memcpy(text + size, "<node name=\"n\"/>", node_bytes);
        memcpy(text + size, place, strlen(place) + 1);
        enter_folder();
        put_file("a.dae", text);
        options.limits.name_bytes_max = 0;
        cr_expect_eq(scn_assimp_read_file(path_of("a.dae"), &options, &nodes, &report), SCN_GLTF_NAME_TOO_LONG);
        cr_expect_null(nodes.ops);
        options.limits.name_bytes_max = 100;
        options.limits.nodes_max = 3;
        cr_expect_eq(scn_assimp_read_file(path_of("a.dae"), &options, &nodes, &report), SCN_GLTF_TOO_MANY_NODES);
        cr_expect_null(nodes.ops);
        leave_folder();
        free(text);
}

/* How often a file is opened while the object that names it is read. */
static unsigned count_openings(const char *watched, const char *named)
{
        char text[256];
        char events[4096];
        struct scn_gltf_nodes nodes;
        struct scn_gltf_report report;
        unsigned count = 0;

        (void)snprintf(text, sizeof text, "mtllib %s\no thing\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", named);
        put_file("in/a.obj", text);
        put_file(watched, "newmtl m\n");
        const int fd = inotify_init1(IN_NONBLOCK);
        cr_assert_geq(inotify_add_watch(fd, path_of(watched), IN_OPEN), 0);
        cr_assert_eq(read_it("in/a.obj", &nodes, &report), SCN_GLTF_OK, "%s", report.detail);
        cr_expect_str_eq(
                gltf_json(gltf_property(gltf_find(&nodes, "thing"), "gltf.mesh")), "{\"index\":0,\"name\":\"thing\"}");
        scn_gltf_nodes_finish(&nodes);
        while (read(fd, events, sizeof events) > 0)
                count++;
        (void)close(fd);
        return count;
}

SCN_TEST(assimp_read, opens_no_file_outside_the_folder)
{
        if (!scn_assimp_is_built_in()) {
                cr_skip_test("built without libassimp");
                return;
        }
        enter_folder();
        cr_assert_eq(mkdir(path_of("in"), 0700), 0);
        char absolute[128];
        (void)snprintf(absolute, sizeof absolute, "%s", path_of("b.mtl"));
        cr_expect_gt(count_openings("in/b.mtl", "b.mtl"), 0);
        cr_expect_eq(count_openings("b.mtl", "../b.mtl"), 0);
        cr_expect_eq(count_openings("b.mtl", "x/../../b.mtl"), 0);
        cr_expect_eq(count_openings("b.mtl", absolute), 0);
        leave_folder();
}
