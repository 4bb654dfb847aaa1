/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* From a node to its path, as find.c reads it. */

#include "protocol/scene/state.h"

#include <string.h>

static bool is_same_name(const struct scn_text *a, const struct scn_text *b)
{
        const uint32_t a_size = a == NULL ? 0 : a->size;
        const uint32_t b_size = b == NULL ? 0 : b->size;
        return a_size == b_size && (a_size == 0 || memcmp(a->bytes, b->bytes, a_size) == 0);
}

/* How many of the siblings before it have its name. False: that would cost more steps than are left. */
static bool count_namesakes(
        const struct scn_document *document, uint32_t slot, uint64_t *steps_left, uint32_t *count_out)
{
        const struct scn_text *name = scn_node_at(document, slot)->name;
        *count_out = 0;
        uint32_t before = scn_hierarchy_previous(document->hierarchy, slot);
        for (; before != SCN_NONE; before = scn_hierarchy_previous(document->hierarchy, before)) {
                if (*steps_left == 0) {
                        return false;
                }
                --*steps_left;
                *count_out += is_same_name(scn_node_at(document, before)->name, name);
        }
        return true;
}

static enum scn_error append_name(struct scn_buffer *path, struct scn_slice name)
{
        enum scn_error error = SCN_OK;
        uint32_t from = 0; /* what stands between characters that need a backslash goes in at once */
        for (uint32_t i = 0; i < name.size && error == SCN_OK; i++) {
                const uint8_t byte = name.data[i];
                if (byte == '/' || byte == '[' || byte == '\\') {
                        error = scn_buffer_append(path, name.data + from, i - from);
                        error = error == SCN_OK ? scn_buffer_append(path, "\\", 1) : error;
                        from = i;
                }
        }
        return error == SCN_OK ? scn_buffer_append(path, name.data + from, name.size - from) : error;
}

static enum scn_error append_index(struct scn_buffer *path, uint32_t index)
{
        char text[12];
        size_t at = sizeof text;
        text[--at] = ']';
        do {
                text[--at] = (char)('0' + index % 10);
                index /= 10;
        } while (index > 0);
        text[--at] = '[';
        return scn_buffer_append(path, text + at, sizeof text - at);
}

static enum scn_error append_segment(
        const struct scn_document *document, uint32_t slot, uint64_t *steps_left, struct scn_buffer *path)
{
        const struct scn_slice name = scn_text_slice(scn_node_at(document, slot)->name);
        uint32_t index;
        if (!count_namesakes(document, slot, steps_left, &index)) {
                return SCN_E_PATH_TOO_LONG;
        }
        enum scn_error error = scn_buffer_append(path, "/", 1);
        if (error == SCN_OK && name.size > 0) {
                error = append_name(path, name);
        }
        if (error == SCN_OK && (index > 0 || name.size == 0)) {
                error = append_index(path, index);
        }
        return error;
}

enum scn_error scn_document_path(
        const struct scn_document *document, scn_node_id id, uint64_t *steps_left, struct scn_buffer *path)
{
        const uint32_t bottom = scn_table_slot(document, id);
        SCN_ASSERT(bottom != SCN_NONE);
        const uint32_t depth = scn_depth_at(document, bottom);
        if (depth == 0) {
                return scn_buffer_append(path, "/", 1);
        }
        /* Ancestors are found upwards and written downwards. */
        uint32_t *chain = scn_alloc(depth * sizeof *chain);
        if (chain == NULL) {
                return SCN_E_NO_MEMORY;
        }
        uint32_t slot = bottom;
        for (uint32_t i = depth; i-- > 0;) {
                chain[i] = slot;
                slot = scn_hierarchy_parent(document->hierarchy, slot);
        }
        enum scn_error error = SCN_OK;
        for (uint32_t i = 0; i < depth && error == SCN_OK; i++) {
                error = append_segment(document, chain[i], steps_left, path);
        }
        scn_free(chain);
        return error;
}
