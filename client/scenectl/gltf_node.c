/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/gltf_file.h"
#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/scene/transform.h"
#include "protocol/wire/pack.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A node while its JSON is at hand. */
struct reading {
        struct scn_gltf_file *file;
        struct scn_gltf_node *node;
        uint32_t index;
        json_t *json; /* owned */
};

static enum scn_gltf_fault refuse(const struct reading *reading, enum scn_gltf_fault fault, const char *detail)
{
        return scn_gltf_file_refuse(reading->file, fault, reading->index, detail);
}

static void note(const struct reading *reading, enum scn_gltf_note_kind kind, double amount, struct scn_slice detail)
{
        scn_gltf_report_add(reading->file->report, kind, reading->index, amount, detail);
}

/* --- Name and children --- */

static enum scn_gltf_fault read_name(struct reading *reading)
{
        const json_t *name = json_object_get(reading->json, "name");
        const size_t size = json_string_length(name);

        if (name == NULL)
                return SCN_GLTF_OK;
        if (!json_is_string(name))
                return refuse(reading, SCN_GLTF_BAD_KIND, "name is not a text");
        if (size > reading->file->options->limits.name_bytes_max)
                return refuse(reading, SCN_GLTF_NAME_TOO_LONG, json_string_value(name));
        reading->node->name = scn_arena_copy(&reading->file->out->arena, json_string_value(name), (uint32_t)size);
        return reading->node->name.data != NULL ? SCN_GLTF_OK : refuse(reading, SCN_GLTF_NO_MEMORY, "");
}

/* Takes a child in: it must be free. Thus there are never more children than nodes, whatever the lists say. */
static enum scn_gltf_fault adopt(struct reading *reading, const json_t *number)
{
        struct scn_gltf_file *file = reading->file;
        uint32_t child;
        enum scn_gltf_fault fault =
                scn_gltf_file_index(file, number, file->nodes_count, reading->index, "child", &child);

        if (fault != SCN_GLTF_OK)
                return fault;
        uint32_t *parent = &file->nodes[child].parent;
        if (child == reading->index)
                return scn_gltf_file_refuse_pair(file, SCN_GLTF_CYCLE, child, reading->index);
        if (*parent == reading->index)
                return scn_gltf_file_refuse_pair(file, SCN_GLTF_TWICE, child, reading->index);
        if (*parent != SCN_GLTF_NODE_NONE)
                return scn_gltf_file_refuse_pair(file, SCN_GLTF_TWO_PARENTS, child, *parent);
        *parent = reading->index;
        SCN_ASSERT(file->children_count < file->nodes_count);
        file->children[file->children_count++] = child;
        reading->node->children_count++;
        return SCN_GLTF_OK;
}

static enum scn_gltf_fault read_children(struct reading *reading)
{
        const json_t *list = json_object_get(reading->json, "children");
        enum scn_gltf_fault fault = SCN_GLTF_OK;

        if (list != NULL && !json_is_array(list))
                return refuse(reading, SCN_GLTF_BAD_KIND, "children is not an array");
        reading->node->children_first = reading->file->children_count;
        for (size_t i = 0; i < json_array_size(list) && fault == SCN_GLTF_OK; i++)
                fault = adopt(reading, json_array_get(list, i));
        return fault;
}

/* --- Transform --- */

/* The numbers of a member, in range. Absent: nothing is written, and *is_given_out is false. */
static enum scn_gltf_fault read_numbers(
        struct reading *reading, const char *what, uint32_t count, double *numbers_out, bool *is_given_out)
{
        const json_t *list = json_object_get(reading->json, what);
        char detail[SCN_GLTF_DETAIL_BYTES];

        *is_given_out = list != NULL;
        if (list == NULL)
                return SCN_GLTF_OK;
        bool are_numbers = json_is_array(list) && json_array_size(list) == count;
        for (uint32_t i = 0; i < count && are_numbers; i++) {
                const json_t *number = json_array_get(list, i);
                are_numbers = json_is_number(number);
                numbers_out[i] = json_number_value(number);
                if (!isfinite((float)numbers_out[i])) {
                        (void)snprintf(detail, sizeof detail, "%s[%u]", what, i);
                        return refuse(reading, SCN_GLTF_RANGE, detail);
                }
        }
        if (are_numbers)
                return SCN_GLTF_OK;
        (void)snprintf(detail, sizeof detail, "%s is not an array of %u numbers", what, count);
        return refuse(reading, count == 16 ? SCN_GLTF_BAD_MATRIX : SCN_GLTF_BAD_KIND, detail);
}

static enum scn_gltf_fault read_floats(struct reading *reading, const char *what, uint32_t count, float *floats_out)
{
        double numbers[4];
        bool is_given;
        enum scn_gltf_fault fault = read_numbers(reading, what, count, numbers, &is_given);

        for (uint32_t i = 0; i < count && is_given && fault == SCN_GLTF_OK; i++)
                floats_out[i] = (float)numbers[i];
        return fault;
}

/* What is as by default need not be said. */
static uint32_t fields_of(const struct scn_trs *trs)
{
        const struct scn_trs usual = SCN_TRS_IDENTITY;

        return (memcmp(trs->t, usual.t, sizeof usual.t) != 0 ? SCN_FIELDS_TRANSLATION : 0) |
                (memcmp(trs->r, usual.r, sizeof usual.r) != 0 ? SCN_FIELDS_ROTATION : 0) |
                (memcmp(trs->s, usual.s, sizeof usual.s) != 0 ? SCN_FIELDS_SCALE : 0);
}

enum scn_gltf_fault scn_gltf_node_set_matrix(
        struct scn_gltf_file *file, uint32_t index, const struct scn_affine64 *matrix)
{
        struct scn_gltf_node *node = &file->nodes[index];
        double residual;

        node->trs = scn_transform_decompose(matrix, &residual);
        node->fields = fields_of(&node->trs);
        if (scn_transform_check(node->trs.s, 3) != SCN_OK || scn_transform_check(node->trs.r, 4) != SCN_OK)
                return scn_gltf_file_refuse(file, SCN_GLTF_RANGE, index, "matrix: its columns are too long");
        if (residual > SCN_SHEAR_TOLERANCE)
                scn_gltf_report_add(file->report, SCN_GLTF_NOTE_SHEAR, index, residual, node->name);
        return SCN_GLTF_OK;
}

static enum scn_gltf_fault read_matrix(struct reading *reading, bool *is_given_out)
{
        double matrix[16];
        struct scn_affine64 affine;
        enum scn_gltf_fault fault = read_numbers(reading, "matrix", 16, matrix, is_given_out);

        if (fault != SCN_GLTF_OK || !*is_given_out)
                return fault;
        if (matrix[3] != 0.0 || matrix[7] != 0.0 || matrix[11] != 0.0 || matrix[15] != 1.0)
                return refuse(reading, SCN_GLTF_BAD_MATRIX, "the last row is another");
        /* glTF has columns one after the other, we have rows. */
        for (uint32_t column = 0; column < 4; column++) {
                for (uint32_t row = 0; row < 3; row++)
                        affine.m[4 * row + column] = matrix[4 * column + row];
        }
        return scn_gltf_node_set_matrix(reading->file, reading->index, &affine);
}

static enum scn_gltf_fault read_rotation(struct reading *reading)
{
        float *r = reading->node->trs.r;
        bool was_changed;
        enum scn_gltf_fault fault = read_floats(reading, "rotation", 4, r);

        if (fault != SCN_GLTF_OK)
                return fault;
        const double length =
                sqrt((double)r[0] * r[0] + (double)r[1] * r[1] + (double)r[2] * r[2] + (double)r[3] * r[3]);
        if (scn_quaternion_normalise(r, &was_changed) != SCN_OK)
                return refuse(reading, SCN_GLTF_ZERO_QUATERNION, "");
        if (was_changed)
                note(reading, SCN_GLTF_NOTE_NORMALISED, length, reading->node->name);
        return SCN_GLTF_OK;
}

static enum scn_gltf_fault read_transform(struct reading *reading)
{
        struct scn_trs *trs = &reading->node->trs;
        const bool has_trs = json_object_get(reading->json, "translation") != NULL ||
                json_object_get(reading->json, "rotation") != NULL || json_object_get(reading->json, "scale") != NULL;
        bool has_matrix;

        *trs = SCN_TRS_IDENTITY;
        enum scn_gltf_fault fault = read_matrix(reading, &has_matrix);
        if (fault == SCN_GLTF_OK && has_matrix && has_trs)
                fault = refuse(reading, SCN_GLTF_MATRIX_AND_TRS, "");
        if (fault == SCN_GLTF_OK)
                fault = read_floats(reading, "translation", 3, trs->t);
        if (fault == SCN_GLTF_OK && !has_matrix)
                fault = read_rotation(reading);
        if (fault == SCN_GLTF_OK)
                fault = read_floats(reading, "scale", 3, trs->s);
        reading->node->fields = fields_of(trs);
        return fault;
}

/* --- Properties --- */

enum scn_gltf_fault scn_gltf_node_add_property(
        struct scn_gltf_file *file, uint32_t index, const char *key, size_t size, struct scn_slice value)
{
        struct scn_gltf_nodes *out = file->out;
        struct scn_gltf_node *node = &file->nodes[index];
        const struct scn_limits *limits = &file->options->limits;

        SCN_ASSERT(node->properties_first + node->properties_count == out->properties_count);
        if (size == 0 || size > limits->key_bytes_max)
                return scn_gltf_file_refuse(file, SCN_GLTF_KEY_TOO_LONG, index, key);
        if (node->properties_count == limits->properties_max)
                return scn_gltf_file_refuse(file, SCN_GLTF_TOO_MANY_PROPS, index, key);
        const struct scn_slice name = scn_arena_copy(&out->arena, key, (uint32_t)size);
        if (name.data == NULL ||
                !scn_grow((void **)&out->properties, &out->properties_capacity, sizeof *out->properties,
                        out->properties_count + 1, SIZE_MAX / 64))
                return scn_gltf_file_refuse(file, SCN_GLTF_NO_MEMORY, index, "");
        out->properties[out->properties_count++] = (struct scn_property){name, value};
        node->properties_count++;
        return SCN_GLTF_OK;
}

static enum scn_gltf_fault add_value(
        struct reading *reading, const char *key, size_t size, const json_t *value, enum scn_json_style style)
{
        struct scn_slice packed;
        enum scn_gltf_fault fault = scn_gltf_file_pack(reading->file, value, style, reading->index, key, &packed);

        return fault != SCN_GLTF_OK ? fault
                                    : scn_gltf_node_add_property(reading->file, reading->index, key, size, packed);
}

static enum scn_gltf_fault add_plain(struct reading *reading, const char *key, const json_t *value)
{
        return add_value(reading, key, strlen(key), value, SCN_JSON_PLAIN);
}

enum scn_gltf_fault scn_gltf_node_add_reference(
        struct scn_gltf_file *file, uint32_t index, const char *key, uint32_t number, struct scn_slice name)
{
        struct scn_slice value;
        struct scn_packer packer = scn_packer_to(&file->packed);

        scn_buffer_reset(packer.buffer);
        scn_pack_map(&packer, name.data != NULL ? 2 : 1);
        scn_pack_cstring(&packer, "index");
        scn_pack_uint(&packer, number);
        if (name.data != NULL) {
                scn_pack_cstring(&packer, "name");
                scn_pack_text(&packer, name);
        }
        if (packer.error != SCN_OK)
                return scn_gltf_file_refuse(file,
                        packer.error == SCN_E_NO_MEMORY ? SCN_GLTF_NO_MEMORY : SCN_GLTF_VALUE_TOO_LARGE, index, key);
        enum scn_gltf_fault fault = scn_gltf_file_keep_packed(file, index, key, &value);
        return fault != SCN_GLTF_OK ? fault : scn_gltf_node_add_property(file, index, key, strlen(key), value);
}

/* A member that is an index into one of the file's lists, if it is there. */
static enum scn_gltf_fault read_reference(struct reading *reading, const json_t *holder, const char *what,
        const struct scn_gltf_list *list, const char *key, bool is_by_name)
{
        const json_t *number = json_object_get(holder, what);
        uint32_t index;

        if (number == NULL)
                return SCN_GLTF_OK;
        enum scn_gltf_fault fault =
                scn_gltf_file_index(reading->file, number, list->count, reading->index, what, &index);
        if (fault != SCN_GLTF_OK)
                return fault;
        if (is_by_name)
                return scn_gltf_node_add_reference(reading->file, reading->index, key, index, list->items[index]);
        return scn_gltf_node_add_property(reading->file, reading->index, key, strlen(key), list->items[index]);
}

static enum scn_gltf_fault read_references(struct reading *reading)
{
        struct scn_gltf_file *file = reading->file;
        const json_t *weights = json_object_get(reading->json, "weights");
        enum scn_gltf_fault fault =
                read_reference(reading, reading->json, "camera", &file->cameras, "gltf.camera", false);

        if (fault == SCN_GLTF_OK)
                fault = read_reference(reading, reading->json, "mesh", &file->meshes, "gltf.mesh", true);
        if (fault == SCN_GLTF_OK)
                fault = read_reference(reading, reading->json, "skin", &file->skins, "gltf.skin", true);
        if (fault == SCN_GLTF_OK && weights != NULL)
                fault = json_is_array(weights) ? add_plain(reading, "gltf.weights", weights)
                                               : refuse(reading, SCN_GLTF_BAD_KIND, "weights is not an array");
        return fault;
}

static enum scn_gltf_fault read_extensions(struct reading *reading)
{
        json_t *extensions = json_object_get(reading->json, "extensions");

        if (extensions != NULL && !json_is_object(extensions))
                return refuse(reading, SCN_GLTF_BAD_KIND, "extensions is not an object");
        for (void *at = json_object_iter(extensions); at != NULL; at = json_object_iter_next(extensions, at)) {
                const char *key = json_object_iter_key(at);
                if (strcmp(key, SCN_GLTF_LIGHTS) != 0)
                        note(reading, SCN_GLTF_NOTE_EXTENSION, 0.0,
                                (struct scn_slice){(const uint8_t *)key, (uint32_t)strlen(key)});
        }
        const json_t *light = json_object_get(extensions, SCN_GLTF_LIGHTS);
        if (light != NULL && !json_is_object(light))
                return refuse(reading, SCN_GLTF_BAD_KIND, SCN_GLTF_LIGHTS " is not an object");
        return read_reference(reading, light, "light", &reading->file->lights, "gltf.light", false);
}

/* --- Extras --- */

/* Whether this is what gltf_write.c keeps in extras, or another's member of the same name. */
static bool is_section(const json_t *section)
{
        const json_t *properties = json_object_get(section, "properties");
        const json_t *rotation = json_object_get(section, "rotation");
        const json_t *pairs = json_object_get(section, "pairs");
        size_t known = json_object_get(section, "extras") != NULL;

        known += (size_t)(properties != NULL) + (size_t)(rotation != NULL) + (size_t)(pairs != NULL);
        return known > 0 && known == json_object_size(section) && (properties == NULL || json_is_object(properties)) &&
                (rotation == NULL || json_array_size(rotation) == 4) && (pairs == NULL || json_is_array(pairs));
}

/* A rotation of which the node's own is what glTF could have; another one was set since, and counts. */
static void restore_rotation(struct reading *reading, const json_t *list)
{
        float kept[4];
        bool is_same = true;
        bool was_changed;

        for (uint32_t i = 0; i < 4; i++) {
                kept[i] = (float)json_number_value(json_array_get(list, i));
                is_same = is_same && fminf(fmaxf(kept[i], -1.0f), 1.0f) == reading->node->trs.r[i];
        }
        if (is_same && scn_quaternion_normalise(kept, &was_changed) == SCN_OK && !was_changed) {
                memcpy(reading->node->trs.r, kept, sizeof kept);
                reading->node->fields = fields_of(&reading->node->trs);
        }
}

static bool has_property(const struct reading *reading, const char *key, size_t size)
{
        const struct scn_gltf_node *node = reading->node;

        for (uint32_t i = 0; i < node->properties_count; i++) {
                const struct scn_slice known = reading->file->out->properties[node->properties_first + i].key;
                if (known.size == size && memcmp(known.data, key, size) == 0)
                        return true;
        }
        return false;
}

static bool has_extras(const struct reading *reading)
{
        return has_property(reading, "gltf.extras", strlen("gltf.extras"));
}

/* Properties whose keys no object of JSON may have, as far as its readers are concerned. */
static enum scn_gltf_fault read_pairs(struct reading *reading, const json_t *pairs)
{
        enum scn_gltf_fault fault = SCN_GLTF_OK;

        for (size_t i = 0; i < json_array_size(pairs) && fault == SCN_GLTF_OK; i++) {
                const json_t *pair = json_array_get(pairs, i);
                const json_t *key = json_array_get(pair, 0);
                if (json_array_size(pair) != 2 || !json_is_string(key))
                        fault = refuse(reading, SCN_GLTF_BAD_VALUE, "extras.scened.pairs");
                else if (!has_property(reading, json_string_value(key), json_string_length(key)))
                        fault = add_value(reading, json_string_value(key), json_string_length(key),
                                json_array_get(pair, 1), SCN_JSON_TAGGED);
        }
        return fault;
}

/* What the file says in glTF's own words (a camera that somebody put there since) goes before what we kept. */
static enum scn_gltf_fault read_section(struct reading *reading, const json_t *section)
{
        json_t *properties = json_object_get(section, "properties");
        const json_t *extras = json_object_get(section, "extras");
        const json_t *rotation = json_object_get(section, "rotation");
        enum scn_gltf_fault fault = SCN_GLTF_OK;

        if (rotation != NULL)
                restore_rotation(reading, rotation);
        if (extras != NULL && has_extras(reading))
                note(reading, SCN_GLTF_NOTE_KEPT_EXTRAS, 0.0, reading->node->name);
        else if (extras != NULL)
                fault = add_value(reading, "gltf.extras", strlen("gltf.extras"), extras, SCN_JSON_TAGGED);
        for (void *at = json_object_iter(properties); at != NULL && fault == SCN_GLTF_OK;
                at = json_object_iter_next(properties, at)) {
                const char *key = json_object_iter_key(at);
                const size_t size = json_object_iter_key_len(at);
                if (!has_property(reading, key, size))
                        fault = add_value(reading, key, size, json_object_iter_value(at), SCN_JSON_TAGGED);
        }
        return fault == SCN_GLTF_OK ? read_pairs(reading, json_object_get(section, "pairs")) : fault;
}

static enum scn_gltf_fault read_extras(struct reading *reading)
{
        json_t *extras = json_object_get(reading->json, "extras");
        json_t *section = json_object_get(extras, "scened");
        enum scn_gltf_fault fault = SCN_GLTF_OK;

        if (extras == NULL)
                return SCN_GLTF_OK;
        if (json_is_null(extras)) {
                note(reading, SCN_GLTF_NOTE_NULL_EXTRAS, 0.0, reading->node->name);
                return SCN_GLTF_OK;
        }
        if (!is_section(section))
                return add_plain(reading, "gltf.extras", extras);
        (void)json_incref(section);
        (void)json_object_del(extras, "scened");
        if (json_object_size(extras) > 0)
                fault = add_plain(reading, "gltf.extras", extras);
        if (fault == SCN_GLTF_OK)
                fault = read_section(reading, section);
        json_decref(section);
        return fault;
}

/* --- A node --- */

typedef enum scn_gltf_fault (*step_fn)(struct reading *reading);

enum scn_gltf_fault scn_gltf_node_parse(struct scn_gltf_file *file, uint32_t index, struct scn_slice piece)
{
        static const step_fn steps[] = {
                read_name, read_children, read_transform, read_references, read_extensions, read_extras};
        struct reading reading = {.file = file, .node = &file->nodes[index], .index = index};
        enum scn_gltf_fault fault = SCN_GLTF_OK;

        SCN_ASSERT(index < file->nodes_count);
        reading.node->properties_first = file->out->properties_count;
        reading.json = scn_gltf_file_load(file, piece, index);
        if (reading.json == NULL)
                return file->report->fault;
        file->piece = piece;
        if (!json_is_object(reading.json))
                fault = refuse(&reading, SCN_GLTF_BAD_KIND, "a node is not an object");
        for (size_t i = 0; i < sizeof steps / sizeof *steps && fault == SCN_GLTF_OK; i++)
                fault = steps[i](&reading);
        json_decref(reading.json);
        return fault;
}
