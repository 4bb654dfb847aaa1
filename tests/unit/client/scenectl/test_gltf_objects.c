/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/gltf_objects.h"

#include "tests/lib/gltf.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

/* A value spelled as JSON, judged. */
static bool is_one(bool (*judge)(struct scn_slice value), const char *text)
{
        struct scn_gltf_report report;
        char file[1024];

        (void)snprintf(file, sizeof file,
                "{\"asset\":{\"version\":\"2.0\"},\"nodes\":[{\"extras\":{\"scened\":{\"properties\":{\"v\":%s}}}}]}",
                text);
        struct scn_gltf_nodes nodes = gltf_read(file, &report);
        const bool result = judge(nodes.ops[0].properties[0].value);
        scn_gltf_nodes_finish(&nodes);
        return result;
}

SCN_TEST(gltf_objects, knows_a_camera)
{
        static const char *const good[] = {"{\"type\":\"perspective\",\"perspective\":{\"yfov\":1,\"znear\":0.1}}",
                "{\"perspective\":{\"zfar\":10,\"yfov\":1,\"znear\":0.1,\"extras\":[]},\"type\":\"perspective\"}",
                "{\"type\":\"orthographic\",\"orthographic\":{\"xmag\":1,\"ymag\":-1,\"znear\":0,\"zfar\":1}}"};
        static const char *const bad[] = {"1", "[]", "{}", "{\"type\":\"perspective\"}", "{\"type\":1}",
                "{\"type\":\"other\",\"perspective\":{\"yfov\":1,\"znear\":0.1}}",
                "{\"perspective\":{\"yfov\":1,\"znear\":0.1}}",
                "{\"type\":\"orthographic\",\"perspective\":{\"yfov\":1,\"znear\":0.1}}",
                "{\"type\":\"perspective\",\"perspective\":{\"yfov\":1}}",
                "{\"type\":\"perspective\",\"perspective\":{\"znear\":1}}",
                "{\"type\":\"perspective\",\"perspective\":{\"yfov\":\"1\",\"znear\":0.1}}",
                "{\"type\":\"perspective\",\"perspective\":{\"yfov\":1,\"znear\":1,\"zfar\":1}}",
                "{\"type\":\"perspective\",\"perspective\":{\"yfov\":1e300,\"znear\":1}}",
                "{\"type\":\"perspective\",\"perspective\":{\"yfov\":1,\"znear\":0.1,\"more\":1}}",
                "{\"type\":\"perspective\",\"perspective\":{\"yfov\":1,\"znear\":0.1},\"more\":1}",
                "{\"type\":\"perspective\",\"perspective\":{\"yfov\":1,\"znear\":0.1},\"name\":1}",
                "{\"type\":\"perspective\",\"perspective\":{\"yfov\":1,\"znear\":0.1},\"orthographic\":{}}",
                "{\"type\":\"perspective\",\"perspective\":{\"yfov\":1,\"znear\":0.1},\"extras\":{\"$bin\":\"AA==\"}}",
                "{\"type\":\"orthographic\",\"orthographic\":{\"xmag\":0,\"ymag\":1,\"znear\":0,\"zfar\":1}}",
                "{\"type\":\"orthographic\",\"orthographic\":{\"xmag\":1,\"ymag\":1,\"znear\":1,\"zfar\":1}}",
                "{\"type\":\"orthographic\",\"orthographic\":{\"xmag\":1,\"ymag\":1,\"znear\":-1,\"zfar\":1}}",
                "{\"type\":\"orthographic\",\"orthographic\":{\"xmag\":1,\"ymag\":1,\"znear\":0}}"};

        for (size_t i = 0; i < sizeof good / sizeof *good; i++)
                cr_expect(is_one(scn_gltf_is_camera, good[i]), "%s", good[i]);
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
                cr_expect(!is_one(scn_gltf_is_camera, bad[i]), "%s", bad[i]);
}

SCN_TEST(gltf_objects, knows_a_light)
{
        static const char *const good[] = {"{\"type\":\"point\"}", "{\"type\":\"directional\",\"intensity\":0}",
                "{\"type\":\"point\",\"color\":[0,0.5,1],\"range\":0.1,\"name\":\"l\",\"extras\":1}",
                "{\"type\":\"spot\",\"spot\":{}}", "{\"type\":\"directional\",\"range\":1}",
                "{\"type\":\"spot\",\"spot\":{\"innerConeAngle\":0.1,\"outerConeAngle\":1.5707963267948966}}"};
        static const char *const bad[] = {"1", "{}", "{\"type\":\"ambient\"}", "{\"type\":\"spot\"}",
                "{\"type\":\"point\",\"spot\":{}}", "{\"type\":\"point\",\"color\":[0,1]}",
                "{\"type\":\"point\",\"color\":[0,1,1.1]}", "{\"type\":\"point\",\"color\":[0,1,\"1\"]}",
                "{\"type\":\"point\",\"intensity\":-1}", "{\"type\":\"point\",\"range\":0}",
                "{\"type\":\"point\",\"more\":1}", "{\"type\":\"point\",\"name\":null}",
                "{\"type\":\"spot\",\"spot\":{\"innerConeAngle\":0.8}}",
                "{\"type\":\"spot\",\"spot\":{\"innerConeAngle\":-0.1}}",
                "{\"type\":\"spot\",\"spot\":{\"outerConeAngle\":1.6}}", "{\"type\":\"spot\",\"spot\":{\"more\":1}}"};

        for (size_t i = 0; i < sizeof good / sizeof *good; i++)
                cr_expect(is_one(scn_gltf_is_light, good[i]), "%s", good[i]);
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
                cr_expect(!is_one(scn_gltf_is_light, bad[i]), "%s", bad[i]);
}
