/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/gltf_file.h"
#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/base/uid.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- Helpers of all parts --- */

/* The line on which `at` stands, from 1. */
static uint32_t line_of(const struct scn_gltf_file *file, const uint8_t *at)
{
        uint32_t line = 1;

        for (const uint8_t *byte = file->text.data; byte < at; byte++)
                line += *byte == '\n';
        return line;
}

enum scn_gltf_fault scn_gltf_file_refuse(
        struct scn_gltf_file *file, enum scn_gltf_fault fault, uint32_t node, const char *detail)
{
        if (file->report->fault == SCN_GLTF_OK && file->piece.data != NULL)
                file->report->line = line_of(file, file->piece.data);
        return scn_gltf_report_refuse(file->report, fault, node, detail);
}

enum scn_gltf_fault scn_gltf_file_refuse_pair(
        struct scn_gltf_file *file, enum scn_gltf_fault fault, uint32_t node, uint32_t other)
{
        if (file->report->fault == SCN_GLTF_OK)
                file->report->other = other;
        return scn_gltf_file_refuse(file, fault, node, "");
}

/* Why jansson did not take a piece. */
static enum scn_gltf_fault fault_of_json(const json_error_t *error)
{
        switch ((int)json_error_code(error)) {
        case json_error_numeric_overflow:
                return SCN_GLTF_RANGE;
        case json_error_null_byte_in_key:
                return SCN_GLTF_BAD_TEXT;
        default:
                return SCN_GLTF_NOT_JSON;
        }
}

json_t *scn_gltf_file_load(struct scn_gltf_file *file, struct scn_slice piece, uint32_t node)
{
        struct scn_slice text = piece;
        struct scn_buffer mended;
        json_error_t error;
        json_t *value = NULL;
        bool is_out_of_memory = false;

        scn_buffer_init(&mended, UINT32_MAX);
        if (scn_json_has_odd_integer(piece)) {
                is_out_of_memory = scn_json_mend_integers(piece, &mended) != SCN_OK;
                text = (struct scn_slice){mended.data, (uint32_t)mended.size};
        }
        if (!is_out_of_memory)
                value = scn_json_load(text, 0, &error, &is_out_of_memory);
        scn_buffer_finish(&mended);
        if (value != NULL)
                return value;
        file->piece = piece;
        if (is_out_of_memory) {
                (void)scn_gltf_file_refuse(file, SCN_GLTF_NO_MEMORY, node, "");
        } else {
                (void)scn_gltf_file_refuse(file, fault_of_json(&error), node, error.text);
                if (error.line > 0)
                        file->report->line += (uint32_t)error.line - 1;
        }
        return NULL;
}

static enum scn_gltf_fault fault_of(enum scn_error error)
{
        static const struct {
                enum scn_error error;
                enum scn_gltf_fault fault;
        } table[] = {
                {SCN_OK, SCN_GLTF_OK},
                {SCN_E_NO_MEMORY, SCN_GLTF_NO_MEMORY},
                {SCN_E_TOO_LARGE, SCN_GLTF_VALUE_TOO_LARGE}, /* the scratch buffer's maximum is the limit */
                {SCN_E_VALUE_TOO_LARGE, SCN_GLTF_VALUE_TOO_LARGE},
                {SCN_E_VALUE_TOO_DEEP, SCN_GLTF_VALUE_TOO_DEEP},
                {SCN_E_DUPLICATE_KEY, SCN_GLTF_DUPLICATE_KEY},
        };

        for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
                if (table[i].error == error)
                        return table[i].fault;
        }
        return SCN_GLTF_BAD_VALUE;
}

enum scn_gltf_fault scn_gltf_file_keep_packed(
        struct scn_gltf_file *file, uint32_t node, const char *what, struct scn_slice *value_out)
{
        const struct scn_slice packed = {file->packed.data, (uint32_t)file->packed.size};
        enum scn_error error = scn_value_canonicalise(packed, &file->options->limits, &file->canonical);

        if (error == SCN_OK) {
                *value_out = scn_arena_copy(&file->out->arena, file->canonical.data, (uint32_t)file->canonical.size);
                error = value_out->data != NULL ? SCN_OK : SCN_E_NO_MEMORY;
        }
        scn_buffer_reset(&file->packed);
        scn_buffer_reset(&file->canonical);
        return error == SCN_OK ? SCN_GLTF_OK : scn_gltf_file_refuse(file, fault_of(error), node, what);
}

/* References to nodes by number, in what scened wrote itself. */
static bool find_uid(void *data, uint32_t index, struct scn_uid *uid_out)
{
        const struct scn_gltf_file *file = data;

        if (index >= file->nodes_count)
                return false;
        *uid_out = file->nodes[index].uid;
        return true;
}

enum scn_gltf_fault scn_gltf_file_pack(struct scn_gltf_file *file, const json_t *value, enum scn_json_style style,
        uint32_t node, const char *what, struct scn_slice *value_out)
{
        const struct scn_json_nodes nodes = {.find_uid = find_uid, .data = file};
        uint32_t levels_max = file->options->limits.value_levels_max;

        levels_max = levels_max < SCN_VALUE_LEVELS_MAX ? levels_max : SCN_VALUE_LEVELS_MAX;
        scn_buffer_reset(&file->packed);
        enum scn_error error = scn_json_pack_value(value, style, &nodes, levels_max, &file->packed);
        if (error != SCN_OK)
                return scn_gltf_file_refuse(file, fault_of(error), node, what);
        return scn_gltf_file_keep_packed(file, node, what, value_out);
}

enum scn_gltf_fault scn_gltf_file_index(struct scn_gltf_file *file, const json_t *number, uint32_t count, uint32_t node,
        const char *what, uint32_t *index_out)
{
        char detail[SCN_GLTF_DETAIL_BYTES];
        const double value = json_number_value(number);

        if (!json_is_number(number) || value != floor(value)) {
                (void)snprintf(detail, sizeof detail, "%s is not a whole number", what);
                return scn_gltf_file_refuse(file, SCN_GLTF_BAD_KIND, node, detail);
        }
        if (value < 0.0 || value >= count) {
                (void)snprintf(detail, sizeof detail, "%s %.15g, where there are %u", what, value, count);
                return scn_gltf_file_refuse(file, SCN_GLTF_BAD_INDEX, node, detail);
        }
        *index_out = (uint32_t)value;
        return SCN_GLTF_OK;
}

/* --- The file's members --- */

struct member_name {
        const char *word;
        bool is_left_out;
};

#define MEMBER_NAME(name, word, is_left_out) {word, is_left_out},
static const struct member_name member_names[] = {SCN_GLTF_MEMBER_LIST(MEMBER_NAME)};
#undef MEMBER_NAME
SCN_STATIC_ASSERT(sizeof member_names / sizeof *member_names == SCN_GLTF_MEMBER_COUNT, "a word for each member");

enum scn_gltf_fault scn_gltf_file_check_skim(struct scn_gltf_file *file, const struct scn_json_skim *skim)
{
        if (skim->fault == NULL)
                return SCN_GLTF_OK;
        file->piece = (struct scn_slice){skim->at, 0};
        return scn_gltf_file_refuse(file, SCN_GLTF_NOT_JSON, SCN_GLTF_NODE_NONE, skim->fault);
}

static enum scn_gltf_fault note_member(struct scn_gltf_file *file, struct scn_slice key, struct scn_slice value)
{
        /* A key may be spelled with escapes. */
        json_t *name = scn_gltf_file_load(file, key, SCN_GLTF_NODE_NONE);
        enum scn_gltf_fault fault = name != NULL ? SCN_GLTF_OK : file->report->fault;

        for (uint32_t i = 0; i < SCN_GLTF_MEMBER_COUNT && fault == SCN_GLTF_OK; i++) {
                const size_t length = strlen(member_names[i].word);
                if (json_string_length(name) != length ||
                        memcmp(json_string_value(name), member_names[i].word, length) != 0)
                        continue;
                if (file->members[i].data != NULL) {
                        file->piece = key;
                        fault = scn_gltf_file_refuse(file, SCN_GLTF_NOT_JSON, SCN_GLTF_NODE_NONE, "duplicate key");
                }
                file->members[i] = value;
        }
        json_decref(name);
        return fault;
}

static enum scn_gltf_fault find_members(struct scn_gltf_file *file)
{
        struct scn_json_skim skim = scn_json_skim_from(file->text, '{');
        struct scn_slice key;
        struct scn_slice value;
        enum scn_gltf_fault fault = SCN_GLTF_OK;

        while (fault == SCN_GLTF_OK && scn_json_skim_next(&skim, &key, &value))
                fault = note_member(file, key, value);
        return fault != SCN_GLTF_OK ? fault : scn_gltf_file_check_skim(file, &skim);
}

static enum scn_gltf_fault check_asset(struct scn_gltf_file *file)
{
        const struct scn_slice text = file->members[SCN_GLTF_MEMBER_ASSET];
        enum scn_gltf_fault fault = SCN_GLTF_OK;

        if (text.data == NULL)
                return scn_gltf_file_refuse(file, SCN_GLTF_NOT_GLTF, SCN_GLTF_NODE_NONE, "it has no asset");
        json_t *asset = scn_gltf_file_load(file, text, SCN_GLTF_NODE_NONE);
        if (asset == NULL)
                return file->report->fault;
        file->piece = text;
        const char *version = json_string_value(json_object_get(asset, "version"));
        const char *needed = json_string_value(json_object_get(asset, "minVersion"));
        if (version == NULL || strncmp(version, "2.", 2) != 0)
                fault = scn_gltf_file_refuse(
                        file, SCN_GLTF_NOT_GLTF, SCN_GLTF_NODE_NONE, version != NULL ? version : "it has no version");
        else if (needed != NULL && strcmp(needed, "2.0") != 0)
                fault = scn_gltf_file_refuse(file, SCN_GLTF_NOT_GLTF, SCN_GLTF_NODE_NONE, needed);
        json_decref(asset);
        return fault;
}

enum scn_gltf_fault scn_gltf_file_count(struct scn_gltf_file *file, struct scn_slice array, uint32_t *count_out)
{
        struct scn_slice unused;

        *count_out = 0;
        if (array.data == NULL)
                return SCN_GLTF_OK;
        if (array.data[0] != '[') {
                file->piece = array;
                return scn_gltf_file_refuse(file, SCN_GLTF_BAD_KIND, SCN_GLTF_NODE_NONE, "an array should be here");
        }
        struct scn_json_skim skim = scn_json_skim_from(array, '[');
        while (scn_json_skim_next(&skim, &unused, &unused))
                (*count_out)++;
        return scn_gltf_file_check_skim(file, &skim);
}

static enum scn_gltf_fault note_left_out(struct scn_gltf_file *file)
{
        for (uint32_t i = 0; i < SCN_GLTF_MEMBER_COUNT; i++) {
                const struct member_name *name = &member_names[i];
                const struct scn_slice word = {(const uint8_t *)name->word, (uint32_t)strlen(name->word)};
                uint32_t count = 0;
                if (!name->is_left_out)
                        continue;
                enum scn_gltf_fault fault = scn_gltf_file_count(file, file->members[i], &count);
                if (fault != SCN_GLTF_OK)
                        return fault;
                if (count > 0)
                        scn_gltf_report_add(file->report, SCN_GLTF_NOTE_LEFT_OUT, SCN_GLTF_NODE_NONE, count, word);
        }
        return SCN_GLTF_OK;
}

static enum scn_gltf_fault note_required(struct scn_gltf_file *file)
{
        const struct scn_slice text = file->members[SCN_GLTF_MEMBER_EXTENSIONS_REQUIRED];

        if (text.data == NULL)
                return SCN_GLTF_OK;
        json_t *names = scn_gltf_file_load(file, text, SCN_GLTF_NODE_NONE);
        if (names == NULL)
                return file->report->fault;
        file->piece = text;
        bool are_texts = json_is_array(names);
        for (size_t i = 0; i < json_array_size(names) && are_texts; i++) {
                const json_t *name = json_array_get(names, i);
                const struct scn_slice word = {
                        (const uint8_t *)json_string_value(name), (uint32_t)json_string_length(name)};
                are_texts = json_is_string(name);
                if (are_texts && strcmp(json_string_value(name), SCN_GLTF_LIGHTS) != 0)
                        scn_gltf_report_add(file->report, SCN_GLTF_NOTE_REQUIRED, SCN_GLTF_NODE_NONE, 0.0, word);
        }
        json_decref(names);
        if (are_texts)
                return SCN_GLTF_OK;
        return scn_gltf_file_refuse(
                file, SCN_GLTF_BAD_KIND, SCN_GLTF_NODE_NONE, "extensionsRequired is not an array of texts");
}

/* --- Lists that nodes refer to --- */

/* What a list keeps of an element; `what` names it: "camera 3". */
typedef enum scn_gltf_fault (*keep_fn)(
        struct scn_gltf_file *file, struct scn_slice text, const char *what, struct scn_slice *item_out);

bool scn_gltf_file_is_object(struct scn_gltf_file *file, struct scn_slice text, const char *what)
{
        char detail[SCN_GLTF_DETAIL_BYTES];

        if (text.data[0] == '{')
                return true;
        (void)snprintf(detail, sizeof detail, "%s is not an object", what);
        file->piece = text;
        (void)scn_gltf_file_refuse(file, SCN_GLTF_BAD_KIND, SCN_GLTF_NODE_NONE, detail);
        return false;
}

/* A camera or light, with all but extensions, which could mean something else in another file. */
static enum scn_gltf_fault keep_object(
        struct scn_gltf_file *file, struct scn_slice text, const char *what, struct scn_slice *item_out)
{
        static const char *const parts[] = {"perspective", "orthographic", "spot"};

        if (!scn_gltf_file_is_object(file, text, what))
                return file->report->fault;
        json_t *object = scn_gltf_file_load(file, text, SCN_GLTF_NODE_NONE);
        if (object == NULL)
                return file->report->fault;
        file->piece = text;
        (void)json_object_del(object, "extensions");
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
                (void)json_object_del(json_object_get(object, parts[i]), "extensions");
        enum scn_gltf_fault fault =
                scn_gltf_file_pack(file, object, SCN_JSON_PLAIN, SCN_GLTF_NODE_NONE, what, item_out);
        json_decref(object);
        return fault;
}

/* Of a mesh or skin the name, and not a look at anything else. */
static enum scn_gltf_fault keep_name(
        struct scn_gltf_file *file, struct scn_slice text, const char *what, struct scn_slice *item_out)
{
        struct scn_slice key;
        struct scn_slice value;

        *item_out = (struct scn_slice){NULL, 0};
        if (!scn_gltf_file_is_object(file, text, what))
                return file->report->fault;
        struct scn_json_skim skim = scn_json_skim_from(text, '{');
        while (scn_json_skim_next(&skim, &key, &value)) {
                if (!scn_json_is_key(key, "name"))
                        continue;
                json_t *name = scn_gltf_file_load(file, value, SCN_GLTF_NODE_NONE);
                if (name == NULL)
                        return file->report->fault;
                const bool is_text = json_is_string(name);
                if (is_text)
                        *item_out = scn_arena_copy(
                                &file->out->arena, json_string_value(name), (uint32_t)json_string_length(name));
                json_decref(name);
                if (is_text && item_out->data == NULL)
                        return scn_gltf_file_refuse(file, SCN_GLTF_NO_MEMORY, SCN_GLTF_NODE_NONE, "");
        }
        return scn_gltf_file_check_skim(file, &skim);
}

static enum scn_gltf_fault read_list(
        struct scn_gltf_file *file, struct scn_slice array, const char *word, keep_fn keep, struct scn_gltf_list *list)
{
        char what[SCN_GLTF_DETAIL_BYTES];
        struct scn_slice element;
        uint32_t count;
        enum scn_gltf_fault fault = scn_gltf_file_count(file, array, &count);

        if (fault != SCN_GLTF_OK || count == 0)
                return fault;
        list->items = scn_alloc_zero(count, sizeof *list->items);
        if (list->items == NULL)
                return scn_gltf_file_refuse(file, SCN_GLTF_NO_MEMORY, SCN_GLTF_NODE_NONE, "");
        struct scn_json_skim skim = scn_json_skim_from(array, '[');
        while (fault == SCN_GLTF_OK && scn_json_skim_next(&skim, &element, &element)) {
                (void)snprintf(what, sizeof what, "%s %u", word, list->count);
                fault = keep(file, element, what, &list->items[list->count++]);
        }
        return fault;
}

/* The lights stand in extensions.KHR_lights_punctual.lights. */
static enum scn_gltf_fault find_member(struct scn_gltf_file *file, struct scn_slice object, const char *what,
        const char *word, struct scn_slice *value_out)
{
        struct scn_slice key;
        struct scn_slice value;

        *value_out = (struct scn_slice){NULL, 0};
        if (object.data == NULL)
                return SCN_GLTF_OK;
        if (!scn_gltf_file_is_object(file, object, what))
                return file->report->fault;
        struct scn_json_skim skim = scn_json_skim_from(object, '{');
        while (scn_json_skim_next(&skim, &key, &value)) {
                if (scn_json_is_key(key, word))
                        *value_out = value;
        }
        return scn_gltf_file_check_skim(file, &skim);
}

static enum scn_gltf_fault read_lights(struct scn_gltf_file *file)
{
        struct scn_slice extension;
        struct scn_slice lights;
        enum scn_gltf_fault fault =
                find_member(file, file->members[SCN_GLTF_MEMBER_EXTENSIONS], "extensions", SCN_GLTF_LIGHTS, &extension);

        if (fault == SCN_GLTF_OK)
                fault = find_member(file, extension, SCN_GLTF_LIGHTS, "lights", &lights);
        return fault != SCN_GLTF_OK ? fault : read_list(file, lights, "light", keep_object, &file->lights);
}

/* --- Nodes and scenes --- */

enum scn_gltf_fault scn_gltf_file_reserve(struct scn_gltf_file *file, uint32_t nodes_count)
{
        const struct scn_limits *limits = &file->options->limits;

        SCN_ASSERT(file->nodes == NULL);
        if (nodes_count > limits->ops_max || nodes_count > limits->nodes_max)
                return scn_gltf_file_refuse(file, SCN_GLTF_TOO_MANY_NODES, SCN_GLTF_NODE_NONE, "");
        file->nodes = scn_alloc_zero(nodes_count, sizeof *file->nodes);
        file->children = scn_alloc_zero(nodes_count, sizeof *file->children);
        if (file->nodes == NULL || file->children == NULL)
                return scn_gltf_file_refuse(file, SCN_GLTF_NO_MEMORY, SCN_GLTF_NODE_NONE, "");
        file->nodes_count = nodes_count;
        for (uint32_t i = 0; i < nodes_count; i++) {
                uint8_t random[16];
                file->options->random(file->options->random_data, random, sizeof random);
                file->nodes[i].uid = scn_uid_from_random(random);
                file->nodes[i].parent = SCN_GLTF_NODE_NONE;
        }
        return SCN_GLTF_OK;
}

static enum scn_gltf_fault read_nodes(struct scn_gltf_file *file)
{
        const struct scn_slice array = file->members[SCN_GLTF_MEMBER_NODES];
        struct scn_slice element;
        uint32_t count;
        enum scn_gltf_fault fault = scn_gltf_file_count(file, array, &count);

        if (fault != SCN_GLTF_OK || count == 0)
                return fault;
        /* All at once, for a node may refer to a later one. */
        fault = scn_gltf_file_reserve(file, count);
        struct scn_json_skim skim = scn_json_skim_from(array, '[');
        for (uint32_t i = 0; fault == SCN_GLTF_OK && scn_json_skim_next(&skim, &element, &element); i++)
                fault = scn_gltf_node_parse(file, i, element);
        return fault;
}

/* The index of the scene to take, or UINT32_MAX if it is to be found by name, or if all nodes are taken. */
static enum scn_gltf_fault choose_scene(struct scn_gltf_file *file, uint32_t scenes_count, uint32_t *index_out)
{
        const struct scn_slice text = file->members[SCN_GLTF_MEMBER_SCENE];
        uint32_t index = 0;

        *index_out = UINT32_MAX;
        if (text.data != NULL) {
                json_t *number = scn_gltf_file_load(file, text, SCN_GLTF_NODE_NONE);
                if (number == NULL)
                        return file->report->fault;
                file->piece = text;
                enum scn_gltf_fault fault =
                        scn_gltf_file_index(file, number, scenes_count, SCN_GLTF_NODE_NONE, "scene", &index);
                json_decref(number);
                if (fault != SCN_GLTF_OK)
                        return fault;
        }
        if (!file->options->is_whole && file->options->scene.data == NULL && scenes_count > 0)
                *index_out = index;
        return SCN_GLTF_OK;
}

/* What is being found out while the scenes are gone through. */
struct scenes {
        uint32_t chosen; /* index, or UINT32_MAX */
        uint32_t now;    /* index of the present one */
        uint32_t *seen;  /* of each node: 1 + index of the last scene that listed it */
        bool is_found;
};

static bool has_chosen_name(const struct scn_gltf_file *file, const json_t *scene)
{
        const json_t *name = json_object_get(scene, "name");
        const struct scn_slice wanted = file->options->scene;

        return !file->options->is_whole && wanted.data != NULL && json_is_string(name) &&
                json_string_length(name) == wanted.size &&
                memcmp(json_string_value(name), wanted.data, wanted.size) == 0;
}

static enum scn_gltf_fault read_scene(struct scn_gltf_file *file, struct scenes *scenes, const json_t *scene)
{
        const json_t *list = json_object_get(scene, "nodes");
        const bool is_chosen = !scenes->is_found && (scenes->now == scenes->chosen || has_chosen_name(file, scene));

        char what[32];
        if (!json_is_object(scene) || (list != NULL && !json_is_array(list))) {
                (void)snprintf(what, sizeof what, "scene %u", scenes->now);
                return scn_gltf_file_refuse(file, SCN_GLTF_BAD_KIND, SCN_GLTF_NODE_NONE, what);
        }
        (void)snprintf(what, sizeof what, "scene %u's node", scenes->now);
        for (size_t i = 0; i < json_array_size(list); i++) {
                uint32_t node;
                enum scn_gltf_fault fault = scn_gltf_file_index(
                        file, json_array_get(list, i), file->nodes_count, SCN_GLTF_NODE_NONE, what, &node);
                if (fault != SCN_GLTF_OK)
                        return fault;
                if (scenes->seen[node] == scenes->now + 1)
                        return scn_gltf_file_refuse(file, SCN_GLTF_TWICE, node, "in a scene");
                scenes->seen[node] = scenes->now + 1;
                if (file->nodes[node].parent != SCN_GLTF_NODE_NONE)
                        return scn_gltf_file_refuse_pair(file, SCN_GLTF_SCENE_CHILD, node, file->nodes[node].parent);
                if (is_chosen)
                        file->tops[file->tops_count++] = node;
        }
        scenes->is_found = scenes->is_found || is_chosen;
        return SCN_GLTF_OK;
}

static enum scn_gltf_fault read_each_scene(struct scn_gltf_file *file, struct scenes *scenes)
{
        struct scn_json_skim skim = scn_json_skim_from(file->members[SCN_GLTF_MEMBER_SCENES], '[');
        struct scn_slice element;
        enum scn_gltf_fault fault = SCN_GLTF_OK;

        for (; fault == SCN_GLTF_OK && scn_json_skim_next(&skim, &element, &element); scenes->now++) {
                json_t *scene = scn_gltf_file_load(file, element, SCN_GLTF_NODE_NONE);
                if (scene == NULL)
                        return file->report->fault;
                file->piece = element;
                fault = read_scene(file, scenes, scene);
                json_decref(scene);
        }
        return fault;
}

static enum scn_gltf_fault read_scenes(struct scn_gltf_file *file)
{
        struct scenes scenes = {0};
        uint32_t count;
        enum scn_gltf_fault fault = scn_gltf_file_count(file, file->members[SCN_GLTF_MEMBER_SCENES], &count);

        if (fault == SCN_GLTF_OK)
                fault = choose_scene(file, count, &scenes.chosen);
        if (fault != SCN_GLTF_OK)
                return fault;
        /* A scene lists a node once, so no list is longer than this. */
        file->tops = scn_alloc_zero(file->nodes_count, sizeof *file->tops);
        scenes.seen = scn_alloc_zero(file->nodes_count, sizeof *scenes.seen);
        if (file->tops == NULL || scenes.seen == NULL)
                fault = scn_gltf_file_refuse(file, SCN_GLTF_NO_MEMORY, SCN_GLTF_NODE_NONE, "");
        if (fault == SCN_GLTF_OK && count > 0)
                fault = read_each_scene(file, &scenes);
        scn_free(scenes.seen);
        if (fault != SCN_GLTF_OK || scenes.is_found)
                return fault;
        file->piece = (struct scn_slice){NULL, 0};
        if (!file->options->is_whole && file->options->scene.data != NULL)
                return scn_gltf_file_refuse(file, SCN_GLTF_NO_SCENE, SCN_GLTF_NODE_NONE, "");
        for (uint32_t i = 0; i < file->nodes_count; i++) {
                if (file->nodes[i].parent == SCN_GLTF_NODE_NONE)
                        file->tops[file->tops_count++] = i;
        }
        return SCN_GLTF_OK;
}

enum scn_gltf_fault scn_gltf_file_parse(struct scn_gltf_file *file)
{
        enum scn_gltf_fault fault = find_members(file);

        if (fault == SCN_GLTF_OK)
                fault = check_asset(file);
        if (fault == SCN_GLTF_OK)
                fault = note_required(file);
        if (fault == SCN_GLTF_OK)
                fault = note_left_out(file);
        if (fault == SCN_GLTF_OK)
                fault = scn_gltf_path_check(file, SCN_GLTF_MEMBER_BUFFERS, "buffer");
        if (fault == SCN_GLTF_OK)
                fault = scn_gltf_path_check(file, SCN_GLTF_MEMBER_IMAGES, "image");
        if (fault == SCN_GLTF_OK)
                fault = read_list(file, file->members[SCN_GLTF_MEMBER_CAMERAS], "camera", keep_object, &file->cameras);
        if (fault == SCN_GLTF_OK)
                fault = read_lights(file);
        if (fault == SCN_GLTF_OK)
                fault = read_list(file, file->members[SCN_GLTF_MEMBER_MESHES], "mesh", keep_name, &file->meshes);
        if (fault == SCN_GLTF_OK)
                fault = read_list(file, file->members[SCN_GLTF_MEMBER_SKINS], "skin", keep_name, &file->skins);
        if (fault == SCN_GLTF_OK)
                fault = read_nodes(file);
        if (fault == SCN_GLTF_OK)
                fault = scn_gltf_tree_check(file);
        return fault != SCN_GLTF_OK ? fault : read_scenes(file);
}
