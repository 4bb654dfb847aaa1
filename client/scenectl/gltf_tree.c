/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/gltf_file.h"
#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"

/* With at most one parent each, nodes that walk up without end stand on, or under, a ring. Each node is walked over
 * once: `walk` of a node is the walk that saw it, 0 = none yet. */
static enum scn_gltf_fault find_cycle(struct scn_gltf_file *file, uint32_t *walk)
{
        for (uint32_t start = 0; start < file->nodes_count; start++) {
                uint32_t at = start;
                while (at != SCN_GLTF_NODE_NONE && walk[at] == 0) {
                        walk[at] = start + 1;
                        at = file->nodes[at].parent;
                }
                /* Met itself, not the trail of an earlier walk. */
                if (at != SCN_GLTF_NODE_NONE && walk[at] == start + 1)
                        return scn_gltf_file_refuse_pair(file, SCN_GLTF_CYCLE, at, file->nodes[at].parent);
        }
        return SCN_GLTF_OK;
}

enum scn_gltf_fault scn_gltf_tree_check(struct scn_gltf_file *file)
{
        uint32_t *walk = scn_alloc_zero(file->nodes_count, sizeof *walk);

        file->piece = (struct scn_slice){NULL, 0};
        if (walk == NULL)
                return scn_gltf_file_refuse(file, SCN_GLTF_NO_MEMORY, SCN_GLTF_NODE_NONE, "");
        enum scn_gltf_fault fault = find_cycle(file, walk);
        scn_free(walk);
        return fault;
}

/* --- Ops --- */

static void make_op(struct scn_gltf_file *file, uint32_t index, struct scn_op *op)
{
        const struct scn_gltf_node *node = &file->nodes[index];

        *op = (struct scn_op){
                .kind = SCN_OP_ADD,
                .parent = file->options->parent,
                .uid = node->uid,
                .name = node->name,
                .fields = node->fields,
                .trs = node->trs,
                .properties_count = node->properties_count,
        };
        if (node->properties_count > 0)
                op->properties = &file->out->properties[node->properties_first];
        if (node->parent != SCN_GLTF_NODE_NONE)
                op->parent = (struct scn_node_ref){.kind = SCN_REF_UID, .uid = file->nodes[node->parent].uid};
}

/* Parents first, siblings in order, each subtree in one piece. `stack` has room for all nodes. */
static enum scn_gltf_fault walk(struct scn_gltf_file *file, uint32_t *stack)
{
        const uint32_t depth_max = file->options->limits.depth_max;
        uint32_t left = 0;

        for (uint32_t i = file->tops_count; i > 0; i--) {
                file->nodes[file->tops[i - 1]].depth = file->options->parent_depth + 1;
                stack[left++] = file->tops[i - 1];
        }
        while (left > 0) {
                const uint32_t index = stack[--left];
                const struct scn_gltf_node *node = &file->nodes[index];
                if (node->depth > depth_max)
                        return scn_gltf_file_refuse(file, SCN_GLTF_DEPTH, index, "");
                file->out->indices[file->out->ops_count] = index;
                make_op(file, index, &file->out->ops[file->out->ops_count++]);
                for (uint32_t k = node->children_count; k > 0; k--) {
                        const uint32_t child = file->children[node->children_first + k - 1];
                        file->nodes[child].depth = node->depth + 1;
                        stack[left++] = child;
                }
        }
        return SCN_GLTF_OK;
}

enum scn_gltf_fault scn_gltf_tree_make_ops(struct scn_gltf_file *file)
{
        struct scn_gltf_nodes *out = file->out;
        uint32_t *stack = scn_alloc_zero(file->nodes_count, sizeof *stack);
        enum scn_gltf_fault fault = SCN_GLTF_OK;

        SCN_ASSERT(out->ops == NULL);
        out->ops = scn_alloc_zero(file->nodes_count, sizeof *out->ops);
        out->indices = scn_alloc_zero(file->nodes_count, sizeof *out->indices);
        if (stack == NULL || out->ops == NULL || out->indices == NULL)
                fault = scn_gltf_file_refuse(file, SCN_GLTF_NO_MEMORY, SCN_GLTF_NODE_NONE, "");
        if (fault == SCN_GLTF_OK)
                fault = walk(file, stack);
        if (fault == SCN_GLTF_OK && out->ops_count < file->nodes_count)
                scn_gltf_report_add(file->report, SCN_GLTF_NOTE_UNREACHED, SCN_GLTF_NODE_NONE,
                        file->nodes_count - out->ops_count, (struct scn_slice){NULL, 0});
        scn_free(stack);
        return fault;
}
