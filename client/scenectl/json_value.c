/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/json_value.h"

#include "client/scenectl/base64.h"
#include "protocol/base/assert.h"
#include "protocol/base/uid.h"
#include "protocol/wire/pack.h"

#include <math.h>
#include <string.h>

/* Integers beyond lose digits in JavaScript and in whatever else keeps numbers as doubles. */
#define EXACT_INTEGER_MAX UINT64_C(9007199254740992)

/* --- msgpack to JSON --- */

static bool has_zero(struct scn_slice text)
{
        return text.size != 0 && memchr(text.data, 0, text.size) != NULL;
}

bool scn_json_value_is_plain(struct scn_slice value)
{
        struct scn_unpacker in = scn_unpacker_from(value);
        struct scn_number number;

        for (uint64_t left = 1; left > 0 && in.error == SCN_OK; left--) {
                switch (scn_unpack_kind(&in)) {
                case SCN_PACK_ARRAY:
                        left += scn_unpack_array(&in);
                        break;
                case SCN_PACK_MAP:
                        left += UINT64_C(2) * scn_unpack_map(&in);
                        break;
                case SCN_PACK_TEXT:
                        /* JSON could say it, but few readers take it as a key, and we do not tell keys apart. */
                        if (has_zero(scn_unpack_text(&in, UINT32_MAX)))
                                return false;
                        break;
                case SCN_PACK_NUMBER:
                        number = scn_unpack_number(&in);
                        if (number.kind == SCN_NUMBER_UINT && number.value.u > INT64_MAX)
                                return false;
                        if (number.kind == SCN_NUMBER_FLOAT && !isfinite(number.value.f))
                                return false;
                        break;
                case SCN_PACK_NIL:
                case SCN_PACK_BOOL:
                        (void)scn_unpack_raw(&in);
                        break;
                case SCN_PACK_BIN:
                case SCN_PACK_EXT:
                case SCN_PACK_NONE:
                        return false;
                }
        }
        return scn_unpack_is_done(&in);
}

static void put_hex(struct scn_json *json, struct scn_slice bytes)
{
        static const char digits[] = "0123456789abcdef";

        for (uint32_t i = 0; i < bytes.size; i++)
                scn_json_put(json, (char[]){digits[bytes.data[i] >> 4], digits[bytes.data[i] & 15], '\0'});
}

static void put_base64(struct scn_json *json, struct scn_slice bytes)
{
        for (uint32_t i = 0; i < bytes.size; i += 3) {
                char text[5];
                scn_base64_encode(bytes.data + i, bytes.size - i < 3 ? bytes.size - i : 3, text);
                scn_json_put(json, text);
        }
}

static void put_ext(struct scn_json *json, struct scn_unpacker *in, const struct scn_json_nodes *nodes)
{
        int8_t type;
        const struct scn_slice bytes = scn_unpack_ext(in, &type);
        struct scn_uid uid;
        char text[SCN_UID_TEXT_LENGTH + 1];
        uint32_t index;

        if (bytes.size == SCN_EXT_NODE_BYTES && type == SCN_EXT_NODE) {
                memcpy(uid.bytes, bytes.data, sizeof uid.bytes);
                scn_json_put(json, "{\"$node\":");
                if (nodes != NULL && nodes->find_index != NULL && nodes->find_index(nodes->data, uid, &index)) {
                        scn_json_put_uint(json, index);
                } else {
                        scn_uid_format(uid, text);
                        scn_json_put_cstring(json, text);
                }
                scn_json_put(json, "}");
        } else if (bytes.size == SCN_EXT_BLOB_BYTES && type == SCN_EXT_BLOB) {
                scn_json_put(json, "{\"$blob\":\"");
                put_hex(json, bytes);
                scn_json_put(json, "\"}");
        } else if (in->error == SCN_OK) {
                in->error = SCN_E_BAD_VALUE;
        }
}

static void put_number(struct scn_json *json, struct scn_number number, enum scn_json_style style)
{
        if (number.kind == SCN_NUMBER_FLOAT) {
                scn_json_put_double(json, number.value.f);
                return;
        }
        const bool is_negative = number.kind == SCN_NUMBER_INT;
        const uint64_t magnitude = is_negative ? UINT64_C(0) - (uint64_t)number.value.i : number.value.u;
        const bool is_tagged = style == SCN_JSON_TAGGED && magnitude > EXACT_INTEGER_MAX;
        scn_json_put(json, is_tagged ? "{\"$int\":\"" : "");
        scn_json_put(json, is_negative ? "-" : "");
        scn_json_put_uint(json, magnitude);
        scn_json_put(json, is_tagged ? "\"}" : "");
}

static void put_scalar(
        struct scn_json *json, struct scn_unpacker *in, enum scn_json_style style, const struct scn_json_nodes *nodes)
{
        struct scn_slice text;

        switch (scn_unpack_kind(in)) {
        case SCN_PACK_NIL:
                (void)scn_unpack_is_nil(in);
                scn_json_put(json, "null");
                break;
        case SCN_PACK_BOOL:
                scn_json_put(json, scn_unpack_bool(in) ? "true" : "false");
                break;
        case SCN_PACK_NUMBER:
                put_number(json, scn_unpack_number(in), style);
                break;
        case SCN_PACK_TEXT:
                text = scn_unpack_text(in, UINT32_MAX);
                if (in->error == SCN_OK)
                        scn_json_put_text(json, text);
                break;
        case SCN_PACK_BIN:
                scn_json_put(json, "{\"$bin\":\"");
                put_base64(json, scn_unpack_bin(in, UINT32_MAX));
                scn_json_put(json, "\"}");
                break;
        case SCN_PACK_EXT:
                put_ext(json, in, nodes);
                break;
        case SCN_PACK_ARRAY:
        case SCN_PACK_MAP:
        case SCN_PACK_NONE:
                in->error = in->error == SCN_OK ? SCN_E_BAD_VALUE : in->error;
        }
}

/* Whether a map needs the "$map" form; `in` stands behind its head, at the first of `count` keys. */
static bool has_odd_key(struct scn_unpacker in, uint32_t count)
{
        for (; count > 0 && in.error == SCN_OK; count--) {
                const struct scn_slice key = scn_unpack_text(&in, UINT32_MAX);
                if (in.error == SCN_OK && ((key.size > 0 && key.data[0] == '$') || has_zero(key)))
                        return true;
                (void)scn_unpack_raw(&in);
        }
        return false;
}

/* An array or map that is being written. */
struct writing {
        uint32_t left;
        bool is_map;
        bool is_pairs;
        bool has_begun;
};

static struct writing open_container(struct scn_json *json, struct scn_unpacker *in, enum scn_json_style style)
{
        struct writing level = {.is_map = scn_unpack_kind(in) == SCN_PACK_MAP};

        level.left = level.is_map ? scn_unpack_map(in) : scn_unpack_array(in);
        level.is_pairs = level.is_map && style == SCN_JSON_TAGGED && has_odd_key(*in, level.left);
        scn_json_put(json, level.is_pairs ? "{\"$map\":[" : level.is_map ? "{" : "[");
        return level;
}

static void close_container(struct scn_json *json, const struct writing *level)
{
        scn_json_put(json, level->is_pairs ? "]}" : level->is_map ? "}" : "]");
}

/* What stands before the next element of a container: comma, key. */
static void put_key(struct scn_json *json, struct scn_unpacker *in, struct writing *level)
{
        scn_json_put(json, level->has_begun ? "," : "");
        level->has_begun = true;
        level->left--;
        if (!level->is_map)
                return;
        scn_json_put(json, level->is_pairs ? "[" : "");
        const struct scn_slice key = scn_unpack_text(in, UINT32_MAX);
        if (in->error == SCN_OK)
                scn_json_put_text(json, key);
        scn_json_put(json, level->is_pairs ? "," : ":");
}

void scn_json_put_value(
        struct scn_json *json, struct scn_slice value, enum scn_json_style style, const struct scn_json_nodes *nodes)
{
        struct writing levels[SCN_VALUE_LEVELS_MAX];
        struct scn_unpacker in = scn_unpacker_from(value);
        uint32_t depth = 0;

        do {
                if (depth > 0)
                        put_key(json, &in, &levels[depth - 1]);
                const enum scn_pack_kind kind = scn_unpack_kind(&in);
                bool is_whole = true;
                if (kind != SCN_PACK_ARRAY && kind != SCN_PACK_MAP) {
                        put_scalar(json, &in, style, nodes);
                } else if (depth < SCN_VALUE_LEVELS_MAX) {
                        levels[depth++] = open_container(json, &in, style);
                        is_whole = false;
                } else {
                        in.error = SCN_E_BAD_VALUE;
                }
                /* The end of an element can be the end of what holds it, and so on upwards. */
                while (depth > 0) {
                        if (is_whole && levels[depth - 1].is_pairs)
                                scn_json_put(json, "]");
                        if (levels[depth - 1].left > 0)
                                break;
                        close_container(json, &levels[--depth]);
                        is_whole = true;
                }
        } while (depth > 0 && in.error == SCN_OK && json->error == SCN_OK);
        if (json->error == SCN_OK && !scn_unpack_is_done(&in))
                json->error = SCN_E_BAD_VALUE;
}

/* --- JSON to msgpack --- */

/* An array or object that is being packed. */
struct packing {
        json_t *container;
        void *member; /* jansson's iterator */
        size_t index;
        bool is_pairs;
};

/* The tag of an object that is one, or NULL. An object with a key of that look that is none is malformed. */
static const char *find_tag(const json_t *value, bool *is_malformed_out)
{
        *is_malformed_out = false;
        for (void *at = json_object_iter((json_t *)value); at != NULL;
                at = json_object_iter_next((json_t *)value, at)) {
                const char *key = json_object_iter_key(at);
                if (key[0] != '$')
                        continue;
                if (json_object_size(value) == 1)
                        return key;
                *is_malformed_out = true;
                return NULL;
        }
        return NULL;
}

static int hex_digit(char c)
{
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static enum scn_error pack_blob(struct scn_packer *out, const json_t *text)
{
        uint8_t hash[SCN_EXT_BLOB_BYTES];

        if (json_string_length(text) != sizeof hash * 2)
                return SCN_E_BAD_VALUE;
        for (size_t i = 0; i < sizeof hash; i++) {
                const int high = hex_digit(json_string_value(text)[2 * i]);
                const int low = hex_digit(json_string_value(text)[2 * i + 1]);
                if (high < 0 || low < 0)
                        return SCN_E_BAD_VALUE;
                hash[i] = (uint8_t)(high << 4 | low);
        }
        scn_pack_ext(out, SCN_EXT_BLOB, hash, sizeof hash);
        return SCN_OK;
}

static enum scn_error pack_node(struct scn_packer *out, const json_t *name, const struct scn_json_nodes *nodes)
{
        struct scn_uid uid;

        if (json_is_integer(name)) {
                const json_int_t index = json_integer_value(name);
                if (index < 0 || index > UINT32_MAX || nodes == NULL || nodes->find_uid == NULL ||
                        !nodes->find_uid(nodes->data, (uint32_t)index, &uid))
                        return SCN_E_BAD_VALUE;
        } else if (!json_is_string(name) || !scn_uid_parse(json_string_value(name), json_string_length(name), &uid)) {
                return SCN_E_BAD_VALUE;
        }
        scn_pack_ext(out, SCN_EXT_NODE, uid.bytes, sizeof uid.bytes);
        return SCN_OK;
}

static enum scn_error pack_digits(struct scn_packer *out, const json_t *text)
{
        const char *at = json_string_value(text);
        const char *end = at + json_string_length(text);
        const bool is_negative = at < end && *at == '-';
        uint64_t magnitude = 0;

        at += is_negative;
        if (at == end)
                return SCN_E_BAD_VALUE;
        for (; at < end; at++) {
                if (*at < '0' || *at > '9')
                        return SCN_E_BAD_VALUE;
                const uint64_t digit = (uint64_t)(*at - '0');
                if (magnitude > (UINT64_MAX - digit) / 10)
                        return SCN_E_BAD_VALUE;
                magnitude = magnitude * 10 + digit;
        }
        if (!is_negative)
                scn_pack_uint(out, magnitude);
        else if (magnitude <= INT64_MAX)
                scn_pack_int(out, -(int64_t)magnitude);
        else if (magnitude == UINT64_C(1) << 63)
                scn_pack_int(out, INT64_MIN);
        else
                return SCN_E_BAD_VALUE;
        return SCN_OK;
}

static enum scn_error pack_binary(struct scn_packer *out, const json_t *text)
{
        const size_t size = json_string_length(text);
        const uint32_t bytes_count = scn_base64_count(json_string_value(text), size);

        if (bytes_count == SCN_BASE64_BAD)
                return SCN_E_BAD_VALUE;
        struct scn_buffer bytes;
        scn_buffer_init(&bytes, bytes_count);
        enum scn_error error = scn_buffer_reserve(&bytes, bytes_count);
        if (error == SCN_OK) {
                scn_base64_decode(json_string_value(text), size, bytes.data);
                scn_pack_bin(out, bytes_count > 0 ? (const void *)bytes.data : "", bytes_count);
        }
        scn_buffer_finish(&bytes);
        return error;
}

/* All tags but "$map", whose content is a container. */
static enum scn_error pack_tagged(
        struct scn_packer *out, const char *tag, const json_t *content, const struct scn_json_nodes *nodes)
{
        if (strcmp(tag, "$node") == 0)
                return pack_node(out, content, nodes);
        if (!json_is_string(content))
                return SCN_E_BAD_VALUE;
        if (strcmp(tag, "$blob") == 0)
                return pack_blob(out, content);
        if (strcmp(tag, "$bin") == 0)
                return pack_binary(out, content);
        if (strcmp(tag, "$int") == 0)
                return pack_digits(out, content);
        return SCN_E_BAD_VALUE;
}

static enum scn_error pack_text(struct scn_packer *out, const char *text, size_t size)
{
        if (size > UINT32_MAX)
                return SCN_E_TOO_LARGE;
        scn_pack_text(out, (struct scn_slice){(const uint8_t *)text, (uint32_t)size});
        return SCN_OK;
}

static enum scn_error pack_scalar(struct scn_packer *out, const json_t *value)
{
        switch (json_typeof(value)) {
        case JSON_STRING:
                return pack_text(out, json_string_value(value), json_string_length(value));
        case JSON_INTEGER:
                scn_pack_int(out, json_integer_value(value));
                return SCN_OK;
        case JSON_REAL:
                scn_pack_double(out, json_real_value(value));
                return SCN_OK;
        case JSON_TRUE:
        case JSON_FALSE:
                scn_pack_bool(out, json_is_true(value));
                return SCN_OK;
        case JSON_NULL:
                scn_pack_nil(out);
                return SCN_OK;
        case JSON_OBJECT:
        case JSON_ARRAY:
                break;
        }
        SCN_ASSERT(false);
        return SCN_E_BAD_VALUE;
}

/* Takes the next element of a container, with its key if it has one; NULL at the end, or on an error. */
static json_t *take_element(struct scn_packer *out, struct packing *level, enum scn_error *error)
{
        json_t *element = NULL;

        if (level->is_pairs) {
                json_t *pair = json_array_get(level->container, level->index++);
                const json_t *key = json_array_get(pair, 0);
                if (pair != NULL && (json_array_size(pair) != 2 || !json_is_string(key)))
                        *error = SCN_E_BAD_VALUE;
                else if (pair != NULL)
                        *error = pack_text(out, json_string_value(key), json_string_length(key));
                element = json_array_get(pair, 1);
        } else if (json_is_array(level->container)) {
                element = json_array_get(level->container, level->index++);
        } else if (level->member != NULL) {
                element = json_object_iter_value(level->member);
                *error = pack_text(out, json_object_iter_key(level->member), json_object_iter_key_len(level->member));
                level->member = json_object_iter_next(level->container, level->member);
        }
        return *error == SCN_OK ? element : NULL;
}

/* Packs a scalar, or the head of a container, which `level_out` then stands for (container == NULL: none). */
static enum scn_error pack_one(struct scn_packer *out, json_t *value, enum scn_json_style style,
        const struct scn_json_nodes *nodes, struct packing *level_out)
{
        *level_out = (struct packing){0};
        if (json_is_object(value) && style == SCN_JSON_TAGGED) {
                bool is_malformed;
                const char *tag = find_tag(value, &is_malformed);
                if (is_malformed)
                        return SCN_E_BAD_VALUE;
                json_t *content = tag != NULL ? json_object_iter_value(json_object_iter(value)) : NULL;
                if (tag != NULL && (strcmp(tag, "$map") != 0 || !json_is_array(content)))
                        return pack_tagged(out, tag, content, nodes);
                if (tag != NULL)
                        *level_out = (struct packing){.container = content, .is_pairs = true};
        }
        if (level_out->container == NULL && !json_is_object(value) && !json_is_array(value))
                return pack_scalar(out, value);
        if (level_out->container == NULL)
                level_out->container = value;

        const size_t count = json_is_object(level_out->container) ? json_object_size(level_out->container)
                                                                  : json_array_size(level_out->container);
        if (count > UINT32_MAX)
                return SCN_E_TOO_LARGE;
        level_out->member = json_object_iter(level_out->container);
        if (json_is_object(level_out->container) || level_out->is_pairs)
                scn_pack_map(out, (uint32_t)count);
        else
                scn_pack_array(out, (uint32_t)count);
        return SCN_OK;
}

enum scn_error scn_json_pack_value(const json_t *value, enum scn_json_style style, const struct scn_json_nodes *nodes,
        uint32_t levels_max, struct scn_buffer *packed)
{
        struct packing levels[SCN_VALUE_LEVELS_MAX];
        struct scn_packer out = scn_packer_to(packed);
        json_t *element = (json_t *)value; /* jansson reads through pointers that are not const */
        uint32_t depth = 0;

        SCN_ASSERT(levels_max <= SCN_VALUE_LEVELS_MAX);
        while (element != NULL) {
                struct packing level;
                enum scn_error error = pack_one(&out, element, style, nodes, &level);
                if (error == SCN_OK && level.container != NULL && depth == levels_max)
                        error = SCN_E_VALUE_TOO_DEEP;
                if (error == SCN_OK && level.container != NULL)
                        levels[depth++] = level;
                for (element = NULL; error == SCN_OK && depth > 0 && element == NULL;) {
                        element = take_element(&out, &levels[depth - 1], &error);
                        depth -= element == NULL;
                }
                if (error == SCN_OK)
                        error = out.error;
                if (error != SCN_OK)
                        return error;
        }
        return SCN_OK;
}
