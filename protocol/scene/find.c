/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* From what a request says to a living node: id, uid or path. */

#include "protocol/scene/state.h"

#include <string.h>

/* --- Paths --- */

/* One step of a path, cut out but not unescaped. */
struct segment {
        struct scn_slice name; /* size 0: the unnamed */
        uint32_t index;        /* among those of this name */
        bool has_index;
};

/* Reads "[digits]" at the end of a segment, starting behind the bracket. */
static bool read_index(const uint8_t *text, const uint8_t *end, uint32_t *index_out)
{
        uint64_t index = 0;
        if (text == end || end[-1] != ']' || text == end - 1) {
                return false;
        }
        for (; text != end - 1; text++) {
                if (*text < '0' || *text > '9' || index > UINT32_MAX / 10) {
                        return false;
                }
                index = index * 10 + (uint64_t)(*text - '0');
        }
        *index_out = index > UINT32_MAX ? UINT32_MAX : (uint32_t)index;
        return true;
}

/* Cuts the next segment off; *path begins behind a slash. False: malformed. */
static bool cut_segment(struct scn_slice *path, struct segment *segment_out)
{
        const uint8_t *start = path->data;
        const uint8_t *limit = path->data + path->size;
        const uint8_t *end = start;
        const uint8_t *bracket = NULL;
        while (end != limit && *end != '/') {
                if (*end == '\\') {
                        end++;
                        if (end == limit) {
                                return false;
                        }
                } else if (*end == '[' && bracket == NULL) {
                        bracket = end;
                }
                end++;
        }
        *segment_out = (struct segment){{start, (uint32_t)(end - start)}, 0, bracket != NULL};
        if (bracket != NULL) {
                segment_out->name.size = (uint32_t)(bracket - start);
                if (!read_index(bracket + 1, end, &segment_out->index)) {
                        return false;
                }
        }
        path->data = end == limit ? limit : end + 1;
        path->size = (uint32_t)(limit - path->data);
        /* Something must stand between slashes, and behind the last one. */
        return end != start && !(end != limit && path->size == 0);
}

/* Compares without copying: a backslash stands for the character behind it. */
static bool is_named(const struct scn_text *name, struct scn_slice escaped)
{
        uint32_t at = 0;
        const uint32_t size = name == NULL ? 0 : name->size;
        for (uint32_t i = 0; i < escaped.size; i++, at++) {
                i += escaped.data[i] == '\\';
                if (at == size || name->bytes[at] != escaped.data[i]) {
                        return false;
                }
        }
        return at == size;
}

static enum scn_error find_child(const struct scn_document *document, uint32_t parent, const struct segment *segment,
        uint64_t *steps_left, uint32_t *slot_out)
{
        uint32_t left = segment->index;
        uint32_t slot = scn_hierarchy_first_child(document->hierarchy, parent);
        for (; slot != SCN_NONE; slot = scn_hierarchy_next(document->hierarchy, slot)) {
                if (*steps_left == 0) {
                        return SCN_E_PATH_TOO_LONG;
                }
                --*steps_left;
                if (is_named(scn_node_at(document, slot)->name, segment->name) && left-- == 0) {
                        *slot_out = slot;
                        return SCN_OK;
                }
        }
        return SCN_E_NO_NODE;
}

static enum scn_error find_path(
        const struct scn_document *document, struct scn_slice path, uint64_t *steps_left, uint32_t *slot_out)
{
        if (path.size == 0 || path.data[0] != '/') {
                return SCN_E_BAD_PATH;
        }
        path.data++;
        path.size--;
        *slot_out = document->root;
        enum scn_error error = document->root == SCN_NONE ? SCN_E_NO_NODE : SCN_OK;
        while (path.size > 0 && error == SCN_OK) {
                struct segment segment;
                if (!cut_segment(&path, &segment)) {
                        return SCN_E_BAD_PATH;
                }
                error = find_child(document, *slot_out, &segment, steps_left, slot_out);
        }
        return error;
}

/* --- References --- */

static enum scn_error living(uint32_t ref, uint32_t *slot_out)
{
        if (ref == SCN_NONE) {
                return SCN_E_NO_NODE;
        }
        if ((ref & SCN_PAST_BIT) != 0) {
                return SCN_E_GONE;
        }
        *slot_out = ref;
        return SCN_OK;
}

enum scn_error scn_document_find_slot(
        const struct scn_document *document, const struct scn_node_ref *ref, uint64_t *steps_left, uint32_t *slot_out)
{
        switch (ref->kind) {
        case SCN_REF_ID: {
                /* Every id below the next one has been given to somebody, remembered or not. */
                const uint32_t found = scn_table_find_id(document, ref->id);
                const bool was_given = ref->id != 0 && ref->id < document->next_id;
                return found == SCN_NONE && was_given ? SCN_E_GONE : living(found, slot_out);
        }
        case SCN_REF_UID:
                return living(scn_table_find_uid(document, ref->uid), slot_out);
        case SCN_REF_PATH:
                return find_path(document, ref->path, steps_left, slot_out);
        case SCN_REF_NONE:
                break;
        }
        return SCN_E_BAD_OP;
}

enum scn_error scn_document_find_within(
        const struct scn_document *document, const struct scn_node_ref *ref, uint64_t *steps_left, scn_node_id *id_out)
{
        uint32_t slot;
        const enum scn_error error = scn_document_find_slot(document, ref, steps_left, &slot);
        if (error == SCN_OK) {
                *id_out = scn_node_at(document, slot)->id;
        }
        return error;
}

enum scn_error scn_document_find(
        const struct scn_document *document, const struct scn_node_ref *ref, scn_node_id *id_out)
{
        uint64_t steps_left = document->limits.path_steps_max;
        return scn_document_find_within(document, ref, &steps_left, id_out);
}
