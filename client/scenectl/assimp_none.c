/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/assimp_read.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

bool scn_assimp_is_built_in(void)
{
        return false;
}

enum scn_gltf_fault scn_assimp_read_file(const char *path, const struct scn_gltf_read_options *options,
        struct scn_gltf_nodes *nodes_out, struct scn_gltf_report *report)
{
        (void)options;
        *nodes_out = (struct scn_gltf_nodes){0};
        scn_gltf_report_init(report);
        return scn_gltf_report_refuse(report, SCN_GLTF_NOT_READABLE, SCN_GLTF_NODE_NONE,
                access(path, R_OK) != 0 ? strerror(errno)
                                        : "this build reads .gltf and .glb alone; others need libassimp: "
                                          "deploy/install-deps --tests, then build again");
}
