/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/gltf_write.h"

#include "client/scenectl/file_out.h"
#include "client/scenectl/gltf_objects.h"
#include "client/scenectl/gltf_value_set.h"
#include "client/scenectl/json_value.h"
#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/base/uid.h"
#include "protocol/wire/pack.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The text is handed to the system when it has grown to this. */
#define FLUSH_BYTES ((size_t)65536)
/* What one value can add to it at most, many times over: the limit of a value, every byte escaped. */
#define TEXT_BYTES_MAX ((size_t)67108864)

#define GLB_HEAD_BYTES 20
#define GLB_HEAD_ROOM "glTF the lengths ..."
SCN_STATIC_ASSERT(sizeof GLB_HEAD_ROOM - 1 == GLB_HEAD_BYTES, "as long as the head that replaces it");
#define LIGHTS "KHR_lights_punctual"

/* What only the file has that was imported: of it a document has a property with the number in that file. */
static const struct {
        const char *key;
        const char *things;
} elsewhere[] = {{"gltf.mesh", "meshes"}, {"gltf.skin", "skins"}};
#define ELSEWHERE_COUNT (sizeof elsewhere / sizeof *elsewhere)

struct writer {
        const struct scn_document *document;
        scn_node_id top;
        enum scn_gltf_format format;
        struct scn_gltf_report *report;
        struct scn_file_out out;
        struct scn_buffer text; /* not yet handed on */
        struct scn_json json;
        uint64_t written_bytes;
        scn_node_id *nodes; /* owned; in the order of the file */
        size_t nodes_count;
        size_t nodes_capacity;
        size_t tops_count;
        struct scn_index_map by_id; /* made when the first reference to a node is met */
        struct scn_gltf_value_set cameras;
        struct scn_gltf_value_set lights;
        uint32_t wanting[ELSEWHERE_COUNT]; /* nodes with such a property */
        scn_node_id node;                  /* being written, or 0; with what of it, for a refusal */
        struct scn_slice part;
};

/* --- Faults --- */

/* The first fault stays. */
static void refuse(struct writer *writer, enum scn_gltf_fault fault, const char *reason)
{
        char detail[SCN_GLTF_DETAIL_BYTES];
        char uid[SCN_UID_TEXT_LENGTH + 1];

        if (writer->node == 0) {
                (void)scn_gltf_report_refuse(writer->report, fault, SCN_GLTF_NODE_NONE, reason);
                return;
        }
        scn_uid_format(scn_document_node(writer->document, writer->node).uid, uid);
        (void)snprintf(detail, sizeof detail, "node %s, %.*s%s%s", uid, (int)writer->part.size,
                writer->part.data != NULL ? (const char *)writer->part.data : "", *reason != '\0' ? ": " : "", reason);
        (void)scn_gltf_report_refuse(writer->report, fault, SCN_GLTF_NODE_NONE, detail);
}

static bool has_failed(const struct writer *writer)
{
        return writer->report->fault != SCN_GLTF_OK;
}

static void refuse_error(struct writer *writer, enum scn_error error)
{
        switch ((int)error) {
        case SCN_OK:
                break;
        case SCN_E_NO_MEMORY:
                refuse(writer, SCN_GLTF_NO_MEMORY, "");
                break;
        case SCN_E_NOT_FINITE:
                refuse(writer, SCN_GLTF_NOT_FINITE, "");
                break;
        case SCN_E_BAD_UTF8:
                refuse(writer, SCN_GLTF_BAD_TEXT, "");
                break;
        default:
                refuse(writer, SCN_GLTF_BAD_VALUE, "");
        }
}

static void set_part(struct writer *writer, const char *part)
{
        writer->part = (struct scn_slice){(const uint8_t *)part, (uint32_t)strlen(part)};
}

/* --- Text --- */

static void hand_on(struct writer *writer, size_t bytes_min)
{
        refuse_error(writer, writer->json.error);
        if (has_failed(writer) || writer->text.size < bytes_min)
                return;
        const int error = scn_file_out_write(&writer->out, writer->text.data, writer->text.size);
        if (error != 0)
                (void)scn_gltf_report_refuse(
                        writer->report, SCN_GLTF_NOT_WRITABLE, SCN_GLTF_NODE_NONE, strerror(error));
        writer->written_bytes += writer->text.size;
        scn_buffer_reset(&writer->text);
}

static void put(struct writer *writer, const char *text)
{
        scn_json_put(&writer->json, text);
}

/* A comma before all but the first. */
static void put_comma(struct writer *writer, bool *has_begun)
{
        put(writer, *has_begun ? "," : "");
        *has_begun = true;
}

static void put_key(struct writer *writer, const char *key, bool *has_begun)
{
        put_comma(writer, has_begun);
        scn_json_put_cstring(&writer->json, key);
        put(writer, ":");
}

/* [first, first + 1, ...] */
static void put_range(struct writer *writer, size_t first, size_t count)
{
        put(writer, "[");
        for (size_t i = 0; i < count; i++) {
                put(writer, i > 0 ? "," : "");
                scn_json_put_uint(&writer->json, first + i);
                hand_on(writer, FLUSH_BYTES);
        }
        put(writer, "]");
}

/* --- Which nodes --- */

static bool is_left_out(const struct writer *writer)
{
        const struct scn_node_view top = scn_document_node(writer->document, writer->top);
        const struct scn_trs usual = SCN_TRS_IDENTITY;

        return top.parent == 0 && top.properties_count == 0 && memcmp(&top.trs, &usual, sizeof usual) == 0;
}

static void add_node(struct writer *writer, scn_node_id id)
{
        if (!scn_grow((void **)&writer->nodes, &writer->nodes_capacity, sizeof *writer->nodes, writer->nodes_count + 1,
                    UINT32_MAX - 1)) {
                refuse(writer, SCN_GLTF_NO_MEMORY, "");
                return;
        }
        writer->nodes[writer->nodes_count++] = id;
}

static void add_children(struct writer *writer, scn_node_id parent)
{
        scn_node_id child = scn_document_node(writer->document, parent).first_child;

        for (; child != 0 && !has_failed(writer); child = scn_document_node(writer->document, child).next)
                add_node(writer, child);
}

/* Level by level, so that a node's children stand one after the other and their numbers follow from counting. */
static void list_nodes(struct writer *writer)
{
        if (is_left_out(writer))
                add_children(writer, writer->top);
        else
                add_node(writer, writer->top);
        writer->tops_count = writer->nodes_count;
        for (size_t i = 0; i < writer->nodes_count && !has_failed(writer); i++)
                add_children(writer, writer->nodes[i]);
}

/* --- References to nodes --- */

static uint64_t hash_of_node(const void *owner, uint32_t ref)
{
        const struct writer *writer = owner;
        return scn_gltf_value_set_mix(writer->nodes[ref]);
}

static bool is_node(const void *owner, uint32_t ref, const void *key)
{
        const struct writer *writer = owner;
        return writer->nodes[ref] == *(const scn_node_id *)key;
}

static bool find_index(void *data, struct scn_uid uid, uint32_t *index_out)
{
        struct writer *writer = data;
        const scn_node_id id = scn_document_find_uid(writer->document, uid);

        if (id == 0)
                return false;
        if (writer->by_id.count == 0) {
                if (!scn_index_map_reserve(&writer->by_id, (uint32_t)writer->nodes_count)) {
                        refuse(writer, SCN_GLTF_NO_MEMORY, "");
                        return false;
                }
                for (uint32_t i = 0; i < writer->nodes_count; i++)
                        scn_index_map_add(&writer->by_id, scn_gltf_value_set_mix(writer->nodes[i]), i);
        }
        *index_out = scn_index_map_find(&writer->by_id, scn_gltf_value_set_mix(id), &id);
        return *index_out != SCN_INDEX_MAP_NONE;
}

/* --- Cameras and lights --- */

static void put_object_number(struct writer *writer, struct scn_gltf_value_set *objects, struct scn_slice value)
{
        uint32_t number;

        if (scn_gltf_value_set_add(objects, value, &number))
                scn_json_put_uint(&writer->json, number);
        else
                refuse(writer, SCN_GLTF_NO_MEMORY, "");
}

static void put_objects(struct writer *writer, const struct scn_gltf_value_set *objects)
{
        put(writer, "[");
        for (size_t i = 0; i < objects->count; i++) {
                put(writer, i > 0 ? ",\n" : "\n");
                scn_json_put_value(&writer->json, objects->items[i], SCN_JSON_PLAIN, NULL);
                hand_on(writer, FLUSH_BYTES);
        }
        put(writer, "]");
}

/* --- A node --- */

/* Where the properties of a node go. */
struct sorted {
        struct scn_slice camera; /* data == NULL: there is none, or it is kept in extras */
        struct scn_slice light;
        struct scn_slice extras;
        bool has_kept;     /* some property stands in extras.scened.properties */
        bool has_pairs;    /* and some in .pairs, for its key */
        bool has_rotation; /* and so does the rotation */
};

static bool is_key(struct scn_slice key, const char *word)
{
        return key.size == strlen(word) && memcmp(key.data, word, key.size) == 0;
}

/* Few readers of JSON take a zero byte in a key, ours not among them. */
static bool is_odd_key(struct scn_slice key)
{
        return memchr(key.data, 0, key.size) != NULL;
}

/* Whether a property has a place of its own in the file; the place is filled. */
static bool has_place(struct sorted *sorted, const struct scn_property *property)
{
        struct scn_slice *place = NULL;

        if (is_key(property->key, "gltf.extras"))
                place = &sorted->extras;
        else if (is_key(property->key, "gltf.camera") && scn_gltf_is_camera(property->value))
                place = &sorted->camera;
        else if (is_key(property->key, "gltf.light") && scn_gltf_is_light(property->value))
                place = &sorted->light;
        if (place != NULL)
                *place = property->value;
        return place != NULL;
}

/* glTF wants each component between -1 and 1; that of a rotation which is a little longer than 1 can be more. */
static void clamp_rotation(const float r[4], float clamped_out[4])
{
        for (uint32_t i = 0; i < 4; i++)
                clamped_out[i] = fminf(fmaxf(r[i], -1.0f), 1.0f);
}

static void count_wanting(struct writer *writer, struct scn_slice key)
{
        for (size_t i = 0; i < ELSEWHERE_COUNT; i++)
                writer->wanting[i] += is_key(key, elsewhere[i].key);
}

static struct sorted sort_properties(struct writer *writer, const struct scn_node_view *node)
{
        struct sorted sorted = {.has_kept = false};
        float clamped[4];

        clamp_rotation(node->trs.r, clamped);
        sorted.has_rotation = memcmp(clamped, node->trs.r, sizeof clamped) != 0;

        for (uint32_t i = 0; i < node->property_fields_count; i++) {
                const struct scn_property property = scn_document_property(writer->document, node->id, i, NULL);
                if (property.value.data == NULL || has_place(&sorted, &property))
                        continue;
                sorted.has_kept = sorted.has_kept || !is_odd_key(property.key);
                sorted.has_pairs = sorted.has_pairs || is_odd_key(property.key);
                count_wanting(writer, property.key);
                if (is_key(property.key, "gltf.camera") || is_key(property.key, "gltf.light"))
                        scn_gltf_report_add(writer->report, SCN_GLTF_NOTE_KEPT_IN_EXTRAS, SCN_GLTF_NODE_NONE, 0.0,
                                node->name.data != NULL ? node->name : property.key);
        }
        return sorted;
}

/* Whether extras can stand as they are, with or without another member beside theirs. */
static bool can_stand(struct scn_slice extras, bool is_beside)
{
        struct scn_unpacker in = scn_unpacker_from(extras);

        if (!scn_json_value_is_plain(extras))
                return false;
        if (scn_unpack_kind(&in) != SCN_PACK_MAP)
                return !is_beside;
        uint32_t left = scn_unpack_map(&in);
        if (left == 0)
                return !is_beside;
        for (; left > 0; left--) {
                if (is_key(scn_unpack_text(&in, UINT32_MAX), "scened"))
                        return false;
                (void)scn_unpack_raw(&in);
        }
        return true;
}

static void put_members(struct writer *writer, struct scn_slice map, bool *has_begun)
{
        struct scn_unpacker in = scn_unpacker_from(map);

        for (uint32_t left = scn_unpack_map(&in); left > 0; left--) {
                put_comma(writer, has_begun);
                scn_json_put_text(&writer->json, scn_unpack_text(&in, UINT32_MAX));
                put(writer, ":");
                scn_json_put_value(&writer->json, scn_unpack_raw(&in), SCN_JSON_PLAIN, NULL);
        }
}

static void put_tagged(struct writer *writer, struct scn_slice value)
{
        const struct scn_json_nodes nodes = {.find_index = find_index, .data = writer};
        scn_json_put_value(&writer->json, value, SCN_JSON_TAGGED, &nodes);
}

/* Those with odd keys as pairs, or the others as members. */
static void put_kept_properties(struct writer *writer, const struct scn_node_view *node, bool are_pairs)
{
        bool has_begun = false;

        put(writer, are_pairs ? "[" : "{");
        for (uint32_t i = 0; i < node->property_fields_count && !has_failed(writer); i++) {
                const struct scn_property property = scn_document_property(writer->document, node->id, i, NULL);
                if (property.value.data == NULL || is_odd_key(property.key) != are_pairs ||
                        has_place(&(struct sorted){.has_kept = false}, &property))
                        continue;
                writer->part = property.key;
                put_comma(writer, &has_begun);
                put(writer, are_pairs ? "[" : "");
                scn_json_put_text(&writer->json, property.key);
                put(writer, are_pairs ? "," : ":");
                put_tagged(writer, property.value);
                put(writer, are_pairs ? "]" : "");
                hand_on(writer, FLUSH_BYTES);
        }
        put(writer, are_pairs ? "]" : "}");
}

static void put_float_list(struct writer *writer, const float *floats, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                put(writer, i > 0 ? "," : "[");
                scn_json_put_float(&writer->json, floats[i]);
        }
        put(writer, "]");
}

/* Whether there is anything for extras.scened, but extras themselves. */
static bool has_section_of(const struct sorted *sorted)
{
        return sorted->has_kept || sorted->has_pairs || sorted->has_rotation;
}

static void put_extras(struct writer *writer, const struct scn_node_view *node, const struct sorted *sorted)
{
        const bool has_extras = sorted->extras.data != NULL;
        const bool has_section = has_section_of(sorted);
        const bool can_be = has_extras && can_stand(sorted->extras, has_section);
        bool has_begun = false;

        set_part(writer, "gltf.extras");
        if (can_be && !has_section) {
                scn_json_put_value(&writer->json, sorted->extras, SCN_JSON_PLAIN, NULL);
                return;
        }
        put(writer, "{");
        if (can_be)
                put_members(writer, sorted->extras, &has_begun);
        put_key(writer, "scened", &has_begun);
        has_begun = false;
        put(writer, "{");
        if (has_extras && !can_be) {
                put_key(writer, "extras", &has_begun);
                put_tagged(writer, sorted->extras);
        }
        if (sorted->has_rotation) {
                put_key(writer, "rotation", &has_begun);
                put_float_list(writer, node->trs.r, 4);
        }
        if (sorted->has_kept) {
                put_key(writer, "properties", &has_begun);
                put_kept_properties(writer, node, false);
        }
        if (sorted->has_pairs) {
                put_key(writer, "pairs", &has_begun);
                put_kept_properties(writer, node, true);
        }
        put(writer, "}}");
}

/* Unless it is as by default, to the bit. */
static void put_floats(struct writer *writer, const char *key, const float *floats, const float *usual, uint32_t count,
        bool *has_begun)
{
        if (memcmp(floats, usual, count * sizeof *floats) == 0)
                return;
        set_part(writer, key);
        put_key(writer, key, has_begun);
        put_float_list(writer, floats, count);
        hand_on(writer, FLUSH_BYTES);
}

static void put_node(struct writer *writer, scn_node_id id, size_t first_child)
{
        const struct scn_node_view node = scn_document_node(writer->document, id);
        const struct scn_trs usual = SCN_TRS_IDENTITY;
        const struct sorted sorted = sort_properties(writer, &node);
        float rotation[4];
        bool has_begun = false;

        clamp_rotation(node.trs.r, rotation);
        writer->node = id;
        put(writer, "{");
        set_part(writer, "name");
        if (node.name.data != NULL) {
                put_key(writer, "name", &has_begun);
                scn_json_put_text(&writer->json, node.name);
                hand_on(writer, FLUSH_BYTES);
        }
        put_floats(writer, "translation", node.trs.t, usual.t, 3, &has_begun);
        put_floats(writer, "rotation", rotation, usual.r, 4, &has_begun);
        put_floats(writer, "scale", node.trs.s, usual.s, 3, &has_begun);
        if (node.children_count > 0) {
                put_key(writer, "children", &has_begun);
                put_range(writer, first_child, node.children_count);
        }
        if (sorted.camera.data != NULL) {
                put_key(writer, "camera", &has_begun);
                put_object_number(writer, &writer->cameras, sorted.camera);
        }
        if (sorted.light.data != NULL) {
                put_key(writer, "extensions", &has_begun);
                put(writer, "{\"" LIGHTS "\":{\"light\":");
                put_object_number(writer, &writer->lights, sorted.light);
                put(writer, "}}");
        }
        if (sorted.extras.data != NULL || has_section_of(&sorted)) {
                put_key(writer, "extras", &has_begun);
                put_extras(writer, &node, &sorted);
        }
        put(writer, "}");
        hand_on(writer, FLUSH_BYTES);
        writer->node = 0;
}

/* --- The file --- */

static void put_scene(struct writer *writer)
{
        const struct scn_slice name = scn_document_node(writer->document, writer->top).name;
        bool has_begun = false;

        put(writer, "\"scene\":0,\n\"scenes\":[{");
        if (name.data != NULL && is_left_out(writer)) {
                put_key(writer, "name", &has_begun);
                scn_json_put_text(&writer->json, name);
        }
        /* glTF has no empty lists. */
        if (writer->tops_count > 0) {
                put_key(writer, "nodes", &has_begun);
                put_range(writer, 0, writer->tops_count);
        }
        put(writer, "}]");
}

static void put_nodes(struct writer *writer)
{
        size_t next_child = writer->tops_count;

        put(writer, ",\n\"nodes\":[");
        for (size_t i = 0; i < writer->nodes_count && !has_failed(writer); i++) {
                put(writer, i > 0 ? ",\n" : "\n");
                put_node(writer, writer->nodes[i], next_child);
                next_child += scn_document_node(writer->document, writer->nodes[i]).children_count;
        }
        put(writer, "]");
}

static void put_file(struct writer *writer)
{
        put(writer, "{\n\"asset\":{\"version\":\"2.0\",\"generator\":\"scened\"},\n");
        put_scene(writer);
        if (writer->nodes_count > 0)
                put_nodes(writer);
        if (writer->cameras.count > 0) {
                put(writer, ",\n\"cameras\":");
                put_objects(writer, &writer->cameras);
        }
        if (writer->lights.count > 0) {
                put(writer, ",\n\"extensionsUsed\":[\"" LIGHTS "\"],\n\"extensions\":{\"" LIGHTS "\":{\"lights\":");
                put_objects(writer, &writer->lights);
                put(writer, "}}");
        }
        put(writer, "\n}\n");
}

static void set_word(uint8_t *bytes, uint32_t word)
{
        for (uint32_t i = 0; i < 4; i++)
                bytes[i] = (uint8_t)(word >> 8 * i);
}

/* The lengths are known at the end; until then there is room for them. See gltf_read.c for the layout. */
static void finish_binary(struct writer *writer)
{
        uint8_t head[GLB_HEAD_BYTES];

        if (has_failed(writer))
                return;
        if (writer->written_bytes > UINT32_MAX) {
                refuse(writer, SCN_GLTF_FILE_TOO_LARGE, "");
                return;
        }
        memcpy(head, "glTF", 4);
        set_word(head + 4, 2);
        set_word(head + 8, (uint32_t)writer->written_bytes);
        set_word(head + 12, (uint32_t)writer->written_bytes - GLB_HEAD_BYTES);
        memcpy(head + 16, "JSON", 4);
        const int error = scn_file_out_patch(&writer->out, 0, head, sizeof head);
        if (error != 0)
                refuse(writer, SCN_GLTF_NOT_WRITABLE, strerror(error));
}

/* Whoever opens the file elsewhere sees nodes without shapes. */
static void note_wanting(const struct writer *writer)
{
        for (size_t i = 0; i < ELSEWHERE_COUNT; i++) {
                const char *things = elsewhere[i].things;
                if (writer->wanting[i] > 0)
                        scn_gltf_report_add(writer->report, SCN_GLTF_NOTE_NOT_WITH_IT, SCN_GLTF_NODE_NONE,
                                writer->wanting[i],
                                (struct scn_slice){(const uint8_t *)things, (uint32_t)strlen(things)});
        }
}

static void write_all(struct writer *writer)
{
        const bool is_binary = writer->format == SCN_GLTF_BINARY;

        list_nodes(writer);
        if (is_binary)
                put(writer, GLB_HEAD_ROOM);
        if (!has_failed(writer))
                put_file(writer);
        while (is_binary && (writer->written_bytes + writer->text.size) % 4 != 0 && writer->json.error == SCN_OK)
                put(writer, " ");
        hand_on(writer, 0);
        if (is_binary)
                finish_binary(writer);
        note_wanting(writer);
}

enum scn_gltf_fault scn_gltf_write_file(const struct scn_document *document, scn_node_id top, const char *path,
        enum scn_gltf_format format, struct scn_gltf_report *report)
{
        struct writer writer = {.document = document, .top = top, .format = format, .report = report};

        SCN_ASSERT(scn_document_has(document, top));
        scn_gltf_report_init(report);
        const int error = scn_file_out_begin(&writer.out, path);
        if (error != 0)
                return scn_gltf_report_refuse(report, SCN_GLTF_NOT_WRITABLE, SCN_GLTF_NODE_NONE, strerror(error));
        scn_buffer_init(&writer.text, TEXT_BYTES_MAX);
        writer.json = scn_json_to(&writer.text);
        scn_index_map_init(&writer.by_id, &writer, hash_of_node, is_node);
        scn_gltf_value_set_init(&writer.cameras);
        scn_gltf_value_set_init(&writer.lights);

        write_all(&writer);
        if (!has_failed(&writer)) {
                const int commit_error = scn_file_out_commit(&writer.out);
                if (commit_error != 0)
                        refuse(&writer, SCN_GLTF_NOT_WRITABLE, strerror(commit_error));
        }
        scn_file_out_abandon(&writer.out);
        scn_gltf_value_set_finish(&writer.lights);
        scn_gltf_value_set_finish(&writer.cameras);
        scn_index_map_finish(&writer.by_id);
        scn_free(writer.nodes);
        scn_buffer_finish(&writer.text);
        return report->fault;
}
