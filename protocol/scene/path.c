/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* From a node to its path, as find.c reads it. */

#include "protocol/scene/state.h"

#include <string.h>

/* "[", a number, "]". */
#define INDEX_BYTES_MAX 12u

static bool is_same_name(const struct scn_text *a, const struct scn_text *b)
{
        const uint32_t a_size = a == NULL ? 0 : a->size;
        const uint32_t b_size = b == NULL ? 0 : b->size;
        if (a_size != b_size || a_size == 0) {
                return a_size == b_size;
        }
        return memcmp(a->bytes, b->bytes, a_size) == 0;
}

/* How many of the siblings before it have its name. False: that would cost more steps than are left. */
static bool count_namesakes(
        const struct scn_document *document, uint32_t slot, uint64_t *steps_left, uint32_t *count_out)
{
        const struct scn_text *name = scn_node_at(document, slot)->name;
        const uint8_t mark = scn_name_mark_at(document, slot);
        uint64_t left = *steps_left;
        uint32_t count = 0;
        uint32_t before = scn_hierarchy_previous(document->hierarchy, slot);
        for (; before != SCN_NONE && left > 0; before = scn_hierarchy_previous(document->hierarchy, before)) {
                left--;
                count += scn_name_mark_at(document, before) == mark &&
                        is_same_name(scn_node_at(document, before)->name, name);
        }
        *steps_left = left;
        *count_out = count;
        return before == SCN_NONE;
}

/* Returns behind what it writes, as do the next ones. */
static uint8_t *write_name(uint8_t *at, struct scn_slice name)
{
        for (uint32_t i = 0; i < name.size; i++) {
                const uint8_t byte = name.data[i];
                if (byte == '/' || byte == '[' || byte == '\\') {
                        *at++ = '\\';
                }
                *at++ = byte;
        }
        return at;
}

static uint8_t *write_index(uint8_t *at, uint32_t index)
{
        char text[INDEX_BYTES_MAX];
        size_t from = sizeof text;
        text[--from] = ']';
        do {
                text[--from] = (char)('0' + index % 10);
                index /= 10;
        } while (index > 0);
        text[--from] = '[';
        memcpy(at, text + from, sizeof text - from);
        return at + sizeof text - from;
}

static enum scn_error append_segment(
        const struct scn_document *document, uint32_t slot, uint64_t *steps_left, struct scn_buffer *path)
{
        const struct scn_slice name = scn_text_slice(scn_node_at(document, slot)->name);
        const size_t size_max = 1 + 2 * (size_t)name.size + INDEX_BYTES_MAX;
        uint32_t index;
        if (!count_namesakes(document, slot, steps_left, &index)) {
                return SCN_E_PATH_TOO_LONG;
        }
        if (path->capacity - path->size < size_max) {
                const enum scn_error error = scn_buffer_reserve(path, size_max);
                if (error != SCN_OK) {
                        return error;
                }
        }
        uint8_t *at = path->data + path->size;
        *at++ = '/';
        at = write_name(at, name);
        if (index > 0 || name.size == 0) {
                at = write_index(at, index);
        }
        path->size = (size_t)(at - path->data);
        return SCN_OK;
}

/* How many levels of the path told last this one has in common, as far as they are known; their cost is paid again.
 * UINT32_MAX: it is more than what is left. */
static uint32_t reuse(const struct scn_paths *paths, const uint32_t *chain, uint32_t depth, uint64_t *steps_left)
{
        uint32_t level = 0;
        const uint32_t known = paths->depth < depth ? paths->depth : depth;
        for (; level < known && paths->levels[level].slot == chain[level]; level++) {
                if (paths->levels[level].steps > *steps_left) {
                        *steps_left = 0;
                        return UINT32_MAX;
                }
                *steps_left -= paths->levels[level].steps;
        }
        return level;
}

static enum scn_error tell_chain(const struct scn_document *document, const uint32_t *chain, uint32_t depth,
        uint64_t *steps_left, struct scn_paths *paths)
{
        struct scn_buffer *text = &paths->text;
        uint32_t level = reuse(paths, chain, depth, steps_left);
        if (level == UINT32_MAX) {
                return SCN_E_PATH_TOO_LONG;
        }
        text->size = level == 0 ? 0 : paths->levels[level - 1].end;
        paths->depth = level;
        for (; level < depth; level++) {
                const uint64_t steps = *steps_left;
                const enum scn_error error = append_segment(document, chain[level], steps_left, text);
                if (error != SCN_OK) {
                        return error;
                }
                if (level < SCN_PATHS_LEVELS) {
                        paths->levels[level] =
                                (struct scn_path_level){chain[level], (uint32_t)text->size, steps - *steps_left};
                        paths->depth = level + 1;
                }
        }
        return SCN_OK;
}

enum scn_error scn_document_tell_path(
        const struct scn_document *document, uint32_t slot, uint64_t *steps_left, struct scn_paths *paths)
{
        const uint32_t depth = scn_depth_at(document, slot);
        if (depth == 0) {
                paths->depth = 0;
                scn_buffer_reset(&paths->text);
                return scn_buffer_append(&paths->text, "/", 1);
        }
        /* Ancestors are found upwards and written downwards. */
        uint32_t few[SCN_PATHS_LEVELS];
        uint32_t *chain = depth <= SCN_PATHS_LEVELS ? few : scn_alloc(depth * sizeof *chain);
        if (chain == NULL) {
                return SCN_E_NO_MEMORY;
        }
        for (uint32_t i = depth; i-- > 0;) {
                chain[i] = slot;
                slot = scn_hierarchy_parent(document->hierarchy, slot);
        }
        const enum scn_error error = tell_chain(document, chain, depth, steps_left, paths);
        if (chain != few) {
                scn_free(chain);
        }
        return error;
}
