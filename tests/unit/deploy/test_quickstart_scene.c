/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The sample scene, as the quickstart needs it. */

#include "client/scenectl/gltf_read.h"
#include "tests/lib/gltf.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

static struct scn_document *import(struct scn_gltf_report *report)
{
        struct scn_gltf_read_options options = gltf_options();
        struct scn_gltf_nodes nodes;

        options.file_bytes_max = 200000;
        cr_assert_eq(scn_gltf_read_file(SCN_TEST_SOURCE_DIR "/deploy/quickstart-scene.gltf", &options, &nodes, report),
                SCN_GLTF_OK, "%s", report->detail);
        return gltf_document(&nodes);
}

static scn_node_id find(const struct scn_document *document, const char *path)
{
        const struct scn_node_ref ref = scene_path(path);
        scn_node_id id = 0;
        cr_assert_eq(scn_document_find(document, &ref, &id), SCN_OK, "%s", path);
        return id;
}

SCN_TEST(quickstart_scene, is_taken_as_it_stands)
{
        struct scn_gltf_report report;
        struct scn_document *document = import(&report);

        cr_expect_gt(scn_document_nodes_count(document), 300);
        cr_expect_eq(report.counts[SCN_GLTF_NOTE_LEFT_OUT], 2, "meshes and materials");
        cr_expect_eq(report.notes_count, 2);
        const scn_node_id lantern = find(document, "/Boat/Lantern");
        cr_expect_not_null(scn_document_get(document, lantern, scene_text("gltf.light")).data);
        (void)find(document, "/Island/Lighthouse/Lamp/Beam");
        scn_document_destroy(document);
}

/* What the quickstart shows: the boat takes the lantern along, until it is put ashore. */
SCN_TEST(quickstart_scene, has_a_lantern_that_travels_and_can_be_put_ashore)
{
        struct scn_gltf_report report;
        struct scn_document *document = import(&report);
        const scn_node_id boat = find(document, "/Boat");
        const scn_node_id lantern = find(document, "/Boat/Lantern");
        struct scn_affine before;
        struct scn_affine after;

        cr_assert_eq(scn_document_world(document, lantern, &before), SCN_OK);
        const struct scn_trs trs = scn_document_node(document, boat).trs;
        (void)scene_do(document, scene_translate(boat, trs.t[0] + 10.0f, trs.t[1], trs.t[2]));
        cr_assert_eq(scn_document_world(document, lantern, &after), SCN_OK);
        cr_expect_float_eq(after.m[3] - before.m[3], 10.0f, 1e-5f);

        struct scn_op ashore = scene_move(lantern, find(document, "/Island/Jetty"));
        ashore.keep_world = true;
        (void)scene_do(document, ashore);
        cr_assert_eq(scn_document_world(document, lantern, &before), SCN_OK);
        for (uint32_t i = 0; i < 12; i++)
                cr_expect_float_eq(before.m[i], after.m[i], 1e-5f);
        scn_document_destroy(document);
}
